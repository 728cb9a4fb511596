//! Commands and remedies that depend on the state. Expected lines are derived by hand from the API's rules.

use serde_json::{Value, json};

use crate::build;
use crate::findings::about::Text;
use crate::findings::remedy::Remedy;
use crate::findings::testing::{pass, state, with};
use crate::findings::{Code, FindingView, Severity, find, views};
use crate::pass::Pass;
use crate::report::Explanation;
use crate::snapshot::hpa::HpaSpec;

/// Returns the text about a code in a state.
fn said(code: Code, items: &[Value]) -> Text<String> {
    let pass = pass(items);
    let views = views(&pass, &find(&pass));
    let view = views.into_iter().find(|view| view.code == code);
    view.unwrap_or_else(|| panic!("{} is there", code.as_str()))
        .text
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
        [format!(
            "kubectl patch rollout.argoproj.io/web -n default --type=json -p '{patch}'"
        )]
    );
}

/// What a chart, a repository or a controller writes again is changed there, and no command patches it.
#[test]
fn a_patch_of_what_a_tool_writes() {
    let managed = |manager: &str| json!({"metadata": {"managedFields": [{"manager": manager}]}});
    let by_hpa = |metadata: &Value| {
        let items = state(&[cpu()], &["80m"; 4]);
        let items = with(
            &items,
            "HorizontalPodAutoscaler",
            &json!({"spec": {"maxReplicas": 4}}),
        );
        with(&items, "HorizontalPodAutoscaler", metadata)
    };
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "example.com/v1",
        "kind": "Collector", "name": "traces", "controller": true}]}});
    for (metadata, want) in [
        (
            managed("helm"),
            "Helm writes hpa/web: change its chart (values or template).",
        ),
        (
            json!({"metadata": {"labels": {"argocd.argoproj.io/instance": "web"}}}),
            "Argo CD writes hpa/web: change it in Git.",
        ),
        (
            managed("Terraform"),
            "Terraform writes hpa/web: change its configuration.",
        ),
        (owner, "Collector/traces owns hpa/web: change it there."),
    ] {
        let text = said(Code::AtMax, &by_hpa(&metadata));
        assert!(
            !text.commands.iter().any(|it| it.contains(" patch ")),
            "{text:?}"
        );
        assert!(
            text.commands.iter().any(|it| it.contains(" predict ")),
            "{text:?}"
        );
        assert!(
            text.advice.text().ends_with(&format!(" {want}")),
            "{text:?}"
        );
    }
    let text = said(Code::AtMax, &by_hpa(&managed("kubectl-client-side-apply")));
    assert!(
        text.commands
            .iter()
            .any(|it| it.starts_with("kubectl patch hpa")),
        "{text:?}"
    );
    assert!(!text.advice.text().contains(" writes "), "{text:?}");
    // A finding without a command that writes says nothing of it.
    let text = said(
        Code::WithinTolerance,
        &with(
            &state(&[cpu()], &["52m"; 4]),
            "HorizontalPodAutoscaler",
            &managed("helm"),
        ),
    );
    assert!(
        !text.evidence.iter().any(|it| it.contains(" writes ")),
        "{text:?}"
    );
    assert!(!text.advice.text().contains(" writes "), "{text:?}");
}

/// The same holds for the other objects that commands edit.
#[test]
fn an_edit_of_what_a_tool_writes() {
    let managers = json!([{"manager": "helm"}]);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "managedFields": managers},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}},
    });
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
        "controller": true}]);
    let pods = json!({"metadata": {"ownerReferences": owner},
        "spec": {"containers": [{"name": "app", "resources": {}}]}});
    let bare = [
        with(&state(&[cpu()], &["50m"]), "Pod", &pods),
        vec![deployment],
    ]
    .concat();
    let scaled_object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "queue", "namespace": "default", "managedFields": managers},
        "spec": {"scaleTargetRef": {"name": "web"}, "triggers": []},
    });
    let made = json!({"spec": {"maxReplicas": 4}, "metadata": {"ownerReferences": [{
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "queue",
        "controller": true}]}});
    let busy = with(
        &state(&[cpu()], &["80m"; 4]),
        "HorizontalPodAutoscaler",
        &made,
    );
    for (code, items, command, object) in [
        (
            Code::MissingRequest,
            bare,
            "kubectl set resources deployment/web ",
            "Deployment/web",
        ),
        (
            Code::AtMax,
            [busy, vec![scaled_object]].concat(),
            "kubectl patch scaledobject queue ",
            "ScaledObject/queue",
        ),
    ] {
        let text = said(code, &items);
        let want = format!(" Helm writes {object}: change its chart (values or template).");
        assert!(
            !text.commands.iter().any(|it| it.starts_with(command)),
            "{text:?}"
        );
        assert!(text.advice.text().ends_with(&want), "{text:?}");
    }
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
        let values = [("a", "42"), ("b", "1")].map(|(label, value)| {
            json!({"metricName": "queue", "metricLabels": {"q": label}, "value": value})
        });
        let items = [
            state(&metrics, &["50m"; 4]),
            vec![build::external_values(values)],
        ]
        .concat();
        with(
            &items,
            "ControllerState",
            &json!({"kubernetesVersion": "v1.30.0"}),
        )
    };
    let most = |items: &[Value], max: i32| {
        with(
            items,
            "HorizontalPodAutoscaler",
            &json!({"spec": {"maxReplicas": max}}),
        )
    };
    let least = |cpu: &str, min: i32| {
        let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
        let spec = json!({"spec": {"minReplicas": min, "behavior": behavior}});
        with(
            &state(&[self::cpu()], &[cpu; 3]),
            "HorizontalPodAutoscaler",
            &spec,
        )
    };
    let queue = |target: &Value, length: &str| {
        let items = state(&[build::external("queue", target)], &["50m"; 2]);
        [items, vec![build::queue(&[length])]].concat()
    };
    let predict = |flags: &str| format!("kubectl hpa predict web -n default {flags}");
    let patch = |spec: Value| {
        format!(
            "kubectl patch hpa web -n default --type=merge -p '{}'",
            json!({"spec": spec})
        )
    };
    let few = |max: i32| {
        vec![
            predict(&format!("--max {max}")),
            patch(json!({"maxReplicas": max})),
        ]
    };
    for (code, items, advice, commands) in [
        // 5% above its target: another one for one of two metrics of a name.
        (
            Code::WithinTolerance,
            alike,
            "Nothing to do; with a target of 9.5, it proposes 5 at this load.",
            vec![predict("--target 'queue{q=a}=9.5'")],
        ),
        (
            Code::AtMax,
            most(&queue(&build::average("10"), "150"), 4),
            "Raise maxReplicas if nodes can carry it (predict --max 15), or the target to 50 if a pod can carry more \
             (predict --target).",
            few(15)
                .into_iter()
                .chain([predict("--target queue=50")])
                .collect(),
        ),
        (
            Code::AtMax,
            most(&queue(&build::average("10"), "900"), 4),
            "Raise maxReplicas as far as nodes can carry it.",
            vec![],
        ),
        (
            Code::AtMax,
            most(&queue(&build::value("75"), "225"), 4),
            "Follow the advice of value-multiplies.",
            vec![],
        ),
        (Code::AtMin, least("10m", 3), "Nothing to do.", vec![]),
        (
            Code::AtMin,
            least("0", 1),
            "Nothing to do: fewer than 1 needs the feature gate HPAScaleToZero, and a metric of type Object \
             or External.",
            vec![],
        ),
    ] {
        let text = said(code, &items);
        assert_eq!(
            (&*text.advice.text(), text.commands),
            (advice, commands),
            "{code:?}"
        );
    }
}

#[test]
fn pods_that_several_hpas_share() {
    let mut items = state(&[cpu()], &["50m"]);
    for (name, all) in [
        ("other", "Both match web-0."),
        ("third", "All of them match web-0."),
    ] {
        items.push(build::with(
            items[0].clone(),
            &json!({"metadata": {"name": name}}),
        ));
        let text = said(Code::SharedPods, &items);
        assert!(
            text.evidence.iter().any(|it| it == all),
            "{:?}",
            text.evidence
        );
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
        [
            "kubectl get --raw '/apis/custom.metrics.k8s.io/v1beta1/namespaces/default/pods/*/rps\
          ?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET'"
        ]
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
    let advice = |reason| {
        said(Code::ResizeInProgress, &resizing(reason))
            .advice
            .text()
    };
    assert!(advice("Infeasible").starts_with("Request less cpu"));
    assert!(advice("Deferred").starts_with("Wait"));
}

/// The fields of a ScaledObject's spec that commands may change (`ScaledObjectSpec`).
fn is_of_scaled_object(spec: &Value) -> bool {
    const FIELDS: [&str; 4] = [
        "scaleTargetRef",
        "minReplicaCount",
        "maxReplicaCount",
        "advanced",
    ];
    let advanced = spec["advanced"].as_object().into_iter().flatten();
    let mut fields = spec.as_object().unwrap().keys();
    fields.all(|field| FIELDS.contains(&&**field))
        && advanced
            .clone()
            .all(|(field, _)| field == "horizontalPodAutoscalerConfig")
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
        [
            state(&[build::external(name, target)], &["50m"; 3]),
            vec![values],
        ]
        .concat()
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
    let removal =
        "If that is not meant, remove behavior.scaleDown.selectPolicy of ScaledObject/queue.";
    let window = "Wait until 06:05:00Z.";
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
            "Raise maxReplicaCount of ScaledObject/queue if nodes can carry it (predict --max 6), or the cpu request to \
             300m if a pod can carry more (predict --request).",
            Some(patch("patch", json!({"maxReplicaCount": 6}))),
        ),
        (
            Code::AtMin,
            made(&idle, json!({"minReplicas": 3, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}})),
            "Nothing to do.",
            None,
        ),
        (
            Code::AboveMax,
            made(&busy, json!({"maxReplicas": 2})),
            "Change maxReplicaCount of ScaledObject/queue if 3 is right.",
            Some(patch("patch", json!({"maxReplicaCount": 3}))),
        ),
        (
            Code::BelowMin,
            made(&busy, json!({"minReplicas": 5})),
            "Change minReplicaCount of ScaledObject/queue if 3 is right.",
            Some(patch("patch", json!({"minReplicaCount": 3}))),
        ),
        (
            Code::HeldByWindow,
            made(&idle, none.clone()),
            window,
            None,
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
            "Nothing to do if that is on purpose; if not, remove the annotation from ScaledObject/queue.",
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
            "Follow the advice of metric-empty.",
            None,
        ),
        (
            Code::BlockedByFailedMetric,
            made(&failing("s0-prometheus", &value), none.clone()),
            "Follow the advice of metric-empty.",
            None,
        ),
        (
            Code::BlockedByFailedMetric,
            made(&failing("composite-metric", &value), none.clone()),
            "Follow the advice of metric-empty.",
            None,
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
        let pod = items
            .iter_mut()
            .find(|it| it["kind"] == "Pod" && it["metadata"]["name"] == name);
        let pod = pod.unwrap();
        pod["metadata"]["creationTimestamp"] = since.clone();
        pod["status"]["startTime"] = since.clone();
        pod["status"]["conditions"] =
            json!([{"type": "Ready", "status": "False", "lastTransitionTime": since}]);
    }
    items.push(
        json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
        "metadata": {}, "items": [{"describedObject": {"kind": "Pod", "name": "web-0",
            "namespace": "default"}, "metric": {"name": "rps"}, "timestamp": build::NOW,
            "value": "15"}]}),
    );
    let advice = said(Code::StartingPods, &items).advice;
    assert_eq!(
        advice.text(),
        "Wait until the pods are ready, or have them start faster."
    );
    assert_eq!(advice.of_past().text(), "Have them start faster.");
}

/// No one waits for a past pass. What only sounds like waiting is kept.
#[test]
fn advice_about_a_past_pass() {
    let wait = || Remedy::WaitForRollout.waits("for the rollout to end");
    for (advice, text, past) in [
        (Remedy::ShortenWindow.waits(""), "Wait.", ""),
        (wait(), "Wait for the rollout to end.", ""),
        (
            wait().or("set it"),
            "Wait for the rollout to end, or set it.",
            "Set it.",
        ),
        (
            Remedy::WaitForRollout.waits("").or("set it"),
            "Wait, or set it.",
            "Set it.",
        ),
        (
            Remedy::FindUnready.says("Waiting pods go, or stay."),
            "Waiting pods go, or stay.",
            "Waiting pods go, or stay.",
        ),
    ] {
        assert_eq!(
            (advice.text(), advice.of_past().text()),
            (text.to_owned(), past.to_owned())
        );
    }
}

/// Returns a state in which the last pass left 6 replicas, and something has set another number.
fn set_by(writer: &Value, replicas: i32) -> Vec<Value> {
    let items = state(&[cpu()], &vec!["50m"; usize::try_from(replicas).unwrap()]);
    let status = json!({"currentReplicas": 6, "desiredReplicas": 6, "conditions": [
        {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}]});
    let mut items = with(
        &items,
        "HorizontalPodAutoscaler",
        &json!({
        "status": status, "spec": {"minReplicas": 2}}),
    );
    let replicas_of =
        json!({"time": "2026-11-21T05:59:55Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
    items.push(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default",
            "managedFields": [build::with(replicas_of, writer)]},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": replicas},
    }));
    items
}

/// What applies a manifest on the server will apply it again; what edits the object will not.
#[test]
fn replicas_of_a_manifest_that_the_server_applies() {
    let advice = |manager: &str, operation: &str| {
        let writer = json!({"manager": manager, "operation": operation});
        said(Code::OtherWriter, &set_by(&writer, 3)).advice.text()
    };
    let hand = "Change maxReplicas instead.";
    for (manager, operation, want) in [
        (
            "kubectl",
            "Apply",
            "Take replicas out of the manifest that kubectl applies.",
        ),
        ("kubectl", "Update", hand),
        ("kubectl-edit", "Update", hand),
        (
            "ci",
            "Apply",
            "Take replicas out of the manifest that ci applies.",
        ),
        ("ci", "Update", "Have ci leave the replicas to the HPA."),
        (
            "argocd-controller",
            "Apply",
            "Take replicas out of the manifest, or have Argo CD ignore /spec/replicas.",
        ),
    ] {
        assert_eq!(advice(manager, operation), want, "{manager} {operation}");
    }
}

/// The server takes away what no manager states any more, whichever tool applies the manifest.
#[test]
fn replicas_that_the_server_resets() {
    let evidence = |manager: &str, operation: &str| {
        let writer = json!({"manager": manager, "operation": operation});
        said(Code::OtherWriter, &set_by(&writer, 3)).evidence
    };
    let reset = "Taken out before the controller scales again, the replicas are reset to 1 if no other manager \
                 owns them.";
    for manager in [
        "kubectl",
        "ci",
        "kustomize-controller",
        "helm",
        "argocd-controller",
    ] {
        assert!(
            evidence(manager, "Apply").iter().any(|it| it == reset),
            "{manager}"
        );
        assert!(
            !evidence(manager, "Update").iter().any(|it| it == reset),
            "{manager}"
        );
    }
}

/// A bound that keeps what a person set, and leaves the HPA a choice.
#[test]
fn replicas_that_a_person_sets() {
    let patch = |replicas: i32, least: i32, most: i32| {
        let writer = json!({"manager": "kubectl", "subresource": "scale"});
        let spec = json!({"spec": {"minReplicas": least, "maxReplicas": most}});
        let items = with(&set_by(&writer, replicas), "HorizontalPodAutoscaler", &spec);
        let commands = said(Code::OtherWriter, &items).commands;
        commands
            .get(1)
            .map(|it| it.split("-p ").last().unwrap().to_owned())
    };
    let of = |field: &str, value: i32| Some(format!("'{}'", json!({"spec": {field: value}})));
    // The last pass left 6.
    assert_eq!(patch(8, 2, 10), of("minReplicas", 8));
    assert_eq!(patch(8, 2, 7), of("maxReplicas", 8));
    assert_eq!(patch(3, 2, 10), of("maxReplicas", 3));
    assert_eq!(patch(3, 4, 10), of("minReplicas", 3));
    // It would fix the replicas.
    assert_eq!(patch(8, 2, 8), None);
    assert_eq!(patch(3, 3, 10), None);
}

/// A correction refers to what scaled the target, unless a person did, or that is not shown.
#[test]
fn replicas_beyond_a_bound_that_a_program_sets() {
    let advice = |manager: &str, ignored: &[Code]| {
        let writer = json!({"manager": manager, "operation": "Update"});
        let pass = pass(&set_by(&writer, 1));
        let all = Explanation::new(&pass).ignoring(ignored).findings;
        let below = all
            .into_iter()
            .find(|it| it.code == Code::BelowMin)
            .unwrap();
        (below.text.advice.text(), below.text.commands.len())
    };
    let ignored = [Code::OtherWriter];
    let own = "Change minReplicas if 1 is right.".to_owned();
    let other = "Follow the advice of other-writer.".to_owned();
    let unknown = "Find out what scaled it to 1, or change minReplicas.".to_owned();
    assert_eq!(advice("helm", &[]), (other, 0));
    assert_eq!(advice("kubectl-edit", &[]), (own, 2));
    assert_eq!(advice("helm", &ignored), (unknown, 2));
}

/// What is not shown is no reason to take a bound lightly.
#[test]
fn a_bound_beside_a_finding_that_is_ignored() {
    let queue = [
        state(
            &[build::external("queue", &build::value("75"))],
            &["50m"; 4],
        ),
        vec![build::queue(&["225"])],
    ];
    let items = with(
        &queue.concat(),
        "HorizontalPodAutoscaler",
        &json!({"spec": {"maxReplicas": 7}}),
    );
    let told = |ignored: &[Code]| {
        let pass = pass(&items);
        let all = Explanation::new(&pass).ignoring(ignored).findings;
        let bound = all.into_iter().find(|it| it.code == Code::AtMax).unwrap();
        (bound.severity, bound.text.advice.text())
    };
    let raise = "Raise maxReplicas if nodes can carry it (predict --max 12), or the target to 150 if a pod can carry \
                 more (predict --target)."
        .to_owned();
    let follow = "Follow the advice of value-multiplies.".to_owned();
    assert_eq!(told(&[]), (Severity::Info, follow.clone()));
    assert_eq!(told(&[Code::WithinTolerance]), (Severity::Info, follow));
    assert_eq!(told(&[Code::ValueMultiplies]), (Severity::Warning, raise));
}

/// A bound that has changed is what to change, and not what something scaled the target to.
#[test]
fn a_bound_that_has_changed() {
    let least = json!({"spec": {"minReplicas": 6}});
    let items = with(
        &state(&[cpu()], &["50m"; 4]),
        "HorizontalPodAutoscaler",
        &least,
    );
    let status = json!({"currentReplicas": 4, "desiredReplicas": 4, "conditions": [
        {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}]});
    let left = |replicas: i32| {
        let status = build::with(status.clone(), &json!({"currentReplicas": replicas}));
        let status = build::with(status, &json!({"desiredReplicas": replicas}));
        with(
            &items,
            "HorizontalPodAutoscaler",
            &json!({ "status": status }),
        )
    };
    let change = "Change minReplicas if 4 is right.";
    for (items, advice, evidence) in [
        (items.clone(), change, Some("The HPA has no status yet.")),
        (
            left(4),
            change,
            Some("The last pass left 4 replicas, so minReplicas was changed after it."),
        ),
        (
            left(5),
            "Find out what scaled it to 4, or change minReplicas.",
            None,
        ),
    ] {
        let text = said(Code::BelowMin, &items);
        assert_eq!(text.advice.text(), advice);
        let with = "With minReplicas 4: 4 replicas.";
        let want: Vec<&str> = evidence.into_iter().chain([with]).collect();
        assert_eq!(text.evidence, want);
    }
}

/// Returns the text about a code in a state, if another spec than the running one is assumed.
fn said_assuming(code: Code, items: &[Value], assume: impl Fn(&mut HpaSpec)) -> Text<String> {
    let mut input = pass(items).input;
    input.observed = Some(input.snapshot.hpa.clone());
    assume(&mut input.snapshot.hpa.spec);
    let pass = Pass::run(input);
    let views = views(&pass, &find(&pass));
    views
        .into_iter()
        .find(|view| view.code == code)
        .expect("the code")
        .text
}

/// No command changes a bound that the running HPA does not have.
#[test]
fn a_bound_that_is_assumed() {
    let busy = state(&[cpu()], &["90m"; 4]);
    let disabled = json!({"spec": {"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}}});
    let disabled = with(&busy, "HorizontalPodAutoscaler", &disabled);
    let quick = json!({"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}});
    let idle = with(
        &state(&[cpu()], &["10m"; 4]),
        "HorizontalPodAutoscaler",
        &quick,
    );
    let text = said_assuming(Code::AtMax, &busy, |spec| spec.max_replicas = 4);
    assert_eq!(
        text.advice.text(),
        "Assume a higher maxReplicas if nodes can carry it (predict --max 8), or the cpu request to 240m if a pod can \
         carry more (predict --request)."
    );
    assert!(
        text.evidence
            .contains(&"The HPA itself has maxReplicas 20.".to_owned())
    );
    let of = |flags: &str| format!("kubectl hpa predict web -n default {flags}");
    assert_eq!(text.commands, [of("--max 8"), of("--request app=cpu=240m")]);
    let text = said_assuming(Code::AtMin, &idle, |spec| spec.min_replicas = Some(4));
    assert_eq!(text.advice.text(), "Nothing to do.");
    assert!(
        text.evidence
            .contains(&"The HPA itself has minReplicas 1.".to_owned())
    );
    assert_eq!(text.commands, Vec::<String>::new());
    let text = said_assuming(Code::DirectionDisabled, &disabled, |spec| {
        spec.max_replicas = 4;
    });
    assert_eq!(
        text.advice.text(),
        "If that is not meant, remove behavior.scaleUp.selectPolicy and assume a higher maxReplicas."
    );
    assert_eq!(text.commands.len(), 1, "{:?}", text.commands);
    // Only the other bound is assumed.
    let at_most = with(
        &busy,
        "HorizontalPodAutoscaler",
        &json!({"spec": {"maxReplicas": 4}}),
    );
    let text = said_assuming(Code::AtMax, &at_most, |spec| spec.min_replicas = Some(2));
    assert_eq!(text.commands.len(), 3, "{:?}", text.commands);
    assert!(
        text.advice.text().starts_with("Raise maxReplicas if"),
        "{text:?}"
    );
}

/// With scaling disabled, another bound is no remedy, whether or not a finding says so.
#[test]
fn a_bound_in_a_disabled_direction() {
    let spec = json!({"spec": {"maxReplicas": 4,
        "behavior": {"scaleUp": {"selectPolicy": "Disabled"}}}});
    let items = with(
        &state(&[cpu()], &["90m"; 4]),
        "HorizontalPodAutoscaler",
        &spec,
    );
    let pass = pass(&items);
    let told = |ignored: &[Code]| {
        let all = Explanation::new(&pass).ignoring(ignored).findings;
        let bound = all.into_iter().find(|it| it.code == Code::AtMax).unwrap();
        (
            bound.severity,
            bound.text.advice.text(),
            bound.text.commands.len(),
        )
    };
    let leave =
        "Leave it: with scaling disabled in this direction, another maxReplicas changes nothing.";
    let follow = "Follow the advice of direction-disabled.";
    assert_eq!(told(&[]), (Severity::Info, follow.to_owned(), 0));
    assert_eq!(
        told(&[Code::DirectionDisabled]),
        (Severity::Info, leave.to_owned(), 0)
    );
}

/// A series may be in another namespace than the one in which the controller looks.
#[test]
fn the_namespace_of_a_metric() {
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject", "name": "web", "controller": true}]}});
    let object = |kind: &str| {
        json!({"type": "Object", "object": {
            "describedObject": {"apiVersion": "v1", "kind": kind, "name": "lb"},
            "metric": {"name": "queue"}, "target": build::value("10")}})
    };
    let queue = || build::external("queue", &build::average("10"));
    let pods = json!({"type": "Pods", "pods": {
        "metric": {"name": "queue"}, "target": build::average("10")}});
    let external = "It is looked up in the HPA's namespace, default. prometheus-adapter looks at \
                    series of others only under a rule with namespaced: false.";
    let of_service = "It is looked up for Service/lb in the HPA's namespace, default: an object of \
                      another one cannot be described.";
    let unknown = |metric: Value, api: &str| {
        let message = "the server could not find the metric queue for x";
        let errors = json!({"errors": [{"api": api, "message": message}]});
        with(&state(&[metric], &["50m"]), "ControllerState", &errors)
    };
    let empty = [state(&[queue()], &["50m"]), vec![build::queue(&[])]].concat();
    let of_keda = with(
        &unknown(queue(), "external"),
        "HorizontalPodAutoscaler",
        &owner,
    );
    for (code, items, want) in [
        (Code::MetricEmpty, empty, Some(external)),
        (
            Code::MetricNotFound,
            unknown(queue(), "external"),
            Some(external),
        ),
        (Code::MetricNotFound, of_keda, None),
        (
            Code::MetricNotFound,
            unknown(object("Service"), "custom"),
            Some(of_service),
        ),
        (
            Code::MetricNotFound,
            unknown(object("Namespace"), "custom"),
            None,
        ),
        (Code::MetricNotFound, unknown(pods, "custom"), None),
    ] {
        let evidence = said(code, &items).evidence;
        let told = evidence.iter().find(|it| it.starts_with("It is looked up"));
        assert_eq!(told.map(String::as_str), want, "{code:?} {evidence:?}");
    }
}

/// The metric is there, but for other objects, or from another server.
#[test]
fn a_metric_that_is_served_otherwise() {
    let unknown = "the server could not find the metric queue for x";
    let listing = |metric: &Value, names: &[&str]| {
        let errors = json!({"errors": [{"api": "custom", "message": unknown}]});
        let mut items = with(
            &state(std::slice::from_ref(metric), &["50m"]),
            "ControllerState",
            &errors,
        );
        let names: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        items.push(json!({"apiVersion": "v1", "kind": "APIResourceList",
            "groupVersion": "custom.metrics.k8s.io/v1beta1", "resources": names}));
        let text = said(Code::MetricNotFound, &items);
        (text.summary, text.advice.text())
    };
    let per_pod = json!({"type": "Pods", "pods": {
        "metric": {"name": "queue"}, "target": build::average("10")}});
    let of_ingress = json!({"type": "Object", "object": {
        "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"},
        "metric": {"name": "queue"}, "target": build::value("10")}});
    let none = "the custom metrics API does not know queue, so nothing is scaled";
    let jobs =
        "the custom metrics API serves queue for jobs.batch, not for pods, so nothing is scaled";
    let pods =
        "the custom metrics API serves queue for pods, not for ingresses, so nothing is scaled";
    for (metric, names, summary, advice) in [
        (
            &per_pod,
            &["jobs.batch/queue"][..],
            jobs,
            "Describe one of the jobs.batch with a metric of type Object, or add a rule for pods to the adapter.",
        ),
        (
            &per_pod,
            &["jobs.batch/queue", "pods/queue_count"],
            jobs,
            "Use the name queue_count if that is meant, or describe one of the jobs.batch with a metric of \
             type Object.",
        ),
        (
            &of_ingress,
            &["pods/queue"],
            pods,
            "Use a metric of type Pods, or add a rule for ingresses to the adapter.",
        ),
        (
            &per_pod,
            &["jobs.batch/latency"],
            none,
            "Correct the name, or add a rule for it to the adapter.",
        ),
    ] {
        assert_eq!(
            listing(metric, names),
            (summary.to_owned(), advice.to_owned())
        );
    }
    let keda = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web",
        "uid": "1", "controller": true}]);
    let served_by = |namespace: &str, name: &str, owner: &Value| {
        let errors = json!({"errors": [{"api": "external", "message": unknown}]});
        let queue = build::external("queue", &build::average("10"));
        let mut items = with(&state(&[queue], &["50m"]), "ControllerState", &errors);
        items.push(
            json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
            "spec": {"service": {"namespace": namespace, "name": name}},
            "status": {"conditions": [{"type": "Available", "status": "True"}]}}),
        );
        let owner = json!({"metadata": {"ownerReferences": owner}});
        let text = said(
            Code::MetricNotFound,
            &with(&items, "HorizontalPodAutoscaler", &owner),
        );
        let points = "The APIService v1beta1.external.metrics.k8s.io points at the Service datadog/agent; only one \
                      server can serve an API.";
        (
            text.advice.text(),
            text.evidence.contains(&points.to_owned()),
        )
    };
    let point = "Point v1beta1.external.metrics.k8s.io at KEDA's metrics server, which ends the metrics of \
                 datadog/agent for other HPAs; or read its metrics in an HPA of their own.";
    let find_out = "Find out why KEDA does not serve it for ScaledObject/web.";
    let correct = "Correct the name, or add a rule for it to the adapter.";
    assert_eq!(
        served_by("datadog", "agent", &keda),
        (point.to_owned(), true)
    );
    assert_eq!(
        served_by("scaling", "keda-operator-metrics-apiserver", &keda),
        (find_out.to_owned(), false)
    );
    assert_eq!(
        served_by("datadog", "agent", &Value::Null),
        (correct.to_owned(), false)
    );
}

/// Another server than KEDA's fails, and an adapter is there without an APIService for the group.
#[test]
fn what_serves_a_metrics_api() {
    let service = |group: &str, namespace: &str, name: &str| {
        json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": format!("v1beta1.{group}")},
            "spec": {"service": {"namespace": namespace, "name": name}},
            "status": {"conditions": [{"type": "Available", "status": "True"}]}})
    };
    let keda = json!({"metadata": {"ownerReferences": [{"apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject", "name": "web", "uid": "1", "controller": true}]}});
    let failing = |metric: Value, api: &str, message: &str, service: Value| {
        let errors = json!({"errors": [{"api": api, "message": message}]});
        let mut items = with(&state(&[metric], &["50m"]), "ControllerState", &errors);
        items.push(service);
        items
    };
    let of_backend = |service| {
        let queue = build::external("queue", &build::average("10"));
        let items = failing(queue, "external", "DatadogMetric not found", service);
        let text = said(
            Code::MetricFailing,
            &with(&items, "HorizontalPodAutoscaler", &keda),
        );
        (text.advice.remedy, text.evidence.len())
    };
    let external = "external.metrics.k8s.io";
    assert_eq!(
        of_backend(service(external, "datadog", "agent")),
        (Remedy::PointApiService, 2)
    );
    assert_eq!(
        of_backend(service(external, "keda", "keda-operator-metrics-apiserver")),
        (Remedy::LookAtScaledObject, 1)
    );
    let unserved = |service| {
        let rps = json!({"type": "Pods", "pods": {
            "metric": {"name": "rps"}, "target": build::average("10")}});
        let message = "no custom metrics API (custom.metrics.k8s.io) registered";
        said(
            Code::MetricsApiUnavailable,
            &failing(rps, "custom", message, service),
        )
        .advice
        .text()
    };
    let install = "Install an adapter such as prometheus-adapter.";
    assert_eq!(
        unserved(service(
            "metrics.k8s.io",
            "monitoring",
            "prometheus-adapter"
        )),
        "Give the installed adapter, monitoring/prometheus-adapter, an APIService of this group and a rule \
         for rps."
    );
    assert_eq!(
        unserved(service("metrics.k8s.io", "kube-system", "metrics-server")),
        install
    );
    assert_eq!(
        unserved(service(external, "keda", "keda-operator-metrics-apiserver")),
        install
    );
    // What does not answer has logs.
    let mut down = service("metrics.k8s.io", "kube-system", "metrics-server");
    down["status"]["conditions"][0]["status"] = json!("False");
    let text = said(
        Code::MetricsApiUnavailable,
        &failing(cpu(), "resource", "proxy error", down),
    );
    let logs = "It points at the Service kube-system/metrics-server, whose pods log why.";
    assert_eq!(text.evidence.last().map(String::as_str), Some(logs));
}

/// What keeps the replicas on purpose asks for nothing, and a tolerance that cannot be set has a target instead.
#[test]
fn what_may_be_on_purpose() {
    let pinned = |items: &[Value]| {
        let spec = json!({"spec": {"minReplicas": 4, "maxReplicas": 4}});
        said(Code::AtMin, &with(items, "HorizontalPodAutoscaler", &spec))
    };
    let text = pinned(&state(&[cpu()], &["10m"; 4]));
    assert_eq!(
        text.advice.text(),
        "Nothing to do if it is pinned on purpose: minReplicas and maxReplicas are both 4."
    );
    assert!(text.commands.is_empty(), "{text:?}");
    let old = |cpu: &str| {
        let items = state(&[self::cpu()], &[cpu]);
        let version = json!({"kubernetesVersion": "v1.30.0"});
        said(
            Code::WithinTolerance,
            &with(&items, "ControllerState", &version),
        )
    };
    let text = old("52m");
    // 52 is more than 1.1 times 47, and not of 48.
    assert_eq!(
        text.advice.text(),
        "Nothing to do; with a target of 47%, it proposes 2 at this load."
    );
    assert_eq!(
        text.commands,
        ["kubectl hpa predict web -n default --target cpu=47%"]
    );
    assert!(
        text.evidence.iter().all(|it| !it.contains("fewer")),
        "{text:?}"
    );
    // One replica cannot become fewer.
    assert_eq!(old("48m").advice.text(), "Nothing to do.");
}

/// What a resource metric without a value needs depends on the resource, and on the age of the pods.
#[test]
fn a_resource_without_a_value() {
    let advice = |resource: &str, start: &str| {
        let metric = build::resource(resource, &build::average("1"));
        let items = with(
            &state(&[metric], &["50m"]),
            "Pod",
            &json!({"status": {"startTime": start}}),
        );
        let items: Vec<Value> = items
            .into_iter()
            .filter(|it| it["kind"] != "PodMetrics")
            .collect();
        let text = said(Code::MetricEmpty, &items);
        (text.advice.text(), text.evidence.len())
    };
    let (young, old) = ("2026-11-21T05:59:40Z", "2026-11-21T05:00:00Z");
    let scrape = "Make sure that metrics-server scrapes the nodes of these pods.".to_owned();
    let wait = "Wait for the first sample of a pod, which takes up to a minute.".to_owned();
    let other = "Use a metric of type Pods or External: metrics-server serves only cpu and memory."
        .to_owned();
    assert_eq!(advice("cpu", old), (scrape.clone(), 1));
    assert_eq!(advice("memory", old), (scrape, 1));
    assert_eq!(advice("cpu", young), (wait, 2));
    assert_eq!(advice("nvidia.com/gpu", old).0, other);
    assert_eq!(advice("nvidia.com/gpu", young).0, other);
}

/// The cause stays where an error is shortened, and a condition without words ends as a sentence.
#[test]
fn errors_that_are_shortened() {
    let query = format!(
        "query: sum:aws.requests{{{}}}.rollup(sum, 60)",
        "service:shop,".repeat(12)
    );
    let failing = |message: &str| {
        let errors = json!({"errors": [{"api": "external", "message": message}]});
        let queue = build::external("queue", &build::average("10"));
        said(
            Code::MetricFailing,
            &with(&state(&[queue], &["50m"]), "ControllerState", &errors),
        )
    };
    let text = failing(&format!(
        "Internal error occurred: DatadogMetric is invalid, err: Gone, {query}"
    ));
    assert!(
        text.summary
            .ends_with("DatadogMetric is invalid, err: Gone"),
        "{}",
        text.summary
    );
    assert_eq!(
        text.evidence,
        ["The API says: Internal error occurred: DatadogMetric is invalid, err: Gone, query: …."]
    );
    let text = failing(
        "Internal error occurred: DatadogMetric not found for metric name: queue, datadogmetricid: \
         datadog/dcaautogen-9c1d4f3fbb7a1f2a6e1c7f0a27de10",
    );
    let cause = ": DatadogMetric not found for metric name: queue";
    assert!(text.summary.ends_with(cause), "{}", text.summary);
    // An error that quotes no query ends with its cause.
    let text = failing(&format!(
        "failed to ask {}: timeout",
        "the backend ".repeat(20)
    ));
    assert!(text.summary.ends_with(": timeout"), "{}", text.summary);
    let service = |reason: &str, message: &str| {
        let metrics = state(&[cpu()], &["50m"]);
        let errors = json!({"errors": [{"api": "resource", "message": "proxy error"}]});
        let mut items = with(&metrics, "ControllerState", &errors);
        items.push(
            json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "status": {"conditions": [{"type": "Available", "status": "False",
                "reason": reason, "message": message}]}}),
        );
        said(Code::MetricsApiUnavailable, &items)
            .evidence
            .pop()
            .unwrap()
    };
    let is_down = "The APIService v1beta1.metrics.k8s.io is not available";
    assert_eq!(service("", ""), format!("{is_down}."));
    assert_eq!(service("Gone", ""), format!("{is_down}: Gone."));
    assert_eq!(
        service("Gone", "no endpoints"),
        format!("{is_down}: Gone: no endpoints.")
    );
    let resized = |reason: &str, message: &str| {
        let condition = json!({"type": "PodResizeInProgress", "status": "True", "reason": reason,
            "message": message, "lastTransitionTime": "2026-11-21T05:59:40Z"});
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T05:00:00Z"});
        let statuses = json!([{"name": "app", "resources": {"requests": {"cpu": "100m"}}}]);
        let patch = json!({"spec": {"containers": [build::requesting("app", "400m")]},
            "status": {"containerStatuses": statuses, "conditions": [ready, condition]}});
        let evidence = said(
            Code::ResizeInProgress,
            &with(&state(&[cpu()], &["50m"]), "Pod", &patch),
        )
        .evidence;
        evidence
            .into_iter()
            .find(|it| it.starts_with("PodResize"))
            .unwrap()
    };
    assert_eq!(resized("", ""), "PodResizeInProgress since 05:59:40Z.");
    assert_eq!(resized("", "x"), "PodResizeInProgress since 05:59:40Z: x.");
    assert_eq!(
        resized("Error", "x"),
        "PodResizeInProgress since 05:59:40Z: Error: x."
    );
}

/// A 404 says nothing of the group, unless KEDA should serve it or there is no other group.
#[test]
fn an_api_that_may_be_served() {
    let text = |api: &str, metric: &Value, owner: &Value| {
        let message = "the server could not find the requested resource (get queue)";
        let errors = json!({"errors": [{"api": api, "message": message}]});
        let items = with(
            &state(std::slice::from_ref(metric), &["50m"]),
            "ControllerState",
            &errors,
        );
        let metadata = json!({"metadata": {"ownerReferences": owner}});
        said(
            Code::MetricsApiUnavailable,
            &with(&items, "HorizontalPodAutoscaler", &metadata),
        )
    };
    let queue = build::external("queue", &build::average("10"));
    let keda = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web",
        "uid": "1", "controller": true}]);
    let names = "kubectl get --raw /apis/external.metrics.k8s.io/v1beta1";
    let service = "kubectl describe apiservice v1beta1.external.metrics.k8s.io";
    for (api, metric, owner, summary, advice, command) in [
        (
            "external",
            &queue,
            &Value::Null,
            "the external metrics API is not served, or does not know queue, so nothing is scaled",
            "Correct the name, or install an adapter such as KEDA.",
            names,
        ),
        (
            "external",
            &queue,
            &keda,
            "the external metrics API is not served, or does not know queue, so nothing is scaled",
            "Look at KEDA's metrics server and its APIService.",
            service,
        ),
        (
            "resource",
            &cpu(),
            &Value::Null,
            "the resource metrics API is not served: cpu cannot be read, so nothing is scaled",
            "Install metrics-server, or register its APIService.",
            "kubectl get apiservices",
        ),
    ] {
        let text = text(api, metric, owner);
        assert_eq!((&*text.summary, &*text.advice.text()), (summary, advice));
        assert_eq!(text.commands, [command]);
    }
}

/// What keeps the pass after a correction from an answer.
#[test]
fn a_metric_that_fails_while_the_pass_ignores_it() {
    let effect = |metrics: &[Value]| {
        let errors = json!({"errors": [{"api": "external", "message": "timeout"}]});
        let items = with(&state(metrics, &["50m"; 4]), "ControllerState", &errors);
        let most = json!({"spec": {"maxReplicas": 2}});
        let items = with(&items, "HorizontalPodAutoscaler", &most);
        assert_eq!(said(Code::AboveMax, &items).commands.len(), 2);
        said(Code::MetricFailing, &items).summary
    };
    let queue = build::external("queue", &build::average("10"));
    assert_eq!(
        effect(std::slice::from_ref(&queue)),
        "queue fails, so nothing is scaled after this pass: timeout"
    );
    assert_eq!(
        effect(&[queue, cpu()]),
        "queue fails, so it blocks scaling down after this pass: timeout"
    );
}

/// At a bound, both have to change.
#[test]
fn a_disabled_direction_at_a_bound() {
    let at = |cpu: &str, way: &str, spec: Value| {
        let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
        let disabled = json!({way: {"selectPolicy": "Disabled"}});
        let behavior = json!({"behavior": build::with(behavior, &disabled)});
        let items = with(
            &state(&[self::cpu()], &[cpu; 4]),
            "HorizontalPodAutoscaler",
            &json!({ "spec": behavior }),
        );
        with(&items, "HorizontalPodAutoscaler", &json!({ "spec": spec }))
    };
    for (items, advice, flags, patch, without) in [
        (
            at("90m", "scaleUp", json!({"maxReplicas": 4})),
            "If that is not meant, remove behavior.scaleUp.selectPolicy and raise maxReplicas.",
            "--set behavior.scaleUp.selectPolicy=null --max 8",
            json!({"behavior": {"scaleUp": {"selectPolicy": null}}, "maxReplicas": 8}),
            "With the default, Max, and maxReplicas 8: 8 replicas.",
        ),
        (
            at("10m", "scaleDown", json!({"minReplicas": 4})),
            "If that is not meant, remove behavior.scaleDown.selectPolicy and lower minReplicas.",
            "--set behavior.scaleDown.selectPolicy=null --min 1",
            json!({"behavior": {"scaleDown": {"selectPolicy": null}}, "minReplicas": 1}),
            "With the default, Max, and minReplicas 1: 1 replica.",
        ),
        (
            at("90m", "scaleUp", json!({"maxReplicas": 5})),
            "If that is not meant, remove behavior.scaleUp.selectPolicy.",
            "--set behavior.scaleUp.selectPolicy=null",
            json!({"behavior": {"scaleUp": {"selectPolicy": null}}}),
            "With the default, Max: a proposal of 8, and 5 replicas after stabilization and limits.",
        ),
    ] {
        let text = said(Code::DirectionDisabled, &items);
        assert_eq!(text.advice.text(), advice);
        assert_eq!(text.evidence[0], without);
        let has_window = text.evidence[1..]
            .iter()
            .any(|it| it.contains("up to 3600"));
        assert_eq!(has_window, flags.contains("scaleDown"));
        assert_eq!(
            text.commands,
            [
                format!("kubectl hpa predict web -n default {flags}"),
                format!(
                    "kubectl patch hpa web -n default --type=merge -p '{}'",
                    json!({"spec": patch})
                ),
            ]
        );
    }
}

/// A container that waits in an error does not run by itself, however young its pod is.
#[test]
fn pods_that_wait_in_an_error() {
    let start = json!("2026-11-21T05:56:00Z");
    let advice = |phase: &str, reason: &str, measured: bool| {
        let mut items = state(&[cpu()], &["80m"; 4]);
        let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == "web-3";
        let pod = items.iter_mut().find(is_it).unwrap();
        *pod = build::with(
            pod.clone(),
            &json!({
            "metadata": {"creationTimestamp": start},
            "status": {"phase": phase, "startTime": start,
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": start}],
                "containerStatuses": [{"name": "app", "restartCount": 5,
                    "state": {"waiting": {"reason": reason}}}]}}),
        );
        let is_lost = |it: &Value| {
            it["kind"] == "PodMetrics" && it["metadata"]["name"] == "web-3" && !measured
        };
        items.retain(|it| !is_lost(it));
        let text = said(Code::UncountedPods, &items);
        assert_eq!(text.commands, ["kubectl describe pod web-3 -n default"]);
        text.advice.text()
    };
    let run = |reason: &str| format!("Find out why app does not run in web-3: {reason}.");
    for (phase, reason, measured, want) in [
        (
            "Pending",
            "ImagePullBackOff",
            false,
            run("ImagePullBackOff"),
        ),
        (
            "Pending",
            "CreateContainerConfigError",
            false,
            run("CreateContainerConfigError"),
        ),
        (
            "Running",
            "CrashLoopBackOff",
            false,
            run("CrashLoopBackOff"),
        ),
        ("Running", "CrashLoopBackOff", true, run("CrashLoopBackOff")),
        (
            "Pending",
            "ContainerCreating",
            false,
            "Wait until the pods run.".to_owned(),
        ),
        (
            "Running",
            "PodInitializing",
            false,
            "Wait until the pods have metrics.".to_owned(),
        ),
    ] {
        assert_eq!(
            advice(phase, reason, measured),
            want,
            "{phase} {reason} {measured}"
        );
    }
}

/// If another finding names the trouble of the same pods, nothing else is advised.
#[test]
fn pods_that_another_finding_is_about() {
    let start = json!("2026-11-21T05:00:00Z");
    let mut items = state(&[cpu()], &["80m"; 4]);
    let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == "web-3";
    let pod = items.iter_mut().find(is_it).unwrap();
    *pod = build::with(
        pod.clone(),
        &json!({"status": {"startTime": start,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": start}],
        "containerStatuses": [{"name": "app", "restartCount": 14,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}),
    );
    let advice = |ignored: &[Code]| {
        let pass = pass(&items);
        let all = Explanation::new(&pass).ignoring(ignored).findings;
        let own = all
            .into_iter()
            .find(|it| it.code == Code::UncountedPods)
            .unwrap();
        own.text.advice.text()
    };
    assert_eq!(advice(&[]), "Follow the advice of never-ready.");
    let own = "Find out why app does not run in web-3: CrashLoopBackOff.";
    assert_eq!(advice(&[Code::NeverReady]), own);
}

/// A container that only the template has. A partition leaves the pods below it as they are.
#[test]
fn a_container_that_a_partition_keeps_from_pods() {
    let text = |partition: i32| {
        let metric = json!({"type": "ContainerResource", "containerResource": {
            "name": "cpu", "container": "app", "target": build::utilization(50)}});
        let target = json!({"spec": {"scaleTargetRef": {"kind": "StatefulSet"}}});
        let mut items = with(
            &state(&[metric], &["50m", "50m"]),
            "HorizontalPodAutoscaler",
            &target,
        );
        let of_old = json!({"spec": {"containers": [build::requesting("old", "100m")]},
            "containers": [{"name": "old", "usage": {"cpu": "50m"}}]});
        let old = items
            .iter_mut()
            .filter(|it| it["metadata"]["name"] == "web-1");
        old.for_each(|it| {
            let field = if it["kind"] == "Pod" {
                "spec"
            } else {
                "containers"
            };
            *it = build::with(it.clone(), &json!({ field: of_old[field] }));
        });
        items.push(json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "updateStrategy": {"rollingUpdate": {"partition": partition}},
                "template": {"spec": {"containers": [build::requesting("app", "100m")]}}},
            "status": {"replicas": 2},
        }));
        let text = said(Code::ContainerMetricsMissing, &items);
        (text.advice.text(), text.commands)
    };
    let patch = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}});
    let lower = format!("kubectl patch statefulset/web -n default --type=merge -p '{patch}'");
    let lowered = "Lower partition (2) in the update strategy: the template has the container app.";
    assert_eq!(text(2), (lowered.to_owned(), vec![lower]));
    let status = "kubectl rollout status statefulset/web -n default --watch=false";
    let wait = "Wait for the rollout to end: the template has the container app.";
    assert_eq!(text(1), (wait.to_owned(), vec![status.to_owned()]));
}

/// Pods of an earlier revision without a request. No rollout replaces those of `OnDelete`.
#[test]
fn pods_that_no_rollout_replaces() {
    let text_from = |kind: &str, strategy: Value, paused: bool, others: usize, from: usize| {
        let pods = vec!["50m"; 2 + others];
        let items = state(&[cpu()], &pods);
        let owner =
            json!([{"apiVersion": "apps/v1", "kind": kind, "name": "web", "controller": true}]);
        let labels = json!({"app": "web", "controller-revision-hash": "web-1"});
        let patch = json!({"metadata": {"labels": labels, "ownerReferences": owner},
            "spec": {"containers": [{"name": "app"}]}});
        let items = with(&items, "Pod", &patch);
        let mut items = with(
            &items,
            "HorizontalPodAutoscaler",
            &json!({"spec": {"scaleTargetRef": {"kind": kind}}}),
        );
        let ready = json!({"metadata": {"labels": {"controller-revision-hash": "web-2"}},
            "spec": {"containers": [build::requesting("app", "100m")]}});
        let all = items
            .iter_mut()
            .filter(|it| it["kind"] == "Pod")
            .enumerate();
        let new = all.filter(|(at, _)| !(from..from + 2).contains(at));
        new.for_each(|(_, pod)| *pod = build::with(pod.clone(), &ready));
        items.push(json!({
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": pods.len(), "selector": {"matchLabels": {"app": "web"}},
                "updateStrategy": strategy, "paused": paused,
                "template": {"spec": {"containers": [build::requesting("app", "100m")]}}},
            "status": {"replicas": pods.len(), "updatedReplicas": others, "updateRevision": "web-2"},
        }));
        said(Code::MissingRequest, &items)
    };
    let text = |kind: &str, strategy: Value, paused: bool, others: usize| {
        text_from(kind, strategy, paused, others, 0)
    };
    let status = "kubectl rollout status statefulset/web -n default --watch=false";
    let list = "kubectl get pods -n default -l app=web -L controller-revision-hash";
    let wait = "Wait for the rollout to end, or delete the pods of the earlier revision.";
    let patch = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}});
    let lower = format!("kubectl patch statefulset/web -n default --type=merge -p '{patch}'");
    let rolling = |partition: i32| json!({"rollingUpdate": {"partition": partition}});
    for (strategy, advice, command) in [
        (json!({}), wait, status),
        (rolling(0), wait, status),
        (
            json!({"type": "OnDelete"}),
            "Delete the pods of the earlier revision: the update strategy is OnDelete.",
            list,
        ),
        // The pods are 0 and 1.
        (
            rolling(1),
            "Lower partition (1) in the update strategy.",
            &lower,
        ),
    ] {
        let text = text("StatefulSet", strategy, false, 1);
        assert_eq!(
            (&*text.advice.text(), &text.commands[..]),
            (advice, &[command.to_owned()][..])
        );
        assert!(
            text.evidence
                .iter()
                .any(|it| it.starts_with("Without these pods: "))
        );
    }
    // Those that the partition does not leave alone are replaced.
    let above = text_from("StatefulSet", rolling(1), false, 1, 1);
    assert_eq!((&*above.advice.text(), &*above.commands[0]), (wait, status));
    // Without any pod, there is no decision.
    let text = text("StatefulSet", json!({}), false, 0);
    assert!(
        !text
            .evidence
            .iter()
            .any(|it| it.starts_with("Without these pods")),
        "{:?}",
        text.evidence
    );
}

/// A bound is not what to change where something speaks against the metric.
#[test]
fn what_speaks_against_the_metric_of_a_bound() {
    let queue = |value: &str, cpu: &[&str]| {
        let items = state(&[build::external("queue", &build::average("1"))], cpu);
        [
            with(&items, "HorizontalPodAutoscaler", &json!({"spec": {"minReplicas": 2, "maxReplicas": 5, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}})),
            vec![build::queue(&[value])],
        ]
        .concat()
    };
    let served = |values: [&str; 3]| {
        let metric = json!({"type": "Pods", "pods": {
            "metric": {"name": "served"}, "target": build::average("10")}});
        let items = state(&[metric], &["90m"; 3]);
        let most = json!({"spec": {"maxReplicas": 5}});
        let mut items = with(&items, "HorizontalPodAutoscaler", &most);
        let pods = items.iter_mut().filter(|it| it["kind"] == "Pod");
        for (pod, created) in pods.zip(["03", "04", "05"]) {
            pod["metadata"]["creationTimestamp"] = json!(format!("2026-11-21T{created}:00:00Z"));
        }
        let value = |(number, value): (usize, &str)| {
            json!({
                "describedObject": {"kind": "Pod", "name": format!("web-{number}"), "namespace": "default"},
                "metric": {"name": "served"}, "timestamp": build::NOW, "value": value,
            })
        };
        let values: Vec<Value> = values.into_iter().enumerate().map(value).collect();
        items.push(json!({
            "apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
            "metadata": {}, "items": values,
        }));
        items
    };
    let raise = "Raise maxReplicas as far as nodes can carry it, or the target to 18 if a pod can carry more";
    let counter = "Use a rate of served: like a counter, it rises with the age of a pod.";
    for (code, items, want) in [
        (Code::AtMax, queue("90", &["50m"; 4]), raise),
        (
            Code::AtMax,
            queue("90", &["5m"; 4]),
            "Look at queue first: the pods use 5% of the cpu that they request.",
        ),
        (Code::AtMin, queue("1", &["50m"; 4]), "Nothing to do."),
        (
            Code::AtMin,
            queue("1", &["190m"; 4]),
            "Look at queue first: the pods use 190% of the cpu that they request.",
        ),
        (Code::AtMax, served(["90", "60", "10"]), counter),
        // Not in the order of their ages, or not far apart.
        (
            Code::AtMax,
            served(["60", "90", "10"]),
            "Raise maxReplicas if",
        ),
        (Code::AtMax, served(["90", "80", "70"]), "Raise maxReplicas"),
    ] {
        let advice = said(code, &items).advice.text();
        assert!(advice.starts_with(want), "{advice}");
    }
}

/// The target is elsewhere, is kept at 0 by a Rollout, or creates a workload of its own.
#[test]
fn the_object_that_is_meant() {
    let target = |kind: &str, api_version: &str| json!({"spec": {"scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": "web"}}});
    let deployment = |name: &str, namespace: &str, more: &Value| {
        let own = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace, "uid": name},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
            "status": {"replicas": 3},
        });
        build::with(own, more)
    };
    let without_scale = |items: Vec<Value>| -> Vec<Value> {
        items
            .into_iter()
            .filter(|it| it["kind"] != "Scale")
            .collect()
    };
    let busy = state(&[cpu()], &["90m"; 3]);
    let elsewhere = [
        without_scale(busy.clone()),
        vec![deployment("web", "shop", &json!({}))],
    ]
    .concat();
    let unstated = {
        let hpa = json!({"metadata": {"namespace": "shop"}});
        let items = with(
            &without_scale(busy.clone()),
            "HorizontalPodAutoscaler",
            &hpa,
        );
        let no_namespace = json!({"metadata": {"namespace": null}});
        [items, vec![deployment("web", "", &no_namespace)]].concat()
    };
    let zero = with(
        &busy,
        "Scale",
        &json!({"spec": {"replicas": 0}, "status": {"replicas": 0}}),
    );
    let rollout = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    });
    let off = json!({"spec": {"replicas": 0}, "status": {"replicas": 0}});
    let kept = [zero, vec![deployment("web", "default", &off), rollout]].concat();
    let custom = with(
        &busy,
        "HorizontalPodAutoscaler",
        &target("Stack", "example.com/v1"),
    );
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Stack",
        "name": "web", "uid": "s", "controller": true}]}});
    let five = json!({"spec": {"replicas": 5}, "status": {"replicas": 3}});
    let custom = with(&custom, "Scale", &five);
    let custom = with(
        &custom,
        "HorizontalPodAutoscaler",
        &json!({"status": {"lastScaleTime": "2026-11-21T05:00:00Z"}}),
    );
    let owned = [custom, vec![deployment("web-a", "default", &owner)]].concat();
    for (code, items, want) in [
        (
            Code::TargetNotFound,
            elsewhere,
            "Create the HPA in the namespace shop, where Deployment/web is: it scales only in its own.",
        ),
        (
            Code::TargetNotFound,
            unstated,
            "State the namespace shop in Deployment/web too: an HPA scales only in its own namespace.",
        ),
        (
            Code::SwitchedOff,
            kept,
            "Point scaleTargetRef at Rollout/web (argoproj.io/v1alpha1): it runs the pods of this template \
             (spec.workloadRef).",
        ),
        (
            Code::ReplicasWithoutPods,
            owned,
            "Find out why Stack/web sets Deployment/web-a to 3 replicas: its operator does not pass on \
             spec.replicas.",
        ),
    ] {
        assert_eq!(said(code, &items).advice.text(), want);
    }
}

/// Who has lowered the maximum, and what to raise it to, by the status and the fields of a GitOps tool.
#[test]
fn a_maximum_that_was_lowered_names_its_writer() {
    let at = "2026-11-21T05:59:00Z";
    let lowered = |manager: &Value| {
        json!({"metadata": {"managedFields": manager}, "spec": {"maxReplicas": 4},
            "status": {"currentReplicas": 9, "desiredReplicas": 4, "lastScaleTime": at, "conditions": [
                {"type": "AbleToScale", "status": "True", "reason": "SucceededRescale"}]}})
    };
    let text = |manager: &Value| {
        let items = state(&[cpu()], &["90m"; 4]);
        said(
            Code::AboveMax,
            &with(&items, "HorizontalPodAutoscaler", &lowered(manager)),
        )
    };
    let writer = json!([{"manager": "argocd-controller", "operation": "Update",
        "time": "2026-11-21T05:58:50Z", "fieldsV1": {"f:spec": {"f:maxReplicas": {}}}}]);
    let told = text(&writer);
    assert_eq!(
        told.summary,
        "9 replicas were above maxReplicas (4), which argocd-controller wrote, so the controller set 4 \
         60s ago and ignored the metrics"
    );
    assert_eq!(
        told.evidence,
        [
            "The controller corrected that at 05:59:00Z without considering metrics, stabilization or rate \
             limits.",
            "The field manager argocd-controller wrote maxReplicas, and last changed the HPA at 05:58:50Z \
             (70s ago).",
            "With maxReplicas 9: 8 replicas.",
        ]
    );
    let again = "If 4 is not meant, raise maxReplicas again (predict --max 9).";
    assert_eq!(
        told.advice.text(),
        format!("{again} Argo CD writes hpa/web: change it in Git.")
    );
    assert_eq!(told.commands.len(), 1);
    // Without managed fields, a command shows them.
    let unknown = text(&json!([]));
    assert_eq!(unknown.advice.text(), again);
    let fields = "kubectl get hpa web -n default -o yaml --show-managed-fields";
    assert_eq!(unknown.commands.last().map(String::as_str), Some(fields));
}

/// Returns these objects with an HPA that KEDA creates from a ScaledObject of this spec and status.
fn of_keda(items: &[Value], object: &Value) -> Vec<Value> {
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject", "name": "web", "uid": "1", "controller": true}]}});
    let own = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": {"name": "web"}}});
    [
        with(items, "HorizontalPodAutoscaler", &owner),
        vec![build::with(own, object)],
    ]
    .concat()
}

/// Returns conditions of a ScaledObject, whose messages hold a secret.
fn conditions(all: &[(&str, &str)]) -> Value {
    let one = |(type_, status): &(&str, &str)| {
        json!({"type": type_, "status": status, "reason": "X",
            "message": "amqp://user:hunter2@rabbit refused"})
    };
    json!({"status": {"conditions": all.iter().map(one).collect::<Vec<_>>()}})
}

/// Returns an HPA of KEDA with a metric of this total and target per replica, and four busy or idle pods.
fn triggered(target: &str, total: &str, object: &Value) -> Vec<Value> {
    let items = state(
        &[build::external("s0-prometheus", &build::average(target))],
        &["50m"; 4],
    );
    let value = json!({"metricName": "s0-prometheus", "value": total});
    of_keda(
        &[items, vec![build::external_values([value])]].concat(),
        object,
    )
}

/// KEDA's fallback is no measurement: nothing else is advised on the number.
#[test]
fn a_value_that_keda_puts_in_place_of_one_that_fails() {
    let fallback = json!({"spec": {"fallback": {"failureThreshold": 3, "replicas": 30}}});
    let failing = build::with(conditions(&[("Fallback", "True")]), &fallback);
    let items = triggered("10", "300", &failing);
    let text = said(Code::MetricFailing, &items);
    assert_eq!(
        text.summary,
        "s0-prometheus is not measured: its trigger fails, and KEDA asks for the 30 replicas of spec.fallback"
    );
    assert_eq!(
        text.advice.text(),
        "Find out why its trigger in ScaledObject/web fails."
    );
    assert_eq!(
        said(Code::RateLimited, &items).advice.text(),
        "Follow the advice of metric-failing."
    );
    // Another value is measured, and so is the same one without the condition.
    let codes = |items: &[Value]| -> Vec<Code> {
        find(&pass(items))
            .iter()
            .map(crate::findings::Finding::code)
            .collect()
    };
    assert!(!codes(&triggered("10", "310", &failing)).contains(&Code::MetricFailing));
    let passed = build::with(conditions(&[("Fallback", "False")]), &fallback);
    assert!(!codes(&triggered("10", "300", &passed)).contains(&Code::MetricFailing));
}

/// Conditions of a ScaledObject are told, their messages never leave the program.
#[test]
fn a_scaled_object_that_is_not_ready() {
    let object = build::with(
        conditions(&[("Ready", "False"), ("Active", "False")]),
        &json!({"status": {"lastActiveTime": "2026-11-21T05:30:00Z"}}),
    );
    let none = of_keda(&state(&[cpu()], &[]), &object);
    let text = said(Code::SwitchedOff, &none);
    assert_eq!(
        text.advice.text(),
        "Find out why ScaledObject/web is not ready."
    );
    let want = "A trigger of ScaledObject/web was last active at 05:30:00Z (30m ago).";
    assert!(text.evidence.iter().any(|it| it == want), "{text:?}");
    let pass = pass(&none);
    let saved = crate::saved::save::to_json(&[&pass.input], &[]).unwrap();
    assert!(
        saved.contains("lastActiveTime") && !saved.contains("hunter2"),
        "{saved}"
    );
    let active = of_keda(&state(&[cpu()], &[]), &conditions(&[("Active", "True")]));
    assert_eq!(
        said(Code::SwitchedOff, &active).advice.text(),
        "Find out why KEDA leaves it at 0: a trigger of ScaledObject/web is active."
    );
}

/// A bound that the ScaledObject states already is not raised there.
#[test]
fn a_bound_that_keda_does_not_pass_on() {
    let bounds =
        |min: i32, max: i32| json!({"spec": {"minReplicaCount": min, "maxReplicaCount": max}});
    let most = json!({"spec": {"maxReplicas": 4}});
    let at_max = |object: &Value| {
        let items = with(
            &state(&[cpu()], &["90m"; 4]),
            "HorizontalPodAutoscaler",
            &most,
        );
        said(Code::AtMax, &of_keda(&items, object)).advice.text()
    };
    let raise = "Raise maxReplicaCount of ScaledObject/web if nodes can carry it (predict --max 8), or the cpu request to \
                 240m if a pod can carry more (predict --request).";
    assert_eq!(at_max(&bounds(0, 4)), raise);
    assert_eq!(at_max(&json!({})), raise);
    assert_eq!(
        at_max(&bounds(1, 9)),
        "Find out why KEDA does not pass on maxReplicaCount 9 of ScaledObject/web."
    );
    let conflict = "Set minReplicaCount (50) of ScaledObject/web to at most maxReplicaCount (10): until then, \
                    KEDA does not change its HPA.";
    assert_eq!(at_max(&bounds(50, 10)), conflict);
    // KEDA itself scales to its minimum, and the HPA back.
    let writer = json!({"manager": "keda", "operation": "Update", "subresource": "scale"});
    let set = set_by(&writer, 8);
    assert_eq!(
        said(Code::OtherWriter, &of_keda(&set, &bounds(50, 10)))
            .advice
            .text(),
        conflict
    );
    let own = said(Code::OtherWriter, &of_keda(&set, &json!({})))
        .advice
        .text();
    assert!(
        own.starts_with("Look at ScaledObject/web: KEDA itself scales"),
        "{own}"
    );
}

/// A fallback that is there already is not advised, nor one that KEDA does not use.
#[test]
fn a_fallback_that_would_help() {
    let empty = |target: &Value, object: &Value| {
        let items = state(&[build::external("s0-kafka", target)], &["50m"; 4]);
        let message = "no matching metrics found for s0-kafka";
        let error = json!({"errors": [{"api": "external", "message": message}]});
        let items = with(&items, "ControllerState", &error);
        said(Code::MetricEmpty, &of_keda(&items, object))
            .advice
            .text()
    };
    let with_it = "Look at its trigger in the ScaledObject, or set spec.fallback there.";
    let without = "Look at its trigger in the ScaledObject.";
    let own = json!({"spec": {"fallback": {"failureThreshold": 3, "replicas": 6}}});
    assert_eq!(empty(&build::average("10"), &json!({})), with_it);
    assert_eq!(empty(&build::average("10"), &own), without);
    assert_eq!(empty(&build::value("10"), &json!({})), without);
}

/// A latency, or another average, that a target per replica divides by the replicas.
#[test]
fn an_average_that_is_divided() {
    let asking = |query: &str| {
        let triggers =
            json!([{"type": "prometheus", "metadata": {"query": query, "threshold": "20"}}]);
        triggered("20", "45", &json!({"spec": {"triggers": triggers}}))
    };
    let codes = |items: &[Value]| -> Vec<Code> {
        find(&pass(items))
            .iter()
            .map(crate::findings::Finding::code)
            .collect()
    };
    for query in [
        "histogram_quantile(0.95, sum(rate(x[2m])) by (le))",
        "avg(rate(secret_sum[2m]) / rate(secret_count[2m])) * 1000",
        "sum(rate(secret[2m])) / count(up{job=\"web\"})",
        "sum(secret) / scalar(sum(kube_deployment_status_replicas{deployment=\"web\"}))",
    ] {
        let text = said(Code::SuspectUnit, &asking(query));
        assert_eq!(
            text.summary,
            "s0-prometheus is 45, above its target of 20, but AverageValue divides it by the replicas"
        );
        assert_eq!(
            text.advice.text(),
            "Use metricType: Value for s0-prometheus in spec.triggers of ScaledObject/web."
        );
        assert!(!format!("{text:?}").contains("secret"), "{text:?}");
    }
    for query in [
        "sum(rate(x[2m]))",
        "max(lag) / 60",
        "sum(avg_over_time(queue[5m]))",
    ] {
        assert!(
            !codes(&asking(query)).contains(&Code::SuspectUnit),
            "{query}"
        );
    }
    // Of another HPA, the name tells.
    let named = |name: &str| {
        let items = state(&[build::external(name, &build::average("20"))], &["50m"; 4]);
        [
            items,
            vec![build::external_values([
                json!({"metricName": name, "value": "45"}),
            ])],
        ]
        .concat()
    };
    assert_eq!(
        said(Code::SuspectUnit, &named("checkout_latency_p95"))
            .advice
            .text(),
        "Use value: 20 instead of averageValue."
    );
    assert!(!codes(&named("requests_per_second")).contains(&Code::SuspectUnit));
    // A total target is right for it, and AverageValue is not advised.
    let total = {
        let items = state(
            &[build::external("latency_p95", &build::value("20"))],
            &["50m"; 4],
        );
        [
            items,
            vec![build::external_values([
                json!({"metricName": "latency_p95", "value": "45"}),
            ])],
        ]
        .concat()
    };
    let text = said(Code::ValueMultiplies, &total);
    assert!(
        text.advice.text().starts_with("Nothing to do if it falls"),
        "{text:?}"
    );
}

/// Nobody is told to start what something else keeps at 0.
#[test]
fn a_target_that_is_kept_at_zero() {
    let none = state(&[cpu()], &[]);
    let deployment = |name: &str, more: &Value| {
        let own = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}}, "status": {"replicas": 0}});
        build::with(own, more)
    };
    let set_by = |manager: &str| {
        json!({"metadata": {"managedFields": [{"manager": manager, "operation": "Update",
            "time": "2026-11-21T05:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}})
    };
    let rollout = |scale_down: Option<&str>| {
        let mut reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        if let Some(own) = scale_down {
            reference["scaleDown"] = json!(own);
        }
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"workloadRef": reference}})
    };
    let beside = |more: Vec<Value>| [none.clone(), more].concat();
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "example.com/v1", "kind": "App",
        "name": "web", "uid": "s", "controller": true}]}});
    let owned = build::with(deployment("web", &set_by("app-operator")), &owner);
    let scaled = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "other", "namespace": "default"}, "spec": {"scaleTargetRef": {"name": "web"}}});
    // Their scales are their own.
    let of_objects: Vec<Value> = none
        .iter()
        .filter(|it| it["kind"] != "Scale")
        .cloned()
        .collect();
    let other_hpa = {
        let reference =
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"});
        let hpa = build::hpa(&json!({"scaleTargetRef": reference}));
        build::with(
            hpa,
            &json!({"metadata": {"name": "of-rollout", "uid": "v"}}),
        )
    };
    let own_scale = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        "status": {"replicas": 2, "HPAReplicas": 2, "selector": "app=web"}});
    let point = "Point scaleTargetRef at Rollout/web (argoproj.io/v1alpha1): it runs the pods of this template \
                 (spec.workloadRef).";
    for (items, want) in [
        (
            beside(vec![
                deployment("web", &json!({})),
                rollout(Some("progressively")),
            ]),
            point,
        ),
        (
            [
                of_objects,
                vec![deployment("web", &json!({})), own_scale, other_hpa],
            ]
            .concat(),
            "Nothing to do: the HPA of-rollout scales Rollout/web, which runs the pods of this template.",
        ),
        (
            beside(vec![deployment("web", &set_by("rollouts-controller"))]),
            "Leave it at 0: a Rollout runs its pods. Point scaleTargetRef at that Rollout.",
        ),
        (
            beside(vec![owned]),
            "If it is meant to run, change App/web: it owns Deployment/web and sets its replicas.",
        ),
        (
            beside(vec![deployment("web", &set_by("kubectl")), scaled]),
            "Leave it: KEDA keeps it at 0 while no trigger is active.",
        ),
        (
            of_keda(
                &beside(vec![deployment("web-primary", &json!({}))]),
                &json!({"metadata": {
                "annotations": {"autoscaling.keda.sh/paused-replicas": "0"}}}),
            ),
            "Follow the advice of paused-by-keda.",
        ),
    ] {
        let text = said(Code::SwitchedOff, &items);
        assert_eq!(text.advice.text(), want);
        assert!(
            !text.commands.iter().any(|it| it.contains("kubectl scale")),
            "{text:?}"
        );
    }
    let stated = said(
        Code::SwitchedOff,
        &beside(vec![
            deployment("web", &json!({})),
            rollout(Some("progressively")),
        ]),
    );
    let want = "spec.workloadRef.scaleDown of Rollout/web is progressively: Argo Rollouts scales that down as the \
                Rollout scales up.";
    assert!(stated.evidence.iter().any(|it| it == want), "{stated:?}");
    // Flagger's pause is left alone.
    let paused = of_keda(
        &beside(vec![deployment("web-primary", &json!({}))]),
        &json!({"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": "0"}}}),
    );
    let text = said(Code::PausedByKeda, &paused);
    assert!(
        text.advice.text().starts_with("Leave it: Flagger"),
        "{text:?}"
    );
    assert!(
        !text.commands.iter().any(|it| it.contains("annotate")),
        "{text:?}"
    );
}

/// A workload and the Rollout that has its template both have pods.
#[test]
fn pods_of_a_rollout_and_of_what_it_refers_to() {
    let owner = |kind: &str, version: &str| {
        json!({"metadata": {"ownerReferences": [{"apiVersion": version, "kind": kind,
            "name": "web", "uid": kind, "controller": true}]}})
    };
    let set = |hash: &str, kind: &str, version: &str| {
        let own = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": format!("web-{hash}"), "namespace": "default", "uid": hash},
            "spec": {"replicas": 1}, "status": {"replicas": 1}});
        build::with(own, &owner(kind, version))
    };
    let of = |name: &str, hash: &str| {
        let pod = build::pod(name);
        let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "name": format!("web-{hash}"), "uid": hash, "controller": true}]);
        build::with(pod, &json!({"metadata": {"ownerReferences": owner}}))
    };
    let state = |target: (&str, &str), scale_down: Value| {
        let (kind, version) = target;
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "uid": "d"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}},
            "status": {"replicas": 2}});
        let mut rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "web", "namespace": "default", "uid": "r"},
            "spec": {"replicas": 2, "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
            "status": {"replicas": 2, "HPAReplicas": 2, "selector": "app=web"}});
        rollout["spec"]["workloadRef"]["scaleDown"] = scale_down;
        let spec = json!({"maxReplicas": 20, "metrics": [cpu()],
            "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": "web"}});
        let mut items = vec![
            build::hpa(&spec),
            build::state(&json!({})),
            deployment,
            rollout,
            set("a", "Deployment", "apps/v1"),
            set("b", "Rollout", "argoproj.io/v1alpha1"),
        ];
        for (name, hash) in [
            ("web-0", "a"),
            ("web-1", "a"),
            ("web-2", "b"),
            ("web-3", "b"),
        ] {
            items.extend([of(name, hash), build::pod_metrics(name, "90m")]);
        }
        items
    };
    let rollout = ("Rollout", "argoproj.io/v1alpha1");
    for (target, scale_down, want) in [
        (
            rollout,
            json!(null),
            "Set spec.workloadRef.scaleDown of Rollout/web to progressively, or scale Deployment/web to 0.",
        ),
        (
            rollout,
            json!("onsuccess"),
            "Wait for Rollout/web to scale down Deployment/web.",
        ),
        (
            ("Deployment", "apps/v1"),
            json!(null),
            "Point scaleTargetRef at Rollout/web, which takes over these pods.",
        ),
    ] {
        assert_eq!(
            said(Code::ForeignPods, &state(target, scale_down))
                .advice
                .text(),
            want
        );
    }
}

/// What the cluster autoscaler says of pending pods, if the input has its events.
#[test]
fn what_the_cluster_autoscaler_says() {
    let pending = json!({"metadata": {"creationTimestamp": "2026-11-21T05:45:00Z"}, "status": {
        "phase": "Pending", "startTime": null, "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]}});
    let items: Vec<Value> = state(&[cpu()], &["90m", "90m", "90m"])
        .into_iter()
        .filter(|it| it["kind"] != "PodMetrics" || it["metadata"]["name"] != "web-2")
        .map(|it| {
            if it["kind"] == "Pod" && it["metadata"]["name"] == "web-2" {
                build::with(it, &pending)
            } else {
                it
            }
        })
        .collect();
    let event = |reason: &str, message: &str, at: &str, pod: &str| {
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod},
            "reason": reason, "message": message, "lastTimestamp": at, "count": 3})
    };
    let with_event = |event: Value| {
        said(
            Code::UnschedulablePods,
            &[items.clone(), vec![event]].concat(),
        )
    };
    let full = "pod didn't trigger scale-up: 2 max node group size reached";
    let text = with_event(event(
        "NotTriggerScaleUp",
        full,
        "2026-11-21T05:59:00Z",
        "web-2",
    ));
    assert_eq!(
        text.advice.text(),
        "Raise the maximum of the node group, or lower maxReplicas."
    );
    let want = format!("The cluster autoscaler says at 05:59:00Z: {full}.");
    assert!(text.evidence.contains(&want), "{text:?}");
    let unfit = "pod didn't trigger scale-up: 1 Insufficient cpu";
    let text = with_event(event(
        "NotTriggerScaleUp",
        unfit,
        "2026-11-21T05:59:00Z",
        "web-2",
    ));
    assert!(
        text.advice
            .text()
            .starts_with("Add a node group that fits, or lower the"),
        "{text:?}"
    );
    // A node is on its way.
    let up = "pod triggered scale-up: [{pool 3->4 (max: 9)}]";
    let text = with_event(event(
        "TriggeredScaleUp",
        up,
        "2026-11-21T05:58:00Z",
        "web-2",
    ));
    assert!(
        text.advice.text().starts_with("Wait for a node"),
        "{text:?}"
    );
    // It never came, or is for another pod.
    for own in [
        event("TriggeredScaleUp", up, "2026-11-21T05:46:00Z", "web-2"),
        event("NotTriggerScaleUp", full, "2026-11-21T05:59:00Z", "api-0"),
    ] {
        assert_eq!(
            with_event(own).advice.text(),
            "Add nodes, or lower maxReplicas."
        );
    }
}

/// A pod that should serve a metrics API, if the input has it.
#[test]
fn a_server_of_a_metrics_api_that_does_not_run() {
    let items = state(&[cpu()], &["50m"]);
    let error = json!({"errors": [{"api": "resource",
        "message": "the server is currently unable to handle the request (get pods.metrics.k8s.io)"}]});
    let items = with(&items, "ControllerState", &error);
    let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {"service": {"namespace": "kube-system", "name": "metrics-server"}},
        "status": {"conditions": [{"type": "Available", "status": "False", "reason": "MissingEndpoints"}]}});
    let server = |name: &str, status: &Value| {
        build::with(
            build::pod(name),
            &json!({"metadata": {"namespace": "kube-system"}, "status": status}),
        )
    };
    let crashing = json!({"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [
        {"name": "metrics-server", "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
    let beside = |more: Vec<Value>| {
        let all = [items.clone(), vec![service.clone()], more].concat();
        said(Code::MetricsApiUnavailable, &all)
    };
    let down = server("metrics-server-5f9-x2x", &crashing);
    let text = beside(vec![down.clone()]);
    assert_eq!(
        text.advice.text(),
        "Find out why metrics-server-5f9-x2x does not run: CrashLoopBackOff."
    );
    assert_eq!(
        text.commands,
        ["kubectl describe pod metrics-server-5f9-x2x -n kube-system"]
    );
    // One that runs is enough, and others are none.
    let look = "Look at metrics-server and its APIService.";
    let up = server("metrics-server-5f9-y3y", &json!({}));
    assert_eq!(beside(vec![down, up]).advice.text(), look);
    assert_eq!(
        beside(vec![server("coredns-1", &crashing)]).advice.text(),
        look
    );
    // Saved with the state.
    let all = [
        items,
        vec![service, server("metrics-server-5f9-x2x", &crashing)],
    ]
    .concat();
    let saved = crate::saved::save::to_json(&[&pass(&all).input], &[]).unwrap();
    assert!(saved.contains("metrics-server-5f9-x2x"), "{saved}");
}

/// Pods of a Job are not deleted, as it may still need them.
#[test]
fn finished_pods_that_others_may_need() {
    let done = |kind: &str| {
        let owner = json!([{"apiVersion": "v1", "kind": kind, "name": "build", "uid": "b", "controller": true}]);
        let patch = json!({"metadata": {"ownerReferences": owner}, "status": {"phase": "Failed"}});
        let items = state(&[cpu()], &["50m", "50m"]).into_iter().map(|it| {
            if it["kind"] == "Pod" && it["metadata"]["name"] == "web-1" {
                build::with(it, &patch)
            } else {
                it
            }
        });
        said(Code::FinishedPods, &items.collect::<Vec<_>>())
    };
    for kind in ["Job", "Workflow"] {
        let text = done(kind);
        assert_eq!(
            text.advice.text(),
            format!("Give the pods of {kind}/build labels that the selector does not match.")
        );
        assert!(
            !text.commands.iter().any(|it| it.contains("delete")),
            "{text:?}"
        );
    }
    assert!(
        done("ReplicaSet")
            .commands
            .iter()
            .any(|it| it.contains("delete pod web-1"))
    );
}

/// What is assumed of pods without a value is said.
#[test]
fn the_usage_of_pods_without_a_value() {
    let mut items = state(&[cpu()], &["80m"; 4]);
    items.retain(|it| it["kind"] != "PodMetrics" || it["metadata"]["name"] != "web-3");
    let text = said(Code::UncountedPods, &items);
    assert!(text.summary.contains(" instead of ~"), "{text:?}");
    let says = |it: &String| {
        it.starts_with("If they counted, and used as much as the others on average: ")
    };
    assert!(text.evidence.iter().any(says), "{text:?}");
}

/// A metric of exactly 0 beside busy pods is looked at before fewer pods are made easier.
#[test]
fn a_metric_of_exactly_zero_beside_busy_pods() {
    let items = |value: &str, cpu: &str, behavior: &Value| {
        let items = state(
            &[build::external("queue", &build::average("10"))],
            &[cpu; 4],
        );
        let spec = json!({"spec": {"minReplicas": 2, "behavior": behavior}});
        let items = with(&items, "HorizontalPodAutoscaler", &spec);
        [items, vec![build::queue(&[value])]].concat()
    };
    let at_once = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    let look =
        "Look at queue first: it is exactly 0, and the pods use 120% of the cpu that they request.";
    let advice = |code: Code, value: &str, cpu: &str, behavior: &Value| {
        said(code, &items(value, cpu, behavior)).advice.text()
    };
    assert_eq!(advice(Code::AtMin, "0", "120m", &at_once), look);
    assert_eq!(advice(Code::HeldByWindow, "0", "120m", &json!({})), look);
    assert_ne!(advice(Code::AtMin, "1", "120m", &at_once), look);
    assert!(advice(Code::HeldByWindow, "0", "60m", &json!({})).starts_with("Wait"));
}

/// A percentage above 100 is of the request, and not of a limit that is higher, or that there is not.
#[test]
fn a_share_above_all_that_is_requested() {
    let evidence = |limit: Value| {
        let container = build::with(
            build::requesting("app", "100m"),
            &json!({"resources": {"limits": {"cpu": limit}}}),
        );
        let items = with(
            &state(&[cpu()], &["150m"; 4]),
            "Pod",
            &json!({"spec": {"containers": [container]}}),
        );
        let items = with(
            &items,
            "HorizontalPodAutoscaler",
            &json!({"spec": {"maxReplicas": 4}}),
        );
        let all = said(Code::AtMax, &items).evidence;
        all.into_iter()
            .find(|it| it.contains("share of the request"))
    };
    let told = "150% is a share of the request, 100m per pod";
    assert_eq!(
        evidence(json!("1")),
        Some(format!("{told}, not of the limit, 1."))
    );
    assert_eq!(
        evidence(Value::Null),
        Some(format!("{told}; no limit is set."))
    );
    // At the limit, both are the same.
    assert_eq!(evidence(json!("100m")), None);
}

/// Passes are 15 seconds apart, which a shorter period or window does not change.
#[test]
fn what_is_shorter_than_the_time_between_passes() {
    let policy = |seconds: i32| {
        let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": seconds}]);
        let spec = json!({"spec": {"behavior": {"scaleUp": {"policies": policies}}}});
        with(
            &state(&[cpu()], &["90m"; 4]),
            "HorizontalPodAutoscaler",
            &spec,
        )
    };
    let says = |items: &[Value]| {
        let evidence = said(Code::RateLimited, items).evidence;
        evidence
            .into_iter()
            .any(|it| it.starts_with("A period below the 15s"))
    };
    assert_eq!([says(&policy(10)), says(&policy(15))], [true, false]);
    let window = |seconds: i32| {
        let young = "2026-11-21T05:58:45Z";
        let mut items = state(&[cpu()], &["50m", "50m", "300m", "300m"]);
        for name in ["web-2", "web-3"] {
            let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == name;
            let pod = items.iter_mut().find(is_it).unwrap();
            pod["status"]["startTime"] = json!(young);
            pod["status"]["conditions"] =
                json!([{"type": "Ready", "status": "True", "lastTransitionTime": young}]);
        }
        let rules = json!({"stabilizationWindowSeconds": seconds});
        let spec = json!({"spec": {"behavior": {"scaleUp": rules}}});
        let evidence = said(
            Code::StartingPods,
            &with(&items, "HorizontalPodAutoscaler", &spec),
        )
        .evidence;
        evidence.into_iter().find(|it| it.contains("has no effect"))
    };
    let none =
        "behavior.scaleUp.stabilizationWindowSeconds (10s) has no effect: passes are 15s apart.";
    assert_eq!(
        [window(10).as_deref(), window(0).as_deref()],
        [Some(none), None]
    );
}

/// Three pods and four more of the last minute: the policy has been used up, and the limit is the current number.
#[test]
fn a_policy_that_is_used_up() {
    let policies = json!([{"type": "Pods", "value": 2, "periodSeconds": 60}]);
    let spec = json!({"spec": {"behavior": {"scaleUp": {"policies": policies}}}});
    let items = with(
        &state(&[cpu()], &["90m"; 7]),
        "HorizontalPodAutoscaler",
        &spec,
    );
    let events = json!([{"replicas": 4, "time": "2026-11-21T05:59:30Z"}]);
    let items = with(&items, "ControllerState", &json!({"scaleUpEvents": events}));
    let text = said(Code::RateLimited, &items);
    assert_eq!(
        text.summary,
        "the metrics propose 13, but the policies allow no change from 7 now"
    );
    let allows = "2 pods per 60s, counted from 3 at the start of the period, allows 5.";
    assert_eq!(text.evidence[0], allows);
}

/// Bytes are shown with one decimal: a threshold that is rounded must still be on its side.
#[test]
fn thresholds_in_bytes_hold_as_they_are_shown() {
    let metric = build::resource("memory", &build::average("77Mi"));
    let items = state(&[metric], &["10m"; 4]);
    let containers = json!([{"name": "app", "usage": {"memory": "60Mi"}}]);
    let items = with(&items, "PodMetrics", &json!({ "containers": containers }));
    let evidence = said(Code::Rounding, &items).evidence;
    let told = evidence.iter().find(|it| it.contains("or less")).unwrap();
    // Three of four times 77Mi are 57.75Mi.
    assert!(told.starts_with("At 57.7Mi or less"), "{told}");
}

/// Before the HPA was created, there was one replica, and that is in order.
#[test]
fn a_minimum_of_a_new_hpa() {
    let at = "2026-11-21T05:59:00Z";
    let created = |created: &str| {
        let items = state(&[cpu()], &["50m"; 4]);
        let hpa = json!({"metadata": {"creationTimestamp": created}, "spec": {"minReplicas": 4},
            "status": {"currentReplicas": 1, "desiredReplicas": 4, "lastScaleTime": at, "conditions": [
                {"type": "AbleToScale", "status": "True", "reason": "SucceededRescale"}]}});
        said(
            Code::BelowMin,
            &with(&items, "HorizontalPodAutoscaler", &hpa),
        )
        .advice
        .text()
    };
    assert_eq!(created("2026-11-21T05:58:50Z"), "Nothing to do.");
    let again = "If 4 is not meant, lower minReplicas again (predict --min 1).";
    assert_eq!(created("2026-11-20T05:58:50Z"), again);
}

/// Pods that have restarted may have lacked memory: a request alone would not give them more.
#[test]
fn memory_of_pods_that_have_restarted() {
    let told = |metric: Value, restarts: i32| {
        let container = build::with(
            build::requesting("app", "100m"),
            &json!({"resources": {"requests": {"memory": "100Mi"}}}),
        );
        let statuses = json!([{"name": "app", "restartCount": restarts}]);
        let pod =
            json!({"spec": {"containers": [container]}, "status": {"containerStatuses": statuses}});
        let items = with(&state(&[metric], &["10m"; 4]), "Pod", &pod);
        let containers = json!([{"name": "app", "usage": {"memory": "78Mi"}}]);
        let items = with(&items, "PodMetrics", &json!({ "containers": containers }));
        let advice = said(Code::WithinTolerance, &items).advice.text();
        advice.split_once("free memory: ").unwrap().1.to_owned()
    };
    let share = || build::resource("memory", &build::utilization(80));
    let amount = || build::resource("memory", &build::average("80Mi"));
    for (metric, restarts, want) in [
        (
            share(),
            0,
            "for 3 instead of 4, raise the memory request to 130Mi (predict --request), or scale on load.",
        ),
        (
            share(),
            1,
            "for 3 instead of 4, raise memory request and limit (predict --request), or scale on load.",
        ),
        (
            amount(),
            0,
            "for 3 instead of 4, raise the target (predict --target memory=110Mi), or scale on load.",
        ),
        (
            amount(),
            1,
            "for fewer, raise the memory limit and the target, or scale on load.",
        ),
    ] {
        assert_eq!(told(metric, restarts), want);
    }
}

/// What the metrics count is told in absolute terms, and what else would be enough.
#[test]
fn both_levers_of_a_maximum() {
    let most = |items: &[Value], max: i32| {
        with(
            items,
            "HorizontalPodAutoscaler",
            &json!({"spec": {"maxReplicas": max}}),
        )
    };
    let text = said(Code::AtMax, &most(&state(&[cpu()], &["90m"; 4]), 4));
    assert_eq!(
        text.summary,
        "the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4"
    );
    for want in [
        "50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.",
        "With a cpu request of 240m, the metrics propose 3.",
    ] {
        assert!(
            text.evidence.iter().any(|it| it == want),
            "{want}: {text:?}"
        );
    }
    // More than four times the maximum, no maximum is named; the target is what there is.
    let queue = [
        state(
            &[build::external("queue", &build::average("10")), cpu()],
            &["50m"; 4],
        ),
        vec![build::queue(&["400"])],
    ];
    let text = said(Code::AtMax, &most(&queue.concat(), 6));
    assert_eq!(
        text.summary,
        "the metrics propose 40 (400 at 10 per pod), and maxReplicas is 6"
    );
    assert_eq!(
        text.advice.text(),
        "Raise maxReplicas as far as nodes can carry it, or the target to 80 if a pod can carry more (predict \
         --target)."
    );
    assert_eq!(
        text.commands,
        ["kubectl hpa predict web -n default --target queue=80"]
    );
    assert!(
        text.evidence.contains(&"cpu alone proposes 4.".to_owned()),
        "{text:?}"
    );
}

/// Which pods are busy, the controller does not know: a window only delays their end.
#[test]
fn a_hold_of_pods_with_work_of_their_own() {
    let held = |per_pod: &str, owner: bool| {
        let items = [
            state(
                &[build::external("queue", &build::average(per_pod))],
                &["50m"; 6],
            ),
            vec![build::queue(&["2"])],
        ];
        let recommendations = json!([{"replicas": 6, "time": "2026-11-21T05:59:30Z"}]);
        let items = with(
            &items.concat(),
            "ControllerState",
            &json!({ "recommendations": recommendations }),
        );
        let items = if owner {
            of_keda(&items, &json!({}))
        } else {
            items
        };
        let text = said(Code::HeldByWindow, &items);
        (text.advice.text(), text.commands.len())
    };
    let jobs = |own: &str| {
        format!(
            "Wait until 06:04:30Z. The controller does not know which pods are busy: for long jobs, use {own}, or let \
             them end within terminationGracePeriodSeconds."
        )
    };
    assert_eq!(held("1", true), (jobs("a ScaledJob"), 0));
    assert_eq!(held("1", false), (jobs("Jobs"), 0));
    assert_eq!(held("2", true), ("Wait until 06:04:30Z.".to_owned(), 0));
}

/// Of pods that have just started nothing is assumed, and an answer that stays the same has no other number.
#[test]
fn a_cost_is_told_if_it_is_known() {
    let left_out = |started: &str, max: i32| {
        let items = state(&[cpu()], &["90m"; 4]);
        let is_last = |it: &Value| it["metadata"]["name"] == "web-3";
        let items: Vec<Value> = items
            .into_iter()
            .filter(|it| !(is_last(it) && it["kind"] == "PodMetrics"))
            .map(|it| {
                if is_last(&it) {
                    build::with(
                        it,
                        &json!({"metadata": {"creationTimestamp": started},
                    "status": {"startTime": started}}),
                    )
                } else {
                    it
                }
            })
            .collect();
        let max = json!({"spec": {"maxReplicas": max}});
        let text = said(
            Code::UncountedPods,
            &with(&items, "HorizontalPodAutoscaler", &max),
        );
        text.summary
            .split_once(" instead of ")
            .map(|(_, after)| after.to_owned())
    };
    assert_eq!(left_out("2026-11-21T05:00:00Z", 20), Some("~8".to_owned()));
    assert_eq!(left_out("2026-11-21T05:58:00Z", 20), None);
    assert_eq!(left_out("2026-11-21T05:00:00Z", 4), None);
}
