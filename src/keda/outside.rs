//! Notes about KEDA's actions in addition to the HPA: its scale loop
//! (`pkg/scaling/executor/scale_scaledobjects.go`), its metrics server (`pkg/fallback/fallback.go`), and its cache.

use super::keys;
use super::manifest::{Fallback, ManifestSpec, ScalingModifiers, Trigger};
use crate::apimachinery::annotations::{KEDA_FORCE, KEDA_PAUSED_SCALE_IN, KEDA_PAUSED_SCALE_OUT};
use crate::error::listed;
use crate::numbers::count;
use crate::snapshot::note::Note;
use crate::snapshot::surroundings::ScaledObject;

/// Returns the notes.
pub(super) fn notes(object: &ScaledObject, spec: &ManifestSpec) -> Vec<Note> {
    let rest = replicas_at_rest(object, spec);
    let notes = [
        rest.map(|replicas| scale_loop(object, spec, replicas)),
        spec.fallback.as_ref().map(|own| fallback(own, spec)),
        used_by_keda(spec, rest.is_some()),
    ];
    notes.into_iter().flatten().map(Note::new).collect()
}

/// Returns the replicas to which KEDA itself scales while no trigger is active.
fn replicas_at_rest(object: &ScaledObject, spec: &ManifestSpec) -> Option<i32> {
    // CPU and memory alone always count as active.
    let is_active = object.is_set(KEDA_FORCE) || spec.triggers.iter().all(Trigger::is_resource);
    if is_active || object.is_set(KEDA_PAUSED_SCALE_IN) {
        return None;
    }
    let is_zero = spec.min_replica_count.unwrap_or(0) == 0;
    spec.idle_replica_count.or(is_zero.then_some(0))
}

/// Describes what KEDA itself scales.
fn scale_loop(object: &ScaledObject, spec: &ManifestSpec, rest: i32) -> String {
    let cooldown = spec.cooldown_period.unwrap_or(300);
    let back = if object.is_set(KEDA_PAUSED_SCALE_OUT) {
        ""
    } else {
        ", and back"
    };
    format!(
        "KEDA itself scales to {} when no trigger for an external metric has been active for \
         {cooldown}s{back}; that is not predicted",
        count(rest, "replica")
    )
}

/// Describes what KEDA reports instead of failing triggers.
fn fallback(fallback: &Fallback, spec: &ManifestSpec) -> String {
    // `HasValidFallback`.
    let is_whole = |target: &str| target.parse::<i64>().is_ok_and(|target| target > 0);
    if let Some(ScalingModifiers { target, .. }) = spec.modifiers()
        && !is_whole(target)
    {
        return format!(
            "spec.fallback has no effect: for it, KEDA needs a whole number in \
             spec.advanced.scalingModifiers.target, which is {target:?}"
        );
    }
    // Other behaviors compare the number with the current replicas, or do not use it.
    let value = match fallback.behavior.as_deref() {
        None | Some("" | "static") => count(fallback.replicas.unwrap_or_default(), "replica"),
        Some(other) => format!("behavior {other}"),
    };
    let failures = count(fallback.failure_threshold.unwrap_or_default(), "time");
    format!(
        "spec.fallback is not predicted: once a trigger has failed more than {failures}, KEDA \
         reports a value of its own ({value})"
    )
}

/// Names the fields that KEDA itself uses. The cooldown is listed with the replicas `at_rest`.
fn used_by_keda(spec: &ManifestSpec, at_rest: bool) -> Option<String> {
    let modifiers = spec.modifiers();
    let has_activation = modifiers.is_some_and(|it| !it.activation_target.is_empty());
    let initial = spec.initial_cooldown_period.is_some();
    let mut fields: Vec<String> = [
        ("pollingInterval", spec.polling_interval.is_some()),
        ("initialCooldownPeriod", initial),
        ("cooldownPeriod", spec.cooldown_period.is_some() && !at_rest),
        ("advanced.scalingModifiers.activationTarget", has_activation),
    ]
    .into_iter()
    .filter(|(_, is_set)| *is_set)
    .map(|(field, _)| format!("spec.{field}"))
    .collect();
    for (index, trigger) in spec.triggers.iter().enumerate() {
        let keys = trigger.metadata.iter().flat_map(|it| it.keys());
        let is_read = |key: &&String| keys::keys(&trigger.type_).any(|own| own == **key);
        let activation = keys
            .filter(|key| key.starts_with("activation"))
            .filter(is_read);
        fields.extend(activation.map(|key| format!("spec.triggers[{index}].metadata.{key}")));
        if trigger.use_cached_metrics {
            fields.push(format!("spec.triggers[{index}].useCachedMetrics"));
        }
    }
    (!fields.is_empty()).then(|| {
        format!(
            "used by KEDA itself and not part of the HPA: {}",
            listed(&fields)
        )
    })
}
