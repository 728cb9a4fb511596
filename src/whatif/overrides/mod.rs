//! Replaces observed values with assumed ones. A snapshot goes in, and the snapshot of a different cluster
//! comes out; the engine decides what follows from it. The HPA changes first, then the requests of the pods,
//! then the pods, then their metric values.

mod candidate;
mod containers;
mod dial;
mod difference;
mod metric;
mod named;
mod patch;
mod pods;
mod repeated;
mod requests;
mod samples;
mod spec;
mod supposed;
mod template;
mod typed;
mod values;

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

pub use candidate::Candidate;
pub use dial::Dial;
pub(super) use difference::same_metric;
use difference::source_of;
pub use metric::set_metric;
pub(super) use metric::{alone, begin_traced, probe, set_traced};
pub use named::{Meant, NamedMetric, OtherRun};
pub(crate) use pods::{complete, make_ready, make_unready, remove_pods};
pub(super) use pods::{is_ready, newest};
pub(crate) use repeated::repeat_assumed;
pub(super) use samples::failure;
pub use spec::MANIFEST;
pub use supposed::{KnownValues, suppose_pods};
pub use template::TEMPLATE;
pub(crate) use template::{drop_known, matters};
pub use typed::Assumptions;
pub(super) use values::Values;

use super::value::AssumedValue;
use crate::apimachinery::quantity::Quantity;
use crate::engine;
use crate::engine::decision::Decision;
use crate::error::Error;
use crate::numbers;
use crate::snapshot::Snapshot;
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::input::Input;
use crate::snapshot::note::Subject;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{Ordinals, Replacement};
use pods::known_selector;
use samples::samples;

/// One difference from the observed state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Override {
    /// The item that is overridden.
    pub item: String,
    /// The assumed value.
    pub assumed: String,
    /// The resulting metric value as the status would show it; `None` if it equals `assumed`.
    pub result: Option<Reported>,
    /// The observed value; `None` if there was none.
    pub observed: Option<Reported>,
    /// Whether something could have been observed; false for something that happens only in the assumption.
    #[serde(skip)]
    pub is_observable: bool,
    /// The metric or container whose value is typed.
    #[serde(skip)]
    typed: Option<TypedValue>,
    /// The pods that the override applies to, if it names single pods.
    #[serde(skip)]
    pub pods: Vec<Box<str>>,
}

/// A value that was typed for a metric.
#[derive(Debug, Clone, PartialEq)]
struct TypedValue {
    meant: Meant,
    text: String,
}

/// An observed value, or the result of an assumption. It is serialized exactly as it is displayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    /// An amount of a metric.
    Amount(Quantity),
    /// Anything else.
    Text(String),
}

impl Reported {
    /// Returns the value in readable form.
    pub fn plain(&self) -> String {
        match self {
            Self::Amount(amount) => numbers::quantity(amount),
            Self::Text(text) => text.clone(),
        }
    }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amount(amount) => amount.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Serialize for Reported {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Override {
    pub(super) fn new(
        item: impl Into<String>,
        assumed: impl Into<String>,
        observed: Option<Reported>,
    ) -> Self {
        Self {
            item: item.into(),
            assumed: assumed.into(),
            result: None,
            observed,
            is_observable: true,
            typed: None,
            pods: Vec::new(),
        }
    }

    /// Creates an override that happens only in the assumption, or replaces more than one value.
    pub(super) fn event(item: impl Into<String>, assumed: impl Into<String>) -> Self {
        Self {
            is_observable: false,
            ..Self::new(item, assumed, None)
        }
    }

    /// Returns the observed value in readable form; `None` for something that happens only in the assumption.
    pub fn observed(&self) -> Option<String> {
        match &self.observed {
            Some(observed) => Some(observed.plain()),
            None => self.is_observable.then(|| "none".to_owned()),
        }
    }

    /// Marks it as an override of a metric, for which this text was given.
    pub(super) fn of_metric(self, meant: &Meant, text: &str) -> Self {
        let typed = TypedValue {
            meant: meant.clone(),
            text: text.to_owned(),
        };
        Self {
            typed: Some(typed),
            ..self
        }
    }

    /// Whether it sets the values of a metric, or of others in the spec that are based on the same usage.
    pub(super) fn sets(&self, metric: &MetricSpec) -> bool {
        self.typed.as_ref().is_some_and(|own| {
            let typed = &own.meant.spec;
            typed.id() == metric.id() || typed.shares_usage(metric)
        })
    }

    /// Adds the result from the pass on the assumed state, or the metric's own value if the pass ignores it.
    pub fn came_to(&mut self, snapshot: &Snapshot, decision: &Decision) {
        let Some(TypedValue { meant, text }) = &self.typed else {
            return;
        };
        let place = meant.first();
        let result = if !meant.is_part && decision.metric(place).is_some() {
            current(decision, place)
        } else {
            value_alone(snapshot, place, &meant.spec)
        };
        self.result = result.filter(|reported| reported.to_string() != *text);
    }

    /// Whether the override sets the whole metric at a place in the spec.
    pub(super) fn is_of_metric(&self, place: usize) -> bool {
        let typed = self.typed.as_ref();
        typed.is_some_and(|own| own.meant.first() == place && !own.meant.is_part)
    }

    fn of_pods(self, pods: impl IntoIterator<Item = Box<str>>) -> Self {
        Self {
            pods: pods.into_iter().collect(),
            ..self
        }
    }
}

impl Assumptions {
    /// Whether metrics may lose their values for some pods.
    fn takes_values(&self) -> bool {
        let mut all = self.values.iter();
        !self.pods.states.is_empty() || all.any(|own| own.value == AssumedValue::Missing)
    }

    /// Returns the input with the assumptions, and each difference. `decision` is the decision for the input as
    /// observed.
    ///
    /// # Errors
    ///
    /// Something is assumed that this HPA and its target cannot have, or two things that exclude each
    /// other.
    pub fn apply(
        &self,
        mut input: Input,
        decision: &Decision,
    ) -> Result<(Input, Vec<Override>), Error> {
        let was = Shared::from(input.snapshot.clone());
        let target = &was.hpa.spec.scale_target_ref;
        let running = input.surroundings.workload(target).cloned();
        let mut overrides = Vec::new();
        // Pods that are added have the template that runs, until it changes.
        let replicas = self.pods.scale(&mut input, decision)?;
        let scaled = Shared::from(input.snapshot.clone());
        self.spec.apply(&mut input, &mut overrides)?;
        requests::set_typed(&mut input, &scaled.pods, &self.requests, &mut overrides)?;
        let known = [self.workload(&was.hpa), running.as_ref()];
        let replaced = Replacement::of(target, known.into_iter().flatten());
        let mut leaves_all = false;
        if let Replacement::AllBut {
            partition,
            ordinals,
        } = replaced
        {
            let left = leave(&mut input.snapshot, &scaled, partition, ordinals);
            input.surroundings.leave_behind(target, left);
            leaves_all = left == scaled.target_pods().count();
        }
        let Input {
            snapshot, notes, ..
        } = &mut input;
        let had = self.takes_values().then(|| measured(snapshot));
        overrides.extend(replicas);
        let chosen = self.pods.apply(snapshot, decision, &mut overrides)?;

        let mut values = Values::of(&was, snapshot);
        for assigned in &self.values {
            let mut runs = Cow::Borrowed(&self.runs);
            // The value of a pod that a rollout replaces cannot belong to a container of its successor.
            if self.pods_go && assigned.pod.is_some() {
                runs.to_mut()
                    .iter_mut()
                    .for_each(|it| it.containers.clear());
            }
            overrides.extend(values.set(snapshot, assigned, &runs, &chosen)?);
        }
        values.check_whole(snapshot)?;
        values.check_unread(snapshot, &chosen)?;
        values.share(snapshot);
        if let Some(had) = had {
            mark_missing(snapshot, &had, &self.runs);
        }
        let metrics = &snapshot.hpa.spec.metrics;
        // A value of whole pods also applies to the container.
        let is_given = |place: usize| values.are_of(&metrics[place]);
        let is_stated = |name: &str| !matters(metrics, name, is_given);
        drop_known(snapshot, is_stated, notes);
        let is_supposed = input.surroundings.supposed.is_some();
        let leaves_some = matches!(replaced, Replacement::AllBut { .. });
        if is_supposed {
            // No pods run that a rollout would replace, but some may be assumed that it would leave.
            input.notes.retain(|note| {
                leaves_some || !matches!(note.subject, Subject::RolloutFirst { .. })
            });
            // Nothing was observed but the contents of the manifest.
            for own in &mut overrides {
                own.is_observable &= own.observed.is_some();
            }
        }
        for note in &mut input.notes {
            if let Subject::RolloutFirst { target } = &note.subject {
                note.text = requests::rollout_first(target, replaced, leaves_all, is_supposed);
            }
        }
        input.keep_observed(&was);
        input.surroundings.keep_running(running);
        input.command_flags.assumed = self.flags();
        input.remark_anew(&was);
        Ok((input, overrides))
    }
}

/// Returns, for each metric of the spec, the pods that it has a value for.
fn measured(snapshot: &Snapshot) -> Vec<Names<Box<str>>> {
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let values = metrics.map(|(index, spec)| samples(snapshot, index, spec).into_iter());
    values
        .map(|own| own.map(|(pod, _)| pod).collect())
        .collect()
}

/// Marks each pod with the metrics that have lost their value for it. If a metric had no values, a pod that is assumed
/// to lack one is marked only if other pods have values now, or may get them from the load of a run.
fn mark_missing(snapshot: &mut Snapshot, had: &[Names<Box<str>>], runs: &[OtherRun]) {
    let has = measured(snapshot);
    let metrics = &snapshot.metrics;
    let may_follow = |place: usize| !runs.is_empty() || metrics[place].is_unread();
    let is_open = |place: usize| !has[place].is_empty() || may_follow(place);
    for pod in &mut snapshot.pods {
        let name = &pod.name;
        let is_put = |place: usize| {
            had[place].is_empty() && is_open(place) && pod.assumed_missing.contains(&place)
        };
        let lost: Vec<usize> = (0..has.len())
            .filter(|&place| had[place].contains(name) || is_put(place))
            .filter(|&place| !has[place].contains(name))
            .collect();
        if pod.assumed_missing != lost {
            pod.assumed_missing = lost;
        }
    }
}

/// Restores the pods that a StatefulSet does not replace, because they are below its partition. The pods are the same in
/// both snapshots, and in the same order. Returns their number.
fn leave(snapshot: &mut Snapshot, was: &Snapshot, partition: i32, ordinals: Ordinals) -> usize {
    let Ok(selector) = known_selector(was) else {
        return 0;
    };
    let of_target = |pod: &&Shared<Pod>| selector.matches(&pod.labels);
    let set = &was.hpa.spec.scale_target_ref.name;
    let end = u64::from(partition.unsigned_abs());
    let stays = |pod: &str| ordinals.place(set, pod).is_some_and(|own| own < end);
    let mut left = 0;
    for (pod, was) in snapshot.pods.iter_mut().zip(&was.pods) {
        if stays(&was.name) && of_target(&was) {
            pod.clone_from(was);
            left += 1;
        }
    }
    for (item, was) in snapshot.pod_metrics.iter_mut().zip(&was.pod_metrics) {
        if stays(&was.name) {
            item.clone_from(was);
        }
    }
    left
}

/// Returns each item once, in the order in which they first appear.
fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for item in all {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// Returns the value of a metric, as the status reports it.
pub(super) fn current(decision: &Decision, index: usize) -> Option<Reported> {
    let proposal = decision.metric(index)?.proposal()?;
    let current = &proposal.current;
    if let Some(percent) = current.average_utilization {
        return Some(Reported::Text(format!("{percent}%")));
    }
    let value = proposal
        .total
        .as_ref()
        .or(current.value.as_ref())
        .or(current.average_value.as_ref());
    value.cloned().map(Reported::Amount)
}

/// Returns the value of the metric at a place, or of a part of it, whatever else is in the HPA and its target: the
/// average over its pods if the metric proposes nothing.
fn value_alone(snapshot: &Snapshot, place: usize, spec: &MetricSpec) -> Option<Reported> {
    current(&alone(snapshot, place, spec.clone()), 0).or_else(|| {
        let values = samples(snapshot, place, spec);
        let sum: i128 = values.iter().map(|(_, value)| i128::from(*value)).sum();
        let average = sum.checked_div(values.len() as i128)?;
        Some(metric::reported(spec, average.try_into().ok()?))
    })
}

/// Runs a pass on a changed snapshot, for its data about the pods, which does not depend on the controller's
/// history.
pub(super) fn look(snapshot: &Snapshot) -> Decision {
    engine::reconcile(snapshot, &Default::default())
}
