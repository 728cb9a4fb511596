//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;

pub(crate) fn unknown_memory() -> Value {
    build::state(&json!({"memory": "unknown"}))
}

/// Returns an HPA for `replicas` with 50 % CPU each, at its target, as the last pass left it.
pub(crate) fn settled(replicas: i32) -> Value {
    let metric = build::resource("cpu", &build::utilization(50));
    build::with(
        build::hpa(&json!({"metrics": [metric], "minReplicas": 2})),
        &json!({
            "metadata": {"managedFields": [
                {"manager": "kube-controller-manager", "subresource": "status",
                    "time": "2026-11-21T05:59:51Z"},
            ]},
            "status": {
                "currentReplicas": replicas, "desiredReplicas": replicas,
                "conditions": [
                    {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"},
                    {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
                    {"type": "ScalingLimited", "status": "False", "reason": "DesiredWithinRange"},
                ],
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 50, "averageValue": "50m"}}}],
            },
        }),
    )
}

/// Returns pods and their usage.
pub(crate) fn pods(count: usize, cpu: &str) -> Vec<Value> {
    let items = (0..count).flat_map(|number| {
        let name = format!("web-{number}");
        [build::pod(&name), build::pod_metrics(&name, cpu)]
    });
    items.collect()
}

/// Returns the target after someone has set its replicas.
pub(crate) fn deployment(replicas: i32, managed: &Value) -> Value {
    let metadata = json!({"metadata": {"managedFields": managed}});
    build::with(build::deployment(replicas), &metadata)
}

pub(crate) fn writes(manager: &str, subresource: &str) -> Value {
    json!([{"manager": manager, "subresource": subresource, "time": "2026-11-21T05:59:55Z",
        "fieldsV1": {"f:spec": {"f:replicas": {}}}}])
}

pub(crate) fn rescale(size: i32, count: i32) -> Value {
    let event = build::rescale(size, "cpu above target", "2026-11-21T05:59:48Z");
    let first = "2026-11-21T05:00:00Z";
    build::with(
        event,
        &json!({"metadata": {"name": format!("web.{size}")}, "count": count, "firstTimestamp": first}),
    )
}

pub(crate) fn with_pods(
    items: impl IntoIterator<Item = Value>,
    count: usize,
    cpu: &str,
) -> Vec<Value> {
    items.into_iter().chain(pods(count, cpu)).collect()
}
