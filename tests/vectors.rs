//! What the controller of Kubernetes v1.36.2 answered to 507 recorded inputs, against this crate's
//! answer to the same: proposal, written scale, status, events, error, and the recommendations that
//! are remembered afterwards, in order. It proves that a pass is the controller's, bit for bit; it
//! runs no binary, so what it says is about the library alone.

mod common;

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Case {
    name: String,
    // Kept as text, because a number's digits are part of a quantity.
    input: Box<RawValue>,
    expected: Value,
}

/// What an answer is compared in; whichever comes first names the difference.
const COMPARED: [&str; 6] = ["proposal", "scaleTo", "error", "events", "status", "recommendations"];

#[test]
fn each_recorded_pass_is_answered_as_by_the_controller() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for text in recorded() {
        for line in text.lines() {
            let case: Case = serde_json::from_str(line).expect("a case as recorded");
            count += 1;
            wrong.extend(difference(&case).map(|text| format!("{}: {text}", case.name)));
        }
    }
    let list = wrong.join("\n");
    assert!(wrong.is_empty(), "{} differ:\n{list}", wrong.len());
    assert_eq!(count, 507, "cases are missing or were added");
}

/// The files of cases, in the order of their names.
fn recorded() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let entries = fs::read_dir(folder).expect("the folder of the cases");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    let read = |file: &_| fs::read_to_string(file).expect("a file of cases");
    files.iter().map(read).collect()
}

/// The first field in which the answer differs from the recorded one.
fn difference(case: &Case) -> Option<String> {
    let input = match common::read(case.input.get()) {
        Ok(input) => input,
        Err(e) => return Some(format!("not read: {e}")),
    };
    let (decision, object) = common::explain(&input);
    let mut got = object["outcome"].clone();
    got["proposal"] = object["proposal"].clone();
    got["recommendations"] = json!(decision.memory.recommendations);
    let mut want = case.expected.clone();
    // No list and an empty one are the same memory.
    if want["recommendations"].is_null() {
        want["recommendations"] = json!([]);
    }
    COMPARED.iter().find_map(|field| first_difference(field, &got[field], &want[field]))
}

/// Walks both values at once. Null and absent are alike.
fn first_difference(path: &str, got: &Value, want: &Value) -> Option<String> {
    match (got, want) {
        (Value::Object(is), Value::Object(should)) => is
            .keys()
            .chain(should.keys())
            .find_map(|key| first_difference(&format!("{path}.{key}"), &got[key], &want[key])),
        (Value::Array(is), Value::Array(should)) if is.len() == should.len() => {
            is.iter().zip(should).enumerate().find_map(|(place, (is, should))| {
                first_difference(&format!("{path}[{place}]"), is, should)
            })
        }
        _ => (got != want).then(|| format!("{path} is {got}, should be {want}")),
    }
}
