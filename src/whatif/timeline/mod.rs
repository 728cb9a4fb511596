//! Pass after pass: the engine on a cluster that changes over time. The controller's decisions, history and writes are
//! the engine's; here the clock moves, pods come and go, and ready pods share the load.

mod course;
mod load;
mod past;
mod player;
mod pods;
mod record;
mod samples;
mod table;
#[cfg(test)]
mod tests;
mod totals;
mod trace;
mod world;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::calendar::Calendar;
use crate::engine::decision::{Because, Decision, MetricStep, Proposal, StabilizeStep, Step};
use crate::whatif::overrides::{OtherRun, Reported, current};
pub use course::Course;
pub use past::{begin_with_load, make_ready_then};
pub use player::Player;
pub use pods::{Limit, PENDING, Rollout, Strategy};
pub use record::{Mark, Record};
pub use samples::Gaps;
pub use table::read_csv;
pub use totals::{Extremum, Stretch, Tally, Totals};
pub use trace::{LoadFacts, Trace};
use world::World;

/// The maximum number of passes that are played; with the usual sync period, twelve weeks.
pub const MAX_PASSES: i64 = 500_000;

/// The times that a new pod takes to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinTimes {
    /// The time from its creation until it is ready.
    pub ready: SignedDuration,
    /// The time from its creation until it has metrics.
    pub measured: SignedDuration,
}

impl Default for JoinTimes {
    /// Returns the times of a pod of which nothing else is known.
    fn default() -> Self {
        Self {
            ready: SignedDuration::from_secs(10),
            measured: SignedDuration::from_secs(30),
        }
    }
}

/// The options of a timeline.
#[derive(Debug, Clone, Default)]
pub struct TimelineOptions {
    /// The time to play; `None` to play to the end of the trace and on until the replicas settle.
    pub span: Option<SignedDuration>,
    /// The load, which several runs share; `None` if it stays as it is.
    pub trace: Option<Arc<Trace>>,
    /// All runs over the same load, which may have different metrics and containers; the run of the unchanged HPA comes
    /// first.
    pub others: Vec<OtherRun>,
    /// The times that new pods take to join.
    pub times: JoinTimes,
}

/// The passes of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The time of the first pass.
    pub start: Timestamp,
    /// The time that was played.
    pub span: SignedDuration,
    /// The end of the trace of the load, if there is one.
    pub trace: Option<TraceEnd>,
    /// The times that new pods take to join.
    pub times: JoinTimes,
    /// The number of pods that are about to become ready at the first pass.
    pub starting: usize,
    /// Whether the target lacks pods at the first pass.
    pub is_short: bool,
    /// Whether no pod is known, so that all replicas are assumed to be ready.
    pub lacks_pods: bool,
    /// The pods that are assumed to stay as they are.
    pub stays: Vec<Stays>,
    /// The passes, a period apart.
    pub passes: Vec<Point>,
    /// The passes that changed the replicas.
    pub changes: Vec<PassChange>,
    /// The totals of the passes while the load lasts.
    pub totals: Totals,
    /// The counts between which the replicas oscillate at the end, if they do.
    pub swing: Option<(i32, i32)>,
    /// The result of a rollout, if one began.
    pub rolled: Option<Rolled>,
}

/// The result of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rolled {
    /// The number of pods to replace when it began.
    pub pods: usize,
    /// The time from the first pass until all pods were new and ready; `None` if they never were.
    pub done: Option<SignedDuration>,
}

/// The end of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEnd {
    /// The time since the first pass; negative before it.
    pub after: SignedDuration,
    /// The last value of each column, which holds from then on.
    pub last: Vec<LastValue>,
}

/// The last value that a trace states for a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastValue {
    /// The column.
    pub metric: String,
    /// The value as typed.
    pub value: String,
    /// Whether there is no value from then on.
    #[serde(skip)]
    pub is_missing: bool,
}

/// A pod that is assumed to stay as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stays {
    /// Its name.
    pub pod: Box<str>,
    /// The reason why the pod does not count like the others.
    pub lacks: PodLack,
}

/// Something that a pod lacks and is assumed never to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PodLack {
    /// It has failed.
    Failed,
    /// The scheduler finds no node for it.
    Unschedulable,
    /// It is not ready, and started longer ago than the CPU initialization period.
    Readiness,
    /// It is ready, but has no metrics.
    Metrics,
}

/// A pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The replicas after it.
    pub replicas: i32,
    /// The replicas that the metrics proposed; `None` if they did not decide.
    pub proposal: Option<i32>,
    /// The pods that were ready before it.
    pub ready: usize,
    /// Whether the pass used all metrics; otherwise it left the replicas alone because metrics were missing, or decided
    /// without the metrics that the load lacks.
    pub is_answered: bool,
    /// Whether scaling is disabled at 0, so that the pass uses no metrics, whatever the load. False while the recorded
    /// target had 0 replicas.
    pub is_off: bool,
}

/// The change of the replicas by a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct PassChange {
    /// Its time.
    pub time: Timestamp,
    /// The replicas before.
    pub from: i32,
    /// The replicas after.
    pub to: i32,
    /// The replicas that the metrics proposed; `None` if they did not decide.
    pub proposal: Option<i32>,
    /// The place of the metric that decided.
    pub by: Option<usize>,
    /// The value of that metric, as the status reports it.
    pub value: Option<Reported>,
    /// The way in which that value was within the tolerance of its target, if it was.
    pub tolerated: Option<Tolerated>,
    /// The steps that changed the proposal, in order.
    pub limits: Vec<Step>,
}

/// The way in which a metric is within the tolerance of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerated {
    /// By its value alone.
    Measured,
    /// With the values that are assumed for unready pods and for pods without metrics; the value that the status
    /// reports may be far from the target.
    Filled,
}

impl PassChange {
    fn of(decision: &Decision, now: Timestamp, delay: SignedDuration, from: i32) -> Self {
        let to = decision.replicas_after().unwrap_or(from);
        let holds = |step: &&Step| step.hold().is_some();
        let mut limits: Vec<Step> = decision.trace.iter().filter(holds).cloned().collect();
        for step in &mut limits {
            if let Step::Stabilize(StabilizeStep {
                held_by: Some(past),
                ..
            }) = step
            {
                past.time = past.time.plus(delay);
            }
        }
        let by = decision.combination().and_then(|combined| combined.by);
        let step = by.and_then(|by| decision.metric(by));
        Self {
            time: now.plus(delay),
            from,
            to,
            proposal: decision.proposal,
            by,
            value: by.and_then(|by| current(decision, by)),
            tolerated: step.and_then(MetricStep::proposal).and_then(Tolerated::of),
            limits,
        }
    }
}

impl Tolerated {
    fn of(proposal: &Proposal) -> Option<Self> {
        let filled = proposal.filled.filter(|it| it.ratio != proposal.ratio);
        match proposal.because {
            Because::FilledWithinTolerance if filled.is_some() => Some(Self::Filled),
            // If nothing had to be filled in, the two ratios are the same.
            Because::WithinTolerance | Because::FilledWithinTolerance => Some(Self::Measured),
            _ => None,
        }
    }
}

impl Timeline {
    /// A timeline of a run that has not begun.
    fn of(course: &Course<'_>) -> Self {
        let player = course.player;
        let World {
            snapshot, workload, ..
        } = &course.world;
        let scale = snapshot.scale.as_ref();
        Self {
            start: snapshot.now.plus(player.delay),
            span: player.span,
            trace: player.trace.clone(),
            times: player.plan.times,
            starting: workload.starting(),
            is_short: scale.is_ok_and(|it| workload.is_short(snapshot, it.spec_replicas)),
            lacks_pods: workload.model.is_none(),
            stays: workload.stays(snapshot),
            passes: Vec::new(),
            changes: Vec::new(),
            totals: Totals::new(player, snapshot),
            swing: None,
            rolled: None,
        }
    }

    /// Records a pass.
    fn record(&mut self, course: &Course<'_>) {
        self.span = self.span.max(course.after_first);
        let change = course.change();
        let point = course.point();
        self.totals.add(change.from, point);
        self.passes.push(point);
        if change.from != change.to {
            self.changes.push(change);
        }
    }

    /// Records how the run ends. At rest, all further passes are like the last one.
    fn end(&mut self, course: &Course<'_>) {
        let is_at_rest = course.is_at_rest;
        self.swing = course.swing();
        self.rolled = course.world.workload.rolled();
        if let Some(last) = self.passes.last().copied().filter(|_| is_at_rest) {
            let period = self.totals.period;
            let mut after_first = course.after_first.saturating_add(period);
            while after_first <= self.span {
                self.passes.push(last);
                after_first = after_first.saturating_add(period);
            }
        }
        if let Some(last) = self.passes.last() {
            self.totals.end(is_at_rest, *last);
        }
    }

    /// Returns the most replicas, if only passes after the load reach them, which the totals leave out.
    pub fn highest_after_load(&self) -> Option<i32> {
        let highest = self.passes.iter().map(|pass| pass.replicas).max()?;
        (highest > self.totals.highest.replicas).then_some(highest)
    }

    /// The time at which the replicas reached their final number.
    pub fn steady_since(&self) -> Timestamp {
        self.changes.last().map_or(self.start, |change| change.time)
    }
}
