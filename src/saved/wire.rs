//! The JSON of Kubernetes objects, limited to the fields that are read and written, each named here once
//! for both. Objects that occur in thousands are in [`crate::snapshot::pod`] and
//! [`crate::snapshot::metric`], HPAs in [`crate::apiserver::convert`].

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::apimachinery::json::optional_time;
use crate::apimachinery::managed_fields::ManagedFieldsEntry;
use crate::apimachinery::metadata::{Metadata, OwnerReference};
use crate::apimachinery::names;
use crate::snapshot::Scale;
use crate::snapshot::evidence::{
    Counted, DEPLOYMENT, Event, Evidence, LEASE_NAME, LEASE_NAMESPACE, Lease, NOT_TRIGGERED, POD,
    SCALED, TRIGGERED,
};
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa};
use crate::snapshot::metric::ObjectReference;

/// An object with its kind, to be written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a, T> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    #[serde(flatten)]
    pub(super) object: T,
}

/// The scale subresource of an object. The API omits the kind of that object; `--save` records it as the
/// owner.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleObject<S = ScaleStatus> {
    /// The target's metadata, without its kind.
    pub metadata: Metadata,
    /// The desired replicas.
    pub spec: ScaleSpec,
    /// The current replicas and the selector, which have another form in old versions.
    pub status: S,
}

/// `ScaleSpec`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleSpec {
    /// The count; 0 if unstated.
    pub replicas: i32,
}

/// `ScaleStatus`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// The count; 0 if unstated.
    pub replicas: i32,
    /// The pods' selector as text.
    pub selector: String,
}

impl ScaleObject {
    /// Returns the scale of an HPA's target, with the time since which its status is unchanged.
    pub(super) fn of(hpa: &Hpa, scale: &Scale, counted: Option<Counted>) -> Self {
        let target = &hpa.spec.scale_target_ref;
        // A scale has no managed fields: these are the target's.
        let status = counted.map(|Counted { since, .. }| ManagedFieldsEntry::at(since, true));
        Self {
            metadata: Metadata {
                name: target.name.clone(),
                namespace: Some(hpa.namespace.clone()),
                managed_fields: status.into_iter().collect(),
                owner_references: vec![OwnerReference {
                    api_version: target.api_version.clone(),
                    kind: target.kind.clone(),
                    name: target.name.clone(),
                    ..OwnerReference::default()
                }],
                ..Metadata::default()
            },
            spec: ScaleSpec {
                replicas: scale.spec_replicas,
            },
            status: ScaleStatus {
                replicas: scale.status_replicas,
                selector: scale.selector.as_str().to_owned(),
            },
        }
    }

    /// Returns the values of the scale that a pass needs.
    pub(crate) fn scale(&self) -> Scale {
        Scale {
            spec_replicas: self.spec.replicas,
            status_replicas: self.status.replicas,
            selector: self.status.selector.clone().into(),
        }
    }

    /// Whether the scale names a target with the kind and the version in this form.
    pub(super) fn names(&self, target: &CrossVersionObjectReference) -> bool {
        let mut owners = self.metadata.owner_references.iter();
        owners.any(|it| it.kind == target.kind && it.api_version == target.api_version)
    }

    /// Whether the scale may belong to a target of this kind: always, unless it names another kind.
    pub(super) fn may_belong_to(&self, target: &CrossVersionObjectReference) -> bool {
        let owners = &self.metadata.owner_references;
        let is_target = |owner: &OwnerReference| {
            target.is_kind(&owner.kind) && names::group(&owner.api_version) == target.group()
        };
        owners.is_empty() || owners.iter().any(is_target)
    }
}

/// An event, of `v1` or `events.k8s.io/v1`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EventObject {
    #[serde(alias = "regarding")]
    involved_object: ObjectReference,
    reason: String,
    #[serde(alias = "note")]
    message: String,
    #[serde(
        alias = "deprecatedFirstTimestamp",
        deserialize_with = "optional_time::deserialize"
    )]
    first_timestamp: Option<Timestamp>,
    #[serde(
        alias = "deprecatedLastTimestamp",
        deserialize_with = "optional_time::deserialize"
    )]
    last_timestamp: Option<Timestamp>,
    #[serde(alias = "deprecatedCount")]
    count: i32,
    #[serde(skip_serializing, deserialize_with = "optional_time::deserialize")]
    event_time: Option<Timestamp>,
    #[serde(skip_serializing)]
    series: Option<EventSeries>,
    #[serde(alias = "deprecatedSource", skip_serializing)]
    source: EventSource,
    #[serde(skip_serializing)]
    reporting_component: String,
    #[serde(skip_serializing)]
    reporting_controller: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EventSource {
    component: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EventSeries {
    count: i32,
    #[serde(deserialize_with = "optional_time::deserialize")]
    last_observed_time: Option<Timestamp>,
}

const HPA: &str = "HorizontalPodAutoscaler";

/// The names under which the controllers report (`NewHorizontalController`, `NewDeploymentController`).
const HPA_CONTROLLER: &str = "horizontal-pod-autoscaler";
const DEPLOYMENT_CONTROLLER: &str = "deployment-controller";

impl EventObject {
    /// Returns an event about an object of a kind.
    pub(super) fn of(kind: &str, event: &Event) -> Self {
        let Event {
            namespace,
            name,
            uid,
            reason,
            message,
            first,
            last,
            count,
        } = event.clone();
        Self {
            involved_object: ObjectReference {
                kind: kind.to_owned(),
                namespace,
                name,
                uid,
                api_version: String::new(),
            },
            reason,
            message,
            first_timestamp: first,
            last_timestamp: last,
            count,
            ..Self::default()
        }
    }

    /// Returns the event, if it is about an HPA and names no reporter other than the controller.
    pub(crate) fn about_hpa(self) -> Option<Event> {
        let is_one = self.involved_object.kind == HPA && self.may_be_of(HPA_CONTROLLER);
        is_one.then(|| self.event())
    }

    /// Whether the event names no reporter but this controller.
    fn may_be_of(&self, controller: &str) -> bool {
        let reporters = [
            &self.source.component,
            &self.reporting_component,
            &self.reporting_controller,
        ];
        let mut named = reporters.into_iter().filter(|name| !name.is_empty());
        named.all(|name| name == controller)
    }

    /// Returns the event, if it is about a Deployment that scaled one of its ReplicaSets.
    pub(crate) fn about_scaled(self) -> Option<Event> {
        let is_one = self.involved_object.kind == DEPLOYMENT && self.reason == SCALED;
        let is_own = is_one && self.may_be_of(DEPLOYMENT_CONTROLLER);
        is_own.then(|| self.event())
    }

    /// Returns the event, if it comes from the cluster autoscaler and is about a pod.
    fn about_pod(self) -> Option<Event> {
        let is_one = [TRIGGERED, NOT_TRIGGERED].contains(&&*self.reason);
        is_one.then(|| self.event())
    }

    /// Stores the event in the right list, if it is relevant.
    pub(super) fn keep(self, evidence: &mut Evidence) {
        match &*self.involved_object.kind {
            DEPLOYMENT => evidence.scaled.extend(self.about_scaled()),
            POD => evidence.pods.extend(self.about_pod()),
            _ => evidence.events.extend(self.about_hpa()),
        }
    }

    fn event(self) -> Event {
        let object = self.involved_object;
        let series = self.series.unwrap_or_default();
        let first = self.first_timestamp.or(self.event_time);
        Event {
            namespace: object.namespace,
            name: object.name,
            uid: object.uid,
            reason: self.reason,
            message: self.message,
            first,
            last: series
                .last_observed_time
                .or(self.last_timestamp)
                .or(self.event_time)
                .or(first),
            count: self.count.max(series.count).max(1),
        }
    }
}

/// A lease.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LeaseObject {
    metadata: Metadata,
    spec: LeaseSpec,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LeaseSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    holder_identity: Option<String>,
    #[serde(deserialize_with = "optional_time::deserialize")]
    acquire_time: Option<Timestamp>,
    #[serde(deserialize_with = "optional_time::deserialize")]
    renew_time: Option<Timestamp>,
    lease_duration_seconds: Option<i32>,
}

/// The default of the controller manager.
const LEASE_DURATION: i32 = 15;

impl LeaseObject {
    fn is_own(&self) -> bool {
        let Metadata {
            name, namespace, ..
        } = &self.metadata;
        (namespace.as_deref(), &**name) == (Some(LEASE_NAMESPACE), LEASE_NAME)
    }

    /// Returns the holder, if this is the controller manager's lease.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.spec
            .holder_identity
            .as_deref()
            .filter(|_| self.is_own())
    }

    /// Returns the lease, if it belongs to the controller manager and has been held.
    pub(crate) fn of_controller_manager(&self) -> Option<Lease> {
        let LeaseSpec {
            acquire_time,
            renew_time,
            lease_duration_seconds,
            ..
        } = self.spec;
        let duration = lease_duration_seconds.unwrap_or(LEASE_DURATION);
        self.is_own().then_some(Lease {
            acquired: acquire_time?,
            renewed: renew_time?,
            duration: SignedDuration::from_secs(duration.into()),
        })
    }
}

/// The lease of the controller manager.
impl From<Lease> for LeaseObject {
    fn from(lease: Lease) -> Self {
        let seconds = i32::try_from(lease.duration.as_secs()).unwrap_or(i32::MAX);
        Self {
            metadata: Metadata {
                name: LEASE_NAME.to_owned(),
                namespace: Some(LEASE_NAMESPACE.to_owned()),
                ..Metadata::default()
            },
            spec: LeaseSpec {
                holder_identity: None,
                acquire_time: Some(lease.acquired),
                renew_time: Some(lease.renewed),
                lease_duration_seconds: Some(seconds),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EventObject;

    #[test]
    fn events_of_others_tell_nothing_of_the_controller() {
        for (source, tells) in [
            (
                r#""source": {"component": "horizontal-pod-autoscaler"}"#,
                true,
            ),
            (
                r#""deprecatedSource": {"component": "horizontal-pod-autoscaler"}"#,
                true,
            ),
            (r#""message": "without a source""#, true),
            (r#""source": {"component": "kubectl-hpa"}"#, false),
            (r#""deprecatedSource": {"component": "kubectl-hpa"}"#, false),
            (r#""reportingController": "my-operator""#, false),
            (
                r#""source": {"component": ""}, "reportingComponent": "horizontal-pod-autoscaler""#,
                true,
            ),
        ] {
            let text = format!(
                r#"{{"involvedObject": {{"kind": "HorizontalPodAutoscaler", "name": "web"}}, {source}}}"#
            );
            let event: EventObject = serde_json::from_str(&text).unwrap();
            assert_eq!(event.about_hpa().is_some(), tells, "{source}");
        }
        for (component, tells) in [("deployment-controller", true), ("my-operator", false)] {
            let text = format!(
                r#"{{"involvedObject": {{"kind": "Deployment", "name": "web"}}, "reason": "ScalingReplicaSet",
                    "source": {{"component": "{component}"}}}}"#
            );
            let event: EventObject = serde_json::from_str(&text).unwrap();
            assert_eq!(event.about_scaled().is_some(), tells, "{component}");
        }
    }
}
