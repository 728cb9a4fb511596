//! The outcome of a pass, in a few words.

use crate::engine::decision::{Block, Outcome};
use crate::pass::Pass;
use crate::report::section::Tone;
use crate::snapshot::{Documents, ScaleError, UnreadCause};

/// The outcome of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Headline {
    /// The input has no target.
    NoTarget,
    /// The input has no scale of the target.
    NoScale,
    /// The target of the input states no replicas.
    NoReplicas,
    /// The scale cannot be read.
    CannotRead,
    /// The scale cannot be written.
    CannotWrite { from: i32, to: i32 },
    /// The input or the history lacks what decides.
    Lacks(Documents),
    /// These may not be read here.
    MayNotRead(&'static str),
    /// No answer about the metrics has arrived.
    NotRead,
    /// The replicas change.
    Scale { from: i32, to: i32 },
    /// The target has no replicas.
    Disabled,
    /// The controller cannot decide.
    Undecided(i32),
    /// The replicas stay.
    Stays(i32),
}

impl Headline {
    /// Returns the outcome of a pass.
    pub(in crate::report) fn of(pass: &Pass) -> Self {
        // The pass may end before it reads the scale, so the trace decides, not the snapshot.
        let decision = &pass.decision;
        let Some(current) = decision.replicas_before() else {
            return match &pass.input.snapshot.scale {
                Err(ScaleError::Missing(target)) if target.lacks_scale => Self::NoScale,
                Err(ScaleError::Missing(_)) => Self::NoTarget,
                Err(ScaleError::NoReplicas { .. }) => Self::NoReplicas,
                _ => Self::CannotRead,
            };
        };
        if let Some((to, _)) = decision.unwritten() {
            return Self::CannotWrite { from: current, to };
        }
        if pass.is_unanswered() {
            return Self::unanswered(&decision.outcome);
        }
        match (decision.outcome.scale_to, decision.block()) {
            (Some(to), _) => Self::Scale { from: current, to },
            (None, Some(Block::AtZero)) => Self::Disabled,
            (None, Some(block)) if block.is_undecided() => Self::Undecided(current),
            (None, _) => Self::Stays(current),
        }
    }

    /// Returns the outcome of a pass that lacks what decides.
    fn unanswered(outcome: &Outcome) -> Self {
        match outcome.unread.first().map(|unread| &unread.why) {
            Some(UnreadCause::Missing { documents }) => Self::Lacks(*documents),
            Some(UnreadCause::Unanswered { .. }) => Self::NotRead,
            Some(UnreadCause::PodsRefused { .. }) => Self::MayNotRead("pods"),
            _ => Self::MayNotRead("metrics"),
        }
    }

    pub(in crate::report) fn text(self) -> String {
        match self {
            Self::NoTarget => "unknown: the input has no target".to_owned(),
            Self::NoScale => "unknown: the input has no scale".to_owned(),
            Self::NoReplicas => "unknown: the input has no replicas".to_owned(),
            Self::CannotRead => "cannot scale".to_owned(),
            Self::CannotWrite { from, to } => format!("cannot scale {from} → {to}"),
            Self::Lacks(Documents::Pod) => "unknown: the input lacks the pods".to_owned(),
            Self::Lacks(documents) => {
                format!("unknown: the {} lacks a metric", documents.container())
            }
            Self::MayNotRead(what) => format!("unknown: no access to the {what}"),
            Self::NotRead => "unknown: no answer about the metrics".to_owned(),
            Self::Scale { from, to } if to > from => format!("scale up {from} → {to}"),
            Self::Scale { from, to } => format!("scale down {from} → {to}"),
            Self::Disabled => "disabled at 0".to_owned(),
            Self::Undecided(current) => format!("cannot decide, stays at {current}"),
            Self::Stays(current) => format!("stays at {current}"),
        }
    }

    pub(super) fn tone(self) -> Tone {
        match self {
            Self::Scale { from, to } if to > from => Tone::Up,
            Self::Scale { .. } => Tone::Down,
            Self::Stays(_) => Tone::Stay,
            _ => Tone::Blocked,
        }
    }
}
