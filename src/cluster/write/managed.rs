//! A target itself: whether it is going, how many of its replicas are ready, and who set them last.
//! It is read only.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::apimachinery::json::{list, null_as_default, optional_time};
use crate::cluster::fetch::read::read;
use crate::cluster::observed::ScaleAt;
use crate::cluster::{Failure, Session};
use crate::snapshot::evidence::OURS;

/// Who writes, in `managedFields`.
pub const MANAGER: &str = OURS;

/// What a target says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Target {
    #[serde(deserialize_with = "null_as_default")]
    metadata: Metadata,
    #[serde(deserialize_with = "null_as_default")]
    spec: Spec,
    #[serde(deserialize_with = "null_as_default")]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    #[serde(deserialize_with = "null_as_default")]
    uid: String,
    generation: Option<i64>,
    #[serde(with = "optional_time")]
    deletion_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "list")]
    managed_fields: Vec<Entry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Entry {
    #[serde(deserialize_with = "null_as_default")]
    manager: String,
    #[serde(rename = "fieldsV1")]
    fields: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    replicas: Option<i32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    #[serde(deserialize_with = "null_as_default")]
    replicas: i32,
    #[serde(deserialize_with = "null_as_default")]
    ready_replicas: i32,
    observed_generation: Option<Value>,
}

impl Target {
    /// Its uid.
    pub fn uid(&self) -> &str {
        &self.metadata.uid
    }

    /// Since when it is to go.
    pub fn deleted(&self) -> Option<Timestamp> {
        self.metadata.deletion_timestamp
    }

    /// `spec.replicas`; none where the kind counts them elsewhere, as its scale then tells.
    pub fn replicas(&self) -> Option<i32> {
        self.spec.replicas
    }

    /// `status.readyReplicas`.
    pub fn ready(&self) -> i32 {
        self.status.ready_replicas
    }

    /// Whether it has so many replicas, all of them ready, and no more.
    pub fn has(&self, replicas: i32) -> bool {
        let Status { replicas: there, ready_replicas, observed_generation } = &self.status;
        // Some kinds write the generation as text.
        let observed = observed_generation.as_ref().and_then(|seen| match seen {
            Value::String(text) => text.parse().ok(),
            seen => seen.as_i64(),
        });
        let current = match (self.metadata.generation, observed) {
            (Some(generation), Some(observed)) => observed >= generation,
            _ => true,
        };
        current && *there == replicas && *ready_replicas == replicas
    }

    /// Who set the replicas last, as far as it says: ourselves, where we are among several.
    pub fn owner(&self) -> Option<&str> {
        let owns = |entry: &&Entry| entry.fields.pointer("/f:spec/f:replicas").is_some();
        let owners = || self.metadata.managed_fields.iter().filter(owns);
        let own = owners().find(|entry| entry.manager == MANAGER);
        own.or_else(|| owners().next()).map(|entry| &*entry.manager)
    }
}

/// Reads the target of a scale.
///
/// # Errors
///
/// It cannot be read.
pub async fn target(session: &Session, at: &ScaleAt) -> Result<Target, Failure> {
    let response = session.get(&at.path, "application/json").await?;
    read("", &response.body).map_err(|cause| session.unreadable(&at.path, cause))
}
