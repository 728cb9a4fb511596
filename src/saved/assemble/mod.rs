//! Turns saved objects into a snapshot: finds the HPA, and answers the controller's API requests from the
//! objects. Assumptions go into the basis, and notes about what was read but not used into the notes.
//! Nothing here computes replicas.

mod admission;
mod answers;
mod choose;
mod index;
mod list;
mod requests;
mod target;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ptr;

use jiff::Timestamp;

pub(crate) use admission::rejected;
use admission::{InputHpa, check_hpa};
use answers::Answers;
pub(crate) use answers::described_name;
pub(super) use answers::{MetricRequest, asked};
pub use choose::count;
use choose::find;
pub(crate) use choose::{is_meant, own_and_neighbours};
use index::Index;
pub use list::assemble_all;
use list::owning;
use requests::group;
pub(crate) use target::{
    has_own_scale, is_built_in, is_unscalable, resource_of, save_command, scale_in, scale_of,
};

use super::manifest::WorkloadManifest;
use super::objects::Objects;
use super::state::{Api, ControllerState};
use crate::apimachinery::names;
use crate::apimachinery::selector::Labels;
use crate::apimachinery::similar;
use crate::error::{Error, listed};
use crate::numbers;
use crate::snapshot::basis::{Basis, ClockSource};
use crate::snapshot::evidence::{Counted, Event, Evidence};
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, MetricSpec};
use crate::snapshot::input::{Input, Options};
use crate::snapshot::memory::Memory;
use crate::snapshot::metric::{MetricValue, PodMetrics};
use crate::snapshot::neighbour::{OtherHpa, UnknownSelector};
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::pod::Pod;
use crate::snapshot::right::{UnknownFact, UnknownFactCause};
use crate::snapshot::settings::Settings;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ManifestReplicas, Surroundings, TargetElsewhere, Workload};
use crate::snapshot::{Documents, MetricAnswer, Scale, ScaleError, Snapshot, UnreadCause};

/// Finds the HPA among the objects and collects everything that its pass needs. `clock` is the system time,
/// used if neither input nor command line states one.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a pod that the objects hold, too, is copied when it is changed"
)]
pub fn assemble(objects: Objects, options: &Options, clock: Timestamp) -> Result<Input, Error> {
    let object = find(&objects, options)?;
    let index = Index::new(&objects, options, clock)?;
    let place = Place::new(&index, object.namespace_in(options.default_namespace()));
    let is_meant = |hpa: &InputHpa<'_>| ptr::eq(hpa.object, object);
    let own = place.hpas.iter().position(is_meant).unwrap_or_default();
    let mut input = place.input(own, &place.whole(own))?;
    let notes = notes_of_input(&objects, Some(&input.snapshot.hpa.spec.scale_target_ref));
    input.notes.splice(0..0, notes);
    Ok(input)
}

/// Returns the notes about what of an input is not used, with a reason that concerns the target of its only HPA.
pub fn notes_of_input(
    objects: &Objects,
    target: Option<&CrossVersionObjectReference>,
) -> Vec<Note> {
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((kind, api_version), count) in &objects.skipped {
        let version = match &**api_version {
            "" => "without a valid kind and apiVersion",
            version => version,
        };
        let group = names::group(version);
        let is_target = target.is_some_and(|it| it.is_kind(kind) && it.group() == group);
        let why = match group {
            _ if is_target => "a pass uses only the Scale of the target",
            "http.keda.sh" => "a pass uses only the HPA that KEDA creates",
            _ => "not used by a pass",
        };
        let skipped = format!("{count} {kind} ({version})");
        kinds.entry(why).or_default().push(skipped);
    }
    let joined = kinds.into_iter();
    let skipped = joined.map(|(why, all)| Note::new(format!("skipped {}: {why}", listed(&all))));
    objects.notes.iter().cloned().chain(skipped).collect()
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

/// The part of a namespace that a pass of one HPA uses.
#[derive(Clone, Default)]
struct Portion<'o> {
    pods: Vec<&'o Shared<Pod>>,
    /// The usage of the pods that its target selects.
    usage: Vec<&'o Shared<PodMetrics>>,
    /// The custom metrics of the pods that its target selects.
    values: Vec<&'o MetricValue>,
    /// The places of the HPAs that may select the same pods.
    sharing: BTreeSet<usize>,
}

impl<'i, 'o> Place<'i, 'o> {
    fn new(index: &'i Index<'o>, namespace: &str) -> Self {
        let Index {
            objects, options, ..
        } = index;
        let hpas: Vec<InputHpa<'_>> = group(&index.hpas, namespace)
            .iter()
            .map(|object| InputHpa::new(object, index))
            .collect();
        let mut known = HashMap::new();
        let mut unknown = Vec::new();
        let mut by_target: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, hpa) in hpas.iter().enumerate() {
            match hpa.as_other(namespace) {
                Ok(other) => {
                    known.insert(place, other);
                }
                Err(it) if it.may_be_stored() => unknown.push((place, it)),
                Err(_) => {}
            }
            if let Some(target) = hpa.target() {
                let places = by_target.entry(target.name.clone()).or_default();
                places.push(place);
            }
        }
        let pods = group(&index.pods, namespace);
        let pod_metrics = group(&index.pod_metrics, namespace);
        let metric_values = objects.metric_values.iter().filter(|value| {
            let stated = &value.described_object.namespace;
            stated.is_empty() || stated == namespace
        });
        let pod_events = objects.evidence.pods.iter();
        let is_here = |event: &&Event| event.namespace == namespace;
        let each_once = once("Pod", pods.iter().map(|pod| &*pod.name))
            .and_then(|()| once("PodMetrics", pod_metrics.iter().map(|item| &*item.name)));
        Self {
            index,
            known,
            by_target,
            unknown,
            unscaled: OnceCell::new(),
            hpas,
            pod_labels: pods.iter().map(|pod| (&*pod.name, &*pod.labels)).collect(),
            manifests: match objects.state {
                // The objects are those of a cluster, reduced to what a pass uses.
                Some(_) => Vec::new(),
                None => {
                    let workloads = group(&index.workloads, namespace);
                    WorkloadManifest::all(workloads.iter().copied(), options.validate)
                }
            },
            pods,
            pod_metrics,
            metric_values: metric_values.collect(),
            served: RefCell::default(),
            pod_events: pod_events
                .filter(is_here)
                .cloned()
                .collect::<Vec<_>>()
                .into(),
            each_once,
            surroundings: index.around(namespace),
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

    /// Returns the part for an HPA that is the only one to be asked about: all pods, and all other HPAs.
    fn whole(&self, own: usize) -> Portion<'o> {
        let selector = self.hpas[own].selector();
        let selects = |labels: Option<&Labels>| {
            selector
                .zip(labels)
                .is_some_and(|(own, it)| own.matches(it))
        };
        let usage = self.pod_metrics.iter().copied();
        let values = self.metric_values.iter().copied();
        Portion {
            pods: self.pods.to_vec(),
            usage: usage.filter(|it| selects(self.labels(it))).collect(),
            values: values
                .filter(|it| selects(self.labels_of_pod(it)))
                .collect(),
            sharing: (0..self.hpas.len()).collect(),
        }
    }

    /// Collects the input of an HPA's pass.
    fn input(&self, own: usize, portion: &Portion<'_>) -> Result<Input, Error> {
        let Index {
            objects,
            options,
            target,
            requests,
            now,
            ..
        } = self.index;
        let Settings {
            controller, known, ..
        } = self.index.settings.clone();
        let mut notes = self.index.notes.clone();
        let mut basis = self.index.basis.clone();
        let Checked {
            hpa,
            manifest,
            is_rejected,
        } = self.checked(own, &mut notes)?;
        let mut command_flags = options.command_flags.clone();
        if is_rejected {
            command_flags.allow_rejected();
        }
        self.each_once.clone()?;
        let scale = self.hpas[own].scale.clone()?;
        basis.extend(target.assumption(&hpa).filter(|_| scale.is_ok()));
        let has_pods = self.has_pods_of(own, portion);
        let answers = Answers {
            hpa: &hpa,
            place: self,
            scale: scale.as_ref().ok(),
            portion,
            has_pods,
        };
        let metrics = answers.all();
        notes.extend(answers.repeated());
        let mut snapshot = Snapshot {
            now: *now,
            controller,
            metrics,
            other_hpas: self.others(own, &hpa, &scale, &portion.sharing),
            pods: portion.pods.iter().copied().cloned().collect(),
            pods_unread: None,
            pod_metrics: match requests.pod_metrics(&hpa) {
                Some(saved) => saved.to_vec(),
                None => portion.usage.iter().copied().cloned().collect(),
            },
            scale_update_error: requests
                .error(&hpa, Api::ScaleUpdate, None)
                .map(|e| e.message.clone()),
            scale,
            hpa,
        };
        self.leave_out_pods(&mut snapshot);
        let mut surroundings = self.around(own, &snapshot, has_pods);
        let of_manifest = manifest.and_then(WorkloadManifest::replicas);
        surroundings.manifest_replicas = of_manifest.or_else(|| self.saved_manifest(&snapshot.hpa));
        notes.extend(self.remarks(own, &snapshot, &surroundings));
        let counted = self.counted(&snapshot, &surroundings);
        let mut input = Input {
            observed: None,
            is_new_hpa: false,
            stated_memory: objects.state.as_ref().map_or(Ok(None), stated_memory)?,
            evidence: self.evidence(&snapshot.hpa),
            snapshot,
            surroundings,
            known,
            clock_doubt: None,
            basis,
            notes,
            command_flags,
        };
        input.mark_foreign_pods();
        input.count(counted);
        input.remark();
        let state = objects.state.as_ref().filter(|_| options.now.is_none());
        input.doubt_clock(state.is_some_and(ControllerState::states_time));
        Ok(input)
    }

    /// Leaves out the pods if they were refused when the state was saved.
    fn leave_out_pods(&self, snapshot: &mut Snapshot) {
        if let Some(error) = self.index.requests.error(&snapshot.hpa, Api::Pods, None) {
            let message = error.message.clone();
            snapshot.leave_out_pods(&UnreadCause::PodsRefused { message });
        }
    }

    /// Returns what a manifest said of the target's replicas when the state was saved.
    fn saved_manifest(&self, hpa: &Hpa) -> Option<ManifestReplicas> {
        let saved = &self.index.objects.state.as_ref()?.manifests;
        saved.get(&hpa.key()).cloned()
    }

    /// Returns the target's past replica count.
    fn counted(&self, snapshot: &Snapshot, surroundings: &Surroundings) -> Option<Counted> {
        let Snapshot { hpa, now, .. } = snapshot;
        let scale = snapshot.scale.as_ref().ok()?;
        let of_scale = self.index.target.counted(hpa, scale, *now);
        of_scale.or_else(|| surroundings.counted(&hpa.spec.scale_target_ref, scale, *now))
    }

    /// Returns the evidence of the controller's past for an HPA.
    fn evidence(&self, hpa: &Hpa) -> Evidence {
        let mut evidence = self.index.objects.evidence.of(hpa);
        let is_unelected = self.index.settings.is_unelected;
        evidence.lease = evidence.lease.filter(|_| !is_unelected);
        evidence.pods = self.pod_events.clone();
        if let Some(state) = &self.index.objects.state {
            evidence.seen.clone_from(&state.seen);
            evidence.rescales.clone_from(&state.rescales);
            evidence.past.clone_from(&state.past);
            evidence.recorded.clone_from(&state.recorded);
        }
        evidence
    }

    /// Returns an HPA as an API server admits it, with the manifest of its target. What is wrong with their manifests
    /// is noted.
    fn checked(&self, own: usize, notes: &mut Vec<Note>) -> Result<Checked<'_>, Error> {
        let Index {
            options,
            settings,
            target,
            ..
        } = self.index;
        let InputHpa {
            object, admitted, ..
        } = &self.hpas[own];
        let of_hpa = check_hpa(object, &settings.controller.version, options)?;
        let (hpa, admission) = admitted.as_ref().map_err(Clone::clone)?;
        let is_said = |note: &&Note| of_hpa.is_none() || note.subject != Subject::UnknownFields;
        notes.extend(admission.iter().filter(is_said).cloned());
        let mut manifests = self.manifests.iter();
        let manifest = of_hpa
            .as_ref()
            .and_then(|_| manifests.find(|it| target.is_of(&it.object, hpa)));
        let of_target = manifest.map_or(Ok(Vec::new()), |it| notes_of_target(it, notes))?;
        let of_hpa = of_hpa.unwrap_or_default();
        let is_rejected = of_hpa.iter().chain(&of_target).any(Note::is_rejected);
        notes.extend(Note::of_manifest(&object.origin, of_hpa));
        if let Some(manifest) = manifest {
            notes.extend(Note::of_manifest(&manifest.origin, of_target));
        }
        Ok(Checked {
            hpa: hpa.clone(),
            manifest,
            is_rejected,
        })
    }

    /// Returns the HPAs at these places that select the same pods, if known, and those that share pods by the last status.
    fn others(
        &self,
        own: usize,
        hpa: &Hpa,
        scale: &Result<Scale, ScaleError>,
        sharing: &BTreeSet<usize>,
    ) -> Vec<Shared<OtherHpa>> {
        let places = sharing.iter().filter(|place| **place != own);
        let known = places.filter_map(|place| self.known.get(place).cloned());
        let unknown = self.unknown.iter().filter(|(place, _)| *place != own);
        let stated = unknown.filter_map(|(_, unknown)| unknown.as_stated(hpa, scale));
        known.chain(stated).collect()
    }

    /// Returns notes about what an input leaves open for an HPA.
    fn remarks(&self, own: usize, snapshot: &Snapshot, surroundings: &Surroundings) -> Vec<Note> {
        let Index {
            objects, requests, ..
        } = self.index;
        let Snapshot {
            hpa,
            scale,
            metrics,
            ..
        } = snapshot;
        let mut notes = Vec::new();
        let is_empty = objects.state.is_some()
            && scale.is_ok()
            && requests.pod_metrics(hpa).is_none()
            && metrics.contains(&MetricAnswer::PodMetrics)
            && !self.pods.is_empty()
            && self.pod_metrics.is_empty()
            && !objects.has_list(Documents::PodMetrics, &hpa.namespace);
        if is_empty {
            notes.push(Note::new(
                "the input has a ControllerState but no PodMetrics, so the list of them is assumed to be empty",
            ));
        }
        if objects.state.is_none() {
            notes.extend(fewer_pods(snapshot));
        }
        if snapshot.pods_unread.is_some() {
            let unknown = self.unknown.iter().map(|(place, _)| place);
            let mut others = self
                .known
                .keys()
                .chain(unknown)
                .filter(|place| **place != own);
            let shared = others.next().map(|_| UnknownFact::SharedPods);
            let facts = [UnknownFact::OF_PODS].into_iter().chain(shared);
            notes.extend(facts.map(|fact| Note::not_known(fact, &UnknownFactCause::NoPods)));
        }
        let unknown = self.unknown.iter().filter(|(place, _)| *place != own);
        UnknownSelector::note_all(unknown.map(|(_, unknown)| unknown), hpa, scale, &mut notes);
        notes.extend(not_the_target(&surroundings.unscaled, hpa));
        notes
    }

    /// Returns the objects around an HPA, and the missing ones, apart from manifests.
    fn around(&self, own: usize, snapshot: &Snapshot, has_pods: bool) -> Surroundings {
        let Index {
            objects,
            options,
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
        let is_stated = |api| requests.error(hpa, api, None).is_some_and(|e| !e.assumed);
        surroundings.lacks_scale =
            scale.is_err() && !is_stated(Api::Mapping) && !is_stated(Api::Scale);
        // If a server has refused the scale, nothing else was requested.
        let is_requested = scale.is_ok() || surroundings.lacks_scale;
        if is_requested {
            surroundings.keep_served(&hpa.spec.metrics, metrics, |group| {
                let mut known = self.served.borrow_mut();
                let served = || objects.served_metrics(group, &hpa.namespace);
                known.entry(group).or_insert_with(served).clone()
            });
        }
        let lacks_answers = scale.as_ref().is_err_and(|e| e.lacking().is_some())
            || is_requested && metrics.iter().any(MetricAnswer::is_missing);
        let may_have_pods = || has_pods || snapshot.selector().is_err() && !self.pods.is_empty();
        surroundings.lacks_pods =
            lacks_answers && !self.lists_pods_of(hpa, scale.as_ref().ok()) && !may_have_pods();
        surroundings.rivals = self.rivals(own, &hpa.spec.scale_target_ref);
        let object = self.hpas[own].object;
        let elsewhere = match scale {
            // Objects of a cluster that another namespace has say nothing about what was not dumped.
            Err(ScaleError::Missing(_)) => target.elsewhere(hpa).filter(|workload| {
                workload.metadata.uid.is_empty() || hpa.uid.is_none() || object.namespace.is_none()
            }),
            Err(ScaleError::Get(_)) => target.elsewhere(hpa),
            _ => None,
        };
        if elsewhere.is_none() && matches!(scale, Err(ScaleError::Missing(_))) {
            surroundings.unscaled = alike(&hpa.spec.scale_target_ref, self.unscaled());
        }
        surroundings.target_elsewhere = elsewhere.map(|workload| TargetElsewhere {
            hpa: format!("HorizontalPodAutoscaler/{}", object.name),
            hpa_namespace: object.namespace.clone(),
            object: workload.reference(),
            object_namespace: workload.metadata.namespace.clone(),
            default_namespace: options.default_namespace().to_owned(),
        });
        surroundings
    }

    /// Whether a portion has pods that the target of an HPA selects; or owns, which shows that they are no selection.
    fn has_pods_of(&self, own: usize, portion: &Portion<'_>) -> bool {
        let selector = self.hpas[own].selector();
        let is_selected = |pod: &Pod| selector.is_some_and(|it| it.matches(&pod.labels));
        let may_be_selection = self.index.objects.state.is_none();
        let mut pods = portion.pods.iter();
        pods.any(|pod| is_selected(pod) || may_be_selection && owning(self, pod).contains(&own))
    }

    /// Whether the input has a list of pods that shows those of a target. Without a ControllerState, it may be a
    /// selection, which has none of the pods that the target reports in its status.
    fn lists_pods_of(&self, hpa: &Hpa, scale: Option<&Scale>) -> bool {
        let objects = self.index.objects;
        let reports_some = scale.is_some_and(|scale| scale.status_replicas > 0)
            && self.index.target.assumption(hpa).is_none();
        objects.has_list(Documents::Pod, &hpa.namespace)
            && (objects.state.is_some() || !reports_some)
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
        self.scaling(target)
            .filter(|place| *place != own)
            .map(|place| &self.hpas[place])
            .filter(|other| matches!(other.scale, Ok(Err(ScaleError::Missing(_)))))
            .filter_map(|other| Some(other.admitted.as_ref().ok()?.0.clone()))
            .collect()
    }
}

/// An HPA as an API server admits it.
struct Checked<'p> {
    hpa: Hpa,
    /// The manifest of its target.
    manifest: Option<&'p WorkloadManifest>,
    /// Whether kubectl would reject one of the two manifests.
    is_rejected: bool,
}

/// Returns the time of the pass: from the flag, from the state, or from the system's clock, which is an assumption.
///
/// # Errors
///
/// The state belongs to a past pass, and there is a flag.
fn time_of_pass(
    state: Option<&ControllerState<'_>>,
    options: &Options,
    clock: Timestamp,
    basis: &mut Vec<Basis>,
) -> Result<Timestamp, Error> {
    if options.now.is_some() && state.is_some_and(|state| state.past.is_some()) {
        let message = "the input is a past pass and does not accept --now";
        return Err(Error::usage(message).hint("drop --now"));
    }
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
    Ok(now)
}

/// Returns the notes about the manifest of the target. One with a status is assumed to be accepted.
fn notes_of_target(manifest: &WorkloadManifest, notes: &mut Vec<Note>) -> Result<Vec<Note>, Error> {
    match manifest.notes.clone() {
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

/// Returns a note if objects that were saved by hand have some of the target's pods, but fewer than it reports: a list
/// with a selector, for example. Without any, they are unknown. A StatefulSet reports pods that finished or are being
/// deleted as well.
fn fewer_pods(snapshot: &Snapshot) -> Option<Note> {
    let scale = snapshot.scale.as_ref().ok()?;
    let metrics = &snapshot.hpa.spec.metrics;
    if !metrics.iter().any(MetricSpec::needs_pods) {
        return None;
    }
    let target = &snapshot.hpa.spec.scale_target_ref;
    let counts_all = target.is_kind("StatefulSet");
    let pods = snapshot.pods.iter();
    let read = pods
        .filter(|pod| counts_all || pod.is_active())
        .filter(|pod| scale.selector.matches(&pod.labels))
        .count();
    let reported = usize::try_from(scale.status_replicas).ok()?;
    (0 < read && read < reported).then(|| {
        let target = snapshot.hpa.reference();
        Note::new(format!(
            "{target} reports {}, but the input has pods for only {read} of them: if others were not saved, the \
             answer lacks them",
            numbers::count(scale.status_replicas, "replica"),
        ))
    })
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

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::{Value, json};

    use super::{Basis, Input, assemble, fewer_pods, notes_of_input, scale_in};
    use crate::build;
    use crate::saved::file::read_text;
    use crate::saved::objects::Objects;
    use crate::saved::save::to_json;
    use crate::snapshot::clock::Why;
    use crate::snapshot::hpa::Hpa;
    use crate::snapshot::input::Options;
    use crate::snapshot::pod::Pod;
    use crate::snapshot::{Scale, ScaleError, Snapshot};

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
    fn several_values_of_one_metric_are_told() {
        let metric = json!({"name": "rps"});
        let service = json!({"kind": "Service", "name": "web"});
        let object = json!({"type": "Object", "object":
            {"metric": metric, "describedObject": service, "target": build::value("5")}});
        let pods =
            json!({"type": "Pods", "pods": {"metric": metric, "target": build::average("5")}});
        let pod = json!({"kind": "Pod", "name": "web-0"});
        let external = build::external("rps", &build::value("5"));
        let told = "the input has several values of rps";
        for (metric, of, values, want) in [
            (
                &object,
                &service,
                ["1", "2"],
                Some("for Service/web: the first one counts"),
            ),
            (
                &pods,
                &pod,
                ["1", "2"],
                Some("for Pod/web-0: the last one counts"),
            ),
            (&object, &service, ["1", "1"], None),
            (&object, &pod, ["1", "2"], None),
            (
                &external,
                &json!({"queue": "a"}),
                ["1", "2"],
                Some("{queue=a}: the last one counts"),
            ),
            (&external, &json!({"queue": "a"}), ["1", "1"], None),
        ] {
            let list = |value: &str| {
                if *metric == external {
                    // Two values in one list are added.
                    let item = json!({"metricName": "rps", "metricLabels": of, "value": value});
                    let items = [item.clone(), item];
                    let (version, kind) =
                        ("external.metrics.k8s.io/v1beta1", "ExternalMetricValueList");
                    return build::list_of(version, kind, &items);
                }
                let item = json!({"describedObject": of, "metricName": "rps", "value": value});
                build::list_of("custom.metrics.k8s.io/v1beta1", "MetricValueList", &[item])
            };
            let items = [
                build::hpa(&json!({"maxReplicas": 9, "metrics": [metric]})),
                build::scale(1),
                build::pod("web-0"),
            ];
            let text = build::list(items) + &values.map(list).concat();
            let mut objects = Objects::default();
            read_text(&text, "state", &mut objects).expect("objects");
            let now = Timestamp::UNIX_EPOCH;
            let input = assemble(objects, &Options::default(), now).expect("usable input");
            let notes = input.notes.iter().map(|note| &*note.text);
            let found = notes.filter_map(|text| text.strip_prefix(told)).next();
            assert_eq!(found.map(str::trim), want, "{metric} {values:?}");
        }
    }

    #[test]
    fn what_is_assumed_of_a_target_without_status_is_still_assumed_once_saved() {
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 2,
                "selector": {"matchLabels": {"app": "web"}}}});
        let cpu = build::resource("cpu", &build::utilization(50));
        let hpa = build::hpa(&json!({"maxReplicas": 9, "metrics": [cpu]}));
        let text = build::list([hpa, target]);
        let read = |text: &str| {
            crate::saved::read(text, &Options::default(), Timestamp::UNIX_EPOCH).unwrap()
        };
        let input = read(&text);
        let saved = read(&to_json(&[&input], &[]).unwrap());
        let assumed = |input: &Input| {
            let mut basis = input.basis.iter();
            basis.any(|it| matches!(it, Basis::StatusReplicas { replicas: 2, .. }))
        };
        assert!(assumed(&input) && assumed(&saved));
        assert_eq!(saved.snapshot.scale, input.snapshot.scale);
    }

    /// A server writes a status in which everything is zero as an empty one.
    #[test]
    fn a_target_that_its_controller_has_not_seen_has_no_replicas() {
        let target = |metadata: &Value, status: &Value| {
            let mut target = build::with(build::deployment(3), &json!({ "metadata": metadata }));
            target["status"].clone_from(status);
            let fields = target.as_object_mut().expect("an object");
            fields.retain(|_, value| !value.is_null());
            target
        };
        let (stored, manifest) = (json!({"uid": "u"}), json!({}));
        for (metadata, status, want) in [
            (&stored, json!({}), 0),
            (&stored, json!({"observedGeneration": 1}), 0),
            (&stored, json!({"replicas": 2}), 2),
            (&stored, json!(null), 3),
            (&manifest, json!({}), 3),
        ] {
            let hpa = build::hpa(&json!({"maxReplicas": 9}));
            let text = build::list([hpa, target(metadata, &status)]);
            let input = crate::saved::read(&text, &Options::default(), Timestamp::UNIX_EPOCH);
            let scale = input.unwrap().snapshot.scale.unwrap();
            let found = (scale.spec_replicas, scale.status_replicas);
            assert_eq!(found, (3, want), "{metadata} {status}");
        }
    }

    fn before(seconds: i64) -> Timestamp {
        let now: Timestamp = build::NOW.parse().expect("a time");
        now - SignedDuration::from_secs(seconds)
    }

    fn doubt(times: &[Value], now: Option<Timestamp>) -> Option<(Why, Timestamp)> {
        let cpu = build::resource("cpu", &build::utilization(50));
        let queue = build::external("queue", &build::average("30"));
        let mut items = vec![
            build::hpa(&json!({"maxReplicas": 9, "metrics": [cpu, queue]})),
            build::scale(1),
            build::pod("web-0"),
        ];
        for part in times {
            match part["kind"].as_str() {
                Some(_) => items.push(part.clone()),
                None => items[0] = build::with(items[0].clone(), part),
            }
        }
        let options = Options {
            now,
            ..Options::default()
        };
        let text = build::list(items);
        let input = crate::saved::read(&text, &options, before(0)).expect("input");
        input.clock_doubt.map(|doubt| (doubt.why, doubt.newest))
    }

    #[test]
    fn the_clock_is_doubted_by_the_newest_time_of_all() {
        let usage = |age: i64, window: &str| {
            let sample = json!({"timestamp": before(age).to_string(), "window": window});
            build::with(build::pod_metrics("web-0", "50m"), &sample)
        };
        let value = |age: i64| {
            let of =
                json!({"metricName": "queue", "value": "3", "timestamp": before(age).to_string()});
            build::external_values([of])
        };
        let status = |age: i64| {
            let entry = json!({"subresource": "status", "time": before(age).to_string()});
            json!({"metadata": {"managedFields": [entry]}})
        };
        let lease = |age: i64| build::lease(&before(age).to_string());
        let event = |age: i64| build::rescale(2, "cpu above target", &before(age).to_string());
        let day = 86_400;
        for (times, now, want) in [
            // Samples of metrics-server, those of a longer window, and values of cloud providers.
            (vec![usage(90, "15s")], None, None),
            (vec![usage(91, "15s")], None, Some((Why::Unstated, 91))),
            (vec![usage(120, "60s")], None, None),
            (vec![value(300)], None, None),
            (vec![value(301)], None, Some((Why::Unstated, 301))),
            // The other times show that the samples are old, or date the objects better.
            (vec![usage(400, "15s"), lease(4)], None, None),
            (
                vec![usage(400, "15s"), event(95)],
                None,
                Some((Why::Unstated, 95)),
            ),
            // They may be old whenever they are read.
            (vec![status(day), event(day)], None, None),
            (vec![usage(-300, "15s")], None, None),
            (vec![usage(-301, "15s")], None, Some((Why::Unstated, -301))),
            // Nothing is later than a stated time, except by the difference of clocks.
            (vec![usage(100, "15s"), status(0)], Some(60), None),
            (
                vec![usage(100, "15s"), status(0)],
                Some(61),
                Some((Why::Ahead, 0)),
            ),
            (vec![event(0)], Some(61), Some((Why::Ahead, 0))),
            (
                vec![usage(0, "15s"), lease(0)],
                Some(100),
                Some((Why::Ahead, 0)),
            ),
            (vec![usage(3_601, "15s")], Some(0), Some((Why::Old, 3_601))),
            (vec![usage(3_601, "15s"), status(60)], Some(0), None),
        ] {
            let found = doubt(&times, now.map(before));
            let wanted = want.map(|(why, age)| (why, before(age)));
            assert_eq!(found, wanted, "{times:?} {now:?}");
        }
    }

    #[test]
    fn some_of_the_pods_of_a_target_are_noted() {
        let pod = |label: &str| {
            let pod = json!({"metadata": {"name": "web-1", "labels": {"app": label}}});
            serde_json::from_value::<Pod>(pod).expect("a pod").into()
        };
        let cpu = build::resource("cpu", &build::utilization(50));
        let queue = build::external("queue", &build::average("30"));
        for (reported, pods, metric, want) in [
            (3, &["web", "api", "web"][..], &cpu, true),
            // The value is divided by the replicas that the target reports.
            (3, &["web", "api", "web"], &queue, false),
            (2, &["web", "api", "web"], &cpu, false),
            (1, &["web", "web"], &cpu, false),
            // These pods are unknown.
            (3, &["api"], &cpu, false),
        ] {
            let hpa = Hpa::of(&json!({"metrics": [metric]}), json!({}));
            let scale = Scale::new(reported, "app=web");
            let mut snapshot = Snapshot::new(hpa, scale, Timestamp::UNIX_EPOCH);
            snapshot.pods = pods.iter().map(|label| pod(label)).collect();
            assert_eq!(fewer_pods(&snapshot).is_some(), want, "{reported} {pods:?}");
        }
    }

    #[test]
    fn objects_that_are_skipped_are_joined_by_what_is_read_instead() {
        let target = json!({"apiVersion": "example.com/v1", "kind": "Stack", "name": "web"});
        let hpa = Hpa::of(&json!({"scaleTargetRef": target}), json!({}));
        let mut objects = Objects::default();
        for (kind, api_version) in [
            ("HTTPScaledObject", "http.keda.sh/v1alpha1"),
            ("Secret", "v1"),
            ("Stack", "example.com/v2"),
            ("Stack", "example.org/v1"),
        ] {
            let kind = (kind.to_owned(), api_version.to_owned());
            objects.skipped.insert(kind, 2);
        }
        let notes = notes_of_input(&objects, Some(&hpa.spec.scale_target_ref));
        let keda = "skipped 2 HTTPScaledObject (http.keda.sh/v1alpha1): a pass uses only the HPA that KEDA creates";
        let own = "skipped 2 Stack (example.com/v2): a pass uses only the Scale of the target";
        let unused = "skipped 2 Secret (v1), 2 Stack (example.org/v1): not used by a pass";
        let found: Vec<&str> = notes.iter().map(|note| &*note.text).collect();
        assert_eq!(found, [keda, own, unused]);
        // A list may be of several targets.
        let unused = "skipped 2 Secret (v1), 2 Stack (example.com/v2), 2 Stack (example.org/v1): not used by a pass";
        let notes = notes_of_input(&objects, None);
        let found: Vec<&str> = notes.iter().map(|note| &*note.text).collect();
        assert_eq!(found, [keda, unused]);
    }
}
