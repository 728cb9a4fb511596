use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::build;
use crate::engine::decision::Direction;
use crate::error::Error;
use crate::findings::outside::controller_silent::ControllerSilent;
use crate::findings::outside::differs_from_status::Setting;
use crate::findings::outside::other_writer::Again;
use crate::findings::outside::target_not_found::Missing;
use crate::findings::writer::By;
use crate::findings::{Code, Facts, Finding, Severity};
use crate::pass::Pass;
use crate::saved::assemble::assemble;
use crate::saved::file;
use crate::saved::objects::Objects;
use crate::snapshot::input::{Input, Options};

/// Returns the input from these objects.
fn input(items: &[Value]) -> Result<Input, Error> {
    let mut objects = Objects::default();
    file::read_text(&build::list(items.iter().cloned()), "test", &mut objects)?;
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    assemble(objects, &options, build::NOW.parse().expect("a time"))
}

/// Returns the finding of a code about these objects, if there is one.
fn find(code: Code, items: &[Value]) -> Option<Finding> {
    let input = input(items).expect("an input");
    super::super::find(&Pass::run(input))
        .into_iter()
        .find(|it| it.code() == code)
}

fn state() -> Value {
    build::state(&json!({"memory": "unknown"}))
}

/// Returns an HPA for `replicas` with 50 % CPU each, at its target, as the last pass left it.
fn settled(replicas: i32) -> Value {
    let metric = build::resource("cpu", &build::utilization(50));
    build::with(
        build::hpa(&json!({"metrics": [metric], "minReplicas": 2})),
        &json!({
            "metadata": {"managedFields": [
                {"manager": "kube-controller-manager", "subresource": "status",
                    "time": "2026-11-21T05:59:51Z"},
            ]},
            "status": {
                "currentReplicas": replicas, "desiredReplicas": replicas,
                "conditions": [
                    {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"},
                    {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
                    {"type": "ScalingLimited", "status": "False", "reason": "DesiredWithinRange"},
                ],
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 50, "averageValue": "50m"}}}],
            },
        }),
    )
}

/// Returns pods and their usage.
fn pods(count: usize, cpu: &str) -> Vec<Value> {
    let name = |number: usize| format!("web-{number}");
    let both = |number| {
        [
            build::pod(&name(number)),
            build::pod_metrics(&name(number), cpu),
        ]
    };
    (0..count).flat_map(both).collect()
}

/// Returns the target, whose replicas someone has set.
fn deployment(replicas: i32, managed: &Value, annotations: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "annotations": annotations,
            "managedFields": managed},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": replicas},
    })
}

fn writes(manager: &str, subresource: &str) -> Value {
    json!([{"manager": manager, "subresource": subresource, "time": "2026-11-21T05:59:55Z",
        "fieldsV1": {"f:spec": {"f:replicas": {}}}}])
}

fn rescale(size: i32, count: i32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("web.{size}"), "namespace": "default"},
        "involvedObject": {"kind": "HorizontalPodAutoscaler", "namespace": "default", "name": "web"},
        "reason": "SuccessfulRescale", "message": format!("New size: {size}; reason: cpu above target"),
        "count": count,
        "firstTimestamp": "2026-11-21T05:00:00Z", "lastTimestamp": "2026-11-21T05:59:48Z",
    })
}

fn with_pods(items: impl IntoIterator<Item = Value>, count: usize, cpu: &str) -> Vec<Value> {
    items.into_iter().chain(pods(count, cpu)).collect()
}

#[test]
fn a_target_that_is_not_there() {
    let deployment = |name: &str| {
        build::with(
            deployment(3, &json!([]), &json!({})),
            &json!({"metadata": {"name": name}}),
        )
    };
    let stateful_set = build::with(deployment("web"), &json!({"kind": "StatefulSet"}));
    let rollout = build::with(
        deployment("web"),
        &json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}),
    );
    let to = |reference: Value| build::hpa(&json!({"scaleTargetRef": reference}));
    for (hpa, objects, want) in [
        (
            to(json!({})),
            vec![deployment("weg")],
            Some((Missing::Object, Some("Deployment/weg"))),
        ),
        (
            to(json!({})),
            vec![deployment("other-thing")],
            Some((Missing::Object, None)),
        ),
        (
            to(json!({})),
            vec![stateful_set],
            Some((Missing::Object, Some("StatefulSet/web"))),
        ),
        (
            to(json!({"apiVersion": "extensions/v1beta1"})),
            vec![deployment("web")],
            Some((Missing::Kind, Some("Deployment/web"))),
        ),
        (
            to(json!({"kind": "DaemonSet"})),
            vec![],
            Some((Missing::Scale, None)),
        ),
        (to(json!({})), vec![deployment("web")], None),
        (
            to(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"})),
            vec![rollout, deployment("web")],
            None,
        ),
    ] {
        let items: Vec<Value> = [state(), hpa.clone()].into_iter().chain(objects).collect();
        let found = find(Code::TargetNotFound, &items);
        let got = found.as_ref().map(|it| {
            assert_eq!((it.severity, it.explains), (Severity::Error, true));
            let Facts::TargetNotFound(facts) = &it.facts else {
                panic!("{it:?}")
            };
            // An input with other objects of the kind is complete.
            let target = &hpa["spec"]["scaleTargetRef"]["kind"];
            let is_listed =
                items.iter().any(|it| it["kind"] == *target) && facts.missing == Missing::Object;
            assert_eq!(facts.is_assumed, !is_listed, "{facts:?}");
            (facts.missing, facts.meant.as_ref().map(ToString::to_string))
        });
        let want = want.map(|(missing, meant)| (missing, meant.map(str::to_owned)));
        assert_eq!(got, want, "{hpa}");
    }
    // The API server's message.
    let message = "deployments.apps \"web\" not found";
    let state_of =
        |message| build::state(&json!({"errors": [{"api": "scale", "message": message}]}));
    let said = find(
        Code::TargetNotFound,
        &[state_of(message), build::hpa(&json!({}))],
    );
    let said = said.map(|it| it.facts);
    let Some(Facts::TargetNotFound(facts)) = said else {
        panic!("{said:?}")
    };
    assert_eq!(
        (facts.missing, facts.is_assumed, &*facts.error),
        (Missing::Object, false, message)
    );
    // It says the same of a custom resource without a scale.
    let custom =
        build::hpa(&json!({"scaleTargetRef": {"apiVersion": "example.com/v1", "kind": "Pool"}}));
    let said = find(Code::TargetNotFound, &[state_of(message), custom]).map(|it| it.facts);
    let Some(Facts::TargetNotFound(facts)) = said else {
        panic!("{said:?}")
    };
    assert_eq!(facts.missing, Missing::ObjectOrScale);
    // An input that lacks the target says nothing about the cluster.
    assert_eq!(find(Code::TargetNotFound, &[build::hpa(&json!({}))]), None);
}

#[test]
fn a_scaled_object_that_is_paused() {
    let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web",
        "uid": "1", "controller": true}]);
    let owned = |behavior: Value| {
        let metric = build::resource("cpu", &build::utilization(50));
        let spec = json!({"metrics": [metric], "behavior": behavior});
        build::with(
            build::hpa(&spec),
            &json!({"metadata": {"ownerReferences": owner}}),
        )
    };
    let disabled = json!({"scaleUp": {"selectPolicy": "Disabled"}});
    let object = |annotations: Value| {
        vec![json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
        })]
    };
    let (out, whole) = (
        "autoscaling.keda.sh/paused-scale-out",
        "autoscaling.keda.sh/paused",
    );
    let plain = build::with(
        owned(disabled.clone()),
        &json!({"metadata": {"ownerReferences": null}}),
    );
    for (hpa, objects, cpu, want) in [
        (
            owned(disabled.clone()),
            object(json!({out: "true"})),
            "100m",
            Some((true, vec![out])),
        ),
        // It explains nothing if the metrics do not ask for more.
        (
            owned(disabled.clone()),
            object(json!({out: "true"})),
            "50m",
            Some((false, vec![out])),
        ),
        (
            owned(disabled.clone()),
            vec![],
            "100m",
            Some((true, vec![])),
        ),
        // As a whole it explains what the target has, whatever the metrics ask for.
        (
            owned(disabled.clone()),
            object(json!({whole: "true"})),
            "50m",
            Some((true, vec![whole])),
        ),
        (
            owned(disabled.clone()),
            object(json!({whole: "false"})),
            "50m",
            None,
        ),
        // Its own behavior.
        (
            owned(disabled.clone()),
            object(json!({out: "false"})),
            "100m",
            None,
        ),
        (owned(json!(null)), vec![], "100m", None),
        (plain, object(json!({out: "true"})), "100m", None),
    ] {
        let items = [state(), hpa, build::scale(4)].into_iter().chain(objects);
        let found = find(Code::PausedByKeda, &with_pods(items, 4, cpu));
        let got = found.map(|it| {
            let Facts::PausedByKeda(facts) = &it.facts else {
                panic!("{it:?}")
            };
            let severity = if facts.is_whole() {
                Severity::Warning
            } else {
                Severity::Info
            };
            assert_eq!(it.severity, severity);
            assert_eq!(
                (&*facts.object, &facts.disabled[..]),
                ("web", &[Direction::Up][..])
            );
            (it.explains, facts.annotations.clone())
        });
        assert_eq!(got, want);
    }
}

/// KEDA before 2.20 keeps the HPA of `paused-replicas`, with both bounds at that number, and at least 1.
#[test]
fn replicas_that_keda_fixes_with_the_bounds() {
    let fixed = |annotations: Value, least: i32, most: i32| {
        let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web",
            "uid": "1", "controller": true}]);
        let metric = build::resource("cpu", &build::utilization(50));
        let spec = json!({"metrics": [metric], "minReplicas": least, "maxReplicas": most});
        let hpa = build::with(
            build::hpa(&spec),
            &json!({"metadata": {"ownerReferences": owner}}),
        );
        let object = json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
        });
        let items = [state(), hpa, build::scale(3), object];
        let found = find(Code::PausedByKeda, &with_pods(items, 3, "50m")).expect("a pause");
        let Facts::PausedByKeda(facts) = found.facts else {
            panic!("{found:?}")
        };
        facts.fixed
    };
    let replicas = |value: &str| json!({"autoscaling.keda.sh/paused-replicas": value});
    assert_eq!(fixed(replicas("3"), 3, 3), Some(3));
    assert_eq!(fixed(replicas("0"), 1, 1), Some(1));
    assert_eq!(fixed(replicas("3"), 1, 3), None);
    assert_eq!(fixed(replicas("2"), 3, 3), None);
    assert_eq!(
        fixed(json!({"autoscaling.keda.sh/paused": "true"}), 3, 3),
        None
    );
}

#[test]
fn an_hpa_that_keda_has_taken_away() {
    let object = |name: &str, key: &str, value: &str| {
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": name, "namespace": "shop", "annotations": {key: value}},
            "spec": {"scaleTargetRef": {"name": "web"}},
        })
    };
    let (paused, replicas) = (
        "autoscaling.keda.sh/paused",
        "autoscaling.keda.sh/paused-replicas",
    );
    let other = build::with(
        object("other", paused, "true"),
        &json!({"spec": {"scaleTargetRef": {"name": "other"}}}),
    );
    for (object, want) in [
        (
            object("web", paused, "true"),
            Some("ScaledObject/web has the annotation autoscaling.keda.sh/paused=true,"),
        ),
        (
            object("for-web", replicas, "0"),
            Some("scaledobject for-web -n shop autoscaling.keda.sh/paused-replicas-`"),
        ),
        (object("web", paused, "false"), None),
        (
            object("web", "autoscaling.keda.sh/paused-scale-in", "true"),
            None,
        ),
        (other, None),
    ] {
        let hint = input(&[state(), object.clone()])
            .expect_err("no HPA")
            .hint
            .unwrap_or_default();
        let told =
            want.is_some_and(|want| hint.starts_with("paused-by-keda: ") && hint.contains(want));
        assert_eq!(told, want.is_some(), "{object}: {hint}");
        assert_eq!(
            hint.contains("paused-by-keda"),
            want.is_some(),
            "{object}: {hint}"
        );
    }
}

#[test]
fn a_managed_control_plane() {
    for (version, node, want) in [
        ("v1.34.2", "aks-nodepool1-12345678-vmss000000", true),
        ("v1.34.2-eks-0a1b2c3", "ip-10-0-1-2.ec2.internal", true),
        (
            "v1.34.2-gke.1043",
            "gke-prod-default-pool-1a2b3c4d-x7kq",
            true,
        ),
        // A node of one's own in Azure, a name that only begins alike, and a pod without a node.
        ("v1.34.2", "k8s-agentpool1-12345678-vmss000000", false),
        ("v1.34.2", "aks-lab-1", false),
        ("v1.34.2", "", false),
    ] {
        let state = build::state(&json!({"memory": "unknown", "kubernetesVersion": version}));
        let mut items = with_pods([state, settled(4), build::scale(4)], 4, "54m");
        for pod in items
            .iter_mut()
            .filter(|item| item["kind"] == "Pod" && !node.is_empty())
        {
            pod["spec"]["nodeName"] = json!(node);
        }
        let found = find(Code::FieldIgnored, &items).expect("the tolerance");
        let Facts::FieldIgnored(facts) = &found.facts else {
            panic!("{found:?}")
        };
        assert_eq!(facts.is_managed, want, "{version} {node}");
    }
}

#[test]
fn a_field_that_the_version_does_not_have() {
    let tolerant = |uid: Option<&str>| {
        let metric = build::resource("cpu", &build::utilization(50));
        let behavior = json!({"scaleUp": {"tolerance": "0.01"}});
        let hpa = build::hpa(&json!({"metrics": [metric], "behavior": behavior}));
        build::with(hpa, &json!({"metadata": {"uid": uid}}))
    };
    // 54 % is within the tolerance of 10 %, but not within 1 %.
    let wide = json!({"spec": {"behavior": {"scaleUp": {"tolerance": "0.09"}}}});
    for (version, gate, hpa, want) in [
        (
            "v1.34.2",
            None,
            tolerant(Some("u")),
            Some((false, true, true)),
        ),
        ("v1.34.2", None, tolerant(None), Some((true, true, true))),
        ("v1.32.1", None, tolerant(None), Some((true, false, true))),
        (
            "v1.32.1",
            None,
            tolerant(Some("u")),
            Some((false, false, true)),
        ),
        // It is within the tolerance of the field, too.
        (
            "v1.34.2",
            None,
            build::with(tolerant(None), &wide),
            Some((true, true, false)),
        ),
        (
            "v1.32.1",
            None,
            build::with(tolerant(None), &wide),
            Some((true, false, false)),
        ),
        ("v1.34.2", Some(true), tolerant(Some("u")), None),
        ("v1.36.2", None, tolerant(Some("u")), None),
        (
            "v1.36.2",
            Some(false),
            tolerant(Some("u")),
            Some((false, true, true)),
        ),
        // Without the field, it is what would change the answer.
        ("v1.34.2", None, settled(4), Some((true, true, true))),
        ("v1.36.2", None, settled(4), None),
    ] {
        let gates = gate.map_or(
            json!({}),
            |on: bool| json!({"HPAConfigurableTolerance": on}),
        );
        let state = build::state(&json!({
            "memory": "unknown", "kubernetesVersion": version, "featureGates": gates,
        }));
        let items = with_pods([state, hpa, build::scale(4)], 4, "54m");
        let got = find(Code::FieldIgnored, &items).map(|it| {
            let Facts::FieldIgnored(facts) = &it.facts else {
                panic!("{it:?}")
            };
            let severity = if facts.stated {
                Severity::Warning
            } else {
                Severity::Info
            };
            assert_eq!(it.severity, severity);
            assert_eq!(facts.paths, ["spec.behavior.scaleUp.tolerance"]);
            assert_eq!(facts.on_in, Some(35));
            let more = it.without.and_then(|it| it.replicas) == Some(5);
            assert_eq!(more, it.explains && facts.stated);
            (facts.dropped, facts.settable, it.explains)
        });
        assert_eq!(got, want, "{version} {gate:?}");
    }
    // Below its target, nobody misses a replica: 4 × 0.96 rounds up to 4, whatever the tolerance is; 4 × 0.92 as well,
    // and 20 × 0.92 to 19. 20 × 1.08 is 21.6.
    for (count, replicas, cpu, want) in [
        (4, 4, "48m", false),
        (4, 4, "46m", false),
        (20, 20, "46m", false),
        (20, 20, "54m", true),
    ] {
        let state = build::state(&json!({"memory": "unknown", "kubernetesVersion": "v1.34.2"}));
        let hpa = build::with(settled(replicas), &json!({"spec": {"maxReplicas": 30}}));
        let items = with_pods([state, hpa, build::scale(replicas)], count, cpu);
        assert_eq!(
            find(Code::FieldIgnored, &items).is_some(),
            want,
            "{count} {cpu}"
        );
    }
}

#[test]
fn replicas_that_somebody_else_set() {
    let argo = json!({"argocd.argoproj.io/tracking-id": "web"});
    let helm = json!({"meta.helm.sh/release-name": "shop"});
    let none = json!({});
    let by_hand = writes("kubectl", "scale");
    let controller = writes("kube-controller-manager", "scale");
    for (left, now, managed, annotations, want) in [
        (3, 8, &by_hand, &none, Some(Some(By::Scale))),
        (3, 8, &writes("k9s", "scale"), &none, Some(Some(By::Scale))),
        (
            3,
            8,
            &writes("kubectl-scale", "scale"),
            &none,
            Some(Some(By::Scale)),
        ),
        (
            3,
            8,
            &writes("cronhpa", "scale"),
            &none,
            Some(Some(By::Autoscaler)),
        ),
        (
            3,
            8,
            &writes("ocelot", "scale"),
            &none,
            Some(Some(By::Autoscaler)),
        ),
        (
            9,
            5,
            &writes("argocd-controller", ""),
            &argo,
            Some(Some(By::ArgoCd)),
        ),
        (9, 5, &writes("helm", ""), &helm, Some(Some(By::Helm))),
        (
            9,
            5,
            &writes("kustomize-controller", ""),
            &none,
            Some(Some(By::Flux)),
        ),
        (
            9,
            5,
            &writes("kubectl-client-side-apply", ""),
            &none,
            Some(Some(By::Apply)),
        ),
        // Whoever applies the manifest did not write this.
        (
            9,
            5,
            &writes("kubectl-edit", ""),
            &helm,
            Some(Some(By::Hand)),
        ),
        (
            9,
            5,
            &writes("kubectl-patch", ""),
            &none,
            Some(Some(By::Hand)),
        ),
        (
            9,
            5,
            &writes("my-operator", ""),
            &argo,
            Some(Some(By::Program)),
        ),
        (9, 5, &json!([]), &none, Some(None)),
        // The controller itself, which has not written its status yet.
        (3, 8, &controller, &none, None),
        (5, 5, &by_hand, &none, None),
        // Switched off and on.
        (3, 0, &by_hand, &none, None),
        (0, 3, &by_hand, &none, None),
    ] {
        let target = deployment(now, managed, annotations);
        let items = with_pods([state(), settled(left), target], 5, "50m");
        let got = find(Code::OtherWriter, &items).map(|it| {
            assert_eq!((it.severity, it.explains), (Severity::Warning, true));
            let Facts::OtherWriter(facts) = it.facts else {
                panic!("{it:?}")
            };
            assert_eq!((facts.now, facts.left), (now, Some(left)));
            facts.writer.map(|it| it.by)
        });
        assert_eq!(got, want, "{left} {now} {managed}");
    }
    // An event of the controller about the same count, after the status.
    let later = build::with(
        rescale(8, 1),
        &json!({"lastTimestamp": "2026-11-21T05:59:58Z"}),
    );
    let target = deployment(8, &json!([]), &none);
    let items = with_pods([state(), settled(3), target.clone(), later], 5, "50m");
    assert_eq!(find(Code::OtherWriter, &items), None);
    // A single correction by a pass is explained by the finding about the correction.
    // If a program writes, it will write again, and so comes first.
    let code = |now: i32, writer: &Value| {
        let hpa = build::with(settled(3), &json!({"spec": {"maxReplicas": 4}}));
        let items = [state(), hpa, deployment(now, writer, &none)];
        let items = with_pods(items, usize::try_from(now).expect("a count"), "50m");
        super::super::find(&Pass::run(input(&items).expect("an input")))[0].code()
    };
    for (writer, comes_first) in [
        (&by_hand, false),
        (&writes("cronhpa", "scale"), true),
        (&writes("kubectl-edit", ""), false),
        (&json!([]), false),
        (&writes("helm", ""), true),
        (&writes("argocd-controller", ""), true),
        (&writes("my-operator", ""), true),
    ] {
        let want = |corrected| {
            if comes_first {
                Code::OtherWriter
            } else {
                corrected
            }
        };
        assert_eq!(code(1, writer), want(Code::BelowMin), "{writer}");
        assert_eq!(code(6, writer), want(Code::AboveMax), "{writer}");
    }
}

/// The controller of a Deployment sets the replicas of its ReplicaSets, which is not the HPA controller's doing.
#[test]
fn replicas_of_a_target_that_something_owns() {
    let owners = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop",
        "uid": "1", "controller": true}]);
    let owner = |kind: &str, owners: &Value, writer: &Value, max: i32| {
        let kind = json!({ "kind": kind });
        let target = build::with(deployment(5, writer, &json!({})), &kind);
        let target = build::with(target, &json!({"metadata": {"ownerReferences": owners}}));
        let spec = json!({"spec": {"scaleTargetRef": kind, "maxReplicas": max}});
        let items = [state(), build::with(settled(4), &spec), target];
        let all = super::super::find(&Pass::run(
            input(&with_pods(items, 5, "50m")).expect("an input"),
        ));
        let Facts::OtherWriter(facts) = &all.first()?.facts else {
            return None;
        };
        assert_eq!(facts.left, Some(4));
        Some(facts.owner.as_ref().map(ToString::to_string))
    };
    let (manager, none) = (writes("kube-controller-manager", ""), json!([]));
    let hpa = writes("kube-controller-manager", "scale");
    let hand = writes("kubectl", "scale");
    let own = Some(Some("Deployment/shop".to_owned()));
    for max in [20, 4] {
        assert_eq!(owner("ReplicaSet", &owners, &manager, max), own);
        assert_eq!(owner("ReplicaSet", &owners, &none, max), own);
        assert_eq!(owner("ReplicaSet", &owners, &hpa, max), None);
    }
    assert_eq!(owner("ReplicaSet", &owners, &hand, 20), Some(None));
    // Before 1.22, the subresource is not told.
    assert_eq!(owner("ReplicaSet", &none, &manager, 20), None);
    // Whether an operator sets the replicas is not known.
    assert_eq!(owner("Deployment", &owners, &none, 20), Some(None));
}

#[test]
fn replicas_that_go_to_and_fro() {
    let target = deployment(4, &json!([]), &json!({}));
    for (events, want) in [
        (vec![rescale(4, 20)], Some(20)),
        (vec![rescale(4, 20), rescale(3, 2)], Some(20)),
        // The controller's own doing.
        (vec![rescale(4, 20), rescale(3, 19)], None),
        (vec![rescale(4, 2)], None),
        (vec![], None),
    ] {
        let items = [state(), settled(4), target.clone()]
            .into_iter()
            .chain(events.clone());
        let got = find(Code::OtherWriter, &with_pods(items, 4, "50m")).map(|it| {
            let Facts::OtherWriter(facts) = it.facts else {
                panic!("{it:?}")
            };
            let Again {
                replicas, count, ..
            } = facts.again.expect("repeated scaling");
            assert_eq!((replicas, facts.left), (4, None));
            count
        });
        assert_eq!(got, want, "{events:?}");
    }
}

#[test]
fn a_controller_that_makes_no_passes() {
    let lease = |renewed: &str| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
            "spec": {"leaseDurationSeconds": 15, "holderIdentity": "a",
                "acquireTime": "2026-11-21T01:00:00.000000Z", "renewTime": renewed},
        })
    };
    let created = |time: &str| {
        build::with(
            build::hpa(&json!({})),
            &json!({"metadata": {"creationTimestamp": time}}),
        )
    };
    let earlier = build::with(
        settled(4),
        &json!({"metadata": {"managedFields": [
            {"manager": "kube-controller-manager", "subresource": "status",
                "time": "2026-11-21T04:59:00Z"},
        ]}}),
    );
    let lapsed = "2026-11-21T05:00:00.000000Z";
    for (hpa, lease, want) in [
        (earlier.clone(), vec![lease(lapsed)], Some("lapsed")),
        (earlier, vec![lease("2026-11-21T05:59:58.000000Z")], None),
        // It has written a status since, so its lease is a different one.
        (settled(4), vec![lease(lapsed)], None),
        (created("2026-11-21T05:50:00Z"), vec![], Some("never")),
        (created("2026-11-21T05:59:40Z"), vec![], None),
    ] {
        let items = [state(), hpa.clone(), build::scale(4)]
            .into_iter()
            .chain(lease);
        let got = find(Code::ControllerSilent, &with_pods(items, 4, "50m")).map(|it| {
            assert_eq!((it.severity, it.explains), (Severity::Error, true));
            match it.facts {
                Facts::ControllerSilent(ControllerSilent::Lapsed { .. }) => "lapsed",
                Facts::ControllerSilent(ControllerSilent::NeverPassed { .. }) => "never",
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(got, want, "{hpa}");
    }
}

/// At 90 % of 50 %, four pods become eight, if the scale can be written.
#[test]
fn a_scale_that_cannot_be_written() {
    let denied = "admission webhook \"limits\" denied the request";
    let failed = |reason: &str, message: &str| {
        let message =
            format!("the HPA controller was unable to update the target scale: {message}");
        let able = json!({"type": "AbleToScale", "status": "False", "reason": reason,
            "message": message, "lastTransitionTime": "2026-11-21T05:40:00Z"});
        build::with(settled(4), &json!({"status": {"conditions": [able]}}))
    };
    let last = failed("FailedUpdateScale", denied);
    let stated = build::state(&json!({"errors": [{"api": "scaleUpdate", "message": denied}]}));
    let since: Option<jiff::Timestamp> = Some("2026-11-21T05:40:00Z".parse().unwrap());
    let event = |reason: &str, size: i32, time: &str| {
        build::with(
            rescale(size, 80),
            &json!({"reason": reason, "lastTimestamp": time}),
        )
    };
    let failing = |error: &str| {
        let message = format!("New size: 8; reason: All metrics below target; error: {error}");
        let event = event("FailedRescale", 8, "2026-11-21T05:59:50Z");
        build::with(event, &json!({ "message": message }))
    };
    let slow = "etcdserver: request timed out";
    let conflict =
        "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified";
    for (items, cpu, want) in [
        (
            vec![state(), last.clone()],
            "90m",
            Some((Severity::Warning, since, None)),
        ),
        (
            vec![state(), last.clone(), failing(denied)],
            "90m",
            Some((Severity::Warning, since, Some(80))),
        ),
        (
            vec![state(), last.clone(), failing(conflict)],
            "90m",
            Some((Severity::Warning, since, None)),
        ),
        // What passes by itself is no trouble before it happens often.
        (
            vec![state(), failed("FailedUpdateScale", slow)],
            "90m",
            None,
        ),
        (
            vec![state(), failed("FailedUpdateScale", slow), failing(slow)],
            "90m",
            Some((Severity::Warning, since, Some(80))),
        ),
        (
            vec![stated, settled(4)],
            "90m",
            Some((Severity::Error, None, None)),
        ),
        // It is not to be written, was written in the meantime, or failed once because of another writer.
        (vec![state(), last.clone()], "50m", None),
        (
            vec![
                state(),
                last.clone(),
                event("SuccessfulRescale", 4, "2026-11-21T05:59:58Z"),
            ],
            "90m",
            None,
        ),
        (
            vec![
                state(),
                build::with(last.clone(), &json!({"status": {"currentReplicas": 3}})),
            ],
            "90m",
            None,
        ),
        (
            vec![state(), failed("FailedUpdateScale", conflict)],
            "90m",
            None,
        ),
        (vec![state(), failed("FailedGetScale", denied)], "90m", None),
        (vec![state(), settled(4), failing(denied)], "90m", None),
    ] {
        let items = with_pods(items.into_iter().chain([build::scale(4)]), 4, cpu);
        let got = find(Code::ScaleNotWritten, &items).map(|it| {
            let Facts::ScaleNotWritten(facts) = it.facts else {
                panic!("{it:?}")
            };
            assert!([denied, slow].contains(&&*facts.error), "{facts:?}");
            assert_eq!((facts.to, it.explains), (8, true));
            (it.severity, facts.failed, facts.failures.map(|it| it.times))
        });
        assert_eq!(got, want, "{items:?}");
    }
}

/// A status that is older than what every pass would have written.
#[test]
fn a_status_that_passes_would_have_changed() {
    let status = |written: &str, replicas: i32, used: i32| {
        let current = json!({"averageUtilization": used, "averageValue": format!("{used}m")});
        build::with(
            settled(replicas),
            &json!({
                "metadata": {"managedFields": [{"manager": "kube-controller-manager",
                    "subresource": "status", "time": written}]},
                "status": {"currentMetrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "current": current}}]},
            }),
        )
    };
    let set_at = |time: &str| {
        let managed = build::with(
            writes("kubectl", "scale")[0].clone(),
            &json!({ "time": time }),
        );
        deployment(4, &json!([managed]), &json!({}))
    };
    let measured = |items: Vec<Value>, time: &str| -> Vec<Value> {
        let dated = |item: Value| {
            if item["kind"] == "PodMetrics" {
                build::with(item, &json!({ "timestamp": time }))
            } else {
                item
            }
        };
        items.into_iter().map(dated).collect()
    };
    let ready_at = |items: Vec<Value>, time: &str| -> Vec<Value> {
        let condition = json!([{"type": "Ready", "status": "True", "lastTransitionTime": time}]);
        let turned = |item: Value| {
            if item["kind"] == "Pod" {
                build::with(item, &json!({"status": {"conditions": condition}}))
            } else {
                item
            }
        };
        items.into_iter().map(turned).collect()
    };
    let unread = |hpa: Value| {
        let able = json!([{"type": "AbleToScale", "status": "False", "reason": "FailedGetScale"}]);
        build::with(hpa, &json!({"status": {"conditions": able}}))
    };
    let long_ago = "2026-11-21T05:20:00Z";
    let all =
        |hpa: Value, target: Value| with_pods([state(), hpa, build::scale(4), target], 4, "50m");
    let used = |written: &str, used: i32, sampled: &str| {
        measured(
            all(status(written, 4, used), set_at("2026-11-21T01:00:00Z")),
            sampled,
        )
    };
    for (items, want) in [
        // Set 20 minutes ago, just now, and before the status.
        (
            all(status(long_ago, 2, 50), set_at("2026-11-21T05:40:00Z")),
            Some("replicas"),
        ),
        (
            all(status(long_ago, 2, 50), set_at("2026-11-21T05:59:40Z")),
            None,
        ),
        (
            all(status(long_ago, 2, 50), set_at("2026-11-21T05:10:00Z")),
            None,
        ),
        (
            all(status(long_ago, 4, 50), set_at("2026-11-21T05:40:00Z")),
            None,
        ),
        // Samples that all passes since 05:58 have seen, and a newer one.
        (used(long_ago, 40, "2026-11-21T05:57:00Z"), Some("usage")),
        (
            used("2026-11-21T05:56:00Z", 40, "2026-11-21T05:57:00Z"),
            Some("usage"),
        ),
        (
            used("2026-11-21T05:56:00Z", 40, "2026-11-21T05:59:00Z"),
            None,
        ),
        (
            used("2026-11-21T05:56:00Z", 50, "2026-11-21T05:57:00Z"),
            None,
        ),
        // Usage that does not change for 40 minutes, unless idle pods have it.
        (used(long_ago, 40, "2026-11-21T05:59:00Z"), Some("steady")),
        (used(long_ago, 10, "2026-11-21T05:59:00Z"), None),
        (used(long_ago, 45, "2026-11-21T05:59:00Z"), None),
        (used(long_ago, 50, "2026-11-21T05:59:00Z"), None),
        // A pass that cannot read the scale writes neither.
        (
            all(
                unread(status(long_ago, 2, 50)),
                set_at("2026-11-21T05:40:00Z"),
            ),
            None,
        ),
        (
            all(
                unread(status(long_ago, 4, 40)),
                set_at("2026-11-21T01:00:00Z"),
            ),
            None,
        ),
        // Other pods may count than did.
        (
            ready_at(
                used(long_ago, 40, "2026-11-21T05:57:00Z"),
                "2026-11-21T05:59:00Z",
            ),
            None,
        ),
    ] {
        let got = find(Code::ControllerSilent, &items).map(|it| {
            let (kind, severity) = match it.facts {
                Facts::ControllerSilent(ControllerSilent::Replicas { .. }) => {
                    ("replicas", Severity::Error)
                }
                Facts::ControllerSilent(ControllerSilent::Usage { .. }) => {
                    ("usage", Severity::Error)
                }
                Facts::ControllerSilent(ControllerSilent::Steady { .. }) => {
                    ("steady", Severity::Warning)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!((it.severity, it.explains), (severity, true));
            kind
        });
        assert_eq!(got, want, "{}", items[1]);
    }
}

#[test]
fn a_controller_that_decides_otherwise() {
    let values = |utilization: i32, desired: i32| {
        let value = format!("{utilization}m");
        build::with(
            settled(4),
            &json!({"status": {"desiredReplicas": desired, "currentMetrics": [{"type": "Resource",
                "resource": {"name": "cpu", "current": {
                    "averageUtilization": utilization, "averageValue": value}}}]}}),
        )
    };
    let dated = build::with(
        values(58, 4),
        &json!({"metadata": {"managedFields": [
            {"manager": "kubectl", "time": "2026-11-21T05:00:00Z", "fieldsV1": {"f:spec": {}}},
            {"manager": "kube-controller-manager", "subresource": "status",
                "time": "2026-11-21T05:59:51Z"},
        ]}}),
    );
    let earlier = build::with(
        values(58, 4),
        &json!({"metadata": {"managedFields": [
            {"manager": "kube-controller-manager", "subresource": "status",
                "time": "2026-11-21T05:59:49Z"},
        ]}}),
    );
    let failed = build::with(
        dated.clone(),
        &json!({"status": {"conditions": [
            {"type": "AbleToScale", "status": "False", "reason": "FailedUpdateScale"},
            {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
        ]}}),
    );
    // One pod is not ready and became so a minute after its start, ten minutes ago. It counts, unless that
    // is within one of these periods: then it counts as 0 for scaling up, which keeps the replicas.
    let state = build::state(&json!({"recommendations": [], "flags": {"tolerance": 0.1}}));
    let mut items = with_pods([state, values(58, 4), build::scale(4)], 4, "58m");
    let pod = items.iter_mut().rfind(|it| it["kind"] == "Pod").unwrap();
    pod["status"]["startTime"] = json!("2026-11-21T05:50:00Z");
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False",
        "lastTransitionTime": "2026-11-21T05:51:00Z"}]);
    let Some(Facts::DiffersFromStatus(facts)) =
        find(Code::DiffersFromStatus, &items).map(|it| it.facts)
    else {
        panic!("{items:?}")
    };
    let minutes = SignedDuration::from_mins;
    assert_eq!(
        facts.would_explain,
        [
            Setting::CpuInitializationPeriod(minutes(15)),
            Setting::InitialReadinessDelay(minutes(2))
        ]
    );
    // It counts since the controller's pass, by the default period of five minutes.
    let pod = items.iter_mut().rfind(|it| it["kind"] == "Pod").unwrap();
    pod["status"]["startTime"] = json!("2026-11-21T05:54:55Z");
    pod["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-11-21T05:56:00Z");
    assert_eq!(find(Code::DiffersFromStatus, &items), None);
    // At 42 % of 50 %, four pods stay four, and three are enough for three. The fourth counts unless it was
    // deleted, or created without having started, and both may have happened since the controller's pass.
    let behavior = json!({"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}});
    let pending = |created: &str| {
        json!({"metadata": {"creationTimestamp": created},
            "status": {"phase": "Pending", "startTime": null, "conditions": null}})
    };
    let deleted = |time: &str| json!({"metadata": {"deletionTimestamp": time}});
    for (patch, want) in [
        (deleted("2026-11-21T05:59:20Z"), true),
        (deleted("2026-11-21T06:00:20Z"), false),
        (pending("2026-11-21T05:59:40Z"), true),
        (pending("2026-11-21T05:59:56Z"), false),
    ] {
        let state = build::state(&json!({"recommendations": []}));
        let hpa = build::with(values(42, 4), &behavior);
        let mut items = with_pods([state, hpa, build::scale(4)], 4, "42m");
        let pod = items.iter_mut().rfind(|it| it["kind"] == "Pod").unwrap();
        *pod = build::with(pod.clone(), &patch);
        let name = pod["metadata"]["name"].clone();
        items.retain(|it| it["kind"] != "PodMetrics" || it["metadata"]["name"] != name);
        assert_eq!(
            find(Code::DiffersFromStatus, &items).is_some(),
            want,
            "{patch}"
        );
    }
    // At 58 % of 50 %, a controller with the default tolerance goes to 5.
    for (hpa, cpu, flags, want) in [
        (
            values(58, 4),
            "58m",
            json!({}),
            Some(vec![Setting::Tolerance(0.16)]),
        ),
        (values(58, 4), "58m", json!({"tolerance": 0.1}), None),
        // Other values, or a pass that has scaled.
        (values(57, 4), "58m", json!({}), None),
        (values(58, 5), "58m", json!({}), None),
        // No one sets such a tolerance.
        (values(90, 4), "90m", json!({}), None),
        (values(50, 4), "50m", json!({}), None),
        // The pass may have seen other samples.
        (earlier, "58m", json!({}), None),
        // Nothing that is assumed explains it, and its pass saw the same.
        (dated, "58m", json!({"tolerance": 0.1}), None),
        (failed, "58m", json!({"tolerance": 0.1}), None),
    ] {
        let state = build::state(&json!({"recommendations": [], "flags": flags}));
        let items = with_pods([state, hpa.clone(), build::scale(4)], 4, cpu);
        let got = find(Code::DiffersFromStatus, &items).map(|it| {
            assert_eq!((it.severity, it.explains), (Severity::Warning, false));
            let Facts::DiffersFromStatus(facts) = it.facts else {
                panic!("{it:?}")
            };
            assert_eq!((facts.last, facts.now), (4, 5));
            facts.would_explain
        });
        assert_eq!(got, want, "{hpa}");
    }
}

/// A window lasts from the passes before scaling down to the next rise, if events tell all of them.
#[test]
fn a_window_bridges_the_longest_gap() {
    let longer = |count: i32| {
        // Up at each quarter of an hour, and down 7 minutes before the next rise.
        let events = (0..6).flat_map(|cycle| {
            let minute = cycle * 15;
            [(8, "above", minute), (4, "below", minute + 8)].map(|(size, side, minute)| {
                let time = format!("2026-11-21T{:02}:{:02}:00Z", 4 + minute / 60, minute % 60);
                let reason = match side {
                    "above" => "cpu resource utilization above target",
                    _ => "All metrics below target",
                };
                json!({"apiVersion": "v1", "kind": "Event",
                    "metadata": {"name": format!("e{minute}"), "namespace": "default"},
                    "involvedObject": {"kind": "HorizontalPodAutoscaler", "name": "web", "namespace": "default"},
                    "reason": "SuccessfulRescale", "message": format!("New size: {size}; reason: {reason}"),
                    "type": "Normal", "count": count, "firstTimestamp": time, "lastTimestamp": time})
            })
        });
        let cpu = build::resource("cpu", &build::utilization(50));
        let items = super::super::testing::state(&[cpu], &["50m"; 4]);
        let all =
            super::super::testing::found(&items.into_iter().chain(events).collect::<Vec<_>>());
        all.into_iter().find_map(|it| match it.facts {
            Facts::Flapping(it) => Some(it.longer),
            _ => None,
        })
    };
    // 7 minutes, and 5 until a recommendation that holds the replicas is gone.
    assert_eq!(longer(1), Some(900));
    // A rise and a fall each 17 minutes, of which some may be hidden.
    assert_eq!(longer(3), Some(1800));
}
