//! The passes after this one, if the metrics' proposals stay the same: when holds and rate limits end, and
//! the changes that follow. It runs the same normalizations as the pass itself, one sync period after
//! another. Nothing upstream corresponds to it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::calendar::Calendar;
use crate::engine;
use crate::engine::behavior;
use crate::engine::behavior::BehaviorInput;
use crate::engine::decision::Decision;
use crate::engine::seeded;
use crate::memory::spans::longest;
use crate::memory::{Ends, Memory, Possible, Remembered};
use crate::outlook::{Range, Upcoming, bounds, proposals};
use crate::rules::Rules;
use crate::snapshot::Snapshot;
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::HpaSpec;

/// The maximum number of passes; with the usual flags, a few hundred cover every window.
const PASSES: i32 = 10_000;
/// The maximum number of changes: small steps toward a distant goal could take long.
const STEPS: usize = 32;

/// Returns the most likely course after this pass while the metrics' proposals stay the same, with the bounds
/// of every other course that the memory and the metrics that are unread allow: a row for each later time at which
/// one of them changes. Empty if the metrics do not decide.
pub(crate) fn ahead(
    snapshot: &Snapshot,
    remembered: &Remembered,
    decision: &Decision,
) -> Vec<Upcoming> {
    let (Ok(scale), Some(proposal), None) = (
        &snapshot.scale,
        decision.proposal,
        &snapshot.scale_update_error,
    ) else {
        return Vec::new();
    };
    if decision.unwritten().is_some() {
        return Vec::new();
    }
    let (current, desired) = (scale.spec_replicas, proposal.max(0));
    let likely = Courses::of(snapshot, current, desired, remembered);
    let asked = proposals(decision, current).map(|it| [it.at_least, it.at_most]);
    let others: Vec<Courses<'_>> = asked
        .into_iter()
        .flatten()
        .filter(|other| *other != desired)
        .map(|other| Courses::of(snapshot, current, other, remembered))
        .collect();
    let all = others.iter().chain([&likely]);
    let times: BTreeSet<Timestamp> = all.flat_map(Courses::times).collect();
    let mut last = at(snapshot.now, &likely, &others);
    last.replicas = decision.replicas_after().unwrap_or(last.replicas);
    let mut upcoming = Vec::new();
    for time in times.into_iter().filter(|time| *time > snapshot.now) {
        let next = at(time, &likely, &others);
        if (next.replicas, next.range) != (last.replicas, last.range) {
            upcoming.push(next);
            last = next;
        }
    }
    upcoming
}

/// A count at which some course of the replicas stops for a while.
struct Stop {
    replicas: i32,
    /// Neither this count nor anything beyond is reached earlier.
    earliest: Timestamp,
    /// This count or something beyond is reached by then; `None` if it may never be reached.
    latest: Option<Timestamp>,
}

/// Returns the replicas at a time on the most likely course, and the range of all.
fn at(time: Timestamp, likely: &Courses<'_>, others: &[Courses<'_>]) -> Upcoming {
    let own = likely.at(time);
    let ranges = others.iter().map(|it| it.at(time).range);
    // A single course ends with its rows, but one of several may go on while others have rows.
    let several = others.iter().chain([likely]).filter(|_| !others.is_empty());
    let ends = several.filter_map(|it| it.end_beyond(time));
    Upcoming {
        range: ranges.chain(ends).fold(own.range, Range::hull),
        ..own
    }
}

/// The courses while the metrics ask for the same.
struct Courses<'s> {
    run: Lookahead<'s>,
    /// The likely one.
    likely: Vec<(i32, Timestamp)>,
    /// The counts at which others stop; `None` if the memory is known and leads to one course.
    stops: Option<Vec<Stop>>,
}

impl<'s> Courses<'s> {
    fn of(snapshot: &'s Snapshot, current: i32, desired: i32, remembered: &Remembered) -> Self {
        let run = Lookahead {
            snapshot,
            current,
            desired,
            rules: Rules::of(&snapshot.controller),
        };
        let mut likely = run.steps(seeded(&remembered.likely, run.current, run.snapshot.now));
        let possible = remembered.possible.as_ref();
        let mut stops = possible.map(|possible| run.stops(possible));
        // They begin with this pass as if it ran now; when it runs, so much later are the others.
        let delay = &remembered.delay;
        for (_, time) in &mut likely {
            run.put_off(time, delay.likely);
        }
        for stop in stops.iter_mut().flatten() {
            run.put_off(&mut stop.earliest, delay.least);
            if let Some(latest) = &mut stop.latest {
                run.put_off(latest, delay.most);
            }
        }
        Self { run, likely, stops }
    }

    /// Returns the times at which one of them may change.
    fn times(&self) -> BTreeSet<Timestamp> {
        let bounds = self.stops.iter().flatten();
        let bounds = bounds.flat_map(|stop| [Some(stop.earliest), stop.latest]);
        let likely = self.likely.iter().map(|(_, time)| *time);
        likely.chain(bounds.flatten()).collect()
    }

    /// Returns the end that the likely one may have reached by a time, if it has more steps than the maximum; stops
    /// include it already.
    fn end_beyond(&self, time: Timestamp) -> Option<Range> {
        let (_, cut) = self.likely.get(STEPS - 1)?;
        (self.stops.is_none() && *cut <= time).then(|| Range::exactly(self.run.goal()))
    }

    /// Returns the replicas at a time on the likely one, and the range in which others may stop; without stops, the
    /// memory is known and leads to one course.
    fn at(&self, time: Timestamp) -> Upcoming {
        let Lookahead {
            current, desired, ..
        } = self.run;
        let likely = self.likely.iter().take_while(|(_, from)| *from <= time);
        let replicas = likely.last().map_or(current, |(replicas, _)| *replicas);
        let start = if self.stops.is_none() {
            replicas
        } else {
            current
        };
        let all = self.stops.iter().flatten();
        let open = all.clone().filter(|stop| stop.earliest <= time);
        let mut range = Range::around(start, open.map(|stop| stop.replicas));
        // A count that every course is sure to have reached has nothing left before it.
        let left = all
            .filter(|stop| stop.latest.is_some_and(|latest| latest <= time))
            .map(|stop| stop.replicas);
        match (left.clone().min(), left.max()) {
            (Some(furthest), _) if desired < current => range.max = range.max.min(furthest),
            (_, Some(furthest)) if desired > current => range.min = range.min.max(furthest),
            _ => {}
        }
        Upcoming {
            time,
            replicas,
            range: range.hull(Range::exactly(replicas)),
        }
    }
}

struct Lookahead<'s> {
    snapshot: &'s Snapshot,
    current: i32,
    desired: i32,
    rules: Rules,
}

impl Lookahead<'_> {
    /// Puts off the time of a later pass by the delay of this one.
    fn put_off(&self, time: &mut Timestamp, delay: SignedDuration) {
        if *time > self.snapshot.now {
            *time = time.plus(delay);
        }
    }

    /// Returns the count at which a course ends.
    fn goal(&self) -> i32 {
        let spec = &self.snapshot.hpa.spec;
        self.desired.min(spec.max_replicas).max(spec.min())
    }

    /// Returns the counts at which the courses that a memory allows stop, with the bounds of the times.
    fn stops(&self, possible: &Possible) -> Vec<Stop> {
        let runs: Vec<Vec<(i32, Timestamp)>> = self
            .memories(possible)
            .into_iter()
            .map(|memory| self.steps(memory))
            .collect();
        // One history may skip a count that another reaches step by step. A count that is reached again is another
        // step.
        let reached: BTreeSet<i32> = runs
            .iter()
            .flatten()
            .map(|(replicas, _)| *replicas)
            .collect();
        let mut counts: BTreeMap<(i32, usize), Vec<Timestamp>> = BTreeMap::new();
        let mut stops = BTreeSet::new();
        for steps in &runs {
            let mut passed: BTreeMap<i32, usize> = BTreeMap::new();
            let mut before = self.current;
            for (after, time) in steps {
                let (low, high) = (before.min(*after), before.max(*after));
                for replicas in reached
                    .range(low..=high)
                    .filter(|replicas| **replicas != before)
                {
                    let times = passed.entry(*replicas).or_default();
                    counts.entry((*replicas, *times)).or_default().push(*time);
                    *times += 1;
                }
                stops.insert((*after, passed[after] - 1));
                before = *after;
            }
        }
        let known = possible.changes.is_some();
        // If the changes that rate limits count are unknown, the first step may be as large as any later one.
        let left = runs.iter().flatten().map(|(_, time)| *time).min();
        let first = left.filter(|_| !known);
        let after_left = left.map(|left| left.plus(self.snapshot.controller.sync_period));
        let mut all: Vec<Stop> = Vec::with_capacity(stops.len() + 1);
        let way = self.current.min(self.desired)..=self.current.max(self.desired);
        for (replicas, before) in stops {
            let times = &counts[&(replicas, before)];
            // A count that only some histories lead to has no latest time; and histories in between may return from it
            // sooner. Beyond the desired count, an old recommendation may expire before a pass.
            let everywhere = known && times.len() == runs.len();
            // The current count may be left and returned to at once.
            let is_back = replicas == self.current;
            let sure = everywhere && before == 0 && way.contains(&replicas) && !is_back;
            let latest = times.iter().max().copied().filter(|_| sure);
            let times = if everywhere {
                times
            } else {
                &counts[&(replicas, 0)]
            };
            let back = after_left.filter(|_| is_back);
            let earliest = first.or_else(|| times.iter().copied().chain(back).min());
            all.extend(earliest.map(|earliest| Stop {
                replicas,
                earliest,
                latest,
            }));
        }
        // A course with more steps than the maximum may go to its end.
        let long = runs.iter().filter(|steps| steps.len() == STEPS);
        let cut = long
            .filter_map(|steps| steps.last())
            .map(|(_, time)| *time)
            .min()
            .map(|cut| first.unwrap_or(cut));
        all.extend(cut.map(|earliest| Stop {
            replicas: self.goal(),
            earliest,
            latest: None,
        }));
        all
    }

    /// Returns memories that bound everything that can happen.
    fn memories(&self, possible: &Possible) -> Vec<Memory> {
        // Without `behavior`, only the hold against scaling down counts, in either direction.
        let down = self.desired < self.current || self.snapshot.hpa.spec.behavior.is_none();
        let Ends { soonest, last } = if down { &possible.down } else { &possible.up };
        let Snapshot { hpa, now, .. } = self.snapshot;
        let counted = bounds::changes(&hpa.spec, self.current, *now, possible, &self.rules);
        let mut memories = Vec::new();
        for recommendations in [soonest, last] {
            memories.extend(counted.iter().map(|changes| Memory {
                recommendations: recommendations.clone(),
                ..changes.clone()
            }));
        }
        memories.extend(possible.later.iter().cloned());
        memories
    }

    /// Returns the counts that this pass and the later ones lead to, with the times of their passes.
    fn steps(&self, mut memory: Memory) -> Vec<(i32, Timestamp)> {
        let Snapshot {
            hpa,
            controller,
            now,
            ..
        } = self.snapshot;
        let period = controller.sync_period.max(SignedDuration::from_secs(1));
        let longest = longest_wait(&hpa.spec, controller);
        let (min, max) = (hpa.spec.min(), hpa.spec.max_replicas);
        let mut current = self.current;
        let mut steps = Vec::new();
        // Whoever states a history may have another clock.
        let changes = memory
            .scale_up_events
            .iter()
            .chain(&memory.scale_down_events);
        let times = changes.map(|event| event.time);
        let newest = times
            .chain(memory.recommendations.iter().map(|past| past.time))
            .max();
        let mut until = newest
            .map_or(*now, |newest| newest.max(*now))
            .plus(longest.plus(period));
        for pass in 0..PASSES {
            let time = now.plus(period.saturating_mul(pass));
            if time > until || steps.len() == STEPS {
                break;
            }
            let wanted = BehaviorInput {
                current,
                desired: self.desired,
                min,
                max,
                now: time,
                downscale_stabilization: controller.downscale_stabilization,
            };
            let replicas = engine::without_metrics(self.rules, hpa, current).unwrap_or_else(|| {
                let own = hpa.spec.behavior.as_ref();
                let normalized = behavior::normalize(wanted, own, &self.rules, &mut memory);
                let limited = normalized.limit.result;
                if engine::is_raised(self.rules, hpa, current, limited) {
                    min
                } else {
                    limited
                }
            });
            // A recommendation of the desired count holds back nothing, and need not accumulate.
            memory
                .recommendations
                .retain(|past| past.replicas != self.desired);
            if replicas != current {
                if let Some(rules) = &hpa.spec.behavior {
                    behavior::store_scale_event(rules, &mut memory, current, replicas, time);
                }
                current = replicas;
                steps.push((replicas, time));
                until = until.max(time.plus(longest.plus(period)));
            }
        }
        steps
    }
}

/// Returns the longest time for which a pass may count: the longest stabilization window, or period of a
/// policy.
pub fn longest_wait(spec: &HpaSpec, controller: &Controller) -> SignedDuration {
    longest(spec, controller).max(controller.downscale_stabilization)
}

#[cfg(test)]
pub(super) mod tests;
