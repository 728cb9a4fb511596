//! The result of a pass: the outcome that the controller would produce, its memory afterwards, and
//! the trace of the steps that led there. Report and render only word these values; nothing here
//! computes.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::apimachinery::json::{is_zero, optional_seconds, seconds};
use crate::apimachinery::quantity::Quantity;
use crate::memory::Memory;
use crate::snapshot::UnreadCause;
use crate::snapshot::controller::Tolerances;
use crate::snapshot::hpa::{HpaSpec, HpaStatus, MetricTarget, MetricValueStatus, ScalingPolicy};
use crate::snapshot::memory::Recommendation;
use crate::snapshot::shared::Shared;

/// The result of one pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The actions of the controller.
    pub outcome: Outcome,
    /// The highest proposal of the metrics, before stabilization and limits; `None` if the pass
    /// computed none.
    pub proposal: Option<i32>,
    /// The steps, in order.
    pub trace: Vec<Step>,
    /// The controller's history after the pass.
    pub memory: Memory,
}

/// A reason why a pass cannot decide or scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// The scale of the target could not be read.
    NoScale,
    /// The target has no replicas, so scaling is disabled.
    AtZero,
    /// The selector of the target is unusable.
    Selector,
    /// Other HPAs select the same pods.
    SharedPods,
    /// Too many metrics failed.
    Metrics,
    /// The scale could not be written.
    NotWritten,
}

impl Block {
    /// Whether the controller tried to decide and could not.
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::Selector | Self::SharedPods | Self::Metrics)
    }
}

/// Queries on a decision's trace.
impl Decision {
    /// Whether the known metrics do not decide, and the unknown ones may.
    pub fn is_unread(&self) -> bool {
        self.combination()
            .is_some_and(|combined| !combined.accepted && combined.unread > 0)
    }

    /// Returns the replicas of the target before the pass; `None` if its scale could not be read.
    pub fn replicas_before(&self) -> Option<i32> {
        self.trace.iter().find_map(|step| match step {
            Step::ReadScale { replicas, .. } => *replicas,
            _ => None,
        })
    }

    /// Returns the replicas of the target after the pass; `None` if its scale could not be read.
    pub fn replicas_after(&self) -> Option<i32> {
        self.outcome.scale_to.or_else(|| self.replicas_before())
    }

    /// Returns the path of the pass; `None` if it ended earlier.
    pub fn path(&self) -> Option<Path> {
        self.trace.iter().find_map(|step| match step {
            Step::ChoosePath { path, .. } => Some(*path),
            _ => None,
        })
    }

    /// Returns the metrics that were evaluated, in the order of the spec.
    pub fn metrics(&self) -> impl Iterator<Item = &MetricStep> {
        self.trace.iter().filter_map(|step| match step {
            Step::ComputeMetric(metric) => Some(&**metric),
            _ => None,
        })
    }

    /// Returns the metrics that were evaluated and are not at one of these places in the spec, in its order.
    pub(crate) fn metrics_besides(&self, places: &[usize]) -> Vec<Shared<MetricStep>> {
        let besides = self.trace.iter().filter_map(|step| match step {
            Step::ComputeMetric(metric) if !places.contains(&metric.index) => Some(metric.clone()),
            _ => None,
        });
        besides.collect()
    }

    /// Returns the metric at an index of the spec, from 0, if it was evaluated.
    pub fn metric(&self, index: usize) -> Option<&MetricStep> {
        self.metrics().find(|metric| metric.index == index)
    }

    /// Returns the metric with the highest proposal, if the pass accepts it.
    pub fn winner(&self) -> Option<&MetricStep> {
        let combined = self.combination().filter(|combined| combined.accepted)?;
        self.metric(combined.by?)
    }

    /// Returns how the proposals of the metrics were combined, if they were.
    pub fn combination(&self) -> Option<&CombineStep> {
        self.trace.iter().find_map(|step| match step {
            Step::CombineMetrics(combined) => Some(combined),
            _ => None,
        })
    }

    /// Returns the stabilization, if the pass reached it.
    pub fn stabilization(&self) -> Option<&StabilizeStep> {
        self.trace.iter().find_map(Step::stabilization)
    }

    /// Returns the rate limits and bounds, if the pass reached them.
    pub fn limit(&self) -> Option<&LimitStep> {
        self.trace.iter().find_map(Step::limit)
    }
}

/// The actions of the controller in this pass. If a metric is unread, only the replicas are known, within the
/// range of the answer: what the controller writes and reports depends on all metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The replicas written to the scale; `None` if it is left alone or depends on an unread
    /// metric.
    pub scale_to: Option<i32>,
    /// The status written to the HPA; `None` if a metric is unread.
    pub status: Option<HpaStatus>,
    /// The events, in order; `None` if a metric is unread.
    pub events: Option<Vec<Event>>,
    /// The error that the pass would log.
    pub error: Option<String>,
    /// The metrics that the controller may have read, but that are unread here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadMetric>,
}

/// A metric that the pass uses and that is unknown here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadMetric {
    /// Its index in the spec, from 0.
    pub index: usize,
    /// The reason.
    #[serde(flatten)]
    pub why: UnreadCause,
}

/// Metrics that are unknown here for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadMetrics {
    /// The reason; with the message of the first refusal, if there are several.
    pub why: UnreadCause,
    /// The metrics, each by its label in the spec.
    pub metrics: Vec<String>,
}

impl Outcome {
    /// Returns the metrics that are unknown here, by reason.
    pub fn lacking(&self, spec: &HpaSpec) -> Vec<UnreadMetrics> {
        UnreadMetrics::of(&self.unread, spec)
    }

    /// Returns the event about a change of the scale.
    pub fn rescale(&self) -> Option<&Event> {
        self.events
            .iter()
            .flatten()
            .find(|event| event.reason == "SuccessfulRescale")
    }
}

impl UnreadMetrics {
    /// Sorts unread metrics by reason: a refusal, with any message, or the documents that are missing.
    pub fn of(unread: &[UnreadMetric], spec: &HpaSpec) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for UnreadMetric { index, why } in unread {
            let label = spec.metrics[*index].label(&spec.metrics);
            match all.iter_mut().find(|own| own.why.is_alike(why)) {
                Some(own) => own.metrics.push(label),
                None => all.push(Self {
                    why: why.clone(),
                    metrics: vec![label],
                }),
            }
        }
        all
    }
}

/// An event about the HPA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub type_: &'static str,
    /// The reason, as one word.
    pub reason: &'static str,
    /// The text.
    pub message: String,
}

/// One step of a pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "rule",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Step {
    /// The target's scale was read, or could not be.
    ReadScale {
        /// `spec.replicas`.
        replicas: Option<i32>,
        /// `status.replicas`.
        status_replicas: Option<i32>,
        /// `status.selector`.
        selector: Option<String>,
        /// The reason why it could not be read.
        error: Option<String>,
    },
    /// There was no list of recommendations, so the current replicas became its first entry.
    SeedRecommendations {
        /// The entry.
        replicas: i32,
    },
    /// The path through the pass was chosen.
    ChoosePath {
        /// The path.
        path: Path,
        /// The target's replicas.
        current: i32,
        /// The lower limit.
        min: i32,
        /// The upper limit.
        max: i32,
    },
    /// The target's selector was missing, unreadable, or shared with another HPA.
    RejectSelector {
        /// The reason, as in the condition.
        reason: &'static str,
        /// The text, as in the condition.
        message: String,
        /// The HPAs that select the same pods.
        hpas: Vec<String>,
    },
    /// One metric was evaluated.
    ComputeMetric(Shared<MetricStep>),
    /// The highest proposal was chosen, or too many metrics failed.
    CombineMetrics(CombineStep),
    /// Past recommendations were taken into account.
    Stabilize(StabilizeStep),
    /// Rate limits and bounds were applied.
    Limit(LimitStep),
    /// A workload that was scaled to zero starts again with the new minimum.
    RaiseToMin {
        /// The minimum.
        result: i32,
    },
    /// The scale was written, or could not be.
    Rescale {
        /// The replicas before.
        from: i32,
        /// The replicas written.
        to: i32,
        /// The controller's reason, which may be empty.
        reason: String,
        /// The reason why it could not be written.
        error: Option<String>,
    },
}

impl Step {
    /// A scale that could not be read, with the reason.
    pub(super) fn unread_scale(error: Option<String>) -> Self {
        Self::ReadScale {
            replicas: None,
            status_replicas: None,
            selector: None,
            error,
        }
    }

    /// Returns the stabilization, if the step is one.
    pub fn stabilization(&self) -> Option<&StabilizeStep> {
        match self {
            Self::Stabilize(stabilized) => Some(stabilized),
            _ => None,
        }
    }

    /// Returns the rate limits and bounds, if the step applies them.
    pub fn limit(&self) -> Option<&LimitStep> {
        match self {
            Self::Limit(limit) => Some(limit),
            _ => None,
        }
    }
}

/// The combination of the metrics' proposals.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CombineStep {
    /// The highest proposal of the valid metrics.
    pub highest: i32,
    /// The index of the metric that made it, from 0.
    pub by: Option<usize>,
    /// The number of metrics that failed.
    pub invalid: usize,
    /// The number of metrics that are unknown here.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: usize,
    /// The number of metrics.
    pub total: usize,
    /// Whether the pass accepts it.
    pub accepted: bool,
}

/// The stabilization over past recommendations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StabilizeStep {
    /// The replicas that the metrics ask for.
    pub desired: i32,
    /// The replicas after stabilization.
    pub result: i32,
    /// The window in which recommendations hold back scaling up; `None` without `behavior`.
    #[serde(serialize_with = "optional_seconds")]
    pub up_window: Option<SignedDuration>,
    /// The window in which recommendations hold back scaling down.
    #[serde(serialize_with = "seconds")]
    pub down_window: SignedDuration,
    /// The remembered recommendation that determined the result.
    pub held_by: Option<Recommendation>,
    /// The reason, as in the condition AbleToScale.
    pub reason: &'static str,
}

impl StabilizeStep {
    /// Whether it changes the replicas.
    pub fn holds(&self) -> bool {
        self.desired != self.result
    }
}

/// The application of rate limits and bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitStep {
    /// The replicas after stabilization.
    pub desired: i32,
    /// The replicas that are allowed.
    pub result: i32,
    /// The replicas that the rate limit of this direction allows; `None` if none applies.
    pub rate: Option<RateLimit>,
    /// The lower bound.
    pub min: i32,
    /// The upper bound.
    pub max: i32,
    /// The reason, as in the condition ScalingLimited.
    pub reason: &'static str,
}

impl LimitStep {
    /// Whether it changes the replicas.
    pub fn holds(&self) -> bool {
        self.desired != self.result
    }

    /// Whether a rate limit changes the replicas.
    pub fn is_rate(&self) -> bool {
        matches!(self.reason, "ScaleUpLimit" | "ScaleDownLimit")
    }

    /// Whether a bound changes the replicas.
    pub fn is_bound(&self) -> bool {
        matches!(self.reason, "TooManyReplicas" | "TooFewReplicas")
    }

    /// Whether the direction is disabled.
    pub fn is_disabled(&self) -> bool {
        self.rate.as_ref().is_some_and(RateLimit::is_disabled)
    }
}

/// The paths through a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Path {
    /// Zero replicas: scaling is disabled.
    Disabled,
    /// Above the maximum: corrected without using metrics.
    AboveMax,
    /// Below the minimum: corrected without using metrics.
    BelowMin,
    /// The metrics decide.
    Metrics,
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// More replicas.
    Up,
    /// Fewer replicas.
    Down,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Down => "down",
        })
    }
}

/// The limit of what one pass may change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// The direction.
    pub direction: Direction,
    /// The replicas that are allowed.
    pub replicas: i32,
    /// `Max`, `Min` or `Disabled`; `None` for the fixed limit of an HPA without `behavior`.
    pub select_policy: Option<String>,
    /// The policies, with the limit of each.
    pub policies: Vec<PolicyLimit>,
}

impl RateLimit {
    /// Whether the direction is disabled, so that nothing is allowed.
    pub fn is_disabled(&self) -> bool {
        self.select_policy.as_deref() == Some("Disabled")
    }
}

/// The limit of one scaling policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyLimit {
    /// The policy.
    #[serde(flatten)]
    pub policy: ScalingPolicy,
    /// The replicas at the start of its period.
    pub period_start: i32,
    /// The replicas that it allows.
    pub replicas: i32,
}

/// The evaluation of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricStep {
    /// Its index in the spec, from 0.
    pub index: usize,
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// The name of the resource or metric.
    pub name: String,
    /// The container, for ContainerResource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Kind and name of the described object, for Object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described_object: Option<String>,
    /// The metric's selector, in the controller's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The target.
    pub target: MetricTarget,
    /// The tolerance in each direction.
    pub tolerance: Tolerances,
    /// The outcome.
    #[serde(flatten)]
    pub result: MetricResult,
    /// The group of each pod; empty if pods do not matter.
    #[serde(skip)]
    pub pods: Vec<PodRow>,
    /// Metrics of pods that are not in the list.
    #[serde(skip)]
    pub strangers: usize,
}

impl MetricStep {
    /// Returns its proposal; `None` if it could not be evaluated.
    pub fn proposal(&self) -> Option<&Proposal> {
        match &self.result {
            MetricResult::Proposal(proposal) => Some(proposal),
            _ => None,
        }
    }

    /// Returns why it failed, if it did.
    pub fn error(&self) -> Option<&MetricError> {
        match &self.result {
            MetricResult::Error(error) => Some(error),
            _ => None,
        }
    }

    /// Whether it failed.
    pub fn is_failed(&self) -> bool {
        self.error().is_some()
    }

    /// Returns the rows of the pods that count as ready.
    pub fn ready_rows(&self) -> impl Iterator<Item = &PodRow> + Clone {
        self.pods.iter().filter(|row| row.group == Group::Ready)
    }

    /// Whether it is a resource of the pods.
    pub fn is_resource(&self) -> bool {
        matches!(&*self.type_, "Resource" | "ContainerResource")
    }

    /// Whether it has one value for the whole workload rather than one for each pod.
    pub fn is_total(&self) -> bool {
        matches!(&*self.type_, "Object" | "External")
    }
}

/// The outcome of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MetricResult {
    /// It proposes a number of replicas.
    Proposal(Proposal),
    /// It could not be evaluated.
    Error(MetricError),
    /// It is unknown here, but the controller may have evaluated it.
    Unread(UnreadCause),
}

impl MetricError {
    /// Whether the controller only mentions it in the pass's error: it has neither a reason nor a message.
    pub(crate) fn is_silent(&self) -> bool {
        self.reason.is_empty()
    }
}

/// The proposal of a metric, and its computation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// The replicas.
    pub replicas: i32,
    /// The controller's name for the metric, as in its messages.
    pub metric_name: String,
    /// The value that the status reports.
    pub current: MetricValueStatus,
    /// The total value, if the target is an average over the replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Quantity>,
    /// Current over target, before missing and unready pods are filled in.
    #[serde(serialize_with = "float")]
    pub ratio: f64,
    /// The pods behind it, for metrics that are per pod or need a count of ready pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<PodCounts>,
    /// The second computation, with values assumed for missing and unready pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filled: Option<Filled>,
    /// The formula that gave the replicas.
    pub because: Because,
}

/// The number of pods in each group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodCounts {
    /// Counted with their usage.
    pub ready: usize,
    /// Not ready: their usage is dropped.
    pub unready: usize,
    /// Without a metric.
    pub missing: usize,
    /// Failed or being deleted.
    pub ignored: usize,
    /// Metrics of pods that do not exist (any more); they count in some of the sums.
    pub strangers: usize,
}

/// The second computation of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Filled {
    /// Current over target with the assumed values.
    #[serde(serialize_with = "float")]
    pub ratio: f64,
    /// The number of values, including the assumed ones.
    pub size: usize,
    /// The share of the request (in percent) that missing pods are assumed to use; `None` if
    /// they count as 0, as the plain target, or are left out.
    pub missing_percent: Option<i64>,
    /// The values that missing pods are filled in with.
    pub missing: Fill,
    /// Whether unready pods count as using nothing.
    pub unready_as_zero: bool,
}

/// The value that is assumed for missing pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fill {
    /// None: there are no missing pods, or the ratio is exactly 1.
    None,
    /// No usage, so as not to scale up too far.
    Zero,
    /// The target (or more, for utilization above 100 %), so as not to scale down too far.
    Target,
}

/// The formula that gave a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Because {
    /// Within tolerance: the replicas stay.
    WithinTolerance,
    /// Ratio times the ready pods, rounded up.
    RatioTimesReady,
    /// With assumed values within tolerance: the replicas stay.
    FilledWithinTolerance,
    /// The assumed values would reverse the direction: the replicas stay.
    DirectionFlips,
    /// Ratio times the number of values would go against the direction: the replicas stay.
    CountFlips,
    /// Filled-in ratio times the number of values, rounded up.
    RatioTimesFilled,
    /// Usage over the target per pod, rounded up.
    UsageOverTarget,
    /// From zero replicas: the ratio, rounded up.
    FromZero,
}

/// The error of a metric that could not be evaluated, in the controller's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricError {
    /// The reason of the event and of the condition.
    pub reason: &'static str,
    /// The text of the event.
    pub message: String,
    /// The error as the pass wraps it.
    pub error: String,
}

/// The group of one pod for one metric, and the reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodRow {
    /// Its index in the snapshot's pods.
    pub pod: u32,
    /// The group.
    pub group: Group,
    /// The rule that put it there.
    pub clause: Clause,
    /// The measured value in milli-units.
    pub value: Option<i64>,
    /// The request in milli-units, for utilization.
    pub request: Option<i64>,
    /// The value that entered the final ratio.
    pub counted: Option<i64>,
    /// The latest time at which the passing of time alone moves the pod out of the group.
    pub until: Option<Timestamp>,
    /// If the sample is too old: the time from which a sample would count.
    pub sample_from: Option<Timestamp>,
}

impl PodRow {
    /// A pod in its group, without values.
    pub(crate) fn new(pod: u32, group: Group, clause: Clause) -> Self {
        let (value, request, counted) = (None, None, None);
        Self {
            pod,
            group,
            clause,
            value,
            request,
            counted,
            until: None,
            sample_from: None,
        }
    }
}

/// The groups of `groupPods`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Group {
    /// Counted with its usage.
    Ready,
    /// Its usage is dropped.
    Unready,
    /// Without a metric.
    Missing,
    /// Left out of all computations.
    Ignored,
}

/// The rules of `groupPods` in the order in which they are tried, then those of `getReadyPodsCount`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Clause {
    /// The pod is being deleted.
    Deleted,
    /// The pod has failed.
    Failed,
    /// The pod has succeeded (`groupPods`: since 1.38).
    Succeeded,
    /// The pod is pending.
    Pending,
    /// No metric under its name.
    NoMetric,
    /// CPU: no Ready condition or no start time yet.
    NoReadiness,
    /// CPU, within the initialization period: not ready.
    InitializingNotReady,
    /// CPU, within the initialization period: the sample began before the last change of
    /// readiness.
    InitializingOldSample,
    /// CPU: not ready, and was never ready since it started.
    NeverReady,
    /// A value for all pods: not ready.
    NotReady,
    /// A value for all pods: in a phase in which it cannot be ready.
    NotRunning,
    /// No other rule applies.
    Counted,
}

fn float<S: Serializer>(f: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if f.is_finite() {
        serializer.serialize_f64(*f)
    } else {
        serializer.collect_str(f)
    }
}
