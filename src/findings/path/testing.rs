//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;
use crate::findings::testing::{external, state, with_containers, with_hpa, with_state};

/// Returns four pods that request 100m each, with a target of 50%.
pub(crate) fn pods(cpu: &str) -> Vec<Value> {
    state(&[crate::findings::testing::cpu()], &[cpu; 4])
}

/// Returns a state with a recommendation at a time.
pub(crate) fn recommended(items: &[Value], replicas: i32, time: &str) -> Vec<Value> {
    let recommendations = json!([{"replicas": replicas, "time": time}]);
    with_state(items, &json!({ "recommendations": recommendations }))
}

/// Returns a behavior that scales down at once, with additional rules for a direction.
pub(crate) fn at_once(rules: &Value) -> Value {
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    json!({ "behavior": build::with(behavior, rules) })
}

/// Returns an HPA with a queue of this length and a target.
pub(crate) fn queue_of(target: &Value, length: &str, replicas: usize) -> Vec<Value> {
    external("queue", target, length, replicas)
}

/// Returns an HPA at its target whose last pass found and left that many replicas.
pub(crate) fn left(items: &[Value], replicas: i32, able: &str) -> Vec<Value> {
    let is_able = if able == "ReadyForNewScale" {
        "True"
    } else {
        "False"
    };
    let status = json!({"currentReplicas": replicas, "desiredReplicas": replicas, "conditions": [
        {"type": "AbleToScale", "status": is_able, "reason": able}]});
    with_hpa(items, &json!({ "status": status }))
}

/// Returns four pods that request 100Mi of memory each, which they use so much of.
pub(crate) fn memory(
    metrics: &[Value],
    cpu: &str,
    usages: [&str; 4],
    resources: &Value,
) -> Vec<Value> {
    let requests = json!({"requests": {"cpu": "100m", "memory": "100Mi"}});
    let container = json!({"name": "app", "resources": build::with(requests, resources)});
    let mut items = with_containers(&state(metrics, &[cpu; 4]), &json!([container]));
    let all = items.iter_mut().filter(|it| it["kind"] == "PodMetrics");
    for (item, usage) in all.zip(usages) {
        item["containers"][0]["usage"]["memory"] = json!(usage);
    }
    items
}
