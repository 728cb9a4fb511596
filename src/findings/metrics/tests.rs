//! Tests of what concerns several findings of this group.

use serde_json::{Value, json};

use crate::build;
use crate::findings::Code;
use crate::findings::metrics::testing::{UNSERVED, api_service, container, failing, listing};
use crate::findings::pods::testing::{unmeasured, waiting};
use crate::findings::testing::{
    cpu, in_version, of_keda, queue, said, state, table, valued, values, with, with_containers,
    with_hpa, with_one, with_pod, with_state,
};

#[test]
fn a_metric_that_has_no_value() {
    let external = state(&[queue(&build::average("10"))], &["50m"]);
    let unknown = "the server could not find the metric queue for pods";
    let backend =
        "rpc error: code = Unknown desc = error when getting metric values: connection reset";
    let (own, other) = ("external.metrics.k8s.io", "custom.metrics.k8s.io");
    let along_with = |items: &[Value], more: Value| [items, &[more]].concat();
    let says_unknown = failing(&external, "external", unknown);
    let unserved = failing(&external, "external", UNSERVED);
    let near = {
        let metrics = ["queue", "queues"].map(|it| build::external(it, &build::average("10")));
        let errors = json!([{"api": "external", "metric": "queue", "message": UNSERVED}]);
        let patch = json!({ "errors": errors });
        let items = with_state(&state(&metrics, &["50m", "50m"]), &patch);
        along_with(&items, valued("queues", "10"))
    };
    // What other HPAs use, and what the API lists.
    let has_valued = |name: &str| along_with(&says_unknown, valued(name, "10"));
    let listed = |group: &str, name: &str| along_with(&says_unknown, listing(group, &[name]));
    let bare = |name: &str| along_with(&unserved, listing(own, &[name]));
    let of_custom = |metric: &Value, message: &str| {
        let items = state(std::slice::from_ref(metric), &["50m"]);
        failing(&items, "custom", message)
    };
    let served = |metric: &Value, names: &[&str]| {
        along_with(&of_custom(metric, unknown), listing(other, names))
    };
    let per_pod = build::per_pod("queue", "10");
    let describing = |version: &str, kind: &str, name: &str, target: Value| {
        let object = json!({"apiVersion": version, "kind": kind, "name": name});
        json!({"type": "Object", "object": {"describedObject": object,
            "metric": {"name": "queue"}, "target": target}})
    };
    let target = build::value("10");
    let of_ingress = describing("networking.k8s.io/v1", "Ingress", "web", target.clone());
    let valued_in = |namespace: &str| {
        let mut value = values("queues", &["1"]);
        value["items"][0]["describedObject"]["namespace"] = json!(namespace);
        along_with(&of_custom(&per_pod, unknown), value)
    };
    let selected = {
        let mut metric = queue(&build::average("10"));
        metric["external"]["metric"]["selector"] = json!({"matchLabels": {"name": "a"}});
        let value = json!({"metricName": "queue", "metricLabels": {"name": "b"}, "value": "10"});
        along_with(&state(&[metric], &["50m"]), build::external_values([value]))
    };
    let unmeasured = unmeasured(state(&[cpu()], &["50m"]), "web-0");
    let mut no_pods = unmeasured.clone();
    no_pods.retain(|it| it["kind"] != "Pod");
    let started = |time: &str| with(&unmeasured, "Pod", &json!({"status": {"startTime": time}}));
    let forbidden = "queue.external.metrics.k8s.io is forbidden: User \"hpa\" cannot list resource \
                     \"queue\" in API group \"external.metrics.k8s.io\" in the namespace \"default\"";
    let down = along_with(&unmeasured, api_service("metrics.k8s.io", "False"));
    let no_result = "no matching metrics found for queue";
    let unknown_ingress =
        "the server could not find the metric queue for ingresses.networking.k8s.io";
    let no_value = "the server could not find the metric queue for ingresses.networking.k8s.io web";
    let of_memory = build::resource("memory", &build::average("1Gi"));
    let empty = [
        // A query without a result, which KEDA and adapters report as an error.
        ("has no result", failing(&external, "external", no_result)),
        (
            "has no value for the object",
            of_custom(&of_ingress, no_value),
        ),
        ("has no values", external.clone()),
        (
            "has an empty list",
            along_with(&external, build::queue(&[])),
        ),
        ("has values of other labels", selected),
        ("is of an API that is not available", down.clone()),
        ("has no pod metrics", unmeasured.clone()),
        (
            "has pods that have just started",
            started("2026-11-21T05:59:01Z"),
        ),
        (
            "has pods that started a minute ago",
            started("2026-11-21T05:59:00Z"),
        ),
        ("has no pods", no_pods),
        ("has only other resources", state(&[of_memory], &["50m"])),
        ("has a value", along_with(&external, build::queue(&["0"]))),
    ];
    insta::assert_snapshot!(table(Code::MetricEmpty, empty), @r"
    has no result: error, explains
        there is no value for queue from the external metrics API, so nothing is scaled
        - The API says: no matching metrics found for queue.
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Try the adapter's query in the namespace default, or let it return 0 if empty.
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue
    has no value for the object: error, explains
        there is no value for queue on Ingress/web from the custom metrics API, so nothing is scaled
        - The API says: the server could not find the metric queue for ingresses.networking.k8s.io web.
        - It is looked up for Ingress/web in the HPA's namespace, default: an object of another one cannot be described.
        > Try the adapter's query in the namespace default, or let it return 0 if empty.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1/namespaces/default/ingresses.networking.k8s.io/web/queue
    has no values: error, explains
        there is no value for queue from the external metrics API, so nothing is scaled
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Try the adapter's query in the namespace default, or let it return 0 if empty.
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue
    has an empty list: as has no values
    has values of other labels: error, explains
        there is no value for queue from the external metrics API, so nothing is scaled
        - The selector that is sent for the metric: name=a.
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Try the adapter's query in the namespace default, or let it return 0 if empty.
        $ kubectl get --raw '/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue?labelSelector=name%3Da'
    is of an API that is not available: none
    has no pod metrics: error, explains
        there is no value for cpu from the resource metrics API, so nothing is scaled
        - The selector that is sent for the pods: app=web.
        > Make sure that metrics-server scrapes the nodes of these pods.
        $ kubectl top pods -n default -l app=web
    has pods that have just started: info, explains
        there is no value for cpu from the resource metrics API, so nothing is scaled
        - The selector that is sent for the pods: app=web.
        - The oldest pod that could have a value started 59s ago.
        > Wait for the first sample of a pod, which takes up to a minute.
        $ kubectl top pods -n default -l app=web
    has pods that started a minute ago: as has no pod metrics
    has no pods: none
    has only other resources: error, explains
        there is no value for memory from the resource metrics API, so nothing is scaled
        - The selector that is sent for the pods: app=web.
        > Make sure that metrics-server scrapes the nodes of these pods.
        $ kubectl top pods -n default -l app=web
    has a value: none
    ");
    let unavailable = [("has no pod metrics", down)];
    insta::assert_snapshot!(table(Code::MetricsApiUnavailable, unavailable), @r"
    has no pod metrics: error, explains
        the resource metrics API does not answer (FailedDiscoveryCheck): cpu cannot be read, so nothing is scaled
        - The group of the API is metrics.k8s.io.
        - The APIService v1beta1.metrics.k8s.io is not available: FailedDiscoveryCheck: no response.
        > Look at metrics-server and its APIService.
        $ kubectl describe apiservice v1beta1.metrics.k8s.io
        @ apiservice/v1beta1.metrics.k8s.io
    ");
    let on_object = |kind: &str| describing("v1", kind, "lb", target.clone());
    let services = ["services/queue", "jobs.batch/queue", "pods/latency"];
    let not_found = [
        ("has no result", failing(&external, "external", no_result)),
        (
            "is unknown for the kind",
            of_custom(&of_ingress, unknown_ingress),
        ),
        (
            "is unknown for a Service",
            of_custom(&on_object("Service"), unknown),
        ),
        (
            "is unknown for a Namespace",
            of_custom(&on_object("Namespace"), unknown),
        ),
        (
            "is known for pods, not for a Namespace",
            served(&on_object("Namespace"), &["pods/queue"]),
        ),
        ("says the API", says_unknown.clone()),
        (
            "says the API to KEDA's HPA",
            of_keda(&says_unknown, &json!({})),
        ),
        (
            "says an API that is served",
            along_with(&unserved, api_service(own, "True")),
        ),
        ("says an API that has a list", bare("queue1")),
        ("says KEDA", bare("externalmetrics")),
        ("has a near name", near),
        ("has a near name with a value", has_valued("queues")),
        ("has no near name", has_valued("latency")),
        ("has a near name in the API's list", listed(own, "queue1")),
        (
            "has a near name in another API's list",
            listed(other, "pods/queue1"),
        ),
        (
            "has a near name for pods",
            served(&per_pod, &["pods/queues"]),
        ),
        (
            "has its own name for services only",
            served(&per_pod, &services),
        ),
        (
            "has its own name for pods, too",
            served(&per_pod, &["services/queue", "pods/queue"]),
        ),
        (
            "has its own name for pods only",
            served(&of_ingress, &["pods/queue"]),
        ),
        (
            "has another suffix",
            served(&per_pod, &["pods/queue_count"]),
        ),
        (
            "has a near name for services only",
            served(&per_pod, &["services/queues"]),
        ),
        (
            "has a near name for its kind",
            served(&of_ingress, &["ingresses.networking.k8s.io/queues"]),
        ),
        (
            "has a near name for pods only",
            served(&of_ingress, &["pods/queues"]),
        ),
        (
            "has a near name with a value of a pod",
            valued_in("default"),
        ),
        ("has a near name in another namespace", valued_in("other")),
        ("is of the backend", failing(&external, "external", backend)),
    ];
    insta::assert_snapshot!(table(Code::MetricNotFound, not_found), @r#"
    has no result: none
    is unknown for the kind: error, explains
        the custom metrics API does not know queue on Ingress/web, so nothing is scaled
        - The API says: the server could not find the metric queue for ingresses.networking.k8s.io.
        - It is looked up for Ingress/web in the HPA's namespace, default: an object of another one cannot be described.
        > Correct the name, or add a rule for it to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    is unknown for a Service: error, explains
        the custom metrics API does not know queue on Service/lb, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It is looked up for Service/lb in the HPA's namespace, default: an object of another one cannot be described.
        > Correct the name, or add a rule for it to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    is unknown for a Namespace: error, explains
        the custom metrics API does not know queue on Namespace/lb, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - The name of a Namespace is ignored: it is looked up for the HPA's own, default.
        > Correct the name, use a metric of type External, or add a rule for the HPA's own namespace to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    is known for pods, not for a Namespace: error, explains
        the custom metrics API serves queue for pods, not for namespaces, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        > Use a metric of type Pods, or add a rule for namespaces to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    says the API: error, explains
        the external metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Correct the name, or add a rule for it to the adapter.
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
    says the API to KEDA's HPA: error, explains
        the external metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        > Find out why KEDA does not serve it for ScaledObject/web.
        $ kubectl describe scaledobject web -n default
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
    says an API that is served: error, explains
        the external metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the requested resource (get q.external.metrics.k8s.io).
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Correct the name, or add a rule for it to the adapter.
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
    says an API that has a list: error, explains
        the external metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the requested resource (get q.external.metrics.k8s.io).
        - It serves queue1.
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Use the name queue1 if that is meant, or add a rule to the adapter.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/external/metric/name","value":"queue1"}]'
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
    says KEDA: as says an API that is served
    has a near name: error, explains
        the external metrics API does not know queue, so it blocks scaling down
        - The API says: the server could not find the requested resource (get q.external.metrics.k8s.io).
        - It serves queues.
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Use the name queues if that is meant, or add a rule to the adapter.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/external/metric/name","value":"queues"}]'
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
    has a near name with a value: error, explains
        the external metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It serves queues.
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Use the name queues if that is meant, or add a rule to the adapter.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/external/metric/name","value":"queues"}]'
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
    has no near name: as says the API
    has a near name in the API's list: error, explains
        the external metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It serves queue1.
        - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
        > Use the name queue1 if that is meant, or add a rule to the adapter.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/external/metric/name","value":"queue1"}]'
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
    has a near name in another API's list: as says the API
    has a near name for pods: error, explains
        the custom metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It serves queues.
        > Use the name queues if that is meant, or add a rule to the adapter.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/pods/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/pods/metric/name","value":"queues"}]'
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    has its own name for services only: error, explains
        the custom metrics API serves queue for jobs.batch and services, not for pods, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        > Describe one of the jobs.batch and services with a metric of type Object, or add a rule for pods to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    has its own name for pods, too: error, explains
        the custom metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        > Correct the name, or add a rule for it to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    has its own name for pods only: error, explains
        the custom metrics API serves queue for pods, not for ingresses, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        > Use a metric of type Pods, or add a rule for ingresses to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    has another suffix: error, explains
        the custom metrics API does not know queue, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It serves queue_count.
        > Use the name queue_count if that is meant, or add a rule to the adapter.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/pods/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/pods/metric/name","value":"queue_count"}]'
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    has a near name for services only: as has its own name for pods, too
    has a near name for its kind: error, explains
        the custom metrics API does not know queue on Ingress/web, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It serves queues.
        - It is looked up for Ingress/web in the HPA's namespace, default: an object of another one cannot be described.
        > Use the name queues if that is meant, or add a rule to the adapter.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/object/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/object/metric/name","value":"queues"}]'
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    has a near name for pods only: error, explains
        the custom metrics API does not know queue on Ingress/web, so nothing is scaled
        - The API says: the server could not find the metric queue for pods.
        - It is looked up for Ingress/web in the HPA's namespace, default: an object of another one cannot be described.
        > Correct the name, or add a rule for it to the adapter.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
    has a near name with a value of a pod: as has a near name for pods
    has a near name in another namespace: as has its own name for pods, too
    is of the backend: none
    "#);
    let object = |target: Value| state(&[describing("v1", "Service", "s", target)], &["50m"]);
    let of_vhost = json!({"external": {"metric": {"selector": {"matchLabels": {"vhost": "/"}}}}});
    let of_vhost = build::with(queue(&build::average("10")), &of_vhost);
    let of_gate = in_version(&state(&[container("app")], &["50m"]), "v1.28.15");
    // It was read or is not in the input, but the controller could not read it.
    let says = |items: &[Value], able: &str, reason: &str, message: &str| {
        let conditions = json!([{"type": "AbleToScale", "status": "True", "reason": able},
            {"type": "ScalingActive", "status": "False", "reason": reason, "message": message}]);
        let status = json!({"status": {"conditions": conditions}});
        with_hpa(items, &status)
    };
    let read = state(&[cpu()], &["90m"]);
    let error = json!({"api": "external", "message": "no", "denied": true});
    let denied = with_state(&external, &json!({ "errors": [error] }));
    let of_label = json!({"external": {"metric": {"selector": {"matchLabels": {"of": "a"}}}}});
    let of_label = build::with(queue(&build::average("10")), &of_label);
    let refuses = format!("unable to fetch metrics from external metrics API: {forbidden}");
    let unread = |of: &str, why: &str| {
        let message = format!("unable to get external metric {of}: {why}");
        let reason = "FailedGetExternalMetric";
        says(&denied, "SucceededGetScale", reason, &message)
    };
    let of_two = |second: Value| {
        let metrics = json!([queue(&build::average("10")), second]);
        let items = unread("default/queue/nil", &refuses);
        with_hpa(&items, &json!({"spec": {"metrics": metrics}}))
    };
    let last = |reason: &str, message: &str| says(&read, "SucceededGetScale", reason, message);
    let refused = "unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: \
                   pods.metrics.k8s.io is forbidden: User \"hpa\" cannot \
                   list resource \"pods\" in API group \"metrics.k8s.io\" in the namespace \"default\"";
    let of_object = |asked: &str| {
        let error = json!({"api": "custom", "message": "no", "denied": true});
        let items = with_state(&object(build::value("10")), &json!({ "errors": [error] }));
        let why = forbidden.replace("external", "custom");
        let message = format!(
            "unable to get metric queue{asked}unable to fetch metrics from custom metrics API: {why}"
        );
        says(
            &items,
            "SucceededGetScale",
            "FailedGetObjectMetric",
            &message,
        )
    };
    let of_containers = says(
        &state(&[container("app"), container("app")], &["90m"]),
        "SucceededGetScale",
        "FailedGetContainerResourceMetric",
        refused,
    );
    let failed = [
        ("is of the selector", state(&[of_vhost], &["50m"])),
        (
            "is of the type Value",
            object(json!({"type": "Value", "averageValue": "10"})),
        ),
        (
            "is of the type AverageValue",
            object(json!({"type": "AverageValue", "value": "10"})),
        ),
        ("is of the gate", of_gate),
        ("is of the backend", failing(&external, "external", backend)),
        ("is of a right", failing(&external, "external", forbidden)),
        ("is of the name", says_unknown),
        (
            "is of a right of the controller",
            last("FailedGetResourceMetric", refused),
        ),
        (
            "is of another metric",
            last("FailedGetExternalMetric", refused),
        ),
        (
            "is of a pass before one that corrected the replicas",
            says(
                &read,
                "SucceededRescale",
                "FailedGetResourceMetric",
                refused,
            ),
        ),
        (
            "is of a right of the controller and of the user",
            unread("default/queue/nil", &refuses),
        ),
        (
            "is of a metric with a longer name",
            unread("default/queue_depth/nil", &refuses),
        ),
        ("is of one of two metrics of the name", of_two(of_label)),
        (
            "is of either of two metrics",
            of_two(queue(&build::average("20"))),
        ),
        ("is of the usage of two containers", of_containers),
        ("is of an object", of_object(": Service on default s/")),
        (
            "is of an object, by 1.37",
            of_object(" on Service default/s: "),
        ),
        ("is of another object", of_object(": Service on default t/")),
        (
            "is not the API's",
            unread(
                "default/queue/nil",
                "no metrics returned from external metrics API",
            ),
        ),
        (
            "has another reason",
            last("FailedGetResourceMetric", "timeout"),
        ),
    ];
    insta::assert_snapshot!(table(Code::MetricFailing, failed), @r#"
    is of the selector: error, explains
        the selector of queue is invalid, so nothing is scaled
        - The controller says: values[0][vhost]: Invalid value: "/": a valid label must be  … e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?').
        > Correct its selector, which the API server does not check.
        $ kubectl get hpa web -n default -o yaml
    is of the type Value: error, explains
        the target of queue on Service/s has no field for its type Value, so nothing is scaled
        - The controller says: invalid object metric source: neither a value target nor an average value target was set.
        > Use averageValue: 10 with type: AverageValue.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/object/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0","value":{"object":{"describedObject":{"apiVersion":"v1","kind":"Service","name":"s"},"metric":{"name":"queue"},"target":{"averageValue":"10","type":"AverageValue"}},"type":"Object"}}]'
    is of the type AverageValue: error, explains
        the target of queue on Service/s has no field for its type AverageValue, so nothing is scaled
        - The controller says: invalid object metric source: neither a value target nor an average value target was set.
        > If it is a total, such as a queue length, rename value to averageValue; if not, use type: Value.
    is of the gate: error, explains
        cpu in app needs the feature gate HPAContainerMetrics, which is off, so nothing is scaled
        - The controller says: ContainerResource metric type is not supported: disabled by the feature gate.
        > Upgrade to Kubernetes 1.30, or enable the gate if you can.
        $ kubectl hpa explain web -n default --feature-gates HPAContainerMetrics=true
    is of the backend: error, explains
        queue fails, so nothing is scaled: … = Unknown desc = error when getting metric values: connection reset
        - The API says: rpc error: code = Unknown desc = error when getting metric values: connection reset.
        > Look at the backend of the external metrics API.
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue
    is of a right: error, explains
        hpa cannot list queue.external.metrics.k8s.io, so nothing is scaled
        - The API says: queue.external.metrics.k8s.io is forbidden: User "hpa" cannot list resource "queue" in API group "external.metrics.k8s.io" in the namespace "default".
        > Grant it the right with a role and a binding.
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue --as=hpa
    is of the name: none
    is of a right of the controller: warning, explains
        hpa could not list pods.metrics.k8s.io in the last pass, so nothing was scaled
        - ScalingActive is False: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: pods.metrics.k8s.io is forbidden: User "hpa" cannot list resource "pods" in API group "metrics.k8s.io" in the namespace "default".
        - What this answer is made from may have been read with other rights, or the right was granted since.
        > Grant it the right with a role and a binding.
        $ kubectl top pods -n default -l app=web --as=hpa
    is of another metric: none
    is of a pass before one that corrected the replicas: none
    is of a right of the controller and of the user: warning, aside
        hpa could not list queue.external.metrics.k8s.io in the last pass, so nothing was scaled
        - ScalingActive is False: unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: queue.external.metrics.k8s.io is forbidden: User "hpa" cannot list resource "queue" in API group "external.metrics.k8s.io" in the namespace "default".
        > Grant it the right with a role and a binding.
        $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue --as=hpa
    is of a metric with a longer name: none
    is of one of two metrics of the name: as is of a right of the controller and of the user
    is of either of two metrics: none
    is of the usage of two containers: as is of a right of the controller
    is of an object: warning, aside
        hpa could not list queue.custom.metrics.k8s.io in the last pass, so nothing was scaled
        - ScalingActive is False: unable to get metric queue: Service on default s/unable to fetch metrics from custom metrics API: queue.custom.metrics.k8s.io is forbidden: User "hpa" cannot list resource "queue" in API group "custom.metrics.k8s.io" in the namespace "default".
        > Grant it the right with a role and a binding.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1/namespaces/default/services/s/queue --as=hpa
    is of an object, by 1.37: warning, aside
        hpa could not list queue.custom.metrics.k8s.io in the last pass, so nothing was scaled
        - ScalingActive is False: unable to get metric queue on Service default/s: unable to fetch metrics from custom metrics API: queue.custom.metrics.k8s.io is forbidden: User "hpa" cannot list resource "queue" in API group "custom.metrics.k8s.io" in the namespace "default".
        > Grant it the right with a role and a binding.
        $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1/namespaces/default/services/s/queue --as=hpa
    is of another object: none
    is not the API's: none
    has another reason: none
    "#);
}

#[test]
fn a_container_without_metrics() {
    let named = |name: &str| state(&[container(name)], &["50m", "50m"]);
    let used = |items: &[Value], container: &str| {
        let usage = json!({"containers": [{"name": container, "usage": {"cpu": "5m"}}]});
        with_one(items, "PodMetrics", "web-1", &usage)
    };
    let crashing = |version: &str| {
        let items = with_pod(&named("app"), "web-1", &waiting("CrashLoopBackOff", 14));
        in_version(&used(&items, "proxy"), version)
    };
    // The template has another container than one of the pods.
    let renamed = |template: &str| {
        let server = json!({"spec": {"containers": [build::requesting("server", "100m")]}});
        let items = used(&with_pod(&named("app"), "web-1", &server), "server");
        let containers = json!([build::requesting(template, "100m")]);
        let template =
            json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}});
        let template = json!({"spec": {"template": template}});
        [items, vec![build::with(build::deployment(2), &template)]].concat()
    };
    let foreign = {
        let containers = json!({"spec": {"containers": [build::requesting("seed", "100m")]}});
        [
            named("app"),
            vec![build::with(build::pod("seed-x"), &containers)],
        ]
        .concat()
    };
    // The pods of the target have the template's containers; a Job's pod has the same label.
    let of_job = {
        let labels = json!({"app": "web", "pod-template-hash": "5d"});
        let owner = build::owned_by("apps/v1", "ReplicaSet", "web-5d");
        let own = json!({"metadata": {"labels": labels, "ownerReferences": owner},
            "spec": {"containers": [build::requesting("app", "100m")]}});
        let usages = json!({"containers": [{"name": "app", "usage": {"cpu": "50m"}}]});
        let mut items = with(&with(&renamed("app"), "Pod", &own), "PodMetrics", &usages);
        let job = build::owned_by("batch/v1", "Job", "seed");
        let patch = json!({"metadata": {"ownerReferences": job},
            "spec": {"containers": [build::requesting("seed", "100m")]}});
        items.push(build::with(build::pod("seed-x"), &patch));
        items
    };
    // A rollout has only just begun, or something holds it up.
    let template_alone = {
        let own = json!([build::requesting("apps", "100m")]);
        let usages = json!({"containers": [{"name": "apps", "usage": {"cpu": "50m"}}]});
        with(
            &with_containers(&renamed("app"), &own),
            "PodMetrics",
            &usages,
        )
    };
    let near = json!({"spec": {"metrics": [container("ap")]}});
    let unknown = [
        ("has another name", named("ap")),
        ("has no similar name, but is the only one", named("nginx")),
        (
            "has another name in the template alone",
            with_hpa(&template_alone, &near),
        ),
        (
            "has another name in the template alone, of a paused target",
            with(
                &with_hpa(&template_alone, &near),
                "Deployment",
                &json!({"spec": {"paused": true}}),
            ),
        ),
        ("is there", named("app")),
        ("is in the template alone", template_alone.clone()),
    ];
    insta::assert_snapshot!(table(Code::UnknownContainer, unknown), @r#"
    has another name: error, explains
        no pod has a container ap, so nothing is scaled
        - The containers of the pods: app.
        > Use the container app.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/containerResource/container","value":"ap"},{"op":"replace","path":"/spec/metrics/0/containerResource/container","value":"app"}]'
    has no similar name, but is the only one: error, explains
        no pod has a container nginx, so nothing is scaled
        - The containers of the pods: app.
        > Use the name of the pods' only container, app.
        $ kubectl get pods -n default -l app=web -o jsonpath='{.items[*].spec.containers[*].name}'
    has another name in the template alone: error, explains
        no pod has a container ap, so nothing is scaled
        - The containers of the pods: apps.
        - app is in the template of Deployment/web only.
        > Use the container app.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/containerResource/container","value":"ap"},{"op":"replace","path":"/spec/metrics/0/containerResource/container","value":"app"}]'
    has another name in the template alone, of a paused target: error, explains
        no pod has a container ap, so nothing is scaled
        - The containers of the pods: apps.
        - app is in the template of Deployment/web only.
        > Use the container app. Then resume Deployment/web: it is paused.
        $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/containerResource/container","value":"ap"},{"op":"replace","path":"/spec/metrics/0/containerResource/container","value":"app"}]'
    is there: none
    is in the template alone: none
    "#);
    let missing = [
        ("fails the metric before 1.33", crashing("v1.30.5")),
        ("leaves out the pod as of 1.33", crashing("v1.36.2")),
        ("is not in a pod", foreign),
        ("is not in a pod of a Job", of_job),
        ("has been renamed in the template", renamed("server")),
        ("is new in the template", renamed("app")),
        ("is in the template alone", template_alone),
        ("is measured", named("app")),
        ("is unknown", named("ap")),
    ];
    insta::assert_snapshot!(table(Code::ContainerMetricsMissing, missing), @r#"
    fails the metric before 1.33: error, explains
        1 of 2 pods has no metrics for cpu in app, which fails the metric for all pods
        - app of web-1 waits: CrashLoopBackOff, 14 restarts.
        - Since Kubernetes 1.33, such a pod does not fail the metric.
        > Find out why app does not run in web-1.
        $ kubectl logs web-1 -c app -n default --previous
        @ pod/web-1
    leaves out the pod as of 1.33: info, aside
        1 of 2 pods has no metrics for cpu in app, so it counts as missing
        - app of web-1 waits: CrashLoopBackOff, 14 restarts.
        > Find out why app does not run in web-1.
        $ kubectl logs web-1 -c app -n default --previous
        @ pod/web-1
    is not in a pod: error, explains
        1 of 3 pods has no metrics for cpu in app, which fails the metric for all pods
        - seed-x has no container app.
        > Use a container that all pods have.
        $ kubectl get pods -n default -l app=web
        @ pod/seed-x
    is not in a pod of a Job: error, explains, follows foreign-pods
        1 of 3 pods has no metrics for cpu in app, which fails the metric for all pods
        - seed-x, which does not belong to Deployment/web, has no container app.
        > Follow the advice of foreign-pods.
        @ pod/seed-x
    has been renamed in the template: error, explains
        1 of 2 pods has no metrics for cpu in app, which fails the metric for all pods
        - web-1 has no container app.
        > Wait for the rollout to end, then use a ContainerResource metric for server.
        $ kubectl rollout status deployment/web -n default --watch=false
        @ pod/web-1
    is new in the template: error, explains
        1 of 2 pods has no metrics for cpu in app, which fails the metric for all pods
        - web-1 has no container app.
        > Wait for the rollout to end: the template has the container app.
        $ kubectl rollout status deployment/web -n default --watch=false
        @ pod/web-1
    is in the template alone: error, explains
        2 of 2 pods have no metrics for cpu in app, which fails the metric for all pods
        - web-0 has no container app.
        - web-1 has no container app.
        > Wait for the rollout to end: the template has the container app.
        $ kubectl rollout status deployment/web -n default --watch=false
        @ pod/web-0 pod/web-1
    is measured: none
    is unknown: none
    "#);
    let storage = json!({"containerResource": {"name": "ephemeral-storage", "target": build::average("1Gi")}});
    let unserved = state(&[build::with(container("app"), &storage)], &["50m", "50m"]);
    let empty = [("is measured, but not the resource", unserved)];
    insta::assert_snapshot!(table(Code::MetricEmpty, empty), @r"
    is measured, but not the resource: error, explains
        there is no value for ephemeral-storage in app from the resource metrics API, so nothing is scaled
        - The selector that is sent for the pods: app=web.
        > Use a metric of type Pods or External: metrics-server serves only cpu and memory.
        $ kubectl top pods -n default -l app=web
    ");
}

/// The cause stays where an error is shortened, and a condition without words ends as a sentence.
#[test]
fn errors_that_are_shortened() {
    let query = format!(
        "query: sum:aws.requests{{{}}}.rollup(sum, 60)",
        "service:shop,".repeat(12)
    );
    let failing_with = |message: &str| {
        let items = state(&[queue(&build::average("10"))], &["50m"]);
        said(Code::MetricFailing, &failing(&items, "external", message))
    };
    let text = failing_with(&format!(
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
    let text = failing_with(
        "Internal error occurred: DatadogMetric not found for metric name: queue, datadogmetricid: \
         datadog/dcaautogen-9c1d4f3fbb7a1f2a6e1c7f0a27de10",
    );
    let cause = ": DatadogMetric not found for metric name: queue";
    assert!(text.summary.ends_with(cause), "{}", text.summary);
    // An error that quotes no query ends with its cause.
    let text = failing_with(&format!(
        "failed to ask {}: timeout",
        "the backend ".repeat(20)
    ));
    assert!(text.summary.ends_with(": timeout"), "{}", text.summary);
    let service = |reason: &str, message: &str| {
        let items = failing(&state(&[cpu()], &["50m"]), "resource", "proxy error");
        let mut down = api_service("metrics.k8s.io", "False");
        let condition = &mut down["status"]["conditions"][0];
        (condition["reason"], condition["message"]) = (json!(reason), json!(message));
        let text = said(Code::MetricsApiUnavailable, &[items, vec![down]].concat());
        text.evidence.last().cloned().unwrap()
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
        let items = with(&state(&[cpu()], &["50m"]), "Pod", &patch);
        let mut evidence = said(Code::ResizeInProgress, &items).evidence.into_iter();
        evidence.find(|it| it.starts_with("PodResize")).unwrap()
    };
    assert_eq!(resized("", ""), "PodResizeInProgress since 05:59:40Z.");
    assert_eq!(resized("", "x"), "PodResizeInProgress since 05:59:40Z: x.");
    assert_eq!(
        resized("Error", "x"),
        "PodResizeInProgress since 05:59:40Z: Error: x."
    );
}
