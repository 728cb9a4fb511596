//! Findings about pods that count but should not, or do not count but should.

pub mod finished_pods;
pub mod never_ready;
pub mod replicas_without_pods;
pub mod starting_pods;
pub mod terminating_pods;
#[cfg(test)]
pub(crate) mod testing;
pub mod uncounted_pods;
pub mod unschedulable_pods;

use crate::calendar::Calendar;
use crate::engine::decision::{Block, Proposal};
use crate::findings::Alternative;
use crate::findings::prelude::*;
use crate::snapshot::Snapshot;
use crate::snapshot::by_name::Names;
use crate::snapshot::pod::{ConditionStatus, Container, ContainerStatus, Phase};
use crate::words::fills;

/// The longest time that a pod may take to start if it has neither restarted nor is waiting for anything
/// unusual.
const LONG_START: SignedDuration = SignedDuration::from_mins(30);

/// Returns a predicate that is true of these pods, by name.
pub(crate) fn among<'p>(pods: &[&'p Pod]) -> impl Fn(&Pod) -> bool + use<'p> {
    let names: Names<&str> = pods.iter().map(|pod| &*pod.name).collect();
    move |pod| names.contains(&pod.name)
}

/// Returns the owner of a finished pod, as `Kind/name`, if it may still need the pod, because it does not control
/// replicas.
pub(crate) fn owner_of_finished(case: &Case<'_>) -> Option<String> {
    // Controllers that keep a number of pods replace a finished one at once, and no longer count it.
    const OF_REPLICAS: [&str; 4] = [
        "ReplicaSet",
        "StatefulSet",
        "ReplicationController",
        "DaemonSet",
    ];
    let finished = case.pods().filter(|pod| pod.has_ended());
    let mut owners = finished.filter_map(|pod| pod.owner.as_deref());
    let other = owners.find(|owner| !OF_REPLICAS.contains(&&*owner.kind))?;
    Some(format!("{}/{}", other.kind, other.name))
}

/// Returns the advice to delete finished pods that nothing needs.
pub(crate) fn delete_finished(about: &About<'_>, pods: &[&str]) -> Advice {
    let advice = Remedy::DeleteFinished.says(format!(
        "Delete {}, or relabel {} so that {} not match.",
        first_of(pods),
        them(pods.len()),
        one_or_many(pods.len(), "it does", "they do")
    ));
    advice.with(about.delete_pods(pods))
}

/// Whether a pod is younger than the period in which CPU samples may be skipped. A pending pod of unknown age counts as
/// younger.
fn is_young(case: &Case<'_>, pod: &Pod) -> bool {
    let period = case.snapshot.controller.cpu_initialization_period;
    case.age(pod)
        .map_or(pod.phase == Phase::Pending, |age| age < period)
}

/// Whether a pod has certainly not been ready since it started, and this is observed rather than assumed.
fn was_never_ready<'p>(case: &Case<'p>, pod: &'p Pod) -> bool {
    let delay = case.snapshot.controller.initial_readiness_delay;
    let observed = case.observed_pod(pod);
    observed.is_some_and(|it| shows_no_readiness(it, delay)) && shows_no_readiness(pod, delay)
}

/// Whether the state of a pod proves that it has not been ready since it started. Its Ready condition first changes
/// when the node accepts it.
fn shows_no_readiness(pod: &Pod, delay: SignedDuration) -> bool {
    match (pod.phase, pod.ready, pod.start_time) {
        (Phase::Pending, ready, _) => ready.is_none_or(|it| it.status != ConditionStatus::True),
        (Phase::Running, Some(ready), Some(start)) => {
            let changed = ready.last_transition_time.duration_since(start).abs();
            ready.status == ConditionStatus::False && changed <= delay
        }
        _ => false,
    }
}

/// Returns why a container is waiting.
fn reason(status: &ContainerStatus) -> Option<&str> {
    let waiting = status.waiting.as_ref()?;
    Some(&*waiting.reason).filter(|it| !it.is_empty())
}

/// Returns why a container is waiting, unless its start is being prepared.
fn failure(status: &ContainerStatus) -> Option<&str> {
    reason(status).filter(|it| !matches!(*it, "ContainerCreating" | "PodInitializing"))
}

/// Returns a container of a pod that waits in an error, with the reason, unless the pod is terminating.
pub(crate) fn failing(pod: &Pod) -> Option<(&str, &str)> {
    let mut all = pod.statuses.iter().filter(|_| pod.is_active());
    all.find_map(|status| Some((&*status.name, failure(status)?)))
}

/// Whether a pod was never ready and is too old for that: older than the period in which samples may be
/// skipped, if it visibly fails, or else much older.
fn is_stuck<'p>(case: &Case<'p>, pod: &'p Pod) -> bool {
    if !pod.is_active() || pod.unschedulable.is_some() || !was_never_ready(case, pod) {
        return false;
    }
    let controller = &case.snapshot.controller;
    let usual = controller
        .cpu_initialization_period
        .plus(controller.initial_readiness_delay);
    let fails = |it: &ContainerStatus| failure(it).is_some() || has_restarted(pod, it);
    let limit = if pod.statuses.iter().any(fails) {
        usual
    } else {
        usual.max(LONG_START)
    };
    case.age(pod).is_some_and(|age| age > limit)
}

/// Whether a container that still matters has restarted: init containers other than sidecars are done once the pod
/// runs.
fn has_restarted(pod: &Pod, status: &ContainerStatus) -> bool {
    let is_left = || pod.running(false).any(|own| own.name == status.name);
    status.restart_count > 0 && (pod.phase == Phase::Pending || is_left())
}

/// Whether a pod has started, was never ready, and may still become ready.
fn is_starting<'p>(case: &Case<'p>, pod: &'p Pod) -> bool {
    pod.is_active()
        && pod.phase == Phase::Running
        && was_never_ready(case, pod)
        && !is_stuck(case, pod)
}

/// Whether a pod has a value if it is measured: it is active and running, and at least one of its containers does not
/// wait in an error.
pub(crate) fn may_have_value(pod: &Pod) -> bool {
    let runs = |own: &Container| {
        let mut statuses = pod.statuses.iter();
        !statuses.any(|status| status.name == own.name && failure(status).is_some())
    };
    pod.is_active() && pod.phase != Phase::Pending && pod.running(false).any(runs)
}

/// Whether a metric has no value because of its pods.
fn leave_no_value(finding: &Finding) -> bool {
    matches!(&finding.facts, Facts::MetricEmpty(it) if it.is_because_of_pods())
}

/// Returns a finding about pods, with the result of the pass without the problem. If no pod runs, there is no such
/// result, and these pods may be the reason why the pass ends.
fn weigh(
    case: &Case<'_>,
    facts: impl Into<Facts>,
    without: Alternative,
    otherwise: Severity,
) -> Finding {
    let ends = case.decision.block() == Some(Block::Metrics);
    if ends && case.found().any(leave_no_value) {
        Finding::explaining(Severity::Error, facts)
    } else {
        case.weigh(facts, without, otherwise)
    }
}

/// What a pod without a node lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    /// A volume, which no node gives it.
    Volume,
    /// A node with access to its volume.
    VolumeNode,
    /// Room on a node that it may use.
    Room,
    /// A node that it may use.
    Access,
    /// Something else.
    Other,
}

impl Lack {
    /// Returns what a pod lacks by the scheduler's message about it.
    fn of(message: &str) -> Self {
        let says = |words: &[&str]| words.iter().any(|it| message.contains(it));
        if message.to_lowercase().contains("persistentvolumeclaim") {
            Self::Volume
        } else if says(&["volume node affinity", "PersistentVolume's node affinity"]) {
            Self::VolumeNode
        } else if says(&["Insufficient", "Too many pods"]) {
            Self::Room
        } else if says(&["didn't match", "untolerated taint"]) {
            Self::Access
        } else {
            Self::Other
        }
    }
}

/// Returns the advice on pods without a node, by what they lack.
fn add_nodes(lower: &str, lack: Lack) -> Advice {
    let place = match lack {
        Lack::Volume => {
            return Remedy::FindUnready
                .says("Find out why the pod has no volume: no further node gives it one.");
        }
        Lack::VolumeNode => " where its volume is",
        Lack::Access => " on which the pod may run",
        Lack::Room | Lack::Other => "",
    };
    Remedy::AddNodes.says(format!("Add nodes{place}{lower}."))
}

/// Names the bounds that have to be lowered for fewer pods, as an alternative: `, or lower maxReplicas`. Empty for the only
/// pod.
fn or_lower(about: &About<'_>) -> String {
    let (decision, spec) = (&about.pass.decision, &about.hpa.spec);
    let Some(replicas) = decision.replicas_before().filter(|it| *it > 1) else {
        return String::new();
    };
    let [min, max] = ["minReplicas", "maxReplicas"];
    let keeps = |proposal: i32| proposal < spec.min() && !spec.is_disabled(Direction::Down);
    let bounds = if decision.proposal.is_some_and(keeps) {
        about.field(min)
    } else if spec.min() < replicas {
        about.field(max)
    } else {
        format!("{} and {}", about.field_name(min), about.field(max))
    };
    format!(", or lower {bounds}")
}

/// Describes what a container waits for, and how often it has restarted.
fn waiting(pod: &Pod) -> Option<String> {
    pod.statuses.iter().find_map(|status| {
        let reason = &status.waiting.as_ref()?.reason;
        let restarts = count(status.restart_count, "restart");
        Some(format!("{} waits: {reason}, {restarts}", status.name))
    })
}

/// Describes how the assumed values of a metric's pods affect its ratio.
fn filled(about: &About<'_>, metric: usize) -> Option<String> {
    let label = about.label(metric);
    let Proposal {
        ratio,
        filled,
        counted: Some(counted),
        ..
    } = about.proposal(metric)?
    else {
        return None;
    };
    let Some(filled) = filled else {
        return about.step(metric)?.is_total().then(|| {
            format!(
                "{label} multiplies its ratio of {} by {}.",
                number(*ratio),
                count(counted.ready, "ready pod")
            )
        });
    };
    let missing = format!("{} without metrics", count(counted.missing, "pod"));
    let assumed = fills(filled, &missing, counted.unready);
    let with = list(&assumed);
    let (before, after) = (number(*ratio), number(filled.ratio));
    (!assumed.is_empty())
        .then(|| format!("{label} assumes {with}, which takes its ratio from {before} to {after}."))
}

/// The maximum number of pods named in a command; more are selected.
const NAMED: usize = 5;

impl<'a> About<'a> {
    /// Returns a command that deletes these finished pods: by name or, if there are many and no others, by the selector
    /// of the target and their phase.
    fn delete_pods(&self, names: &[&str]) -> Command {
        let Snapshot { scale, pods, .. } = &self.pass.input.snapshot;
        let is_own = |pod: &Pod| {
            scale
                .as_ref()
                .is_ok_and(|it| it.selector.matches(&pod.labels))
        };
        let finished = pods.iter().filter(|pod| pod.has_ended() && is_own(pod));
        let are_all = finished.count() == names.len();
        if let Some(selector) = self.selector().filter(|_| are_all && names.len() > NAMED) {
            let flags = format!(
                "-l {selector} --field-selector=status.phase!=Pending,status.phase!=Running,\
                 status.phase!=Unknown"
            );
            return self.kubectl_quoted("delete", "pod", &flags);
        }
        let words: Vec<_> = names.iter().map(|name| shell_word(name)).collect();
        self.kubectl_quoted("delete pod", &words.join(" "), "")
    }

    /// Begins a sentence about some pods in another state: `With them ready`.
    fn with<N: AsRef<str>>(&self, pods: &[N], state: &str) -> String {
        let names: Names<&str> = pods.iter().map(AsRef::as_ref).collect();
        let replacing = Case::new(self.pass, &[]).replacing(|pod| names.contains(&pod.name));
        let place = match (replacing.len(), pods.len()) {
            (0, _) => String::new(),
            (1, 1) => ", replacing another".to_owned(),
            (n, all) if n == all => ", replacing others".to_owned(),
            (1, _) => ", 1 of them replacing another".to_owned(),
            (n, _) => format!(", {n} of them replacing others"),
        };
        let busy = if replacing.len() < pods.len() && self.assumes_usage(pods) {
            ", and as busy as the others on average"
        } else {
            ""
        };
        format!("With {} {state}{place}{busy}", them(pods.len()))
    }

    pub(crate) fn proposal(&self, metric: usize) -> Option<&'a Proposal> {
        self.step(metric)?.proposal()
    }
}
