//! Evaluates the metrics of the spec one by one (`computeReplicasForMetrics` and its callees): which
//! calculator applies, under which name, with which error. An unreadable metric is an outcome with the
//! controller's reason and message.

use super::decision::{MetricError, MetricResult, MetricStep, PodRow, Proposal};
use super::pods::{Grouped, PodSample, Selected};
use super::replicas::{self, Calculated, NO_PODS, PerPodTarget, Terms, Usage};
use crate::apimachinery::go;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::apimachinery::selector::LabelSelector;
use crate::rules::Rules;
use crate::snapshot::controller::Tolerances;
use crate::snapshot::hpa::{
    ContainerResourceMetricStatus, CrossVersionObjectReference, ExternalMetricSource,
    ExternalMetricStatus, MetricIdentifier, MetricSource, MetricStatus, MetricTarget,
    MetricValueStatus, ObjectMetricSource, ObjectMetricStatus, PodsMetricSource, PodsMetricStatus,
    ResourceMetricStatus,
};
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::shared::Shared;
use crate::snapshot::{ExternalValue, MetricAnswer, ObjectValue, Scale, Snapshot, UnreadCause};

/// The context that all metrics of a pass share.
pub(super) struct MetricContext<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) rules: Rules,
    pub(super) scale: &'s Scale,
    pub(super) pods: Selected<'s>,
    pub(super) tolerances: Tolerances,
}

/// The pods of a metric, which are kept for the trace even if it fails.
#[derive(Default)]
struct PodsSeen {
    rows: Vec<PodRow>,
    strangers: usize,
}

/// The reason why a metric has no proposal.
enum MetricFailure<E> {
    /// The controller fails as well, with this error.
    Error(E),
    /// The controller may have an answer that is missing here.
    Unread(UnreadCause),
}

impl<E> From<E> for MetricFailure<E> {
    fn from(error: E) -> Self {
        Self::Error(error)
    }
}

impl<E> MetricFailure<E> {
    /// Wraps the error, as the controller does.
    fn wrap<F>(self, wrap: impl FnOnce(E) -> F) -> MetricFailure<F> {
        match self {
            Self::Error(e) => MetricFailure::Error(wrap(e)),
            Self::Unread(unread) => MetricFailure::Unread(unread),
        }
    }
}

fn unfetched(api: &str, error: &str) -> MetricFailure<String> {
    MetricFailure::Error(format!(
        "unable to fetch metrics from {api} metrics API: {error}"
    ))
}

/// Returns how the controller's error begins about a metric that it could not get from the API. The words for an object
/// are those of 1.37 or those before.
pub(crate) fn unable_to_get(
    source: MetricSource<'_>,
    namespace: &str,
    object_words: bool,
) -> String {
    match source {
        MetricSource::Resource(source) => unable_to_get_resource(&source.name),
        MetricSource::ContainerResource(source) => unable_to_get_resource(&source.name),
        MetricSource::Pods(source) => format!("unable to get metric {}: ", source.metric.name),
        MetricSource::Object(source) => {
            let metric = &source.metric.name;
            let CrossVersionObjectReference { kind, name, .. } = &source.described_object;
            if object_words {
                format!("unable to get metric {metric} on {kind} {namespace}/{name}: ")
            } else {
                // The arguments of the controller's format are in this order, its separators are not.
                format!("unable to get metric {metric}: {kind} on {namespace} {name}/")
            }
        }
        MetricSource::External(source) => {
            let MetricIdentifier { name, selector } = &source.metric;
            let selector = LabelSelector::go_string(selector.as_ref());
            format!("unable to get external metric {namespace}/{name}/{selector}: ")
        }
        MetricSource::Unknown => String::new(),
    }
}

fn unable_to_get_resource(resource: &str) -> String {
    format!("unable to get metrics for resource {resource}: ")
}

fn object_error(message: &str, error: &str) -> MetricError {
    MetricError {
        reason: "FailedGetObjectMetric",
        message: message.to_owned(),
        error: format!("failed to get object metric value: {error}"),
    }
}

/// Returns why an answer has no values, if its request failed.
fn failed(answer: &MetricAnswer, api: &str) -> Option<MetricFailure<String>> {
    match answer {
        MetricAnswer::Failed(e) => Some(unfetched(api, e)),
        MetricAnswer::Unread(unread) => Some(MetricFailure::Unread(unread.clone())),
        _ => None,
    }
}

impl<'s> MetricContext<'s> {
    pub(super) fn new(
        snapshot: &'s Snapshot,
        rules: Rules,
        scale: &'s Scale,
        pods: Selected<'s>,
    ) -> Self {
        let tolerances = snapshot.controller.tolerances(&snapshot.hpa.spec);
        Self {
            snapshot,
            rules,
            scale,
            pods,
            tolerances,
        }
    }

    /// Wraps an error about a metric that the controller could not get.
    fn unable_to_get(
        &self,
        source: MetricSource<'_>,
        stop: MetricFailure<String>,
    ) -> MetricFailure<String> {
        let namespace = &self.snapshot.hpa.namespace;
        stop.wrap(|e| unable_to_get(source, namespace, self.rules.object_words) + &e)
    }

    fn terms(&self) -> Terms<'_> {
        Terms {
            rules: &self.rules,
            tolerances: &self.tolerances,
        }
    }

    /// Evaluates the metric at an index of the spec.
    pub(super) fn compute(&self, index: usize) -> MetricStep {
        let spec = &self.snapshot.hpa.spec.metrics[index];
        let answer = self.snapshot.metrics.get(index).unwrap_or(&NO_ANSWER);
        let mut seen = PodsSeen::default();
        let outcome = match spec.source() {
            MetricSource::Resource(source) => {
                self.resource(&source.name, None, &source.target, answer, &mut seen)
            }
            MetricSource::ContainerResource(source) => {
                let container = Some(&*source.container);
                self.resource(&source.name, container, &source.target, answer, &mut seen)
            }
            MetricSource::Pods(source) => self.pods(source, answer, &mut seen),
            MetricSource::Object(source) => self.object(source, answer, &mut seen),
            MetricSource::External(source) => self.external(source, answer, &mut seen),
            MetricSource::Unknown => {
                let error = format!("unknown metric source type {}", go::quote(&spec.type_));
                Err(MetricFailure::Error(MetricError {
                    reason: "InvalidMetricSourceType",
                    message: error.clone(),
                    error,
                }))
            }
        };
        let selector = spec
            .identifier()
            .and_then(|metric| metric.selector.as_ref());
        let target = match spec.source() {
            MetricSource::Object(source) => source.target.of_its_type(),
            _ => spec.target().cloned().unwrap_or_default(),
        };
        MetricStep {
            index,
            type_: spec.type_.clone(),
            name: spec.name().to_owned(),
            container: spec.container().map(str::to_owned),
            described_object: spec.described_object().map(ToString::to_string),
            selector: selector.map(|selector| LabelSelector::go_string(Some(selector))),
            target,
            tolerance: self.tolerances,
            result: match outcome {
                Ok(proposal) => MetricResult::Proposal(proposal),
                Err(MetricFailure::Error(error)) => MetricResult::Error(error),
                Err(MetricFailure::Unread(unread)) => MetricResult::Unread(unread),
            },
            pods: seen.rows,
            strangers: seen.strangers,
        }
    }

    /// Returns the status of an evaluated metric; zero-valued if it has no proposal.
    pub(super) fn status(&self, step: &MetricStep) -> MetricStatus {
        let mut status = MetricStatus::default();
        let Some(Proposal { current, .. }) = step.proposal() else {
            return status;
        };
        let current = current.clone();
        let spec = &self.snapshot.hpa.spec.metrics[step.index];
        spec.type_.clone_into(&mut status.type_);
        match spec.source() {
            MetricSource::Resource(source) => {
                status.resource = Some(ResourceMetricStatus {
                    name: source.name.clone(),
                    current,
                });
            }
            MetricSource::ContainerResource(source) => {
                status.container_resource = Some(ContainerResourceMetricStatus {
                    name: source.name.clone(),
                    container: source.container.clone(),
                    current,
                });
            }
            MetricSource::Pods(source) => {
                status.pods = Some(PodsMetricStatus {
                    metric: source.metric.clone(),
                    current,
                });
            }
            MetricSource::Object(source) => {
                let is_described = self.rules.reports_described_object || current.value.is_some();
                status.object = Some(ObjectMetricStatus {
                    metric: source.metric.clone(),
                    current,
                    described_object: if is_described {
                        source.described_object.clone()
                    } else {
                        CrossVersionObjectReference::default()
                    },
                });
            }
            MetricSource::External(source) => {
                status.external = Some(ExternalMetricStatus {
                    metric: source.metric.clone(),
                    current,
                });
            }
            MetricSource::Unknown => {}
        }
        status
    }

    /// `computeStatusForResourceMetric`, also for one container.
    fn resource(
        &self,
        resource: &str,
        container: Option<&str>,
        target: &MetricTarget,
        answer: &MetricAnswer,
        seen: &mut PodsSeen,
    ) -> Result<Proposal, MetricFailure<MetricError>> {
        let fail = |e| self.resource_error(resource, container, e);
        if container.is_some() && self.rules.rejects_container_metrics {
            let error = "ContainerResource metric type is not supported: disabled by the feature \
                         gate";
            return Err(MetricError {
                reason: "",
                message: String::new(),
                error: error.to_owned(),
            }
            .into());
        }
        // The fields decide, not the target's type.
        let (wanted, kind) = match (&target.average_value, target.average_utilization) {
            (Some(average), _) => {
                let kind = if self.rules.usage_words {
                    "usage"
                } else {
                    "utilization"
                };
                (PerPodTarget::Average(average.milli_value()), kind)
            }
            (None, Some(percent)) => (PerPodTarget::Utilization(percent), "utilization"),
            (None, None) => {
                let neither = if self.rules.usage_words {
                    "an average utilization target nor an average value (usage) target"
                } else {
                    "a utilization target nor a value target"
                };
                let e = format!("invalid resource metric source: neither {neither} was set");
                return Err(fail(e).into());
            }
        };
        let (calculated, usage) = self
            .resource_replicas(resource, container, wanted, answer, seen)
            .map_err(|stop| stop.wrap(|e| fail(format!("failed to get {resource} {kind}: {e}"))))?;

        let format = if self.rules.binary_memory && resource == "memory" {
            Format::BinarySI
        } else {
            Format::DecimalSI
        };
        let current = MetricValueStatus {
            average_value: Some(Quantity::from_milli(usage.value, format)),
            average_utilization: usage.percent,
            value: None,
        };
        let name = match (wanted, container) {
            (PerPodTarget::Average(_), _) => format!("{resource} resource"),
            (PerPodTarget::Utilization(_), Some(_)) if self.rules.container_words => {
                format!("{resource} container resource utilization (percentage of request)")
            }
            (PerPodTarget::Utilization(_), _) => {
                format!("{resource} resource utilization (percentage of request)")
            }
        };
        Ok(calculated.named(name, current))
    }

    fn resource_error(
        &self,
        resource: &str,
        container: Option<&str>,
        message: String,
    ) -> MetricError {
        let (reason, subject) = match container {
            None => ("FailedGetResourceMetric", format!("{resource} resource")),
            Some(container) => (
                "FailedGetContainerResourceMetric",
                format!("{container} container"),
            ),
        };
        MetricError {
            reason,
            error: if self.rules.errors_name_metric {
                format!("failed to get {subject} metric value: {message}")
            } else {
                message.clone()
            },
            message,
        }
    }

    fn resource_replicas(
        &self,
        resource: &str,
        container: Option<&str>,
        target: PerPodTarget,
        answer: &MetricAnswer,
        seen: &mut PodsSeen,
    ) -> Result<(Calculated, Usage), MetricFailure<String>> {
        let metrics = match failed(answer, "resource") {
            Some(stop) => Err(stop),
            None if self.snapshot.pod_metrics.is_empty() => {
                Err("no metrics returned from resource metrics API"
                    .to_owned()
                    .into())
            }
            None => Ok(&self.snapshot.pod_metrics),
        }
        .and_then(|metrics| match container {
            Some(container) if !self.rules.container_may_be_missing => {
                Ok(self.check_container(metrics, container).map(|()| metrics)?)
            }
            _ => Ok(metrics),
        })
        .map_err(|stop| stop.wrap(|e| unable_to_get_resource(resource) + &e))?;
        let samples = metrics.iter().filter_map(|pod| {
            let value = pod.usage(resource, container)?;
            let sample = PodSample {
                value,
                timestamp: pod.timestamp,
                window: pod.window,
            };
            Some((&*pod.name, sample))
        });
        self.replicas_from_pods(samples, resource, container, target, seen)
    }

    /// Checks that the metrics of each pod include the container (`getContainerMetrics`).
    fn check_container(
        &self,
        metrics: &[Shared<PodMetrics>],
        container: &str,
    ) -> Result<(), String> {
        let lacks =
            |pod: &&Shared<PodMetrics>| pod.containers.iter().all(|c| &*c.name != container);
        match metrics.iter().find(lacks) {
            None => Ok(()),
            Some(pod) => Err(format!(
                "failed to get container metrics: container {container} not present in metrics \
                 for pod {}/{}",
                pod.namespace
                    .as_deref()
                    .unwrap_or(&self.snapshot.hpa.namespace),
                pod.name
            )),
        }
    }

    /// `computeStatusForPodsMetric`.
    fn pods(
        &self,
        source: &PodsMetricSource,
        answer: &'s MetricAnswer,
        seen: &mut PodsSeen,
    ) -> Result<Proposal, MetricFailure<MetricError>> {
        let (calculated, usage) = check_selector(&source.metric)
            .map_err(MetricFailure::from)
            .and_then(|()| {
                let values = match (failed(answer, "custom"), answer) {
                    (Some(stop), _) => Err(stop),
                    (None, MetricAnswer::Pods(values)) if !values.is_empty() => Ok(values),
                    _ => Err("no metrics returned from custom metrics API"
                        .to_owned()
                        .into()),
                }
                .map_err(|stop| self.unable_to_get(MetricSource::Pods(source), stop))?;
                let samples = values.iter().map(|value| {
                    let (value, pod) = (
                        PodSample {
                            value: value.value,
                            timestamp: value.timestamp,
                            window: value.window,
                        },
                        &*value.pod,
                    );
                    (pod, value)
                });
                let target = milli(source.target.average_value.as_ref());
                self.replicas_from_pods(samples, "", None, PerPodTarget::Average(target), seen)
            })
            .map_err(|stop| {
                stop.wrap(|e| MetricError {
                    reason: "FailedGetPodsMetric",
                    error: format!("failed to get pods metric value: {e}"),
                    message: e,
                })
            })?;
        let name = format!("pods metric {}", source.metric.name);
        Ok(calculated.named(name, average(usage.value)))
    }

    /// The part that all per-pod metrics share: group, drop, compare. The rows are kept for the
    /// trace even if it fails.
    fn replicas_from_pods(
        &self,
        samples: impl Iterator<Item = (&'s str, PodSample)>,
        resource: &str,
        container: Option<&str>,
        target: PerPodTarget,
        seen: &mut PodsSeen,
    ) -> Result<(Calculated, Usage), MetricFailure<String>> {
        if self.pods.is_empty() {
            return Err(self.no_pods(NO_PODS.to_owned()));
        }
        let controller = &self.snapshot.controller;
        let mut grouped: Grouped<'_> = self.pods.group(
            samples,
            resource,
            controller,
            &self.rules,
            self.snapshot.now,
        );
        let left = match grouped.counts.ready + grouped.counts.strangers {
            0 if self.rules.container_words => {
                Err("did not receive metrics for targeted pods (pods might be unready)".to_owned())
            }
            0 => Err("did not receive metrics for any ready pods".to_owned()),
            _ => Ok(()),
        };
        // Until 1.25, missing requests are reported first; since 1.26, that no metric is left.
        let checked = match target {
            PerPodTarget::Average(_) => left,
            PerPodTarget::Utilization(_) if self.rules.requests_last && left.is_err() => left,
            PerPodTarget::Utilization(_) => self
                .pods
                .fill_requests(&mut grouped.rows, resource, container, &self.rules)
                .and(left),
        };
        let current = self.scale.spec_replicas;
        let result =
            checked.and_then(|()| replicas::from_pods(&mut grouped, target, self.terms(), current));
        *seen = PodsSeen {
            strangers: grouped.strangers.len(),
            rows: grouped.rows,
        };
        Ok(result?)
    }

    /// Returns the failure of a metric whose selector matches no pod, unless the pods are only unknown here.
    fn no_pods(&self, error: String) -> MetricFailure<String> {
        let unread = self.snapshot.pods_unread.clone();
        unread.map_or(MetricFailure::Error(error), MetricFailure::Unread)
    }

    /// `computeStatusForObjectMetric`. Here type and field must agree.
    fn object(
        &self,
        source: &ObjectMetricSource,
        answer: &MetricAnswer,
        seen: &mut PodsSeen,
    ) -> Result<Proposal, MetricFailure<MetricError>> {
        let fail = |e: String| object_error(&e, &e);
        check_selector(&source.metric).map_err(fail)?;
        let metric = &source.metric.name;
        let described = &source.described_object;
        let target = &source.target;
        let (calculated, name, current) = match (
            target.type_.as_str(),
            &target.value,
            &target.average_value,
        ) {
            ("Value", Some(wanted), _) => {
                let usage = self
                    .object_usage(source, answer)
                    .map_err(|stop| stop.wrap(fail))?;
                let calculated = self
                    .value_of_total(usage, wanted, seen)
                    .map_err(|stop| stop.wrap(fail))?;
                let name = format!("{} metric {metric}", described.kind);
                (calculated, name, value(usage))
            }
            ("AverageValue", _, Some(wanted)) => {
                let usage = self.object_usage(source, answer).map_err(|stop| {
                    stop.wrap(|e| {
                        object_error(&e, &format!("failed to get {metric} object metric: {e}"))
                    })
                })?;
                let (calculated, current) = self.average_of_total(usage, wanted, false);
                (calculated, external_name(&source.metric), current)
            }
            _ => {
                let e = "invalid object metric source: neither a value target nor an average value target was set";
                return Err(fail(e.to_owned()).into());
            }
        };
        Ok(calculated.named(name, current))
    }

    /// Compares one value with a target for the whole workload.
    fn value_of_total(
        &self,
        usage: i64,
        target: &Quantity,
        seen: &mut PodsSeen,
    ) -> Result<Calculated, MetricFailure<String>> {
        let (terms, current) = (self.terms(), self.scale.spec_replicas);
        let milli = target.milli_value();
        replicas::from_value(usage, milli, terms, current, &self.pods, &mut seen.rows)
            .map_err(|e| self.no_pods(e))
    }

    /// Compares one value with a target for each replica; also returns the average for the status.
    fn average_of_total(
        &self,
        usage: i64,
        target: &Quantity,
        saturate: bool,
    ) -> (Calculated, MetricValueStatus) {
        let (terms, replicas) = (self.terms(), self.scale.status_replicas);
        let milli = target.milli_value();
        let calculated = replicas::from_total(usage, milli, terms, replicas, saturate);
        let mean = replicas::average_over(usage, replicas, &self.rules, saturate);
        (calculated, average(mean))
    }

    /// The value of the object (`GetObjectMetric`).
    fn object_usage(
        &self,
        source: &ObjectMetricSource,
        answer: &MetricAnswer,
    ) -> Result<i64, MetricFailure<String>> {
        let stop = match (failed(answer, "custom"), answer) {
            (Some(stop), _) => stop,
            (None, MetricAnswer::Object(values)) => match values[..] {
                [ObjectValue { value, .. }] => return Ok(value),
                _ => unfetched(
                    "custom",
                    &format!(
                        "the custom metrics API server returned {} results when we asked for \
                         exactly one",
                        values.len()
                    ),
                ),
            },
            _ => unfetched("custom", "no answer is known"),
        };
        Err(self.unable_to_get(MetricSource::Object(source), stop))
    }

    /// `computeStatusForExternalMetric`.
    fn external(
        &self,
        source: &ExternalMetricSource,
        answer: &MetricAnswer,
        seen: &mut PodsSeen,
    ) -> Result<Proposal, MetricFailure<MetricError>> {
        let metric = &source.metric.name;
        let (calculated, current) = if let Some(wanted) = &source.target.average_value {
            let prefix = format!("failed to get {metric} external metric: ");
            let values = self
                .external_values(source, answer)
                .map_err(|stop| stop.wrap(|e| self.external_error(metric, &prefix, e)))?;
            let saturate = self.rules.average_saturates;
            let usage = if saturate {
                sum_until_negative(values)
            } else {
                sum(values)
            };
            self.average_of_total(usage, wanted, saturate)
        } else if let Some(wanted) = &source.target.value {
            let prefix = format!("failed to get external metric {metric}: ");
            let fail = |e| self.external_error(metric, &prefix, e);
            let values = self
                .external_values(source, answer)
                .map_err(|stop| stop.wrap(fail))?;
            let usage = if self.rules.value_saturates {
                sum_capped(values)
            } else {
                sum(values)
            };
            let calculated = self
                .value_of_total(usage, wanted, seen)
                .map_err(|stop| stop.wrap(fail))?;
            (calculated, value(usage))
        } else {
            let e = "invalid external metric source: neither a value target nor an average value target was set";
            return Err(self.external_error(metric, "", e.to_owned()).into());
        };
        Ok(calculated.named(external_name(&source.metric), current))
    }

    fn external_values<'a>(
        &self,
        source: &ExternalMetricSource,
        answer: &'a MetricAnswer,
    ) -> Result<&'a [ExternalValue], MetricFailure<String>> {
        check_selector(&source.metric)?;
        let stop = match (failed(answer, "external"), answer) {
            (Some(stop), _) => stop,
            (None, MetricAnswer::External(values)) if !values.is_empty() => return Ok(values),
            _ => "no metrics returned from external metrics API"
                .to_owned()
                .into(),
        };
        Err(self.unable_to_get(MetricSource::External(source), stop))
    }

    fn external_error(&self, metric: &str, prefix: &str, message: String) -> MetricError {
        MetricError {
            reason: "FailedGetExternalMetric",
            error: if self.rules.errors_name_metric {
                format!("failed to get {metric} external metric value: {prefix}{message}")
            } else {
                format!("{prefix}{message}")
            },
            message,
        }
    }
}

const NO_ANSWER: MetricAnswer = MetricAnswer::PodMetrics;

/// Returns the sum, wrapping.
fn sum(values: &[ExternalValue]) -> i64 {
    values.iter().fold(0, |sum, ExternalValue { value, .. }| {
        sum.wrapping_add(*value)
    })
}

/// Returns the sum for an average target: any negative partial sum is treated as an overflow.
fn sum_until_negative(values: &[ExternalValue]) -> i64 {
    let mut sum = 0i64;
    for ExternalValue { value, .. } in values {
        sum = sum.wrapping_add(*value);
        if sum < 0 {
            return i64::MAX;
        }
    }
    sum
}

/// Returns the sum for a value target: capped at the top, wrapping at the bottom.
fn sum_capped(values: &[ExternalValue]) -> i64 {
    let mut sum = 0i64;
    for ExternalValue { value, .. } in values {
        if *value > 0 && sum > i64::MAX - value {
            return i64::MAX;
        }
        sum = sum.wrapping_add(*value);
    }
    sum
}

fn check_selector(metric: &MetricIdentifier) -> Result<(), String> {
    let checked = metric
        .selector
        .as_ref()
        .map(LabelSelector::to_selector)
        .transpose();
    checked.map(drop).map_err(|e| e.to_string())
}

/// The controller calls Object metrics with an average target external, too.
fn external_name(metric: &MetricIdentifier) -> String {
    format!(
        "external metric {}({})",
        metric.name,
        LabelSelector::go_string(metric.selector.as_ref())
    )
}

fn milli(quantity: Option<&Quantity>) -> i64 {
    quantity.map_or(0, Quantity::milli_value)
}

fn average(milli: i64) -> MetricValueStatus {
    MetricValueStatus {
        average_value: Some(Quantity::from_milli(milli, Format::DecimalSI)),
        ..MetricValueStatus::default()
    }
}

fn value(milli: i64) -> MetricValueStatus {
    MetricValueStatus {
        value: Some(Quantity::from_milli(milli, Format::DecimalSI)),
        ..MetricValueStatus::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_operator_of_a_selector_is_an_error() {
        let of = |operator: &str| {
            let expression = json!({"key": "app", "operator": operator, "values": ["web"]});
            let selector = json!({"matchExpressions": [expression]});
            let metric = json!({"name": "queue", "selector": selector});
            check_selector(&serde_json::from_value(metric).unwrap())
        };
        assert_eq!(of("In"), Ok(()));
        let unknown = "\"Is\" is not a valid label selector operator";
        assert_eq!(of("Is"), Err(unknown.to_owned()));
        assert_eq!(check_selector(&MetricIdentifier::default()), Ok(()));
    }

    /// Only a sum beyond the largest number ends the loop, not one that reaches it.
    #[test]
    fn the_sum_for_a_value_target_is_capped_where_it_overflows() {
        for (values, expected) in [
            (&[i64::MAX - 1, 1, -5][..], i64::MAX - 5),
            (&[i64::MAX - 1, 2, -5], i64::MAX),
            (&[i64::MIN, -1], i64::MAX),
            (&[1, 2, 3], 6),
            (&[10_i64.pow(12), 0, 10_i64.pow(12)], 2 * 10_i64.pow(12)),
        ] {
            let of = |&value: &i64| ExternalValue {
                value,
                ..ExternalValue::default()
            };
            let list: Vec<ExternalValue> = values.iter().map(of).collect();
            assert_eq!(sum_capped(&list), expected, "{values:?}");
        }
    }
}
