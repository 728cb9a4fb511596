//! The HorizontalPodAutoscaler in the shape of `autoscaling/v2`, the version that the controller
//! works with. Fields keep the API's names and laxness: an object that its API server has accepted is interpreted as
//! the controller would, valid or not. Older versions are converted in [`crate::apiserver::convert`], defaults filled
//! in by [`crate::apiserver::default`], manifests validated by [`crate::apiserver::validate`].

mod spec;
mod status;

use jiff::Timestamp;

use super::written::Written;
use crate::apimachinery::metadata::OwnerReference;
use crate::apimachinery::names;
use crate::apimachinery::selector::Labels;
use crate::apimachinery::tool::Tool;

pub use spec::{
    Behavior, ContainerResourceMetricSource, CrossVersionObjectReference, ExternalMetricSource,
    HpaSpec, MetricId, MetricIdentifier, MetricSource, MetricSpec, MetricTarget,
    ObjectMetricSource, PodsMetricSource, ResourceMetricSource, ScalingPolicy, ScalingRules,
};
pub(crate) use spec::{CUSTOM, EXTERNAL, METRIC_SOURCE_TYPES, RESOURCE};
pub use status::{
    ContainerResourceMetricStatus, ExternalMetricStatus, HpaStatus, MetricStatus,
    MetricValueStatus, ObjectMetricStatus, PodsMetricStatus, ResourceMetricStatus,
};

/// The maximum number of metrics of an HPA, triggers of a ScaledObject or columns of a load. The API server
/// has no such limit, but each metric is a request in each pass.
pub const MAX_METRICS: usize = 1000;

/// A HorizontalPodAutoscaler: identity, spec and the status that the controller last wrote.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hpa {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.uid`; present when an API server has accepted the object.
    pub uid: Option<String>,
    /// `metadata.resourceVersion`: the state of the object.
    pub resource_version: String,
    /// The times when the parts of the HPA were last written.
    pub written: Written,
    /// `metadata.deletionTimestamp`: set once it has been marked for deletion.
    pub deletion_timestamp: Option<Timestamp>,
    /// `metadata.labels`, which select HPAs in a list.
    pub labels: Labels,
    /// The object that controls the HPA, such as a ScaledObject.
    pub owner: Option<OwnerReference>,
    /// Whether KEDA's webhook accepts a ScaledObject for the same target, by its annotation
    /// `validations.keda.sh/hpa-ownership`.
    pub accepts_scaled_objects: bool,
    /// `metadata.generation`, which API servers maintain from 1.37 on.
    pub generation: Option<i64>,
    /// The desired behavior, with defaults applied.
    pub spec: HpaSpec,
    /// The status that the controller last wrote.
    pub status: HpaStatus,
}

impl Hpa {
    /// Returns the KEDA ScaledObject that controls the HPA.
    pub(crate) fn scaled_object(&self) -> Option<&OwnerReference> {
        self.owner.as_ref().filter(|owner| {
            owner.kind == "ScaledObject" && names::group(&owner.api_version) == "keda.sh"
        })
    }

    /// Returns the tool that writes the HPA.
    pub(crate) fn tool(&self) -> Option<Tool> {
        self.written.tool.or_else(|| Tool::of_labels(&self.labels))
    }

    /// Whether a metric describes another namespace than the HPA's own, which the controller asks about instead.
    pub(crate) fn describes_other_namespace(&self, spec: &MetricSpec) -> bool {
        let object = spec.described_object();
        object.is_some_and(|it| it.is_namespace() && it.name != self.namespace)
    }

    /// Whether the status belongs to a pass on another spec than the current one. Controllers record this with the gate
    /// `HPAGeneration`.
    pub(crate) fn is_status_of_other_spec(&self) -> bool {
        let observed = self.status.observed_generation;
        !self.written.by_us
            && self.generation.is_some()
            && observed.is_some_and(|observed| Some(observed) != self.generation)
    }

    /// Whether, according to the last status, the metrics API of a group had no value for one of the metrics:
    /// the status has a gap in its place, or the condition names its type.
    pub(crate) fn lacked_values_of(&self, group: &str) -> bool {
        let status = &self.status;
        let gaps = status.current_metrics.as_deref().unwrap_or_default();
        let failed = status
            .condition("ScalingActive")
            .filter(|it| it.status == "False");
        let reason = failed
            .map(|it| &*it.reason)
            .and_then(|it| it.strip_prefix("FailedGet")?.strip_suffix("Metric"));
        self.spec.metrics.iter().enumerate().any(|(index, spec)| {
            let is_gap = gaps.get(index).is_some_and(|it| it.type_.is_empty());
            spec.api_group() == group && (is_gap || reason == Some(&*spec.type_))
        })
    }
}

#[cfg(test)]
impl Hpa {
    /// Builds the HPA of unit tests, with these fields of its spec and this status.
    pub(crate) fn of(spec: &serde_json::Value, status: serde_json::Value) -> Self {
        let mut hpa = crate::build::hpa(spec);
        Self {
            name: "web".to_owned(),
            namespace: "default".to_owned(),
            uid: Some("u".to_owned()),
            spec: serde_json::from_value(hpa["spec"].take()).expect("a spec"),
            status: serde_json::from_value(status).expect("a status"),
            ..Self::default()
        }
    }
}
