//! The state that leads to the recorded outcome: the record is what the pass did, whatever the samples show.
//! This searches for a state and a history of the controller that lead there, the likeliest first. Nothing
//! upstream corresponds to it.

use jiff::Timestamp;

use super::moment::Moments;
use super::replay::{ReplayedCourse, Replayer};
use super::view::View;
use super::{asked_by, sampled_pass};
use crate::calendar::Calendar;
use crate::engine;
use crate::memory::{Memory, Remembered, infer, sampled};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::input::Input;
use crate::snapshot::past::{Bounds, Past, PastPass, PastRescale};

/// The maximum number of passes to run before those whose history matters.
const EARLIER: i64 = 1000;

/// Makes the replicas that were recorded after a pass the likeliest answer. If the record leaves open which of several
/// passes made a change, the course of the passes that agrees best with it decides.
pub(super) fn follow(input: &mut Input, moments: &Moments<'_>, base: &Snapshot, at: Timestamp) {
    let Some(past) = &input.evidence.past else {
        return;
    };
    let Some(outcome) = past.outcome else { return };
    let memory = Remembered::of(input).likely;
    let Some(likely) = engine::reconcile(&input.snapshot, &memory).replicas_after() else {
        return;
    };
    if outcome == Bounds::exactly(likely) {
        return;
    }
    let mut replayer = Replayer::new(&input.snapshot);
    let path = replayer.best(moments, &passes_around(moments, base, past));
    let left = if outcome.contains(path.left) {
        path.left
    } else {
        likely.clamp(outcome.at_least, outcome.at_most)
    };
    if left == likely {
        return;
    }
    let mut asks = ViewedAsks {
        moments,
        base,
        found: Some(path.found),
        known: Vec::new(),
    };
    let pasts = pasts(past, &path, left);
    let led = asks.leading_to(left, &pasts, &mut replayer).or_else(|| {
        (asks.found, asks.known) = (None, Vec::new());
        asks.leading_to(left, &pasts, &mut replayer)
    });
    let Some((past, view)) = led else {
        return;
    };
    let Some(snapshot) = asks.viewed(view) else {
        return;
    };
    let hpa = Hpa {
        spec: snapshot.hpa.spec.clone(),
        ..input.snapshot.hpa.clone()
    };
    input.snapshot = Snapshot {
        hpa,
        now: at,
        ..snapshot
    };
    input.evidence.past = Some(Past {
        decided: true,
        changed: moments.restored(at, view).changed,
        ..past
    });
}

/// Returns the passes around the explained one, in order: those before it whose history may matter, and those
/// after it that may have made a change with it.
fn passes_around(moments: &Moments<'_>, base: &Snapshot, past: &Past) -> Vec<PastPass> {
    let course = &moments.course;
    let window = infer::window(&base.hpa, &base.controller);
    let since = base.now.minus(window.plus(window));
    let first = past.passes.first().map_or(0, |own| course.place(own.time));
    let mut passes = Vec::new();
    for place in (first - EARLIER..first).rev() {
        let time = course.time_of(place);
        let snapshot = moments.at(base, time, View::LIKELY);
        let Some(snapshot) = snapshot.filter(|_| since <= time) else {
            break;
        };
        let likely = asked_by(&snapshot).and_then(|(_, likely)| likely);
        let bounds = likely.map_or(Bounds::UNKNOWN, Bounds::exactly);
        passes.push(sampled_pass(time, bounds, likely));
    }
    passes.reverse();
    passes.extend(&past.passes);
    for place in 0..=course.last_open() {
        let time = course.time_of(place);
        let (bounds, likely) = moments
            .played(base, time)
            .unwrap_or((Bounds::UNKNOWN, None));
        passes.push(sampled_pass(time, bounds, likely));
    }
    passes
}

/// The proposals of the pass on the views of the samples; they do not depend on the controller's history.
struct ViewedAsks<'m> {
    moments: &'m Moments<'m>,
    base: &'m Snapshot,
    /// The replicas that the pass found, whichever side of the samples a view shows; `None` if these are as they show.
    found: Option<i32>,
    known: Vec<(View, Option<ViewedAsk>)>,
}

/// The replicas that a pass proposes for a number of current ones; `None` if it cannot decide.
#[derive(Debug, Clone, Copy)]
struct ViewedAsk {
    current: i32,
    desired: Option<i32>,
}

impl ViewedAsks<'_> {
    /// Returns the first past and view that lead to the replicas that a pass left.
    fn leading_to(
        &mut self,
        left: i32,
        pasts: &[Past],
        replayer: &mut Replayer,
    ) -> Option<(Past, View)> {
        let Snapshot {
            hpa,
            controller,
            now,
            ..
        } = self.base;
        for shares in [View::WITHIN, View::PEAKS] {
            for past in pasts {
                let memory = sampled::remember(past, &hpa.spec, controller, *now).likely;
                for state in View::states() {
                    if self.outcome(state, &memory, replayer) == Some(left) {
                        return Some((past.clone(), state));
                    }
                    // The more usage, the more replicas.
                    let (mut low, mut high) = (*shares.start(), *shares.end());
                    while low < high {
                        let middle = u32::midpoint(low, high);
                        match self.outcome(state.with_share(middle), &memory, replayer) {
                            Some(replicas) if replicas < left => low = middle + 1,
                            _ => high = middle,
                        }
                    }
                    let view = state.with_share(low);
                    if self.outcome(view, &memory, replayer) == Some(left) {
                        return Some((past.clone(), view));
                    }
                }
            }
        }
        None
    }

    fn outcome(&mut self, view: View, memory: &Memory, replayer: &mut Replayer) -> Option<i32> {
        let ViewedAsk { current, desired } = self.over(view)?;
        replayer.take_limits(self.moments, self.base.now, view);
        let Some(desired) = desired else {
            return Some(replayer.unasked(current));
        };
        Some(replayer.replicas(self.base.now, memory, current, desired))
    }

    /// Returns the state that a view shows.
    fn viewed(&self, view: View) -> Option<Snapshot> {
        let mut snapshot = self.moments.at(self.base, self.base.now, view)?;
        if let (Ok(scale), Some(found)) = (&mut snapshot.scale, self.found) {
            scale.spec_replicas = found;
        }
        Some(snapshot)
    }

    fn over(&mut self, view: View) -> Option<ViewedAsk> {
        if let Some((_, known)) = self.known.iter().find(|(own, _)| *own == view) {
            return *known;
        }
        let now = self.base.now;
        let snapshot = self.viewed(view);
        let asked = snapshot.and_then(|snapshot| {
            let snapshot = Snapshot { now, ..snapshot };
            let current = snapshot.scale.as_ref().ok()?.spec_replicas;
            Some(ViewedAsk {
                current,
                desired: asked_by(&snapshot).and_then(|(_, likely)| likely),
            })
        });
        self.known.push((view, asked));
        asked
    }
}

/// Returns the possible histories before a pass that left these replicas, the likeliest first: the course
/// that agrees best with the record, the likeliest samples, and recommendations as near to the record as the
/// samples allow, or nearer.
fn pasts(past: &Past, path: &ReplayedCourse, left: i32) -> Vec<Past> {
    let likeliest = along(past, path);
    let nearest = |pass: &PastPass| left.clamp(pass.recommended.at_least, pass.recommended.at_most);
    let (near, there) = (
        recommending(&likeliest, nearest),
        recommending(&likeliest, |_| left),
    );
    let all = [likeliest, past.clone(), near, there];
    let early = all.iter().map(|past| rescaling(past, |own| own.from));
    let late = all.iter().map(|past| rescaling(past, |own| own.until));
    all.iter().cloned().chain(early).chain(late).collect()
}

/// Returns the past with other likely recommendations.
fn recommending(past: &Past, replicas: impl Fn(&PastPass) -> i32) -> Past {
    let mut other = past.clone();
    for pass in &mut other.passes {
        pass.likely = Some(replicas(pass));
    }
    other
}

/// Returns the past with rescales at other likely times.
fn rescaling(past: &Past, time: impl Fn(&PastRescale) -> Timestamp) -> Past {
    let mut other = past.clone();
    for rescale in &mut other.rescales {
        rescale.likely = Some(time(rescale));
    }
    other
}

/// Returns the past with the recommendations and rescales along a course.
fn along(past: &Past, path: &ReplayedCourse) -> Past {
    let mut other = past.clone();
    for pass in &mut other.passes {
        let recommended = path.recommended.iter().find(|own| own.time == pass.time);
        pass.likely = recommended.map(|own| own.replicas).or(pass.likely);
    }
    for rescale in &mut other.rescales {
        let PastRescale {
            replicas,
            from,
            until,
            ..
        } = *rescale;
        let mut events = path.rescales.iter().filter(|own| own.replicas == replicas);
        let event = events.find(|own| from <= own.time && own.time <= until);
        rescale.likely = event.map(|own| own.time);
    }
    other
}
