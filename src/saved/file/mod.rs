//! Reads saved objects from files, directories and standard input: JSON or YAML, one or many documents
//! each. JSON is read directly, YAML in `yaml`. This is the only place that reads files, including those of
//! a connection: it limits the amount that is read, and remembers the files, which are never overwritten.
//! Its errors name the place in the text and the field.

#[cfg(test)]
mod tests;
mod yaml;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeSeed;
use serde_json::value::RawValue;

use super::objects::Objects;
use super::objects::reader::{NO_KIND, ObjectReader};
use super::objects::source::{ReadFault, SourceText};
use crate::apimachinery::json;
use crate::apimachinery::json::place::{FieldPath, line_and_column};
use crate::error::{Error, listed};
use crate::snapshot::note::Note;

/// Reads everything that `-f` names. `-` is standard input; in a directory, the files with the extension
/// `.json`, `.yaml` or `.yml` are read, in the order of their names.
pub fn read(names: &[String]) -> Result<Objects, Error> {
    read_into(Objects::default(), names)
}

/// Reads the manifests of `--hpa` in the same way.
pub fn read_manifests(name: &String) -> Result<Objects, Error> {
    read_into(
        Objects {
            are_manifests: true,
            ..Objects::default()
        },
        std::slice::from_ref(name),
    )
}

fn read_into(mut objects: Objects, names: &[String]) -> Result<Objects, Error> {
    if names.iter().filter(|name| *name == "-").count() > 1 {
        return Err(Error::usage("standard input (-) can be read only once"));
    }
    for name in names {
        let Expanded { files, directories } = if name == "-" {
            Expanded::file(name)
        } else {
            expand(name, &mut objects.notes)?
        };
        let is_directory = files.iter().any(|path| path != Path::new(name));
        let had_state = objects.state.is_some();
        for path in files {
            let (bytes, origin) = read_named(&path, LIMIT)?;
            let text = text_of(bytes, &origin)?;
            match read_text(&text, &origin, &mut objects) {
                // A chart's values, or a list of resources, may be in the same directory as manifests.
                Err(_) if is_directory && yaml::has_no_object(&text) => {
                    objects.files_without_object.push(origin);
                }
                Err(_) if yaml::is_list_without_kind(&text) => {
                    let message = format!("failed to read {origin}: {CUT_OFF}");
                    return Err(Error::usage(message).hint(WHOLE));
                }
                Err(e) if is_template(&text) => return Err(e.hint(RENDERED)),
                Err(e) if may_be_unrendered(&e, &text) => return Err(e.hint(UNRENDERED)),
                read => read?,
            }
        }
        // A saved state may have others next to it; of anything else, all is meant.
        if had_state || objects.state.is_none() {
            objects.skipped_directories.extend(directories);
        }
    }
    let skipped = objects.note_of_files_without_object();
    objects.notes.extend(skipped);
    let given: Vec<PathBuf> = names.iter().flat_map(fs::canonicalize).collect();
    let is_given = |own: &PathBuf| fs::canonicalize(own).is_ok_and(|own| given.contains(&own));
    objects.skipped_directories.retain(|own| !is_given(own));
    // A manifest is checked as written, and a candidate comes from one directory.
    if !objects.are_manifests {
        let skipped = objects.words_of_skipped_directories().map(Note::new);
        objects.notes.extend(skipped);
        objects.skip_pod_manifests();
        objects.follow_references();
    }
    Ok(objects)
}

/// The advice to read rendered manifests instead of a chart's templates.
pub(crate) const RENDERED: &str =
    "this is a template: use the output of `helm template` or `kustomize build`";

/// The advice for a file that may have a chart's values, a patch or the like.
const UNRENDERED: &str = "if it belongs to a chart or a kustomization, use the output of `helm template` or \
                          `kustomize build`";

/// The fault of a list whose kind is not stated, as kubectl does at its end, and its remedy.
const CUT_OFF: &str = "a list without a kind: it may be cut off";
const WHOLE: &str = "save all of it, as kubectl get -o yaml prints it";

/// Whether a file was not read because nothing in it states a kind, for no reason that is known.
fn may_be_unrendered(e: &Error, text: &str) -> bool {
    e.hint.is_none() && e.message.ends_with(NO_KIND) && yaml::has_no_object(text)
}

/// Whether a text has a value or a line that a chart still has to replace. Rendered manifests may contain
/// such text within other text, as rules of alerts do.
fn is_template(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("{{") || line.contains(": {{") || line.contains("- {{"))
}

/// The maximum size of one input: a gibibyte; 100,000 whole pods need less.
const LIMIT: u64 = 1 << 30;

/// The maximum size of a history and of a table: 500,000 rows have some fifty megabytes.
const TABLE_LIMIT: u64 = 256 << 20;

/// Reads one history or table, `-` for standard input; also returns its name for messages.
pub fn read_table(path: &Path) -> Result<(Vec<u8>, String), Error> {
    read_named(path, TABLE_LIMIT)
}

/// Reads the value of a header, `-` for standard input; also returns its name for messages.
pub(crate) fn read_header(path: &Path) -> Result<(Vec<u8>, String), Error> {
    read_named(path, CONNECTION_LIMIT)
}

/// Reads one whole file, `-` for standard input; also returns its name for messages.
fn read_named(path: &Path, limit: u64) -> Result<(Vec<u8>, String), Error> {
    let (read, shown) = if path == Path::new("-") {
        (
            within(io::stdin().lock(), 0, limit),
            "standard input".to_owned(),
        )
    } else {
        (read_file(path, limit), path.display().to_string())
    };
    match read {
        Ok(bytes) => Ok((bytes, shown)),
        Err(e) => Err(Error::usage(format!(
            "failed to read {shown}: {}",
            plain(&e)
        ))),
    }
}

/// The maximum size of a file that describes a connection, such as a kubeconfig or a certificate: the
/// kubeconfig of a large fleet has some hundred kilobytes.
const CONNECTION_LIMIT: u64 = 16 << 20;

/// Reads a file that describes a connection.
pub(crate) fn read_of_connection(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_file(path.as_ref(), CONNECTION_LIMIT)
}

/// Reads a text that describes a connection.
pub(crate) fn read_text_of_connection(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read_of_connection(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"))
}

/// The files that were read so far, by the names that were used.
static READ: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    {
        let mut files = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
    let file = fs::File::open(path)?;
    let size = file.metadata().map_or(0, |about| about.len());
    within(&file, size, limit)
}

/// Whether writing to this path would replace a file that was read.
pub(crate) fn was_read(path: &Path) -> bool {
    let files = READ.lock().unwrap_or_else(PoisonError::into_inner);
    files.iter().any(|file| is_same_file(file, path))
}

/// Whether writing to one of these paths would replace the file of the other, or create it. Only regular
/// files are replaced; a hard link becomes a separate file.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other && one.is_file(),
        // The file does not exist yet, and would be read from then on.
        _ => one == other || place(one).is_some_and(|one| Some(one) == place(other)),
    }
}

/// Returns the existing or future location of a file.
fn place(file: &Path) -> Option<PathBuf> {
    Some(
        fs::canonicalize(directory(file))
            .ok()?
            .join(file.file_name()?),
    )
}

fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Reads everything, probably `size` bytes, unless it is more than `limit`. What is in UTF-16, as PowerShell writes it,
/// becomes UTF-8.
fn within(from: impl Read, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or_default());
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= limit {
        Ok(in_utf8(bytes))
    } else {
        Err(io::Error::other(format!("it has more than {limit} bytes")))
    }
}

/// Converts a text that begins with a byte order mark of UTF-16, in which what is no character becomes U+FFFD; returns
/// anything else as it is.
fn in_utf8(bytes: Vec<u8>) -> Vec<u8> {
    let unit: fn([u8; 2]) -> u16 = match bytes.as_slice() {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return bytes,
    };
    let units = bytes[2..].chunks(2).map(|it| match *it {
        [first, second] => unit([first, second]),
        _ => 0xfffd,
    });
    String::from_utf16_lossy(&units.collect::<Vec<_>>()).into_bytes()
}

/// Whether reading a name as [`read`] does includes this file, or would if it existed.
pub fn reads(name: &str, file: &Path) -> bool {
    let name = if name == "-" { "/dev/stdin" } else { name };
    let Ok(read) = fs::canonicalize(name) else {
        return false;
    };
    let is_inside = |file: &Path| is_listed(file) && file.parent() == Some(&read);
    fs::canonicalize(file).is_ok_and(|file| file == read || is_inside(&file))
        || (is_listed(file) && fs::canonicalize(directory(file)).is_ok_and(|own| own == read))
}

/// Whether a file with this name in a directory is read.
pub(crate) fn is_listed(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("json" | "yaml" | "yml"))
}

/// What a name expands to.
struct Expanded {
    files: Vec<PathBuf>,
    /// The skipped directories inside it that have a file to read.
    directories: Vec<PathBuf>,
}

impl Expanded {
    fn file(name: impl Into<PathBuf>) -> Self {
        Self {
            files: vec![name.into()],
            directories: Vec::new(),
        }
    }
}

/// Returns the files behind a name. Anything else in a directory is skipped with a note, as kubectl does
/// without `-R`: another directory; a pipe, which may never be written to; and a link that leads out of the
/// directory, because a user who may write to the directory need not be allowed to read the file. The links
/// of a mounted ConfigMap stay inside.
fn expand(name: &str, notes: &mut Vec<Note>) -> Result<Expanded, Error> {
    let path = Path::new(name);
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(_) if name.starts_with("http://") || name.starts_with("https://") => {
            return Err(
                Error::usage(format!("failed to read {name}: addresses are not read"))
                    .hint("download the file and name it, or pipe it to -f -"),
            );
        }
        Err(e) => {
            let error = Error::usage(format!("failed to read {name}: {}", plain(&e)));
            let parts: Vec<&str> = name.split(',').collect();
            let are_files = parts.len() > 1 && parts.iter().all(|part| Path::new(part).exists());
            return Err(if are_files {
                error.hint(format!(
                    "each file has a flag of its own: -f {}",
                    parts.join(" -f ")
                ))
            } else {
                error
            });
        }
    };
    if about.is_dir() {
        expand_directory(name, notes)
    } else {
        Ok(Expanded::file(path))
    }
}

/// Returns what is in a directory, and notes the files that it skips.
fn expand_directory(name: &str, notes: &mut Vec<Note>) -> Result<Expanded, Error> {
    let list = |e: io::Error| {
        Error::usage(format!(
            "failed to read the directory {name}: {}",
            plain(&e)
        ))
    };
    let inside = fs::canonicalize(name).map_err(list)?;
    let leads_out = |file: &Path| match fs::canonicalize(file) {
        Ok(file) => !file.starts_with(&inside),
        Err(e) => e.kind() != io::ErrorKind::PermissionDenied && file.is_symlink(),
    };
    let (mut files, mut directories, mut links) = (Vec::new(), Vec::new(), 0);
    let entries = fs::read_dir(name)
        .map_err(list)?
        .map(|entry| Ok(entry.map_err(list)?.path()));
    let mut entries = entries.collect::<Result<Vec<PathBuf>, Error>>()?;
    entries.sort();
    for file in entries {
        let is_directory = file.is_dir();
        let is_hidden = file
            .file_name()
            .is_some_and(|own| own.as_encoded_bytes().starts_with(b"."));
        if (!is_directory && !is_listed(&file)) || (is_directory && is_hidden) {
            continue;
        }
        // If this fails, reading will report why.
        if is_directory {
            directories.push(file);
        } else if leads_out(&file) {
            links += 1;
            let leads = if file.exists() {
                "leads out of the directory; name it to read it"
            } else {
                "leads nowhere"
            };
            let file = file.display();
            notes.push(Note::new(format!(
                "{file} is skipped: it is a link that {leads}"
            )));
        } else if fs::metadata(&file).is_ok_and(|about| !about.is_file()) {
            let file = file.display();
            notes.push(Note::new(format!(
                "{file} is skipped: it is not a regular file"
            )));
        } else {
            files.push(file);
        }
    }
    if files.is_empty() {
        let error = Error::usage(format!(
            "no .json, .yaml or .yml file in the directory {name}"
        ));
        directories.retain(|it| has_hpa(it));
        let inside: Vec<String> = directories
            .iter()
            .map(|it| it.display().to_string())
            .collect();
        return Err(match &inside[..] {
            [] if links > 0 => error.hint("links that lead out of it are skipped: name the file"),
            [] => error,
            inside => error.hint(format!(
                "name a directory inside it that has an HPA: {}",
                listed(inside)
            )),
        });
    }
    directories.retain(|it| plain_files(it).next().is_some());
    Ok(Expanded { files, directories })
}

/// Whether a file directly in a directory names the kind of an HPA, or of an object from which KEDA creates
/// one, near its start.
fn has_hpa(directory: &Path) -> bool {
    const NEAR: u64 = 1 << 20;
    let names_kind = |file: &Path| {
        let mut text = Vec::new();
        let read = fs::File::open(file).map(|file| file.take(NEAR).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        read.is_ok()
            && ["HorizontalPodAutoscaler", "ScaledObject"]
                .iter()
                .any(|it| text.contains(it))
    };
    plain_files(directory).any(|file| names_kind(&file))
}

/// The files directly in a directory that would be read, without links.
fn plain_files(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|file| {
        is_listed(file) && fs::symlink_metadata(file).is_ok_and(|about| about.is_file())
    })
}

/// Returns the system's message, without the error number and without the path of a temporary file.
#[must_use]
pub fn plain(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is not a directory".to_owned(),
        _ => {
            let message = e.to_string();
            let end = message.find(" (os error").unwrap_or(message.len());
            message[..end].to_owned()
        }
    }
}

/// Returns a text in which invalid UTF-8 becomes U+FFFD, as in kubectl (`unicode.BOMOverride`).
fn text_of(bytes: Vec<u8>, origin: &str) -> Result<String, Error> {
    let Some(at) = memchr::memchr(0, &bytes) else {
        let text = String::from_utf8(bytes);
        return Ok(text.unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()));
    };
    let error = Error::usage(format!(
        "failed to read {origin}: not text (byte {at} is 0)"
    ));
    Err(match &bytes[..] {
        [0x1f, 0x8b, ..] => error.hint("it is compressed with gzip: unpack it first"),
        _ => error,
    })
}

/// Reads one text. A text that begins like a JSON object is JSON; everything else is YAML. JSON never has a
/// line that begins with three dashes, but YAML documents may be written like JSON.
pub fn read_text(text: &str, origin: &str, objects: &mut Objects) -> Result<(), Error> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') && !text.contains("\n---") {
        read_page(text, origin, &json::Elements::of_file(), objects)
    } else {
        yaml::read(text, origin, objects)
    }
}

/// Reads JSON objects from a server's answer.
///
/// # Errors
///
/// The text is not JSON, or has too many elements.
pub(crate) fn read_answer(text: &str, origin: &str, objects: &mut Objects) -> Result<(), Error> {
    read_page(text, origin, &json::Elements::of_answer(), objects)
}

/// Reads JSON objects, such as a page of a list, with at most these elements.
///
/// # Errors
///
/// The text is not JSON, or has too many elements.
pub(crate) fn read_page(
    text: &str,
    origin: &str,
    elements: &json::Elements,
    objects: &mut Objects,
) -> Result<(), Error> {
    read_json(text, origin, 1, elements, objects).map_err(|fault| {
        let path = path_of(&fault, text);
        let place = Some(line_and_column(text, fault.read));
        unreadable(origin, place, &path, &fault.message)
    })
}

fn unreadable(
    origin: &str,
    place: Option<(usize, usize)>,
    path: &FieldPath,
    message: &str,
) -> Error {
    let place = place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
    let separator = if path.0.is_empty() { "" } else { ": " };
    Error::usage(format!(
        "failed to read {origin}{place}: {path}{separator}{message}"
    ))
}

/// Returns the field that a fault concerns.
fn path_of(fault: &ReadFault, json: &str) -> FieldPath {
    if fault.is_value {
        FieldPath::of_error(json, fault.read, &fault.message)
    } else {
        FieldPath::default()
    }
}

/// Reads consecutive JSON documents; the text begins at this line of its origin.
fn read_json(
    text: &str,
    origin: &str,
    line: usize,
    elements: &json::Elements,
    objects: &mut Objects,
) -> Result<(), ReadFault> {
    let fault = RefCell::new(None);
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let mut counted = text.len() - text.trim_start().len();
    let mut source = SourceText {
        origin,
        line: line + lines(&text[..counted]),
        text,
        fault: &fault,
        elements,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let object = ObjectReader::new(objects, source);
    if let Err(e) = object.deserialize(json::Objects::new(&mut reader, elements)) {
        return Err(fault
            .take()
            .unwrap_or_else(|| ReadFault::from_json(&e, text)));
    }
    if reader.end().is_ok() {
        return Ok(());
    }
    // Looking up the end after each object would count the lines up to it each time.
    for document in reader.into_iter::<&RawValue>() {
        let document = document.map_err(|e| ReadFault::from_json(&e, text))?;
        let before = document.get().as_ptr() as usize - text.as_ptr() as usize;
        source.line += lines(&text[counted..before]);
        counted = before;
        let object = ObjectReader::new(objects, source);
        if let Err(e) = object.deserialize(json::Objects::new(document, elements)) {
            let within = ReadFault::from_json(&e, document.get());
            return Err(fault.take().unwrap_or(ReadFault {
                read: within.read + before,
                ..within
            }));
        }
    }
    Ok(())
}
