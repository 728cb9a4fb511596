//! Pods that nobody has read. A workload without its pods, as in a manifest, has as many as replicas: ready, alike, and
//! with the requests of its template. Nothing upstream corresponds to it.

use jiff::SignedDuration;

use super::MAX_PODS;
use crate::calendar::Calendar;
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;
use crate::snapshot::pod::{ConditionStatus, Phase, Pod, ReadyCondition};
use crate::snapshot::shared::Shared;
use crate::snapshot::{MetricAnswer, Unread};

/// How long assumed pods have been ready: longer than anything that counts for new ones.
const AGE: SignedDuration = SignedDuration::from_hours(24);

/// Whether an input lacks the pods of a target that has some, although a metric is based on them.
pub fn lacks_pods(input: &Input) -> bool {
    let snapshot = &input.snapshot;
    let is_missing =
        |answer: &MetricAnswer| matches!(answer, MetricAnswer::Unread(Unread::Missing { .. }));
    let mut read = snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics);
    let lacks_usage = read.any(|(spec, answer)| spec.is_resource() && is_missing(answer));
    let replicas = snapshot.scale.as_ref().map_or(0, |scale| scale.spec_replicas);
    lacks_usage && replicas > 0 && snapshot.pods.is_empty()
}

/// Returns what the pods of the target of an input are like, according to its template.
pub fn model(input: &Input) -> Option<&Pod> {
    let Input { snapshot, surroundings, .. } = input;
    let scale = snapshot.scale.as_ref().ok()?;
    let workload = surroundings.workload(&snapshot.hpa.spec.scale_target_ref)?;
    workload.template.as_deref().filter(|pod| scale.selector.matches(&pod.labels))
}

/// Gives an input that lacks the pods of its target as many as the target has replicas, if its template is known.
pub fn assume_pods(input: &mut Input) {
    let Some(model) = model(input).filter(|_| lacks_pods(input)).cloned() else { return };
    let snapshot = &mut input.snapshot;
    let replicas = snapshot.scale.as_ref().map_or(0, |scale| scale.spec_replicas);
    let count = usize::try_from(replicas).unwrap_or(0).min(MAX_PODS);
    let since = snapshot.now.minus(AGE);
    let target = &snapshot.hpa.spec.scale_target_ref;
    let pod = |place: usize| Pod {
        name: format!("{}-{}", target.name, place + 1).into(),
        namespace: Some(snapshot.hpa.namespace.as_str().into()),
        phase: Phase::Running,
        start_time: Some(since),
        created: Some(since),
        ready: Some(ReadyCondition { status: ConditionStatus::True, last_transition_time: since }),
        ..model.clone()
    };
    snapshot.pods = (0..count).map(|place| Shared::from(pod(place))).collect();
    input.notes.push(Note::PodsAssumed { replicas });
}
