//! The passes after this one, if the metrics keep asking for the same: when holds and rate limits
//! end, and what happens then. It runs the same normalizations as the pass itself, one sync period
//! after the other. Nothing upstream corresponds to it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::arith::add;
use super::behavior::{self, Wanted};
use super::decision::{Decision, Upcoming};
use super::rules::Rules;
use super::seeded;
use crate::memory::{Ends, Memory, Possible, Remembered};
use crate::snapshot::Snapshot;
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::HpaSpec;
use crate::snapshot::stated::{Recommendation, ScaleEvent};

/// As many passes as are looked at; with the usual flags a few hundred cover every window.
const PASSES: i32 = 10_000;
/// As many changes as are looked at: small steps to a far goal could go on for long.
const STEPS: usize = 32;

/// The counts that follow on that of this pass while the metrics ask for the same, each with the
/// bounds of when. Empty where the metrics do not decide.
pub(super) fn ahead(
    snapshot: &Snapshot,
    remembered: &Remembered,
    decision: &Decision,
) -> Vec<Upcoming> {
    let (Ok(scale), Some(proposal), None) =
        (&snapshot.scale, decision.proposal, &snapshot.scale_update_error)
    else {
        return Vec::new();
    };
    let controller = &snapshot.controller;
    let rules = Rules::of(&controller.version, controller.gates);
    let run = Run { snapshot, current: scale.spec_replicas, desired: proposal.max(0), rules };
    let Some(possible) = &remembered.possible else {
        // The memory is known, and so is what follows.
        let steps = run.steps(seeded(&remembered.likely, run.current, snapshot.now));
        let later = steps.into_iter().filter(|(_, time)| *time > snapshot.now);
        let exact = |(replicas, time)| Upcoming { replicas, earliest: time, latest: Some(time) };
        return later.map(exact).collect();
    };
    let runs: Vec<Vec<(i32, Timestamp)>> =
        run.memories(possible).into_iter().map(|m| run.steps(m)).collect();
    // What one past leads to step by step, another jumps over. A count that comes back is another
    // step.
    let all: BTreeSet<i32> = runs.iter().flatten().map(|(replicas, _)| *replicas).collect();
    let mut counts: BTreeMap<(i32, usize), Vec<Timestamp>> = BTreeMap::new();
    let mut stops = BTreeSet::new();
    for steps in &runs {
        let mut passed: BTreeMap<i32, usize> = BTreeMap::new();
        let mut before = run.current;
        for (after, time) in steps {
            let (low, high) = (before.min(*after), before.max(*after));
            for replicas in all.range(low..=high).filter(|replicas| **replicas != before) {
                let times = passed.entry(*replicas).or_default();
                counts.entry((*replicas, *times)).or_default().push(*time);
                *times += 1;
            }
            stops.insert((*after, passed[after] - 1));
            before = *after;
        }
    }
    let known = possible.changes.is_some();
    // Where rate limits may count anything, the first step may lead as far as any.
    let left = runs.iter().flatten().map(|(_, time)| *time).min();
    let first = left.filter(|_| !known);
    let left = left.map(|left| add(left, controller.sync_period));
    let mut upcoming: Vec<Upcoming> = Vec::with_capacity(counts.len());
    let way = run.current.min(run.desired)..=run.current.max(run.desired);
    for (replicas, before) in stops {
        let times = &counts[&(replicas, before)];
        // What some pasts lead to and others do not has no latest time; and pasts in between may come
        // back from it sooner. Beyond what is wanted, an old recommendation may leave before a pass.
        let everywhere = known && times.len() == runs.len();
        // The count that there is may not be left, and be come back to at once.
        let is_back = replicas == run.current;
        let sure = everywhere && before == 0 && way.contains(&replicas) && !is_back;
        let latest = times.iter().max().copied().filter(|_| sure);
        let times = if everywhere { times } else { &counts[&(replicas, 0)] };
        let back = left.filter(|_| is_back);
        let earliest = first.or_else(|| times.iter().copied().chain(back).min());
        upcoming.extend(earliest.map(|earliest| Upcoming { replicas, earliest, latest }));
    }
    let decided = decision.replicas_after();
    upcoming.retain(|step| step.earliest > snapshot.now || Some(step.replicas) != decided);
    upcoming.sort_by_key(|step| (step.earliest, step.latest.is_none(), step.latest));
    // What is sure to come says all of what may come then.
    let mut told = BTreeSet::new();
    upcoming.retain(|step| told.insert((step.replicas, step.earliest)));
    upcoming
}

struct Run<'s> {
    snapshot: &'s Snapshot,
    current: i32,
    desired: i32,
    rules: Rules,
}

impl Run<'_> {
    /// Memories between which everything happens.
    fn memories(&self, possible: &Possible) -> Vec<Memory> {
        // Without `behavior` only what holds against scaling down counts, whichever way it goes.
        let down = self.desired < self.current || self.snapshot.hpa.spec.behavior.is_none();
        let Ends { soonest, last } = if down { &possible.down } else { &possible.up };
        let none = [Vec::new()];
        let changes: &[Vec<ScaleEvent>] = possible.changes.as_deref().unwrap_or(&none);
        let mut memories = Vec::new();
        for recommendations in [soonest, last] {
            for changes in changes {
                // An entry older than every window keeps the list from being seeded.
                let forgotten = Recommendation { replicas: 0, time: Timestamp::MIN };
                let (scale_up_events, scale_down_events) = crate::memory::split(Some(changes));
                memories.push(Memory {
                    recommendations: [forgotten]
                        .into_iter()
                        .chain(recommendations.clone())
                        .collect(),
                    scale_up_events,
                    scale_down_events,
                });
            }
        }
        memories
    }

    /// The counts that this pass and the later ones lead to, with the times of their passes.
    fn steps(&self, mut memory: Memory) -> Vec<(i32, Timestamp)> {
        let Snapshot { hpa, controller, now, .. } = self.snapshot;
        let period = controller.sync_period.max(SignedDuration::from_secs(1));
        let longest = longest_wait(&hpa.spec, controller);
        let (min, max) = (hpa.spec.min_replicas.unwrap_or(1), hpa.spec.max_replicas);
        let mut current = self.current;
        let mut steps = Vec::new();
        let mut until = add(*now, longest + period);
        for pass in 0..PASSES {
            let time = add(*now, period.saturating_mul(pass));
            if time > until || current == 0 || steps.len() == STEPS {
                break;
            }
            let wanted = Wanted {
                current,
                desired: self.desired,
                min,
                max,
                now: time,
                downscale_stabilization: controller.downscale_stabilization,
            };
            let replicas = if current > max {
                max
            } else if current < min {
                min
            } else {
                match &hpa.spec.behavior {
                    None => behavior::without_behavior(wanted, &mut memory).replicas,
                    Some(behavior) => {
                        behavior::with_behavior(wanted, behavior, &self.rules, &mut memory).replicas
                    }
                }
            };
            // What is wanted anyway holds nothing, and need not pile up.
            memory.recommendations.retain(|past| past.replicas != self.desired);
            if replicas != current {
                if let Some(rules) = &hpa.spec.behavior {
                    behavior::store_scale_event(rules, &mut memory, current, replicas, time);
                }
                current = replicas;
                steps.push((replicas, time));
                until = add(time, longest + period);
            }
        }
        steps
    }
}

/// How long a pass may count at most: the longest stabilization window, or period of a policy.
pub fn longest_wait(spec: &HpaSpec, controller: &Controller) -> SignedDuration {
    let rules = spec.behavior.iter().flat_map(|b| b.scale_up.iter().chain(&b.scale_down));
    let seconds = rules.flat_map(|rules| {
        let periods = rules.policies.iter().flatten().map(|policy| policy.period_seconds);
        periods.chain(rules.stabilization_window_seconds)
    });
    let longest = SignedDuration::from_secs(seconds.max().unwrap_or(0).into());
    longest.max(controller.downscale_stabilization)
}
