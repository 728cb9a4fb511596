//! The init containers that keep running, for a history that does not distinguish them from others.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::moment::current;
use crate::prometheus::history::{ContainerHistory, History, PodHistory, Samples};
use crate::snapshot::input::Input;
use crate::snapshot::pod::{Container, ResourceName};

/// Older versions of kube-state-metrics do not say which init containers keep running: those of the template and
/// of current pods do.
pub(super) fn with_sidecars<'h>(history: &'h History, input: &Input) -> Cow<'h, History> {
    let mut completed = Cow::Borrowed(history);
    let mut containers = history.pods.iter().flat_map(|pod| pod.containers.values());
    // Where the label of one is recorded, the others have none.
    if containers.any(|own| own.init == Some(true)) {
        return completed;
    }
    let sidecars: BTreeMap<&str, &Container> = current(input)
        .flat_map(|pod| &pod.init_containers)
        .filter(|own| own.restart_always)
        .map(|own| (&*own.name, own))
        .collect();
    for (place, pod) in history.pods.iter().enumerate() {
        for (name, _) in pod.containers.iter().filter(|(_, own)| may_stay(pod, own)) {
            let Some(sidecar) = sidecars.get(&**name) else {
                continue;
            };
            let containers = &mut completed.to_mut().pods[place].containers;
            let own = containers.entry(name.clone()).or_default();
            own.init = Some(true);
            if own.requests.is_empty() {
                own.requests = constant(sidecar);
            }
        }
    }
    completed
}

/// Whether a container may be an init container that keeps running: then it is measured as the others are.
fn may_stay(pod: &PodHistory, own: &ContainerHistory) -> bool {
    let is_measured = |own: &ContainerHistory| !own.cpu.is_empty() || !own.memory.is_empty();
    let is_regular = own.has_info || (own.init.is_none() && !own.requests.is_empty());
    !is_regular && (is_measured(own) || !pod.containers.values().any(is_measured))
}

/// Returns the requests of a current container as samples.
fn constant(container: &Container) -> Vec<(ResourceName, Samples)> {
    let requests = container.requests.0.iter();
    let samples = requests.map(|(resource, amount)| {
        let mut samples = Samples::default();
        samples.add(&[(0, amount.milli_value() as f64 / 1000.0)]);
        (resource.clone(), samples)
    });
    samples.collect()
}
