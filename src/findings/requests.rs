//! Findings about the requests of pods, on which utilization is based, and about targets that the
//! usage of a pod cannot reach or cannot leave.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::case::Top;
use super::pods::is_alive;
use super::targets::{OtherRequest, Room, at_limits, counted, room, set_request};
use super::{Alternative, Case, Facts, Finding, Severity};
use crate::apimachinery::annotations::VPA_UPDATES;
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::quantity::{Amount, Quantity};
use crate::engine::decision::{Block, Decision, MetricResult, MetricStep};
use crate::engine::pods::{counted_containers, counts_as_whole};
use crate::engine::rules::Rules;
use crate::numbers::format_of;
use crate::snapshot::Snapshot;
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::MetricValueStatus;
use crate::snapshot::metric::ContainerUsage;
use crate::snapshot::pod::{Container, Pod, Requests};
use crate::snapshot::surroundings::VerticalPodAutoscaler;

/// Containers of counted pods have no request for the resource of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRequest {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The resource.
    pub resource: String,
    /// The containers, by name and source.
    pub containers: Vec<Unrequested>,
    /// A container of the target's pods that has a request, if the others are injected: a ContainerResource
    /// metric can use it alone.
    pub instead: Option<String>,
}

/// A container without a request, in one pod or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrequested {
    /// Its name.
    pub container: Box<str>,
    /// Where it comes from.
    pub source: Source,
    /// The pods, by name.
    pub pods: Vec<Box<str>>,
    /// Its highest usage in one pod, in milli-units, if it was measured.
    pub usage: Option<i64>,
}

/// Where a container of a pod comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The template of the target.
    Template,
    /// Something added it to a pod of the target.
    Injected,
    /// The pod is of an earlier revision of the target.
    Earlier,
    /// The pod belongs to another object, or to none.
    Foreign {
        /// The object, as `Kind/name`.
        owner: Option<String>,
    },
    /// The template has a request. Nothing shows that the pod is of an earlier one.
    Lost,
    /// The template or the owner was not read.
    Unknown,
}

/// Containers use very different shares of their requests, so the share of the pod says little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DilutedByContainer {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The containers, sorted by usage, the highest first.
    pub shares: Vec<Share>,
    /// The number of pods in the sums.
    pub pods: usize,
    /// The metric's proposal.
    pub proposal: i32,
    /// The proposal from the first container alone, with the same target.
    pub alone: i32,
    /// The metric's proposal if the requests of sidecars count, if they do not.
    pub with_sidecars: Option<i32>,
}

/// The usage of a container next to its request, both summed over the counted pods in milli-units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The container.
    pub container: Box<str>,
    /// The usage.
    pub usage: i64,
    /// The requests.
    pub request: i64,
    /// Whether the requests count; those of sidecars do since 1.29.
    pub is_counted: bool,
}

impl Share {
    /// Returns the usage divided by the request.
    pub fn of_request(&self) -> f64 {
        self.usage as f64 / self.request as f64
    }
}

/// The requests used to compute a utilization are not those in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizeInProgress {
    /// The index of the first metric that uses them, from 0.
    pub metric: usize,
    /// The resource.
    pub resource: String,
    /// The containers.
    pub containers: Vec<Resized>,
    /// The condition about the resize of the first of their pods.
    pub condition: Option<Condition>,
}

/// A container whose request in the spec is not the one in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resized {
    /// The pod.
    pub pod: Box<str>,
    /// The container.
    pub container: Box<str>,
    /// The request in the spec, in milli-units, which the controller uses.
    pub spec: i64,
    /// The request in effect, in milli-units.
    pub in_effect: i64,
}

/// The requests of pods differ from the template of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestsDifferFromTemplate {
    /// The index of the first metric that uses them, from 0.
    pub metric: usize,
    /// The resource.
    pub resource: String,
    /// The containers.
    pub containers: Vec<Differing>,
    /// The number of the target's pods.
    pub pods: usize,
    /// The VerticalPodAutoscaler of the target, if there is one that changes pods.
    pub vpa: Option<String>,
    /// The number of pods that say that a VerticalPodAutoscaler has changed them.
    pub updated: usize,
    /// Whether the target is paused, so that its pods keep the requests of an earlier template.
    pub is_paused: bool,
    /// Whether the templates that the pods were made from were read; otherwise, something else may have set
    /// the requests.
    pub is_seen: bool,
    /// The target as a share of the template's requests, per pod and in milli-units.
    pub average: Option<i64>,
}

/// A container whose request differs from the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// Its name.
    pub container: Box<str>,
    /// The request in the template, in milli-units, if it states one.
    pub template: Option<i64>,
    /// The lowest request in a pod.
    pub least: i64,
    /// The highest.
    pub most: i64,
    /// The number of pods in which it differs.
    pub pods: usize,
}

/// Each pod uses more memory than the target, however many pods there are.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryBaseline {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The lowest usage of a pod, in milli-units.
    pub least: i64,
    /// The highest.
    pub most: i64,
    /// The target for a pod; the highest if requests differ.
    pub target: i64,
    /// The number of pods.
    pub pods: usize,
    /// When the oldest pod was started.
    pub oldest: Timestamp,
    /// When the newest pod was started.
    pub newest: Timestamp,
    /// The target as a share of the request, if it is one.
    pub percent: Option<i32>,
    /// What would let the metric propose no more replicas than there are, or fewer at the maximum.
    pub room: Room,
}

/// Pods that use everything that their limits allow do not take a metric above its target.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreachableTarget {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// Which pods those are.
    pub by: AtLimits,
}

/// The pods whose limits keep a metric from its target.
#[derive(Debug, Clone, PartialEq)]
pub enum AtLimits {
    /// All of them: no load takes the metric above its target.
    All {
        /// What the status would report if each pod used everything that its limits allow.
        full: MetricValueStatus,
        /// The tolerance above the target.
        tolerance: f64,
        /// The highest value that the tolerance allows, in percent or in milli-units like the target.
        border: i64,
        /// The highest target in percent that is exceeded if `is_full`, or would be, if the target is a utilization.
        reachable: Option<i32>,
        /// Whether the limits hold the pods back now.
        is_full: bool,
    },
    /// A few: the others use so little that the average is not above the target.
    Few {
        /// The pods at their limits.
        busy: Vec<Box<str>>,
        /// The container of the first of them that is at its limit.
        container: Box<str>,
        /// What it uses, in milli-units.
        usage: i64,
        /// Its limit, in milli-units.
        limit: i64,
        /// The number of the other pods that count.
        others: usize,
        /// Their mean usage, in milli-units.
        mean: i64,
    },
}

/// Pods have used several times what they request for as long as the status shows.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTooSmall {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The resource.
    pub resource: String,
    /// The container whose request is furthest below its usage.
    pub container: Box<str>,
    /// The highest request of that container in a pod, in milli-units.
    pub request: i64,
    /// Its mean usage in a pod, in milli-units.
    pub usage: i64,
    /// The usage of the counted pods as a share of their requests.
    pub share: f64,
    /// The same share in the last status.
    pub then: f64,
    /// Since when the replicas have been the same.
    pub since: Timestamp,
    /// A request with which the pods use about the target.
    pub enough: Quantity,
}

/// The controller's messages if a request is missing, and if all requests are 0.
const MISSING: [&str; 3] = [
    "missing request for ",
    "missing pod-level request for ",
    "no metrics returned matched known pods",
];

/// Returns the containers whose missing request makes the pod's request an error.
fn unrequested<'p>(
    pod: &'p Pod,
    resource: &str,
    only: Option<&'p str>,
    rules: &Rules,
) -> Vec<&'p str> {
    let requests = |it: &Requests| it.get(resource).is_some_and(|request| !request.is_zero());
    let containers = || pod.containers.iter().chain(&pod.init_containers);
    if counts_as_whole(pod, only, rules) {
        let any = requests(&pod.requests) || containers().any(|it| requests(&it.requests));
        let names = pod.containers.iter().filter(|_| !any).map(|it| &*it.name);
        return names.collect();
    }
    let counted = counted_containers(pod, only, rules);
    counted
        .filter(|it| !requests(&it.requests))
        .map(|it| &*it.name)
        .collect()
}

/// `missing-request`
pub(super) fn missing(case: &Case<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for step in case.metrics() {
        // The controller's message about one container only shows that there are such containers.
        let MetricResult::Error(error) = &step.result else {
            continue;
        };
        let is_missing = MISSING.iter().any(|words| error.message.contains(words));
        if !is_missing {
            continue;
        }
        let containers = all_unrequested(case, step);
        if containers.is_empty() {
            continue;
        }
        let is_injected = |it: &Unrequested| it.source == Source::Injected;
        let instead = match step.container {
            None if containers.iter().all(is_injected) => requested(case, step),
            _ => None,
        };
        // These pods leave by themselves, or should have labels of their own.
        let goes =
            |it: &&Unrequested| matches!(it.source, Source::Foreign { .. } | Source::Earlier);
        let going: Names<&str> = containers
            .iter()
            .filter(goes)
            .flat_map(|it| it.pods.iter().map(|pod| &**pod))
            .collect();
        let without = match &instead {
            Some(container) => {
                Some(case.without(|snapshot| look_at(snapshot, step.index, container)))
            }
            None if containers.iter().all(|it| goes(&it)) => {
                Some(case.without_pods(|pod| going.contains(&pod.name)))
            }
            None => None,
        };
        // Without any pod, there is no answer either.
        let without = without.filter(|it| it.proposal.is_some());
        let (metric, resource) = (step.index, step.name.clone());
        let facts = MissingRequest {
            metric,
            resource,
            containers,
            instead,
        };
        let finding = match case.decision().block() {
            Some(Block::Metrics) => Finding::explaining(Severity::Error, facts),
            _ => Finding::aside(Severity::Warning, facts),
        };
        found.push(Finding { without, ..finding });
    }
    found
}

fn all_unrequested(case: &Case<'_>, step: &MetricStep) -> Vec<Unrequested> {
    let rules = case.rules();
    let template = case
        .workload()
        .and_then(|workload| workload.template.as_deref());
    let revisions = Revisions::of(case);
    let mut all: Vec<Unrequested> = Vec::new();
    for pod in case.pods() {
        for container in unrequested(pod, &step.name, step.container.as_deref(), &rules) {
            let source = match (case.top_owner(pod), template) {
                (Top::Target, Some(template)) => {
                    let is_current = revisions.is_current(pod);
                    let has = |pod: &Pod| pod.has_container(container);
                    let mut others = revisions.own.iter();
                    let is_requested = has_request(template, container, &step.name);
                    match (is_current, is_requested, has(template)) {
                        (Some(false), ..) | (None, true, _) => Source::Earlier,
                        (Some(true), true, _) => Source::Lost,
                        (_, false, true) => Source::Template,
                        (None, false, false) if !others.all(|it| has(it)) => Source::Earlier,
                        (_, false, false) => Source::Injected,
                    }
                }
                (Top::Other { kind, name }, _) => Source::Foreign {
                    owner: Some(format!("{kind}/{name}")),
                },
                (Top::NoOne, _) => Source::Foreign { owner: None },
                (Top::Target, None) | (Top::Unknown, _) => Source::Unknown,
            };
            let metrics = case.metrics_of(pod);
            let usage = metrics.and_then(|it| it.usage(&step.name, Some(container)));
            let is_same =
                |it: &&mut Unrequested| *it.container == *container && it.source == source;
            match all.iter_mut().find(is_same) {
                Some(known) => {
                    known.pods.push(pod.name.clone());
                    known.usage = known.usage.max(usage);
                }
                None => all.push(Unrequested {
                    container: container.into(),
                    source,
                    pods: vec![pod.name.clone()],
                    usage,
                }),
            }
        }
    }
    // What has to be changed comes first.
    all.sort_by_key(|it| it.source == Source::Earlier);
    all
}

/// Returns the request that the pods of a template have for a resource: the API server takes a limit for one
/// that is not stated (`SetDefaults_Pod`).
fn request_of<'p>(container: &'p Container, resource: &str) -> Option<&'p Amount> {
    container
        .requests
        .get(resource)
        .or_else(|| container.limits.get(resource))
}

/// Whether the pods of a template have a request for a resource in a container.
fn has_request(template: &Pod, container: &str, resource: &str) -> bool {
    let mut all = template.containers.iter().chain(&template.init_containers);
    let own = all.find(|it| *it.name == *container);
    own.and_then(|it| request_of(it, resource))
        .is_some_and(|request| !request.is_zero())
}

/// Returns the only container with a request for the resource in the target's pods, if ContainerResource
/// metrics are supported.
fn requested(case: &Case<'_>, step: &MetricStep) -> Option<String> {
    if !case.snapshot().controller.gates.container_metrics {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for container in case.pods().flat_map(|pod| &pod.containers) {
        let has_request = container.requests.get(&step.name).is_some();
        if has_request && !names.contains(&&*container.name) {
            names.push(&container.name);
        }
    }
    match names[..] {
        [only] => Some(only.to_owned()),
        _ => None,
    }
}

/// Turns a Resource metric into the metric of a single container.
fn look_at(snapshot: &mut Snapshot, metric: usize, container: &str) {
    let spec = &mut snapshot.hpa.spec.metrics[metric];
    *spec = spec.of_container(container);
}

/// Returns the metrics with a utilization target, by resource.
fn utilizations<'p>(case: &Case<'p>) -> impl Iterator<Item = (&'p MetricStep, i32)> {
    case.metrics()
        .filter(|step| step.is_resource())
        .filter_map(|step| {
            let percent = step.target.average_utilization?;
            step.target
                .average_value
                .is_none()
                .then_some((step, percent))
        })
}

/// Whether usages are similar: the lowest is this share of the highest.
fn are_alike(least: i64, most: i64) -> bool {
    const ALIKE: f64 = 0.8;
    least as f64 >= most as f64 * ALIKE
}

/// Whether at least two pods count in a metric of a resource, and all use about the same.
pub(super) fn is_alike<'p>(case: &Case<'p>, step: &'p MetricStep) -> bool {
    let usages: Vec<i64> = counted(case, step)
        .filter_map(|(row, _)| row.value)
        .collect();
    let ends = usages.iter().min().zip(usages.iter().max());
    step.is_resource()
        && usages.len() > 1
        && ends.is_some_and(|(least, most)| are_alike(*least, *most))
}

/// Returns a finding that explains the pass if the result differs without the problem.
fn compared(
    case: &Case<'_>,
    facts: impl Into<Facts>,
    otherwise: Severity,
    without: Alternative,
) -> Finding {
    let finding = if without == case.answer() {
        Finding::aside(otherwise, facts)
    } else {
        Finding::explaining(Severity::Warning, facts)
    };
    finding.without(without)
}

/// `diluted-by-container`
pub(super) fn diluted(case: &Case<'_>) -> Vec<Finding> {
    let metrics = utilizations(case).filter(|(step, _)| step.container.is_none());
    metrics
        .filter_map(|(step, _)| diluted_metric(case, step))
        .collect()
}

fn diluted_metric<'p>(case: &Case<'p>, step: &'p MetricStep) -> Option<Finding> {
    /// Shares that are no further apart count as equal.
    const SPREAD: f64 = 2.0;
    /// The busiest container is this much busier than the pod.
    const FAR: f64 = 1.5;
    let proposal = step.proposal()?.replicas;
    let shares = shares(case, step)?;
    let all = shares.iter().map(Share::of_request);
    let (least, most) = all.fold((f64::MAX, 0.0_f64), |(a, b), it| (a.min(it), b.max(it)));
    let any_uncounted = shares.iter().any(|it| !it.is_counted);
    if shares.len() < 2 || !(any_uncounted || most >= least * SPREAD) {
        return None;
    }
    let whole = f64::from(step.proposal()?.current.average_utilization?) / 100.0;
    // A container that is less busy than its pod is not what the pod hides.
    if !any_uncounted && shares.first()?.of_request() < whole {
        return None;
    }
    let (metric, container) = (step.index, shares.first()?.container.clone());
    let has_type = case.snapshot().controller.gates.container_metrics;
    let decided_alone = case.decide(|it| {
        if has_type {
            look_at(it, metric, &container);
        } else {
            keep_only(it, &container);
        }
    });
    let decided_with_sidecars = any_uncounted.then(|| case.decide(count_sidecars));
    let proposed = |decision: &Decision| Some(decision.metric(metric)?.proposal()?.replicas);
    let alone = proposed(&decided_alone)?;
    let with_sidecars = decided_with_sidecars.as_ref().and_then(proposed);
    if [Some(alone), with_sidecars]
        .into_iter()
        .flatten()
        .all(|asked| asked == proposal)
    {
        return None;
    }
    let remedy = decided_with_sidecars
        .filter(|_| !has_type)
        .unwrap_or(decided_alone);
    let without = Alternative::of(&remedy);
    let current = case.decision().replicas_before()?;
    let is_far = shares.first()?.of_request() >= whole * FAR;
    let turns = is_far && alone.cmp(&current) != proposal.cmp(&current);
    let pods = counted(case, step)
        .filter(|(_, pod)| !case.is_foreign(pod))
        .count();
    let facts = DilutedByContainer {
        metric,
        shares,
        pods,
        proposal,
        alone,
        with_sidecars,
    };
    Some(if turns || any_uncounted {
        compared(case, facts, Severity::Warning, without)
    } else {
        Finding::aside(Severity::Info, facts).without(without)
    })
}

/// Keeps only one container in the pods and their metrics.
fn keep_only(snapshot: &mut Snapshot, container: &str) {
    for pod in &mut snapshot.pods {
        pod.containers.retain(|it| *it.name == *container);
        pod.init_containers.retain(|it| *it.name == *container);
    }
    for metrics in &mut snapshot.pod_metrics {
        metrics.containers.retain(|it| *it.name == *container);
    }
}

/// Makes the requests of sidecars count like those of other containers.
fn count_sidecars(snapshot: &mut Snapshot) {
    for pod in snapshot
        .pods
        .iter_mut()
        .filter(|pod| !pod.init_containers.is_empty())
    {
        let init_containers = std::mem::take(&mut pod.init_containers);
        pod.containers.extend(
            init_containers
                .iter()
                .filter(|it| it.restart_always)
                .cloned(),
        );
    }
}

/// Returns the shares by container, the highest usage first, of containers that all counted pods have; `None`
/// if not all of them are known.
fn shares<'p>(case: &Case<'p>, step: &'p MetricStep) -> Option<Vec<Share>> {
    let rules = case.rules();
    let mut pods = 0;
    // With the number of pods that have the container.
    let mut shares: Vec<(Share, usize)> = Vec::new();
    for (_, pod) in counted(case, step) {
        pods += 1;
        let is_own = !case.is_foreign(pod);
        if is_own && counts_as_whole(pod, None, &rules) {
            return None;
        }
        let metrics = case.metrics_of(pod)?;
        let sidecars = pod.init_containers.iter().filter(|it| it.restart_always);
        let sidecars = sidecars.map(|it| (it, rules.sidecars));
        for (container, is_counted) in pod.containers.iter().map(|it| (it, true)).chain(sidecars) {
            let usage = metrics.usage(&step.name, Some(&container.name));
            let request = container.requests.get(&step.name).map(Amount::milli_value);
            let (Some(usage), Some(request)) = (usage, request) else {
                continue;
            };
            let (usage, request) = if is_own { (usage, request) } else { (0, 0) };
            match shares
                .iter_mut()
                .find(|(it, _)| it.container == container.name)
            {
                Some((share, pods)) => {
                    share.usage = share.usage.saturating_add(usage);
                    share.request = share.request.saturating_add(request);
                    *pods += 1;
                }
                None => {
                    let container = container.name.clone();
                    shares.push((
                        Share {
                            container,
                            usage,
                            request,
                            is_counted,
                        },
                        1,
                    ));
                }
            }
        }
    }
    // What only some of the pods have is not comparable, and ContainerResource would fail for it.
    let everywhere = shares
        .into_iter()
        .filter(|(_, with)| *with == pods)
        .map(|(share, _)| share);
    let mut shares: Vec<Share> = everywhere.filter(|share| share.request > 0).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.usage));
    Some(shares)
}

/// `resize-in-progress`
pub(super) fn resize(case: &Case<'_>) -> Option<Finding> {
    let rules = case.rules();
    let (step, containers) = utilizations(case).find_map(|(step, _)| {
        let mut containers = Vec::new();
        for pod in case.pods() {
            for container in counted_containers(pod, step.container.as_deref(), &rules) {
                let requests = pod
                    .status_of(&container.name)
                    .and_then(|it| it.requests.as_ref());
                let in_effect = requests.and_then(|it| it.get(&step.name));
                let (Some(spec), Some(in_effect)) = (container.requests.get(&step.name), in_effect)
                else {
                    continue;
                };
                if spec != in_effect {
                    containers.push(Resized {
                        pod: pod.name.clone(),
                        container: container.name.clone(),
                        spec: spec.milli_value(),
                        in_effect: in_effect.milli_value(),
                    });
                }
            }
        }
        (!containers.is_empty()).then_some((step, containers))
    })?;
    let pod = case
        .pods()
        .find(|pod| containers.first().is_some_and(|it| it.pod == pod.name))?;
    let condition = pod.resizes.first().cloned();
    let without = case.without(|snapshot| {
        for pod in snapshot
            .pods
            .iter_mut()
            .filter(|pod| !pod.statuses.is_empty())
        {
            let statuses = std::mem::take(&mut pod.statuses);
            for container in pod.containers_mut() {
                let status = statuses.iter().find(|it| it.name == container.name);
                let requests = status.and_then(|it| it.requests.as_ref());
                if let Some(in_effect) = requests.and_then(|it| it.get(&step.name)) {
                    set_request(container, &step.name, in_effect);
                }
            }
        }
    });
    let (metric, resource) = (step.index, step.name.clone());
    let facts = ResizeInProgress {
        metric,
        resource,
        containers,
        condition,
    };
    Some(compared(case, facts, Severity::Info, without))
}

/// `requests-differ-from-template`
pub(super) fn differ_from_template<'p>(case: &Case<'p>) -> Option<Finding> {
    let workload = case.workload()?;
    let template = workload.template.as_deref()?;
    let rules = case.rules();
    let revisions = Revisions::of(case);
    let is_outdated = revisions
        .updated
        .is_none_or(|updated| updated < revisions.own.len());
    let is_paused = workload.paused == Some(true) && is_outdated;
    let own = if is_paused {
        revisions.own
    } else {
        revisions.pods_of_template()
    };
    let is_vpa = |it: &&VerticalPodAutoscaler| {
        let reference = &it.spec.target_ref;
        (&reference.kind, &reference.name) == (&case.target().kind, &case.target().name)
    };
    let vpas = || {
        case.surroundings()
            .vertical_pod_autoscalers
            .iter()
            .filter(is_vpa)
    };
    let (step, percent, containers) = utilizations(case).find_map(|(step, percent)| {
        let mut containers: Vec<Differing> = Vec::new();
        for pod in &own {
            let is_updated = is_updated(pod, &step.name);
            for container in counted_containers(pod, step.container.as_deref(), &rules) {
                let Some(request) = container.requests.get(&step.name) else {
                    continue;
                };
                let of = |template: &'p Pod| {
                    let mut all = template.containers.iter().chain(&template.init_containers);
                    Some(request_of(
                        all.find(|it| it.name == container.name)?,
                        &step.name,
                    ))
                };
                // An injected container has its request from the injector.
                let Some(wanted) = of(template) else { continue };
                // The template of the pod itself may be an earlier one.
                let made = case.template_of(pod).and_then(of);
                if made.is_some_and(|made| (made == wanted) == is_paused) {
                    continue;
                }
                let is_from_vpa =
                    || is_updated || vpas().any(|it| it.controls(&container.name, &step.name));
                // Defaults of the namespace fill in what the template omits.
                if wanted == Some(request) || (wanted.is_none() && !is_from_vpa()) {
                    continue;
                }
                let request = request.milli_value();
                match containers
                    .iter_mut()
                    .find(|it| it.container == container.name)
                {
                    Some(known) => {
                        known.least = known.least.min(request);
                        known.most = known.most.max(request);
                        known.pods += 1;
                    }
                    None => containers.push(Differing {
                        container: container.name.clone(),
                        template: wanted.map(Amount::milli_value),
                        least: request,
                        most: request,
                        pods: 1,
                    }),
                }
            }
        }
        (!containers.is_empty()).then_some((step, percent, containers))
    })?;
    let controls = |vpa: &&VerticalPodAutoscaler| {
        containers
            .iter()
            .any(|it| vpa.controls(&it.container, &step.name))
    };
    let vpa = vpas().find(controls);
    let updated = own.iter().filter(|pod| is_updated(pod, &step.name)).count();
    let is_from_vpa = vpa.is_some() || updated > 0;
    // If revisions are unknown, some of the pods may belong to an earlier template.
    let is_everywhere = containers.iter().any(|it| it.pods == own.len());
    if !(is_from_vpa || is_everywhere || is_paused) {
        return None;
    }
    let requests = counted_containers(template, step.container.as_deref(), &rules)
        .map(|it| request_of(it, &step.name).map(Amount::milli_value));
    let request = total(requests).filter(|it| *it > 0);
    let average = request.and_then(|it| Some(it.checked_mul(percent.into())? / 100));
    let names: Names<&str> = own.iter().map(|pod| &*pod.name).collect();
    let without = case.without(|snapshot| {
        for pod in snapshot
            .pods
            .iter_mut()
            .filter(|pod| names.contains(&pod.name))
        {
            for container in pod.containers_mut() {
                let mut all = template.containers.iter().chain(&template.init_containers);
                let own = all.find(|it| it.name == container.name);
                if let Some(wanted) = own.and_then(|it| request_of(it, &step.name)) {
                    set_request(container, &step.name, wanted);
                }
            }
        }
    });
    let facts = RequestsDifferFromTemplate {
        metric: step.index,
        resource: step.name.clone(),
        containers,
        pods: own.len(),
        vpa: vpa.map(|it| it.metadata.name.clone()),
        updated,
        is_paused: is_paused && !is_from_vpa,
        is_seen: own.iter().all(|pod| case.template_of(pod).is_some()),
        average,
    };
    let otherwise = if is_from_vpa {
        Severity::Warning
    } else {
        Severity::Info
    };
    Some(compared(case, facts, otherwise, without))
}

/// Whether a pod says that a VerticalPodAutoscaler has changed its requests for a resource.
fn is_updated(pod: &Pod, resource: &str) -> bool {
    let updates = pod.annotations.get(VPA_UPDATES);
    updates.is_some_and(|it| it.contains(&format!("{resource} request")))
}

/// The pods of the target, with what is known of their revisions.
struct Revisions<'p> {
    /// Those that are neither finished nor terminating; the target's status counts no others.
    own: Vec<&'p Pod>,
    /// The revision of the target's template.
    current: Option<&'p str>,
    /// Whether there is only one revision, also among the other pods.
    is_one: bool,
    /// How many replicas have that template, according to the target.
    updated: Option<usize>,
}

impl<'p> Revisions<'p> {
    fn of(case: &Case<'p>) -> Self {
        let mut own: Vec<&Pod> = case
            .pods()
            .filter(|pod| case.top_owner(pod) == Top::Target)
            .collect();
        let mut hashes = own.iter().filter_map(|pod| pod.revision());
        let first = hashes.next();
        let is_one = hashes.all(|hash| Some(hash) == first);
        own.retain(|pod| is_alive(pod));
        let status = case
            .workload()
            .and_then(|workload| workload.status.as_ref());
        let updated = status.and_then(|it| usize::try_from(it.updated_replicas?).ok());
        let mut of: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in &own {
            if let Some(hash) = pod.revision() {
                of.entry(hash).or_default().push(pod);
            }
        }
        Self {
            own,
            current: case.surroundings().current_revision(case.target(), &of),
            is_one,
            updated,
        }
    }

    /// Whether a pod has the target's template; `None` if unknown.
    fn is_current(&self, pod: &Pod) -> Option<bool> {
        match self.current {
            _ if self.updated == Some(0) => Some(false),
            Some(current) => pod.revision().map(|own| own == current),
            None => self.is_one.then_some(true),
        }
    }

    /// Returns the pods of the target, except those that certainly or possibly belong to an earlier template.
    fn pods_of_template(self) -> Vec<&'p Pod> {
        let Self {
            mut own,
            current,
            updated,
            ..
        } = self;
        if updated.is_some_and(|updated| updated >= own.len()) {
            return own;
        }
        match current {
            _ if updated == Some(0) => own.clear(),
            Some(hash) => own.retain(|pod| pod.revision() == Some(hash)),
            None if updated.is_some() => own.clear(),
            None => {}
        }
        own
    }
}

/// `memory-baseline`
pub(super) fn memory_baseline(case: &Case<'_>, found: &[Finding]) -> Option<Finding> {
    /// A pod that has been running for this long has what it needs.
    const SETTLED: SignedDuration = SignedDuration::from_mins(10);
    let memory = |step: &&MetricStep| step.name == "memory" && step.is_resource();
    let step = case.metrics().find(memory)?;
    // A target in another unit is above or below all that pods use.
    let is_suspect =
        |it: &Finding| matches!(&it.facts, Facts::SuspectUnit(it) if it.metric == step.index);
    if found.iter().any(is_suspect) {
        return None;
    }
    let proposal = step
        .proposal()
        .filter(|it| it.ratio > 1.0 + step.tolerance.up)?;
    let counts = proposal.counted?;
    if counts.ready < 2 || counts.unready + counts.missing + counts.strangers > 0 {
        return None;
    }
    let target = &step.target;
    let (mut usages, mut targets, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let now = case.snapshot().now;
    for (row, pod) in counted(case, step) {
        let start = pod.start_time?;
        if now.duration_since(start) < SETTLED {
            continue;
        }
        let usage = row.value?;
        let wanted = match (
            &target.average_value,
            target.average_utilization,
            row.request,
        ) {
            (Some(average), ..) => average.milli_value(),
            (None, Some(share), Some(request)) if request > 0 => {
                (request as f64 * f64::from(share) / 100.0) as i64
            }
            _ => return None,
        };
        if usage as f64 <= wanted as f64 * (1.0 + step.tolerance.up) {
            return None;
        }
        usages.push(usage);
        targets.push(wanted);
        starts.push(start);
    }
    let (least, most) = (*usages.iter().min()?, *usages.iter().max()?);
    let (oldest, newest) = (*starts.iter().min()?, *starts.iter().max()?);
    // Later pods have not relieved the earlier ones, or no more pods have been allowed for long.
    let have_not_helped = now.duration_since(oldest) >= now.duration_since(newest) * 2;
    let current = case.decision().replicas_before()?;
    let is_at_max = current >= case.snapshot().hpa.spec.max_replicas;
    if usages.len() < 2 || !are_alike(least, most) || !(have_not_helped || is_at_max) {
        return None;
    }
    // At the maximum, as many as there are would still be as many as may be.
    let room = room(case, step, if is_at_max { current - 1 } else { current });
    let without = match (&room.request, &room.target) {
        (Some(other), _) => Some(case.without(|snapshot| other.apply(snapshot, &step.name))),
        (None, Some(other)) => Some(case.without(|snapshot| other.apply(snapshot, step.index))),
        (None, None) => None,
    };
    let facts = MemoryBaseline {
        metric: step.index,
        least,
        most,
        target: *targets.iter().max()?,
        pods: usages.len(),
        oldest,
        newest,
        percent: target
            .average_utilization
            .filter(|_| target.average_value.is_none()),
        room,
    };
    let decides = case
        .decision()
        .winner()
        .is_some_and(|winner| winner.index == step.index);
    let finding = if decides {
        Finding::explaining(Severity::Warning, facts)
    } else {
        Finding::aside(Severity::Warning, facts)
    };
    Some(Finding { without, ..finding })
}

/// `unreachable-target`
pub(super) fn unreachable_target(case: &Case<'_>, found: &[Finding]) -> Vec<Finding> {
    // Pods that are starting are busy for a reason of their own.
    let may_be_few = !found
        .iter()
        .any(|it| matches!(it.facts, Facts::StartingPods(_)));
    case.metrics()
        .filter(|step| step.is_resource())
        .filter_map(|step| {
            let few = || uneven(case, step).filter(|_| may_be_few);
            unreachable_metric(case, step).or_else(few)
        })
        .collect()
}

fn unreachable_metric<'p>(case: &Case<'p>, step: &'p MetricStep) -> Option<Finding> {
    /// Pods that use this share of what their limits allow are held back by them.
    const NEAR: f64 = 0.9;
    /// Measured usage stays a little below a limit.
    const MEASURED: f64 = 0.95;
    let proposal = step.proposal()?;
    let (rules, tolerance) = (case.rules(), &step.tolerance);
    let exceeds = |ratio: f64| ratio > 1.0 && !rules.is_within(tolerance, ratio);
    if exceeds(proposal.ratio) || each_can_exceed(case, step)? {
        return None;
    }
    let decision = at_limits(case, step, 1.0, |_| {})?;
    let full = decision.metric(step.index)?.proposal()?;
    if exceeds(full.ratio) {
        return None;
    }
    let replicas = case.decision().replicas_before()?;
    let is_full = proposal.replicas <= replicas && proposal.ratio >= full.ratio * NEAR;
    let set = |snapshot: &mut Snapshot, percent: i32| {
        if let Some(target) = snapshot.hpa.spec.metrics[step.index].target_mut() {
            target.average_utilization = Some(percent);
        }
    };
    let percent = step
        .target
        .average_utilization
        .filter(|_| step.target.average_value.is_none());
    let at = |target: i32| at_limits(case, step, MEASURED, |it| set(it, target));
    let reachable = percent.and_then(|percent| {
        let is_exceeded = |target: i32| {
            if is_full {
                case.proposal_of(step.index, |it| set(it, target)) > Some(replicas)
            } else {
                at(target)
                    .and_then(|it| Some(exceeds(it.metric(step.index)?.proposal()?.ratio)))
                    .unwrap_or_default()
            }
        };
        highest_below(percent, is_exceeded)
    });
    let target = match (&step.target.average_value, step.target.average_utilization) {
        (Some(average), _) => average.milli_value(),
        (None, percent) => percent?.into(),
    };
    let mut above = (target as f64 * (1.0 + tolerance.up)) as i64 - 1..;
    let border = above.find(|value| exceeds((value + 1) as f64 / target as f64))?;
    let full = full.current.clone();
    let by = AtLimits::All {
        full,
        tolerance: tolerance.up,
        border,
        reachable,
        is_full,
    };
    let facts = UnreachableTarget {
        metric: step.index,
        by,
    };
    let without = reachable
        .filter(|_| is_full)
        .map(|lower| case.without(|it| set(it, lower)));
    let finding = if is_full {
        Finding::explaining(Severity::Warning, facts)
    } else {
        Finding::aside(Severity::Warning, facts)
    };
    Some(Finding { without, ..finding })
}

/// Looks for pods at their limits that the others keep from taking cpu above its target.
fn uneven<'p>(case: &Case<'p>, step: &'p MetricStep) -> Option<Finding> {
    /// A container that uses this share of its limit is held back by it.
    const FULL: f64 = 0.9;
    /// The other pods use at most this share of the target.
    const IDLE: f64 = 0.5;
    let current = case.decision().replicas_before()?;
    let proposal = step.proposal().filter(|it| it.replicas <= current)?;
    if step.name != "cpu" || proposal.ratio > 1.0 + step.tolerance.up {
        return None;
    }
    let rules = case.rules();
    let full = |pod: &'p Pod| {
        let metrics = case.metrics_of(pod)?;
        let mut all = counted_containers(pod, step.container.as_deref(), &rules);
        all.find_map(|container| {
            let usage = metrics.usage("cpu", Some(&container.name))?;
            let limit = container.limits.get("cpu")?.milli_value();
            (limit > 0 && usage as f64 >= limit as f64 * FULL).then_some((container, usage, limit))
        })
    };
    let (busy, others): (Vec<_>, Vec<_>) =
        counted(case, step).partition(|(_, pod)| full(pod).is_some());
    let (container, usage, limit) = full(busy.first()?.1)?;
    // A canary that is busier than the rest is no matter of how work is spread.
    let is_like = |pod: &Pod| {
        others
            .iter()
            .any(|(_, other)| other.revision() == pod.revision())
    };
    let used = total(others.iter().map(|(row, _)| row.value))?;
    let wanted = match &step.target.average_value {
        Some(average) => average
            .milli_value()
            .checked_mul(i64::try_from(others.len()).ok()?)?,
        None => {
            let requested = total(others.iter().map(|(row, _)| row.request))?;
            requested.checked_mul(step.target.average_utilization?.into())? / 100
        }
    };
    let is_idle = used as f64 <= wanted as f64 * IDLE;
    if busy.len() > others.len() || !is_idle || !busy.iter().any(|(_, pod)| is_like(pod)) {
        return None;
    }
    let by = AtLimits::Few {
        busy: busy.iter().map(|(_, pod)| pod.name.clone()).collect(),
        container: container.name.clone(),
        usage,
        limit,
        others: others.len(),
        mean: used / i64::try_from(others.len()).ok()?,
    };
    Some(Finding::explaining(
        Severity::Warning,
        UnreachableTarget {
            metric: step.index,
            by,
        },
    ))
}

/// `request-too-small`
pub(super) fn request_too_small(case: &Case<'_>, found: &[Finding]) -> Vec<Finding> {
    let metrics = utilizations(case);
    metrics
        .filter_map(|(step, percent)| {
            // Another finding says why the usage or its share is what it is.
            let is_explained = |it: &Finding| match &it.facts {
                Facts::MemoryBaseline(it) => it.metric == step.index,
                Facts::DilutedByContainer(it) => it.metric == step.index,
                Facts::ResizeInProgress(it) => it.metric == step.index,
                Facts::RequestsDifferFromTemplate(it) => it.metric == step.index,
                _ => false,
            };
            if found.iter().any(is_explained) {
                return None;
            }
            let facts = small_request(case, step, percent)?;
            let (container, request) = (facts.container.clone(), facts.enough.clone());
            let other = OtherRequest {
                container,
                request,
                proposal: 0,
            };
            let without = case.without(|snapshot| other.apply(snapshot, &facts.resource));
            let decides = case
                .decision()
                .winner()
                .is_some_and(|it| it.index == step.index);
            let finding = if decides && without != case.answer() {
                Finding::explaining(Severity::Warning, facts)
            } else {
                Finding::aside(Severity::Warning, facts)
            };
            Some(finding.without(without))
        })
        .collect()
}

fn small_request<'p>(
    case: &Case<'p>,
    step: &'p MetricStep,
    percent: i32,
) -> Option<RequestTooSmall> {
    /// Usage that is this many times the request is several times the request.
    const SEVERAL: f64 = 2.0;
    /// A burst does not last this long.
    const LASTING: SignedDuration = SignedDuration::from_mins(30);
    /// Pods this old have warmed up.
    const WARM: SignedDuration = SignedDuration::from_mins(10);
    let hpa = &case.snapshot().hpa;
    let proposal = step
        .proposal()
        .filter(|it| it.ratio > 1.0 + step.tolerance.up)?;
    let share = f64::from(proposal.current.average_utilization?) / 100.0;
    let written = hpa.status.current_metrics.as_ref()?.get(step.index)?;
    let then = f64::from(written.labelled()?.1.average_utilization?) / 100.0;
    // At a maximum that was reached a minute ago, this may be a burst.
    let limited = hpa
        .status
        .conditions
        .iter()
        .find(|it| it.type_ == "ScalingLimited");
    let limited = limited.filter(|it| it.status == "True");
    let limited = limited.and_then(|it| it.last_transition_time);
    let since = hpa
        .status
        .last_scale_time?
        .max(limited.unwrap_or(Timestamp::UNIX_EPOCH));
    if share < SEVERAL || then < SEVERAL || percent <= 0 || case.since(since)? < LASTING {
        return None;
    }
    let rules = case.rules();
    // The usage and request of each container in all pods, and its highest request in one.
    let mut sums: BTreeMap<&str, (i64, i64, i64)> = BTreeMap::new();
    let mut pods = 0;
    for (_, pod) in counted(case, step) {
        if counts_as_whole(pod, step.container.as_deref(), &rules) || case.age(pod)? < WARM {
            return None;
        }
        let metrics = case.metrics_of(pod)?;
        pods += 1;
        for container in counted_containers(pod, step.container.as_deref(), &rules) {
            let usage = metrics.usage(&step.name, Some(&container.name))?;
            let request = container.requests.get(&step.name)?.milli_value();
            let (used, requested, most) = sums.entry(&container.name).or_default();
            *used = used.checked_add(usage)?;
            *requested = requested.checked_add(request)?;
            *most = (*most).max(request);
        }
    }
    let lacking = |(used, requested, _): (i64, i64, i64)| used - requested;
    let (container, (used, _, request)) = sums
        .iter()
        .map(|(name, own)| (*name, *own))
        .max_by_key(|(_, own)| lacking(*own))?;
    let others: i64 = sums
        .iter()
        .filter(|(name, _)| **name != container)
        .map(|(_, it)| it.1)
        .sum();
    let all: i64 = sums.values().map(|own| own.0).sum();
    let wanted = all.checked_mul(100)? / i64::from(percent) - others;
    let enough = rounded_request(&step.name, wanted / pods)?;
    Some(RequestTooSmall {
        metric: step.index,
        resource: step.name.clone(),
        container: container.into(),
        request,
        usage: used / pods,
        share,
        then,
        since,
        enough,
    })
}

/// Returns a request of at least an amount, in the steps in which people state requests.
pub(crate) fn rounded_request(resource: &str, needed: i64) -> Option<Quantity> {
    let step = match resource {
        "cpu" => 10,
        "memory" => 1024 * 1024 * 1000,
        _ => 1000,
    };
    let steps = needed / step + i64::from(needed % step > 0 || needed == 0);
    let rounded = steps.checked_mul(step)?;
    Some(Quantity::from_milli(rounded, format_of(resource)).canonicalized())
}

/// Returns the highest number from 1 to below another with a property that all lower numbers have as well.
fn highest_below(end: i32, has: impl Fn(i32) -> bool) -> Option<i32> {
    let (mut with, mut without) = (0, end);
    while without - with > 1 {
        let middle = with + (without - with) / 2;
        if has(middle) {
            with = middle;
        } else {
            without = middle;
        }
    }
    (with > 0).then_some(with)
}

/// Whether the limits of each counted pod allow more than its share of the target, and therefore more for
/// all pods together; `None` if a container whose usage counts has no limit.
fn each_can_exceed<'p>(case: &Case<'p>, step: &'p MetricStep) -> Option<bool> {
    let counts = |own: &&ContainerUsage| {
        step.container
            .as_ref()
            .is_none_or(|only| **only == *own.name)
    };
    for (row, pod) in counted(case, step) {
        let mut limit = 0i64;
        for own in case.metrics_of(pod)?.containers.iter().filter(counts) {
            let mut all = pod.containers.iter().chain(&pod.init_containers);
            let container = all.find(|it| it.name == own.name)?;
            limit = limit.saturating_add(container.limits.get(&step.name)?.milli_value());
        }
        let (value, target) = match (&step.target.average_value, row.request) {
            (Some(average), _) => (limit as f64, average.milli_value() as f64),
            (None, Some(request)) => {
                let share = limit as f64 / request as f64 * 100.0;
                (share, step.target.average_utilization?.into())
            }
            (None, None) => return Some(false),
        };
        // The controller drops fractions.
        if value - 1.0 <= target * (1.0 + step.tolerance.up) {
            return Some(false);
        }
    }
    Some(true)
}

/// Returns the sum of amounts, if all are known.
pub(super) fn total(amounts: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    let mut amounts = amounts;
    amounts.try_fold(0i64, |sum, amount| Some(sum.saturating_add(amount?)))
}

#[cfg(test)]
mod tests;
