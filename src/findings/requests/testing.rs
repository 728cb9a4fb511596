//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;
use crate::findings::testing::with;

pub(crate) fn cpu_of(percent: i32) -> Value {
    build::resource("cpu", &build::utilization(percent))
}

/// Adds the Deployment of the pods, by the ReplicaSet's name, with these containers in its template.
pub(crate) fn owned(items: &[Value], containers: &Value) -> Vec<Value> {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d", "controller": true}]);
    let labels = json!({"app": "web", "pod-template-hash": "5d"});
    let mut items = with(
        items,
        "Pod",
        &json!({"metadata": {"labels": labels, "ownerReferences": owner}}),
    );
    items.push(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}},
    }));
    items
}

/// Returns pods with another container, which the resource metrics include as well.
pub(crate) fn with_container(
    items: &[Value],
    container: &Value,
    app: &str,
    usage: &str,
) -> Vec<Value> {
    let containers = json!([build::requesting("app", "100m"), container]);
    let items = with(items, "Pod", &json!({"spec": {"containers": containers}}));
    let name = &container["name"];
    let usages =
        json!([{"name": "app", "usage": {"cpu": app}}, {"name": name, "usage": {"cpu": usage}}]);
    with(&items, "PodMetrics", &json!({ "containers": usages }))
}
