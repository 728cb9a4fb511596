//! How the target takes its pods to another template, and what keeps them from it.

use serde_json::json;

use super::About;
use crate::apimachinery::managed_fields::{SpecField, last_writer};
use crate::apimachinery::tool::Tool;
use crate::findings::advice::Advice;
use crate::findings::command::{Command, Edited};
use crate::findings::remedy::Remedy;
use crate::snapshot::Snapshot;
use crate::snapshot::surroundings::{Replacement, Workload};
use crate::words::sentence;

/// What keeps pods of a target at an earlier template until someone acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The target replaces pods only once they are deleted, for this reason.
    ByHand(&'static str),
    /// The target is paused.
    Paused,
    /// A partition is above some of them.
    Partition {
        /// The partition.
        stated: i32,
        /// The highest one that is above none of them.
        enough: i32,
    },
}

impl Held {
    /// Returns what keeps some of these pods of a target. Only a partition depends on their names.
    pub(crate) fn of(
        snapshot: &Snapshot,
        target: Option<&Workload>,
        pods: &[&str],
    ) -> Option<Self> {
        // What owns a target replaces that with its pods.
        let owner = target.and_then(|it| it.metadata.controller());
        match Replacement::of(&snapshot.hpa.spec.scale_target_ref, target.into_iter()) {
            Replacement::OnDelete | Replacement::ByKind if owner.is_some() => None,
            Replacement::OnDelete => Some(Self::ByHand("the update strategy is OnDelete")),
            Replacement::ByKind => Some(Self::ByHand("the target does not replace them")),
            Replacement::Paused => Some(Self::Paused),
            Replacement::AllBut {
                partition: stated,
                ordinals,
            } => {
                let set = &snapshot.hpa.spec.scale_target_ref.name;
                let places = pods.iter().filter_map(|pod| ordinals.place(set, pod));
                let enough = i32::try_from(places.min()?).ok()?;
                (enough < stated).then_some(Self::Partition { stated, enough })
            }
            _ => None,
        }
    }
}

impl About<'_> {
    /// Whether the target is paused, so that a rollout waits for someone to resume it.
    pub(crate) fn is_paused(&self) -> bool {
        self.workload().is_some_and(|it| it.paused == Some(true))
    }

    /// Returns a command that resumes a paused target, if kubectl can.
    pub(crate) fn resume(&self) -> Option<Command> {
        let target = &self.hpa.spec.scale_target_ref;
        let known = self.workload().filter(|_| target.is_kind("Deployment"))?;
        let command = self.kubectl_quoted("rollout resume", &self.target(), "");
        let writer = last_writer(&known.metadata.managed_fields, SpecField::Paused);
        let is_of_tool = writer.is_some_and(|it| Tool::of_manager(&it.manager).is_some());
        Some(if is_of_tool || known.metadata.controller().is_some() {
            command.editing(Edited::Template)
        } else {
            command
        })
    }

    /// Returns how the target replaces pods of an earlier revision.
    fn replacement(&self) -> Replacement {
        let target = &self.hpa.spec.scale_target_ref;
        Replacement::of(target, self.workload().into_iter())
    }

    /// Returns what keeps some of these pods at an earlier template.
    fn held(&self, pods: &[&str]) -> Option<Held> {
        Held::of(self.snapshot, self.workload(), pods)
    }

    /// Returns why the target does not replace its pods when their template changes, if they have to be deleted.
    pub(crate) fn replaced_by_hand(&self) -> Option<&'static str> {
        match self.held(&[])? {
            Held::ByHand(why) => Some(why),
            Held::Paused | Held::Partition { .. } => None,
        }
    }

    /// Returns a sentence on what has to follow a change of the template until all pods have it, if no rollout does
    /// that; `first` begins the sentence.
    pub(crate) fn after_template(&self, first: &str) -> Option<String> {
        let mut pods = Vec::from_iter(self.finding.pods());
        if pods.is_empty() {
            pods = self.target_pods();
        }
        Some(match self.held(&pods)? {
            Held::ByHand(why) => format!("{first} delete the pods one by one: {why}."),
            Held::Paused => format!("{first} resume {}: it is paused.", self.reference()),
            Held::Partition { stated, enough } => {
                format!("{first} lower partition ({stated}) to {enough} in the update strategy.")
            }
        })
    }

    /// Whether a partition keeps some pods of the target as they are when its template changes.
    pub(crate) fn leaves_pods(&self) -> bool {
        matches!(self.held(&self.target_pods()), Some(Held::Partition { .. }))
    }

    /// Returns the names of the target's pods.
    pub(crate) fn target_pods(&self) -> Vec<&str> {
        let pods = self.snapshot.target_pods();
        pods.map(|pod| &*pod.name).collect()
    }

    /// Returns the advice to wait until these pods' rollout ends, with the reason, or to do something else. If the
    /// rollout leaves some of them alone, someone has to replace them.
    pub(crate) fn after_rollout(&self, pods: &[&str], because: &str, or: Option<&str>) -> Advice {
        match (self.held(pods), self.replacement().promotion()) {
            (Some(Held::ByHand(why)), _) => Remedy::DeleteEarlier
                .says(format!("Delete the pods of the earlier revision: {why}.")),
            (Some(Held::Paused), _) => {
                Remedy::Resume.says(format!("Resume {}{because}.", self.reference()))
            }
            (Some(Held::Partition { stated, enough }), _) => Remedy::LowerPartition.says(format!(
                "Lower partition ({stated}) to {enough} in the update strategy{because}."
            )),
            (None, Some(pauses)) => Remedy::Promote.says(format!(
                "If the rollout pauses, promote it once its new pods are ready{because}{}. {}.",
                or.map_or_else(String::new, |or| format!(", or {or}")),
                sentence(&pauses)
            )),
            (None, None) => Remedy::WaitForRollout
                .waits(format!("for the rollout to end{because}"))
                .or(or.unwrap_or_default()),
        }
    }

    /// Returns a command that shows the progress of these pods' rollout, if kubectl knows rollouts of the kind,
    /// or which pods are left if they are replaced by hand, or one that includes them in the rollout.
    pub(crate) fn rollout_status(&self, pods: &[&str]) -> Option<Command> {
        let target = &self.hpa.spec.scale_target_ref;
        let is_known = target.is_kind("Deployment") || target.is_kind("StatefulSet");
        match self.held(pods) {
            // A target with a partition has its own template, so that this patches its update strategy.
            Some(Held::Partition { enough, .. }) => {
                let patch =
                    json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": enough}}}});
                Some(self.patch_template("merge", &patch))
            }
            _ if !is_known => None,
            _ if self.replacement() == Replacement::OnDelete => {
                self.list_pods("-L controller-revision-hash")
            }
            _ => Some(self.kubectl_quoted("rollout status", &self.target(), "--watch=false")),
        }
    }
}
