//! For each code a state in which it appears, and near misses in which it does not. Expectations are
//! derived by hand from the controller's rules.

use serde_json::{Value, json};

use crate::build;
use crate::findings::owners::foreign_pods::{ForeignPods, OwnedPods, Owner, Share};
use crate::findings::owners::old_revision_pods::{OldRevisionPods, Revision};
use crate::findings::owners::selector_matches_nothing::{Lacking, SelectorMatchesNothing};
use crate::findings::owners::selector_missing::SelectorMissing;
use crate::findings::owners::shared_pods::{SharedPods, Sharing};
use crate::findings::testing::{boxed, check, only, state, with};
use crate::findings::{Alternative, Code, Severity};

fn cpu() -> Value {
    build::resource("cpu", &build::utilization(50))
}

/// Returns the state with a change to one of its pods.
fn with_pod(items: &[Value], name: &str, patch: &Value) -> Vec<Value> {
    let change = |item: &Value| {
        if item["kind"] == "Pod" && item["metadata"]["name"] == name {
            build::with(item.clone(), patch)
        } else {
            item.clone()
        }
    };
    items.iter().map(change).collect()
}

/// Returns the owner of an object, with the labels that it gives its pods.
fn owned(kind: &str, name: &str, labels: &Value) -> Value {
    let group = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    json!({"metadata": {"labels": labels, "ownerReferences": [
        {"apiVersion": group, "kind": kind, "name": name, "controller": true}]}})
}

/// Returns a pod of a ReplicaSet of a Deployment.
fn of_set(name: &str, hash: &str) -> Value {
    owned(
        "ReplicaSet",
        &format!("{name}-{hash}"),
        &json!({"pod-template-hash": hash}),
    )
}

/// Returns the state with a target of another kind.
fn of_kind(items: &[Value], api_version: &str, kind: &str) -> Vec<Value> {
    let target = json!({"spec": {"scaleTargetRef": {"apiVersion": api_version, "kind": kind}}});
    with(items, "HorizontalPodAutoscaler", &target)
}

#[test]
fn the_scale_has_no_selector() {
    let plain = state(&[cpu()], &["50m"]);
    let selects = |text: &str| with(&plain, "Scale", &json!({"status": {"selector": text}}));
    let facts = |selector: &str| {
        SelectorMissing {
            selector: selector.to_owned(),
        }
        .into()
    };
    let code = Code::SelectorMissing;
    check(vec![
        ("has one", code, plain.clone(), None),
        (
            "has none",
            code,
            selects(""),
            Some((Severity::Error, true, facts(""))),
        ),
        (
            "is unreadable",
            code,
            selects("a in"),
            Some((Severity::Error, true, facts("a in"))),
        ),
    ]);
}

#[test]
fn the_selector_matches_nothing() {
    let plain = with_pod(&state(&[cpu()], &["50m"]), "web-0", &of_set("web", "1a2b"));
    let selects = |text: &str| with(&plain, "Scale", &json!({"status": {"selector": text}}));
    let lacking = vec![Lacking {
        key: "tier".into(),
        wanted: "front".into(),
        found: None,
    }];
    let facts = SelectorMatchesNothing {
        selector: "app=web,tier=front".to_owned(),
        replicas: 1,
        own: boxed(&["web-0"]),
        lacking,
        others: Vec::new(),
    };
    let code = Code::SelectorMatchesNothing;
    let strange = selects("app=web,tier=front");
    let none = with(&strange, "Scale", &json!({"status": {"replicas": 0}}));
    // Objects without a ControllerState may be incomplete.
    let mut unread = strange.clone();
    unread.retain(|item| item["kind"] != "Pod" && item["kind"] != "ControllerState");
    check(vec![
        ("matches", code, plain.clone(), None),
        (
            "does not",
            code,
            strange,
            Some((Severity::Error, true, facts.into())),
        ),
        ("has nothing to match", code, none, None),
        ("has pods that were not read", code, unread, None),
    ]);
}

#[test]
fn two_hpas_share_pods() {
    let other = |selector: &str| {
        let name = json!({"metadata": {"name": "api", "uid": "v"},
            "spec": {"scaleTargetRef": {"name": "api"}}});
        let scale = json!({"metadata": {"name": "api"}, "status": {"selector": selector}});
        let hpa = build::with(build::hpa(&json!({})), &name);
        [
            state(&[cpu()], &["90m"]),
            vec![hpa, build::with(build::scale(1), &scale)],
        ]
        .concat()
    };
    // Both scale one target.
    let twin = {
        let name = json!({"metadata": {"name": "api", "uid": "v"}});
        let hpa = build::with(build::hpa(&json!({})), &name);
        [state(&[cpu()], &["52m"]), vec![hpa]].concat()
    };
    let of_twin = SharedPods {
        others: vec![Sharing {
            name: "api".to_owned(),
            target: "Deployment/web".to_owned(),
            selector: "app=web".to_owned(),
        }],
        pods: boxed(&["web-0"]),
        is_refused: false,
        of_keda: None,
    };
    let old = json!({"kubernetesVersion": "v1.25.0"});
    let facts = |is_refused| {
        let others = vec![Sharing {
            name: "api".to_owned(),
            target: "Deployment/api".to_owned(),
            selector: "app".to_owned(),
        }];
        SharedPods {
            others,
            pods: boxed(&["web-0"]),
            is_refused,
            of_keda: None,
        }
        .into()
    };
    let code = Code::SharedPods;
    check(vec![
        ("are apart", code, other("app=api"), None),
        (
            "overlap",
            code,
            other("app"),
            Some((Severity::Error, true, facts(true))),
        ),
        (
            "overlap, in a version that scales both",
            code,
            with(&other("app"), "ControllerState", &old),
            Some((Severity::Warning, false, facts(false))),
        ),
        (
            "are of one target, in a version that scales it by both",
            code,
            with(&twin, "ControllerState", &old),
            Some((Severity::Warning, true, of_twin.into())),
        ),
    ]);
}

#[test]
fn pods_of_others() {
    let items = state(&[cpu()], &["50m", "50m", "150m"]);
    let items = with_pod(&items, "web-0", &of_set("web", "1a2b"));
    let items = with_pod(&items, "web-1", &of_set("web", "1a2b"));
    let is_of = |patch: &Value| with_pod(&items, "web-2", patch);
    let share = Some(Share {
        metric: 0,
        theirs: 150,
        all: 250,
    });
    let facts = |owner| {
        let of = vec![OwnedPods {
            owner,
            pods: boxed(&["web-2"]),
        }];
        Some((
            Severity::Warning,
            true,
            ForeignPods {
                of,
                share,
                referred: None,
            }
            .into(),
        ))
    };
    let object = |reference: &str| facts(Owner::Object(reference.to_owned()));
    let job = owned("Job", "migrate-1", &json!({}));
    let set = |owner: &str| {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "odd", "namespace": "default", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "controller": true}]},
            "spec": {"replicas": 1}, "status": {"replicas": 1}})
    };
    let odd = is_of(&owned("ReplicaSet", "odd", &json!({})));
    let followed = |owner| [&odd[..], &[set(owner)]].concat();
    let cron = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "migrate-1", "namespace": "default", "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "CronJob", "name": "migrate", "controller": true}]},
        "status": {}});
    let no_owners = state(&[cpu()], &["50m", "50m", "150m"]);
    let custom = |items: &[Value]| of_kind(items, "example.com/v1", "App");
    let failed = json!({"status": {"phase": "Failed"}});
    let code = Code::ForeignPods;
    check(vec![
        ("are its own", code, is_of(&of_set("web", "3c4d")), None),
        ("are of a Job", code, is_of(&job), object("Job/migrate-1")),
        (
            "are of a CronJob",
            code,
            [&is_of(&job)[..], &[cron]].concat(),
            object("CronJob/migrate"),
        ),
        (
            "are of a StatefulSet",
            code,
            is_of(&owned("StatefulSet", "db", &json!({}))),
            { object("StatefulSet/db") },
        ),
        ("are of an unknown ReplicaSet", code, odd.clone(), None),
        (
            "are of its ReplicaSet with another name",
            code,
            followed("web"),
            None,
        ),
        (
            "are of another Deployment",
            code,
            followed("api"),
            object("Deployment/api"),
        ),
        (
            "are of another by name",
            code,
            is_of(&of_set("api", "3c4d")),
            { object("ReplicaSet/api-3c4d") },
        ),
        ("are of no one", code, items.clone(), facts(Owner::NoOne)),
        ("state no owners", code, no_owners.clone(), None),
        (
            "do not count",
            code,
            with_pod(&is_of(&job), "web-2", &failed),
            None,
        ),
        (
            "may be of a custom target",
            code,
            custom(&is_of(&job)),
            None,
        ),
        (
            "were given to it together",
            code,
            with_pod(&no_owners, "web-2", &of_set("api", "3c4d")),
            None,
        ),
    ]);
}

#[test]
fn pods_that_a_custom_target_does_not_count() {
    let mut items = of_kind(
        &state(&[cpu()], &["50m", "50m", "5m"]),
        "example.com/v1",
        "App",
    );
    for (name, hash) in [("web-0", "new"), ("web-1", "new"), ("web-2", "old")] {
        items = with_pod(&items, name, &of_set("web", hash));
    }
    let counts = |items: &[Value], replicas| {
        let scale = json!({"spec": {"replicas": replicas}, "status": {"replicas": replicas}});
        with(items, "Scale", &scale)
    };
    let facts = ForeignPods {
        of: vec![OwnedPods {
            owner: Owner::NotCounted("ReplicaSet/web-old".to_owned()),
            pods: boxed(&["web-2"]),
        }],
        share: Some(Share {
            metric: 0,
            theirs: 5,
            all: 105,
        }),
        referred: None,
    };
    // 35 % of 3 pods ask for 3, and 50 % of 2 pods keep 2.
    let young = json!({"status": {"startTime": "2026-11-21T05:59:00Z"}});
    let code = Code::ForeignPods;
    check(vec![
        ("does, all of them", code, counts(&items, 3), None),
        (
            "does not",
            code,
            counts(&items, 2),
            Some((Severity::Warning, true, facts.into())),
        ),
        (
            "may not have counted yet",
            code,
            with_pod(&counts(&items, 2), "web-2", &young),
            None,
        ),
    ]);
}

#[test]
fn pods_of_several_revisions() {
    let mut items = state(&[cpu()], &["80m", "80m", "80m", "80m"]);
    for (name, hash) in [
        ("web-0", "old"),
        ("web-1", "old"),
        ("web-2", "old"),
        ("web-3", "new"),
    ] {
        items = with_pod(&items, name, &of_set("web", hash));
    }
    let replicas =
        |items: &[Value], replicas| with(items, "Scale", &json!({"spec": {"replicas": replicas}}));
    let set = |hash: &str, revision: &str| {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": format!("web-{hash}"), "namespace": "default",
                "labels": {"app": "web", "pod-template-hash": hash},
                "annotations": {"deployment.kubernetes.io/revision": revision},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
                    "controller": true}]},
            "spec": {"replicas": 1}, "status": {"replicas": 1}})
    };
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": 4}});
    let rollout = |old, new| {
        [
            &replicas(&items, 3)[..],
            &[deployment.clone(), set("old", old), set("new", new)],
        ]
        .concat()
    };
    let facts = |revisions: [(&str, usize, bool); 2], beyond: &str| {
        let revisions = revisions.map(|(hash, pods, is_current)| {
            let hash = hash.into();
            Revision {
                hash,
                pods,
                is_current,
            }
        });
        let beyond = boxed(&[beyond]);
        let facts = OldRevisionPods {
            revisions: revisions.into(),
            replicas: 3,
            beyond,
            keeps_stable: false,
        };
        Some((Severity::Warning, true, facts.into()))
    };
    let unready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T05:00:10Z"}]}});
    let same = with_pod(&items, "web-3", &of_set("web", "old"));
    let code = Code::OldRevisionPods;
    check(vec![
        ("are the replicas", code, items.clone(), None),
        ("are more", code, replicas(&items, 3), {
            facts([("old", 3, false), ("new", 1, false)], "web-3")
        }),
        ("are replaced", code, rollout("1", "2"), {
            facts([("new", 1, true), ("old", 3, false)], "web-0")
        }),
        ("are rolled back", code, rollout("3", "2"), {
            facts([("old", 3, true), ("new", 1, false)], "web-3")
        }),
        ("are of one revision", code, replicas(&same, 3), None),
        (
            "do not count",
            code,
            with_pod(&replicas(&items, 3), "web-3", &unready),
            None,
        ),
    ]);
    let finding = only(code, &replicas(&items, 3)).unwrap();
    // 1.6 over 4 pods is 7; over 3 it is 5.
    let without = Alternative {
        proposal: Some(5),
        replicas: Some(5),
    };
    assert_eq!(finding.without, Some(without));
    // A rollout that began a minute ago ends by itself.
    let began = json!({"metadata": {"creationTimestamp": "2026-11-21T05:59:00Z"}});
    let began = with_pod(&replicas(&items, 3), "web-3", &began);
    assert_eq!(
        only(code, &began).map(|it| it.severity),
        Some(Severity::Info)
    );
}

/// The average of a queue is over the 4 replicas in the target's status, while its spec has 3.
#[test]
fn a_surge_under_an_average() {
    let surge = |target: &Value, length: &str| {
        let mut items = state(&[build::external("queue", target)], &["50m"; 4]);
        items.push(build::queue(&[length]));
        for (name, hash) in [
            ("web-0", "old"),
            ("web-1", "old"),
            ("web-2", "old"),
            ("web-3", "new"),
        ] {
            items = with_pod(&items, name, &of_set("web", hash));
        }
        let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 4}});
        only(Code::OldRevisionPods, &with(&items, "Scale", &scale))
    };
    // 125 need 4 of 31.25 each, and 41.7 are within the tolerance of 3.
    let finding = surge(&build::average("40"), "125").unwrap();
    assert!(finding.explains);
    assert_eq!(finding.without.and_then(|it| it.proposal), Some(3));
    // 160 need 4 of 40 each, in a surge or not.
    assert_eq!(surge(&build::average("40"), "160"), None);
}
