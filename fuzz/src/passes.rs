//! Whole passes: from a saved state through the engine to everything that can be printed about it.

use std::ops::ControlFlow;
use std::sync::Arc;

use clap::{Command, FromArgMatches};
use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::apimachinery::quantity::Quantity;
use kubectl_hpa::args::{Cli, Predict, Verb, command_line};
use kubectl_hpa::error::Error;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::github::annotations;
use kubectl_hpa::render::junit::junit;
use kubectl_hpa::render::layout::Layout;
use kubectl_hpa::render::markdown::markdown;
use kubectl_hpa::render::page::{page, rows};
use kubectl_hpa::render::structured;
use kubectl_hpa::render::svg::svg;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::expected::Judged;
use kubectl_hpa::report::list::{ExplanationList, SPARE, overview, row};
use kubectl_hpa::report::page::Page;
use kubectl_hpa::report::prediction::Prediction;
use kubectl_hpa::report::timeline::Played;
use kubectl_hpa::saved::assemble::{assemble, assemble_all};
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::saved::save;
use kubectl_hpa::snapshot::Listed;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::selection::Selection;
use kubectl_hpa::whatif::expect::{Gate, PassFacts, RunFacts};
use kubectl_hpa::whatif::kept::kept_targets;
use kubectl_hpa::whatif::overrides::{Assumptions, NamedMetric};
use kubectl_hpa::whatif::thresholds::thresholds;
use kubectl_hpa::whatif::timeline::{JoinTimes, Player, TimelineOptions, Trace};
use serde::Serialize;
use serde_json::Value;

use super::{as_text, assert_harmless, assert_told};

/// A state with any number of HPAs: each is explained in every form, with the same explanation after it
/// has been saved and read again.
pub fn snapshot(data: &[u8]) {
    let Some(inputs) = as_text(data).and_then(|text| read(text).ok()) else {
        return;
    };
    let mut passes = Vec::new();
    for listed in inputs {
        passes.push(listed.and_then(|input| {
            let pass = Pass::run(input);
            assert_worded(&pass);
            assert_saved(&pass);
            Ok(pass)
        }));
    }
    passes
        .iter()
        .filter_map(|listed| listed.result.as_ref().err())
        .for_each(assert_told);
    let explained = passes.iter().map(|listed| Listed {
        namespace: listed.namespace.clone(),
        name: listed.name.clone(),
        reference: listed.reference.clone(),
        result: listed
            .result
            .as_ref()
            .map(Explanation::new)
            .map_err(Clone::clone),
    });
    let list = Vec::from_iter(explained);
    assert_structured(&ExplanationList::new(list.iter()));
    let all = list.iter().filter_map(|listed| listed.result.as_ref().ok());
    all.for_each(assert_structured);
    for (layout, ..) in layouts() {
        let cells = list.iter().map(|listed| row(listed, true)).collect();
        assert_harmless(&rows(&overview(cells, true, true), &SPARE, &layout));
    }
}

/// The arguments of `predict web`, one per line, and after a line `---` the state: it is
/// predicted in every form, including what follows if requested.
pub fn predict(data: &[u8]) {
    let Some((typed, state)) = as_text(data).and_then(|text| text.split_once("\n---\n")) else {
        return;
    };
    let words = ["kubectl-hpa", "predict", "web"]
        .into_iter()
        .chain(typed.lines());
    let definition = DEFINITION.with(Command::clone);
    let Ok(matches) = definition.try_get_matches_from(words) else {
        return;
    };
    let Ok(Verb::Predict(args)) = Cli::from_arg_matches(&matches).map(|cli| cli.verb) else {
        return;
    };
    if let Err(e) = predicted(&args, state) {
        assert_told(&e);
    }
}

thread_local! {
    static DEFINITION: Command = command_line();
}

/// Predicts as the command does, except for its other input and output. The argument of `--trace` is
/// the table itself, with `;` as line separator.
fn predicted(args: &Predict, state: &str) -> Result<(), Error> {
    let gate = Gate::new(&args.expect)?;
    let curve = args
        .curve
        .as_ref()
        .map(|text| NamedMetric::read(text, "--curve"))
        .transpose()?;
    let assumptions = Assumptions::read(&args.overrides)?;
    let trace = args.timeline.trace.as_ref();
    let trace = trace.map(|text| Trace::read(text.replace(';', "\n").as_bytes(), "load.csv"));
    let trace = trace.transpose()?.map(Arc::new);
    let mut objects = Objects::default();
    read_text(state, "state.yaml", &mut objects)?;
    let options = Options {
        name: "web".to_owned(),
        now: args.controller.now,
        ..Options::default()
    };
    let observed = Pass::run(assemble(objects, &options, Timestamp::UNIX_EPOCH)?);
    let (mut input, mut overrides) =
        assumptions.apply(observed.input.clone(), &observed.decision)?;
    // Longer ones only take more time.
    let span = args.timeline.span.filter(|span| span.as_secs() < 1000);
    let player = if span.is_some() || trace.is_some() {
        let usual = JoinTimes::default();
        let times = JoinTimes {
            ready: args.timeline.ready_after.unwrap_or_default(),
            measured: args.timeline.metrics_after.unwrap_or(usual.measured),
        };
        let plan = TimelineOptions {
            span: span.or(Some(PLAYED)),
            trace,
            times,
            ..TimelineOptions::default()
        };
        let (now, begun) = (SignedDuration::ZERO, &mut input.snapshot);
        let player = Player::new(plan, now, &begun.clone(), begun, None, &mut overrides)?;
        Some(player)
    } else {
        None
    };
    let assumed = Pass::run(input);
    overrides
        .iter_mut()
        .for_each(|own| own.came_to(&assumed.input.snapshot, &assumed.decision));
    let Pass {
        input: Input { snapshot, .. },
        decision,
        ..
    } = &assumed;
    let timeline = match &player {
        Some(player) => player.play(snapshot, decision)?,
        None => None,
    };
    gate.check(&snapshot.hpa.spec)?;
    let mut facts = PassFacts::of(&assumed);
    if let Some(timeline) = &timeline {
        let run = RunFacts::new(&assumed, &timeline.totals);
        facts = facts.with_runs(run, run);
    }
    let (expectations, _) = gate.judge(&facts, []);
    let expectations = vec![Judged {
        candidate: None,
        manifest: None,
        expectations,
    }];
    let curve = curve.map(|wanted| wanted.place(snapshot)).transpose()?;
    let thresholds = thresholds(&assumed, curve);
    assert_reported(&snapshot.hpa.key(), &expectations);
    let mut prediction = Prediction::new(
        Explanation::new(&assumed),
        overrides,
        timeline.as_ref(),
        None,
        expectations,
        thresholds,
        &observed,
    );
    prediction.kept_targets = kept_targets(&observed, &assumed);
    assert_structured(&prediction);
    for (layout, wide) in layouts() {
        let shown = Page::of_prediction(&prediction, wide);
        assert_harmless(&page(&shown, &layout));
    }
    let drawn = Page::of_prediction(&prediction, false);
    assert_harmless(&markdown(&drawn));
    let played = prediction.timeline.as_ref().map(Played::chart);
    for chart in prediction.curve().into_iter().chain(played) {
        assert_xml(&svg(&chart));
    }
    Ok(())
}

const PLAYED: SignedDuration = SignedDuration::from_mins(5);

fn read(text: &str) -> Result<Vec<Listed<Input>>, Error> {
    let mut objects = Objects::default();
    read_text(text, "state.yaml", &mut objects)?;
    let (options, all) = (Options::default(), Selection::default());
    let mut inputs = Vec::new();
    let take = |listed| {
        inputs.push(listed);
        Ok(ControlFlow::Continue(()))
    };
    assemble_all(&objects, &options, None, &all, Timestamp::UNIX_EPOCH, take)?;
    Ok(inputs)
}

/// Asserts that a pass can be worded in every form.
pub(super) fn assert_worded(pass: &Pass) {
    let explanation = Explanation::new(pass);
    assert_structured(&explanation);
    for (layout, wide) in layouts() {
        assert_harmless(&page(&Page::new(&explanation, wide), &layout));
    }
    let shown = Page::new(&explanation, false);
    assert_harmless(&markdown(&shown));
    if let (Some(range), Some(replicas)) = (explanation.range, pass.decision.replicas_after()) {
        let inside = (range.min..=range.max).contains(&replicas);
        assert!(inside, "{replicas} is outside of {range:?}");
    }
}

/// Asserts that a pass is the same after it was saved and read, and is saved identically again.
fn assert_saved(pass: &Pass) {
    let saved = save::to_json(&[&pass.input], &[]).expect("one HPA is read once");
    if !is_sayable(&serde_json::from_str(&saved).expect("JSON")) {
        return;
    }
    let mut objects = Objects::default();
    let read = read_text(&saved, "saved.json", &mut objects).and_then(|()| {
        let hpa = &pass.input.snapshot.hpa;
        let (name, namespace) = (hpa.name.clone(), Some(hpa.namespace.clone()));
        let options = Options {
            name,
            namespace,
            ..Options::default()
        };
        assemble(objects, &options, Timestamp::UNIX_EPOCH)
    });
    let back = Pass::run(read.unwrap_or_else(|e| panic!("{e}: {saved}")));
    assert_same(&answer(&back), &answer(pass), &saved);
    let again = save::to_json(&[&back.input], &[]).expect("one HPA is read once");
    assert_eq!(again, saved, "saved twice");
}

/// Returns what it says about the controller, apart from how that was determined.
fn answer(pass: &Pass) -> Value {
    let mut object = serde_json::to_value(Explanation::new(pass)).expect("an explanation is JSON");
    let parts = ["hpa", "outcome", "proposal", "certainty", "range", "memory"];
    parts
        .iter()
        .map(|part| ((*part).to_owned(), object[*part].take()))
        .collect()
}

/// Whether each number of thousandths is read as it is. Upstream misreads negative ones with more than
/// 18 digits, for which there is then no text.
fn is_sayable(saved: &Value) -> bool {
    match saved {
        Value::Array(list) => list.iter().all(is_sayable),
        Value::Object(map) => map.values().all(is_sayable),
        Value::String(text) => {
            let milli = text
                .strip_suffix('m')
                .and_then(|digits| digits.parse::<i64>().ok());
            milli.is_none_or(|milli| {
                Quantity::parse(text).is_ok_and(|read| read.milli_value() == milli)
            })
        }
        _ => true,
    }
}

/// A wide layout, and a narrow one.
fn layouts() -> [(Layout, bool); 2] {
    let narrow = Layout {
        width: Some(20),
        ascii: true,
        ..Layout::default()
    };
    [(Layout::default(), false), (narrow, true)]
}

/// Asserts that JSON and YAML are valid and equal.
fn assert_structured<T: Serialize>(value: &T) {
    let json = structured::json(value).expect("it is JSON");
    assert_harmless(&json);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let yaml = structured::yaml(value).expect("it is YAML");
    assert_harmless(&yaml);
    let back: Value = serde_yaml::from_str(&yaml).unwrap_or_else(|e| panic!("{e}: {yaml}"));
    assert_same(&back, &json, &yaml);
}

/// Asserts that two values are equal; if not, shows the first difference.
#[track_caller]
fn assert_same(left: &Value, right: &Value, text: &str) {
    if let Some(difference) = difference("", left, right) {
        panic!("{difference}: {text}");
    }
}

fn difference(path: &str, left: &Value, right: &Value) -> Option<String> {
    match (left, right) {
        (Value::Object(one), Value::Object(two)) if one.keys().eq(two.keys()) => one
            .keys()
            .find_map(|key| difference(&format!("{path}.{key}"), &one[key], &two[key])),
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let mut pairs = one.iter().zip(two).enumerate();
            pairs.find_map(|(at, (one, two))| difference(&format!("{path}[{at}]"), one, two))
        }
        _ => (left != right).then(|| format!("{path} is {left}, and {right}")),
    }
}

fn assert_reported(hpa: &str, expectations: &[Judged]) {
    assert_xml(&junit(hpa, expectations));
    let annotations = annotations(hpa, expectations);
    assert_harmless(&annotations);
    assert!(
        annotations.lines().all(|line| line.starts_with("::error ")),
        "{annotations}"
    );
}

fn assert_xml(text: &str) {
    if let Err(e) = roxmltree::Document::parse(text) {
        panic!("{e}: {text}");
    }
}
