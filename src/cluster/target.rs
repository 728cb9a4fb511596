//! A target itself: whether it is being deleted, how many of its replicas are ready, and who last set them.
//! It is only read.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::apimachinery::managed_fields::SpecField;
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::names;
use crate::cluster::fetch::Fetch;
use crate::cluster::observed::ScaleAt;
use crate::cluster::{Failure, Session};
use crate::saved::assemble::has_own_scale;
use crate::snapshot::evidence::Counted;
use crate::snapshot::written::FIELD_MANAGER;

/// The relevant fields of a target.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetObject {
    api_version: String,
    kind: String,
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
    pub(crate) replicas: Option<i32>,
    ready_replicas: Option<i32>,
    observed_generation: Option<Value>,
}

impl TargetObject {
    /// Returns the replica count until a time, if the target says since when its status is unchanged.
    pub(super) fn counted(&self, replicas: i32, until: Timestamp) -> Option<Counted> {
        Counted::new(replicas, &self.metadata.managed_fields, until)
    }

    /// Whether its controller has seen its spec; also true if it does not say which one it has seen.
    pub(crate) fn is_observed(&self) -> bool {
        // Some kinds write the generation as text.
        let stated = self.status.observed_generation.as_ref();
        let observed = stated.and_then(|seen| match seen {
            Value::String(text) => text.parse().ok(),
            seen => seen.as_i64(),
        });
        match (self.metadata.generation, observed) {
            (Some(generation), Some(observed)) => observed >= generation,
            _ => true,
        }
    }

    /// Returns how many replicas exist and how many of them are ready, according to its status. The known kinds omit a
    /// count of zero; what other kinds omit is unknown.
    pub(crate) fn counts(&self) -> [Option<i32>; 2] {
        let is_known = has_own_scale(names::group(&self.api_version), &self.kind);
        [self.status.replicas, self.status.ready_replicas]
            .map(|count| count.or(is_known.then_some(0)))
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
    fn a_target_is_observed_once_its_controller_knows_the_write() {
        for (generation, observed, is_observed) in [
            (json!(2), json!(2), true),
            (json!(2), json!(3), true),
            (json!(2), json!("2"), true),
            (json!(2), json!(1), false),
            (json!(10), json!("9"), false),
            // Not every kind has it.
            (json!(null), json!(1), true),
            (json!(2), json!(null), true),
            (json!(2), json!("of text"), true),
        ] {
            let target = target(&json!({
                "metadata": {"generation": generation},
                "status": {"observedGeneration": observed},
            }));
            assert_eq!(target.is_observed(), is_observed, "{target:?}");
        }
    }

    #[test]
    fn a_count_that_is_not_stated_is_zero_only_for_kinds_that_omit_zero() {
        let both = json!({"replicas": 4, "readyReplicas": 3});
        for (api_version, kind, status, counts) in [
            ("apps/v1", "Deployment", &both, [Some(4), Some(3)]),
            ("shop.example.com/v1", "Queue", &both, [Some(4), Some(3)]),
            ("apps/v1", "Deployment", &json!(null), [Some(0); 2]),
            ("v1", "ReplicationController", &json!({}), [Some(0); 2]),
            (
                "argoproj.io/v1alpha1",
                "Rollout",
                &json!({"replicas": 4}),
                [Some(4), Some(0)],
            ),
            (
                "shop.example.com/v1",
                "Queue",
                &json!({"replicas": 4, "observedGeneration": 2}),
                [Some(4), None],
            ),
            ("shop.example.com/v1", "Deployment", &json!({}), [None; 2]),
        ] {
            let object = json!({"apiVersion": api_version, "kind": kind, "status": status});
            assert_eq!(target(&object).counts(), counts, "{object}");
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
