//! Generates the history that a Prometheus would have of the week in `examples/backtest/week.csv`: the series
//! of cAdvisor and kube-state-metrics for the pods of `shop/web`, in OpenMetrics, one file per two hours as
//! `promtool tsdb create-blocks-from openmetrics` expects. `scripts/prometheus` turns them into blocks and
//! starts a Prometheus. As in a cluster, usage has the times at which kubelets measured it, scrapes are lost, and
//! once a day kube-state-metrics restarts and so does a container, whose counters begin again.
//!
//! ```sh
//! cargo run --example prometheus -- DIRECTORY
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::Timestamp;

/// The seconds between two scrapes.
const SCRAPE: i64 = 30;

/// How long a pod takes to become ready, in seconds.
const START: i64 = 20;

/// The seconds that a block covers.
const BLOCK: i64 = 7200;

const DAY: i64 = 86_400;

/// When on each day kube-state-metrics is away, in seconds since midnight in UTC: from 09:10 to 09:12.
const AWAY: std::ops::Range<i64> = 33_000..33_120;

/// When on each day the container of the oldest pod restarts: at 09:22.
const RESTART: i64 = 33_720;

fn main() -> std::io::Result<()> {
    let Some(directory) = std::env::args().nth(1) else {
        return Err(std::io::Error::other("name a directory for the files"));
    };
    let week =
        moments(include_str!("../backtest/week.csv")).ok_or(std::io::ErrorKind::InvalidData)?;
    for (place, text) in history(&week, SCRAPE).files() {
        std::fs::write(format!("{directory}/{place}.om"), text)?;
    }
    Ok(())
}

/// The state of a cluster at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Seconds since 1970.
    pub(crate) time: i64,
    /// The usage of all pods since the previous moment, in milli-CPU.
    pub(crate) cpu: i64,
    /// The replicas that the Deployment requests.
    pub(crate) replicas: usize,
    /// Whether a rollout begins.
    pub(crate) is_rollout: bool,
}

/// The rows of a table such as `week.csv`.
pub(crate) fn moments(table: &str) -> Option<Vec<Moment>> {
    let rows = table.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        let [time, cpu, replicas, _, mark] = cells[..] else {
            return None;
        };
        let time: Timestamp = time.parse().ok()?;
        Some(Moment {
            time: time.as_second(),
            cpu: cpu.strip_suffix('m')?.parse().ok()?,
            replicas: replicas.parse().ok()?,
            is_rollout: !mark.is_empty(),
        })
    });
    rows.collect()
}

/// Samples by series and block.
#[derive(Debug, Default)]
pub(crate) struct History(BTreeMap<i64, BTreeMap<String, String>>);

impl History {
    /// Adds a sample at a time in seconds.
    pub(crate) fn add(&mut self, series: &str, time: i64, value: f64) {
        self.add_at(series, time * 1000, value);
    }

    /// Adds a sample at a time in milliseconds.
    pub(crate) fn add_at(&mut self, series: &str, millis: i64, value: f64) {
        let time = millis as f64 / 1000.0;
        let block = self.0.entry(millis.div_euclid(BLOCK * 1000)).or_default();
        let samples = match block.get_mut(series) {
            Some(samples) => samples,
            None => block.entry(series.to_owned()).or_default(),
        };
        let _ = writeln!(samples, "{series} {value} {time}");
    }

    /// Returns the files, each with the number of its block.
    pub(crate) fn files(&self) -> impl Iterator<Item = (i64, String)> {
        self.0.iter().map(|(place, series)| {
            let all: Vec<&str> = series.values().map(String::as_str).collect();
            (*place, format!("{}# EOF\n", all.concat()))
        })
    }
}

/// When the kubelet measures a container: every 10 s, and up to 10 s later, as the housekeeping of cAdvisor does. A
/// scrape gets the last measurement with the time at which it was made.
#[derive(Debug, Clone)]
pub(crate) struct Housekeeping {
    seed: u64,
    last: i64,
}

impl Housekeeping {
    /// The shortest time between two measurements, and the most that is added to it, in milliseconds.
    const INTERVAL: u64 = 10_000;

    /// Returns the measurements of a container from a time on, in milliseconds; the name makes them its own.
    pub(crate) fn of(name: &str, since: i64) -> Self {
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self {
            seed: name.bytes().fold(0xcbf2_9ce4_8422_2325, hash),
            last: since,
        }
    }

    /// Returns the time of the last measurement up to a time.
    pub(crate) fn last(&mut self, until: i64) -> i64 {
        loop {
            let seed = self
                .seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let later = Self::INTERVAL + (seed >> 33) % (Self::INTERVAL + 1);
            let next = self.last + i64::try_from(later).unwrap_or_default();
            if next > until {
                return self.last;
            }
            (self.seed, self.last) = (seed, next);
        }
    }
}

/// Whether the scrape of a container is lost, by its number: one of twelve is, and now and then three in a row.
pub(crate) fn is_lost(number: i64) -> bool {
    number.rem_euclid(12) == 5 || (40..43).contains(&number.rem_euclid(97))
}

/// A pod with the usage of its container so far, in CPU seconds.
struct Pod {
    name: String,
    /// Which pod it is; the scrapes of each are lost at times of their own.
    number: i64,
    created: i64,
    /// When its container started, and how often it did so again.
    started: i64,
    restarts: i32,
    used: f64,
    /// The kubelet's measurements of it, and the last one that was scraped, in milliseconds.
    measurements: Housekeeping,
    measured: i64,
}

/// Returns the history of some moments. A scrape records the state at its time. If the next moment is further
/// away than usual, nothing was scraped in between.
pub(crate) fn history(moments: &[Moment], scrape: i64) -> History {
    let mut out = History::default();
    let mut pods: Vec<Pod> = Vec::new();
    let (mut set, mut sets, mut named) = ("web-6d8f9c7b54".to_owned(), Vec::new(), 0);
    let Some(first) = moments.first() else {
        return out;
    };
    sets.push((set.clone(), first.time));
    for pair in moments.windows(2) {
        let [before, now] = pair else { continue };
        if before.is_rollout {
            pods.clear();
            set = format!("web-{:010x}", before.time);
            sets.push((set.clone(), before.time));
        }
        pods.truncate(before.replicas);
        while pods.len() < before.replicas {
            named += 1;
            let name = format!("{set}-{named:05}");
            // The first ones have been running for a long time.
            let created = if before.time == first.time {
                first.time - DAY
            } else {
                before.time
            };
            let measurements = Housekeeping::of(&name, before.time * 1000);
            let measured = before.time * 1000;
            pods.push(Pod {
                name,
                number: named,
                created,
                started: created,
                restarts: 0,
                used: 0.0,
                measurements,
                measured,
            });
        }
        let was_scraped = now.time - before.time <= 60;
        let mut time = before.time + scrape;
        while time <= now.time {
            let since_restart = (time - RESTART).rem_euclid(DAY);
            if let Some(oldest) = pods.first_mut().filter(|_| since_restart < scrape) {
                oldest.used = 0.0;
                oldest.started = time - since_restart;
                oldest.restarts += 1;
            }
            for pod in &mut pods {
                let last = pod.measurements.last(time * 1000);
                let cores = now.cpu as f64 / 1000.0 / before.replicas as f64;
                pod.used += cores * (last - pod.measured) as f64 / 1000.0;
                pod.measured = last;
            }
            if was_scraped {
                scraped(&mut out, time, scrape, before, &pods, &sets);
            }
            time += scrape;
        }
    }
    out
}

/// Records one scrape: the state according to kube-state-metrics, and of a container what the kubelet measured last,
/// with the time of the measurement.
fn scraped(
    out: &mut History,
    time: i64,
    scrape: i64,
    now: &Moment,
    pods: &[Pod],
    sets: &[(String, i64)],
) {
    if !AWAY.contains(&time.rem_euclid(DAY)) {
        state(out, time, now, pods, sets);
    }
    // Another Deployment whose pods have similar names, and use a lot.
    let cpu = "container_cpu_usage_seconds_total";
    out.add(
        &format!(r#"{cpu}{{{OTHER},container="web"}}"#),
        time,
        time as f64 * 3.0,
    );
    for Pod {
        name,
        number,
        started,
        used,
        measured,
        ..
    } in pods
    {
        if is_lost(time / scrape + 31 * number) {
            continue;
        }
        let labels = format!(r#"namespace="shop",pod="{name}""#);
        let container = format!(r#"{labels},container="web""#);
        // A container, the whole pod, and the container that holds the network.
        let mut add = |series: String, value: f64| out.add_at(&series, *measured, value);
        add(format!("{cpu}{{{container},image=\"web:2\"}}"), *used);
        add(format!(r#"{cpu}{{{labels},container=""}}"#), *used);
        add(
            format!(r#"{cpu}{{{labels},container="POD"}}"#),
            *used / 1000.0,
        );
        add(
            format!("container_memory_working_set_bytes{{{container}}}"),
            5e7 + used.sqrt().floor(),
        );
        let periods = (*measured as f64 / 1000.0 - *started as f64).max(0.0) * 10.0;
        add(
            format!("container_cpu_cfs_periods_total{{{container}}}"),
            periods,
        );
        add(
            format!("container_cpu_cfs_throttled_periods_total{{{container}}}"),
            0.0,
        );
    }
}

/// The labels of a pod of another Deployment.
const OTHER: &str = r#"namespace="shop",pod="web-admin-7c9d8b6f5d-x2x4k""#;

/// Records what kube-state-metrics has.
fn state(out: &mut History, time: i64, now: &Moment, pods: &[Pod], sets: &[(String, i64)]) {
    let mut add = |series: &str, value: f64| out.add(series, time, value);
    for (set, created) in sets {
        let labels = format!(r#"namespace="shop",replicaset="{set}""#);
        let owner = r#"owner_kind="Deployment",owner_name="web",owner_is_controller="true""#;
        add(&format!("kube_replicaset_owner{{{labels},{owner}}}"), 1.0);
        add(
            &format!("kube_replicaset_created{{{labels}}}"),
            *created as f64,
        );
    }
    add(
        &format!(
            r#"kube_pod_owner{{{OTHER},owner_kind="ReplicaSet",owner_name="web-admin-7c9d8b6f5d"}}"#
        ),
        1.0,
    );
    let owner = r#"owner_kind="Deployment",owner_name="web-admin""#;
    add(
        &format!(
            r#"kube_replicaset_owner{{namespace="shop",replicaset="web-admin-7c9d8b6f5d",{owner}}}"#
        ),
        1.0,
    );
    for Pod {
        name,
        created,
        restarts,
        ..
    } in pods
    {
        let labels = format!(r#"namespace="shop",pod="{name}""#);
        let set = name.rsplit_once('-').map_or("", |(set, _)| set);
        add(
            &format!(r#"kube_pod_owner{{{labels},owner_kind="ReplicaSet",owner_name="{set}"}}"#),
            1.0,
        );
        add(&format!("kube_pod_created{{{labels}}}"), *created as f64);
        if time >= created + START {
            add(
                &format!("kube_pod_status_ready_time{{{labels}}}"),
                (created + START) as f64,
            );
        }
        let container = format!(r#"{labels},container="web""#);
        add(
            &format!(
                r#"kube_pod_container_resource_requests{{{container},resource="cpu",unit="core"}}"#
            ),
            0.4,
        );
        let restarts = f64::from(*restarts);
        add(
            &format!("kube_pod_container_status_restarts_total{{{container}}}"),
            restarts,
        );
    }
    let ready = pods
        .iter()
        .filter(|pod| time >= pod.created + START)
        .count() as f64;
    let deployment =
        |name: &str| format!(r#"kube_deployment_{name}{{namespace="shop",deployment="web"}}"#);
    let replicas = now.replicas as f64;
    add(&deployment("spec_replicas"), replicas);
    add(&deployment("status_replicas"), replicas);
    add(
        &deployment("status_replicas_updated"),
        if now.is_rollout { 0.0 } else { replicas },
    );
    add(&deployment("status_replicas_ready"), ready);
    let hpa = r#"namespace="shop",horizontalpodautoscaler="web""#;
    let of_hpa = |name: &str| format!("kube_horizontalpodautoscaler_{name}{{{hpa}}}");
    add(&of_hpa("status_desired_replicas"), replicas);
    add(&of_hpa("spec_min_replicas"), 3.0);
    add(&of_hpa("spec_max_replicas"), 24.0);
    let target = r#"metric_name="cpu",metric_target_type="utilization""#;
    add(
        &format!("kube_horizontalpodautoscaler_spec_target_metric{{{hpa},{target}}}"),
        60.0,
    );
}
