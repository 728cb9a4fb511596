//! A command to paste, and the object that it edits: a tool or an owner that writes an object will write it
//! again.

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
    /// The object whose manifest it changes; `None` if it only shows something, or does something that is in no
    /// manifest.
    pub(crate) edits: Option<Edited>,
}

impl Command {
    /// Returns the command with this object as the one that it edits.
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
