//! How many requests an answer takes, and how many of them one after the other.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::api::{Auth, Cluster, Fault, Server, When};
use super::{HPAS, PODS, explain, explain_as, notes, recorded};

const LATENCY: Duration = Duration::from_millis(60);

/// A Rollout with the recorded Deployment's selector, and the HPA for it.
pub(super) fn rollout(cluster: &mut Cluster) {
    cluster
        .custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts")
        .put(json!({
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Rollout",
            "metadata": {"name": "canary", "namespace": "default"},
            "spec": {"replicas": 10, "selector": {"matchLabels": {"app": "nginx"}}},
            "status": {"replicas": 10},
        }))
        .edit("autoscaling/v2", "HorizontalPodAutoscaler", ["default", super::NAME], |hpa| {
            hpa["spec"]["scaleTargetRef"] =
                json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "canary"});
        });
}

#[test]
fn a_built_in_target_takes_three_rounds_and_a_custom_kind_one_more() {
    let built_in: fn(&mut Cluster) = |_| {};
    for (change, rounds, requests) in [(built_in, 3, 9), (rollout, 4, 10)] {
        let mut cluster = recorded();
        change(cluster.latency(LATENCY));
        let server = Server::start(cluster);
        let answer = explain(&server, &["-o", "json"]).answer();
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
        assert_eq!((server.rounds(), server.requests().len()), (rounds, requests));
        assert!(server.requests().iter().all(|request| request.method == "GET"));
    }
}

/// 1,200 pods more behind the recorded selector.
fn crowd(cluster: &mut Cluster) {
    let labels = [("app", "nginx")];
    cluster.pods(["default", "web"], &labels, 1200);
    cluster.pod_metrics(["default", "web"], &labels, 1200, ["10m", "1Mi"]);
}

fn page_queries(server: &Server) -> Vec<(Option<String>, bool, u16)> {
    let pages = server.requests().into_iter().filter(|request| request.path == PODS);
    let shape = |request: super::api::Recorded| {
        let limit = request.parameter("limit").map(str::to_owned);
        let follows = request.parameter("continue").is_some();
        (limit, follows, request.status)
    };
    pages.map(shape).collect()
}

/// Row 39.
#[test]
fn pods_come_in_pages() {
    let mut cluster = recorded();
    crowd(&mut cluster);
    let server = Server::start(cluster);
    let whole = explain(&server, &["-o", "json"]).answer();
    let limit = Some("500".to_owned());
    let pages =
        [(limit.clone(), false, 200), (limit.clone(), true, 200), (limit.clone(), true, 200)];
    assert_eq!(page_queries(&server), pages);

    // The token of the second page expires: everything once more, in one piece.
    let mut cluster = recorded();
    crowd(&mut cluster);
    cluster.fault(When::on(PODS).nth(2), Fault::Expired);
    let server = Server::start(cluster);
    let again = explain(&server, &["-o", "json"]).answer();
    let pages = [(limit.clone(), false, 200), (limit, true, 410), (None, false, 200)];
    assert_eq!(page_queries(&server), pages);
    assert_eq!(again["outcome"], whole["outcome"]);

    // If that fails, too, there is no answer.
    let mut cluster = recorded();
    crowd(&mut cluster);
    cluster.fault(When::on(PODS).from(2), Fault::Expired);
    explain(&Server::start(cluster), &[]).fails(1, &["Error from server (Expired): "]);
}

/// Row 26.
#[test]
fn another_hpa_on_the_same_pods_is_seen() {
    let twin = |cluster: &mut Cluster| {
        let target = ["apps/v1", "Deployment", super::NAME];
        cluster.hpa(["default", "twin"], target, &json!({}));
    };
    let mut cluster = recorded();
    twin(cluster.latency(LATENCY));
    let server = Server::start(cluster);
    let answer = explain(&server, &["-o", "json"]).answer();
    assert_eq!(super::condition(&answer, "ScalingActive")[1], "AmbiguousSelector");
    // The twin's scale comes with that of the target.
    assert_eq!(server.rounds(), 3);

    let mut cluster = recorded();
    twin(cluster.grant("bob").deny("bob", "list", "horizontalpodautoscalers.autoscaling"));
    let answer = explain_as(&Server::start(cluster), "bob", &["-o", "json"]).answer();
    assert_eq!(super::condition(&answer, "ScalingActive")[1], "ValidMetricFound");
    let right = "unknown whether another HPA selects the same pods: missing permission: list \
                 horizontalpodautoscalers.autoscaling in the namespace default; check it with \
                 `kubectl auth can-i list horizontalpodautoscalers.autoscaling -n default`";
    assert!(notes(&answer).contains(right), "{answer:#}");
}

#[test]
fn what_an_answer_can_do_without_does_not_hold_it_up() {
    for (path, note) in [
        ("/version", "the server's version is unknown: no answer in time"),
        (HPAS, "unknown whether another HPA selects the same pods: no answer in time"),
    ] {
        let mut cluster = recorded();
        match path {
            "/version" => cluster.fault(When::on(path), Fault::Hang),
            // The list is at a path of which the HPA's is a continuation.
            _ => {
                let target = ["apps/v1", "Deployment", "slow"];
                cluster.hpa(["default", "slow"], target, &json!({}));
                let slow = "/apis/apps/v1/namespaces/default/deployments/slow/scale";
                cluster.fault(When::on(slow), Fault::Hang)
            }
        };
        let begun = std::time::Instant::now();
        let answer = explain(&Server::start(cluster), &["-o", "json"]).answer();
        assert!(begun.elapsed() < Duration::from_secs(8), "{path} held it up");
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
        assert!(notes(&answer).contains(note), "{path}: {}", notes(&answer));
    }
}

/// Rows 40 and 50.
#[test]
fn many_pods_and_a_reader_that_has_seen_enough() {
    let mut cluster = recorded();
    let labels = [("app", "nginx")];
    cluster.pods(["default", "web"], &labels, 20_000);
    cluster.pod_metrics(["default", "web"], &labels, 20_000, ["10m", "1Mi"]);
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("kubectl-hpa"))
        .args(["explain", super::NAME, "-o", "json", "--kubeconfig"])
        .arg(config.path())
        .env_remove("HTTPS_PROXY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut start = [0; 64];
    child.stdout.take().expect("its output").read_exact(&mut start).expect("an answer");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    assert_eq!(page_queries(&server).len(), 41);
}
