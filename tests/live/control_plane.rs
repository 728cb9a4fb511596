//! The controller manager's settings, from its own pods: which pods count, what is said if they cannot
//! be read, and that nothing else about these pods is shown or kept.

use std::fs;

use serde_json::{Value, json};

use super::api::json::each;
use super::api::{Cluster, Fault, Server, When, lease};
use super::{Temporary, ask, explain, explain_as, explain_file, explained, notes, recorded, shows};

const PODS: &str = "/api/v1/namespaces/kube-system/pods";
const TOLERANCE: &str = "--horizontal-pod-autoscaler-tolerance=200";
/// When the lease was renewed last.
const RENEWED: &str = "07:07:12";
const SYNC: &str = "--horizontal-pod-autoscaler-sync-period=30s";

/// Returns a pod as kubeadm runs it on a node, with a secret in each of its parts.
fn manager(node: &str, version: &str, args: &[&str]) -> Value {
    let command = ["kube-controller-manager", "--cloud-config=secret-password"];
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("kube-controller-manager-{node}"),
            "namespace": "kube-system",
            "labels": {"component": "kube-controller-manager", "tier": "control-plane"},
            "annotations": {"note": "secret-password"},
        },
        "spec": {
            "nodeName": node,
            "volumes": [{"name": "secret-password", "emptyDir": {}}],
            "containers": [{
                "name": "kube-controller-manager",
                "image": format!("registry.k8s.io/kube-controller-manager:{version}"),
                "command": command.iter().chain(args).collect::<Vec<_>>(),
                "env": [{"name": "PASSWORD", "value": "secret-password"}],
            }],
        },
        "status": {"phase": "Running", "message": "secret-password"},
    })
}

fn with(objects: &[Value]) -> Cluster {
    let mut cluster = recorded();
    for object in objects {
        cluster.put(object.clone());
    }
    cluster
}

/// Returns the lines of the basis about the controller's settings.
fn basis(answer: &Value) -> Vec<String> {
    let items = ["controller flags", "feature gates", "controller manager"];
    let lines = each(&answer["basis"]);
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    let lines = lines.map(|line| ["item", "value", "source"].map(|field| text(line, field)));
    let own = lines.filter(|[item, value, _]| {
        items.contains(&&**item)
            && !value.starts_with("leader since")
            && !value.contains("no lease")
    });
    own.map(|[item, value, source]| format!("{item}: {value} ({source})"))
        .collect()
}

const DEFAULTS: &str = "controller flags: tolerance 0.1, downscale-stabilization 5m, \
    cpu-initialization-period 5m, initial-readiness-delay 30s, sync-period 15s (the defaults)";
const GATES: &str = "feature gates: HPAScaleToZero=false, HPAConfigurableTolerance=true, \
    PodLevelResources=true (the defaults)";

#[test]
fn the_settings_are_those_of_the_pod() {
    let gates = "--feature-gates=Other=true,HPAScaleToZero=true";
    let server = Server::start(with(&[manager(
        "node1",
        "v1.36.2",
        &[TOLERANCE, SYNC, gates],
    )]));
    let answer = explained(&server);
    let pod = "pod kube-system/kube-controller-manager-node1";
    let unset = format!("the defaults; {pod} sets none of these");
    assert_eq!(
        basis(&answer),
        [
            format!("controller flags: tolerance 200, sync-period 30s ({pod})"),
            format!(
                "controller flags: downscale-stabilization 5m, cpu-initialization-period 5m, \
                 initial-readiness-delay 30s ({unset})"
            ),
            format!("feature gates: HPAScaleToZero=true ({pod})"),
            format!(
                "feature gates: HPAConfigurableTolerance=true, PodLevelResources=true ({unset})"
            ),
        ]
    );
    let defaults = explained(&Server::start(recorded()));
    let typed = explain(
        &Server::start(recorded()),
        &["-o", "json", "--tolerance", "200"],
    )
    .answer();
    assert_ne!(answer["outcome"], defaults["outcome"]);
    assert_eq!(answer["outcome"], typed["outcome"]);

    // A list has the same for each item.
    let list = ask(&server, "admin", &["explain", "-A", "-o", "json"]).answer();
    assert_eq!(basis(&list["items"][0]), basis(&answer));
    assert_eq!(list["items"][0]["outcome"], answer["outcome"]);

    // The command line takes precedence.
    let args = [
        "-o",
        "json",
        "--tolerance",
        "0.1",
        "--feature-gates",
        "HPAScaleToZero=false",
    ];
    let answer = explain(&server, &args).answer();
    assert_eq!(answer["outcome"], defaults["outcome"]);
    let lines = basis(&answer);
    assert_eq!(
        lines[0],
        format!("controller flags: sync-period 30s ({pod})")
    );
    assert!(
        !lines.iter().any(|line| line.contains("HPAScaleToZero")),
        "{lines:?}"
    );
}

#[test]
fn of_several_pods_the_leader_counts() {
    let [a, b] = [
        manager("a", "v1.36.2", &[]),
        manager("b", "v1.36.2", &[SYNC]),
    ];
    for (objects, want) in [
        (vec![a.clone(), b.clone(), lease("a_3b2e", RENEWED)], "none"),
        (
            vec![a.clone(), b.clone(), lease("b_3b2e", RENEWED)],
            "sync-period 30s",
        ),
        (
            vec![a.clone(), b.clone(), lease("other_3b2e", RENEWED)],
            "unknown",
        ),
        (vec![a.clone(), b], "unknown"),
        (vec![manager("b", "v1.36.2", &[]), a], "none"),
    ] {
        let answer = explain(&Server::start(with(&objects)), &["-o", "json"]).answer();
        let lines = basis(&answer);
        match want {
            "none" => {
                let pod = "(the defaults; pod kube-system/kube-controller-manager-a sets none of";
                assert!(lines.iter().all(|line| line.contains(pod)), "{lines:?}");
            }
            "unknown" => {
                let differ = "controller manager: flags unknown (kube-controller-manager-a, \
                              kube-controller-manager-b differ, and the leader is \
                              unknown)";
                assert_eq!(lines, [DEFAULTS, GATES, differ]);
            }
            set => {
                let pod = "pod kube-system/kube-controller-manager-b";
                assert_eq!(lines[0], format!("controller flags: {set} ({pod})"));
            }
        }
    }
}

#[test]
fn without_pods_the_defaults_are_assumed() {
    let answer = explained(&Server::start(recorded()));
    let none = "controller manager: flags unknown (no pod in kube-system with \
                component=kube-controller-manager shows them)";
    assert_eq!(basis(&answer), [DEFAULTS, GATES, none]);

    let mut cluster = with(&[manager("a", "v1.36.2", &[SYNC])]);
    cluster.fault(When::on(PODS), Fault::Hang);
    let answer = explained(&Server::start(cluster));
    let late = "controller manager: flags unknown (no answer in time)";
    assert_eq!(basis(&answer), [DEFAULTS, GATES, late]);
}

/// Row 20.
#[test]
fn what_may_not_be_read_is_a_line() {
    let mut cluster = with(&[manager("a", "v1.36.2", &[SYNC]), lease("a_3b2e", RENEWED)]);
    cluster.grant("bob").deny("bob", "list", "pods@kube-system");
    cluster.deny("bob", "get", "leases.coordination.k8s.io");
    let server = Server::start(cluster);
    let right = "missing permission: list pods in the namespace kube-system";
    let both = format!(
        "flags and start unknown ({right}; missing permission: get leases.coordination.k8s.io in \
         the namespace kube-system)"
    );
    let answer = explain_as(&server, "bob", &["-o", "json"]).answer();
    assert_eq!(
        basis(&answer),
        [DEFAULTS, GATES, &*format!("controller manager: {both}")]
    );
    assert!(
        !notes(&answer).contains("kube-system"),
        "{}",
        notes(&answer)
    );

    // Otherwise the defaults are not mentioned.
    for (args, says) in [(&["-o", "wide"][..], true), (&[], false)] {
        let page = explain_as(&server, "bob", args);
        assert_eq!(page.stdout.contains(&both), says, "{}", page.stdout);
        assert_eq!((page.code, &*page.stderr), (Some(0), ""));
    }
    let verbose = explain_as(&server, "bob", &["-v", "1"]);
    let remedy = "; check it with `kubectl auth can-i list pods -n kube-system`; add to \
                  a Role: - {apiGroups: [\"\"], resources: [\"pods\"], verbs: [\"list\"]}";
    shows(&verbose.stderr, &format!("{right}{remedy}"));
}

#[test]
fn the_rules_are_those_of_the_controller_manager() {
    let older = manager("a", "v1.32.1", &[]);
    let server = Server::start(with(std::slice::from_ref(&older)));
    let answer = explained(&server);
    assert_eq!(answer["rules"], "v1.32.13");
    let note = "the controller manager is v1.32.1 (pod kube-system/kube-controller-manager-a) and \
                the server v1.36.2: the rules are the controller manager's";
    assert!(notes(&answer).contains(note), "{}", notes(&answer));
    let typed = explain(&server, &["-o", "json", "--kubernetes-version", "v1.36"]).answer();
    assert_eq!(typed["rules"], "v1.36.2");
    assert!(
        !notes(&typed).contains("the controller manager is"),
        "{}",
        notes(&typed)
    );
}

#[test]
fn a_controller_that_is_switched_off_is_the_first_note() {
    let off = "--controllers=*,-horizontal-pod-autoscaler-controller";
    let unusable = "--horizontal-pod-autoscaler-tolerance=10%";
    let server = Server::start(with(&[manager("a", "v1.36.2", &[off, unusable])]));
    let answer = explained(&server);
    let pod = "pod kube-system/kube-controller-manager-a";
    let said = notes(&answer);
    let first =
        format!("nothing is scaled: the HPA controller is disabled by --controllers of {pod}");
    assert_eq!(said.lines().next(), Some(&*first));
    let passed = format!(
        "--horizontal-pod-autoscaler-tolerance of {pod} is ignored: \"10%\" is not a fraction \
         such as 0.1"
    );
    shows(&said, &passed);
    // An unusable value is unknown.
    assert_eq!(
        basis(&answer)[1],
        "controller flags: tolerance 0.1 (the defaults)"
    );
}

/// The rest of the pod is full of secrets, which [`Ran`](super::Ran) looks for.
#[test]
fn nothing_else_of_the_pod_shows_or_is_kept() {
    let gates = "--feature-gates=HPAScaleToZero=true";
    let server = Server::start(with(&[
        manager("a", "v1.36.2", &[TOLERANCE, gates]),
        lease("a_3b2e", RENEWED),
    ]));
    let file: &str = &Temporary::new();
    for format in [&[][..], &["-o", "wide"], &["-o", "yaml"], &["-v", "9"]] {
        assert_eq!(explain(&server, format).code, Some(0));
    }
    let live = explain(&server, &["-o", "json", "--save", file]).answer();
    let saved = fs::read_to_string(file).expect("a saved file");
    assert!(
        !saved.contains("secret-") && !saved.contains("\"command\""),
        "{saved}"
    );
    let again = explain_file(file).answer();
    assert_eq!(live["outcome"], again["outcome"]);
    // Everything is stated now.
    assert_eq!(basis(&again), [""; 0]);
    let state: Value = serde_json::from_str(&saved).expect("JSON");
    let state = &state["items"][0];
    let flags = json!({
        "tolerance": 200.0,
        "downscaleStabilization": "5m0s",
        "cpuInitializationPeriod": "5m0s",
        "initialReadinessDelay": "30s",
        "syncPeriod": "15s",
    });
    let gates = json!({
        "HPAScaleToZero": true, "HPAConfigurableTolerance": true, "PodLevelResources": true,
    });
    assert_eq!((&state["flags"], &state["featureGates"]), (&flags, &gates));
}
