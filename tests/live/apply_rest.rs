//! What `apply` refuses, the other parts of a reconcile that it performs, what it predicts, and how it
//! ends when it is interrupted.

use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::{Answer, Auth, Cluster, Fault, Server, When, lease};
use super::apply::{
    SCALE, WEB, apply, apply_as, body_of, by_gateway, cluster, hpa, recreate, refusal, set,
    unheard, writes,
};
use super::fleet::start;
use super::{
    Change, HPAS, POD_METRICS, PROGRAM, Ran, Temporary, ask, detached, ended, faulty, own_by_keda,
    program, run, schema, shows, signalled, until,
};

/// Adds a second metric to CPU, which allows up to twice the replicas.
fn with_a_queue(hpa: &mut Value) {
    let metrics = &mut hpa["spec"]["metrics"];
    metrics[0]["resource"]["target"]["averageUtilization"] = json!(40);
    metrics
        .as_array_mut()
        .expect("a list")
        .push(json!({"type": "External", "external": {
            "metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"},
        }}));
}

/// Returns the published object, validated by its schema.
#[track_caller]
fn answer(ran: &Ran) -> Value {
    let answer = ran.json();
    assert_eq!(schema::APPLY_RESULT.fault(&answer), None);
    answer
}

#[test]
fn the_schema_describes_what_is_printed_and_nothing_else() {
    let mut more = schema::EXPLANATION.fields();
    // The recorded state is of a past pass, which cannot be applied.
    more.remove("record");
    let own = [
        "target",
        "change",
        "ignoresStabilization",
        "concerns",
        "next",
        "result",
    ];
    more.extend(
        own.into_iter()
            .chain(["status", "event", "wait"])
            .map(str::to_owned),
    );
    assert_eq!(schema::APPLY_RESULT.fields(), more);

    let server = Server::start(cluster());
    let flags = [
        "--dry-run=server",
        "--event",
        "--write-status",
        "--force-write-status",
    ];
    let printed = |form: &str| apply(&server, &[&["-o", form], &flags[..]].concat());
    let right = answer(&printed("json"));
    let yaml: Value = serde_yaml::from_str(&printed("yaml").stdout).expect("YAML is printed");
    // The difference between the clocks of server and test changes by the second.
    for field in right
        .as_object()
        .expect("an object")
        .keys()
        .filter(|key| *key != "notes")
    {
        assert_eq!(yaml[field], right[field], "{field}");
    }
    schema::fits_elsewhere("apply-result", &right);
    assert_eq!(right["concerns"][0]["code"], "statusHeld");
    // A dry run writes nothing.
    for extra in ["status", "event"] {
        assert_eq!(right[extra], json!({"written": false, "error": null}));
    }
    let text = apply(&server, &flags).stdout;
    for extra in ["status", "event"] {
        let line = format!("{extra} accepted (server dry run)");
        let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&line), "{text}");
    }
    let gone = Value::Null;
    schema::APPLY_RESULT.rejects(
        &right,
        &[
            ("", "result", &gone),
            ("", "kind", &json!("Explanation")),
            ("", "outcome", &gone),
            ("", "findings", &gone),
            ("", "unknown", &json!(1)),
            ("/target", "uid", &gone),
            ("/change", "to", &json!("4")),
            ("/change", "by", &json!(2)),
            ("/concerns/0", "code", &json!("other")),
            ("/concerns/0", "forced", &gone),
            ("/next", "verdict", &json!("stays")),
            ("/next/replicas", "max", &gone),
            ("/result", "outcome", &json!("done")),
            ("/result", "exitCode", &json!("0")),
            ("/status", "error", &gone),
            ("/event", "written", &json!(1)),
        ],
    );
}

/// Rows 22, 24 and 31.
#[test]
fn what_is_never_written() {
    let cases: [(&str, Change, i32, &str, &str); 6] = [
        (
            "HPA under deletion",
            |cluster| {
                hpa(cluster, |hpa| {
                    hpa["metadata"]["deletionTimestamp"] = json!("2026-11-21T07:07:00Z");
                });
            },
            6,
            "hpaDeleted",
            "error: the HPA has been marked for deletion since 2026-11-21T07:07:00Z; nothing written\n",
        ),
        (
            "target under deletion",
            |cluster| {
                cluster.edit("apps/v1", "Deployment", WEB, |target| {
                    target["metadata"]["deletionTimestamp"] = json!("2026-11-21T07:07:00Z");
                });
            },
            6,
            "targetDeleted",
            "error: the target has been marked for deletion since 2026-11-21T07:07:00Z; nothing written\n",
        ),
        (
            "disabled",
            |cluster| set(cluster, 0, "kubectl"),
            6,
            "scalingDisabled",
            "error: scaling is disabled since the replica count of the target is zero; nothing",
        ),
        (
            "shared pods",
            |cluster| {
                cluster.hpa(
                    ["default", "twin"],
                    ["apps/v1", "Deployment", "web"],
                    &json!({}),
                );
            },
            6,
            "sharedPods",
            "error: the controller does not scale it (AmbiguousSelector): ",
        ),
        (
            "no metric",
            |cluster| {
                cluster.fault(When::on(POD_METRICS), Fault::InternalError);
            },
            6,
            "noMetric",
            "error: cpu failed, so the controller does not scale: Internal error occurred: etcdserver: leader changed; \
             nothing written\n",
        ),
        (
            "no target",
            |cluster| {
                cluster.remove("apps/v1", "Deployment", WEB);
            },
            1,
            "cannotScale",
            "error: the target cannot be scaled: deployments.apps \"web\" not found; nothing written\n",
        ),
    ];
    for (name, change, code, concern, told) in cases {
        let mut cluster = cluster();
        change(&mut cluster);
        let server = Server::start(cluster);
        let ran = apply(&server, &["--yes", "--force-uncertain", "-o", "json"]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{name}: {}", ran.stderr);
        let answer = answer(&ran);
        assert_eq!(answer["result"]["outcome"], "refused", "{name}");
        assert_eq!(answer["result"]["exitCode"], code, "{name}");
        assert_eq!(answer["concerns"][0]["code"], concern, "{name}");
        assert_eq!(answer["concerns"][0]["flag"], Value::Null, "{name}");
        assert!(writes(&server).is_empty(), "{name}");
    }
}

#[test]
fn what_is_not_certain_is_written_only_by_force_and_named() {
    let cases: [(&str, Change, &str); 6] = [
        (
            "unread",
            |cluster| {
                cluster.deny("bob", "list", "horizontalpodautoscalers.autoscaling");
            },
            "unknown whether another HPA selects the same pods: missing permission: list",
        ),
        (
            "target",
            |cluster| {
                cluster.deny("bob", "get", "deployments.apps");
            },
            "unknown whether the target is being deleted: missing permission: get deployments.apps",
        ),
        (
            "target",
            |cluster| {
                let target = When::on("/apis/apps/v1/namespaces/default/deployments/web");
                cluster.fault(target.except(SCALE), Fault::InternalError);
            },
            "unknown whether the target is being deleted: Error from server (InternalError): ",
        ),
        (
            "metrics",
            |cluster| {
                hpa(cluster, with_a_queue);
            },
            "failed: with it, the pass may end anywhere from 3 to 4",
        ),
        (
            "rights",
            |cluster| {
                hpa(cluster, with_a_queue);
                cluster.deny("bob", "*", "*.external.metrics.k8s.io");
            },
            "you are not allowed to read queue: the pass may end anywhere from 3 to 4",
        ),
        (
            "memory",
            |cluster| {
                hpa(cluster, with_an_open_history);
            },
            "the controller's history of the last 30m20s is unknown: the pass may end anywhere from ",
        ),
    ];
    for (code, change, told) in cases {
        let mut cluster = cluster();
        cluster.grant("bob");
        change(&mut cluster);
        let server = Server::start(cluster);
        let ran = apply_as(&server, "bob", &["--yes"]);
        assert_eq!(ran.code, Some(6), "{code}: {}", ran.shown());
        assert!(ran.stderr.contains(told), "{code}: {}", ran.stderr);
        let hint = ran
            .stderr
            .lines()
            .find(|line| line.contains("hint: "))
            .expect("a hint");
        assert!(
            hint.ends_with("use --force-uncertain to write anyway"),
            "{code}: {hint}"
        );
        let observes = "hint: use --observe 30m20s to watch the HPA first, --prometheus to read its history, or --history none if";
        assert_eq!(hint.contains(observes), code == "memory", "{hint}");
        assert!(writes(&server).is_empty(), "{code}");

        let forced = apply_as(&server, "bob", &["--yes", "--force-uncertain"]);
        assert_eq!(forced.code, Some(0), "{code}: {}", forced.stderr);
        let named = format!(
            "forced with --force-uncertain: {}",
            &told[..told.len().min(20)]
        );
        let named = if code == "metrics" {
            "forced with --force-uncertain: queue failed"
        } else {
            &named
        };
        assert!(forced.stdout.contains(named), "{code}: {}", forced.stdout);
        assert_eq!(writes(&server).len(), 1, "{code}");

        // If the plan is not printed, overridden concerns are still named.
        let mut cluster = super::apply::cluster();
        cluster.grant("bob");
        change(&mut cluster);
        let server = Server::start(cluster);
        let short = apply_as(
            &server,
            "bob",
            &["--yes", "--force-uncertain", "-o", "name"],
        );
        assert_eq!(
            short.stdout, "deployment.apps/web\n",
            "{code}: {}",
            short.stderr
        );
        assert!(short.stderr.contains(named), "{code}: {}", short.stderr);
    }
}

/// A policy that counts what was added in the last half hour, after a rescale in it.
fn with_an_open_history(hpa: &mut Value) {
    hpa["spec"]["behavior"] = json!({"scaleUp": {
        "stabilizationWindowSeconds": 0, "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 1800}]}});
    hpa["status"] = json!({
        "currentReplicas": 2, "desiredReplicas": 2, "currentMetrics": null,
        "lastScaleTime": "2026-11-21T07:00:00Z",
        "conditions": [{"type": "AbleToScale", "status": "True",
            "lastTransitionTime": "2026-11-21T06:30:00Z",
            "reason": "ReadyForNewScale", "message": ""}]});
}

/// Whoever takes over from a controller that has lost its lease begins without a history, unless a Deployment was scaled
/// since then.
#[test]
fn a_controller_that_is_down_is_replaced_without_force() {
    let scaled = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "scaled", "namespace": "default"},
        "involvedObject": {"kind": "Deployment", "name": "web", "namespace": "default"},
        "reason": "ScalingReplicaSet", "message": "Scaled down replica set web-1 from 4 to 2",
        "source": {"component": "deployment-controller"}, "lastTimestamp": "2026-11-21T07:06:00Z",
    });
    for (renewed, also, code) in [
        ("07:07:10", None, 6),
        ("07:04:00", None, 0),
        ("07:04:00", Some(&scaled), 6),
    ] {
        let mut cluster = cluster();
        hpa(&mut cluster, with_an_open_history);
        cluster.keep_only_hpa(WEB).put(lease("one", renewed));
        if let Some(event) = also {
            cluster.put(event.clone());
        }
        let server = Server::start(cluster);
        let ran = apply(&server, &["--yes"]);
        assert_eq!(ran.code, Some(code), "{renewed}: {}", ran.shown());
        assert_eq!(writes(&server).len(), usize::from(code == 0), "{renewed}");
        assert_eq!(
            ran.stdout.contains("SCALE UP 2 → 5: CONTROLLER SILENT"),
            code == 0,
            "{}",
            ran.stdout
        );
        let down = "No controller manager holds the lease (last renewed 3m13s ago): until one does, the replicas";
        assert_eq!(ran.stdout.contains(down), code == 0, "{}", ran.stdout);
    }
}

/// From 2^30 replicas on the controller computes a negative count, which the API server refuses.
#[test]
fn a_negative_count_is_no_success() {
    let mut cluster = cluster();
    set(&mut cluster, 1 << 30, "kubectl");
    hpa(&mut cluster, |hpa| {
        hpa["spec"]["maxReplicas"] = json!(i32::MAX);
    });
    let server = Server::start(cluster);
    let refusal = "Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: -2147483648: must be greater \
                   than or equal to 0";
    let ran = apply(&server, &["--yes", "--history=none", "--force-uncertain"]);
    ended(&ran, 1);
    let told = format!("error: the target cannot be scaled: {refusal}; nothing written\n");
    shows(&ran.stderr, &told);
    assert!(writes(&server).is_empty());

    let file: &str = &Temporary::new();
    let explain = ["explain", "web", "-n", "default", "--history=none"];
    let live = ask(
        &server,
        "admin",
        &[&explain[..], &["--save", file]].concat(),
    );
    let saved = run(program().args(explain).args(["-f", file]));
    for ran in [live, saved] {
        let is_told = ran.stdout.contains("CANNOT SCALE 1073741824 ");
        assert!(is_told, "{}", ran.shown());
    }
}

/// Adds another HPA, with the condition of its last pass, on a target of this kind.
fn neighbour(cluster: &mut Cluster, kind: [&str; 2], reason: Option<&str>) {
    let [api_version, kind] = kind;
    cluster.hpa(
        ["default", "other"],
        [api_version, kind, "other"],
        &json!({}),
    );
    if let Some(reason) = reason {
        checked(cluster, ["default", "other"], reason);
    }
}

/// Gives an HPA the status of a pass that found this.
fn checked(cluster: &mut Cluster, name: [&str; 2], reason: &str) {
    cluster.edit_hpa(name, |hpa| {
        hpa["metadata"]["creationTimestamp"] = json!("2026-11-21T06:00:00Z");
        hpa["metadata"]["managedFields"] =
            json!([{"subresource": "status", "time": "2026-11-21T07:07:00Z"}]);
        let condition = |type_: &str, reason: &str| {
            json!({"type": type_, "status": "True", "reason": reason,
                "lastTransitionTime": "2026-11-21T06:00:15Z"})
        };
        hpa["status"] = json!({
        "currentReplicas": 2, "desiredReplicas": 2,
        "conditions": [
            condition("AbleToScale", "ReadyForNewScale"),
            condition("ScalingActive", reason),
        ]});
    });
}

/// An HPA that is broken, or may not be read, is no reason not to write unless its selector could matter.
#[test]
fn a_neighbour_blocks_only_if_its_pods_may_be_the_same() {
    const DEPLOYMENT: [&str; 2] = ["apps/v1", "Deployment"];
    const ROLLOUT: [&str; 2] = ["argoproj.io/v1alpha1", "Rollout"];
    const FINE: &str = "ValidMetricFound";
    let denied = "error: unknown whether the HPA default/other selects the same pods: its target Rollout/other \
                  cannot be read: missing permission: get rollouts.argoproj.io/scale in the namespace default; \
                  check it with `kubectl auth can-i get rollouts.argoproj.io --subresource=scale -n default`; \
                  add to a Role: - {apiGroups: [\"argoproj.io\"], resources: [\"rollouts/scale\"], verbs: \
                  [\"get\"]}; nothing written\n";
    let remembered = "error: unknown whether the HPA default/other selects the same pods: its target \
                      Deployment/other does not exist, but the controller may remember its selector until that HPA is deleted; nothing \
                      written\n";
    let cases: [(&str, Change, Option<&str>); 5] = [
        (
            "a target that never was",
            |cluster| neighbour(cluster, DEPLOYMENT, None),
            None,
        ),
        (
            "a target that is gone, of an HPA that was compared",
            |cluster| {
                neighbour(cluster, DEPLOYMENT, Some(FINE));
                checked(cluster, WEB, FINE);
            },
            None,
        ),
        (
            "a target that is gone, of an HPA that was not compared",
            |cluster| neighbour(cluster, DEPLOYMENT, Some(FINE)),
            Some(remembered),
        ),
        (
            "a kind that may not be read",
            |cluster| neighbour(cluster, ROLLOUT, None),
            Some(denied),
        ),
        (
            "a kind that may not be read, of an HPA that was compared",
            |cluster| {
                neighbour(cluster, ROLLOUT, Some(FINE));
                checked(cluster, WEB, FINE);
            },
            None,
        ),
    ];
    for (name, change, told) in cases {
        let mut cluster = cluster();
        cluster.custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts");
        cluster.grant("bob");
        cluster.deny("bob", "get", "rollouts.argoproj.io/scale");
        cluster.deny("bob", "get", "rollouts.argoproj.io");
        change(&mut cluster);
        let server = Server::start(cluster);
        let ran = apply_as(&server, "bob", &["--yes", "--history=none"]);
        assert_eq!(
            ran.code,
            Some(if told.is_some() { 6 } else { 0 }),
            "{name}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains(told.unwrap_or_default()),
            "{name}: {}",
            ran.stderr
        );
        assert_eq!(
            ran.stderr.contains("default/other"),
            told.is_some(),
            "{name}: {}",
            ran.stderr
        );
        assert_eq!(writes(&server).len(), usize::from(told.is_none()), "{name}");
    }
}

/// What we may not read says nothing about the controller, which may.
#[test]
fn the_only_metric_denied_to_us_is_a_right_that_is_missing() {
    let mut cluster = cluster();
    cluster.grant("bob");
    cluster.deny("bob", "list", "pods.metrics.k8s.io");
    let server = Server::start(cluster);
    let ran = apply_as(
        &server,
        "bob",
        &["--yes", "--force-uncertain", "-o", "name"],
    );
    let right = "hint: missing permission: list pods.metrics.k8s.io in the namespace default; ";
    let rule = "add to a Role: - {apiGroups: [\"metrics.k8s.io\"], resources: [\"pods\"], verbs: ";
    let told = "error: you are not allowed to read cpu, so what the controller would write is unknown; \
                nothing written\n";
    ran.fails(6, &[told, right, rule]);
    assert!(writes(&server).is_empty());
}

#[test]
fn nothing_due_is_said_and_nothing_is_written() {
    let mut cluster = cluster();
    hpa(&mut cluster, |hpa| hpa["spec"]["maxReplicas"] = json!(2));
    let server = Server::start(cluster);
    let ran = apply(
        &server,
        &["--yes", "--write-status", "--force-write-status", "--event"],
    );
    ended(&ran, 0);
    let told = "nothing due stays at 2, so nothing is written. Without a change, --write-status and \
                --event do nothing.";
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(words.join(" ").ends_with(told), "{}", ran.stdout);
    assert!(writes(&server).is_empty());
    let waits = answer(&apply(&server, &["--yes", "--wait", "-o", "json"]));
    let message = waits["result"]["message"].as_str().expect("text");
    assert!(
        message.ends_with(" Without a change, --wait does nothing."),
        "{message}"
    );
    let ran = apply(&server, &["--yes", "-o", "name"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(0)));
    shows(&ran.stderr, "stays at 2, so nothing is written.");
}

/// Returns the text about the controller's next sync.
#[test]
fn what_comes_next_is_the_controllers_own_pass() {
    let calm: Change = |cluster| {
        cluster.put(lease("one", "07:07:12"));
    };
    let down: Change = |cluster| {
        cluster.put(lease("one", "07:07:12"));
        hpa(cluster, |hpa| {
            hpa["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] = json!(100);
            hpa["spec"]["minReplicas"] = json!(1);
        });
    };
    let fits: Change = |cluster| {
        cluster.put(lease("one", "07:07:12"));
        hpa(cluster, |hpa| {
            hpa["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] = json!(30);
        });
    };
    let no_one: Change = |cluster| {
        cluster.keep_only_hpa(WEB).put(lease("one", "07:01:00"));
    };
    for (change, flags, verdict, replicas, told) in [
        (
            calm,
            vec![],
            "goesOn",
            [5, 5],
            "The controller's next pass (within 15s) continues to 5: cpu proposes 5 replicas.",
        ),
        (
            fits,
            vec![],
            "keeps",
            [4, 4],
            "The controller's next pass (within 15s) keeps 4: ",
        ),
        (
            down,
            vec!["--ignore-stabilization", "--recommendation=2@1m"],
            "undoes",
            [2, 2],
            "The controller's next pass (within 15s) reverts this to 2: ",
        ),
        (
            down,
            vec!["--ignore-stabilization", "--recommendation=2@4m50s"],
            "open",
            [1, 2],
            "The controller's next pass (within 15s) may end anywhere from 1 to 2: it depends on when it runs.",
        ),
        (
            no_one,
            vec![],
            "goesOn",
            [5, 5],
            "No controller manager holds the lease (last renewed 6m13s ago): until one does, the \
             replicas stay as they are, and Deployment/web creates and removes no pods. The first pass after that continues to 5",
        ),
    ] {
        let mut cluster = cluster();
        change(&mut cluster);
        let server = Server::start(cluster);
        let ran = apply(
            &server,
            &[&["--dry-run=client", "-o", "json"], &flags[..]].concat(),
        );
        ended(&ran, 0);
        let answer = answer(&ran);
        let next = &answer["next"];
        assert_eq!(next["verdict"], verdict, "{next:#}");
        assert_eq!(
            next["replicas"],
            json!({"min": replicas[0], "max": replicas[1]}),
            "{next:#}"
        );
        let message = next["message"].as_str().expect("text");
        shows(message, told);
        shows(message, "Its history ");
    }
}

#[test]
fn stabilization_is_ignored_in_the_open() {
    let down = |flags: &[&str]| {
        let mut cluster = cluster();
        hpa(&mut cluster, |hpa| {
            hpa["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] = json!(100);
            hpa["spec"]["minReplicas"] = json!(1);
        });
        let server = Server::start(cluster);
        let flags = [&["--yes"], flags].concat();
        (apply(&server, &flags), writes(&server).len())
    };
    let held_by = "--recommendation=2@1m";
    let (held, sent) = down(&[held_by]);
    assert_eq!((held.code, sent), (Some(0), 0), "{}", held.stdout);
    shows(&held.stdout, "nothing due  stays at 2");
    let (ran, sent) = down(&[held_by, "--ignore-stabilization"]);
    assert_eq!((ran.code, sent), (Some(0), 1), "{}", ran.stderr);
    let told =
        "ignoring stabilization: past recommendations do not count (--ignore-stabilization)\n";
    assert!(ran.stdout.starts_with(told), "{}", ran.stdout);
    shows(&ran.stdout, "SCALE DOWN 2 ");
    // Neither that recommendation nor the current replicas are assumed to be one.
    let (ran, _) = down(&["--ignore-stabilization", "--force-uncertain"]);
    shows(&ran.stdout, "SCALE DOWN 2 ");
    assert!(!ran.stdout.contains("Assuming"), "{}", ran.stdout);
    for flag in [held_by, "--history=none"] {
        let answer = down(&[flag, "--ignore-stabilization", "-o=json"]).0.json();
        assert_eq!(
            answer["memory"]["before"]["recommendations"],
            json!([]),
            "{flag}"
        );
    }
}

#[test]
fn the_status_is_written_where_nobody_else_does() {
    let with = |renewed: Option<&str>, flags: &[&str]| {
        let mut cluster = cluster();
        hpa(&mut cluster, |hpa| {
            hpa["metadata"]["labels"] = json!({"team": "a"});
        });
        if let Some(renewed) = renewed {
            cluster.keep_only_hpa(WEB).put(lease("one", renewed));
        }
        let server = Server::start(cluster);
        let ran = apply(
            &server,
            &[&["--yes", "--write-status", "-o", "json"], flags].concat(),
        );
        (server, ran)
    };
    for (renewed, told) in [
        (
            Some("07:07:12"),
            "a controller manager holds the lease (renewed at \
                            2026-11-21T07:07:12Z)",
        ),
        (None, "unknown whether a controller manager runs"),
    ] {
        let (server, ran) = with(renewed, &[]);
        ended(&ran, 6);
        shows(&ran.stderr, told);
        shows(&ran.stderr, "hint: use --force-write-status to write");
        assert!(writes(&server).is_empty());
    }
    for (renewed, flags) in [
        ("07:01:00", &[][..]),
        ("07:07:12", &["--force-write-status"]),
    ] {
        let (server, ran) = with(Some(renewed), flags);
        ended(&ran, 0);
        let answer = answer(&ran);
        assert_eq!(answer["status"], json!({"written": true, "error": null}));
        let writes = writes(&server);
        assert_eq!(writes.len(), 2);
        let status = &writes[1];
        assert_eq!(
            (&*status.method, &*status.path),
            ("PUT", &*format!("{HPAS}/web/status"))
        );
        let body = body_of(status);
        assert_eq!(body["status"], answer["outcome"]["status"]);
        assert_eq!(body["status"]["desiredReplicas"], 4);
        assert_eq!(
            body["metadata"]["labels"],
            json!({"team": "a"}),
            "nothing else is taken away"
        );
        assert!(body["metadata"]["resourceVersion"].is_string());
    }
}

/// Someone writes the HPA in between: the scale is written, the status only over the same spec and status.
#[test]
fn a_status_is_sent_again_if_only_metadata_has_changed() {
    let spec: Change = |cluster| hpa(cluster, |hpa| hpa["spec"]["maxReplicas"] = json!(9));
    let status: Change = |cluster| hpa(cluster, |hpa| hpa["status"]["currentReplicas"] = json!(3));
    let deleted: Change = |cluster| {
        hpa(cluster, |hpa| {
            hpa["metadata"]["deletionTimestamp"] = json!("2026-11-21T07:07:13Z");
        });
    };
    let labels: Change = |cluster| {
        hpa(cluster, |hpa| {
            hpa["metadata"]["labels"] = json!({"team": "a"});
        });
    };
    for (change, first, code, sent) in [
        (spec, true, 1, 2),
        (status, true, 1, 2),
        (deleted, true, 1, 2),
        (labels, true, 0, 3),
        // Once more is enough.
        (labels_again, false, 1, 3),
    ] {
        let mut cluster = cluster();
        cluster.keep_only_hpa(WEB).put(lease("one", "07:01:00"));
        let status = || When::on(&format!("{HPAS}/web/status")).method("PUT");
        let when = if first { status().first(1) } else { status() };
        cluster.fault(when, Fault::Before(change));
        let server = Server::start(cluster);
        let ran = apply(&server, &["--yes", "--write-status"]);
        let all = writes(&server);
        assert_eq!((ran.code, all.len()), (Some(code), sent), "{}", ran.stderr);
        assert!(
            ran.stdout
                .contains("as the controller would write it (--write-status)\n")
        );
        let told = "the status of the HPA was not written: Error from server (Conflict): ";
        assert_eq!(ran.stderr.contains(told), code == 1, "{}", ran.stderr);
        shows(&ran.stdout, "\ndeployment.apps/web scaled\n");
        let last = body_of(&all[sent - 1]);
        let is_labelled = last["metadata"]["labels"]["team"] == "a";
        assert_eq!(is_labelled, sent == 3, "{last:#}");
    }
}

/// Changes the labels of the HPA each time.
fn labels_again(cluster: &mut Cluster) {
    hpa(cluster, |hpa| {
        let team = match hpa["metadata"]["labels"]["team"].as_str() {
            None => "a",
            Some(_) => "b",
        };
        hpa["metadata"]["labels"] = json!({ "team": team });
    });
}

/// No other event has its name, which those who may send it may not be allowed to read.
#[test]
fn an_event_that_exists_already_was_written() {
    let events = "/api/v1/namespaces/default/events";
    for (reason, may_read, written, code) in [
        ("AlreadyExists", false, json!(true), 0),
        ("AlreadyExists", true, json!(true), 0),
        ("Conflict", true, json!(true), 0),
        // Such as a conflict about a quota that others use, too.
        ("Conflict", false, Value::Null, 7),
    ] {
        let mut cluster = cluster();
        cluster.fault(
            When::on(events).method("POST"),
            refusal(409, reason, "not now"),
        );
        if !may_read {
            let one = When::on(&format!("{events}/")).method("GET");
            cluster.fault(one, refusal(403, "Forbidden", "you cannot get events"));
        }
        let ran = apply(&Server::start(cluster), &["--yes", "--event", "-o", "json"]);
        let answer = answer(&ran);
        assert_eq!(
            answer["event"]["written"], written,
            "{reason} {may_read}: {answer:#}"
        );
        assert_eq!(ran.code, Some(code), "{reason} {may_read}: {}", ran.stderr);
    }
}

/// Of two runs that are in each other's way, neither says that it wrote what the other may have written.
#[test]
fn a_run_that_another_one_preceded_writes_no_second_event() {
    let mut cluster = cluster();
    let scale = When::on(SCALE).method("PUT");
    cluster.fault(
        scale,
        Fault::Before(|cluster| set(cluster, 4, "kubectl-hpa")),
    );
    let server = Server::start(cluster);
    let flags = [
        "--yes",
        "--event",
        "--write-status",
        "--force-write-status",
        "-o",
        "json",
    ];
    let ran = apply(&server, &flags);
    let answer = answer(&ran);
    schema::fits_elsewhere("apply-result", &answer);
    let result = &answer["result"];
    assert_eq!(
        (&result["outcome"], &result["replicas"]),
        (&json!("already"), &json!(4))
    );
    let message = result["message"].as_str().unwrap_or_default();
    let told = "already 4 replicas: written by this run, or by another one of kubectl-hpa at the \
                same time; Error from server (Conflict): ";
    assert!(message.starts_with(told), "{message}");
    let error = "another run may have written the replicas";
    for extra in ["status", "event"] {
        assert_eq!(answer[extra], json!({"written": false, "error": error}));
    }
    assert_eq!(
        (ran.code, writes(&server).len()),
        (Some(1), 1),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_event_is_in_the_controllers_words_and_our_name() {
    let server = Server::start(cluster());
    let ran = apply(&server, &["--yes", "--event"]);
    ended(&ran, 0);
    let planned = "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of \
                   request) above target (--event)\n";
    shows(&ran.stdout, planned);
    assert!(!ran.stdout.contains("(--write-status)"), "{}", ran.stdout);
    let writes = writes(&server);
    assert_eq!(
        (writes.len(), &*writes[1].path),
        (2, "/api/v1/namespaces/default/events")
    );
    let event = body_of(&writes[1]);
    for (field, want) in [
        ("type", json!("Normal")),
        ("reason", json!("SuccessfulRescale")),
        (
            "message",
            json!(
                "New size: 4; reason: cpu resource utilization (percentage of request) above target"
            ),
        ),
        ("source", json!({"component": "kubectl-hpa"})),
        ("reportingComponent", json!("kubectl-hpa")),
        ("firstTimestamp", json!("2026-11-21T07:07:13Z")),
        ("count", json!(1)),
    ] {
        assert_eq!(event[field], want, "{field}");
    }
    assert_eq!(event["involvedObject"]["kind"], "HorizontalPodAutoscaler");
    assert_eq!(event["involvedObject"]["name"], "web");
}

/// Row 48.
#[test]
fn a_wait_follows_the_replicas() {
    let ready: Change = |cluster| {
        cluster.edit("apps/v1", "Deployment", WEB, |target| {
            target["status"] = json!({"replicas": 4, "readyReplicas": 4});
        });
    };
    let another: Change = |cluster| set(cluster, 2, "kube-controller-manager");
    let gone: Change = |cluster| {
        cluster.remove("apps/v1", "Deployment", WEB);
    };
    // A pod of the old revision hangs.
    let surging: Change = |cluster| {
        cluster.edit("apps/v1", "Deployment", WEB, |target| {
            target["status"] = json!({"replicas": 5, "readyReplicas": 4});
        });
    };
    // It has as many replicas, all of them ready.
    let recreated: Change = |cluster| {
        recreate(cluster);
        set(cluster, 4, "kubectl");
        cluster.edit("apps/v1", "Deployment", WEB, |target| {
            target["status"] = json!({"replicas": 4, "readyReplicas": 4});
        });
    };
    for (change, wait, code, end, told) in [
        (
            Some(ready),
            "--wait",
            0,
            "ready",
            "all 4 replicas are ready",
        ),
        (
            Some(another),
            "--wait=30s",
            0,
            "changed",
            "kube-controller-manager has since set the replicas to 2",
        ),
        (
            Some(gone),
            "--wait=30s",
            1,
            "gone",
            "the target no longer exists",
        ),
        (
            Some(recreated),
            "--wait=30s",
            1,
            "gone",
            "the target no longer exists",
        ),
        (
            None,
            "--wait=300ms",
            1,
            "timedOut",
            "the replicas were not seen ready in time (last seen: 0 of 2 ready, 4 wanted); the scale was written",
        ),
        (
            Some(surging),
            "--wait=1ms",
            1,
            "timedOut",
            "(last seen: 4 of 5 ready, 4 wanted)",
        ),
    ] {
        let run = |more: &[&str]| {
            let mut cluster = cluster();
            if let Some(change) = change {
                // The plan reads the target as well, and the first look of the wait finds it unchanged.
                let target = SCALE.strip_suffix("/scale").expect("a subresource");
                // Requests to the scale come in between: plan, again, and the write.
                cluster.fault(When::on(target).method("GET").nth(5), Fault::Before(change));
            }
            let server = Server::start(cluster);
            apply(&server, &[&["--yes", wait], more].concat())
        };
        let ran = run(&[]);
        assert_eq!(ran.code, Some(code), "{end}: {}", ran.shown());
        assert!(ran.stdout.contains(told), "{end}: {}", ran.stdout);
        assert!(
            ran.stdout.contains("\ndeployment.apps/web scaled\n"),
            "{end}"
        );
        let answer = answer(&run(&["-o", "json"]));
        assert_eq!(answer["wait"]["end"], end);
        let message = answer["wait"]["message"].as_str().expect("text");
        assert!(message.contains(told), "{end}: {message}");
        assert_eq!(answer["result"]["outcome"], "written", "{end}");
    }
}

/// Row 49.
#[test]
fn a_signal_before_the_write_or_during_it() {
    let pods = "/api/v1/namespaces/default/pods";
    let put = || When::on(SCALE).method("PUT");
    for (name, faults, seen, signal, code, sent, told) in [
        (
            "before",
            vec![(When::on(pods), Fault::Hang)],
            pods,
            "-INT",
            130,
            0,
            "error: interrupted, nothing written\n",
        ),
        (
            "terminated before",
            vec![(When::on(pods), Fault::Hang)],
            pods,
            "-TERM",
            143,
            0,
            "error: interrupted, nothing written\n",
        ),
        (
            "during, written",
            vec![(put(), Fault::Hang)],
            "PUT",
            "-INT",
            0,
            1,
            "managedFields show",
        ),
        (
            "hung up",
            vec![(put(), Fault::Hang)],
            "PUT",
            "-HUP",
            0,
            1,
            "managedFields show",
        ),
        (
            "hung up before",
            vec![(When::on(pods), Fault::Hang)],
            pods,
            "-HUP",
            129,
            0,
            "interrupted",
        ),
        (
            "between two tries",
            unheard(put(), Fault::TooManyRequests(Some(5))),
            "PUT",
            "-INT",
            130,
            1,
            "error: interrupted; nothing written\n",
        ),
        (
            "before the status",
            vec![(put(), Fault::Hang)],
            "PUT",
            "-INT",
            130,
            1,
            "error: the status of the HPA was not written: interrupted\n",
        ),
        (
            "during, not arrived",
            unheard(put(), Fault::Hang),
            "PUT",
            "-INT",
            7,
            1,
            "interrupted while waiting for the answer: unknown whether it was written: the \
             scale is unchanged",
        ),
    ] {
        let server = faulty(cluster(), faults);
        let config = server.kubeconfig(&Auth::Token("admin"));
        let more: &[&str] = match name {
            "before the status" => &["--write-status", "--force-write-status", "--event"],
            _ => &[],
        };
        let apply = ["apply", "web", "-n", "default", "--yes"];
        let child = start(&[&apply, more].concat(), &config);
        let begun = Instant::now();
        let has = |request: &super::api::Recorded| request.path == seen || request.method == seen;
        until(name, || server.requests().iter().any(has));
        let ran = signalled(child, signal);
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{name}: it went on"
        );
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.shown());
        let text = ran.shown();
        assert!(text.contains(told), "{name}: {text}");
        assert_eq!(writes(&server).len(), sent, "{name}");
    }
}

/// The connection of the write takes a second, and the signal comes before it is made.
#[test]
fn nothing_is_sent_over_a_connection_that_is_made_after_the_signal() {
    let server = Arc::new(Server::start(cluster()));
    let config = server.kubeconfig(&Auth::Token("admin"));
    let relay = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = relay.local_addr().expect("an address");
    config.edit(|config| {
        config["clusters"][0]["cluster"]["server"] = json!(format!("https://{address}"));
    });
    let held = Arc::new(AtomicBool::new(false));
    let (api, is_held) = (Arc::clone(&server), Arc::clone(&held));
    std::thread::spawn(move || {
        for client in relay.incoming().flatten() {
            // Reads keep the connections that they have.
            let delays = api.requests().iter().any(|request| request.path == SCALE);
            let (api, is_held) = (Arc::clone(&api), Arc::clone(&is_held));
            std::thread::spawn(move || {
                if delays {
                    is_held.store(true, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_secs(1));
                }
                let server = TcpStream::connect(api.address()).expect("the server");
                let both = client
                    .try_clone()
                    .and_then(|own| Ok((own, server.try_clone()?)));
                let (mut from, mut to) = both.expect("copies");
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                let (mut from, mut to) = (server, client);
                let _ = std::io::copy(&mut from, &mut to);
            });
        }
    });
    let child = start(&["apply", "web", "-n", "default", "--yes"], &config);
    until("a connection for the write", || held.load(Ordering::SeqCst));
    let ran = signalled(child, "-INT");
    ended(&ran, 130);
    shows(&ran.stderr, "nothing written");
    std::thread::sleep(Duration::from_secs(2));
    assert!(writes(&server).is_empty());
}

/// A lost answer to the status or the event is settled like that to the scale.
#[test]
fn a_lost_answer_to_the_rest_is_settled_too() {
    let status = &format!("{HPAS}/web/status");
    let events = "/api/v1/namespaces/default/events";
    let flags = |path: &str| {
        if path == events {
            vec!["--event"]
        } else {
            vec!["--write-status", "--force-write-status"]
        }
    };
    for path in [status, events] {
        let all = || When::on(path);
        let write = || {
            if path == events {
                all().method("POST")
            } else {
                all().method("PUT")
            }
        };
        let first = || write().first(1);
        let denied: Change = |cluster| {
            cluster.deny("bob", "get", "events");
        };
        for (name, faults, change, code, sent, written) in [
            (
                "cut after",
                vec![(write(), Fault::CutBeforeHead)],
                None,
                0,
                1,
                json!(true),
            ),
            (
                "500 after",
                vec![(write(), Fault::InternalError)],
                None,
                0,
                1,
                json!(true),
            ),
            (
                "cut before",
                unheard(first(), Fault::CutBeforeHead),
                None,
                0,
                2,
                json!(true),
            ),
            (
                "cut after, unreadable",
                vec![(first(), Fault::CutBeforeHead)],
                Some(denied),
                0,
                if path == events { 2 } else { 1 },
                json!(true),
            ),
            (
                "cut, and both arrive later",
                vec![
                    (write(), Fault::Late(Duration::from_secs(1))),
                    (write(), Fault::CutBeforeHead),
                ],
                None,
                0,
                2,
                json!(true),
            ),
            (
                "never heard",
                unheard(write(), Fault::Unavailable(None)),
                None,
                7,
                2,
                Value::Null,
            ),
        ] {
            let mut cluster = cluster();
            cluster.grant("bob");
            for (when, fault) in faults {
                cluster.fault(when, fault);
            }
            if let Some(change) = change {
                change(&mut cluster);
            }
            let server = Server::start(cluster);
            let more = [&["--yes", "-o", "json"], &flags(path)[..]].concat();
            let ran = apply_as(&server, "bob", &more);
            assert_eq!(ran.code, Some(code), "{name} {path}: {}", ran.stderr);
            let answer = answer(&ran);
            let extra = &answer[if path == events { "event" } else { "status" }];
            assert_eq!(extra["written"], written, "{name} {path}");
            assert_eq!(answer["result"]["outcome"], "written", "{name} {path}");
            let open = if path == events {
                "it does not exist or cannot be read, and may still arrive"
            } else {
                "the HPA is unchanged, and the write may still take effect"
            };
            let open = format!("unknown whether it was written: {open}");
            let is_known = !ran.stderr.contains(&open);
            assert_eq!(
                is_known,
                !written.is_null(),
                "{name} {path}: {}",
                ran.stderr
            );
            assert_eq!(writes(&server).len(), 1 + sent, "{name} {path}");
        }
    }
    // Whoever may read events sends none again while they cannot be read.
    let unserved = Answer::text(404, "404 page not found");
    for fault in [Fault::InternalError, Fault::Answer(unserved)] {
        let read = When::on(events).method("GET");
        let sent = When::on(events).method("POST");
        let server = faulty(cluster(), [(sent, Fault::CutBeforeHead), (read, fault)]);
        let ran = apply(&server, &["--yes", "--event"]);
        ended(&ran, 7);
        let told = "unknown whether it was written: reading also failed: Error from server";
        shows(&ran.stderr, told);
        assert_eq!(writes(&server).len(), 2);
    }
}

/// Transient failures do not end a wait, and nothing makes it longer.
#[test]
fn a_wait_rides_out_faults_until_its_own_end() {
    let target = || When::on(SCALE.strip_suffix("/scale").expect("a subresource")).method("GET");
    let ready: Change = |cluster| {
        cluster.edit("apps/v1", "Deployment", WEB, |target| {
            target["status"] = json!({"replicas": 4, "readyReplicas": 4});
        });
    };
    let unserved = "404 page not found";
    // Requests to the scale also count: plan and re-read, each with the target, and the write.
    for (name, faults, wait, code, told) in [
        (
            "fails",
            vec![
                (target().nth(6), Fault::InternalError),
                (target().nth(7), Fault::Before(ready)),
            ],
            "--wait=30s",
            0,
            "all 4 replicas are ready",
        ),
        (
            "a 404 in text",
            vec![
                (target().nth(6), Fault::Answer(Answer::text(404, unserved))),
                (target().nth(7), by_gateway(404, unserved)),
                (target().nth(8), Fault::Before(ready)),
            ],
            "--wait=30s",
            0,
            "all 4 replicas are ready",
        ),
        (
            "fails for long",
            vec![(target().from(6), Fault::InternalError)],
            "--wait=300ms",
            1,
            "error: the replicas were not seen ready in time (last seen: 0 of 2 ready, 4 wanted); the scale was \
             written; the last check failed: Error from server (InternalError): ",
        ),
        // A request that is sent again by itself would be cut before it fails.
        (
            "is throttled",
            vec![(target().from(5), Fault::TooManyRequests(Some(1)))],
            "--wait=1s",
            1,
            "error: the replicas were not seen ready in time; the scale was written; the last check failed: Error \
             from server (TooManyRequests): ",
        ),
        (
            "is not available",
            vec![(target().from(5), Fault::Unavailable(None))],
            "--wait=300ms",
            1,
            "; the last check failed: Error from server (ServiceUnavailable): ",
        ),
        (
            "hangs",
            vec![(target().from(6), Fault::Hang)],
            "--wait=300ms",
            1,
            "; the last check failed: no answer before the end\n",
        ),
        (
            "fails, and then hangs",
            vec![
                (target().nth(5), Fault::InternalError),
                (target().from(6), Fault::Hang),
            ],
            "--wait=300ms",
            1,
            "; the last check failed: Error from server (InternalError): ",
        ),
        (
            "answers after the end",
            vec![
                (target().nth(5), Fault::Before(ready)),
                (
                    target().from(5),
                    Fault::DelayAnswer(Duration::from_millis(100)),
                ),
            ],
            "--wait=1ms",
            0,
            "all 4 replicas are ready",
        ),
        (
            "is denied",
            vec![(target().from(6), refusal(403, "Forbidden", "not you"))],
            "--wait=3s",
            1,
            "error: failed to wait: Error from server (Forbidden): not you",
        ),
    ] {
        let server = faulty(cluster(), faults);
        // Without a limit on the requests, only the wait has one.
        let ran = apply(&server, &["--yes", wait, "--request-timeout=0"]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.shown());
        let text = ran.shown();
        assert!(text.contains(told), "{name}: {text}");
        assert!(
            ran.stdout.contains("\ndeployment.apps/web scaled\n"),
            "{name}"
        );
    }
}

/// The time between two looks grows: after 0, 0.25, 0.75 and 1.5 s, the end.
#[test]
fn a_wait_looks_more_and_more_rarely() {
    let server = Server::start(cluster());
    let ran = apply(&server, &["--yes", "--wait=1500ms"]);
    ended(&ran, 1);
    let target = SCALE.strip_suffix("/scale").expect("a subresource");
    let requests = server.requests();
    let written = requests
        .iter()
        .position(|request| request.method == "PUT")
        .expect("a write");
    let looks = requests[written..]
        .iter()
        .filter(|request| request.path == target)
        .count();
    assert!((2..=4).contains(&looks), "{looks}");
}

/// If no one can read the answer, standard error and the exit code still report what was written.
#[cfg(target_os = "linux")]
#[test]
fn what_was_written_is_told_where_standard_output_is_full() {
    for (form, flag, code) in [
        ("name", "--event", 0),
        ("json", "--event", 0),
        ("name", "--dry-run=server", 1),
    ] {
        let server = Server::start(cluster());
        let config = server.kubeconfig(&Auth::Token("admin"));
        let mut command = detached(PROGRAM);
        command.args(["apply", "web", "-n", "default", "--yes", "-o", form, flag]);
        command.env("KUBECONFIG", config.path());
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("a device");
        let ran = command
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(code), "{told}");
        shows(&told, "error: failed to write the answer: No space left");
        let written =
            told.contains("deployment.apps/web was written and has 4 replicas, event written\n");
        assert_eq!(written, code == 0, "{told}");
    }
}

/// What is typed at the prompt, on a terminal of its own.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_it_asks() {
    use std::io::{Read, Write};

    let smaller: Change = |cluster| hpa(cluster, |hpa| hpa["spec"]["maxReplicas"] = json!(3));
    let blind: Change = |cluster| {
        cluster.deny("admin", "get", "deployments.apps");
    };
    let another: Change = |cluster| hpa(cluster, |hpa| hpa["metadata"]["uid"] = json!("another"));
    let recreated: Change = |cluster| {
        cluster.edit("apps/v1", "Deployment", WEB, |it| {
            it["metadata"]["uid"] = json!("another");
        });
    };
    let busy: Change = |cluster| hpa(cluster, |hpa| hpa["status"]["desiredReplicas"] = json!(7));
    for (typed, meanwhile, code, sent, told) in [
        // The controller keeps running while someone reads, and the same change is due.
        ("y\n", Some(busy), 0, 1, "deployment.apps/web scaled\r\n"),
        (
            "y\n",
            Some(smaller),
            6,
            0,
            "error: you confirmed 2 to 4, but the change is now 2 to 3; nothing written\r\n",
        ),
        (
            "y\n",
            Some(blind),
            6,
            0,
            "error: more would be forced now than was shown: unknown whether the target is being \
             deleted",
        ),
        (
            "y\n",
            Some(another),
            6,
            0,
            "error: the HPA default/web was deleted and recreated after your confirmation; nothing",
        ),
        (
            "y\n",
            Some(recreated),
            6,
            0,
            "error: the target was deleted and recreated after your confirmation; nothing written",
        ),
        ("n\n", None, 1, 0, "error: declined; nothing written\r\n"),
        (
            "\u{4}",
            None,
            1,
            0,
            "\r\nerror: declined; nothing written\r\n",
        ),
        (
            "\u{3}",
            None,
            130,
            0,
            "error: interrupted, nothing written\r\n",
        ),
    ] {
        let mut cluster = cluster();
        if let Some(change) = meanwhile {
            cluster.fault(
                When::on(&format!("{HPAS}/web")).nth(2),
                Fault::Before(change),
            );
        }
        let slow = Fault::DelayAnswer(Duration::from_millis(300));
        cluster.fault(When::on(&format!("{HPAS}/web")).nth(1), slow);
        let server = Server::start(cluster);
        let config = server.kubeconfig(&Auth::Token("admin"));
        let line = format!(
            "{PROGRAM} apply web --force-uncertain --kubeconfig {}",
            config.path().display()
        );
        let mut command = detached("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // Messages are wrapped for a terminal.
        command.env("COLUMNS", "200");
        let mut child = command.spawn().expect("script of util-linux");
        let (mut input, mut output) = (
            child.stdin.take().expect("a pipe"),
            child.stdout.take().expect("a pipe"),
        );
        // What is typed before the prompt is not an answer to it.
        input.write_all(b"y\n").expect("it listens");
        let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
        let question = "\nScale deployment.apps/web from 2 to 4? [y/N] ";
        let mut has_typed = false;
        while let Ok(read @ 1..) = output.read(&mut bytes) {
            shown.extend_from_slice(&bytes[..read]);
            if !has_typed && String::from_utf8_lossy(&shown).contains(question) {
                has_typed = true;
                input.write_all(typed.as_bytes()).expect("it listens");
            }
        }
        let shown = String::from_utf8_lossy(&shown);
        assert_eq!(
            child.wait().expect("it ends").code(),
            Some(code),
            "{typed:?}: {shown}"
        );
        assert!(shown.contains(told), "{typed:?}: {shown}");
        assert_eq!(
            shown.matches("NEXT PASS OF").count(),
            1,
            "{typed:?}: {shown}"
        );
        assert_eq!(writes(&server).len(), sent, "{typed:?}");
    }
}

/// A finding that someone should act on stands before what is written; an ordinary rule at work does not.
#[test]
fn what_speaks_against_a_write_is_shown_before_it() {
    let shown = |change: Change| {
        let mut cluster = cluster();
        change(&mut cluster);
        let ran = apply(&Server::start(cluster), &["--yes", "--force-uncertain"]);
        ran.text()
    };
    let limited: Change = |cluster| hpa(cluster, |hpa| hpa["spec"]["maxReplicas"] = json!(3));
    // KEDA is about to delete the HPA.
    let paused: Change = |cluster| {
        let (version, kind) = ("keda.sh/v1alpha1", "ScaledObject");
        cluster.unscalable_kind(version, kind, "scaledobjects");
        cluster.put(json!({"apiVersion": version, "kind": kind,
            "metadata": {"name": "web", "namespace": "default", "annotations": {"autoscaling.keda.sh/paused": ""}}}));
        hpa(cluster, |hpa| own_by_keda(hpa, "web"));
    };
    for (change, finding) in [
        (limited, "\n  at-max: the metrics propose "),
        (
            paused,
            "\n  paused-by-keda: ScaledObject/web is paused by autoscaling.keda.sh/paused",
        ),
    ] {
        let text = shown(change);
        let (found, write) = (text.find(finding), text.find("\nWRITE\n"));
        assert!(found.is_some() && found < write, "{text}");
    }
    let plain = shown(|_| ());
    assert!(
        plain.contains("\nWRITE\n") && !plain.contains("\nFINDINGS\n"),
        "{plain}"
    );
}

/// A custom kind has its scale where discovery says.
#[test]
fn a_kind_of_ones_own_is_scaled_too() {
    let mut cluster = cluster();
    cluster.custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts");
    cluster.put(json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "default", "uid": "of-the-rollout"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": 2},
    }));
    hpa(&mut cluster, |hpa| {
        hpa["spec"]["scaleTargetRef"] =
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"});
    });
    // It need not count its replicas in spec.replicas: the scale has them.
    let target = "/apis/argoproj.io/v1alpha1/namespaces/default/rollouts/web";
    let sized = json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "default", "uid": "of-the-rollout"},
        "spec": {"size": 4},
        "status": {"replicas": 4, "readyReplicas": 4},
    });
    // Scale and target are read twice before the write, and the target once more.
    let first_look = When::on(target).method("GET").nth(6);
    cluster.fault(
        first_look,
        Fault::Answer(Answer::json(200, sized.to_string())),
    );
    let server = Server::start(cluster);
    let ran = apply(&server, &["--yes", "--wait"]);
    ended(&ran, 0);
    shows(&ran.stdout, "\nrollout.argoproj.io/web scaled\n");
    shows(&ran.stdout, "all 4 replicas are ready\n");
    let [write] = &writes(&server)[..] else {
        panic!("not one write")
    };
    assert_eq!(
        (&*write.method, &*write.path),
        ("PUT", &*format!("{target}/scale"))
    );
}

/// That of a DeploymentConfig has another version, in which the selector has another form.
#[test]
fn a_scale_is_written_in_the_version_that_was_read() {
    let mut cluster = cluster();
    let [api_version, kind] = ["apps.openshift.io/v1", "DeploymentConfig"];
    cluster.custom_kind(api_version, kind, "deploymentconfigs");
    cluster.put(json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "70"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": 2},
    }));
    hpa(&mut cluster, |hpa| {
        hpa["spec"]["scaleTargetRef"] =
            json!({"apiVersion": api_version, "kind": kind, "name": "web"});
    });
    let path = "/apis/apps.openshift.io/v1/namespaces/default/deploymentconfigs/web/scale";
    let old = json!({
        "kind": "Scale",
        "apiVersion": "extensions/v1beta1",
        "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "70"},
        "spec": {"replicas": 2},
        "status": {"replicas": 2, "selector": {"app": "web"}, "targetSelector": "app=web"},
    });
    let answer = Fault::Answer(Answer::json(200, old.to_string()));
    cluster.fault(When::on(path).method("GET"), answer);
    let server = Server::start(cluster);
    let ran = apply(&server, &["--yes"]);
    ended(&ran, 0);
    let [write] = &writes(&server)[..] else {
        panic!("not one write")
    };
    assert_eq!(&*write.path, path);
    let sent = body_of(write);
    assert_eq!(sent["apiVersion"], "extensions/v1beta1");
}

/// Its status may say nothing about how many replicas are ready, or keep their number elsewhere.
#[test]
fn a_wait_for_a_kind_that_does_not_say_what_is_ready_times_out() {
    for (status, replicas, told) in [
        (
            json!({"replicas": 4, "observedGeneration": 2}),
            Value::Null,
            "(last seen: 4 exist, no readyReplicas in the status)",
        ),
        (
            json!({"replicas": 3}),
            Value::Null,
            "(last seen: 3 exist, no readyReplicas in the status, 4 wanted)",
        ),
        // The scale counts none.
        (
            json!({"readyReplicas": 4}),
            json!(4),
            "(last seen: 4 of 0 ready, 4 wanted)",
        ),
    ] {
        let mut cluster = cluster();
        cluster.custom_kind("shop.example.com/v1", "Queue", "queues");
        cluster.put(json!({
            "apiVersion": "shop.example.com/v1",
            "kind": "Queue",
            "metadata": {"name": "web", "namespace": "default", "generation": 1},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}},
            "status": status,
        }));
        hpa(&mut cluster, |hpa| {
            hpa["spec"]["scaleTargetRef"] =
                json!({"apiVersion": "shop.example.com/v1", "kind": "Queue", "name": "web"});
        });
        let server = Server::start(cluster);
        let ran = apply(&server, &["--yes", "--wait=1ms", "-o", "json"]);
        ended(&ran, 1);
        shows(&ran.stderr, told);
        let answer = answer(&ran);
        assert_eq!(
            (&answer["wait"]["end"], &answer["wait"]["replicas"]),
            (&json!("timedOut"), &replicas)
        );
    }
}
