//! The course of the passes that agrees best with the record. One pass after the other is run over the
//! likeliest samples, with the controller's own history; if the record shows other replicas, the
//! recommendations were different, at the cost of a misfit. Nothing upstream corresponds to it.

use jiff::Timestamp;

use super::moment::Moments;
use super::view::View;
use crate::calendar::Calendar;
use crate::engine;
use crate::memory::sampled::LITTLE;
use crate::memory::{Memory, infer};
use crate::rules::Rules;
use crate::snapshot::Snapshot;
use crate::snapshot::memory::{Recommendation, ScaleEvent};
use crate::snapshot::past::{Bounds, PastPass};

/// The number of courses that are followed at the same time.
const MOST: usize = 32;
/// The misfits of a pass that other recommendations within their bounds explain.
const OPEN: u32 = 1;
/// The misfits of a pass that nothing within the bounds explains.
const REFUTED: u32 = 2;

/// A possible course of the passes.
#[derive(Debug, Clone)]
pub(super) struct ReplayedCourse {
    current: i32,
    misfits: u32,
    /// The recommendations, the oldest first.
    pub(super) recommended: Vec<Recommendation>,
    /// The rescales, the oldest first; added replicas are positive.
    pub(super) rescales: Vec<ScaleEvent>,
    /// The replicas that pass 0 found.
    pub(super) found: i32,
    /// The replicas that it left.
    pub(super) left: i32,
}

impl ReplayedCourse {
    /// Returns a course that begins with these replicas.
    fn of(current: i32) -> Self {
        Self {
            current,
            misfits: 0,
            recommended: Vec::new(),
            rescales: Vec::new(),
            found: current,
            left: current,
        }
    }
}

/// The spec and the settings by which passes are run.
#[derive(Debug)]
pub(super) struct Replayer {
    bare: Snapshot,
    rules: Rules,
}

impl Replayer {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let mut bare = snapshot.clone();
        (bare.pods, bare.pod_metrics) = (Vec::new(), Vec::new());
        let rules = Rules::of(&bare.controller);
        Self { bare, rules }
    }

    /// Takes the limits that the spec had at a pass.
    pub(super) fn take_limits(&mut self, moments: &Moments<'_>, time: Timestamp, view: View) {
        self.bare.hpa.spec = moments.restored(time, view).spec;
    }

    /// Returns the replicas after a pass that asks for `desired`.
    pub(super) fn replicas(
        &mut self,
        now: Timestamp,
        memory: &Memory,
        current: i32,
        desired: i32,
    ) -> i32 {
        self.bare.now = now.plus(LITTLE);
        let memory = engine::seeded(memory, current, now);
        engine::normalize(&self.bare, self.rules, memory, current, desired).0
    }

    /// Returns the replicas after a pass that asks for nothing.
    pub(super) fn unasked(&self, current: i32) -> i32 {
        engine::without_proposal(self.rules, &self.bare.hpa, current)
    }

    /// Returns the course with the fewest misfits; of several, the one that follows the likeliest samples longest.
    /// `passes` are in order.
    pub(super) fn best(&mut self, moments: &Moments<'_>, passes: &[PastPass]) -> ReplayedCourse {
        let course = &moments.course;
        let begin = passes.first().map_or(0, |own| course.place(own.time));
        let first = course.found_by(begin);
        let mut paths = Vec::from([first.at_least, first.at_most].map(ReplayedCourse::of));
        paths.dedup_by_key(|path| path.current);
        for (at, pass) in passes.iter().enumerate() {
            let place = course.place(pass.time);
            let (found, left) = (course.found_by(place), course.found_by(place + 1));
            self.take_limits(moments, pass.time, View::LIKELY);
            let mut next: Vec<ReplayedCourse> = Vec::new();
            for mut path in paths {
                // Someone else may have changed the replicas.
                path.current = path.current.clamp(found.at_least, found.at_most);
                for mut course in self.after(&path, passes, at, left) {
                    if place <= 0 {
                        (course.found, course.left) = (path.current, course.current);
                    }
                    next.push(course);
                }
            }
            next.sort_by_key(|path| path.misfits);
            next.truncate(MOST);
            paths = next;
        }
        // No course leads to as many replicas as a number can hold.
        let best = paths.into_iter().next();
        best.unwrap_or_else(|| ReplayedCourse::of(first.at_least))
    }

    /// Returns the possible continuations of a course after a pass, the likeliest first.
    fn after(
        &mut self,
        path: &ReplayedCourse,
        passes: &[PastPass],
        at: usize,
        left: Bounds,
    ) -> Vec<ReplayedCourse> {
        let PastPass { time, likely, .. } = passes[at];
        let current = path.current;
        let mut asked = path.clone();
        asked
            .recommended
            .extend(likely.map(|replicas| Recommendation { replicas, time }));
        let outcome = self.run(&asked, time, likely);
        let mut counts = vec![outcome];
        for other in [current, left.at_least, left.at_most] {
            if !counts.contains(&other) && other < i32::MAX {
                counts.push(other);
            }
        }
        counts.retain(|count| left.contains(*count));
        let mut courses = Vec::new();
        for count in counts {
            let mut next = asked.clone();
            if count != outcome {
                next.misfits += self.explain(&mut next, passes, at, outcome, count);
            }
            if count != current {
                let replicas = count.saturating_sub(current);
                next.rescales.push(ScaleEvent {
                    replicas,
                    time,
                    outdated: false,
                });
            }
            next.current = count;
            courses.push(next);
        }
        courses
    }

    /// Runs a pass, whose own recommendation is the last one.
    fn run(&mut self, path: &ReplayedCourse, time: Timestamp, likely: Option<i32>) -> i32 {
        let mut recommendations = path.recommended.clone();
        let Some(own) = recommendations.pop().filter(|_| likely.is_some()) else {
            return self.unasked(path.current);
        };
        let memory = Memory::new(recommendations, &path.rescales);
        self.replicas(time, &memory, path.current, own.replicas)
    }

    /// Changes the recommendations so that a pass leaves a count, if possible; returns the misfits.
    fn explain(
        &mut self,
        path: &mut ReplayedCourse,
        passes: &[PastPass],
        at: usize,
        outcome: i32,
        count: i32,
    ) -> u32 {
        let PastPass {
            time,
            recommended,
            likely,
            ..
        } = passes[at];
        let mut other = path.clone();
        if likely.is_none() {
            other.recommended.push(Recommendation {
                replicas: count.clamp(recommended.at_least, recommended.at_most),
                time,
            });
        }
        if count == path.current {
            // One recommendation is enough to hold the replicas.
            let distance = |own: &&mut Recommendation| own.replicas.abs_diff(count);
            let can = |own: &&mut Recommendation| bounds_of(passes, own).contains(count);
            if let Some(own) = other
                .recommended
                .iter_mut()
                .filter(can)
                .min_by_key(distance)
            {
                own.replicas = count;
            }
        } else {
            let since = time.minus(infer::window(&self.bare.hpa, &self.bare.controller));
            for entry in other.recommended.iter_mut().filter(|own| own.time > since) {
                let Bounds { at_least, at_most } = bounds_of(passes, entry);
                entry.replicas = if count < outcome {
                    entry.replicas.min(count).max(at_least)
                } else {
                    entry.replicas.max(count).min(at_most)
                };
            }
        }
        if self.run(&other, time, Some(count)) == count {
            *path = other;
            OPEN
        } else {
            REFUTED
        }
    }
}

/// Returns the bounds of a pass's recommendation. The passes are in the order of their times; of equal ones, the first
/// counts.
fn bounds_of(passes: &[PastPass], own: &Recommendation) -> Bounds {
    let place = passes.partition_point(|pass| pass.time < own.time);
    passes
        .get(place)
        .filter(|pass| pass.time == own.time)
        .map_or(Bounds::exactly(own.replicas), |pass| pass.recommended)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::build;
    use crate::saved::testing::input;

    /// Replicas beyond a bound are corrected even if nothing is asked for.
    #[test]
    fn a_pass_that_asks_for_nothing_corrects_the_replicas() {
        let spec = json!({"minReplicas": 2, "maxReplicas": 5});
        let items = [build::hpa(&spec), build::scale(3), build::state(&json!({}))];
        let replayer = Replayer::new(&input(&items).unwrap().snapshot);
        for (current, left) in [(0, 0), (1, 2), (2, 2), (5, 5), (6, 5)] {
            assert_eq!(replayer.unasked(current), left, "{current}");
        }
    }

    /// The first pass of all leaves a recommendation at the time of the pass that follows at once.
    #[test]
    fn of_passes_at_the_same_time_the_first_counts() {
        let pass = |seconds, at_least, at_most| PastPass {
            time: Timestamp::from_second(seconds).unwrap(),
            recommended: Bounds { at_least, at_most },
            likely: None,
            found: None,
        };
        let passes = [pass(10, 2, 2), pass(10, 1, 9), pass(25, 3, 4)];
        for (seconds, want) in [(10, (2, 2)), (25, (3, 4)), (40, (7, 7))] {
            let own = Recommendation {
                replicas: 7,
                time: Timestamp::from_second(seconds).unwrap(),
            };
            let Bounds { at_least, at_most } = bounds_of(&passes, &own);
            assert_eq!((at_least, at_most), want, "{seconds}");
        }
    }
}
