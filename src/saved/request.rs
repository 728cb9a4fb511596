//! The requests that the controller sends for metrics, for commands that repeat them.

use super::assemble::resource_of;
use crate::apimachinery::names::{query, segment};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{MetricSource, MetricSpec};
use crate::snapshot::surroundings::Surroundings;

/// Returns the path of the request for a metric of the HPA.
pub(crate) fn path(snapshot: &Snapshot, surroundings: &Surroundings, spec: &MetricSpec) -> String {
    let scale = snapshot.scale.as_ref().ok();
    let pods = scale.map_or("", |scale| scale.selector.as_str());
    let (group, namespace) = (spec.api_group(), &snapshot.hpa.namespace);
    let version = surroundings.version_of(group);
    format!(
        "/apis/{group}/{version}/namespaces/{namespace}/{}",
        rest(spec, pods)
    )
}

/// Returns the rest of the path after the namespace; `pods` is the selector of the target.
fn rest(spec: &MetricSpec, pods: &str) -> String {
    let (name, selector) = (segment(spec.name()), spec.selector());
    let (objects, pods) = match spec.source() {
        MetricSource::External(_) => {
            return format!("{name}{}", query(&[("labelSelector", &selector)]));
        }
        MetricSource::Pods(_) => ("pods/*".to_owned(), pods),
        MetricSource::Object(source) => {
            let object = &source.described_object;
            let objects = if object.is_namespace() {
                "metrics".to_owned()
            } else {
                let resource = resource_of(object.group(), &object.kind);
                format!("{resource}/{}", segment(&object.name))
            };
            (objects, "")
        }
        _ => return "pods".to_owned(),
    };
    let selectors = query(&[("labelSelector", pods), ("metricLabelSelector", &selector)]);
    format!("{objects}/{name}{selectors}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rest;

    #[test]
    fn the_rest_of_the_path_of_a_request() {
        let metric = json!({"name": "a/b c%"});
        let selected = json!({"name": "rps", "selector": {"matchLabels": {"verb": "GET"}}});
        let object = json!({"apiVersion": "v1", "kind": "Service", "name": "x y"});
        for (spec, want) in [
            (
                json!({"type": "External", "external": {"metric": metric}}),
                "a%2Fb%20c%25",
            ),
            (
                json!({"type": "External", "external": {"metric": selected}}),
                "rps?labelSelector=verb%3DGET",
            ),
            (
                json!({"type": "Object", "object": {"describedObject": object, "metric": metric}}),
                "services/x%20y/a%2Fb%20c%25",
            ),
            (
                json!({"type": "Object", "object": {"describedObject": object, "metric": selected}}),
                "services/x%20y/rps?metricLabelSelector=verb%3DGET",
            ),
            (
                json!({"type": "Pods", "pods": {"metric": selected}}),
                "pods/*/rps?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET",
            ),
        ] {
            let spec = serde_json::from_value(spec).expect("a metric");
            assert_eq!(rest(&spec, "app=web"), want);
        }
    }
}
