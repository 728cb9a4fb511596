//! The assumed values of metrics, one flag after the other: the metric or container of each, and a check that
//! no two set the same usage.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::metric::{in_container, reported, set_metric, set_pod, value_of};
use super::pods::{State, named, of_target};
use super::requests::has_container;
use super::samples::{change, is_running, samples};
use super::spec::KEEP_ONE;
use super::typed::Assigned;
use super::{Override, Reported, look, source_of, value_alone};
use crate::engine::decision::Decision;
use crate::error::Error;
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::{MetricId, MetricSpec};
use crate::snapshot::pod::Pod;
use crate::snapshot::{MetricAnswer, Snapshot};
use crate::whatif::unit;
use crate::whatif::value::AssumedValue;

/// The assumed values, as they are set.
pub(in crate::whatif) struct Values<'d> {
    was: &'d Snapshot,
    /// The same without metrics, to copy.
    bare: Snapshot,
    /// Its metrics without their targets.
    sources: Vec<MetricSpec>,
    /// The answers about the metrics of the changed spec, before any value is set.
    answers: Vec<MetricAnswer>,
    /// The decision for the snapshot before any value is set, if it is known.
    known: Option<&'d Decision>,
    taken: Vec<Taken>,
    /// The pods with individually set values, with the metric.
    of_pods: Vec<(String, MetricSpec)>,
    /// The places in the spec of Resource metrics for which only the usage of a container was set.
    wholes: Vec<usize>,
}

/// A metric or container whose value is set.
struct Taken {
    spec: MetricSpec,
    id: MetricId,
    /// The flag with its full text.
    flag: String,
    label: String,
    is_missing: bool,
}

impl<'d> Values<'d> {
    /// Starts with no values; `was` is the snapshot before its spec and pods changed.
    pub(in crate::whatif) fn of(
        was: &'d Snapshot,
        snapshot: &Snapshot,
        known: Option<&'d Decision>,
    ) -> Self {
        let (taken, of_pods, wholes) = (Vec::new(), Vec::new(), Vec::new());
        let mut bare = was.clone();
        bare.metrics.clear();
        bare.hpa.spec.metrics.clear();
        bare.hpa.status.current_metrics = None;
        Self {
            was,
            bare,
            sources: was.hpa.spec.metrics.iter().map(source_of).collect(),
            answers: snapshot.metrics.clone(),
            known,
            taken,
            of_pods,
            wholes,
        }
    }

    /// Returns the decision for the snapshot: the known one, or one that is made here.
    fn decide(&self, snapshot: &Snapshot) -> Cow<'d, Decision> {
        self.known
            .map_or_else(|| Cow::Owned(look(snapshot)), Cow::Borrowed)
    }

    /// Returns the snapshot before any change, with one metric only: that of a changed spec, with the answer at a
    /// place there if only that spec has it.
    fn before(&self, spec: &MetricSpec, answer: usize) -> Snapshot {
        let mut before = self.bare.clone();
        let source = source_of(spec);
        let place = self.sources.iter().position(|own| *own == source);
        // Before 1.30, the controller looks at metrics of containers only with its gate.
        before.controller.gates.container_metrics |= place.is_none();
        let (spec, answer) = match place {
            Some(place) => (&self.was.hpa.spec.metrics[place], &self.was.metrics[place]),
            None => (spec, &self.answers[answer]),
        };
        before.metrics.push(answer.clone());
        before.hpa.spec.metrics.push(spec.clone());
        before
    }

    /// Returns the value before any change of the metric at a place; the answer about it is at the other place.
    pub(in crate::whatif) fn observed(
        &self,
        snapshot: &Snapshot,
        place: usize,
        answer: usize,
    ) -> Option<Reported> {
        let before = self.before(&snapshot.hpa.spec.metrics[place], answer);
        value_alone(before, 0)
    }

    /// Sets the value of a metric, or of a container without a metric of its own.
    pub(super) fn set(
        &mut self,
        snapshot: &mut Snapshot,
        assigned: &Assigned,
    ) -> Result<Override, Error> {
        at_places(
            snapshot,
            assigned,
            |_| true,
            |snapshot, [place, answer]| {
                let container = assigned.wanted.container.as_deref();
                let part = container.filter(|_| place != answer);
                let label = self.take(snapshot, assigned, place)?;
                let observed = self.observed(snapshot, place, answer);
                let spec = snapshot.hpa.spec.metrics[place].clone();
                if part.is_some() && assigned.value == AssumedValue::Missing {
                    change(snapshot, place, &spec, |_, _| None);
                } else {
                    self.wholes.extend(part.map(|_| answer));
                    let decision = self.decide(snapshot);
                    set_metric(snapshot, place, &assigned.value, &decision)?;
                }
                let own = Override::new(label, assigned.value.words(&assigned.text), observed);
                Ok(own.of_metric(spec.id(), answer, part, &assigned.text))
            },
        )
    }

    /// Reserves the metric at a place for this value, and returns its label.
    fn take(
        &mut self,
        snapshot: &Snapshot,
        assigned: &Assigned,
        place: usize,
    ) -> Result<String, Error> {
        let metrics = &snapshot.hpa.spec.metrics;
        let spec = &metrics[place];
        unit::check_flag(spec, &assigned.text, &assigned.flag)?;
        let (id, label) = (spec.id(), spec.label(metrics));
        for other in &self.taken {
            if other.id == id {
                return Err(Error::usage(format!("{label} is set twice"))
                    .hint(format!("keep one of {} and {}", other.flag, assigned.flag)));
            }
            if other.spec.shares_usage(spec) {
                return Err(same_usage(&label, &other.label));
            }
        }
        let is_missing = assigned.value == AssumedValue::Missing;
        self.taken.push(Taken {
            spec: spec.clone(),
            id,
            label: label.clone(),
            flag: assigned.flag.clone(),
            is_missing,
        });
        Ok(label)
    }

    /// Sets the value of a metric, or of a container without a metric of its own, for one pod.
    pub(super) fn set_of_pod(
        &mut self,
        snapshot: &mut Snapshot,
        pod: &str,
        assigned: &Assigned,
        chosen: &[(Box<str>, State)],
    ) -> Result<Override, Error> {
        named(snapshot, pod)?;
        let is_without =
            |(name, state): &&(Box<str>, State)| **name == *pod && *state != State::Unready;
        if let Some((_, state)) = chosen.iter().find(is_without) {
            return Err(Error::usage(format!(
                "{pod} cannot both be {} and have a value",
                state.word()
            )));
        }
        let is_meant = |own: &Pod| *own.name == *pod;
        at_places(snapshot, assigned, is_meant, |snapshot, places| {
            self.check_not_missing(snapshot, places[1], pod, assigned)?;
            self.set_pod_at(snapshot, pod, assigned, places)
        })
    }

    fn check_not_missing(
        &self,
        snapshot: &Snapshot,
        place: usize,
        pod: &str,
        assigned: &Assigned,
    ) -> Result<(), Error> {
        let id = snapshot.hpa.spec.metrics[place].id();
        let missing = self.taken.iter().find(|it| it.is_missing && it.id == id);
        if let Some(Taken { label, .. }) =
            missing.filter(|_| assigned.value != AssumedValue::Missing)
        {
            return Err(Error::usage(format!(
                "{label} cannot both be missing and have a value of {pod}"
            )));
        }
        Ok(())
    }

    /// Sets the value of the metric at a place for one pod; the answer about it is at the other place.
    fn set_pod_at(
        &mut self,
        snapshot: &mut Snapshot,
        pod: &str,
        assigned: &Assigned,
        [place, answer]: [usize; 2],
    ) -> Result<Override, Error> {
        let metrics = &snapshot.hpa.spec.metrics;
        let spec = &metrics[place];
        unit::check_flag(spec, &assigned.text, &assigned.flag)?;
        let (own, label) = ((pod.to_owned(), spec.clone()), spec.label(metrics));
        for (_, other) in self.of_pods.iter().filter(|(name, _)| *name == pod) {
            if other.id() == spec.id() {
                let message = format!("{label} of {pod} is set twice");
                return Err(Error::usage(message).hint(KEEP_ONE));
            }
            if other.shares_usage(spec) {
                let with = other.label(metrics);
                return Err(same_usage(&format!("{label} of {pod}"), &with));
            }
        }
        let observed = value_of(&self.before(spec, answer), 0, pod);
        // A pod that was not measured may have an assumed value.
        let assumed = value_of(snapshot, place, pod);
        let decision = look(snapshot);
        set_pod(
            snapshot,
            place,
            pod,
            &assigned.value,
            observed.or(assumed),
            &decision,
        )?;
        let spec = &snapshot.hpa.spec.metrics[place];
        let now = value_of(snapshot, place, pod).map(|now| reported(spec, now));
        let observed = observed.map(|was| reported(spec, was));
        let words = assigned.value.words(&assigned.text);
        let item = Override {
            result: now.filter(|now| now.to_string() != assigned.text),
            ..Override::new(format!("{label} of {pod}"), words, observed)
        };
        self.of_pods.push(own);
        Ok(item.of_pods([pod.into()]))
    }

    /// Lets metrics that the input lacks use the usage that was set for others: in pods whose containers all have
    /// one, and in pods with a single container.
    pub(super) fn share(&self, snapshot: &mut Snapshot) {
        let Ok(pods) = of_target(snapshot) else {
            return;
        };
        let is_single = pods.iter().all(|pod| pod.running(false).nth(1).is_none());
        for place in 0..snapshot.hpa.spec.metrics.len() {
            let spec = &snapshot.hpa.spec.metrics[place];
            let is_shared = self.taken.iter().any(|own| own.spec.shares_usage(spec));
            let is_known = is_shared && (is_single || spec.container().is_none());
            if !is_known || !snapshot.metrics[place].is_missing() {
                continue;
            }
            let was = std::mem::replace(&mut snapshot.metrics[place], MetricAnswer::PodMetrics);
            if samples(snapshot, place, spec).is_empty() {
                snapshot.metrics[place] = was;
            }
        }
    }

    /// Checks that a metric that was not read has a value for each running pod that is not assumed to lack one.
    ///
    /// # Errors
    ///
    /// Only some of them were given a value: nothing is known of the others.
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
            let mut running = of_target(snapshot)?;
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
        let mut set = self.of_pods.iter();
        let mut states = chosen.iter();
        states.any(|(name, state)| **name == *pod && *state == State::Missing)
            || set.any(|(name, other)| name == pod && reads(other))
    }

    /// Checks that the pods are measured for which the usage of a container was set.
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

/// Returns the error for two metrics with values of the same usage.
fn same_usage(label: &str, with: &str) -> Error {
    Error::usage(format!(
        "{label} and {with} are based on the same usage: set only one"
    ))
    .hint("the usage of every container, such as --cpu app=80%, is that of the pods, too")
}

/// Sets a value for all pods, or for one, as if no other flag did.
pub(super) fn set_alone(
    snapshot: &mut Snapshot,
    pod: Option<&str>,
    assigned: &Assigned,
) -> Result<(), Error> {
    let is_meant = |own: &Pod| pod.is_none_or(|pod| *own.name == *pod);
    at_places(snapshot, assigned, is_meant, |snapshot, [place, _]| {
        let (value, decision) = (&assigned.value, look(snapshot));
        match pod {
            Some(pod) => set_pod(snapshot, place, pod, value, None, &decision),
            None => set_metric(snapshot, place, value, &decision),
        }
    })
}

/// Sets a value at the places of a metric. For a container without a metric of its own, one of the meant pods has to
/// have the container. `set` gets the places of the metric and of the answer about it.
fn at_places<T>(
    snapshot: &mut Snapshot,
    assigned: &Assigned,
    is_meant: impl Fn(&Pod) -> bool,
    set: impl FnOnce(&mut Snapshot, [usize; 2]) -> Result<T, Error>,
) -> Result<T, Error> {
    if let Some((whole, container)) = assigned.wanted.whole(&snapshot.hpa.spec.metrics) {
        let mut pods = of_target(snapshot)?;
        pods.retain(|pod| is_meant(pod));
        has_container(&pods, container, false, &assigned.flag)?;
        return in_container(snapshot, whole, container, |own, place| {
            set(own, [place, whole])
        });
    }
    let places = assigned.places(snapshot)?;
    let first = places[0];
    let done = set(snapshot, [first, first])?;
    // The spec may have the metric several times.
    let answer = snapshot.metrics[first].clone();
    for place in &places[1..] {
        snapshot.metrics[*place].clone_from(&answer);
    }
    Ok(done)
}
