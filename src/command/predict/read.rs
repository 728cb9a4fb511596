//! Reads the flags and the files that they name into a checked scenario. Nothing is requested here.

use std::env::VarError;
use std::sync::Arc;

use super::Scenario;
use crate::args::{ExpectArgs, FailOn, NamedRequest, Predict, PredictOutput, Report, TimelineArgs};
use crate::backtest::{NamedSpec, Search};
use crate::command::fail_on::FindingsWatch;
use crate::command::load::{Query, table};
use crate::command::{JUNIT, SAVE, check_save, check_written, state};
use crate::error::Error;
use crate::saved::file;
use crate::saved::objects::Objects;
use crate::snapshot::load::Load;
use crate::whatif::expect::Gate;
use crate::whatif::overrides::{Assumptions, Candidate, NamedMetric};
use crate::whatif::timeline::{JoinTimes, TimelineOptions, Trace};

/// Reads the command line; the objects are those of `-f`, and `None` means a cluster.
pub(super) fn read(args: &Predict) -> Result<(Scenario<'_>, Option<Objects>), Error> {
    let (gate, watch) = expected(&args.expect)?;
    let curve = args
        .curve
        .as_ref()
        .map(|text| NamedMetric::read(text, "--curve"))
        .transpose()?;
    let inputs = inputs(args).filter(|(flag, path)| *flag != "--history " && *path == "-");
    if inputs.count() > 1 {
        return Err(Error::usage("standard input (-) can be read only once"));
    }
    let (load, saved) = load(args)?;
    let plays =
        args.timeline.span.is_some() || load.is_some() || args.prometheus.prometheus.is_some();
    check_output(args, &gate, plays)?;
    let mut assumptions = Assumptions::read(&args.overrides)?;
    if load.is_some() || args.prometheus.prometheus.is_some() || args.timeline.at.is_some() {
        // Otherwise the first pass is the same without a run.
        assumptions.flags.extend(args.run_flags());
    }
    let request = NamedRequest::read(&args.names, &args.connection)?;
    let mut options = state::options(
        (&args.controller, &args.memory),
        &request.connection,
        &args.filenames,
        request.one("predict")?,
    );
    options.validate = args.overrides.validate;
    let summary = check_files(args)?;
    let query = Query::read(&args.prometheus, args.recorded.flags(), &request.connection)?;
    let timeline = if plays {
        Some(timeline_options(&args.timeline, load.as_ref())?)
    } else {
        None
    };
    let mut scenario = Scenario {
        args,
        request,
        options,
        gate,
        watch,
        curve,
        assumptions,
        candidates: Vec::new(),
        search: None,
        load,
        timeline,
        query,
        summary,
    };
    scenario.read_others(plays)?;
    Ok((scenario, saved))
}

/// Reads the expectations.
fn expected(args: &ExpectArgs) -> Result<(Gate, FindingsWatch), Error> {
    let gate = Gate::new(args)?;
    let findings = findings(args).cloned().collect::<Vec<_>>();
    let watch = FindingsWatch::of_predict(&findings, &args.ignore)?;
    if !gate.has_expectations() && (!args.exit_code || !args.reports.is_empty()) {
        watch.check_something_remains()?;
    }
    if let Some(report) = args.reports.first()
        && !gate.has_expectations()
        && watch.fail_on.is_empty()
    {
        // An empty report would look like one in which everything holds.
        return Err(
            Error::usage(format!("--report {report} requires an expectation"))
                .hint("use --expect or --fail-on"),
        );
    }
    Ok((gate, watch))
}

/// The findings of `--fail-on`, as typed.
fn findings(args: &ExpectArgs) -> impl Iterator<Item = &String> {
    args.fail_on.iter().filter_map(|word| match word {
        FailOn::Finding(text) => Some(text),
        FailOn::Condition(_) => None,
    })
}

/// The files that are read, each with its flag.
fn inputs(args: &Predict) -> impl Iterator<Item = (&'static str, &String)> {
    let files = args.filenames.iter().map(|input| ("-f ", input));
    let manifests = args.overrides.hpa.iter().map(|input| ("--hpa ", input));
    let trace = args.timeline.trace.iter().map(|input| ("--trace ", input));
    let history = args
        .memory
        .history
        .iter()
        .map(|input| ("--history ", input));
    files.chain(manifests).chain(trace).chain(history)
}

/// Reads the saved objects, and the load from a table or otherwise from these objects.
fn load(args: &Predict) -> Result<(Option<Load>, Option<Objects>), Error> {
    if args.filenames.is_empty() {
        return Ok((table(&args.timeline)?, None));
    }
    let mut objects = file::read(&args.filenames)?;
    let saved = objects.load.take();
    // Flags take precedence over what was saved.
    Ok((table(&args.timeline)?.or(saved), Some(objects)))
}

/// Returns the length of the run, and its load.
pub(super) fn timeline_options(
    args: &TimelineArgs,
    load: Option<&Load>,
) -> Result<TimelineOptions, Error> {
    let trace = load.map(|load| Trace::of(load).map(Arc::new));
    let recorded = load
        .and_then(|load| load.metrics_after)
        .map(|after| after.0);
    let usual = JoinTimes::default();
    let times = JoinTimes {
        ready: args.ready_after.unwrap_or(usual.ready),
        measured: args.metrics_after.or(recorded).unwrap_or(usual.measured),
    };
    Ok(TimelineOptions {
        span: args.span,
        trace: trace.transpose()?,
        times,
        ..TimelineOptions::default()
    })
}

/// Rejects flags and expectations that need a run, if none is played, and a chart without content.
fn check_output(args: &Predict, gate: &Gate, plays: bool) -> Result<(), Error> {
    let is_data = matches!(args.output, Some(PredictOutput::Json | PredictOutput::Yaml));
    if args.timeline.passes && !is_data {
        return Err(Error::usage("--passes requires -o json or -o yaml"));
    }
    if !plays {
        check_not_played(gate, &args.timeline)?;
    }
    if args.output == Some(PredictOutput::Svg) && args.curve.is_some() == plays {
        let why = if args.curve.is_none() {
            "there is nothing to draw"
        } else {
            "use one of --curve and --for"
        };
        return Err(Error::usage(format!("-o svg: {why}")).hint(
            "--curve METRIC draws the replicas over the values of a metric, --for over time",
        ));
    }
    Ok(())
}

/// Rejects expectations and flags that apply only to a run.
pub(super) fn check_not_played(gate: &Gate, args: &TimelineArgs) -> Result<(), Error> {
    gate.check_without_run()?;
    let typed = [
        ("--vary", !args.vary.is_empty()),
        ("--at", args.at.is_some()),
        ("--ready-after", args.ready_after.is_some()),
        ("--metrics-after", args.metrics_after.is_some()),
        ("--passes", args.passes),
    ];
    match typed.iter().find(|(_, is_typed)| *is_typed) {
        Some((flag, _)) => Err(Error::usage(format!("{flag} applies only to a run")).hint(
            "a run needs --for, --trace, --prometheus, or a state that was saved with a load",
        )),
        None => Ok(()),
    }
}

/// Checks that no input file is overwritten. Returns the file for the summary of a job.
fn check_files(args: &Predict) -> Result<Option<String>, Error> {
    check_save(args.save.as_deref(), &args.connection, inputs(args))?;
    let mut others: Vec<_> = inputs(args).collect();
    others.extend(args.save.iter().map(|path| (SAVE, path)));
    for report in &args.expect.reports {
        if let Report::Junit(file) = report {
            check_written(JUNIT, file, "hpa.xml", &args.connection, others.clone())?;
            others.push((JUNIT, file));
        }
    }
    let summary = step_summary(&args.expect.reports)?;
    if let Some(file) = &summary {
        let flag = "GITHUB_STEP_SUMMARY=";
        check_written(flag, file, "summary.md", &args.connection, others)?;
    }
    Ok(summary)
}

/// Returns the file for the summary of a job, if a report writes one.
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

impl Scenario<'_> {
    /// Reads the manifests and the ranges. The metrics of the manifests are to be looked up as well.
    fn read_others(&mut self, plays: bool) -> Result<(), Error> {
        let Predict {
            overrides,
            timeline,
            ..
        } = self.args;
        if overrides.hpa.len() > 1 && !plays {
            return Err(Error::usage("several --hpa are compared only over time")
                .hint("use --for or --trace, or one --hpa"));
        }
        if overrides.hpa.len() > 1 && !timeline.vary.is_empty() {
            return Err(Error::usage("--vary takes at most one --hpa"));
        }
        let mut found = Vec::new();
        for path in &overrides.hpa {
            let objects = file::read_manifests(path)?;
            let how = overrides.validate;
            found.push(Candidate::find(&objects, &self.options, path, how)?);
        }
        let metrics = found.iter().flat_map(|it| it.asked.iter().cloned());
        self.options.also = metrics.collect();
        for candidate in &mut found {
            candidate.asked.clone_from(&self.options.also);
        }
        let mut manifests = found.into_iter();
        if timeline.vary.is_empty() {
            self.candidates = candidates(manifests, &self.assumptions);
        } else {
            let manifest = manifests.next();
            let every = self.assumptions.clone();
            let search = Search::new(&timeline.vary, every, manifest, timeline.at)?;
            self.search = Some(search);
        }
        self.check_others()?;
        if let Some(first) = self.candidates.first() {
            self.assumptions = first.assumptions.clone();
        }
        Ok(())
    }

    /// Rejects flags that do not apply to what is played.
    fn check_others(&self) -> Result<(), Error> {
        let expect = &self.args.expect;
        let finding = findings(expect)
            .next()
            .map(|code| format!("--fail-on {code}"));
        // Without a candidate, it is about the HPA as it is.
        let has_candidate = self.assumptions.has_candidate() || !self.args.overrides.hpa.is_empty();
        let change = || (expect.exit_code && has_candidate).then(|| "--exit-code".to_owned());
        if let (Some(_), Some(flag)) = (&self.search, finding.or_else(change)) {
            return Err(Error::usage(format!(
                "{flag} is about one candidate, and --vary tries several"
            ))
            .hint("leave out --vary, or judge every combination with --expect"));
        }
        if self.args.timeline.at.is_some() && !self.others().any(Assumptions::changes_pods) {
            return Err(Error::usage("--at requires pods that change")
                .hint("use --request, or --hpa with the manifest of the HPA's target"));
        }
        Ok(())
    }
}

/// Returns one spec for each manifest, with everything that is typed on top; without manifests, one spec
/// with what is typed.
fn candidates(manifests: impl Iterator<Item = Candidate>, typed: &Assumptions) -> Vec<NamedSpec> {
    let mut candidates = Vec::new();
    for manifest in manifests {
        let mut assumptions = typed.clone();
        let name = manifest.origin.clone();
        assumptions.replace_hpa(manifest);
        candidates.push(NamedSpec { name, assumptions });
    }
    if candidates.is_empty() && typed.has_candidate() {
        candidates.push(NamedSpec {
            name: "candidate".to_owned(),
            assumptions: typed.clone(),
        });
    }
    candidates
}
