//! The events of the controller about an HPA: the rescales that they report, and those that the controller's
//! recorder, which limits and merges events, may have kept from being reported.

use jiff::{SignedDuration, Timestamp};

use super::spans::SECOND;
use crate::calendar::Calendar;
use crate::snapshot::evidence::{EVENTS_KEPT, Event};

/// The reason of events about rescales.
const RESCALED: &str = "SuccessfulRescale";
/// The burst of events about one object that the controller's recorder accepts, and the time until it
/// accepts one more.
const BURST: i64 = 25;
const REFILL: SignedDuration = SignedDuration::from_mins(5);
/// The maximum number of rescales that are read from events, more than the recorder accepts in a day.
const MOST_RESCALES: usize = 1000;

/// A rescale that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rescale {
    /// The time of the event; the rescale was at most a second later.
    pub(super) time: Timestamp,
    /// The new number of replicas.
    pub(super) size: i32,
    /// The reason.
    pub(super) reason: RescaleReason,
    /// Whether there were other rescales since the previous one that are not reported individually.
    pub(super) gap: bool,
}

/// The reason in an event, fixed before stabilization and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RescaleReason {
    /// A metric was above its target.
    AboveTarget,
    /// All metrics were below their targets.
    BelowTarget,
    /// The count was outside the bounds.
    AboveMax,
    BelowMin,
    /// The metrics proposed no change.
    None,
}

/// The events about an object that the controller's recorder has accepted since a time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recorder {
    start: Timestamp,
    /// The number that it could accept at the start.
    full: i64,
    /// The number that it has accepted since.
    pub(super) used: i64,
}

impl Recorder {
    pub(super) fn new(
        events: &[&Event],
        now: Timestamp,
        nothing_before: Option<Timestamp>,
    ) -> Self {
        let kept_since = now.minus(EVENTS_KEPT);
        let (start, full) = match nothing_before {
            Some(start) if start > kept_since => (start, BURST),
            _ => (kept_since, 0),
        };
        // Events before the start have used none of the tokens since then.
        let counts = |it: &&&Event| it.last.is_none_or(|last| last.plus(SECOND) >= start);
        let used = events
            .iter()
            .filter(counts)
            .map(|it| i64::from(it.count))
            .sum();
        Self { start, full, used }
    }

    /// Whether it cannot have dropped an event since some time.
    pub(super) fn drops_none_since(&self, time: Timestamp) -> bool {
        let refilled = time.duration_since(self.start).as_secs() / REFILL.as_secs();
        self.used < BURST.min(self.full + refilled.max(0))
    }
}

/// Returns the time of the last event with a reason.
pub(super) fn last_of(events: &[&Event], reason: &str) -> Option<Timestamp> {
    of_reason(events, reason)
        .filter_map(|event| event.last)
        .max()
}

/// Returns the events with a reason.
fn of_reason<'e>(events: &[&'e Event], reason: &str) -> impl Iterator<Item = &'e Event> {
    events
        .iter()
        .copied()
        .filter(move |event| event.reason == reason)
}

/// Returns the first and the last time of each event about rescales.
pub(super) fn rescale_spans(events: &[&Event]) -> Vec<(Timestamp, Timestamp)> {
    of_reason(events, RESCALED)
        .filter_map(|event| event.first.or(event.last).zip(event.last))
        .collect()
}

/// Returns the rescales that events report, the oldest first. A repeated event reports only its first and
/// its last time.
pub(super) fn rescales(events: &[&Event]) -> Vec<Rescale> {
    let mut rescales = Vec::new();
    for event in of_reason(events, RESCALED) {
        // The recorder merges frequent events, and keeps only the last message.
        let separate = event
            .message
            .strip_prefix("(combined from similar events): ");
        let Some((size, reason)) = size_and_reason(separate.unwrap_or(&event.message)) else {
            continue;
        };
        let reason = match reason {
            "All metrics below target" => RescaleReason::BelowTarget,
            "Current number of replicas above Spec.MaxReplicas" => RescaleReason::AboveMax,
            "Current number of replicas below Spec.MinReplicas" => RescaleReason::BelowMin,
            reason if reason.ends_with(" above target") => RescaleReason::AboveTarget,
            _ => RescaleReason::None,
        };
        let first = event.first.or(event.last).filter(|_| event.count > 1);
        let hides = event.count > if separate.is_some() { 1 } else { 2 };
        for (time, gap) in [(first, separate.is_some()), (event.last, hides)] {
            rescales.extend(time.map(|time| Rescale {
                time,
                size,
                reason,
                gap,
            }));
        }
    }
    rescales.sort_by_key(|rescale| rescale.time);
    let many = rescales.len().saturating_sub(MOST_RESCALES);
    rescales.drain(..many);
    if let Some(first) = rescales.first_mut().filter(|_| many > 0) {
        first.gap = true;
    }
    // The rescales that a gap hides may be at any time since the first of the repeats.
    if let Some(last_gap) = rescales.iter().rposition(|rescale| rescale.gap) {
        for rescale in &mut rescales[..last_gap] {
            rescale.gap = true;
        }
    }
    rescales
}

/// Reads `New size: 4; reason: cpu resource utilization (...) above target`.
fn size_and_reason(message: &str) -> Option<(i32, &str)> {
    let (size, reason) = message
        .strip_prefix("New size: ")?
        .split_once("; reason: ")?;
    Some((size.parse().ok()?, reason))
}
