//! The time spans that every rule about the memory uses.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::{Behavior, HpaSpec, ScalingRules};

/// The maximum delay until a pass reads its clock, relative to the pass before.
pub(super) const SLACK: SignedDuration = SignedDuration::from_secs(5);
/// The API's times have whole seconds.
pub(super) const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Returns the number of intervals of a length that cover a span.
pub(super) fn intervals(span: SignedDuration, length: SignedDuration) -> i32 {
    let (span, length) = (span.as_millis().max(0), length.as_millis().max(1));
    i32::try_from((span + length - 1) / length).unwrap_or(i32::MAX)
}

/// Returns the periods of the policies of both directions.
pub(super) fn periods(behavior: &Behavior) -> BTreeSet<SignedDuration> {
    let rules = [&behavior.scale_up, &behavior.scale_down];
    let policies = rules
        .into_iter()
        .flatten()
        .flat_map(|rules| rules.policies.iter().flatten());
    policies
        .map(|policy| SignedDuration::from_secs(policy.period_seconds.into()))
        .collect()
}

/// Returns the longest of these periods, if there is one.
pub(super) fn longest_period(spec: &HpaSpec) -> Option<SignedDuration> {
    periods(spec.behavior.as_ref()?).pop_last()
}

/// Returns the longest of the periods and the windows.
pub(crate) fn longest(spec: &HpaSpec, controller: &Controller) -> SignedDuration {
    let (up, down) = windows(spec, controller);
    let period = longest_period(spec).unwrap_or_default();
    up.max(down).max(period)
}

/// Returns the windows in which recommendations hold back scaling up and down.
pub(crate) fn windows(spec: &HpaSpec, controller: &Controller) -> (SignedDuration, SignedDuration) {
    let behavior = spec.behavior.as_ref();
    let up = behavior.and_then(|behavior| window(&behavior.scale_up));
    let down = behavior.and_then(|behavior| window(&behavior.scale_down));
    // With `behavior` the flag counts in whole seconds.
    let flag = controller.downscale_stabilization;
    let default = if behavior.is_some() {
        SignedDuration::from_secs(flag.as_secs())
    } else {
        flag
    };
    (up.unwrap_or_default(), down.unwrap_or(default))
}

fn window(rules: &Option<ScalingRules>) -> Option<SignedDuration> {
    let seconds = rules.as_ref()?.stabilization_window_seconds?;
    Some(SignedDuration::from_secs(seconds.into()))
}
