//! Whole passes, by what recorded answers do not contain: the trace, and metrics that are unknown here.

use serde_json::{Value, json};

use super::decision::{Block, Decision, Outcome, Step, UnreadMetric, UnreadMetrics};
use super::{reconcile, stored_hpas};
use crate::build;
use crate::memory::Memory;
use crate::rules::Rules;
use crate::saved::testing::input;
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::{Documents, ExternalValue, MetricAnswer, Scale, Snapshot, UnreadCause};
use crate::version::FeatureGate;

/// Runs a pass over 4 replicas with one metric, whose answer it is.
fn pass(metric: &Value, answer: MetricAnswer) -> Decision {
    reconcile(&snapshot(metric, answer), &Memory::default())
}

fn snapshot(metric: &Value, answer: MetricAnswer) -> Snapshot {
    let hpa = build::hpa(&json!({"metrics": [metric]}));
    let items = [hpa, build::scale(4), build::state(&json!({}))];
    let input = input(&items).unwrap();
    Snapshot {
        metrics: vec![answer],
        ..input.snapshot
    }
}

fn six() -> MetricAnswer {
    MetricAnswer::External(vec![ExternalValue {
        value: 6_000,
        ..ExternalValue::default()
    }])
}

/// Returns the published step that combines the metrics.
fn combined(decision: &Decision) -> Value {
    let combines = |step: &&Step| matches!(step, Step::CombineMetrics(_));
    serde_json::to_value(decision.trace.iter().find(combines).unwrap()).unwrap()
}

#[test]
fn what_may_have_been_read_elsewhere_decides_nothing_here() {
    let metric = build::external("queue", &build::average("1"));
    let documents = Documents::ExternalMetricValueList;
    let unread = pass(
        &metric,
        MetricAnswer::Unread(UnreadCause::Missing { documents }),
    );
    assert!(unread.is_unread());
    assert_eq!((unread.proposal, unread.outcome.scale_to), (None, None));
    assert_eq!((&unread.outcome.status, unread.block()), (&None, None));
    assert_eq!(combined(&unread)["unread"], 1);
    let read = pass(&metric, six());
    assert_eq!((read.proposal, read.outcome.scale_to), (Some(6), Some(6)));
    assert_eq!(combined(&read).get("unread"), None);
}

#[test]
fn what_is_unknown_has_one_line_for_each_reason() {
    let refused = |message: &str| UnreadCause::Refused {
        message: message.to_owned(),
    };
    let missing = |documents| UnreadCause::Missing { documents };
    let external = Documents::ExternalMetricValueList;
    let lost = |message: &str| UnreadCause::Unanswered {
        message: message.to_owned(),
    };
    let all = [
        refused("no"),
        missing(external),
        refused("never"),
        missing(external),
        lost("late"),
        lost("cut"),
    ];
    let unread = (0..)
        .zip(all)
        .map(|(index, why)| UnreadMetric { index, why })
        .collect();
    let outcome = pass(&build::external("queue", &build::average("1")), six()).outcome;
    let metrics =
        ["a", "b", "c", "d", "e", "f"].map(|name| build::external(name, &build::average("1")));
    let spec = serde_json::from_value(json!({"metrics": metrics})).unwrap();
    let found = Outcome { unread, ..outcome }.lacking(&spec);
    let lacking = |why, metrics: &[&str]| UnreadMetrics {
        why,
        metrics: metrics.iter().map(|&it| it.to_owned()).collect(),
    };
    assert_eq!(
        found,
        [
            lacking(refused("no"), &["a", "c"]),
            lacking(missing(external), &["b", "d"]),
            lacking(lost("late"), &["e"]),
            lacking(lost("cut"), &["f"]),
        ]
    );
}

/// `SuccessfulRescale` and the error of a pass, in the words of the controller.
#[test]
fn a_rescale_that_cannot_be_written_is_none() {
    let mut snapshot = snapshot(&build::external("queue", &build::average("1")), six());
    let written = reconcile(&snapshot, &Memory::default());
    let message = "New size: 6; reason: external metric queue(nil) above target";
    assert_eq!(
        written.outcome.rescale().map(|event| &*event.message),
        Some(message)
    );
    assert_eq!((written.unwritten(), written.block()), (None, None));
    snapshot.scale_update_error = Some("denied".to_owned());
    let denied = reconcile(&snapshot, &Memory::default());
    assert_eq!(
        (denied.outcome.rescale(), denied.outcome.scale_to),
        (None, None)
    );
    assert_eq!(
        (denied.unwritten(), denied.block()),
        (Some((6, "denied")), Some(Block::NotWritten))
    );
    assert_eq!(
        denied.outcome.error.as_deref(),
        Some("failed to rescale Deployment/default/web: denied")
    );
}

/// Twice 2^30 replicas overflow, and a real API server refuses a negative count.
#[test]
fn a_negative_count_is_refused_by_a_real_api_server() {
    let metric = build::external("queue", &build::average("1"));
    let mut snapshot = snapshot(&metric, six());
    snapshot.hpa.spec.max_replicas = i32::MAX;
    let scale = snapshot.scale.as_mut().unwrap();
    (scale.spec_replicas, scale.status_replicas) = (1 << 30, 1 << 30);
    let taken = reconcile(&snapshot, &Memory::default());
    assert_eq!(
        (taken.outcome.scale_to, taken.unwritten()),
        (Some(i32::MIN), None)
    );
    snapshot.hpa.resource_version = "7".to_owned();
    let refused = reconcile(&snapshot, &Memory::default());
    let error = "Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: -2147483648: must be greater \
                 than or equal to 0";
    assert_eq!(refused.unwritten(), Some((i32::MIN, error)));
    assert_eq!(refused.outcome.scale_to, None);
}

#[test]
fn a_metric_of_an_object_names_it() {
    let object = json!({"apiVersion": "v1", "kind": "Service", "name": "front"});
    let metric = json!({"type": "Object", "object": {
        "metric": {"name": "rps"}, "describedObject": object, "target": build::value("1"),
    }});
    let decision = pass(&metric, MetricAnswer::Failed("no".to_owned()));
    assert_eq!(
        decision.metric(0).unwrap().described_object.as_deref(),
        Some("Service/front")
    );
}

/// A pass corrects replicas beyond a bound, and one of a disabled HPA does nothing, before it compares selectors.
#[test]
fn a_pass_that_reads_no_metrics_stores_no_selector() {
    let bounds = json!({"minReplicas": 2, "maxReplicas": 4});
    // The minimum is 1 by default.
    let default = json!({"minReplicas": null, "maxReplicas": 4});
    let zero = json!({
        "minReplicas": 0,
        "maxReplicas": 4,
        "metrics": [build::external("queue", &build::average("1"))],
    });
    let none = json!({});
    let zeroed = json!({"conditions": [{"type": "ScaledToZero", "status": "True"}]});
    for (version, spec, status, replicas, is_stored) in [
        ("v1.36", &bounds, &none, 0, false),
        ("v1.36", &bounds, &none, 1, false),
        ("v1.36", &bounds, &none, 2, true),
        ("v1.36", &bounds, &none, 3, true),
        ("v1.36", &bounds, &none, 4, true),
        ("v1.36", &bounds, &none, 5, false),
        ("v1.36", &default, &none, 1, true),
        // Until 1.35 the minimum decides whether the target wakes; then, whether the controller has scaled to zero.
        ("v1.35", &zero, &none, 0, true),
        ("v1.35", &bounds, &zeroed, 0, false),
        ("v1.36", &zero, &none, 0, false),
        ("v1.36", &zero, &zeroed, 0, true),
        ("v1.36", &bounds, &zeroed, 0, true),
    ] {
        let mut controller = Controller::new(version.parse().unwrap());
        controller.gates[FeatureGate::HPAScaleToZero] = true;
        let rules = Rules::of(&controller);
        let mut snapshot = snapshot(&build::external("queue", &build::average("1")), six());
        let other = OtherHpa {
            hpa: Hpa::of(spec, status.clone()),
            scale: Some(Scale::new(replicas, "app=web")),
        };
        snapshot.other_hpas = vec![other.into()];
        let found = stored_hpas(&snapshot, rules).count() == 1;
        assert_eq!(found, is_stored, "{version} {spec} {status} {replicas}");
        // It was stored by an earlier pass if the last pass over this HPA found it.
        let key = snapshot.other_hpas[0].hpa.key();
        let message = format!("pods by selector app=web are controlled by multiple HPAs: [{key}]");
        let shared = json!({"conditions": [
            {"type": "ScalingActive", "reason": "AmbiguousSelector", "message": message},
        ]});
        snapshot.hpa.status = serde_json::from_value(shared).unwrap();
        assert_eq!(stored_hpas(&snapshot, rules).count(), 1);
    }
}
