//! Turns saved objects into a snapshot: finds the HPA, and answers the controller's API requests from the
//! objects. Assumptions go into the basis, and notes about what was read but not used into the notes.
//! Nothing here computes replicas.

mod answers;
mod choose;
mod index;
mod list;
mod requests;
mod target;

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::snapshot::basis::{Basis, ClockSource};
use crate::snapshot::input::{Input, Options};
use crate::snapshot::neighbour::WhyUnknownSelector;
use crate::snapshot::settings::{Settings, controller_settings};
use answers::Answers;
pub(crate) use answers::described_name;
pub(super) use answers::{MetricRequest, asked};
pub use choose::count;
use choose::find;
pub(crate) use choose::{is_meant, own_and_neighbours};
use index::{Around, Index};
pub use list::assemble_all;
use requests::{ApiRequests, group};
use target::ScaleLookup;
pub(crate) use target::resource_of;
pub(crate) use target::{has_own_scale, is_built_in, is_unscalable, save_command};

use super::file;
use super::manifest;
use super::manifest::WorkloadManifest;
use super::objects::{Api, ApiError, ControllerState, Objects, UndecodedHpa};
use crate::apimachinery::names;
use crate::apimachinery::selector::Labels;
use crate::apimachinery::similar;
use crate::apiserver::admit;
use crate::apiserver::admit::AdmissionError;
use crate::apiserver::convert::{hpa_from_json, hpa_with_unknown_fields};
use crate::apiserver::default::AdmissionRules;
use crate::error::{Error, listed};
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::{Event, Evidence};
use crate::snapshot::hpa::{
    CrossVersionObjectReference, Hpa, HpaSpec, METRIC_SOURCE_TYPES, MetricSource, MetricSpec,
};
use crate::snapshot::memory::Memory;
use crate::snapshot::metric::{MetricValue, PodMetrics};
use crate::snapshot::neighbour::{OtherHpa, UnknownSelector};
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::pod::Pod;
use crate::snapshot::right::UnknownFactCause;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ManifestReplicas, Surroundings, TargetElsewhere, Workload};
use crate::snapshot::{Documents, MetricAnswer, Scale, ScaleError, Snapshot};
use crate::version::Version;

/// Finds the HPA among the objects and collects everything that its pass needs. `clock` is the system time,
/// used if neither input nor command line states one.
pub fn assemble(objects: Objects, options: &Options, clock: Timestamp) -> Result<Input, Error> {
    let object = find(&objects, options)?;
    let namespace = object
        .namespace
        .as_deref()
        .unwrap_or(options.default_namespace());
    let controller = settings(&objects, options, &mut Vec::new(), &mut Vec::new())?.controller;
    let index = Index::new(&objects, options.default_namespace());
    let place = Place::new(&index, namespace, options, &controller);
    let own = place
        .hpas
        .iter()
        .position(|hpa| std::ptr::eq(hpa.object, object))
        .unwrap_or_default();
    let pod_values: Vec<&MetricValue> = match &place.hpas[own].scale {
        Ok(Ok(Scale { selector, .. }) | Err(ScaleError::NoReplicas { selector, .. })) => place
            .metric_values
            .iter()
            .copied()
            .filter(|value| {
                let labels = place.labels_of_pod(value);
                labels.is_some_and(|labels| selector.matches(labels))
            })
            .collect(),
        _ => Vec::new(),
    };
    let all = 0..place.hpas.len();
    let input = without_pods(&place, own, options, clock, all, &pod_values)?;
    let snapshot = &input.snapshot;
    let usage = match index.requests.pod_metrics(&snapshot.hpa) {
        Some(saved) => saved.to_vec(),
        None => place
            .pod_metrics
            .iter()
            .copied()
            .filter(|item| {
                let selector = snapshot.selector();
                selector.is_ok_and(|own| place.labels(item).is_some_and(|it| own.matches(it)))
            })
            .cloned()
            .collect(),
    };
    drop(place);
    let default_namespace = options.default_namespace();
    let in_namespace = |pod: &Shared<Pod>| {
        pod.namespace.as_deref().unwrap_or(default_namespace) == snapshot.hpa.namespace
    };
    let pods = objects.pods.into_iter().filter(in_namespace).collect();
    Ok(complete(input, usage, pods))
}

/// Adds the pods and their usage to an input.
fn complete(mut input: Input, usage: Vec<Shared<PodMetrics>>, pods: Vec<Shared<Pod>>) -> Input {
    input.snapshot.pod_metrics = usage;
    input.snapshot.pods = pods;
    input.count(input.evidence.counted);
    input.remark();
    input.doubt_clock();
    input
}

/// Returns the settings of the controller.
fn settings(
    objects: &Objects,
    options: &Options,
    basis: &mut Vec<Basis>,
    notes: &mut Vec<Note>,
) -> Result<Settings, Error> {
    let stated = objects.state.as_ref().map(ControllerState::settings);
    controller_settings(stated, options, &objects.control_plane, basis, notes)
}

/// The state that the passes of a namespace share.
struct Place<'i, 'o> {
    index: &'i Index<'o>,
    /// All HPAs of the namespace.
    hpas: Vec<InputHpa<'o>>,
    pods: &'i [&'o Shared<Pod>],
    pod_labels: HashMap<&'o str, &'o Labels>,
    pod_metrics: &'i [&'o Shared<PodMetrics>],
    /// The values of the custom metrics API. The API is asked about one namespace, and the controller ignores the
    /// namespace in the answer, which may be missing.
    metric_values: Vec<&'o MetricValue>,
    /// The metrics that each metrics API serves, once they are needed.
    served: RefCell<HashMap<&'static str, Option<Vec<String>>>>,
    /// The events about pods.
    pod_events: Shared<Vec<Event>>,
    /// Whether the namespace has every pod and its usage only once.
    each_once: Result<(), Error>,
    /// The workloads without a uid. Unless they have a status, they are manifests in an input whose HPA is a
    /// manifest, too.
    manifests: Vec<WorkloadManifest>,
    surroundings: Surroundings,
    /// The HPAs whose selectors are known, by their places.
    known: HashMap<usize, Shared<OtherHpa>>,
    /// The HPAs whose selectors are unknown and could matter to others.
    unknown: Vec<(usize, UnknownSelector)>,
    /// The places of the HPAs by the names of their targets.
    by_target: HashMap<String, Vec<usize>>,
    /// The workloads that no HPA scales.
    unscaled: OnceCell<Vec<CrossVersionObjectReference>>,
}

/// An HPA of the input.
struct InputHpa<'o> {
    object: &'o UndecodedHpa,
    /// The HPA as the controller would see it, with notes about what was ignored while reading it.
    admitted: Result<(Hpa, Vec<Note>), Error>,
    /// The result of the controller's request for the target's scale, if it can be read. An outer `Err` means
    /// unusable input.
    scale: Result<Result<Scale, ScaleError>, Error>,
}

impl<'i, 'o> Place<'i, 'o> {
    fn new(
        index: &'i Index<'o>,
        namespace: &str,
        options: &Options,
        controller: &Controller,
    ) -> Self {
        let default_namespace = options.default_namespace();
        let mut hpas = Vec::new();
        for object in group(&index.hpas, namespace) {
            let mut notes = Vec::new();
            let admitted = admitted(object, default_namespace, controller, &mut notes);
            let scale = admitted
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|hpa| index.target.scale(hpa, &index.requests));
            hpas.push(InputHpa {
                object,
                admitted: admitted.map(|hpa| (hpa, notes)),
                scale,
            });
        }
        let pods = group(&index.pods, namespace);
        let pod_metrics = group(&index.pod_metrics, namespace);
        let metric_values = index.objects.metric_values.iter().filter(|value| {
            let stated = &value.described_object.namespace;
            stated.is_empty() || stated == namespace
        });
        let pod_events = index.objects.evidence.pods.iter();
        let pod_events = pod_events.filter(|event| event.namespace == namespace);
        let mut known = HashMap::new();
        let mut unknown = Vec::new();
        for (place, hpa) in hpas.iter().enumerate() {
            match hpa.selector(namespace) {
                Ok((hpa, scale)) => {
                    known.extend(
                        OtherHpa::of(hpa.clone(), scale.into_owned()).map(|it| (place, it)),
                    );
                }
                Err(it) if it.may_be_stored() => unknown.push((place, it)),
                Err(_) => {}
            }
        }
        let each_once = once("Pod", pods.iter().map(|pod| &*pod.name))
            .and_then(|()| once("PodMetrics", pod_metrics.iter().map(|item| &*item.name)));
        let mut by_target: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, hpa) in hpas.iter().enumerate() {
            if let Some(target) = hpa.target() {
                by_target
                    .entry(target.name.clone())
                    .or_default()
                    .push(place);
            }
        }
        Self {
            index,
            known,
            by_target,
            unknown,
            unscaled: OnceCell::new(),
            hpas,
            pod_labels: pods.iter().map(|pod| (&*pod.name, &*pod.labels)).collect(),
            manifests: match index.objects.state {
                // The objects are those of a cluster, reduced to what a pass uses.
                Some(_) => Vec::new(),
                None => {
                    let workloads = group(&index.manifests, namespace);
                    WorkloadManifest::all(workloads.iter().copied(), options.validate)
                }
            },
            pods,
            pod_metrics,
            metric_values: metric_values.collect(),
            served: RefCell::default(),
            pod_events: pod_events.cloned().collect::<Vec<_>>().into(),
            each_once,
            surroundings: index.around.of(namespace),
        }
    }

    /// Returns the labels by which the resource metrics API selects an item, if they are known.
    fn labels(&self, item: &'o PodMetrics) -> Option<&'o Labels> {
        if item.labels.is_empty() {
            self.pod_labels.get(&*item.name).copied()
        } else {
            Some(&item.labels)
        }
    }

    /// Returns the labels of the pod that a value describes, if they are known.
    fn labels_of_pod(&self, value: &MetricValue) -> Option<&'o Labels> {
        let object = &value.described_object;
        let labels = self.pod_labels.get(&*object.name).copied();
        labels.filter(|_| object.kind == "Pod")
    }

    /// Returns the other HPAs whose selectors the controller knows, of those that `may_share` pods with `hpa`.
    /// Adds notes about HPAs whose selectors are unknown.
    fn others(
        &self,
        own: usize,
        hpa: &Hpa,
        may_share: impl Iterator<Item = usize>,
        notes: &mut Vec<Note>,
    ) -> Vec<Shared<OtherHpa>> {
        let unknown = self.unknown.iter().filter(|(place, _)| *place != own);
        UnknownSelector::note_all(unknown.map(|(_, unknown)| unknown), hpa, notes);
        may_share
            .filter(|place| *place != own)
            .filter_map(|place| self.known.get(&place).cloned())
            .collect()
    }

    /// Returns the objects around an HPA, and the missing ones, apart from manifests.
    fn around(&self, own: usize, snapshot: &Snapshot, default_namespace: &str) -> Surroundings {
        let Index {
            objects,
            target,
            requests,
            ..
        } = self.index;
        let Snapshot {
            hpa,
            scale,
            metrics,
            ..
        } = snapshot;
        let mut surroundings = self.surroundings.clone();
        surroundings.keep_served(&hpa.spec.metrics, metrics, |group| {
            let mut known = self.served.borrow_mut();
            let served = || objects.served_metrics(group, &hpa.namespace);
            known.entry(group).or_insert_with(served).clone()
        });
        let error = |api| requests.error(hpa, api, None);
        let is_stated = |api| error(api).is_some_and(ApiError::is_stated);
        surroundings.lacks_scale =
            scale.is_err() && !is_stated(Api::Mapping) && !is_stated(Api::Scale);
        let lacks_target = matches!(scale, Err(ScaleError::Missing(_)));
        let lacks_scale = scale.as_ref().is_err_and(|e| e.lacking().is_some());
        let lacks_answers = lacks_scale || metrics.iter().any(MetricAnswer::is_missing);
        let mut pods = self.pods.iter();
        surroundings.lacks_pods = lacks_answers
            && !objects.has_list(Documents::Pod, &hpa.namespace)
            && !pods.any(|pod| {
                let selector = snapshot.selector();
                selector.map_or(true, |selector| selector.matches(&pod.labels))
            });
        surroundings.rivals = self.rivals(own, &hpa.spec.scale_target_ref);
        let is_absent = lacks_target || matches!(scale, Err(ScaleError::Get(_)));
        let elsewhere = if is_absent {
            target.elsewhere(hpa)
        } else {
            None
        };
        if lacks_target && elsewhere.is_none() {
            surroundings.unscaled = alike(&hpa.spec.scale_target_ref, self.unscaled());
        }
        surroundings.target_elsewhere = elsewhere.map(|workload| {
            let object = self.hpas[own].object;
            TargetElsewhere {
                hpa: format!("HorizontalPodAutoscaler/{}", object.name),
                hpa_namespace: object.namespace.clone(),
                object: workload.reference(),
                object_namespace: workload.metadata.namespace.clone(),
                default_namespace: default_namespace.to_owned(),
            }
        });
        surroundings
    }

    /// Returns the workloads that no HPA scales and no other object controls or describes.
    fn unscaled(&self) -> &[CrossVersionObjectReference] {
        self.unscaled.get_or_init(|| {
            let targets: Vec<&CrossVersionObjectReference> =
                self.hpas.iter().filter_map(InputHpa::target).collect();
            let workloads = &self.surroundings.workloads;
            workloads
                .iter()
                .filter(|own| {
                    has_own_scale(&own.group, &own.kind)
                        && own.metadata.controller().is_none()
                        && !targets.iter().any(|target| own.is_named_by(target))
                        && !workloads.iter().any(|rollout| own.is_template_of(rollout))
                })
                .map(Workload::to_reference)
                .collect()
        })
    }

    /// Returns the places of all HPAs that scale a target.
    fn scaling(&self, target: &CrossVersionObjectReference) -> impl Iterator<Item = usize> {
        let places = self.by_target.get(&target.name).into_iter().flatten();
        places.copied().filter(|place| {
            let own = self.hpas[*place].target();
            own.is_some_and(|own| own.is_same(target))
        })
    }

    /// Returns the other HPAs for a target that the input lacks.
    fn rivals(&self, own: usize, target: &CrossVersionObjectReference) -> Vec<Hpa> {
        let others = self.scaling(target).filter(|place| *place != own);
        let others = others.map(|place| &self.hpas[place]);
        others
            .filter(|other| matches!(other.scale, Ok(Err(ScaleError::Missing(_)))))
            .filter_map(|other| Some(other.admitted.as_ref().ok()?.0.clone()))
            .collect()
    }
}

impl InputHpa<'_> {
    /// Returns the target of an HPA that can be read.
    fn target(&self) -> Option<&CrossVersionObjectReference> {
        let (hpa, _) = self.admitted.as_ref().ok()?;
        Some(&hpa.spec.scale_target_ref)
    }

    /// Returns the HPA, with the scale that has its selector.
    fn selector(&self, namespace: &str) -> Result<(&Hpa, Cow<'_, Scale>), UnknownSelector> {
        let key = format!("{namespace}/{}", self.object.name);
        let (hpa, _) = self.admitted.as_ref().map_err(|e| {
            let why = WhyUnknownSelector::HpaUnreadable(e.message.clone());
            UnknownSelector::new(key.clone(), None, why)
        })?;
        let target = || hpa.spec.scale_target_ref.to_string();
        let why = match &self.scale {
            Ok(Ok(scale)) => return Ok((hpa, Cow::Borrowed(scale))),
            Ok(Err(ScaleError::NoReplicas { selector, .. })) => {
                // Whatever the replicas are, the HPA's own passes bring them inside its bounds, and read the selector.
                let replicas = hpa.spec.min();
                return Ok((hpa, Cow::Owned(Scale::new(replicas, selector.as_str()))));
            }
            Ok(Err(ScaleError::Missing(target))) => WhyUnknownSelector::NoTarget(target.clone()),
            Ok(Err(ScaleError::Mapping(_) | ScaleError::Get(_))) => {
                WhyUnknownSelector::TargetGone { target: target() }
            }
            Err(e) => WhyUnknownSelector::TargetUnreadable {
                target: target(),
                why: UnknownFactCause::Failed(e.message.clone()),
            },
        };
        Err(UnknownSelector::new(key, Some(hpa), why))
    }
}

/// Collects the input of an HPA's pass, except pods and their metrics. Of the other HPAs, only those that
/// `may_share` its pods matter; `pod_values` are those of the pods that its target selects.
fn without_pods(
    place: &Place<'_, '_>,
    own: usize,
    options: &Options,
    clock: Timestamp,
    may_share: impl Iterator<Item = usize>,
    pod_values: &[&MetricValue],
) -> Result<Input, Error> {
    let Index {
        objects,
        target,
        requests,
        ..
    } = place.index;
    let mut notes = objects.notes.clone();
    let mut basis = Vec::new();
    let state = objects.state.as_ref();

    let now = time_of_pass(state, options, clock, &mut basis);
    let Settings { controller, known } = settings(objects, options, &mut basis, &mut notes)?;

    let (hpa, target_manifest, is_rejected) =
        checked(place, own, &controller.version, options, &mut notes)?;
    let mut command_flags = options.command_flags.clone();
    if is_rejected {
        command_flags.allow_rejected();
    }
    place.each_once.clone()?;
    let scale = place.hpas[own].scale.clone()?;
    basis.extend(target.assumption(&hpa).filter(|_| scale.is_ok()));
    let answers = Answers {
        objects,
        hpa: &hpa,
        place,
        scale: scale.as_ref().ok(),
        pod_values,
    };
    let metrics = answers.all(hpa.spec.metrics.iter().chain(&options.also));
    let listed =
        objects.has_list(Documents::PodMetrics, &hpa.namespace) || !place.pod_metrics.is_empty();
    let takes_none = state.is_some()
        && scale.is_ok()
        && requests.pod_metrics(&hpa).is_none()
        && metrics.contains(&MetricAnswer::PodMetrics)
        && !place.pods.is_empty();
    if takes_none && !listed {
        notes.push(Note::new(
            "the input has a ControllerState but no PodMetrics, so the list of them is assumed to be empty",
        ));
    }
    let other_hpas = place.others(own, &hpa, may_share, &mut notes);
    let scale_update_error = requests
        .error(&hpa, Api::ScaleUpdate, None)
        .map(|e| e.message.clone());
    for ((kind, api_version), count) in &objects.skipped {
        notes.push(skipped(kind, api_version, *count, &hpa));
    }
    let stated_memory = state.map_or(Ok(None), stated_memory)?;

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
    let counted = snapshot.scale.as_ref().ok();
    let evidence = Evidence {
        pods: place.pod_events.clone(),
        seen: state.map(|state| state.seen.clone()).unwrap_or_default(),
        rescales: state.and_then(|state| state.rescales.clone()),
        past: state.and_then(|state| state.past.clone()),
        recorded: state.and_then(|state| state.recorded.clone()),
        counted: counted.and_then(|scale| target.counted(&snapshot.hpa, scale, now)),
        ..objects.evidence.of(&snapshot.hpa)
    };
    let mut surroundings = place.around(own, &snapshot, options.default_namespace());
    surroundings.manifest_replicas = target_manifest
        .filter(|own| own.object.is_manifest())
        .and_then(|own| {
            let (origin, replicas) = (own.origin.clone(), own.object.replicas?);
            Some(ManifestReplicas { origin, replicas })
        });
    notes.extend(not_the_target(&surroundings.unscaled, &snapshot.hpa));
    Ok(Input {
        snapshot,
        observed: None,
        is_new_hpa: false,
        stated_memory,
        evidence,
        surroundings,
        known,
        clock_doubt: None,
        basis,
        notes,
        command_flags,
    })
}

/// Returns an HPA as an API server admits it, the manifest of its target, and whether a server would reject one of their
/// manifests. What is wrong with these is noted.
fn checked<'p>(
    place: &'p Place<'_, '_>,
    own: usize,
    version: &Version,
    options: &Options,
    notes: &mut Vec<Note>,
) -> Result<(Hpa, Option<&'p WorkloadManifest>, bool), Error> {
    let InputHpa {
        object, admitted, ..
    } = &place.hpas[own];
    let of_hpa = check_hpa(object, version, options)?;
    let (hpa, admission) = admitted.as_ref().map_err(Clone::clone)?;
    let is_said = |note: &&Note| of_hpa.is_none() || note.subject != Subject::UnknownFields;
    notes.extend(admission.iter().filter(is_said).cloned());
    let mut manifests = place.manifests.iter();
    let target = of_hpa
        .as_ref()
        .and_then(|_| manifests.find(|it| place.index.target.is_of(&it.object, hpa)));
    let of_target = target.map_or(Ok(Vec::new()), |it| notes_of_target(it, notes))?;
    let of_hpa = of_hpa.unwrap_or_default();
    let is_rejected = of_hpa.iter().chain(&of_target).any(Note::is_rejected);
    notes.extend(Note::of_manifest(&object.origin, of_hpa));
    if let Some(target) = target {
        notes.extend(Note::of_manifest(&target.origin, of_target));
    }
    Ok((hpa.clone(), target, is_rejected))
}

/// Returns the time of the pass: that of the flag, of the state, or of the system's clock, which is an assumption.
fn time_of_pass(
    state: Option<&ControllerState<'_>>,
    options: &Options,
    clock: Timestamp,
    basis: &mut Vec<Basis>,
) -> Timestamp {
    let stated = state.and_then(|state| Some((state.now?, state.now_is_assumed)));
    let (now, is_assumed) = match (options.now, stated) {
        (Some(now), _) => (now, false),
        (None, Some(stated)) => stated,
        (None, None) => (clock, true),
    };
    if is_assumed {
        basis.push(Basis::Clock {
            time: now,
            source: ClockSource::System,
        });
    }
    now
}

/// Returns the notes about the manifest of the target. One with a status is assumed to be accepted.
fn notes_of_target(manifest: &WorkloadManifest, notes: &mut Vec<Note>) -> Result<Vec<Note>, Error> {
    match manifest.notes() {
        Err(e) if manifest.object.status.is_some() => {
            notes.push(Note::new(format!(
                "taken as accepted by an API server, because it has a status, in spite of this: {e}"
            )));
            Ok(Vec::new())
        }
        of_target => of_target,
    }
}

/// Returns the stated history; `None` if it is stated as unknown.
fn stated_memory(state: &ControllerState<'_>) -> Result<Option<Memory>, Error> {
    let memory = state.stated_memory();
    if memory.is_none() && state.lists() != Memory::default() {
        return Err(Error::usage(
            "the ControllerState has memory: unknown and also states a history",
        )
        .hint("remove one of them"));
    }
    Ok(memory)
}

/// Returns a note about objects of a kind that a pass does not use.
fn skipped(kind: &str, api_version: &str, count: usize, hpa: &Hpa) -> Note {
    let version = match api_version {
        "" => "without a valid kind and apiVersion",
        version => version,
    };
    let target = &hpa.spec.scale_target_ref;
    let why = match names::group(version) {
        group if target.is_kind(kind) && group == target.group() => {
            "a pass uses only the Scale of the target"
        }
        "http.keda.sh" => "a pass uses only the HPA that KEDA creates",
        _ => "not used by a pass",
    };
    Note::new(format!("skipped {count} {kind} ({version}): {why}"))
}

/// Returns a note about workloads that no HPA scales, if the input lacks the target of an HPA.
fn not_the_target(workloads: &[String], hpa: &Hpa) -> Option<Note> {
    let (are, it) = match workloads.len() {
        0 => return None,
        1 => ("is", "it"),
        _ => ("are", "one of them"),
    };
    let target = &hpa.spec.scale_target_ref;
    Some(Note::new(format!(
        "{} {are} not the target, {target}, and not used: correct scaleTargetRef, if {it} is meant",
        listed(workloads)
    )))
}

/// Returns the workloads, as `Kind/name`, that may be meant by a target that the input lacks: those of a
/// similar name, or else of its kind, or else the others, if they are few.
fn alike(
    target: &CrossVersionObjectReference,
    unscaled: &[CrossVersionObjectReference],
) -> Vec<String> {
    const FEW: usize = 3;
    let near = similar::nearest(&target.name, unscaled.iter().map(|own| &*own.name));
    let of_name = unscaled.iter().filter(|own| Some(&*own.name) == near);
    let of_kind = unscaled.iter().filter(|own| target.is_kind(&own.kind));
    [
        of_name.collect(),
        of_kind.collect(),
        unscaled.iter().collect(),
    ]
    .into_iter()
    .find(|alike: &Vec<_>| (1..=FEW).contains(&alike.len()))
    .map_or_else(Vec::new, |alike| {
        alike.into_iter().map(ToString::to_string).collect()
    })
}

/// Returns the objects around the passes of a namespace.
pub(crate) fn surroundings(
    objects: &Objects,
    namespace: &str,
    default_namespace: &str,
) -> Surroundings {
    Around::new(objects, default_namespace).of(namespace)
}

/// Returns the controller's result for the scale of a built-in target, derived from the target itself.
///
/// # Errors
///
/// The text is not the target.
pub fn scale_of(hpa: &Hpa, target: &str) -> Result<Result<Scale, ScaleError>, Error> {
    let mut objects = Objects::default();
    file::read_answer(target, "the answer", &mut objects)?;
    let kind = &hpa.spec.scale_target_ref.kind;
    let workload = objects.workloads.first().filter(|it| scales(it, hpa));
    let not_it = || Error::failed(format!("the answer is not the {kind}"));
    scale_in(hpa, Some(workload.ok_or_else(not_it)?))
}

/// Whether an HPA scales a workload of its namespace.
fn scales(workload: &Workload, hpa: &Hpa) -> bool {
    lookup(hpa, std::slice::from_ref(workload)).has_workload(hpa)
}

/// Returns the same result for a target that was read from a cluster; `None` if the cluster has no such
/// target.
///
/// # Errors
///
/// The target's selector is not valid.
pub fn scale_in(hpa: &Hpa, target: Option<&Workload>) -> Result<Result<Scale, ScaleError>, Error> {
    let workloads = target.map_or(&[][..], std::slice::from_ref);
    let mut scale = lookup(hpa, workloads).scale(hpa, &ApiRequests::default())?;
    // A server omits the status of a target that its controller has not seen yet.
    if let (Ok(scale), Some(Workload { status: None, .. })) = (&mut scale, target) {
        scale.status_replicas = 0;
    }
    Ok(scale)
}

/// Looks for the target of an HPA among the workloads of a cluster.
fn lookup<'o>(hpa: &'o Hpa, workloads: &'o [Workload]) -> ScaleLookup<'o> {
    ScaleLookup::among(workloads, &hpa.namespace)
}

/// Checks that no two objects of a kind have the same name: no API server has both, so one of them is
/// outdated.
fn once<'o>(kind: &str, names: impl Iterator<Item = &'o str>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let twice: Vec<&str> = names.filter(|name| !seen.insert(*name)).collect();
    match twice[..] {
        [] => Ok(()),
        [first, ref more @ ..] => {
            let more = match more.len() {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            Err(
                Error::usage(format!("the input repeats {kind} {first}{more}"))
                    .hint("keep one of each"),
            )
        }
    }
}

/// Returns the unknown fields of the manifest of an HPA, in words.
fn unknown_in(json: &str) -> Vec<String> {
    let read = hpa_with_unknown_fields(json);
    read.map_or_else(|_| Vec::new(), |(_, unknown)| unknown.messages())
}

/// Returns the end of the hint for a rejected spec: the minimum, which the API server does not name, if the maximum is
/// below it.
pub(crate) fn bounds(spec: &HpaSpec) -> String {
    let min = spec.min_replicas.filter(|min| spec.max_replicas < *min);
    min.map_or_else(String::new, |min| format!("; minReplicas is {min}"))
}

/// Returns the hint for a manifest or a change that the API server rejects. The missing value may have been
/// stated in a field that the API server does not know, such as one of an older version.
pub(crate) fn rejected(what: &str, unknown: &[String]) -> String {
    let rejects = format!("the API server would reject this {what} with these causes");
    match unknown {
        [] => rejects,
        unknown => format!(
            "{rejects}, and ignores what it does not know: {}",
            unknown.join("; ")
        ),
    }
}

/// Checks the manifest of an HPA as kubectl does, and returns the notes about it; `None` for an HPA that an
/// API server has accepted.
fn check_hpa(
    object: &UndecodedHpa,
    rules: &Version,
    options: &Options,
) -> Result<Option<Vec<Note>>, Error> {
    // An HPA that cannot be decoded is a separate error.
    let is_admitted = hpa_from_json(&object.json).map_or(true, |hpa| hpa.is_admitted());
    if is_admitted {
        return Ok(None);
    }
    let hpa = manifest::read_hpa(object, options.validate)?;
    let not_served = manifest::check_version(&hpa, &object.origin, rules, options.validate)?;
    let is_ignored = |note: &Note| matches!(note.subject, Subject::FieldIgnored { .. });
    let ignored = hpa.notes.into_iter().filter(is_ignored);
    Ok(Some(ignored.chain(not_served).collect()))
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
        AdmissionError::Invalid(e) => {
            let spec = hpa_from_json(&object.json)
                .map(|hpa| hpa.spec)
                .unwrap_or_default();
            let (hint, bounds) = (
                rejected("manifest", &unknown_in(&object.json)),
                bounds(&spec),
            );
            Error::usage(format!("{}: {e}", object.origin)).hint(format!("{hint}{bounds}"))
        }
        AdmissionError::Decode(e) => Error::usage(format!(
            "{}: HorizontalPodAutoscaler {}: {e}",
            object.origin, object.name
        )),
    })?;
    notes.extend(admitted.notes.iter().cloned());
    let hpa = admitted.into_hpa();
    for (index, metric) in hpa.spec.metrics.iter().enumerate() {
        if lacks_source(metric, &controller.version) {
            return Err(Error::usage(format!(
                "{}: HorizontalPodAutoscaler {}: spec.metrics[{index}]: no source for the type {}",
                object.origin, hpa.name, metric.type_
            ))
            .hint(format!(
                "the controller of {} would crash on it",
                controller.version
            )));
        }
    }
    Ok(hpa)
}

/// Whether a metric of a known type lacks its source, or, for an old controller, its target: the controller
/// would crash.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{scale_in, skipped};
    use crate::snapshot::ScaleError;
    use crate::snapshot::hpa::Hpa;

    #[test]
    fn a_target_that_is_not_there_fails_in_the_words_of_the_api_server() {
        let get = |text: &str| ScaleError::Get(text.to_owned());
        let no_scale = get("the server could not find the requested resource");
        for (api_version, kind, name, want) in [
            (
                "apps/v1",
                "Deployment",
                "we\u{e9}\u{7f}b",
                get(r#"deployments.apps "weé\x7fb" not found"#),
            ),
            (
                "apps/v1",
                "De\u{7f}",
                "web",
                ScaleError::Mapping(r#"no matches for kind "De\x7f" in group "apps""#.to_owned()),
            ),
            ("apps/v1", "ControllerRevision", "web", no_scale.clone()),
            ("v1", "Service", "web", no_scale.clone()),
            ("v1", "node", "web", no_scale.clone()),
            ("batch/v1", "JobList", "web", no_scale),
            (
                "v1",
                "ReplicationController",
                "web",
                get(r#"replicationcontrollers "web" not found"#),
            ),
            (
                "example.com/v1",
                "Service",
                "web",
                get(r#"services.example.com "web" not found"#),
            ),
        ] {
            let target = json!({"apiVersion": api_version, "kind": kind, "name": name});
            let hpa = Hpa::of(&json!({"scaleTargetRef": target}), json!({}));
            let scale = scale_in(&hpa, None).expect("usable input");
            assert_eq!(scale.expect_err("no scale"), want);
        }
    }

    #[test]
    fn an_object_that_is_skipped_says_what_is_read_instead() {
        let target = json!({"apiVersion": "example.com/v1", "kind": "Stack", "name": "web"});
        let hpa = Hpa::of(&json!({"scaleTargetRef": target}), json!({}));
        for (api_version, kind, want) in [
            (
                "example.com/v2",
                "Stack",
                "a pass uses only the Scale of the target",
            ),
            ("example.org/v1", "Stack", "not used by a pass"),
            (
                "http.keda.sh/v1alpha1",
                "HTTPScaledObject",
                "a pass uses only the HPA that KEDA creates",
            ),
        ] {
            let want = format!("skipped 2 {kind} ({api_version}): {want}");
            assert_eq!(skipped(kind, api_version, 2, &hpa).text, want);
        }
    }
}
