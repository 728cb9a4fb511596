//! A command to paste, and the object that it edits: what a tool or an owner writes, they write again.

/// An object with a source of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edited {
    /// The HPA.
    Hpa,
    /// The `ScaledObject` that KEDA creates the HPA from.
    ScaledObject,
    /// The object that has the template of the pods.
    Template,
}

/// A line to paste that begins with `kubectl`, without the flags that select a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) line: String,
    /// The object in whose manifest it changes something; none if it shows something, or does what no manifest says.
    pub(crate) edits: Option<Edited>,
}

impl Command {
    /// Returns the same command as one that edits this object.
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
