//! From saved objects to a snapshot: finds the HPA, and answers from the objects what the
//! controller would ask the APIs. What is assumed instead of read goes into the basis, what was
//! read but not used into the notes. Nothing here computes replicas.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;

use super::admit::{self, AdmissionError};
use super::controller::{Controller, Gates};
use super::default::AdmissionGates;
use super::hpa::{
    CrossVersionObjectReference, Hpa, MetricIdentifier, MetricSpec, ObjectMetricSource,
};
use super::metric::{MetricValue, PodMetrics};
use super::objects::{
    Api, ApiError, ControllerState, Flags, HpaObject, Objects, ScaleObject, StatedAs, Workload,
};
use super::pod::{Meta, Pod};
use super::stated::StatedMemory;
use super::{ExternalValue, MetricAnswer, OtherHpa, PodValue, Scale, ScaleError, Snapshot};
use crate::error::Error;
use crate::selector::{LabelSelector, Labels, Selector};

/// What the command line says beside the objects.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The HPA's name.
    pub name: String,
    /// Its namespace, if stated.
    pub namespace: Option<String>,
    /// The clock, if stated.
    pub now: Option<Timestamp>,
    /// Controller flags, which go before those of the input.
    pub flags: Flags,
    /// Feature gates, which go before those of the input.
    pub gates: BTreeMap<String, bool>,
}

/// Everything for a pass, with what it rests on.
#[derive(Debug, Clone)]
pub struct Input {
    /// What the controller would see.
    pub snapshot: Snapshot,
    /// What the input states about the controller's memory.
    pub stated_memory: Option<StatedMemory>,
    /// What was assumed, and where the rest comes from.
    pub basis: Vec<Basis>,
    /// What was read but not used, and what looks wrong.
    pub notes: Vec<String>,
}

/// One thing that the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Basis {
    /// What it is about.
    pub item: String,
    /// The value that is used.
    pub value: String,
    /// Where it comes from.
    pub source: String,
    /// How old it is, where that is known.
    pub age: Option<String>,
}

/// Finds the HPA among the objects and collects what its pass needs. `clock` is the system's time,
/// for when neither input nor command line state one.
pub fn assemble(objects: Objects, options: &Options, clock: Timestamp) -> Result<Input, Error> {
    let mut notes = Vec::new();
    let mut basis = Vec::new();
    let Objects {
        hpas,
        scales,
        workloads,
        pods,
        pod_metrics,
        ..
    } = &objects;
    let state = objects.state.as_ref();

    let now = match (options.now, state.and_then(|state| state.now)) {
        (Some(now), _) => now,
        (None, Some(now)) => now,
        (None, None) => {
            let value = crate::json::SecondsTime(clock).to_string();
            basis.push(assumed("clock", value, "the system's; --now sets it"));
            clock
        }
    };
    let controller = controller_settings(state, options, &mut basis, &mut notes)?;

    let object = find(hpas, options)?;
    let default_namespace = options.namespace.as_deref().unwrap_or("default");
    let hpa = admitted(object, default_namespace, controller.gates, &mut notes)?;
    let namespace = hpa.namespace.clone();
    let target = Target {
        scales,
        workloads,
        default_namespace,
        errors: errors_of(state),
    };

    let in_namespace = |stated: Option<&str>| stated.unwrap_or(default_namespace) == namespace;
    let pods_here = pods
        .iter()
        .filter(|pod| in_namespace(pod.namespace.as_deref()));
    once("Pod", pods_here.map(|pod| &*pod.name))?;
    let metrics_here = pod_metrics
        .iter()
        .filter(|item| in_namespace(item.namespace.as_deref()));
    once("PodMetrics", metrics_here.map(|item| &*item.name))?;

    let scale = target.scale(&hpa)?;
    let selector = scale
        .as_ref()
        .ok()
        .and_then(|scale| Selector::parse(&scale.selector).ok());
    let answers = Answers {
        objects: &objects,
        hpa: &hpa,
        errors: errors_of(state),
        pod_labels: pods
            .iter()
            .filter(|pod| in_namespace(pod.namespace.as_deref()))
            .map(|pod| (&*pod.name, &pod.labels))
            .collect(),
        selector: selector.as_ref(),
    };
    let metrics = hpa
        .spec
        .metrics
        .iter()
        .map(|spec| answers.of(spec))
        .collect();
    let selected_metrics: Vec<bool> = pod_metrics
        .iter()
        .map(|item| in_namespace(item.namespace.as_deref()) && answers.selects(item))
        .collect();
    let other_hpas = others(
        &objects,
        &hpa,
        object,
        &target,
        default_namespace,
        &controller,
        &mut notes,
    );
    let scale_update_error =
        find_error(errors_of(state), Api::ScaleUpdate, None).map(|e| e.message.clone());
    for ((kind, api_version), count) in &objects.skipped {
        let version = if api_version.is_empty() {
            "without apiVersion"
        } else {
            api_version
        };
        notes.push(format!(
            "{count} {kind} ({version}) passed over: a pass does not look at it"
        ));
    }
    let stated_memory = state
        .filter(|state| state.memory != Some(StatedAs::Unknown))
        .map(stated_memory);

    let snapshot = Snapshot {
        now,
        controller,
        scale,
        scale_update_error,
        metrics,
        other_hpas,
        pods: keep(objects.pods, |pod: &Pod| {
            pod.namespace.as_deref().unwrap_or(default_namespace) == namespace
        }),
        pod_metrics: objects
            .pod_metrics
            .into_iter()
            .zip(selected_metrics)
            .filter_map(|(item, selected)| selected.then_some(item))
            .collect(),
        hpa,
    };
    Ok(Input {
        snapshot,
        stated_memory,
        basis,
        notes,
    })
}

/// Makes sure that no two objects of a kind have the same name: no API server has both, so one of
/// them is out of date.
fn once<'o>(kind: &str, names: impl Iterator<Item = &'o str>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let twice: Vec<&str> = names.filter(|name| !seen.insert(*name)).collect();
    match twice[..] {
        [] => Ok(()),
        [first, ref more @ ..] => {
            let more = match more.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            Err(Error::usage(format!(
                "the input holds the {kind} {first}{more} more than once"
            ))
            .hint("leave out one of the files that overlap"))
        }
    }
}

fn keep<T>(list: Vec<T>, wanted: impl Fn(&T) -> bool) -> Vec<T> {
    list.into_iter().filter(wanted).collect()
}

fn assumed(item: &str, value: impl Into<String>, source: &str) -> Basis {
    Basis {
        item: item.to_owned(),
        value: value.into(),
        source: source.to_owned(),
        age: None,
    }
}

fn errors_of(state: Option<&ControllerState>) -> &[ApiError] {
    state.map_or(&[], |state| &state.errors)
}

fn find_error<'a>(errors: &'a [ApiError], api: Api, metric: Option<&str>) -> Option<&'a ApiError> {
    errors.iter().find(|e| {
        e.api == api
            && e.metric
                .as_deref()
                .is_none_or(|limited| Some(limited) == metric)
    })
}

/// The one HPA of the wanted name.
fn find<'o>(hpas: &'o [HpaObject], options: &Options) -> Result<&'o HpaObject, Error> {
    let name = &options.name;
    let fits = |hpa: &&HpaObject| {
        let namespace = hpa.namespace.as_deref();
        hpa.name == *name
            && match (&options.namespace, namespace) {
                (Some(wanted), Some(stated)) => wanted == stated,
                _ => true,
            }
    };
    let found: Vec<&HpaObject> = hpas.iter().filter(fits).collect();
    let key = |hpa: &HpaObject| match &hpa.namespace {
        Some(namespace) => format!("{namespace}/{}", hpa.name),
        None => hpa.name.clone(),
    };
    match found[..] {
        [hpa] => Ok(hpa),
        [] => {
            let wanted = match &options.namespace {
                Some(namespace) => format!("{namespace}/{name}"),
                None => name.clone(),
            };
            let error = Error::usage(format!("no HorizontalPodAutoscaler {wanted} in the input"));
            let mut there: Vec<String> = hpas.iter().map(key).collect();
            there.sort();
            Err(if there.is_empty() {
                error.hint("the input holds no HorizontalPodAutoscaler at all")
            } else {
                error.hint(format!("there is {}", listed(&there)))
            })
        }
        [first, .., last] => {
            let same = key(first) == key(last) || options.namespace.is_some();
            let places: Vec<String> = found
                .iter()
                .map(|hpa| format!("{} in {}", key(hpa), hpa.origin))
                .collect();
            let error = Error::usage(format!(
                "{} HorizontalPodAutoscalers of the name {name} in the input: {}",
                found.len(),
                listed(&places)
            ));
            Err(if same {
                error.hint("leave out all but one of the files")
            } else {
                error.hint("name the namespace with -n")
            })
        }
    }
}

/// The first few of a list that may be long.
fn listed(all: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = all[..all.len().min(SHOWN)].join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The HPA as the controller would see it, after the API server.
fn admitted(
    object: &HpaObject,
    namespace: &str,
    gates: Gates,
    notes: &mut Vec<String>,
) -> Result<Hpa, Error> {
    let gates = AdmissionGates {
        hpa_scale_to_zero: gates.scale_to_zero,
        hpa_configurable_tolerance: gates.configurable_tolerance,
    };
    let admitted = admit::admit(&object.json, namespace, gates).map_err(|e| match e {
        AdmissionError::Invalid(e) => Error::usage(format!("{}: {e}", object.origin))
            .hint("the API server would reject this manifest with these causes"),
        AdmissionError::Decode(e) => Error::usage(format!(
            "{}: HorizontalPodAutoscaler {}: {e}",
            object.origin, object.name
        )),
    })?;
    notes.extend(admitted.notes.iter().cloned());
    let hpa = admitted.into_hpa();
    for (index, metric) in hpa.spec.metrics.iter().enumerate() {
        if lacks_source(metric) {
            return Err(Error::usage(format!(
                "{}: HorizontalPodAutoscaler {}: spec.metrics[{index}]: no source for the type {}",
                object.origin, hpa.name, metric.type_
            )));
        }
    }
    Ok(hpa)
}

/// A known type whose source is missing: no API server lets it pass, the controller would crash.
fn lacks_source(metric: &MetricSpec) -> bool {
    match metric.type_.as_str() {
        "Resource" => metric.resource.is_none(),
        "ContainerResource" => metric.container_resource.is_none(),
        "Pods" => metric
            .pods
            .as_ref()
            .is_none_or(|source| source.target.average_value.is_none()),
        "Object" => metric.object.is_none(),
        "External" => metric.external.is_none(),
        _ => false,
    }
}

/// Where the target's scale is looked for.
struct Target<'o> {
    scales: &'o [ScaleObject],
    workloads: &'o [Workload],
    default_namespace: &'o str,
    errors: &'o [ApiError],
}

impl Target<'_> {
    /// What the controller would get for the target's scale. An `Err` outside is unusable input.
    fn scale(&self, hpa: &Hpa) -> Result<Result<Scale, ScaleError>, Error> {
        let target = &hpa.spec.scale_target_ref;
        let group = group_of(&target.api_version);
        let kind = target.kind.as_str();
        if let Some(e) = find_error(self.errors, Api::Mapping, None) {
            return Ok(Err(ScaleError::Mapping(e.message.clone())));
        }
        if is_in_other_group(group, kind) {
            let text = format!("no matches for kind {kind:?} in group {group:?}");
            return Ok(Err(ScaleError::Mapping(text)));
        }
        if let Some(e) = find_error(self.errors, Api::Scale, None) {
            return Ok(Err(ScaleError::Get(e.message.clone())));
        }
        let matches = |meta: &Meta| {
            *meta.name == *target.name
                && meta.namespace.as_deref().unwrap_or(self.default_namespace) == hpa.namespace
        };
        let mut scales = self.scales.iter().filter(|scale| matches(&scale.metadata));
        if let Some(scale) = scales.next() {
            if scales.next().is_some() {
                return Err(Error::usage(format!(
                    "several Scales of the name {} in the namespace {}",
                    target.name, hpa.namespace
                ))
                .hint("a Scale does not say which kind it belongs to: keep only the target's"));
            }
            return Ok(Ok(Scale {
                spec_replicas: scale.spec.replicas,
                status_replicas: scale.status.replicas,
                selector: scale.status.selector.clone(),
            }));
        }
        let mut workloads = self.workloads.iter().filter(|workload| {
            // Discovery knows a kind by its lower-case form, too.
            matches(&workload.metadata)
                && workload.group == group
                && (workload.kind == kind || workload.kind.to_lowercase() == kind)
        });
        once(
            kind,
            workloads.clone().map(|workload| &*workload.metadata.name),
        )?;
        let Some(workload) = workloads.next() else {
            let resource = resource_of(group, kind);
            let text = format!("{resource} {:?} not found", target.name);
            return Ok(Err(ScaleError::Get(text)));
        };
        let selector = match &workload.selector {
            Some(selector) => selector.to_selector().map_err(|e| {
                Error::usage(format!(
                    "{} {}: spec.selector: {e}",
                    workload.kind, workload.metadata.name
                ))
            })?,
            None => return Ok(Ok(workload_scale(workload, String::new()))),
        };
        Ok(Ok(workload_scale(workload, selector.to_string())))
    }
}

fn workload_scale(workload: &Workload, selector: String) -> Scale {
    Scale {
        spec_replicas: workload.replicas,
        status_replicas: workload.status_replicas,
        selector,
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Built-in kinds are in one group each, whatever the cluster has installed beside them.
fn is_in_other_group(group: &str, kind: &str) -> bool {
    let home = match kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" | "deployment" | "statefulset"
        | "replicaset" => "apps",
        "ReplicationController" | "replicationcontroller" => "",
        _ => return false,
    };
    group != home && matches!(group, "" | "apps" | "extensions")
}

/// The resource of a kind, with its group, as the API server names it. For kinds that are not
/// built in the plural is guessed as Kubernetes does it.
fn resource_of(group: &str, kind: &str) -> String {
    let singular = kind.to_lowercase();
    let plural = if singular.ends_with('s') {
        format!("{singular}es")
    } else if let Some(stem) = singular.strip_suffix('y') {
        format!("{stem}ies")
    } else {
        format!("{singular}s")
    };
    if group.is_empty() {
        plural
    } else {
        format!("{plural}.{group}")
    }
}

/// Answers the requests for metrics from the objects.
struct Answers<'o> {
    objects: &'o Objects,
    hpa: &'o Hpa,
    errors: &'o [ApiError],
    pod_labels: HashMap<&'o str, &'o Labels>,
    /// The target's selector, where it is readable.
    selector: Option<&'o Selector>,
}

impl Answers<'_> {
    /// Whether the resource metrics API would return an item for the target's selector.
    fn selects(&self, item: &PodMetrics) -> bool {
        let labels = if item.labels.is_empty() {
            self.pod_labels.get(&*item.name).copied()
        } else {
            Some(&item.labels)
        };
        match (self.selector, labels) {
            (Some(selector), Some(labels)) => selector.matches(labels),
            _ => false,
        }
    }

    fn of(&self, spec: &MetricSpec) -> MetricAnswer {
        let (api, name) = asked(spec);
        if let Some(e) = find_error(self.errors, api, name) {
            return MetricAnswer::Failed(e.message.clone());
        }
        if let Some(source) = spec.pods.as_ref().filter(|_| spec.type_ == "Pods") {
            self.pods(&source.metric)
        } else if let Some(source) = spec.object.as_ref().filter(|_| spec.type_ == "Object") {
            self.object(source)
        } else if let Some(source) = spec.external.as_ref().filter(|_| spec.type_ == "External") {
            self.external(&source.metric)
        } else {
            MetricAnswer::PodMetrics
        }
    }

    fn values<'a>(&'a self, metric: &'a MetricIdentifier) -> impl Iterator<Item = &'a MetricValue> {
        self.objects.metric_values.iter().filter(|value| {
            value.name == metric.name
                && non_empty(value.selector.as_ref()) == non_empty(metric.selector.as_ref())
        })
    }

    fn pods(&self, metric: &MetricIdentifier) -> MetricAnswer {
        let selected = |value: &&MetricValue| {
            let object = &value.described_object;
            object.kind == "Pod"
                && object.namespace == self.hpa.namespace
                && self
                    .pod_labels
                    .get(object.name.as_str())
                    .is_some_and(|labels| {
                        self.selector
                            .is_some_and(|selector| selector.matches(labels))
                    })
        };
        MetricAnswer::Pods(
            self.values(metric)
                .filter(selected)
                .map(|value| PodValue {
                    pod: value.described_object.name.as_str().into(),
                    value: value.value.milli_value(),
                    timestamp: value.timestamp,
                    window: value.window,
                })
                .collect(),
        )
    }

    fn object(&self, source: &ObjectMetricSource) -> MetricAnswer {
        let wanted = &source.described_object;
        let group = group_of(&wanted.api_version);
        let name = described_name(wanted, self.hpa);
        // An object has one value at a time: the one that was read first.
        let value = self.values(&source.metric).find(|value| {
            let object = &value.described_object;
            object.kind == wanted.kind
                && object.name == name
                && (is_namespace(wanted) || object.namespace == self.hpa.namespace)
                && (object.api_version.is_empty() || group_of(&object.api_version) == group)
        });
        match value {
            Some(value) => MetricAnswer::Object(vec![value.value.milli_value()]),
            // An adapter without a value answers "not found", never with an empty list.
            None => MetricAnswer::Failed(absence(source, self.hpa)),
        }
    }

    fn external(&self, metric: &MetricIdentifier) -> MetricAnswer {
        // An unusable selector fails in the engine, before any value counts.
        let selector = match &metric.selector {
            Some(selector) => selector.to_selector().unwrap_or_default(),
            None => Selector::default(),
        };
        MetricAnswer::External(
            self.objects
                .external_values
                .iter()
                .filter(|value| {
                    value.metric_name == metric.name && selector.matches(&value.metric_labels)
                })
                .map(|value| ExternalValue {
                    labels: value.metric_labels.clone(),
                    value: value.value.milli_value(),
                })
                .collect(),
        )
    }
}

/// Which API a metric is asked of, and under which name.
pub(super) fn asked(spec: &MetricSpec) -> (Api, Option<&str>) {
    let (api, name) = match spec.type_.as_str() {
        "Resource" => (
            Api::Resource,
            spec.resource.as_ref().map(|source| &source.name),
        ),
        "ContainerResource" => (
            Api::Resource,
            spec.container_resource.as_ref().map(|source| &source.name),
        ),
        "Pods" => (
            Api::Custom,
            spec.pods.as_ref().map(|source| &source.metric.name),
        ),
        "Object" => (
            Api::Custom,
            spec.object.as_ref().map(|source| &source.metric.name),
        ),
        _ => (
            Api::External,
            spec.external.as_ref().map(|source| &source.metric.name),
        ),
    };
    (api, name.map(String::as_str))
}

/// The name under which the metric of an object is asked for. A metric of a namespace is asked of
/// the HPA's own, whatever name is stated.
pub(super) fn described_name<'a>(object: &'a CrossVersionObjectReference, hpa: &'a Hpa) -> &'a str {
    if is_namespace(object) {
        &hpa.namespace
    } else {
        &object.name
    }
}

fn is_namespace(object: &CrossVersionObjectReference) -> bool {
    group_of(&object.api_version).is_empty() && object.kind == "Namespace"
}

/// What an adapter answers that has no value for an object.
pub(super) fn absence(source: &ObjectMetricSource, hpa: &Hpa) -> String {
    let object = &source.described_object;
    format!(
        "the server could not find the metric {} for {} {}",
        source.metric.name,
        resource_of(group_of(&object.api_version), &object.kind),
        described_name(object, hpa)
    )
}

/// Null and empty selectors mean the same to the metrics APIs.
pub(super) fn non_empty(selector: Option<&LabelSelector>) -> Option<&LabelSelector> {
    selector.filter(|selector| **selector != LabelSelector::default())
}

/// The other HPAs of the namespace whose selectors the controller knows: those whose own passes
/// reach their metrics.
fn others(
    objects: &Objects,
    hpa: &Hpa,
    own: &HpaObject,
    target: &Target<'_>,
    default_namespace: &str,
    controller: &Controller,
    notes: &mut Vec<String>,
) -> Vec<OtherHpa> {
    let mut others = Vec::new();
    for object in &objects.hpas {
        let namespace = object.namespace.as_deref().unwrap_or(default_namespace);
        if std::ptr::eq(object, own) || namespace != hpa.namespace {
            continue;
        }
        let mut passed_over = |why: &str| {
            notes.push(format!("{namespace}/{} plays no part: {why}", object.name));
        };
        let other = match admitted(object, namespace, controller.gates, &mut Vec::new()) {
            Ok(other) => other,
            Err(e) => {
                passed_over(&e.message);
                continue;
            }
        };
        let scale = match target.scale(&other) {
            Ok(Ok(scale)) => scale,
            Ok(Err(ScaleError::Mapping(e) | ScaleError::Get(e))) => {
                passed_over(&e);
                continue;
            }
            Err(e) => {
                passed_over(&e.message);
                continue;
            }
        };
        let bounds = other.spec.min_replicas.unwrap_or(1)..=other.spec.max_replicas;
        if scale.spec_replicas == 0 || !bounds.contains(&scale.spec_replicas) {
            continue;
        }
        if let Ok(selector) = Selector::parse(&scale.selector)
            && !scale.selector.is_empty()
        {
            others.push(OtherHpa {
                hpa: other,
                scale,
                selector,
            });
        }
    }
    others
}

/// Flags, gates and version, each from the command line, the input, or the defaults.
fn controller_settings(
    state: Option<&ControllerState>,
    options: &Options,
    basis: &mut Vec<Basis>,
    notes: &mut Vec<String>,
) -> Result<Controller, Error> {
    let defaults = Controller::default();
    let stated = state.map(|state| state.flags).unwrap_or_default();
    let mut assumed_flags = Vec::new();
    let mut pick = |name: &'static str, typed, stated, default| {
        let value: Option<jiff::SignedDuration> = typed;
        value.or(stated).unwrap_or_else(|| {
            assumed_flags.push(name);
            default
        })
    };
    let typed = &options.flags;
    let downscale_stabilization = pick(
        "downscale-stabilization 5m",
        typed.downscale_stabilization,
        stated.downscale_stabilization,
        defaults.downscale_stabilization,
    );
    let cpu_initialization_period = pick(
        "cpu-initialization-period 5m",
        typed.cpu_initialization_period,
        stated.cpu_initialization_period,
        defaults.cpu_initialization_period,
    );
    let initial_readiness_delay = pick(
        "initial-readiness-delay 30s",
        typed.initial_readiness_delay,
        stated.initial_readiness_delay,
        defaults.initial_readiness_delay,
    );
    let sync_period = pick(
        "sync-period 15s",
        typed.sync_period,
        stated.sync_period,
        defaults.sync_period,
    );
    let tolerance = typed.tolerance.or(stated.tolerance).unwrap_or_else(|| {
        assumed_flags.insert(0, "tolerance 0.1");
        defaults.tolerance
    });
    if !assumed_flags.is_empty() {
        basis.push(assumed(
            "controller flags",
            assumed_flags.join(", "),
            "the defaults",
        ));
    }

    let mut gates = defaults.gates;
    let mut assumed_gates = Vec::new();
    for (name, gate) in [
        ("HPAScaleToZero", &mut gates.scale_to_zero),
        (
            "HPAConfigurableTolerance",
            &mut gates.configurable_tolerance,
        ),
        ("PodLevelResources", &mut gates.pod_level_resources),
    ] {
        let typed = options.gates.get(name);
        match typed.or_else(|| state.and_then(|state| state.feature_gates.get(name))) {
            Some(on) => *gate = *on,
            None => assumed_gates.push(format!("{name}={gate}")),
        }
    }
    if !assumed_gates.is_empty() {
        basis.push(assumed(
            "feature gates",
            assumed_gates.join(", "),
            "the defaults",
        ));
    }
    let known = [
        "HPAScaleToZero",
        "HPAConfigurableTolerance",
        "PodLevelResources",
    ];
    if let Some(name) = options
        .gates
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    {
        return Err(Error::usage(format!("unknown feature gate {name}"))
            .hint(format!("a pass depends on {}", known.join(", "))));
    }
    for name in state.iter().flat_map(|state| state.feature_gates.keys()) {
        if !known.contains(&name.as_str()) {
            notes.push(format!("feature gate {name}: a pass does not depend on it"));
        }
    }

    let rules = crate::snapshot::controller::RULES_VERSION;
    let version = state.and_then(|state| state.kubernetes_version.clone());
    match &version {
        Some(version) if same_minor(version, rules) => {}
        Some(version) => basis.push(assumed(
            "version",
            rules,
            &format!("the only rules there are so far; the input says {version}"),
        )),
        None => basis.push(assumed("version", rules, "the newest rules known")),
    }
    Ok(Controller {
        version,
        tolerance,
        downscale_stabilization,
        cpu_initialization_period,
        initial_readiness_delay,
        sync_period,
        gates,
    })
}

fn same_minor(a: &str, b: &str) -> bool {
    let minor = |version: &str| {
        let mut parts = version.trim_start_matches('v').split('.');
        (
            parts.next().map(str::to_owned),
            parts.next().map(str::to_owned),
        )
    };
    minor(a) == minor(b)
}

/// The memory that the input states, if it has a document for it.
fn stated_memory(state: &ControllerState) -> StatedMemory {
    StatedMemory {
        recommendations: state.recommendations.clone(),
        scale_up_events: state.scale_up_events.clone(),
        scale_down_events: state.scale_down_events.clone(),
    }
}
