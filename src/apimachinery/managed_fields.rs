//! `metav1.ManagedFieldsEntry`: the writer of a part of an object, with the time. Only the fields that a
//! caller needs are read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::optional_time;

/// `metav1.ManagedFieldsEntry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManagedFieldsEntry {
    /// The field manager.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manager: String,
    /// The operation: `Apply` for server-side apply, otherwise `Update`.
    #[serde(skip_serializing_if = "String::is_empty")]
    operation: String,
    /// The time of its last change; the scale subresource omits it.
    #[serde(deserialize_with = "optional_time::deserialize")]
    pub time: Option<Timestamp>,
    /// The subresource that was written; empty for the object itself.
    subresource: String,
    /// The fields of [`SpecField`] that it has written.
    #[serde(
        rename = "fieldsV1",
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "below_spec",
        deserialize_with = "of_spec"
    )]
    fields: Vec<SpecField>,
}

/// A field of a spec that callers need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecField {
    /// `spec.replicas`
    Replicas,
    /// `spec.minReplicas`
    MinReplicas,
    /// `spec.maxReplicas`
    MaxReplicas,
    /// `spec.paused`
    Paused,
}

impl SpecField {
    const ALL: [(&str, Self); 4] = [
        ("f:replicas", Self::Replicas),
        ("f:minReplicas", Self::MinReplicas),
        ("f:maxReplicas", Self::MaxReplicas),
        ("f:paused", Self::Paused),
    ];
}

const STATUS: &str = "status";

impl ManagedFieldsEntry {
    /// Returns an entry for a change at a time, to the status or to another part.
    pub(crate) fn at(time: Timestamp, of_status: bool) -> Self {
        let subresource = if of_status { STATUS } else { "" };
        Self {
            time: Some(time),
            subresource: subresource.to_owned(),
            ..Self::default()
        }
    }

    /// Returns a change by a field manager at an unknown time.
    pub(crate) fn of(manager: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            ..Self::default()
        }
    }

    /// Returns a change of the status by a field manager at an unknown time.
    pub(crate) fn of_status(manager: &str) -> Self {
        Self {
            subresource: STATUS.to_owned(),
            ..Self::of(manager)
        }
    }

    /// Whether the entry was written through the scale subresource, as by the controller and `kubectl scale`.
    pub fn is_of_scale(&self) -> bool {
        self.subresource == "scale"
    }

    /// Whether the entry is from a manifest that the API server applies.
    pub fn is_applied(&self) -> bool {
        self.operation == "Apply"
    }

    /// Whether the entry includes a field.
    pub fn owns(&self, field: SpecField) -> bool {
        self.fields.contains(&field)
    }

    /// Whether the entry concerns the status.
    pub fn is_of_status(&self) -> bool {
        self.subresource == STATUS
    }
}

/// Returns the last of the entries that include a field, if one does.
pub(crate) fn last_writer(
    managed: &[ManagedFieldsEntry],
    field: SpecField,
) -> Option<&ManagedFieldsEntry> {
    managed
        .iter()
        .filter(|entry| entry.owns(field))
        .max_by_key(|entry| entry.time)
}

/// Fields as a `metav1.FieldsV1`.
fn below_spec<S: Serializer>(fields: &[SpecField], serializer: S) -> Result<S::Ok, S::Error> {
    let known = SpecField::ALL
        .iter()
        .filter(|(_, field)| fields.contains(field));
    let spec: BTreeMap<&str, BTreeMap<&str, &str>> =
        known.map(|(name, _)| (*name, BTreeMap::new())).collect();
    serializer.collect_map([("f:spec", spec)])
}

/// Looks for fields in a `metav1.FieldsV1`.
fn of_spec<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SpecField>, D::Error> {
    #[derive(Deserialize)]
    struct FieldsV1 {
        #[serde(rename = "f:spec")]
        spec: Option<BTreeMap<String, IgnoredAny>>,
    }
    let fields = Option::<FieldsV1>::deserialize(deserializer)?;
    let spec = fields.and_then(|fields| fields.spec).unwrap_or_default();
    let known = SpecField::ALL
        .iter()
        .filter(|(name, _)| spec.contains_key(*name));
    Ok(known.map(|(_, field)| *field).collect())
}

#[cfg(test)]
mod tests {
    use super::{ManagedFieldsEntry, SpecField};

    #[test]
    fn what_is_saved_is_read_again() {
        let text = r#"{"manager":"ci","operation":"Apply","time":"2026-11-21T06:00:00Z","subresource":"",
            "fieldsV1":{"f:spec":{"f:replicas":{}}}}"#;
        let entry: ManagedFieldsEntry = serde_json::from_str(text).unwrap();
        assert!(
            entry.is_applied() && entry.owns(SpecField::Replicas),
            "{entry:?}"
        );
        assert!(!entry.owns(SpecField::MaxReplicas), "{entry:?}");
        let saved = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            serde_json::from_str::<ManagedFieldsEntry>(&saved).unwrap(),
            entry,
            "{saved}"
        );
        let other: ManagedFieldsEntry = serde_json::from_str(r#"{"operation":"Update"}"#).unwrap();
        assert!(!other.is_applied());
    }
}
