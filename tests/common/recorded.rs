//! The passes that were recorded from a controller of Kubernetes v1.36.2: what it was given, and what
//! it answered.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A recorded pass.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    // Kept as text, because a number's digits are part of a quantity.
    pub(crate) input: Box<RawValue>,
    pub(crate) expected: Value,
}

/// How many there are.
pub(crate) const COUNT: usize = 507;

/// All of them, by file and line.
pub(crate) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let entries = fs::read_dir(folder).expect("the folder of the cases");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    let read = |file: &_| fs::read_to_string(file).expect("a file of cases");
    let cases = files.iter().map(read).flat_map(|text| {
        let case = |line| serde_json::from_str(line).expect("a case as recorded");
        text.lines().map(case).collect::<Vec<Case>>()
    });
    let cases: Vec<Case> = cases.collect();
    assert_eq!(cases.len(), COUNT, "cases are missing or were added");
    cases
}
