//! Findings about what affects the HPA, its target or its controller from outside the pass: a missing
//! target, KEDA, the API server, someone else who sets replicas, and a controller that makes no
//! passes or decides differently from us.

use jiff::{SignedDuration, Timestamp};

use super::last_pass::{LastPass, Rescale};
use super::path::primary;
use super::writer::{By, by};
use super::{Case, Finding, Severity, path};
use crate::apimachinery::annotations::{
    KEDA_PAUSED, KEDA_PAUSED_REPLICAS, KEDA_PAUSED_SCALE_IN, KEDA_PAUSED_SCALE_OUT,
};
use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField};
use crate::apimachinery::metadata::OwnerReference;
use crate::apimachinery::names::nearest_object;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::calendar::Calendar;
use crate::engine;
use crate::engine::decision::{Because, Decision, Direction, MetricResult, Path, Step};
use crate::numbers::format_of;
use crate::saved::assemble::has_own_scale;
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, HpaStatus, MetricValueStatus};
use crate::snapshot::note::Note;
use crate::snapshot::surroundings::{ManifestReplicas, ScaledObject, TargetElsewhere, Workload};
use crate::snapshot::{MetricAnswer, ScaleError, Snapshot};
use crate::version::{Stage, Version};

/// The target or its scale does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetNotFound {
    /// What is missing.
    pub missing: Missing,
    /// What the API server says, or would say.
    pub error: String,
    /// Whether only the input lacks it, and the API server has said nothing.
    pub is_assumed: bool,
    /// What was probably meant.
    pub meant: Option<CrossVersionObjectReference>,
    /// The same in another namespace.
    pub elsewhere: Option<TargetElsewhere>,
}

/// What is missing about a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// No kind of that name is served in that group.
    Kind,
    /// No such object exists.
    Object,
    /// No such object exists, or its kind has no scale: the API server answers the same to both.
    ObjectOrScale,
    /// The kind has no scale.
    Scale,
}

/// The controller cannot write the scale of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleNotWritten {
    /// The API server's message.
    pub error: String,
    /// The replicas that the pass would write.
    pub to: i32,
    /// When the last pass failed to write it; `None` if this pass is known to fail.
    pub failed: Option<Timestamp>,
    /// The latest event with this error.
    pub failures: Option<Failures>,
}

/// What an event says about writes that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// How many there were.
    pub times: i32,
    /// When the first was.
    pub first: Option<Timestamp>,
}

/// KEDA has been told not to scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedByKeda {
    /// The name of the ScaledObject.
    pub object: String,
    /// The annotations that say so; empty if the ScaledObject was not read.
    pub annotations: Vec<&'static str>,
    /// The directions that are disabled in the HPA.
    pub disabled: Vec<Direction>,
    /// The replicas to which KEDA pauses the target with the bounds of the HPA, as old versions do.
    pub fixed: Option<i32>,
    /// Whether Flagger has paused it, which runs another workload between releases.
    pub by_flagger: bool,
}

impl PausedByKeda {
    /// Whether it pauses both directions.
    pub(crate) fn is_whole(&self) -> bool {
        self.annotations
            .iter()
            .any(|it| [KEDA_PAUSED, KEDA_PAUSED_REPLICAS].contains(it))
    }

    /// Whether the pause disables a direction, or may do so if the ScaledObject was not read.
    pub(super) fn may_disable(&self, direction: Direction) -> bool {
        let annotation = match direction {
            Direction::Up => KEDA_PAUSED_SCALE_OUT,
            Direction::Down => KEDA_PAUSED_SCALE_IN,
        };
        self.annotations.is_empty() || self.annotations.contains(&annotation)
    }
}

/// Fields of the spec are dropped or ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldIgnored {
    /// Their paths.
    pub paths: Vec<String>,
    /// Whether the spec has them; if not, they are what would change the answer if they worked.
    pub stated: bool,
    /// Whether the API server drops them; if not, it has kept them, and the controller ignores them.
    pub dropped: bool,
    /// The gate that they require.
    pub gate: &'static str,
    /// Whether the gate can be set in this version.
    pub settable: bool,
    /// The first version in which it is on.
    pub on_in: Option<u32>,
    /// Whether the control plane is known to be a managed one, in which nobody can set a gate.
    pub is_managed: bool,
}

/// Something else sets the replicas of the target, or will.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherWriter {
    /// The replicas now.
    pub now: i32,
    /// What the last pass left, if that differs.
    pub left: Option<i32>,
    /// Who last set them, if the target says so.
    pub writer: Option<Writer>,
    /// The owner of the target, if its controller sets them.
    pub owner: Option<CrossVersionObjectReference>,
    /// The count that the controller has repeatedly restored.
    pub again: Option<Again>,
    /// The replicas after this pass.
    pub after: Option<i32>,
    /// Until when this pass's recommendation holds the replicas, if the controller left fewer.
    pub held_until: Option<Timestamp>,
    /// The replicas in the target's manifest, which sets them whenever it is applied.
    pub manifest: Option<ManifestReplicas>,
}

/// Who set the replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// The field manager.
    pub manager: String,
    /// When.
    pub time: Option<Timestamp>,
    /// How they were set.
    pub by: By,
    /// Whether a manifest that the API server applies states them.
    pub is_applied: bool,
    /// Whether it may have taken the replicas out of a manifest: the API server then sets 1.
    pub may_have_removed: bool,
}

/// Scaling to the same count over and over, without other scaling by the controller in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// The replicas.
    pub replicas: i32,
    /// How many times.
    pub count: i32,
    /// The first time.
    pub first: Timestamp,
    /// The last time.
    pub last: Timestamp,
}

/// The controller scales up and down again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flapping {
    /// How often it has scaled up.
    pub ups: i32,
    /// How often it has scaled down.
    pub downs: i32,
    /// The lowest size that it has scaled to.
    pub low: i32,
    /// The highest size.
    pub high: i32,
    /// The first time.
    pub first: Timestamp,
    /// The last time.
    pub last: Timestamp,
    /// How long a higher recommendation holds back scaling down.
    pub window: SignedDuration,
    /// A window in seconds that lasts from one scale-up to the next.
    pub longer: i32,
    /// If the target is this percentage of a request so small that little work exceeds it: the percentage and the
    /// request of a pod.
    pub small: Option<(i32, Quantity)>,
}

/// The controller makes no passes over the HPA.
#[derive(Debug, Clone, PartialEq)]
pub enum ControllerSilent {
    /// The lease of the controller manager has expired.
    Lapsed {
        /// When it was last renewed.
        renewed: Timestamp,
    },
    /// It has not written a status for several sync periods.
    NeverPassed {
        /// When the HPA was created.
        created: Timestamp,
    },
    /// The HPA controller is switched off.
    Off {
        /// The pod of the controller manager.
        pod: String,
    },
    /// Every pass since some time would have written other replicas into the status.
    Replicas {
        /// When the status was written.
        written: Timestamp,
        /// When the replicas were set.
        since: Timestamp,
        /// The replicas.
        now: i32,
        /// Those of the status.
        then: i32,
    },
    /// Every pass since some time would have written another usage into the status.
    Usage {
        /// When the status was written.
        written: Timestamp,
        /// When the newest samples were there.
        since: Timestamp,
        /// The index of the metric in the spec, from 0.
        metric: usize,
        /// The value in the status.
        then: MetricValueStatus,
        /// The value now.
        now: MetricValueStatus,
    },
    /// The status has the same usage of CPU for very long, and now there is another.
    Steady {
        /// When the status was written.
        written: Timestamp,
        /// The index of the metric in the spec, from 0.
        metric: usize,
        /// The value in the status.
        then: MetricValueStatus,
        /// The value now.
        now: MetricValueStatus,
    },
}

/// The controller came to a different number of replicas than this pass, from the same values.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffersFromStatus {
    /// What the controller decided on.
    pub last: i32,
    /// What this pass decides on.
    pub now: i32,
    /// When the controller wrote its decision.
    pub written: Timestamp,
    /// Settings that would each explain it.
    pub would_explain: Vec<Setting>,
}

/// A setting of the controller.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// The tolerance.
    Tolerance(f64),
    /// How long recommendations hold back scaling down.
    DownscaleStabilization(SignedDuration),
    /// How long CPU samples of pods that start may be skipped.
    CpuInitializationPeriod(SignedDuration),
    /// How long after its start a pod that is not ready counts as never having been ready.
    InitialReadinessDelay(SignedDuration),
    /// The version.
    Version(Version),
}

/// The maximum time that a pass takes from reading the scale to writing its status.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// The `selectPolicy` that disables a direction.
const DISABLED: &str = "Disabled";

/// `target-not-found`
pub(super) fn target_not_found(case: &Case<'_>) -> Option<Finding> {
    let target = case.target();
    // The controller has said so itself, or the input has other objects of the kind.
    let status = &case.snapshot().hpa.status.conditions;
    let mut told = status.iter().filter(|it| it.reason == "FailedGetScale");
    let is_listed = || {
        case.surroundings()
            .workloads
            .iter()
            .any(|it| it.is_kind_of(target))
    };
    let is_assumed = case.surroundings().lacks_scale
        && !told.any(|it| it.message.contains("not found"))
        && !is_listed();
    let (missing, error) = match &case.snapshot().scale {
        Err(ScaleError::Mapping(error)) if error.starts_with("no matches for kind") => {
            (Missing::Kind, error)
        }
        Err(ScaleError::Get(error)) if error.ends_with("not found") => (not_found(case), error),
        Err(ScaleError::Get(error)) if error.contains("could not find the requested resource") => {
            (Missing::Scale, error)
        }
        _ => return None,
    };
    let known = || {
        case.surroundings()
            .workloads
            .iter()
            .filter(|it| it.is_scalable())
    };
    let is_own = |it: &Workload| it.kind == target.kind && it.group == target.group();
    let same_name = known().find(|it| {
        it.metadata.name == target.name && !is_own(it) && it.metadata.controller().is_none()
    });
    let of_kind = || known().filter(|it| it.is_kind_of(target));
    let names: Vec<&str> = of_kind().map(|it| &*it.metadata.name).collect();
    let near = nearest_object(&target.name, names.iter().copied());
    let near = of_kind().find(|it| Some(&*it.metadata.name) == near);
    let meant = match missing {
        Missing::Object | Missing::ObjectOrScale => same_name.or(near),
        Missing::Kind | Missing::Scale => same_name,
    };
    let meant = meant.map(Workload::to_reference);
    let elsewhere = case.surroundings().target_elsewhere.clone();
    let facts = TargetNotFound {
        missing,
        error: error.clone(),
        is_assumed,
        meant,
        elsewhere,
    };
    Some(Finding::explaining(Severity::Error, facts))
}

/// Returns what is missing if the API server does not find the scale of the target. It says of a custom resource
/// without a scale what it says of one that does not exist (`crdHandler.ServeHTTP` of apiextensions-apiserver).
fn not_found(case: &Case<'_>) -> Missing {
    let target = case.target();
    match case.surroundings().serves_scale {
        Some(false) => Missing::Scale,
        Some(true) => Missing::Object,
        None if has_own_scale(target.group(), &target.kind) => Missing::Object,
        None => Missing::ObjectOrScale,
    }
}

/// `paused-by-keda`
pub(super) fn paused_by_keda(case: &Case<'_>) -> Option<Finding> {
    let hpa = &case.snapshot().hpa;
    let owner = hpa.scaled_object()?;
    let object = case.scaled_object();
    let set = |annotation| {
        object
            .filter(|it| it.is_set(annotation))
            .map(|_| annotation)
    };
    let whole = object.and_then(ScaledObject::paused_by);
    let each = [whole, set(KEDA_PAUSED_SCALE_IN), set(KEDA_PAUSED_SCALE_OUT)];
    let annotations: Vec<&'static str> = each.into_iter().flatten().collect();
    let disabled = disabled(hpa);
    // A ScaledObject may state `selectPolicy` itself.
    if annotations.is_empty() && (object.is_some() || disabled.is_empty()) {
        return None;
    }
    let without = case.without(|snapshot| {
        let behavior = snapshot.hpa.spec.behavior.iter_mut();
        for rules in behavior
            .flat_map(|it| [&mut it.scale_up, &mut it.scale_down])
            .flatten()
        {
            rules.select_policy = rules
                .select_policy
                .take()
                .filter(|policy| policy != DISABLED);
        }
    });
    // An HPA cannot have 0.
    let fixed = object
        .filter(|_| whole == Some(KEDA_PAUSED_REPLICAS))
        .and_then(|it| {
            let replicas: i32 = it
                .metadata
                .annotations
                .get(KEDA_PAUSED_REPLICAS)?
                .parse()
                .ok()?;
            Some(replicas.max(1))
        });
    let bounds = (hpa.spec.min_replicas, hpa.spec.max_replicas);
    let fixed = fixed.filter(|replicas| bounds == (Some(*replicas), *replicas));
    let by_flagger = object.is_some_and(|it| it.is_written_by_flagger() || primary(case).is_some());
    let by_flagger = by_flagger && whole.is_some();
    let facts = PausedByKeda {
        object: owner.name.clone(),
        annotations,
        disabled,
        fixed,
        by_flagger,
    };
    // One direction is paused on purpose, and the HPA still works in the other.
    let is_meant = by_flagger || !facts.is_whole();
    let severity = if is_meant {
        Severity::Info
    } else {
        Severity::Warning
    };
    Some(if without == case.answer() && facts.is_whole() {
        // The target stays as KEDA left it, until KEDA has taken the HPA away.
        Finding::explaining(severity, facts)
    } else if without == case.answer() {
        Finding::aside(severity, facts)
    } else {
        Finding::explaining(severity, facts).without(without)
    })
}

/// Returns the directions that an HPA disables.
fn disabled(hpa: &Hpa) -> Vec<Direction> {
    let behavior = hpa.spec.behavior.iter();
    let rules = behavior.flat_map(|it| {
        [
            (Direction::Up, &it.scale_up),
            (Direction::Down, &it.scale_down),
        ]
    });
    let disabled = rules.filter(|(_, rules)| {
        rules
            .as_ref()
            .is_some_and(|it| it.select_policy.as_deref() == Some(DISABLED))
    });
    disabled.map(|(direction, _)| direction).collect()
}

impl FieldIgnored {
    /// Returns fields of a gate, without their paths.
    fn of(gate: &'static str, dropped: bool, case: &Case<'_>) -> Self {
        Self {
            paths: Vec::new(),
            stated: true,
            dropped,
            gate,
            settable: Stage::of(gate, &case.snapshot().controller.version).is_settable(),
            on_in: Version::all()
                .find(|it| Stage::of(gate, it).is_on())
                .map(|it| it.minor()),
            is_managed: is_managed(case.snapshot()),
        }
    }
}

/// Whether the control plane is known to be a managed one: EKS and GKE by the suffix of the version, AKS, which has
/// none, by the names of its nodes (`aks-POOL-NUMBER-vmss000000`). Others are not told.
fn is_managed(snapshot: &Snapshot) -> bool {
    let has_suffix = |version: &str| ["-eks-", "-gke."].iter().any(|it| version.contains(it));
    let is_of_aks = |node: &str| node.starts_with("aks-") && node.contains("-vmss");
    snapshot.controller.version.stated().is_some_and(has_suffix)
        || snapshot
            .pods
            .iter()
            .any(|pod| pod.node.as_deref().is_some_and(is_of_aks))
}

/// `field-ignored`
pub(super) fn field_ignored(case: &Case<'_>) -> Vec<Finding> {
    const TOLERANCE: &str = "HPAConfigurableTolerance";
    let mut found: Vec<FieldIgnored> = Vec::new();
    let mut tolerances: Vec<(Direction, Quantity)> = Vec::new();
    for note in &case.pass.input.notes {
        let (path, gate, dropped) = match note {
            Note::FieldDropped { path, gate, value } => {
                let quantity = || Quantity::parse(value).ok();
                let side = [Direction::Up, Direction::Down];
                let side = side
                    .into_iter()
                    .find(|side| *path == path::tolerance_of(*side));
                tolerances.extend(side.and_then(|side| Some((side, quantity()?))));
                (path.clone(), *gate, true)
            }
            Note::ToleranceIgnored { direction, .. } => (
                format!("spec.behavior.{direction}.tolerance"),
                TOLERANCE,
                false,
            ),
            _ => continue,
        };
        match found
            .iter_mut()
            .find(|it| it.gate == gate && it.dropped == dropped)
        {
            Some(facts) => facts.paths.push(path),
            None => found.push(FieldIgnored {
                paths: vec![path],
                ..FieldIgnored::of(gate, dropped, case)
            }),
        }
    }
    // Users of a metric above its target who read about the field may have set it, with no effect.
    if let Some(side) = path::tolerated(case).filter(|_| found.is_empty())
        && side == Direction::Up
        && let facts = FieldIgnored::of(TOLERANCE, true, case)
        && facts.settable
        && !case.has_tolerance_field()
        && case.answer()
            != case.without(|snapshot| {
                snapshot.controller.gates.configurable_tolerance = true;
                path::set_tolerance(snapshot, side, Quantity::from_milli(0, Format::DecimalSI));
            })
    {
        let paths = vec![path::tolerance_of(side).to_owned()];
        let facts = FieldIgnored {
            paths,
            stated: false,
            ..facts
        };
        return vec![Finding::explaining(Severity::Info, facts)];
    }
    let behavior = case.snapshot().hpa.spec.behavior.iter();
    let kept = behavior.flat_map(|it| {
        [
            (Direction::Up, &it.scale_up),
            (Direction::Down, &it.scale_down),
        ]
    });
    tolerances
        .extend(kept.filter_map(|(side, rules)| Some((side, rules.as_ref()?.tolerance.clone()?))));
    let finding = |facts: FieldIgnored| {
        if facts.gate != TOLERANCE {
            return Finding::aside(Severity::Warning, facts);
        }
        let without = case.without(|snapshot| {
            if facts.settable {
                snapshot.controller.gates.configurable_tolerance = true;
                for (side, tolerance) in &tolerances {
                    path::set_tolerance(snapshot, *side, tolerance.clone());
                }
            } else {
                let own = tolerances
                    .iter()
                    .find(|(side, _)| path::side(case) == Some(*side));
                if let Some((_, tolerance)) = own {
                    snapshot.controller.tolerance = tolerance.milli_value() as f64 / 1000.0;
                }
            }
        });
        if without == case.answer() {
            Finding::aside(Severity::Warning, facts)
        } else {
            Finding::explaining(Severity::Warning, facts).without(without)
        }
    };
    found.into_iter().map(finding).collect()
}

/// `scale-not-written`
pub(super) fn scale_not_written(case: &Case<'_>) -> Option<Finding> {
    /// The controller's words before the API server's, in the condition (`reconcileAutoscaler`).
    const UNABLE: &str = "the HPA controller was unable to update the target scale: ";
    /// Conflicts with another writer and failures to answer, which no one has to mend if they happen once.
    const PASSING: [&str; 6] = [
        "Operation cannot be fulfilled",
        "timed out",
        "timeout",
        "deadline exceeded",
        "connection refused",
        "connection reset",
    ];
    /// This often is more than once.
    const OFTEN: i32 = 3;
    let pass = case.pass;
    let hpa = &case.snapshot().hpa;
    let failures = |error: &str| {
        let failed = |it: &&Event| {
            it.is_about(hpa) && it.reason == "FailedRescale" && it.message.contains(error)
        };
        let events = pass.input.evidence.events.iter().filter(failed);
        let latest = events.max_by_key(|it| it.last)?;
        Some(Failures {
            times: latest.count.max(1),
            first: latest.first,
        })
    };
    if let Some((to, error)) = case.decision().unwritten() {
        let failures = failures(error);
        let facts = ScaleNotWritten {
            error: error.to_owned(),
            to,
            failed: None,
            failures,
        };
        let without = case.without(|snapshot| snapshot.scale_update_error = None);
        return Some(Finding::explaining(Severity::Error, facts).without(without));
    }
    // Whether this one can be written is not known, only that the last one could not.
    let to = case.decision().outcome.scale_to?;
    let now = case.scale()?.spec_replicas;
    let mut conditions = hpa.status.conditions.iter();
    let able = conditions.find(|it| it.type_ == "AbleToScale" && it.status == "False")?;
    let error = able.message.strip_prefix(UNABLE).unwrap_or(&able.message);
    let failures = failures(error);
    let is_passing = PASSING.iter().any(|words| error.contains(words))
        && failures.is_none_or(|it| it.times < OFTEN);
    let is_last = able.reason == "FailedUpdateScale"
        && hpa.status.current_replicas == now
        && pass.input.observed_replicas.is_none()
        && !hpa.written.by_us
        && !is_passing;
    let scaled = |it: &Event| it.is_rescale_of(hpa) && it.last > hpa.written.status;
    if !is_last || pass.input.evidence.events.iter().any(scaled) {
        return None;
    }
    // Every pass first says that the scale was read, so the condition changes each time.
    let failed = able.last_transition_time.or(hpa.written.status)?;
    let facts = ScaleNotWritten {
        error: error.to_owned(),
        to,
        failed: Some(failed),
        failures,
    };
    Some(Finding::explaining(Severity::Warning, facts))
}

/// `other-writer`
pub(super) fn other_writer(case: &Case<'_>) -> Option<Finding> {
    let manifest = case.surroundings().manifest_replicas.clone();
    let seen = seen_writer(case);
    if seen.is_none() && manifest.is_none() {
        return None;
    }
    let (facts, explains) = seen.unwrap_or_default();
    let facts = OtherWriter {
        now: replicas_now(case)?,
        manifest,
        ..facts
    };
    Some(if explains {
        Finding::explaining(Severity::Warning, facts)
    } else {
        Finding::aside(Severity::Warning, facts)
    })
}

/// Returns the replicas that the target has: who assumes others is not looked for.
fn replicas_now(case: &Case<'_>) -> Option<i32> {
    case.pass
        .input
        .observed_replicas
        .or_else(|| Some(case.scale()?.spec_replicas))
}

/// Returns what else has set the replicas, and whether that explains the pass.
fn seen_writer(case: &Case<'_>) -> Option<(OtherWriter, bool)> {
    let hpa = &case.snapshot().hpa;
    let now = replicas_now(case)?;
    let is_assumed = case.pass.input.observed_replicas.is_some();
    let last = LastPass::of(&hpa.status, now)?;
    // Switching on and off is a different matter.
    if now == 0 || last.left() == 0 {
        return None;
    }
    let managed = case
        .workload()
        .map_or(&[][..], |target| &target.metadata.managed_fields);
    let writer = managed
        .iter()
        .filter(|it| it.owns(SpecField::Replicas))
        .max_by_key(|it| it.time);
    let owner = replicas_owner(case);
    let is_of_controller = |entry: &ManagedFieldsEntry| {
        entry.manager == CONTROLLER_MANAGER && (entry.is_of_scale() || owner.is_none())
    };
    let by_controller = writer.is_some_and(is_of_controller)
        || case
            .pass
            .input
            .scaled_to(now)
            .any(|time| hpa.written.status.is_none_or(|it| time > it));
    // If the target was not read, the controller may have scaled it since its status was read.
    let differs = now != last.left() && !by_controller && !is_assumed && case.workload().is_some();
    let again = again(case);
    if !differs && again.is_none() {
        return None;
    }
    // What was written long before the last pass is what that pass found.
    let is_later = |it: &&ManagedFieldsEntry| match (it.time, hpa.written.status) {
        (Some(time), Some(status)) => !differs || status.duration_since(time) < SETTLED,
        _ => true,
    };
    let writer = writer.filter(|it| !is_of_controller(it)).filter(is_later);
    let after = case.decision().replicas_after().filter(|_| !is_assumed);
    let writer = writer.map(|it| Writer {
        manager: it.manager.clone(),
        time: it.time,
        by: by(it),
        is_applied: it.is_applied(),
        may_have_removed: differs && now == 1 && by(it).is_of_manifest(),
    });
    let by_owner = writer.as_ref().is_none_or(|it| it.by == By::Program);
    let owner = owner
        .filter(|_| by_owner)
        .map(|it| CrossVersionObjectReference {
            api_version: it.api_version.clone(),
            kind: it.kind.clone(),
            name: it.name.clone(),
        });
    let corrects = matches!(
        case.decision().path(),
        Some(Path::AboveMax | Path::BelowMin)
    );
    let repeats =
        again.is_some() || owner.is_some() || writer.as_ref().is_some_and(|it| it.by.repeats());
    let facts = OtherWriter {
        now,
        left: differs.then(|| last.left()),
        writer,
        owner,
        again,
        after,
        held_until: (after == Some(now) && now > last.left())
            .then(|| held_until(case))
            .flatten(),
        manifest: None,
    };
    // A single correction is explained by the finding about the correction.
    Some((facts, !is_assumed && (!corrects || repeats)))
}

/// Returns until when this pass's recommendation keeps the controller from scaling down.
fn held_until(case: &Case<'_>) -> Option<Timestamp> {
    let window = case.decision().trace.iter().find_map(|step| match step {
        Step::Stabilize { down_window, .. } => Some(*down_window),
        _ => None,
    })?;
    case.snapshot().now.checked_add(window).ok()
}

/// The field manager of the built-in controllers.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// Returns the owner of the target whose controller sets the target's replicas, as that of a Deployment sets
/// those of its ReplicaSets.
fn replicas_owner<'p>(case: &Case<'p>) -> Option<&'p OwnerReference> {
    let workload = case
        .workload()
        .filter(|_| case.target().has_no_rollouts())?;
    workload.metadata.controller()
}

/// Looks for events that show the controller scaling to one count over and over. If it had scaled
/// elsewhere in between, there would be about as many events about that.
fn again(case: &Case<'_>) -> Option<Again> {
    /// Events that are further apart are not connected.
    const KEPT: SignedDuration = SignedDuration::from_mins(30);
    /// This many are no coincidence.
    const SEVERAL: i32 = 3;
    let input = &case.pass.input;
    let hpa = &case.snapshot().hpa;
    let events = || {
        input
            .evidence
            .events
            .iter()
            .filter(|it| it.is_rescale_of(hpa))
    };
    let most = events().max_by_key(|it| it.count)?;
    let (first, last, count) = (most.first?, most.last?, most.count);
    let replicas = most.new_size()?;
    let of_size = |size| events().filter(move |it| (it.new_size() == Some(replicas)) == size);
    let others: i32 = of_size(false).map(|it| it.count.max(1)).sum();
    let is_recent = case.snapshot().now.duration_since(last) < KEPT;
    let is_dense = last.duration_since(first) < KEPT * (count - 1).max(1);
    (count >= SEVERAL && others < count - 1 && is_recent && is_dense).then_some(Again {
        replicas,
        count,
        first,
        last,
    })
}

/// `flapping`
pub(super) fn flapping(case: &Case<'_>) -> Option<Finding> {
    /// Up and down this often is no coincidence.
    const SEVERAL: i32 = 5;
    /// A load that rises and falls more slowly than this has no need of a window.
    const SLOW: SignedDuration = SignedDuration::from_hours(1);
    /// The windows that people set, in seconds.
    const WINDOWS: [i32; 5] = [300, 600, 900, 1800, 3600];
    let hpa = &case.snapshot().hpa;
    let events = || {
        case.pass
            .input
            .evidence
            .events
            .iter()
            .filter(|it| it.is_rescale_of(hpa))
    };
    let times = |is_up: bool| -> i32 {
        let own = events().filter(|it| it.is_up() == Some(is_up));
        own.map(|it| it.count.max(1)).sum()
    };
    let (ups, downs) = (times(true), times(false));
    let first = events().filter_map(|it| it.first.or(it.last)).min()?;
    let last = events().filter_map(|it| it.last).max()?;
    let sizes = || events().filter_map(Event::new_size);
    let (low, high) = (sizes().min()?, sizes().max()?);
    let cycles = cycles(&events().collect::<Vec<_>>());
    if cycles < SEVERAL || case.since(last)? > SLOW {
        return None;
    }
    let interval = last.duration_since(first) / cycles;
    let rules = hpa
        .spec
        .behavior
        .as_ref()
        .and_then(|it| it.scale_down.as_ref());
    let window = match rules.and_then(|rules| rules.stabilization_window_seconds) {
        Some(seconds) => SignedDuration::from_secs(seconds.into()),
        None => case.snapshot().controller.downscale_stabilization,
    };
    // A recommendation must last from the passes before scaling down to the next rise. What repeated events hide is
    // taken to be as far apart as the others are on average.
    let needed = match case.pass.input.rescales() {
        (rescales, true) => longest_gap(&rescales).plus(window),
        (_, false) => interval,
    };
    let covers = |seconds: &i32| SignedDuration::from_secs((*seconds).into()) >= needed;
    let longer = WINDOWS
        .into_iter()
        .find(covers)
        .filter(|_| window < interval)?;
    let small = small_target(case);
    let facts = Flapping {
        ups,
        downs,
        low,
        high,
        first,
        last,
        window,
        longer,
        small,
    };
    let without = case.without(|snapshot| {
        let behavior = snapshot.hpa.spec.behavior.get_or_insert_default();
        let rules = behavior.scale_down.get_or_insert_default();
        rules.stabilization_window_seconds = Some(longer);
    });
    Some(if without == case.answer() {
        Finding::aside(Severity::Warning, facts)
    } else {
        Finding::explaining(Severity::Warning, facts).without(without)
    })
}

/// Returns the target of the deciding metric, as a percentage, and the cpu that a pod requests, if this is little
/// together.
fn small_target(case: &Case<'_>) -> Option<(i32, Quantity)> {
    /// In milli-units.
    const LITTLE: i64 = 50;
    let step = case
        .decision()
        .winner()
        .filter(|step| step.is_resource() && step.name == "cpu")?;
    let percent = step.target.average_utilization?;
    let request = step.pods.iter().filter_map(|row| row.request).max()?;
    (request * i64::from(percent) / 100 <= LITTLE)
        .then(|| (percent, Quantity::from_milli(request, format_of("cpu"))))
}

/// Returns the longest time from scaling down to the next rise.
fn longest_gap(rescales: &[Rescale]) -> SignedDuration {
    let gaps = rescales
        .windows(2)
        .filter(|pair| (pair[0].is_up, pair[1].is_up) == (Some(false), Some(true)));
    gaps.map(|pair| pair[1].time.duration_since(pair[0].time))
        .max()
        .unwrap_or_default()
}

/// Returns how often rescales went up and down again, at least. The API server counts equal events, and to the same
/// size in the same direction leads only a way back; of others, the times tell.
fn cycles(events: &[&Event]) -> i32 {
    let most = |is_up: bool| {
        let own = events.iter().filter(|it| it.is_up() == Some(is_up));
        own.map(|it| it.count).max().unwrap_or_default()
    };
    let times = events
        .iter()
        .flat_map(|it| [(it.first, it.is_up()), (it.last, it.is_up())]);
    let mut times: Vec<(Timestamp, bool)> = times
        .filter_map(|(time, is_up)| Some((time?, is_up?)))
        .collect();
    times.sort_unstable();
    let turns = times
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .count();
    most(true)
        .min(most(false))
        .max(i32::try_from(turns / 2).unwrap_or(i32::MAX))
}

/// `controller-silent`
pub(super) fn controller_silent(case: &Case<'_>) -> Option<Finding> {
    let input = &case.pass.input;
    let hpa = &case.snapshot().hpa;
    let off = input.notes.iter().find_map(|note| match note {
        Note::ControllerOff { pod } => Some(ControllerSilent::Off { pod: pod.clone() }),
        _ => None,
    });
    let lapsed = || {
        let renewed = input.lapsed_lease()?.renewed;
        // Another controller manager may have another lease.
        let is_later = hpa
            .written
            .status
            .is_some_and(|it| it > renewed && !hpa.written.by_us);
        (!is_later).then_some(ControllerSilent::Lapsed { renewed })
    };
    let never = || {
        let created = hpa
            .written
            .created
            .filter(|it| input.is_several_passes_ago(*it))?;
        let never = hpa.uid.is_some() && hpa.status == HpaStatus::default();
        never.then_some(ControllerSilent::NeverPassed { created })
    };
    let facts = off
        .or_else(lapsed)
        .or_else(never)
        .or_else(|| unwritten(case))?;
    let severity = match facts {
        ControllerSilent::Steady { .. } => Severity::Warning,
        _ => Severity::Error,
    };
    Some(Finding::explaining(severity, facts))
}

/// Looks for what each pass since some time would have written, while the status is older.
fn unwritten(case: &Case<'_>) -> Option<ControllerSilent> {
    /// The resource metrics API shows a sample at most this long after it was taken.
    const PUBLISHED_WITHIN: SignedDuration = SignedDuration::from_secs(60);
    /// Usage of a running process does not stay the same for this long.
    const LONG: SignedDuration = SignedDuration::from_mins(10);
    /// Idle processes may use the same for hours, in milli-units of CPU.
    const IDLE: i64 = 20;
    /// Usage that is this much off, as a share of it, differs by more than its noise.
    const NOISE: f64 = 0.2;
    let input = &case.pass.input;
    let hpa = &case.snapshot().hpa;
    let written = hpa
        .written
        .status
        .filter(|_| !hpa.written.by_us && !input.is_assumed)?;
    // A pass that cannot read the scale writes nothing else.
    let mut able = hpa
        .status
        .conditions
        .iter()
        .filter(|it| it.type_ == "AbleToScale");
    if able.any(|it| it.status == "False" && it.reason == "FailedGetScale") {
        return None;
    }
    let is_unseen = |time: Timestamp| {
        time.as_second() > written.as_second() && input.is_several_passes_ago(time)
    };
    let (now, then) = (case.scale()?.spec_replicas, hpa.status.current_replicas);
    let managed = case
        .workload()
        .map_or(&[][..], |target| &target.metadata.managed_fields);
    let set = managed
        .iter()
        .filter(|it| it.owns(SpecField::Replicas))
        .filter_map(|it| it.time)
        .max();
    if let Some(since) = set.filter(|since| is_unseen(*since) && now != then) {
        return Some(ControllerSilent::Replicas {
            written,
            since,
            now,
            then,
        });
    }
    let status = case.decision().outcome.status.as_ref()?;
    let lists = [
        hpa.status.current_metrics.as_deref()?,
        status.current_metrics.as_deref()?,
    ];
    let is_comparable = lists[0].len() == lists[1].len()
        && hpa.written.spec.is_none_or(|it| it <= written)
        && !pods_changed_since(case, written);
    for step in case.metrics().filter(|_| is_comparable) {
        let samples = matches!(
            case.snapshot().metrics.get(step.index),
            Some(MetricAnswer::PodMetrics)
        );
        let (then, current) = (lists[0].get(step.index)?, lists[1].get(step.index)?);
        if !samples || then.agrees_with(current) {
            continue;
        }
        let (Some((_, then)), Some((_, current))) = (then.labelled(), current.labelled()) else {
            continue;
        };
        let rows = step
            .pods
            .iter()
            .filter_map(|row| case.metrics_of(case.pod_of(row)));
        let newest = rows.map(|it| it.timestamp).max()?;
        let (metric, then, current) = (step.index, then.clone(), current.clone());
        let published = newest.checked_add(PUBLISHED_WITHIN).ok()?;
        if newest > written && is_unseen(published) {
            let since = published;
            return Some(ControllerSilent::Usage {
                written,
                since,
                metric,
                then,
                now: current,
            });
        }
        let usage = |it: &MetricValueStatus| it.average_value.as_ref().map(Quantity::milli_value);
        let was_busy = usage(&then).is_some_and(|then| {
            let change = usage(&current).map_or(0, |now| now.abs_diff(then));
            then >= IDLE && change as f64 > then as f64 * NOISE
        });
        let is_long = input.knows_time() && case.snapshot().now.duration_since(written) >= LONG;
        if step.name == "cpu" && was_busy && is_long {
            return Some(ControllerSilent::Steady {
                written,
                metric,
                then,
                now: current,
            });
        }
    }
    None
}

/// Whether a pod has come, become ready or unready, or is leaving since some time.
fn pods_changed_since(case: &Case<'_>, since: Timestamp) -> bool {
    case.pods().any(|pod| {
        let ready = pod.ready.map(|it| it.last_transition_time);
        let times = [pod.created, pod.start_time, ready, pod.deletion_timestamp];
        times.into_iter().flatten().any(|time| time > since)
    })
}

/// Whether a sample was taken since some time, so that a pass before it did not have its value.
fn measured_since(case: &Case<'_>, since: Timestamp) -> bool {
    let snapshot = case.snapshot();
    let mut own = case.pods().filter_map(|pod| case.metrics_of(pod));
    let mut others = snapshot.metrics.iter().flat_map(MetricAnswer::times);
    own.any(|it| it.timestamp > since) || others.any(|time| time > since)
}

/// `differs-from-status`
pub(super) fn differs_from_status(case: &Case<'_>) -> Option<Finding> {
    let pass = case.pass;
    let hpa = &case.snapshot().hpa;
    let scale = case.scale()?;
    let status = case.decision().outcome.status.as_ref()?;
    let (last, now) = (hpa.status.desired_replicas, status.desired_replicas);
    let written = hpa.written.status?;
    let same_metrics = match (&hpa.status.current_metrics, &status.current_metrics) {
        (Some(then), Some(now)) => {
            then.len() == now.len()
                && then
                    .iter()
                    .zip(now)
                    .all(|(then, now)| then.labelled().is_some() && then.agrees_with(now))
        }
        _ => false,
    };
    // A pass that scales leaves the values from before in its status.
    let stood_still = hpa.status.current_replicas == last && scale.spec_replicas == last;
    let is_comparable = last != now
        && pass.input.observed_replicas.is_none()
        && stood_still
        && same_metrics
        && !pods_changed_since(case, written)
        && !measured_since(case, written)
        && !hpa.written.by_us
        && hpa.written.spec.is_none_or(|it| it <= written)
        && pass.input.lapsed_lease().is_none()
        && !pass.depends_on_history();
    if !is_comparable {
        return None;
    }
    // What only time has changed, such as the end of a period since a pod's start, is no setting.
    let then = case
        .decide(|snapshot| snapshot.now = written)
        .outcome
        .status;
    if then.is_some_and(|it| it.desired_replicas == last) {
        return None;
    }
    let would_explain = would_explain(case, last);
    // Without a setting that explains it, the status may belong to a pass that read other values.
    (!would_explain.is_empty()).then(|| {
        let facts = DiffersFromStatus {
            last,
            now,
            written,
            would_explain,
        };
        Finding::aside(Severity::Warning, facts)
    })
}

/// No one sets a larger one, so the cause must be something else.
const LARGEST_TOLERANCE: f64 = 0.3;

/// Returns the assumed settings that would bring a pass to this many replicas.
fn would_explain(case: &Case<'_>, wanted: i32) -> Vec<Setting> {
    let pass = case.pass;
    let comes_to_it = |decision: &Decision| {
        decision
            .outcome
            .status
            .as_ref()
            .is_some_and(|it| it.desired_replicas == wanted)
    };
    let memory = &pass.remembered.likely;
    let run = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = case.snapshot().clone();
        change(&mut snapshot);
        comes_to_it(&engine::reconcile(&snapshot, memory))
    };
    let tolerance = || {
        let MetricResult::Proposal(proposal) = &case.decision().winner()?.result else {
            return None;
        };
        let percent = (proposal.ratio - 1.0).abs() * 100.0;
        // The next whole percent beyond the border.
        let percent = match proposal.because {
            Because::WithinTolerance | Because::FilledWithinTolerance => percent.ceil() - 1.0,
            _ => percent.floor() + 1.0,
        };
        let tolerance = percent / 100.0;
        let explains = tolerance <= LARGEST_TOLERANCE
            && run(&|snapshot| snapshot.controller.tolerance = tolerance);
        explains.then_some(Setting::Tolerance(tolerance))
    };
    let period = |change: &dyn Fn(&mut Controller, SignedDuration)| {
        let mut periods = [0, 1, 2, 3, 10, 15, 30]
            .map(SignedDuration::from_mins)
            .into_iter();
        periods.find(|period| run(&|snapshot| change(&mut snapshot.controller, *period)))
    };
    let version = || {
        let own = &case.snapshot().controller.version;
        let mut others = Version::all().filter(|it| it.minor() != own.minor());
        let explains =
            |it: &Version| comes_to_it(&engine::reconcile_in(it, case.snapshot(), memory));
        others.find(explains).map(Setting::Version)
    };
    let known = &pass.input.known.flags;
    let mut settings = Vec::new();
    if known.tolerance.is_none() {
        settings.extend(tolerance());
    }
    if known.downscale_stabilization.is_none() {
        let own = period(&|controller, own| controller.downscale_stabilization = own);
        settings.extend(own.map(Setting::DownscaleStabilization));
    }
    if known.cpu_initialization_period.is_none() {
        let own = period(&|controller, own| controller.cpu_initialization_period = own);
        settings.extend(own.map(Setting::CpuInitializationPeriod));
    }
    if known.initial_readiness_delay.is_none() {
        let own = period(&|controller, own| controller.initial_readiness_delay = own);
        settings.extend(own.map(Setting::InitialReadinessDelay));
    }
    if case.snapshot().controller.version.stated().is_none() {
        settings.extend(version());
    }
    settings
}

#[cfg(test)]
mod tests;
