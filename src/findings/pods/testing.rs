//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;
use crate::engine::decision::{Clause, Group};
use crate::findings::testing::{only, with_one};
use crate::findings::{Alternative, Code, Facts, Severity};

pub(crate) fn rps() -> Value {
    json!({"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": build::average("10")}})
}

/// Returns the state with a change to some of its pods.
pub(crate) fn with_pods(items: &[Value], names: &[&str], patch: &Value) -> Vec<Value> {
    names.iter().fold(items.to_vec(), |items, name| {
        with_one(&items, "Pod", name, patch)
    })
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
