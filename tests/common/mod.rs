//! The path of `explain -f` in-process, from the text of an input to the published object, without
//! files, clock or process. Shared by the suites; not every one of them needs all of it.
#![allow(dead_code)]

pub(crate) mod build;
pub(crate) mod ran;
pub(crate) mod recorded;
pub(crate) mod scenario;
pub(crate) mod schema;
pub(crate) mod trajectories;
pub(crate) mod written;

use std::iter;
use std::sync::{LazyLock, Mutex};

use clap::{CommandFactory, FromArgMatches};
use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::args::{self, Cli, Validate, Verb};
use kubectl_hpa::engine;
use kubectl_hpa::engine::decision::Decision;
use kubectl_hpa::error::Error;
use kubectl_hpa::memory::Remembered;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::layout::Layout;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::saved;
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::snapshot::Snapshot;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::whatif::overrides::{Assumptions, Candidate};
use kubectl_hpa::whatif::timeline::{Player, TimelineOptions};
use serde_json::Value;

use ran::{Ran, program, run};

/// Reads the input of a pass over the HPA `web` in `default` from one text.
pub(crate) fn read(text: &str) -> Result<Input, Error> {
    let options = Options {
        name: "web".to_owned(),
        namespace: Some("default".to_owned()),
        ..Options::default()
    };
    saved::read(text, &options, Timestamp::UNIX_EPOCH)
}

/// Decides with the likely history.
pub(crate) fn decide(input: &Input) -> Decision {
    engine::reconcile(&input.snapshot, &Remembered::of(input).likely)
}

/// Reads a candidate for `web` from the text of a file, as `--hpa` does.
pub(crate) fn candidate(text: &str, file: &str, validate: Validate) -> Result<Candidate, Error> {
    let mut objects = Objects {
        are_manifests: true,
        ..Objects::default()
    };
    read_text(text, file, &mut objects)?;
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    Candidate::find(&objects, &options, file, validate)
}

/// Prepares the passes that start from a snapshot at once.
pub(crate) fn player(plan: TimelineOptions, snapshot: &mut Snapshot) -> Result<Player, Error> {
    let (now, observed) = (SignedDuration::ZERO, snapshot.clone());
    Player::new(plan, now, &observed, snapshot, None, &mut Vec::new())
}

/// Returns what a candidate assumes.
pub(crate) fn assuming(candidate: Candidate) -> Assumptions {
    let mut assumptions = Assumptions::default();
    assumptions.replace_hpa(candidate);
    assumptions
}

/// Runs one pass, and returns the object that `-o json` prints about it.
pub(crate) fn explain(input: &Input) -> (Decision, Value) {
    let pass = Pass::run(input.clone());
    let explained = serde_json::to_value(Explanation::new(&pass)).expect("an explanation is JSON");
    (pass.decision, explained)
}

/// Reads a command line of `predict` from the words after it, as the program does. What describes the command line is
/// made once, because that takes longer than a pass.
#[track_caller]
pub(crate) fn typed<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> args::Predict {
    static COMMAND: LazyLock<Mutex<clap::Command>> = LazyLock::new(|| Mutex::new(Cli::command()));
    let mut line = vec!["kubectl-hpa".to_owned(), "predict".to_owned()];
    line.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    let read = COMMAND
        .lock()
        .expect("no panic")
        .try_get_matches_from_mut(&line)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match read.unwrap_or_else(|e| panic!("{line:?}: {e}")).verb {
        Verb::Predict(args) => *args,
        other => panic!("{other:?}"),
    }
}

/// Returns what these flags of `predict` assume.
#[track_caller]
pub(crate) fn assumed(flags: impl IntoIterator<Item: AsRef<str>>) -> Result<Assumptions, Error> {
    let flags = flags.into_iter().map(|flag| flag.as_ref().to_owned());
    let words = iter::once("web".to_owned()).chain(flags);
    Assumptions::read(&typed(words).overrides)
}

/// Returns what `predict` prints about the HPA of an example, on both streams, and its exit code.
#[allow(dead_code, reason = "not every suite predicts")]
pub(crate) fn predict(name: &str, example: &str, flags: &[&str], stdin: &str) -> Ran {
    run(program()
        .args(["predict", name, "-f"])
        .arg(format!("{}/examples/{example}", env!("CARGO_MANIFEST_DIR")))
        .args(flags)
        .env("LC_ALL", "C.UTF-8")
        .write_stdin(stdin))
}

/// Returns the layout of a terminal with this many columns.
pub(crate) fn of_width(columns: usize) -> Layout {
    Layout {
        width: Some(columns),
        ..Layout::default()
    }
}

/// Returns how many random cases a property is tried on: so few that all of them take seconds, or `PROPTEST_CASES`.
pub(crate) fn cases(few: u32) -> u32 {
    let stated = std::env::var("PROPTEST_CASES").ok();
    stated.map_or(few, |count| count.parse().expect("a number of cases"))
}
