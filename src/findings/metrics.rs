//! Findings about metrics that fail: a metrics API that does not answer, does not know a metric or has no
//! value for it, and containers without metrics.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::pods::{failing, is_alive};
use super::{Case, Finding, Severity};
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::names::{nearest, same_metric};
use crate::engine::decision::{Block, Group, MetricResult, MetricStep, Step};
use crate::pass::Pass;
use crate::snapshot::MetricAnswer;
use crate::snapshot::hpa::{CrossVersionObjectReference, MetricSpec};
use crate::snapshot::pod::{ConditionStatus, Pod};
use crate::snapshot::surroundings::{
    ApiService, Fallback, ServiceReference, served_elsewhere, served_for,
};

/// A metrics API does not answer.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsApiUnavailable {
    /// Its group.
    pub group: &'static str,
    /// The failing metrics that it should serve, by index in the spec.
    pub metrics: Vec<usize>,
    /// How it fails.
    pub why: Unavailable,
    /// Its message about the first of the metrics; empty if the input has no answer.
    pub message: String,
    /// Its APIService, if that is known to be unavailable.
    pub service: Option<UnavailableService>,
    /// What serves the API, if KEDA should and something else does.
    pub served_by: Option<ServedBy>,
    /// An adapter that serves another metrics API, if nothing serves this one.
    pub adapter: Option<ServedBy>,
    /// A pod that should serve it and does not run.
    pub server: Option<Server>,
}

/// A pod that should serve a metrics API and does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Why, if it says so: a container, and what that waits for.
    pub why: Option<(Box<str>, Box<str>)>,
    /// Whether the scheduler has found no node for it.
    pub has_no_node: bool,
}

/// How a metrics API fails to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The API server does not serve its group.
    Unserved,
    /// The API server finds nothing at the path of a metric: it does not serve the group, or what serves the
    /// group does not know the metric.
    NotFound,
    /// The API server knows the group, but its discovery of the versions is stale.
    Stale,
    /// It is served, but requests fail.
    Failing,
}

/// An unavailable APIService.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableService {
    /// Its name.
    pub name: String,
    /// Its condition `Available`.
    pub available: Condition,
    /// The Service that it points at.
    pub behind: Option<ServiceReference>,
}

/// A metrics API does not know a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricNotFound {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// The API's message.
    pub message: String,
    /// A similar name that the same API serves for the same kind of object.
    pub near: Option<String>,
    /// The other kinds of objects for which the same API serves the name, as resources.
    pub elsewhere: Vec<String>,
    /// What serves the API, if KEDA should and something else does.
    pub served_by: Option<ServedBy>,
}

/// What serves an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedBy {
    /// The name of the APIService.
    pub api: String,
    /// The Service, with its namespace.
    pub service: String,
}

/// A metrics API knows a metric but reports an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricFailing {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// The API's message.
    pub message: String,
    /// The right that the controller lacks, if that is the error.
    pub refused: Option<Refused>,
    /// The kind of the described object, if that is the error.
    pub unmapped: Option<Unmapped>,
    /// The replicas that KEDA asks for instead of the value, if the error is hidden behind them.
    pub fallback: Option<i32>,
    /// What serves the API, if KEDA should and something else does.
    pub served_by: Option<ServedBy>,
}

/// A kind that no API has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmapped {
    /// The object of that kind.
    pub object: CrossVersionObjectReference,
    /// The object that was probably meant.
    pub meant: Option<CrossVersionObjectReference>,
}

impl Unmapped {
    /// Recognizes the error of the controller's mapper about the object that a metric describes.
    fn read(text: &str, spec: &MetricSpec, target: &CrossVersionObjectReference) -> Option<Self> {
        let object = spec.described_object()?;
        let error = format!("no matches for kind {:?} in ", object.kind);
        text.contains(&error).then(|| {
            let same = |kind: &str| kind.eq_ignore_ascii_case(&object.kind);
            let known = KINDS.iter().find_map(|(version, kinds)| {
                Some((*version, *kinds.iter().find(|kind| same(kind))?))
            });
            let own = same(&target.kind).then(|| (&*target.api_version, &*target.kind));
            let meant = known
                .or(own)
                .map(|(version, kind)| CrossVersionObjectReference {
                    api_version: version.to_owned(),
                    kind: kind.to_owned(),
                    name: object.name.clone(),
                });
            let meant = meant.filter(|it| it.group() != object.group() || it.kind != object.kind);
            Self {
                object: object.clone(),
                meant,
            }
        })
    }
}

/// Kinds that every cluster has, by version: objects that metrics are about.
const KINDS: [(&str, &[&str]); 4] = [
    (
        "apps/v1",
        &["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"],
    ),
    ("networking.k8s.io/v1", &["Ingress"]),
    ("batch/v1", &["Job", "CronJob"]),
    (
        "v1",
        &[
            "Service",
            "Pod",
            "Namespace",
            "Node",
            "ReplicationController",
        ],
    ),
];

/// A right that the API server says a user lacks.
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
    /// Parses the error of the API server's RBAC.
    fn read(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once(" is forbidden: User \"")?;
        let (user, rest) = rest.split_once("\" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, _) = rest.split_once('"')?;
        Some(Self {
            user: user.into(),
            verb: verb.into(),
            resource: resource.into(),
        })
    }
}

/// A metrics API has no value for a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricEmpty {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// The selector of the metric, as it was sent; empty if it has none.
    pub selector: String,
    /// The selector of the pods, if the metric is per pod.
    pub pods: Option<String>,
    /// The age of the oldest pod, if none can be expected to have been measured yet.
    pub age: Option<SignedDuration>,
    /// What the API says instead of an empty list, as adapters do whose query for the metric has no result.
    pub message: Option<String>,
    /// The nodes of the pods, if it is a resource metric.
    pub nodes: Vec<Box<str>>,
}

/// A metric fails, and the others propose fewer replicas, which the controller does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedByFailedMetric {
    /// The metrics that fail, by index in the spec.
    pub failed: Vec<usize>,
    /// The other metric with the highest proposal.
    pub highest: usize,
    /// Its proposal.
    pub proposal: i32,
    /// The current replicas.
    pub replicas: i32,
}

/// A ContainerResource metric names a container that no pod has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownContainer {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The container that it names.
    pub container: String,
    /// The containers that the pods have.
    pub known: Vec<String>,
    /// The one that was probably meant.
    pub near: Option<String>,
}

/// Pods, or their metrics, lack the container of a ContainerResource metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerMetricsMissing {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The container.
    pub container: String,
    /// The pods.
    pub pods: Vec<Unmeasured>,
    /// The total number of pods.
    pub all: usize,
    /// Whether one such pod fails the metric, by the rules of the version.
    pub fails: bool,
    /// The containers of the target's template, if a pod that may be the target's lacks the container and
    /// the template was read.
    pub template: Option<Vec<Box<str>>>,
}

/// A pod that lacks a container, or whose metrics do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    /// Its name.
    pub pod: Box<str>,
    /// Whether it has the container.
    pub has_container: bool,
    /// Whether it is certainly not the target's.
    pub is_foreign: bool,
    /// Why the container is waiting, if it is.
    pub waiting: Option<Box<str>>,
    /// How many times the container was restarted.
    pub restarts: i32,
}

/// Why an API returns no value for a metric.
enum Miss<'t> {
    Unavailable(Unavailable, &'t str),
    Unknown(&'t str),
    Failing(&'t str),
    /// With the message, if there is one instead of an empty list.
    Empty(Option<&'t str>),
}

/// client-go's message for a path at which there is nothing: a group that is not served, or some adapters'
/// answer about an unknown metric.
const NOTHING: &str = "the server could not find the requested resource";
/// The controller's message if discovery has no custom metrics API.
const UNREGISTERED: &str = "metrics API (custom.metrics.k8s.io) registered";
/// The controller's message if all versions of the custom metrics API are stale.
const STALE: &str = "no known available metric versions found";
/// client-go's messages for the codes 503, 504 and other 5xx without a `Status`.
const FAILING: [&str; 3] = [
    "the server is currently unable to handle the request",
    "the server was unable to return a response in the time allotted",
    "an error on the server (",
];
/// The start of an error of the API server's proxy that cannot reach what serves an APIService. An adapter
/// that cannot reach its backend may quote it.
const NO_ANSWER: [&str; 2] = [
    "error trying to reach service",
    "Error trying to reach service",
];
/// prometheus-adapter's message for an unknown metric, and for one whose query has no result for an object.
const UNKNOWN: &str = "could not find the metric";
/// KEDA's message for a metric whose trigger fails or has no result, and other adapters' for an empty query.
const NO_RESULT: &str = "no matching metrics found";

impl<'t> Miss<'t> {
    /// Returns why a metric that failed has no value; `None` if it has one, or if its spec or the pods are
    /// the cause.
    fn of(case: &Case<'t>, step: &'t MetricStep) -> Option<Self> {
        let MetricResult::Error(error) = &step.result else {
            return None;
        };
        let spec = &case.snapshot().hpa.spec.metrics[step.index];
        let selector = spec
            .identifier()
            .and_then(|metric| metric.selector.as_ref());
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
                (is_empty || (spec.container().is_none() && lacks_all()))
                    .then_some(Self::Empty(None))
            }
            MetricAnswer::Pods(values) => {
                let is_empty = values.is_empty() && has_pods();
                (is_empty || lacks_all()).then_some(Self::Empty(None))
            }
            MetricAnswer::External(values) => values.is_empty().then_some(Self::Empty(None)),
            MetricAnswer::Object(values) => match values.len() {
                0 => Some(Self::Empty(None)),
                1 => None,
                _ => Some(Self::Failing(&error.message)),
            },
            MetricAnswer::Unread(_) => None,
        }?;
        // An unavailable API has answered nothing, whatever the input lacks.
        let is_down =
            || service(case, spec.api_group()).is_some_and(|it| unavailable(it).is_some());
        Some(match miss {
            Self::Empty(None) if is_down() => Self::Unavailable(Unavailable::Failing, ""),
            miss => miss,
        })
    }

    /// Interprets the text of an error.
    fn told(text: &'t str, case: &Case<'_>, spec: &MetricSpec) -> Self {
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        // The controller's messages quote the API's after the name of the API.
        let said = text
            .rsplit_once("metrics API: ")
            .map_or(text, |(_, said)| said);
        let name = spec.name();
        let is_unknown = says(&[UNKNOWN])
            || text.contains(&format!("{name} not found"))
            || text.contains(&format!("{name:?} not found"));
        let is_nothing = says(&[NOTHING]);
        let is_unreached = || {
            // Go's HTTP client names the URL, which is the backend's if the adapter quotes the error.
            let url = said
                .strip_prefix("Get \"http")
                .and_then(|rest| rest.split_once('"'));
            let of_api = format!("/apis/{}/", spec.api_group());
            url.is_some_and(|(url, _)| url.contains(&of_api))
                || (NO_ANSWER.iter().any(|start| said.starts_with(start))
                    && !is_served(case, spec.api_group()))
        };
        if says(&[STALE]) {
            Self::Unavailable(Unavailable::Stale, text)
        } else if is_nothing && !spec.is_resource() && is_served(case, spec.api_group()) {
            Self::Unknown(text)
        } else if says(&[UNREGISTERED]) || (is_nothing && spec.is_resource()) {
            Self::Unavailable(Unavailable::Unserved, text)
        } else if is_nothing {
            Self::Unavailable(Unavailable::NotFound, text)
        } else if says(&[NO_RESULT]) || names_object(text, spec) {
            Self::Empty(Some(text))
        } else if is_unknown {
            Self::Unknown(text)
        } else if Refused::read(text).is_some() {
            Self::Failing(text)
        } else if says(&FAILING)
            || is_unreached()
            || service(case, spec.api_group()).is_some_and(|it| unavailable(it).is_some())
        {
            Self::Unavailable(Unavailable::Failing, text)
        } else {
            Self::Failing(text)
        }
    }
}

/// Whether prometheus-adapter does not find the value of one object: it names the object after the resource only if it
/// knows the metric, and its query has no result (`NewMetricNotFoundForError`).
fn names_object(text: &str, spec: &MetricSpec) -> bool {
    let Some((_, found)) = text.split_once(UNKNOWN) else {
        return false;
    };
    spec.described_object().is_some_and(|object| {
        let name = found
            .split_once(" for ")
            .and_then(|(_, of)| of.trim().split_once(' '));
        name.is_some_and(|(_, name)| name.trim_matches('"') == object.name)
    })
}

/// Returns the APIService of a group, if it was read.
fn service<'p>(case: &Case<'p>, group: &str) -> Option<&'p ApiService> {
    let is_of = |it: &&ApiService| {
        it.metadata
            .name
            .split_once('.')
            .is_some_and(|(_, of)| of == group)
    };
    case.surroundings().api_services.iter().find(is_of)
}

/// Returns its condition `Available`, unless that is true or unknown.
fn unavailable(service: &ApiService) -> Option<&Condition> {
    let mut conditions = service.status.conditions.iter();
    conditions.find(|it| it.type_ == "Available" && it.status != "True")
}

/// Whether there is evidence that the API of a group answers: its APIService, its list, or another metric.
fn is_served<'p>(case: &Case<'p>, group: &'p str) -> bool {
    let available = |it: &ApiService| {
        it.status
            .conditions
            .iter()
            .any(|it| it.type_ == "Available" && it.status == "True")
    };
    service(case, group).is_some_and(available)
        || case.surroundings().serves(group)
        || answered(case, group).next().is_some()
}

/// Returns the metrics of the spec for which the API of a group has values.
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

impl ServedBy {
    /// Reads an APIService; `None` if it points at no Service.
    fn of(api: &ApiService) -> Option<Self> {
        let ServiceReference { namespace, name } = api.spec.service.as_ref()?;
        let service = format!("{namespace}/{name}");
        Some(Self {
            api: api.metadata.name.clone(),
            service,
        })
    }

    /// Whether it is KEDA's, which has this name wherever it is installed.
    fn is_keda(&self) -> bool {
        self.service.contains("keda")
    }
}

/// The group of external metrics.
const EXTERNAL: &str = "external.metrics.k8s.io";

/// Returns what serves the external metrics, if the HPA is KEDA's and that is not.
fn not_of_keda(case: &Case<'_>, group: &str) -> Option<ServedBy> {
    case.snapshot().hpa.scaled_object()?;
    let api = service(case, group).filter(|_| group == EXTERNAL)?;
    ServedBy::of(api).filter(|it| !it.is_keda())
}

/// Returns an adapter that serves another metrics API than that of a group of custom or external metrics, as neither
/// metrics-server nor KEDA could serve this one.
fn adapter(case: &Case<'_>, group: &str) -> Option<ServedBy> {
    const ALL: [&str; 3] = ["metrics.k8s.io", "custom.metrics.k8s.io", EXTERNAL];
    let others = ALL
        .into_iter()
        .filter(|other| *other != group && group != ALL[0]);
    let mut serving = others.filter_map(|other| ServedBy::of(service(case, other)?));
    serving.find(|it| !it.is_keda() && !it.service.ends_with("metrics-server"))
}

/// Returns the age of the oldest pod, if all pods have started so lately that metrics-server may not have two
/// samples of any.
fn unmeasured_age(case: &Case<'_>) -> Option<SignedDuration> {
    const MEASURED: SignedDuration = SignedDuration::from_mins(1);
    let ages: Option<Vec<SignedDuration>> = case.pods().map(|pod| case.age(pod)).collect();
    ages?.into_iter().max().filter(|age| *age < MEASURED)
}

/// Returns a finding about a failing metric: it explains the pass if that ends for lack of metrics.
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
                    Some(UnavailableService {
                        name: service.metadata.name.clone(),
                        available: unavailable(service)?.clone(),
                        behind: service.spec.service.clone(),
                    })
                });
                // What has an APIService of its own may only lack the name.
                let is_absent = match why {
                    Unavailable::Unserved => true,
                    Unavailable::NotFound => service.is_none(),
                    Unavailable::Stale | Unavailable::Failing => false,
                };
                let adapter = is_absent.then(|| adapter(case, group));
                apis.push(MetricsApiUnavailable {
                    group,
                    metrics: vec![metric],
                    why,
                    message: text.to_owned(),
                    service,
                    served_by: not_of_keda(case, group),
                    adapter: adapter.flatten(),
                    server: server(case, group),
                });
            }
            Some(Miss::Unknown(text)) => {
                let listed = || {
                    case.surroundings()
                        .served_metrics
                        .get(group)
                        .into_iter()
                        .flatten()
                };
                let served = listed().filter_map(|name| served_for(spec, name));
                let alike = answered(case, group).filter(|it| it.described() == spec.described());
                let known = alike.map(MetricSpec::name).chain(served);
                let near = same_metric(spec.name(), known).map(str::to_owned);
                let elsewhere = listed().filter_map(|name| served_elsewhere(spec, name));
                let elsewhere: BTreeSet<String> = elsewhere.map(str::to_owned).collect();
                let facts = MetricNotFound {
                    metric,
                    message: text.to_owned(),
                    near,
                    elsewhere: elsewhere.into_iter().collect(),
                    served_by: not_of_keda(case, group),
                };
                found.push(failed(case, facts));
            }
            Some(Miss::Failing(text)) => {
                let (message, refused) = (text.to_owned(), Refused::read(text));
                let unmapped = Unmapped::read(text, spec, case.target());
                let served_by = not_of_keda(case, group);
                let facts = MetricFailing {
                    metric,
                    message,
                    refused,
                    unmapped,
                    fallback: None,
                    served_by,
                };
                found.push(failed(case, facts));
            }
            Some(Miss::Empty(text)) => {
                let of_pods = !spec.is_total();
                let pods = case.scale().filter(|_| of_pods);
                let pods = pods.map(|scale| scale.selector.as_str().to_owned());
                let selector = spec.selector();
                let age = spec.is_resource().then(|| unmeasured_age(case)).flatten();
                let message = text.map(str::to_owned);
                let nodes = case
                    .pods()
                    .filter(|_| spec.is_resource())
                    .filter_map(|pod| pod.node.clone());
                let nodes = nodes.collect::<BTreeSet<_>>().into_iter().collect();
                let finding = failed(
                    case,
                    MetricEmpty {
                        metric,
                        selector,
                        pods,
                        age,
                        message,
                        nodes,
                    },
                );
                let severity = if age.is_some() {
                    Severity::Info
                } else {
                    finding.severity
                };
                found.push(Finding {
                    severity,
                    ..finding
                });
            }
            None => found.extend(fallen_back(case, step)),
        }
    }
    found.extend(apis.into_iter().map(|facts| failed(case, facts)));
    found
}

/// Returns a finding about a value that KEDA puts in the place of one that it cannot read: as many times the target per
/// replica as its fallback has replicas (`doFallback` of KEDA).
fn fallen_back(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
    let object = case
        .scaled_object()
        .filter(|it| it.condition("Fallback") == Some(true))?;
    let Fallback {
        replicas, behavior, ..
    } = object.spec.fallback.as_ref()?;
    let spec = &case.snapshot().hpa.spec.metrics[step.index];
    let target = step.target.average_value.as_ref()?.milli_value();
    let total = step.proposal()?.total.as_ref()?.milli_value();
    let asks_for = |replicas: i32| target.checked_mul(replicas.into()) == Some(total);
    let current = case.scale().map(|scale| scale.status_replicas);
    let is_static = matches!(&**behavior, "" | "static");
    let asked = [Some(*replicas), current.filter(|_| !is_static)];
    let fallback = asked
        .into_iter()
        .flatten()
        .find(|replicas| asks_for(*replicas))?;
    let facts = MetricFailing {
        metric: step.index,
        message: String::new(),
        refused: None,
        unmapped: None,
        fallback: Some(fallback),
        served_by: None,
    };
    let decides = case
        .decision()
        .winner()
        .is_some_and(|winner| winner.index == step.index)
        && case.decision().block().is_none();
    (spec.api_group() == EXTERNAL).then(|| {
        if decides {
            Finding::explaining(Severity::Warning, facts)
        } else {
            Finding::aside(Severity::Warning, facts)
        }
    })
}

/// Returns a metric that decides with a value of exactly 0 while the pods are busy, with the cpu that they use as a
/// share of what they request: some adapters count a query without a result as 0.
pub(crate) fn zero_while_busy(pass: &Pass) -> Option<(usize, f64)> {
    /// Pods that have nothing to do seldom use all that they request.
    const BUSY: f64 = 1.0;
    let case = Case::new(pass);
    let step = case
        .decision()
        .winner()
        .filter(|step| !step.is_resource())?;
    let proposal = step.proposal()?;
    let own = [
        &proposal.total,
        &proposal.current.value,
        &proposal.current.average_value,
    ];
    let value = own.into_iter().flatten().next()?;
    let share = case.cpu_share()?;
    (value.milli_value() == 0 && share >= BUSY).then_some((step.index, share))
}

/// Returns a pod that should serve a metrics API and does not run, if the input has it.
fn server(case: &Case<'_>, group: &str) -> Option<Server> {
    let behind = service(case, group).and_then(|it| it.spec.service.as_ref());
    let behind = behind.map(|it| (&*it.namespace, &*it.name));
    let usual = ("kube-system", "metrics-server");
    let (namespace, name) = behind.or((group == "metrics.k8s.io").then_some(usual))?;
    let own = case.surroundings().servers.iter().filter(|pod| {
        let rest = pod.name.strip_prefix(name);
        pod.namespace.as_deref() == Some(namespace)
            && rest.is_some_and(|rest| rest.starts_with('-'))
            && is_alive(pod)
    });
    let is_ready = |pod: &Pod| {
        pod.ready
            .is_some_and(|it| it.status == ConditionStatus::True)
    };
    // One that runs is enough.
    let mut down = own.clone().filter(|pod| !is_ready(pod));
    let pod = down
        .next()
        .filter(|_| !own.clone().any(|pod| is_ready(pod)))?;
    let why = failing(pod).map(|(container, reason)| (container.into(), reason.into()));
    Some(Server {
        namespace: namespace.into(),
        name: pod.name.clone(),
        why,
        has_no_node: pod.unschedulable.is_some(),
    })
}

/// `blocked-by-failed-metric`
pub(super) fn blocked_by_failed(case: &Case<'_>) -> Option<Finding> {
    let decision = case.decision();
    let (proposal, highest) = decision.trace.iter().find_map(|step| match step {
        Step::CombineMetrics {
            highest,
            by,
            unread: 0,
            accepted: false,
            ..
        } => Some((*highest, (*by)?)),
        _ => None,
    })?;
    let is_failed = |step: &&MetricStep| matches!(step.result, MetricResult::Error(_));
    let failed: Vec<usize> = case
        .metrics()
        .filter(is_failed)
        .map(|step| step.index)
        .collect();
    let replicas = decision.replicas_before()?;
    let without = case.without(|snapshot| {
        for metric in failed.iter().rev() {
            snapshot.hpa.spec.metrics.remove(*metric);
            snapshot.metrics.remove(*metric);
        }
    });
    let facts = BlockedByFailedMetric {
        failed,
        highest,
        proposal,
        replicas,
    };
    Some(Finding::explaining(Severity::Error, facts).without(without))
}

/// Returns the containers of a pod that can have metrics: those that keep running.
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
        Some(UnknownContainer {
            metric: step.index,
            container,
            known,
            near,
        })
    };
    let errors = case
        .metrics()
        .filter(|step| matches!(step.result, MetricResult::Error(_)));
    errors
        .filter_map(facts)
        .map(|facts| failed(case, facts))
        .collect()
}

/// `container-metrics-missing`
pub(super) fn container_metrics_missing(case: &Case<'_>) -> Vec<Finding> {
    let rules = case.rules();
    let is_known = |name: &str| {
        case.pods()
            .any(|pod| running_containers(pod).any(|it| it == name))
    };
    let finding = |step: &MetricStep| {
        let container = step.container.clone().filter(|name| is_known(name))?;
        if !matches!(
            case.snapshot().metrics.get(step.index)?,
            MetricAnswer::PodMetrics
        ) {
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
                    is_foreign: case.is_foreign(pod),
                    waiting: waiting.map(|waiting| waiting.reason.clone()),
                    restarts: status.map_or(0, |status| status.restart_count),
                })
            })
            .collect();
        if pods.is_empty() {
            return None;
        }
        let fails = if pods.iter().all(|it| it.has_container) {
            !rules.container_may_be_missing
        } else {
            step.proposal().is_none()
        };
        let all = case.pods().count();
        let template = case
            .workload()
            .and_then(|workload| workload.template.as_deref());
        let template =
            template.filter(|_| pods.iter().any(|it| !it.has_container && !it.is_foreign));
        let template = template.map(|it| running_containers(it).map(Into::into).collect());
        let facts = ContainerMetricsMissing {
            metric: step.index,
            container,
            pods,
            all,
            fails,
            template,
        };
        Some(match step.result {
            MetricResult::Error(_) => failed(case, facts),
            _ => Finding::aside(Severity::Info, facts),
        })
    };
    case.metrics().filter_map(finding).collect()
}

#[cfg(test)]
mod tests;
