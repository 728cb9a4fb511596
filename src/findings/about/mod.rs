//! The context of a text about a finding: the pass, and what texts need to know about it.

mod change;
mod commands;
mod effect;
pub(crate) mod rollout;

use jiff::Timestamp;

use super::Finding;
use super::scaled_object::OwnScaledObject;
use super::wording::names;
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::names::shell_word;
use crate::engine::decision::MetricStep;
use crate::pass::Pass;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, MetricSpec, MetricTarget};
use crate::snapshot::note::Subject;
use crate::snapshot::surroundings::Workload;
use crate::words::{future, time};

/// The subject of the facts.
pub(crate) struct About<'a> {
    pub(crate) pass: &'a Pass,
    pub(crate) finding: &'a Finding,
    /// All findings about the pass.
    pub(super) found: &'a [Finding],
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) hpa: &'a Hpa,
}

impl<'a> About<'a> {
    pub(crate) fn new(pass: &'a Pass, finding: &'a Finding, found: &'a [Finding]) -> Self {
        let snapshot = &pass.input.snapshot;
        Self {
            pass,
            finding,
            found,
            snapshot,
            hpa: &snapshot.hpa,
        }
    }

    pub(crate) fn spec(&self, metric: usize) -> &'a MetricSpec {
        &self.hpa.spec.metrics[metric]
    }

    /// Returns the label of a metric of the spec.
    pub(crate) fn label(&self, metric: usize) -> String {
        self.hpa.spec.label(metric)
    }

    pub(crate) fn labels(&self, metrics: &[usize]) -> String {
        names(
            &metrics
                .iter()
                .map(|metric| self.label(*metric))
                .collect::<Vec<_>>(),
        )
    }

    /// Returns the target of a metric.
    pub(crate) fn target_of(&self, metric: usize) -> &'a MetricTarget {
        static NONE: MetricTarget = MetricTarget {
            type_: String::new(),
            value: None,
            average_value: None,
            average_utilization: None,
        };
        self.spec(metric).target().unwrap_or(&NONE)
    }

    /// Returns the HPA itself, as an object to inspect.
    pub(crate) fn own(&self) -> Vec<String> {
        vec![format!("hpa/{}", self.hpa.name)]
    }

    /// Returns the target as `Kind/name`.
    pub(crate) fn reference(&self) -> String {
        self.hpa.reference()
    }

    /// Returns the HPA and its target.
    pub(crate) fn own_and_target(&self) -> Vec<String> {
        [self.own(), vec![self.target()]].concat()
    }

    /// Returns the ScaledObject that KEDA creates the HPA from.
    pub(crate) fn owner(&self) -> Option<OwnScaledObject<'a>> {
        self.pass.input.own_scaled_object()
    }

    /// Returns the target itself, if it was read.
    pub(crate) fn workload(&self) -> Option<&'a Workload> {
        let target = &self.hpa.spec.scale_target_ref;
        self.pass.input.surroundings.workload(target)
    }

    /// Returns the object that has the template of the target's pods: the target, or the object that a Rollout
    /// refers to.
    pub(crate) fn template_holder(&self) -> &CrossVersionObjectReference {
        self.workload()
            .and_then(|it| it.template_of.as_deref())
            .unwrap_or(&self.hpa.spec.scale_target_ref)
    }

    pub(crate) fn step(&self, metric: usize) -> Option<&'a MetricStep> {
        self.pass.decision.metric(metric)
    }

    /// Returns the selector of the target, quoted for a shell.
    pub(crate) fn selector(&self) -> Option<String> {
        let scale = self.snapshot.scale.as_ref().ok()?;
        Some(shell_word(scale.selector.as_str()))
    }

    /// Whether a field of the spec is assumed, and the running HPA has another value.
    pub(crate) fn assumes(&self, field: &str) -> bool {
        let assumed = &self.hpa.spec;
        let running = &self.pass.input.as_observed().hpa.spec;
        match field {
            "minReplicas" => running.min_replicas != assumed.min_replicas,
            "maxReplicas" => running.max_replicas != assumed.max_replicas,
            "behavior" => running.behavior != assumed.behavior,
            "metrics" => running.metrics != assumed.metrics,
            _ => running.scale_target_ref != assumed.scale_target_ref,
        }
    }

    /// Whether no pod has run a container yet.
    pub(crate) fn is_new(&self, container: &str) -> bool {
        self.new_containers().any(|own| own == container)
    }

    /// Returns the containers that no pod has run yet.
    fn new_containers(&self) -> impl Iterator<Item = &'a String> {
        let notes = self.pass.input.notes.iter();
        notes.flat_map(|note| match &note.subject {
            Subject::UsageUnknown { containers } => &containers[..],
            _ => &[],
        })
    }

    /// Whether KEDA computes a metric with the formula of a ScaledObject instead of from one trigger
    /// (`CompositeMetricName`).
    pub(crate) fn is_formula(&self, metric: usize) -> bool {
        self.owner().is_some() && self.spec(metric).name() == "composite-metric"
    }

    /// Returns the time of the pass.
    pub(crate) fn now(&self) -> Timestamp {
        self.snapshot.now
    }

    /// Describes since when a condition has had its status, as text to follow the status; empty if not stated.
    pub(crate) fn since(&self, condition: &Condition) -> String {
        let since = condition.last_transition_time;
        since.map_or_else(String::new, |since| {
            format!(" since {}", time(self.now(), since))
        })
    }

    /// Describes whether a trigger of a ScaledObject is active, or when a trigger was last active.
    pub(crate) fn activity(&self, owner: OwnScaledObject<'_>) -> Option<String> {
        let object = owner.object?;
        match (object.condition("Active"), object.status.last_active_time) {
            (Some(true), _) => Some(format!("A trigger of {owner} is active.")),
            (_, Some(at)) => {
                let at = future(self.now(), at);
                Some(format!("A trigger of {owner} was last active at {at}."))
            }
            _ => None,
        }
    }
}
