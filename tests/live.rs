//! `explain` against the test API server, end to end: the answer, what it took to get it, and what
//! each fault on the way is told as.

mod api;

use std::process::Output;
use std::time::Duration;

use api::{Auth, Clock, Cluster, Server};
use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

const NAME: &str = "nginx-deployment";

/// The recorded cluster at the time at which it was recorded.
fn recorded() -> Cluster {
    let mut cluster = Cluster::recorded();
    cluster.clock(Clock::Recorded);
    cluster
}

/// Runs the program as `user` of the server's kubeconfig.
fn run_as(server: &Server, user: &str, arguments: &[&str]) -> Output {
    let config = server.kubeconfig(&Auth::Token(user));
    cargo_bin_cmd!("kubectl-hpa")
        .args(arguments)
        .arg("--kubeconfig")
        .arg(config.path())
        .env_remove("KUBECONFIG")
        .timeout(Duration::from_secs(60))
        .output()
        .expect("the program runs")
}

fn explain(server: &Server, more: &[&str]) -> Output {
    let arguments = [&["explain", NAME, "-n", "default"], more].concat();
    run_as(server, "admin", &arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_built_in_target_takes_three_rounds() {
    let mut cluster = recorded();
    cluster.latency(Duration::from_millis(100));
    let server = Server::start(cluster);
    let answer = answer(&explain(&server, &["-o", "json"]));
    // What the controller had last written, and would write again.
    assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
    assert_eq!(answer["outcome"]["scaleTo"], Value::Null);
    assert_eq!(server.rounds(), 3);
}
