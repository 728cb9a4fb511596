//! The published schemas, each complete in its file: the parts of explanations that lists, predictions and
//! applications share are copied into theirs.

#![allow(
    dead_code,
    reason = "every test binary that includes the module uses another part of it"
)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

/// A schema, prepared once for all tests: that takes longer than anything that is asked of it.
pub(crate) struct Schema {
    pub(crate) json: Value,
    validator: Validator,
}

pub(crate) static EXPLANATION: LazyLock<Schema> = LazyLock::new(|| Schema::read("explanation"));
pub(crate) static EXPLANATION_LIST: LazyLock<Schema> =
    LazyLock::new(|| Schema::read("explanation-list"));
pub(crate) static PREDICTION: LazyLock<Schema> = LazyLock::new(|| Schema::read("prediction"));
pub(crate) static APPLY_RESULT: LazyLock<Schema> = LazyLock::new(|| Schema::read("apply-result"));

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("schema/{name}.json"))
}

impl Schema {
    /// Reads a published schema as it is in its file, without any other file.
    fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(path(name)).expect("a schema");
        Self::new(serde_json::from_str(&text).expect("the schema is JSON"))
    }

    pub(crate) fn new(json: Value) -> Self {
        let validator = jsonschema::validator_for(&json).expect("the schema is one");
        Self { json, validator }
    }

    /// Returns the names of the fields of the described object.
    pub(crate) fn fields(&self) -> BTreeSet<String> {
        let fields = self.json["properties"].as_object().expect("properties");
        fields.keys().cloned().collect()
    }

    /// Returns what is wrong with an object, if it does not match.
    pub(crate) fn fault(&self, object: &Value) -> Option<String> {
        let error = self.validator.validate(object).err()?;
        Some(format!("{}: {error}", error.instance_path()))
    }

    /// Asserts that an object matches, but not with any one of the changes: at this place, the field or item of this
    /// name has another value, or is gone if the value is null.
    #[track_caller]
    pub(crate) fn rejects(&self, right: &Value, changes: &[(&str, &str, &Value)]) {
        assert_eq!(self.fault(right), None);
        for &(at, name, value) in changes {
            let mut wrong = right.clone();
            match wrong.pointer_mut(at) {
                Some(Value::Object(fields)) if value.is_null() => {
                    assert!(fields.remove(name).is_some(), "no {name} at {at}");
                }
                Some(Value::Object(fields)) => {
                    let before = fields.insert(name.to_owned(), value.clone());
                    assert_ne!(before.as_ref(), Some(value), "{at}/{name}");
                }
                Some(Value::Array(items)) => {
                    items[name.parse::<usize>().expect("a place")] = value.clone();
                }
                _ => panic!("nothing at {at}"),
            }
            assert!(
                !self.validator.is_valid(&wrong),
                "{at}/{name}: {value} passes"
            );
        }
    }
}

/// The exit code of [`SCRIPT`] where the validator is not installed.
const NOT_INSTALLED: i32 = 77;

/// Reads a schema and an object from standard input, and fails if the object does not match.
const SCRIPT: &str = "
import json, sys
schema, right = json.load(open(sys.argv[1])), json.load(sys.stdin)
try:
    import jsonschema
except ImportError:
    sys.exit(77)
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
    let not_checked =
        || eprintln!("{name}: not checked with Python's validator: jsonschema is not installed");
    let started = Command::new("python3")
        .args(["-c", SCRIPT])
        .arg(path(name))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        return not_checked();
    };
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(object.to_string().as_bytes())
        .expect("the object is read");
    drop(stdin);
    let output = child.wait_with_output().expect("python3 ends");
    if output.status.code() == Some(NOT_INSTALLED) {
        return not_checked();
    }
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
