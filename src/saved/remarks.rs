//! Notes about a snapshot: users should know them, although the controller ignores their subjects.
//! Nothing here changes a snapshot.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::{asked, save_command};
use super::request;
use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::{go, names};
use crate::apiserver::default::{DroppedField, drop_disabled};
use crate::error::listed;
use crate::numbers::age;
use crate::snapshot::command_flags::CommandFlags;
use crate::snapshot::hpa::{
    Hpa, HpaSpec, MetricSource, MetricSpec, MetricStatus, MetricTarget, MetricValueStatus,
};
use crate::snapshot::input::Input;
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::pod::{Phase, Pod};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::Surroundings;
use crate::snapshot::value;
use crate::snapshot::{Documents, Measurement, MetricAnswer, ScaleError, Snapshot, UnreadCause};
use crate::version::Version;

/// Returns all notes about a snapshot of an input.
fn on(snapshot: &Snapshot, input: &Input) -> Vec<Note> {
    let hpa = &snapshot.hpa;
    let target = input.surroundings.workload(&hpa.spec.scale_target_ref);
    let marked = [
        ("HPA", hpa.deletion_timestamp),
        (
            "target",
            target.and_then(|it| it.metadata.deletion_timestamp),
        ),
    ];
    let deleted = marked.into_iter().filter_map(|(what, since)| {
        let since = SecondsTime(since?);
        Some(Note::new(format!(
            "the {what} has been marked for deletion since {since}; the controller acts on it until it is gone"
        )))
    });
    deleted
        .chain(unknown_types(snapshot))
        .chain(unused_fields(snapshot))
        .chain(other_namespaces(snapshot))
        .chain(no_such_container(snapshot))
        .chain(no_condition(snapshot))
        .chain(stale(snapshot))
        .chain(no_target(snapshot, input))
        .chain(missing(snapshot, input))
        .chain(last_read(snapshot))
        .chain(last_failures(snapshot))
        .collect()
}

impl Input {
    /// Replaces the notes about the snapshot after it has changed.
    pub fn remark_anew(&mut self, before: &Snapshot) {
        let stale = on(before, self);
        self.notes
            .retain(|note| !stale.contains(note) && !is_of_input(note));
        self.remark();
    }

    /// Adds the notes about the snapshot.
    pub(crate) fn remark(&mut self) {
        let mut notes = on(&self.snapshot, self);
        if self.surroundings.supposed.is_some() {
            notes.extend(no_values(&self.snapshot));
        }
        notes.extend(target_shared(&self.snapshot, &self.surroundings));
        self.notes.extend(notes);
    }
}

/// Whether a note contains more information than the snapshot.
fn is_of_input(note: &Note) -> bool {
    matches!(note.subject, Subject::NoValues | Subject::InputLacks)
}

/// Returns a note about metrics without a value in a state whose pods are assumed.
fn no_values(snapshot: &Snapshot) -> Option<Note> {
    let Snapshot { hpa, metrics, .. } = snapshot;
    let all = &hpa.spec.metrics;
    let unknown: Vec<&MetricSpec> = all
        .iter()
        .zip(metrics)
        .filter(|(_, answer)| answer.is_missing())
        .map(|(spec, _)| spec)
        .collect();
    let labels: Vec<String> = unknown.iter().map(|own| own.label(all)).collect();
    let text = format!(
        "the pass has no value of {}; state it, such as {}",
        listed(&labels),
        value_flags(unknown, hpa)
    );
    (!labels.is_empty()).then(|| Note::about(Subject::NoValues, text))
}

/// Returns a note about other HPAs and ScaledObjects for the target. Without pods, it cannot be determined whether they
/// share pods. With pods, also assumed ones, the pass determines it for HPAs, and a ScaledObject without an HPA matters
/// if it is a manifest: KEDA may create the HPA once it is applied.
fn target_shared(snapshot: &Snapshot, surroundings: &Surroundings) -> Option<Note> {
    let is_refused = matches!(
        snapshot.scale,
        Err(ScaleError::Mapping(_) | ScaleError::Get(_))
    );
    if snapshot.controller.version.minor() < 26 || is_refused {
        return None;
    }
    let is_unclear = surroundings.supposed.is_none() && surroundings.lacks_pods;
    let target = &snapshot.hpa.spec.scale_target_ref;
    let rivals: Vec<&Hpa> = snapshot
        .other_hpas
        .iter()
        .map(|other| &other.hpa)
        .chain(&surroundings.rivals)
        .filter(|other| other.spec.scale_target_ref.is_same(target))
        .collect();
    let of_keda = surroundings
        .scaled_objects
        .iter()
        .filter(|object| is_unclear || object.metadata.uid.is_empty())
        .filter(|object| object.is_of(target) && object.pauses().is_empty())
        .filter(|object| {
            let mut hpas = rivals.iter().copied().chain([&snapshot.hpa]);
            !hpas.any(|hpa| object.creates(hpa))
        })
        .map(|object| format!("ScaledObject {}", object.metadata.name));
    let others: Vec<String> = rivals
        .iter()
        .filter(|_| is_unclear)
        .map(|hpa| format!("HPA {}", hpa.name))
        .chain(of_keda)
        .collect();
    let scale = match others.len() {
        0 => return None,
        1 => "scales",
        _ => "scale",
    };
    let text = format!(
        "{} {scale} the same target: since Kubernetes 1.26 the controller scales none of the HPAs that select \
         the same pods, so keep one",
        listed(&others)
    );
    Some(Note::about(Subject::InputLacks, text))
}

/// Returns notes about fields of the behavior that the controller ignores. An API server keeps existing
/// ones after the gate is switched off. A metric that the controller ignores is an error of its own.
fn unused_fields(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let mut spec = HpaSpec {
        behavior: snapshot.hpa.spec.behavior.clone(),
        ..HpaSpec::default()
    };
    let unused = drop_disabled(&mut spec, snapshot.controller.gates);
    let version = &snapshot.controller.version;
    unused.into_iter().map(|field| on_unused(field, version))
}

fn on_unused(field: DroppedField, version: &Version) -> Note {
    let DroppedField { path, gate, .. } = field;
    let named = version.named();
    let why = if gate.stage(version).is_settable() {
        format!("the controller of {named} uses it only with the feature gate {gate}")
    } else {
        format!("the controller of {named} does not have it")
    };
    let text = format!("{path} is ignored: {why}");
    Note::about(Subject::FieldUnused { path, gate }, text)
}

/// Returns notes about metrics that describe another namespace than the one that the controller asks about.
fn other_namespaces(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let hpa = &snapshot.hpa;
    let metrics = hpa.spec.metrics.iter().enumerate();
    let others = metrics.filter(|(_, metric)| hpa.describes_other_namespace(metric));
    others.map(|(index, _)| {
        Note::new(format!(
            "spec.metrics[{index}].object.describedObject.name is ignored: the controller asks for the metric of the \
             HPA's own namespace, {}",
            hpa.namespace
        ))
    })
}

fn unknown_types(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let unknown = metrics.filter(|(_, metric)| metric.source() == MetricSource::Unknown);
    unknown.map(|(index, metric)| {
        Note::new(format!(
            "spec.metrics[{index}] has the unknown type {}: it counts as failed, and a controller \
             that supports it may decide differently",
            go::quote(&metric.type_)
        ))
    })
}

/// Returns a note about what an input without the target needs.
fn no_target(snapshot: &Snapshot, input: &Input) -> Option<Note> {
    let Surroundings {
        lacks_pods,
        target_elsewhere,
        ..
    } = &input.surroundings;
    let (hpa, e) = (&snapshot.hpa, snapshot.scale.as_ref().err()?);
    let lacking = e.lacking()?;
    let save = save_command(hpa, "");
    let assume = lacks_pods.then(|| assume_pods(hpa, &input.command_flags, false));
    let text = match (e, target_elsewhere, assume) {
        (ScaleError::NoReplicas { .. }, _, Some(assume)) => format!("{assume}; {save}"),
        (ScaleError::NoReplicas { .. }, _, None) => {
            format!("{}; {save}", state_replicas(snapshot, &input.command_flags))
        }
        (_, Some(elsewhere), _) => format!("{lacking}: {elsewhere}; {}", elsewhere.remedy()),
        (_, None, assume) => {
            let alternative = assume.map_or_else(String::new, |assume| format!("; {assume}"));
            format!("{lacking}: add it; {save}{alternative}")
        }
    };
    Some(Note::about(Subject::InputLacks, text))
}

/// Returns a note about running pods without a condition Ready; only pods that are written by hand lack it.
fn no_condition(snapshot: &Snapshot) -> Option<Note> {
    let selector = snapshot.selector().ok()?;
    let is_one = |pod: &&Shared<Pod>| {
        pod.phase == Phase::Running && pod.ready.is_none() && selector.matches(&pod.labels)
    };
    let pods: Vec<String> = snapshot
        .pods
        .iter()
        .filter(is_one)
        .map(|pod| pod.name.to_string())
        .collect();
    let counts = match pods.len() {
        0 => return None,
        1 => "states no condition Ready and counts",
        _ => "state no condition Ready and count",
    };
    Some(Note::new(format!(
        "{} {counts} as not ready",
        listed(&pods)
    )))
}

/// Returns notes about metrics for a container that no pod of the target has.
fn no_such_container(snapshot: &Snapshot) -> Vec<Note> {
    let scale = snapshot.scale.as_ref();
    let is_own = |pod: &Pod| scale.is_ok_and(|scale| scale.selector.matches(&pod.labels));
    let pods: Vec<&Shared<Pod>> = snapshot
        .pods
        .iter()
        .filter(|pod| !pod.containers.is_empty() && is_own(pod))
        .collect();
    let names: BTreeSet<&str> = pods
        .iter()
        .flat_map(|pod| pod.containers.iter().map(|container| &*container.name))
        .collect();
    let quoted: Vec<String> = names.into_iter().map(go::quote).collect();
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let containers = metrics.filter_map(|(i, metric)| Some((i, metric.container()?)));
    containers
        .filter(|(_, container)| {
            !pods.is_empty() && !pods.iter().any(|pod| pod.has_container(container))
        })
        .map(|(index, container)| {
            let text = format!(
                "spec.metrics[{index}]: no pod of the target has a container {}: they have {}",
                go::quote(container),
                quoted.join(", ")
            );
            Note::about(Subject::NoSuchContainer { index }, text)
        })
        .collect()
}

/// Returns notes about values that are stale, and about those whose age is unknown: the controller uses
/// them unchanged.
fn stale(snapshot: &Snapshot) -> Vec<Note> {
    let mut notes = Vec::new();
    if snapshot
        .hpa
        .spec
        .metrics
        .iter()
        .any(MetricSpec::is_resource)
    {
        let usage = snapshot.measurements(&MetricAnswer::PodMetrics);
        notes.extend(stale_samples(snapshot, None, &usage));
    }
    for (spec, answer) in snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics) {
        if let (MetricAnswer::Pods(_), (_, Some(name))) = (answer, asked(spec)) {
            let samples = snapshot.measurements(answer);
            notes.extend(stale_samples(snapshot, Some(name), &samples));
        }
    }
    notes
}

/// Returns notes about stale samples of a metric, or of the resource metrics API.
fn stale_samples(
    snapshot: &Snapshot,
    metric: Option<&str>,
    samples: &[Measurement<'_>],
) -> Vec<Note> {
    let mut notes = Vec::new();
    let total = samples.len();
    let values = metric.map_or_else(
        || "the metrics".to_owned(),
        |name| format!("the values of {name}"),
    );
    let untimed = samples
        .iter()
        .filter(|sample| sample.time.is_none())
        .count();
    if untimed > 0 {
        notes.push(Note::new(format!(
            "{values} of {untimed} of {total} pods state no timestamp, so their age is unknown"
        )));
    }
    let stale = samples.iter().filter(|sample| snapshot.is_stale(sample));
    let times = stale.filter_map(|sample| sample.time);
    let ages = times.map(|time| snapshot.now.duration_since(time));
    if let Some(oldest) = ages.clone().max() {
        let text = format!(
            "{values} of {} of {total} pods are older than both a minute and twice their window (up to {})",
            ages.count(),
            age(oldest)
        );
        let subject = Subject::StaleValues {
            metric: metric.map(str::to_owned),
        };
        notes.push(Note::about(subject, text));
    }
    notes
}

/// Returns notes about missing input, with the commands that print it in a cluster.
fn missing(snapshot: &Snapshot, input: &Input) -> Vec<Note> {
    // Without the target's scale, nothing else is requested, and assumed pods belong to no cluster.
    if snapshot.scale.is_err() || input.surroundings.supposed.is_some() {
        return Vec::new();
    }
    let hpa = &snapshot.hpa;
    let Hpa {
        namespace, spec, ..
    } = hpa;
    // One request may answer several metrics.
    let mut lacking: BTreeMap<(Documents, Option<String>), BTreeSet<String>> = BTreeMap::new();
    for (index, (metric, answer)) in spec.metrics.iter().zip(&snapshot.metrics).enumerate() {
        // No command prints the missing parts of a history.
        if let MetricAnswer::Unread(UnreadCause::Missing { documents }) = answer
            && *documents != Documents::Samples
        {
            let is_of_metrics_api = matches!(
                documents,
                Documents::PodMetrics
                    | Documents::PodMetricsList
                    | Documents::MetricValueList
                    | Documents::ExternalMetricValueList
            );
            let path =
                is_of_metrics_api.then(|| request::path(snapshot, &input.surroundings, metric));
            lacking
                .entry((*documents, path))
                .or_default()
                .insert(spec.label(index));
        }
    }
    let save = (!lacking.is_empty()).then(|| save_command(hpa, &input.flags_of_candidate()));
    let each = lacking.into_iter().map(|((documents, path), metrics)| {
        let lacking = format!("the input has no {}", documents.kind());
        let metrics = Vec::from_iter(metrics).join(", ");
        let command = command(documents, path.as_deref(), namespace);
        let printed = format!("`{command}` prints what is missing");
        match documents {
            Documents::Pod
            | Documents::MetricValueList
            | Documents::ExternalMetricValueList => {
                format!("{lacking} for {metrics}; {printed}")
            }
            // The same request would get the same answer.
            Documents::UnambiguousMetricValueList => {
                format!("{lacking} for {metrics}: values may be those of another metric")
            }
            Documents::UnambiguousExternalMetricValueList => format!(
                "{lacking} for {metrics}: values may be those of another metric or of another namespace"
            ),
            _ => format!("{lacking}; {printed}"),
        }
    });
    each.chain(save)
        .map(|text| Note::about(Subject::InputLacks, text))
        .collect()
}

/// Returns the command that prints the missing input.
fn command(documents: Documents, path: Option<&str>, namespace: &str) -> String {
    let kinds = match documents {
        // A metric needs no scale; if one is requested anyway, print the objects from which scales are derived.
        Documents::Scale => "deployments,statefulsets,replicasets",
        _ => "pods",
    };
    match path {
        Some(path) => format!("kubectl get --raw {}", names::shell_word(path)),
        None => format!(
            "kubectl get {kinds} -n {} -o yaml",
            names::shell_word(namespace)
        ),
    }
}

/// Returns the command that gets an answer from an input without pods. It includes the number of pods,
/// unless the input states replicas.
pub(crate) fn assume_pods(hpa: &Hpa, flags: &CommandFlags, states_replicas: bool) -> String {
    let values = value_flags(&hpa.spec.metrics, hpa);
    let own = if states_replicas {
        values
    } else {
        format!("{} {values}", replicas_flag(hpa, 0))
    };
    format!("{} assumes the pods", predicting(hpa, flags, &own))
}

/// Returns the command that gets an answer from an input that lacks only the replicas: as many as it has pods.
pub(crate) fn state_replicas(snapshot: &Snapshot, flags: &CommandFlags) -> String {
    let pods = snapshot.unended_pods().count();
    let flag = replicas_flag(&snapshot.hpa, pods);
    let command = predicting(&snapshot.hpa, flags, &flag);
    format!("{command} assumes the replicas")
}

/// Returns a command to predict with these flags in addition to the typed ones.
fn predicting(hpa: &Hpa, flags: &CommandFlags, own: &str) -> String {
    let [name, namespace] = [&hpa.name, &hpa.namespace].map(|it| names::shell_word(it));
    let command = flags.add_to(&format!("kubectl hpa predict {name} -n {namespace}"));
    format!("`{command} {}`", flags.with_assumed(own))
}

fn replicas_flag(hpa: &Hpa, pods: usize) -> String {
    let replicas = match i32::try_from(pods) {
        // Inside the bounds, as an example.
        Ok(0) | Err(_) => 3.min(hpa.spec.max_replicas).max(hpa.spec.min()),
        Ok(pods) => pods,
    };
    format!("--replicas {replicas}")
}

/// Returns flags of `predict` that give metrics of an HPA a value: for a container rather than for the
/// pods, because both are based on the same usage.
pub(crate) fn value_flags<'m>(
    metrics: impl IntoIterator<Item = &'m MetricSpec>,
    hpa: &Hpa,
) -> String {
    let specs: Vec<&MetricSpec> = metrics.into_iter().collect();
    let of_containers: Vec<&str> = specs
        .iter()
        .filter(|spec| spec.container().is_some())
        .map(|spec| spec.name())
        .collect();
    let flags: Vec<String> = specs
        .iter()
        .filter(|spec| {
            !spec.is_resource()
                || spec.container().is_some()
                || !of_containers.contains(&spec.name())
        })
        .map(|spec| value_flag(spec, hpa))
        .collect();
    flags.join(" ")
}

/// Returns the flag that gives a metric a value, as an example: usual usage, or the target, which has the metric's unit.
fn value_flag(spec: &MetricSpec, hpa: &Hpa) -> String {
    let name = spec.name();
    let target = spec.target().map(MetricTarget::of_its_type);
    let amount = target.as_ref().and_then(MetricTarget::amount);
    let value = match (name, amount) {
        _ if spec.is_utilization() => "80%".to_owned(),
        ("cpu", _) if spec.is_resource() => "250m".to_owned(),
        ("memory", _) if spec.is_resource() => "200Mi".to_owned(),
        (_, Some(amount)) => amount.to_string(),
        (_, None) => "30".to_owned(),
    };
    if !spec.is_resource() || !["cpu", "memory"].contains(&name) {
        let flag = format!("{}={value}", spec.flag_name(&hpa.spec.metrics));
        return format!("--metric {}", names::shell_word(&flag));
    }
    let container = spec.container().map(|own| format!("{own}="));
    let flag = container.unwrap_or_default() + &value;
    format!("--{name} {}", names::shell_word(&flag))
}

/// Returns notes about the values in the status, which the controller wrote, of metrics that are unread
/// here.
fn last_read(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let hpa = &snapshot.hpa;
    let statuses = hpa.status.current_metrics.iter().flatten();
    let metrics = hpa.spec.metrics.iter().zip(&snapshot.metrics).zip(statuses);
    let unread = metrics.filter(|((_, answer), _)| answer.is_unread());
    unread.filter_map(|((spec, _), status)| {
        let metric = asked(spec).1?;
        let value = value::value(Some(spec), current(spec, status)?);
        Some(Note::new(format!(
            "{metric}: the controller itself last read {value}{}",
            written(snapshot)
        )))
    })
}

/// Returns notes about the failures in the status, which the controller wrote, that concern a scale or a metric that is
/// unread here.
fn last_failures(snapshot: &Snapshot) -> impl Iterator<Item = Note> {
    let Hpa { spec, status, .. } = &snapshot.hpa;
    let is_scale_unread = snapshot
        .scale
        .as_ref()
        .is_err_and(|e| e.lacking().is_some());
    let metrics = spec.metrics.iter().zip(&snapshot.metrics);
    let unread = metrics.filter(|(_, answer)| answer.is_unread());
    let reasons: Vec<String> = unread
        .map(|(spec, _)| format!("FailedGet{}Metric", spec.type_))
        .chain(is_scale_unread.then(|| "FailedGetScale".to_owned()))
        .collect();
    let conditions = ["AbleToScale", "ScalingActive"].into_iter();
    let failed = conditions
        .filter_map(|type_| status.condition(type_))
        .filter(move |it| it.status == "False" && reasons.contains(&it.reason));
    failed.map(|condition| reported(condition, &written(snapshot)))
}

fn reported(failed: &Condition, written: &str) -> Note {
    let Condition {
        reason, message, ..
    } = failed;
    let why = match &**message {
        "" => String::new(),
        message => format!(": {message}"),
    };
    Note::new(format!(
        "the controller itself reported {reason}{written}{why}"
    ))
}

/// Returns the age of the status.
fn written(snapshot: &Snapshot) -> String {
    snapshot
        .hpa
        .written
        .status
        .map_or_else(String::new, |changed| {
            let age = age(snapshot.now.duration_since(changed));
            format!(", in a status that last changed {age} ago")
        })
}

/// Returns the value in a status, if it belongs to that metric.
fn current<'s>(spec: &MetricSpec, status: &'s MetricStatus) -> Option<&'s MetricValueStatus> {
    let current = status.current().filter(|_| status.type_ == spec.type_)?;
    Some(current).filter(|current| **current != MetricValueStatus::default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use jiff::Timestamp;

    use crate::build;
    use crate::saved;
    use crate::snapshot::input::Options;

    #[test]
    fn a_failure_that_the_status_reports_of_what_is_unread() {
        let scaling = |status: &str, reason: &str| {
            let condition = json!({"type": "ScalingActive", "status": status, "reason": reason,
                "message": "failed to get cpu utilization"});
            let spec = json!({"maxReplicas": 3, "metrics": [build::resource("cpu", &build::utilization(50))]});
            let status = json!({"status": {"conditions": [condition]}});
            build::with(build::hpa(&spec), &status)
        };
        let usage = build::pod_metrics("web-1", "1m");
        let pod = build::pod("web-1");
        let failed = scaling("False", "FailedGetResourceMetric");
        for (items, is_noted) in [
            (vec![failed.clone()], true),
            (vec![failed, pod, usage], false),
            (vec![scaling("False", "ScalingDisabled")], false),
            (vec![scaling("True", "ValidMetricFound")], false),
        ] {
            let text = build::list(items.into_iter().chain([build::scale(1)]));
            let input = saved::read(&text, &Options::default(), Timestamp::UNIX_EPOCH);
            let notes = input.expect("an input").notes;
            let failure = "the controller itself reported FailedGetResourceMetric: \
                           failed to get cpu utilization";
            let found = notes.iter().any(|note| note.text == failure);
            assert_eq!(found, is_noted, "{text}: {notes:?}");
        }
    }

    #[test]
    fn the_name_of_a_namespace_is_ignored() {
        let metric = |kind: &str, name: &str| {
            json!({"type": "Object", "object": {"describedObject": {"kind": kind, "name": name},
                "metric": {"name": "load"}, "target": build::value("5")}})
        };
        let metrics = [
            metric("Namespace", "default"),
            metric("Service", "other"),
            metric("Namespace", "other"),
        ];
        let hpa = build::hpa(&json!({"maxReplicas": 3, "metrics": metrics}));
        let text = build::list([hpa]);
        let input = saved::read(&text, &Options::default(), Timestamp::UNIX_EPOCH);
        let notes = input.expect("an input").notes;
        let texts = notes.iter().map(|note| &*note.text);
        let ignored = texts.filter(|text| text.contains("is ignored"));
        assert_eq!(
            Vec::from_iter(ignored),
            [
                "spec.metrics[2].object.describedObject.name is ignored: the controller asks for the metric of the \
              HPA's own namespace, default"
            ]
        );
    }

    /// A scale that the input lacks may be one that the controller did not read, either.
    #[test]
    fn a_failure_to_read_the_scale_that_the_input_lacks() {
        let failed = |reason: &str| {
            let condition = json!({"type": "AbleToScale", "status": "False", "reason": reason,
                "message": "not found"});
            let status = json!({"status": {"conditions": [condition]}});
            build::with(build::hpa(&json!({"maxReplicas": 3})), &status)
        };
        for (items, is_noted) in [
            (vec![failed("FailedGetScale")], true),
            (vec![failed("FailedGetScale"), build::scale(1)], false),
            (vec![failed("FailedUpdateScale")], false),
        ] {
            let text = build::list(items);
            let input = saved::read(&text, &Options::default(), Timestamp::UNIX_EPOCH);
            let notes = input.expect("an input").notes;
            let failure = "the controller itself reported FailedGetScale: not found";
            let found = notes.iter().any(|note| note.text == failure);
            assert_eq!(found, is_noted, "{text}: {notes:?}");
        }
    }

    /// The example of a value is one that the metric takes.
    #[test]
    fn an_example_has_the_unit_of_the_target() {
        for (name, target, want) in [
            ("cpu", build::utilization(50), "--cpu 80%"),
            ("cpu", build::average("1"), "--cpu 250m"),
            ("memory", build::average("1Gi"), "--memory 200Mi"),
            (
                "nvidia.com/gpu",
                build::utilization(50),
                "--metric nvidia.com/gpu=80%",
            ),
            (
                "nvidia.com/gpu",
                build::average("1"),
                "--metric nvidia.com/gpu=1",
            ),
        ] {
            assert_eq!(example(&build::resource(name, &target)), want);
        }
        for (metric, want) in [
            (build::per_pod("rps", "30k"), "rps=30k"),
            (build::external("queue", &build::value("2M")), "queue=2M"),
            (
                build::external("queue", &build::average("1500m")),
                "queue=1500m",
            ),
        ] {
            assert_eq!(example(&metric), format!("--metric {want}"));
        }
    }

    fn example(metric: &Value) -> String {
        let hpa = build::hpa(&json!({"maxReplicas": 9, "metrics": [metric]}));
        let text = build::list([hpa, build::scale(1)]);
        let input = saved::read(&text, &Options::default(), Timestamp::UNIX_EPOCH);
        let hpa = &input.expect("an input").snapshot.hpa;
        super::value_flags(&hpa.spec.metrics, hpa)
    }
}
