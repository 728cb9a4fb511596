//! `predict` from a manifest alone: the pods that it assumes give the answer that a state with as many ready,
//! equal pods gives.

use crate::common::build;

use clap::Parser;
use jiff::Timestamp;
use kubectl_hpa::args::{Cli, Verb};
use kubectl_hpa::error::Error;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::saved::assemble::assemble;
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::snapshot::input::Options;
use kubectl_hpa::whatif::overrides::{Assumptions, KnownValues, add_hpas_of_keda, suppose_pods};
use serde_json::{Value, json};

const NOW: &str = "2026-11-21T06:00:00Z";

/// One metric of each type, with flags that state its value, and whether they need requests.
fn metrics() -> Vec<(Value, &'static [&'static str], bool)> {
    let share = json!({"type": "Utilization", "averageUtilization": 70});
    let average = |amount: &str| json!({"type": "AverageValue", "averageValue": amount});
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"});
    vec![
        (
            json!({"type": "Resource", "resource": {"name": "cpu", "target": share}}),
            &["--cpu"],
            true,
        ),
        (
            json!({"type": "Resource", "resource": {"name": "memory", "target": average("200Mi")}}),
            &["--memory"],
            false,
        ),
        (
            json!({"type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": "app", "target": share}}),
            &["--cpu"],
            true,
        ),
        (
            json!({"type": "Pods",
                "pods": {"metric": {"name": "rps"}, "target": average("100")}}),
            &["--metric", "rps="],
            false,
        ),
        (
            json!({"type": "Object", "object": {"metric": {"name": "hits"},
                "describedObject": ingress, "target": {"type": "Value", "value": "100"}}}),
            &["--metric", "hits="],
            false,
        ),
        (
            json!({"type": "External",
                "external": {"metric": {"name": "queue"}, "target": average("30")}}),
            &["--metric", "queue="],
            false,
        ),
    ]
}

fn hpa(metric: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 40, "metrics": [metric],
        },
    })
}

fn template() -> Value {
    let requests = json!({"cpu": "1", "memory": "1Gi"});
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "resources": {"requests": requests}}]},
    })
}

fn deployment(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": template()},
    })
}

fn pod(number: i32) -> Value {
    let mut pod = template();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = format!("web-{number}").into();
    pod["metadata"]["namespace"] = "default".into();
    let since = "2026-11-20T06:00:00Z";
    pod["status"] = json!({"phase": "Running", "startTime": since,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]});
    pod
}

/// The pass that is predicted from documents.
fn predict(documents: &[Value], flags: &[String]) -> Result<Pass, Error> {
    let typed = ["kubectl-hpa", "predict", "web"].map(str::to_owned);
    let cli = Cli::try_parse_from(typed.iter().chain(flags)).unwrap_or_else(|e| panic!("{e}"));
    let Verb::Predict(args) = cli.verb else { panic!("it is predict") };
    let assumptions = Assumptions::read(&args.overrides)?;
    let now: Timestamp = NOW.parse().expect("a time");
    let mut objects = Objects::default();
    read_text(&build::list(documents.to_vec()), "manifest", &mut objects)?;
    let mut options = Options { name: "web".to_owned(), ..Options::default() };
    add_hpas_of_keda(&mut objects, &mut options)?;
    let mut input = assemble(objects, &options, now)?;
    let values = KnownValues { also: &[], trace: None, is_asked: false };
    suppose_pods(&mut input, &assumptions, values)?;
    let decision = Pass::run(input.clone()).decision;
    Ok(Pass::run(assumptions.apply(input, &decision)?.0))
}

/// What must be the same: the proposal, the scale, the status and the events.
fn answer(pass: &Pass) -> Value {
    json!({"outcome": pass.decision.outcome, "proposal": pass.decision.proposal})
}

#[test]
fn assumed_pods_answer_as_ready_and_equal_ones() {
    let mut changes = 0;
    for (metric, flags, is_share) in metrics() {
        let (flag, name) = (flags[0], flags.get(1));
        for replicas in [1, 2, 3, 7, 30] {
            for percent in [0, 35, 63, 70, 77, 78, 101, 250, 900] {
                let value = match name {
                    Some(name) => format!("{name}{percent}"),
                    None if is_share => format!("{percent}%"),
                    None => format!("{percent}Mi"),
                };
                let flags = [flag.to_string(), value];
                let with = |more: &str| {
                    let more =
                        if more.is_empty() { None } else { Some(format!("--replicas={more}")) };
                    flags.iter().cloned().chain(more).collect::<Vec<_>>()
                };
                let pods = (0..replicas).map(pod);
                let state: Vec<Value> =
                    [hpa(&metric), deployment(replicas)].into_iter().chain(pods).collect();
                let known = predict(&state, &with("")).expect("an answer");
                let expected = answer(&known);
                changes += usize::from(known.decision.replicas_after() != Some(replicas));
                let text = replicas.to_string();
                for (documents, replicas) in [
                    (vec![hpa(&metric)], &*text),
                    (vec![hpa(&metric), deployment(replicas)], ""),
                    (vec![hpa(&metric), deployment(replicas + 1)], &*text),
                ] {
                    let pass = predict(&documents, &with(replicas)).expect("an answer");
                    assert_eq!(answer(&pass), expected, "{metric} {flags:?} {replicas}");
                }
            }
        }
    }
    assert!(changes > 100, "{changes}");
}

#[test]
fn what_is_missing_is_asked_for() {
    let [(share, ..), (average, ..), ..] = &metrics()[..] else { panic!("there are more") };
    let scaled_object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": {"name": "web"}, "minReplicaCount": 1,
            "triggers": [{"type": "cpu", "metricType": "Utilization", "metadata": {"value": "70"}}]},
    });
    let with_status = |replicas: i32, there: i32| {
        let mut target = deployment(replicas);
        target["status"] = json!({"replicas": there});
        target
    };
    let mut no_count = deployment(1);
    no_count["spec"]["replicas"] = Value::Null;
    let mut second = hpa(share);
    second["metadata"]["name"] = "second".into();
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "other", "namespace": "default"}, "spec": {}});
    for (documents, flags, expected) in [
        (vec![hpa(share)], &["--cpu=90%"][..], Err("the replicas of Deployment/web are unknown")),
        (
            vec![hpa(share)],
            &["--cpu=90%", "--replicas=+1"],
            Err("the replicas of Deployment/web are unknown"),
        ),
        (
            vec![hpa(share)],
            &["--cpu=300m", "--replicas=3"],
            Err("--cpu 300m: nothing says what share of the request that is"),
        ),
        (vec![hpa(share)], &["--cpu=300m", "--replicas=3", "--request=cpu=300m"], Ok(5)),
        (vec![hpa(average)], &["--memory=300Mi", "--replicas=3"], Ok(5)),
        (
            vec![hpa(average)],
            &["--memory=90%", "--replicas=3"],
            Err(
                "memory: a percentage cannot be used: failed to get memory utilization: missing request for \
                 memory in container container of Pod web-assumed-1",
            ),
        ),
        (vec![hpa(share), deployment(3)], &["--cpu=90%", "--replicas=+1"], Ok(6)),
        (vec![hpa(share), deployment(0)], &["--cpu=90%", "--replicas=3"], Ok(4)),
        (vec![hpa(share), deployment(3)], &["--cpu=90%", "--unready=1"], Ok(3)),
        // As a cluster prints it: without a status yet, switched off, and while it is scaled.
        (vec![hpa(share), with_status(3, 0)], &["--cpu=90%"], Ok(4)),
        (vec![hpa(share), with_status(0, 2)], &["--replicas=2", "--cpu=90%"], Ok(3)),
        (vec![hpa(share), with_status(6, 8)], &["--cpu=35%"], Ok(6)),
        (
            vec![hpa(share), no_count.clone()],
            &["--cpu=90%"],
            Err("the replicas of Deployment/web are unknown"),
        ),
        (vec![hpa(share), no_count], &["--cpu=90%", "--replicas=3"], Ok(4)),
        (
            vec![hpa(share), second],
            &["--cpu=90%", "--replicas=3"],
            Err("the HPA default/second has the same target: the controller scales neither"),
        ),
        (vec![scaled_object.clone()], &["--cpu=90%", "--replicas=3"], Ok(4)),
        (vec![scaled_object, deployment(3)], &["--cpu=90%"], Ok(4)),
        // The target is another one than those that are there.
        (
            vec![hpa(share), other],
            &["--cpu=90%", "--replicas=3"],
            Err("the pods of the target are unknown: deployments.apps \"web\" not found"),
        ),
    ] {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let pass = predict(&documents, &flags);
        let found = pass.as_ref().map(|pass| pass.decision.replicas_after().expect("an answer"));
        assert_eq!(found.map_err(|e| &*e.message), expected, "{flags:?}");
    }
}
