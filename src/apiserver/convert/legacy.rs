//! The flat metric types of `autoscaling/v2beta1`, which `autoscaling/v1` keeps in annotations, and
//! their conversion. They have no field for the target's type: it follows from the fields that are
//! set. Only shapes are converted, nothing is validated. Follows upstream's
//! `pkg/apis/autoscaling/{v1,v2beta1}/conversion.go`.

use serde::Deserialize;

use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::selector::LabelSelector;
use crate::snapshot::hpa::{
    self, CrossVersionObjectReference, MetricIdentifier, MetricTarget, MetricValueStatus,
};

/// Declares the types of a metric in the spec or in the status: only the names of three fields differ.
macro_rules! flat_metric {
    ($mod:ident, $value:ident, $average_value:ident, $average_utilization:ident) => {
        pub(crate) mod $mod {
            use super::{CrossVersionObjectReference, Deserialize, LabelSelector, Quantity};

            #[derive(Default, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub(crate) struct Metric {
                #[serde(rename = "type")]
                pub(super) type_: String,
                pub(super) object: Option<Object>,
                pub(super) pods: Option<Pods>,
                pub(super) resource: Option<Resource>,
                pub(super) container_resource: Option<ContainerResource>,
                pub(super) external: Option<External>,
            }

            #[derive(Default, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub(crate) struct Object {
                pub(super) target: CrossVersionObjectReference,
                pub(super) metric_name: String,
                pub(super) $value: Option<Quantity>,
                pub(super) selector: Option<LabelSelector>,
                pub(super) average_value: Option<Quantity>,
            }

            #[derive(Default, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub(crate) struct Pods {
                pub(super) metric_name: String,
                pub(super) $average_value: Option<Quantity>,
                pub(super) selector: Option<LabelSelector>,
            }

            #[derive(Default, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub(crate) struct Resource {
                pub(super) name: String,
                pub(super) $average_utilization: Option<i32>,
                pub(super) $average_value: Option<Quantity>,
            }

            #[derive(Default, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub(crate) struct ContainerResource {
                pub(super) name: String,
                pub(super) $average_utilization: Option<i32>,
                pub(super) $average_value: Option<Quantity>,
                pub(super) container: String,
            }

            #[derive(Default, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub(crate) struct External {
                pub(super) metric_name: String,
                pub(super) metric_selector: Option<LabelSelector>,
                pub(super) $value: Option<Quantity>,
                pub(super) $average_value: Option<Quantity>,
            }
        }
    };
}

flat_metric! { spec, target_value, target_average_value, target_average_utilization }
flat_metric! { status, current_value, current_average_value, current_average_utilization }

impl From<spec::Metric> for hpa::MetricSpec {
    /// Converts a metric. A missing value is zero here, not absent.
    fn from(spec: spec::Metric) -> Self {
        Self {
            type_: spec.type_,
            object: spec.object.map(|source| hpa::ObjectMetricSource {
                described_object: source.target,
                target: MetricTarget {
                    type_: either(source.average_value.is_some(), "AverageValue", "Value"),
                    value: Some(or_zero(source.target_value)),
                    average_value: source.average_value,
                    average_utilization: None,
                },
                metric: MetricIdentifier {
                    name: source.metric_name,
                    selector: source.selector,
                },
            }),
            pods: spec.pods.map(|source| hpa::PodsMetricSource {
                metric: MetricIdentifier {
                    name: source.metric_name,
                    selector: source.selector,
                },
                target: MetricTarget {
                    type_: "AverageValue".to_owned(),
                    average_value: Some(or_zero(source.target_average_value)),
                    ..MetricTarget::default()
                },
            }),
            resource: spec.resource.map(|source| hpa::ResourceMetricSource {
                name: source.name,
                target: resource_target(
                    source.target_average_utilization,
                    source.target_average_value,
                ),
            }),
            container_resource: spec.container_resource.map(|source| {
                hpa::ContainerResourceMetricSource {
                    name: source.name,
                    target: resource_target(
                        source.target_average_utilization,
                        source.target_average_value,
                    ),
                    container: source.container,
                }
            }),
            external: spec.external.map(|source| hpa::ExternalMetricSource {
                metric: MetricIdentifier {
                    name: source.metric_name,
                    selector: source.metric_selector,
                },
                target: MetricTarget {
                    type_: either(source.target_value.is_some(), "Value", "AverageValue"),
                    value: source.target_value,
                    average_value: source.target_average_value,
                    average_utilization: None,
                },
            }),
        }
    }
}

fn resource_target(percentage: Option<i32>, average_value: Option<Quantity>) -> MetricTarget {
    MetricTarget {
        type_: either(percentage.is_some(), "Utilization", "AverageValue"),
        value: None,
        average_value,
        average_utilization: percentage,
    }
}

fn either(condition: bool, yes: &str, no: &str) -> String {
    if condition { yes } else { no }.to_owned()
}

/// Returns a value, which v1 and v2beta1 require, and its average per pod.
fn value(value: Option<Quantity>, average_value: Option<Quantity>) -> MetricValueStatus {
    MetricValueStatus {
        value: Some(or_zero(value)),
        average_value,
        average_utilization: None,
    }
}

/// Returns an average per pod, which v1 and v2beta1 require, and its percentage of the requests.
fn average(percentage: Option<i32>, value: Option<Quantity>) -> MetricValueStatus {
    MetricValueStatus {
        value: None,
        average_value: Some(or_zero(value)),
        average_utilization: percentage,
    }
}

fn or_zero(quantity: Option<Quantity>) -> Quantity {
    quantity.unwrap_or_default()
}

impl From<status::Metric> for hpa::MetricStatus {
    /// Converts a status of a v1 annotation or of v2beta1.
    fn from(metric: status::Metric) -> Self {
        Self {
            type_: metric.type_,
            object: metric.object.map(|status| hpa::ObjectMetricStatus {
                metric: MetricIdentifier {
                    name: status.metric_name,
                    selector: status.selector,
                },
                current: value(status.current_value, status.average_value),
                described_object: status.target,
            }),
            pods: metric.pods.map(|status| hpa::PodsMetricStatus {
                metric: MetricIdentifier {
                    name: status.metric_name,
                    selector: status.selector,
                },
                current: average(None, status.current_average_value),
            }),
            resource: metric.resource.map(|status| hpa::ResourceMetricStatus {
                name: status.name,
                current: average(
                    status.current_average_utilization,
                    status.current_average_value,
                ),
            }),
            container_resource: metric.container_resource.map(|status| {
                hpa::ContainerResourceMetricStatus {
                    name: status.name,
                    current: average(
                        status.current_average_utilization,
                        status.current_average_value,
                    ),
                    container: status.container,
                }
            }),
            external: metric.external.map(|status| hpa::ExternalMetricStatus {
                metric: MetricIdentifier {
                    name: status.metric_name,
                    selector: status.metric_selector,
                },
                current: value(status.current_value, status.current_average_value),
            }),
        }
    }
}
