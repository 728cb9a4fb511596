//! What the metrics APIs would answer, out of saved objects: each metric of the spec gets the values
//! that its own request would select.

use std::collections::HashMap;

use super::find_error;
use super::target::resource_of;
use crate::names;
use crate::selector::{LabelSelector, Labels, Selector};
use crate::snapshot::hpa::{
    CrossVersionObjectReference, Hpa, MetricIdentifier, MetricSpec, ObjectMetricSource,
};
use crate::snapshot::metric::{MetricValue, PodMetrics};
use crate::snapshot::objects::{Api, ApiError, Objects};
use crate::snapshot::{ExternalValue, MetricAnswer, PodValue};

/// Answers the requests for metrics from the objects.
pub(super) struct Answers<'o> {
    pub(super) objects: &'o Objects,
    pub(super) hpa: &'o Hpa,
    pub(super) errors: &'o [ApiError],
    pub(super) pod_labels: HashMap<&'o str, &'o Labels>,
    /// The target's selector, where it is readable.
    pub(super) selector: Option<&'o Selector>,
}

impl Answers<'_> {
    /// Whether the resource metrics API would return an item for the target's selector.
    pub(super) fn selects(&self, item: &PodMetrics) -> bool {
        let labels = if item.labels.is_empty() {
            self.pod_labels.get(&*item.name).copied()
        } else {
            Some(&item.labels)
        };
        match (self.selector, labels) {
            (Some(selector), Some(labels)) => selector.matches(labels),
            _ => false,
        }
    }

    pub(super) fn of(&self, spec: &MetricSpec) -> MetricAnswer {
        let (api, name) = asked(spec);
        if let Some(e) = find_error(self.errors, self.hpa, api, name) {
            let text = e.message.clone();
            return if e.denied { MetricAnswer::Denied(text) } else { MetricAnswer::Failed(text) };
        }
        if let Some(source) = spec.pods.as_ref().filter(|_| spec.type_ == "Pods") {
            self.pods(&source.metric)
        } else if let Some(source) = spec.object.as_ref().filter(|_| spec.type_ == "Object") {
            self.object(source)
        } else if let Some(source) = spec.external.as_ref().filter(|_| spec.type_ == "External") {
            self.external(&source.metric)
        } else {
            MetricAnswer::PodMetrics
        }
    }

    fn values<'a>(&'a self, metric: &'a MetricIdentifier) -> impl Iterator<Item = &'a MetricValue> {
        self.objects.metric_values.iter().filter(|value| {
            value.name == metric.name
                && non_empty(value.selector.as_ref()) == non_empty(metric.selector.as_ref())
        })
    }

    fn pods(&self, metric: &MetricIdentifier) -> MetricAnswer {
        let selected = |value: &&MetricValue| {
            let object = &value.described_object;
            object.kind == "Pod"
                && object.namespace == self.hpa.namespace
                && self.pod_labels.get(object.name.as_str()).is_some_and(|labels| {
                    self.selector.is_some_and(|selector| selector.matches(labels))
                })
        };
        MetricAnswer::Pods(
            self.values(metric)
                .filter(selected)
                .map(|value| PodValue {
                    pod: value.described_object.name.as_str().into(),
                    value: value.value.milli_value(),
                    timestamp: value.timestamp,
                    window: value.window,
                })
                .collect(),
        )
    }

    fn object(&self, source: &ObjectMetricSource) -> MetricAnswer {
        let wanted = &source.described_object;
        let group = wanted.group();
        let name = described_name(wanted, self.hpa);
        // An object has one value at a time: the one that was read first.
        let value = self.values(&source.metric).find(|value| {
            let object = &value.described_object;
            (object.kind == wanted.kind || object.kind.to_lowercase() == wanted.kind)
                && object.name == name
                && (wanted.is_namespace() || object.namespace == self.hpa.namespace)
                && (object.api_version.is_empty() || names::group(&object.api_version) == group)
        });
        match value {
            Some(value) => MetricAnswer::Object(vec![value.value.milli_value()]),
            // An adapter without a value answers "not found", never with an empty list.
            None => MetricAnswer::Failed(absence(source, self.hpa)),
        }
    }

    fn external(&self, metric: &MetricIdentifier) -> MetricAnswer {
        // An unusable selector fails in the engine, before any value counts.
        let selector = match &metric.selector {
            Some(selector) => selector.to_selector().unwrap_or_default(),
            None => Selector::default(),
        };
        MetricAnswer::External(
            self.objects
                .external_values
                .iter()
                .filter(|value| {
                    value.metric_name == metric.name && selector.matches(&value.metric_labels)
                })
                .map(|value| ExternalValue {
                    labels: value.metric_labels.clone(),
                    value: value.value.milli_value(),
                })
                .collect(),
        )
    }
}

/// Which API a metric is asked of, and under which name.
pub(in crate::snapshot) fn asked(spec: &MetricSpec) -> (Api, Option<&str>) {
    let (api, name) = match spec.type_.as_str() {
        "Resource" => (Api::Resource, spec.resource.as_ref().map(|source| &source.name)),
        "ContainerResource" => {
            (Api::Resource, spec.container_resource.as_ref().map(|source| &source.name))
        }
        "Pods" => (Api::Custom, spec.pods.as_ref().map(|source| &source.metric.name)),
        "Object" => (Api::Custom, spec.object.as_ref().map(|source| &source.metric.name)),
        _ => (Api::External, spec.external.as_ref().map(|source| &source.metric.name)),
    };
    (api, name.map(String::as_str))
}

/// The name under which the metric of an object is asked for. A metric of a namespace is asked of
/// the HPA's own, whatever name is stated.
pub(crate) fn described_name<'a>(object: &'a CrossVersionObjectReference, hpa: &'a Hpa) -> &'a str {
    if object.is_namespace() { &hpa.namespace } else { &object.name }
}

/// What an adapter answers that has no value for an object.
pub(in crate::snapshot) fn absence(source: &ObjectMetricSource, hpa: &Hpa) -> String {
    let object = &source.described_object;
    format!(
        "the server could not find the metric {} for {} {}",
        source.metric.name,
        resource_of(object.group(), &object.kind),
        described_name(object, hpa)
    )
}

/// Null and empty selectors mean the same to the metrics APIs.
pub(in crate::snapshot) fn non_empty(selector: Option<&LabelSelector>) -> Option<&LabelSelector> {
    selector.filter(|selector| **selector != LabelSelector::default())
}
