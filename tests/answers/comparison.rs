//! What this pass would write compared with what the controller last wrote: which items differ, and the
//! reasons given, situation by situation. `tests/answers/trajectories` checks that they are true of a
//! real controller.

use crate::common;
use crate::common::written;

use serde_json::{Value, json};
use written::CASES;

fn compared(input: &str) -> Value {
    let input = common::read(input).unwrap_or_else(|e| panic!("{e}: {input}"));
    common::explain(&input).1["comparison"].take()
}

fn texts<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    let list = list.as_array().expect("a list").iter();
    list.map(|it| it[field].as_str().expect("a text")).collect()
}

#[test]
fn each_difference_has_its_reason() {
    for case in &CASES {
        let found = compared(&case.input());
        let rows = found["rows"].as_array().expect("rows");
        let differ: Vec<&Value> = rows.iter().filter(|row| row["differs"] == true).collect();
        let names: Vec<&str> = differ
            .iter()
            .filter_map(|row| row["name"].as_str())
            .collect();
        let codes = texts(&found["reasons"], "code");
        assert_eq!(
            (&codes[..], &names[..]),
            (case.codes, case.rows),
            "{}: {found:#}",
            case.name
        );
        assert_eq!(found["differs"], !differ.is_empty(), "{}", case.name);
        for row in rows {
            let because = row["because"].as_array().expect("codes");
            assert_eq!(
                because.is_empty(),
                row["differs"] == false,
                "{}: {row:#}",
                case.name
            );
        }
    }
}

/// With an earlier `--now`, the status is from after the pass, and no later sample and no change is the reason.
#[test]
fn a_status_from_after_the_pass_is_no_reason() {
    for name in ["a metric without a time", "a smaller maximum"] {
        let case = CASES.iter().find(|case| case.name == name);
        let mut input: Value = serde_json::from_str(&case.expect("a case").input()).expect("JSON");
        let items = input["items"].as_array_mut().expect("a list");
        let state = items
            .iter_mut()
            .find(|item| item["kind"] == "ControllerState");
        state.expect("a state")["now"] = json!("2026-11-21T05:30:00Z");
        let found = compared(&input.to_string());
        assert!(found["written"]["age"].as_i64() < Some(-1700), "{found:#}");
        assert_eq!(
            texts(&found["reasons"], "code"),
            ["unexplained"],
            "{found:#}"
        );
        let messages = texts(&found["reasons"], "message").join("; ");
        assert!(
            messages.contains("the status was written after the time of this pass"),
            "{messages}"
        );
    }
}

/// Returns the message of the only reason in a case.
fn message(name: &str) -> String {
    let case = CASES.iter().find(|case| case.name == name).expect("a case");
    let found = compared(&case.input());
    let messages = texts(&found["reasons"], "message");
    assert_eq!(messages.len(), 1, "{found:#}");
    messages[0].to_owned()
}

/// What the controller writes depends on metrics that it may read but we may not.
#[test]
fn a_status_that_is_not_known_is_not_compared() {
    let case = CASES
        .iter()
        .find(|case| case.name == "as it was")
        .expect("a case");
    let input = case.input();
    assert!(!compared(&input).is_null());
    let mut input: Value = serde_json::from_str(&input).expect("JSON");
    let items = input["items"].as_array_mut().expect("a list").iter_mut();
    let state = items
        .into_iter()
        .find(|item| item["kind"] == "ControllerState");
    let refused = json!([{"api": "resource", "message": "forbidden", "denied": true}]);
    state.expect("a state")["errors"] = refused;
    assert_eq!(compared(&input.to_string()), Value::Null);
}

#[test]
fn an_answer_that_no_memory_changes_blames_the_settings() {
    let name = "a tolerance other than the controller's, where the memory changes nothing";
    assert!(
        message(name).contains("flags, version or feature gates"),
        "{}",
        message(name)
    );
    let message = message("a hold that is longer than the window");
    let expected = "a hold (ScaleDownStabilized) should have expired 5m ago, and the status was \
                    not written since: the controller is slow, blocked or down, or its settings \
                    differ from the assumed ones";
    assert_eq!(message, expected);
}

#[test]
fn a_status_without_conditions_is_said_to_be_incomplete() {
    let message = message("a status without conditions");
    assert!(
        message.contains("lacks the conditions that every pass writes"),
        "{message}"
    );
}
