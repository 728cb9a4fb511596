//! Many HPAs at once on a server that is slow or fails in part, for a reader who is slow, and with what only
//! some of them need: each HPA still gets the answer that it gets alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::json::array;
use super::api::{Auth, Clock, Cluster, Fault, Server, When};
use super::fleet::{compare, counted, explain, fleet, measured, start, told, workload};
use super::metrics::external_metric;
use super::rounds::lacked_usage;
use super::{
    Temporary, asked, directory, faulty, notes, own, own_by_keda, program, recorded, run,
    signalled, until, with_hpas,
};

/// Returns an empty cluster whose clock is the recorded one.
fn empty() -> Cluster {
    let mut cluster = Cluster::empty();
    cluster.clock(Clock::Recorded);
    cluster
}

/// Adds a pod that no HPA selects, with its usage.
fn stray(cluster: &mut Cluster) {
    cluster.pods(["shop", "stray"], &[("job", "stray")], 1);
    cluster.pod_metrics(["shop", "stray"], &[("job", "stray")], 1, ["10m", "1Mi"]);
}

/// Limits of time are for the server: a pager may take as long as its reader.
#[test]
fn a_slow_reader_changes_no_answer() {
    let mut cluster = empty();
    // More lines than a pipe holds, and then an answer that comes while they are not read.
    for number in 0..40 {
        cluster.autoscaled(["shop", &format!("web-{number:02}")], 2);
    }
    cluster
        .autoscaled(["test", "web"], 2)
        .autoscaled(["test", "cart"], 2);
    let usage = "/apis/metrics.k8s.io/v1beta1/namespaces/test/";
    cluster.fault(When::on(usage), Fault::DelayAnswer(Duration::from_secs(2)));
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut child = start(
        &["explain", "-A", "-o", "jsonl", "--request-timeout=5s"],
        &config,
    );
    let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
    let mut text = String::new();
    stdout.read_line(&mut text).expect("a line");
    sleep(Duration::from_secs(6));
    stdout.read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let items: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(items.len(), 42);
    for item in items {
        assert_eq!(item["outcome"]["error"], Value::Null, "{item:#}");
    }
}

/// What a reader no longer wants is not asked for, unless a file or the exit code depends on it.
#[test]
fn a_list_ends_when_its_lines_are_no_longer_read() {
    let mut cluster = empty();
    for number in 0..40 {
        for name in ["web", "cart"] {
            cluster.autoscaled([&format!("team-{number:02}"), name], 2);
        }
    }
    cluster.latency(Duration::from_millis(100));
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    for (more, all) in [(&[][..], false), (&["--fail-on", "paused-by-keda"], true)] {
        let seen = server.requests().len();
        let args = [&["explain", "-A", "-o", "jsonl"][..], more].concat();
        let mut child = start(&args, &config);
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        stdout.read_line(&mut String::new()).expect("a line");
        drop(stdout);
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .expect("messages")
            .read_to_string(&mut stderr)
            .expect("text");
        let code = child.wait().expect("it ends").code();
        let stderr: String = stderr
            .lines()
            .filter(|line| !line.starts_with("reading "))
            .collect();
        assert_eq!((code, &*stderr), (Some(0), ""), "{more:?}");
        let requests = &server.requests()[seen..];
        let last = requests
            .iter()
            .any(|it| it.path.contains("/namespaces/team-39/"));
        assert_eq!(last, all, "{more:?}");
    }
}

/// A signal before the HPAs are listed leaves nothing to count.
#[cfg(unix)]
#[test]
fn a_signal_before_there_is_a_list_is_told() {
    let hanging = (When::on("/apis/autoscaling/v2/"), Fault::Hang);
    let server = faulty(empty(), [hanging]);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let child = start(&["explain", "-A"], &config);
    until("a request", || !server.requests().is_empty());
    sleep(Duration::from_millis(300));
    let ran = signalled(child, "-INT");
    assert_eq!((ran.code, &*ran.stdout), (Some(130), ""));
    assert!(
        ran.stderr
            .ends_with("interrupted before the HPAs were listed\n"),
        "{}",
        ran.stderr
    );
}

/// Within a namespace, too, what has been explained is not lost.
#[cfg(unix)]
#[test]
fn a_signal_leaves_what_a_namespace_has_so_far() {
    let mut cluster = empty();
    for name in ["web", "cart", "zoo"] {
        cluster.autoscaled(["shop", name], 2);
    }
    measured(&mut cluster, "shop", "zoo", &external_metric());
    cluster.fault(When::on("/apis/external.metrics.k8s.io/"), Fault::Hang);
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut child = start(&["explain", "-n", "shop", "-o", "jsonl"], &config);
    let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
    let mut text = String::new();
    for _ in 0..2 {
        stdout.read_line(&mut text).expect("a line");
    }
    assert_eq!(text.lines().count(), 2);
    let ran = signalled(child, "-INT");
    stdout.read_to_string(&mut text).expect("text");
    assert_eq!((ran.code, text.lines().count()), (Some(130), 2));
    let told = "interrupted: 2 of 3 HPAs were explained\n";
    assert!(ran.stderr.ends_with(told), "{}", ran.stderr);
}

/// An HPA whose turn comes late has its status of then.
#[test]
fn hpas_are_as_old_as_what_is_read_for_them() {
    let mut cluster = empty();
    let first = ["a", "b", "c", "d"];
    for namespace in [&first[..], &["z"]].concat() {
        cluster
            .autoscaled([namespace, "web"], 2)
            .autoscaled([namespace, "gone"], 2);
    }
    for namespace in first {
        let pods = format!("/api/v1/namespaces/{namespace}/pods");
        cluster.fault(When::on(&pods), Fault::DelayAnswer(Duration::from_secs(7)));
    }
    cluster.fault(
        When::on("/api/v1/namespaces/a/pods").first(1),
        Fault::Before(|cluster| {
            let hpa = "HorizontalPodAutoscaler";
            cluster.edit("autoscaling/v2", hpa, ["z", "web"], |hpa| {
                hpa["spec"]["minReplicas"] = json!(5);
            });
            cluster.remove("autoscaling/v2", hpa, ["z", "gone"]);
        }),
    );
    let server = Server::start(cluster);
    let list = explain(&server, "admin", &["-A"]).answer();
    let items = array(&list["items"]);
    assert_eq!(items.len(), 9);
    let last = &items[8];
    assert_eq!(
        (&last["hpa"]["namespace"], &last["hpa"]["name"]),
        (&json!("z"), &json!("web"))
    );
    assert_eq!(last["outcome"]["scaleTo"], 5, "{last:#}");
    let told = "s after the HPA, and the controller may have acted in between";
    assert!(notes(&items[0]).contains(told), "{}", notes(&items[0]));
    assert!(!notes(last).contains(told), "{}", notes(last));
    let alone = explain(&server, "admin", &["web", "-n", "a"]).answer();
    assert!(notes(&alone).contains(told), "{}", notes(&alone));
}

/// The answer is there even if the file cannot be written.
#[test]
fn a_list_that_cannot_be_saved_is_printed() {
    let mut cluster = empty();
    cluster.autoscaled(["shop", "web"], 2);
    let server = Server::start(cluster);
    let path = directory().join("missing/state.json");
    let ran = explain(
        &server,
        "admin",
        &["-A", "--save", path.to_str().expect("a path")],
    );
    assert_eq!(ran.code, Some(1));
    assert!(
        told(&ran).starts_with("error: failed to write "),
        "{}",
        ran.stderr
    );
    let list = ran.json();
    assert_eq!(array(&list["items"]).len(), 1);
}

/// The controller asks for the pods of a selector, and is not concerned by any other.
#[test]
fn what_no_hpa_selects_fails_for_none() {
    for kind in [["v1", "Pod"], ["metrics.k8s.io/v1beta1", "PodMetrics"]] {
        let mut cluster = with_hpas(&["web", "cart", "pay"]);
        stray(&mut cluster);
        let [api_version, kind] = kind;
        cluster.edit(
            api_version,
            kind,
            ["shop", "stray-00000"],
            |it| match kind {
                "Pod" => it["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("1x"),
                _ => it["containers"][0]["usage"]["cpu"] = json!("1x"),
            },
        );
        let server = Server::start(cluster);
        let answer = explain(&server, "admin", &["-n", "shop"]).answer();
        for item in array(&answer["items"]) {
            assert_eq!(item["outcome"]["error"], Value::Null, "{kind}: {item:#}");
        }
        assert_eq!(compare(&server, "admin"), [4, 0], "{kind}");
    }
}

/// What fails whatever is asked for is asked once.
#[test]
fn a_metrics_api_that_is_down_is_asked_once() {
    let mut cluster = recorded();
    for number in 0..20 {
        cluster.autoscaled(["shop", &format!("web-{number:02}")], 3);
    }
    let usage = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods";
    cluster.fault(When::on(usage), Fault::Unavailable(None));
    let server = Server::start(cluster);
    explain(&server, "admin", &["-n", "shop"]);
    assert_eq!(asked(&server, usage), 1);
    assert_eq!(compare(&server, "admin"), [21, 0]);
}

/// A file gives each HPA the answer that the cluster gave it.
#[test]
fn each_is_explained_from_a_file_as_it_was_in_the_cluster() {
    let mut cluster = fleet();
    // The HPA whose target is lost knows of this one's only its name.
    for (kind, name) in [("Deployment", "web"), ("ReplicaSet", "web-new")] {
        cluster.edit("apps/v1", kind, ["shop", name], |it| {
            it["spec"]["template"] = json!({"spec": {"containers": [
                {"name": "nginx", "resources": {"requests": {"cpu": "10m"}}}]}});
        });
    }
    for pod in ["web-00000", "web-00002"] {
        cluster.edit("v1", "Pod", ["shop", pod], |it| {
            own(it, ["apps/v1", "ReplicaSet", "web-new"]);
        });
    }
    let server = Server::start(cluster);
    let file: &str = &Temporary::new();
    let live = explain(&server, "admin", &["-A", "--save", file]).answer();
    let saved = run(program().args(["explain", "-A", "-o", "json", "-f", file]));
    let saved = saved.without_file(file).answer();
    let [live, saved] = [live, saved].map(|it| array(&it["items"]).to_vec());
    assert_eq!((live.len(), saved.len()), (45, 45));
    let found = json!(live)
        .to_string()
        .contains("requests-differ-from-template");
    assert!(found, "nothing needs the template");
    // For a kind that does not exist, the file has the targets of others, one of which may be meant.
    let known = |(live, _): &(Value, Value)| live["hpa"]["name"] != "unknown";
    for (live, saved) in live.into_iter().zip(saved).filter(known) {
        for field in [
            "hpa",
            "outcome",
            "proposal",
            "certainty",
            "range",
            "findings",
            "steps",
        ] {
            let without_origin = |mut value: Value| {
                value.as_object_mut().map(|object| object.remove("origin"));
                value
            };
            let [live, saved] = [&live, &saved].map(|it| without_origin(it[field].clone()));
            assert_eq!(live, saved, "{field}");
        }
    }
}

/// Adds the ReplicaSets of a Deployment, and a pod of an earlier one.
fn revisions(cluster: &mut Cluster, name: &str) {
    for hash in ["new", "old"] {
        let labels = json!({"app": name, "pod-template-hash": hash});
        let selector = json!({"matchLabels": labels});
        let mut set = workload(
            "apps/v1",
            "ReplicaSet",
            ["shop", &format!("{name}-{hash}")],
            &selector,
        );
        set["metadata"]["labels"] = labels;
        let other = if hash == "old" { "canary" } else { name };
        own(&mut set, ["apps/v1", "Deployment", other]);
        cluster.put(set);
    }
    for (pod, hash) in [("00000", "new"), ("00001", "new"), ("00002", "old")] {
        cluster.edit("v1", "Pod", ["shop", &format!("{name}-{pod}")], |it| {
            own(it, ["apps/v1", "ReplicaSet", &format!("{name}-{hash}")]);
        });
    }
}

/// Returns how often each code was found.
fn codes(list: &Value) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for finding in array(&list["items"])
        .iter()
        .flat_map(|it| array(&it["findings"]))
    {
        *codes
            .entry(finding["code"].as_str().expect("a code").to_owned())
            .or_default() += 1;
    }
    codes
}

/// A list of ReplicaSets may be long, and is waited for while its pages arrive. Anything that is not waited for is
/// reported.
#[test]
fn replica_sets_that_come_late_are_not_forgotten() {
    let sets = "/apis/apps/v1/namespaces/shop/replicasets";
    let served = |more: usize, delay: Duration| {
        let mut cluster = with_hpas(&["web", "cart", "pay"]);
        for name in ["web", "cart", "pay"] {
            revisions(&mut cluster, name);
        }
        let labels = json!({"app": "web", "pod-template-hash": "former"});
        for number in 0..more {
            let name = format!("web-former-{number:04}");
            let selector = json!({"matchLabels": labels});
            let mut set = workload("apps/v1", "ReplicaSet", ["shop", &name], &selector);
            set["metadata"]["labels"] = labels.clone();
            cluster.put(set);
        }
        cluster.fault(When::on(sets), Fault::DelayAnswer(delay));
        Server::start(cluster)
    };
    let in_time = explain(&served(0, Duration::ZERO), "admin", &["-n", "shop"]).answer();
    assert_eq!(codes(&in_time).get("foreign-pods"), Some(&3), "{in_time:#}");
    // Three pages, which together take longer than anything else is waited for: whoever does not wait for them never
    // has them. On a busy machine, a single page may take too long as well.
    let left_out =
        "findings such as foreign-pods and old-revision-pods are left out: no answer in time";
    let server = served(1100, Duration::from_millis(400));
    let waits = (0..3).any(|_| {
        let long = explain(&server, "admin", &["-n", "shop"]).answer();
        let is_whole = codes(&long) == codes(&in_time);
        assert!(is_whole || long.to_string().contains(left_out), "{long:#}");
        is_whole
    });
    assert!(waits);

    let server = served(0, Duration::from_secs(4));
    let late = explain(&server, "admin", &["-n", "shop"]).answer();
    assert_eq!(codes(&late).get("foreign-pods"), None, "{late:#}");
    let alone = explain(&server, "admin", &["web", "-n", "shop"]).answer();
    for item in array(&late["items"]).iter().chain([&alone]) {
        assert!(notes(item).contains(left_out), "{}", notes(item));
    }
}

/// Who may list events in some namespaces only gets them, whatever else is slow.
#[test]
fn events_of_a_namespace_wait_for_nothing_else() {
    let late = Fault::DelayAnswer(Duration::from_secs(6));
    for slow in [
        "/apis/coordination.k8s.io/",
        "/version",
        "/apis/autoscaling.k8s.io/",
    ] {
        let mut cluster = empty();
        for namespace in ["shop", "test"] {
            cluster
                .autoscaled([namespace, "web"], 3)
                .autoscaled([namespace, "cart"], 3);
            cluster.allow("carol", "*", &format!("*@{namespace}"));
        }
        cluster.allow("carol", "*", "*@kube-system");
        cluster.allow("carol", "list", "horizontalpodautoscalers.autoscaling");
        cluster.fault(When::on(slow), late.clone());
        let server = Server::start(cluster);
        let list = explain(&server, "carol", &["-A"]).answer();
        for item in array(&list["items"]) {
            assert!(!notes(item).contains("events"), "{slow}: {}", notes(item));
        }
    }
}

/// A list that is refused late for all namespaces is requested for each namespace that is still to be answered.
/// Anything that is not requested is reported.
#[test]
fn what_is_refused_late_for_all_namespaces_is_asked_for_each() {
    let mut cluster = empty();
    let spaces: Vec<String> = (0..5).map(|number| format!("team-{number}")).collect();
    for namespace in &spaces {
        cluster
            .autoscaled([namespace, "web"], 3)
            .allow("carol", "*", &format!("*@{namespace}"));
    }
    cluster.allow("carol", "*", "*@kube-system");
    cluster.allow("carol", "list", "horizontalpodautoscalers.autoscaling");
    let vpas = "/apis/autoscaling.k8s.io/v1/";
    for all in [&format!("{vpas}verticalpodautoscalers"), "/api/v1/events"] {
        cluster.fault(
            When::on(all),
            Fault::DelayAnswer(Duration::from_millis(1800)),
        );
    }
    // The last one begins when another has waited in vain, and ends after the refusal.
    let pods = "/api/v1/namespaces/team-4/pods";
    cluster.fault(
        When::on(pods),
        Fault::DelayAnswer(Duration::from_millis(1800)),
    );
    let server = Server::start(cluster);
    let list = explain(&server, "carol", &["-A"]).answer();
    let told = |place: usize| notes(&list["items"][place]);
    let unknown = "unknown whether a VerticalPodAutoscaler sets requests: no answer in time";
    assert!(told(0).contains(unknown), "{}", told(0));
    assert!(!told(0).contains("findings such as"), "{}", told(0));
    assert!(
        !told(4).contains(unknown) && !told(4).contains("events"),
        "{}",
        told(4)
    );
    for own in [
        &format!("{vpas}namespaces/team-4/"),
        "/api/v1/namespaces/team-4/events",
    ] {
        assert!(
            server.requests().iter().any(|it| it.path.starts_with(own)),
            "{own}"
        );
    }
}

/// An HPA has the evidence that it would have alone, and not what another one led to.
#[test]
fn what_one_hpa_leads_to_is_no_evidence_for_another() {
    let mut cluster = recorded();
    for name in ["old", "fresh", "typed", "pods"] {
        cluster.autoscaled(["shop", name], 2);
    }
    let external = |name: &str| {
        let mut metric = external_metric();
        metric["external"]["metric"]["name"] = json!(name);
        metric
    };
    measured(&mut cluster, "shop", "old", &external("lag"));
    measured(&mut cluster, "shop", "fresh", &external("lag"));
    measured(&mut cluster, "shop", "typed", &external("Queue_Depth"));
    let object = json!({"type": "Pods", "pods": {"metric": {"name": "rate"},
        "target": {"type": "AverageValue", "averageValue": "5"}}});
    // This one needs discovery.
    measured(&mut cluster, "shop", "pods", &object);
    cluster.edit_hpa(["shop", "old"], |hpa| {
        lacked_usage(hpa);
        hpa["status"]["conditions"][0]["reason"] = json!("FailedGetExternalMetric");
    });
    cluster.put(
        json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
        "status": {"conditions": [{"type": "Available", "status": "False",
            "reason": "MissingEndpoints", "message": "no endpoints"}]}}),
    );
    assert_eq!(compare(&Server::start(cluster), "admin"), [5, 0]);
}

/// KEDA's HPAs have a ScaledObject, and what else explains them is asked for all the same.
#[test]
fn foreign_pods_are_found_whatever_else_fails() {
    let mut cluster = recorded();
    cluster.unscalable_kind("keda.sh/v1alpha1", "ScaledObject", "scaledobjects");
    for name in ["web", "cart"] {
        cluster.autoscaled(["shop", name], 3);
        revisions(&mut cluster, name);
        cluster.put(
            json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": name, "namespace": "shop"}}),
        );
        cluster.edit_hpa(["shop", name], |hpa| {
            own_by_keda(hpa, name);
            hpa["status"] = json!({"currentReplicas": 3, "desiredReplicas": 3,
                "currentMetrics": [{"type": ""}]});
        });
    }
    let server = Server::start(cluster);
    let alone = explain(&server, "admin", &["web", "-n", "shop"]).answer();
    assert!(
        alone["findings"].to_string().contains("foreign-pods"),
        "{alone:#}"
    );
    assert_eq!(compare(&server, "admin"), [3, 0]);
}

/// Many HPAs may have one target, and ask the same.
#[test]
fn hpas_that_share_a_target_share_their_requests() {
    let requests = |hpas: usize| {
        let mut cluster = empty();
        cluster.autoscaled(["shop", "web"], 3);
        for number in 0..hpas {
            let hpa = ["shop", &*format!("web-{number:02}")];
            cluster.hpa(hpa, ["apps/v1", "Deployment", "web"], &json!({}));
        }
        let server = Server::start(cluster);
        let answer = explain(&server, "admin", &["-A"]).answer();
        assert_eq!(array(&answer["items"]).len(), hpas + 1);
        (
            server.requests().len(),
            format!("{:?}", counted(&server.requests())),
        )
    };
    assert_eq!(requests(2), requests(30));
}
