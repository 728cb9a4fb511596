//! The facts about a pass and about the run that begins with it, field by field. A value that depends on the
//! controller's history, or on what the controller may read although this program cannot, is a range or
//! unknown; an unknown value has a cause.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::fields::{Field, MetricField, PassField, RunField, RunOf, find_metric};
use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::{
    Block, Decision, Group, MetricResult, MetricStep, Path, Step, UnreadMetric, UnreadMetrics,
};
use crate::memory::infer;
use crate::numbers::duration;
use crate::outlook::{self, Outlook, Range, lacking};
use crate::pass::{Doubts, Pass};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricSource;
use crate::whatif::timeline::{Extremum, Stretch, Tally, Totals};
use jiff::{SignedDuration, Timestamp};

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A boolean.
    Flag(bool),
    /// A whole number, known or within bounds.
    Count {
        /// The lower bound.
        min: i64,
        /// The upper bound.
        max: i64,
    },
    /// The value of a metric.
    Amount(Quantity),
    /// A quotient.
    Fraction {
        /// The numerator.
        numerator: i128,
        /// The denominator.
        denominator: i128,
    },
    /// A duration, known or within bounds.
    Duration {
        /// The lower bound.
        min: SignedDuration,
        /// The upper bound.
        max: SignedDuration,
    },
    /// An unknown value, with the cause.
    Unknown(Cow<'static, str>),
}

pub(super) const HISTORY: &str = "it depends on the controller's history";
const TIME: &str = "it depends on the time of the pass, which is in doubt";
const METRICS_IGNORED: &str = "the pass ignores the metrics";

impl Fact {
    fn count(n: impl Into<i64>) -> Self {
        let n = n.into();
        Self::Count { min: n, max: n }
    }

    fn unknown(why: impl Into<Cow<'static, str>>) -> Self {
        Self::Unknown(why.into())
    }

    fn duration(length: SignedDuration) -> Self {
        Self::Duration {
            min: length,
            max: length,
        }
    }

    /// Whether the fact is a single value.
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            Self::Count { min, max } => min == max,
            Self::Duration { min, max } => min == max,
            Self::Flag(_) | Self::Amount(_) | Self::Fraction { .. } => true,
            Self::Unknown(_) => false,
        }
    }
}

/// The replicas of a run are known if at most one pass in this many lacks an answer.
const MOST_UNANSWERED: usize = 10;

/// The totals of a run, and the doubts about them.
#[derive(Debug, Clone, Copy)]
pub struct RunFacts<'a> {
    totals: &'a Totals,
    doubts: Doubts,
}

/// The facts about a pass, and about the run that begins with it.
#[derive(Debug, Clone, Copy)]
pub struct PassFacts<'a> {
    pass: &'a Pass,
    /// The run that follows on the pass, and the replay.
    pub(super) runs: Option<[RunFacts<'a>; 2]>,
}

impl<'a> RunFacts<'a> {
    /// Returns the facts of a run that begins with a pass.
    pub fn new(pass: &Pass, totals: &'a Totals) -> Self {
        Self {
            totals,
            doubts: pass.doubts(totals.highest.replicas, totals.asked),
        }
    }

    fn get(&self, field: RunField) -> Fact {
        let open = match self.doubts {
            Doubts { metrics: true, .. } => {
                Some("it depends on metrics that are not known here".into())
            }
            Doubts { history: true, .. } => Some(HISTORY.into()),
            Doubts { time: true, .. } => Some(TIME.into()),
            _ => self.undecided(field),
        };
        open.map_or_else(|| self.total(field).0, Fact::Unknown)
    }

    /// Returns why a field says nothing about the spec, if too much of the run is unchanged only because nothing
    /// was measured.
    fn undecided(&self, field: RunField) -> Option<Cow<'static, str>> {
        use RunField::{Last, LongestShort, Settled, Short, Unanswered};
        let Self { totals, .. } = self;
        let (unanswered, passes) = (totals.unanswered_passes.count, totals.passes);
        match field {
            // Whether metrics are missing is known once one pass has lacked them.
            Unanswered if unanswered > 0 => None,
            _ if totals.is_unanswered() => Some("no pass of the run has an answer".into()),
            _ if totals.decided_passes == 0 && totals.highest.replicas == 0 => {
                Some(stays(Block::AtZero).into())
            }
            _ if totals.decided_passes == 0 => Some("metrics decide no pass of the run".into()),
            // A range shows how much is uncertain.
            Unanswered | Short | LongestShort => None,
            _ if unanswered.saturating_mul(MOST_UNANSWERED) > passes => {
                Some(format!("{unanswered} of {passes} passes lack metric values").into())
            }
            Last | Settled if !totals.ends_answered => {
                Some("the last pass lacks metric values".into())
            }
            _ => None,
        }
    }

    /// Returns a total, and when it was first reached or where its longest stretch begins.
    fn total(&self, field: RunField) -> (Fact, Option<Timestamp>) {
        let Self { totals, .. } = self;
        let longest = totals.longest_short();
        let since = longest.map(|it| it.start);
        let length = |of: Option<Stretch>| of.map_or(SignedDuration::ZERO, |it| it.length);
        let extremum = |of: Extremum| (Fact::count(of.replicas), Some(of.time));
        let tally = |of: Tally| (Fact::count(of.count as i64), of.first);
        match field {
            RunField::ReplicaHours => {
                // 31 bits of replicas times 93 bits of time fit.
                let nanos = totals.period.as_nanos();
                let hours = Fact::Fraction {
                    numerator: totals.replica_passes.saturating_mul(nanos),
                    denominator: SignedDuration::from_hours(1).as_nanos(),
                };
                (hours, None)
            }
            RunField::Mean => {
                let mean = Fact::Fraction {
                    numerator: totals.replica_passes,
                    denominator: totals.passes as i128,
                };
                (mean, None)
            }
            RunField::Lowest => extremum(totals.lowest),
            RunField::Highest => extremum(totals.highest),
            RunField::AtMax => (Fact::duration(totals.at_max()), totals.passes_at_max.first),
            RunField::Short => {
                let (min, max) = (totals.short(), totals.short_at_most());
                (Fact::Duration { min, max }, since)
            }
            RunField::LongestShort => {
                let max = length(totals.longest_short_at_most());
                let min = length(longest);
                (Fact::Duration { min, max }, since)
            }
            RunField::Rescales => tally(totals.rescales),
            RunField::Reversals => tally(totals.reversals),
            RunField::Unanswered => (
                Fact::duration(totals.unanswered()),
                totals.unanswered_passes.first,
            ),
            RunField::Last => (Fact::count(totals.last), None),
            RunField::Settled => (Fact::Flag(totals.is_settled), None),
        }
    }
}

impl<'a> PassFacts<'a> {
    /// The facts of a pass.
    pub fn of(pass: &'a Pass) -> Self {
        Self { pass, runs: None }
    }

    fn snapshot(&self) -> &'a Snapshot {
        &self.pass.input.snapshot
    }

    /// Returns the facts with those of the runs: the run that begins with the pass, and the replay.
    #[must_use]
    pub fn with_runs(self, run: RunFacts<'a>, replay: RunFacts<'a>) -> Self {
        Self {
            runs: Some([run, replay]),
            ..self
        }
    }

    /// Returns the hint for settling the time of the pass, if there are two possible times.
    pub(super) fn time_hint(&self) -> Option<String> {
        let now = SecondsTime(self.pass.elsewhen.as_ref()?.input.snapshot.now);
        Some(format!("use --now {now} to resolve this"))
    }

    /// Whether something would hold for the facts if the time were certain.
    pub(super) fn at_this_time(&self, holds: impl FnOnce(&PassFacts<'_>) -> bool) -> bool {
        let mut pass = self.pass.clone();
        pass.elsewhen = None;
        self.would_hold(pass, |doubts| doubts.time = false, holds)
    }

    /// Whether something would hold for the facts of a pass that is more certain, and of its runs.
    fn would_hold(
        &self,
        mut pass: Pass,
        settle: impl Fn(&mut Doubts),
        holds: impl FnOnce(&PassFacts<'_>) -> bool,
    ) -> bool {
        pass.outlook = Outlook::new(&pass.input.snapshot, &pass.remembered, &pass.decision);
        let mut facts = PassFacts {
            pass: &pass,
            ..*self
        };
        let runs = facts.runs.iter_mut().flatten();
        runs.for_each(|run| settle(&mut run.doubts));
        holds(&facts)
    }

    /// Returns the hint for an answer that depends on the controller's history. The history of a past pass stays as
    /// uncertain as its samples leave it.
    pub(super) fn history_hint(&self) -> Option<String> {
        let Snapshot {
            hpa, controller, ..
        } = self.snapshot();
        let window = duration(infer::window(hpa, controller));
        self.pass.input.evidence.past.is_none().then(|| {
            format!(
                "use --observe {window} in a cluster, or --history none if the controller has just started, to \
                 resolve this"
            )
        })
    }

    /// Whether something would hold for the facts if the history were known.
    pub(super) fn with_history(&self, holds: impl FnOnce(&PassFacts<'_>) -> bool) -> bool {
        let mut pass = self.pass.clone();
        pass.remembered.possible = None;
        self.would_hold(pass, |doubts| doubts.history = false, holds)
    }

    /// Returns the known value of a field.
    pub fn get(&self, field: &Field) -> Fact {
        let fact = self.at_one_time(field);
        // The doubts about a run include its time.
        let Some(elsewhen) = self.pass.elsewhen.as_deref().filter(|_| !field.is_of_run()) else {
            return fact;
        };
        match (fact, Self::of(elsewhen).at_one_time(field)) {
            (fact, other) if fact == other => fact,
            (
                Fact::Count { min, max },
                Fact::Count {
                    min: least,
                    max: most,
                },
            ) => Fact::Count {
                min: min.min(least),
                max: max.max(most),
            },
            _ => Fact::unknown(TIME),
        }
    }

    /// Returns when the value of a field was reached, if known.
    pub(super) fn moment(&self, field: &Field) -> Option<Timestamp> {
        match field {
            Field::Run(of, field) => self.run(*of)?.total(*field).1,
            Field::Pass(_) | Field::Metric(..) => None,
        }
    }

    /// Returns the facts of a run; `None` if it was not played, because the scale cannot be read.
    fn run(&self, of: RunOf) -> Option<&RunFacts<'a>> {
        let [run, replay] = self.runs.as_ref()?;
        Some(match of {
            RunOf::Judged => run,
            RunOf::Replay => replay,
        })
    }

    fn at_one_time(&self, field: &Field) -> Fact {
        match field {
            Field::Run(of, field) => self.run(*of).map_or_else(no_scale, |run| run.get(*field)),
            Field::Pass(field) => self.of_pass(*field),
            Field::Metric(name, field) => {
                match find_metric(&self.snapshot().hpa.spec, name, *field) {
                    Ok(index) => self.of_metric(index, *field),
                    Err((message, _)) => Fact::unknown(message),
                }
            }
        }
    }

    fn of_pass(&self, field: PassField) -> Fact {
        let spec = &self.snapshot().hpa.spec;
        match field {
            PassField::Desired => self.replicas(|after, _| after),
            PassField::Delta => self.replicas(|after, current| after - current),
            PassField::Current => self
                .pass
                .decision
                .replicas_before()
                .map_or_else(no_scale, Fact::count),
            PassField::Min => Fact::count(spec.min()),
            PassField::Max => Fact::count(spec.max_replicas),
            PassField::Recommended => match (self.unread(), self.pass.decision.proposal) {
                (Some(unread), _) => unread,
                (None, Some(proposal)) => Fact::count(proposal),
                (None, None) if self.pass.decision.metrics().next().is_some() => {
                    Fact::unknown("the metrics do not decide")
                }
                (None, None) => Fact::unknown(METRICS_IGNORED),
            },
            PassField::Failed => self.over_metrics(|metrics| {
                let failed = |metric: &&MetricStep| metric.is_failed();
                Fact::count(metrics.iter().copied().filter(failed).count() as i64)
            }),
            PassField::Missing => self.over_metrics(|metrics| self.missing(metrics)),
            PassField::Warnings => self.unless_open(|decision| {
                let events = decision.outcome.events.iter().flatten();
                let warnings = events.filter(|e| e.type_ == "Warning");
                Fact::count(warnings.count() as i64)
            }),
            PassField::Blocked => {
                self.unless_open(|decision| Fact::Flag(decision.block().is_some()))
            }
            PassField::Stabilized => self.changed(|step| {
                let step = step.stabilization()?;
                Some(step.result.cmp(&step.desired))
            }),
            PassField::Limited => self.changed(|step| {
                let step = step.limit()?;
                Some(step.result.cmp(&step.desired))
            }),
            PassField::Stale => self.staleness(),
        }
    }

    fn of_metric(&self, index: usize, field: MetricField) -> Fact {
        let Some(metric) = self.pass.decision.metric(index) else {
            return Fact::unknown(METRICS_IGNORED);
        };
        let proposal = match &metric.result {
            MetricResult::Proposal(proposal) => proposal,
            MetricResult::Error(error) => return Fact::unknown(error.error.clone()),
            MetricResult::Unread(_) => return self.unread().unwrap_or_else(no_scale),
        };
        let current = &proposal.current;
        let of_nothing = proposal.total.is_some()
            && metric.target.average_value.is_some()
            && self
                .snapshot()
                .scale
                .as_ref()
                .is_ok_and(|scale| scale.status_replicas == 0);
        let value = match field {
            MetricField::Desired => Some(Fact::count(proposal.replicas)),
            MetricField::Utilization => current.average_utilization.map(Fact::count),
            MetricField::AverageValue if of_nothing => {
                return Fact::unknown("it is an average over no replicas");
            }
            MetricField::AverageValue
                if metric.target.average_value.is_none()
                    && self.pass.input.surroundings.invents_request(&metric.name) =>
            {
                return Fact::unknown(format!("nothing states the {} request", metric.name));
            }
            MetricField::AverageValue => current.average_value.clone().map(Fact::Amount),
            MetricField::Value => current.value.clone().map(Fact::Amount),
        };
        value.unwrap_or_else(|| Fact::unknown("the controller does not compute it"))
    }

    fn over_metrics(&self, count: impl Fn(&[&MetricStep]) -> Fact) -> Fact {
        let metrics: Vec<&MetricStep> = self.pass.decision.metrics().collect();
        if metrics.is_empty() {
            return Fact::unknown(METRICS_IGNORED);
        }
        self.unread().unwrap_or_else(|| count(&metrics))
    }

    /// Returns the number of pods that count as missing for a metric. A metric that fails before it groups the pods does
    /// not say which of them have a value.
    fn missing(&self, metrics: &[&MetricStep]) -> Fact {
        let spec = &self.snapshot().hpa.spec;
        let is_of_pods = |metric: &&&MetricStep| {
            let own = &spec.metrics[metric.index];
            own.is_resource() || matches!(own.source(), MetricSource::Pods(_))
        };
        let mut ungrouped = metrics
            .iter()
            .filter(|metric| metric.is_failed() && metric.pods.is_empty());
        if let Some(metric) = ungrouped.find(is_of_pods) {
            let label = spec.label(metric.index);
            return Fact::unknown(format!("{label} cannot be evaluated"));
        }
        let rows = metrics.iter().flat_map(|metric| &metric.pods);
        let missing = rows
            .filter(|row| row.group == Group::Missing)
            .map(|row| row.pod);
        Fact::count(missing.collect::<BTreeSet<_>>().len() as i64)
    }

    /// Returns the cause if something is unknown here that the controller may have read.
    fn unread(&self) -> Option<Fact> {
        self.lacking().map(Fact::unknown)
    }

    /// Returns the cause alone.
    pub(super) fn lacking(&self) -> Option<String> {
        self.lacks(&self.pass.decision.outcome.unread)
    }

    /// Returns the cause, including for a pass that corrects replicas beyond a bound, from the metrics that the next
    /// pass reads.
    pub(super) fn lacking_to_read(&self) -> Option<String> {
        let path = self.pass.decision.path();
        if !matches!(path, Some(Path::AboveMax | Path::BelowMin)) {
            return self.lacking();
        }
        let unread = self
            .snapshot()
            .unread_metrics()
            .map(|(index, why)| UnreadMetric {
                index,
                why: why.clone(),
            });
        self.lacks(&Vec::from_iter(unread))
    }

    fn lacks(&self, unread: &[UnreadMetric]) -> Option<String> {
        let unread = UnreadMetrics::of(unread, &self.snapshot().hpa.spec);
        lacking(&unread).or_else(|| self.snapshot().scale.as_ref().err()?.lacking())
    }

    /// Returns a fact about the replicas after the pass and before it. In a blocked pass they stay, but that is not an
    /// answer to rely on: it does not show what happens once nothing blocks the pass.
    fn replicas(&self, of: impl Fn(i64, i64) -> i64) -> Fact {
        // A metric that this program cannot read may fail for the controller, too. Unless the other metrics scale
        // up, that blocks the pass.
        if self.pass.decision.is_unread() {
            return self.unread().unwrap_or_else(no_scale);
        }
        if let Some(block) = self.pass.decision.block() {
            return Fact::unknown(stays(block));
        }
        if self.may_fail_to_write() {
            return self.unread().unwrap_or_else(|| Fact::unknown(HISTORY));
        }
        match (
            self.pass.outlook.range(&self.pass.decision),
            self.pass.decision.replicas_before(),
        ) {
            (Some(Range { min, max }), Some(current)) => {
                let of = |after: i32| of(after.into(), current.into());
                Fact::Count {
                    min: of(min),
                    max: of(max),
                }
            }
            _ => no_scale(),
        }
    }

    /// Returns the fact from the decision, unless the decision could be different: if access to metrics was
    /// refused, or if the scale cannot be written and it is uncertain whether the pass tries to.
    fn unless_open(&self, of: impl Fn(&Decision) -> Fact) -> Fact {
        if let Some(unread) = self.unread() {
            return unread;
        }
        if self.may_fail_to_write() {
            return Fact::unknown(HISTORY);
        }
        of(&self.pass.decision)
    }

    /// Whether the scale cannot be written and it depends on the history, or on metrics that could not be read, whether
    /// the pass tries to.
    fn may_fail_to_write(&self) -> bool {
        outlook::may_fail_to_write(self.snapshot(), &self.pass.remembered, &self.pass.decision)
    }

    /// Returns whether a step changed the number, over all unknowns. Between two bounds at which it changes in
    /// different directions, it may not change at all.
    fn changed(&self, of: impl Fn(&Step) -> Option<Ordering>) -> Fact {
        let Some(likely) = self.pass.decision.trace.iter().find_map(&of) else {
            return match self.pass.decision.path() {
                Some(Path::AboveMax | Path::BelowMin) => Fact::Flag(false),
                _ => self
                    .unread()
                    .unwrap_or_else(|| Fact::unknown("the pass ends earlier")),
            };
        };
        if let Some(unread) = self.unread() {
            return unread;
        }
        let extremes = &self.pass.outlook.extremes;
        let open = self.pass.remembered.is_open() && extremes.is_empty();
        // A pass that does not read the metrics changes nothing here, and the record tells nothing about it.
        let stepped = extremes.iter().filter(|extreme| !extreme.steps.is_empty());
        let mut others = stepped.map(|extreme| {
            let found = extreme.steps.iter().find_map(&of);
            found.unwrap_or(Ordering::Equal)
        });
        if open || others.any(|other| other != likely) {
            return Fact::unknown(HISTORY);
        }
        Fact::Flag(likely != Ordering::Equal)
    }

    /// Whether a sample is stale.
    fn staleness(&self) -> Fact {
        let snapshot = self.snapshot();
        let mut timeless = None;
        let mut looked = false;
        for metric in self.pass.decision.metrics() {
            looked = true;
            // Only pods of the target that the metric was evaluated for.
            let pods: BTreeSet<&str> = metric
                .pods
                .iter()
                .filter(|row| row.value.is_some())
                .map(|row| &*snapshot.pods[row.pod as usize].name)
                .collect();
            let answer = snapshot.metrics.get(metric.index);
            let mut samples = answer.map_or_else(Vec::new, |it| snapshot.measurements(it));
            samples.retain(|sample| sample.pod.is_none_or(|pod| pods.contains(pod)));
            if samples.iter().any(|sample| snapshot.is_stale(sample)) {
                return Fact::Flag(true);
            }
            let is_told = samples.iter().all(|sample| sample.time.is_some());
            if !is_told || metric.proposal().is_none() {
                timeless.get_or_insert(metric);
            }
        }
        match timeless {
            _ if !looked => Fact::unknown(METRICS_IGNORED),
            Some(metric) => {
                let name = &metric.name;
                Fact::unknown(format!("the age of the samples of {name} is unknown"))
            }
            None => Fact::Flag(false),
        }
    }
}

fn no_scale() -> Fact {
    Fact::unknown(stays(Block::NoScale))
}

/// Returns why the replicas stay: this blocks the pass, which does not show what happens once nothing blocks it.
fn stays(block: Block) -> &'static str {
    match block {
        Block::NoScale => "the scale of the target cannot be read",
        Block::AtZero => "the replicas stay only because scaling is disabled at 0",
        Block::Selector => "the replicas stay only because the target's selector is unusable",
        Block::SharedPods => "the replicas stay only because other HPAs select the same pods",
        Block::Metrics => "the replicas stay only because metrics fail",
        Block::NotWritten => "the replicas stay only because the scale cannot be written",
    }
}
