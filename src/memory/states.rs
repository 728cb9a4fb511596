//! The evidence in the states of an HPA that its API server still has, or that were observed while it was
//! watched: each status was written by a pass, and confirmed by later passes with the same result. The
//! current status is evidence of the last pass in the same way.

use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::past_proposal::{self, Pods};
use super::rhythm::Rhythm;
use super::sighting::{self, Sighting};
use super::spans::{SECOND, SLACK, windows};
use crate::calendar::Calendar;
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::{Counted, Rescales, SeenPass};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::written::Written;

/// Whether other states may have existed between the known states of an HPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// There were no other states.
    Whole,
    /// There may have been other states.
    Glimpses,
}

/// Returns the evidence that the states of an HPA, in order and with the HPA itself last, contain about the
/// passes whose status has been overwritten. States of an earlier HPA of the same name do not count.
/// `counted` has the known replica counts of the target during that time.
pub fn seen(
    hpa: &Hpa,
    controller: &Controller,
    states: &[Hpa],
    counted: &[Counted],
    chain: Chain,
) -> Vec<SeenPass> {
    (0..states.len())
        .filter_map(|place| overwritten(hpa, controller, &states[place..], counted, chain))
        .collect()
}

/// Returns the evidence in the first of these states, which the second has overwritten; `None` if it has none that still
/// counts.
fn overwritten(
    hpa: &Hpa,
    controller: &Controller,
    states: &[Hpa],
    counted: &[Counted],
    chain: Chain,
) -> Option<SeenPass> {
    let [state, next, ..] = states else {
        return None;
    };
    if state.uid != hpa.uid || next.uid != hpa.uid || outdates(states, controller) {
        return None;
    }
    let written = state.written.status?;
    let time = state.written.spec.map_or(written, |spec| written.max(spec));
    // Both are only new if a state in between is missing.
    let changes = [next.written.status, next.written.spec];
    let changed = changes
        .into_iter()
        .flatten()
        .filter(|it| *it > time)
        .min()?;
    let rhythm = Rhythm::of(controller);
    let before = changed.minus(rhythm.period.minus(SECOND));
    let (until, last) = match chain {
        Chain::Glimpses => (time, time),
        // The pass that changed it came a sync period after the last that did not.
        Chain::Whole
            if next.written.status == Some(changed)
                && !next.written.by_us
                && rhythm.is_regular_since(before.minus(SECOND), state) =>
        {
            (changed, time.max(before))
        }
        Chain::Whole => (changed, changed),
    };
    // The known counts are those of the current target.
    let target = &state.spec.scale_target_ref;
    let own_counts = if target.is_same(&hpa.spec.scale_target_ref) {
        counted
    } else {
        &[]
    };
    let since = passed_since(state, None, until, &rhythm);
    let sighting =
        since.and_then(|since| sighted(state, controller, own_counts, since..=last, None));
    let may_lack_recommendation = sighting.is_none();
    let (proposal, likely) = match sighting {
        Some(sighting) => (sighting.proposal, sighting.likely),
        None => (0..=i32::MAX, None),
    };
    let (at_least, at_most) = proposal.into_inner();
    Some(SeenPass {
        at_least,
        at_most,
        likely,
        replicas: sighting::found(state),
        time,
        until,
        spec_changed: time > written || state.written.by_us,
        may_lack_recommendation,
    })
}

/// Whether recommendations that the controller remembered at the first of some states may have left a
/// window since, although they are inside the window of the last state.
fn outdates(states: &[Hpa], controller: &Controller) -> bool {
    let mut longest = states.iter().map(|state| {
        let (up, down) = windows(&state.spec, controller);
        up.max(down)
    });
    let last = longest.next_back();
    longest.any(|window| last.is_some_and(|last| window < last))
}

/// Returns the evidence in a status about the passes that left it during a period; `there` is the current
/// pods, if they may also have been the pods then.
pub(super) fn sighted(
    hpa: &Hpa,
    controller: &Controller,
    counted: &[Counted],
    passes: RangeInclusive<Timestamp>,
    there: Option<Pods>,
) -> Option<Sighting> {
    let mut sighting = sighting::read(&hpa.spec, &hpa.status)?;
    let (first, last) = passes.into_inner();
    // Each of several passes may have computed its averages over a different count.
    let rhythm = Rhythm::of(controller);
    let single = last.duration_since(first) < rhythm.period.minus(SECOND)
        && rhythm.is_regular_since(first, hpa);
    let count = counted.iter().find(|count| {
        first.duration_since(count.since) > SECOND.plus(SLACK)
            && first <= count.until
            && (single || last <= count.until)
    });
    let asked = past_proposal::read(hpa, controller, count, there);
    if let Some((low, high)) = asked.within(&sighting.proposal) {
        sighting.counted = count
            .filter(|_| sighting.proposal != (low..=high))
            .map(|count| count.replicas);
        sighting.narrow(low, high);
        // Going up, pods that did not exist yet have counted for nothing.
        let likely = asked.likely.filter(|_| high < i32::MAX || there.is_some());
        sighting.likely = likely.map(|likely| likely.clamp(low, high));
    }
    Some(sighting)
}

/// Returns the time since which passes over the current spec have left the status unchanged, up to a given
/// time; `None` if there may have been none. A pass does not write an unchanged status again. `led_since` is the time
/// since which the leader, if one is known, has run passes.
pub(super) fn passed_since(
    hpa: &Hpa,
    led_since: Option<Timestamp>,
    until: Timestamp,
    rhythm: &Rhythm,
) -> Option<Timestamp> {
    let Written {
        status,
        spec,
        by_us,
        ..
    } = hpa.written;
    let observed = hpa.status.observed_generation;
    if rhythm.is_pending(hpa) {
        return None;
    }
    match (status, spec) {
        // The status names the spec that its pass found.
        (Some(status), Some(_))
            if rhythm.extra_on_change
                && !by_us
                && observed.is_some()
                && observed == hpa.generation =>
        {
            Some(status)
        }
        (Some(status), Some(spec)) if status > spec && !by_us => Some(status),
        (None, Some(_)) => None,
        // The time at which it was written is unknown as well, or no one else has written anything.
        (status, None) if !by_us => Some(status.unwrap_or(Timestamp::MIN)),
        (status, spec) => {
            let changed = status.max(spec)?;
            let since = led_since.map_or(changed, |led| changed.max(led));
            let passed = until.duration_since(since) >= SECOND.plus(rhythm.longest);
            passed.then_some(since)
        }
    }
}

/// Returns the rescales that the states of an HPA show, with the HPA itself last; `None` if they are of no use, or if
/// the states of a whole chain do not show the effect of each rescale.
pub fn rescales_seen(hpa: &Hpa, states: &[Hpa], chain: Chain) -> Option<Rescales> {
    if states.len() < 2 || states.iter().any(|state| state.uid != hpa.uid) {
        return None;
    }
    // Before the first status there was no pass.
    let first = states.first()?;
    let since = match chain {
        Chain::Whole => first.written.status.or(first.written.created)?,
        Chain::Glimpses => hpa.written.by_pass()?,
    };
    // The pass of the first status itself may have made one.
    let mut changes = Vec::from_iter(sighting::rescale_of(first));
    for pair in states.windows(2) {
        let [before, state] = pair else { return None };
        if state.status.last_scale_time == before.status.last_scale_time {
            continue;
        }
        match (sighting::rescale_of(state), chain) {
            (Some(change), _) => changes.push(change),
            (None, Chain::Whole) => return None,
            (None, Chain::Glimpses) => {}
        }
    }
    Some(Rescales { since, changes })
}

#[cfg(test)]
pub(super) mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::{
        Chain, Counted, Pods, Rhythm, Sighting, Written, passed_since, rescales_seen, seen, sighted,
    };
    use crate::memory::past_proposal::PodCount;
    use crate::snapshot::controller::Controller;
    use crate::snapshot::evidence::{Event, Evidence, Lease, SeenPass};
    use crate::snapshot::hpa::Hpa;
    use crate::version::FeatureGate;

    /// Returns the controller of a version.
    pub(crate) fn of(version: &str) -> Controller {
        Controller::new(version.parse().unwrap())
    }

    pub(crate) fn second(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    /// Returns a state whose status and spec were written this many seconds after an instant, the status by a
    /// pass that recommended the given replicas; with a stabilization window in seconds.
    pub(crate) fn state((status, spec, replicas, window): (i64, i64, i32, Option<i32>)) -> Hpa {
        let second = |second| Some(self::second(second));
        let mut hpa_spec = json!({"maxReplicas": 20});
        if let Some(window) = window {
            hpa_spec["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": window}});
        }
        let condition = |type_: &str, reason: &str| {
            let status = if type_ == "ScalingLimited" {
                "False"
            } else {
                "True"
            };
            json!({"type": type_, "status": status, "reason": reason})
        };
        let hpa_status = json!({
            "currentReplicas": replicas,
            "desiredReplicas": replicas,
            "currentMetrics": [{"type": "Resource"}],
            "conditions": [
                condition("AbleToScale", "ReadyForNewScale"),
                condition("ScalingActive", "ValidMetricFound"),
                condition("ScalingLimited", "DesiredWithinRange"),
            ],
        });
        let written = Written {
            created: second(0),
            spec: second(spec),
            status: second(status),
            ..Written::default()
        };
        Hpa {
            written,
            ..Hpa::of(&hpa_spec, hpa_status)
        }
    }

    /// Returns the evidence of a leader since some time.
    pub(crate) fn led(acquired: i64) -> Evidence {
        let lease = Lease {
            acquired: second(acquired),
            renewed: second(100_000),
            duration: SignedDuration::from_secs(15),
        };
        Evidence {
            lease: Some(lease),
            ..Evidence::default()
        }
    }

    /// Returns a pass at some time, seen until another, which recommended from one count to another.
    pub(crate) fn pass((at_least, at_most): (i32, i32), time: i64, until: i64) -> SeenPass {
        SeenPass {
            at_least,
            at_most,
            likely: None,
            replicas: None,
            time: second(time),
            until: second(until),
            spec_changed: false,
            may_lack_recommendation: false,
        }
    }

    /// Returns an event about an object of this uid; the HPA of [`state`] is `u`.
    pub(crate) fn event(uid: &str, reason: &str, message: &str, time: i64) -> Event {
        Event {
            uid: uid.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            first: Some(second(time)),
            last: Some(second(time)),
            count: 1,
            ..Event::default()
        }
    }

    /// Returns the event about a rescale to this size.
    pub(crate) fn rescale(size: i32, reason: &str, time: i64) -> Event {
        event(
            "u",
            "SuccessfulRescale",
            &format!("New size: {size}; reason: {reason}"),
            time,
        )
    }

    pub(crate) fn above(size: i32, time: i64) -> Event {
        rescale(size, "cpu above target", time)
    }

    #[test]
    fn each_state_tells_of_the_passes_that_left_it() {
        const ANY: (i32, i32) = (0, i32::MAX);
        let same = None;
        for (states, chain, want) in [
            (
                vec![(100, 50, 8, same), (115, 50, 7, same), (130, 50, 9, same)],
                Chain::Whole,
                vec![((8, 8), 100, 115, false), ((7, 7), 115, 130, false)],
            ),
            // A pass over the new spec may not have run before the next status was written.
            (
                vec![(100, 50, 8, same), (100, 110, 8, same), (120, 110, 9, same)],
                Chain::Whole,
                vec![((8, 8), 100, 110, false), (ANY, 110, 120, true)],
            ),
            // By now it must have run, with the same result.
            (
                vec![(100, 50, 8, same), (100, 110, 8, same), (131, 110, 9, same)],
                Chain::Whole,
                vec![((8, 8), 100, 110, false), ((8, 8), 110, 131, true)],
            ),
            // A state is missing: nothing is known from 115 to 120.
            (
                vec![(100, 50, 8, same), (115, 120, 7, same), (150, 120, 9, same)],
                Chain::Whole,
                vec![((8, 8), 100, 115, false), ((7, 7), 120, 150, true)],
            ),
            // Earlier recommendations may have left a window that was shorter in the meantime.
            (
                vec![
                    (100, 50, 8, same),
                    (115, 105, 7, Some(60)),
                    (130, 120, 9, same),
                ],
                Chain::Whole,
                vec![],
            ),
            (
                vec![
                    (100, 50, 8, Some(600)),
                    (115, 105, 7, same),
                    (130, 50, 9, same),
                ],
                Chain::Whole,
                vec![((8, 8), 100, 105, false), ((7, 7), 115, 130, false)],
            ),
            (
                vec![(100, 50, 8, same), (130, 50, 9, same)],
                Chain::Glimpses,
                vec![((8, 8), 100, 100, false)],
            ),
        ] {
            let list: Vec<Hpa> = states.iter().copied().map(state).collect();
            let last = list.last().unwrap();
            let found = seen(last, &of("v1.36"), &list, &[], chain);
            let second = |time: Timestamp| time.as_second() - 1_000_000;
            let found: Vec<_> = found
                .iter()
                .map(|it| {
                    (
                        (it.at_least, it.at_most),
                        second(it.time),
                        second(it.until),
                        it.spec_changed,
                    )
                })
                .collect();
            assert_eq!(found, want, "{states:?} {chain:?}");
        }
    }

    #[test]
    fn a_status_that_apply_wrote_is_no_pass() {
        let mut states = [(100, 50, 8, None), (115, 50, 7, None)].map(state);
        states[0].written.by_us = true;
        let told = |states: &[Hpa]| {
            let found = seen(&states[1], &of("v1.36"), states, &[], Chain::Whole);
            found
                .iter()
                .map(|it| (it.at_least, it.at_most, it.spec_changed))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&states), [(0, i32::MAX, true)]);
        // A pass that left it had the same result.
        states[1].written.status = state((121, 50, 7, None)).written.status;
        assert_eq!(told(&states), [(8, 8, true)]);
    }

    /// Returns two states 15 s apart; the first holds back what an average over the target asked for.
    fn held_back() -> [Hpa; 2] {
        let mut states = [(100, 50, 8, None), (115, 50, 7, None)].map(state);
        let target = json!({"type": "AverageValue", "averageValue": "10"});
        let spec = json!([{"type": "External", "external": {"target": target}}]);
        let current = json!([{"type": "External", "external": {"current": {"averageValue": "4"}}}]);
        states[0].spec.metrics = serde_json::from_value(spec).unwrap();
        states[0].status.current_metrics = serde_json::from_value(current).unwrap();
        states[0].status.conditions[0].reason = "ScaleDownStabilized".to_owned();
        states
    }

    /// Returns a target that has had 10 replicas from one time to another.
    fn ten(since: Timestamp, until: Timestamp) -> Counted {
        Counted {
            replicas: 10,
            since,
            until,
            alike: false,
        }
    }

    /// Returns what the first reveals if the current target has had 10 replicas from the start to its pass.
    fn told(states: &[Hpa; 2]) -> (i32, i32) {
        let Written {
            created, status, ..
        } = states[0].written;
        let counted = ten(created.unwrap(), status.unwrap());
        let found = seen(&states[1], &of("v1.36"), states, &[counted], Chain::Whole);
        found
            .first()
            .map_or((0, i32::MAX), |found| (found.at_least, found.at_most))
    }

    #[test]
    fn a_target_tells_nothing_of_passes_over_another() {
        let mut states = held_back();
        assert_eq!(told(&states), (4, 4));
        let target = &mut states[0].spec.scale_target_ref;
        target.kind.make_ascii_lowercase();
        assert_eq!(told(&states), (4, 4));
        states[0].spec.scale_target_ref.name = "before".to_owned();
        assert_eq!(told(&states), (0, 7));
    }

    #[test]
    fn what_apply_overwrites_may_be_of_two_passes() {
        let mut states = held_back();
        states[1].written.status = state((127, 50, 7, None)).written.status;
        assert_eq!(told(&states), (4, 4));
        states[1].written.by_us = true;
        assert_eq!(told(&states), (0, 7));
    }

    #[test]
    fn what_apply_scaled_is_not_in_the_memory() {
        let mut states = [(100, 50, 8, None), (115, 50, 7, None)].map(state);
        states[1].status.last_scale_time = states[1].written.status;
        states[1].status.current_replicas = 8;
        states[1].status.conditions[0].reason = "SucceededRescale".to_owned();
        let changes = |states: &[Hpa; 2]| {
            rescales_seen(&states[1], states, Chain::Whole).map(|it| it.changes)
        };
        assert_eq!(changes(&states).unwrap()[0].replicas, -1);
        states[1].written.by_us = true;
        assert_eq!(changes(&states), None);
    }

    #[test]
    fn times_at_the_end_of_the_calendar_are_no_obstacle() {
        for far in [Timestamp::MIN, Timestamp::MAX] {
            for place in [0, 1] {
                let mut states = held_back();
                states[place].written.status = Some(far);
                told(&states);
                states[place].written.spec = Some(far);
                told(&states);
            }
            let states = held_back();
            let counted = ten(far, far);
            let found = seen(&states[1], &of("v1.36"), &states, &[counted], Chain::Whole);
            assert_eq!((found[0].at_least, found[0].at_most), (0, 7));
        }
    }

    /// The pass that changed a status of 100 came a sync period after the last that did not: at 127 that was at
    /// 113 at the latest, which may still be the one of 100.
    #[test]
    fn a_status_is_of_one_pass_if_there_is_no_time_for_two() {
        let mut states = held_back();
        for (changed, range) in [(127, (4, 4)), (128, (0, 7))] {
            states[1].written.status = state((changed, 50, 7, None)).written.status;
            assert_eq!(told(&states), range, "{changed}");
        }
    }

    /// Returns what a status of second 100 reveals, with a target that has had 10 replicas since some time.
    fn sighted_since(hpa: &Hpa, since: i64, there: Option<Pods>) -> Sighting {
        let counted = ten(second(since), second(101));
        let passes = second(100)..=second(101);
        sighted(hpa, &of("v1.36"), &[counted], passes, there).unwrap()
    }

    /// The controller may have read the target 5 s earlier, and the time may be a second off.
    #[test]
    fn a_target_counts_if_it_was_the_same_before_the_pass() {
        let [hpa, _] = held_back();
        let revealed = |since| {
            let found = sighted_since(&hpa, since, None);
            (found.proposal.into_inner(), found.counted)
        };
        assert_eq!(revealed(93), ((4, 4), Some(10)));
        assert_eq!(revealed(94), ((0, 7), None));
        // The conditions say as much: what the target had adds nothing.
        let mut ready = hpa.clone();
        ready.status.conditions[0].reason = "ReadyForNewScale".to_owned();
        (ready.status.current_replicas, ready.status.desired_replicas) = (4, 4);
        let found = sighted_since(&ready, 50, None);
        assert_eq!((found.proposal.into_inner(), found.counted), ((4, 4), None));
        // Beyond a bound they say less, also of the highest recommendation.
        (ready.status.current_replicas, ready.status.desired_replicas) = (3, 3);
        ready.status.conditions[2].reason = "TooManyReplicas".to_owned();
        assert_eq!(sighted_since(&ready, 93, None).at_most, Some(4));
        assert_eq!(sighted_since(&ready, 94, None).at_most, None);
    }

    /// Going up, the pods of the status may not have existed yet, unless the target is the present one.
    #[test]
    fn an_unbounded_proposal_has_a_likely_value_if_the_pods_are_known() {
        let [mut hpa, _] = held_back();
        let likely = |hpa: &Hpa, there| {
            let found = sighted_since(hpa, 99, there);
            (found.proposal.into_inner(), found.likely)
        };
        // Held back at 8, and 40 % of the target's average over 8.
        assert_eq!(likely(&hpa, None), ((0, 7), Some(4)));
        hpa.status.conditions[0].reason = "ReadyForNewScale".to_owned();
        hpa.status.conditions[2].reason = "TooManyReplicas".to_owned();
        assert_eq!(likely(&hpa, None), ((9, i32::MAX), None));
        let count = PodCount {
            all: 8,
            measured: 8,
        };
        let there = Pods {
            replicas: 8,
            begun: count,
            ready: count,
        };
        assert_eq!(likely(&hpa, Some(there)), ((9, i32::MAX), Some(9)));
    }

    #[test]
    fn passes_over_the_spec_are_those_after_it() {
        let since_led = |led: Option<i64>,
                         status: Option<i64>,
                         spec: Option<i64>,
                         by_us,
                         observed: Option<i64>,
                         until| {
            let mut hpa = state((100, 50, 8, None));
            hpa.written.status = status.map(second);
            hpa.written.spec = spec.map(second);
            hpa.written.by_us = by_us;
            hpa.generation = Some(2);
            hpa.status.observed_generation = observed;
            let of = |generation| {
                let mut controller = of("v1.37");
                controller.gates[FeatureGate::HPAGeneration] = generation;
                controller.gates[FeatureGate::StaleControllerConsistencyHPA] = false;
                let found = passed_since(
                    &hpa,
                    led.map(second),
                    second(until),
                    &Rhythm::of(&controller),
                );
                found.map(|it| it.duration_since(second(0)).as_secs())
            };
            // With and without `observedGeneration`.
            (of(true), of(false))
        };
        let since = |status, spec, by_us, observed, until| {
            since_led(None, status, spec, by_us, observed, until)
        };
        let both = |seconds| (Some(seconds), Some(seconds));
        let none = (None, None);
        assert_eq!(since(Some(100), Some(50), false, None, 101), both(100));
        assert_eq!(since(Some(100), Some(50), false, Some(2), 101), both(100));
        assert_eq!(
            since(Some(100), Some(50), false, Some(1), 101),
            (None, Some(100))
        );
        // The status may be older than the spec of the same second; within 21 s a pass has run.
        for spec in [100, 110] {
            assert_eq!(since(Some(100), Some(spec), false, None, spec + 20), none);
            assert_eq!(
                since(Some(100), Some(spec), false, None, spec + 21),
                both(spec)
            );
            assert_eq!(
                since(Some(100), Some(spec), false, Some(2), spec + 20),
                (Some(100), None)
            );
        }
        // What `apply` wrote is of no pass.
        assert_eq!(since(Some(100), Some(50), true, Some(2), 120), none);
        assert_eq!(since(Some(100), Some(50), true, Some(2), 121), both(100));
        assert_eq!(since(Some(100), None, true, None, 120), none);
        assert_eq!(since(Some(100), None, true, None, 121), both(100));
        assert_eq!(since(None, None, true, None, 121), none);
        // A leader that came later has had a pass only some time after it came; what a pass wrote stays.
        let by_us = |led, until| since_led(Some(led), Some(100), Some(50), true, None, until);
        assert_eq!(by_us(90, 121), both(100));
        assert_eq!(by_us(130, 150), none);
        assert_eq!(by_us(130, 151), both(130));
        let by_pass = since_led(Some(130), Some(100), Some(50), false, None, 131);
        assert_eq!(by_pass, both(100));
        // Times that are missing.
        assert_eq!(since(None, Some(50), false, None, 200), none);
        assert_eq!(since(Some(100), None, false, None, 101), both(100));
        let always = Timestamp::MIN.duration_since(second(0)).as_secs();
        assert_eq!(since(None, None, false, None, 101), both(always));
    }

    #[test]
    fn a_status_without_a_generation_names_no_spec() {
        let mut hpa = state((100, 110, 8, None));
        hpa.status.observed_generation = Some(1);
        let passed = passed_since(&hpa, None, second(120), &Rhythm::of(&of("v1.37")));
        assert_eq!(passed, None);
    }

    #[test]
    fn the_first_state_shows_the_rescale_of_its_own_pass() {
        let mut list = [(100, 50, 8, None), (115, 50, 8, None)].map(state);
        list[0].status.conditions[0].reason = "SucceededRescale".to_owned();
        list[0].status.current_replicas = 6;
        for state in &mut list {
            state.status.last_scale_time = Some(second(99));
        }
        let found = rescales_seen(&list[1], &list, Chain::Whole).unwrap();
        let changes = found.changes.iter().map(|it| (it.replicas, it.time));
        assert_eq!(Vec::from_iter(changes), [(2, second(99))]);
    }

    /// Between glimpses, a rescale may have been missed: they show some, and all since the last.
    #[test]
    fn glimpses_show_rescales_but_not_all() {
        let mut list = [(100, 50, 6, None), (115, 50, 8, None), (130, 50, 9, None)].map(state);
        list[1].status.conditions[0].reason = "SucceededRescale".to_owned();
        list[1].status.current_replicas = 6;
        for (state, time) in list.iter_mut().zip([60, 114, 120]) {
            state.status.last_scale_time = Some(second(time));
        }
        let found = |chain| rescales_seen(&list[2], &list, chain);
        assert_eq!(found(Chain::Whole), None);
        let found = found(Chain::Glimpses).unwrap();
        let changes = found.changes.iter().map(|it| (it.replicas, it.time));
        assert_eq!(found.since, second(130));
        assert_eq!(Vec::from_iter(changes), [(2, second(114))]);
    }

    #[test]
    fn states_of_another_hpa_of_the_name_show_nothing() {
        let list = [(100, 50, 8, None), (115, 50, 7, None), (130, 50, 9, None)].map(state);
        let count = |states: &[Hpa]| {
            let rescales = rescales_seen(&list[2], states, Chain::Whole).is_some();
            (
                seen(&list[2], &of("v1.36"), states, &[], Chain::Whole).len(),
                rescales,
            )
        };
        assert_eq!(count(&list), (2, true));
        assert_eq!(count(&list[2..]), (0, false));
        for (place, left) in [(0, 1), (1, 0)] {
            let mut other = list.clone();
            other[place].uid = Some("other".to_owned());
            assert_eq!(count(&other), (left, false), "{place}");
        }
        let mut last = [list[1].clone(), list[2].clone()];
        last[1].uid = Some("other".to_owned());
        assert_eq!(count(&last), (0, false));
    }
}
