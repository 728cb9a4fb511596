//! The finding `resize-in-progress`.

use std::collections::BTreeMap;

use super::{compared, milli, utilizations};
use crate::apimachinery::metadata::Condition;
use crate::findings::prelude::*;
use crate::findings::targets::set_request;
use crate::findings::wording::told;
use crate::snapshot::pod::{ContainerStatus, Requests};

/// The requests in the spec of pods are not those in effect, because a resize in place is pending. The controller
/// computes the utilization from the spec.
///
/// Wait until the resize is done, or use a target of type AverageValue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizeInProgress {
    /// The index of the first metric that uses them, from 0.
    pub metric: usize,
    /// The containers.
    pub containers: Vec<Resized>,
    /// The condition about the resize of the first of their pods.
    pub condition: Option<Condition>,
}

impl Kind for ResizeInProgress {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let (step, containers) = utilizations(case).find_map(|(step, _)| {
            let mut containers = Vec::new();
            for pod in case.pods() {
                let statuses = requests_in_effect(&pod.statuses);
                for container in case.counted_containers(pod, step) {
                    let requests = statuses.get(&*container.name);
                    let in_effect = requests.and_then(|it| it.get(&step.name));
                    let (Some(spec), Some(in_effect)) =
                        (container.requests.get(&step.name), in_effect)
                    else {
                        continue;
                    };
                    if spec != in_effect {
                        containers.push(Resized {
                            pod: pod.name.clone(),
                            container: container.name.clone(),
                            spec: spec.milli_value(),
                            in_effect: in_effect.milli_value(),
                        });
                    }
                }
            }
            (!containers.is_empty()).then_some((step, containers))
        })?;
        let pod = case
            .pods()
            .find(|pod| containers.first().is_some_and(|it| it.pod == pod.name))?;
        let condition = pod.resizes.first().cloned();
        let without = case.without(|snapshot| {
            for pod in snapshot
                .pods
                .iter_mut()
                .filter(|pod| !pod.statuses.is_empty())
            {
                let own = std::mem::take(&mut pod.statuses);
                let statuses = requests_in_effect(&own);
                for container in pod.containers_mut() {
                    let requests = statuses.get(&*container.name);
                    if let Some(in_effect) = requests.and_then(|it| it.get(&step.name)) {
                        set_request(&mut container.requests, &step.name, in_effect);
                    }
                }
            }
        });
        let facts = ResizeInProgress {
            metric: step.index,
            containers,
            condition,
        };
        Some(compared(case, facts, Severity::Info, without))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let not = if self.is_infeasible() {
            "cannot come into effect"
        } else {
            "are not yet in effect"
        };
        format!(
            "{} is a share of requests that {not} in {}",
            about.label(self.metric),
            count(self.pods().len(), "pod")
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        let resource = about.spec(self.metric).name();
        for resized in self.containers.iter().take(3) {
            let [spec, in_effect] = [resized.spec, resized.in_effect].map(|it| milli(it, resource));
            let Resized { pod, container, .. } = resized;
            evidence.push(format!(
                "{container} of {pod} requests {spec}; {in_effect} is in effect."
            ));
        }
        if let Some(condition) = &self.condition {
            let since = about.since(condition);
            let said = told([&condition.reason, &condition.message]);
            evidence.push(format!("{}{since}{said}.", condition.type_));
        }
        evidence.extend(about.result("With the requests in effect"));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let advice = if self.is_infeasible() {
            Remedy::RequestLess.says(format!(
                "Request less {}: the node cannot hold the pod with this request.",
                about.spec(self.metric).name()
            ))
        } else {
            Remedy::WaitForResize
                .waits("until the resize is done")
                .or("use an AverageValue target")
        };
        advice.with_all(self.pods().first().map(|pod| about.describe(pod)))
    }

    fn pods(&self) -> Vec<&str> {
        let mut pods: Vec<&str> = self.containers.iter().map(|it| &*it.pod).collect();
        pods.dedup();
        pods
    }
}

impl ResizeInProgress {
    /// Whether the node can never hold the pod.
    fn is_infeasible(&self) -> bool {
        let condition = self.condition.as_ref();
        condition.is_some_and(|it| it.reason == "Infeasible")
    }
}

/// Returns the requests in effect, by container.
fn requests_in_effect<'s>(statuses: &'s [ContainerStatus]) -> BTreeMap<&'s str, &'s Requests> {
    let stated = |it: &'s ContainerStatus| Some((&*it.name, it.requests.as_ref()?));
    statuses.iter().rev().filter_map(stated).collect()
}

/// A container whose request in the spec is not the one in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resized {
    /// The pod.
    pub pod: Box<str>,
    /// The container.
    pub container: Box<str>,
    /// The request in the spec, in milli-units, which the controller uses.
    pub spec: i64,
    /// The request in effect, in milli-units.
    pub in_effect: i64,
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::build;
    use crate::findings::requests::testing::cpu_of;
    use crate::findings::testing::{state, table, with};

    #[test]
    fn requests_that_are_being_resized() {
        let resizing = |in_effect: &str| {
            let statuses = json!([{"name": "app", "resources": {"requests": {"cpu": in_effect}}}]);
            let items = state(&[cpu_of(60)], &["90m", "90m"]);
            let containers = json!([build::requesting("app", "400m")]);
            let patch = json!({"spec": {"containers": containers}, "status": {"containerStatuses": statuses}});
            with(&items, "Pod", &patch)
        };
        let pending = |reason: &str| {
            let condition = json!({"type": "PodResizePending", "status": "True", "reason": reason, "message": "x"});
            let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T05:00:00Z"});
            let patch = json!({"status": {"conditions": [ready, condition]}});
            with(&resizing("100m"), "Pod", &patch)
        };
        let states = [
            // 90% of 60%.
            ("to four times as much", resizing("100m")),
            ("and no node can hold", pending("Infeasible")),
            ("later", pending("Deferred")),
            ("and have been", resizing("400m")),
            ("unlike amounts", state(&[cpu_of(60)], &["90m", "90m"])),
        ];
        insta::assert_snapshot!(table(Code::ResizeInProgress, states), @r"
        to four times as much: warning, explains, without it 3 -> 3
            cpu is a share of requests that are not yet in effect in 2 pods
            - app of web-0 requests 400m; 100m is in effect.
            - app of web-1 requests 400m; 100m is in effect.
            - With the requests in effect: 3 replicas.
            > Wait until the resize is done, or use an AverageValue target.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1
        and no node can hold: warning, explains, without it 3 -> 3
            cpu is a share of requests that cannot come into effect in 2 pods
            - app of web-0 requests 400m; 100m is in effect.
            - app of web-1 requests 400m; 100m is in effect.
            - PodResizePending: Infeasible: x.
            - With the requests in effect: 3 replicas.
            > Request less cpu: the node cannot hold the pod with this request.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1
        later: warning, explains, without it 3 -> 3
            cpu is a share of requests that are not yet in effect in 2 pods
            - app of web-0 requests 400m; 100m is in effect.
            - app of web-1 requests 400m; 100m is in effect.
            - PodResizePending: Deferred: x.
            - With the requests in effect: 3 replicas.
            > Wait until the resize is done, or use an AverageValue target.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1
        and have been: none
        unlike amounts: none
        ");
    }
}
