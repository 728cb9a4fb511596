//! A state that is saved and read again gives the same answer as the server, whatever the metrics
//! APIs return: values for pods that are not in the list, labels that an adapter omits, cluster-scoped
//! objects, failures and missing rights.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::api::json::each;
use super::api::{Answer, Cluster, Fault, Server, When};
use super::apply::refusal;
use super::metrics::{external_metric, pods_metric, with_metrics};
use super::{
    NAME, POD_METRICS, Ran, SCALE, Temporary, explain_as, program, recorded, run, state_in,
};

const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default";
const APP: (&str, &str) = ("app", "nginx");
const TIME: &str = "2026-11-21T07:07:00Z";

/// Makes a path answer with a list.
fn answers(cluster: &mut Cluster, path: &str, kind: &str, items: &[Value]) {
    let list = json!({"kind": kind, "apiVersion": "v1beta1", "metadata": {}, "items": items});
    answers_with(cluster, path, &list);
}

fn answers_with(cluster: &mut Cluster, path: &str, body: &Value) {
    let answer = Answer::json(200, body.to_string());
    cluster.fault(When::on(path), Fault::Answer(answer));
}

fn of_object([kind, namespace, name]: [&str; 3], value: &str) -> Value {
    json!({
        "describedObject": {"kind": kind, "namespace": namespace, "name": name, "apiVersion": "v1"},
        "metric": {"name": "any"},
        "timestamp": TIME,
        "windowSeconds": 30,
        "value": value,
    })
}

fn usage(name: &str, labels: &Value, milli: i64) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "timestamp": TIME,
        "window": "15.5s",
        "containers": [{"name": "nginx", "usage": {"cpu": format!("{milli}m"), "memory": "3Mi"}}],
    })
}

/// About the state as it is read, not about the answer.
const OF_THE_READING: [&str; 2] = ["basis", "notes"];

/// Explains live as bob, who lacks some rights, and again from what was saved; both answers in JSON, with
/// exit codes.
fn live_and_saved(server: &Server) -> [(Option<i32>, Value); 2] {
    let file: &str = &Temporary::new();
    let answer = |ran: Ran| {
        let mut answer = ran.json();
        let fields = answer.as_object_mut().expect("an object");
        fields.retain(|field, _| !OF_THE_READING.contains(&&**field));
        (ran.code, answer)
    };
    let live = answer(explain_as(server, "bob", &["-o", "json", "--save", file]));
    let again = run(program().args(["explain", NAME, "-n", "default", "-f", file, "-o", "json"]));
    [live, answer(again.without_file(file))]
}

/// Returns the fields in which the two answers differ, with both values.
fn differences([live, again]: &[(Option<i32>, Value); 2]) -> Vec<String> {
    let answers = [live, again].into_iter();
    let objects = answers.filter_map(|(_, answer)| answer.as_object());
    let fields: BTreeSet<&String> = objects.flat_map(|fields| fields.keys()).collect();
    let differs = fields
        .into_iter()
        .filter(|field| live.1[*field] != again.1[*field]);
    let codes = (live.0 != again.0).then(|| format!("exit code {:?}, then {:?}", live.0, again.0));
    let fields = differs.map(|field| {
        format!(
            "{field}: {} live, {} from the file",
            live.1[field], again.1[field]
        )
    });
    codes.into_iter().chain(fields).collect()
}

#[track_caller]
fn same(server: &Server) -> Value {
    let both = live_and_saved(server);
    assert_eq!(differences(&both), Vec::<String>::new());
    let [(_, live), _] = both;
    live
}

/// Returns what is saved of each kind, after the same answer from there.
fn saved_after_the_same(server: &Server) -> impl Fn(&str) -> Value {
    same(server);
    let file: &str = &Temporary::new();
    explain_as(server, "bob", &["--save", file]);
    let saved = state_in(file);
    move |kind| {
        let mut items = each(&saved["items"]);
        items
            .find(|item| item["kind"] == kind)
            .cloned()
            .unwrap_or_default()
    }
}

fn cluster() -> Cluster {
    let mut cluster = recorded();
    cluster.grant("bob");
    cluster
}

/// Returns the metric's value, as the status reports it.
fn reported(answer: &Value) -> &Value {
    let metric = &answer["outcome"]["status"]["currentMetrics"][0];
    let source = metric["type"].as_str().expect("a type").to_lowercase();
    &metric[source]["current"]
}

#[test]
fn values_of_pods_that_are_not_in_the_list_are_read_again() {
    let mut cluster = cluster();
    with_metrics(&mut cluster, &json!([pods_metric()]));
    let values = [
        of_object(
            ["Pod", "default", "nginx-deployment-596d9ffddd-6lrhv"],
            "62m",
        ),
        of_object(["Pod", "default", "gone"], "1500500m"),
    ];
    answers(
        &mut cluster,
        &format!("{CUSTOM}/pods/"),
        "MetricValueList",
        &values,
    );
    let answer = same(&Server::start(cluster));
    assert_eq!(*reported(&answer), json!({"averageValue": "750281m"}));
}

#[test]
fn external_values_that_do_not_repeat_their_labels_are_read_again() {
    let mut cluster = cluster();
    with_metrics(&mut cluster, &json!([external_metric()]));
    let value =
        json!({"metricName": "other", "metricLabels": null, "timestamp": TIME, "value": "7"});
    answers(&mut cluster, EXTERNAL, "ExternalMetricValueList", &[value]);
    let answer = same(&Server::start(cluster));
    assert_eq!(answer["proposal"], 7);
}

/// No metric is requested if the scale is refused, so nothing is missing from what is saved.
#[test]
fn a_refused_scale_is_read_again_without_anything_missing() {
    let mut cluster = cluster();
    with_metrics(&mut cluster, &json!([pods_metric(), external_metric()]));
    let gone = "deployments.apps \"nginx-deployment\" not found";
    cluster.fault(When::on(SCALE), refusal(404, "NotFound", gone));
    let server = Server::start(cluster);
    same(&server);
    let (first, second): (&str, &str) = (&Temporary::new(), &Temporary::new());
    explain_as(&server, "bob", &["--save", first]);
    let explain = ["explain", NAME, "-n", "default", "-f", first];
    let again = run(program()
        .args(explain)
        .args(["-o", "wide", "--save", second]));
    assert!(
        !again.stdout.contains("the input has no"),
        "{}",
        again.stdout
    );
    let [first, second] = [first, second].map(|path| fs::read_to_string(path).expect("a file"));
    assert_eq!(first, second);
}

/// An object of each kind that explains a pass, limited to what is kept.
#[test]
fn what_surrounds_a_pass_is_read_again() {
    let mut cluster = cluster();
    let pod = |labels: &Value| json!({"metadata": {"labels": labels}, "spec": {"containers": []}});
    let labels = json!({"app": "nginx", "pod-template-hash": "1"});
    cluster.put(json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "other-1", "namespace": "default", "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other",
                "uid": "1", "controller": true}]},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod(&labels)},
        "status": {"replicas": 1},
    }));
    let vpa = "VerticalPodAutoscaler";
    cluster.unscalable_kind("autoscaling.k8s.io/v1", vpa, "verticalpodautoscalers");
    cluster.put(json!({
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": vpa,
        "metadata": {"name": "sizes", "namespace": "default"},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME}},
    }));
    let server = Server::start(cluster);
    let found = saved_after_the_same(&server);
    assert_eq!(found("Deployment")["metadata"]["name"], NAME);
    assert_eq!(
        found("ReplicaSet")["metadata"]["ownerReferences"][0]["name"],
        "other"
    );
    assert_eq!(found(vpa)["spec"]["targetRef"]["name"], NAME);
}

#[test]
fn why_a_metrics_api_fails_is_read_again() {
    let mut cluster = cluster();
    cluster.edit_hpa(["default", NAME], super::rounds::lacked_usage);
    let service = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io";
    let condition = json!({"type": "Available", "status": "False", "reason": "MissingEndpoints"});
    answers_with(
        &mut cluster,
        service,
        &json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "status": {"conditions": [condition]},
        }),
    );
    cluster.fault(When::on(POD_METRICS), Fault::Unavailable(None));
    let server = Server::start(cluster);
    let found = saved_after_the_same(&server);
    // A time that is not set is null, as Go writes it.
    let mut saved = condition;
    saved["lastTransitionTime"] = Value::Null;
    assert_eq!(found("APIService")["status"]["conditions"], json!([saved]));
}

#[test]
fn names_that_an_api_serves_are_read_again() {
    for (served, kept) in [
        ("queue_depths", json!([{"name": "queue_depths"}])),
        ("latency", json!([])),
    ] {
        let mut cluster = cluster();
        with_metrics(&mut cluster, &json!([external_metric()]));
        let hpa = ["default", NAME];
        cluster.edit_hpa(hpa, |hpa| {
            hpa["status"]["conditions"] = json!([]);
        });
        let list = "/apis/external.metrics.k8s.io/v1beta1";
        let resources = json!([{"name": served}, {"name": "other"}]);
        let body = json!({"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": resources});
        let answer = Answer::json(200, body.to_string());
        cluster.fault(When::on(list).except(EXTERNAL), Fault::Answer(answer));
        let message = "the server could not find the requested resource";
        cluster.fault(When::on(EXTERNAL), refusal(404, "NotFound", message));
        let server = Server::start(cluster);
        assert_eq!(same(&server)["findings"][0]["code"], "metric-not-found");
        let found = saved_after_the_same(&server);
        assert_eq!(found("APIResourceList")["resources"], kept, "{served}");
    }
}

#[test]
fn targets_of_one_name_and_two_kinds_are_kept_apart() {
    let mut cluster = cluster();
    cluster.put(json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {"replicas": 7, "selector": {"matchLabels": {"app": "nginx"}}},
        "status": {"replicas": 7},
    }));
    cluster.hpa(
        ["default", "twin"],
        ["apps/v1", "StatefulSet", NAME],
        &json!({}),
    );
    let answer = same(&Server::start(cluster));
    assert_eq!(
        answer["outcome"]["status"]["conditions"][1]["reason"],
        "AmbiguousSelector"
    );
}

/// The result of a request to a metrics API.
#[derive(Debug, Clone)]
enum Reply {
    /// With these items.
    Items(Vec<Value>),
    /// With a failure.
    Failure(u16),
}

impl Reply {
    fn set(&self, cluster: &mut Cluster, path: &str, kind: &str) {
        match self {
            Self::Items(items) => answers(cluster, path, kind, items),
            Self::Failure(code) => {
                let reason = if *code == 404 {
                    "NotFound"
                } else {
                    "Forbidden"
                };
                let message = format!("no answer but {code}");
                cluster.fault(When::on(path), refusal(*code, reason, &message));
            }
        }
    }
}

/// A cluster and its rights.
#[derive(Debug, Clone)]
struct World {
    metrics: Vec<Value>,
    resource: Reply,
    pods: Reply,
    object: Reply,
    external: Reply,
    pods_there: usize,
    denied: Vec<[&'static str; 2]>,
    twin: bool,
    old: bool,
}

impl World {
    fn build(&self) -> Cluster {
        let mut cluster = cluster();
        with_metrics(&mut cluster, &json!(self.metrics));
        if self.old {
            let hpa = ["default", NAME];
            cluster.edit_hpa(hpa, |hpa| {
                hpa["metadata"]["creationTimestamp"] = json!("2026-11-20T07:05:00Z");
            });
        }
        cluster.pods(["default", "more"], &[APP], self.pods_there);
        if self.twin {
            cluster.hpa(
                ["default", "twin"],
                ["apps/v1", "Deployment", NAME],
                &json!({}),
            );
        }
        self.resource
            .set(&mut cluster, POD_METRICS, "PodMetricsList");
        self.pods
            .set(&mut cluster, &format!("{CUSTOM}/pods/"), "MetricValueList");
        for path in ["nodes", "metrics", "ingresses"] {
            self.object
                .set(&mut cluster, &format!("{CUSTOM}/{path}"), "MetricValueList");
        }
        self.external
            .set(&mut cluster, EXTERNAL, "ExternalMetricValueList");
        for [verb, resource] in &self.denied {
            cluster.deny("bob", verb, resource);
        }
        cluster
    }
}

fn reply(item: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Reply> {
    prop_oneof![
        6 => prop::collection::vec(item, 0..5).prop_map(Reply::Items),
        1 => Just(Reply::Failure(404)),
        1 => Just(Reply::Failure(403)),
    ]
}

fn pod_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "nginx-deployment-596d9ffddd-6lrhv",
        "more-00000",
        "more-00001",
        "gone",
        "not-seen-yet",
    ])
}

fn namespace() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["default", "", "another"])
}

fn selector() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!({}),
        json!({"matchLabels": {"verb": "GET"}}),
    ])
}

fn target() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"type": "Value", "value": "3"}),
        json!({"type": "AverageValue", "averageValue": "1500m"}),
    ])
}

fn metric() -> impl Strategy<Value = Value> {
    let name = || prop::sample::select(vec!["rate", "depth"]);
    let resource = prop::sample::select(vec![
        json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}),
        json!({"name": "cpu", "target": {"type": "AverageValue", "averageValue": "15m"}}),
        json!({"name": "memory", "target": {"type": "AverageValue", "averageValue": "2Mi"}}),
    ]);
    let object = prop::sample::select(vec![
        json!({"apiVersion": "v1", "kind": "Node", "name": "n1"}),
        json!({"apiVersion": "v1", "kind": "Namespace", "name": "default"}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "main"}),
    ]);
    prop_oneof![
        resource
            .clone()
            .prop_map(|source| json!({"type": "Resource", "resource": source})),
        resource.prop_map(|mut source| {
            source["container"] = json!("nginx");
            json!({"type": "ContainerResource", "containerResource": source})
        }),
        (name(), selector()).prop_map(|(name, selector)| {
            let target = json!({"type": "AverageValue", "averageValue": "2"});
            let metric = json!({"name": name, "selector": selector});
            json!({"type": "Pods", "pods": {"metric": metric, "target": target}})
        }),
        (object, name(), selector(), target()).prop_map(|(object, name, selector, target)| {
            let metric = json!({"name": name, "selector": selector});
            let object = json!({"describedObject": object, "metric": metric, "target": target});
            json!({"type": "Object", "object": object})
        }),
        (name(), selector(), target()).prop_map(|(name, selector, target)| {
            let metric = json!({"name": name, "selector": selector});
            json!({"type": "External", "external": {"metric": metric, "target": target}})
        }),
    ]
}

fn world() -> impl Strategy<Value = World> {
    let labels = prop::sample::select(vec![
        json!(null),
        json!({"app": "nginx"}),
        json!({"app": "x"}),
    ]);
    let usage = (pod_name(), labels.clone(), 0..200_i64)
        .prop_map(|(name, labels, milli)| usage(name, &labels, milli));
    let value = || (0..20_000_i64).prop_map(|milli| format!("{milli}m"));
    let of_pod = (pod_name(), namespace(), value())
        .prop_map(|(name, namespace, value)| of_object(["Pod", namespace, name], &value));
    let of_object = (namespace(), value())
        .prop_map(|(namespace, value)| of_object(["Node", namespace, "n1"], &value));
    let external = (labels, value()).prop_map(|(labels, value)| {
        json!({"metricName": "m", "metricLabels": labels, "timestamp": TIME, "value": value})
    });
    let rights = vec![
        ["list", "pods"],
        ["list", "pods.metrics.k8s.io"],
        ["*", "*.custom.metrics.k8s.io"],
        ["*", "*.external.metrics.k8s.io"],
        ["list", "horizontalpodautoscalers.autoscaling"],
        ["list", "events"],
    ];
    let denied = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::sample::subsequence(rights, 1..3),
    ];
    (
        prop::collection::vec(metric(), 1..4),
        (
            reply(usage),
            reply(of_pod),
            reply(of_object),
            reply(external),
        ),
        0..3_usize,
        denied,
        prop::bool::weighted(0.1),
        any::<bool>(),
    )
        .prop_map(
            |(metrics, (resource, pods, object, external), pods_there, denied, twin, old)| World {
                metrics,
                resource,
                pods,
                object,
                external,
                pods_there,
                denied,
                twin,
                old,
            },
        )
}

#[test]
fn every_state_that_is_saved_gives_the_same_answer_again() {
    let config = ProptestConfig {
        cases: 48,
        max_shrink_iters: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let holds = |world: World| {
        let server = Server::start(world.build());
        prop_assert_eq!(differences(&live_and_saved(&server)), Vec::<String>::new());
        Ok(())
    };
    if let Err(e) = TestRunner::new(config).run(&world(), holds) {
        panic!("{e}");
    }
}
