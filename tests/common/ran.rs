//! Runs of the program and of others, with what they print as text. None may show a secret.

#![allow(
    dead_code,
    reason = "every test binary that includes the module uses another part of it"
)]

use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

/// What no output may ever contain: tokens, plugins' data and output, passwords of tests.
pub(crate) const SECRETS: [&str; 4] = [
    "secret-token-of-",
    "secret-in-the-environment",
    "secret-on-stdout",
    "secret-password",
];

/// What a program printed, and how it ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Takes the output of a process; panics if a secret shows.
    #[track_caller]
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let ran = Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        for secret in SECRETS {
            let shown = ran.stdout.contains(secret) || ran.stderr.contains(secret);
            assert!(!shown, "{secret} shows: {}", ran.shown());
        }
        ran
    }

    /// Asserts that nothing is on standard error.
    #[track_caller]
    pub(crate) fn quiet(self) -> Self {
        assert_eq!(self.stderr, "", "{}", self.stdout);
        self
    }

    /// Asserts that there is no answer, and returns standard error.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        &self.stderr
    }

    /// Returns both streams.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Returns what is printed as JSON, whatever the exit code is.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.shown()))
    }

    /// Returns the published object of a pass whose answer is unknown.
    #[track_caller]
    pub(crate) fn unanswered(&self) -> Value {
        assert_eq!(self.code, Some(1), "{}", self.stderr);
        self.json()
    }

    /// Returns the output without the file in the commands, which those about a cluster do not have.
    pub(crate) fn without_file(mut self, file: &str) -> Self {
        self.stdout = self.stdout.replace(&format!(" -f {file}"), "");
        self
    }

    /// Returns the lines of standard error, but for those that tell of progress.
    pub(crate) fn complaint(&self) -> Vec<&str> {
        let lines = self.stderr.lines();
        lines
            .filter(|line| !line.starts_with("asking Prometheus"))
            .collect()
    }

    /// Returns the published object of an answer.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.json()
    }

    /// Returns the text of an answer.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// Returns the error and the hint of a run without an answer, and its exit code.
    #[track_caller]
    pub(crate) fn refusal(&self) -> (String, Option<String>, Option<i32>) {
        assert_eq!(self.stdout, "");
        let mut lines = self.stderr.lines();
        let error = lines.next().and_then(|line| line.strip_prefix("error: "));
        let hint = lines
            .next()
            .map(|line| line.strip_prefix("hint: ").expect(line).to_owned());
        assert_eq!(lines.next(), None, "{:?}", self.stderr);
        (error.expect("an error").to_owned(), hint, self.code)
    }

    /// Asserts that there is no answer, and that standard error contains these texts.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, parts: &[&str]) {
        let error = self.refused(code);
        for part in parts {
            assert!(error.contains(part), "no {part:?} in: {error}");
        }
    }
}

/// The path of the program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-hpa");

/// Returns the program.
pub(crate) fn program() -> Command {
    Command::new(PROGRAM)
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Ran {
    Ran::of(command.output().expect("it runs"))
}
