//! The pass that is looked at, with the questions that several findings ask.

use jiff::Timestamp;

use super::Alternative;
use crate::apimachinery::metadata::OwnerReference;
use crate::apiserver::default::AdmissionRules;
use crate::engine;
use crate::engine::decision::{Decision, MetricStep};
use crate::engine::rules::Rules;
use crate::outlook::Upcoming;
use crate::pass::Pass;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::{Surroundings, Workload};
use crate::snapshot::{MetricAnswer, Scale, Snapshot};

/// A pass that is looked at.
pub(crate) struct Case<'p> {
    pub(crate) pass: &'p Pass,
}

/// What follows a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// The time of the first pass that may change something.
    pub earliest: Timestamp,
    /// The first change of the likeliest course.
    pub likely: Option<Upcoming>,
}

/// Who owns a pod, with the owners followed to the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Top<'p> {
    /// The target of the HPA.
    Target,
    /// Another object.
    Other(&'p OwnerReference),
    /// No object.
    NoOne,
    /// An owner was not read, so that the way to the top is not known.
    Unknown,
}

impl<'p> Case<'p> {
    pub(crate) fn new(pass: &'p Pass) -> Self {
        Self { pass }
    }

    pub(crate) fn snapshot(&self) -> &'p Snapshot {
        &self.pass.input.snapshot
    }

    pub(crate) fn decision(&self) -> &'p Decision {
        &self.pass.decision
    }

    pub(crate) fn surroundings(&self) -> &'p Surroundings {
        &self.pass.input.surroundings
    }

    pub(crate) fn scale(&self) -> Option<&'p Scale> {
        self.snapshot().scale.as_ref().ok()
    }

    pub(crate) fn target(&self) -> &'p CrossVersionObjectReference {
        &self.snapshot().hpa.spec.scale_target_ref
    }

    /// The target itself, if it was read.
    pub(crate) fn workload(&self) -> Option<&'p Workload> {
        self.surroundings().workload(self.target())
    }

    /// The metrics that were evaluated.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &'p MetricStep> {
        self.decision().metrics()
    }

    /// The pods that the selector of the target matches.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &'p Pod> {
        let scale = self.scale();
        let matches = move |pod: &&Pod| scale.is_some_and(|it| it.selector.matches(&pod.labels));
        self.snapshot().pods.iter().filter(matches)
    }

    /// Who owns a pod. A ReplicaSet that was not read belongs to the Deployment that its name and the
    /// pod's `pod-template-hash` tell.
    pub(crate) fn top_owner(&self, pod: &'p Pod) -> Top<'p> {
        let Some(mut owner) = pod.owner.as_deref() else { return Top::NoOne };
        let target = self.target();
        let is_target = |kind: &str, name: &str| kind == target.kind && name == target.name;
        // Owners that own each other would be followed for ever.
        for _ in 0..8 {
            if is_target(&owner.kind, &owner.name) {
                return Top::Target;
            }
            match self.surroundings().owner(owner) {
                Some(workload) => match workload.metadata.controller() {
                    Some(next) => owner = next,
                    None => return Top::Other(owner),
                },
                None if owner.kind == "ReplicaSet" => {
                    let hash = pod.labels.get("pod-template-hash").unwrap_or_default();
                    let suffix = format!("-{hash}");
                    let deployment = owner.name.strip_suffix(&suffix).filter(|_| !hash.is_empty());
                    return match deployment {
                        Some(name) if is_target("Deployment", name) => Top::Target,
                        _ => Top::Unknown,
                    };
                }
                None if matches!(&*owner.kind, "Job" | "StatefulSet" | "DaemonSet") => {
                    return Top::Other(owner);
                }
                None => return Top::Unknown,
            }
        }
        Top::Unknown
    }

    /// What a metric proposes on a changed snapshot.
    pub(crate) fn proposal_of(
        &self,
        metric: usize,
        change: impl FnOnce(&mut Snapshot),
    ) -> Option<i32> {
        let decision = self.decide(change);
        decision.metric(metric)?.proposal().map(|proposal| proposal.replicas)
    }

    /// Whether the version and its gates have the field `tolerance`.
    pub(crate) fn has_tolerance_field(&self) -> bool {
        let controller = &self.snapshot().controller;
        AdmissionRules::new(&controller.version, controller.gates).tolerance
    }

    /// What follows the pass, if the metrics keep proposing the same.
    pub(crate) fn next(&self) -> Option<Next> {
        let after = self.decision().replicas_after()?;
        let upcoming = &self.pass.outlook.upcoming;
        let stays = |it: &&Upcoming| [it.replicas, it.range.min, it.range.max] == [after; 3];
        let earliest = upcoming.iter().find(|it| !stays(it))?.time;
        let likely = upcoming.iter().find(|it| it.replicas != after).copied();
        Some(Next { earliest, likely })
    }

    /// What the pass would come to if no recommendation held it.
    pub(crate) fn without_history(&self) -> Alternative {
        let forgotten = self.pass.remembered.clone().without_recommendations();
        Alternative::of(&engine::reconcile(self.snapshot(), &forgotten.likely))
    }

    /// What this pass comes to.
    pub(crate) fn answer(&self) -> Alternative {
        Alternative::of(self.decision())
    }

    /// The rules of the controller's version.
    pub(crate) fn rules(&self) -> Rules {
        let controller = &self.snapshot().controller;
        Rules::of(&controller.version, controller.gates_in(&controller.version))
    }

    /// The pass on a changed snapshot, with the same history.
    pub(crate) fn decide(&self, change: impl FnOnce(&mut Snapshot)) -> Decision {
        let mut snapshot = self.snapshot().clone();
        change(&mut snapshot);
        engine::reconcile(&snapshot, &self.pass.remembered.likely)
    }

    /// What the pass would come to on a changed snapshot, with the same history.
    pub(crate) fn without(&self, change: impl FnOnce(&mut Snapshot)) -> Alternative {
        Alternative::of(&self.decide(change))
    }

    /// What it would come to without some pods, whose metrics go with them.
    pub(crate) fn without_pods(&self, goes: impl Fn(&Pod) -> bool) -> Alternative {
        self.without(|snapshot| {
            let gone: Vec<Box<str>> =
                snapshot.pods.iter().filter(|pod| goes(pod)).map(|pod| pod.name.clone()).collect();
            let stays = |name: &str| !gone.iter().any(|gone| **gone == *name);
            snapshot.pods.retain(|pod| stays(&pod.name));
            snapshot.pod_metrics.retain(|metrics| stays(&metrics.name));
            for answer in &mut snapshot.metrics {
                if let MetricAnswer::Pods(values) = answer {
                    values.retain(|value| stays(&value.pod));
                }
            }
        })
    }
}

impl Alternative {
    pub(super) fn of(decision: &Decision) -> Self {
        Self { proposal: decision.proposal, replicas: decision.replicas_after() }
    }
}
