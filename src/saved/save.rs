//! Writes a snapshot in the input format: everything that a pass uses, and nothing else. Reading it
//! back gives the same snapshot, as far as a pass can tell.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::{io, iter};

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::assemble::{Request, asked};
use super::objects::{Api, OWN_API_VERSION};
use crate::apimachinery::go;
use crate::error::Error;
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::{
    Counted, DEPLOYMENT, Event, LEASE_NAME, LEASE_NAMESPACE, Lease, OURS, Seen, Written,
};
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::memory::{Recommendation, ScaleEvent};
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::pod::{Container, Phase, Pod, Requests};
use crate::snapshot::{
    Documents, ExternalValue, MetricAnswer, PodValue, Scale, ScaleError, Snapshot, Unread,
};
use crate::version::Stage;

/// The snapshots of one clock and controller, to be written as a JSON `List`, one object to a line.
/// Where no memory is stated, the reader takes it as unknown again.
#[derive(Debug)]
pub struct Saved<'a> {
    inputs: &'a [&'a Input],
    /// The metrics whose answers stand behind those of the HPA.
    also: &'a [MetricSpec],
    hpas: Vec<&'a Hpa>,
    targets: Vec<(&'a Hpa, &'a Scale, Option<Counted>)>,
    /// With their namespaces.
    pods: Vec<(&'a str, &'a Pod)>,
}

impl<'a> Saved<'a> {
    /// Chooses what is written, each object once.
    ///
    /// # Errors
    ///
    /// An HPA, a scale or a pod changed between two looks.
    pub fn of(inputs: &'a [&'a Input], also: &'a [MetricSpec]) -> Result<Self, Error> {
        let mut saved =
            Self { inputs, also, hpas: Vec::new(), targets: Vec::new(), pods: Vec::new() };
        let mut seen = HashMap::new();
        for Input { snapshot, .. } in inputs {
            // Without its scale a pass gets nowhere near the other HPAs, and the error that stands for
            // the scale in the format may hide theirs, too.
            let others = snapshot.other_hpas.iter().filter(|_| snapshot.scale.is_ok());
            for own in iter::once(&snapshot.hpa).chain(others.map(|other| &other.hpa)) {
                match seen.entry((&*own.namespace, &*own.name)) {
                    Entry::Vacant(place) => saved.hpas.push(place.insert(own)),
                    Entry::Occupied(place) if hpa(place.get()) == hpa(own) => {}
                    Entry::Occupied(_) => {
                        return Err(changed("HorizontalPodAutoscaler", &own.key()));
                    }
                }
            }
        }
        for Input { snapshot, evidence, .. } in inputs {
            let Ok(own) = &snapshot.scale else { continue };
            let others = snapshot.other_hpas.iter().map(|other| (&other.hpa, &other.scale, None));
            for (hpa, scale, counted) in
                iter::once((&snapshot.hpa, own, evidence.counted)).chain(others)
            {
                let target = |hpa: &Hpa| (hpa.namespace.clone(), hpa.spec.scale_target_ref.clone());
                let targets = &mut saved.targets;
                match targets.iter_mut().find(|(other, ..)| target(other) == target(hpa)) {
                    None => targets.push((hpa, scale, counted)),
                    Some((_, earlier, known)) if *earlier == scale => *known = known.or(counted),
                    Some(_) => return Err(changed("target of", &hpa.key())),
                }
            }
        }
        let mut seen = HashMap::new();
        for Input { snapshot, .. } in inputs {
            let namespace = &*snapshot.hpa.namespace;
            if let Ok(own) = &snapshot.scale {
                for used in snapshot.pods.iter().filter(|pod| own.selector.matches(&pod.labels)) {
                    match seen.entry((namespace, &*used.name)) {
                        Entry::Vacant(place) => saved.pods.push((namespace, place.insert(used))),
                        Entry::Occupied(place)
                            if pod(place.get(), namespace) == pod(used, namespace) => {}
                        Entry::Occupied(_) => {
                            return Err(changed("Pod", &format!("{namespace}/{}", used.name)));
                        }
                    }
                }
            }
        }
        Ok(saved)
    }

    /// Writes it, an object at a time.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(br#"{"apiVersion":"v1","kind":"List","items":["#)?;
        let mut before = "\n";
        if let Some(first) = self.inputs.first() {
            out.write_all(before.as_bytes())?;
            before = ",\n";
            serde_json::to_writer(&mut *out, &state(self.inputs, first, self.also))?;
        }
        let inputs = self.inputs;
        let hpas = self.hpas.iter().map(|own| hpa(own));
        let targets = self.targets.iter().map(|(hpa, own, counted)| scale(hpa, own, *counted));
        let pods = self.pods.iter().map(|(namespace, own)| pod(own, namespace));
        let events = inputs.iter().flat_map(|input| &input.evidence.events);
        let events = events.map(|it| event("HorizontalPodAutoscaler", it));
        let scaled = inputs.iter().flat_map(|input| &input.evidence.scaled);
        let scaled = scaled.map(|it| event(DEPLOYMENT, it));
        let lease = inputs.iter().find_map(|input| input.evidence.lease).map(lease);
        for item in hpas.chain(targets).chain(pods).chain(events).chain(scaled).chain(lease) {
            out.write_all(before.as_bytes())?;
            before = ",\n";
            serde_json::to_writer(&mut *out, &item)?;
        }
        out.write_all(b"\n]}\n")
    }
}

/// What [`Saved`] writes, as text.
///
/// # Errors
///
/// Those of [`Saved::of`].
pub fn to_json(inputs: &[&Input], also: &[MetricSpec]) -> Result<String, Error> {
    let mut json = Vec::new();
    let written = Saved::of(inputs, also)?.write(&mut json);
    written.map_err(|e| Error::failed(format!("failed to save: {e}")))?;
    Ok(String::from_utf8_lossy(&json).into_owned())
}

/// Something that was read twice and is not the same.
fn changed(kind: &str, key: &str) -> Error {
    Error::failed(format!("failed to save: the {kind} {key} changed meanwhile")).hint("try again")
}

/// The document of our own. Its answers may be as many as there are pods.
#[derive(Serialize)]
struct State<'a> {
    #[serde(flatten)]
    head: Value,
    answers: Vec<Answer<'a>>,
}

/// The answer to a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(flatten)]
    head: Value,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "each_pod_metrics")]
    pod_metrics: Option<&'a [PodMetrics]>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "each_pod_value")]
    values: Option<&'a [PodValue]>,
}

fn each_pod_metrics<S: Serializer>(
    items: &Option<&[PodMetrics]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(items.iter().copied().flatten().map(pod_metrics))
}

fn each_pod_value<S: Serializer>(
    values: &Option<&[PodValue]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().copied().flatten().map(pod_value))
}

fn state<'a>(inputs: &'a [&Input], first: &Input, also: &'a [MetricSpec]) -> State<'a> {
    let Input { snapshot, stated_memory, known, .. } = first;
    let controller = &snapshot.controller;
    let mut state = json!({
        "apiVersion": OWN_API_VERSION,
        "kind": "ControllerState",
        "now": snapshot.now.to_string(),
        "flags": known.flags,
        "featureGates": gates(controller, &known.gates),
        "errors": errors(inputs, also),
    });
    if let Some(version) = controller.version.stated() {
        state["kubernetesVersion"] = json!(version);
    }
    match stated_memory {
        None => {
            state["memory"] = json!("unknown");
            let seen: Vec<&Seen> = inputs.iter().flat_map(|input| &input.evidence.seen).collect();
            if !seen.is_empty() {
                state["seen"] = json!(seen);
            }
            if let Some(rescales) = inputs.iter().find_map(|input| input.evidence.rescales.as_ref())
            {
                state["rescales"] = json!(rescales);
            }
        }
        Some(memory) => {
            state["recommendations"] = memory.recommendations.iter().map(recommendation).collect();
            state["scaleUpEvents"] = memory.scale_up_events.iter().map(scale_event).collect();
            state["scaleDownEvents"] = memory.scale_down_events.iter().map(scale_event).collect();
        }
    }
    let answers = inputs.iter().flat_map(|input| answers(&input.snapshot, also)).collect();
    State { head: state, answers }
}

/// Gates that are known, and those that differ from what leaving them out means.
fn gates(controller: &Controller, known: &[(&str, bool)]) -> Map<String, Value> {
    let version = &controller.version;
    let set = controller.gates.settable(version);
    set.filter(|gate| known.contains(gate) || Stage::is_on_unstated(gate.0, version) != gate.1)
        .map(|(gate, on)| (gate.to_owned(), json!(on)))
        .collect()
}

fn recommendation(past: &Recommendation) -> Value {
    json!({"replicas": past.replicas, "time": past.time.to_string()})
}

fn scale_event(past: &ScaleEvent) -> Value {
    let mut event = json!({"replicas": past.replicas, "time": past.time.to_string()});
    if past.outdated {
        event["outdated"] = json!(true);
    }
    event
}

/// Failed requests, but for those whose failure is their answer.
fn errors(inputs: &[&Input], also: &[MetricSpec]) -> Vec<Value> {
    let several = inputs.len() > 1;
    let lists = inputs.iter().map(|Input { snapshot, .. }| {
        errors_of(snapshot, also, several.then(|| snapshot.hpa.key()).as_deref())
    });
    lists.flatten().collect()
}

/// Those of one snapshot, limited to its HPA where there are others.
fn errors_of(snapshot: &Snapshot, also: &[MetricSpec], hpa: Option<&str>) -> Vec<Value> {
    let mut errors = Vec::new();
    let mut add = |api: &str, metric: Option<&str>, message: &str, unread: Option<&Unread>| {
        let mut error = json!({"api": api, "message": message});
        if let Some(unread) = unread {
            mark(&mut error, unread);
        }
        if let Some(hpa) = hpa {
            error["hpa"] = json!(hpa);
        }
        if let Some(metric) = metric {
            error["metric"] = json!(metric);
        }
        if !errors.contains(&error) {
            errors.push(error);
        }
    };
    match &snapshot.scale {
        Err(ScaleError::Mapping(message)) => add("mapping", None, message, None),
        Err(ScaleError::Get(message)) => add("scale", None, message, None),
        Err(ScaleError::Missing(target)) => {
            let unread = Unread::Missing { documents: Documents::Scale };
            add("scale", None, &format!("the input has no {target}"), Some(&unread));
        }
        Ok(_) => {}
    }
    if let Some(message) = &snapshot.scale_update_error {
        add("scaleUpdate", None, message, None);
    }
    for (spec, answer) in answered(snapshot, also) {
        let (message, unread) = match answer {
            MetricAnswer::Failed(message) => (message.as_str(), None),
            MetricAnswer::Unread(unread) => (words(unread), Some(unread)),
            _ => continue,
        };
        if Request::of(spec).is_none() {
            let (api, name) = asked(spec);
            add(api.as_str(), name, message, unread);
        }
    }
    errors
}

/// The metrics that were asked for, with their answers.
fn answered<'a>(
    snapshot: &'a Snapshot,
    also: &'a [MetricSpec],
) -> impl Iterator<Item = (&'a MetricSpec, &'a MetricAnswer)> {
    snapshot.hpa.spec.metrics.iter().chain(also).zip(&snapshot.metrics)
}

/// What the metrics APIs answered, as it was answered. Before the scale is known, nothing is asked.
fn answers<'a>(snapshot: &'a Snapshot, also: &'a [MetricSpec]) -> Vec<Answer<'a>> {
    let mut answers = Vec::new();
    if snapshot.scale.is_err() {
        return answers;
    }
    let hpa = snapshot.hpa.key();
    let of_resources = |(spec, _): (&MetricSpec, _)| asked(spec).0 == Api::Resource;
    if !snapshot.pod_metrics.is_empty() || answered(snapshot, also).any(of_resources) {
        answers.push(Answer {
            head: json!({"hpa": hpa, "api": "resource"}),
            pod_metrics: Some(&snapshot.pod_metrics),
            values: None,
        });
    }
    for (spec, answer) in answered(snapshot, also) {
        let Some(request) = Request::of(spec) else { continue };
        let mut saved = match request {
            Request::Pods(metric) => json!({"api": "custom", "metric": metric}),
            Request::Object(object, metric) => {
                json!({"api": "custom", "describedObject": object, "metric": metric})
            }
            Request::External(metric) => json!({"api": "external", "metric": metric}),
        };
        saved["hpa"] = json!(hpa);
        let mut pod_values = None;
        match answer {
            MetricAnswer::Pods(values) => pod_values = Some(values.as_slice()),
            MetricAnswer::Object(values) => {
                saved["values"] =
                    values.iter().map(|value| json!({"value": milli(*value)})).collect();
            }
            MetricAnswer::External(values) => {
                let value =
                    |it: &ExternalValue| json!({"labels": it.labels, "value": milli(it.value)});
                saved["values"] = values.iter().map(value).collect();
            }
            MetricAnswer::Failed(message) => saved["message"] = json!(message),
            MetricAnswer::Unread(unread) => {
                saved["message"] = json!(words(unread));
                mark(&mut saved, unread);
            }
            MetricAnswer::PodMetrics => continue,
        }
        answers.push(Answer { head: saved, pod_metrics: None, values: pod_values });
    }
    answers
}

/// The text of an answer that is not known.
fn words(unread: &Unread) -> &str {
    match unread {
        Unread::Refused { message } => message,
        Unread::Missing { .. } => "not in the input",
    }
}

/// Says why an answer is not known.
fn mark(saved: &mut Value, unread: &Unread) {
    match unread {
        Unread::Refused { .. } => saved["denied"] = json!(true),
        Unread::Missing { documents } => saved["missing"] = json!(documents),
    }
}

fn pod_value(value: &PodValue) -> Value {
    json!({
        "pod": value.pod,
        "timestamp": value.timestamp.to_string(),
        "window": go::duration(value.window),
        "value": milli(value.value),
    })
}

fn milli(value: i64) -> String {
    format!("{value}m")
}

fn hpa(hpa: &Hpa) -> Value {
    let mut metadata = json!({"name": hpa.name, "namespace": hpa.namespace});
    if let Some(uid) = &hpa.uid {
        metadata["uid"] = json!(uid);
    }
    if let Some(time) = hpa.deletion_timestamp {
        metadata["deletionTimestamp"] = json!(time.to_string());
    }
    if let Some(generation) = hpa.generation {
        metadata["generation"] = json!(generation);
    }
    if !hpa.labels.is_empty() {
        metadata["labels"] = json!(hpa.labels);
    }
    let Written { created, spec, status, by_us } = hpa.written;
    if let Some(time) = created {
        metadata["creationTimestamp"] = json!(time.to_string());
    }
    let entry = |time: Timestamp, subresource: &str| json!({"time": time.to_string(), "subresource": subresource});
    let managed = [spec.map(|time| entry(time, "")), status.map(|time| entry(time, "status"))];
    let mut managed: Vec<Value> = managed.into_iter().flatten().collect();
    if let Some(last) = managed.last_mut().filter(|_| by_us) {
        last["manager"] = json!(OURS);
    }
    if !managed.is_empty() {
        metadata["managedFields"] = json!(managed);
    }
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": hpa.spec,
        "status": hpa.status,
    })
}

fn event(kind: &str, event: &Event) -> Value {
    let mut object = json!({
        "kind": kind,
        "namespace": event.namespace,
        "name": event.name,
    });
    if !event.uid.is_empty() {
        object["uid"] = json!(event.uid);
    }
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": object,
        "reason": event.reason,
        "message": event.message,
        "firstTimestamp": time(event.first),
        "lastTimestamp": time(event.last),
        "count": event.count,
    })
}

fn lease(lease: Lease) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE_NAME, "namespace": LEASE_NAMESPACE},
        "spec": {
            "acquireTime": lease.acquired.to_string(),
            "renewTime": lease.renewed.to_string(),
            "leaseDurationSeconds": lease.duration.as_secs(),
        },
    })
}

fn scale(hpa: &Hpa, scale: &Scale, counted: Option<Counted>) -> Value {
    let target = &hpa.spec.scale_target_ref;
    let mut metadata = json!({
        "name": target.name,
        "namespace": hpa.namespace,
        "ownerReferences": [target],
    });
    // A scale has none of its own: these are the target's.
    if let Some(Counted { since, .. }) = counted {
        metadata["managedFields"] = json!([{"subresource": "status", "time": since.to_string()}]);
    }
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {"replicas": scale.spec_replicas},
        "status": {"replicas": scale.status_replicas, "selector": scale.selector.as_str()},
    })
}

fn pod(pod: &Pod, namespace: &str) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(pod.name));
    metadata.insert("namespace".to_owned(), json!(namespace));
    metadata.insert("labels".to_owned(), json!(pod.labels));
    if let Some(time) = pod.deletion_timestamp {
        metadata.insert("deletionTimestamp".to_owned(), json!(time.to_string()));
    }
    let mut spec = json!({"containers": pod.containers.iter().map(container).collect::<Vec<_>>()});
    if !pod.init_containers.is_empty() {
        spec["initContainers"] = pod.init_containers.iter().map(container).collect();
    }
    if !pod.requests.0.is_empty() {
        spec["resources"] = resources(&pod.requests);
    }
    if !pod.overhead.0.is_empty() {
        spec["overhead"] = json!(pod.overhead);
    }
    let mut status = Map::new();
    let phase = if pod.phase == Phase::Other { "Unknown" } else { pod.phase.as_str() };
    status.insert("phase".to_owned(), json!(phase));
    if let Some(time) = pod.start_time {
        status.insert("startTime".to_owned(), json!(time.to_string()));
    }
    let mut conditions = Vec::new();
    if pod.is_unschedulable {
        let reason = "Unschedulable";
        conditions.push(json!({"type": "PodScheduled", "status": "False", "reason": reason}));
    }
    if let Some(ready) = pod.ready {
        conditions.push(json!({
            "type": "Ready",
            "status": ready.status.as_str(),
            "lastTransitionTime": ready.last_transition_time.to_string(),
        }));
    }
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
}

fn container(container: &Container) -> Value {
    let mut value = json!({"name": container.name, "resources": resources(&container.requests)});
    if container.restart_always {
        value["restartPolicy"] = json!("Always");
    }
    value
}

fn resources(requests: &Requests) -> Value {
    json!({"requests": requests})
}

fn pod_metrics(item: &PodMetrics) -> Value {
    let containers: Vec<Value> = item
        .containers
        .iter()
        .map(|container| {
            let usage: Map<String, Value> = container
                .usage
                .iter()
                .map(|(name, value)| (name.to_string(), json!(milli(*value))))
                .collect();
            json!({"name": container.name, "usage": usage})
        })
        .collect();
    let mut metadata = json!({"name": item.name});
    if let Some(namespace) = &item.namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "metadata": metadata,
        "timestamp": item.timestamp.to_string(),
        "window": go::duration(item.window),
        "containers": containers,
    })
}
