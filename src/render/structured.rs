//! The published output as JSON or YAML. Nothing in it is cleaned, but characters that a terminal would
//! interpret are escaped, and read back as the same text.

use std::fmt::Write;

use serde::Serialize;
use serde_transcode::Transcoder;

use super::runner;
use super::style::is_unsafe;
use crate::error::Error;

/// Returns indented JSON with a newline at the end.
pub fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string_pretty(value)
        .map(|text| escaped(&text))
        .map_err(|e| failed(&e))
}

/// Returns JSON in one line, with a newline at the end.
pub fn json_line<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value)
        .map(|text| escaped(&text))
        .map_err(|e| failed(&e))
}

fn failed(e: &serde_json::Error) -> Error {
    Error::failed(format!("failed to write JSON: {e}"))
}

/// Escapes characters that a terminal or a pipeline's runner would interpret, and adds a newline.
fn escaped(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 1);
    for letter in text.chars() {
        // A runner's command is escaped as well, without changing the value.
        if is_raw(letter) || (letter == '#' && json.ends_with('#')) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(json, "\\u{unit:04x}");
            }
        } else {
            json.push(letter);
        }
    }
    json.push('\n');
    json
}

/// Returns YAML that kubectl reads back unchanged.
pub fn yaml<T: Serialize>(value: &T) -> Result<String, Error> {
    // Via JSON, as in kubectl: so the program has one writer of each type instead of two.
    yaml_of(json(value)?)
}

/// Returns the YAML of indented JSON.
pub fn yaml_of(json_text: String) -> Result<String, Error> {
    let mut values = serde_json::Deserializer::from_str(&json_text);
    let mut text = serde_yaml::to_string(&Transcoder::new(&mut values))
        .map_err(|e| Error::failed(format!("failed to write YAML: {e}")))?;
    // Only quoted scalars have escapes, and the writer does not quote for all of these. JSON is also
    // valid YAML.
    if text.contains(is_raw) || runner::is_obeyed(&text) {
        return Ok(json_text);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Whether a character must not be written unescaped. Newlines belong to the layout.
fn is_raw(letter: char) -> bool {
    letter != '\n' && is_unsafe(letter)
}

#[cfg(test)]
mod tests {
    use super::{json, yaml};
    use crate::render::runner::is_obeyed;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_reads_back() {
        for text in [
            "plain",
            "a\u{1b}[31mb\u{7f}",
            "\u{9b}31m",
            "a\u{202e}b\u{2028}c\r\nd\te",
            "\u{e0041}größe",
            "##[set-output name=a]b",
            "a\n::error::b\n",
        ] {
            let json = json(&[text]).unwrap();
            let yaml = yaml(&[text]).unwrap();
            let safe = |c: char| {
                c == '\n' || (!c.is_control() && !"\u{202e}\u{2028}\u{e0041}".contains(c))
            };
            assert!(json.chars().all(safe), "{json:?}");
            assert!(yaml.chars().all(safe), "{yaml:?}");
            assert!(!is_obeyed(&json) && !is_obeyed(&yaml), "{json}{yaml}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
            if !text.contains('\u{e0041}') {
                assert_eq!(serde_yaml::from_str::<[String; 1]>(&yaml).unwrap(), [text]);
            }
        }
    }
}
