//! Commands and remedies that depend on the state. Each expected line follows from the API's rules, by hand.

use serde_json::{Value, json};

use super::{About, Text, views};
use crate::build;
use crate::findings::testing::{pass, state, with};
use crate::findings::{Code, find};

/// What is said of a code in a state.
fn said(code: Code, items: &[Value]) -> Text {
    let pass = pass(items);
    let views = views(&pass, &find(&pass));
    let view = views.into_iter().find(|view| view.code == code);
    view.unwrap_or_else(|| panic!("{} is there", code.as_str())).text
}

fn cpu() -> Value {
    build::resource("cpu", &build::utilization(50))
}

#[test]
fn a_request_for_a_kind_that_kubectl_does_not_know() {
    let target = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"});
    let bare = json!([{"name": "app", "resources": {"requests": {"memory": "1Gi"}}}]);
    let owner = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web",
        "controller": true}]);
    let items = state(&[cpu()], &["50m"]);
    let patch = json!({"metadata": {"ownerReferences": owner}, "spec": {"containers": bare}});
    let items = with(&items, "Pod", &patch);
    let hpa = json!({"spec": {"scaleTargetRef": target}});
    let mut items = with(&items, "HorizontalPodAutoscaler", &hpa);
    items.push(json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": bare}}},
        "status": {"replicas": 1, "selector": "app=web"},
    }));
    let path = "/spec/template/spec/containers/0/resources/requests/cpu";
    let patch = json!([{"op": "add", "path": path, "value": "100m"}]);
    assert_eq!(
        said(Code::MissingRequest, &items).commands,
        [format!("kubectl patch rollout.argoproj.io/web -n default --type=json -p '{patch}'")]
    );
}

#[test]
fn a_question_for_a_metric_of_each_pod() {
    let metric = json!({"type": "Pods", "pods": {"target": build::average("10"),
        "metric": {"name": "rps", "selector": {"matchLabels": {"verb": "GET"}}}}});
    assert_eq!(
        said(Code::MetricEmpty, &state(&[metric], &["50m"])).commands,
        ["kubectl get --raw '/apis/custom.metrics.k8s.io/v1beta1/namespaces/default/pods/*/rps\
          ?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET'"]
    );
}

#[test]
fn a_failed_metric_beside_one_that_proposes_fewer() {
    let metrics = [cpu(), build::external("queue", &build::average("10"))];
    let summary = said(Code::MetricEmpty, &state(&metrics, &["10m"; 3])).summary;
    assert!(summary.ends_with("so it blocks scaling down"), "{summary}");
    let summary = said(Code::MetricEmpty, &state(&metrics[1..], &["10m"; 3])).summary;
    assert!(summary.ends_with("so nothing is scaled"), "{summary}");
}

#[test]
fn a_resize_that_no_node_can_hold() {
    let resizing = |reason: &str| {
        let condition =
            json!({"type": "PodResizePending", "status": "True", "reason": reason, "message": "x"});
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T05:00:00Z"});
        let statuses = json!([{"name": "app", "resources": {"requests": {"cpu": "100m"}}}]);
        let containers = json!([build::requesting("app", "400m")]);
        let patch = json!({"spec": {"containers": containers},
            "status": {"containerStatuses": statuses, "conditions": [ready, condition]}});
        with(&state(&[cpu()], &["50m"]), "Pod", &patch)
    };
    let advice = |reason| said(Code::ResizeInProgress, &resizing(reason)).advice;
    assert!(advice("Infeasible").starts_with("Request less cpu"));
    assert!(advice("Deferred").starts_with("Wait"));
}

#[test]
fn an_hpa_that_keda_makes() {
    let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "queue",
        "uid": "1", "controller": true}]);
    let made = |items: &[Value], max: i32| {
        let patch = json!({"metadata": {"ownerReferences": owner}, "spec": {"maxReplicas": max}});
        with(items, "HorizontalPodAutoscaler", &patch)
    };
    let pods = state(&[cpu()], &["100m"; 3]);
    let patch = r#"'{"spec":{"maxReplicaCount":6}}'"#;
    let command = format!("kubectl patch scaledobject queue -n default --type=merge -p {patch}");
    let commands = said(Code::AtMax, &made(&pods, 3)).commands;
    assert!(commands.contains(&command), "{commands:?}");
    let metric = build::external("queue", &build::value("75"));
    let items = [state(&[metric], &["50m"; 3]), vec![build::queue(&["225"])]].concat();
    let Text { advice, commands, .. } = said(Code::ValueMultiplies, &made(&items, 20));
    assert_eq!(commands, ["kubectl edit scaledobject queue -n default"]);
    assert!(
        advice.ends_with("spec.triggers of ScaledObject/queue, from which KEDA makes the HPA.")
    );
    let pass = pass(&made(&pods, 3));
    let about = About { pass: &pass, finding: &find(&pass)[0] };
    let behavior = json!({"scaleDown": {"selectPolicy": "Max"}});
    let advanced = json!({"horizontalPodAutoscalerConfig": {"behavior": behavior}});
    let patch = json!({"spec": {"advanced": advanced}});
    assert_eq!(
        about.patch_spec(&json!({"behavior": behavior})),
        format!("kubectl patch scaledobject queue -n default --type=merge -p '{patch}'")
    );
}
