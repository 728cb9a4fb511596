//! The requests of a pod as a whole, as Kubernetes' helpers compute them (`component-helpers/resource`
//! upstream). The controller and the API server both use these helpers.

use super::pod::Pod;
use crate::apimachinery::quantity::Amount;

/// Whether a pod can request it as a whole (`IsSupportedPodLevelResource`).
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
