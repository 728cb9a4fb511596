//! Commands and remedies that depend on the state. Expected lines are derived by hand from the API's rules.

use serde_json::{Value, json};

use crate::build;
use crate::findings::owners::testing as owners;
use crate::findings::remedy::Remedy;
use crate::findings::requests::testing::of_set;
use crate::findings::testing::{
    SOURCES, codes, conditions, cpu, external, in_version, of_keda, pass, queue, said, set_by,
    state, view, with, with_containers, with_hpa, with_spec,
};
use crate::findings::{Code, FindingView, Severity, find, views};
use crate::snapshot::right::UnknownFact;

/// Discovery also knows each kind in lower case.
#[test]
fn a_target_whose_kind_is_in_lower_case_has_the_same_findings() {
    // Only its name tells that this ReplicaSet is the Deployment's.
    let of_pods = owners::of_set("web", "5d9c");
    let owner = build::owned_by("apps/v1", "Deployment", "web");
    let of_scale = json!({"metadata": {"ownerReferences": owner}});
    let mut items = with(&state(&[cpu()], &["80m"; 4]), "Pod", &of_pods);
    items = with(&items, "Scale", &of_scale);
    let paused = json!({"spec": {"paused": true}});
    items.push(build::with(build::deployment(4), &paused));
    let of_kind = |kind: &str| {
        codes(&with_spec(
            &items,
            &json!({"scaleTargetRef": {"kind": kind}}),
        ))
    };
    assert_eq!(of_kind("deployment"), of_kind("Deployment"));
}

/// What a chart, a repository or a controller writes again is changed there, and no command patches it.
#[test]
fn a_patch_of_what_a_tool_writes() {
    let managed = |manager: &str| json!({"metadata": {"managedFields": [{"manager": manager}]}});
    let by_hpa = |metadata: &Value| {
        let items = state(&[cpu()], &["80m"; 4]);
        let items = with_spec(&items, &json!({"maxReplicas": 4}));
        with_hpa(&items, metadata)
    };
    let owner = json!({"metadata": {"ownerReferences": build::owned_by("example.com/v1", "Collector", "traces")}});
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
        let runs = |verb: &str| text.commands.iter().any(|it| it.contains(verb));
        assert!(!runs(" patch ") && runs(" predict "), "{text:?}");
        let advice = text.advice.text();
        assert!(advice.ends_with(&format!(" {want}")), "{advice}");
    }
    let canary = json!({"metadata": {"ownerReferences": build::owned_by("flagger.app/v1beta1", "Canary", "shop")}});
    let mut copied = pass(&by_hpa(&canary));
    "web-primary".clone_into(&mut copied.input.snapshot.hpa.name);
    let text = view(Code::AtMax, &copied, &find(&copied));
    let advice = text.advice.text();
    let want = " Flagger copies hpa/web-primary from hpa/web: change hpa/web.";
    assert!(advice.ends_with(want), "{advice}");
    let text = said(Code::AtMax, &by_hpa(&managed("kubectl-client-side-apply")));
    let mut commands = text.commands.iter();
    let patches = commands.any(|it| it.starts_with("kubectl patch hpa"));
    assert!(patches, "{text:?}");
    assert!(!text.advice.text().contains(" writes "), "{text:?}");
    // A finding without a command that writes says nothing of it.
    let near = with_hpa(&state(&[cpu()], &["52m"; 4]), &managed("helm"));
    let text = format!("{:?}", said(Code::WithinTolerance, &near));
    assert!(!text.contains(" writes "), "{text}");
}

/// The same holds for the other objects that commands edit.
#[test]
fn an_edit_of_what_a_tool_writes() {
    let managers = json!([{"manager": "helm"}]);
    let of_tool = json!({"metadata": {"managedFields": managers}, "spec": {"template": {
        "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}}});
    let deployment = build::with(build::deployment(1), &of_tool);
    let owner = build::owned_by("apps/v1", "Deployment", "web");
    let pods = json!({"metadata": {"ownerReferences": owner},
        "spec": {"containers": [{"name": "app", "resources": {}}]}});
    let pods = with(&state(&[cpu()], &["50m"]), "Pod", &pods);
    let bare = [pods, vec![deployment]].concat();
    let managed = json!({"metadata": {"managedFields": managers}, "spec": {"triggers": []}});
    let scaled_object = build::scaled_object("queue", &managed);
    let owner = build::owned_by("keda.sh/v1alpha1", "ScaledObject", "queue");
    let made = json!({"spec": {"maxReplicas": 4}, "metadata": {"ownerReferences": owner}});
    let busy = with_hpa(&state(&[cpu()], &["80m"; 4]), &made);
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
        let mut commands = text.commands.iter();
        assert!(!commands.any(|it| it.starts_with(command)), "{text:?}");
        assert!(text.advice.text().ends_with(&want), "{text:?}");
    }
}

/// What makes pods take a new template comes after the change of that template, and what belongs to the same change
/// before its source.
#[test]
fn a_change_at_its_source_comes_before_its_pods() {
    let source = "Argo CD writes StatefulSet/web: change it in Git.";
    let bare = json!([{"name": "app"}]);
    let items = with_containers(&state(&[cpu()], &["50m"]), &bare);
    let by_argo = json!({"metadata": {"labels": {"argocd.argoproj.io/instance": "web"}}});
    for (strategy, want) in [
        (
            json!({"type": "OnDelete"}),
            format!("{source} Then delete the pods one by one: the update strategy is OnDelete."),
        ),
        (
            json!({"rollingUpdate": {"partition": 1}}),
            format!("Then lower partition (1) to 0 in the update strategy. {source}"),
        ),
    ] {
        let set = of_set(&items, &bare, &strategy);
        let set = with(&set, "StatefulSet", &by_argo);
        let text = said(Code::MissingRequest, &set).advice.text();
        assert!(text.ends_with(&want), "{text}");
    }
}

/// The findings that are left out without a source exist. That none is missing is checked in each state (`testing`).
#[test]
fn findings_that_are_left_out_exist() {
    for (fact, _) in SOURCES {
        let UnknownFact::Findings(codes) = fact else {
            continue;
        };
        for code in codes {
            assert!(Code::ALL.iter().any(|it| it.as_str() == *code), "{code}");
        }
    }
}

/// Each of these states once had a remedy that changed nothing, or made it worse.
#[test]
fn remedies_that_work() {
    let alike = {
        let metrics = ["a", "b"].map(|it| {
            let selector = json!({"metric": {"selector": {"matchLabels": {"q": it}}}});
            let metric = queue(&build::average("10"));
            build::with(metric, &json!({"external": selector}))
        });
        let values = [("a", "42"), ("b", "1")].map(|(label, value)| {
            json!({"metricName": "queue", "metricLabels": {"q": label}, "value": value})
        });
        let values = build::external_values(values);
        let items = [state(&metrics, &["50m"; 4]), vec![values]].concat();
        in_version(&items, "v1.30.0")
    };
    let long = external("queue", &build::average("10"), "900", 2);
    let at_once =
        json!({"minReplicas": 1, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}});
    for (code, items, advice, commands) in [
        // 5% above its target: another one for one of two metrics of a name.
        (
            Code::WithinTolerance,
            alike,
            "Nothing to do; with a target of 9.5, it proposes 5 at this load.",
            vec!["kubectl hpa predict web -n default --target 'queue{q=a}=9.5'".to_owned()],
        ),
        (
            Code::AtMax,
            with_spec(&long, &json!({"maxReplicas": 4})),
            "Raise maxReplicas as far as nodes can carry it.",
            vec![],
        ),
        (
            Code::AtMin,
            with_spec(&state(&[cpu()], &["0"; 3]), &at_once),
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
    let owner = build::owned_by("keda.sh/v1alpha1", "ScaledObject", "queue");
    let made = |items: &[Value], spec: Value| {
        let patch = json!({"metadata": {"ownerReferences": owner}, "spec": spec});
        with_hpa(items, &patch)
    };
    let scaled_object = |annotations: Value| {
        let more = json!({"metadata": {"annotations": annotations}, "spec": {"triggers": []}});
        build::scaled_object("queue", &more)
    };
    let failing =
        |name: &str, target: &Value| state(&[cpu(), build::external(name, target)], &["10m"; 3]);
    let along_with = |items: Vec<Value>, object: Value| [items, vec![object]].concat();
    let (busy, idle) = (state(&[cpu()], &["100m"; 3]), state(&[cpu()], &["10m"; 3]));
    let down = |rules: Value| json!({"behavior": {"scaleDown": rules}});
    let disabled = || down(json!({"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}));
    let paused = scaled_object(json!({"autoscaling.keda.sh/paused-scale-in": "true"}));
    let paused_out = scaled_object(json!({"autoscaling.keda.sh/paused-scale-out": "true"}));
    let value = build::value("75");
    let none = json!({});
    let container = build::resource_of("cpu", "ap", &build::utilization(50));
    let removal =
        "If that is not meant, remove behavior.scaleDown.selectPolicy of ScaledObject/queue.";
    let window = "Wait until 06:05:00Z.";
    let rate =
        "Wait for the next passes, or change behavior.scaleUp.policies of ScaledObject/queue.";
    let slow = json!({"behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}});
    let follow = "Follow the advice of paused-by-keda.";
    let patch = |spec: Value| {
        let command = "kubectl patch scaledobject queue -n default --type=merge -p";
        Some(format!("{command} '{}'", json!({ "spec": spec })))
    };
    let config = json!({"behavior": {"scaleDown": {"selectPolicy": null}}});
    let remove = patch(json!({"advanced": {"horizontalPodAutoscalerConfig": config}}));
    let empty = "Follow the advice of metric-empty.";
    let edit = || Some("kubectl edit scaledobject queue -n default".to_owned());
    let mut wrong = Vec::new();
    for (code, items, advice, command) in [
        (
            Code::AtMax,
            made(&busy, json!({"maxReplicas": 3})),
            "Raise maxReplicaCount of ScaledObject/queue if nodes can carry it (predict --max 6), or the cpu request of app to \
             300m if a pod can carry more (predict --request).",
            patch(json!({"maxReplicaCount": 6})),
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
            patch(json!({"maxReplicaCount": 3})),
        ),
        (
            Code::BelowMin,
            made(&idle, json!({"minReplicas": 5})),
            "Change minReplicaCount of ScaledObject/queue if 3 is right.",
            patch(json!({"minReplicaCount": 3})),
        ),
        (Code::HeldByWindow, made(&idle, none.clone()), window, None),
        (Code::RateLimited, made(&busy, slow), rate, None),
        (
            Code::DirectionDisabled,
            along_with(made(&idle, disabled()), scaled_object(json!({}))),
            removal,
            remove.clone(),
        ),
        // An annotation for the other direction does not disable this one.
        (Code::DirectionDisabled, along_with(made(&idle, disabled()), paused_out), removal, remove),
        (Code::DirectionDisabled, along_with(made(&idle, disabled()), paused.clone()), follow, None),
        (Code::DirectionDisabled, made(&idle, disabled()), follow, None),
        (
            Code::PausedByKeda,
            along_with(made(&idle, disabled()), paused),
            "Nothing to do if that is on purpose; if not, remove the annotation from ScaledObject/queue.",
            Some("kubectl annotate scaledobject queue -n default autoscaling.keda.sh/paused-scale-in-".to_owned()),
        ),
        (
            Code::ValueMultiplies,
            made(&external("s0-prometheus", &value, "225", 3), none.clone()),
            "If it is a total, such as a queue length, use metricType: AverageValue and a threshold \
             of 75 for s0-prometheus in spec.triggers of ScaledObject/queue.",
            edit(),
        ),
        (
            Code::ValueMultiplies,
            made(&external("composite-metric", &value, "225", 3), none.clone()),
            "If it is a total, such as a queue length, use metricType: AverageValue and target: 75 \
             in spec.advanced.scalingModifiers of ScaledObject/queue.",
            edit(),
        ),
        (
            Code::BlockedByFailedMetric,
            made(&failing("s0-prometheus", &build::average("75")), none.clone()),
            empty,
            None,
        ),
        (Code::BlockedByFailedMetric, made(&failing("s0-prometheus", &value), none.clone()), empty, None),
        (Code::BlockedByFailedMetric, made(&failing("composite-metric", &value), none.clone()), empty, None),
        (
            Code::UnknownContainer,
            made(&state(&[container], &["50m"; 3]), none.clone()),
            "Use metadata.containerName: app for cpu in spec.triggers of ScaledObject/queue.",
            edit(),
        ),
    ] {
        let FindingView { advice: told, commands, .. } = said(code, &items);
        let changes: Vec<&String> =
            commands.iter().filter(|it| !it.starts_with("kubectl hpa predict")).collect();
        let told = told.text();
        if told != advice || changes != command.iter().collect::<Vec<_>>() {
            wrong.push(format!("{code:?}: {told}\n  {changes:?}"));
        }
        // The same for all other findings.
        let pass = pass(&items);
        for finding in views(&pass, &find(&pass)) {
            const OF_THE_HPA: [&str; 4] = ["maxReplicas", "minReplicas", "averageValue", "ContainerResource"];
            let code = finding.code;
            let advice = finding.advice.text();
            let strange = OF_THE_HPA.iter().any(|field| advice.contains(field))
                || (advice.contains("behavior.") && !advice.contains(" of ScaledObject/"));
            let patches = finding.commands.iter().filter_map(|it| it.split_once(" -p '"));
            let strange = strange || patches.clone().any(|(command, patch)| {
                let patch: Value = serde_json::from_str(patch.trim_end_matches('\'')).unwrap();
                !command.starts_with("kubectl patch scaledobject") || !is_of_scaled_object(&patch["spec"])
            });
            if strange {
                wrong.push(format!("{code:?}: {advice} {:?}", finding.commands));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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

/// Conditions of a ScaledObject are shown; their messages never leave the program.
#[test]
fn a_scaled_object_that_is_not_ready() {
    let object = build::with(
        conditions(&[("Ready", "False"), ("Active", "False")]),
        &json!({"status": {"lastActiveTime": "2026-11-21T05:30:00Z"}}),
    );
    let none = of_keda(&state(&[cpu()], &[]), &object);
    let text = said(Code::SwitchedOff, &none);
    let summary = "the target has 0 replicas, so the HPA is off, whatever the metrics say, and ScaledObject/web is not ready";
    let told = (text.severity, &*text.summary);
    assert_eq!(told, (Severity::Warning, summary));
    let advice = "Find out why ScaledObject/web is not ready.";
    assert_eq!(text.advice.text(), advice);
    let describe = "kubectl describe scaledobject web -n default";
    assert_eq!(text.commands, [describe]);
    let want = "A trigger of ScaledObject/web was last active at 05:30:00Z (30m ago).";
    assert!(text.evidence.iter().any(|it| it == want), "{text:?}");
    let pass = pass(&none);
    let saved = crate::saved::save::to_json(&[&pass.input], &[]).unwrap();
    assert!(
        saved.contains("lastActiveTime") && !saved.contains("hunter2"),
        "{saved}"
    );
}

/// A bound that the ScaledObject states already is not raised there.
#[test]
fn a_bound_that_keda_does_not_pass_on() {
    let bounds =
        |min: i32, max: i32| json!({"spec": {"minReplicaCount": min, "maxReplicaCount": max}});
    let at_most = with_spec(&state(&[cpu()], &["90m"; 4]), &json!({"maxReplicas": 4}));
    let at_max = |object: &Value| said(Code::AtMax, &of_keda(&at_most, object)).advice.text();
    let raise = "Raise maxReplicaCount of ScaledObject/web if nodes can carry it (predict --max 8), or the cpu request of app to \
                 240m if a pod can carry more (predict --request).";
    assert_eq!(at_max(&bounds(0, 4)), raise);
    assert_eq!(at_max(&json!({})), raise);
    let look = "Find out why KEDA does not pass on maxReplicaCount 9 of ScaledObject/web.";
    assert_eq!(at_max(&bounds(1, 9)), look);
    let conflict = "Set minReplicaCount (50) of ScaledObject/web to at most maxReplicaCount (10): until then, \
                    KEDA does not change its HPA.";
    assert_eq!(at_max(&bounds(50, 10)), conflict);
    // KEDA itself scales to its minimum, and the HPA back.
    let writer = json!({"manager": "keda", "operation": "Update", "subresource": "scale"});
    let set = set_by(&writer, 8);
    let own = |object: &Value| {
        said(Code::OtherWriter, &of_keda(&set, object))
            .advice
            .text()
    };
    assert_eq!(own(&bounds(50, 10)), conflict);
    let look = "Look at ScaledObject/web: KEDA itself scales";
    assert!(own(&json!({})).starts_with(look), "{}", own(&json!({})));
}

/// A metric of exactly 0 while pods are busy is checked before any advice that leads to fewer pods.
#[test]
fn a_metric_of_exactly_zero_beside_busy_pods() {
    let items = |value: &str, cpu: &str, behavior: &Value| {
        let items = state(&[queue(&build::average("10"))], &[cpu; 4]);
        let items = with_spec(&items, &json!({"minReplicas": 2, "behavior": behavior}));
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
