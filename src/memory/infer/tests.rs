//! What is inferred as a whole, and when nothing is.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::states::tests::{above, event, led, of, pass, second, state};
use super::super::{Extreme, Knowledge, Possible, Remembered, ground};
use super::{
    Controller, Evidence, Hpa, Known, Pods, Recommendation, Scale, averages_over_target, infer,
    pods, trusts_events, until_first_pass, window, within,
};
use crate::apimachinery::json::SecondsTime;
use crate::build;
use crate::calendar::Calendar;
use crate::memory::recommendations::HeldRecommendation;
use crate::memory::spans::windows;
use crate::saved;
use crate::saved::testing::input;
use crate::snapshot::Snapshot;
use crate::snapshot::basis::BasisView;
use crate::snapshot::evidence::{Event, Lease, Rescales, SeenPass};
use crate::snapshot::input::{Input, Options};
use crate::snapshot::memory::ScaleEvent;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::past::{Bounds, Past, PastPass};

/// Returns the highest recommendation, given the bounds from statuses, each from one second to another.
fn highest(hpa: &Hpa, seen: &[(i32, i32, i64, i64)], now: i64) -> Extreme {
    let seen = seen
        .iter()
        .map(|&(at_least, at_most, time, until)| SeenPass {
            may_lack_recommendation: (at_least, at_most) == (0, i32::MAX),
            ..pass((at_least, at_most), time, until)
        });
    let evidence = Evidence {
        seen: seen.collect(),
        ..Evidence::default()
    };
    inferred(hpa, &evidence, now).highest
}

fn inferred(hpa: &Hpa, evidence: &Evidence, now: i64) -> Possible {
    remembered(hpa, evidence, second(now)).possible.unwrap()
}

fn remembered(hpa: &Hpa, evidence: &Evidence, now: Timestamp) -> Remembered {
    remembered_at(hpa.status.current_replicas, hpa, evidence, now)
}

/// Returns what is remembered at the next pass over a target with this scale.
fn remembered_at(replicas: i32, hpa: &Hpa, evidence: &Evidence, now: Timestamp) -> Remembered {
    let scale = Scale {
        spec_replicas: replicas,
        status_replicas: replicas,
        selector: String::new().into(),
    };
    let snapshot = Snapshot {
        controller: of("v1.36"),
        ..Snapshot::new(hpa.clone(), scale.clone(), now)
    };
    infer(&snapshot, &snapshot, &scale, evidence)
}

#[test]
fn the_first_count_is_remembered_once_the_scale_can_be_read() {
    // At 8 replicas, each pass wanted fewer.
    let mut hpa = state((300, 0, 8, None));
    hpa.status.conditions[0].reason = "ScaleDownStabilized".to_owned();
    let with = |at_least, at_most| {
        let mut passes: Vec<_> = (1..20).map(|n| (3, 3, 15 * n, 15 * n + 15)).collect();
        (passes[0].0, passes[0].1) = (at_least, at_most);
        highest(&hpa, &passes, 301).at_most
    };
    assert_eq!(with(3, 3), Some(7), "the first pass was at second 15");
    assert_eq!(with(0, i32::MAX), Some(8), "it may have been at second 30");
}

#[test]
fn the_first_pass_after_a_change_may_be_the_first_of_all() {
    // Its leader took over at second 95, and started with 8 at 112; the spec was changed at 97.
    let mut hpa = state((390, 97, 8, None));
    hpa.status.conditions[0].reason = "ScaleDownStabilized".to_owned();
    let at_most = |spec_changed| {
        let seen = vec![SeenPass {
            spec_changed,
            ..pass((3, 3), 97, 390)
        }];
        let evidence = Evidence { seen, ..led(95) };
        inferred(&hpa, &evidence, 391).highest.at_most
    };
    assert_eq!(at_most(true), Some(8));
    assert_eq!(at_most(false), Some(7));
}

#[test]
fn the_first_count_holds_whatever_the_window() {
    let at_most = |able: &str| {
        let mut hpa = state((100, 50, 8, Some(10)));
        hpa.status.conditions[0].status = able.to_owned();
        inferred(&hpa, &led(0), 101).highest.at_most
    };
    assert_eq!(
        at_most("True"),
        Some(0),
        "nothing is left of what passes recommended"
    );
    assert_eq!(
        at_most("False"),
        None,
        "the next may be the first that reads the scale"
    );
}

#[test]
fn without_an_election_a_controller_is_back_within_seconds() {
    let at_least = |second, third| {
        let passes = [(8, 8, 100, second), (5, 5, second, third)];
        highest(&state((third, 50, 5, Some(300))), &passes, third + 4).at_least
    };
    assert_eq!(at_least(115, 131), Some(8));
    assert_eq!(
        at_least(120, 135),
        Some(5),
        "the count, which it started with"
    );
}

#[test]
fn with_behavior_the_flag_counts_in_whole_seconds() {
    let controller = Controller {
        downscale_stabilization: SignedDuration::from_millis(90_500),
        ..Controller::default()
    };
    let down = |window| windows(&state((0, 0, 1, window)).spec, &controller).1;
    assert_eq!(down(None).as_millis(), 90_500);
    let mut hpa = state((0, 0, 1, Some(1)));
    hpa.spec.behavior.as_mut().unwrap().scale_down = None;
    assert_eq!(windows(&hpa.spec, &controller).1.as_millis(), 90_000);
}

#[test]
fn a_rescale_may_be_a_second_later_than_the_status_that_begins_the_chain() {
    let mut hpa = state((160, 50, 5, Some(300)));
    let rules = hpa
        .spec
        .behavior
        .as_mut()
        .unwrap()
        .scale_down
        .as_mut()
        .unwrap();
    let policy = r#"[{"type": "Pods", "value": 1, "periodSeconds": 60}]"#;
    rules.policies = serde_json::from_str(policy).unwrap();
    hpa.status.last_scale_time = Some(second(130));
    // The next pass looks back to second 114.
    for (since, all_are_known) in [(113, true), (114, false)] {
        let rescales = Rescales {
            since: second(since),
            changes: Vec::new(),
        };
        let evidence = Evidence {
            rescales: Some(rescales),
            ..Evidence::default()
        };
        let changes = inferred(&hpa, &evidence, 161).changes;
        assert_eq!(changes.is_some(), all_are_known, "{since}");
    }
}

/// The first pass of a leader over an HPA that is older comes a sync period after its start. It would have written the
/// replicas that the target has had since before.
#[test]
fn a_leader_without_a_pass_has_no_history() {
    for (version, (created, changed), acquired, replicas, set, least) in [
        ("v1.36", (50, 50), 95, 8, 79, Some(8)),
        ("v1.36", (50, 50), 88, 8, 79, Some(1)),
        ("v1.36", (50, 50), 86, 8, 79, None),
        ("v1.36", (96, 96), 95, 8, 79, None),
        ("v1.37", (50, 50), 95, 8, 79, None),
        ("v1.36", (50, 50), 84, 9, 82, Some(0)),
        ("v1.36", (50, 50), 84, 9, 97, Some(0)),
        ("v1.36", (50, 50), 84, 9, 98, None),
        ("v1.36", (50, 50), 84, 9, 80, None),
        ("v1.36", (50, 50), 84, 8, 82, None),
        ("v1.36", (96, 96), 95, 9, 82, None),
        ("v1.37", (50, 50), 95, 9, 93, Some(0)),
        // Its passes before the change may have been over another target.
        ("v1.36", (50, 84), 84, 9, 82, Some(0)),
        ("v1.36", (50, 85), 84, 9, 82, None),
    ] {
        let write = json!({"manager": "kubectl", "time": SecondsTime(second(set)).to_string(),
            "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        let managed = json!({"metadata": {"managedFields": [write]}});
        let target = build::with(build::deployment(replicas), &managed);
        let items = [build::hpa(&json!({})), build::scale(replicas), target];
        let mut input = input(&items).unwrap();
        let Snapshot { hpa, now, .. } = &mut input.snapshot;
        let target = hpa.spec.scale_target_ref.clone();
        *hpa = state((80, changed, 8, None));
        (hpa.written.created, *now) = (Some(second(created)), second(101));
        hpa.spec.scale_target_ref = target;
        input.snapshot.controller = of(version);
        let lease = led(acquired).lease.unwrap();
        let delay = until_first_pass(&lease, &input);
        let found = delay.map(|delay| delay.least.as_secs());
        assert_eq!(
            found, least,
            "{version} {created} {changed} {acquired} {replicas} {set}"
        );
    }
}

/// What it wrote about the HPA came from a pass; its other controllers say nothing.
#[test]
fn a_leader_that_wrote_about_the_hpa_may_have_a_history() {
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
        "spec": {"leaseDurationSeconds": 15, "holderIdentity": "a",
            "acquireTime": "2026-11-21T05:59:50.000000Z", "renewTime": "2026-11-21T05:59:58.000000Z"}});
    let written = json!({"metadata": {"managedFields": [{"manager": "kube-controller-manager",
        "subresource": "status", "time": "2026-11-21T05:59:40Z"}]},
        "status": {"currentReplicas": 4, "desiredReplicas": 4}});
    let rescaled = json!({"apiVersion": "v1", "kind": "Event",
        "metadata": {"name": "web.1", "namespace": "default"},
        "involvedObject": {"kind": "HorizontalPodAutoscaler", "namespace": "default", "name": "web"},
        "reason": "SuccessfulRescale", "message": "New size: 4; reason: cpu above target",
        "count": 1, "lastTimestamp": "2026-11-21T05:59:54Z"});
    let hpa = build::with(build::hpa(&json!({})), &written);
    let unknown = build::state(&json!({"memory": "unknown"}));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": true}]);
    let created = json!({"metadata": {"creationTimestamp": "2026-11-21T05:59:54Z", "ownerReferences": owner}});
    let pod = build::with(build::pod("web-0"), &created);
    let ahead = build::with(
        lease.clone(),
        &json!({"spec": {"acquireTime": "2026-11-21T06:05:00.000000Z"}}),
    );
    let is_empty = |more: &[&Value]| {
        let own = [&unknown, &hpa, &build::scale(4)];
        let items = own
            .iter()
            .chain(more)
            .map(|it| (*it).clone())
            .collect::<Vec<_>>();
        Remembered::of(&input(&items).unwrap()).is_known_empty()
    };
    assert!(is_empty(&[&lease]));
    assert!(is_empty(&[&lease, &pod]));
    assert!(!is_empty(&[&lease, &rescaled]));
    let manager = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "kube-controller-manager-a", "namespace": "kube-system",
            "labels": {"component": "kube-controller-manager"}},
        "spec": {"containers": [{"name": "kube-controller-manager", "image": "manager:v1.36.2",
            "command": ["kube-controller-manager", "--leader-elect=false"]}]},
        "status": {"phase": "Running"}});
    assert!(
        !is_empty(&[&lease, &manager]),
        "the lease is of another one"
    );
    assert!(!is_empty(&[&ahead]), "its clock differs");
}

#[test]
fn an_hpa_that_was_never_reconciled_has_no_history() {
    let found = |change: &dyn Fn(&mut Hpa), event: Option<Event>| {
        let mut hpa = state((100, 50, 8, None));
        hpa.status = serde_json::from_value(json!({})).unwrap();
        hpa.written.status = None;
        change(&mut hpa);
        let evidence = Evidence {
            events: event.into_iter().collect(),
            ..Evidence::default()
        };
        let found = remembered(&hpa, &evidence, second(101));
        let just_started = found.knowledge == Knowledge::JustStarted;
        assert_eq!(found.possible.is_none(), just_started);
        let never = BasisView::new("history", "empty: no pass over this HPA yet", "its status");
        assert_eq!(found.grounds == [never], just_started);
        just_started
    };
    assert!(found(&|_| (), None));
    assert!(!found(
        &|hpa| hpa.status.conditions = state((0, 0, 8, None)).status.conditions,
        None
    ));
    assert!(!found(
        &|hpa| hpa.status.last_scale_time = Some(second(90)),
        None
    ));
    assert!(!found(&|hpa| hpa.written.status = Some(second(100)), None));
    assert!(found(&|_| (), Some(event("u", "Other", "", 90))));
    assert!(!found(&|_| (), Some(event("other", "Other", "", 90))));
    assert!(!found(
        &|_| (),
        Some(event("u", "FailedUpdateStatus", "", 90))
    ));
}

#[test]
fn something_is_known_if_a_status_or_an_event_shows_it() {
    let whole = state((100, 50, 8, None));
    let mut ours = whole.clone();
    ours.written.by_us = true;
    let passes = || Evidence {
        seen: vec![pass((3, 3), 80, 95)],
        ..led(0)
    };
    let silent = ground::recommendations(
        "the status says nothing about them",
        "kubectl-hpa wrote it, possibly without a pass since",
    );
    let controller = |value: &str, source: &str| BasisView::new("controller", value, source);
    let leads = controller(
        &format!(
            "leader since {}, with no older history",
            SecondsTime(second(0))
        ),
        "the controller manager's lease",
    );
    let since = controller(
        &format!("has not restarted since {}", SecondsTime(second(99))),
        "consecutive statuses; no current lease of a controller manager is known",
    );
    for (hpa, evidence, knowledge, first, last) in [
        (&whole, passes(), Knowledge::Inferred, None, &leads),
        (
            &whole,
            Evidence::default(),
            Knowledge::Inferred,
            None,
            &since,
        ),
        (&ours, passes(), Knowledge::Inferred, Some(&silent), &leads),
        (
            &ours,
            Evidence {
                lease: None,
                ..passes()
            },
            Knowledge::Unknown,
            Some(&silent),
            &silent,
        ),
        (&ours, led(0), Knowledge::Unknown, Some(&silent), &silent),
    ] {
        let found = remembered(hpa, &evidence, second(101));
        assert_eq!(found.knowledge, knowledge, "{found:#?}");
        assert_eq!(found.grounds.last(), Some(last), "{found:#?}");
        if let Some(first) = first {
            assert_eq!(found.grounds.first(), Some(first), "{found:#?}");
        }
    }
    // A pass may have run since 114: the controller may have restarted.
    let found = remembered(&whole, &Evidence::default(), second(115));
    let unknown = controller(
        "may have restarted at any time",
        "no current lease of a controller manager is known",
    );
    assert_eq!(found.grounds.last(), Some(&unknown));
}

/// Since its metrics fail, only the recommendations before count, until they leave the window of 300 s.
#[test]
fn a_failed_pass_adds_no_recommendation() {
    let mut hpa = failed();
    let seen = vec![pass((3, 3), -250, 85), pass((i32::MAX, 0), 85, 100)];
    let known = || Evidence {
        seen: seen.clone(),
        ..led(-500)
    };
    let found = |at_least, at_most| Extreme { at_least, at_most };
    // Without a state before it, the current replicas were most likely recommended a pass before the failure.
    let before = Some(second(100 - 15).minus(SignedDuration::from_millis(40)));
    for (evidence, now, highest, knowledge, last) in [
        (
            known(),
            116,
            found(Some(3), Some(3)),
            Knowledge::Inferred,
            Some(second(85 - 15)),
        ),
        (
            known(),
            400,
            found(None, Some(0)),
            Knowledge::Inferred,
            None,
        ),
        (
            led(-500),
            300,
            found(None, None),
            Knowledge::Unknown,
            before,
        ),
        (
            led(-500),
            400,
            found(None, Some(0)),
            Knowledge::Inferred,
            None,
        ),
    ] {
        let Remembered {
            likely,
            knowledge: told,
            possible,
            delay,
            ..
        } = remembered(&hpa, &evidence, second(now));
        assert_eq!((told, likely.needs_seed()), (knowledge, false), "{now}");
        assert_eq!(possible.unwrap().highest, highest, "{now}");
        let time = likely
            .recommendations
            .last()
            .map(|it| it.time.plus(delay.likely));
        assert_eq!(time, last, "{now}");
    }
    // The first pass that could read the scale, up to five seconds before the status, recommended its replicas.
    for (able, at_most) in [(100, 8), (94, 8), (93, 0)] {
        hpa.status.conditions[0].last_transition_time = Some(second(able));
        let possible = inferred(&hpa, &led(-500), 390);
        assert_eq!(possible.highest, found(None, Some(at_most)), "{able}");
    }
    // So did the first pass of a new leader.
    let new = remembered(&hpa, &led(200), second(300));
    let last = new.likely.recommendations.last();
    let time = last.map(|it| it.time.plus(new.delay.likely));
    assert_eq!(time, Some(second(215)));
}

/// Without a lease, a controller may have started before the target was scaled from 8 to 3, or after it.
#[test]
fn a_controller_that_has_restarted_found_the_count_of_the_status_or_the_present_one() {
    let found = remembered_at(3, &failed(), &Evidence::default(), second(500));
    let highest = Extreme {
        at_least: None,
        at_most: Some(8),
    };
    assert_eq!(found.possible.unwrap().highest, highest);
    // The last pass itself scaled it to 3.
    let mut scaled = state((100, 50, 8, None));
    scaled.status.conditions[0].reason = "SucceededRescale".into();
    scaled.status.desired_replicas = 3;
    for (replicas, most) in [(3, 3), (4, 8)] {
        let found = remembered_at(replicas, &scaled, &Evidence::default(), second(500));
        assert_eq!(
            found.possible.unwrap().highest.at_most,
            Some(most),
            "{replicas}"
        );
    }
}

/// Returns an HPA of whose passes over 8 replicas the metrics have failed since 100.
fn failed() -> Hpa {
    let mut hpa = state((100, 50, 8, None));
    hpa.status.conditions[1].status = "False".into();
    hpa.status.conditions[1].reason = "FailedGetResourceMetric".into();
    hpa
}

/// The last pass was at 129 or later, with a window of 30 s, and kept nothing from before 99.
#[test]
fn what_has_been_overwritten_is_not_likely() {
    let hpa = state((130, 50, 8, Some(30)));
    for (until, kept) in [(113, false), (114, true), (115, true)] {
        let evidence = Evidence {
            seen: vec![pass((3, 3), 60, until)],
            ..led(0)
        };
        let found = remembered(&hpa, &evidence, second(131))
            .likely
            .recommendations;
        assert_eq!(found.iter().any(|it| it.replicas == 3), kept, "{until}");
    }
}

/// Only what a window contains is within the bounds of that; one of a sync period contains nothing.
#[test]
fn the_likely_recommendations_are_within_the_bounds() {
    let found = |up: i32, down: i32, replicas, time| {
        let mut hpa = state((100, 50, 8, None));
        let window = |seconds: i32| json!({"stabilizationWindowSeconds": seconds});
        let behavior = json!({"scaleUp": window(up), "scaleDown": window(down)});
        hpa.spec.behavior = serde_json::from_value(behavior).unwrap();
        let evidence = Evidence::default();
        let known = Known::new(&hpa, &hpa.spec, 8, &of("v1.36"), second(101), &evidence);
        let likely = Recommendation {
            replicas,
            time: second(time),
        };
        let held = HeldRecommendation {
            replicas: 0..=9,
            earliest: second(time),
            likely,
        };
        let highest = Extreme {
            at_least: None,
            at_most: Some(6),
        };
        let lowest = Extreme {
            at_least: Some(4),
            at_most: None,
        };
        let found = within(&known, held.likely, highest, lowest);
        // As much later as the next pass most likely is, at 115.04.
        assert_eq!(
            found.time,
            second(time).minus(SignedDuration::from_millis(14_040))
        );
        found.replicas
    };
    for (up, down, replicas, time, want) in [
        (0, 20, 8, 96, 6),
        (0, 20, 8, 95, 8),
        (0, 20, 5, 96, 5),
        (20, 0, 3, 96, 4),
        (20, 0, 3, 95, 3),
        (20, 0, 5, 96, 5),
        (16, 0, 3, 115, 4),
        (15, 0, 3, 115, 3),
        (14, 0, 3, 115, 3),
        (15, 0, 3, 55, 3),
        (16, 0, 3, 55, 3),
    ] {
        assert_eq!(
            found(up, down, replicas, time),
            want,
            "{up} {down} {replicas} {time}"
        );
    }
}

/// After a minute without renewal the leader has ended, and its memory with it: whoever comes next finds the
/// current replicas. A later sign of a controller shows that it needs no lease.
#[test]
fn a_leader_that_lost_its_lease_has_lost_its_memory() {
    let found = |now: i64, change: &dyn Fn(&mut Input)| {
        let items = [build::hpa(&json!({"maxReplicas": 20})), build::scale(8)];
        let options = Options {
            name: "web".to_owned(),
            now: Some(second(now)),
            ..Options::default()
        };
        let mut input = saved::read(&build::list(items), &options, second(0)).unwrap();
        input.snapshot.hpa = state((100, 50, 8, None));
        let duration = SignedDuration::from_secs(15);
        let lease = Lease {
            acquired: second(0),
            renewed: second(110),
            duration,
        };
        input.evidence.lease = Some(lease);
        change(&mut input);
        let found = Remembered::of(&input);
        assert_eq!(found.is_known_empty(), !found.is_open(), "{found:#?}");
        found.is_known_empty()
    };
    assert!(found(170, &|_| {}));
    assert!(!found(169, &|_| {}), "clocks may differ");
    let written = |time| move |input: &mut Input| input.snapshot.hpa.written.status = time;
    assert!(found(170, &written(Some(second(126)))));
    assert!(!found(170, &written(Some(second(127)))));
    let event = |input: &mut Input| input.evidence.events = vec![above(8, 127)];
    assert!(!found(170, &event));
    let other = |input: &mut Input| {
        let hpa = state((127, 50, 8, None));
        input.snapshot.other_hpas = vec![OtherHpa { hpa, scale: None }.into()];
    };
    assert!(!found(170, &other));
    // What `apply` wrote is no sign.
    let by_us = |input: &mut Input| {
        input.snapshot.hpa.written.by_us = true;
        input.snapshot.hpa.written.status = Some(second(127));
    };
    assert!(found(170, &by_us));
}

/// Calculations with times at the ends of the calendar would not fit.
#[test]
fn a_time_at_the_end_of_the_calendar_leaves_nothing_known() {
    const PLACES: usize = 18;
    for far in [Timestamp::MIN, Timestamp::MAX] {
        for place in 0..PLACES {
            let mut hpa = state((100, 50, 8, Some(300)));
            hpa.status.last_scale_time = Some(second(90));
            let mut evidence = Evidence {
                events: vec![event("u", "Other", "", 90)],
                scaled: vec![event("u", "Other", "", 90)],
                seen: vec![pass((3, 3), 80, 95)],
                ..led(0)
            };
            let change = ScaleEvent {
                replicas: 1,
                time: second(90),
                outdated: false,
            };
            let mut rescales = Rescales {
                since: second(50),
                changes: vec![change],
            };
            let mut now = second(101);
            let lease = evidence.lease.as_mut().unwrap();
            match place {
                0 => hpa.written.created = Some(far),
                1 => hpa.written.spec = Some(far),
                2 => hpa.written.status = Some(far),
                3 => hpa.status.last_scale_time = Some(far),
                4 => hpa.status.conditions[0].last_transition_time = Some(far),
                5 => now = far,
                6 => evidence.events[0].first = Some(far),
                7 => evidence.events[0].last = Some(far),
                8 => evidence.scaled[0].first = Some(far),
                9 => evidence.scaled[0].last = Some(far),
                10 => lease.acquired = far,
                11 => lease.renewed = far,
                12 => evidence.seen[0].time = far,
                13 => evidence.seen[0].until = far,
                14 => rescales.since = far,
                15 => rescales.changes[0].time = far,
                _ => {}
            }
            evidence.rescales = Some(rescales);
            let found = remembered(&hpa, &evidence, now);
            let nothing = found == Remembered::unknown(now);
            assert_eq!(nothing, place < PLACES - 2, "{place} {far}");
        }
    }
}

#[test]
fn averages_over_a_target_are_told_by_their_metrics() {
    let of = |target: Value, kind: &str| {
        let source = json!({"target": target, "metric": {"name": "m"}});
        let metric = json!({"type": kind, kind.to_lowercase(): source});
        averages_over_target(&Hpa::of(&json!({"metrics": [metric]}), json!({})).spec)
    };
    let average = json!({"type": "AverageValue", "averageValue": "1"});
    assert!(of(average.clone(), "External"));
    assert!(of(average.clone(), "Object"));
    assert!(
        !of(average, "Pods"),
        "an average over the pods that have the metric"
    );
    assert!(!of(json!({"type": "Value", "value": "1"}), "External"));
    // The controller goes by the type, if the metric is of an object.
    let both = json!({"type": "Value", "value": "1", "averageValue": "1"});
    assert!(!of(both.clone(), "Object"));
    assert!(of(both, "External"));
}

/// The longest of both windows and of all periods, and the 20 s until the next pass.
#[test]
fn a_history_counts_for_the_longest_window_or_period() {
    let found = |up: i32, down: i32, period: i32| {
        let mut hpa = state((100, 50, 8, None));
        let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": period}]);
        let behavior = json!({
            "scaleUp": {"stabilizationWindowSeconds": up, "policies": policies},
            "scaleDown": {"stabilizationWindowSeconds": down},
        });
        hpa.spec.behavior = serde_json::from_value(behavior).unwrap();
        window(&hpa, &of("v1.36")).as_secs()
    };
    assert_eq!(
        (found(90, 60, 30), found(60, 90, 30), found(30, 60, 90)),
        (110, 110, 110)
    );
    assert_eq!(
        window(&state((100, 50, 8, None)), &of("v1.36")).as_secs(),
        320
    );
}

/// Events of the HPA tell of its rescales, but not whether others have scaled the target. Those of a Deployment
/// do; states of the HPA that were observed during its whole history, 320 s, need neither.
#[test]
fn rescales_that_only_events_tell_of_need_those_of_the_target() {
    let trusts = |change: &dyn Fn(&mut Input)| {
        let items = [build::hpa(&json!({"maxReplicas": 20})), build::scale(6)];
        let mut input = input(&items).unwrap();
        let mut hpa = state((100, 50, 6, None));
        let policies = json!([{"type": "Pods", "value": 4, "periodSeconds": 60}]);
        hpa.spec.behavior =
            serde_json::from_value(json!({"scaleUp": {"policies": policies}})).unwrap();
        hpa.status.last_scale_time = Some(second(85));
        input.evidence = Evidence {
            events: vec![above(4, 40), above(6, 85)],
            ..led(0)
        };
        input.snapshot.hpa = hpa;
        input.snapshot.controller = of("v1.36");
        input.snapshot.now = second(101);
        change(&mut input);
        trusts_events(&input)
    };
    assert!(trusts(&|_| ()));
    let kind = "StatefulSet".to_owned();
    assert!(!trusts(&|input| input
        .snapshot
        .hpa
        .spec
        .scale_target_ref
        .kind
        .clone_from(&kind)));
    assert!(
        !trusts(&|input| input.evidence.events.clear()),
        "anything may count"
    );
    assert!(
        !trusts(&|input| input.snapshot.hpa.status.last_scale_time = None),
        "nothing counts"
    );
    let seen_for = |seconds: i64| {
        trusts(&|input| {
            let change = ScaleEvent {
                replicas: 2,
                time: second(85),
                outdated: false,
            };
            let rescales = Rescales {
                since: second(101 - seconds),
                changes: vec![change],
            };
            input.evidence.rescales = Some(rescales);
        })
    };
    assert_eq!(
        (seen_for(319), seen_for(320), seen_for(321)),
        (true, false, false)
    );
}

/// The status of the last pass, which proposed 10 of the 8 replicas, and was held at more.
#[test]
fn a_hold_that_the_status_shows_is_most_likely_above_the_proposal() {
    let mut hpa = state((100, 50, 8, None));
    let target = json!({"metric": {"name": "queue"}, "target": build::value("25")});
    let current = json!({"metric": {"name": "queue"}, "current": {"value": "30"}});
    let metrics = json!([{"type": "External", "external": target}]);
    hpa.spec.metrics = serde_json::from_value(metrics).unwrap();
    let metrics = json!([{"type": "External", "external": current}]);
    hpa.status.current_metrics = serde_json::from_value(metrics).unwrap();
    hpa.status.conditions[2].reason = "TooManyReplicas".to_owned();
    for (able, highest) in [("ReadyForNewScale", 10), ("ScaleDownStabilized", 11)] {
        hpa.status.conditions[0].reason = able.to_owned();
        let likely = remembered(&hpa, &Evidence::default(), second(101)).likely;
        let replicas = likely.recommendations.iter().map(|it| it.replicas);
        assert_eq!(replicas.max(), Some(highest), "{able}");
    }
}

/// A status that was lost may have belonged to another rescale, but most likely did not.
#[test]
fn where_any_change_may_count_the_reported_ones_most_likely_do() {
    let mut hpa = state((100, 50, 6, None));
    let policies = json!([{"type": "Pods", "value": 4, "periodSeconds": 60}]);
    hpa.spec.behavior = serde_json::from_value(json!({"scaleUp": {"policies": policies}})).unwrap();
    hpa.status.last_scale_time = Some(second(85));
    let lost = event("u", "FailedUpdateStatus", "", 70);
    let evidence = Evidence {
        events: vec![above(4, 40), lost, above(6, 85)],
        ..led(0)
    };
    let found = remembered(&hpa, &evidence, second(101));
    let added: Vec<i32> = found
        .likely
        .scale_up_events
        .iter()
        .map(|it| it.replicas)
        .collect();
    assert_eq!((found.possible.unwrap().changes, added), (None, vec![2]));
}

#[test]
fn pods_without_samples_are_not_measured() {
    let mut items = vec![build::hpa(&json!({"maxReplicas": 20})), build::scale(3)];
    items.extend(["web-0", "web-1", "web-2"].map(build::pod));
    let counts = |items: &[Value]| {
        let snapshot = input(items).unwrap().snapshot;
        let Pods { begun, ready, .. } = pods(&snapshot, snapshot.scale.as_ref().unwrap());
        [begun, ready].map(|count| (count.all, count.measured))
    };
    assert_eq!(counts(&items), [(3, 3); 2], "none are known");
    items.push(build::pod_metrics("web-0", "50m"));
    assert_eq!(counts(&items), [(3, 1); 2]);
}

/// A history of passes whose recommendations are known, for 8 replicas all the time.
fn recorded(passes: &[((i32, i32), i64)]) -> Past {
    let pass = |&((at_least, at_most), time): &((i32, i32), i64)| PastPass {
        time: second(time),
        recommended: Bounds { at_least, at_most },
        likely: None,
        found: Some(Bounds::exactly(8)),
    };
    Past {
        replicas: Bounds::exactly(8),
        passes: passes.iter().map(pass).collect(),
        ..Past::default()
    }
}

/// A hold at 8 replicas, by a recommendation at a time that the status does not show.
#[test]
fn a_history_makes_the_bounds_narrower_where_it_agrees_with_the_api() {
    let of = |past: Option<Past>, leads: bool| {
        let mut hpa = state((100, 0, 8, None));
        hpa.status.conditions[0].reason = "ScaleDownStabilized".to_owned();
        hpa.written.created = Some(second(-900));
        let evidence = Evidence {
            lease: led(-900).lease.filter(|_| leads),
            recorded: past,
            ..Evidence::default()
        };
        let found = remembered(&hpa, &evidence, second(101));
        (found.possible.unwrap().highest, found.grounds)
    };
    let bounds = |past: Option<Past>| of(past, true).0;
    let (alone, _) = of(None, true);
    assert_eq!(
        alone,
        Extreme {
            at_least: Some(0),
            at_most: Some(8)
        }
    );
    let (found, grounds) = of(Some(recorded(&[((8, 9), 85), ((3, 5), 100)])), true);
    assert_eq!(
        found,
        Extreme {
            at_least: Some(8),
            at_most: Some(8)
        }
    );
    assert!(
        grounds
            .iter()
            .any(|it| it.value.starts_with("narrower bounds, ")),
        "{grounds:?}"
    );
    // Nothing is added by gaps, by what may have left the window, and by passes over another spec.
    let unknown = (0, i32::MAX);
    assert_eq!(bounds(Some(recorded(&[(unknown, 85)]))), alone);
    assert_eq!(bounds(Some(recorded(&[((8, 9), -178)]))), alone);
    assert_eq!(bounds(Some(recorded(&[((8, 9), 2)]))), alone);
    // Passes that failed, as their status shows, left none, whatever the samples lead to.
    let of_failed = |time| {
        let mut hpa = failed();
        (hpa.written.spec, hpa.written.created) = (Some(second(0)), Some(second(-900)));
        let evidence = Evidence {
            seen: vec![pass((i32::MAX, 0), 70, 85)],
            recorded: Some(recorded(&[((8, 9), time)])),
            ..led(-900)
        };
        inferred(&hpa, &evidence, 131).highest.at_least
    };
    let left = [67, 69, 82, 84, 97, 99, 120].map(of_failed);
    let (some, none) = (Some(8), None);
    assert_eq!(left, [some, none, none, some, some, none, none]);
    // The first pass of all recommended the 8 replicas that it found, too.
    let mut young = failed();
    (young.written.spec, young.written.created) = (Some(second(60)), Some(second(60)));
    let evidence = Evidence {
        recorded: Some(recorded(&[((3, 4), 75)])),
        ..led(-900)
    };
    let most = inferred(&young, &evidence, 131).highest.at_most;
    assert_eq!(most, Some(8));
    // It never makes them wider, nor is it believed against the status or the scale.
    assert_eq!(bounds(Some(recorded(&[((0, 20), 85)]))), alone);
    let contradicted = |past: Past, on: &str| {
        let (found, grounds) = of(Some(past), true);
        assert_eq!(found, alone);
        let ground = BasisView::new("history", "not taken from Prometheus", on);
        assert!(grounds.contains(&ground), "{grounds:?}");
    };
    let recommendations =
        "the recorded metrics lead to other recommendations than the status shows";
    let other = recorded(&[((8, 9), 85), ((8, 9), 100)]);
    contradicted(other, recommendations);
    contradicted(recorded(&[((9, 9), 85)]), recommendations);
    let replicas = Past {
        replicas: Bounds::exactly(7),
        ..recorded(&[((8, 9), 85)])
    };
    contradicted(
        replicas,
        "the recorded replicas are not those of the target",
    );
    // Without managedFields, its passes may be over another spec.
    let mut undated = state((100, 0, 8, None));
    undated.written.spec = None;
    let evidence = Evidence {
        recorded: Some(recorded(&[((8, 9), 85)])),
        ..led(-900)
    };
    let grounds = remembered(&undated, &evidence, second(101)).grounds;
    let undated = "none by recorded passes, which may be over another spec";
    assert!(grounds.iter().any(|it| it.value == undated), "{grounds:?}");
    // A controller that has restarted may have recommended what it found instead.
    let mut fewer = recorded(&[((8, 9), 70), ((0, 0), 85)]);
    fewer.passes[1].found = Some(Bounds::exactly(6));
    assert_eq!(of(Some(fewer.clone()), true).0.at_least, Some(8));
    assert_eq!(of(Some(fewer), false).0.at_least, Some(6));
}
