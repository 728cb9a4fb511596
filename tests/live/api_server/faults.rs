//! Faults on demand, and the server's end; kubectl tries them if it is installed.

use std::io::ErrorKind;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::super::shows;
use serde_json::Value;

use super::super::api::{Auth, Exec, Fault, Server, When};
use super::super::names::kubectl;
use super::super::until;
use super::{HPA, PODS, admin, get, names, server};

const SHORT: Duration = Duration::from_millis(150);

fn with_fault(fault: Fault) -> Server {
    server(|cluster| {
        cluster.fault(When::on(PODS), fault);
    })
}

#[test]
fn connections_are_cut() {
    for fault in [Fault::CutBeforeHead, Fault::CutAfterHead, Fault::CutInBody] {
        let server = with_fault(fault.clone());
        for path in [PODS, &format!("{PODS}/nginx-deployment-596d9ffddd-6lrhv")] {
            let error = admin(&server).get(path).expect_err("no whole answer");
            let kind = error.kind();
            assert_eq!(kind, ErrorKind::UnexpectedEof, "{fault:?} {path}: {error}");
        }
        let status = server.requests()[0].status;
        let sent = !matches!(fault, Fault::CutBeforeHead);
        assert_eq!(status, if sent { 200 } else { 0 });
    }
}

#[test]
fn a_server_ends_while_a_request_hangs() {
    let server = with_fault(Fault::Hang);
    let mut client = admin(&server);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || client.get(PODS).map(|response| response.status));
        until("the request", || !server.requests().is_empty());
        std::thread::sleep(SHORT);
        assert_eq!(server.requests()[0].done, None);
        let since = Instant::now();
        drop(server);
        assert!(since.elapsed() < Duration::from_secs(2));
        let ended = waiting.join().expect("no panic");
        assert_eq!(
            ended.expect_err("no answer").kind(),
            ErrorKind::UnexpectedEof
        );
    });
}

#[test]
fn faults_befall_the_requests_that_they_are_meant_for() {
    let server = server(|cluster| {
        cluster
            .fault(When::on(PODS).nth(2), Fault::InternalError)
            .fault(When::on(HPA).first(1), Fault::Unavailable(None))
            .fault(When::on("/version").from(2), Fault::Timeout);
    });
    let mut client = admin(&server);
    let mut statuses = |path: &str| [(); 3].map(|()| client.get(path).expect("an answer").status);
    assert_eq!(statuses(PODS), [200, 500, 200]);
    assert_eq!(statuses(HPA), [503, 200, 200]);
    assert_eq!(statuses("/version"), [200, 504, 504]);
    server.change(|cluster| {
        cluster.heal();
    });
    assert_eq!(get(&server, "/version").status, 200);
}

#[test]
fn kubectl_takes_it_for_an_api_server() {
    if kubectl().is_none() {
        return;
    }
    let server = server(|_| {});
    for auth in [
        Auth::Token("admin"),
        Auth::Certificate("admin"),
        Auth::Exec(Exec::Token("admin")),
        Auth::Exec(Exec::Certificate("admin")),
    ] {
        let config = server.kubeconfig(&auth);
        let ask = |args: &[&str]| -> Output {
            let mut command = Command::new("kubectl");
            command.arg("--kubeconfig").arg(config.path());
            command
                .arg("--cache-dir")
                .arg(config.directory().join("cache"));
            command.args(["--request-timeout", "10s"]).args(args);
            command.output().expect("kubectl runs")
        };
        let text = |output: Output| {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{auth:?}: {errors}");
            String::from_utf8(output.stdout).expect("text")
        };
        let hpa = text(ask(&["get", "hpa", "nginx-deployment", "-o", "json"]));
        let hpa: Value = serde_json::from_str(&hpa).expect("JSON");
        let same = get(&server, &format!("{HPA}/nginx-deployment")).json();
        assert_eq!(hpa["spec"], same["spec"]);
        let pods = text(ask(&["get", "pods", "-l", "app=nginx"]));
        for name in names(&get(&server, PODS).json()) {
            shows(&pods, &name);
        }
        let missing = ask(&["get", "hpa", "nope"]);
        assert_eq!(
            String::from_utf8_lossy(&missing.stderr),
            "Error from server (NotFound): horizontalpodautoscalers.autoscaling \"nope\" not found\n"
        );
    }
}
