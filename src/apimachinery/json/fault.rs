//! The faults of JSON in the words for users: what a decoder's error says, without the values that it quotes.
//! Nothing is read here.

use std::borrow::Cow;

/// The reason why JSON could not be read as a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.path))]
pub struct DecodeError {
    /// The field, such as `spec.metrics[0].type`; empty for the text as a whole.
    pub path: String,
    /// The fault; for a quantity, in upstream's words.
    pub message: String,
}

fn prefix(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}

impl DecodeError {
    pub(crate) fn new(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
        }
    }
}

impl From<serde_json::Error> for DecodeError {
    /// Keeps the position only if the JSON itself is malformed: the JSON may have been made from YAML.
    fn from(error: serde_json::Error) -> Self {
        if error.is_data() {
            Self::new("", message_and_place(&error).0)
        } else {
            Self::new("", message(&error))
        }
    }
}

/// Returns the fault in a JSON text and its place: the message as in [`plain`], with line and column.
pub(crate) fn message(error: &serde_json::Error) -> String {
    let (message, place) = message_and_place(error);
    message + &place
}

/// Returns the message without its place, and the place.
pub(crate) fn message_and_place(error: &serde_json::Error) -> (String, String) {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(text) => (plain(text), place),
        None => (plain(&text), String::new()),
    }
}

/// Returns a decoder's message for users. It names types and what was expected, without the names of Rust's
/// types. It never contains a value of the wrong type or the name of an unknown field, either of which may
/// be a secret; Go's decoder does not quote them either. This is the only way from a decoder's error to a
/// message. Times and names of known fields are quoted, but only objects of a known kind are decoded.
pub(crate) fn plain(message: &str) -> String {
    if message.starts_with("unknown field ") && message.ends_with(", there are no fields") {
        return "unknown field, there are no fields".to_owned();
    }
    let Some((head, expected)) = message.rsplit_once(", expected ") else {
        return shortened(message).into_owned();
    };
    let expected = match expected {
        "i32" => "a 32-bit integer",
        "i64" => "a 64-bit integer",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        of if of.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{}, expected {expected}", without_value(head))
}

/// Returns the rejected input, in serde's words: a type that is known here, a value, or a field.
fn without_value(rejected: &str) -> Cow<'_, str> {
    if let Some(found) = rejected.strip_prefix("invalid type: ") {
        return type_of(found).into();
    }
    if let Some(found) = rejected.strip_prefix("invalid value: ") {
        return match type_of(found) {
            "an integer" => "an integer out of range".into(),
            found => format!("an invalid value, {found}").into(),
        };
    }
    if rejected.starts_with("unknown variant ") {
        return "unknown value".into();
    }
    if rejected.starts_with("unknown field ") {
        return "unknown field".into();
    }
    shortened(rejected)
}

/// Returns the type of a value that is described in the words of [`serde::de::Unexpected`], which begin
/// with the type.
fn type_of(found: &str) -> &'static str {
    const TYPES: [(&str, &str); 9] = [
        ("map", "an object"),
        ("sequence", "a list"),
        ("null", "null"),
        ("unit value", "null"),
        ("boolean", "a boolean"),
        ("integer", "an integer"),
        ("floating point", "a floating point number"),
        ("string", "a string"),
        ("character", "a string"),
    ];
    TYPES
        .iter()
        .find(|(word, _)| found.starts_with(word))
        .map_or("a value", |(_, name)| name)
}

/// Returns a message, with its middle left out if it is long: readers quote rejected values in their
/// messages, whatever their size.
pub(crate) fn shortened(message: &str) -> Cow<'_, str> {
    shortened_to(message, 600, (200, 100))
}

/// Returns a text of at most `most` bytes; a longer one is reduced to the given numbers of bytes from its
/// start and its end.
pub(crate) fn shortened_to(text: &str, most: usize, kept: (usize, usize)) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let (head, tail) = kept;
    let head = &text[..boundary(text, head)];
    let tail = &text[boundary(text, text.len().saturating_sub(tail))..];
    format!("{head} ... {tail}").into()
}

/// Returns the end of the last character that ends at or before a byte.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rfind(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::{plain, shortened};

    #[test]
    fn a_rejected_value_is_never_quoted() {
        for (message, said) in [
            (
                r#"invalid type: string "a, expected b", expected i32"#,
                "a string, expected a 32-bit integer",
            ),
            (
                "invalid type: map, expected a sequence",
                "an object, expected a list",
            ),
            (
                "invalid value: integer `2147483648`, expected i32",
                "an integer out of range, expected a 32-bit integer",
            ),
            (
                "unknown variant `abc`, expected `unknown`",
                "unknown value, expected `unknown`",
            ),
            (
                "invalid type: floating point `1.5`, expected i64",
                "a floating point number, expected a 64-bit integer",
            ),
            (
                "invalid type: Option value, expected a map",
                "a value, expected an object",
            ),
        ] {
            assert_eq!(plain(message), said);
        }
        // All types that JSON has, and what serde makes of them.
        for (json, found) in [
            ("true", "a boolean"),
            ("\"c\"", "a string"),
            ("\"text\"", "a string"),
            ("5", "an integer"),
            ("-5", "an integer"),
            ("18446744073709551616", "a floating point number"),
            ("1.5", "a floating point number"),
            ("[\"text\"]", "a list"),
        ] {
            let error =
                read::<std::collections::BTreeMap<String, i32>>(json.as_bytes()).unwrap_err();
            let said = format!("{found}, expected an object at line 1 column ");
            assert!(error.starts_with(&said), "{json}: {error}");
        }
    }

    #[test]
    fn only_long_messages_lose_their_middle() {
        for message in ["", "short", &"x".repeat(600)] {
            assert_eq!(shortened(message), message);
        }
        let long = shortened(&format!("start{}end", "ö".repeat(10_000))).into_owned();
        assert!(
            long.starts_with("startö") && long.ends_with("öend"),
            "{long}"
        );
        assert!(long.len() <= 310, "{}", long.len());
    }
}
