//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;
use crate::findings::testing::{with, with_containers, with_hpa};

pub(crate) fn cpu_of(percent: i32) -> Value {
    build::resource("cpu", &build::utilization(percent))
}

/// Adds the Deployment of the pods, named after the ReplicaSet, with these containers in its template.
pub(crate) fn owned(items: &[Value], containers: &Value) -> Vec<Value> {
    let owner = build::owned_by("apps/v1", "ReplicaSet", "web-5d");
    let labels = json!({"app": "web", "pod-template-hash": "5d"});
    let mut items = with(
        items,
        "Pod",
        &json!({"metadata": {"labels": labels, "ownerReferences": owner}}),
    );
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}});
    let template = json!({"spec": {"template": template}});
    items.push(build::with(build::deployment(2), &template));
    items
}

/// Makes a StatefulSet own the pods, with these containers in its template and this update strategy.
pub(crate) fn of_set(items: &[Value], containers: &Value, strategy: &Value) -> Vec<Value> {
    let set = of_kind(owned(items, containers), "StatefulSet");
    with(
        &set,
        "StatefulSet",
        &json!({"spec": {"updateStrategy": strategy}}),
    )
}

/// Returns the state with another pod, which is like the second one, with a patch.
pub(crate) fn with_another(items: &[Value], patch: &Value) -> Vec<Value> {
    let is_it = |it: &&Value| it["kind"] == "Pod" && it["metadata"]["name"] == "web-1";
    let second = items.iter().find(is_it).unwrap().clone();
    let named = build::with(second, &json!({"metadata": {"name": "web-2"}}));
    [items, &[build::with(named, patch)]].concat()
}

/// Returns the container `app` with a limit of CPU, if one is stated.
pub(crate) fn limited(limit: impl Into<Value>) -> Value {
    let limits = json!({"resources": {"limits": {"cpu": limit.into()}}});
    build::with(build::requesting("app", "100m"), &limits)
}

/// Returns a VerticalPodAutoscaler of that Deployment.
pub(crate) fn vpa(mode: &str) -> Value {
    json!({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "updatePolicy": {"updateMode": mode}}})
}

/// Replaces the Deployment of such pods with another kind of target that owns them directly.
pub(crate) fn of_kind(items: Vec<Value>, kind: &str) -> Vec<Value> {
    let text = Value::from(items).to_string();
    let text = text
        .replace("Deployment", kind)
        .replace("ReplicaSet", kind)
        .replace("web-5d", "web");
    let items: Vec<Value> = serde_json::from_str(&text).unwrap();
    let target = json!({"spec": {"scaleTargetRef": {"kind": kind}}});
    with_hpa(&items, &target)
}

/// Renumbers the pods of a target, from `web-0` on, to ordinals from this one on.
pub(crate) fn from_ordinal(items: Vec<Value>, first: usize) -> Vec<Value> {
    let mut text = Value::from(items).to_string();
    for ordinal in (0..3).rev() {
        let name = format!("\"web-{}\"", first + ordinal);
        text = text.replace(&format!("\"web-{ordinal}\""), &name);
    }
    let items: Vec<Value> = serde_json::from_str(&text).unwrap();
    let ordinals = json!({"spec": {"ordinals": {"start": first}}});
    with(&items, "StatefulSet", &ordinals)
}

/// Returns pods with another container, which the resource metrics include as well.
pub(crate) fn with_container(
    items: &[Value],
    container: &Value,
    app: &str,
    usage: &str,
) -> Vec<Value> {
    let containers = json!([build::requesting("app", "100m"), container]);
    let items = with_containers(items, &containers);
    let name = &container["name"];
    let usages =
        json!([{"name": "app", "usage": {"cpu": app}}, {"name": name, "usage": {"cpu": usage}}]);
    with(&items, "PodMetrics", &json!({ "containers": usages }))
}
