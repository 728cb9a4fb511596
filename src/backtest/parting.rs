//! Where a candidate and the replay part. Until they first part, both have had the same passes; there, each
//! says why it did what it did.

use jiff::{SignedDuration, Timestamp};

use crate::calendar::Calendar;
use crate::error::Error;
use crate::whatif::timeline::{Course, PassChange, Point, Stretch, Timeline};

/// The first pass after which two runs have different replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct Parting {
    /// When.
    pub time: Timestamp,
    /// How the replay changed the replicas; it may have kept them.
    pub replay: PassChange,
    /// How the candidate changed them.
    pub candidate: PassChange,
}

/// The stretches of time over which two runs have different replicas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stretches {
    /// In order.
    pub all: Vec<Stretch>,
}

impl Parting {
    /// Plays two runs side by side until they part. `None` if they do not.
    ///
    /// # Errors
    ///
    /// It comes to more pods than can be played.
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
        let mut all: Vec<Stretch> = Vec::new();
        let mut start = replay.start;
        let mut is_open = false;
        for differs in pairs {
            match all.last_mut().filter(|_| is_open && differs) {
                Some(stretch) => stretch.length = stretch.length.saturating_add(replay.period),
                None if differs => all.push(Stretch {
                    start,
                    length: replay.period,
                }),
                None => {}
            }
            is_open = differs;
            start = start.plus(replay.period);
        }
        Self { all }
    }

    /// Their total length.
    pub fn total(&self) -> SignedDuration {
        let add = |sum: SignedDuration, own: &Stretch| sum.saturating_add(own.length);
        self.all.iter().fold(SignedDuration::ZERO, add)
    }
}
