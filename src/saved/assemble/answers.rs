//! The answers of the metrics APIs, from saved objects: each metric of the spec gets the answer
//! that was saved for its request, or the values that the request would select.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::index::Index;
use super::target::resource_of;
use super::{Place, Portion};
use crate::apimachinery::names;
use crate::apimachinery::selector::{LabelSelector, Labels, Selector};
use crate::saved::state::{AnsweredValue, Api, ApiAnswer, ControllerState};
use crate::snapshot::hpa::{
    CrossVersionObjectReference, Hpa, MetricIdentifier, MetricSource, MetricSpec,
};
use crate::snapshot::metric::{ExternalMetricValue, MetricValue, ObjectReference};
use crate::snapshot::note::Note;
use crate::snapshot::pod::{Phase, ZERO_TIME};
use crate::snapshot::{
    Documents, ExternalValue, MetricAnswer, ObjectValue, PodValue, Scale, UnreadCause,
};

/// Answers the requests for metrics from the objects.
pub(super) struct Answers<'o> {
    pub(super) hpa: &'o Hpa,
    pub(super) place: &'o Place<'o, 'o>,
    /// The target's scale, if it could be read.
    pub(super) scale: Option<&'o Scale>,
    pub(super) portion: &'o Portion<'o>,
    /// Whether the input has pods that the target selects or owns.
    pub(super) has_pods: bool,
}

impl Answers<'_> {
    /// Returns an answer for each metric of the HPA, then for each additional metric. Several saved answers to one
    /// request are used once each, in the order of the spec.
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
                    return failure(&e.message, [e.denied, e.unanswered], e.missing);
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
                let answer = request.map_or(Ok(MetricAnswer::PodMetrics), |it| self.answer(it));
                answer.unwrap_or_else(MetricAnswer::Unread)
            })
            .collect()
    }

    /// Returns the documents that a metric without a saved answer needs and the input lacks entirely. A
    /// ControllerState with neither HPAs nor answers is written by hand, and complete for the metrics of the HPA; others
    /// were not requested. A saved one has the answers to what was requested, which is nothing if the scale was refused.
    /// An input without a ControllerState has whatever kubectl was asked for: only a list shows what does not exist, and
    /// not even one without any of the pods that a target reports.
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
        name?;
        let request = MetricRequest::of(spec);
        // Documents of another namespace say nothing about this one.
        let Place {
            pods, pod_metrics, ..
        } = self.place;
        let (documents, is_there) = match api {
            Api::Resource if self.lacks_usage() => return Some(Documents::PodMetricsList),
            Api::Resource => (Documents::PodMetrics, !pod_metrics.is_empty()),
            Api::Custom => {
                let is_there = match request {
                    // The request is for one object.
                    Some(MetricRequest::Object(wanted, metric)) => {
                        self.values_of_object(wanted, metric).next().is_some()
                    }
                    Some(MetricRequest::Pods(metric)) => self.has_value_of_pod(metric),
                    _ => false,
                };
                (Documents::MetricValueList, is_there)
            }
            Api::External => {
                let metric = request.map(|it| it.metric());
                let is_there = metric.is_some_and(|it| self.candidates(it).next().is_some());
                (Documents::ExternalMetricValueList, is_there)
            }
            Api::Mapping | Api::Scale | Api::ScaleUpdate | Api::Pods => return None,
        };
        // If a metric was not requested, only a value is an answer: an empty list answers another request.
        let (is_there, is_answered) = match request {
            Some(request) if !is_asked_for => (self.has_value(request), false),
            _ => (is_there, is_listed(documents)),
        };
        if !is_there && !is_answered {
            return Some(documents);
        }
        let has_pods = self.has_pods
            || objects.state.is_some() && !pods.is_empty()
            || self.place.lists_pods_of(self.hpa, self.scale)
            || self.scale.is_none_or(|scale| scale.status_replicas <= 0);
        (spec.needs_pods() && !has_pods).then_some(Documents::Pod)
    }

    /// Whether the usage of some pods is unknown, because the input only has single PodMetrics, and none of a pod that
    /// runs.
    fn lacks_usage(&self) -> bool {
        let Place {
            index, pod_metrics, ..
        } = self.place;
        let objects = index.objects;
        let is_whole = objects.state.is_some()
            || pod_metrics.is_empty()
            || objects.has_list(Documents::PodMetrics, &self.hpa.namespace);
        let Some(scale) = self.scale.filter(|_| !is_whole) else {
            return false;
        };
        let usage = self.portion.usage.iter();
        let measured: HashSet<&str> = usage.map(|item| &*item.name).collect();
        let own = self.portion.pods.iter();
        own.filter(|pod| scale.selector.matches(&pod.labels))
            .filter(|pod| pod.is_active() && pod.phase == Phase::Running)
            .any(|pod| !measured.contains(&*pod.name))
    }

    /// Whether the objects have a value for a request.
    fn has_value(&self, request: MetricRequest<'_>) -> bool {
        // Whose pods they are is another question.
        if let MetricRequest::Pods(metric) = request {
            return self.has_value_of_pod(metric);
        }
        match self.answer(request) {
            Ok(MetricAnswer::Object(values)) => !values.is_empty(),
            Ok(MetricAnswer::External(values)) => !values.is_empty(),
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

    fn has_value_of_pod(&self, metric: &MetricIdentifier) -> bool {
        let mut values = self.place.metric_values.iter();
        values.any(|value| may_be_of(value, metric) && value.described_object.kind == "Pod")
    }

    fn values_of_object<'a>(
        &'a self,
        wanted: &'a CrossVersionObjectReference,
        metric: &'a MetricIdentifier,
    ) -> impl Iterator<Item = &'a MetricValue> {
        let all = self.place.metric_values.iter().copied();
        all.filter(|value| {
            self.is_described(wanted, &value.described_object) && may_be_of(value, metric)
        })
    }

    /// Returns the answer to a request that the values give.
    fn answer(&self, request: MetricRequest<'_>) -> Result<MetricAnswer, UnreadCause> {
        Ok(match request {
            MetricRequest::Pods(_) => {
                let values = self.custom(request)?.into_iter();
                MetricAnswer::Pods(values.map(MetricValue::of_pod).collect())
            }
            // An object has one value at a time: the first that was read.
            MetricRequest::Object(wanted, metric) => match self.custom(request)?.first() {
                Some(value) => MetricAnswer::Object(vec![value.of_object()]),
                // An adapter without a value answers "not found", never with an empty list.
                None => MetricAnswer::Failed(self.absence(wanted, metric)),
            },
            MetricRequest::External(metric) => MetricAnswer::External(self.external(metric)?),
        })
    }

    /// Returns the values of a metric of the target's pods or another object.
    fn custom<'a>(
        &'a self,
        request: MetricRequest<'a>,
    ) -> Result<Vec<&'a MetricValue>, UnreadCause> {
        let metric = request.metric();
        let values: Vec<&MetricValue> = match request {
            MetricRequest::Object(wanted, _) => self.values_of_object(wanted, metric).collect(),
            _ => {
                let own = self.portion.values.iter().copied();
                own.filter(|value| may_be_of(value, metric)).collect()
            }
        };
        let values = values.into_iter();
        self.selected(request, values, is_of(metric), object_alone, |_| false)
    }

    /// Returns notes about metrics for which the input has different values for one object, or several lists of
    /// external values: as in the controller, the last value of a pod counts.
    pub(super) fn repeated(&self) -> Vec<Note> {
        if !self.place.index.requests.answers(self.hpa).is_empty() {
            return Vec::new();
        }
        let requests = self.hpa.spec.metrics.iter().filter_map(MetricRequest::of);
        let texts = requests.filter_map(|request| {
            let which = match request {
                MetricRequest::Object(..) => "first",
                MetricRequest::Pods(_) | MetricRequest::External(_) => "last",
            };
            let mut totals: BTreeMap<(String, usize), i128> = BTreeMap::new();
            for (series, list, value) in self.repetitions(request).ok()? {
                *totals.entry((series, list)).or_default() += i128::from(value);
            }
            let mut pairs = totals.iter().zip(totals.iter().skip(1));
            let (((series, _), _), _) =
                pairs.find(|((one, was), (other, is))| one.0 == other.0 && was != is)?;
            Some(format!(
                "the input has several values of {series}: the {which} one counts"
            ))
        });
        let each_once: BTreeSet<String> = texts.collect();
        each_once.into_iter().map(Note::new).collect()
    }

    /// Returns the values of a metric with what they are of. Those with the same number do not repeat each other: an
    /// external metric may have several in a list.
    fn repetitions(
        &self,
        request: MetricRequest<'_>,
    ) -> Result<Vec<(String, usize, i64)>, UnreadCause> {
        if let MetricRequest::External(metric) = request {
            let values = self.external_values(metric)?.into_iter().map(|value| {
                let labels = value.metric_labels.iter();
                let labels: Vec<String> = labels.map(|(key, own)| format!("{key}={own}")).collect();
                let series = format!("{}{{{}}}", value.metric_name, labels.join(","));
                (series, value.list, value.value.milli_value())
            });
            return Ok(values.collect());
        }
        let values = self.custom(request)?.into_iter().enumerate();
        let values = values.map(|(place, value)| {
            let ObjectReference { kind, name, .. } = &value.described_object;
            let series = format!("{} for {kind}/{name}", value.name);
            (series, place, value.value.milli_value())
        });
        Ok(values.collect())
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

    /// Returns the values that a selector matches. Each list answers a request: what was asked again has the values of the
    /// last one.
    fn external(&self, metric: &MetricIdentifier) -> Result<Vec<ExternalValue>, UnreadCause> {
        let all = self.external_values(metric)?;
        let labels = all.iter().map(|value| (&value.metric_labels, value.list));
        let last: HashMap<&Labels, usize> = labels.collect();
        let current = all
            .iter()
            .filter(|value| last[&value.metric_labels] == value.list);
        let values = current.map(|value| ExternalValue {
            labels: value.metric_labels.clone(),
            value: value.value.milli_value(),
            timestamp: value.timestamp,
        });
        Ok(values.collect())
    }

    /// Returns the values of an external metric in all lists.
    fn external_values<'a>(
        &'a self,
        metric: &'a MetricIdentifier,
    ) -> Result<Vec<&'a ExternalMetricValue>, UnreadCause> {
        let selector = selector_of(metric);
        let matches = |value: &ExternalMetricValue| selector.matches(&value.metric_labels);
        let values = self.candidates(metric);
        let request = MetricRequest::External(metric);
        let bare = |value: &ExternalMetricValue| value.metric_labels.is_empty().then_some("");
        let is_elsewhere = |value: &ExternalMetricValue| {
            self.is_requested_outside(&metric.name, &value.metric_labels)
        };
        self.selected(request, values, matches, bare, is_elsewhere)
    }

    /// Returns the values of an external metric's name that its selector may have selected: the query of an adapter may
    /// have aggregated the labels that a value lacks.
    fn candidates<'a>(
        &'a self,
        metric: &'a MetricIdentifier,
    ) -> impl Iterator<Item = &'a ExternalMetricValue> {
        let selector = selector_of(metric);
        let all = self.place.index.objects.external_values.iter();
        let named = all.filter(|value| value.metric_name == metric.name);
        // If there are values of another request, those that lack labels may be its own.
        let are_mixed = named
            .clone()
            .any(|value| !selector.may_match(&value.metric_labels));
        named.filter(move |value| {
            let labels = &value.metric_labels;
            let may_be_meant = labels.is_empty() || !are_mixed && selector.may_match(labels);
            may_be_meant || selector.matches(labels)
        })
    }

    /// Returns the values of a metric's name that its selector selects. An API need not repeat the selector or the
    /// labels that it was asked for, and KEDA does not: a value that lacks some may belong to every metric of the name,
    /// and belongs to a metric that is the only one. A value without any also belongs to a metric without a selector if
    /// it is the only value of its object and all others lack selectors or labels, too; `bare` returns the object of
    /// such a value. A value that `is_elsewhere` may belong to another namespace.
    fn selected<'v, V>(
        &self,
        request: MetricRequest<'_>,
        values: impl Iterator<Item = &'v V>,
        is_selected: impl Fn(&V) -> bool,
        bare: impl Fn(&'v V) -> Option<&'v str>,
        is_elsewhere: impl Fn(&V) -> bool,
    ) -> Result<Vec<&'v V>, UnreadCause> {
        let (selected, others): (Vec<&V>, Vec<&V>) = values.partition(|value| is_selected(value));
        let is_selecting = !selected.is_empty();
        let found = if is_selecting { selected } else { others };
        let bare: Vec<&str> = found.iter().filter_map(|value| bare(value)).collect();
        let is_each_once = bare.len() == BTreeSet::from_iter(&bare).len();
        let is_alike = bare.is_empty() || bare.len() == found.len() && is_each_once;
        let is_clear = found.is_empty()
            || is_selecting && is_alike && !found.iter().any(|value| is_elsewhere(value))
            || self.is_only_one(request);
        if is_clear {
            return Ok(found);
        }
        let documents = match request {
            MetricRequest::External(_) => Documents::UnambiguousExternalMetricValueList,
            MetricRequest::Pods(_) | MetricRequest::Object(..) => {
                Documents::UnambiguousMetricValueList
            }
        };
        Err(UnreadCause::Missing { documents })
    }

    /// Whether an HPA of another namespace has an external metric of this name that may have a value with these labels:
    /// external values do not state their namespace.
    fn is_requested_outside(&self, name: &str, labels: &Labels) -> bool {
        let index = self.place.index;
        index.is_requested_outside(&self.hpa.namespace, name, labels)
    }

    /// Whether the input has no other metric that differs only by its selector or, if it is external, its namespace.
    /// Values belong to metrics of the HPAs rather than to additional metrics.
    fn is_only_one(&self, request: MetricRequest<'_>) -> bool {
        let Place { index, hpas, .. } = self.place;
        let is_external = matches!(request, MetricRequest::External(_));
        if is_external && self.is_requested_outside(&request.metric().name, &Labels::default()) {
            return false;
        }
        let target = &self.hpa.spec.scale_target_ref;
        // The values of pods are known to be of this target.
        let is_of_any = !matches!(request, MetricRequest::Pods(_));
        let of_hpas = hpas
            .iter()
            .filter_map(|own| own.admitted.as_ref().ok())
            .filter(|(hpa, _)| is_of_any || hpa.spec.scale_target_ref.is_same(target))
            .flat_map(|(hpa, _)| &hpa.spec.metrics);
        let mut own = self.hpa.spec.metrics.iter().filter_map(MetricRequest::of);
        let is_own = own.any(|own| own.is(&request));
        let besides = index.options.also.iter().filter(|_| !is_own);
        of_hpas
            .chain(besides)
            .filter_map(MetricRequest::of)
            .all(|other| !other.is_alike(&request) || other.is(&request))
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

    fn metric(&self) -> &'a MetricIdentifier {
        let (Self::Pods(metric) | Self::Object(_, metric) | Self::External(metric)) = self;
        metric
    }

    /// Whether both requests are the same.
    fn is(&self, other: &MetricRequest<'_>) -> bool {
        self.is_alike(other)
            && is_same(
                self.metric().selector.as_ref(),
                other.metric().selector.as_ref(),
            )
    }

    /// Whether both requests are the same, except for the selector of the metric.
    fn is_alike(&self, other: &MetricRequest<'_>) -> bool {
        let is_same_source = match (*self, *other) {
            (Self::Pods(_), MetricRequest::Pods(_))
            | (Self::External(_), MetricRequest::External(_)) => true,
            (Self::Object(one, _), MetricRequest::Object(other, _)) => {
                (one.group(), &one.kind, &one.name) == (other.group(), &other.kind, &other.name)
            }
            _ => false,
        };
        is_same_source && self.metric().name == other.metric().name
    }
}

/// Returns the selector of a metric. An unusable one fails in the engine, before any value counts.
fn selector_of(metric: &MetricIdentifier) -> Selector {
    let stated = metric.selector.as_ref();
    let usable = stated.and_then(|it| it.to_selector().ok());
    usable.unwrap_or_default()
}

/// Returns a saved answer to a request.
fn as_answered(answer: &ApiAnswer<'_>, request: &MetricRequest<'_>) -> MetricAnswer {
    if let Some(message) = &answer.message {
        let own = [answer.denied, answer.unanswered];
        return failure(message, own, answer.missing);
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

/// Returns the name of the object of a value that states no selector.
fn object_alone(value: &MetricValue) -> Option<&str> {
    let is_bare = LabelSelector::non_empty(value.selector.as_ref()).is_none();
    is_bare.then_some(&value.described_object.name)
}

/// Returns whether values state the selector of a metric.
fn is_of(metric: &MetricIdentifier) -> impl Fn(&MetricValue) -> bool {
    let selector = metric.selector.as_ref();
    move |value| is_same(value.selector.as_ref(), selector)
}

/// Whether two selectors are the same as they are sent.
fn is_same(one: Option<&LabelSelector>, other: Option<&LabelSelector>) -> bool {
    match (
        LabelSelector::non_empty(one),
        LabelSelector::non_empty(other),
    ) {
        (Some(one), Some(other)) => {
            one == other || LabelSelector::sent(Some(one)) == LabelSelector::sent(Some(other))
        }
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Whether a value of a metric's name states the metric's selector or none.
fn may_be_of(value: &MetricValue, metric: &MetricIdentifier) -> bool {
    value.name == metric.name
        && (LabelSelector::non_empty(value.selector.as_ref()).is_none() || is_of(metric)(value))
}

/// Returns the failure of a request that failed, was denied or unanswered, or lacked documents in the input.
fn failure(
    message: &str,
    [denied, unanswered]: [bool; 2],
    missing: Option<Documents>,
) -> MetricAnswer {
    let message = message.to_owned();
    if let Some(documents) = missing {
        MetricAnswer::Unread(UnreadCause::Missing { documents })
    } else if denied {
        MetricAnswer::Unread(UnreadCause::Refused { message })
    } else if unanswered {
        MetricAnswer::Unread(UnreadCause::Unanswered { message })
    } else {
        MetricAnswer::Failed(message)
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
