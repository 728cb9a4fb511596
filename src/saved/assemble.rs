//! From saved objects to a snapshot: finds the HPA, and answers from the objects what the
//! controller would ask the APIs. Assumptions go into the basis, and what was
//! read but not used into the notes. Nothing here computes replicas.

mod answers;
mod list;
mod target;

use std::collections::HashSet;

use jiff::Timestamp;

use crate::snapshot::basis::{Basis, ClockSource};
use crate::snapshot::input::{Input, Options};
use crate::snapshot::settings::{Settings, controller_settings};
use answers::Answers;
pub(crate) use answers::described_name;
pub(super) use answers::{Request, asked};
pub use list::assemble_all;
use target::ScaleLookup;
pub(crate) use target::resource_of;
pub(crate) use target::{is_built_in, save_command};

use super::file;
use super::objects::{Api, ApiError, ControllerState, Objects, StatedAs, UndecodedHpa};
use crate::apimachinery::metadata::Metadata;
use crate::apiserver::admit;
use crate::apiserver::admit::AdmissionError;
use crate::apiserver::default::AdmissionRules;
use crate::args::Target;
use crate::error::{Error, listed};
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::{Hpa, METRIC_SOURCE_TYPES, MetricSource, MetricSpec};
use crate::snapshot::memory::Memory;
use crate::snapshot::note::{Note, OtherHpaIgnored};
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, Surroundings, Workload, paused};
use crate::snapshot::{OtherHpa, Scale, ScaleError, Snapshot};
use crate::version::Version;

/// Finds the HPA among the objects and collects what its pass needs. `clock` is the system time,
/// used if neither input nor command line states one.
pub fn assemble(objects: Objects, options: &Options, clock: Timestamp) -> Result<Input, Error> {
    let object = find(&objects, options)?;
    let (mut input, selected) = without_pods(&objects, object, options, clock)?;
    let snapshot = &mut input.snapshot;
    let saved = objects.state.as_ref().and_then(|state| state.pod_metrics(&snapshot.hpa.key()));
    snapshot.pod_metrics = match saved {
        Some(saved) => saved.to_vec(),
        None => {
            let metrics = objects.pod_metrics.into_iter().zip(selected);
            metrics.filter_map(|(item, selected)| selected.then_some(item)).collect()
        }
    };
    let default_namespace = options.default_namespace();
    let in_namespace = |pod: &Shared<Pod>| {
        pod.namespace.as_deref().unwrap_or(default_namespace) == snapshot.hpa.namespace
    };
    snapshot.pods = objects.pods.into_iter().filter(in_namespace).collect();
    input.remark();
    input.doubt_clock();
    Ok(input)
}

/// Collects what the pass of an HPA needs, except pods and their metrics, which may be too many to
/// copy; also returns which of the metrics belong to it.
fn without_pods(
    objects: &Objects,
    object: &UndecodedHpa,
    options: &Options,
    clock: Timestamp,
) -> Result<(Input, Vec<bool>), Error> {
    let mut notes = objects.notes.clone();
    let mut basis = Vec::new();
    let Objects { scales, workloads, pods, pod_metrics, .. } = objects;
    let state = objects.state.as_ref();

    let stated = state.and_then(|state| Some((state.now?, state.now_is_assumed)));
    let (now, is_assumed) = match (options.now, stated) {
        (Some(now), _) => (now, false),
        (None, Some(stated)) => stated,
        (None, None) => (clock, true),
    };
    if is_assumed {
        basis.push(Basis::Clock { time: now, source: ClockSource::System });
    }
    let control_plane = &objects.control_plane;
    let Settings { controller, known } = controller_settings(
        state.map(ControllerState::settings),
        options,
        control_plane,
        &mut basis,
        &mut notes,
    )?;

    let default_namespace = options.default_namespace();
    let hpa = admitted(object, default_namespace, &controller, &mut notes)?;
    let namespace = hpa.namespace.clone();
    let target = ScaleLookup {
        scales,
        workloads,
        default_namespace,
        errors: errors_of(state),
        is_complete: state.is_some(),
    };

    let in_namespace = |stated: Option<&str>| stated.unwrap_or(default_namespace) == namespace;
    let pods_here = pods.iter().filter(|pod| in_namespace(pod.namespace.as_deref()));
    once("Pod", pods_here.map(|pod| &*pod.name))?;
    let metrics_here = pod_metrics.iter().filter(|item| in_namespace(item.namespace.as_deref()));
    once("PodMetrics", metrics_here.map(|item| &*item.name))?;

    let scale = target.scale(&hpa)?;
    basis.extend(target.assumption(&hpa).filter(|_| scale.is_ok()));
    let answers = Answers {
        objects,
        hpa: &hpa,
        errors: errors_of(state),
        saved: state.map_or(&[], |state| &state.answers),
        pod_labels: pods
            .iter()
            .filter(|pod| in_namespace(pod.namespace.as_deref()))
            .map(|pod| (&*pod.name, &pod.labels))
            .collect(),
        scale: scale.as_ref().ok(),
    };
    let metrics = hpa.spec.metrics.iter().chain(&options.also);
    let metrics = answers.all(metrics);
    let selected_metrics = pod_metrics
        .iter()
        .map(|item| in_namespace(item.namespace.as_deref()) && answers.selects(item))
        .collect();
    let other_hpas =
        others(objects, &hpa, object, &target, default_namespace, &controller, &mut notes);
    let scale_update_error =
        find_error(errors_of(state), &hpa, Api::ScaleUpdate, None).map(|e| e.message.clone());
    for ((kind, api_version), count) in &objects.skipped {
        let (kind, api_version) = (kind.clone(), api_version.clone());
        notes.push(Note::ObjectsSkipped { kind, api_version, count: *count });
    }
    if let Some(state) = state
        && state.memory == Some(StatedAs::Unknown)
        && state.lists() != Memory::default()
    {
        return Err(Error::usage(
            "the ControllerState has memory: unknown and also states a history",
        )
        .hint("remove one of them"));
    }
    let stated_memory = state.and_then(ControllerState::stated_memory);

    let snapshot = Snapshot {
        now,
        controller,
        scale,
        scale_update_error,
        metrics,
        other_hpas,
        pods: Vec::new(),
        pod_metrics: Vec::new(),
        hpa,
    };
    let mut evidence = objects.evidence.of(&snapshot.hpa);
    evidence.seen = state.map(|state| state.seen.clone()).unwrap_or_default();
    evidence.rescales = state.and_then(|state| state.rescales.clone());
    evidence.past = state.and_then(|state| state.past.clone());
    let mut surroundings = surroundings(objects, &namespace, default_namespace);
    let is_stated = |api| {
        find_error(errors_of(state), &snapshot.hpa, api, None).is_some_and(ApiError::is_stated)
    };
    surroundings.lacks_scale =
        snapshot.scale.is_err() && !is_stated(Api::Mapping) && !is_stated(Api::Scale);
    let scale = snapshot.scale.as_ref().ok();
    evidence.counted = scale.and_then(|scale| target.counted(&snapshot.hpa, scale, now));
    let observed = None;
    let input = Input {
        snapshot,
        observed,
        stated_memory,
        evidence,
        surroundings,
        known,
        clock_doubt: None,
        basis,
        notes,
    };
    Ok((input, selected_metrics))
}

/// Returns the objects around the passes of a namespace.
pub(crate) fn surroundings(
    objects: &Objects,
    namespace: &str,
    default_namespace: &str,
) -> Surroundings {
    let here = |metadata: &Metadata| {
        metadata.namespace.as_deref().unwrap_or(default_namespace) == namespace
    };
    let Objects { workloads, scaled_objects, vertical_pod_autoscalers, api_services, .. } = objects;
    let vpas = vertical_pod_autoscalers.iter().filter(|vpa| here(&vpa.metadata));
    Surroundings {
        workloads: workloads.iter().filter(|it| here(&it.metadata)).cloned().collect(),
        scaled_objects: scaled_objects.iter().filter(|it| here(&it.metadata)).cloned().collect(),
        vertical_pod_autoscalers: vpas.cloned().collect(),
        api_services: api_services.clone(),
        lacks_scale: false,
        manifest_replicas: None,
    }
}

/// Returns what the controller would get for the scale of a built-in target, from the target itself.
///
/// # Errors
///
/// The text is not the target.
pub fn scale_of(hpa: &Hpa, target: &str) -> Result<Result<Scale, ScaleError>, Error> {
    let mut objects = Objects::default();
    file::read_text(target, "the answer", &mut objects)?;
    let kind = &hpa.spec.scale_target_ref.kind;
    let workload = objects.workloads.first().filter(|it| scales(it, hpa));
    let not_it = || Error::failed(format!("the answer is not the {kind}"));
    scale_in(hpa, Some(workload.ok_or_else(not_it)?))
}

/// Whether an HPA scales a workload of its namespace.
fn scales(workload: &Workload, hpa: &Hpa) -> bool {
    lookup(hpa, std::slice::from_ref(workload)).has_workload(hpa)
}

/// Returns the same from the target if a cluster has it.
///
/// # Errors
///
/// Its selector is not one.
pub fn scale_in(hpa: &Hpa, target: Option<&Workload>) -> Result<Result<Scale, ScaleError>, Error> {
    let workloads = target.map_or(&[][..], std::slice::from_ref);
    let mut scale = lookup(hpa, workloads).scale(hpa)?;
    // A server omits the status of a target that its controller has not seen yet.
    if let (Ok(scale), Some(Workload { status: None, .. })) = (&mut scale, target) {
        scale.status_replicas = 0;
    }
    Ok(scale)
}

/// Looks for the target of an HPA among the workloads of a cluster.
fn lookup<'o>(hpa: &'o Hpa, workloads: &'o [Workload]) -> ScaleLookup<'o> {
    let default_namespace = &hpa.namespace;
    ScaleLookup { scales: &[], workloads, default_namespace, errors: &[], is_complete: true }
}

/// Checks that no two objects of a kind have the same name: no API server has both, so one of
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
            Err(Error::usage(format!("the input has {kind} {first}{more} more than once"))
                .hint("remove one of the overlapping files"))
        }
    }
}

fn errors_of<'s>(state: Option<&'s ControllerState<'_>>) -> &'s [ApiError] {
    state.map_or(&[], |state| &state.errors)
}

fn find_error<'a>(
    errors: &'a [ApiError],
    hpa: &Hpa,
    api: Api,
    metric: Option<&str>,
) -> Option<&'a ApiError> {
    errors.iter().find(|e| {
        e.api == api
            && e.metric.as_deref().is_none_or(|limited| Some(limited) == metric)
            && e.hpa.as_deref().is_none_or(|limited| limited == hpa.key())
    })
}

/// Returns how many HPAs the options select; a pass needs exactly one.
pub fn count(objects: &Objects, options: &Options) -> usize {
    meant(&objects.hpas, options).count()
}

fn meant<'o>(
    hpas: &'o [UndecodedHpa],
    options: &'o Options,
) -> impl Iterator<Item = &'o UndecodedHpa> {
    hpas.iter().filter(|hpa| {
        hpa.is_meant(options)
            && match (&options.namespace, &hpa.namespace) {
                (Some(wanted), Some(stated)) => wanted == stated,
                _ => true,
            }
    })
}

/// Returns the one HPA that the options select.
fn find<'o>(objects: &'o Objects, options: &'o Options) -> Result<&'o UndecodedHpa, Error> {
    let found: Vec<&UndecodedHpa> = meant(&objects.hpas, options).collect();
    match found[..] {
        [hpa] => Ok(hpa),
        [] => Err(none(objects, options)),
        [first, .., last] => Err(several(&found, options, first.key() == last.key())),
    }
}

/// Returns the error if the options select none of the HPAs.
fn none(objects: &Objects, options: &Options) -> Error {
    let Options { name, namespace, target, .. } = options;
    let hpas = &objects.hpas;
    let place = match namespace {
        Some(namespace) => format!("in the namespace {namespace} of the input"),
        None => "in the input".to_owned(),
    };
    let error = match (target, namespace) {
        (Some(target), _) => format!("no HorizontalPodAutoscaler for {target} {place}"),
        (None, _) if name.is_empty() && hpas.is_empty() => return empty(objects),
        (None, _) if name.is_empty() => format!("no HorizontalPodAutoscaler {place}"),
        (None, Some(namespace)) => {
            format!("no HorizontalPodAutoscaler {namespace}/{name} in the input")
        }
        (None, None) => format!("no HorizontalPodAutoscaler {name} in the input"),
    };
    let here = |object: &&ScaledObject| {
        let stated = &object.metadata.namespace;
        namespace.is_none() || stated.is_none() || namespace == stated
    };
    let called = target.as_ref().map_or(&**name, Target::name);
    if !called.is_empty()
        && let Some(hint) = paused(objects.scaled_objects.iter().filter(here), called)
    {
        return Error::usage(error).hint(hint);
    }
    let there = hpas.iter().map(|hpa| match hpa.target().filter(|_| target.is_some()) {
        Some(target) => format!("{} ({target})", hpa.key()),
        None => hpa.key(),
    });
    let mut there: Vec<String> = there.collect();
    there.sort();
    Error::usage(error).hint(match there.is_empty() {
        true => EMPTY.to_owned(),
        false => format!("it has {}", listed(&there)),
    })
}

const EMPTY: &str = "the input has no HorizontalPodAutoscaler";

/// Returns the error if there is no HPA at all.
fn empty(objects: &Objects) -> Error {
    let error = Error::usage(EMPTY);
    match objects.scaled_objects.iter().find_map(ScaledObject::why_no_hpa) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Returns the error if it is unclear which of these HPAs is meant.
fn several(found: &[&UndecodedHpa], options: &Options, is_twice: bool) -> Error {
    let Options { name, namespace, target, .. } = options;
    let of = match target {
        Some(target) => format!(" for {target}"),
        None if name.is_empty() => String::new(),
        None => format!(" named {name}"),
    };
    let is_twice = is_twice || (!name.is_empty() && namespace.is_some());
    let in_files = is_twice || !name.is_empty();
    let places = found.iter().map(|hpa| match in_files {
        true => format!("{} in {}", hpa.key(), hpa.origin),
        false => hpa.key(),
    });
    let places: Vec<String> = places.collect();
    let (count, places) = (found.len(), listed(&places));
    Error::usage(format!("{count} HorizontalPodAutoscalers{of} in the input: {places}")).hint(
        match (is_twice, name.is_empty()) {
            (true, _) => "remove all but one of the files",
            (false, true) => "name one of them",
            (false, false) => "name the namespace with -n",
        },
    )
}

impl UndecodedHpa {
    /// Returns `namespace/name`, or the name alone if no namespace is stated.
    fn key(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Returns the HPA as the controller would see it, after the API server.
fn admitted(
    object: &UndecodedHpa,
    namespace: &str,
    controller: &Controller,
    notes: &mut Vec<Note>,
) -> Result<Hpa, Error> {
    let rules = AdmissionRules::new(&controller.version, controller.gates);
    let admitted = admit::admit(&object.json, namespace, rules).map_err(|e| match e {
        AdmissionError::Invalid(e) => Error::usage(format!("{}: {e}", object.origin))
            .hint("the API server would reject this manifest with these causes"),
        AdmissionError::Decode(e) => {
            Error::usage(format!("{}: HorizontalPodAutoscaler {}: {e}", object.origin, object.name))
        }
    })?;
    notes.extend(admitted.notes.iter().cloned());
    let hpa = admitted.into_hpa();
    for (index, metric) in hpa.spec.metrics.iter().enumerate() {
        if lacks_source(metric, &controller.version) {
            return Err(Error::usage(format!(
                "{}: HorizontalPodAutoscaler {}: spec.metrics[{index}]: no source for the type {}",
                object.origin, hpa.name, metric.type_
            ))
            .hint(format!("the controller of {} would crash on it", controller.version)));
        }
    }
    Ok(hpa)
}

/// Whether a known type lacks its source, or, for an old controller, its target: it would crash.
fn lacks_source(metric: &MetricSpec, version: &Version) -> bool {
    match metric.source() {
        MetricSource::Unknown => METRIC_SOURCE_TYPES.contains(&&*metric.type_),
        MetricSource::Pods(source) => source.target.average_value.is_none(),
        // Before 1.27 only the target's type decides which field is used.
        MetricSource::Object(source) if version.minor() < 27 => {
            match source.target.type_.as_str() {
                "Value" => source.target.value.is_none(),
                "AverageValue" => source.target.average_value.is_none(),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Returns the other HPAs of the namespace whose selectors the controller knows.
fn others(
    objects: &Objects,
    hpa: &Hpa,
    own: &UndecodedHpa,
    target: &ScaleLookup<'_>,
    default_namespace: &str,
    controller: &Controller,
    notes: &mut Vec<Note>,
) -> Vec<OtherHpa> {
    let mut others = Vec::new();
    for object in &objects.hpas {
        let namespace = object.namespace.as_deref().unwrap_or(default_namespace);
        if std::ptr::eq(object, own) || namespace != hpa.namespace {
            continue;
        }
        let mut ignored = |why| {
            let hpa = format!("{namespace}/{}", object.name);
            notes.push(Note::OtherHpaIgnored { hpa, why });
        };
        let other = match admitted(object, namespace, controller, &mut Vec::new()) {
            Ok(other) => other,
            Err(e) => {
                ignored(OtherHpaIgnored::Other(e.message));
                continue;
            }
        };
        let scale = match target.scale(&other) {
            Ok(Ok(scale)) => scale,
            Ok(Err(ScaleError::Missing(target))) => {
                ignored(OtherHpaIgnored::NoTarget(target));
                continue;
            }
            Ok(Err(ScaleError::Mapping(cause) | ScaleError::Get(cause)))
            | Err(Error { message: cause, .. }) => {
                ignored(OtherHpaIgnored::Other(cause));
                continue;
            }
        };
        others.extend(OtherHpa::of(other, scale));
    }
    others
}
