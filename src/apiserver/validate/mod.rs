//! The causes for which an API server rejects a HorizontalPodAutoscaler on creation: all of them, in its
//! order and words. Nothing is changed here, and defaults are expected to be set. It is not meant for
//! objects that an API server has accepted: controllers also run on what an older server allowed. Follows
//! upstream's `ValidateHorizontalPodAutoscaler`.

mod cause;
mod metadata;
mod metrics;
mod resources;
mod workload;

pub use cause::{Cause, Invalid};
use cause::{Causes, FaultPath, Shown};
pub(crate) use workload::validate as workload;

use super::default::AdmissionRules;
use super::metadata::ObjectMeta;
use crate::apimachinery::names;
use crate::apimachinery::quantity::Quantity;
use crate::snapshot::hpa::{
    Behavior, CrossVersionObjectReference, HpaSpec, ScalingPolicy, ScalingRules,
};
use crate::version::FeatureGate;

const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
/// The longest period of a scaling policy, in seconds.
const MAX_PERIOD_SECONDS: i32 = 1800;
/// The longest stabilization window, in seconds.
const MAX_STABILIZATION_WINDOW_SECONDS: i32 = 3600;

const SELECT_POLICIES: [&str; 3] = ["Disabled", "Max", "Min"];
const POLICY_TYPES: [&str; 2] = ["Percent", "Pods"];

/// Returns the causes for which the API server would not create this object; empty if it would.
///
/// The spec has its defaults ([`super::default::set_on_decode`]), without the fields whose gates are
/// off ([`super::default::drop_disabled`]). Where upstream's order is random (labels,
/// annotations, surplus metric sources), the causes are sorted.
#[must_use]
pub fn validate(meta: &ObjectMeta, spec: &HpaSpec, rules: AdmissionRules) -> Vec<Cause> {
    let causes = Causes::default();
    metadata::validate(meta, &FaultPath::new("metadata", &causes));
    validate_spec(spec, rules, &FaultPath::new("spec", &causes));
    causes.into_inner()
}

/// Returns the causes for which the API server would reject the metadata of an object.
#[must_use]
pub(crate) fn of_metadata(meta: &ObjectMeta) -> Vec<Cause> {
    let causes = Causes::default();
    metadata::validate(meta, &FaultPath::new("metadata", &causes));
    causes.into_inner()
}

fn validate_spec(spec: &HpaSpec, rules: AdmissionRules, path: &FaultPath<'_>) {
    let lower_bound = if rules.gates[FeatureGate::HPAScaleToZero] {
        0
    } else {
        1
    };
    if let Some(min) = spec.min_replicas.filter(|min| *min < lower_bound) {
        let detail = format!("must be greater than or equal to {lower_bound}");
        path.child("minReplicas").invalid(number(min), &detail);
    }
    let max = path.child("maxReplicas");
    match spec.max_replicas {
        1.. => {}
        own if !rules.max_replicas_required => {
            max.invalid(number(own), "must be greater than 0");
        }
        0 => max.required("must be set and greater than 0"),
        own => max.invalid(number(own), "must be greater than or equal to 1"),
    }
    if spec.min_replicas.is_some_and(|min| spec.max_replicas < min) {
        let detail = "must be greater than or equal to `minReplicas`";
        max.invalid(number(spec.max_replicas), detail);
    }
    // ReplicationController is the only scalable kind of the group without a name.
    let needs_group = spec.scale_target_ref.kind != "ReplicationController";
    let target = path.child("scaleTargetRef");
    validate_reference(&spec.scale_target_ref, needs_group, rules, &target);
    metrics::validate(spec, rules, &path.child("metrics"));
    if let Some(Behavior {
        scale_up,
        scale_down,
    }) = &spec.behavior
    {
        let behavior = path.child("behavior");
        for (rules, direction) in [(scale_up, "scaleUp"), (scale_down, "scaleDown")] {
            if let Some(rules) = rules {
                validate_rules(rules, &behavior.child(direction));
            }
        }
    }
}

/// `ValidateCrossVersionObjectReference`.
fn validate_reference(
    reference: &CrossVersionObjectReference,
    needs_group: bool,
    rules: AdmissionRules,
    path: &FaultPath<'_>,
) {
    for (field, value) in [("kind", &reference.kind), ("name", &reference.name)] {
        validate_path_segment(value, "", &path.child(field));
    }
    let wrong = match names::group_version(&reference.api_version) {
        _ if !rules.api_version => None,
        Err(text) => Some(text),
        Ok(("", _)) if needs_group => Some("apiVersion must specify API group".to_owned()),
        Ok(_) => None,
    };
    if let Some(detail) = wrong {
        let shown = Shown::Text(&reference.api_version);
        path.child("apiVersion").invalid(shown, &detail);
    }
}

fn validate_path_segment(name: &str, missing: &str, path: &FaultPath<'_>) {
    if name.is_empty() {
        path.required(missing);
    } else {
        path.faults(name, &names::path_segment(name));
    }
}

/// `validateScalingRules`.
fn validate_rules(rules: &ScalingRules, path: &FaultPath<'_>) {
    if let Some(seconds) = rules.stabilization_window_seconds {
        let window = path.child("stabilizationWindowSeconds");
        if seconds < 0 {
            window.invalid(number(seconds), "must be greater than or equal to zero");
        }
        if seconds > MAX_STABILIZATION_WINDOW_SECONDS {
            let detail =
                format!("must be less than or equal to {MAX_STABILIZATION_WINDOW_SECONDS}");
            window.invalid(number(seconds), &detail);
        }
    }
    if let Some(select) = &rules.select_policy
        && !SELECT_POLICIES.contains(&select.as_str())
    {
        path.child("selectPolicy")
            .not_supported(select, &SELECT_POLICIES);
    }
    let (policies, at) = (
        rules.policies.as_deref().unwrap_or_default(),
        path.child("policies"),
    );
    if policies.is_empty() {
        at.required("must specify at least one Policy");
    }
    for (i, policy) in policies.iter().enumerate() {
        validate_policy(policy, &at.index(i));
    }
    if let Some(tolerance) = rules
        .tolerance
        .as_ref()
        .filter(|tolerance| tolerance.signum() < 0)
    {
        invalid_quantity(tolerance, NOT_NEGATIVE, &path.child("tolerance"));
    }
}

fn validate_policy(policy: &ScalingPolicy, path: &FaultPath<'_>) {
    if !POLICY_TYPES.contains(&policy.type_.as_str()) {
        path.child("type")
            .not_supported(&policy.type_, &POLICY_TYPES);
    }
    if policy.value <= 0 {
        let field = path.child("value");
        field.invalid(number(policy.value), "must be greater than zero");
    }
    let period = path.child("periodSeconds");
    if policy.period_seconds <= 0 {
        period.invalid(number(policy.period_seconds), "must be greater than zero");
    }
    if policy.period_seconds > MAX_PERIOD_SECONDS {
        let detail = format!("must be less than or equal to {MAX_PERIOD_SECONDS}");
        period.invalid(number(policy.period_seconds), &detail);
    }
}

fn invalid_quantity(quantity: &Quantity, detail: &str, path: &FaultPath<'_>) {
    path.invalid(Shown::Json(&quantity.to_string()), detail);
}

fn number(n: i32) -> Shown<'static> {
    Shown::Number(n.into())
}

#[cfg(test)]
mod tests;
