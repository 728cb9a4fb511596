//! What is certain about the remembered recommendations. Old ones leave one by one, and each pass
//! adds one, so what a status says about the list of its pass bounds that of the next: from above by
//! what was highest then, from below by what surely has not left yet.

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};

use super::infer::{Known, RescaleReason, SECOND};
use super::sighting::Sighting;
use super::{Ends, Extreme, basis};
use crate::json::SecondsTime;
use crate::snapshot::assemble::Basis;
use crate::snapshot::stated::Recommendation;

/// A recommendation that is surely in the list, unless the controller has started anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    /// Of how many replicas.
    pub(super) replicas: RangeInclusive<i32>,
    /// It was not made before.
    pub(super) earliest: Timestamp,
    /// When it was made, as far as can be told.
    pub(super) likely: Timestamp,
}

impl Held {
    /// It at its likeliest.
    pub(super) fn likely(&self) -> Recommendation {
        let (low, high) = (*self.replicas.start(), *self.replicas.end());
        let replicas = if low == 0 && high < i32::MAX { high } else { low };
        Recommendation { replicas, time: self.likely }
    }
}

/// The recommendations that are surely there.
pub(super) fn held(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    grounds: &mut Vec<Basis>,
) -> Vec<Held> {
    let mut list = Vec::new();
    if let Some(seen) = sighting {
        let last_pass = known.last_pass();
        let written = known.hpa.written.status;
        let source = match written {
            Some(written) => {
                format!("condition {}, status written {}", seen.reason, known.ago(written))
            }
            None => format!("condition {}, its time is not known", seen.reason),
        };
        grounds.push(basis("recommendations", worded(seen), source));
        list.push(Held {
            replicas: seen.proposal.clone(),
            earliest: last_pass,
            likely: written.unwrap_or(known.now).max(last_pass),
        });
        // What held it was in its window at that pass, and made before it.
        let holding = [
            seen.held_down_by
                .map(|low| (low..=seen.at_most.unwrap_or(i32::MAX), known.down_window)),
            seen.held_up_by.map(|high| (0..=high, known.up_window)),
        ];
        for (replicas, window) in holding.into_iter().flatten() {
            let oldest = minus(last_pass, window);
            let earliest = known.nothing_before().map_or(oldest, |start| oldest.max(start));
            let likely = written.unwrap_or(known.now).max(earliest);
            list.push(Held { replicas, earliest, likely });
        }
    }
    list.extend(seen(known, grounds));
    list.extend(told_by_events(known, grounds));
    list
}

/// What statuses told that have been overwritten since.
fn seen(known: &Known<'_>, grounds: &mut Vec<Basis>) -> Vec<Held> {
    let mut list = Vec::new();
    for seen in known.seen {
        // Passes that come to the same do not write it again, unless one came to something else
        // that could not be written.
        let mut earliest = seen.time - SECOND;
        if known.status_lost.is_none_or(|lost| lost < earliest) {
            earliest = earliest.max(known.last_before(seen.until));
        }
        if known.spec_may_have_changed_since(earliest) {
            continue;
        }
        let (mut low, mut high) = (seen.at_least, seen.at_most);
        if known.may_have_restarted_since(earliest) {
            let counts = [known.current, known.hpa.status.current_replicas];
            low = counts.into_iter().fold(low, Ord::min);
            high = counts.into_iter().fold(high, Ord::max);
        }
        list.push(Held { replicas: low..=high, earliest, likely: earliest.max(seen.time) });
    }
    if let (Some(first), Some(last)) = (known.seen.first(), known.seen.last()) {
        let (first, last) = (SecondsTime(first.time), SecondsTime(last.until));
        let when = match first.0 == last.0 {
            true => format!("at {first}"),
            false => format!("between {first} and {last}"),
        };
        let told = format!("{} more, {when}", list.len());
        grounds.push(basis("recommendations", told, "earlier states of the HPA"));
    }
    list
}

/// What rescales tell of the proposals that they followed.
fn told_by_events(known: &Known<'_>, grounds: &mut Vec<Basis>) -> Vec<Held> {
    let mut list = Vec::new();
    let spec = &known.hpa.spec;
    let status = &known.hpa.status;
    let since = |type_: &str| {
        let condition = status.conditions.iter().find(|condition| condition.type_ == type_)?;
        Some((&*condition.status, condition.last_transition_time?))
    };
    let oldest = minus(known.now, known.down_window.max(known.up_window));
    for (place, rescale) in known.rescales.iter().enumerate() {
        if rescale.time < oldest
            || rescale.reason != RescaleReason::AboveTarget
            // From zero, the minimum is applied to whatever the metrics ask for.
            || rescale.size <= spec.min_replicas.unwrap_or(1)
            || known.spec_may_have_changed_since(rescale.time - SECOND)
        {
            continue;
        }
        let low = if spec.behavior.is_some() {
            // The proposal was above the count, and nothing but it can have led this far up.
            Some(rescale.size)
        } else {
            // An older recommendation can have led up, too, unless the pass before had been free
            // to follow it: unlimited, able to, by the same rules, and with a count below.
            let before = place.checked_sub(1).map(|place| known.rescales[place]);
            let grew = before.is_some_and(|before| {
                let corrected =
                    matches!(before.reason, RescaleReason::AboveMax | RescaleReason::BelowMin);
                let able = since("AbleToScale")
                    .is_some_and(|(status, since)| status == "True" && since <= before.time);
                let same_rules = !known.spec_may_have_changed_since(before.time - SECOND);
                before.size < rescale.size && !corrected && !rescale.gap && able && same_rules
            });
            match since("ScalingLimited") {
                Some(("False", since)) if grew && since + SECOND < rescale.time => {
                    Some(rescale.size)
                }
                // This was the first pass that was limited.
                Some(("True", since))
                    if grew
                        && since.duration_since(rescale.time).abs() <= SECOND
                        && before.is_some_and(|before| before.time + SECOND < rescale.time) =>
                {
                    Some(rescale.size.saturating_add(1))
                }
                _ => None,
            }
        };
        // Where the controller has started anew since, it has taken the count for a
        // recommendation; that was none of those below.
        let later = known.rescales[place..].iter().map(|rescale| rescale.size);
        let seed = later.chain([known.current, status.current_replicas]).min();
        let low = if known.may_have_restarted_since(rescale.time - SECOND) {
            low.map(|low| seed.map_or(low, |seed| low.min(seed)))
        } else {
            low
        };
        if let Some(low) = low {
            grounds.push(basis(
                "recommendations",
                format!("at least {low} at {}", SecondsTime(rescale.time)),
                "event SuccessfulRescale, if nobody else scaled",
            ));
            list.push(Held {
                replicas: low..=i32::MAX,
                earliest: rescale.time - SECOND,
                likely: rescale.time,
            });
        }
    }
    list
}

/// The lists with which a hold against scaling down, and one against scaling up, end soonest and
/// last.
pub(super) fn ends(known: &Known<'_>, sighting: Option<&Sighting>, held: &[Held]) -> (Ends, Ends) {
    let restarted = known.may_have_restarted_since(known.last_pass());
    let seed = restarted.then_some(Recommendation { replicas: known.current, time: known.now });
    let written = known.hpa.written.status.map_or(known.now, |written| written + SECOND);
    let sure = |replicas: fn(&Held) -> i32, seeded: fn(i32, i32) -> i32| -> Vec<Recommendation> {
        let replicas = |held| match restarted {
            true => seeded(replicas(held), known.current),
            false => replicas(held),
        };
        held.iter()
            .map(|held| Recommendation { replicas: replicas(held), time: held.earliest })
            .collect()
    };
    // What was in the list of the last pass was made before it, and what it made itself may have
    // been made again since.
    let possible = |extreme: Option<i32>, proposal: Option<i32>, any: i32| -> Vec<Recommendation> {
        let older = Recommendation { replicas: extreme.unwrap_or(any), time: written };
        let newer = Recommendation { replicas: proposal.unwrap_or(any), time: known.now };
        [older, newer].into_iter().chain(seed).collect()
    };
    let down = Ends {
        soonest: sure(|held| *held.replicas.start(), Ord::min),
        last: possible(
            sighting.and_then(|seen| seen.at_most),
            sighting.map(|seen| *seen.proposal.end()),
            i32::MAX,
        ),
    };
    let up = Ends {
        soonest: sure(|held| *held.replicas.end(), Ord::max),
        last: possible(
            sighting.and_then(|seen| seen.at_least),
            sighting.map(|seen| *seen.proposal.start()),
            0,
        ),
    };
    (down, up)
}

/// Bounds of the highest recommendation that holds against scaling down at the next pass, and of
/// the lowest that holds against scaling up.
pub(super) fn extremes(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    held: &[Held],
) -> (Extreme, Extreme) {
    let still = |window: SignedDuration| {
        let oldest = minus(known.latest_pass(), window);
        held.iter().filter(move |held| held.earliest > oldest)
    };
    let mut highest = Extreme {
        at_least: still(known.down_window).map(|held| *held.replicas.start()).max(),
        at_most: sighting.and_then(|seen| seen.at_most),
    };
    let mut lowest = Extreme {
        at_least: sighting.and_then(|seen| seen.at_least),
        at_most: still(known.up_window).map(|held| *held.replicas.end()).min(),
    };
    if known.may_have_restarted_since(known.last_pass()) {
        // Then the count is the only recommendation.
        for extreme in [&mut highest, &mut lowest] {
            extreme.at_least = extreme.at_least.map(|low| low.min(known.current));
            extreme.at_most = extreme.at_most.map(|high| high.max(known.current));
        }
    }
    (highest, lowest)
}

fn worded(seen: &Sighting) -> String {
    let (low, high) = (*seen.proposal.start(), *seen.proposal.end());
    let mut parts = Vec::new();
    match (low, high) {
        (0, i32::MAX) => {}
        (low, high) if low == high => parts.push(format!("{low} was recommended")),
        (low, i32::MAX) => parts.push(format!("at least {low} was recommended")),
        (_, high) => parts.push(format!("at most {high} was recommended")),
    }
    match (seen.held_down_by, seen.at_most) {
        (Some(low), Some(high)) if low == high => {
            parts.push(format!("{low} is the highest of the list"));
        }
        (Some(low), _) if low > 0 => {
            parts.push(format!("at least {low} is the highest of the list"));
        }
        (_, Some(high)) if high > *seen.proposal.end() => {
            parts.push(format!("nothing above {high} is in the list"));
        }
        (_, Some(_)) => parts.push("nothing higher is in the list".to_owned()),
        (_, None) => {}
    }
    if let Some(low) = seen.at_least {
        parts.push(format!("nothing below {low} is in the list"));
    }
    if let Some(high) = seen.held_up_by {
        parts.push(format!("at most {high} is the lowest of the list"));
    }
    parts.join(", ")
}

fn minus(time: Timestamp, span: SignedDuration) -> Timestamp {
    time.checked_sub(span).unwrap_or(Timestamp::MIN)
}
