//! Saved Kubernetes objects, sorted by what a pass needs of them. Nothing here decides which of them
//! belong together; `reader` reads them.

pub(super) mod reader;

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::settings::Stated;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::apimachinery::go::GoDuration;
use crate::apimachinery::json::{list, null_as_default, unique_map};
use crate::apimachinery::names;
use crate::apimachinery::quantity::Amount;
use crate::apimachinery::selector::{LabelSelector, Labels};
use crate::flags::Flags;
use crate::snapshot::Documents;
use crate::snapshot::control_plane::ControlPlane;
use crate::snapshot::evidence::{Evidence, ManagedFieldsEntry, Rescales, Seen};
use crate::snapshot::hpa::{CrossVersionObjectReference, MetricIdentifier};
use crate::snapshot::memory::{Memory, Recommendation, ScaleEvent};
use crate::snapshot::metric::{ExternalMetricValue, MetricValue, PodMetrics};
use crate::snapshot::note::Note;
use crate::snapshot::pod::{Pod, ZERO_TIME};

/// The group and version of the documents that are ours.
pub const OWN_API_VERSION: &str = "kubectl-hpa/v1alpha1";

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Objects {
    /// What was not read, in words.
    pub notes: Vec<Note>,
    /// HorizontalPodAutoscalers of any version, as JSON.
    pub hpas: Vec<HpaObject>,
    /// Scales.
    pub scales: Vec<ScaleObject>,
    /// Deployments and the other built-in kinds with a scale.
    pub workloads: Vec<Workload>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Items of the resource metrics API.
    pub pod_metrics: Vec<PodMetrics>,
    /// Items of the custom metrics API.
    pub metric_values: Vec<MetricValue>,
    /// Items of the external metrics API.
    pub external_values: Vec<ExternalMetricValue>,
    /// The lists that were in the input, be they empty: what they do not hold did not exist.
    pub lists: BTreeSet<Documents>,
    /// Events about HPAs, and the controller manager's lease.
    pub evidence: Evidence,
    /// The pods of the controller manager, and who of them leads.
    pub control_plane: ControlPlane,
    /// The controller's state.
    pub state: Option<ControllerState>,
    /// Where it was read.
    pub state_origin: String,
    /// How many objects that a pass does not look at were passed over, by kind and version.
    pub skipped: BTreeMap<(String, String), usize>,
}

/// A HorizontalPodAutoscaler that has not been decoded yet: most inputs hold others, too.
#[derive(Debug)]
pub struct HpaObject {
    /// Where it was read.
    pub origin: String,
    /// Its name.
    pub name: String,
    /// Its namespace, if stated.
    pub namespace: Option<String>,
    /// The whole object.
    pub json: String,
}

/// A saved scale subresource. The API leaves out the kind that it belongs to; `--save` names it as
/// its owner.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ScaleObject {
    /// Name and namespace of the target.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: TargetMeta,
    /// The wanted replicas.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: Replicas,
    /// The replicas that there are.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ScaleStatus,
}

/// The fields of a target's `metadata` that a pass, and what is known of earlier ones, use.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetMeta {
    /// The object's name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: Box<str>,
    /// The object's namespace, if stated.
    pub namespace: Option<Box<str>>,
    /// Who has written what, and when. The API gives it with the target, `--save` with its scale.
    #[serde(deserialize_with = "list")]
    pub managed_fields: Vec<ManagedFieldsEntry>,
    /// What the object belongs to.
    #[serde(deserialize_with = "list")]
    pub owner_references: Vec<OwnerReference>,
}

/// `metav1.OwnerReference`, as far as it tells the kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// The kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
}

impl ScaleObject {
    /// Whether it may belong to a target of this kind: always, unless it names another.
    pub fn may_belong_to(&self, target: &CrossVersionObjectReference) -> bool {
        let owners = &self.metadata.owner_references;
        let is_target = |owner: &OwnerReference| {
            owner.kind == target.kind && names::group(&owner.api_version) == target.group()
        };
        owners.is_empty() || owners.iter().any(is_target)
    }
}

/// A replica count.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Replicas {
    /// The count; 0 if unstated.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
}

/// The status of a saved scale.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// The count; 0 if unstated.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
    /// The pods' selector as text.
    #[serde(deserialize_with = "null_as_default")]
    pub selector: String,
}

/// A built-in kind with a scale.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Name and namespace.
    pub metadata: TargetMeta,
    /// `spec.replicas`, 1 if unstated.
    pub replicas: i32,
    /// `status.replicas`; none where the object carries no status, as manifests do.
    pub status_replicas: Option<i32>,
    /// `spec.selector`.
    pub selector: Option<LabelSelector>,
}

/// The document of our own that states what has no kind in Kubernetes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ControllerState {
    #[serde(rename = "metadata")]
    pub(super) _metadata: Option<IgnoredAny>,
    /// The clock.
    pub now: Option<Timestamp>,
    /// The version of the controller.
    pub kubernetes_version: Option<String>,
    /// Its flags, where they are known.
    #[serde(deserialize_with = "null_as_default")]
    pub flags: Flags,
    /// Its feature gates, where they are known.
    #[serde(deserialize_with = "unique_map")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Says that the lists below are not known, where they are neither stated nor empty.
    pub memory: Option<StatedAs>,
    /// Remembered recommendations; none means that the controller has just started.
    #[serde(deserialize_with = "null_as_default")]
    pub recommendations: Vec<Recommendation>,
    /// Remembered changes up.
    #[serde(deserialize_with = "null_as_default")]
    pub scale_up_events: Vec<ScaleEvent>,
    /// Remembered changes down.
    #[serde(deserialize_with = "null_as_default")]
    pub scale_down_events: Vec<ScaleEvent>,
    /// What was seen of earlier passes; only where the lists above are not known.
    #[serde(deserialize_with = "null_as_default")]
    pub seen: Vec<Seen>,
    /// All rescales since some time, in the same case.
    pub rescales: Option<Rescales>,
    /// Requests that failed when this was captured.
    #[serde(deserialize_with = "null_as_default")]
    pub errors: Vec<ApiError>,
    /// What the metrics APIs answered when this was captured.
    #[serde(deserialize_with = "null_as_default")]
    pub answers: Vec<ApiAnswer>,
}

impl ControllerState {
    /// The answer of the resource metrics API for an HPA, as `namespace/name`.
    pub fn pod_metrics(&self, hpa: &str) -> Option<&[PodMetrics]> {
        let mut answers = self.answers.iter().filter(|answer| answer.hpa == hpa);
        answers.find(|answer| answer.api == Api::Resource).map(|answer| &*answer.pod_metrics)
    }

    /// The memory that it states; none where it says that it is not known.
    pub fn stated_memory(&self) -> Option<Memory> {
        (self.memory != Some(StatedAs::Unknown)).then(|| self.lists())
    }

    /// The settings that it states.
    pub(super) fn settings(&self) -> Stated<'_> {
        Stated {
            kubernetes_version: self.kubernetes_version.as_deref(),
            flags: &self.flags,
            feature_gates: &self.feature_gates,
        }
    }

    /// The lists as they stand.
    pub(super) fn lists(&self) -> Memory {
        Memory {
            recommendations: self.recommendations.clone(),
            scale_up_events: self.scale_up_events.clone(),
            scale_down_events: self.scale_down_events.clone(),
        }
    }
}

/// What a document says about the memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StatedAs {
    /// It is not known.
    Unknown,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiError {
    /// Which request.
    pub api: Api,
    /// Narrows it to the metric or resource of this name.
    #[serde(default)]
    pub metric: Option<String>,
    /// Narrows it to this HPA, as `namespace/name`.
    #[serde(default)]
    pub hpa: Option<String>,
    /// The text of the failure.
    pub message: String,
    /// Whether it was refused to whoever captured this, and perhaps not to the controller.
    #[serde(default)]
    pub denied: bool,
    /// The documents that the input had lacked, where that was the cause.
    #[serde(default)]
    pub missing: Option<Documents>,
}

/// The answer to one request for the metrics of an HPA. It is taken as the server gave it: pods that
/// are gone and labels that an adapter leaves out do not matter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiAnswer {
    /// The HPA, as `namespace/name`.
    pub hpa: String,
    /// `resource`, `custom` or `external`.
    pub api: Api,
    /// The metric; none for the resource metrics API, which answers for all resources at once.
    #[serde(default)]
    pub metric: Option<MetricIdentifier>,
    /// The object of a custom metric; none for one of pods.
    #[serde(default)]
    pub described_object: Option<CrossVersionObjectReference>,
    /// What the resource metrics API answered.
    #[serde(default, deserialize_with = "null_as_default")]
    pub pod_metrics: Vec<PodMetrics>,
    /// What the other APIs answered.
    #[serde(default, deserialize_with = "null_as_default")]
    pub values: Vec<AnsweredValue>,
    /// The text of the failure, if the request failed.
    #[serde(default)]
    pub message: Option<String>,
    /// Whether it was refused to whoever captured this, and perhaps not to the controller.
    #[serde(default)]
    pub denied: bool,
    /// The documents that the input had lacked, where that was the cause.
    #[serde(default)]
    pub missing: Option<Documents>,
}

/// A value of the custom or the external metrics API.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnsweredValue {
    /// The pod that it is about, of a metric of pods.
    #[serde(default, deserialize_with = "null_as_default")]
    pub pod: Box<str>,
    /// The labels of an external metric.
    #[serde(default, deserialize_with = "null_as_default")]
    pub labels: Labels,
    /// The value.
    pub value: Amount,
    /// When it was measured.
    #[serde(default = "never")]
    pub timestamp: Timestamp,
    /// How long it was measured.
    #[serde(default)]
    pub window: GoDuration,
}

/// The time of what has none.
fn never() -> Timestamp {
    ZERO_TIME
}

/// The requests of a pass that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Api {
    /// Finding the target's resource.
    Mapping,
    /// Reading the scale.
    Scale,
    /// Writing the scale.
    ScaleUpdate,
    /// The resource metrics API.
    Resource,
    /// The custom metrics API.
    Custom,
    /// The external metrics API.
    External,
}

impl Api {
    /// Its word in the input format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mapping => "mapping",
            Self::Scale => "scale",
            Self::ScaleUpdate => "scaleUpdate",
            Self::Resource => "resource",
            Self::Custom => "custom",
            Self::External => "external",
        }
    }
}
