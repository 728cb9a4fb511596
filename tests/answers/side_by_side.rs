//! Runs over one load, side by side, as they are printed: screens, Markdown, a picture, and JSON, from whose
//! passes the totals can be counted again.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

use std::fmt::Write;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::args::{Overrides, Validate};
use kubectl_hpa::backtest::{self, NamedSpec, Plan};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::layout::Layout;
use kubectl_hpa::render::markdown::markdown;
use kubectl_hpa::render::page::page;
use kubectl_hpa::render::structured;
use kubectl_hpa::render::svg::svg;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::backtest::Compared;
use kubectl_hpa::report::page::Page;
use kubectl_hpa::report::prediction::Prediction;
use kubectl_hpa::whatif::overrides::Assumptions;
use kubectl_hpa::whatif::thresholds::thresholds;
use kubectl_hpa::whatif::timeline::{TimelineOptions, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use serde_json::{Value, json};

use crate::common::ran::{program, run};
use crate::common::{self, build, schema as published};

/// The spec of the HPA as it is.
fn spec(target: i32, max: i32) -> Value {
    let cpu = build::resource("cpu", &build::utilization(target));
    json!({"minReplicas": 2, "maxReplicas": max, "metrics": [cpu]})
}

/// A day until the time of the input in samples of five minutes: it rises to noon and falls again, with a
/// peak at six in the evening. The recorded replicas are those that it takes, and `more`.
fn day(more: i32) -> String {
    let start: Timestamp =
        build::NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_hours(24);
    let mut text = "time,cpu,replicas,spec\n".to_owned();
    for sample in 0..=288_i32 {
        let peak = if (144..150).contains(&sample) { 500 } else { 0 };
        let milli = 200 + 5 * (72 - (sample - 72).abs()).max(0) + peak;
        let replicas = ((milli + 49) / 50).min(20) + more;
        let mark = if sample == 200 { "v2" } else { "" };
        let time = start + SignedDuration::from_mins(5 * i64::from(sample));
        // Two samples are missing.
        if !(100..102).contains(&sample) {
            writeln!(text, "{time},{milli}m,{replicas},{mark}").unwrap();
        }
    }
    text
}

/// A candidate of flags.
fn flags(typed: &Overrides) -> NamedSpec {
    let assumptions = Assumptions::read(typed).unwrap();
    NamedSpec {
        name: "candidate".to_owned(),
        assumptions,
    }
}

/// A candidate of a manifest.
fn manifest(file: &str, spec: &Value) -> NamedSpec {
    let text = build::hpa(spec).to_string();
    let candidate = common::candidate(&text, file, Validate::Strict).unwrap();
    NamedSpec {
        name: file.to_owned(),
        assumptions: common::assuming(candidate),
    }
}

/// Looks at the runs of an HPA and of candidates over a load.
fn compared<T>(
    hpa: &Value,
    trace: &str,
    candidates: &[NamedSpec],
    look: impl FnOnce(Prediction<'_>) -> T,
) -> T {
    let pods = ["web-0", "web-1", "web-2", "web-3"];
    let mut items = vec![build::hpa(hpa), build::scale(4), build::state(&json!({}))];
    items.extend(
        pods.iter()
            .flat_map(|pod| [build::pod(pod), build::pod_metrics(pod, "50m")]),
    );
    let input = common::read(&build::list(items)).unwrap();
    let trace = Some(Arc::new(Trace::read(trace.as_bytes(), "load.csv").unwrap()));
    let options = TimelineOptions {
        trace,
        ..TimelineOptions::default()
    };
    let plan = Plan::new(options, input, false);
    let assumptions = Assumptions::read(&Overrides::default()).unwrap();
    let backtest = plan.run(&assumptions, candidates).unwrap().unwrap();
    let first = backtest
        .candidates
        .first()
        .map_or(&backtest.replay, |first| &first.run);
    let (pass, observed) = (first.pass.clone(), Pass::run(plan.observed.clone()));
    let own = |candidate: &backtest::CandidateRun| Explanation::new(&candidate.run.pass).findings;
    let findings = backtest.candidates.iter().map(own).collect();
    look(Prediction::new(
        Explanation::new(&pass),
        first.overrides.clone(),
        Some(&first.timeline),
        Some(Compared::new(&backtest, findings)),
        Vec::new(),
        thresholds(&pass, None),
        &observed,
    ))
}

fn larger() -> NamedSpec {
    flags(&Overrides {
        max: Some(30),
        targets: vec!["cpu=70%".to_owned()],
        ..Overrides::default()
    })
}

fn screen(prediction: &Prediction<'_>, wide: bool, ascii: bool) -> String {
    let layout = Layout {
        ascii,
        ..common::of_width(80)
    };
    let shown = Page::of_prediction(prediction, wide);
    if ascii {
        page(&shown.in_ascii(), &layout)
    } else {
        page(&shown, &layout)
    }
}

/// Returns a screen without its curves, and what is below them, which one snapshot has.
fn above_curves(screen: &str) -> &str {
    screen.split("     14 ┤").next().unwrap()
}

fn object(prediction: Prediction<'_>, passes: bool) -> Value {
    serde_json::from_str(&structured::json(&prediction.with_passes(passes)).unwrap()).unwrap()
}

#[test]
fn a_candidate_of_flags() {
    let screen = compared(&spec(50, 20), &day(0), &[larger()], |own| {
        screen(&own, false, false)
    });
    insta::assert_snapshot!(above_curves(&screen), @r#"
assuming cpu 200m in all → 50% (observed 50%)
candidate: target of cpu 70% (observed 50%) and maxReplicas 30 (observed 20)

default/web → Deployment/web
rules of v1.36.2, at 2026-11-20T06:00:00Z

  CANDIDATE: 26.5% FEWER REPLICA-HOURS, SHORT FOR 1m30s INSTEAD OF 1m45s

  LOAD   cpu, every 5m, 1d to Sat 2026-11-21T06:00:00Z; 1 gap (10m); 1 mark: v2
         Fri 22:40:00
  CHECK  the replay has the recorded replicas for 78.6% of the 23h40m compared,
         within one for 99.6%; replica-hours -0.7%; left out 10m15s after marks;
         not recorded for 10m

                           RECORDED      REPLAYED     CANDIDATE
replica-hours                   148           149           109
against the replay                                       -26.5%
mean                            6.2           6.2           4.6
lowest                            4             4             3
highest                          14            14            11
first at               Fri 18:00:00  Fri 18:00:15  Fri 18:00:15
at max                           0s            0s            0s
short of the proposal             -         1m45s         1m30s
replica-hours short               -          0.07          0.05
longest stretch                   -           15s           15s
from                              -  Fri 06:25:00  Fri 06:35:00
rescales (reversals)         17 (0)        16 (0)        14 (1)
without an answer                 -           10m           10m
ends at                           -             4             3
  A run is short of its own proposals: with a higher target it is short less
  often, but its pods are busier.

FIRST DIFFERENCE
  candidate  Fri 06:05:00: goes to 3 (cpu proposes 3), where the replay keeps 4
             (cpu at 52% is within tolerance). They differ for 23h55m, 99.7% of
             the time, in 1 stretch.

  ─ candidate   · replay   ∘ recorded   ▲ v2   ▒ without an answer
  ↑ max 20, max 30
"#);
}

#[test]
fn candidates_of_manifests() {
    let candidates = vec![
        manifest("candidates/web-70.yaml", &spec(70, 30)),
        manifest(
            "candidates/web-50-with-a-higher-maximum.yaml",
            &spec(50, 30),
        ),
        manifest("candidates/same.yaml", &spec(50, 20)),
    ];
    let screen = compared(&spec(50, 20), &day(0), &candidates, |own| {
        screen(&own, false, false)
    });
    insta::assert_snapshot!(screen, @r#"
assuming cpu 200m in all → 50% (observed 50%)
web-70.yaml: maxReplicas 30 (observed 20) and target of cpu 70% (observed 50%)
web-50-with-a-higher-maximum.yaml: maxReplicas 30 (observed 20)

default/web → Deployment/web
rules of v1.36.2, at 2026-11-20T06:00:00Z

  3 CANDIDATES: 109 TO 149 REPLICA-HOURS (REPLAY: 149), SHORT FOR 1m30s TO 1m45s
  (REPLAY: 1m45s)

  LOAD   cpu, every 5m, 1d to Sat 2026-11-21T06:00:00Z; 1 gap (10m); 1 mark: v2
         Fri 22:40:00
  CHECK  the replay has the recorded replicas for 78.6% of the 23h40m compared,
         within one for 99.6%; replica-hours -0.7%; left out 10m15s after marks;
         not recorded for 10m

RUN                    REPLICA-HOURS  REPLICAS  AT MAX  SHORT  LONGEST  RESCALES
RECORDED                         148      4-14      0s      -        -    17 (0)
REPLAYED                         149      4-14      0s  1m45s      15s    16 (0)
web-70.yaml             109 (-26.5%)      3-11      0s  1m30s      15s    14 (1)
web-50-with-a-higher-       149 (0%)      4-14      0s  1m45s      15s    16 (0)
maximum.yaml
same.yaml                   149 (0%)      4-14      0s  1m45s      15s    16 (0)
  A run is short of its own proposals: with a higher target it is short less
  often, but its pods are busier.
  Ends: REPLAYED at 4, web-70.yaml at 3, web-50-with-a-higher-maximum.yaml at 4
  and same.yaml at 4.
  Without an answer: each run for 10m.

FIRST DIFFERENCE
  web-70.yaml                   Fri 06:05:00: goes to 3 (cpu proposes 3), where
                                the replay keeps 4 (cpu at 52% is within
                                tolerance). They differ for 23h55m, 99.7% of the
                                time, in 1 stretch.
  web-50-with-a-higher-maximum.yaml
    nowhere: the replicas are those of the replay throughout
  same.yaml                     nowhere: the replicas are those of the replay
                                throughout

  ─ web-70.yaml   · replay   ∘ web-50-with-a-higher-maximum.yaml   × same.yaml
  * recorded   ▲ v2   ▒ without an answer   ↑ max 20, max 30
     14 ┤                                ··
        │                                ··
  11-12 ┤             ·······            ┌┐
     10 ┤           **·    *···          ││
        │         *····      *···        ││
    7-8 ┤    **·····┌──────────┐······   ││
      6 ┤  *···· ┌──┘          └──┐ *··· ││
        │*···┌───┘                └──┐*··││
      4 ┤┐┌──┘                       └──┐││·······························
    2-3 ┤└┘┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄└┘└─────────────────────────────── min 2
        │
      0 ┤
        └┬───────────────┬─────▒─────────┬───────────▲───┬───────────────┬
         06:00         12:00           18:00          Sat 21         06:00
         time (UTC)

  Assuming a controller that has just started (-o wide for more).

NOTES
  the HPA and the pods are those of 2026-11-21T06:00:00Z, used as the state at
  the start of the load, and the controller for one that has just started
"#);
}

#[test]
fn a_record_without_candidates() {
    let screen = compared(&spec(50, 20), &day(0), &[], |own| {
        screen(&own, false, false)
    });
    insta::assert_snapshot!(above_curves(&screen), @r#"
assuming cpu 200m in all → 50% (observed 50%)

default/web → Deployment/web
rules of v1.36.2, at 2026-11-20T06:00:00Z

  REPLAY: 149 REPLICA-HOURS, SHORT FOR 1m45s

  LOAD   cpu, every 5m, 1d to Sat 2026-11-21T06:00:00Z; 1 gap (10m); 1 mark: v2
         Fri 22:40:00
  CHECK  the replay has the recorded replicas for 78.6% of the 23h40m compared,
         within one for 99.6%; replica-hours -0.7%; left out 10m15s after marks;
         not recorded for 10m

                           RECORDED      REPLAYED
replica-hours                   148           149
mean                            6.2           6.2
lowest                            4             4
highest                          14            14
first at               Fri 18:00:00  Fri 18:00:15
at max                           0s            0s
short of the proposal             -         1m45s
replica-hours short               -          0.07
longest stretch                   -           15s
from                              -  Fri 06:25:00
rescales (reversals)         17 (0)        16 (0)
without an answer                 -           10m
ends at                           -             4

  ─ replay   · recorded   ▲ v2   ▒ without an answer   ↑ max 20
"#);
}

#[test]
fn a_replay_that_is_unlike_the_record_is_warned_about() {
    let (text, markdown) = compared(&spec(50, 20), &day(3), &[larger()], |own| {
        let page = Page::of_prediction(&own, false);
        (screen(&own, false, false), markdown(&page))
    });
    for text in [&text, &markdown] {
        assert!(
            text.trim_start_matches('*')
                .starts_with("Warning: the replay has the recorded"),
            "{text}"
        );
    }
    let trusted = compared(&spec(50, 20), &day(0), &[larger()], |own| {
        screen(&own, false, false)
    });
    assert!(!trusted.contains("Warning"), "{trusted}");
}

#[test]
fn every_form_says_the_same() {
    let candidates = || vec![larger(), manifest("web.yaml", &spec(60, 20))];
    compared(&spec(50, 20), &day(0), &candidates(), |own| {
        let wide = screen(&own, true, false);
        for title in [
            "RESCALES OF replay",
            "RESCALES OF candidate",
            "RESCALES OF web.yaml",
        ] {
            assert!(wide.contains(title), "{wide}");
        }
        for title in [
            "FIRST PASS OF candidate",
            "METRIC",
            "CHANGES",
            "PODS FOR cpu",
            "ASSUMED",
        ] {
            assert!(wide.contains(&format!("\n{title}")), "{title}: {wide}");
            assert!(
                !screen(&own, false, false).contains(&format!("\n{title}")),
                "{title}"
            );
        }
        let ascii = screen(&own, true, true);
        assert!(ascii.is_ascii(), "{ascii}");
        let is_narrow = |line: &str| line.chars().count() <= 80;
        let narrow = [screen(&own, false, false), screen(&own, false, true)];
        assert!(
            narrow.iter().flat_map(|text| text.lines()).all(is_narrow),
            "{narrow:#?}"
        );

        let comment = markdown(&Page::of_prediction(&own, false));
        // What GitHub takes.
        assert!(comment.len() < 65_536, "{}", comment.len());
        let (shown, folded) = comment.split_once("<details>").unwrap();
        assert!(
            shown.contains("| RECORDED | REPLAYED | CANDIDATE |"),
            "{shown}"
        );
        assert!(
            folded.contains("RESCALES OF") && !shown.contains("RESCALES OF"),
            "{comment}"
        );

        let picture = svg(&own.over_time().unwrap());
        let picture = roxmltree::Document::parse(&picture).unwrap();
        let of_class = |class: &str| {
            let nodes = picture.descendants();
            let is = |own: &str| own == class || own.starts_with(&format!("{class} "));
            nodes
                .filter(|node| node.attribute("class").is_some_and(is))
                .count()
        };
        // Each run and the record are drawn and named.
        assert_eq!((of_class("series"), of_class("event")), (2 * 4, 1));
    });
}

#[test]
fn the_schema_describes_backtests_and_nothing_else() {
    let candidates = || vec![larger(), manifest("web.yaml", &spec(50, 20))];
    let no_record: String = day(0)
        .lines()
        .map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    let mut right = Value::Null;
    for (trace, candidates, passes) in [
        (day(0), candidates(), true),
        (no_record, candidates(), false),
        (day(0), Vec::new(), false),
        (day(0), candidates(), false),
    ] {
        let json = compared(&spec(50, 20), &trace, &candidates, |own| {
            object(own, passes)
        });
        assert_eq!(published::PREDICTION.fault(&json), None);
        let backtest = &json["backtest"];
        assert_eq!(backtest["check"].is_null(), !trace.contains("replicas"));
        for run in [&backtest["replay"], &backtest["candidates"][0]] {
            assert_eq!(run["proposals"].is_array(), passes && !run.is_null());
        }
        right = json;
    }
    published::fits_elsewhere("prediction", &right);
    let gone = Value::Null;
    published::PREDICTION.rejects(
        &right,
        &[
            ("", "backtest", &gone),
            ("/backtest", "candidates", &gone),
            ("/backtest", "more", &json!(1)),
            ("/backtest/load", "step", &json!("5m")),
            ("/backtest/load/gaps", "total", &json!(-1)),
            ("/backtest/load/marks/0", "text", &gone),
            ("/backtest/check", "recorded", &gone),
            ("/backtest/check/recorded", "short", &json!(0)),
            ("/backtest/replay", "firstParted", &json!({})),
            ("/backtest/replay/totals", "short", &gone),
            ("/backtest/replay/totals/highest", "time", &gone),
            (
                "/backtest/replay/totals/longestShort",
                "length",
                &json!("5m"),
            ),
            ("/backtest/candidates/0", "manifest", &json!(1)),
            ("/backtest/candidates/0", "differs", &gone),
            ("/backtest/candidates/0/differs/stretches/0", "start", &gone),
            (
                "/backtest/candidates/0/firstParted/replay",
                "withinTolerance",
                &gone,
            ),
            ("/timeline", "totals", &gone),
        ],
    );
}

#[test]
fn a_candidate_like_the_hpa_parts_nowhere() {
    compared(
        &spec(50, 20),
        &day(0),
        &[manifest("web.yaml", &spec(50, 20))],
        |own| {
            let text = screen(&own, false, false);
            assert!(
                text.contains("web.yaml: THE SAME REPLICAS AS THE REPLAY THROUGHOUT"),
                "{text}"
            );
            let rows = text
                .lines()
                .skip_while(|line| !line.contains("REPLAYED"))
                .skip(1);
            let rows: Vec<&str> = rows.take_while(|line| !line.is_empty()).collect();
            assert!(rows.len() > 8, "{text}");
            for row in rows
                .iter()
                .filter(|row| !row.starts_with("against the replay"))
            {
                let cells: Vec<&str> = row
                    .split("  ")
                    .map(str::trim)
                    .filter(|own| !own.is_empty())
                    .collect();
                let [.., replay, candidate] = cells[..] else {
                    panic!("{row}")
                };
                assert_eq!(replay, candidate, "{row}");
            }
            let json = object(own, true);
            let (replay, candidate) = (
                &json["backtest"]["replay"],
                &json["backtest"]["candidates"][0],
            );
            assert_eq!(candidate["firstParted"], Value::Null);
            assert_eq!(candidate["differs"], json!({"total": 0.0, "stretches": []}));
            for column in ["totals", "changes", "replicas", "proposals", "readyPods"] {
                assert_eq!(replay[column], candidate[column], "{column}");
            }
        },
    );
}

/// What the program prints of a load that rises and falls twenty times, on its own.
fn alone(form: &[&str]) -> String {
    let rows = (0..40).map(|row| format!("{}m,{}%\n", 6 * row, if row % 2 == 0 { 20 } else { 60 }));
    run(program()
        .args(["predict", "nginx-deployment", "--trace=-", "-f"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/nginx"))
        .args(form)
        .write_stdin(format!("time,cpu\n{}", rows.collect::<String>())))
    .text()
}

/// A comment has the assumptions of all runs, as the terminal does.
#[test]
fn a_comment_has_what_all_runs_assume() {
    let flags = ["--replicas=3", "--max=9"];
    let text = alone(&flags);
    assert!(text.contains("assuming replicas 3 (observed 2)"), "{text}");
    let comment = alone(&[flags[0], flags[1], "-o=markdown"]);
    for row in [
        "| all runs | replicas | 3 | 2 |",
        "| candidate | maxReplicas | 9 | 10 |",
    ] {
        assert!(comment.contains(row), "{comment}");
    }
}

#[test]
fn of_many_changes_the_first_are_listed() {
    let listed = |text: &str| {
        let (_, rows) = text.split_once("REPLICAS  BECAUSE\n").unwrap();
        rows.lines().take_while(|line| line.contains(" → ")).count()
    };
    let json: Value = serde_json::from_str(&alone(&["-o", "json"])).unwrap();
    let changes = json["timeline"]["changes"].as_array().unwrap().len();
    assert!(changes > 30, "{changes}");
    assert_eq!(json["backtest"], Value::Null);
    let text = alone(&[]);
    assert!(
        text.contains(&format!("and {} more (-o wide shows all)", changes - 20)),
        "{text}"
    );
    let totals = &json["timeline"]["totals"];
    let (lowest, highest) = (&totals["lowest"], &totals["highest"]["replicas"]);
    let sentence =
        format!("replicas on average, from {lowest} to {highest}; short of the proposal");
    assert!(text.contains(&sentence), "{totals}: {text}");
    assert!(
        text.contains(&format!("{} rescales", totals["rescales"])),
        "{totals}: {text}"
    );
    assert_eq!(
        (listed(&text), listed(&alone(&["-o", "wide"]))),
        (20, changes)
    );
}

/// The totals of a run, counted from its passes.
fn counted(run: &Value, start: Timestamp, limit: usize, max: i64) -> Value {
    let column = |name: &str| -> Vec<Option<i64>> {
        run[name]
            .as_array()
            .unwrap()
            .iter()
            .take(limit)
            .map(Value::as_i64)
            .collect()
    };
    let replicas: Vec<i64> = column("replicas").into_iter().map(Option::unwrap).collect();
    let proposals = column("proposals");
    let ready: Vec<i64> = column("readyPods")
        .into_iter()
        .map(Option::unwrap)
        .collect();
    let time = |place: usize| start + SignedDuration::from_secs(15 * place as i64);
    let seconds = |count: usize| 15.0 * count as f64;
    let first = &run["changes"][0];
    let before = if first["time"] == json!(start.to_string()) {
        &first["from"]
    } else {
        &Value::Null
    };
    let before = before.as_i64().unwrap_or(replicas[0]);
    let pairs: Vec<(i64, i64)> = std::iter::once(before)
        .chain(replicas.iter().copied())
        .zip(replicas.iter().copied())
        .collect();
    let rescales: Vec<(usize, bool)> = pairs
        .iter()
        .enumerate()
        .filter(|(_, (one, other))| one != other)
        .map(|(place, (one, other))| (place, other > one))
        .collect();
    let reversals = rescales.windows(2).filter(|pair| {
        let [(one, was_up), (other, is_up)] = pair else {
            panic!("two")
        };
        was_up != is_up && 15 * (other - one) <= 600
    });
    let short: Vec<bool> = proposals
        .iter()
        .zip(&ready)
        .map(|(own, ready)| own.is_some_and(|own| own > *ready))
        .collect();
    let missing = proposals
        .iter()
        .zip(&ready)
        .map(|(own, ready)| (own.unwrap_or(0) - ready).max(0));
    let mut longest: Option<(usize, usize)> = None;
    for first in 0..short.len() {
        let length = short[first..].iter().take_while(|own| **own).count();
        if length > longest.map_or(0, |(_, length)| length) {
            longest = Some((first, length));
        }
    }
    let highest = *replicas.iter().max().unwrap();
    let at = replicas.iter().position(|own| *own == highest).unwrap();
    json!({
        "passes": replicas.len(),
        "duration": seconds(replicas.len()),
        "lowest": replicas.iter().min(),
        "highest": {"replicas": highest, "time": time(at).to_string()},
        "atMax": seconds(replicas.iter().filter(|own| **own >= max).count()),
        "aboveMax": seconds(proposals.iter().flatten().filter(|own| **own > max).count()),
        "short": seconds(short.iter().filter(|own| **own).count()),
        "longestShort": longest.map(|(first, length)| {
            json!({"start": time(first).to_string(), "length": seconds(length)})
        }),
        "rescales": rescales.len(),
        "reversals": reversals.count(),
        "last": run["replicas"].as_array().unwrap().last(),
        "sum": replicas.iter().sum::<i64>(),
        "missing": missing.sum::<i64>(),
    })
}

#[test]
fn totals_are_those_of_the_passes() {
    let loads = vec(
        prop_oneof![8 => (50..2000).prop_map(|milli| format!("{milli}m")), 1 => Just("missing".to_owned())],
        12..40,
    );
    let specs = (select(vec![40, 50, 80]), 3..30, 3..30);
    let config = Config {
        cases: common::cases(12),
        ..Config::default()
    };
    proptest!(config, |(loads in loads, (target, max, other) in specs)| {
        let start: Timestamp = "2026-11-20T22:00:00Z".parse().unwrap();
        let mut trace = "time,cpu\n".to_owned();
        for (place, load) in loads.iter().enumerate() {
            let time = start + SignedDuration::from_secs(100 * place as i64);
            writeln!(trace, "{time},{load}").unwrap();
        }
        // A pass every 15 s, the last of them before the end.
        let limit = (100 * (loads.len() - 1)).div_ceil(15);
        let candidate = manifest("web.yaml", &spec(target, other));
        let json = compared(&spec(50, max), &trace, &[candidate], |own| object(own, true));
        let backtest = &json["backtest"];
        for (run, max) in [(&backtest["replay"], max), (&backtest["candidates"][0], other)] {
            let mut counted = counted(run, start, limit, max.into());
            let mut sum = |name| counted.as_object_mut().unwrap().remove(name).unwrap().as_f64();
            let (sum, missing) = (sum("sum").unwrap(), sum("missing").unwrap());
            let totals = &run["totals"];
            for (name, value) in counted.as_object().unwrap() {
                prop_assert_eq!(&totals[name], value, "{}", name);
            }
            let is = |name: &str, value: f64| (totals[name].as_f64().unwrap() - value).abs() < 1e-6;
            prop_assert!(is("replicaHours", sum * 15.0 / 3600.0), "{}", totals);
            prop_assert!(is("shortfall", missing * 15.0 / 3600.0), "{}", totals);
            prop_assert!(is("mean", sum / limit as f64), "{}", totals);
        }
        let [one, other] = [&backtest["replay"], &backtest["candidates"][0]].map(|run| run["replicas"].as_array().unwrap());
        let differ = one.iter().zip(other).take(limit).filter(|(one, other)| one != other).count();
        let differs = &backtest["candidates"][0]["differs"]["total"];
        prop_assert_eq!(differs.as_f64(), Some(15.0 * differ as f64));
    });
}

/// What a page says where a run has more to say than usual.
#[test]
fn what_is_unusual_is_said() {
    // A row for each minute after the state was read.
    let rows = |header: &str, rows: &[(i64, &str)]| {
        let now: Timestamp = build::NOW.parse().unwrap();
        let at = |minutes: i64| now + SignedDuration::from_mins(minutes);
        let rows = rows
            .iter()
            .map(|(minutes, rest)| format!("{},{rest}\n", at(*minutes)));
        format!("time,{header}\n{}", rows.collect::<String>())
    };
    // 54% of the requests are within a tenth of 50%, but not of 47%.
    let constant = rows("cpu", &[(-60, "216m"), (-30, "216m")]);
    let interrupted = rows(
        "cpu",
        &[
            (-60, "200m"),
            (-50, "missing"),
            (-40, "200m"),
            (-30, "200m"),
        ],
    );
    let begun = rows("cpu", &[(-10, "200m"), (20, "200m"), (21, "20m")]);
    let mut tolerant = spec(47, 20);
    tolerant["behavior"] = json!({"scaleUp": {"tolerance": "0.2"}});
    for (trace, candidates, words) in [
        (
            &constant,
            vec![manifest("a.yaml", &spec(47, 20))],
            "(cpu at 54% is within tolerance)",
        ),
        (
            &constant,
            vec![manifest("a.yaml", &tolerant)],
            "THE SAME REPLICAS AS THE REPLAY",
        ),
        (
            &interrupted,
            vec![larger()],
            "NEVER SHORT, NO ANSWER FOR 10m OF 30m IN BOTH",
        ),
        (
            &interrupted,
            vec![],
            "SHORT FOR 0s, NO ANSWER FOR 10m OF 30m",
        ),
        (
            &begun,
            vec![larger()],
            "; its first 10m, before the first pass, are left out;",
        ),
        (&begun, vec![], "(after the load) 4 → 2"),
    ] {
        let page = compared(&spec(50, 20), trace, &candidates, |own| {
            screen(&own, true, false)
        });
        // Lines are broken anywhere.
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(words), "{words}:\n{page}");
    }
}
