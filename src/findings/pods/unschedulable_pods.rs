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
    /// Whether the metrics, the spec or a rollout need more pods than have a node.
    pub are_needed: bool,
    /// Whether only a rollout needs them, or adds all of them before it removes others.
    pub is_rollout: bool,
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
        // A pod that waits may count as unused, and so hide that it is needed. A rollout waits for its additional pods,
        // unless scaling down makes room for them.
        let placed_alone = case.without_pods(among(&pods));
        let proposed = placed_alone.proposal.map(|proposal| proposal.max(least));
        let is_corrected = case.decision.corrects().is_some();
        let corrected = case.decision.replicas_after().filter(|_| is_corrected);
        let left = corrected.or(proposed);
        let kept = left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(0));
        let replicas = case.decision.replicas_before().unwrap_or(i32::MAX);
        let wanted = usize::try_from(replicas).unwrap_or(0);
        let surplus = (pods.len() + placed.len()).saturating_sub(wanted);
        let are_needed = kept > placed.len() || surplus > 0 && kept >= placed.len().min(wanted);
        let is_rollout = are_needed && (kept <= placed.len() || surplus >= pods.len());
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
            is_rollout,
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
        // Lower bounds would remove pods that run and are needed, for the ones that replace them.
        let lower = if self.is_rollout {
            String::new()
        } else {
            or_lower(about)
        };
        let asks = match about.pass.decision.corrects() {
            Some(_) => "the pass leaves",
            None => "the metrics propose",
        };
        let advice = if !self.are_needed {
            let says = format!("Nothing to do: {asks} no more pods than those with a node.");
            Remedy::Nothing.says(says)
        } else if says("max node group size reached") {
            Remedy::AddNodes.says(format!("Raise the maximum of the node group{lower}."))
        } else if says("in backoff after failed scale-up") {
            Remedy::AddNodes.says(format!(
                "Find out why the cluster autoscaler's scale-up failed{lower}."
            ))
        } else if refusal.is_some() && lack == Lack::Room {
            Remedy::AddNodes.says(
                "Add a node group that fits, or lower the requests, which raises their utilization: the cluster autoscaler adds no node.",
            )
        } else if about.finding.severity == Severity::Info && refuses.is_none() {
            Remedy::WaitForPods.waits(format!("for a node; if none comes, add nodes{lower}"))
        } else {
            add_nodes(&lower, lack)
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

    use crate::findings::pods::testing::{of_job, unmeasured, unscheduled, with_pods};
    use crate::findings::testing::{
        codes, cpu, event, external, only, owned_by_keda, said, state, table, with, with_hpa,
        with_pod, with_spec, with_state,
    };

    /// More replicas or a shorter window are no remedy for pods that do not run.
    #[test]
    fn what_pods_that_do_not_run_bring_about_follows_them() {
        let follows = |items: &[Value], code: Code| {
            (only(code, items).unwrap().follows, Some(codes(items)[0]))
        };
        // 3 of 6 pods at 60 % of 50 % propose 4, and 6 pods would propose 8.
        let short = json!({"recommendations": [{"replicas": 6, "time": "2026-11-21T05:58:00Z"}]});
        let half = state(&[cpu()], &["60m"; 3]);
        let half = with(&half, "Scale", &json!({"spec": {"replicas": 6}}));
        let scaled =
            json!({"status": {"lastScaleTime": "2026-11-21T05:40:00Z", "currentReplicas": 6}});
        let half = with_hpa(&with_state(&half, &short), &scaled);
        let cause = Some(Code::ReplicasWithoutPods);
        assert_eq!(follows(&half, Code::HeldByWindow), (cause, cause));
        let idle = with_state(&state(&[cpu()], &["20m"; 6]), &short);
        let held = Some(Code::HeldByWindow);
        assert_eq!(follows(&idle, Code::HeldByWindow), (None, held));
        // 4 of 5 pods run at 90 % of 50 %, at the maximum.
        let most = |items: &[Value]| with_spec(items, &json!({"maxReplicas": 5}));
        let full = most(&state(&[cpu()], &["90m"; 5]));
        assert_eq!(follows(&full, Code::AtMax), (None, Some(Code::AtMax)));
        let pending = unscheduled("2026-11-21T05:45:00Z", "0/3 nodes are available");
        let waiting = with_pod(&unmeasured(full, "web-4"), "web-4", &pending);
        let cause = Some(Code::UnschedulablePods);
        assert_eq!(follows(&waiting, Code::AtMax), (cause, cause));
    }

    #[test]
    fn unschedulable_pods() {
        let items = unmeasured(state(&[cpu()], &["80m", "80m", "80m"]), "web-2");
        let none = "0/3 nodes are available";
        let conflict = format!("{none}: 3 node(s) had volume node affinity conflict.");
        let pending = |created, message| with_pod(&items, "web-2", &unscheduled(created, message));
        let early = "2026-11-21T05:45:00Z";
        let waits = pending(early, none);
        let gate =
            json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
        let gated = with_pod(&waits, "web-2", &json!({"status": {"conditions": gate}}));
        let states = [
            ("run", items.clone()),
            ("wait", waits.clone()),
            ("wait with a volume", pending(early, &conflict)),
            ("have waited briefly", pending("2026-11-21T05:59:00Z", none)),
            ("are gated", gated),
            ("wait, of a Job", of_job(&waits, "web-2")),
            ("wait, of KEDA", owned_by_keda(&waits)),
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
        let scheduler = "0/3 nodes are available: 3 Insufficient cpu.";
        let pending = unscheduled("2026-11-21T05:45:00Z", scheduler);
        let items = unmeasured(state(&[cpu()], &["90m"; 3]), "web-2");
        let items = with_pod(&items, "web-2", &pending);
        let with_event = |reason, message, at, pod| {
            let event = event("Pod", pod, reason, message, at);
            [items.clone(), vec![event]].concat()
        };
        let refused =
            |message, pod| with_event("NotTriggerScaleUp", message, "2026-11-21T05:59:00Z", pod);
        let scaled_up = |at| {
            let message = "pod triggered scale-up: [{pool 3->4 (max: 9)}]";
            with_event("TriggeredScaleUp", message, at, "web-2")
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
            let items = unmeasured(state(&[cpu()], &["90m"; 3]), "web-2");
            let items = with_pod(&items, "web-2", &unscheduled(created, scheduler));
            let message = format!("pod didn't trigger scale-up: 2 {autoscaler}");
            let at = "2026-11-21T05:59:00Z";
            let event = event("Pod", "web-2", "NotTriggerScaleUp", &message, at);
            let all = [items, vec![event]].concat();
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
        let near = "Add nodes where its volume is, or lower maxReplicas.";
        let allowed = "Add nodes on which the pod may run, or lower maxReplicas.";
        for (scheduler, autoscaler, want) in [
            (room, "Insufficient cpu", fits),
            (room, taint, fits),
            (room, full, raise),
            (room, backoff, failed),
            (elsewhere, backoff, failed),
            (elsewhere, elsewhere, near),
            (taint, taint, allowed),
            (unbound, unbound, no_volume),
            (unbound, full, no_volume),
            (unbound, backoff, no_volume),
            // What the scheduler does not say, the autoscaler may.
            ("node(s) were unschedulable", "Insufficient cpu", fits),
        ] {
            let told = advice(scheduler, autoscaler);
            assert_eq!(told, want, "{scheduler}, {autoscaler}");
        }
        // A young pod does not wait for a node that the autoscaler has just refused.
        let young = advice_since("2026-11-21T05:58:00Z", taint, taint);
        assert_eq!(young, advice(taint, taint));
    }

    /// A pod that waits may count as unused, and so hide that the load needs it. A rollout needs its additional pods,
    /// unless fewer than the others are left.
    #[test]
    fn a_pod_that_waits_is_needed_for_the_load_or_a_rollout() {
        let nothing = "Nothing to do: the metrics propose no more pods than those with a node.";
        let add = "Add nodes, or lower maxReplicas.";
        let one = &["web-4"][..];
        // With maxUnavailable, a rollout has removed one before.
        let two = &["web-3", "web-4"][..];
        for (used, replicas, max, waiting, ready, want) in [
            ("80m", 4, 10, one, "True", "Add nodes."),
            ("80m", 4, 4, one, "True", "Add nodes."),
            ("50m", 4, 10, one, "True", "Add nodes."),
            ("50m", 4, 10, one, "False", "Add nodes."),
            ("20m", 4, 10, one, "True", nothing),
            ("80m", 5, 10, one, "True", add),
            ("40m", 5, 10, one, "True", nothing),
            ("80m", 4, 10, two, "True", add),
            ("40m", 4, 10, two, "True", "Add nodes."),
            ("20m", 4, 10, two, "True", nothing),
            // Of two additional pods, one has a node.
            ("50m", 3, 10, one, "True", "Add nodes."),
            ("20m", 3, 10, one, "True", nothing),
            (
                "80m",
                5,
                4,
                one,
                "True",
                &*nothing.replace("metrics propose", "pass leaves"),
            ),
        ] {
            let pods = state(&[cpu()], &[used; 5]);
            let pods = waiting.iter().fold(pods, |all, pod| unmeasured(all, pod));
            let scaled = with(&pods, "Scale", &json!({"spec": {"replicas": replicas}}));
            let scaled = with_spec(&scaled, &json!({ "maxReplicas": max }));
            let waits = unscheduled("2026-11-21T05:45:00Z", "3 Insufficient cpu");
            let items = with_pods(&scaled, waiting, &waits);
            // An old pod that is not ready is replaced, too.
            let old = json!({"status": {"conditions": [{"type": "Ready", "status": ready}]}});
            let items = with_pods(&items, &["web-0"], &old);
            let advice = said(Code::UnschedulablePods, &items).advice.text();
            assert_eq!(advice, want, "{used} {replicas} {max} {waiting:?} {ready}");
        }
    }

    /// The remedy follows the scheduler's message, and the bounds that keep the replicas.
    #[test]
    fn what_the_scheduler_and_the_bounds_leave() {
        let advice = |message: &str, bounds: &Value, queue: &str| {
            let pending = unscheduled("2026-11-21T05:45:00Z", message);
            let items = external("queue", &build::average("10"), queue, 5);
            let homeless = with_pods(&items, &["web-2", "web-3", "web-4"], &pending);
            let text = said(Code::UnschedulablePods, &with_spec(&homeless, bounds));
            text.advice.text()
        };
        let full = "3 Insufficient cpu";
        let partly = "1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector";
        let nodes = |which: &str, bounds: &str| format!("Add nodes{which}, or lower {bounds}.");
        let no_more = "Nothing to do: the metrics propose no more pods than those with a node.";
        for (min, queue, want) in [
            (1, "90", &*nodes("", "maxReplicas")),
            (5, "90", &nodes("", "minReplicas and maxReplicas")),
            (5, "40", &nodes("", "minReplicas")),
            // Two have a node.
            (5, "10", &nodes("", "minReplicas")),
            (3, "10", &nodes("", "minReplicas")),
            (2, "10", no_more),
        ] {
            assert_eq!(advice(full, &json!({"minReplicas": min}), queue), want);
        }
        let selector = "3 node(s) didn't match Pod's node affinity/selector";
        let taint = "3 node(s) had untolerated taint {gpu: true}";
        let volume = "3 node(s) had volume node affinity conflict";
        let lost = "persistentvolumeclaim \"data\" not found";
        let unbound = "pod has unbound immediate PersistentVolumeClaims";
        let no_volume = "Find out why the pod has no volume: no further node gives it one.";
        let allowed = nodes(" on which the pod may run", "maxReplicas");
        for (message, want) in [
            (partly, &*nodes("", "maxReplicas")),
            (selector, &allowed),
            (taint, &allowed),
            (volume, &nodes(" where its volume is", "maxReplicas")),
            (lost, no_volume),
            (unbound, no_volume),
        ] {
            let told = advice(message, &json!({"minReplicas": 1}), "90");
            assert_eq!(told, want, "{message}");
        }
        // Only the maximum removes pods.
        let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
        let want = "Add nodes, or lower maxReplicas.";
        assert_eq!(advice(full, &disabled, "10"), want);
    }
}
