//! A command to paste, and the object that it edits: a tool or an owner that writes an object will write it
//! again.

use serde_json::{Value, json};

use crate::apimachinery::names::shell_word;
use crate::snapshot::hpa::CrossVersionObjectReference;

/// An object with its own source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edited {
    /// The HPA.
    Hpa,
    /// The `ScaledObject` that KEDA creates the HPA from.
    ScaledObject,
    /// The object that has the template of the pods.
    Template,
}

/// A command to paste that begins with `kubectl`, without the flags that select a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) line: String,
    /// The object whose manifest the command changes; `None` if it only shows something, or if no manifest states what
    /// it does.
    pub(crate) edits: Option<Edited>,
}

impl Command {
    /// Returns the command, marked as editing this object.
    pub(crate) fn editing(self, edited: Edited) -> Self {
        Self {
            edits: Some(edited),
            ..self
        }
    }
}

impl From<String> for Command {
    fn from(line: String) -> Self {
        Self { line, edits: None }
    }
}

impl From<&str> for Command {
    fn from(line: &str) -> Self {
        line.to_owned().into()
    }
}

/// Returns an object as `kubectl` accepts it: `deployment/web`.
pub(crate) fn typed(object: &CrossVersionObjectReference) -> String {
    let kind = object.kind.to_lowercase();
    let group = match object.group() {
        "" | "apps" => String::new(),
        group => format!(".{group}"),
    };
    shell_word(&format!("{kind}{group}/{}", object.name))
}

/// Returns the flags that merge fields into the spec of an object.
pub(crate) fn merge(spec: &Value) -> String {
    patch_flags("merge", &json!({ "spec": spec }))
}

/// Returns the flags of `kubectl patch` with a patch of this type.
pub(crate) fn patch_flags(type_: &str, patch: &Value) -> String {
    format!("--type={type_} -p {}", shell_word(&patch.to_string()))
}
