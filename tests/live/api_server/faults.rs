//! Faults on demand, transports, and kubeconfigs; kubectl tries them if it is installed.

use std::io::ErrorKind;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::api::kubeconfig::EXEC_SECRET;
use super::super::api::{Answer, Auth, Clock, Exec, Fault, Server, Transport, When};
use super::{HPA, PODS, admin, get, names, server};

const SHORT: Duration = Duration::from_millis(150);

fn with_fault(fault: Fault) -> Server {
    server(|cluster| {
        cluster.fault(When::on(PODS), fault);
    })
}

/// Waits for another thread to do something.
fn until(done: impl Fn() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(10), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn answers_are_replaced() {
    let json = "application/json";
    let text = "text/plain; charset=utf-8";
    let cases = [
        (
            Fault::TooManyRequests(Some(1)),
            429,
            text,
            "1",
            "Too many requests",
        ),
        (
            Fault::TooManyRequests(None),
            429,
            text,
            "",
            "Too many requests",
        ),
        (
            Fault::Unavailable(Some(2)),
            503,
            json,
            "2",
            "ServiceUnavailable",
        ),
        (
            Fault::Unavailable(None),
            503,
            json,
            "",
            "ServiceUnavailable",
        ),
        (Fault::InternalError, 500, json, "", "InternalError"),
        (Fault::Timeout, 504, json, "", "Timeout"),
        (Fault::HtmlBadGateway, 502, "text/html", "", "<html>"),
        (Fault::Unauthorized, 401, json, "", "Unauthorized"),
        (Fault::Expired, 410, json, "", "Expired"),
        (Fault::InvalidJson, 200, json, "", "{\"kind\":\"Status\",,}"),
        (Fault::WrongKind, 200, json, "", "ConfigMap"),
        (
            Fault::Answer(Answer::text(418, "odd")),
            418,
            text,
            "",
            "odd",
        ),
    ];
    for (fault, status, content_type, retry, part) in cases {
        let got = get(&with_fault(fault.clone()), PODS);
        let headers = (got.header("content-type"), got.header("retry-after"));
        assert_eq!(
            (got.status, headers),
            (status, (content_type, retry)),
            "{fault:?}"
        );
        assert!(got.text().contains(part), "{fault:?}: {}", got.text());
        let limits = got.header("x-kubernetes-pf-flowschema-uid");
        assert!(status != 429 || !limits.is_empty(), "{fault:?}");
    }
}

#[test]
fn answers_are_spoilt() {
    let whole = get(&server(|_| {}), PODS);
    let half = get(&with_fault(Fault::TruncatedJson), PODS);
    assert_eq!(half.status, 200);
    assert_eq!(half.body, whole.body[..whole.body.len() / 2]);
    let warned = get(
        &with_fault(Fault::Warning("it is \"old\"".to_owned())),
        PODS,
    );
    assert_eq!(warned.header("warning"), "299 - \"it is \\\"old\\\"\"");
    assert_eq!(warned.body, whole.body);
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
fn time_passes_where_it_shall() {
    for fault in [
        Fault::DelayRequest(SHORT),
        Fault::DelayAnswer(SHORT),
        Fault::DelayBody(SHORT),
    ] {
        let server = with_fault(fault.clone());
        let since = Instant::now();
        get(&server, PODS);
        assert!(since.elapsed() >= SHORT, "{fault:?}");
    }
}

#[test]
fn a_server_ends_while_a_request_hangs() {
    let server = with_fault(Fault::Hang);
    let mut client = admin(&server);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || client.get(PODS).map(|response| response.status));
        until(|| !server.requests().is_empty());
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
fn the_clock_can_be_wrong() {
    let date = |clock| {
        let server = server(|cluster| {
            cluster.clock(clock);
        });
        let date = get(&server, "/version").header("date").to_owned();
        let parsed = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(&date);
        parsed.expect("a date").as_second() - jiff::Timestamp::now().as_second()
    };
    assert!((-2..=2).contains(&date(Clock::Ahead(0))));
    assert!((3598..=3602).contains(&date(Clock::Ahead(3600))));
    assert!((-3602..=-3598).contains(&date(Clock::Ahead(-3600))));
}

#[test]
fn servers_are_reached_or_not() {
    let cases = [
        (Transport::Tls, "200"),
        (Transport::Plain, "200"),
        (Transport::UnknownAuthority, "UnknownIssuer"),
        (Transport::Expired, "expired"),
        (Transport::WrongName, "not valid for name"),
    ];
    for (transport, want) in cases {
        let server = server(|cluster| {
            cluster.transport(transport);
        });
        let got = match admin(&server).get("/version") {
            Ok(response) => response.status.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(got.contains(want), "{transport:?}: {got}");
    }
    let silent = server(|cluster| {
        cluster.transport(Transport::Silent);
    });
    let url = silent.url();
    let mut client = admin(&silent);
    std::thread::scope(|scope| {
        let asked = scope.spawn(move || client.get("/version").map(|response| response.status));
        std::thread::sleep(SHORT);
        assert!(!asked.is_finished(), "{url} is not silent");
        until(|| silent.connections() == 1);
        drop(silent);
        asked.join().expect("no panic").expect_err("no answer");
    });
}

/// Returns the user in a kubeconfig with these credentials.
fn user(server: &Server, auth: &Auth<'_>) -> Value {
    let config = server.kubeconfig(auth);
    let text = std::fs::read_to_string(config.path()).expect("a kubeconfig");
    let config: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(config["clusters"][0]["cluster"]["server"], server.url());
    config["users"][0]["user"].clone()
}

#[test]
fn kubeconfigs_hold_the_credentials_and_go_again() {
    let server = server(|_| {});
    let token = json!({"token": "secret-token-of-bob"});
    assert_eq!(user(&server, &Auth::Token("bob")), token);
    assert_eq!(user(&server, &Auth::None), json!({}));
    let certificate = user(&server, &Auth::Certificate("bob"));
    assert_eq!(certificate.as_object().expect("an object").len(), 2);
    let hanging = user(&server, &Auth::Exec(Exec::Hangs));
    assert_eq!(hanging["exec"]["command"], "/bin/sh");
    let missing = user(&server, &Auth::Exec(Exec::Missing));
    assert_eq!(missing["exec"]["command"], "no-such-credential-plugin");

    let config = server.kubeconfig(&Auth::None);
    config.edit(|config| config["clusters"][0]["cluster"]["server"] = json!("elsewhere"));
    let text = std::fs::read_to_string(config.path()).expect("a kubeconfig");
    assert!(text.contains("elsewhere"));
    let path = config.path();
    drop(config);
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn exec_plugins_do_as_they_shall() {
    let server = server(|_| {});
    let run = |exec: Exec<'_>| {
        let config = server.kubeconfig(&Auth::Exec(exec));
        let text = std::fs::read_to_string(config.path()).expect("a kubeconfig");
        assert!(text.contains(EXEC_SECRET));
        let text: Value = serde_json::from_str(&text).expect("JSON");
        let exec = &text["users"][0]["user"]["exec"];
        let output = Command::new(exec["command"].as_str().expect("a command"))
            .arg(exec["args"][0].as_str().expect("a script"))
            .env("KUBERNETES_EXEC_INFO", "{}")
            .output();
        assert_eq!(config.exec_runs(), ["{}"]);
        output.expect("the shell runs")
    };
    let good = run(Exec::Token("admin"));
    let credential: Value = serde_json::from_slice(&good.stdout).expect("JSON");
    assert_eq!(credential["status"]["token"], "secret-token-of-admin");
    let good = run(Exec::Certificate("admin"));
    let credential: Value = serde_json::from_slice(&good.stdout).expect("JSON");
    let key = credential["status"]["clientKeyData"].as_str();
    assert!(
        key.expect("a key")
            .starts_with("-----BEGIN PRIVATE KEY-----")
    );
    let failed = run(Exec::Fails);
    assert_eq!(failed.status.code(), Some(3));
    assert_eq!(failed.stderr, b"not logged in\n");
    let garbage = run(Exec::Garbage);
    assert_eq!(garbage.stdout, failed.stdout);
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a test that does nothing should say so"
)]
fn kubectl_takes_it_for_an_api_server() {
    let kubectl = |args: &[&str]| Command::new("kubectl").args(args).output();
    if !kubectl(&["version", "--client"]).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no kubectl");
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
            assert!(pods.contains(&name), "{pods}");
        }
        let missing = ask(&["get", "hpa", "nope"]);
        assert_eq!(
            String::from_utf8_lossy(&missing.stderr),
            "Error from server (NotFound): horizontalpodautoscalers.autoscaling \"nope\" not found\n"
        );
    }
}
