//! Asks an API server for everything that a pass needs, in as few rounds as the answers allow: the
//! HPA; then its target's scale and what does not depend on it; then pods and metrics, which need
//! the target's selector. What the controller would take for an outcome is one here, too; only what
//! leaves the question open is an error.

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::join;

use super::discovery::{Discovery, Resource, built_in, segment};
use super::{Failure, Session};
use crate::error::Error;
use crate::selector::{LabelSelector, Selector};
use crate::snapshot::admit;
use crate::snapshot::default::AdmissionGates;
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, MetricSpec};
use crate::snapshot::live::Observed;
use crate::snapshot::metric::{ExternalMetricValue, MetricValue, PodMetrics};
use crate::snapshot::objects::ScaleObject;
use crate::snapshot::pod::Pod;
use crate::snapshot::{ExternalValue, MetricAnswer, OtherHpa, PodValue, Scale, ScaleError};

const JSON: &str = "application/json";

/// How many metrics are asked for at once.
const AT_ONCE: usize = 8;

/// As many pods a page as kubectl asks for.
const PAGE: usize = 500;

/// Fetches one HPA and everything that its pass needs.
///
/// # Errors
///
/// The HPA, or something whose absence the controller would not take for an outcome, cannot be
/// read.
pub async fn fetch(session: &Session, namespace: &str, name: &str) -> Result<Observed, Error> {
    let asked = Fetch { session, namespace };
    let (hpa, version, listed) = join!(asked.hpa(name), asked.version(), asked.hpas());
    let (hpa, now) = hpa?;
    let mut notes = Vec::new();

    let needs = Needs::of(&hpa);
    let discovery = async {
        if needs.discovery { Discovery::ask(session).await } else { Ok(Discovery::default()) }
    };
    let custom =
        async { if needs.custom { asked.custom_version().await } else { Ok(String::new()) } };
    let others = asked.others(&hpa, listed, &mut notes);
    let direct = asked.built_in_scale(&hpa);
    let (discovery, custom, others, direct) = join!(discovery, custom, others, direct);
    let discovery = discovery.map_err(|e| failed(&e))?;
    let scale = match direct {
        Some(scale) => scale?,
        None => asked.custom_scale(&hpa, &discovery).await?,
    };

    let selector = match &scale {
        Ok(scale) if !scale.selector.is_empty() => Selector::parse(&scale.selector).ok(),
        _ => None,
    };
    let selector = selector.map(|_| scale.as_ref().map_or("", |scale| &*scale.selector));
    let mut pods = Vec::new();
    let mut pod_metrics = Vec::new();
    let mut metrics = vec![MetricAnswer::PodMetrics; hpa.spec.metrics.len()];
    if let Some(selector) = selector {
        let resource =
            async { if needs.resource { Some(asked.pod_metrics(selector).await) } else { None } };
        let values = asked.values(&hpa, selector, &discovery, &custom);
        let (listed, resource, values) = join!(asked.pods(selector), resource, values);
        pods = listed.map_err(|e| denied(&e, "list", "", "pods"))?;
        metrics = values;
        match resource {
            Some(Ok(list)) => pod_metrics = list,
            Some(Err(e)) => {
                notes.extend(missing_right(&e, "list", "metrics.k8s.io", "pods"));
                for (spec, answer) in hpa.spec.metrics.iter().zip(&mut metrics) {
                    if matches!(spec.type_.as_str(), "Resource" | "ContainerResource") {
                        *answer = MetricAnswer::Failed(e.client_go());
                    }
                }
            }
            None => {}
        }
    }
    Ok(Observed {
        now,
        version: version.ok(),
        hpa,
        scale,
        pods,
        pod_metrics,
        metrics,
        others,
        notes,
    })
}

/// What the metrics of a spec need besides the target.
struct Needs {
    resource: bool,
    custom: bool,
    discovery: bool,
}

impl Needs {
    fn of(hpa: &Hpa) -> Self {
        let metrics = &hpa.spec.metrics;
        let has = |types: &[&str]| metrics.iter().any(|m| types.contains(&m.type_.as_str()));
        let described = metrics.iter().filter_map(|metric| metric.object.as_ref());
        let unknown = |reference: &CrossVersionObjectReference| {
            !is_namespace(reference)
                && built_in(group_of(&reference.api_version), &reference.kind).is_none()
        };
        let target = &hpa.spec.scale_target_ref;
        Self {
            resource: has(&["Resource", "ContainerResource"]),
            custom: has(&["Pods", "Object"]),
            discovery: described.map(|source| &source.described_object).any(unknown)
                || (unknown(target) && is_well_formed(&target.api_version)),
        }
    }
}

struct Fetch<'s> {
    session: &'s Session,
    namespace: &'s str,
}

/// The list of a namespace's HPAs, or why it cannot be had.
type Listed = Result<Vec<Hpa>, Failure>;

impl Fetch<'_> {
    async fn json<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, Failure> {
        let response = self.session.get(path, JSON).await?;
        self.read(path, &response.body)
    }

    /// Asks as the controller does, whose outcome the answer is.
    async fn metrics_json<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, Failure> {
        let response = self.session.get_as_controller(path, JSON).await?;
        self.read(path, &response.body)
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, path: &str, body: &[u8]) -> Result<T, Failure> {
        serde_json::from_slice(body).map_err(|e| {
            let cause = format!("invalid response for GET {path}: {e}");
            Failure::unreadable(self.session.host(), path, cause)
        })
    }

    fn hpas_path(&self) -> String {
        let namespace = segment(self.namespace);
        format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers")
    }

    /// The HPA, and the server's clock when it answered.
    async fn hpa(&self, name: &str) -> Result<(Hpa, Timestamp), Error> {
        let path = format!("{}/{}", self.hpas_path(), segment(name));
        let response = self
            .session
            .get(&path, JSON)
            .await
            .map_err(|e| denied(&e, "get", "autoscaling", "horizontalpodautoscalers"))?;
        let hpa = self.admit(&response.body).map_err(|cause| {
            let cause = format!("invalid response for GET {path}: {cause}");
            failed(&Failure::unreadable(self.session.host(), &path, cause))
        })?;
        Ok((hpa, response.date.unwrap_or_else(Timestamp::now)))
    }

    fn admit(&self, body: &[u8]) -> Result<Hpa, String> {
        let text = std::str::from_utf8(body).map_err(|e| e.to_string())?;
        let object = admit::admit(text, self.namespace, AdmissionGates::default())
            .map_err(|e| e.to_string())?;
        if object.is_admitted() {
            Ok(object.into_hpa())
        } else {
            Err("the object carries no uid".to_owned())
        }
    }

    async fn version(&self) -> Result<String, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            git_version: String,
        }
        Ok(self.json::<Version>("/version").await?.git_version)
    }

    async fn hpas(&self) -> Listed {
        #[derive(Deserialize)]
        struct List {
            items: Option<Vec<Box<serde_json::value::RawValue>>>,
        }
        let list: List = self.json(&self.hpas_path()).await?;
        let items = list.items.unwrap_or_default();
        let whole = |item: &str| {
            // Items of a list do not state their kind.
            let rest = item.trim_start().strip_prefix('{').unwrap_or_default();
            let head = r#"{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","#;
            self.admit(format!("{head}{rest}").as_bytes()).ok()
        };
        Ok(items.iter().filter_map(|item| whole(item.get())).collect())
    }

    /// The other HPAs whose selector the controller knows, as far as they can be read.
    async fn others(&self, hpa: &Hpa, listed: Listed, notes: &mut Vec<String>) -> Vec<OtherHpa> {
        let listed = match listed {
            Ok(listed) => listed,
            Err(e) => {
                let right = missing_right(&e, "list", "autoscaling", "horizontalpodautoscalers");
                notes.push(right.unwrap_or_else(|| e.to_string()));
                notes.push("whether another HPA selects the same pods is not known".to_owned());
                return Vec::new();
            }
        };
        let mut others = Vec::new();
        for other in listed.into_iter().filter(|other| other.name != hpa.name) {
            let Some(Ok(Ok(scale))) = self.built_in_scale(&other).await else {
                notes.push(format!(
                    "the target of {} cannot be read, so it plays no part",
                    other.key()
                ));
                continue;
            };
            let bounds = other.spec.min_replicas.unwrap_or(1)..=other.spec.max_replicas;
            if scale.spec_replicas == 0 || !bounds.contains(&scale.spec_replicas) {
                continue;
            }
            if let Ok(selector) = Selector::parse(&scale.selector)
                && !scale.selector.is_empty()
            {
                others.push(OtherHpa { hpa: other, scale, selector });
            }
        }
        others
    }

    /// The scale of a target of a built-in kind; none where discovery has to tell.
    async fn built_in_scale(&self, hpa: &Hpa) -> Option<Result<Result<Scale, ScaleError>, Error>> {
        let target = &hpa.spec.scale_target_ref;
        if !is_well_formed(&target.api_version) {
            // The engine words this before it looks at the scale.
            return Some(Ok(Err(ScaleError::Mapping(String::new()))));
        }
        let resource = built_in(group_of(&target.api_version), &target.kind)?;
        Some(self.scale(&resource, &target.name).await)
    }

    async fn custom_scale(
        &self,
        hpa: &Hpa,
        discovery: &Discovery,
    ) -> Result<Result<Scale, ScaleError>, Error> {
        let target = &hpa.spec.scale_target_ref;
        let group = group_of(&target.api_version);
        match discovery.resource(group, &target.kind) {
            Some(resource) => self.scale(&resource, &target.name).await,
            None => Ok(Err(ScaleError::Mapping(format!(
                "no matches for kind {:?} in group {group:?}",
                target.kind
            )))),
        }
    }

    async fn scale(
        &self,
        resource: &Resource,
        name: &str,
    ) -> Result<Result<Scale, ScaleError>, Error> {
        let path = format!("{}/scale", resource.path(self.namespace, name));
        match self.json::<ScaleObject>(&path).await {
            Ok(scale) => Ok(Ok(Scale {
                spec_replicas: scale.spec.replicas,
                status_replicas: scale.status.replicas,
                selector: scale.status.selector,
            })),
            // That it is not there is the controller's finding, too; that we may not look is ours.
            Err(e) if e.is_not_found() => Ok(Err(ScaleError::Get(e.client_go()))),
            Err(e) => Err(denied(&e, "get", &resource.group, &format!("{}/scale", resource.name))),
        }
    }

    /// All pods of a selector, page after page; from the start again where a page's token expires.
    async fn pods(&self, selector: &str) -> Result<Vec<Pod>, Failure> {
        let (namespace, selector) = (segment(self.namespace), segment(selector));
        let base = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={selector}");
        let mut pods = Vec::new();
        let mut token = String::new();
        loop {
            let path = format!("{base}&limit={PAGE}{token}");
            let page: Page<Pod> = match self.json(&path).await {
                Err(e) if e.is_expired() && !token.is_empty() => {
                    // One list without pages cannot expire.
                    return Ok(self.json::<Page<Pod>>(&base).await?.items.unwrap_or_default());
                }
                page => page?,
            };
            pods.extend(page.items.into_iter().flatten());
            match page.metadata.and_then(|metadata| metadata.next).filter(|next| !next.is_empty()) {
                Some(next) => token = format!("&continue={}", segment(&next)),
                None => return Ok(pods),
            }
        }
    }

    async fn pod_metrics(&self, selector: &str) -> Result<Vec<PodMetrics>, Failure> {
        let (namespace, selector) = (segment(self.namespace), segment(selector));
        let path = format!(
            "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods?labelSelector={selector}"
        );
        let page: Page<PodMetrics> = self.metrics_json(&path).await?;
        Ok(page.items.unwrap_or_default())
    }

    /// The version of the custom metrics API: the server's choice, if the controller knows it.
    async fn custom_version(&self) -> Result<String, String> {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Group {
            preferred_version: Version,
            versions: Vec<Version>,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Version {
            version: String,
        }
        let known = |version: &&Version| matches!(&*version.version, "v1beta1" | "v1beta2");
        let group: Group = match self.metrics_json("/apis/custom.metrics.k8s.io").await {
            Err(e) if e.is_not_found() => {
                return Err("no custom metrics API (custom.metrics.k8s.io) registered".to_owned());
            }
            group => group.map_err(|e| e.client_go())?,
        };
        let preferred = Some(&group.preferred_version).filter(known);
        match preferred.or_else(|| group.versions.iter().find(known)) {
            Some(version) => Ok(version.version.clone()),
            None => Err("no known available metric versions found".to_owned()),
        }
    }

    /// The answers of the custom and external metrics APIs, one metric of the spec after the other,
    /// asked for side by side.
    async fn values(
        &self,
        hpa: &Hpa,
        selector: &str,
        discovery: &Discovery,
        custom: &Result<String, String>,
    ) -> Vec<MetricAnswer> {
        let requests = hpa.spec.metrics.iter().map(|spec| async {
            let answer = self.value(spec, selector, discovery, custom).await;
            answer.unwrap_or_else(MetricAnswer::Failed)
        });
        stream::iter(requests).buffered(AT_ONCE).collect().await
    }

    async fn value(
        &self,
        spec: &MetricSpec,
        selector: &str,
        discovery: &Discovery,
        custom: &Result<String, String>,
    ) -> Result<MetricAnswer, String> {
        let namespace = segment(self.namespace);
        match spec.type_.as_str() {
            "Pods" => {
                let Some(source) = &spec.pods else { return Ok(MetricAnswer::PodMetrics) };
                let version = custom.as_ref().map_err(Clone::clone)?;
                let path = format!(
                    "/apis/custom.metrics.k8s.io/{version}/namespaces/{namespace}/pods/*/{}\
                     ?labelSelector={}{}",
                    segment(&source.metric.name),
                    segment(selector),
                    metric_query(source.metric.selector.as_ref(), "&metricLabelSelector"),
                );
                let values = self.custom_values(&path).await?;
                let value = |value: MetricValue| PodValue {
                    pod: value.described_object.name.into(),
                    value: value.value.milli_value(),
                    timestamp: value.timestamp,
                    window: value.window,
                };
                Ok(MetricAnswer::Pods(values.into_iter().map(value).collect()))
            }
            "Object" => {
                let Some(source) = &spec.object else { return Ok(MetricAnswer::PodMetrics) };
                let version = custom.as_ref().map_err(Clone::clone)?;
                let root = format!("/apis/custom.metrics.k8s.io/{version}/namespaces/{namespace}");
                let metric = segment(&source.metric.name);
                let query = metric_query(source.metric.selector.as_ref(), "?metricLabelSelector");
                let object = &source.described_object;
                let path = if is_namespace(object) {
                    format!("{root}/metrics/{metric}{query}")
                } else {
                    let group = group_of(&object.api_version);
                    let resource = built_in(group, &object.kind)
                        .or_else(|| discovery.resource(group, &object.kind))
                        .ok_or_else(|| unmapped(group, &object.kind))?;
                    let name = segment(&object.name);
                    format!("{root}/{}/{name}/{metric}{query}", resource.group_resource())
                };
                let values = self.custom_values(&path).await?;
                let values = values.iter().map(|value| value.value.milli_value());
                Ok(MetricAnswer::Object(values.collect()))
            }
            "External" => {
                let Some(source) = &spec.external else { return Ok(MetricAnswer::PodMetrics) };
                let path = format!(
                    "/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{}{}",
                    segment(&source.metric.name),
                    metric_query(source.metric.selector.as_ref(), "?labelSelector"),
                );
                let page: Page<ExternalMetricValue> =
                    self.metrics_json(&path).await.map_err(|e| e.client_go())?;
                let values = page.items.into_iter().flatten().map(|value| ExternalValue {
                    labels: value.metric_labels,
                    value: value.value.milli_value(),
                });
                Ok(MetricAnswer::External(values.collect()))
            }
            _ => Ok(MetricAnswer::PodMetrics),
        }
    }

    async fn custom_values(&self, path: &str) -> Result<Vec<MetricValue>, String> {
        let page: Page<MetricValue> = self.metrics_json(path).await.map_err(|e| e.client_go())?;
        Ok(page.items.unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: Option<PageMeta>,
    items: Option<Vec<T>>,
}

#[derive(Deserialize)]
struct PageMeta {
    #[serde(rename = "continue")]
    next: Option<String>,
}

fn metric_query(selector: Option<&LabelSelector>, parameter: &str) -> String {
    let text = selector.and_then(|selector| selector.to_selector().ok());
    match text.map(|selector| selector.to_string()) {
        Some(text) if !text.is_empty() => format!("{parameter}={}", segment(&text)),
        _ => String::new(),
    }
}

fn unmapped(group: &str, kind: &str) -> String {
    let full = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    format!(
        "unable to map kind {full} to resource: no matches for kind {kind:?} in group {group:?}"
    )
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn is_well_formed(api_version: &str) -> bool {
    api_version.matches('/').count() <= 1
}

fn is_namespace(object: &CrossVersionObjectReference) -> bool {
    group_of(&object.api_version).is_empty() && object.kind == "Namespace"
}

fn failed(failure: &Failure) -> Error {
    failure.clone().into()
}

/// The failure, with the right that is missing where that is the cause.
fn denied(failure: &Failure, verb: &str, group: &str, resource: &str) -> Error {
    match missing_right(failure, verb, group, resource) {
        Some(right) => failed(failure).hint(right),
        None => failed(failure),
    }
}

/// The rule that a role lacks.
fn missing_right(failure: &Failure, verb: &str, group: &str, resource: &str) -> Option<String> {
    failure.is_forbidden().then(|| {
        format!(
            "missing right: {{apiGroups: [{group:?}], resources: [{resource:?}], verbs: [{verb:?}]}}"
        )
    })
}
