//! A remedy in words, with commands that work when pasted.

use serde::{Serialize, Serializer};

use super::command::{Command, Edited};
use super::remedy::Remedy;
use crate::words::sentence;

/// A remedy, in the imperative: an action, something to wait for, or a choice between the two.
#[derive(Debug, Clone)]
pub(crate) struct Advice {
    /// The kind of advice.
    pub(crate) remedy: Remedy,
    /// What to wait for, worded to follow `Wait`.
    wait: Option<String>,
    /// The action: a sentence, or the end of a sentence if waiting is the alternative.
    act: String,
    /// The first words on what has to follow until pods have a changed template, if the advice changes the template.
    pub(crate) then: Option<&'static str>,
    /// Lines to paste.
    pub(crate) commands: Vec<Command>,
}

/// The first words on what follows a change of the template if that is one of several alternatives.
pub(crate) const IF_TEMPLATE: &str = "If the template changes,";

impl Remedy {
    /// Returns advice of this kind.
    pub(crate) fn says(self, act: impl Into<String>) -> Advice {
        Advice {
            remedy: self,
            wait: None,
            act: act.into(),
            then: (self.changes() == Some(Edited::Template)).then_some("Then"),
            commands: Vec::new(),
        }
    }

    /// Returns the advice to wait.
    pub(crate) fn waits(self, until: impl Into<String>) -> Advice {
        Advice {
            wait: Some(until.into()),
            ..self.says("")
        }
    }
}

impl Default for Advice {
    fn default() -> Self {
        Remedy::Nothing.says("")
    }
}

impl Advice {
    /// Adds an alternative action.
    pub(crate) fn or(self, act: impl Into<String>) -> Self {
        Self {
            act: act.into(),
            ..self
        }
    }

    /// Adds a sentence.
    pub(crate) fn and(self, more: &str) -> Self {
        let act = format!("{} {more}", self.text());
        Self {
            wait: None,
            act,
            ..self
        }
    }

    /// Adds a command to paste.
    pub(crate) fn with(self, command: impl Into<Command>) -> Self {
        self.with_all([command.into()])
    }

    /// Adds commands to paste.
    pub(crate) fn with_all(mut self, commands: impl IntoIterator<Item = Command>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Returns the part of the advice that applies to a past pass: there is nothing to wait for, and commands would act
    /// on the current HPA.
    pub(crate) fn of_past(self) -> Self {
        match self.wait {
            Some(_) if self.act.is_empty() => Self::default(),
            Some(_) => self.remedy.says(format!("{}.", sentence(&self.act))),
            None => self.remedy.says(self.act),
        }
    }

    /// Returns the advice as a sentence; empty if none is given.
    pub(crate) fn text(&self) -> String {
        match (&self.wait, &*self.act) {
            (None, act) => act.to_owned(),
            (Some(until), "") if until.is_empty() => "Wait.".to_owned(),
            (Some(until), "") => format!("Wait {until}."),
            (Some(until), act) if until.is_empty() => format!("Wait, or {act}."),
            (Some(until), act) => format!("Wait {until}, or {act}."),
        }
    }
}

impl Serialize for Advice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}
