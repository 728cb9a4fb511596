//! The complete input of a pass: the snapshot, the evidence of the controller's past, and their sources.
//! Nothing here does I/O.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Snapshot;
use super::basis::{Basis, ClockSource};
use super::by_name::Names;
use super::clock::ClockDoubt;
use super::command_flags::CommandFlags;
use super::controller::KnownSettings;
use super::evidence::{Counted, Evidence, Lease};
use super::hpa::{MetricId, MetricSpec};
use super::memory::Memory;
use super::note::{Note, Subject};
use super::owners::PodOwners;
use super::shared::Shared;
use super::surroundings::Surroundings;
use crate::apimachinery::managed_fields::{SpecField, last_writer};
use crate::args::{Target, Validate};
use crate::flags::Flags;
use crate::version::Version;

/// The options of the command line that add to the objects.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The HPA's name; empty if its target is stated instead, or if the HPA is the only one. A list needs neither.
    pub name: String,
    /// The HPA's target, if stated.
    pub target: Option<Target>,
    /// The HPA's namespace, if stated.
    pub namespace: Option<String>,
    /// The clock, if stated.
    pub now: Option<Timestamp>,
    /// The version, which overrides the input's.
    pub version: Option<Version>,
    /// Controller flags, which override the input's.
    pub flags: Flags,
    /// Feature gates, which override the input's.
    pub gates: BTreeMap<String, bool>,
    /// The treatment of unknown fields in manifests.
    pub validate: Validate,
    /// Further metrics to look up; their answers follow those for the HPA's metrics.
    pub also: Vec<MetricSpec>,
    /// The flags of commands to paste.
    pub command_flags: CommandFlags,
}

/// Everything that a pass needs, with its basis.
#[derive(Debug, Clone)]
pub struct Input {
    /// The values that the controller would see.
    pub snapshot: Snapshot,
    /// The snapshot as it was read, if anything else is assumed.
    pub observed: Option<Shared<Snapshot>>,
    /// Whether the HPA is assumed to be created, in place of the observed one.
    pub is_new_hpa: bool,
    /// The parts of the controller's history that the input states.
    pub stated_memory: Option<Memory>,
    /// Evidence of the controller's past, from the API.
    pub evidence: Evidence,
    /// The objects around the pass that explain its answer.
    pub surroundings: Surroundings,
    /// The controller's settings that are known rather than assumed.
    pub known: KnownSettings,
    /// The doubt about the snapshot's clock.
    pub clock_doubt: Option<ClockDoubt>,
    /// The assumptions, and the sources of everything else.
    pub basis: Vec<Basis>,
    /// The notes: about input that was read but not used, and about anything that looks wrong.
    pub notes: Vec<Note>,
    /// The flags of commands to paste.
    pub command_flags: CommandFlags,
}

impl Input {
    /// Returns the snapshot as it was read, without what is assumed.
    pub(crate) fn as_observed(&self) -> &Snapshot {
        self.observed.as_deref().unwrap_or(&self.snapshot)
    }

    /// Whether a template of the target is assumed that no pods run yet, or pods that would have to be created first.
    pub(crate) fn assumes_template(&self) -> bool {
        let is_first = |note: &Note| matches!(note.subject, Subject::RolloutFirst { .. });
        self.surroundings.running.is_some() || self.notes.iter().any(is_first)
    }

    /// Keeps the snapshot as it was read, if this one differs from it, and then drops facts about the past pass, which
    /// are known only for what was read.
    pub(crate) fn keep_observed(&mut self, was: &Shared<Snapshot>) {
        if self.observed.is_none() && self.snapshot != **was {
            self.observed = Some(was.clone());
        }
        let is_assumed = self.observed.is_some();
        if let Some(past) = self.evidence.past.as_mut().filter(|_| is_assumed) {
            (past.proposal, past.recorded, past.outcome) = (None, None, None);
            past.decided = false;
        }
    }

    /// Returns the actual replicas of the target, if other replicas are assumed.
    pub(crate) fn observed_replicas(&self) -> Option<i32> {
        let replicas = |of: &Snapshot| of.scale.as_ref().ok().map(|scale| scale.spec_replicas);
        let observed = replicas(self.as_observed());
        observed.filter(|_| observed != replicas(&self.snapshot))
    }

    /// Returns the flags of `predict` for reading the metrics that the input lacks, if one of them is only in a
    /// candidate; empty if the HPA has them all.
    pub(crate) fn flags_of_candidate(&self) -> String {
        let running = &self.as_observed().hpa.spec.metrics;
        let running: Vec<MetricId> = running.iter().map(MetricSpec::id).collect();
        let Snapshot { hpa, metrics, .. } = &self.snapshot;
        let mut lacking = hpa
            .spec
            .metrics
            .iter()
            .zip(metrics)
            .filter(|(_, it)| it.is_missing());
        if lacking.all(|(spec, _)| running.contains(&spec.id())) {
            return String::new();
        }
        self.command_flags
            .assumed
            .iter()
            .filter(|(flag, _)| *flag == "--hpa" || flag.starts_with("--validate"))
            .map(|(flag, value)| format!(" {flag} {value}").trim_end().to_owned())
            .collect()
    }

    /// Marks the pods that certainly do not belong to the target.
    pub(crate) fn mark_foreign_pods(&mut self) {
        let owners = PodOwners::of(&self.snapshot, &self.surroundings);
        let foreign: Names<Box<str>> = owners.foreign().map(|pod| pod.name.clone()).collect();
        if foreign.is_empty() {
            return;
        }
        for pod in &mut self.snapshot.pods {
            if foreign.contains(&pod.name) {
                pod.is_foreign = true;
            }
        }
    }

    /// Sets the target's past replica count, once its pods are known.
    pub(crate) fn count(&mut self, counted: Option<Counted>) {
        let alike = self.snapshot.has_pods_alike();
        self.evidence.counted = counted.map(|counted| Counted { alike, ..counted });
    }

    /// Whether the time at which everything was read is known.
    pub fn knows_time(&self) -> bool {
        !self.basis.iter().any(|basis| {
            matches!(
                basis,
                Basis::Clock {
                    source: ClockSource::System,
                    ..
                }
            )
        })
    }

    /// Whether a time is known to be several sync periods ago.
    pub(crate) fn is_several_passes_ago(&self, time: Timestamp) -> bool {
        /// The number of passes that a running controller has made by then, unless it is slow.
        const SEVERAL: i32 = 4;
        let sync_period = self.snapshot.controller.sync_period;
        let several = sync_period.saturating_mul(SEVERAL);
        self.knows_time() && self.snapshot.now.duration_since(time) >= several
    }

    /// Whether several passes should have written the status since a change, but did not.
    pub(crate) fn is_unseen(&self, written: Timestamp, changed: Timestamp) -> bool {
        changed.as_second() > written.as_second() && self.is_several_passes_ago(changed)
    }

    /// Returns when the target got its replicas, if each of several passes since then would have written them into
    /// the status.
    pub(crate) fn replicas_unseen_since(&self) -> Option<Timestamp> {
        let set = self.replicas_unseen()?;
        self.is_several_passes_ago(set).then_some(set)
    }

    /// Returns when the target got its replicas, if any pass since then would have written them into the status.
    pub(crate) fn replicas_unseen(&self) -> Option<Timestamp> {
        let Snapshot { hpa, scale, .. } = self.as_observed();
        let written = hpa.written.by_pass()?;
        let replicas = scale.as_ref().ok()?.spec_replicas;
        let target = self.surroundings.workload(&hpa.spec.scale_target_ref)?;
        let set = last_writer(&target.metadata.managed_fields, SpecField::Replicas)?.time?;
        let is_later = set.as_second() > written.as_second();
        (is_later && replicas != hpa.status.current_replicas).then_some(set)
    }

    /// Returns the lease of the controller manager, if its holder has certainly lost it and ended. A later sign of one
    /// of its controllers means that they have another lease, or need none.
    pub(crate) fn lapsed_lease(&self) -> Option<Lease> {
        let lease = self.evidence.lease?;
        let pods = self.as_observed().pods.iter();
        let created = pods.filter_map(|pod| pod.created_by_manager());
        let scaled = self.evidence.scaled.iter().filter_map(|event| event.last);
        let others = self.as_observed().other_hpas.iter();
        let others_written = others.filter_map(|other| other.hpa.written.by_pass());
        let last = self
            .last_sign_of_passes()
            .into_iter()
            .chain(created)
            .chain(scaled)
            .chain(others_written)
            .max();
        let has_lapsed = lease.has_lapsed(self.snapshot.now) && self.knows_time();
        (has_lapsed && last <= Some(lease.lost())).then_some(lease)
    }

    /// Returns the lease of the controller manager, if its holder has left no sign of a pass over the HPA.
    pub(crate) fn lease_without_pass(&self) -> Option<Lease> {
        let (lease, now) = (self.evidence.lease?, self.snapshot.now);
        let is_held = lease.acquired <= now && lease.is_held(now) && self.knows_time();
        (is_held && self.last_sign_of_passes() <= Some(lease.acquired)).then_some(lease)
    }

    /// Returns the time of the last sign of a pass over the HPA.
    fn last_sign_of_passes(&self) -> Option<Timestamp> {
        let Evidence { events, seen, .. } = &self.evidence;
        let hpa = &self.as_observed().hpa;
        let by_hpa = [hpa.written.status, hpa.status.last_scale_time]
            .into_iter()
            .filter(|_| !hpa.written.by_us);
        let reported = events.iter().map(|event| event.last);
        let seen = seen.iter().map(|seen| Some(seen.time));
        by_hpa.chain(reported).chain(seen).flatten().max()
    }

    /// Looks for doubts about the clock of saved objects. The time of a past pass is that of its samples, whatever else is
    /// newer; and objects may state when they were read.
    pub(crate) fn doubt_clock(&mut self, states_time: bool) {
        let is_past = self.evidence.past.is_some();
        let evidence = Some(&self.evidence).filter(|_| !states_time);
        let doubt = ClockDoubt::of(&self.snapshot, evidence, self.knows_time());
        self.clock_doubt = doubt.filter(|_| !is_past);
    }
}

impl Options {
    /// Returns the namespace of objects that do not state one.
    pub(crate) fn default_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}
