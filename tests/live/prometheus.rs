//! A load from Prometheus, end to end: from what a real one answered (`tests/wire`), through the API server's
//! proxy, and from a real one where it is installed. And the fault matrix of reading: each fault is one line
//! and an exit code, without a credential and without retries of minutes.
#![allow(
    clippy::print_stdout,
    reason = "it says what is not tested where there is no Prometheus"
)]

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use kubectl_hpa::snapshot::input::Input;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::api::http::Request;
use super::api::json::array;
use super::api::{Answer, Cluster, Fault, Server, Transport, When};
use super::apply::refusal;
use super::{
    NAME, Ran, directory, ended, faulty, object_in, program, recorded, run, server_with, shows,
};

/// The history that a real Prometheus has in these tests.
#[path = "../../examples/prometheus/main.rs"]
#[allow(
    dead_code,
    reason = "nothing is written to a directory of the user's here"
)]
pub(super) mod history;
#[path = "../common/trajectories.rs"]
pub(super) mod trajectories;

pub(super) const STATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/backtest/state.yaml");
const CANDIDATE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/backtest/candidate.yaml"
);

/// The HPA of that state, by name and namespace.
pub(super) const WEB: [&str; 2] = ["web", "shop"];

/// The hour that was recorded.
const HOUR: [&str; 4] = [
    "--since",
    "2026-11-18T08:30:00Z",
    "--until",
    "2026-11-18T09:30:00Z",
];

/// When pods join, which is no part of a table.
const JOINED: [&str; 4] = ["--ready-after", "20s", "--metrics-after", "30s"];

/// Any fault of the API.
const QUERY: &str = "/api/v1/query";

/// A file in the directory of the tests.
pub(super) fn file(name: &str, text: &str) -> String {
    let path = directory().join(format!("prometheus-{}-{name}", std::process::id()));
    fs::write(&path, text).expect("a file");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Returns the time of a second since 1970.
pub(super) fn time(second: i64) -> String {
    let time = jiff::Timestamp::from_second(second).expect("a time");
    time.to_string()
}

/// Runs a verb about an HPA of a state, by name and namespace, with what is at an address.
pub(super) fn run_at(url: &str, verb: &str, state: &str, hpa: [&str; 2], more: &[&str]) -> Ran {
    let [name, namespace] = hpa;
    run(program()
        .args([
            verb,
            name,
            "-n",
            namespace,
            "-f",
            state,
            "--prometheus",
            url,
        ])
        .args(more))
}

/// `predict` of the shop over a load from an address.
fn predict_at(url: &str, more: &[&str]) -> Ran {
    run_at(url, "predict", STATE, WEB, &[&HOUR, more].concat())
}

/// `explain` of the shop at a moment of that hour.
fn explain_at(url: &str, more: &[&str]) -> Ran {
    let at = ["--at", "2026-11-18T09:00:00Z"];
    run_at(url, "explain", STATE, WEB, &[&at, more].concat())
}

/// A server that answers as the real one did, and one that nothing trusts by itself.
fn server(change: impl FnOnce(&mut Cluster)) -> Server {
    server_with(|cluster| {
        cluster.fault(When::on(QUERY), Fault::Computed(as_recorded));
        change(cluster);
    })
}

/// The flags by which such a server is trusted and asked.
pub(super) fn trusting(server: &Server) -> Vec<String> {
    let authority = file(
        &format!("ca-{}.pem", server.address().port()),
        server.authority(),
    );
    let token = file(
        &format!("token-{}", server.address().port()),
        "secret-token-of-admin\n",
    );
    [
        "--prometheus-ca",
        &authority,
        "--prometheus-header",
        &format!("Authorization=@{token}"),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn predict_over(server: &Server, more: &[&str]) -> Ran {
    over(server, "predict", more)
}

fn over(server: &Server, verb: &str, more: &[&str]) -> Ran {
    let flags = trusting(server);
    let flags: Vec<&str> = flags
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    ask(verb, &server.url(), &flags)
}

/// The verbs that ask a Prometheus.
const VERBS: [&str; 2] = ["predict", "explain"];

fn ask(verb: &str, url: &str, more: &[&str]) -> Ran {
    match verb {
        "predict" => predict_at(url, more),
        _ => explain_at(url, more),
    }
}

/// Returns an answer of Prometheus with a list of results.
pub(super) fn success(kind: &str, result: impl Display) -> Answer {
    let data = format!(r#"{{"resultType":"{kind}","result":{result}}}"#);
    Answer::json(200, format!(r#"{{"status":"success","data":{data}}}"#))
}

/// What a real Prometheus answered, by path and parameters.
pub(super) type Recording = BTreeMap<(String, BTreeMap<String, String>), String>;

/// Reads the lines of a file in `tests/wire`.
pub(super) fn recording_of(lines: impl Iterator<Item = String>) -> Recording {
    let entry = |line: String| {
        let mut line: Value = serde_json::from_str(&line).expect("a recorded answer");
        let query = serde_json::from_value(line["query"].take()).expect("parameters");
        (
            (line["path"].as_str().expect("a path").to_owned(), query),
            line["answer"].to_string(),
        )
    };
    lines.map(entry).collect()
}

/// Returns what was answered to a request.
pub(super) fn recorded_answer(recording: &Recording, request: &Request) -> Answer {
    let path = request.path.rsplit('/').next().unwrap_or_default();
    let query = request.query.iter().cloned().collect();
    match recording.get(&(path.to_owned(), query)) {
        Some(answer) => Answer::json(200, answer.clone()),
        None => Answer::text(500, &format!("not recorded: {:?}", request.query)),
    }
}

fn as_recorded(request: &Request) -> Answer {
    static ALL: LazyLock<Recording> = LazyLock::new(|| {
        let lines = include_str!("../wire/prometheus-2.42.jsonl").lines();
        recording_of(lines.map(str::to_owned))
    });
    if request.header("authorization") != Some("Bearer secret-token-of-admin") {
        return Answer::text(401, "Unauthorized");
    }
    recorded_answer(&ALL, request)
}

/// What a server answers to each request that a run with `-v 8` has shown, as a line of `tests/wire`.
pub(super) fn recording(ran: &Ran) -> Vec<String> {
    let asked = ran
        .stderr
        .lines()
        .filter_map(|line| line.split_once("GET http"));
    let line = |(_, asked): (&str, &str)| {
        let asked = format!(
            "http{}",
            asked.split_whitespace().next().expect("an address")
        );
        let answer = Command::new("curl")
            .args(["-s", &asked])
            .output()
            .expect("curl")
            .stdout;
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let (path, query) = asked.split_once('?').expect("parameters");
        let query = query.split('&').map(|pair| {
            let (name, value) = pair.split_once('=').expect("a value");
            (
                name.to_owned(),
                percent_decode_str(value).decode_utf8_lossy().into_owned(),
            )
        });
        let query: BTreeMap<String, String> = query.collect();
        let path = path.rsplit('/').next().expect("a path");
        json!({"path": path, "query": query, "answer": answer}).to_string()
    };
    asked.map(line).collect()
}

/// The load in a saved state.
pub(super) fn load_of(saved: &str) -> Value {
    object_in(saved, "Load")
}

/// A CSV of the load in a saved state.
fn csv(saved: &str) -> String {
    let load = load_of(saved);
    let line = |cells: &Value| {
        let cells = array(cells).iter().map(|cell| cell.as_str().expect("text"));
        cells.collect::<Vec<_>>().join(",")
    };
    let rows = array(&load["rows"]).iter().map(line);
    [line(&load["columns"])]
        .into_iter()
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

/// An answer without the notes, which say where the load is from.
fn without_notes(mut answer: Value) -> Value {
    answer.as_object_mut().expect("an object").remove("notes");
    answer
}

/// An answer without its commands, which name the source of the load.
fn without_commands(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            fields.remove("commands");
            for value in fields.values_mut() {
                *value = without_commands(value.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_commands(item.take());
            }
        }
        _ => {}
    }
    answer
}

#[test]
fn a_load_comes_to_the_same_from_prometheus_from_a_file_and_as_a_table() {
    let server = server(|_| {});
    let saved = file("week.json", "");
    let json = ["-o", "json", "--passes", "--hpa", CANDIDATE];
    let live = predict_over(&server, &[&json[..], &["--save", &saved]].concat());
    let live = live.without_file(STATE).answer();
    let findings = live["backtest"]["candidates"][0]["findings"].to_string();
    shows(&findings, "hpa predict web -n shop --set");
    shows(&findings, " --prometheus http");
    let live = without_commands(live);
    let load = &live["backtest"]["load"];
    assert_eq!(load["marks"][0]["text"], "rollout", "{load:#}");
    assert_eq!(
        live["backtest"]["check"]["recorded"]["highest"]["replicas"],
        13
    );
    let notes = super::notes(&live);
    shows(
        &notes,
        "CPU usage is the rate between the last two scrapes, about 30s apart",
    );
    assert!(
        notes.contains("a new pod took 20s") || notes.contains("new pods took 20s"),
        "{notes}"
    );

    // Offline, the answer is the same to the last letter.
    let offline = |more: &[&str]| {
        let mut command = program();
        let ran = run(command
            .args(["predict", "web", "-n", "shop"])
            .args(more)
            .args(json));
        let ran = more.iter().fold(ran, |ran, word| ran.without_file(word));
        without_commands(ran.answer())
    };
    assert_eq!(offline(&["-f", &saved]), live);
    // A table has no place for how long pods took to become ready.
    let table = file("week.csv", &csv(&saved));
    let load_object = load_of(&saved);
    let measured = load_object["metricsAfter"].as_str().expect("a duration");
    let joined = ["--ready-after", "20s", "--metrics-after", measured];
    let as_table = offline(&[&["-f", STATE, "--trace", &table][..], &joined].concat());
    for part in ["replay", "candidates", "load"] {
        assert_eq!(as_table["backtest"][part], live["backtest"][part], "{part}");
    }
    // The load of a table is saved, too, and can be played again without the table.
    let again = file("again.json", "");
    let first = offline(&["-f", STATE, "--trace", &table, "--save", &again]);
    assert_eq!(
        without_notes(offline(&["-f", &again])),
        without_notes(first)
    );
    // It is of one HPA.
    let own = r#""hpa":"shop/web""#;
    let text = fs::read_to_string(&saved).expect("a state");
    let (before, load) = text.split_once(r#""kind":"Load""#).expect("a load");
    shows(load, own);
    let load = load.replacen(own, r#""hpa":"shop/api""#, 1);
    let text = format!(r#"{before}"kind":"Load"{load}"#);
    let mut of_another = program();
    run(of_another.args([
        "predict",
        "web",
        "-n",
        "shop",
        "-f",
        &file("api.json", &text),
    ]))
    .fails(
        2,
        &["the saved load is not of shop/web, but of another HPA"],
    );
    // What is typed goes before it.
    let other = file("other.csv", "time,cpu\n0s,100m\n1m,200m\n");
    let typed = offline(&["-f", &again, "--trace", &other]);
    assert_eq!(
        typed["backtest"]["load"]["end"].as_str(),
        Some("2026-11-23T00:06:00Z")
    );
}

#[test]
fn an_hour_with_lost_scrapes_and_restarts_has_the_load_that_it_was_made_of() {
    let server = server(|_| {});
    let saved = file("hour.json", "");
    predict_over(&server, &["--hpa", CANDIDATE, "--save", &saved]);
    let load = load_of(&saved);
    assert_eq!(
        load["columns"],
        json!(["time", "cpu", "replicas", "ready", "spec"])
    );
    let week = history::moments(include_str!("../../examples/backtest/week.csv")).expect("a week");
    let rows: Vec<[&str; 5]> = array(&load["rows"])
        .iter()
        .map(|row| std::array::from_fn(|place| row[place].as_str().expect("a cell")))
        .collect();
    let of_hour = |text: &str| {
        rows.iter()
            .filter(|row| row[4] == text)
            .map(|row| row[0])
            .next()
    };
    assert_eq!(of_hour("rollout"), Some("2026-11-18T09:01:30Z"));
    assert_eq!(of_hour("1 restart"), Some("2026-11-18T09:22:00Z"));
    // kube-state-metrics is away from 09:10:00 to 09:12:00, and what it had last counts for a minute.
    let unknown = rows
        .iter()
        .filter(|row| row[2].is_empty())
        .map(|row| row[0]);
    assert_eq!(
        unknown.collect::<Vec<_>>(),
        ["2026-11-18T09:11:00Z", "2026-11-18T09:11:30Z"]
    );
    let mut compared = 0;
    for [time, cpu, ..] in &rows {
        let second = time.parse::<jiff::Timestamp>().expect("a time").as_second();
        let is_whole = week.windows(2).all(|pair| {
            let same = pair[0].replicas == pair[1].replicas && !pair[0].is_rollout;
            same || (second - pair[1].time).abs() > 270
        });
        if !is_whole {
            continue;
        }
        let around = week
            .iter()
            .filter(|own| (own.time - 60..own.time + 200).contains(&second));
        let around: Vec<i64> = around.map(|own| own.cpu).collect();
        let (least, most) = (
            around.iter().min().expect("some"),
            around.iter().max().expect("some"),
        );
        let cpu: i64 = cpu
            .strip_suffix('m')
            .expect("milli-units")
            .parse()
            .expect("a number");
        assert!(
            (*least..=most + 1).contains(&cpu),
            "{time}: {cpu}m is not in {around:?}"
        );
        compared += 1;
    }
    assert!(compared > 70, "{compared}");
}

#[test]
fn queries_are_shown_to_who_wants_to_know_and_credentials_to_no_one() {
    let server = server(|_| {});
    let ran = predict_over(&server, &["-v", "1"]);
    ended(&ran, 0);
    assert!(
        ran.stderr
            .contains("PromQL for cpu: sum(max by (namespace, pod, container) ((irate(")
    );
    assert!(!predict_over(&server, &[]).stderr.contains("PromQL"));
    predict_over(&server, &["-v", "9"]);
    let asked = server.requests();
    let others = asked
        .iter()
        .filter(|request| !request.path.starts_with(QUERY));
    assert_eq!(others.count(), 0, "only query and query_range are asked");
}

#[test]
fn faults_are_one_line() {
    let prometheus = |code: u16, sort: &str, text: &str| {
        let body = json!({"status": "error", "errorType": sort, "error": text});
        Fault::Answer(Answer::json(code, body.to_string()))
    };
    let page = "<html><body>Sign in, secret-token-of-admin</body></html>";
    let many = "query processing would load too many samples into memory in query execution";
    let values = |values: &str| {
        let series = format!(r#"[{{"metric":{{}},"values":[{values}]}}]"#);
        Fault::Answer(success("matrix", series))
    };
    let long = format!("{} exceeds the limit: {}", "x".repeat(3000), many);
    let rows = [
        (
            "an error without words",
            prometheus(500, "", ""),
            ": an error without words",
            "",
        ),
        (
            "an error without a type",
            prometheus(400, "", "oh"),
            ": oh",
            "",
        ),
        (
            "a long error",
            prometheus(422, "execution", &long),
            "execution: xxx",
            "--step",
        ),
        (
            "a long query",
            prometheus(
                422,
                "422",
                "too long query; got 20000 bytes; mustn't exceed `-search.maxQueryLen=16384` bytes",
            ),
            "too long query",
            "--step",
        ),
        (
            "a long address",
            Fault::Answer(Answer::text(414, "")),
            "HTTP 414",
            "--step",
        ),
        (
            "401",
            Fault::Answer(Answer::text(401, "Unauthorized")),
            "HTTP 401: Unauthorized",
            "check the file of --prometheus-header authorization",
        ),
        (
            "403",
            Fault::Answer(Answer::text(403, "RBAC: access denied")),
            "HTTP 403: RBAC: access denied",
            "check the file of --prometheus-header authorization",
        ),
        (
            "404",
            Fault::Answer(Answer::text(404, "404 page not found")),
            "HTTP 404: 404 page not found",
            "/api/v1/query_range",
        ),
        // A proxy in front of it may answer as an API server does.
        (
            "403 as a Status",
            refusal(403, "Forbidden", "pods \"prometheus\" is forbidden"),
            "HTTP 403: pods \"prometheus\" is forbidden",
            "check the file of --prometheus-header authorization",
        ),
        (
            "401 as a Status",
            Fault::Unauthorized,
            "HTTP 401: Unauthorized",
            "check the file of --prometheus-header authorization",
        ),
        (
            "429 for an hour",
            Fault::TooManyRequests(Some(3600)),
            ": the server asks to wait 1h0m0s, which is too long",
            "",
        ),
        (
            "503 as a Status",
            refusal(503, "ServiceUnavailable", "no endpoints available"),
            "HTTP 503: no endpoints available",
            "",
        ),
        (
            "400",
            prometheus(400, "bad_data", "1:5: parse error: unexpected end"),
            "bad_data: 1:5: parse error",
            "",
        ),
        (
            "422",
            prometheus(422, "execution", many),
            "too many samples",
            "--step",
        ),
        (
            "503 of its own",
            prometheus(503, "timeout", "query timed out in query execution"),
            "timeout: query timed out",
            "--since",
        ),
        (
            "503",
            Fault::Answer(Answer::text(503, "no healthy upstream")),
            "HTTP 503: no healthy upstream",
            "",
        ),
        (
            "500",
            Fault::Answer(Answer::text(500, "secret-token-of-admin is odd")),
            "HTTP 500: *** is odd",
            "",
        ),
        ("502 in HTML", Fault::HtmlBadGateway, "HTTP 502: <html>", ""),
        (
            "302",
            Fault::Answer(
                Answer::text(302, "").with("Location", "https://sso/?t=secret-token-of-admin"),
            ),
            "HTTP 302: it redirects, which is not followed",
            "sign in",
        ),
        (
            "200 in HTML",
            Fault::Answer(Answer::new(200, "text/html", page)),
            "the answer is not one of Prometheus",
            "sign in",
        ),
        (
            "200 with an error",
            prometheus(200, "internal", "oh"),
            "internal: oh",
            "",
        ),
        (
            "invalid JSON",
            Fault::InvalidJson,
            "the answer is not one of Prometheus",
            "",
        ),
        (
            "another kind",
            Fault::WrongKind,
            "the answer is not one of Prometheus",
            "",
        ),
        (
            "cut in the body",
            Fault::CutInBody,
            "the connection was lost during the response",
            "",
        ),
        ("cut before", Fault::CutBeforeHead, "EOF", ""),
        (
            "no numbers",
            values(r#"[1794990600,"NaN"],[1794990630,"+Inf"],[1794990660,"-Inf"]"#),
            "Prometheus has no finite numbers for cpu between",
            "--query METRIC=PROMQL",
        ),
        (
            "nothing",
            values(""),
            "Prometheus has no finite numbers for cpu between",
            "docs/prometheus.md",
        ),
        (
            "other times",
            values(r#"[1794990601,"1"]"#),
            "at other times than were asked for",
            "",
        ),
        (
            "hanging",
            Fault::Hang,
            "timed out after 1s",
            "--request-timeout",
        ),
    ];
    let both = rows
        .into_iter()
        .flat_map(|row| VERBS.map(|verb| (verb, row.clone())));
    for (verb, (name, fault, line, hint)) in both {
        // A load is asked for after what it depends on, which has been answered.
        let is_load = verb == "predict";
        let path = if is_load {
            "/api/v1/query_range"
        } else {
            QUERY
        };
        let server = server(|cluster| {
            if !is_load {
                cluster.fault(When::on(QUERY), values(""));
            }
            cluster.fault(When::on(path), fault);
        });
        let begun = Instant::now();
        let ran = over(&server, verb, &["--request-timeout", "1s", "-v", "0"]);
        let is_empty = ["no numbers", "nothing", "other times"].contains(&name);
        match (is_load, hint) {
            (false, _) if is_empty => {
                ran.fails(
                    1,
                    &[
                        "error: Prometheus has no samples of Deployment/web",
                        "-v 1 prints",
                    ],
                );
            }
            (false, "--step" | "--since") => ran.fails(1, &["error: ", line, "--prometheus-match"]),
            _ => ran.fails(1, &["error: ", line, hint]),
        }
        let [error, rest @ ..] = &ran.complaint()[..] else {
            panic!("{verb}, {name}: nothing")
        };
        assert!(
            error.starts_with("error: failed to query Prometheus at https://") || is_empty,
            "{name}: {error}"
        );
        assert!(
            rest.len() <= 1 && rest.iter().all(|line| line.starts_with("hint: ")),
            "{name}: {rest:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(20), "{name}");
        // Four at once, and each of them again where that may help.
        let asked = server.requests().len();
        let most = match name {
            "503" | "503 as a Status" | "cut before" => 4 + 4 * 4,
            _ if is_empty => 4 + 15,
            _ => 4 + 4,
        };
        assert!(asked <= most, "{name}: {asked} requests");
    }
}

/// Answers that are small as text, and many of which would fit by themselves.
#[test]
fn answers_have_limits_together_by_both_ways() {
    fn series(_: &Request) -> Answer {
        static ALL: LazyLock<String> =
            LazyLock::new(|| vec![r#"{"metric":{},"values":[]}"#; 90_000].join(","));
        success("matrix", format_args!("[{}]", *ALL))
    }
    let told = "its answers need more than 256 MiB of memory";
    let hint = "hint: use a longer --step, or a later --since";
    let fault = || Fault::Computed(series);
    let direct = server(|cluster| _ = cluster.fault(When::on(QUERY), fault()));
    predict_over(&direct, &[]).fails(1, &[told, hint]);
    let proxied = faulty(recorded(), [(When::on(PROXY), fault())]);
    predict_through(&proxied, &[]).fails(1, &[told, hint]);
}

#[test]
fn a_query_has_room_for_so_many_names() {
    fn many(_: &Request) -> Answer {
        let sets = (0..5000)
            .map(|set| format!(r#"{{"metric":{{"replicaset":"web-{set:010}"}},"value":[1,"1"]}}"#));
        let sets: Vec<String> = sets.collect();
        success("vector", format_args!("[{}]", sets.join(",")))
    }
    for verb in VERBS {
        let server = server(|cluster| _ = cluster.fault(When::on(QUERY), Fault::Computed(many)));
        let told = "error: the target had 5000 ReplicaSets, too many for a query";
        over(&server, verb, &[]).fails(1, &[told, "a later --since"]);
    }
}

#[test]
fn certificates_that_are_wrong_and_a_server_without_any_are_one_line() {
    let told = |url: &str, flags: &[String], parts: [&str; 2]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        for verb in VERBS {
            let ran = ask(verb, url, &flags);
            ran.fails(1, &parts);
            assert_eq!(ran.complaint().len(), 2, "{}", ran.stderr);
        }
    };
    for (transport, parts) in [
        (
            Transport::UnknownAuthority,
            [
                "certificate signed by unknown authority",
                "hint: --prometheus-ca",
            ],
        ),
        (
            Transport::Expired,
            ["certificate has expired", "hint: compare the clocks"],
        ),
        (
            Transport::WrongName,
            [
                "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
                "hint: ",
            ],
        ),
    ] {
        let server = server(|cluster| {
            cluster.transport(transport);
        });
        told(&server.url(), &trusting(&server), parts);
        assert!(server.requests().is_empty(), "{transport:?}");
    }
    let plain = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}", plain.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut client in plain.incoming().flatten() {
            drop(std::io::Write::write_all(
                &mut client,
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
            ));
        }
    });
    told(
        &url,
        &[],
        [
            "does not look like a TLS handshake",
            "hint: the server does not speak TLS",
        ],
    );
}

#[test]
fn servers_that_cannot_be_reached_or_trusted() {
    let server = server(|_| {});
    let token = file("token-only", "secret-token-of-admin");
    let header = format!("Authorization=@{token}");
    for verb in VERBS {
        let ran = ask(verb, &server.url(), &["--prometheus-header", &header]);
        ran.fails(
            1,
            &[
                "certificate signed by unknown authority",
                "hint: --prometheus-ca names",
            ],
        );
        ask(verb, "https://127.0.0.1:1", &[]).fails(
            1,
            &[
                "https://127.0.0.1:1",
                "connection refused",
                "hint: nothing listens",
            ],
        );
    }
    for (url, more, part) in [
        (
            "https://user:secret-password@prom",
            &[][..],
            "must not hold credentials",
        ),
        (
            "http://prom.example.com",
            &["--prometheus-header", &header],
            "not sent over plain HTTP",
        ),
        (
            "http://prom.example.com",
            &["--prometheus-header", "Authorization=secret-password"],
            "not of the form NAME=@FILE",
        ),
        (
            "http://prom.example.com",
            &["--prometheus-ca", "/nowhere.pem"],
            "error: --prometheus-ca: failed to read /nowhere.pem: ",
        ),
        (
            "monitoring/prometheus:9090",
            &[],
            "with -f there is no cluster",
        ),
        (
            "monitoring/prometheus:9090",
            &["--prometheus-header", &header],
            "only for an address",
        ),
        (
            "http://127.0.0.1:1",
            &["--query", "rps=sum(x)"],
            "the HPA has no metric rps",
        ),
        (
            "http://127.0.0.1:1",
            &["--prometheus-header", &format!("Host=@{token}")],
            "belongs to the connection",
        ),
        (
            "http://127.0.0.1:1",
            &[
                "--prometheus-header",
                &header,
                "--prometheus-header",
                &header.replacen("Authorization", "authorization", 1),
            ],
            "given more than once",
        ),
        (
            "http://127.0.0.1:1",
            &["--prometheus-match", "eu"],
            "not of the form LABEL=",
        ),
        (
            "admin:secret-password@prom.example.com/prom",
            &[],
            "neither an address nor",
        ),
        (
            "http://127.0.0.1:1",
            &["--query", "cpu"],
            "not of the form METRIC=PROMQL",
        ),
        (
            "http://127.0.0.1:1",
            &["--step", "1500ms"],
            "not a whole number of seconds",
        ),
        (
            "http://127.0.0.1:1",
            &["--step", "0s"],
            "must be at least 1s",
        ),
        (
            "http://127.0.0.1:1",
            &["--trace", "week.csv"],
            "cannot be used with",
        ),
    ] {
        let ran = predict_at(url, more);
        assert!(
            matches!(ran.code, Some(1 | 2)),
            "{url} {more:?}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains(part) && ran.stdout.is_empty(),
            "{url} {more:?}: {}",
            ran.stderr
        );
    }
    for (verb, flag, value) in [
        ("predict", "--since", "7d"),
        ("predict", "--step", "15s"),
        ("explain", "--at", "1h"),
        ("explain", "--query", "rps=x"),
    ] {
        let mut alone = program();
        let ran = run(alone.args([verb, "web", "-f", STATE, flag, value]));
        ran.fails(
            2,
            &[&format!(
                "error: {flag} requires --prometheus\nhint: --prometheus names"
            )],
        );
    }
    explain_at("http://127.0.0.1:1", &["--query", "cpu=sum(x)"])
        .fails(2, &["error: --query cpu=sum(x): the record and the usage"]);
    // A state that was saved without a load has nothing to play.
    let mut bare = program();
    run(bare.args(["predict", "web", "-f", STATE, "--vary", "max=9..11"]))
        .fails(2, &["--vary applies only to a run"]);
}

/// What a server of another kind makes of an answer, below a path and for a tenant of its own.
fn elsewhere(request: &Request, tenant: Option<&str>, more: &Value) -> Answer {
    if tenant.is_some() && request.header("x-scope-orgid") != tenant {
        return Answer::text(401, "no org id");
    }
    let mut answer = as_recorded(request);
    if let Ok(Value::Object(mut body)) = serde_json::from_slice(&answer.body) {
        body.extend(more.as_object().expect("fields").clone());
        answer.body = Value::Object(body).to_string().into_bytes();
    }
    answer
}

#[test]
fn other_servers_differ_in_paths_tenants_and_partial_answers() {
    fn thanos(request: &Request) -> Answer {
        elsewhere(
            request,
            None,
            &json!({"warnings": ["store 10.0.0.7:10901 is down"]}),
        )
    }
    fn mimir(request: &Request) -> Answer {
        elsewhere(request, Some("team-a"), &json!({}))
    }
    fn victoria(request: &Request) -> Answer {
        elsewhere(request, None, &json!({"isPartial": true}))
    }
    let tenant = format!("X-Scope-OrgID=@{}", file("tenant", "team-a\n"));
    let tenant = ["--prometheus-header", &tenant];
    let of_load = |answer: &Value| answer["backtest"]["replay"]["totals"].clone();
    let whole = of_load(&predict_over(&server(|_| {}), &["-o", "json"]).answer());
    for (path, answers, flags, note) in [
        (
            "",
            Fault::Computed(thanos),
            &[][..],
            "Prometheus warns: store 10.0.0.7:10901 is down",
        ),
        ("/prometheus", Fault::Computed(mimir), &tenant, ""),
        (
            "/select/0/prometheus",
            Fault::Computed(victoria),
            &[],
            "the answer is partial",
        ),
    ] {
        let server = server(|cluster| {
            cluster.fault(When::on(path), answers);
        });
        let (url, trusting) = (format!("{}{path}", server.url()), trusting(&server));
        let trusting: Vec<&str> = trusting.iter().map(String::as_str).collect();
        let answer = predict_at(&url, &[&trusting[..], flags, &["-o", "json"]].concat()).answer();
        assert_eq!(of_load(&answer), whole, "{path}");
        let notes = super::notes(&answer);
        let said = notes.matches(note).count();
        assert!(
            note.is_empty() || said == 1,
            "{path}: {said} times in {notes}"
        );
        assert_eq!(notes.contains("warns"), !note.is_empty(), "{path}: {notes}");
        if !flags.is_empty() {
            for verb in VERBS {
                ask(verb, &url, &trusting).fails(1, &["HTTP 401: no org id", "X-Scope-OrgID=@"]);
            }
        }
    }
}

/// A subquery over all containers may be more than a server computes.
#[test]
fn a_load_goes_on_without_the_start_of_containers() {
    fn too_many(request: &Request) -> Answer {
        let query = request.parameter("query").unwrap_or_default();
        if !query.contains("timestamp(") {
            return as_recorded(request);
        }
        let text = "query processing would load too many samples into memory in query execution";
        let body = json!({"status": "error", "errorType": "execution", "error": text});
        Answer::json(422, body.to_string())
    }
    let whole = server(|_| {});
    let part = server(|cluster| _ = cluster.fault(When::on(QUERY), Fault::Computed(too_many)));
    let joined = [&JOINED[..], &["-o", "json"]].concat();
    let [of_whole, of_part] = [&whole, &part].map(|server| predict_over(server, &joined).answer());
    assert_eq!(
        of_part["backtest"]["replay"],
        of_whole["backtest"]["replay"]
    );
    let saved = file("start.json", "");
    let ran = predict_over(&part, &["-o", "json", "--save", &saved]);
    let notes = super::notes(&ran.answer());
    let note = "for how long containers take to start: execution: query processing would load too many samples into \
                memory in query execution; --metrics-after states when new pods have metrics";
    assert_eq!(notes.matches(note).count(), 1, "{notes}");
    assert!(!notes.contains("warns"), "{notes}");
    let load = load_of(&saved);
    assert_eq!(
        (&load["readyAfter"], &load["metricsAfter"]),
        (&json!("20s"), &Value::Null)
    );
}

/// A Prometheus with one value for each question about the recorded Deployment.
fn made_up(request: &Request) -> Answer {
    let query = request.parameter("query").unwrap_or_default();
    let number = |name| {
        request
            .parameter(name)
            .and_then(|text| text.parse::<i64>().ok())
    };
    let value = match query {
        query if query.contains("changes(") || query.contains("replicas_updated") => "0",
        query if query.contains("cfs") => "0.25",
        query if query.contains("container_cpu_usage") => "0.5",
        query if query.contains("resource_requests") => "0.3",
        _ => "10",
    };
    let (kind, series) = match (number("start"), number("end"), number("step")) {
        (Some(start), Some(end), Some(step)) => {
            let times = (start..=end).step_by(usize::try_from(step).expect("a step"));
            let values: Vec<Value> = times.map(|time| json!([time, value])).collect();
            ("matrix", json!({"metric": {}, "values": values}))
        }
        _ => (
            "vector",
            json!({"metric": {"replicaset": "nginx-deployment-5d"}, "value": [0, value]}),
        ),
    };
    let data = json!({"resultType": kind, "result": [series]});
    let warnings = ["1 of 3 stores did not answer"];
    Answer::json(
        200,
        json!({"status": "success", "warnings": warnings, "data": data}).to_string(),
    )
}

const PROXY: &str = "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/api/v1/query";

/// `predict` of the recorded cluster over a load behind a service.
fn predict_through(server: &Server, more: &[&str]) -> Ran {
    let predict = ["predict", NAME, "-n", "default", "--since", "2h"];
    let service = ["--prometheus", "monitoring/prometheus:9090"];
    super::ask(server, "admin", &[&predict[..], &service, more].concat())
}

#[test]
fn a_service_is_reached_through_the_api_server() {
    let server = faulty(recorded(), [(When::on(PROXY), Fault::Computed(made_up))]);
    let answer = predict_through(&server, &["-o", "json"]).answer();
    let check = &answer["backtest"]["check"];
    assert_eq!(check["recorded"]["highest"]["replicas"], 10, "{check:#}");
    let notes = super::notes(&answer);
    shows(&notes, "Prometheus warns: 1 of 3 stores did not answer");
    shows(&notes, "held containers back in 25% of the periods");
    shows(
        &notes,
        "the requests of the pods were different: cpu 300m for each, ",
    );
    let asked = server.requests();
    let queries = asked
        .iter()
        .filter(|request| request.path.starts_with(PROXY))
        .count();
    assert!(queries >= 10, "{queries}");
}

#[test]
fn a_service_that_may_not_or_cannot_be_reached() {
    let denied = "services \"prometheus:9090\" is forbidden: User \"bob\" cannot get resource \"services/proxy\"";
    let none = "no endpoints available for service \"prometheus:9090\"";
    for (refusal, parts) in [
        (
            refusal(403, "Forbidden", denied),
            [
                "Error from server (Forbidden)",
                "get services/proxy in the namespace monitoring",
                "resources: [\"services/proxy\"], verbs: [\"get\"]",
            ],
        ),
        (
            refusal(503, "ServiceUnavailable", none),
            [
                "Error from server (ServiceUnavailable)",
                "no endpoints available",
                "no ready pod serves this port: see `kubectl ",
            ],
        ),
    ] {
        let server = faulty(recorded(), [(When::on(PROXY), refusal)]);
        predict_through(&server, &[]).fails(1, &parts);
    }
}

/// A Prometheus that runs until it is dropped.
pub(super) struct Real {
    server: Child,
    url: String,
    _work: tempfile::TempDir,
}

impl Drop for Real {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

impl Real {
    /// Starts one with a history. None where none is installed, which is said; then the history is not built.
    pub(super) fn start(history: impl FnOnce() -> history::History) -> Option<Self> {
        Self::start_with(history, &[])
    }

    /// The same with more flags.
    fn start_with(history: impl FnOnce() -> history::History, flags: &[&str]) -> Option<Self> {
        let is_there = |name| Command::new(name).arg("--version").output().is_ok();
        let is_required = std::env::var_os("REQUIRE_PROMETHEUS").is_some();
        if !is_there("prometheus") || !is_there("promtool") {
            // Past the test's own output, which no one reads of a test that passes.
            let line = "not tested: prometheus and promtool are not installed\n";
            assert!(!is_required, "{line}");
            drop(std::io::Write::write_all(
                &mut std::io::stderr(),
                line.as_bytes(),
            ));
            return None;
        }
        let work = tempfile::Builder::new()
            .prefix("prometheus")
            .tempdir()
            .expect("a directory");
        let at = |name: &str| -> PathBuf { work.path().join(name) };
        for (number, text) in history().files() {
            let block = at(&format!("{number}.om"));
            fs::write(&block, text).expect("a file");
            let mut promtool = Command::new("promtool");
            promtool.args(["tsdb", "create-blocks-from", "openmetrics", "--quiet"]);
            let made = promtool
                .arg(&block)
                .arg(at("data"))
                .output()
                .expect("it runs");
            assert!(
                made.status.success(),
                "{}",
                String::from_utf8_lossy(&made.stderr)
            );
        }
        fs::write(at("prometheus.yml"), "{}").expect("a file");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = port.expect("a free port").to_string();
        let server = Command::new("prometheus")
            .arg(flag("config.file", &at("prometheus.yml")))
            .arg(flag("storage.tsdb.path", &at("data")))
            .args(["--storage.tsdb.retention.time=100y", "--log.level=error"])
            .arg(format!("--web.listen-address={address}"))
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let real = Self {
            server,
            url: format!("http://{address}"),
            _work: work,
        };
        let begun = Instant::now();
        while real.query("vector(1)", 1000, 1030, 30).is_none() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "it does not answer"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(real)
    }

    /// Its address.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// What a query gives over time, as promtool prints it: a value and its time in a line.
    fn query(&self, query: &str, start: i64, end: i64, step: i64) -> Option<Vec<(i64, f64)>> {
        let mut promtool = Command::new("promtool");
        promtool.args([
            "query",
            "range",
            &format!("--start={start}"),
            &format!("--end={end}"),
        ]);
        let ran = promtool
            .args([&format!("--step={step}s"), &self.url, query])
            .output()
            .ok()?;
        let text = String::from_utf8(ran.stdout)
            .ok()
            .filter(|_| ran.status.success())?;
        let sample = |line: &str| {
            let (value, time) = line.split_once(" @[")?;
            let time: f64 = time.strip_suffix(']')?.parse().ok()?;
            Some((time as i64, value.parse().ok()?))
        };
        Some(text.lines().filter_map(sample).collect())
    }
}

fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

#[test]
fn a_real_one_gives_the_load_that_its_history_was_made_of() {
    let week = history::moments(include_str!("../../examples/backtest/week.csv")).expect("a week");
    if std::env::var_os("RECORD").is_some() {
        return record(&week);
    }
    let (first, hours) = (week[0].time, 6 * 3600);
    let some: Vec<_> = week
        .into_iter()
        .take_while(|own| own.time <= first + hours)
        .collect();
    let Some(real) = Real::start(|| history::history(&some, 30)) else {
        return;
    };
    // Of each pod two samples are there by then.
    let (start, end) = (first + 300, first + hours);
    let [since, until] = [start, end].map(time);
    let saved = file("real.json", "");
    let predict = |source: &[&str]| {
        let mut command = program();
        command.args([
            "predict", "web", "-n", "shop", "-f", STATE, "--hpa", CANDIDATE,
        ]);
        run(command
            .args(["-o", "json", "--passes"])
            .args(JOINED)
            .args(source))
        .answer()
    };
    let live = predict(&[
        "--prometheus",
        &real.url,
        "--since",
        &since,
        "--until",
        &until,
        "--save",
        &saved,
    ]);

    // The same load by another tool, as a table.
    let load = load_of(&saved);
    let mut queries = array(&load["queries"]).iter();
    let query = queries.find(|own| own["for"] == "cpu").expect("a query")["query"].clone();
    let cpu = real
        .query(query.as_str().expect("text"), start, end, 30)
        .expect("samples");
    let replicas = r#"kube_deployment_spec_replicas{namespace="shop", deployment="web"}"#;
    let replicas = real.query(replicas, start, end, 30).expect("samples");
    let ready = r#"kube_deployment_status_replicas_ready{namespace="shop", deployment="web"}"#;
    let ready = real.query(ready, start, end, 30).expect("samples");
    let mut table = "time,cpu,replicas,ready\n".to_owned();
    for ((cpu, replicas), ready) in cpu.iter().zip(&replicas).zip(&ready) {
        assert!(cpu.0 == replicas.0 && cpu.0 == ready.0);
        let milli = ((cpu.1 * 1e9).round() / 1e6).ceil();
        writeln!(table, "{},{milli}m,{},{}", cpu.0, replicas.1, ready.1).expect("text");
    }
    let as_table = predict(&["--trace", &file("real.csv", &table)]);
    for part in ["replay", "candidates", "check"] {
        assert_eq!(live["backtest"][part], as_table["backtest"][part], "{part}");
    }

    // The history was made of this load, of which a rate between two measurements shows the mean. If scrapes were lost,
    // it reaches back up to 200 s. Pods that have just come or gone are not whole there.
    let is_steady = |time: i64| {
        let around = some.iter().filter(|own| (own.time - time).abs() <= 270);
        let mut counts: Vec<usize> = around.map(|own| own.replicas).collect();
        counts.dedup();
        counts.len() == 1
    };
    let mut compared = 0;
    for (time, value) in cpu.iter().filter(|(time, _)| is_steady(*time)) {
        let around = some
            .iter()
            .filter(|own| (own.time - 60..own.time + 200).contains(time));
        let around: Vec<f64> = around.map(|own| own.cpu as f64 / 1000.0).collect();
        let least = around.iter().copied().fold(f64::MAX, f64::min);
        let most = around.iter().copied().fold(0.0, f64::max);
        let range = least - 1e-9..=most + 1e-9;
        assert!(range.contains(value), "{time}: {value} is not in {range:?}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

/// Pods that come one after the other: when each was created, and how long it took until its container started
/// and until it was ready.
const COMING: i64 = 41;

fn coming(start: i64) -> Vec<(i64, i64, i64)> {
    (0..COMING)
        .map(|n| (start + 600 + n * 311, (n * 5) % 21, 22 + (n * 17) % 83))
        .collect()
}

/// Their history, with a scrape of everything every 30 s, and a scrape of the usage that many seconds later. A pod has
/// the name of one that is gone, as in a StatefulSet.
fn history_of_coming(start: i64, later: i64) -> history::History {
    // They are gone while they still count as new.
    const LIVE: i64 = 900;
    let mut history = history::History::default();
    let owner = r#"owner_kind="Deployment",owner_name="web""#;
    let set = format!(r#"kube_replicaset_owner{{namespace="shop",replicaset="web-1",{owner}}}"#);
    let hpa = r#"{namespace="shop",horizontalpodautoscaler="web"}"#;
    let hpa = format!("kube_horizontalpodautoscaler_spec_max_replicas{hpa}");
    for time in (start..start + 600 + COMING * 311 + LIVE).step_by(30) {
        history.add(&set, time, 1.0);
        history.add(&hpa, time, 24.0);
        for (number, (created, starts, ready)) in coming(start).iter().enumerate() {
            let labels = format!(r#"namespace="shop",pod="web-1-{}""#, number % 4);
            let container = format!(r#",container="web",id="{number}""#);
            let mut add = |name: &str, more: &str, time: i64, value: f64| {
                history.add(&format!("{name}{{{labels}{more}}}"), time, value);
            };
            if (*created..created + LIVE).contains(&time) {
                let owner = r#",owner_kind="ReplicaSet",owner_name="web-1""#;
                add("kube_pod_owner", owner, time, 1.0);
                add("kube_pod_created", "", time, *created as f64);
                if time >= created + ready {
                    add(
                        "kube_pod_status_ready_time",
                        "",
                        time,
                        (created + ready) as f64,
                    );
                }
            }
            let (usage, started) = (time + later, created + starts);
            if (started..created + LIVE).contains(&usage) {
                let used = (usage - started) as f64 / 2.0;
                add("container_cpu_usage_seconds_total", &container, usage, used);
            }
        }
    }
    history
}

#[test]
fn how_long_pods_take_is_what_the_history_was_made_with() {
    let start: i64 = 1_794_960_000;
    let (since, until) = (time(start), time(start + 15_000));
    let median = |of: &dyn Fn(&(i64, i64, i64)) -> i64| {
        let mut all: Vec<i64> = coming(start).iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2] as f64
    };
    for later in [1, 13, 28] {
        let Some(real) = Real::start(|| history_of_coming(start, later)) else {
            return;
        };
        let saved = file("start-up.json", "");
        let span = ["--since", &since, "--until", &until];
        let more = [&span[..], &["--save", &saved, "-o", "json"]].concat();
        run_at(real.url(), "predict", STATE, WEB, &more).answer();
        let load = load_of(&saved);
        let seconds = |field: &str| {
            let text = load[field].as_str().expect("a duration");
            text.parse::<jiff::SignedDuration>()
                .expect("a duration")
                .as_secs_f64()
        };
        assert_eq!(seconds("readyAfter"), median(&|pod| pod.2));
        // When a container started is known only to a scrape.
        let (measured, truth) = (seconds("metricsAfter") - 30.0, median(&|pod| pod.1));
        println!(
            "scraped {later} s later: containers started after {measured} s; truth: {truth} s"
        );
        assert!(
            (measured - truth).abs() <= 4.0,
            "{later}: {measured} s for {truth} s"
        );
    }
}

#[test]
fn a_real_one_that_would_load_too_many_samples_is_one_line() {
    let start: i64 = 1_794_960_000;
    let limit = ["--query.max-samples=200"];
    let Some(real) = Real::start_with(|| history_of_coming(start, 13), &limit) else {
        return;
    };
    let (since, at, until) = (time(start), time(start + 5000), time(start + 15_000));
    for (verb, flags, hint) in [
        (
            "predict",
            &["--since", &since, "--until", &until][..],
            "use a longer --step",
        ),
        (
            "explain",
            &["--at", &at],
            "--prometheus-match selects fewer series",
        ),
    ] {
        let ran = run_at(real.url(), verb, STATE, WEB, flags);
        let said = "execution: query processing would load too many samples into memory in query execution";
        ran.fails(1, &[said, hint]);
        assert_eq!(ran.complaint().len(), 2, "{}", ran.stderr);
    }
}

#[test]
fn what_is_no_number_in_a_real_one_is_missing() {
    let start: i64 = 1_794_960_000;
    let of_no_numbers = || {
        let mut history = history::History::default();
        let values = [
            1.0,
            f64::NAN,
            2.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            3.0,
        ];
        for (time, value) in (start..).step_by(30).zip(values) {
            history.add("x", time, value);
        }
        history
    };
    let Some(real) = Real::start(of_no_numbers) else {
        return;
    };
    let saved = file("no-number.json", "");
    let (since, until) = (time(start), time(start + 180));
    let span = ["--since", &since, "--until", &until];
    let more = [&span[..], &["--query=cpu=x", "--save", &saved, "-o=json"]].concat();
    run_at(real.url(), "predict", STATE, WEB, &more).answer();
    let table = csv(&saved);
    let cells: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split(',').nth(1))
        .collect();
    assert_eq!(
        cells,
        [
            "cpu", "1000m", "missing", "2000m", "missing", "missing", "0", "3000m"
        ]
    );
}

/// Writes down what a real one answers about the hour that is recorded.
fn record(week: &[history::Moment]) {
    let time = |text: &str| text.parse::<jiff::Timestamp>().expect("a time").as_second();
    let (since, until) = (time(HOUR[1]) - 4 * 3600, time(HOUR[3]) + 600);
    let around = week
        .iter()
        .filter(|own| (since..until).contains(&own.time))
        .copied();
    let Some(real) = Real::start(|| history::history(&around.collect::<Vec<_>>(), 30)) else {
        return;
    };
    let mut lines = recording(&predict_at(real.url(), &["-v", "8", "--hpa", CANDIDATE]));
    lines.sort();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/wire/prometheus-2.42.jsonl"
    );
    fs::write(path, lines.join("\n") + "\n").expect("a file");
}

#[test]
fn the_check_of_a_recorded_run_is_as_computed_by_hand() {
    let Some(real) = Real::start(|| super::past::history("plain", 1)) else {
        return;
    };
    let count = |moment: &Input| {
        moment
            .snapshot
            .scale
            .as_ref()
            .expect("a scale")
            .spec_replicas
    };
    let replicas: Vec<_> = trajectories::moments("plain")
        .iter()
        .map(|moment| (moment.snapshot.now.as_second(), count(moment)))
        .collect();
    let state =
        kubectl_hpa::saved::save::to_json(&[trajectories::last("plain")], &[]).expect("a state");
    let state = file("plain.json", &state);
    for (step, at_least) in [(5, 0.96), (30, 0.95), (60, 0.85)] {
        let step_of = format!("--step={step}s");
        let more = ["--since=20m", &step_of, "-o=json", "--passes"];
        let answer = run_at(&real.url, "predict", &state, ["web", "plain"], &more).answer();
        let (backtest, check) = (&answer["backtest"], &answer["backtest"]["check"]);
        let start: jiff::Timestamp = backtest["load"]["start"]
            .as_str()
            .expect("a time")
            .parse()
            .expect("a time");
        let played = array(&backtest["replay"]["replicas"]);
        let (mut compared, mut equal, mut within_one, mut early) = (0, 0, 0, 0);
        let passes = array(&check["replicas"]).len();
        let start = start.as_millisecond();
        for (pass, own) in played.iter().take(passes).enumerate() {
            // A pass writes right after its time; half a period later the record has it, in the sample before or
            // in the next one.
            let after = 15_000 * i64::try_from(pass).expect("a count") + 7500;
            let sampled = start + after / (step * 1000) * (step * 1000);
            let end = backtest["load"]["end"]
                .as_str()
                .expect("a time")
                .parse::<jiff::Timestamp>();
            let end = end.expect("a time").as_millisecond();
            let own = own.as_i64().expect("replicas");
            let recorded = |at: i64| {
                let found = replicas.iter().rfind(|(time, _)| time * 1000 <= at);
                found
                    .filter(|_| at <= end)
                    .map(|(_, recorded)| (own - i64::from(*recorded)).abs())
            };
            let around = [recorded(sampled), recorded(sampled + step * 1000)];
            let Some(apart) = around.into_iter().flatten().min() else {
                continue;
            };
            compared += 1;
            equal += u64::from(apart == 0);
            early += u64::from(apart != 0 && recorded(sampled + 15_000) == Some(0));
            within_one += u64::from(apart <= 1);
        }
        println!("every {step} s: {equal} of {compared} equal, {within_one} within one");
        let of = |name: &str| check[name].as_u64();
        assert_eq!(
            [of("compared"), of("equal"), of("withinOne")],
            [Some(compared), Some(equal), Some(within_one)],
            "{step}"
        );
        // The passes of a replay begin with the load: those of the controller were up to a sync period later.
        assert!(
            step > 5 || equal + early == compared,
            "{step}: {early} of {compared} are early"
        );
        assert!(
            equal as f64 >= at_least * compared as f64,
            "{step}: {equal} of {compared}"
        );
    }
}
