//! The spec of an HPA: its target, bounds, metrics and behavior.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::apimachinery::names;
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::selector::LabelSelector;

/// `HorizontalPodAutoscalerSpec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HpaSpec {
    /// The object whose scale is controlled.
    pub scale_target_ref: CrossVersionObjectReference,
    /// The lower limit; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// The upper limit.
    pub max_replicas: i32,
    /// The metrics; the highest of their proposals wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSpec>,
    /// Scaling rules for each direction; absent selects the older algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
}

impl HpaSpec {
    /// Returns the lower limit; it is 1 by default.
    pub(crate) fn min(&self) -> i32 {
        self.min_replicas.unwrap_or(1)
    }

    /// Returns the label of a metric; it includes the type and selector only if they are needed to distinguish
    /// it from another metric.
    pub(crate) fn label(&self, metric: usize) -> String {
        let Some(spec) = self.metrics.get(metric) else {
            return String::new();
        };
        let short = spec.short_label();
        match self
            .metrics
            .iter()
            .filter(|other| other.has_short_label(&short))
            .nth(1)
        {
            Some(_) => spec.label(&self.metrics),
            None => short,
        }
    }
}

/// `CrossVersionObjectReference`. The controller uses only the group and kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CrossVersionObjectReference {
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// Group and version; empty means the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
}

impl CrossVersionObjectReference {
    /// Returns the API group; empty also if the version is malformed, as for the controller's metrics
    /// client.
    pub fn group(&self) -> &str {
        names::group(&self.api_version)
    }

    /// Whether the object is of a kind. Discovery also knows each kind in lower case.
    pub(crate) fn is_kind(&self, kind: &str) -> bool {
        let lower = kind.bytes().map(|byte| byte.to_ascii_lowercase());
        self.kind == kind || self.kind.bytes().eq(lower)
    }

    /// Returns the reference with its group: `Ingress.networking.k8s.io/web`.
    pub(crate) fn with_group(&self) -> String {
        match self.group() {
            "" => self.to_string(),
            group => format!("{}.{group}/{}", self.kind, self.name),
        }
    }

    /// Whether both refer to one object. Discovery also knows each kind in lower case.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.group() == other.group()
            && self.kind.eq_ignore_ascii_case(&other.kind)
            && self.name == other.name
    }

    /// Whether the object is a namespace, whose metrics are requested without its name.
    pub fn is_namespace(&self) -> bool {
        self.group().is_empty() && self.kind == "Namespace"
    }
}

/// `Deployment/web`.
impl fmt::Display for CrossVersionObjectReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// `MetricSpec`: a type and the source of that type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricSpec {
    /// `Resource`, `ContainerResource`, `Pods`, `Object` or `External`.
    #[serde(rename = "type")]
    pub type_: String,
    /// A metric that describes one object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectMetricSource>,
    /// A custom metric of each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodsMetricSource>,
    /// A resource of each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceMetricSource>,
    /// A resource of one container in each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_resource: Option<ContainerResourceMetricSource>,
    /// A metric from outside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalMetricSource>,
}

/// The source that belongs to the type of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricSource<'s> {
    /// A resource of each pod.
    Resource(&'s ResourceMetricSource),
    /// A resource of one container in each pod.
    ContainerResource(&'s ContainerResourceMetricSource),
    /// A custom metric of each pod.
    Pods(&'s PodsMetricSource),
    /// A metric that describes one object.
    Object(&'s ObjectMetricSource),
    /// A metric from outside the cluster.
    External(&'s ExternalMetricSource),
    /// The type is unknown, or its source is missing.
    Unknown,
}

/// The group of the resource metrics API.
pub(crate) const RESOURCE: &str = "metrics.k8s.io";
/// The group of the custom metrics API.
pub(crate) const CUSTOM: &str = "custom.metrics.k8s.io";
/// The group of the external metrics API.
pub(crate) const EXTERNAL: &str = "external.metrics.k8s.io";

/// The types of metrics, in alphabetical order.
pub(crate) const METRIC_SOURCE_TYPES: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];

/// The identity of a metric, whatever its target: two metrics of one spec with the same identity have the
/// same values. Labels are texts; only identities are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricId {
    type_: String,
    name: String,
    container: Option<String>,
    /// The group, kind and name of the object that the metric describes.
    object: Option<(String, String, String)>,
    selector: String,
}

/// Returns the label of a metric without its selector. `object` is given as kind and name.
pub(crate) fn short_label(name: &str, container: Option<&str>, object: Option<&str>) -> String {
    let container = container.map_or_else(String::new, |container| format!(" in {container}"));
    let object = object.map_or_else(String::new, |object| format!(" on {object}"));
    format!("{name}{container}{object}")
}

impl MetricSpec {
    /// Returns the source of the metric.
    pub fn source(&self) -> MetricSource<'_> {
        let source = match self.type_.as_str() {
            "Resource" => self.resource.as_ref().map(MetricSource::Resource),
            "ContainerResource" => self
                .container_resource
                .as_ref()
                .map(MetricSource::ContainerResource),
            "Pods" => self.pods.as_ref().map(MetricSource::Pods),
            "Object" => self.object.as_ref().map(MetricSource::Object),
            "External" => self.external.as_ref().map(MetricSource::External),
            _ => None,
        };
        source.unwrap_or(MetricSource::Unknown)
    }

    /// Returns the name of the resource or metric; empty if the source of the type is missing.
    pub fn name(&self) -> &str {
        match self.source() {
            MetricSource::Resource(source) => &source.name,
            MetricSource::ContainerResource(source) => &source.name,
            _ => self.identifier().map_or("", |metric| &metric.name),
        }
    }

    /// Returns the kind of object that a custom metric describes.
    pub fn described(&self) -> Option<&str> {
        match self.source() {
            MetricSource::Pods(_) => Some("Pod"),
            MetricSource::Object(source) => Some(&source.described_object.kind),
            _ => None,
        }
    }

    /// Returns the container, for ContainerResource.
    pub fn container(&self) -> Option<&str> {
        match self.source() {
            MetricSource::ContainerResource(source) => Some(&source.container),
            _ => None,
        }
    }

    /// Returns the described object, for Object.
    pub fn described_object(&self) -> Option<&CrossVersionObjectReference> {
        match self.source() {
            MetricSource::Object(source) => Some(&source.described_object),
            _ => None,
        }
    }

    /// Returns the group of the metrics API that serves the metric; empty if the source of the type is missing.
    pub fn api_group(&self) -> &'static str {
        match self.source() {
            MetricSource::Resource(_) | MetricSource::ContainerResource(_) => RESOURCE,
            MetricSource::Pods(_) | MetricSource::Object(_) => CUSTOM,
            MetricSource::External(_) => EXTERNAL,
            MetricSource::Unknown => "",
        }
    }

    /// Whether the metric measures a resource of the pods.
    pub fn is_resource(&self) -> bool {
        matches!(
            self.source(),
            MetricSource::Resource(_) | MetricSource::ContainerResource(_)
        )
    }

    /// Whether the controller compares the metric with a share of the requests, which depends on the fields of its
    /// target.
    pub(crate) fn is_utilization(&self) -> bool {
        self.is_resource() && self.target().is_some_and(|it| it.utilization().is_some())
    }

    /// Whether one of the two metrics is the pods' usage of a resource, and the other their containers' usage of the
    /// same resource.
    pub(crate) fn shares_usage(&self, other: &Self) -> bool {
        self.is_resource()
            && other.is_resource()
            && self.name() == other.name()
            && self.container().is_some() != other.container().is_some()
    }

    /// Whether the metric has one value for the whole workload rather than one for each pod.
    pub fn is_total(&self) -> bool {
        matches!(
            self.source(),
            MetricSource::Object(_) | MetricSource::External(_)
        )
    }

    /// Whether the metric's proposal depends on pods. An average over the replicas in a status does not, and a metric
    /// of an unknown type has no proposal.
    pub fn needs_pods(&self) -> bool {
        self.source() != MetricSource::Unknown && !self.is_divided()
    }

    /// Whether the metric's value is divided by the replicas. For an Object metric, the type of the target
    /// decides; for an External metric, the fields do.
    pub fn is_divided(&self) -> bool {
        match self.source() {
            MetricSource::Object(source) => source.target.type_ == "AverageValue",
            MetricSource::External(source) => source.target.average_value.is_some(),
            _ => false,
        }
    }

    /// Returns the target; `None` if the source of the type is missing.
    pub fn target(&self) -> Option<&MetricTarget> {
        match self.source() {
            MetricSource::Resource(source) => Some(&source.target),
            MetricSource::ContainerResource(source) => Some(&source.target),
            MetricSource::Pods(source) => Some(&source.target),
            MetricSource::Object(source) => Some(&source.target),
            MetricSource::External(source) => Some(&source.target),
            MetricSource::Unknown => None,
        }
    }

    /// Returns the target for modification.
    pub(crate) fn target_mut(&mut self) -> Option<&mut MetricTarget> {
        let (type_, mut targets) = (self.type_.clone(), self.targets_mut());
        targets.find_map(|(of, target)| (of == type_).then_some(target))
    }

    /// Returns the targets of all sources, whatever the type, each with its type.
    pub(crate) fn targets_mut(
        &mut self,
    ) -> impl Iterator<Item = (&'static str, &mut MetricTarget)> {
        let Self {
            type_: _,
            object,
            pods,
            resource,
            container_resource,
            external,
        } = self;
        let targets = [
            ("Object", object.as_mut().map(|source| &mut source.target)),
            ("Pods", pods.as_mut().map(|source| &mut source.target)),
            (
                "Resource",
                resource.as_mut().map(|source| &mut source.target),
            ),
            (
                "ContainerResource",
                container_resource.as_mut().map(|source| &mut source.target),
            ),
            (
                "External",
                external.as_mut().map(|source| &mut source.target),
            ),
        ];
        targets
            .into_iter()
            .filter_map(|(type_, target)| Some((type_, target?)))
    }

    /// Returns the name and selector of a metric that is not a resource.
    pub fn identifier(&self) -> Option<&MetricIdentifier> {
        match self.source() {
            MetricSource::Pods(source) => Some(&source.metric),
            MetricSource::Object(source) => Some(&source.metric),
            MetricSource::External(source) => Some(&source.metric),
            _ => None,
        }
    }

    /// Returns the selector of a metric as text; empty if it selects everything or is malformed.
    pub fn selector(&self) -> String {
        let selector = self
            .identifier()
            .and_then(|metric| metric.selector.as_ref());
        let selector = selector.and_then(|selector| selector.to_selector().ok());
        selector
            .map(|selector| selector.to_string())
            .unwrap_or_default()
    }

    /// Returns the identity of the metric.
    pub fn id(&self) -> MetricId {
        let object = self.described_object();
        MetricId {
            type_: self.type_.clone(),
            name: self.name().to_owned(),
            container: self.container().map(str::to_owned),
            object: object.map(|it| (it.group().to_owned(), it.kind.clone(), it.name.clone())),
            selector: self.selector(),
        }
    }

    /// Returns the metric's display label, unique `among` the given metrics: `cpu in app`, `requests on
    /// Ingress/main{verb=GET}`. The type, as in `Pods/requests`, and the object's group are included only if
    /// nothing else distinguishes it from another metric.
    pub fn label(&self, among: &[Self]) -> String {
        let (label, id) = (self.plain_label(), self.id());
        let alike: Vec<&Self> = among
            .iter()
            .filter(|it| label.starts_with(it.name()) && it.plain_label() == label && it.id() != id)
            .collect();
        let (typed, grouped): (Vec<&Self>, Vec<&Self>) = alike
            .into_iter()
            .partition(|other| other.type_ != self.type_);
        let label = match self.described_object().filter(|_| !grouped.is_empty()) {
            Some(object) => {
                let object = object.with_group();
                format!("{} on {object}{}", self.name(), self.braced_selector())
            }
            None => label,
        };
        if typed.is_empty() {
            label
        } else {
            format!("{}/{label}", self.type_)
        }
    }

    /// Returns the name with which flags refer to the metric `among` the given ones: its label, with the
    /// container written as in `app=cpu`.
    pub fn flag_name(&self, among: &[Self]) -> String {
        match self.container() {
            Some(container) => format!("{container}={}", self.name()),
            None if self.is_named_by_no_selector(among) => format!("{}{{}}", self.label(among)),
            None => self.label(among),
        }
    }

    /// Whether only the absence of a selector distinguishes the metric from another one.
    fn is_named_by_no_selector(&self, among: &[Self]) -> bool {
        let is_without = !self.is_resource() && self.selector().is_empty();
        let label = self.short_label();
        is_without
            && among
                .iter()
                .any(|it| it.has_short_label(&label) && !it.selector().is_empty())
    }

    /// Returns the label that is sufficient for all but the most unusual specs.
    fn plain_label(&self) -> String {
        format!("{}{}", self.short_label(), self.braced_selector())
    }

    fn braced_selector(&self) -> String {
        match self.selector() {
            selector if selector.is_empty() => selector,
            selector => format!("{{{selector}}}"),
        }
    }

    /// Returns the label without the selector.
    pub(crate) fn short_label(&self) -> String {
        let object = self
            .described_object()
            .map(CrossVersionObjectReference::to_string);
        short_label(self.name(), self.container(), object.as_deref())
    }

    /// Whether the label without the selector is this one. The names of most metrics already differ.
    fn has_short_label(&self, label: &str) -> bool {
        label.starts_with(self.name()) && self.short_label() == label
    }

    /// Returns the metric, or a container's metric if one is given.
    pub(crate) fn part(&self, container: Option<&str>) -> Self {
        container.map_or_else(|| self.clone(), |name| self.of_container(name))
    }

    /// Returns the metric of one container with the target of a Resource metric; other metrics unchanged.
    pub(crate) fn of_container(&self, container: &str) -> Self {
        let MetricSource::Resource(source) = self.source() else {
            return self.clone();
        };
        let ResourceMetricSource { name, target } = source.clone();
        let container = container.to_owned();
        Self {
            type_: "ContainerResource".to_owned(),
            container_resource: Some(ContainerResourceMetricSource {
                name,
                target,
                container,
            }),
            ..Self::default()
        }
    }

    /// Returns the metric of whole pods with the target of a ContainerResource metric; other metrics unchanged.
    pub(crate) fn of_pods(&self) -> Self {
        let MetricSource::ContainerResource(source) = self.source() else {
            return self.clone();
        };
        let ContainerResourceMetricSource { name, target, .. } = source.clone();
        Self {
            type_: "Resource".to_owned(),
            resource: Some(ResourceMetricSource { name, target }),
            ..Self::default()
        }
    }

    /// Returns the metric that older APIs express as a CPU percentage.
    pub(crate) fn cpu_utilization(percentage: i32) -> Self {
        Self {
            type_: "Resource".to_owned(),
            resource: Some(ResourceMetricSource {
                name: "cpu".to_owned(),
                target: MetricTarget {
                    type_: "Utilization".to_owned(),
                    average_utilization: Some(percentage),
                    ..MetricTarget::default()
                },
            }),
            ..Self::default()
        }
    }
}

/// `ObjectMetricSource`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMetricSource {
    /// The object that the metric describes.
    pub described_object: CrossVersionObjectReference,
    /// The target value.
    pub target: MetricTarget,
    /// Name and selector of the metric.
    pub metric: MetricIdentifier,
}

/// `PodsMetricSource`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodsMetricSource {
    /// Name and selector of the metric.
    pub metric: MetricIdentifier,
    /// The target average.
    pub target: MetricTarget,
}

/// `ResourceMetricSource`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceMetricSource {
    /// The resource, such as `cpu`.
    pub name: String,
    /// The target average or share of the requests.
    pub target: MetricTarget,
}

/// `ContainerResourceMetricSource`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerResourceMetricSource {
    /// The resource, such as `cpu`.
    pub name: String,
    /// The target average or share of the requests.
    pub target: MetricTarget,
    /// The container, the same in every pod.
    pub container: String,
}

/// `ExternalMetricSource`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalMetricSource {
    /// Name and selector of the metric.
    pub metric: MetricIdentifier,
    /// The target value, in total or per pod.
    pub target: MetricTarget,
}

/// `MetricIdentifier`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricIdentifier {
    /// The metric's name.
    pub name: String,
    /// Narrows the metric by its labels; both null and empty mean unfiltered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// `MetricTarget`. The controller uses the fields that are set; only for object metrics does it also
/// use the type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricTarget {
    /// `Utilization`, `Value` or `AverageValue`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The target value in total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Quantity>,
    /// The target value per pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_value: Option<Quantity>,
    /// The target share of the requests, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_utilization: Option<i32>,
}

impl MetricTarget {
    /// Returns the target with only the field that the controller compares for an Object metric.
    pub(crate) fn of_its_type(&self) -> Self {
        let mut target = self.clone();
        match &*self.type_ {
            "Value" => target.average_value = None,
            "AverageValue" => target.value = None,
            _ => {}
        }
        target
    }

    /// Returns the amount of the target; `None` for a utilization.
    pub(crate) fn amount(&self) -> Option<&Quantity> {
        self.average_value.as_ref().or(self.value.as_ref())
    }

    /// Returns the target as a percentage of the request, if it is a utilization. An average has precedence.
    pub(crate) fn utilization(&self) -> Option<i32> {
        self.average_utilization
            .filter(|_| self.average_value.is_none())
    }

    /// Returns the target as text: a percentage, or an amount in the words of the caller; `None` if it is empty.
    pub(crate) fn worded(&self, amount: impl FnOnce(&Quantity) -> String) -> Option<String> {
        let percent = self.utilization().map(|it| format!("{it}%"));
        percent.or_else(|| self.amount().map(amount))
    }
}

/// `HorizontalPodAutoscalerBehavior`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Behavior {
    /// Rules for scaling up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<ScalingRules>,
    /// Rules for scaling down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScalingRules>,
}

/// `HPAScalingRules`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScalingRules {
    /// The seconds for which past recommendations count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stabilization_window_seconds: Option<i32>,
    /// `Max`, `Min` or `Disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_policy: Option<String>,
    /// The policies; null differs from empty, which replaces the default and is then invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<ScalingPolicy>>,
    /// The tolerance of this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Quantity>,
}

impl ScalingRules {
    /// Whether the controller may not scale in this direction.
    pub(crate) fn is_disabled(&self) -> bool {
        self.select_policy.as_deref() == Some("Disabled")
    }
}

/// `HPAScalingPolicy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScalingPolicy {
    /// `Pods` or `Percent`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The change, in pods or percent, that the period allows.
    pub value: i32,
    /// The period, in seconds.
    pub period_seconds: i32,
}
