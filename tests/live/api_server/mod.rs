//! The test API server, compared with the answers of a real one, and with what its switches promise. Every
//! other end-to-end test relies on it.

mod faults;
mod lists;
mod objects;

use std::time::Duration;

use super::api::json::{array, each};
use super::api::{self, Auth, Client, Clock, Cluster, Response, Server, exchange, exchanges};
use serde_json::{Value, json};

const HPA: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server with the recorded cluster after `change`.
fn server(change: impl FnOnce(&mut Cluster)) -> Server {
    let mut cluster = Cluster::recorded();
    change(&mut cluster);
    Server::start(cluster)
}

fn admin(server: &Server) -> Client {
    Client::connect(server, &Auth::Token("admin")).expect("a connection")
}

fn get(server: &Server, path: &str) -> Response {
    admin(server).get(path).expect("an answer")
}

/// Returns the names of the items in a list.
fn names(list: &Value) -> Vec<String> {
    let name = |item: &Value| {
        item["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    each(&list["items"]).map(name).collect()
}

#[test]
fn recorded_requests_are_answered_as_they_were() {
    // Recorded after the writes, or with something switched off.
    let later = [
        "pod metrics failing in the adapter",
        "external metric failing in the adapter",
        "custom pods metric failing in the adapter",
        "pod metrics with the backend down",
        "discovery metrics with the backend down",
        "apiservice unavailable",
        "pod metrics not installed",
    ];
    let server = server(|cluster| {
        cluster.clock(Clock::Recorded);
        // It had not reached these backends yet at that time.
        for group in [
            "custom.metrics.k8s.io",
            "external.metrics.k8s.io",
            "metrics.k8s.io",
        ] {
            cluster.make_stale(group);
        }
    });
    let mut count = 0;
    for exchange in exchanges() {
        // What it does not write, or names arbitrarily, it repeats.
        let request = &exchange.request;
        let write = request.method == "POST" && exchange.response.status != 403;
        if write || later.contains(&exchange.name.as_str()) {
            server.change(|cluster| {
                cluster.as_recorded(&exchange.name);
            });
        }
        let auth = match request.user.as_str() {
            "admin" => Auth::Token("admin"),
            "user without roles" => Auth::Token("viewer"),
            "bad token" => Auth::BadToken,
            _ => Auth::None,
        };
        let mut client = Client::connect(&server, &auth)
            .expect("a connection")
            .header("Accept", &request.accept);
        let got = client.send(&request.method, &request.path, request.body.as_ref());
        let got = got.expect("an answer");
        let logged = server.requests().pop().expect("a request");
        assert_eq!(logged.method, request.method);
        assert_eq!(serde_json::from_slice(&logged.body).ok(), request.body);
        let (name, want) = (&exchange.name, &exchange.response);
        assert_eq!(got.status, want.status, "{name}: {}", got.text());
        assert_eq!(got.json(), want.body, "{name}");
        for (header, value) in &want.headers {
            match header.as_str() {
                "audit-id" => assert!(!got.header(header).is_empty(), "{name}"),
                // Some were recorded seconds later.
                "date" => assert!(got.header(header).ends_with(" GMT"), "{name}"),
                _ => assert_eq!(got.header(header), value, "{name}: {header}"),
            }
        }
        count += 1;
    }
    assert!(count > 60, "only {count} recorded requests");
}

#[test]
fn derived_discovery_is_as_recorded_but_for_storage_hashes() {
    let groups = exchange("discovery aggregated groups").response.body;
    let groups = array(&groups["items"]);
    let apps = groups.iter().find(|it| it["metadata"]["name"] == "apps");
    let derived = api::discovery::resource_list("apps", &apps.expect("apps")["versions"][0]);
    let mut want = exchange("discovery apps/v1").response.body;
    for resource in want["resources"].as_array_mut().expect("resources") {
        let resource = resource.as_object_mut().expect("an object");
        resource.remove("storageVersionHash");
    }
    assert_eq!(derived, want);
}

#[test]
fn discovery_has_both_forms_and_follows_what_is_served() {
    let server = server(|cluster| {
        cluster
            .custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts")
            .unscalable_kind("argoproj.io/v1alpha1", "Experiment", "experiments")
            .serve_versions("custom.metrics.k8s.io", &["v1beta1", "v1beta2"])
            .serve_versions("metrics.k8s.io", &[])
            .remove_version("autoscaling/v2");
    });
    let groups = get(&server, "/apis").json();
    assert_eq!(groups["kind"], "APIGroupList");
    let group = |name: &str| {
        let groups = array(&groups["groups"]);
        groups.iter().find(|group| group["name"] == name).cloned()
    };
    assert_eq!(group("metrics.k8s.io"), None);
    let custom = group("custom.metrics.k8s.io").expect("custom metrics");
    assert_eq!(custom["preferredVersion"]["version"], "v1beta1");
    assert_eq!(
        group("autoscaling").expect("it")["versions"],
        json!([
            {"groupVersion": "autoscaling/v1", "version": "v1"},
        ])
    );
    assert_eq!(get(&server, "/apis/argoproj.io").json()["kind"], "APIGroup");
    assert_eq!(get(&server, "/api").json()["versions"], json!(["v1"]));
    let list = get(&server, "/apis/argoproj.io/v1alpha1").json();
    assert_eq!(list["resources"][1]["name"], "rollouts/scale");
    assert_eq!(list["resources"][1]["kind"], "Scale");
    assert_eq!(list["resources"][2]["name"], "experiments");
    let accept = exchange("discovery aggregated groups").request.accept;
    let accept = format!("{accept},application/json");
    let mut client = admin(&server).header("Accept", &accept);
    let aggregated = client.get("/apis").expect("an answer").json();
    let last = array(&aggregated["items"]).last().expect("a group");
    assert_eq!(last["metadata"]["name"], "argoproj.io");

    let statuses = [
        (
            "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods",
            "text/plain; charset=utf-8",
        ),
        ("/apis/metrics.k8s.io", "text/plain; charset=utf-8"),
        (
            "/apis/argoproj.io/v1alpha1/namespaces/default/experiments/x/scale",
            "text/plain; charset=utf-8",
        ),
        (
            "/apis/argoproj.io/v1alpha1/namespaces/default/others",
            "text/plain; charset=utf-8",
        ),
        ("/nothing", "text/plain; charset=utf-8"),
        (HPA, "application/json"),
        (
            "/apis/apps/v1/namespaces/default/others",
            "application/json",
        ),
        (
            "/apis/argoproj.io/v1alpha1/namespaces/default/rollouts/x",
            "application/json",
        ),
    ];
    for (path, content_type) in statuses {
        let got = get(&server, path);
        assert_eq!(
            (got.status, got.header("content-type")),
            (404, content_type),
            "{path}"
        );
    }
}

#[test]
fn rights_are_checked_for_whoever_it_really_is() {
    let server = server(|cluster| {
        cluster
            .grant("bob")
            .deny("bob", "list", "pods")
            .deny("bob", "get", "*.custom.metrics.k8s.io")
            .allow("viewer", "get", "horizontalpodautoscalers.autoscaling");
    });
    let hpa = format!("{HPA}/nginx-deployment");
    let metric = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/http_requests";
    let statuses = [
        (Auth::Token("bob"), hpa.as_str(), 200),
        (Auth::Token("bob"), PODS, 403),
        (Auth::Token("bob"), metric, 403),
        (Auth::Token("viewer"), hpa.as_str(), 200),
        (Auth::Token("viewer"), HPA, 403),
        (Auth::Token("viewer"), "/apis", 200),
        (Auth::Certificate("admin"), PODS, 200),
        (Auth::BadCertificate, "/version", 401),
        (Auth::None, "/version", 200),
        (Auth::None, "/apis", 403),
    ];
    for (auth, path, status) in statuses {
        let mut client = Client::connect(&server, &auth).expect("a connection");
        let got = client.get(path).expect("an answer");
        assert_eq!(got.status, status, "{auth:?} {path}: {}", got.text());
    }
    let mut client = Client::connect(&server, &Auth::Token("bob")).expect("a connection");
    assert_eq!(
        client.get(metric).expect("an answer").json()["message"],
        "pods.custom.metrics.k8s.io \"*\" is forbidden: User \"bob\" cannot get resource \
         \"pods/http_requests\" in API group \"custom.metrics.k8s.io\" in the namespace \
         \"default\""
    );
    let mut client = admin(&server).header("Impersonate-User", "viewer");
    let refused = client.get(PODS).expect("an answer");
    assert!(
        refused.text().contains("User \\\"viewer\\\" cannot list"),
        "{}",
        refused.text()
    );
    let mut client = Client::connect(&server, &Auth::Token("viewer"))
        .expect("a connection")
        .header("Impersonate-User", "admin");
    assert_eq!(
        client.get(PODS).expect("an answer").json()["message"],
        "users \"admin\" is forbidden: User \"viewer\" cannot impersonate resource \"users\" in \
         API group \"\" at the cluster scope"
    );
    let users: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.user)
        .collect();
    assert_eq!(users[users.len() - 2..], [Some("viewer".to_owned()), None]);
}

#[test]
fn requests_are_logged_with_their_connections_and_counted_in_rounds() {
    let server = server(|cluster| {
        cluster.latency(Duration::from_millis(150));
    });
    let mut first = admin(&server).header("Impersonate-User", "admin");
    first
        .get(&format!("{HPA}/nginx-deployment"))
        .expect("an answer");
    std::thread::scope(|scope| {
        for path in ["/version", "/apis", "/api"] {
            scope.spawn(|| get(&server, path));
        }
    });
    first
        .get(&format!("{PODS}?labelSelector=app%3Dnginx&limit=1"))
        .expect("an answer");
    assert_eq!(server.rounds(), 3);
    let requests = server.requests();
    assert_eq!((requests.len(), server.connections()), (5, 4));
    let last = &requests[4];
    assert_eq!(
        (last.connection, last.path.as_str()),
        (requests[0].connection, PODS)
    );
    assert_eq!(last.parameter("labelSelector"), Some("app=nginx"));
    assert_eq!(last.header("impersonate-user"), Some("admin"));
    assert_eq!(
        last.header("authorization"),
        Some("Bearer secret-token-of-admin")
    );
    assert_eq!((last.method.as_str(), last.status), ("GET", 200));
    assert!(last.done.expect("it is answered") - last.at >= Duration::from_millis(300));
}
