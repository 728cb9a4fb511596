//! What users should know in addition to the answer: what was read but not used, what could not be read,
//! and what looks wrong. The controller ignores all of it. `report` puts it into words.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::Documents;
use super::command_flags::CommandFlags;
use super::hpa::{MetricSpec, MetricValueStatus};
use super::load::LoadNote;
use super::manager::ManagerFlag;
use super::pod::ResourceName;
use super::right::{MissingRight, UnknownFactCause};
use super::surroundings::{Replacement, TargetElsewhere};
use crate::apimachinery::quantity::Quantity;
use crate::version::Version;

/// One note for the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// The HPA has been marked for deletion.
    HpaDeleted {
        /// Since when.
        since: Timestamp,
    },
    /// The HPA has no `uid`, so its status was dropped as for a new manifest.
    StatusDropped,
    /// A field was dropped, because its feature gate is off.
    FieldDropped {
        /// The field.
        path: String,
        /// The gate.
        gate: &'static str,
        /// Its value; of an object, its JSON.
        value: String,
    },
    /// An annotation cannot be read.
    AnnotationIgnored {
        /// Its key.
        key: String,
        /// Why.
        cause: String,
    },
    /// The HPA has unknown fields.
    UnknownFields {
        /// The first of them.
        paths: Vec<String>,
        /// How many there are besides.
        more: usize,
    },
    /// A metric has an unknown type.
    UnknownMetricType {
        /// The metric's index in the spec.
        index: usize,
        /// The type.
        type_: String,
    },
    /// The controller ignores a tolerance in the spec, because its feature gate is off.
    ToleranceIgnored {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// The version of the controller.
        version: Version,
    },
    /// A metric is about a container that no pod of the target has.
    NoSuchContainer {
        /// The metric's index in the spec.
        index: usize,
        /// The container.
        container: String,
        /// The containers that the pods have.
        containers: Vec<String>,
    },
    /// Values are older than twice the window over which they were measured.
    StaleValues {
        /// The custom metric; `None` for the resource metrics.
        metric: Option<String>,
        /// The number of pods with such values.
        stale: usize,
        /// The number of pods with values.
        total: usize,
        /// The age of the oldest.
        oldest: SignedDuration,
    },
    /// Samples without the time at which they were measured.
    UntimedValues {
        /// The metric; `None` for the resource metrics.
        metric: Option<String>,
        /// The number of pods with such a sample.
        untimed: usize,
        /// The number of pods with values.
        total: usize,
    },
    /// The last value of a metric that is unread here, according to the controller's status.
    LastRead {
        /// The metric.
        metric: String,
        /// The value.
        value: Box<MetricValueStatus>,
        /// The age of the status.
        age: Option<SignedDuration>,
    },

    /// An entry of a directory is not a regular file.
    FileSkipped {
        /// The entry.
        path: PathBuf,
    },
    /// No document of a file in a directory states a kind.
    NoObjectSkipped {
        /// The file.
        path: PathBuf,
    },
    /// A file states keys again, of which the last ones count.
    KeysRepeated {
        /// The file.
        origin: String,
        /// The first of them, as paths with their lines.
        keys: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// A link in a directory leads out of it.
    LinkSkipped {
        /// The link.
        path: PathBuf,
    },
    /// A directory inside one that was named.
    DirectorySkipped {
        /// It.
        path: PathBuf,
    },
    /// Objects of a kind that a pass does not use.
    ObjectsSkipped {
        /// The kind.
        kind: String,
        /// `apiVersion`; empty if they state none.
        api_version: String,
        /// How many.
        count: usize,
    },
    /// The input lacks the target.
    NoTarget {
        /// The target.
        target: String,
        /// Where the input has an object of its kind and name, if that is another namespace.
        elsewhere: Option<TargetElsewhere>,
        /// The flags of the command that assumes its pods, if the input has none.
        assuming: Option<CommandFlags>,
    },
    /// Running pods state no condition Ready.
    NoCondition {
        /// Their names.
        pods: Vec<String>,
    },
    /// The target has a status, so an API server is taken to have accepted it although it would not.
    TakenAsAccepted {
        /// Why it would not.
        why: String,
    },
    /// Other HPAs, or ScaledObjects of which KEDA makes one, have the same target, whose pods are unknown.
    TargetShared {
        /// Those, with their kinds.
        others: Vec<String>,
    },
    /// The input lacks the target, and has other workloads that no HPA scales.
    NotTheTarget {
        /// Those, as `Kind/name`.
        workloads: Vec<String>,
    },
    /// The target of the input states no replicas.
    NoReplicas {
        /// The flags of the command that assumes its pods, if the input has none.
        assuming: Option<CommandFlags>,
    },
    /// The input lacks documents that a metric needs.
    NoDocuments {
        /// Their kind.
        documents: Documents,
        /// The path that returns them; `None` for what kubectl gets by kind.
        path: Option<String>,
    },
    /// The input has pods but no PodMetrics, and is complete because of its ControllerState.
    NoPodMetrics,
    /// What the input lacks can be saved with one command.
    SaveCommand {
        /// The flags of `predict` with the candidate that needs it; empty if the HPA itself does.
        candidate: String,
    },
    /// The status of the target contradicts the assumption that all pods are ready.
    SomeNotReady {
        /// The target, as `Kind/name`.
        target: String,
        /// How many replicas its status has.
        replicas: i32,
        /// How many of them are ready.
        ready: i32,
    },
    /// Metrics without a value in a state whose pods are assumed.
    NoValues(Vec<MetricSpec>),

    /// Another HPA of the namespace may select the same pods.
    UnknownSelector {
        /// The HPA, as `namespace/name`.
        hpa: String,
        /// Why its selector is unknown.
        why: WhyUnknownSelector,
    },
    /// There are more HPAs like it.
    UnknownSelectors {
        /// How many.
        more: usize,
    },
    /// A fact could not be determined.
    NotKnown {
        /// The fact.
        what: UnknownFact,
        /// Why.
        why: UnknownFactCause,
    },
    /// The right to read a metric is missing.
    MissingRight(MissingRight),
    /// A metrics API is not available.
    ApiUnavailable {
        /// Its group.
        group: String,
        /// Its version.
        version: String,
        /// The HTTP status.
        code: u16,
        /// The flags with which kubectl reaches the same cluster as the same user.
        flags: Arc<CommandFlags>,
    },
    /// The clocks of server and client are far apart.
    ClockSkew {
        /// How far the server's clock is ahead.
        ahead: SignedDuration,
    },
    /// So much time passed between the HPA and its metrics that the controller may have acted in between.
    ReadSlowly {
        /// How long it took.
        took: SignedDuration,
    },
    /// The server emulates another version.
    EmulatedVersion {
        /// The server's own.
        server: String,
        /// The version that it emulates.
        emulated: String,
    },
    /// The server's version cannot be used.
    ServerVersionIgnored {
        /// Why.
        cause: String,
    },

    /// The HPA controller is switched off.
    ControllerOff {
        /// The pod of the controller manager.
        pod: String,
    },
    /// A flag of the controller manager cannot be used.
    FlagIgnored {
        /// The flag.
        flag: ManagerFlag,
        /// The pod of the controller manager.
        pod: String,
        /// Why.
        cause: String,
    },
    /// The versions of the controller manager and the server differ.
    VersionsDiffer {
        /// The controller manager's version.
        manager: String,
        /// Its pod.
        pod: String,
        /// The server's version.
        server: String,
    },
    /// A version is newer than the known rules.
    NewerThanRules {
        /// The version.
        stated: String,
        /// The version whose rules apply.
        rules: Version,
    },
    /// A feature gate is set that does not affect a pass.
    GateUnused {
        /// The gate.
        gate: String,
        /// The version of the controller.
        version: Version,
    },
    /// A newer version would decide on different replicas.
    NewerRulesDiffer {
        /// The newer version.
        version: Version,
        /// The replicas that it would decide on.
        replicas: i32,
    },

    /// A note about a manifest that replaces the HPA.
    OfManifest {
        /// The file.
        origin: String,
        /// The note.
        note: Box<Note>,
    },
    /// A field of such a manifest that the API server ignores.
    FieldIgnored {
        /// Why, as the API server warns of it.
        cause: String,
    },
    /// A manifest is written in a version that no API server of the rules serves.
    VersionNotServed {
        /// The kind.
        kind: String,
        /// The `apiVersion`.
        stated: String,
        /// The one that is served.
        served: &'static str,
    },
    /// The manifest of an HPA has a status, which an update ignores.
    StatusIgnored,
    /// A candidate's manifests contain other objects besides the HPA and its target.
    ManifestNotAlone {
        /// These objects.
        objects: Vec<String>,
    },
    /// The manifest of a workload states another namespace than the HPA's.
    WorkloadElsewhere {
        /// The workload, as `Kind/name`.
        workload: String,
        /// The namespace in the manifest.
        own: String,
        /// The HPA's.
        namespace: String,
    },
    /// The manifest of a workload takes its template from another object, which is not among what was read.
    TemplateElsewhere {
        /// The workload, as `Kind/name`.
        workload: String,
        /// The other object, alike.
        of: String,
        /// Whether pods are assumed in place of those that it makes.
        is_assumed: bool,
    },
    /// Pods have containers or requests that a manifest's template lacks, and the running template is unknown.
    KeptBesideTemplate {
        /// The containers, each with its kind.
        containers: Vec<String>,
        /// Requests of containers that the template has, too: container and resource.
        requests: Vec<(String, String)>,
    },
    /// Pods without a creation time and a status are manifests, and do not run.
    PodManifests {
        /// Their names.
        pods: Vec<Box<str>>,
    },
    /// The manifest of a workload states no replicas any more.
    ReplicasReset {
        /// The workload.
        workload: String,
        /// What has stated them so far.
        stated: StatedReplicas,
    },
    /// Pods have another request than their template, so that of a new one does not become theirs.
    RequestSetElsewhere {
        /// The container; `None` for the pod as a whole.
        container: Option<Box<str>>,
        /// The resource.
        resource: ResourceName,
    },
    /// The template of a manifest has containers that no pod has yet.
    UsageUnknown {
        /// The containers.
        containers: Vec<String>,
    },
    /// Such a manifest is of another namespace than the HPA.
    ManifestOfNamespace {
        /// Its name, as `namespace/name`.
        manifest: String,
        /// The HPA's.
        hpa: String,
    },
    /// Such a manifest has a different name from the HPA, so that applying it creates another HPA.
    ManifestOfNewHpa {
        /// Its name, as `namespace/name`.
        manifest: String,
        /// The HPA's.
        hpa: String,
        /// Whether both HPAs exist after it is applied; KEDA refuses its ScaledObject instead.
        beside: bool,
    },
    /// The assumed requests only take effect after the pods are replaced.
    RolloutFirst {
        /// The target.
        target: String,
        /// How they are.
        how: Replacement,
    },
    /// The assumed request is so large that a unit may have been forgotten.
    RequestFar {
        /// What is requested by whom.
        item: String,
        /// What was requested, if anything was.
        before: Option<Quantity>,
        /// What is assumed.
        after: Quantity,
        /// How many times as much that is.
        times: i64,
        /// Whether it was stated in whole cores, without a unit.
        lacks_unit: bool,
    },
    /// The strategy of a rollout is not known, or not one that is played: it is played with the defaults.
    RolloutByDefault {
        /// The target.
        target: String,
        /// How the pods are replaced, as far as that is known.
        how: Replacement,
        /// Whether they are those of a StatefulSet, instead of a Deployment.
        is_stateful: bool,
    },
    /// The rollout replaces one pod at a time, where the controller may replace several.
    RolloutOneByOne {
        /// The target.
        target: String,
        /// Its `maxUnavailable`.
        limit: String,
    },
    /// The rollout does not begin, because the target is paused.
    RolloutPaused {
        /// The target.
        target: String,
    },
    /// The run ends before the rollout would begin.
    RolloutAfterEnd {
        /// When it would begin, after the first pass.
        at: SignedDuration,
        /// The target.
        target: String,
    },
    /// A note about a ScaledObject given instead of such a manifest.
    Keda(KedaNote),
    /// Replicas are assumed, and there is no pod to model them on.
    NoModelPod {
        /// How many.
        replicas: i32,
    },
    /// The load is of another time, and what was read is used as the state at its start.
    BegunWithLoad {
        /// When it was read, if that is known.
        read: Option<Timestamp>,
    },
    /// A note about the load.
    OfLoad(LoadNote),
    /// There is no timeline, because the scale cannot be read.
    NotPlayed,
    /// A run is played, and the exit code was asked for, which is about its first pass.
    ExitCodeOfFirstPass,
}

/// What KEDA does with a ScaledObject: the parts of its HPA that do not come from its fields, and what
/// KEDA does itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KedaNote {
    /// An annotation disables a direction of the HPA.
    DirectionPaused {
        /// The annotation.
        annotation: &'static str,
    },
    /// A metric that only KEDA computes replaces all external triggers.
    Composite {
        /// The metric.
        metric: &'static str,
        /// The names of the triggers that its formula can use.
        triggers: Vec<String>,
    },
    /// Container metrics are not in the HPA, because it has a composite metric.
    ContainersLost {
        /// How many.
        metrics: usize,
    },
    /// Only KEDA knows the names of a trigger's metrics, so the running HPA's are used.
    NamedAsRunning {
        /// The trigger's index in the ScaledObject.
        trigger: usize,
        /// Its type.
        type_: String,
        /// The metrics.
        metrics: Vec<String>,
        /// Whether the running HPA's targets are used as well.
        with_target: bool,
    },
    /// Only KEDA knows the name of a trigger's metric, so another stands for it.
    PlaceHolder {
        /// The trigger's index in the ScaledObject.
        trigger: usize,
        /// Its type.
        type_: String,
        /// The name that stands for its own.
        metric: String,
        /// Why it is not known.
        why: String,
    },
    /// A TriggerAuthentication may have a field that decides on the name or target of a metric, and comes before the
    /// metadata.
    AuthenticationFirst {
        /// The trigger's index in the ScaledObject.
        trigger: usize,
        /// The field.
        field: &'static str,
    },
    /// A scaler does not read a key of its trigger, and another one is probably meant.
    NotRead {
        /// The key, with its path.
        key: String,
        /// The key that it reads.
        meant: String,
    },
    /// KEDA scales the target itself while no trigger is active.
    RestsAt {
        /// The replicas.
        replicas: i32,
        /// After how many seconds without an active trigger.
        cooldown: i32,
        /// Whether it scales back when a trigger is active again.
        returns: bool,
    },
    /// KEDA answers for a trigger that fails.
    Fallback {
        /// After more failures than this.
        failures: i32,
        /// `fallback.replicas`.
        replicas: i32,
        /// `fallback.behavior`, which may be empty.
        behavior: String,
    },
    /// KEDA never answers for a trigger that fails, because the target of the composite metric is not a whole
    /// number.
    NoFallback {
        /// The target.
        target: String,
    },
    /// A metric has the value of the running HPA's metric with another index.
    Moved {
        /// The metric.
        metric: String,
        /// The running HPA's.
        running: String,
    },
    /// KEDA did not create the running HPA.
    NotOwned {
        /// The HPA.
        hpa: String,
        /// What comes of it.
        fate: NotOwned,
    },
    /// Fields that only KEDA itself uses.
    NotInHpa {
        /// The fields.
        fields: Vec<String>,
    },
}

/// What comes of an HPA that KEDA did not create, and whose target a ScaledObject is to scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOwned {
    /// KEDA's webhook refuses the ScaledObject.
    Refuses,
    /// KEDA's webhook refuses the ScaledObject, because the target is that of this one.
    OfAnother(String),
    /// KEDA takes the HPA over, because of this annotation.
    TakenOver(&'static str),
    /// KEDA creates another one of this name next to it, because of an annotation of the HPA.
    Beside(String),
}

/// Why the selector of another HPA is unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyUnknownSelector {
    /// The HPA cannot be read.
    HpaUnreadable(String),
    /// Its target cannot be read.
    TargetUnreadable {
        /// The target, as `Kind/name`.
        target: String,
        /// Why.
        why: UnknownFactCause,
    },
    /// Its target does not exist, but a pass has read it before.
    TargetGone {
        /// The target, as `Kind/name`.
        target: String,
    },
    /// The input lacks its target.
    NoTarget(String),
}

/// What has stated the replicas of a workload so far, so that they are reset when it no longer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatedReplicas {
    /// A field manager.
    Manager(Box<str>),
    /// The manifest that `kubectl apply` has applied last.
    LastApplied,
}

/// A fact that could not be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownFact {
    /// The server's version.
    ServerVersion,
    /// Whether another HPA selects the same pods.
    SharedPods,
    /// The HPA's events.
    HpaEvents,
    /// The target's events.
    TargetEvents,
    /// How many replicas there were at earlier passes.
    EarlierReplicas,
    /// Whether a VerticalPodAutoscaler sets the requests of pods.
    VerticalPodAutoscalers,
    /// Whether there are findings such as these.
    Findings(&'static str),
}

impl Note {
    /// Whether kubectl rejects a manifest for it.
    pub(crate) fn is_rejected(&self) -> bool {
        match self {
            Self::OfManifest { note, .. } => note.is_rejected(),
            other => matches!(
                other,
                Self::FieldIgnored { .. } | Self::VersionNotServed { .. }
            ),
        }
    }

    /// Returns notes about a manifest.
    pub(crate) fn of_manifest(origin: &str, notes: Vec<Self>) -> impl Iterator<Item = Self> {
        let origin = origin.to_owned();
        notes.into_iter().map(move |note| Self::OfManifest {
            origin: origin.clone(),
            note: note.into(),
        })
    }

    /// That the pods of a target have to be replaced first, in a rolling update unless something else is known.
    pub(crate) fn rollout_first(target: String) -> Self {
        Self::RolloutFirst {
            target,
            how: Replacement::Rolling,
        }
    }

    /// Returns the missing right, if there is one.
    pub fn missing_right(&self) -> Option<&MissingRight> {
        match self {
            Self::MissingRight(right) => Some(right),
            _ => None,
        }
    }

    /// Whether the controller may reach a different outcome because of it.
    pub fn leaves_outcome_open(&self) -> bool {
        matches!(
            self,
            Self::UnknownFields { .. }
                | Self::AnnotationIgnored { .. }
                | Self::UnknownSelector { .. }
                | Self::UnknownSelectors { .. }
                | Self::NotKnown {
                    what: UnknownFact::SharedPods,
                    ..
                }
        )
    }
}
