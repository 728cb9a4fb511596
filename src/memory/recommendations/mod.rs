//! The recommendations that are certainly in the controller's list, from statuses, conditions and events.

use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::events::{Rescale, RescaleReason};
use super::ground;
use super::known::{Known, USUAL_DELAY};
use super::sighting::Sighting;
use super::spans::{SECOND, periods};
use crate::apimachinery::json::SecondsTime;
use crate::calendar::Calendar;
use crate::snapshot::basis::BasisView;
use crate::snapshot::evidence::SeenPass;
use crate::snapshot::hpa::{Behavior, Hpa, ScalingRules};
use crate::snapshot::memory::Recommendation;
use crate::snapshot::past::Bounds;

/// A recommendation that is certainly in the list, unless the controller has restarted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldRecommendation {
    /// The possible numbers of replicas.
    pub(super) replicas: RangeInclusive<i32>,
    /// The earliest possible time of the recommendation, if the next pass is as late as possible.
    pub(super) earliest: Timestamp,
    /// The most likely values.
    pub(super) likely: Recommendation,
}

impl HeldRecommendation {
    fn new(replicas: RangeInclusive<i32>, earliest: Timestamp, likely: Timestamp) -> Self {
        let (low, high) = (*replicas.start(), *replicas.end());
        let likeliest = if low == 0 && high < i32::MAX {
            high
        } else {
            low
        };
        let likely = Recommendation {
            replicas: likeliest,
            time: likely,
        };
        Self {
            replicas,
            earliest,
            likely,
        }
    }

    /// Returns the same with the most likely number of replicas.
    fn likely(mut self, replicas: Option<i32>) -> Self {
        self.likely.replicas = replicas.unwrap_or(self.likely.replicas);
        self
    }
}

/// Returns the recommendations that are certainly in the list.
pub(super) fn held(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    grounds: &mut Vec<BasisView>,
) -> Vec<HeldRecommendation> {
    let mut list = Vec::new();
    if let Some(seen) = sighting {
        let last_pass = known.last_pass();
        let source = status_source(known, seen);
        grounds.push(ground::recommendations(seen.to_string(), source));
        let likely = known.likely_last_pass().max(last_pass);
        // The next pass follows it within the longest time between two.
        let earliest = last_pass.max(known.latest_pass().minus(known.rhythm.longest));
        if !seen.proposal.is_empty() {
            let own = HeldRecommendation::new(seen.proposal.clone(), earliest, likely);
            list.push(own.likely(seen.likely));
        }
    }
    let mut others = seen(known, grounds);
    others.extend(first(known));
    others.extend(told_by_events(known, grounds));
    others.extend(limited(known));
    if let Some(seen) = sighting {
        list.extend(holding(known, seen, &others));
    }
    list.extend(others);
    list
}

/// Describes the parts of the last status that show what a sighting says.
fn status_source(known: &Known<'_>, sighting: &Sighting) -> String {
    let mut source = format!("condition {}, ", sighting.reason);
    source += &match known.status_written() {
        Some(written) => format!("status written {}", ground::ago(written, known.now)),
        None => "time unknown".to_owned(),
    };
    if let Some(counted) = sighting.counted {
        source += &format!("; status.currentMetrics, averages over {counted} replicas");
    }
    source
}

/// Returns the recommendations that held back the last pass: they were in that pass's window, and made
/// before it.
fn holding(
    known: &Known<'_>,
    sighting: &Sighting,
    others: &[HeldRecommendation],
) -> impl Iterator<Item = HeldRecommendation> {
    let last_pass = known.last_pass();
    let written = known.status_written().unwrap_or(known.now);
    let (up_window, down_window) = known.windows_before;
    let nearest = sighting.likely_hold();
    let down = sighting
        .held_down_by
        .map(|low| (low..=sighting.at_most.unwrap_or(i32::MAX), down_window));
    let up = sighting.held_up_by.map(|high| (0..=high, up_window));
    [down, up]
        .into_iter()
        .flatten()
        .map(move |(replicas, window)| {
            let oldest = last_pass.minus(window);
            // If everything in the window is known, it is one of the entries that qualify.
            let told = known.passes_since(oldest).unwrap_or_default();
            let fitting: Vec<&SeenPass> = told
                .iter()
                .filter(|seen| {
                    let Bounds { at_least, at_most } = known.listed(seen);
                    at_most >= *replicas.start() && at_least <= *replicas.end()
                })
                .collect();
            let earliest = fitting
                .first()
                .map(|seen| seen.time.minus(SECOND))
                .max(known.nothing_before())
                .map_or(oldest, |earliest| oldest.max(earliest));
            let looks =
                |seen: &&&SeenPass| seen.likely.is_some_and(|likely| replicas.contains(&likely));
            // A pass that does not look like it counted fewer pods, most likely right after they were added.
            let last_fitting = match fitting.iter().rfind(looks) {
                Some(seen) => Some(seen.time.max(seen.until.minus(known.rhythm.period))),
                None => fitting.last().map(|seen| seen.time),
            };
            // The status has changed with the first pass that it held back, unless an earlier one shows itself.
            let before = written.minus(known.rhythm.period).minus(USUAL_DELAY);
            let holds = |held: &&HeldRecommendation| {
                held.replicas.start() >= replicas.start() && held.replicas.end() <= replicas.end()
            };
            let shown = others
                .iter()
                .filter(holds)
                .map(|held| held.likely.time)
                .max();
            let latest = last_fitting.unwrap_or(before.max(shown.unwrap_or(before)));
            let hold = nearest.map(|it| it.max(*replicas.start()).min(*replicas.end()));
            HeldRecommendation::new(replicas, earliest, latest.max(earliest)).likely(hold)
        })
}

/// Returns the recommendations that overwritten statuses showed.
fn seen(known: &Known<'_>, grounds: &mut Vec<BasisView>) -> Vec<HeldRecommendation> {
    let mut list = Vec::new();
    let mut told: Option<(Timestamp, Timestamp)> = None;
    let seen = if known.seen_is_outdated() {
        &[]
    } else {
        known.seen
    };
    for (seen, recommended) in seen
        .iter()
        .filter_map(|seen| Some((seen, seen.recommended()?)))
    {
        // Passes with the same result do not write it again, unless one had a different result
        // that could not be written.
        let mut earliest = seen.time.minus(SECOND);
        if !known.has_lost_status_since(seen.time) {
            let unbroken = !known.may_have_restarted_unseen_since(earliest) && !seen.spec_changed;
            let since = Some(seen.time).filter(|_| unbroken);
            earliest = earliest.max(known.last_before(seen.until, since));
        }
        let Some(replicas) = survived(known, recommended.at_least..=recommended.at_most, earliest)
        else {
            continue;
        };
        let likely = seen
            .until
            .minus(known.rhythm.period)
            .max(seen.time)
            .max(earliest);
        list.push(HeldRecommendation::new(replicas, earliest, likely).likely(seen.likely));
        told = Some((told.map_or(seen.time, |(first, _)| first), seen.until));
    }
    if let Some((first, last)) = told {
        let (from, to) = (SecondsTime(first), SecondsTime(last));
        let when = if first == last {
            format!("at {from}")
        } else {
            format!("between {from} and {to}")
        };
        grounds.push(ground::recommendations(
            format!("{} more, {when}", list.len()),
            "earlier states of the HPA",
        ));
    }
    list
}

/// Returns the replicas that the very first pass found: they were a recommendation in addition to its own.
fn first(known: &Known<'_>) -> Option<HeldRecommendation> {
    let (found, time) = known.first_of_all()?;
    let earliest = time.minus(SECOND);
    // With another spec, a later pass may have overwritten it at once.
    if known.spec_may_have_changed_since(earliest) {
        return None;
    }
    let replicas = survived(known, found..=found, earliest)?;
    Some(HeldRecommendation::new(replicas, earliest, time))
}

/// Returns the bounds of the remainder of a recommendation since a time: the recommendation itself, or the
/// replicas that a controller that has started since then found. `None` if they are unknown.
fn survived(
    known: &Known<'_>,
    replicas: RangeInclusive<i32>,
    since: Timestamp,
) -> Option<RangeInclusive<i32>> {
    if !known.may_have_restarted_since(since) {
        return Some(replicas);
    }
    let found = if known.may_have_restarted_unseen_since(since) {
        known.found_since(since)?
    } else {
        known.found_now()
    };
    let (low, high) = replicas.into_inner();
    Some(low.min(found.at_least)..=high.max(found.at_most))
}

/// Returns the recommendations that rescales reveal.
fn told_by_events(known: &Known<'_>, grounds: &mut Vec<BasisView>) -> Vec<HeldRecommendation> {
    let mut list = Vec::new();
    let spec = &known.hpa.spec;
    let oldest = known.now.minus(known.down_window.max(known.up_window));
    for (place, rescale) in known.rescales.iter().enumerate() {
        // Without `behavior`, an older recommendation can raise the count whatever the metrics propose.
        let is_up = match rescale.reason {
            RescaleReason::AboveTarget => true,
            RescaleReason::AboveMax | RescaleReason::BelowMin => false,
            RescaleReason::BelowTarget | RescaleReason::None => spec.behavior.is_none(),
        };
        if rescale.time < oldest
            || !is_up
            // From zero, the minimum is applied whatever the metrics propose.
            || rescale.size <= spec.min()
            || known.spec_may_have_changed_since(rescale.time.minus(SECOND))
        {
            continue;
        }
        // The proposal was above the count. With `behavior`, nothing else can have raised it this far.
        let own = (rescale.size, rescale.time.minus(SECOND));
        let told = if spec.behavior.is_some() {
            Some(own)
        } else {
            raised(known, place)
        };
        let Some((low, earliest)) = told else {
            continue;
        };
        // If the controller has restarted since, it has used the count as a recommendation,
        // which was no lower than the lowest of these.
        let later = known.rescales[place..].iter().map(|rescale| rescale.size);
        let seed = later.fold(known.found_now().at_least, Ord::min);
        let at_least = if known.may_have_restarted_since(earliest) {
            low.min(seed)
        } else {
            low
        };
        let time = rescale.time;
        grounds.push(ground::recommendations(
            format!("at least {at_least} at {}", SecondsTime(time)),
            ground::BY_EVENTS,
        ));
        list.push(HeldRecommendation::new(at_least..=i32::MAX, earliest, time));
    }
    list
}

/// Returns the minimum of a recommendation that a rescale without `behavior` followed, and its earliest
/// time. An older one can have raised the count this far, unless an earlier pass would have followed it but
/// did not.
fn raised(known: &Known<'_>, place: usize) -> Option<(i32, Timestamp)> {
    let rescale = known.rescales[place];
    // Unless its own proposal was above the count, it is an older one.
    let is_own = rescale.reason == RescaleReason::AboveTarget;
    let grew = place > 0 && known.rescales[place - 1].size < rescale.size && !rescale.gap;
    if !is_own && !grew {
        return None;
    }
    for place in (1..=place).rev() {
        let (before, after) = (known.rescales[place - 1], known.rescales[place]);
        let able = known.has_written_since(before.time);
        let by_metrics = !matches!(
            before.reason,
            RescaleReason::AboveMax | RescaleReason::BelowMin
        );
        let lower = before.size < rescale.size && by_metrics;
        if known.spec_may_have_changed_since(before.time.minus(SECOND)) {
            return None;
        }
        // The pass before it was not stopped by a limit, so it proposed nothing higher.
        if lower && able && !after.gap && was_free_before(known, before.time, after.time) {
            if after == rescale && !is_own {
                return None;
            }
            let limited = known.condition_since("ScalingLimited", "True");
            let is_limited = after == rescale
                && limited.is_some_and(|it| it.duration_since(rescale.time).abs() <= SECOND);
            let low = rescale.size.saturating_add(i32::from(is_limited));
            return Some((low, after.time.minus(SECOND)));
        }
        // Nor was the pass of the rescale before.
        let count = place.checked_sub(2).map(|place| known.rescales[place].size);
        let is_free = count.filter(|_| !before.gap).is_some_and(|count| {
            // Otherwise, someone else has scaled in between.
            let follows = count < before.size || before.reason != RescaleReason::AboveTarget;
            let limit = count
                .saturating_mul(2)
                .max(4)
                .min(known.hpa.spec.max_replicas);
            follows && before.size < limit
        });
        if lower && is_free && (is_own || after != rescale) {
            let next = before.time.plus(known.rhythm.period).minus(SECOND);
            return Some((rescale.size, next));
        }
    }
    None
}

/// Whether the pass before a rescale was not stopped by a limit, unless that pass made the previous
/// rescale: it did not change the count, or `ScalingLimited` has shown it since.
fn was_free_before(known: &Known<'_>, before: Timestamp, rescale: Timestamp) -> bool {
    let apart = rescale.duration_since(before);
    let is_between = apart > known.rhythm.longest.plus(SECOND * 2);
    let since = |status| known.condition_since("ScalingLimited", status);
    let limited_first = since("True").is_some_and(|it| it.duration_since(rescale).abs() <= SECOND);
    is_between && known.has_been("ScalingActive", "True", before)
        || since("False").is_some_and(|it| it.plus(SECOND) < rescale)
        || limited_first && before.plus(SECOND) < rescale
}

/// Returns the recommendation that the last change of `ScalingLimited` shows with `behavior`: a limit kept
/// the pass at that time, or the one before it, from following its own proposal. Without `behavior`, only
/// that pass's proposal can have been new.
fn limited(known: &Known<'_>) -> Option<HeldRecommendation> {
    let (is_limited, changed) = match known.condition_since("ScalingLimited", "True") {
        Some(since) => (true, since),
        None => (false, known.condition_since("ScalingLimited", "False")?),
    };
    let before = changed.minus(known.rhythm.longest).minus(SECOND);
    if !is_steady_around(known, before) {
        return None;
    }
    let (earliest, likely) = if is_limited {
        (changed.minus(SECOND), changed)
    } else {
        (
            before,
            changed.minus(known.rhythm.period).minus(USUAL_DELAY),
        )
    };
    let spec = &known.hpa.spec;
    let count = known.hpa.status.current_replicas;
    let (up, down) = match &spec.behavior {
        None => {
            let is_at_max = count == spec.max_replicas && count > spec.min();
            (is_limited && is_at_max, false)
        }
        Some(behavior) => limited_sides(known, behavior, earliest, likely),
    };
    // A controller that has started since found the count.
    let found = known.may_have_restarted_since(earliest);
    let replicas = match (up, down) {
        (true, false) if found => known.found_now().at_least..=i32::MAX,
        (true, false) => count.saturating_add(1)..=i32::MAX,
        (false, true) if found => 0..=known.found_now().at_most,
        (false, true) if count > 0 => 0..=count - 1,
        _ => return None,
    };
    // The proposal was most likely far beyond the limit, and so held back nothing on the other side.
    let most = if up { spec.max_replicas } else { spec.min() };
    Some(HeldRecommendation::new(replicas, earliest, likely).likely(Some(most)))
}

/// Whether the passes around a time evaluated their metrics like all since, none of them has scaled, and each wrote its
/// status.
fn is_steady_around(known: &Known<'_>, time: Timestamp) -> bool {
    let status = &known.hpa.status;
    let start = time.minus(known.rhythm.longest);
    let evaluated = ["AbleToScale", "ScalingActive"]
        .iter()
        .all(|type_| known.has_been(type_, "True", start));
    let has_scaled = status
        .last_scale_time
        .is_some_and(|last| last.plus(SECOND) >= time);
    // A status that `apply` wrote, or that a pass could not write, is not the result of a pass.
    let is_own = |seen: &SeenPass| seen.until < time || seen.replicas.is_some();
    evaluated
        && !has_scaled
        && status.current_replicas == status.desired_replicas
        && known.seen.iter().all(is_own)
        && !known.has_lost_status_since(start)
        && !known.spec_may_have_changed_since(start)
}

/// Returns whether a limit may have stopped a proposal for more, and one for fewer replicas, that was made at these
/// times.
fn limited_sides(
    known: &Known<'_>,
    behavior: &Behavior,
    earliest: Timestamp,
    likely: Timestamp,
) -> (bool, bool) {
    let Hpa { spec, status, .. } = known.hpa;
    let count = status.current_replicas;
    let longest = periods(behavior).pop_last().unwrap_or_default();
    // Without a rescale to count, each policy leaves room for a change.
    let is_counted = status
        .last_scale_time
        .is_some_and(|last| last.plus(longest) >= earliest);
    let up = count == spec.max_replicas || is_counted || is_disabled(&behavior.scale_up);
    let down = count == spec.min() || is_counted || is_disabled(&behavior.scale_down);
    // The last rescale was to the count, and its recommendation still held the count up, or down.
    let (up_window, down_window) = known.windows_before;
    let last = known.rescales.last().filter(|last| {
        let is_last = status
            .last_scale_time
            .is_some_and(|time| time.duration_since(last.time).abs() <= SECOND);
        is_last && last.size == count
    });
    let by_last = |reason, window| {
        let age = |last: &Rescale| likely.duration_since(last.time).plus(SECOND * 3);
        last.is_some_and(|last| last.reason == reason && age(last) < window)
    };
    (
        up && !by_last(RescaleReason::BelowTarget, up_window),
        down && !by_last(RescaleReason::AboveTarget, down_window),
    )
}

/// Whether a direction of `behavior` is disabled.
fn is_disabled(rules: &Option<ScalingRules>) -> bool {
    rules.as_ref().is_some_and(ScalingRules::is_disabled)
}

#[cfg(test)]
mod tests;
