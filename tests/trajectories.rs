//! Runs of a real v1.36.2 controller (`tests/trajectories`): what a user could see every 5 s, and
//! what each pass came to. At every moment whose metrics give the proposal of the next pass, that
//! pass must end inside the range that is inferred; how often the range is one count is printed.
//! The nodes of the recording were played; it has no lease, so the controller may have started anew
//! at any time, as far as the inference can tell.
#![allow(clippy::print_stdout, reason = "the shares are printed")]
#![allow(clippy::unwrap_used, reason = "what cannot fail here is not worth a message")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use jiff::Timestamp;
use kubectl_hpa::engine;
use kubectl_hpa::memory::Memory;
use kubectl_hpa::quantity::Quantity;
use kubectl_hpa::selector::Labels;
use kubectl_hpa::snapshot::assemble::{Input, Options, assemble};
use kubectl_hpa::snapshot::file::read_text;
use kubectl_hpa::snapshot::hpa::{
    ExternalMetricSource, MetricIdentifier, MetricSpec, MetricTarget,
};
use kubectl_hpa::snapshot::objects::Objects;
use kubectl_hpa::snapshot::{ExternalValue, MetricAnswer, Snapshot};
use serde::Deserialize;

mod common;

/// A pass that the controller logged.
#[derive(Debug, Deserialize)]
struct Pass {
    time: Timestamp,
    proposal: i32,
    from: i32,
    to: i32,
}

fn lines(name: &str) -> Box<dyn BufRead> {
    let path = format!("{}/tests/trajectories/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = File::open(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    if name.ends_with(".gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    }
}

fn passes(name: &str) -> Vec<Pass> {
    lines(&format!("{name}.passes.jsonl"))
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

/// What was read at one moment, and that moment.
fn moment(namespace: &str, line: &str) -> (Timestamp, Input) {
    #[derive(Deserialize)]
    struct Time {
        time: Timestamp,
    }
    let Time { time } = serde_json::from_str(line).unwrap();
    let list = line.replacen('{', r#"{"apiVersion":"v1","kind":"List","#, 1);
    let mut objects = Objects::default();
    read_text(&list, namespace, &mut objects).unwrap();
    let options = Options {
        name: "web".to_owned(),
        namespace: Some(namespace.to_owned()),
        now: Some(time),
        ..Options::default()
    };
    (time, assemble(objects, &options, time).unwrap())
}

/// How many moments could be compared, and at how many the answer was one count.
#[derive(Debug, Default)]
struct Share {
    compared: usize,
    certain: usize,
}

fn check(name: &str) -> Share {
    let passes = passes(name);
    let mut share = Share::default();
    let mut outside = Vec::new();
    for line in lines(&format!("{name}.jsonl.gz")).lines() {
        let (time, input) = moment(name, &line.unwrap());
        let Some(next) = passes.iter().find(|pass| pass.time > time) else {
            continue;
        };
        let (decision, explanation) = common::explain(&input);
        let Snapshot { scale: Ok(scale), .. } = &input.snapshot else {
            panic!("{name} at {time}: no scale");
        };
        if decision.proposal != Some(next.proposal) || scale.spec_replicas != next.from {
            continue;
        }
        let range = &explanation["range"];
        let (min, max) = (range["min"].as_i64().unwrap(), range["max"].as_i64().unwrap());
        share.compared += 1;
        share.certain += usize::from(min == max);
        if !(min..=max).contains(&i64::from(next.to)) {
            outside.push(format!("{name} at {time}: {min} to {max}, but then {next:?}"));
        }
    }
    assert!(outside.is_empty(), "{outside:#?}");
    share
}

#[test]
fn the_next_pass_ends_inside_the_range() {
    for (name, compared_at_least) in
        [("plain", 100), ("behave", 100), ("queue", 100), ("nodown", 100)]
    {
        let share = check(name);
        let percent = 100.0 * share.certain as f64 / share.compared as f64;
        println!("{name}: {} moments compared, {percent:.1} % certain", share.compared);
        assert!(share.compared >= compared_at_least, "{name}: {share:?}");
    }
}

/// The proposals of each pass, through stabilization and rate limits with the memory carried from
/// pass to pass: the controller's own counts. Its clock is read a little before a pass is logged, and
/// the first pass finds an empty memory.
#[test]
fn the_recorded_proposals_lead_to_the_recorded_counts() {
    let mut replayed = 0;
    for name in ["plain", "behave", "queue", "nodown"] {
        let first = lines(&format!("{name}.jsonl.gz")).lines().next().unwrap().unwrap();
        let (_, Input { mut snapshot, .. }) = moment(name, &first);
        // One metric that asks for just what is recorded.
        snapshot.hpa.spec.metrics = vec![MetricSpec {
            type_: "External".to_owned(),
            external: Some(ExternalMetricSource {
                metric: MetricIdentifier { name: "proposal".to_owned(), selector: None },
                target: MetricTarget {
                    type_: "AverageValue".to_owned(),
                    average_value: Some(Quantity::parse("1").unwrap()),
                    ..MetricTarget::default()
                },
            }),
            ..MetricSpec::default()
        }];
        snapshot.controller.tolerance = 0.0;
        let mut memory = Memory::default();
        for pass in passes(name) {
            snapshot.now = pass.time;
            let value = i64::from(pass.proposal) * 1000;
            let value = ExternalValue { labels: Labels::default(), value };
            snapshot.metrics = vec![MetricAnswer::External(vec![value])];
            let scale = snapshot.scale.as_mut().unwrap();
            (scale.spec_replicas, scale.status_replicas) = (pass.from, pass.from);
            let decision = engine::reconcile(&snapshot, &memory);
            assert_eq!(decision.proposal, Some(pass.proposal), "{name}: {pass:?}");
            assert_eq!(decision.replicas_after(), Some(pass.to), "{name}: {pass:?}");
            snapshot.hpa.status = decision.outcome.status;
            memory = decision.memory;
            replayed += 1;
        }
    }
    assert_eq!(replayed, 280);
}

/// The controller ran all the time with the settings that are assumed, so that no difference from
/// what it last wrote is without a reason, and none is its fault.
#[test]
fn every_difference_from_what_was_last_written_has_a_reason() {
    let (mut moments, mut same, mut codes) = (0, 0, BTreeMap::<String, usize>::new());
    let mut wrong = Vec::new();
    for name in ["plain", "behave", "queue", "nodown"] {
        for line in lines(&format!("{name}.jsonl.gz")).lines() {
            let (time, input) = moment(name, &line.unwrap());
            let (_, explanation) = common::explain(&input);
            let comparison = &explanation["comparison"];
            moments += 1;
            same += usize::from(comparison["differs"] == false);
            for reason in comparison["reasons"].as_array().unwrap() {
                let code = reason["code"].as_str().unwrap();
                *codes.entry(code.to_owned()).or_default() += 1;
                if ["unexplained", "stale-status", "controller-not-running"].contains(&code) {
                    wrong.push(format!("{name} at {time}: {comparison:#}"));
                }
            }
        }
    }
    println!("{moments} moments, {same} without a difference; {codes:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(moments > 500 && same > 100 && codes.len() > 4, "{moments} {same} {codes:?}");
}
