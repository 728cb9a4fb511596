//! `metav1.ObjectMeta` of objects that are not validated, and the parts that all kinds of objects share:
//! owners and conditions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::annotations::Annotations;
use super::json::{optional_time, stated_text};
use super::managed_fields::ManagedFieldsEntry;
use super::selector::Labels;
use super::tool::Tool;

/// `metav1.ObjectMeta`, limited to the fields that are read for objects that are not validated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The object's name.
    pub name: String,
    /// The object's namespace, if stated.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "stated_text"
    )]
    pub namespace: Option<String>,
    /// The object's uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The state of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The number of specs that the object has had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Labels by key.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The annotations about scaling.
    #[serde(skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// The creation time of the object.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub creation_timestamp: Option<Timestamp>,
    /// Set once the object is being deleted.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub deletion_timestamp: Option<Timestamp>,
    /// The writers of the object's fields, with the times. The API returns them with a target, `--save` with
    /// its scale.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managed_fields: Vec<ManagedFieldsEntry>,
    /// The object's owners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

impl Metadata {
    /// Returns the object that controls this one.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references
            .iter()
            .find(|owner| owner.controller == Some(true))
    }

    /// Returns the tool that writes this object.
    pub fn tool(&self) -> Option<Tool> {
        Tool::of_managed(&self.managed_fields)
            .or_else(|| Tool::of_marks(|key| self.annotations.get(key).is_some()))
            .or_else(|| Tool::of_labels(&self.labels))
    }
}

/// `metav1.OwnerReference`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the owner.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name.
    pub name: String,
    /// The owner's uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Whether the owner is the managing controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether foreground deletion of the owner waits for this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

/// A condition of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// The type, such as `Available`; of an HPA `AbleToScale`, `ScalingActive`, `ScalingLimited` or `ScaledToZero`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The time at which the status last changed.
    #[serde(with = "optional_time")]
    pub last_transition_time: Option<Timestamp>,
    /// The reason, as one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The reason, as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The generation for which it was set; for an HPA, from 1.37 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
