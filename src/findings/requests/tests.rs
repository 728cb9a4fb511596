//! For each code a state in which it appears, and near misses in which it does not. Expectations are
//! derived by hand from the controller's rules.

use serde_json::{Value, json};

use crate::apimachinery::quantity::Quantity;
use crate::build;
use crate::findings::requests::diluted_by_container::{DilutedByContainer, Share};
use crate::findings::requests::memory_baseline::MemoryBaseline;
use crate::findings::requests::missing_request::{MissingRequest, Source, Unrequested};
use crate::findings::requests::requests_differ_from_template::{
    Differing, RequestsDifferFromTemplate,
};
use crate::findings::requests::resize_in_progress::{ResizeInProgress, Resized};
use crate::findings::requests::unreachable_target::{AtLimits, UnreachableTarget};
use crate::findings::targets::{OtherRequest, Room};
use crate::findings::testing::{boxed, check, only, state, with};
use crate::findings::{Code, Facts, Severity};

const MI: i64 = 1024 * 1024 * 1000;

fn cpu(percent: i32) -> Value {
    build::resource("cpu", &build::utilization(percent))
}

/// Adds the Deployment of the pods, by the ReplicaSet's name, with these containers in its template.
fn owned(items: &[Value], containers: &Value) -> Vec<Value> {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d", "controller": true}]);
    let labels = json!({"app": "web", "pod-template-hash": "5d"});
    let mut items = with(
        items,
        "Pod",
        &json!({"metadata": {"labels": labels, "ownerReferences": owner}}),
    );
    items.push(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}},
    }));
    items
}

/// Returns pods with another container, which the resource metrics include as well.
fn with_container(items: &[Value], container: &Value, app: &str, usage: &str) -> Vec<Value> {
    let containers = json!([build::requesting("app", "100m"), container]);
    let items = with(items, "Pod", &json!({"spec": {"containers": containers}}));
    let name = &container["name"];
    let usages =
        json!([{"name": "app", "usage": {"cpu": app}}, {"name": name, "usage": {"cpu": usage}}]);
    with(&items, "PodMetrics", &json!({ "containers": usages }))
}

#[test]
fn requests_that_are_missing() {
    let two = state(&[cpu(50)], &["50m", "50m"]);
    let bare = json!({"name": "proxy"});
    let sidecar = with_container(&two, &bare, "50m", "9m");
    let pods: Vec<Box<str>> = vec!["web-0".into(), "web-1".into()];
    let lacking = |container: &str, source, pods: &[Box<str>], usage| Unrequested {
        container: container.into(),
        source,
        pods: pods.to_vec(),
        usage,
    };
    let missing = |containers, instead: Option<&str>| {
        let (resource, instead) = ("cpu".to_owned(), instead.map(str::to_owned));
        let facts = MissingRequest {
            metric: 0,
            resource,
            containers,
            instead,
        };
        Some((Severity::Error, true, facts.into()))
    };
    let app = json!([build::requesting("app", "100m")]);
    let both = json!([build::requesting("app", "100m"), bare]);
    let job = {
        let owner =
            json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "seed", "controller": true}]);
        let patch = json!({"metadata": {"ownerReferences": owner},
            "spec": {"containers": [{"name": "seed"}]}, "status": {"phase": "Succeeded"}});
        [
            owned(&two, &app),
            vec![build::with(build::pod("seed-x"), &patch)],
        ]
        .concat()
    };
    let lost = with(
        &two,
        "Pod",
        &json!({"spec": {"containers": [{"name": "app"}]}}),
    );
    let bare_pod = {
        let mut items = owned(&sidecar, &app);
        let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == "web-1";
        let pod = items.iter_mut().find(is_it).unwrap();
        pod["metadata"]["ownerReferences"] = Value::Null;
        items
    };
    // A rollout has replaced the first pod, and the second has the earlier template.
    let rollout = |template: &Value, containers: Value, newest: &str| {
        let mut items = owned(&two, template);
        let set = |hash: &str, revision: &str| {
            let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": true}]);
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
                "name": format!("web-{hash}"), "namespace": "default", "ownerReferences": owner,
                "labels": {"app": "web", "pod-template-hash": hash},
                "annotations": {"deployment.kubernetes.io/revision": revision}}})
        };
        let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == "web-1";
        let pod = items.iter_mut().find(is_it).unwrap();
        pod["metadata"]["labels"]["pod-template-hash"] = json!("6e");
        pod["metadata"]["ownerReferences"][0]["name"] = json!("web-6e");
        pod["spec"]["containers"] = containers;
        let revision = |hash: &str| if hash == newest { "2" } else { "1" };
        items.extend(["5d", "6e"].map(|hash| set(hash, revision(hash))));
        items
    };
    let unset = json!([{"name": "app"}]);
    let earlier = |container: &str, usage| {
        missing(
            vec![lacking(container, Source::Earlier, &pods[1..], usage)],
            None,
        )
    };
    // In the middle of a rollout, one of two pods has the new template, with the request that it had lost.
    let updating = {
        let mut items = rollout(&unset, unset.clone(), "6e");
        items.retain(|item| item["kind"] != "ReplicaSet");
        let status = json!({"status": {"replicas": 2, "updatedReplicas": 1}});
        with(&items, "Deployment", &status)
    };
    // The status counts no pod that has failed or is being deleted.
    let beside = |patch: Value| {
        let is_it = |it: &&Value| it["kind"] == "Pod" && it["metadata"]["name"] == "web-1";
        let patch = build::with(json!({"metadata": {"name": "web-2"}}), &patch);
        let pod = build::with(updating.iter().find(is_it).unwrap().clone(), &patch);
        [updating.clone(), vec![pod]].concat()
    };
    let unset_in = |pods: &[&str]| {
        missing(
            vec![lacking("app", Source::Template, &boxed(pods), Some(50))],
            None,
        )
    };
    let limited = json!([{"name": "app", "resources": {"limits": {"cpu": "100m"}}}]);
    let of_job = Source::Foreign {
        owner: Some("Job/seed".to_owned()),
    };
    let code = Code::MissingRequest;
    let all = |source| vec![lacking("proxy", source, &pods, Some(9))];
    check(vec![
        ("of no container", code, owned(&two, &app), None),
        (
            "of an injected container",
            code,
            owned(&sidecar, &app),
            missing(all(Source::Injected), Some("app")),
        ),
        (
            "of a container of the template",
            code,
            owned(&sidecar, &both),
            missing(all(Source::Template), None),
        ),
        (
            "of pods that state no owner",
            code,
            sidecar.clone(),
            missing(all(Source::Unknown), None),
        ),
        (
            "of a container that has one in the template",
            code,
            owned(&lost, &app),
            missing(vec![lacking("app", Source::Lost, &pods, Some(50))], None),
        ),
        (
            "of a pod without an owner",
            code,
            bare_pod,
            missing(
                vec![
                    lacking("proxy", Source::Injected, &pods[..1], Some(9)),
                    lacking(
                        "proxy",
                        Source::Foreign { owner: None },
                        &pods[1..],
                        Some(9),
                    ),
                ],
                None,
            ),
        ),
        (
            "of a pod of another owner",
            code,
            job,
            missing(
                vec![lacking("seed", of_job, &["seed-x".into()], None)],
                None,
            ),
        ),
        (
            "of a container that the template no longer has",
            code,
            rollout(&app, both.clone(), "5d"),
            earlier("proxy", None),
        ),
        (
            "of a container for which the template now has one",
            code,
            rollout(&app, unset.clone(), "5d"),
            earlier("app", Some(50)),
        ),
        (
            "of a container that is injected into new pods",
            code,
            rollout(&app, both.clone(), "6e"),
            missing(
                vec![lacking("proxy", Source::Injected, &pods[1..], None)],
                Some("app"),
            ),
        ),
        (
            "of a container whose request the template has lost",
            code,
            rollout(&unset, unset.clone(), "6e"),
            missing(
                vec![lacking("app", Source::Template, &pods[1..], Some(50))],
                None,
            ),
        ),
        (
            "of a container of a new template",
            code,
            updating.clone(),
            unset_in(&["web-1"]),
        ),
        (
            "of a container of a new template, beside a failed pod",
            code,
            beside(json!({"status": {"phase": "Failed"}})),
            unset_in(&["web-1", "web-2"]),
        ),
        (
            "of a container of a new template, beside a deleted pod",
            code,
            beside(json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}})),
            unset_in(&["web-1", "web-2"]),
        ),
        (
            "of a container that has a limit in the template",
            code,
            owned(&lost, &limited),
            missing(vec![lacking("app", Source::Lost, &pods, Some(50))], None),
        ),
        (
            "where the target is an amount",
            code,
            with(
                &sidecar,
                "HorizontalPodAutoscaler",
                &json!({"spec": {
                "metrics": [build::resource("cpu", &build::average("50m"))]}}),
            ),
            None,
        ),
    ]);
    // 50m of 100m is on target for the container alone.
    let finding = only(code, &owned(&sidecar, &app)).unwrap();
    assert_eq!(finding.without.and_then(|it| it.proposal), Some(2));
}

#[test]
fn shares_that_differ_by_container() {
    let two = state(&[cpu(70)], &["50m", "50m"]);
    let idle = with_container(&two, &build::requesting("proxy", "1"), "98m", "20m");
    let busy = with_container(&two, &build::requesting("proxy", "100m"), "65m", "65m");
    let small = with_container(&two, &build::requesting("proxy", "10m"), "98m", "20m");
    let share = |container: &str, usage, request, is_counted| Share {
        container: container.into(),
        usage,
        request,
        is_counted,
    };
    let diluted = |shares, proposal, alone, with_sidecars| {
        let facts = DilutedByContainer {
            metric: 0,
            shares,
            pods: 2,
            proposal,
            alone,
            with_sidecars,
        };
        Some((Severity::Warning, true, facts.into()))
    };
    let native = |version: &str| {
        let sidecar = build::with(
            build::requesting("proxy", "100m"),
            &json!({"restartPolicy": "Always"}),
        );
        let usages = json!([{"name": "app", "usage": {"cpu": "80m"}}, {"name": "proxy", "usage": {"cpu": "2m"}}]);
        let items = with(&two, "Pod", &json!({"spec": {"initContainers": [sidecar]}}));
        let items = with(&items, "PodMetrics", &json!({ "containers": usages }));
        with(
            &items,
            "ControllerState",
            &json!({ "kubernetesVersion": version }),
        )
    };
    // A container is renamed, in the middle of the rollout.
    let renamed = {
        let mut items = state(&[cpu(60)], &["95m", "95m", "10m", "10m"]);
        for item in &mut items {
            if matches!(item["metadata"]["name"].as_str(), Some("web-2" | "web-3")) {
                let spec = if item["kind"] == "Pod" {
                    &mut item["spec"]
                } else {
                    item
                };
                spec["containers"][0]["name"] = json!("server");
            }
        }
        items
    };
    let natives = |is_counted| {
        vec![
            share("app", 160, 200, true),
            share("proxy", 4, 200, is_counted),
        ]
    };
    let code = Code::DilutedByContainer;
    check(vec![
        (
            "by an idle container",
            code,
            idle,
            diluted(
                vec![share("app", 196, 200, true), share("proxy", 40, 2000, true)],
                1,
                3,
                None,
            ),
        ),
        ("not at all", code, busy, None),
        // The other one is busier: 98% and 200%, of 107% in the pods.
        ("by a small busy container", code, small, None),
        ("with one container", code, two.clone(), None),
        ("by a container of another pod", code, renamed, None),
        // 82% of 70% for two pods, and 41% with the requests of the sidecars.
        (
            "by sidecars that do not count",
            code,
            native("v1.28.15"),
            diluted(natives(false), 3, 3, Some(2)),
        ),
        (
            "by sidecars that count",
            code,
            native("v1.36.2"),
            diluted(natives(true), 2, 3, None),
        ),
    ]);
}

#[test]
fn requests_that_are_being_resized() {
    let resizing = |in_effect: &str| {
        let statuses = json!([{"name": "app", "resources": {"requests": {"cpu": in_effect}}}]);
        let items = state(&[cpu(60)], &["90m", "90m"]);
        let containers = json!([build::requesting("app", "400m")]);
        let patch =
            json!({"spec": {"containers": containers}, "status": {"containerStatuses": statuses}});
        with(&items, "Pod", &patch)
    };
    let resized = |pod: &str| Resized {
        pod: pod.into(),
        container: "app".into(),
        spec: 400,
        in_effect: 100,
    };
    let facts = ResizeInProgress {
        metric: 0,
        resource: "cpu".to_owned(),
        containers: vec![resized("web-0"), resized("web-1")],
        condition: None,
    };
    let code = Code::ResizeInProgress;
    check(vec![
        (
            "to four times as much",
            code,
            resizing("100m"),
            Some((Severity::Warning, true, facts.into())),
        ),
        ("and have been", code, resizing("400m"), None),
        (
            "unlike amounts",
            code,
            state(&[cpu(60)], &["90m", "90m"]),
            None,
        ),
    ]);
    // 90% of 60%.
    let finding = only(code, &resizing("100m")).unwrap();
    assert_eq!(finding.without.and_then(|it| it.proposal), Some(3));
}

#[test]
fn requests_that_are_not_the_templates() {
    let two = state(&[cpu(70)], &["90m", "90m"]);
    let template = json!([build::requesting("app", "500m")]);
    let vpa = |mode: &str| {
        json!({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "updatePolicy": {"updateMode": mode}}})
    };
    let facts = |vpa: Option<&str>| RequestsDifferFromTemplate {
        metric: 0,
        resource: "cpu".to_owned(),
        containers: vec![Differing {
            container: "app".into(),
            template: Some(500),
            least: 100,
            most: 100,
            pods: 2,
        }],
        pods: 2,
        vpa: vpa.map(str::to_owned),
        updated: 0,
        is_paused: false,
        is_seen: false,
        average: Some(350),
    };
    let told = |vpa| Some((Severity::Warning, true, facts(vpa).into()));
    let differing = owned(&two, &template);
    let mut rollout = differing.clone();
    let at = rollout
        .iter()
        .position(|it| it["metadata"]["name"] == "web-1" && it["kind"] == "Pod");
    rollout[at.unwrap()]["spec"]["containers"] = template;
    let with_vpa = |mode| [differing.clone(), vec![vpa(mode)]].concat();
    let of_memory = {
        let policy = json!([{"containerName": "*", "controlledResources": ["memory"]}]);
        let patch = json!({"spec": {"resourcePolicy": {"containerPolicies": policy}}});
        with(&with_vpa("Auto"), "VerticalPodAutoscaler", &patch)
    };
    let of_app = {
        let policies = json!([{"containerName": "*", "mode": "Off"}, {"containerName": "app"}]);
        let patch = json!({"spec": {"resourcePolicy": {"containerPolicies": policies}}});
        with(&with_vpa("Auto"), "VerticalPodAutoscaler", &patch)
    };
    let updated = |replicas: i32| {
        let status = json!({"status": {"replicas": 2, "updatedReplicas": replicas}});
        with(&differing, "Deployment", &status)
    };
    // The ReplicaSet of the pods, with a request in its template.
    let made_of = |items: &[Value], request: &str| {
        let mut items = items.to_vec();
        items.push(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web-5d", "namespace": "default", "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": true}]},
            "spec": {"template": {"spec": {"containers": [build::requesting("app", request)]}}}}));
        items
    };
    let paused = |items: &[Value]| with(items, "Deployment", &json!({"spec": {"paused": true}}));
    // The API omits a count of 0.
    let seen = |items: &[Value]| {
        let status = json!({"status": {"replicas": 2, "observedGeneration": 2}});
        with(items, "Deployment", &status)
    };
    let kept = |is_seen| {
        let facts = RequestsDifferFromTemplate {
            is_paused: true,
            is_seen,
            ..facts(None)
        };
        Some((Severity::Warning, true, facts.into()))
    };
    let of_set = {
        let facts = RequestsDifferFromTemplate {
            is_seen: true,
            ..facts(None)
        };
        Some((Severity::Warning, true, facts.into()))
    };
    // A pod that its ReplicaSet has replaced, which no status counts.
    let replaced = |items: &[Value], patch: Value| {
        let mut items = items.to_vec();
        let last = items
            .iter()
            .find(|it| it["metadata"]["name"] == "web-1" && it["kind"] == "Pod");
        let patch = build::with(json!({"metadata": {"name": "web-2"}}), &patch);
        items.push(build::with(last.unwrap().clone(), &patch));
        items
    };
    let failed = json!({"status": {"phase": "Failed"}});
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
    // A rollout has replaced the second pod, and so the revisions cannot be told by the numbers of their pods.
    let updating = {
        let mut items = with(
            &rollout,
            "Deployment",
            &json!({
            "status": {"replicas": 2, "updatedReplicas": 1}}),
        );
        items[at.unwrap()]["metadata"]["labels"]["pod-template-hash"] = json!("6e");
        items[at.unwrap()]["metadata"]["ownerReferences"][0]["name"] = json!("web-6e");
        items
    };
    // The API server takes a limit for the request that is not stated.
    let limited = |limit: &str| {
        let containers = json!([{"name": "app", "resources": {"limits": {"cpu": limit}}}]);
        [owned(&two, &containers), vec![vpa("Auto")]].concat()
    };
    let code = Code::RequestsDifferFromTemplate;
    let same = json!([build::requesting("app", "100m")]);
    check(vec![
        (
            "but a VerticalPodAutoscaler's",
            code,
            with_vpa("Auto"),
            told(Some("web")),
        ),
        (
            "but not a VerticalPodAutoscaler's",
            code,
            with_vpa("Off"),
            told(None),
        ),
        (
            "but those of a VerticalPodAutoscaler of memory",
            code,
            of_memory,
            told(None),
        ),
        (
            "but those of a VerticalPodAutoscaler of the container",
            code,
            of_app,
            told(Some("web")),
        ),
        ("in some pods of a rollout", code, rollout, None),
        ("in a pod of two in a rollout", code, updating.clone(), None),
        (
            "in a pod of two in a rollout, beside a deleted one",
            code,
            replaced(&updating, deleted.clone()),
            None,
        ),
        (
            "in a pod of two in a rollout, beside a failed one",
            code,
            replaced(&updating, failed.clone()),
            None,
        ),
        ("but its limits", code, limited("100m"), None),
        (
            "but a VerticalPodAutoscaler's, beside limits",
            code,
            limited("500m"),
            told(Some("web")),
        ),
        ("in pods of the revision", code, updated(2), told(None)),
        ("in pods of an earlier revision", code, updated(0), None),
        (
            "in pods of which some are of an earlier revision",
            code,
            updated(1),
            None,
        ),
        (
            "in pods of which the API counts none",
            code,
            seen(&differing),
            None,
        ),
        (
            "in pods of another ReplicaSet",
            code,
            made_of(&differing, "100m"),
            None,
        ),
        (
            "in pods of the ReplicaSet",
            code,
            made_of(&differing, "500m"),
            of_set.clone(),
        ),
        (
            "while the target is paused",
            code,
            paused(&differing),
            kept(false),
        ),
        (
            "while the target is paused, says the API",
            code,
            paused(&seen(&differing)),
            kept(false),
        ),
        (
            "while the target is paused, says the ReplicaSet",
            code,
            paused(&made_of(&differing, "100m")),
            kept(true),
        ),
        (
            "and the target is paused with the template",
            code,
            paused(&updated(2)),
            told(None),
        ),
        (
            "and the target is paused with the template and a failed pod",
            code,
            replaced(&paused(&updated(2)), failed),
            told(None),
        ),
        (
            "and the target is paused with the template, its ReplicaSet and a deleted pod",
            code,
            replaced(&paused(&made_of(&updated(2), "500m")), deleted),
            of_set,
        ),
        (
            "and the target is paused with the ReplicaSet",
            code,
            paused(&made_of(&differing, "500m")),
            None,
        ),
        (
            "but a VerticalPodAutoscaler's, in a paused target",
            code,
            paused(&with_vpa("Auto")),
            told(Some("web")),
        ),
        (
            "but defaults",
            code,
            owned(&two, &json!([{"name": "app"}])),
            None,
        ),
        ("", code, owned(&two, &same), None),
    ]);
    // 18% of 70% of two pods.
    let finding = only(code, &with_vpa("Auto")).unwrap();
    assert_eq!(finding.without.and_then(|it| it.proposal), Some(1));
}

#[test]
fn memory_that_more_pods_do_not_lower() {
    let pods = |usages: [&str; 2], newest: &str, replicas_most: i32| {
        let metric = build::resource("memory", &build::utilization(80));
        let requests = json!([{"name": "app", "resources": {"requests": {"memory": "100Mi"}}}]);
        let items = state(&[metric], &["1m", "1m"]);
        let mut items = with(&items, "Pod", &json!({"spec": {"containers": requests}}));
        for (number, usage) in usages.iter().enumerate() {
            let at = items
                .iter()
                .position(|it| it["metadata"]["name"] == format!("web-{number}"));
            items[at.unwrap() + 1]["containers"] =
                json!([{"name": "app", "usage": {"memory": usage}}]);
        }
        let at = items
            .iter()
            .position(|it| it["metadata"]["name"] == "web-1")
            .unwrap();
        items[at]["status"]["startTime"] = json!(newest);
        with(
            &items,
            "HorizontalPodAutoscaler",
            &json!({"spec": {"maxReplicas": replicas_most}}),
        )
    };
    let (early, late, just) = (
        "2026-11-21T05:00:00Z",
        "2026-11-21T05:40:00Z",
        "2026-11-21T05:55:00Z",
    );
    let facts = |newest: &str, request: &str, proposal: i32| MemoryBaseline {
        metric: 0,
        least: 95 * MI,
        most: 96 * MI,
        target: 80 * MI,
        pods: 2,
        oldest: early.parse().unwrap(),
        newest: newest.parse().unwrap(),
        percent: Some(80),
        room: Room {
            request: Some(OtherRequest {
                container: "app".into(),
                request: Quantity::parse(request).unwrap(),
                proposal,
            }),
            target: None,
            is_tight: false,
        },
    };
    let told = |newest, request, proposal| {
        Some((
            Severity::Warning,
            true,
            facts(newest, request, proposal).into(),
        ))
    };
    let third = {
        let mut items = pods(["95Mi", "96Mi"], late, 20);
        let of_second = |it: &&Value| it["metadata"]["name"] == "web-1";
        let patch = json!({"metadata": {"name": "web-2"}});
        let mut third: Vec<Value> = items
            .iter()
            .filter(of_second)
            .map(|it| build::with(it.clone(), &patch))
            .collect();
        third[0]["status"]["startTime"] = json!(just);
        third[1]["containers"][0]["usage"]["memory"] = json!("88Mi");
        items.extend(third);
        items
    };
    let code = Code::MemoryBaseline;
    check(vec![
        // 86% of 110Mi is within 10% of 80%, 39% of 240Mi is enough for 1 pod, and three pods at 51% of 180Mi for 2.
        (
            "where a later pod uses as much",
            code,
            pods(["95Mi", "96Mi"], late, 20),
            told(late, "110Mi", 2),
        ),
        (
            "at the most replicas",
            code,
            pods(["95Mi", "96Mi"], early, 2),
            told(early, "240Mi", 1),
        ),
        (
            "where all pods are as old",
            code,
            pods(["95Mi", "96Mi"], early, 20),
            None,
        ),
        (
            "where a pod of three is new",
            code,
            third,
            told(late, "180Mi", 2),
        ),
        (
            "where a pod is new",
            code,
            pods(["95Mi", "96Mi"], just, 20),
            None,
        ),
        (
            "where a later pod uses less",
            code,
            pods(["120Mi", "60Mi"], late, 20),
            None,
        ),
        (
            "within the tolerance",
            code,
            pods(["85Mi", "86Mi"], late, 20),
            None,
        ),
    ]);
}

#[test]
fn a_target_that_limits_keep_out_of_reach() {
    let limited = |percent: i32, limit: Option<&str>, usage: &str| {
        let mut container = build::requesting("app", "100m");
        if let Some(limit) = limit {
            container["resources"]["limits"] = json!({ "cpu": limit });
        }
        let items = state(&[cpu(percent)], &[usage, usage]);
        with(&items, "Pod", &json!({"spec": {"containers": [container]}}))
    };
    let told = |items: &[Value]| {
        let finding = only(Code::UnreachableTarget, items)?;
        assert_eq!(finding.severity, Severity::Warning);
        let Facts::UnreachableTarget(UnreachableTarget {
            by:
                AtLimits::All {
                    full,
                    border,
                    reachable,
                    ..
                },
            ..
        }) = finding.facts
        else {
            panic!()
        };
        Some((
            full.average_utilization,
            border,
            reachable,
            finding.explains,
        ))
    };
    for (about, items, want) in [
        (
            "above the limits",
            limited(120, Some("100m"), "99m"),
            // 99% is 11% above 89%, and 10% above 90%.
            Some((Some(100), 132, Some(89), true)),
        ),
        (
            "within the tolerance",
            limited(95, Some("100m"), "30m"),
            // 95% of what the limits allow is 10.5% above 86%.
            Some((Some(100), 104, Some(86), false)),
        ),
        ("below the limits", limited(90, Some("100m"), "99m"), None),
        (
            "with higher limits",
            limited(120, Some("200m"), "99m"),
            None,
        ),
        ("without limits", limited(120, None, "99m"), None),
    ] {
        assert_eq!(told(&items), want, "{about}");
    }
    let finding = only(Code::UnreachableTarget, &limited(120, Some("100m"), "99m")).unwrap();
    assert_eq!(finding.without.and_then(|it| it.proposal), Some(3));
}

/// Pods with a request of 100m, a limit of 150m and a target of 60%: one at its limit and two idle ones average 53%.
#[test]
fn a_pod_at_its_limit_among_idle_ones() {
    let of = |usages: &[&str], limit: Option<&str>| {
        let mut container = build::requesting("app", "100m");
        if let Some(limit) = limit {
            container["resources"]["limits"] = json!({ "cpu": limit });
        }
        let items = state(&[build::resource("cpu", &build::utilization(60))], usages);
        with(&items, "Pod", &json!({"spec": {"containers": [container]}}))
    };
    let uneven = Some((
        Severity::Warning,
        true,
        UnreachableTarget {
            metric: 0,
            by: AtLimits::Few {
                busy: vec!["web-0".into()],
                container: "app".into(),
                usage: 140,
                limit: 150,
                others: 2,
                mean: 10,
            },
        }
        .into(),
    ));
    let code = Code::UnreachableTarget;
    // A canary that is busier is no matter of how work is spread.
    let canary = |usages: &[&str]| {
        let mut items = of(usages, Some("150m"));
        for (number, hash) in [(0, "new"), (1, "old"), (2, "old")] {
            let name = format!("web-{number}");
            let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == name;
            let pod = items.iter_mut().find(is_it).unwrap();
            pod["metadata"]["labels"]["pod-template-hash"] = json!(hash);
        }
        items
    };
    check(vec![
        ("of a canary", code, canary(&["140m", "10m", "10m"]), None),
        (
            "at the limit",
            code,
            of(&["140m", "10m", "10m"], Some("150m")),
            uneven,
        ),
        (
            "below the limit",
            code,
            of(&["130m", "10m", "10m"], Some("150m")),
            None,
        ),
        (
            "without a limit",
            code,
            of(&["140m", "10m", "10m"], None),
            None,
        ),
        (
            "where the others work",
            code,
            of(&["140m", "50m", "40m", "10m"], Some("150m")),
            None,
        ),
        (
            "above the target",
            code,
            of(&["150m", "30m"], Some("150m")),
            None,
        ),
        (
            "where most are",
            code,
            of(&["85m", "85m", "5m"], Some("90m")),
            None,
        ),
    ]);
}
