//! The live controller's response to a change at its next sync: the pass after the applied one, run by the
//! same engine on the target as it will be then, with the controller's own history, which does not contain
//! the change.

use std::collections::HashSet;

use serde::Serialize;

use super::gate::Leader;
use super::{Change, hpa_after};
use crate::args::{How, Overrides};
use crate::calendar::Calendar;
use crate::engine;
use crate::error::Error;
use crate::memory::Remembered;
use crate::outlook::{Range, range};
use crate::pass::Pass;
use crate::snapshot::input::Input;
use crate::snapshot::memory::Memory;
use crate::snapshot::pod::{ConditionStatus, Phase, ReadyCondition};
use crate::snapshot::{MetricAnswer, Snapshot};
use crate::whatif::overrides::Assumptions;

/// The pass after the applied one, and its consequence for the change.
#[derive(Debug)]
pub struct NextPass {
    /// The consequence for the change.
    pub verdict: Verdict,
    /// The replicas after it, over all unknowns.
    pub replicas: Range,
    /// The controller manager that runs it.
    pub leader: Leader,
    /// The pass.
    pub pass: Pass,
}

/// The fate of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It stays.
    Keeps,
    /// The controller continues in the same direction.
    GoesOn,
    /// The controller reverts it, at least in part.
    Undoes,
    /// Unknown data decides.
    Open,
}

/// The maximum number of invented pods.
const MOST: i32 = 10_000;

/// Runs the pass after a change, with the controller's history without the change. New pods are pending and
/// use nothing yet; the others continue as observed, and so do the metrics that do not come from pods. The pods whose
/// names sort last are removed.
///
/// # Errors
///
/// The pods of the target are unknown, or more than allowed.
pub fn next(
    pass: &Pass,
    remembered: &Remembered,
    change: Change,
    leader: Leader,
    how: &How,
) -> Result<NextPass, Error> {
    if !(0..=MOST).contains(&change.to) {
        return Err(Error::failed(format!(
            "the pass cannot be run for {} replicas",
            change.to
        )));
    }
    // A controller that takes over has no history.
    let remembered = match leader {
        Leader::Lapsed(_) => Remembered::from_stated(&Memory::default()),
        Leader::Holds(_) | Leader::Seen(_) | Leader::Unknown => remembered.clone(),
    };
    let mut then = scaled(pass, change.to)?;
    then.snapshot.hpa = hpa_after(pass, how.write_status);
    let next = Pass::with(then, remembered);
    let replicas = whenever(&next).unwrap_or(Range::exactly(change.to));
    Ok(NextPass {
        verdict: judge(change, replicas),
        replicas,
        leader,
        pass: next,
    })
}

/// Returns the input of a pass with this many replicas.
fn scaled(pass: &Pass, to: i32) -> Result<Input, Error> {
    let Pass {
        input, decision, ..
    } = pass;
    let scaled = Overrides {
        replicas: Some(to.to_string()),
        ..Overrides::default()
    };
    let (mut then, _) = Assumptions::read(&scaled)?.apply(input.clone(), decision)?;
    let there: HashSet<&str> = input.snapshot.pods.iter().map(|pod| &*pod.name).collect();
    let is_new = |name: &str| !there.contains(name);
    let Snapshot {
        pods,
        pod_metrics,
        metrics,
        now,
        ..
    } = &mut then.snapshot;
    for pod in pods.iter_mut().filter(|pod| is_new(&pod.name)) {
        pod.phase = Phase::Pending;
        pod.start_time = Some(*now);
        let never = ReadyCondition {
            status: ConditionStatus::False,
            last_transition_time: *now,
        };
        pod.ready = Some(never);
    }
    pod_metrics.retain(|item| !is_new(&item.name));
    for answer in metrics {
        if let MetricAnswer::Pods(values) = answer {
            values.retain(|value| !is_new(&value.pod));
        }
    }
    Ok(then)
}

/// Returns the replicas after the next pass, whenever it runs: unless the history says more, that is within a period
/// from now, and what holds the replicas may end before it. `None` if the scale is unknown.
fn whenever(pass: &Pass) -> Option<Range> {
    let Pass {
        input,
        remembered,
        decision,
        outlook,
        ..
    } = pass;
    let soonest = outlook.range(decision)?;
    // An inferred history is as old as the pass will find it.
    if !remembered.delay.most.is_zero() {
        return Some(soonest);
    }
    let mut snapshot = input.snapshot.clone();
    snapshot.now = snapshot.now.plus(snapshot.controller.sync_period);
    let decision = engine::reconcile(&snapshot, &remembered.likely);
    let latest = range(&snapshot, remembered, &decision)?;
    Some(soonest.hull(latest))
}

/// Returns the consequence of a range of counts for a change.
fn judge(Change { from, to }: Change, Range { min, max }: Range) -> Verdict {
    let (forth, back) = if to > from {
        (min > to, max < to)
    } else {
        (max < to, min > to)
    };
    match (min == to && max == to, forth, back) {
        (true, ..) => Verdict::Keeps,
        (_, true, _) => Verdict::GoesOn,
        (.., true) => Verdict::Undoes,
        _ => Verdict::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Range, Verdict, judge};

    #[test]
    fn a_count_is_kept_gone_beyond_or_taken_back() {
        for (from, to, min, max, want) in [
            (2, 4, 4, 4, Verdict::Keeps),
            (2, 4, 8, 8, Verdict::GoesOn),
            (2, 4, 5, 8, Verdict::GoesOn),
            (2, 4, 3, 3, Verdict::Undoes),
            (2, 4, 1, 2, Verdict::Undoes),
            (2, 4, 2, 4, Verdict::Open),
            (2, 4, 4, 8, Verdict::Open),
            (9, 3, 3, 3, Verdict::Keeps),
            (9, 3, 1, 2, Verdict::GoesOn),
            (9, 3, 9, 9, Verdict::Undoes),
            (9, 3, 3, 9, Verdict::Open),
        ] {
            let verdict = judge(Change { from, to }, Range { min, max });
            assert_eq!(verdict, want, "{from} -> {to}, then {min} to {max}");
        }
    }
}
