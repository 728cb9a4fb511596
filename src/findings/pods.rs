//! Findings about pods that count, and should not, or do not count, and should.

use super::{Case, Finding, Severity};
use crate::snapshot::pod::Phase;

/// Pods that have ended match the selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedPods {
    /// Those that succeeded, by name.
    pub succeeded: Vec<Box<str>>,
    /// Those that failed, by name.
    pub failed: Vec<Box<str>>,
}

/// `finished-pods`
pub(super) fn finished(case: &Case<'_>) -> Option<Finding> {
    let of = |phase| {
        let pods = case.pods().filter(move |pod| pod.phase == phase);
        pods.map(|pod| pod.name.clone()).collect::<Vec<_>>()
    };
    let facts = FinishedPods { succeeded: of(Phase::Succeeded), failed: of(Phase::Failed) };
    if facts.succeeded.is_empty() && facts.failed.is_empty() {
        return None;
    }
    let without = case.without_pods(|pod| matches!(pod.phase, Phase::Succeeded | Phase::Failed));
    let finding = match without == case.answer() {
        true => Finding::aside(Severity::Info, facts),
        false => Finding::explaining(Severity::Warning, facts),
    };
    Some(finding.without(without))
}
