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
mod roles;
mod rounds;
mod saved;
#[path = "../common/schema.rs"]
mod schema;
mod secrets;
mod side_by_side;
mod signals;
mod usage;

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use api::{Auth, Clock, Cluster, Kubeconfig, Server};
use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

const NAME: &str = "nginx-deployment";
const HPAS: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const HPA: &str =
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/nginx-deployment";
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/nginx-deployment/scale";
const PODS: &str = "/api/v1/namespaces/default/pods";
const POD_METRICS: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";

/// What no output may ever contain: tokens, plugins' data and output, passwords of tests.
const SECRETS: [&str; 4] = [
    "secret-token-of-",
    "secret-in-the-environment",
    "secret-on-stdout",
    "secret-password",
];

/// The longest that anything here may take: the deadline of all requests, with some slack.
const LONGEST: Duration = Duration::from_secs(45);

/// Returns the recorded cluster at the time of the recording.
fn recorded() -> Cluster {
    let mut cluster = Cluster::recorded();
    cluster.clock(Clock::Recorded);
    cluster
}

/// Returns the program, detached from the environment of the test.
fn program() -> Command {
    let mut command = cargo_bin_cmd!("kubectl-hpa");
    away(&mut command);
    command
}

fn away(command: &mut Command) {
    for name in [
        "KUBECONFIG",
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
    ] {
        command.env_remove(name);
    }
    for name in [
        "NO_PROXY",
        "no_proxy",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
    ] {
        command.env_remove(name);
    }
    command
        .env("HOME", "/nonexistent")
        .env("KUBERC", "off")
        .timeout(LONGEST);
}

/// A change to the recorded cluster.
type Change = fn(&mut Cluster);

/// The result of a run; it panics if a secret shows.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let ran = Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        };
        for secret in SECRETS {
            let shown = ran.stdout.contains(secret) || ran.stderr.contains(secret);
            assert!(!shown, "{secret} shows: {} {}", ran.stdout, ran.stderr);
        }
        ran
    }

    /// Returns the published object, if there is one.
    #[track_caller]
    fn answer(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        serde_json::from_str(&self.stdout).expect("JSON")
    }

    /// Returns the output without the file in the commands, which those about a cluster do not have.
    fn without_file(mut self, file: &str) -> Self {
        self.stdout = self.stdout.replace(&format!(" -f {file}"), "");
        self
    }

    /// Returns the published object of a pass whose answer is unknown here.
    #[track_caller]
    fn unanswered(&self) -> Value {
        assert_eq!(self.code, Some(1), "{}", self.stderr);
        serde_json::from_str(&self.stdout).expect("JSON")
    }

    /// Asserts that there is no answer, and that standard error contains these texts.
    #[track_caller]
    fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "no {part:?} in: {}",
                self.stderr
            );
        }
    }
}

fn run(command: &mut Command) -> Ran {
    Ran::of(&command.output().expect("it runs"))
}

/// Returns the program with a kubeconfig, explaining the recorded HPA.
fn explain_with(config: &Kubeconfig, more: &[&str]) -> Ran {
    run(program()
        .args(["explain", NAME, "-n", "default"])
        .args(more)
        .env("KUBECONFIG", config.path()))
}

fn explain_as(server: &Server, user: &str, more: &[&str]) -> Ran {
    explain_with(&server.kubeconfig(&Auth::Token(user)), more)
}

fn explain(server: &Server, more: &[&str]) -> Ran {
    explain_as(server, "admin", more)
}

/// Explains with a changed recorded cluster, in JSON.
fn explain_on(change: impl FnOnce(&mut Cluster)) -> Ran {
    let mut cluster = recorded();
    change(&mut cluster);
    explain(&Server::start(cluster), &["-o", "json"])
}

/// Returns the notes of an answer, one per line.
fn notes(answer: &Value) -> String {
    let notes = answer["notes"].as_array().into_iter().flatten();
    notes
        .filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns a condition of the outcome: status, reason and message.
fn condition(answer: &Value, kind: &str) -> [String; 3] {
    let conditions = answer["outcome"]["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    let found = found.unwrap_or_else(|| panic!("no condition {kind} in {answer:#}"));
    ["status", "reason", "message"].map(|field| found[field].as_str().unwrap_or("").to_owned())
}

fn directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}
