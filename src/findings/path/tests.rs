//! For each code a state in which it appears, and a near miss in which it does not. Expectations are
//! derived by hand from the controller's rules.

use serde_json::{Value, json};

use super::super::testing::{found, state, with};
use super::super::{Code, Facts, Severity};
use crate::build;
use crate::engine::decision::Direction;

/// Returns four pods that request 100m each, with a target of 50%.
fn pods(cpu: &str) -> Vec<Value> {
    state(&[build::resource("cpu", &build::utilization(50))], &[cpu; 4])
}

fn with_spec(items: &[Value], spec: &Value) -> Vec<Value> {
    with(items, "HorizontalPodAutoscaler", &json!({ "spec": spec }))
}

/// Returns a state with a recommendation of 6 replicas at a time.
fn recommended(items: &[Value], time: &str) -> Vec<Value> {
    let recommendations = json!([{"replicas": 6, "time": time}]);
    with(items, "ControllerState", &json!({ "recommendations": recommendations }))
}

/// Returns a behavior that scales down at once, with more rules for a direction.
fn at_once(rules: &Value) -> Value {
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    json!({ "behavior": build::with(behavior, rules) })
}

#[test]
fn each_code_appears_where_its_rule_decides_and_not_beside_it() {
    let scale_down = json!({"scaleDown": {"selectPolicy": "Disabled"}});
    let scale_up = json!({"scaleUp": {"selectPolicy": "Disabled"}});
    let none = state(&[build::resource("cpu", &build::utilization(50))], &[]);
    for (code, severity, is, is_not) in [
        // 54% of 50% is within 10%; 50% is on target, and 56% is outside.
        (Code::WithinTolerance, Severity::Info, pods("54m"), vec![pods("50m"), pods("56m")]),
        // 0.8 × 4 is 3.2, rounded up to 4; 0.74 × 4 is 2.96.
        (Code::Rounding, Severity::Info, pods("40m"), vec![pods("37m"), pods("54m")]),
        (
            Code::HeldByWindow,
            Severity::Info,
            recommended(&pods("10m"), "2026-11-21T05:56:00Z"),
            vec![recommended(&pods("10m"), "2026-11-21T05:54:00Z")],
        ),
        // 8 × 4 is 32, and one pass may double.
        (Code::RateLimited, Severity::Info, pods("400m"), vec![pods("90m")]),
        // 1.8 × 4 is 7.2, rounded up to 8.
        (
            Code::AtMax,
            Severity::Warning,
            with_spec(&pods("90m"), &json!({"maxReplicas": 7})),
            vec![with_spec(&pods("90m"), &json!({"maxReplicas": 8}))],
        ),
        // 0.2 × 4 is 0.8, rounded up to 1.
        (
            Code::AtMin,
            Severity::Info,
            with_spec(&with_spec(&pods("10m"), &at_once(&json!({}))), &json!({"minReplicas": 2})),
            vec![with_spec(&pods("10m"), &at_once(&json!({})))],
        ),
        (
            Code::AboveMax,
            Severity::Warning,
            with_spec(&pods("50m"), &json!({"maxReplicas": 3})),
            vec![with_spec(&pods("50m"), &json!({"maxReplicas": 4}))],
        ),
        (
            Code::BelowMin,
            Severity::Warning,
            with_spec(&pods("50m"), &json!({"minReplicas": 5})),
            vec![with_spec(&pods("50m"), &json!({"minReplicas": 4}))],
        ),
        (
            Code::DirectionDisabled,
            Severity::Info,
            with_spec(&pods("10m"), &at_once(&scale_down)),
            vec![with_spec(&pods("10m"), &at_once(&scale_up))],
        ),
        (Code::SwitchedOff, Severity::Warning, none, vec![pods("50m")]),
    ] {
        let codes = |items: &[Value]| -> Vec<_> {
            found(items).iter().map(|it| (it.code(), it.severity, it.explains)).collect()
        };
        assert!(codes(&is).contains(&(code, severity, true)), "{code:?}: {:?}", codes(&is));
        for near in is_not {
            let other = codes(&near);
            assert!(other.iter().all(|(found, ..)| *found != code), "{code:?}: {other:?}");
        }
    }
}

#[test]
fn where_a_limit_holds_as_well_the_window_explains_nothing() {
    let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
    let items = with_spec(&recommended(&pods("10m"), "2026-11-21T05:56:00Z"), &disabled);
    let all = found(&items);
    let codes: Vec<_> = all.iter().map(|it| (it.code(), it.explains)).collect();
    assert_eq!(codes[..2], [(Code::DirectionDisabled, true), (Code::HeldByWindow, false)]);
    let Facts::DirectionDisabled(facts) = all[0].facts else { panic!("{codes:?}") };
    assert_eq!((facts.direction, facts.desired), (Direction::Down, 1));
}

#[test]
fn what_would_change_it_comes_from_the_engine() {
    let facts = |cpu: &str| found(&pods(cpu)).into_iter().next().map(|finding| finding.facts);
    // 0.8 × 4 is rounded up: 54% is the first target with which 40% of 100m needs 3 (2.96) of 4 pods.
    let Some(Facts::Rounding(rounding)) = facts("40m") else { panic!() };
    let raised = rounding.target.unwrap();
    assert_eq!((raised.target.average_utilization, raised.proposal), (Some(54), 3));
    assert_eq!((rounding.one_fewer, rounding.borders.unwrap().fewer), (Some(53), Some(37)));
    // 54% is 8% above 50%.
    let Some(Facts::WithinTolerance(tolerated)) = facts("54m") else { panic!() };
    assert_eq!(tolerated.narrower, Some(7));
    let borders = tolerated.borders.unwrap();
    assert_eq!((borders.fewer, borders.more), (Some(37), Some(56)));
}

/// 80% of a target at the field's maximum: a search that steps through percents would never end.
#[test]
fn a_target_may_be_as_high_as_its_field_allows() {
    let metric = build::resource("cpu", &build::utilization(i32::MAX));
    let items = state(&[metric], &["1700000"; 4]);
    let all = found(&items);
    let Some(Facts::Rounding(rounding)) = all.first().map(|it| &it.facts) else {
        panic!("{all:?}")
    };
    assert!(rounding.target.is_none(), "{rounding:?}");
}
