//! The bounds that a history of samples adds to the memory of the controller now. They are used only where
//! they agree with the API, and only narrow the existing bounds.

use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

use super::ground;
use super::known::Known;
use super::sampled::{self, DRIFT};
use super::sighting::Sighting;
use super::{Ends, Extreme, Knowledge, Remembered, holds};
use crate::calendar::Calendar;
use crate::snapshot::basis::BasisView;
use crate::snapshot::memory::{Memory, Recommendation, ScaleEvent};
use crate::snapshot::past::{Bounds, Past, PastPart, PastPass};

/// The point on which a history contradicts the API: the recommendation of a pass.
const RECOMMENDATIONS: &str =
    "the recorded metrics lead to other recommendations than the status shows";

/// Narrows the bounds of a memory.
pub(super) fn narrow(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    past: &Past,
    remembered: &mut Remembered,
) {
    if let Some(contradiction) = contradiction(known, sighting, past) {
        remembered.grounds.push(contradicted(contradiction));
        return;
    }
    let Some(possible) = &mut remembered.possible else {
        return;
    };
    if known.hpa.written.spec.is_none() {
        remembered.grounds.push(ground::recommendations(
            "none by recorded passes, which may be over another spec",
            "no time of the spec in managedFields, which kubectl get --show-managed-fields prints",
        ));
    }
    let passes = passes(known, sighting, past);
    let recorded = RecordedPasses {
        known,
        first: past.passes.first().map(|pass| pass.time),
        passes: &passes,
    };
    let added = holds::added_bounds(known, sighting);
    let (highest, lowest) = (recorded.highest(added), recorded.lowest(added));
    let (Some(highest), Some(lowest)) = (
        both(possible.highest, highest),
        both(possible.lowest, lowest),
    ) else {
        remembered.grounds.push(contradicted(RECOMMENDATIONS));
        return;
    };
    let mut told = passes.iter().filter(|pass| is_told(pass));
    if let Some(first) = told.next()
        && (highest, lowest) != (possible.highest, possible.lowest)
    {
        remembered.knowledge = Knowledge::Inferred;
        let last = told.next_back().unwrap_or(first).time;
        let by_passes = ground::by_passes(first.time, last);
        remembered.grounds.push(ground::recommendations(
            format!("narrower bounds, {by_passes}"),
            &past.source,
        ));
        (possible.highest, possible.lowest) = (highest, lowest);
        recorded.shorten(&mut possible.down, &mut possible.up);
        let likely = &mut remembered.likely.recommendations;
        likely.extend(recorded.likely());
        for entry in likely {
            let age = known.now.duration_since(entry.time);
            entry.replicas = known.within_windows(entry.replicas, age, highest, lowest);
        }
    }
    if possible.changes.is_none()
        && let Some(lists) = changes(known, past)
    {
        let likely = lists.first().cloned().unwrap_or_default();
        let memory = &mut remembered.likely;
        *memory = Memory::new(std::mem::take(&mut memory.recommendations), &likely);
        possible.changes = Some(lists);
        remembered
            .grounds
            .retain(|own| own.item != ground::SCALE_EVENTS);
        remembered.grounds.push(ground::recorded(&likely));
    }
}

/// Whether the samples tell something about the recommendation of a pass.
fn is_told(pass: &PastPass) -> bool {
    pass.recommended != Bounds::UNKNOWN
}

/// Returns the ground for not using a history that contradicts the API.
fn contradicted(on: &str) -> BasisView {
    BasisView::new("history", "not taken from Prometheus", on)
}

/// Returns the point on which a history contradicts the API.
fn contradiction(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    past: &Past,
) -> Option<&'static str> {
    let last_scale = known.hpa.status.last_scale_time;
    // A change since the last scrape is not recorded yet.
    let is_settled =
        last_scale.is_none_or(|last| last.plus(known.rhythm.longest.saturating_mul(3)) < known.now);
    if is_settled && !past.replicas.contains(known.current) {
        return Some("the recorded replicas are not those of the target");
    }
    let last = known
        .status_written()
        .zip(sighting)
        .filter(|(_, seen)| !seen.proposal.is_empty())
        .map(|(written, seen)| (written, *seen.proposal.start(), *seen.proposal.end()));
    let seen = known
        .seen
        .iter()
        .filter(|seen| !seen.spec_changed)
        .filter_map(|seen| Some((seen.time, seen.recommended()?)))
        .map(|(time, it)| (time, it.at_least, it.at_most));
    let differs = last.into_iter().chain(seen).any(|(time, low, high)| {
        let mut passes = past.passes.iter();
        passes
            .find(|pass| pass.time.duration_since(time).abs() <= DRIFT)
            .map(|pass| pass.recommended)
            .is_some_and(|bounds| bounds.at_most < low || high < bounds.at_least)
    });
    differs.then_some(RECOMMENDATIONS)
}

/// Returns the recommendation that each replayed pass left in the list. Nothing is known about passes over
/// another spec, and a controller that has started since has recommended one of the counts that it found. A pass
/// whose status shows that it failed has left none of its own.
fn passes(known: &Known<'_>, sighting: Option<&Sighting>, past: &Past) -> Vec<PastPass> {
    let failures = failures(known, sighting);
    let mut found = known.found_now();
    let mut passes = Vec::new();
    for pass in past.passes.iter().rev() {
        let before = pass.time.minus(DRIFT);
        found = pass
            .found
            .map_or(Bounds::UNKNOWN, |replicas| found.hull(replicas));
        let has_failed = failures.iter().any(|times| times.contains(&pass.time));
        // The first pass of a controller that finds the scale recommends it, even if it fails.
        let may_be_first = known.may_have_restarted_since(before)
            || known.is_first_pass(before)
            || known.is_readable_since(before);
        let mut left = *pass;
        if known.spec_may_have_changed_since(before) || has_failed && may_be_first {
            (left.recommended, left.likely) = (Bounds::UNKNOWN, None);
        } else if has_failed {
            continue;
        } else if may_be_first {
            left.recommended = pass.recommended.hull(found);
        }
        passes.push(left);
    }
    passes.reverse();
    passes
}

/// Returns the spans of the passes that, as their statuses show, made no recommendation.
fn failures(known: &Known<'_>, sighting: Option<&Sighting>) -> Vec<Range<Timestamp>> {
    let seen = known.seen.iter().filter(|seen| seen.recommended_nothing());
    let mut spans: Vec<_> = seen
        .map(|seen| seen.time.minus(DRIFT)..seen.until.minus(DRIFT))
        .collect();
    let last = sighting.filter(|seen| seen.proposal.is_empty());
    let since = known.failed_since().filter(|_| last.is_some());
    spans.extend(since.map(|since| since.minus(DRIFT)..Timestamp::MAX));
    spans
}

/// Returns the values that satisfy both bounds, if any.
fn both(one: Extreme, other: Extreme) -> Option<Extreme> {
    let at_least = one.at_least.max(other.at_least);
    let at_most = match (one.at_most, other.at_most) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let is_empty = at_least.zip(at_most).is_some_and(|(low, high)| low > high);
    (!is_empty).then_some(Extreme { at_least, at_most })
}

/// The passes of a history, as the next pass remembers them.
struct RecordedPasses<'r> {
    known: &'r Known<'r>,
    /// The time of the first pass, even if it left no recommendation.
    first: Option<Timestamp>,
    passes: &'r [PastPass],
}

impl RecordedPasses<'_> {
    /// Returns the passes that are certainly in a window at the next pass, and whose recommendations no other
    /// pass has overwritten.
    fn certain(&self, window: SignedDuration) -> impl Iterator<Item = &PastPass> {
        let remembered = window.min(self.known.retention());
        sampled::certain(self.passes, self.known.latest_pass(), remembered)
    }

    /// Returns the passes that may be in a window.
    fn possible(&self, window: SignedDuration) -> impl Iterator<Item = &PastPass> {
        sampled::possible(self.passes, self.known.earliest_pass(), window)
    }

    /// Whether no pass in a window is older than the first of these.
    fn reaches(&self, window: SignedDuration) -> bool {
        let oldest = self.known.earliest_pass().minus(window);
        self.first.is_some_and(|first| {
            first <= oldest.plus(self.known.rhythm.period)
                || self.known.is_first_pass(first.minus(DRIFT))
        })
    }

    fn highest(&self, added: Bounds) -> Extreme {
        let window = self.known.down_window;
        let at_most = self
            .possible(window)
            .map(|it| it.recommended.at_most)
            .fold(added.at_most, Ord::max);
        Extreme {
            at_least: self.certain(window).map(|it| it.recommended.at_least).max(),
            at_most: (at_most < i32::MAX && self.reaches(window)).then_some(at_most),
        }
    }

    fn lowest(&self, added: Bounds) -> Extreme {
        let window = self.known.up_window;
        let at_least = self
            .possible(window)
            .map(|it| it.recommended.at_least)
            .fold(added.at_least, Ord::min);
        let at_most = self.certain(window).map(|it| it.recommended.at_most);
        Extreme {
            at_least: (at_least > 0 && self.reaches(window)).then_some(at_least),
            at_most: at_most.filter(|it| *it < i32::MAX).min(),
        }
    }

    /// Adds the certain recommendations to the lists with which holds end soonest.
    fn shorten(&self, down: &mut Ends, up: &mut Ends) {
        let known = self.known;
        let later = known.latest_pass().duration_since(known.now).plus(DRIFT);
        let entry = |replicas: i32, pass: &PastPass| Recommendation {
            replicas,
            time: pass.time.minus(later),
        };
        for pass in self.certain(known.down_window) {
            down.soonest.push(entry(pass.recommended.at_least, pass));
        }
        for pass in self.certain(known.up_window) {
            up.soonest.push(entry(pass.recommended.at_most, pass));
        }
    }

    /// Returns the most likely recommendations, as old as they will be at the next pass.
    fn likely(&self) -> impl Iterator<Item = Recommendation> {
        let later = self.known.likely_pass().duration_since(self.known.now);
        let written = self.known.status_written();
        // What the last status shows is more exact.
        let passes = self
            .passes
            .iter()
            .filter(move |pass| is_told(pass) && written.is_none_or(|it| pass.time < it));
        passes.filter_map(move |pass| {
            Some(Recommendation {
                replicas: pass.likely?,
                time: pass.time.minus(later),
            })
        })
    }
}

/// Returns the changes that the rate limits may count according to the recorded replicas, if these agree
/// with the last rescale in the status, and nothing can have been forgotten.
fn changes(known: &Known<'_>, past: &Past) -> Option<Vec<Vec<ScaleEvent>>> {
    let first = past.rescales.first().map(|it| it.from);
    let is_whole = !past.lacks.contains(&PastPart::Replicas)
        && known.status_lost.is_none()
        && first.is_none_or(|first| {
            !known.may_have_restarted_since(first) && !known.spec_may_have_changed_since(first)
        });
    let last = past.rescales.last().zip(known.hpa.status.last_scale_time);
    let agrees = last.is_some_and(|(rescale, last)| {
        rescale.from.minus(DRIFT) <= last && last <= rescale.until.plus(DRIFT)
    });
    if !is_whole || !agrees {
        return None;
    }
    let passes = [
        known.likely_pass(),
        known.earliest_pass(),
        known.latest_pass(),
    ];
    let mut lists = Vec::new();
    for pass in passes {
        let later = pass.duration_since(known.now);
        let (all, likely) = sampled::changes(past, known.next, pass);
        for mut list in [likely].into_iter().chain(all) {
            for event in &mut list {
                event.time = event.time.minus(later);
            }
            lists.push(list);
        }
    }
    Some(lists)
}
