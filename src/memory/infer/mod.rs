//! Infers the controller's memory from the API: the status that it last wrote, its events, its lease. Each
//! rule gives bounds that hold whatever else has happened; where nothing follows, nothing is claimed. The
//! next pass runs within a sync period from now, and anything that may have left its windows by then is
//! uncertain.

use jiff::{SignedDuration, Timestamp};

use super::ground;
use super::known::{Known, USUAL_DELAY};
use super::past_proposal::{self, PodCount, Pods};
use super::recommendations::{self, HeldRecommendation};
use super::rhythm::Rhythm;
use super::scale_events::Counts;
use super::sighting::Sighting;
use super::spans::{SECOND, longest};
use super::{
    Delay, Extreme, Knowledge, Memory, Possible, Remembered, holds, recorded, scale_events, states,
};
use crate::apimachinery::json::SecondsTime;
use crate::calendar::Calendar;
use crate::snapshot::basis::BasisView;
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::{DEPLOYMENT, Evidence, Lease};
use crate::snapshot::hpa::{Hpa, HpaSpec};
use crate::snapshot::input::Input;
use crate::snapshot::memory::{Recommendation, ScaleEvent};
use crate::snapshot::metric::Measured;
use crate::snapshot::pod::{Phase, Pod};
use crate::snapshot::written::Written;
use crate::snapshot::{Scale, Snapshot};

/// Infers the memory for the next pass over a target of this scale, with the observed HPA's own spec or another, to
/// which it is updated now. The controller keeps its lists by the HPA's key, so the pass finds the lists that passes
/// over the observed spec have left, and evaluates them with its own windows and periods. The evidence is about all
/// HPAs of the name.
pub fn infer(
    observed: &Snapshot,
    next: &Snapshot,
    scale: &Scale,
    evidence: &Evidence,
) -> Remembered {
    let hpa = &observed.hpa;
    let Snapshot {
        controller, now, ..
    } = next;
    let now = *now;
    if !times(hpa, now, evidence).all(is_ordinary) {
        return Remembered::unknown(now);
    }
    let mut known = Known::new(
        hpa,
        &next.hpa.spec,
        scale.spec_replicas,
        controller,
        now,
        evidence,
    );
    known.pods_created = created(observed);
    if never_reconciled(hpa) && !known.replaces_another && known.status_lost.is_none() {
        return Remembered {
            likely: Memory::default(),
            knowledge: Knowledge::JustStarted,
            possible: None,
            grounds: vec![BasisView::new(
                "history",
                "empty: no pass over this HPA yet",
                "its status",
            )],
            delay: known.delay(),
        };
    }
    let mut grounds = Vec::new();
    if known.status_since.is_none() {
        grounds.push(ground::recommendations(
            "the status says nothing about them",
            why_silent(&known),
        ));
    }
    let sighting = known.status_since.and_then(|since| {
        let (counted, there) = (evidence.counted.as_slice(), pods(observed, scale));
        states::sighted(hpa, controller, counted, since..=now, Some(there))
    });
    let held = recommendations::held(&known, sighting.as_ref(), &mut grounds);
    let (highest, lowest) = holds::extremes(&known, sighting.as_ref(), &held);
    let counts = scale_events::changes(&known, &mut grounds);
    let (down, up) = holds::ends(&known, sighting.as_ref(), &held);
    let possible = Possible {
        highest,
        lowest,
        changes: (!counts.is_open).then(|| counts.next.clone()),
        later: restarted(&known, &counts.later),
        down,
        up,
    };
    let likely = likely(&known, sighting.as_ref(), &held, &possible, &counts);
    let mut remembered = Remembered {
        likely,
        knowledge: knowledge(sighting.as_ref(), &held, &possible),
        possible: Some(possible),
        grounds,
        delay: known.delay(),
    };
    if let Some(past) = &evidence.recorded {
        recorded::narrow(&known, sighting.as_ref(), past, &mut remembered);
    }
    if remembered.knowledge == Knowledge::Inferred {
        remembered.grounds.push(running(&known));
    }
    remembered
}

/// Returns how well the recommendations are known: some of them, or bounds of all, or none.
fn knowledge(
    sighting: Option<&Sighting>,
    held: &[HeldRecommendation],
    possible: &Possible,
) -> Knowledge {
    let is_bounded = possible.highest.at_most.is_some() && possible.lowest.at_least.is_some();
    let is_told = sighting.is_some_and(|seen| is_bounded || !seen.proposal.is_empty());
    if held.is_empty() && !is_told {
        Knowledge::Unknown
    } else {
        Knowledge::Inferred
    }
}

/// Returns the creation times of the target's own pods.
fn created(observed: &Snapshot) -> Vec<Timestamp> {
    let own = observed.unended_pods().filter(|pod| !pod.is_foreign);
    own.filter_map(|pod| pod.created).collect()
}

/// Returns the pods of a target with this scale. Where none are known, all of them are ready, and all have samples.
fn pods(observed: &Snapshot, scale: &Scale) -> Pods {
    let replicas = scale.status_replicas;
    let samples = Measured::of(&observed.pod_metrics);
    let lacks = |pod: &Pod| !observed.pod_metrics.is_empty() && samples.of_pod(&pod.name).is_none();
    let without = |goes: &dyn Fn(&Pod) -> bool| {
        let pods = observed.unended_pods();
        let gone = pods.filter(|pod| pod.is_active() && goes(pod)).count();
        let gone = i32::try_from(gone).unwrap_or(replicas);
        replicas.saturating_sub(gone).max(0)
    };
    let of = |goes: fn(&Pod) -> bool| PodCount {
        all: without(&goes),
        measured: without(&|pod| goes(pod) || lacks(pod)),
    };
    Pods {
        replicas,
        begun: of(|pod| pod.phase == Phase::Pending),
        ready: of(|pod| !pod.is_ready()),
    }
}

/// Returns the reason why the status says nothing about the last pass.
fn why_silent(known: &Known<'_>) -> &'static str {
    if known.status_may_lag() {
        "event FailedUpdateStatus: a later one could not be written"
    } else if known.hpa.written.by_us {
        "kubectl-hpa wrote it, possibly without a pass since"
    } else if known.hpa.written.status.is_none() {
        "no pass since the HPA was replaced"
    } else {
        "the spec was changed after it was written"
    }
}

/// Returns the memories of a controller that has restarted, from the changes left to it, each with the greatest age of
/// the count that it found: it found that as early as possible, or at the next pass.
fn restarted(known: &Known<'_>, later: &[(Vec<ScaleEvent>, SignedDuration)]) -> Vec<Memory> {
    let of_age = |changes: &[ScaleEvent], age| {
        let (replicas, time) = (known.current, known.now.minus(age));
        Memory::new(vec![Recommendation { replicas, time }], changes)
    };
    later
        .iter()
        .flat_map(|(changes, age)| [*age, SignedDuration::ZERO].map(|age| of_age(changes, age)))
        .collect()
}

/// Returns the most likely memory.
fn likely(
    known: &Known<'_>,
    sighting: Option<&Sighting>,
    held: &[HeldRecommendation],
    possible: &Possible,
    counts: &Counts,
) -> Memory {
    // A longer window does not bring back what has been overwritten.
    let oldest = known.last_pass().minus(known.retention());
    let kept = held.iter().filter(|held| held.likely.time >= oldest);
    let (highest, lowest) = (possible.highest, possible.lowest);
    let recommendations = kept.map(|held| within(known, held.likely, highest, lowest));
    let changes = counts.next.first();
    let mut memory = Memory::new(recommendations.collect(), changes.map_or(&[], |it| it));
    // The last pass added nothing to the list, and left what is in it.
    if sighting.is_some() && memory.needs_seed() {
        if possible.has_no_recommendation() {
            return memory.without_recommendations();
        }
        let left = within(known, left_by_failures(known), highest, lowest);
        memory.recommendations.push(left);
    }
    memory
}

/// Returns the most likely recommendation before passes that made none: of the current replicas right before these, or
/// of those that the first of them found, for a new leader or if no pass before could read them.
fn left_by_failures(known: &Known<'_>) -> Recommendation {
    let written = known.status_written().unwrap_or(known.now);
    let since = known.failed_since().unwrap_or(written);
    let before = since.minus(known.rhythm.period).minus(USUAL_DELAY);
    let first = if known.is_readable_since(written) {
        Some(written)
    } else {
        known.led_since()
    };
    match first.filter(|first| *first > before) {
        Some(time) => Recommendation {
            replicas: known.hpa.status.current_replicas,
            time,
        },
        None => Recommendation {
            replicas: known.current,
            time: before,
        },
    }
}

/// Returns the most likely recommendation, within the bounds of the windows that contain it. Its time is
/// shifted by the time from now to the next pass.
fn within(
    known: &Known<'_>,
    likely: Recommendation,
    highest: Extreme,
    lowest: Extreme,
) -> Recommendation {
    let age = known.likely_pass().duration_since(likely.time);
    Recommendation {
        replicas: known.within_windows(likely.replicas, age, highest, lowest),
        time: known.now.minus(age),
    }
}

/// Returns all times used in calculations.
fn times<'a>(
    hpa: &'a Hpa,
    now: Timestamp,
    evidence: &'a Evidence,
) -> impl Iterator<Item = Timestamp> + 'a {
    let Written {
        created,
        spec,
        status,
        ..
    } = hpa.written;
    let conditions = hpa
        .status
        .conditions
        .iter()
        .map(|it| it.last_transition_time);
    let events = evidence
        .events
        .iter()
        .chain(&evidence.scaled)
        .flat_map(|event| [event.first, event.last]);
    let lease = evidence
        .lease
        .into_iter()
        .flat_map(|it| [it.acquired, it.renewed]);
    let seen = evidence
        .seen
        .iter()
        .flat_map(|seen| [seen.time, seen.until]);
    let rescales = evidence.rescales.iter().flat_map(|it| {
        it.changes
            .iter()
            .map(|change| change.time)
            .chain([it.since])
    });
    let stated = [Some(now), created, spec, status, hpa.status.last_scale_time];
    stated
        .into_iter()
        .chain(conditions)
        .chain(events)
        .flatten()
        .chain(lease)
        .chain(seen)
        .chain(rescales)
}

/// Whether a time leaves room for every duration on both sides. Times near the ends of the calendar
/// say nothing about a controller.
fn is_ordinary(time: Timestamp) -> bool {
    time.as_second().unsigned_abs() < 200_000_000_000
}

/// Returns the ground for the time since which the controller has had its history.
fn running(known: &Known<'_>) -> BasisView {
    let (value, source) = if let Some(lease) = known.lease {
        let since = SecondsTime(lease.acquired);
        (
            format!("leader since {since}, with no older history"),
            "the controller manager's lease",
        )
    } else if let Some(since) = known.still_running_since() {
        (
            format!("has not restarted since {}", SecondsTime(since)),
            "consecutive statuses; no current lease of a controller manager is known",
        )
    } else {
        (
            "may have restarted at any time".to_owned(),
            "no current lease of a controller manager is known",
        )
    };
    BasisView::new("controller", value, source)
}

/// Returns the time until the first pass of a leader over an HPA that existed when it took over, if that is still to
/// come: it is not due yet, or the status lacks the replicas that it would have found.
pub(super) fn until_first_pass(lease: &Lease, input: &Input) -> Option<Delay> {
    let snapshot = &input.snapshot;
    let rhythm = Rhythm::of(&snapshot.controller);
    let first = lease.acquired.plus(rhythm.first_delay());
    let late = rhythm.longest.minus(rhythm.period).plus(SECOND);
    let earliest = first.minus(SECOND);
    let until = |time: Timestamp| snapshot.now.max(time).duration_since(snapshot.now);
    let is_younger = snapshot.hpa.written.created > Some(lease.acquired);
    // Passes before may have been over another target.
    let changed = snapshot.hpa.written.spec;
    let is_unchanged = changed.is_some_and(|changed| changed <= lease.acquired);
    let set = input.replicas_unseen().filter(|_| is_unchanged);
    let is_unseen = set.is_some_and(|set| set.plus(SECOND) <= earliest);
    let is_to_come = snapshot.now <= earliest || is_unseen;
    (is_to_come && !is_younger).then(|| Delay {
        least: until(earliest),
        likely: until(first.plus(USUAL_DELAY)),
        most: until(first.plus(late)),
    })
}

/// Whether the events of the target, a Deployment, may change the answer: it relies on those of the HPA, which report
/// rescales but not scaling by others, or the lease has lapsed.
pub fn trusts_events(input: &Input) -> bool {
    let Input {
        snapshot, evidence, ..
    } = input;
    let is_deployment = snapshot.hpa.spec.scale_target_ref.is_kind(DEPLOYMENT);
    // They may show that there is a controller manager without the lease.
    if input.lapsed_lease().is_some() {
        return is_deployment;
    }
    let since = snapshot
        .now
        .checked_sub(window(&snapshot.hpa, &snapshot.controller));
    let is_seen = evidence.rescales.as_ref().zip(since.ok());
    let Some(possible) = Remembered::of(input).possible else {
        return false;
    };
    is_deployment
        && is_seen.is_none_or(|(seen, since)| seen.since > since)
        && possible
            .changes
            .iter()
            .flatten()
            .any(|list| !list.is_empty())
}

/// Whether a status reveals the proposal of an earlier pass, if the target's replicas at that time are
/// known.
pub fn averages_over_target(spec: &HpaSpec) -> bool {
    spec.metrics
        .iter()
        .any(past_proposal::is_average_over_target)
}

/// Returns the time for which the controller's history of an HPA counts, with a margin.
pub fn window(hpa: &Hpa, controller: &Controller) -> SignedDuration {
    longest(&hpa.spec, controller).plus(Rhythm::of(controller).longest)
}

/// Returns the most likely time of the next pass over the HPA of an input.
pub fn next_pass(input: &Input) -> Timestamp {
    let Input {
        snapshot:
            Snapshot {
                hpa,
                controller,
                now,
                ..
            },
        evidence,
        ..
    } = input;
    if !times(hpa, *now, evidence).all(is_ordinary) {
        return *now;
    }
    let current = hpa.status.current_replicas;
    Known::new(hpa, &hpa.spec, current, controller, *now, evidence).likely_pass()
}

/// Whether the controller has never written anything to the HPA.
fn never_reconciled(hpa: &Hpa) -> bool {
    hpa.status.is_empty() && hpa.written.status.is_none()
}

#[cfg(test)]
mod tests;
