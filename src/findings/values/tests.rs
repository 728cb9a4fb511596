//! For each code a state in which it appears, and near misses in which it does not. Expectations are
//! derived by hand from the controller's rules.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::apimachinery::quantity::Quantity;
use crate::build;
use crate::findings::testing::{check, only, state, with};
use crate::findings::values::stale_samples::StaleSamples;
use crate::findings::values::suspect_unit::Clue::{Milliseconds, Power, Share, Whole};
use crate::findings::values::suspect_unit::SuspectUnit;
use crate::findings::values::value_multiplies::ValueMultiplies;
use crate::findings::{Code, Severity};

fn cpu() -> Value {
    build::resource("cpu", &build::utilization(50))
}

fn queue(target: &Value) -> Value {
    build::external("queue", target)
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

#[test]
fn samples_that_are_old() {
    let fresh = state(&[cpu()], &["50m", "50m"]);
    let at = |seconds: i64| {
        let time =
            build::NOW.parse::<jiff::Timestamp>().unwrap() - SignedDuration::from_secs(seconds);
        (
            time,
            with(
                &fresh,
                "PodMetrics",
                &json!({"timestamp": time.to_string()}),
            ),
        )
    };
    let (newest, old) = at(121);
    let (_, late) = at(61);
    let (_, young) = at(60);
    let mixed = {
        let mut items = fresh.clone();
        items.last_mut().unwrap()["timestamp"] = json!(newest.to_string());
        items
    };
    let facts = |stale| StaleSamples {
        metrics: vec![0],
        stale,
        samples: 2,
        newest,
        window: Some(SignedDuration::from_secs(15)),
        doubts_clock: false,
    };
    // The external API states times, but no windows.
    let external = |timestamp: Value| {
        let mut values = build::queue(&["10"]);
        values["items"][0]["timestamp"] = timestamp;
        [
            state(&[queue(&build::average("10"))], &["50m"]),
            vec![values],
        ]
        .concat()
    };
    let (hour, _) = at(3600);
    let of_queue = StaleSamples {
        samples: 1,
        newest: hour,
        window: None,
        ..facts(1)
    };
    let code = Code::StaleSamples;
    check(vec![
        (
            "more than two minutes",
            code,
            old,
            Some((Severity::Warning, true, facts(2).into())),
        ),
        ("a minute", code, young, None),
        (
            "an hour, from the external API",
            code,
            external(json!(hour.to_string())),
            Some((Severity::Warning, true, of_queue.into())),
        ),
        (
            "two minutes, from the external API",
            code,
            external(json!("2026-11-21T05:58:00Z")),
            None,
        ),
        (
            "an unknown time, from the external API",
            code,
            external(Value::Null),
            None,
        ),
        (
            "one pod",
            code,
            mixed,
            Some((Severity::Warning, false, facts(1).into())),
        ),
    ]);
    let finding = only(code, &late).unwrap();
    assert_eq!(
        (finding.severity, finding.explains),
        (Severity::Info, false)
    );
    // Samples from after the pass show that its time is wrong.
    let (_, ahead) = at(-3600);
    let finding = only(code, &ahead).unwrap();
    assert_eq!(
        (finding.severity, finding.explains),
        (Severity::Info, false)
    );
}

#[test]
fn a_value_and_a_target_in_different_units() {
    let external = |target: &str, value: &str| {
        [
            state(&[queue(&build::average(target))], &["50m"]),
            vec![build::queue(&[value])],
        ]
        .concat()
    };
    let total = |name: &str, target: &str, value: &str| {
        let values = [json!({"metricName": name, "value": value})];
        let items = state(&[build::external(name, &build::value(target))], &["50m"]);
        [items, vec![build::external_values(values)]].concat()
    };
    let of_each = |name: &str, target: &str, value: &str| {
        let values = [json!({"metricName": name, "value": value})];
        let items = state(&[build::external(name, &build::average(target))], &["50m"]);
        [items, vec![build::external_values(values)]].concat()
    };
    let memory = |target: &str, usage: &str| {
        let metric = build::resource("memory", &build::average(target));
        let containers = json!([{"name": "app", "usage": {"cpu": "1m", "memory": usage}}]);
        with(
            &state(&[metric], &["50m"]),
            "PodMetrics",
            &json!({ "containers": containers }),
        )
    };
    let latency = |name: &str, target: &str, value: &str| {
        let metric = json!({"type": "Pods", "pods": {
            "metric": {"name": name}, "target": build::average(target)}});
        let value = json!({"describedObject": {"kind": "Pod", "name": "web-0", "namespace": "default"},
            "metric": {"name": name}, "timestamp": build::NOW, "value": value});
        let values = json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
            "metadata": {}, "items": [value]});
        [state(&[metric], &["50m"]), vec![values]].concat()
    };
    // A share of each of four pods.
    let idle = |shares: [&str; 4]| {
        let name = "DCGM_FI_DEV_GPU_UTIL";
        let metric = json!({"type": "Pods", "pods": {
            "metric": {"name": name}, "target": build::average("60")}});
        let value = |(number, value): (usize, &&str)| {
            json!({"describedObject": {"kind": "Pod", "name": format!("web-{number}"), "namespace": "default"},
                "metric": {"name": name}, "timestamp": build::NOW, "value": value})
        };
        let items: Vec<Value> = shares.iter().enumerate().map(value).collect();
        let values = json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
            "metadata": {}, "items": items});
        [state(&[metric], &["50m"; 4]), vec![values]].concat()
    };
    let cores = |target: &str, usage: &str| {
        state(&[build::resource("cpu", &build::average(target))], &[usage])
    };
    let meant = |items: &[Value]| {
        let finding = only(Code::SuspectUnit, items)?;
        let super::super::Facts::SuspectUnit(facts) = finding.facts else {
            panic!()
        };
        let is_low = facts.clue == Share || matches!(&*facts.target.to_string(), "200k");
        let severity = if is_low && facts.ratio < 1.0 {
            Severity::Info
        } else {
            Severity::Warning
        };
        assert_eq!(finding.severity, severity);
        let SuspectUnit { meant, clue, .. } = facts;
        Some((meant.to_string(), clue, finding.explains))
    };
    for (items, want) in [
        (external("30m", "25"), Some(("30", Whole, true))),
        (
            latency("gpu_utilization", "800m", "75"),
            Some(("80", Whole, true)),
        ),
        (latency("jobs", "20m", "15"), Some(("20", Whole, true))),
        (external("500", "600M"), Some(("500M", Power, true))),
        (memory("500", "300Mi"), Some(("500Mi", Power, true))),
        (cores("50", "60m"), Some(("50m", Power, true))),
        (memory("500", "100Mi"), Some(("500Mi", Power, true))),
        (memory("200m", "100Mi"), Some(("200Mi", Whole, true))),
        (memory("100Gi", "100Mi"), Some(("100Mi", Power, false))),
        (
            latency("latency_ms", "500", "450m"),
            Some(("500m", Power, false)),
        ),
        (
            latency("gpu_utilization", "80", "450m"),
            Some(("800m", Share, false)),
        ),
        (
            latency("hitRatio", "90", "950m"),
            Some(("900m", Share, false)),
        ),
        (
            latency("CPUUtilization", "60", "700m"),
            Some(("600m", Share, true)),
        ),
        (
            latency("busy_percent", "70", "600m"),
            Some(("700m", Share, false)),
        ),
        (
            latency("gpu_utilization", "800m", "73500m"),
            Some(("80", Share, true)),
        ),
        // A tenth of each, and far more whole ones.
        (latency("rps", "100m", "9"), Some(("100", Whole, true))),
        (external("100m", "9"), Some(("100", Whole, true))),
        // Milliseconds that are thousandths.
        (
            of_each("backend_latencies", "50m", "1211m"),
            Some(("50", Milliseconds, true)),
        ),
        (
            latency("response_time", "50m", "1211m"),
            Some(("50", Milliseconds, true)),
        ),
        (of_each("backend_latency_seconds", "50m", "1211m"), None),
        (of_each("backend_latencies", "50m", "400m"), None),
        (external("100m", "4"), None),
        (latency("rps", "500m", "40"), None),
        // Whole numbers, a share of something small, and one pod above 1.
        (latency("gpu_utilization", "60", "1"), None),
        (latency("backlog_to_worker_ratio", "15", "800m"), None),
        (latency("utility_requests", "50", "300m"), None),
        (idle(["750m", "0", "0", "3"]), None),
        (
            idle(["900m", "300m", "300m", "900m"]),
            Some(("600m", Share, true)),
        ),
        // An idle percentage, more than 100%, a low target, and names that only look like shares.
        (latency("busy_percent", "70", "100m"), None),
        (latency("gpu_utilization", "80", "1200m"), None),
        (latency("gpu_utilization", "5", "450m"), None),
        (latency("pending_operations", "80", "450m"), None),
        (latency("pending_operations", "800m", "73500m"), None),
        // An idle rate, low memory, and a short latency.
        (latency("rps", "500", "450m"), None),
        (memory("100Gi", "10Mi"), None),
        (latency("latency_ms", "500", "300m"), None),
        // Half a job for each replica, a fifth of a second, and a name that ends like a share.
        (external("500m", "120"), None),
        (external("500m", "800"), None),
        (latency("jobs", "800m", "75"), None),
        (latency("latency_seconds", "200m", "14"), None),
        (latency("latency_seconds", "10m", "4"), None),
        (latency("GPUutility", "60", "700m"), None),
        // Times in milliseconds and seconds, and totals in thousands and in percents.
        (
            total("http_request_duration", "250m", "230"),
            Some(("250", Power, true)),
        ),
        (
            total("latency_seconds", "200m", "250"),
            Some(("200", Power, true)),
        ),
        (total("rps", "200m", "200"), Some(("200", Whole, true))),
        (
            total("broker_usage", "700m", "85"),
            Some(("70", Whole, true)),
        ),
        (latency("rps", "200k", "190"), Some(("200", Power, false))),
        // Any job at all, a few of them, many bytes, and values that are not near.
        (total("queue", "500m", "3"), None),
        (total("queue", "900m", "20"), None),
        (total("latency_seconds", "200m", "4"), None),
        (latency("network_rx", "200k", "190"), None),
        (latency("rps", "200k", "120"), None),
        (latency("rps", "500k", "50"), None),
        // Queues that are named after a time, which no replica has a part of.
        (of_each("rabbitmq-low-latency", "5", "5k"), None),
        (of_each("jobs_over_60_seconds", "5", "5k"), None),
        // A heavy load, a long queue, an idle one, a rate, and a target that pods do use.
        (external("30", "900"), None),
        (external("5", "5k"), None),
        (external("100", "0"), None),
        (external("500m", "750m"), None),
        (memory("500Mi", "1Gi"), None),
        (cores("100m", "1m"), None),
    ] {
        let want = want.map(|(text, clue, explains)| (text.to_owned(), clue, explains));
        assert_eq!(meant(&items), want, "{}", items[0]["spec"]["metrics"]);
    }
}

#[test]
fn a_value_that_multiplies() {
    let external = |target: &Value, value: &str| {
        let items = state(&[queue(target)], &["50m"; 3]);
        [items, vec![build::queue(&[value])]].concat()
    };
    let named = |name: &str, value: &str| {
        let items = state(&[build::external(name, &build::value("75"))], &["50m"; 3]);
        let mut values = build::queue(&[value]);
        values["items"][0]["metricName"] = json!(name);
        [items, vec![values]].concat()
    };
    let multiplies = |value: &str, proposals: &[i32], average| ValueMultiplies {
        metric: 0,
        current: quantity(value),
        target: quantity("75"),
        proposals: proposals.to_vec(),
        average,
        is_average: false,
    };
    let falls = ValueMultiplies {
        is_average: true,
        ..multiplies("225", &[9, 27], 3)
    };
    let most = json!({"spec": {"maxReplicas": 3}});
    let code = Code::ValueMultiplies;
    check(vec![
        (
            "three times the target",
            code,
            external(&build::value("75"), "225"),
            Some((
                Severity::Warning,
                true,
                multiplies("225", &[9, 27], 3).into(),
            )),
        ),
        (
            "a little more than the target",
            code,
            external(&build::value("75"), "90"),
            Some((
                Severity::Info,
                true,
                multiplies("90", &[4, 5, 6, 8], 2).into(),
            )),
        ),
        (
            "as a time, which falls with the replicas",
            code,
            named("request_duration_p95", "225"),
            Some((Severity::Info, true, falls.clone().into())),
        ),
        (
            "as an average of each pod, which falls with the replicas",
            code,
            named("avg_requests_per_pod", "225"),
            Some((Severity::Info, true, falls.clone().into())),
        ),
        (
            "as operations, which need not fall with the replicas",
            code,
            named("pending_operations", "225"),
            Some((
                Severity::Warning,
                true,
                multiplies("225", &[9, 27], 3).into(),
            )),
        ),
        (
            "as a share, which falls with the replicas",
            code,
            named("gpu_util", "225"),
            Some((Severity::Info, true, falls.clone().into())),
        ),
        (
            "as a share after an acronym, which falls with the replicas",
            code,
            named("CPUUtilization", "225"),
            Some((Severity::Info, true, falls.clone().into())),
        ),
        (
            "a little more than the target, where only the maximum ends it",
            code,
            with(
                &external(&build::value("75"), "90"),
                "HorizontalPodAutoscaler",
                &most,
            ),
            Some((Severity::Warning, true, multiplies("90", &[4], 2).into())),
        ),
        (
            "in another unit",
            code,
            [
                state(&[queue(&build::value("200m"))], &["50m"]),
                vec![build::queue(&["200"])],
            ]
            .concat(),
            None,
        ),
        (
            "less than the target",
            code,
            external(&build::value("75"), "25"),
            None,
        ),
        (
            "an average",
            code,
            external(&build::average("75"), "225"),
            None,
        ),
    ]);
}
