//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;
use crate::engine::decision::{Clause, Group};
use crate::findings::owners::testing::owned;
use crate::findings::testing::{only, state, with_one};
use crate::findings::{Alternative, Code, Facts, Severity};

pub(crate) fn rps() -> Value {
    build::per_pod("rps", "10")
}

/// Returns the state with a change to some of its pods.
pub(crate) fn with_pods(items: &[Value], names: &[&str], patch: &Value) -> Vec<Value> {
    names.iter().fold(items.to_vec(), |items, name| {
        with_one(&items, "Pod", name, patch)
    })
}

/// Returns the state with a pod that belongs to a Job.
pub(crate) fn of_job(items: &[Value], name: &str) -> Vec<Value> {
    with_pods(items, &[name], &owned("Job", "seed", &json!({})))
}

/// Returns the state without the metrics of a pod.
pub(crate) fn unmeasured(items: Vec<Value>, name: &str) -> Vec<Value> {
    let is_its = |item: &Value| item["kind"] == "PodMetrics" && item["metadata"]["name"] == name;
    items.into_iter().filter(|item| !is_its(item)).collect()
}

/// Returns a pod that has not been ready since it started.
pub(crate) fn unready_since(start: &str) -> Value {
    json!({
        "metadata": {"creationTimestamp": start},
        "status": {"startTime": start, "conditions": [
            {"type": "Ready", "status": "False", "lastTransitionTime": start}]},
    })
}

pub(crate) fn waiting(reason: &str, restarts: i32) -> Value {
    json!({"status": {"containerStatuses": [
        {"name": "app", "restartCount": restarts, "state": {"waiting": {"reason": reason}}}]}})
}

/// Returns a pod that has not been ready since 05:00, because its container ends again and again.
pub(crate) fn crashing() -> Value {
    build::with(
        unready_since("2026-11-21T05:00:00Z"),
        &waiting("CrashLoopBackOff", 7),
    )
}

/// Returns states in which a metric has no value: no pod runs, or some do.
pub(crate) fn without_values(metric: &Value) -> [(&'static str, Vec<Value>); 8] {
    let mut items = state(std::slice::from_ref(metric), &["80m"; 3]);
    items.retain(|item| item["kind"] != "PodMetrics");
    let all = ["web-0", "web-1", "web-2"];
    let crashes = waiting("CrashLoopBackOff", 7);
    let unready = |start: &str, changed: &str| {
        let ready = json!({"type": "Ready", "status": "False", "lastTransitionTime": changed});
        build::with(
            unready_since(start),
            &json!({"status": {"conditions": [ready]}}),
        )
    };
    let early = "2026-11-21T05:00:00Z";
    let never = build::with(unready(early, early), &crashes);
    let once = build::with(unready(early, "2026-11-21T05:45:00Z"), &crashes);
    let homeless = json!({"metadata": {"creationTimestamp": early}, "status": {
        "phase": "Pending", "startTime": null, "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available"}]}});
    let running =
        json!({"state": {"running": {"startedAt": early}}, "name": "app", "restartCount": 7});
    let again = json!({"status": {"containerStatuses": [running]}});
    let again = build::with(unready(early, "2026-11-21T05:45:00Z"), &again);
    let creating = json!({"metadata": {"creationTimestamp": "2026-11-21T05:58:00Z"},
        "status": {"phase": "Pending", "startTime": "2026-11-21T05:58:00Z"}});
    let creating = build::with(creating, &waiting("ContainerCreating", 0));
    [
        ("run", items.clone()),
        ("run again", with_pods(&items, &all, &again)),
        ("are being created", with_pods(&items, &all, &creating)),
        ("run in part", with_pods(&items, &all[1..], &never)),
        ("were never ready", with_pods(&items, &all, &never)),
        ("were ready once", with_pods(&items, &all, &once)),
        ("have no node", with_pods(&items, &all, &homeless)),
        (
            "are of both kinds",
            with_pods(&with_pods(&items, &all, &never), &all[..1], &homeless),
        ),
    ]
}

/// Returns values of `rps` for the first pods.
pub(crate) fn values(values: &[i64]) -> Value {
    let values = (0..).zip(values).map(|(number, value)| {
        json!({
            "describedObject": {"kind": "Pod", "namespace": "default", "name": format!("web-{number}"),
                "apiVersion": "/v1"},
            "metric": {"name": "rps"}, "timestamp": "2026-11-21T05:59:50Z", "value": format!("{value}"),
        })
    });
    let items = Vec::from_iter(values);
    json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList", "items": items})
}

/// The severity, the groups and clauses of the pods of `uncounted-pods`, and the result without the problem.
pub(crate) type Uncounted = (Severity, Vec<(Group, Clause)>, Option<Alternative>);

pub(crate) fn uncounted(items: &[Value]) -> Option<Uncounted> {
    let finding = only(Code::UncountedPods, items)?;
    assert!(finding.explains);
    let Facts::UncountedPods(facts) = finding.facts else {
        panic!("{:?}", finding.facts)
    };
    let rows = facts
        .pods
        .iter()
        .map(|it| (it.row.group, it.row.clause))
        .collect();
    Some((finding.severity, rows, finding.without))
}
