//! `predict`: what `explain` would say if something were otherwise.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;

use super::explain::{Pass, Source, bare_name, options};
use super::{Answer, Terminal};
use crate::args::{Output, Predict, Report};
use crate::error::Error;
use crate::render::github::annotations;
use crate::render::junit::junit;
use crate::render::markdown::markdown;
use crate::render::{page, structured};
use crate::report::page::Page;
use crate::report::prediction::Prediction;
use crate::snapshot::assemble::Options;
use crate::snapshot::file;
use crate::whatif::expect::Gate;
use crate::whatif::overrides::{Assumptions, Candidate};

/// Predicts what one HPA does; the text is for standard output.
pub fn run(args: &Predict, terminal: &Terminal) -> Result<Answer, Error> {
    let gate = Gate::new(&args.expect)?;
    let mut assumptions = Assumptions::read(&args.overrides)?;
    let name = bare_name(&args.name).to_owned();
    let mut options = Options { name, ..options(&args.controller, &args.connection) };
    if let Some(path) = &args.overrides.hpa {
        if path == "-" && args.filenames.iter().any(|file| file == "-") {
            return Err(Error::usage("standard input can be read once: -f - or --hpa -"));
        }
        let candidate =
            Candidate::find(&file::read(std::slice::from_ref(path))?, &options.name, path)?;
        options.also = candidate.metrics().to_vec();
        assumptions.replace_hpa(candidate);
    }
    let source =
        Source { filenames: &args.filenames, memory: &args.memory, connection: &args.connection };
    let (input, mut messages) = source.input(&options, terminal)?;
    let observed = Pass::run(input);
    let applied = assumptions.apply(observed.input.clone(), &observed.decision);
    let (input, overrides) = applied.map_err(|e| with_right(e, &observed.input.notes))?;
    let assumed = Pass::run(input);
    gate.check(&assumed.input.snapshot.hpa.spec)?;
    let (expectations, verdict) = gate.judge(&assumed.facts());
    let prediction =
        Prediction::new(assumed.explanation(), overrides, expectations, &observed.explanation());
    let text = match args.output {
        Some(Output::Json) => structured::json(&prediction)?,
        Some(Output::Yaml) => structured::yaml(&prediction)?,
        Some(Output::Markdown) => as_markdown(&prediction, terminal),
        wide => {
            let wide = wide == Some(Output::Wide);
            let page = Page::of_prediction(&prediction, wide, terminal.symbols());
            page::page(&page, &terminal.layout())
        }
    };
    let hpa = assumed.input.snapshot.hpa.key();
    for report in &args.expect.reports {
        match report {
            Report::Junit(path) => write_report(path, &junit(&hpa, &prediction.expectations))?,
            Report::Github => {
                // The runner obeys commands on either stream, and the answer is on the other.
                let annotations = annotations(&hpa, &prediction.expectations);
                messages.extend(annotations.lines().map(str::to_owned));
                if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") {
                    append(&path, &as_markdown(&prediction, terminal))?;
                }
            }
        }
    }
    Ok(Answer { text, messages, errors: Vec::new(), exit_code: verdict.exit_code() })
}

/// What cannot be assumed of what may not be read, with the right that is missing.
fn with_right(e: Error, notes: &[String]) -> Error {
    let right = notes.iter().find(|note| note.starts_with("missing right: "));
    match right.filter(|_| e.hint.is_none()) {
        Some(right) => e.hint(right),
        None => e,
    }
}

/// The page with its assumptions and expectations, for a comment or a summary.
fn as_markdown(prediction: &Prediction<'_>, terminal: &Terminal) -> String {
    let page = Page::of_prediction(prediction, false, terminal.symbols());
    markdown(&page, &prediction.overrides_table(), &prediction.expectations)
}

fn write_report(path: &str, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|e| Error::failed(format!("failed to write {path}: {e}")))
}

fn append(path: &OsStr, text: &str) -> Result<(), Error> {
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| {
        Error::failed(format!("failed to write the step summary {}: {e}", path.display()))
    })
}
