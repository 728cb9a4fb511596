//! What people should know beside the answer: what was read but not used, what could not be read, and
//! what looks wrong. The controller takes no notice of any of it. `report` puts it into words.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use super::Documents;
use super::hpa::MetricValueStatus;
use super::manager::ManagerFlag;
use super::right::{Cause, MissingRight};
use crate::version::Version;

/// One thing that people should know.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// The HPA has been marked for deletion.
    HpaDeleted {
        /// Since when.
        since: Timestamp,
    },
    /// The HPA carries no `uid`, so its status was dropped as that of a new manifest is.
    StatusDropped,
    /// A field was dropped, as its feature gate is off.
    FieldDropped {
        /// The field.
        path: String,
        /// The gate.
        gate: &'static str,
    },
    /// An annotation cannot be read.
    AnnotationIgnored {
        /// Its key.
        key: String,
        /// Why.
        cause: String,
    },
    /// The HPA has fields that are not known here.
    UnknownFields {
        /// The fields.
        paths: Vec<String>,
    },
    /// A metric has a type that is not known here.
    UnknownMetricType {
        /// The metric by its place in the spec.
        index: usize,
        /// The type.
        type_: String,
    },
    /// The controller ignores a tolerance of the spec, as its feature gate is off.
    ToleranceIgnored {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// The version of the controller.
        version: Version,
    },
    /// A metric is about a container that no pod of the target has.
    NoSuchContainer {
        /// The metric by its place in the spec.
        index: usize,
        /// The container.
        container: String,
        /// The containers that the pods have.
        containers: Vec<String>,
    },
    /// Values are older than twice the time over which they were measured.
    StaleValues {
        /// The custom metric; none for the resource metrics.
        metric: Option<String>,
        /// Of how many pods.
        stale: usize,
        /// Of how many there are values.
        total: usize,
        /// The age of the oldest.
        oldest: SignedDuration,
    },
    /// What the controller last read of a metric that is unread here, by the status that it wrote.
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
    /// Objects of a kind that a pass does not look at.
    ObjectsSkipped {
        /// The kind.
        kind: String,
        /// `apiVersion`; empty where they state none.
        api_version: String,
        /// How many.
        count: usize,
    },
    /// The input lacks the target.
    NoTarget {
        /// The target.
        target: String,
    },
    /// The input lacks documents that a metric needs.
    NoDocuments {
        /// Their kind.
        documents: Documents,
        /// The path that answers with them; none for what kubectl gets by its kind.
        path: Option<String>,
    },
    /// What the input lacks can be saved all at once.
    SaveCommand,

    /// Another HPA of the namespace is left out when shared pods are looked for.
    OtherHpaIgnored {
        /// The HPA, as `namespace/name`.
        hpa: String,
        /// Why.
        why: OtherHpaIgnored,
    },
    /// Something could not be learnt.
    NotKnown {
        /// What.
        what: Unlearnt,
        /// Why.
        why: Cause,
    },
    /// A right that is missing to read a metric.
    MissingRight(MissingRight),
    /// A metrics API is not available.
    ApiUnavailable {
        /// Its group.
        group: String,
        /// Its version.
        version: String,
        /// The HTTP status.
        code: u16,
    },
    /// The clocks of server and client are far apart.
    ClockSkew {
        /// How far the server's is ahead.
        ahead: SignedDuration,
    },
    /// The server emulates another version.
    EmulatedVersion {
        /// The server's own.
        server: String,
        /// The one that it emulates.
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
    /// The versions of controller manager and server differ.
    VersionsDiffer {
        /// That of the controller manager.
        manager: String,
        /// Its pod.
        pod: String,
        /// That of the server.
        server: String,
    },
    /// A version is newer than the rules that are known.
    NewerThanRules {
        /// The version.
        stated: String,
        /// The version whose rules apply.
        rules: Version,
    },
    /// A feature gate is set that a pass does not depend on.
    GateUnused {
        /// The gate.
        gate: String,
        /// The version of the controller.
        version: Version,
    },
    /// A newer version would come to other replicas.
    NewerRulesDiffer {
        /// The newer version.
        version: Version,
        /// The replicas that it would come to.
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
    /// What a candidate's manifests hold besides the HPA and its target.
    ManifestNotAlone {
        /// All of it.
        objects: Vec<String>,
    },
    /// The selector of a workload's manifest is not the running one.
    SelectorChanged {
        /// The workload, as `Kind/name`.
        workload: String,
        /// The selector of the manifest.
        selector: String,
        /// The running one.
        running: String,
    },
    /// The labels of a workload's template do not match the running selector.
    TemplateNotSelected {
        /// The workload, as `Kind/name`.
        workload: String,
        /// The selector.
        selector: String,
    },
    /// Pods have containers that the template of a manifest lacks, and the running template is not known.
    KeptBesideTemplate {
        /// The containers.
        containers: Vec<String>,
    },
    /// The template of a manifest has containers that no pod has yet.
    UsageUnknown {
        /// The containers.
        containers: Vec<String>,
    },
    /// Such a manifest is of another name than the HPA.
    ManifestRenamed {
        /// Its name, as `namespace/name`.
        manifest: String,
        /// The HPA's.
        hpa: String,
    },
    /// Requests are assumed that the pods do not make yet.
    RolloutFirst {
        /// The target.
        target: String,
    },
    /// Something about a ScaledObject in the place of such a manifest.
    Keda(KedaNote),
    /// Replicas are assumed, and there is no pod to model theirs on.
    NoModelPod {
        /// How many.
        replicas: i32,
    },
    /// The load is of the past, and what was read at a time is taken for the state at its beginning.
    BegunInThePast {
        /// When it was read.
        read: Timestamp,
    },
    /// There is no timeline, as the scale cannot be read.
    NotPlayed,
    /// Some expectations are about the first pass of a timeline only.
    FirstPassExpected {
        /// As they were typed.
        expected: Vec<String>,
    },
}

/// What KEDA does with a ScaledObject: what its HPA has from elsewhere than its fields, and what KEDA does
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KedaNote {
    /// An annotation switches off a direction of the HPA.
    DirectionPaused {
        /// The annotation.
        annotation: &'static str,
    },
    /// A metric that only KEDA computes stands for all external triggers.
    Composite {
        /// The metric.
        metric: &'static str,
        /// The names of the triggers that its formula can use.
        triggers: Vec<String>,
    },
    /// The metrics of containers are not in the HPA, as it has a composite metric.
    ContainersLost {
        /// How many.
        metrics: usize,
    },
    /// Only KEDA knows what the metrics of a trigger are called, so they are those of the running HPA.
    NamedAsRunning {
        /// The trigger by its place in the ScaledObject.
        trigger: usize,
        /// Its type.
        type_: String,
        /// The metrics.
        metrics: Vec<String>,
        /// Whether the targets are the running HPA's, too.
        with_target: bool,
    },
    /// KEDA scales the target itself while no trigger is active.
    RestsAt {
        /// The replicas.
        replicas: i32,
        /// After how many seconds without an active trigger.
        cooldown: i32,
    },
    /// KEDA answers for a trigger that fails.
    Fallback {
        /// After this many failures.
        failures: i32,
        /// `fallback.replicas`.
        replicas: i32,
    },
    /// Fields that only KEDA itself uses.
    NotInHpa {
        /// The fields.
        fields: Vec<String>,
    },
}

/// Why another HPA is left out.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherHpaIgnored {
    /// It cannot be read.
    Unreadable,
    /// Its target cannot be read.
    TargetUnreadable,
    /// The input lacks its target.
    NoTarget(String),
    /// Another reason.
    Other(String),
}

/// What could not be learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlearnt {
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
}

impl Note {
    /// The right that is missing, where it is about one.
    pub fn missing_right(&self) -> Option<&MissingRight> {
        match self {
            Self::MissingRight(right) => Some(right),
            _ => None,
        }
    }

    /// Whether the controller may come to another outcome because of it.
    pub fn leaves_outcome_open(&self) -> bool {
        matches!(
            self,
            Self::UnknownFields { .. }
                | Self::AnnotationIgnored { .. }
                | Self::OtherHpaIgnored { .. }
                | Self::NotKnown { what: Unlearnt::SharedPods, .. }
        )
    }
}
