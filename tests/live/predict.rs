//! `predict` against a cluster: what an assumed manifest needs is requested as well, and nothing is
//! requested if what was typed is impossible.

use std::fs;

use serde_json::json;

use super::answers::recorded_value;
use super::api::json::array;
use super::api::{Auth, Kubeconfig, Server, exchange};
use super::metrics::external_metric;
use super::{NAME, Ran, Temporary, ended, explain_with, program, recorded, run};

pub(super) fn predict(config: &Kubeconfig, more: &[&str]) -> Ran {
    let mut command = program();
    command
        .args(["predict", NAME, "-n", "default", "-o", "json"])
        .args(more);
    run(command.env("KUBECONFIG", config.path()))
}

#[test]
fn a_candidate_is_answered_by_what_its_own_metrics_say() {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let running = &exchange("hpa").response.body;
    let path: &str = &Temporary::new();
    let candidate = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": NAME},
        "spec": {
            "scaleTargetRef": running["spec"]["scaleTargetRef"],
            "minReplicas": 1,
            "maxReplicas": 1_000_000,
            "metrics": [external_metric()],
        },
    });
    fs::write(path, candidate.to_string()).expect("a file");
    let answer = predict(&config, &["--hpa", path]).answer();

    // The sum of the recorded values over a target of 1 per pod.
    let queues = recorded_value("external metric", 0) + recorded_value("external metric", 1);
    assert_eq!(answer["proposal"], (queues + 999) / 1000);
    let metrics = array(&answer["outcome"]["status"]["currentMetrics"]);
    assert_eq!(
        (metrics.len(), &metrics[0]["type"]),
        (1, &json!("External"))
    );
    // The running HPA did what it did when it was recorded.
    let written = &running["status"]["desiredReplicas"];
    assert_eq!(&answer["observed"]["replicas"], written);
    assert_eq!(answer["overrides"][0]["item"], "HPA");
    let asked = |part: &str| server.requests().iter().any(|it| it.path.contains(part));
    assert!(asked("external.metrics.k8s.io") && asked("metrics.k8s.io/v1beta1"));

    // A state of the running HPA alone lacks the metric, and the hint tells how to save one that has it.
    let (alone, both): (&str, &str) = (&Temporary::new(), &Temporary::new());
    let program = |args: &[&str]| {
        let mut command = program();
        run(command.args(args).env("KUBECONFIG", config.path()))
    };
    explain_with(&config, &["--save", alone, "-o", "json"]).answer();
    let lacks = program(&["predict", NAME, "-f", alone, "--hpa", path]);
    ended(&lacks, 2);
    let hint = lacks
        .stderr
        .split('`')
        .nth(1)
        .expect("a command")
        .replace("FILE", both);
    let words: Vec<&str> = hint
        .split(' ')
        .skip_while(|word| *word != "predict")
        .collect();
    let live = program(&[&words[..], &["-o", "json"]].concat()).answer();
    let saved = program(&["predict", NAME, "-f", both, "--hpa", path, "-o", "json"]).answer();
    assert_eq!(saved["outcome"], live["outcome"], "{hint}");
    assert_eq!(saved["proposal"], answer["proposal"]);
}

#[test]
fn nothing_is_asked_where_what_was_typed_cannot_be() {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Token("admin"));
    for (flag, part) in [
        ("--cpu=80%%", "80%%: not a value"),
        ("--set=maxReplicas", "it has no ="),
        ("--hpa=nowhere.yaml", "nowhere.yaml"),
    ] {
        predict(&config, &[flag]).fails(2, &[part]);
    }
    assert!(server.requests().is_empty());
    predict(&config, &["--metric=rps=1"]).fails(2, &["the HPA has no metric rps", "it has cpu"]);
}
