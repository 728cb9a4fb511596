//! Files that the program writes; it has read none of them. The content goes to a temporary file in the
//! same directory, which is renamed when it is complete, so that there is always either the old or the new
//! file. Only the owner can read them. The summary of a job, to which all of its steps add, is appended to
//! instead.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::error::Error;
use crate::saved::file::{plain, was_read};

/// Replaces a file, or creates it. Other hard links to an old file keep its content. A symbolic link is an
/// error, unless it leads to a pipe or a device, which no file can replace.
pub(super) fn replace(
    path: &str,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let file = Path::new(path);
    let written = match destination(path)? {
        Destination::File => beside(file, fill),
        Destination::Stream => File::options()
            .write(true)
            .open(file)
            .and_then(|out| filled(out, fill).map(drop)),
    };
    written.map_err(|e| failed(path, &e))
}

/// Appends to a file, or creates it. Whatever [`replace`] rejects is an error, and so are a file with
/// several hard links, one of which may have been read, and a pipe, which may have no reader.
pub(super) fn append(path: &str, text: &str) -> Result<(), Error> {
    destination(path)?;
    let file = open_to_append(Path::new(path));
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|e| failed(path, &e))
}

#[cfg(unix)]
fn open_to_append(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    let about = match fs::symlink_metadata(path) {
        // This follows no link that was made in the meantime.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return File::options().append(true).create_new(true).open(path);
        }
        about => about?,
    };
    if about.is_symlink() {
        // A link of the system to a stream.
        return File::options().append(true).open(path);
    }
    if !about.is_file() && !about.file_type().is_char_device() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if about.is_file() && about.nlink() > 1 {
        return Err(io::Error::other(
            "it has other hard links, whose content would change",
        ));
    }
    let file = File::options().append(true).open(path)?;
    let opened = file.metadata()?;
    if (opened.dev(), opened.ino()) != (about.dev(), about.ino()) {
        return Err(io::Error::other("it was replaced by another file"));
    }
    Ok(file)
}

#[cfg(not(unix))]
fn open_to_append(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

fn failed(path: &str, e: &io::Error) -> Error {
    Error::failed(format!("failed to write {path}: {}", plain(e)))
}

/// The destination of a path.
enum Destination {
    /// A regular file, or nothing yet.
    File,
    /// A pipe or a device.
    Stream,
}

/// Determines what would be written, and rejects destinations that must not be.
fn destination(path: &str) -> Result<Destination, Error> {
    let file = Path::new(path);
    if was_read(file) {
        return Err(
            Error::usage(format!("failed to write {path}: the file was read"))
                .hint("write to another file"),
        );
    }
    match fs::symlink_metadata(file) {
        Ok(about) if about.is_file() => Ok(Destination::File),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Destination::File),
        Err(e) => Err(failed(path, &e)),
        Ok(about) if about.is_symlink() && !leads_to_stream(file) => Err(Error::failed(format!(
            "failed to write {path}: it is a symbolic link, which is not followed"
        ))
        .hint("use the file it points to, or remove it")),
        Ok(about) if about.is_dir() => Err(failed(path, &io::ErrorKind::IsADirectory.into())),
        Ok(_) => Ok(Destination::Stream),
    }
}

/// Whether a link of the system leads to a pipe or a device, such as `/dev/stderr`; in zsh, links of a process
/// substitution are in `/proc`.
fn leads_to_stream(link: &Path) -> bool {
    let is_stream = |about: fs::Metadata| !about.is_file() && !about.is_dir();
    ["/dev", "/proc"].iter().any(|of| link.starts_with(of))
        && fs::metadata(link).is_ok_and(is_stream)
}

fn beside(file: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let directory = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // The name has another extension, so that the file is not read along with its directory.
    let new = tempfile::Builder::new()
        .prefix(".kubectl-hpa-")
        .suffix(".tmp")
        .tempfile_in(directory)?;
    let (out, place) = new.into_parts();
    filled(out, fill)?.sync_all()?;
    place.persist(file).map_err(|e| e.error)
}

fn filled(out: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::new(out);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use super::{append, replace};

    #[test]
    fn a_summary_is_added_to_and_never_to_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        append(&at("summary"), "one\n").unwrap();
        append(&at("summary"), "two\n").unwrap();
        assert_eq!(fs::read_to_string(at("summary")).unwrap(), "one\ntwo\n");
        symlink(at("summary"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        for link in ["link", "dangling"] {
            let error = append(&at(link), "three\n").unwrap_err();
            assert!(
                error
                    .message
                    .ends_with("it is a symbolic link, which is not followed")
            );
        }
        assert!(!fs::exists(at("nowhere")).unwrap());
        fs::hard_link(at("summary"), at("other")).unwrap();
        let error = append(&at("other"), "three\n").unwrap_err();
        assert!(error.message.contains("it has other hard links"), "{error}");
        fs::remove_file(at("other")).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(at("pipe"))
                .status()
                .unwrap()
                .success()
        );
        let error = append(&at("pipe"), "three\n").unwrap_err();
        assert!(
            error.message.ends_with("it is not a regular file"),
            "{error}"
        );
        crate::saved::file::read_of_connection(at("summary")).unwrap();
        let error = append(&at("summary"), "three\n").unwrap_err();
        assert!(
            error.message.ends_with("summary: the file was read"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(at("summary")).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn an_old_file_stays_whole_until_a_new_one_is() {
        let directory = tempfile::tempdir().unwrap();
        let [file, other, link, pipe] =
            ["a.json", "b.json", "c.json", "d.json"].map(|name| directory.path().join(name));
        let at = |file: &std::path::Path| file.to_str().unwrap().to_owned();
        let read = |file: &std::path::Path| fs::read_to_string(file).unwrap();
        fs::write(&file, "old").unwrap();
        fs::hard_link(&file, &other).unwrap();

        // A write that fails changes nothing and leaves nothing behind.
        let failed = replace(&at(&file), |out| {
            out.write_all(&vec![b'x'; 100_000])?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().message.ends_with("a.json: no more"));
        assert_eq!(
            (
                &*read(&file),
                fs::read_dir(directory.path()).unwrap().count()
            ),
            ("old", 2)
        );

        replace(&at(&file), |out| out.write_all(b"new")).unwrap();
        assert_eq!((&*read(&file), &*read(&other)), ("new", "old"));
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );

        for target in [&other, &directory.path().join("nowhere")] {
            symlink(target, &link).unwrap();
            let error = replace(&at(&link), |out| out.write_all(b"new")).unwrap_err();
            assert!(
                error
                    .message
                    .ends_with("it is a symbolic link, which is not followed"),
                "{error}"
            );
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(read(&other), "old");
        assert!(replace(&at(directory.path()), |_| Ok(())).is_err());

        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        replace(&at(&pipe), |out| out.write_all(b"new")).unwrap();
        assert_eq!(reader.join().unwrap(), "new");
        assert!(!fs::metadata(&pipe).unwrap().is_file());
    }
}
