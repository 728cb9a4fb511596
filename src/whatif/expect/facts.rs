//! What is known of a pass, field by field. A value that depends on what the controller may
//! remember, or may read where we may not, is a range or unknown; an unknown says why.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde::ser::SerializeMap;

use super::syntax::{Field, MetricField, PassField, find_metric};
use crate::apimachinery::quantity::{Amount, Quantity};
use crate::engine::decision::{Block, Decision, Group, MetricResult, MetricStep, Path, Step};
use crate::memory::{Remembered, infer};
use crate::numbers;
use crate::outlook::{Outlook, Range};
use crate::pass::Pass;
use crate::snapshot::{MetricAnswer, Snapshot};

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// True or false.
    Flag(bool),
    /// A whole number, known or within bounds.
    Count {
        /// It is not lower.
        min: i64,
        /// It is not higher.
        max: i64,
    },
    /// The value of a metric.
    Amount(Quantity),
    /// Not known, and why.
    Unknown(String),
}

impl Fact {
    fn count(n: impl Into<i64>) -> Self {
        let n = n.into();
        Self::Count { min: n, max: n }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(why.into())
    }

    /// The bounds of a number, where it has some.
    pub(super) fn bounds(&self) -> Option<(Amount, Amount)> {
        match self {
            Self::Count { min, max } => Some((Amount::int(*min, 0), Amount::int(*max, 0))),
            Self::Amount(quantity) => Some((quantity.amount().clone(), quantity.amount().clone())),
            Self::Flag(_) | Self::Unknown(_) => None,
        }
    }

    /// Adds itself to a JSON object: `value`, which is null where it is not one; then `range` or
    /// `unknown` say what is known instead.
    pub(super) fn add_to<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Flag(flag) => map.serialize_entry("value", flag),
            Self::Count { min, max } if min == max => map.serialize_entry("value", min),
            Self::Count { min, max } => {
                map.serialize_entry("value", &None::<i64>)?;
                map.serialize_entry("range", &Bounds { min: *min, max: *max })
            }
            Self::Amount(quantity) => map.serialize_entry("value", quantity),
            Self::Unknown(why) => {
                map.serialize_entry("value", &None::<i64>)?;
                map.serialize_entry("unknown", why)
            }
        }
    }
}

#[derive(Serialize)]
struct Bounds {
    min: i64,
    max: i64,
}

impl std::fmt::Display for Fact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count { min, max } if min == max => write!(f, "{min}"),
            Self::Count { min, max } => write!(f, "anywhere from {min} to {max}"),
            Self::Amount(quantity) => write!(f, "{quantity}"),
            Self::Unknown(why) => write!(f, "unknown ({why})"),
        }
    }
}

/// What expectations may ask of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    snapshot: &'a Snapshot,
    remembered: &'a Remembered,
    decision: &'a Decision,
    outlook: &'a Outlook,
    /// The pass at another time, where the clock is in doubt.
    elsewhen: Option<&'a Pass>,
}

const OPEN_TIME: &str = "it depends on the time of the pass, which is in doubt";
const NO_METRICS: &str = "the pass ignores the metrics";
const OPEN_MEMORY: &str = "it depends on the controller's history";
const NO_SCALE: &str = "the scale of the target cannot be read";
const UNDECIDED: &str = "the pass ends earlier";

impl<'a> Facts<'a> {
    /// The facts of a pass.
    pub fn of(pass: &'a Pass) -> Self {
        let Pass { input, remembered, decision, outlook, elsewhen, .. } = pass;
        let elsewhen = elsewhen.as_deref();
        Self { snapshot: &input.snapshot, remembered, decision, outlook, elsewhen }
    }

    /// What would settle at which of the two times the pass is.
    pub(super) fn time_hint(&self) -> Option<String> {
        let time = crate::apimachinery::json::SecondsTime(self.elsewhen?.input.snapshot.now);
        Some(format!("use --now {time} to resolve this"))
    }

    /// The same as if the time was not in doubt.
    pub(super) fn at_this_time(&self) -> Self {
        Self { elsewhen: None, ..*self }
    }

    /// What would tell the history, on which an answer depends.
    pub(super) fn history_hint(&self) -> String {
        let window = infer::window(&self.snapshot.hpa, &self.snapshot.controller);
        let window = numbers::duration(window);
        format!("use --history none, or --observe {window} in a cluster, to resolve this")
    }

    /// Asks something of the facts as they were if the history was known.
    pub(super) fn with_history<T>(&self, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
        let remembered = Remembered { possible: None, ..self.remembered.clone() };
        let outlook = Outlook::new(self.snapshot, &remembered, self.decision);
        ask(&Facts { remembered: &remembered, outlook: &outlook, ..*self })
    }

    /// What is known of a field.
    pub fn get(&self, field: &Field) -> Fact {
        let fact = self.at_one_time(field);
        let Some(elsewhen) = self.elsewhen else { return fact };
        match (fact, Self::of(elsewhen).at_one_time(field)) {
            (fact, other) if fact == other => fact,
            (Fact::Count { min, max }, Fact::Count { min: least, max: most }) => {
                Fact::Count { min: min.min(least), max: max.max(most) }
            }
            _ => Fact::unknown(OPEN_TIME),
        }
    }

    fn at_one_time(&self, field: &Field) -> Fact {
        match field {
            Field::Pass(field) => self.of_pass(*field),
            Field::Metric(name, field) => match find_metric(&self.snapshot.hpa.spec, name) {
                Ok(index) => self.of_metric(index, *field),
                Err((message, _)) => Fact::Unknown(message),
            },
        }
    }

    fn of_pass(&self, field: PassField) -> Fact {
        let spec = &self.snapshot.hpa.spec;
        match field {
            PassField::Desired => self.replicas(|after, _| after),
            PassField::Delta => self.replicas(|after, current| after - current),
            PassField::Current => {
                self.decision.replicas_before().map_or_else(no_scale, Fact::count)
            }
            PassField::Min => Fact::count(spec.min_replicas.unwrap_or(1)),
            PassField::Max => Fact::count(spec.max_replicas),
            PassField::Recommended => match (self.unread(), self.decision.proposal) {
                (Some(unread), _) => unread,
                (None, Some(proposal)) => Fact::count(proposal),
                (None, None) if self.decision.metrics().next().is_some() => {
                    Fact::unknown("the metrics do not decide")
                }
                (None, None) => Fact::unknown(NO_METRICS),
            },
            PassField::Failed => self.over_metrics(|metrics| {
                let failed = |metric: &&MetricStep| matches!(metric.result, MetricResult::Error(_));
                metrics.iter().copied().filter(failed).count()
            }),
            PassField::Missing => self.over_metrics(|metrics| {
                let rows = metrics.iter().flat_map(|metric| &metric.pods);
                let missing = rows.filter(|row| row.group == Group::Missing).map(|row| row.pod);
                missing.collect::<BTreeSet<u32>>().len()
            }),
            PassField::Warnings => self.unless_open(|decision| {
                let events = decision.outcome.events.iter().flatten();
                let warnings = events.filter(|e| e.type_ == "Warning");
                Fact::count(warnings.count() as i64)
            }),
            PassField::Blocked => {
                self.unless_open(|decision| Fact::Flag(decision.block().is_some()))
            }
            PassField::Stabilized => self.changed(|step| match step {
                Step::Stabilize { desired, result, .. } => Some(result.cmp(desired)),
                _ => None,
            }),
            PassField::Limited => self.changed(|step| match step {
                Step::Limit { desired, result, .. } => Some(result.cmp(desired)),
                _ => None,
            }),
            PassField::Stale => self.staleness(),
        }
    }

    fn of_metric(&self, index: usize, field: MetricField) -> Fact {
        let Some(metric) = self.decision.metric(index) else {
            return Fact::unknown(NO_METRICS);
        };
        let proposal = match &metric.result {
            MetricResult::Proposal(proposal) => proposal,
            MetricResult::Error(error) => return Fact::Unknown(error.error.clone()),
            MetricResult::Unread(_) => return self.unread().unwrap_or_else(no_scale),
        };
        let current = &proposal.current;
        let of_nothing = proposal.total.is_some()
            && metric.target.average_value.is_some()
            && self.snapshot.scale.as_ref().is_ok_and(|scale| scale.status_replicas == 0);
        let value = match field {
            MetricField::Desired => Some(Fact::count(proposal.replicas)),
            MetricField::Utilization => current.average_utilization.map(Fact::count),
            MetricField::AverageValue if of_nothing => {
                return Fact::unknown("it is an average over no replicas");
            }
            MetricField::AverageValue => current.average_value.clone().map(Fact::Amount),
            MetricField::Value => current.value.clone().map(Fact::Amount),
        };
        value.unwrap_or_else(|| Fact::unknown("the controller does not compute it"))
    }

    fn over_metrics(&self, count: impl Fn(&[&MetricStep]) -> usize) -> Fact {
        let metrics: Vec<&MetricStep> = self.decision.metrics().collect();
        if metrics.is_empty() {
            return Fact::unknown(NO_METRICS);
        }
        self.unread().unwrap_or_else(|| Fact::count(count(&metrics) as i64))
    }

    /// Which metrics are not known here, where some are not: the controller may have read them.
    fn unread(&self) -> Option<Fact> {
        self.decision.outcome.lacking(&self.snapshot.hpa.spec).map(Fact::Unknown)
    }

    /// Something of the replicas after the pass and before. In a blocked pass they stay, but that is
    /// no answer to rely on: it says nothing about what follows once nothing blocks it.
    fn replicas(&self, of: impl Fn(i64, i64) -> i64) -> Fact {
        // What we cannot read may fail for the controller, too. Unless the other metrics scale up, that
        // blocks the pass.
        if self.decision.is_unread() {
            return self.unread().unwrap_or_else(no_scale);
        }
        if let Some(block) = self.decision.block() {
            return Fact::unknown(keeps(block));
        }
        if self.may_fail_to_write() {
            return Fact::unknown(OPEN_MEMORY);
        }
        match (self.outlook.range(self.decision), self.decision.replicas_before()) {
            (Some(Range { min, max }), Some(current)) => {
                let of = |after: i32| of(after.into(), current.into());
                Fact::Count { min: of(min), max: of(max) }
            }
            _ => no_scale(),
        }
    }

    /// What the decision says, unless it could be otherwise: where metrics were refused, and where
    /// the scale cannot be written and it is open whether the pass tries.
    fn unless_open(&self, of: impl Fn(&Decision) -> Fact) -> Fact {
        if let Some(unread) = self.unread() {
            return unread;
        }
        if self.may_fail_to_write() {
            return Fact::unknown(OPEN_MEMORY);
        }
        of(self.decision)
    }

    /// Whether the scale cannot be written, and it depends on the history whether the pass tries.
    fn may_fail_to_write(&self) -> bool {
        let normalizes = self.decision.trace.iter().any(|s| matches!(s, Step::Stabilize { .. }));
        let open = self.remembered.possible.is_some() && normalizes;
        open && self.snapshot.scale_update_error.is_some()
    }

    /// Whether a step changed its number, over everything that is unknown. Between two bounds at
    /// which it changes in different directions it may not change at all.
    fn changed(&self, of: impl Fn(&Step) -> Option<Ordering>) -> Fact {
        let Some(likely) = self.decision.trace.iter().find_map(&of) else {
            return match self.decision.path() {
                Some(Path::AboveMax | Path::BelowMin) => Fact::Flag(false),
                _ => self.unread().unwrap_or_else(|| Fact::unknown(UNDECIDED)),
            };
        };
        if let Some(unread) = self.unread() {
            return unread;
        }
        let extremes = &self.outlook.extremes;
        let open = self.remembered.possible.is_some() && extremes.is_empty();
        let mut others = extremes.iter().filter_map(|extreme| extreme.steps.iter().find_map(&of));
        if open || others.any(|other| other != likely) {
            return Fact::unknown(OPEN_MEMORY);
        }
        Fact::Flag(likely != Ordering::Equal)
    }

    /// Whether a sample is stale.
    fn staleness(&self) -> Fact {
        let mut timeless = None;
        let mut looked = false;
        for metric in self.decision.metrics() {
            looked = true;
            let samples: Vec<(&str, Timestamp, SignedDuration)> =
                match self.snapshot.metrics.get(metric.index) {
                    Some(MetricAnswer::PodMetrics) => {
                        let list = self.snapshot.pod_metrics.iter();
                        list.map(|m| (&*m.name, m.timestamp, m.window)).collect()
                    }
                    Some(MetricAnswer::Pods(values)) => {
                        values.iter().map(|v| (&*v.pod, v.timestamp, v.window)).collect()
                    }
                    _ => {
                        timeless.get_or_insert(metric);
                        continue;
                    }
                };
            // Only pods of the target that the metric was evaluated for.
            let pods: BTreeSet<&str> = metric
                .pods
                .iter()
                .filter(|row| row.value.is_some())
                .map(|row| &*self.snapshot.pods[row.pod as usize].name)
                .collect();
            if samples.iter().any(|(pod, time, window)| {
                pods.contains(pod) && self.snapshot.is_stale(*time, *window)
            }) {
                return Fact::Flag(true);
            }
            if !matches!(metric.result, MetricResult::Proposal(_)) {
                timeless.get_or_insert(metric);
            }
        }
        match timeless {
            _ if !looked => Fact::unknown(NO_METRICS),
            Some(metric) => {
                Fact::Unknown(format!("nothing says when {} was measured", metric.name))
            }
            None => Fact::Flag(false),
        }
    }
}

fn no_scale() -> Fact {
    Fact::unknown(NO_SCALE)
}

/// Why the replicas are not known.
fn keeps(block: Block) -> &'static str {
    match block {
        Block::NoScale => NO_SCALE,
        Block::AtZero => "the replicas stay only because scaling is disabled at 0",
        Block::Selector => "the replicas stay only because the target's selector is unusable",
        Block::Metrics => "the replicas stay only because metrics fail",
        Block::NotWritten => "the replicas stay only because the scale cannot be written",
    }
}
