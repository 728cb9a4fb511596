//! JSON read as Go's decoder reads Kubernetes objects: null is the zero value, unknown fields are
//! skipped, an object is never written as an array. An error names the field. It knows no type of
//! the API. Follows `encoding/json` and apimachinery's `metav1.Time`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use jiff::SignedDuration;
use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod by;
mod cut;
mod objects;
pub(crate) mod place;

pub(crate) use by::{read_each, read_str};
pub(crate) use cut::cut_lists;
pub(crate) use objects::{Elements, Objects};
use place::{FieldPath, bytes_until};

/// Implements `Visitor::expecting`.
macro_rules! expecting {
    ($what:literal) => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str($what)
        }
    };
}

pub(crate) use expecting;

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

/// Reads one JSON text; an error names the field.
pub(crate) fn decode<T: DeserializeOwned>(json: &str) -> Result<T, DecodeError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let elements = Elements::of_answer();
    let value = T::deserialize(Objects::new(&mut deserializer, &elements)).map_err(|error| {
        let end = bytes_until(json, error.line(), error.column());
        // An error about a value that was read as text, such as a quantity, comes after the end of the object
        // if the value is its last one.
        let ends_object = json
            .as_bytes()
            .get(..end)
            .is_some_and(|text| text.ends_with(b"}"));
        let read = end - usize::from(ends_object);
        let path = if error.is_data() {
            FieldPath::of_error(json, read, &error.to_string()).to_string()
        } else {
            String::new()
        };
        DecodeError {
            path,
            ..error.into()
        }
    })?;
    deserializer.end()?;
    Ok(value)
}

/// The most bytes of an answer in which invalid UTF-8 is replaced, which may triple them.
const LONGEST_REPLACED: usize = 1 << 20;

/// Returns a text in which invalid UTF-8 becomes U+FFFD, as in Go; an error for a long one. It is checked
/// first, because the standard library replaces byte by byte, which took a seventh of the time for 5,000
/// pods.
pub(crate) fn text(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(_) if bytes.len() <= LONGEST_REPLACED => Ok(String::from_utf8_lossy(bytes)),
        Err(e) => Err(format!("invalid UTF-8 after byte {}", e.valid_up_to())),
    }
}

/// Reads one JSON text, if only the error's message is needed. Invalid UTF-8 becomes U+FFFD, as in
/// Go.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    read_borrowed(&text(json)?)
}

/// Reads one JSON text with at most these elements.
pub(crate) fn read_within<T: DeserializeOwned>(
    json: &[u8],
    elements: &Elements,
) -> Result<T, String> {
    read_text(&text(json)?, elements)
}

/// Reads one JSON text; parts of it may be borrowed.
pub(crate) fn read_borrowed<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, String> {
    read_text(json, &Elements::of_answer())
}

/// Reads one JSON text that is not from Kubernetes: null is accepted only where a type allows it.
pub(crate) fn read_strictly<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, String> {
    let elements = Elements::of_answer();
    elements.read_null_as_zero(false);
    read_text(json, &elements)
}

fn read_text<'de, T: Deserialize<'de>>(json: &'de str, elements: &Elements) -> Result<T, String> {
    read_seed(Objects::new(PhantomData, elements), json)
}

/// Reads one JSON text with a seed, which limits the number of elements.
pub(crate) fn read_seed<'de, S: DeserializeSeed<'de>>(
    seed: S,
    json: &'de str,
) -> Result<S::Value, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = seed.deserialize(&mut reader).map_err(|e| message(&e))?;
    reader.end().map_err(|e| message(&e))?;
    Ok(value)
}

/// A string, borrowed if it needs no unescaping. Serde's `Cow` is owned in an `Option`.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct BorrowedText<'de>(pub(crate) Cow<'de, str>);

impl Deref for BorrowedText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BorrowedTextVisitor;
        impl<'de> Visitor<'de> for BorrowedTextVisitor {
            type Value = BorrowedText<'de>;

            expecting!("a string");

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(BorrowedTextVisitor)
    }
}

/// A map without duplicate keys. Go keeps the last of equal keys, and kubectl has the API server reject
/// them (`fieldValidation: Strict`); nothing shows which of them is meant.
pub(crate) struct UniqueMap<K, V>(pub(crate) BTreeMap<K, V>);

impl<'de, K, V> Deserialize<'de> for UniqueMap<K, V>
where
    K: Deserialize<'de> + Ord + fmt::Display,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UniqueMapVisitor<K, V>(PhantomData<(K, V)>);

        impl<'de, K, V> Visitor<'de> for UniqueMapVisitor<K, V>
        where
            K: Deserialize<'de> + Ord + fmt::Display,
            V: Deserialize<'de>,
        {
            type Value = UniqueMap<K, V>;

            expecting!("a map");

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(key) = map.next_key::<K>()? {
                    if entries.contains_key(&key) {
                        return Err(duplicate(&key));
                    }
                    entries.insert(key, map.next_value()?);
                }
                Ok(UniqueMap(entries))
            }
        }

        deserializer.deserialize_map(UniqueMapVisitor(PhantomData))
    }
}

/// Returns the error for a duplicate key, in the words of serde's derive.
pub(crate) fn duplicate<E: serde::de::Error>(key: &impl fmt::Display) -> E {
    E::custom(format_args!("duplicate field `{key}`"))
}

/// Reads a map that has no duplicate keys.
pub(crate) fn unique_map<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    UniqueMap::deserialize(deserializer).map(|entries| entries.0)
}

/// `metav1.Time`: RFC 3339, written in whole seconds.
pub(crate) mod optional_time {
    use jiff::Timestamp;
    use serde::Serializer;

    use super::{Deserialize, Deserializer};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => super::time::serialize(time, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let time: Option<super::time::StatedTime> = Option::deserialize(deserializer)?;
        Ok(time.map(|time| time.0))
    }
}

/// A `metav1.Time` that is always present.
pub(crate) mod time {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::read_str;

    /// The message for a text that is not a time.
    pub(crate) const FORM: &str = "not a time such as 2026-11-21T07:06:29Z";

    /// A time in an input. The error does not quote it: it may come from a file that is not a Kubernetes
    /// object.
    pub(super) struct StatedTime(pub(super) Timestamp);

    impl<'de> Deserialize<'de> for StatedTime {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            read_str(from, "a string", |text| {
                text.parse().map(Self).map_err(|_| FORM)
            })
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        StatedTime::deserialize(from).map(|time| time.0)
    }

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&super::SecondsTime(*time))
    }
}

/// Writes a length of time as a number of seconds.
pub(crate) fn seconds<S: Serializer>(length: &SignedDuration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(length.as_secs_f64())
}

/// The same for a length that may be unknown.
pub(crate) fn optional_seconds<S: Serializer>(
    length: &Option<SignedDuration>,
    to: S,
) -> Result<S::Ok, S::Error> {
    length.map(|length| length.as_secs_f64()).serialize(to)
}

/// Prints a time as the API does: UTC, whole seconds, the fraction dropped.
#[derive(Debug, Clone, Copy)]
pub struct SecondsTime(pub jiff::Timestamp);

impl fmt::Display for SecondsTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_nanosecond().div_euclid(1_000_000_000);
        let whole = i64::try_from(seconds)
            .ok()
            .and_then(|s| jiff::Timestamp::from_second(s).ok());
        write!(f, "{:.0}", whole.unwrap_or(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{plain, read, shortened};

    #[test]
    fn bytes_that_are_no_utf8_cost_nothing_else() {
        for (json, expected) in [
            (&b"[\"caf\xc3\xa9\"]"[..], Ok("caf\u{e9}")),
            (b"[\"caf\xe9\"]", Ok("caf\u{fffd}")),
            (b"[\"\xff\xff\"]", Ok("\u{fffd}\u{fffd}")),
            (
                b"[\"\xe2\x82",
                Err("EOF while parsing a string at line 1 column 5"),
            ),
            (
                b"[\"a\"]\xff",
                Err("trailing characters at line 1 column 6"),
            ),
        ] {
            let read = read::<Vec<String>>(json).map(|list| list.concat());
            assert_eq!(read.as_deref().map_err(String::as_str), expected);
        }
    }

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
