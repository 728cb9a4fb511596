//! The requests of a pod as a whole, as Kubernetes' helpers compute them (`component-helpers/resource`
//! upstream), which the controller and the API server both use, and the requests that the API server gives a pod.

use super::pod::{Container, Pod, resource_name};
use crate::apimachinery::quantity::Amount;

/// Whether a pod as a whole can request the resource (`IsSupportedPodLevelResource`).
pub(crate) fn is_pod_level_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Returns the sum over containers and sidecars, or the largest requirement of an init step if that is
/// higher (`AggregateContainerRequests`).
pub(crate) fn aggregate_request(pod: &Pod, resource: &str) -> Option<Amount> {
    let mut running = None;
    for container in &pod.containers {
        if let Some(request) = container.requests.get(resource) {
            add_to(&mut running, request);
        }
    }
    let mut sidecars: Option<Amount> = None;
    let mut largest_step: Option<Amount> = None;
    for container in &pod.init_containers {
        let request = container.requests.get(resource);
        let mut step = sidecars.clone();
        if let Some(request) = request {
            add_to(&mut step, request);
            if container.restart_always {
                add_to(&mut running, request);
            }
        }
        if container.restart_always {
            sidecars.clone_from(&step);
        }
        if step > largest_step {
            largest_step = step;
        }
    }
    // None sorts below every amount, so an absent request gives way to a present one.
    running.max(largest_step)
}

/// Adds an amount to a sum that may have none yet.
pub(crate) fn add_to(sum: &mut Option<Amount>, amount: &Amount) {
    match sum {
        Some(sum) => sum.add(amount),
        None => *sum = Some(amount.clone()),
    }
}

/// Returns a pod as the API server makes it from a template: a container with a limit and no request requests
/// the limit, and a pod with pod-level limits requests the sum of its containers' requests, or else those
/// limits (`SetDefaults_Pod`, `defaultPodRequests`).
pub(crate) fn as_pod(template: &Pod) -> Pod {
    let mut pod = template.clone();
    for Container {
        requests, limits, ..
    } in pod.containers_mut()
    {
        for (resource, limit) in &limits.0 {
            if requests.get(resource).is_none() {
                requests.0.push((resource.clone(), limit.clone()));
            }
        }
    }
    if pod.limits.0.is_empty() {
        return pod;
    }
    let of_containers = ["cpu", "memory"]
        .into_iter()
        .filter_map(|resource| Some((resource_name(resource), aggregate_request(&pod, resource)?)));
    let of_pod = pod
        .limits
        .0
        .iter()
        .filter(|(resource, _)| is_pod_level_resource(resource));
    let defaults: Vec<_> = of_containers.chain(of_pod.cloned()).collect();
    for (resource, amount) in defaults {
        if pod.requests.get(&resource).is_none() {
            pod.requests.0.push((resource, amount));
        }
    }
    pod
}
