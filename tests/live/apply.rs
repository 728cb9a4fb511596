//! `apply` against the test API server: each fault that a write can meet, with what was sent, what
//! is reported, and the target's final state.
//!
//! The rows of the fault matrix that concern writing:
//!
//! | rows | fault | tests |
//! | --- | --- | --- |
//! | 22, 24, 31 | deletion, no scale, no metric | `apply_rest::what_is_never_written` |
//! | 34, 35 | 429 and 503 | `a_server_that_refuses_or_fails_is_settled` |
//! | 41, 42 | replicas or spec changed | `what_moves_before_the_write_keeps_it_back` |
//! | 43, 44 | conflict, another target | `what_moves_at_the_write_keeps_it_out` |
//! | 45 | webhook, quota, 422 | `a_server_that_refuses_or_fails_is_settled` |
//! | 46 | timeout or a lost connection | `a_lost_answer_is_settled_by_reading` |
//! | 47 | dry run refused | `dry_runs_write_nothing` |
//! | 48 | another writer afterwards | `apply_rest::a_wait_follows_the_replicas` |
//! | 49 | signals | `apply_rest::a_signal_before_the_write_or_during_it` |

use std::time::Duration;

use serde_json::{Value, json};

use super::api::{Answer, Auth, Cluster, Fault, Recorded, Server, When, answer::status};
use super::{Change, HPAS, Ran, ask, asked, ended, faulty, program, recorded, run, shows};

pub(super) const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/web/scale";
pub(super) const WEB: [&str; 2] = ["default", "web"];

/// Returns a Deployment of two pods whose HPA wants four.
pub(super) fn cluster() -> Cluster {
    let mut cluster = recorded();
    cluster.autoscaled(WEB, 2);
    cluster
}

pub(super) fn apply_as(server: &Server, user: &str, more: &[&str]) -> Ran {
    ask(
        server,
        user,
        &[&["apply", "web", "-n", "default"], more].concat(),
    )
}

pub(super) fn apply(server: &Server, more: &[&str]) -> Ran {
    apply_as(server, "admin", more)
}

/// Returns the writes that the server received, whatever it did with them.
pub(super) fn writes(server: &Server) -> Vec<Recorded> {
    server
        .requests()
        .into_iter()
        .filter(|request| request.method != "GET")
        .collect()
}

/// Returns the object of a write.
pub(super) fn body_of(write: &Recorded) -> Value {
    serde_json::from_slice(&write.body).expect("JSON")
}

/// Returns the current scale of the target.
pub(super) fn scale(server: &Server) -> Value {
    let mut client = super::api::Client::connect(server, &Auth::Token("admin")).expect("it");
    client.get(SCALE).expect("an answer").json()
}

pub(super) fn hpa(cluster: &mut Cluster, change: impl FnOnce(&mut Value)) {
    cluster.edit_hpa(WEB, change);
}

pub(super) fn set(cluster: &mut Cluster, replicas: i64, manager: &str) {
    cluster.set_replicas("apps/v1", "Deployment", WEB, replicas, manager);
}

/// Deletes the target and creates another of the same name.
pub(super) fn recreate(cluster: &mut Cluster) {
    cluster.remove("apps/v1", "Deployment", WEB);
    cluster.put(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": 2},
    }));
}

/// The expected result of a run.
struct Want {
    code: i32,
    sent: usize,
    replicas: i64,
    told: &'static str,
}

/// Runs it with these faults, and checks everything about it.
#[track_caller]
fn check(name: &str, faults: Vec<(When, Fault)>, flags: &[&str], want: &Want) -> Ran {
    let server = faulty(cluster(), faults);
    let before = scale(&server);
    let ran = apply(&server, &[&["--yes"], flags].concat());
    assert_eq!(ran.code, Some(want.code), "{name}: {}", ran.shown());
    let told = if want.code == 0 {
        &ran.stdout
    } else {
        &ran.stderr
    };
    assert!(
        told.contains(want.told),
        "{name}: no {:?} in: {told}",
        want.told
    );
    let writes = writes(&server);
    assert_eq!(writes.len(), want.sent, "{name}");
    for write in &writes {
        assert_eq!(
            (write.method.as_str(), write.path.as_str()),
            ("PUT", SCALE),
            "{name}"
        );
        assert_eq!(
            write.query,
            [("fieldManager".to_owned(), "kubectl-hpa".to_owned())],
            "{name}"
        );
        assert_eq!(
            write.header("content-type"),
            Some("application/json"),
            "{name}"
        );
        let agent = write.header("user-agent").unwrap_or_default();
        assert!(agent.starts_with("kubectl-hpa/"), "{name}: {agent}");
        let body = body_of(write);
        let metadata = json!({
            "name": "web",
            "namespace": "default",
            "uid": before["metadata"]["uid"],
            "resourceVersion": before["metadata"]["resourceVersion"],
        });
        let want = json!({
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": {"replicas": 4},
        });
        assert_eq!(body, want, "{name}");
    }
    server.change(|cluster| {
        cluster.heal();
    });
    assert_eq!(scale(&server)["spec"]["replicas"], want.replicas, "{name}");
    ran
}

fn put() -> When {
    When::on(SCALE).method("PUT")
}

/// Returns a fault of writes that the server does not execute.
pub(super) fn unheard(when: When, fault: Fault) -> Vec<(When, Fault)> {
    vec![(when.clone(), Fault::Unheard), (when, fault)]
}

fn get(nth: usize) -> When {
    // The test itself reads it first.
    When::on(SCALE).method("GET").nth(nth + 1)
}

#[test]
fn it_is_written_once() {
    let want = Want {
        code: 0,
        sent: 1,
        replicas: 4,
        told: "\ndeployment.apps/web scaled\n",
    };
    let ran = check("plain", vec![], &[], &want);
    shows(&ran.stdout, "\n  SCALE UP 2 ");
    let line = " 4 replicas, replacing resourceVersion ";
    shows(&ran.stdout, line);
    let ran = check("name", vec![], &["-o", "name"], &Want { told: "", ..want });
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.contains("error")),
        ("deployment.apps/web\n", false)
    );
}

#[test]
fn what_moves_before_the_write_keeps_it_back() {
    let hpa_path = || When::on(&format!("{HPAS}/web")).nth(2);
    let cases: Vec<(&str, When, Change, i64, &str)> = vec![
        (
            "replicas",
            get(2),
            |cluster| set(cluster, 6, "kubectl"),
            6,
            "error: Expected replicas to be 2, was 6; nothing written\n",
        ),
        (
            "spec",
            hpa_path(),
            |cluster| hpa(cluster, |hpa| hpa["spec"]["maxReplicas"] = json!(3)),
            2,
            "error: the spec of the HPA default/web was changed; nothing written\n",
        ),
        (
            "generation",
            hpa_path(),
            |cluster| hpa(cluster, |hpa| hpa["metadata"]["generation"] = json!(7)),
            2,
            "the spec of the HPA default/web was changed; nothing written\n",
        ),
        (
            "status",
            hpa_path(),
            |cluster| hpa(cluster, |hpa| hpa["status"]["desiredReplicas"] = json!(9)),
            2,
            "the HPA default/web was written by the controller or something else: resourceVersion ",
        ),
        (
            "deletion",
            hpa_path(),
            |cluster| {
                hpa(cluster, |hpa| {
                    hpa["metadata"]["deletionTimestamp"] = json!("2026-11-21T07:07:00Z");
                });
            },
            2,
            "the HPA default/web has been marked for deletion since 2026-11-21T07:07:00Z; nothing written\n",
        ),
        (
            "another HPA",
            hpa_path(),
            |cluster| hpa(cluster, |hpa| hpa["metadata"]["uid"] = json!("another")),
            2,
            "the HPA default/web was deleted and recreated; nothing written\n",
        ),
        (
            "target written",
            get(2),
            |cluster| {
                cluster.edit("apps/v1", "Deployment", WEB, |it| {
                    it["status"]["replicas"] = json!(1);
                });
            },
            2,
            "the target was written: Expected resource version to be ",
        ),
        (
            "another target",
            get(2),
            recreate,
            2,
            "the target was replaced: Expected uid to be ",
        ),
        (
            "no HPA",
            hpa_path(),
            |cluster| {
                cluster.remove("autoscaling/v2", "HorizontalPodAutoscaler", WEB);
            },
            2,
            "horizontalpodautoscalers.autoscaling \"web\" not found; nothing written\n",
        ),
    ];
    for (name, when, change, replicas, told) in cases {
        let want = Want {
            code: 6,
            sent: 0,
            replicas,
            told,
        };
        let ran = check(name, vec![(when, Fault::Before(change))], &[], &want);
        let hint = ran.stderr.contains("hint: run it again, or use --retry\n");
        let is_gone = ["deletion", "no HPA"].contains(&name);
        assert_eq!(hint, !is_gone, "{}", ran.stderr);
    }
}

#[test]
fn what_moves_at_the_write_keeps_it_out() {
    let cases: Vec<(&str, Change, i64, &str)> = vec![
        (
            "conflict",
            |cluster| set(cluster, 6, "kubectl"),
            6,
            "error: Error from server (Conflict): Operation cannot be fulfilled on \
             deployments.apps \"web\": the object has been modified; please apply your changes to \
             the latest version and try again; nothing written\n",
        ),
        (
            "another target",
            recreate,
            2,
            "Precondition failed: UID in precondition: ",
        ),
    ];
    for (name, change, replicas, told) in cases {
        let want = Want {
            code: 6,
            sent: 1,
            replicas,
            told,
        };
        check(name, vec![(put(), Fault::Before(change))], &[], &want);
    }
    // A path that a proxy does not know, or that is not served, says nothing about the objects.
    let want = Want {
        code: 1,
        sent: 0,
        replicas: 2,
        told: "; nothing written\n",
    };
    let text = "404 page not found";
    let audited = Fault::Answer(Answer::text(404, text));
    for fault in [by_gateway(404, text), audited] {
        check("a 404 in text", vec![(get(2), fault)], &[], &want);
    }
    let mut cluster = cluster();
    cluster.fault(
        put(),
        Fault::Before(|cluster| {
            cluster.remove("apps/v1", "Deployment", WEB);
        }),
    );
    let server = Server::start(cluster);
    let ran = apply(&server, &["--yes", "--retry=2"]);
    assert_eq!((ran.code, writes(&server).len()), (Some(6), 1));
    assert!(
        ran.stderr
            .contains("deployments.apps \"web\" not found; nothing written\n")
    );
    assert!(!ran.stderr.contains("retry"), "{}", ran.stderr);
}

#[test]
fn it_starts_over_as_often_as_it_may() {
    let moved = || (get(2), Fault::Before(|cluster| set(cluster, 3, "kubectl")));
    // From three replicas, six are possible in one pass, and the metrics still ask for five.
    let server = faulty(cluster(), [moved()]);
    scale(&server);
    let ran = apply(&server, &["--yes", "--retry=1", "-o", "json"]);
    ended(&ran, 0);
    let told = "Expected replicas to be 2, was 3: retrying (1 of 1)\n";
    shows(&ran.stderr, told);
    let answer = ran.json();
    assert_eq!(answer["change"], json!({"from": 3, "to": 5}));
    assert_eq!(writes(&server).len(), 1);
    assert_eq!(scale(&server)["spec"]["replicas"], 5);

    // What was seen is kept: it watches once, with a request at the beginning and at the end, and then requests the HPA
    // for each plan and right before each write.
    let server = faulty(cluster(), [moved()]);
    scale(&server);
    let ran = apply(&server, &["--yes", "--retry=1", "--observe=1s"]);
    ended(&ran, 0);
    assert_eq!(asked(&server, &format!("{HPAS}/web")), 6);

    let hostile = refusal(409, "Conflict", "held by \u{1b}[31mme");
    let faults = unheard(put().first(1), hostile);
    let want = Want {
        code: 0,
        sent: 2,
        replicas: 4,
        told: "scaled",
    };
    let ran = check("hostile", faults, &["--retry=1"], &want);
    shows(&ran.stderr, "held by ^[[31mme: retrying (1 of 1)\n");

    let again = (
        When::on(&format!("{HPAS}/web")),
        Fault::Before(|cluster: &mut Cluster| {
            hpa(cluster, |hpa| hpa["status"]["desiredReplicas"] = json!(9));
        }),
    );
    let want = Want {
        code: 6,
        sent: 0,
        replicas: 2,
        told: "; nothing written\n",
    };
    let ran = check("always", vec![again], &["--retry=2"], &want);
    assert_eq!(
        ran.stderr.matches(": retrying (").count(),
        2,
        "{}",
        ran.stderr
    );
    let hint = "hint: run it again, or increase --retry\n";
    shows(&ran.stderr, hint);
}

#[test]
fn preconditions_of_the_command_line_are_kept() {
    for (flags, told) in [
        (
            ["--current-replicas=3"],
            "error: Expected replicas to be 3, was 2; nothing written\n",
        ),
        (
            ["--resource-version=1"],
            "error: Expected resource version to be 1, was ",
        ),
    ] {
        let want = Want {
            code: 6,
            sent: 0,
            replicas: 2,
            told,
        };
        check("unmet", vec![], &flags, &want);
    }
    let want = Want {
        code: 0,
        sent: 1,
        replicas: 4,
        told: "scaled",
    };
    check("met", vec![], &["--current-replicas=2"], &want);
}

/// Without the scale they cannot be checked, even if nothing is due.
#[test]
fn a_scale_that_may_not_be_read_meets_no_precondition() {
    for (flags, most, code) in [
        (&["--current-replicas=2"][..], 2, 1),
        (&["--resource-version=1"], 2, 1),
        (&[], 2, 0),
        (&[], 9, 1),
    ] {
        let mut cluster = cluster();
        hpa(&mut cluster, |hpa| hpa["spec"]["maxReplicas"] = json!(most));
        cluster.fault(When::on(SCALE), refusal(403, "Forbidden", "no"));
        let server = Server::start(cluster);
        let ran = apply(&server, &[&["--yes", "-o=json"], flags].concat());
        assert_eq!(ran.code, Some(code), "{flags:?}: {}", ran.stderr);
        let told = "error: the scale was not read, so its state is unknown; nothing written\n\
                    hint: based on the Deployment itself, because its scale may not be read; ";
        assert_eq!(ran.stderr.contains(told), code == 1, "{}", ran.stderr);
        let answer = ran.json();
        assert_eq!(answer["target"], Value::Null);
        assert_eq!(answer["result"]["exitCode"], code, "{flags:?}");
        assert!(writes(&server).is_empty(), "{flags:?}");
    }
}

/// Returns an answer of a gateway on the way, which an API server's log does not have.
pub(super) fn by_gateway(code: u16, text: &str) -> Fault {
    Fault::Answer(Answer::text(code, text).with("Via", "1.1 gateway"))
}

/// Returns a refusal in the server's words.
pub(super) fn refusal(code: u16, reason: &str, message: &str) -> Fault {
    Fault::Answer(status(code, reason, message, None))
}

#[test]
fn a_server_that_refuses_or_fails_is_settled() {
    let webhook =
        "admission webhook \"freeze.example.com\" denied the request: you cannot scale now";
    let quota = "deployments.apps \"web\" is forbidden: exceeded quota: pods";
    let invalid = "Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: 4: too many";
    let once = |fault| unheard(put().first(1), fault);
    let unheard = |fault| unheard(put(), fault);
    let written = "Error from server (";
    let own = "managedFields show that it was written";
    // Such an answer comes after the server has acted.
    let answered = |code| vec![(put(), Fault::Answer(Answer::text(code, "so it is")))];
    let open = "and the write may still take effect while its resourceVersion is ";
    let deaf = "Internal error occurred: failed calling webhook \"freeze.example.com\": EOF";
    for (name, faults, code, sent, replicas, told) in [
        (
            "webhook",
            unheard(refusal(403, "Forbidden", webhook)),
            1,
            1,
            2,
            webhook,
        ),
        (
            "webhook",
            unheard(refusal(400, "BadRequest", webhook)),
            1,
            1,
            2,
            webhook,
        ),
        (
            "quota",
            unheard(refusal(403, "Forbidden", quota)),
            1,
            1,
            2,
            quota,
        ),
        (
            "422",
            unheard(refusal(422, "Invalid", invalid)),
            1,
            1,
            2,
            invalid,
        ),
        (
            "429",
            unheard(Fault::TooManyRequests(None)),
            1,
            1,
            2,
            "Error from server (TooManyRequests): ",
        ),
        (
            "429 for long",
            unheard(Fault::TooManyRequests(Some(0))),
            1,
            4,
            2,
            ": the server is throttling (retried 3 times in ",
        ),
        (
            "429 once",
            once(Fault::TooManyRequests(Some(0))),
            0,
            2,
            4,
            "scaled",
        ),
        ("503", unheard(Fault::Unavailable(None)), 7, 2, 2, open),
        (
            "503, but it acted",
            vec![(put(), Fault::Unavailable(None))],
            0,
            1,
            4,
            written,
        ),
        ("500", unheard(Fault::InternalError), 7, 2, 2, open),
        (
            "500 once",
            once(Fault::InternalError),
            0,
            2,
            4,
            "sent again with the same resourceVersion",
        ),
        (
            "500, and it acts later",
            vec![
                (put(), Fault::Unheard),
                (put(), Fault::InternalError),
                (
                    get(6),
                    Fault::Before(|cluster| set(cluster, 4, "kubectl-hpa")),
                ),
            ],
            0,
            2,
            4,
            "managedFields show that it was written",
        ),
        (
            "500 of a webhook",
            unheard(refusal(500, "", webhook)),
            1,
            1,
            2,
            webhook,
        ),
        (
            "500, no webhook",
            unheard(refusal(500, "InternalError", deaf)),
            1,
            1,
            2,
            deaf,
        ),
        (
            "500, but it acted",
            vec![(put(), Fault::InternalError)],
            0,
            1,
            4,
            written,
        ),
        // The store may still execute it.
        (
            "500 of a store that is late",
            unheard(refusal(500, "", "etcdserver: request timed out")),
            7,
            2,
            2,
            open,
        ),
        (
            "504 once",
            once(Fault::Timeout),
            0,
            2,
            4,
            "sent again with the same resourceVersion",
        ),
        (
            "504, but it acted",
            vec![(put(), Fault::Timeout)],
            0,
            1,
            4,
            written,
        ),
        ("101, but it acted", answered(101), 0, 1, 4, own),
        ("302, but it acted", answered(302), 0, 1, 4, own),
        ("403 of a proxy, but it acted", answered(403), 0, 1, 4, own),
        ("404 of a proxy, but it acted", answered(404), 0, 1, 4, own),
        ("409 of a proxy, but it acted", answered(409), 0, 1, 4, own),
        ("425, but it acted", answered(425), 0, 1, 4, own),
        ("499, but it acted", answered(499), 0, 1, 4, own),
        ("429 of a proxy, but it acted", answered(429), 0, 1, 4, own),
        (
            "403 of a proxy that lets nothing through",
            unheard(Fault::Answer(Answer::text(403, "blocked"))),
            7,
            2,
            2,
            open,
        ),
        (
            "502 of a load balancer for long",
            unheard(Fault::HtmlBadGateway),
            7,
            2,
            2,
            "unknown whether it was written: the scale is unchanged, and the write may still take \
             effect while its resourceVersion is ",
        ),
    ] {
        let ran = check(
            name,
            faults,
            &[],
            &Want {
                code,
                sent,
                replicas,
                told,
            },
        );
        assert!(
            !ran.stderr.contains("missing permission"),
            "{name}: {}",
            ran.stderr
        );
        let is_shown = ran
            .stderr
            .contains(" get deployment/web -n default` shows its current replicas");
        assert_eq!(is_shown, code == 7, "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_lost_answer_is_settled_by_reading() {
    let once = |fault| unheard(put().first(1), fault);
    let own = "managedFields show that it was written";
    let again = "sent again with the same resourceVersion";
    let others = |change: fn(&mut Cluster)| (get(3), Fault::Before(change));
    for (name, faults, code, sent, replicas, told) in [
        ("timeout after", vec![(put(), Fault::Hang)], 0, 1, 4, own),
        ("timeout before", once(Fault::Hang), 0, 2, 4, again),
        (
            "cut after",
            vec![(put(), Fault::CutBeforeHead)],
            0,
            1,
            4,
            own,
        ),
        (
            "cut in the answer",
            vec![(put(), Fault::CutInBody)],
            0,
            1,
            4,
            own,
        ),
        (
            "an answer that is not JSON",
            vec![(put(), Fault::InvalidJson)],
            0,
            1,
            4,
            own,
        ),
        (
            "as told",
            vec![(put(), Fault::InvalidJson)],
            0,
            1,
            4,
            "invalid response for PUT ",
        ),
        (
            "cut, and both arrive later",
            vec![
                (put(), Fault::Late(Duration::from_secs(1))),
                (put(), Fault::CutBeforeHead),
            ],
            0,
            2,
            4,
            own,
        ),
        ("cut before", once(Fault::CutBeforeHead), 0, 2, 4, again),
        (
            "nothing can be read",
            vec![
                (put(), Fault::CutBeforeHead),
                (When::on(SCALE).method("GET").from(4), Fault::InternalError),
            ],
            7,
            1,
            4,
            "unknown whether it was written: reading also failed: Error from server",
        ),
        (
            "nothing can be read for a moment",
            vec![
                (put(), Fault::CutBeforeHead),
                (get(3), Fault::InternalError),
            ],
            0,
            1,
            4,
            own,
        ),
        (
            "lost, and another writer",
            vec![
                (put(), Fault::Unheard),
                (put(), Fault::CutBeforeHead),
                others(|cluster| set(cluster, 7, "kubectl")),
            ],
            7,
            1,
            7,
            "the target now has 7 replicas, last set by kubectl",
        ),
        (
            "lost, and another writer of the same",
            vec![
                (put(), Fault::Unheard),
                (put(), Fault::CutBeforeHead),
                others(|cluster| set(cluster, 4, "argocd")),
            ],
            7,
            1,
            4,
            "the target now has 4 replicas, last set by argocd",
        ),
        (
            "written, and changed by another",
            vec![
                (put(), Fault::CutBeforeHead),
                others(|cluster| set(cluster, 2, "kube-controller-manager")),
            ],
            7,
            1,
            2,
            "last set by kube-controller-manager: the write can no longer take effect, or \
             something has changed the replicas since",
        ),
        (
            "lost, and another target",
            vec![
                (put(), Fault::Unheard),
                (put(), Fault::CutBeforeHead),
                others(recreate),
            ],
            7,
            1,
            2,
            "the target was replaced by another one of the same name",
        ),
    ] {
        check(
            name,
            faults,
            &["--request-timeout=1s"],
            &Want {
                code,
                sent,
                replicas,
                told,
            },
        );
    }
}

/// A proxy or a retry may send a write twice, so that the second copy is in conflict with the first; and no
/// API server answers with such a code.
#[test]
fn a_conflict_and_an_unknown_success_are_settled_by_reading() {
    let conflict = || {
        (
            put(),
            refusal(409, "Conflict", "the object has been modified"),
        )
    };
    let used = || Fault::Answer(Answer::json(226, "{}".to_owned()));
    let own = "managedFields show that it was written";
    let same = "deployment.apps/web already has 4 replicas\n";
    let unread = (When::on(SCALE).method("GET").from(4), Fault::InternalError);
    // It is read twice for the plan.
    let target = SCALE.strip_suffix("/scale").expect("the path of a scale");
    let no_owner = (When::on(target).except(SCALE).from(3), Fault::InternalError);
    let less: Fault = Fault::Before(|cluster| set(cluster, 3, "kubectl-hpa"));
    for (name, faults, code, sent, replicas, told) in [
        ("a conflict with itself", vec![conflict()], 0, 1, 4, same),
        (
            "a conflict with another run that wrote the same",
            vec![(
                put(),
                Fault::Before(|cluster| set(cluster, 4, "kubectl-hpa")),
            )],
            0,
            1,
            4,
            same,
        ),
        (
            "a conflict with another that wrote the same",
            vec![(put(), Fault::Before(|cluster| set(cluster, 4, "argocd")))],
            6,
            1,
            4,
            "the object has been modified; please apply your changes to the latest version and \
             try again; nothing written\n",
        ),
        (
            "a conflict with a write that a webhook changed",
            vec![(put(), less)],
            8,
            1,
            3,
            "the server stored 3 replicas instead of 4, possibly because of a webhook",
        ),
        (
            "a conflict, and who wrote cannot be read",
            vec![conflict(), no_owner],
            7,
            1,
            4,
            "unknown whether it was written: who wrote it cannot be read\n",
        ),
        (
            "a conflict, and nothing can be read",
            vec![conflict(), unread],
            7,
            1,
            4,
            "the object has been modified: unknown whether it was written: reading also failed",
        ),
        ("226", vec![(put(), used())], 0, 1, 4, own),
        (
            "226 before it is written",
            unheard(put().first(1), used()),
            0,
            2,
            4,
            "sent again with the same resourceVersion",
        ),
    ] {
        check(
            name,
            faults,
            &[],
            &Want {
                code,
                sent,
                replicas,
                told,
            },
        );
    }
}

/// A success counts only if the answer shows that it belongs to the write.
#[test]
fn a_success_that_does_not_prove_the_write_is_settled_by_reading() {
    let before = scale(&Server::start(cluster()));
    let own = "managedFields show that it was written";
    let again = "sent again with the same resourceVersion";
    let version = before["metadata"]["resourceVersion"].clone();
    type ChangeScale = fn(&mut Value, &Value);
    let answers: [(&str, ChangeScale); 8] = [
        ("another name", |scale, _| {
            scale["metadata"]["name"] = json!("api");
        }),
        ("another namespace", |scale, _| {
            scale["metadata"]["namespace"] = json!("shop");
        }),
        ("another uid", |scale, _| {
            scale["metadata"]["uid"] = json!("another");
        }),
        ("no metadata", |scale, _| scale["metadata"] = json!(null)),
        ("no uid", |scale, _| scale["metadata"]["uid"] = json!(null)),
        ("no version", |scale, _| {
            scale["metadata"]["resourceVersion"] = json!("");
        }),
        ("another kind", |scale, _| {
            scale["kind"] = json!("Deployment");
        }),
        ("the version from before", |scale, version| {
            scale["metadata"]["resourceVersion"] = version.clone();
        }),
    ];
    for (name, change) in answers {
        let mut answer = before.clone();
        answer["spec"]["replicas"] = json!(4);
        answer["metadata"]["resourceVersion"] = json!("99999999");
        change(&mut answer, &version);
        let fault = || Fault::Answer(Answer::json(200, answer.to_string()));
        let want = Want {
            code: 0,
            sent: 1,
            replicas: 4,
            told: own,
        };
        check(name, vec![(put(), fault())], &[], &want);
        // The same where nothing was executed.
        let want = Want {
            code: 0,
            sent: 2,
            replicas: 4,
            told: again,
        };
        check(name, unheard(put().first(1), fault()), &[], &want);
    }
}

#[test]
fn dry_runs_write_nothing() {
    for (flag, sent, told) in [
        ("client", 0, "(dry run)\n"),
        ("server", 1, "(server dry run)\n"),
    ] {
        let server = Server::start(cluster());
        let ran = apply(&server, &[&format!("--dry-run={flag}"), "--event"]);
        ended(&ran, 0);
        assert!(
            ran.stdout
                .contains(&format!("\ndeployment.apps/web scaled {told}"))
        );
        let writes = writes(&server);
        assert_eq!(writes.len(), 2 * sent);
        assert!(
            writes
                .iter()
                .all(|write| write.parameter("dryRun") == Some("All"))
        );
        assert_eq!(scale(&server)["spec"]["replicas"], 2);
    }
    let deaf = "admission webhook \"w\" does not support dry run";
    let denied = "admission webhook \"w\" denied the request: frozen";
    let changed = "the object has been modified";
    // Only a change is retried.
    for (code, reason, text, exit, sent) in [
        (400, "BadRequest", deaf, 1, 1),
        (404, "NotFound", denied, 1, 1),
        (409, "Conflict", denied, 1, 1),
        (409, "Conflict", changed, 6, 2),
    ] {
        let server = faulty(cluster(), [(put(), refusal(code, reason, text))]);
        let ran = apply(&server, &["--dry-run=server", "--retry=1"]);
        assert_eq!(
            (ran.code, writes(&server).len()),
            (Some(exit), sent),
            "{text}"
        );
        shows(&ran.stderr, &format!("{text}; nothing written\n"));
    }
}

/// A webhook may write something other than requested.
#[test]
fn what_the_server_makes_of_it_is_an_outcome_of_its_own() {
    let before = scale(&Server::start(cluster()));
    let version = &before["metadata"]["resourceVersion"];
    // What is undone is not stored, and keeps its version.
    for (made, version) in [
        (2, version),
        (2, &json!("99999999")),
        (3, &json!("99999999")),
    ] {
        let mut cluster = cluster();
        let mut other = before.clone();
        other["spec"]["replicas"] = json!(made);
        other["metadata"]["resourceVersion"] = version.clone();
        cluster.fault(put(), Fault::Unheard);
        cluster.fault(put(), Fault::Answer(Answer::json(200, other.to_string())));
        let server = Server::start(cluster);
        let told = format!("error: the server stored {made} replicas instead of 4");
        for flag in ["--dry-run=server", "--yes"] {
            let ran = apply(&server, &[flag]);
            ended(&ran, 8);
            let line = format!("{made}, stored by the server instead of 4\n");
            shows(&ran.stdout, &line);
            assert!(!ran.stdout.contains("scaled"), "{}", ran.stdout);
            shows(&ran.stderr, &told);
            let named = apply(&server, &[flag, "-o", "name"]);
            assert_eq!(
                (named.code, &*named.stdout),
                (Some(8), ""),
                "{}",
                named.stderr
            );
            shows(&named.stderr, &told);
        }
        // Status and event would differ from reality.
        let flags = [
            "--yes",
            "-o",
            "json",
            "--event",
            "--write-status",
            "--force-write-status",
        ];
        let before = writes(&server).len();
        let answer = apply(&server, &flags).json();
        assert_eq!(
            (&answer["result"]["outcome"], &answer["result"]["replicas"]),
            (&json!("altered"), &json!(made))
        );
        let error = "the server stored a different number of replicas";
        for extra in ["status", "event"] {
            assert_eq!(answer[extra], json!({"written": false, "error": error}));
        }
        assert_eq!(writes(&server).len(), before + 1);
    }
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_asked() {
    let server = Server::start(cluster());
    apply(&server, &[]).fails(
        2,
        &[
            "stdin or stderr is not a terminal",
            "hint: use --yes to write without",
        ],
    );
    let now = ["--yes", "--now=2026-11-21T06:00:00Z"];
    apply(&server, &now).fails(2, &["apply works on the current state"]);
    for (flags, told) in [
        (
            ["--dry-run=client", "--wait"],
            "--wait and --dry-run exclude each other",
        ),
        (
            ["--yes", "--current-replicas=-1"],
            "invalid value '-1' for '--current-replicas <N>'",
        ),
        (
            ["--yes", "--resource-version="],
            "a value is required for '--resource-version <VERSION>'",
        ),
    ] {
        apply(&server, &flags).fails(2, &[told]);
    }
    assert!(server.requests().is_empty());
    let help = run(program().args(["help", "apply"])).stdout;
    assert!(
        help.contains("--sync-period") && !help.contains("--now"),
        "{help}"
    );
    assert!(!help.contains("with -f"), "{help}");
}

/// As with a server that closes every connection after its answer.
#[test]
fn a_write_does_not_meet_a_connection_that_the_server_has_closed() {
    let cut = (When::on("/").method("PUT"), Fault::CutWhereKept);
    let server = faulty(cluster(), [cut]);
    let ran = apply(&server, &["--yes"]);
    ended(&ran, 0);
    assert_eq!(writes(&server).len(), 1);
    assert_eq!(scale(&server)["spec"]["replicas"], 4);
}
