//! Writes a snapshot in the saved format: exactly what a pass uses, in the types with which it is read.
//! Reading it back gives a snapshot that leads to the same pass.

mod requests;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::{io, iter};

use serde::Serialize;

use super::objects::HPA;
use super::state::{ControllerState, OWN_API_VERSION, StatedAs};
use super::wire::{Document, EventObject, LeaseObject, ScaleObject};
use crate::apimachinery::metadata::Metadata;
use crate::apiserver::convert;
use crate::error::Error;
use crate::snapshot::Scale;
use crate::snapshot::basis::Basis;
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::{Counted, DEPLOYMENT, Event, Evidence, POD};
use crate::snapshot::hpa::{CUSTOM, Hpa, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::load::Load;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::{ApiResource, ApiResourceList};
use crate::version::FeatureGate;
use requests::{answers_to, errors_of, is_refused, of_rivals};

/// The scale of an HPA's target, with its replica count until now.
type ScaledTarget<'a> = (&'a Hpa, &'a Scale, Option<Counted>);

/// The snapshots of one clock and controller, to be written as a JSON `List`, one object per line.
/// If no memory is stated, the reader treats it as unknown again.
#[derive(Debug)]
pub struct Saved<'a> {
    inputs: &'a [&'a Input],
    /// The metrics whose answers follow those of the HPA's metrics.
    also: &'a [MetricSpec],
    hpas: Vec<&'a Hpa>,
    targets: Vec<ScaledTarget<'a>>,
    /// The pods, with their namespaces.
    pods: Vec<(&'a str, &'a Pod)>,
    /// A load, to be played again.
    pub load: Option<&'a Load>,
}

impl<'a> Saved<'a> {
    /// Selects what to write, each object once.
    ///
    /// # Errors
    ///
    /// An HPA, a scale or a pod changed between two reads.
    pub fn of(inputs: &'a [&'a Input], also: &'a [MetricSpec]) -> Result<Self, Error> {
        Ok(Self {
            inputs,
            also,
            hpas: hpas(inputs)?,
            targets: targets(inputs)?,
            pods: pods(inputs)?,
            load: None,
        })
    }

    /// Writes the state object by object.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(br#"{"apiVersion":"v1","kind":"List","items":["#)?;
        let mut items = ItemWriter {
            out,
            separator: "\n",
        };
        let inputs = self.inputs;
        if let Some(first) = inputs.first() {
            items.add(OWN_API_VERSION, "ControllerState", self.state(first))?;
        }
        for hpa in &self.hpas {
            items.add(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                convert::to_json(hpa),
            )?;
        }
        for (hpa, scale, counted) in &self.targets {
            items.add(
                "autoscaling/v1",
                "Scale",
                ScaleObject::of(hpa, scale, *counted),
            )?;
        }
        let servers = inputs.iter().flat_map(|it| it.surroundings.servers.iter());
        let placed = servers.filter_map(|pod| Some((pod.namespace.as_deref()?, &**pod)));
        let mut seen = HashSet::new();
        for (namespace, pod) in self.pods.iter().copied().chain(placed) {
            if seen.insert((namespace, &pod.name)) {
                items.add("v1", "Pod", pod.to_json(namespace))?;
            }
        }
        self.write_surroundings(&mut items)?;
        let lists: [(&str, EventList); 3] = [
            (HPA, |it| &it.events),
            (DEPLOYMENT, |it| &it.scaled),
            (POD, |it| &it.pods),
        ];
        // Several HPAs may have the same target or the same pods.
        let mut seen = HashSet::new();
        for (kind, list) in lists {
            let mut all: Vec<&[Event]> = inputs.iter().map(|input| list(&input.evidence)).collect();
            // Those of a namespace share one list about pods.
            all.dedup_by(|one, other| std::ptr::eq(*one, *other));
            for event in all.into_iter().flatten() {
                if seen.insert((kind, event)) {
                    items.add("v1", "Event", EventObject::of(kind, event))?;
                }
            }
        }
        if let Some(lease) = inputs.iter().find_map(|input| input.evidence.lease) {
            items.add("coordination.k8s.io/v1", "Lease", LeaseObject::from(lease))?;
        }
        if let Some(load) = self.load {
            items.add(OWN_API_VERSION, "Load", load)?;
        }
        items.out.write_all(b"\n]}\n")
    }
}

impl Saved<'_> {
    /// Returns the state; `first` is the first input.
    fn state<'s>(&'s self, first: &'s Input) -> ControllerState<'s> {
        let Input {
            snapshot,
            stated_memory,
            known,
            ..
        } = first;
        let inputs = self.inputs;
        let keys = inputs.iter().map(|input| input.snapshot.hpa.key());
        // A failure of one HPA does not concern the others.
        let is_among_others = self.hpas.len() > 1;
        let failed = |input: &&Input| {
            let key = is_among_others.then(|| input.snapshot.hpa.key());
            errors_of(input, self.also, key.as_deref())
        };
        let controller = &snapshot.controller;
        let mut state = ControllerState {
            now: Some(snapshot.now),
            now_is_assumed: !first.knows_time(),
            kubernetes_version: controller.version.stated().map(str::to_owned),
            // Unknown flags should be assumed again rather than stated.
            flags: known.flags,
            feature_gates: gates(controller, &known.gates),
            hpas: keys.collect(),
            manifests: inputs
                .iter()
                .filter_map(|input| {
                    let replicas = input.surroundings.manifest_replicas.clone()?;
                    Some((input.snapshot.hpa.key(), replicas))
                })
                .collect(),
            errors: inputs
                .iter()
                .flat_map(failed)
                .chain(of_rivals(inputs))
                .collect(),
            answers: inputs
                .iter()
                .flat_map(|input| answers_to(input, self.also))
                .collect(),
            ..ControllerState::default()
        };
        match stated_memory.clone() {
            None => {
                state.memory = Some(StatedAs::Unknown);
                state.seen = inputs
                    .iter()
                    .flat_map(|input| &input.evidence.seen)
                    .copied()
                    .collect();
                state.rescales = inputs
                    .iter()
                    .find_map(|input| input.evidence.rescales.clone());
                state.past = inputs.iter().find_map(|input| input.evidence.past.clone());
                state.recorded = inputs
                    .iter()
                    .find_map(|input| input.evidence.recorded.clone());
            }
            Some(memory) => {
                state.recommendations = Some(memory.recommendations);
                state.scale_up_events = Some(memory.scale_up_events);
                state.scale_down_events = Some(memory.scale_down_events);
            }
        }
        state
    }

    /// Writes the objects around the passes, each once.
    fn write_surroundings(&self, items: &mut ItemWriter<'_>) -> io::Result<()> {
        fn key(metadata: &Metadata) -> (Option<&str>, &str) {
            (metadata.namespace.as_deref(), &metadata.name)
        }
        let mut seen = HashSet::new();
        let all = || self.inputs.iter().map(|input| &input.surroundings);
        // For some workloads, one HPA needs only the name and another the template.
        for has_template in [true, false] {
            let workloads = all().flat_map(|it| it.workloads.iter());
            for workload in workloads.filter(|it| it.template.is_some() == has_template) {
                if seen.insert((&*workload.group, &*workload.kind, key(&workload.metadata))) {
                    items.add(&workload.api_version(), &workload.kind, workload)?;
                }
            }
        }
        for object in all().flat_map(|it| it.scaled_objects.iter()) {
            if seen.insert(("keda.sh", "ScaledObject", key(&object.metadata))) {
                items.add("keda.sh/v1alpha1", "ScaledObject", object)?;
            }
        }
        for object in all().flat_map(|it| it.vertical_pod_autoscalers.iter()) {
            let kind = "VerticalPodAutoscaler";
            if seen.insert(("autoscaling.k8s.io", kind, key(&object.metadata))) {
                items.add("autoscaling.k8s.io/v1", kind, object)?;
            }
        }
        for object in all().flat_map(|it| it.api_services.iter()) {
            if seen.insert((
                "apiregistration.k8s.io",
                "APIService",
                key(&object.metadata),
            )) {
                items.add("apiregistration.k8s.io/v1", "APIService", object)?;
            }
        }
        let mut served: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (group, names) in all().flat_map(|it| &it.served_metrics) {
            served
                .entry(group)
                .or_default()
                .extend(names.iter().map(|name| &**name));
        }
        // The version is in the list.
        if all().any(|it| it.custom_version.is_some()) {
            served.entry(CUSTOM).or_default();
        }
        for (group, names) in served {
            let mut versions = all().filter_map(|it| it.custom_version.as_deref());
            let version = versions
                .next()
                .filter(|_| group == CUSTOM)
                .unwrap_or("v1beta1");
            let group_version = format!("{group}/{version}");
            let resources = names
                .into_iter()
                .map(|name| ApiResource {
                    name: name.to_owned(),
                })
                .collect();
            items.add(
                "v1",
                "APIResourceList",
                ApiResourceList {
                    group_version,
                    resources,
                },
            )?;
        }
        Ok(())
    }
}

/// One of the lists of events.
type EventList = fn(&Evidence) -> &[Event];

/// The items of a list, one per line.
struct ItemWriter<'w> {
    out: &'w mut dyn io::Write,
    separator: &'static str,
}

impl ItemWriter<'_> {
    fn add(&mut self, api_version: &str, kind: &str, object: impl Serialize) -> io::Result<()> {
        self.out.write_all(self.separator.as_bytes())?;
        self.separator = ",\n";
        serde_json::to_writer(
            &mut *self.out,
            &Document {
                api_version,
                kind,
                object,
            },
        )?;
        Ok(())
    }
}

/// Returns the output of [`Saved`] as text.
///
/// # Errors
///
/// The same errors as for [`Saved::of`].
pub fn to_json(inputs: &[&Input], also: &[MetricSpec]) -> Result<String, Error> {
    let mut json = Vec::new();
    let written = Saved::of(inputs, also)?.write(&mut json);
    written.map_err(|e| Error::failed(format!("failed to save: {e}")))?;
    Ok(String::from_utf8_lossy(&json).into_owned())
}

/// Returns the HPAs of the inputs and those with the same pods or the same target, each once.
fn hpas<'a>(inputs: &[&'a Input]) -> Result<Vec<&'a Hpa>, Error> {
    let mut hpas = Vec::new();
    let mut seen = HashMap::new();
    for input in inputs {
        let Input {
            snapshot,
            surroundings,
            ..
        } = input;
        // If its scale is refused, a pass does not reach the other HPAs, and the error that replaces the scale in the
        // format may hide theirs as well.
        let neighbours = snapshot.other_hpas.iter().map(|other| &other.hpa);
        let others = neighbours
            .chain(&surroundings.rivals)
            .filter(|_| !is_refused(input));
        for own in iter::once(&snapshot.hpa).chain(others) {
            match seen.entry((&*own.namespace, &*own.name)) {
                Entry::Vacant(place) => hpas.push(*place.insert(own)),
                Entry::Occupied(place)
                    if convert::to_json(place.get()) == convert::to_json(own) => {}
                Entry::Occupied(_) => {
                    return Err(changed("HorizontalPodAutoscaler", &own.key()));
                }
            }
        }
    }
    Ok(hpas)
}

/// Returns the targets of the inputs and of the other HPAs in them that have a scale, each once. A target that is also
/// an input's own has the scale, or the lack of one, of that input.
fn targets<'a>(inputs: &[&'a Input]) -> Result<Vec<ScaledTarget<'a>>, Error> {
    let mut targets: Vec<ScaledTarget<'a>> = Vec::new();
    let mut seen = HashMap::new();
    let target = |hpa: &'a Hpa| (&*hpa.namespace, &hpa.spec.scale_target_ref);
    let own_targets: HashSet<_> = inputs.iter().map(|it| target(&it.snapshot.hpa)).collect();
    for input in inputs {
        if is_refused(input) {
            continue;
        }
        let Input {
            snapshot,
            evidence,
            basis,
            ..
        } = input;
        // The target itself is saved, and says that it has no status.
        let mut assumed = basis.iter();
        let is_assumed = assumed.any(|it| matches!(it, Basis::StatusReplicas { .. }));
        let scale = snapshot.scale.as_ref().ok().filter(|_| !is_assumed);
        let own = scale.map(|scale| (&snapshot.hpa, scale, evidence.counted));
        let others = snapshot
            .other_hpas
            .iter()
            .filter(|other| !own_targets.contains(&target(&other.hpa)))
            .filter_map(|other| Some((&other.hpa, other.scale.as_ref()?, None)));
        for (hpa, scale, counted) in own.into_iter().chain(others) {
            match seen.entry(target(hpa)) {
                Entry::Vacant(place) => {
                    place.insert(targets.len());
                    targets.push((hpa, scale, counted));
                }
                Entry::Occupied(place) => {
                    let (_, earlier, known) = &mut targets[*place.get()];
                    if *earlier != scale {
                        return Err(changed("target of", &hpa.key()));
                    }
                    *known = known.or(counted);
                }
            }
        }
    }
    Ok(targets)
}

/// Returns the pods that the targets select, each once, with their namespaces.
fn pods<'a>(inputs: &[&'a Input]) -> Result<Vec<(&'a str, &'a Pod)>, Error> {
    let mut pods: Vec<(&'a str, &'a Pod)> = Vec::new();
    let mut seen = HashMap::new();
    for input in inputs {
        let snapshot = &input.snapshot;
        let selector = match snapshot.selector() {
            Ok(selector) => Some(selector),
            Err(_) if is_refused(input) => continue,
            Err(_) => None,
        };
        let namespace = &*snapshot.hpa.namespace;
        let is_selected = |pod: &Pod| selector.is_some_and(|it| it.matches(&pod.labels));
        // If no pod is selected, the others show what the selector should match.
        let selects_none = !snapshot.pods.iter().any(|pod| is_selected(pod));
        for used in snapshot
            .pods
            .iter()
            .filter(|pod| selects_none || is_selected(pod))
        {
            match seen.entry((namespace, &*used.name)) {
                Entry::Vacant(place) => pods.push((namespace, place.insert(used))),
                Entry::Occupied(place) if *place.get() == used => {}
                Entry::Occupied(_) => {
                    return Err(changed("Pod", &format!("{namespace}/{}", used.name)));
                }
            }
        }
    }
    Ok(pods)
}

/// Returns the error about an object that was read twice with different content.
fn changed(kind: &str, key: &str) -> Error {
    Error::failed(format!(
        "failed to save: the {kind} {key} changed while it was being read"
    ))
    .hint("try again")
}

/// Returns known gates, and those that differ from the meaning of an absent gate.
fn gates(controller: &Controller, known: &[(FeatureGate, bool)]) -> BTreeMap<String, bool> {
    let version = &controller.version;
    let set = FeatureGate::settable(version).map(|gate| (gate, controller.gates[gate]));
    set.filter(|gate| known.contains(gate) || gate.0.is_on_unstated(version) != gate.1)
        .map(|(gate, on)| (gate.to_string(), on))
        .collect()
}
