//! A pod, reduced to what a pass uses: labels, phase, readiness, requests. Read directly from
//! JSON without an intermediate tree, because a namespace may hold tens of thousands of them.
//! Nothing here evaluates a pod; the engine groups them.

mod wire;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use jiff::Timestamp;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::manager::ManagerSettings;
use super::shared::{Share, Shared};
use crate::apimachinery::annotations::Annotations;
use crate::apimachinery::json::{
    duplicate, expecting, optional_time, read_each, read_str, stated_text,
};
use crate::apimachinery::metadata::{Condition, OwnerReference};
use crate::apimachinery::names;
use crate::apimachinery::quantity::Amount;
use crate::apimachinery::selector::Labels;

/// A resource's name, such as `cpu`; the two common ones are not allocated.
pub type ResourceName = Cow<'static, str>;

/// Interns the names that almost every container uses.
pub(crate) fn resource_name(name: &str) -> ResourceName {
    match name {
        "cpu" => Cow::Borrowed("cpu"),
        "memory" => Cow::Borrowed("memory"),
        other => Cow::Owned(other.to_owned()),
    }
}

/// A pod in the HPA's namespace, or the template of a pod.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pod {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.namespace`, if the object states one.
    pub namespace: Option<Box<str>>,
    /// `metadata.labels`.
    pub labels: Shared<Labels>,
    /// `metadata.deletionTimestamp`: the pod is terminating.
    pub deletion_timestamp: Option<Timestamp>,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.startTime`.
    pub start_time: Option<Timestamp>,
    /// The first condition of type `Ready`.
    pub ready: Option<ReadyCondition>,
    /// The reason why the scheduler found no node for the pod: the message of `PodScheduled`, if that is false
    /// with the reason `Unschedulable`.
    pub unschedulable: Option<Box<str>>,
    /// `spec.containers`.
    pub containers: Shared<Vec<Container>>,
    /// `spec.initContainers`, in order.
    pub init_containers: Shared<Vec<Container>>,
    /// `spec.resources.requests`: requests of the pod as a whole.
    pub requests: Requests,
    /// `spec.resources.limits`: limits of the pod as a whole.
    pub limits: Requests,
    /// `spec.overhead`.
    pub overhead: Requests,
    /// The settings, if the pod has a controller manager's container.
    pub manager: Option<Box<ManagerSettings>>,
    /// The object that controls the pod. No pass uses this or the following fields; they explain an answer.
    pub owner: Option<Shared<OwnerReference>>,
    /// `spec.nodeName`: the node that the pod was assigned to.
    pub node: Option<Box<str>>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// The annotations about scaling.
    pub annotations: Annotations,
    /// `status.containerStatuses` and `status.initContainerStatuses`, if noteworthy: for containers that
    /// are waiting, have ended or restarted, or run with requests that differ from the spec's.
    pub statuses: Vec<ContainerStatus>,
    /// The conditions `PodResizePending` and `PodResizeInProgress` that are true.
    pub resizes: Vec<Condition>,
    /// Whether the pod certainly does not belong to the target, although its selector matches the pod.
    pub is_foreign: bool,
    /// The metrics, by index in the spec, that are assumed to have no value for the pod.
    pub assumed_missing: Vec<usize>,
}

/// The labels with the revision of a pod: of a Deployment, a Rollout, and a StatefulSet or DaemonSet.
pub(crate) const REVISION_LABELS: [&str; 3] = [
    "pod-template-hash",
    "rollouts-pod-template-hash",
    "controller-revision-hash",
];

impl Pod {
    /// Returns the revision of the pod's template, according to its labels.
    pub(crate) fn revision(&self) -> Option<&str> {
        REVISION_LABELS
            .iter()
            .find_map(|label| self.labels.get(label))
    }

    /// Returns the owner of the pod's ReplicaSet, if the ReplicaSet's name reveals it: the name ends in the hash of the
    /// template.
    pub(crate) fn maker<'o>(&self, replica_set: &'o OwnerReference) -> Option<&'o str> {
        let mut hashes = REVISION_LABELS
            .iter()
            .filter_map(|label| self.labels.get(label));
        hashes.find_map(|hash| replica_set.name.strip_suffix(hash)?.strip_suffix('-'))
    }

    /// Whether the pod is a manifest: in a cluster, a pod has a creation time and a status.
    pub(crate) fn is_manifest(&self) -> bool {
        (self.created, self.start_time, self.phase) == (None, None, Phase::Other)
            && self.ready.is_none()
            && self.statuses.is_empty()
    }

    /// Returns when the pod was created, if a controller of the controller manager created it.
    pub(super) fn created_by_manager(&self) -> Option<Timestamp> {
        let owner = self.owner.as_ref()?;
        let is_built_in = match names::group(&owner.api_version) {
            "apps" | "batch" => true,
            // The kubelet creates the pods of a Node.
            "" => owner.kind == "ReplicationController",
            _ => false,
        };
        self.created.filter(|_| is_built_in)
    }

    /// Returns the ordinal in a pod's name, if it is a pod of a StatefulSet.
    pub(crate) fn ordinal(name: &str) -> Option<u64> {
        let ordinal: i32 = name.rsplit_once('-')?.1.parse().ok()?;
        u64::try_from(ordinal).ok()
    }

    /// Whether the pod's name is the name of a workload with the suffix that controllers append, which has no vowels.
    pub(crate) fn is_named_after(&self, workload: &str) -> bool {
        let appended = self
            .name
            .strip_prefix(workload)
            .and_then(|rest| rest.strip_prefix('-'));
        appended.is_some_and(|it| !it.contains(['a', 'e', 'i', 'o', 'u']))
    }

    /// Returns when the pod started; unknown for a pod that is only assumed to have been ready for long.
    pub(crate) fn known_start(&self) -> Option<Timestamp> {
        let start = self.start_time;
        start.filter(|since| *since != Timestamp::UNIX_EPOCH)
    }

    /// Whether the pod has succeeded or failed.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Failed | Phase::Succeeded)
    }

    /// Whether the pod's Ready condition is True.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready
            .is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// Whether the pod counts as one of the replicas (`IsPodActive`).
    pub(crate) fn is_active(&self) -> bool {
        self.deletion_timestamp.is_none() && !self.has_ended()
    }

    /// Whether another pod has the same requests, container by container.
    pub(crate) fn requests_like(&self, other: &Self) -> bool {
        (&self.containers, &self.init_containers) == (&other.containers, &other.init_containers)
            && (&self.requests, &self.overhead) == (&other.requests, &other.overhead)
    }

    /// Returns the noteworthy status of a container.
    pub fn status_of(&self, container: &str) -> Option<&ContainerStatus> {
        self.statuses
            .iter()
            .find(|status| *status.name == *container)
    }

    /// Returns the running containers and sidecars, and with `starting` also the other init containers.
    pub(crate) fn running(&self, starting: bool) -> impl Iterator<Item = &Container> {
        let runs = move |own: &&Container| starting || own.restart_always;
        self.containers
            .iter()
            .chain(self.init_containers.iter().filter(runs))
    }

    /// Returns all containers, including init containers.
    pub(crate) fn all_containers(&self) -> impl Iterator<Item = &Container> + Clone {
        self.containers.iter().chain(&self.init_containers)
    }

    /// Returns all containers, including init containers, for changes.
    pub(crate) fn containers_mut(&mut self) -> impl Iterator<Item = &mut Container> {
        self.containers.iter_mut().chain(&mut self.init_containers)
    }

    /// Returns the pod's container of a name, including init containers.
    pub(crate) fn container(&self, name: &str) -> Option<&Container> {
        self.all_containers().find(|it| &*it.name == name)
    }

    /// Whether the pod has a container of a name, including init containers.
    pub fn has_container(&self, name: &str) -> bool {
        self.container(name).is_some()
    }
}

/// Returns pods by revision, if they state one.
pub(crate) fn by_revision<'p>(
    pods: impl Iterator<Item = &'p Pod>,
) -> BTreeMap<&'p str, Vec<&'p Pod>> {
    let mut by_revision: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in pods {
        if let Some(hash) = pod.revision() {
            by_revision.entry(hash).or_default().push(pod);
        }
    }
    by_revision
}

/// Changes all containers of pods, including init containers. Pods that share containers also share the changed ones,
/// so that a pass still decides once for all of them.
pub(crate) fn change_containers(pods: &mut [Shared<Pod>], change: impl Fn(&mut Container)) {
    let mut changed: [Option<[Shared<Vec<Container>>; 2]>; 2] = [None, None];
    for pod in pods {
        let pod = &mut **pod;
        let lists = [&mut pod.containers, &mut pod.init_containers];
        for (containers, changed) in lists.into_iter().zip(&mut changed) {
            if let Some([before, after]) = changed
                && before.is(containers)
            {
                containers.clone_from(after);
            } else {
                let before = containers.clone();
                containers.iter_mut().for_each(&change);
                *changed = Some([before, containers.clone()]);
            }
        }
    }
}

impl Share for Pod {
    /// Shares equal parts with the previous pod in a list. Lists are sorted by name, so pods of one template
    /// are adjacent. A decision about one of them then holds for all, and this saves memory.
    fn share(&mut self, before: &Self) {
        if self.labels == before.labels {
            self.labels = before.labels.clone();
        }
        if self.owner == before.owner {
            self.owner = before.owner.clone();
        }
        for (own, other) in [
            (&mut self.containers, &before.containers),
            (&mut self.init_containers, &before.init_containers),
        ] {
            if own.len() == other.len() && own.iter().zip(other).all(|(a, b)| a.is_identical(b)) {
                *own = other.clone();
            }
        }
    }
}

/// `PodPhase`. Only four of the phases are distinguished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not running yet.
    Pending,
    /// Running.
    Running,
    /// Ended with an error.
    Failed,
    /// Ended with success.
    Succeeded,
    /// `Unknown`, empty, or a phase that Kubernetes does not have.
    #[default]
    Other,
}

impl Phase {
    /// Returns the API's name of the phase; empty for `Other`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Failed => "Failed",
            Self::Succeeded => "Succeeded",
            Self::Other => "",
        }
    }

    fn from_api(phase: &str) -> Self {
        [Self::Pending, Self::Running, Self::Failed, Self::Succeeded]
            .into_iter()
            .find(|it| it.as_str() == phase)
            .unwrap_or_default()
    }
}

/// The Ready condition of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyCondition {
    /// Its status.
    pub status: ConditionStatus,
    /// When the status last changed; the zero time if unstated.
    pub last_transition_time: Timestamp,
}

/// `ConditionStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`, or any other value.
    Unknown,
}

impl ConditionStatus {
    /// Returns the API's name of the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A container and its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// The container's name.
    pub name: Box<str>,
    /// `resources.requests`.
    pub requests: Requests,
    /// `resources.limits`.
    pub limits: Requests,
    /// `restartPolicy: Always`: an init container that keeps running next to the others.
    pub restart_always: bool,
}

impl Container {
    /// Whether the containers are identical, including the representation of their quantities.
    fn is_identical(&self, other: &Self) -> bool {
        self.name == other.name
            && self.restart_always == other.restart_always
            && self.requests.is_identical(&other.requests)
            && self.limits.is_identical(&other.limits)
    }
}

/// The status of a container, as reported by the node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContainerStatus {
    /// The container's name.
    pub name: Box<str>,
    /// The number of restarts.
    pub restart_count: i32,
    /// The reason why the container is waiting, if it waits.
    pub waiting: Option<Waiting>,
    /// Whether the container has ended, and waits for nothing.
    pub terminated: bool,
    /// `resources.requests`: the requests in effect, which an in-place update changes later than the spec.
    pub requests: Option<Requests>,
}

impl ContainerStatus {
    /// Whether the status says more than that one of these containers runs with the requests of its spec.
    fn says_anything<'p>(&self, mut containers: impl Iterator<Item = &'p Container>) -> bool {
        let is_specified =
            |it: &Container| it.name == self.name && self.requests.as_ref() == Some(&it.requests);
        let is_running = self.waiting.is_none() && !self.terminated;
        let differs = self.requests.is_some() && !containers.any(is_specified);
        self.restart_count != 0 || !is_running || differs
    }
}

/// `ContainerStateWaiting`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiting {
    /// The reason, such as `CrashLoopBackOff`.
    pub reason: Box<str>,
    /// The message.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub message: Box<str>,
}

/// A resource list: few entries, looked up by name. Lists are equal in any order: a server sorts them, a manifest does
/// not.
#[derive(Debug, Clone, Default)]
pub struct Requests(pub Vec<(ResourceName, Amount)>);

impl Requests {
    /// Returns the amount of a resource, if the list has it.
    pub fn get(&self, name: &str) -> Option<&Amount> {
        self.0
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, amount)| amount)
    }

    fn is_identical(&self, other: &Self) -> bool {
        let pairs = || self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs().all(|(a, b)| a.0 == b.0 && a.1.is_identical(&b.1))
    }
}

impl PartialEq for Requests {
    fn eq(&self, other: &Self) -> bool {
        let is_in_other = |(name, amount): &(ResourceName, Amount)| other.get(name) == Some(amount);
        self.0.len() == other.0.len() && self.0.iter().all(is_in_other)
    }
}

impl<'de> Deserialize<'de> for Requests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut list = Vec::with_capacity(2);
        read_by_resource(deserializer, |name, amount| list.push((name, amount)))?;
        Ok(Self(list))
    }
}

/// Reads a map of quantities by resource, in its order.
pub(super) fn read_by_resource<'de, D: Deserializer<'de>, Q: Deserialize<'de>>(
    deserializer: D,
    add: impl FnMut(ResourceName, Q),
) -> Result<(), D::Error> {
    struct ByResource<F, Q>(F, PhantomData<Q>);

    impl<'de, F: FnMut(ResourceName, Q), Q: Deserialize<'de>> Visitor<'de> for ByResource<F, Q> {
        type Value = ();

        expecting!("a map of resource names to quantities");

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            let mut seen = BTreeSet::new();
            while let Some(ResourceKey(name)) = map.next_key()? {
                if !seen.insert(name.clone()) {
                    return Err(duplicate(&name));
                }
                (self.0)(name, map.next_value()?);
            }
            Ok(())
        }
    }

    deserializer.deserialize_map(ByResource(add, PhantomData))
}

/// A map key, read as a resource name without an intermediate string.
struct ResourceKey(ResourceName);

impl<'de> Deserialize<'de> for ResourceKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_str(deserializer, "a resource name", |name| {
            Ok(Self(resource_name(name)))
        })
    }
}

/// The fields of `metadata` that are read for each of many objects.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta<'a> {
    /// The object's name.
    pub name: Cow<'a, str>,
    /// The object's namespace, if stated.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "stated_text"
    )]
    pub namespace: Option<Cow<'a, str>>,
    /// The object's labels.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Cow<'a, Labels>,
    /// Set once the object is being deleted.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub deletion_timestamp: Option<Timestamp>,
    /// The creation time of the object.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub creation_timestamp: Option<Timestamp>,
    /// The annotations about scaling.
    #[serde(skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// The owner that controls the object.
    #[serde(
        rename = "ownerReferences",
        skip_serializing_if = "ControllerOwner::is_none"
    )]
    pub controller: ControllerOwner,
}

/// The owner of an object that is marked as its controller.
#[derive(Debug, Clone, Default)]
pub struct ControllerOwner(Option<Shared<OwnerReference>>);

impl ControllerOwner {
    fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Serialize for ControllerOwner {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<'de> Deserialize<'de> for ControllerOwner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut controller = Self::default();
        read_each(deserializer, "a list of owners", |owner: OwnerReference| {
            if controller.is_none() && owner.controller == Some(true) {
                controller.0 = Some(owner.into());
            }
            Ok(())
        })?;
        Ok(controller)
    }
}

/// The Go zero time, which means that no transition time is stated.
pub(crate) const ZERO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire::Pod {
            metadata,
            spec,
            status,
        } = wire::Pod::deserialize(deserializer)?;
        let [containers, init_containers] =
            [spec.containers.list, spec.init_containers.list].map(Cow::into_owned);
        let mut statuses = status.container_statuses.0;
        // Init containers end.
        let init = status.init_container_statuses.0.into_iter();
        statuses.extend(init.map(|status| ContainerStatus {
            terminated: false,
            ..status
        }));
        statuses.retain(|status| status.says_anything(containers.iter().chain(&init_containers)));
        Ok(Self {
            name: metadata.name.into(),
            namespace: metadata.namespace.map(Into::into),
            labels: metadata.labels.into_owned().into(),
            deletion_timestamp: metadata.deletion_timestamp,
            phase: status.phase,
            start_time: status.start_time,
            ready: status.conditions.ready,
            unschedulable: status.conditions.unschedulable,
            owner: metadata.controller.0,
            node: spec.node_name.map(Cow::into_owned).map(Into::into),
            created: metadata.creation_timestamp,
            annotations: metadata.annotations,
            statuses,
            resizes: status.conditions.resizes,
            is_foreign: false,
            assumed_missing: Vec::new(),
            containers: containers.into(),
            init_containers: init_containers.into(),
            manager: spec.containers.manager,
            requests: spec.resources.requests.into_owned(),
            limits: spec.resources.limits.into_owned(),
            overhead: spec.overhead.into_owned(),
        })
    }
}

impl Pod {
    /// Returns the JSON of the pod as the template of a workload.
    pub(crate) fn to_template(&self) -> impl Serialize + '_ {
        let wire::Pod { metadata, spec, .. } = self.wire(None);
        wire::Template { metadata, spec }
    }

    /// Returns the JSON of the pod as an object in a namespace.
    pub(crate) fn to_json<'a>(&'a self, namespace: &'a str) -> impl Serialize + 'a {
        self.wire(Some(namespace))
    }

    fn wire<'a>(&'a self, namespace: Option<&'a str>) -> wire::Pod<'a> {
        wire::Pod {
            metadata: Meta {
                name: Cow::Borrowed(&self.name),
                namespace: namespace.map(Cow::Borrowed),
                labels: Cow::Borrowed(&self.labels),
                deletion_timestamp: self.deletion_timestamp,
                creation_timestamp: self.created,
                annotations: self.annotations.clone(),
                controller: ControllerOwner(self.owner.clone()),
            },
            spec: wire::PodSpec {
                containers: wire::Containers::of(&self.containers),
                init_containers: wire::Containers::of(&self.init_containers),
                resources: wire::Resources {
                    requests: Cow::Borrowed(&self.requests),
                    limits: Cow::Borrowed(&self.limits),
                },
                overhead: Cow::Borrowed(&self.overhead),
                node_name: self.node.as_deref().map(Cow::Borrowed),
            },
            status: wire::PodStatus {
                phase: self.phase,
                start_time: self.start_time,
                conditions: wire::Conditions {
                    ready: self.ready,
                    unschedulable: self.unschedulable.clone(),
                    resizes: self.resizes.clone(),
                },
                container_statuses: wire::Statuses(self.statuses.clone()),
                init_container_statuses: wire::Statuses::default(),
            },
        }
    }
}

impl Serialize for Requests {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, amount)| (name, amount)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot::surroundings::Ordinals;

    fn pod(revision: &str, cpu: &str) -> Pod {
        let pod = json!({
            "metadata": {"labels": {"app": "web", "revision": revision}},
            "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]},
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn an_ordinal_has_32_bits() {
        for (name, ordinal) in [
            ("web-0", Some(0)),
            ("web-eu-2147483647", Some(2147483647)),
            ("web-2147483648", None),
            ("web-x", None),
            ("web", None),
        ] {
            assert_eq!(Pod::ordinal(name), ordinal, "{name}");
        }
    }

    #[test]
    fn the_place_of_a_pod_is_counted_from_the_start() {
        for (start, name, place) in [
            (0, "web-3", Some(3)),
            (3, "web-3", Some(0)),
            (4, "web-3", None),
            // A pod of others.
            (0, "web-eu-3", None),
            (0, "web", None),
        ] {
            assert_eq!(
                Ordinals { start }.place("web", name),
                place,
                "{start} {name}"
            );
        }
    }

    #[test]
    fn pods_share_what_nothing_distinguishes() {
        let before = pod("a", "1");
        for (mut pod, labels, containers) in [
            (pod("a", "1"), true, true),
            (pod("b", "1"), false, true),
            // The same number, which prints differently.
            (pod("a", "1000m"), true, false),
            (pod("a", "2"), true, false),
        ] {
            let own = pod.clone();
            pod.share(&before);
            assert_eq!(pod.labels.is(&before.labels), labels, "{own:?}");
            assert_eq!(pod.containers.is(&before.containers), containers, "{own:?}");
            assert_eq!(pod, own);
        }
    }

    #[test]
    fn a_change_of_all_pods_leaves_shared_what_was_shared() {
        let first = pod("a", "1");
        let (mut second, mut third) = (pod("b", "1"), pod("a", "2"));
        second.share(&first);
        third.share(&second);
        let before = [first, second, third];
        let mut pods = before.clone().map(Shared::from);
        change_containers(&mut pods, |container| container.requests.0.clear());
        for (place, is_shared) in [(1, true), (2, false)] {
            let of = |place: usize| &pods[place].containers;
            assert_eq!(of(place).is(of(place - 1)), is_shared, "{place}");
        }
        let none = |pod: &Shared<Pod>| pod.containers[0].requests.0.is_empty();
        assert!(pods.iter().all(none));
        assert_eq!(before, [pod("a", "1"), pod("b", "1"), pod("a", "2")]);
    }

    #[test]
    fn a_change_of_one_pod_leaves_the_others_as_they_are() {
        let before = pod("a", "1");
        let mut changed = pod("a", "1");
        changed.share(&before);
        changed.containers[0].requests.0.clear();
        assert!(!changed.containers.is(&before.containers));
        assert_eq!(before, pod("a", "1"));
    }
}
