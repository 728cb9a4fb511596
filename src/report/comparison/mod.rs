//! The status that the controller last wrote next to the one that this pass would write: their differences,
//! the age of each, and possible reasons (`reasons`). Texts of conditions are not compared.

mod reasons;

use std::collections::{HashMap, HashSet};
use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::apimachinery::json;
use crate::engine::decision::MetricStep;
use crate::pass::Pass;
use crate::snapshot::hpa::{HpaStatus, MetricSpec, MetricStatus, MetricValueStatus};
use crate::snapshot::{MetricAnswer, Snapshot};
use reasons::{BearsOn, ReasonFinder};

/// Two statuses, item by item.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison<'a> {
    /// The time when the status last changed; `None` if the object does not state it.
    pub(crate) written: Option<Moment>,
    /// Whether `apply` wrote it, in place of the controller.
    pub(crate) written_by_us: bool,
    pub(crate) last_scale_time: Option<Moment>,
    pub(crate) differs: bool,
    pub(crate) rows: Vec<ComparisonRow<'a>>,
    /// The reasons for the differences, the most important first.
    pub(crate) reasons: Vec<DifferenceReason>,
}

/// An instant, relative to the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Moment {
    #[serde(serialize_with = "json::time::serialize")]
    pub(crate) time: Timestamp,
    /// Whole seconds since then; negative if it is after the pass.
    pub(crate) age: i64,
}

impl Moment {
    fn new(time: Timestamp, now: Timestamp) -> Self {
        let age = now.duration_since(time);
        Self {
            time,
            age: age.as_secs() - i64::from(age.subsec_nanos() < 0),
        }
    }
}

/// One item of the two statuses.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ComparisonRow<'a> {
    pub(crate) item: StatusItem,
    /// Its index in `currentMetrics`, from 0.
    pub(crate) index: Option<usize>,
    /// The metric, or the type of the condition; else the field.
    pub(crate) name: String,
    pub(crate) last: Option<StatusValue<'a>>,
    pub(crate) now: Option<StatusValue<'a>>,
    pub(crate) differs: bool,
    /// The times when the current values were measured, from the oldest sample to the newest.
    pub(crate) measured: Option<SampleTimes>,
    /// The reasons that apply to it.
    pub(crate) because: Vec<DifferenceCode>,
}

impl<'a> ComparisonRow<'a> {
    fn new(
        item: StatusItem,
        name: impl Into<String>,
        last: Option<StatusValue<'a>>,
        now: Option<StatusValue<'a>>,
    ) -> Self {
        Self {
            item,
            index: None,
            name: name.into(),
            differs: last != now,
            last,
            now,
            measured: None,
            because: Vec::new(),
        }
    }
}

/// The fields of a status that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum StatusItem {
    /// The replicas that the pass found.
    CurrentReplicas,
    /// The replicas that it decided on.
    DesiredReplicas,
    CurrentMetrics,
    Conditions,
}

/// The value of an item in a status.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum StatusValue<'a> {
    Replicas(i32),
    Metric(&'a MetricValueStatus),
    /// A condition, without its text.
    Condition {
        /// `True`, `False` or `Unknown`.
        status: &'a str,
        /// The reason, as one word.
        reason: &'a str,
    },
}

/// The times when the samples of a metric were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct SampleTimes {
    pub(crate) from: Moment,
    pub(crate) to: Moment,
}

/// A reason for differences.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DifferenceReason {
    /// Its stable name.
    pub(crate) code: DifferenceCode,
    /// The evidence for it, as a fragment.
    pub(crate) message: String,
    #[serde(skip)]
    bears_on: BearsOn,
}

/// The reasons, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DifferenceCode {
    /// The controller has not reconciled the HPA yet.
    NoStatusYet,
    /// The lease of the controller manager has expired.
    ControllerNotRunning,
    /// The input of the pass is older than several sync periods, and newer than the status.
    StaleStatus,
    /// The HPA was changed after its status.
    SpecChanged,
    /// The target's replicas differ from those that the last pass left.
    RescaledSince,
    /// The last pass scaled, and its status has the values from before.
    JustScaled,
    /// Reading succeeded then and fails now.
    FailsNow,
    /// Reading failed then and succeeds now.
    FailedThen,
    /// A metric was measured after the status was written.
    MetricsMoved,
    /// Pods have started, or changed their readiness.
    PodsChanged,
    /// The controller's history counts now but did not then, or the other way round; or it is unknown, and the
    /// answer depends on it.
    Memory,
    /// None of these reasons applies.
    Unexplained,
}

impl fmt::Display for DifferenceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl<'a> Comparison<'a> {
    /// Compares; `None` for a manifest, which has no status, and if the status of this pass is unknown.
    pub(super) fn new(pass: &'a Pass) -> Option<Self> {
        let Snapshot { hpa, now, .. } = &pass.input.snapshot;
        let never = hpa.status.is_empty();
        if never && hpa.uid.is_none() {
            return None;
        }
        let status = pass.decision.outcome.status.as_ref()?;
        let mut rows = rows(pass, status, never);
        let reasons = ReasonFinder::new(pass, status, &rows).explained(never);
        for row in rows.iter_mut().filter(|row| row.differs) {
            let bearing = reasons
                .iter()
                .filter(|reason| reason.bears_on.includes(row));
            row.because = bearing.map(|reason| reason.code).collect();
        }
        Some(Self {
            written: hpa.written.status.map(|time| Moment::new(time, *now)),
            written_by_us: hpa.written.by_us,
            last_scale_time: hpa
                .status
                .last_scale_time
                .map(|time| Moment::new(time, *now)),
            differs: rows.iter().any(|row| row.differs),
            rows,
            reasons,
        })
    }
}

/// Returns the items of the written status and of the one that would be written.
fn rows<'a>(pass: &'a Pass, status: &'a HpaStatus, never: bool) -> Vec<ComparisonRow<'a>> {
    let hpa = &pass.input.snapshot.hpa;
    let then = &hpa.status;
    let replicas = |replicas| Some(StatusValue::Replicas(replicas));
    let last = |n| replicas(n).filter(|_| !never);
    let (current, desired) = (last(then.current_replicas), last(then.desired_replicas));
    let mut rows = vec![
        ComparisonRow::new(
            StatusItem::CurrentReplicas,
            "currentReplicas",
            current,
            replicas(status.current_replicas),
        ),
        ComparisonRow::new(
            StatusItem::DesiredReplicas,
            "desiredReplicas",
            desired,
            replicas(status.desired_replicas),
        ),
    ];

    let count = hpa.spec.metrics.len().max(list_of(then).len());
    rows.extend((0..count).map(|index| metric_row(pass, status, index)));

    let types = status
        .conditions
        .iter()
        .chain(&then.conditions)
        .map(|condition| &*condition.type_);
    let [last, now] = [then, status].map(condition_values);
    let mut seen = HashSet::new();
    for type_ in types.filter(|type_| seen.insert(*type_)) {
        rows.push(ComparisonRow::new(
            StatusItem::Conditions,
            type_,
            last.get(type_).cloned(),
            now.get(type_).cloned(),
        ));
    }
    rows
}

/// Returns the item of a metric.
fn metric_row<'a>(pass: &'a Pass, status: &'a HpaStatus, index: usize) -> ComparisonRow<'a> {
    let snapshot = &pass.input.snapshot;
    let spec = &snapshot.hpa.spec;
    let last = list_of(&snapshot.hpa.status).get(index);
    let now = list_of(status).get(index);
    let label = match (spec.metrics.get(index), last) {
        (Some(_), _) => spec.label(index),
        (None, Some(last)) => last.labelled().map(|(name, _)| name).unwrap_or_default(),
        (None, None) => String::new(),
    };
    let name = if label.is_empty() {
        format!("metric {}", index + 1)
    } else {
        label
    };
    let value = |of: Option<&'a MetricStatus>| metric_value(of?, spec.metrics.get(index));
    let step = pass.decision.metric(index);
    let proposal = step.and_then(MetricStep::proposal);
    let computed = proposal.map(|proposal| StatusValue::Metric(&proposal.current));
    let shown = value(now);
    // Before 1.29, a pass without a decision keeps the values of the last status.
    let is_new = shown.is_some() && shown == computed;
    ComparisonRow {
        index: Some(index),
        differs: match (last, now) {
            (Some(last), Some(now)) => !last.agrees_with(now),
            (last, now) => last.is_some() || now.is_some(),
        },
        measured: is_new.then(|| measured(snapshot, index)).flatten(),
        ..ComparisonRow::new(StatusItem::CurrentMetrics, name, value(last), shown)
    }
}

fn list_of(status: &HpaStatus) -> &[MetricStatus] {
    status.current_metrics.as_deref().unwrap_or_default()
}

/// Returns the value of a metric, if the spec has the same metric at its place.
fn metric_value<'a>(
    status: &'a MetricStatus,
    spec: Option<&MetricSpec>,
) -> Option<StatusValue<'a>> {
    let (named, value) = status.labelled()?;
    let is_it = spec.is_none_or(|own| own.type_ == status.type_ && own.short_label() == named);
    is_it.then_some(StatusValue::Metric(value))
}

/// Returns the conditions by type: of several, the first.
fn condition_values(status: &HpaStatus) -> HashMap<&str, StatusValue<'_>> {
    let from_last = status.conditions.iter().rev();
    from_last
        .map(|found| {
            let value = StatusValue::Condition {
                status: &found.status,
                reason: &found.reason,
            };
            (&*found.type_, value)
        })
        .collect()
}

/// Returns when the samples of pods behind a metric were taken, if the API states it.
fn measured(snapshot: &Snapshot, index: usize) -> Option<SampleTimes> {
    let answer = snapshot.metrics.get(index)?;
    if !matches!(answer, MetricAnswer::PodMetrics | MetricAnswer::Pods(_)) {
        return None;
    }
    let samples = snapshot.measurements(answer);
    let times = samples.iter().filter_map(|sample| sample.time);
    let (from, to) = (times.clone().min()?, times.max()?);
    let moment = |time| Moment::new(time, snapshot.now);
    Some(SampleTimes {
        from: moment(from),
        to: moment(to),
    })
}
