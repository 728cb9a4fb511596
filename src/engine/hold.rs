//! The way from the proposal to the replicas: each rule that keeps a pass from following its metrics.

use super::decision::{
    Block, CombineStep, Decision, Direction, LimitStep, Path, StabilizeStep, Step,
};
use crate::snapshot::hpa::{HpaSpec, ScalingRules};

/// Something that keeps a pass from giving the target the replicas that its metrics propose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hold<'d> {
    /// The scale of the target could not be read.
    Unreadable(&'d str),
    /// The target has no replicas, so scaling is disabled.
    AtZero,
    /// The replicas are beyond a bound in this direction, and are set to it.
    Corrected(Direction, i32),
    /// The pods of the target cannot be selected.
    Selector {
        /// The reason, as in the condition.
        reason: &'static str,
        /// The text, as in the condition.
        message: &'d str,
        /// The HPAs that select the same pods.
        hpas: &'d [String],
    },
    /// Metrics failed or are unknown here, and the others do not decide.
    Failed(&'d CombineStep),
    /// A past recommendation changes the replicas.
    Window(&'d StabilizeStep),
    /// A rate limit, a disabled direction or a bound changes the replicas.
    Limit(&'d LimitStep),
    /// A workload that was scaled to zero starts again with this minimum.
    Woken(i32),
    /// The scale could not be written.
    Unwritten {
        /// The replicas that it would have.
        to: i32,
        /// The reason.
        error: &'d str,
    },
}

impl Step {
    /// Returns the hold, if the step is one.
    pub fn hold(&self) -> Option<Hold<'_>> {
        Some(match self {
            Self::ReadScale {
                error: Some(error), ..
            } => Hold::Unreadable(error),
            Self::ChoosePath { path, min, max, .. } => match path {
                Path::Disabled => Hold::AtZero,
                Path::AboveMax => Hold::Corrected(Direction::Up, *max),
                Path::BelowMin => Hold::Corrected(Direction::Down, *min),
                Path::Metrics => return None,
            },
            Self::RejectSelector {
                reason,
                message,
                hpas,
            } => Hold::Selector {
                reason,
                message,
                hpas,
            },
            Self::CombineMetrics(combined) if !combined.accepted => Hold::Failed(combined),
            Self::Stabilize(stabilized) if stabilized.holds() => Hold::Window(stabilized),
            Self::Limit(limit) if limit.holds() => Hold::Limit(limit),
            Self::RaiseToMin { result } => Hold::Woken(*result),
            Self::Rescale {
                to,
                error: Some(error),
                ..
            } => Hold::Unwritten { to: *to, error },
            _ => return None,
        })
    }
}

impl Hold<'_> {
    /// Returns the direction in which it holds the replicas, if `behavior` disables that.
    pub(crate) fn disabled(&self, spec: &HpaSpec) -> Option<Direction> {
        let (desired, result) = match self {
            Self::Window(step) => (step.desired, step.result),
            Self::Limit(limit) => (limit.desired, limit.result),
            _ => return None,
        };
        let direction = if desired < result {
            Direction::Down
        } else {
            Direction::Up
        };
        spec.is_disabled(direction).then_some(direction)
    }
}

impl HpaSpec {
    /// Returns the rules of a direction, if there are any.
    pub(crate) fn rules(&self, direction: Direction) -> Option<&ScalingRules> {
        let behavior = self.behavior.as_ref()?;
        match direction {
            Direction::Up => behavior.scale_up.as_ref(),
            Direction::Down => behavior.scale_down.as_ref(),
        }
    }

    /// Whether the controller may not scale in a direction.
    pub(crate) fn is_disabled(&self, direction: Direction) -> bool {
        self.rules(direction).is_some_and(ScalingRules::is_disabled)
    }
}

impl Decision {
    /// Returns each rule that keeps the pass from following its metrics, in the order of the pass.
    pub fn holds(&self) -> impl Iterator<Item = Hold<'_>> {
        self.trace.iter().filter_map(Step::hold)
    }

    /// Returns why the scale of the target could not be read.
    pub fn unreadable(&self) -> Option<&str> {
        self.holds().find_map(|hold| match hold {
            Hold::Unreadable(error) => Some(error),
            _ => None,
        })
    }

    /// Returns the replicas that could not be written, and why.
    pub fn unwritten(&self) -> Option<(i32, &str)> {
        self.holds().find_map(|hold| match hold {
            Hold::Unwritten { to, error } => Some((to, error)),
            _ => None,
        })
    }

    /// Returns the reason why the pass could not decide or scale; `None` if it could, or if a metric that is
    /// unknown here may decide.
    pub fn block(&self) -> Option<Block> {
        self.holds().find_map(|hold| match hold {
            Hold::Unreadable(_) => Some(Block::NoScale),
            Hold::AtZero => Some(Block::AtZero),
            Hold::Selector { hpas: [], .. } => Some(Block::Selector),
            Hold::Selector { .. } => Some(Block::SharedPods),
            Hold::Failed(CombineStep { unread: 0, .. }) => Some(Block::Metrics),
            Hold::Unwritten { .. } => Some(Block::NotWritten),
            _ => None,
        })
    }
}
