//! The point where a candidate and the replay part. Until then, both have had the same passes; there, each
//! gives the reason for its change.

use jiff::{SignedDuration, Timestamp};

use crate::calendar::Calendar;
use crate::error::Error;
use crate::whatif::timeline::{Course, PassChange, Point, Stretch, Timeline};

/// The first pass after which two runs have different replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct Parting {
    /// The time of the pass.
    pub time: Timestamp,
    /// The replay's change of the replicas; it may have kept them.
    pub replay: PassChange,
    /// The candidate's change of the replicas.
    pub candidate: PassChange,
}

/// The stretches of time over which two runs have different replicas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stretches {
    /// All stretches, in order.
    pub all: Vec<Stretch>,
}

impl Parting {
    /// Plays two runs side by side until they part. `None` if they do not.
    ///
    /// # Errors
    ///
    /// A run needs more pods than can be played.
    pub(super) fn find(
        mut replay: Course<'_>,
        mut candidate: Course<'_>,
    ) -> Result<Option<Self>, Error> {
        loop {
            let (one, other) = (replay.change(), candidate.change());
            if one.to != other.to {
                // A run that has settled stays at its last pass.
                let time = one.time.max(other.time);
                return Ok(Some(Self {
                    time,
                    replay: one,
                    candidate: other,
                }));
            }
            let goes_on = [replay.go_on()?, candidate.go_on()?];
            if goes_on == [false; 2] {
                return Ok(None);
            }
        }
    }
}

impl Stretches {
    /// Returns the stretches of two runs over the same load.
    pub(super) fn of(replay: &Timeline, candidate: &Timeline, passes: usize) -> Self {
        let differs = |(one, other): (&Point, &Point)| one.replicas != other.replicas;
        let pairs = replay
            .passes
            .iter()
            .zip(&candidate.passes)
            .take(passes)
            .map(differs);
        let period = replay.totals.period;
        let mut all: Vec<Stretch> = Vec::new();
        let mut start = replay.start;
        let mut is_open = false;
        for differs in pairs {
            match all.last_mut().filter(|_| is_open && differs) {
                Some(stretch) => stretch.length = stretch.length.saturating_add(period),
                None if differs => all.push(Stretch {
                    start,
                    length: period,
                }),
                None => {}
            }
            is_open = differs;
            start = start.plus(period);
        }
        Self { all }
    }

    /// Their total length.
    pub fn total(&self) -> SignedDuration {
        let add = |sum: SignedDuration, own: &Stretch| sum.saturating_add(own.length);
        self.all.iter().fold(SignedDuration::ZERO, add)
    }
}
