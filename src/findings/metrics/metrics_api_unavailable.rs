//! The finding `metrics-api-unavailable`.

use super::miss::{Miss, Unavailable};
use super::{ServedBy, api, failed, point_at_keda, points_at, short, unavailable};
use crate::apimachinery::metadata::Condition;
use crate::findings::pods::failing;
use crate::findings::prelude::*;
use crate::findings::wording::told;
use crate::snapshot::hpa::{CUSTOM, EXTERNAL, RESOURCE};
use crate::snapshot::surroundings::{ApiService, ServiceReference};

/// The API server does not serve the metrics API that a metric comes from, the API's APIService is not available, or
/// requests fail with a server error.
///
/// Install what serves the API, or look at its APIService and at the pods behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsApiUnavailable {
    /// The API's group.
    pub group: &'static str,
    /// The metrics that the API should serve and that failed or are not in the input, by index in the spec.
    pub metrics: Vec<usize>,
    /// The way in which the API fails.
    pub why: Unavailable,
    /// The API's message about the first of the metrics, now or to the last pass; empty if neither is known.
    pub message: String,
}

impl Kind for MetricsApiUnavailable {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        let mut apis: Vec<Self> = Vec::new();
        for step in case.metrics() {
            let Some(Miss::Unavailable(why, text)) = Miss::of(case, step) else {
                continue;
            };
            let group = case.spec(step).api_group();
            match apis.iter_mut().find(|api| api.group == group) {
                Some(api) => api.metrics.push(step.index),
                None => apis.push(Self {
                    group,
                    metrics: vec![step.index],
                    why,
                    message: text.to_owned(),
                }),
            }
        }
        let found = apis.into_iter().map(|facts| {
            if facts.are_unread(case.decision) {
                Finding::aside(Severity::Warning, facts)
            } else {
                failed(case, facts)
            }
        });
        found.collect()
    }

    fn failed_metrics(&self) -> Vec<usize> {
        self.metrics.clone()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let (api, labels) = (api(self.group), about.labels(&self.metrics));
        let state = match self.why {
            Unavailable::NotFound => {
                let effect = about.effect("it");
                return format!("{api} is not served, or does not know {labels}, {effect}");
            }
            Unavailable::Unserved => "is not served",
            Unavailable::Stale => "has only stale versions",
            Unavailable::Failing => "does not answer",
        };
        let reason = match self.service(about) {
            Some((_, available)) if !available.reason.is_empty() => {
                format!(" ({})", available.reason)
            }
            _ => String::new(),
        };
        if self.are_unread(&about.pass.decision) && self.message.is_empty() {
            return format!("{api} {state}{reason}, so the controller cannot read {labels} either");
        }
        let effect = about.effect("it");
        format!("{api} {state}{reason}: {labels} cannot be read, {effect}")
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = vec![format!("The group of the API is {}.", self.group)];
        if !self.message.is_empty() {
            evidence.push(format!("The controller gets: {}.", short(&self.message)));
        }
        let service = self.service(about);
        evidence.extend(service.map(|(service, available)| {
            let since = about.since(available);
            let said = told([&available.reason, &short(&available.message)]);
            let name = &service.metadata.name;
            format!("The APIService {name} is not available{since}{said}.")
        }));
        let served_by = about.not_of_keda(self.group).into_iter();
        evidence.extend(
            served_by
                .chain(self.adapter(about))
                .map(|it| points_at(&it)),
        );
        evidence.extend(self.server(about).map(state));
        let log = service.filter(|(_, available)| available.reason == "FailedDiscoveryCheck");
        let why = log.map_or("", |_| ", whose pods log why");
        let behind = service.and_then(|(service, _)| service.spec.service.as_ref());
        evidence.extend(behind.map(|ServiceReference { namespace, name }| {
            format!("It points at the Service {namespace}/{name}{why}.")
        }));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(served_by) = about.not_of_keda(self.group) {
            return point_at_keda(&served_by);
        }
        let is_of_keda = self.is_of_keda(about);
        match (self.why, self.server(about)) {
            (Unavailable::Stale | Unavailable::Failing, Some(server)) => look_at(server),
            (Unavailable::NotFound, _) if !is_of_keda => Remedy::InstallApi
                .says(match self.adapter(about) {
                    Some(ServedBy { service, .. }) => {
                        format!("Register it for {service} with a rule, or use type Pods.")
                    }
                    None => format!("Correct the name, or install {}.", self.serves(about)),
                })
                .with(format!("kubectl get --raw {}", about.path_of(self.group))),
            (Unavailable::Unserved, _) if !is_of_keda => Remedy::InstallApi
                .says(match self.adapter(about) {
                    Some(ServedBy { service, .. }) => format!(
                        "Give the installed adapter, {service}, an APIService of this group and a \
                         rule for {}.",
                        about.labels(&self.metrics)
                    ),
                    None if self.group == RESOURCE => {
                        "Install metrics-server, or register its APIService.".to_owned()
                    }
                    None => format!("Install {}.", self.serves(about)),
                })
                .with("kubectl get apiservices"),
            _ => {
                if let Some(ServiceReference { namespace, name }) = self.empty_service(about) {
                    let (own, of) = (shell_word(name), shell_word(namespace));
                    return Remedy::LookAtApi
                        .says(format!(
                            "Find out why Service {namespace}/{name} has no ready pod."
                        ))
                        .with(format!("kubectl describe service {own} -n {of}"));
                }
                let show = match self.name(about) {
                    Some(name) => format!("kubectl describe apiservice {}", shell_word(&name)),
                    None => "kubectl get apiservices".to_owned(),
                };
                Remedy::LookAtApi
                    .says(format!(
                        "Look at {} and its APIService.",
                        self.serves(about)
                    ))
                    .with(show)
            }
        }
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        let name = self
            .name(about)
            .filter(|_| self.why != Unavailable::Unserved);
        Vec::from_iter(name.map(|name| format!("apiservice/{name}")))
    }
}

impl MetricsApiUnavailable {
    /// Whether the input has none of the metrics, so they have not failed in this pass.
    fn are_unread(&self, decision: &Decision) -> bool {
        let mut steps = decision.metrics();
        !steps.any(|step| step.is_failed() && self.metrics.contains(&step.index))
    }

    /// Returns the APIService with its condition `Available`, if the condition is known not to be true.
    fn service<'a>(&self, about: &About<'a>) -> Option<(&'a ApiService, &'a Condition)> {
        let service = about.pass.input.surroundings.api_service(self.group)?;
        Some((service, unavailable(service)?))
    }

    /// Returns the Service that the APIService points at, if no ready pod is behind it (`MissingEndpoints`).
    fn empty_service<'a>(&self, about: &About<'a>) -> Option<&'a ServiceReference> {
        let (service, available) = self.service(about)?;
        let is_empty = available.reason == "MissingEndpoints";
        service.spec.service.as_ref().filter(|_| is_empty)
    }

    /// Returns the name of the APIService, if it is known or has the usual name.
    fn name(&self, about: &About<'_>) -> Option<String> {
        match self.service(about) {
            Some((service, _)) => Some(service.metadata.name.clone()),
            None if self.group == CUSTOM => None,
            None => Some(format!("v1beta1.{}", self.group)),
        }
    }

    /// Whether KEDA should serve the API.
    fn is_of_keda(&self, about: &About<'_>) -> bool {
        about.owner().is_some() && self.group != RESOURCE
    }

    /// Returns the name of the component that should serve the API.
    fn serves(&self, about: &About<'_>) -> &'static str {
        match self.group {
            RESOURCE => "metrics-server",
            EXTERNAL if about.owner().is_some() => "KEDA's metrics server",
            EXTERNAL => "an adapter such as KEDA",
            _ => "an adapter such as prometheus-adapter",
        }
    }
}

impl MetricsApiUnavailable {
    /// Returns an adapter that serves another metrics API, if nothing serves this one of custom or external metrics, which
    /// neither metrics-server nor KEDA could serve.
    fn adapter<'a>(&self, about: &About<'a>) -> Option<ServedBy<'a>> {
        // An API with an APIService may only lack the name.
        let is_absent = match self.why {
            Unavailable::Unserved => true,
            Unavailable::NotFound => self.service(about).is_none(),
            Unavailable::Stale | Unavailable::Failing => false,
        };
        if !is_absent || self.group == RESOURCE {
            return None;
        }
        let surroundings = &about.pass.input.surroundings;
        [RESOURCE, CUSTOM, EXTERNAL]
            .into_iter()
            .filter(|other| *other != self.group)
            .filter_map(|other| ServedBy::of(surroundings.api_service(other)?))
            .find(|it| !it.is_keda() && !it.service.ends_with("metrics-server"))
    }

    /// Returns a pod that should serve the API and does not run, if the input has that pod.
    fn server<'a>(&self, about: &About<'a>) -> Option<&'a Pod> {
        let surroundings = &about.pass.input.surroundings;
        let service = surroundings.api_service(self.group);
        let stated = service.and_then(|it| it.spec.service.as_ref());
        let behind = stated.map(|it| (&*it.namespace, &*it.name));
        let usual = ("kube-system", "metrics-server");
        let (namespace, name) = behind.or((self.group == RESOURCE).then_some(usual))?;
        let servers = surroundings.servers.iter().map(|pod| &**pod).filter(|pod| {
            pod.namespace.as_deref() == Some(namespace)
                && pod.is_named_after(name)
                && pod.is_active()
        });
        // One running pod is enough; of several that do not, one that states why is named.
        if servers.clone().any(Pod::is_ready) {
            return None;
        }
        servers.min_by_key(|pod| (failing(pod).is_none(), pod.unschedulable.is_none()))
    }
}

/// Says that a server does not run.
fn state(server: &Pod) -> String {
    let (namespace, name) = (
        server.namespace.as_deref().unwrap_or_default(),
        &server.name,
    );
    match failing(server) {
        Some((container, reason)) => {
            format!("{container} of pod {namespace}/{name} waits: {reason}.")
        }
        None if server.unschedulable.is_some() => {
            format!("The scheduler finds no node for pod {namespace}/{name}.")
        }
        None => format!("Pod {namespace}/{name} is not ready."),
    }
}

/// Returns the advice on a server that does not run.
fn look_at(server: &Pod) -> Advice {
    let (namespace, name) = (
        server.namespace.as_deref().unwrap_or_default(),
        &server.name,
    );
    let state = match failing(server) {
        Some((_, reason)) => format!("does not run: {reason}"),
        None if server.unschedulable.is_some() => "does not run".to_owned(),
        None => "is not ready".to_owned(),
    };
    let advice = Remedy::LookAtApi.says(format!("Find out why {name} {state}."));
    let (name, namespace) = (shell_word(name), shell_word(namespace));
    advice.with(format!("kubectl describe pod {name} -n {namespace}"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::metrics::testing::{
        UNSERVED, api_service, container, failing, listing, pointing,
    };
    use crate::findings::testing::{cpu, of_keda, owned_by_keda, pass, queue, state, table};

    /// The API of a metric does not answer.
    const DOWN: &str =
        "the server is currently unable to handle the request (get pods.metrics.k8s.io)";

    /// The API server's proxy to the server of the API.
    const UNREACHED: &str =
        "error trying to reach service: dial tcp 10.96.7.1:443: connect: connection refused";

    fn along_with(items: &[Value], more: impl IntoIterator<Item = Value>) -> Vec<Value> {
        items.iter().cloned().chain(more).collect()
    }

    #[test]
    fn an_api_that_does_not_answer() {
        let plain = state(&[cpu()], &["50m"]);
        let external = state(&[queue(&build::average("10"))], &["50m"]);
        let custom = state(&[build::per_pod("rps", "10")], &["50m"]);
        let not_served = "no custom metrics API (custom.metrics.k8s.io) registered";
        let stale = "no known available metric versions found";
        let quoted = format!("unable to fetch metrics from external metrics API: {UNREACHED}");
        let of_backend = format!("unable to query prometheus: {UNREACHED}");
        // The controller's request, and an adapter's.
        let requested = |url: &str| {
            format!(
                "unable to fetch metrics from external metrics API: Get \"{url}\": dial tcp 10.0.0.7:443: \
                 connect: connection refused"
            )
        };
        let own =
            requested("https://10.96.0.1:443/apis/external.metrics.k8s.io/v1beta1/namespaces/a/q");
        let of_adapter = requested("http://prometheus.monitoring.svc:9090/api/v1/query?query=q");
        let served = |message: &str| {
            let items = failing(&external, "external", message);
            along_with(&items, [api_service("external.metrics.k8s.io", "True")])
        };
        let unserved = failing(&external, "external", UNSERVED);
        let listing =
            |names: &[&str]| along_with(&unserved, [listing("external.metrics.k8s.io", names)]);
        // Two metrics of an API are one finding; with a third that asks for more, the pass continues.
        let three = [cpu(), container("app"), queue(&build::average("1"))];
        let three = failing(&state(&three, &["50m"]), "resource", DOWN);
        let broken = |service| along_with(&failing(&plain, "resource", "proxy error"), [service]);
        let unregistered = failing(&custom, "custom", not_served);
        // An adapter is there without an APIService for the group.
        let another = |group: &str, namespace: &str, name: &str| {
            along_with(&unregistered, [pointing(group, namespace, name, "True")])
        };
        let states = [
            ("answers", plain.clone()),
            ("answers 503", failing(&plain, "resource", DOWN)),
            ("cannot be reached", failing(&plain, "resource", UNREACHED)),
            (
                "cannot be reached, says the controller",
                failing(&external, "external", &quoted),
            ),
            ("cannot be reached, says Go", served(&own)),
            (
                "cannot reach its backend",
                failing(&external, "external", &of_backend),
            ),
            ("cannot reach its backend, says Go", served(&of_adapter)),
            (
                "cannot reach its backend, as the proxy says it",
                served(&quoted),
            ),
            (
                "has an APIService that is not available",
                broken(api_service("metrics.k8s.io", "False")),
            ),
            (
                "has an APIService of a server that has logs",
                broken(pointing(
                    "metrics.k8s.io",
                    "kube-system",
                    "metrics-server",
                    "False",
                )),
            ),
            (
                "is not served, or does not know the metric",
                unserved.clone(),
            ),
            ("is not served by KEDA", of_keda(&unserved, &json!({}))),
            (
                "is not served by KEDA, without the ScaledObject",
                owned_by_keda(&unserved),
            ),
            ("is not served", failing(&plain, "resource", UNSERVED)),
            ("lists nothing", listing(&[])),
            ("lists what KEDA does", listing(&["externalmetrics"])),
            ("is not registered", unregistered.clone()),
            (
                "is not registered, next to an adapter",
                another("metrics.k8s.io", "monitoring", "prometheus-adapter"),
            ),
            (
                "is not registered, and neither is an adapter",
                another("metrics.k8s.io", "kube-system", "metrics-server"),
            ),
            (
                "is not registered, next to KEDA",
                another(
                    "external.metrics.k8s.io",
                    "keda",
                    "keda-operator-metrics-apiserver",
                ),
            ),
            ("is stale", failing(&custom, "custom", stale)),
            (
                "reports a metric's error",
                failing(&external, "external", "timeout"),
            ),
            (
                "of two metrics of three",
                along_with(&three, [build::queue(&["5"])]),
            ),
        ];
        insta::assert_snapshot!(table(Code::MetricsApiUnavailable, states), @r#"
        answers: none
        answers 503: error, explains
            the resource metrics API does not answer: cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: the server is currently unable to handle the request (get pods.metrics.k8s.io).
            > Look at metrics-server and its APIService.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ apiservice/v1beta1.metrics.k8s.io
        cannot be reached: error, explains
            the resource metrics API does not answer: cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: error trying to reach service: dial tcp 10.96.7.1:443: connect: connection refused.
            > Look at metrics-server and its APIService.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ apiservice/v1beta1.metrics.k8s.io
        cannot be reached, says the controller: error, explains
            the external metrics API does not answer: queue cannot be read, so nothing is scaled
            - The group of the API is external.metrics.k8s.io.
            - The controller gets: unable to fetch metrics from external metrics API: error trying to reach service: dial tcp 10.96.7.1:443: connect: connection refused.
            > Look at an adapter such as KEDA and its APIService.
            $ kubectl describe apiservice v1beta1.external.metrics.k8s.io
            @ apiservice/v1beta1.external.metrics.k8s.io
        cannot be reached, says Go: error, explains
            the external metrics API does not answer: queue cannot be read, so nothing is scaled
            - The group of the API is external.metrics.k8s.io.
            - The controller gets: unable to fetch metrics from external metrics API: Get "https://10.96.0.1:443/apis/external.metrics.k8s.io/v1beta1/namespaces/a/q": dial tcp 10.0.0.7:443: connect: connection refused.
            > Look at an adapter such as KEDA and its APIService.
            $ kubectl describe apiservice v1beta1.external.metrics.k8s.io
            @ apiservice/v1beta1.external.metrics.k8s.io
        cannot reach its backend: none
        cannot reach its backend, says Go: none
        cannot reach its backend, as the proxy says it: none
        has an APIService that is not available: error, explains
            the resource metrics API does not answer (FailedDiscoveryCheck): cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: proxy error.
            - The APIService v1beta1.metrics.k8s.io is not available: FailedDiscoveryCheck: no response.
            > Look at metrics-server and its APIService.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ apiservice/v1beta1.metrics.k8s.io
        has an APIService of a server that has logs: error, explains
            the resource metrics API does not answer (FailedDiscoveryCheck): cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: proxy error.
            - The APIService v1beta1.metrics.k8s.io is not available: FailedDiscoveryCheck: no response.
            - It points at the Service kube-system/metrics-server, whose pods log why.
            > Look at metrics-server and its APIService.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ apiservice/v1beta1.metrics.k8s.io
        is not served, or does not know the metric: error, explains
            the external metrics API is not served, or does not know queue, so nothing is scaled
            - The group of the API is external.metrics.k8s.io.
            - The controller gets: the server could not find the requested resource (get q.external.metrics.k8s.io).
            > Correct the name, or install an adapter such as KEDA.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
            @ apiservice/v1beta1.external.metrics.k8s.io
        is not served by KEDA: error, explains
            the external metrics API is not served, or does not know queue, so nothing is scaled
            - The group of the API is external.metrics.k8s.io.
            - The controller gets: the server could not find the requested resource (get q.external.metrics.k8s.io).
            > Look at KEDA's metrics server and its APIService.
            $ kubectl describe apiservice v1beta1.external.metrics.k8s.io
            @ apiservice/v1beta1.external.metrics.k8s.io
        is not served by KEDA, without the ScaledObject: as is not served by KEDA
        is not served: error, explains
            the resource metrics API is not served: cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: the server could not find the requested resource (get q.external.metrics.k8s.io).
            > Install metrics-server, or register its APIService.
            $ kubectl get apiservices
            @ none
        lists nothing: none
        lists what KEDA does: none
        is not registered: error, explains
            the custom metrics API is not served: rps cannot be read, so nothing is scaled
            - The group of the API is custom.metrics.k8s.io.
            - The controller gets: no custom metrics API (custom.metrics.k8s.io) registered.
            > Install an adapter such as prometheus-adapter.
            $ kubectl get apiservices
            @ none
        is not registered, next to an adapter: error, explains
            the custom metrics API is not served: rps cannot be read, so nothing is scaled
            - The group of the API is custom.metrics.k8s.io.
            - The controller gets: no custom metrics API (custom.metrics.k8s.io) registered.
            - The APIService v1beta1.metrics.k8s.io points at the Service monitoring/prometheus-adapter; only one server can serve an API.
            > Give the installed adapter, monitoring/prometheus-adapter, an APIService of this group and a rule for rps.
            $ kubectl get apiservices
            @ none
        is not registered, and neither is an adapter: as is not registered
        is not registered, next to KEDA: as is not registered
        is stale: error, explains
            the custom metrics API has only stale versions: rps cannot be read, so nothing is scaled
            - The group of the API is custom.metrics.k8s.io.
            - The controller gets: no known available metric versions found.
            > Look at an adapter such as prometheus-adapter and its APIService.
            $ kubectl get apiservices
            @ none
        reports a metric's error: none
        of two metrics of three: warning, aside
            the resource metrics API does not answer: cpu and cpu in app cannot be read, so it is left out of the decision
            - The group of the API is metrics.k8s.io.
            - The controller gets: the server is currently unable to handle the request (get pods.metrics.k8s.io).
            > Look at metrics-server and its APIService.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ apiservice/v1beta1.metrics.k8s.io
        "#);
    }

    #[test]
    fn an_api_that_is_down_while_the_input_has_no_metrics() {
        let mut items = state(&[cpu()], &["50m"]);
        // Objects that were not saved as a state may be incomplete.
        items.retain(|item| item["kind"] != "PodMetrics" && item["kind"] != "ControllerState");
        let with = |status: &str| along_with(&items, [api_service("metrics.k8s.io", status)]);
        let states = [("down", with("False")), ("up", with("True"))];
        insta::assert_snapshot!(table(Code::MetricsApiUnavailable, states), @r"
        down: warning, aside
            the resource metrics API does not answer (FailedDiscoveryCheck), so the controller cannot read cpu either
            - The group of the API is metrics.k8s.io.
            - The APIService v1beta1.metrics.k8s.io is not available: FailedDiscoveryCheck: no response.
            > Look at metrics-server and its APIService.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ apiservice/v1beta1.metrics.k8s.io
        up: none
        ");
    }

    /// A pod that should serve a metrics API, if the input has it.
    #[test]
    fn a_server_of_a_metrics_api_that_does_not_run() {
        let items = failing(&state(&[cpu()], &["50m"]), "resource", DOWN);
        let service = pointing("metrics.k8s.io", "kube-system", "metrics-server", "False");
        let missing = json!({"status": {"conditions": [
            {"type": "Available", "status": "False", "reason": "MissingEndpoints"}]}});
        let empty = along_with(&items, [build::with(service.clone(), &missing)]);
        let items = along_with(&items, [service]);
        let server = |name: &str, status: &Value| {
            build::with(
                build::pod(name),
                &json!({"metadata": {"namespace": "kube-system"}, "status": status}),
            )
        };
        let crashing = json!({"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [
            {"name": "metrics-server", "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
        let down = server("metrics-server-5f9-x2x", &crashing);
        let up = server("metrics-server-5f9-y3y", &json!({}));
        let unready = json!({"conditions": [{"type": "Ready", "status": "False"}]});
        let unready = server("metrics-server-5f9-z1z", &unready);
        let states = [
            ("does not run", along_with(&items, [down.clone()])),
            ("is not ready", along_with(&items, [unready.clone()])),
            (
                "neither runs nor is ready",
                along_with(&items, [unready, down.clone()]),
            ),
            (
                "runs in another pod",
                along_with(&items, [down.clone(), up]),
            ),
            (
                "is another",
                along_with(&items, [server("coredns-1", &crashing)]),
            ),
            ("is nowhere", empty),
            (
                "is an exporter",
                along_with(
                    &items,
                    [server("metrics-server-exporter-5f9-x2x", &crashing)],
                ),
            ),
            (
                "does not run next to an exporter",
                along_with(
                    &items,
                    [
                        down.clone(),
                        server("metrics-server-exporter-5f9-x2x", &json!({})),
                    ],
                ),
            ),
        ];
        insta::assert_snapshot!(table(Code::MetricsApiUnavailable, states), @r"
        does not run: error, explains
            the resource metrics API does not answer (FailedDiscoveryCheck): cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: the server is currently unable to handle the request (get pods.metrics.k8s.io).
            - The APIService v1beta1.metrics.k8s.io is not available: FailedDiscoveryCheck: no response.
            - metrics-server of pod kube-system/metrics-server-5f9-x2x waits: CrashLoopBackOff.
            - It points at the Service kube-system/metrics-server, whose pods log why.
            > Find out why metrics-server-5f9-x2x does not run: CrashLoopBackOff.
            $ kubectl describe pod metrics-server-5f9-x2x -n kube-system
            @ apiservice/v1beta1.metrics.k8s.io
        is not ready: error, explains
            the resource metrics API does not answer (FailedDiscoveryCheck): cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: the server is currently unable to handle the request (get pods.metrics.k8s.io).
            - The APIService v1beta1.metrics.k8s.io is not available: FailedDiscoveryCheck: no response.
            - Pod kube-system/metrics-server-5f9-z1z is not ready.
            - It points at the Service kube-system/metrics-server, whose pods log why.
            > Find out why metrics-server-5f9-z1z is not ready.
            $ kubectl describe pod metrics-server-5f9-z1z -n kube-system
            @ apiservice/v1beta1.metrics.k8s.io
        neither runs nor is ready: as does not run
        runs in another pod: error, explains
            the resource metrics API does not answer (FailedDiscoveryCheck): cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: the server is currently unable to handle the request (get pods.metrics.k8s.io).
            - The APIService v1beta1.metrics.k8s.io is not available: FailedDiscoveryCheck: no response.
            - It points at the Service kube-system/metrics-server, whose pods log why.
            > Look at metrics-server and its APIService.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ apiservice/v1beta1.metrics.k8s.io
        is another: as runs in another pod
        is nowhere: error, explains
            the resource metrics API does not answer (MissingEndpoints): cpu cannot be read, so nothing is scaled
            - The group of the API is metrics.k8s.io.
            - The controller gets: the server is currently unable to handle the request (get pods.metrics.k8s.io).
            - The APIService v1beta1.metrics.k8s.io is not available: MissingEndpoints.
            - It points at the Service kube-system/metrics-server.
            > Find out why Service kube-system/metrics-server has no ready pod.
            $ kubectl describe service metrics-server -n kube-system
            @ apiservice/v1beta1.metrics.k8s.io
        is an exporter: as runs in another pod
        does not run next to an exporter: as does not run
        ");
        // Saved with the state.
        let input = &pass(&along_with(&items, [down])).input;
        let saved = crate::saved::save::to_json(&[input], &[]).unwrap();
        assert!(saved.contains("metrics-server-5f9-x2x"), "{saved}");
    }
}
