//! Backtests: the replay of runs of a real controller (`tests/trajectories`) from samples as coarse as a
//! Prometheus keeps them, and what must hold between the runs over one load, whatever it is.
#![allow(clippy::print_stdout, reason = "the shares are printed")]
#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

use crate::common::ran::{PROGRAM, Ran, program, run};
use crate::common::{self, build, schema as published, trajectories};

use std::fmt::Write;
use std::io::Write as _;
use std::sync::Arc;

use assert_cmd::Command;
use jiff::SignedDuration;
use kubectl_hpa::backtest::{Backtest, CandidateRun, NamedSpec, Plan, Run, Search};
use kubectl_hpa::engine;
use kubectl_hpa::error::Error;
use kubectl_hpa::memory::Memory;
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::Snapshot;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::note::{Note, Subject};
use kubectl_hpa::snapshot::pod::ConditionStatus;
use kubectl_hpa::whatif::overrides::Assumptions;
use kubectl_hpa::whatif::timeline::{TimelineOptions, Totals, Trace};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use trajectories::{Load, NAMES, Pass, TIMES, moments, passes};

/// The generator of the example's load.
#[path = "../../examples/backtest/main.rs"]
#[allow(dead_code, reason = "nothing is printed here")]
mod example;

const START: &str = "2026-11-21T06:00:00Z";

/// How many passes there are, how many end with the recorded replicas, and how many within one of them.
type Counts = [usize; 3];

/// Replays a recorded run from its first pass to its last: against the controller's own passes, and against
/// the samples of its replicas, as the check does.
fn replay(name: &str, step: usize) -> [Counts; 2] {
    let passes = passes(name);
    let inputs = moments(name);
    let moments: Vec<&Snapshot> = inputs.iter().map(|input| &input.snapshot).collect();
    // The first pass whose moment has the replicas and the proposal that the pass had.
    let begins = |(place, pass): (usize, &Pass)| {
        let before = moments.iter().rev().find(|moment| moment.now < pass.time)?;
        let mut snapshot = Snapshot::clone(before);
        snapshot.now = pass.time;
        let decision = engine::reconcile(&snapshot, &Memory::default());
        let replicas = snapshot.scale.as_ref().ok()?.spec_replicas;
        let is_same = replicas == pass.from && decision.proposal == Some(pass.proposal);
        is_same.then_some((place, snapshot, decision))
    };
    let (place, mut snapshot, first) = passes.iter().enumerate().find_map(begins).unwrap();
    let rest = &passes[place..];
    let span = rest.last().unwrap().time.duration_since(snapshot.now);
    snapshot.controller.sync_period = span / (rest.len() as i32 - 1);
    let loads: Vec<Load> = moments.iter().map(|moment| Load::of(moment)).collect();
    let sampled = loads.iter().step_by(step / 5);
    let start = snapshot.now;
    let sampled = sampled.filter(|load| load.time >= start);
    let trace = Some(Arc::new(trajectories::trace(sampled, start)));
    let options = TimelineOptions {
        span: Some(span),
        trace,
        times: TIMES,
        ..TimelineOptions::default()
    };
    let input = Input {
        snapshot: snapshot.clone(),
        stated_memory: Some(Memory::default()),
        ..inputs[0].clone()
    };
    let plan = Plan::new(options.clone(), input, true);
    let check = plan
        .run(&Assumptions::default(), &[])
        .unwrap()
        .unwrap()
        .check
        .unwrap();
    let player = common::player(options, &mut snapshot.clone()).unwrap();
    let played = player.play(&snapshot, &first).unwrap().unwrap().passes;
    let pairs = || {
        played
            .iter()
            .zip(rest)
            .map(|(own, pass)| own.replicas.abs_diff(pass.to))
    };
    let within = |most| pairs().filter(|apart| *apart <= most).count();
    [
        [pairs().count(), within(0), within(1)],
        [check.compared, check.equal, check.within_one],
    ]
}

#[test]
fn recorded_runs_are_replayed_from_samples() {
    let percent = |part: usize, all: usize| 100.0 * part as f64 / all as f64;
    for (step, at_least) in [(5, 99.0), (15, 99.0), (30, 90.0), (60, 75.0)] {
        let mut all = [[0; 3]; 2];
        for name in NAMES {
            for (sum, own) in all.iter_mut().zip(replay(name, step)) {
                *sum = [sum[0] + own[0], sum[1] + own[1], sum[2] + own[2]];
            }
        }
        for (of, [passes, equal, within_one]) in ["the passes", "the check"].into_iter().zip(all) {
            println!(
                "a sample every {step} s, by {of}: {:.1} % of {passes} with the recorded replicas, \
                 {:.1} % within one",
                percent(equal, passes),
                percent(within_one, passes)
            );
            assert!(percent(equal, passes) >= at_least, "{step} {of}");
        }
    }
}

/// A Deployment of pods that request 100m each, under an HPA with a CPU target.
fn observed(spec: &Value, replicas: i32) -> Input {
    observed_with(spec, replicas, None)
}

fn observed_with(spec: &Value, replicas: i32, more: Option<Value>) -> Input {
    let base = json!({"minReplicas": 1, "maxReplicas": 12,
        "metrics": [build::resource("cpu", &build::utilization(50))]});
    let hpa = build::with(build::hpa(&base), &json!({ "spec": spec }));
    let mut items = vec![hpa, build::scale(replicas), build::state(&json!({}))];
    items.extend(more);
    let taken = json!({"timestamp": "2026-11-21T05:59:55Z"});
    for number in 0..replicas {
        let name = format!("web-{number}");
        items.push(build::pod(&name));
        items.push(build::with(build::pod_metrics(&name, "50m"), &taken));
    }
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    saved::read(&build::list(items), &options, START.parse().unwrap()).unwrap()
}

/// A load with a sample every 30 s, in m; none is missing.
fn trace(loads: &[Option<u16>]) -> Arc<Trace> {
    let mut text = "time,cpu\n".to_owned();
    for (place, load) in (0i64..).zip(loads) {
        let load = load.map_or_else(|| "missing".to_owned(), |load| format!("{load}m"));
        writeln!(text, "{}s,{load}", 30 * place).unwrap();
    }
    Arc::new(Trace::read(text.as_bytes(), "the load").unwrap())
}

fn plan(input: &Input, loads: &[Option<u16>]) -> Plan {
    let options = TimelineOptions {
        trace: Some(trace(loads)),
        ..TimelineOptions::default()
    };
    Plan::new(options, input.clone(), true)
}

/// The backtest of one candidate, which differs from the HPA by these flags.
fn backtest(input: &Input, loads: &[Option<u16>], flags: &[&str]) -> Result<Backtest, Error> {
    let assumptions = common::assumed(flags)?;
    let candidate = NamedSpec {
        name: "candidate".to_owned(),
        assumptions: assumptions.clone(),
    };
    Ok(plan(input, loads).run(&assumptions, &[candidate])?.unwrap())
}

/// Loads that rise and fall, some of them missing.
fn loads() -> impl Strategy<Value = Vec<Option<u16>>> {
    let load = prop_oneof![9 => (0..900u16).prop_map(Some), 1 => Just(None)];
    let stretch = (load, 1..12usize).prop_map(|(load, count)| vec![load; count]);
    proptest::collection::vec(stretch, 2..12).prop_map(|parts| parts.concat())
}

/// Rules of scaling, as an HPA states them.
fn specs() -> impl Strategy<Value = Value> {
    let window = prop_oneof![
        Just(json!({})),
        (0..400u32).prop_map(|s| {
            json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": s}}})
        })
    ];
    let limit = prop_oneof![Just(json!({})), (1..5u32, 15..120u32).prop_map(|(pods, period)| {
        let policy = json!([{"type": "Pods", "value": pods, "periodSeconds": period}]);
        json!({"behavior": {"scaleUp": {"policies": policy.clone()}, "scaleDown": {"policies": policy}}})
    })];
    (window, limit, 2..20i32).prop_map(|(window, limit, max)| {
        build::with(build::with(window, &limit), &json!({ "maxReplicas": max }))
    })
}

fn holds<S: Strategy>(inputs: S, property: impl Fn(S::Value)) {
    let config = ProptestConfig {
        cases: common::cases(16),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(&inputs, |input| {
        property(input);
        Ok(())
    });
    result.unwrap();
}

#[test]
fn a_candidate_that_is_the_hpa_parts_nowhere() {
    holds((specs(), loads(), 1..6i32), |(spec, loads, replicas)| {
        let input = observed(&spec, replicas);
        let max = format!("--max={}", input.snapshot.hpa.spec.max_replicas);
        let Backtest {
            replay, candidates, ..
        } = backtest(&input, &loads, &[&max]).unwrap();
        let [own] = &candidates[..] else {
            panic!("one candidate")
        };
        assert_eq!(own.run.timeline, replay.timeline);
        assert!(own.parted.is_none() && own.stretches.all.is_empty());
    });
}

/// The same load, whatever the pods request: where the target is an amount, requests change nothing.
#[test]
fn other_requests_are_those_of_a_candidate_under_the_same_load() {
    let average = json!([build::resource("cpu", &build::average("50m"))]);
    holds((specs(), loads(), 1..6i32), |(spec, loads, replicas)| {
        for (metrics, flag) in [
            (json!(null), "--request=cpu=x1"),
            (average.clone(), "--request=cpu=x3"),
        ] {
            let spec = match metrics {
                Value::Null => spec.clone(),
                metrics => build::with(spec.clone(), &json!({ "metrics": metrics })),
            };
            let played = backtest(&observed(&spec, replicas), &loads, &[flag]).unwrap();
            assert_eq!(played.candidates[0].stretches.all.len(), 0, "{flag}");
            let timeline = &played.candidates[0].run.timeline;
            assert_eq!(timeline.passes, played.replay.timeline.passes, "{flag}");
        }
    });
    // A percentage is one of the running pods' requests, in the trace and for a flag.
    let input = observed(&json!({ "metrics": average }), 2);
    let flags = ["--request=cpu=x3", "--cpu=80%"];
    for (text, flags) in [
        ("time,cpu\n0s,80%\n60s,200%\n300s,x0.1\n", &flags[..1]),
        ("", &flags),
    ] {
        let mut plan = plan(&input, &[Some(100)]);
        plan.timeline.span = Some(SignedDuration::from_mins(10));
        let trace = (!text.is_empty()).then(|| Trace::read(text.as_bytes(), "the load").unwrap());
        plan.timeline.trace = trace.map(Arc::new);
        let assumptions = common::assumed(flags).unwrap();
        let candidate = NamedSpec {
            name: "c".to_owned(),
            assumptions: assumptions.clone(),
        };
        let played = plan.run(&assumptions, &[candidate]).unwrap().unwrap();
        assert_eq!(played.candidates[0].stretches.all.len(), 0, "{flags:?}");
        // 80% of 100m each, over 50m.
        assert_eq!(
            played.replay.timeline.passes[0].proposal,
            Some(4),
            "{flags:?}"
        );
    }
    // With a third of the percentage, a target that is a percentage is not reached.
    let played = backtest(
        &observed(&json!({}), 3),
        &[Some(150); 20],
        &["--request=cpu=x3"],
    )
    .unwrap();
    let last = |timeline: &kubectl_hpa::whatif::timeline::Timeline| {
        timeline.passes.last().unwrap().replicas
    };
    assert_eq!(
        [
            last(&played.replay.timeline),
            last(&played.candidates[0].run.timeline)
        ],
        [3, 1]
    );
}

/// The backtest of a candidate whose pods are rolled out at a time.
fn rolled_out(mut plan: Plan, at: i64, flags: &[&str]) -> Backtest {
    let assumptions = common::assumed(flags).unwrap();
    let candidate = NamedSpec {
        name: "candidate".to_owned(),
        assumptions: assumptions.clone(),
    };
    plan.rollout = Some(SignedDuration::from_secs(at));
    plan.run(&assumptions, &[candidate]).unwrap().unwrap()
}

#[test]
fn a_rollout_after_the_end_changes_nothing() {
    holds((specs(), loads(), 1..6i32), |(spec, loads, replicas)| {
        let input = observed(&spec, replicas);
        let end = 30 * loads.len() as i64;
        let played = rolled_out(plan(&input, &loads), end, &["--request=cpu=x3"]);
        let own = &played.candidates[0];
        assert_eq!(own.run.timeline, played.replay.timeline);
        assert!(own.parted.is_none() && own.stretches.all.is_empty());
        let begins = "the run ends before the rollout of Deployment/web begins after ";
        let is_late = |note: &Note| {
            let rest = note.text.strip_prefix(begins);
            let at = rest.and_then(|rest| rest.strip_suffix(": nothing changes (--at)"));
            let at = at.and_then(|at| at.parse::<SignedDuration>().ok());
            at == Some(SignedDuration::from_secs(end))
        };
        assert!(own.run.pass.input.notes.iter().any(is_late));
    });
}

/// Up to its beginning a rollout is not there, and once it is done, a load that stays leads to where it
/// leads if the pods are changed from the first pass. With a tolerance there would be several counts to end
/// at, and which one it is depends on the way there. Shares are rounded up, which may hold one replica more.
#[test]
fn a_rollout_parts_later_and_ends_the_same() {
    holds((1..6i32, 0..400i64, 0..3usize), |(replicas, at, which)| {
        let flags = [["--request=cpu=x3", "--request=cpu=x2", "--request=cpu=x0.5"][which]];
        let none = json!({"tolerance": "0"});
        let input = observed(
            &json!({"behavior": {"scaleUp": none, "scaleDown": none}}),
            replicas,
        );
        let loads = vec![Some(50 * replicas as u16); 60];
        let at_once = backtest(&input, &loads, &flags).unwrap();
        let rolled = rolled_out(plan(&input, &loads), at, &flags);
        let own = &rolled.candidates[0];
        assert!(own.run.timeline.rolled.unwrap().done.is_some());
        let begins = own.run.timeline.start + SignedDuration::from_secs(at);
        assert!(
            own.parted
                .as_ref()
                .is_none_or(|parted| parted.time >= begins)
        );
        let last = |own: &CandidateRun| own.run.timeline.passes.last().unwrap().replicas;
        let (own, want) = (last(own), last(&at_once.candidates[0]));
        assert!(
            own == want || own == want + 1,
            "{replicas} {flags:?} {at}: {own}, not {want}"
        );
    });
}

#[test]
fn a_rollout_says_how_it_is_played() {
    let workload = |kind: &str, spec: Value| {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace":
            "default"}, "spec": spec})
    };
    let strategy = json!({"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "0%"}});
    let unknown = Note::new(
        "the strategy of Deployment/web is unknown: the rollout is simulated with the defaults of a Deployment",
    );
    for (more, how, is_unknown) in [
        (None, "with up to 25% more and 25% fewer pods", true),
        (
            Some(json!({})),
            "with up to 25% more and 25% fewer pods",
            false,
        ),
        (
            Some(json!({ "strategy": strategy })),
            "with up to 2 more and 0% fewer pods",
            false,
        ),
        (
            Some(json!({"strategy": {"type": "Recreate"}})),
            "all pods at once (Recreate)",
            false,
        ),
        // A Deployment has no field of this name.
        (
            Some(json!({"strategy": {"type": "Recreate", "canary": {"steps": [{"pause": {}}]}}})),
            "all pods at once (Recreate)",
            false,
        ),
        (
            Some(json!({"strategy": {"type": "Sometimes"}})),
            "with up to 25% more and 25% fewer pods",
            true,
        ),
    ] {
        let more = more.map(|spec| workload("Deployment", spec));
        let input = observed_with(&json!({}), 4, more);
        let played = rolled_out(plan(&input, &[Some(200); 40]), 60, &["--request=cpu=x2"]);
        let run = &played.candidates[0].run;
        let own = run
            .overrides
            .iter()
            .find(|own| own.item == "rollout")
            .unwrap();
        assert_eq!(own.assumed, format!("from 1m on, {how}"));
        let result = own.result.as_ref().unwrap().to_string();
        assert!(result.starts_with("4 pods, done after 1m"), "{result}");
        assert_eq!(run.pass.input.notes.contains(&unknown), is_unknown, "{how}");
        let first = |note: &Note| matches!(note.subject, Subject::RolloutFirst { .. });
        assert!(!run.pass.input.notes.iter().any(first));
    }
    // A paused Deployment replaces no pods.
    let containers = json!([build::requesting("app", "100m")]);
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}});
    let paused = workload("Deployment", json!({"paused": true, "template": template}));
    let input = observed_with(&json!({}), 4, Some(paused));
    let played = rolled_out(plan(&input, &[Some(200); 40]), 60, &["--request=cpu=x2"]);
    let run = &played.candidates[0].run;
    let is_paused = "Deployment/web is paused and replaces no pods: nothing changes before spec.paused is \
                     removed (--at)";
    assert!(run.pass.input.notes.contains(&Note::new(is_paused)));
    assert!(!run.overrides.iter().any(|own| own.item == "rollout"));
    // Up to the rollout, the target has its own template.
    let workloads = &run.pass.input.surroundings.workloads;
    assert_eq!(*workloads, input.surroundings.workloads);
    assert_eq!(run.timeline.changes, played.replay.timeline.changes);
}

#[test]
fn runs_part_where_their_passes_first_differ() {
    holds(
        (specs(), loads(), 1..6i32, 20..90i32),
        |(spec, loads, replicas, target)| {
            let input = observed(&spec, replicas);
            let target = format!("--target=cpu={target}%");
            let Backtest {
                replay, candidates, ..
            } = backtest(&input, &loads, &[&target]).unwrap();
            let own = &candidates[0];
            let (one, other) = (&replay.timeline, &own.run.timeline);
            let count = one.totals.passes;
            let pairs = one.passes.iter().zip(&other.passes).take(count);
            let differs = pairs.map(|(one, other)| one.replicas != other.replicas);
            let differs: Vec<bool> = differs.collect();
            let total = differs.iter().filter(|differs| **differs).count() as i32;
            assert_eq!(own.stretches.total(), one.totals.period * total);
            match (differs.iter().position(|differs| *differs), &own.parted) {
                (None, None) => {}
                (Some(place), Some(parted)) => {
                    assert_eq!(parted.time, one.start + one.totals.period * place as i32);
                    let passes = [&one.passes[place], &other.passes[place]];
                    assert_eq!(
                        [parted.replay.to, parted.candidate.to],
                        passes.map(|it| it.replicas)
                    );
                    assert_eq!(parted.replay.from, parted.candidate.from);
                }
                other => panic!("{other:?}"),
            }
        },
    );
}

#[test]
fn totals_are_those_of_the_passes() {
    holds((specs(), loads(), 1..6i32), |(spec, loads, replicas)| {
        let input = observed(&spec, replicas);
        let plan = plan(&input, &loads);
        let mut prepared = plan.prepare(&Assumptions::default()).unwrap();
        let timeline = prepared.play().unwrap().unwrap();
        let totals = &timeline.totals;
        assert_eq!(
            prepared.totals().unwrap().as_ref(),
            Some(totals),
            "played for the totals alone"
        );
        let seconds = 30 * (loads.len() as i64 - 1);
        assert_eq!(totals.passes as i64, (seconds + 14) / 15);
        let passes = &timeline.passes[..totals.passes];
        let max = input.snapshot.hpa.spec.max_replicas;
        let time = |counts: &dyn Fn(&&kubectl_hpa::whatif::timeline::Point) -> bool| {
            totals.period * passes.iter().filter(counts).count() as i32
        };
        let sum: i64 = passes.iter().map(|pass| i64::from(pass.replicas)).sum();
        assert!((totals.replica_hours() - sum as f64 / 240.0).abs() < 1e-9);
        let counts = || passes.iter().map(|pass| pass.replicas);
        assert_eq!(Some(totals.lowest.replicas), counts().min());
        assert_eq!(Some(totals.highest.replicas), counts().max());
        assert_eq!(totals.at_max(), time(&|pass| pass.replicas >= max));
        assert_eq!(
            totals.above_max(),
            time(&|pass| pass.proposal.is_some_and(|it| it > max))
        );
        assert_eq!(
            totals.short(),
            time(&|pass| pass.proposal.is_some_and(|it| it > pass.ready as i32))
        );
        assert_eq!(totals.unanswered(), time(&|pass| !pass.is_answered));
        let end = timeline.start + totals.span();
        let rescales = timeline
            .changes
            .iter()
            .filter(|change| change.time < end)
            .count();
        assert_eq!(totals.rescales.count, rescales);
        let longest = totals
            .longest_short()
            .map_or(SignedDuration::ZERO, |it| it.length);
        assert!(longest <= totals.short() && longest.is_zero() == totals.short().is_zero());
        assert_eq!(
            Some(totals.last),
            timeline.passes.last().map(|pass| pass.replicas)
        );
    });
}

#[test]
fn a_raised_maximum_never_lowers_the_highest() {
    holds(
        (specs(), loads(), 1..6i32, 1..10i32),
        |(spec, loads, replicas, more)| {
            let input = observed(&spec, replicas);
            let max = format!("--max={}", input.snapshot.hpa.spec.max_replicas + more);
            let Backtest {
                replay, candidates, ..
            } = backtest(&input, &loads, &[&max]).unwrap();
            let [before, after] =
                [&replay, &candidates[0].run].map(|run| run.timeline.totals.highest.replicas);
            assert!(before <= after, "{before} {after} {max} {spec} {loads:?}");
        },
    );
}

#[test]
fn no_row_of_the_front_is_beaten() {
    holds((specs(), loads(), 1..6i32), |(spec, loads, replicas)| {
        let input = observed(&spec, replicas);
        let plan = plan(&input, &loads);
        let vary = ["target.cpu=30%..90%:20", "min=1,3"].map(str::to_owned);
        let search = Search::new(&vary, Assumptions::default(), None, None).unwrap();
        let tried = (0..search.count()).map(|place| search.play(&plan, place, None).unwrap());
        let as_it_is = plan
            .prepare(&Assumptions::default())
            .unwrap()
            .totals()
            .unwrap()
            .unwrap();
        let found = search
            .found(tried.collect(), Some(&as_it_is), None)
            .unwrap();
        type Cost = (f64, SignedDuration, f64);
        let cost = |totals: &Totals| (totals.replica_hours(), totals.short(), totals.shortfall());
        let beats = |one: Cost, other: Cost| {
            one != other && one.0 <= other.0 && one.1 <= other.1 && one.2 <= other.2
        };
        let played = |place: usize| found.tried[place].result.as_ref().ok().map(cost);
        let is_best = |place: usize| {
            let others = || {
                (0..found.tried.len())
                    .filter_map(played)
                    .chain([cost(&as_it_is)])
            };
            played(place).is_some_and(|own| !others().any(|other| beats(other, own)))
        };
        let mut front = found.front.clone();
        front.sort_unstable();
        let best: Vec<usize> = (0..found.tried.len())
            .filter(|place| is_best(*place))
            .collect();
        assert_eq!(front, best);
    });
}

#[test]
fn the_week_of_the_example_is_the_one_that_its_generator_makes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/backtest/week.csv");
    let week = example::week().unwrap();
    assert!(
        std::fs::read_to_string(path).unwrap() == week,
        "cargo run --example backtest > {path}"
    );
}

/// What the program says about the example of a queue, and its exit code.
fn predict(flags: &[&str], stdin: &str) -> Ran {
    common::predict("worker", "queue", flags, stdin)
}

#[test]
fn a_load_that_is_none_is_refused_with_row_and_column() {
    for (trace, message) in [
        (
            "time,cpu\n0s,800m\n30s,512Mi\n",
            "error: the trace standard input:3: column 2: not in a unit of cpu",
        ),
        (
            "time,cpu,replicas\n0s,1500m,5\n60s,,5\n",
            "error: the trace standard input:1: there is no column for queue_depth",
        ),
        (
            "time,cpu\n2026-11-20T06:00:00Z,1500m\n2026-11-20T07:00:00Z,1500m\n",
            "error: the trace standard input:1: there is no column for queue_depth",
        ),
        (
            "time,cpu,queue_depth,replicas\n0s,80%,9,0\n30s,80%,9,2\n",
            "error: the trace standard input:2: column 2: cpu: the target has no pods\n\
             hint: the run starts with 0 replicas: start the trace at a row with more, or suppose some, such as \
             --replicas 3\n",
        ),
    ] {
        let ran = predict(&["--trace", "-"], trace);
        let error = ran.refused(2);
        assert!(error.starts_with(message), "{trace}\n{error}");
    }
}

#[test]
fn a_search_that_is_none_is_refused() {
    for (flags, message) in [
        (
            &["--vary=max=9..3"][..],
            "error: --vary max=9..3: the range is empty: 9 is more than 3\n",
        ),
        (
            &["--vary=max"],
            "error: --vary max: not of the form PATH=RANGE\n",
        ),
        (
            &["--vary=max=10..1000", "--vary=min=1..9"],
            "error: --vary: 991 x 9 combinations; the limit is 2000\n",
        ),
        (
            &["--vary=max=9,10", "--vary=max=11,12"],
            "error: --vary max: given more than once\n",
        ),
        (
            &["--vary=max=9,10", "--max=12"],
            "error: --vary: maxReplicas is set twice\nhint: keep one of them\n",
        ),
        (
            &["--vary=spec.nothing=1,2"],
            "error: --vary: none of 2 combinations can be played: nothing: the spec has no such field",
        ),
        (
            &["--vary=target.memory=50%..70%:10"],
            "error: --vary: none of 3 combinations can be played, such as target.memory=50%: the ",
        ),
        (
            &["--vary=target.cpu=50%,abc"],
            "error: --vary: target.cpu=abc: ",
        ),
        (
            &["--vary=target.cpu=50Mi"],
            "error: --vary: the combination cannot be played: target.cpu=50Mi: Mi is not a unit ",
        ),
    ] {
        let flags: Vec<&str> = ["--for=10m"]
            .into_iter()
            .chain(flags.iter().copied())
            .collect();
        let ran = predict(&flags, "");
        let error = ran.refused(2);
        assert!(error.starts_with(message), "{flags:?}\n{error}");
    }
    predict(&["--vary=max=9,10"], "").fails(2, &["--for"]);
}

/// The step of the workflow for GitHub that tests a manifest against last week, with the example's files in
/// the place of the repository's, and a day for the week.
#[test]
fn the_workflow_tests_a_manifest_against_last_week() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/ci/github.md")).unwrap();
    let step = page
        .split("The HPA would have handled last week")
        .nth(1)
        .unwrap();
    let step = step.split("```").next().unwrap();
    let script = step.split_once("run: |\n").unwrap().1.replace("\\\n", " ");
    let directory = tempfile::tempdir().unwrap();
    for (from, to) in [
        ("state.yaml", "ci/peak.json"),
        ("candidate.yaml", "deploy/hpa.yaml"),
    ] {
        let to = directory.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(root.join("examples/backtest").join(from), to).unwrap();
    }
    std::fs::write(directory.path().join("ci/week.csv"), build::busy_day()).unwrap();
    let summary = directory.path().join("summary.md");
    let run = |script: &str| {
        run(Command::new("sh")
            .arg("-euc")
            .arg(script.replace("kubectl-hpa", PROGRAM))
            .current_dir(&directory)
            .env("GITHUB_STEP_SUMMARY", &summary))
    };
    run(&script).quiet().text();
    let junit = || std::fs::read_to_string(directory.path().join("week.xml")).unwrap();
    assert!(junit().contains(r#"tests="1" failures="0""#), "{}", junit());

    // A candidate with a lower maximum than the campaigns need.
    let manifest = directory.path().join("deploy/hpa.yaml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(
        &manifest,
        text.replace("maxReplicas: 30", "maxReplicas: 12"),
    )
    .unwrap();
    let ran = run(&script);
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    let stderr = ran.stderr;
    assert!(
        stderr.contains("::error file=deploy/hpa.yaml,line=2,"),
        "{stderr}"
    );
    assert!(
        stderr.contains("run.longestShort") && junit().contains(r#"failures="1""#),
        "{stderr}"
    );
    assert!(
        std::fs::read_to_string(&summary).unwrap().contains("FAILS"),
        "the step summary"
    );
}

/// A search over the example, whose expectations choose among the settings.
#[test]
fn expectations_choose_among_the_settings() {
    let vary = [
        "--for=30m",
        "--metric=queue_depth=600",
        "--vary=max=8..16:4",
        "--vary=min=2,99",
    ];
    let expecting = |expectation: &'static str| {
        let flags: Vec<&str> = vary.into_iter().chain(["--expect", expectation]).collect();
        predict(&flags, "")
    };
    let text = expecting("run.highest <= 12").quiet().text();
    insta::assert_snapshot!(text, @r#"
assuming queue_depth{queue=orders} 600 (observed 214)

default/worker → StatefulSet/worker
rules of v1.36.2, at 2026-11-21T07:00:00Z

  2 OF 6 SETTINGS MEET THE EXPECTATIONS AND ARE NOT BEATEN

EXPECTED
  holds  some setting meets run.highest <= 12: of 6 settings, 2 meet it, 1 does not, 3 cannot be played

  LOAD  as it is in the first pass, for 30m

SETTINGS, BY REPLICA-HOURS
     max  min  HOURS  SHORT  SHORTFALL  HIGHEST  RESCALES
as it is        8.82  6m15s       0.84       19    13 (0)
       8    2   3.99    30m       6.03        8     2 (0)
      12    2   5.86    30m       4.17       12     6 (0)
  1 combination does not meet the expectations.
  3 combinations cannot be played, such as max=8 and min=99: the changed spec: HorizontalPodAutoscaler.autoscaling "worker" is invalid: spec.maxReplicas: Invalid value: 8: must be greater than or equal to `minReplicas`.

TIME SHORT OVER REPLICA-HOURS
  ○ settings that no other beats   ● as it is
  29-30 ┤○                          ○
  25-28 ┤
        │
  19-21 ┤
  15-18 ┤
        │
   9-11 ┤
    5-8 ┤                                                                     ●
        │
    0-1 ┤
        └┬─────────────┬─────────────┬──────────────┬─────────────┬────────────
         4             5             6              7             8
         replica-hours; upward: minutes short
"#);
    // Without expectations, only what was played counts.
    let text = predict(&vary, "").stdout;
    assert!(text.contains("OF 3 SETTINGS ARE NOT BEATEN"), "{text}");
    // The first pass of the HPA as it is scales up.
    let flags: Vec<&str> = vary.into_iter().chain(["--exit-code"]).collect();
    assert_eq!(predict(&flags, "").code, Some(5));
    let ran = expecting("run.highest > 50").quiet();
    let none = ran
        .stdout
        .contains("NONE OF 6 SETTINGS MEETS THE EXPECTATIONS");
    assert!(none, "{}", ran.stdout);
    assert_eq!(ran.code, Some(3));

    let flags: Vec<&str> = vary
        .into_iter()
        .chain(["-o", "json", "--expect", "run.highest <= 12"])
        .collect();
    let json = predict(&flags, "").json();
    assert_eq!(published::PREDICTION.fault(&json), None);
    let search = &json["backtest"]["search"];
    let settings = search["settings"].as_array().unwrap();
    let meet = |max: &str, min: &str| {
        let is = |it: &&Value| it["set"] == json!({"max": max, "min": min});
        settings.iter().find(is).unwrap()["meetsExpectations"].clone()
    };
    assert_eq!(search["combinations"], 6);
    assert_eq!(
        [meet("12", "2"), meet("16", "2"), meet("16", "99")],
        [json!(true), json!(false), Value::Null]
    );
    assert!(
        settings
            .iter()
            .filter(|it| it["best"] == true)
            .all(|it| it["meetsExpectations"] == true)
    );
}

#[test]
fn a_unit_is_only_behind_a_number() {
    let vary = "--vary=behavior.scaleDown.stabilizationWindowSeconds=60,null";
    let text = predict(
        &["--for=30m", "--metric=queue_depth=60", "-o=json", vary],
        "",
    )
    .stdout;
    let shown = predict(&["--for=30m", "--metric=queue_depth=60", vary], "").stdout;
    assert!(text.contains("null") && !shown.contains("nulls"), "{shown}");
}

/// A candidate may have a metric that the HPA does not have, and the other way round; a column that neither
/// has is refused.
#[test]
fn a_candidate_may_have_other_metrics() {
    let queue = |more: &[Value]| {
        let metrics = [
            more,
            &[build::external("queue_depth", &build::average("10"))],
        ]
        .concat();
        json!({ "metrics": metrics })
    };
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let cpu = build::resource("cpu", &build::utilization(50));
    let base = json!({"minReplicas": 1, "maxReplicas": 12});
    let both = build::with(base.clone(), &queue(std::slice::from_ref(&cpu)));
    let only_cpu = build::with(base, &json!({ "metrics": [cpu] }));
    let items = |spec: &Value| {
        let pod = [build::pod("web-0"), build::pod_metrics("web-0", "40m")];
        let state = [build::hpa(spec), build::scale(1), build::state(&json!({}))];
        build::list(state.into_iter().chain(pod))
    };
    std::fs::write(path("both.json"), items(&both)).unwrap();
    std::fs::write(path("cpu.json"), items(&only_cpu)).unwrap();
    std::fs::write(path("hpa-both.json"), build::hpa(&both).to_string()).unwrap();
    std::fs::write(path("hpa-cpu.json"), build::hpa(&only_cpu).to_string()).unwrap();
    let run_of = |flags: &[&str], trace: &str| {
        run(program()
            .args(["predict", "web", "-o", "json"])
            .args(flags)
            .write_stdin(trace))
    };
    let run = |state: &str, candidate: &str, trace: &str| {
        let (state, candidate) = (path(state), path(candidate));
        run_of(&["-f", &state, "--hpa", &candidate, "--trace=-"], trace)
    };
    let trace = "time,cpu,queue_depth\n0s,40m,20\n5m,40m,80\n10m,40m,80\n";
    for (state, candidate, highest) in [
        ("cpu.json", "hpa-both.json", [1, 8]),
        ("both.json", "hpa-cpu.json", [8, 1]),
    ] {
        let ran = run(state, candidate, trace).quiet();
        let json = ran.answer();
        let runs = [
            &json["backtest"]["replay"],
            &json["backtest"]["candidates"][0],
        ];
        let of = |run: &Value| run["totals"]["highest"]["replicas"].as_i64().unwrap();
        assert_eq!(runs.map(of), highest, "{state}");
        // The load has what the input lacks.
        let has_all = !ran.stdout.contains("the input has no");
        assert!(has_all, "{}", ran.stdout);
    }
    let trace_of_other = "time,cpu,other\n0s,1m,1\n5m,1m,1\n";
    run("cpu.json", "hpa-both.json", trace_of_other)
        .fails(2, &[":1: column 3: the HPA has no such metric"]);
    // The load of a state may be of a candidate that is not given again.
    let saved = path("saved.json");
    let [state, candidate] = ["cpu.json", "hpa-both.json"].map(path);
    let own = ["-f", &state, "--hpa", &candidate, "--save", &saved];
    run_of(&[&own[..], &["--trace=-"]].concat(), trace).text();
    let hint = "give the candidate with --hpa, or another load with --trace";
    run_of(&["-f", &saved], "").fails(2, &[hint]);
}

/// The load of a column or a flag is the same in all runs, whether their metrics use whole pods or containers: the
/// unchanged HPA says which it is.
#[test]
fn a_candidate_uses_another_part_of_the_same_load() {
    let of = |container: &str| build::resource_of("cpu", container, &build::utilization(50));
    let spec = |metrics: &[Value]| json!({"minReplicas": 1, "maxReplicas": 20, "metrics": metrics});
    let pods = build::resource("cpu", &build::utilization(50));
    let specs = [
        ("pods", spec(&[pods])),
        ("app", spec(&[of("app")])),
        ("both", spec(&[of("app"), of("sidecar")])),
        ("sidecar", spec(&[of("sidecar")])),
        (
            "queue",
            spec(&[build::external("queue", &build::average("30"))]),
        ),
    ];
    let directory = tempfile::tempdir().unwrap();
    let path = |name: String| directory.path().join(name).display().to_string();
    let containers = ["app", "sidecar"].map(|name| build::requesting(name, "100m"));
    let usage = [("app", "75m"), ("sidecar", "25m")]
        .map(|(name, used)| json!({"name": name, "usage": {"cpu": used}}));
    let pod = [
        build::with(
            build::pod("web-0"),
            &json!({"spec": {"containers": containers}}),
        ),
        build::with(
            build::pod_metrics("web-0", "0"),
            &json!({"containers": usage}),
        ),
    ];
    for (name, spec) in &specs {
        let items = [build::hpa(spec), build::scale(1), build::state(&json!({}))];
        let state = build::list(items.into_iter().chain(pod.clone()));
        std::fs::write(path(format!("{name}.json")), state).unwrap();
        std::fs::write(
            path(format!("hpa-{name}.json")),
            build::hpa(spec).to_string(),
        )
        .unwrap();
    }
    // Half the requests of one pod are 100m, those of one container 50m.
    let play = |of: &str, flags: &[&str], trace: &str| -> Result<Value, String> {
        let state = path(format!("{of}.json"));
        let ran = run(program()
            .args(["predict", "web", "-f", &state])
            .args(["--tolerance=0", "-o", "json"])
            .args(flags)
            .write_stdin(trace.to_owned()));
        if ran.code != Some(0) {
            return Err(ran.stderr);
        }
        Ok(ran.json())
    };
    let highest = |run: &Value| run["totals"]["highest"]["replicas"].as_i64().unwrap();
    let end = |load: &str, of: &str, candidate: &str| -> Result<[i64; 2], String> {
        let candidate = path(format!("hpa-{candidate}.json"));
        let mut flags = vec!["--hpa", &candidate];
        let mut trace = String::new();
        if load.starts_with("--") {
            // One pass takes it for the same usage.
            flags.push(load);
            let next = play(of, &flags, "");
            flags.push("--for=20m");
            let first = play(of, &flags, "")?;
            match next {
                Ok(next) => assert_eq!(next["proposal"], first["proposal"], "{load} {of}"),
                Err(error) => assert!(error.contains("the HPA has no metric"), "{error}"),
            }
        } else {
            flags.push("--trace=-");
            trace = format!("time,{load}\n0s,100m\n1m,800m\n20m,800m\n");
        }
        let backtest = &play(of, &flags, &trace)?["backtest"];
        Ok([&backtest["replay"], &backtest["candidates"][0]].map(highest))
    };
    for (load, of, candidate, want) in [
        // Of 800m, the app uses three quarters, as observed.
        ("cpu", "pods", "app", [8, 12]),
        ("cpu", "pods", "both", [8, 12]),
        // Here it is 800m of the app; the sidecar uses 25m.
        ("cpu", "app", "pods", [16, 9]),
        ("cpu", "app", "both", [16, 16]),
        ("Resource/cpu", "app", "pods", [12, 8]),
        ("Resource/cpu", "both", "app", [12, 12]),
        ("app=cpu", "pods", "both", [9, 16]),
        ("--cpu=400m", "pods", "app", [4, 6]),
        ("--cpu=400m", "app", "pods", [8, 5]),
        ("--cpu=app=300m", "pods", "app", [4, 6]),
        ("--cpu=app=300m", "app", "pods", [6, 4]),
        // Nothing in the candidate uses it.
        ("--cpu=sidecar=100m", "pods", "app", [2, 2]),
        ("--metric=queue=90", "pods", "queue", [1, 3]),
        ("--metric=queue=90", "queue", "pods", [3, 1]),
        ("--pod=web-0:cpu=400m", "pods", "app", [4, 6]),
    ] {
        let found = end(load, of, candidate);
        assert_eq!(found, Ok(want), "{load} {of} {candidate}");
    }
    for candidate in ["pods", "app"] {
        let error = end("cpu", "both", candidate).unwrap_err();
        let said = "it is ambiguous: cpu in app, cpu in sidecar";
        assert!(error.contains(said), "{error}");
    }
    // If the unchanged HPA has no such metric, the candidates say together which it is, in any order.
    let of_candidates = |load: &str, candidates: [&str; 2]| {
        let files = candidates.map(|own| path(format!("hpa-{own}.json")));
        let hpas = files.iter().flat_map(|file| ["--hpa", file]);
        let flags: Vec<&str> = hpas
            .chain(["--metric=queue=30", "--for=20m", load])
            .collect();
        let json = play("queue", &flags, "")?;
        let runs = json["backtest"]["candidates"].as_array().unwrap();
        Ok::<_, String>(Vec::from_iter(runs.iter().map(highest)))
    };
    for (load, candidates, want) in [
        ("--cpu=400m", ["pods", "app"], Ok(vec![4, 6])),
        ("--cpu=400m", ["app", "pods"], Ok(vec![6, 4])),
        ("--cpu=400m", ["app", "sidecar"], Err("cpu is ambiguous")),
        ("--cpu=sidecar=100m", ["app", "sidecar"], Ok(vec![2, 2])),
    ] {
        let found = of_candidates(load, candidates);
        match (&found, want) {
            (Err(error), Err(said)) => assert!(error.contains(said), "{error}"),
            (_, want) => assert_eq!(found, want.map_err(str::to_owned), "{load} {candidates:?}"),
        }
    }
    // The candidate lacks it in the words of the flag, or the container that the unchanged HPA means by it.
    for (candidate, said) in [
        ("queue", "the HPA has no metric cpu\nhint: it has queue"),
        (
            "sidecar",
            "the HPA has no metric cpu in app\n\
             hint: cpu alone is cpu in app, as in the unchanged HPA: name the container",
        ),
    ] {
        let file = path(format!("hpa-{candidate}.json"));
        let error = play("app", &["--hpa", &file, "--cpu=400m"], "").unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    // It is left out of the run that lacks such a metric, of which another one is unknown.
    let error = end("--metric=Resource/cpu=400m", "app", "queue").unwrap_err();
    assert!(
        error.contains("no ExternalMetricValueList for queue"),
        "{error}"
    );
    for (of, flag, column) in [
        ("app", "--metric=Resource/cpu=400m", "app=cpu"),
        ("pods", "--cpu=app=300m", "cpu"),
        ("pods", "--cpu=400m", "app=cpu"),
    ] {
        let state = path(format!("{of}.json"));
        run(program()
            .args(["predict", "web", "-f", &state, flag, "--trace=-"])
            .write_stdin(format!("time,{column}\n0s,300m\n5m,300m\n")))
        .fails(2, &["is also set by a flag"]);
    }
    // What a container uses of whole pods of which nothing was measured is unknown.
    let state = path("unmeasured.json".to_owned());
    let items = [
        build::hpa(&specs[1].1),
        build::scale(1),
        build::state(&json!({})),
    ];
    std::fs::write(
        &state,
        build::list(items.into_iter().chain([pod[0].clone()])),
    )
    .unwrap();
    for load in [
        "--metric=Resource/cpu=400m",
        "--pod=web-0:Resource/cpu=400m",
        "time,Resource/cpu\n0s,400m\n5m,400m\n",
        "time,Resource/cpu\n0s,100%\n5m,100%\n",
        "time,Resource/cpu\n0s,missing\n1m,400m\n",
    ] {
        let flag = if load.starts_with("--") {
            load
        } else {
            "--trace=-"
        };
        run(program()
            .args(["predict", "web", "-f", &state, flag])
            .write_stdin(load))
        .fails(2, &["cpu: the part of each container is unknown"]);
    }
}

/// What is not known stays so in a search, and flags that a load of the past overrules are refused.
#[test]
fn nothing_of_a_search_or_of_the_past_is_taken_for_known() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shop");
    let run = |flags: &[&str], stdin: &str| {
        run(program()
            .args(["predict", "web", "-f", shop])
            .args(flags)
            .write_stdin(stdin))
    };
    let search = ["--for=10m", "--vary=max=10,12", "--expect=run.short < 1h"];
    let ran = run(&search, "");
    let told = "2 combinations may or may not meet the expectations";
    let says = ran.stdout.contains(told);
    assert_eq!((ran.code, says), (Some(4), true), "{}", ran.stdout);
    let past = "time,cpu\n2026-11-01T00:00:00Z,300m\n2026-11-01T01:00:00Z,500m\n";
    run(&["--trace=-", "--recommendation=20@1m"], past).fails(2, &["--recommendation"]);
}

/// Pods that do not count when the state is read do not stay so in all of a past load, except as many as were not ready
/// then.
#[test]
fn a_past_load_begins_with_pods_that_are_ready() {
    let healthy = observed(&json!({}), 4);
    let mut broken = healthy.clone();
    let pods = &mut broken.snapshot.pods;
    pods[2].ready.as_mut().unwrap().status = ConditionStatus::False;
    broken.snapshot.pod_metrics.remove(3);
    let run = |input: &Input, day: u8, unready: Option<i32>, assumed: &[&str]| {
        let mut text = "time,cpu,replicas,ready\n".to_owned();
        for (time, load, count) in [("06:00", 200, 4), ("06:30", 400, 8), ("07:00", 400, 8)] {
            let ready = unready.map_or_else(String::new, |own| (count - own).to_string());
            writeln!(text, "2026-11-{day}T{time}:00Z,{load}m,{count},{ready}").unwrap();
        }
        let options = TimelineOptions {
            trace: Some(Arc::new(Trace::read(text.as_bytes(), "the load").unwrap())),
            times: TIMES,
            ..TimelineOptions::default()
        };
        let plan = Plan::new(options, input.clone(), true);
        let words = ["web"].iter().chain(assumed);
        let assumptions = Assumptions::read(&common::typed(words).overrides).unwrap();
        let ran = plan.run(&assumptions, &[]).unwrap();
        let Run { timeline, pass, .. } = ran.unwrap().replay;
        let stays: Vec<Box<str>> = timeline.stays.iter().map(|own| own.pod.clone()).collect();
        (timeline.passes, stays, pass.input.notes)
    };
    let (as_healthy, ..) = run(&healthy, 19, None, &[]);
    let rest = "assumed to be ready and measured at the start of the load";
    let both = format!("web-2 and web-3 are now unready or without metrics, and are {rest}");
    let last = format!("web-3 is now unready or without metrics, and is {rest}");
    for (unready, stays, note) in [
        (None, vec![], &both),
        (Some(0), vec![], &both),
        (Some(1), vec!["web-2".into()], &last),
    ] {
        let (passes, stay, notes) = run(&broken, 19, unready, &[]);
        assert_eq!(passes == as_healthy, stays.is_empty(), "{unready:?}");
        assert_eq!(stay, stays, "{unready:?}");
        assert_eq!(notes.last().unwrap().text, *note, "{unready:?}");
    }
    // They keep their names.
    let flags = ["--unready=web-2", "--missing=web-3"];
    let (passes, ..) = run(&broken, 19, Some(0), &flags);
    assert_eq!(passes, run(&healthy, 19, None, &flags).0);
    assert_ne!(passes, as_healthy);
    // A load that begins when the state was read begins with that state.
    let (_, stays, notes) = run(&broken, 21, Some(0), &[]);
    assert_eq!(stays, ["web-2".into(), "web-3".into()]);
    assert_eq!(notes, []);
}

/// In the JSON, too, what is wrong with one candidate is not said of another.
#[test]
fn each_candidate_has_its_own_findings() {
    let rendered = "tests/charts/rendered";
    let json = run(program()
        .args("predict web -n shop -f tests/charts/state.yaml --for 5m -o json".split(' '))
        .args(["--hpa", &format!("{rendered}/replicas.yaml")])
        .args(["--hpa", &format!("{rendered}/rivals.yaml")]))
    .json();
    let [replicas, rivals] = [0, 1].map(|place| &json["backtest"]["candidates"][place]["findings"]);
    assert_eq!(*replicas, json["findings"]);
    let has = |findings: &Value, code: &str| {
        findings
            .as_array()
            .expect("findings")
            .iter()
            .any(|own| own["code"] == code)
    };
    let found =
        [replicas, rivals].map(|own| ["other-writer", "shared-pods"].map(|it| has(own, it)));
    assert_eq!(found, [[true, false], [false, true]]);
}

/// What a run rests on is said of a candidate and of combinations, too.
#[test]
fn what_every_candidate_assumes_or_lacks_is_said() {
    let chart = "predict web -n shop -f tests/charts/state.yaml";
    let week = "predict web -n shop -f examples/backtest/state.yaml";
    let keda = "predict keda-hpa-web -n shop -f tests/keda/state.yaml";
    let (several, rendered) = (format!("{chart} --for 5m"), "tests/charts/rendered");
    for (flags, code, said) in [
        (
            format!(
                "{week} --hpa examples/chart/rendered.yaml --for 20m --vary max=5,9 --fail-on other-writer"
            ),
            2,
            "--fail-on other-writer is about one candidate, and --vary tries several",
        ),
        (
            format!("{week} --for 20m --vary max=3,9 --fail-on above-max"),
            2,
            "--fail-on above-max is about one candidate, and --vary tries several",
        ),
        (
            format!("{week} --cpu 20% --min 5 --for 20m --vary max=10,11 --exit-code"),
            2,
            "--exit-code is about one candidate, and --vary tries several",
        ),
        (
            format!("{week} --hpa examples/chart/rendered.yaml --for 20m --vary max=5,9"),
            0,
            "examples/chart/rendered.yaml: no pod runs proxy",
        ),
        // Also if the first one cannot be played.
        (
            format!("{week} --hpa examples/chart/rendered.yaml --for 20m --vary min=99,2"),
            0,
            "examples/chart/rendered.yaml: no pod runs proxy",
        ),
        (
            format!("{week} --request cpu=200m --for 20m --at 5m --vary max=5,9"),
            0,
            "All of them have --request cpu=200m and --at 5m.",
        ),
        (
            format!("{keda} --hpa tests/keda/scaledobject.yaml --for 10m"),
            0,
            "Not certain: a run depends on metrics that could not be read",
        ),
        (
            format!("{chart} --hpa tests/charts/rendered/replicas.yaml --for 10m"),
            0,
            "  other-writer: ",
        ),
        (
            format!("{chart} --hpa tests/charts/rendered/rivals.yaml --for 10m"),
            0,
            "  shared-pods: 4 pods",
        ),
        // Also of further candidates, by name.
        (
            format!("{several} --hpa {rendered}/deployment.yaml --hpa {rendered}/sidecar.yaml"),
            0,
            "  tests/charts/rendered/sidecar.yaml: no pod runs proxy yet",
        ),
        (
            format!("{several} --hpa {rendered}/replicas.yaml --hpa {rendered}/rivals.yaml"),
            0,
            "  shared-pods: rivals.yaml: 4 pods",
        ),
        (
            format!(
                "{several} --hpa {rendered}/replicas.yaml --hpa {rendered}/rivals.yaml -o wide --ignore other-writer"
            ),
            0,
            "  shared-pods: rivals.yaml: 4 pods",
        ),
        (
            format!("{chart} --request app=cpu=0"),
            0,
            "has a request of 0, so nothing is scaled",
        ),
    ] {
        let ran = run(program().args(flags.split(' ')));
        assert!(ran.shown().contains(said), "{flags}: {}", ran.shown());
        assert_eq!(ran.code, Some(code), "{flags}");
    }
}

/// A record may wake a target that has 0 replicas at first.
#[test]
fn a_target_that_is_woken_is_not_switched_off() {
    let external = build::external("queue", &build::average("10"));
    let base = json!({"minReplicas": 1, "maxReplicas": 12, "metrics": [external]});
    let value = json!({"metricName": "queue", "value": "0", "timestamp": START});
    let items = vec![
        build::hpa(&base),
        build::scale(0),
        build::state(&json!({})),
        build::external_values([value]),
    ];
    let mut state = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    state.write_all(build::list(items).as_bytes()).unwrap();
    let text = |counts: [&str; 3]| {
        let rows = [0, 1, 2, 5].map(|minute: usize| {
            let load = if minute < 2 { 0 } else { 50 };
            format!("{minute}m,{load},{}\n", counts[minute.min(2)])
        });
        let ran = run(program()
            .args(["predict", "web", "--trace=-", "-f"])
            .arg(state.path())
            .write_stdin(format!("time,queue,replicas\n{}", rows.concat())));
        ran.stdout
    };
    let off = "THE HPA IS SWITCHED OFF: ITS TARGET HAS 0 REPLICAS THROUGHOUT";
    assert!(text(["0"; 3]).contains(off));
    let slept = text(["0", "0", "3"]);
    assert!(slept.contains("REPLAY: ") && !slept.to_lowercase().contains("switched off"));
    // Before the record begins, the replay is at 0 by itself.
    let was_off = text(["", "0", "3"]);
    assert!(
        was_off.contains(", SWITCHED OFF AT 0 FOR 1m\n"),
        "{was_off}"
    );
    let mut rows = was_off.lines();
    let row = rows.find(|line| line.starts_with("switched off at 0"));
    assert!(row.is_some_and(|row| row.ends_with("  1m")), "{was_off}");
}

/// In a replay that goes to 0 because the record does, the check leaves out those passes and what follows them.
#[test]
fn replicas_that_the_replay_takes_from_the_record_are_no_agreement() {
    let external = build::external("queue", &build::average("10"));
    let value = json!({"metricName": "queue", "value": "20", "timestamp": START});
    let trace = |counts: [&str; 3]| {
        let count = |minute: usize| counts[(minute / 20).min(2)];
        let rows = (0..=60).map(|minute| format!("{minute}m,20,{}\n", count(minute)));
        format!("time,queue,replicas\n{}", rows.collect::<String>())
    };
    let none = "";
    // A change may lead to another for 10m15s. Up to a sample earlier, the next replicas are right, too.
    for (min, counts, flags, left_out, equal, warning) in [
        (1, ["2", "2", "2"], none, 0, 240, none),
        (
            1,
            ["2", "3", "2"],
            none,
            0,
            160 + 4,
            "for 68.3% of the time",
        ),
        (1, ["2", "0", "2"], none, 80 + 41, 119, none),
        (
            0,
            ["2", "0", "2"],
            none,
            0,
            160 + 4,
            "for 68.3% of the time",
        ),
        (1, ["0", "0", "0"], none, 240, 0, none),
        (
            1,
            ["0", "", "2"],
            none,
            160 + 41,
            39,
            "only 9m45s of the 20m",
        ),
        (
            1,
            ["", "0", "2"],
            none,
            160 + 41,
            39,
            "only 9m45s of the 20m",
        ),
        // This run does not follow the record to 0.
        (
            1,
            ["0", "2", "2"],
            "--replicas=2",
            0,
            160 + 4,
            "for 68.3% of the time",
        ),
    ] {
        let base = json!({"minReplicas": min, "maxReplicas": 12, "metrics": [external]});
        let items = vec![
            build::hpa(&base),
            build::scale(2),
            build::state(&json!({"featureGates": {"HPAScaleToZero": true}})),
            build::external_values([value.clone()]),
        ];
        let mut state = tempfile::NamedTempFile::with_suffix(".json").unwrap();
        state.write_all(build::list(items).as_bytes()).unwrap();
        let replayed = |format: &[&str]| {
            run(program()
                .args(["predict", "web", "--trace=-"])
                .args(format)
                .args(flags.split_whitespace())
                .arg("-f")
                .arg(state.path())
                .write_stdin(trace(counts)))
        };
        let told = replayed(&[]).stdout;
        let is_warned = told.contains("Warning: the replay ");
        assert!(
            told.contains(warning) && is_warned != warning.is_empty(),
            "{counts:?}: {told}"
        );
        let answer = replayed(&["-o", "json"]).answer();
        let check = &answer["backtest"]["check"];
        assert_eq!(
            (&check["leftOut"], &check["equal"]),
            (&json!(left_out), &json!(equal)),
            "{min}, {counts:?}: {check:#}"
        );
    }
}
