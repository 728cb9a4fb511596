//! The gaps of a history. Some are filled by assumptions; with the others there is no past pass.

use std::borrow::Cow;

use jiff::Timestamp;

use super::pods::{is_active, phase};
use super::usage::{GAP, SHORTEST};
use super::{SECOND, read};
use crate::apimachinery::quantity::Quantity;
use crate::error::{Error, docs};
use crate::prometheus::history::{ContainerHistory, History, PodHistory, Samples};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{HpaSpec, MetricSpec, MetricTarget};
use crate::snapshot::input::Input;
use crate::snapshot::past::PastPart;
use crate::snapshot::pod::Phase;

/// Returns the parts that a pass over a spec uses and a history lacks.
pub(super) fn lacks(history: &History, spec: &HpaSpec) -> Vec<PastPart> {
    let has = |of: &dyn Fn(&PodHistory) -> bool| history.pods.iter().any(of);
    let measures =
        |of: &dyn Fn(&ContainerHistory) -> bool| has(&|pod| pod.containers.values().any(of));
    let resources = spec.metrics.iter().filter(|spec| spec.is_resource());
    let used: Vec<PastPart> = resources.filter_map(|spec| usage_of(spec.name())).collect();
    let parts = [
        (
            PastPart::Replicas,
            !history.replicas.is_empty() || !history.desired.is_empty(),
        ),
        (
            PastPart::Limits,
            !history.min.is_empty() && !history.max.is_empty(),
        ),
        (PastPart::Targets, !history.targets.is_empty()),
        (PastPart::Phases, has(&|pod| !pod.phases.is_empty())),
        (
            PastPart::Readiness,
            has(&|pod| !pod.ready.is_empty() || !pod.ready_time.is_empty()),
        ),
        (PastPart::StartTimes, has(&|pod| pod.started.is_some())),
        (PastPart::ReadyTimes, has(&|pod| !pod.ready_time.is_empty())),
        (
            PastPart::Requests,
            measures(&|own| !own.requests.is_empty()),
        ),
        (
            PastPart::Cpu,
            !used.contains(&PastPart::Cpu) || measures(&|own| !own.cpu.is_empty()),
        ),
        (
            PastPart::Memory,
            !used.contains(&PastPart::Memory) || measures(&|own| !own.memory.is_empty()),
        ),
    ];
    parts
        .into_iter()
        .filter(|(_, has)| !has)
        .map(|(part, _)| part)
        .collect()
}

/// Returns the part with the usage of a resource; `None` for a resource that cAdvisor does not measure.
pub(super) fn usage_of(resource: &str) -> Option<PastPart> {
    match resource {
        "cpu" => Some(PastPart::Cpu),
        "memory" => Some(PastPart::Memory),
        _ => None,
    }
}

/// Returns a history whose last sample of the HPA and the scale is the state that was read, unless that was long after
/// the last scrape.
pub(super) fn with_state<'h>(history: Cow<'h, History>, input: &Input) -> Cow<'h, History> {
    let read = read(input).as_millisecond();
    let is_next = span(&history.scrapes).is_some_and(|(_, last)| last < read && read - last <= GAP);
    let snapshot = input.as_observed();
    // A past pass has the scale of its own time.
    let scale = snapshot.scale.as_ref().ok();
    let Some(scale) = scale.filter(|_| is_next && input.evidence.past.is_none()) else {
        return history;
    };
    let mut sampled = history.into_owned();
    let spec = &snapshot.hpa.spec;
    for (samples, value) in [
        (&mut sampled.replicas, scale.spec_replicas),
        (&mut sampled.status_replicas, scale.status_replicas),
        (&mut sampled.desired, snapshot.hpa.status.desired_replicas),
        (&mut sampled.min, spec.min()),
        (&mut sampled.max, spec.max_replicas),
    ] {
        add_next(samples, read, value.into());
    }
    for metric in &spec.metrics {
        let Some(target) = metric.target() else {
            continue;
        };
        for (kind, value) in values(target) {
            let key = (metric.name().to_owned(), kind.to_owned());
            if let Some(samples) = sampled.targets.get_mut(&key) {
                add_next(samples, read, value);
            }
        }
    }
    Cow::Owned(sampled)
}

/// Adds a sample to others, if there are any.
fn add_next(samples: &mut Samples, millis: i64, value: f64) {
    if !samples.is_empty() {
        samples.add(&[(millis, value)]);
    }
}

/// Returns the values of a target, each with its type in the record.
fn values(target: &MetricTarget) -> impl Iterator<Item = (&'static str, f64)> {
    let MetricTarget {
        average_utilization,
        average_value,
        value,
        ..
    } = target;
    [
        ("utilization", average_utilization.map(f64::from)),
        (
            "average",
            average_value.as_ref().map(Quantity::approximate_f64),
        ),
        ("value", value.as_ref().map(Quantity::approximate_f64)),
    ]
    .into_iter()
    .filter_map(|(kind, value)| Some((kind, value?)))
}

/// Returns the first and the last time at which everything was sampled that a pass over a spec depends on: what was
/// before and after is open.
pub(super) fn sampled(history: &History, counts: &Samples, spec: &HpaSpec) -> (i64, i64) {
    let metrics = &spec.metrics;
    let mut spans = Vec::from_iter(span(counts));
    if metrics.iter().any(MetricSpec::needs_pods) {
        spans.extend(span(&history.scrapes));
    }
    for (place, metric) in metrics.iter().enumerate() {
        let part = usage_of(metric.name()).filter(|_| metric.is_resource());
        let until = part.and_then(|part| usage_until(history, part));
        spans.extend(until.map(|until| (i64::MIN, until)));
        let series = history.metrics.get(&place).into_iter().flatten();
        let hull = |one: (i64, i64), other: (i64, i64)| (one.0.min(other.0), one.1.max(other.1));
        spans.extend(series.filter_map(|own| span(&own.samples)).reduce(hull));
    }
    let narrower = |one: (i64, i64), other: (i64, i64)| (one.0.max(other.0), one.1.min(other.1));
    spans.into_iter().fold((i64::MIN, i64::MAX), narrower)
}

/// Returns the times of the first and the last sample.
pub(super) fn span(samples: &Samples) -> Option<(i64, i64)> {
    let all = samples.all();
    Some((all.first()?.0, all.last()?.0))
}

/// Returns the time until which the usage of the pods that are left was scraped; `None` if it never was. A container
/// that was scraped much earlier than others is not running, or not scraped any more.
fn usage_until(history: &History, part: PastPart) -> Option<i64> {
    let (_, scraped) = span(&history.scrapes)?;
    let left = history.pods.iter().filter(|pod| {
        is_active(history, pod, scraped) && phase(pod, scraped, false) == Phase::Running
    });
    let mut lasts = Vec::new();
    let mut unscraped = Vec::new();
    for pod in left {
        let started = pod.started.or(pod.created);
        for own in pod.containers.values() {
            let samples = if part == PastPart::Cpu {
                &own.cpu
            } else {
                &own.memory
            };
            if own.init == Some(false) || pod.is_ephemeral(own) {
                continue;
            }
            match span(samples) {
                Some((_, last)) => lasts.push(last),
                None => unscraped.extend(started.map(|second| second * SECOND + SHORTEST)),
            }
        }
    }
    let newest = lasts.iter().copied().max()?;
    let all = lasts.into_iter().chain(unscraped);
    all.filter(|last| newest - last <= GAP).min()
}

/// Checks that the HPA existed: one that was created later may have replaced another, which has a history.
pub(super) fn check_created(
    history: &History,
    snapshot: &Snapshot,
    created: Option<Timestamp>,
    at: Timestamp,
) -> Result<(), Error> {
    let existed = history.max.last(at.as_millisecond()).is_some();
    match created.filter(|created| !existed && at < *created) {
        Some(created) => Err(Error::usage(format!(
            "--at: {} was created at {created}, after {at}",
            snapshot.hpa.key()
        ))
        .hint("state a later time")),
        None => Ok(()),
    }
}

/// Checks that the state at a time has the pods of a target, unless it had none.
pub(super) fn check_pods(snapshot: &Snapshot, lacks: &[PastPart]) -> Result<(), Error> {
    let replicas = snapshot
        .scale
        .as_ref()
        .map_or(0, |scale| scale.status_replicas);
    // Without the pods, their number is not known, unless it was recorded.
    if !snapshot.pods.is_empty() || (replicas == 0 && !lacks.contains(&PastPart::Replicas)) {
        return Ok(());
    }
    let target = snapshot.hpa.reference();
    Err(Error::failed(format!(
        "Prometheus has none of the pods of {target} at {}",
        snapshot.now
    ))
    .hint(format!(
        "they are found by kube_pod_owner of kube-state-metrics; -v 1 prints the queries, see {}",
        docs("prometheus.md")
    )))
}
