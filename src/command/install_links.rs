//! `install-links`: creates the links through which kubectl finds the other forms of the program and its
//! completions. Other files in the directory are never touched.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;

use super::Answer;
use crate::args::InstallLinks;
use crate::error::Error;
use crate::render::style::clean;
use crate::saved::file::plain;

/// The outcome for a link.
enum LinkFate {
    Made,
    Changed(PathBuf),
    Kept,
    /// The link points to another copy of the program, such as one that krew installed for another plugin.
    OfCopy(PathBuf),
    Foreign,
}

/// Returns the error about a path that leads to no directory.
fn no_directory(path: &Path) -> Error {
    let other = "use another with --dir";
    let (cause, hint) = match fs::metadata(path) {
        Ok(_) => ("it is not a directory".to_owned(), other),
        Err(e) if e.kind() == io::ErrorKind::NotFound => (
            "no such directory".to_owned(),
            "create it, or use another with --dir",
        ),
        Err(e) => (plain(&e), other),
    };
    let message = format!("failed to create links in {}: {cause}", path.display());
    Error::failed(message).hint(hint)
}

/// Creates the links; `command` is the definition of the command line, which has the verbs.
pub(super) fn run(args: &InstallLinks, command: &Command) -> Result<Answer, Error> {
    let path = env::var_os("PATH").unwrap_or_default();
    let program = program(&path)?;
    let directory = match (&args.dir, program.parent()) {
        (Some(directory), _) => directory,
        (None, Some(directory)) => directory,
        (None, None) => return Err(Error::usage("the directory is unknown").hint("use --dir")),
    };
    let real = |path: &Path| fs::canonicalize(path).ok();
    let Some(real_directory) = real(directory).filter(|directory| directory.is_dir()) else {
        return Err(no_directory(directory));
    };
    // In the program's directory, a link needs no path, and survives a move of the directory.
    let own = program
        .parent()
        .and_then(real)
        .is_some_and(|own| own == real_directory);
    let target = match program.file_name().filter(|_| own) {
        Some(name) => Path::new(name),
        None => &*program,
    };
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    let names = names(command);
    for name in &names {
        let link = directory.join(name);
        let would = if args.dry_run { "would be " } else { "" };
        let said = match settle(&link, &names, &program, target, args.dry_run) {
            Err(e) => {
                let (link, cause) = (link.display(), plain(&e));
                errors.push(Error::failed(format!("failed to create {link}: {cause}")));
                "failed".to_owned()
            }
            Ok(LinkFate::Made) => format!("{would}made"),
            Ok(LinkFate::Changed(from)) => {
                format!("{would}changed: pointed to {}", from.display())
            }
            Ok(LinkFate::Kept) => "there already".to_owned(),
            Ok(LinkFate::OfCopy(copy)) => {
                let copy = copy.display();
                format!("left alone: points to another copy, {copy}; remove the link to replace it")
            }
            Ok(LinkFate::Foreign) => {
                let message = format!(
                    "{} exists and is not a link to this program",
                    link.display()
                );
                errors.push(
                    Error::failed(message).hint("move it, or use another directory with --dir"),
                );
                "left alone".to_owned()
            }
        };
        lines.push(format!("{name:<28}  {said}"));
    }
    let is_found = env::split_paths(&path)
        .filter_map(|entry| real(&entry))
        .any(|it| it == real_directory);
    let found = if is_found {
        "on the PATH"
    } else {
        "not on the PATH, so kubectl will not find them"
    };
    lines.push(format!("in {}, which is {found}", directory.display()));
    Ok(Answer {
        // Names of files and what links point to come from outside.
        text: lines
            .iter()
            .map(|line| format!("{}\n", clean(line, false)))
            .collect(),
        errors,
        ..Answer::default()
    })
}

/// Returns the path by which kubectl or the shell found the program, which may be a link that a package
/// manager updates; under its plain name if that is the same program.
fn program(path: &OsStr) -> Result<PathBuf, Error> {
    let current = env::current_exe()
        .map_err(|e| Error::failed(format!("failed to find this program: {}", plain(&e))))?;
    let typed = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let bare = typed.components().count() == 1;
    let found = if bare {
        env::split_paths(path)
            .map(|directory| directory.join(&typed))
            .find(|it| is_same(it, &current))
    } else {
        std::path::absolute(&typed)
            .ok()
            .filter(|it| is_same(it, &current))
    }
    .unwrap_or_else(|| current.clone());
    let plain = found.with_file_name(file_name("kubectl-hpa"));
    Ok(if is_same(&plain, &current) {
        plain
    } else {
        found
    })
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(a), Ok(b)) => a == b || (cfg!(windows) && fs::read(a).ok() == fs::read(b).ok()),
        _ => false,
    }
}

fn file_name(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

/// The names that kubectl looks for.
fn names(command: &Command) -> Vec<String> {
    let mut names = Vec::new();
    for start in ["kubectl-hpa", "kubectl_complete-hpa"] {
        names.push(file_name(start));
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        for verb in verbs.map(Command::get_name) {
            if verb != "install-links" {
                names.push(file_name(&format!("{start}_{verb}")));
            }
        }
    }
    names
}

/// Creates one link, unless another file is there or this is a dry run. `names` are the names of the
/// program and its links.
fn settle(
    link: &Path,
    names: &[String],
    program: &Path,
    target: &Path,
    dry_run: bool,
) -> io::Result<LinkFate> {
    if is_same(link, program) {
        return Ok(LinkFate::Kept);
    }
    let fate = match fs::symlink_metadata(link) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => LinkFate::Made,
        Err(e) => return Err(e),
        Ok(about) if about.is_symlink() => {
            let from = fs::read_link(link)?;
            // A link to a copy of the program that may be gone; kubectl-hpa-status is another plugin's.
            if !names
                .iter()
                .any(|name| from.file_name() == Some(OsStr::new(name)))
            {
                return Ok(LinkFate::Foreign);
            }
            if link.exists() {
                return Ok(LinkFate::OfCopy(from));
            }
            LinkFate::Changed(from)
        }
        Ok(_) => return Ok(LinkFate::Foreign),
    };
    if !dry_run {
        if matches!(fate, LinkFate::Changed(_)) {
            fs::remove_file(link)?;
        }
        make(target, link)?;
    }
    Ok(fate)
}

#[cfg(unix)]
fn make(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Symbolic links need a privilege on Windows; hard links do not, but only work on one volume.
#[cfg(not(unix))]
fn make(target: &Path, link: &Path) -> io::Result<()> {
    let target = link.parent().unwrap_or(Path::new("")).join(target);
    fs::hard_link(&target, link).or_else(|_| fs::copy(&target, link).map(|_| ()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::{env, fs, process};

    use super::{LinkFate, names, run, settle};
    use crate::args::{InstallLinks, command_line};

    #[test]
    fn what_is_another_s_is_left_alone() {
        let directory = env::temp_dir().join(format!("kubectl-hpa-links-{}", process::id()));
        fs::create_dir(&directory).unwrap();
        let program = directory.join("kubectl-hpa");
        fs::write(&program, "the program").unwrap();
        let copy = directory.join("store");
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("kubectl-hpa"), "another version").unwrap();
        let link = |name: &str, target: &str| symlink(target, directory.join(name)).unwrap();
        link("kubectl-hpa_explain", "kubectl-hpa");
        link("kubectl-hpa_predict", "/opt/kubectl-hpa-status");
        link("kubectl-hpa_apply", "/gone/kubectl-hpa");
        link("kubectl_complete-hpa", "store/kubectl-hpa");
        fs::write(directory.join("kubectl_complete-hpa_explain"), "mine").unwrap();
        fs::create_dir(directory.join("kubectl_complete-hpa_predict")).unwrap();

        let names = names(&command_line());
        for dry_run in [true, false] {
            let mut fates = Vec::new();
            for name in &names {
                let path = directory.join(name);
                let link = Path::new("kubectl-hpa");
                fates.push(
                    match settle(&path, &names, &program, link, dry_run).unwrap() {
                        LinkFate::Made => "made",
                        LinkFate::Changed(_) => "changed",
                        LinkFate::Kept => "kept",
                        LinkFate::OfCopy(_) => "of a copy",
                        LinkFate::Foreign => "foreign",
                    },
                );
            }
            let wanted = [
                "kept",
                "kept",
                "foreign",
                "changed",
                "of a copy",
                "foreign",
                "foreign",
                "made",
            ];
            assert_eq!(fates, wanted, "dry run: {dry_run}");
            let made = fs::read_link(directory.join("kubectl_complete-hpa_apply"));
            assert_eq!(made.is_err(), dry_run);
        }
        let leads = |name: &str| fs::read_link(directory.join(name)).unwrap();
        assert_eq!(leads("kubectl-hpa_apply"), Path::new("kubectl-hpa"));
        assert_eq!(
            leads("kubectl-hpa_predict"),
            Path::new("/opt/kubectl-hpa-status")
        );
        let mine = fs::read_to_string(directory.join("kubectl_complete-hpa_explain"));
        assert_eq!(mine.unwrap(), "mine");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_terminal_does_not_obey_what_a_link_points_to() {
        let directory = env::temp_dir().join(format!("kubectl-hpa-cleaned-{}", process::id()));
        fs::create_dir(&directory).unwrap();
        let link = directory.join("kubectl-hpa_explain");
        symlink("/gone/\u{1b}[31m/kubectl-hpa", &link).unwrap();
        let args = InstallLinks {
            dir: Some(directory.clone()),
            dry_run: true,
        };
        let text = run(&args, &command_line()).unwrap().text;
        fs::remove_dir_all(&directory).unwrap();
        assert!(
            text.contains("would be changed: pointed to /gone/^[[31m/kubectl-hpa\n"),
            "{text}"
        );
    }
}
