//! The totals of a run's passes: how many replicas for how long, how long there were too few, and how often
//! they changed. Passes are added one by one, so that a search need not keep them.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{Course, Player, Point};
use crate::apimachinery::json;
use crate::calendar::Calendar;
use crate::error::Error;
use crate::snapshot::Snapshot;
use crate::snapshot::past::Bounds;

/// A rescale in the opposite direction counts as a reversal within this time of the previous one.
const REVERSAL: SignedDuration = SignedDuration::from_mins(10);

/// The totals of the passes of a run while the load lasts. Each pass counts for a sync period.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    start: Timestamp,
    /// The sync period.
    pub period: SignedDuration,
    /// Passes beyond this number only show where the run ends.
    limit: usize,
    max: i32,
    /// The place of the next pass.
    next: usize,
    /// The number of passes.
    pub passes: usize,
    /// The sum of the replicas after each pass.
    pub(crate) replica_passes: i128,
    /// The number of passes that the metrics decided.
    pub(crate) decided_passes: usize,
    /// The lowest number of replicas.
    pub lowest: Extremum,
    /// The highest number of replicas.
    pub highest: Extremum,
    /// The bounds of what the metrics proposed, including after the load; `None` if they never proposed anything.
    pub(crate) asked: Option<Bounds>,
    /// The passes that ended with `maxReplicas` or more.
    pub(crate) passes_at_max: Tally,
    /// The number of passes that proposed more than `maxReplicas`.
    above_max: usize,
    /// The passes that proposed more replicas than there were ready pods.
    short: PassStretches,
    /// The total number of ready pods that were missing in those passes.
    pub(crate) short_passes: i128,
    /// The number of passes at 0 with scaling disabled, other than where the recorded target had 0 replicas.
    off_passes: usize,
    /// The passes of `short`, and passes without an answer or with scaling disabled at 0, which may have been short of
    /// pods.
    possibly_short: PassStretches,
    /// The changes of the replicas.
    pub rescales: Tally,
    /// The changes in the opposite direction of the previous one, within ten minutes.
    pub reversals: Tally,
    last_rescale: Option<(usize, bool)>,
    /// The passes without an answer by all metrics.
    pub(crate) unanswered_passes: Tally,
    /// Whether the last pass, under the load or after it, had an answer.
    pub(crate) ends_answered: bool,
    /// The replicas at the end, once nothing is left to wait for.
    pub last: i32,
    /// Whether nothing is left that could change the replicas while the load stays as it is at the end; false if the
    /// last pass has no answer, because what follows is then unknown.
    pub is_settled: bool,
}

/// The lowest or the highest number of replicas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Extremum {
    /// The number.
    pub replicas: i32,
    /// The time when the number was first reached.
    #[serde(serialize_with = "json::time::serialize")]
    pub time: Timestamp,
}

/// The number of times that something happened, and the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The number of times.
    pub count: usize,
    /// The first time; `None` if it never happened.
    pub first: Option<Timestamp>,
}

impl Tally {
    fn add(&mut self, time: Timestamp) {
        self.count += 1;
        self.first.get_or_insert(time);
    }
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// The start of the stretch.
    #[serde(serialize_with = "json::time::serialize")]
    pub start: Timestamp,
    /// The length of the stretch.
    #[serde(serialize_with = "json::seconds")]
    pub length: SignedDuration,
}

/// Passes in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Passes {
    first: usize,
    count: usize,
}

/// The passes for which a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PassStretches {
    count: usize,
    /// The stretch that has not ended.
    current: Option<Passes>,
    longest: Option<Passes>,
}

impl PassStretches {
    fn add(&mut self, place: usize, is_so: bool) {
        if !is_so {
            self.current = None;
            return;
        }
        self.count += 1;
        let first = self.current.map_or(place, |stretch| stretch.first);
        let stretch = Passes {
            first,
            count: place + 1 - first,
        };
        self.current = Some(stretch);
        if self
            .longest
            .is_none_or(|longest| longest.count < stretch.count)
        {
            self.longest = Some(stretch);
        }
    }
}

impl Totals {
    /// Plays a run to its end.
    ///
    /// # Errors
    ///
    /// The run needs more pods than can be played.
    pub(crate) fn of(mut course: Course<'_>) -> Result<Self, Error> {
        let mut totals = Self::new(course.player, &course.world.snapshot);
        loop {
            let point = course.point();
            totals.add(course.before, point);
            if !course.go_on()? {
                totals.end(course.is_at_rest, point);
                return Ok(totals);
            }
        }
    }

    /// Adds the end of the run: at rest, all further passes are like the last one.
    pub(super) fn end(&mut self, is_at_rest: bool, last: Point) {
        self.is_settled = is_at_rest && self.ends_answered;
        while is_at_rest && self.next < self.limit {
            self.add(last.replicas, last);
        }
    }

    /// Returns the totals of a run that has not begun yet and starts from this snapshot.
    pub(crate) fn new(player: &Player, snapshot: &Snapshot) -> Self {
        let period = snapshot.controller.sync_period;
        let start = snapshot.now.plus(player.delay);
        Self {
            start,
            period,
            limit: player.passes_of_load(period),
            max: snapshot.hpa.spec.max_replicas,
            lowest: Extremum {
                replicas: i32::MAX,
                time: start,
            },
            highest: Extremum {
                replicas: i32::MIN,
                time: start,
            },
            ends_answered: true,
            ..Self::default()
        }
    }

    /// Adds the next pass, with the replicas before it.
    pub(crate) fn add(&mut self, before: i32, pass: Point) {
        let Point {
            replicas,
            proposal,
            ready,
            is_answered,
            is_off,
        } = pass;
        self.last = replicas;
        self.ends_answered = is_answered;
        // The controller remembers 0 where less is proposed.
        if let Some(asked) = proposal.map(|it| it.max(0)) {
            let so_far = self.asked.unwrap_or(Bounds::exactly(asked));
            self.asked = Some(so_far.with(asked));
        }
        let place = self.next;
        if place == self.limit {
            return;
        }
        let time = self.time(place);
        self.next += 1;
        self.passes += 1;
        self.replica_passes += i128::from(replicas);
        self.decided_passes += usize::from(proposal.is_some());
        if replicas < self.lowest.replicas {
            self.lowest = Extremum { replicas, time };
        }
        if replicas > self.highest.replicas {
            self.highest = Extremum { replicas, time };
        }
        if replicas >= self.max {
            self.passes_at_max.add(time);
        }
        self.above_max += usize::from(proposal.is_some_and(|proposal| proposal > self.max));
        if !is_answered {
            self.unanswered_passes.add(time);
        }
        self.off_passes += usize::from(is_off);
        let missing = i128::from(proposal.unwrap_or(0)) - ready as i128;
        let is_short = missing > 0;
        self.short_passes += missing.max(0);
        self.short.add(place, is_short);
        self.possibly_short
            .add(place, is_short || is_off || !is_answered);
        if before != replicas {
            self.rescales.add(time);
            let is_up = replicas > before;
            let reverses = self.last_rescale.is_some_and(|(last, was_up)| {
                was_up != is_up && self.length(place - last) <= REVERSAL
            });
            if reverses {
                self.reversals.add(time);
            }
            self.last_rescale = Some((place, is_up));
        }
    }

    /// Skips the next pass, for which nothing is known.
    pub(crate) fn skip(&mut self) {
        self.short.current = None;
        self.possibly_short.current = None;
        self.next = self.limit.min(self.next + 1);
    }

    fn time(&self, place: usize) -> Timestamp {
        self.start.plus(self.length(place))
    }

    /// The time that passes take.
    pub(crate) fn length(&self, passes: usize) -> SignedDuration {
        self.period
            .saturating_mul(i32::try_from(passes).unwrap_or(i32::MAX))
    }

    /// The total time of the passes.
    pub fn span(&self) -> SignedDuration {
        self.length(self.passes)
    }

    /// Returns the replica-hours.
    pub fn replica_hours(&self) -> f64 {
        self.replica_passes as f64 * self.period.as_secs_f64() / 3600.0
    }

    /// The average replicas over time.
    pub fn mean(&self) -> f64 {
        if self.passes == 0 {
            0.0
        } else {
            self.replica_passes as f64 / self.passes as f64
        }
    }

    /// The time with `maxReplicas` or more.
    pub fn at_max(&self) -> SignedDuration {
        self.length(self.passes_at_max.count)
    }

    /// The time in which more than `maxReplicas` were proposed.
    pub fn above_max(&self) -> SignedDuration {
        self.length(self.above_max)
    }

    /// The time at 0 with scaling disabled, in which the target may have been short of pods.
    pub fn off(&self) -> SignedDuration {
        self.length(self.off_passes)
    }

    /// The time in which more replicas were proposed than there were ready pods.
    pub fn short(&self) -> SignedDuration {
        self.length(self.short.count)
    }

    /// Returns the proposed pods that were not ready, in pod-hours.
    pub fn shortfall(&self) -> f64 {
        self.short_passes as f64 * self.period.as_secs_f64() / 3600.0
    }

    /// Returns the longest stretch in which more replicas were proposed than ready; of equally long ones, the first.
    pub fn longest_short(&self) -> Option<Stretch> {
        self.longest(&self.short)
    }

    /// The longest that [`Totals::short`] may be, because a pass that proposes nothing may have been short of pods.
    pub(crate) fn short_at_most(&self) -> SignedDuration {
        self.length(self.possibly_short.count)
    }

    /// Returns the longest possible stretch in which more replicas were proposed than ready.
    pub(crate) fn longest_short_at_most(&self) -> Option<Stretch> {
        self.longest(&self.possibly_short)
    }

    fn longest(&self, of: &PassStretches) -> Option<Stretch> {
        let Passes { first, count } = of.longest?;
        Some(Stretch {
            start: self.time(first),
            length: self.length(count),
        })
    }

    /// Whether metrics were missing in every pass, and no pass was decided by metrics.
    pub fn is_unanswered(&self) -> bool {
        self.unanswered_passes.count == self.passes && self.decided_passes == 0
    }

    /// The time of the passes without an answer because metrics were missing.
    pub fn unanswered(&self) -> SignedDuration {
        self.length(self.unanswered_passes.count)
    }
}
