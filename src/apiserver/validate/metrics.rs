//! The checks on the metrics of a spec: the type, the sources and their targets. Whether the type
//! of a target agrees with the fields that are set is not checked, nor are selectors. Follows
//! upstream's `validateMetrics`.

use super::cause::{FaultPath, Shown};
use super::resources::container_resource;
use super::{invalid_quantity, number, validate_path_segment, validate_reference};
use crate::apimachinery::names;
use crate::apiserver::default::AdmissionRules;
use crate::snapshot::hpa::{
    ContainerResourceMetricSource, ExternalMetricSource, HpaSpec, METRIC_SOURCE_TYPES,
    MetricIdentifier, MetricSpec, MetricTarget, ObjectMetricSource, PodsMetricSource,
    ResourceMetricSource,
};
use crate::version::FeatureGate;

pub(crate) fn validate(spec: &HpaSpec, rules: AdmissionRules, path: &FaultPath<'_>) {
    for (i, metric) in spec.metrics.iter().enumerate() {
        validate_metric(metric, rules, &path.index(i));
    }
    // Only these can show at zero pods that there is work again.
    let wakes = |metric: &MetricSpec| matches!(metric.type_.as_str(), "Object" | "External");
    if spec.min_replicas == Some(0) && !spec.metrics.iter().any(wakes) {
        let detail = "must specify at least one Object or External metric to support scaling to \
                      zero replicas";
        path.forbidden(detail);
    }
}

/// `validateMetricSpec`.
fn validate_metric(metric: &MetricSpec, rules: AdmissionRules, path: &FaultPath<'_>) {
    let MetricSpec {
        type_,
        object,
        external,
        pods,
        resource,
        container_resource,
    } = metric;
    let of_type = path.child("type");
    let unsupported = || of_type.not_supported(type_, &METRIC_SOURCE_TYPES);
    let sources = [
        ("Object", "object", object.is_some()),
        ("External", "external", external.is_some()),
        ("Pods", "pods", pods.is_some()),
        ("Resource", "resource", resource.is_some()),
        (
            "ContainerResource",
            "containerResource",
            container_resource.is_some(),
        ),
    ];
    let of_its_type = sources.iter().find(|(source, ..)| source == type_);
    let expected = of_its_type.map(|(_, field, _)| *field);
    if type_.is_empty() {
        of_type.required("must specify a metric source type");
    }
    if expected.is_none() {
        unsupported();
    }

    validate_source(metric, rules, path);
    let present: Vec<&str> = sources
        .into_iter()
        .filter_map(|(_, field, is_present)| is_present.then_some(field))
        .collect();

    match expected {
        Some(field) if !present.contains(&field) => {
            let mut detail = "must populate information for the given metric source".to_owned();
            if field == "containerResource" && !rules.gates[FeatureGate::HPAContainerMetrics] {
                detail += " (only allowed when HPAContainerMetrics feature is enabled)";
            }
            path.child(field).required(&detail);
        }
        Some(_) => {}
        // Reported before, and again here.
        None => unsupported(),
    }
    if present.len() != 1 {
        for field in present.into_iter().filter(|field| Some(*field) != expected) {
            path.child(field)
                .forbidden("must populate the given metric source only");
        }
    }
}

/// Checks the first source that is present, whatever the type, and no other, as upstream does.
fn validate_source(metric: &MetricSpec, rules: AdmissionRules, path: &FaultPath<'_>) {
    if let Some(source) = &metric.object {
        validate_object(source, rules, &path.child("object"));
    } else if let Some(source) = &metric.external {
        validate_external(source, &path.child("external"));
    } else if let Some(source) = &metric.pods {
        validate_pods(source, &path.child("pods"));
    } else if let Some(source) = &metric.resource {
        validate_resource(source, &path.child("resource"));
    } else if let Some(source) = &metric.container_resource {
        validate_container_resource(source, &path.child("containerResource"));
    }
}

fn validate_object(source: &ObjectMetricSource, rules: AdmissionRules, path: &FaultPath<'_>) {
    let described = path.child("describedObject");
    validate_reference(&source.described_object, false, rules, &described);
    let (target, at) = (&source.target, path.child("target"));
    validate_named(&source.metric, target, path);
    if target.value.is_none() && target.average_value.is_none() {
        let detail = "must set either a target value or averageValue";
        at.child("averageValue").required(detail);
    }
}

fn validate_external(source: &ExternalMetricSource, path: &FaultPath<'_>) {
    let (target, at) = (&source.target, path.child("target"));
    validate_named(&source.metric, target, path);
    match (&target.value, &target.average_value) {
        (None, None) => {
            let detail = "must set either a target value for metric or a per-pod target";
            at.child("averageValue").required(detail);
        }
        (Some(_), Some(_)) => {
            let detail = "may not set both a target value for metric and a per-pod target";
            at.child("value").forbidden(detail);
        }
        _ => {}
    }
}

fn validate_pods(source: &PodsMetricSource, path: &FaultPath<'_>) {
    validate_named(&source.metric, &source.target, path);
    if source.target.average_value.is_none() {
        let detail = "must specify a positive target averageValue";
        let field = path.child("target").child("averageValue");
        field.required(detail);
    }
}

fn validate_resource(source: &ResourceMetricSource, path: &FaultPath<'_>) {
    if source.name.is_empty() {
        path.child("name").required("must specify a resource name");
    }
    validate_resource_target(&source.target, &path.child("target"));
}

fn validate_container_resource(source: &ContainerResourceMetricSource, path: &FaultPath<'_>) {
    let name = path.child("name");
    if source.name.is_empty() {
        name.required("must specify a resource name");
    } else {
        container_resource(&source.name, &name);
    }
    let container = path.child("container");
    if source.container.is_empty() {
        container.required("must specify a container");
    } else {
        container.faults(&source.container, &names::dns_label(&source.container));
    }
    validate_resource_target(&source.target, &path.child("target"));
}

fn validate_resource_target(target: &MetricTarget, path: &FaultPath<'_>) {
    validate_target(target, path);
    match (&target.average_utilization, &target.average_value) {
        (None, None) => {
            let detail = "must set either a target raw value or a target utilization";
            path.child("averageUtilization").required(detail);
        }
        (Some(_), Some(_)) => {
            let detail = "may not set both a target raw value and a target utilization";
            path.child("averageValue").forbidden(detail);
        }
        _ => {}
    }
}

/// `validateMetricTarget`. Whether the type agrees with the fields that are set is not checked.
fn validate_target(target: &MetricTarget, path: &FaultPath<'_>) {
    let type_ = path.child("type");
    if target.type_.is_empty() {
        type_.required("must specify a metric target type");
    }
    if !matches!(
        target.type_.as_str(),
        "Utilization" | "Value" | "AverageValue"
    ) {
        let detail = "must be either Utilization, Value, or AverageValue";
        type_.invalid(Shown::Json(&target.type_), detail);
    }
    for (field, value) in [
        ("value", &target.value),
        ("averageValue", &target.average_value),
    ] {
        if let Some(value) = value.as_ref().filter(|value| value.signum() <= 0) {
            invalid_quantity(value, "must be positive", &path.child(field));
        }
    }
    if let Some(percentage) = target
        .average_utilization
        .filter(|percentage| *percentage < 1)
    {
        let field = path.child("averageUtilization");
        field.invalid(number(percentage), "must be greater than 0");
    }
}

/// Checks the name of a metric (`validateMetricIdentifier`), not its selector, and the target.
fn validate_named(metric: &MetricIdentifier, target: &MetricTarget, path: &FaultPath<'_>) {
    let name = path.child("metric").child("name");
    validate_path_segment(&metric.name, "must specify a metric name", &name);
    validate_target(target, &path.child("target"));
}
