//! What a rate limit of `behavior` may count at the next pass: the scale changes that the
//! controller remembers, in every form that they may have by then. Without trustworthy events
//! nothing is claimed, except that nothing counts if the last rescale is too long ago.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};

use super::ground::{CountedRescales, Ground, UnknownRescales};
use super::known::{Known, Rescale, RescaleReason};
use super::sighting;
use super::spans::{SECOND, periods};
use crate::calendar::Calendar;
use crate::snapshot::evidence::{Event, Rescales};
use crate::snapshot::memory::ScaleEvent;

/// What the rate limits may count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counts {
    /// The lists of changes of which one is right at the next pass, the most likely first.
    pub(super) next: Vec<Vec<ScaleEvent>>,
    /// Lists of a controller that has restarted, each with the greatest age of the count that it found, which holds
    /// until a later pass.
    pub(super) later: Vec<(Vec<ScaleEvent>, SignedDuration)>,
}

/// Returns the lists of changes; `None` if they may be anything. The times are shifted by how much later than now the
/// pass runs.
pub(super) fn changes(known: &Known<'_>, grounds: &mut Vec<Ground>) -> Option<Counts> {
    let mut rests_on = |counted| grounds.push(Ground::RateLimits(counted));
    let nothing = Some(Counts {
        next: vec![Vec::new()],
        later: Vec::new(),
    });
    let Some(behavior) = &known.next.behavior else {
        return nothing;
    };
    let periods = periods(behavior);
    let Some(longest) = periods.last().copied() else {
        return nothing;
    };
    let oldest = known.earliest_pass().minus(longest);
    if !known.may_have_stored(oldest) {
        rests_on(CountedRescales::NoBehavior);
        return nothing;
    }
    let unseen = [
        known
            .status_lost
            .map(|lost| (lost, UnknownRescales::StatusLost)),
        known
            .hpa
            .written
            .created
            .filter(|_| known.replaces_another)
            .map(|created| (created, UnknownRescales::EarlierHpa)),
    ];
    for (time, why) in unseen.into_iter().flatten() {
        if time.plus(SECOND) > oldest && known.nothing_before().is_none_or(|start| start < time) {
            rests_on(CountedRescales::Any(why));
            return None;
        }
    }
    let Some(last) = known.hpa.status.last_scale_time else {
        rests_on(CountedRescales::NoRescale);
        return nothing;
    };
    if known.least_age(last.plus(SECOND)) >= longest {
        rests_on(CountedRescales::Expired(known.now.duration_since(last)));
        return nothing;
    }
    let (alternatives, by): (_, fn(_) -> _) = if let Some(seen) = seen_since(known, oldest) {
        (vec![seen], CountedRescales::Seen)
    } else {
        match told_by_events(known, last, longest) {
            Ok(told) => (told, CountedRescales::ByEvents),
            Err(why) => {
                rests_on(CountedRescales::Any(why));
                return None;
            }
        }
    };
    let is_stored = |event: &ScaleEvent| {
        let is_forgotten = known
            .nothing_before()
            .is_some_and(|start| event.time.plus(SECOND) < start);
        known.may_have_stored(event.time) && !is_forgotten
    };
    let stored = |events: Vec<ScaleEvent>| events.into_iter().filter(is_stored).collect();
    let alternatives: Vec<Vec<ScaleEvent>> = alternatives.into_iter().map(stored).collect();
    rests_on(by(alternatives.first().cloned().unwrap_or_default()));
    let mut counts = Counts {
        next: Vec::new(),
        later: Vec::new(),
    };
    for counted in alternatives {
        let Counts { next, later } = remembered(known, &counted);
        counts
            .next
            .extend(at_all_times(known, &counted, &periods, &next));
        for (list, age) in later {
            let lists = at_all_times(known, &counted, &periods, &[list]);
            counts
                .later
                .extend(lists.into_iter().map(|list| (list, age)));
        }
    }
    Some(counts)
}

/// Returns the lists that these changes may have become by the next pass, the most likely first.
fn at_all_times(
    known: &Known<'_>,
    counted: &[ScaleEvent],
    periods: &BTreeSet<SignedDuration>,
    remembered: &[Vec<ScaleEvent>],
) -> Vec<Vec<ScaleEvent>> {
    let mut lists = Vec::new();
    let mut seen = BTreeSet::new();
    let almost = SECOND.minus(SignedDuration::from_nanos(1));
    for kept in remembered {
        for pass in passes(known, counted, periods) {
            // Each event may have occurred at any time within its second. Additions count against
            // removals.
            for (added, removed) in [
                (SignedDuration::ZERO, SignedDuration::ZERO),
                (almost, almost),
                (almost, SignedDuration::ZERO),
                (SignedDuration::ZERO, almost),
            ] {
                let later = known.now.duration_since(pass);
                let at = |event: &ScaleEvent| {
                    let within = if event.replicas > 0 { added } else { removed };
                    let youngest = known.now.minus(known.least_age(event.time.plus(SECOND)));
                    youngest.min(event.time.plus(later).plus(within))
                };
                let list: Vec<ScaleEvent> = kept
                    .iter()
                    .map(|event| ScaleEvent {
                        time: at(event),
                        ..*event
                    })
                    .collect();
                // For the passes after it, the time matters as well.
                if seen.insert((pass == known.latest_pass(), sums(&list, periods, known.now))) {
                    lists.push(list);
                }
            }
        }
    }
    let likely = sums(counted, periods, known.likely_pass());
    let place = lists
        .iter()
        .position(|list| sums(list, periods, known.now) == likely);
    if let Some(first) = lists.get_mut(..=place.unwrap_or(0)) {
        first.rotate_right(1);
    }
    lists
}

/// Returns what was added and removed within each period that ends at a time.
fn sums(
    changes: &[ScaleEvent],
    periods: &BTreeSet<SignedDuration>,
    end: Timestamp,
) -> Vec<(i32, i32)> {
    let sum = |period: &SignedDuration, up: bool| -> i32 {
        let these = changes.iter().filter(|event| (event.replicas > 0) == up);
        let inside = these.filter(|event| event.time > end.minus(*period));
        inside
            .map(|event| event.replicas)
            .fold(0, i32::wrapping_add)
    };
    periods
        .iter()
        .map(|period| (sum(period, true), sum(period, false)))
        .collect()
}

/// Returns the rescales since a time, if each left a state that was observed.
fn seen_since(known: &Known<'_>, oldest: Timestamp) -> Option<Vec<ScaleEvent>> {
    let reaches = |seen: &&Rescales| {
        // No older change is remembered.
        let is_all = known
            .nothing_before()
            .is_some_and(|start| seen.since <= start)
            || known.is_first_pass(seen.since);
        is_all || seen.since.plus(SECOND) <= oldest
    };
    let seen = known.rescales_seen.filter(reaches)?;
    let counted = seen
        .changes
        .iter()
        .filter(|change| change.time.plus(SECOND) > oldest);
    Some(counted.copied().collect())
}

/// Returns the rescales that a period may still contain, according to events, as lists at whose bounds they
/// are, the most likely first; or why there may be others.
fn told_by_events(
    known: &Known<'_>,
    last: Timestamp,
    longest: SignedDuration,
) -> Result<Vec<Vec<ScaleEvent>>, UnknownRescales> {
    let incomplete = || UnknownRescales::EventsIncomplete;
    let oldest = known.earliest_pass().minus(longest);
    let newest = known.rescales.last().ok_or_else(incomplete)?;
    let complete = newest.time.duration_since(last).abs() <= SECOND
        && known.drops_no_event_since(known.now.minus(longest));
    let first = known
        .rescales
        .iter()
        .position(|rescale| rescale.time.plus(SECOND) > oldest);
    let first = first.filter(|first| complete && !known.rescales[*first..].iter().any(|it| it.gap));
    let first = first.ok_or_else(incomplete)?;
    let before = |place: usize| match status_of_rescale(known) {
        Some(before) if place + 1 == known.rescales.len() => Some(before),
        _ => Some(known.rescales[place.checked_sub(1)?].size),
    };
    let event = |place: usize, before: i32| {
        let Rescale {
            time, size, reason, ..
        } = known.rescales[place];
        let replicas = size.checked_sub(before)?;
        // With `behavior` the change follows the metrics' direction; if not, someone else has scaled.
        let fits = match reason {
            RescaleReason::AboveTarget | RescaleReason::BelowMin => replicas > 0,
            RescaleReason::BelowTarget | RescaleReason::AboveMax => replicas < 0,
            RescaleReason::None => false,
        };
        fits.then_some(ScaleEvent {
            replicas,
            time,
            outdated: false,
        })
    };
    let start = match before(first) {
        Some(start) => start..=start,
        None => starts(known, &known.rescales[first]).ok_or_else(incomplete)?,
    };
    let told = &known.rescales[first..];
    let since = told.first().map_or(oldest, |rescale| rescale.time);
    let is_other = |event: &&Event| {
        let from = event.followed().and_then(|(from, _)| from);
        let start = from
            .filter(|from| start.contains(from))
            .unwrap_or(*start.start());
        let counts: Vec<i32> = [start]
            .into_iter()
            .chain(told.iter().map(|it| it.size))
            .collect();
        is_by_another(event, since, &counts)
    };
    if let Some(Event { message, .. }) = known.scaled.iter().find(is_other) {
        return Err(UnknownRescales::OtherChange {
            message: message.clone(),
        });
    }
    let list = |start: i32| -> Option<Vec<ScaleEvent>> {
        let later = (first + 1..known.rescales.len()).map(|place| event(place, before(place)?));
        [event(first, start)].into_iter().chain(later).collect()
    };
    // Limits rise with the start, so the ends of its range lead to the lowest and the highest.
    let mut starts = vec![*start.start(), *start.end()];
    starts.dedup();
    starts
        .into_iter()
        .map(|start| list(start).ok_or_else(incomplete))
        .collect()
}

/// Returns the bounds of the replicas before the first rescale of all that events report.
fn starts(known: &Known<'_>, rescale: &Rescale) -> Option<RangeInclusive<i32>> {
    let spec = &known.hpa.spec;
    if known.spec_may_have_changed_since(rescale.time.minus(SECOND)) {
        return None;
    }
    // Only with this condition can there have been none.
    let mut conditions = known.hpa.status.conditions.iter();
    let may_be_none = conditions.any(|condition| condition.type_ == "ScaledToZero");
    let min = if may_be_none {
        0
    } else {
        spec.min_replicas.unwrap_or(1)
    };
    let starts = match rescale.reason {
        // Below the minimum, that is the reason.
        RescaleReason::AboveTarget => min..=rescale.size.checked_sub(1)?,
        RescaleReason::BelowMin => min.min(1)..=rescale.size.checked_sub(1)?,
        RescaleReason::BelowTarget => rescale.size.checked_add(1)?..=spec.max_replicas,
        RescaleReason::AboveMax | RescaleReason::None => return None,
    };
    (!starts.is_empty()).then_some(starts)
}

/// Whether a Deployment has, since a time, followed a change of its replicas that does not lead from an
/// earlier to a later one of these counts. A Deployment that follows slowly skips some of them.
fn is_by_another(event: &Event, since: Timestamp, counts: &[i32]) -> bool {
    if event.last.is_none_or(|last| last < since) {
        return false;
    }
    let Some((from, to)) = event.followed() else {
        return true;
    };
    let start = counts
        .iter()
        .position(|count| from.is_none_or(|from| from == *count));
    !start.is_some_and(|start| counts[start + 1..].contains(&to))
}

/// Returns the count before the last rescale, if its pass was the last to write the status.
fn status_of_rescale(known: &Known<'_>) -> Option<i32> {
    let status = &known.hpa.status;
    sighting::rescaled_by(status).map(|_| status.current_replicas)
}

/// Returns what may be left of the changes, the most likely first: a controller that has restarted has
/// forgotten the older ones; it kept none that it made without `behavior`; and a change older than the
/// longest period of its own direction may have been overwritten by a later one. What a restarted controller has left,
/// which is held to the count that it found, is returned apart.
fn remembered(known: &Known<'_>, counted: &[ScaleEvent]) -> Counts {
    // Passes that store an event overwrite by the periods of their own spec.
    let longest = |up: bool| {
        let rules = known.hpa.spec.behavior.iter();
        let rules = rules.flat_map(|it| if up { &it.scale_up } else { &it.scale_down });
        let policies = rules.flat_map(|rules| rules.policies.iter().flatten());
        let seconds = policies
            .map(|policy| policy.period_seconds)
            .max()
            .unwrap_or(0);
        SignedDuration::from_secs(seconds.into())
    };
    let may_be_gone = |event: &ScaleEvent| {
        let up = event.replicas > 0;
        let outdated = event.time.plus(longest(up));
        let mut later = counted.iter().filter(|other| (other.replicas > 0) == up);
        known.spec_may_have_changed_since(event.time.minus(SECOND))
            || later.any(|other| other.time.plus(SECOND) > outdated)
    };
    let (mut lists, mut held) = (Vec::new(), Vec::new());
    for since in 0..=counted.len() {
        let forgotten = since
            .checked_sub(1)
            .map(|last| counted[last].time.minus(SECOND));
        if forgotten.is_some_and(|time| !known.may_have_restarted_since(time)) {
            continue;
        }
        let age = forgotten.and_then(|time| known.held_since_restart(time));
        // These bound all choices of what is gone.
        for (ups, downs) in [(true, true), (false, true), (true, false), (false, false)] {
            let kept = |event: &&ScaleEvent| {
                (if event.replicas > 0 { ups } else { downs }) || !may_be_gone(event)
            };
            let list = counted[since..].iter().filter(kept).copied().collect();
            match age {
                Some(age) => held.push((list, age)),
                None => lists.push(list),
            }
        }
    }
    lists.dedup();
    held.dedup();
    Counts {
        next: lists,
        later: held,
    }
}

/// Returns when the next pass may run, if it makes a difference.
fn passes(
    known: &Known<'_>,
    counted: &[ScaleEvent],
    periods: &BTreeSet<SignedDuration>,
) -> Vec<Timestamp> {
    let (earliest, latest) = (known.earliest_pass(), known.latest_pass());
    // An event may have occurred at any time within its second, so it may have left then; a second later it
    // certainly has.
    let leaving = counted
        .iter()
        .flat_map(|event| periods.iter().map(|it| event.time.plus(*it)));
    let inside = leaving.filter(|time| (earliest..=latest).contains(time));
    [earliest, latest].into_iter().chain(inside).collect()
}

/// Returns added and removed replicas, each as the controller remembers them.
pub fn split(changes: Option<&Vec<ScaleEvent>>) -> (Vec<ScaleEvent>, Vec<ScaleEvent>) {
    let of = |up: bool| {
        let these = changes
            .into_iter()
            .flatten()
            .filter(|event| (event.replicas > 0) == up);
        these
            .map(|event| ScaleEvent {
                replicas: event.replicas.wrapping_abs(),
                ..*event
            })
            .collect()
    };
    (of(true), of(false))
}

#[cfg(test)]
mod tests;
