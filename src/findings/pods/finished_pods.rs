//! The finding `finished-pods`.

use super::{delete_finished, filled, owner_of_finished, pod_names};
use crate::engine::decision::Group;
use crate::findings::prelude::*;
use crate::snapshot::pod::Phase;

/// Pods that have succeeded or failed match the target's selector. Up to Kubernetes 1.37, a succeeded pod counts as a
/// pod without metrics. A finished pod without a request fails a utilization.
///
/// Delete the finished pods, or give them labels that the selector does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedPods {
    /// The pods that succeeded, by name.
    pub succeeded: Vec<Box<str>>,
    /// The pods that failed, by name.
    pub failed: Vec<Box<str>>,
    /// The metrics that count succeeded pods as pods without metrics, by index in the spec.
    pub missing_in: Vec<usize>,
    /// The first metric that fails, if none fails without these pods.
    pub fails: Option<usize>,
    /// The owner of one of the pods, as `Kind/name`, if it may still need the pod, because it does not control
    /// replicas.
    pub owner: Option<String>,
}

impl Kind for FinishedPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let of = |phase| pod_names(case.pods().filter(move |pod| pod.phase == phase));
        let (succeeded, failed) = (of(Phase::Succeeded), of(Phase::Failed));
        let looks_at_metrics = case.metrics().next().is_some();
        if !looks_at_metrics || (succeeded.is_empty() && failed.is_empty()) {
            return None;
        }
        let without = case.without_pods(Pod::has_ended);
        let missing_in = case
            .metrics()
            .filter(|step| !step.is_failed())
            .filter(|step| {
                let mut rows = step.pods.iter();
                rows.any(|row| row.group == Group::Missing && case.pod_of(row).has_ended())
            })
            .map(|step| step.index)
            .collect();
        let mut failing = case.metrics().filter(|it| it.is_failed());
        let mended = case.answer().proposal.is_none() && without.proposal.is_some();
        let fails = failing.next().filter(|_| mended).map(|step| step.index);
        let facts = FinishedPods {
            succeeded,
            failed,
            missing_in,
            fails,
            owner: owner_of_finished(case),
        };
        Some(case.weigh(facts, without, Severity::Info))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let pods = self.pods().len();
        let verb = one_or_many(pods, "matches", "match");
        let effect = match (self.fails, &*self.missing_in) {
            (Some(metric), _) => format!(
                ", and {} fails because of {}",
                about.label(metric),
                them(pods)
            ),
            (None, []) => String::new(),
            (None, metrics) => {
                let labels: Vec<String> = metrics.iter().map(|it| about.label(*it)).collect();
                let counting = self.succeeded.len();
                let counts = one_or_many(counting, "counts", "count");
                let which = if counting == pods {
                    String::new()
                } else {
                    format!("{counting} ")
                };
                format!(", and {which}{counts} as missing for {}", list(&labels))
            }
        };
        format!(
            "{} {verb} the target's selector{effect}{}",
            count(pods, "finished pod"),
            about.cost()
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        for (phase, pods) in [("Succeeded", &self.succeeded), ("Failed", &self.failed)] {
            if !pods.is_empty() {
                evidence.push(format!("{phase}: {}.", names(pods)));
            }
        }
        evidence.extend(self.fails.and_then(|metric| metric_failure(about, metric)));
        let missing_in = self.missing_in.iter();
        evidence.extend(missing_in.filter_map(|metric| filled(about, *metric)));
        // There, a finished pod without a request still fails a metric.
        let mut metrics = about.pass.decision.metrics();
        if !self.missing_in.is_empty() && !metrics.any(MetricStep::is_failed) {
            evidence.push("Kubernetes 1.38 leaves out succeeded pods.".to_owned());
        }
        let pods = self.pods().len();
        evidence.extend(about.otherwise(&format!("Without {}", them(pods))));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(owner) = &self.owner {
            let advice = Remedy::DeleteByOwner.says(format!(
                "Give the pods of {owner} labels that the selector does not match."
            ));
            return advice.with_all(about.list_pods("--show-labels"));
        }
        delete_finished(about, &self.pods())
    }

    fn pods(&self) -> Vec<&str> {
        let pods = self.succeeded.iter().chain(&self.failed);
        pods.map(|name| &**name).collect()
    }
}

/// Returns the error of a metric.
fn metric_failure(about: &About<'_>, metric: usize) -> Option<String> {
    let error = about.step(metric)?.error()?;
    Some(format!("{}: {}.", about.label(metric), error.message))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::pods::testing::{unmeasured, with_pods};
    use crate::findings::testing::{cpu, in_version, state, table, with_pod, with_spec};

    #[test]
    fn finished_pods() {
        let two = unmeasured(state(&[cpu()], &["30m", "0"]), "web-1");
        let is = |phase: &str| with_pods(&two, &["web-1"], &json!({"status": {"phase": phase}}));
        let new = |items: &[Value]| in_version(items, "v1.38.0");
        let no_request = json!({"spec": {"containers": [{"name": "app"}]}});
        // Pods of a Job are not deleted, as it may still need them.
        let owned_by = |kind: &str| {
            let owner = build::owned_by("v1", kind, "build");
            let patch = json!({"metadata": {"ownerReferences": owner}});
            with_pods(&is("Failed"), &["web-1"], &patch)
        };
        let mixed = {
            let three = unmeasured(state(&[cpu()], &["30m", "0", "0"]), "web-1");
            let of = |items: &[Value], name: &str, phase: &str| {
                with_pod(items, name, &json!({"status": {"phase": phase}}))
            };
            of(&of(&three, "web-1", "Succeeded"), "web-2", "Failed")
        };
        let states = [
            ("succeeded, and another failed", mixed),
            ("runs", is("Running")),
            // 30 % alone ask for 1; with the other at its request, 65 % ask for 3.
            ("succeeded", is("Succeeded")),
            (
                "succeeded, in a version that leaves it out",
                new(&is("Succeeded")),
            ),
            ("failed", is("Failed")),
            (
                "failed without a request",
                with_pods(&is("Failed"), &["web-1"], &no_request),
            ),
            (
                "succeeded without a request, which fails one of two metrics",
                with_spec(
                    &with_pods(&is("Succeeded"), &["web-1"], &no_request),
                    &json!({"metrics": [cpu(), build::resource("cpu", &build::average("20m"))]}),
                ),
            ),
            ("is of a Job", owned_by("Job")),
            ("is of a Workflow", owned_by("Workflow")),
            ("is of a ReplicaSet", owned_by("ReplicaSet")),
        ];
        insta::assert_snapshot!(table(Code::FinishedPods, states), @r"
        succeeded, and another failed: warning, explains, without it 1 -> 3
            2 finished pods match the target's selector, and 1 counts as missing for cpu
            - Succeeded: web-1.
            - Failed: web-2.
            - cpu assumes 1 pod without metrics at 100% of the request, which takes its ratio from 0.6 to 1.3.
            - Kubernetes 1.38 leaves out succeeded pods.
            - Without them: a proposal of 1, and 3 replicas after stabilization and limits.
            > Delete web-1 and 1 more, or relabel them so that they do not match.
            $ kubectl delete pod web-1 web-2 -n default
            @ pod/web-1 pod/web-2
        runs: none
        succeeded: warning, explains, without it 1 -> 2
            1 finished pod matches the target's selector, and counts as missing for cpu
            - Succeeded: web-1.
            - cpu assumes 1 pod without metrics at 100% of the request, which takes its ratio from 0.6 to 1.3.
            - Kubernetes 1.38 leaves out succeeded pods.
            - Without it: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete web-1, or relabel it so that it does not match.
            $ kubectl delete pod web-1 -n default
            @ pod/web-1
        succeeded, in a version that leaves it out: info, aside, without it 1 -> 2
            1 finished pod matches the target's selector
            - Succeeded: web-1.
            - Without it, the answer is the same: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete web-1, or relabel it so that it does not match.
            $ kubectl delete pod web-1 -n default
            @ pod/web-1
        failed: info, aside, without it 1 -> 2
            1 finished pod matches the target's selector
            - Failed: web-1.
            - Without it, the answer is the same: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete web-1, or relabel it so that it does not match.
            $ kubectl delete pod web-1 -n default
            @ pod/web-1
        failed without a request: error, explains, without it 1 -> 2
            1 finished pod matches the target's selector, and cpu fails because of it: no decision instead of a proposal of 1
            - Failed: web-1.
            - cpu: failed to get cpu utilization: missing request for cpu in container app of Pod web-1.
            - Without it: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete web-1, or relabel it so that it does not match.
            $ kubectl delete pod web-1 -n default
            @ pod/web-1
        succeeded without a request, which fails one of two metrics: info, aside, without it 2 -> 2
            1 finished pod matches the target's selector, and counts as missing for cpu
            - Succeeded: web-1.
            - cpu assumes 1 pod without metrics at 0, which takes its ratio from 1.5 to 0.75.
            - Without it, the answer is the same: 2 replicas.
            > Delete web-1, or relabel it so that it does not match.
            $ kubectl delete pod web-1 -n default
            @ pod/web-1
        is of a Job: info, aside, without it 1 -> 2
            1 finished pod matches the target's selector
            - Failed: web-1.
            - Without it, the answer is the same: a proposal of 1, and 2 replicas after stabilization and limits.
            > Give the pods of Job/build labels that the selector does not match.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-1
        is of a Workflow: info, aside, without it 1 -> 2
            1 finished pod matches the target's selector
            - Failed: web-1.
            - Without it, the answer is the same: a proposal of 1, and 2 replicas after stabilization and limits.
            > Give the pods of Workflow/build labels that the selector does not match.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-1
        is of a ReplicaSet: as failed
        ");
    }
}
