//! The annotations in which older versions store values for which they have no fields. Malformed text is
//! ignored, as the API server ignores it, but with a note. Keys are matched case-insensitively, because
//! upstream reads these texts with Go's `encoding/json`, one of them into a type whose keys are `ScaleUp`
//! and the like. Follows `pkg/apis/autoscaling/annotations.go`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::fields::{BEHAVIOR, FLAT_METRICS};
use crate::apimachinery::json::{DecodeError, decode, expecting, read_borrowed};
use crate::apiserver::metadata::LabelMap;
use crate::snapshot::note::{Note, Subject};

/// Every key that the annotations may contain, outside maps with user-defined keys: the fields of metrics and of a
/// behavior, and those that only statuses and conditions have.
static KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let of_status = [
        "currentAverageUtilization",
        "currentAverageValue",
        "currentValue",
        "lastTransitionTime",
        "message",
        "reason",
        "status",
    ];
    let of_spec = [FLAT_METRICS, BEHAVIOR].into_iter();
    let stated = of_spec.flat_map(|shape| shape.all_names());
    stated.chain(of_status).collect()
});

/// The maximum depth of the JSON; the metrics of a well-formed annotation are far shallower.
const MAX_DEPTH: usize = 64;

/// The full key of an annotation.
pub(crate) fn key(name: &str) -> String {
    format!("autoscaling.alpha.kubernetes.io/{name}")
}

/// Reads the JSON in an annotation; `None` if it is missing or malformed.
pub(crate) fn read_annotation<T: DeserializeOwned>(
    annotations: &LabelMap,
    name: &str,
    notes: &mut Vec<Note>,
) -> Option<T> {
    let key = key(name);
    let text = annotations.get(&key)?;
    match fold_keys(text).and_then(|json| decode::<Option<T>>(&json)) {
        Ok(value) => value,
        Err(error) => {
            let text = format!("annotation {key} is ignored, as by the API server: {error}");
            notes.push(Note::about(Subject::AnnotationIgnored, text));
            None
        }
    }
}

/// Rewrites JSON so that each key is spelled as in [`KEYS`]. Values keep their text, because a
/// quantity may be a number whose digits matter.
fn fold_keys(json: &str) -> Result<String, DecodeError> {
    Ok(fold(json, MAX_DEPTH)?)
}

fn fold(json: &str, depth: usize) -> Result<String, serde_json::Error> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(serde_json::Error::custom("nested too deeply"));
    };
    let (open, parts, close) = match json.trim_start().as_bytes().first() {
        Some(b'{') => {
            let Entries(entries) = read_borrowed(json).map_err(serde_json::Error::custom)?;
            let parts = entries.iter().map(|(key, value)| {
                let folded = if key == "matchLabels" {
                    value.get().to_owned()
                } else {
                    fold(value.get(), depth)?
                };
                Ok(format!("{}:{folded}", serde_json::to_string(key)?))
            });
            ('{', parts.collect::<Result<Vec<_>, _>>()?, '}')
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> =
                read_borrowed(json).map_err(serde_json::Error::custom)?;
            let parts = elements.iter().map(|element| fold(element.get(), depth));
            ('[', parts.collect::<Result<_, _>>()?, ']')
        }
        _ => return Ok(json.to_owned()),
    };
    Ok(format!("{open}{}{close}", parts.join(",")))
}

/// The entries of a JSON object, keys spelled as in [`KEYS`]. The last of several equal keys wins.
struct Entries<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            expecting!("an object");

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    let known = KEYS.iter().find(|known| known.eq_ignore_ascii_case(&key));
                    let key = known.map_or(key, |known| (*known).to_owned());
                    entries.insert(key, value);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_folded_and_values_kept() {
        for (json, want) in [
            ("{}", "{}"),
            ("null", "null"),
            (
                r#" {"SCALEUP" : {"Policies":[ {"Type":"Pods"},null ]}}"#,
                r#"{"scaleUp":{"policies":[{"type":"Pods"},null]}}"#,
            ),
            (
                r#"{"Unknown":[],"averagevalue":1.50}"#,
                r#"{"Unknown":[],"averageValue":1.50}"#,
            ),
            (
                r#"{"matchLabels":{"Type":"a","type":"b"}}"#,
                r#"{"matchLabels":{"Type":"a","type":"b"}}"#,
            ),
            (r#"{"Type":"a","type":"b"}"#, r#"{"type":"b"}"#),
        ] {
            assert_eq!(fold_keys(json).unwrap(), want);
        }
        for json in ["{", "{1:2}", "[1,]", r#"{"a":}"#] {
            assert!(fold_keys(json).is_err(), "{json}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(
            fold_keys(&deep).unwrap_err().to_string(),
            "nested too deeply"
        );
    }
}
