//! The controller's memory between passes: recommendations and scale events. It can be stated, assumed for
//! a controller that has just started, or inferred from the API, with bounds that hold. Nothing is guessed
//! silently.

mod events;
mod ground;
mod holds;
pub mod infer;
mod known;
mod past_proposal;
mod recommendations;
mod recorded;
mod rhythm;
pub mod sampled;
mod scale_events;
pub mod sighting;
pub(crate) mod spans;
pub mod states;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::apimachinery::json::SecondsTime;
use crate::snapshot::Snapshot;
use crate::snapshot::basis::BasisView;
use crate::snapshot::input::Input;
pub use crate::snapshot::memory::Memory;
use crate::snapshot::memory::{Recommendation, ScaleEvent};
use crate::snapshot::past::Bounds;

/// The certainty of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// The memory is stated, list by list.
    Stated,
    /// The controller has not seen the HPA before.
    JustStarted,
    /// The memory is bounded by evidence in the API.
    Inferred,
    /// Nothing is known; the memory of a controller that has just started is used.
    Unknown,
}

/// The memory that a pass uses, and its certainty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The most likely memory.
    pub likely: Memory,
    /// The certainty of the memory.
    pub knowledge: Knowledge,
    /// The possible memories; `None` if the memory is known.
    pub possible: Option<Possible>,
    /// The grounds for the bounds, in words.
    pub grounds: Vec<BasisView>,
    /// The time until the pass that finds the memory.
    pub delay: Delay,
}

/// The time from a snapshot until the next pass, by which inferred memories are shifted: a pass that runs at the
/// snapshot's time finds them as old as they will be. Zero if the memory is stated for that time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delay {
    /// The least time.
    pub least: SignedDuration,
    /// The most likely time.
    pub likely: SignedDuration,
    /// The most time.
    pub most: SignedDuration,
}

/// All possible memories, reduced to what affects the next pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Possible {
    /// The highest recommendation that holds back scaling down.
    pub highest: Extreme,
    /// The lowest recommendation that holds back scaling up; only with `behavior`.
    pub lowest: Extreme,
    /// The scale changes that a rate limit may count, as alternative lists, one of which is right; `None` if
    /// they may be any changes. Added replicas are positive.
    pub changes: Option<Vec<Vec<ScaleEvent>>>,
    /// The possible memories of a controller that has restarted, and is held to the count that it found at the
    /// next pass.
    #[serde(skip)]
    pub later: Vec<Memory>,
    /// The lists with which a hold against scaling down ends soonest and last.
    #[serde(skip)]
    pub down: Ends,
    /// The same for scaling up.
    #[serde(skip)]
    pub up: Ends,
}

impl Possible {
    /// Whether none of them has a recommendation that counts.
    fn has_no_recommendation(&self) -> bool {
        self.highest.at_most == Some(0) && self.lowest.at_least == Some(i32::MAX)
    }

    /// Whether they differ for proposals within these bounds: not if no recommendation is beyond one, and the
    /// changes are known.
    fn is_open(&self, asked: Bounds) -> bool {
        let is_within = |most: i32| most <= asked.at_least;
        let holds_nothing = self.highest.at_most.is_some_and(is_within)
            && self
                .lowest
                .at_least
                .is_some_and(|least| asked.at_most <= least);
        let is_known = self.changes.as_ref().is_some_and(|lists| lists.len() == 1);
        !(holds_nothing && is_known && self.later.is_empty())
    }
}

/// Lists of recommendations that bound the time at which any possible list ends its hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    /// The list with which the hold ends soonest.
    pub soonest: Vec<Recommendation>,
    /// The list with which the hold ends last.
    pub last: Vec<Recommendation>,
}

/// Bounds of the highest or lowest recommendation that still counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Extreme {
    /// For the highest: `None` if there may be no recommendation at all. For the lowest: `None` if it is
    /// unbounded.
    pub at_least: Option<i32>,
    /// For the highest: `None` if it is unbounded. For the lowest: `None` if there may be no recommendation at
    /// all.
    pub at_most: Option<i32>,
}

impl Remembered {
    /// Returns the memory that the input states. If it states none, the controller has just started.
    pub fn from_stated(stated: &Memory) -> Self {
        let knowledge = if *stated == Memory::default() {
            Knowledge::JustStarted
        } else {
            Knowledge::Stated
        };
        Self {
            likely: stated.clone(),
            knowledge,
            possible: None,
            grounds: Vec::new(),
            delay: Delay::default(),
        }
    }

    /// Whether the bounds differ.
    pub fn is_open(&self) -> bool {
        self.is_open_to(Bounds::UNKNOWN)
    }

    /// Whether they differ for proposals within these bounds.
    pub fn is_open_to(&self, asked: Bounds) -> bool {
        let possible = self.possible.as_ref();
        possible.is_some_and(|possible| possible.is_open(asked))
    }

    /// Returns the same without any recommendation that counts; scale changes stay.
    #[must_use]
    pub fn without_recommendations(mut self) -> Self {
        self.likely = self.likely.without_recommendations();
        if let Some(possible) = &mut self.possible {
            possible.highest = Extreme {
                at_least: None,
                at_most: Some(0),
            };
            possible.lowest = Extreme {
                at_least: Some(i32::MAX),
                at_most: None,
            };
            possible.down = Ends::default();
            possible.up = Ends::default();
        }
        self
    }

    /// Returns the same if no pass seems to have run since a time: recommendations may have left their windows.
    #[must_use]
    fn without_passes_since(mut self, time: Timestamp) -> Self {
        for past in &mut self.likely.recommendations {
            past.time = past.time.min(time);
        }
        if let Some(possible) = &mut self.possible {
            possible.highest.at_least = None;
            possible.lowest.at_most = None;
            possible.down.soonest.clear();
            possible.up.soonest.clear();
        }
        self
    }

    /// Returns the memory that the input states, or otherwise the inferred one.
    pub fn of(input: &Input) -> Self {
        let Input {
            snapshot,
            stated_memory,
            evidence,
            ..
        } = input;
        let Snapshot {
            hpa,
            controller,
            now,
            ..
        } = snapshot;
        match (stated_memory, &snapshot.scale) {
            (Some(stated), _) => Self::from_stated(stated),
            (None, Ok(scale)) => {
                if let Some(past) = &evidence.past {
                    return sampled::remember(past, &hpa.spec, controller, *now);
                }
                if let Some(empty) = Self::emptied(input) {
                    return empty;
                }
                let inferred = infer::infer(input.as_observed(), snapshot, scale, evidence);
                match input.replicas_unseen_since() {
                    Some(since) => inferred.without_passes_since(since),
                    None => inferred,
                }
            }
            (None, Err(_)) => Self::unknown(snapshot.now),
        }
    }

    /// Returns the memory of a controller that has ended, or has made no pass yet, by its lease.
    fn emptied(input: &Input) -> Option<Self> {
        let (value, delay) = if let Some(lease) = input.lapsed_lease() {
            let renewed = SecondsTime(lease.renewed);
            let value = format!("empty: the leader last renewed its lease at {renewed}");
            (value, Delay::default())
        } else {
            let lease = input.lease_without_pass()?;
            let delay = infer::until_first_pass(&lease, input)?;
            let since = SecondsTime(lease.acquired);
            let value = format!("empty: the leader since {since} has made no pass yet");
            (value, delay)
        };
        let source = "the controller manager's lease, and no status or event since";
        Some(Self {
            grounds: vec![BasisView::new("history", value, source)],
            delay,
            ..Self::from_stated(&Memory::default())
        })
    }

    /// Whether the controller's memory is known, rather than assumed, to be empty.
    pub fn is_known_empty(&self) -> bool {
        self.knowledge == Knowledge::JustStarted && !self.grounds.is_empty()
    }

    /// Returns the unknown memory at a given time.
    pub fn unknown(now: Timestamp) -> Self {
        let [down, up] = [i32::MAX, 0].map(|replicas| Ends {
            soonest: Vec::new(),
            last: vec![Recommendation {
                replicas,
                time: now,
            }],
        });
        let possible = Possible {
            down,
            up,
            ..Possible::default()
        };
        Self {
            likely: Memory::default(),
            knowledge: Knowledge::Unknown,
            possible: Some(possible),
            grounds: Vec::new(),
            delay: Delay::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Ends, Extreme, Knowledge, Memory, Possible, Recommendation, Remembered};
    use crate::memory::states::tests::second;

    #[test]
    fn a_stated_memory_is_known() {
        let mut memory = Memory::default();
        let found = Remembered::from_stated(&memory);
        assert_eq!(
            (found.knowledge, found.is_open()),
            (Knowledge::JustStarted, false)
        );
        memory.recommendations = vec![Recommendation {
            replicas: 3,
            time: second(0),
        }];
        let found = Remembered::from_stated(&memory);
        assert_eq!(
            (found.knowledge, found.is_open()),
            (Knowledge::Stated, false)
        );
        assert_eq!(found.likely, memory);
    }

    /// Without windows no recommendation holds anything back, so only the changes may be open.
    #[test]
    fn a_memory_that_can_hold_nothing_is_known() {
        let (no_higher, no_lower) = ([None, Some(0)], [Some(i32::MAX), None]);
        let (none, two) = (Some(vec![vec![]]), Some(vec![vec![]; 2]));
        for (highest, lowest, changes, later, want) in [
            (no_higher, no_lower, &none, vec![], false),
            (no_higher, no_lower, &two, vec![], true),
            (no_higher, no_lower, &None, vec![], true),
            (no_higher, no_lower, &none, vec![Memory::default()], true),
            ([None, Some(3)], no_lower, &none, vec![], true),
            (no_higher, [Some(3), None], &none, vec![], true),
        ] {
            let [highest, lowest] =
                [highest, lowest].map(|[at_least, at_most]| Extreme { at_least, at_most });
            let possible = Possible {
                highest,
                lowest,
                changes: changes.clone(),
                later,
                ..Possible::default()
            };
            let remembered = Remembered {
                possible: Some(possible.clone()),
                ..Remembered::unknown(second(0))
            };
            assert_eq!(remembered.is_open(), want, "{possible:?}");
        }
        // Neither does one that every proposal reaches.
        let [highest, lowest] = [[None, Some(3)], [Some(7), None]]
            .map(|[at_least, at_most]| Extreme { at_least, at_most });
        let possible = Possible {
            highest,
            lowest,
            changes: none,
            ..Possible::default()
        };
        for (at_least, at_most, want) in [(3, 7, false), (2, 7, true), (3, 8, true)] {
            assert_eq!(possible.is_open(Bounds { at_least, at_most }), want);
        }
    }

    /// Any count may have been recommended just now, in either direction.
    #[test]
    fn an_unknown_memory_may_hold_anything() {
        let found = Remembered::unknown(second(0));
        assert!(found.is_open());
        let possible = found.possible.unwrap();
        let ends = |replicas| Ends {
            soonest: Vec::new(),
            last: vec![Recommendation {
                replicas,
                time: second(0),
            }],
        };
        assert_eq!((possible.down, possible.up), (ends(i32::MAX), ends(0)));
        assert_eq!(possible.changes, None);
    }
}
