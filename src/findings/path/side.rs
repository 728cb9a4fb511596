//! The two sides of an HPA: the bound and the rules of each direction, with the words for them.

use crate::apimachinery::managed_fields::SpecField;
use crate::engine::decision::Direction;
use crate::snapshot::hpa::{HpaSpec, ScalingRules};

/// The terms for a side of an HPA.
pub(crate) struct SideWords {
    /// The field of the bound.
    pub(crate) bound: &'static str,
    /// The field of the bound, as a field manager owns it.
    pub(super) owned: SpecField,
    /// The flag of `predict` that assumes another bound.
    pub(super) flag: &'static str,
    /// The reason of the condition `ScalingLimited` if the bound decides.
    pub(super) reason: &'static str,
    /// The field of `behavior` with the rules.
    pub(crate) rules: &'static str,
    /// The place of replicas that the bound does not allow, and of a metric whose proposal goes there.
    pub(crate) beyond: &'static str,
    /// The comparative for such replicas.
    pub(super) other: &'static str,
    /// The verb for allowing such replicas.
    pub(super) change: &'static str,
    /// The adjective for a bound that allows such replicas.
    pub(super) further: &'static str,
    /// The words before the farthest count that is allowed.
    pub(crate) farthest: &'static str,
}

static UP: SideWords = SideWords {
    bound: "maxReplicas",
    owned: SpecField::MaxReplicas,
    flag: "--max",
    reason: "TooManyReplicas",
    rules: "scaleUp",
    beyond: "above",
    other: "more",
    change: "raise",
    further: "higher",
    farthest: "at most",
};

static DOWN: SideWords = SideWords {
    bound: "minReplicas",
    owned: SpecField::MinReplicas,
    flag: "--min",
    reason: "TooFewReplicas",
    rules: "scaleDown",
    beyond: "below",
    other: "fewer",
    change: "lower",
    further: "lower",
    farthest: "no fewer than",
};

impl Direction {
    /// Both directions, in the order of `behavior`.
    pub(crate) const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Returns the terms for the side of an HPA in this direction.
    pub(crate) fn words(self) -> &'static SideWords {
        match self {
            Self::Up => &UP,
            Self::Down => &DOWN,
        }
    }

    /// Whether one count is further in this direction than another.
    pub(crate) fn is_beyond(self, count: i32, other: i32) -> bool {
        match self {
            Self::Up => count > other,
            Self::Down => count < other,
        }
    }
}

impl HpaSpec {
    /// Returns the bound of a side.
    pub(crate) fn bound(&self, side: Direction) -> i32 {
        match side {
            Direction::Up => self.max_replicas,
            Direction::Down => self.min(),
        }
    }

    /// Whether passes may change these replicas in a direction.
    pub(crate) fn may_scale(&self, side: Direction, current: i32) -> bool {
        !self.is_disabled(side) && side.is_beyond(self.bound(side), current)
    }

    /// Sets the bound of a side.
    pub(crate) fn set_bound(&mut self, side: Direction, bound: i32) {
        match side {
            Direction::Up => self.max_replicas = bound,
            Direction::Down => self.min_replicas = Some(bound),
        }
    }

    /// Returns the rules of a side, to change them. An HPA without rules gets some.
    pub(crate) fn rules_mut(&mut self, side: Direction) -> &mut ScalingRules {
        let behavior = self.behavior.get_or_insert_default();
        let rules = match side {
            Direction::Up => &mut behavior.scale_up,
            Direction::Down => &mut behavior.scale_down,
        };
        rules.get_or_insert_default()
    }
}
