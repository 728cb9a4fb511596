//! The differences between the containers, requests and labels of a template and those of a pod.

use super::requests::{NewRequest, RequestChange};
use super::{Override, Reported};
use crate::apimachinery::selector::Labels;
use crate::numbers::resource_amount;
use crate::snapshot::pod::{Container, Pod, Requests};

/// One of the two container lists of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContainerList {
    Containers,
    InitContainers,
}

impl ContainerList {
    pub(super) fn of(self, pod: &Pod) -> &[Container] {
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

    /// Returns a container in this list if it keeps running, and so is measured.
    fn keeping(self, container: &Container) -> Option<&Container> {
        let keeps = self == Self::Containers || container.restart_always;
        keeps.then_some(container)
    }

    /// Returns the term for a container in this list.
    fn sort(self, container: &Container) -> &'static str {
        match self {
            Self::Containers => "container",
            Self::InitContainers if container.restart_always => "sidecar",
            Self::InitContainers => "init container",
        }
    }

    /// Returns what a container in this list is, with its name.
    pub(super) fn item(self, container: &Container) -> String {
        format!("{} {}", self.sort(container), container.name)
    }
}

pub(super) fn containers(pod: &Pod) -> impl Iterator<Item = (ContainerList, &Container)> {
    [ContainerList::Containers, ContainerList::InitContainers]
        .into_iter()
        .flat_map(move |list| list.of(pod).iter().map(move |container| (list, container)))
}

pub(super) fn find<'p>(pod: &'p Pod, name: &str) -> Option<(ContainerList, &'p Container)> {
    containers(pod).find(|(_, container)| *container.name == *name)
}

/// Returns the requests of a template that a pod, or the previous template, does not have. A request that the template
/// leaves out is removed only if the previous template stated it (`is_template`).
pub(super) fn new_requests(before: &Pod, template: &Pod, is_template: bool) -> Vec<NewRequest> {
    let pairs = template.all_containers().filter_map(|container| {
        let (_, before) = find(before, &container.name)?;
        Some((
            Some(container.name.clone()),
            &before.requests,
            &container.requests,
        ))
    });
    let whole = (None, &before.requests, &template.requests);
    let mut requests = Vec::new();
    for (container, before, after) in pairs.chain([whole]) {
        let changed = after
            .0
            .iter()
            .filter(|(resource, now)| before.get(resource) != Some(now));
        requests.extend(changed.map(|(resource, now)| {
            let text = resource_amount(resource, now.milli_value()).to_string();
            let to = RequestChange::To(now.clone());
            NewRequest::new(container.clone(), resource.clone(), to, text)
        }));
        let gone = before
            .0
            .iter()
            .filter(|(resource, _)| after.get(resource).is_none());
        requests.extend(gone.filter(|_| is_template).map(|(resource, _)| {
            let (to, text) = (RequestChange::Gone, "none".to_owned());
            NewRequest::new(container.clone(), resource.clone(), to, text)
        }));
    }
    requests
}

/// A change that a template makes to a pod's containers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ContainerChange {
    Add(ContainerList, Container),
    Remove(ContainerList, Container),
    /// The container moves from one list to the other, or from starting a pod to running along with it.
    Move {
        from: (ContainerList, Container),
        to: (ContainerList, Container),
    },
    Label {
        key: Box<str>,
        value: Option<Box<str>>,
        before: Option<Box<str>>,
    },
}

/// Returns the other changes that a template makes to a pod or to the previous template: labels only if it
/// keeps its pods, since the API server would otherwise reject it.
pub(super) fn changes(
    before: &Pod,
    template: &Pod,
    is_template: bool,
    keeps_pods: bool,
) -> Vec<ContainerChange> {
    let mut changes = Vec::new();
    for (list, container) in containers(template) {
        match find(before, &container.name) {
            None => changes.push(ContainerChange::Add(list, container.clone())),
            Some((own, old)) if (own, old.restart_always) != (list, container.restart_always) => {
                let (from, to) = ((own, old.clone()), (list, container.clone()));
                changes.push(ContainerChange::Move { from, to });
            }
            Some(_) => {}
        }
    }
    if is_template {
        let gone = containers(before).filter(|(_, own)| !template.has_container(&own.name));
        changes
            .extend(gone.map(|(list, container)| ContainerChange::Remove(list, container.clone())));
    }
    if keeps_pods {
        let new = template
            .labels
            .iter()
            .filter(|(key, value)| before.labels.get(key) != Some(value))
            .map(|(key, value)| (key, Some(value)));
        let gone = before
            .labels
            .iter()
            .filter(|(key, _)| is_template && template.labels.get(key).is_none())
            .map(|(key, _)| (key, None));
        changes.extend(new.chain(gone).map(|(key, value)| ContainerChange::Label {
            key: key.into(),
            value: value.map(Into::into),
            before: before.labels.get(key).map(Into::into),
        }));
    }
    changes
}

impl ContainerChange {
    /// Returns the container that runs only with the change.
    pub(super) fn begins(&self) -> Option<&Container> {
        let [before, after] = self.measured();
        after.filter(|_| before.is_none())
    }

    /// Returns the container that runs only without the change.
    pub(super) fn ends(&self) -> Option<&Container> {
        let [before, after] = self.measured();
        before.filter(|_| after.is_none())
    }

    /// Returns the container that is measured before the change, and the one after it.
    fn measured(&self) -> [Option<&Container>; 2] {
        match self {
            Self::Add(list, own) => [None, list.keeping(own)],
            // One that only starts pods is measured while it does.
            Self::Remove(_, own) => [Some(own), None],
            Self::Move { from, to } => [from.0.keeping(&from.1), to.0.keeping(&to.1)],
            Self::Label { .. } => [None, None],
        }
    }

    pub(super) fn make(&self, pod: &mut Pod) {
        match self {
            Self::Add(list, container) => {
                if !pod.has_container(&container.name) {
                    list.of_mut(pod).push(container.clone());
                }
            }
            Self::Remove(list, container) => {
                list.of_mut(pod).retain(|own| own.name != container.name);
            }
            Self::Move {
                from: (from, _),
                to: (to, container),
            } => {
                let list = from.of_mut(pod);
                let Some(place) = list.iter().position(|own| own.name == container.name) else {
                    return;
                };
                let moved = Container {
                    restart_always: container.restart_always,
                    ..list.remove(place)
                };
                to.of_mut(pod).push(moved);
            }
            Self::Label { key, value, .. } => {
                let others = pod.labels.iter().filter(|(own, _)| **own != **key);
                let new = value.as_deref().map(|value| (&**key, value));
                pod.labels = others.chain(new).collect::<Labels>().into();
            }
        }
    }

    pub(super) fn own(&self) -> Override {
        let shown = |label: &Option<Box<str>>| label.as_deref().unwrap_or("none").to_owned();
        let (item, assumed, observed) = match self {
            Self::Add(list, own) => (list.item(own), words(&own.requests), shown(&None)),
            Self::Remove(list, own) => (list.item(own), shown(&None), words(&own.requests)),
            Self::Move {
                from: (from, was),
                to: (to, own),
            } => {
                let item = format!("container {}", own.name);
                (item, to.sort(own).to_owned(), from.sort(was).to_owned())
            }
            Self::Label { key, value, before } => {
                (format!("label {key}"), shown(value), shown(before))
            }
        };
        Override::new(item, assumed, Some(Reported::Text(observed)))
    }
}

/// The requests of a container.
fn words(requests: &Requests) -> String {
    let amounts: Vec<String> = requests
        .0
        .iter()
        .map(|(resource, own)| {
            let amount = resource_amount(resource, own.milli_value());
            format!("{resource} {amount}")
        })
        .collect();
    if amounts.is_empty() {
        "without requests".to_owned()
    } else {
        format!("requests {}", amounts.join(", "))
    }
}
