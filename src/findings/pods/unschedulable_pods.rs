//! The finding `unschedulable-pods`.

use super::{Lack, add_nodes, among, or_lower, pod_names, weigh};
use crate::findings::prelude::*;
use crate::snapshot::by_name::Names;
use crate::snapshot::evidence::TRIGGERED;

/// The scheduler finds no node for pending pods of the target.
///
/// Add nodes, or lower maxReplicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnschedulablePods {
    /// These pods, by name.
    pub pods: Vec<Box<str>>,
    /// The scheduler's message about the first.
    pub message: Box<str>,
    /// The time when the oldest was created.
    pub since: Option<Timestamp>,
    /// Whether the metrics and the spec keep more pods than have a node.
    pub are_needed: bool,
    /// The cluster autoscaler's latest message about one of them.
    pub autoscaler: Option<Autoscaler>,
}

impl Kind for UnschedulablePods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let (pods, placed): (Vec<&Pod>, Vec<&Pod>) = case
            .own_pods()
            .filter(|pod| pod.is_active())
            .partition(|pod| pod.unschedulable.is_some());
        let message = pods.first()?.unschedulable.clone()?;
        let since = pods.iter().filter_map(|pod| pod.created).min();
        let least = match case.decision.replicas_before() {
            Some(current) if !case.may_scale(Direction::Down) => current,
            _ => case.snapshot.hpa.spec.min(),
        };
        let are_needed = case.decision.proposal.is_none_or(|proposal| {
            usize::try_from(proposal.max(least)).is_ok_and(|kept| kept > placed.len())
        });
        let events = case.pass.input.evidence.pods.iter();
        let named: Names<&str> = pods.iter().map(|pod| &*pod.name).collect();
        let said = events.filter(|it| named.contains(&it.name));
        let autoscaler = said.max_by_key(|it| it.last).map(|it| Autoscaler {
            adds: it.reason == TRIGGERED,
            message: it.message.clone(),
            at: it.last,
        });
        let is_coming = autoscaler.as_ref().is_some_and(|it| {
            let ago = it.at.filter(|_| it.adds).and_then(|at| case.since(at));
            ago.is_some_and(|ago| ago < NEW_NODE)
        });
        let is_old = |pod: &&Pod| case.age(pod).is_some_and(|age| age >= NEW_NODE);
        let is_due = are_needed && !is_coming && pods.iter().any(is_old);
        let facts = UnschedulablePods {
            pods: pod_names(pods.iter().copied()),
            message,
            since,
            are_needed,
            autoscaler,
        };
        let ready = case.if_ready(among(&pods));
        let mut finding = weigh(case, facts, ready, Severity::Warning);
        if !is_due {
            finding.severity = Severity::Info;
        }
        Some(finding)
    }

    fn summary(&self, about: &About<'_>) -> String {
        format!(
            "{} {} found no node{}{}",
            first_of(&self.pods),
            one_or_many(self.pods.len(), "has", "have"),
            self.pending(about),
            about.cost_of(&self.pods)
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = vec![format!(
            "Pending{}: {}.",
            self.pending(about),
            names(&self.pods)
        )];
        let message = self.message.trim_end_matches('.');
        if !message.is_empty() {
            evidence.push(format!("The scheduler says: {message}."));
        }
        evidence.extend(self.autoscaler.as_ref().map(|it| it.sentence(about)));
        evidence.extend(about.otherwise(&about.with(&self.pods, "running")));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let refuses = self.autoscaler.as_ref().filter(|it| !it.adds);
        let lack = match (Lack::of(&self.message), refuses) {
            (Lack::Other, Some(own)) => Lack::of(&own.message),
            (lack, _) => lack,
        };
        // No node gives the pod a volume.
        let refusal = refuses.filter(|_| lack != Lack::Volume);
        let says = |words: &str| refusal.is_some_and(|it| it.message.contains(words));
        let advice = if !self.are_needed {
            Remedy::Nothing
                .says("Nothing to do: the metrics propose no more pods than those with a node.")
        } else if says("max node group size reached") {
            let lower = or_lower(about);
            Remedy::AddNodes.says(format!("Raise the maximum of the node group{lower}."))
        } else if says("in backoff after failed scale-up") {
            let lower = or_lower(about);
            Remedy::AddNodes.says(format!(
                "Find out why the cluster autoscaler's scale-up failed{lower}."
            ))
        } else if refusal.is_some() && lack == Lack::Room {
            Remedy::AddNodes.says(
                "Add a node group that fits, or lower the requests, which raises their utilization: the cluster autoscaler adds no node.",
            )
        } else if about.finding.severity == Severity::Info && refuses.is_none() {
            let lower = or_lower(about);
            Remedy::WaitForPods.waits(format!("for a node; if none comes, add nodes{lower}"))
        } else {
            add_nodes(about, lack)
        };
        advice.with_all(self.pods.first().map(|name| about.describe(name)))
    }

    fn pods(&self) -> Vec<&str> {
        names_of(&self.pods)
    }
}

impl UnschedulablePods {
    /// Describes how long they have been pending.
    fn pending(&self, about: &About<'_>) -> String {
        self.since.map_or_else(String::new, |since| {
            format!(" for {}", distance(since, about.now()))
        })
    }
}

/// The time that a cluster may take to add a node for a pending pod.
const NEW_NODE: SignedDuration = SignedDuration::from_mins(5);

/// The cluster autoscaler's report on a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Autoscaler {
    /// Whether the autoscaler adds a node for the pod.
    pub adds: bool,
    /// The autoscaler's message.
    pub message: String,
    /// The time of the autoscaler's latest report.
    pub at: Option<Timestamp>,
}

impl Autoscaler {
    /// Describes the autoscaler's report.
    fn sentence(&self, about: &About<'_>) -> String {
        let at = self
            .at
            .map_or_else(String::new, |at| format!(" at {}", time(about.now(), at)));
        let message = self.message.trim_end_matches('.');
        format!("The cluster autoscaler says{at}: {message}.")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;

    use crate::findings::pods::testing::{of_job, unmeasured, with_pods};
    use crate::findings::testing::{
        cpu, found, owned_by_keda, said, state, table, with, with_hpa, with_spec, with_state,
    };

    /// More replicas or a shorter window are no remedy for pods that do not run.
    #[test]
    fn what_pods_that_do_not_run_bring_about_follows_them() {
        let follows = |items: &[Value], code: Code| {
            let all = found(items);
            let it = all.iter().find(|it| it.code() == code);
            let prior = it.unwrap_or_else(|| panic!("{all:?}")).follows;
            (prior, all.first().map(Finding::code))
        };
        // 3 of 6 pods at 60 % of 50 % propose 4, and 6 pods would propose 8.
        let short = json!({"recommendations": [{"replicas": 6, "time": "2026-11-21T05:58:00Z"}]});
        let half = state(&[cpu()], &["60m"; 3]);
        let half = with_state(
            &with(&half, "Scale", &json!({"spec": {"replicas": 6}})),
            &short,
        );
        let scaled =
            json!({"status": {"lastScaleTime": "2026-11-21T05:40:00Z", "currentReplicas": 6}});
        let half = with_hpa(&half, &scaled);
        let cause = Some(Code::ReplicasWithoutPods);
        assert_eq!(follows(&half, Code::HeldByWindow), (cause, cause));
        let idle = with_state(&state(&[cpu()], &["20m"; 6]), &short);
        assert_eq!(
            follows(&idle, Code::HeldByWindow),
            (None, Some(Code::HeldByWindow))
        );
        // 4 of 5 pods run at 90 % of 50 %, at the maximum.
        let most = |items: &[Value]| with_spec(items, &json!({"maxReplicas": 5}));
        let full = most(&state(&[cpu()], &["90m"; 5]));
        assert_eq!(follows(&full, Code::AtMax), (None, Some(Code::AtMax)));
        let pending = json!({
            "metadata": {"creationTimestamp": "2026-11-21T05:45:00Z"},
            "status": {"phase": "Pending", "startTime": null, "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "message": "0/3 nodes are available"}]},
        });
        let waiting = with_pods(&unmeasured(full, "web-4"), &["web-4"], &pending);
        let cause = Some(Code::UnschedulablePods);
        assert_eq!(follows(&waiting, Code::AtMax), (cause, cause));
    }

    #[test]
    fn unschedulable_pods() {
        let items = unmeasured(state(&[cpu()], &["80m", "80m", "80m"]), "web-2");
        let pending = |created: &str, reason: &str| {
            let pod = json!({
                "metadata": {"creationTimestamp": created},
                "status": {"phase": "Pending", "startTime": null, "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": reason,
                        "message": "0/3 nodes are available"}]},
            });
            with_pods(&items, &["web-2"], &pod)
        };
        let (late, early) = ("2026-11-21T05:59:00Z", "2026-11-21T05:45:00Z");
        let conflict = json!({"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "0/3 nodes are available: 3 node(s) had volume node affinity conflict."}]}});
        let states = [
            ("run", items.clone()),
            ("wait", pending(early, "Unschedulable")),
            (
                "wait with a volume",
                with_pods(&pending(early, "Unschedulable"), &["web-2"], &conflict),
            ),
            ("have waited briefly", pending(late, "Unschedulable")),
            ("are gated", pending(early, "SchedulingGated")),
            (
                "wait, of a Job",
                of_job(&pending(early, "Unschedulable"), "web-2"),
            ),
            (
                "wait, of KEDA",
                owned_by_keda(&pending(early, "Unschedulable")),
            ),
        ];
        insta::assert_snapshot!(table(Code::UnschedulablePods, states), @r"
        run: none
        wait: warning, explains, without it 5 -> 5
            web-2 has found no node for 15m: 3 replicas instead of ~5
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available.
            - With it running, and as busy as the others on average: 5 replicas.
            > Add nodes, or lower maxReplicas.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        wait with a volume: warning, explains, without it 5 -> 5
            web-2 has found no node for 15m: 3 replicas instead of ~5
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available: 3 node(s) had volume node affinity conflict.
            - With it running, and as busy as the others on average: 5 replicas.
            > Add nodes where its volume is, or lower maxReplicas.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        have waited briefly: info, explains, without it 5 -> 5
            web-2 has found no node for 60s
            - Pending for 60s: web-2.
            - The scheduler says: 0/3 nodes are available.
            - With it running, and as busy as the others on average: 5 replicas.
            > Wait for a node; if none comes, add nodes, or lower maxReplicas.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        are gated: none
        wait, of a Job: none
        wait, of KEDA: warning, explains, without it 5 -> 5
            web-2 has found no node for 15m: 3 replicas instead of ~5
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available.
            - With it running, and as busy as the others on average: 5 replicas.
            > Add nodes, or lower maxReplicaCount of ScaledObject/web.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        ");
    }

    /// The cluster autoscaler's reports on pending pods, if the input has its events.
    #[test]
    fn what_the_cluster_autoscaler_says() {
        let pending = json!({"metadata": {"creationTimestamp": "2026-11-21T05:45:00Z"}, "status": {
            "phase": "Pending", "startTime": null, "conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]}});
        let items: Vec<Value> = state(&[cpu()], &["90m", "90m", "90m"])
            .into_iter()
            .filter(|it| it["kind"] != "PodMetrics" || it["metadata"]["name"] != "web-2")
            .map(|it| {
                if it["kind"] == "Pod" && it["metadata"]["name"] == "web-2" {
                    build::with(it, &pending)
                } else {
                    it
                }
            })
            .collect();
        let event = |reason: &str, message: &str, at: &str, pod: &str| {
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod},
                "reason": reason, "message": message, "lastTimestamp": at, "count": 3})
        };
        let with_event = |event: Value| [items.clone(), vec![event]].concat();
        let refused = |message: &str, pod: &str| {
            with_event(event(
                "NotTriggerScaleUp",
                message,
                "2026-11-21T05:59:00Z",
                pod,
            ))
        };
        let scaled_up = |at: &str| {
            let message = "pod triggered scale-up: [{pool 3->4 (max: 9)}]";
            with_event(event("TriggeredScaleUp", message, at, "web-2"))
        };
        let full = "pod didn't trigger scale-up: 2 max node group size reached";
        let unfit = "pod didn't trigger scale-up: 1 Insufficient cpu";
        let states = [
            ("has enough nodes", refused(full, "web-2")),
            ("has no such node", refused(unfit, "web-2")),
            ("adds a node", scaled_up("2026-11-21T05:58:00Z")),
            ("added no node", scaled_up("2026-11-21T05:46:00Z")),
            ("speaks of another pod", refused(full, "api-0")),
        ];
        insta::assert_snapshot!(table(Code::UnschedulablePods, states), @r"
        has enough nodes: warning, explains, without it 6 -> 6
            web-2 has found no node for 15m: 4 replicas instead of ~6
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available: 3 Insufficient cpu.
            - The cluster autoscaler says at 05:59:00Z: pod didn't trigger scale-up: 2 max node group size reached.
            - With it running, and as busy as the others on average: 6 replicas.
            > Raise the maximum of the node group, or lower maxReplicas.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        has no such node: warning, explains, without it 6 -> 6
            web-2 has found no node for 15m: 4 replicas instead of ~6
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available: 3 Insufficient cpu.
            - The cluster autoscaler says at 05:59:00Z: pod didn't trigger scale-up: 1 Insufficient cpu.
            - With it running, and as busy as the others on average: 6 replicas.
            > Add a node group that fits, or lower the requests, which raises their utilization: the cluster autoscaler adds no node.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        adds a node: info, explains, without it 6 -> 6
            web-2 has found no node for 15m: 4 replicas instead of ~6
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available: 3 Insufficient cpu.
            - The cluster autoscaler says at 05:58:00Z: pod triggered scale-up: [{pool 3->4 (max: 9)}].
            - With it running, and as busy as the others on average: 6 replicas.
            > Wait for a node; if none comes, add nodes, or lower maxReplicas.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        added no node: warning, explains, without it 6 -> 6
            web-2 has found no node for 15m: 4 replicas instead of ~6
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available: 3 Insufficient cpu.
            - The cluster autoscaler says at 05:46:00Z: pod triggered scale-up: [{pool 3->4 (max: 9)}].
            - With it running, and as busy as the others on average: 6 replicas.
            > Add nodes, or lower maxReplicas.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        speaks of another pod: warning, explains, without it 6 -> 6
            web-2 has found no node for 15m: 4 replicas instead of ~6
            - Pending for 15m: web-2.
            - The scheduler says: 0/3 nodes are available: 3 Insufficient cpu.
            - With it running, and as busy as the others on average: 6 replicas.
            > Add nodes, or lower maxReplicas.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        ");
    }

    /// What keeps the cluster autoscaler from a node is the remedy only if a node would help.
    #[test]
    fn what_the_autoscaler_refuses_and_the_pod_lacks() {
        let advice_since = |created: &str, scheduler: &str, autoscaler: &str| {
            let pending = json!({"metadata": {"creationTimestamp": created}, "status": {
                "phase": "Pending", "startTime": null, "conditions": [{"type": "PodScheduled",
                    "status": "False", "reason": "Unschedulable", "message": scheduler}]}});
            let items = unmeasured(state(&[cpu()], &["90m"; 3]), "web-2");
            let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web-2"},
                "reason": "NotTriggerScaleUp", "lastTimestamp": "2026-11-21T05:59:00Z",
                "message": format!("pod didn't trigger scale-up: 2 {autoscaler}")});
            let all = [with_pods(&items, &["web-2"], &pending), vec![event]].concat();
            said(Code::UnschedulablePods, &all).advice.text()
        };
        let advice = |scheduler: &str, autoscaler: &str| {
            advice_since("2026-11-21T05:45:00Z", scheduler, autoscaler)
        };
        let (room, full) = ("3 Insufficient cpu", "max node group size reached");
        let (taint, backoff) = (
            "node(s) had untolerated taint {gpu: true}",
            "in backoff after failed scale-up",
        );
        let elsewhere = "node(s) had volume node affinity conflict";
        let unbound = "pod has unbound immediate PersistentVolumeClaims";
        let fits = "Add a node group that fits, or lower the requests, which raises their utilization: the cluster \
                    autoscaler adds no node.";
        let raise = "Raise the maximum of the node group, or lower maxReplicas.";
        let failed = "Find out why the cluster autoscaler's scale-up failed, or lower maxReplicas.";
        let no_volume = "Find out why the pod has no volume: no further node gives it one.";
        for (scheduler, autoscaler, want) in [
            (room, "Insufficient cpu", fits),
            (room, taint, fits),
            (room, full, raise),
            (room, backoff, failed),
            (elsewhere, backoff, failed),
            (
                elsewhere,
                elsewhere,
                "Add nodes where its volume is, or lower maxReplicas.",
            ),
            (
                taint,
                taint,
                "Add nodes on which the pod may run, or lower maxReplicas.",
            ),
            (unbound, unbound, no_volume),
            (unbound, full, no_volume),
            (unbound, backoff, no_volume),
            // What the scheduler does not say, the autoscaler may.
            ("node(s) were unschedulable", "Insufficient cpu", fits),
        ] {
            assert_eq!(
                advice(scheduler, autoscaler),
                want,
                "{scheduler}, {autoscaler}"
            );
        }
        // A young pod does not wait for a node that the autoscaler has just refused.
        let young = advice_since("2026-11-21T05:58:00Z", taint, taint);
        assert_eq!(young, advice(taint, taint));
    }

    /// The remedy follows the scheduler's message, and the bounds that keep the replicas.
    #[test]
    fn what_the_scheduler_and_the_bounds_leave() {
        let advice = |message: &str, bounds: &Value, queue: &str| {
            let pending = json!({"metadata": {"creationTimestamp": "2026-11-21T05:45:00Z"}, "status": {
                "phase": "Pending", "startTime": null, "conditions": [{"type": "PodScheduled",
                    "status": "False", "reason": "Unschedulable", "message": message}]}});
            let metric = build::external("queue", &build::average("10"));
            let mut items = state(&[metric], &["1m"; 5]);
            items.push(build::queue(&[queue]));
            let bounded = with_spec(&items, bounds);
            let states = [(
                "",
                with_pods(&bounded, &["web-2", "web-3", "web-4"], &pending),
            )];
            let told = table(Code::UnschedulablePods, states);
            let mut lines = told.lines();
            lines.find_map(|line| line.trim().strip_prefix("> ").map(str::to_owned))
        };
        let full = "3 Insufficient cpu";
        let partly = "1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector";
        for (message, min, queue, want) in [
            (full, 1, "90", "Add nodes, or lower maxReplicas."),
            (
                full,
                5,
                "90",
                "Add nodes, or lower minReplicas and maxReplicas.",
            ),
            (full, 5, "40", "Add nodes, or lower minReplicas."),
            // Two have a node.
            (full, 5, "10", "Add nodes, or lower minReplicas."),
            (full, 3, "10", "Add nodes, or lower minReplicas."),
            (
                full,
                2,
                "10",
                "Nothing to do: the metrics propose no more pods than those with a node.",
            ),
            (partly, 1, "90", "Add nodes, or lower maxReplicas."),
            (
                "3 node(s) didn't match Pod's node affinity/selector",
                1,
                "90",
                "Add nodes on which the pod may run, or lower maxReplicas.",
            ),
            (
                "3 node(s) had untolerated taint {gpu: true}",
                1,
                "90",
                "Add nodes on which the pod may run, or lower maxReplicas.",
            ),
            (
                "3 node(s) had volume node affinity conflict",
                1,
                "90",
                "Add nodes where its volume is, or lower maxReplicas.",
            ),
            (
                "persistentvolumeclaim \"data\" not found",
                1,
                "90",
                "Find out why the pod has no volume: no further node gives it one.",
            ),
            (
                "pod has unbound immediate PersistentVolumeClaims",
                1,
                "90",
                "Find out why the pod has no volume: no further node gives it one.",
            ),
        ] {
            assert_eq!(
                advice(message, &json!({"minReplicas": min}), queue).as_deref(),
                Some(want),
                "{message}"
            );
        }
        // Only the maximum removes pods.
        let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
        let want = Some("Add nodes, or lower maxReplicas.");
        assert_eq!(advice(full, &disabled, "10").as_deref(), want);
    }
}
