//! How long a pass takes for 100 to 50,000 pods: CPU utilization, two containers each, one pod in
//! fifty not ready, one in a hundred without metrics. It shows whether the engine stays linear, and
//! what reading the objects adds; also how long it takes to find the findings and the thresholds of three
//! metrics, and to play a timeline of many passes. It asserts nothing about time. What a filter leaves out is not
//! built either: criterion calls a function for each sample, so the scenarios are cells outside of them.

use std::cell::LazyCell;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::backtest::Plan;
use kubectl_hpa::engine;
use kubectl_hpa::findings;
use kubectl_hpa::memory::{Memory, Remembered};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::saved;
use kubectl_hpa::saved::assemble::assemble;
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::pod::Pod;
use kubectl_hpa::snapshot::shared::Shared;
use kubectl_hpa::snapshot::{MetricAnswer, PodValue, Snapshot};
use kubectl_hpa::whatif::overrides::Assumptions;
use kubectl_hpa::whatif::thresholds::thresholds;
use kubectl_hpa::whatif::timeline::{JoinTimes, Player, TimelineOptions, Trace};
use serde_json::{Value, json};

fn passes(c: &mut Criterion) {
    let mut group = c.benchmark_group("reconcile");
    for count in [100, 1_000, 10_000, 50_000] {
        let input = LazyCell::new(|| read(&scenario(count)));
        let memory = Memory::default();
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            let input = &*input;
            b.iter(|| engine::reconcile(black_box(&input.snapshot), &memory));
        });
    }
    group.finish();
}

fn reading(c: &mut Criterion) {
    const COUNT: u64 = 10_000;
    let text = LazyCell::new(|| scenario(COUNT));
    let mut group = c.benchmark_group("read and assemble");
    group.sample_size(10);
    group.throughput(Throughput::Elements(COUNT));
    group.bench_function(BenchmarkId::from_parameter(COUNT), |b| {
        let text = &*text;
        b.iter_with_large_drop(|| read(black_box(text)));
    });
    group.finish();
}

/// The findings about 2,000 pods, far from their target and within its tolerance.
fn finding(c: &mut Criterion) {
    const COUNT: u64 = 2_000;
    let mut group = c.benchmark_group("findings");
    group.throughput(Throughput::Elements(COUNT));
    for (name, percent) in [("far from the target", 60), ("within the tolerance", 84)] {
        let pass = LazyCell::new(|| {
            let mut input = read(&scenario(COUNT));
            let target = json!({"type": "Utilization", "averageUtilization": percent});
            let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
            input.snapshot.hpa.spec.metrics[0] = serde_json::from_value(metric).expect("a metric");
            Pass::run(input)
        });
        group.bench_function(name, |b| {
            let pass = &*pass;
            b.iter(|| findings::find(black_box(pass)));
        });
    }
    group.finish();
}

/// The thresholds of an HPA with three metrics, each per pod.
fn searching(c: &mut Criterion) {
    let pass = LazyCell::new(three_metrics);
    let mut group = c.benchmark_group("thresholds of three metrics");
    group.sample_size(10);
    for (name, curve) in [("without a curve", None), ("with a curve", Some(0))] {
        group.bench_function(name, |b| {
            let pass = &*pass;
            b.iter(|| thresholds(black_box(pass), curve));
        });
    }
    group.finish();
}

fn three_metrics() -> Pass {
    const COUNT: u64 = 1_000;
    let mut input = read(&scenario(COUNT));
    let Snapshot {
        hpa,
        pods,
        metrics,
        now,
        ..
    } = &mut input.snapshot;
    hpa.spec.max_replicas = 3 * COUNT as i32;
    let average = |value: &str| json!({"type": "AverageValue", "averageValue": value});
    for metric in [
        json!({"type": "Resource", "resource": {"name": "memory", "target": average("150Mi")}}),
        json!({"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": average("20")}}),
    ] {
        hpa.spec
            .metrics
            .push(serde_json::from_value(metric).expect("a metric"));
    }
    let (timestamp, window) = (*now, SignedDuration::from_secs(15));
    let value = |pod: &Shared<Pod>| PodValue {
        pod: pod.name.clone(),
        value: 17_000,
        timestamp,
        window,
    };
    metrics.push(MetricAnswer::PodMetrics);
    metrics.push(MetricAnswer::Pods(pods.iter().map(value).collect()));
    Pass::with(input, Remembered::from_stated(&Memory::default()))
}

/// A thousand passes, starting with a thousand pods: with a constant load, and with one that comes and
/// goes every ten minutes, along with the pods.
fn timelines(c: &mut Criterion) {
    const PASSES: i32 = 1_000;
    let start = LazyCell::new(|| {
        let Input { snapshot, .. } = read(&scenario(1_000));
        let first = engine::reconcile(&snapshot, &Memory::default());
        (snapshot, first)
    });
    let rows =
        (0..30).map(|n| format!("{}m,{}\n", 10 * n, if n % 2 == 0 { "x0.8" } else { "x0.5" }));
    let trace = format!("time,cpu\n{}", rows.collect::<String>());
    let mut group = c.benchmark_group("timeline");
    group.sample_size(10);
    for (name, trace) in [("held", None), ("trace", Some(trace))] {
        let player = LazyCell::new(|| {
            let (snapshot, first) = &*start;
            let trace = trace.map(|text| Trace::read(text.as_bytes(), "the trace"));
            let plan = TimelineOptions {
                others: Vec::new(),
                span: Some(snapshot.controller.sync_period * (PASSES - 1)),
                trace: trace.transpose().expect("the trace is one").map(Arc::new),
                times: JoinTimes {
                    ready: SignedDuration::from_secs(10),
                    measured: SignedDuration::from_secs(30),
                },
            };
            let (now, begun) = (SignedDuration::ZERO, &mut snapshot.clone());
            let player = Player::new(plan, now, snapshot, begun, None, &mut Vec::new());
            let player = player.expect("there are passes to play");
            let timeline = player
                .play(snapshot, first)
                .expect("no more pods than can be played");
            assert_eq!(
                timeline.map(|timeline| timeline.passes.len()),
                Some(PASSES as usize)
            );
            player
        });
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            let ((snapshot, first), player) = (&*start, &*player);
            b.iter(|| player.play(black_box(snapshot), first));
        });
    }
    group.finish();
}

/// A week of passes of the backtest example, for their totals alone: what a search does for each
/// combination.
fn weeks(c: &mut Criterion) {
    let prepared = LazyCell::new(|| {
        let trace = include_bytes!("../../examples/backtest/week.csv");
        let trace = Trace::read(trace, "week.csv").expect("the trace is one");
        let options = Options {
            name: "web".to_owned(),
            ..Options::default()
        };
        let state = include_str!("../../examples/backtest/state.yaml");
        let observed =
            saved::read(state, &options, Timestamp::UNIX_EPOCH).expect("the state is one");
        let times = JoinTimes {
            ready: SignedDuration::from_secs(10),
            measured: SignedDuration::from_secs(30),
        };
        let timeline = TimelineOptions {
            others: Vec::new(),
            span: None,
            trace: Some(Arc::new(trace)),
            times,
        };
        let plan = Plan::new(timeline, observed, true);
        plan.prepare(&Assumptions::default())
            .expect("the load is about it")
    });
    let mut group = c.benchmark_group("backtest");
    group.sample_size(10);
    group.bench_function("a week", |b| {
        let prepared = &*prepared;
        b.iter(|| black_box(prepared).totals());
    });
    group.finish();
}

criterion_group!(
    benches, passes, reading, finding, searching, timelines, weeks
);
criterion_main!(benches);

fn read(text: &str) -> Input {
    let mut objects = Objects::default();
    read_text(text, "the scenario", &mut objects).expect("the scenario is readable");
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    assemble(objects, &options, Timestamp::UNIX_EPOCH).expect("the scenario is complete")
}

/// The scenario as users would save it, including fields that a pass skips.
fn scenario(count: u64) -> String {
    let mut dice = Dice(count);
    let mut items = vec![
        json!({"apiVersion": "kubectl-hpa/v1alpha1", "kind": "ControllerState", "now": before(0)}),
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1, "maxReplicas": 100_000,
                "metrics": [{"type": "Resource", "resource": {
                    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60},
                }}],
            },
        }),
        json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": count}, "status": {"replicas": count, "selector": "app=web"},
        }),
    ];
    for number in 0..count {
        let unready = dice.below(100) < 2;
        items.push(pod(number, unready));
        if dice.below(100) >= 1 {
            items.push(usage(number, &mut dice));
        }
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn pod(number: u64, unready: bool) -> Value {
    let container = |name: &str, cpu: &str| {
        let env: Vec<_> = (0..8)
            .map(|n| json!({"name": format!("V{n}"), "value": "x".repeat(20)}))
            .collect();
        json!({
            "name": name, "image": "registry.example/web:1", "env": env,
            "ports": [{"containerPort": 8080, "protocol": "TCP"}],
            "resources": {
                "requests": {"cpu": cpu, "memory": "128Mi"},
                "limits": {"cpu": "1", "memory": "256Mi"},
            },
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent",
        })
    };
    let (started, changed) = if unready { (20, 20) } else { (4000, 3990) };
    let condition = |type_: &str| {
        let status = if unready && type_ == "Ready" {
            "False"
        } else {
            "True"
        };
        json!({"type": type_, "status": status, "lastTransitionTime": before(changed)})
    };
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
    let statuses = ["app", "proxy"].map(|name| {
        json!({
            "name": name, "ready": true, "restartCount": 0, "image": "x", "imageID": "x",
            "started": true, "state": {"running": {"startedAt": before(3995)}},
        })
    });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata(number),
        "spec": {
            "containers": [container("app", "250m"), container("proxy", "100m")],
            "nodeName": format!("node-{}", number % 50), "serviceAccountName": "default",
            "restartPolicy": "Always",
            "tolerations": [{
                "key": "node.kubernetes.io/not-ready", "operator": "Exists",
                "effect": "NoExecute", "tolerationSeconds": 300,
            }],
        },
        "status": {
            "phase": "Running", "startTime": before(started), "podIP": "10.0.0.1",
            "hostIP": "10.1.0.1", "conditions": conditions, "containerStatuses": statuses,
        },
    })
}

fn usage(number: u64, dice: &mut Dice) -> Value {
    let mut container = |name: &str, from: u64, to: u64, memory: &str| {
        let cpu = format!("{}n", from + dice.below(to - from));
        json!({"name": name, "usage": {"cpu": cpu, "memory": memory}})
    };
    let containers = [
        container("app", 100_000_000, 400_000_000, "100000Ki"),
        container("proxy", 10_000_000, 90_000_000, "30000Ki"),
    ];
    json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": metadata(number), "timestamp": before(10), "window": "15s",
        "containers": containers,
    })
}

fn metadata(number: u64) -> Value {
    json!({
        "name": format!("web-7c9d8b6f5-{number:05}"), "namespace": "default",
        "labels": {"app": "web", "pod-template-hash": "7c9d8b6f5"},
        "uid": format!("{number:032x}"),
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7c9d8b6f5", "uid": "u",
            "controller": true,
        }],
    })
}

fn before(seconds: i64) -> String {
    const NOW: Timestamp = Timestamp::constant(1_795_240_800, 0);
    (NOW - SignedDuration::from_secs(seconds)).to_string()
}

/// The same numbers in every run (Knuth's generator for MMIX).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
