//! The kinds of targets that kube-state-metrics knows, with the names of their series, and whose pods are a
//! target's.

use crate::snapshot::hpa::CrossVersionObjectReference;

/// A built-in kind of targets, with the series of its replicas.
pub(super) struct KnownKind {
    groups: &'static [&'static str],
    /// The kind as owner references have it.
    kind: &'static str,
    /// Whether it owns its pods through ReplicaSets, and not directly.
    pub(super) has_replica_sets: bool,
    /// The series of the requested replicas.
    pub(super) desired: &'static str,
    /// The series of the actual replicas.
    pub(super) status: &'static str,
    /// The series of the ready replicas.
    pub(super) ready: &'static str,
    /// The series of the replicas with the current template, if the kind replaces the others.
    pub(super) updated: Option<&'static str>,
}

static KNOWN_KINDS: [KnownKind; 4] = [
    KnownKind {
        groups: &["apps", "extensions"],
        kind: "Deployment",
        has_replica_sets: true,
        desired: "kube_deployment_spec_replicas",
        status: "kube_deployment_status_replicas",
        ready: "kube_deployment_status_replicas_ready",
        updated: Some("kube_deployment_status_replicas_updated"),
    },
    KnownKind {
        groups: &["apps"],
        kind: "StatefulSet",
        has_replica_sets: false,
        desired: "kube_statefulset_replicas",
        status: "kube_statefulset_status_replicas",
        ready: "kube_statefulset_status_replicas_ready",
        updated: Some("kube_statefulset_status_replicas_updated"),
    },
    KnownKind {
        groups: &["apps", "extensions"],
        kind: "ReplicaSet",
        has_replica_sets: false,
        desired: "kube_replicaset_spec_replicas",
        status: "kube_replicaset_status_replicas",
        ready: "kube_replicaset_status_ready_replicas",
        updated: None,
    },
    KnownKind {
        groups: &[""],
        kind: "ReplicationController",
        has_replica_sets: false,
        desired: "kube_replicationcontroller_spec_replicas",
        status: "kube_replicationcontroller_status_replicas",
        ready: "kube_replicationcontroller_status_ready_replicas",
        updated: None,
    },
];

/// Returns the kind of a target, if it is built in. Any other may own its pods directly, or through ReplicaSets.
pub(super) fn known_kind(target: &CrossVersionObjectReference) -> Option<&'static KnownKind> {
    let mut kinds = KNOWN_KINDS.iter();
    kinds.find(|own| own.groups.contains(&target.group()) && target.is_kind(own.kind))
}

/// Whether pods with this owner belong to the target, given its past and present ReplicaSets.
pub(super) fn owns(
    target: &CrossVersionObjectReference,
    replica_sets: &[String],
    owner_kind: &str,
    name: &str,
) -> bool {
    let direct = owner_kind == kind(target) && name == target.name;
    let through = owner_kind == "ReplicaSet" && replica_sets.iter().any(|own| own == name);
    match known_kind(target) {
        Some(own) if own.has_replica_sets => through,
        Some(_) => direct,
        None => direct || through,
    }
}

/// Returns the kind of a target as owner references have it; another than a built-in one is as it was typed.
pub(super) fn kind(target: &CrossVersionObjectReference) -> &str {
    known_kind(target).map_or(&target.kind, |own| own.kind)
}
