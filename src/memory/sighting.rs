//! The conclusions from a status of an HPA about the pass that wrote it: the proposal that went into the
//! list, and the recommendations that bounded the list, with the words for them. The rules are those of the
//! two normalizations, read backwards; conditions show which branch was taken.

use std::fmt;
use std::ops::RangeInclusive;

use crate::snapshot::hpa::{Hpa, HpaSpec, HpaStatus};
use crate::snapshot::memory::ScaleEvent;

/// The known facts about the recommendations of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The proposal that the pass remembered; empty if it ended without one.
    pub proposal: RangeInclusive<i32>,
    /// The most likely proposal.
    pub likely: Option<i32>,
    /// The target's `status.replicas`, if averages over it revealed more than the conditions.
    pub counted: Option<i32>,
    /// No recommendation that held back scaling down was higher.
    pub at_most: Option<i32>,
    /// No recommendation that held back scaling up was lower.
    pub at_least: Option<i32>,
    /// Some recommendation of at least this held back scaling down.
    pub held_down_by: Option<i32>,
    /// Some recommendation of at most this held back scaling up.
    pub held_up_by: Option<i32>,
    /// The standing of the proposal among the recommendations.
    pub standing: Standing,
    /// The reason of the condition that shows it.
    pub reason: String,
}

/// The bounds of no proposal. They leave the bounds of other passes as they are.
const NO_PROPOSAL: RangeInclusive<i32> = RangeInclusive::new(i32::MAX, 0);

/// The standing of a proposal among the recommendations that counted in its pass, as the conditions show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The conditions do not show it.
    Unknown,
    /// Nothing that held back scaling down was higher.
    Highest,
    /// Nothing that held back scaling up was lower.
    Lowest,
    /// A higher one held back scaling down.
    BelowAnother,
    /// A lower one held back scaling up.
    AboveAnother,
}

impl Sighting {
    /// Returns a sighting that bounds only the proposal.
    fn new(proposal: RangeInclusive<i32>, reason: &str) -> Self {
        Self {
            proposal,
            likely: None,
            counted: None,
            at_most: None,
            at_least: None,
            held_down_by: None,
            held_up_by: None,
            standing: Standing::Unknown,
            reason: reason.to_owned(),
        }
    }

    /// Narrows the proposal, and what its standing shows about the other recommendations.
    pub(super) fn narrow(&mut self, low: i32, high: i32) {
        self.proposal = low..=high;
        let bounded = Some(high).filter(|high| *high < i32::MAX);
        match self.standing {
            Standing::Highest => self.at_most = bounded,
            Standing::Lowest => self.at_least = Some(low),
            Standing::BelowAnother => {
                let held = self.held_down_by.max(low.checked_add(1));
                self.held_down_by = held.map(|held| held.min(self.at_most.unwrap_or(held)));
            }
            Standing::AboveAnother => {
                let below = bounded.map(|high| high - 1);
                let held = [self.held_up_by, below].into_iter().flatten().min();
                self.held_up_by = held.map(|held| held.max(self.at_least.unwrap_or(held)));
            }
            Standing::Unknown => {}
        }
    }

    /// Returns the recommendation nearest to the most likely proposal that held it back.
    pub(super) fn likely_hold(&self) -> Option<i32> {
        match self.standing {
            Standing::BelowAnother => self.likely?.checked_add(1),
            Standing::AboveAnother => self.likely?.checked_sub(1),
            Standing::Highest | Standing::Lowest | Standing::Unknown => None,
        }
    }
}

/// Writes the status's evidence of the recommendations of its pass.
impl fmt::Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (*self.proposal.start(), *self.proposal.end());
        let mut parts = Vec::new();
        match (low, high) {
            (0, i32::MAX) => {}
            (low, high) if low > high => parts.push("nothing was recommended".to_owned()),
            (low, high) if low == high => parts.push(format!("{low} was recommended")),
            (low, i32::MAX) => parts.push(format!("at least {low} was recommended")),
            (0, high) => parts.push(format!("at most {high} was recommended")),
            (low, high) => parts.push(format!("{low} to {high} were recommended")),
        }
        match (self.held_down_by, self.at_most) {
            (Some(low), Some(high)) if low == high => {
                parts.push(format!("the highest recommendation is {low}"));
            }
            (Some(low), Some(high)) if low > 1 => {
                parts.push(format!("the highest recommendation is {low} to {high}"));
            }
            (Some(low), _) if low > 1 => {
                parts.push(format!("the highest recommendation is at least {low}"));
            }
            (_, Some(high)) if high > *self.proposal.end() => {
                parts.push(format!("no recommendation above {high}"));
            }
            (_, Some(_)) => parts.push("no higher recommendation".to_owned()),
            (_, None) => {}
        }
        if let Some(low) = self.at_least {
            parts.push(format!("no recommendation below {low}"));
        }
        if let Some(high) = self.held_up_by {
            parts.push(format!("the lowest recommendation is at most {high}"));
        }
        f.write_str(&parts.join(", "))
    }
}

/// Reads a status; `None` if it does not say what its pass recommended.
pub(super) fn read(spec: &HpaSpec, status: &HpaStatus) -> Option<Sighting> {
    if let Some(reason) = recommended_nothing(status) {
        return Some(Sighting::new(NO_PROPOSAL, reason));
    }
    let (able, limited) = normalized(status)?;
    let (from, to) = (status.current_replicas, status.desired_replicas);
    // From zero, a minimum is applied after the limits, and no API server stores a negative count.
    let is_raised = from == 0 && spec.min() != 0;
    if is_raised || from < 0 || to < 0 {
        return None;
    }
    match &spec.behavior {
        None => without_behavior(able, limited, to),
        Some(behavior) => {
            let up_window = behavior
                .scale_up
                .as_ref()
                .and_then(|up| up.stabilization_window_seconds);
            with_behavior(able, limited, from, to, up_window.unwrap_or(0))
        }
    }
}

/// Whether a status shows that its pass remembered the last rescale: it made the rescale, or a rate limit
/// kept it in place. Without a rescale to count, each policy leaves room for a change.
pub(super) fn counts_rescale(spec: &HpaSpec, status: &HpaStatus) -> bool {
    if has_rescaled(status) {
        return true;
    }
    let Some((behavior, (_, limited))) = spec.behavior.as_ref().zip(normalized(status)) else {
        return false;
    };
    let rules = match limited {
        "ScaleUpLimit" => &behavior.scale_up,
        "ScaleDownLimit" => &behavior.scale_down,
        _ => return false,
    };
    rules.as_ref().is_some_and(|rules| !rules.is_disabled())
}

/// Whether the pass of a status has changed the scale.
fn has_rescaled(status: &HpaStatus) -> bool {
    reason_of(status, "AbleToScale", "True") == Some("SucceededRescale")
}

/// Returns the change of scale by the pass of a status; `None` if there was none.
pub(super) fn rescaled_by(status: &HpaStatus) -> Option<i32> {
    has_rescaled(status)
        .then(|| status.desired_replicas.checked_sub(status.current_replicas))
        .flatten()
}

/// Returns the rescale of the pass that wrote the status, as the controller remembers it with `behavior`: not one by
/// `apply`.
pub(super) fn rescale_of(hpa: &Hpa) -> Option<ScaleEvent> {
    Some(ScaleEvent {
        replicas: rescaled_by(&hpa.status).filter(|_| !hpa.written.by_us)?,
        time: hpa.status.last_scale_time?,
        outdated: false,
    })
}

/// Returns the replicas that the pass of a status found; `None` if it could not read them.
pub(super) fn found(hpa: &Hpa) -> Option<i32> {
    let is_read = !hpa.written.by_us && reason_of(&hpa.status, "AbleToScale", "True").is_some();
    is_read.then_some(hpa.status.current_replicas)
}

/// Returns the reason of the condition which shows that a pass read the replicas, but ended without a recommendation of
/// its own: its metrics failed, the target has no replicas, or it corrected a count outside the bounds.
fn recommended_nothing(status: &HpaStatus) -> Option<&str> {
    let able = reason_of(status, "AbleToScale", "True")?;
    let corrected = able == "SucceededRescale" && !has_metrics(status);
    reason_of(status, "ScalingActive", "False").or(corrected.then_some(able))
}

/// Whether the pass of a status evaluated metrics. One that corrects a count outside the bounds does not, and leaves the
/// conditions about them unchanged.
fn has_metrics(status: &HpaStatus) -> bool {
    let metrics = status.current_metrics.as_ref();
    metrics.is_some_and(|metrics| !metrics.is_empty())
}

/// Returns the reasons of `AbleToScale` and `ScalingLimited`, if the pass got far enough to set them and
/// did not fail afterwards.
fn normalized(status: &HpaStatus) -> Option<(&str, &str)> {
    let active = reason_of(status, "ScalingActive", "True")?;
    if active != "ValidMetricFound" || !has_metrics(status) {
        return None;
    }
    Some((
        reason_of(status, "AbleToScale", "True")?,
        reason_of(status, "ScalingLimited", "")?,
    ))
}

/// Returns the reason of a condition, if its status is the wanted one; if `wanted` is empty, any status is
/// accepted.
fn reason_of<'s>(status: &'s HpaStatus, type_: &str, wanted: &str) -> Option<&'s str> {
    let condition = status.condition(type_)?;
    (condition.status == wanted || wanted.is_empty()).then_some(&*condition.reason)
}

/// Returns the range from this value up.
fn from(low: i32) -> RangeInclusive<i32> {
    low..=i32::MAX
}

/// Returns the range up to this value; a negative proposal is remembered as 0.
fn up_to(high: i32) -> RangeInclusive<i32> {
    0..=high.max(0)
}

/// `normalizeDesiredReplicas`: the highest of the list, bounded.
fn without_behavior(able: &str, limited: &str, to: i32) -> Option<Sighting> {
    let stabilized = match limited {
        "DesiredWithinRange" => to..=to,
        "TooFewReplicas" => up_to(to - 1),
        "TooManyReplicas" | "ScaleUpLimit" => from(to.saturating_add(1)),
        _ => return None,
    };
    let (low, high) = (*stabilized.start(), *stabilized.end());
    let (proposal, held_down_by, standing) = match able {
        "ReadyForNewScale" => (stabilized, None, Standing::Highest),
        "ScaleDownStabilized" => {
            let below = if high == i32::MAX { high } else { high - 1 };
            (up_to(below), Some(low), Standing::BelowAnother)
        }
        // It was its own proposal or an older one; the condition no longer shows which.
        "SucceededRescale" => (up_to(high), Some(low), Standing::Unknown),
        _ => return None,
    };
    let at_most = (high < i32::MAX).then_some(high);
    Some(Sighting {
        at_most,
        held_down_by,
        standing,
        ..Sighting::new(proposal, able)
    })
}

/// `normalizeDesiredReplicasWithBehaviors`: the current count, clamped between the lowest and the
/// highest of the list, then bounded.
fn with_behavior(
    able: &str,
    limited: &str,
    current: i32,
    to: i32,
    up_window: i32,
) -> Option<Sighting> {
    enum LimitedScaling {
        No,
        Up,
        Down,
    }
    let limited = match limited {
        "DesiredWithinRange" => LimitedScaling::No,
        "TooFewReplicas" | "ScaleDownLimit" => LimitedScaling::Down,
        "TooManyReplicas" | "ScaleUpLimit" => LimitedScaling::Up,
        _ => return None,
    };
    let above = to.saturating_add(1);
    Some(match (able, limited) {
        ("ReadyForNewScale", LimitedScaling::No) => Sighting::new(to..=to, able),
        ("ReadyForNewScale", LimitedScaling::Down) => Sighting {
            at_most: Some(to - 1),
            standing: Standing::Highest,
            ..Sighting::new(up_to(to - 1), able)
        },
        ("ReadyForNewScale", LimitedScaling::Up) => Sighting {
            at_least: Some(above),
            standing: Standing::Lowest,
            ..Sighting::new(from(above), able)
        },
        ("ScaleUpStabilized", LimitedScaling::Up) => Sighting {
            at_least: Some(above),
            standing: Standing::AboveAnother,
            ..Sighting::new(from(above), able)
        },
        ("ScaleDownStabilized", LimitedScaling::No) => Sighting {
            held_down_by: Some(to),
            standing: Standing::BelowAnother,
            ..Sighting::new(up_to(to - 1), able)
        },
        ("ScaleDownStabilized", LimitedScaling::Down) => Sighting {
            at_most: Some(to - 1),
            standing: Standing::BelowAnother,
            ..Sighting::new(up_to(to - 2), able)
        },
        ("ScaleUpStabilized", LimitedScaling::No) => Sighting {
            held_up_by: Some(to),
            standing: Standing::AboveAnother,
            ..Sighting::new(from(above), able)
        },
        ("SucceededRescale", limited) if to > current => {
            let is_free = matches!(limited, LimitedScaling::No);
            let low = if is_free { to } else { above };
            // Without a window, only the proposal itself decides.
            let proposal = if up_window == 0 && is_free {
                to..=to
            } else {
                from(low)
            };
            let held_up_by = is_free.then_some(to);
            Sighting {
                at_least: Some(low),
                held_up_by,
                ..Sighting::new(proposal, able)
            }
        }
        ("SucceededRescale", limited) if to < current => {
            let is_free = matches!(limited, LimitedScaling::No);
            let high = if is_free { to } else { to - 1 };
            let held_down_by = is_free.then_some(to);
            Sighting {
                at_most: Some(high),
                held_down_by,
                ..Sighting::new(up_to(high), able)
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{NO_PROPOSAL, Sighting, counts_rescale, read, rescaled_by};
    use crate::snapshot::hpa::{Hpa, HpaStatus};

    const ANY: i32 = i32::MAX;

    /// The reasons of `AbleToScale` and `ScalingLimited`.
    const READY: &str = "ReadyForNewScale";
    const HELD_DOWN: &str = "ScaleDownStabilized";
    const HELD_UP: &str = "ScaleUpStabilized";
    const RESCALED: &str = "SucceededRescale";
    const WITHIN: &str = "DesiredWithinRange";
    const FEW: &str = "TooFewReplicas";
    const MANY: &str = "TooManyReplicas";
    const UP_LIMIT: &str = "ScaleUpLimit";
    const DOWN_LIMIT: &str = "ScaleDownLimit";

    /// No bound.
    const NO: i32 = -1;

    /// Returns the status of a pass from one count to another, with its reasons.
    fn status(able: &str, limited: &str, from: i32, to: i32) -> Value {
        let condition = |type_: &str, status: &str, reason: &str| json!({"type": type_, "status": status, "reason": reason});
        json!({
            "currentReplicas": from,
            "desiredReplicas": to,
            "currentMetrics": [{"type": "Resource"}],
            "conditions": [
                condition("AbleToScale", "True", able),
                condition("ScalingActive", "True", "ValidMetricFound"),
                condition("ScalingLimited", "False", limited),
            ],
        })
    }

    fn hpa(behavior: &Value, status: Value) -> Hpa {
        Hpa::of(&json!({"maxReplicas": 10, "behavior": behavior}), status)
    }

    /// Everything that a sighting bounds: the proposal, then all recommendations (`at_most`, `at_least`), then one of them
    /// (`held_down_by`, `held_up_by`).
    type Told = ((i32, i32), [i32; 4]);

    fn bounds(seen: Sighting) -> Told {
        let all = [seen.at_most, seen.at_least];
        let one = [seen.held_down_by, seen.held_up_by];
        let [[at_most, at_least], [down, up]] = [all, one].map(|it| it.map(|it| it.unwrap_or(NO)));
        (seen.proposal.into_inner(), [at_most, at_least, down, up])
    }

    fn told(behavior: &Value, status: Value) -> Option<Told> {
        let Hpa { spec, status, .. } = hpa(behavior, status);
        read(&spec, &status).map(bounds)
    }

    #[test]
    fn without_behavior_a_status_bounds_the_highest_recommendation() {
        for (able, limited, (from, to), expected) in [
            (READY, WITHIN, (5, 5), ((5, 5), [5, NO, NO, NO])),
            (READY, FEW, (3, 3), ((0, 2), [2, NO, NO, NO])),
            (READY, MANY, (9, 9), ((10, ANY), [NO, NO, NO, NO])),
            (READY, UP_LIMIT, (9, 9), ((10, ANY), [NO, NO, NO, NO])),
            (HELD_DOWN, WITHIN, (5, 5), ((0, 4), [5, NO, 5, NO])),
            (HELD_DOWN, FEW, (3, 3), ((0, 1), [2, NO, 0, NO])),
            (HELD_DOWN, MANY, (9, 9), ((0, ANY), [NO, NO, 10, NO])),
            (RESCALED, WITHIN, (5, 8), ((0, 8), [8, NO, 8, NO])),
        ] {
            let found = told(&Value::Null, status(able, limited, from, to));
            assert_eq!(found, Some(expected), "{able} {limited} {from} {to}");
        }
        // These come with `behavior` only.
        for (able, limited) in [(READY, DOWN_LIMIT), (HELD_UP, WITHIN)] {
            let found = told(&Value::Null, status(able, limited, 5, 5));
            assert_eq!(found, None, "{able} {limited}");
        }
    }

    #[test]
    fn with_behavior_a_status_bounds_what_clamped_the_count() {
        let told = |window: i32, able, limited, (from, to)| {
            let behavior = json!({"scaleUp": {"stabilizationWindowSeconds": window}});
            told(&behavior, status(able, limited, from, to))
        };
        for (able, limited, counts, expected) in [
            (READY, WITHIN, (5, 5), ((5, 5), [NO, NO, NO, NO])),
            (READY, FEW, (3, 3), ((0, 2), [2, NO, NO, NO])),
            (READY, DOWN_LIMIT, (5, 4), ((0, 3), [3, NO, NO, NO])),
            (READY, MANY, (9, 9), ((10, ANY), [NO, 10, NO, NO])),
            (READY, UP_LIMIT, (5, 6), ((7, ANY), [NO, 7, NO, NO])),
            (HELD_DOWN, WITHIN, (5, 5), ((0, 4), [NO, NO, 5, NO])),
            (HELD_DOWN, FEW, (3, 3), ((0, 1), [2, NO, NO, NO])),
            (HELD_DOWN, DOWN_LIMIT, (6, 5), ((0, 3), [4, NO, NO, NO])),
            (HELD_UP, WITHIN, (5, 5), ((6, ANY), [NO, NO, NO, 5])),
            (HELD_UP, MANY, (9, 9), ((10, ANY), [NO, 10, NO, NO])),
            (RESCALED, WITHIN, (5, 8), ((8, ANY), [NO, 8, NO, 8])),
            (RESCALED, WITHIN, (5, 3), ((0, 3), [3, NO, 3, NO])),
            (RESCALED, DOWN_LIMIT, (5, 3), ((0, 2), [2, NO, NO, NO])),
        ] {
            let found = told(60, able, limited, counts);
            assert_eq!(found, Some(expected), "{able} {limited} {counts:?}");
        }
        // Without a window, the proposal alone decides, unless it was limited.
        for (limited, expected) in [
            (WITHIN, ((8, 8), [NO, 8, NO, 8])),
            (UP_LIMIT, ((9, ANY), [NO, 9, NO, NO])),
        ] {
            let found = told(0, RESCALED, limited, (5, 8));
            assert_eq!(found, Some(expected), "{limited}");
        }
        for (able, limited) in [
            (HELD_UP, FEW),
            (RESCALED, WITHIN),
            ("FailedGetScale", WITHIN),
        ] {
            assert_eq!(told(60, able, limited, (5, 5)), None, "{able} {limited}");
        }
    }

    /// Where the conditions show what the proposal was to the other recommendations, a narrower proposal narrows
    /// these as well.
    #[test]
    fn a_narrower_proposal_bounds_what_it_was_higher_or_lower_than() {
        let up = json!({"scaleUp": {"stabilizationWindowSeconds": 60}});
        let none = Value::Null;
        for (behavior, able, limited, to, (low, high), want) in [
            // Without `behavior`, its own proposal was the highest.
            (&none, READY, MANY, 10, (14, 15), [15, NO, NO, NO]),
            (&none, READY, MANY, 10, (14, ANY), [NO, NO, NO, NO]),
            (&none, HELD_DOWN, MANY, 10, (14, 15), [NO, NO, 15, NO]),
            (&none, HELD_DOWN, WITHIN, 5, (2, 3), [5, NO, 5, NO]),
            (&up, READY, MANY, 10, (14, 15), [NO, 14, NO, NO]),
            (&up, READY, FEW, 5, (2, 3), [3, NO, NO, NO]),
            // The count was between the others and the proposal.
            (&up, READY, WITHIN, 5, (5, 5), [NO, NO, NO, NO]),
            (&up, HELD_UP, MANY, 10, (14, 15), [NO, 11, NO, 14]),
            (&up, HELD_UP, MANY, 10, (14, ANY), [NO, 11, NO, NO]),
            (&up, HELD_UP, WITHIN, 5, (14, 15), [NO, NO, NO, 5]),
            (&up, HELD_DOWN, FEW, 5, (2, 3), [4, NO, 3, NO]),
            (&up, HELD_DOWN, WITHIN, 5, (2, 3), [NO, NO, 5, NO]),
            // No controller writes these.
            (&up, HELD_DOWN, FEW, 1, (0, 0), [0, NO, 0, NO]),
            (&up, HELD_UP, MANY, 10, (11, 11), [NO, 11, NO, 11]),
        ] {
            let Hpa { spec, status, .. } = hpa(behavior, status(able, limited, to, to));
            let mut seen = read(&spec, &status).unwrap();
            seen.narrow(low, high);
            let case = format!("{behavior} {able} {limited} {low} to {high}");
            assert_eq!(bounds(seen), ((low, high), want), "{case}");
        }
    }

    #[test]
    fn a_pass_that_did_not_get_far_enough_tells_nothing() {
        let whole = || status(READY, WITHIN, 5, 5);
        assert!(told(&Value::Null, whole()).is_some());
        for (path, value) in [
            ("/currentReplicas", json!(0)),
            ("/currentReplicas", json!(i32::MIN)),
            ("/desiredReplicas", json!(i32::MIN)),
            ("/currentMetrics", json!([])),
            ("/conditions/0/status", "False".into()),
            ("/conditions/0/type", "Other".into()),
            ("/conditions/1/reason", "Other".into()),
            ("/conditions/2/type", "Other".into()),
        ] {
            let mut status = whole();
            *status.pointer_mut(path).unwrap() = value;
            assert_eq!(told(&Value::Null, status), None, "{path}");
        }
    }

    /// If the minimum is not 0, it is applied after the limits.
    #[test]
    fn at_zero_a_status_bounds_the_recommendations_if_the_minimum_is_zero() {
        for (min, bounds) in [(0, Some((0, 0))), (1, None)] {
            let spec = json!({"minReplicas": min, "maxReplicas": 10});
            let hpa = Hpa::of(&spec, status(READY, WITHIN, 0, 0));
            let found = read(&hpa.spec, &hpa.status).map(|seen| seen.proposal.into_inner());
            assert_eq!(found, bounds, "{min}");
        }
    }

    /// The controller adds a recommendation only after it has evaluated the metrics.
    #[test]
    fn a_pass_without_a_decision_on_its_metrics_recommended_nothing() {
        let nothing = Some(((ANY, 0), [NO; 4]));
        for (able, active, metrics, want) in [
            ("SucceededGetScale", "False", 1, nothing),
            ("SucceededGetScale", "False", 0, nothing),
            (RESCALED, "True", 0, nothing),
            (RESCALED, "False", 0, nothing),
            ("SucceededGetScale", "True", 1, None),
            (READY, "True", 0, None),
            // Its scale was not read, or not written.
            ("", "False", 1, None),
        ] {
            let mut status = status(able, WITHIN, 5, 8);
            status["conditions"][1]["status"] = active.into();
            status["currentMetrics"] = json!(vec![json!({"type": "Resource"}); metrics]);
            if able.is_empty() {
                status["conditions"][0]["status"] = "False".into();
            }
            let found = told(&Value::Null, status);
            assert_eq!(found, want, "{able} {active} {metrics}");
        }
    }

    #[test]
    fn a_rescale_counts_if_it_was_made_or_a_rate_limit_kept_it_in_place() {
        let up = |policy: &str| json!({"scaleUp": {"selectPolicy": policy}});
        let down = json!({"scaleDown": {"selectPolicy": "Min"}});
        let of = |able: &str, limited: &str| -> HpaStatus {
            serde_json::from_value(status(able, limited, 5, 8)).unwrap()
        };
        for (behavior, able, limited, counts, by) in [
            (up("Max"), RESCALED, WITHIN, true, Some(3)),
            (up("Max"), READY, WITHIN, false, None),
            (up("Max"), READY, UP_LIMIT, true, None),
            (up("Disabled"), READY, UP_LIMIT, false, None),
            (up("Max"), READY, DOWN_LIMIT, false, None),
            (down, READY, DOWN_LIMIT, true, None),
            (Value::Null, READY, UP_LIMIT, false, None),
        ] {
            let status = of(able, limited);
            let spec = hpa(&behavior, json!({})).spec;
            let found = (counts_rescale(&spec, &status), rescaled_by(&status));
            assert_eq!(found, (counts, by), "{behavior} {able} {limited}");
        }
    }

    #[test]
    fn both_bounds_of_the_highest_recommendation_are_written() {
        let sighting = Sighting {
            held_down_by: Some(3),
            at_most: Some(7),
            ..Sighting::new(0..=ANY, HELD_DOWN)
        };
        let text = "the highest recommendation is 3 to 7";
        assert_eq!(sighting.to_string(), text);
        let none = Sighting::new(NO_PROPOSAL, "FailedGetResourceMetric");
        assert_eq!(none.to_string(), "nothing was recommended");
    }
}
