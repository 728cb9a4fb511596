//! States for the tests of this group.

use serde_json::{Value, json};

use crate::build;
use crate::findings::testing::with_state;

pub(crate) fn container(name: &str) -> Value {
    build::resource_of("cpu", name, &build::utilization(50))
}

/// Returns the state with a failing request.
pub(crate) fn failing(items: &[Value], api: &str, message: &str) -> Vec<Value> {
    let errors = json!([{ "api": api, "message": message }]);
    with_state(items, &json!({ "errors": errors }))
}

/// Returns the APIService of a group with this status of its condition `Available`.
pub(crate) fn api_service(group: &str, status: &str) -> Value {
    json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1beta1.{group}")},
        "status": {"conditions": [{"type": "Available", "status": status,
            "reason": "FailedDiscoveryCheck", "message": "no response"}]}})
}

/// Returns the APIService of a group with the Service that it points to.
pub(crate) fn pointing(group: &str, namespace: &str, name: &str, status: &str) -> Value {
    let service = json!({"spec": {"service": {"namespace": namespace, "name": name}}});
    build::with(api_service(group, status), &service)
}

/// Returns the list of what the API of a group serves.
pub(crate) fn listing(group: &str, names: &[&str]) -> Value {
    let resources = Vec::from_iter(names.iter().map(|name| json!({ "name": name })));
    json!({"apiVersion": "v1", "kind": "APIResourceList",
        "groupVersion": format!("{group}/v1beta1"), "resources": resources})
}

pub(crate) const UNSERVED: &str =
    "the server could not find the requested resource (get q.external.metrics.k8s.io)";
