//! Reads saved objects from files, folders and standard input: JSON or YAML, one or many documents
//! each. JSON is read directly; YAML passes through its JSON form, as kubectl does it. This is the
//! only place that reads saved objects.

use std::cell::RefCell;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeSeed;

use super::objects::{Fault, ObjectReader, Objects, Source};
use crate::error::Error;
use crate::yaml;

/// Reads everything that `-f` names. `-` is standard input; of a folder, the files that end in
/// `.json`, `.yaml` or `.yml` are read, in the order of their names.
pub fn read(names: &[String]) -> Result<Objects, Error> {
    let mut objects = Objects::default();
    if names.iter().filter(|name| *name == "-").count() > 1 {
        return Err(Error::usage("standard input (-) can be read only once"));
    }
    for name in names {
        if name == "-" {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .map_err(|e| Error::usage(format!("failed to read standard input: {e}")))?;
            read_bytes(bytes, "standard input", &mut objects)?;
            continue;
        }
        for path in expand(name)? {
            let shown = path.display().to_string();
            let bytes = fs::read(&path)
                .map_err(|e| Error::usage(format!("failed to read {shown}: {}", plain(&e))))?;
            read_bytes(bytes, &shown, &mut objects)?;
        }
    }
    Ok(objects)
}

/// The files behind a name.
fn expand(name: &str) -> Result<Vec<PathBuf>, Error> {
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
            return Err(Error::usage(format!(
                "failed to read {name}: {}",
                plain(&e)
            )));
        }
    };
    if !about.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let list = |e: std::io::Error| {
        Error::usage(format!("failed to read the folder {name}: {}", plain(&e)))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(list)? {
        let file = entry.map_err(list)?.path();
        let extension = file.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("json" | "yaml" | "yml")) && !file.is_dir() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(Error::usage(format!(
            "no .json, .yaml or .yml file in the folder {name}"
        )));
    }
    files.sort();
    Ok(files)
}

/// The system's words without the error number.
fn plain(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => e.to_string(),
    }
}

fn read_bytes(bytes: Vec<u8>, origin: &str, objects: &mut Objects) -> Result<(), Error> {
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Error::usage(format!(
            "failed to read {origin}: not text (byte {at} is not UTF-8)"
        ))
    })?;
    read_text(text.trim_start_matches('\u{feff}'), origin, objects)
}

/// Reads one text. What begins like a JSON object is JSON; everything else is YAML.
pub fn read_text(text: &str, origin: &str, objects: &mut Objects) -> Result<(), Error> {
    if text.trim_start().starts_with('{') {
        read_json(text, origin, objects).map_err(|fault| {
            let place = match fault.position {
                Some((line, column)) => format!("{origin}:{line}:{column}"),
                None => origin.to_owned(),
            };
            Error::usage(format!("failed to read {place}: {}", fault.message))
        })
    } else {
        read_yaml(text, origin, objects)
    }
}

/// JSON documents, one after the other.
fn read_json(text: &str, origin: &str, objects: &mut Objects) -> Result<(), Fault> {
    let fault = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    loop {
        let source = Source {
            origin,
            text,
            fault: &fault,
        };
        let object = ObjectReader {
            objects: &mut *objects,
            source,
            inherited: None,
        };
        let result = object.deserialize(&mut reader);
        if let Err(e) = result {
            return Err(fault.take().unwrap_or_else(|| Fault::from_json(&e)));
        }
        if reader.end().is_ok() {
            return Ok(());
        }
    }
}

fn read_yaml(text: &str, origin: &str, objects: &mut Objects) -> Result<(), Error> {
    let documents: Vec<serde_json::Value> =
        serde_yaml::from_multiple_with_options(text, yaml::options(text.len())).map_err(|e| {
            let e = e.without_snippet();
            let place = e.location().map_or_else(String::new, |location| {
                format!(":{}:{}", location.line(), location.column())
            });
            Error::usage(format!(
                "failed to read {origin}{place}: {}",
                first_line(&e.to_string())
            ))
        })?;
    if documents.is_empty() {
        return Err(Error::usage(format!(
            "failed to read {origin}: it is empty"
        )));
    }
    let several = documents.len() > 1;
    for (place, document) in (1..).zip(documents) {
        let json = document.to_string();
        read_json(&json, origin, objects).map_err(|fault| {
            let part = if several {
                format!(" (document {place})")
            } else {
                String::new()
            };
            Error::usage(format!("failed to read {origin}{part}: {}", fault.message))
        })?;
    }
    Ok(())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
