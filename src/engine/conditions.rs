//! Conditions and their texts, in the controller's words (`setCondition` and its callers).

use jiff::Timestamp;

use crate::apimachinery::metadata::Condition;

pub(super) const ABLE_TO_SCALE: &str = "AbleToScale";
pub(super) const SCALING_ACTIVE: &str = "ScalingActive";
pub(super) const SCALING_LIMITED: &str = "ScalingLimited";
pub(super) const SCALED_TO_ZERO: &str = "ScaledToZero";

/// Returns the messages that belong to a reason.
pub(super) fn message_of(reason: &str) -> &'static str {
    match reason {
        "SucceededGetScale" => "the HPA controller was able to get the target's current scale",
        "ScalingDisabled" => "scaling is disabled since the replica count of the target is zero",
        "ReadyForNewScale" => "recommended size matches current size",
        "ScaleDownStabilized" => {
            "recent recommendations were higher than current one, applying the highest recent recommendation"
        }
        "ScaleUpStabilized" => {
            "recent recommendations were lower than current one, applying the lowest recent recommendation"
        }
        "DesiredWithinRange" => "the desired count is within the acceptable range",
        "TooFewReplicas" => "the desired replica count is less than the minimum replica count",
        "TooManyReplicas" => "the desired replica count is more than the maximum replica count",
        "ScaleUpLimit" => {
            "the desired replica count is increasing faster than the maximum scale rate"
        }
        "ScaleDownLimit" => {
            "the desired replica count is decreasing faster than the maximum scale rate"
        }
        "ScaledToZero" => "the HPA controller scaled the workload to zero",
        "NotScaledToZero" => "the HPA controller did not scale the workload to zero",
        _ => "",
    }
}

/// Sets a condition's status: found by type or appended; the time changes only when the status
/// does. The caller sets the reason.
pub(super) fn set<'c>(
    conditions: &'c mut Vec<Condition>,
    type_: &str,
    status: &str,
    now: Timestamp,
) -> &'c mut Condition {
    let place = conditions
        .iter()
        .position(|c| c.type_ == type_)
        .unwrap_or_else(|| {
            conditions.push(Condition {
                type_: type_.to_owned(),
                ..Condition::default()
            });
            conditions.len() - 1
        });
    let condition = &mut conditions[place];
    if condition.status != status {
        status.clone_into(&mut condition.status);
        condition.last_transition_time = Some(now);
    }
    condition
}

/// Removes a condition, keeping the order of the others.
pub(super) fn remove(conditions: &mut Vec<Condition>, type_: &str) {
    conditions.retain(|c| c.type_ != type_);
}

/// Whether a condition is present with status True.
pub(super) fn is_true(conditions: &[Condition], type_: &str) -> bool {
    conditions
        .iter()
        .any(|c| c.type_ == type_ && c.status == "True")
}
