//! The reason why an API returns no value for a metric.

use super::{is_served, is_unavailable};
use crate::apimachinery::go;
use crate::engine::decision::{Group, MetricError, MetricResult, MetricStep};
use crate::findings::Case;
use crate::snapshot::hpa::{MetricSource, MetricSpec, ObjectMetricSource};
use crate::snapshot::{Documents, MetricAnswer, UnreadCause};

/// The ways in which a metrics API fails to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The API server does not serve its group.
    Unserved,
    /// The API server finds nothing at the path of a metric: it does not serve the group, or the group's server
    /// does not know the metric.
    NotFound,
    /// The API server knows the group, but its discovery of the versions is stale.
    Stale,
    /// The API is served, but requests fail.
    Failing,
}

/// The reason why an API returns no value for a metric.
pub(crate) enum Miss<'t> {
    Unavailable(Unavailable, &'t str),
    Unknown(&'t str),
    Failing(&'t str),
    /// The controller does not request the metric.
    Rejected(Rejection, &'t str),
    /// The API has no value; with its message, if it sent one instead of an empty list.
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

/// The start of an error of the API server's proxy that cannot reach the server of an APIService. An adapter
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
    /// Returns why a failed metric has no value; `None` if it has one, or if the pods are the cause. If the input lacks
    /// a metric, the reason is known only from the last pass, or if its API is unavailable.
    pub(crate) fn of(case: &Case<'t>, step: &'t MetricStep) -> Option<Self> {
        let spec = case.spec(step);
        let unavailable = || {
            is_unavailable(case, spec.api_group())
                .then_some(Self::Unavailable(Unavailable::Failing, ""))
        };
        match &step.result {
            // The input has an answer for the metric.
            MetricResult::Unread(UnreadCause::Missing {
                documents: Documents::Pod,
            }) => return None,
            MetricResult::Unread(_) => {
                let last = case.failed_metric_in_last_pass(step);
                let told = last.map(|text| Self::told(text, case, spec));
                return told.or_else(unavailable);
            }
            MetricResult::Proposal(_) | MetricResult::Error(_) => {}
        }
        let error = step.error()?;
        if let Some(rejection) = Rejection::of(spec, error) {
            let says = if error.is_silent() {
                &error.error
            } else {
                &error.message
            };
            return Some(Self::Rejected(rejection, says));
        }
        let has_pods = || case.pods().next().is_some();
        let miss = match case.snapshot.metrics.get(step.index)? {
            MetricAnswer::Failed(text) => Some(Self::told(text, case, spec)),
            MetricAnswer::PodMetrics => {
                let is_empty = case.snapshot.pod_metrics.is_empty() && has_pods();
                // A container without metrics has a finding of its own.
                let has_metrics = |container: &str| {
                    let mut all = case.snapshot.pod_metrics.iter();
                    all.any(|it| it.containers.iter().any(|own| *own.name == *container))
                };
                (is_empty || (lacks_all(step) && spec.container().is_none_or(has_metrics)))
                    .then_some(Self::Empty(None))
            }
            MetricAnswer::Pods(values) => {
                let is_empty = values.is_empty() && has_pods();
                (is_empty || lacks_all(step)).then_some(Self::Empty(None))
            }
            MetricAnswer::External(values) => values.is_empty().then_some(Self::Empty(None)),
            MetricAnswer::Object(values) => match values.len() {
                0 => Some(Self::Empty(None)),
                1 => None,
                _ => Some(Self::Failing(&error.message)),
            },
            MetricAnswer::Unread(_) => None,
        }?;
        match miss {
            // An unavailable API has answered nothing, whatever the input lacks.
            Self::Empty(None) => unavailable().or(Some(miss)),
            miss => Some(miss),
        }
    }

    /// Interprets the text of an error.
    fn told(text: &'t str, case: &Case<'_>, spec: &MetricSpec) -> Self {
        let name = spec.name();
        let is_unknown = text.contains(UNKNOWN)
            || text.contains(&format!("{name} not found"))
            || text.contains(&format!("{} not found", go::quote(name)));
        let is_nothing = text.contains(NOTHING);
        if text.contains(STALE) {
            Self::Unavailable(Unavailable::Stale, text)
        } else if is_nothing && !spec.is_resource() && is_served(case, spec.api_group()) {
            Self::Unknown(text)
        } else if text.contains(UNREGISTERED) || (is_nothing && spec.is_resource()) {
            Self::Unavailable(Unavailable::Unserved, text)
        } else if is_nothing {
            Self::Unavailable(Unavailable::NotFound, text)
        } else if text.contains(NO_RESULT) || names_object(text, spec) {
            Self::Empty(Some(text))
        } else if is_unknown {
            Self::Unknown(text)
        } else if RefusedRight::read(text).is_some() {
            Self::Failing(text)
        } else if FAILING.iter().any(|words| text.contains(words))
            || is_unreached(said(text), case, spec)
            || is_unavailable(case, spec.api_group())
        {
            Self::Unavailable(Unavailable::Failing, text)
        } else {
            Self::Failing(text)
        }
    }
}

/// Returns the message of the API, which the controller's messages quote after its name.
pub(crate) fn said(text: &str) -> &str {
    text.rsplit_once("metrics API: ")
        .map_or(text, |(_, said)| said)
}

/// A fault in a metric's spec that the API server does not check, and that keeps the controller from requesting a
/// value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// Its selector is invalid.
    Selector,
    /// The type of its target disagrees with the fields that are set.
    Target,
    /// The feature gate of its type is off.
    Gate,
}

impl Rejection {
    /// Reads the fault from the error of a metric.
    fn of(spec: &MetricSpec, error: &MetricError) -> Option<Self> {
        let metric = spec.identifier();
        let selector = metric.and_then(|it| it.selector.as_ref());
        if error.is_silent() {
            Some(Self::Gate)
        } else if selector.is_some_and(|it| it.to_selector().is_err()) {
            Some(Self::Selector)
        } else {
            disagrees(spec).then_some(Self::Target)
        }
    }
}

/// Whether the target of an Object metric sets a field other than its type names, which the API server accepts.
fn disagrees(spec: &MetricSpec) -> bool {
    let MetricSource::Object(ObjectMetricSource { target, .. }) = spec.source() else {
        return false;
    };
    match &*target.type_ {
        "Value" => target.value.is_none() && target.average_value.is_some(),
        "AverageValue" => target.average_value.is_none() && target.value.is_some(),
        _ => false,
    }
}

/// Whether the API knows other pods, or other resources of these pods.
fn lacks_all(step: &MetricStep) -> bool {
    step.pods.iter().all(|row| row.value.is_none())
        && step.pods.iter().any(|row| row.group == Group::Missing)
}

/// Whether the API server got no answer from the metrics API, according to its message.
fn is_unreached(said: &str, case: &Case<'_>, spec: &MetricSpec) -> bool {
    // Go's HTTP client names the URL, which is the backend's if the adapter quotes the error.
    let url = said
        .strip_prefix("Get \"http")
        .and_then(|rest| rest.split_once('"'));
    let of_api = format!("/apis/{}/", spec.api_group());
    url.is_some_and(|(url, _)| url.contains(&of_api))
        || (NO_ANSWER.iter().any(|start| said.starts_with(start))
            && !is_served(case, spec.api_group()))
}

/// Whether prometheus-adapter finds no value for one object: it names the object after the resource only if it knows
/// the metric and the query has no result (`NewMetricNotFoundForError`).
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

/// A right that the user lacks according to the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRight {
    /// The user.
    pub user: String,
    /// The verb, such as `list`.
    pub verb: String,
    /// The resource, without its group.
    pub resource: String,
}

impl RefusedRight {
    /// Parses the error of the API server's RBAC.
    pub(crate) fn read(text: &str) -> Option<Self> {
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
