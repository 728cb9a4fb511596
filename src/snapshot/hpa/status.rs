//! The status of an HPA: what the controller last wrote.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::spec::{CrossVersionObjectReference, MetricIdentifier, short_label};
use crate::apimachinery::json::{is_zero, optional_time};
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::quantity::Quantity;

/// `HorizontalPodAutoscalerStatus`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HpaStatus {
    /// The generation of the HPA to which the status belongs. Before 1.37, only other clients set it, and the
    /// controller drops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The time at which the controller last changed the replica count.
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_time")]
    pub last_scale_time: Option<Timestamp>,
    /// The replicas at the last pass, before it scaled.
    #[serde(skip_serializing_if = "is_zero")]
    pub current_replicas: i32,
    /// The replicas that the last pass decided on.
    pub desired_replicas: i32,
    /// One entry for each metric of the spec, or null if the pass read none.
    pub current_metrics: Option<Vec<MetricStatus>>,
    /// The conditions, in the order in which they were first set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl HpaStatus {
    /// Whether no pass has written the status: clients send its required fields with zero values.
    pub(crate) fn is_empty(&self) -> bool {
        let blank = |current_metrics| Self {
            current_metrics,
            ..Self::default()
        };
        [None, Some(Vec::new())].map(blank).contains(self)
    }

    /// Returns the condition of a type.
    pub(crate) fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|it| it.type_ == type_)
    }
}

/// `MetricStatus`; zero-valued (`type: ""`) for a metric that could not be computed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricStatus {
    /// The metric's type, or empty.
    #[serde(rename = "type")]
    pub type_: String,
    /// Set for `Object`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectMetricStatus>,
    /// Set for `Pods`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodsMetricStatus>,
    /// Set for `Resource`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceMetricStatus>,
    /// Set for `ContainerResource`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_resource: Option<ContainerResourceMetricStatus>,
    /// Set for `External`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalMetricStatus>,
}

impl MetricStatus {
    /// Returns the metric's value; `None` if the source of its type is missing.
    pub fn current(&self) -> Option<&MetricValueStatus> {
        self.labelled().map(|(_, current)| current)
    }

    /// Whether two statuses of a metric agree. `autoscaling/v1` has no average next to a utilization.
    pub(crate) fn agrees_with(&self, now: &Self) -> bool {
        match (&self.resource, &now.resource) {
            (Some(last), Some(now)) if last.current.average_value.is_none() => {
                let utilization = |it: &MetricValueStatus| it.average_utilization;
                last.name == now.name && utilization(&last.current) == utilization(&now.current)
            }
            _ => self == now,
        }
    }

    /// Returns the label, without its selector, and the value.
    pub(crate) fn labelled(&self) -> Option<(String, &MetricValueStatus)> {
        let (name, container, object, current) = match self.type_.as_str() {
            "Resource" => {
                let status = self.resource.as_ref()?;
                (&status.name, None, None, &status.current)
            }
            "ContainerResource" => {
                let status = self.container_resource.as_ref()?;
                (
                    &status.name,
                    Some(&*status.container),
                    None,
                    &status.current,
                )
            }
            "Pods" => {
                let status = self.pods.as_ref()?;
                (&status.metric.name, None, None, &status.current)
            }
            "Object" => {
                let status = self.object.as_ref()?;
                let object = status.described_object.to_string();
                (&status.metric.name, None, Some(object), &status.current)
            }
            "External" => {
                let status = self.external.as_ref()?;
                (&status.metric.name, None, None, &status.current)
            }
            _ => return None,
        };
        Some((short_label(name, container, object.as_deref()), current))
    }
}

/// `ObjectMetricStatus`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMetricStatus {
    /// Name and selector of the metric.
    pub metric: MetricIdentifier,
    /// The metric's value.
    pub current: MetricValueStatus,
    /// The object that the metric describes.
    pub described_object: CrossVersionObjectReference,
}

/// `PodsMetricStatus`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodsMetricStatus {
    /// Name and selector of the metric.
    pub metric: MetricIdentifier,
    /// The metric's value.
    pub current: MetricValueStatus,
}

/// `ResourceMetricStatus`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceMetricStatus {
    /// The resource.
    pub name: String,
    /// The metric's value.
    pub current: MetricValueStatus,
}

/// `ContainerResourceMetricStatus`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerResourceMetricStatus {
    /// The resource.
    pub name: String,
    /// The metric's value.
    pub current: MetricValueStatus,
    /// The container.
    pub container: String,
}

/// `ExternalMetricStatus`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalMetricStatus {
    /// Name and selector of the metric.
    pub metric: MetricIdentifier,
    /// The metric's value.
    pub current: MetricValueStatus,
}

/// `MetricValueStatus`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricValueStatus {
    /// The value in total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Quantity>,
    /// The value per pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_value: Option<Quantity>,
    /// The share of the requests, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_utilization: Option<i32>,
}
