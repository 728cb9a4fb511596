//! The memory before a past pass, from the evidence of the passes before it in a history of samples. It is
//! assumed that the controller did not restart in the meantime, and the answer says so.

use jiff::{SignedDuration, Timestamp};

use super::ground;
use super::rhythm::Rhythm;
use super::spans::{SECOND, longest_period, windows};
use super::{Delay, Ends, Extreme, Knowledge, Memory, Possible, Remembered};
use crate::calendar::Calendar;
use crate::numbers;
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::HpaSpec;
use crate::snapshot::memory::{Recommendation, ScaleEvent};
use crate::snapshot::past::{Past, PastPart, PastPass, PastRescale};

/// Passes are a sync period apart, except for delays that add up over a window.
pub(super) const DRIFT: SignedDuration = SignedDuration::from_secs(2);

/// The minimum by which passes are more than a sync period apart.
pub(crate) const LITTLE: SignedDuration = SignedDuration::from_nanos(1);

/// Returns the earliest possible time of the first pass over an HPA.
pub fn first_pass(created: Timestamp, controller: &Controller) -> Timestamp {
    let delay = Rhythm::of(controller).first_delay().minus(SECOND);
    created
        .checked_add(delay.max(SignedDuration::ZERO))
        .unwrap_or(created)
}

/// Returns the memory for a pass over a spec.
pub fn remember(
    past: &Past,
    spec: &HpaSpec,
    controller: &Controller,
    now: Timestamp,
) -> Remembered {
    let (up_window, down_window) = windows(spec, controller);
    let surely_in = |window| certain(&past.passes, now, window);
    let maybe_in = |window| possible(&past.passes, now, window);
    let known = |replicas: i32| (replicas < i32::MAX).then_some(replicas);
    let least = |pass: &PastPass| pass.recommended.at_least;
    let most = |pass: &PastPass| pass.recommended.at_most;
    let highest = Extreme {
        at_least: surely_in(down_window).map(least).max(),
        at_most: known(maybe_in(down_window).map(most).max().unwrap_or(0)),
    };
    let lowest = Extreme {
        at_least: Some(maybe_in(up_window).map(least).min().unwrap_or(i32::MAX)),
        at_most: surely_in(up_window).map(most).filter_map(known).min(),
    };
    let down = Ends {
        soonest: surely_in(down_window).map(entry(least)).collect(),
        last: maybe_in(down_window).map(entry(most)).collect(),
    };
    let up = Ends {
        soonest: surely_in(up_window).map(entry(most)).collect(),
        last: maybe_in(up_window).map(entry(least)).collect(),
    };
    let (changes, likely_changes) = changes(past, spec, now);
    let is_counted = spec.behavior.is_none() || !past.lacks.contains(&PastPart::Replicas);
    let retention = up_window.max(down_window);
    // Passes are a little more than a sync period apart, so an entry as old as a window has left it.
    let recommendations = maybe_in(retention).filter_map(|it| {
        Some(Recommendation {
            replicas: it.likely?,
            time: it.time.minus(LITTLE),
        })
    });
    let likely = Memory::new(recommendations.collect(), &likely_changes);
    let mut grounds = Vec::new();
    if let (Some(first), Some(last)) = (past.passes.first(), past.passes.last()) {
        let count = numbers::count(past.passes.len(), "recommendation");
        let by_passes = ground::by_passes(first.time, last.time);
        grounds.push(ground::recommendations(
            format!("{count} {by_passes}"),
            "the samples around each",
        ));
    }
    if spec.behavior.is_some() {
        grounds.push(if is_counted {
            ground::recorded(&likely_changes)
        } else {
            ground::any_rescale("the replicas were not recorded")
        });
    }
    Remembered {
        likely,
        knowledge: Knowledge::Inferred,
        possible: Some(Possible {
            highest,
            lowest,
            changes: is_counted.then_some(changes),
            later: Vec::new(),
            down,
            up,
        }),
        grounds,
        delay: Delay::default(),
    }
}

/// Returns the passes that are certainly in a window that ends at a time.
pub(super) fn certain(
    passes: &[PastPass],
    end: Timestamp,
    window: SignedDuration,
) -> impl Iterator<Item = &PastPass> {
    let oldest = end.minus(window).plus(DRIFT);
    passes.iter().filter(move |pass| pass.time > oldest)
}

/// Returns the passes that may be in a window that ends at a time.
pub(super) fn possible(
    passes: &[PastPass],
    end: Timestamp,
    window: SignedDuration,
) -> impl Iterator<Item = &PastPass> {
    let oldest = end.minus(window).minus(DRIFT);
    let is_empty = window.is_zero();
    passes
        .iter()
        .filter(move |pass| !is_empty && pass.time >= oldest)
}

fn entry(replicas: impl Fn(&PastPass) -> i32) -> impl Fn(&PastPass) -> Recommendation {
    move |pass| Recommendation {
        replicas: replicas(pass),
        time: pass.time,
    }
}

/// Returns the lists of scale changes that bound their possible times, and the most likely list.
pub(super) fn changes(
    past: &Past,
    spec: &HpaSpec,
    now: Timestamp,
) -> (Vec<Vec<ScaleEvent>>, Vec<ScaleEvent>) {
    let Some(longest) = longest_period(spec) else {
        return (vec![Vec::new()], Vec::new());
    };
    let oldest = now.minus(longest);
    let mut lists: Vec<Vec<ScaleEvent>> = Vec::new();
    for (added, removed) in [(false, false), (true, true), (true, false), (false, true)] {
        let one = changes_after(oldest, past, |it| {
            let is_late = if it.replicas > 0 { added } else { removed };
            if is_late { it.until } else { it.from }
        });
        if !lists.contains(&one) {
            lists.push(one);
        }
    }
    let middle = |it: &PastRescale| it.from.plus(it.until.duration_since(it.from) / 2);
    let likely = changes_after(oldest, past, |it| it.likely.unwrap_or_else(|| middle(it)));
    (lists, likely)
}

/// Returns the scale changes after a time, each at its given time.
fn changes_after(
    oldest: Timestamp,
    past: &Past,
    time: impl Fn(&PastRescale) -> Timestamp,
) -> Vec<ScaleEvent> {
    let changes = past.rescales.iter().map(|it| ScaleEvent {
        replicas: it.replicas,
        time: time(it),
        outdated: false,
    });
    changes.filter(|it| it.time > oldest).collect()
}

#[cfg(test)]
mod tests;
