//! Errors as the user meets them: what happened, what to do about it, and the exit code. An
//! unreadable metric or scale is not an error but an outcome of the pass.

use std::fmt;

/// The exit code of an error, as documented in docs/exit-codes.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// 1: no answer could be had.
    Failed,
    /// 2: the command line or the input is not usable.
    Usage,
    /// 130, or 143: a signal came, to interrupt or to terminate.
    Signal(u8),
}

impl ErrorKind {
    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Signal(code) => code,
        }
    }
}

/// An error with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Decides the exit code.
    pub kind: ErrorKind,
    /// What happened, and where.
    pub message: String,
    /// The reason of a server that refused, such as `Forbidden`, with which the message begins.
    pub reason: Option<String>,
    /// What was typed, and where in it (in bytes) it is wrong.
    pub place: Option<(String, usize)>,
    /// What to do.
    pub hint: Option<String>,
    /// What is to be known before: warnings, and what went on as far as `-v` asks for it.
    pub notes: Vec<String>,
    /// Whether the message stands alone: kubectl puts no `error: ` before some of its sentences.
    pub bare: bool,
}

impl Error {
    /// The command line or the input is not usable.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Usage, ..Self::failed(message) }
    }

    /// No answer could be had.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Failed,
            message: message.into(),
            reason: None,
            place: None,
            hint: None,
            notes: Vec::new(),
            bare: false,
        }
    }

    /// No answer could be had, in a sentence of kubectl's that has no `error: ` before it.
    pub fn bare(message: impl Into<String>) -> Self {
        Self { bare: true, ..Self::failed(message) }
    }

    /// Adds where in what was typed it is wrong.
    #[must_use]
    pub fn at(mut self, text: impl Into<String>, place: usize) -> Self {
        self.place = Some((text.into(), place));
        self
    }

    /// Adds what to do.
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

/// The first few of a list that may be long.
pub(crate) fn listed(all: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = all[..all.len().min(SHOWN)].join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
