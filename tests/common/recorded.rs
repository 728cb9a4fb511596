//! The recorded passes of Kubernetes controllers: the input and the answer of each. Those of v1.36.2
//! cover every kind of input; those of other versions are mostly inputs that v1.36.2 answers
//! differently.

#![allow(dead_code, reason = "not every suite looks at all of it")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use kubectl_hpa::snapshot::input::Input;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A recorded pass.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    // Kept as text, because a number's digits are part of a quantity.
    pub(crate) input: Box<RawValue>,
    /// The answer; null if there are several.
    #[serde(default)]
    pub(crate) expected: Value,
    /// The possible answers if the controller words one in random order.
    #[serde(default, rename = "expectedAnyOf")]
    any_of: Vec<Value>,
}

impl Case {
    /// Returns the answers, of which one is right.
    pub(crate) fn answers(&self) -> &[Value] {
        if self.any_of.is_empty() {
            std::slice::from_ref(&self.expected)
        } else {
            &self.any_of
        }
    }
}

/// The number of passes from v1.36.2.
pub(crate) const COUNT: usize = 507;

/// Returns the passes from v1.36.2, by file and line.
pub(crate) fn cases() -> Vec<Case> {
    let cases = read("tests/vectors");
    assert_eq!(cases.len(), COUNT, "cases are missing or were added");
    cases
}

/// Returns the same with their inputs, read once for all tests.
pub(crate) fn inputs() -> &'static [(Case, Input)] {
    static INPUTS: LazyLock<Vec<(Case, Input)>> = LazyLock::new(|| {
        let read = |case: Case| {
            let input = super::read(case.input.get());
            let input = input.unwrap_or_else(|e| panic!("{}: {e}", case.name));
            (case, input)
        };
        cases().into_iter().map(read).collect()
    });
    &INPUTS
}

/// Reads all passes of a directory, by file and line.
pub(crate) fn read(directory: &str) -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = fs::read_dir(directory).expect("the directory of the cases");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    let read = |file: &_| fs::read_to_string(file).expect("a file of cases");
    let cases = files.iter().map(read).flat_map(|text| {
        let case = |line| serde_json::from_str(line).expect("a case as recorded");
        text.lines().map(case).collect::<Vec<Case>>()
    });
    cases.collect()
}

/// Returns where an answer first differs from the recorded one. Null and absent are equal.
pub(crate) fn first_difference(path: &str, got: &Value, want: &Value) -> Option<String> {
    match (got, want) {
        (Value::Object(is), Value::Object(should)) => is
            .keys()
            .chain(should.keys())
            .find_map(|key| first_difference(&format!("{path}.{key}"), &got[key], &want[key])),
        (Value::Array(is), Value::Array(should)) if is.len() == should.len() => is
            .iter()
            .zip(should)
            .enumerate()
            .find_map(|(place, (is, should))| {
                first_difference(&format!("{path}[{place}]"), is, should)
            }),
        _ => (got != want).then(|| format!("{path} is {got}, should be {want}")),
    }
}
