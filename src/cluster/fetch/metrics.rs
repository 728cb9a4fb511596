//! The answers of the three metrics APIs for an HPA. A failure of an API is the controller's outcome for that metric,
//! unless it concerns only the user or the connection that asked; the remedy is reported separately. Follows
//! `rest_metrics_client.go` of `pkg/controller/podautoscaler/metrics`.

use std::sync::Arc;

use futures_util::{StreamExt, stream};

use super::super::{Failure, FailureKind};
use super::Fetch;
use super::discovery::{Discovery, Resource, built_in, collection};
use super::pages::{OBJECTS, too_many};
use super::read::{List, SharingList, Together, read};
use super::right::advice;
use crate::apimachinery::names::{no_kind, query, segment};
use crate::snapshot::hpa::{CUSTOM, Hpa, MetricSource, MetricSpec};
use crate::snapshot::metric::{ExternalMetricValue, MetricValue, PodMetrics};
use crate::snapshot::note::Note;
use crate::snapshot::shared::Shared;
use crate::snapshot::{ExternalValue, MetricAnswer, UnreadCause};

/// The path of the external metrics API, and of the list of its metrics.
pub(super) const EXTERNAL_METRICS: &str = "/apis/external.metrics.k8s.io/v1beta1";

/// The number of metrics that are requested concurrently.
const AT_ONCE: usize = 8;

/// The outcome for a metric without an answer.
#[derive(Debug, Clone)]
pub(super) struct NoAnswer {
    /// The answer as the pass sees it, with the controller's message.
    pub(super) answer: MetricAnswer,
    /// The advice for the failure.
    pub(super) advice: Option<Box<Note>>,
}

impl NoAnswer {
    /// Returns the outcome of a failure that leaves open what the controller reads.
    fn unread(failure: &Failure, message: String) -> Self {
        let cause = if failure.lacks_right() {
            UnreadCause::Refused { message }
        } else {
            UnreadCause::Unanswered { message }
        };
        Self {
            answer: MetricAnswer::Unread(cause),
            advice: advice(failure).map(Box::new),
        }
    }

    /// Returns the outcome without discovery, which the controller requests at other times.
    fn undiscovered(failure: &Failure) -> Self {
        let cause = lost(failure);
        Self::unread(
            failure,
            format!("the API server's discovery failed: {cause}"),
        )
    }
}

/// Describes how the answer to a request was lost.
pub(super) fn lost(failure: &Failure) -> String {
    match &failure.kind {
        FailureKind::Api(status) if status.html => {
            format!("HTTP {} from {}: a page in HTML", status.code, failure.host)
        }
        FailureKind::Api(status) if status.may_be_of_another() => failure.of_another(status),
        FailureKind::Body(_) | FailureKind::Page => failure.to_string(),
        _ => failure.cause(),
    }
}

impl From<&Failure> for NoAnswer {
    fn from(failure: &Failure) -> Self {
        if failure.lacks_right() || failure.is_own() {
            return Self::unread(failure, lost(failure));
        }
        Self {
            answer: MetricAnswer::Failed(failure.client_go()),
            advice: advice(failure).map(Box::new),
        }
    }
}

impl From<Failure> for NoAnswer {
    fn from(failure: Failure) -> Self {
        Self::from(&failure)
    }
}

impl From<String> for NoAnswer {
    fn from(message: String) -> Self {
        Self {
            answer: MetricAnswer::Failed(message),
            advice: None,
        }
    }
}

impl Fetch<'_> {
    /// Returns the usage of the pods that a selector matches.
    pub(super) async fn pod_metrics(
        &self,
        selector: &str,
    ) -> Result<Vec<Shared<PodMetrics>>, Failure> {
        match self.lists.and_then(|lists| lists.pod_metrics(selector)) {
            Some(listed) => listed.map_err(|e| e.of_path(self.pod_metrics_path(selector))),
            None => self.usage_of(selector).await,
        }
    }

    /// Returns the usage of the pods that a selector matches, or of all pods if it is empty, without a look at
    /// the lists.
    pub(super) async fn usage_of(
        &self,
        selector: &str,
    ) -> Result<Vec<Shared<PodMetrics>>, Failure> {
        let path = self.pod_metrics_path(selector);
        let response = self.metrics_answer(&path).await?;
        self.session.object(&response, all_usage).await
    }

    fn pod_metrics_path(&self, selector: &str) -> String {
        collection("/apis/metrics.k8s.io/v1beta1", Some(self.namespace), "pods")
            + &query(&[("labelSelector", selector)])
    }

    /// Returns the answers of the custom and external metrics APIs, in the order of the metrics in the spec;
    /// they are requested concurrently.
    pub(super) async fn values(
        &self,
        hpa: &Hpa,
        selector: &str,
        discovery: &Result<Discovery, Failure>,
    ) -> Vec<Result<MetricAnswer, NoAnswer>> {
        let metrics = hpa.spec.metrics.iter();
        let together = Arc::default();
        let requests = metrics.map(|spec| self.value(spec, selector, discovery, &together));
        stream::iter(requests).buffered(AT_ONCE).collect().await
    }

    async fn value(
        &self,
        spec: &MetricSpec,
        selector: &str,
        discovery: &Result<Discovery, Failure>,
        together: &Arc<Together>,
    ) -> Result<MetricAnswer, NoAnswer> {
        match spec.source() {
            MetricSource::Pods(_) => {
                let version = custom_version(discovery)?;
                let pods = self.custom_values(spec, version, "pods/*", selector, together);
                Ok(MetricAnswer::Pods(
                    pods.await?.iter().map(MetricValue::of_pod).collect(),
                ))
            }
            MetricSource::Object(source) => {
                let version = custom_version(discovery)?;
                let object = &source.described_object;
                let path = if object.is_namespace() {
                    "metrics".to_owned()
                } else {
                    let group = object.group();
                    let resource = match built_in(group, &object.kind) {
                        Some(resource) => resource,
                        None => mapped(group, &object.kind, discovery)?,
                    };
                    format!("{}/{}", resource.group_resource(), segment(&object.name))
                };
                let values = self.custom_values(spec, version, &path, "", together);
                Ok(MetricAnswer::Object(
                    values.await?.iter().map(MetricValue::of_object).collect(),
                ))
            }
            MetricSource::External(_) => {
                let metric = segment(spec.name());
                let path = collection(EXTERNAL_METRICS, Some(self.namespace), &metric)
                    + &query(&[("labelSelector", &spec.selector())]);
                let page: List<ExternalMetricValue> = self
                    .metrics_json(&path, "ExternalMetricValueList", together)
                    .await?;
                let values = page.items.into_iter().map(|value| ExternalValue {
                    value: value.value.milli_value(),
                    labels: value.metric_labels,
                    timestamp: value.timestamp,
                });
                Ok(MetricAnswer::External(values.collect()))
            }
            _ => Ok(MetricAnswer::PodMetrics),
        }
    }

    /// Requests a metric of the custom metrics API for the objects at a path that `selector` selects.
    async fn custom_values(
        &self,
        spec: &MetricSpec,
        version: &str,
        objects: &str,
        selector: &str,
        together: &Arc<Together>,
    ) -> Result<Vec<MetricValue>, Failure> {
        let api = format!("/apis/{CUSTOM}/{version}");
        let metric = format!("{objects}/{}", segment(spec.name()));
        let path = collection(&api, Some(self.namespace), &metric)
            + &query(&[
                ("labelSelector", selector),
                ("metricLabelSelector", &spec.selector()),
            ]);
        let page: List<MetricValue> = self
            .metrics_json(&path, "MetricValueList", together)
            .await?;
        Ok(page.items)
    }
}

fn all_usage(body: &[u8]) -> Result<Vec<Shared<PodMetrics>>, String> {
    let items = read::<SharingList<PodMetrics>>("PodMetricsList", body)?.items();
    if items.len() > OBJECTS {
        Err(too_many())
    } else {
        Ok(items)
    }
}

/// Returns the version of the custom metrics API that the controller requests: the first of the server's
/// versions that it knows (`NewAvailableAPIsGetter`).
pub(super) fn custom_version(discovery: &Result<Discovery, Failure>) -> Result<&str, NoAnswer> {
    const KNOWN: [&str; 2] = ["v1beta1", "v1beta2"];
    let discovery = discovery.as_ref().map_err(NoAnswer::undiscovered)?;
    let Some(mut versions) = discovery.versions(CUSTOM) else {
        return Err(format!("no custom metrics API ({CUSTOM}) registered").into());
    };
    match versions.find(|version| KNOWN.contains(version)) {
        Some(version) => Ok(version),
        None => Err("no known available metric versions found".to_owned().into()),
    }
}

/// Returns the resource of a kind that only discovery knows.
fn mapped(
    group: &str,
    kind: &str,
    discovery: &Result<Discovery, Failure>,
) -> Result<Resource, NoAnswer> {
    let found = discovery.as_ref().and_then(|it| it.resource(group, kind));
    found.map_err(NoAnswer::undiscovered)?.ok_or_else(|| {
        let dot = if group.is_empty() { "" } else { "." };
        let cause = no_kind(group, kind);
        format!("unable to map kind {kind}{dot}{group} to resource: {cause}").into()
    })
}
