//! The custom and external metrics APIs, as an adapter behind the API server answers them.

use kubectl_hpa::apimachinery::selector::Labels;
use serde_json::{Value, json};

use super::answer::{page_not_found, status};
use super::authorize::Target;
use super::discovery::join;
use super::http::{Answer, Request};
use super::json::{each, ordered, string};
use super::list::label_selector;
use super::objects::Cluster;
use super::recorded::exchange;

/// One value of the custom metrics API.
#[derive(Debug, Clone, Default)]
pub(crate) struct CustomMetric {
    /// The metric.
    pub(crate) name: String,
    /// The resource of the object as in paths: `pods`, `ingresses.networking.k8s.io`, and
    /// `namespaces` for values of a namespace itself.
    pub(crate) resource: String,
    /// Kind and `apiVersion` of the object.
    pub(crate) kind: [String; 2],
    /// The object's namespace; for a namespace, its own name.
    pub(crate) namespace: String,
    /// The object's name.
    pub(crate) object: String,
    /// A quantity.
    pub(crate) value: String,
    /// RFC 3339.
    pub(crate) timestamp: String,
    /// The length of the window in seconds.
    pub(crate) window: Option<i64>,
    /// The labels for metric selectors.
    pub(crate) labels: Labels,
}

/// One value of the external metrics API.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExternalMetric {
    /// The metric.
    pub(crate) name: String,
    /// The namespace.
    pub(crate) namespace: String,
    /// The labels for the selector.
    pub(crate) labels: Labels,
    /// A quantity.
    pub(crate) value: String,
    /// RFC 3339.
    pub(crate) timestamp: String,
}

/// All values.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(super) custom: Vec<CustomMetric>,
    pub(super) external: Vec<ExternalMetric>,
}

impl Metrics {
    /// The recorded values.
    pub(crate) fn recorded() -> Self {
        let mut metrics = Self::default();
        let lists = [
            ("custom pods metric", "pods"),
            ("custom object metric", "ingresses.networking.k8s.io"),
            ("custom namespace metric", "namespaces"),
        ];
        for (name, resource) in lists {
            let list = exchange(name).response.body;
            for item in each(&list["items"]) {
                let text = |pointer: &str| string(item, pointer).to_owned();
                metrics.custom.push(CustomMetric {
                    name: text("/metric/name"),
                    resource: resource.to_owned(),
                    kind: [
                        text("/describedObject/kind"),
                        text("/describedObject/apiVersion"),
                    ],
                    namespace: "default".to_owned(),
                    object: text("/describedObject/name"),
                    value: text("/value"),
                    timestamp: text("/timestamp"),
                    window: item["windowSeconds"].as_i64(),
                    labels: Labels::default(),
                });
            }
        }
        let list = exchange("external metric").response.body;
        for item in each(&list["items"]) {
            let labels = item["metricLabels"].as_object().into_iter().flatten();
            let labels = labels.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or("")));
            metrics.external.push(ExternalMetric {
                name: string(item, "/metricName").to_owned(),
                namespace: "default".to_owned(),
                labels: labels.collect(),
                value: string(item, "/value").to_owned(),
                timestamp: string(item, "/timestamp").to_owned(),
            });
        }
        metrics
    }

    /// Answers for `.../namespaces/NS/RESOURCE/NAME/METRIC`, where NAME may be `*`, and for
    /// `.../namespaces/NS/metrics/METRIC` about the namespace.
    pub(crate) fn custom(&self, cluster: &Cluster, target: &Target, request: &Request) -> Answer {
        let (resource, object, name) = match (&target.name, &target.subresource) {
            (Some(metric), None) if target.resource == "metrics" => ("namespaces", "", metric),
            (Some(object), Some(metric)) => (target.resource.as_str(), object.as_str(), metric),
            _ => return page_not_found(),
        };
        let namespace = target.namespace.clone().unwrap_or_default();
        let all = object == "*" || resource == "namespaces";
        let mut values: Vec<_> = self
            .custom
            .iter()
            .filter(|value| value.name == *name && value.resource == resource)
            .filter(|value| value.namespace == namespace && (all || value.object == object))
            .collect();
        if values.is_empty() {
            let of = if all { "" } else { &format!(" {object}") };
            let text = format!("the server could not find the metric {name} for {resource}{of}");
            return status(404, "NotFound", &text, None);
        }
        let selectors = label_selector(request.parameter("labelSelector")).and_then(|objects| {
            let metrics = label_selector(request.parameter("metricLabelSelector"))?;
            Ok((objects, metrics))
        });
        let (objects, metrics) = match selectors {
            Ok(selectors) => selectors,
            Err(refusal) => return *refusal,
        };
        if object == "*" && !objects.is_empty() {
            let collection = cluster.collection("v1", resource);
            values.retain(|value| {
                let key = (value.namespace.clone(), value.object.clone());
                let found = collection.and_then(|collection| collection.objects.get(&key));
                found.is_some_and(|object| objects.matches(&object.labels))
            });
        }
        values.retain(|value| metrics.matches(&value.labels));
        let selector = request.parameter("metricLabelSelector");
        let selector = selector.map_or(Value::Null, selector_json);
        let items: Vec<_> = values
            .iter()
            .map(|value| custom_json(value, &target.version, &selector))
            .collect();
        answer("MetricValueList", target, &items)
    }

    /// Answers for `.../namespaces/NS/METRIC`; the answer for an unknown metric is an empty list.
    pub(crate) fn external(&self, target: &Target, request: &Request) -> Answer {
        let selector = match label_selector(request.parameter("labelSelector")) {
            Ok(selector) => selector,
            Err(refusal) => return *refusal,
        };
        let items: Vec<_> = self
            .external
            .iter()
            .filter(|value| value.name == target.resource)
            .filter(|value| Some(&value.namespace) == target.namespace.as_ref())
            .filter(|value| selector.matches(&value.labels))
            .map(|value| {
                json!({
                    "metricName": value.name,
                    "metricLabels": value.labels,
                    "timestamp": value.timestamp,
                    "value": value.value,
                })
            })
            .collect();
        answer("ExternalMetricValueList", target, &items)
    }
}

fn answer(kind: &str, target: &Target, items: &[Value]) -> Answer {
    let list = json!({
        "kind": kind,
        "apiVersion": join(&target.group, &target.version),
        "metadata": {},
        "items": items,
    });
    Answer::json(200, ordered(&list))
}

/// Returns a value in the shape of the requested version.
fn custom_json(value: &CustomMetric, version: &str, selector: &Value) -> Value {
    let namespace = match value.resource.as_str() {
        "namespaces" => "",
        _ => &value.namespace,
    };
    let [kind, api_version] = &value.kind;
    let mut item = json!({
        "describedObject": {
            "kind": kind,
            "namespace": namespace,
            "name": value.object,
            "apiVersion": api_version,
        },
        "timestamp": value.timestamp,
        "value": value.value,
    });
    let window = if version == "v1beta1" {
        item["metricName"] = json!(value.name);
        item["selector"] = selector.clone();
        "window"
    } else {
        item["metric"] = json!({"name": value.name, "selector": selector});
        "windowSeconds"
    };
    if let Some(seconds) = value.window {
        item[window] = json!(seconds);
    }
    item
}

/// Returns the LabelSelector with which an adapter repeats a metric selector: `metav1.ParseToLabelSelector`
/// for equality terms, and null for others, which no test has needed.
fn selector_json(text: &str) -> Value {
    let terms = text.split(',').map(|term| term.split_once('='));
    let Some(terms) = terms.collect::<Option<Vec<_>>>() else {
        return Value::Null;
    };
    let labels: Labels = terms.into_iter().collect();
    json!({"matchLabels": labels})
}
