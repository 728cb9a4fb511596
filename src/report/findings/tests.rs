//! Commands and remedies that depend on the state. Expected lines are derived by hand from the API's rules.

use serde_json::{Value, json};

use super::{Advice, FindingView, Text, views};
use crate::build;
use crate::findings::testing::{pass, state, with};
use crate::findings::{Code, find};

/// Returns the text about a code in a state.
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

/// Each of these states once had a remedy that changed nothing, or made it worse.
#[test]
fn remedies_that_work() {
    let external = |name: &str, selector: &str, target: &Value| {
        let mut metric = build::external(name, target);
        metric["external"]["metric"]["selector"] = json!({"matchLabels": {"q": selector}});
        metric
    };
    let alike = {
        let metrics = ["a", "b"].map(|it| external("queue", it, &build::average("10")));
        let values = [("a", "32"), ("b", "1")].map(|(label, value)| {
            json!({"metricName": "queue", "metricLabels": {"q": label}, "value": value})
        });
        [state(&metrics, &["50m"; 4]), vec![build::external_values(values)]].concat()
    };
    let most = |items: &[Value], max: i32| {
        with(items, "HorizontalPodAutoscaler", &json!({"spec": {"maxReplicas": max}}))
    };
    let least = |cpu: &str, min: i32| {
        let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
        let spec = json!({"spec": {"minReplicas": min, "behavior": behavior}});
        with(&state(&[self::cpu()], &[cpu; 3]), "HorizontalPodAutoscaler", &spec)
    };
    let queue = |target: &Value, length: &str| {
        let items = state(&[build::external("queue", target)], &["50m"; 2]);
        [items, vec![build::queue(&[length])]].concat()
    };
    let predict = |flags: &str| format!("kubectl hpa predict web -n default {flags}");
    let patch = |spec: Value| {
        format!("kubectl patch hpa web -n default --type=merge -p '{}'", json!({"spec": spec}))
    };
    let few = |max: i32| vec![predict(&format!("--max {max}")), patch(json!({"maxReplicas": max}))];
    for (code, items, advice, commands) in [
        // 3.2 of 4 pods: another target for one of two metrics of a name.
        (
            Code::Rounding,
            alike,
            "To have 3 proposed at this load, raise its target to 11.",
            vec![predict("--target 'queue{q=a}=11'")],
        ),
        (
            Code::AtMax,
            most(&queue(&build::average("10"), "150"), 4),
            "Raise maxReplicas, if nodes and dependencies can carry it.",
            few(15),
        ),
        (
            Code::AtMax,
            most(&queue(&build::average("10"), "900"), 4),
            "Raise maxReplicas as far as nodes and dependencies can carry it.",
            few(16),
        ),
        (
            Code::AtMax,
            most(&queue(&build::value("75"), "225"), 4),
            "Follow the advice of value-multiplies.",
            vec![],
        ),
        (
            Code::AtMin,
            least("10m", 3),
            "Lower minReplicas if fewer replicas are enough.",
            vec![predict("--min 1"), patch(json!({"minReplicas": 1}))],
        ),
        (
            Code::AtMin,
            least("0", 1),
            "Leave it: fewer than 1 needs the feature gate HPAScaleToZero, and a metric of type Object \
             or External.",
            vec![],
        ),
    ] {
        let text = said(code, &items);
        assert_eq!((&*text.advice.text(), text.commands), (advice, commands), "{code:?}");
    }
}

#[test]
fn pods_that_several_hpas_share() {
    let mut items = state(&[cpu()], &["50m"]);
    for (name, all) in [("other", "Both match web-0."), ("third", "All of them match web-0.")] {
        items.push(build::with(items[0].clone(), &json!({"metadata": {"name": name}})));
        let text = said(Code::SharedPods, &items);
        assert!(text.evidence.iter().any(|it| it == all), "{:?}", text.evidence);
        assert_eq!(
            text.advice.text(),
            "Keep one HPA for the target, and give it the metrics of the others."
        );
    }
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
    let advice = |reason| said(Code::ResizeInProgress, &resizing(reason)).advice.text();
    assert!(advice("Infeasible").starts_with("Request less cpu"));
    assert!(advice("Deferred").starts_with("Wait"));
}

/// The fields of a ScaledObject's spec that commands may change (`ScaledObjectSpec`).
fn is_of_scaled_object(spec: &Value) -> bool {
    const FIELDS: [&str; 4] = ["scaleTargetRef", "minReplicaCount", "maxReplicaCount", "advanced"];
    let advanced = spec["advanced"].as_object().into_iter().flatten();
    let mut fields = spec.as_object().unwrap().keys();
    fields.all(|field| FIELDS.contains(&&**field))
        && advanced.clone().all(|(field, _)| field == "horizontalPodAutoscalerConfig")
        && advanced
            .flat_map(|(_, config)| config.as_object().unwrap().keys())
            .all(|it| it == "behavior")
}

#[test]
fn an_hpa_that_keda_makes() {
    let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "queue",
        "uid": "1", "controller": true}]);
    let made = |items: &[Value], spec: Value| {
        let patch = json!({"metadata": {"ownerReferences": owner}, "spec": spec});
        with(items, "HorizontalPodAutoscaler", &patch)
    };
    let scaled_object = |annotations: Value| {
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": "queue", "namespace": "default", "annotations": annotations},
            "spec": {"scaleTargetRef": {"name": "web"}, "triggers": []},
        })
    };
    let external = |name: &str, target: &Value, values: &[&str]| {
        let mut values = build::queue(values);
        values["items"][0]["metricName"] = json!(name);
        [state(&[build::external(name, target)], &["50m"; 3]), vec![values]].concat()
    };
    let failing =
        |name: &str, target: &Value| state(&[cpu(), build::external(name, target)], &["10m"; 3]);
    let beside = |items: Vec<Value>, object: Value| [items, vec![object]].concat();
    let (busy, idle) = (state(&[cpu()], &["100m"; 3]), state(&[cpu()], &["10m"; 3]));
    let down = |rules: Value| json!({"behavior": {"scaleDown": rules}});
    let disabled = || down(json!({"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}));
    let paused = scaled_object(json!({"autoscaling.keda.sh/paused-scale-in": "true"}));
    let paused_out = scaled_object(json!({"autoscaling.keda.sh/paused-scale-out": "true"}));
    let value = build::value("75");
    let none = json!({});
    let container = json!({"type": "ContainerResource", "containerResource": {
        "name": "cpu", "container": "ap", "target": build::utilization(50)}});
    let removal = "Remove behavior.scaleDown.selectPolicy of ScaledObject/queue to allow it.";
    let window = "Wait, or set behavior.scaleDown.stabilizationWindowSeconds of ScaledObject/queue \
                  (default 300s).";
    let rate =
        "Wait for the next passes, or change behavior.scaleUp.policies of ScaledObject/queue.";
    let slow = json!({"behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}});
    let follow = "Follow the advice of paused-by-keda.";
    let patch = |verb: &str, spec: Value| {
        format!(
            "kubectl {verb} scaledobject queue -n default --type=merge -p '{}'",
            json!({"spec": spec})
        )
    };
    let config = |behavior: Value| json!({"advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}}});
    let edit = || Some("kubectl edit scaledobject queue -n default".to_owned());
    let mut wrong = Vec::new();
    for (code, items, advice, command) in [
        (
            Code::AtMax,
            made(&busy, json!({"maxReplicas": 3})),
            "Raise maxReplicaCount of ScaledObject/queue, if nodes and dependencies can carry it.",
            Some(patch("patch", json!({"maxReplicaCount": 6}))),
        ),
        (
            Code::AtMin,
            made(&idle, json!({"minReplicas": 3, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}})),
            "Lower minReplicaCount of ScaledObject/queue if fewer replicas are enough.",
            Some(patch("patch", json!({"minReplicaCount": 1}))),
        ),
        (
            Code::AboveMax,
            made(&busy, json!({"maxReplicas": 2})),
            "Find out what scaled it to 3, or change maxReplicaCount of ScaledObject/queue.",
            Some(patch("patch", json!({"maxReplicaCount": 3}))),
        ),
        (
            Code::BelowMin,
            made(&busy, json!({"minReplicas": 5})),
            "Find out what scaled it to 3, or change minReplicaCount of ScaledObject/queue.",
            Some(patch("patch", json!({"minReplicaCount": 3}))),
        ),
        (
            Code::HeldByWindow,
            made(&idle, none.clone()),
            window,
            Some(patch("patch", config(json!({"scaleDown": {"stabilizationWindowSeconds": 60}})))),
        ),
        (Code::RateLimited, made(&busy, slow), rate, None),
        (
            Code::DirectionDisabled,
            beside(made(&idle, disabled()), scaled_object(json!({}))),
            removal,
            Some(patch("patch", config(json!({"scaleDown": {"selectPolicy": null}})))),
        ),
        // An annotation for the other direction does not disable this one.
        (
            Code::DirectionDisabled,
            beside(made(&idle, disabled()), paused_out),
            removal,
            Some(patch("patch", config(json!({"scaleDown": {"selectPolicy": null}})))),
        ),
        (Code::DirectionDisabled, beside(made(&idle, disabled()), paused.clone()), follow, None),
        (Code::DirectionDisabled, made(&idle, disabled()), follow, None),
        (
            Code::PausedByKeda,
            beside(made(&idle, disabled()), paused),
            "Remove the annotation from ScaledObject/queue.",
            Some("kubectl annotate scaledobject queue -n default autoscaling.keda.sh/paused-scale-in-".to_owned()),
        ),
        (
            Code::ValueMultiplies,
            made(&external("s0-prometheus", &value, &["225"]), none.clone()),
            "Use metricType: AverageValue and a threshold of 75 for s0-prometheus in spec.triggers of \
             ScaledObject/queue if the metric does not fall with the replicas.",
            edit(),
        ),
        (
            Code::ValueMultiplies,
            made(&external("composite-metric", &value, &["225"]), none.clone()),
            "Use metricType: AverageValue and target: 75 in spec.advanced.scalingModifiers of \
             ScaledObject/queue if the metric does not fall with the replicas.",
            edit(),
        ),
        (
            Code::BlockedByFailedMetric,
            made(&failing("s0-prometheus", &build::average("75")), none.clone()),
            "Repair s0-prometheus, or remove its trigger from ScaledObject/queue, or set its spec.fallback.",
            edit(),
        ),
        (
            Code::BlockedByFailedMetric,
            made(&failing("s0-prometheus", &value), none.clone()),
            "Repair s0-prometheus, or remove its trigger from ScaledObject/queue.",
            edit(),
        ),
        (
            Code::BlockedByFailedMetric,
            made(&failing("composite-metric", &value), none.clone()),
            "Repair composite-metric, or change spec.advanced.scalingModifiers.formula of ScaledObject/queue.",
            edit(),
        ),
        (
            Code::UnknownContainer,
            made(&state(&[container], &["50m"; 3]), none.clone()),
            "Use metadata.containerName: app for cpu in spec.triggers of ScaledObject/queue.",
            edit(),
        ),
    ] {
        let Text { advice: told, commands, .. } = said(code, &items);
        let changes: Vec<&String> =
            commands.iter().filter(|it| !it.starts_with("kubectl hpa predict")).collect();
        let told = told.text();
        if told != advice || changes != command.iter().collect::<Vec<_>>() {
            wrong.push(format!("{code:?}: {told}\n  {changes:?}"));
        }
        // The same for all other findings.
        let pass = pass(&items);
        for FindingView { code, text, .. } in views(&pass, &find(&pass)) {
            const OF_THE_HPA: [&str; 4] = ["maxReplicas", "minReplicas", "averageValue", "ContainerResource"];
            let advice = text.advice.text();
            let strange = OF_THE_HPA.iter().any(|field| advice.contains(field))
                || (advice.contains("behavior.") && !advice.contains(" of ScaledObject/"));
            let patches = text.commands.iter().filter_map(|it| it.split_once(" -p '"));
            let strange = strange || patches.clone().any(|(command, patch)| {
                let patch: Value = serde_json::from_str(patch.trim_end_matches('\'')).unwrap();
                !command.starts_with("kubectl patch scaledobject") || !is_of_scaled_object(&patch["spec"])
            });
            if strange {
                wrong.push(format!("{code:?}: {advice} {:?}", text.commands));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pods that have been starting for long: waiting comes first, as `Advice::of_past` needs it.
#[test]
fn pods_that_take_long_to_start() {
    let rps = json!({"type": "Pods", "pods": {
        "metric": {"name": "rps"}, "target": build::average("10")}});
    let since = json!("2026-11-21T05:45:00Z");
    let mut items = state(&[rps], &["1m"; 3]);
    for name in ["web-1", "web-2"] {
        let pod = items.iter_mut().find(|it| it["kind"] == "Pod" && it["metadata"]["name"] == name);
        let pod = pod.unwrap();
        pod["metadata"]["creationTimestamp"] = since.clone();
        pod["status"]["startTime"] = since.clone();
        pod["status"]["conditions"] =
            json!([{"type": "Ready", "status": "False", "lastTransitionTime": since}]);
    }
    items.push(json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
        "metadata": {}, "items": [{"describedObject": {"kind": "Pod", "name": "web-0",
            "namespace": "default"}, "metric": {"name": "rps"}, "timestamp": build::NOW,
            "value": "15"}]}));
    let advice = said(Code::StartingPods, &items).advice;
    assert_eq!(advice.text(), "Wait until the pods are ready, or have them start faster.");
    assert_eq!(advice.of_past().text(), "Have them start faster.");
}

/// No one waits for a past pass. What only sounds like waiting is kept.
#[test]
fn advice_about_a_past_pass() {
    let wait = || Advice::wait("for the rollout to end");
    for (advice, text, past) in [
        (wait(), "Wait for the rollout to end.", ""),
        (wait().or("set it"), "Wait for the rollout to end, or set it.", "Set it."),
        (Advice::wait("").or("set it"), "Wait, or set it.", "Set it."),
        (
            "Waiting pods go, or stay.".into(),
            "Waiting pods go, or stay.",
            "Waiting pods go, or stay.",
        ),
    ] {
        assert_eq!((advice.text(), advice.of_past().text()), (text.to_owned(), past.to_owned()));
    }
}
