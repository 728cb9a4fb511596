//! Sessions with listeners that answer from a script.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use http::header::{AUTHORIZATION, COOKIE, HeaderName};

use super::{Directory, wait};
use crate::args::ConnectionFlags;
use crate::cluster::connect::prepare_elsewhere;
use crate::cluster::http::failure::{FailureKind, WaitingFor};
use crate::cluster::http::retry::Patience;
use crate::cluster::{ApiStatus, Failure, Session, connect};
use crate::error::Error;
use crate::secret::Secret;

/// Listens, returns the next answer on each connection, and returns the requests. An empty answer
/// closes the connection, `hang` waits.
fn server(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else {
                return;
            };
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut head).is_ok_and(|length| length > 2) {}
            let _ = sender.send(head);
            if answer == "hang" {
                std::thread::sleep(Duration::from_secs(3));
            }
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    (address, asked)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn to(server: &str) -> ConnectionFlags {
    ConnectionFlags {
        server: Some(server.to_owned()),
        request_timeout: Some(Duration::from_secs(1)),
        ..ConnectionFlags::default()
    }
}

async fn session(flags: &ConnectionFlags, directory: &Directory) -> Result<Session, Error> {
    connect(flags, &directory.env(&[])).await
}

fn ask(answers: &[String], path: &str) -> (Result<String, Failure>, Session, Vec<String>) {
    let (address, asked) = server(answers.to_vec());
    let directory = Directory::new();
    let (result, session) = wait(async {
        let session = session(&to(&address), &directory).await.unwrap();
        let text = |body: &[u8]| Ok(String::from_utf8_lossy(body).into_owned());
        let result = match session.get(path).await {
            Ok(response) => session.object(&response, text).await,
            Err(e) => Err(e),
        };
        (result, session)
    });
    (result, session, asked.try_iter().collect())
}

#[test]
fn requests_and_answers() {
    let headers =
        "Date: Sat, 21 Nov 2026 07:07:13 GMT\r\nWarning: 299 - \"old\", 299 - \"old\"\r\n";
    let (address, asked) = server(vec![answer("200 OK", headers, "{}")]);
    let directory = Directory::new();
    let mut flags = to(&format!("{address}/prefix"));
    flags.impersonate = Some("me".to_owned());
    flags.impersonate_uid = Some("7".to_owned());
    flags.impersonate_groups = vec!["a,b".to_owned(), "c".to_owned()];
    flags.impersonate_extra = vec!["scopes/x=y".to_owned()];
    flags.token = Some(Secret::new("T-s3cr3t"));
    wait(async {
        let session = session(&flags, &directory).await.unwrap();
        let response = session.get("/api?limit=1").await.unwrap();
        let date = response.date.map(|date| date.to_string());
        assert_eq!(date.as_deref(), Some("2026-11-21T07:07:13Z"));
        assert_eq!(session.warnings(), ["old"]);
        assert_eq!(
            session.notices(),
            ["credentials are not sent over plain HTTP"]
        );
        assert_eq!(session.requests(), 1);
        assert!(!format!("{session:?}").contains("s3cr3t"));
    });
    let head = asked.recv().unwrap().to_lowercase();
    assert!(
        head.starts_with("get /prefix/api?limit=1 http/1.1\r\n"),
        "{head}"
    );
    for want in [
        "user-agent: kubectl-hpa/",
        "accept-encoding: gzip",
        "impersonate-user: me",
        "impersonate-uid: 7",
        "impersonate-group: a,b",
        "impersonate-group: c",
        "impersonate-extra-scopes%2fx: y",
    ] {
        assert!(head.contains(want), "{want} in {head}");
    }
    assert!(!head.contains("authorization"), "{head}");
}

#[test]
fn a_failed_connection_in_client_gos_words() {
    let directory = Directory::new();
    for scheme in ["http", "https"] {
        let (address, asked) = server(Vec::new());
        // The listener ends with its thread.
        while asked.recv().is_ok() {}
        let host = address.trim_start_matches("http://").to_owned();
        let failure = wait(async {
            let session = session(&to(&format!("{scheme}://{host}")), &directory)
                .await
                .unwrap();
            session.get_with("/a?b=c", Patience::Controllers).await
        })
        .unwrap_err();
        assert_eq!(
            failure.client_go(),
            format!(
                "Get \"{scheme}://{host}/a?b=c\": dial tcp {host}: connect: connection refused"
            )
        );
    }
}

#[test]
fn each_long_part_of_a_header_is_secret() {
    const TENANT: HeaderName = HeaderName::from_static("x-tenants");
    const COOKIES: &str = "session=abcdefgh1234; theme=dark; id=7";
    const DIGEST: &str = r#"Digest username="admin", response="0123456789abcd""#;
    let directory = Directory::new();
    for (name, value, repeated, shown) in [
        (COOKIE, COOKIES, COOKIES, "***"),
        (COOKIE, COOKIES, "session is abcdefgh1234", "session is ***"),
        (COOKIE, COOKIES, "session=abcdefgh1234, id=7", "***, id=7"),
        (COOKIE, COOKIES, "theme dark", "theme dark"),
        (AUTHORIZATION, DIGEST, DIGEST, "Digest ***"),
        (AUTHORIZATION, DIGEST, "0123456789abcd", "***"),
        (
            AUTHORIZATION,
            "Negotiate abcdefgh",
            "no Negotiate abcdefgh",
            "no Negotiate ***",
        ),
        (AUTHORIZATION, "abcdefgh", "no abcdefgh", "no ***"),
        (AUTHORIZATION, "abcdefgh of team a", "no abcdefgh", "no ***"),
        (
            AUTHORIZATION,
            r#"Bearer "abcdefgh1234""#,
            "no abcdefgh1234",
            "no ***",
        ),
        (
            AUTHORIZATION,
            "basic YWRtaW46czNjcjN0",
            "s3cr3t of YWRtaW46czNjcjN0",
            "*** of ***",
        ),
        (AUTHORIZATION, "Basic  YWRtaW46czNjcjN0", "s3cr3t", "***"),
        // It is part of words.
        (AUTHORIZATION, "Basic YWRtaW46YWJj", "abc", "abc"),
        (TENANT, "12,tenant-13", "tenant-13 of 12", "*** of 12"),
        (TENANT, "1234567", "1234567", "1234567"),
    ] {
        let struck = wait(async {
            let (url, headers) = ("http://127.0.0.1:1", vec![(name, Secret::new(value))]);
            let (flags, env) = (ConnectionFlags::default(), directory.env(&[]));
            let prepared = prepare_elsewhere(url, headers, None, &flags, &env).unwrap();
            prepared.clients.sent.struck_from(repeated.to_owned())
        });
        assert_eq!(struck, shown, "{value}");
    }
}

#[test]
fn texts_of_failures_have_a_limit() {
    let long = "&".repeat(1 << 18);
    let status =
        format!(r#"{{"kind":"Status","status":"Failure","message":"{long}","reason":"{long}"}}"#);
    for (body, kind, end) in [
        (&status, "application/json", "& ..."),
        // client-go's own limit is lower.
        (&long, "text/plain", "&"),
    ] {
        let kind = format!("Content-Type: {kind}\r\n");
        let (result, ..) = ask(&[answer("403 Forbidden", &kind, body)], "/a");
        let failure = result.expect_err("it failed");
        let ApiStatus {
            reason,
            message,
            body,
            ..
        } = failure.api().expect("an answer");
        for text in [reason, message, body] {
            assert!(text.len() < 9_000, "{}", text.len());
        }
        assert!(message.ends_with(end), "{kind}{message}");
    }
}

/// An API server passes on the codes of a metrics API as a proxy does, as text and with an audit id.
#[test]
fn an_answer_of_a_proxy_is_not_the_api_servers() {
    let status =
        r#"{"kind":"Status","status":"Failure","message":"m","reason":"InternalError","code":502}"#;
    let text = "error trying to reach service: EOF";
    let plain = "Content-Type: text/plain\r\n";
    let audited = format!("{plain}Audit-Id: 1\r\n");
    for (code, headers, body, is_own) in [
        ("502 Bad Gateway", plain, text, true),
        ("502 Bad Gateway", &audited, text, false),
        (
            "502 Bad Gateway",
            "Content-Type: application/json\r\n",
            status,
            false,
        ),
        ("500 Internal Server Error", plain, text, true),
        ("500 Internal Server Error", &audited, text, false),
        ("404 Not Found", plain, text, true),
        ("404 Not Found", &audited, text, false),
    ] {
        let (result, ..) = ask(&[answer(code, headers, body)], "/a");
        let failure = result.expect_err("it failed");
        assert_eq!(failure.is_own(), is_own, "{code} {headers}{body}");
    }
}

#[test]
fn a_plugin_runs_once() {
    let directory = Directory::new();
    let runs = directory.path("runs");
    let script = directory.write("plugin", &format!(
        "echo run >> {runs}\necho '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{{\"token\":\"T-s3cr3t\"}}}}'\n"
    ));
    directory.write(".kube/config", &format!("
current-context: a
contexts: [{{name: a, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}]
users: [{{name: u, user: {{exec: {{command: sh, args: [{script}], interactiveMode: Never, apiVersion: client.authentication.k8s.io/v1}}}}}}]
"));
    let run_count = || {
        std::fs::read_to_string(&runs)
            .unwrap_or_default()
            .lines()
            .count()
    };
    wait(async {
        let session = session(&ConnectionFlags::default(), &directory)
            .await
            .unwrap();
        let _ = session.get("/a").await;
        assert!(!format!("{session:?} {:?}", session.notes(9)).contains("s3cr3t"));
    });
    assert_eq!(run_count(), 1);
    // A token makes it unnecessary.
    let token = ConnectionFlags {
        token: Some(Secret::new("t")),
        ..ConnectionFlags::default()
    };
    wait(session(&token, &directory)).unwrap();
    assert_eq!(run_count(), 1);
}

/// Returns an address that accepts connections and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    (listener, host)
}

/// Returns a session whose earlier requests used most of the time for all requests.
async fn late(host: &str) -> Session {
    let flags = ConnectionFlags {
        request_timeout: None,
        ..to(&format!("http://{host}"))
    };
    let session = session(&flags, &Directory::new()).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(29_800)).await;
    tokio::time::resume();
    session
}

#[test]
fn the_limit_that_struck_is_named() {
    let (_listener, host) = silent();
    let failure = wait(async { late(&host).await.get("/a").await.unwrap_err() });
    let text = "Unable to connect to the server: timed out after 30s in all waiting for";
    assert_eq!(failure.to_string(), format!("{text} {host} to answer"));
    assert!(
        failure
            .hint()
            .is_some_and(|hint| hint.contains("the limit for all requests"))
    );
}

#[test]
fn a_name_that_is_not_resolved_is_told() {
    let directory = Directory::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let failure = runtime.block_on(async {
        // The only thread that could ask the resolver is busy, as with a silent name server.
        let (release, busy) = channel::<()>();
        tokio::task::spawn_blocking(move || busy.recv());
        let session = session(&to("http://localhost:1"), &directory)
            .await
            .unwrap();
        let failure = session.get("/a").await.unwrap_err();
        drop(release);
        failure
    });
    let text = "timed out after 1s looking up localhost in DNS";
    assert_eq!(
        failure.to_string(),
        format!("Unable to connect to the server: {text}")
    );
}

#[test]
fn an_api_that_does_not_answer_is_given_up() {
    let (_listener, host) = silent();
    let directory = Directory::new();
    let flags = ConnectionFlags {
        request_timeout: Some(Duration::from_millis(200)),
        ..to(&format!("http://{host}"))
    };
    wait(async {
        let session = session(&flags, &directory).await.unwrap();
        session.read_many();
        let ask = async |path| session.get(path).await.unwrap_err();
        for _ in 0..4 {
            let failure = ask("/apis/metrics.k8s.io/v1beta1/pods?a=b").await;
            let answer = matches!(
                failure.kind,
                FailureKind::Timeout {
                    waiting: WaitingFor::Answer,
                    in_all: false,
                    ..
                }
            );
            assert!(answer, "{failure:?}");
        }
        assert_eq!(session.requests(), 4);
        let failure = ask("/apis/metrics.k8s.io/v1beta1/nodes").await;
        let text = "not requested: the last requests to";
        let given_up = format!("{text} {host}/apis/metrics.k8s.io timed out after 200ms");
        assert_eq!(
            failure.to_string(),
            format!("Unable to connect to the server: {given_up}")
        );
        assert_eq!(session.requests(), 4);
        // Other APIs are still asked.
        ask("/apis/custom.metrics.k8s.io").await;
        assert_eq!(session.requests(), 5);
    });
}

#[test]
fn a_body_has_limits() {
    let endless = |status: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: 999999999\r\n\r\n{}",
            "x".repeat(2 << 20)
        )
    };
    // The failure is known without the whole body.
    let (result, ..) = ask(&[endless("403 Forbidden")], "/a");
    assert_eq!(result.unwrap_err().status(), Some(403));
}

#[test]
fn no_path_leads_out_of_its_directory() {
    for path in ["/api/v1/namespaces/../pods", "/a/.", "/..?limit=1"] {
        let (result, session, _) = ask(&[answer("200 OK", "", "{}")], path);
        let text = result.unwrap_err().to_string();
        assert!(text.ends_with("not a path to ask for"), "{text}");
        assert_eq!(session.requests(), 0);
    }
}

#[test]
fn reading_ends_with_the_time_for_all_requests() {
    let (_listener, host) = silent();
    wait(async {
        let session = late(&host).await;
        let (release, long) = channel::<()>();
        let read = tokio::task::spawn_blocking(move || {
            let _ = long.recv_timeout(Duration::from_secs(20));
            Ok(())
        });
        let e = session.finished(read).await.unwrap_err();
        assert_eq!(
            e.to_string(),
            "the time for all requests was over before it was read"
        );
        assert!(release.send(()).is_ok());
    });
}

/// The only thread of the runtime keeps time while another one reads.
#[test]
fn reading_an_answer_does_not_hold_up_the_clock() {
    let long = format!("[{}0]", "0,".repeat(64 << 10));
    let (address, _asked) = server(vec![answer("200 OK", "", &long)]);
    let directory = Directory::new();
    let (release, wait_for) = channel::<()>();
    let read = wait(async {
        let session = session(&to(&address), &directory).await.unwrap();
        let response = session.get("/a").await.unwrap();
        let slow = move |_: &[u8]| wait_for.recv().map_err(|e| e.to_string());
        let mut slow = std::pin::pin!(session.object(&response, slow));
        let pause = tokio::time::sleep(Duration::from_millis(20));
        tokio::select! {
            read = &mut slow => panic!("{read:?}"),
            () = pause => {}
        }
        release.send(()).unwrap();
        slow.await
    });
    assert_eq!(read, Ok(()));
}
