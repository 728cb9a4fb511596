//! The answers of the metrics APIs, from saved objects: each metric of the spec gets the answer
//! that was saved for its request, or the values that the request would select.

use super::Place;
use super::index::Index;
use super::target::resource_of;
use crate::apimachinery::names;
use crate::apimachinery::selector::{LabelSelector, Selector};
use crate::saved::objects::{AnsweredValue, Api, ApiAnswer, ControllerState};
use crate::snapshot::hpa::{
    CrossVersionObjectReference, Hpa, MetricIdentifier, MetricSource, MetricSpec,
};
use crate::snapshot::metric::{MetricValue, ObjectReference};
use crate::snapshot::pod::ZERO_TIME;
use crate::snapshot::{
    Documents, ExternalValue, MetricAnswer, ObjectValue, PodValue, Scale, UnreadCause,
};

/// Answers the requests for metrics from the objects.
pub(super) struct Answers<'o> {
    pub(super) hpa: &'o Hpa,
    pub(super) place: &'o Place<'o, 'o>,
    /// The target's scale, if it could be read.
    pub(super) scale: Option<&'o Scale>,
    /// The values of the pods that the target selects.
    pub(super) pod_values: &'o [&'o MetricValue],
}

impl Answers<'_> {
    /// Returns an answer for each metric of the HPA, then for each that is requested besides. Several saved answers to
    /// one request are used once each, in the order of the spec.
    pub(super) fn all(&self) -> Vec<MetricAnswer> {
        let Index {
            options, requests, ..
        } = self.place.index;
        let mut saved: Vec<(MetricRequest<'_>, &ApiAnswer<'_>)> = requests
            .answers(self.hpa)
            .iter()
            .filter_map(|answer| Some((MetricRequest::answered(answer)?, *answer)))
            .collect();
        let mut given: Vec<(MetricRequest<'_>, &ApiAnswer<'_>)> = Vec::new();
        let specs = self.hpa.spec.metrics.iter().chain(&options.also);
        specs
            .map(|spec| {
                let (api, name) = asked(spec);
                if let Some(e) = requests.error(self.hpa, api, name) {
                    return failure(&e.message, e.denied, e.missing);
                }
                let request = MetricRequest::of(spec);
                if let Some(request) = request {
                    if let Some(place) = saved.iter().position(|(other, _)| request.is(other)) {
                        given.push(saved.remove(place));
                    }
                    if let Some((_, answer)) =
                        given.iter().rev().find(|(other, _)| request.is(other))
                    {
                        return as_answered(answer, &request);
                    }
                }
                if let Some(documents) = self.lacking(spec) {
                    return MetricAnswer::Unread(UnreadCause::Missing { documents });
                }
                match request {
                    None => MetricAnswer::PodMetrics,
                    Some(MetricRequest::Pods(metric)) => self.pods(metric),
                    Some(MetricRequest::Object(object, metric)) => self.object(object, metric),
                    Some(MetricRequest::External(metric)) => self.external(metric),
                }
            })
            .collect()
    }

    /// Returns the documents that a metric without a saved answer needs and the input lacks entirely. A
    /// ControllerState with neither HPAs nor answers is written by hand, and complete for the metrics of the HPA; others
    /// were not requested. A saved one has the answers to what was requested, which is nothing if the scale was refused.
    /// An input without a ControllerState has whatever kubectl was asked for.
    fn lacking(&self, spec: &MetricSpec) -> Option<Documents> {
        let Index {
            objects, requests, ..
        } = self.place.index;
        let is_listed = |documents| objects.has_list(documents, &self.hpa.namespace);
        let is_asked_for = self.is_asked_for(spec);
        let is_by_hand =
            |state: &ControllerState<'_>| state.hpas.is_empty() && state.answers.is_empty();
        let is_refused = |api| {
            let error = requests.error(self.hpa, api, None);
            error.is_some_and(|e| e.missing.is_none())
        };
        let is_complete = objects.state.as_ref().is_some_and(is_by_hand)
            || [Api::Mapping, Api::Scale].into_iter().any(is_refused);
        let has_usage = requests.pod_metrics(self.hpa).is_some();
        if is_asked_for && is_complete || has_usage && spec.is_resource() {
            return None;
        }
        let (api, name) = asked(spec);
        let name = name?;
        let request = MetricRequest::of(spec);
        // Documents of another namespace say nothing about this one.
        let Place {
            pods, pod_metrics, ..
        } = self.place;
        let (documents, is_there) = match api {
            Api::Resource => (Documents::PodMetrics, !pod_metrics.is_empty()),
            Api::Custom => {
                let mut values = self.place.metric_values.iter();
                let is_of = |object: &ObjectReference| match request {
                    // The request is for one object.
                    Some(MetricRequest::Object(wanted, _)) => self.is_described(wanted, object),
                    _ => object.kind == "Pod",
                };
                let is_there =
                    values.any(|value| value.name == name && is_of(&value.described_object));
                (Documents::MetricValueList, is_there)
            }
            Api::External => {
                let mut values = objects.external_values.iter();
                (
                    Documents::ExternalMetricValueList,
                    values.any(|value| value.metric_name == name),
                )
            }
            Api::Mapping | Api::Scale | Api::ScaleUpdate => return None,
        };
        // If a metric was not requested, only a value is an answer: an empty list answers another request.
        let (is_there, is_answered) = match request {
            Some(request) if !is_asked_for => (self.has_value(request), false),
            _ => (is_there, is_listed(documents)),
        };
        if !is_there && !is_answered {
            return Some(documents);
        }
        let has_pods = !pods.is_empty()
            || is_listed(Documents::Pod)
            || self.scale.is_none_or(|scale| scale.status_replicas <= 0);
        (spec.needs_pods() && !has_pods).then_some(Documents::Pod)
    }

    /// Whether the objects have a value for a request.
    fn has_value(&self, request: MetricRequest<'_>) -> bool {
        let answer = match request {
            // Whose pods they are is another question.
            MetricRequest::Pods(metric) => {
                let mut values = self.values(metric);
                return values.any(|value| value.described_object.kind == "Pod");
            }
            MetricRequest::Object(object, metric) => self.object(object, metric),
            MetricRequest::External(metric) => self.external(metric),
        };
        match answer {
            MetricAnswer::Object(values) => !values.is_empty(),
            MetricAnswer::External(values) => !values.is_empty(),
            _ => false,
        }
    }

    /// Whether a metric of the HPA needs the same answer.
    fn is_asked_for(&self, spec: &MetricSpec) -> bool {
        let request = MetricRequest::of(spec);
        let metrics = &self.hpa.spec.metrics;
        metrics
            .iter()
            .any(|own| match (MetricRequest::of(own), request) {
                (Some(own), Some(request)) => own.is(&request),
                (None, None) => own.is_resource() && spec.is_resource(),
                _ => false,
            })
    }

    fn values<'a>(&'a self, metric: &'a MetricIdentifier) -> impl Iterator<Item = &'a MetricValue> {
        let all = self.place.metric_values.iter().copied();
        all.filter(|value| is_of(value, metric))
    }

    fn pods(&self, metric: &MetricIdentifier) -> MetricAnswer {
        let own = self.pod_values.iter().copied();
        let values = own.filter(|value| is_of(value, metric));
        MetricAnswer::Pods(values.map(MetricValue::of_pod).collect())
    }

    fn object(
        &self,
        wanted: &CrossVersionObjectReference,
        metric: &MetricIdentifier,
    ) -> MetricAnswer {
        // An object has one value at a time: the first that was read.
        let mut values = self.values(metric);
        match values.find(|value| self.is_described(wanted, &value.described_object)) {
            Some(value) => MetricAnswer::Object(vec![value.of_object()]),
            // An adapter without a value answers "not found", never with an empty list.
            None => MetricAnswer::Failed(self.absence(wanted, metric)),
        }
    }

    /// Whether a value describes the object that a metric names.
    fn is_described(&self, wanted: &CrossVersionObjectReference, object: &ObjectReference) -> bool {
        (object.kind == wanted.kind || object.kind.to_lowercase() == wanted.kind)
            && object.name == described_name(wanted, self.hpa)
            && (object.api_version.is_empty()
                || names::group(&object.api_version) == wanted.group())
    }

    /// Returns an adapter's message if it has no value for an object.
    fn absence(&self, object: &CrossVersionObjectReference, metric: &MetricIdentifier) -> String {
        format!(
            "the server could not find the metric {} for {} {}",
            metric.name,
            resource_of(object.group(), &object.kind),
            described_name(object, self.hpa)
        )
    }

    /// Returns the values that a selector matches. An API need not repeat the labels that it was asked for, and KEDA
    /// does not: a value without any may be of every metric of the name, and is of the only one.
    fn external(&self, metric: &MetricIdentifier) -> MetricAnswer {
        // An unusable selector fails in the engine, before any value counts.
        let selector = match &metric.selector {
            Some(selector) => selector.to_selector().unwrap_or_default(),
            None => Selector::default(),
        };
        let all = self.place.index.objects.external_values.iter();
        let named = all.filter(|value| value.metric_name == metric.name);
        let [mut matching, mut unlabelled] = [Vec::new(), Vec::new()];
        for value in named {
            if selector.matches(&value.metric_labels) {
                matching.push(value);
            } else if value.metric_labels.is_empty() {
                unlabelled.push(value);
            }
        }
        if matching.is_empty() && !unlabelled.is_empty() {
            if !self.is_only_one(metric) {
                let documents = Documents::ExternalMetricValueList;
                return MetricAnswer::Unread(UnreadCause::Missing { documents });
            }
            matching = unlabelled;
        }
        let values = matching.into_iter().map(|value| ExternalValue {
            labels: value.metric_labels.clone(),
            value: value.value.milli_value(),
            timestamp: value.timestamp,
        });
        MetricAnswer::External(values.collect())
    }

    /// Whether the input has no other external metric of this name. Values do not state their namespace.
    fn is_only_one(&self, metric: &MetricIdentifier) -> bool {
        let Place { index, hpas, .. } = self.place;
        let admitted = hpas.iter().filter_map(|own| own.admitted.as_ref().ok());
        let mut specs = admitted
            .flat_map(|(hpa, _)| &hpa.spec.metrics)
            .chain(&index.options.also);
        let is_in_one_namespace = index.hpas.len() <= 1;
        is_in_one_namespace
            && specs.all(|spec| match spec.source() {
                MetricSource::External(other) => {
                    other.metric.name != metric.name || is_same(&other.metric, metric)
                }
                _ => true,
            })
    }
}

/// A request to the custom or external metrics API.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MetricRequest<'a> {
    /// A metric of each pod of the target.
    Pods(&'a MetricIdentifier),
    /// A metric of an object.
    Object(&'a CrossVersionObjectReference, &'a MetricIdentifier),
    /// An external metric.
    External(&'a MetricIdentifier),
}

impl<'a> MetricRequest<'a> {
    /// Returns the request for a metric; `None` for a resource metric, because these share an answer.
    pub(crate) fn of(spec: &'a MetricSpec) -> Option<Self> {
        match spec.source() {
            MetricSource::Pods(source) => Some(Self::Pods(&source.metric)),
            MetricSource::Object(source) => {
                Some(Self::Object(&source.described_object, &source.metric))
            }
            MetricSource::External(source) => Some(Self::External(&source.metric)),
            _ => None,
        }
    }

    /// Returns the request that a saved answer belongs to.
    fn answered(answer: &'a ApiAnswer<'_>) -> Option<Self> {
        let metric = answer.metric.as_ref()?;
        match (answer.api, &answer.described_object) {
            (Api::Custom, None) => Some(Self::Pods(metric)),
            (Api::Custom, Some(object)) => Some(Self::Object(object, metric)),
            (Api::External, _) => Some(Self::External(metric)),
            _ => None,
        }
    }

    /// Whether both requests are the same.
    fn is(&self, other: &MetricRequest<'_>) -> bool {
        match (*self, *other) {
            (Self::Pods(one), MetricRequest::Pods(other))
            | (Self::External(one), MetricRequest::External(other)) => is_same(one, other),
            (Self::Object(object, one), MetricRequest::Object(other_object, other)) => {
                (object.group(), &object.kind, &object.name)
                    == (other_object.group(), &other_object.kind, &other_object.name)
                    && is_same(one, other)
            }
            _ => false,
        }
    }
}

/// Returns a saved answer to a request.
fn as_answered(answer: &ApiAnswer<'_>, request: &MetricRequest<'_>) -> MetricAnswer {
    if let Some(message) = &answer.message {
        return failure(message, answer.denied, answer.missing);
    }
    let values = answer.values.iter().flatten();
    match request {
        MetricRequest::Pods(_) => MetricAnswer::Pods(
            values
                .map(
                    |AnsweredValue {
                         pod,
                         value,
                         timestamp,
                         window,
                         ..
                     }| PodValue {
                        pod: pod.clone().unwrap_or_default(),
                        value: value.0,
                        timestamp: timestamp.unwrap_or(ZERO_TIME),
                        window: window.unwrap_or_default().0,
                    },
                )
                .collect(),
        ),
        MetricRequest::Object(..) => MetricAnswer::Object(
            values
                .map(|item| ObjectValue {
                    value: item.value.0,
                    timestamp: item.timestamp,
                })
                .collect(),
        ),
        MetricRequest::External(_) => MetricAnswer::External(
            values
                .map(
                    |AnsweredValue {
                         labels,
                         value,
                         timestamp,
                         ..
                     }| ExternalValue {
                        labels: labels.clone().unwrap_or_default(),
                        value: value.0,
                        timestamp: *timestamp,
                    },
                )
                .collect(),
        ),
    }
}

/// Whether a value is one of a metric.
fn is_of(value: &MetricValue, metric: &MetricIdentifier) -> bool {
    value.name == metric.name
        && non_empty(value.selector.as_ref()) == non_empty(metric.selector.as_ref())
}

/// Whether both are the same metric with the same selector.
fn is_same(one: &MetricIdentifier, other: &MetricIdentifier) -> bool {
    one.name == other.name && non_empty(one.selector.as_ref()) == non_empty(other.selector.as_ref())
}

/// Returns the failure of a request that failed, was refused, or lacked documents in the input.
fn failure(message: &str, denied: bool, missing: Option<Documents>) -> MetricAnswer {
    match (missing, denied) {
        (Some(documents), _) => MetricAnswer::Unread(UnreadCause::Missing { documents }),
        (None, true) => MetricAnswer::Unread(UnreadCause::Refused {
            message: message.to_owned(),
        }),
        (None, false) => MetricAnswer::Failed(message.to_owned()),
    }
}

/// Returns the API that serves a metric, and the metric's name there.
pub(crate) fn asked(spec: &MetricSpec) -> (Api, Option<&str>) {
    let api = match spec.source() {
        MetricSource::Resource(_) | MetricSource::ContainerResource(_) => Api::Resource,
        MetricSource::Pods(_) | MetricSource::Object(_) => Api::Custom,
        MetricSource::External(_) => Api::External,
        MetricSource::Unknown => return (Api::External, None),
    };
    (api, Some(spec.name()))
}

/// Returns the name of the object in the request for its metric. A metric of a namespace is requested for
/// the HPA's own namespace, whatever name is stated.
pub(crate) fn described_name<'a>(object: &'a CrossVersionObjectReference, hpa: &'a Hpa) -> &'a str {
    if object.is_namespace() {
        &hpa.namespace
    } else {
        &object.name
    }
}

/// Drops an empty selector, which the metrics APIs treat like null.
pub(crate) fn non_empty(selector: Option<&LabelSelector>) -> Option<&LabelSelector> {
    selector.filter(|selector| **selector != LabelSelector::default())
}
