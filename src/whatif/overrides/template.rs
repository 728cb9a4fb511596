//! The pods as another template of their workload makes them: its requests, its containers and sidecars,
//! and its labels. Only what differs from the running template changes: the rest of a pod may come from
//! what admits pods, such as an injected sidecar, a LimitRange or a VerticalPodAutoscaler.

use std::collections::{BTreeSet, HashSet};

use super::candidate::WorkloadManifest;
use super::pods::known_selector;
use super::requests::{NewRequest, RequestChange, set_requests};
use super::{Override, Reported};
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::selector::{Labels, Selector};
use crate::error::Error;
use crate::numbers::format_of;
use crate::order;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;
use crate::snapshot::pod::{Container, Pod, Requests, resource_name};
use crate::snapshot::requests::{aggregate_request, is_pod_level_resource};
use crate::snapshot::surroundings::{ManifestReplicas, Workload};

/// The item of what is assumed with a template.
pub const TEMPLATE: &str = "template";

/// Which of the two lists of a pod a container is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Containers,
    InitContainers,
}

impl List {
    fn of(self, pod: &Pod) -> &[Container] {
        match self {
            Self::Containers => &pod.containers,
            Self::InitContainers => &pod.init_containers,
        }
    }

    fn of_mut(self, pod: &mut Pod) -> &mut Vec<Container> {
        match self {
            Self::Containers => &mut pod.containers,
            Self::InitContainers => &mut pod.init_containers,
        }
    }

    /// What a container of it is called.
    fn sort(self, container: &Container) -> &'static str {
        match self {
            Self::Containers => "container",
            Self::InitContainers if container.restart_always => "sidecar",
            Self::InitContainers => "init container",
        }
    }
}

/// Makes the pods those of the manifest of their workload.
///
/// # Errors
///
/// The API server would reject it, or it is not known which pods the target has.
pub(super) fn apply(
    input: &mut Input,
    manifest: &WorkloadManifest,
    overrides: &mut Vec<Override>,
) -> Result<(), Error> {
    let mut notes = manifest.notes()?;
    let WorkloadManifest { object: manifest, origin, bare_cores, .. } = manifest;
    let reference = manifest.reference();
    let namespace = &input.snapshot.hpa.namespace;
    if let Some(own) = manifest.metadata.namespace.as_ref().filter(|own| *own != namespace) {
        let (own, namespace) = (own.clone(), namespace.clone());
        notes.push(Note::WorkloadElsewhere { workload: reference.clone(), own, namespace });
    }
    input.notes.extend(of_manifest(origin, notes));
    let replicas = manifest.replicas;
    input.surroundings.manifest_replicas =
        replicas.map(|replicas| ManifestReplicas { origin: origin.clone(), replicas });
    let target = input.snapshot.hpa.spec.scale_target_ref.clone();
    let Ok(selector) = known_selector(&input.snapshot) else { return Ok(()) };
    let mut notes = Vec::from_iter(new_selector(manifest, &selector));
    let Some(template) = manifest.template.as_deref().map(as_pod) else {
        input.notes.extend(of_manifest(origin, notes));
        return Ok(());
    };
    let running = input.surroundings.workload(&target);
    let running = running.and_then(|it| it.template.as_deref()).map(as_pod);
    let is_own = |pod: &Pod| selector.matches(&pod.labels);
    let keeps_pods = is_own(&template);
    let before = overrides.len();
    overrides.push(Override::event(TEMPLATE, format!("of {reference} from {origin}")));
    let pods = || input.snapshot.pods.iter().map(|pod| &**pod).filter(|pod| is_own(pod));
    let mut kept = (Vec::new(), Vec::new());
    let mut requests = match &running {
        Some(running) => new_requests(running, &template, true),
        None => {
            let mut all: Vec<NewRequest> = Vec::new();
            for pod in pods() {
                for new in new_requests(pod, &template, false) {
                    if !all.contains(&new) {
                        all.push(new);
                    }
                }
                for (list, container) in containers(pod) {
                    let what = format!("{} {}", list.sort(container), container.name);
                    if find(&template, &container.name).is_none() && !kept.0.contains(&what) {
                        kept.0.push(what);
                    }
                }
                for request in kept_requests(pod, &template, &input.snapshot.hpa.spec.metrics) {
                    if !kept.1.contains(&request) {
                        kept.1.push(request);
                    }
                }
            }
            all
        }
    };
    let (containers, requests_kept) = kept;
    if !containers.is_empty() || !requests_kept.is_empty() {
        notes.push(Note::KeptBesideTemplate { containers, requests: requests_kept });
    }
    let model = running.clone().or_else(|| pods().next().cloned());
    let changes = model.map(|model| changes(&model, &template, running.is_some(), keeps_pods));
    let changes = changes.unwrap_or_default();

    for own in &mut requests {
        own.lacks_unit = &*own.resource == "cpu" && bare_cores.contains(&own.container);
    }
    let was = input.snapshot.pods.clone();
    set_requests(input, &was, &requests, overrides)?;
    let unmeasured = changes.iter().filter_map(|change| match change {
        Change::Add(List::InitContainers, container) if !container.restart_always => None,
        Change::Add(_, container) => Some(container.name.to_string()),
        _ => None,
    });
    let unmeasured: Vec<String> = unmeasured.collect();
    if !unmeasured.is_empty() {
        notes.push(Note::UsageUnknown { containers: unmeasured });
    }
    overrides.extend(changes.iter().map(Change::own));
    if make(&changes, &selector, &mut input.snapshot) {
        let note = Note::rollout_first(reference);
        if !input.notes.contains(&note) {
            input.notes.push(note);
        }
    }
    if overrides.len() == before + 1
        && let Some(own) = overrides.last_mut()
    {
        own.assumed += ", which changes nothing";
    }
    let mut workloads = input.surroundings.workloads.iter_mut();
    let is_target = |it: &&mut Workload| it.metadata.name == target.name && it.is_kind_of(&target);
    if let Some(workload) = workloads.find(is_target) {
        workload.template.clone_from(&manifest.template);
    }
    input.notes.extend(of_manifest(origin, notes));
    Ok(())
}

/// Drops from the notes which containers have no usage those whose usage is stated, also by the columns of a
/// trace.
pub(crate) fn drop_known(
    snapshot: &Snapshot,
    is_in_trace: impl Fn(&str) -> bool,
    notes: &mut Vec<Note>,
) {
    let is_measured = |container: &String| {
        let mut measured = snapshot.pod_metrics.iter().flat_map(|item| &item.containers);
        measured.any(|own| *own.name == **container) || is_in_trace(container)
    };
    notes.retain_mut(|note| {
        let Note::OfManifest { note, .. } = note else { return true };
        let Note::UsageUnknown { containers } = &mut **note else { return true };
        containers.retain(|container| !is_measured(container));
        !containers.is_empty()
    });
}

/// Changes the pods that a selector matches, and takes the usage of containers that go with them. Whether
/// there is anything to change.
fn make(changes: &[Change], selector: &Selector, snapshot: &mut Snapshot) -> bool {
    if changes.is_empty() {
        return false;
    }
    let mut made: HashSet<Box<str>> = HashSet::new();
    for pod in snapshot.pods.iter_mut().filter(|pod| selector.matches(&pod.labels)) {
        changes.iter().for_each(|change| change.make(pod));
        made.insert(pod.name.clone());
    }
    let gone = changes.iter().filter_map(|change| match change {
        Change::Remove(_, container) => Some(&container.name),
        _ => None,
    });
    let gone: Vec<&Box<str>> = gone.collect();
    for item in snapshot.pod_metrics.iter_mut().filter(|item| made.contains(&item.name)) {
        if item.containers.iter().any(|own| gone.contains(&&own.name)) {
            item.containers.retain(|own| !gone.contains(&&own.name));
        }
    }
    !made.is_empty()
}

fn of_manifest(origin: &str, notes: Vec<Note>) -> impl Iterator<Item = Note> {
    let origin = origin.to_owned();
    notes
        .into_iter()
        .map(move |note| Note::OfManifest { origin: origin.clone(), note: Box::new(note) })
}

/// A selector that the API server would reject, because workloads in `apps` cannot change theirs.
fn new_selector(manifest: &Workload, running: &Selector) -> Option<Note> {
    let selector = manifest.selector.as_ref()?.to_selector().ok()?;
    let is_same = selector.normalized() == running.normalized();
    (manifest.group == "apps" && !is_same).then(|| Note::SelectorChanged {
        workload: manifest.reference(),
        selector: selector.to_string(),
        running: running.to_string(),
    })
}

/// A pod as the API server makes it of a template: what has a limit and no request requests the limit, and a
/// pod that has limits as a whole requests what its containers request together, or else those limits
/// (`SetDefaults_Pod`, `defaultPodRequests`).
pub(super) fn as_pod(template: &Pod) -> Pod {
    let mut pod = template.clone();
    for Container { requests, limits, .. } in pod.containers_mut() {
        for (resource, limit) in &limits.0 {
            if requests.get(resource).is_none() {
                requests.0.push((resource.clone(), limit.clone()));
            }
        }
    }
    if pod.limits.0.is_empty() {
        return pod;
    }
    let of_containers = ["cpu", "memory"].into_iter();
    let of_containers = of_containers
        .filter_map(|resource| Some((resource_name(resource), aggregate_request(&pod, resource)?)));
    let own = pod.limits.0.iter().filter(|(resource, _)| is_pod_level_resource(resource));
    let defaults: Vec<_> = of_containers.chain(own.cloned()).collect();
    for (resource, amount) in defaults {
        if pod.requests.get(&resource).is_none() {
            pod.requests.0.push((resource, amount));
        }
    }
    pod
}

fn containers(pod: &Pod) -> impl Iterator<Item = (List, &Container)> {
    [List::Containers, List::InitContainers]
        .into_iter()
        .flat_map(move |list| list.of(pod).iter().map(move |container| (list, container)))
}

fn find<'p>(pod: &'p Pod, name: &str) -> Option<(List, &'p Container)> {
    containers(pod).find(|(_, container)| *container.name == *name)
}

/// The requests that a pod has and the same container of a template lacks, of the resources that metrics are
/// about: container and resource.
fn kept_requests(pod: &Pod, template: &Pod, metrics: &[MetricSpec]) -> Vec<(String, String)> {
    let resources = metrics.iter().filter(|spec| spec.is_resource()).map(MetricSpec::name);
    let resources: BTreeSet<&str> = order::set(resources);
    let both = containers(pod).filter_map(|(_, own)| Some((own, find(template, &own.name)?.1)));
    let kept = both.flat_map(|(own, new)| {
        let is_kept = |resource: &&&str| {
            own.requests.get(resource).is_some() && new.requests.get(resource).is_none()
        };
        resources.iter().filter(is_kept).map(|it| (own.name.to_string(), (*it).to_owned()))
    });
    kept.collect()
}

/// The requests of a template that a pod, or the template before it, does not have. What it leaves out
/// goes only where `is_template` says that it was stated before.
fn new_requests(before: &Pod, template: &Pod, is_template: bool) -> Vec<NewRequest> {
    let pairs = containers(template).filter_map(|(_, container)| {
        let (_, before) = find(before, &container.name)?;
        Some((Some(container.name.clone()), &before.requests, &container.requests))
    });
    let whole = (None, &before.requests, &template.requests);
    let mut all = Vec::new();
    for (container, before, after) in pairs.chain([whole]) {
        let changed = after.0.iter().filter(|(resource, now)| before.get(resource) != Some(now));
        all.extend(changed.map(|(resource, now)| NewRequest {
            container: container.clone(),
            resource: resource.clone(),
            to: RequestChange::To(now.clone()),
            text: Quantity::from_milli(now.milli_value(), format_of(resource)).to_string(),
            lacks_unit: false,
        }));
        let gone = before.0.iter().filter(|(resource, _)| after.get(resource).is_none());
        all.extend(gone.filter(|_| is_template).map(|(resource, _)| NewRequest {
            container: container.clone(),
            resource: resource.clone(),
            to: RequestChange::Gone,
            text: "none".to_owned(),
            lacks_unit: false,
        }));
    }
    all
}

/// What else a template changes of a pod.
#[derive(Debug, Clone, PartialEq)]
enum Change {
    Add(List, Container),
    Remove(List, Container),
    /// From one list to the other, or from one that starts a pod up to one that keeps running.
    Move {
        from: (List, Container),
        to: (List, Container),
    },
    Label {
        key: Box<str>,
        value: Option<Box<str>>,
        before: Option<Box<str>>,
    },
}

/// What else a template changes of a pod, or of the template before it: labels only where it keeps its
/// pods, since the API server would reject it otherwise.
fn changes(before: &Pod, template: &Pod, is_template: bool, keeps_pods: bool) -> Vec<Change> {
    let mut all = Vec::new();
    for (list, container) in containers(template) {
        match find(before, &container.name) {
            None => all.push(Change::Add(list, container.clone())),
            Some((own, old)) if (own, old.restart_always) != (list, container.restart_always) => {
                let (from, to) = ((own, old.clone()), (list, container.clone()));
                all.push(Change::Move { from, to });
            }
            Some(_) => {}
        }
    }
    if is_template {
        let gone = containers(before).filter(|(_, own)| find(template, &own.name).is_none());
        all.extend(gone.map(|(list, container)| Change::Remove(list, container.clone())));
    }
    if keeps_pods {
        let new = template.labels.iter();
        let new = new.filter(|(key, value)| before.labels.get(key) != Some(value));
        let gone = before
            .labels
            .iter()
            .filter(|(key, _)| is_template && template.labels.get(key).is_none());
        let gone = gone.map(|(key, _)| (key, None));
        all.extend(new.map(|(key, value)| (key, Some(value))).chain(gone).map(|(key, value)| {
            let before = before.labels.get(key).map(Into::into);
            Change::Label { key: key.into(), value: value.map(Into::into), before }
        }));
    }
    all
}

impl Change {
    fn make(&self, pod: &mut Pod) {
        match self {
            Self::Add(list, container) => {
                if find(pod, &container.name).is_none() {
                    list.of_mut(pod).push(container.clone());
                }
            }
            Self::Remove(list, container) => {
                list.of_mut(pod).retain(|own| own.name != container.name);
            }
            Self::Move { from: (from, _), to: (to, container) } => {
                let list = from.of_mut(pod);
                let Some(place) = list.iter().position(|own| own.name == container.name) else {
                    return;
                };
                let own = list.remove(place);
                let own = Container { restart_always: container.restart_always, ..own };
                to.of_mut(pod).push(own);
            }
            Self::Label { key, value, .. } => {
                let others = pod.labels.iter().filter(|(own, _)| **own != **key);
                let new = value.as_deref().map(|value| (&**key, value));
                pod.labels = others.chain(new).collect::<Labels>().into();
            }
        }
    }

    fn own(&self) -> Override {
        let text = |text: String| Some(Reported::Text(text));
        let none = || "none".to_owned();
        match self {
            Self::Add(list, container) => {
                let item = format!("{} {}", list.sort(container), container.name);
                Override::new(item, words(&container.requests), text(none()))
            }
            Self::Remove(list, container) => {
                let item = format!("{} {}", list.sort(container), container.name);
                Override::new(item, none(), text(words(&container.requests)))
            }
            Self::Move { from, to: (list, container) } => {
                let sort = |list: List, container: &Container| list.sort(container).to_owned();
                let item = format!("container {}", container.name);
                Override::new(item, sort(*list, container), text(sort(from.0, &from.1)))
            }
            Self::Label { key, value, before } => {
                let value = value.as_deref().map_or_else(none, str::to_owned);
                let before = before.as_deref().map_or_else(none, str::to_owned);
                Override::new(format!("label {key}"), value, text(before))
            }
        }
    }
}

/// The requests of a container.
fn words(requests: &Requests) -> String {
    let all = requests.0.iter();
    let all = all.map(|(resource, own)| {
        format!("{resource} {}", Quantity::from_milli(own.milli_value(), format_of(resource)))
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        "without requests".to_owned()
    } else {
        format!("requests {}", all.join(", "))
    }
}
