//! What a Prometheus with a scrape at every third moment, 15 s apart, would have of a run up to a moment.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kubectl_hpa::prometheus::history::{
    ContainerHistory, History, PodHistory, Samples, ValueHistory,
};
use kubectl_hpa::snapshot::MetricAnswer;
use kubectl_hpa::snapshot::input::Input;
use kubectl_hpa::snapshot::pod::{ConditionStatus, Phase};

/// The moments between two scrapes; moments are 5 s apart.
const EVERY: usize = 3;

/// Returns the history of moments.
pub(super) fn history(moments: &[Input]) -> History {
    let mut history = History { scrape: Some(EVERY as i64 * 5_000), ..History::default() };
    let mut used: BTreeMap<Box<str>, f64> = BTreeMap::new();
    let mut pods: BTreeMap<Box<str>, PodHistory> = BTreeMap::new();
    for (place, moment) in moments.iter().enumerate() {
        let snapshot = &moment.snapshot;
        let time = snapshot.now.as_millisecond();
        for item in &snapshot.pod_metrics {
            let milli = item.containers[0].get("cpu").expect("a usage");
            *used.entry(item.name.clone()).or_default() += milli as f64 / 1000.0 * 5.0;
        }
        if !place.is_multiple_of(EVERY) {
            continue;
        }
        let add = |samples: &mut Samples, value: f64| samples.add(&[(time, value)]);
        add(&mut history.scrapes, 1.0);
        for pod in &snapshot.pods {
            let own = pods.entry(pod.name.clone()).or_insert_with(|| PodHistory {
                name: pod.name.clone(),
                created: pod.created.map(Timestamp::as_second),
                phases: [Phase::Pending, Phase::Running].map(|it| (it, Samples::default())).into(),
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
                    add(&mut own.ready_time, ready.last_transition_time.as_second() as f64);
                }
            }
            if let Some(deleted) = pod.deletion_timestamp {
                add(&mut own.deleted, deleted.as_second() as f64);
            }
            for container in &pod.containers {
                let of = own.containers.entry(container.name.clone()).or_insert_with(|| {
                    let requests = container.requests.0.iter();
                    let requests = requests.map(|(name, _)| (name.clone(), Samples::default()));
                    ContainerHistory { requests: requests.collect(), ..ContainerHistory::default() }
                });
                for ((_, samples), (_, amount)) in of.requests.iter_mut().zip(&container.requests.0)
                {
                    add(samples, amount.milli_value() as f64 / 1000.0);
                }
                if let Some(used) = used.get(&pod.name) {
                    add(&mut of.cpu, *used);
                }
            }
        }
        let scale = snapshot.scale.as_ref().expect("a scale");
        add(&mut history.replicas, scale.spec_replicas.into());
        add(&mut history.status_replicas, scale.status_replicas.into());
        let hpa = &snapshot.hpa;
        history.created = hpa.written.created.map(Timestamp::as_second);
        add(&mut history.min, hpa.spec.min_replicas.unwrap_or(1).into());
        add(&mut history.max, hpa.spec.max_replicas.into());
        add(&mut history.desired, hpa.status.desired_replicas.into());
        for (index, answer) in snapshot.metrics.iter().enumerate() {
            if let MetricAnswer::External(values) = answer {
                let total: i64 = values.iter().map(|value| value.value).sum();
                let all =
                    history.metrics.entry(index).or_insert_with(|| vec![ValueHistory::default()]);
                add(&mut all[0].samples, total as f64 / 1000.0);
            }
        }
    }
    history.pods = pods.into_values().collect();
    history
}
