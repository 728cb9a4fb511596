//! Timelines worked out by hand, from the controller's rules and what is said of the pods and the
//! load; not from this code.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};

use super::Limit::{self, Percent, Pods};
use super::{
    JoinTimes, LastValue, Player, PodLack, Rolled, Rollout, Strategy, Timeline, TimelineOptions,
    Trace, TraceEnd,
};
use crate::apimachinery::quantity::Amount;
use crate::build;
use crate::engine;
use crate::engine::decision::PodRow;
use crate::error::{Error, ErrorKind};
use crate::memory::Memory;
use crate::saved::testing::input;
use crate::snapshot::metric::{ContainerUsage, PodMetrics};
use crate::snapshot::pod::{ConditionStatus, Phase, Pod, ReadyCondition};
use crate::snapshot::surroundings::{Ordinals, Replacement, UpdateStrategy, Workload};
use crate::snapshot::{ScaleError, Snapshot};
use crate::version::FeatureGate;
use crate::whatif::overrides::{NamedMetric, Override, is_ready};

const START: &str = "2026-11-21T06:00:00Z";

/// An HPA with its pods: each ready for an hour, with what it uses of the 100m that it requests, in m.
struct World {
    spec: Json,
    replicas: i32,
    used: Vec<Option<i64>>,
    more: Vec<Json>,
    kind: &'static str,
}

impl World {
    fn new(spec: Json, used: &[i64]) -> Self {
        Self {
            spec,
            replicas: used.len() as i32,
            used: used.iter().copied().map(Some).collect(),
            more: Vec::new(),
            kind: "Deployment",
        }
    }

    fn snapshot(&self) -> Snapshot {
        let spec = json!({
            "scaleTargetRef": {"kind": self.kind}, "minReplicas": 1, "maxReplicas": 20,
            "metrics": [build::resource("cpu", &build::utilization(50))],
        });
        let hpa = build::with(build::hpa(&spec), &json!({"spec": self.spec}));
        let mut items = vec![hpa, build::scale(self.replicas), build::state(&json!({}))];
        let taken = json!({"timestamp": "2026-11-21T05:59:55Z"});
        for (number, used) in self.used.iter().enumerate() {
            let name = format!("web-{number}");
            items.push(build::pod(&name));
            items.extend(
                used.map(|used| {
                    build::with(build::pod_metrics(&name, &format!("{used}m")), &taken)
                }),
            );
        }
        items.extend(self.more.clone());
        input(&items).unwrap().snapshot
    }
}

/// Returns a pod of a Job that the selector matches, too, ready since some time, which uses 350m of the 500m that it
/// requests.
fn foreign(container: &str, since: &str) -> Vec<Json> {
    let owner = build::owned_by("batch/v1", "Job", "load");
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": since});
    let own = json!({"metadata": {"ownerReferences": owner},
        "spec": {"containers": [build::requesting(container, "500m")]},
        "status": {"startTime": since, "conditions": [ready]}});
    let pod = build::with(build::pod("load-0"), &own);
    let mut metrics = build::pod_metrics("load-0", "350m");
    metrics["containers"][0]["name"] = json!(container);
    vec![pod, metrics]
}

fn plan(span: &str, trace: &str) -> TimelineOptions {
    let duration =
        |text: &str| -> SignedDuration { crate::apimachinery::go::parse_duration(text).unwrap() };
    TimelineOptions {
        span: (!span.is_empty()).then(|| duration(span)),
        trace: (!trace.is_empty())
            .then(|| Arc::new(Trace::read(trace.as_bytes(), "load.csv").unwrap())),
        ..TimelineOptions::default()
    }
}

fn player(
    plan: TimelineOptions,
    snapshot: &mut Snapshot,
    overrides: &mut Vec<Override>,
) -> Result<Player, Error> {
    let (now, observed) = (SignedDuration::ZERO, snapshot.clone());
    Player::new(plan, now, &observed, snapshot, None, overrides)
}

fn play_with(
    mut snapshot: Snapshot,
    plan: TimelineOptions,
    overrides: &mut Vec<Override>,
) -> Result<Timeline, Error> {
    let player = player(plan, &mut snapshot, overrides)?;
    // The controller has just started.
    let first = engine::reconcile(&snapshot, &Memory::default());
    Ok(player
        .play(&snapshot, &first)?
        .expect("the scale can be read"))
}

fn play_on(snapshot: Snapshot, span: &str, trace: &str) -> Timeline {
    play_with(snapshot, plan(span, trace), &mut Vec::new()).unwrap()
}

fn play(world: &World, span: &str, trace: &str) -> Timeline {
    play_on(world.snapshot(), span, trace)
}

/// Gives a pod a second container like its first one.
fn add_proxy(pod: &mut Pod) {
    let mut proxy = pod.containers[0].clone();
    proxy.name = "proxy".into();
    pod.containers.push(proxy);
}

/// Adds the usage of that container, in m.
fn measure_proxy(item: &mut PodMetrics, used: i64) {
    item.containers.push(ContainerUsage {
        name: "proxy".into(),
        usage: [("cpu".into(), used)].into_iter().collect(),
    });
}

/// The counts with the seconds from which on they hold, for each change.
fn changes(timeline: &Timeline) -> Vec<(i64, i32)> {
    let after = |time: Timestamp| time.duration_since(timeline.start).as_secs();
    timeline
        .changes
        .iter()
        .map(|change| (after(change.time), change.to))
        .collect()
}

fn proposals(timeline: &Timeline) -> Vec<Option<i32>> {
    timeline.passes.iter().map(|point| point.proposal).collect()
}

/// A load that begins at 06:00:10 with 200m in all, twice the target of two pods, which use 50m each before. A first pass
/// that runs 14 s after the state was read sees it. Four pods then use 50m in all, 13m each, and two are enough once the
/// last pass before 06:01:00 is 300 s ago.
#[test]
fn the_first_pass_runs_when_it_is_due() {
    let load = "time,cpu\n2026-11-21T06:00:10Z,200m\n2026-11-21T06:01:00Z,50m\n";
    let second = SignedDuration::from_secs(1);
    let start: Timestamp = START.parse().unwrap();
    for (delay, want) in [(0, [(15, 4), (345, 2)]), (14, [(14, 4), (359, 2)])] {
        let mut snapshot = World::new(json!({}), &[50, 50]).snapshot();
        let (observed, none) = (snapshot.clone(), &mut Vec::new());
        let plan = plan("10m", load);
        let player =
            Player::new(plan, second * delay, &observed, &mut snapshot, None, none).unwrap();
        let first = engine::reconcile(&snapshot, &Memory::default());
        let timeline = player.play(&snapshot, &first).unwrap().unwrap();
        assert_eq!(timeline.start, start + second * delay);
        assert_eq!(timeline.totals.highest.time, start + second * want[0].0);
        let after = |time: Timestamp| time.duration_since(start).as_secs() as i32;
        let changes = timeline.changes.iter().map(|it| (after(it.time), it.to));
        assert_eq!(Vec::from_iter(changes), want, "{delay}");
    }
}

/// 200m in all. At 100 %, two pods become ceil(2 x 2) = 4. At 15 s two of the four that share it are
/// measured, with 50m each: that is the target. At 30 s all are; the new ones have been ready since
/// 10 s, and the sample's window from 10 s to 25 s has just passed.
#[test]
fn the_load_is_shared_as_pods_join() {
    let timeline = play(&World::new(json!({}), &[100, 100]), "1m", "");
    assert_eq!(changes(&timeline), [(0, 4)]);
    assert_eq!(proposals(&timeline), [Some(4); 5]);
    let ready: Vec<usize> = timeline.passes.iter().map(|point| point.ready).collect();
    assert_eq!(ready, [2, 4, 4, 4, 4]);
    assert!(timeline.totals.is_settled && timeline.swing.is_none());
}

/// 450m of 700m are 64 %: 1.28 x 3 = 3.84 pods. With 4 of the target they are 50 % of 900m, however old the Job's pod and
/// whatever its container. Half as much again is 75 %: 1.5 x 5 = 7.5.
#[test]
fn a_foreign_pod_counts_and_stays() {
    let more = "time,cpu\n2026-11-21T06:05:00Z,x1.5\n";
    for (container, since, load, expected) in [
        ("app", "2026-11-21T04:00:00Z", "", &[(0, 4)][..]),
        ("job", "2026-11-21T05:55:00Z", "", &[(0, 4)]),
        ("app", "2026-11-21T05:55:00Z", more, &[(0, 4), (300, 8)]),
    ] {
        let mut world = World::new(json!({}), &[50, 50]);
        world.more = foreign(container, since);
        let timeline = play(&world, "10m", load);
        assert_eq!(changes(&timeline), expected, "{container} {since} {load}");
        let ready = timeline.passes.last().map(|it| it.ready);
        assert_eq!(ready, usize::try_from(timeline.totals.last).ok());
    }
}

/// The published experiment: one pass with a load of 2575 %, then none. At 15 s the missing pods keep
/// the replicas, and 258 still counts; twice 4 is 8. At 30 s the same, and the maximum is 10. At 45 s,
/// those of 30 s are still missing: the last that keeps 10, until 345 s; then the minimum.
#[test]
fn what_is_remembered_scales_up_without_load() {
    let world = World::new(
        json!({"minReplicas": 2, "maxReplicas": 10, "metrics": [{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 20}}}]}),
        &[2575, 2575],
    );
    let timeline = play(&world, "10m", "time,cpu\n15s,0\n");
    assert_eq!(changes(&timeline), [(0, 4), (15, 8), (30, 10), (345, 2)]);
    assert_eq!(
        proposals(&timeline)[..4],
        [Some(258), Some(4), Some(8), Some(10)]
    );
    assert!(timeline.totals.is_settled);
    // Nothing is sure before.
    let timeline = play(&world, "5m30s", "time,cpu\n15s,0\n");
    assert_eq!(timeline.passes.last().map(|point| point.replicas), Some(10));
    assert!(!timeline.totals.is_settled);
}

/// From 400m in all to 120m: 8 pods become 3 (ceil(0.3 x 8), which is 2.4), but only once the 8 that
/// were recommended at 0 s count no more: five minutes later. The pods that go are gone at once, and
/// the rest use 40m each: 0.8 x 3 is 2.4 again.
#[test]
fn less_load_counts_once_the_window_has_passed() {
    let world = World::new(json!({}), &[50; 8]);
    let timeline = play(&world, "10m", "time,cpu\n15s,120m\n");
    assert_eq!(changes(&timeline), [(300, 3)]);
    assert!(timeline.totals.is_settled);
    // A window of its own.
    let spec = json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}});
    let timeline = play(&World::new(spec, &[50; 8]), "10m", "time,cpu\n15s,120m\n");
    assert_eq!(changes(&timeline), [(60, 3)]);
}

/// A trace that ends in a drop is played until what it leads to has settled: the 8 of 0 s hold until
/// 300 s, and the pass after that finds nothing left to do. Rate limits take as long as they need, one
/// pod a minute here. What swings, or waits for what never comes, ends too.
#[test]
fn a_trace_is_played_on_until_it_has_settled() {
    let plays = |spec: Json, change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = World::new(spec, &[50; 8]).snapshot();
        change(&mut snapshot);
        play_on(snapshot, "", "time,cpu\n15s,120m\n")
    };
    let timeline = plays(json!({}), &|_| ());
    assert_eq!(
        (changes(&timeline), timeline.totals.is_settled),
        (vec![(300, 3)], true)
    );
    assert_eq!((timeline.span.as_secs(), timeline.passes.len()), (315, 22));
    let end = TraceEnd {
        after: SignedDuration::from_secs(15),
        last: vec![LastValue {
            metric: "cpu".to_owned(),
            value: "120m".to_owned(),
            is_missing: false,
        }],
    };
    assert_eq!(timeline.trace, Some(end));
    let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": 1200}]);
    let slow = json!({"behavior": {"scaleDown": {"policies": policies}}});
    let timeline = plays(slow, &|_| ());
    let expected = [(300, 7), (1500, 6), (2700, 5), (3900, 4), (5100, 3)];
    assert_eq!(
        (&changes(&timeline)[..], timeline.totals.is_settled),
        (&expected[..], true)
    );
    let timeline = plays(json!({"minReplicas": 9, "maxReplicas": 7}), &|_| ());
    assert_eq!(
        (timeline.totals.is_settled, timeline.swing),
        (false, Some((7, 9)))
    );
    // Nothing can be written: it waits for a window, pods and a pass, five minutes each and 15 s, after
    // the end.
    let timeline = plays(json!({}), &|it| {
        it.scale_update_error = Some("refused".to_owned());
    });
    assert_eq!((timeline.totals.is_settled, timeline.swing), (false, None));
    assert_eq!(timeline.span.as_secs(), 15 + 300 + 300 + 15);
    // --for says exactly how long.
    let world = World::new(json!({}), &[50; 8]);
    let timeline = play(&world, "1m", "time,cpu\n15s,120m\n");
    assert_eq!(
        (timeline.span.as_secs(), timeline.totals.is_settled),
        (60, false)
    );
}

/// One pod a minute: the first at the pass at which the 4 of the start count no more (there is no
/// window), then one each time that the last change is a whole minute old.
#[test]
fn policies_count_what_was_changed() {
    let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": 60}]);
    let down = json!({"stabilizationWindowSeconds": 0, "policies": policies});
    let world = World::new(json!({"behavior": {"scaleDown": down}}), &[10; 4]);
    let timeline = play(&world, "4m", "");
    assert_eq!(changes(&timeline), [(0, 3), (60, 2), (120, 1)]);
    assert!(timeline.totals.is_settled);
    // It waits for the third.
    let timeline = play(&world, "100s", "");
    assert_eq!(changes(&timeline), [(0, 3), (60, 2)]);
    assert!(!timeline.totals.is_settled);
    // What is disabled is not waited for.
    let world = World::new(
        json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Disabled"}}}),
        &[10; 4],
    );
    let timeline = play(&world, "1m", "");
    assert_eq!(changes(&timeline), []);
    assert!(timeline.totals.is_settled);
}

/// No server would take these bounds; a controller goes from one to the other for ever. That is known once everything
/// for as long as a window and pods may take, five minutes each, and a pass has come before.
#[test]
fn to_and_fro_is_told_from_settled() {
    let world = World::new(json!({"minReplicas": 5, "maxReplicas": 3}), &[50; 4]);
    let timeline = play(&world, "1m", "");
    assert_eq!(
        changes(&timeline),
        [(0, 3), (15, 5), (30, 3), (45, 5), (60, 3)]
    );
    for (span, swing) in [("1m", None), ("10m", None), ("11m", Some((3, 5)))] {
        let timeline = play(&world, span, "");
        assert_eq!((timeline.totals.is_settled, timeline.swing), (false, swing));
    }
}

/// A load that makes 1 pod 5, and 5 pods that share it 1. The second time, a rate limit counts the pods that left.
#[test]
fn a_change_that_comes_again_may_lead_elsewhere() {
    let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": 120}]);
    let down = json!({"stabilizationWindowSeconds": 15, "policies": policies});
    let world = World::new(json!({"behavior": {"scaleDown": down}}), &[42]);
    let times = JoinTimes {
        ready: SignedDuration::from_secs(30),
        measured: SignedDuration::from_secs(45),
    };
    let plan = TimelineOptions {
        times,
        ..plan("", "time,cpu\n15s,209m\n")
    };
    let timeline = play_with(world.snapshot(), plan, &mut Vec::new()).unwrap();
    let expected = vec![(15, 5), (60, 1), (75, 5), (120, 4)];
    assert_eq!(
        (changes(&timeline), timeline.totals.is_settled),
        (expected, true)
    );
}

/// What the values of a trace come to. Two pods with 50m each are at the target.
#[test]
fn a_trace_states_the_load_of_all_pods() {
    for (value, proposal) in [
        // In all: 300m by two pods are 150 % each, three times the target.
        ("300m", 6),
        ("300000u", 6),
        // Each pod that there is uses so much of its request: twice the target.
        ("100%", 4),
        // Of the 100m that there are at the start.
        ("x2", 4),
        ("+100%", 4),
        ("-50%", 1),
        ("0", 0),
    ] {
        let timeline = play(
            &World::new(json!({}), &[50, 50]),
            "15s",
            &format!("time,cpu\n15s,{value}\n"),
        );
        assert_eq!(proposals(&timeline), [Some(2), Some(proposal)], "{value}");
        // The first pass proposes the same.
        let trace = format!("time,cpu\n0s,{value}\n");
        let mut overrides = Vec::new();
        let world = World::new(json!({}), &[50, 50]);
        let timeline = play_with(world.snapshot(), plan("15s", &trace), &mut overrides).unwrap();
        assert_eq!(proposals(&timeline)[0], Some(proposal), "{value}");
        let [Override { item, observed, .. }] = &overrides[..] else {
            panic!("{overrides:?}")
        };
        let observed = observed.as_ref().map(ToString::to_string);
        assert_eq!((&**item, observed.as_deref()), ("cpu", Some("50%")));
    }
    // 400m by two are 200 %, by four 100 %. Two of the four are measured at 15 s: with nothing for the
    // others that is the target, but 8 still counts. By eight it is the target.
    let timeline = play(
        &World::new(json!({}), &[50, 50]),
        "2m",
        "time,cpu\n0s,400m\n",
    );
    assert_eq!(changes(&timeline), [(0, 4), (15, 8)]);
    assert_eq!(proposals(&timeline)[..2], [Some(8), Some(4)]);
    assert_eq!(proposals(&timeline).last(), Some(&Some(8)));
    assert!(timeline.totals.is_settled);
}

/// Of 300m in all the first container uses a third, as it did; the HPA looks at it alone, and at 50m a
/// pod. With 200m of its own, it is 4.
#[test]
fn containers_keep_their_parts_of_the_load() {
    let container = build::resource_of("cpu", "app", &build::average("50m"));
    let pod = build::resource("cpu", &build::average("1"));
    let mut snapshot = World::new(json!({"metrics": [container, pod]}), &[40, 60]).snapshot();
    for item in &mut snapshot.pod_metrics {
        measure_proxy(item, 100);
    }
    for (trace, proposal) in [
        ("time,cpu\n15s,300m\n", 2),
        ("time,cpu\n15s,600m\n", 4),
        ("time,app=cpu\n15s,200m\n", 4),
    ] {
        let timeline = play_on(snapshot.clone(), "15s", trace);
        assert_eq!(proposals(&timeline), [Some(2), Some(proposal)], "{trace}");
    }
    // Where nothing was measured, those of the requests.
    snapshot.pod_metrics.clear();
    for pod in &mut snapshot.pods {
        add_proxy(pod);
        pod.containers[1].requests.0[0].1 = Amount::int(200, -3);
    }
    for (trace, proposal) in [("time,cpu\n0s,300m\n", 2), ("time,cpu\n0s,600m\n", 4)] {
        let timeline = play_on(snapshot.clone(), "15s", trace);
        assert_eq!(proposals(&timeline)[0], Some(proposal), "{trace}");
    }
}

/// The metric fails, and nothing is decided, until it is back.
#[test]
fn a_metric_may_be_missing_for_a_while() {
    let world = World::new(json!({}), &[50, 50]);
    let timeline = play(&world, "1m", "time,cpu\n15s,missing\n45s,200m\n");
    assert_eq!(
        proposals(&timeline),
        [Some(2), None, None, Some(4), Some(4)]
    );
    assert_eq!(changes(&timeline), [(45, 4)]);
}

/// The last pass has no answer: the replicas are kept, but what the metric would propose is not known.
#[test]
fn what_follows_a_pass_without_an_answer_is_not_settled() {
    let world = World::new(json!({}), &[50, 50]);
    for (span, load, expected) in [
        ("5m", "time,cpu\n15s,200m\n2m,missing\n", (4, false, None)),
        ("", "time,cpu\n15s,200m\n2m,missing\n", (4, false, None)),
        ("5m", "time,cpu\n15s,missing\n2m,200m\n", (4, true, None)),
    ] {
        let Timeline { totals, swing, .. } = play(&world, span, load);
        let found = (totals.last, totals.is_settled, swing);
        assert_eq!(found, expected, "{span} {load}");
    }
}

/// A queue of 50 with 10 for each replica are 5, whatever the pods do; one that grows, more.
#[test]
fn what_is_not_per_pod_stays() {
    let metric = json!({"type": "External", "external": {"metric": {"name": "queue"},
                        "target": {"type": "AverageValue", "averageValue": "10"}}});
    let mut world = World::new(json!({"metrics": [metric]}), &[]);
    world.replicas = 3;
    world.more = vec![json!({
        "apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValueList",
        "items": [{"metricName": "queue", "metricLabels": {}, "timestamp": START, "value": "50"}],
    })];
    let timeline = play(&world, "2m", "");
    assert_eq!(changes(&timeline), [(0, 5)]);
    assert!(timeline.totals.is_settled);
    let timeline = play(&world, "2m", "time,queue\n1m,101\n90s,missing\n");
    assert_eq!(changes(&timeline), [(0, 5), (60, 10), (75, 11)]);
    // 101 are within the tolerance of 10, but 11 still counts.
    assert_eq!(
        proposals(&timeline)[4..],
        [Some(11), Some(10), None, None, None]
    );
}

/// The controller remembers in its status that it was it that left no replicas, and wakes the target:
/// for 25 with 10 for each replica, as 3. A target of 10 in all then finds three pods, of which nothing
/// but their labels is known, ready at the next pass: 2.5 times 3. One pass may add 4, or as many as there are.
#[test]
fn what_sleeps_wakes() {
    let queue = |target: Json| {
        let metric = json!({"metric": {"name": "queue"}, "target": target});
        let down = json!({"stabilizationWindowSeconds": 0});
        let metrics = json!([{"type": "External", "external": metric}]);
        let mut world = World::new(
            json!({"minReplicas": 0, "metrics": metrics, "behavior": {"scaleDown": down}}),
            &[],
        );
        world.more = vec![json!({
            "apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValueList",
            "items": [{"metricName": "queue", "metricLabels": {}, "timestamp": START, "value": "0"}],
        })];
        world
    };
    let play = |world: &World, trace: &str, asleep: bool| {
        let mut snapshot = world.snapshot();
        snapshot.controller.gates[FeatureGate::HPAScaleToZero] = true;
        if asleep {
            let condition = json!({"type": "ScaledToZero", "status": "True"});
            snapshot.hpa.status.conditions = vec![serde_json::from_value(condition).unwrap()];
        }
        play_on(snapshot, "45s", trace)
    };
    let mut world = queue(json!({"type": "AverageValue", "averageValue": "10"}));
    world.replicas = 2;
    let timeline = play(&world, "time,queue\n30s,25\n", false);
    assert_eq!(changes(&timeline), [(0, 0), (30, 3)]);
    let world = queue(json!({"type": "Value", "value": "10"}));
    let timeline = play(&world, "time,queue\n15s,25\n", true);
    assert_eq!(changes(&timeline), [(15, 3), (30, 7), (45, 14)]);
    assert_eq!(proposals(&timeline), [Some(0), Some(3), Some(8), Some(18)]);
}

/// Pods that were put in a state stay in it, and keep what is stated of them.
#[test]
fn someone_else_scales_to_0_and_from_it() {
    // 400m are 2 pods at 200m each of 100m: 8 are asked for, of which twice as many as there are at once.
    let load = "time,cpu,replicas\n0s,100m,2\n60s,0m,0\n100s,missing,0\n155s,400m,2\n300s,400m,8\n";
    let world = World::new(json!({}), &[50, 50]);
    let timeline = play(&world, "240s", load);
    let replicas: Vec<i32> = timeline.passes.iter().map(|pass| pass.replicas).collect();
    // The pods that are created at 155 s are ready at 165 s, and have metrics at 185 s. The 8 are remembered.
    assert_eq!(
        replicas[..17],
        [2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 2, 2, 4, 8, 8, 8]
    );
    assert!(
        timeline.passes[4..11]
            .iter()
            .all(|pass| pass.is_answered && pass.proposal.is_none())
    );
    assert_eq!(
        changes(&timeline),
        [(195, 4), (210, 8)],
        "what others did is no rescale"
    );
    // Where the controller may scale to 0, that is its own decision, here held by an older recommendation.
    let mut snapshot = World::new(json!({"minReplicas": 0}), &[50, 50]).snapshot();
    snapshot.controller.gates[FeatureGate::HPAScaleToZero] = true;
    let timeline = play_on(snapshot, "90s", load);
    assert!(
        timeline.passes.iter().all(|pass| pass.replicas == 2),
        "{:?}",
        timeline.passes
    );
}

#[test]
fn what_is_assumed_of_a_pod_stays() {
    let mut held = Override::event("missing pods", "web-2");
    held.pods = vec!["web-2".into()];
    // The third has just started, and is measured from 22 s on. By three, 240m are 80m each: at 15 s
    // the two that are measured use 160 % of the target, and with nothing for the third 106 %, which
    // is within the tolerance; at 30 s, all use 160 %: ceil(4.8).
    let mut world = World::new(json!({}), &[50, 50, 50]);
    world.used[2] = None;
    let mut snapshot = world.snapshot();
    snapshot.pods[2].start_time = Some("2026-11-21T05:59:55Z".parse().unwrap());
    for (mut overrides, last) in [(vec![], 5), (vec![held.clone()], 3)] {
        let plan = plan("30s", "time,cpu\n15s,240m\n");
        let timeline = play_with(snapshot.clone(), plan, &mut overrides).unwrap();
        assert_eq!(proposals(&timeline), [Some(3), Some(3), Some(last)]);
    }
    // One that long has been there without metrics stays so without being held. 100m each, and nothing
    // for it: 132 % of the target, ceil(3.96). Four share the 300m, of which three are measured at 30 s:
    // 56 % of the request with nothing for the fourth, ceil(1.12 x 4).
    world.used[..2].copy_from_slice(&[Some(100), Some(100)]);
    let timeline = play(&world, "30s", "");
    assert_eq!(proposals(&timeline), [Some(4), Some(4), Some(5)]);
    // Of 200m in all, the others have what one that is stated leaves.
    let used = |overrides: &mut Vec<Override>| -> Vec<Option<i64>> {
        let mut snapshot = World::new(json!({}), &[50, 50, 100]).snapshot();
        player(plan("1m", "time,cpu\n0s,200m\n"), &mut snapshot, overrides).unwrap();
        snapshot
            .pod_metrics
            .iter()
            .map(|item| item.containers[0].get("cpu"))
            .collect()
    };
    assert_eq!(used(&mut vec![]), [Some(67), Some(67), Some(67)]);
    assert_eq!(used(&mut vec![held]), [Some(50), Some(50), Some(100)]);
}

/// Scaled by hand from 3 to 8: five pods are 8 s old and not ready. They should have been ready 1 s ago,
/// and are starting, so they are ready 10 s from now. At the target by 3, 8 need 19 % each: 3 are enough
/// (ceil(0.375 x 8)). At 15 s the five are not measured yet, and with all that they request for each the
/// metric proposes 8, which hold for five minutes more. Three pods then have 50m again. What has been
/// unready for longer, has failed or cannot be scheduled stays so.
#[test]
fn a_pod_that_is_starting_becomes_ready() {
    let world = World::new(json!({}), &[50, 50, 50, 0, 0, 0, 0, 0]);
    let with = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = world.snapshot();
        for pod in &mut snapshot.pods[3..] {
            let start = "2026-11-21T05:59:52Z".parse().unwrap();
            pod.start_time = Some(start);
            let status = ConditionStatus::False;
            pod.ready = Some(ReadyCondition {
                status,
                last_transition_time: start,
            });
        }
        snapshot.pod_metrics.truncate(3);
        change(&mut snapshot);
        play_on(snapshot, "10m", "")
    };
    let ready = |timeline: &Timeline| -> Vec<usize> {
        timeline
            .passes
            .iter()
            .take(3)
            .map(|point| point.ready)
            .collect()
    };
    let timeline = with(&|_| ());
    assert_eq!((ready(&timeline), timeline.starting), (vec![3, 8, 8], 5));
    assert_eq!(changes(&timeline), [(315, 3)]);
    assert_eq!(timeline.stays, []);
    // One that is 90 s old has another minute to go.
    let mut later = plan("2m", "");
    later.times.ready = SignedDuration::from_mins(1);
    let mut snapshot = world.snapshot();
    snapshot.pods[7].ready.as_mut().unwrap().status = ConditionStatus::False;
    snapshot.pods[7].start_time = Some("2026-11-21T05:58:30Z".parse().unwrap());
    let timeline = play_with(snapshot, later, &mut Vec::new()).unwrap();
    let ready_later: Vec<usize> = timeline.passes.iter().map(|point| point.ready).collect();
    assert_eq!(ready_later[..6], [7, 7, 7, 7, 8, 8]);
    let change: &dyn Fn(&mut Snapshot) = &|snapshot| {
        snapshot.pods[0].phase = Phase::Failed;
        snapshot.pod_metrics.remove(1);
        snapshot.pods[3].start_time = Some("2026-11-21T05:55:00Z".parse().unwrap());
        snapshot.pods[4].phase = Phase::Pending;
        snapshot.pods[4].unschedulable = Some("no node".into());
        snapshot.pods[5].phase = Phase::Pending;
        snapshot.pods[5].start_time = Some("2026-11-21T05:54:00Z".parse().unwrap());
        snapshot.pods[6].phase = Phase::Pending;
        snapshot.pods[6].start_time = None;
    };
    let timeline = with(change);
    // Two are starting, and another takes the place of the one that failed.
    assert_eq!((ready(&timeline), timeline.starting), (vec![2, 5, 5], 2));
    let stays: Vec<(&str, PodLack)> = timeline
        .stays
        .iter()
        .map(|stays| (&*stays.pod, stays.lacks))
        .collect();
    let expected = [
        ("web-0", PodLack::Failed),
        ("web-1", PodLack::Metrics),
        ("web-3", PodLack::Readiness),
        ("web-4", PodLack::Unschedulable),
        ("web-5", PodLack::Readiness),
    ];
    assert_eq!(stays, expected);
}

/// Those that go first: what is not ready, then the youngest; of a StatefulSet of Kubernetes or Kruise, the last. The pod
/// of a Job stays.
#[test]
fn pods_go_as_their_controller_takes_them() {
    let names = |snapshot: &Snapshot| -> Vec<String> {
        let mut names: Vec<String> = snapshot
            .pods
            .iter()
            .map(|pod| pod.name.to_string())
            .collect();
        names.sort();
        names
    };
    for (api_version, kind, left) in [
        ("apps/v1", "Deployment", ["load-0", "web-0", "web-10"]),
        ("apps/v1", "StatefulSet", ["load-0", "web-0", "web-1"]),
        (
            "apps.kruise.io/v1beta1",
            "StatefulSet",
            ["load-0", "web-0", "web-1"],
        ),
        (
            "example.com/v1",
            "StatefulSet",
            ["load-0", "web-0", "web-10"],
        ),
    ] {
        let target = json!({"scaleTargetRef": {"apiVersion": api_version, "kind": kind}});
        let mut world = World::new(target, &[50; 11]);
        world.more = foreign("app", "2026-11-21T05:45:00Z");
        let mut snapshot = world.snapshot();
        for pod in &mut snapshot.pods {
            if !["load-0", "web-0", "web-10"].contains(&&*pod.name) {
                let ready = pod.ready.as_mut().unwrap();
                ready.last_transition_time = "2026-11-21T05:30:00Z".parse().unwrap();
            }
        }
        let times = plan("1m", "").times;
        let mut workload = super::pods::TargetPods::of(&mut snapshot, &Default::default(), times);
        assert!(workload.scale_to(&mut snapshot, 2).unwrap());
        assert_eq!(names(&snapshot), left, "{api_version} {kind}");
        assert_eq!(snapshot.pod_metrics.len(), 3);
        // New ones are the first to go again.
        assert!(workload.scale_to(&mut snapshot, 4).unwrap());
        assert_eq!(snapshot.pods.len(), 5);
        assert!(workload.scale_to(&mut snapshot, 2).unwrap());
        assert_eq!(names(&snapshot), left, "{api_version} {kind}");
    }
}

/// All are equally old: the last by name is the model.
#[test]
fn the_model_of_new_pods_does_not_depend_on_their_order() {
    for first in 0..3 {
        let mut snapshot = World::new(json!({}), &[50; 3]).snapshot();
        snapshot.pods.rotate_left(first);
        let times = plan("1m", "").times;
        let workload = super::pods::TargetPods::of(&mut snapshot, &Default::default(), times);
        let model = workload.model.expect("a model");
        assert_eq!(&*model.name, "web-2", "{first}");
    }
}

#[test]
fn what_cannot_be_played_is_an_error() {
    let world = World::new(json!({}), &[50, 50]);
    for (span, trace, message) in [
        ("0s", "", "0s is too short for a pass every 15s"),
        ("5s", "", "5s is too short for a pass every 15s"),
        (
            "",
            "time,queue\n0s,1\n",
            "the trace load.csv:1: column 2: the HPA has no such metric",
        ),
        (
            "4200h",
            "",
            "4200h with a pass every 15s has 1008001 passes; the limit is 500000",
        ),
        (
            "",
            "time,cpu\n0s,1m\n",
            "the trace ends with the first pass",
        ),
        (
            "",
            "time,cpu\n2026-11-21T05:59:00Z,1m\n",
            "the trace ends with the first pass",
        ),
        (
            "1m",
            "time,queue\n0s,1\n",
            "the trace load.csv:1: column 2: the HPA has no such metric",
        ),
        (
            "1m",
            "time,cpu,cpu{}\n0s,1,1\n",
            "the trace load.csv:1: column 2 and column 3 are the same metric",
        ),
        (
            "1m",
            "time,cpu\n0s,100m\n15s,x1000000000000000000\n",
            "the trace load.csv:3: column 2: larger than any metric can be",
        ),
    ] {
        let result = play_with(world.snapshot(), plan(span, trace), &mut Vec::new());
        assert_eq!(
            result.map_err(|e| (e.kind, e.message)),
            Err((ErrorKind::Usage, message.to_owned())),
            "{span} {trace}"
        );
    }
    let container = build::resource_of("cpu", "app", &build::average("50m"));
    let pod = build::resource("cpu", &build::average("50m"));
    let both = World::new(json!({"metrics": [pod, container]}), &[50, 50]);
    let trace = "time,app=cpu,cpu\n15s,200m,100m\n";
    let result = play_with(both.snapshot(), plan("1m", trace), &mut Vec::new());
    let message = "the trace load.csv:1: column 2 and column 3 are based on the same usage: \
                   set only one";
    assert_eq!(result.map_err(|e| e.message), Err(message.to_owned()));
    let mut bare = world.snapshot();
    for pod in &mut bare.pods {
        pod.containers[0].requests.0.clear();
    }
    let result = play_with(bare, plan("1m", "time,cpu\n0s,80%\n"), &mut Vec::new());
    let message = result.map_err(|e| e.message).expect_err("no base");
    assert!(
        message.contains("cpu: a percentage cannot be used: "),
        "{message}"
    );
    let wanted = NamedMetric::read("cpu", "--cpu").unwrap();
    let meant = wanted.find(&world.snapshot(), None, "--cpu").unwrap();
    let mut cpu = vec![Override::new("cpu", "80%", None).of_metric(&meant, "80%")];
    let result = play_with(world.snapshot(), plan("1m", "time,cpu\n0s,1m\n"), &mut cpu);
    let message = "the trace load.csv:2: column 2: cpu is also set by a flag";
    let error = result.expect_err("two values");
    assert_eq!((error.kind, &*error.message), (ErrorKind::Usage, message));
    // Later is no contradiction.
    assert!(play_with(world.snapshot(), plan("1m", "time,cpu\n15s,1m\n"), &mut cpu).is_ok());
    // Where the scale cannot be read there is nothing to play.
    let mut snapshot = world.snapshot();
    snapshot.scale = Err(ScaleError::Get("gone".to_owned()));
    let player = player(plan("1m", ""), &mut snapshot, &mut Vec::new()).unwrap();
    let first = engine::reconcile(&snapshot, &Memory::default());
    assert_eq!(player.play(&snapshot, &first), Ok(None));
    // More pods than can be played.
    let world = World::new(json!({"maxReplicas": 2_000_000_000}), &[50; 2]);
    let result = play_with(
        world.snapshot(),
        plan("1h", "time,cpu\n0s,1000000000m\n"),
        &mut Vec::new(),
    );
    let message = "the timeline reaches 131072 replicas; the limit is 100000";
    assert_eq!(result.map_err(|e| e.message), Err(message.to_owned()));
}

/// What is seen of a rollout every second.
struct Seen {
    second: i64,
    /// The replicas that are wanted.
    replicas: usize,
    ready: usize,
    old: Vec<String>,
    new: Vec<String>,
}

/// Plays a rollout of pods that request 200m instead of 100m, with a pass every second.
fn roll(
    world: &World,
    span: &str,
    trace: &str,
    after: i64,
    strategy: Strategy,
) -> (Timeline, Vec<Seen>) {
    let mut snapshot = world.snapshot();
    snapshot.controller.sync_period = SignedDuration::from_secs(1);
    let mut changed = snapshot.clone();
    for pod in changed.pods.iter_mut().filter(|pod| !pod.is_foreign) {
        pod.containers[0].requests.0[0].1 = Amount::int(200, -3);
    }
    let mut player = player(plan(span, trace), &mut snapshot, &mut Vec::new()).unwrap();
    let after = SignedDuration::from_secs(after);
    let rollout = Rollout::between(&snapshot, &changed, after, strategy).unwrap();
    assert!(player.roll_out(rollout, snapshot.controller.sync_period));
    let first = engine::reconcile(&snapshot, &Memory::default());
    let mut course = player.start(&snapshot, first.clone()).unwrap();
    let mut seen = Vec::new();
    loop {
        let now = &course.world.snapshot;
        let request = |own: &Pod| own.containers[0].requests.0[0].1.milli_value();
        let of = |milli| {
            let pods = now.pods.iter().filter(move |pod| request(pod) == milli);
            pods.map(|pod| pod.name.to_string()).collect::<Vec<_>>()
        };
        let (old, new) = (of(100), of(200));
        let foreign = |of: &Snapshot| -> Vec<_> {
            let pods = of.pods.iter().filter(|pod| pod.is_foreign);
            pods.cloned().collect()
        };
        assert_eq!(foreign(now), foreign(&snapshot));
        let own = now.pods.iter().filter(|pod| !pod.is_foreign);
        assert_eq!(old.len() + new.len(), own.clone().count());
        seen.push(Seen {
            second: course.after_first.as_secs(),
            replicas: now.scale.as_ref().unwrap().spec_replicas as usize,
            ready: own.filter(|pod| is_ready(pod)).count(),
            old,
            new,
        });
        if !course.go_on().unwrap() {
            break;
        }
    }
    (player.play(&snapshot, &first).unwrap().unwrap(), seen)
}

/// The times follow from the rules of a Deployment, where each pod takes 10 s. Of 4 with up to 5 and no
/// fewer than 3: one more, one less, and one more for that; when the two are ready, two go and two come;
/// when these are, the last goes. With up to 13 and no fewer than 8, 5 and 5 of 10 in the same way. A Job's pod is not
/// one of them.
#[test]
fn a_rolling_update_keeps_its_limits() {
    let quarter = (Percent(25), Percent(25));
    let one_less: (Limit, Limit) = (Pods(0), Pods(1));
    let one_more = (Pods(1), Pods(0));
    let all = (Percent(100), Percent(100));
    for (replicas, limits, most, least, takes) in [
        (1, quarter, 2, 1, 10),
        (4, quarter, 5, 3, 20),
        (10, quarter, 13, 8, 20),
        (1, one_less, 1, 0, 10),
        (4, one_less, 4, 3, 40),
        (10, one_less, 10, 9, 100),
        (1, one_more, 2, 1, 10),
        (4, one_more, 5, 4, 40),
        (10, one_more, 11, 10, 100),
        (1, all, 2, 0, 10),
        (4, all, 8, 0, 10),
        (10, all, 20, 0, 10),
        // Nothing at all would never get anywhere.
        (4, (Percent(0), Pods(0)), 4, 3, 40),
        (4, (Pods(0), Percent(1)), 4, 3, 40),
        (4, (Pods(2), Pods(9)), 6, 0, 10),
    ] {
        let bounds = json!({"minReplicas": replicas, "maxReplicas": replicas});
        let mut world = World::new(bounds, &vec![50; replicas]);
        world.more = foreign("app", "2026-11-21T05:45:00Z");
        let (max_surge, max_unavailable) = limits;
        let strategy = Strategy::RollingUpdate {
            max_surge,
            max_unavailable,
        };
        let (timeline, seen) = roll(&world, "3m", "", 30, strategy);
        let case = format!("{replicas} with {limits:?}");
        for it in &seen {
            let total = it.old.len() + it.new.len();
            assert!(
                total <= most && it.ready >= least,
                "{case} at {}",
                it.second
            );
            assert!(
                it.second >= 30 || it.new.is_empty(),
                "{case} at {}",
                it.second
            );
        }
        assert_eq!(
            (seen[30].new.is_empty(), seen[29].new.is_empty()),
            (false, true),
            "{case}"
        );
        let done = Some(SignedDuration::from_secs(30 + takes));
        assert_eq!(
            timeline.rolled,
            Some(Rolled {
                pods: replicas,
                done
            }),
            "{case}"
        );
        let last = seen.last().unwrap();
        assert_eq!(
            (last.old.len(), last.new.len(), last.ready),
            (0, replicas, replicas),
            "{case}"
        );
        assert!(timeline.totals.is_settled, "{case}");
    }
}

/// Replaces pod by pod from the highest ordinal, except for this many.
fn in_order(partition: u32) -> Strategy {
    Strategy::Ordinals {
        partition,
        ordinals: Ordinals::default(),
    }
}

#[test]
fn the_pods_of_a_stateful_set_are_replaced_one_by_one() {
    let bounds = json!({"minReplicas": 3, "maxReplicas": 3});
    let world = World {
        kind: "StatefulSet",
        ..World::new(bounds, &[50; 3])
    };
    let (timeline, seen) = roll(&world, "1m", "", 5, in_order(0));
    for (second, new) in [
        (4, ""),
        (5, "web-2"),
        (14, "web-2"),
        (15, "web-2 web-1"),
        (25, "web-2 web-1 web-0"),
    ] {
        assert_eq!(seen[second].new.join(" "), new, "{second}");
        assert_eq!(seen[second].old.len() + seen[second].new.len(), 3);
    }
    assert_eq!(
        timeline.rolled.unwrap().done,
        Some(SignedDuration::from_secs(35))
    );
}

/// `isCurrentRevisionNeeded`: pods below the partition are created from the old template, all others from the
/// new one, also with `OnDelete`. The load falls to what one pod can take, and rises again.
#[test]
fn a_stateful_set_keeps_the_pods_that_its_strategy_does_not_replace() {
    let still = json!({"minReplicas": 3, "maxReplicas": 3});
    let rules = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    let scaled = json!({"minReplicas": 1, "maxReplicas": 3, "behavior": rules});
    let load = "time,cpu\n10s,10m\n1m,900m\n";
    for (bounds, load, strategy, old, replaced) in [
        (&still, "", in_order(2), "web-0 web-1", 1),
        (&still, "", in_order(9), "web-0 web-1 web-2", 0),
        (&still, "", Strategy::Created, "web-0 web-1 web-2", 0),
        // A pod below the start is not one of the first ones.
        (
            &still,
            "",
            Strategy::Ordinals {
                partition: 1,
                ordinals: Ordinals { start: 1 },
            },
            "web-1",
            2,
        ),
        (&scaled, load, in_order(2), "web-0 web-1", 1),
        (&scaled, load, in_order(9), "web-0 web-1 web-2", 0),
        (&scaled, load, Strategy::Created, "web-0", 0),
    ] {
        let world = World {
            kind: "StatefulSet",
            ..World::new(bounds.clone(), &[50; 3])
        };
        let (timeline, seen) = roll(&world, "3m", load, 5, strategy);
        let Rolled { pods, done } = timeline.rolled.unwrap();
        assert_eq!((pods, done.is_some()), (replaced, true), "{strategy:?}");
        let least = seen.iter().map(|it| it.replicas).min();
        assert_eq!(
            least,
            Some(if load.is_empty() { 3 } else { 1 }),
            "{strategy:?}"
        );
        let last = seen.last().unwrap();
        assert_eq!(
            (&*last.old.join(" "), last.new.len()),
            (old, 3 - last.old.len()),
            "{strategy:?}"
        );
    }
}

/// `getPodMetrics`: a pod with a container that lacks the resource has no value; one that is not reported to have
/// the container has the usage of the others.
#[test]
fn pods_with_a_container_whose_usage_is_missing_count_as_missing() {
    let mut snapshot =
        World::new(json!({"minReplicas": 2, "maxReplicas": 2}), &[20, 30]).snapshot();
    add_proxy(&mut snapshot.pods[0]);
    measure_proxy(&mut snapshot.pod_metrics[0], 10);
    let load = "time,proxy=cpu\n0s,10m\n15s,missing\n30s,20m\n";
    let player = player(plan("1m", load), &mut snapshot, &mut Vec::new()).unwrap();
    let first = engine::reconcile(&snapshot, &Memory::default());
    let mut course = player.start(&snapshot, first).unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let cpu = course.decision.metric(0).unwrap();
        let has_value = |pod: &str| {
            let own = |row: &&PodRow| *course.world.snapshot.pods[row.pod as usize].name == *pod;
            cpu.pods.iter().find(own).unwrap().value.is_some()
        };
        seen.push((
            has_value("web-0"),
            has_value("web-1"),
            cpu.proposal().is_some(),
        ));
        course.go_on().unwrap();
    }
    assert_eq!(
        seen,
        [(true, true, true), (false, true, true), (true, true, true)]
    );
}

/// The template leaves a container out: what is measured of it goes with the old pods, one every 10 s.
#[test]
fn new_pods_use_nothing_in_containers_that_they_lack() {
    let mut snapshot =
        World::new(json!({"minReplicas": 2, "maxReplicas": 2}), &[20, 20]).snapshot();
    snapshot.controller.sync_period = SignedDuration::from_secs(1);
    let mut changed = snapshot.clone();
    for pod in &mut changed.pods {
        pod.containers[0].requests.0[0].1 = Amount::int(200, -3);
    }
    for item in &mut snapshot.pod_metrics {
        measure_proxy(item, 10);
    }
    let strategy = Strategy::RollingUpdate {
        max_surge: Pods(0),
        max_unavailable: Pods(1),
    };
    let rollout = Rollout::between(&snapshot, &changed, SignedDuration::ZERO, strategy).unwrap();
    let mut player = player(plan("1m", ""), &mut snapshot, &mut Vec::new()).unwrap();
    player.roll_out(rollout, snapshot.controller.sync_period);
    let first = engine::reconcile(&snapshot, &Memory::default());
    let mut course = player.start(&snapshot, first).unwrap();
    let mut seen = Vec::new();
    loop {
        let items = &course.world.snapshot.pod_metrics;
        let with = |name| {
            let has = move |own: &ContainerUsage| &*own.name == name;
            items
                .iter()
                .filter(|item| item.containers.iter().any(has))
                .count()
        };
        seen.push((with("app"), with("proxy")));
        if !course.go_on().unwrap() {
            break;
        }
    }
    // The new pods are measured 30 s after their creation.
    assert_eq!(
        [0, 9, 10, 29, 30, 40].map(|at| seen[at]),
        [(2, 2), (1, 1), (0, 0), (0, 0), (1, 0), (2, 0)]
    );
}

#[test]
fn all_pods_go_at_once_where_they_are_recreated() {
    let bounds = json!({"minReplicas": 4, "maxReplicas": 4});
    let (timeline, seen) = roll(
        &World::new(bounds, &[50; 4]),
        "1m",
        "",
        0,
        Strategy::Recreate,
    );
    let at = |second: usize| {
        (
            seen[second].old.len(),
            seen[second].new.len(),
            seen[second].ready,
        )
    };
    // The first pass sees what was observed.
    assert_eq!(
        [at(0), at(1), at(9), at(10)],
        [(4, 0, 4), (0, 4, 0), (0, 4, 0), (0, 4, 4)]
    );
    assert_eq!(
        timeline.rolled.unwrap().done,
        Some(SignedDuration::from_secs(10))
    );
}

/// The load goes to three times what it was, and then to a quarter, while a rollout replaces one pod after
/// the other.
#[test]
fn the_limits_hold_where_the_hpa_scales_meanwhile() {
    let rules = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    let world = World::new(json!({ "behavior": rules }), &[50, 50, 50, 50]);
    let (max_surge, max_unavailable) = (Pods(1), Pods(0));
    let strategy = Strategy::RollingUpdate {
        max_surge,
        max_unavailable,
    };
    let (timeline, seen) = roll(&world, "10m", "time,cpu\n45s,600m\n90s,50m\n", 30, strategy);
    let counts: Vec<usize> = seen.iter().map(|it| it.replicas).collect();
    let most = counts.iter().max().unwrap();
    assert!(*most > 4 && *counts.last().unwrap() == 1, "{counts:?}");
    for it in &seen {
        let total = it.old.len() + it.new.len();
        assert!(
            total <= it.replicas + 1,
            "{total} of {} at {}",
            it.replicas,
            it.second
        );
    }
    assert!(seen.last().unwrap().old.is_empty() && timeline.rolled.unwrap().done.is_some());
}

#[test]
fn strategies_are_those_of_the_workload() {
    let strategy = |kind: &str, stated: Json| {
        let api_version = match kind {
            "Rollout" => "argoproj.io/v1alpha1",
            "ReplicationController" => "v1",
            _ => "apps/v1",
        };
        let target = json!({"apiVersion": api_version, "kind": kind, "name": "web"});
        let strategy: Option<UpdateStrategy> = serde_json::from_value(stated).unwrap();
        let target = serde_json::from_value(target).unwrap();
        let known = Workload {
            strategy,
            ..Workload::default()
        };
        let how = Replacement::of(&target, std::iter::once(&known));
        Strategy::of(&target, known.strategy.as_ref(), how)
    };
    let rolling = |surge: Limit, unavailable: Limit| {
        Some(Strategy::RollingUpdate {
            max_surge: surge,
            max_unavailable: unavailable,
        })
    };
    let limits = |surge: Json, unavailable: Json| {
        json!({"type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
    };
    let partition = |pods: i32| json!({"rollingUpdate": {"partition": pods}});
    for (kind, stated, result) in [
        ("Deployment", json!({}), rolling(Percent(25), Percent(25))),
        (
            "Deployment",
            limits(json!(2), json!("0%")),
            rolling(Pods(2), Percent(0)),
        ),
        (
            "Deployment",
            limits(json!(null), json!(0)),
            rolling(Percent(25), Pods(0)),
        ),
        (
            "Deployment",
            json!({"type": "Recreate"}),
            Some(Strategy::Recreate),
        ),
        ("Deployment", json!(null), None),
        ("StatefulSet", json!(null), None),
        ("StatefulSet", json!({}), Some(in_order(0))),
        ("StatefulSet", partition(2), Some(in_order(2))),
        (
            "StatefulSet",
            json!({"type": "OnDelete"}),
            Some(Strategy::Created),
        ),
        ("ReplicaSet", json!(null), Some(Strategy::Created)),
        (
            "ReplicationController",
            json!(null),
            Some(Strategy::Created),
        ),
        ("Rollout", json!(null), None),
        ("Rollout", json!({"canary": {}}), None),
        // The API server would have rejected these.
        ("StatefulSet", partition(-1), Some(in_order(0))),
        ("Deployment", limits(json!("2"), json!(0)), None),
        ("Deployment", limits(json!("x%"), json!(0)), None),
        ("Deployment", limits(json!(1), json!(-1)), None),
        ("Deployment", limits(json!(1), json!("-5%")), None),
        ("Deployment", json!({"type": "Canary"}), None),
        ("Deployment", json!({"type": "OnDelete"}), None),
        ("StatefulSet", json!({"type": "Recreate"}), None),
    ] {
        assert_eq!(strategy(kind, stated.clone()), result, "{kind} {stated}");
    }
}

/// Columns whose measurement begins in the same row, in either order: 800m for 4 pods that request 100m are 200 %.
#[test]
fn a_metric_that_begins_to_be_measured_leaves_the_others_as_they_are() {
    let rate = build::per_pod("rps", "100");
    let metrics = json!([rate, build::resource("cpu", &build::utilization(50))]);
    let world = World::new(json!({"metrics": metrics}), &[50, 50, 50, 50]);
    for trace in ["time,cpu,rps\n0s,800m,40\n", "time,rps,cpu\n0s,40,800m\n"] {
        let timeline = play(&world, "1m", trace);
        assert_eq!(proposals(&timeline)[0], Some(16), "{trace}");
    }
}

/// Pods that are not ready keep their usage, so a total of 500m is shared only once they are, 10 s after their start: at
/// 15 s, 250 % of two pods propose 10.
#[test]
fn a_total_is_kept_until_pods_share_it() {
    let mut snapshot = World::new(json!({}), &[50, 50]).snapshot();
    let started = snapshot.now - SignedDuration::from_secs(5);
    for pod in &mut snapshot.pods {
        pod.start_time = Some(started);
        pod.ready = Some(ReadyCondition {
            status: ConditionStatus::False,
            last_transition_time: started,
        });
    }
    for trace in ["time,cpu\n0s,500m\n", "time,cpu\n10s,500m\n"] {
        let timeline = play_on(snapshot.clone(), "5m", trace);
        assert_eq!(timeline.totals.last, 10, "{trace}");
    }
}

/// A percentage and a change are those of the pods that share the load: what two others use that never become ready is
/// neither part of the base nor taken from the rest, container by container. 50 % are the target; 150 % are 1.5 times the
/// target with nothing for the others, ceil(1.5 x 4).
#[test]
fn a_percentage_is_that_of_the_pods_that_are_ready() {
    let mut snapshot = World::new(json!({}), &[50, 50, 150, 150]).snapshot();
    for pod in &mut snapshot.pods[2..] {
        pod.ready.as_mut().unwrap().status = ConditionStatus::False;
    }
    for item in &mut snapshot.pod_metrics[..2] {
        measure_proxy(item, 50);
    }
    for pod in &mut snapshot.pods {
        add_proxy(pod);
    }
    let used = |trace: &str| -> Vec<Option<i64>> {
        let plan = plan("1m", &format!("time,cpu\n0s,{trace}\n"));
        let mut begun = snapshot.clone();
        player(plan, &mut begun, &mut Vec::new()).unwrap();
        let items = begun.pod_metrics.iter();
        items.map(|item| item.usage("cpu", None)).collect()
    };
    for (value, each) in [
        ("0%", 0),
        ("10%", 20),
        ("50%", 100),
        ("x2", 200),
        ("-50%", 50),
        ("500m", 100),
    ] {
        let shares = [each, each, 150, 150].map(Some);
        assert_eq!(used(value), shares, "{value}");
    }
    let later = "time,cpu\n0s,50%\n15s,150%\n";
    let timeline = play_on(snapshot.clone(), "15s", later);
    assert_eq!(proposals(&timeline), [Some(4), Some(6)]);
    // Nor does it become load once they are ready.
    let now = snapshot.now;
    for pod in &mut snapshot.pods[2..] {
        pod.start_time = Some(now);
    }
    let timeline = play_on(snapshot, "10m", "time,cpu\n0s,0%\n");
    let counted = timeline.passes.iter().map(|pass| pass.ready);
    assert!(counted.clone().max() > counted.clone().min(), "they join");
    assert!(proposals(&timeline).iter().all(|it| *it == Some(0)));
}

/// Two of four pods have a second container, each with 50m, so 300m are used in all, as much as the pods request half of.
#[test]
fn a_total_is_what_the_pods_use_that_have_a_container() {
    let mut snapshot = World::new(json!({}), &[50, 50, 50, 50]).snapshot();
    for pod in &mut snapshot.pods[2..] {
        add_proxy(pod);
    }
    for item in &mut snapshot.pod_metrics[2..] {
        measure_proxy(item, 50);
    }
    for trace in ["cpu\n0s,300m", "cpu\n0s,x1", "proxy=cpu\n0s,100m"] {
        let plan = plan("1m", &format!("time,{trace}\n"));
        let mut begun = snapshot.clone();
        player(plan, &mut begun, &mut Vec::new()).unwrap();
        let used = |item: &PodMetrics| item.usage("cpu", None);
        let shares: Vec<_> = begun.pod_metrics.iter().map(|item| used(item)).collect();
        let as_before: Vec<_> = snapshot.pod_metrics.iter().map(|item| used(item)).collect();
        assert_eq!(shares, as_before, "{trace}");
    }
    let percent = plan("1m", "time,proxy=cpu\n0s,50%\n");
    let failed = player(percent, &mut snapshot, &mut Vec::new()).unwrap_err();
    assert_eq!(
        failed.message,
        "the trace load.csv:2: column 2: some pods lack the container, so a percentage has no base"
    );
}

/// Pods that are added have the second container, too: a total stays what is stated, as if it was stated again.
#[test]
fn a_stated_total_stays_as_pods_come() {
    let mut snapshot = World::new(json!({}), &[50, 50, 50, 50]).snapshot();
    for place in 2..4 {
        snapshot.pods[place].start_time = Some(snapshot.now - SignedDuration::from_mins(30));
        add_proxy(&mut snapshot.pods[place]);
        measure_proxy(&mut snapshot.pod_metrics[place], 50);
    }
    let last = |trace: &str| play_on(snapshot.clone(), "20m", trace).totals.last;
    let once = last("time,cpu\n15s,800m\n");
    assert_eq!(once, last("time,cpu\n15s,800m\n5m,800m\n"));
    assert_eq!(once, 9);
}

/// A change is relative to the load at the start, which may come from a row: 20 % of 200m, doubled.
#[test]
fn a_change_is_relative_to_the_load_at_the_start() {
    let world = World::new(json!({}), &[100, 100]);
    let last = |trace: &str| *proposals(&play(&world, "10m", trace)).last().unwrap();
    assert_eq!(
        last("time,cpu\n0s,20%\n1m,x4\n"),
        last("time,cpu\n0s,20%\n1m,80%\n")
    );
    // One that is itself a change does not change what the others are relative to.
    assert_eq!(last("time,cpu\n0s,x2\n1m,x2\n"), last("time,cpu\n0s,x2\n"));
    // 21m are shared as 10m and 11m, as before.
    let odd = World::new(json!({}), &[10, 11]);
    let shares = |trace| proposals(&play(&odd, "1m", trace));
    assert_eq!(shares("time,cpu\n30s,x1\n"), shares(""));
}

/// Pods that the target lacks come at the next pass, also if the first one would be the last.
#[test]
fn a_run_does_not_settle_while_pods_are_missing() {
    let world = World {
        replicas: 5,
        ..World::new(json!({}), &[50, 50, 50])
    };
    let [alone, with_load] = ["", "time,cpu\n4m,x1\n"].map(|trace| play(&world, "10m", trace));
    assert_eq!(changes(&alone), changes(&with_load));
    assert_eq!((alone.is_short, alone.totals.last), (true, 3));
}
