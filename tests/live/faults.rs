//! What goes wrong between the program and an answer, in kubectl's words: rights, absence, and
//! servers that throttle, fail, hang or talk nonsense.

use std::time::{Duration, Instant};

use serde_json::json;

use super::api::{Auth, Clock, Cluster, Fault, Server, When};
use super::{Change, notes, program, recorded, run};
use super::{HPA, LONGEST, NAME, Ran, SCALE, condition, explain, explain_as, explain_on};

fn at(path: &str, fault: Fault) -> Ran {
    explain_on(|cluster| {
        cluster.fault(When::on(path), fault);
    })
}

#[test]
fn a_missing_right_is_named() {
    for (verb, resource, parts) in [
        (
            "get",
            "horizontalpodautoscalers.autoscaling",
            [
                "Error from server (Forbidden): horizontalpodautoscalers.autoscaling \
                 \"nginx-deployment\" is forbidden: User \"bob\" cannot get resource \
                 \"horizontalpodautoscalers\" in API group \"autoscaling\" in the namespace \
                 \"default\"\n",
                "hint: missing right: {apiGroups: [\"autoscaling\"], resources: \
                 [\"horizontalpodautoscalers\"], verbs: [\"get\"]}",
                "`kubectl auth can-i get horizontalpodautoscalers.autoscaling -n default`",
            ],
        ),
        (
            "get",
            "deployments.apps/scale",
            [
                "Error from server (Forbidden): deployments.apps \"nginx-deployment\" is \
                 forbidden: User \"bob\" cannot get resource \"deployments/scale\"",
                "hint: missing right: {apiGroups: [\"apps\"], resources: [\"deployments/scale\"], \
                 verbs: [\"get\"]}",
                "`kubectl auth can-i get deployments.apps --subresource=scale -n default`",
            ],
        ),
    ] {
        let mut cluster = recorded();
        cluster.grant("bob").deny("bob", verb, resource);
        explain_as(&Server::start(cluster), "bob", &[]).fails(1, &parts);
    }
}

#[test]
fn an_hpa_that_is_not_there() {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Token("admin"));
    for (name, namespace, hint) in [
        ("nginx", "default", "hint: the namespace default has nginx-deployment\n"),
        ("web", "nowhere", "hint: looked in the namespace nowhere; see -n\n"),
    ] {
        let error = format!(
            "Error from server (NotFound): horizontalpodautoscalers.autoscaling \"{name}\" not found\n"
        );
        let flags = ["explain", name, "-n", namespace, "--kubeconfig"];
        run(program().args(flags).arg(config.path())).fails(1, &[&error, hint]);
    }
    let mut cluster = recorded();
    cluster.remove_version("autoscaling/v2");
    explain(&Server::start(cluster), &[])
        .fails(1, &["error: the server (v1.36.2) does not serve autoscaling/v2\n", "v1.23"]);
}

#[test]
fn a_target_that_cannot_be_scaled_is_an_outcome() {
    let to = |cluster: &mut Cluster, target: serde_json::Value| {
        let hpa = ["default", NAME];
        cluster.edit("autoscaling/v2", "HorizontalPodAutoscaler", hpa, |hpa| {
            hpa["spec"]["scaleTargetRef"] = target;
        });
    };
    for (target, message) in [
        (
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}),
            "the HPA controller was unable to get the target's current scale: no matches for kind \
             \"Rollout\" in group \"argoproj.io\"",
        ),
        (
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"}),
            "deployments.apps \"gone\" not found",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod",
                "name": "nginx-deployment-596d9ffddd-6lrhv"}),
            "the server could not find the requested resource",
        ),
        (
            json!({"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}),
            "unexpected GroupVersion string: a/b/c",
        ),
    ] {
        let answer = explain_on(|cluster| to(cluster, target)).answer();
        let [status, reason, text] = condition(&answer, "AbleToScale");
        assert_eq!((&*status, &*reason), ("False", "FailedGetScale"));
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn a_selector_or_a_count_of_zero_is_an_outcome() {
    let scale = |wanted, selector| {
        explain_on(|cluster| {
            let target = ["default", NAME];
            let scale = super::api::Scale { wanted, current: wanted, selector };
            cluster.scale("apps/v1", "Deployment", target, scale);
        })
    };
    for (wanted, selector, reason) in [
        (0, "app=nginx", "ScalingDisabled"),
        (10, "", "InvalidSelector"),
        (10, "a=b=c", "InvalidSelector"),
    ] {
        let answer = scale(wanted, selector).answer();
        let [status, found, _] = condition(&answer, "ScalingActive");
        assert_eq!((&*status, &*found), ("False", reason));
    }
}

#[test]
fn failures_of_the_server_are_worded_as_kubectl_does() {
    for (path, fault, parts) in [
        (
            HPA,
            Fault::Unauthorized,
            vec!["error: You must be logged in to the server (Unauthorized)\n"],
        ),
        (
            HPA,
            Fault::InternalError,
            vec![
                "Error from server (InternalError): Internal error occurred: etcdserver: leader changed\n",
            ],
        ),
        (SCALE, Fault::InternalError, vec!["Error from server (InternalError): "]),
        (
            HPA,
            Fault::Timeout,
            vec![
                "Error from server (Timeout): Timeout: request did not complete within requested timeout",
                "(tried 4 times in ",
            ],
        ),
        (
            SCALE,
            Fault::Unavailable(None),
            vec![
                "Error from server (ServiceUnavailable): the server is currently unable to handle the \
             request (tried 4 times in ",
            ],
        ),
        (
            HPA,
            Fault::TooManyRequests(Some(1)),
            vec!["Error from server (TooManyRequests): ", "(tried 4 times in 3"],
        ),
        (
            HPA,
            Fault::HtmlBadGateway,
            vec![
                "error: HTTP 502 from 127.0.0.1:",
                "<html> <head><title>502 Bad Gateway</title></head>",
            ],
        ),
        (HPA, Fault::InvalidJson, vec!["error: invalid response for GET /apis/autoscaling/v2/"]),
        (HPA, Fault::TruncatedJson, vec!["error: invalid response for GET /apis/autoscaling/v2/"]),
        (
            HPA,
            Fault::WrongKind,
            vec!["error: invalid response for GET /apis/autoscaling/v2/", "ConfigMap"],
        ),
        (
            SCALE,
            Fault::WrongKind,
            vec![
                "error: invalid response for GET /apis/apps/v1/",
                "the kind is \"ConfigMap\", not \"Scale\"",
            ],
        ),
        (
            HPA,
            Fault::CutInBody,
            vec![
                "error: invalid response for GET /apis/autoscaling/v2/",
                "the connection broke in the middle of the answer",
            ],
        ),
        (
            HPA,
            Fault::CutBeforeHead,
            vec!["Unable to connect to the server: EOF (tried 4 times in "],
        ),
    ] {
        at(path, fault).fails(1, &parts);
    }
}

#[test]
fn what_passes_is_tried_again_in_silence() {
    let calm = explain_on(|_| {});
    for (path, fault) in [
        (HPA, Fault::TooManyRequests(Some(1))),
        (SCALE, Fault::Unavailable(None)),
        (SCALE, Fault::CutBeforeHead),
        (super::PODS, Fault::Timeout),
        (super::POD_METRICS, Fault::TooManyRequests(Some(1))),
    ] {
        let mut cluster = recorded();
        cluster.fault(When::on(path).first(1), fault);
        let server = Server::start(cluster);
        let ran = explain(&server, &["-o", "json"]);
        let (answer, calm) = (ran.answer(), calm.answer());
        assert_eq!((&answer["outcome"], &answer["trace"]), (&calm["outcome"], &calm["trace"]));
        assert_eq!(ran.stderr, "");
        let tries = server.requests().iter().filter(|request| request.path == path).count();
        assert_eq!(tries, 2, "{path}");

        server.change(|cluster| {
            cluster.heal().fault(When::on(path).first(1), Fault::Unavailable(Some(1)));
        });
        let loud = explain(&server, &["-v", "1"]);
        assert!(loud.stderr.contains(&format!("GET {path}")), "{}", loud.stderr);
    }
}

#[test]
fn a_server_that_hangs_has_a_time() {
    for (path, fault) in [
        (HPA, Fault::Hang),
        (SCALE, Fault::Hang),
        (super::PODS, Fault::DelayBody(Duration::from_secs(20))),
    ] {
        let mut cluster = recorded();
        cluster.fault(When::on(path), fault);
        let server = Server::start(cluster);
        let begun = Instant::now();
        explain(&server, &["--request-timeout", "1s"]).fails(1, &[
            "Unable to connect to the server: timed out after 1s waiting for an answer of 127.0.0.1:",
            "hint: give it more time with --request-timeout",
        ]);
        assert!(begun.elapsed() < LONGEST / 3, "{path}");
    }
    // One of the metrics APIs is an outcome here, too.
    let mut cluster = recorded();
    cluster.fault(When::on(super::POD_METRICS), Fault::Hang);
    let server = Server::start(cluster);
    let answer = explain(&server, &["--request-timeout", "1s", "-o", "json"]).answer();
    let [_, reason, text] = condition(&answer, "ScalingActive");
    assert_eq!(reason, "FailedGetResourceMetric");
    assert!(text.contains("timed out after 1s"), "{text}");
}

#[test]
fn a_server_that_throttles_for_long_meets_the_deadline() {
    let mut cluster = recorded();
    cluster.fault(When::on("/"), Fault::TooManyRequests(Some(3600)));
    let begun = Instant::now();
    let ran = explain(&Server::start(cluster), &[]);
    ran.fails(1, &["Error from server (TooManyRequests): ", "(tried 3 times in 2"]);
    assert!(begun.elapsed() < LONGEST);
}

#[test]
fn the_servers_clock_counts() {
    for (ahead, note) in [
        (7200, "the server's clock is 2h0m0s ahead of the local one"),
        (-7200, "the server's clock is 2h0m"),
        (0, ""),
    ] {
        let mut cluster = Cluster::recorded();
        cluster.clock(Clock::Ahead(ahead));
        let answer = explain(&Server::start(cluster), &["-o", "json"]).answer();
        let found = notes(&answer).contains("the server's clock is");
        assert_eq!(found, ahead != 0, "{}", notes(&answer));
        let near = note.replace("2h0m0s", "1h59m59s");
        assert!(
            notes(&answer).contains(note) || notes(&answer).contains(&near),
            "{}",
            notes(&answer)
        );
    }
}

#[test]
fn warnings_show_once() {
    let warn: Change = |cluster| {
        cluster.fault(When::on("/"), Fault::Warning("it is \u{9b}31mold".to_owned()));
    };
    let mut cluster = recorded();
    warn(&mut cluster);
    let server = Server::start(cluster);
    let ran = explain(&server, &["-o", "json"]);
    ran.answer();
    assert_eq!(ran.stderr.matches("Warning: it is").count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{9b}'), "{:?}", ran.stderr);
    explain(&server, &["--warnings-as-errors"]).fails(1, &["error: 1 warning received: it is"]);
}

#[test]
fn what_steers_a_terminal_is_not_let_through() {
    let text = "no \u{1b}]0;owned\u{7} such \u{9b}31m thing";
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": text, "reason": "Forbidden", "code": 403});
    let answer = super::api::Answer::json(403, body.to_string());
    let safe = |ran: &Ran| {
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stderr.contains(steers) && !ran.stdout.contains(steers), "{:?}", ran.stdout);
    };
    let ran = at(HPA, Fault::Answer(answer.clone()));
    ran.fails(1, &["Error from server (Forbidden): no "]);
    safe(&ran);
    let mut cluster = recorded();
    cluster.fault(When::on(super::POD_METRICS), Fault::Answer(answer));
    let ran = explain(&Server::start(cluster), &[]);
    assert_eq!(ran.code, Some(0));
    safe(&ran);
}

#[test]
fn nothing_tells_a_secret_however_much_is_asked_for() {
    // Every run looks for them; this one says as much as there is to say.
    for auth in [Auth::Token("admin"), Auth::Exec(super::api::Exec::Token("admin"))] {
        for path in ["/none", HPA, SCALE, super::POD_METRICS] {
            let mut cluster = recorded();
            cluster.fault(When::on(path), Fault::InternalError);
            let server = Server::start(cluster);
            let config = server.kubeconfig(&auth);
            for flags in [["-v", "9"], ["-v=9", "-ojson"]] {
                let ran = super::explain_with(&config, &flags);
                assert!(ran.code.is_some_and(|code| code < 2), "{}", ran.stderr);
            }
        }
    }
}
