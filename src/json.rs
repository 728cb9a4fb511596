//! JSON read as Go's decoder reads Kubernetes objects: null is the zero value, unknown fields are
//! skipped, an object is never written as an array. A failure names the field. It knows no type of
//! the API. Follows `encoding/json` and apimachinery's `metav1.Time`.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

mod objects;

use objects::Objects;

/// Why JSON could not be read as the wanted type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.path))]
pub struct DecodeError {
    /// The field, such as `spec.metrics[0].type`; empty for the text as a whole.
    pub path: String,
    /// What is wrong with it; for a quantity, in upstream's words.
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
    /// Keeps the position only where the JSON itself is at fault: it may have been made from YAML.
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        match text.strip_suffix(&position) {
            Some(text) if error.is_data() => Self::new("", text),
            _ => Self::new("", text),
        }
    }
}

/// Reads one JSON text, naming the field where that fails.
pub(crate) fn decode<T: DeserializeOwned>(json: &str) -> Result<T, DecodeError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(Objects(&mut deserializer)).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        DecodeError {
            path,
            ..error.into_inner().into()
        }
    })?;
    deserializer.end()?;
    Ok(value)
}

/// Reads null as the type's zero value.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a list that may be null and whose elements may be null.
pub(crate) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(nullable_list(deserializer)?.unwrap_or_default())
}

/// Reads a list in which null and empty differ; its elements may be null.
pub(crate) fn nullable_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    let elements: Option<Vec<Option<T>>> = Option::deserialize(deserializer)?;
    Ok(elements.map(|list| list.into_iter().map(Option::unwrap_or_default).collect()))
}

/// Reads a map of strings that may be null and whose values may be null.
pub(crate) fn string_map<'de, D>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    let entries: Option<BTreeMap<String, Option<String>>> = Option::deserialize(deserializer)?;
    let entries = entries.unwrap_or_default().into_iter();
    Ok(entries
        .map(|(key, value)| (key, value.unwrap_or_default()))
        .collect())
}

/// `metav1.Time`: RFC 3339, written in whole seconds.
pub(crate) mod optional_time {
    use jiff::Timestamp;
    use serde::Serializer;
    use serde::de::Error as _;

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
        let text: Option<String> = Option::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}

/// A `metav1.Time` that is always there.
pub(crate) mod time {
    use jiff::Timestamp;
    use serde::Serializer;

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&super::SecondsTime(*time))
    }
}

/// Prints a time as the API does: UTC, whole seconds, the fraction dropped.
#[derive(Debug, Clone, Copy)]
pub struct SecondsTime(pub jiff::Timestamp);

impl std::fmt::Display for SecondsTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.as_nanosecond().div_euclid(1_000_000_000);
        let whole = i64::try_from(seconds)
            .ok()
            .and_then(|s| jiff::Timestamp::from_second(s).ok());
        write!(f, "{:.0}", whole.unwrap_or(self.0))
    }
}
