//! Notes about a snapshot: users should know them, although the controller ignores their subjects.
//! Nothing here changes a snapshot.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::assemble::{asked, resource_of};
use crate::snapshot::hpa::{Hpa, MetricSource, MetricSpec, MetricStatus, MetricValueStatus};
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;
use crate::snapshot::pod::{Phase, Pod, ZERO_TIME};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, Surroundings};
use crate::snapshot::{Documents, MetricAnswer, ScaleError, Snapshot, UnreadCause};

/// Returns all notes about a snapshot.
pub(crate) fn on(snapshot: &Snapshot) -> Vec<Note> {
    let deleted = snapshot
        .hpa
        .deletion_timestamp
        .map(|since| Note::HpaDeleted { since });
    deleted
        .into_iter()
        .chain(unknown_types(snapshot))
        .chain(unused_tolerances(snapshot))
        .chain(no_such_container(snapshot))
        .chain(no_condition(snapshot))
        .chain(stale(snapshot))
        .chain(no_target(snapshot))
        .chain(missing(snapshot))
        .chain(last_read(snapshot))
        .collect()
}

impl Input {
    /// Repeats the notes about what looks wrong, now that the snapshot has changed.
    pub fn remark_anew(&mut self, before: &Snapshot) {
        let stale = on(before);
        self.notes
            .retain(|note| !stale.contains(note) && !is_of_input(note));
        self.remark();
    }

    /// Adds the notes about its snapshot.
    pub(crate) fn remark(&mut self) {
        let Snapshot { hpa, metrics, .. } = &self.snapshot;
        let mut notes = on(&self.snapshot);
        if self.surroundings.supposed.is_some() {
            // What commands print is of a cluster, and these pods are of none.
            notes.retain(|note| {
                !matches!(note, Note::NoDocuments { .. } | Note::SaveCommand { .. })
            });
            let unknown = hpa
                .spec
                .metrics
                .iter()
                .zip(metrics)
                .filter(|(_, answer)| answer.is_missing());
            let unknown: Vec<MetricSpec> = unknown.map(|(spec, _)| spec.clone()).collect();
            notes.extend((!unknown.is_empty()).then_some(Note::NoValues(unknown)));
        } else if self.surroundings.lacks_pods {
            notes.extend(target_shared(&self.snapshot, &self.surroundings));
        }
        for note in &mut notes {
            let flags = || self.command_flags.clone();
            if let Note::NoTarget {
                elsewhere,
                assuming,
                ..
            } = note
            {
                elsewhere.clone_from(&self.surroundings.target_elsewhere);
                let is_assumed = self.surroundings.lacks_pods && elsewhere.is_none();
                *assuming = is_assumed.then(flags);
            } else if let Note::NoReplicas { assuming } = note {
                *assuming = self.surroundings.lacks_pods.then(flags);
            } else if let Note::SaveCommand { candidate } = note {
                *candidate = self.flags_of_candidate();
            }
        }
        self.notes.extend(notes);
    }
}

/// Whether a note says more than the snapshot does.
fn is_of_input(note: &Note) -> bool {
    matches!(
        note,
        Note::NoValues(_)
            | Note::TargetShared { .. }
            | Note::NoTarget { .. }
            | Note::NoReplicas { .. }
            | Note::SaveCommand { .. }
    )
}

/// Notes what else scales the target: whether they share pods cannot be seen without pods.
fn target_shared(snapshot: &Snapshot, surroundings: &Surroundings) -> Option<Note> {
    if snapshot.controller.version.minor() < 26 {
        return None;
    }
    let target = &snapshot.hpa.spec.scale_target_ref;
    let others = snapshot.other_hpas.iter().map(|other| &other.hpa);
    let rivals = others.chain(&surroundings.rivals);
    let rivals: Vec<&Hpa> = rivals
        .filter(|other| other.spec.scale_target_ref.is_same(target))
        .collect();
    let is_known = |object: &&ScaledObject| {
        let mut hpas = rivals.iter().copied().chain([&snapshot.hpa]);
        hpas.any(|hpa| object.creates(hpa))
    };
    let scaled_objects = surroundings.scaled_objects.iter();
    let scaled_objects =
        scaled_objects.filter(|own| own.scales(target) && own.paused_by().is_none());
    let scaled_objects = scaled_objects.filter(|own| !is_known(own));
    let rivals = rivals.iter().map(|hpa| format!("HPA {}", hpa.name));
    let of_keda = scaled_objects.map(|own| format!("ScaledObject {}", own.metadata.name));
    let others: Vec<String> = rivals.chain(of_keda).collect();
    (!others.is_empty()).then_some(Note::TargetShared { others })
}

/// Notes tolerances of the spec that the controller ignores. An API server keeps an existing one after
/// the gate is switched off.
fn unused_tolerances(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let controller = &snapshot.controller;
    let behavior = snapshot.hpa.spec.behavior.iter();
    let behavior = behavior.filter(|_| !controller.gates.configurable_tolerance);
    let rules = behavior.flat_map(|it| [("scaleUp", &it.scale_up), ("scaleDown", &it.scale_down)]);
    let set = rules.filter(|(_, rules)| rules.as_ref().is_some_and(|it| it.tolerance.is_some()));
    set.map(|(direction, _)| Note::ToleranceIgnored {
        direction,
        version: controller.version.clone(),
    })
}

fn unknown_types(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let unknown = metrics.filter(|(_, metric)| metric.source() == MetricSource::Unknown);
    unknown.map(|(index, metric)| Note::UnknownMetricType {
        index,
        type_: metric.type_.clone(),
    })
}

/// Notes what an input without the target needs.
fn no_target(snapshot: &Snapshot) -> Option<Note> {
    match &snapshot.scale {
        Err(ScaleError::Missing(target)) => Some(Note::NoTarget {
            target: target.clone(),
            elsewhere: None,
            assuming: None,
        }),
        Err(ScaleError::NoReplicas { .. }) => Some(Note::NoReplicas { assuming: None }),
        _ => None,
    }
}

/// Notes running pods whose condition Ready is not stated, as only those are that are written by hand.
fn no_condition(snapshot: &Snapshot) -> Option<Note> {
    let selector = snapshot.selector().ok()?;
    let is_one = |pod: &&Shared<Pod>| {
        pod.phase == Phase::Running && pod.ready.is_none() && selector.matches(&pod.labels)
    };
    let pods = snapshot.pods.iter().filter(is_one);
    let pods: Vec<String> = pods.map(|pod| pod.name.to_string()).collect();
    (!pods.is_empty()).then_some(Note::NoCondition { pods })
}

/// Notes metrics about a container that no pod of the target has.
fn no_such_container(snapshot: &Snapshot) -> Vec<Note> {
    let scale = snapshot.scale.as_ref();
    let is_own = |pod: &Pod| scale.is_ok_and(|scale| scale.selector.matches(&pod.labels));
    let pods = snapshot
        .pods
        .iter()
        .filter(|pod| !pod.containers.is_empty() && is_own(pod));
    let pods: Vec<&Shared<Pod>> = pods.collect();
    let names = pods
        .iter()
        .flat_map(|pod| pod.containers.iter().map(|container| &*container.name));
    let names: BTreeSet<&str> = names.collect();
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let containers = metrics.filter_map(|(i, metric)| Some((i, metric.container()?)));
    containers
        .filter(|(_, container)| {
            !pods.is_empty() && !pods.iter().any(|pod| pod.has_container(container))
        })
        .map(|(index, container)| Note::NoSuchContainer {
            index,
            container: container.to_owned(),
            containers: names.iter().map(|name| (*name).to_owned()).collect(),
        })
        .collect()
}

/// Notes values that are stale, and those whose age is unknown: the controller uses them as they are.
fn stale(snapshot: &Snapshot) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut tell = |metric: Option<&str>, samples: Vec<(Timestamp, SignedDuration)>| {
        let (metric, total) = (metric.map(str::to_owned), samples.len());
        let untimed = samples
            .iter()
            .filter(|(timestamp, _)| *timestamp == ZERO_TIME)
            .count();
        if untimed > 0 {
            notes.push(Note::UntimedValues {
                metric: metric.clone(),
                untimed,
                total,
            });
        }
        let stale = samples
            .iter()
            .filter(|(timestamp, window)| snapshot.is_stale(*timestamp, *window));
        let ages = stale.map(|(timestamp, _)| snapshot.now.duration_since(*timestamp));
        if let Some(oldest) = ages.clone().max() {
            notes.push(Note::StaleValues {
                metric,
                stale: ages.count(),
                total,
                oldest,
            });
        }
    };
    if snapshot
        .hpa
        .spec
        .metrics
        .iter()
        .any(MetricSpec::is_resource)
    {
        let usage = snapshot
            .pod_metrics
            .iter()
            .map(|item| (item.timestamp, item.window));
        tell(None, usage.collect());
    }
    for (spec, answer) in snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics) {
        if let (MetricAnswer::Pods(values), (_, Some(name))) = (answer, asked(spec)) {
            let values = values.iter().map(|value| (value.timestamp, value.window));
            tell(Some(name), values.collect());
        }
    }
    notes
}

/// Notes what the input lacks.
fn missing(snapshot: &Snapshot) -> Vec<Note> {
    if snapshot
        .scale
        .as_ref()
        .is_err_and(|e| e.lacking().is_some())
    {
        // Without the target's scale nothing else is asked for.
        return Vec::new();
    }
    let Hpa {
        namespace, spec, ..
    } = &snapshot.hpa;
    let unread = spec.metrics.iter().zip(&snapshot.metrics);
    let lacking: BTreeSet<(Documents, Option<String>)> = unread
        .filter_map(|(spec, answer)| match answer {
            // No command prints what a history lacks.
            MetricAnswer::Unread(UnreadCause::Missing {
                documents: Documents::Samples,
            }) => None,
            MetricAnswer::Unread(UnreadCause::Missing { documents }) => {
                Some((*documents, path(*documents, namespace, spec)))
            }
            _ => None,
        })
        .collect();
    let save = (!lacking.is_empty()).then(|| Note::SaveCommand {
        candidate: String::new(),
    });
    let lacking = lacking
        .into_iter()
        .map(|(documents, path)| Note::NoDocuments { documents, path });
    lacking.chain(save).collect()
}

/// Returns the path that returns what the input lacks, if a metrics API serves it.
fn path(documents: Documents, namespace: &str, spec: &MetricSpec) -> Option<String> {
    let path = |api: &str, rest: String| Some(format!("/apis/{api}/namespaces/{namespace}/{rest}"));
    let name = spec.name();
    match documents {
        Documents::Scale | Documents::Pod | Documents::Samples => None,
        Documents::PodMetrics => path("metrics.k8s.io/v1beta1", "pods".to_owned()),
        Documents::MetricValueList => {
            let of = match spec.described_object() {
                None => "pods/*".to_owned(),
                Some(object) if object.is_namespace() => "metrics".to_owned(),
                Some(object) => {
                    format!(
                        "{}/{}",
                        resource_of(object.group(), &object.kind),
                        object.name
                    )
                }
            };
            path("custom.metrics.k8s.io/v1beta1", format!("{of}/{name}"))
        }
        Documents::ExternalMetricValueList => {
            path("external.metrics.k8s.io/v1beta1", name.to_owned())
        }
    }
}

/// Notes what the controller wrote into the status about metrics that are unread here.
fn last_read(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let hpa = &snapshot.hpa;
    let statuses = hpa.status.current_metrics.iter().flatten();
    let metrics = hpa.spec.metrics.iter().zip(&snapshot.metrics).zip(statuses);
    let unread = metrics.filter(|((_, answer), _)| answer.is_unread());
    unread.filter_map(|((spec, _), status)| {
        Some(Note::LastRead {
            metric: asked(spec).1?.to_owned(),
            value: Box::new(value(spec, status)?.clone()),
            age: hpa
                .written
                .status
                .map(|changed| snapshot.now.duration_since(changed)),
        })
    })
}

/// Returns the value in a status, if it belongs to that metric.
fn value<'s>(spec: &MetricSpec, status: &'s MetricStatus) -> Option<&'s MetricValueStatus> {
    let current = status.current().filter(|_| status.type_ == spec.type_)?;
    Some(current).filter(|current| **current != MetricValueStatus::default())
}
