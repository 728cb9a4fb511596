//! The recorded runs of a real v1.36.2 controller: what a user could see every 5 s, and the result of each
//! pass.
#![allow(dead_code, reason = "not every suite looks at all of it")]
#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::apimachinery::quantity::Quantity;
use kubectl_hpa::engine;
use kubectl_hpa::memory::Memory;
use kubectl_hpa::saved::assemble::assemble;
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::snapshot::hpa::{
    ExternalMetricSource, MetricIdentifier, MetricSpec, MetricTarget,
};
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::pod::ConditionStatus;
use kubectl_hpa::snapshot::{ExternalValue, MetricAnswer, Snapshot};
use kubectl_hpa::whatif::timeline::{JoinTimes, Trace};
use serde::Deserialize;

/// The runs.
pub(crate) const NAMES: [&str; 4] = ["plain", "behave", "queue", "nodown"];

/// How the nodes of the runs were simulated.
pub(crate) const TIMES: JoinTimes = JoinTimes {
    ready: SignedDuration::from_secs(8),
    measured: SignedDuration::from_secs(20),
};

/// A pass that the controller logged.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Pass {
    pub(crate) time: Timestamp,
    pub(crate) proposal: i32,
    pub(crate) from: i32,
    pub(crate) to: i32,
}

/// Returns the lines of a file.
pub(crate) fn lines(name: &str) -> Box<dyn BufRead> {
    let path = format!("{}/tests/trajectories/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = File::open(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    if name.ends_with(".gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    }
}

pub(crate) fn passes(name: &str) -> Vec<Pass> {
    lines(&format!("{name}.passes.jsonl"))
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

/// Returns what was read at each moment of a run, every 5 s; read once, because that takes longer than a
/// pass.
pub(crate) fn moments(name: &str) -> &'static [Input] {
    static MOMENTS: [OnceLock<Vec<Input>>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];
    let read = || recorded(name).map(|line| moment(name, &line)).collect();
    MOMENTS[place(name)].get_or_init(read)
}

/// Returns what was read at the last moment of a run, without the time that reading all moments takes.
pub(crate) fn last(name: &str) -> &'static Input {
    static LAST: [OnceLock<Input>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];
    let read = || moment(name, &recorded(name).last().expect("a moment"));
    LAST[place(name)].get_or_init(read)
}

/// Returns what was read at this time of day, such as `07:21:10`.
pub(crate) fn at(name: &str, time: &str) -> Input {
    let start = format!(r#"{{"time":"2026-11-21T{time}Z","#);
    let line = recorded(name).find(|line| line.starts_with(&start));
    moment(name, &line.expect("a moment"))
}

fn place(name: &str) -> usize {
    NAMES.iter().position(|run| *run == name).expect("a run")
}

/// The moments of a run as recorded, one in a line.
fn recorded(name: &str) -> impl Iterator<Item = String> {
    lines(&format!("{name}.jsonl.gz"))
        .lines()
        .map(Result::unwrap)
}

fn moment(namespace: &str, line: &str) -> Input {
    let rest = line.strip_prefix(r#"{"time":""#).expect("a moment");
    let (time, _) = rest.split_once('"').expect("a time");
    let time: Timestamp = time.parse().unwrap();
    let list = line.replacen('{', r#"{"apiVersion":"v1","kind":"List","#, 1);
    let mut objects = Objects::default();
    read_text(&list, namespace, &mut objects).unwrap();
    let options = Options {
        name: "web".to_owned(),
        namespace: Some(namespace.to_owned()),
        now: Some(time),
        // The version that ran, which the recording does not show.
        version: Some("v1.36.2".parse().unwrap()),
        ..Options::default()
    };
    assemble(objects, &options, time).unwrap()
}

/// The replicas and the load at one moment, in milli-units: the total usage of the ready pods, and the queue.
pub(crate) struct Load {
    pub(crate) time: Timestamp,
    pub(crate) replicas: i32,
    pub(crate) cpu: Option<i64>,
    pub(crate) queue: Option<i64>,
}

impl Load {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let states = snapshot.pods.iter().filter_map(|pod| pod.ready);
        let ready = states.filter(|own| own.status == ConditionStatus::True);
        let ready = ready.count() as i64;
        let used = snapshot
            .pod_metrics
            .iter()
            .map(|item| item.containers[0].get("cpu").unwrap());
        let (sum, count) = used.fold((0, 0), |(sum, count), used| (sum + used, count + 1));
        let queue = snapshot.metrics.iter().find_map(|answer| match answer {
            MetricAnswer::External(values) => Some(values.iter().map(|value| value.value).sum()),
            _ => None,
        });
        Self {
            time: snapshot.now,
            replicas: snapshot.scale.as_ref().unwrap().spec_replicas,
            cpu: (count > 0).then(|| sum * ready / count),
            queue,
        }
    }
}

/// Returns the trace of loads, relative to a time.
pub(crate) fn trace<'a>(loads: impl Iterator<Item = &'a Load>, start: Timestamp) -> Trace {
    let loads: Vec<&Load> = loads.collect();
    let has_queue = loads.iter().any(|load| load.queue.is_some());
    let queue_column = if has_queue { ",queue_depth" } else { "" };
    let mut text = format!("time,cpu,replicas{queue_column}\n");
    let cell = |value: Option<i64>| value.map_or_else(String::new, |milli| format!("{milli}m"));
    for load in loads {
        let after = load.time.duration_since(start).as_millis();
        write!(text, "{after}ms,{},{}", cell(load.cpu), load.replicas).unwrap();
        if has_queue {
            write!(text, ",{}", cell(load.queue)).unwrap();
        }
        text.push('\n');
    }
    Trace::read(text.as_bytes(), "the recording").unwrap()
}

/// Returns one metric that asks for this many replicas, with its answer; without a tolerance.
pub(crate) fn asking_for(replicas: i32) -> (Vec<MetricSpec>, Vec<MetricAnswer>) {
    let spec = MetricSpec {
        type_: "External".to_owned(),
        external: Some(ExternalMetricSource {
            metric: MetricIdentifier {
                name: "proposal".to_owned(),
                selector: None,
            },
            target: MetricTarget {
                type_: "AverageValue".to_owned(),
                average_value: Some(Quantity::parse("1").unwrap()),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    };
    let value = i64::from(replicas) * 1000;
    let value = ExternalValue {
        value,
        ..ExternalValue::default()
    };
    (vec![spec], vec![MetricAnswer::External(vec![value])])
}

/// Runs the recorded proposals through stabilization and rate limits, carrying the memory from pass to
/// pass: returns the memory before each, and the replicas after it. The controller reads its clock a
/// little before a pass is logged, and the first pass starts with an empty memory.
pub(crate) fn replay(name: &str) -> Vec<(Memory, Option<i32>)> {
    let mut snapshot = moments(name)[0].snapshot.clone();
    snapshot.controller.tolerance = 0.0;
    let mut memory = Memory::default();
    let mut replayed = Vec::new();
    for pass in passes(name) {
        snapshot.now = pass.time;
        (snapshot.hpa.spec.metrics, snapshot.metrics) = asking_for(pass.proposal);
        let scale = snapshot.scale.as_mut().unwrap();
        (scale.spec_replicas, scale.status_replicas) = (pass.from, pass.from);
        let decision = engine::reconcile(&snapshot, &memory);
        assert_eq!(decision.proposal, Some(pass.proposal), "{name}: {pass:?}");
        replayed.push((memory, decision.replicas_after()));
        snapshot.hpa.status = decision.outcome.status.expect("every metric is read");
        memory = decision.memory;
    }
    replayed
}
