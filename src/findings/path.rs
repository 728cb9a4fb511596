//! Findings about the way from the metrics to the replicas: tolerance, rounding, holds, limits, bounds.

use super::{Case, Finding, Severity};
use crate::engine::decision::{Because, MetricResult, Path};

/// A metric is off its target and inside the tolerance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithinTolerance {
    /// Its place in the spec, counted from 0.
    pub metric: usize,
    /// Current over target.
    pub ratio: f64,
    /// The tolerance on the side on which the metric is off.
    pub tolerance: f64,
}

/// `within-tolerance`
pub(super) fn within_tolerance(case: &Case<'_>) -> Option<Finding> {
    let decision = case.decision();
    if decision.path() != Some(Path::Metrics) || decision.proposal != decision.replicas_before() {
        return None;
    }
    let winner = decision.winner()?;
    let MetricResult::Proposal(proposal) = &winner.result else { return None };
    let ratio = match proposal.because {
        Because::WithinTolerance => proposal.ratio,
        Because::FilledWithinTolerance => proposal.filled?.ratio,
        _ => return None,
    };
    let tolerance = if ratio > 1.0 { winner.tolerance.up } else { winner.tolerance.down };
    let facts = WithinTolerance { metric: winner.index, ratio, tolerance };
    (ratio != 1.0).then(|| Finding::explaining(Severity::Info, facts))
}
