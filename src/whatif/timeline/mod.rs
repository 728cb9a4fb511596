//! Pass after pass: the engine over a cluster that changes as time goes on. What the controller
//! decides, remembers and writes is the engine's; here the clock moves, pods come and go, and the load
//! is shared among those that are ready.

mod load;
mod player;
mod pods;
#[cfg(test)]
mod tests;
mod trace;
mod world;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::engine::decision::{Decision, Path, Step};
use crate::snapshot::memory::Recommendation;
pub use player::Player;
pub use pods::PENDING;
pub use trace::Trace;
use world::World;

/// As many passes as are played; with the usual sync period, more than a day.
pub const MAX_PASSES: i64 = 10_000;

/// How long a pod is in the cluster when it gets further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinTimes {
    /// When it is ready.
    pub ready: SignedDuration,
    /// When it has metrics.
    pub measured: SignedDuration,
}

/// What is to be played.
#[derive(Debug, Clone)]
pub struct TimelineOptions {
    /// How long; without it, to the end of the trace and on until the replicas settle.
    pub span: Option<SignedDuration>,
    /// The load; without one, it stays as it is.
    pub trace: Option<Trace>,
    /// How pods join.
    pub times: JoinTimes,
}

/// What happened, pass by pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The time of the first pass.
    pub start: Timestamp,
    /// The time between two passes.
    pub period: SignedDuration,
    /// How long was played.
    pub span: SignedDuration,
    /// The end of the trace of the load, where there is one.
    pub trace: Option<TraceEnd>,
    /// How pods join.
    pub times: JoinTimes,
    /// How many pods are about to become ready at the first pass.
    pub starting: usize,
    /// The pods that are assumed to stay as they are.
    pub stays: Vec<Stays>,
    /// The passes, a period apart.
    pub passes: Vec<Point>,
    /// Those that changed the replicas.
    pub changes: Vec<Change>,
    /// Whether nothing is left that could change the replicas while the load stays as it is at the end.
    pub is_settled: bool,
    /// Between which counts it goes to and fro at the end, where it does.
    pub swing: Option<(i32, i32)>,
}

/// The end of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEnd {
    /// How long after the first pass, negative where it is before.
    pub after: SignedDuration,
    /// The last value of each column, which holds from then on.
    pub last: Vec<LastValue>,
}

/// The last value that a trace states for a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastValue {
    /// The column.
    pub metric: String,
    /// As it was typed.
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
    /// Why it does not count as the others do.
    pub lacks: Lack,
}

/// What a pod lacks, and is assumed never to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Lack {
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
    /// What the metrics asked for; none where they did not decide.
    pub proposal: Option<i32>,
    /// The pods that were ready before it.
    pub ready: usize,
}

/// A pass that changed the replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its time.
    pub time: Timestamp,
    /// The replicas before.
    pub from: i32,
    /// The replicas after.
    pub to: i32,
    /// What the metrics asked for; none where they did not decide.
    pub proposal: Option<i32>,
    /// Which metric did.
    pub by: Option<usize>,
    /// What made something else of it, in order.
    pub limits: Vec<Limited>,
}

/// What makes something else of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// The replicas were outside of the bounds: the metrics are not looked at.
    OutOfBounds,
    /// Stabilization, with the recommendation that was remembered.
    Stabilized(Option<Recommendation>),
    /// A rate limit or bound, as in the condition `ScalingLimited`.
    Limit(&'static str),
    /// A workload that was scaled to zero wakes with the minimum.
    Woken,
}

impl Timeline {
    /// Takes down a pass over so many replicas.
    fn record(&mut self, from: i32, world: &World, decision: &Decision) {
        let time = world.snapshot.now;
        let to = decision.replicas_after().unwrap_or(from);
        let proposal = decision.proposal;
        self.passes.push(Point { replicas: to, proposal, ready: world.ready() });
        if from == to {
            return;
        }
        let mut change = Change { time, from, to, proposal, by: None, limits: Vec::new() };
        for step in &decision.trace {
            change.limits.extend(match step {
                Step::ChoosePath { path: Path::AboveMax | Path::BelowMin, .. } => {
                    Some(Limited::OutOfBounds)
                }
                Step::Stabilize { desired, result, held_by, .. } if desired != result => {
                    Some(Limited::Stabilized(*held_by))
                }
                Step::Limit { desired, result, reason, .. } if desired != result => {
                    Some(Limited::Limit(reason))
                }
                Step::RaiseToMin { .. } => Some(Limited::Woken),
                Step::CombineMetrics { by, .. } => {
                    change.by = *by;
                    None
                }
                _ => None,
            });
        }
        self.changes.push(change);
    }

    /// Takes down the passes from a time after the first on, each like the last one.
    fn repeat_last(&mut self, from: SignedDuration) {
        let Some(last) = self.passes.last().copied() else { return };
        let mut after_first = from;
        while after_first <= self.span {
            self.passes.push(last);
            after_first += self.period;
        }
    }

    /// The time since which the replicas are as they are at the end.
    pub fn steady_since(&self) -> Timestamp {
        self.changes.last().map_or(self.start, |change| change.time)
    }
}

/// The counts between which changes go to and fro: one of them comes twice.
fn swing(changes: &[Change]) -> Option<(i32, i32)> {
    let Change { from, to, .. } = changes.last()?;
    let same = |change: &&Change| (change.from, change.to) == (*from, *to);
    let first = changes.iter().position(|change| same(&change))?;
    let round = changes.get(first..changes.len() - 1).filter(|round| !round.is_empty())?;
    let counts = || round.iter().flat_map(|change| [change.from, change.to]);
    Some((counts().min()?, counts().max()?))
}

fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    let end = if duration.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
    time.checked_add(duration).unwrap_or(end)
}
