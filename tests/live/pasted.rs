//! What a report about a cluster tells its reader to paste works there as the same user, if kubectl is installed: each
//! command is run in a shell, without anything of the environment. Those about a state in a file are run by
//! `tests/answers/advice.rs`.

use std::ffi::OsString;

use assert_cmd::Command;
use serde_json::{Value, json};

use super::api::json::each;
use super::api::{Auth, Cluster, Kubeconfig, Server};
use super::metrics::{external_metric, namespace_metric, pods_metric, with_metrics};
use super::names::{Installed, kubectl};
use super::rounds::edit;
use super::{LONGEST, NAME, Ran, program, recorded, run};

/// Returns the commands in texts, which quote them.
fn quoted(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|it| it.starts_with("kubectl "))
        .map(str::to_owned)
        .collect()
}

/// Runs a command as if it were pasted.
fn paste(command: &str, path: &OsString, home: &Kubeconfig) -> Ran {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .env_clear()
        .env("PATH", path)
        .env("HOME", home.directory());
    run(shell.timeout(LONGEST))
}

/// Returns the program, explaining the recorded HPA with these flags alone.
fn explain(flags: &[&str]) -> Ran {
    run(program()
        .args(["explain", NAME, "-n", "default", "-o", "json"])
        .args(flags))
}

/// Returns the recorded cluster, whose discovery lists the pods of metrics-server as it does when that has started, and
/// the user bob, who may do everything.
fn listed() -> Cluster {
    let mut cluster = recorded();
    cluster
        .unscalable_kind("metrics.k8s.io/v1beta1", "PodMetrics", "pods")
        .grant("bob");
    // Its finding comes with commands.
    edit(&mut cluster, |hpa| {
        hpa["spec"]["maxReplicas"] = json!(500);
        hpa["spec"]["behavior"] = json!({"scaleUp": {"selectPolicy": "Disabled"}});
    });
    cluster
}

#[test]
fn a_right_is_checked_by_the_printed_command() {
    if kubectl().is_none() {
        return;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (metric, verb, resource) in [
        (None, "list", "pods"),
        (None, "get", "deployments.apps/scale"),
        (None, "get", "horizontalpodautoscalers.autoscaling"),
        (None, "list", "pods.metrics.k8s.io"),
        (Some(pods_metric()), "*", "*.custom.metrics.k8s.io"),
        (Some(namespace_metric()), "*", "*.custom.metrics.k8s.io"),
        (Some(external_metric()), "*", "*.external.metrics.k8s.io"),
    ] {
        let mut cluster = listed();
        if let Some(metric) = metric {
            with_metrics(&mut cluster, &json!([metric]));
        }
        let may = |server: &Server, is_denied: bool| {
            server.change(|cluster: &mut Cluster| {
                cluster.restore();
                if is_denied {
                    cluster.deny("bob", verb, resource);
                }
            });
        };
        let server = Server::start(cluster);
        let config = server.kubeconfig(&Auth::Token("bob"));
        let file = config.path();
        let flags = [
            "--kubeconfig",
            file.to_str().expect("a path"),
            "--context",
            "test",
        ];
        may(&server, true);
        let ran = explain(&flags);
        let commands = quoted(&ran.shown().replace("\\\"", "\""));
        assert!(!commands.is_empty(), "{resource}: {}", ran.shown());
        for command in commands {
            let denied = paste(&command, &path, &config);
            assert_eq!(denied.code, Some(1), "{command}: {}", denied.stdout);
            let is_told = denied.stdout == "no\n" && denied.stderr.is_empty()
                || denied.stderr.contains("is forbidden: User \"bob\"");
            assert!(is_told, "{command}: {}", denied.shown());
            may(&server, false);
            let allowed = paste(&command, &path, &config);
            assert_eq!((allowed.code, &*allowed.stderr), (Some(0), ""), "{command}");
            may(&server, true);
        }
    }
}

#[test]
fn commands_reach_the_cluster_that_the_report_is_about() {
    if kubectl().is_none() {
        return;
    }
    let installed = Installed::new("pasted");
    for metric in [None, Some(pods_metric()), Some(external_metric())] {
        let mut cluster = listed();
        let name = json!({"name": "v1beta1.metrics.k8s.io"});
        let api = "apiregistration.k8s.io/v1";
        cluster.put(json!({"apiVersion": api, "kind": "APIService", "metadata": name}));
        if let Some(mut metric) = metric {
            // One that no adapter knows.
            for field in ["pods", "external"] {
                if metric[field].is_object() {
                    metric[field]["metric"]["name"] = json!("unheard_of");
                }
            }
            with_metrics(&mut cluster, &json!([metric]));
        }
        let server = Server::start(cluster);
        let config = server.kubeconfig(&Auth::Token("admin"));
        let file = config.path();
        let file = file.to_str().expect("a path");
        let answer = explain(&["--kubeconfig", file, "--as", "bob"]).answer();
        let commands = each(&answer["findings"]).flat_map(|it| each(&it["commands"]));
        let commands: Vec<&str> = commands.filter_map(Value::as_str).collect();
        assert!(!commands.is_empty(), "{answer}");
        for command in commands {
            let before = server.requests().len();
            let ran = paste(command, &installed.path(), &config);
            assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{command}");
            let requests = server.requests();
            let asked = &requests[before..];
            assert!(!asked.is_empty(), "{command}");
            let users = asked.iter().filter_map(|request| request.user.as_deref());
            assert!(users.into_iter().all(|user| user == "bob"), "{command}");
        }
    }
}
