//! The scale changes that a rate limit of `behavior` may count at the next pass: those that the controller
//! remembers, in every form that they may have by then. Without trustworthy events, the only claim is that
//! nothing counts if the last rescale is too long ago.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use jiff::{SignedDuration, Timestamp};

use super::events::{Rescale, RescaleReason};
use super::ground;
use super::known::Known;
use super::sighting;
use super::spans::{SECOND, periods};
use crate::calendar::Calendar;
use crate::snapshot::basis::BasisView;
use crate::snapshot::evidence::{Event, SCALED};
use crate::snapshot::memory::ScaleEvent;

/// The maximum number of observed changes of which all forms are considered. At the usual sync period, the longest
/// period of a policy has this many passes.
const MOST_CHANGES: usize = 120;

/// The scale changes that the rate limits may count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counts {
    /// The alternative lists of changes, one of which is right at the next pass; the most likely first.
    pub(super) next: Vec<Vec<ScaleEvent>>,
    /// The lists of a controller that has restarted, each with the greatest age of the count that it found,
    /// which holds until a later pass.
    pub(super) later: Vec<(Vec<ScaleEvent>, SignedDuration)>,
    /// Whether any other changes are possible.
    pub(super) is_open: bool,
}

/// Returns the lists of changes. The times are shifted by the time from now to the pass.
pub(super) fn changes(known: &Known<'_>, grounds: &mut Vec<BasisView>) -> Counts {
    let nothing = Counts {
        next: vec![Vec::new()],
        later: Vec::new(),
        is_open: false,
    };
    let Some(behavior) = &known.next.behavior else {
        return nothing;
    };
    let periods = periods(behavior);
    let Some(&longest) = periods.last() else {
        return nothing;
    };
    let (ground, alternatives) = alternatives(known, longest);
    let hidden = hidden_since(known, known.earliest_pass().minus(longest));
    let is_open = hidden.is_some() || alternatives.is_none();
    if hidden.is_none() || alternatives.as_ref().is_some_and(|lists| !lists.is_empty()) {
        grounds.push(ground);
    }
    grounds.extend(hidden.map(ground::any_rescale));
    // Of any changes, those that states show are likely.
    let told = alternatives.unwrap_or_else(|| Vec::from_iter(shown(known, longest)));
    if told.is_empty() {
        return Counts { is_open, ..nothing };
    }
    let mut counts = Counts {
        next: Vec::new(),
        later: Vec::new(),
        is_open,
    };
    for counted in told {
        let Counts { next, later, .. } = remembered(known, &counted);
        counts
            .next
            .extend(at_all_times(known, &counted, &periods, &next));
        // Of any changes, these are some.
        for (list, age) in later.into_iter().filter(|_| !is_open) {
            let lists = at_all_times(known, &counted, &periods, &[list]);
            counts
                .later
                .extend(lists.into_iter().map(|list| (list, age)));
        }
    }
    counts
}

/// Returns the changes that a period of at most this length may contain, as alternative lists, one of which is right
/// unless some are hidden, with the ground for them: no list if nothing counts, and `None` if any changes are possible.
fn alternatives(
    known: &Known<'_>,
    longest: SignedDuration,
) -> (BasisView, Option<Vec<Vec<ScaleEvent>>>) {
    let nothing = |value: &str, source: String| {
        let ground = BasisView::new(ground::SCALE_EVENTS, value, source);
        (ground, Some(Vec::new()))
    };
    let any = |why: String| (ground::any_rescale(why), None);
    let oldest = known.earliest_pass().minus(longest);
    if !known.may_have_stored(oldest) {
        return nothing(
            "rate limits count no rescale: without behavior, none is remembered",
            "the observed spec".to_owned(),
        );
    }
    let Some(last) = known.hpa.status.last_scale_time else {
        let ground = ground::counted(&[], "status.lastScaleTime is not set");
        return (ground, Some(Vec::new()));
    };
    if known.least_age(last.plus(SECOND)) >= longest {
        let ago = ground::ago(last, known.now);
        return nothing(
            "no rescale within the periods of the policies",
            format!("status.lastScaleTime, {ago}"),
        );
    }
    let (mut lists, source) = match seen_since(known, oldest) {
        Some(seen) if seen.len() > MOST_CHANGES => {
            return any("more rescales were observed than are considered".to_owned());
        }
        Some(seen) => (vec![seen], "earlier states of the HPA"),
        None => match told_by_events(known, last, longest) {
            Ok(told) => (told, ground::BY_EVENTS),
            Err(why) => return any(why),
        },
    };
    for events in &mut lists {
        events.retain(|event: &ScaleEvent| may_be_remembered(known, event));
    }
    let likely = lists.first().map_or(&[][..], |list| list);
    (ground::counted(likely, source), Some(lists))
}

/// Returns the rescales that the earlier states or else the status show, though there may be others; `None` if they
/// show none.
fn shown(known: &Known<'_>, longest: SignedDuration) -> Option<Vec<ScaleEvent>> {
    let oldest = known.earliest_pass().minus(longest);
    let seen = known.rescales_seen.map_or(&[][..], |seen| &seen.changes);
    let of_status = sighting::rescale_of(known.hpa).filter(|_| seen.is_empty());
    let all = seen.iter().copied().chain(of_status);
    let counted =
        all.filter(|event| event.time.plus(SECOND) > oldest && may_be_remembered(known, event));
    Some(Vec::from_iter(counted)).filter(|list| (1..=MOST_CHANGES).contains(&list.len()))
}

/// Whether the controller may have stored a change, and not forgotten it.
fn may_be_remembered(known: &Known<'_>, event: &ScaleEvent) -> bool {
    let start = known.nothing_before();
    let is_forgotten = start.is_some_and(|start| event.time.plus(SECOND) < start);
    known.may_have_stored(event.time) && !is_forgotten
}

/// Returns why a rescale since some time may have left no trace.
fn hidden_since(known: &Known<'_>, oldest: Timestamp) -> Option<&'static str> {
    if !known.may_have_stored(oldest) {
        return None;
    }
    let counts = |time: &Timestamp| {
        let is_forgotten = known.nothing_before().is_some_and(|start| start >= *time);
        time.plus(SECOND) > oldest && !is_forgotten
    };
    let lost = known.status_lost.filter(counts);
    let created = known.hpa.written.created.filter(counts);
    let is_after_another = created.is_some() && known.replaces_another;
    lost.map(|_| "a status that could not be written")
        .or_else(|| is_after_another.then_some("events about an earlier HPA of the name"))
}

/// Returns the lists that these changes may have become by the next pass, the most likely first. The first of those
/// that may be left is the most likely.
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
                let mut list = kept.clone();
                for event in &mut list {
                    let within = if event.replicas > 0 { added } else { removed };
                    let youngest = known.now.minus(known.least_age(event.time.plus(SECOND)));
                    event.time = youngest.min(event.time.plus(later).plus(within));
                }
                // For the passes after it, the time matters as well.
                if seen.insert((pass == known.latest_pass(), sums(&list, periods, known.now))) {
                    lists.push(list);
                }
            }
        }
    }
    let most = remembered.first().map_or(counted, |list| list);
    let likely = sums(most, periods, known.likely_pass());
    let place = lists
        .iter()
        .position(|list| sums(list, periods, known.now) == likely);
    if let Some(first) = lists.get_mut(..=place.unwrap_or(0)) {
        first.rotate_right(1);
    }
    lists
}

/// Returns the numbers of replicas that were added and removed within each period that ends at a time.
fn sums(
    changes: &[ScaleEvent],
    periods: &BTreeSet<SignedDuration>,
    end: Timestamp,
) -> Vec<(i32, i32)> {
    periods
        .iter()
        .map(|period| {
            let (mut added, mut removed) = (0i32, 0i32);
            for event in changes.iter().filter(|it| it.time > end.minus(*period)) {
                let sum = if event.replicas > 0 {
                    &mut added
                } else {
                    &mut removed
                };
                *sum = sum.wrapping_add(event.replicas);
            }
            (added, removed)
        })
        .collect()
}

/// Returns the rescales since a time, if each left a state that was observed.
fn seen_since(known: &Known<'_>, oldest: Timestamp) -> Option<Vec<ScaleEvent>> {
    let seen = known.rescales_seen.filter(|seen| {
        // No older change is remembered.
        let is_all = known
            .nothing_before()
            .is_some_and(|start| seen.since <= start)
            || known.is_first_pass(seen.since);
        is_all || seen.since.plus(SECOND) <= oldest
    })?;
    let counted = seen
        .changes
        .iter()
        .filter(|change| change.time.plus(SECOND) > oldest);
    Some(counted.copied().collect())
}

/// Returns the rescales that a period may still contain, according to events, as lists that bound them, the
/// most likely first; or the reason why there may be others.
fn told_by_events(
    known: &Known<'_>,
    last: Timestamp,
    longest: SignedDuration,
) -> Result<Vec<Vec<ScaleEvent>>, String> {
    let oldest = known.earliest_pass().minus(longest);
    let newest = known.rescales.last().ok_or_else(incomplete)?;
    let complete = newest.time.duration_since(last).abs() <= SECOND
        && known.recorder.drops_none_since(known.now.minus(longest));
    let first = known
        .rescales
        .iter()
        .position(|rescale| rescale.time.plus(SECOND) > oldest)
        .filter(|first| complete && !known.rescales[*first..].iter().any(|it| it.gap))
        .ok_or_else(incomplete)?;
    let start = count_before_first(known, first)?;
    let told = &known.rescales[first..];
    let since = told.first().map_or(oldest, |rescale| rescale.time);
    for event in known.scaled {
        let from = event.followed().and_then(|(from, _)| from);
        let start = from
            .filter(|from| start.contains(from))
            .unwrap_or(*start.start());
        let counts: Vec<i32> = [start]
            .into_iter()
            .chain(told.iter().map(|it| it.size))
            .collect();
        if is_by_another(event, since, &counts) {
            return Err(other_change(event));
        }
    }
    // Limits rise with the start, so the ends of its range lead to the lowest and the highest.
    let (fewest, most) = (*start.start(), *start.end());
    let likely = pods_before(known, &told[0]).clamp(fewest, most);
    let ends = [fewest, most].into_iter().filter(|end| *end != likely);
    [likely]
        .into_iter()
        .chain(ends)
        .map(|start| {
            let later = (first + 1..known.rescales.len())
                .map(|place| scale_event(&known.rescales[place], count_before(known, place)?));
            [scale_event(&told[0], start)]
                .into_iter()
                .chain(later)
                .collect::<Option<_>>()
                .ok_or_else(incomplete)
        })
        .collect()
}

/// Returns how many of the pods that the target still has are older than a rescale. Its event may be a second later.
fn pods_before(known: &Known<'_>, rescale: &Rescale) -> i32 {
    let created = known.pods_created.iter();
    let older = created.filter(|created| created.plus(SECOND) < rescale.time);
    i32::try_from(older.count()).unwrap_or(i32::MAX)
}

/// Returns the count before a rescale, if the status or the rescale before it shows it.
fn count_before(known: &Known<'_>, place: usize) -> Option<i32> {
    count_in_status(known, place).or_else(|| Some(known.rescales[place.checked_sub(1)?].size))
}

/// Returns the bounds of the count before the first rescale that may count, or the reason why any rescale may.
fn count_before_first(known: &Known<'_>, first: usize) -> Result<RangeInclusive<i32>, String> {
    let rescale = &known.rescales[first];
    if let Some(count) = count_in_status(known, first) {
        return Ok(count..=count);
    }
    let left = count_left(known, rescale, known.rescales.get(first + 1));
    // From 0, no metric leads to a rescale, so a ReplicaSet with none is one of a rollout.
    let is_up = |count: &i32| *count > 0;
    let Some(place) = first.checked_sub(1) else {
        let starts = starts(known, rescale);
        let is_possible = |count: &i32| {
            starts
                .as_ref()
                .map_or(is_up(count), |it| it.contains(count))
        };
        return left
            .filter(|left| is_possible(&left.count))
            .map(|left| left.count..=left.count)
            .or_else(|| starts.clone())
            .ok_or_else(incomplete);
    };
    let before = &known.rescales[place];
    let span = before.time..rescale.time;
    // A Deployment that is slow to follow comes from an older count, to which nothing in between leads.
    let is_recent = |left: &CountLeft<'_>| {
        left.count == before.size || left.led.is_some_and(|it| may_be_within(it, &span))
    };
    let may_be_left = |count: &i32| is_up(count) || before.size == 0;
    let recent = left.filter(is_recent).map(|left| left.count);
    if let Some(count) = recent.filter(may_be_left) {
        return Ok(count..=count);
    }
    let between: Vec<&Event> = known
        .scaled
        .iter()
        .filter(|it| may_be_within(it, &span))
        .collect();
    let mut others = between
        .iter()
        .filter(|it| it.followed().is_none_or(|(_, to)| to != before.size));
    let Some(other) = others.next() else {
        return Ok(before.size..=before.size);
    };
    last_followed(&between, before.size, &span)
        .filter(|count| may_be_left(count) && scale_event(rescale, *count).is_some())
        .map(|count| count..=count)
        .ok_or_else(|| other_change(other))
}

/// The count from which a Deployment went when it followed a rescale.
#[derive(Clone, Copy)]
struct CountLeft<'k> {
    count: i32,
    /// The event that led to the count.
    led: Option<&'k Event>,
}

/// Returns the count that a Deployment had before it followed a rescale, if its event shows it. Its ReplicaSet must
/// have had all replicas, so that no other ReplicaSet had any left.
fn count_left<'k>(
    known: &Known<'k>,
    rescale: &Rescale,
    next: Option<&Rescale>,
) -> Option<CountLeft<'k>> {
    // The controller reports a rescale only after it, so its event may be a second later.
    let since = rescale.time.minus(SECOND);
    let until = next.map_or(Timestamp::MAX, |next| next.time);
    let (own, count) = known
        .scaled
        .iter()
        .filter(|it| it.last.is_some_and(|last| (since..until).contains(&last)))
        .find_map(|it| match it.followed()? {
            (Some(from), to) if to == rescale.size => Some((it, from)),
            _ => None,
        })?;
    let set = own.replica_set()?;
    let (mut led, mut others) = (None, BTreeMap::new());
    let mut earlier: Vec<&Event> = known
        .scaled
        .iter()
        .filter(|it| it.last <= own.last && *it != own)
        .collect();
    earlier.sort_by_key(|it| it.last);
    for event in earlier {
        let (scaled, (_, to)) = (event.replica_set()?, event.followed()?);
        if scaled == set {
            led = Some((event, to));
        } else {
            others.insert(scaled, to);
        }
    }
    let is_alone = others.values().all(|left| *left == 0);
    let is_led = led.is_none_or(|(_, to)| to == count);
    (is_alone && is_led).then_some(CountLeft {
        count,
        led: led.map(|(event, _)| event),
    })
}

/// Returns the count to which the last of these events leads, unless they do not begin at the count before them, or a
/// rollout, repetitions or the same time leave that open.
fn last_followed(events: &[&Event], before: i32, span: &Range<Timestamp>) -> Option<i32> {
    let first = events.iter().min_by_key(|it| it.last)?;
    first.followed().filter(|(from, _)| *from == Some(before))?;
    let last = events.iter().max_by_key(|it| it.last)?;
    let (set, (_, to)) = (last.replica_set()?, last.followed()?);
    let is_open = events.iter().any(|it| {
        let is_last = it.last == last.last && it.followed() != last.followed();
        let is_within = it.last.is_some_and(|time| span.contains(&time));
        is_last || !is_within || it.replica_set() != Some(set)
    });
    (!is_open).then_some(to)
}

/// Returns why any rescale may count if an event of the target reports a change that is not the controller's.
fn other_change(event: &Event) -> String {
    format!(
        "a {SCALED} event of the target shows another change: {}",
        event.message
    )
}

fn incomplete() -> String {
    "the events are incomplete".to_owned()
}

/// Whether an event may have occurred within a span: a repeated one reports only its first and its last time.
fn may_be_within(event: &Event, span: &Range<Timestamp>) -> bool {
    let (first, last) = (event.first.or(event.last), event.last);
    let is_around = first < Some(span.start) && last >= Some(span.end);
    let mut times = [first, last].into_iter().flatten();
    times.any(|time| span.contains(&time)) || is_around && event.count > 2
}

/// Returns a rescale as the controller remembers it with `behavior`; `None` if it is not in the metrics'
/// direction, so that someone else has scaled.
fn scale_event(rescale: &Rescale, before: i32) -> Option<ScaleEvent> {
    let replicas = rescale.size.checked_sub(before)?;
    let fits = match rescale.reason {
        RescaleReason::AboveTarget | RescaleReason::BelowMin => replicas > 0,
        RescaleReason::BelowTarget | RescaleReason::AboveMax => replicas < 0,
        RescaleReason::None => false,
    };
    fits.then_some(ScaleEvent {
        replicas,
        time: rescale.time,
        outdated: false,
    })
}

/// Returns the bounds of the replicas before the first rescale of all that events report.
fn starts(known: &Known<'_>, rescale: &Rescale) -> Option<RangeInclusive<i32>> {
    let spec = &known.hpa.spec;
    if known.spec_may_have_changed_since(rescale.time.minus(SECOND)) {
        return None;
    }
    // Only with this condition can there have been none.
    let may_be_none = known.hpa.status.condition("ScaledToZero").is_some();
    let min = if may_be_none { 0 } else { spec.min() };
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
/// earlier to a later one of these counts. A Deployment that is slow to follow skips some of them.
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

/// Returns the count before a rescale, if it is the last and its pass was the last to write the status.
fn count_in_status(known: &Known<'_>, place: usize) -> Option<i32> {
    let status = &known.hpa.status;
    let is_last = place + 1 == known.rescales.len();
    sighting::rescaled_by(status)
        .filter(|_| is_last)
        .map(|_| status.current_replicas)
}

/// Returns the changes that may be left, the most likely first. A controller that has restarted has
/// forgotten the older ones; it kept none that it made without `behavior`; and a change older than the
/// longest period of its own direction may have been overwritten by a later one. The changes left to a
/// restarted controller that is held to the count that it found are returned separately.
fn remembered(known: &Known<'_>, counted: &[ScaleEvent]) -> Counts {
    let (mut lists, mut held) = (vec![stored(known, counted)], Vec::new());
    for since in 0..=counted.len() {
        let forgotten = since
            .checked_sub(1)
            .map(|last| counted[last].time.minus(SECOND));
        if forgotten.is_some_and(|time| !known.may_have_restarted_since(time)) {
            continue;
        }
        let age = forgotten.and_then(|time| known.held_since_restart(time));
        // These cases bound all choices of forgotten changes.
        for (ups, downs) in [(true, true), (false, true), (true, false), (false, false)] {
            let kept = |event: &&ScaleEvent| {
                (if event.replicas > 0 { ups } else { downs })
                    || !may_be_gone(known, counted, event)
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
        is_open: false,
    }
}

/// Returns the changes that are left if each has overwritten one that was outdated then, as in `storeScaleEvent`. A
/// pass comes slightly more than whole sync periods after another, so a change of the full age is outdated.
fn stored(known: &Known<'_>, counted: &[ScaleEvent]) -> Vec<ScaleEvent> {
    let mut left: Vec<ScaleEvent> = Vec::new();
    for event in counted {
        let up = event.replicas > 0;
        let latest = event.time.minus(longest_period(known, up));
        let place = left
            .iter()
            .rposition(|it| (it.replicas > 0) == up && it.time <= latest);
        match place {
            Some(place) => left[place] = *event,
            None => left.push(*event),
        }
    }
    left.sort_by_key(|event| event.time);
    left
}

/// Returns the longest period of the policies of a direction.
fn longest_period(known: &Known<'_>, up: bool) -> SignedDuration {
    let behavior = known.hpa.spec.behavior.iter();
    let longest = behavior
        .flat_map(|it| if up { &it.scale_up } else { &it.scale_down })
        .flat_map(|rules| rules.policies.iter().flatten())
        .map(|policy| policy.period_seconds)
        .max();
    SignedDuration::from_secs(longest.unwrap_or(0).into())
}

/// Whether a later change may have overwritten this one. A pass that stores an event overwrites according to
/// the periods of its own spec.
fn may_be_gone(known: &Known<'_>, counted: &[ScaleEvent], event: &ScaleEvent) -> bool {
    let up = event.replicas > 0;
    let outdated = event.time.plus(longest_period(known, up));
    let mut later = counted.iter().filter(|other| (other.replicas > 0) == up);
    known.spec_may_have_changed_since(event.time.minus(SECOND))
        || later.any(|other| other.time.plus(SECOND) > outdated)
}

/// Returns the possible times of the next pass, if the time makes a difference.
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

#[cfg(test)]
mod tests;
