//! The reasons for which a ScaledObject is rejected before KEDA creates its HPA: by the API server,
//! according to the schema of the CustomResourceDefinition, and by KEDA's admission webhook. A formula is
//! not compiled here, and the requests of the pods and other objects of the namespace are not checked.

use std::collections::BTreeSet;

use super::Refused;
use super::manifest::{
    AuthenticationRef, Fallback, ManifestSpec, ScaleTarget, ScalingModifiers, Trigger,
};
use crate::apimachinery::names::dns_subdomain;

/// The markers of `scaledobject_types.go` and `scaletriggers_types.go`.
pub(super) fn schema(spec: &ManifestSpec) -> Result<(), Refused> {
    let Some(ScaleTarget { name, .. }) = &spec.scale_target_ref else {
        return Err(required("spec.scaleTargetRef"));
    };
    if name.is_empty() {
        return Err(required("spec.scaleTargetRef.name"));
    }
    for (field, value, least) in [
        ("pollingInterval", spec.polling_interval, 1),
        ("initialCooldownPeriod", spec.initial_cooldown_period, 0),
        ("cooldownPeriod", spec.cooldown_period, 0),
        ("idleReplicaCount", spec.idle_replica_count, 0),
        ("minReplicaCount", spec.min_replica_count, 0),
        ("maxReplicaCount", spec.max_replica_count, 1),
    ] {
        at_least(&format!("spec.{field}"), value, least)?;
    }
    if spec.triggers.is_empty() {
        return Err(required("spec.triggers"));
    }
    for (index, trigger) in spec.triggers.iter().enumerate() {
        schema_of_trigger(&format!("spec.triggers[{index}]"), trigger)?;
    }
    if let Some(fallback) = &spec.fallback {
        schema_of_fallback(fallback)?;
    }
    one_of(
        "spec.advanced.scalingModifiers.metricType",
        spec.modifiers().and_then(|own| own.metric_type.as_deref()),
        &["AverageValue", "Value"],
    )
}

/// The markers of a trigger at a path.
fn schema_of_trigger(path: &str, trigger: &Trigger) -> Result<(), Refused> {
    let Trigger {
        type_,
        metadata,
        authentication_ref,
        ..
    } = trigger;
    if type_.is_empty() {
        return Err(required(&format!("{path}.type")));
    }
    let Some(metadata) = metadata else {
        return Err(required(&format!("{path}.metadata")));
    };
    if let Some((key, _)) = metadata.iter().find(|(_, value)| !value.is_string()) {
        let refused = Refused::new(format!("{path}.metadata.{key}"), "must be a string");
        return Err(refused.hint("put the value in quotes"));
    }
    let Some(AuthenticationRef { name, kind }) = authentication_ref else {
        return Ok(());
    };
    if name.is_empty() {
        return Err(required(&format!("{path}.authenticationRef.name")));
    }
    one_of(
        &format!("{path}.authenticationRef.kind"),
        kind.as_deref(),
        &["TriggerAuthentication", "ClusterTriggerAuthentication"],
    )
}

/// The markers of the fallback.
fn schema_of_fallback(fallback: &Fallback) -> Result<(), Refused> {
    for (field, value) in [
        ("failureThreshold", fallback.failure_threshold),
        ("replicas", fallback.replicas),
    ] {
        let path = format!("spec.fallback.{field}");
        at_least(&path, Some(value.ok_or_else(|| required(&path))?), 0)?;
    }
    one_of(
        "spec.fallback.behavior",
        fallback.behavior.as_deref(),
        &[
            "static",
            "currentReplicas",
            "currentReplicasIfHigher",
            "currentReplicasIfLower",
            "scalingModifiers",
        ],
    )
}

fn required(path: &str) -> Refused {
    Refused::new(path, "required")
}

fn at_least(path: &str, value: Option<i32>, least: i32) -> Result<(), Refused> {
    match value {
        Some(value) if value < least => Err(Refused::new(
            path,
            format!("must be at least {least}, is {value}"),
        )),
        _ => Ok(()),
    }
}

fn one_of(path: &str, value: Option<&str>, known: &[&str]) -> Result<(), Refused> {
    match value {
        Some(value) if !known.contains(&value) => Err(Refused::new(
            path,
            format!("{value:?} is not one of {}", known.join(", ")),
        )),
        _ => Ok(()),
    }
}

/// `validateWorkload` in `scaledobject_webhook.go`, without the parts that query a cluster. The operator
/// checks part of it once more.
pub(super) fn webhook(name: &str, spec: &ManifestSpec) -> Result<(), Refused> {
    replica_counts(spec)?;
    fallback(spec)?;
    names(name, spec)?;
    triggers(spec)?;
    if let Some(modifiers) = spec.modifiers() {
        scaling_modifiers(modifiers)?;
    }
    Ok(())
}

/// `CheckReplicaCountBoundsAreValid`.
fn replica_counts(spec: &ManifestSpec) -> Result<(), Refused> {
    let min = spec.min_replica_count.map_or(0, |_| spec.hpa_min());
    let max = spec.hpa_max();
    if min > max {
        let default = default_mark(spec.max_replica_count);
        return Err(Refused::new(
            "spec.minReplicaCount",
            format!("{min} is more than maxReplicaCount ({max}{default})"),
        ));
    }
    match spec.idle_replica_count {
        Some(idle) if idle >= min => {
            let default = default_mark(spec.min_replica_count);
            Err(Refused::new(
                "spec.idleReplicaCount",
                format!("{idle} is not less than minReplicaCount ({min}{default})"),
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the words after a number of replicas, unless it is stated.
fn default_mark(stated: Option<i32>) -> &'static str {
    match stated {
        Some(_) => "",
        None => ", the default",
    }
}

/// `CheckFallbackValid`, and the last rule of `verifyScaledObjects`.
fn fallback(spec: &ManifestSpec) -> Result<(), Refused> {
    let Some(fallback) = &spec.fallback else {
        return Ok(());
    };
    if spec.modifiers().is_none() && spec.triggers.iter().all(Trigger::is_resource) {
        return Err(Refused::new(
            "spec.fallback",
            "needs a trigger other than cpu and memory: KEDA does not report their values",
        ));
    }
    if fallback.behavior.as_deref() == Some("scalingModifiers") && spec.modifiers().is_none() {
        return Err(Refused::new(
            "spec.fallback.behavior",
            "scalingModifiers needs advanced.scalingModifiers.formula",
        ));
    }
    Ok(())
}

/// The maximum length of a label value.
const LONGEST: usize = 63;

/// `verifyName`: both names become values of labels.
fn names(name: &str, spec: &ManifestSpec) -> Result<(), Refused> {
    if name.len() > LONGEST {
        return Err(too_long("the name", name.len()));
    }
    let hpa = spec.hpa_name(name);
    if let Some(wrong) = dns_subdomain(&hpa).first() {
        let path = match spec.stated_hpa_name() {
            Some(_) => "spec.advanced.horizontalPodAutoscalerConfig.name",
            None => "metadata.name",
        };
        return Err(Refused::new(path, format!("{hpa:?}: {wrong}")));
    }
    if hpa.len() > LONGEST {
        let error = too_long("the name of its HPA", hpa.len());
        return Err(error.hint("set spec.advanced.horizontalPodAutoscalerConfig.name"));
    }
    Ok(())
}

fn too_long(name: &str, length: usize) -> Refused {
    Refused::new(
        "metadata.name",
        format!("{name} has {length} characters, at most {LONGEST} fit"),
    )
}

/// `ValidateTriggers` in `scaletriggers_types.go`, and the end of `verifyCPUMemoryScalers`.
fn triggers(spec: &ManifestSpec) -> Result<(), Refused> {
    let mut names = BTreeSet::new();
    for (index, trigger) in spec.triggers.iter().enumerate() {
        let Trigger {
            type_,
            name,
            use_cached_metrics,
            ..
        } = trigger;
        if *use_cached_metrics && matches!(&**type_, "cpu" | "memory" | "cron") {
            return Err(Refused::new(
                format!("spec.triggers[{index}].useCachedMetrics"),
                format!("not supported by {type_} triggers"),
            ));
        }
        if !name.is_empty() && !names.insert(name) {
            return Err(Refused::new(
                format!("spec.triggers[{index}].name"),
                format!("{name:?} is the name of an earlier trigger"),
            ));
        }
    }
    // The webhook checks the pods of these kinds, and only then this.
    let target = spec.target().unwrap_or_default();
    let is_known =
        target.api_version == "apps/v1" && matches!(&*target.kind, "Deployment" | "StatefulSet");
    let is_zero = spec.min_replica_count.unwrap_or(0) == 0;
    if is_known && is_zero && spec.triggers.iter().all(Trigger::is_resource) {
        return Err(Refused::new(
            "spec.minReplicaCount",
            "must be at least 1 with only cpu and memory triggers: they cannot scale from 0",
        ));
    }
    Ok(())
}

/// `ValidateAndCompileScalingModifiers`, without the formula itself.
fn scaling_modifiers(modifiers: &ScalingModifiers) -> Result<(), Refused> {
    let at = |field: &str| format!("spec.advanced.scalingModifiers.{field}");
    if modifiers.formula.is_empty() {
        return Err(required(&at("formula")));
    }
    if modifiers.target.is_empty() {
        return Err(required(&at("target")));
    }
    // A target that is not a number is not compared with 0.
    match modifiers.target_number() {
        Some(target) if target > 0.0 || target.is_nan() => Ok(()),
        _ => Err(Refused::new(
            at("target"),
            "must be a number greater than 0",
        )),
    }
}
