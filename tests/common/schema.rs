//! The published schemas, each complete in its file: the parts of explanations that lists, predictions and
//! applications share are copied into theirs.

#![allow(
    dead_code,
    reason = "every test binary that includes the module uses another part of it"
)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jsonschema::Validator;
use serde_json::Value;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("schema/{name}.json"))
}

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).expect("a schema");
    serde_json::from_str(&text).expect("the schema is JSON")
}

pub(crate) fn explanation() -> Value {
    read("explanation")
}

pub(crate) fn explanation_list() -> Value {
    read("explanation-list")
}

pub(crate) fn prediction() -> Value {
    read("prediction")
}

pub(crate) fn apply_result() -> Value {
    read("apply-result")
}

/// Returns a validator for a schema as it is in its file, without any other file.
pub(crate) fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("the schema is one")
}

/// Reads a schema and an object from standard input, and fails if the object does not match.
const SCRIPT: &str = "
import json, sys
import jsonschema
schema, right = json.load(open(sys.argv[1])), json.load(sys.stdin)
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
validator(schema).validate(right)
wrong = dict(right, unknown=1)
assert not validator(schema).is_valid(wrong), 'an unknown field passes'
";

/// Checks that Python's validator accepts an object by the schema file alone, if it is installed.
#[allow(clippy::print_stderr, reason = "says what is not checked")]
#[track_caller]
pub(crate) fn fits_elsewhere(name: &str, object: &Value) {
    let python = |args: &[&str]| {
        let mut command = Command::new("python3");
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    };
    let there = python(&["-c", "import jsonschema"]).output();
    if !there.is_ok_and(|there| there.status.success()) {
        eprintln!("{name}: not checked with Python's validator: jsonschema is not installed");
        return;
    }
    let path = path(name);
    let mut child = python(&["-c", SCRIPT, path.to_str().expect("a path in UTF-8")])
        .spawn()
        .expect("python3 runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(object.to_string().as_bytes())
        .expect("the object is read");
    drop(stdin);
    let output = child.wait_with_output().expect("python3 ends");
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
