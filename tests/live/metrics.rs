//! A metrics API that refuses, fails or is missing: the controller's own outcome for that metric,
//! in its words, and a note about what to do. Never a failure of the program.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::json::{array, each};
use super::api::{Answer, Cluster, Fault, Server, When};
use super::apply::{by_gateway, refusal};
use super::{
    NAME, POD_METRICS, PODS, Ran, Temporary, condition, explain_as, explain_file, explain_on,
    explained, notes, program, recorded, run, shows,
};

const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/";

/// Gives the recorded HPA these metrics instead of its own.
pub(super) fn with_metrics(cluster: &mut Cluster, metrics: &Value) {
    let hpa = ["default", NAME];
    cluster.edit_hpa(hpa, |hpa| {
        hpa["spec"]["metrics"] = metrics.clone();
    });
}

/// Returns the recorded cluster, with an HPA so old that the controller's history does not follow from
/// its age.
fn long_lived() -> Cluster {
    let mut cluster = recorded();
    let hpa = ["default", NAME];
    cluster.edit_hpa(hpa, |hpa| {
        hpa["metadata"]["creationTimestamp"] = json!("2026-11-20T07:05:00Z");
    });
    cluster
}

pub(super) fn pods_metric() -> Value {
    json!({"type": "Pods", "pods": {
        "metric": {"name": "http_requests"},
        "target": {"type": "AverageValue", "averageValue": "100"},
    }})
}

pub(super) fn external_metric() -> Value {
    json!({"type": "External", "external": {
        "metric": {"name": "queue_depth", "selector": {"matchLabels": {"queue": "a"}}},
        "target": {"type": "AverageValue", "averageValue": "1"},
    }})
}

pub(super) fn namespace_metric() -> Value {
    json!({"type": "Object", "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "default"},
        "metric": {"name": "ns_rate"},
        "target": {"type": "Value", "value": "10"},
    }})
}

/// Discovery, which the pass asks for anyway, lists the metrics that the API serves.
#[test]
fn a_metric_that_is_not_served_has_a_near_one() {
    let unknown = "the custom metrics API does not know order_rate";
    let elsewhere = "the custom metrics API serves order_rate for services, not for pods";
    for (served, resource, kind, summary, evidence) in [
        ("orders_rate", "pods", "Pod", unknown, 2),
        ("latency", "pods", "Pod", unknown, 1),
        ("order_rate", "services", "Service", elsewhere, 1),
    ] {
        let mut cluster = recorded();
        // Without it, the rounds cannot be told apart on a busy machine.
        cluster.latency(Duration::from_millis(120));
        let mut metric = pods_metric();
        metric["pods"]["metric"]["name"] = json!("order_rate");
        with_metrics(&mut cluster, &json!([metric]));
        let object = ["default", "some-pod"];
        cluster.custom_value([resource, kind, "v1"], object, [served, "80"]);
        let server = Server::start(cluster);
        let answer = explained(&server);
        let found = &answer["findings"][0];
        assert_eq!(found["code"], "metric-not-found", "{answer}");
        let said = found["summary"].as_str().expect("a summary");
        assert!(said.starts_with(summary), "{said}");
        assert_eq!(array(&found["evidence"]).len(), evidence, "{found}");
        assert_eq!(server.requests().len(), 13, "{served}");
    }
}

/// The list of the external metrics API takes the place of its APIService if its answers do not say that it
/// is down: it has the names, and shows that the API is served.
#[test]
fn an_external_metric_that_is_not_served_has_a_near_one() {
    const NAMES: &str = "/apis/external.metrics.k8s.io/v1beta1";
    const SERVICE: &str =
        "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io";
    let unknown = "unable to get external metric default/queue_depth/nil: unable to fetch metrics from \
                   external metrics API: the server could not find the metric queue_depth for ";
    let down = "unable to get external metric default/queue_depth/nil: unable to fetch metrics from external \
                metrics API: the server is currently unable to handle the request";
    let plain = "the server could not find the requested resource";
    let failed = |message: &str| {
        json!([{"type": "ScalingActive", "status": "False", "reason": "FailedGetExternalMetric",
            "message": message}])
    };
    let works = json!([{"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"}]);
    let lists = |names: &[&str]| {
        let resources: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        Some(json!({"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": resources}))
    };
    let gap = json!([{"type": ""}]);
    for (about, conditions, current, listed, says, asked, want) in [
        (
            "failed",
            failed(unknown),
            Value::Null,
            lists(&["queue_depths"]),
            unknown,
            NAMES,
            (
                "metric-not-found",
                "Use the name queue_depths if that is meant, or add a rule to the adapter.",
            ),
        ),
        (
            "no near name",
            failed(unknown),
            Value::Null,
            lists(&["latency"]),
            unknown,
            NAMES,
            (
                "metric-not-found",
                "Correct the name, or add a rule for it to the adapter.",
            ),
        ),
        (
            "a gap",
            works.clone(),
            gap,
            lists(&["queue_depths"]),
            unknown,
            NAMES,
            (
                "metric-not-found",
                "Use the name queue_depths if that is meant, or add a rule to the adapter.",
            ),
        ),
        (
            "new",
            json!([]),
            Value::Null,
            lists(&["externalmetrics"]),
            plain,
            NAMES,
            (
                "metric-not-found",
                "Correct the name, or add a rule for it to the adapter.",
            ),
        ),
        (
            "new, not served",
            json!([]),
            Value::Null,
            None,
            plain,
            NAMES,
            (
                "metrics-api-unavailable",
                "Correct the name, or install an adapter such as KEDA.",
            ),
        ),
        (
            "down",
            failed(down),
            Value::Null,
            lists(&["queue_depths"]),
            plain,
            SERVICE,
            (
                "metrics-api-unavailable",
                "Correct the name, or install an adapter such as KEDA.",
            ),
        ),
        // The last status does not know of it yet.
        (
            "worked",
            works,
            Value::Null,
            lists(&["queue_depths"]),
            unknown,
            "",
            (
                "metric-not-found",
                "Correct the name, or add a rule for it to the adapter.",
            ),
        ),
    ] {
        let mut cluster = recorded();
        // Without it, the rounds cannot be told apart on a busy machine.
        cluster.latency(Duration::from_millis(120));
        with_metrics(&mut cluster, &json!([external_metric()]));
        let hpa = ["default", NAME];
        cluster.edit_hpa(hpa, |hpa| {
            hpa["status"]["conditions"] = conditions;
            hpa["status"]["currentMetrics"] = current;
        });
        let answer = match listed {
            Some(body) => Answer::json(200, body.to_string()),
            None => Answer::json(404, json!("404 page not found").to_string()),
        };
        cluster.fault(When::on(NAMES).except(EXTERNAL), Fault::Answer(answer));
        let message = says.rsplit("API: ").next().unwrap_or_default();
        cluster.fault(When::on(EXTERNAL), refusal(404, "NotFound", message));
        let server = Server::start(cluster);
        let answer = explained(&server);
        let found = &answer["findings"][0];
        let told = (found["code"].as_str(), found["advice"].as_str());
        assert_eq!(told, (Some(want.0), Some(want.1)), "{about}: {answer}");
        let requests = server.requests();
        let mut paths = requests.iter().map(|request| &*request.path);
        assert_eq!(
            paths
                .find(|path| [NAMES, SERVICE].contains(path))
                .unwrap_or_default(),
            asked,
            "{about}"
        );
        assert_eq!(
            paths.find(|path| [NAMES, SERVICE].contains(path)),
            None,
            "{about}"
        );
        assert_eq!(server.rounds(), 3, "{about}");
    }
}

/// Rows 18 and 19.
#[test]
fn a_denied_metrics_api_says_nothing_of_the_controller_and_names_the_right() {
    for (metric, denied, reason, message, right) in [
        (
            None,
            ["list", "pods.metrics.k8s.io"],
            "FailedGetResourceMetric",
            "pods.metrics.k8s.io is forbidden: User \"bob\" cannot list resource \"pods\" in API \
             group \"metrics.k8s.io\" in the namespace \"default\"",
            "missing permission: list pods.metrics.k8s.io in the namespace default; check it with \
             `kubectl auth can-i list pods.metrics.k8s.io -n default`; add to a Role: - \
             {apiGroups: [\"metrics.k8s.io\"], resources: [\"pods\"], verbs: [\"list\"]}",
        ),
        (
            Some(pods_metric()),
            ["*", "*.custom.metrics.k8s.io"],
            "FailedGetPodsMetric",
            "pods.custom.metrics.k8s.io \"*\" is forbidden",
            "missing permission: get pods.custom.metrics.k8s.io/http_requests in the namespace \
             default; check it with `kubectl get --raw \
             '/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/http_requests?labelSelector=app%3Dnginx'`; \
             add to a Role: - \
             {apiGroups: [\"custom.metrics.k8s.io\"], resources: [\"pods/http_requests\"], verbs: [\"get\"]}",
        ),
        (
            Some(namespace_metric()),
            ["*", "*.custom.metrics.k8s.io"],
            "FailedGetObjectMetric",
            "is forbidden: User \"bob\" cannot get resource \"metrics\"",
            "add to a Role: - {apiGroups: [\"custom.metrics.k8s.io\"], resources: [\"metrics\"], \
             verbs: [\"get\"]}",
        ),
        (
            Some(external_metric()),
            ["*", "*.external.metrics.k8s.io"],
            "FailedGetExternalMetric",
            "queue_depth.external.metrics.k8s.io is forbidden",
            "missing permission: list queue_depth.external.metrics.k8s.io in the namespace \
             default; check it with `kubectl get --raw \
             '/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_depth?labelSelector=queue%3Da'`; add to a \
             Role: - {apiGroups: [\"external.metrics.k8s.io\"], resources: \
             [\"queue_depth\"], verbs: [\"list\"]}",
        ),
    ] {
        let mut cluster = long_lived();
        cluster.grant("bob").deny("bob", denied[0], denied[1]);
        let least = if metric.is_some() { 2 } else { 8 };
        if let Some(metric) = metric {
            with_metrics(&mut cluster, &json!([metric]));
        }
        let ran = explain_as(&Server::start(cluster), "bob", &["-o", "json"]);
        assert!(
            ran.stderr
                .starts_with("error: no answer: you are not allowed to read "),
            "{}",
            ran.stderr
        );
        let answer = ran.unanswered();
        for said in ["status", "events", "error"] {
            assert_eq!(answer["outcome"][said], Value::Null, "{reason}: {said}");
        }
        let unread = &answer["outcome"]["unread"];
        assert_eq!(
            (&unread[0]["index"], &unread[0]["cause"]),
            (&json!(0), &json!("refused"))
        );
        let text = unread[0]["message"].as_str().expect("the server's text");
        shows(text, message);
        assert!(!ran.stdout.contains(reason), "{}", ran.stdout);
        assert!(notes(&answer).contains(right), "{}", notes(&answer));
        assert_eq!(answer["outcome"]["scaleTo"], Value::Null);
        // The controller's values may lead anywhere, but what the last status says of this metric still holds.
        assert_eq!(answer["certainty"], "bounded");
        assert_eq!(answer["range"], json!({"min": least, "max": 10}));
    }
}

/// Rows 18 and 19: how uncertain a metric that we may not read makes the answer.
#[test]
fn what_is_refused_to_us_leaves_open_what_the_controller_may_read() {
    let cpu = json!({"type": "Resource", "resource": {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 20},
    }});
    let explain = |metrics: Value, flags: &[&str]| {
        let mut cluster = long_lived();
        with_metrics(&mut cluster, &metrics);
        cluster
            .grant("bob")
            .deny("bob", "*", "*.external.metrics.k8s.io");
        explain_as(&Server::start(cluster), "bob", flags)
    };
    // Five replicas for it, out of ten.
    let less = json!({"type": "Resource", "resource": {
        "name": "cpu",
        "target": {"type": "AverageValue", "averageValue": "250m"},
    }});
    let mut failing = pods_metric();
    failing["pods"]["metric"]["name"] = json!("nothing");
    for (name, metrics, code, min, certainty) in [
        (
            "another metric asks for the maximum",
            json!([external_metric(), cpu]),
            0,
            10,
            "certain",
        ),
        (
            "another metric asks for less",
            json!([external_metric(), less]),
            1,
            5,
            "bounded",
        ),
        (
            "with one that fails for the controller, too, nothing shrinks",
            json!([less, failing, external_metric()]),
            0,
            10,
            "certain",
        ),
    ] {
        let ran = explain(metrics.clone(), &["-o", "json"]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.stderr);
        let answer = ran.json();
        assert_eq!(answer["outcome"]["status"], Value::Null, "{name}");
        assert_eq!(answer["range"], json!({"min": min, "max": 10}), "{name}");
        assert_eq!(answer["certainty"], certainty, "{name}");
        let page = explain(metrics, &[]).stdout;
        let headline = if code == 0 {
            "STAYS AT 10"
        } else {
            "UNKNOWN: NO ACCESS"
        };
        assert!(page.contains(headline), "{name}: {page}");
        assert!(
            !page.contains("CANNOT DECIDE") && !page.contains("CONDITION"),
            "{name}: {page}"
        );
    }

    let page = explain(json!([external_metric()]), &[]);
    let verdict = "  UNKNOWN: NO ACCESS TO THE METRICS\n  You are not allowed to read \
                   queue_depth{queue=a}, and the controller's history is known only within \
                   bounds: the pass may end anywhere from 2 to 10.\n";
    shows(&page.stdout, verdict);

    // The value in the status is reported as the status's, with its age.
    let mut cluster = long_lived();
    cluster
        .grant("bob")
        .deny("bob", "list", "pods.metrics.k8s.io");
    let server = Server::start(cluster);
    let file: &str = &Temporary::new();
    let answer = explain_as(&server, "bob", &["-o", "json", "--save", file]).unanswered();
    let note = "cpu: the controller itself last read 2575% (515m), in a status that last changed \
                14s ago";
    assert!(notes(&answer).contains(note), "{}", notes(&answer));
    let again = explain_file(file).unanswered();
    for field in ["outcome", "range", "certainty"] {
        assert_eq!(again[field], answer[field], "{field}");
    }
}

/// Returns the outcome of a fault at the resource metrics API.
fn resource_outcome(ran: &Ran) -> ([String; 3], String) {
    let answer = ran.answer();
    (condition(&answer, "ScalingActive"), notes(&answer))
}

/// Rows 27 and 31.
#[test]
fn a_failing_metrics_api_is_an_outcome() {
    let unavailable = "metrics.k8s.io is not available";
    let tells = "kubectl get apiservice v1beta1.metrics.k8s.io";
    let recorded_as = |name: &'static str| {
        explain_on(move |cluster| {
            cluster.as_recorded(name);
        })
    };
    for (ran, message, advice) in [
        (
            recorded_as("pod metrics not installed"),
            "the server could not find the requested \
          resource (get pods.metrics.k8s.io)",
            vec![unavailable, "(404)", tells],
        ),
        (
            recorded_as("pod metrics with the backend down"),
            "the server is currently unable to \
          handle the request (get pods.metrics.k8s.io)",
            vec![unavailable, "(503)", tells],
        ),
        (
            // The controller asks for v1beta1.
            explain_on(|cluster| {
                cluster.serve_versions("metrics.k8s.io", &["v1"]);
            }),
            "the server could not find the requested resource (get pods.metrics.k8s.io)",
            vec![unavailable, "(404)", tells],
        ),
        (
            fault(Fault::InternalError),
            "Internal error occurred: etcdserver: leader changed",
            vec![],
        ),
        (
            fault(Fault::Timeout),
            "Timeout: request did not complete",
            vec![],
        ),
    ] {
        let ([status, reason, text], notes) = resource_outcome(&ran);
        assert_eq!(
            (&*status, &*reason),
            ("False", "FailedGetResourceMetric"),
            "{message}"
        );
        let start = "the HPA was unable to compute the replica count: failed to get cpu utilization: \
                     unable to get metrics for resource cpu: unable to fetch metrics from resource \
                     metrics API: ";
        let cause = text.strip_prefix(start).unwrap_or_else(|| panic!("{text}"));
        assert!(cause.contains(message), "{text}");
        for part in advice {
            assert!(notes.contains(part), "no {part} in {notes}");
        }
    }
}

/// The controller sends its own requests, so one that is turned away, lost or spoilt on its way says nothing about it.
#[test]
fn a_request_that_fails_on_its_way_leaves_open_what_the_controller_reads() {
    let page = Answer::new(200, "text/html; charset=utf-8", "<html>log in</html>");
    let blocked = r#"{"error": "blocked by policy"}"#;
    let of_another = "a proxy or another host may have answered";
    for (failure, message, hint) in [
        (
            Fault::CutInBody,
            "the connection was lost during the response",
            None,
        ),
        (
            Fault::TooManyRequests(None),
            "the server has received too many requests",
            None,
        ),
        (
            Fault::HtmlBadGateway,
            "HTTP 502 from 127.0.0.1:",
            Some(of_another),
        ),
        (
            Fault::Answer(Answer::text(302, "").with("Location", "https://sso/")),
            "302",
            Some(of_another),
        ),
        (
            Fault::Answer(Answer::json(403, blocked.to_owned()).with("Via", "1.1 gateway")),
            blocked,
            Some(of_another),
        ),
        (
            by_gateway(404, "default backend - 404"),
            "default backend - 404",
            Some(of_another),
        ),
        (
            by_gateway(503, "upstream connect error"),
            "upstream connect error",
            Some(of_another),
        ),
        (Fault::InvalidJson, "column", None),
        (Fault::TruncatedJson, "column", None),
        (
            Fault::WrongKind,
            "the kind is \"ConfigMap\", not \"PodMetricsList\"",
            None,
        ),
        (
            Fault::Answer(page),
            "it is a page in HTML, not an object",
            Some("check that the server's address is an API server's"),
        ),
        (
            Fault::Unauthorized,
            "Unauthorized",
            Some("check the credentials that are sent, or log in again"),
        ),
    ] {
        let answer = fault(failure).unanswered();
        assert_eq!(answer["outcome"]["status"], Value::Null, "{message}");
        let unread = &answer["outcome"]["unread"][0];
        assert_eq!(unread["cause"], "unanswered", "{message}");
        let said = unread["message"].as_str().expect("a message");
        shows(said, message);
        let notes = notes(&answer);
        let (_, remedy) = notes
            .split_once("metrics.k8s.io could not be read: ")
            .unzip();
        assert_eq!(remedy.is_some(), hint.is_some(), "{message}: {notes}");
        let starts = remedy
            .zip(hint)
            .is_none_or(|(own, hint)| own.starts_with(hint));
        assert!(starts, "{message}: {notes}");
    }
}

fn fault(fault: Fault) -> Ran {
    explain_on(|cluster| {
        cluster.fault(When::on(POD_METRICS), fault);
    })
}

/// Rows 28 and 32.
#[test]
fn no_metrics_and_few_metrics_follow_the_controllers_rules() {
    let none = explain_on(|cluster| {
        cluster.forget_pod_metrics();
    });
    let ([_, reason, text], _) = resource_outcome(&none);
    assert_eq!(reason, "FailedGetResourceMetric");
    assert!(
        text.ends_with("no metrics returned from resource metrics API"),
        "{text}"
    );

    let lacking = explain_on(|cluster| {
        let requests = "/spec/containers/0/resources/requests";
        cluster.pods(["default", "bare"], &[("app", "nginx")], 1);
        cluster.edit("v1", "Pod", ["default", "bare-00000"], |pod| {
            pod.pointer_mut(requests)
                .expect("requests")
                .as_object_mut()
                .expect("a map")
                .clear();
        });
        cluster.pod_metrics(["default", "bare"], &[("app", "nginx")], 1, ["10m", "1Mi"]);
    });
    let ([_, reason, text], _) = resource_outcome(&lacking);
    assert_eq!(reason, "FailedGetResourceMetric");
    shows(
        &text,
        "missing request for cpu in container nginx of Pod bare-00000",
    );
}

/// Row 30.
#[test]
fn one_failing_metric_of_two_leaves_the_other() {
    let ran = explain_on(|cluster| {
        let cpu = json!({"type": "Resource", "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50},
        }});
        with_metrics(cluster, &json!([external_metric(), cpu]));
        cluster.fault(When::on(EXTERNAL), Fault::InternalError);
    });
    let answer = ran.answer();
    // Up to the maximum: a failure only prevents scaling down.
    assert_eq!(condition(&answer, "ScalingActive")[1], "ValidMetricFound");
    assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
}

/// Row 17.
#[test]
fn without_the_right_to_list_pods_metrics_that_need_none_go_on() {
    let deny = |metrics: Value, is_alone: bool| {
        let mut cluster = long_lived();
        with_metrics(&mut cluster, &metrics);
        if !is_alone {
            let target = ["apps/v1", "Deployment", NAME];
            cluster.hpa(["default", "other"], target, &json!({}));
        }
        cluster.grant("bob").deny("bob", "list", "pods");
        explain_as(&Server::start(cluster), "bob", &["-o", "json"])
    };
    let right = "missing permission: list pods in the namespace default; check it with `kubectl \
                 auth can-i list pods -n default`; add to a Role: - {apiGroups: [\"\"], \
                 resources: [\"pods\"], verbs: [\"list\"]}";
    // A metric that needs no pods asks for the maximum, which leaves no uncertainty.
    let both = json!([external_metric(), pods_metric()]);
    for (metrics, is_alone, answered, certainty) in [
        (both.clone(), true, true, "certain"),
        (both, false, true, "certain"),
        (json!([pods_metric()]), false, false, "bounded"),
    ] {
        let ran = deny(metrics, is_alone);
        let answer = if answered {
            ran.answer()
        } else {
            ran.unanswered()
        };
        assert_eq!(array(&answer["outcome"]["unread"]).len(), 1);
        let shared = "unknown whether another HPA selects the same pods: the pods cannot be read";
        for (note, is_said) in [(right, true), (shared, !is_alone)] {
            assert_eq!(notes(&answer).contains(note), is_said, "{answer:#}");
        }
        assert_eq!(answer["certainty"], certainty);
    }
}

/// A total within its tolerance keeps the replicas, however many pods are ready. Otherwise the pods are what is unknown,
/// not the metric.
#[test]
fn a_total_within_its_tolerance_needs_no_pods() {
    let explain = |value: &str| {
        let mut metric = namespace_metric();
        metric["object"]["target"]["value"] = json!(value);
        let mut cluster = long_lived();
        with_metrics(&mut cluster, &json!([metric]));
        cluster.grant("bob").deny("bob", "list", "pods");
        let file = Temporary::new();
        let flags = ["-o", "json", "--save", &file];
        let live = explain_as(&Server::start(cluster), "bob", &flags);
        let saved = run(program().args(["explain", NAME, "-f", &file, "-o", "json"]));
        // Other values may need the pods.
        let changes = run(program().args(["predict", NAME, "-f", &file, "-o", "json"]));
        let error = &changes.json()["thresholds"][0]["error"];
        let unknown = "the pods of the target are unknown: you are not allowed to read them";
        assert_eq!(*error, unknown);
        [live, saved].map(|ran| (ran.code, ran.json()["outcome"].clone()))
    };
    for (code, outcome) in explain("7") {
        assert_eq!((code, outcome.get("unread")), (Some(0), None));
    }
    for (code, outcome) in explain("1") {
        let why = &outcome["unread"][0]["cause"];
        assert_eq!((code, why), (Some(1), &json!("podsRefused")));
    }
}

/// Pods that may not be read may exist, live and in a saved state: the finding is open. With the
/// right, none are there, whatever the metrics API answers.
#[test]
fn pods_that_cannot_be_read_are_not_none() {
    let code = "selector-matches-nothing";
    let explain = |change: fn(&mut Cluster)| {
        let mut cluster = long_lived();
        cluster.fault(When::on(POD_METRICS), Fault::Unavailable(None));
        change(cluster.grant("bob"));
        let file = Temporary::new();
        let flags = ["--fail-on", code, "-o", "json"];
        let live = [&flags[..], &["--save", &file]].concat();
        let ran = explain_as(&Server::start(cluster), "bob", &live);
        let again = run(program().args(["explain", NAME, "-f", &file]).args(flags));
        [ran, again].map(|ran| {
            let answer = ran.json();
            let found = array(&answer["findings"])
                .iter()
                .any(|it| it["code"] == code);
            (ran.code, found, notes(&answer))
        })
    };
    let [live, saved] = explain(|cluster| {
        cluster.deny("bob", "list", "pods");
    });
    assert_eq!(
        (live.0, live.1, saved.0, saved.1),
        (Some(4), false, Some(4), false)
    );
    let left_out = "findings such as selector-matches-nothing, never-ready and others are left out: the pods cannot be read";
    assert!(saved.2.contains(left_out), "{}", saved.2);
    let none = explain(|cluster| {
        let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []});
        let answer = Answer::json(200, list.to_string());
        cluster.fault(When::on(PODS), Fault::Answer(answer));
    });
    for (code, is_found, _) in none {
        assert_eq!((code, is_found), (Some(3), true));
    }
}

/// Row 27 for custom metrics.
#[test]
fn custom_metrics_without_an_adapter() {
    for (change, message) in [
        (
            (|cluster: &mut Cluster| {
                cluster.serve_versions("custom.metrics.k8s.io", &[]);
            }) as fn(&mut Cluster),
            "no custom metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            |cluster| {
                cluster.serve_versions("custom.metrics.k8s.io", &["v1"]);
            },
            "no known available metric versions found",
        ),
        (
            // The API answers, but the controller does not ask it.
            |cluster| {
                cluster.make_stale("custom.metrics.k8s.io");
            },
            "unable to fetch metrics from custom metrics API: no known available metric versions \
             found",
        ),
        (
            |cluster| {
                cluster.forget_metric("http_requests");
            },
            "the server could not find the metric http_requests for pods",
        ),
        (
            |cluster| {
                cluster.fault(When::on(CUSTOM), Fault::Unavailable(None));
            },
            "the server is currently unable to handle the request",
        ),
    ] {
        let ran = explain_on(|cluster| {
            with_metrics(cluster, &json!([pods_metric()]));
            change(cluster);
        });
        let [_, reason, text] = condition(&ran.answer(), "ScalingActive");
        assert_eq!(reason, "FailedGetPodsMetric");
        shows(&text, message);
    }
}

/// The controller has its own discovery: without ours, it is open what it reads.
#[test]
fn a_failing_discovery_leaves_open_what_the_controller_reads() {
    let failed = "webhook authorizer failed";
    let of_a_custom_kind = json!({"type": "Object", "object": {
        "metric": {"name": "hits"},
        "describedObject": {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w"},
        "target": {"type": "Value", "value": "10"}}});
    let proxy = "HTTP 404 from 127.0.0.1:";
    for metric in [pods_metric(), of_a_custom_kind] {
        for (failure, message) in [
            (refusal(500, "InternalError", failed), failed),
            (by_gateway(404, "default backend - 404"), proxy),
        ] {
            let ran = explain_on(|cluster| {
                with_metrics(cluster, &json!([metric.clone()]));
                cluster.fault(When::on("/apis").except("/apis/"), failure);
            });
            let unread = &ran.unanswered()["outcome"]["unread"][0];
            assert_eq!(unread["cause"], "unanswered", "{message}");
            let said = unread["message"].as_str().expect("a message");
            let start = format!("the API server's discovery failed: {message}");
            assert!(said.starts_with(&start), "{said}");
        }
    }
}

/// Rows 36 to 38 where the controller uses a cache of its own.
#[test]
fn pods_that_fail_to_come_leave_no_answer() {
    for (fault, parts) in [
        (
            Fault::InternalError,
            vec!["Error from server (InternalError): Internal error occurred"],
        ),
        (
            Fault::WrongKind,
            vec![
                "invalid response for GET /api/v1/namespaces/default/pods?",
                "the \
          kind is \"ConfigMap\"",
            ],
        ),
        (
            Fault::CutInBody,
            vec!["invalid response for GET", "the connection was lost"],
        ),
    ] {
        let ran = explain_on(|cluster| {
            cluster.fault(When::on(PODS), fault);
        });
        ran.fails(1, &parts);
    }
}

/// Row 29, with the cluster and with a saved state.
#[test]
fn old_metrics_are_told() {
    let mut cluster = Cluster::recorded();
    cluster.clock(super::api::Clock::Ahead(0));
    let file: &str = &Temporary::new();
    let server = Server::start(cluster);
    let answer = super::explain(&server, &["-o", "json", "--save", file]).answer();
    let again = explain_file(file).answer();
    let fresh = [
        "explain",
        NAME,
        "-f",
        file,
        "-o",
        "json",
        "--now",
        "2026-11-21T07:06:30Z",
    ];
    let fresh = run(program().args(fresh)).answer();
    let note =
        "the metrics of 2 of 2 pods are older than both a minute and twice their window (up to ";
    for (answer, old) in [(answer, true), (again, true), (fresh, false)] {
        assert_eq!(notes(&answer).contains(note), old, "{}", notes(&answer));
    }
    let mut cluster = Cluster::recorded();
    with_metrics(&mut cluster, &json!([pods_metric()]));
    let answer = explained(&Server::start(cluster));
    let note = "the values of http_requests of 2 of 2 pods are older than both a minute and twice their window (up to ";
    assert!(notes(&answer).contains(note), "{}", notes(&answer));
}

/// Row 33.
#[test]
fn types_and_fields_of_a_newer_api_are_told() {
    let mut newer = external_metric();
    newer["external"]["target"]["smoothing"] = json!({"window": "5m"});
    newer["external"]["target"]["nothing"] = json!({"empty": []});
    let answer = explain_on(|cluster| {
        with_metrics(
            cluster,
            &json!([{"type": "Quantum", "quantum": {"state": "both"}}, newer]),
        );
    })
    .answer();
    for note in [
        "spec.metrics[0] has the unknown type \"Quantum\": it counts as failed, and a controller \
         that supports it may decide differently",
        "unknown and ignored, so the answer may be incomplete: \
         spec.metrics[0].quantum, spec.metrics[1].external.target.nothing, \
         spec.metrics[1].external.target.smoothing",
    ] {
        assert!(
            notes(&answer).lines().any(|line| line == note),
            "{}",
            notes(&answer)
        );
    }
    let alone = explain_on(|cluster| {
        with_metrics(
            cluster,
            &json!([{"type": "Quantum", "quantum": {"state": "both"}}]),
        );
    });
    let [status, reason, text] = condition(&alone.answer(), "ScalingActive");
    assert_eq!((&*status, &*reason), ("False", "InvalidMetricSourceType"));
    shows(&text, "Quantum");
}

/// Row 28: each pod is in the group that the controller assigns.
#[test]
fn pods_without_metrics_are_told_by_group() {
    let mut cluster = recorded();
    let labels = [("app", "nginx")];
    cluster
        .pods(["default", "mute"], &labels, 2)
        .pods(["default", "gone"], &labels, 1);
    cluster.pods(["default", "late"], &labels, 1);
    cluster.pod_metrics(["default", "late"], &labels, 1, ["10m", "1Mi"]);
    cluster.edit("v1", "Pod", ["default", "gone-00000"], |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-21T07:07:10Z");
    });
    cluster.edit("v1", "Pod", ["default", "late-00000"], |pod| {
        pod["status"]["phase"] = json!("Pending");
    });
    let server = Server::start(cluster);
    let answer = explained(&server);
    let metric = each(&answer["trace"])
        .find(|step| step["rule"] == "computeMetric")
        .expect("a metric");
    let counted = &metric["proposal"]["counted"];
    let groups = ["ready", "unready", "missing", "ignored"].map(|group| counted[group].as_i64());
    assert_eq!(groups, [Some(2), Some(1), Some(2), Some(1)]);
    let group = |name: &str| {
        let pod = each(&metric["pods"]).find(|pod| pod["name"] == name);
        pod.map_or(Value::Null, |pod| pod["group"].clone())
    };
    for (name, wanted) in [
        ("mute-00001", "missing"),
        ("gone-00000", "ignored"),
        ("late-00000", "unready"),
    ] {
        assert_eq!(group(name), wanted, "{name}");
    }
    let page = super::explain(&server, &[]);
    shows(&page.stdout, "2 ready, 1 unready, 2 missing, 1 ignored");
}

/// Each metric would be a request.
#[test]
fn too_many_metrics_are_refused_before_they_are_requested() {
    let mut cluster = recorded();
    with_metrics(&mut cluster, &json!(vec![external_metric(); 1001]));
    let server = Server::start(cluster);
    let ran = super::explain(&server, &[]);
    ran.fails(
        1,
        &["spec.metrics: 1001 metrics; at most 1000 are evaluated here"],
    );
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|asked| !asked.path.contains("external.metrics")),
        "{requests:?}"
    );
    assert!(requests.len() < 10, "{}", requests.len());
}
