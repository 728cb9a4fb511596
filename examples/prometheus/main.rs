//! Generates the history that a Prometheus would have of the week in `examples/backtest/week.csv`: the series
//! of cAdvisor and kube-state-metrics for the pods of `shop/web`, in OpenMetrics, one file per two hours as
//! `promtool tsdb create-blocks-from openmetrics` expects. `scripts/prometheus` turns them into blocks and
//! starts a Prometheus.
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
        let [time, cpu, replicas, _, mark] = cells[..] else { return None };
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
    /// Adds a sample.
    pub(crate) fn add(&mut self, series: &str, time: i64, value: f64) {
        let block = self.0.entry(time.div_euclid(BLOCK)).or_default();
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

/// A pod with its usage so far, in CPU seconds.
struct Pod {
    name: String,
    created: i64,
    used: f64,
}

/// Returns the history of some moments. A scrape records the state at its time. If the next moment is further
/// away than usual, nothing was scraped in between.
pub(crate) fn history(moments: &[Moment], scrape: i64) -> History {
    let mut out = History::default();
    let mut pods: Vec<Pod> = Vec::new();
    let (mut set, mut sets, mut named) = ("web-6d8f9c7b54".to_owned(), Vec::new(), 0);
    let Some(first) = moments.first() else { return out };
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
            let created = if before.time == first.time { first.time - 86_400 } else { before.time };
            pods.push(Pod { name, created, used: 0.0 });
        }
        let was_scraped = now.time - before.time <= 60;
        let mut time = before.time + scrape;
        while time <= now.time {
            for pod in &mut pods {
                pod.used += now.cpu as f64 / 1000.0 / before.replicas as f64 * scrape as f64;
            }
            if was_scraped {
                scraped(&mut out, time, before, &pods, &sets);
            }
            time += scrape;
        }
    }
    out
}

/// Records one scrape.
fn scraped(out: &mut History, time: i64, now: &Moment, pods: &[Pod], sets: &[(String, i64)]) {
    let mut add = |series: &str, value: f64| out.add(series, time, value);
    for (set, created) in sets {
        let labels = format!(r#"namespace="shop",replicaset="{set}""#);
        let owner = r#"owner_kind="Deployment",owner_name="web",owner_is_controller="true""#;
        add(&format!("kube_replicaset_owner{{{labels},{owner}}}"), 1.0);
        add(&format!("kube_replicaset_created{{{labels}}}"), *created as f64);
    }
    // Another Deployment whose pods have similar names, and use a lot.
    let other = r#"namespace="shop",pod="web-admin-7c9d8b6f5d-x2x4k""#;
    add(
        &format!(
            r#"kube_pod_owner{{{other},owner_kind="ReplicaSet",owner_name="web-admin-7c9d8b6f5d"}}"#
        ),
        1.0,
    );
    add(
        &format!(r#"container_cpu_usage_seconds_total{{{other},container="web"}}"#),
        time as f64 * 3.0,
    );
    let owner = r#"owner_kind="Deployment",owner_name="web-admin""#;
    add(
        &format!(
            r#"kube_replicaset_owner{{namespace="shop",replicaset="web-admin-7c9d8b6f5d",{owner}}}"#
        ),
        1.0,
    );
    for Pod { name, created, used } in pods {
        let labels = format!(r#"namespace="shop",pod="{name}""#);
        let set = name.rsplit_once('-').map_or("", |(set, _)| set);
        add(
            &format!(r#"kube_pod_owner{{{labels},owner_kind="ReplicaSet",owner_name="{set}"}}"#),
            1.0,
        );
        add(&format!("kube_pod_created{{{labels}}}"), *created as f64);
        if time >= created + START {
            add(&format!("kube_pod_status_ready_time{{{labels}}}"), (created + START) as f64);
        }
        let container = format!(r#"{labels},container="web""#);
        add(
            &format!(
                r#"kube_pod_container_resource_requests{{{container},resource="cpu",unit="core"}}"#
            ),
            0.4,
        );
        add(&format!("kube_pod_container_status_restarts_total{{{container}}}"), 0.0);
        // A container, the whole pod, and the container that holds the network.
        let cpu = "container_cpu_usage_seconds_total";
        add(&format!("{cpu}{{{container},image=\"web:2\"}}"), *used);
        add(&format!(r#"{cpu}{{{labels},container=""}}"#), *used);
        add(&format!(r#"{cpu}{{{labels},container="POD"}}"#), *used / 1000.0);
        add(
            &format!("container_memory_working_set_bytes{{{container}}}"),
            5e7 + used.sqrt().floor(),
        );
        add(
            &format!("container_cpu_cfs_periods_total{{{container}}}"),
            (time - created) as f64 * 10.0,
        );
        add(&format!("container_cpu_cfs_throttled_periods_total{{{container}}}"), 0.0);
    }
    let ready = pods.iter().filter(|pod| time >= pod.created + START).count() as f64;
    let deployment =
        |name: &str| format!(r#"kube_deployment_{name}{{namespace="shop",deployment="web"}}"#);
    let replicas = now.replicas as f64;
    add(&deployment("spec_replicas"), replicas);
    add(&deployment("status_replicas"), replicas);
    add(&deployment("status_replicas_updated"), if now.is_rollout { 0.0 } else { replicas });
    add(&deployment("status_replicas_ready"), ready);
    let hpa = r#"namespace="shop",horizontalpodautoscaler="web""#;
    let of_hpa = |name: &str| format!("kube_horizontalpodautoscaler_{name}{{{hpa}}}");
    add(&of_hpa("status_desired_replicas"), replicas);
    add(&of_hpa("spec_min_replicas"), 3.0);
    add(&of_hpa("spec_max_replicas"), 24.0);
    let target = r#"metric_name="cpu",metric_target_type="utilization""#;
    add(&format!("kube_horizontalpodautoscaler_spec_target_metric{{{hpa},{target}}}"), 60.0);
}
