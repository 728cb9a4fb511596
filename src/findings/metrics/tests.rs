//! What concerns several findings of this group. Expectations are derived by hand from the controller's rules.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::build;
use crate::findings::metrics::container_metrics_missing::{ContainerMetricsMissing, Unmeasured};
use crate::findings::metrics::metric_empty::MetricEmpty;
use crate::findings::metrics::metric_failing::MetricFailing;
use crate::findings::metrics::metric_not_found::MetricNotFound;
use crate::findings::metrics::miss::RefusedRight;
use crate::findings::metrics::testing::{UNSERVED, api_service, container, failing};
use crate::findings::metrics::unknown_container::UnknownContainer;
use crate::findings::testing::{
    because, beside, check, check_each, cpu, only, queue, said, state, with,
};
use crate::findings::{Code, Severity};

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
        because(Severity::Error, facts)
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
    let error = |facts: MetricEmpty| because(Severity::Error, facts);
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
        because(Severity::Error, facts)
    };
    let forbidden = "queue.external.metrics.k8s.io is forbidden: User \"hpa\" cannot list resource \
                     \"queue\" in API group \"external.metrics.k8s.io\" in the namespace \"default\"";
    let refused = RefusedRight {
        user: "hpa".to_owned(),
        verb: "list".to_owned(),
        resource: "queue".to_owned(),
    };
    let down = [
        unmeasured.clone(),
        vec![api_service("metrics.k8s.io", "False")],
    ]
    .concat();
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
    check(
        Code::MetricEmpty,
        vec![
            // A query without a result, which KEDA and adapters report as an error.
            (
                "has no result",
                failing(&external, "external", no_result),
                { error(said(no_result)) },
            ),
            ("has no value for the object", on_ingress(no_value), {
                error(said(no_value))
            }),
            ("has no values", external.clone(), error(empty(""))),
            (
                "has values of other labels",
                selected,
                error(empty("name=a")),
            ),
            ("is of an API that is not available", down.clone(), None),
            (
                "has no pod metrics",
                unmeasured.clone(),
                error(of_pods.clone()),
            ),
            (
                "has pods that have just started",
                started("2026-11-21T05:59:01Z"),
                because(Severity::Info, young),
            ),
            (
                "has pods that started a minute ago",
                started("2026-11-21T05:59:00Z"),
                error(of_pods.clone()),
            ),
            ("has no pods", no_pods, None),
            (
                "has only other resources",
                state(
                    &[build::resource("memory", &build::average("1Gi"))],
                    &["50m"],
                ),
                error(of_pods),
            ),
            (
                "has a value",
                [external.clone(), vec![build::queue(&["0"])]].concat(),
                None,
            ),
        ],
    );
    check(
        Code::MetricNotFound,
        vec![
            (
                "has no result",
                failing(&external, "external", no_result),
                None,
            ),
            ("is unknown for the kind", on_ingress(unknown_ingress), {
                not_found(unknown_ingress, None)
            }),
            (
                "says the API",
                failing(&external, "external", unknown),
                not_found(unknown, None),
            ),
            (
                "says an API that is served",
                available,
                not_found(UNSERVED, None),
            ),
            (
                "says an API that has a list",
                bare("queue1"),
                not_found(UNSERVED, Some("queue1")),
            ),
            (
                "says KEDA",
                bare("externalmetrics"),
                not_found(UNSERVED, None),
            ),
            ("has a near name", near, not_found(UNSERVED, Some("queues"))),
            (
                "has a near name with a value",
                valued("queues"),
                not_found(unknown, Some("queues")),
            ),
            (
                "has no near name",
                valued("latency"),
                not_found(unknown, None),
            ),
            (
                "has a near name in the API's list",
                listed(own, "queue1"),
                not_found(unknown, Some("queue1")),
            ),
            (
                "has a near name in another API's list",
                listed(other, "pods/queue1"),
                not_found(unknown, None),
            ),
            (
                "has a near name for pods",
                of_custom(&per_pod, "pods/queues"),
                not_found(unknown, Some("queues")),
            ),
            (
                "has its own name for services only",
                listing(
                    &per_pod,
                    &["services/queue", "jobs.batch/queue", "pods/latency"],
                ),
                found_elsewhere(unknown, None, &["jobs.batch", "services"]),
            ),
            (
                "has its own name for pods, too",
                listing(&per_pod, &["services/queue", "pods/queue"]),
                not_found(unknown, None),
            ),
            (
                "has its own name for pods only",
                listing(&of_ingress, &["pods/queue"]),
                found_elsewhere(unknown, None, &["pods"]),
            ),
            (
                "has another suffix",
                of_custom(&per_pod, "pods/queue_count"),
                not_found(unknown, Some("queue_count")),
            ),
            (
                "has a near name for services only",
                of_custom(&per_pod, "services/queues"),
                not_found(unknown, None),
            ),
            (
                "has a near name for its kind",
                of_custom(&of_ingress, "ingresses.networking.k8s.io/queues"),
                not_found(unknown, Some("queues")),
            ),
            (
                "has a near name for pods only",
                of_custom(&of_ingress, "pods/queues"),
                not_found(unknown, None),
            ),
            (
                "has a near name with a value of a pod",
                valued_in("default"),
                not_found(unknown, Some("queues")),
            ),
            (
                "has a near name in another namespace",
                valued_in("other"),
                not_found(unknown, None),
            ),
            (
                "is of the backend",
                failing(&external, "external", backend),
                None,
            ),
        ],
    );
    check(
        Code::MetricFailing,
        vec![
            (
                "is of the backend",
                failing(&external, "external", backend),
                failing_as(backend, None),
            ),
            (
                "is of a right",
                failing(&external, "external", forbidden),
                failing_as(forbidden, Some(refused)),
            ),
            (
                "is of the name",
                failing(&external, "external", unknown),
                None,
            ),
        ],
    );
    let Some(finding) = only(Code::MetricsApiUnavailable, &down) else {
        panic!()
    };
    assert_eq!(
        (finding.severity, finding.explains),
        (Severity::Error, true)
    );
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
    check_each(vec![
        (
            "has another name",
            Code::UnknownContainer,
            named("ap"),
            because(Severity::Error, unknown),
        ),
        ("is there", Code::UnknownContainer, named("app"), None),
        (
            "fails the metric before 1.33",
            code,
            crashing("v1.30.5"),
            because(Severity::Error, lacking(true)),
        ),
        (
            "leaves out the pod as of 1.33",
            code,
            crashing("v1.36.2"),
            beside(Severity::Info, lacking(false)),
        ),
        (
            "is not in a pod",
            code,
            foreign,
            because(Severity::Error, of_unknown),
        ),
        (
            "is not in a pod of a Job",
            code,
            of_job,
            because(Severity::Error, of_foreign),
        ),
        (
            "has been renamed in the template",
            code,
            renamed("server"),
            because(Severity::Error, of_template("server")),
        ),
        (
            "is new in the template",
            code,
            renamed("app"),
            because(Severity::Error, of_template("app")),
        ),
        ("is measured", code, named("app"), None),
        ("is unknown", code, named("ap"), None),
    ]);
}

/// A series may be in another namespace than the one in which the controller looks.
#[test]
fn the_namespace_of_a_metric() {
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject", "name": "web", "controller": true}]}});
    let object = |kind: &str| {
        json!({"type": "Object", "object": {
            "describedObject": {"apiVersion": "v1", "kind": kind, "name": "lb"},
            "metric": {"name": "queue"}, "target": build::value("10")}})
    };
    let queue = || build::external("queue", &build::average("10"));
    let pods = json!({"type": "Pods", "pods": {
        "metric": {"name": "queue"}, "target": build::average("10")}});
    let external = "It is looked up in the HPA's namespace, default. prometheus-adapter looks at \
                    series of others only under a rule with namespaced: false.";
    let of_service = "It is looked up for Service/lb in the HPA's namespace, default: an object of \
                      another one cannot be described.";
    let unknown = |metric: Value, api: &str| {
        let message = "the server could not find the metric queue for x";
        let errors = json!({"errors": [{"api": api, "message": message}]});
        with(&state(&[metric], &["50m"]), "ControllerState", &errors)
    };
    let empty = [state(&[queue()], &["50m"]), vec![build::queue(&[])]].concat();
    let of_keda = with(
        &unknown(queue(), "external"),
        "HorizontalPodAutoscaler",
        &owner,
    );
    for (code, items, want) in [
        (Code::MetricEmpty, empty, Some(external)),
        (
            Code::MetricNotFound,
            unknown(queue(), "external"),
            Some(external),
        ),
        (Code::MetricNotFound, of_keda, None),
        (
            Code::MetricNotFound,
            unknown(object("Service"), "custom"),
            Some(of_service),
        ),
        (
            Code::MetricNotFound,
            unknown(object("Namespace"), "custom"),
            None,
        ),
        (Code::MetricNotFound, unknown(pods, "custom"), None),
    ] {
        let evidence = said(code, &items).evidence;
        let told = evidence.iter().find(|it| it.starts_with("It is looked up"));
        assert_eq!(told.map(String::as_str), want, "{code:?} {evidence:?}");
    }
}

/// The cause stays where an error is shortened, and a condition without words ends as a sentence.
#[test]
fn errors_that_are_shortened() {
    let query = format!(
        "query: sum:aws.requests{{{}}}.rollup(sum, 60)",
        "service:shop,".repeat(12)
    );
    let failing = |message: &str| {
        let errors = json!({"errors": [{"api": "external", "message": message}]});
        let queue = build::external("queue", &build::average("10"));
        said(
            Code::MetricFailing,
            &with(&state(&[queue], &["50m"]), "ControllerState", &errors),
        )
    };
    let text = failing(&format!(
        "Internal error occurred: DatadogMetric is invalid, err: Gone, {query}"
    ));
    assert!(
        text.summary
            .ends_with("DatadogMetric is invalid, err: Gone"),
        "{}",
        text.summary
    );
    assert_eq!(
        text.evidence,
        ["The API says: Internal error occurred: DatadogMetric is invalid, err: Gone, query: …."]
    );
    let text = failing(
        "Internal error occurred: DatadogMetric not found for metric name: queue, datadogmetricid: \
         datadog/dcaautogen-9c1d4f3fbb7a1f2a6e1c7f0a27de10",
    );
    let cause = ": DatadogMetric not found for metric name: queue";
    assert!(text.summary.ends_with(cause), "{}", text.summary);
    // An error that quotes no query ends with its cause.
    let text = failing(&format!(
        "failed to ask {}: timeout",
        "the backend ".repeat(20)
    ));
    assert!(text.summary.ends_with(": timeout"), "{}", text.summary);
    let service = |reason: &str, message: &str| {
        let metrics = state(&[cpu()], &["50m"]);
        let errors = json!({"errors": [{"api": "resource", "message": "proxy error"}]});
        let mut items = with(&metrics, "ControllerState", &errors);
        items.push(
            json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "status": {"conditions": [{"type": "Available", "status": "False",
                "reason": reason, "message": message}]}}),
        );
        said(Code::MetricsApiUnavailable, &items)
            .evidence
            .pop()
            .unwrap()
    };
    let is_down = "The APIService v1beta1.metrics.k8s.io is not available";
    assert_eq!(service("", ""), format!("{is_down}."));
    assert_eq!(service("Gone", ""), format!("{is_down}: Gone."));
    assert_eq!(
        service("Gone", "no endpoints"),
        format!("{is_down}: Gone: no endpoints.")
    );
    let resized = |reason: &str, message: &str| {
        let condition = json!({"type": "PodResizeInProgress", "status": "True", "reason": reason,
            "message": message, "lastTransitionTime": "2026-11-21T05:59:40Z"});
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T05:00:00Z"});
        let statuses = json!([{"name": "app", "resources": {"requests": {"cpu": "100m"}}}]);
        let patch = json!({"spec": {"containers": [build::requesting("app", "400m")]},
            "status": {"containerStatuses": statuses, "conditions": [ready, condition]}});
        let evidence = said(
            Code::ResizeInProgress,
            &with(&state(&[cpu()], &["50m"]), "Pod", &patch),
        )
        .evidence;
        evidence
            .into_iter()
            .find(|it| it.starts_with("PodResize"))
            .unwrap()
    };
    assert_eq!(resized("", ""), "PodResizeInProgress since 05:59:40Z.");
    assert_eq!(resized("", "x"), "PodResizeInProgress since 05:59:40Z: x.");
    assert_eq!(
        resized("Error", "x"),
        "PodResizeInProgress since 05:59:40Z: Error: x."
    );
}
