//! Everything that one pass of the controller needs, as plain values parsed and validated at the
//! edge: the HPA, its target's scale, the pods, the answers of the metrics APIs, and the
//! controller's settings. Nothing here reads, writes or computes replicas.

pub mod basis;
pub(crate) mod by_name;
pub mod clock;
pub mod command_flags;
pub mod control_plane;
pub mod controller;
pub mod evidence;
pub mod hpa;
pub mod input;
pub mod load;
pub mod manager;
pub mod memory;
pub mod metric;
pub mod neighbour;
pub mod note;
pub(crate) mod owners;
pub mod past;
pub mod pod;
pub(crate) mod requests;
pub mod right;
pub mod selection;
pub mod settings;
pub mod shared;
pub mod surroundings;
pub(crate) mod value;
pub mod written;

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::apimachinery::selector::{Labels, Selector, SelectorError};
use crate::error::Error;
use controller::Controller;
use hpa::Hpa;
use metric::PodMetrics;
use neighbour::OtherHpa;
use pod::{Phase, Pod};
use shared::Shared;

/// Everything that one pass needs, except the controller's history.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The controller's clock.
    pub now: Timestamp,
    /// The HPA, with the API server's defaults.
    pub hpa: Hpa,
    /// Flags, version and feature gates of the controller.
    pub controller: Controller,
    /// The target's scale, or the reason why it could not be read.
    pub scale: Result<Scale, ScaleError>,
    /// The reason why writing the scale would always fail, if it would.
    pub scale_update_error: Option<String>,
    /// The pods of the HPA's namespace; the engine selects among them.
    pub pods: Vec<Shared<Pod>>,
    /// The reason why the pods are unknown, if they are; the list of them is empty then.
    pub pods_unread: Option<UnreadCause>,
    /// The answer of the resource metrics API for the target's selector.
    pub pod_metrics: Vec<Shared<PodMetrics>>,
    /// The answer for each metric of the spec, in its order.
    pub metrics: Vec<MetricAnswer>,
    /// The other HPAs in the namespace whose selectors are known; the controller compares only selectors that it has
    /// stored.
    pub other_hpas: Vec<Shared<OtherHpa>>,
}

impl Snapshot {
    /// Returns the selector of the target's pods.
    ///
    /// # Errors
    ///
    /// The selector is unknown.
    pub fn selector(&self) -> Result<&ScaleSelector, &ScaleError> {
        ScaleSelector::of(&self.scale)
    }

    /// Returns the pods of the target; none if the selector is unknown.
    pub(crate) fn target_pods(&self) -> impl Iterator<Item = &Shared<Pod>> {
        let selector = self.selector().ok();
        let is_own = move |pod: &&Shared<Pod>| selector.is_some_and(|it| it.matches(&pod.labels));
        self.pods.iter().filter(is_own)
    }

    /// Returns the pods of the target that have not ended; none if the selector is unknown.
    pub(crate) fn unended_pods(&self) -> impl Iterator<Item = &Shared<Pod>> {
        self.target_pods().filter(|pod| !pod.has_ended())
    }

    /// Leaves out the pods, which are unknown for a reason, and the answers that say nothing without them. A total stays:
    /// its proposal may need no pods.
    pub(crate) fn leave_out_pods(&mut self, why: &UnreadCause) {
        self.pods.clear();
        self.pods_unread = Some(why.clone());
        for (spec, answer) in self.hpa.spec.metrics.iter().zip(&mut self.metrics) {
            let is_useless = spec.needs_pods() && !spec.is_total();
            let has_failed = matches!(answer, MetricAnswer::Failed(_))
                || answer.is_unread() && !answer.is_missing();
            if is_useless && !has_failed {
                *answer = MetricAnswer::Unread(why.clone());
            }
        }
    }

    /// Returns the metrics of the spec for which the controller may have an answer that is missing here, or pods that
    /// they may need; each by its index, with the reason.
    pub(crate) fn unread_metrics(&self) -> impl Iterator<Item = (usize, &UnreadCause)> {
        let metrics = self.hpa.spec.metrics.iter().zip(&self.metrics).enumerate();
        metrics.filter_map(|(index, (spec, answer))| match answer {
            MetricAnswer::Unread(why) => Some((index, why)),
            MetricAnswer::Failed(_) => None,
            _ => {
                let why = self.pods_unread.as_ref();
                Some((index, why.filter(|_| spec.needs_pods())?))
            }
        })
    }

    /// Keeps only the values of some pods.
    pub(crate) fn retain_values(&mut self, stays: impl Fn(&str) -> bool) {
        self.pod_metrics.retain(|item| stays(&item.name));
        for answer in &mut self.metrics {
            if let MetricAnswer::Pods(values) = answer {
                values.retain(|value| stays(&value.pod));
            }
        }
    }

    /// Sets the replicas in the spec of the target, if its pods are known. A target that states none has no status
    /// either, so the replicas in its status are set as well.
    pub(crate) fn set_replicas(&mut self, replicas: i32) {
        let Ok(selector) = self.selector().cloned() else {
            return;
        };
        let scale = self.scale.as_ref();
        self.scale = Ok(Scale {
            spec_replicas: replicas,
            status_replicas: scale.map_or(replicas, |scale| scale.status_replicas),
            selector,
        });
    }

    /// Returns an HPA with its target at a time, under a controller of the newest release with the
    /// default flags. There are no pods and no answers of metrics APIs yet: `metrics` needs one for each
    /// metric of the spec, and resource metrics need `pods` and `pod_metrics`.
    pub fn new(hpa: Hpa, scale: Scale, now: Timestamp) -> Self {
        Self {
            now,
            hpa,
            controller: Controller::default(),
            scale: Ok(scale),
            scale_update_error: None,
            pods: Vec::new(),
            pods_unread: None,
            pod_metrics: Vec::new(),
            metrics: Vec::new(),
            other_hpas: Vec::new(),
        }
    }

    /// Returns the error of writing this count to the scale, if writing fails. A real API server, which gives
    /// every object a resourceVersion, refuses a negative count (`ValidateScale`): the controller computes one if
    /// the double of the replicas overflows.
    pub(crate) fn write_error(&self, replicas: i32) -> Option<String> {
        let is_refused = replicas < 0 && !self.hpa.resource_version.is_empty();
        if self.scale_update_error.is_some() || !is_refused {
            return self.scale_update_error.clone();
        }
        Some(format!(
            "Scale.autoscaling \"{}\" is invalid: spec.replicas: Invalid value: {replicas}: must be greater \
             than or equal to 0",
            self.hpa.spec.scale_target_ref.name
        ))
    }

    /// Whether the target has as many pods as its status counts, and all of them have the same requests.
    pub fn has_pods_alike(&self) -> bool {
        let Ok(Scale {
            selector,
            status_replicas,
            ..
        }) = &self.scale
        else {
            return false;
        };
        let pods: Vec<&Shared<Pod>> = self
            .pods
            .iter()
            .filter(|pod| pod.deletion_timestamp.is_none() && pod.phase != Phase::Failed)
            .filter(|pod| selector.matches(&pod.labels))
            .collect();
        usize::try_from(*status_replicas) == Ok(pods.len())
            && pods.windows(2).all(|pair| pair[0].requests_like(pair[1]))
    }

    /// Whether a newer sample should exist by now. The age of a sample that states no time is unknown.
    pub(crate) fn is_stale(&self, sample: &Measurement<'_>) -> bool {
        sample
            .time
            .is_some_and(|time| self.now.duration_since(time) > sample.current_for())
    }

    /// Returns when the samples behind an answer of a metrics API were measured.
    pub(crate) fn measurements<'s>(&'s self, answer: &'s MetricAnswer) -> Vec<Measurement<'s>> {
        match answer {
            MetricAnswer::PodMetrics => {
                let samples = self.pod_metrics.iter();
                let of = samples.map(|it| Measurement::of_pod(&it.name, it.timestamp, it.window));
                of.collect()
            }
            MetricAnswer::Pods(values) => {
                let samples = values.iter();
                let of = samples.map(|it| Measurement::of_pod(&it.pod, it.timestamp, it.window));
                of.collect()
            }
            MetricAnswer::Object(values) => {
                let times = values.iter().map(|it| it.timestamp);
                times.map(Measurement::of_no_pod).collect()
            }
            MetricAnswer::External(values) => {
                let times = values.iter().map(|it| it.timestamp);
                times.map(Measurement::of_no_pod).collect()
            }
            MetricAnswer::Failed(_) | MetricAnswer::Unread(_) => Vec::new(),
        }
    }
}

/// The time when a sample was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measurement<'s> {
    /// The pod of the sample; `None` if it does not belong to a pod.
    pub(crate) pod: Option<&'s str>,
    /// The end of the window, if stated.
    pub(crate) time: Option<Timestamp>,
    /// The window, if its API states windows.
    pub(crate) window: Option<SignedDuration>,
}

impl<'s> Measurement<'s> {
    fn of_pod(pod: &'s str, time: Timestamp, window: SignedDuration) -> Self {
        Self {
            pod: Some(pod),
            time: Some(time).filter(|time| *time > Timestamp::UNIX_EPOCH),
            window: Some(window),
        }
    }

    fn of_no_pod(time: Option<Timestamp>) -> Self {
        Self {
            pod: None,
            time,
            window: None,
        }
    }

    /// Returns the age after which a newer sample should exist: a minute, or twice the window if that is longer. A
    /// kubelet's own samples and the scrapes of metrics-server add up to half a minute.
    pub(crate) fn current_for(&self) -> SignedDuration {
        let default = SignedDuration::from_secs(metric::DEFAULT_CUSTOM_WINDOW);
        let windows = self.window.unwrap_or(default).saturating_mul(2);
        windows.max(SignedDuration::from_mins(1))
    }
}

/// The scale subresource of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// `spec.replicas`.
    pub spec_replicas: i32,
    /// `status.replicas`.
    pub status_replicas: i32,
    /// `status.selector`.
    pub selector: ScaleSelector,
}

impl Scale {
    /// Returns the scale of a target that has reached its spec, with the selector of its pods as text.
    pub fn new(replicas: i32, selector: &str) -> Self {
        Self {
            spec_replicas: replicas,
            status_replicas: replicas,
            selector: selector.to_owned().into(),
        }
    }
}

/// The selector of a target's pods: the text in its scale, and the parsed selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleSelector {
    text: String,
    parsed: Result<Selector, SelectorError>,
}

impl From<String> for ScaleSelector {
    fn from(text: String) -> Self {
        let parsed = Selector::parse(&text);
        Self { text, parsed }
    }
}

impl ScaleSelector {
    /// Returns the selector in a scale, which is known even for a target that leaves its replicas to the HPA.
    pub(crate) fn of(scale: &Result<Scale, ScaleError>) -> Result<&Self, &ScaleError> {
        match scale {
            Ok(Scale { selector, .. }) | Err(ScaleError::NoReplicas { selector, .. }) => {
                Ok(selector)
            }
            Err(e) => Err(e),
        }
    }

    /// Returns the text of the selector; empty if the scale has none.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the parsed selector. A missing one selects everything.
    ///
    /// # Errors
    ///
    /// The text is not a selector.
    pub fn parsed(&self) -> Result<&Selector, &SelectorError> {
        self.parsed.as_ref()
    }

    /// Whether the selector matches an object with these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.parsed
            .as_ref()
            .is_ok_and(|selector| selector.matches(labels))
    }
}

/// The reason why the scale could not be read. Each is an outcome of the pass, not a failure to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScaleError {
    /// The API server does not know the target's kind.
    Mapping(String),
    /// The scale subresource could not be read.
    Get(String),
    /// The input lacks the target, or its Scale, which says nothing about the cluster.
    Missing(MissingTarget),
    /// The target is a manifest that leaves its replicas to the HPA: an API server sets 1 in a new object,
    /// which says nothing about an existing one.
    NoReplicas {
        /// The target, as `Kind/name`.
        target: String,
        /// The selector of the target's pods.
        selector: ScaleSelector,
    },
}

impl ScaleError {
    /// Returns what the input lacks but the cluster may have.
    pub fn lacking(&self) -> Option<String> {
        match self {
            Self::Missing(target) if target.lacks_scale => {
                Some(format!("the input lacks the {target}"))
            }
            Self::Missing(target) => Some(format!("the input lacks the target {target}")),
            Self::NoReplicas { target, .. } => {
                Some(format!("the input lacks the replicas of {target}"))
            }
            Self::Mapping(_) | Self::Get(_) => None,
        }
    }
}

/// What an input lacks of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTarget {
    /// The kind and the name of the target.
    pub name: String,
    /// Whether it lacks the Scale: it may have the target, but from an object of this kind, no scale is derived.
    pub lacks_scale: bool,
}

impl fmt::Display for MissingTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.lacks_scale { "Scale of " } else { "" };
        write!(f, "{of}{}", self.name)
    }
}

/// The answer of a metrics API for one metric of the spec.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricAnswer {
    /// Resource and ContainerResource: the answer is [`Snapshot::pod_metrics`].
    PodMetrics,
    /// Pods: a value for each pod.
    Pods(Vec<PodValue>),
    /// Object: the controller accepts exactly one value.
    Object(Vec<ObjectValue>),
    /// External: values in the order of the response.
    External(Vec<ExternalValue>),
    /// The request failed, with this text.
    Failed(String),
    /// There is no answer here, although the controller may have one.
    Unread(UnreadCause),
}

impl MetricAnswer {
    /// Whether the controller may have an answer that is missing here.
    pub fn is_unread(&self) -> bool {
        matches!(self, Self::Unread(_))
    }

    /// Whether the input lacks the answer.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Unread(UnreadCause::Missing { .. }))
    }

    /// Returns the value of an Object metric, or the sum of an External metric's values, in milli-units.
    pub(crate) fn total(&self) -> Option<i128> {
        match self {
            Self::Object(values) if values.len() == 1 => Some(values[0].value.into()),
            Self::External(values) if !values.is_empty() => {
                Some(values.iter().map(|own| i128::from(own.value)).sum())
            }
            _ => None,
        }
    }
}

/// The reason why a metric is unknown here. No reason says anything about what the controller read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "camelCase")]
pub enum UnreadCause {
    /// The server denied the request to the user who sent it.
    Refused {
        /// The server's text.
        message: String,
    },
    /// The server denied the list of pods, without which the metric has no proposal.
    PodsRefused {
        /// The server's text.
        message: String,
    },
    /// The request was turned away or lost on its way: no answer of the API has arrived.
    Unanswered {
        /// The text of the failure.
        message: String,
    },
    /// The input has no documents of this kind, or the history no samples.
    Missing {
        /// The missing documents.
        documents: Documents,
    },
}

impl UnreadCause {
    /// Whether both are the same reason; the texts of refusals do not matter.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Refused { .. }, Self::Refused { .. })
            | (Self::PodsRefused { .. }, Self::PodsRefused { .. }) => true,
            _ => self == other,
        }
    }
}

/// The kinds of documents in an input that a pass reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Documents {
    /// The scale of the target, or the target itself.
    Scale,
    /// The pods.
    Pod,
    /// The answer of the resource metrics API.
    PodMetrics,
    /// Such an answer for all pods.
    PodMetricsList,
    /// An answer of the custom metrics API.
    MetricValueList,
    /// Such an answer that can only belong to one metric.
    UnambiguousMetricValueList,
    /// An answer of the external metrics API.
    ExternalMetricValueList,
    /// Such an answer that can only belong to one metric.
    UnambiguousExternalMetricValueList,
    /// The samples in the history of a past pass from which such an answer would be derived.
    Samples,
}

impl Documents {
    /// Returns the kind of the documents, with what distinguishes them from others of that kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Scale => "Scale",
            Self::Pod => "Pod",
            Self::PodMetrics => "PodMetrics",
            Self::PodMetricsList => "PodMetricsList",
            Self::MetricValueList => "MetricValueList",
            Self::UnambiguousMetricValueList => "unambiguous MetricValueList",
            Self::ExternalMetricValueList => "ExternalMetricValueList",
            Self::UnambiguousExternalMetricValueList => "unambiguous ExternalMetricValueList",
            Self::Samples => "samples",
        }
    }

    /// Returns the input that should contain the documents.
    pub fn container(self) -> &'static str {
        match self {
            Self::Samples => "history",
            _ => "input",
        }
    }
}

/// The value of a custom metric for one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodValue {
    /// The pod's name.
    pub pod: Box<str>,
    /// The value in milli-units.
    pub value: i64,
    /// When it was measured.
    pub timestamp: Timestamp,
    /// The window of the measurement.
    pub window: SignedDuration,
}

/// A value of a metric of an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ObjectValue {
    /// The value in milli-units.
    pub value: i64,
    /// When it was measured, if stated. The controller ignores it.
    pub timestamp: Option<Timestamp>,
}

/// A value of an external metric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalValue {
    /// The labels by which the API selected it.
    pub labels: Labels,
    /// The value in milli-units.
    pub value: i64,
    /// When it was measured, if stated. The controller ignores it.
    pub timestamp: Option<Timestamp>,
}

/// Returns a name as written, or a substitute if a manifest lacks it.
pub(crate) fn named(name: &str) -> &str {
    if name.is_empty() { "(no name)" } else { name }
}

/// One HPA of a list, with its result or the reason why it has none.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The HPA's target, as `Kind/name`; empty if the HPA cannot be read.
    pub reference: String,
    /// The result.
    pub result: Result<T, Error>,
}

impl<T> Listed<T> {
    /// Returns `namespace/name`, or the name alone if its namespace is unknown.
    pub fn key(&self) -> String {
        match (&*self.namespace, named(&self.name)) {
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        }
    }

    /// Returns another result of the same HPA.
    pub fn with<U>(&self, result: Result<U, Error>) -> Listed<U> {
        Listed {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            reference: self.reference.clone(),
            result,
        }
    }

    /// Applies a function to the result of the same HPA.
    pub fn and_then<U>(self, make: impl FnOnce(T) -> Result<U, Error>) -> Listed<U> {
        Listed {
            namespace: self.namespace,
            name: self.name,
            reference: self.reference,
            result: self.result.and_then(make),
        }
    }
}

impl Hpa {
    /// Returns the HPA's target, as `Kind/name`.
    pub fn reference(&self) -> String {
        self.spec.scale_target_ref.to_string()
    }

    /// Returns `namespace/name`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}
