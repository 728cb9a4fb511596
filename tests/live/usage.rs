//! Usage from a Prometheus as it scrapes kubelets: samples have the times at which cAdvisor measured, scrapes are
//! lost, counters are reset and kube-state-metrics restarts. A load that is known is read again, and recorded runs of
//! a real controller are replayed.
#![allow(
    clippy::print_stdout,
    reason = "the figures of docs/prometheus.md are printed"
)]

use std::collections::BTreeMap;

use kubectl_hpa::snapshot::MetricAnswer;
use serde_json::Value;

use super::api::json::array;
use super::prometheus::history::{History, Housekeeping, is_lost};
use super::prometheus::trajectories::{self, NAMES};
use super::prometheus::{Real, STATE, WEB, file, load_of, run_at, time};
use super::state_in;

/// The beginning of the made-up histories, in seconds since 1970, and how long they are.
const START: i64 = 1_794_960_000;
const SPAN: i64 = 3 * 3600;

/// The pods that share a constant load, and what each uses, in CPU seconds a second.
const PODS: usize = 4;
const EACH: f64 = 0.25;

/// What goes wrong while a constant load is scraped.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    /// One of twelve scrapes of a container is lost, and now and then three in a row.
    lost: bool,
    /// The counter of a container begins again every 47 minutes.
    resets: bool,
    /// kube-state-metrics is away for two minutes of each hour.
    restarts: bool,
}

/// Four pods with a constant load of 1000m together, scraped that often, each at times of its own.
fn constant(scrape: i64, faults: Faults) -> History {
    let mut history = History::default();
    let hpa = r#"{namespace="shop",horizontalpodautoscaler="web"}"#;
    let hpa = format!("kube_horizontalpodautoscaler_spec_max_replicas{hpa}");
    let owner = r#"owner_kind="Deployment",owner_name="web""#;
    let set = format!(r#"kube_replicaset_owner{{namespace="shop",replicaset="web-1",{owner}}}"#);
    for time in (START..START + SPAN).step_by(usize::try_from(scrape).expect("a time")) {
        if faults.restarts && (time - START) % 3600 >= 3480 {
            continue;
        }
        history.add(&hpa, time, 24.0);
        history.add(&set, time, 1.0);
        for pod in 0..PODS {
            let labels = format!(r#"namespace="shop",pod="web-1-{pod}""#);
            let owner = r#"owner_kind="ReplicaSet",owner_name="web-1""#;
            history.add(&format!("kube_pod_owner{{{labels},{owner}}}"), time, 1.0);
        }
    }
    for pod in 0..PODS {
        let labels = format!(r#"namespace="shop",pod="web-1-{pod}",container="web""#);
        let series = format!("container_cpu_usage_seconds_total{{{labels}}}");
        let mut measured = Housekeeping::of(&series, START * 1000);
        let (mut last, phase) = (0, i64::try_from(pod).expect("a count") * 3700);
        for number in 0..SPAN / scrape {
            let is_lost = faults.lost && is_lost(number);
            let scraped = (START + number * scrape) * 1000 + phase;
            let millis = measured.last(scraped);
            if is_lost || millis == last {
                continue;
            }
            last = millis;
            let life = if faults.resets { 47 * 60_000 } else { i64::MAX };
            let age = (millis - START * 1000 + phase * 40) % life;
            history.add_at(&series, millis, age as f64 / 1000.0 * EACH);
        }
    }
    history
}

/// The cells of a column of the load that a run reads from a real one, in milli-units.
fn milli(real: &Real, step: i64, name: &str) -> Vec<Option<i64>> {
    let saved = file(name, "");
    let (since, until) = (time(START + 900), time(START + SPAN - 120));
    let step_of = format!("--step={step}s");
    let span = ["--since", &since, "--until", &until, &step_of];
    let more = [&span[..], &["--save", &saved, "-o", "json"]].concat();
    run_at(real.url(), "predict", STATE, WEB, &more).answer();
    let load = load_of(&saved);
    let rows = array(&load["rows"]).iter();
    let cell = |row: &Value| match row[1].as_str().expect("a cell") {
        "missing" => None,
        cell => Some(
            cell.strip_suffix('m')
                .expect("milli-units")
                .parse()
                .expect("a number"),
        ),
    };
    rows.map(cell).collect()
}

#[test]
fn a_constant_load_is_read_as_it_is() {
    let (lost, resets) = (true, true);
    for scrape in [15, 30, 60] {
        for faults in [
            Faults::default(),
            Faults {
                lost,
                ..Faults::default()
            },
            Faults {
                resets,
                ..Faults::default()
            },
            Faults {
                lost,
                resets,
                ..Faults::default()
            },
        ] {
            let Some(real) = Real::start(|| constant(scrape, faults)) else {
                return;
            };
            for step in [15, scrape] {
                let read = milli(&real, step, "constant.json");
                let known: Vec<i64> = read.iter().copied().flatten().collect();
                let mean = known.iter().sum::<i64>() as f64 / known.len() as f64;
                let (least, most) = (known.iter().min(), known.iter().max());
                println!(
                    "{scrape} s, --step {step}s, {faults:?}: {mean:.1}m, {least:?} to {most:?}"
                );
                assert_eq!(
                    known.len(),
                    read.len(),
                    "{scrape} s {faults:?}: some are missing"
                );
                assert!(
                    (990.0..=1010.0).contains(&mean),
                    "{scrape} s {faults:?}: {mean}"
                );
                let is_near = |own: &i64| (950..=1050).contains(own);
                assert!(
                    known.iter().all(is_near),
                    "{scrape} s {faults:?}: {least:?} to {most:?}"
                );
            }
        }
    }
}

#[test]
fn a_restart_of_kube_state_metrics_leaves_no_gap_in_the_load() {
    let faults = Faults {
        restarts: true,
        ..Faults::default()
    };
    let Some(real) = Real::start(|| constant(30, faults)) else {
        return;
    };
    let read = milli(&real, 30, "restart.json");
    assert!(
        read.iter()
            .all(|own| own.is_some_and(|own| (950..=1050).contains(&own))),
        "{read:?}"
    );
}

#[test]
fn a_server_without_any_series_of_the_hpa_is_one_line_that_names_what_was_asked() {
    let Some(real) = Real::start(|| constant(30, Faults::default())) else {
        return;
    };
    let until = time(START + SPAN);
    let state = std::fs::read_to_string(STATE).expect("a state");
    let elsewhere = file(
        "elsewhere.yaml",
        &state.replace("namespace: shop", "namespace: shop-eu"),
    );
    let another = file("another.yaml", &state.replace("name: web", "name: api"));
    let matcher = "cluster=\"eu\"";
    for (name, namespace, state, more, parts) in [
        (
            "web",
            "shop",
            STATE,
            &["--prometheus-match", matcher][..],
            [
                "any pod of the namespace shop with --prometheus-match 'cluster=\"eu\"'",
                "its value",
            ],
        ),
        (
            "web",
            "shop-eu",
            &elsewhere,
            &[],
            ["any pod of the namespace shop-eu", "honorLabels"],
        ),
        (
            "api",
            "shop",
            &another,
            &[],
            ["the HPA api and its pods in the namespace shop", "name"],
        ),
    ] {
        let more = [&["--until", &until, "--since", "2h"], more].concat();
        let ran = run_at(real.url(), "predict", state, [name, namespace], &more);
        ran.fails(
            1,
            &[
                "error: Prometheus has no series of ",
                parts[0],
                "hint: ",
                parts[1],
            ],
        );
        assert_eq!(ran.complaint().len(), 2, "{}", ran.stderr);
    }
}

#[test]
fn a_state_without_pods_and_template_is_told_before_the_first_query() {
    let hpa = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\n\
               spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: \
               [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}\n";
    let target = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n\
                  spec: {replicas: 3, selector: {matchLabels: {app: web}}}\n";
    let state = file("manifests.yaml", &format!("{hpa}{target}"));
    let ran = run_at("http://127.0.0.1:1", "predict", &state, WEB, &[]);
    ran.fails(
        2,
        &[
            "error: --prometheus: nothing says what share of the request that is\n",
            "hint: state the request with --request cpu=VALUE, or add the manifest of the target",
        ],
    );
    assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
}

#[test]
fn a_state_without_its_time_is_replayed_as_with_it() {
    let Some(real) = Real::start(|| recorded("queue", 0, 15, true, Faults::default())) else {
        return;
    };
    let with = state("queue", 0);
    let mut list = state_in(&with);
    let items = list["items"].as_array_mut().expect("items");
    let all = items.len();
    items.retain(|item| {
        !item["apiVersion"]
            .as_str()
            .expect("a version")
            .starts_with("kubectl-hpa/")
    });
    assert!(
        items.len() < all,
        "the state has its time as an object of its own"
    );
    assert!(!list.to_string().contains("\"now\""));
    let without = file("usage-queue-timeless.json", &list.to_string());
    for step in [15, 30] {
        let [one, other] = [&with, &without].map(|state| checked(&real, "queue", 0, state, step));
        println!("--step {step}s: {one:.1} % with its time, {other:.1} % without");
        assert!(
            (one - other).abs() < f64::EPSILON && one > 50.0,
            "{step}: {one} and {other}"
        );
    }
}

/// What a Prometheus that scrapes at this interval would have of a run that took place this many seconds later. The
/// counters lead to the usage that was measured; their samples have the times of the kubelet's measurements, or of the
/// scrape. kube-state-metrics restarts after eight minutes, for a minute and a half, and counters begin again after
/// seven.
fn recorded(name: &str, later: i64, scrape: i64, has_own_times: bool, faults: Faults) -> History {
    let mut history = History::default();
    let moments = trajectories::moments(name);
    let namespace = format!(r#"namespace="{name}""#);
    let first = moments[0].snapshot.now.as_second() + later;
    let mut used: BTreeMap<&str, Vec<(i64, f64)>> = BTreeMap::new();
    for moment in moments {
        let snapshot = &moment.snapshot;
        let time = snapshot.now.as_second() + later;
        for item in &snapshot.pod_metrics {
            let cores = item.containers[0].get("cpu").expect("a usage") as f64 / 1000.0;
            let own = used
                .entry(&item.name)
                .or_insert_with(|| vec![((time - 5) * 1000, 0.0)]);
            let (last, before) = own.last().copied().expect("a beginning");
            own.push((
                time * 1000,
                before + cores * (time * 1000 - last) as f64 / 1000.0,
            ));
        }
        if (time - first) % scrape >= 5 {
            continue;
        }
        let mut add = |series: String, value: f64| history.add(&series, time, value);
        for answer in &snapshot.metrics {
            if let MetricAnswer::External(values) = answer {
                let total: i64 = values.iter().map(|value| value.value).sum();
                add(format!("queue_depth{{{namespace}}}"), total as f64 / 1000.0);
            }
        }
        if faults.restarts && (480..570).contains(&(time - first)) {
            continue;
        }
        for pod in &snapshot.pods {
            let set = &pod.owner.as_ref().expect("an owner").name;
            let owner = format!(r#"owner_kind="ReplicaSet",owner_name="{set}""#);
            add(
                format!(
                    r#"kube_pod_owner{{{namespace},pod="{}",{owner}}}"#,
                    pod.name
                ),
                1.0,
            );
            let owner = r#"owner_kind="Deployment",owner_name="web""#;
            add(
                format!(r#"kube_replicaset_owner{{{namespace},replicaset="{set}",{owner}}}"#),
                1.0,
            );
        }
        let replicas = snapshot.scale.as_ref().expect("a scale").spec_replicas;
        let deployment = format!(r#"{namespace},deployment="web""#);
        add(
            format!("kube_deployment_spec_replicas{{{deployment}}}"),
            replicas.into(),
        );
        let hpa = format!(r#"{namespace},horizontalpodautoscaler="web""#);
        let max = snapshot.hpa.spec.max_replicas;
        add(
            format!("kube_horizontalpodautoscaler_spec_max_replicas{{{hpa}}}"),
            max.into(),
        );
    }
    for (pod, counter) in used {
        let series = format!(
            r#"container_cpu_usage_seconds_total{{{namespace},pod="{pod}",container="app"}}"#
        );
        let (begin, end) = (counter[0].0, counter[counter.len() - 1].0);
        let mut measured = Housekeeping::of(&series, begin);
        let mut last = 0;
        let counted = |millis: i64| {
            let next = counter.partition_point(|(time, _)| *time < millis);
            let &(until, after) = counter.get(next)?;
            let (since, before) = counter[next.saturating_sub(1)];
            let part = if until > since {
                (millis - since) as f64 / (until - since) as f64
            } else {
                1.0
            };
            Some(before + (after - before) * part)
        };
        let scrapes = (first * 1000..=end).step_by(usize::try_from(scrape * 1000).expect("a time"));
        for (number, scraped) in scrapes.enumerate().filter(|(_, time)| *time >= begin) {
            let millis = if has_own_times {
                measured.last(scraped)
            } else {
                scraped
            };
            let is_lost = faults.lost && number % 12 == 5;
            let Some(used) = counted(millis).filter(|_| millis > last && !is_lost) else {
                continue;
            };
            last = millis;
            let begun = begin
                + if faults.resets {
                    (millis - begin) / 420_000 * 420_000
                } else {
                    0
                };
            history.add_at(&series, millis, used - counted(begun).unwrap_or(0.0));
        }
    }
    history
}

/// The share of the passes at which the replay of a run has the recorded replicas, in percent. The run was that many
/// seconds later.
fn checked(real: &Real, name: &str, later: i64, state: &str, step: i64) -> f64 {
    let last = trajectories::last(name).snapshot.now;
    let until = delayed(&last.to_string(), later).expect("a time");
    let step_of = format!("--step={step}s");
    let span = ["--until", &until, "--since=20m", &step_of, "-o=json"];
    let query: &[&str] = match name {
        "queue" => &["--query=queue_depth=sum(queue_depth{namespace=\"queue\"})"],
        _ => &[],
    };
    let joined = ["--ready-after=8s", "--metrics-after=20s"];
    let more = [&span[..], &joined, query].concat();
    let check =
        &run_at(real.url(), "predict", state, [WEB[0], name], &more).answer()["backtest"]["check"];
    let of = |name: &str| check[name].as_f64().expect("a count");
    100.0 * of("equal") / of("compared")
}

/// The seconds between two samples of a load.
const STEPS: [i64; 4] = [5, 15, 30, 60];

/// Returns a time this many seconds later; `None` if the text is not a time.
fn delayed(text: &str, seconds: i64) -> Option<String> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some((time + jiff::SignedDuration::from_secs(seconds)).to_string())
}

/// Makes every time of a state that many seconds later.
fn delay(value: &mut Value, seconds: i64) {
    match value {
        Value::String(text) => {
            if let Some(time) = delayed(text, seconds) {
                *text = time;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|own| delay(own, seconds)),
        Value::Object(all) => all.values_mut().for_each(|own| delay(own, seconds)),
        _ => {}
    }
}

/// The last state of a run, if it had been that many seconds later.
fn state(name: &str, later: i64) -> String {
    let state =
        kubectl_hpa::saved::save::to_json(&[trajectories::last(name)], &[]).expect("a state");
    let mut state: Value = serde_json::from_str(&state).expect("JSON");
    delay(&mut state, later);
    file(&format!("usage-{name}-{later}.json"), &state.to_string())
}

/// The scrapes by which the runs are recorded: how often, whether samples have the times of a kubelet, and what goes
/// wrong.
fn scrapes() -> impl Iterator<Item = (i64, bool, Faults)> {
    let none = Faults::default();
    let usage = Faults {
        lost: true,
        resets: true,
        ..none
    };
    let state_too = Faults {
        restarts: true,
        ..usage
    };
    let of_kubelets = [15, 30]
        .into_iter()
        .flat_map(move |scrape| [none, usage, state_too].map(|own| (scrape, true, own)));
    [(5, false, none)].into_iter().chain(of_kubelets)
}

#[test]
fn replays_of_recorded_runs_agree_with_what_was_recorded() {
    for (scrape, has_own_times, faults) in scrapes() {
        for name in NAMES {
            let history = || recorded(name, 0, scrape, has_own_times, faults);
            let Some(real) = Real::start(history) else {
                return;
            };
            let state = state(name, 0);
            let shares = STEPS.map(|step| checked(&real, name, 0, &state, step));
            println!("{name}, {scrape} s, own times {has_own_times}, {faults:?}: {shares:.1?}");
            // What was seen, rounded down, at the steps that are no longer than a scrape.
            let least = match (name, scrape) {
                ("plain" | "nodown", _) => 90.0,
                ("behave", 5 | 15) => 60.0,
                ("queue", 5 | 15) => 80.0,
                _ => 45.0,
            };
            // Of pods that are created while kube-state-metrics is away, nothing is known.
            let least = match faults {
                Faults { restarts: true, .. } => 0.55 * least,
                Faults { lost: true, .. } => 0.8 * least,
                _ => least,
            };
            assert!(
                shares[0] >= least,
                "{name}, {scrape} s, {faults:?}: {shares:?}"
            );
        }
    }
}

/// Where the samples and passes of a replay fall in a run is chance, and changes how many passes are as recorded by more
/// than most else does: the figures of docs/prometheus.md are means.
#[test]
#[ignore = "1,120 replays, for minutes: cargo test --release --test live usage -- --ignored"]
fn replays_of_recorded_runs_that_were_later_agree_on_average() {
    // In each step, and in each sync period, at several places.
    const LATER: i64 = 6;
    for (scrape, has_own_times, faults) in scrapes() {
        for name in NAMES {
            let mut all = STEPS.map(|_| Vec::new());
            for later in (0..60).step_by(LATER as usize) {
                let history = || recorded(name, later, scrape, has_own_times, faults);
                let Some(real) = Real::start(history) else {
                    return;
                };
                let state = state(name, later);
                for (own, step) in all.iter_mut().zip(STEPS) {
                    own.push(checked(&real, name, later, &state, step));
                }
            }
            let figures = all.map(|own| {
                let mean = own.iter().sum::<f64>() / own.len() as f64;
                let (least, most) = own
                    .iter()
                    .fold((100.0_f64, 0.0_f64), |(least, most), share| {
                        (least.min(*share), most.max(*share))
                    });
                (mean, least, most)
            });
            println!("{name}, {scrape} s, own times {has_own_times}, {faults:?}: {figures:.0?}");
            // What was seen, rounded down.
            let least = match name {
                "plain" | "nodown" => 80.0,
                "queue" => 45.0,
                _ => 25.0,
            };
            assert!(
                figures.iter().all(|(mean, ..)| *mean >= least),
                "{name}, {scrape} s, {faults:?}: {figures:?}"
            );
        }
    }
}
