//! Timelines compared with runs of a real v1.36.2 controller (`tests/trajectories`): from each recorded
//! pass on, with its memory and the load of that time, the replicas must match. And compared with a
//! published experiment.
#![allow(clippy::print_stdout, reason = "the shares are printed")]
#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

use crate::common::ran::{Ran, program, run};
use crate::common::{self, recorded, trajectories};

use std::collections::HashSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::engine;
use kubectl_hpa::engine::decision::MetricResult;
use kubectl_hpa::memory::{Memory, Remembered};
use kubectl_hpa::outlook::Outlook;
use kubectl_hpa::snapshot::Snapshot;
use kubectl_hpa::snapshot::hpa::MetricSpec;
use kubectl_hpa::snapshot::pod::{ConditionStatus, Phase, Pod};
use kubectl_hpa::whatif::overrides::set_metric;
use kubectl_hpa::whatif::timeline::{TimelineOptions, Trace};
use kubectl_hpa::whatif::value::{AssumedValue, Ratio};
use trajectories::{Load, NAMES, Pass, TIMES, moments, passes, replay, trace};

/// The number of passes to play from each pass.
const LENGTH: usize = 20;

/// How many passes matched the recording.
#[derive(Debug, Default)]
struct Share {
    timelines: usize,
    played: usize,
    same: usize,
    asked: usize,
    /// For timelines with a constant load, the passes while the load was in fact constant.
    held: usize,
    held_same: usize,
}

/// Whether the load at the first moment after a time differs from the last one before, by
/// more than rounding.
fn changes(loads: &[Load], time: Timestamp) -> bool {
    let after = loads.partition_point(|load| load.time < time);
    let Some([before, after]) = loads.get(after - 1..=after) else {
        return true;
    };
    let [one, other] = [before, after].map(|load| load.cpu.unwrap_or(0));
    (one - other).abs() * 100 > one.max(other) || before.queue != after.queue
}

fn check(name: &str) -> Share {
    let passes = passes(name);
    let moments: Vec<&Snapshot> = moments(name).iter().map(|input| &input.snapshot).collect();
    let loads: Vec<Load> = moments.iter().map(|moment| Load::of(moment)).collect();
    let memories = replay(name);
    let mut share = Share::default();
    for (
        place,
        Pass {
            time,
            proposal,
            from,
            ..
        },
    ) in passes.iter().enumerate()
    {
        let rest = &passes[place..passes.len().min(place + LENGTH)];
        let before = moments.iter().rev().find(|moment| moment.now < *time);
        let goes_on = rest.len() > 1 && loads.iter().any(|load| load.time > *time);
        let Some(before) = before.filter(|_| goes_on) else {
            continue;
        };
        let mut snapshot = Snapshot::clone(before);
        snapshot.now = *time;
        let decision = engine::reconcile(&snapshot, &memories[place].0);
        let replicas = snapshot.scale.as_ref().unwrap().spec_replicas;
        // Metrics change between a moment and the pass.
        if replicas != *from || decision.proposal != Some(*proposal) {
            continue;
        }
        let span = rest.last().unwrap().time.duration_since(*time);
        snapshot.controller.sync_period = span / (rest.len() as i32 - 1);
        let play = |trace| {
            let plan = TimelineOptions {
                span: Some(span),
                trace,
                times: TIMES,
                ..TimelineOptions::default()
            };
            let player = common::player(plan, &mut snapshot.clone()).unwrap();
            player.play(&snapshot, &decision).unwrap().unwrap().passes
        };
        share.timelines += 1;
        let later = loads.iter().filter(|load| load.time > *time);
        let points = play(Some(Arc::new(trace(later, *time))));
        let mut as_asked = true;
        for (point, pass) in points.iter().zip(rest) {
            share.played += 1;
            share.same += usize::from(point.replicas == pass.to);
            share.asked += usize::from(point.proposal == Some(pass.proposal));
            as_asked &= point.proposal == Some(pass.proposal);
            assert!(
                point.replicas == pass.to || !as_asked,
                "{name} from {time}: {point:?}, but {pass:?}"
            );
        }
        let as_before = |(_, pass): &(_, &Pass)| {
            let moments = loads
                .iter()
                .filter(|load| load.time > *time && load.time <= pass.time);
            !moments
                .map(|load| load.time)
                .chain([pass.time])
                .any(|time| changes(&loads, time))
        };
        for (point, pass) in play(None).iter().zip(rest).take_while(as_before) {
            share.held += 1;
            share.held_same += usize::from(point.replicas == pass.to);
        }
    }
    share
}

/// Differences begin with what the metrics ask for: the moments of the recording are 5 s apart, and
/// the load changes and peaks in between, which a pass may have seen.
#[test]
fn recorded_runs_come_out_as_they_did() {
    let percent = |same: usize, played: usize| 100.0 * same as f64 / played.max(1) as f64;
    for (name, at_least) in NAMES.into_iter().zip([100.0, 100.0, 97.0, 100.0]) {
        let Share {
            timelines,
            played,
            same,
            asked,
            held,
            held_same,
        } = check(name);
        println!(
            "{name}: {timelines} timelines of up to {LENGTH} passes, {:.1} % of {played} with the \
             recorded replicas, {:.1} % with the proposal; while the load stays as it is, {:.1} % \
             of {held}",
            percent(same, played),
            percent(asked, played),
            percent(held_same, held),
        );
        assert!(timelines > 50 && percent(asked, played) >= 90.0, "{name}");
        assert!(percent(same, played) >= at_least, "{name}");
        assert!(held > 100 && percent(held_same, held) >= 98.0, "{name}");
    }
}

/// While the metrics ask for the same, a timeline equals what a pass predicts about later passes, which
/// is computed differently: for every recorded HPA and memory, with one metric that asks for a count
/// regardless of the pods.
#[test]
fn a_timeline_is_what_is_foretold_of_a_load_that_stays() {
    let (mut compared, mut changed) = (0, 0);
    let inputs = recorded::inputs().iter();
    for ((case, input), asked) in inputs.flat_map(|it| [1, 7, 40].map(|n| (it, n))) {
        let mut input = input.clone();
        let snapshot = &mut input.snapshot;
        (snapshot.hpa.spec.metrics, snapshot.metrics) = trajectories::asking_for(asked);
        snapshot.controller.tolerance = 0.0;
        if let Some(rules) = &mut snapshot.hpa.spec.behavior {
            let rules = rules.scale_up.iter_mut().chain(&mut rules.scale_down);
            rules.for_each(|rules| rules.tolerance = None);
        }
        snapshot.controller.sync_period = SignedDuration::from_secs(15);
        let remembered = Remembered::of(&input);
        let snapshot = &mut input.snapshot;
        let first = engine::reconcile(snapshot, &remembered.likely);
        let foretold = Outlook::new(snapshot, &remembered, &first).upcoming;
        let small = snapshot
            .scale
            .as_ref()
            .is_ok_and(|scale| (1..1000).contains(&scale.spec_replicas));
        if first.proposal.is_none() || !small || snapshot.hpa.spec.max_replicas > 1000 {
            continue;
        }
        let span = SignedDuration::from_mins(20);
        let plan = TimelineOptions {
            span: Some(span),
            times: TIMES,
            ..TimelineOptions::default()
        };
        let player = common::player(plan, snapshot).unwrap();
        let timeline = player.play(snapshot, &first).unwrap().unwrap();
        let end = snapshot.now.checked_add(span).unwrap();
        let foretold: Vec<(i32, Timestamp)> = foretold
            .iter()
            .map(|it| (it.replicas, it.time))
            .filter(|it| it.1 <= end)
            .collect();
        let played = timeline.changes.iter().map(|it| (it.to, it.time));
        let played: Vec<_> = played
            .filter(|it| it.1 > snapshot.now)
            .take(foretold.len().max(31))
            .collect();
        assert_eq!(
            played, foretold,
            "{} asking for {asked}: {first:?}",
            case.name
        );
        compared += 1;
        changed += usize::from(!foretold.is_empty());
    }
    println!("{compared} timelines as foretold, {changed} of them with changes");
    assert!(compared > 500 && changed > 100, "{compared} {changed}");
}

/// Returns what each measured pod of the target that is ready, or that is not, uses of a metric.
fn usage(snapshot: &Snapshot, spec: &MetricSpec, ready: bool) -> Vec<Option<i64>> {
    let selector = &snapshot.scale.as_ref().unwrap().selector;
    let is_ready = |pod: &Pod| {
        let ready = pod.ready.as_ref();
        pod.deletion_timestamp.is_none()
            && pod.phase == Phase::Running
            && ready.is_some_and(|it| it.status == ConditionStatus::True)
    };
    let own = snapshot.pods.iter().filter(|pod| {
        let is_there = !matches!(pod.phase, Phase::Failed | Phase::Succeeded);
        selector.matches(&pod.labels) && is_there && is_ready(pod) == ready
    });
    let names: HashSet<&str> = own.map(|pod| &*pod.name).collect();
    let items = snapshot.pod_metrics.iter();
    items
        .filter(|item| names.contains(&*item.name))
        .map(|item| {
            let all = item.containers.iter();
            let mut own = all
                .filter(|own| spec.container().is_none_or(|only| *own.name == *only))
                .peekable();
            own.peek()?;
            own.map(|own| own.get(spec.name())).sum()
        })
        .collect()
}

/// A value in the first row of a trace has the ready pods use as much as the same value of a flag, whatever the others
/// use: for every recorded HPA whose ready pods are all measured with the metric.
#[test]
fn a_trace_begins_as_with_the_flag() {
    let (mut compared, mut with_others) = (0, 0);
    let values = [
        ("50%", AssumedValue::Share(Ratio::percent(50))),
        ("250%", AssumedValue::Share(Ratio::percent(250))),
        ("x3", AssumedValue::Scale(Ratio::percent(300))),
    ];
    let inputs = recorded::inputs().iter();
    for ((case, input), (text, value)) in inputs.flat_map(|it| values.iter().map(move |v| (it, v)))
    {
        let snapshot = &input.snapshot;
        let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
        for (place, spec) in metrics.filter(|(_, spec)| spec.is_resource()) {
            let container = spec.container().map(|own| format!("{own}="));
            let column = container.unwrap_or_default() + spec.name();
            let table = format!("time,{column}\n0s,{text}\n");
            let trace = Trace::read(table.as_bytes(), "the load").unwrap();
            let plan = TimelineOptions {
                span: Some(SignedDuration::from_mins(1)),
                trace: Some(Arc::new(trace)),
                times: TIMES,
                ..TimelineOptions::default()
            };
            let [mut flagged, mut traced] = [(); 2].map(|()| snapshot.clone());
            let is_refused = set_metric(&mut flagged, place, spec, value).is_err()
                || common::player(plan, &mut traced).is_err();
            // What fails whatever the pods use stays as it is with a flag.
            let after = engine::reconcile(&flagged, &Memory::default());
            let mut steps = after.metric(place).into_iter();
            if is_refused || !steps.any(|step| !matches!(step.result, MetricResult::Error(_))) {
                continue;
            }
            let [observed, by_flag, by_trace] =
                [snapshot, &flagged, &traced].map(|own| usage(own, spec, true));
            if observed.is_empty() || observed.contains(&None) {
                continue;
            }
            let [sum, same] = [&by_flag, &by_trace].map(|own| own.iter().flatten().sum::<i64>());
            // A share is rounded up for each of up to three containers.
            assert!(
                by_flag.len() == by_trace.len()
                    && (sum - same).unsigned_abs() as usize <= 3 * by_flag.len(),
                "{}: {column} {text}: {by_trace:?} instead of {by_flag:?}",
                case.name
            );
            compared += 1;
            let others = usage(snapshot, spec, false);
            with_others += usize::from(others.iter().flatten().any(|used| *used > 0));
        }
    }
    println!("{compared} as with the flag, {with_others} of them with others");
    assert!(
        compared > 400 && with_others > 100,
        "{compared} {with_others}"
    );
}

#[test]
fn a_run_that_ends_at_0_with_scaling_disabled_says_so() {
    let ran = common::predict("report", "shop", &["--for=10m"], "");
    let end = "\n  It stays at 0 throughout.\n  At 0 the HPA is off, whatever the load, until something else sets 1 or more.\n";
    assert!(ran.stdout.contains(end), "{}", ran.stdout);
}

/// Returns what the program says about a load test, and its exit code.
fn predict(flags: &[&str], stdin: &str) -> Ran {
    common::predict("nginx-deployment", "nginx", flags, stdin)
}

/// Twice the usage of the current pods, in ten minutes, from a table on standard input; the same with
/// dates.
#[test]
fn a_trace_is_read_from_standard_input_and_plays_to_its_end() {
    for rows in [
        "0,40%\n600,\n",
        "2026-11-21T07:06:00Z,40%\n2026-11-21T07:16:29Z,\n",
    ] {
        let json = predict(
            &["--trace", "-", "-o", "json"],
            &format!("time,cpu\n{rows}"),
        )
        .quiet()
        .answer();
        assert_eq!(json["overrides"][0]["assumed"], "40% of the request");
        assert_eq!(json["timeline"]["for"], 600.0);
        assert_eq!(json["timeline"]["passes"], 41);
        assert_eq!(json["timeline"]["final"], 4);
        assert_eq!(json["timeline"]["settledAt"], "2026-11-21T07:06:29Z");
    }
    // The observed value is measured over the running pods, even if the first pass ignores the metrics.
    let text = predict(&["--trace", "-", "--replicas=1"], "time,cpu\n0,40%\n600,\n").stdout;
    let told = text.lines().nth(1).expect("the load");
    assert_eq!(told, "assuming cpu 40% of the request (observed 2575%)");
}

/// That the status has another value than the assumed load is no sign of a controller that makes no passes.
#[test]
fn a_load_says_nothing_about_the_controller() {
    let path = format!("{}/tests/cases/Y09.json", env!("CARGO_MANIFEST_DIR"));
    let case = std::fs::read_to_string(path).unwrap();
    let mut case: serde_json::Value = serde_json::from_str(&case).unwrap();
    let items = case["state"]["items"].as_array_mut().unwrap();
    items.retain(|item| item["kind"] != "Lease");
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state.json");
    std::fs::write(&state, case["state"].to_string()).unwrap();
    let told = |flags: &[&str]| {
        let state = state.to_str().unwrap();
        run(program()
            .args([&["predict", "web", "-f", state], flags].concat())
            .write_stdin("time,cpu\n0,684m\n600,\n"))
        .stdout
    };
    assert!(told(&[]).contains("controller-silent"), "{}", told(&[]));
    for flags in [&["--trace=-"][..], &["--cpu=171m"]] {
        let told = told(flags);
        assert!(told.contains("OBSERVED"), "{told}");
        assert!(!told.contains("controller-silent"), "{told}");
    }
}

#[test]
fn what_cannot_be_played_is_refused() {
    for (flags, stdin, message) in [
        (
            &["--for=1m", "--sync-period=0s"][..],
            "",
            "error: --sync-period 0s: a run needs time between its passes\n",
        ),
        (
            &["--for=-1m"],
            "",
            "error: invalid value '-1m' for '--for <DURATION>': must not be negative\n",
        ),
        (
            &["--for=soon"],
            "",
            "error: invalid value 'soon' for '--for <DURATION>': not a duration such as 5m, 1m30s, \
             or 90 for seconds\n",
        ),
        (
            &["--ready-after=10s"],
            "",
            "error: --ready-after applies only to a run\n",
        ),
        (&["--at=5m"], "", "error: --at applies only to a run\n"),
        (
            &["--for=10m", "--at=5m"],
            "",
            "error: --at requires pods that change\n",
        ),
        (
            &["--for=10m", "--at=5m", "--max=9"],
            "",
            "error: --at requires pods that change\n",
        ),
        (
            &["--for=10m", "--at=5m", "--vary=max=4..8"],
            "",
            "error: --at requires pods that change\n",
        ),
        (
            &["--for=10m", "--request=cpu=30m", "--at=-5m"],
            "",
            "error: invalid value '-5m' for '--at <DURATION>': must not be negative\n",
        ),
        (
            &["--trace=-"],
            "time,cpu\n5s,\n9s,80\n",
            "error: the trace standard input:3: column 2: not in a unit of cpu\n\
             hint: a value has a unit: 80% (of the request), 500m (half a core) or 512Mi\n",
        ),
        (
            &["--trace=gone.csv"],
            "",
            "error: failed to read gone.csv: no such file or directory\n",
        ),
        (
            &["--trace=-"],
            "",
            "error: failed to read the trace standard input:1: it is empty\n",
        ),
        (
            &["--trace=-", "-f", "-"],
            "",
            "error: standard input (-) can be read only once\n",
        ),
    ] {
        let ran = predict(flags, stdin);
        let errors = ran.refused(2);
        assert!(errors.starts_with(message), "{flags:?}: {errors}");
    }
    // It lists what exists.
    predict(&["--trace=-"], "time,memory\n5s,80%\n").fails(2, &["it has cpu"]);
}

/// A gate that seems to cover everything would be worse than none.
#[test]
fn expectations_of_the_first_pass_say_so() {
    const IN_FIRST: &str = " in the first pass";
    for (flags, named) in [
        (
            &[
                "--for=1m",
                "--expect=desired == 4",
                "--fail-on=maxed,unsettled",
            ][..],
            &["desired == 4", "desired < max (--fail-on maxed)"][..],
        ),
        (&["--for=1m", "--expect=desired <= run.highest"], &[]),
        (
            &["--for=1m", "--expect=run.settled", "--expect=run.mean > 1"],
            &[],
        ),
        (
            &["--for=1m", "--fail-on=missing-request"],
            &["no finding missing-request (--fail-on missing-request)"],
        ),
        (&["--fail-on=missing-request"], &[]),
        (&["--expect=desired == 4"], &[]),
    ] {
        let text = predict(flags, "").stdout;
        let said = text
            .lines()
            .filter_map(|line| line.trim().split_once(IN_FIRST));
        let said = said.map(|(name, _)| {
            name.split_whitespace()
                .skip(1)
                .collect::<Vec<_>>()
                .join(" ")
        });
        assert_eq!(said.collect::<Vec<_>>(), named, "{flags:?}: {text}");
    }
    let text = predict(&["--for=1m", "--exit-code"], "").stdout;
    assert!(
        text.contains("--exit-code is about the first pass, not the run"),
        "{text}"
    );
}

/// So would one whose load ends before its highest row applies.
#[test]
fn replicas_that_are_highest_after_the_load_are_told() {
    let expected = "--expect=run.highest <= 4";
    for (flags, rows, is_told) in [
        (&[expected][..], "0,30%\n120,400%\n", true),
        (&["--fail-on=run-maxed"], "0,30%\n120,400%\n", true),
        (&[], "0,30%\n120,400%\n", false),
        (&["--expect=desired <= 20"], "0,30%\n120,400%\n", false),
        (&[expected], "0,30%\n120,400%\n600,\n", false),
        (&[expected], "0,30%\n120,10%\n", false),
        (&[expected, "--for=2m"], "0,30%\n120,400%\n", false),
    ] {
        let flags = [&["--trace=-"], flags].concat();
        let text = predict(&flags, &format!("time,cpu\n{rows}")).stdout;
        let note = "the replicas reach 10 after the load has ended, which only run.last and run.settled cover";
        assert_eq!(text.contains(note), is_told, "{flags:?} {rows}: {text}");
    }
}

/// The text, the data and the expectation say the same about the end of a run.
#[test]
fn what_a_run_ends_with_is_said_alike() {
    for (trace, end, settled, unknown) in [
        (
            "0,40%\n10m,\n",
            "It settles at 4, at 07:06:29Z (after 0s).",
            true,
            None,
        ),
        (
            "0,40%\n10m,missing\n",
            "It ends at 4, but may not have settled: the last pass lacks metric values.",
            false,
            Some("the last pass lacks metric values"),
        ),
        (
            "0,20%\n10m,missing\n",
            "It stays at 2 for 10m, but may not have settled: the last pass lacks metric values.",
            false,
            Some("the last pass lacks metric values"),
        ),
        (
            "0,40%\n2m,missing\n10m,\n",
            "It ends at 4, but may not have settled: the last pass lacks metric values.",
            false,
            Some("32 of 40 passes lack metric values"),
        ),
        (
            "0,40%\n10m,5%\n",
            "It has not settled after 10m: it ends at 4.",
            false,
            None,
        ),
    ] {
        let flags = ["--trace=-", "--for=10m", "--expect=run.settled"];
        let stdin = format!("time,cpu\n{trace}");
        let text = predict(&flags, &stdin).stdout;
        assert!(
            text.lines().any(|line| line.trim() == end),
            "{trace}: {text}"
        );
        let json = predict(&[&flags[..], &["-o=json"]].concat(), &stdin).json();
        let timeline = &json["timeline"];
        assert_eq!(timeline["totals"]["settled"], settled, "{trace}");
        assert_eq!(timeline["settledAt"].is_string(), settled, "{trace}");
        let truth = unknown.map_or(settled.to_string(), |_| "unknown".to_owned());
        assert_eq!(json["expectations"][0]["truth"], truth, "{trace}");
        let why = unknown.map_or(String::new(), |why| {
            format!("run.settled is unknown ({why})")
        });
        assert!(text.contains(&why), "{trace}: {text}");
        // A run that is compared has no sentence about its end.
        let compared = predict(
            &["--trace=-", "--for=10m", "--request=cpu=21m", "--at=0s"],
            &stdin,
        )
        .stdout;
        assert_eq!(
            compared.contains("(no answer)"),
            unknown.is_some(),
            "{trace}: {compared}"
        );
    }
}

/// Playing stops once the run has settled; a load that is stated again at the end is played to the end.
#[test]
fn what_rests_is_not_played_and_comes_to_the_same() {
    for flags in [
        &["--cpu=27%"][..],
        &["--cpu=5%"],
        &["--cpu=90%", "--ready-after=1m"],
    ] {
        let timeline = |more: &str, stdin: &str| {
            let flags: Vec<&str> = flags
                .iter()
                .copied()
                .chain(["--for=20m", "-o=json"])
                .collect();
            let text = predict(&[&flags[..], &[more]].concat(), stdin)
                .quiet()
                .text();
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["timeline"].clone()
        };
        let (rests, whole) = (
            timeline("--max=10", ""),
            timeline("--trace=-", "time,cpu\n20m,x1\n"),
        );
        assert!(rests["settledAt"].is_string(), "{rests}");
        for part in [
            "settledAt",
            "passes",
            "changes",
            "replicas",
            "proposals",
            "readyPods",
        ] {
            assert_eq!(rests[part], whole[part], "{flags:?}: {part}");
        }
    }
}

/// What was read, not what was assumed.
#[test]
fn what_a_prediction_rests_on_can_be_saved() {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/timeline-saved.json");
    let first = predict(&["--cpu=27%", "--save", file, "-o", "json"], "").stdout;
    let again = run(program()
        .args(["predict", "nginx-deployment", "-f", file])
        .args(["--cpu=27%", "-o", "json"]))
    .answer();
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    for part in ["outcome", "overrides", "observed"] {
        assert_eq!(first[part], again[part], "{part}");
    }
}

/// It says in words what it shows, for those who cannot see it.
#[test]
fn a_timeline_is_drawn_as_svg() {
    let trace = concat!(
        "--trace=",
        env!("CARGO_MANIFEST_DIR"),
        "/examples/nginx/load.csv"
    );
    let svg = predict(&["--for=10m", trace, "-o", "svg"], "")
        .quiet()
        .text();
    let svg = roxmltree::Document::parse(&svg).unwrap();
    let said = |name: &str| {
        let mut nodes = svg.descendants();
        nodes
            .find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name)))
            .unwrap()
            .text()
    };
    assert_eq!(said("title"), Some("replicas in 10m"));
    assert_eq!(
        said("desc"),
        Some("It settles at 2, at 07:12:14Z (after 5m45s).")
    );
    for (flags, why) in [
        (
            &["-o", "svg"][..],
            "error: -o svg: there is nothing to draw\n",
        ),
        (
            &["-o", "svg", "--for=1m", "--curve=cpu"],
            "error: -o svg: use one of --curve and \
                                                     --for\n",
        ),
    ] {
        let ran = predict(flags, "");
        let errors = ran.refused(2);
        assert!(errors.starts_with(why), "{errors}");
    }
}
