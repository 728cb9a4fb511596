//! Many HPAs at once: each gets the answer that it gets alone, whatever its state and whatever is refused, in
//! requests that grow with namespaces and pages, and not with HPAs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::json::array;
use super::api::{Answer, Auth, Clock, Cluster, Fault, Kubeconfig, Recorded, Scale, Server, When};
use super::apply::refusal;
use super::metrics::external_metric;
use super::{
    Ran, Temporary, ask, asked, ended, own, own_by_keda, program, recorded, run, schema, shows,
    signalled, until, with_hpas,
};

pub(super) fn explain(server: &Server, user: &str, args: &[&str]) -> Ran {
    ask(
        server,
        user,
        &[&["explain"], args, &["-o", "json"]].concat(),
    )
}

/// Explains with all optional answers: a busy machine may be too slow for them, and then says so.
fn in_time(server: &Server, user: &str, args: &[&str]) -> Ran {
    const TRIES: usize = 20;
    for _ in 0..TRIES {
        let ran = explain(server, user, args);
        if !ran.stdout.contains("no answer in time") {
            return ran;
        }
    }
    panic!("{args:?}: the answers were late {TRIES} times");
}

/// Returns standard error without the progress, which a slow machine shows.
pub(super) fn told(ran: &Ran) -> String {
    let lines = ran.stderr.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("reading ")).collect()
}

/// Returns an answer without its first note, which says how far the clocks are apart.
fn without_skew(mut answer: Value) -> Value {
    let skew = answer["notes"].as_array_mut().map(|notes| notes.remove(0));
    assert!(
        skew.is_some_and(|skew| skew.to_string().contains("clock")),
        "{answer:#}"
    );
    answer
}

/// Compares every answer of the list with the one that its HPA gets alone; returns how many there are, and
/// how many errors.
pub(super) fn compare(server: &Server, user: &str) -> [usize; 2] {
    let list = in_time(server, user, &["-A"]).json();
    let items = items(&list);
    for item in &items {
        assert_alone(server, user, item);
    }
    let errors = array(&list["errors"]);
    for error in errors {
        let [namespace, name, message] =
            ["namespace", "name", "message"].map(|field| error[field].as_str().expect("text"));
        explain(server, user, &[name, "-n", namespace]).fails(1, &[message]);
    }
    [items.len(), errors.len()]
}

/// Compares the answers of [`fleet`] with those that the HPAs get alone, each in one of the namespaces.
fn compare_by_turns(server: &Server, user: &str) {
    let items = items(&in_time(server, user, &["-A"]).answer());
    for item in by_turns(&items) {
        assert_alone(server, user, item);
    }
}

fn items(list: &Value) -> Vec<Value> {
    array(&list["items"])
        .iter()
        .cloned()
        .map(without_skew)
        .collect()
}

/// Asserts that `shop` and `yard` have the same answers, and returns each of one of them by turns, and the recorded
/// one.
fn by_turns(items: &[Value]) -> Vec<&Value> {
    let of = |namespace: &'static str| {
        let is_there = move |item: &&Value| item["hpa"]["namespace"] == namespace;
        items.iter().filter(is_there)
    };
    let mut turns: Vec<&Value> = of("default").collect();
    for (place, (shop, yard)) in of("shop").zip(of("yard")).enumerate() {
        assert_eq!(shop.to_string(), yard.to_string().replace("yard", "shop"));
        turns.push([shop, yard][place % 2]);
    }
    assert_eq!((items.len(), turns.len()), (45, 23));
    turns
}

fn assert_alone(server: &Server, user: &str, item: &Value) {
    let [namespace, name] =
        ["namespace", "name"].map(|field| item["hpa"][field].as_str().expect("text"));
    let alone = without_skew(in_time(server, user, &[name, "-n", namespace]).json());
    for (field, value) in item.as_object().expect("an object") {
        assert_eq!(
            *value, alone[field],
            "{field} of {namespace}/{name} for {user}"
        );
    }
    assert_eq!(*item, alone);
}

/// Gives an HPA these metrics.
pub(super) fn measured(cluster: &mut Cluster, namespace: &str, hpa: &str, metric: &Value) {
    cluster.edit_hpa([namespace, hpa], |hpa| {
        hpa["spec"]["metrics"] = json!([metric]);
    });
}

pub(super) fn workload(
    api_version: &str,
    kind: &str,
    [namespace, name]: [&str; 2],
    selector: &Value,
) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"replicas": 2, "selector": selector},
        "status": {"replicas": 2},
    })
}

/// Adds HPAs in all sorts of states to a namespace.
fn all_sorts(cluster: &mut Cluster, namespace: &str) {
    for (name, replicas) in [
        ("web", 3),
        ("cart", 3),
        ("api", 12),
        ("none", 0),
        ("paused", 2),
    ] {
        cluster.autoscaled([namespace, name], replicas);
    }
    let deployment = |name: &'static str| ["apps/v1", "Deployment", name];
    cluster.hpa([namespace, "twin"], deployment("cart"), &json!({}));
    cluster.hpa([namespace, "lost"], deployment("caart"), &json!({}));
    cluster.hpa(
        [namespace, "lower"],
        ["apps/v1", "deployment", "web"],
        &json!({"minReplicas": 7}),
    );
    cluster.hpa(
        [namespace, "ill"],
        ["apps/v1/beta", "Deployment", "web"],
        &json!({}),
    );
    cluster.hpa(
        [namespace, "unknown"],
        ["example.com/v1", "Thing", "web"],
        &json!({}),
    );

    // Other kinds of targets.
    for (kind, group, selector) in [
        (
            "StatefulSet",
            "apps/v1",
            json!({"matchLabels": {"app": "db"}}),
        ),
        (
            "StatefulSet",
            "apps/v1",
            json!({"matchExpressions": [
            {"key": "app", "operator": "In", "values": ["log", "logs"]}]}),
        ),
        (
            "ReplicaSet",
            "apps/v1",
            json!({"matchLabels": {"app": "old"}}),
        ),
        ("ReplicationController", "v1", json!({"app": "older"})),
        (
            "Rollout",
            "argoproj.io/v1alpha1",
            json!({"matchLabels": {"app": "canary"}}),
        ),
        (
            "Rollout",
            "argoproj.io/v1alpha1",
            json!({"matchLabels": {"app": "blue"}}),
        ),
    ] {
        let name = match selector.to_string() {
            text if text.contains("logs") => "log",
            text if text.contains("\"db\"") => "db",
            text if text.contains("older") => "older",
            text if text.contains("old") => "old",
            text if text.contains("canary") => "canary",
            _ => "blue",
        };
        cluster.put(workload(group, kind, [namespace, name], &selector));
        cluster.hpa([namespace, name], [group, kind, name], &json!({}));
        cluster.pods([namespace, name], &[("app", name)], 2);
        cluster.pod_metrics([namespace, name], &[("app", name)], 2, ["15m", "1Mi"]);
    }
    // A server omits the status of a target that its controller has not seen.
    cluster.edit("apps/v1", "StatefulSet", [namespace, "log"], |it| {
        it["status"] = json!({});
    });
    // The pods of a Deployment and what owns them, of two revisions.
    for (hash, image) in [("new", "2"), ("old", "1")] {
        let mut set = workload(
            "apps/v1",
            "ReplicaSet",
            [namespace, &format!("web-{hash}")],
            &json!({"matchLabels": {"app": "web", "pod-template-hash": hash}}),
        );
        set["metadata"]["labels"] = json!({"app": "web", "pod-template-hash": hash});
        own(&mut set, ["apps/v1", "Deployment", "web"]);
        set["spec"]["template"] = json!({"spec": {"containers": [
            {"name": "nginx", "image": image}]}});
        cluster.put(set);
    }
    cluster.edit("v1", "Pod", [namespace, "web-00001"], |pod| {
        own(pod, ["apps/v1", "ReplicaSet", "web-old"]);
    });
    cluster.edit("v1", "Pod", [namespace, "web-00002"], |pod| {
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False",
            "lastTransitionTime": "2026-11-21T07:06:59Z"}]);
    });

    // Each sort of metric; two HPAs may ask the same.
    let object = json!({"type": "Object", "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "queue"},
        "metric": {"name": "depth"}, "target": {"type": "Value", "value": "1"},
    }});
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "rate"},
        "target": {"type": "AverageValue", "averageValue": "5"}}});
    let missing = json!({"type": "External", "external": {
        "metric": {"name": "unheard-of"}, "target": {"type": "Value", "value": "1"}}});
    for (name, metric) in [
        ("object", &object),
        ("object-too", &object),
        ("external", &external_metric()),
        ("external-too", &external_metric()),
        ("pods", &pods),
        ("missing", &missing),
    ] {
        cluster.autoscaled([namespace, name], 2);
        measured(cluster, namespace, name, metric);
    }
    for (resource, kind, object, name, value) in [
        ("services", "Service", "queue", "depth", "7"),
        ("pods", "Pod", "pods-00000", "rate", "9"),
        ("pods", "Pod", "pods-00001", "rate", "11"),
    ] {
        cluster.custom_value([resource, kind, "v1"], [namespace, object], [name, value]);
    }
    cluster.external_value(namespace, ["queue_depth", "8"], &[("queue", "a")]);

    // KEDA, and a VerticalPodAutoscaler.
    for name in ["paused", "api"] {
        cluster.put(
            json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": name, "namespace": namespace,
                "annotations": {"autoscaling.keda.sh/paused-scale-in": "true"}}}),
        );
        cluster.edit_hpa([namespace, name], |hpa| {
            own_by_keda(hpa, name);
            hpa["spec"]["behavior"]["scaleDown"]["selectPolicy"] = json!("Disabled");
        });
    }
    cluster.put(
        json!({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
    );

    // What the controller did.
    cluster.event(
        [namespace, "web"],
        [
            "SuccessfulRescale",
            "New size: 3; reason: All metrics \
        below target",
        ],
        "2026-11-21T07:05:00Z",
    );
    cluster.edit_hpa([namespace, "web"], |hpa| {
        hpa["status"] = json!({"currentReplicas": 3, "desiredReplicas": 3,
            "lastScaleTime": "2026-11-21T07:05:00Z", "currentMetrics": null, "conditions": [
            {"type": "AbleToScale", "status": "True", "reason": "ScaleDownStabilized",
                "message": "recent recommendations were higher than current one, applying the \
                            highest recent recommendation",
                "lastTransitionTime": "2026-11-21T07:05:00Z"}]});
    });
}

pub(super) fn fleet() -> Cluster {
    let mut cluster = recorded();
    cluster
        .custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts")
        .unscalable_kind("keda.sh/v1alpha1", "ScaledObject", "scaledobjects")
        .unscalable_kind(
            "autoscaling.k8s.io/v1",
            "VerticalPodAutoscaler",
            "verticalpodautoscalers",
        );
    for namespace in ["shop", "yard"] {
        all_sorts(&mut cluster, namespace);
    }
    cluster
}

#[test]
fn each_is_explained_as_it_would_be_alone() {
    compare_by_turns(&Server::start(fleet()), "admin");
}

/// Some lists are refused in one namespace, others for all namespaces only.
#[test]
fn each_is_explained_as_it_would_be_alone_whatever_is_refused() {
    for denied in [
        &[
            ("list", "deployments.apps@shop"),
            ("list", "pods@yard"),
            ("list", "pods.metrics.k8s.io@shop"),
            ("list", "replicasets.apps@yard"),
            ("list", "events"),
            ("get", "services/depth.custom.metrics.k8s.io@shop"),
        ][..],
        &[
            ("list", "deployments.apps@shop"),
            ("get", "deployments.apps/scale@shop"),
            ("list", "scaledobjects.keda.sh@yard"),
            ("list", "statefulsets.apps@yard"),
            ("get", "statefulsets.apps@yard"),
            ("get", "statefulsets.apps/scale@yard"),
        ],
    ] {
        let mut cluster = fleet();
        cluster.grant("bob");
        for (verb, resource) in denied {
            cluster.deny("bob", verb, resource);
        }
        let errors = if denied.contains(&("get", "deployments.apps/scale@shop")) {
            2
        } else {
            0
        };
        assert_eq!(
            compare(&Server::start(cluster), "bob"),
            [45 - errors, errors],
            "{denied:?}"
        );
    }
    let mut cluster = fleet();
    cluster.allow("carol", "list", "horizontalpodautoscalers.autoscaling");
    for namespace in ["default", "shop", "yard"] {
        cluster.allow("carol", "*", &format!("*@{namespace}"));
    }
    compare_by_turns(&Server::start(cluster), "carol");
}

#[test]
fn a_list_that_is_refused_is_told_of_once() {
    let mut cluster = fleet();
    cluster.grant("bob").deny("bob", "list", "deployments.apps");
    let server = Server::start(cluster);
    let ran = explain(&server, "bob", &["-A", "-l", "!none"]);
    assert_eq!(
        (ran.code, &*told(&ran)),
        (
            Some(0),
            "Warning: targets were requested one by one, which takes longer: missing permission: \
             list deployments.apps in the namespace shop, and 1 more (see -v 1)\n"
        )
    );
    let log = explain(&server, "bob", &["-A", "-v", "1"]).stderr;
    let advice = "requested HPA by HPA: missing permission: list deployments.apps in the namespace \
                  yard; check it with `kubectl auth can-i list deployments.apps -n yard`";
    shows(&log, advice);
}

/// The labels of usage are those of the pods. An API that omits them is asked with them known.
#[test]
fn usage_without_labels_belongs_to_the_pods_of_its_names() {
    let mut cluster = with_hpas(&["web", "cart", "pay"]);
    for name in ["web-00000", "cart-00001"] {
        cluster.edit(
            "metrics.k8s.io/v1beta1",
            "PodMetrics",
            ["shop", name],
            |it| {
                it["metadata"]["labels"] = json!({});
            },
        );
    }
    let server = Server::start(cluster);
    let answer = explain(&server, "admin", &["-n", "shop"]).answer();
    for item in array(&answer["items"]) {
        assert_eq!(item["proposal"], 8, "{item:#}");
    }
    assert_eq!(array(&answer["items"]).len(), 3);
}

/// Returns how many requests there were, by the last part of their paths.
pub(super) fn counted(requests: &[Recorded]) -> BTreeMap<&str, usize> {
    let mut counted = BTreeMap::new();
    for request in requests {
        let end = request.path.rsplit('/').next().unwrap_or_default();
        *counted.entry(end).or_default() += 1;
    }
    counted
}

/// Returns the requests, except those for the HPAs of namespaces whose turn came late on a busy machine.
fn without_newer(server: &Server) -> Vec<Recorded> {
    let mut requests = server.requests();
    requests.retain(|it| {
        !it.path.contains("/namespaces/") || !it.path.ends_with("/horizontalpodautoscalers")
    });
    requests
}

#[test]
fn the_requests_grow_with_namespaces_and_pages() {
    let requests = |namespaces: usize, hpas: usize, pods: usize| {
        let mut cluster = recorded();
        for namespace in 0..namespaces {
            for hpa in 0..hpas {
                let [namespace, name] = [format!("team-{namespace}"), format!("web-{hpa:03}")];
                cluster.autoscaled([&namespace, &name], pods);
            }
        }
        let server = Server::start(cluster);
        let answer = explain(&server, "admin", &["-A"]).answer();
        assert_eq!(array(&answer["items"]).len(), namespaces * hpas + 1);
        let requests = without_newer(&server);
        (requests.len(), format!("{:?}", counted(&requests)))
    };
    // Of all namespaces: the HPAs, the version, the controller manager, events and
    // VerticalPodAutoscalers. Of each: its Deployments, pods, usage and ReplicaSets. The recorded HPA is
    // alone in its namespace, and asks for its own: also its scale.
    let (few, _) = requests(2, 3, 2);
    let (more, counts) = requests(2, 60, 2);
    assert_eq!((few, more), (6 + 2 * 4 + 5, 6 + 2 * 4 + 5), "{counts}");
    let (longer, counts) = requests(2, 60, 10);
    assert_eq!(longer, more + 2, "{counts}");
    let (wider, counts) = requests(4, 60, 2);
    assert_eq!(wider, more + 2 * 4, "{counts}");
}

/// The work grows in proportion to the HPAs, and not faster.
#[test]
fn requests_and_bytes_grow_in_proportion() {
    let work = |hpas: usize| {
        let mut cluster = recorded();
        for number in 0..hpas {
            let [namespace, name] = [format!("team-{}", number % 10), format!("web-{number:04}")];
            cluster.autoscaled([&namespace, &name], 1);
        }
        let server = Server::start(cluster);
        let ran = ask(&server, "admin", &["explain", "-A"]);
        let rows = ran
            .stdout
            .lines()
            .filter(|line| line.starts_with("team-"))
            .count();
        assert_eq!((ran.code, rows), (Some(0), hpas), "{}", ran.stderr);
        let requests = without_newer(&server);
        (
            requests.len(),
            requests.iter().map(|request| request.bytes).sum::<usize>(),
        )
    };
    let all = [160, 320, 480].map(work);
    let [(first, some), (second, more), (third, most)] = all;
    assert_eq!(third - second, second - first, "{all:?}");
    let share = (most - more) as f64 / (more - some) as f64;
    assert!((0.99..1.01).contains(&share), "{all:?}");
}

/// A namespace of many pods is not listed for a few HPAs with few of them.
#[test]
fn a_list_is_not_longer_than_what_it_answers() {
    let mut cluster = with_hpas(&["web", "cart"]);
    cluster.pods(["shop", "other"], &[("app", "other")], 1200);
    let server = Server::start(cluster);
    let answer = explain(&server, "admin", &["-n", "shop"]).answer();
    assert_eq!(array(&answer["items"]).len(), 2);
    let path = "/api/v1/namespaces/shop/pods";
    let requests = server.requests();
    let pods = requests.iter().filter(|request| request.path == path);
    let mut selectors: Vec<_> = pods
        .map(|request| request.parameter("labelSelector"))
        .collect();
    selectors.sort_unstable();
    assert_eq!(selectors, [None, Some("app=cart"), Some("app=web")]);
}

/// A list whose target exists without one, and one that fails for another reason than a right.
#[test]
fn a_list_that_fails_is_asked_one_by_one() {
    let mut cluster = with_hpas(&["web", "cart"]);
    let scale = Scale {
        wanted: 3,
        current: 3,
        selector: "app=web",
    };
    cluster.scale("apps/v1", "Deployment", ["shop", "web"], scale);
    let list = "/apis/apps/v1/namespaces/shop/deployments";
    cluster.fault(
        When::on(list).except(&format!("{list}/")),
        Fault::InvalidJson,
    );
    let server = Server::start(cluster);
    let ran = explain(&server, "admin", &["-n", "shop"]);
    assert_eq!((&*ran.stderr, array(&ran.answer()["items"]).len()), ("", 2));
    assert_eq!(counted(&server.requests())["scale"], 2);
}

/// Why a metrics API fails is asked once in each namespace, and not after every failure.
#[test]
fn an_api_that_fails_is_asked_about_once() {
    let mut cluster = with_hpas(&["web", "cart"]);
    for name in ["web", "cart"] {
        let hpa = ["shop", name];
        let lacked_usage = super::rounds::lacked_usage;
        cluster.edit_hpa(hpa, lacked_usage);
    }
    let server = Server::start(cluster);
    explain(&server, "admin", &["-n", "shop"]).answer();
    let requests = server.requests();
    let asked = requests
        .iter()
        .filter(|it| it.path.contains("/apiservices/"))
        .count();
    assert_eq!(asked, 1);
}

/// What the external metrics API serves is asked once as well, and tells each HPA what it would tell it alone.
#[test]
fn the_names_of_an_api_are_asked_for_once() {
    const NAMES: &str = "/apis/external.metrics.k8s.io/v1beta1";
    let mut cluster = with_hpas(&["web", "cart"]);
    let says = "the server could not find the metric";
    for name in ["web", "cart"] {
        cluster.edit_hpa(["shop", name], |hpa| {
            hpa["spec"]["metrics"] = json!([external_metric()]);
            hpa["status"]["conditions"] = json!([{"type": "ScalingActive", "status": "False",
                "reason": "FailedGetExternalMetric", "message": says}]);
        });
    }
    let list = json!({"kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": [{"name": "queue_depths"}]});
    let values = format!("{NAMES}/namespaces/");
    let list = Fault::Answer(Answer::json(200, list.to_string()));
    cluster.fault(When::on(NAMES).except(&values), list);
    cluster.fault(When::on(&values), refusal(404, "NotFound", says));
    let server = Server::start(cluster);
    let all = in_time(&server, "admin", &["-n", "shop"]).answer();
    assert_eq!(asked(&server, NAMES), 1);
    for (name, item) in ["cart", "web"].into_iter().zip(array(&all["items"])) {
        let alone = in_time(&server, "admin", &[name, "-n", "shop"]).answer();
        assert_eq!(item["findings"], alone["findings"], "{name}");
        let evidence = item["findings"][0]["evidence"].to_string();
        shows(&evidence, "It serves queue_depths.");
    }
}

/// Returns three HPAs in each of two namespaces, of which the pods of one never come.
fn half() -> Cluster {
    let mut cluster = Cluster::empty();
    cluster.clock(Clock::Recorded);
    for namespace in ["shop", "yard"] {
        for name in ["web", "cart", "pay"] {
            cluster.autoscaled([namespace, name], 3);
        }
    }
    cluster.fault(When::on("/api/v1/namespaces/yard/pods"), Fault::Hang);
    cluster
}

#[test]
fn lines_are_the_items_and_come_as_soon_as_they_are_there() {
    let server = Server::start(fleet());
    let list = explain(&server, "admin", &["-A"]).answer();
    let ran = ask(&server, "admin", &["explain", "-A", "-o", "jsonl"]);
    assert_eq!((ran.code, &*told(&ran)), (Some(0), ""));
    let sorted = |items: Vec<Value>| {
        let key = |item: &Value| format!("{} {}", item["hpa"]["namespace"], item["hpa"]["name"]);
        let mut items: Vec<_> = items
            .into_iter()
            .map(|it| (key(&it), without_skew(it)))
            .collect();
        items.sort_by(|one, other| one.0.cmp(&other.0));
        items
    };
    let lines = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let items = array(&list["items"]).to_vec();
    assert_eq!(sorted(lines.collect()), sorted(items));

    // While the pods of one namespace do not come, the lines of the other are there.
    let server = Server::start(half());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut child = start(&["explain", "-A", "-o", "jsonl"], &config);
    let mut stdout = BufReader::new(child.stdout.take().expect("its output")).lines();
    for _ in 0..3 {
        let line = stdout.next().expect("a line").expect("text");
        let item: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(item["hpa"]["namespace"], "shop");
        assert_eq!(schema::EXPLANATION.fault(&item), None);
    }
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
}

pub(super) fn start(args: &[&str], config: &Kubeconfig) -> Child {
    super::detached(super::PROGRAM)
        .args(args)
        .env("KUBECONFIG", config.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs")
}

#[cfg(unix)]
#[test]
fn what_there_is_when_a_signal_comes_is_told() {
    for (output, signal, code) in [("wide", "-INT", 130), ("json", "-TERM", 143)] {
        let server = Server::start(half());
        let config = server.kubeconfig(&Auth::Token("admin"));
        let child = start(&["explain", "-A", "-o", output], &config);
        let asked = |path: &str| server.requests().iter().any(|it| it.path.starts_with(path));
        // Its pods and their usage are the last that a namespace asks for.
        until("the last request", || {
            asked("/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods")
                && asked("/api/v1/namespaces/yard/pods")
        });
        // The rest takes no request.
        sleep(Duration::from_secs(2));
        let ran = signalled(child, signal);
        ended(&ran, code);
        assert!(
            ran.stderr
                .ends_with("interrupted: 3 of 6 HPAs were explained\n"),
            "{}",
            ran.stderr
        );
        match output {
            "json" => {
                let list: Value = serde_json::from_str(&ran.stdout).expect("JSON");
                assert_eq!(schema::EXPLANATION_LIST.fault(&list), None);
                assert_eq!(array(&list["items"]).len(), 3);
            }
            _ => {
                let lines: Vec<&str> = ran.stdout.lines().collect();
                assert_eq!(lines.len(), 4);
                assert!(
                    lines[1..].iter().all(|line| line.starts_with("shop ")),
                    "{lines:?}"
                );
            }
        }
    }
}

/// What was saved of a fleet gives each HPA the answer that it gets alone from the same file.
#[test]
fn each_is_explained_as_it_would_be_alone_from_a_file() {
    let server = Server::start(fleet());
    let file: &str = &Temporary::new();
    explain(&server, "admin", &["-A", "--save", file]).answer();
    let list = run(program().args(["explain", "-A", "-o", "json", "-f", file])).answer();
    for item in by_turns(array(&list["items"])) {
        let [namespace, name] =
            ["namespace", "name"].map(|field| item["hpa"][field].as_str().expect("text"));
        let alone = ["explain", name, "-n", namespace, "-o", "json", "-f", file];
        let alone = run(program().args(alone)).json();
        assert_eq!(*item, alone, "{namespace}/{name}");
    }
}

/// A server that is busy says when to come again, and is asked then.
#[test]
fn a_list_comes_again_when_the_server_asks_for_it() {
    let mut cluster = half();
    let [deployments, pods] = [
        "/apis/apps/v1/namespaces/shop/deployments",
        "/api/v1/namespaces/shop/pods",
    ];
    cluster.heal();
    for list in [deployments, pods] {
        cluster.fault(When::on(list).first(2), Fault::TooManyRequests(Some(1)));
    }
    let server = Server::start(cluster);
    let ran = explain(&server, "admin", &["-A"]);
    assert_eq!((&*told(&ran), array(&ran.answer()["items"]).len()), ("", 6));
    let requests = server.requests();
    for list in [deployments, pods] {
        let asked: Vec<_> = requests.iter().filter(|it| it.path == list).collect();
        assert_eq!(asked.len(), 3, "{list}");
        // Nothing is asked one by one instead, and no sooner than the server allows.
        assert!(
            asked
                .iter()
                .all(|it| it.parameter("labelSelector").is_none()),
            "{list}"
        );
        assert!(
            asked[2].at - asked[0].at >= Duration::from_secs(2),
            "{list}"
        );
    }
    assert_eq!(counted(&requests).get("scale"), None);
}
