//! The uncertainty of a decision, and its consequences: the pass at each bound of the unknowns, and the
//! passes after it. It runs the engine's own normalization; nothing upstream corresponds to it.

mod ahead;
mod bounds;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

pub use ahead::longest_wait;

use crate::apimachinery::json::time;
use crate::engine;
use crate::engine::decision::{Decision, Step, UnreadMetrics};
use crate::memory::{Memory, Remembered};
use crate::rules::Rules;
use crate::snapshot::past::{Bounds, Past};
use crate::snapshot::{Snapshot, UnreadCause};

/// The uncertainty of a decision, and the passes after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outlook {
    /// The pass at each bound of the unknowns; empty if everything is known.
    pub extremes: Vec<AtBound>,
    /// The counts that follow, by time.
    pub upcoming: Vec<Upcoming>,
    /// The range that the samples give, if the record of the replicas that a past pass left refutes it.
    pub refuted: Option<Range>,
}

impl Outlook {
    /// Determines the uncertainty of a decision on this snapshot, and the passes after it.
    pub fn new(snapshot: &Snapshot, remembered: &Remembered, decision: &Decision) -> Self {
        Self {
            extremes: at_bounds(snapshot, remembered, decision),
            upcoming: ahead::ahead(snapshot, remembered, decision),
            refuted: None,
        }
    }

    /// Returns the time of the first later pass that may change the replicas that this one certainly leaves; `None` if
    /// these are uncertain.
    pub(crate) fn earliest_change(&self, decision: &Decision) -> Option<Timestamp> {
        let after = decision.replicas_after()?;
        let is_open = !self.range(decision)?.is_only(after);
        let mut later = self.upcoming.iter().filter(|_| !is_open);
        Some(later.find(|it| !it.range.is_only(after))?.time)
    }

    /// Adds the bounds of the uncertainty in the samples of a past pass, and the record after it.
    pub fn add_past(
        &mut self,
        snapshot: &Snapshot,
        remembered: &Remembered,
        decision: &Decision,
        past: &Past,
    ) {
        self.extremes.extend(at_samples(snapshot, remembered, past));
        let (Some(answered), Some(outcome)) = (self.range(decision), past.outcome) else {
            return;
        };
        // The likeliest answer may be one that the record decided, whatever the samples lead to.
        let replicas = self.extremes.iter().map(|extreme| extreme.replicas);
        let sampled = replicas
            .clone()
            .min()
            .zip(replicas.max())
            .filter(|_| past.decided);
        let range = sampled.map_or(answered, |(min, max)| Range { min, max });
        let is_refuted = range.max < outcome.at_least || outcome.at_most < range.min;
        // An answer that the record may contradict is not certain.
        if is_refuted || range.min == range.max {
            self.refuted = is_refuted.then_some(range);
            let recorded = [outcome.at_least, outcome.at_most];
            self.extremes.extend(recorded.map(|replicas| AtBound {
                replicas,
                steps: Vec::new(),
            }));
        }
    }

    /// Whether there is no answer here: metrics that are unknown decide, and their possible values
    /// lead to different replicas.
    pub fn is_unanswered(&self, decision: &Decision) -> bool {
        decision.is_unread()
            && self
                .range(decision)
                .is_some_and(|range| range.min != range.max)
    }

    /// Returns the replicas after the pass, over all unknowns; `None` if its scale could not be read.
    pub fn range(&self, decision: &Decision) -> Option<Range> {
        let likely = decision.replicas_after()?;
        let possible = self.extremes.iter().map(|extreme| extreme.replicas);
        Some(Range::around(likely, possible))
    }
}

/// The steps from the proposal to the replicas, at a bound of the unknowns or of the record.
#[derive(Debug, Clone, PartialEq)]
pub struct AtBound {
    /// The replicas after the pass.
    pub replicas: i32,
    /// Stabilization and limits, as in the trace of a decision, or the path of a pass that does not read the
    /// metrics; none if only the replicas are known.
    pub steps: Vec<Step>,
}

/// The replicas after the pass, over everything that the controller may remember, and may have read but
/// is unread here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The minimum.
    pub min: i32,
    /// The maximum.
    pub max: i32,
}

impl Range {
    /// Returns the range of one count.
    pub(crate) fn exactly(replicas: i32) -> Self {
        Self {
            min: replicas,
            max: replicas,
        }
    }

    /// Returns the range of the likely and all other possible counts.
    fn around(likely: i32, possible: impl Iterator<Item = i32>) -> Self {
        possible
            .map(Self::exactly)
            .fold(Self::exactly(likely), Self::hull)
    }

    /// Whether a count is possible.
    pub(crate) fn contains(self, replicas: i32) -> bool {
        (self.min..=self.max).contains(&replicas)
    }

    /// Whether no other count is possible.
    pub(crate) fn is_only(self, replicas: i32) -> bool {
        [self.min, self.max] == [replicas; 2]
    }

    /// Returns the range of both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// The replicas from a later pass on, if the metrics' proposals stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Upcoming {
    /// The time of the pass.
    #[serde(serialize_with = "time::serialize")]
    pub time: Timestamp,
    /// The most likely count.
    pub replicas: i32,
    /// The possible counts, over everything that the controller may remember, and may have read but is unread here.
    pub range: Range,
}

/// Returns the replicas after the pass, over all unknowns, as in [`Outlook`] but without the later passes;
/// `None` if its scale could not be read.
pub fn range(snapshot: &Snapshot, remembered: &Remembered, decision: &Decision) -> Option<Range> {
    let extremes = at_bounds(snapshot, remembered, decision);
    Outlook {
        extremes,
        ..Outlook::default()
    }
    .range(decision)
}

/// Returns the pass at each bound of the unknowns: the memory, and metrics that are unread here but that the
/// controller may have read. Empty if everything is known, or the memory is ignored. `decision` comes from
/// the same snapshot with any memory: the metrics do not depend on it, so they are not evaluated again.
fn at_bounds(snapshot: &Snapshot, remembered: &Remembered, decision: &Decision) -> Vec<AtBound> {
    if snapshot.scale_update_error.is_some() || decision.unwritten().is_some() {
        return Vec::new();
    }
    at_bounds_if_written(snapshot, remembered, decision)
}

/// Whether the scale cannot be written, and it is unknown whether the pass tries to.
pub(crate) fn may_fail_to_write(
    snapshot: &Snapshot,
    remembered: &Remembered,
    decision: &Decision,
) -> bool {
    let (Some(current), Some(_)) = (decision.replicas_before(), &snapshot.scale_update_error)
    else {
        return false;
    };
    let to = decision.unwritten().map_or(current, |(to, _)| to);
    let extremes = at_bounds_if_written(snapshot, remembered, decision);
    let replicas = extremes.iter().map(|extreme| extreme.replicas);
    let range = Range::around(to, replicas);
    range.min != range.max && range.contains(current)
}

/// Returns the pass at each bound of the unknowns, as if its scale could be written.
fn at_bounds_if_written(
    snapshot: &Snapshot,
    remembered: &Remembered,
    decision: &Decision,
) -> Vec<AtBound> {
    let Ok(scale) = &snapshot.scale else {
        return Vec::new();
    };
    let current = scale.spec_replicas;
    let proposals = match bounds::proposals(decision, current) {
        Some(proposals) => proposals,
        None if remembered.possible.is_none() => return Vec::new(),
        None => Vec::from_iter(decision.proposal),
    };
    normalized(snapshot, remembered, current, proposals)
}

/// Returns the memories that bound the result of a pass; none if the memory is known, or the pass ends before it is
/// used.
pub fn memories(snapshot: &Snapshot, remembered: &Remembered, decision: &Decision) -> Vec<Memory> {
    let (Ok(scale), Some(proposal), Some(possible)) =
        (&snapshot.scale, decision.proposal, &remembered.possible)
    else {
        return Vec::new();
    };
    let rules = Rules::of(&snapshot.controller);
    let (spec, desired) = (&snapshot.hpa.spec, proposal.max(0));
    bounds::memories(
        spec,
        scale.spec_replicas,
        desired,
        snapshot.now,
        possible,
        &rules,
    )
}

/// Returns the least and the most that the metrics may ask for in a pass over `current` replicas; `None` if
/// it asks for nothing.
pub fn proposals(decision: &Decision, current: i32) -> Option<Bounds> {
    let open = bounds::proposals(decision, current);
    let mut all = open
        .into_iter()
        .flatten()
        .chain(decision.proposal)
        .map(|it| it.max(0));
    let first = all.next()?;
    Some(all.fold(Bounds::exactly(first), Bounds::with))
}

/// Describes the metrics that are unknown here and the reasons, as a clause; `None` if all are known.
pub(crate) fn lacking(unread: &[UnreadMetrics]) -> Option<String> {
    let clauses = unread.iter().map(|UnreadMetrics { why, metrics }| {
        let labels = metrics.join(", ");
        match why {
            UnreadCause::Refused { .. } => format!("you are not allowed to read {labels}"),
            UnreadCause::PodsRefused { .. } => {
                format!("you are not allowed to read the pods for {labels}")
            }
            UnreadCause::Unanswered { message } => {
                format!("reading {labels} failed ({message})")
            }
            UnreadCause::Missing { documents } => {
                format!(
                    "the {} has no {} for {labels}",
                    documents.container(),
                    documents.kind()
                )
            }
        }
    });
    (!unread.is_empty()).then(|| Vec::from_iter(clauses).join(", and "))
}

/// Returns the pass at the bounds of the uncertainty in the samples of its past.
fn at_samples(snapshot: &Snapshot, remembered: &Remembered, past: &Past) -> Vec<AtBound> {
    if snapshot.scale.is_err() {
        return Vec::new();
    }
    let rules = Rules::of(&snapshot.controller);
    let mut extremes = Vec::new();
    for current in BTreeSet::from([past.replicas.at_least, past.replicas.at_most]) {
        let Some(proposal) = past.proposal else {
            extremes.push(AtBound {
                replicas: engine::without_proposal(rules, &snapshot.hpa, current),
                steps: Vec::new(),
            });
            continue;
        };
        let proposals = || vec![proposal.at_least, proposal.at_most];
        extremes.extend(normalized(snapshot, remembered, current, proposals()));
        // Nothing records whether the controller itself scaled to 0.
        if current == 0 {
            let zeroed = engine::zeroed(snapshot);
            extremes.extend(normalized(&zeroed, remembered, current, proposals()));
        }
    }
    extremes
}

/// Returns the results of the proposals of a pass over `current` replicas, at each bound of the memory.
fn normalized(
    snapshot: &Snapshot,
    remembered: &Remembered,
    current: i32,
    proposals: Vec<i32>,
) -> Vec<AtBound> {
    let rules = Rules::of(&snapshot.controller);
    let mut extremes = Vec::new();
    for proposal in proposals {
        let desired = proposal.max(0);
        let memories = match &remembered.possible {
            Some(possible) => {
                let spec = &snapshot.hpa.spec;
                bounds::memories(spec, current, desired, snapshot.now, possible, &rules)
            }
            None => vec![engine::seeded(&remembered.likely, current, snapshot.now)],
        };
        for memory in memories {
            let (replicas, steps) = engine::normalize(snapshot, rules, memory, current, desired);
            extremes.push(AtBound { replicas, steps });
        }
    }
    extremes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Outlook, Past, Range, ahead};
    use crate::engine;
    use crate::memory::{Memory, Remembered};
    use crate::version::FeatureGate;

    #[test]
    fn only_what_is_unknown_has_bounds() {
        // The metric asks for 5.
        let snapshot = ahead::tests::snapshot(10, 5, &json!({}));
        let known = Remembered::from_stated(&Memory::default());
        let decision = engine::reconcile(&snapshot, &known.likely);
        assert_eq!(Outlook::new(&snapshot, &known, &decision).extremes, []);
        // Without a recommendation it is followed at once; one of any count leads to twice the current one.
        let unknown = Outlook::new(&snapshot, &Remembered::unknown(snapshot.now), &decision);
        assert_eq!(unknown.range(&decision), Some(Range { min: 5, max: 20 }));
    }

    /// Replicas beyond the bounds are corrected, and at 0 the pass does nothing, whatever the metrics ask for; unless
    /// the controller itself may have scaled to 0.
    #[test]
    fn a_past_pass_takes_the_path_of_its_replicas() {
        // Four more at once, or twice as many.
        let at_once = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
        let asked = Some(50);
        for (bounds, replicas, current, asked, gate, want) in [
            ([1, 100], [1, 3], 3, asked, false, (5, 7)),
            ([1, 100], [0, 3], 3, asked, false, (0, 7)),
            ([0, 100], [0, 3], 3, asked, false, (0, 7)),
            ([1, 100], [100, 110], 100, asked, false, (50, 100)),
            ([10, 100], [1, 10], 10, asked, false, (10, 20)),
            ([0, 100], [0, 0], 0, asked, false, (0, 0)),
            ([0, 100], [0, 0], 0, asked, true, (0, 4)),
            ([5, 100], [0, 0], 0, asked, true, (0, 5)),
            ([5, 100], [0, 3], 3, None, true, (0, 5)),
        ] {
            let spec =
                json!({"minReplicas": bounds[0], "maxReplicas": bounds[1], "behavior": at_once});
            let mut snapshot = ahead::tests::snapshot(current, 50, &spec);
            snapshot.controller.gates[FeatureGate::HPAScaleToZero] = gate;
            let past: Past = serde_json::from_value(json!({
                "source": "http://p",
                "queries": [],
                "read": snapshot.now,
                "replicas": {"atLeast": replicas[0], "atMost": replicas[1]},
                "proposal": asked.map(|asked| json!({"atLeast": asked, "atMost": asked})),
                "passes": [],
                "rescales": [],
            }))
            .unwrap();
            let known = Remembered::from_stated(&Memory::default());
            let decision = engine::reconcile(&snapshot, &known.likely);
            let mut outlook = Outlook::new(&snapshot, &known, &decision);
            outlook.add_past(&snapshot, &known, &decision, &past);
            let (min, max) = want;
            let found = outlook.range(&decision);
            assert_eq!(found, Some(Range { min, max }), "{bounds:?} {replicas:?}");
        }
    }
}
