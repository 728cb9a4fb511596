//! The file that a command runs. Nothing is run here. A file in the current directory, or relative to it,
//! never qualifies: anyone who can write there would choose what runs. Follows `LookPath` of Go's
//! `os/exec`, with its `ErrDot`.

use std::path::{Path, PathBuf};

use super::environment::Environment;

/// The extensions of commands on Windows if none are configured.
const EXTENSIONS: &str = ".com;.exe;.bat;.cmd";

/// The reason why a command finds no file to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfound {
    /// There is no executable file of that name.
    Missing,
    /// The named file is not executable.
    Denied,
    /// The first match is in an entry of `PATH` that is empty or relative.
    Relative,
}

/// Returns the file that a command runs.
pub(crate) fn look_path(command: &str, env: &Environment) -> Result<PathBuf, Unfound> {
    let extensions = match env.variable("PATHEXT") {
        _ if !cfg!(windows) => "",
        given => given.unwrap_or(EXTENSIONS),
    };
    let names = names(command, extensions);
    if command.contains(std::path::is_separator) {
        return match in_directory(Path::new(""), &names) {
            Some(path) => Ok(path),
            None if Path::new(command).is_file() => Err(Unfound::Denied),
            None => Err(Unfound::Missing),
        };
    }
    for directory in std::env::split_paths(env.variable("PATH").unwrap_or_default()) {
        // An empty entry is the current directory to a Unix shell, and nothing to PowerShell.
        if directory.as_os_str().is_empty() && cfg!(windows) {
            continue;
        }
        if let Some(path) = in_directory(&directory, &names) {
            return if directory.is_absolute() {
                Ok(path)
            } else {
                Err(Unfound::Relative)
            };
        }
    }
    Err(Unfound::Missing)
}

/// Returns the first of these files in a directory that is executable.
fn in_directory(directory: &Path, names: &[String]) -> Option<PathBuf> {
    names
        .iter()
        .map(|name| directory.join(name))
        .find(|path| is_executable(path))
}

/// Returns the possible file names of a command, given the extensions of executable files, separated by
/// semicolons; only Windows has such extensions.
fn names(command: &str, extensions: &str) -> Vec<String> {
    let known: Vec<&str> = extensions.split(';').filter(|it| !it.is_empty()).collect();
    let last = command.rsplit([':', '\\', '/']).next().unwrap_or_default();
    let is_whole = !command.is_empty() && (known.is_empty() || last.contains('.'));
    let own = is_whole.then(|| command.to_owned());
    let with = known.iter().map(|extension| {
        format!(
            "{command}.{}",
            extension.trim_start_matches('.').to_ascii_lowercase()
        )
    });
    own.into_iter()
        .chain(with.filter(|_| !command.is_empty()))
        .collect()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn windows_knows_executables_by_their_extension() {
        for (command, extensions, want) in [
            ("aws", "", vec!["aws"]),
            ("aws.sh", "", vec!["aws.sh"]),
            ("aws", ".COM;.EXE", vec!["aws.com", "aws.exe"]),
            (
                "aws.exe",
                ".exe;cmd",
                vec!["aws.exe", "aws.exe.exe", "aws.exe.cmd"],
            ),
            (r"C:\v1.2\aws", ".exe;", vec![r"C:\v1.2\aws.exe"]),
            ("", ".exe", vec![]),
        ] {
            assert_eq!(names(command, extensions), want, "{command} {extensions}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_executable_files_of_absolute_entries_run() {
        use std::os::unix::fs::PermissionsExt;

        use super::{Unfound, look_path};
        use crate::cluster::connect::environment::Environment;

        let directory = format!("kubectl-hpa-look-path-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        for name in ["plain/tool", "good/tool", "good/other"] {
            let path = directory.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            let mode = if name.starts_with("good") {
                0o755
            } else {
                0o644
            };
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let [plain, good] =
            ["plain", "good"].map(|name| directory.join(name).display().to_string());
        // From the current directory up to the root, and down to the directory.
        let depth = std::env::current_dir().unwrap().components().count() - 1;
        let relative = format!("{}{}", "../".repeat(depth), &good[1..]);
        for (command, path, want) in [
            (
                "tool",
                format!("{plain}:{good}"),
                Ok(format!("{good}/tool")),
            ),
            ("tool", plain.clone(), Err(Unfound::Missing)),
            ("tool", relative.clone(), Err(Unfound::Relative)),
            (
                "tool",
                format!("{good}:{relative}"),
                Ok(format!("{good}/tool")),
            ),
            ("tool", format!("{relative}:{good}"), Err(Unfound::Relative)),
            ("tool", format!(":{good}"), Ok(format!("{good}/tool"))),
            (
                "good",
                directory.display().to_string(),
                Err(Unfound::Missing),
            ),
            (
                &*format!("{good}/tool"),
                String::new(),
                Ok(format!("{good}/tool")),
            ),
            (
                &*format!("{plain}/tool"),
                good.clone(),
                Err(Unfound::Denied),
            ),
            (
                &*format!("{good}/none"),
                good.clone(),
                Err(Unfound::Missing),
            ),
            ("", good.clone(), Err(Unfound::Missing)),
        ] {
            let variables = [("PATH".to_owned(), path.clone())].into();
            let env = Environment {
                variables,
                ..Environment::default()
            };
            let found = look_path(command, &env).map(|path| path.display().to_string());
            assert_eq!(found, want, "{command:?} in {path:?}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}
