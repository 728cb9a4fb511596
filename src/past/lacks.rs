//! The gaps of a history. Some are filled by assumptions; with the others there is no past pass.

use std::borrow::Cow;

use jiff::Timestamp;

use super::read;
use crate::error::{Error, docs};
use crate::prometheus::history::{ContainerHistory, History, PodHistory, STATE_GAP};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::HpaSpec;
use crate::snapshot::input::Input;
use crate::snapshot::past::PastPart;

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

/// Whether the state that was read is the next sample after the last scrape: its time is known, and not much later.
pub(super) fn is_next_sample(history: &History, input: &Input) -> bool {
    let read = read(input).as_millisecond();
    let last = history.scrapes.last(read);
    let is_near = last.is_some_and(|(last, _)| read - last <= STATE_GAP);
    // A past pass has the scale of its own time.
    is_near && input.knows_time() && input.evidence.past.is_none()
}

/// Returns a history whose last sample of the replicas is the state that was read, if that is the next one.
pub(super) fn with_state<'h>(history: Cow<'h, History>, input: &Input) -> Cow<'h, History> {
    let read = read(input).as_millisecond();
    let is_next = is_next_sample(&history, input);
    let snapshot = input.as_observed();
    let Some(scale) = snapshot.scale.as_ref().ok().filter(|_| is_next) else {
        return history;
    };
    let mut sampled = history.into_owned();
    for (samples, replicas) in [
        (&mut sampled.replicas, scale.spec_replicas),
        (&mut sampled.status_replicas, scale.status_replicas),
        (&mut sampled.desired, snapshot.hpa.status.desired_replicas),
    ] {
        if !samples.is_empty() {
            samples.add(&[(read, replicas.into())]);
        }
    }
    Cow::Owned(sampled)
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
