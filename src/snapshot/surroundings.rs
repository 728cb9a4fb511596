//! The surroundings of a pass: objects that the controller does not read for it, but that explain its answer.
//! Each of them is optional; an object that is missing here may still exist. Nothing here evaluates them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::{Deref, DerefMut};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::command_flags::CommandFlags;
use super::evidence::Counted;
use super::hpa::{CrossVersionObjectReference, Hpa, HpaSpec, MetricSpec};
use super::pod::{Pod, Requests};
use super::shared::Shared;
use super::{MetricAnswer, Scale};
use crate::apimachinery::annotations::{KEDA_PAUSED, KEDA_PAUSED_REPLICAS, REVISION};
use crate::apimachinery::json::{Elements, Objects, optional_time};
use crate::apimachinery::metadata::{Condition, Metadata, OwnerReference};
use crate::apimachinery::names;
use crate::apimachinery::selector::{LabelSelector, Selector};
use crate::apimachinery::similar;

/// The group of the custom metrics API.
pub(crate) const CUSTOM: &str = "custom.metrics.k8s.io";

/// The objects around the target of an HPA.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    /// The known workloads of the namespace: the target, and owners of pods.
    pub workloads: Shared<Workloads>,
    /// KEDA's ScaledObjects.
    pub scaled_objects: Shared<Vec<ScaledObject>>,
    /// VerticalPodAutoscalers.
    pub vertical_pod_autoscalers: Shared<Vec<VerticalPodAutoscaler>>,
    /// The APIServices of metrics APIs that failed.
    pub api_services: Shared<Vec<ApiService>>,
    /// The metrics APIs that failed for a metric although their groups are served, with the metrics of similar
    /// names that they serve, and those of the same name for other kinds of objects.
    pub served_metrics: BTreeMap<String, Vec<String>>,
    /// The version of the custom metrics API that the controller requests, if it is known.
    pub custom_version: Option<String>,
    /// Whether the target has no scale only because the input lacks it; the API server has not said so.
    pub lacks_scale: bool,
    /// Whether the input lacks the target or values of metrics, and has no pods of the target, nor a list that
    /// says that there are none. Without the target, its pods cannot be identified, so the input must have no
    /// pods at all.
    pub lacks_pods: bool,
    /// The pods that are assumed because the input lacks them.
    pub supposed: Option<SupposedPods>,
    /// The pods behind the APIServices, or of metrics-server, if the input has them.
    pub servers: Shared<Vec<Shared<Pod>>>,
    /// The place of an object with the target's kind and name, if it is in another namespace than the HPA.
    pub target_elsewhere: Option<TargetElsewhere>,
    /// Whether the API server serves a scale for the kind of the target, if its discovery was asked.
    pub serves_scale: Option<bool>,
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
    /// The name: that of an external metric, or `pods/requests` for a custom metric.
    pub name: String,
}

impl ApiResourceList {
    /// Returns the group, the version and the names in it, if it is the list of a metrics API.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestReplicas {
    /// The file or directory.
    pub origin: String,
    /// `spec.replicas`.
    pub replicas: i32,
}

/// An object of the target's kind and name in another namespace than the HPA, with the namespaces that both
/// state. As in kubectl, an object that states none is in the namespace of `-n`.
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
    /// The namespace of objects that state none.
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
    /// Whether nothing names a container, so that the only one has an invented name.
    pub(crate) fn names_no_container(&self) -> bool {
        matches!(self, Self::Unknown { containers, .. } if containers.is_empty())
    }
}

impl Surroundings {
    /// Returns the workload that a reference names.
    pub fn workload(&self, reference: &CrossVersionObjectReference) -> Option<&Workload> {
        self.workloads
            .named(&reference.name)
            .find(|it| it.is_kind_of(reference))
    }

    /// Returns the revision of a target's new pods: the one in its status, the one of its newest ReplicaSet, or
    /// the only one that has as many pods as the status counts of the current template. `of` has the pods by
    /// revision.
    pub(crate) fn current_revision<'p>(
        &'p self,
        target: &CrossVersionObjectReference,
        of: &BTreeMap<&'p str, Vec<&'p Pod>>,
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
        let mut of_that_many = of.iter().filter(|(_, pods)| pods.len() == updated);
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

    /// Keeps, of the metrics that an API serves, those that may be meant by a metric that failed. Does nothing
    /// if the API is not served.
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
    fn named(&self, name: &str) -> impl Iterator<Item = &Workload> {
        self.places
            .get(name)
            .into_iter()
            .flatten()
            .map(|place| &self.all[*place])
    }
}

impl Workloads {
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

/// An object that creates pods: a Deployment, its ReplicaSets, a StatefulSet, a Job, a Rollout.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Identity, owners, and field managers.
    pub metadata: Metadata,
    /// `spec.replicas`, if stated.
    pub replicas: Option<i32>,
    /// `spec.selector`.
    pub selector: Option<LabelSelector>,
    /// `spec.strategy` of a Deployment or Rollout, or `spec.updateStrategy` of a StatefulSet, if stated.
    pub strategy: Option<UpdateStrategy>,
    /// `spec.paused` of a Deployment or Rollout, if stated: a new template makes no pods.
    pub paused: Option<bool>,
    /// `spec.template`.
    pub template: Option<Box<Pod>>,
    /// `spec.workloadRef` of a Rollout: the workload that has its template, if the Rollout has none.
    pub template_of: Option<Box<CrossVersionObjectReference>>,
    /// `spec.workloadRef.scaleDown` of a Rollout, if stated: how it scales down that workload.
    pub scale_down: Option<ScaleDown>,
    /// `status`; `None` if the object has none, as in manifests.
    pub status: Option<WorkloadStatus>,
}

/// The time at which a Rollout scales down the Deployment that has its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleDown {
    /// Never, as if nothing is stated.
    Never,
    /// Once the Rollout is healthy.
    OnSuccess,
    /// As the Rollout scales up.
    Progressively,
}

impl ScaleDown {
    /// Parses the value as stated.
    pub(crate) fn read(text: &str) -> Option<Self> {
        [Self::Never, Self::OnSuccess, Self::Progressively]
            .into_iter()
            .find(|it| it.as_str() == text)
    }

    /// Returns the value as stated.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnSuccess => "onsuccess",
            Self::Progressively => "progressively",
        }
    }
}

/// The strategy with which a Deployment or StatefulSet replaces its pods.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateStrategy {
    /// `RollingUpdate`, or `Recreate` of a Deployment, or `OnDelete` of a StatefulSet; the first if empty.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// The limits of a rolling update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
    /// The canary of a Rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// The two sets of pods of a Rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blue_green: Option<BlueGreen>,
}

/// The strategy with which a Rollout replaces its pods step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Canary {
    /// The steps; without any, the Rollout does a rolling update.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<CanaryStep>,
    /// The traffic routing, if any. With it, all stable pods remain next to the canary's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_routing: Option<TrafficRouting>,
    /// Whether the number of stable pods decreases as the traffic shifts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_stable_scale: Option<bool>,
}

impl Canary {
    /// Whether all stable pods remain until the end of the canary.
    pub fn keeps_stable_pods(&self) -> bool {
        self.traffic_routing.is_some() && self.dynamic_stable_scale != Some(true)
    }
}

/// The traffic routing of a Rollout; only its presence is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficRouting {}

/// A step of a canary; only pauses are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CanaryStep {
    /// A pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

/// A pause of a canary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pause {
    /// The duration; if it is not stated, the pause lasts until the Rollout is promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<IntOrString>,
}

/// The strategy with which a Rollout creates all new pods before it replaces the old ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlueGreen {
    /// Whether the new pods replace the old ones without a manual promotion; they do if that is not stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_promotion_enabled: Option<bool>,
}

/// The limits of a rolling update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// The number of pods that a StatefulSet does not replace: those with the lowest ordinals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<i32>,
    /// The number of pods that may exist above the replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// The number of replicas that may be unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// A number of pods, or a percentage of the replicas, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or a percentage")]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A percentage, such as `25%`.
    String(String),
}

/// The way in which a workload replaces its pods after a change of its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// In a rolling update, or in an unknown way.
    Rolling,
    /// All at once: `Recreate`.
    Recreate,
    /// Not at all until `spec.paused` is unset.
    Paused,
    /// Once they are deleted manually: `OnDelete`.
    OnDelete,
    /// Once they are deleted, because of the kind: a ReplicaSet or ReplicationController has no rollouts.
    ByKind,
    /// In a rolling update, except for the first ones: `partition`.
    AllBut(i32),
    /// In the steps of a canary. It pauses at this step, counted from 1, until it is promoted.
    Canary(Option<usize>),
    /// After all new pods were created next to the old ones, and perhaps only after a manual promotion.
    BlueGreen {
        /// Whether a manual promotion is required.
        is_manual: bool,
    },
}

impl Replacement {
    /// Says where a Rollout waits until it is promoted.
    pub(crate) fn promotion(self) -> Option<String> {
        match self {
            Self::Canary(Some(step)) => Some(format!(
                "it pauses at step {step} of spec.strategy.canary until it is promoted, with old and new pods side by side"
            )),
            Self::BlueGreen { is_manual: true } => Some(
                "it waits until it is promoted (spec.strategy.blueGreen.autoPromotionEnabled: false), with all old and \
                 new pods side by side"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// Returns how the pods of a target are replaced. `known` yields its known states, such as its manifest and
    /// the running object: a field that one does not state is taken from the next.
    pub fn of<'w>(
        target: &CrossVersionObjectReference,
        mut known: impl Iterator<Item = &'w Workload> + Clone,
    ) -> Self {
        if target.has_no_rollouts() {
            return Self::ByKind;
        }
        if known.clone().find_map(|own| own.paused) == Some(true) {
            return Self::Paused;
        }
        let Some(stated) = known.find_map(|own| own.strategy.as_ref()) else {
            return Self::Rolling;
        };
        if let Some(canary) = stated.canary.as_ref().filter(|own| !own.steps.is_empty()) {
            let mut pauses = canary.steps.iter().map(|step| step.pause.as_ref());
            let waits =
                pauses.position(|pause| pause.is_some_and(|pause| pause.duration.is_none()));
            return Self::Canary(waits.map(|place| place + 1));
        }
        if let Some(BlueGreen {
            auto_promotion_enabled,
        }) = stated.blue_green
        {
            return Self::BlueGreen {
                is_manual: auto_promotion_enabled == Some(false),
            };
        }
        let partition = stated.rolling_update.as_ref().and_then(|own| own.partition);
        match (&*stated.type_, partition) {
            ("Recreate", _) => Self::Recreate,
            ("OnDelete", _) => Self::OnDelete,
            (_, Some(partition)) if partition > 0 => Self::AllBut(partition),
            _ => Self::Rolling,
        }
    }
}

impl CrossVersionObjectReference {
    /// Whether the reference is to an object that never replaces its pods.
    pub(crate) fn has_no_rollouts(&self) -> bool {
        let kind = &*self.kind.to_lowercase();
        matches!(
            (self.group(), kind),
            ("apps" | "extensions", "replicaset") | ("", "replicationcontroller")
        )
    }
}

/// The status of a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadStatus {
    /// `replicas`; most objects omit a count of zero.
    pub replicas: i32,
    /// `readyReplicas`; most objects omit a count of zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// `updatedReplicas`: replicas of the current template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
    /// `updateRevision` of a StatefulSet: the value of `controller-revision-hash` of updated pods.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub update_revision: String,
    /// `currentPodHash` of a Rollout: the value of `rollouts-pod-template-hash` of updated pods.
    #[serde(rename = "currentPodHash", skip_serializing_if = "String::is_empty")]
    pub current_pod_hash: String,
    /// `HPAReplicas` of a Rollout: the replicas of its scale.
    #[serde(rename = "HPAReplicas", skip_serializing_if = "Option::is_none")]
    pub hpa_replicas: Option<i32>,
    /// `selector` of a Rollout: the selector of its scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl Workload {
    /// Takes the template of the object that a Rollout refers to, and its selector if the Rollout has none
    /// (`informerBasedTemplateResolver.Resolve` of Argo Rollouts).
    pub(crate) fn resolve(&mut self, of: &Self) {
        self.template.clone_from(&of.template);
        self.selector = self.selector.take().or_else(|| of.selector.clone());
    }

    /// Whether a Rollout takes its template from this workload.
    pub(crate) fn is_template_of(&self, rollout: &Self) -> bool {
        rollout.template_of.as_deref().is_some_and(|reference| {
            self.is_named_by(reference) && self.metadata.namespace == rollout.metadata.namespace
        })
    }

    /// Returns the replicas in the status of the workload's scale; `None` if the object has no status. A
    /// Rollout is a custom resource (`scaleFromCustomResource`), whose missing replicas are 0.
    pub(crate) fn scale_replicas(&self) -> Option<i32> {
        let status = self.status.as_ref()?;
        Some(if self.is_rollout() {
            status.hpa_replicas.unwrap_or(0)
        } else {
            status.replicas
        })
    }

    /// Returns the selector of its pods, if it has a valid one.
    pub(crate) fn pod_selector(&self) -> Option<Selector> {
        self.selector.as_ref()?.to_selector().ok()
    }

    /// Returns its scale, with the selector of its pods as text.
    pub(crate) fn to_scale(&self, selector: String) -> Scale {
        Scale {
            spec_replicas: self.wanted(),
            status_replicas: self.scale_replicas().unwrap_or_else(|| self.wanted()),
            selector: selector.into(),
        }
    }

    /// Whether the workload is a manifest rather than an object of a cluster.
    pub(crate) fn is_manifest(&self) -> bool {
        self.metadata.uid.is_empty() && self.status.is_none()
    }

    /// Whether the workload is a Rollout of Argo Rollouts.
    pub(crate) fn is_rollout(&self) -> bool {
        self.group == "argoproj.io" && self.kind == "Rollout"
    }

    /// Whether the workload states its replicas. An API server sets 1 if a manifest states none, which says
    /// nothing about replicas that are left to the HPA.
    pub fn states_replicas(&self) -> bool {
        self.status.is_some() || self.replicas.is_some()
    }

    /// `spec.replicas`, 1 if unstated.
    pub fn wanted(&self) -> i32 {
        self.replicas.unwrap_or(1)
    }

    /// `Kind/name`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.kind, self.metadata.name)
    }

    /// Returns the condition of a type.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        let conditions = &self.status.as_ref()?.conditions;
        conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Returns `status.replicas`; `None` if the object has no status.
    pub fn status_replicas(&self) -> Option<i32> {
        self.status.as_ref().map(|status| status.replicas)
    }

    /// Whether a scale can be derived from the workload.
    pub(crate) fn is_scalable(&self) -> bool {
        self.kind != "Job"
    }

    /// Whether a reference is to an object of its kind.
    pub(crate) fn is_kind_of(&self, reference: &CrossVersionObjectReference) -> bool {
        self.kind.eq_ignore_ascii_case(&reference.kind) && self.group == reference.group()
    }

    /// Whether a reference is to an object of its kind and name.
    pub(crate) fn is_named_by(&self, reference: &CrossVersionObjectReference) -> bool {
        self.metadata.name == reference.name && self.is_kind_of(reference)
    }

    /// Returns a reference to the workload.
    pub(crate) fn to_reference(&self) -> CrossVersionObjectReference {
        CrossVersionObjectReference {
            kind: self.kind.clone(),
            name: self.metadata.name.clone(),
            api_version: self.api_version(),
        }
    }

    /// Returns the group and version with which the kind is written.
    pub(crate) fn api_version(&self) -> String {
        let version = match &*self.group {
            "argoproj.io" => "v1alpha1",
            _ => "v1",
        };
        match &*self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }
}

/// Writes the workload as JSON without version and kind.
impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a, T: Serialize> {
            metadata: &'a Metadata,
            spec: WorkloadSpecWire<'a, T>,
            #[serde(skip_serializing_if = "Option::is_none")]
            status: &'a Option<WorkloadStatus>,
        }
        #[derive(Serialize)]
        struct WorkloadSpecWire<'a, T: Serialize> {
            #[serde(skip_serializing_if = "Option::is_none")]
            replicas: Option<i32>,
            #[serde(skip_serializing_if = "Option::is_none")]
            selector: Option<SelectorWire<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            strategy: Option<&'a UpdateStrategy>,
            #[serde(rename = "updateStrategy", skip_serializing_if = "Option::is_none")]
            update_strategy: Option<&'a UpdateStrategy>,
            #[serde(skip_serializing_if = "Option::is_none")]
            paused: Option<bool>,
            #[serde(rename = "workloadRef", skip_serializing_if = "Option::is_none")]
            workload_ref: Option<WorkloadRefWire<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            template: Option<T>,
        }
        #[derive(Serialize)]
        struct WorkloadRefWire<'a> {
            #[serde(flatten)]
            object: &'a CrossVersionObjectReference,
            #[serde(rename = "scaleDown", skip_serializing_if = "Option::is_none")]
            scale_down: Option<&'static str>,
        }
        #[derive(Serialize)]
        #[serde(untagged)]
        enum SelectorWire<'a> {
            Labels(&'a LabelSelector),
            /// A ReplicationController's selector is a map.
            Map(&'a BTreeMap<String, String>),
        }
        let is_map = self.kind == "ReplicationController";
        let selector = self.selector.as_ref().map(|selector| {
            if is_map {
                SelectorWire::Map(&selector.match_labels)
            } else {
                SelectorWire::Labels(selector)
            }
        });
        let strategy = self.strategy.as_ref();
        let is_stateful = self.kind == "StatefulSet";
        let spec = WorkloadSpecWire {
            replicas: self.replicas,
            selector,
            strategy: strategy.filter(|_| !is_stateful),
            update_strategy: strategy.filter(|_| is_stateful),
            paused: self.paused,
            workload_ref: self.template_of.as_deref().map(|object| WorkloadRefWire {
                object,
                scale_down: self.scale_down.map(ScaleDown::as_str),
            }),
            // The workload that it refers to has the template.
            template: self
                .template
                .as_deref()
                .filter(|_| self.template_of.is_none())
                .map(Pod::to_template),
        };
        Wire {
            metadata: &self.metadata,
            spec,
            status: &self.status,
        }
        .serialize(serializer)
    }
}

/// A ScaledObject of KEDA (`keda.sh/v1alpha1`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaledObject {
    /// Identity, and the annotations that pause it.
    pub metadata: Metadata,
    /// The desired state.
    pub spec: ScaledObjectSpec,
    /// The state that KEDA reports.
    pub status: ScaledObjectStatus,
}

impl ScaledObject {
    /// Returns the annotations that pause the ScaledObject altogether. KEDA then deletes its HPA.
    pub fn pauses(&self) -> Vec<&'static str> {
        let stated = self.metadata.annotations.get(KEDA_PAUSED_REPLICAS);
        let replicas = stated.map(|_| KEDA_PAUSED_REPLICAS);
        let whole = self.is_set(KEDA_PAUSED).then_some(KEDA_PAUSED);
        replicas.into_iter().chain(whole).collect()
    }

    /// Whether an annotation is true. KEDA treats everything except a false value as true
    /// (`getBoolAnnotation`).
    pub fn is_set(&self, annotation: &str) -> bool {
        let no = ["0", "f", "F", "FALSE", "false", "False"];
        self.metadata
            .annotations
            .get(annotation)
            .is_some_and(|value| !no.contains(&value))
    }

    /// Whether it scales a target.
    pub(crate) fn is_of(&self, target: &CrossVersionObjectReference) -> bool {
        let own = &self.spec.scale_target_ref;
        let kind = if own.kind.is_empty() {
            "Deployment"
        } else {
            &own.kind
        };
        own.name == target.name && kind.eq_ignore_ascii_case(&target.kind)
    }

    /// Returns the status of a condition, if it has been determined.
    pub fn condition(&self, type_: &str) -> Option<bool> {
        let condition = self.status.conditions.iter().find(|it| it.type_ == type_)?;
        match &*condition.status {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    /// Returns the bound that the ScaledObject states for a field of the HPA, if the HPA has a different one.
    /// `None` while scaling is paused.
    pub(crate) fn withheld_bound(&self, field: &str, hpa: &HpaSpec) -> Option<i32> {
        let (stated, own) = match field {
            "maxReplicas" => (self.spec.max_replica_count?, hpa.max_replicas),
            _ => (self.spec.min_replica_count?.max(1), hpa.min()),
        };
        (stated != own && self.pauses().is_empty()).then_some(stated)
    }

    /// Returns the reason why the ScaledObject has no HPA, if it is paused.
    pub(crate) fn why_no_hpa(&self, flags: &CommandFlags) -> Option<String> {
        let pauses = self.pauses();
        if pauses.is_empty() {
            return None;
        }
        let Metadata {
            name,
            namespace,
            annotations,
            ..
        } = &self.metadata;
        let value = |it: &&str| format!("{it}={}", annotations.get(it).unwrap_or_default());
        let stated: Vec<String> = pauses.iter().map(value).collect();
        let (stated, noun) = (
            stated.join(" and "),
            if pauses.len() == 1 {
                "the annotation"
            } else {
                "the annotations"
            },
        );
        let removed: String = pauses.iter().map(|it| format!(" {it}-")).collect();
        let flag = match namespace {
            Some(namespace) => format!(" -n {}", names::shell_word(namespace)),
            None => String::new(),
        };
        let own = names::shell_word(name);
        let command = flags.add_to(&format!(
            "kubectl annotate scaledobject {own}{flag}{removed}"
        ));
        let away = format!(
            "paused-by-keda: ScaledObject/{name} has {noun} {stated}, so KEDA \
             has deleted the HPA; "
        );
        Some(if self.is_written_by_flagger() {
            away + "Flagger does so between releases, and runs another workload instead"
        } else {
            away + &format!("after `{command}`, KEDA creates it again")
        })
    }

    /// Whether Flagger writes this ScaledObject: it pauses the ScaledObject of a canary's target between
    /// releases.
    pub(crate) fn is_written_by_flagger(&self) -> bool {
        self.metadata
            .managed_fields
            .iter()
            .any(|it| it.manager.contains("flagger"))
    }

    /// Whether KEDA creates this HPA for the ScaledObject.
    pub(crate) fn creates(&self, hpa: &Hpa) -> bool {
        let name = &self.metadata.name;
        let owner = hpa.scaled_object();
        owner.is_some_and(|owner| owner.name == *name)
            || hpa.name == format!("keda-hpa-{name}")
            || hpa.name == self.status.hpa_name
            || Some(&hpa.name) == self.spec.hpa_name()
    }

    /// Whether a name is its HPA's, its own, or its target's.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let Metadata { name: own, .. } = &self.metadata;
        let given = format!("keda-hpa-{own}");
        [
            own,
            &given,
            &self.status.hpa_name,
            &self.spec.scale_target_ref.name,
        ]
        .into_iter()
        .chain(self.spec.hpa_name())
        .any(|known| *known == *name)
    }
}

/// Returns the reason why there is no HPA of a name, if one of these ScaledObjects is paused and owned it.
pub(crate) fn paused<'s>(
    objects: impl Iterator<Item = &'s ScaledObject>,
    name: &str,
    flags: &CommandFlags,
) -> Option<String> {
    objects
        .filter(|object| object.is_called(name))
        .find_map(|object| object.why_no_hpa(flags))
}

/// The spec of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaledObjectSpec {
    /// The object that it scales; a Deployment if no kind is stated.
    pub scale_target_ref: CrossVersionObjectReference,
    /// The minimum replicas while a trigger is active; KEDA's HPA has 1 for 0.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub min_replica_count: Option<i32>,
    /// The maximum replicas.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub max_replica_count: Option<i32>,
    /// The replicas while no trigger is active, if they are fewer than the minimum.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub idle_replica_count: Option<i32>,
    /// The seconds from the last time that a trigger was active until KEDA scales to the idle replicas, or to
    /// 0.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub cooldown_period: Option<i32>,
    /// The advanced settings, such as the name of KEDA's HPA.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub advanced: Option<Advanced>,
    /// The replicas that KEDA requests instead of the value of a trigger that fails.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub fallback: Option<Fallback>,
    /// The queries of the triggers of the type `prometheus`, by place. Nothing else of a trigger is read, and
    /// this is not saved.
    #[serde(
        rename = "triggers",
        skip_serializing,
        deserialize_with = "prometheus_queries"
    )]
    pub queries: BTreeMap<usize, String>,
}

/// `Advanced` of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Advanced {
    /// `HorizontalPodAutoscalerConfig`.
    pub horizontal_pod_autoscaler_config: HpaConfig,
}

/// The settings of the HPA that KEDA creates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HpaConfig {
    /// The name of the HPA, if it is stated.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl ScaledObjectSpec {
    /// Returns the name of the HPA, if it is stated.
    pub(crate) fn hpa_name(&self) -> Option<&String> {
        let advanced = self.advanced.as_ref()?;
        let name = &advanced.horizontal_pod_autoscaler_config.name;
        Some(name).filter(|name| !name.is_empty())
    }
}

/// `Fallback` of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Fallback {
    /// The number of failures of a trigger before the fallback.
    pub failure_threshold: i32,
    /// The replicas.
    pub replicas: i32,
    /// `currentReplicas` and others that depend on the current replicas; `static` if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub behavior: String,
}

impl Fallback {
    /// Whether it does not depend on the current replicas.
    pub(crate) fn is_static(&self) -> bool {
        matches!(&*self.behavior, "" | "static")
    }
}

/// Reads a value that explains something, if it is valid: an invalid value is reported when the manifest is
/// applied.
fn if_valid<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let elements = Elements::of_answer();
    Ok(Option::deserialize(Objects::new(value, &elements)).unwrap_or_default())
}

fn prometheus_queries<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<usize, String>, D::Error> {
    let stated = serde_json::Value::deserialize(deserializer)?;
    let triggers = stated.as_array().into_iter().flatten();
    Ok(triggers
        .enumerate()
        .filter(|(_, trigger)| trigger["type"] == "prometheus")
        .filter_map(|(place, trigger)| {
            Some((place, trigger["metadata"]["query"].as_str()?.to_owned()))
        })
        .collect())
}

/// The status of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaledObjectStatus {
    /// The name of its HPA.
    pub hpa_name: String,
    /// The time at which a trigger was last active.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub last_active_time: Option<Timestamp>,
    /// The conditions `Ready`, `Active`, `Fallback` and `Paused`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<KedaCondition>,
}

/// A condition of a [`ScaledObject`]. Its message is not read, because it may contain the address of a
/// trigger's source with credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KedaCondition {
    /// The type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
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
    /// The workload that it resizes.
    pub target_ref: CrossVersionObjectReference,
    /// The policy for changing pods.
    pub update_policy: UpdatePolicy,
    /// The resources that it controls.
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
    /// Whether it sets the request of a container for a resource.
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
    /// The Service that serves it, if not the API server itself.
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
