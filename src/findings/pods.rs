//! Findings about pods that count but should not, or do not count but should.

use std::collections::{BTreeSet, HashSet};

use jiff::{SignedDuration, Timestamp};

use super::{Case, Facts, Finding, Severity};
use crate::apimachinery::metadata::Condition;
use crate::calendar::Calendar;
use crate::engine::decision::{Group, MetricResult, MetricStep, PodRow};
use crate::pass::Pass;
use crate::snapshot::by_name::Names;
use crate::snapshot::evidence::TRIGGERED;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::pod::{ConditionStatus, ContainerStatus, Phase, Pod};

/// How long a pod may take to start if it has neither restarted nor is waiting for anything unusual.
const LONG_START: SignedDuration = SignedDuration::from_mins(30);
/// How long a cluster may take to add a node for a pending pod.
const NEW_NODE: SignedDuration = SignedDuration::from_mins(5);
/// How long a workload may take to create its pods, if nothing prevents it.
const CREATION: SignedDuration = SignedDuration::from_mins(2);
/// How long after it became ready a pod may still warm up.
const WARM: SignedDuration = SignedDuration::from_mins(2);
/// The factor by which a pod that is still warming up exceeds other pods.
const WARMING_UP: f64 = 1.5;

/// Pods that have ended match the selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedPods {
    /// Those that succeeded, by name.
    pub succeeded: Vec<Box<str>>,
    /// Those that failed, by name.
    pub failed: Vec<Box<str>>,
    /// The metrics that count the succeeded ones as pods without metrics, by index in the spec.
    pub missing_in: Vec<usize>,
    /// The first metric that fails, if none fails without these pods.
    pub fails: Option<usize>,
    /// The owner of one of them, as `Kind/name`, if it may still need it: it is no controller of replicas.
    pub owner: Option<String>,
}

/// Pods that are not ready or have no metrics do not count, and the result would differ if they did.
#[derive(Debug, Clone, PartialEq)]
pub struct UncountedPods {
    /// These pods, each with the first metric that leaves it out. Pods without another finding that are
    /// not just starting come first.
    pub pods: Vec<Uncounted>,
    /// The number of the target's pods, except finished and terminating ones that have replacements.
    pub of: usize,
    /// They count anyway, because they were ready before, and the result would differ if they did
    /// not.
    pub count: bool,
    /// They use so little that the result would be the same if they counted; without them it would differ.
    pub idle: bool,
    /// The nodes that they are on while other pods of the target are on others: one, or all those without metrics.
    pub nodes: Vec<Box<str>>,
    /// Whether all of them are ready and without metrics, and the pods with metrics are on other nodes.
    pub unscraped: bool,
}

/// How a pod is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uncounted {
    /// The metric, by index in the spec.
    pub metric: usize,
    /// Why, and until when.
    pub row: PodRow,
}

/// Pods have been starting for longer than is usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeverReady {
    /// These pods.
    pub pods: Vec<StuckPod>,
    /// All of them belong to this revision, while the target has pods of others.
    pub revision: Option<Box<str>>,
}

/// A pod that was never ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckPod {
    /// Its name.
    pub name: Box<str>,
    /// When it started or, if it has not, was created.
    pub since: Option<Timestamp>,
    /// The container that is waiting or has restarted most.
    pub container: Option<Box<str>>,
    /// Why it is waiting, such as `CrashLoopBackOff`.
    pub waiting: Option<Box<str>>,
    /// How many times it has restarted.
    pub restarts: i32,
}

/// Ready pods that are being deleted still count for a metric with one value for all pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminatingPods {
    /// These pods, by name.
    pub pods: Vec<Box<str>>,
    /// The first such metric, by index in the spec.
    pub metric: usize,
    /// When the last of them is due to be gone.
    pub last: Timestamp,
}

/// Pods that are still starting decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartingPods {
    /// These pods, by name.
    pub pods: Vec<Box<str>>,
    /// When the oldest of them started.
    pub since: Timestamp,
    /// The metric that counts them, by index in the spec.
    pub metric: usize,
    /// How they count.
    pub how: Starting,
}

impl StartingPods {
    /// Returns a scale-up window in seconds that is longer than the current one and than the pods have
    /// been starting, if the API server accepts it.
    pub(crate) fn longer_window(&self, present: i32, now: Timestamp) -> Option<i32> {
        let started = now.duration_since(self.since).as_secs();
        let covers = |seconds: &i32| *seconds > present && i64::from(*seconds) > started;
        [300, 600, 900, 1800, 3600].into_iter().find(covers)
    }
}

/// How pods that are still starting count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starting {
    /// They are not ready, but count anyway.
    NotReady {
        /// How many of them have no metric, and count with an assumed value.
        assumed: usize,
    },
    /// They are ready, and use more than the others, on average and in thousandths.
    Hot {
        /// Their usage.
        usage: i64,
        /// The usage of the others.
        others: i64,
    },
}

/// The target has fewer pods than replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicasWithoutPods {
    /// `spec.replicas` of its scale.
    pub replicas: i32,
    /// `status.replicas` of its scale.
    pub pods: i32,
    /// Whether this has lasted for minutes, or the workload reports that it fails to create pods.
    pub is_held_up: bool,
    /// The workload's message about it.
    pub failure: Option<Condition>,
    /// The last event after which the pods should have existed.
    pub since: Option<Timestamp>,
    /// The metric that counts the pods and not the replicas, by index in the spec.
    pub metric: Option<usize>,
    /// The pod that a StatefulSet waits for before it creates the next one.
    pub waits_for: Option<Box<str>>,
    /// The workload that the target creates the pods with, and the replicas that this is set to, if they are fewer.
    pub owned: Option<(CrossVersionObjectReference, i32)>,
}

impl UncountedPods {
    /// Returns the names of the pods.
    pub(crate) fn names<'p>(&self, pass: &'p Pass) -> BTreeSet<&'p str> {
        let pods = &pass.input.snapshot.pods;
        self.pods
            .iter()
            .map(|it| &*pods[it.row.pod as usize].name)
            .collect()
    }
}

/// Pods cannot be scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnschedulablePods {
    /// These pods, by name.
    pub pods: Vec<Box<str>>,
    /// The scheduler's message about the first.
    pub message: Box<str>,
    /// When the oldest was created.
    pub since: Option<Timestamp>,
    /// Whether the metrics propose more pods than have a node.
    pub are_needed: bool,
    /// What the cluster autoscaler says of one of them last.
    pub autoscaler: Option<Autoscaler>,
}

/// What the cluster autoscaler says of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Autoscaler {
    /// Whether it adds a node for it.
    pub adds: bool,
    /// Its message.
    pub message: String,
    /// When it last said so.
    pub at: Option<Timestamp>,
}

/// Returns the nodes of some pods, if all other pods of the target are on others, and whether nothing on those nodes
/// has metrics, although the pods are ready.
fn nodes_of(case: &Case<'_>, pods: &[Uncounted]) -> (Vec<Box<str>>, bool) {
    let own: Option<BTreeSet<&str>> = pods
        .iter()
        .map(|it| case.pod_of(&it.row).node.as_deref())
        .collect();
    let Some(own) = own else {
        return (Vec::new(), false);
    };
    let names: BTreeSet<&str> = pods.iter().map(|it| &*case.pod_of(&it.row).name).collect();
    let others = case.pods().filter(|pod| !names.contains(&*pod.name));
    let others: BTreeSet<&str> = others.filter_map(|pod| pod.node.as_deref()).collect();
    let is_unscraped = |it: &Uncounted| {
        let pod = case.pod_of(&it.row);
        let is_ready = pod
            .ready
            .is_some_and(|it| it.status == ConditionStatus::True);
        let is_resource = case
            .decision()
            .metric(it.metric)
            .is_some_and(MetricStep::is_resource);
        it.row.group == Group::Missing && is_resource && is_ready && !is_young(case, pod)
    };
    let are_apart = !others.is_empty() && own.is_disjoint(&others);
    let unscraped = are_apart && pods.iter().all(is_unscraped);
    let is_one = pods.len() > 1 && own.len() == 1 && others.iter().any(|it| !own.contains(it));
    let shown = if unscraped || is_one {
        own.into_iter().map(Into::into).collect()
    } else {
        Vec::new()
    };
    (shown, unscraped)
}

/// `finished-pods`
pub(super) fn finished(case: &Case<'_>) -> Option<Finding> {
    let of = |phase| names(case.pods().filter(move |pod| pod.phase == phase));
    let (succeeded, failed) = (of(Phase::Succeeded), of(Phase::Failed));
    let looks_at_metrics = case.metrics().next().is_some();
    if !looks_at_metrics || (succeeded.is_empty() && failed.is_empty()) {
        return None;
    }
    let without = case.without_pods(is_finished);
    let takes_as_missing = |step: &&MetricStep| {
        let mut rows = step.pods.iter();
        rows.any(|row| row.group == Group::Missing && is_finished(case.pod_of(row)))
    };
    let missing_in = case
        .metrics()
        .filter(takes_as_missing)
        .map(|step| step.index)
        .collect();
    let mut failing = case
        .metrics()
        .filter(|it| matches!(it.result, MetricResult::Error(_)));
    let mended = case.answer().proposal.is_none() && without.proposal.is_some();
    let fails = failing.next().filter(|_| mended).map(|step| step.index);
    // Those that keep a number of pods replace a finished one at once, and count it no more.
    const OF_REPLICAS: [&str; 4] = [
        "ReplicaSet",
        "StatefulSet",
        "ReplicationController",
        "DaemonSet",
    ];
    let owners = case
        .pods()
        .filter(|pod| is_finished(pod))
        .filter_map(|pod| pod.owner.as_deref());
    let mut others = owners.filter(|owner| !OF_REPLICAS.contains(&&*owner.kind));
    let owner = others
        .next()
        .map(|owner| format!("{}/{}", owner.kind, owner.name));
    let facts = FinishedPods {
        succeeded,
        failed,
        missing_in,
        fails,
        owner,
    };
    Some(case.weigh(facts, without, Severity::Info))
}

/// `uncounted-pods`
pub(super) fn uncounted(case: &Case<'_>, found: &[Finding]) -> Option<Finding> {
    left_out(case, found).or_else(|| counted_unready(case))
}

/// Returns the pods that do not count, except for metrics whose failure already has another explanation.
fn left_out(case: &Case<'_>, found: &[Finding]) -> Option<Finding> {
    let answer = case.answer();
    let failed: Vec<usize> = found
        .iter()
        .flat_map(|it| it.facts.failed_metrics())
        .collect();
    let is_open = |step: &&MetricStep| {
        !matches!(step.result, MetricResult::Error(_)) || !failed.contains(&step.index)
    };
    let none_counts = |step: &MetricStep| {
        let is_ready = |row: &PodRow| row.group == Group::Ready;
        matches!(step.result, MetricResult::Error(_)) && !step.pods.iter().any(is_ready)
    };
    let keeps_from_answer = |step: &MetricStep| answer.proposal.is_none() && none_counts(step);
    let mut seen = HashSet::new();
    let mut pods = Vec::new();
    for step in case.metrics().filter(is_open) {
        let leaves_out = |row: &PodRow| match row.group {
            Group::Unready | Group::Missing => !is_finished(case.pod_of(row)),
            Group::Ignored => keeps_from_answer(step),
            Group::Ready => false,
        };
        for &row in &step.pods {
            if leaves_out(&row) && seen.insert(row.pod) {
                pods.push(Uncounted {
                    metric: step.index,
                    row,
                });
            }
        }
    }
    if pods.is_empty() {
        return None;
    }
    let names: Names<&str> = pods
        .iter()
        .map(|it| case.pod_of(&it.row))
        .filter(|pod| is_alive(pod))
        .map(|pod| &*pod.name)
        .collect();
    let counted = case.if_ready(|pod| names.contains(&pod.name));
    let keeps_from_answer = case.metrics().filter(is_open).any(keeps_from_answer);
    let is_measured = |it: &Uncounted| it.row.group == Group::Unready && it.row.value.is_some();
    let changes_nothing = counted == answer && !keeps_from_answer;
    let idle = changes_nothing && pods.iter().all(is_measured);
    let other = if idle {
        case.without_pods(|pod| names.contains(&pod.name))
    } else {
        counted
    };
    if changes_nothing && other == answer {
        return None;
    }
    // Pods that have only just started, and those with another finding.
    let is_explained = |it: &Uncounted| {
        let pod = case.pod_of(&it.row);
        is_young(case, pod)
            || is_stuck(case, pod)
            || (it.row.group == Group::Missing && is_starting(case, pod))
            || pod.unschedulable.is_some()
            || case.is_foreign(pod)
    };
    // Pods without another explanation come first.
    pods.sort_by_key(is_explained);
    let is_ordinary = pods.first().is_some_and(is_explained);
    let of = case
        .pods()
        .filter(|pod| is_alive(pod))
        .count()
        .max(pods.len());
    let (nodes, unscraped) = nodes_of(case, &pods);
    let facts = UncountedPods {
        nodes,
        unscraped,
        pods,
        of,
        count: false,
        idle,
    };
    Some(match other.proposal {
        None if keeps_from_answer => Finding::explaining(Severity::Error, facts),
        None => return None,
        // As long as there is an answer, this is an ordinary rule at work.
        Some(_) if is_ordinary && answer.proposal.is_some() => {
            Finding::explaining(Severity::Info, facts).without(other)
        }
        Some(_) => case.weigh(facts, other, Severity::Info),
    })
}

/// Returns the pods that a finding reports as stuck, or as starting.
pub(super) fn stuck_in(facts: &Facts) -> Option<BTreeSet<&str>> {
    match facts {
        Facts::NeverReady(it) => Some(it.pods.iter().map(|pod| &*pod.name).collect()),
        Facts::UnschedulablePods(it) => Some(it.pods.iter().map(|name| &**name).collect()),
        Facts::StartingPods(it) => Some(it.pods.iter().map(|name| &**name).collect()),
        _ => None,
    }
}

/// Returns the pods that are not ready but count anyway: for CPU, once they have been ready.
fn counted_unready(case: &Case<'_>) -> Option<Finding> {
    let is_unready = |row: &&PodRow| {
        let ready = case.pod_of(row).ready.map(|ready| ready.status);
        row.group == Group::Ready && ready == Some(ConditionStatus::False)
    };
    let of_cpu = case
        .metrics()
        .filter(|step| step.is_resource() && step.name == "cpu");
    let (metric, rows) = of_cpu
        .map(|step| {
            (
                step.index,
                step.pods.iter().filter(is_unready).collect::<Vec<_>>(),
            )
        })
        .find(|(_, rows)| !rows.is_empty())?;
    let names: Names<&str> = rows.iter().map(|row| &*case.pod_of(row).name).collect();
    let unready = case.if_never_ready(|pod| names.contains(&pod.name));
    if unready == case.answer() {
        return None;
    }
    let pods: Vec<Uncounted> = rows
        .into_iter()
        .map(|&row| Uncounted { metric, row })
        .collect();
    let of = case.pods().filter(|pod| is_alive(pod)).count();
    let (nodes, unscraped) = nodes_of(case, &pods);
    let facts = UncountedPods {
        nodes,
        unscraped,
        pods,
        of,
        count: true,
        idle: false,
    };
    Some(Finding {
        without: Some(unready),
        ..Finding::explaining(Severity::Info, facts)
    })
}

/// `never-ready`
pub(super) fn never_ready(case: &Case<'_>) -> Option<Finding> {
    let stuck: Vec<&Pod> = case.pods().filter(|pod| is_stuck(case, pod)).collect();
    let first = stuck.first()?;
    let stuck_revision = first.revision();
    let is_same = |pod: &&Pod| pod.revision() == stuck_revision;
    let is_new = stuck.iter().all(is_same) && !case.pods().all(|pod| is_same(&pod));
    let about = |pod: &&Pod| {
        let worst = |of: &dyn Fn(&ContainerStatus) -> bool| {
            let all = pod.statuses.iter().filter(|status| of(status));
            all.max_by_key(|status| status.restart_count)
        };
        let status =
            worst(&|it| failure(it).is_some()).or_else(|| worst(&|it| has_restarted(pod, it)));
        StuckPod {
            name: pod.name.clone(),
            since: pod.start_time.or(pod.created),
            container: status.map(|it| it.name.clone()),
            waiting: status.and_then(failure).map(Into::into),
            restarts: status.map_or(0, |it| it.restart_count),
        }
    };
    let facts = NeverReady {
        pods: stuck.iter().map(about).collect(),
        revision: stuck_revision.filter(|_| is_new).map(Into::into),
    };
    let names: Names<&str> = stuck.iter().map(|pod| &*pod.name).collect();
    let ready = case.if_ready(|pod| names.contains(&pod.name));
    Some(case.weigh(facts, ready, Severity::Warning))
}

/// `terminating-pods`
pub(super) fn terminating(case: &Case<'_>) -> Option<Finding> {
    let mut totals = case.metrics().filter(|step| step.is_total());
    let (metric, pods) = totals.find_map(|step| {
        let ready = step.pods.iter().filter(|row| row.group == Group::Ready);
        let pods: Vec<&Pod> = ready
            .map(|row| case.pod_of(row))
            .filter(|pod| pod.deletion_timestamp.is_some())
            .collect();
        (!pods.is_empty()).then_some((step.index, pods))
    })?;
    let last = pods.iter().filter_map(|pod| pod.deletion_timestamp).max()?;
    let pods = names(pods.into_iter());
    let facts = TerminatingPods { pods, metric, last };
    let without = case.without_pods(|pod| pod.deletion_timestamp.is_some());
    Some(case.weigh(facts, without, Severity::Info))
}

/// `starting-pods`
pub(super) fn starting(case: &Case<'_>) -> Option<Finding> {
    let (step, pods, how) = case
        .metrics()
        .find_map(|step| not_ready_yet(case, step).or_else(|| hot(case, step)))?;
    let names: Names<&str> = pods.iter().map(|pod| &*pod.name).collect();
    let without = case.without_pods(|pod| names.contains(&pod.name));
    let answer = case.answer();
    if without == answer || without.proposal.is_none() {
        return None;
    }
    // Pods with high usage can only raise the proposal.
    let asks_for_fewer = answer.proposal < case.decision().replicas_before();
    if matches!(how, Starting::Hot { .. }) && (asks_for_fewer || answer.proposal < without.proposal)
    {
        return None;
    }
    let since = pods
        .iter()
        .filter_map(|pod| pod.start_time.or(pod.created))
        .min()?;
    let facts = StartingPods {
        pods: self::names(pods.iter().copied()),
        since,
        metric: step.index,
        how,
    };
    let mut finding = case.weigh(facts, without, Severity::Info);
    let is_slow = |pod: &&Pod| !is_young(case, pod);
    if matches!(how, Starting::NotReady { .. }) && !pods.iter().any(is_slow) {
        finding.severity = Severity::Info;
    }
    Some(finding)
}

/// Returns the pods that a metric counts although they are not ready yet: with their usage, as all
/// metrics except CPU do, or, after a while, with an assumed value.
fn not_ready_yet<'p>(
    case: &Case<'p>,
    step: &'p MetricStep,
) -> Option<(&'p MetricStep, Vec<&'p Pod>, Starting)> {
    let counts = |row: &&PodRow| {
        let pod = case.pod_of(row);
        row.counted.is_some()
            && is_starting(case, pod)
            && match row.group {
                Group::Ready => true,
                Group::Missing => !is_young(case, pod),
                Group::Unready | Group::Ignored => false,
            }
    };
    let rows: Vec<&PodRow> = step.pods.iter().filter(counts).collect();
    let assumed = rows
        .iter()
        .filter(|row| row.group == Group::Missing)
        .count();
    let pods: Vec<&Pod> = rows.into_iter().map(|row| case.pod_of(row)).collect();
    (!pods.is_empty()).then_some((step, pods, Starting::NotReady { assumed }))
}

/// Returns the ready pods that started only recently, if they use much more than the others.
fn hot<'p>(
    case: &Case<'p>,
    step: &'p MetricStep,
) -> Option<(&'p MetricStep, Vec<&'p Pod>, Starting)> {
    let period = case.snapshot().controller.cpu_initialization_period;
    let is_new = |row: &&PodRow| {
        let pod = case.pod_of(row);
        let ready = pod
            .ready
            .and_then(|ready| case.since(ready.last_transition_time));
        case.age(pod)
            .is_some_and(|age| age < period.saturating_mul(2))
            && ready.is_none_or(|since| since < WARM)
    };
    let counts = |row: &&PodRow| row.group == Group::Ready && row.value.is_some();
    let (new, others): (Vec<&PodRow>, Vec<&PodRow>) =
        step.pods.iter().filter(counts).partition(is_new);
    // A pod's usage as a share of its request, if that is what counts.
    let share = |rows: &[&PodRow]| {
        let sum = |of: fn(&PodRow) -> Option<i64>| {
            rows.iter()
                .filter_map(|row| of(row))
                .map(|it| it as f64)
                .sum::<f64>()
        };
        let requested = sum(|row| row.request);
        let all = if requested > 0.0 {
            requested
        } else {
            rows.len() as f64
        };
        sum(|row| row.value) / all
    };
    let mean = |rows: &[&PodRow]| {
        let sum: i128 = rows
            .iter()
            .filter_map(|row| row.value)
            .map(i128::from)
            .sum();
        i64::try_from(sum / i128::try_from(rows.len()).unwrap_or(1)).unwrap_or(i64::MAX)
    };
    if new.is_empty() || others.is_empty() || share(&new) <= WARMING_UP * share(&others) {
        return None;
    }
    let how = Starting::Hot {
        usage: mean(&new),
        others: mean(&others),
    };
    Some((
        step,
        new.into_iter().map(|row| case.pod_of(row)).collect(),
        how,
    ))
}

/// `replicas-without-pods`
pub(super) fn replicas_without_pods(case: &Case<'_>) -> Option<Finding> {
    let scale = case.scale()?;
    let (replicas, pods) = (scale.spec_replicas, scale.status_replicas);
    // Some kinds report only ready pods.
    let there = i32::try_from(case.pods().filter(|pod| is_alive(pod)).count()).unwrap_or(i32::MAX);
    if pods.max(there) >= replicas {
        return None;
    }
    let failure = case
        .workload()
        .and_then(|it| it.condition("ReplicaFailure"));
    let failure = failure
        .filter(|condition| condition.status == "True")
        .cloned();
    let written = case
        .surroundings()
        .last_replicas_write(case.target())
        .map(|(_, time)| time);
    let created = case.pods().filter_map(|pod| pod.created).max();
    let scaled = case.snapshot().hpa.status.last_scale_time;
    let since = [written, created, scaled].into_iter().flatten().max();
    let is_late = since
        .and_then(|it| case.since(it))
        .is_some_and(|age| age >= CREATION);
    // A workload that replaces all of its pods at once waits until the old ones are gone.
    let is_replacing = case.pods().any(|pod| pod.deletion_timestamp.is_some());
    // Without any pod, nothing can be computed, even if only for a moment.
    let looks = |index: usize| case.snapshot().hpa.spec.metrics[index].needs_pods();
    let fails =
        |step: &MetricStep| matches!(step.result, MetricResult::Error(_)) && looks(step.index);
    let lacks_all = pods <= 0 && case.pods().next().is_none() && case.metrics().any(fails);
    let is_held_up = failure.is_some() || (is_late && !is_replacing);
    if !is_held_up && !lacks_all {
        return None;
    }
    let counts = |step: &&MetricStep| match &step.result {
        MetricResult::Proposal(proposal) => proposal.counted.is_some(),
        MetricResult::Error(_) | MetricResult::Unread(_) => false,
    };
    let metric = case
        .decision()
        .winner()
        .filter(counts)
        .map(|step| step.index);
    let is_unready = |pod: &&Pod| {
        let is_ready = pod.ready.map(|ready| ready.status == ConditionStatus::True);
        // A pod without a node has no condition Ready.
        is_alive(pod) && (is_ready == Some(false) || pod.phase == Phase::Pending)
    };
    let mut unready = case
        .pods()
        .filter(is_unready)
        .filter(|_| case.is_kind("StatefulSet"));
    let waits_for = unready.next().map(|pod| pod.name.clone());
    let target = case.target();
    let owned = case
        .surroundings()
        .workloads
        .controlled_by(&target.name)
        .find(|it| {
            let owner = it.metadata.controller();
            owner.is_some_and(|it| it.kind == target.kind)
                && it.is_scalable()
                && it.wanted() < replicas
        });
    let owned = owned.filter(|it| it.kind != "ReplicaSet");
    let owned = owned.map(|it| (it.to_reference(), it.wanted()));
    let facts = ReplicasWithoutPods {
        replicas,
        pods,
        is_held_up,
        failure,
        since,
        metric,
        waits_for,
        owned,
    };
    Some(if lacks_all && case.answer().proposal.is_none() {
        Finding::explaining(Severity::Error, facts)
    } else {
        case.weigh(facts, case.with_all_pods(replicas), Severity::Warning)
    })
}

/// `unschedulable-pods`
pub(super) fn unschedulable(case: &Case<'_>) -> Option<Finding> {
    let waits = |pod: &&Pod| is_alive(pod) && pod.unschedulable.is_some();
    let pods: Vec<&Pod> = case.pods().filter(waits).collect();
    let message = pods.first()?.unschedulable.clone()?;
    let ready = case.if_ready(|pod| waits(&pod));
    let since = pods.iter().filter_map(|pod| pod.created).min();
    let placed = case
        .pods()
        .filter(|pod| is_alive(pod) && pod.unschedulable.is_none())
        .count();
    let are_needed = case
        .decision()
        .proposal
        .is_none_or(|proposal| usize::try_from(proposal).is_ok_and(|proposal| proposal > placed));
    let said = case.pass.input.evidence.pods.iter();
    let said = said.filter(|it| pods.iter().any(|pod| *pod.name == *it.name));
    let autoscaler = said.max_by_key(|it| it.last).map(|it| Autoscaler {
        adds: it.reason == TRIGGERED,
        message: it.message.clone(),
        at: it.last,
    });
    let is_coming = autoscaler.as_ref().is_some_and(|it| {
        it.adds
            && it
                .at
                .and_then(|at| case.since(at))
                .is_some_and(|ago| ago < NEW_NODE)
    });
    let pods_of = names(pods.iter().copied());
    let facts = UnschedulablePods {
        pods: pods_of,
        message,
        since,
        are_needed,
        autoscaler,
    };
    let mut finding = case.weigh(facts, ready, Severity::Warning);
    let is_late = !is_coming
        && pods
            .iter()
            .any(|pod| case.age(pod).is_some_and(|age| age >= NEW_NODE));
    if !is_late || !are_needed {
        finding.severity = Severity::Info;
    }
    Some(finding)
}

fn names<'p>(pods: impl Iterator<Item = &'p Pod>) -> Vec<Box<str>> {
    pods.map(|pod| pod.name.clone()).collect()
}

fn is_finished(pod: &Pod) -> bool {
    matches!(pod.phase, Phase::Succeeded | Phase::Failed)
}

/// Whether a pod is neither finished nor terminating.
pub(super) fn is_alive(pod: &Pod) -> bool {
    !is_finished(pod) && pod.deletion_timestamp.is_none()
}

/// Whether a pod is younger than the period in which CPU samples may be skipped. A pending pod of unknown
/// age is.
fn is_young(case: &Case<'_>, pod: &Pod) -> bool {
    let period = case.snapshot().controller.cpu_initialization_period;
    case.age(pod)
        .map_or(pod.phase == Phase::Pending, |age| age < period)
}

/// Whether a pod has certainly not been ready since it started. Its Ready condition first changes when
/// the node accepts it.
fn was_never_ready(case: &Case<'_>, pod: &Pod) -> bool {
    let delay = case.snapshot().controller.initial_readiness_delay;
    match (pod.phase, pod.ready, pod.start_time) {
        (Phase::Pending, ready, _) => ready.is_none_or(|it| it.status != ConditionStatus::True),
        (Phase::Running, Some(ready), Some(start)) => {
            let changed = ready.last_transition_time.duration_since(start).abs();
            ready.status == ConditionStatus::False && changed <= delay
        }
        _ => false,
    }
}

/// Returns why a container is waiting, unless its start is being prepared.
fn failure(status: &ContainerStatus) -> Option<&str> {
    let reason = &*status.waiting.as_ref()?.reason;
    (!matches!(reason, "" | "ContainerCreating" | "PodInitializing")).then_some(reason)
}

/// Returns a container of a pod that waits in an error, with the reason, unless the pod is on its way out.
pub(crate) fn failing(pod: &Pod) -> Option<(&str, &str)> {
    let mut all = pod.statuses.iter().filter(|_| is_alive(pod));
    all.find_map(|status| Some((&*status.name, failure(status)?)))
}

/// Whether a pod was never ready and is too old for that: older than the period in which samples may be
/// skipped, if it visibly fails, or else much older.
fn is_stuck(case: &Case<'_>, pod: &Pod) -> bool {
    if !is_alive(pod) || pod.unschedulable.is_some() || !was_never_ready(case, pod) {
        return false;
    }
    let controller = &case.snapshot().controller;
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

/// Whether a container has restarted that still matters: other init containers than sidecars are done once the pod
/// runs.
fn has_restarted(pod: &Pod, status: &ContainerStatus) -> bool {
    let is_left = || pod.running(false).any(|own| own.name == status.name);
    status.restart_count > 0 && (pod.phase == Phase::Pending || is_left())
}

/// Whether a pod has started, was never ready, and may still become ready.
fn is_starting(case: &Case<'_>, pod: &Pod) -> bool {
    is_alive(pod)
        && pod.phase == Phase::Running
        && was_never_ready(case, pod)
        && !is_stuck(case, pod)
}

#[cfg(test)]
mod tests;
