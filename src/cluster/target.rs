//! A target itself: whether it is being deleted, how many of its replicas are ready, and who last set them.
//! It is only read.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::apimachinery::managed_fields::SpecField;
use crate::apimachinery::metadata::Metadata;
use crate::cluster::fetch::Fetch;
use crate::cluster::observed::ScaleAt;
use crate::cluster::{Failure, Session};
use crate::snapshot::evidence::Counted;
use crate::snapshot::written::FIELD_MANAGER;

/// The relevant fields of a target.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TargetObject {
    pub(crate) metadata: Metadata,
    pub(crate) spec: TargetSpec,
    pub(crate) status: TargetStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TargetSpec {
    /// `None` if the kind keeps the count elsewhere, where its scale reads it.
    pub(crate) replicas: Option<i32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TargetStatus {
    pub(crate) replicas: i32,
    pub(crate) ready_replicas: i32,
    observed_generation: Option<Value>,
}

impl TargetObject {
    /// Returns the replica count until a time, if the target says since when its status is unchanged.
    pub(super) fn counted(&self, replicas: i32, until: Timestamp) -> Option<Counted> {
        Counted::new(replicas, &self.metadata.managed_fields, until)
    }

    /// Whether it has exactly this many replicas, all of them ready.
    pub(crate) fn has(&self, replicas: i32) -> bool {
        let TargetStatus {
            replicas: there,
            ready_replicas,
            observed_generation,
        } = &self.status;
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

    /// Returns the last writer of the replicas, if known; this program, if it is one of several.
    pub(crate) fn owner(&self) -> Option<&str> {
        let managers: Vec<&str> = self
            .metadata
            .managed_fields
            .iter()
            .filter(|entry| entry.owns(SpecField::Replicas))
            .map(|entry| &*entry.manager)
            .collect();
        let own = managers.iter().find(|manager| **manager == FIELD_MANAGER);
        own.or(managers.first()).copied()
    }
}

/// Reads the target of a scale.
///
/// # Errors
///
/// The target cannot be read.
pub async fn target(session: &Session, at: &ScaleAt) -> Result<TargetObject, Failure> {
    Fetch::new(session, &at.namespace).json(&at.path, "").await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TargetObject, Value};

    fn target(object: &Value) -> TargetObject {
        crate::apimachinery::json::decode(&object.to_string()).unwrap()
    }

    #[test]
    fn a_target_has_its_replicas_once_it_knows_the_write_and_all_are_ready() {
        for (generation, observed, replicas, ready, has) in [
            (json!(2), json!(2), 3, 3, true),
            (json!(2), json!(3), 3, 3, true),
            (json!(2), json!("2"), 3, 3, true),
            // Its controller has not seen the write.
            (json!(2), json!(1), 3, 3, false),
            (json!(10), json!("9"), 3, 3, false),
            // Not every kind has it.
            (json!(null), json!(1), 3, 3, true),
            (json!(2), json!(null), 3, 3, true),
            (json!(2), json!("of text"), 3, 3, true),
            // Pods are starting, or still exist.
            (json!(2), json!(2), 3, 2, false),
            (json!(2), json!(2), 4, 3, false),
            (json!(2), json!(2), 4, 4, false),
        ] {
            let target = target(&json!({
                "metadata": {"generation": generation},
                "status": {
                    "observedGeneration": observed, "replicas": replicas, "readyReplicas": ready,
                },
            }));
            assert_eq!(target.has(3), has, "{target:?}");
        }
    }

    #[test]
    fn the_owner_of_the_replicas_is_ourselves_or_the_first() {
        for (managers, owner) in [
            (vec![], None),
            (vec![("deployer", "f:template")], None),
            (
                vec![("deployer", "f:template"), ("kubectl", "f:replicas")],
                Some("kubectl"),
            ),
            (
                vec![("kubectl", "f:replicas"), ("argocd", "f:replicas")],
                Some("kubectl"),
            ),
            (
                vec![("kubectl", "f:replicas"), ("kubectl-hpa", "f:replicas")],
                Some("kubectl-hpa"),
            ),
            (
                vec![("kubectl-hpa", "f:template"), ("argocd", "f:replicas")],
                Some("argocd"),
            ),
        ] {
            let entry = |(manager, field): &(&str, &str)| {
                let fields = json!({"f:spec": {*field: {}}});
                json!({"manager": manager, "fieldsV1": fields})
            };
            let entries: Vec<Value> = managers.iter().map(entry).collect();
            let target = target(&json!({"metadata": {"managedFields": entries}}));
            assert_eq!(target.owner(), owner, "{managers:?}");
        }
    }

    #[test]
    fn a_target_may_have_nothing() {
        let nothing = target(&json!({"metadata": null, "spec": null, "status": null}));
        assert_eq!((nothing.spec.replicas, nothing.owner()), (None, None));
    }
}
