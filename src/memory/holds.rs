//! The bounds of the recommendations that hold back the next pass. Old ones expire one by one, and each pass adds
//! one, so the bounds that a status gives of its pass's list also bound the next list: from above by the
//! highest entry then, from below by the entries that cannot have expired yet.

use jiff::SignedDuration;

use super::known::Known;
use super::recommendations::HeldRecommendation;
use super::sighting::{self, Sighting};
use super::{Ends, Extreme};
use crate::calendar::Calendar;
use crate::snapshot::evidence::SeenPass;
use crate::snapshot::memory::Recommendation;
use crate::snapshot::past::Bounds;

/// The direction that recommendations hold back: down, where the highest counts, or up, where the
/// lowest does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Down,
    Up,
}

impl Side {
    /// Returns the one of two values that is about this side.
    fn of<T>(self, down: T, up: T) -> T {
        match self {
            Self::Down => down,
            Self::Up => up,
        }
    }

    fn window(self, known: &Known<'_>) -> SignedDuration {
        self.of(known.down_window, known.up_window)
    }

    /// Returns the replicas that hold back most.
    fn most(self) -> i32 {
        self.of(i32::MAX, 0)
    }

    /// Returns the replicas that hold back nothing.
    fn least(self) -> i32 {
        self.of(0, i32::MAX)
    }

    /// Returns the replicas that hold back more.
    fn more(self, one: i32, other: i32) -> i32 {
        self.of(one.max(other), one.min(other))
    }

    /// Returns the replicas that hold back less.
    fn less(self, one: i32, other: i32) -> i32 {
        self.of(one.min(other), one.max(other))
    }

    /// Returns the bound that holds back more.
    fn end_of(self, bounds: Bounds) -> i32 {
        self.of(bounds.at_most, bounds.at_least)
    }

    /// Returns the bound of all recommendations that the next pass uses, according to the last status. It
    /// covers only the window of the status's own pass: a longer one finds older recommendations again.
    fn furthest(self, known: &Known<'_>, sighting: &Sighting) -> Option<i32> {
        let (up, down) = known.windows_before;
        let furthest = self.of(sighting.at_most, sighting.at_least);
        furthest.filter(|_| self.window(known) <= self.of(down, up))
    }

    /// Returns the recommendations that are certainly inside the window at the next pass, and that no pass so
    /// far can have overwritten.
    fn still<'h>(
        self,
        known: &Known<'_>,
        held: &'h [HeldRecommendation],
    ) -> impl Iterator<Item = &'h HeldRecommendation> {
        let oldest = known
            .latest_pass()
            .minus(self.window(known).min(known.retention()));
        // The recommendation was made later than `earliest`, by less than a second.
        held.iter().filter(move |held| held.earliest >= oldest)
    }
}

/// The age by which a recommendation is certainly within a window, beyond the readings of the pass's clock.
const INSIDE: SignedDuration = SignedDuration::from_millis(1);

/// Returns the lists with which a hold ends soonest and last, for scaling down and for scaling up. The
/// times are shifted by the time from now to the next pass.
pub(super) fn ends(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    held: &[HeldRecommendation],
) -> (Ends, Ends) {
    [Side::Down, Side::Up]
        .map(|side| Ends {
            soonest: soonest(known, held, side),
            last: last(known, sighting, side),
        })
        .into()
}

fn soonest(known: &Known<'_>, held: &[HeldRecommendation], side: Side) -> Vec<Recommendation> {
    let restarted = known.may_have_restarted_since_last_pass();
    let (least, _) = found_since_last(known, side);
    let later = known.latest_pass().duration_since(known.now);
    // The window of the pass at the latest time still contains what is as old as the window, which was made later than
    // `earliest`. Passes after it come a little later than a sync period.
    let contained = known.now.minus(side.window(known)).plus(INSIDE);
    side.still(known, held)
        .map(|held| {
            let replicas = side.less(*held.replicas.start(), *held.replicas.end());
            Recommendation {
                replicas: if restarted {
                    side.less(replicas, least)
                } else {
                    replicas
                },
                time: held.earliest.minus(later).max(contained),
            }
        })
        .collect()
}

fn last(known: &Known<'_>, sighting: Option<&Sighting>, side: Side) -> Vec<Recommendation> {
    // The recommendations in the list of the last pass were made before it, and its own may have been made
    // again since.
    let furthest = sighting
        .and_then(|seen| side.furthest(known, seen))
        .unwrap_or(side.most());
    // A window no longer than the time since the last pass contains none of its effects.
    let window = side.window(known);
    let is_over = window <= known.least_gap() && sighting.is_some();
    // Each replica count has its age.
    let mut list: Vec<(i32, SignedDuration)> = match told(known, sighting, window) {
        _ if is_over => Vec::new(),
        Some(told) => told
            .iter()
            .map(|seen| {
                let replicas = side.less(side.end_of(known.listed(seen)), furthest);
                (replicas, known.least_age_before(seen.until))
            })
            .collect(),
        None => {
            let since = known.current_since().or(known.status_written());
            let age = since
                .map(|since| known.least_age(since))
                .unwrap_or_default();
            vec![(furthest, age)]
        }
    };
    list.extend((!is_over).then(|| (proposed(sighting, side), known.least_gap())));
    list.extend(known.listed_last());
    if known.may_have_restarted_since_last_pass() {
        let (_, most) = found_since_last(known, side);
        list.push((most, SignedDuration::ZERO));
    }
    list.into_iter()
        .map(|(replicas, age)| Recommendation {
            replicas,
            time: known.now.minus(age),
        })
        .collect()
}

/// Returns the replicas that hold back least and most of those that a pass since the last one may have found: those that
/// the last one set, if it did, or else those of its status or of the target.
fn found_since_last(known: &Known<'_>, side: Side) -> (i32, i32) {
    let status = &known.hpa.status;
    let has_set = sighting::rescaled_by(status).is_some();
    let Bounds { at_least, at_most } = if has_set && status.desired_replicas == known.current {
        Bounds::exactly(known.current)
    } else {
        known.found_now()
    };
    side.of((at_least, at_most), (at_most, at_least))
}

/// Returns the observations of the passes in a window of the next pass, apart from those that left the
/// current status; `None` if there may have been others.
fn told<'k>(
    known: &'k Known<'_>,
    sighting: Option<&Sighting>,
    window: SignedDuration,
) -> Option<&'k [SeenPass]> {
    match sighting {
        Some(_) if known.are_all_current(window) => Some(&[]),
        _ => known.passes_within(window),
    }
}

/// Returns the most extreme recommendation that the last pass may have made.
fn proposed(sighting: Option<&Sighting>, side: Side) -> i32 {
    sighting.map_or(side.most(), |seen| {
        let (at_least, at_most) = seen.proposal.clone().into_inner();
        side.end_of(Bounds { at_least, at_most })
    })
}

/// Returns the most extreme recommendation that the passes of the current status may have added to a window
/// of the next pass.
fn added(known: &Known<'_>, sighting: Option<&Sighting>, side: Side) -> i32 {
    let proposed = proposed(sighting, side);
    let found = known
        .listed_last()
        .filter(|(_, age)| *age < side.window(known));
    found.map_or(proposed, |(found, _)| side.more(proposed, found))
}

/// Returns the bounds of the recommendation that the last pass added to the list.
pub(super) fn added_bounds(known: &Known<'_>, sighting: Option<&Sighting>) -> Bounds {
    Bounds {
        at_least: added(known, sighting, Side::Up),
        at_most: added(known, sighting, Side::Down),
    }
}

/// Returns the bounds of the highest recommendation that holds back scaling down at the next pass, and of
/// the lowest that holds back scaling up.
pub(super) fn extremes(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    held: &[HeldRecommendation],
) -> (Extreme, Extreme) {
    [Side::Down, Side::Up]
        .map(|side| {
            let (certain, possible) = bounds(known, sighting, held, side);
            let (at_least, at_most) = side.of((certain, possible), (possible, certain));
            Extreme { at_least, at_most }
        })
        .into()
}

/// Returns two bounds for a side: the bound of the certain recommendations, and the bound of all possible ones.
fn bounds(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    held: &[HeldRecommendation],
    side: Side,
) -> (Option<i32>, Option<i32>) {
    let window = side.window(known);
    // Without one, nothing counts, not even a recommendation of the pass itself.
    if window.is_zero() {
        return (None, Some(side.least()));
    }
    let sure = side
        .still(known, held)
        .map(|held| side.less(*held.replicas.start(), *held.replicas.end()))
        .reduce(|one, other| side.more(one, other));
    // If all passes whose recommendations may still count are known, the bound is no further out
    // than the furthest of these. A window no longer than a sync period has nothing left,
    // unless the next pass is the first to make a recommendation.
    let told = match told(known, sighting, window) {
        _ if window <= known.least_gap() && sighting.is_some() => Some(side.least()),
        told => told.map(|told| {
            told.iter()
                .map(|seen| side.end_of(known.listed(seen)))
                .fold(added(known, sighting, side), |one, other| {
                    side.more(one, other)
                })
        }),
    };
    let possible = [sighting.and_then(|seen| side.furthest(known, seen)), told]
        .into_iter()
        .flatten()
        .reduce(|one, other| side.less(one, other));
    if known.may_have_restarted_since_last_pass() {
        // Then the count that its first pass found is the only recommendation.
        let (least, most) = found_since_last(known, side);
        (
            sure.map(|sure| side.less(sure, least)),
            possible.map(|possible| side.more(possible, most)),
        )
    } else {
        (sure, possible)
    }
}
