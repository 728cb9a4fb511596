//! The assumed values of metrics, one flag after the other: the metric or container of each, and a check that
//! no two set the same usage.

use std::collections::BTreeSet;

use super::metric::{failure_of, reported, set_metric, set_pod, value_of};
use super::named::{Meant, OtherRun};
use super::pods::{State, matched, named};
use super::requests::has_container;
use super::samples::{change, is_running, samples};
use super::spec::KEEP_ONE;
use super::typed::Assigned;
use super::{Override, Reported, source_of, value_alone};
use crate::error::Error;
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::{MetricId, MetricSpec};
use crate::snapshot::{MetricAnswer, Snapshot};
use crate::version::FeatureGate;
use crate::whatif::unit;
use crate::whatif::value::AssumedValue;

/// The assumed values, as they are set.
pub(in crate::whatif) struct Values<'d> {
    was: &'d Snapshot,
    /// The snapshot without metrics, to copy.
    bare: Snapshot,
    /// The metrics of the snapshot without their targets.
    sources: Vec<MetricSpec>,
    /// The answers about the metrics of the changed spec, before any value is set.
    answers: Vec<MetricAnswer>,
    taken: Vec<Taken>,
    /// The places in the spec of Resource metrics for which only the usage of a container was set.
    wholes: Vec<usize>,
}

/// A metric or container whose value is set.
struct Taken {
    /// The pod, if the value of only one is set.
    pod: Option<String>,
    spec: MetricSpec,
    id: MetricId,
    /// The flag with its full text.
    flag: String,
    label: String,
    is_missing: bool,
}

impl<'d> Values<'d> {
    /// Starts with no values; `was` is the snapshot before its spec and pods changed.
    pub(in crate::whatif) fn of(was: &'d Snapshot, snapshot: &Snapshot) -> Self {
        let mut bare = was.clone();
        bare.metrics.clear();
        bare.hpa.spec.metrics.clear();
        bare.hpa.status.current_metrics = None;
        Self {
            was,
            bare,
            sources: was.hpa.spec.metrics.iter().map(source_of).collect(),
            answers: snapshot.metrics.clone(),
            taken: Vec::new(),
            wholes: Vec::new(),
        }
    }

    /// Returns the snapshot before any change, with only this metric: as the spec before had it or, if only the changed
    /// spec has it, with the answer at a place there.
    fn before(&self, spec: &MetricSpec, answer: usize) -> Snapshot {
        let mut before = self.bare.clone();
        let source = source_of(spec);
        let place = self.sources.iter().position(|own| *own == source);
        // Before 1.30, the controller looks at metrics of containers only with its gate.
        before.controller.gates[FeatureGate::HPAContainerMetrics] |= place.is_none();
        let (spec, answer) = match place {
            Some(place) => (&self.was.hpa.spec.metrics[place], &self.was.metrics[place]),
            None => (spec, &self.answers[answer]),
        };
        before.metrics.push(answer.clone());
        before.hpa.spec.metrics.push(spec.clone());
        before
    }

    /// Returns the value of a metric before any change; `answer` is the place of the answer to it.
    pub(in crate::whatif) fn observed(&self, spec: &MetricSpec, answer: usize) -> Option<Reported> {
        let before = self.before(spec, answer);
        value_alone(&before, 0, &before.hpa.spec.metrics[0])
    }

    /// Sets the value of a metric, or of a container without a ContainerResource metric, unless only other runs over
    /// the same load have it. `chosen` are the pods with an assumed state.
    pub(super) fn set(
        &mut self,
        snapshot: &mut Snapshot,
        assigned: &Assigned,
        runs: &[OtherRun],
        chosen: &[(Box<str>, State)],
    ) -> Result<Option<Override>, Error> {
        if let Some(pod) = &assigned.pod {
            named(snapshot, pod)?;
            let is_without =
                |(name, state): &&(Box<str>, State)| **name == **pod && *state != State::Unready;
            if let Some((_, state)) = chosen.iter().find(is_without) {
                return Err(Error::usage(format!(
                    "{pod} cannot both be {} and have a value",
                    state.word()
                )));
            }
        }
        let (flag, pod) = (&assigned.flag, assigned.pod.as_deref());
        let unchanged = &self.was.hpa.spec.metrics;
        let wanted = &assigned.wanted;
        let Some(meant) = wanted.find_in_run(runs, unchanged, snapshot, None, pod, flag)? else {
            return Ok(None);
        };
        let is_of_others = |container: &str| {
            let mut pods = snapshot.unended_pods().flat_map(|pod| pod.running(false));
            runs.iter().any(|it| it.containers.contains(container))
                && pods.all(|own| *own.name != *container)
        };
        if meant.spec.container().is_some_and(is_of_others) {
            return Ok(None);
        }
        let label = self.take(snapshot, assigned, &meant)?;
        let own = match &assigned.pod {
            Some(pod) => self.set_of_pod(snapshot, pod, assigned, &meant, &label)?,
            None => self.set_of_all(snapshot, assigned, &meant, &label)?,
        };
        repeat_answer(snapshot, &meant);
        Ok(Some(own))
    }

    /// Reserves a metric for this value, and returns its label.
    fn take(
        &mut self,
        snapshot: &Snapshot,
        assigned: &Assigned,
        meant: &Meant,
    ) -> Result<String, Error> {
        let metrics = &snapshot.hpa.spec.metrics;
        let spec = &meant.spec;
        let Assigned {
            pod, text, flag, ..
        } = assigned;
        let is_missing = assigned.value == AssumedValue::Missing;
        let whole = metrics[meant.first()].id();
        let mut missing = self.taken.iter().filter(|it| it.is_missing);
        if let Some(pod) = pod.as_ref().filter(|_| !is_missing)
            && let Some(other) = missing.find(|it| it.pod.is_none() && it.id == whole)
        {
            return Err(Error::usage(format!(
                "{} cannot both be missing and have a value of {pod}",
                other.label
            )));
        }
        unit::check_flag(spec, text, flag)?;
        let (id, label) = (spec.id(), spec.label(metrics));
        let of = pod.as_ref().map(|pod| format!(" of {pod}"));
        let item = format!("{label}{}", of.unwrap_or_default());
        for other in self.taken.iter().filter(|it| it.pod == *pod) {
            if other.id == id {
                let hint = match pod {
                    Some(_) => KEEP_ONE.to_owned(),
                    None => format!("keep one of {} and {flag}", other.flag),
                };
                return Err(Error::usage(format!("{item} is set twice")).hint(hint));
            }
            if other.spec.shares_usage(spec) {
                let with = &other.label;
                return Err(Error::usage(format!(
                    "{item} and {with} are based on the same usage: set only one"
                ))
                .hint(
                    "setting the usage of every container, such as --cpu app=80%, sets the usage of the pods, too",
                ));
            }
        }
        self.taken.push(Taken {
            pod: pod.clone(),
            spec: spec.clone(),
            id,
            label: label.clone(),
            flag: flag.clone(),
            is_missing,
        });
        Ok(label)
    }

    /// Sets the value of a metric for all pods.
    fn set_of_all(
        &mut self,
        snapshot: &mut Snapshot,
        assigned: &Assigned,
        meant: &Meant,
        label: &str,
    ) -> Result<Override, Error> {
        let (place, spec) = (meant.first(), &meant.spec);
        let observed = self.observed(spec, place);
        let of_container = meant.container().map(|_| place);
        if of_container.is_some() && assigned.value == AssumedValue::Missing {
            change(snapshot, place, spec, |_, _| None);
        } else {
            self.wholes.extend(of_container);
            set_metric(snapshot, place, spec, &assigned.value)?;
        }
        let own = Override::new(label, assigned.value.words(&assigned.text), observed);
        Ok(own.of_metric(meant, &assigned.text))
    }

    /// Sets the value of a metric for one pod.
    fn set_of_pod(
        &self,
        snapshot: &mut Snapshot,
        pod: &str,
        assigned: &Assigned,
        meant: &Meant,
        label: &str,
    ) -> Result<Override, Error> {
        let (place, spec) = (meant.first(), &meant.spec);
        if let Some(container) = spec.container() {
            let mut own = matched(snapshot)?;
            own.retain(|own| *own.name == *pod);
            has_container(&own, container, false, &assigned.flag)?;
        }
        let before = self.before(spec, place);
        let observed = value_of(&before, 0, &before.hpa.spec.metrics[0], pod);
        // A pod that was not measured may have an assumed value.
        let base = observed.or_else(|| value_of(snapshot, place, spec, pod));
        set_pod(snapshot, meant, pod, &assigned.value, base)?;
        let now = value_of(snapshot, place, spec, pod).map(|now| reported(spec, now));
        let observed = observed.map(|was| reported(spec, was));
        let words = assigned.value.words(&assigned.text);
        let item = Override {
            result: now.filter(|now| now.to_string() != assigned.text),
            ..Override::new(format!("{label} of {pod}"), words, observed)
        };
        Ok(item.of_pods([pod.into()]))
    }

    /// Whether a value is set for all pods of a metric, or for the whole pods whose containers it measures.
    pub(super) fn are_of(&self, spec: &MetricSpec) -> bool {
        let mut of_all = self.taken.iter().filter(|own| own.pod.is_none());
        of_all.any(|own| {
            let is_whole = own.spec.container().is_none();
            own.id == spec.id() || is_whole && own.spec.shares_usage(spec)
        })
    }

    /// Lets a metric that the input lacks use the usage that was set for other metrics: if it measures whole pods, if all
    /// pods have a single container, or if it fails whatever they use.
    pub(super) fn share(&self, snapshot: &mut Snapshot) {
        let Ok(pods) = matched(snapshot) else {
            return;
        };
        let is_single = pods.iter().all(|pod| pod.running(false).nth(1).is_none());
        for place in 0..snapshot.hpa.spec.metrics.len() {
            let spec = &snapshot.hpa.spec.metrics[place];
            let mut of_all = self.taken.iter().filter(|own| own.pod.is_none());
            let is_shared = of_all.any(|own| own.spec.shares_usage(spec));
            if !is_shared || !snapshot.metrics[place].is_missing() {
                continue;
            }
            let was = std::mem::replace(&mut snapshot.metrics[place], MetricAnswer::PodMetrics);
            let is_whole = is_single || spec.container().is_none();
            let is_known = is_whole || failure_of(snapshot, place, spec).is_some();
            if !is_known || samples(snapshot, place, spec).is_empty() {
                snapshot.metrics[place] = was;
            }
        }
    }

    /// Checks that a metric that was not read has a value for each running pod that is not assumed to lack one.
    ///
    /// # Errors
    ///
    /// Only some of the pods were given a value: nothing is known of the others.
    pub(super) fn check_unread(
        &self,
        snapshot: &Snapshot,
        chosen: &[(Box<str>, State)],
    ) -> Result<(), Error> {
        let metrics = &snapshot.hpa.spec.metrics;
        for (place, (spec, was)) in metrics.iter().zip(&self.answers).enumerate() {
            let is_given = matches!(
                snapshot.metrics[place],
                MetricAnswer::PodMetrics | MetricAnswer::Pods(_)
            );
            if !is_given || !matches!(was, MetricAnswer::Unread(_)) {
                continue;
            }
            let own = samples(snapshot, place, spec);
            let known: Names<&str> = own.iter().map(|(pod, _)| &**pod).collect();
            let mut running = matched(snapshot)?;
            running.retain(|pod| is_running(pod) && !self.lacks_value(&pod.name, spec, chosen));
            if let Some(pod) = running.iter().find(|pod| !known.contains(&pod.name)) {
                let (label, name) = (spec.label(metrics), &pod.name);
                return Err(
                    Error::usage(format!("{label}: the value of {name} is unknown")).hint(
                        "set the value of every pod, or assume with --missing that it has none",
                    ),
                );
            }
        }
        Ok(())
    }

    /// Whether a pod is assumed to have no value of a metric.
    fn lacks_value(&self, pod: &str, spec: &MetricSpec, chosen: &[(Box<str>, State)]) -> bool {
        let reads = |other: &MetricSpec| other.id() == spec.id() || other.shares_usage(spec);
        let mut taken = self.taken.iter();
        let mut states = chosen.iter();
        states.any(|(name, state)| **name == *pod && *state == State::Missing)
            || taken.any(|own| own.pod.as_deref() == Some(pod) && reads(&own.spec))
    }

    /// Checks that pods are measured if the usage of one of their containers was set.
    ///
    /// # Errors
    ///
    /// The usage of another container is unknown in all of them.
    pub(super) fn check_whole(&self, snapshot: &Snapshot) -> Result<(), Error> {
        for &whole in &self.wholes {
            let metrics = &snapshot.hpa.spec.metrics;
            let spec = &metrics[whole];
            if !samples(snapshot, whole, spec).is_empty() {
                continue;
            }
            let (label, name) = (spec.label(metrics), spec.name());
            let unknown: BTreeSet<&str> = snapshot
                .pod_metrics
                .iter()
                .flat_map(|pod| &pod.containers)
                .filter(|own| own.get(name).is_none())
                .map(|own| &*own.name)
                .collect();
            let names = Vec::from_iter(unknown).join(", ");
            return Err(
                Error::usage(format!("{label}: the usage of {names} is unknown"))
                    .hint("set the usage of every container, or of the pods"),
            );
        }
        Ok(())
    }
}

/// Sets a value as if no other flag did.
pub(super) fn set_alone(
    snapshot: &mut Snapshot,
    assigned: &Assigned,
    meant: &Meant,
) -> Result<(), Error> {
    match &assigned.pod {
        Some(pod) => set_pod(snapshot, meant, pod, &assigned.value, None)?,
        None => set_metric(snapshot, meant.first(), &meant.spec, &assigned.value)?,
    }
    repeat_answer(snapshot, meant);
    Ok(())
}

/// Copies the answer at the first place of a metric to its other places, as the spec may have it several times.
fn repeat_answer(snapshot: &mut Snapshot, meant: &Meant) {
    let answer = snapshot.metrics[meant.places[0]].clone();
    for place in &meant.places[1..] {
        snapshot.metrics[*place].clone_from(&answer);
    }
}
