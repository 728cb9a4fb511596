//! A target itself: whether it is going, how many of its replicas are ready, and who set them last.
//! It is read only.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::apimachinery::json::null_as_default;
use crate::cluster::fetch::read::read;
use crate::cluster::observed::ScaleAt;
use crate::cluster::{Failure, Session};
use crate::saved::wire::Metadata;
use crate::snapshot::evidence::Counted;
use crate::snapshot::written::FIELD_MANAGER;

/// What a target says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TargetObject {
    #[serde(deserialize_with = "null_as_default")]
    metadata: Metadata,
    #[serde(deserialize_with = "null_as_default")]
    spec: Spec,
    #[serde(deserialize_with = "null_as_default")]
    status: Status,
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

impl TargetObject {
    /// Its uid.
    pub(crate) fn uid(&self) -> &str {
        &self.metadata.uid
    }

    /// Since when it is to go.
    pub(crate) fn deleted(&self) -> Option<Timestamp> {
        self.metadata.deletion_timestamp
    }

    /// `spec.replicas`; none where the kind counts them elsewhere, as its scale then tells.
    pub(crate) fn replicas(&self) -> Option<i32> {
        self.spec.replicas
    }

    /// `status.readyReplicas`.
    pub(crate) fn ready(&self) -> i32 {
        self.status.ready_replicas
    }

    /// `status.replicas`.
    pub(super) fn current(&self) -> i32 {
        self.status.replicas
    }

    /// How many replicas there were until a time, if it tells since when its status is as it is.
    pub(super) fn counted(&self, replicas: i32, until: Timestamp) -> Option<Counted> {
        Counted::new(replicas, &self.metadata.managed_fields, until)
    }

    /// Whether it has so many replicas, all of them ready, and no more.
    pub(crate) fn has(&self, replicas: i32) -> bool {
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
    pub(crate) fn owner(&self) -> Option<&str> {
        let owners = || self.metadata.managed_fields.iter().filter(|entry| entry.owns_replicas);
        let own = owners().find(|entry| entry.manager == FIELD_MANAGER);
        own.or_else(|| owners().next()).map(|entry| &*entry.manager)
    }
}

/// Reads the target of a scale.
///
/// # Errors
///
/// It cannot be read.
pub async fn target(session: &Session, at: &ScaleAt) -> Result<TargetObject, Failure> {
    let response = session.get(&at.path, "application/json").await?;
    read("", &response.body).map_err(|cause| session.unreadable(&at.path, cause))
}
