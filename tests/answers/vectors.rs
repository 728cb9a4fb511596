//! The answers of the Kubernetes v1.36.2 controller to 507 recorded inputs, and of the other
//! versions from v1.26 to v1.38 to 754, compared with this crate's answers: proposal, written
//! scale, status, events, error, and the remembered recommendations afterwards, in order. It
//! proves that a pass is the controller's, bit for bit; it runs no binary, so this is about the
//! library alone.

use std::sync::LazyLock;

use crate::common;
use crate::common::recorded;
use crate::told::{self, ToldPass};

use kubectl_hpa::engine::decision::Decision;
use recorded::{Case, first_difference};
use serde_json::{Value, json};

/// The compared parts of an answer; the first that differs is reported.
const COMPARED: [&str; 6] = [
    "proposal",
    "scaleTo",
    "error",
    "events",
    "status",
    "recommendations",
];

/// A recorded pass, and the first part of the answer that differs.
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) difference: Option<String>,
}

/// Returns all of v1.36.2, compared once for all tests.
pub(super) fn newest() -> &'static [Compared] {
    static ALL: LazyLock<Vec<Compared>> = LazyLock::new(|| {
        let compare = |(case, told): (&Case, &ToldPass)| Compared {
            name: case.name.clone(),
            difference: difference(case, &told.pass.decision, told.json()),
        };
        told::recorded().map(compare).collect()
    });
    &ALL
}

/// Returns those of other versions.
pub(super) fn other_versions() -> &'static [Compared] {
    static ALL: LazyLock<Vec<Compared>> = LazyLock::new(|| {
        let cases = recorded::read("tests/vectors/versions");
        cases.into_iter().map(compared).collect()
    });
    &ALL
}

fn compared(case: Case) -> Compared {
    let difference = match common::read(case.input.get()) {
        Ok(input) => {
            let (decision, object) = common::explain(&input);
            difference(&case, &decision, &object)
        }
        Err(e) => Some(format!("not read: {e}")),
    };
    Compared {
        name: case.name,
        difference,
    }
}

#[test]
fn each_recorded_pass_is_answered_as_by_the_controller() {
    assert_answered(newest());
}

#[test]
fn each_pass_of_another_version_is_answered_as_by_its_controller() {
    let cases = other_versions();
    assert_eq!(cases.len(), 754, "cases are missing or were added");
    assert_answered(cases);
}

fn assert_answered(cases: &[Compared]) {
    let differ = |case: &Compared| Some(format!("{}: {}", case.name, case.difference.as_ref()?));
    let wrong: Vec<String> = cases.iter().filter_map(differ).collect();
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Returns the first field in which the answer differs from the recorded one.
fn difference(case: &Case, decision: &Decision, object: &Value) -> Option<String> {
    let mut got = object["outcome"].clone();
    got["proposal"] = object["proposal"].clone();
    got["recommendations"] = json!(decision.memory.recommendations);
    let differences = case.answers().iter().map(|answer| {
        let mut want = answer.clone();
        // An absent list and an empty one are the same memory.
        if want["recommendations"].is_null() {
            want["recommendations"] = json!([]);
        }
        COMPARED
            .iter()
            .find_map(|field| first_difference(field, &got[field], &want[field]))
    });
    differences.reduce(Option::and).flatten()
}
