//! The finding `unschedulable-pods`.

use jiff::{SignedDuration, Timestamp};

use super::{ADD_NODES, is_alive, objects, pod_names};
use crate::findings::about::{first_of, names};
use crate::findings::{About, Aspect, Before, Case, Finding, Kind, Rank, Remedy, Severity, Text};
use crate::snapshot::evidence::TRIGGERED;
use crate::snapshot::pod::Pod;
use crate::words::{distance, time};

/// Pods cannot be scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnschedulablePods {
    /// These pods, by name.
    pub pods: Vec<Box<str>>,
    /// The scheduler's message about the first.
    pub message: Box<str>,
    /// When the oldest was created.
    pub since: Option<Timestamp>,
    /// Whether the metrics propose more pods than have a node.
    pub are_needed: bool,
    /// What the cluster autoscaler says of one of them last.
    pub autoscaler: Option<Autoscaler>,
}

impl Kind for UnschedulablePods {
    type Hits = Option<Finding>;

    const CODE: &'static str = "unschedulable-pods";
    const WHEN: &'static str = "The scheduler finds no node for pending pods of the target.";
    const REMEDY: &'static str = "Add nodes, or lower maxReplicas.";
    const RANK: Rank = Rank::Broken;
    const IS: &'static [Aspect] = &[Aspect::NoValues, Aspect::Passes];

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let waits = |pod: &&Pod| is_alive(pod) && pod.unschedulable.is_some();
        let pods: Vec<&Pod> = case.pods().filter(waits).collect();
        let message = pods.first()?.unschedulable.clone()?;
        let ready = case.if_ready(|pod| waits(&pod));
        let since = pods.iter().filter_map(|pod| pod.created).min();
        let placed = case
            .pods()
            .filter(|pod| is_alive(pod) && pod.unschedulable.is_none())
            .count();
        let are_needed = case.decision().proposal.is_none_or(|proposal| {
            usize::try_from(proposal).is_ok_and(|proposal| proposal > placed)
        });
        let said = case.pass.input.evidence.pods.iter();
        let said = said.filter(|it| pods.iter().any(|pod| *pod.name == *it.name));
        let autoscaler = said.max_by_key(|it| it.last).map(|it| Autoscaler {
            adds: it.reason == TRIGGERED,
            message: it.message.clone(),
            at: it.last,
        });
        let is_coming = autoscaler.as_ref().is_some_and(|it| {
            it.adds
                && it
                    .at
                    .and_then(|at| case.since(at))
                    .is_some_and(|ago| ago < NEW_NODE)
        });
        let pods_of = pod_names(pods.iter().copied());
        let facts = UnschedulablePods {
            pods: pods_of,
            message,
            since,
            are_needed,
            autoscaler,
        };
        let mut finding = case.weigh(facts, ready, Severity::Warning);
        let is_late = !is_coming
            && pods
                .iter()
                .any(|pod| case.age(pod).is_some_and(|age| age >= NEW_NODE));
        if !is_late || !are_needed {
            finding.severity = Severity::Info;
        }
        Some(finding)
    }

    fn text(&self, about: &About<'_>) -> Text {
        let n = self.pods.len();
        let pods = first_of(&self.pods);
        let verb = if n == 1 { "has found" } else { "have found" };
        let since = self.since.map_or_else(String::new, |since| {
            format!(" for {}", distance(since, about.now()))
        });
        let mut evidence = vec![format!("Pending{since}: {}.", names(&self.pods))];
        let message = self.message.trim_end_matches('.');
        if !message.is_empty() {
            evidence.push(format!("The scheduler says: {message}."));
        }
        evidence.extend(self.autoscaler.as_ref().map(|it| {
            let at = it
                .at
                .map_or_else(String::new, |at| format!(" at {}", time(about.now(), at)));
            let message = it.message.trim_end_matches('.');
            format!("The cluster autoscaler says{at}: {message}.")
        }));
        evidence.extend(about.otherwise(&about.with(&self.pods, "running")));
        let refuses = self.autoscaler.as_ref().filter(|it| !it.adds);
        let is_full = refuses.is_some_and(|it| it.message.contains("max node group size reached"));
        Text {
            summary: format!("{pods} {verb} no node{since}{}", about.cost_of(&self.pods)),
            evidence,
            advice: if self.are_needed && is_full {
                Remedy::AddNodes.says("Raise the maximum of the node group, or lower maxReplicas.")
            } else if self.are_needed && refuses.is_some() {
                Remedy::AddNodes.says(
                    "Add a node group that fits, or lower the requests, which raises their utilization: the cluster autoscaler adds no node.",
                )
            } else if self.are_needed && about.finding.severity == Severity::Info {
                Remedy::WaitForPods
                    .waits("for a node; if none comes, add nodes or lower maxReplicas")
            } else if self.are_needed {
                Remedy::AddNodes.says(ADD_NODES)
            } else {
                Remedy::Nothing
                    .says("Nothing to do: the metrics propose no more pods than those with a node.")
            },
            commands: self
                .pods
                .first()
                .map(|name| about.describe(name))
                .into_iter()
                .collect(),
            objects: objects(&self.pods),
        }
    }
}

/// How long a cluster may take to add a node for a pending pod.
const NEW_NODE: SignedDuration = SignedDuration::from_mins(5);

/// What the cluster autoscaler says of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Autoscaler {
    /// Whether it adds a node for it.
    pub adds: bool,
    /// Its message.
    pub message: String,
    /// When it last said so.
    pub at: Option<Timestamp>,
}
