//! The parts of `ObjectMeta` that a pass or the API server's checks use. Reading is as lax
//! as Go's decoder: null is the zero value, unknown fields are skipped.
//! [`super::validate`] checks names and keys.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::apimachinery::json::{is_zero, optional_time, unique_map};
use crate::apimachinery::managed_fields::ManagedFieldsEntry;
use crate::apimachinery::metadata::OwnerReference;

/// Labels or annotations by key.
pub type LabelMap = BTreeMap<String, String>;

/// `metav1.ObjectMeta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// The object's name; empty if only `generateName` is set.
    pub name: String,
    /// The prefix from which the API server would generate a name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// The namespace; empty if the manifest leaves it to the request.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Set by the API server on creation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The state of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Counted by the API server.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// Set by the API server on creation.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub creation_timestamp: Option<Timestamp>,
    /// Set by the API server when the object is marked for deletion.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub deletion_timestamp: Option<Timestamp>,
    /// Labels by key.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique_map"
    )]
    pub labels: LabelMap,
    /// Annotations by key.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique_map"
    )]
    pub annotations: LabelMap,
    /// The objects that own this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// The actions that must happen before the object can be deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// The writers of the object's fields, with the times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managed_fields: Vec<ManagedFieldsEntry>,
}

impl ObjectMeta {
    /// Returns the names, labels and annotations that a manifest states; in the namespace `default` if it
    /// states none.
    pub(crate) fn stated(metadata: &Json) -> Self {
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let namespace = match text("namespace") {
            none if none.is_empty() => "default".to_owned(),
            stated => stated,
        };
        Self {
            name: text("name"),
            generate_name: text("generateName"),
            namespace,
            labels: texts(&metadata["labels"]),
            annotations: texts(&metadata["annotations"]),
            ..Self::default()
        }
    }
}

/// Returns the values of a map that are texts; empty texts for others.
fn texts(map: &Json) -> LabelMap {
    let entries = map.as_object().into_iter().flatten();
    entries
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}
