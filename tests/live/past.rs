//! Past passes, explained from a history in Prometheus. They are recorded runs of a real controller
//! (`tests/trajectories`), so that the decisions are known.
#![allow(clippy::print_stdout, reason = "the shares are printed")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kubectl_hpa::snapshot::pod::{ConditionStatus, Phase};
use serde_json::{Value, json};

use super::api::http::Request;
use super::api::json::array;
use super::api::{Answer, Fault, Server, When};
use super::prometheus::history::History;
use super::prometheus::trajectories::{self, NAMES, Pass};
use super::prometheus::{
    Real, Recording, file, recorded_answer, recording, recording_of, success, trusting,
};
use super::ran::Ran;
use super::{faulty, object_in, own_by_keda, program, recorded, run, shows, state_in};

/// What Prometheus would have of a run, with a scrape at every Nth moment. Moments are 5 s apart.
pub(super) fn history(name: &str, every: usize) -> History {
    let mut history = History::default();
    let mut used: BTreeMap<&str, f64> = BTreeMap::new();
    let moments = trajectories::moments(name);
    for (place, moment) in moments.iter().enumerate() {
        let snapshot = &moment.snapshot;
        let time = snapshot.now.as_second();
        let is_scraped = place % every == 0;
        let namespace = format!(r#"namespace="{name}""#);
        let mut add = |series: String, value: f64| {
            if is_scraped {
                history.add(&series, time, value);
            }
        };
        for item in &snapshot.pod_metrics {
            let milli = item.containers[0].get("cpu").expect("a usage");
            let used = used.entry(&item.name).or_default();
            *used += milli as f64 / 1000.0 * 5.0;
            let labels = format!(r#"{namespace},pod="{}",container="app""#, item.name);
            add(
                format!("container_cpu_usage_seconds_total{{{labels}}}"),
                *used,
            );
        }
        // The counters of containers that are measured for the first time at the next moment begin now.
        let next = moments.get(place + 1).into_iter();
        let next = next.flat_map(|next| &next.snapshot.pod_metrics);
        for item in next
            .filter(|item| !used.contains_key(&*item.name))
            .collect::<Vec<_>>()
        {
            used.insert(&item.name, 0.0);
            let labels = format!(r#"{namespace},pod="{}",container="app""#, item.name);
            add(
                format!("container_cpu_usage_seconds_total{{{labels}}}"),
                0.0,
            );
        }
        for pod in &snapshot.pods {
            let set = &pod.owner.as_ref().expect("an owner").name;
            let labels = format!(r#"{namespace},pod="{}""#, pod.name);
            let owner = format!(r#"owner_kind="ReplicaSet",owner_name="{set}""#);
            add(format!("kube_pod_owner{{{labels},{owner}}}"), 1.0);
            let owner = r#"owner_kind="Deployment",owner_name="web""#;
            add(
                format!(r#"kube_replicaset_owner{{{namespace},replicaset="{set}",{owner}}}"#),
                1.0,
            );
            let second = |time: jiff::Timestamp| time.as_second() as f64;
            if let Some(created) = pod.created {
                add(format!("kube_pod_created{{{labels}}}"), second(created));
            }
            if let Some(started) = pod.start_time {
                add(format!("kube_pod_start_time{{{labels}}}"), second(started));
            }
            for (phase, text) in [(Phase::Pending, "Pending"), (Phase::Running, "Running")] {
                let value = f64::from(u8::from(pod.phase == phase));
                add(
                    format!(r#"kube_pod_status_phase{{{labels},phase="{text}"}}"#),
                    value,
                );
            }
            if let Some(ready) = pod.ready {
                let is_ready = ready.status == ConditionStatus::True;
                let value = f64::from(u8::from(is_ready));
                add(
                    format!(r#"kube_pod_status_ready{{{labels},condition="true"}}"#),
                    value,
                );
                if is_ready {
                    let since = second(ready.last_transition_time);
                    add(format!("kube_pod_status_ready_time{{{labels}}}"), since);
                }
            }
            if let Some(deleted) = pod.deletion_timestamp {
                add(
                    format!("kube_pod_deletion_timestamp{{{labels}}}"),
                    second(deleted),
                );
            }
            for container in &pod.containers {
                let labels = format!(r#"{labels},container="{}""#, container.name);
                add(format!("kube_pod_container_info{{{labels}}}"), 1.0);
                for (resource, amount) in &container.requests.0 {
                    let value = amount.milli_value() as f64 / 1000.0;
                    let labels = format!(r#"{labels},resource="{resource}""#);
                    add(
                        format!("kube_pod_container_resource_requests{{{labels}}}"),
                        value,
                    );
                }
            }
        }
        let scale = snapshot.scale.as_ref().expect("a scale");
        let deployment = format!(r#"{namespace},deployment="web""#);
        let (spec, status) = (scale.spec_replicas, scale.status_replicas);
        add(
            format!("kube_deployment_spec_replicas{{{deployment}}}"),
            spec.into(),
        );
        add(
            format!("kube_deployment_status_replicas{{{deployment}}}"),
            status.into(),
        );
        let hpa = format!(r#"{namespace},horizontalpodautoscaler="web""#);
        let of_hpa = |name: &str| format!("kube_horizontalpodautoscaler_{name}{{{hpa}}}");
        let own = &snapshot.hpa;
        let created = own.written.created.expect("a time").as_second() as f64;
        add(of_hpa("created"), created);
        add(
            of_hpa("spec_min_replicas"),
            own.spec.min_replicas.unwrap_or(1).into(),
        );
        add(of_hpa("spec_max_replicas"), own.spec.max_replicas.into());
        add(
            of_hpa("status_desired_replicas"),
            own.status.desired_replicas.into(),
        );
        for answer in &snapshot.metrics {
            if let kubectl_hpa::snapshot::MetricAnswer::External(values) = answer {
                let total: i64 = values.iter().map(|value| value.value).sum();
                add(format!("queue_depth{{{namespace}}}"), total as f64 / 1000.0);
            }
        }
    }
    history
}

/// Runs the program for the HPA of a run.
fn ask(verb: &str, name: &str, flags: &[&str]) -> Ran {
    let words = [verb, "web", "-n", name, "-o", "json"];
    run(program().args(words).args(flags))
}

/// A server that is asked for what Prometheus has.
struct Served {
    server: Server,
    trusting: Vec<String>,
}

fn served(fault: Fault) -> Served {
    let server = faulty(recorded(), [(When::on("/api/v1/query"), fault)]);
    let trusting = trusting(&server);
    Served { server, trusting }
}

impl Served {
    fn ask(&self, verb: &str, name: &str, flags: &[&str]) -> Ran {
        let url = self.server.url();
        let trusting = self.trusting.iter().map(String::as_str);
        let own: Vec<&str> = ["--prometheus", &url].into_iter().chain(trusting).collect();
        ask(verb, name, &[&own, flags].concat())
    }

    /// Explains a pass of a run.
    fn explain(&self, name: &str, state: &str, at: &str) -> Ran {
        self.ask("explain", name, &asking(name, state, at))
    }
}

/// What is asked of a server that has the history of a run.
fn asking<'a>(name: &str, state: &'a str, at: &'a str) -> Vec<&'a str> {
    let mut flags = vec!["-f", state, "--at", at];
    if name == "queue" {
        flags.extend([
            "--query",
            "queue_depth=sum(queue_depth{namespace=\"queue\"})",
        ]);
    }
    flags
}

/// The last state of a run, whose HPA has not changed since the first.
fn state(name: &str) -> String {
    let state =
        kubectl_hpa::saved::save::to_json(&[trajectories::last(name)], &[]).expect("a state");
    // Tests run at the same time.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    file(
        &format!("{name}-{}.json", COUNT.fetch_add(1, Ordering::Relaxed)),
        &state,
    )
}

fn range(answer: &Value) -> (i32, i32) {
    let of = |end: &str| {
        answer["range"][end]
            .as_i64()
            .and_then(|it| i32::try_from(it).ok())
    };
    (of("min").expect("a number"), of("max").expect("a number"))
}

/// Ten passes of all sorts, and the range that a history with a scrape every 15 s leads to.
const MOMENTS: [(&str, &str, &str, (i32, i32)); 10] = [
    (
        "the first one, with pods that start",
        "plain",
        "07:14:25",
        (1, 4),
    ),
    ("scaled up", "plain", "07:15:40", (4, 14)),
    (
        "held by an older recommendation",
        "plain",
        "07:20:55",
        (20, 20),
    ),
    (
        "scaling up held by an older recommendation",
        "behave",
        "07:16:10",
        (3, 8),
    ),
    ("scaled up by a rate limit", "behave", "07:21:56", (17, 17)),
    ("scaled down", "behave", "07:25:26", (15, 20)),
    (
        "held for the window of behavior",
        "behave",
        "07:28:26",
        (18, 24),
    ),
    (
        "steady, with an external metric",
        "queue",
        "07:20:41",
        (2, 5),
    ),
    ("scaled down after the window", "queue", "07:29:43", (6, 13)),
    ("scaling down disabled", "nodown", "07:25:26", (12, 12)),
];

/// Explains a pass by the history that a real Prometheus has of its run.
fn explain_by(real: &Real, name: &str, state: &str, at: &str, more: &[&str]) -> Ran {
    let flags = [
        &asking(name, state, at),
        &["--prometheus", real.url()][..],
        more,
    ]
    .concat();
    ask("explain", name, &flags)
}

/// The pass that the controller logged.
fn pass(name: &str, time: &str) -> Pass {
    let mut passes = trajectories::passes(name).into_iter();
    passes
        .find(|pass| pass.time.to_string().contains(time))
        .expect("a pass")
}

/// Explains the ten passes by the history of each run.
fn ten(mut asked: impl FnMut(&str, &str, &str) -> Value) {
    let (mut exact, mut widths, mut found) = (0, Vec::new(), Vec::new());
    for (what, name, time, _) in MOMENTS {
        let pass = pass(name, time);
        let answer = asked(name, &state(name), &pass.time.to_string());
        let (min, max) = range(&answer);
        found.push((what, (min, max)));
        assert!(
            (min..=max).contains(&pass.to),
            "{what}: {name} {pass:?}: {min} to {max}"
        );
        let certainty = if min == max { "certain" } else { "bounded" };
        assert_eq!(answer["certainty"], certainty, "{what}");
        exact += u32::from(min == max);
        widths.extend((min != max).then_some(max - min));
    }
    assert_eq!(found, MOMENTS.map(|(what, _, _, want)| (what, want)));
    println!("{exact} of 10 are exact; the others are in ranges of {widths:?} replicas");
}

#[test]
fn ten_recorded_decisions_are_in_their_ranges_and_again_offline() {
    let served = served(Fault::Computed(as_recorded));
    ten(|name, state, at| {
        let saved = file("past.json", "");
        let flags = [&asking(name, state, at)[..], &["--save", &saved]].concat();
        let live = served.ask("explain", name, &flags).answer();
        let again = ask("explain", name, &["-f", &saved]).answer();
        for (part, value) in live.as_object().expect("an object") {
            assert_eq!(again[part], *value, "{name} {at}: {part}");
        }
        assert_eq!(again, live, "{name} {at}");
        // What was saved has the HPA, so that it explains the same pass again, and every other one.
        let from_saved = served.explain(name, &saved, at).answer();
        assert_eq!(from_saved, live, "{name} {at}");
        // Under other conditions, only the history is open.
        let flags = ["-f", &saved, "--replicas", "9", "--max", "9"];
        let predicted = ask("predict", name, &flags).answer();
        let (min, max) = range(&predicted);
        let certainty = if min == max { "certain" } else { "bounded" };
        assert_eq!(predicted["certainty"], certainty, "{name} {at}");
        assert!(max <= 9, "{name} {at}: {min} to {max}");
        assert_eq!(live["record"]["inRange"], true, "{name} {at}");
        live
    });
}

#[test]
fn a_real_prometheus_leads_to_the_same_ranges() {
    let start = |name| Some((name, Real::start(|| history(name, 3))?));
    let Some(servers) = NAMES
        .map(start)
        .into_iter()
        .collect::<Option<BTreeMap<_, _>>>()
    else {
        return;
    };
    if std::env::var_os("RECORD").is_some() {
        return record(&servers);
    }
    ten(|name, state, at| explain_by(&servers[name], name, state, at, &[]).answer());
}

#[test]
fn the_query_of_a_keda_trigger_is_used_and_its_server_is_not_asked() {
    let (_, name, time, want) = MOMENTS[7];
    let mut state = state_in(state(name));
    let items = state["items"].as_array_mut().expect("items");
    let hpa = items
        .iter_mut()
        .find(|it| it["kind"] == "HorizontalPodAutoscaler")
        .expect("it");
    own_by_keda(hpa, "web");
    let mut metrics = hpa["spec"]["metrics"]
        .as_array_mut()
        .expect("metrics")
        .iter_mut();
    let external = metrics
        .find(|it| it["type"] == "External")
        .expect("a metric");
    external["external"]["metric"]["name"] = json!("s1-prometheus");
    let query = r#"sum(queue_depth{namespace="queue"})"#;
    items.push(
        json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": name},
        "spec": {"scaleTargetRef": {"name": "web"}, "triggers": [
            {"type": "cpu", "metadata": {"value": "80"}},
            {"type": "prometheus", "metadata": {"serverAddress": "http://secret-password@nowhere",
                "query": query, "threshold": "10"}}]}}),
    );
    let state = file("keda.json", &state.to_string());
    let (at, saved) = (
        pass(name, time).time.to_string(),
        file("keda-past.json", ""),
    );
    let flags = ["-f", &state, "--at", &at, "--save", &saved, "-v", "1"];
    let ran = served(Fault::Computed(as_recorded)).ask("explain", name, &flags);
    shows(&ran.stderr, &format!(": {query}\n"));
    assert_eq!(range(&ran.answer()), want);
    let saved = std::fs::read_to_string(saved).expect("a state");
    assert!(
        !saved.contains("secret-password") && !saved.contains("serverAddress"),
        "{saved}"
    );
}

#[test]
fn what_the_server_warns_of_and_what_the_history_lacks_is_said() {
    /// An answer without the times at which pods were started, with warnings and another cluster.
    fn partial(body: &mut Value) {
        body["warnings"] = json!(["1 of 3 stores did not answer"]);
        body["isPartial"] = json!(true);
        if let Some(series) = body["data"]["result"].as_array_mut() {
            series.retain(|own| own["metric"]["__name__"] != "kube_pod_start_time");
            let max = "kube_horizontalpodautoscaler_spec_max_replicas";
            let copy = series
                .iter_mut()
                .find(|own| own["metric"]["__name__"] == max)
                .map(|own| {
                    own["metric"]["cluster"] = json!("eu");
                    let mut copy = own.clone();
                    copy["metric"]["cluster"] = json!("us");
                    copy
                });
            series.extend(copy);
        }
    }
    let served = served(Fault::Computed(|request| edited(request, partial)));
    let (_, name, time, _) = MOMENTS[2];
    let (state, at) = (state(name), pass(name, time).time.to_string());
    let answer = served.explain(name, &state, &at).answer();
    let notes = super::notes(&answer);
    shows(&notes, "Prometheus warns: 1 of 3 stores did not answer");
    shows(&notes, "the answer is partial");
    shows(&notes, "the history lacks parts of this pass");
    shows(&notes, "several values of cluster (eu, us)");
    shows(&notes, r#"--prometheus-match 'cluster="eu"'"#);
    let basis = array(&answer["basis"]);
    assert!(
        basis.iter().any(|own| own["item"] == "start times"),
        "{basis:#?}"
    );
}

/// The recorded answers from a store in which two servers have put the usage and the metrics, the second one
/// scraping 4 s later.
fn from_two_servers(request: &Request) -> Answer {
    let query = request.parameter("query").unwrap_or_default();
    let is_range = request.path.ends_with("query_range");
    if !is_range && !query.contains("container_cpu_usage") {
        return as_recorded(request);
    }
    let later = if is_range { 0.0 } else { 4.0 };
    let copy = |own: &mut Value| {
        let mut copy = own.clone();
        own["metric"]["prometheus_replica"] = json!("k8s-0");
        copy["metric"]["prometheus_replica"] = json!("k8s-1");
        for sample in copy["values"].as_array_mut().into_iter().flatten() {
            sample[0] = json!(sample[0].as_f64().expect("a time") + later);
        }
        copy
    };
    edited(request, |body| {
        if let Some(series) = body["data"]["result"].as_array_mut() {
            let copies: Vec<Value> = series.iter_mut().map(copy).collect();
            series.extend(copies);
        }
    })
}

#[test]
fn two_servers_that_scrape_the_same_are_not_mixed() {
    let served = served(Fault::Computed(from_two_servers));
    for (what, name, time, want) in MOMENTS {
        let (state, at) = (state(name), pass(name, time).time.to_string());
        let ran = served.explain(name, &state, &at);
        if name == "queue" {
            // A controller adds up the values of an External metric, which copies are not.
            ran.fails(
                1,
                &[
                    "gives copies of a series, which differ in prometheus_replica",
                    "hint: count each once, as with sum(max without (prometheus_replica) (...))",
                ],
            );
            continue;
        }
        let answer = ran.answer();
        assert_eq!(range(&answer), want, "{what}: {name} {at}");
        let notes = super::notes(&answer);
        shows(
            &notes,
            "the usage with several values of prometheus_replica (k8s-0, k8s-1)",
        );
    }
}

/// A load with several series is rejected, and so is a past pass: it is unknown which ones the controller adds up.
#[test]
fn several_series_of_an_external_metric_are_an_error() {
    fn of_two_queues(request: &Request) -> Answer {
        edited(request, |body| {
            if request.path.ends_with("query_range")
                && let Some(series) = body["data"]["result"].as_array_mut()
            {
                let mut other = series[0].clone();
                series[0]["metric"]["queue"] = json!("a");
                other["metric"]["queue"] = json!("b");
                other["values"].as_array_mut().expect("samples").pop();
                series.push(other);
            }
        })
    }
    let served = served(Fault::Computed(of_two_queues));
    let (_, name, time, _) = MOMENTS[7];
    let at = pass(name, time).time.to_string();
    served.explain(name, &state(name), &at).fails(
        1,
        &[
            "gives 2 series, not one",
            "hint: aggregate them, as with sum(...)",
        ],
    );
}

/// A Prometheus with two pods of the recorded Deployment, which have used half of a CPU each for ten minutes.
fn two_pods(request: &Request) -> Answer {
    let query = request.parameter("query").unwrap_or_default();
    let time: i64 = request
        .parameter("time")
        .and_then(|it| it.parse().ok())
        .expect("a time");
    let since = time - 720;
    let samples = |value: &dyn Fn(i64) -> f64| -> Value {
        let times = (since..=time).step_by(15);
        times
            .map(|time| json!([time, value(time).to_string()]))
            .collect()
    };
    let constant = |value: f64| samples(&move |_| value);
    let series = |name: &str, labels: Value, values: Value| {
        let mut labels = labels;
        labels["__name__"] = json!(name);
        json!({"metric": labels, "values": values})
    };
    let pods = ["nginx-deployment-1-a", "nginx-deployment-1-b"];
    let of_pods = |name: &str, more: &[(&str, &str)], values: Value| -> Vec<Value> {
        let labels = |pod: &str| -> Value {
            let own = [("pod", pod)].into_iter().chain(more.iter().copied());
            own.map(|(label, value)| (label.to_owned(), json!(value)))
                .collect()
        };
        pods.map(|pod| series(name, labels(pod), values.clone()))
            .to_vec()
    };
    let owner = [
        ("owner_kind", "ReplicaSet"),
        ("owner_name", "nginx-deployment-1"),
    ];
    let (kind, result) = match query {
        query if query.contains("kube_replicaset_owner") => (
            "vector",
            vec![json!({"metric": {"replicaset": "nginx-deployment-1"}, "value": [time, "1"]})],
        ),
        query if query.contains("kube_pod_owner") => (
            "matrix",
            [
                of_pods("kube_pod_owner", &owner, constant(1.0)),
                of_pods("kube_pod_created", &[], constant(since as f64 - 3600.0)),
                of_pods("kube_pod_start_time", &[], constant(since as f64 - 3600.0)),
                of_pods(
                    "kube_pod_status_phase",
                    &[("phase", "Running")],
                    constant(1.0),
                ),
                of_pods(
                    "kube_pod_status_ready",
                    &[("condition", "true")],
                    constant(1.0),
                ),
                of_pods(
                    "kube_pod_status_ready_time",
                    &[],
                    constant(since as f64 - 3500.0),
                ),
                of_pods(
                    "kube_pod_container_resource_requests",
                    &[("container", "nginx"), ("resource", "cpu")],
                    constant(0.5),
                ),
            ]
            .concat(),
        ),
        query if query.contains("container_cpu_usage") => (
            "matrix",
            of_pods(
                "container_cpu_usage_seconds_total",
                &[("container", "nginx")],
                samples(&|time| (time - since) as f64 / 2.0),
            ),
        ),
        query if query.contains("kube_deployment_spec_replicas") => (
            "matrix",
            vec![series(
                "kube_deployment_spec_replicas",
                json!({}),
                constant(2.0),
            )],
        ),
        query if query.contains("kube_horizontalpodautoscaler_spec_max_replicas") => (
            "matrix",
            vec![series(
                "kube_horizontalpodautoscaler_spec_max_replicas",
                json!({}),
                constant(3.0),
            )],
        ),
        _ => ("matrix", Vec::new()),
    };
    success(kind, json!(result))
}

#[test]
fn a_cluster_is_asked_for_the_hpa_and_its_prometheus_for_the_rest() {
    let proxy = "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy";
    let server = faulty(recorded(), [(When::on(proxy), Fault::Computed(two_pods))]);
    let at = ["--at", "30m", "--prometheus", "monitoring/prometheus:9090"];
    let answer = super::explain(&server, &[&at[..], &["-o", "json"]].concat()).answer();
    // All of what they request is used, whatever the target is: the maximum of then holds.
    let target = answer["hpa"]["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"]
        .as_f64()
        .expect("a utilization");
    let proposal = (2.0 * 100.0 / target).ceil() as i64;
    assert_eq!(answer["proposal"], proposal, "{target}");
    assert_eq!(answer["hpa"]["spec"]["maxReplicas"], 3);
    let notes = super::notes(&answer);
    shows(&notes, "maxReplicas of the HPA was 3, and is");
    assert_eq!(answer["outcome"]["scaleTo"], 3, "{answer:#}");
}

#[test]
fn a_moment_that_the_history_has_nothing_of_is_an_error() {
    let (state, served) = (state("plain"), served(Fault::Answer(no_series())));
    served
        .explain("plain", &state, "2026-11-21T07:20:00Z")
        .fails(
            1,
            &["Prometheus has no samples of Deployment/web and its pods in the 1m before"],
        );
    ask("explain", "plain", &["-f", &state, "--at", "1h"]).fails(2, &["--prometheus"]);
    for (at, flags, part) in [
        ("2027-01-01T00:00:00Z", &[][..], "is later than"),
        ("yesterday", &[], "neither a time"),
        ("1h", &["--now", "2026-11-21T07:20:00Z"], "--now"),
        ("1h", &["--query", "cpu=x"], "are read anyway"),
        ("1h", &["--query", "rps=x"], "the HPA has no metric rps"),
    ] {
        let flags = [&["-f", &state, "--at", at], flags].concat();
        served.ask("explain", "plain", &flags).fails(2, &[part]);
    }
}

/// Without `--at`, only an answer that depends on the history is worth a request. A history without samples
/// leaves it as it is.
#[test]
fn a_history_before_now_is_asked_for_if_the_answer_depends_on_it() {
    let saved = |time: &str| {
        let state = kubectl_hpa::saved::save::to_json(&[&trajectories::at("plain", time)], &[]);
        let name = format!("plain-{}.json", time.replace(':', ""));
        file(&name, &state.expect("a state"))
    };
    let state = saved("07:21:10");
    let served = served(Fault::Answer(no_series()));
    let alone = ask("explain", "plain", &["-f", &state]).answer();
    assert_eq!(range(&alone), (12, 20));
    let asked = served.ask("explain", "plain", &["-f", &state]);
    let (lacks, errors) = ("the bounds are those of the API alone", &asked.stderr);
    shows(errors, lacks);
    assert_eq!(range(&asked.answer()), (12, 20));
    // A prediction of the next pass has a value for every metric, so there is nothing to play.
    let predicted = served.ask("predict", "plain", &["-f", &state, "--cpu=50%"]);
    let errors = &predicted.stderr;
    shows(errors, lacks);
    assert_eq!(predicted.answer()["timeline"], Value::Null);
    // This answer is certain: the server, which is not there, is not asked.
    let state = saved("07:18:24");
    let flags = ["-f", &state, "--prometheus", "http://127.0.0.1:1"];
    let certain = ask("explain", "plain", &flags).answer();
    assert_eq!(certain["certainty"], "certain");
}

#[test]
fn a_manifest_alone_lacks_the_selector_of_its_target() {
    let hpa = object_in(state("plain"), "HorizontalPodAutoscaler");
    let manifest = file("manifest.json", &hpa.to_string());
    let flags = [
        &asking("plain", &manifest, "2026-11-21T07:20:00Z")[..],
        &["--prometheus", "http://127.0.0.1:1"],
    ];
    ask("explain", "plain", &flags.concat()).fails(
        2,
        &[
            "--at: the input lacks the target Deployment web, which selects the pods",
            "--save FILE` saves everything",
        ],
    );
}

/// Writes down what the real ones answer.
fn record(servers: &BTreeMap<&str, Real>) {
    let mut lines = BTreeSet::new();
    for (_, name, time, _) in MOMENTS {
        let (state, at) = (state(name), pass(name, time).time.to_string());
        let ran = explain_by(&servers[name], name, &state, &at, &["-v", "8"]);
        lines.extend(recording(&ran));
    }
    let path = format!("{}/{RECORDED}", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::create(path).expect("a file");
    let mut file = GzEncoder::new(file, Compression::best());
    for line in lines {
        writeln!(file, "{line}").expect("a line");
    }
    file.finish().expect("a file");
}

/// What real ones answered.
const RECORDED: &str = "tests/wire/prometheus-2.42-past.jsonl.gz";

fn as_recorded(request: &Request) -> Answer {
    static ALL: LazyLock<Recording> = LazyLock::new(|| {
        let path = format!("{}/{RECORDED}", env!("CARGO_MANIFEST_DIR"));
        let lines = BufReader::new(GzDecoder::new(std::fs::File::open(path).expect("a file")));
        recording_of(lines.lines().map(|line| line.expect("a line")))
    });
    recorded_answer(&ALL, request)
}

/// The recorded answer after a change.
fn edited(request: &Request, change: impl FnOnce(&mut Value)) -> Answer {
    let mut answer = as_recorded(request);
    if let Ok(mut body) = serde_json::from_slice(&answer.body) {
        change(&mut body);
        answer.body = body.to_string().into_bytes();
    }
    answer
}

fn no_series() -> Answer {
    success("matrix", "[]")
}

#[test]
#[ignore = "every pass: cargo test --release --test live past -- --ignored --nocapture"]
fn every_pass_of_every_run() {
    for every in [1, 3, 6] {
        let (mut outside, mut all) = (0, 0);
        for name in NAMES {
            let Some(real) = Real::start(|| history(name, every)) else {
                return;
            };
            let state = state(name);
            let (mut exact, mut contained, mut likely, mut width, mut count) = (0, 0, 0, 0, 0);
            let last = trajectories::last(name).snapshot.now;
            for pass in trajectories::passes(name)
                .into_iter()
                .filter(|pass| pass.time < last)
            {
                let at = pass.time.to_string();
                let answer = explain_by(&real, name, &state, &at, &[]).answer();
                let (min, max) = range(&answer);
                let after = answer["outcome"]["scaleTo"]
                    .as_i64()
                    .unwrap_or(pass.from.into());
                count += 1;
                exact += u32::from((min, max) == (pass.to, pass.to));
                contained += u32::from((min..=max).contains(&pass.to));
                likely += u32::from(after == i64::from(pass.to));
                width += max - min;
            }
            println!(
                "{name}, every {} s: {exact} exact and {contained} in their ranges of {count}, \
                 {likely} as most likely, {:.1} replicas wide",
                every * 5,
                f64::from(width) / f64::from(count)
            );
            outside += count - contained;
            all += count;
        }
        // A load that jumps between two scrapes is smaller in their mean.
        assert!(outside * 100 <= all, "{outside} of {all} outside");
    }
}
