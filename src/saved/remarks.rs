//! What a snapshot gives reason to say beside the answer: the controller takes no notice of it, and
//! people should. Nothing here changes a snapshot.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::assemble::{asked, is_built_in, resource_of, save_command};
use crate::apimachinery::{go, json, names};
use crate::numbers;
use crate::snapshot::hpa::{Hpa, MetricSpec, MetricStatus};
use crate::snapshot::input::Input;
use crate::snapshot::pod::Pod;
use crate::snapshot::{Documents, MetricAnswer, ScaleError, Snapshot, Unread};

/// The types of metrics that there are.
const TYPES: [&str; 5] = ["Resource", "ContainerResource", "Pods", "Object", "External"];

/// All that there is to say.
pub(crate) fn on(snapshot: &Snapshot) -> Vec<String> {
    let deleted = snapshot.hpa.deletion_timestamp.map(|since| {
        let since = json::SecondsTime(since);
        format!(
            "the HPA is being deleted since {since}; the controller acts on it until it is gone"
        )
    });
    deleted
        .into_iter()
        .chain(unknown_types(snapshot))
        .chain(unused_tolerances(snapshot))
        .chain(no_such_container(snapshot))
        .chain(stale(snapshot))
        .chain(no_target(snapshot))
        .chain(missing(snapshot))
        .chain(last_read(snapshot))
        .collect()
}

impl Input {
    /// Says anew what looks wrong, now that the snapshot is not the one of before.
    pub fn remark_anew(&mut self, before: &Snapshot) {
        let stale = on(before);
        self.notes.retain(|note| !stale.contains(note));
        self.notes.extend(on(&self.snapshot));
    }
}

/// Tolerances of the spec that the controller does not look at. An API server keeps one that was there
/// before the gate was switched off.
fn unused_tolerances(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let controller = &snapshot.controller;
    let behavior = snapshot.hpa.spec.behavior.iter();
    let behavior = behavior.filter(|_| !controller.gates.configurable_tolerance);
    let rules = behavior.flat_map(|it| [("scaleUp", &it.scale_up), ("scaleDown", &it.scale_down)]);
    let set = rules.filter(|(_, rules)| rules.as_ref().is_some_and(|it| it.tolerance.is_some()));
    set.map(|(direction, _)| {
        format!(
            "spec.behavior.{direction}.tolerance is ignored: the controller of {} does not look at it \
             unless the feature gate HPAConfigurableTolerance is on",
            controller.version
        )
    })
}

fn unknown_types(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let unknown = metrics.filter(|(_, metric)| !TYPES.contains(&&*metric.type_));
    unknown.map(|(index, metric)| {
        let type_ = go::quote(&metric.type_);
        format!(
            "spec.metrics[{index}] has the unknown type {type_}: it counts as failed, and a \
             controller that knows it can come to another answer"
        )
    })
}

/// What an input that does not have the target needs.
fn no_target(snapshot: &Snapshot) -> Option<String> {
    let Err(ScaleError::Missing(target)) = &snapshot.scale else { return None };
    let own = &snapshot.hpa.spec.scale_target_ref;
    let document = match is_built_in(own.group(), &own.kind) {
        true => own.kind.clone(),
        false => format!("Scale of the {}", own.kind),
    };
    let save = save_command(&snapshot.hpa);
    Some(format!("the input has no {target}, the target: add the {document}; {save}"))
}

/// Where a metric is about a container that no pod of the target has.
fn no_such_container(snapshot: &Snapshot) -> Vec<String> {
    let scale = snapshot.scale.as_ref();
    let is_own = |pod: &Pod| scale.is_ok_and(|scale| scale.selector.matches(&pod.labels));
    let pods = snapshot.pods.iter().filter(|pod| !pod.containers.is_empty() && is_own(pod));
    let pods: Vec<&Pod> = pods.collect();
    let names = pods.iter().flat_map(|pod| pod.containers.iter().map(|container| &*container.name));
    let names: BTreeSet<String> = names.map(go::quote).collect();
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let sources = metrics.filter_map(|(i, metric)| Some((i, metric.container_resource.as_ref()?)));
    sources
        .filter(|(_, source)| {
            !pods.is_empty() && !pods.iter().any(|pod| pod.has_container(&source.container))
        })
        .map(|(index, source)| {
            let container = go::quote(&source.container);
            let names: Vec<String> = names.iter().cloned().collect();
            let names = names.join(", ");
            format!(
                "spec.metrics[{index}].containerResource.container is {container}, and no pod of the \
                 target has such a container: they have {names}"
            )
        })
        .collect()
}

/// Where values are stale: the controller takes them as they are.
fn stale(snapshot: &Snapshot) -> Vec<String> {
    let age = |timestamp: Timestamp, window: SignedDuration| {
        let is_stale = snapshot.is_stale(timestamp, window);
        is_stale.then(|| snapshot.now.duration_since(timestamp))
    };
    let mut notes = Vec::new();
    let mut tell = |what: &str, ages: Vec<Option<SignedDuration>>| {
        let old: Vec<_> = ages.iter().flatten().collect();
        if let Some(oldest) = old.iter().max() {
            let oldest = numbers::age(**oldest);
            let (old, all) = (old.len(), ages.len());
            notes.push(format!(
                "{what} of {old} of {all} pods are older than twice their window, up to {oldest}"
            ));
        }
    };
    let usage = snapshot.pod_metrics.iter().map(|item| age(item.timestamp, item.window));
    tell("the metrics", usage.collect());
    for (spec, answer) in snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics) {
        if let (MetricAnswer::Pods(values), (_, Some(name))) = (answer, asked(spec)) {
            let values = values.iter().map(|value| age(value.timestamp, value.window));
            tell(&format!("the values of {name}"), values.collect());
        }
    }
    notes
}

/// What the input lacks, and the commands that save it.
fn missing(snapshot: &Snapshot) -> Vec<String> {
    let Hpa { namespace, spec, .. } = &snapshot.hpa;
    let unread = spec.metrics.iter().zip(&snapshot.metrics);
    let commands: BTreeSet<(Documents, String)> = unread
        .filter_map(|(spec, answer)| match answer {
            MetricAnswer::Unread(Unread::Missing { documents }) => {
                Some((*documents, command(*documents, namespace, spec)))
            }
            _ => None,
        })
        .collect();
    let mut notes: Vec<String> = commands
        .into_iter()
        .map(|(documents, command)| {
            format!("the input has no {}; `{command}` prints them", documents.kind())
        })
        .collect();
    if !notes.is_empty() {
        notes.push(save_command(&snapshot.hpa));
    }
    notes
}

/// The command that prints what the input lacks.
fn command(documents: Documents, namespace: &str, spec: &MetricSpec) -> String {
    let raw = |api: &str, rest: String| {
        let path = format!("/apis/{api}/namespaces/{namespace}/{rest}");
        format!("kubectl get --raw {}", names::shell_word(&path))
    };
    let name = spec.name();
    match documents {
        // A metric needs none; who says so all the same gets what scales are made of.
        Documents::Scale => {
            let kinds = "deployments,statefulsets,replicasets";
            format!("kubectl get {kinds} -n {} -o yaml", names::shell_word(namespace))
        }
        Documents::Pod => {
            format!("kubectl get pods -n {} -o yaml", names::shell_word(namespace))
        }
        Documents::PodMetrics => raw("metrics.k8s.io/v1beta1", "pods".to_owned()),
        Documents::MetricValueList => {
            let object = spec.object.as_ref().filter(|_| spec.type_ == "Object");
            let object = object.map(|source| &source.described_object);
            let of = match object {
                None => "pods/*".to_owned(),
                Some(object) if object.is_namespace() => "metrics".to_owned(),
                Some(object) => {
                    format!("{}/{}", resource_of(object.group(), &object.kind), object.name)
                }
            };
            raw("custom.metrics.k8s.io/v1beta1", format!("{of}/{name}"))
        }
        Documents::ExternalMetricValueList => {
            raw("external.metrics.k8s.io/v1beta1", name.to_owned())
        }
    }
}

/// What the controller wrote into the status about metrics that are unread here.
fn last_read(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let hpa = &snapshot.hpa;
    let statuses = hpa.status.current_metrics.iter().flatten();
    let metrics = hpa.spec.metrics.iter().zip(&snapshot.metrics).zip(statuses);
    let unread = metrics.filter(|((_, answer), _)| answer.is_unread());
    unread.filter_map(|((spec, _), status)| {
        let (name, value) = (asked(spec).1?, value(spec, status)?);
        let age = hpa.written.status.map_or_else(String::new, |changed| {
            let age = numbers::age(snapshot.now.duration_since(changed));
            format!(", in a status that last changed {age} ago")
        });
        Some(format!("{name}: the controller itself last read {value}{age}"))
    })
}

/// `63% (12m)`, `12m`: the value in a status, if it is of that metric.
fn value(spec: &MetricSpec, status: &MetricStatus) -> Option<String> {
    if status.type_ != spec.type_ {
        return None;
    }
    let current = [
        status.resource.as_ref().map(|status| &status.current),
        status.container_resource.as_ref().map(|status| &status.current),
        status.pods.as_ref().map(|status| &status.current),
        status.object.as_ref().map(|status| &status.current),
        status.external.as_ref().map(|status| &status.current),
    ]
    .into_iter()
    .flatten()
    .next()?;
    let amount = current.average_value.as_ref().or(current.value.as_ref());
    match (current.average_utilization, amount) {
        (Some(percent), Some(amount)) => Some(format!("{percent}% ({amount})")),
        (Some(percent), None) => Some(format!("{percent}%")),
        (None, Some(amount)) => Some(amount.to_string()),
        (None, None) => None,
    }
}
