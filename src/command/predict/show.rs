//! Shows the answer: as a report, as data or as a chart, with the requested files and annotations.

use super::play::NOT_PLAYED;
use super::{Baseline, Evaluation, Scenario, Simulation};
use crate::args::{PredictOutput, Report};
use crate::command::output_file::{append, replace};
use crate::command::state::unpredicted;
use crate::command::{Answer, Terminal, write_saved};
use crate::error::Error;
use crate::pass::Pass;
use crate::render::junit::junit;
use crate::render::markdown::markdown;
use crate::render::svg::svg;
use crate::render::{github, page, structured};
use crate::report::backtest::Compared;
use crate::report::chart::Chart;
use crate::report::page::Page;
use crate::report::prediction::Prediction;
use crate::saved::save::Saved;
use crate::whatif::kept::kept_targets;
use crate::whatif::overrides::Meant;
use crate::whatif::thresholds::{ThresholdValues, Thresholds, of_metric, thresholds};

/// Returns the answer with everything that was requested.
pub(super) fn show(
    scenario: &Scenario<'_>,
    baseline: &Baseline<'_>,
    simulation: &Simulation,
    evaluation: Evaluation<'_>,
    terminal: &Terminal,
) -> Result<Answer, Error> {
    let Simulation {
        begun,
        pass,
        overrides,
        timeline,
        backtest,
    } = simulation;
    let verdict = evaluation.verdict;
    let (thresholds, curve) = changes(scenario, pass)?;
    let compared = backtest
        .as_ref()
        .map(|own| Compared::new(own, evaluation.findings));
    let start = begun.as_ref().unwrap_or(&baseline.pass);
    let mut prediction = Prediction::new(
        evaluation.explanation,
        overrides.clone(),
        timeline.as_ref(),
        compared,
        evaluation.judged,
        thresholds,
        start,
    )
    .with_passes(scenario.args.timeline.passes);
    prediction.kept_targets = kept_targets(start, pass);
    let text = text(scenario, &prediction, curve.as_ref(), terminal)?;
    // The answer may have taken long, so it is printed whether or not it can be saved and reported.
    let unsaved = save(scenario, baseline)?;
    let (annotations, unreported) = report(
        scenario,
        &pass.input.snapshot.hpa.key(),
        &prediction,
        terminal,
    );
    let unanswered = unanswered(scenario, pass, curve.as_ref());
    let stopped = backtest
        .as_ref()
        .and_then(|own| own.search.as_ref()?.stopped);
    let exit_code = match &unanswered {
        Some(e) => e.kind.exit_code(),
        None => verdict.exit_code(),
    };
    let errors = unanswered
        .into_iter()
        .chain(unsaved)
        .chain(unreported)
        .chain(baseline.warned.clone());
    Ok(Answer {
        text,
        messages: baseline.messages.clone(),
        errors: errors.collect(),
        exit_code: stopped.unwrap_or(exit_code),
        annotations,
        written: None,
    })
}

/// Returns the values of each metric at which the answer changes, and the metric of `--curve`; a picture shows
/// the values of one metric alone.
fn changes(
    scenario: &Scenario<'_>,
    pass: &Pass,
) -> Result<(Vec<Thresholds>, Option<Meant>), Error> {
    let is_picture = scenario.args.output == Some(PredictOutput::Svg) && scenario.summary.is_none();
    let Some(wanted) = &scenario.curve else {
        let all = (!is_picture).then(|| thresholds(pass, None));
        return Ok((all.unwrap_or_default(), None));
    };
    let typed = scenario.args.curve.as_deref().unwrap_or_default();
    let meant = wanted.find(&pass.input.snapshot, None, &format!("--curve {typed}"))?;
    let (drawn, container) = (meant.places.first(), meant.container());
    let own = drawn.filter(|_| container.is_none()).copied();
    let all = (!is_picture).then(|| thresholds(pass, own));
    let mut changes = all.unwrap_or_default();
    if is_picture || container.is_some() {
        changes.extend(drawn.and_then(|place| of_metric(pass, *place, container, true)));
    }
    Ok((changes, Some(meant)))
}

/// Returns the answer in the requested format.
fn text(
    scenario: &Scenario<'_>,
    prediction: &Prediction<'_>,
    curve: Option<&Meant>,
    terminal: &Terminal,
) -> Result<String, Error> {
    match scenario.args.output {
        Some(PredictOutput::Json) => structured::json(prediction),
        Some(PredictOutput::Yaml) => structured::yaml(prediction),
        Some(PredictOutput::Markdown) => Ok(as_markdown(prediction, terminal)),
        Some(PredictOutput::Svg) => drawn(prediction, curve).map(|chart| svg(&chart)),
        output @ (None | Some(PredictOutput::Wide)) => {
            let is_wide = output == Some(PredictOutput::Wide);
            let page = Page::of_prediction(prediction, is_wide);
            Ok(page::page(&terminal.shown(page), &terminal.layout()))
        }
    }
}

/// Returns the requested chart: a curve, or otherwise a timeline.
fn drawn(prediction: &Prediction<'_>, curve: Option<&Meant>) -> Result<Chart, Error> {
    let Some(place) = curve.and_then(|own| own.places.first()) else {
        let chart = prediction.over_time();
        return chart.ok_or_else(|| Error::failed(NOT_PLAYED));
    };
    // A container comes after the metric of whole pods at its place.
    let drawn = prediction.thresholds.iter().rfind(|of| of.index == *place);
    let why = match drawn.map(|of| &of.found) {
        Some(ThresholdValues::Nothing { error }) => error,
        _ => "the pass ignores metrics",
    };
    let chart = prediction.curve();
    chart.ok_or_else(|| Error::failed(format!("no curve: {why}")))
}

/// Returns the page with its assumptions and expectations, for a comment or a summary.
fn as_markdown(prediction: &Prediction<'_>, terminal: &Terminal) -> String {
    markdown(&terminal.shown(Page::of_prediction(prediction, false)))
}

/// Saves the observed input. Returns the reason if it was not saved.
fn save(scenario: &Scenario<'_>, baseline: &Baseline<'_>) -> Result<Option<Error>, Error> {
    let Some(path) = &scenario.args.save else {
        return Ok(None);
    };
    let mut load = baseline.load.as_deref().cloned();
    if let Some(load) = &mut load {
        load.hpa = Some(baseline.pass.input.snapshot.hpa.key());
    }
    let inputs = [baseline.as_read.as_ref().unwrap_or(&baseline.pass.input)];
    let mut saved = Saved::of(&inputs, &scenario.options.also)?;
    saved.load = load.as_ref();
    Ok(write_saved(path, &saved).err())
}

/// Reports the expectations: returns the annotations, and the errors of reports that are not written.
fn report(
    scenario: &Scenario<'_>,
    hpa: &str,
    prediction: &Prediction<'_>,
    terminal: &Terminal,
) -> (String, Vec<Error>) {
    let (mut annotations, mut unwritten) = (String::new(), Vec::new());
    for report in &scenario.args.expect.reports {
        match report {
            Report::Junit(path) => {
                let xml = junit(hpa, &prediction.expectations);
                unwritten.extend(replace(path, |out| out.write_all(xml.as_bytes())).err());
            }
            Report::Github => {
                // The runner interprets commands on both streams, and the answer is on the other one.
                annotations += &github::annotations(hpa, &prediction.expectations);
                if let Some(path) = &scenario.summary {
                    unwritten.extend(append(path, &as_markdown(prediction, terminal)).err());
                }
            }
        }
    }
    (annotations, unwritten)
}

/// Returns the error that explains why there is no answer, unless the question is another one.
fn unanswered(scenario: &Scenario<'_>, pass: &Pass, curve: Option<&Meant>) -> Option<Error> {
    let mut unread = pass.decision.outcome.unread.iter();
    let is_curve = pass.input.snapshot.scale.is_ok()
        && curve.is_some_and(|own| unread.all(|it| own.places.contains(&it.index)));
    // Expectations also cover unknown results, which have separate exit codes.
    if scenario.is_gated() || is_curve {
        None
    } else {
        unpredicted(pass)
    }
}
