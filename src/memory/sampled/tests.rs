//! Which passes and rescales of a past may and must count, by hand: a stabilization window of 300 s contains
//! certainly what is less than 298 s old, and possibly what is up to 302 s old.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Ends, Knowledge, Past, PastPart, PastPass, Possible, Remembered, ground};
use super::{first_pass, remember};
use crate::memory::states::tests::{of, second};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::past::{Bounds, PastRescale};

const ANY: i32 = i32::MAX;
const NOW: i64 = 1000;

/// Returns a past with passes of this age, which recommended from one count to another, and with rescales from
/// one age to another.
fn past(passes: &[(i64, i32, i32)], rescales: &[(i32, i64, i64)]) -> Past {
    let ago = |age: i64| second(NOW - age);
    let pass = |&(age, at_least, at_most): &(i64, i32, i32)| PastPass {
        time: ago(age),
        recommended: Bounds { at_least, at_most },
        likely: (at_most < ANY).then_some(at_most),
        found: None,
    };
    let rescale = |&(replicas, from, until): &(i32, i64, i64)| PastRescale {
        replicas,
        from: ago(from),
        until: ago(until),
        likely: None,
    };
    Past {
        passes: passes.iter().map(pass).collect(),
        rescales: rescales.iter().map(rescale).collect(),
        ..Past::default()
    }
}

fn remembered(past: &Past, behavior: &Value) -> Remembered {
    let hpa = Hpa::of(&json!({"maxReplicas": 20, "behavior": behavior}), json!({}));
    remember(past, &hpa.spec, &of("v1.36"), second(NOW))
}

fn age(time: Timestamp) -> i64 {
    second(NOW).duration_since(time).as_secs()
}

#[test]
fn the_first_pass_comes_a_sync_period_after_the_hpa() {
    // The creation may be a second later than it says.
    assert_eq!(first_pass(second(0), &of("v1.36")), second(14));
    assert_eq!(first_pass(second(0), &of("v1.37")), second(0));
    assert_eq!(first_pass(Timestamp::MAX, &of("v1.36")), Timestamp::MAX);
}

#[test]
fn passes_count_by_their_age() {
    let window = |seconds: i64| json!({"stabilizationWindowSeconds": seconds});
    for (ages, certain, possible) in [
        (vec![303, 302, 298, 297], vec![297], vec![302, 298, 297]),
        (vec![400, 303], vec![], vec![]),
    ] {
        let passes: Vec<_> = ages.iter().map(|age| (*age, 3, 7)).collect();
        let past = past(&passes, &[]);
        let list = |list: &[super::Recommendation]| -> Vec<(i64, i32)> {
            list.iter().map(|it| (age(it.time), it.replicas)).collect()
        };
        let with = |ages: &[i64], replicas| -> Vec<(i64, i32)> {
            ages.iter().map(|age| (*age, replicas)).collect()
        };
        // Without `behavior`, the flag's 300 s against scaling down; then the same against scaling up alone.
        let up_alone = json!({"scaleUp": window(300), "scaleDown": window(0)});
        for (behavior, soonest, last) in [(Value::Null, 3, 7), (up_alone, 7, 3)] {
            let found = remembered(&past, &behavior);
            let Possible { down, up, .. } = found.possible.unwrap();
            let (held, free) = if behavior.is_null() {
                (down, up)
            } else {
                (up, down)
            };
            assert_eq!(list(&held.soonest), with(&certain, soonest), "{ages:?}");
            assert_eq!(list(&held.last), with(&possible, last), "{ages:?}");
            assert_eq!(free, Ends::default(), "{ages:?}");
            let likely = list(&found.likely.recommendations);
            assert_eq!(likely, with(&possible, 7), "{ages:?}");
        }
    }
}

#[test]
fn the_highest_and_the_lowest_of_them_have_bounds() {
    let behavior = json!({
        "scaleUp": {"stabilizationWindowSeconds": 60},
        "scaleDown": {"stabilizationWindowSeconds": 300},
    });
    for (passes, highest, lowest) in [
        // One that is certain, one that is not, one that is too old.
        (
            vec![(303, 1, 19), (301, 2, 9), (61, 5, 6), (30, 4, 8)],
            (Some(5), Some(9)),
            (Some(4), Some(8)),
        ),
        (
            vec![(303, 1, 19), (59, 3, 7), (30, 4, 8)],
            (Some(4), Some(8)),
            (Some(3), Some(8)),
        ),
        (
            vec![(30, 4, ANY), (20, 3, 6)],
            (Some(4), None),
            (Some(3), Some(6)),
        ),
        (vec![(30, 4, ANY)], (Some(4), None), (Some(4), None)),
        // Nothing holds back either direction.
        (vec![], (None, Some(0)), (Some(ANY), None)),
    ] {
        let possible = remembered(&past(&passes, &[]), &behavior).possible.unwrap();
        let found = (possible.highest.at_least, possible.highest.at_most);
        assert_eq!(found, highest, "{passes:?}");
        let found = (possible.lowest.at_least, possible.lowest.at_most);
        assert_eq!(found, lowest, "{passes:?}");
    }
}

/// Each rescale may have occurred at any time between two samples, and additions count against removals.
#[test]
fn rescales_count_from_bound_to_bound() {
    let behavior = json!({"scaleUp": {
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    }});
    let of = |rescales: &[(i32, i64, i64)], behavior: &Value| {
        let found = remembered(&past(&[], rescales), behavior);
        let lists = found.possible.unwrap().changes.unwrap();
        let list = |list: &Vec<super::ScaleEvent>| {
            list.iter()
                .map(|it| (it.replicas, age(it.time)))
                .collect::<Vec<_>>()
        };
        let likely = [found.likely.scale_up_events, found.likely.scale_down_events];
        (
            lists.iter().map(list).collect::<Vec<_>>(),
            likely.map(|it| list(&it)),
        )
    };
    for (rescales, lists, likely) in [
        (
            vec![(2, 50, 40), (-1, 30, 20)],
            vec![
                vec![(2, 50), (-1, 30)],
                vec![(2, 40), (-1, 20)],
                vec![(2, 40), (-1, 30)],
                vec![(2, 50), (-1, 20)],
            ],
            [vec![(2, 45)], vec![(1, 25)]],
        ),
        (
            vec![(2, 50, 40)],
            vec![vec![(2, 50)], vec![(2, 40)]],
            [vec![(2, 45)], vec![]],
        ),
        // What is as old as the period no longer counts.
        (
            vec![(2, 60, 50)],
            vec![vec![], vec![(2, 50)]],
            [vec![(2, 55)], vec![]],
        ),
        (vec![(2, 70, 60)], vec![vec![]], [vec![], vec![]]),
    ] {
        assert_eq!(of(&rescales, &behavior), (lists, likely), "{rescales:?}");
    }
    // Without a period nothing counts.
    for behavior in [Value::Null, json!({"scaleUp": {}})] {
        let none = (vec![vec![]], [vec![], vec![]]);
        assert_eq!(of(&[(2, 50, 40)], &behavior), none, "{behavior}");
    }
}

#[test]
fn what_is_known_of_a_past_has_grounds() {
    let policies = json!({"scaleUp": {
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    }});
    let whole = past(&[(60, 3, 7), (45, 3, 7), (30, 3, 7)], &[(2, 50, 40)]);
    let lacking = Past {
        lacks: vec![PastPart::Replicas],
        ..whole.clone()
    };
    let by_passes = ground::by_passes(second(NOW - 60), second(NOW - 30));
    let played = ground::recommendations(
        format!("3 recommendations {by_passes}"),
        "the samples around each",
    );
    for (past, behavior, limits) in [
        (&whole, &Value::Null, None),
        (&lacking, &Value::Null, None),
        (
            &lacking,
            &policies,
            Some(ground::any_rescale("the replicas were not recorded")),
        ),
    ] {
        let found = remembered(past, behavior);
        let grounds: Vec<_> = [played.clone()].into_iter().chain(limits.clone()).collect();
        assert_eq!(found.grounds, grounds);
        assert_eq!(found.knowledge, Knowledge::Inferred);
        assert_eq!(found.possible.unwrap().changes.is_some(), limits.is_none());
    }
    let found = remembered(&whole, &policies);
    let likely = found.likely.scale_up_events.clone();
    assert_eq!(likely.len(), 1);
    assert_eq!(found.grounds[1], ground::recorded(&likely));
    assert!(found.possible.unwrap().changes.is_some());
    assert_eq!(remembered(&past(&[], &[]), &Value::Null).grounds, []);
}
