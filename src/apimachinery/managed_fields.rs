//! `metav1.ManagedFieldsEntry`: who has written which part of an object, and when. Only the fields
//! that a caller asks about are read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::{null_as_default, optional_time};

/// `metav1.ManagedFieldsEntry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManagedFieldsEntry {
    /// The field manager.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_as_default")]
    pub manager: String,
    /// How: `Apply` for server-side apply, otherwise `Update`.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "null_as_default")]
    operation: String,
    /// When it last changed something; the scale subresource omits it.
    #[serde(deserialize_with = "optional_time::deserialize")]
    pub time: Option<Timestamp>,
    /// The subresource that it wrote; empty for the object itself.
    #[serde(deserialize_with = "null_as_default")]
    subresource: String,
    /// Whether `spec.replicas` is among the fields.
    #[serde(
        rename = "fieldsV1",
        skip_serializing_if = "std::ops::Not::not",
        serialize_with = "replicas",
        deserialize_with = "has_replicas"
    )]
    pub owns_replicas: bool,
}

const STATUS: &str = "status";

impl ManagedFieldsEntry {
    /// Returns a change at a time, to the status or to anything else.
    pub(crate) fn at(time: Timestamp, of_status: bool) -> Self {
        let subresource = if of_status { STATUS } else { "" };
        Self { time: Some(time), subresource: subresource.to_owned(), ..Self::default() }
    }

    /// Returns a change by a field manager at an unknown time.
    pub(crate) fn of(manager: &str) -> Self {
        Self { manager: manager.to_owned(), ..Self::default() }
    }

    /// Whether it was written through the scale subresource, as the controller and `kubectl scale` do.
    pub fn is_of_scale(&self) -> bool {
        self.subresource == "scale"
    }

    /// Whether it is what a manifest states that the API server applies.
    pub fn is_applied(&self) -> bool {
        self.operation == "Apply"
    }

    /// Whether it is about the status.
    pub fn is_of_status(&self) -> bool {
        self.subresource == STATUS
    }
}

/// `spec.replicas` as a `metav1.FieldsV1`.
fn replicas<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    let spec = BTreeMap::from([("f:replicas", BTreeMap::<&str, &str>::new())]);
    serializer.collect_map([("f:spec", spec)])
}

/// Looks for `spec.replicas` in a `metav1.FieldsV1`.
fn has_replicas<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    struct Fields {
        #[serde(rename = "f:spec")]
        spec: Option<Spec>,
    }
    #[derive(Deserialize)]
    struct Spec {
        #[serde(rename = "f:replicas")]
        replicas: Option<IgnoredAny>,
    }
    let fields = Option::<Fields>::deserialize(deserializer)?;
    Ok(fields.and_then(|fields| fields.spec?.replicas).is_some())
}

#[cfg(test)]
mod tests {
    use super::ManagedFieldsEntry;

    #[test]
    fn what_is_saved_is_read_again() {
        let text = r#"{"manager":"ci","operation":"Apply","time":"2026-11-21T06:00:00Z","subresource":"",
            "fieldsV1":{"f:spec":{"f:replicas":{}}}}"#;
        let entry: ManagedFieldsEntry = serde_json::from_str(text).unwrap();
        assert!(entry.is_applied() && entry.owns_replicas, "{entry:?}");
        let saved = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<ManagedFieldsEntry>(&saved).unwrap(), entry, "{saved}");
        let other: ManagedFieldsEntry = serde_json::from_str(r#"{"operation":"Update"}"#).unwrap();
        assert!(!other.is_applied());
    }
}
