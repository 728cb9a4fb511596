//! Findings about the way from the metrics to the replicas: tolerance, rounding, holds, rate limits,
//! bounds, and a target without replicas.

pub mod above_max;
pub mod at_max;
pub mod at_min;
pub mod below_min;
pub mod bound;
pub mod corrected;
pub mod direction_disabled;
pub mod held_by_window;
pub mod memory;
pub mod rate_limited;
pub mod rounding;
pub(crate) mod side;
pub mod switched_off;
#[cfg(test)]
pub(crate) mod testing;
pub mod within_tolerance;

use serde_json::Value;

use self::bound::least;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::engine::decision::{Because, Decision, LimitStep, Proposal, StabilizeStep};
use crate::findings::prelude::*;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{
    CrossVersionObjectReference, MetricTarget, ScalingPolicy, ScalingRules,
};
use crate::snapshot::surroundings::{ScaleDown, Workload};
use crate::whatif::thresholds::{MetricUnit, UnitScale};
use crate::words::in_unit;

/// Returns the metric with the highest proposal, if the pass follows metrics.
fn winner<'p>(case: &Case<'p>) -> Option<(&'p MetricStep, &'p Proposal)> {
    let winner = case.decision.winner()?;
    Some((winner, winner.proposal()?))
}

/// Returns the metric that decides, with its ratio, if the tolerance keeps the replicas.
pub(crate) fn within<'p>(case: &Case<'p>) -> Option<(&'p MetricStep, f64)> {
    let (winner, proposal) = winner(case)?;
    let ratio = match proposal.because {
        Because::WithinTolerance => proposal.ratio,
        Because::FilledWithinTolerance => proposal.filled?.ratio,
        _ => return None,
    };
    let is_kept = case.decision.proposal == case.decision.replicas_before();
    (is_kept && ratio != 1.0).then_some((winner, ratio))
}

/// Whether the ratio that decides includes values assumed for pods that do not count.
pub(crate) fn is_filled(metric: &MetricStep) -> bool {
    let is_other = |it: &Proposal| it.filled.is_some_and(|filled| filled.ratio != it.ratio);
    metric.proposal().is_some_and(is_other)
}

/// Returns the side of the target on which a ratio is.
fn side_of(ratio: f64) -> Direction {
    if ratio > 1.0 {
        Direction::Up
    } else {
        Direction::Down
    }
}

/// Returns the direction in which the replicas would change without the tolerance, if the tolerance keeps
/// them.
pub(crate) fn tolerated(case: &Case<'_>) -> Option<Direction> {
    let (_, ratio) = within(case)?;
    Some(side_of(ratio))
}

/// Returns the side of its target on which the metric with the highest proposal is.
pub(crate) fn side(case: &Case<'_>) -> Option<Direction> {
    let (_, proposal) = winner(case)?;
    Some(side_of(proposal.ratio))
}

/// Sets the field `tolerance` of a direction.
pub(crate) fn set_tolerance(snapshot: &mut Snapshot, side: Direction, tolerance: Quantity) {
    snapshot.hpa.spec.rules_mut(side).tolerance = Some(tolerance);
}

/// Returns the stabilization, if a recommendation changes the proposal.
fn held<'p>(case: &Case<'p>) -> Option<&'p StabilizeStep> {
    let step = case.decision.stabilization()?;
    (step.holds() && step.held_by.is_some()).then_some(step)
}

impl LimitStep {
    /// Returns the bound that would bring the replicas nearest to the desired number.
    fn wider(&self, case: &Case<'_>) -> i32 {
        if self.desired > self.result {
            self.desired
        } else {
            self.desired.max(least(case))
        }
    }

    /// Whether a direction is disabled and enabling it would have an effect; at the lowest bound, it would not.
    fn is_only_disabled(&self, case: &Case<'_>) -> bool {
        self.is_disabled() && !(self.is_bound() && self.wider(case) == self.result)
    }
}

/// Returns the last limit on the replicas, if it changes the metrics' proposal. A recommendation that holds the
/// replicas may hide a limit that would hold them as well.
fn limit(case: &Case<'_>) -> Option<LimitStep> {
    let of = |decision: &Decision| decision.limit().filter(|it| it.holds()).cloned();
    let Some(held) = held(case) else {
        return of(case.decision);
    };
    // A limit that only an earlier recommendation exceeds would not limit the metrics' current proposal.
    let own = of(case.decision).filter(|limit| {
        let side = limit.desired.cmp(&limit.result);
        held.desired.cmp(&limit.result) == side
    });
    let of_metrics = own.map(|limit| LimitStep {
        desired: held.desired,
        ..limit
    });
    of_metrics.or_else(|| {
        let after = case.decision.replicas_after();
        of(case.forgotten()).filter(|limit| Some(limit.result) == after)
    })
}

/// Returns the Rollout that takes its template from the target, and may keep the target at 0.
pub(crate) fn rollout<'p>(case: &Case<'p>) -> Option<&'p Workload> {
    let target = case.workload()?;
    case.surroundings
        .workloads
        .iter()
        .find(|it| target.is_template_of(it))
}

/// Returns the workload that Flagger runs instead of the target, by the name that it gives
/// (`Canary.GetPrimaryName`).
pub(crate) fn primary<'p>(case: &Case<'p>) -> Option<&'p Workload> {
    let target = case.target();
    let name = format!("{}-primary", target.name);
    let mut workloads = case.surroundings.workloads.iter();
    workloads.find(|it| it.is_kind_of(target) && it.metadata.name == name)
}

/// Returns a value of the metric, with its unit.
pub(crate) fn value(scale: &UnitScale, value: i64) -> String {
    let text = in_unit(value, scale.unit, scale.format);
    if scale.divided {
        format!("a total of {text}")
    } else {
        text
    }
}

/// Returns the highest value for fewer replicas, or the lowest for more, in readable form: bytes and millions have
/// fewer digits, and rounding never crosses the threshold.
fn threshold(scale: &UnitScale, at: i64, side: Direction) -> String {
    let (least, base, parts) = match scale.format {
        Format::BinarySI => (1000.0, 1024.0, 10.0),
        _ => (1e9, 1000.0, 1000.0),
    };
    if scale.unit == MetricUnit::Percent || (at as f64) < least {
        return value(scale, at);
    }
    let mut unit = least;
    while at as f64 >= unit * base {
        unit *= base;
    }
    let exact = at as f64 / unit * parts;
    let shown = match side {
        Direction::Down => exact.floor(),
        Direction::Up => exact.ceil(),
    };
    value(scale, (shown / parts * unit).round() as i64)
}

/// Returns a target, rounded.
pub(crate) fn target(target: &MetricTarget) -> String {
    target.worded(quantity).unwrap_or_default()
}

/// Whether a limit of a kind changes the replicas of a decision.
fn is_limited(decision: &Decision, is_it: fn(&LimitStep) -> bool) -> bool {
    decision
        .limit()
        .is_some_and(|limit| limit.holds() && is_it(limit))
}

/// The field of the scale-down window.
pub(crate) const DOWN_WINDOW: &str = "behavior.scaleDown.stabilizationWindowSeconds";

/// The stabilization windows that people set, in seconds.
pub(crate) const WINDOWS: [i32; 5] = [300, 600, 900, 1800, 3600];

/// The advice if nothing is wrong.
pub(crate) const NOTHING_TO_DO: &str = "Nothing to do.";

/// Describes a policy: `2 pods per 60s`, `1 pod per 20m`.
pub(crate) fn policy(policy: &ScalingPolicy) -> String {
    let value = match &*policy.type_ {
        "Percent" => format!("{}%", policy.value),
        _ => count(policy.value, "pod"),
    };
    let period = match policy.period_seconds {
        seconds if seconds <= 180 => format!("{seconds}s"),
        seconds => duration(SignedDuration::from_secs(seconds.into())),
    };
    format!("{value} per {period}")
}

/// Describes the policies of rules, to follow `It scales up`: ` by 100% per 15s or 4 pods per 15s`; empty without any.
pub(crate) fn by_policies(rules: &ScalingRules) -> String {
    let all: Vec<String> = rules.policies.iter().flatten().map(policy).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" by {}", all.join(" or "))
    }
}

/// Describes the number to which a limit is applied: the highest proposal, or the result of stabilization.
fn proposed(about: &About<'_>, replicas: i32) -> String {
    // Stabilization takes a proposal that has overflowed as 0.
    let own = about.pass.decision.proposal;
    match own.filter(|proposal| (*proposal).max(0) == replicas) {
        Some(proposal) => format!("the metrics propose {proposal}"),
        None => format!("stabilization leaves {replicas}"),
    }
}

/// Returns a command that predicts a change of the spec, and one that makes it.
pub(crate) fn tried(about: &About<'_>, flags: &str, patch: &Value) -> Vec<Command> {
    [about.predict(flags)]
        .into_iter()
        .chain(about.patch_spec(patch))
        .collect()
}

/// Returns the commands that predict and make a change of one field of the spec.
pub(crate) fn set(about: &About<'_>, path: &str, value: i64) -> Vec<Command> {
    let nested = |value: Value, name: &str| json!({ name: value });
    let patch = path.rsplit('.').fold(value.into(), nested);
    tried(about, &format!("--set {path}={value}"), &patch)
}

/// Describes what a Rollout does with the replicas of the workload whose template it uses.
pub(crate) fn scales_down(
    rollout: &CrossVersionObjectReference,
    when: Option<ScaleDown>,
) -> String {
    let does = match when {
        Some(ScaleDown::Progressively) => "scales that down as the Rollout scales up",
        Some(ScaleDown::OnSuccess) => "scales that to 0 once the Rollout is healthy",
        Some(ScaleDown::Never) | None => "never scales that down itself",
    };
    let stated = when.map_or("not stated", ScaleDown::as_str);
    format!("spec.workloadRef.scaleDown of {rollout} is {stated}: Argo Rollouts {does}.")
}

impl About<'_> {
    /// Returns how the HPA scales up as a sentence, if `behavior` states it: `It scales up by 100% per 15s, with
    /// a window of 0s.`
    pub(crate) fn scales_up(&self) -> Option<String> {
        let rules = self.hpa.spec.rules(Direction::Up)?;
        let by = by_policies(rules);
        let window = rules.stabilization_window_seconds.unwrap_or_default();
        Some(format!("It scales up{by}, with a window of {window}s."))
    }

    /// Returns a sentence about a scale-up window that is too short to contain an earlier recommendation.
    pub(crate) fn short_window(&self) -> Option<String> {
        let sync = self.pass.input.snapshot.controller.sync_period;
        let rules = self.hpa.spec.rules(Direction::Up)?;
        let seconds = rules.stabilization_window_seconds?;
        let is_short = seconds > 0 && i64::from(seconds) < sync.as_secs();
        is_short.then(|| {
            format!(
                "{} ({seconds}s) has no effect: passes are {} apart.",
                self.field("behavior.scaleUp.stabilizationWindowSeconds"),
                duration(sync)
            )
        })
    }
}

#[cfg(test)]
mod tests;
