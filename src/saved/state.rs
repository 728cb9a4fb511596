//! This program's own document, a `ControllerState`: what a pass needs and no object of Kubernetes states. Among that
//! are the controller's settings and history, and the answers and failures of requests.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::apimachinery::go::GoDuration;
use crate::apimachinery::json::{UniqueMap, optional_time};
use crate::apimachinery::selector::Labels;
use crate::flags::Flags;
use crate::snapshot::Documents;
use crate::snapshot::evidence::{Rescales, SeenPass};
use crate::snapshot::hpa::{CrossVersionObjectReference, MetricIdentifier};
use crate::snapshot::memory::{Memory, Recommendation, ScaleEvent};
use crate::snapshot::metric::{Milli, PodMetrics};
use crate::snapshot::past::Past;
use crate::snapshot::settings::StatedSettings;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::ManifestReplicas;

/// The group and version of this program's documents.
pub const OWN_API_VERSION: &str = "kubectl-hpa/v1alpha1";

/// This program's document for everything that has no kind in Kubernetes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ControllerState<'a> {
    #[serde(rename = "metadata", skip_serializing)]
    pub(super) _metadata: Option<IgnoredAny>,
    /// The clock.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub now: Option<Timestamp>,
    /// Whether the objects stated no time, so that `now` is the time of reading by the system clock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub now_is_assumed: bool,
    /// The version of the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// The controller's known flags.
    #[serde(deserialize_with = "null_as_default")]
    pub flags: Flags,
    /// The controller's known feature gates.
    #[serde(deserialize_with = "gates")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Whether the lists below are unknown, if they are neither stated nor empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<StatedAs>,
    /// Remembered recommendations; absent means that the controller has just started.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact")]
    pub recommendations: Option<Vec<Recommendation>>,
    /// Remembered increases.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact")]
    pub scale_up_events: Option<Vec<ScaleEvent>>,
    /// Remembered decreases.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact")]
    pub scale_down_events: Option<Vec<ScaleEvent>>,
    /// The earlier passes that were observed; only if the lists above are unknown.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub seen: Vec<SeenPass>,
    /// All rescales since a given time; only if the lists above are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescales: Option<Rescales>,
    /// The past of the pass, if it is explained from a history of samples; only if the lists above are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past: Option<Past>,
    /// The passes before the state was read, from a history of samples; only if the lists above are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Past>,
    /// The HPAs whose state it is, as `namespace/name`; the others in the input may only share their pods. A state that
    /// is written by hand need not name any.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub hpas: Vec<String>,
    /// The replicas in the manifests of the targets, by HPA.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub manifests: BTreeMap<String, ManifestReplicas>,
    /// Requests that failed when this was captured.
    #[serde(deserialize_with = "null_as_default")]
    pub errors: Vec<ApiError>,
    /// The answers of the metrics APIs when this was captured.
    #[serde(deserialize_with = "null_as_default")]
    pub answers: Vec<ApiAnswer<'a>>,
}

/// Reads null as the zero value in a document in which it is an error elsewhere.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads feature gates.
fn gates<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, bool>, D::Error> {
    /// A name that errors about it do not quote.
    #[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    struct GateName(String);

    impl fmt::Display for GateName {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("...")
        }
    }

    let gates: Option<UniqueMap<GateName, bool>> = Option::deserialize(deserializer)?;
    Ok(gates
        .into_iter()
        .flat_map(|gates| gates.0)
        .map(|(GateName(name), on)| (name, on))
        .collect())
}

/// An entry of the memory with fractions of a second, which reports omit.
#[derive(Serialize)]
struct ExactEntry {
    replicas: i32,
    time: Timestamp,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    outdated: bool,
}

impl From<Recommendation> for ExactEntry {
    fn from(Recommendation { replicas, time }: Recommendation) -> Self {
        Self {
            replicas,
            time,
            outdated: false,
        }
    }
}

impl From<ScaleEvent> for ExactEntry {
    fn from(
        ScaleEvent {
            replicas,
            time,
            outdated,
        }: ScaleEvent,
    ) -> Self {
        Self {
            replicas,
            time,
            outdated,
        }
    }
}

fn exact<S: Serializer, T: Copy + Into<ExactEntry>>(
    entries: &Option<Vec<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().flatten().map(|entry| (*entry).into()))
}

impl ControllerState<'_> {
    /// Whether it states when the objects were read, and does not only assume it.
    pub(super) fn states_time(&self) -> bool {
        self.now.is_some() && !self.now_is_assumed
    }

    /// Returns the stated memory; `None` if it is stated as unknown.
    pub fn stated_memory(&self) -> Option<Memory> {
        (self.memory != Some(StatedAs::Unknown)).then(|| self.lists())
    }

    /// Returns the HPAs whose state it is, as `namespace/name`. `None` if it states none: then it is written by hand, or
    /// of whatever else the input has.
    pub fn owners(&self) -> Option<BTreeSet<&str>> {
        let stated = self.hpas.iter().map(String::as_str);
        (!self.hpas.is_empty()).then(|| stated.collect())
    }

    /// Returns the stated settings.
    pub(super) fn settings(&self) -> StatedSettings<'_> {
        StatedSettings {
            kubernetes_version: self.kubernetes_version.as_deref(),
            flags: &self.flags,
            feature_gates: &self.feature_gates,
        }
    }

    /// Whether the state says anything about a history, which belongs to one HPA.
    pub(super) fn has_history(&self) -> bool {
        self.lists() != Memory::default()
            || !self.seen.is_empty()
            || self.rescales.is_some()
            || self.past.is_some()
            || self.recorded.is_some()
    }

    /// Returns the lists unchanged.
    pub(super) fn lists(&self) -> Memory {
        Memory {
            recommendations: self.recommendations.clone().unwrap_or_default(),
            scale_up_events: self.scale_up_events.clone().unwrap_or_default(),
            scale_down_events: self.scale_down_events.clone().unwrap_or_default(),
            ..Memory::default()
        }
    }
}

/// The statement of a document about the memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StatedAs {
    /// The memory is unknown.
    Unknown,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiError {
    /// The request.
    pub api: Api,
    /// Limits it to the metric or resource of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Limits it to this HPA, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpa: Option<String>,
    /// The error message.
    pub message: String,
    /// Whether the user who captured this was denied access; the controller may not have been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Whether no answer of the API arrived; the controller may have got one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// The documents that the input lacked, if that was the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Documents>,
    /// Whether the failure was not stated, but derived from missing input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

/// The answer to one request for the metrics of an HPA. It is used exactly as the server returned it: pods
/// that no longer exist and labels that an adapter omits do not matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiAnswer<'a> {
    /// The HPA, as `namespace/name`.
    pub hpa: String,
    /// `resource`, `custom` or `external`.
    pub api: Api,
    /// The metric; `None` for the resource metrics API, which answers for all resources at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<MetricIdentifier>,
    /// The object of a custom metric; `None` for a metric of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described_object: Option<CrossVersionObjectReference>,
    /// The answer of the resource metrics API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_metrics: Option<Cow<'a, [Shared<PodMetrics>]>>,
    /// The answer of the other APIs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<AnsweredValue>>,
    /// The error message, if the request failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the user who captured this was denied access; the controller may not have been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Whether no answer of the API arrived; the controller may have got one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// The documents that the input lacked, if that was the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Documents>,
}

/// A value of the custom or external metrics API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnsweredValue {
    /// The described pod, for a metric of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Box<str>>,
    /// The labels of an external metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// The value.
    pub value: Milli,
    /// The time of the measurement.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub timestamp: Option<Timestamp>,
    /// The window of the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<GoDuration>,
}

/// The requests of a pass that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Api {
    /// Finding the target's resource.
    Mapping,
    /// Reading the scale.
    Scale,
    /// Writing the scale.
    ScaleUpdate,
    /// Listing the pods, which only the user may have been unable to read.
    Pods,
    /// The resource metrics API.
    Resource,
    /// The custom metrics API.
    Custom,
    /// The external metrics API.
    External,
}
