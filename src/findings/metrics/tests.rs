//! For each code a state in which it appears, and near misses in which it does not. Expectations are
//! derived by hand from the controller's rules.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::apimachinery::metadata::Condition;
use crate::build;
use crate::findings::metrics::blocked_by_failed_metric::BlockedByFailedMetric;
use crate::findings::metrics::container_metrics_missing::{ContainerMetricsMissing, Unmeasured};
use crate::findings::metrics::metric_empty::MetricEmpty;
use crate::findings::metrics::metric_failing::{MetricFailing, Refused};
use crate::findings::metrics::metric_not_found::MetricNotFound;
use crate::findings::metrics::metrics_api_unavailable::{
    MetricsApiUnavailable, Unavailable, UnavailableService,
};
use crate::findings::metrics::unknown_container::UnknownContainer;
use crate::findings::testing::{check, only, state, with};
use crate::findings::{Code, Severity};

fn cpu() -> Value {
    build::resource("cpu", &build::utilization(50))
}

fn queue(target: &Value) -> Value {
    build::external("queue", target)
}

fn container(name: &str) -> Value {
    json!({"type": "ContainerResource", "containerResource": {
        "name": "cpu", "container": name, "target": build::utilization(50)}})
}

/// Returns the state with a failing request.
fn failing(items: &[Value], api: &str, message: &str) -> Vec<Value> {
    let errors = json!([{ "api": api, "message": message }]);
    with(items, "ControllerState", &json!({ "errors": errors }))
}

fn api_service(group: &str, status: &str) -> Value {
    json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1beta1.{group}")},
        "status": {"conditions": [{"type": "Available", "status": status,
            "reason": "FailedDiscoveryCheck", "message": "no response"}]}})
}

/// The API of a metric does not answer.
const DOWN: &str = "the server is currently unable to handle the request (get pods.metrics.k8s.io)";
/// The API server's proxy to what serves the API.
const UNREACHED: &str =
    "error trying to reach service: dial tcp 10.96.7.1:443: connect: connection refused";
const UNSERVED: &str =
    "the server could not find the requested resource (get q.external.metrics.k8s.io)";

#[test]
fn an_api_that_does_not_answer() {
    let plain = state(&[cpu()], &["50m"]);
    let external = state(&[queue(&build::average("10"))], &["50m"]);
    let unavailable = |group, why, message: &str, service| {
        let message = message.to_owned();
        let metrics = vec![0];
        let facts = MetricsApiUnavailable {
            group,
            metrics,
            why,
            message,
            service,
            served_by: None,
            adapter: None,
            server: None,
        };
        Some((Severity::Error, true, facts.into()))
    };
    let code = Code::MetricsApiUnavailable;
    let broken = |message| {
        let mut items = failing(&plain, "resource", message);
        items.push(api_service("metrics.k8s.io", "False"));
        items
    };
    let service = Some(UnavailableService {
        name: "v1beta1.metrics.k8s.io".to_owned(),
        available: Condition {
            type_: "Available".to_owned(),
            status: "False".to_owned(),
            reason: "FailedDiscoveryCheck".to_owned(),
            message: "no response".to_owned(),
            last_transition_time: None,
        },
        behind: None,
    });
    let custom = json!({"type": "Pods", "pods": {
        "metric": {"name": "rps"}, "target": build::average("10")}});
    let custom = state(&[custom], &["50m"]);
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
        let mut items = failing(&external, "external", message);
        items.push(api_service("external.metrics.k8s.io", "True"));
        items
    };
    let listing = |names: &[&str]| {
        let names: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let mut items = failing(&external, "external", UNSERVED);
        items.push(json!({"apiVersion": "v1", "kind": "APIResourceList",
            "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": names}));
        items
    };
    check(vec![
        ("answers", code, plain.clone(), None),
        (
            "answers 503",
            code,
            failing(&plain, "resource", DOWN),
            unavailable("metrics.k8s.io", Unavailable::Failing, DOWN, None),
        ),
        (
            "cannot be reached",
            code,
            failing(&plain, "resource", UNREACHED),
            unavailable("metrics.k8s.io", Unavailable::Failing, UNREACHED, None),
        ),
        (
            "cannot be reached, says the controller",
            code,
            failing(&external, "external", &quoted),
            unavailable(
                "external.metrics.k8s.io",
                Unavailable::Failing,
                &quoted,
                None,
            ),
        ),
        (
            "cannot be reached, says Go",
            code,
            served(&own),
            unavailable("external.metrics.k8s.io", Unavailable::Failing, &own, None),
        ),
        (
            "cannot reach its backend",
            code,
            failing(&external, "external", &of_backend),
            None,
        ),
        (
            "cannot reach its backend, says Go",
            code,
            served(&of_adapter),
            None,
        ),
        (
            "cannot reach its backend, as the proxy says it",
            code,
            served(&quoted),
            None,
        ),
        (
            "has an APIService that is not available",
            code,
            broken("proxy error"),
            unavailable(
                "metrics.k8s.io",
                Unavailable::Failing,
                "proxy error",
                service,
            ),
        ),
        (
            "is not served, or does not know the metric",
            code,
            failing(&external, "external", UNSERVED),
            unavailable(
                "external.metrics.k8s.io",
                Unavailable::NotFound,
                UNSERVED,
                None,
            ),
        ),
        (
            "is not served",
            code,
            failing(&plain, "resource", UNSERVED),
            unavailable("metrics.k8s.io", Unavailable::Unserved, UNSERVED, None),
        ),
        ("lists nothing", code, listing(&[]), None),
        (
            "lists what KEDA does",
            code,
            listing(&["externalmetrics"]),
            None,
        ),
        (
            "is not registered",
            code,
            failing(&custom, "custom", not_served),
            unavailable(
                "custom.metrics.k8s.io",
                Unavailable::Unserved,
                not_served,
                None,
            ),
        ),
        (
            "is stale",
            code,
            failing(&custom, "custom", stale),
            unavailable("custom.metrics.k8s.io", Unavailable::Stale, stale, None),
        ),
        (
            "reports a metric's error",
            code,
            failing(&external, "external", "timeout"),
            None,
        ),
    ]);
    // Two metrics of an API are one finding; with a third that asks for more, the pass continues.
    let metrics = [cpu(), container("app"), queue(&build::average("1"))];
    let mut items = failing(&state(&metrics, &["50m"]), "resource", DOWN);
    items.push(build::queue(&["5"]));
    let finding = only(code, &items).unwrap();
    assert_eq!(
        (finding.severity, finding.explains),
        (Severity::Warning, false)
    );
    let super::super::Facts::MetricsApiUnavailable(facts) = finding.facts else {
        panic!()
    };
    assert_eq!(facts.metrics, [0, 1]);
}

#[test]
fn a_metric_that_has_no_value() {
    let external = state(&[queue(&build::average("10"))], &["50m"]);
    let unknown = "the server could not find the metric queue for pods";
    let backend =
        "rpc error: code = Unknown desc = error when getting metric values: connection reset";
    let found_elsewhere = |message: &str, near: Option<&str>, elsewhere: &[&str]| {
        let facts = MetricNotFound {
            metric: 0,
            message: message.to_owned(),
            near: near.map(str::to_owned),
            elsewhere: elsewhere.iter().map(|it| (*it).to_owned()).collect(),
            served_by: None,
        };
        Some((Severity::Error, true, facts.into()))
    };
    let not_found = |message: &str, near: Option<&str>| found_elsewhere(message, near, &[]);
    let available = {
        let mut items = failing(&external, "external", UNSERVED);
        items.push(api_service("external.metrics.k8s.io", "True"));
        items
    };
    let near = {
        let metrics = [
            queue(&build::average("10")),
            build::external("queues", &build::average("10")),
        ];
        let errors = json!([{"api": "external", "metric": "queue", "message": UNSERVED}]);
        let patch = json!({ "errors": errors });
        let mut items = with(&state(&metrics, &["50m", "50m"]), "ControllerState", &patch);
        let value = json!({"metricName": "queues", "value": "10"});
        items.push(build::external_values([value]));
        items
    };
    // What other HPAs use, and what the API lists.
    let valued = |name: &str| {
        let value = json!({"metricName": name, "value": "10"});
        let unknown = failing(&external, "external", unknown);
        [unknown, vec![build::external_values([value])]].concat()
    };
    let listed = |group: &str, name: &str| {
        let mut items = failing(&external, "external", unknown);
        items.push(json!({"apiVersion": "v1", "kind": "APIResourceList",
            "groupVersion": format!("{group}/v1beta1"), "resources": [{"name": name}]}));
        items
    };
    let bare = |name: &str| {
        let mut items = failing(&external, "external", UNSERVED);
        items.push(json!({"apiVersion": "v1", "kind": "APIResourceList",
            "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": [{"name": name}]}));
        items
    };
    let listing = |metric: &Value, names: &[&str]| {
        let names: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let mut items = failing(
            &state(std::slice::from_ref(metric), &["50m"]),
            "custom",
            unknown,
        );
        items.push(json!({"apiVersion": "v1", "kind": "APIResourceList",
            "groupVersion": "custom.metrics.k8s.io/v1beta1", "resources": names}));
        items
    };
    let of_custom = |metric: &Value, name: &str| listing(metric, &[name]);
    let per_pod = json!({"type": "Pods", "pods": {
        "metric": {"name": "queue"}, "target": build::average("10")}});
    let of_ingress = json!({"type": "Object", "object": {
        "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"},
        "metric": {"name": "queue"}, "target": {"type": "Value", "value": "10"}}});
    let valued_in = |namespace: &str| {
        let mut items = failing(
            &state(std::slice::from_ref(&per_pod), &["50m"]),
            "custom",
            unknown,
        );
        items.push(
            json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
            "metadata": {}, "items": [{
                "describedObject": {"kind": "Pod", "namespace": namespace, "name": "x",
                    "apiVersion": "/v1"},
                "metric": {"name": "queues"}, "timestamp": build::NOW, "value": "1"}]}),
        );
        items
    };
    let (own, other) = ("external.metrics.k8s.io", "custom.metrics.k8s.io");
    let empty = |selector: &str| MetricEmpty {
        metric: 0,
        selector: selector.to_owned(),
        pods: None,
        age: None,
        message: None,
        nodes: Vec::new(),
    };
    let selected = {
        let mut metric = queue(&build::average("10"));
        metric["external"]["metric"]["selector"] = json!({"matchLabels": {"name": "a"}});
        let mut items = state(&[metric], &["50m"]);
        let value = json!({"metricName": "queue", "metricLabels": {"name": "b"}, "value": "10"});
        items.push(build::external_values([value]));
        items
    };
    let measured = |items: &[Value]| {
        items
            .iter()
            .filter(|it| it["kind"] != "PodMetrics")
            .cloned()
            .collect()
    };
    let unmeasured: Vec<Value> = measured(&state(&[cpu()], &["50m"]));
    let no_pods: Vec<Value> = unmeasured
        .iter()
        .filter(|it| it["kind"] != "Pod")
        .cloned()
        .collect();
    let of_pods = MetricEmpty {
        metric: 0,
        selector: String::new(),
        pods: Some("app=web".to_owned()),
        age: None,
        message: None,
        nodes: Vec::new(),
    };
    let started = |time: &str| with(&unmeasured, "Pod", &json!({"status": {"startTime": time}}));
    let young = MetricEmpty {
        age: Some(SignedDuration::from_secs(59)),
        ..of_pods.clone()
    };
    let error = |facts: MetricEmpty| Some((Severity::Error, true, facts.into()));
    let failing_as = |message: &str, refused| {
        let (message, unmapped) = (message.to_owned(), None);
        let facts = MetricFailing {
            metric: 0,
            message,
            refused,
            unmapped,
            fallback: None,
            served_by: None,
        };
        Some((Severity::Error, true, facts.into()))
    };
    let forbidden = "queue.external.metrics.k8s.io is forbidden: User \"hpa\" cannot list resource \
                     \"queue\" in API group \"external.metrics.k8s.io\" in the namespace \"default\"";
    let refused = Refused {
        user: "hpa".to_owned(),
        verb: "list".to_owned(),
        resource: "queue".to_owned(),
    };
    let down = [
        unmeasured.clone(),
        vec![api_service("metrics.k8s.io", "False")],
    ]
    .concat();
    let (unknown_code, failing_code) = (Code::MetricNotFound, Code::MetricFailing);
    let no_result = "no matching metrics found for queue";
    let said = |message: &str| MetricEmpty {
        message: Some(message.to_owned()),
        ..empty("")
    };
    let unknown_ingress =
        "the server could not find the metric queue for ingresses.networking.k8s.io";
    let no_value = "the server could not find the metric queue for ingresses.networking.k8s.io web";
    let on_ingress = |message: &str| {
        failing(
            &state(std::slice::from_ref(&of_ingress), &["50m"]),
            "custom",
            message,
        )
    };
    check(vec![
        // A query without a result, which KEDA and adapters report as an error.
        (
            "has no result",
            Code::MetricEmpty,
            failing(&external, "external", no_result),
            { error(said(no_result)) },
        ),
        (
            "has no result",
            unknown_code,
            failing(&external, "external", no_result),
            None,
        ),
        (
            "has no value for the object",
            Code::MetricEmpty,
            on_ingress(no_value),
            { error(said(no_value)) },
        ),
        (
            "is unknown for the kind",
            unknown_code,
            on_ingress(unknown_ingress),
            { not_found(unknown_ingress, None) },
        ),
        (
            "says the API",
            unknown_code,
            failing(&external, "external", unknown),
            not_found(unknown, None),
        ),
        (
            "says an API that is served",
            unknown_code,
            available,
            not_found(UNSERVED, None),
        ),
        (
            "says an API that has a list",
            unknown_code,
            bare("queue1"),
            not_found(UNSERVED, Some("queue1")),
        ),
        (
            "says KEDA",
            unknown_code,
            bare("externalmetrics"),
            not_found(UNSERVED, None),
        ),
        (
            "has a near name",
            unknown_code,
            near,
            not_found(UNSERVED, Some("queues")),
        ),
        (
            "has a near name with a value",
            unknown_code,
            valued("queues"),
            not_found(unknown, Some("queues")),
        ),
        (
            "has no near name",
            unknown_code,
            valued("latency"),
            not_found(unknown, None),
        ),
        (
            "has a near name in the API's list",
            unknown_code,
            listed(own, "queue1"),
            not_found(unknown, Some("queue1")),
        ),
        (
            "has a near name in another API's list",
            unknown_code,
            listed(other, "pods/queue1"),
            not_found(unknown, None),
        ),
        (
            "has a near name for pods",
            unknown_code,
            of_custom(&per_pod, "pods/queues"),
            not_found(unknown, Some("queues")),
        ),
        (
            "has its own name for services only",
            unknown_code,
            listing(
                &per_pod,
                &["services/queue", "jobs.batch/queue", "pods/latency"],
            ),
            found_elsewhere(unknown, None, &["jobs.batch", "services"]),
        ),
        (
            "has its own name for pods, too",
            unknown_code,
            listing(&per_pod, &["services/queue", "pods/queue"]),
            not_found(unknown, None),
        ),
        (
            "has its own name for pods only",
            unknown_code,
            listing(&of_ingress, &["pods/queue"]),
            found_elsewhere(unknown, None, &["pods"]),
        ),
        (
            "has another suffix",
            unknown_code,
            of_custom(&per_pod, "pods/queue_count"),
            not_found(unknown, Some("queue_count")),
        ),
        (
            "has a near name for services only",
            unknown_code,
            of_custom(&per_pod, "services/queues"),
            not_found(unknown, None),
        ),
        (
            "has a near name for its kind",
            unknown_code,
            of_custom(&of_ingress, "ingresses.networking.k8s.io/queues"),
            not_found(unknown, Some("queues")),
        ),
        (
            "has a near name for pods only",
            unknown_code,
            of_custom(&of_ingress, "pods/queues"),
            not_found(unknown, None),
        ),
        (
            "has a near name with a value of a pod",
            unknown_code,
            valued_in("default"),
            not_found(unknown, Some("queues")),
        ),
        (
            "has a near name in another namespace",
            unknown_code,
            valued_in("other"),
            not_found(unknown, None),
        ),
        (
            "is of the backend",
            unknown_code,
            failing(&external, "external", backend),
            None,
        ),
        (
            "is of the backend",
            failing_code,
            failing(&external, "external", backend),
            failing_as(backend, None),
        ),
        (
            "is of a right",
            failing_code,
            failing(&external, "external", forbidden),
            failing_as(forbidden, Some(refused)),
        ),
        (
            "is of the name",
            failing_code,
            failing(&external, "external", unknown),
            None,
        ),
        (
            "has no values",
            Code::MetricEmpty,
            external.clone(),
            error(empty("")),
        ),
        (
            "has values of other labels",
            Code::MetricEmpty,
            selected,
            error(empty("name=a")),
        ),
        (
            "is of an API that is not available",
            Code::MetricEmpty,
            down.clone(),
            None,
        ),
        (
            "has no pod metrics",
            Code::MetricEmpty,
            unmeasured.clone(),
            error(of_pods.clone()),
        ),
        (
            "has pods that have just started",
            Code::MetricEmpty,
            started("2026-11-21T05:59:01Z"),
            Some((Severity::Info, true, young.into())),
        ),
        (
            "has pods that started a minute ago",
            Code::MetricEmpty,
            started("2026-11-21T05:59:00Z"),
            error(of_pods.clone()),
        ),
        ("has no pods", Code::MetricEmpty, no_pods, None),
        (
            "has only other resources",
            Code::MetricEmpty,
            state(
                &[build::resource("memory", &build::average("1Gi"))],
                &["50m"],
            ),
            error(of_pods),
        ),
        (
            "has a value",
            Code::MetricEmpty,
            [external, vec![build::queue(&["0"])]].concat(),
            None,
        ),
    ]);
    let Some(finding) = only(Code::MetricsApiUnavailable, &down) else {
        panic!()
    };
    assert_eq!(
        (finding.severity, finding.explains),
        (Severity::Error, true)
    );
}

/// An object's kind is spelt as its API spells it, and is in one group.
#[test]
fn a_kind_that_no_api_has() {
    let meant = |version: &str, kind: &str, error: &str| {
        let object = json!({"apiVersion": version, "kind": kind, "name": "x"});
        let metric = json!({"type": "Object", "object": {"describedObject": object,
            "metric": {"name": "queue"}, "target": build::value("10")}});
        let items = failing(&state(&[metric], &["50m"]), "custom", error);
        let finding = only(Code::MetricFailing, &items).unwrap();
        let super::super::Facts::MetricFailing(facts) = finding.facts else {
            panic!()
        };
        facts
            .unmapped
            .map(|it| it.meant.map(|it| (it.api_version, it.kind)))
    };
    let unmapped = |kind: &str, group: &str| {
        format!(
            "unable to map kind {kind} to resource: no matches for kind {kind:?} in group {group:?}"
        )
    };
    let is = |version: &str, kind: &str| Some(Some((version.to_owned(), kind.to_owned())));
    for (version, kind, error, want) in [
        (
            "",
            "Deployment",
            unmapped("Deployment", ""),
            is("apps/v1", "Deployment"),
        ),
        (
            "apps/v1",
            "dEPLOYMENT",
            unmapped("dEPLOYMENT", "apps"),
            is("apps/v1", "Deployment"),
        ),
        (
            "extensions/v1beta1",
            "Ingress",
            unmapped("Ingress", "extensions"),
            is("networking.k8s.io/v1", "Ingress"),
        ),
        // The server lacks what every server has.
        (
            "apps/v1",
            "Deployment",
            unmapped("Deployment", "apps"),
            Some(None),
        ),
        (
            "example.com/v1",
            "Queue",
            unmapped("Queue", "example.com"),
            Some(None),
        ),
        ("", "Deployment", unmapped("Pod", ""), None),
        ("", "Deployment", "timeout".to_owned(), None),
    ] {
        assert_eq!(
            meant(version, kind, &error),
            want,
            "{version} {kind} {error}"
        );
    }
}

#[test]
fn a_failed_metric_that_keeps_replicas() {
    let metrics = [cpu(), queue(&build::average("10"))];
    let code = Code::BlockedByFailedMetric;
    let blocked = BlockedByFailedMetric {
        failed: vec![1],
        highest: 0,
        proposal: 1,
        replicas: 3,
    };
    check(vec![
        (
            "asks for fewer",
            code,
            state(&metrics, &["10m"; 3]),
            Some((Severity::Error, true, blocked.into())),
        ),
        ("asks for more", code, state(&metrics, &["90m"; 3]), None),
        (
            "asks for nothing",
            code,
            state(&metrics[1..], &["10m"; 3]),
            None,
        ),
        (
            "is not there",
            code,
            state(&metrics[..1], &["10m"; 3]),
            None,
        ),
    ]);
    let finding = only(code, &state(&metrics, &["10m"; 3])).unwrap();
    assert_eq!(finding.without.and_then(|it| it.proposal), Some(1));
}

#[test]
fn a_container_without_metrics() {
    let named = |name: &str| state(&[container(name)], &["50m", "50m"]);
    let unknown = UnknownContainer {
        metric: 0,
        container: "ap".to_owned(),
        known: vec!["app".to_owned()],
        near: Some("app".to_owned()),
    };
    let crashing = |version: &str| {
        let mut items = named("app");
        let at = items
            .iter()
            .position(|it| it["metadata"]["name"] == "web-1")
            .unwrap();
        items[at]["status"]["containerStatuses"] = json!([{"name": "app", "restartCount": 14,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
        items[at + 1]["containers"] = json!([{"name": "proxy", "usage": {"cpu": "5m"}}]);
        with(
            &items,
            "ControllerState",
            &json!({ "kubernetesVersion": version }),
        )
    };
    let lacking = |fails| ContainerMetricsMissing {
        metric: 0,
        container: "app".to_owned(),
        pods: vec![Unmeasured {
            pod: "web-1".into(),
            has_container: true,
            is_foreign: false,
            waiting: Some("CrashLoopBackOff".into()),
            restarts: 14,
        }],
        all: 2,
        fails,
        template: None,
    };
    // The template has another container than one of the pods.
    let renamed = |template: &str| {
        let mut items = named("app");
        let at = items
            .iter()
            .position(|it| it["metadata"]["name"] == "web-1")
            .unwrap();
        items[at]["spec"]["containers"] = json!([build::requesting("server", "100m")]);
        items[at + 1]["containers"] = json!([{"name": "server", "usage": {"cpu": "5m"}}]);
        items.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [build::requesting(template, "100m")]}}},
        }));
        items
    };
    let of_template = |name: &str| ContainerMetricsMissing {
        pods: vec![Unmeasured {
            pod: "web-1".into(),
            has_container: false,
            is_foreign: false,
            waiting: None,
            restarts: 0,
        }],
        template: Some(vec![name.into()]),
        ..lacking(true)
    };
    let foreign = {
        let mut items = named("app");
        let containers = json!({"spec": {"containers": [build::requesting("seed", "100m")]}});
        items.push(build::with(build::pod("seed-x"), &containers));
        items
    };
    let seed = |is_foreign| Unmeasured {
        pod: "seed-x".into(),
        has_container: false,
        is_foreign,
        waiting: None,
        restarts: 0,
    };
    let of_unknown = ContainerMetricsMissing {
        pods: vec![seed(false)],
        all: 3,
        ..lacking(true)
    };
    let of_foreign = ContainerMetricsMissing {
        pods: vec![seed(true)],
        ..of_unknown.clone()
    };
    // The pods of the target have the template's containers; a Job's pod has the same label.
    let of_job = {
        let labels = json!({"app": "web", "pod-template-hash": "5d"});
        let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d",
            "controller": true}]);
        let own = json!({"metadata": {"labels": labels, "ownerReferences": owner},
            "spec": {"containers": [build::requesting("app", "100m")]}});
        let usages = json!({"containers": [{"name": "app", "usage": {"cpu": "50m"}}]});
        let mut items = with(&with(&renamed("app"), "Pod", &own), "PodMetrics", &usages);
        let job = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "seed",
            "controller": true}]);
        let patch = json!({"metadata": {"ownerReferences": job},
            "spec": {"containers": [build::requesting("seed", "100m")]}});
        items.push(build::with(build::pod("seed-x"), &patch));
        items
    };
    let code = Code::ContainerMetricsMissing;
    check(vec![
        (
            "has another name",
            Code::UnknownContainer,
            named("ap"),
            Some((Severity::Error, true, unknown.into())),
        ),
        ("is there", Code::UnknownContainer, named("app"), None),
        (
            "fails the metric before 1.33",
            code,
            crashing("v1.30.5"),
            Some((Severity::Error, true, lacking(true).into())),
        ),
        (
            "leaves out the pod as of 1.33",
            code,
            crashing("v1.36.2"),
            Some((Severity::Info, false, lacking(false).into())),
        ),
        (
            "is not in a pod",
            code,
            foreign,
            Some((Severity::Error, true, of_unknown.into())),
        ),
        (
            "is not in a pod of a Job",
            code,
            of_job,
            Some((Severity::Error, true, of_foreign.into())),
        ),
        (
            "has been renamed in the template",
            code,
            renamed("server"),
            Some((Severity::Error, true, of_template("server").into())),
        ),
        (
            "is new in the template",
            code,
            renamed("app"),
            Some((Severity::Error, true, of_template("app").into())),
        ),
        ("is measured", code, named("app"), None),
        ("is unknown", code, named("ap"), None),
    ]);
}
