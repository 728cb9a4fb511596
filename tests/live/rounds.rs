//! How many requests an answer takes, and how many of them are sequential.

use std::io::Read;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::json::{array, each};
use super::api::{Answer, Auth, Cluster, Fault, Server, When};
use super::apply::refusal;
use super::fleet::start;
use super::metrics::{pods_metric, with_metrics};
use super::{
    Change, HPAS, POD_METRICS, PODS, ask, explain, explain_as, explained, notes, own_by_keda,
    recorded,
};

const LATENCY: Duration = Duration::from_millis(150);

/// Adds a Rollout with the recorded Deployment's selector, and the HPA for it.
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
        .edit_hpa(["default", super::NAME], |hpa| {
            hpa["spec"]["scaleTargetRef"] =
                json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "canary"});
        });
}

#[test]
fn a_built_in_target_takes_three_rounds_and_a_custom_kind_one_more() {
    let built_in: fn(&mut Cluster) = |_| {};
    for (change, rounds, requests) in [(built_in, 3, 12), (rollout, 4, 13)] {
        let mut cluster = recorded();
        change(cluster.latency(LATENCY));
        let server = Server::start(cluster);
        let answer = explained(&server);
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
        assert_eq!(
            (server.rounds(), server.requests().len()),
            (rounds, requests)
        );
        assert!(
            server
                .requests()
                .iter()
                .all(|request| request.method == "GET")
        );
    }
}

/// Changes the recorded HPA.
pub(super) fn edit(cluster: &mut Cluster, change: impl FnOnce(&mut Value)) {
    let hpa = ["default", super::NAME];
    cluster.edit_hpa(hpa, change);
}

const TARGET: &str = "/apis/apps/v1/namespaces/default/deployments/nginx-deployment";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const VPAS: &str = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers";
const SCALED_OBJECTS: &str = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects";
const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// Lets the last status of an HPA say that the usage could not be read.
pub(super) fn lacked_usage(hpa: &mut Value) {
    hpa["status"]["conditions"] = json!([{"type": "ScalingActive", "status": "False",
        "reason": "FailedGetResourceMetric"}]);
}

/// Explanatory objects arrive along with what the pass needs, at most three at a time, whatever fails.
#[test]
fn what_surrounds_a_pass_takes_no_round() {
    let plain: Change = |_| {};
    fn own(cluster: &mut Cluster) {
        edit(cluster, |hpa| own_by_keda(hpa, "web"));
    }
    let owned: Change = own;
    let just_failed: Change = |cluster| {
        cluster.fault(When::on(POD_METRICS), Fault::Unavailable(None));
    };
    let failing: Change = |cluster| {
        edit(cluster, lacked_usage);
        cluster.fault(When::on(POD_METRICS), Fault::Unavailable(None));
    };
    let gap: Change = |cluster| {
        edit(cluster, |hpa| {
            hpa["status"]["currentMetrics"] = json!([{"type": ""}]);
        });
        cluster.fault(When::on(POD_METRICS), Fault::Unavailable(None));
    };
    let owned_and_failing: Change = |cluster| {
        own(cluster);
        edit(cluster, lacked_usage);
    };
    let unserved: Change = |cluster| {
        edit(cluster, lacked_usage);
        cluster.serve_versions("metrics.k8s.io", &[]);
    };
    let undiscovered: Change = |cluster| {
        with_metrics(cluster, &json!([pods_metric()]));
        cluster.make_stale("custom.metrics.k8s.io");
    };
    let of_keda = format!("{SCALED_OBJECTS}/web");
    let of_metrics = format!("{API_SERVICES}/v1beta1.metrics.k8s.io");
    let of_custom = format!("{API_SERVICES}/v1beta2.custom.metrics.k8s.io");
    for (change, beside) in [
        (plain, &[VPAS][..]),
        (owned, &[&of_keda]),
        // The last status does not know of it yet.
        (just_failed, &[VPAS]),
        (failing, &[VPAS, &of_metrics]),
        (gap, &[VPAS, &of_metrics]),
        (owned_and_failing, &[&of_keda, &of_metrics]),
        (unserved, &[VPAS, &of_metrics]),
        // Discovery has shown the failure by then.
        (undiscovered, &[VPAS, &of_custom]),
    ] {
        let mut paths = [&[TARGET, REPLICA_SETS], beside].concat();
        let mut cluster = recorded();
        change(cluster.latency(LATENCY));
        let server = Server::start(cluster);
        let ran = explain(&server, &[]);
        assert_eq!((ran.code.is_some(), &*ran.stderr), (true, ""), "{paths:?}");
        let requests = server.requests();
        let of_surroundings = [TARGET, VPAS, REPLICA_SETS, SCALED_OBJECTS, API_SERVICES];
        let mut asked: Vec<&str> = requests.iter().map(|request| &*request.path).collect();
        asked.retain(|path| {
            of_surroundings.iter().any(|it| path.starts_with(it)) && !path.ends_with("/scale")
        });
        asked.sort_unstable();
        paths.sort_unstable();
        assert_eq!(asked, paths);
        assert_eq!(server.rounds(), 3, "{paths:?}");
    }
}

/// Users who lack these rights get the same report, and with `-v` the rules that add findings.
#[test]
fn what_surrounds_a_pass_is_left_out_where_it_may_not_be_read() {
    let mut cluster = recorded();
    cluster.grant("bob").deny("bob", "get", "deployments.apps");
    cluster.deny("bob", "list", "replicasets.apps");
    cluster.deny("bob", "list", "verticalpodautoscalers.autoscaling.k8s.io");
    let server = Server::start(cluster);
    let answer = explain_as(&server, "bob", &["-o", "json"]).answer();
    assert!(
        !answer.to_string().contains("missing permission"),
        "{answer:#}"
    );
    assert_eq!(explain_as(&server, "bob", &[]).stderr, "");
    let told = explain_as(&server, "bob", &["-v", "1"]).stderr;
    for part in [
        "left out findings such as other-writer, old-revision-pods and others: missing permission: get \
         deployments.apps in the namespace default; check it with",
        "foreign-pods and old-revision-pods: missing permission: list replicasets.apps in",
        "unknown whether a VerticalPodAutoscaler sets requests: missing permission: list \
         verticalpodautoscalers.autoscaling.k8s.io in",
    ] {
        assert!(told.contains(part), "no {part:?} in: {told}");
    }
    // A finding that is named may be hidden there; rights alone do not make severities uncertain.
    for (watched, right) in [
        ("other-writer", Some("get deployments.apps")),
        ("controller-silent", Some("get deployments.apps")),
        ("foreign-pods", Some("list replicasets.apps")),
        ("paused-by-keda", None),
        ("error", None),
    ] {
        let ran = explain_as(&server, "bob", &["--fail-on", watched]);
        let code = if right.is_some() { 4 } else { 0 };
        assert_eq!(ran.code, Some(code), "{watched}: {}", ran.stderr);
        let want = right.map_or_else(String::new, |right| {
            format!("--fail-on {watched} is undecided: missing permission: {right} in ")
        });
        assert!(ran.stderr.contains(&want), "{watched}: {}", ran.stderr);
    }
}

/// The target exists, because its scale does.
#[test]
fn a_target_that_is_not_found_is_left_out_with_a_note() {
    for (path, code, reason, told) in [
        (
            TARGET,
            404,
            "NotFound",
            "others are left out: Error from server (NotFound): says why",
        ),
        (
            TARGET,
            200,
            "InternalError",
            "others are left out: failed to read ",
        ),
        (
            REPLICA_SETS,
            404,
            "NotFound",
            "old-revision-pods are left out: Error from server (NotFound)",
        ),
        (VPAS, 404, "NotFound", ""),
    ] {
        let mut cluster = recorded();
        let when = When::on(path).except(&format!("{TARGET}/scale"));
        cluster.fault(when, refusal(code, reason, "says why"));
        let ran = explain(&Server::start(cluster), &["-o", "wide"]);
        assert!(ran.stdout.contains(told), "{path}: {}", ran.stdout);
        assert_eq!(
            ran.stdout.contains("left out"),
            !told.is_empty(),
            "{path}: {}",
            ran.stdout
        );
    }
}

/// Returns the findings of an answer, by code.
fn finding(answer: &Value, code: &str) -> Value {
    let mut findings = each(&answer["findings"]);
    findings
        .find(|finding| finding["code"] == code)
        .cloned()
        .unwrap_or_default()
}

/// If the target does not exist, objects of its kind are searched for what was meant.
#[test]
fn what_may_be_meant_is_named_where_the_target_is_gone() {
    let mut cluster = recorded();
    cluster.edit_hpa(["default", super::NAME], |hpa| {
        hpa["spec"]["scaleTargetRef"]["name"] = json!("nginx-deploymnt");
    });
    let answer = explained(&Server::start(cluster));
    let found = finding(&answer, "target-not-found");
    let advice = "Point scaleTargetRef at Deployment/nginx-deployment, if that is meant.";
    assert_eq!(found["advice"], advice, "{answer:#}");
}

/// The API server does not find the scale of a custom resource, whether the object is missing or its kind has none.
#[test]
fn a_kind_without_a_scale_is_told_from_an_object_that_is_missing() {
    let group = "argoproj.io/v1alpha1";
    let to = |kind: &str, change: fn(&mut Cluster)| {
        let mut cluster = recorded();
        cluster.custom_kind(group, "Rollout", "rollouts");
        cluster.unscalable_kind(group, "Experiment", "experiments");
        cluster.put(json!({
            "apiVersion": group,
            "kind": "Experiment",
            "metadata": {"name": "web", "namespace": "default"},
        }));
        cluster.edit_hpa(["default", super::NAME], |hpa| {
            hpa["spec"]["scaleTargetRef"] =
                json!({"apiVersion": group, "kind": kind, "name": "web"});
        });
        change(&mut cluster);
        let answer = explained(&Server::start(cluster));
        finding(&answer, "target-not-found")
    };
    for (kind, summary, advice) in [
        (
            "Experiment",
            "the kind Experiment has no scale, so no HPA can scale Experiment/web",
            "Point scaleTargetRef at an object that has a scale, such as a Deployment.",
        ),
        (
            "Rollout",
            "the target Rollout/web does not exist, so nothing can be computed",
            "Correct scaleTargetRef, or create the target.",
        ),
        (
            "Workflow",
            "the API server has no kind Workflow in the group \"argoproj.io\", so nothing can be computed",
            "Correct scaleTargetRef, or install what provides the kind.",
        ),
    ] {
        let found = to(kind, |_| {});
        assert_eq!(
            (&found["summary"], &found["advice"]),
            (&json!(summary), &json!(advice))
        );
    }
    let found = to("Rollout", |cluster| {
        cluster.make_stale("argoproj.io");
    });
    let summary = "the API of the group \"argoproj.io\" does not answer, so the kind Rollout is unknown, and nothing can \
                   be computed";
    let advice = "Look at the APIService v1alpha1.argoproj.io and its server.";
    assert_eq!(
        (&found["summary"], &found["advice"]),
        (&json!(summary), &json!(advice))
    );
}

/// KEDA's ScaledObject is read if it owns the HPA.
#[test]
fn a_direction_that_is_paused_is_told_of() {
    let mut cluster = recorded();
    let kind = "ScaledObject";
    cluster
        .unscalable_kind("keda.sh/v1alpha1", kind, "scaledobjects")
        .put(json!({
            "apiVersion": "keda.sh/v1alpha1",
            "kind": kind,
            "metadata": {"name": "web", "namespace": "default",
                "annotations": {"autoscaling.keda.sh/paused-scale-in": "true"}},
        }));
    cluster.edit_hpa(["default", super::NAME], |hpa| {
        own_by_keda(hpa, "web");
        hpa["spec"]["behavior"]["scaleDown"]["selectPolicy"] = json!("Disabled");
    });
    let answer = explained(&Server::start(cluster));
    let found = finding(&answer, "paused-by-keda");
    let summary = "ScaledObject/web is paused by autoscaling.keda.sh/paused-scale-in, so scaling in \
                   is disabled";
    assert_eq!(found["summary"], summary, "{answer:#}");
    let command =
        "kubectl annotate scaledobject web -n default autoscaling.keda.sh/paused-scale-in-";
    assert_eq!(found["commands"], json!([command]));
}

/// So are its bounds and conditions, but no message of a condition.
#[test]
fn a_scaled_object_that_contradicts_itself_is_told_of() {
    let mut cluster = recorded();
    let kind = "ScaledObject";
    let condition =
        json!({"type": "Ready", "status": "False", "message": "amqp://user:hunter2@rabbit"});
    cluster
        .latency(LATENCY)
        .unscalable_kind("keda.sh/v1alpha1", kind, "scaledobjects")
        .put(json!({
            "apiVersion": "keda.sh/v1alpha1",
            "kind": kind,
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"minReplicaCount": 50, "maxReplicaCount": 4},
            "status": {"conditions": [condition]},
        }));
    edit(&mut cluster, |hpa| {
        own_by_keda(hpa, "web");
        hpa["spec"]["maxReplicas"] = json!(9);
    });
    let server = Server::start(cluster);
    let answer = explained(&server);
    let found = finding(&answer, "above-max");
    let advice = "Set minReplicaCount (50) of ScaledObject/web to at most maxReplicaCount (4): until then, KEDA \
                  does not change its HPA.";
    assert_eq!(found["advice"], advice, "{answer:#}");
    let unready =
        "The condition Ready of ScaledObject/web is False: KEDA cannot use its spec or a trigger.";
    let is_told = array(&found["evidence"]).contains(&json!(unready));
    assert!(is_told, "{found:#}");
    assert!(!answer.to_string().contains("hunter2"));
    assert_eq!(server.rounds(), 3);
}

/// If KEDA has removed the HPA, that is said instead of the names of others.
#[test]
fn a_paused_scaled_object_is_told_of_where_its_hpa_is_gone() {
    let mut cluster = recorded();
    let object = |name: &str, value: &str| {
        json!({
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": name, "namespace": "default",
                "annotations": {"autoscaling.keda.sh/paused": value}},
            "spec": {"scaleTargetRef": {"name": name}},
        })
    };
    cluster.unscalable_kind("keda.sh/v1alpha1", "ScaledObject", "scaledobjects");
    cluster
        .put(object("worker", "true"))
        .put(object("other", "false"));
    let server = Server::start(cluster);
    let explain = |name: &str| ask(&server, "admin", &["explain", name, "-n", "default"]);
    for name in ["keda-hpa-worker", "worker"] {
        explain(name).fails(
            1,
            &[
                "hint: paused-by-keda: ScaledObject/worker has the annotation \
                 autoscaling.keda.sh/paused=true, so KEDA has deleted the HPA; after `kubectl annotate \
                 scaledobject worker -n default autoscaling.keda.sh/paused-`, KEDA creates it again",
            ],
        );
    }
    explain("deploy/worker").fails(1, &["hint: paused-by-keda: ScaledObject/worker has the "]);
    explain("keda-hpa-other").fails(1, &["hint: the namespace default has nginx-deployment"]);
    explain("deploy/other").fails(1, &["hint: the namespace default has nginx-deployment ("]);
}

/// Adds 1,200 pods that match the recorded selector.
fn crowd(cluster: &mut Cluster) {
    let labels = [("app", "nginx")];
    cluster.pods(["default", "web"], &labels, 1200);
    cluster.pod_metrics(["default", "web"], &labels, 1200, ["10m", "1Mi"]);
}

fn page_queries(server: &Server) -> Vec<(Option<String>, bool, u16)> {
    let pages = server
        .requests()
        .into_iter()
        .filter(|request| request.path == PODS);
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
    let whole = explained(&server);
    let limit = Some("500".to_owned());
    let pages = [
        (limit.clone(), false, 200),
        (limit.clone(), true, 200),
        (limit.clone(), true, 200),
    ];
    assert_eq!(page_queries(&server), pages);

    // The token of the second page expires: everything is requested again, in one piece.
    let mut cluster = recorded();
    crowd(&mut cluster);
    cluster.fault(When::on(PODS).nth(2), Fault::Expired);
    let server = Server::start(cluster);
    let again = explained(&server);
    let pages = [
        (limit.clone(), false, 200),
        (limit, true, 410),
        (None, false, 200),
    ];
    assert_eq!(page_queries(&server), pages);
    assert_eq!(again["outcome"], whole["outcome"]);

    // A proxy that still returns a page of it would hide the rest.
    let mut cluster = recorded();
    crowd(&mut cluster);
    cluster.fault(When::on(PODS).nth(2), Fault::Expired);
    let page = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"abc"},"items":[]}"#;
    let page = Answer::json(200, page.to_owned());
    cluster.fault(When::on(PODS).nth(3), Fault::Answer(page));
    let error = "the list has more pages (continue), although all of it was requested";
    explain(&Server::start(cluster), &[]).fails(1, &[error]);

    // If that also fails, there is no answer.
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
    let answer = explained(&server);
    assert_eq!(
        super::condition(&answer, "ScalingActive")[1],
        "AmbiguousSelector"
    );
    // The twin's scale arrives with the target's.
    assert_eq!(server.rounds(), 3);

    let mut cluster = recorded();
    twin(
        cluster
            .grant("bob")
            .deny("bob", "list", "horizontalpodautoscalers.autoscaling"),
    );
    let answer = explain_as(&Server::start(cluster), "bob", &["-o", "json"]).answer();
    assert_eq!(
        super::condition(&answer, "ScalingActive")[1],
        "ValidMetricFound"
    );
    let right = "unknown whether another HPA selects the same pods: missing permission: list \
                 horizontalpodautoscalers.autoscaling in the namespace default; check it with \
                 `kubectl auth can-i list horizontalpodautoscalers.autoscaling -n default`";
    assert!(notes(&answer).contains(right), "{answer:#}");
}

/// They decide whether anything is scaled, so `apply` would have to refuse without them.
#[test]
fn other_hpas_are_waited_for_some_seconds() {
    let mut cluster = recorded();
    let target = ["apps/v1", "Deployment", "slow"];
    cluster.hpa(["default", "slow"], target, &json!({}));
    let scale = "/apis/apps/v1/namespaces/default/deployments/slow/scale";
    let late = Fault::DelayBody(Duration::from_millis(2500));
    cluster.fault(When::on(scale), late);
    let answer = explained(&Server::start(cluster));
    let unknown = "unknown whether another HPA selects the same pods";
    assert!(!notes(&answer).contains(unknown), "{}", notes(&answer));
}

#[test]
fn what_an_answer_can_do_without_does_not_hold_it_up() {
    for (path, note) in [
        (REPLICA_SETS, ""),
        (VPAS, ""),
        (
            "/version",
            "the server's version is unknown: no answer in time",
        ),
        (
            HPAS,
            "unknown whether another HPA selects the same pods: no answer in time",
        ),
    ] {
        let mut cluster = recorded();
        match path {
            "/version" | REPLICA_SETS | VPAS => cluster.fault(When::on(path), Fault::Hang),
            // The list's path is a prefix of the HPA's.
            _ => {
                let target = ["apps/v1", "Deployment", "slow"];
                cluster.hpa(["default", "slow"], target, &json!({}));
                let slow = "/apis/apps/v1/namespaces/default/deployments/slow/scale";
                cluster.fault(When::on(slow), Fault::Hang)
            }
        };
        let begun = std::time::Instant::now();
        let answer = explained(&Server::start(cluster));
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{path} held it up"
        );
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
        assert!(notes(&answer).contains(note), "{path}: {}", notes(&answer));
    }
}

/// A request that still waits for its turn when the wait for it ends is late, like those before it.
#[test]
fn what_was_not_requested_in_time_is_told() {
    let mut cluster = recorded();
    edit(&mut cluster, lacked_usage);
    let scale = format!("{TARGET}/scale");
    for slow in [
        When::on(TARGET).except(&scale),
        When::on(API_SERVICES),
        When::on(REPLICA_SETS),
        When::on(VPAS),
    ] {
        cluster.fault(slow, Fault::Hang);
    }
    let answer = explained(&Server::start(cluster));
    let notes = notes(&answer);
    assert_eq!(notes.matches("no answer in time").count(), 4, "{notes}");
}

/// Rows 40 and 50.
#[test]
fn many_pods_and_a_reader_that_has_seen_enough() {
    let mut cluster = recorded();
    let labels = [("app", "nginx")];
    cluster.pods(["default", "web"], &labels, 5_000);
    cluster.pod_metrics(["default", "web"], &labels, 5_000, ["10m", "1Mi"]);
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut child = start(&["explain", super::NAME, "-o", "json"], &config);
    let mut start = [0; 64];
    child
        .stdout
        .take()
        .expect("its output")
        .read_exact(&mut start)
        .expect("an answer");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    assert_eq!(page_queries(&server).len(), 11);
}
