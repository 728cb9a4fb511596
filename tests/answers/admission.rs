//! Manifests that a real API server of v1.36.2 accepted or rejected, compared with this crate's reading,
//! defaults and validation. It runs no binary.

use std::collections::BTreeSet;

use kubectl_hpa::apiserver::admit::{AdmissionError, admit};
use kubectl_hpa::apiserver::default::AdmissionRules;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A manifest, and what became of it.
#[derive(Deserialize)]
pub(super) struct Case {
    name: String,
    // Kept as text, because a number's digits are part of a quantity.
    input: Box<RawValue>,
    pub(super) expected: Expected,
}

#[derive(Deserialize)]
pub(super) struct Expected {
    pub(super) status: u16,
    #[serde(default)]
    spec: serde_json::Value,
    #[serde(default)]
    message: String,
    #[serde(default)]
    causes: Option<Vec<ExpectedCause>>,
}

#[derive(Deserialize)]
struct ExpectedCause {
    field: String,
    message: String,
}

/// The API server lists surplus sources in random order.
const SURPLUS: &str = "Forbidden: must populate the given metric source only";

/// Returns all of them.
pub(super) fn cases() -> Vec<Case> {
    let lines = include_str!("../admission/admission.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a case as recorded"))
        .collect()
}

pub(super) fn differs(case: &Case) -> Option<String> {
    let rules = AdmissionRules::of(&"v1.36.2".parse().expect("a version"));
    let got = admit(case.input.get(), "", rules);
    match (case.expected.status, got) {
        (201, Ok(object)) => {
            let spec = serde_json::to_value(&object.spec).expect("a spec is JSON");
            (spec != case.expected.spec)
                .then(|| format!("spec\n  is {spec}\nwant {}", case.expected.spec))
        }
        (400, Err(AdmissionError::Decode(error))) => {
            let prefix = "HorizontalPodAutoscaler in version \"v2\" cannot be handled as a \
                          HorizontalPodAutoscaler: ";
            let text = case
                .expected
                .message
                .strip_prefix(prefix)
                .unwrap_or_default();
            (error.message != text).then(|| format!("error\n  is {error}\nwant {text}"))
        }
        (422, Err(AdmissionError::Invalid(invalid))) => {
            let want = case.expected.causes.as_deref().unwrap_or_default();
            let want: Vec<_> = want
                .iter()
                .map(|c| format!("{}: {}", c.field, c.message))
                .collect();
            let got: Vec<_> = invalid.causes.iter().map(ToString::to_string).collect();
            let surplus = want.iter().filter(|cause| cause.ends_with(SURPLUS)).count();
            if surplus < 2 {
                let message = invalid.to_string();
                return (got != want || message != case.expected.message)
                    .then(|| format!("causes\n  are {got:#?}\nwant {want:#?}\n{message}"));
            }
            let sorted = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
            (got.len() != want.len() || sorted(&got) != sorted(&want))
                .then(|| format!("causes\n  are {got:#?}\nwant {want:#?}"))
        }
        (status, got) => Some(format!(
            "is {got:?}\nwant {status} {}",
            case.expected.message
        )),
    }
}

#[test]
fn manifests_are_taken_and_refused_as_by_an_api_server() {
    let cases = cases();
    assert!(!cases.is_empty());
    let differ = |case: &Case| Some(format!("{}: {}", case.name, differs(case)?));
    let wrong: Vec<String> = cases.iter().filter_map(differ).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
