//! The objects of an input in JSON, as users save them: the HPA `default/web`, its target, and pods that
//! request 100m of CPU each and have been ready for an hour. Suites and unit tests build their inputs from
//! these, and change what they test with [`with`].
#![allow(dead_code, reason = "not every suite needs all of it")]

use serde_json::{Value, json};

/// The controller's clock in most inputs.
pub(crate) const NOW: &str = "2026-11-21T06:00:00Z";

/// Applies a JSON merge patch (RFC 7386) to an object.
pub(crate) fn with(mut object: Value, patch: &Value) -> Value {
    merge(&mut object, patch);
    object
}

fn merge(into: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, patch) in fields {
        if patch.is_null() {
            into.as_object_mut().expect("an object").remove(name);
        } else {
            merge(&mut into[name], patch);
        }
    }
}

/// Returns a List of objects, as text.
pub(crate) fn list(items: impl IntoIterator<Item = Value>) -> String {
    let items = items.into_iter().map(|item| item.to_string());
    list_of_texts("v1", "List", items)
}

/// Returns a list of another kind, as text.
pub(crate) fn list_of(api_version: &str, kind: &str, items: &[Value]) -> String {
    list_of_texts(api_version, kind, items.iter().map(Value::to_string))
}

/// Returns a list of objects that are texts. `json!` would copy each of them.
pub(crate) fn list_of_texts(
    api_version: &str,
    kind: &str,
    items: impl Iterator<Item = String>,
) -> String {
    let items = items.collect::<Vec<_>>().join(",");
    format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{}},"items":[{items}]}}"#)
}

fn metadata(name: &str) -> Value {
    json!({"name": name, "namespace": "default"})
}

/// Returns an HPA with a uid for up to 100 replicas of `web`, with these fields of its spec.
pub(crate) fn hpa(spec: &Value) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let hpa = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": with(metadata("web"), &json!({"uid": "u"})),
        "spec": {"scaleTargetRef": target, "maxReplicas": 100},
    });
    with(hpa, &json!({"spec": spec}))
}

/// Returns the scale of the target, settled.
pub(crate) fn scale(replicas: i32) -> Value {
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata("web"),
        "spec": {"replicas": replicas}, "status": {"replicas": replicas, "selector": "app=web"},
    })
}

/// Returns the target, settled, without a template.
pub(crate) fn deployment(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("web"),
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": replicas},
    })
}

/// Returns the ScaledObject of the target with these fields.
pub(crate) fn scaled_object(name: &str, more: &Value) -> Value {
    let object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata(name),
        "spec": {"scaleTargetRef": {"name": "web"}},
    });
    with(object, more)
}

/// Returns the controller's Lease, which it has held for hours.
pub(crate) fn lease(renewed: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
        "spec": {"leaseDurationSeconds": 15, "holderIdentity": "a",
            "acquireTime": "2026-11-21T01:00:00.000000Z", "renewTime": renewed},
    })
}

/// Returns the event of the HPA that the controller has scaled its target.
pub(crate) fn rescale(size: i32, reason: &str, time: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": metadata(&format!("web.{time}")),
        "involvedObject": {"kind": "HorizontalPodAutoscaler", "name": "web", "namespace": "default"},
        "reason": "SuccessfulRescale", "message": format!("New size: {size}; reason: {reason}"),
        "type": "Normal", "count": 1, "firstTimestamp": time, "lastTimestamp": time,
    })
}

/// Returns a controller of v1.36.2 with these fields.
pub(crate) fn state(more: &Value) -> Value {
    let state = json!({
        "apiVersion": "kubectl-hpa/v1alpha1", "kind": "ControllerState",
        "now": NOW, "kubernetesVersion": "v1.36.2",
    });
    with(state, more)
}

/// Returns a running pod with one container, `app`.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": with(metadata(name), &json!({"labels": {"app": "web"}})),
        "spec": {"containers": [requesting("app", "100m")]},
        "status": {"phase": "Running", "startTime": "2026-11-21T05:00:00Z", "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T05:00:10Z"}]},
    })
}

/// Returns the `ownerReferences` of an object with a controller.
pub(crate) fn owned_by(api_version: &str, kind: &str, name: &str) -> Value {
    json!([{"apiVersion": api_version, "kind": kind, "name": name, "controller": true}])
}

/// Returns a container that requests CPU.
pub(crate) fn requesting(name: &str, cpu: &str) -> Value {
    json!({"name": name, "resources": {"requests": {"cpu": cpu}}})
}

/// Returns the usage of the container `app` of a pod, measured 10 s ago.
pub(crate) fn pod_metrics(pod: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": with(metadata(pod), &json!({"labels": {"app": "web"}})),
        "timestamp": "2026-11-21T05:59:50Z", "window": "15s",
        "containers": [{"name": "app", "usage": {"cpu": cpu}}],
    })
}

/// Returns the values of the external metric `queue`.
pub(crate) fn queue(values: &[&str]) -> Value {
    let items = values
        .iter()
        .map(|value| json!({"metricName": "queue", "value": value}));
    external_values(items)
}

/// Returns the items of the external metrics API.
pub(crate) fn external_values(items: impl IntoIterator<Item = Value>) -> Value {
    let items: Vec<_> = items.into_iter().collect();
    json!({
        "apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValueList",
        "items": items,
    })
}

/// Returns the target for a resource of all containers.
pub(crate) fn resource(name: &str, target: &Value) -> Value {
    json!({"type": "Resource", "resource": {"name": name, "target": target}})
}

/// Returns the target for a resource of one container.
pub(crate) fn resource_of(name: &str, container: &str, target: &Value) -> Value {
    let source = json!({"name": name, "container": container, "target": target});
    json!({"type": "ContainerResource", "containerResource": source})
}

/// Returns the target for the average of a metric of each pod.
pub(crate) fn per_pod(name: &str, average: &str) -> Value {
    let target = self::average(average);
    json!({"type": "Pods", "pods": {"metric": {"name": name}, "target": target}})
}

/// Returns the target for an external metric.
pub(crate) fn external(name: &str, target: &Value) -> Value {
    json!({"type": "External", "external": {"metric": {"name": name}, "target": target}})
}

pub(crate) fn utilization(percent: i32) -> Value {
    json!({"type": "Utilization", "averageUtilization": percent})
}

pub(crate) fn average(value: &str) -> Value {
    json!({"type": "AverageValue", "averageValue": value})
}

pub(crate) fn value(value: &str) -> Value {
    json!({"type": "Value", "value": value})
}

/// Reads YAML in its short form, which tables use for objects.
pub(crate) fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).expect("YAML")
}

/// Returns the rows of one day of the example's load for backtests. On that day the HPA is at its maximum, as in the
/// whole week, which takes seven times as long to play.
pub(crate) fn busy_day() -> String {
    let week = include_str!("../../examples/backtest/week.csv");
    let is_meant = |line: &&str| line.starts_with("time,") || line.starts_with("2026-11-19T");
    let lines: Vec<&str> = week.lines().filter(is_meant).collect();
    lines.join("\n") + "\n"
}
