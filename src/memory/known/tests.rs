//! When passes may have run, and what they may have left. Expected values follow from the rules by hand: the
//! API's times have whole seconds, so that each may be a second off; passes are a sync period (15 s) apart, with
//! up to 5 s of delay; another leader takes over after 13 s at the earliest.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{Known, Rescale, last_of, rescales};
use crate::memory::Delay;
use crate::memory::events::RescaleReason;
use crate::memory::states::tests::{above, event, led, of, pass, second, state};
use crate::snapshot::evidence::{Event, Evidence, Lease, SeenPass};
use crate::snapshot::hpa::{Hpa, HpaSpec};
use crate::version::FeatureGate;

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

/// Returns seconds since the instant that tests count from.
fn since(time: Timestamp) -> i64 {
    time.as_second() - second(0).as_second()
}

/// Returns the same evidence as [`led`], with a lease that was renewed at some time.
fn led_until(acquired: i64, renewed: i64) -> Evidence {
    let renewed = second(renewed);
    Evidence {
        lease: led(acquired).lease.map(|it| Lease { renewed, ..it }),
        ..Evidence::default()
    }
}

/// Returns the evidence of these events.
fn by(events: Vec<Event>) -> Evidence {
    Evidence {
        events,
        ..Evidence::default()
    }
}

/// Returns the evidence of these passes.
fn saw(seen: Vec<SeenPass>) -> Evidence {
    Evidence {
        seen,
        ..Evidence::default()
    }
}

fn seen(time: i64, until: i64) -> SeenPass {
    pass((8, 8), time, until)
}

/// Knows an HPA whose next pass is over the same spec, with the gates of v1.37 off.
fn known<'k>(hpa: &'k Hpa, evidence: &'k Evidence, version: &str, now: i64) -> Known<'k> {
    over(&hpa.spec, hpa, evidence, version, now)
}

/// Knows an HPA whose next pass is over a spec.
fn over<'k>(
    next: &'k HpaSpec,
    hpa: &'k Hpa,
    evidence: &'k Evidence,
    version: &str,
    now: i64,
) -> Known<'k> {
    let mut controller = of(version);
    controller.gates[FeatureGate::HPAGeneration] = false;
    controller.gates[FeatureGate::StaleControllerConsistencyHPA] = false;
    Known::new(
        hpa,
        next,
        hpa.status.current_replicas,
        &controller,
        second(now),
        evidence,
    )
}

/// A pass whose status is of second 100 read its clock from 99 to 101, and the next one a sync period later, usually
/// plus 40 ms.
#[test]
fn the_next_pass_follows_a_fresh_status() {
    let none = Evidence::default;
    for (version, spec, evidence, now, want) in [
        ("v1.36", 50, none(), 101, (114, 115, 121)),
        ("v1.36", 50, none(), 114, (114, 115, 121)),
        // Now it may have run without changing the status.
        ("v1.36", 50, none(), 115, (115, 115, 135)),
        // By 122 a pass has run since, and until 129 no other one can have.
        ("v1.36", 50, none(), 122, (129, 130, 141)),
        ("v1.36", 50, none(), 129, (129, 130, 141)),
        ("v1.36", 50, none(), 130, (130, 130, 150)),
        // Since v1.37 a controller that takes over runs its first pass at once.
        ("v1.37", 50, none(), 112, (114, 115, 121)),
        ("v1.37", 50, none(), 113, (113, 115, 133)),
        ("v1.37", 50, led(99), 113, (114, 115, 121)),
        ("v1.37", 50, led(100), 113, (113, 115, 133)),
        ("v1.37", 50, led_until(40, 60), 101, (101, 115, 121)),
        // A spec that was changed less than 6 s before has an extra pass.
        ("v1.37", 93, none(), 101, (114, 115, 121)),
        ("v1.37", 94, none(), 101, (101, 115, 121)),
        ("v1.36", 94, none(), 101, (114, 115, 121)),
    ] {
        let hpa = state((100, spec, 8, None));
        let known = known(&hpa, &evidence, version, now);
        let Delay {
            least,
            likely,
            most,
        } = known.delay();
        let [least, likely, most] = [least, likely, most].map(|it| now + it.as_secs());
        let found = (least, likely, most);
        assert_eq!(found, want, "{version} {spec} {now} {:?}", evidence.lease);
    }
}

/// Its time is known as long as there is no status.
#[test]
fn the_first_pass_follows_the_creation() {
    for (version, now, want) in [
        ("v1.36", 105, 115),
        ("v1.36", 118, 118),
        ("v1.37", 105, 105),
    ] {
        let mut hpa = state((100, 100, 8, None));
        (hpa.written.created, hpa.written.status) = (Some(second(100)), None);
        let likely = known(&hpa, &Evidence::default(), version, now).likely_pass();
        assert_eq!(since(likely), want, "{version} {now}");
    }
}

/// The first pass comes 15 to 20 s after the HPA was created, and the second 15 s later.
#[test]
fn the_first_status_of_an_hpa_is_of_its_first_pass() {
    let first = |written: i64, created: i64, evidence: Evidence| {
        let mut hpa = state((written, created, 8, None));
        hpa.written.created = Some(second(created));
        let known = known(&hpa, &evidence, "v1.36", written + 1);
        known
            .first_of_all()
            .map(|(found, time)| (found, since(time)))
    };
    assert_eq!(first(100, 73, Evidence::default()), Some((8, 100)));
    assert_eq!(first(100, 72, Evidence::default()), None);
    // An earlier status was the first.
    let earlier = |replicas| SeenPass {
        replicas,
        ..seen(90, 100)
    };
    let found = |replicas| first(100, 73, saw(vec![earlier(replicas)]));
    assert_eq!((found(Some(5)), found(None)), (Some((5, 90)), None));
    // Its status could not be written, or there was another HPA of the name.
    let lost = event("u", "FailedUpdateStatus", "", 99);
    let other = event("other", "SuccessfulRescale", "", 60);
    for event in [lost, other] {
        assert_eq!(first(100, 73, by(vec![event])), None);
    }
}

#[test]
fn a_status_that_apply_wrote_is_of_no_pass() {
    let mut hpa = state((100, 50, 8, None));
    hpa.written.by_us = true;
    let evidence = Evidence::default();
    let known = known(&hpa, &evidence, "v1.36", 105);
    assert_eq!(known.status_written(), None);
    assert_eq!(
        (since(known.earliest_pass()), since(known.latest_pass())),
        (105, 125)
    );
    assert_eq!(since(known.last_pass()), 105 - 20 - 1);
    assert_eq!(known.still_running_since(), None);
    assert_eq!(known.writes().count(), 0);
}

#[test]
fn the_last_pass_left_the_status_or_is_a_sync_period_old() {
    let hpa = state((100, 50, 8, None));
    for (now, want) in [(101, 99), (119, 99), (120, 99), (121, 100), (140, 119)] {
        let evidence = Evidence::default();
        let found = known(&hpa, &evidence, "v1.36", now).last_pass();
        assert_eq!(since(found), want, "{now}");
    }
}

/// What the last pass did is a sync period old at the next one, unless that comes at once.
#[test]
fn a_pass_over_a_changed_spec_comes_at_once() {
    let evidence = Evidence::default();
    let least = |hpa: &Hpa, next: &HpaSpec, version: &str, generation: bool| {
        let mut controller = of(version);
        controller.gates[FeatureGate::HPAGeneration] = generation;
        let known = Known::new(hpa, next, 8, &controller, second(101), &evidence);
        (known.least_gap().as_secs(), since(known.earliest_pass()))
    };
    let mut hpa = state((100, 50, 8, None));
    let same = hpa.spec.clone();
    let other = HpaSpec {
        max_replicas: 30,
        ..same.clone()
    };
    assert_eq!(least(&hpa, &same, "v1.37", true), (15, 114));
    assert_eq!(least(&hpa, &other, "v1.37", true), (0, 101));
    assert_eq!(least(&hpa, &other, "v1.37", false), (15, 114));
    assert_eq!(least(&hpa, &other, "v1.36", false), (15, 114));
    // The last pass was at 99 or later, and the last extra one at 93 + 6 or earlier.
    hpa.written.spec = Some(second(92));
    assert_eq!(least(&hpa, &same, "v1.37", true), (15, 114));
    hpa.written.spec = Some(second(93));
    assert_eq!(least(&hpa, &same, "v1.37", true).0, 0);
    assert_eq!(least(&hpa, &same, "v1.36", false).0, 15);
    // The status names an older spec.
    hpa.written.spec = Some(second(50));
    (hpa.generation, hpa.status.observed_generation) = (Some(2), Some(1));
    assert_eq!(least(&hpa, &same, "v1.37", true), (0, 101));
}

#[test]
fn recommendations_stay_for_the_longer_window() {
    let hpa = Hpa::of(
        &json!({"maxReplicas": 9, "behavior": {
            "scaleUp": {"stabilizationWindowSeconds": 90},
            "scaleDown": {"stabilizationWindowSeconds": 60},
        }}),
        json!({}),
    );
    let evidence = Evidence::default();
    assert_eq!(
        known(&hpa, &evidence, "v1.36", 101).retention(),
        seconds(90)
    );
    // Without `behavior`, the flag's 5 minutes against scaling down.
    let hpa = state((100, 50, 8, None));
    assert_eq!(
        known(&hpa, &evidence, "v1.36", 101).retention(),
        seconds(300)
    );
}

/// Only passes over a spec with `behavior` remember a rescale; an earlier spec may have had one.
#[test]
fn rescales_are_remembered_with_behavior() {
    let evidence = Evidence::default();
    let stored =
        |hpa: &Hpa, rescale| known(hpa, &evidence, "v1.36", 101).may_have_stored(second(rescale));
    assert!(stored(&state((100, 50, 8, Some(300))), 90));
    let mut hpa = state((100, 50, 8, None));
    // The rescale may be a second older than its time, and the change of the spec a second younger.
    assert!(stored(&hpa, 52));
    assert!(!stored(&hpa, 53));
    // The spec is as old as the HPA, or it does not say.
    hpa.written.spec = hpa.written.created;
    assert!(!stored(&hpa, 0));
    hpa.written.spec = None;
    assert!(stored(&hpa, 90));
}

#[test]
fn a_spec_as_old_as_an_hpa_that_replaced_another_has_changed() {
    let mut hpa = state((100, 0, 8, None));
    hpa.written.spec = hpa.written.created;
    let changed = |events, time| {
        known(&hpa, &by(events), "v1.36", 101).spec_may_have_changed_since(second(time))
    };
    assert!(!changed(vec![], 1));
    assert!(!changed(vec![event("u", "Other", "", 0)], 1));
    assert!(changed(vec![event("other", "Other", "", 0)], 1));
    assert!(!changed(vec![event("other", "Other", "", 0)], 2));
}

/// A restart takes 4 s, and until v1.37 the first pass comes a sync period later: passes less than 18 s apart
/// have none in between, or since v1.37 less than 3 s.
#[test]
fn passes_in_close_succession_are_of_one_controller() {
    let hpa = state((100, 50, 8, None));
    for (version, times, want) in [
        ("v1.36", vec![], 99),
        ("v1.36", vec![85], 84),
        ("v1.36", vec![70, 85], 69),
        ("v1.36", vec![83], 82),
        ("v1.36", vec![82], 99),
        ("v1.36", vec![60, 85], 84),
        ("v1.37", vec![70, 85], 99),
        ("v1.37", vec![98], 97),
        ("v1.37", vec![97], 99),
    ] {
        let evidence = saw(times.iter().map(|time| seen(*time, time + 1)).collect());
        let found = known(&hpa, &evidence, version, 101).still_running_since();
        assert_eq!(found.map(since), Some(want), "{version} {times:?}");
    }
}

/// The status of a pass that counts the last rescale shows that its controller made that.
#[test]
fn a_counted_rescale_shows_that_the_controller_was_running() {
    let mut hpa = state((100, 50, 8, Some(300)));
    hpa.status.last_scale_time = Some(second(60));
    let evidence = Evidence::default();
    let running = |hpa: &Hpa| {
        known(hpa, &evidence, "v1.36", 101)
            .still_running_since()
            .map(since)
    };
    assert_eq!(running(&hpa), Some(99));
    hpa.status.conditions[0].reason = "SucceededRescale".to_owned();
    assert_eq!(running(&hpa), Some(59));
    // Not if no pass is known to have left that status.
    hpa.written.status = Some(second(50));
    assert_eq!(running(&hpa), None);
}

/// Whether the controller may have restarted since some time, and whether it may have before the last status.
fn may_have_restarted(known: &Known<'_>, since: i64) -> (bool, bool) {
    let since = second(since);
    (
        known.may_have_restarted_since(since),
        known.may_have_restarted_unseen_since(since),
    )
}

/// The first pass of another leader comes 13 s after the last pass at the earliest.
#[test]
fn a_controller_may_have_restarted_since() {
    let hpa = state((100, 50, 8, None));
    let evidence = saw(vec![seen(70, 85), seen(85, 100)]);
    for (now, time, restarted) in [
        (112, 69, (false, false)),
        (112, 68, (true, true)),
        // A restart after the status is possible now, but not before it.
        (113, 69, (true, false)),
        (113, 68, (true, true)),
    ] {
        let known = known(&hpa, &evidence, "v1.36", now);
        assert_eq!(may_have_restarted(&known, time), restarted, "{now} {time}");
    }
}

/// The leader's history begins with its lease. A takeover before the status may have left a count in the list
/// that no status shows.
#[test]
fn a_lease_shows_when_the_controller_started() {
    let hpa = state((100, 50, 8, None));
    for (acquired, time, restarted) in [
        (60, 60, (true, true)),
        (60, 61, (false, false)),
        (101, 60, (true, true)),
        (101, 101, (true, true)),
        (101, 102, (false, false)),
        (102, 60, (true, false)),
    ] {
        let evidence = led(acquired);
        let found = may_have_restarted(&known(&hpa, &evidence, "v1.36", 110), time);
        assert_eq!(found, restarted, "{acquired} {time}");
    }
    // A lease that has expired shows nothing.
    let evidence = led_until(60, 94);
    assert_eq!(known(&hpa, &evidence, "v1.36", 110).lease, None);
    let evidence = led_until(60, 95);
    assert!(known(&hpa, &evidence, "v1.36", 110).lease.is_some());
}

/// If no pass found the HPA missing, it keeps the history of its predecessor; otherwise its history begins with its creation.
#[test]
fn a_history_may_have_been_lost_with_an_earlier_hpa() {
    let mut hpa = state((100, 50, 8, None));
    hpa.written.created = Some(second(40));
    let other = vec![event("other", "Other", "", 30)];
    for (events, time, restarted, nothing_before) in [
        (vec![], 40, false, 40),
        (other.clone(), 40, true, 20),
        (other, 41, false, 20),
    ] {
        let evidence = Evidence { events, ..led(20) };
        let known = known(&hpa, &evidence, "v1.36", 101);
        let found = may_have_restarted(&known, time);
        assert_eq!(found, (restarted, restarted), "{time}");
        let start = known.nothing_before().map(since);
        assert_eq!(start, Some(nothing_before), "{time}");
    }
    let evidence = led(50);
    let start = known(&hpa, &evidence, "v1.36", 101).nothing_before();
    assert_eq!(start.map(since), Some(50));
}

#[test]
fn a_status_lags_behind_one_that_could_not_be_written() {
    let mut hpa = state((100, 50, 8, None));
    let lags = |hpa: &Hpa, lost| {
        let evidence = by(vec![event("u", "FailedUpdateStatus", "", lost)]);
        let known = known(hpa, &evidence, "v1.36", 130);
        (known.status_may_lag(), known.status_since.map(since))
    };
    assert_eq!(lags(&hpa, 98), (false, Some(100)));
    assert_eq!(lags(&hpa, 99), (true, None));
    assert_eq!(lags(&hpa, 120), (true, None));
    hpa.written.status = None;
    assert!(lags(&hpa, 98).0);
    let evidence = Evidence::default();
    assert!(!known(&hpa, &evidence, "v1.36", 130).status_may_lag());
    // The last of all such events counts.
    let [one, other] = [20, 40].map(|last| event("u", "FailedUpdateStatus", "", last));
    let rescale = event("u", "SuccessfulRescale", "", 60);
    assert_eq!(
        last_of(&[&other, &one, &rescale], "FailedUpdateStatus"),
        Some(second(40))
    );
    assert_eq!(last_of(&[&rescale], "FailedUpdateStatus"), None);
}

#[test]
fn what_was_seen_may_be_of_an_older_spec() {
    for (spec, until, outdated) in [
        (Some(50), Some(49), true),
        (Some(50), Some(50), false),
        (Some(50), None, true),
        (None, Some(90), true),
    ] {
        let mut hpa = state((100, 50, 8, None));
        hpa.written.spec = spec.map(second);
        let evidence = saw(until.map(|until| seen(10, until)).into_iter().collect());
        let found = known(&hpa, &evidence, "v1.36", 101).seen_is_outdated();
        assert_eq!(found, outdated, "{spec:?} {until:?}");
    }
}

/// A status that was written before the spec changed is of passes over both, of which the earlier ones may have
/// proposed something else.
#[test]
fn the_passes_of_a_status_are_those_over_the_current_spec() {
    let are_current = |spec: i64, window: i64| {
        let mut hpa = state((100, 50, 8, None));
        hpa.written.spec = Some(second(spec));
        let evidence = led(0);
        let known = known(&hpa, &evidence, "v1.36", 300);
        known.are_all_current(SignedDuration::from_secs(window))
    };
    assert!(are_current(50, 180));
    assert!(!are_current(200, 180));
    assert!(are_current(200, 60));
}

/// Passes of 100 and 115, of which the last left the status of 130. They are all if the first is, with its
/// fraction of a second, no later than the time in question, and none is missing in between or after.
#[test]
fn passes_are_all_known_if_nothing_is_missing() {
    let pair = || [seen(100, 115), seen(115, 130)];
    let hpa = || state((130, 50, 8, None));
    let passes = |hpa: &Hpa, seen: [SeenPass; 2], evidence: Evidence, time| {
        let evidence = Evidence {
            seen: seen.to_vec(),
            ..evidence
        };
        let known = known(hpa, &evidence, "v1.36", 131);
        known.passes_since(second(time)).map(<[_]>::len)
    };
    let whole = |time| passes(&hpa(), pair(), led(0), time);
    assert_eq!(whole(100), None);
    assert_eq!(whole(101), Some(2));
    assert_eq!(whole(115), Some(2));
    assert_eq!(whole(116), Some(1));
    assert_eq!(whole(130), Some(1));
    assert_eq!(whole(131), Some(0));

    let with = |change: &dyn Fn(&mut [SeenPass; 2])| {
        let mut pair = pair();
        change(&mut pair);
        move |time| passes(&hpa(), pair, led(0), time)
    };
    // One is missing in between, or may be after.
    assert_eq!(with(&|pair| pair[0].until = second(114))(101), None);
    assert_eq!(with(&|pair| pair[1].until = second(129))(101), None);
    // The first may have made no recommendation: then the second is the first that did.
    let lacking = with(&|pair| pair[0].may_lack_recommendation = true);
    assert_eq!((lacking(115), lacking(116)), (None, Some(1)));
    let lacking = with(&|pair| {
        *pair = pair.map(|it| SeenPass {
            may_lack_recommendation: true,
            ..it
        });
    });
    assert_eq!(lacking(131), None);
    // The first pass over a changed spec came within 15 + 5 s, and a second for the fraction.
    let changed = with(&|pair| pair[0].spec_changed = true);
    assert_eq!((changed(121), changed(122)), (None, Some(1)));

    let mut without_times = hpa();
    (without_times.written.spec, without_times.written.status) = (None, None);
    assert_eq!(passes(&without_times, pair(), led(0), 101), None);
    let mut changed_since = hpa();
    changed_since.written.spec = Some(second(131));
    assert_eq!(passes(&changed_since, pair(), led(0), 101), None);

    // The controller may have started with the first.
    assert_eq!(passes(&hpa(), pair(), led(98), 101), Some(2));
    assert_eq!(passes(&hpa(), pair(), led(99), 101), None);
    // A status that could not be written belongs to a pass that was not seen.
    let lost = |lost| {
        let events = vec![event("u", "FailedUpdateStatus", "", lost)];
        passes(&hpa(), pair(), Evidence { events, ..led(0) }, 101)
    };
    assert_eq!((lost(98), lost(99)), (Some(2), None));
}

/// At the next pass, from 144 on, what was done by 100 is at least 43 s old; what passes did that were over when
/// the one of 115 wrote its status is at least three sync periods old, and of 130 two.
#[test]
fn passes_leave_a_window_by_their_age_at_the_next_one() {
    let hpa = state((130, 50, 8, None));
    let evidence = Evidence {
        seen: vec![seen(100, 115), seen(115, 130)],
        ..led(0)
    };
    let known = known(&hpa, &evidence, "v1.36", 131);
    let within = |window| known.passes_within(seconds(window)).map(<[_]>::len);
    assert_eq!(known.least_age(second(100)), seconds(45));
    assert_eq!(known.least_age_before(second(115)), seconds(45));
    assert_eq!(known.least_age_before(second(130)), seconds(30));
    assert_eq!(within(46), None);
    assert_eq!(within(45), Some(1));
    assert_eq!(within(31), Some(1));
    assert_eq!(within(30), Some(0));
}

/// The next pass comes at 114 or later. Between two passes that are known are as many sync periods as fit if
/// each takes 20 s at most.
#[test]
fn what_a_regular_pass_did_is_whole_sync_periods_old() {
    let hpa = state((100, 50, 8, None));
    let evidence = Evidence::default();
    let age = |version, spec, time| {
        let hpa = Hpa {
            written: state((100, spec, 8, None)).written,
            ..hpa.clone()
        };
        known(&hpa, &evidence, version, 101)
            .least_age(second(time))
            .as_secs()
    };
    for (time, want) in [
        (101, 15),
        (100, 15),
        (99, 30),
        (85, 30),
        // From 79 to 100 there may have been one period, from 78 not.
        (79, 34),
        (78, 45),
        (70, 45),
        // And from 59 to 100 two, from 58 not.
        (59, 54),
        (58, 60),
    ] {
        assert_eq!(age("v1.36", 50, time), want, "{time}");
    }
    // An extra pass may have been in between: only times count.
    assert_eq!(age("v1.37", 80, 100), 13);
    assert_eq!(age("v1.37", 80, 102), 15);
    assert_eq!(age("v1.37", 78, 100), 15);
}

#[test]
fn what_was_done_before_a_status_is_a_sync_period_older() {
    let hpa = state((100, 50, 8, None));
    let evidence = Evidence::default();
    let known = known(&hpa, &evidence, "v1.36", 101);
    assert_eq!(known.least_age_before(second(100)), seconds(30));
    assert_eq!(
        known.least_age_before(second(101)),
        seconds(15),
        "no pass wrote then"
    );
    let hpa = state((100, 80, 8, None));
    let known = self::known(&hpa, &evidence, "v1.37", 101);
    assert_eq!(
        known.least_age_before(second(100)),
        seconds(13),
        "an extra pass may have"
    );
}

/// A status that was seen counts once; one that a changed spec has only kept was written earlier.
#[test]
fn statuses_are_written_by_passes() {
    let hpa = state((100, 50, 8, None));
    let kept = SeenPass {
        spec_changed: true,
        ..seen(85, 90)
    };
    for (seen, want) in [
        (vec![], vec![100]),
        (vec![seen(70, 85), kept, seen(90, 100)], vec![70, 90, 100]),
        (vec![seen(85, 100), seen(100, 101)], vec![85, 100]),
    ] {
        let evidence = saw(seen);
        let known = known(&hpa, &evidence, "v1.36", 101);
        assert_eq!(Vec::from_iter(known.writes().map(since)), want);
    }
}

#[test]
fn each_side_of_another_hpa_of_the_name_has_its_events() {
    let hpa = state((100, 50, 8, None));
    let message = "New size: 4; reason: cpu above target";
    let mut own = event("u", "SuccessfulRescale", message, 80);
    own.count = 3;
    let evidence = by(vec![
        own,
        event("u", "Other", "", 90),
        event("other", "SuccessfulRescale", message, 70),
    ]);
    let known = known(&hpa, &evidence, "v1.36", 101);
    assert_eq!(known.recorder.used, 4);
    assert!(known.replaces_another);
    assert!(
        known
            .rescales
            .iter()
            .all(|rescale| rescale.time == second(80))
    );
}

/// `SuccessfulRescale` has one of four reasons, or that no metric was above its target.
#[test]
fn events_report_rescales() {
    use RescaleReason::{AboveMax, AboveTarget, BelowMin, BelowTarget, None};
    for (reason, want) in [
        (
            "cpu resource utilization (percentage of request) above target",
            AboveTarget,
        ),
        ("All metrics below target", BelowTarget),
        (
            "Current number of replicas above Spec.MaxReplicas",
            AboveMax,
        ),
        (
            "Current number of replicas below Spec.MinReplicas",
            BelowMin,
        ),
        ("", None),
    ] {
        let message = format!("New size: 4; reason: {reason}");
        let found = rescales(&[&event("u", "SuccessfulRescale", &message, 80)]);
        let one = Rescale {
            time: second(80),
            size: 4,
            reason: want,
            gap: false,
        };
        assert_eq!(found, [one], "{reason}");
        let other = event("u", "Other", &message, 80);
        assert_eq!(rescales(&[&other]), [], "{reason}");
    }
    for message in ["New size: x; reason: y", "New size: 4", "4; reason: y"] {
        let unreadable = event("u", "SuccessfulRescale", message, 80);
        assert_eq!(rescales(&[&unreadable]), [], "{message}");
    }
}

/// A repeated event has its first and its last time: with more than two, others lie in between. Of merged
/// events only the last message is left, and others with other messages lie before it.
#[test]
fn repeated_events_hide_rescales() {
    let plain = "New size: 4; reason: cpu above target";
    let merged = format!("(combined from similar events): {plain}");
    let told = |events: &[(&str, Option<i64>, Option<i64>, i32)]| {
        let events: Vec<Event> = events
            .iter()
            .map(|&(message, first, last, count)| Event {
                first: first.map(second),
                last: last.map(second),
                count,
                ..event("u", "SuccessfulRescale", message, 0)
            })
            .collect();
        let found = rescales(&events.iter().collect::<Vec<_>>());
        found
            .iter()
            .map(|it| (since(it.time), it.gap))
            .collect::<Vec<_>>()
    };
    for (events, want) in [
        (vec![(plain, Some(10), Some(10), 1)], vec![(10, false)]),
        (
            vec![(plain, Some(10), Some(20), 2)],
            vec![(10, false), (20, false)],
        ),
        (
            vec![(plain, Some(10), Some(20), 3)],
            vec![(10, true), (20, true)],
        ),
        (vec![(&merged, Some(20), Some(20), 1)], vec![(20, false)]),
        (
            vec![(&merged, Some(10), Some(20), 2)],
            vec![(10, true), (20, true)],
        ),
        // Some events do not have the first time.
        (vec![(plain, None, Some(20), 1)], vec![(20, false)]),
        (vec![(plain, None, None, 1)], vec![]),
        // In order of time, and nothing before a gap is complete.
        (
            vec![
                (plain, Some(30), Some(30), 1),
                (plain, Some(10), Some(10), 1),
            ],
            vec![(10, false), (30, false)],
        ),
        (
            vec![
                (plain, Some(40), Some(40), 1),
                (plain, Some(20), Some(30), 3),
                (plain, Some(10), Some(10), 1),
            ],
            vec![(10, true), (20, true), (30, true), (40, false)],
        ),
    ] {
        assert_eq!(told(&events), want, "{events:?}");
    }
}

/// A restart takes 4 s, and the first pass a sync period more. Rescales 15 s apart leave no time for that, and a
/// recorder repeats no event of its predecessor.
#[test]
fn rescales_show_that_the_controller_ran() {
    let above = |size, times: (i64, i64), count| Event {
        first: Some(second(times.0)),
        last: Some(second(times.1)),
        count,
        ..event(
            "u",
            "SuccessfulRescale",
            &format!("New size: {size}; reason: "),
            0,
        )
    };
    let ran = |events: Vec<Event>, time| {
        let hpa = state((131, 50, 5, None));
        !known(&hpa, &by(events), "v1.36", 132).may_have_restarted_unseen_since(second(time))
    };
    let each = |time| above(4, (time, time), 1);
    assert!(!ran(vec![], 115));
    assert!(ran(vec![each(116)], 115));
    assert!(ran(vec![each(101), each(116)], 100));
    assert!(
        !ran(vec![each(101), each(113)], 100),
        "18 s are enough for a restart"
    );
    assert!(ran(vec![above(4, (60, 116), 2)], 59));
    assert!(!ran(vec![each(60), each(116)], 59));
}

/// Whoever may create events can create any number: the oldest are left out, and hidden by a gap.
#[test]
fn of_many_rescales_the_newest_are_read() {
    let found = |count: usize| {
        let time = |place: usize| i64::try_from(place).unwrap();
        let events: Vec<Event> = (0..count).map(|place| above(4, time(place))).collect();
        let list = rescales(&events.iter().collect::<Vec<_>>());
        (list[0].time, list[0].gap, list[1].gap, list.len())
    };
    assert_eq!(found(1000), (second(0), false, false, 1000));
    assert_eq!(found(1001), (second(1), true, false, 1000));
}

/// The recorder has 25 events for an object, and one more every 5 minutes.
#[test]
fn the_recorder_drops_no_event_as_long_as_it_has_some_left() {
    let hpa = state((100, 50, 8, None));
    let later = 100_000;
    let is_sure = |count: i64, time: i64, acquired: Option<i64>, since: i64| {
        let events = (0..count).map(|_| event("u", "Other", "", time)).collect();
        let evidence = Evidence {
            events,
            ..acquired.map_or_else(Evidence::default, led)
        };
        known(&hpa, &evidence, "v1.36", later)
            .recorder
            .drops_none_since(second(since))
    };
    // Of a leader that has led for 10 minutes, all are known.
    assert!(is_sure(24, later - 60, Some(later - 600), later - 600));
    assert!(!is_sure(25, later - 60, Some(later - 600), later - 600));
    // An hour ago it may have had none left: 30 minutes later it has 6.
    assert!(is_sure(5, later - 60, None, later - 1800));
    assert!(!is_sure(6, later - 60, None, later - 1800));
    // What is older has used up nothing since.
    assert!(is_sure(30, later - 3700, None, later - 1800));
    assert!(!is_sure(0, later - 60, None, later - 3600));
}
