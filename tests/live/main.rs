//! `explain` against the test API server, end to end: the answer, its cost, and how each
//! fault on the way is reported. Exit code, standard error and standard output are all part of
//! it, and no credential may appear in either, however much `-v` asks for.

#[path = "../api/mod.rs"]
mod api;

mod answers;
mod api_server;
mod apply;
mod apply_rest;
mod complete;
mod connect;
mod control_plane;
mod faults;
mod fleet;
mod fleet_limits;
mod list;
mod metrics;
mod model;
mod named;
mod names;
mod past;
mod pasted;
mod predict;
mod prometheus;
#[path = "../common/ran.rs"]
mod ran;
mod roles;
mod rounds;
mod saved;
#[path = "../common/schema.rs"]
mod schema;
mod secrets;
mod side_by_side;
mod signals;
mod usage;

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use api::json::{array, each};
use api::{Auth, Clock, Cluster, Fault, Kubeconfig, Server, When};
use assert_cmd::Command;
use ran::{PROGRAM, Ran, run};
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempPath};

const NAME: &str = "nginx-deployment";
const HPAS: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const HPA: &str =
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/nginx-deployment";
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/nginx-deployment/scale";
const PODS: &str = "/api/v1/namespaces/default/pods";
const POD_METRICS: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";

/// The longest that anything here may take: the deadline of all requests, with some slack.
const LONGEST: Duration = Duration::from_secs(45);

/// Returns the recorded cluster at the time of the recording.
fn recorded() -> Cluster {
    let mut cluster = Cluster::recorded();
    cluster.clock(Clock::Recorded);
    cluster
}

/// Returns the same with these HPAs of three pods each in `shop`.
fn with_hpas(names: &[&str]) -> Cluster {
    let mut cluster = recorded();
    for name in names {
        cluster.autoscaled(["shop", name], 3);
    }
    cluster
}

/// Returns the program, detached from the environment of the test.
fn program() -> Command {
    command(PROGRAM)
}

/// Returns a command, detached from the environment of the test, that does not take too long.
fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::from_std(detached(program));
    command.timeout(LONGEST);
    command
}

/// Returns a command, detached from the environment of the test.
fn detached(program: impl AsRef<OsStr>) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    for name in [
        "KUBECONFIG",
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "NO_PROXY",
        "no_proxy",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
    ] {
        command.env_remove(name);
    }
    command.env("HOME", "/nonexistent").env("KUBERC", "off");
    command
}

/// Waits for another thread or process to do something.
#[track_caller]
fn until(what: &str, is_done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_done() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{what}: it never came"
        );
        sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, name: &str) {
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// Sends a signal, and returns how the program ends.
fn signalled(child: Child, name: &str) -> Ran {
    signal(&child, name);
    Ran::of(child.wait_with_output().expect("it ends"))
}

/// A change to the recorded cluster.
type Change = fn(&mut Cluster);

/// Returns the program with a kubeconfig, explaining the recorded HPA.
fn explain_with(config: &Kubeconfig, more: &[&str]) -> Ran {
    run(program()
        .args(["explain", NAME, "-n", "default"])
        .args(more)
        .env("KUBECONFIG", config.path()))
}

/// Runs the program as a user of a server.
fn ask(server: &Server, user: &str, words: &[&str]) -> Ran {
    let config = server.kubeconfig(&Auth::Token(user));
    run(program().args(words).env("KUBECONFIG", config.path()))
}

/// Asserts the exit code of a run.
#[track_caller]
fn ended(ran: &Ran, code: i32) {
    assert_eq!(ran.code, Some(code), "{}", ran.shown());
}

/// Asserts that a text contains a part.
#[track_caller]
fn shows(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in: {text}");
}

/// Returns how often a path was requested.
fn asked(server: &Server, path: &str) -> usize {
    let requests = server.requests();
    requests.iter().filter(|it| it.path == path).count()
}

/// Starts a server with the recorded cluster after `change`.
fn server_with(change: impl FnOnce(&mut Cluster)) -> Server {
    let mut cluster = recorded();
    change(&mut cluster);
    Server::start(cluster)
}

/// Starts a server with these faults.
fn faulty(mut cluster: Cluster, faults: impl IntoIterator<Item = (When, Fault)>) -> Server {
    for (when, fault) in faults {
        cluster.fault(when, fault);
    }
    Server::start(cluster)
}

fn explain_as(server: &Server, user: &str, more: &[&str]) -> Ran {
    explain_with(&server.kubeconfig(&Auth::Token(user)), more)
}

fn explain(server: &Server, more: &[&str]) -> Ran {
    explain_as(server, "admin", more)
}

/// Returns the answer about the recorded HPA.
fn explained(server: &Server) -> Value {
    explain(server, &["-o", "json"]).answer()
}

/// Reads a saved state.
fn state_in(file: impl AsRef<Path>) -> Value {
    let text = fs::read_to_string(file).expect("a state");
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the first object of a kind in a saved state.
fn object_in(file: impl AsRef<Path>, kind: &str) -> Value {
    let state = state_in(file);
    let found = array(&state["items"]).iter().find(|it| it["kind"] == kind);
    found.expect("an object").clone()
}

/// Explains with a changed recorded cluster, in JSON.
fn explain_on(change: impl FnOnce(&mut Cluster)) -> Ran {
    explain(&server_with(change), &["-o", "json"])
}

/// Explains the recorded HPA from a saved state, in JSON.
fn explain_file(file: &str) -> Ran {
    run(program().args(["explain", NAME, "-f", file, "-o", "json"]))
}

/// Gives an object a controller.
fn own(object: &mut Value, [api_version, kind, name]: [&str; 3]) {
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": api_version, "kind": kind, "name": name, "uid": "",
        "controller": true}]);
}

/// Gives an HPA the ScaledObject of this name.
fn own_by_keda(hpa: &mut Value, name: &str) {
    own(hpa, ["keda.sh/v1alpha1", "ScaledObject", name]);
}

/// Returns the notes of an answer, one per line.
fn notes(answer: &Value) -> String {
    each(&answer["notes"])
        .filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns a condition of the outcome: status, reason and message.
fn condition(answer: &Value, kind: &str) -> [String; 3] {
    let mut conditions = each(&answer["outcome"]["status"]["conditions"]);
    let found = conditions.find(|condition| condition["type"] == kind);
    let found = found.unwrap_or_else(|| panic!("no condition {kind} in {answer:#}"));
    ["status", "reason", "message"].map(|field| found[field].as_str().unwrap_or("").to_owned())
}

/// The path of a file, which is deleted with its test.
struct Temporary(TempPath);

impl Temporary {
    fn new() -> Self {
        let file = NamedTempFile::new_in(directory()).expect("a file");
        Self(file.into_temp_path())
    }
}

impl Deref for Temporary {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

fn directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}
