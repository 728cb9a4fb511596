//! That an answer is right: what the controller wrote if it was recorded, else what follows from
//! its rules; and that what is saved gives the same answer again and contains nothing else.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::json::{array, each, each_mut};
use super::api::{Auth, Cluster, Fault, Server, When, exchange, lease};
use super::metrics::{external_metric, namespace_metric, pods_metric, with_metrics};
use super::predict::predict;
use super::{
    Change, NAME, Ran, Temporary, condition, explain, explain_as, explain_file, explained, notes,
    recorded, shows,
};

fn object_metric(api_version: &str, kind: &str, name: &str, metric: &str, target: &Value) -> Value {
    json!({"type": "Object", "object": {
        "describedObject": {"apiVersion": api_version, "kind": kind, "name": name},
        "metric": {"name": metric},
        "target": target,
    }})
}

fn ingress_metric() -> Value {
    let target = json!({"type": "Value", "value": "100"});
    let name = exchange("custom object metric").response.body["items"][0]["metric"]["name"].clone();
    let name = name.as_str().expect("a name");
    object_metric(
        "networking.k8s.io/v1",
        "Ingress",
        "main-route",
        name,
        &target,
    )
}

fn custom_object_metric(cluster: &mut Cluster) -> Value {
    cluster
        .custom_kind("shop.example.com/v1", "Queue", "queues")
        .custom_value(
            ["queues.shop.example.com", "Queue", "shop.example.com/v1"],
            ["default", "orders"],
            ["depth", "80"],
        );
    let target = json!({"type": "AverageValue", "averageValue": "16"});
    object_metric("shop.example.com/v1", "Queue", "orders", "depth", &target)
}

/// The recorded value of a metric, in thousandths.
pub(super) fn recorded_value(name: &str, item: usize) -> i64 {
    let value = exchange(name).response.body["items"][item]["value"].clone();
    let value = value.as_str().expect("a quantity");
    match value.strip_suffix('m') {
        Some(milli) => milli.parse().expect("a number"),
        None => value.parse::<i64>().expect("a number") * 1000,
    }
}

#[test]
fn the_recorded_pass_comes_to_what_the_controller_wrote() {
    let server = Server::start(recorded());
    let answer = explained(&server);
    let status = &answer["outcome"]["status"];
    let written = &exchange("hpa").response.body["status"];
    for field in ["currentMetrics", "desiredReplicas", "lastScaleTime"] {
        assert_eq!(status[field], written[field], "{field}");
    }
    // The target had been scaled since.
    let scale = exchange("scale").response.body;
    assert_eq!(status["currentReplicas"], scale["spec"]["replicas"]);
    for kind in ["ScalingActive", "ScalingLimited"] {
        let mut conditions = each(&written["conditions"]);
        let found = conditions.find(|it| it["type"] == kind).expect("it");
        let fields = ["status", "reason", "message"].map(|field| &found[field]);
        assert_eq!(condition(&answer, kind).each_ref(), fields, "{kind}");
    }
}

/// Returns the rows of the comparison that differ, with their reasons.
fn differing(comparison: &Value) -> Vec<(&str, Vec<&str>)> {
    let rows = array(&comparison["rows"])
        .iter()
        .filter(|row| row["differs"] == true);
    rows.map(|row| {
        let because = array(&row["because"]).iter().filter_map(Value::as_str);
        (row["name"].as_str().expect("a name"), because.collect())
    })
    .collect()
}

#[test]
fn the_recorded_status_is_compared_with_the_pass() {
    let server = Server::start(recorded());
    let file: &str = &Temporary::new();
    let live = explain(&server, &["-o", "json", "--save", file]).answer();
    let comparison = &live["comparison"];
    assert_eq!(
        comparison["written"],
        json!({"time": "2026-11-21T07:06:59Z", "age": 14})
    );
    assert_eq!(comparison["lastScaleTime"], comparison["written"]);
    // It was written by the pass that scaled to 10.
    let because = || vec!["just-scaled"];
    assert_eq!(
        differing(comparison),
        [("currentReplicas", because()), ("AbleToScale", because())],
        "{comparison:#}"
    );
    let saved = explain_file(file).answer();
    assert_eq!(saved["comparison"], *comparison);
}

#[test]
fn what_keeps_the_status_from_being_written_is_told() {
    let mut cluster = recorded();
    cluster.edit_hpa(["default", NAME], |hpa| {
        hpa["status"]["currentReplicas"] = json!(10);
        hpa["status"]["conditions"][0]["reason"] = json!("ReadyForNewScale");
    });
    let server = Server::start(cluster);
    let same = explained(&server);
    assert_eq!(
        differing(&same["comparison"]),
        [],
        "{:#}",
        same["comparison"]
    );
    assert_eq!(same["comparison"]["reasons"], json!([]));

    server.change(|cluster| {
        cluster.edit("apps/v1", "Deployment", ["default", NAME], |deployment| {
            deployment["spec"]["replicas"] = json!(9);
        });
    });
    let rescaled = explained(&server);
    let because = || vec!["rescaled-since"];
    let comparison = &rescaled["comparison"];
    assert_eq!(comparison["rows"][0]["last"], 10);
    assert_eq!(comparison["rows"][0]["now"], 9);
    assert_eq!(
        differing(comparison)[0],
        ("currentReplicas", because()),
        "{comparison:#}"
    );
}

/// Returns the steps of metrics in a trace.
fn proposals(answer: &Value) -> Vec<Value> {
    let steps = each(&answer["trace"]).filter(|step| step["rule"] == "computeMetric");
    steps
        .map(|step| step["proposal"]["replicas"].clone())
        .collect()
}

fn ratio_up(value: i64, target: i64) -> Value {
    json!((value + target - 1) / target)
}

#[test]
fn every_kind_of_metric_counts() {
    let pods = recorded_value("custom pods metric", 0) + recorded_value("custom pods metric", 1);
    let queues = recorded_value("external metric", 0) + recorded_value("external metric", 1);
    for version in ["v1beta1", "v1beta2"] {
        let mut cluster = recorded();
        cluster.serve_versions("custom.metrics.k8s.io", &[version]);
        let queue = custom_object_metric(&mut cluster);
        let metrics = json!([
            pods_metric(),
            ingress_metric(),
            namespace_metric(),
            queue,
            external_metric(),
        ]);
        with_metrics(&mut cluster, &metrics);
        let server = Server::start(cluster);
        let answer = explained(&server);
        assert_eq!(condition(&answer, "ScalingActive")[1], "ValidMetricFound");
        let found = proposals(&answer);
        // Two pods are ready; an average covers all current replicas.
        let ready = |value: i64, target: i64| ratio_up(2 * value, target);
        assert_eq!(found[0], ratio_up(pods, 100_000), "Pods: {found:?}");
        assert_eq!(
            found[1],
            ready(recorded_value("custom object metric", 0), 100_000)
        );
        assert_eq!(
            found[2],
            ready(recorded_value("custom namespace metric", 0), 10_000)
        );
        assert_eq!(found[3], json!(5));
        assert_eq!(found[4], ratio_up(queues, 1000));
        let prefix = format!("/apis/custom.metrics.k8s.io/{version}/namespaces/default/");
        let asked: Vec<String> = server
            .requests()
            .into_iter()
            .filter_map(|request| Some(request.path.strip_prefix(&prefix)?.to_owned()))
            .collect();
        assert_eq!(asked.len(), 4, "{asked:?}");
        for path in [
            "pods/*/http_requests",
            "metrics/ns_rate",
            "queues.shop.example.com/orders/depth",
        ] {
            assert!(
                asked.iter().any(|asked| asked == path),
                "no {path} in {asked:?}"
            );
        }
    }
}

#[test]
fn what_is_saved_gives_the_same_answer_and_holds_nothing_else() {
    let plain = |_: &mut Cluster| {};
    let every = |cluster: &mut Cluster| {
        let queue = custom_object_metric(cluster);
        let metrics = [
            pods_metric(),
            ingress_metric(),
            namespace_metric(),
            queue,
            external_metric(),
        ];
        with_metrics(cluster, &json!(metrics));
    };
    let failing = |cluster: &mut Cluster| {
        cluster.as_recorded("pod metrics with the backend down");
    };
    let gone = |cluster: &mut Cluster| {
        cluster.remove("apps/v1", "Deployment", ["default", NAME]);
    };
    let ambiguous = |cluster: &mut Cluster| {
        cluster.hpa(
            ["default", "twin"],
            ["apps/v1", "Deployment", NAME],
            &json!({}),
        );
    };
    let changes: [(&str, Change); 5] = [
        ("plain", plain),
        ("every", every),
        ("failing", failing),
        ("gone", gone),
        ("ambiguous", ambiguous),
    ];
    for (name, change) in changes {
        let mut cluster = recorded();
        cluster.edit(
            "v1",
            "Pod",
            ["default", "nginx-deployment-596d9ffddd-6lrhv"],
            |pod| {
                pod["spec"]["containers"][0]["env"] =
                    json!([{"name": "PASSWORD", "value": "secret-password"}]);
                pod["metadata"]["annotations"] = json!({"note": "secret-password"});
                pod["spec"]["volumes"] = json!([{"name": "secret-password", "emptyDir": {}}]);
            },
        );
        change(&mut cluster);
        let server = Server::start(cluster);
        let file: &str = &Temporary::new();
        let live = explain(&server, &["-o", "json", "--save", file]).answer();
        let saved = fs::read_to_string(file).expect("a saved file");
        let again = explain_file(file).answer();
        for part in ["outcome", "proposal", "range", "comparison"] {
            assert_eq!(
                live[part].to_string(),
                again[part].to_string(),
                "{name}: {part}"
            );
        }
        for word in [
            "secret-",
            "\"env\"",
            "\"volumes\"",
            "\"image\"",
            "last-applied",
            "f:template",
            "token",
        ] {
            assert!(!saved.contains(word), "{name}: {word} is in {saved}");
        }
    }
}

#[test]
fn what_cannot_be_saved_is_told_after_the_answer() {
    let server = Server::start(recorded());
    let ran: Ran = explain(&server, &["--save", "/nonexistent/state.json"]);
    assert_eq!(ran.code, Some(1));
    shows(&ran.stdout, "STAYS AT 10");
    let told = "error: failed to write /nonexistent/state.json: ";
    shows(&ran.stderr, told);
}

#[test]
fn the_rules_are_those_of_the_server() {
    let old = json!({"emulationMajor": "", "emulationMinor": ""});
    let with = |more: Value| {
        let mut said = old.clone();
        for (field, value) in more.as_object().into_iter().flatten() {
            said[field] = value.clone();
        }
        said
    };
    let behaves = "the server is v1.36.2 and emulates v1.35";
    let unread = "the server's version is ignored: not a version such as v1.31.4";
    let newer = "v1.41.0 is newer than the latest known rules: those of v1.38 apply";
    for (said, args, rules, note) in [
        (json!({}), &[][..], "v1.36.2", ""),
        (
            with(json!({"gitVersion": "v1.29.4-gke.1043", "minor": "29+"})),
            &[],
            "v1.29.14",
            "",
        ),
        (
            json!({"gitVersion": "v1.36.9-eks-1", "minor": "36+"}),
            &[],
            "v1.36.2",
            "",
        ),
        (json!({"emulationMinor": "35"}), &[], "v1.35.6", behaves),
        (
            json!({"emulationMinor": "35"}),
            &["--kubernetes-version", "1.33"],
            "v1.33.13",
            behaves,
        ),
        (with(json!({"gitVersion": "x"})), &[], "v1.37.0", unread),
        (
            with(json!({"gitVersion": "v1.41.0", "minor": "41"})),
            &[],
            "v1.38",
            newer,
        ),
    ] {
        let mut cluster = recorded();
        cluster.version(&said);
        let args = [&["-o", "json"], args].concat();
        let answer = explain(&Server::start(cluster), &args).answer();
        assert_eq!(answer["rules"], rules, "{said}");
        let notes = notes(&answer);
        assert!(notes.contains(note), "{said}: {notes}");
        for other in [behaves, unread, newer]
            .iter()
            .filter(|other| **other != note)
        {
            assert!(!notes.contains(*other), "{said}: {notes}");
        }
    }
}

#[test]
fn watching_tells_of_passes_whose_status_is_overwritten() {
    let mut cluster = recorded();
    let hpa = ["default", NAME];
    cluster.edit_hpa(hpa, |hpa| {
        hpa["status"]["conditions"][0]["reason"] = json!("ReadyForNewScale");
    });
    let server = Server::start(cluster);
    let file: &str = &Temporary::new();
    let answer = std::thread::scope(|scope| {
        let watching =
            scope.spawn(|| explain(&server, &["--observe", "6s", "-o", "json", "--save", file]));
        // The first poll is over by then, the second comes after five seconds and fails.
        std::thread::sleep(Duration::from_secs(2));
        server.change(|cluster| {
            let path =
                format!("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/{NAME}");
            cluster.fault(When::on(&path).nth(1), Fault::InternalError);
            cluster.edit_hpa(hpa, |hpa| {
                hpa["status"]["currentReplicas"] = json!(10);
                for entry in each_mut(&mut hpa["metadata"]["managedFields"]) {
                    if entry["subresource"] == "status" {
                        entry["time"] = json!("2026-11-21T07:07:13Z");
                    }
                }
            });
        });
        watching.join().expect("it ran").answer()
    });
    let told = notes(&answer);
    let missed = "some reads of the HPA failed while it was watched: ";
    shows(&told, missed);
    let watched = "1 more, at 2026-11-21T07:06:59Z";
    let basis = &answer["basis"];
    let is_told = each(basis).any(|basis| basis["value"] == watched);
    assert!(is_told, "{basis:#}");
    let again = explain_file(file).answer();
    for part in ["outcome", "range", "memory", "upcoming"] {
        assert_eq!(again[part], answer[part], "{part}");
    }
}

/// Returns an HPA of at most ten, which held ten until half a minute ago; judging by its pods' usage, it
/// needs more at a target of 10m, and five at 250m.
fn held(target: &str) -> Cluster {
    let mut cluster = recorded();
    let metrics = json!([{"type": "Resource", "resource": {
        "name": "cpu",
        "target": {"type": "AverageValue", "averageValue": target},
    }}]);
    for (time, reason) in [
        ("2026-11-21T06:40:00Z", "ReadyForNewScale"),
        ("2026-11-21T07:06:44Z", "ScaleDownStabilized"),
        ("2026-11-21T07:06:59Z", "ScaleDownStabilized"),
    ] {
        cluster.edit_hpa(["default", NAME], |hpa| {
            hpa["spec"]["metrics"] = metrics.clone();
            hpa["metadata"]["creationTimestamp"] = json!("2026-11-20T07:05:00Z");
            // The recorded events are about another one.
            hpa["metadata"]["uid"] = json!("held");
            for entry in each_mut(&mut hpa["metadata"]["managedFields"]) {
                let status = entry["subresource"] == "status";
                entry["time"] = json!(if status { time } else { "2026-11-20T07:05:00Z" });
            }
            let status = &mut hpa["status"];
            status["currentReplicas"] = json!(10);
            status["lastScaleTime"] = json!("2026-11-21T06:00:00Z");
            status["conditions"][0]["reason"] = json!(reason);
            status["conditions"][2]["reason"] = json!("DesiredWithinRange");
            status["conditions"][2]["status"] = json!("False");
        });
    }
    cluster.put(lease("one", "07:07:12"));
    cluster
}

/// Returns the statuses of the answers to requests for a state at some time.
fn states_asked_for(server: &Server) -> Vec<u16> {
    let exact = server.requests().into_iter();
    let exact = exact.filter(|it| it.parameter("resourceVersionMatch") == Some("Exact"));
    exact.map(|request| request.status).collect()
}

/// The answer for the current HPA does not depend on its history, but the answer for a candidate does.
#[test]
fn states_are_looked_at_for_what_is_assumed() {
    let server = Server::start(held("10m"));
    let config = server.kubeconfig(&Auth::Token("admin"));
    let answer = predict(&config, &[]).answer();
    assert_eq!(answer["range"], json!({"min": 10, "max": 10}));
    assert!(states_asked_for(&server).is_empty());
    let answer = predict(&config, &["--target=cpu=250m"]).answer();
    assert_eq!(answer["proposal"], 5);
    assert_eq!(
        answer["range"],
        json!({"min": 10, "max": 10}),
        "{:#}",
        answer["basis"]
    );
    assert_eq!(states_asked_for(&server), [200, 200]);
}

/// Earlier states of the HPA are requested if the answer is uncertain without them.
#[test]
fn states_that_the_server_still_has_are_looked_at() {
    let look = |cluster: Cluster| {
        let server = Server::start(cluster);
        (explained(&server), states_asked_for(&server))
    };
    // The ten were recommended until 07:06:44; nothing before that matters any more.
    let (answer, asked) = look(held("250m"));
    assert_eq!(
        answer["range"],
        json!({"min": 10, "max": 10}),
        "{:#}",
        answer["basis"]
    );
    assert_eq!(asked, [200, 200]);
    // Since then up to nine were. The next pass runs now, at 07:07:13, at the earliest, most likely a second later, and
    // by 07:07:20.
    let upcoming = &answer["upcoming"];
    let wanted = json!([
        {"time": "2026-11-21T07:11:28Z", "replicas": 10, "range": {"min": 5, "max": 10}},
        {"time": "2026-11-21T07:11:29Z", "replicas": 9, "range": {"min": 5, "max": 10}},
        {"time": "2026-11-21T07:11:35Z", "replicas": 9, "range": {"min": 5, "max": 9}},
        {"time": "2026-11-21T07:11:44Z", "replicas": 5, "range": {"min": 5, "max": 9}},
        {"time": "2026-11-21T07:12:05Z", "replicas": 5, "range": {"min": 5, "max": 5}},
    ]);
    assert_eq!(*upcoming, wanted);

    // A server that has compacted them away leaves it uncertain.
    let mut compacted = held("250m");
    compacted.compact();
    let (answer, asked) = look(compacted);
    assert_eq!(answer["range"], json!({"min": 5, "max": 10}));
    assert_eq!(asked, [410]);
}

/// The target's earlier state shows how many replicas an average in an earlier status covers.
#[test]
fn averages_of_earlier_passes_are_over_the_replicas_of_the_time() {
    let at = |time: &str| format!("2026-11-21T{time}Z");
    let held = |target_changed: &[&str]| {
        let mut cluster = recorded();
        let object = ["default", NAME];
        let target = json!({"type": "AverageValue", "averageValue": "1"});
        let external = json!({"metric": {"name": "queue"}, "target": target});
        let spec = json!([{"type": "External", "external": external}]);
        cluster.external_value("default", ["queue", "3"], &[]);
        let written = |time: &str| json!([{"subresource": "status", "time": at(time)}]);
        cluster.edit("apps/v1", "Deployment", object, |deployment| {
            deployment["metadata"]["managedFields"] = written("06:00:00");
            deployment["status"]["replicas"] = json!(10);
        });
        let mut changes = target_changed.iter().peekable();
        // First ten were wanted, then seven, and then four; now it is three.
        for (time, reason, average) in [
            ("06:40:00", "ReadyForNewScale", "1"),
            ("07:01:59", "ScaleDownStabilized", "700m"),
            ("07:06:44", "ScaleDownStabilized", "400m"),
            ("07:06:59", "ScaleDownStabilized", "390m"),
        ] {
            while let Some(changed) = changes.next_if(|changed| **changed < time) {
                cluster.edit("apps/v1", "Deployment", object, |deployment| {
                    deployment["metadata"]["managedFields"] = written(changed);
                });
            }
            cluster.edit_hpa(object, |hpa| {
                hpa["spec"]["metrics"] = spec.clone();
                // The recorded events are about another one.
                hpa["metadata"]["uid"] = json!("held");
                hpa["metadata"]["creationTimestamp"] = json!("2026-11-20T07:05:00Z");
                for entry in each_mut(&mut hpa["metadata"]["managedFields"]) {
                    let status = entry["subresource"] == "status";
                    entry["time"] = json!(if status { at(time) } else { at("05:00:00") });
                }
                let status = &mut hpa["status"];
                status["currentReplicas"] = json!(10);
                status["lastScaleTime"] = json!(at("06:00:00"));
                status["currentMetrics"] = json!([{"type": "External", "external": {
                    "metric": {"name": "queue"},
                    "current": {"averageValue": average},
                }}]);
                status["conditions"][0]["reason"] = json!(reason);
                status["conditions"][2]["reason"] = json!("DesiredWithinRange");
                status["conditions"][2]["status"] = json!("False");
            });
        }
        cluster.put(lease("one", "07:07:12"));
        cluster
    };
    let file: &str = &Temporary::new();
    for (target_changed, replicas, asked) in [
        // Everything that counts was measured with the current target.
        (&[][..], json!({"min": 7, "max": 7}), 0),
        // Its earlier state has to be requested; if a pass may have met either, nothing follows.
        (&["07:06:50"], json!({"min": 7, "max": 7}), 2),
        (&["07:04:00"], json!({"min": 4, "max": 9}), 1),
    ] {
        let server = Server::start(held(target_changed));
        let answer = explain(&server, &["-o", "json", "--save", file]).answer();
        let requests = server.requests();
        let exact = requests
            .iter()
            .filter(|it| it.parameter("resourceVersionMatch").is_some());
        let exact = exact.filter(|it| it.path.ends_with("/deployments")).count();
        assert_eq!(
            (&answer["range"], exact),
            (&replicas, asked),
            "{:#}",
            answer["basis"]
        );
        let again = explain_file(file).answer();
        for part in ["outcome", "range", "memory", "upcoming"] {
            assert_eq!(again[part], answer[part], "{part}");
        }
    }
}

/// If rate limits count rescales that only events show, the target's own events say whether
/// someone else has scaled it in between.
#[test]
fn the_targets_events_tell_of_others_who_scale() {
    let limited = || {
        let mut cluster = recorded();
        // Events of an earlier HPA of the same name.
        let uid = &exchange("hpa").response.body["metadata"]["uid"];
        let events = exchange("events of the hpa").response.body;
        for event in array(&events["items"])
            .iter()
            .filter(|it| it["involvedObject"]["uid"] != *uid)
        {
            let name = event["metadata"]["name"].as_str().expect("a name");
            cluster.remove("v1", "Event", ["default", name]);
        }
        cluster.edit_hpa(["default", NAME], |hpa| {
            hpa["spec"]["maxReplicas"] = json!(30);
            hpa["spec"]["behavior"] = json!({"scaleUp": {
                "policies": [{"type": "Pods", "value": 10, "periodSeconds": 40}],
            }});
            hpa["status"]["conditions"][2]["reason"] = json!("ScaleUpLimit");
        });
        cluster
    };
    let about_target = |server: &Server| {
        let asked = server.requests().into_iter();
        let fields = asked.filter_map(|it| it.parameter("fieldSelector").map(str::to_owned));
        fields
            .filter(|fields| fields.contains("involvedObject.kind=Deployment"))
            .count()
    };
    // From 4 to 10 within the period, so four more may follow; ten if the controller is new.
    let server = Server::start(limited());
    let answer = explained(&server);
    assert_eq!(
        answer["range"],
        json!({"min": 14, "max": 20}),
        "{:#}",
        answer["basis"]
    );
    assert_eq!(about_target(&server), 1);

    let mut cluster = limited();
    cluster.put(json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "by-another", "namespace": "default"},
        "involvedObject": {"kind": "Deployment", "name": NAME, "namespace": "default"},
        "reason": "ScalingReplicaSet",
        "message": "Scaled up replica set nginx-deployment-596d9ffddd from 4 to 7",
        "firstTimestamp": "2026-11-21T07:06:50Z",
        "lastTimestamp": "2026-11-21T07:06:50Z",
        "count": 1,
        "type": "Normal",
    }));
    let server = Server::start(cluster);
    let answer = explained(&server);
    // Anything may have been added or removed.
    assert_eq!(
        answer["range"],
        json!({"min": 10, "max": 30}),
        "{:#}",
        answer["basis"]
    );
    let mut basis = each(&answer["basis"]);
    let events = basis
        .find(|it| it["item"] == "scale events")
        .expect("they are named");
    let source = events["source"].as_str().unwrap_or_default();
    let other = "another change: Scaled up replica set nginx-deployment-596d9ffddd from 4 to 7";
    assert!(source.ends_with(other), "{source}");

    // A server may allow to select the events of HPAs alone.
    let mut cluster = limited();
    cluster.grant("bob").fault(
        When::on("/api/v1/namespaces/default/events").nth(2),
        Fault::Before(|cluster| _ = cluster.deny("bob", "list", "events")),
    );
    let answer = explain_as(&Server::start(cluster), "bob", &["-o", "json"]).answer();
    let note = "the target's events are unknown: missing permission: list events in the namespace default;";
    assert!(notes(&answer).contains(note), "{}", notes(&answer));
}
