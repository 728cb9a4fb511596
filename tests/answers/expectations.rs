//! Expectations checked against the answers of the Kubernetes controller itself, and the three reports on
//! them as they are read: Markdown, JUnit and GitHub's annotations, for everyday inputs and hostile
//! ones.

use crate::common::{self, build};
use crate::told;

use comrak::Arena;
use comrak::nodes::NodeValue;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::args::{ExpectArgs, ExpectShorthand, FailOn, Overrides};
use kubectl_hpa::backtest::{ManifestPlace, Plan};
use kubectl_hpa::findings::Severity;
use kubectl_hpa::memory::Remembered;
use kubectl_hpa::pass::{Doubts, Pass};
use kubectl_hpa::render::github::annotations;
use kubectl_hpa::render::junit::junit;
use kubectl_hpa::render::markdown::markdown;
use kubectl_hpa::render::style::clean;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::expected::Judged;
use kubectl_hpa::report::page::Page;
use kubectl_hpa::report::prediction::Prediction;
use kubectl_hpa::report::section::Tone;
use kubectl_hpa::report::section::{Detail, Part, Remark, Section, StepLine, Table};
use kubectl_hpa::saved::assemble::assemble;
use kubectl_hpa::saved::file;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::past::Bounds;
use kubectl_hpa::version::FeatureGate;
use kubectl_hpa::whatif::expect::{
    self, Expectation, ExpectationVerdict, Expression, Fact, Field, Gate, MetricField, PassFacts,
    RunFacts, Truth,
};
use kubectl_hpa::whatif::overrides::Assumptions;
use kubectl_hpa::whatif::thresholds::thresholds;
use kubectl_hpa::whatif::timeline::{Point, Timeline, TimelineOptions, Trace};
use proptest::prelude::*;
use serde_json::{Value, json};

fn files(files: &[&str]) -> Input {
    let root = env!("CARGO_MANIFEST_DIR");
    let files: Vec<String> = files.iter().map(|file| format!("{root}/{file}")).collect();
    let options = Options {
        name: "nginx-deployment".to_owned(),
        ..Options::default()
    };
    let clock: Timestamp = "2026-11-21T07:06:59Z".parse().expect("a time");
    assemble(file::read(&files).expect("files"), &options, clock).expect("an input")
}

/// Returns 2 replicas that should become 258.
fn growing() -> Input {
    files(&["examples/nginx"])
}

/// Returns 8 replicas without load, and a controller with unknown history.
fn open() -> Input {
    files(&[
        "examples/nginx/after-30s/hpa.yaml",
        "examples/nginx/after-30s/pods.yaml",
    ])
}

fn with_facts<T>(input: &Input, of: impl FnOnce(&PassFacts<'_>, &Explanation<'_>) -> T) -> T {
    let pass = Pass::run(input.clone());
    of(&PassFacts::of(&pass), &Explanation::new(&pass))
}

fn judge(input: &Input, args: &ExpectArgs) -> (Vec<Expectation>, ExpectationVerdict) {
    let gate = Gate::new(args).expect("expressions");
    gate.check(&input.snapshot.hpa.spec)
        .expect("metrics that there are");
    with_facts(input, |facts, _| gate.judge(facts, []))
}

fn expect(expressions: &[&str], fail_on: &[ExpectShorthand]) -> ExpectArgs {
    ExpectArgs {
        expect: expressions.iter().map(|&text| text.to_owned()).collect(),
        fail_on: fail_on.iter().copied().map(FailOn::Condition).collect(),
        ..ExpectArgs::default()
    }
}

/// The record of the replicas that a past pass left bounds these, but does not show what its steps changed.
#[test]
fn the_record_of_a_past_pass_leaves_its_steps_certain() {
    let mut input = growing();
    let past = json!({
        "source": "http://p",
        "queries": [],
        "read": input.snapshot.now,
        "replicas": {"atLeast": 2, "atMost": 2},
        "proposal": {"atLeast": 200, "atMost": 260},
        "outcome": {"atLeast": 4, "atMost": 4},
        "passes": [],
        "rescales": [],
    });
    input.evidence.past = Some(serde_json::from_value(past).expect("a past"));
    let (found, _) = judge(&input, &expect(&["limited", "not stabilized"], &[]));
    let truths: Vec<Truth> = found.iter().map(|it| it.truth).collect();
    assert_eq!(truths, [Truth::True; 2]);
}

/// Another history would not belong to the pass, which is over.
#[test]
fn no_flag_resolves_the_history_of_a_past_pass() {
    for (past, has_hint) in [(false, true), (true, false)] {
        let mut input = open();
        let record = json!({
            "source": "http://p",
            "queries": [],
            "read": input.snapshot.now,
            "replicas": {"atLeast": 8, "atMost": 8},
            "passes": [],
            "rescales": [],
        });
        let record = serde_json::from_value(record).expect("a past");
        input.evidence.past = Some(record).filter(|_| past);
        let (found, _) = judge(&input, &expect(&["desired < 8"], &[]));
        let hints = found.iter().map(|it| (it.truth, it.hint.is_some()));
        assert_eq!(hints.collect::<Vec<_>>(), [(Truth::Unknown, has_hint)]);
    }
}

#[test]
fn facts_are_those_of_the_controller() {
    let (mut limited, mut stabilized, mut failed, mut values) = (0, 0, 0, 0);
    for (case, told) in told::recorded() {
        let (facts, explanation) = (PassFacts::of(told.pass), &told.explanation);
        let input = &told.pass.input;
        let get = |text: &str| {
            let expression = Expression::parse(text).expect("an expression");
            facts.get(&expression.fields[0].1)
        };
        let (name, expected) = (&case.name, &case.expected);
        let current = input
            .snapshot
            .scale
            .as_ref()
            .ok()
            .map(|scale| scale.spec_replicas);
        if let Fact::Count { min, max } = get("desired > 0") {
            let to = expected["scaleTo"].as_i64().or(current.map(i64::from));
            assert_eq!((Some(min), Some(max)), (to, to), "{name}");
        } else {
            assert_eq!(expected["scaleTo"], Value::Null, "{name}");
            failed += 1;
        }
        let warnings = expected["events"].as_array().map_or(0, |events| {
            events
                .iter()
                .filter(|event| event["type"] == "Warning")
                .count()
        });
        assert_eq!(
            get("warnings > 0").to_string(),
            warnings.to_string(),
            "{name}"
        );
        let condition = |type_: &str| {
            let list = expected["status"]["conditions"].as_array();
            list.and_then(|list| list.iter().find(|c| c["type"] == type_))
                .cloned()
        };
        match get("limited") {
            Fact::Flag(flag) if explanation.proposal.is_some() => {
                let condition = condition("ScalingLimited").expect("the condition");
                assert_eq!(condition["status"] == "True", flag, "{name}");
                limited += usize::from(flag);
            }
            // Without a proposal, the controller leaves the condition unchanged.
            Fact::Flag(flag) => assert!(!flag, "{name}"),
            other => assert!(explanation.proposal.is_none(), "{name}: {other}"),
        }
        // A rescale replaces this reason with its own.
        if explanation.proposal.is_some() && expected["scaleTo"].is_null() {
            let condition = condition("AbleToScale").expect("the condition");
            let reason = condition["reason"].as_str().expect("a reason");
            if reason != "FailedUpdateScale" {
                let is = reason.ends_with("Stabilized");
                assert_eq!(get("stabilized"), Fact::Flag(is), "{name}");
                stabilized += usize::from(is);
            }
        }
        let statuses = expected["status"]["currentMetrics"].as_array();
        for (metric, status) in input
            .snapshot
            .hpa
            .spec
            .metrics
            .iter()
            .zip(statuses.into_iter().flatten())
        {
            let same = input.snapshot.hpa.spec.metrics.iter();
            if metric.type_ != "Resource"
                || status["type"] == ""
                || same.filter(|other| other.name() == metric.name()).count() > 1
            {
                continue;
            }
            let shown = &status["resource"]["current"]["averageUtilization"];
            let got = get(&format!("metric.{}.utilization > 0", metric.name()));
            if explanation.proposal.is_some() && !shown.is_null() {
                assert_eq!(got.to_string(), shown.to_string(), "{name}");
                values += 1;
            }
        }
    }
    let seen = [limited, stabilized, failed, values];
    assert!(
        seen.iter().all(|seen| *seen > 5),
        "too few to prove anything: {seen:?}"
    );
}

#[test]
fn each_expectation_is_true_false_or_unknown() {
    use ExpectShorthand::{
        Change, Limited, Maxed, MetricsMissing, ScaleDown, ScaleUp, Stale, Warnings,
    };
    let all = [
        ScaleDown,
        ScaleUp,
        Change,
        Limited,
        Maxed,
        MetricsMissing,
        Stale,
        Warnings,
    ];
    let truths = |input: &Input, args: &ExpectArgs| {
        let (expectations, verdict) = judge(input, args);
        let lines = expectations.iter().map(|one| {
            format!(
                "{:7} {}: {}\n",
                one.truth.as_str(),
                one.name(),
                one.because()
            )
        });
        lines.collect::<String>() + &format!("exit code {}", verdict.exit_code())
    };
    insta::assert_snapshot!(truths(&growing(), &expect(&["desired <= 4 and recommended > 100", "metric.cpu.utilization < 80%", "metric.cpu.averageValue == 515m", "metric.cpu.value < 1"], &all)), @r#"
true    desired <= 4 and recommended > 100: desired is 4, recommended is 258
false   metric.cpu.utilization < 80%: metric.cpu.utilization is 2575
true    metric.cpu.averageValue == 515m: metric.cpu.averageValue is 515m
unknown metric.cpu.value < 1: metric.cpu.value is unknown (the controller does not compute it)
true    delta >= 0 (--fail-on scale-down): delta is 2
false   delta <= 0 (--fail-on scale-up): delta is 2
false   delta == 0 (--fail-on change): delta is 2
false   not limited (--fail-on limited): limited is true
true    desired < max (--fail-on maxed): desired is 4, max is 10
true    failed == 0 and missing == 0 (--fail-on metrics-missing): failed is 0, missing is 0
true    not stale (--fail-on stale): stale is false
true    warnings == 0 (--fail-on warnings): warnings is 0
exit code 3
"#);
    insta::assert_snapshot!(truths(&open(), &expect(&["desired <= 10", "desired <= 8 or desired > 8", "not stabilized"], &all)), @r#"
true    desired <= 10: desired is anywhere from 2 to 10
unknown desired <= 8 or desired > 8: desired is anywhere from 2 to 10; use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
unknown not stabilized: stabilized is unknown (it depends on the controller's history); use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
unknown delta >= 0 (--fail-on scale-down): delta is anywhere from -6 to 2; use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
unknown delta <= 0 (--fail-on scale-up): delta is anywhere from -6 to 2; use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
unknown delta == 0 (--fail-on change): delta is anywhere from -6 to 2; use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
unknown not limited (--fail-on limited): limited is unknown (it depends on the controller's history); use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
unknown desired < max (--fail-on maxed): desired is anywhere from 2 to 10, max is 10; use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
true    failed == 0 and missing == 0 (--fail-on metrics-missing): failed is 0, missing is 0
true    not stale (--fail-on stale): stale is false
true    warnings == 0 (--fail-on warnings): warnings is 0
exit code 4
"#);
}

/// A load that rises and falls again.
const LOAD: &str = "time,cpu\n0,20%\n2m,120%\n4m,0%\n15m,0%\n";

/// Runs a load, or ten minutes of the current one; then as in [`judge`].
fn run_of(
    input: &Input,
    load: Option<&str>,
    args: &ExpectArgs,
) -> (Timeline, Vec<Expectation>, ExpectationVerdict) {
    let trace = load.map(|text| Trace::read(text.as_bytes(), "load.csv").expect("a trace"));
    let options = TimelineOptions {
        span: load.is_none().then_some(SignedDuration::from_mins(10)),
        trace: trace.map(Arc::new),
        ..TimelineOptions::default()
    };
    let plan = Plan::new(options, input.clone(), true);
    let assumptions = Assumptions::read(&Overrides::default()).expect("no overrides");
    let mut prepared = plan.prepare(&assumptions).expect("a run");
    let timeline = prepared.play().expect("few pods").expect("a scale");
    let pass = Pass::run(prepared.into_parts().0);
    let run = RunFacts::new(&pass, &timeline.totals);
    let gate = Gate::new(args).expect("expressions");
    let facts = PassFacts::of(&pass).with_runs(run, run);
    let (expectations, verdict) = gate.judge(&facts, []);
    let least = expectations.iter().map(|one| one.truth).min();
    assert_eq!(Some(gate.truth(&facts)), least, "a search sees the same");
    (timeline, expectations, verdict)
}

#[test]
fn fields_of_a_run_are_counted_from_its_passes() {
    let fields: Vec<String> = expect::run_fields()
        .map(|field| field.to_string())
        .collect();
    let compared = |field: &String| match &**field {
        "run.settled" | "replay.settled" => field.clone(),
        _ => format!("{field} / {field} == 1"),
    };
    let expressions: Vec<String> = fields.iter().map(compared).collect();
    let expressions: Vec<&str> = expressions.iter().map(String::as_str).collect();
    let (timeline, expectations, _) = run_of(&growing(), Some(LOAD), &expect(&expressions, &[]));
    // The load ends after 15 minutes, or 60 passes.
    let passes = &timeline.passes[..60];
    let replicas = || passes.iter().map(|pass| pass.replicas);
    let total: i32 = replicas().sum();
    let short = |pass: &&Point| pass.proposal.is_some_and(|it| it > pass.ready as i32);
    let stretches = passes.split(|pass| !short(&pass));
    let longest = stretches
        .clone()
        .max_by_key(|stretch| stretch.len())
        .expect("a stretch");
    let before = longest.as_ptr_range().start as usize - passes.as_ptr_range().start as usize;
    let before = before / size_of::<Point>();
    let changes = std::iter::once(2)
        .chain(replicas())
        .zip(replicas())
        .enumerate();
    let changes = changes.filter(|(_, (before, after))| before != after);
    let rises: Vec<(usize, bool)> = changes.map(|(place, (a, b))| (place, b > a)).collect();
    let mut reversals = rises.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let seconds = |passes: usize| passes as f64 * 15.0;
    let lowest = replicas().min().expect("a pass");
    let highest = replicas().max().expect("a pass");
    let expected = [
        json!(f64::from(total) * 15.0 / 3600.0),
        json!(f64::from(total) / 60.0),
        json!(lowest),
        json!(highest),
        json!(seconds(replicas().filter(|it| *it == 10).count())),
        json!(seconds(passes.iter().filter(short).count())),
        json!(seconds(longest.len())),
        json!(rises.len()),
        json!(reversals.clone().count()),
        json!(seconds(0)),
        json!(timeline.passes.last().map(|pass| pass.replicas)),
        json!(true),
    ];
    assert!(
        longest.len() > 1 && highest > 4 && reversals.clone().count() > 0,
        "nothing happens"
    );
    let reversal = reversals.next().map(|pair| pair[1].0);
    let first = |of: i32| replicas().position(|it| it == of);
    let time = |pass: usize| {
        let time = timeline.start + SignedDuration::from_secs(15) * i32::try_from(pass).unwrap();
        time.strftime("%FT%TZ").to_string()
    };
    for (place, (field, own)) in fields.iter().zip(&expectations).enumerate() {
        let value = serde_json::to_value(&own.values[0]).expect("JSON");
        assert_eq!(value["field"], **field);
        assert_eq!(value["value"], expected[place % 12], "{field}");
        let moment = match place % 12 {
            2 => first(lowest),
            3 => first(highest),
            4 => first(10),
            5 | 6 => Some(before),
            7 => timeline.changes.first().map(|change| {
                let after = change.time.duration_since(timeline.start).as_secs() / 15;
                usize::try_from(after).unwrap()
            }),
            8 => reversal,
            _ => None,
        };
        assert_eq!(value["moment"], json!(moment.map(time)), "{field}");
        let truth = if value["value"] == 0.0 {
            Truth::Unknown
        } else {
            Truth::True
        };
        assert_eq!(own.truth, truth, "{}", own.because());
    }
    let expressions = [
        "run.highest < 5",
        "1h / run.unanswered > 2",
        "run.short * 10m < 1s",
        "run.longestShort < 15s",
        "run.lowest + run.reversals < 2",
    ];
    let args = expect(&expressions, &[ExpectShorthand::RunMaxed]);
    let (_, expectations, _) = run_of(&growing(), Some(LOAD), &args);
    let lines: Vec<String> = expectations.iter().map(Expectation::because).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
run.highest is 10 at 2026-11-21T07:08:59Z
run.unanswered is 0s; the divisor is 0, or may be
run.short is 1m15s (longest from 2026-11-21T07:09:44Z on)
run.longestShort is 45s from 2026-11-21T07:09:44Z on
run.lowest is 2 at 2026-11-21T07:06:29Z, run.reversals is 1 (first at 2026-11-21T07:15:14Z)
run.atMax is 6m15s (first at 2026-11-21T07:08:59Z)
"#);
    let lines: Vec<String> = expectations.iter().map(Expectation::in_short).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
10 at 2026-11-21T07:08:59Z
run.unanswered is 0s; the divisor is 0, or may be
run.short is 1m15s (longest from 2026-11-21T07:09:44Z on)
45s from 2026-11-21T07:09:44Z on
run.lowest is 2 at 2026-11-21T07:06:29Z, run.reversals is 1 (first at 2026-11-21T07:15:14Z)
6m15s (first at 2026-11-21T07:08:59Z)
"#);
}

#[test]
fn a_run_that_could_be_another_is_unknown() {
    let of = |input: &Input, text: &str| {
        let (_, mut expectations, verdict) = run_of(input, None, &expect(&[text], &[]));
        let one = expectations.remove(0);
        (one.truth, one.because(), verdict.exit_code())
    };
    let (truth, because, code) = of(&open(), "run.highest <= 10000 and not replay.settled");
    assert_eq!((truth, code), (Truth::Unknown, 4));
    assert_eq!(
        because
            .matches("it depends on the controller's history")
            .count(),
        2,
        "{because}"
    );
    assert!(because.ends_with("to resolve this"), "{because}");
    let unmeasured = files(&["examples/nginx/hpa.yaml", "examples/nginx/state.yaml"]);
    let (truth, because, _) = of(&unmeasured, "run.mean > 0");
    assert_eq!(truth, Truth::Unknown, "{because}");
    // At 0 replicas the pass does not depend on anything unknown.
    let any = Some(Bounds::UNKNOWN);
    let mut asleep = open();
    let (known, unknown) = (
        Doubts::default(),
        Doubts {
            history: true,
            ..Doubts::default()
        },
    );
    let pass = Pass::run(asleep.clone());
    assert_eq!(pass.doubts(2, any), unknown);
    // Without proposals, nothing is held back.
    assert_eq!(pass.doubts(2, None), known);
    if let Ok(scale) = &mut asleep.snapshot.scale {
        scale.spec_replicas = 0;
    }
    let pass = Pass::run(asleep);
    assert_eq!(pass.doubts(0, any), known);
    // Someone else may wake the target, as a record tells.
    assert_eq!(pass.doubts(2, any), unknown);
    // What may be remembered counts if a proposal does not reach it, or may not.
    let metrics = [
        build::external("queue", &build::average("2")),
        build::external("other", &build::average("2")),
    ];
    let (high, falls) = (
        "time,queue\n0,20\n10m,20\n",
        "time,queue\n0,20\n5m,2\n10m,2\n",
    );
    for (metrics, load, expected, why) in [
        (&metrics[..1], high, Truth::True, "10 at"),
        (&metrics[..1], falls, Truth::Unknown, "history"),
        (&metrics, high, Truth::Unknown, "metrics that are not known"),
    ] {
        let spec = json!({"maxReplicas": 10, "metrics": metrics});
        let denied = json!({"api": "external", "metric": "other", "message": "no", "denied": true});
        let seen = json!({"metric": {"name": "queue"}, "current": {"averageValue": "2"}});
        let status = json!({"currentReplicas": 4, "desiredReplicas": 4,
            "currentMetrics": [{"type": "External", "external": seen}],
            "conditions": [
                {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"},
                {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
                {"type": "ScalingLimited", "status": "False", "reason": "DesiredWithinRange"}]});
        let items = [
            build::with(build::hpa(&spec), &json!({"status": status})),
            build::scale(4),
            build::state(&json!({"errors": [denied]})),
            build::pod("web-0"),
            build::queue(&["8"]),
        ];
        let mut input = common::read(&build::list(items)).expect("an input");
        input.stated_memory = None;
        let (_, expectations, _) = run_of(&input, Some(load), &expect(&["run.highest > 0"], &[]));
        let (found, because) = (expectations[0].truth, expectations[0].because());
        assert_eq!(found, expected, "{load}: {because}");
        assert!(because.contains(why), "{load}: {because}");
    }
}

/// If passes have no answer, the shortage is known within bounds, and the replicas only if there are few
/// such passes.
#[test]
fn a_run_is_known_as_far_as_its_passes_have_answers() {
    use Truth::{False, True, Unknown};
    let mut beyond = growing();
    let mut asleep = growing();
    if let (Ok(beyond), Ok(asleep)) = (&mut beyond.snapshot.scale, &mut asleep.snapshot.scale) {
        beyond.spec_replicas = 20;
        asleep.spec_replicas = 0;
    }
    let most = "time,cpu\n0,20%\n1m,missing\n40m,0%\n";
    let few = "time,cpu\n0,20%\n5m,missing\n6m,20%\n20m,20%\n";
    let slept = "time,cpu,replicas\n0,20%,2\n5m,20%,0\n10m,20%,2\n20m,20%,2\n";
    let tail = "time,cpu\n0,20%\n20m,missing\n";
    let all = "time,cpu\n0,missing\n10m,0%\n";
    // The other metric decides, as in the controller.
    let metrics = ["queue", "other"].map(|name| build::external(name, &build::average("2")));
    let two = build::list([
        build::hpa(&json!({"maxReplicas": 10, "metrics": metrics})),
        build::scale(4),
        build::pod("web-0"),
    ]);
    let mut two = common::read(&two).expect("an input");
    two.stated_memory = None;
    let one = "time,queue,other\n0,8,8\n1m,20,missing\n40m,20,8\n";
    let first = "time,queue,other\n0,8,missing\n10m,20,\n40m,,\n";
    // The queues are empty for long enough to scale to 0, from where no load wakes the target.
    let mut drained = two.clone();
    drained.snapshot.hpa.spec.min_replicas = Some(0);
    drained.snapshot.controller.gates[FeatureGate::HPAScaleToZero] = false;
    let drains = "time,queue,other\n0,0,0\n20m,20,20\n40m,20,20\n";
    // One of two pods has the container whose usage is missing.
    let sides = [
        build::requesting("app", "100m"),
        build::requesting("side", "100m"),
    ];
    let used = json!({"containers": [{"name": "app", "usage": {"cpu": "50m"}},
        {"name": "side", "usage": {"cpu": "50m"}}]});
    let half = build::list([
        build::hpa(&json!({"metrics": [build::resource("cpu", &build::utilization(50))]})),
        build::scale(2),
        build::with(build::pod("web-0"), &json!({"spec": {"containers": sides}})),
        build::with(build::pod_metrics("web-0", "50m"), &used),
        build::pod("web-1"),
        build::pod_metrics("web-1", "50m"),
        build::state(&json!({"now": build::NOW})),
    ]);
    let mut half = common::read(&half).expect("an input");
    half.stated_memory = None;
    let side = "time,app=cpu,side=cpu\n0,100m,50m\n1m,100m,missing\n40m,100m,50m\n";
    let none = "no pass of the run has an answer";
    let off = "the replicas stay only because scaling is disabled at 0";
    let undecided = "metrics decide no pass of the run";
    let share = "156 of 160 passes lack metric values";
    for (input, load, text, truth, why) in [
        (
            &growing(),
            most,
            "run.short <= 1m",
            Unknown,
            "anywhere from",
        ),
        (
            &growing(),
            most,
            "run.longestShort <= 1m",
            Unknown,
            "anywhere from",
        ),
        (&growing(), most, "run.short <= 40m", True, "anywhere from"),
        (&growing(), most, "run.short > 40m", False, "anywhere from"),
        (
            &growing(),
            most,
            "run.unanswered == 39m",
            True,
            "39m (first at 2026-11-21T07:07:29Z)",
        ),
        (&growing(), most, "run.highest <= 20", Unknown, share),
        (&growing(), most, "run.replicaHours > 0", Unknown, share),
        (&growing(), most, "run.atMax == 0s", Unknown, share),
        (&growing(), most, "run.settled", Unknown, share),
        (&two, one, "run.unanswered == 39m", True, "first at"),
        (&two, one, "run.short <= 20m", Unknown, "anywhere from"),
        (&two, one, "run.highest <= 10", Unknown, share),
        (&half, side, "run.unanswered == 39m", True, "39m"),
        (&two, first, "run.unanswered == 40m", True, "40m"),
        (&two, first, "run.short <= 20m", Unknown, "anywhere from"),
        (&growing(), few, "run.unanswered == 1m", True, "first at"),
        (&growing(), few, "run.highest <= 20", True, "at 2026"),
        (
            &growing(),
            few,
            "run.short <= 10s",
            Unknown,
            "anywhere from",
        ),
        (&growing(), tail, "run.highest <= 20", True, "at 2026"),
        (
            &growing(),
            tail,
            "run.settled",
            Unknown,
            "the last pass lacks metric values",
        ),
        (
            &growing(),
            tail,
            "run.last <= 20",
            Unknown,
            "the last pass lacks metric values",
        ),
        (&growing(), all, "run.mean <= 20", Unknown, none),
        (&growing(), all, "run.short <= 20m", Unknown, none),
        (&growing(), all, "run.unanswered == 10m", True, "10m"),
        (&beyond, all, "run.lowest == 10", Unknown, undecided),
        (&beyond, all, "run.short <= 20m", Unknown, undecided),
        (&beyond, all, "run.unanswered == 9m45s", True, "9m45s"),
        (&drained, drains, "run.last == 0", True, "0"),
        (
            &drained,
            drains,
            "run.short == 0s",
            Unknown,
            "anywhere from",
        ),
        // The record slept, and not because of the spec.
        (&growing(), slept, "run.lowest == 0", True, "0"),
        (&growing(), slept, "run.short < 5m", True, ""),
        (&asleep, few, "run.highest == 0", Unknown, off),
        (&asleep, few, "run.short == 0s", Unknown, off),
        (&asleep, few, "run.unanswered == 0s", Unknown, off),
        (&asleep, few, "run.settled", Unknown, off),
    ] {
        let (_, expectations, _) = run_of(input, Some(load), &expect(&[text], &[]));
        let (found, because) = (expectations[0].truth, expectations[0].because());
        assert_eq!(found, truth, "{load}{text}: {because}");
        assert!(because.contains(why), "{load}{text}: {because}, not {why}");
    }
    let (_, expectations, _) = run_of(&growing(), Some(most), &expect(&["run.short <= 1m"], &[]));
    let value = serde_json::to_value(&expectations[0].values[0]).expect("JSON");
    assert_eq!(value["value"], json!(null), "{value}");
    assert_eq!(
        value["range"]["max"].as_f64(),
        value["range"]["min"].as_f64().map(|it| it + 2340.0)
    );
}

#[test]
fn what_stays_because_nothing_was_measured_does_not_pass() {
    let unmeasured = files(&["examples/nginx/hpa.yaml", "examples/nginx/state.yaml"]);
    let verdict = |args: &ExpectArgs| judge(&unmeasured, args).1.exit_code();
    assert_eq!(verdict(&expect(&["desired <= 20"], &[])), 4);
    assert_eq!(verdict(&expect(&[], &[ExpectShorthand::ScaleDown])), 4);
    assert_eq!(verdict(&expect(&["blocked or desired <= 20"], &[])), 0);
    assert_eq!(verdict(&expect(&["not blocked", "desired <= 20"], &[])), 3);
    assert_eq!(
        verdict(&ExpectArgs {
            exit_code: true,
            ..ExpectArgs::default()
        }),
        4
    );
    let change = ExpectArgs {
        exit_code: true,
        ..ExpectArgs::default()
    };
    assert_eq!(judge(&growing(), &change).1, ExpectationVerdict::ChangeDue);
}

/// A sample of any metric may be stale, and one that states no time is not known to be fresh.
#[test]
fn the_age_of_a_sample_is_known_if_it_states_its_time() {
    let of = |metric: &Value, more: &[Value]| {
        let items = [
            build::hpa(&json!({"maxReplicas": 9, "metrics": [metric]})),
            build::scale(1),
            build::pod("web-0"),
            build::state(&json!({"recommendations": []})),
        ];
        let input = common::read(&build::list([&items, more].concat()));
        let (all, _) = judge(&input.expect("an input"), &expect(&["not stale"], &[]));
        all[0].because()
    };
    let (known, fresh, old) = (json!(build::NOW), "stale is false", "stale is true");
    let none =
        |name: &str| format!("stale is unknown (the age of the samples of {name} is unknown)");
    let hour_ago = json!("2026-11-21T05:00:00Z");
    let queue = |time: &Value| {
        let mut values = build::queue(&["10"]);
        values["items"][0]["timestamp"] = time.clone();
        of(&build::external("queue", &build::average("10")), &[values])
    };
    let cpu = |time: &Value| {
        let mut sample = build::pod_metrics("web-0", "50m");
        sample["timestamp"] = time.clone();
        of(&build::resource("cpu", &build::utilization(50)), &[sample])
    };
    for (time, want) in [(&known, fresh), (&hour_ago, old)] {
        assert_eq!([queue(time), cpu(time)], [want, want], "{time}");
    }
    assert_eq!(queue(&Value::Null), none("queue"));
    assert_eq!(cpu(&Value::Null), none("cpu"));
}

/// Returns a state in which a pass is made or blocked: the target's replicas and selector, other objects,
/// and other fields of the `ControllerState`.
fn blocked(replicas: i32, selector: &str, more: &[Value], state: &Value) -> Input {
    let metrics = json!([build::external("queue", &build::average("10"))]);
    let scale = build::with(
        build::scale(replicas),
        &json!({"status": {"selector": selector}}),
    );
    let recommendations = json!([{"replicas": 3, "time": "2026-11-21T05:59:45Z"}]);
    let mut items = vec![
        build::hpa(&json!({"minReplicas": 2, "maxReplicas": 9, "metrics": metrics})),
        scale,
        build::with(
            build::state(&json!({"recommendations": recommendations})),
            state,
        ),
    ];
    items.extend_from_slice(more);
    common::read(&build::list(items)).expect("an input")
}

/// A history that can hold nothing back is no reason for doubt.
#[test]
fn a_history_without_effect_leaves_nothing_open() {
    let passed = |input: Input| {
        let mut remembered = Remembered::unknown(input.snapshot.now).without_recommendations();
        let possible = remembered.possible.as_mut().expect("bounds");
        possible.changes = Some(vec![Vec::new()]);
        Pass::with(input, remembered)
    };
    let fails = json!({"errors": [{"api": "scaleUpdate", "message": "down"}]});
    let pass = passed(blocked(3, "app=web", &[build::queue(&["30"])], &fails));
    let gate = Gate::new(&expect(&["not blocked", "not limited"], &[])).expect("expressions");
    let (all, _) = gate.judge(&PassFacts::of(&pass), []);
    for one in all {
        assert_eq!(one.truth, Truth::True, "{}: {}", one.name(), one.because());
    }
    let denied = json!({"errors": [{"api": "external", "metric": "queue", "message": "no", "denied": true}]});
    let pass = passed(blocked(3, "app=web", &[], &denied));
    let page = Page::new(&Explanation::new(&pass), false);
    insta::assert_snapshot!(page.why.join("\n"), @"You are not allowed to read queue: the pass may end anywhere from 2 to 6.");
}

/// A metric that could not be read may ask for replicas that cannot be written, as one that was read does.
#[test]
fn an_unread_metric_may_ask_for_what_cannot_be_written() {
    let jobs = build::external("jobs", &build::average("10"));
    let errors = json!({"errors": [
        {"api": "external", "metric": "jobs", "message": "no", "denied": true},
        {"api": "scaleUpdate", "message": "down"},
    ]});
    let state = build::with(build::state(&json!({})), &errors);
    let metrics = [build::external("queue", &build::average("10")), jobs];
    let asked = expect(&["desired == 3"], &[]);
    for (max, queue, truth) in [
        (9, "30", Truth::Unknown),
        // Nothing can be asked for beyond the maximum, which the other metric alone asks for.
        (3, "90", Truth::True),
        (3, "30", Truth::True),
    ] {
        let items = [
            build::hpa(&json!({"minReplicas": 2, "maxReplicas": max, "metrics": metrics})),
            build::scale(3),
            state.clone(),
            build::queue(&[queue]),
        ];
        let input = common::read(&build::list(items)).expect("an input");
        let (open, _) = judge(&input, &asked);
        assert_eq!(open[0].truth, truth, "{max} {queue}: {}", open[0].because());
    }
}

#[test]
fn a_blocked_answer_leaves_the_replicas_unknown_whatever_blocks_it() {
    let queue = |values: &[&str]| vec![build::queue(values)];
    let value = |value: i32| queue(&[&value.to_string()]);
    let other = build::with(
        build::hpa(&json!({})),
        &json!({"metadata": {"name": "other"}}),
    );
    let another = [build::queue(&["70"]), other, build::pod("web-1")];
    let nothing = json!({});
    let fails = |api: &str| json!({"errors": [{"api": api, "message": "down"}]});
    for (input, why) in [
        (blocked(3, "app=web", &value(70), &nothing), None),
        (
            blocked(0, "app=web", &value(70), &nothing),
            Some("scaling is disabled at 0"),
        ),
        (
            blocked(3, "", &value(70), &nothing),
            Some("the target's selector is unusable"),
        ),
        (
            blocked(3, "app in", &value(70), &nothing),
            Some("the target's selector is unusable"),
        ),
        (
            blocked(3, "app=web", &another, &nothing),
            Some("other HPAs select the same pods"),
        ),
        (
            blocked(3, "app=web", &queue(&[]), &nothing),
            Some("metrics fail"),
        ),
        (
            blocked(3, "app=web", &value(70), &fails("scale")),
            Some("cannot be read"),
        ),
        (
            blocked(3, "app=web", &value(70), &fails("mapping")),
            Some("cannot be read"),
        ),
        (
            blocked(3, "app=web", &value(70), &fails("scaleUpdate")),
            Some("cannot be written"),
        ),
        // There is nothing to write.
        (
            blocked(3, "app=web", &value(30), &fails("scaleUpdate")),
            None,
        ),
    ] {
        let all = expect(
            &["blocked", "desired <= 20", "delta < 20"],
            &[
                ExpectShorthand::Change,
                ExpectShorthand::Maxed,
                ExpectShorthand::ScaleDown,
            ],
        );
        let (expectations, _) = judge(&input, &all);
        let truth = |name: &str| {
            let one = expectations.iter().find(|one| one.name().starts_with(name));
            one.map(|one| one.truth).expect("the expectation")
        };
        let desired = expectations[1].because();
        let Some(why) = why else {
            assert_eq!(truth("blocked"), Truth::False, "{desired}");
            assert_eq!(truth("desired <= 20"), Truth::True, "{desired}");
            continue;
        };
        assert!(desired.contains(why), "{desired}, not {why}");
        assert_eq!(truth("blocked"), Truth::True, "{why}");
        for name in [
            "desired <= 20",
            "delta < 20",
            "delta == 0",
            "desired < max",
            "delta >= 0",
        ] {
            assert_eq!(truth(name), Truth::Unknown, "{name} where {why}");
        }
        let gate = expect(&["desired <= 20"], &[]);
        assert_eq!(judge(&input, &gate).1.exit_code(), 4, "{why}");
        let change = ExpectArgs {
            exit_code: true,
            ..ExpectArgs::default()
        };
        assert_eq!(judge(&input, &change).1.exit_code(), 4, "{why}");
    }
}

#[test]
fn what_only_the_history_leaves_open_names_the_flags_that_tell() {
    let of = |text: &str| judge(&open(), &expect(&[text], &[])).0.remove(0);
    let hint = of("desired <= 8").hint.expect("a hint").to_string();
    assert!(
        hint.contains("--observe 5m") && hint.contains("--history none"),
        "{hint}"
    );
    assert!(of("desired <= 8").because().ends_with(&hint));
    // An expectation that holds needs no hint, nor does one that stays unknown even with the history.
    assert_eq!(of("desired <= 10").hint, None);
    assert_eq!(of("metric.cpu.value < 1").hint, None);
}

#[test]
fn json_has_each_value_or_why_there_is_none() {
    let args = expect(
        &["metric.cpu.desired < 3 and delta < 3"],
        &[ExpectShorthand::Limited],
    );
    let (expectations, _) = judge(&open(), &args);
    assert_eq!(
        serde_json::to_value(&expectations).expect("JSON"),
        json!([
            {
                "expression": "metric.cpu.desired < 3 and delta < 3",
                "failOn": null,
                "truth": "true",
                "values": [
                    {"field": "metric.cpu.desired", "value": 0},
                    {"field": "delta", "value": null, "range": {"min": -6, "max": 2}}
                ]
            },
            {
                "expression": "not limited",
                "failOn": "limited",
                "truth": "unknown",
                "values": [{
                    "field": "limited",
                    "value": null,
                    "unknown": "it depends on the controller's history"
                }],
                "hint": "use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this"
            }
        ])
    );
}

/// Returns the expectations about the only spec, which is not from a manifest.
fn alone(expectations: Vec<Expectation>) -> Judged {
    Judged {
        candidate: None,
        manifest: None,
        expectations,
    }
}

fn three() -> ExpectArgs {
    expect(
        &["desired <= 10", "recommended > 0"],
        &[ExpectShorthand::Limited],
    )
}

#[test]
fn markdown_for_a_pull_request() {
    let observed = open();
    let typed = Overrides {
        cpu: vec!["30%".to_owned()],
        ..Overrides::default()
    };
    let observed = Pass::run(observed);
    let assumptions = Assumptions::read(&typed).expect("overrides");
    let applied = assumptions.apply(observed.input.clone(), &observed.decision);
    let (input, overrides) = applied.expect("an input");
    let expected = expect(
        &["desired <= 10", "recommended > 8"],
        &[ExpectShorthand::Limited],
    );
    let (expectations, _) = judge(&input, &expected);
    let expectations = vec![alone(expectations)];
    let assumed = Pass::run(input);
    let prediction = Prediction::new(
        Explanation::new(&assumed),
        overrides,
        None,
        None,
        expectations,
        thresholds(&assumed, None),
        &observed,
    );
    let page = Page::of_prediction(&prediction, false);
    insta::assert_snapshot!(markdown(&page), @"
<code>default/nginx-deployment</code> → <code>Deployment/nginx-deployment</code>

| EXPECTED |  |
| --- | --- |
| holds | desired <code>&#60;=</code> 10: anywhere from 8 to 10 |
| FAILS | recommended <code>&#62;</code> 8: 8 |
| UNKNOWN | not limited (<code>--fail-on</code> limited): limited is unknown (it depends on the controller's history); use <code>--observe</code> 5m35s in a cluster, or <code>--history</code> none if the controller has just started, to resolve this |

**STAYS AT 8**

cpu keeps the replicas, because pods without usable metrics make the result ambiguous.

Not certain: the controller's history is unknown; 8 to 10 are possible.

To narrow this, give a history with <code>--observe</code> 5m35s.

| ITEM | ASSUMED | OBSERVED |
| --- | --- | --- |
| cpu | 30% of the request | 0% |
| answer | STAYS AT 8 | STAYS AT 8, not certain: between 2 and 10 |

**FINDINGS**

- **uncounted-pods**: 4 of 8 pods do not count (<code>nginx-deployment-596d9ffddd-2bqvw</code> and 3 more): 8 replicas instead of <code>&#126;10</code>

  Wait until the pods run.

| METRIC | CURRENT | TARGET | RATIO | COUNTED | PROPOSES |  |
| --- | --: | --: | --: | --- | --: | --- |
| cpu | 30% (6m) | 20% | 1.5 | 4 ready, 4 unready | 8 | highest |

- cpu: with 4 unready pods at 0, the ratio reverses from 1.5 to 0.75: keeps 8

**CHANGES**

|  |  |  |
| --- | --- | --- |
| cpu | up to 10% | proposes minReplicas (2) |
|  | up to 17% | proposes fewer, but removes none: stabilization holds 8 |
|  | 18% to 45% | within tolerance |
|  | above 45% | adds replicas |
|  | above 45% | proposes maxReplicas (10) |
|  |  | not certain: based on the most likely history |

Assuming the time of the system clock, the rules of v1.37.0 and the current replicas as the only recommendation

<details><summary>Details</summary>

**FINDINGS, WITH EVIDENCE**

- **uncounted-pods**: 4 of 8 pods do not count (<code>nginx-deployment-596d9ffddd-2bqvw</code> and 3 more): 8 replicas instead of <code>&#126;10</code>

  Pending: <code>nginx-deployment-596d9ffddd-2bqvw</code>, <code>nginx-deployment-596d9ffddd-hjz8c</code>, <code>nginx-deployment-596d9ffddd-kd5ls</code> and 1 more.

  cpu assumes 4 unready pods at 0, which takes its ratio from 1.5 to 0.75.

  If they counted, and used as much as the others on average: a proposal of 12, and 10 replicas after stabilization and limits.

  Wait until the pods run.

  <code>kubectl describe pod nginx-deployment-596d9ffddd-2bqvw -n default</code>

**PODS FOR cpu**

| POD | USAGE | REQUEST | GROUP | COUNTED | BECAUSE |
| --- | --: | --: | --- | --: | --- |
| <code>nginx-deployment-596d9ffddd-2bqvw</code> | &#45; | 20m | unready | 0 | is pending; until it runs |
| <code>nginx-deployment-596d9ffddd-hjz8c</code> | &#45; | 20m | unready | 0 | is pending; until it runs |
| <code>nginx-deployment-596d9ffddd-kd5ls</code> | &#45; | 20m | unready | 0 | is pending; until it runs |
| <code>nginx-deployment-596d9ffddd-zq7nf</code> | &#45; | 20m | unready | 0 | is pending; until it runs |

**CONDITIONS AND EVENTS**

|  |  |  |  |
| --- | --- | --- | --- |
| AbleToScale | True | ReadyForNewScale | recommended size matches current size |
| ScalingActive | True | ValidMetricFound | the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request) |
| ScalingLimited | False | DesiredWithinRange | the desired count is within the acceptable range |

| ASSUMED |  |
| --- | --- |
| clock | <code>2026-11-21T07&#58;06&#58;59Z</code> (the system clock; use <code>--now</code> to set it) |
| controller flags | tolerance 0.1, downscale-stabilization 5m, cpu-initialization-period 5m, initial-readiness-delay 30s, sync-period 15s (the defaults) |
| feature gates | <code>HPAScaleToZero=true</code>, <code>PodLevelResources=true</code>, <code>HPAGeneration=true</code>, <code>HPAOptimizedSelectorStore=true</code>, <code>StaleControllerConsistencyHPA=true</code> (the defaults) |
| version | v1.37.0 (the newest confirmed rules) |
| history | unknown: the current replicas are assumed to be the only recommendation (no evidence of others) |

</details>

rules of v1.37.0, at <code>2026-11-21T07&#58;06&#58;59Z</code>
");
}

#[test]
fn junit_for_a_pipeline() {
    let (expectations, _) = judge(&open(), &three());
    insta::assert_snapshot!(junit("default/nginx-deployment", &[alone(expectations)]), @r#"
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="kubectl-hpa" tests="3" failures="1" errors="1">
  <testsuite name="default/nginx-deployment" tests="3" failures="1" errors="1" skipped="0">
    <testcase classname="default/nginx-deployment" name="desired &lt;= 10"/>
    <testcase classname="default/nginx-deployment" name="recommended &gt; 0">
      <failure type="false" message="recommended is 0"/>
    </testcase>
    <testcase classname="default/nginx-deployment" name="not limited (--fail-on limited)">
      <error type="unknown" message="limited is unknown (it depends on the controller&apos;s history); use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this"/>
    </testcase>
  </testsuite>
</testsuites>
"#);
    assert_eq!(junit("a/b", &[]).matches("<testcase").count(), 0);
}

#[test]
fn annotations_for_a_run() {
    let (expectations, _) = judge(&open(), &three());
    let mut judged = [alone(expectations)];
    let flags = [ExpectShorthand::ScaleUp, ExpectShorthand::ScaleDown];
    let (of_flags, _) = judge(&growing(), &expect(&[], &flags));
    judged[0].expectations.extend(of_flags);
    insta::assert_snapshot!(annotations("default/nginx-deployment", &judged), @r#"
::error title=HPA default/nginx-deployment::recommended > 0 is false: recommended is 0
::error title=HPA default/nginx-deployment::not limited (--fail-on limited) is unknown, which does not pass: limited is unknown (it depends on the controller's history); use --observe 5m35s in a cluster, or --history none if the controller has just started, to resolve this
::error title=HPA default/nginx-deployment::--fail-on scale-up: delta is 2
"#);
}

#[test]
fn each_candidate_has_its_own_reports() {
    let args = expect(
        &[
            "run.highest <= 5 and run.longestShort < 1m",
            "run.short < 1h",
        ],
        &[],
    );
    let (_, expectations, _) = run_of(&growing(), Some(LOAD), &args);
    let judged = ["a,b.yaml", "c:%.yaml"].map(|file| Judged {
        candidate: Some(file.to_owned()),
        manifest: Some(ManifestPlace {
            file: file.to_owned(),
            line: 7,
        }),
        expectations: expectations.clone(),
    });
    insta::assert_snapshot!(junit("default/web", &judged), @r#"
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="kubectl-hpa" tests="4" failures="2" errors="0">
  <testsuite name="default/web (a,b.yaml)" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="default/web (a,b.yaml)" name="run.highest &lt;= 5 and run.longestShort &lt; 1m">
      <failure type="false" message="run.highest is 10 at 2026-11-21T07:08:59Z, run.longestShort is 45s from 2026-11-21T07:09:44Z on"/>
    </testcase>
    <testcase classname="default/web (a,b.yaml)" name="run.short &lt; 1h"/>
  </testsuite>
  <testsuite name="default/web (c:%.yaml)" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="default/web (c:%.yaml)" name="run.highest &lt;= 5 and run.longestShort &lt; 1m">
      <failure type="false" message="run.highest is 10 at 2026-11-21T07:08:59Z, run.longestShort is 45s from 2026-11-21T07:09:44Z on"/>
    </testcase>
    <testcase classname="default/web (c:%.yaml)" name="run.short &lt; 1h"/>
  </testsuite>
</testsuites>
"#);
    insta::assert_snapshot!(annotations("default/web", &judged), @r#"
::error file=a%2Cb.yaml,line=7,title=HPA default/web (a%2Cb.yaml)::run.highest <= 5 and run.longestShort < 1m is false: run.highest is 10 at 2026-11-21T07:08:59Z, run.longestShort is 45s from 2026-11-21T07:09:44Z on
::error file=c%3A%25.yaml,line=7,title=HPA default/web (c%3A%25.yaml)::run.highest <= 5 and run.longestShort < 1m is false: run.highest is 10 at 2026-11-21T07:08:59Z, run.longestShort is 45s from 2026-11-21T07:09:44Z on
"#);
}

/// Returns a page with every kind of part, with a given text everywhere, and expectations with it.
fn saying(text: &str) -> (Page, Vec<Expectation>) {
    let say = || text.to_owned();
    let columns = vec![("A".into(), false), ("B".into(), true)];
    let table = Table {
        columns,
        rows: vec![vec![say(), say()]],
    };
    let pairs = || Part::Pairs(vec![(say(), say())]);
    let step = StepLine {
        replicas: 2,
        text: say(),
        reason: Some("TooFewReplicas"),
    };
    let remark = Remark {
        severity: Severity::Warning,
        code: "at-max",
        summary: say(),
        sentences: vec![say()],
        commands: vec![say()],
    };
    let bodies = [
        vec![pairs()],
        vec![
            Part::Table(table.clone()),
            pairs(),
            Part::Text(vec![say(), say()]),
        ],
        vec![Part::Steps(vec![step]), Part::Records(table)],
        vec![Part::Findings(vec![remark])],
    ];
    let section = |body| Section {
        title: say(),
        detail: Detail::Always,
        body,
    };
    let page = Page {
        warning: Some(say()),
        assuming: Vec::new(),
        title: say(),
        subtitle: say(),
        tone: Tone::Stay,
        verdict: say(),
        why: vec![say()],
        observed: None,
        expected: None,
        wide: true,
        sections: bodies.into_iter().map(section).collect(),
    };
    let field = Field::Metric(say(), MetricField::Value);
    let expectation = Expectation {
        expression: format!("{field} > 2 {text}"),
        fail_on: None,
        truth: Truth::False,
        values: vec![expect::FieldValue {
            field,
            fact: Fact::Unknown(say().into()),
            moment: None,
        }],
        is_plain: true,
        lack: None,
        hint: None,
        is_of_first_pass: false,
    };
    let unknown = Expectation {
        truth: Truth::Unknown,
        ..expectation.clone()
    };
    (page, vec![expectation, unknown])
}

/// Text with as many special characters as there is room for.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "@admin",
        "#12",
        "GH-12",
        "a/b#3",
        "a@b.c",
        "https://x.y",
        "www.x.y",
        "[a](b)",
        "![a](b)",
        "[a]: b",
        "<b>",
        "</code>",
        "<!--",
        "`",
        "```",
        "|",
        "\\|",
        "\\",
        "**",
        "_",
        "~~",
        "# ",
        "1. ",
        "1) ",
        "- ",
        "+ ",
        "> ",
        "---",
        "===",
        "    x",
        "\t",
        "\n",
        "\n\n",
        "\r",
        "&lt;",
        "&#64;",
        ":tada:",
        "$x$",
        "deadbeef",
        "::error::",
        "%0A",
        "##[error]",
        "]]>",
        "\"",
        "'",
        "\0",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{2028}",
        "\u{fffe}",
        "ö",
        "x",
        " ",
        "(",
        ")",
        ":",
        ",",
    ]);
    prop_oneof![
        prop::collection::vec(pieces, 1..9).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

/// Returns the text that a reader sees, if there is nothing else; outside code elements, only what no
/// platform interprets.
fn seen_text(markdown: &str) -> Result<String, String> {
    let arena = Arena::new();
    let mut options = comrak::Options::default();
    options.extension.autolink = true;
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    let root = comrak::parse_document(&arena, markdown, &options);
    let (mut seen, mut in_code) = (String::new(), false);
    for node in root.descendants() {
        match &node.data.borrow().value {
            NodeValue::HtmlInline(tag) if tag == "<code>" && !in_code => in_code = true,
            NodeValue::HtmlInline(tag) if tag == "</code>" && in_code => in_code = false,
            NodeValue::HtmlInline(tag) if tag == "<!-- -->" && in_code => {}
            NodeValue::Text(text) => {
                let looked_up = |c: char| c.is_ascii_punctuation() && !"()-/=>.,;:%'?".contains(c);
                if !in_code && text.contains(looked_up) {
                    return Err(format!("{text:?} stands outside of code"));
                }
                seen.push_str(text);
            }
            NodeValue::Document
            | NodeValue::Paragraph
            | NodeValue::Strong
            | NodeValue::List(_)
            | NodeValue::Item(_)
            | NodeValue::Table(_)
            | NodeValue::TableRow(_)
            | NodeValue::TableCell => seen.push(' '),
            other => return Err(format!("there is {other:?}")),
        }
    }
    if in_code {
        Err("a code element stays open".to_owned())
    } else {
        Ok(seen)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_in_markdown_is_more_than_text(text in hostile()) {
        let written = markdown(&saying(&text).0);
        let lines = markdown(&saying("x").0).lines().count();
        let blank = text.chars().all(|c| c == ' ');
        prop_assert!(blank || written.lines().count() == lines, "{written}");
        let seen = seen_text(&written).map_err(TestCaseError::fail)?;
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let shown = squeezed(&clean(&text, false));
        let times = squeezed(&seen).matches(&*shown).count();
        prop_assert!(shown.is_empty() || times >= 18, "{text:?} is {times} times in {seen}");
    }

    #[test]
    fn nothing_in_junit_is_more_than_text(text in hostile()) {
        let (_, expectations) = saying(&text);
        let candidate = Some(text.clone());
        let judged = Judged { candidate, ..alone(expectations) };
        let written = junit(&text, std::slice::from_ref(&judged));
        let document = roxmltree::Document::parse(&written).map_err(|e| {
            TestCaseError::fail(format!("{e}: {written}"))
        })?;
        let cases: Vec<_> =
            document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
        let outcomes = cases.iter().map(|case| case.first_element_child().map(|e| e.tag_name().name()));
        prop_assert_eq!(outcomes.collect::<Vec<_>>(), [Some("failure"), Some("error")]);
        let fits = |c: char| !matches!(c, '\u{fffe}' | '\u{ffff}');
        if text.chars().all(fits) {
            for case in cases {
                let name = clean(&judged.expectations[0].name(), false);
                prop_assert_eq!(case.attribute("name"), Some(&*name));
                let suite = clean(&format!("{text} ({text})"), false);
                prop_assert_eq!(case.attribute("classname"), Some(&*suite));
            }
        }
    }

    #[test]
    fn each_annotation_is_one_command(text in hostile()) {
        let (_, expectations) = saying(&text);
        let manifest = Some(ManifestPlace { file: text.clone(), line: 7 });
        let judged = Judged { manifest, ..alone(expectations) };
        let written = annotations(&text, std::slice::from_ref(&judged));
        prop_assert_eq!(written.lines().count(), 2);
        for line in written.lines() {
            // As the runner reads it: the command ends at the next two colons, its properties at
            // commas.
            let rest = line.strip_prefix("::error ").expect("the command");
            let (properties, message) = rest.split_once("::").expect("the message");
            let properties: Vec<_> = properties.split(',').collect();
            let [file, "line=7", title] = properties[..] else {
                return Err(TestCaseError::fail(format!("{properties:?}")));
            };
            let read = |text: &str, name: &str| {
                let text = text.strip_prefix(name).expect("the property");
                assert!(!text.contains(':'), "{text}");
                text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
            };
            prop_assert_eq!(read(file, "file="), clean(&text, false));
            prop_assert_eq!(read(title, "title="), format!("HPA {}", clean(&text, false)));
            let name = clean(&judged.expectations[0].name(), false);
            prop_assert!(message.replace("%25", "%").starts_with(&name), "{message}");
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
