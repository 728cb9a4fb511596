//! What goes wrong between the program and an answer, in kubectl's words: rights, absence, and
//! servers that throttle, fail, hang or return nonsense.
//!
//! The rows of the fault matrix that concern reading, and where each is tested for its text and exit
//! code; a test names its rows, too:
//!
//! | rows | fault | tests |
//! | --- | --- | --- |
//! | 1, 2, 4 | kubeconfig missing or broken, unknown names | `connect::kubeconfigs_that_are_not_there_or_not_readable` |
//! | 3 | one file of several missing | `connect::of_a_list_of_kubeconfigs_one_may_be_missing` |
//! | 5, 6, 7 | refused, no such host, a hanging connection | `connect::servers_that_cannot_be_reached`, `a_server_that_hangs_has_a_time` |
//! | 8 | certificates | `connect::certificates_that_are_wrong`, `connect::certificates_that_are_right_by_another_name_or_not_looked_at` |
//! | 9 | proxies | `connect::a_proxy_leads_to_the_server`, `connect::proxies_that_do_not_let_through`, `connect::proxies_are_named_without_their_users` |
//! | 10 | odd `NO_PROXY` | `connect::proxies_are_named_without_their_users` |
//! | 11, 12, 13 | credential plugins | `connect::credential_plugins`; the minute that one has: `a_plugin_has_a_minute` in the crate |
//! | 14 | 401 | `connect::credentials_that_are_wrong`, `connect::a_plugin_is_asked_again_once` |
//! | 15 | 403 on the HPA | `a_missing_right_is_named` |
//! | 16 | 403 on the scale | `without_the_right_to_a_scale_the_target_itself_speaks` |
//! | 17 | 403 on pods | `metrics::without_the_right_to_list_pods_metrics_that_need_none_go_on` |
//! | 18, 19 | 403 on metrics | `metrics::a_denied_metrics_api_says_nothing_of_the_controller_and_names_the_right`, `metrics::what_is_refused_to_us_leaves_open_what_the_controller_may_read` |
//! | 20 | events, lease and flags are not readable | `control_plane::what_may_not_be_read_is_a_line` |
//! | 21, 23 | no such HPA, no autoscaling/v2 | `an_hpa_that_is_not_there` |
//! | 22 | HPA under deletion | `an_hpa_under_deletion_says_so` |
//! | 24, 25 | target of an unknown kind, without a scale, missing | `a_target_that_cannot_be_scaled_is_an_outcome` |
//! | 26 | selector missing, invalid, shared | `a_selector_or_a_count_of_zero_is_an_outcome`, `rounds::another_hpa_on_the_same_pods_is_seen` |
//! | 27, 31 | metrics API missing or failing | `metrics::a_failing_metrics_api_is_an_outcome`, `metrics::custom_metrics_without_an_adapter` |
//! | 28 | no metrics, some pods without | `metrics::no_metrics_and_few_metrics_follow_the_controllers_rules`, `metrics::pods_without_metrics_are_told_by_group` |
//! | 29 | old metrics | `metrics::old_metrics_are_told` |
//! | 30 | one of several metrics fails | `metrics::one_failing_metric_of_two_leaves_the_other` |
//! | 32 | no request | `metrics::no_metrics_and_few_metrics_follow_the_controllers_rules` |
//! | 33 | type or field of a newer API | `metrics::types_and_fields_of_a_newer_api_are_told` |
//! | 34 | 429 that passes | `what_passes_is_tried_again_in_silence` |
//! | 35 | 429 and 503 that do not | `a_server_that_asks_to_wait_for_long_is_not_asked_again`, `failures_of_the_server_are_worded_as_kubectl_does` |
//! | 36, 37, 38 | 500, 504, HTML, nonsense | `failures_of_the_server_are_worded_as_kubectl_does`, `metrics::pods_that_fail_to_come_leave_no_answer` |
//! | 39 | 410 on a page | `rounds::pods_come_in_pages` |
//! | 40, 50 | 20,000 pods, a reader that goes | `rounds::many_pods_and_a_reader_that_has_seen_enough` |
//! | 51 | full disk | `an_answer_that_cannot_be_written_is_a_failure` |
//! | 55 | a plugin that wants input | `connect::a_plugin_gets_no_input` |
//! | 56 | clocks apart | `the_servers_clock_counts` |
//! | 57 | zero replicas | `a_selector_or_a_count_of_zero_is_an_outcome` |
//! | 58 | an invalid manifest | `bad_input_is_refused_with_one_clear_line` of `cli.rs` |
//! | 60 | credentials over plain HTTP | `connect::nothing_that_identifies_goes_over_plain_http` |
//! | 61 | warnings | `warnings_show_once` |
//! | 62 | control characters | `what_steers_a_terminal_is_not_let_through` |

use std::time::{Duration, Instant};

use serde_json::json;

use super::api::json::each;
use super::api::{Answer, Auth, Clock, Cluster, Fault, Server, When};
use super::apply::{by_gateway, refusal};
use super::{Change, POD_METRICS, ask, asked, explained, faulty, notes, recorded, shows};
use super::{HPA, LONGEST, NAME, Ran, SCALE, condition, explain, explain_as, explain_on};

fn at(path: &str, fault: Fault) -> Ran {
    explain_on(|cluster| {
        cluster.fault(When::on(path), fault);
    })
}

/// Row 15.
#[test]
fn a_missing_right_is_named() {
    let mut cluster = recorded();
    cluster
        .grant("bob")
        .deny("bob", "get", "horizontalpodautoscalers.autoscaling");
    let ran = explain_as(&Server::start(cluster), "bob", &[]);
    ran.fails(1, &[]);
    assert_eq!(
        ran.stderr,
        "Error from server (Forbidden): horizontalpodautoscalers.autoscaling \"nginx-deployment\" \
         is forbidden: User \"bob\" cannot get resource \"horizontalpodautoscalers\" in API group \
         \"autoscaling\" in the namespace \"default\"\n\
         hint: missing permission: get horizontalpodautoscalers.autoscaling in the namespace \
         default; check it with `kubectl auth can-i get horizontalpodautoscalers.autoscaling -n \
         default`; add to a Role: - {apiGroups: [\"autoscaling\"], resources: \
         [\"horizontalpodautoscalers\"], verbs: [\"get\"]}\n"
    );
}

/// Row 16: the target itself says the same, if it can be read; without it there is no answer.
#[test]
fn without_the_right_to_a_scale_the_target_itself_speaks() {
    let right = "missing permission: get deployments.apps/scale in the namespace default; check it \
                 with `kubectl auth can-i get deployments.apps --subresource=scale -n default`; \
                 add to a Role: - {apiGroups: [\"apps\"], resources: \
                 [\"deployments/scale\"], verbs: [\"get\"]}";
    let denied = |more: &[[&str; 2]], change: Change| {
        let mut cluster = recorded();
        cluster
            .grant("bob")
            .deny("bob", "get", "deployments.apps/scale");
        for [verb, resource] in more {
            cluster.deny("bob", verb, resource);
        }
        change(&mut cluster);
        explain_as(&Server::start(cluster), "bob", &["-o", "json"])
    };
    let (calm, fallback) = (explain_on(|_| {}).answer(), denied(&[], |_| {}).answer());
    for field in ["outcome", "trace", "range", "certainty"] {
        assert_eq!(fallback[field], calm[field], "{field}");
    }
    let mut basis = each(&fallback["basis"]);
    let scale = basis
        .find(|basis| basis["item"] == "scale")
        .expect("it is marked");
    assert_eq!(scale["value"], "10 replicas");
    let source = format!("the Deployment itself, because its scale may not be read; {right}");
    assert_eq!(scale["source"], source.as_str());

    let gone = denied(&[], |cluster| {
        cluster.remove("apps/v1", "Deployment", ["default", NAME]);
    });
    let [_, reason, text] = condition(&gone.answer(), "AbleToScale");
    assert_eq!(reason, "FailedGetScale");
    assert!(
        text.ends_with("deployments.apps \"nginx-deployment\" not found"),
        "{text}"
    );

    let refused = "Error from server (Forbidden): deployments.apps \"nginx-deployment\" is \
                   forbidden: User \"bob\" cannot get resource \"deployments/scale\" in API group \
                   \"apps\" in the namespace \"default\"\n";
    let hint = format!("hint: {right}\n");
    denied(&[["get", "deployments.apps"]], |_| {}).fails(1, &[refused, &hint]);
    let odd = denied(&[], |cluster| {
        let deployment = SCALE.strip_suffix("/scale").expect("a subresource");
        cluster.fault(When::on(deployment).except(SCALE), Fault::WrongKind);
    });
    odd.fails(1, &[refused, &hint]);

    // If a custom kind keeps its replicas elsewhere, only its scale has them.
    let mut cluster = recorded();
    super::rounds::rollout(&mut cluster);
    cluster
        .grant("bob")
        .deny("bob", "get", "rollouts.argoproj.io/scale");
    explain_as(&Server::start(cluster), "bob", &[]).fails(
        1,
        &[
            "Error from server (Forbidden): rollouts.argoproj.io \"canary\" is forbidden: ",
            "add to a Role: - {apiGroups: [\"argoproj.io\"], resources: [\"rollouts/scale\"], \
             verbs: [\"get\"]}\n",
        ],
    );
}

/// Row 22.
#[test]
fn an_hpa_under_deletion_says_so() {
    let mut cluster = recorded();
    cluster.edit_hpa(["default", NAME], |hpa| {
        hpa["metadata"]["deletionTimestamp"] = json!("2026-11-21T07:07:00Z");
        hpa["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    let server = Server::start(cluster);
    let note = "the HPA has been marked for deletion since 2026-11-21T07:07:00Z; the controller acts on it \
                until it is gone";
    let answer = explained(&server);
    assert!(notes(&answer).contains(note), "{}", notes(&answer));
    let page = explain(&server, &[]);
    let banner = page.stdout.lines().next().unwrap_or_default();
    assert_eq!(page.code, Some(0));
    assert!(
        banner.ends_with("Deployment/nginx-deployment, BEING DELETED"),
        "{banner}"
    );
    shows(&page.stdout, note);
}

#[test]
fn a_target_under_deletion_says_so() {
    let mut cluster = recorded();
    cluster.edit("apps/v1", "Deployment", ["default", NAME], |target| {
        target["metadata"]["deletionTimestamp"] = json!("2026-11-21T07:07:00Z");
    });
    let note = "the target has been marked for deletion since 2026-11-21T07:07:00Z; the controller acts on it \
                until it is gone";
    let page = explain(&Server::start(cluster), &[]).stdout;
    shows(&page, note);
}

/// A cache that mixes up its entries may return it.
#[test]
fn an_object_that_was_not_requested_is_no_answer() {
    for [namespace, name] in [["elsewhere", NAME], ["default", "other"]] {
        let metadata = json!({"name": name, "namespace": namespace, "uid": "u"});
        let hpa = json!({"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2",
            "metadata": metadata,
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "maxReplicas": 3}});
        let scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
            "spec": {"replicas": 2}});
        let error = format!("the object is \"{namespace}/{name}\", not \"default/{NAME}\"\n");
        for (path, object) in [(HPA, hpa), (SCALE, scale)] {
            let answer = Fault::Answer(Answer::json(200, object.to_string()));
            at(path, answer).fails(1, &["invalid response for GET ", &error]);
        }
    }
    // The controller takes the scale of an aggregated API without metadata.
    let scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": 0},
        "status": {"selector": "app=nginx"}});
    let answer = at(SCALE, Fault::Answer(Answer::json(200, scale.to_string()))).answer();
    let [_, reason, _] = condition(&answer, "ScalingActive");
    assert_eq!(reason, "ScalingDisabled");
}

/// Rows 21 and 23.
#[test]
fn an_hpa_that_is_not_there() {
    let server = Server::start(recorded());
    for (name, namespace, hint) in [
        (
            "nginx",
            "default",
            "hint: the namespace default has nginx-deployment\n",
        ),
        (
            "web",
            "nowhere",
            "hint: searched namespace nowhere; use -n for another\n",
        ),
    ] {
        let error = format!(
            "Error from server (NotFound): horizontalpodautoscalers.autoscaling \"{name}\" not found\n"
        );
        ask(&server, "admin", &["explain", name, "-n", namespace]).fails(1, &[&error, hint]);
    }
    let mut cluster = recorded();
    cluster.remove_version("autoscaling/v2");
    explain(&Server::start(cluster), &[]).fails(
        1,
        &[
            "error: the server (v1.36.2) does not serve autoscaling/v2\n",
            "v1.23",
        ],
    );
}

/// Rows 24 and 25.
#[test]
fn a_target_that_cannot_be_scaled_is_an_outcome() {
    let to = |cluster: &mut Cluster, target: serde_json::Value| {
        let hpa = ["default", NAME];
        cluster.edit_hpa(hpa, |hpa| {
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
        shows(&text, message);
    }
}

/// Rows 26 and 57.
#[test]
fn a_selector_or_a_count_of_zero_is_an_outcome() {
    let scale = |wanted, selector, flags: &[&str]| {
        let mut cluster = recorded();
        let target = ["default", NAME];
        let scale = super::api::Scale {
            wanted,
            current: wanted,
            selector,
        };
        cluster.scale("apps/v1", "Deployment", target, scale);
        explain(&Server::start(cluster), flags)
    };
    let zero = "scaling is disabled since the replica count of the target is zero";
    for (wanted, selector, reason, message, gates) in [
        (
            0,
            "app=nginx",
            "ScalingDisabled",
            zero,
            "HPAScaleToZero=false",
        ),
        (
            0,
            "app=nginx",
            "ScalingDisabled",
            zero,
            "HPAScaleToZero=true",
        ),
        (
            10,
            "",
            "InvalidSelector",
            "the HPA target's scale is missing a selector",
            "HPAScaleToZero=false",
        ),
    ] {
        let flags = ["-o", "json", "--feature-gates", gates];
        let answer = scale(wanted, selector, &flags).answer();
        let [status, found, text] = condition(&answer, "ScalingActive");
        assert_eq!((&*status, &*found), ("False", reason));
        assert!(text.starts_with(message), "{text}");
    }
    assert!(scale(0, "app=nginx", &[]).stdout.contains("DISABLED AT 0"));
    // The controller's client converts the scale, and has no form for these.
    for (selector, message) in [
        ("a=b=c", "couldn't parse the selector string \"a=b=c\": "),
        ("a!=b", "\"!=\" is not a valid label selector operator"),
    ] {
        let answer = scale(10, selector, &["-o", "json"]).answer();
        let [status, reason, text] = condition(&answer, "AbleToScale");
        assert_eq!((&*status, &*reason), ("False", "FailedGetScale"));
        let start = "the HPA controller was unable to get the target's current scale: received an object from a /scale \
                     endpoint which was not convertible to autoscaling Scale: failed to parse target selector: ";
        let cause = text.strip_prefix(start).unwrap_or_else(|| panic!("{text}"));
        assert!(cause.starts_with(message), "{text}");
    }
}

/// A proxy that does not know the path says nothing about the target.
#[test]
fn a_scale_that_a_proxy_does_not_find_leaves_no_answer() {
    let unknown = by_gateway(404, "default backend - 404");
    let of_another = "hint: a proxy or another host may have answered (no Audit-Id header): check ";
    let error = ": default backend - 404\n";
    at(SCALE, unknown).fails(1, &["error: HTTP 404 from 127.0.0.1:", error, of_another]);
}

/// Rows 14 and 36 to 38.
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
        (
            SCALE,
            Fault::InternalError,
            vec!["Error from server (InternalError): "],
        ),
        (
            HPA,
            Fault::Timeout,
            vec![
                "Error from server (Timeout): Timeout: request did not complete within requested timeout",
                "(retried 3 times in ",
            ],
        ),
        (
            SCALE,
            Fault::Unavailable(None),
            vec![
                "Error from server (ServiceUnavailable): the server is currently unable to handle the \
             request (retried 3 times in ",
            ],
        ),
        (
            HPA,
            Fault::TooManyRequests(Some(1)),
            vec![
                "Error from server (TooManyRequests): ",
                ": the server is throttling (retried 3 times in 3",
            ],
        ),
        (
            HPA,
            Fault::HtmlBadGateway,
            vec![
                "error: HTTP 502 from 127.0.0.1:",
                "<html> <head><title>502 Bad Gateway</title></head>",
                "hint: a proxy or another host may have answered",
            ],
        ),
        (
            HPA,
            Fault::InvalidJson,
            vec!["error: invalid response for GET /apis/autoscaling/v2/"],
        ),
        (
            HPA,
            Fault::TruncatedJson,
            vec!["error: invalid response for GET /apis/autoscaling/v2/"],
        ),
        (
            HPA,
            Fault::WrongKind,
            vec![
                "error: invalid response for GET /apis/autoscaling/v2/",
                "ConfigMap",
            ],
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
                "the connection was lost during the response",
            ],
        ),
        (
            HPA,
            Fault::CutBeforeHead,
            vec!["Unable to connect to the server: EOF (retried 3 times in "],
        ),
    ] {
        at(path, fault).fails(1, &parts);
    }
}

/// Row 34.
#[test]
fn what_passes_is_tried_again_in_silence() {
    let calm = explain_on(|_| {});
    for (path, fault) in [
        (HPA, Fault::TooManyRequests(Some(1))),
        (SCALE, Fault::Unavailable(None)),
        (SCALE, Fault::CutBeforeHead),
        (super::PODS, Fault::Timeout),
        (POD_METRICS, Fault::TooManyRequests(Some(1))),
    ] {
        let server = faulty(recorded(), [(When::on(path).first(1), fault)]);
        let ran = explain(&server, &["-o", "json"]);
        let (answer, calm) = (ran.answer(), calm.answer());
        assert_eq!(
            (&answer["outcome"], &answer["trace"]),
            (&calm["outcome"], &calm["trace"])
        );
        assert_eq!(ran.stderr, "");
        assert_eq!(asked(&server, path), 2, "{path}");

        server.change(|cluster| {
            cluster
                .heal()
                .fault(When::on(path).first(1), Fault::Unavailable(Some(1)));
        });
        let loud = explain(&server, &["-v", "1"]);
        shows(&loud.stderr, &format!("GET {path}"));
    }
}

/// Row 7, after the connection is made.
#[test]
fn a_server_that_hangs_has_a_time() {
    for (path, fault) in [
        (HPA, Fault::Hang),
        (SCALE, Fault::Hang),
        (super::PODS, Fault::DelayBody(Duration::from_secs(20))),
    ] {
        let server = faulty(recorded(), [(When::on(path), fault)]);
        let begun = Instant::now();
        explain(&server, &["--request-timeout", "1s"]).fails(
            1,
            &[
                "Unable to connect to the server: timed out after 1s waiting for 127.0.0.1:",
                "hint: increase --request-timeout",
            ],
        );
        assert!(begun.elapsed() < LONGEST / 3, "{path}");
    }
    // A metrics API that is late for this program need not be for the controller.
    let server = faulty(recorded(), [(When::on(POD_METRICS), Fault::Hang)]);
    let ran = explain(&server, &["--request-timeout", "1s"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let late = "reading cpu failed (timed out after 1s waiting for 127.0.0.1:";
    shows(&ran.stderr, late);
    let advice = "metrics.k8s.io could not be read: increase --request-timeout";
    shows(&ran.stdout, advice);
}

/// Row 35.
#[test]
fn a_server_that_asks_to_wait_for_long_is_not_asked_again() {
    let busy = Fault::TooManyRequests(Some(3600));
    let server = faulty(recorded(), [(When::on("/"), busy)]);
    explain(&server, &[]).fails(
        1,
        &[
            "Error from server (TooManyRequests): ",
            ": the server asks to wait 1h0m0s, which is too long\n",
        ],
    );
    let asked: Vec<String> = server.requests().iter().map(|it| it.path.clone()).collect();
    let mut paths = asked.clone();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), asked.len(), "{asked:?}");
}

/// Row 56.
#[test]
fn the_servers_clock_counts() {
    for (ahead, direction) in [(7200, "ahead of"), (-7200, "behind"), (0, "")] {
        let mut cluster = Cluster::recorded();
        cluster.clock(Clock::Ahead(ahead));
        let answer = explained(&Server::start(cluster));
        let found = notes(&answer).contains("the server's clock is");
        assert_eq!(found, ahead != 0, "{}", notes(&answer));
        // Seconds pass on a busy machine.
        let is_near = ["2h", "1h59m"].iter().any(|time| {
            notes(&answer).lines().any(|note| {
                note.starts_with(&format!("the server's clock is {time}"))
                    && note.contains(&format!(" {direction} the local one"))
            })
        });
        assert_eq!(is_near, ahead != 0, "{}", notes(&answer));
    }
}

#[test]
fn a_server_without_a_time_leaves_the_local_clock() {
    for (clock, source) in [
        (Clock::Ahead(0), "the API server's"),
        (
            Clock::Broken,
            "the local clock, because the API server sent no time",
        ),
    ] {
        let mut cluster = Cluster::recorded();
        cluster.clock(clock);
        let answer = explained(&Server::start(cluster));
        let mut basis = each(&answer["basis"]);
        let clock = basis.find(|basis| basis["item"] == "clock").expect("it");
        assert_eq!(clock["source"], source);
    }
}

#[test]
fn answers_have_limits() {
    let list = |token: &str| {
        let metadata = json!({"continue": token});
        json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": []})
    };
    let answer = |body: String| Fault::Answer(Answer::json(200, body));
    // The same token over and over, and two in turn.
    at(super::PODS, answer(list("a").to_string())).fails(
        1,
        &[
            "invalid response for GET /api/v1/namespaces/default/pods?",
            "repeats a continue token\n",
        ],
    );
    let mut cluster = recorded();
    for nth in 1..9 {
        let token = if nth % 2 == 0 { "a" } else { "b" };
        cluster.fault(
            When::on(super::PODS).nth(nth),
            answer(list(token).to_string()),
        );
    }
    let server = Server::start(cluster);
    explain(&server, &[]).fails(1, &["repeats a continue token\n"]);
    assert_eq!(asked(&server, super::PODS), 3);
    // Objects take more memory than their text.
    let objects = |kind: &str, count: usize| {
        let items = vec!["{}"; count].join(",");
        answer(format!(
            r#"{{"kind": "{kind}", "apiVersion": "v1", "items": [{items}]}}"#
        ))
    };
    let containers = vec!["{}"; 500_001].join(",");
    let pod = format!(r#"{{"spec": {{"containers": [{containers}]}}}}"#);
    let pod = answer(format!(
        r#"{{"kind": "PodList", "apiVersion": "v1", "items": [{pod}]}}"#
    ));
    for (body, told) in [
        (
            objects("PodList", 100_001),
            "the list has more than 100000 objects",
        ),
        (
            objects("PodList", 500_001),
            "its lists have more than 500000 elements",
        ),
        (pod, "its lists have more than 500000 elements"),
    ] {
        at(super::PODS, body).fails(1, &[told]);
    }
    let usage = at(POD_METRICS, objects("PodMetricsList", 100_001));
    shows(&usage.stdout, "the list has more than 100000 objects");
}

/// Row 61.
#[test]
fn warnings_show_once() {
    let warn: Change = |cluster| {
        cluster.fault(
            When::on("/"),
            Fault::Warning("it is \u{9b}31mold".to_owned()),
        );
    };
    let mut cluster = recorded();
    warn(&mut cluster);
    let server = Server::start(cluster);
    let ran = explain(&server, &["-o", "json"]);
    ran.answer();
    assert_eq!(
        ran.stderr.matches("Warning: it is").count(),
        1,
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains('\u{9b}'), "{:?}", ran.stderr);
    // As with kubectl, the answer is printed first.
    for (command, code) in [
        (format!("explain {NAME}"), 1),
        ("explain -A".to_owned(), 1),
        (format!("predict {NAME}"), 1),
        (format!("predict {NAME} --expect desired<1"), 3),
    ] {
        let words = [command.split(' ').collect(), vec!["--warnings-as-errors"]].concat();
        let ran = ask(&server, "admin", &words);
        let answer = (ran.code, ran.stdout.contains(NAME));
        assert_eq!(answer, (Some(code), true), "{command}: {}", ran.stderr);
        let told = "error: 1 warning received: it is";
        assert!(ran.stderr.contains(told), "{command}: {}", ran.stderr);
    }
}

/// Row 62.
#[test]
fn what_steers_a_terminal_is_not_let_through() {
    let text = "no \u{1b}]0;owned\u{7} such \u{9b}31m thing";
    let refused = refusal(403, "Forbidden", text);
    let safe = |ran: &Ran| {
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(
            !ran.stderr.contains(steers) && !ran.stdout.contains(steers),
            "{:?}",
            ran.stdout
        );
    };
    let page = Answer::new(502, "text/html", format!("<html>{text}</html>"));
    for (fault, said) in [
        (refused.clone(), "Error from server (Forbidden): no "),
        (Fault::Answer(page), ": <html>no "),
    ] {
        let ran = at(HPA, fault);
        ran.fails(1, &[said]);
        safe(&ran);
    }
    let server = faulty(recorded(), [(When::on(POD_METRICS), refused)]);
    let ran = explain(&server, &[]);
    assert_eq!(ran.code, Some(1));
    safe(&ran);
}

/// As in kubectl with -v 6, whether or not there is an answer.
#[test]
fn each_request_is_said_with_its_status_size_and_time() {
    let failing = (When::on(POD_METRICS), Fault::InternalError);
    let server = faulty(recorded(), [failing]);
    let requests = |ran: &Ran| {
        let lines = ran
            .stderr
            .lines()
            .filter(|line| line.starts_with("GET https://"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let ran = explain(&server, &["-v", "6"]);
    let said = requests(&ran);
    let line = |path: &str, status: &str| {
        let found = said
            .iter()
            .find(|line| line.contains(path) && line.contains(status));
        let line = found.unwrap_or_else(|| panic!("no {path} {status} in {said:#?}"));
        assert!(
            line.contains(" bytes) in ") && line.ends_with(" ms"),
            "{line}"
        );
    };
    line(&format!("{HPA} "), " 200 OK (");
    line(
        &format!("{POD_METRICS}?labelSelector="),
        " 500 Internal Server Error (",
    );
    assert_eq!(
        requests(&explain(&server, &["-v", "5"])),
        Vec::<String>::new()
    );
    let mut cluster = recorded();
    // Requests sent along with it may be answered before it fails, unless it hangs.
    cluster.fault(When::on(HPA), Fault::InternalError);
    cluster.fault(When::on("/").except(HPA), Fault::Hang);
    let failed = explain(&Server::start(cluster), &["-v=9"]);
    assert_eq!(
        (failed.code, requests(&failed).len()),
        (Some(1), 1),
        "{}",
        failed.stderr
    );
}

/// Row 51.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a full disk");
    let mut command = super::detached(super::PROGRAM);
    command
        .args(["explain", NAME])
        .env("KUBECONFIG", config.path());
    let output = command.stdout(full).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.starts_with("error: failed to write the answer: No space left"),
        "{stderr}"
    );
}
