//! Errors as the user sees them: what happened, the remedy, and the exit code. An unreadable metric or
//! scale is not an error but an outcome of the pass.

use std::borrow::Borrow;
use std::fmt;
use std::time::Duration;

use crate::numbers::first_few;

/// The exit code of an error, as documented in docs/exit-codes.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// 1: no answer.
    Failed,
    /// 2: the command line or the input is unusable.
    Usage,
    /// 130 or 143: a signal interrupted or terminated the process.
    Signal(u8),
}

impl ErrorKind {
    /// Returns the process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Signal(code) => code,
        }
    }
}

/// An error, with its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Determines the exit code.
    pub kind: ErrorKind,
    /// What happened, and where.
    pub message: String,
    /// The message without the time of retries, and that time, if it says how long they took.
    pub retried: Option<Box<(String, Duration)>>,
    /// The reason that a server gave for a refusal, such as `Forbidden`; the message starts with it.
    pub reason: Option<String>,
    /// The text that was typed, and the byte position of the fault in it.
    pub place: Option<(String, usize)>,
    /// The remedy.
    pub hint: Option<String>,
    /// The lines to print before the error: warnings, and what happened, as `-v` requests.
    pub notes: Vec<String>,
    /// Whether to print the message without a prefix: kubectl omits `error: ` from some messages.
    pub bare: bool,
}

impl Error {
    /// The command line or the input is unusable.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Usage,
            ..Self::failed(message)
        }
    }

    /// Returns an error with no answer.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Failed,
            message: message.into(),
            retried: None,
            reason: None,
            place: None,
            hint: None,
            notes: Vec::new(),
            bare: false,
        }
    }

    /// Returns the same error, which the command line causes.
    #[must_use]
    pub(crate) fn of_flags(self) -> Self {
        Self {
            kind: ErrorKind::Usage,
            ..self
        }
    }

    /// Returns an error with no answer, in a kubectl message without the prefix `error: `.
    pub fn bare(message: impl Into<String>) -> Self {
        Self {
            bare: true,
            ..Self::failed(message)
        }
    }

    /// Adds the position of the error in the typed text.
    #[must_use]
    pub fn at(mut self, text: impl Into<String>, place: usize) -> Self {
        self.place = Some((text.into(), place));
        self
    }

    /// Puts what it is about before the message, which is then no longer kubectl's.
    #[must_use]
    pub(crate) fn within(self, what: impl fmt::Display) -> Self {
        Self {
            message: format!("{what}: {}", self.message),
            retried: None,
            bare: false,
            ..self
        }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Returns the address of a page of the documentation, which is not installed with the program.
pub(crate) fn docs(page: &str) -> String {
    format!("{}/blob/main/docs/{page}", env!("CARGO_PKG_REPOSITORY"))
}

/// Returns the first items of a list that may be long, and the number of the others, as text.
pub(crate) fn listed<S: AsRef<str> + Borrow<str>>(all: &[S]) -> String {
    const SHOWN: usize = 10;
    if all.len() > SHOWN {
        first_few(all, SHOWN)
    } else {
        all.join(", ")
    }
}
