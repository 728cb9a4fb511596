//! The surroundings of a pass: objects that the controller does not read, but that explain its answer. All are
//! optional; an object that is missing here may still exist. Nothing here evaluates them.

mod scaled_object;
mod workload;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::{Deref, DerefMut};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use scaled_object::paused;
pub use scaled_object::{
    Advanced, Fallback, HpaConfig, KedaCondition, ScaledObject, ScaledObjectSpec,
    ScaledObjectStatus,
};
pub use workload::{
    BlueGreen, Canary, CanaryStep, IntOrString, Ordinals, Pause, Replacement, RollingUpdate,
    ScaleDown, TrafficRouting, UpdateStrategy, Workload, WorkloadStatus,
};

use super::evidence::Counted;
use super::hpa::{CUSTOM, CrossVersionObjectReference, Hpa, MetricSpec};
use super::pod::{Pod, Requests, by_revision};
use super::right::{UnknownFact, UnknownFactCause};
use super::shared::Shared;
use super::{MetricAnswer, Scale};
use crate::apimachinery::annotations::REVISION;
use crate::apimachinery::metadata::{Condition, Metadata, OwnerReference};
use crate::apimachinery::names;
use crate::apimachinery::similar;

/// The objects around the target of an HPA.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    /// The known workloads of the namespace: the target, and owners of pods.
    pub workloads: Shared<Workloads>,
    /// The target as it was read, if another template is assumed for it.
    pub running: Option<Box<Workload>>,
    /// KEDA's ScaledObjects.
    pub scaled_objects: Shared<Vec<ScaledObject>>,
    /// VerticalPodAutoscalers.
    pub vertical_pod_autoscalers: Shared<Vec<VerticalPodAutoscaler>>,
    /// The APIServices of metrics APIs that failed.
    pub api_services: Shared<Vec<ApiService>>,
    /// The metrics APIs that failed for a metric although their groups are served, with the metrics that they serve
    /// under similar names, or under the same name for other kinds of objects.
    pub served_metrics: BTreeMap<String, Vec<String>>,
    /// The facts that could not be determined, with the reasons.
    pub unread: Vec<(UnknownFact, UnknownFactCause)>,
    /// The version of the custom metrics API that the controller requests, if it is known.
    pub custom_version: Option<String>,
    /// Whether the target has no scale only because the input lacks it; the API server has not said so.
    pub lacks_scale: bool,
    /// Whether the input lacks the target or values of metrics, and has neither pods of the target nor a list that
    /// shows their absence. Without the target, its pods cannot be identified, so the input must have no pods at all.
    pub lacks_pods: bool,
    /// The pods that are assumed because the input lacks them.
    pub supposed: Option<SupposedPods>,
    /// The pods behind the APIServices, or of metrics-server, if the input has them.
    pub servers: Shared<Vec<Shared<Pod>>>,
    /// The place of an object with the target's kind and name, if it is in another namespace than the HPA.
    pub target_elsewhere: Option<TargetElsewhere>,
    /// Whether the API server serves a scale for the kind of the target, if its discovery was asked.
    pub serves_scale: Option<bool>,
    /// The APIService of the target's group, if discovery got no answer from behind it.
    pub stale_target: Option<String>,
    /// The replicas in the target's manifest, which is assumed to be applied, if it states any.
    pub manifest_replicas: Option<ManifestReplicas>,
    /// Other HPAs for the target, if the input lacks it.
    pub rivals: Vec<Hpa>,
    /// The workloads that no HPA of the input scales, as `Kind/name`, if the input lacks the target: one of
    /// them may be the intended target.
    pub unscaled: Vec<String>,
}

/// Returns the name of a metric in the list of a metrics API, if the list has it for the kind of object
/// that a metric of a spec describes.
pub(crate) fn served_for<'n>(spec: &MetricSpec, listed: &'n str) -> Option<&'n str> {
    match (spec.described(), listed.rsplit_once('/')) {
        // KEDA lists this instead of its metrics.
        (None, None) => Some(listed).filter(|name| *name != "externalmetrics"),
        (Some(kind), Some((resource, name))) => {
            // The group may follow, as in `deployments.apps`.
            let bare = resource.split('.').next();
            (bare == Some(names::plural(kind).as_str())).then_some(name)
        }
        _ => None,
    }
}

/// Returns the kind of object, as a resource, for which a metrics API lists a metric of the spec's name, if
/// the spec describes another kind.
pub(crate) fn served_elsewhere<'n>(spec: &MetricSpec, listed: &'n str) -> Option<&'n str> {
    let (resource, name) = listed
        .rsplit_once('/')
        .filter(|_| spec.described().is_some())?;
    (name == spec.name() && served_for(spec, listed).is_none()).then_some(resource)
}

/// The metrics that a metrics API serves (`APIResourceList`).
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiResourceList {
    /// The group and version of the API.
    pub group_version: String,
    /// The resources.
    pub resources: Vec<ApiResource>,
}

/// A resource of an API.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiResource {
    /// The name: an external metric's name, or `pods/requests` for a custom metric.
    pub name: String,
}

impl ApiResourceList {
    /// Returns the group, the version and the names in the list, if it is the list of a metrics API.
    pub(crate) fn metrics(self) -> Option<([String; 2], Vec<String>)> {
        let (group, version) = self.group_version.split_once('/')?;
        let names = self.resources.into_iter().map(|resource| resource.name);
        let own = || [group, version].map(str::to_owned);
        group
            .ends_with(".metrics.k8s.io")
            .then(|| (own(), names.collect()))
    }
}

/// The replicas in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestReplicas {
    /// The file or directory.
    pub origin: String,
    /// `spec.replicas`.
    pub replicas: i32,
}

/// An object of the target's kind and name in another namespace than the HPA, with the namespaces that both
/// state. As in kubectl, an object that does not state one is in the namespace of `-n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetElsewhere {
    /// The HPA, as `Kind/name`.
    pub hpa: String,
    /// The namespace that it states.
    pub hpa_namespace: Option<String>,
    /// The object, as `Kind/name`.
    pub object: String,
    /// The namespace that it states.
    pub object_namespace: Option<String>,
    /// The namespace of objects that do not state one.
    pub default_namespace: String,
}

impl TargetElsewhere {
    /// Returns how to bring the two into one namespace.
    pub fn remedy(&self) -> String {
        match (&self.hpa_namespace, &self.object_namespace) {
            (Some(stated), None) | (None, Some(stated)) => {
                format!("use -n {}", names::shell_word(stated))
            }
            _ => "state the same namespace in both".to_owned(),
        }
    }
}

/// Names the namespaces that were searched.
impl fmt::Display for TargetElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hpa,
            hpa_namespace,
            object,
            object_namespace,
            default_namespace,
        } = self;
        let [of_hpa, of_object] = [hpa_namespace, object_namespace].map(|stated| match stated {
            Some(namespace) => format!("is in the namespace {namespace}"),
            None => format!("states no namespace, so it is in {default_namespace}"),
        });
        write!(f, "{hpa} {of_hpa}, and {object} {of_object}")
    }
}

/// Pods that are assumed because the input lacks them: ready and alike.
#[derive(Debug, Clone, PartialEq)]
pub struct SupposedPods {
    /// The number of assumed pods.
    pub count: i32,
    /// The number of replicas that the input states, if any.
    pub stated: Option<i32>,
    /// The template of the pods.
    pub template: SupposedTemplate,
}

/// The template of assumed pods.
#[derive(Debug, Clone, PartialEq)]
pub enum SupposedTemplate {
    /// The template of the target in the input.
    OfTarget,
    /// The template of the target in the manifests of a candidate.
    OfCandidate {
        /// The target, as `Kind/name`.
        workload: String,
        /// The file.
        origin: String,
    },
    /// No template is available.
    Unknown {
        /// The containers that metrics and flags name, if any: the assumed pods have no others.
        containers: Vec<Box<str>>,
        /// The assumed requests of each container: some amount of each resource for which a utilization is stated.
        requests: Requests,
    },
}

impl SupposedTemplate {
    /// Whether nothing names a container, so that the only container has an invented name.
    pub(crate) fn names_no_container(&self) -> bool {
        matches!(self, Self::Unknown { containers, .. } if containers.is_empty())
    }
}

impl Surroundings {
    /// Whether pods are assumed with some request of a resource, because nothing states it, so that the amount of a
    /// percentage is unknown.
    pub(crate) fn invents_request(&self, resource: &str) -> bool {
        let template = self.supposed.as_ref().map(|it| &it.template);
        matches!(template, Some(SupposedTemplate::Unknown { requests, .. }) if requests.get(resource).is_some())
    }

    /// Returns the workload that a reference names.
    pub fn workload(&self, reference: &CrossVersionObjectReference) -> Option<&Workload> {
        self.workloads
            .named(&reference.name)
            .find(|it| it.is_kind_of(reference))
    }

    /// Returns the revision of a target's new pods: the one in its status, or the one of its newest ReplicaSet, or the
    /// only revision with as many pods as the status counts for the current template.
    pub(crate) fn current_revision<'p>(
        &'p self,
        target: &CrossVersionObjectReference,
        pods: impl Iterator<Item = &'p Pod>,
    ) -> Option<&'p str> {
        let workload = self.workload(target)?;
        let status = workload.status.as_ref();
        let stated = status.map(|it| [&*it.update_revision, &*it.current_pod_hash]);
        if let Some(hash) = stated.into_iter().flatten().find(|hash| !hash.is_empty()) {
            return Some(hash);
        }
        let is_its = |owner: &OwnerReference| {
            owner.kind == workload.kind && owner.name == workload.metadata.name
        };
        let controlled = self.workloads.controlled_by(&workload.metadata.name);
        let owned = controlled
            .filter(|it| it.kind == "ReplicaSet" && it.metadata.controller().is_some_and(is_its));
        let number = |it: &Workload| it.metadata.annotations.get(REVISION)?.parse::<u64>().ok();
        let numbered = owned.filter_map(|it| Some((number(it)?, it)));
        let newest = numbered.max_by_key(|(number, _)| *number);
        if let Some(hash) = newest.and_then(|(_, it)| it.metadata.labels.get("pod-template-hash")) {
            return Some(hash);
        }
        let updated = usize::try_from(status?.updated_replicas?).ok()?;
        let by_revision = by_revision(pods);
        let mut of_that_many = by_revision.iter().filter(|(_, pods)| pods.len() == updated);
        let (hash, _) = of_that_many.next()?;
        of_that_many.next().is_none().then_some(*hash)
    }

    /// Returns the workload that a reference names, for changes.
    pub(crate) fn workload_mut(
        &mut self,
        reference: &CrossVersionObjectReference,
    ) -> Option<&mut Workload> {
        let mut workloads = self.workloads.iter_mut();
        workloads.find(|it| it.is_named_by(reference))
    }

    /// Keeps the target as it was read, if another template is assumed for it.
    pub(crate) fn keep_running(&mut self, was: Option<Workload>) {
        self.running = was.map(Box::new).filter(|was| {
            let template = was.template.as_deref();
            let own = self.workload(&was.to_reference());
            own.and_then(|own| own.template.as_deref())
                .is_some_and(|own| !template.is_some_and(|was| own.requests_like(was)))
        });
    }

    /// Assumes that this many pods of a target belong to an earlier template than the assumed one, whose
    /// revision is not stated.
    pub(crate) fn leave_behind(&mut self, target: &CrossVersionObjectReference, pods: usize) {
        let Some(workload) = self.workload_mut(target) else {
            return;
        };
        let Some(status) = &mut workload.status else {
            return;
        };
        let pods = i32::try_from(pods).unwrap_or(i32::MAX);
        status.updated_replicas = Some(status.replicas.saturating_sub(pods).max(0));
        status.update_revision.clear();
    }

    /// Returns the target's past replica count, if its object records one that equals the scale's.
    pub(crate) fn counted(
        &self,
        target: &CrossVersionObjectReference,
        scale: &Scale,
        now: Timestamp,
    ) -> Option<Counted> {
        let workload = self.workload(target)?;
        let replicas = workload.scale_replicas()?;
        // If the two differ, one of them was read before a change.
        let counted = Counted::new(replicas, &workload.metadata.managed_fields, now);
        counted.filter(|_| replicas == scale.status_replicas)
    }

    /// Whether something serves the group of a metrics API that failed for a metric.
    pub(crate) fn serves(&self, group: &str) -> bool {
        self.served_metrics.contains_key(group)
    }

    /// Returns the version of a group's metrics API that the controller requests. Only the custom metrics API
    /// has more than one.
    pub(crate) fn version_of(&self, group: &str) -> &str {
        let known = self.custom_version.as_deref().filter(|_| group == CUSTOM);
        known.unwrap_or("v1beta1")
    }

    /// Keeps only the served metrics that a failed metric may mean. Does nothing if the API is not served.
    pub(crate) fn keep_served(
        &mut self,
        metrics: &[MetricSpec],
        answers: &[MetricAnswer],
        served: impl Fn(&'static str) -> Option<Vec<String>>,
    ) {
        for (spec, answer) in metrics.iter().zip(answers) {
            if spec.is_resource() || !matches!(answer, MetricAnswer::Failed(_)) {
                continue;
            }
            let group = spec.api_group();
            let Some(all) = served(group) else { continue };
            let kept = self.served_metrics.entry(group.to_owned()).or_default();
            let own = || all.iter().filter_map(|listed| served_for(spec, listed));
            let near = similar::same_metric(spec.name(), own());
            let is_listed = own().any(|own| own == spec.name());
            for listed in &all {
                let is_near = near.is_some() && served_for(spec, listed) == near;
                let is_elsewhere = !is_listed && served_elsewhere(spec, listed).is_some();
                if (is_near || is_elsewhere) && !kept.contains(listed) {
                    kept.push(listed.clone());
                }
            }
        }
    }

    /// Returns the workload that an owner reference names.
    pub fn owner(&self, reference: &OwnerReference) -> Option<&Workload> {
        self.workloads.named(&reference.name).find(|workload| {
            let uid = &workload.metadata.uid;
            workload.kind == reference.kind
                && workload.group == names::group(&reference.api_version)
                && (uid.is_empty() || reference.uid.is_empty() || *uid == reference.uid)
        })
    }
}

/// Workloads that are found by name, even if there are many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workloads {
    all: Vec<Workload>,
    places: HashMap<String, Vec<usize>>,
    /// The places of the workloads that another object controls, by that object's name.
    controlled: HashMap<String, Vec<usize>>,
}

impl From<Vec<Workload>> for Shared<Workloads> {
    fn from(all: Vec<Workload>) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        let mut controlled: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, workload) in all.iter().enumerate() {
            places
                .entry(workload.metadata.name.clone())
                .or_default()
                .push(place);
            if let Some(owner) = workload.metadata.controller() {
                controlled
                    .entry(owner.name.clone())
                    .or_default()
                    .push(place);
            }
        }
        Workloads {
            all,
            places,
            controlled,
        }
        .into()
    }
}

impl Workloads {
    /// Returns the workloads of a name, in order.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Workload> {
        self.places
            .get(name)
            .into_iter()
            .flatten()
            .map(|place| &self.all[*place])
    }

    /// Returns the workloads that an object of a name controls, in order.
    pub(crate) fn controlled_by(&self, name: &str) -> impl Iterator<Item = &Workload> {
        self.controlled
            .get(name)
            .into_iter()
            .flatten()
            .map(|place| &self.all[*place])
    }
}

impl Deref for Workloads {
    type Target = [Workload];

    fn deref(&self) -> &[Workload] {
        &self.all
    }
}

impl DerefMut for Workloads {
    /// Everything but the names may change.
    fn deref_mut(&mut self) -> &mut [Workload] {
        &mut self.all
    }
}

/// A VerticalPodAutoscaler (`autoscaling.k8s.io/v1`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerticalPodAutoscaler {
    /// Identity.
    pub metadata: Metadata,
    /// The target, and the policies for resizing it.
    pub spec: VerticalPodAutoscalerSpec,
}

/// The spec of a [`VerticalPodAutoscaler`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VerticalPodAutoscalerSpec {
    /// The workload to resize.
    pub target_ref: CrossVersionObjectReference,
    /// The policy for changing pods.
    pub update_policy: UpdatePolicy,
    /// The resources to control.
    #[serde(skip_serializing_if = "ResourcePolicy::is_empty")]
    pub resource_policy: ResourcePolicy,
}

/// `PodUpdatePolicy`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdatePolicy {
    /// `Off`, `Initial`, `Recreate`, `InPlaceOrRecreate` or `Auto`; `Auto` if empty.
    pub update_mode: String,
}

/// `PodResourcePolicy`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourcePolicy {
    /// The policy for each container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_policies: Vec<ContainerPolicy>,
}

impl ResourcePolicy {
    fn is_empty(&self) -> bool {
        self.container_policies.is_empty()
    }
}

/// `ContainerResourcePolicy`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPolicy {
    /// The container; `*` for the containers without a policy.
    pub container_name: String,
    /// `Off` or `Auto`; `Auto` if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// The resources; CPU and memory if unstated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controlled_resources: Option<Vec<String>>,
}

impl VerticalPodAutoscaler {
    /// Whether the VerticalPodAutoscaler sets the request of a container for a resource.
    pub fn controls(&self, container: &str, resource: &str) -> bool {
        let Self { spec, .. } = self;
        let policies = &spec.resource_policy.container_policies;
        let policy_of = |name: &str| policies.iter().find(|own| own.container_name == name);
        let policy = policy_of(container).or_else(|| policy_of("*"));
        let resources = policy.and_then(|policy| policy.controlled_resources.as_ref());
        let is_controlled = match resources {
            Some(resources) => resources.iter().any(|it| it == resource),
            None => matches!(resource, "cpu" | "memory"),
        };
        let is_off = policy.is_some_and(|policy| policy.mode == "Off");
        spec.update_policy.update_mode != "Off" && !is_off && is_controlled
    }
}

/// An APIService (`apiregistration.k8s.io/v1`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiService {
    /// Its name, such as `v1beta1.metrics.k8s.io`.
    pub metadata: Metadata,
    /// The Service that serves the API.
    pub spec: ApiServiceSpec,
    /// The status, with the condition `Available`.
    pub status: ApiServiceStatus,
}

/// The spec of an [`ApiService`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiServiceSpec {
    /// The Service that serves the API, if not the API server itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceReference>,
}

/// A Service that serves an API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The status of an [`ApiService`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiServiceStatus {
    /// The conditions.
    pub conditions: Vec<Condition>,
}
