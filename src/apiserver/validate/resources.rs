//! The checks on the requests and limits of containers and of pods as a whole, and on the names of resources.
//! Follows `ValidateResourceRequirements`, `validatePodResourceConsistency` and
//! `ValidateContainerResourceName`.

use serde::Deserialize;
use serde_json::Value as Json;

use super::NOT_NEGATIVE;
use super::cause::{FaultPath, Shown};
use crate::apimachinery::names;
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::snapshot::pod::{Container, Pod, Requests};
use crate::snapshot::requests::{aggregate_request, is_pod_level_resource};

/// Checks the resources of a pod as a whole; `spec` is the JSON of its spec.
pub(super) fn of_pod(template: &Pod, spec: &Json, path: &FaultPath<'_>) {
    let stated = StatedResources {
        requests: &template.requests,
        limits: &template.limits,
        json: &spec["resources"],
    };
    validate_resources(stated, pod_resource, path);
    validate_whole(stated, template, spec, path);
}

/// Checks the resources of a container; `json` is the JSON of them.
pub(super) fn of_container(container: &Container, json: &Json, path: &FaultPath<'_>) {
    let stated = StatedResources {
        requests: &container.requests,
        limits: &container.limits,
        json,
    };
    validate_resources(stated, container_resource, path);
}

/// The requests and limits of a container, or of a pod as a whole.
#[derive(Clone, Copy)]
struct StatedResources<'a> {
    requests: &'a Requests,
    limits: &'a Requests,
    /// The same as JSON, which keeps the formats of the amounts.
    json: &'a Json,
}

impl StatedResources<'_> {
    fn request(&self, resource: &str) -> String {
        quantity(&self.json["requests"][resource])
    }

    fn limit(&self, resource: &str) -> String {
        quantity(&self.json["limits"][resource])
    }
}

/// Returns a quantity as upstream prints it.
fn quantity(stated: &Json) -> String {
    Quantity::deserialize(stated).map_or_else(|_| stated.to_string(), |it| it.to_string())
}

/// Checks that the requests of the pod as a whole are enough for its containers, and that no container has
/// a higher limit.
fn validate_whole(own: StatedResources<'_>, template: &Pod, spec: &Json, path: &FaultPath<'_>) {
    for (resource, request) in &own.requests.0 {
        if let Some(sum) = aggregate_request(template, resource).filter(|sum| sum > request) {
            let format = format_of_sum(spec, resource, &sum);
            let sum = Quantity::new(sum, format);
            let detail =
                format!("must be greater than or equal to aggregate container requests of {sum}");
            let at = path.child("requests").key(resource);
            at.invalid(Shown::Json(&own.request(resource)), &detail);
        }
    }
    for (place, container) in template.containers.iter().enumerate() {
        for (resource, limit) in &container.limits.0 {
            if own.limits.get(resource).is_some_and(|most| limit > most) {
                let whole = own.limit(resource);
                let detail = format!("must be less than or equal to pod limits of {whole}");
                // Upstream builds it on the path of the pod's resources.
                let at = path
                    .child("containers")
                    .index(place)
                    .key(resource)
                    .child("limits");
                let shown =
                    quantity(&spec["containers"][place]["resources"]["limits"][&**resource]);
                at.invalid(Shown::Json(&shown), &detail);
            }
        }
    }
}

/// Returns the format of the sum of requests: the format of the first nonzero request, to which upstream adds the
/// others, unless a single request is the sum.
fn format_of_sum(spec: &Json, resource: &str, sum: &Amount) -> Format {
    let lists = ["containers", "initContainers"].map(|list| spec[list].as_array());
    let stated: Vec<Quantity> = lists
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|it| Quantity::deserialize(&it["resources"]["requests"][resource]).ok())
        .filter(|it| it.signum() != 0)
        .collect();
    let single = stated.iter().find(|it| it.amount() == sum);
    let first = single.or(stated.first());
    first.map(Quantity::format).unwrap_or_default()
}

/// Checks the name of a resource of the pod as a whole (`validatePodResourceName`).
fn pod_resource(resource: &str, path: &FaultPath<'_>) {
    let wrong = names::label_key(resource);
    path.faults(resource, &wrong);
    if wrong.is_empty() && !is_pod_level_resource(resource) {
        path.not_supported(resource, &["cpu", "hugepages-", "memory"]);
    }
}

/// Checks the name of a resource of containers (`ValidateContainerResourceName`).
pub(super) fn container_resource(resource: &str, path: &FaultPath<'_>) {
    let wrong = names::label_key(resource);
    path.faults(resource, &wrong);
    // Upstream shows it as a `string` above, and as a `ResourceName` here.
    let shown = Shown::Json(resource);
    if resource.contains('/') {
        if !is_native_resource(resource) && !is_extended_resource(resource) {
            path.invalid(shown, "doesn't follow extended resource name standard");
        }
        return;
    }
    if wrong.is_empty() && !is_standard_resource(resource) {
        let detail = "must be a standard resource type or fully qualified";
        path.invalid(shown, detail);
    }
    if !is_standard_container_resource(resource) {
        path.invalid(shown, "must be a standard resource for containers");
    }
}

/// Checks requests and limits (`validateResourceRequirements`); `name` checks the names. Claims are not
/// checked.
fn validate_resources(
    stated: StatedResources<'_>,
    name: fn(&str, &FaultPath<'_>),
    path: &FaultPath<'_>,
) {
    let StatedResources {
        requests,
        limits,
        json,
    } = stated;
    for (list, amounts) in [("limits", limits), ("requests", requests)] {
        for (resource, amount) in &amounts.0 {
            let at = path.child(list).key(resource);
            let shown = quantity(&json[list][&**resource]);
            name(resource, &at);
            validate_amount(resource, amount, &shown, &at);
        }
    }
    for (resource, request) in &requests.0 {
        let may_differ = is_native_resource(resource) && !is_huge_pages(resource);
        let Some(limit) = limits.get(resource) else {
            if !may_differ {
                let detail = "Limit must be set for non overcommitable resources";
                path.child("limits").required(detail);
            }
            continue;
        };
        let relation = if request != limit && !may_differ {
            "equal to"
        } else if request > limit {
            "less than or equal to"
        } else {
            continue;
        };
        let limit = stated.limit(resource);
        let detail = format!("must be {relation} {resource} limit of {limit}");
        let shown = stated.request(resource);
        path.child("requests").invalid(Shown::Json(&shown), &detail);
    }
    let has = |resource: &str| requests.get(resource).or(limits.get(resource)).is_some();
    let mut amounts = requests.0.iter().chain(&limits.0);
    if amounts.any(|(resource, _)| is_huge_pages(resource)) && !has("cpu") && !has("memory") {
        path.forbidden("HugePages require cpu or memory");
    }
}

/// Checks an amount of a resource (`ValidateResourceQuantityValue`,
/// `validateResourceQuantityHugePageValue`).
fn validate_amount(resource: &str, amount: &Amount, shown: &str, path: &FaultPath<'_>) {
    if *amount < Amount::default() {
        path.invalid(Shown::Json(shown), NOT_NEGATIVE);
    }
    if amount.milli_value() % 1000 != 0 && is_extended_resource(resource) {
        path.invalid(Shown::Json(shown), "must be an integer");
    }
    if let Some(size) = resource.strip_prefix(HUGE_PAGES) {
        let size = Quantity::parse(size)
            .ok()
            .filter(|size| size.milli_value() % 1000 == 0)
            .map_or(0, |size| size.amount().value());
        if size <= 0 || amount.value() % size != 0 {
            let detail = format!("{shown} is not positive integer multiple of {resource}");
            path.invalid(Shown::Json(shown), &detail);
        }
    }
}

const HUGE_PAGES: &str = "hugepages-";

fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with(HUGE_PAGES)
}

fn is_standard_resource(name: &str) -> bool {
    let resource = ["requests.", "limits."]
        .iter()
        .find_map(|p| name.strip_prefix(p));
    match resource {
        Some("cpu" | "memory" | "ephemeral-storage") => true,
        Some("storage") => name.starts_with("requests."),
        Some(resource) if is_huge_pages(resource) => name.starts_with("requests."),
        Some(_) => false,
        None => {
            is_standard_container_resource(name)
                || matches!(
                    name,
                    "pods"
                        | "resourcequotas"
                        | "services"
                        | "replicationcontrollers"
                        | "secrets"
                        | "configmaps"
                        | "persistentvolumeclaims"
                        | "storage"
                        | "services.nodeports"
                        | "services.loadbalancers"
                )
        }
    }
}

fn is_standard_container_resource(name: &str) -> bool {
    name == "ephemeral-storage" || is_pod_level_resource(name)
}

fn is_native_resource(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended_resource(name: &str) -> bool {
    // Upstream checks whether the name would still be valid as the key of a quota.
    !is_native_resource(name)
        && !name.starts_with("requests.")
        && names::label_key(&format!("requests.{name}")).is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::cause::Causes;
    use super::*;

    #[test]
    fn container_resources() {
        let standard = "must be a standard resource type or fully qualified";
        let container = "must be a standard resource for containers";
        let extended = "doesn't follow extended resource name standard";
        for (name, faults, kinds) in [
            ("cpu", 0, &[][..]),
            ("ephemeral-storage", 0, &[]),
            ("hugepages-2Mi", 0, &[]),
            ("hugepages-", 1, &[]),
            ("example.com/gpu", 0, &[]),
            ("kubernetes.io/x", 0, &[]),
            ("requests.example.com/gpu", 0, &[extended]),
            ("pods", 0, &[container]),
            ("storage", 0, &[container]),
            ("limits.storage", 0, &[standard, container]),
            ("requests.storage", 0, &[container]),
            ("requests.hugepages-2Mi", 0, &[container]),
            ("limits.hugepages-2Mi", 0, &[standard, container]),
            ("foo", 0, &[standard, container]),
            ("a b", 1, &[container]),
            ("a b/c", 1, &[extended]),
        ] {
            let causes = Causes::default();
            let path = FaultPath::new("name", &causes);
            container_resource(name, &path);
            let wrong = names::label_key(name);
            assert_eq!(wrong.len(), faults, "{name}");
            let of_format = wrong
                .iter()
                .map(|detail| (Shown::Text(name), detail.as_str()));
            let of_kind = kinds.iter().map(|detail| (Shown::Json(name), *detail));
            let expected: Vec<String> = of_format
                .chain(of_kind)
                .map(|(shown, detail)| format!("Invalid value: {shown}: {detail}"))
                .collect();
            let found = causes.into_inner();
            let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
            assert_eq!(messages, expected, "{name}");
        }
    }
}
