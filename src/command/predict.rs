//! `predict`: what the controller would decide under different conditions.

use std::env::VarError;

use super::fail_on::FindingsWatch;
use super::judge::judge;
use super::load::{Query, table};
use super::output_file::{append, replace};
use super::past::narrow;
use super::play::{Others, Runs, locate, timeline_options};
use super::state::{ask, options, pass, read_saved, unpredicted};
use super::{Answer, Terminal, check_save, check_written, connected, waited, write_saved};
use crate::args::{FailOn, MemoryArgs, Predict, PredictOutput, Report, Request, TimelineArgs};
use crate::backtest::{Plan, Search};
use crate::cluster::Session;
use crate::error::Error;
use crate::pass::Pass;
use crate::render::junit::junit;
use crate::render::markdown::markdown;
use crate::render::svg::svg;
use crate::render::{github, page, structured};
use crate::report::Explanation;
use crate::report::backtest::Compared;
use crate::report::chart::Chart;
use crate::report::notes::NOT_PLAYED;
use crate::report::page::Page;
use crate::report::prediction::Prediction;
use crate::saved::file;
use crate::saved::save::Saved;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::load::Load;
use crate::snapshot::note::Note;
use crate::whatif::expect::Gate;
use crate::whatif::kept::kept_targets;
use crate::whatif::overrides::{
    Assumptions, KnownValues, NamedMetric, add_hpas_of_keda, suppose_pods,
};
use crate::whatif::thresholds::{Found, of_container, thresholds};

/// Predicts what one HPA does; the text is for standard output.
pub fn run(args: &Predict, terminal: &Terminal) -> Result<Answer, Error> {
    let gate = Gate::new(&args.expect)?;
    let of_findings = args.expect.fail_on.iter().filter_map(|word| match word {
        FailOn::Finding(text) => Some(text.clone()),
        FailOn::Condition(_) => None,
    });
    let of_findings: Vec<String> = of_findings.collect();
    let watch = FindingsWatch::of_predict(&of_findings, &args.expect.ignore)?;
    let is_gated = !gate.is_empty() || !watch.fail_on.is_empty();
    if let Some(report) = args.expect.reports.first()
        && !gate.has_expectations()
        && watch.fail_on.is_empty()
    {
        // An empty report looks like one in which everything holds.
        return Err(
            Error::usage(format!("--report {report} requires an expectation"))
                .hint("use --expect or --fail-on"),
        );
    }
    let curve = args
        .curve
        .as_ref()
        .map(|text| NamedMetric::read(text, "--curve"))
        .transpose()?;
    let inputs = args
        .filenames
        .iter()
        .chain(&args.overrides.hpa)
        .chain(&args.timeline.trace);
    if inputs.filter(|path| *path == "-").count() > 1 {
        return Err(Error::usage("standard input (-) can be read only once"));
    }
    let mut objects = if args.filenames.is_empty() {
        None
    } else {
        Some(file::read(&args.filenames)?)
    };
    // Flags take precedence over what was saved.
    let mut load = objects.as_mut().and_then(|objects| objects.load.take());
    load = table(&args.timeline)?.or(load);
    let Predict {
        timeline: TimelineArgs { span, .. },
        prometheus,
        recorded,
        ..
    } = args;
    let mut plays = span.is_some() || load.is_some() || prometheus.prometheus.is_some();
    let is_data = matches!(args.output, Some(PredictOutput::Json | PredictOutput::Yaml));
    if args.timeline.passes && !is_data {
        return Err(Error::usage("--passes requires -o json or -o yaml"));
    }
    if !plays {
        gate.check_without_run()?;
        check_not_played(&args.timeline)?;
    }
    if args.output == Some(PredictOutput::Svg) && curve.is_some() == plays {
        let why = if curve.is_none() {
            "there is nothing to draw"
        } else {
            "use one of --curve and --for"
        };
        return Err(Error::usage(format!("-o svg: {why}")).hint(
            "--curve METRIC draws the replicas over the values of a metric, --for over time",
        ));
    }
    let mut assumptions = Assumptions::read(&args.overrides)?;
    let request = Request::read(&args.names, &args.connection)?;
    let named = request.one("predict")?;
    let mut options = options(
        &args.controller,
        &request.connection,
        &args.filenames,
        named,
    );
    options.validate = args.overrides.validate;
    let inputs = args.filenames.iter().map(|input| ("-f", input));
    let inputs = inputs.chain(args.overrides.hpa.iter().map(|input| ("--hpa", input)));
    let inputs = inputs.chain(args.timeline.trace.iter().map(|input| ("--trace", input)));
    let inputs = inputs.chain(args.memory.history.iter().map(|input| ("--history", input)));
    check_save(args.save.as_deref(), &args.connection, inputs.clone())?;
    let saved = args.save.iter().map(|path| ("--save", path));
    for report in &args.expect.reports {
        if let Report::Junit(file) = report {
            let others = inputs.clone().chain(saved.clone());
            check_written("--report junit=", file, "hpa.xml", &args.connection, others)?;
        }
    }
    let summary = step_summary(&args.expect.reports)?;
    if let Some(file) = &summary {
        let others = inputs.clone().chain(saved.clone());
        check_written(
            "GITHUB_STEP_SUMMARY=",
            file,
            "summary.md",
            &args.connection,
            others,
        )?;
    }
    let query = Query::read(prometheus, &recorded.typed(), &request.connection)?;
    let mut timeline = if plays {
        Some(timeline_options(&args.timeline, load.as_ref())?)
    } else {
        None
    };
    let Others {
        mut candidates,
        search,
    } = Others::read(args, &mut options, &assumptions, plays)?;
    if let (Some(_), Some(code)) = (&search, of_findings.first())
        && (assumptions.has_candidate() || !args.overrides.hpa.is_empty())
    {
        return Err(Error::usage(format!(
            "--fail-on {code} is about one candidate, and --vary tries several"
        ))
        .hint("leave out --vary, or judge every combination with --expect"));
    }
    if let Some(first) = candidates.first() {
        assumptions = first.assumptions.clone();
    }
    let searched = search.as_ref().map(Search::first).transpose()?;
    if args.timeline.at.is_some() {
        let mut all = candidates
            .iter()
            .map(|own| &own.assumptions)
            .chain(&searched);
        if !all.any(|own| own.with_running_template().is_some()) {
            return Err(Error::usage("--at requires pods that change")
                .hint("use --request, or --hpa with the manifest of the HPA's target"));
        }
    }
    let also = options.also.clone();
    let specs = candidates
        .iter()
        .map(|own| &own.assumptions)
        .chain(&searched);
    let manifests_of_candidates = specs.filter_map(Assumptions::candidate).collect();
    let mut manifests = None;
    let (answered, mut messages) = match objects {
        None => connected(&request.connection, async |session| {
            let assumed = Some(&assumptions);
            let pass = ask(session, &args.memory, &options, assumed, None, terminal)
                .await?
                .pass;
            asked(
                query.as_ref(),
                args,
                &assumptions,
                Some(session),
                pass,
                &also,
                terminal,
            )
            .await
        })?,
        Some(mut objects) => {
            let trace = timeline.as_ref().and_then(|own| own.trace.as_deref());
            let candidates = manifests_of_candidates;
            let values = KnownValues {
                also: &also,
                trace,
                is_asked: query.is_some(),
                candidates,
            };
            let of_keda = add_hpas_of_keda(&mut objects, &mut options)?;
            let mut input = read_saved(objects, &options)?;
            input.notes.extend(of_keda);
            let read = input.surroundings.lacks_pods.then(|| input.clone());
            suppose_pods(&mut input, &assumptions, &values)?;
            // What is assumed is not saved.
            manifests = read.filter(|_| input.surroundings.supposed.is_some());
            let pass = pass(input, &args.memory)?;
            let query = query.as_ref();
            (
                waited(asked(
                    query,
                    args,
                    &assumptions,
                    None,
                    pass,
                    &also,
                    terminal,
                ))?,
                Vec::new(),
            )
        }
    };
    let (mut observed, recorded) = answered;
    locate(&mut candidates, &observed.input.snapshot.hpa);
    let key = observed.input.snapshot.hpa.key();
    if load
        .as_ref()
        .and_then(|load| load.hpa.as_ref())
        .is_some_and(|of| *of != key)
    {
        return Err(Error::usage(format!(
            "the saved load is not of {key}, but of another HPA"
        ))
        .hint("use --trace or --prometheus"));
    }
    let manifest = candidates.first().and_then(|first| first.manifest.clone());
    match recorded {
        Recorded::Load(recorded, more) => {
            messages.extend(more);
            timeline = Some(timeline_options(&args.timeline, Some(&recorded))?);
            load = Some(*recorded);
        }
        Recorded::History(more) => {
            messages.extend(more);
            (timeline, load, plays) = (None, None, false);
            gate.check_without_run()?;
            check_not_played(&args.timeline)?;
        }
        Recorded::Nothing => {}
    }
    let of_load = load
        .iter()
        .flat_map(|load| load.notes.iter().cloned().map(Note::OfLoad));
    observed.input.notes.extend(of_load);
    let times_are_given = args.timeline.ready_after.is_some();
    let runs = match timeline {
        Some(timeline) => {
            let plan = Plan::new(timeline, observed.input.clone(), times_are_given)
                .with_rollout(args.timeline.at);
            let MemoryArgs {
                history,
                recommendations,
                observe,
            } = &args.memory;
            let is_stated = history.is_some() || !recommendations.is_empty() || observe.is_some();
            if plan.is_moved && is_stated {
                return Err(Error::usage(
                    "the load begins at another time than the state was read: its controller starts \
                     without a history",
                )
                .hint("leave out --history, --recommendation and --observe"));
            }
            Runs::play(
                plan,
                candidates,
                search.as_ref(),
                &gate,
                &assumptions,
                terminal,
            )
        }
        None => Runs::none(&observed, &assumptions),
    };
    let Runs {
        observed: moved,
        input,
        mut overrides,
        timeline,
        backtest,
    } = runs.map_err(|e| with_right(e, &observed.input.notes))?;
    let begun = moved.as_ref().unwrap_or(&observed);
    let mut assumed = Pass::run(input);
    overrides
        .iter_mut()
        .for_each(|own| own.came_to(&assumed.decision));
    if plays && timeline.is_none() {
        assumed.input.notes.push(Note::NotPlayed);
    }
    let reads_none = assumed.decision.metrics().next().is_none();
    let asks_for_values = !is_gated && curve.is_none() && unpredicted(&assumed).is_some();
    if timeline.is_some() || reads_none || asks_for_values {
        // The run has the values, the pass reads none, or an error asks for them.
        assumed
            .input
            .notes
            .retain(|note| !matches!(note, Note::NoValues(_)));
    }
    if timeline.is_some() && args.expect.exit_code {
        assumed.input.notes.push(Note::ExitCodeOfFirstPass);
    }
    gate.check(&assumed.input.snapshot.hpa.spec)?;
    for other in backtest
        .iter()
        .flat_map(|own| own.candidates.iter().skip(1))
    {
        gate.check(&other.run.input.snapshot.hpa.spec)
            .map_err(|e| Error {
                message: format!("{}: {}", other.run.name, e.message),
                ..e
            })?;
    }
    let first = backtest.as_ref().and_then(|own| own.candidates.first());
    let rolled_out = first.and_then(|own| own.run.rolled_out.as_deref());
    let explanation = watch.explain(&assumed, rolled_out);
    let (expectations, verdict) = judge(
        &gate,
        &watch,
        &assumed,
        &explanation,
        manifest,
        timeline.as_ref(),
        backtest.as_ref(),
    );
    let snapshot = &assumed.input.snapshot;
    let typed = args.curve.as_deref().unwrap_or_default();
    let curve = curve
        .map(|wanted| wanted.find(snapshot, &format!("--curve {typed}")))
        .transpose()?;
    let of_curve = curve
        .as_ref()
        .and_then(|meant| meant.places.first().copied());
    let container = curve.as_ref().and_then(|meant| meant.container.as_deref());
    let own = of_curve.zip(container);
    let own = own.and_then(|(place, container)| of_container(&assumed, place, container));
    let mut thresholds = thresholds(&assumed, of_curve.filter(|_| container.is_none()));
    let drawn_at = of_curve.map(|place| {
        if own.is_some() {
            thresholds.len()
        } else {
            place
        }
    });
    thresholds.extend(own);
    let compared = backtest.as_ref().map(|own| {
        let others = own.candidates.iter().skip(1).map(|other| {
            let pass = Pass::run(other.run.input.clone());
            watch
                .explain(&pass, other.run.rolled_out.as_deref())
                .findings
        });
        let first = explanation.findings.clone();
        Compared::new(own, std::iter::once(first).chain(others).collect())
    });
    let prediction = Prediction::new(
        explanation,
        overrides,
        timeline.as_ref(),
        compared,
        expectations,
        thresholds,
        &Explanation::new(begun),
    )
    .with_kept_targets(kept_targets(begun, &assumed))
    .with_passes(args.timeline.passes);
    let text = match args.output {
        Some(PredictOutput::Json) => structured::json(&prediction)?,
        Some(PredictOutput::Yaml) => structured::yaml(&prediction)?,
        Some(PredictOutput::Markdown) => as_markdown(&prediction, terminal),
        Some(PredictOutput::Svg) => svg(&drawn(&prediction, drawn_at)?),
        wide => {
            let wide = wide == Some(PredictOutput::Wide);
            let page = Page::of_prediction(&prediction, wide, terminal.symbols());
            page::page(&page, &terminal.layout())
        }
    };
    if let Some(load) = &mut load {
        load.hpa = Some(key);
    }
    // The answer may have taken long, so it is printed whether or not it can be saved and reported.
    let mut unwritten = Vec::new();
    if let Some(path) = &args.save {
        let input = manifests.as_ref().unwrap_or(&observed.input);
        let inputs = [input];
        let saved = Saved::of(&inputs, &options.also)?.with_load(load.as_ref());
        unwritten.extend(write_saved(path, &saved).err());
    }
    let hpa = assumed.input.snapshot.hpa.key();
    let mut annotations = String::new();
    for report in &args.expect.reports {
        match report {
            Report::Junit(path) => {
                let xml = junit(&hpa, &prediction.expectations);
                unwritten.extend(replace(path, |out| out.write_all(xml.as_bytes())).err());
            }
            Report::Github => {
                // The runner interprets commands on both streams, and the answer is on the other one.
                annotations += &github::annotations(&hpa, &prediction.expectations);
                if let Some(path) = &summary {
                    unwritten.extend(append(path, &as_markdown(&prediction, terminal)).err());
                }
            }
        }
    }
    // Expectations also cover what is unknown, which has exit codes of its own.
    let mut unread = assumed.decision.outcome.unread.iter();
    let is_curve = assumed.input.snapshot.scale.is_ok()
        && curve.is_some_and(|meant| unread.all(|own| meant.places.contains(&own.index)));
    let unanswered = if is_gated || is_curve {
        None
    } else {
        unpredicted(&assumed)
    };
    let stopped = backtest
        .as_ref()
        .and_then(|own| own.search.as_ref()?.stopped);
    let exit_code = unanswered
        .as_ref()
        .map_or(verdict.exit_code(), |e| e.kind.exit_code());
    let exit_code = stopped.unwrap_or(exit_code);
    Ok(Answer {
        text,
        messages,
        errors: unanswered.into_iter().chain(unwritten).collect(),
        exit_code,
        annotations,
        written: None,
    })
}

/// What Prometheus was asked for.
enum Recorded {
    /// Nothing.
    Nothing,
    /// A load, with messages.
    Load(Box<Load>, Vec<String>),
    /// The history before now, in the pass; with messages.
    History(Vec<String>),
}

/// Asks Prometheus for a load, or, if a value is assumed for every metric and no run is asked for, so that there is
/// nothing to play, for the history before now.
async fn asked(
    query: Option<&Query<'_>>,
    args: &Predict,
    assumptions: &Assumptions,
    session: Option<&Session>,
    pass: Pass,
    also: &[MetricSpec],
    terminal: &Terminal,
) -> Result<(Pass, Recorded), Error> {
    let Some(query) = query else {
        return Ok((pass, Recorded::Nothing));
    };
    if !wants_run(args) && assumptions.fixes_all_metrics(&pass.input.snapshot) {
        let (pass, messages) = narrow(query, session, pass, terminal).await?;
        return Ok((pass, Recorded::History(messages)));
    }
    let (load, messages) = query
        .load(&args.recorded, session, &pass.input, also, terminal)
        .await?;
    Ok((pass, Recorded::Load(Box::new(load), messages)))
}

/// Whether a flag asks for more than the next pass.
fn wants_run(args: &Predict) -> bool {
    let TimelineArgs { span, vary, .. } = &args.timeline;
    let is_recorded = args.recorded.typed().iter().any(|(_, is_typed)| *is_typed);
    span.is_some() || is_recorded || !vary.is_empty() || !args.overrides.hpa.is_empty()
}

/// The file for the summary of a job, if a report writes one.
fn step_summary(reports: &[Report]) -> Result<Option<String>, Error> {
    const VARIABLE: &str = "GITHUB_STEP_SUMMARY";
    if !reports.contains(&Report::Github) {
        return Ok(None);
    }
    match std::env::var(VARIABLE) {
        Ok(path) => Ok(Some(path).filter(|path| !path.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Error::usage(format!(
            "{VARIABLE} is not a name of a file in UTF-8"
        ))),
    }
}

/// Rejects flags that apply only to a run.
fn check_not_played(args: &TimelineArgs) -> Result<(), Error> {
    let TimelineArgs {
        vary,
        at,
        ready_after,
        metrics_after,
        passes,
        ..
    } = args;
    let typed = [
        ("--vary", !vary.is_empty()),
        ("--at", at.is_some()),
        ("--ready-after", ready_after.is_some()),
        ("--metrics-after", metrics_after.is_some()),
        ("--passes", *passes),
    ];
    match typed.iter().find(|(_, is_typed)| *is_typed) {
        Some((flag, _)) => Err(Error::usage(format!("{flag} applies only to a run")).hint(
            "a run needs --for, --trace, --prometheus, or a state that was saved with a load",
        )),
        None => Ok(()),
    }
}

/// The error for an assumption about something that may not be read, with the missing permission.
fn with_right(e: Error, notes: &[Note]) -> Error {
    match notes
        .iter()
        .find_map(Note::missing_right)
        .filter(|_| e.hint.is_none())
    {
        Some(right) => e.hint(right.advice()),
        None => e,
    }
}

/// The chart that was asked for: a curve, or else a timeline.
fn drawn(prediction: &Prediction<'_>, metric: Option<usize>) -> Result<Chart, Error> {
    let Some(metric) = metric else {
        return prediction
            .over_time()
            .ok_or_else(|| Error::failed(NOT_PLAYED));
    };
    let why = || {
        let of = prediction.thresholds.get(metric);
        let why = match of.map(|of| &of.found) {
            Some(Found::Nothing { error }) => error,
            _ => "the pass ignores metrics",
        };
        Error::failed(format!("no curve: {why}"))
    };
    prediction.curve().ok_or_else(why)
}

/// The page with its assumptions and expectations, for a comment or a summary.
fn as_markdown(prediction: &Prediction<'_>, terminal: &Terminal) -> String {
    markdown(&Page::of_prediction(prediction, false, terminal.symbols()))
}
