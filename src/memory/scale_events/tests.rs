//! What may count at the next pass. Expected values follow by hand: the status is of second 100, now is 101, so
//! the next pass runs from 114 to 121, and a period of 60 s begins at 54 at the earliest.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Counts, Event, ScaleEvent, alternatives, changes, incomplete, is_by_another, periods};
use crate::memory::ground;
use crate::memory::known::Known;
use crate::memory::states::tests::{above, event, led, of, second, state};
use crate::snapshot::basis::BasisView;
use crate::snapshot::evidence::{Evidence, Rescales};
use crate::snapshot::hpa::{Behavior, Hpa, HpaSpec};
use crate::snapshot::memory::Memory;

const NOW: i64 = 101;

/// Returns the rules of both directions, each with policies of these periods.
fn behavior(up: &[i32], down: &[i32]) -> Behavior {
    let policy = |period: &i32| json!({"type": "Pods", "value": 4, "periodSeconds": period});
    let rules = |periods: &[i32]| -> Value {
        json!({"policies": periods.iter().map(policy).collect::<Vec<_>>()})
    };
    serde_json::from_value(json!({"scaleUp": rules(up), "scaleDown": rules(down)})).unwrap()
}

/// Returns an HPA whose last rescale was at some time, with these periods.
fn hpa(rescale: i64, up: &[i32], down: &[i32]) -> Hpa {
    let mut hpa = state((100, 50, 8, None));
    hpa.spec.behavior = Some(behavior(up, down));
    hpa.status.last_scale_time = Some(second(rescale));
    hpa
}

/// Returns the evidence of these rescales, by a leader since the start.
fn seen(rescales: &[(i32, i64)]) -> Evidence {
    let changes = rescales.iter().map(change).collect();
    Evidence {
        rescales: Some(Rescales {
            since: second(0),
            changes,
        }),
        ..led(0)
    }
}

fn change(&(replicas, time): &(i32, i64)) -> ScaleEvent {
    ScaleEvent {
        replicas,
        time: second(time),
        outdated: false,
    }
}

/// Returns the evidence of events, in the time of a leader since the start.
fn told(events: Vec<Event>) -> Evidence {
    Evidence { events, ..led(0) }
}

/// Replicas, each with a time in hundredths of a second.
type Changes = Vec<(i32, i64)>;

/// Returns the lists in hundredths of a second, and why.
fn lists(hpa: &Hpa, evidence: &Evidence) -> (Option<Vec<Changes>>, Vec<BasisView>) {
    let known = Known::new(hpa, &hpa.spec, 8, &of("v1.36"), second(NOW), evidence);
    let mut grounds = Vec::new();
    let found = changes(&known, &mut grounds);
    let at = |time: Timestamp| time.duration_since(second(0)).as_millis() as i64 / 10;
    let list = |list: &Vec<ScaleEvent>| list.iter().map(|it| (it.replicas, at(it.time))).collect();
    let all = (!found.is_open).then(|| found.next.iter().map(list).collect());
    (all, grounds)
}

/// Returns the ground for changes, each with its time.
fn according_to(source: &str, changes: &[(i32, i64)]) -> BasisView {
    ground::counted(&Vec::from_iter(changes.iter().map(change)), source)
}

fn never_rescaled() -> BasisView {
    according_to("status.lastScaleTime is not set", &[])
}

/// Returns why, and whether nothing counts (or anything may).
fn why(hpa: &Hpa, evidence: &Evidence) -> (bool, Vec<BasisView>) {
    let (lists, why) = lists(hpa, evidence);
    assert!(lists.is_none() || lists == Some(vec![vec![]]), "{lists:?}");
    (lists.is_some(), why)
}

/// Returns the changes that are counted according to the evidence, or why anything may be.
fn counted(hpa: &Hpa, evidence: &Evidence) -> Result<Vec<(i32, i64)>, String> {
    let known = Known::new(hpa, &hpa.spec, 8, &of("v1.36"), second(NOW), evidence);
    let longest = *periods(hpa.spec.behavior.as_ref().unwrap()).last().unwrap();
    let (ground, lists) = alternatives(&known, longest);
    let Some(lists) = lists else {
        assert_eq!(ground, ground::any_rescale(&ground.source));
        return Err(ground.source);
    };
    assert_eq!(ground, ground::counted(&lists[0], ground::BY_EVENTS));
    let seconds = |time: Timestamp| time.duration_since(second(0)).as_secs();
    Ok(lists[0]
        .iter()
        .map(|it| (it.replicas, seconds(it.time)))
        .collect())
}

#[test]
fn without_a_rescale_in_a_period_nothing_counts() {
    let plain = state((100, 50, 8, None));
    assert_eq!(why(&plain, &led(0)), (true, vec![]), "no behavior");
    assert_eq!(
        why(&hpa(90, &[], &[]), &led(0)),
        (true, vec![]),
        "no policies"
    );
    let mut never = hpa(90, &[60], &[]);
    never.status.last_scale_time = None;
    assert_eq!(why(&never, &led(0)), (true, vec![never_rescaled()]));
    // What was done by 59 is 54 s old at 114 and at least 55 s as whole sync periods: from 69 to 100 there were
    // two, and one more to the next pass.
    let rescaled = |time, period| why(&hpa(time, &[period], &[]), &led(0));
    let expired = BasisView::new(
        "scale events",
        "no rescale within the periods of the policies",
        format!("status.lastScaleTime, {}s ago", NOW - 68),
    );
    assert_eq!(rescaled(68, 45), (true, vec![expired]));
    assert_eq!(rescaled(68, 46).1, [ground::any_rescale(incomplete())]);
}

/// The spec had no `behavior` at all passes that are inside the period.
#[test]
fn passes_without_behavior_remember_nothing() {
    let mut hpa = hpa(90, &[60], &[]);
    let next = hpa.spec.clone();
    hpa.spec.behavior = None;
    let evidence = led(0);
    let mut found = |spec: i64| {
        hpa.written.spec = Some(second(spec));
        let known = Known::new(&hpa, &next, 8, &of("v1.36"), second(NOW), &evidence);
        let mut grounds = Vec::new();
        (!changes(&known, &mut grounds).is_open, grounds)
    };
    let none = BasisView::new(
        "scale events",
        "rate limits count no rescale: without behavior, none is remembered",
        "the observed spec",
    );
    assert_eq!(found(51), (true, vec![none]));
    assert!(
        !found(52).0,
        "a pass of 53.x may have been over another spec"
    );
}

#[test]
fn what_no_status_shows_may_be_anything() {
    let lost = |time, since| {
        let events = vec![event("u", "FailedUpdateStatus", "", time)];
        let mut never = hpa(90, &[60], &[]);
        never.status.last_scale_time = None;
        why(
            &never,
            &Evidence {
                events,
                ..led(since)
            },
        )
    };
    let unseen = |why| (false, vec![ground::any_rescale(why)]);
    let nothing = (true, vec![never_rescaled()]);
    let earlier_hpa = unseen("events about an earlier HPA of the name");
    let unseen = unseen("a status that could not be written");
    assert_eq!(lost(53, 0), nothing);
    assert_eq!(lost(54, 0), unseen);
    assert_eq!(lost(90, 89), unseen);
    assert_eq!(lost(90, 90), nothing, "its controller is gone");

    let replaced = |created: i64, since: Option<i64>| {
        let other = event("other", "Other", "", 10);
        let mut hpa = hpa(90, &[60], &[]);
        hpa.written.created = Some(second(created));
        hpa.status.last_scale_time = None;
        let evidence = since.map_or_else(Evidence::default, led);
        why(
            &hpa,
            &Evidence {
                events: vec![other],
                ..evidence
            },
        )
    };
    assert_eq!(replaced(53, Some(0)), nothing);
    assert_eq!(replaced(54, Some(0)), earlier_hpa);
    assert_eq!(replaced(54, None), earlier_hpa);
    assert_eq!(replaced(60, Some(60)), nothing);
}

/// The events and states then show the most likely changes nonetheless.
#[test]
fn hidden_changes_leave_the_known_ones_likely() {
    let hpa = hpa(85, &[60], &[]);
    let lost = event("u", "FailedUpdateStatus", "", 70);
    let mut evidence = seen(&[(2, 85)]);
    evidence.events.push(lost.clone());
    let by_events = told(vec![above(4, 40), above(6, 85), lost]);
    for evidence in [evidence, by_events] {
        let known = Known::new(&hpa, &hpa.spec, 8, &of("v1.36"), second(NOW), &evidence);
        let mut grounds = Vec::new();
        let found = changes(&known, &mut grounds);
        let likely: Vec<i32> = found.next[0].iter().map(|it| it.replicas).collect();
        assert_eq!((found.is_open, likely), (true, vec![2]));
        let hidden = ground::any_rescale("a status that could not be written");
        assert_eq!((grounds.len(), grounds.last()), (2, Some(&hidden)));
    }
}

/// States that do not reach back over the whole period show some of the changes.
#[test]
fn rescales_that_states_show_are_likely_without_the_whole_period() {
    let hpa = hpa(85, &[60], &[]);
    let mut evidence = seen(&[(3, 53), (2, 85)]);
    for (since, open, likely) in [(52, false, vec![2]), (80, true, vec![2])] {
        evidence.rescales.as_mut().unwrap().since = second(since);
        let known = Known::new(&hpa, &hpa.spec, 8, &of("v1.36"), second(NOW), &evidence);
        let found = changes(&known, &mut Vec::new());
        let found_likely: Vec<i32> = found.next[0].iter().map(|it| it.replicas).collect();
        assert_eq!((found.is_open, found_likely), (open, likely), "{since}");
    }
}

/// Where events are missing, the status shows the rescale of its own pass, unless `apply` wrote it.
#[test]
fn the_rescale_of_the_last_status_is_likely() {
    let mut hpa = hpa(99, &[60], &[]);
    let found_by = |hpa: &Hpa, acquired: i64| {
        let evidence = led(acquired);
        let known = Known::new(hpa, &hpa.spec, 8, &of("v1.36"), second(NOW), &evidence);
        let found = changes(&known, &mut Vec::new());
        let likely: Vec<i32> = found.next[0].iter().map(|it| it.replicas).collect();
        (found.is_open, likely)
    };
    let found = |hpa: &Hpa| found_by(hpa, 0);
    assert_eq!(found(&hpa), (true, vec![]));
    hpa.status.current_replicas = 6;
    hpa.status.conditions[0].reason = "SucceededRescale".to_owned();
    assert_eq!(found(&hpa), (true, vec![2]));
    // Nor does a leader remember one from before it.
    assert_eq!(found_by(&hpa, 101), (true, vec![]));
    hpa.written.by_us = true;
    assert_eq!(found(&hpa), (true, vec![]));
}

/// A change that counts is as old as it would be at the pass, if that were now; a pass that loses another
/// change is another case.
#[test]
fn changes_have_the_age_that_they_will_have() {
    let lists = |changes: &[(i32, i64)], up: &[i32], down: &[i32]| {
        let (_, last) = changes.last().unwrap();
        let (lists, why) = lists(&hpa(*last, up, down), &seen(changes));
        assert_eq!(why, [according_to("earlier states of the HPA", changes)]);
        lists.unwrap()
    };
    // 13 s before the pass of 114 is now, and 20 s before the pass of 121.
    assert_eq!(
        lists(&[(2, 80)], &[60], &[]),
        [vec![(2, 6700)], vec![(2, 6000)]]
    );
    // A rescale of 85 was at least two sync periods before the next pass: not 114 - 86 = 28 s.
    assert_eq!(
        lists(&[(2, 85)], &[60], &[]),
        [vec![(2, 7100)], vec![(2, 6500)]]
    );
    // The period of 31 s ends at 116.
    let ends = [vec![(2, 7100)], vec![(2, 6500)], vec![(2, 7000)]];
    assert_eq!(lists(&[(2, 85)], &[31, 60], &[]), ends);
    assert_eq!(
        lists(&[(2, 85)], &[60], &[31]),
        ends,
        "whichever direction it is of"
    );
    // The period of 34 s ends at 114 or just before, depending on the fraction of the second.
    assert_eq!(
        lists(&[(2, 80)], &[34, 60], &[]),
        [vec![(2, 6700)], vec![(2, 6799)], vec![(2, 6000)]]
    );
    // An addition and a removal do not make up for each other.
    assert_eq!(
        lists(&[(1, 85), (-1, 85)], &[31], &[31]),
        [
            vec![(1, 7100), (-1, 7100)],
            vec![(1, 6500), (-1, 6500)],
            vec![(1, 7000), (-1, 7000)],
            vec![(1, 7099), (-1, 7000)],
            vec![(1, 7000), (-1, 7099)],
        ]
    );
    // Both may be forgotten at 116, depending on the fraction of a second of each.
    assert_eq!(
        lists(&[(3, 70), (-1, 85)], &[31, 46], &[46]),
        [
            vec![(3, 5600), (-1, 7100)],
            vec![(3, 5000), (-1, 6500)],
            vec![(3, 5500), (-1, 7000)],
            vec![(3, 5599), (-1, 7000)],
            vec![(3, 5500), (-1, 7099)],
        ]
    );
}

/// All rescales are known if the states since the period began, with its fraction of a second, are; those before
/// do not count.
#[test]
fn rescales_that_were_seen_count_since_the_period_began() {
    let told = |since, changes: &[(i32, i64)]| {
        let rescales = Rescales {
            since: second(since),
            changes: changes.iter().map(change).collect(),
        };
        let evidence = Evidence {
            rescales: Some(rescales),
            ..led(0)
        };
        lists(&hpa(90, &[60], &[]), &evidence).1
    };
    let counted = according_to("earlier states of the HPA", &[(2, 54), (3, 90)]);
    assert_eq!(told(53, &[(1, 53), (2, 54), (3, 90)]), [counted]);
    let incomplete = ground::any_rescale(incomplete());
    assert_eq!(told(54, &[(2, 54), (3, 90)]), [incomplete]);
}

/// Each form of each rescale may count at the next pass, so a large number is too many, wherever they come from.
#[test]
fn of_too_many_rescales_that_were_seen_any_may_count() {
    let why = |count: usize| {
        let changes = vec![(1, 90); count];
        lists(&hpa(90, &[60], &[]), &seen(&changes)).1
    };
    let counted = according_to("earlier states of the HPA", &[(1, 90); 120]);
    assert_eq!(why(120), [counted]);
    let too_many = "more rescales were observed than are considered";
    assert_eq!(why(121), [ground::any_rescale(too_many)]);
}

/// A controller that restarted after a rescale has forgotten that and all before, but none after.
#[test]
fn a_restart_loses_the_older_changes() {
    let hpa = hpa(85, &[60], &[]);
    let changes = [(1, 70), (2, 85)];
    let lists = |acquired: i64| {
        let evidence = Evidence {
            lease: led(acquired).lease,
            ..seen(&changes)
        };
        let (lists, _) = lists(&hpa, &evidence);
        let replicas = |list: &Vec<(i32, i64)>| list.iter().map(|it| it.0).collect::<Vec<_>>();
        lists.unwrap().iter().map(replicas).collect::<Vec<_>>()
    };
    let (both, second, none) = (vec![1, 2], vec![2], vec![]);
    assert_eq!(lists(68), [both.clone(), both.clone()]);
    assert_eq!(
        lists(69),
        [both.clone(), both.clone(), second.clone(), second.clone()]
    );
    assert_eq!(
        lists(71),
        [both.clone(), both, second.clone(), second.clone()]
    );
    // The first is certainly forgotten.
    assert_eq!(lists(72), [second.clone(), second.clone()]);
    assert_eq!(lists(83), [second.clone(), second.clone()]);
    assert_eq!(lists(84), [second.clone(), second, none.clone(), none]);
}

/// A change older than the longest period of its own direction leaves its place to the next one in that
/// direction; the longest of both decides what counts.
#[test]
fn a_later_change_may_have_overwritten_one() {
    let first = |changes: &[(i32, i64)], up: &[i32], down: &[i32]| {
        let (_, last) = changes.last().unwrap();
        let (lists, _) = lists(&hpa(*last, up, down), &seen(changes));
        let mut all: Vec<Vec<i32>> = Vec::new();
        for list in lists.unwrap() {
            let replicas = list.iter().map(|it| it.0).collect();
            if !all.contains(&replicas) {
                all.push(replicas);
            }
        }
        all
    };
    // The most likely is that a change of the full age was overwritten.
    let (both, last) = (vec![1, 2], vec![2]);
    // At 85.x, what was added at 55 is 30 s old, and at 56 may be 29.x s.
    assert_eq!(
        first(&[(1, 55), (2, 85)], &[30], &[90]),
        [last, both.clone()]
    );
    assert_eq!(
        first(&[(1, 56), (2, 85)], &[30], &[90]),
        std::slice::from_ref(&both)
    );
    assert_eq!(
        first(&[(1, 55), (2, 85)], &[30, 90], &[10]),
        std::slice::from_ref(&both)
    );
    assert_eq!(first(&[(1, 55), (-2, 85)], &[30], &[90]), [vec![1, -2]]);
    assert_eq!(
        first(&[(-1, 55), (-2, 85)], &[90], &[30]),
        [vec![-2], vec![-1, -2]]
    );
    // Of both directions, one may be gone.
    assert_eq!(
        first(&[(1, 55), (-1, 56), (2, 85), (-2, 86)], &[30], &[30, 90]),
        [vec![-1, 2, -2], vec![1, -1, 2, -2]]
    );
    // The longer period of the other direction does not keep one.
    assert_eq!(
        first(&[(-2, 55), (2, 70), (-1, 100)], &[90], &[15]),
        [vec![2, -1], vec![-2, 2, -1]]
    );
    let mut hpa = hpa(85, &[30], &[30]);
    // Passes so far went by the spec of then: its periods were longer, or unknown.
    let next = HpaSpec {
        behavior: Some(behavior(&[90], &[])),
        ..hpa.spec.clone()
    };
    let evidence = seen(&[(1, 55), (2, 85)]);
    let mut both = self::hpa(86, &[30], &[30]);
    both.spec.behavior = Some(behavior(&[30], &[30]));
    let evidence_of_both = seen(&[(1, 55), (-1, 56), (2, 85), (-2, 87)]);
    let known = Known::new(
        &both,
        &next,
        8,
        &of("v1.36"),
        second(NOW),
        &evidence_of_both,
    );
    let mut lists: Vec<Vec<i32>> = Vec::new();
    for list in changes(&known, &mut Vec::new()).next {
        let replicas = list.iter().map(|it| it.replicas).collect();
        if !lists.contains(&replicas) {
            lists.push(replicas);
        }
    }
    assert_eq!(
        lists,
        [
            vec![2, -2],
            vec![1, -1, 2, -2],
            vec![-1, 2, -2],
            vec![1, 2, -2]
        ]
    );
    let mut of_next = |own: Behavior, spec: i64| {
        hpa.spec.behavior = Some(own);
        hpa.written.spec = Some(second(spec));
        let known = Known::new(&hpa, &next, 8, &of("v1.36"), second(NOW), &evidence);
        let lists = changes(&known, &mut Vec::new()).next;
        lists.iter().any(|list| list.len() == 1)
    };
    assert!(of_next(behavior(&[30], &[]), 50));
    assert!(
        !of_next(behavior(&[31], &[]), 50),
        "55.x + 31 is 86 or later"
    );
    assert!(
        of_next(behavior(&[60], &[]), 53),
        "the spec of 54 may have been another"
    );
    assert!(!of_next(behavior(&[60], &[]), 52));
}

#[test]
fn events_tell_of_each_rescale_by_the_size_before() {
    let incomplete = Err(incomplete());
    let old = || above(4, 40);
    let rescaled = |events, last| counted(&hpa(last, &[60], &[]), &told(events));
    assert_eq!(rescaled(vec![old(), above(6, 85)], 85), Ok(vec![(2, 85)]));
    assert_eq!(
        rescaled(vec![old(), above(6, 70), above(9, 85)], 85),
        Ok(vec![(2, 70), (3, 85)])
    );
    assert_eq!(rescaled(vec![], 85), incomplete);
    // The size before the first is unknown, but no less than the minimum.
    assert_eq!(rescaled(vec![above(6, 85)], 85), Ok(vec![(5, 85)]));
    let all = lists(&hpa(85, &[60], &[]), &told(vec![above(6, 85)]))
        .0
        .unwrap();
    let changes: BTreeSet<i32> = all.iter().flatten().map(|it| it.0).collect();
    assert_eq!(changes, BTreeSet::from([1, 5]));
    // The event may be a second later than the status.
    assert_eq!(rescaled(vec![old(), above(6, 86)], 85), Ok(vec![(2, 86)]));
    assert_eq!(rescaled(vec![old(), above(6, 87)], 85), incomplete);
    assert_eq!(rescaled(vec![old(), above(6, 83)], 85), incomplete);
    // Inside the period from 54 on, with the fraction of a second.
    assert_eq!(
        rescaled(vec![above(4, 53), above(6, 85)], 85),
        Ok(vec![(2, 85)])
    );
    assert_eq!(
        rescaled(vec![above(3, 40), above(4, 54), above(6, 85)], 85),
        Ok(vec![(1, 54), (2, 85)])
    );
    assert_eq!(
        rescaled(vec![above(4, 54), above(6, 85)], 85),
        Ok(vec![(3, 54), (2, 85)])
    );
    // More than two repeats hide others.
    let repeated = Event {
        count: 3,
        first: Some(second(70)),
        ..above(6, 85)
    };
    assert_eq!(rescaled(vec![old(), repeated], 85), incomplete);
    let before = Event {
        count: 3,
        first: Some(second(30)),
        ..above(4, 40)
    };
    assert_eq!(rescaled(vec![before, above(6, 85)], 85), Ok(vec![(2, 85)]));
}

#[test]
fn the_status_of_a_rescale_has_the_size_before() {
    let mut hpa = hpa(99, &[60], &[]);
    hpa.status.conditions[0].reason = "SucceededRescale".to_owned();
    (hpa.status.current_replicas, hpa.status.desired_replicas) = (5, 8);
    assert_eq!(counted(&hpa, &told(vec![above(8, 99)])), Ok(vec![(3, 99)]));
    // Not an earlier one's.
    let two = || told(vec![above(6, 85), above(8, 99)]);
    assert_eq!(counted(&hpa, &two()), Ok(vec![(5, 85), (3, 99)]));
    let three = told(vec![above(4, 40), above(6, 85), above(8, 99)]);
    assert_eq!(counted(&hpa, &three), Ok(vec![(2, 85), (3, 99)]));
    // Someone else may have scaled from 6 to 5: the count before is what the status says.
}

/// A rescale goes where its reason says, unless others have scaled in between.
#[test]
fn the_reason_of_a_rescale_has_a_direction() {
    let (above_max, below_min) = (
        "Current number of replicas above Spec.MaxReplicas",
        "Current number of replicas below Spec.MinReplicas",
    );
    for (reason, to, fits) in [
        ("cpu above target", 6, true),
        ("cpu above target", 4, false),
        ("cpu above target", 3, false),
        (below_min, 6, true),
        (below_min, 3, false),
        ("All metrics below target", 3, true),
        ("All metrics below target", 4, false),
        ("All metrics below target", 6, false),
        (above_max, 3, true),
        (above_max, 6, false),
        ("", 6, false),
        ("", 3, false),
    ] {
        let message = format!("New size: {to}; reason: {reason}");
        let events = vec![above(4, 40), event("u", "SuccessfulRescale", &message, 85)];
        let found = counted(&hpa(85, &[60], &[]), &told(events));
        let wanted = if fits {
            Ok(vec![(to - 4, 85)])
        } else {
            Err(incomplete())
        };
        assert_eq!(found, wanted, "{reason} {to}");
    }
}

#[test]
fn a_change_of_the_target_by_another_spoils_the_count() {
    let scaled_by = |event: Event| {
        let scaled = vec![event];
        let events = vec![above(4, 40), above(6, 85)];
        counted(
            &hpa(85, &[60], &[]),
            &Evidence {
                scaled,
                ..told(events)
            },
        )
    };
    let scaled = |message: &str, time| scaled_by(event("u", "ScalingReplicaSet", message, time));
    let other = "Scaled up replica set web-1 from 4 to 5";
    assert_eq!(
        scaled("Scaled up replica set web-1 from 4 to 6", 90),
        Ok(vec![(2, 85)])
    );
    let spoiled = |message: &str| {
        Err(format!(
            "a ScalingReplicaSet event of the target shows another change: {message}"
        ))
    };
    // Before the rescale, it leads to the count that this one found.
    assert_eq!(scaled(other, 39), Ok(vec![(2, 85)]));
    for (message, found) in [
        (other, Ok(5)),
        // Only its ReplicaSet may have come there, in a rollout.
        (
            "Scaled up replica set web-1 to 5",
            spoiled("Scaled up replica set web-1 to 5").map(|_| 0),
        ),
        (
            "Scaled up replica set web-2 from 0 to 1",
            spoiled("Scaled up replica set web-2 from 0 to 1").map(|_| 0),
        ),
        ("Scaled up replica set web-1 to 4", Ok(4)),
        ("Scaled up replica set web-1 from 2 to 4", Ok(4)),
        (
            "Scaled up replica set web-1 to 6",
            spoiled("Scaled up replica set web-1 to 6").map(|_| 0),
        ),
        ("of another form", spoiled("of another form").map(|_| 0)),
    ] {
        let want = found.map(|found| vec![(6 - found, 85)]);
        assert_eq!(scaled(message, 40), want, "{message}");
        assert_eq!(scaled(message, 84), want, "{message}");
    }
    // A repeated event reports only its first and its last time.
    for (count, first, last, kept) in [
        (2, 39, 85, true),
        (3, 39, 85, false),
        (2, 50, 85, false),
        (2, 39, 50, false),
        (3, 20, 39, true),
    ] {
        let to_six = "Scaled up replica set web-1 to 6";
        let repeated = Event {
            count,
            first: Some(second(first)),
            ..event("u", "ScalingReplicaSet", to_six, last)
        };
        let want = if kept {
            Ok(vec![(2, 85)])
        } else {
            spoiled(to_six)
        };
        assert_eq!(scaled_by(repeated), want, "{count} {first} {last}");
    }
    assert_eq!(scaled(other, 85), spoiled(other));
    // One that is slow to follow skips the count of the rescale before.
    let slow = "Scaled up replica set web-1 from 2 to 6";
    assert_eq!(scaled(slow, 86), spoiled(slow));
}

/// Without a rescale before it and without an event of the target, the count before the first may be any from the
/// minimum on. The pods that are older are the most likely count.
#[test]
fn the_older_pods_tell_the_most_likely_count_before_the_first_rescale() {
    let hpa = hpa(85, &[60], &[]);
    let evidence = told(vec![above(6, 85)]);
    for (created, starts) in [
        (&[][..], &[1, 5][..]),
        // The event of 85 may be a second late.
        (&[20, 30, 83, 84, 85], &[3, 1, 5]),
        (&[20, 30, 40, 50, 60, 86], &[5, 1]),
        // A rollout since, or pods that are gone.
        (&[20, 20, 20, 20, 20, 20, 20], &[5, 1]),
    ] {
        let mut known = Known::new(&hpa, &hpa.spec, 6, &of("v1.36"), second(NOW), &evidence);
        known.pods_created = created.iter().copied().map(second).collect();
        let lists = alternatives(&known, SignedDuration::from_secs(60))
            .1
            .unwrap();
        let added: Vec<i32> = lists.iter().map(|list| list[0].replicas).collect();
        let want: Vec<i32> = starts.iter().map(|start| 6 - start).collect();
        assert_eq!(added, want, "{created:?}");
    }
}

/// The Deployment's own event of a rescale tells the count before, whatever happened since the rescale before it; without
/// it, the last change does if it was no rollout.
#[test]
fn the_target_tells_the_count_before_the_first_rescale() {
    let up = |set: i32, change: &str, time| {
        let message = format!("Scaled up replica set web-{set} {change}");
        event("u", "ScalingReplicaSet", &message, time)
    };
    let rollout = || {
        let change = |set, change, time| up(set, change, time);
        vec![
            change(2, "from 0 to 2", 50),
            change(1, "from 4 to 2", 51),
            change(2, "from 2 to 4", 52),
            change(1, "from 2 to 0", 53),
        ]
    };
    let undone = || vec![up(2, "to 7", 50), up(2, "to 4", 60)];
    let combined = || {
        let message = "(combined from similar events): Scaled up replica set web-1 to 5";
        let own = event("u", "ScalingReplicaSet", message, 60);
        vec![Event { count: 4, ..own }]
    };
    let recreated = || vec![up(1, "from 4 to 0", 70)];
    let to_six = |from: &str, time| vec![up(2, &format!("{from}to 6"), time)];
    // Each with the replicas that the rescale to 6 added.
    for (scaled, first, want) in [
        (
            [rollout(), to_six("from 4 ", 85)].concat(),
            Some(4),
            Some(2),
        ),
        ([rollout(), to_six("", 85)].concat(), Some(4), None),
        ([undone(), to_six("from 4 ", 84)].concat(), Some(4), Some(2)),
        ([undone(), to_six("", 85)].concat(), Some(4), None),
        (
            [vec![up(1, "from 4 to 5", 70)], to_six("", 85)].concat(),
            Some(4),
            Some(1),
        ),
        (
            [vec![up(2, "from 4 to 5", 70)], to_six("from 5 ", 86)].concat(),
            Some(4),
            Some(1),
        ),
        // A combined event hides changes that are not known.
        ([combined(), to_six("from 5 ", 85)].concat(), Some(4), None),
        ([combined(), to_six("", 85)].concat(), Some(4), None),
        (vec![up(1, "to 5", 70), up(1, "to 4", 70)], Some(4), None),
        // Of another rescale.
        (to_six("from 5 ", 83), Some(4), None),
        (to_six("from 4 ", 85), None, Some(2)),
        // A new ReplicaSet begins with none, with or without an old one.
        (to_six("from 0 ", 85), Some(4), None),
        (recreated(), Some(4), None),
        (
            [
                recreated(),
                vec![up(2, "from 0 to 4", 80)],
                to_six("from 4 ", 86),
            ]
            .concat(),
            Some(4),
            Some(2),
        ),
        (
            [rollout(), vec![up(3, "from 0 to 6", 86)]].concat(),
            Some(4),
            None,
        ),
        // A rollout that is under way.
        (
            [
                vec![up(2, "from 0 to 2", 70), up(1, "from 4 to 2", 71)],
                to_six("from 2 ", 86),
            ]
            .concat(),
            Some(4),
            None,
        ),
        // A Deployment that was created: no rollout leaves the old ReplicaSet as it is.
        (
            [
                vec![up(2, "from 0 to 2", 30), up(2, "from 2 to 4", 41)],
                to_six("from 4 ", 86),
            ]
            .concat(),
            Some(4),
            Some(2),
        ),
    ] {
        let before = first.map(|size| above(size, 40));
        let events = before.into_iter().chain([above(6, 85)]).collect();
        let evidence = Evidence {
            scaled: scaled.clone(),
            ..told(events)
        };
        let found = counted(&hpa(85, &[60], &[]), &evidence).ok();
        assert_eq!(found, want.map(|it| vec![(it, 85)]), "{scaled:?}");
    }
}

/// The recorder accepts 25 events at once, and one more per 5 minutes. An API server keeps them for an hour.
#[test]
fn too_many_events_may_hide_some() {
    let complete = |created: i64, lease: Option<i64>, period: i32, other: i32| {
        let mut hpa = hpa(85, &[period], &[]);
        hpa.written.created = Some(second(created));
        hpa.written.spec = hpa.written.created;
        let more = Event {
            count: other,
            ..event("u", "Other", "", 30)
        };
        let evidence = lease.map_or_else(Evidence::default, led);
        let events = vec![above(4, 40), above(6, 85), more];
        // Older ones than the period count only as events.
        counted(&hpa, &Evidence { events, ..evidence }).is_ok()
    };
    for (created, lease, period, limit) in [
        (0, Some(0), 60, 25),
        // At 41, 60 s before now, at most 25 could have been sent however long the recorder had rested.
        (-1000, None, 60, 25),
        // An hour before now, others may have used up all but one per 5 minutes since.
        (-3498, None, 60, 25),
        (-3499, None, 60, 11),
        (-9000, None, 60, 11),
        // The leader began with a full one.
        (-9000, Some(0), 60, 25),
        // At 101 - 641, 2959 s had passed: 9 whole times 5 minutes.
        (-9000, None, 641, 9),
    ] {
        let found = |events: i32| complete(created, lease, period, events - 2);
        // A period that reaches back before the first rescale needs the size before that.
        if period == 60 {
            assert!(found(limit - 1), "{created} {lease:?} {period}");
        }
        assert!(!found(limit), "{created} {lease:?} {period}");
    }
}

#[test]
fn changes_are_split_by_direction() {
    // The controller counts whatever is no addition as a removal.
    let list = [(2, 10), (-3, 20), (i32::MIN, 30), (0, 40)].map(|it| change(&it));
    let memory = Memory::new(Vec::new(), &list);
    assert_eq!(memory.scale_up_events, [change(&(2, 10))]);
    assert_eq!(
        memory.scale_down_events,
        [(3, 20), (i32::MIN, 30), (0, 40)].map(|it| change(&it))
    );
    assert_eq!(Memory::new(Vec::new(), &[]), Memory::default());
}

#[test]
fn events_of_deployments() {
    for (message, want) in [
        (
            "Scaled up replica set web-59 from 2 to 4",
            Some((Some(2), 4)),
        ),
        (
            "Scaled down replica set web-59 from 4 to 2",
            Some((Some(4), 2)),
        ),
        (
            "Scaled up replica set web-59 to 4 from 2",
            Some((Some(2), 4)),
        ),
        ("Scaled up replica set web-59 to 4", Some((None, 4))),
        ("Scaled up replica set web-59 to 4 from", None),
        ("Scaled up replica set web-59 from 2", None),
        ("Scaled up replica set web-59 from 2 to x", None),
        (
            "(combined from similar events): Scaled up replica set web-59 from 2 to 4",
            Some((Some(2), 4)),
        ),
        ("something else", None),
    ] {
        let event = Event {
            message: message.to_owned(),
            ..Event::default()
        };
        assert_eq!(event.followed(), want, "{message}");
    }
}

#[test]
fn a_change_by_another_is_told_by_its_counts() {
    let time = Timestamp::from_second(1_000).unwrap();
    // The controller went from 2 to 4 to 8.
    for (message, last, want) in [
        ("from 2 to 4", 1_000, false),
        ("from 4 to 8", 1_030, false),
        ("from 2 to 8", 1_030, false),
        ("to 8", 1_030, false),
        ("from 4 to 5", 1_010, true),
        ("from 5 to 8", 1_030, true),
        ("from 8 to 4", 1_040, true),
        ("to 2", 1_040, true),
        ("from 0 to 2", 1_040, true),
        ("of another form", 1_040, true),
        ("from 4 to 5", 999, false),
    ] {
        let message = format!("Scaled up replica set web-59 {message}");
        let last = Some(Timestamp::from_second(last).unwrap());
        let event = Event {
            message: message.clone(),
            last,
            ..Event::default()
        };
        assert_eq!(
            is_by_another(&event, time, &[2, 4, 8]),
            want,
            "{message} {last:?}"
        );
    }
}

/// Without a lease, the controller may have ended after its status of 100 and forgotten the rescale then. The next
/// one comes 13 s later, makes its first pass another 15 s later, and is held to the count that it finds for as long
/// as that counts in both windows.
#[test]
fn a_controller_that_forgot_a_rescale_is_held_to_its_count() {
    let found = |windows: (i32, i32), status: i64, lease: bool| -> (bool, Option<i64>) {
        let mut hpa = hpa(100, &[60], &[60]);
        hpa.written.status = Some(second(status));
        hpa.status.conditions[0].reason = "SucceededRescale".to_owned();
        (hpa.status.current_replicas, hpa.status.desired_replicas) = (4, 8);
        let Behavior {
            scale_up: Some(up),
            scale_down: Some(down),
        } = hpa.spec.behavior.as_mut().unwrap()
        else {
            panic!("rules of both directions");
        };
        up.stabilization_window_seconds = Some(windows.0);
        down.stabilization_window_seconds = Some(windows.1);
        let evidence = Evidence {
            events: vec![above(8, 100)],
            lease: led(0).lease.filter(|_| lease),
            ..Evidence::default()
        };
        let now = second(status + 14);
        let known = Known::new(&hpa, &hpa.spec, 8, &of("v1.36"), now, &evidence);
        let Counts { next, later, .. } = changes(&known, &mut Vec::new());
        let ages = later
            .iter()
            .filter(|(list, _)| list.is_empty())
            .map(|(_, age)| age.as_secs());
        (next.iter().any(Vec::is_empty), ages.max())
    };
    assert_eq!(
        found((30, 60), 100, false),
        (false, Some(0)),
        "at its first pass"
    );
    assert_eq!(found((1, 1), 100, false), (false, Some(0)));
    assert_eq!(found((0, 60), 100, false), (true, None), "nothing holds it");
    assert_eq!(found((60, 0), 100, false), (true, None));
    assert_eq!(
        found((30, 60), 100, true),
        (false, None),
        "the leader is known"
    );
}
