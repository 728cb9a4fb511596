//! Findings about what the metrics APIs answer: nothing, an error, values that are old or count
//! something else than the target, and a target that lets a value multiply the replicas.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::requests::total;
use super::{Case, Finding, Severity};
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::names::nearest;
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::engine::decision::{Because, Block, Group, MetricResult, MetricStep, Step};
use crate::engine::pods::counted_containers;
use crate::snapshot::clock::Why;
use crate::snapshot::hpa::{MetricSpec, MetricTarget};
use crate::snapshot::pod::{ConditionStatus, Phase, Pod, ZERO_TIME};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::ApiService;
use crate::snapshot::{MetricAnswer, Snapshot};

/// A metrics API does not answer.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsApiUnavailable {
    /// Its group.
    pub group: &'static str,
    /// The metrics that are asked of it and fail, by their places in the spec.
    pub metrics: Vec<usize>,
    /// In which way.
    pub why: Unavailable,
    /// What it says about the first of the metrics; empty where the input has no answer.
    pub message: String,
    /// Its APIService, where that is known not to be available.
    pub service: Option<UnavailableService>,
}

/// In which way a metrics API does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The API server does not serve its group.
    Unserved,
    /// The API server knows the group, and its discovery of the versions is stale.
    Stale,
    /// It is served, and requests fail.
    Failing,
}

/// An APIService that is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableService {
    /// Its name.
    pub name: String,
    /// Its condition `Available`.
    pub available: Condition,
}

/// A metrics API does not know a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricNotFound {
    /// Its place in the spec, counted from 0.
    pub metric: usize,
    /// What the API says.
    pub message: String,
    /// A name like it that the same API serves.
    pub near: Option<String>,
}

/// A metrics API knows a metric and reports an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricFailing {
    /// Its place in the spec, counted from 0.
    pub metric: usize,
    /// What the API says.
    pub message: String,
    /// The right that the controller lacks, where that is the error.
    pub refused: Option<Refused>,
}

/// A right that the API server does not find with a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The user.
    pub user: String,
    /// The verb, such as `list`.
    pub verb: String,
    /// The resource, without its group.
    pub resource: String,
}

impl Refused {
    /// Reads the error of the API server's RBAC.
    fn read(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once(" is forbidden: User \"")?;
        let (user, rest) = rest.split_once("\" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, _) = rest.split_once('"')?;
        Some(Self { user: user.into(), verb: verb.into(), resource: resource.into() })
    }
}

/// There is no value of a metrics API for a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricEmpty {
    /// Its place in the spec, counted from 0.
    pub metric: usize,
    /// The selector of the metric, as it was sent; empty where there is none.
    pub selector: String,
    /// The selector of the pods, where the metric is per pod.
    pub pods: Option<String>,
}

/// A metric fails, and the others propose fewer replicas, which the controller refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedByFailedMetric {
    /// The metrics that fail, by their places in the spec.
    pub failed: Vec<usize>,
    /// The metric with the highest proposal of the others.
    pub highest: usize,
    /// What it proposes.
    pub proposal: i32,
    /// The replicas that there are.
    pub replicas: i32,
}

/// A ContainerResource metric names a container that no pod has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownContainer {
    /// The place of the metric in the spec, counted from 0.
    pub metric: usize,
    /// The container that it names.
    pub container: String,
    /// The containers that the pods have.
    pub known: Vec<String>,
    /// The one of them that may be meant.
    pub near: Option<String>,
}

/// Pods, or their metrics, lack the container of a ContainerResource metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerMetricsMissing {
    /// The place of the metric in the spec, counted from 0.
    pub metric: usize,
    /// The container.
    pub container: String,
    /// The pods.
    pub pods: Vec<Unmeasured>,
    /// How many pods there are in all.
    pub all: usize,
    /// Whether one such pod fails the metric, by the rules of the version.
    pub fails: bool,
}

/// A pod that lacks a container, or whose metrics do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    /// Its name.
    pub pod: Box<str>,
    /// Whether it has the container.
    pub has_container: bool,
    /// Why the container waits, if it does.
    pub waiting: Option<Box<str>>,
    /// How often the container was restarted.
    pub restarts: i32,
}

/// The samples are older than they should be, or far from the clock of the pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleSamples {
    /// The metrics that they are of, by their places in the spec.
    pub metrics: Vec<usize>,
    /// How many samples are old.
    pub stale: usize,
    /// How many samples there are.
    pub samples: usize,
    /// The end of the newest one.
    pub newest: Timestamp,
    /// The window of that one.
    pub window: SignedDuration,
    /// Whether the clock of the pass may be wrong, and not the samples.
    pub doubts_clock: bool,
}

/// A metric and its target are probably in different units.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspectUnit {
    /// The place of the metric in the spec, counted from 0.
    pub metric: usize,
    /// The value.
    pub current: Quantity,
    /// The target.
    pub target: Quantity,
    /// The one over the other.
    pub ratio: f64,
    /// The target in the unit of the value.
    pub meant: Quantity,
    /// Whether the target is a fraction and the value a whole number.
    pub is_fraction: bool,
}

/// A target for the value in all multiplies the replicas as long as the value stays.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueMultiplies {
    /// The place of the metric in the spec, counted from 0.
    pub metric: usize,
    /// The value.
    pub current: Quantity,
    /// The target.
    pub target: Quantity,
    /// What is proposed now, and, with as many replicas, by each of the passes that follow.
    pub proposals: Vec<i32>,
    /// What the same number as a target per replica proposes.
    pub average: i32,
}

/// Why an API gives no value for a metric.
enum Miss<'t> {
    Unavailable(Unavailable, &'t str),
    Unknown(&'t str),
    Failing(&'t str),
    Empty,
}

/// What client-go says of a request to a group that is not served: the answer was no `Status`.
const UNSERVED: [&str; 2] = [
    "the server could not find the requested resource",
    "metrics API (custom.metrics.k8s.io) registered",
];
/// What the controller says where all versions of the custom metrics API are stale.
const STALE: &str = "no known available metric versions found";
/// What client-go says of the codes 503, 504 and other 5xx without a `Status`.
const FAILING: [&str; 3] = [
    "the server is currently unable to handle the request",
    "the server was unable to return a response in the time allotted",
    "an error on the server (",
];
/// How Go's HTTP client starts an error where there was no answer.
const NO_ANSWER: &str = "Get \"http";
/// How adapters say that they do not know a metric.
const UNKNOWN: [&str; 2] = ["could not find the metric", "no matching metrics found"];

impl<'t> Miss<'t> {
    /// Why a metric that failed has no value; none where it has one, or where its spec or the pods are
    /// the cause.
    fn of(case: &Case<'t>, step: &'t MetricStep) -> Option<Self> {
        let MetricResult::Error(error) = &step.result else { return None };
        let spec = &case.snapshot().hpa.spec.metrics[step.index];
        let selector = spec.identifier().and_then(|metric| metric.selector.as_ref());
        if error.reason.is_empty() || selector.is_some_and(|it| it.to_selector().is_err()) {
            return None;
        }
        let has_pods = || case.pods().next().is_some();
        // The API knows other pods, or other resources of these.
        let lacks_all = || {
            step.pods.iter().all(|row| row.value.is_none())
                && step.pods.iter().any(|row| row.group == Group::Missing)
        };
        let miss = match case.snapshot().metrics.get(step.index)? {
            MetricAnswer::Failed(text) => Some(Self::told(text, case, spec)),
            MetricAnswer::PodMetrics => {
                let is_empty = case.snapshot().pod_metrics.is_empty() && has_pods();
                (is_empty || (spec.container().is_none() && lacks_all())).then_some(Self::Empty)
            }
            MetricAnswer::Pods(values) => {
                let is_empty = values.is_empty() && has_pods();
                (is_empty || lacks_all()).then_some(Self::Empty)
            }
            MetricAnswer::External(values) => values.is_empty().then_some(Self::Empty),
            MetricAnswer::Object(values) => match values.len() {
                0 => Some(Self::Empty),
                1 => None,
                _ => Some(Self::Failing(&error.message)),
            },
            MetricAnswer::Unread(_) => None,
        }?;
        // What is not available has answered nothing, whatever the input lacks.
        let is_down =
            || service(case, spec.api_group()).is_some_and(|it| unavailable(it).is_some());
        Some(match miss {
            Self::Empty if is_down() => Self::Unavailable(Unavailable::Failing, ""),
            miss => miss,
        })
    }

    /// What the text of an error means.
    fn told(text: &'t str, case: &Case<'_>, spec: &MetricSpec) -> Self {
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        let name = spec.name();
        let is_unknown = says(&UNKNOWN)
            || text.contains(&format!("{name} not found"))
            || text.contains(&format!("{name:?} not found"));
        let unserved = says(&UNSERVED);
        if says(&[STALE]) {
            Self::Unavailable(Unavailable::Stale, text)
        } else if unserved && !spec.is_resource() && is_served(case, spec.api_group()) {
            Self::Unknown(text)
        } else if unserved {
            Self::Unavailable(Unavailable::Unserved, text)
        } else if is_unknown {
            Self::Unknown(text)
        } else if Refused::read(text).is_some() {
            Self::Failing(text)
        } else if says(&FAILING)
            || text.starts_with(NO_ANSWER)
            || service(case, spec.api_group()).is_some_and(|it| unavailable(it).is_some())
        {
            Self::Unavailable(Unavailable::Failing, text)
        } else {
            Self::Failing(text)
        }
    }
}

/// The APIService of a group, if it was read.
fn service<'p>(case: &Case<'p>, group: &str) -> Option<&'p ApiService> {
    let is_of =
        |it: &&ApiService| it.metadata.name.split_once('.').is_some_and(|(_, of)| of == group);
    case.surroundings().api_services.iter().find(is_of)
}

/// Its condition `Available`, unless that is true or not known.
fn unavailable(service: &ApiService) -> Option<&Condition> {
    let mut conditions = service.status.conditions.iter();
    conditions.find(|it| it.type_ == "Available" && it.status != "True")
}

/// Whether there is evidence that the API of a group answers: its APIService, or another metric.
fn is_served(case: &Case<'_>, group: &str) -> bool {
    let available = |it: &ApiService| {
        it.status.conditions.iter().any(|it| it.type_ == "Available" && it.status == "True")
    };
    service(case, group).is_some_and(available) || answered(case, group).next().is_some()
}

/// The metrics of the spec that the API of a group has values for.
fn answered<'p>(case: &Case<'p>, group: &'p str) -> impl Iterator<Item = &'p MetricSpec> {
    let snapshot = case.snapshot();
    let has_values = |answer: &MetricAnswer| match answer {
        MetricAnswer::Pods(values) => !values.is_empty(),
        MetricAnswer::Object(values) => !values.is_empty(),
        MetricAnswer::External(values) => !values.is_empty(),
        _ => false,
    };
    let specs = snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics);
    specs
        .filter(move |(spec, answer)| spec.api_group() == group && has_values(answer))
        .map(|(spec, _)| spec)
}

/// A finding about a metric that fails: it explains the pass where that ends for lack of metrics.
fn failed(case: &Case<'_>, facts: impl Into<super::Facts>) -> Finding {
    match case.decision().block() {
        Some(Block::Metrics) => Finding::explaining(Severity::Error, facts),
        _ => Finding::aside(Severity::Warning, facts),
    }
}

/// `metrics-api-unavailable`, `metric-not-found`, `metric-failing` and `metric-empty`
pub(super) fn without_value(case: &Case<'_>) -> Vec<Finding> {
    let mut apis: Vec<MetricsApiUnavailable> = Vec::new();
    let mut found = Vec::new();
    for step in case.metrics() {
        let (metric, spec) = (step.index, &case.snapshot().hpa.spec.metrics[step.index]);
        let group = spec.api_group();
        match Miss::of(case, step) {
            Some(Miss::Unavailable(why, text)) => {
                if let Some(api) = apis.iter_mut().find(|api| api.group == group) {
                    api.metrics.push(metric);
                    continue;
                }
                let service = service(case, group).and_then(|service| {
                    let available = unavailable(service)?.clone();
                    Some(UnavailableService { name: service.metadata.name.clone(), available })
                });
                let (metrics, message) = (vec![metric], text.to_owned());
                apis.push(MetricsApiUnavailable { group, metrics, why, message, service });
            }
            Some(Miss::Unknown(text)) => {
                let known = answered(case, group).map(MetricSpec::name);
                let near = nearest(spec.name(), known.filter(|known| *known != spec.name()));
                let near = near.map(str::to_owned);
                found.push(failed(case, MetricNotFound { metric, message: text.to_owned(), near }));
            }
            Some(Miss::Failing(text)) => {
                let (message, refused) = (text.to_owned(), Refused::read(text));
                found.push(failed(case, MetricFailing { metric, message, refused }));
            }
            Some(Miss::Empty) => {
                let of_pods = !spec.is_total();
                let pods = case.scale().filter(|_| of_pods);
                let pods = pods.map(|scale| scale.selector.as_str().to_owned());
                let selector = spec.selector();
                found.push(failed(case, MetricEmpty { metric, selector, pods }));
            }
            None => {}
        }
    }
    found.extend(apis.into_iter().map(|facts| failed(case, facts)));
    found
}

/// `blocked-by-failed-metric`
pub(super) fn blocked_by_failed(case: &Case<'_>) -> Option<Finding> {
    let decision = case.decision();
    let (proposal, highest) = decision.trace.iter().find_map(|step| match step {
        Step::CombineMetrics { highest, by, unread: 0, accepted: false, .. } => {
            Some((*highest, (*by)?))
        }
        _ => None,
    })?;
    let is_failed = |step: &&MetricStep| matches!(step.result, MetricResult::Error(_));
    let failed: Vec<usize> = case.metrics().filter(is_failed).map(|step| step.index).collect();
    let replicas = decision.replicas_before()?;
    let without = case.without(|snapshot| {
        for metric in failed.iter().rev() {
            snapshot.hpa.spec.metrics.remove(*metric);
            snapshot.metrics.remove(*metric);
        }
    });
    let facts = BlockedByFailedMetric { failed, highest, proposal, replicas };
    Some(Finding::explaining(Severity::Error, facts).without(without))
}

/// The containers of a pod that can have metrics: those that keep running.
fn running_containers(pod: &Pod) -> impl Iterator<Item = &str> {
    let sidecars = pod.init_containers.iter().filter(|it| it.restart_always);
    pod.containers.iter().chain(sidecars).map(|it| &*it.name)
}

/// `unknown-container`
pub(super) fn unknown_container(case: &Case<'_>) -> Vec<Finding> {
    let facts = |step: &MetricStep| {
        let container = step.container.clone()?;
        let mut known: Vec<String> = Vec::new();
        for name in case.pods().flat_map(running_containers) {
            if !known.iter().any(|known| known == name) {
                known.push(name.to_owned());
            }
        }
        if known.is_empty() || known.contains(&container) {
            return None;
        }
        let near = nearest(&container, known.iter().map(|it| &**it)).map(str::to_owned);
        Some(UnknownContainer { metric: step.index, container, known, near })
    };
    let errors = case.metrics().filter(|step| matches!(step.result, MetricResult::Error(_)));
    errors.filter_map(facts).map(|facts| failed(case, facts)).collect()
}

/// `container-metrics-missing`
pub(super) fn container_metrics_missing(case: &Case<'_>) -> Vec<Finding> {
    let rules = case.rules();
    let is_known = |name: &str| case.pods().any(|pod| running_containers(pod).any(|it| it == name));
    let finding = |step: &MetricStep| {
        let container = step.container.clone().filter(|name| is_known(name))?;
        if !matches!(case.snapshot().metrics.get(step.index)?, MetricAnswer::PodMetrics) {
            return None;
        }
        let is_lacking = |pod: &Pod| {
            let own = case.metrics_of(pod);
            own.is_some_and(|it| it.containers.iter().all(|it| *it.name != *container))
        };
        let pods: Vec<Unmeasured> = case
            .pods()
            .filter_map(|pod| {
                let has_container = running_containers(pod).any(|it| it == container);
                if !is_lacking(pod) && (has_container || step.proposal().is_some()) {
                    return None;
                }
                let status = pod.status_of(&container);
                let waiting = status.and_then(|status| status.waiting.as_ref());
                Some(Unmeasured {
                    pod: pod.name.clone(),
                    has_container,
                    waiting: waiting.map(|waiting| waiting.reason.clone()),
                    restarts: status.map_or(0, |status| status.restart_count),
                })
            })
            .collect();
        if pods.is_empty() {
            return None;
        }
        let fails = match pods.iter().all(|it| it.has_container) {
            true => !rules.container_may_be_missing,
            false => step.proposal().is_none(),
        };
        let all = case.pods().count();
        let facts = ContainerMetricsMissing { metric: step.index, container, pods, all, fails };
        Some(match step.result {
            MetricResult::Error(_) => failed(case, facts),
            _ => Finding::aside(Severity::Info, facts),
        })
    };
    case.metrics().filter_map(finding).collect()
}

/// `stale-samples`
pub(super) fn stale_samples(case: &Case<'_>) -> Vec<Finding> {
    /// Pipelines that work may be late by this much.
    const LATE: SignedDuration = SignedDuration::from_mins(2);
    let snapshot = case.snapshot();
    let mut found: Vec<(&str, StaleSamples)> = Vec::new();
    let doubts_clock = case.pass.input.clock_doubt.is_some_and(|doubt| doubt.why != Why::Old);
    for step in case.metrics().filter(|step| step.proposal().is_some()) {
        let spec = &snapshot.hpa.spec.metrics[step.index];
        let is_same = |group: &str| spec.is_resource() && group == spec.api_group();
        if let Some((_, facts)) = found.iter_mut().find(|(group, _)| is_same(group)) {
            facts.metrics.push(step.index);
            continue;
        }
        let ready = step.pods.iter().filter(|row| row.group == Group::Ready);
        let ready: HashSet<&str> =
            ready.map(|row| &*case.pod_of(row).name).collect();
        let counted = |name: &str| ready.contains(name);
        let times: Vec<(Timestamp, SignedDuration)> = match snapshot.metrics.get(step.index) {
            Some(MetricAnswer::PodMetrics) => {
                let samples = snapshot.pod_metrics.iter().filter(|it| counted(&it.name));
                samples.map(|it| (it.timestamp, it.window)).collect()
            }
            Some(MetricAnswer::Pods(values)) => {
                let samples = values.iter().filter(|it| counted(&it.pod));
                samples.map(|it| (it.timestamp, it.window)).collect()
            }
            _ => Vec::new(),
        };
        // An adapter that states no time says nothing of the age.
        let times: Vec<_> = times.into_iter().filter(|(time, _)| *time != ZERO_TIME).collect();
        let is_old = |(time, window): &&(Timestamp, SignedDuration)| match doubts_clock {
            true => snapshot.now.duration_since(*time).abs() > window.saturating_mul(2),
            false => snapshot.is_stale(*time, *window),
        };
        let stale = times.iter().filter(is_old).count();
        let newest = times.iter().filter(is_old).max_by_key(|(time, _)| *time);
        let Some(&(newest, window)) = newest else { continue };
        let (metrics, samples) = (vec![step.index], times.len());
        let facts = StaleSamples { metrics, stale, samples, newest, window, doubts_clock };
        found.push((spec.api_group(), facts));
    }
    let winner = case.decision().winner().map(|step| step.index);
    let finding = |(_, facts): (&str, StaleSamples)| {
        let decides = winner.is_some_and(|winner| facts.metrics.contains(&winner));
        let is_late = snapshot.now.duration_since(facts.newest) <= LATE;
        match facts.stale == facts.samples && decides {
            _ if facts.doubts_clock || is_late => Finding::aside(Severity::Info, facts),
            true => Finding::explaining(Severity::Warning, facts),
            false => Finding::aside(Severity::Warning, facts),
        }
    };
    found.into_iter().map(finding).collect()
}

/// The target of a metric as an amount; none for a utilization.
fn amount(target: &MetricTarget) -> Option<&Quantity> {
    target.average_value.as_ref().or(target.value.as_ref())
}

/// Puts another amount in the place of a target's.
fn set_amount(snapshot: &mut Snapshot, metric: usize, amount: &Quantity) {
    if let Some(target) = snapshot.hpa.spec.metrics[metric].target_mut() {
        let MetricTarget { value, average_value, .. } = target;
        for field in [average_value, value].into_iter().flatten() {
            field.clone_from(amount);
        }
    }
}

/// `suspect-unit`
pub(super) fn suspect_unit(case: &Case<'_>) -> Vec<Finding> {
    let winner = case.decision().winner().map(|step| step.index);
    let finding = |step: &MetricStep| {
        let facts = suspect(case, step)?;
        let without = case.without(|snapshot| set_amount(snapshot, step.index, &facts.meant));
        let finding = match winner == Some(step.index) && without != case.answer() {
            true => Finding::explaining(Severity::Warning, facts),
            false => Finding::aside(Severity::Warning, facts),
        };
        Some(finding.without(without))
    };
    case.metrics().filter_map(finding).collect()
}

fn suspect(case: &Case<'_>, step: &MetricStep) -> Option<SuspectUnit> {
    /// A value may be off by this factor besides its unit.
    const OFF: f64 = 2.0;
    /// A ratio up to this is one of percents to a fraction.
    const PERCENTS: f64 = 100.0 * OFF;
    /// No pod is meant to use less memory than this, in milli-bytes.
    const LEAST_MEMORY: i64 = 1024 * 1024 * 1000;
    let proposal = step.proposal()?;
    let target = amount(&step.target)?;
    let current = proposal.current.average_value.as_ref().or(proposal.current.value.as_ref())?;
    let (value, wanted) = (current.milli_value(), target.milli_value());
    if value <= 0 || wanted <= 0 {
        return None;
    }
    let ratio = value as f64 / wanted as f64;
    let is_near = |power: i64| (1.0 / OFF..=OFF).contains(&(ratio / power as f64));
    let is_fraction = wanted < 1000
        && !step.is_resource()
        && is_whole(step)
        && (100.0 / OFF..=10_000.0).contains(&ratio);
    let (powers, format): (&[i64], _) = match &*step.name {
        _ if is_fraction && ratio <= PERCENTS => (&[100], Format::DecimalSI),
        _ if is_fraction => (&[1000], Format::DecimalSI),
        "memory" if step.is_resource() => (&[1 << 10, 1 << 20, 1 << 30], Format::BinarySI),
        // Many more messages than one replica should have are a long queue.
        _ if step.is_total() => (&[1_000_000, 1_000_000_000], Format::DecimalSI),
        _ => (&[1000, 1_000_000, 1_000_000_000], Format::DecimalSI),
    };
    let power = powers.iter().find(|power| is_fraction || is_near(**power));
    let is_memory = step.name == "memory" && step.is_resource();
    let meant = match power {
        _ if is_memory && wanted < LEAST_MEMORY && ratio > PERCENTS => {
            return Some(SuspectUnit {
                metric: step.index,
                current: current.clone(),
                target: target.clone(),
                ratio,
                meant: with_unit(wanted, value)?,
                is_fraction: wanted % 1000 != 0,
            });
        }
        // Idle metrics are far below their targets, too, but memory and durations are never idle.
        _ if ratio < 1.0 && (is_memory || is_duration(&step.name)) => {
            let is_meant = |power: &&i64| {
                let ratio = ratio * **power as f64;
                wanted % **power == 0 && case.rules().is_within(&step.tolerance, ratio)
            };
            let thousands = [1000, 1_000_000, 1_000_000_000];
            wanted / powers.iter().chain(&thousands).find(is_meant)?
        }
        Some(power) => wanted.checked_mul(*power)?,
        // Cores where thousandths of a core are meant.
        None if step.name == "cpu" && step.is_resource() => {
            let is_near = (0.5 / OFF..=OFF).contains(&(ratio * 1000.0));
            (is_near && requests_at_most(case, step, wanted / 10)).then_some(wanted / 1000)?
        }
        None => return None,
    };
    let meant = Quantity::from_milli(meant, format);
    let (metric, current, target) = (step.index, current.clone(), target.clone());
    Some(SuspectUnit { metric, current, target, ratio, meant, is_fraction })
}

/// A target for memory with the unit that brings it nearest to the value; a fraction of a byte is one
/// with `m` where `M` is meant.
fn with_unit(wanted: i64, value: i64) -> Option<Quantity> {
    let plain = if wanted % 1000 == 0 { wanted } else { wanted.checked_mul(1000)? };
    let off = |meant: &i64| (value as f64 / *meant as f64).ln().abs();
    let units = [1 << 10, 1 << 20, 1 << 30].into_iter();
    let all = units.filter_map(|unit| plain.checked_mul(unit));
    let meant = all.min_by(|one, other| off(one).total_cmp(&off(other)))?;
    Some(Quantity::from_milli(meant, Format::BinarySI))
}

/// Whether a metric measures time, by its name.
fn is_duration(name: &str) -> bool {
    let words = ["latency", "duration", "seconds", "millis"];
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// Whether what a metric counts comes in whole numbers.
fn is_whole(step: &MetricStep) -> bool {
    let is_whole = |milli: i64| milli % 1000 == 0;
    let proposal = step.proposal();
    let total = proposal.and_then(|it| it.total.as_ref().or(it.current.value.as_ref()));
    match total {
        Some(total) => is_whole(total.milli_value()),
        None => step.pods.iter().filter_map(|row| row.value).all(is_whole),
    }
}

/// Whether the requests of each counted pod are known, and at most this.
fn requests_at_most(case: &Case<'_>, step: &MetricStep, most: i64) -> bool {
    let rules = case.rules();
    let container = step.container.as_deref();
    let is_at_most = |pod: &Pod| {
        let requests = counted_containers(pod, container, &rules)
            .map(|it| it.requests.get(&step.name).map(Amount::milli_value));
        total(requests).is_some_and(|sum| sum > 0 && sum <= most)
    };
    let counted = step.pods.iter().filter(|row| row.group == Group::Ready);
    counted.clone().next().is_some()
        && counted.into_iter().all(|row| is_at_most(case.pod_of(row)))
}

/// `value-multiplies`
pub(super) fn value_multiplies(case: &Case<'_>) -> Option<Finding> {
    /// How many passes are looked ahead.
    const AHEAD: usize = 3;
    /// Pods beyond this number are not played.
    const MOST: i32 = 1000;
    /// A metric that falls with the replicas is seldom this far above its target.
    const FAR: f64 = 2.0;
    let step = case.decision().winner().filter(|step| step.is_total())?;
    let target = step.target.value.clone().filter(|_| step.target.average_value.is_none())?;
    let proposal = step.proposal()?;
    let grows = proposal.replicas > case.decision().replicas_before()?;
    if proposal.because != Because::RatioTimesReady || proposal.ratio <= 1.0 || !grows {
        return None;
    }
    let current = proposal.current.value.clone()?;
    let metric = step.index;
    let max = case.snapshot().hpa.spec.max_replicas.min(MOST);
    let mut proposals = vec![proposal.replicas];
    while let Some(&last) = proposals.last()
        && proposals.len() <= AHEAD
        && last < max
    {
        proposals.push(case.proposal_of(metric, |snapshot| grow(snapshot, last))?);
    }
    let per_replica = |snapshot: &mut Snapshot| {
        if let Some(of_metric) = snapshot.hpa.spec.metrics[metric].target_mut() {
            *of_metric = MetricTarget {
                type_: "AverageValue".to_owned(),
                average_value: Some(target.clone()),
                ..MetricTarget::default()
            };
        }
    };
    let average = case.proposal_of(metric, per_replica)?;
    let without = case.without(per_replica);
    let ratio = proposal.ratio;
    let facts = ValueMultiplies { metric, current, target: target.clone(), proposals, average };
    let severity = if ratio >= FAR { Severity::Warning } else { Severity::Info };
    Some(Finding::explaining(severity, facts).without(without))
}

/// Gives the target more replicas, each of them ready.
fn grow(snapshot: &mut Snapshot, replicas: i32) {
    let Ok(scale) = &mut snapshot.scale else { return };
    let added = replicas - scale.spec_replicas;
    let is_ready = |pod: &&Shared<Pod>| {
        let ready = pod.ready.is_some_and(|ready| ready.status == ConditionStatus::True);
        ready && pod.phase == Phase::Running && scale.selector.matches(&pod.labels)
    };
    let Some(ready) = snapshot.pods.iter().find(is_ready).cloned() else { return };
    (scale.spec_replicas, scale.status_replicas) = (replicas, replicas);
    let more = (0..added).map(|number| {
        let name = format!("{}-{number}", ready.name).into();
        Pod { name, ..Pod::clone(&ready) }.into()
    });
    snapshot.pods.extend(more);
}

#[cfg(test)]
mod tests;
