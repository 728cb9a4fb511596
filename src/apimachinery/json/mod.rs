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
mod fault;
mod objects;
pub(crate) mod place;

pub(crate) use by::{read_each, read_str};
pub(crate) use cut::cut_lists;
pub use fault::DecodeError;
pub(crate) use fault::{boundary, message, message_and_place, plain, shortened, shortened_to};
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

/// Reads a text of which the API cannot tell empty from unset.
pub(crate) fn stated_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + AsRef<str>,
{
    let text: Option<T> = Option::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.as_ref().is_empty()))
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

/// Whether a value is the zero value, which Go's `omitempty` leaves out.
pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
    use super::read;

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
}
