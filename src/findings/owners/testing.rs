//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;

/// Returns the owner of an object, with the labels that it gives its pods.
pub(crate) fn owned(kind: &str, name: &str, labels: &Value) -> Value {
    let group = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    json!({"metadata": {"labels": labels, "ownerReferences": build::owned_by(group, kind, name)}})
}

/// Returns a pod of a ReplicaSet of a Deployment.
pub(crate) fn of_set(name: &str, hash: &str) -> Value {
    owned(
        "ReplicaSet",
        &format!("{name}-{hash}"),
        &json!({"pod-template-hash": hash}),
    )
}

/// Returns a ReplicaSet of the Deployment `web` with these fields.
pub(crate) fn replica_set(hash: &str, more: &Value) -> Value {
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": format!("web-{hash}"), "namespace": "default",
            "labels": {"app": "web", "pod-template-hash": hash},
            "ownerReferences": build::owned_by("apps/v1", "Deployment", "web")}});
    build::with(set, more)
}
