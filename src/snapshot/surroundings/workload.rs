//! The objects that create pods: the target of an HPA, and the owners of pods.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::apimachinery::metadata::{Condition, Metadata};
use crate::apimachinery::selector::{LabelSelector, Selector};
use crate::snapshot::Scale;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::pod::Pod;

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
    /// `spec.ordinals` of a StatefulSet, if stated.
    pub ordinals: Option<Ordinals>,
    /// `spec.paused` of a Deployment or Rollout, if stated: a new template makes no pods.
    pub paused: Option<bool>,
    /// `spec.template`.
    pub template: Option<Box<Pod>>,
    /// `spec.workloadRef` of a Rollout: the workload whose template it uses, if the Rollout has none.
    pub template_of: Option<Box<CrossVersionObjectReference>>,
    /// `spec.workloadRef.scaleDown` of a Rollout, if stated: how it scales down that workload.
    pub scale_down: Option<ScaleDown>,
    /// `status`; `None` if the object has none, as in manifests.
    pub status: Option<WorkloadStatus>,
}

/// The ordinals of the pods of a StatefulSet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ordinals {
    /// The lowest one.
    pub start: i32,
}

impl Ordinals {
    /// Returns the place of a pod among the pods of a StatefulSet, from 0, by its name (`getOrdinal`,
    /// `getStartOrdinal`); `None` if it does not belong to the StatefulSet.
    pub(crate) fn place(self, set: &str, pod: &str) -> Option<u64> {
        let is_member = pod.rsplit_once('-').is_some_and(|(of, _)| of == set);
        let ordinal = Pod::ordinal(pod).filter(|_| is_member)?;
        ordinal.checked_sub(self.start.unsigned_abs().into())
    }
}

/// The time at which a Rollout scales down the Deployment whose template it uses.
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

impl UpdateStrategy {
    /// Returns the strategy without the fields of a Rollout, which the API server drops from objects of other kinds.
    pub(crate) fn without_rollout(self) -> Self {
        Self {
            canary: None,
            blue_green: None,
            ..self
        }
    }
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
    /// Whether the new pods replace the old ones without a manual promotion; true if not stated.
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

/// A number of pods, or a percentage of the replicas, as written.
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
    /// In a rolling update, except for the first pods.
    AllBut {
        /// `partition`.
        partition: i32,
        /// The ordinals of the StatefulSet's pods.
        ordinals: Ordinals,
    },
    /// In the steps of a canary. It first pauses at this step, counted from 1, until it is promoted.
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
                "it pauses until it is promoted, first at step {step} of spec.strategy.canary, with old and new pods \
                 side by side"
            )),
            Self::BlueGreen { is_manual: true } => Some(
                "it waits until it is promoted (spec.strategy.blueGreen.autoPromotionEnabled: false), with all old and \
                 new pods side by side"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// Returns how the pods of a target are replaced. `known` yields its known states, such as its manifest and, last,
    /// the running object, which named the pods: a field that one does not state is taken from the next.
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
        let ordinals = known.clone().last().and_then(|own| own.ordinals);
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
            (_, Some(partition)) if partition > 0 => Self::AllBut {
                partition,
                ordinals: ordinals.unwrap_or_default(),
            },
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

    /// Whether the reference is to an object whose controller sets the replicas of what it owns.
    pub(crate) fn sets_replicas(&self) -> bool {
        matches!(
            (self.group(), &*self.kind),
            ("apps" | "extensions", "Deployment")
                | ("argoproj.io", "Rollout")
                | ("apps.openshift.io", "DeploymentConfig")
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
    /// Takes over the template of the workload's manifest, and what the manifest states about replacing pods.
    pub(crate) fn take_template(&mut self, manifest: &Self) {
        self.template.clone_from(&manifest.template);
        self.paused = manifest.paused.or(self.paused);
        if manifest.strategy.is_some() {
            self.strategy.clone_from(&manifest.strategy);
        }
    }

    /// Takes over the template of the object that a Rollout refers to, and its selector if the Rollout has none
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

    /// Returns the selector of the workload's pods, if it has a valid one.
    pub(crate) fn pod_selector(&self) -> Option<Selector> {
        self.selector.as_ref()?.to_selector().ok()
    }

    /// Returns the workload's scale, with the selector of its pods as text.
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

    /// Whether the workload states its replicas, as each built-in one from a server does. If a manifest does not state
    /// any, an API server sets 1, which says nothing about replicas that are left to the HPA.
    pub fn states_replicas(&self) -> bool {
        self.replicas.is_some() || (self.is_rollout() && self.status.is_some())
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

    /// Whether a scale can be derived from the workload.
    pub(crate) fn is_scalable(&self) -> bool {
        self.kind != "Job"
    }

    /// Whether a reference is to an object of the workload's kind.
    pub(crate) fn is_kind_of(&self, reference: &CrossVersionObjectReference) -> bool {
        self.kind.eq_ignore_ascii_case(&reference.kind) && self.group == reference.group()
    }

    /// Whether a reference is to an object of the workload's kind and name.
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
            ordinals: Option<Ordinals>,
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
            ordinals: self.ordinals,
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
