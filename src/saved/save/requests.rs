//! The requests of a pass in the saved format: the answers of the metrics APIs, and what failed.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::apimachinery::go::GoDuration;
use crate::keda::is_of_trigger;
use crate::saved::assemble::{MetricRequest, asked};
use crate::saved::state::{AnsweredValue, Api, ApiAnswer, ApiError};
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::metric::Milli;
use crate::snapshot::{Documents, MetricAnswer, MissingTarget, ScaleError, Snapshot, UnreadCause};

/// Whether a server refused the scale, rather than that the input lacks it. Then nothing else was requested.
pub(super) fn is_refused(input: &Input) -> bool {
    input.snapshot.scale.is_err() && !input.surroundings.lacks_scale
}

/// Returns the failed requests of one snapshot, except those whose failure is their answer. They are limited to its HPA
/// if there are others.
pub(super) fn errors_of(input: &Input, also: &[MetricSpec], hpa: Option<&str>) -> Vec<ApiError> {
    let Input {
        snapshot,
        surroundings,
        ..
    } = input;
    let of_scale = match &snapshot.scale {
        Err(ScaleError::Mapping(message)) => Some(failed(Api::Mapping, None, message)),
        Err(ScaleError::Get(message)) => Some(failed(Api::Scale, None, message)),
        Err(ScaleError::Missing(target)) => Some(no_target(target)),
        // The target itself says so.
        Err(ScaleError::NoReplicas { .. }) | Ok(_) => None,
    };
    let update = snapshot.scale_update_error.iter();
    let of_update = update.map(|message| failed(Api::ScaleUpdate, None, message));
    let of_pods = snapshot
        .pods_unread
        .as_ref()
        .map(|why| unread(Api::Pods, None, why));
    let metrics = answered(snapshot, also).filter(|(spec, _)| MetricRequest::of(spec).is_none());
    let of_metrics = metrics.filter_map(|(spec, answer)| failure(spec, answer));
    let mut errors = Vec::new();
    let all = of_scale.into_iter().chain(of_update).chain(of_pods);
    for failure in all.chain(of_metrics) {
        let is_of_scale = matches!(failure.api, Api::Mapping | Api::Scale);
        let error = ApiError {
            hpa: hpa.map(str::to_owned),
            assumed: surroundings.lacks_scale && is_of_scale,
            ..failure
        };
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    errors
}

/// Returns the missing scales of the HPAs that are saved because an input has the same missing target.
pub(super) fn of_rivals(inputs: &[&Input]) -> Vec<ApiError> {
    let mut seen: HashSet<String> = inputs.iter().map(|it| it.snapshot.hpa.key()).collect();
    let mut errors = Vec::new();
    for input in inputs {
        let Err(ScaleError::Missing(target)) = &input.snapshot.scale else {
            continue;
        };
        let rivals = input.surroundings.rivals.iter().map(Hpa::key);
        let unseen = rivals.filter(|key| seen.insert(key.clone()));
        errors.extend(unseen.map(|key| ApiError {
            hpa: Some(key),
            assumed: input.surroundings.lacks_scale,
            ..no_target(target)
        }));
    }
    errors
}

/// Returns the failure of the request for the scale of a target that the input lacks.
fn no_target(target: &MissingTarget) -> ApiError {
    ApiError {
        missing: Some(Documents::Scale),
        ..failed(Api::Scale, None, &format!("the input has no {target}"))
    }
}

/// Returns a failure that is the controller's, too.
fn failed(api: Api, metric: Option<&str>, message: &str) -> ApiError {
    ApiError {
        api,
        metric: metric.map(str::to_owned),
        hpa: None,
        message: message.to_owned(),
        denied: false,
        unanswered: false,
        missing: None,
        assumed: false,
    }
}

/// Returns the failure of the request for a metric, if it failed.
fn failure(spec: &MetricSpec, answer: &MetricAnswer) -> Option<ApiError> {
    let (api, name) = asked(spec);
    match answer {
        MetricAnswer::Failed(message) => Some(failed(api, name, message)),
        // This is the failure of another request.
        MetricAnswer::Unread(UnreadCause::PodsRefused { .. }) => None,
        MetricAnswer::Unread(why) => Some(unread(api, name, why)),
        _ => None,
    }
}

/// Returns the failure of a request to which the controller may have an answer.
fn unread(api: Api, metric: Option<&str>, why: &UnreadCause) -> ApiError {
    let error = |message: &str| failed(api, metric, message);
    match why {
        UnreadCause::Refused { message } | UnreadCause::PodsRefused { message } => ApiError {
            denied: true,
            ..error(message)
        },
        UnreadCause::Unanswered { message } => ApiError {
            unanswered: true,
            ..error(message)
        },
        UnreadCause::Missing { documents } => {
            let message = match documents {
                Documents::Samples => "not in the history",
                _ => "not in the input",
            };
            ApiError {
                missing: Some(*documents),
                ..error(message)
            }
        }
    }
}

/// Returns the requested metrics, with their answers. Metrics that are named only in the metadata of a
/// ScaledObject's triggers in a manifest are left out: none of that metadata is saved.
fn answered<'a>(
    snapshot: &'a Snapshot,
    also: &'a [MetricSpec],
) -> impl Iterator<Item = (&'a MetricSpec, &'a MetricAnswer)> {
    let own = &snapshot.hpa.spec.metrics;
    let answers = own.iter().chain(also).zip(&snapshot.metrics);
    let is_saved = |place: usize, spec: &MetricSpec| place < own.len() || !is_of_trigger(spec);
    answers
        .enumerate()
        .filter(move |(place, (spec, _))| is_saved(*place, spec))
        .map(|(_, it)| it)
}

/// Returns the answers of the metrics APIs, verbatim; none if the scale was refused.
pub(super) fn answers_to<'a>(input: &'a Input, also: &'a [MetricSpec]) -> Vec<ApiAnswer<'a>> {
    let mut answers = Vec::new();
    if is_refused(input) {
        return answers;
    }
    let snapshot = &input.snapshot;
    let is_usage = |(_, answer): (&MetricSpec, &MetricAnswer)| *answer == MetricAnswer::PodMetrics;
    if !snapshot.pod_metrics.is_empty() || answered(snapshot, also).any(is_usage) {
        let pod_metrics = Some(Cow::Borrowed(&*snapshot.pod_metrics));
        answers.push(ApiAnswer {
            pod_metrics,
            ..bare_answer(snapshot, Api::Resource)
        });
    }
    for (spec, answered) in answered(snapshot, also) {
        let Some(request) = MetricRequest::of(spec) else {
            continue;
        };
        let (described_object, metric) = match request {
            MetricRequest::Pods(metric) | MetricRequest::External(metric) => (None, metric),
            MetricRequest::Object(object, metric) => (Some(object.clone()), metric),
        };
        let values = values(answered);
        let failure = failure(spec, answered);
        if values.is_none() && failure.is_none() {
            continue;
        }
        answers.push(ApiAnswer {
            metric: Some(metric.clone()),
            described_object,
            values,
            denied: failure.as_ref().is_some_and(|it| it.denied),
            unanswered: failure.as_ref().is_some_and(|it| it.unanswered),
            missing: failure.as_ref().and_then(|it| it.missing),
            message: failure.map(|it| it.message),
            ..bare_answer(snapshot, asked(spec).0)
        });
    }
    answers
}

/// Returns the frame of an answer of a metrics API, without a metric or values.
fn bare_answer(snapshot: &Snapshot, api: Api) -> ApiAnswer<'static> {
    ApiAnswer {
        hpa: snapshot.hpa.key(),
        api,
        metric: None,
        described_object: None,
        pod_metrics: None,
        values: None,
        message: None,
        denied: false,
        unanswered: false,
        missing: None,
    }
}

/// Returns the values of the custom or external metrics API.
fn values(answer: &MetricAnswer) -> Option<Vec<AnsweredValue>> {
    Some(match answer {
        MetricAnswer::Pods(values) => values
            .iter()
            .map(|it| AnsweredValue {
                pod: Some(it.pod.clone()),
                timestamp: Some(it.timestamp),
                window: Some(GoDuration(it.window)),
                value: Milli(it.value),
                ..AnsweredValue::default()
            })
            .collect(),
        MetricAnswer::Object(values) => values
            .iter()
            .map(|it| AnsweredValue {
                timestamp: it.timestamp,
                value: Milli(it.value),
                ..AnsweredValue::default()
            })
            .collect(),
        MetricAnswer::External(values) => values
            .iter()
            .map(|it| AnsweredValue {
                labels: Some(it.labels.clone()),
                timestamp: it.timestamp,
                value: Milli(it.value),
                ..AnsweredValue::default()
            })
            .collect(),
        MetricAnswer::PodMetrics | MetricAnswer::Failed(_) | MetricAnswer::Unread(_) => {
            return None;
        }
    })
}
