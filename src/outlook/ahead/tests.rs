//! The passes after this one, by hand: a pass every 15 s that asks for the same. Without `behavior`, a
//! recommendation counts until it is 300 s old.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Lookahead, ahead, longest_wait};
use crate::build;
use crate::engine;
use crate::memory::{Delay, Ends, Knowledge, Memory, Possible, Remembered};
use crate::outlook::{Range, Upcoming};
use crate::rules::Rules;
use crate::saved::testing::input;
use crate::snapshot::memory::Recommendation;
use crate::snapshot::{Documents, MetricAnswer, Snapshot, UnreadCause};
use crate::version::FeatureGate;

fn now() -> Timestamp {
    build::NOW.parse().unwrap()
}

/// Returns an HPA over some replicas whose metric asks for others.
pub(crate) fn snapshot(current: i32, desired: i32, spec: &Value) -> Snapshot {
    let metric = build::external("queue", &build::average("1"));
    let spec = build::with(json!({"maxReplicas": 100, "metrics": [metric]}), spec);
    let queue = build::queue(&[&desired.to_string()]);
    let items = [
        build::hpa(&spec),
        build::scale(current),
        queue,
        build::state(&json!({})),
    ];
    input(&items).unwrap().snapshot
}

/// Returns recommendations of some age in seconds.
fn list(recommendations: &[(i32, i64)]) -> Vec<Recommendation> {
    let of = |&(replicas, age): &(i32, i64)| {
        let time = now() - SignedDuration::from_secs(age);
        Recommendation { replicas, time }
    };
    recommendations.iter().map(of).collect()
}

/// Returns a memory with these recommendations.
fn memory(recommendations: &[(i32, i64)], possible: Option<Possible>) -> Remembered {
    Remembered {
        likely: Memory {
            recommendations: list(recommendations),
            ..Memory::default()
        },
        knowledge: Knowledge::Inferred,
        possible,
        grounds: Vec::new(),
        delay: Delay::default(),
    }
}

fn ends(soonest: &[(i32, i64)], last: &[(i32, i64)]) -> Ends {
    Ends {
        soonest: list(soonest),
        last: list(last),
    }
}

fn possible(down: Ends, up: Ends, known: bool) -> Option<Possible> {
    let changes = known.then(|| vec![Vec::new()]);
    Some(Possible {
        down,
        up,
        changes,
        ..Possible::default()
    })
}

/// Returns when the replicas change, in seconds from now: to how many, and to how few and how many at most.
fn rows(snapshot: &Snapshot, remembered: &Remembered) -> Vec<(i64, i32, i32, i32)> {
    let decision = engine::reconcile(snapshot, &remembered.likely);
    let row = |it: &Upcoming| {
        let Range { min, max } = it.range;
        (
            it.time.duration_since(now()).as_secs(),
            it.replicas,
            min,
            max,
        )
    };
    ahead(snapshot, remembered, &decision)
        .iter()
        .map(row)
        .collect()
}

/// Returns the rules of a direction that changes this many replicas per period, without a window.
fn limited(value: i32, period: i32) -> Value {
    let policy = json!({"type": "Pods", "value": value, "periodSeconds": period});
    json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [policy]})
}

#[test]
fn a_hold_ends_when_its_recommendation_is_too_old() {
    for (age, want) in [
        (100, 210),
        // One of exactly 300 s no longer counts, because the controller's clock has moved on.
        (90, 210),
        (89, 225),
        (285, 15),
        (0, 300),
        // Stated by another clock, which is ahead.
        (-10, 315),
        (-40, 345),
        (-600, 900),
    ] {
        let remembered = memory(&[(10, age)], None);
        let found = rows(&snapshot(10, 5, &json!({})), &remembered);
        assert_eq!(found, [(want, 5, 5, 5)], "{age}");
        // The same at the maximum, and if nothing else can change it.
        let found = rows(&snapshot(10, 5, &json!({"maxReplicas": 10})), &remembered);
        assert_eq!(found, [(want, 5, 5, 5)], "{age}");
    }
    let two = memory(&[(10, 200), (8, 100)], None);
    assert_eq!(
        rows(&snapshot(10, 5, &json!({})), &two),
        [(105, 8, 8, 8), (210, 5, 5, 5)]
    );
    assert_eq!(
        rows(&snapshot(10, 10, &json!({})), &memory(&[(10, 0)], None)),
        []
    );
    assert_eq!(
        rows(&snapshot(10, 5, &json!({})), &memory(&[(5, 0)], None)),
        [],
        "this pass"
    );
}

/// What follows is counted from the time at which this pass runs. A hold that ends 30, 105 or 210 s after it.
#[test]
fn the_passes_follow_when_this_one_runs() {
    let seconds = SignedDuration::from_secs;
    let delayed = |remembered: Remembered| Remembered {
        delay: Delay {
            least: seconds(5),
            likely: seconds(9),
            most: seconds(20),
        },
        ..remembered
    };
    let end = ends(&[(10, 280)], &[(10, 100)]);
    let down = memory(&[(10, 200)], possible(end, Ends::default(), true));
    let found = rows(&snapshot(10, 5, &json!({})), &delayed(down));
    assert_eq!(found, [(35, 10, 5, 10), (114, 5, 5, 10), (230, 5, 5, 5)]);
    // The two that this pass adds are no row.
    let spec = json!({"minReplicas": 3, "behavior": {"scaleUp": limited(2, 60)}});
    let found = rows(&snapshot(3, 9, &spec), &delayed(memory(&[], None)));
    assert_eq!(found, [(69, 7, 7, 7), (129, 9, 9, 9)]);
    let open = memory(&[], possible(Ends::default(), Ends::default(), true));
    let found = rows(&snapshot(3, 7, &spec), &delayed(open));
    assert_eq!(found, [(65, 5, 5, 7), (69, 7, 5, 7), (80, 7, 7, 7)]);
}

#[test]
fn a_rate_limit_is_used_up_once_per_period() {
    // 3 replicas, 5 after this pass.
    let spec = json!({"minReplicas": 3, "behavior": {"scaleUp": limited(2, 60)}});
    let none = memory(&[], None);
    assert_eq!(
        rows(&snapshot(3, 9, &spec), &none),
        [(60, 7, 7, 7), (120, 9, 9, 9)]
    );
    // A longer period than every window.
    let spec = json!({"behavior": {"scaleUp": limited(2, 600)}});
    assert_eq!(
        rows(&snapshot(3, 9, &spec), &none),
        [(600, 7, 7, 7), (1200, 9, 9, 9)]
    );
    let spec = json!({"behavior": {"scaleDown": limited(2, 60)}});
    assert_eq!(
        rows(&snapshot(9, 4, &spec), &none),
        [(60, 5, 5, 5), (120, 4, 4, 4)]
    );
}

/// One that is unread may ask for anything above the others, in each pass.
#[test]
fn a_metric_that_is_unread_leaves_the_next_passes_open() {
    let mut state = snapshot(4, 9, &json!({"maxReplicas": 20}));
    let none = memory(&[], None);
    assert_eq!(rows(&state, &none), [(15, 9, 9, 9)]);
    state
        .hpa
        .spec
        .metrics
        .push(state.hpa.spec.metrics[0].clone());
    state
        .metrics
        .push(MetricAnswer::Unread(UnreadCause::Missing {
            documents: Documents::ExternalMetricValueList,
        }));
    let expected = [(15, 9, 9, 16), (30, 9, 9, 20)];
    assert_eq!(rows(&state, &none), expected);
    let open = memory(&[], possible(Ends::default(), Ends::default(), true));
    assert_eq!(rows(&state, &open), expected);
    // With more steps than the maximum, it may get to its end.
    state.hpa.spec.max_replicas = 200;
    let slow = json!({"behavior": {"scaleUp": limited(1, 15)}});
    state.hpa.spec.behavior = snapshot(4, 9, &slow).hpa.spec.behavior;
    let found = rows(&state, &none);
    assert_eq!(found[29..], [(450, 9, 9, 35), (465, 9, 9, 200)]);
}

#[test]
fn a_course_has_a_maximum_of_steps() {
    let spec = json!({"behavior": {"scaleDown": limited(1, 15)}});
    let snapshot = snapshot(40, 1, &spec);
    let found = rows(&snapshot, &memory(&[], None));
    // The first is this pass.
    assert_eq!(found.len(), 31);
    assert_eq!((found[0], found[30]), ((15, 38, 38, 38), (465, 8, 8, 8)));
    // After the last one it may go to the end.
    let open = memory(&[], possible(Ends::default(), Ends::default(), true));
    let found = rows(&snapshot, &open);
    assert_eq!((found[0], found[29]), ((15, 38, 38, 38), (450, 9, 9, 9)));
    assert_eq!(found[30], (465, 8, 1, 8));
    // From zero the controller follows another rule.
    let rules = Rules::of(&snapshot.controller);
    let run = Lookahead {
        snapshot: &snapshot,
        current: 0,
        desired: 5,
        rules,
    };
    assert_eq!(run.steps(Memory::default()), []);
    // If it is unknown what rate limits count, at once.
    let unknown = memory(&[], possible(Ends::default(), Ends::default(), false));
    let found = rows(&snapshot, &unknown);
    assert!(
        found.iter().all(|(_, _, min, max)| (*min, *max) == (1, 40)),
        "{found:?}"
    );
}

/// A workload that the controller itself scaled to zero gets the minimum at once, and passes follow.
#[test]
fn a_course_begins_at_zero() {
    let spec = json!({"minReplicas": 3, "behavior": {"scaleUp": limited(1, 15)}});
    let mut asleep = snapshot(0, 5, &spec);
    asleep.controller.gates[FeatureGate::HPAScaleToZero] = true;
    assert_eq!(rows(&asleep, &memory(&[], None)), []);
    let found = rows(&engine::zeroed(&asleep), &memory(&[], None));
    assert_eq!(found, [(15, 4, 4, 4), (30, 5, 5, 5)]);
    // A share of none is none, but removed pods may count: this pass is held, and the next may go all the way.
    let policy = json!({"type": "Percent", "value": 10, "periodSeconds": 60});
    let rules =
        json!({"stabilizationWindowSeconds": 30, "selectPolicy": "Max", "policies": [policy]});
    let spec = json!({"minReplicas": 0, "behavior": {"scaleUp": rules}});
    let mut any = snapshot(0, 5, &spec);
    any.controller.gates[FeatureGate::HPAScaleToZero] = true;
    let of = |known| {
        let held = ends(&[(0, 20)], &[(0, 20)]);
        let possible = possible(Ends::default(), held, known);
        rows(&engine::zeroed(&any), &memory(&[(0, 20)], possible))
    };
    assert_eq!(of(true), []);
    assert_eq!(of(false), [(15, 0, 0, 5)]);
}

/// A hold that ends at 30, 105 or 210.
#[test]
fn a_hold_may_end_sooner_or_later() {
    let end = |replicas| ends(&[(replicas, 280)], &[(replicas, 100)]);
    let down = memory(&[(10, 200)], possible(end(10), Ends::default(), true));
    let found = rows(&snapshot(10, 5, &json!({})), &down);
    assert_eq!(found, [(30, 10, 5, 10), (105, 5, 5, 10), (210, 5, 5, 5)]);
    // The same with a window of `behavior`, in either direction.
    let free = json!([{"type": "Percent", "value": 900, "periodSeconds": 15}]);
    let rules = json!({
        "stabilizationWindowSeconds": 300, "selectPolicy": "Max", "policies": free,
    });
    let spec = json!({"behavior": {"scaleUp": rules, "scaleDown": rules}});
    let found = rows(&snapshot(10, 5, &spec), &down);
    assert_eq!(found, [(30, 10, 5, 10), (105, 5, 5, 10), (210, 5, 5, 5)]);
    let up = memory(&[(5, 200)], possible(Ends::default(), end(5), true));
    let found = rows(&snapshot(5, 10, &spec), &up);
    assert_eq!(found, [(30, 5, 5, 10), (105, 10, 5, 10), (210, 10, 10, 10)]);
    // Without `behavior` only the highest counts: above what is asked for, it is followed until it is too old.
    let above = memory(
        &[(9, 100)],
        possible(ends(&[], &[(9, 100)]), Ends::default(), true),
    );
    assert_eq!(rows(&snapshot(5, 7, &json!({})), &above), [(210, 7, 7, 9)]);
}

#[test]
fn each_step_has_bounds_of_its_own_if_the_changes_are_known() {
    let spec = json!({"behavior": {"scaleDown": limited(2, 60)}});
    let snapshot = snapshot(10, 4, &spec);
    let of = |known| {
        rows(
            &snapshot,
            &memory(&[], possible(Ends::default(), Ends::default(), known)),
        )
    };
    assert_eq!(of(true), [(60, 6, 6, 6), (120, 4, 4, 4)]);
    // Otherwise this pass may go all the way, or not change anything for long.
    assert_eq!(of(false), [(60, 6, 4, 10), (120, 4, 4, 10)]);
}

#[test]
fn the_longest_wait_is_of_a_window_or_a_period() {
    let wait = |behavior: &Value| {
        let snapshot = snapshot(3, 3, &json!({"behavior": behavior}));
        longest_wait(&snapshot.hpa.spec, &snapshot.controller).as_secs()
    };
    assert_eq!(wait(&Value::Null), 300);
    assert_eq!(wait(&json!({"scaleUp": limited(1, 600)})), 600);
    assert_eq!(
        wait(&json!({"scaleUp": {"stabilizationWindowSeconds": 900}})),
        900
    );
    assert_eq!(
        wait(&json!({"scaleDown": {"stabilizationWindowSeconds": 60}})),
        300
    );
}
