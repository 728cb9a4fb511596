//! Why the API server would reject the pod template of a workload, for what a pass depends on: the names
//! of containers, and their requests and limits. Follows `ValidatePodTemplateSpec` and
//! `ValidateResourceRequirements`.

use super::cause::{Cause, Path, Shown};
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::snapshot::pod::{Container, Pod};
use crate::snapshot::surroundings::Workload;

/// Returns why the API server would not take the replicas and the template of a workload; empty if it would,
/// and for a workload without a template.
#[must_use]
pub(crate) fn validate(workload: &Workload) -> Vec<Cause> {
    let path = Path::new("spec");
    let mut causes = Vec::new();
    if let Some(replicas) = workload.replicas.filter(|replicas| *replicas < 0) {
        let shown = Shown::Number(replicas.into());
        causes.push(path.child("replicas").invalid(shown, NOT_NEGATIVE));
    }
    if let Some(template) = workload.template.as_deref() {
        causes.extend(validate_pod(template, &path.child("template").child("spec")));
    }
    causes
}

const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

fn validate_pod(template: &Pod, path: &Path) -> Vec<Cause> {
    let mut causes = Vec::new();
    let containers = path.child("containers");
    if template.containers.is_empty() {
        causes.push(containers.required(""));
    }
    let mut names: Vec<&str> = Vec::new();
    let lists = [
        (containers, &template.containers),
        (path.child("initContainers"), &template.init_containers),
    ];
    for (path, list) in lists {
        for (place, container) in list.iter().enumerate() {
            let path = path.index(place);
            let name = path.child("name");
            match &*container.name {
                "" => causes.push(name.required("")),
                own if names.contains(&own) => causes.push(name.duplicate(own)),
                own => names.push(own),
            }
            causes.extend(validate_resources(container, &path.child("resources")));
        }
    }
    causes
}

fn validate_resources(container: &Container, path: &Path) -> Vec<Cause> {
    let mut causes = Vec::new();
    let shown =
        |amount: &Amount| Quantity::from_milli(amount.milli_value(), Format::DecimalSI).to_string();
    for (list, amounts) in [("limits", &container.limits), ("requests", &container.requests)] {
        let path = path.child(list);
        for (resource, amount) in &amounts.0 {
            if *amount < Amount::default() {
                let shown = shown(amount);
                causes.push(path.key(resource).invalid(Shown::Json(&shown), NOT_NEGATIVE));
            }
        }
    }
    for (resource, request) in &container.requests.0 {
        if let Some(limit) = container.limits.get(resource).filter(|limit| request > *limit) {
            let detail =
                format!("must be less than or equal to {resource} limit of {}", shown(limit));
            let shown = shown(request);
            causes.push(path.child("requests").invalid(Shown::Json(&shown), &detail));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::validate;
    use crate::snapshot::surroundings::Workload;

    #[test]
    fn what_the_api_server_rejects_is_named_by_its_field() {
        let requests = |request: &str, limit: &str| json!([{"name": "app", "resources": {"requests": {"cpu": request}, "limits": {"cpu": limit}}}]);
        let one = |name: &str| json!({"name": name});
        for (replicas, containers, init, causes) in [
            (1, json!([one("app")]), json!([one("setup")]), ""),
            (0, requests("250m", "0.25"), json!([]), ""),
            (
                -1,
                json!([one("app")]),
                json!([]),
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            ),
            (1, json!([]), json!([]), "spec.template.spec.containers: Required value"),
            (1, json!([{}]), json!([]), "spec.template.spec.containers[0].name: Required value"),
            (
                1,
                json!([one("app")]),
                json!([one("app")]),
                "spec.template.spec.initContainers[0].name: Duplicate value: \"app\"",
            ),
            (
                1,
                requests("-1m", "1"),
                json!([]),
                "spec.template.spec.containers[0].resources.requests[cpu]: Invalid value: \"-1m\": \
                 must be greater than or equal to 0",
            ),
            (
                1,
                requests("2", "1500m"),
                json!([]),
                "spec.template.spec.containers[0].resources.requests: Invalid value: \"2\": must be \
                 less than or equal to cpu limit of 1500m",
            ),
        ] {
            let template = json!({"spec": {"containers": containers, "initContainers": init}});
            let template = serde_json::from_value(template).unwrap();
            let workload = Workload {
                replicas: Some(replicas),
                template: Some(template),
                ..Workload::default()
            };
            let found: Vec<String> = validate(&workload).iter().map(ToString::to_string).collect();
            assert_eq!(found.join("; "), causes);
        }
    }
}
