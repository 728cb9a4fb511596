//! What a Prometheus would have of a part of a run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kubectl_hpa::prometheus::history::{
    ContainerHistory, History, PodHistory, Samples, ValueHistory,
};
use kubectl_hpa::snapshot::MetricAnswer;
use kubectl_hpa::snapshot::input::Input;
use kubectl_hpa::snapshot::pod::{ConditionStatus, Phase};

/// How a run is scraped; its moments are 5 s apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scrapes {
    /// The moments between two scrapes.
    pub(super) every: usize,
    /// Whether counters have the time at which the kubelet read them: 10 to 20 s apart for each container.
    pub(super) own_times: bool,
    /// What goes wrong.
    pub(super) faults: Faults,
}

/// What goes wrong while a run is scraped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Faults {
    /// Nothing.
    None,
    /// Every seventh scrape fails, of the state and of the usage at different times.
    Lost,
    /// kube-state-metrics is away for a minute of every six.
    Away,
    /// The counter of each container begins again every three minutes and more, each at another time.
    Resets,
}

impl Scrapes {
    /// A scrape every 15 s, none of which fails.
    pub(super) const PLAIN: Self = Self {
        every: 3,
        own_times: false,
        faults: Faults::None,
    };

    fn is_state_lost(self, place: usize) -> bool {
        match self.faults {
            Faults::Lost => (place / self.every).is_multiple_of(7),
            Faults::Away => (60..72).contains(&(place % 72)),
            Faults::None | Faults::Resets => false,
        }
    }

    fn is_usage_lost(self, place: usize) -> bool {
        self.faults == Faults::Lost && (place / self.every + 3).is_multiple_of(7)
    }

    /// Returns what a counter shows that has counted so far since a pod was created.
    fn counted(self, counter: &Counter, name: &str, (millis, used): (i64, f64)) -> f64 {
        let Some(&(start, _)) = counter.first().filter(|_| self.faults == Faults::Resets) else {
            return used;
        };
        let life = 180_000 + i64::from(seed(name) % 60) * 1000;
        let restarted = start + (millis - start) / life * life;
        used - at(counter, restarted)
    }
}

/// The CPU seconds that a pod had used at a moment, in milliseconds since 1970.
type Counter = Vec<(i64, f64)>;

fn seed(name: &str) -> u32 {
    name.bytes()
        .fold(7, |seed: u32, byte| seed.wrapping_mul(31) + u32::from(byte))
}

/// Returns when the kubelet last read a counter, and what it read; `None` if it has not read it yet.
fn read(counter: &Counter, name: &str, millis: i64) -> Option<(i64, f64)> {
    let mut seed = seed(name);
    let mut time = counter.first()?.0;
    let mut last = None;
    while time <= millis {
        last = Some(time);
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        time += 10_000 + i64::from(seed >> 16) % 10_000;
    }
    let time = last?;
    Some((time, at(counter, time)))
}

/// Returns the CPU seconds at a time, which is not before the first one.
fn at(counter: &Counter, time: i64) -> f64 {
    let place = counter.partition_point(|(at, _)| *at <= time);
    let before = counter[place - 1];
    let Some(after) = counter.get(place) else {
        return before.1;
    };
    let share = (time - before.0) as f64 / (after.0 - before.0) as f64;
    before.1 + (after.1 - before.1) * share
}

/// Returns the history of moments.
pub(super) fn history(moments: &[Input], scrapes: Scrapes) -> History {
    let mut history = History {
        scrape: Some(scrapes.every as i64 * 5_000),
        ..History::default()
    };
    let mut counters: BTreeMap<Box<str>, Counter> = BTreeMap::new();
    let mut pods: BTreeMap<Box<str>, PodHistory> = BTreeMap::new();
    for (place, moment) in moments.iter().enumerate() {
        let snapshot = &moment.snapshot;
        let time = snapshot.now.as_millisecond();
        for item in &snapshot.pod_metrics {
            let milli = item.containers[0].get("cpu").expect("a usage");
            let counter = counters
                .entry(item.name.clone())
                .or_insert_with(|| vec![(time - 5_000, 0.0)]);
            let used = counter.last().map_or(0.0, |(_, used)| *used);
            counter.push((time, used + milli as f64 / 1000.0 * 5.0));
        }
        if !place.is_multiple_of(scrapes.every) {
            continue;
        }
        let add = |samples: &mut Samples, value: f64| samples.add(&[(time, value)]);
        let is_state_lost = scrapes.is_state_lost(place);
        for pod in snapshot.pods.iter().filter(|_| !is_state_lost) {
            let own = pods.entry(pod.name.clone()).or_insert_with(|| PodHistory {
                name: pod.name.clone(),
                created: pod.created.map(Timestamp::as_second),
                phases: [Phase::Pending, Phase::Running]
                    .map(|it| (it, Samples::default()))
                    .into(),
                ..PodHistory::default()
            });
            own.started = pod.start_time.map(Timestamp::as_second);
            add(&mut own.seen, 1.0);
            for (phase, samples) in &mut own.phases {
                add(samples, f64::from(u8::from(pod.phase == *phase)));
            }
            if let Some(ready) = pod.ready {
                let is_ready = ready.status == ConditionStatus::True;
                add(&mut own.ready, f64::from(u8::from(is_ready)));
                if is_ready {
                    add(
                        &mut own.ready_time,
                        ready.last_transition_time.as_second() as f64,
                    );
                }
            }
            if let Some(deleted) = pod.deletion_timestamp {
                add(&mut own.deleted, deleted.as_second() as f64);
            }
            for container in &pod.containers {
                let of = own
                    .containers
                    .entry(container.name.clone())
                    .or_insert_with(|| {
                        let requests = container.requests.0.iter();
                        let requests = requests.map(|(name, _)| (name.clone(), Samples::default()));
                        ContainerHistory {
                            requests: requests.collect(),
                            ..ContainerHistory::default()
                        }
                    });
                for ((_, samples), (_, amount)) in of.requests.iter_mut().zip(&container.requests.0)
                {
                    add(samples, amount.milli_value() as f64 / 1000.0);
                }
            }
        }
        let is_usage_lost = scrapes.is_usage_lost(place);
        for (name, own) in pods.iter_mut().filter(|_| !is_usage_lost) {
            let counter = counters.get(name).filter(|_| own.containers.len() == 1);
            let is_there = snapshot.pods.iter().any(|pod| pod.name == *name);
            let Some(counter) = counter.filter(|_| is_there) else {
                continue;
            };
            let cpu = &mut own.containers.values_mut().next().expect("one").cpu;
            let sample = if scrapes.own_times {
                read(counter, name, time)
            } else {
                counter.last().filter(|(at, _)| *at == time).copied()
            };
            let last = cpu.last(i64::MAX).map(|(time, _)| time);
            let sample = sample.filter(|(time, _)| last != Some(*time));
            let counted = sample.map(|own| (own.0, scrapes.counted(counter, name, own)));
            cpu.add(&Vec::from_iter(counted));
        }
        if is_state_lost {
            continue;
        }
        add(&mut history.scrapes, 1.0);
        let scale = snapshot.scale.as_ref().expect("a scale");
        add(&mut history.replicas, scale.spec_replicas.into());
        add(&mut history.status_replicas, scale.status_replicas.into());
        let hpa = &snapshot.hpa;
        if let Some(created) = hpa.written.created {
            add(&mut history.creations, created.as_second() as f64);
        }
        add(&mut history.min, hpa.spec.min_replicas.unwrap_or(1).into());
        add(&mut history.max, hpa.spec.max_replicas.into());
        add(&mut history.desired, hpa.status.desired_replicas.into());
        for (index, answer) in snapshot.metrics.iter().enumerate() {
            if let MetricAnswer::External(values) = answer {
                let total: i64 = values.iter().map(|value| value.value).sum();
                let all = history
                    .metrics
                    .entry(index)
                    .or_insert_with(|| vec![ValueHistory::default()]);
                add(&mut all[0].samples, total as f64 / 1000.0);
            }
        }
    }
    history.pods = pods.into_values().collect();
    history
}
