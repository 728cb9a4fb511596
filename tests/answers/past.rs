//! Past passes from a history that is made up: what it lacks, and what was recorded after them. Those of
//! recorded runs are in `--test live past`.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::error::Error;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::past::{check_count, record, rewind};
use kubectl_hpa::prometheus::history::{
    ContainerHistory, History, PodHistory, Samples, ValueHistory,
};
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::page::Page;
use kubectl_hpa::report::section::Part;
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::MetricAnswer;
use kubectl_hpa::snapshot::basis::{Basis, ClockSource};
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::past::{Bounds, PastPart};
use kubectl_hpa::snapshot::pod::Phase;
use serde_json::{Value, json};

use crate::common;
use crate::common::build;

const AT: &str = "2026-11-21T05:30:00Z";

fn at() -> Timestamp {
    AT.parse().unwrap()
}

/// Samples every 15 s, from twelve minutes before the pass to two minutes after it.
fn samples(value: impl Fn(i64) -> f64) -> Samples {
    let times = (-720..=120).step_by(15);
    let points: Vec<(i64, f64)> = times
        .map(|second| (at().as_millisecond() + second * 1000, value(second)))
        .collect();
    let mut samples = Samples::default();
    samples.add(&points);
    samples
}

/// Two pods with requests of 100m and 1 MiB, which use 80m and 1 MiB each.
fn history() -> History {
    let started = at().as_second() - 3600;
    let container = ContainerHistory {
        requests: vec![
            ("cpu".into(), samples(|_| 0.1)),
            ("memory".into(), samples(|_| 1048576.0)),
        ],
        cpu: samples(|second| 0.08 * (second + 720) as f64),
        memory: samples(|_| 1048576.0),
        ..ContainerHistory::default()
    };
    let pod = PodHistory {
        seen: samples(|_| 1.0),
        created: Some(started),
        started: Some(started),
        phases: vec![(Phase::Running, samples(|_| 1.0))],
        ready: samples(|_| 1.0),
        ready_time: samples(|_| started as f64 + 10.0),
        containers: [("app".into(), container)].into(),
        ..PodHistory::default()
    };
    History {
        pods: ["web-1-a", "web-1-b"]
            .map(|name| PodHistory {
                name: name.into(),
                ..pod.clone()
            })
            .to_vec(),
        replicas: samples(|_| 2.0),
        status_replicas: samples(|_| 2.0),
        min: samples(|_| 1.0),
        max: samples(|_| 100.0),
        scrapes: samples(|_| 1.0),
        scrape: Some(15_000),
        ..History::default()
    }
}

/// The HPA as it is read half an hour later.
fn input(metrics: &[Value]) -> Input {
    let state = build::state(&json!({"memory": "unknown"}));
    let hpa = build::hpa(&json!({"metrics": metrics}));
    let text = build::list([hpa, build::scale(2), state]);
    common::read(&text).unwrap()
}

fn cpu() -> Value {
    build::resource("cpu", &build::utilization(50))
}

fn memory() -> Value {
    build::resource("memory", &build::utilization(50))
}

fn past(metrics: &[Value], history: &History) -> Result<Pass, Error> {
    rewind(input(metrics), history, at()).map(Pass::run)
}

fn explained(pass: &Pass) -> (Page, Value) {
    let explanation = Explanation::new(pass);
    let json = serde_json::to_value(&explanation).unwrap();
    (Page::new(&explanation, true).in_ascii(), json)
}

#[test]
fn usage_that_was_not_recorded_is_unknown_and_not_missing_in_the_cluster() {
    let mut history = history();
    let of = |history: &History| {
        let pass = past(&[cpu(), memory()], history).unwrap();
        let lacks = pass.input.evidence.past.clone().unwrap().lacks;
        (explained(&pass), lacks)
    };
    let ((page, json), lacks) = of(&history);
    assert_eq!(
        (json["proposal"].as_i64(), lacks),
        (Some(4), vec![PastPart::Targets])
    );
    assert_eq!(page.verdict, "SCALE UP 2 -> 4");

    // What is known of the other metric stays: it asks for as many.
    for pod in &mut history.pods {
        pod.containers
            .values_mut()
            .for_each(|own| own.cpu = Samples::default());
    }
    let ((_, json), lacks) = of(&history);
    assert_eq!(lacks, [PastPart::Targets, PastPart::Cpu]);
    let unread = &json["outcome"]["unread"];
    assert_eq!(
        *unread,
        json!([{"index": 0, "cause": "missing", "documents": "Samples"}])
    );
    let item = json["basis"]
        .as_array()
        .unwrap()
        .iter()
        .find(|own| own["item"] == "usage of cpu");
    assert_eq!(item.map(|own| &own["value"]), Some(&json!("unknown")));
    // The record still has 2 after the pass, so that 4 is not certain.
    assert_eq!(json["range"]["min"], 2, "{json:#}");

    let pass = past(&[cpu()], &history).unwrap();
    let (page, json) = explained(&pass);
    assert_eq!(page.verdict, "UNKNOWN: THE HISTORY LACKS A METRIC");
    assert_eq!(
        page.why[..1],
        [
            "The history has no samples for cpu, and the pass may have been up to 8s earlier or later, and \
          what lies between two samples is open: the pass may end anywhere from 1 to 4."
        ]
    );
    assert!(
        !json["notes"].to_string().contains("kubectl"),
        "{}",
        json["notes"]
    );
    // It is saved as that, too.
    let saved = saved::save::to_json(&[&pass.input], &[]).unwrap();
    let again = common::read(&saved).unwrap();
    assert_eq!(explained(&Pass::run(again)).1, json);
    // It has a time of its own.
    let options = Options {
        name: "web".to_owned(),
        now: Some(at()),
        ..Options::default()
    };
    let e = saved::read(&saved, &options, at()).unwrap_err();
    assert_eq!(
        e.message,
        "the input is a past pass and does not accept --now"
    );
}

/// The controller takes a negative value as it is, and from v1.34 a negative sum of an average as the largest
/// one.
#[test]
fn a_negative_value_is_a_value() {
    let of_queue = |target: Value| build::external("queue", &target);
    let of_pods = build::per_pod("rps", "10");
    for (metric, values, proposal) in [
        (
            of_queue(build::average("10")),
            &[(None, -35.0)][..],
            i32::MAX,
        ),
        (of_queue(build::value("10")), &[(None, -35.0)], -7),
        // Together 30.
        (
            of_pods,
            &[(Some("web-1-a"), -10.0), (Some("web-1-b"), 40.0)],
            3,
        ),
    ] {
        let of = |(pod, value): &(Option<&str>, f64)| ValueHistory {
            pod: pod.map(Into::into),
            samples: samples(|_| *value),
        };
        let history = History {
            metrics: [(0, values.iter().map(of).collect())].into(),
            ..history()
        };
        let pass = past(std::slice::from_ref(&metric), &history).unwrap();
        let (_, json) = explained(&pass);
        assert_eq!(json["proposal"], proposal, "{metric}");
        let saved = saved::save::to_json(&[&pass.input], &[]).unwrap();
        let again = Pass::run(common::read(&saved).unwrap());
        assert_eq!(explained(&again).1, json, "{metric}");
    }
}

/// A query is evaluated every 15 s, so that a pod has no value in a longer gap, as before it was created again.
#[test]
fn a_value_does_not_hold_over_a_gap() {
    let metric = build::per_pod("rps", "10");
    let seen_at = |is_seen: &dyn Fn(i64) -> bool| {
        let points: Vec<(i64, f64)> = samples(|_| 40.0)
            .all()
            .iter()
            .copied()
            .filter(|(time, _)| is_seen((time - at().as_millisecond()) / 1000))
            .collect();
        let mut samples = Samples::default();
        samples.add(&points);
        samples
    };
    for (name, is_seen, counted) in [
        ("always", &(|_| true) as &dyn Fn(i64) -> bool, 2),
        ("not twice", &|second| !(-30..0).contains(&second), 2),
        (
            "not for minutes",
            &|second| !(-300..90).contains(&second),
            1,
        ),
        ("not again", &|second| second < -60, 1),
    ] {
        let values = [
            ("web-1-a", seen_at(&|_| true)),
            ("web-1-b", seen_at(is_seen)),
        ];
        let of = |(pod, samples): (&str, Samples)| ValueHistory {
            pod: Some(pod.into()),
            samples,
        };
        let history = History {
            metrics: [(0, values.into_iter().map(of).collect())].into(),
            ..history()
        };
        let pass = past(std::slice::from_ref(&metric), &history).unwrap();
        let MetricAnswer::Pods(values) = &pass.input.snapshot.metrics[0] else {
            panic!("{name}: no values");
        };
        assert_eq!(values.len(), counted, "{name}");
    }
}

#[test]
fn a_history_without_the_pods_is_an_error() {
    let none = |history: &History| past(&[cpu()], history).map(|_| ()).map_err(|e| e.message);
    let mut history = history();
    history.pods.clear();
    let error = "Prometheus has none of the pods of Deployment/web at 2026-11-21T05:30:00Z";
    assert_eq!(none(&history), Err(error.to_owned()));
    // At 0 it has no pods.
    (history.replicas, history.status_replicas) = (samples(|_| 0.0), samples(|_| 0.0));
    assert_eq!(none(&history), Ok(()));
    // That is not known of pods and replicas that were not recorded.
    (history.replicas, history.status_replicas) = Default::default();
    assert_eq!(none(&history), Err(error.to_owned()));
}

#[test]
fn a_pass_before_the_hpa_was_created_is_an_error() {
    let mut history = history();
    history.creations = samples(|_| (at().as_second() + 60) as f64);
    // An earlier HPA of the name was recorded.
    let passes = |history: &History| {
        let input = past(&[cpu()], history).unwrap().input;
        input.evidence.past.unwrap().passes
    };
    let of_one = History {
        creations: Samples::default(),
        ..history.clone()
    };
    assert_eq!(passes(&history), passes(&of_one));
    assert!(!passes(&history).is_empty());
    history.max = Samples::default();
    let e = past(&[cpu()], &history).unwrap_err();
    assert_eq!(e.kind.exit_code(), 2);
    assert_eq!(
        e.message,
        "--at: default/web was created at 2026-11-21T05:31:00Z, after 2026-11-21T05:30:00Z"
    );
}

#[test]
fn what_was_recorded_next_is_compared_with_the_answer() {
    let mut history = history();
    let record = |history: &History| {
        let (page, json) = explained(&past(&[cpu()], history).unwrap());
        (page.why.last().unwrap().clone(), json["record"].clone())
    };
    let of = |replicas: i32, second: i64, in_range: bool| {
        let time = at() + SignedDuration::from_secs(second);
        json!({"replicas": replicas, "time": time.to_string(), "inRange": in_range,
            "decides": false})
    };
    // The load has just grown.
    for pod in &mut history.pods {
        let cpu =
            samples(|second| 0.06 * (second + 720) as f64 + 0.02 * (second + 15).max(0) as f64);
        pod.containers
            .values_mut()
            .for_each(|own| own.cpu = cpu.clone());
    }
    history.replicas = samples(|second| if second > 0 { 4.0 } else { 2.0 });
    assert_eq!(
        record(&history),
        (
            "Recorded 15s later: 4 replicas.".to_owned(),
            of(4, 15, true)
        )
    );
    history.replicas = samples(|second| if second > 0 { 9.0 } else { 2.0 });
    let (line, json) = record(&history);
    assert_eq!(
        line,
        "Recorded 15s later: 9 replicas, outside the range from 3 to 4."
    );
    assert_eq!(json, of(9, 15, false));
}

#[test]
fn the_report_has_every_note() {
    let mut history = history();
    history.max = samples(|_| 3.0);
    let (page, json) = explained(&past(&[cpu()], &history).unwrap());
    let notes = page
        .sections
        .iter()
        .find(|section| section.title == "NOTES")
        .unwrap();
    let [Part::Text(texts)] = &notes.body[..] else {
        panic!("{notes:?}")
    };
    assert_eq!(json!(texts), json["notes"]);
    assert!(
        texts[0].starts_with("maxReplicas of the HPA was 3, and is 100 since"),
        "{texts:?}"
    );
}

/// Nothing is known of the status of then, so that it does not show that the HPA was new.
#[test]
fn replicas_below_the_minimum_of_then() {
    let history = History {
        min: samples(|_| 3.0),
        ..history()
    };
    let (_, json) = explained(&past(&[cpu()], &history).unwrap());
    let below = &json["findings"][0];
    assert_eq!(
        (&below["code"], &below["severity"]),
        (&json!("below-min"), &json!("warning"))
    );
    assert_eq!(below["advice"], "Find out what scaled it to 2.");
    // An HPA that is read without a status is new.
    let items = build::list([
        build::hpa(&json!({"metrics": [cpu()], "minReplicas": 3})),
        build::scale(2),
        build::state(&json!({"memory": "unknown"})),
    ]);
    let (_, json) = explained(&Pass::run(common::read(&items).unwrap()));
    let below = &json["findings"][0];
    assert_eq!(
        (&below["code"], &below["severity"]),
        (&json!("below-min"), &json!("info"))
    );
}

#[test]
fn without_recorded_replicas_the_rescales_are_unknown_and_the_pods_count() {
    let behavior = json!({"scaleUp": {"policies": [
        {"type": "Pods", "value": 1, "periodSeconds": 60}]}});
    let mut input = input(&[cpu()]);
    let spec = json!({"behavior": behavior, "metrics": [cpu()], "maxReplicas": 100});
    let hpa = build::hpa(&spec);
    let state = build::state(&json!({"memory": "unknown"}));
    input.snapshot.hpa = common::read(&build::list([hpa, build::scale(2), state]))
        .unwrap()
        .snapshot
        .hpa;
    let of = |history: &History| {
        let pass = rewind(input.clone(), history, at()).map(Pass::run).unwrap();
        let (_, json) = explained(&pass);
        let assumed = |item: &str| {
            let mut basis = json["basis"].as_array().unwrap().iter();
            basis
                .find(|own| own["item"] == item)
                .map(|own| own["value"].clone())
        };
        (
            json["range"].clone(),
            assumed("scale events"),
            assumed("replicas"),
        )
    };
    let mut history = history();
    // The record still has 2 after the pass.
    let known = (
        json!({"min": 2, "max": 3}),
        Some(json!("no rescale to count")),
        None,
    );
    assert_eq!(of(&history), known);
    (history.replicas, history.desired) = Default::default();
    let open = (
        // Pods may have been added in the last minute, or removed.
        json!({"min": 2, "max": 4}),
        Some(json!("rate limits may count any rescale")),
        Some(json!("the number of active pods")),
    );
    assert_eq!(of(&history), open);
    // A pod that is being deleted, or has failed, does not count.
    for (deleted, phase) in [
        (samples(|_| 1.0), Phase::Running),
        (Samples::default(), Phase::Failed),
    ] {
        let last = PodHistory {
            name: "web-1-c".into(),
            deleted,
            phases: vec![(phase, samples(|_| 1.0))],
            ..history.pods[0].clone()
        };
        let mut more = history.clone();
        more.pods.push(last);
        let past = past(&[cpu()], &more).unwrap().input.evidence.past.unwrap();
        assert_eq!((past.replicas.at_least, past.replicas.at_most), (2, 2));
    }
    // One that was added later counts from then on.
    let mut points = samples(|_| 1.0).all().to_vec();
    points.drain(..20);
    let (since, mut seen) = (points[0].0, Samples::default());
    seen.add(&points);
    history.pods.push(PodHistory {
        name: "web-1-c".into(),
        created: Some(since / 1000),
        seen,
        ..history.pods[0].clone()
    });
    let past = past(&[cpu()], &history)
        .unwrap()
        .input
        .evidence
        .past
        .unwrap();
    assert_eq!(past.replicas, Bounds::exactly(3));
    let next = Timestamp::from_millisecond(since + 60_000).unwrap();
    let recorded = record(&input, &history, next).unwrap();
    let found = |second: i64| {
        let time = next + SignedDuration::from_secs(second);
        let pass = recorded.passes.iter().find(|pass| pass.time == time);
        pass.unwrap().found
    };
    assert_eq!(found(-120), Some(Bounds::exactly(2)));
    assert_eq!(found(-15), Some(Bounds::exactly(3)));
}

/// Its usage counts, like the usage of every container in the metrics API.
#[test]
fn a_container_of_kubectl_debug_needs_no_request() {
    let mut history = history();
    for pod in &mut history.pods {
        pod.containers
            .values_mut()
            .for_each(|own| own.has_info = true);
        let debugger = ContainerHistory {
            cpu: samples(|second| 0.04 * (second + 720) as f64),
            ..ContainerHistory::default()
        };
        pod.containers.insert("debugger".into(), debugger);
    }
    let (_, json) = explained(&past(&[cpu()], &history).unwrap());
    // 120m of 100m at a target of 50%.
    assert_eq!(json["proposal"], 5);
    let findings = json["findings"].to_string();
    assert!(!findings.contains("debugger"), "{findings}");
}

/// The controller adds up the requests of init containers that restart, and their usage counts.
#[test]
fn init_containers_that_a_history_does_not_tell_apart_restart_as_in_current_pods() {
    let sidecar = json!({"name": "proxy", "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "100m"}}});
    let requests = || vec![("cpu".into(), samples(|_| 0.1))];
    let used = || samples(|second| 0.04 * (second + 720) as f64);
    // Whether it restarts, the requests and the usage; whether it restarts today; the proposal, and whether
    // that is assumed.
    let none = Samples::default;
    for (init, requests, usage, is_current, proposal, is_assumed) in [
        // 120m of 200m at a target of 50%.
        (Some(true), requests(), used(), false, 3, false),
        (Some(false), requests(), used(), true, 3, true),
        (None, vec![], used(), true, 3, true),
        // 80m of 100m: it had ended, or is one of then.
        (Some(false), requests(), none(), true, 4, false),
        (Some(false), requests(), used(), false, 4, false),
        // As of `kubectl debug`, 120m of 100m.
        (None, vec![], used(), false, 5, false),
    ] {
        let what = format!("{init:?} {is_current} {proposal}");
        let container = ContainerHistory {
            init,
            requests,
            cpu: usage,
            ..ContainerHistory::default()
        };
        let mut history = history();
        for pod in &mut history.pods {
            pod.containers
                .values_mut()
                .for_each(|own| own.has_info = true);
            pod.containers.insert("proxy".into(), container.clone());
        }
        let mut pod = build::pod("web-2-c");
        if is_current {
            pod["spec"]["initContainers"] = json!([sidecar]);
        }
        let hpa = build::hpa(&json!({"metrics": [cpu()]}));
        let state = build::state(&json!({"memory": "unknown"}));
        let text = build::list([hpa, build::scale(2), state, pod]);
        let input = common::read(&text).unwrap();
        let pass = rewind(input, &history, at()).map(Pass::run).unwrap();
        let (_, json) = explained(&pass);
        assert_eq!(json["proposal"], proposal, "{what}");
        let mut basis = json["basis"].as_array().unwrap().iter();
        let value = basis
            .find(|own| own["item"] == "sidecars")
            .map(|own| &own["value"]);
        let assumed = json!("those of the template and current pods");
        assert_eq!(value, is_assumed.then_some(&assumed), "{what}");
    }
}

#[test]
fn a_history_has_a_limited_number_of_passes() {
    let mut input = input(&[cpu()]);
    for (millis, message) in [
        (
            1,
            Some(
                "5m5.001s of history with a pass every 0.001s has 305001 passes; the limit is 50000",
            ),
        ),
        (10, None),
        (0, None),
    ] {
        input.snapshot.controller.sync_period = SignedDuration::from_millis(millis);
        let error = check_count(&input).err().map(|e| e.message);
        assert_eq!(error.as_deref(), message, "{millis}");
    }
}

#[test]
fn targets_that_the_history_does_not_tell_apart_are_as_they_were_read() {
    let external = |queue: &str, average: &str| {
        json!({"type": "External", "external": {
            "metric": {"name": "depth", "selector": {"matchLabels": {"queue": queue}}},
            "target": {"type": "AverageValue", "averageValue": average}}})
    };
    let of_container = build::resource_of("cpu", "app", &build::utilization(50));
    let mut history = history();
    for (name, kind, value) in [("cpu", "utilization", 90.0), ("depth", "average", 10.0)] {
        history
            .targets
            .insert((name.to_owned(), kind.to_owned()), samples(move |_| value));
    }
    let of = |metrics: &[Value]| {
        let past = past(metrics, &history)
            .unwrap()
            .input
            .evidence
            .past
            .unwrap();
        let changed = past.changed.into_iter().map(|own| own.field);
        (
            changed
                .filter(|own| own.starts_with("target"))
                .collect::<Vec<_>>(),
            past.kept,
        )
    };
    let none = Vec::<String>::new;
    assert_eq!(of(&[cpu()]), (vec!["target of cpu".to_owned()], none()));
    let both = vec!["cpu in app".to_owned(), "cpu".to_owned()];
    assert_eq!(of(&[of_container.clone(), cpu()]), (none(), both));
    assert_eq!(of(&[of_container]), (none(), vec!["cpu in app".to_owned()]));
    let (changed, kept) = of(&[external("a", "10"), external("b", "1000")]);
    assert_eq!((changed, kept.len()), (none(), 2));
    // Nothing is recorded of it.
    assert_eq!(of(&[memory()]), (none(), vec!["memory".to_owned()]));

    let (_, json) = explained(&past(&[memory()], &history).unwrap());
    let basis = json["basis"].as_array().unwrap();
    let item = basis.iter().find(|own| own["item"] == "targets").unwrap();
    assert_eq!(item["value"], "of memory");
    assert!(
        item["source"].as_str().unwrap().starts_with("as read at "),
        "{item}"
    );
}

/// The passes before it had the targets of their own time.
#[test]
fn a_target_holds_from_the_pass_after_its_change() {
    let mut history = history();
    let key = ("cpu".to_owned(), "utilization".to_owned());
    let percent = samples(|second| if second < -60 { 25.0 } else { 50.0 });
    history.targets.insert(key, percent);
    let input = past(&[cpu()], &history).unwrap().input;
    let past = input.evidence.past.unwrap();
    let proposed = |ago: i64| {
        let time = at() - SignedDuration::from_secs(ago);
        past.passes.iter().find(|pass| pass.time == time)?.likely
    };
    // Each pod uses 80% of its request.
    assert_eq!([90, 75, 60, 45].map(proposed), [7, 7, 4, 4].map(Some));
    let target = input.snapshot.hpa.spec.metrics[0].target().unwrap();
    assert_eq!(target.average_utilization, Some(50));
}

/// A history whose only rescale gives the pass a time in the middle of the second in which its pods were created.
fn scaled_up() -> History {
    let mut history = history();
    history.replicas = samples(|second| if second > 0 { 4.0 } else { 2.0 });
    history.desired = history.replicas.clone();
    for name in ["web-1-c", "web-1-d"] {
        let mut seen = Samples::default();
        seen.add(&samples(|_| 1.0).all()[49..]);
        history.pods.push(PodHistory {
            name: name.into(),
            created: Some(at().as_second()),
            phases: vec![(Phase::Pending, seen.clone())],
            seen,
            ..PodHistory::default()
        });
    }
    history
}

#[test]
fn a_pass_does_not_find_the_pods_that_it_creates() {
    let (_, json) = explained(&past(&[cpu()], &scaled_up()).unwrap());
    let message =
        "New size: 4; reason: cpu resource utilization (percentage of request) above target";
    assert_eq!(json["proposal"], 4);
    assert_eq!(json["outcome"]["events"][0]["message"], message);
}

/// The record shows that the pass had the limit of the later sample.
#[test]
fn a_limit_that_was_raised_between_two_samples_is_the_one_that_the_record_shows() {
    let mut history = scaled_up();
    history.max = samples(|second| if second > 0 { 100.0 } else { 2.0 });
    let (_, json) = explained(&past(&[cpu()], &history).unwrap());
    assert_eq!(json["outcome"]["scaleTo"], 4);
    assert_eq!(json["hpa"]["spec"]["maxReplicas"], 100);
}

/// Of the two passes between the samples, the second found the replicas of the earlier sample and the limit of the later
/// one. The rescale before shows when they were.
#[test]
fn a_limit_that_was_lowered_between_two_samples_made_the_rescale_that_the_record_shows() {
    let mut history = history();
    for pod in &mut history.pods {
        let cpu = samples(|second| 0.05 * (second + 720) as f64);
        pod.containers
            .values_mut()
            .for_each(|own| own.cpu = cpu.clone());
    }
    let created = at().as_second() - 293;
    for name in ["web-1-c", "web-1-d"] {
        history.pods.push(PodHistory {
            name: name.into(),
            created: Some(created),
            started: Some(created),
            seen: within(&samples(|_| 1.0), -285..=120),
            ..history.pods[0].clone()
        });
    }
    let scraped = |value: &dyn Fn(i64) -> f64| {
        let mut scraped = within(&samples(value), -720..=-15);
        scraped.add(within(&samples(value), 15..=120).all());
        scraped
    };
    history.replicas = scraped(&|second| match second {
        ..-285 => 2.0,
        -285..0 => 4.0,
        _ => 3.0,
    });
    history.desired = history.replicas.clone();
    history.status_replicas = history.replicas.clone();
    history.max = scraped(&|second| if second < 0 { 100.0 } else { 3.0 });
    let (page, json) = explained(&past(&[cpu()], &history).unwrap());
    assert_eq!(page.verdict, "SCALE DOWN 4 -> 3");
    assert_eq!(json["hpa"]["spec"]["maxReplicas"], 3);
    assert_eq!(json["record"]["decides"], true);
}

/// A pass writes the status right after the scale.
#[test]
fn replicas_that_the_hpa_desires_only_seconds_later_are_those_of_someone_else() {
    for (created, rescales) in [(-20, 0), (-16, 1)] {
        let mut history = history();
        history.replicas = samples(|second| if second >= -15 { 3.0 } else { 2.0 });
        history.desired = samples(|second| if second >= 0 { 3.0 } else { 2.0 });
        let mut seen = Samples::default();
        seen.add(&samples(|_| 1.0).all()[47..]);
        history.pods.push(PodHistory {
            name: "web-1-c".into(),
            created: Some(at().as_second() + created),
            seen,
            ..history.pods[0].clone()
        });
        let input = past(&[cpu()], &history).unwrap().input;
        let past = input.evidence.past.unwrap();
        assert_eq!(past.rescales.len(), rescales, "{created}");
    }
}

/// Two replicas whose load has just dropped, with its samples.
fn dropped() -> (Input, History) {
    let mut history = history();
    history.source = "http://p".to_owned();
    for pod in &mut history.pods {
        let used = |second: i64| 0.05 * (second.min(-60) + 720) as f64;
        let cpu = samples(|second| used(second) + 0.01 * (second + 60).max(0) as f64);
        pod.containers
            .values_mut()
            .for_each(|own| own.cpu = cpu.clone());
    }
    let pods = ["web-1-a", "web-1-b"];
    let usage = |name| {
        let measured = json!({"timestamp": "2026-11-21T05:29:50Z"});
        build::with(build::pod_metrics(name, "10m"), &measured)
    };
    let state = build::state(&json!({"memory": "unknown", "now": AT}));
    let condition = |name: &str, status: &str, reason: &str| {
        let since = "2026-11-21T05:00:30Z";
        json!({"type": name, "status": status, "reason": reason, "lastTransitionTime": since})
    };
    let conditions = [
        condition("AbleToScale", "True", "ScaleDownStabilized"),
        condition("ScalingActive", "True", "ValidMetricFound"),
        condition("ScalingLimited", "False", "DesiredWithinRange"),
    ];
    let current = json!({"averageUtilization": 10, "averageValue": "10m"});
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "current": current}}]);
    let status = json!({"status": {"currentReplicas": 2, "desiredReplicas": 2,
        "conditions": conditions, "currentMetrics": metrics}});
    let hpa = build::with(build::hpa(&json!({"metrics": [cpu()]})), &status);
    let objects = [hpa, build::scale(2), state];
    let objects = objects.into_iter().chain(pods.map(build::pod));
    let mut input = common::read(&build::list(objects.chain(pods.map(usage)))).unwrap();
    let written = |seconds| Some(at() - SignedDuration::from_secs(seconds));
    let own = &mut input.snapshot.hpa.written;
    (own.spec, own.status) = (written(3600), written(15));
    (input, history)
}

/// A record that contradicts the API is not used. Verdict, footer, ASSUMED and JSON agree.
#[test]
fn a_history_names_the_sources_that_it_is_inferred_from() {
    let (mut input, mut history) = dropped();
    let of_status = "a history inferred from the status and events";
    let of_all = "a history inferred from the status, events and samples";
    let assumed = "the current replicas as the only recommendation";
    let known = |source| format!("(inferred from the {source}) still holds");
    let unknown = "the history is unknown, and the current 2 are assumed".to_owned();
    // The status says nothing about the last pass if this program has written it.
    for (is_silent, replicas, why, brief, knowledge) in [
        (false, 2.0, known("API and the samples"), of_all, "inferred"),
        (false, 3.0, known("API"), of_status, "inferred"),
        (true, 2.0, known("API and the samples"), of_all, "inferred"),
        (true, 3.0, unknown, assumed, "unknown"),
    ] {
        history.replicas = samples(|_| replicas);
        input.snapshot.hpa.written.by_us = is_silent;
        input.evidence.recorded = Some(record(&input, &history, at()).unwrap());
        let pass = Pass::run(input.clone());
        let (wide, json) = explained(&pass);
        let short = Page::new(&Explanation::new(&pass), false);
        let case = format!("{is_silent}, {replicas}: {wide:#?}");
        assert!(wide.why[0].contains(&why), "{case}");
        let is_footer = |part: &Part| matches!(part, Part::Hinted(text, _) if text.contains(brief));
        let mut parts = short.sections.iter().flat_map(|own| &own.body);
        assert!(parts.any(is_footer), "{case}");
        assert_eq!(json["memory"]["knowledge"], knowledge, "{case}");
        let mut basis = json["basis"].as_array().unwrap().iter();
        let is_running = basis.any(|own| own["item"] == "controller");
        assert_eq!(is_running, knowledge == "inferred", "{case}");
    }
}

/// Returns the samples of some seconds around the pass.
fn within(samples: &Samples, seconds: RangeInclusive<i64>) -> Samples {
    only(samples, |second| seconds.contains(&second))
}

/// Returns the samples of the seconds before and after the pass that fulfil a condition.
fn only(samples: &Samples, is_own: impl Fn(i64) -> bool) -> Samples {
    let second = |millis: i64| (millis - at().as_millisecond()) / 1000;
    let own = samples.all().iter().copied();
    let points: Vec<_> = own.filter(|it| is_own(second(it.0))).collect();
    let mut only = Samples::default();
    only.add(&points);
    only
}

/// Returns a history in which kube-state-metrics was scraped in some seconds, and the usage up to a second.
fn scraped(history: &History, seconds: &RangeInclusive<i64>, usage: i64) -> History {
    let mut scraped = history.clone();
    for samples in [
        &mut scraped.replicas,
        &mut scraped.status_replicas,
        &mut scraped.min,
        &mut scraped.max,
        &mut scraped.scrapes,
    ]
    .into_iter()
    .chain(scraped.pods.iter_mut().map(|pod| &mut pod.seen))
    {
        *samples = within(samples, seconds.clone());
    }
    for own in scraped
        .pods
        .iter_mut()
        .flat_map(|pod| pod.containers.values_mut())
    {
        own.cpu = within(&own.cpu, -720..=usage);
    }
    scraped
}

/// Two and three replicas are within the tolerance of the queue, or asked for. The state that was read is the next
/// sample, unless that was long after the last one: then only the recommendations of earlier passes hold the replicas.
#[test]
fn what_was_before_the_first_scrape_or_after_the_last_is_open() {
    let queue = build::external("queue", &build::average("10"));
    let series = ValueHistory {
        pod: None,
        samples: samples(|_| 21.0),
    };
    let history = History {
        metrics: [(0, vec![series])].into(),
        ..history()
    };
    for (seconds, read, is_time_known, replicas, range) in [
        (-720..=120, 1800, true, 2, [2, 2]),
        (-720..=-15, 15, true, 2, [2, 2]),
        (-720..=-15, 15, true, 3, [2, 3]),
        (-720..=-15, 15, false, 2, [2, 100]),
        (-720..=-15, 1800, true, 2, [2, 100]),
        (15..=120, 1800, true, 2, [1, 100]),
    ] {
        let mut input = input(std::slice::from_ref(&queue));
        input.snapshot.now = at() + SignedDuration::from_secs(read);
        let (time, source) = (input.snapshot.now, ClockSource::System);
        let clock = (!is_time_known).then_some(Basis::Clock { time, source });
        input.basis.extend(clock);
        let scale = input.snapshot.scale.as_mut().unwrap();
        (scale.spec_replicas, scale.status_replicas) = (replicas, replicas);
        input.snapshot.hpa.status.desired_replicas = replicas;
        let history = scraped(&history, &seconds, 120);
        let pass = rewind(input, &history, at()).map(Pass::run).unwrap();
        let (_, json) = explained(&pass);
        let [min, max] = range;
        let want = json!({"min": min, "max": max});
        let case = format!("{seconds:?} {read} {is_time_known} {replicas}");
        assert_eq!(json["range"], want, "{case}");
    }
}

/// Replicas come and go between two scrapes that are more than a minute apart. After two lost scrapes of three, there is
/// no state to answer from.
#[test]
fn a_pass_in_a_lost_scrape_of_the_state_is_open() {
    let of = |is_lost: fn(i64) -> bool| {
        let mut history = history();
        let of_pods = history.pods.iter_mut().flat_map(|pod| {
            let phases = pod.phases.iter_mut().map(|(_, samples)| samples);
            phases.chain([&mut pod.seen, &mut pod.ready, &mut pod.ready_time])
        });
        let of_target = [
            &mut history.replicas,
            &mut history.status_replicas,
            &mut history.min,
            &mut history.max,
            &mut history.scrapes,
        ];
        for samples in of_target.into_iter().chain(of_pods) {
            *samples = only(samples, |second| {
                second.rem_euclid(60) == 30 && !is_lost(second)
            });
        }
        // Two pods at 80 % stay.
        let pass = past(&[build::resource("cpu", &build::utilization(80))], &history)?;
        Ok::<_, Error>(explained(&pass).1["range"].clone())
    };
    let range = |min: i32, max: i32| json!({"min": min, "max": max});
    assert_eq!(of(|_| false).unwrap(), range(2, 2));
    assert_eq!(of(|second| second == -30).unwrap(), range(2, 100));
    let error = of(|second| (-150..0).contains(&second)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Prometheus has no samples of Deployment/web and its pods in the 2m30s before 2026-11-21T05:30:00Z"
    );
}

/// The maximum that was read is the one of after the scrape, too.
#[test]
fn a_limit_that_was_raised_after_the_last_scrape_made_the_rescale() {
    let mut history = scraped(&scaled_up(), &(-720..=-15), 120);
    history.desired = within(&history.desired, -720..=-15);
    history.max = within(&samples(|_| 2.0), -720..=-15);
    let mut input = input(&[cpu()]);
    input.snapshot.now = at() + SignedDuration::from_secs(15);
    let scale = input.snapshot.scale.as_mut().unwrap();
    (scale.spec_replicas, scale.status_replicas) = (4, 4);
    input.snapshot.hpa.status.desired_replicas = 4;
    let pass = rewind(input, &history, at()).map(Pass::run).unwrap();
    let (_, json) = explained(&pass);
    assert_eq!(json["outcome"]["scaleTo"], 4);
    assert_eq!(json["hpa"]["spec"]["maxReplicas"], 100);
}

/// A lost scrape is bridged, and so are three of 15 s. A pod that has just started leaves it open, but not one that
/// is not ready and was not scraped for a minute: it does not run.
#[test]
fn a_pass_is_known_if_all_that_it_depends_on_was_scraped_around_it() {
    let (input, history) = dropped();
    let unscraped = ContainerHistory {
        cpu: Samples::default(),
        ..history.pods[0].containers["app"].clone()
    };
    let pod = |name: &str, ago: i64| PodHistory {
        name: name.into(),
        created: Some(at().as_second() - ago),
        started: Some(at().as_second() - ago),
        containers: [("app".into(), unscraped.clone())].into(),
        ..history.pods[0].clone()
    };
    let with = |pod: PodHistory| History {
        pods: history.pods.iter().cloned().chain([pod]).collect(),
        ..history.clone()
    };
    // Samples of the second pod, and whether it is ready.
    let of_second = |is_ready: bool, is_own: fn(i64) -> bool| {
        let mut history = history.clone();
        let own = &mut history.pods[1];
        own.ready = samples(|_| f64::from(u8::from(is_ready)));
        let app = own.containers.get_mut("app").unwrap();
        app.cpu = only(&app.cpu, is_own);
        history
    };
    // One of two containers does not run, and the other is measured.
    let mut crashed = of_second(false, |_| true);
    let containers = &mut crashed.pods[1].containers;
    let sidecar = ContainerHistory {
        cpu: only(&containers["app"].cpu, |second| second <= -120),
        ..containers["app"].clone()
    };
    containers.insert("sidecar".into(), sidecar);
    // It was there until a few seconds before the passes, and its usage was scraped until then or not.
    let gone = |usage: i64| {
        let mut history = history.clone();
        let own = &mut history.pods[1];
        own.seen = only(&own.seen, |second| second <= -20);
        let app = own.containers.get_mut("app").unwrap();
        app.cpu = within(&app.cpu, -720..=usage);
        history
    };
    // A series has the gap of its own scrapes.
    let of_rare_scrapes = History {
        scrapes: only(&history.scrapes, |second| second % 60 == 0),
        ..of_second(true, |second| !(-105..0).contains(&second))
    };
    let every_minute = |is_own: fn(i64) -> bool| History {
        scrape: Some(60_000),
        ..of_second(true, is_own)
    };
    for (history, until, usage, known) in [
        (of_second(true, |second| second <= -60), 0, 0, [false; 3]),
        (
            of_second(true, |second| !(-60..0).contains(&second)),
            0,
            0,
            [false; 3],
        ),
        (
            of_second(true, |second| !(-45..0).contains(&second)),
            0,
            0,
            [true; 3],
        ),
        (of_second(false, |second| second <= -120), 0, 0, [true; 3]),
        (crashed, 0, 0, [false; 3]),
        (gone(-20), 0, 0, [true; 3]),
        (gone(-120), 0, 0, [true, false, false]),
        (of_rare_scrapes, 0, 0, [false; 3]),
        (every_minute(|second| second % 60 == 0), 0, 0, [true; 3]),
        (every_minute(|second| second % 120 == 0), 0, 0, [true; 3]),
        (every_minute(|second| second % 180 == 0), 0, 0, [false; 3]),
        (history.clone(), 0, 0, [true, true, true]),
        (history.clone(), -15, -15, [true, true, true]),
        (history.clone(), -30, 0, [false, true, true]),
        (history.clone(), 0, -30, [false, true, true]),
        (history.clone(), 0, -45, [false, false, true]),
        (with(pod("web-1-c", 50)), 0, 0, [false, false, true]),
        (with(pod("web-1-c", 3600)), 0, 0, [false; 3]),
    ] {
        let history = scraped(&history, &(-720..=until), usage);
        let passes = record(&input, &history, at()).unwrap().passes;
        let is_known = |ago: i64| {
            let time = at() - SignedDuration::from_secs(ago);
            let mut passes = passes.iter();
            passes.any(|pass| pass.time == time && pass.recommended != Bounds::UNKNOWN)
        };
        let pods = history.pods.len();
        assert_eq!([15, 30, 45].map(is_known), known, "{until} {usage} {pods}");
    }
}

/// The values of each pod count for a metric of the type Pods.
#[test]
fn a_pass_is_known_if_the_values_of_its_metric_were_sampled_around_it() {
    let metric = build::per_pod("rps", "10");
    let mut input = input(std::slice::from_ref(&metric));
    input.snapshot.now = at();
    for (until, known) in [(0, [true; 2]), (-30, [false, true]), (-60, [false; 2])] {
        let of = |(pod, until): (&str, i64)| ValueHistory {
            pod: Some(pod.into()),
            samples: within(&samples(|_| 10.0), -720..=until),
        };
        let series = [("web-1-a", 0), ("web-1-b", until)].map(of);
        let history = History {
            metrics: [(0, series.into())].into(),
            ..history()
        };
        let passes = record(&input, &history, at()).unwrap().passes;
        let is_known = |ago: i64| {
            let time = at() - SignedDuration::from_secs(ago);
            let mut passes = passes.iter();
            passes.any(|pass| pass.time == time && pass.recommended != Bounds::UNKNOWN)
        };
        assert_eq!([15, 30].map(is_known), known, "{until}");
    }
}

/// Nothing says that the recommendation was made, so none can be named that is too old.
#[test]
fn samples_that_only_bound_a_recommendation_do_not_make_it() {
    let (mut input, history) = dropped();
    input.snapshot.hpa.written.by_us = true;
    let vague = Bounds {
        at_least: 1,
        at_most: 4,
    };
    for (bounds, why) in [
        (
            vague,
            "a higher recommendation of 4 (inferred from the API and the samples) still holds, which raises the \
             result to 4. Not certain: the controller's history is known only within bounds; 1 to 4 are possible.",
        ),
        (
            Bounds::UNKNOWN,
            "the current 2 are assumed to be the last recommendation. Not certain: the controller's history is \
             unknown; 1 to 4 are possible.",
        ),
    ] {
        let mut recorded = record(&input, &history, at()).unwrap();
        for pass in &mut recorded.passes {
            (pass.recommended, pass.likely) = (bounds, Some(4));
        }
        input.evidence.recorded = Some(recorded);
        let (page, _) = explained(&Pass::run(input.clone()));
        let text = page.why.join(" ");
        assert!(text.contains(why), "{text}");
    }
}

/// No API server stores a target of 0, so it was not that of this HPA.
#[test]
fn a_target_that_cannot_be_was_not_recorded() {
    let mut history = history();
    let key = ("cpu".to_owned(), "utilization".to_owned());
    history.targets.insert(key, samples(|_| 0.0));
    let input = past(&[cpu()], &history).unwrap().input;
    let target = input.snapshot.hpa.spec.metrics[0].target().unwrap();
    assert_eq!(target.average_utilization, Some(50));
    assert_eq!(input.evidence.past.unwrap().kept, ["cpu"]);
}

#[test]
fn a_pod_of_a_name_that_was_there_before_is_another_pod() {
    let created = at().as_second() - 300;
    let mut history = history();
    let before: Vec<PodHistory> = history.pods.clone();
    for own in &before {
        let part = |samples: &Samples, is_own: &dyn Fn(i64) -> bool| {
            let points: Vec<_> = samples
                .all()
                .iter()
                .copied()
                .filter(|(time, _)| is_own(*time))
                .collect();
            let mut part = Samples::default();
            part.add(&points);
            part
        };
        let later = PodHistory {
            created: Some(created),
            started: Some(created),
            seen: part(&own.seen, &|time| time >= created * 1000),
            ..own.clone()
        };
        history.pods.push(later);
        let first = history
            .pods
            .iter_mut()
            .find(|it| it.name == own.name)
            .unwrap();
        first.seen = part(&own.seen, &|time| time < created * 1000);
        first.replaced = Some(created);
    }
    let pass = past(&[cpu()], &history).unwrap();
    let names: Vec<_> = pass
        .input
        .snapshot
        .pods
        .iter()
        .map(|pod| pod.name.clone())
        .collect();
    assert_eq!(names, ["web-1-a".into(), "web-1-b".into()]);
    assert_eq!(
        pass.input.snapshot.pods[0].created.unwrap().as_second(),
        created
    );
    let then = Timestamp::from_second(created - 60).unwrap();
    let pass = rewind(input(&[cpu()]), &history, then)
        .map(Pass::run)
        .unwrap();
    assert_eq!(pass.input.snapshot.pods.len(), 2);
}

#[test]
fn a_past_report_has_no_advice_to_wait_and_no_commands_for_the_hpa_of_today() {
    let mut history = history();
    history.max = samples(|_| 3.0);
    let queue = json!({"type": "External", "external": {
        "metric": {"name": "depth"}, "target": {"type": "AverageValue", "averageValue": "10"}}});
    let (_, json) = explained(&past(&[cpu(), queue], &history).unwrap());
    let findings = json["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding["commands"], json!([]), "{finding}");
        assert!(
            !finding["advice"].as_str().unwrap().starts_with("Wait"),
            "{finding}"
        );
    }
    // The load has just dropped.
    for pod in &mut history.pods {
        let used = |second: i64| 0.2 * (second.min(-60) + 720) as f64;
        let cpu = samples(|second| used(second) + 0.01 * (second + 60).max(0) as f64);
        pod.containers
            .values_mut()
            .for_each(|own| own.cpu = cpu.clone());
    }
    let (page, held) = explained(&past(&[cpu()], &history).unwrap());
    assert!(
        page.why[0].contains("(inferred from the samples) still holds"),
        "{:?}",
        page.why
    );
    assert!(
        held["findings"].to_string().contains("held-by-window"),
        "{}",
        held["findings"]
    );
    assert!(
        !held["findings"].to_string().contains("Wait"),
        "{}",
        held["findings"]
    );
    let note = json!("no query was stated for depth: --query depth=PROMQL gives its values");
    assert!(
        json["notes"].as_array().unwrap().contains(&note),
        "{}",
        json["notes"]
    );
}
