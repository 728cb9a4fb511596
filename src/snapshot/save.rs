//! Writes a snapshot in the input format: everything that a pass uses, and nothing else. Reading it
//! back gives the same snapshot, as far as a pass can tell.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::assemble::{Input, absence, asked, described_name, non_empty};
use super::controller::Controller;
use super::evidence::{
    Counted, DEPLOYMENT, Event, LEASE_NAME, LEASE_NAMESPACE, Lease, OURS, Seen, Written,
};
use super::hpa::{Hpa, MetricIdentifier};
use super::metric::PodMetrics;
use super::objects::{Flags, OWN_API_VERSION};
use super::pod::{Container, Phase, Pod, Requests};
use super::stated::{Recommendation, ScaleEvent};
use super::{MetricAnswer, Scale, ScaleError, Snapshot};
use crate::error::Error;
use crate::go;
use crate::selector::Selector;
use crate::version::Stage;

/// The snapshots of one clock and controller as a JSON `List`, one object to a line. Where no memory is
/// stated, the reader takes it as unknown again.
///
/// # Errors
///
/// The scales of two targets cannot be told apart in the format, or a pod changed between two looks.
pub fn to_json(inputs: &[&Input]) -> Result<String, Error> {
    let mut items = Items::default();
    if let Some(first) = inputs.first() {
        items.list.push(state(inputs, first));
    }
    for Input { snapshot, .. } in inputs {
        items.add("HorizontalPodAutoscaler", &snapshot.hpa.key(), hpa(&snapshot.hpa))?;
        // Without its scale a pass gets nowhere near the other HPAs, and the error that stands for
        // the scale in the format may hide theirs, too.
        if snapshot.scale.is_ok() {
            for other in &snapshot.other_hpas {
                items.add("HorizontalPodAutoscaler", &other.hpa.key(), hpa(&other.hpa))?;
            }
        }
    }
    let mut targets: Vec<(&Hpa, &Scale, Option<Counted>)> = Vec::new();
    for Input { snapshot, evidence, .. } in inputs {
        if let Ok(own) = &snapshot.scale {
            targets.push((&snapshot.hpa, own, evidence.counted));
            let others = snapshot.other_hpas.iter();
            targets.extend(others.map(|other| (&other.hpa, &other.scale, None)));
        }
    }
    for (place, (hpa, own, counted)) in targets.iter().enumerate() {
        let target = |hpa: &Hpa| (hpa.namespace.clone(), hpa.spec.scale_target_ref.name.clone());
        let earlier = targets[..place].iter().find(|(other, ..)| target(other) == target(hpa));
        match earlier {
            None => items.list.push(scale(hpa, own, *counted)),
            Some((_, scale, _)) if scale == own => {}
            Some((other, ..)) => {
                return Err(Error::failed(format!(
                    "failed to save: the targets of {} and {} have the same name",
                    other.key(),
                    hpa.key()
                )));
            }
        }
    }
    for Input { snapshot, .. } in inputs {
        let namespace = &snapshot.hpa.namespace;
        if let Ok(own) = &snapshot.scale
            && let Ok(selector) = Selector::parse(&own.selector)
        {
            for used in snapshot.pods.iter().filter(|pod| selector.matches(&pod.labels)) {
                let key = format!("{namespace}/{}", used.name);
                items.add("Pod", &key, pod(used, namespace))?;
            }
        }
    }
    for Input { snapshot, .. } in inputs {
        for item in &snapshot.pod_metrics {
            let key = format!("{}/{}", snapshot.hpa.namespace, item.name);
            items.add("PodMetrics", &key, pod_metrics(item, &snapshot.hpa))?;
        }
    }
    items.list.extend(metric_values(inputs));
    let events = inputs.iter().flat_map(|input| &input.evidence.events);
    items.list.extend(events.map(|it| event("HorizontalPodAutoscaler", it)));
    let scaled = inputs.iter().flat_map(|input| &input.evidence.scaled);
    items.list.extend(scaled.map(|it| event(DEPLOYMENT, it)));
    items.list.extend(inputs.iter().find_map(|input| input.evidence.lease).map(lease));
    Ok(lines(&items.list))
}

/// What is written, each object once.
#[derive(Default)]
struct Items {
    list: Vec<Value>,
    /// Where those with a name are, by kind and key.
    places: HashMap<(&'static str, String), usize>,
}

impl Items {
    fn add(&mut self, kind: &'static str, key: &str, item: Value) -> Result<(), Error> {
        match self.places.entry((kind, key.to_owned())) {
            Entry::Vacant(place) => {
                place.insert(self.list.len());
                self.list.push(item);
                Ok(())
            }
            Entry::Occupied(place) if self.list[*place.get()] == item => Ok(()),
            Entry::Occupied(_) => {
                Err(Error::failed(format!("failed to save: the {kind} {key} changed meanwhile"))
                    .hint("try again"))
            }
        }
    }
}

fn lines(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(Value::to_string).collect();
    let head = r#"{"apiVersion":"v1","kind":"List","items":["#;
    format!("{head}\n{}\n]}}\n", items.join(",\n"))
}

fn state(inputs: &[&Input], first: &Input) -> Value {
    let Input { snapshot, stated_memory, known, .. } = first;
    let controller = &snapshot.controller;
    let mut state = json!({
        "apiVersion": OWN_API_VERSION,
        "kind": "ControllerState",
        "now": snapshot.now.to_string(),
        "flags": flags(&known.flags),
        "featureGates": gates(controller, &known.gates),
        "errors": errors(inputs),
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
    state
}

/// Flags that are known. The others are to be assumed again rather than stated.
fn flags(known: &Flags) -> Map<String, Value> {
    let mut flags = Map::new();
    if let Some(tolerance) = known.tolerance {
        flags.insert("tolerance".to_owned(), json!(tolerance));
    }
    for (name, value) in [
        ("downscaleStabilization", known.downscale_stabilization),
        ("cpuInitializationPeriod", known.cpu_initialization_period),
        ("initialReadinessDelay", known.initial_readiness_delay),
        ("syncPeriod", known.sync_period),
    ] {
        if let Some(value) = value {
            flags.insert(name.to_owned(), json!(go::duration(value)));
        }
    }
    flags
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

/// Failed requests. The text of a metric that is merely absent comes about by its absence.
fn errors(inputs: &[&Input]) -> Vec<Value> {
    let several = inputs.len() > 1;
    let lists = inputs.iter().map(|Input { snapshot, .. }| {
        errors_of(snapshot, several.then(|| snapshot.hpa.key()).as_deref())
    });
    lists.flatten().collect()
}

/// Those of one snapshot, limited to its HPA where there are others.
fn errors_of(snapshot: &Snapshot, hpa: Option<&str>) -> Vec<Value> {
    let mut errors = Vec::new();
    let mut add = |api: &str, metric: Option<&str>, message: &str, denied: bool| {
        let mut error = json!({"api": api, "message": message});
        if denied {
            error["denied"] = json!(true);
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
        Err(ScaleError::Mapping(message)) => add("mapping", None, message, false),
        Err(ScaleError::Get(message)) => add("scale", None, message, false),
        Ok(_) => {}
    }
    if let Some(message) = &snapshot.scale_update_error {
        add("scaleUpdate", None, message, false);
    }
    for (spec, answer) in snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics) {
        let (message, denied) = match answer {
            MetricAnswer::Failed(message) => (message, false),
            MetricAnswer::Denied(message) => (message, true),
            _ => continue,
        };
        let absent = spec.object.as_ref().map(|source| absence(source, &snapshot.hpa));
        if absent.as_ref() != Some(message) {
            let (api, name) = asked(spec);
            add(api.as_str(), name, message, denied);
        }
    }
    errors
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
    let mut metadata = json!({"name": hpa.spec.scale_target_ref.name, "namespace": hpa.namespace});
    // A scale has none of its own: these are the target's.
    if let Some(Counted { since, .. }) = counted {
        metadata["managedFields"] = json!([{"subresource": "status", "time": since.to_string()}]);
    }
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {"replicas": scale.spec_replicas},
        "status": {"replicas": scale.status_replicas, "selector": scale.selector},
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
    if let Some(ready) = pod.ready {
        status.insert(
            "conditions".to_owned(),
            json!([{
                "type": "Ready",
                "status": ready.status.as_str(),
                "lastTransitionTime": ready.last_transition_time.to_string(),
            }]),
        );
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

fn pod_metrics(item: &PodMetrics, hpa: &Hpa) -> Value {
    let containers: Vec<Value> = item
        .containers
        .iter()
        .map(|container| {
            let usage: Map<String, Value> = container
                .usage
                .iter()
                .map(|(name, milli)| (name.to_string(), json!(format!("{milli}m"))))
                .collect();
            json!({"name": container.name, "usage": usage})
        })
        .collect();
    let mut metadata = json!({"name": item.name, "namespace": hpa.namespace});
    if !item.labels.is_empty() {
        metadata["labels"] = json!(item.labels);
    }
    json!({
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": metadata,
        "timestamp": item.timestamp.to_string(),
        "window": go::duration(item.window),
        "containers": containers,
    })
}

/// The answers of the custom and external metrics APIs, without repeating what answers several
/// metrics of the spec.
fn metric_values(inputs: &[&Input]) -> Vec<Value> {
    let mut custom: Vec<Value> = Vec::new();
    let mut external_answers: Vec<Vec<Value>> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for Input { snapshot, .. } in inputs {
        let (own, external) = answers_of(snapshot);
        // Two HPAs may be about the same object. What one answer holds twice counts twice.
        let new: Vec<Value> =
            own.into_iter().filter(|item| !seen.contains(&item.to_string())).collect();
        seen.extend(new.iter().map(Value::to_string));
        custom.extend(new);
        external_answers.extend(external);
    }
    // A longer answer usually contains the shorter ones, in the order of the whole.
    external_answers.sort_by_key(|answer| std::cmp::Reverse(answer.len()));
    let mut external = Vec::new();
    for answer in external_answers {
        merge(&mut external, answer);
    }
    let list = |api_version: &str, kind: &str, items: Vec<Value>| {
        let list = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {}, "items": items,
        });
        list["items"].as_array().is_some_and(|items| !items.is_empty()).then_some(list)
    };
    [
        list("custom.metrics.k8s.io/v1beta2", "MetricValueList", custom),
        list("external.metrics.k8s.io/v1beta1", "ExternalMetricValueList", external),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Those of one snapshot: the custom values, and the external ones answer by answer.
fn answers_of(snapshot: &Snapshot) -> (Vec<Value>, Vec<Vec<Value>>) {
    let hpa = &snapshot.hpa;
    let mut custom: Vec<Value> = Vec::new();
    let mut external_answers: Vec<Vec<Value>> = Vec::new();
    let mut answered: Vec<Value> = Vec::new();
    let mut is_new = |request: Value| {
        let new = !answered.contains(&request);
        if new {
            answered.push(request);
        }
        new
    };
    for (spec, answer) in hpa.spec.metrics.iter().zip(&snapshot.metrics) {
        match (answer, &spec.pods, &spec.object, &spec.external) {
            (MetricAnswer::Pods(values), Some(source), ..)
                if is_new(json!(["pods", identifier(&source.metric)])) =>
            {
                let items = values.iter().map(|value| {
                    json!({
                        "describedObject": {
                            "kind": "Pod", "namespace": hpa.namespace, "name": value.pod,
                            "apiVersion": "/v1",
                        },
                        "metric": identifier(&source.metric),
                        "timestamp": value.timestamp.to_string(),
                        "windowSeconds": value.window.as_secs(),
                        "value": format!("{}m", value.value),
                    })
                });
                custom.extend(items);
            }
            (MetricAnswer::Object(values), _, Some(source), _)
                if is_new(json!([source.described_object, identifier(&source.metric)])) =>
            {
                let described = &source.described_object;
                let items = values.iter().map(|value| {
                    json!({
                        "describedObject": {
                            "kind": described.kind,
                            "namespace": hpa.namespace,
                            "name": described_name(described, hpa),
                            "apiVersion": described.api_version,
                        },
                        "metric": identifier(&source.metric),
                        "value": format!("{value}m"),
                    })
                });
                custom.extend(items);
            }
            (MetricAnswer::External(values), _, _, Some(source))
                if is_new(json!(["external", identifier(&source.metric)])) =>
            {
                let items = values.iter().map(|value| {
                    json!({
                        "metricName": source.metric.name,
                        "metricLabels": value.labels,
                        "value": format!("{}m", value.value),
                    })
                });
                external_answers.push(items.collect());
            }
            _ => {}
        }
    }
    (custom, external_answers)
}

/// The metric that a value belongs to. An empty selector is the same as none, and written in one way,
/// so that a value that answers both is not there twice.
fn identifier(metric: &MetricIdentifier) -> Value {
    match non_empty(metric.selector.as_ref()) {
        Some(selector) => json!({"name": metric.name, "selector": selector}),
        None => json!({"name": metric.name}),
    }
}

/// Adds what an answer has beyond the list, which holds answers for other selectors. Each keeps its
/// order, on which sums with negative values depend.
fn merge(list: &mut Vec<Value>, answer: Vec<Value>) {
    let mut place = 0;
    for item in answer {
        match list[place..].iter().position(|there| *there == item) {
            Some(distance) => place += distance,
            None => list.insert(place, item),
        }
        place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_for_several_selectors_keep_their_order() {
        let list = |text: &str| text.split_whitespace().map(Value::from).collect::<Vec<_>>();
        for (longer, shorter, count) in
            [("b a", "a", 2), ("a b a", "a a", 3), ("a c", "b c", 3), ("a", "b", 2)]
        {
            let mut all = Vec::new();
            merge(&mut all, list(longer));
            merge(&mut all, list(shorter));
            for part in [longer, shorter] {
                let part = list(part);
                let kept: Vec<_> = all.iter().filter(|item| part.contains(item)).collect();
                assert_eq!(kept, part.iter().collect::<Vec<_>>(), "{all:?}");
            }
            assert_eq!(all.len(), count);
        }
    }
}
