//! The order of causes: what is broken, then what is configured wrongly, then which ordinary rule of the controller
//! holds. A finding that follows from another one leaves the remedy to it.

use std::collections::BTreeSet;

use super::owners::{ForeignPods, OldRevisionPods};
use super::path::{Cause, Corrected, Correction};
use super::requests::{MissingRequest, Source};
use super::{Case, Code, Facts, Finding, Severity, path, pods};
use crate::engine::decision::Block;

/// The place of a finding in the order of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Something does not work.
    Broken,
    /// Something works as it was configured, and that is probably not what was meant.
    Misconfigured,
    /// An ordinary rule of the controller holds, or something passes by itself.
    Rule,
}

impl Code {
    /// Returns the rank of a finding of this code that someone should act on.
    fn rank(self) -> Rank {
        match self {
            Self::TargetNotFound
            | Self::ScaleNotWritten
            | Self::ControllerSilent
            | Self::OtherWriter
            | Self::MissingRequest
            | Self::MetricsApiUnavailable
            | Self::MetricNotFound
            | Self::MetricFailing
            | Self::MetricEmpty
            | Self::UnknownContainer
            | Self::ContainerMetricsMissing
            | Self::StaleSamples
            | Self::SelectorMissing
            | Self::SelectorMatchesNothing
            | Self::SharedPods
            | Self::NeverReady
            | Self::UnschedulablePods
            | Self::ReplicasWithoutPods
            | Self::UncountedPods => Rank::Broken,
            Self::PausedByKeda
            | Self::FieldIgnored
            | Self::DiffersFromStatus
            | Self::DilutedByContainer
            | Self::ResizeInProgress
            | Self::RequestsDifferFromTemplate
            | Self::RequestTooSmall
            | Self::ValueMultiplies
            | Self::SuspectUnit
            | Self::MemoryBaseline
            | Self::UnreachableTarget
            | Self::Flapping
            | Self::FinishedPods
            | Self::ForeignPods
            | Self::OldRevisionPods
            | Self::TerminatingPods
            | Self::StartingPods => Rank::Misconfigured,
            Self::BlockedByFailedMetric
            | Self::WithinTolerance
            | Self::Rounding
            | Self::HeldByWindow
            | Self::RateLimited
            | Self::AtMax
            | Self::AtMin
            | Self::AboveMax
            | Self::BelowMin
            | Self::DirectionDisabled
            | Self::SwitchedOff => Rank::Rule,
        }
    }
}

impl Finding {
    /// Returns its place in the order of causes.
    pub fn rank(&self) -> Rank {
        match self.severity {
            Severity::Info => Rank::Rule,
            Severity::Error | Severity::Warning => self.code().rank(),
        }
    }

    /// Whether it is the reason for which a pass ends without a decision.
    pub(crate) fn ends(&self, block: Option<Block>) -> bool {
        let facts = &self.facts;
        let is_reason = match block {
            Some(Block::NoScale) => matches!(facts, Facts::TargetNotFound(_)),
            Some(Block::Selector) => matches!(facts, Facts::SelectorMissing(_)),
            Some(Block::SharedPods) => matches!(facts, Facts::SharedPods(_)),
            Some(Block::Metrics) => {
                self.is_about_pods()
                    || !facts.failed_metrics().is_empty()
                    || matches!(facts, Facts::BlockedByFailedMetric(_))
            }
            Some(Block::AtZero | Block::NotWritten) | None => false,
        };
        is_reason && self.explains && self.severity < Severity::Info
    }
}

/// Links each finding that follows from another one to it, and puts it behind that one. The findings are in the
/// order of causes.
pub(super) fn link(case: &Case<'_>, found: &mut [Finding]) {
    let causes: Vec<Option<Code>> = found.iter().map(|it| cause_of(case, it, found)).collect();
    for (finding, cause) in found.iter_mut().zip(causes) {
        finding.follows = cause;
        // The remedy is the other one's, so nobody has to act on this one.
        if cause.is_some() && finding.code() == Code::AtMax {
            finding.severity = Severity::Info;
        }
    }
    for place in 0..found.len() {
        let Some(cause) = found[place].follows else {
            continue;
        };
        if let Some(later) = found[place..].iter().position(|it| it.code() == cause) {
            found[place..=place + later].rotate_right(1);
        }
    }
}

/// Returns the finding that another one follows from.
fn cause_of(case: &Case<'_>, finding: &Finding, found: &[Finding]) -> Option<Code> {
    cause(case, finding, found).or_else(|| {
        // Nothing is to be advised on a number that was not measured.
        let is_measured = |it: &&Finding| match &it.facts {
            Facts::MetricFailing(it) => it.fallback.is_none(),
            _ => true,
        };
        let other = found.iter().find(|it| !is_measured(it) && it.explains)?;
        let is_rule = finding.code().rank() == Rank::Rule
            && !matches!(
                finding.facts,
                Facts::SwitchedOff(_) | Facts::BlockedByFailedMetric(_)
            );
        is_rule.then(|| other.code())
    })
}

fn cause(case: &Case<'_>, finding: &Finding, found: &[Finding]) -> Option<Code> {
    let is = |code: Code| found.iter().any(|it| it.code() == code).then_some(code);
    let by = |is_cause: &dyn Fn(&Finding) -> bool| {
        found.iter().find(|it| is_cause(it)).map(Finding::code)
    };
    match &finding.facts {
        Facts::UncountedPods(facts) => {
            let own = facts.names(case.pass);
            by(&|it| !facts.count && pods::stuck_in(&it.facts).is_some_and(|names| names == own))
        }
        Facts::ContainerMetricsMissing(facts) if finding.severity == Severity::Info => {
            let own: BTreeSet<&str> = facts.pods.iter().map(|it| &*it.pod).collect();
            by(&|it| match &it.facts {
                Facts::UncountedPods(it) => !it.count && it.names(case.pass) == own,
                _ => false,
            })
        }
        Facts::ReplicasWithoutPods(facts) => facts.waits_for.as_ref().and_then(|pod| {
            by(&|it| match &it.facts {
                Facts::NeverReady(it) => it.pods.iter().any(|own| own.name == *pod),
                _ => false,
            })
        }),
        Facts::FinishedPods(facts) => {
            let own: BTreeSet<&str> = facts
                .succeeded
                .iter()
                .chain(&facts.failed)
                .map(|it| &**it)
                .collect();
            by(&|it| matches!(&it.facts, Facts::ForeignPods(it) if own.is_subset(&all_of(it))))
        }
        Facts::MissingRequest(facts) if is_foreign(facts) => is(Code::ForeignPods),
        Facts::OldRevisionPods(OldRevisionPods { beyond, .. }) => {
            let own: BTreeSet<&str> = beyond.iter().map(|it| &**it).collect();
            by(&|it| matches!(&it.facts, Facts::ForeignPods(it) if own.is_subset(&all_of(it))))
        }
        Facts::BlockedByFailedMetric(facts) => by(&|it| {
            it.facts
                .failed_metrics()
                .iter()
                .any(|metric| facts.failed.contains(metric))
        }),
        Facts::SwitchedOff(_) => by(&is_whole_pause),
        Facts::DirectionDisabled(facts) => by(
            &|it| matches!(&it.facts, Facts::PausedByKeda(pause) if pause.may_disable(facts.direction)),
        ),
        Facts::AboveMax(path::AboveMax(it)) | Facts::BelowMin(path::BelowMin(it)) => match it {
            Correction::Due(Corrected {
                cause: Cause::Program,
                ..
            }) => is(Code::OtherWriter),
            Correction::Due(_) => None,
            Correction::Done(_) => by(&is_whole_pause).or(is(Code::OtherWriter)),
        },
        Facts::WithinTolerance(_) | Facts::Rounding(_) => {
            let answer = case.answer();
            by(&|it| match &it.facts {
                Facts::StaleSamples(_) | Facts::UnreachableTarget(_) => it.explains,
                _ => it.changes_proposal(|proposal| Some(proposal) != answer.proposal),
            })
        }
        // While something else sets the replicas, neither a window nor a policy decides what they are.
        Facts::HeldByWindow(facts) => {
            let is_down = facts.desired < facts.result;
            beyond(found, facts.desired, facts.result)
                .or(is(Code::Flapping).filter(|_| is_down))
                .or_else(|| by(&is_other_writer))
        }
        Facts::RateLimited(facts) => beyond(found, facts.desired, facts.result)
            .or_else(|| {
                by(&|it| facts.desired > facts.result && is_prior_to_more(it, facts.metric))
            })
            .or_else(|| by(&is_other_writer)),
        Facts::AtMin(path::AtMin { bound, .. }) if bound.is_disabled => is(Code::DirectionDisabled),
        Facts::AtMax(path::AtMax { bound, .. }) if bound.is_disabled => is(Code::DirectionDisabled),
        // Fewer replicas are an offer only if nothing is wrong with what is proposed.
        Facts::AtMin(path::AtMin { bound, .. }) => beyond(found, bound.asked, bound.bound)
            .or_else(|| by(&is_doubt))
            .or(is(Code::BelowMin)),
        Facts::AtMax(path::AtMax { bound, .. }) => beyond(found, bound.asked, bound.bound)
            .or_else(|| by(&|it| is_prior_to_more(it, bound.metric)))
            .or(is(Code::AboveMax)),
        _ => None,
    }
}

/// Whether KEDA has been told not to scale at all.
fn is_whole_pause(finding: &Finding) -> bool {
    matches!(&finding.facts, Facts::PausedByKeda(pause) if pause.is_whole())
}

impl Finding {
    /// Whether the pass would propose something of this kind without the problem. Not for rules of the way from
    /// the proposal to the replicas, which leave it as it is. What is only information is a reason if it passes by
    /// itself, as pods that start or are replaced.
    fn changes_proposal(&self, is: impl Fn(i32) -> bool) -> bool {
        let without = self
            .without
            .filter(|_| self.explains)
            .and_then(|it| it.proposal);
        let passes = matches!(
            self.code(),
            Code::OldRevisionPods
                | Code::UncountedPods
                | Code::StartingPods
                | Code::TerminatingPods
                | Code::UnschedulablePods
        );
        let counts = self.severity < Severity::Info || passes;
        without.is_some_and(is) && counts && self.code().rank() < Rank::Rule
    }
}

/// Returns what keeps a pass from the replicas that it desires: a pause, or a problem without which it would not
/// desire anything beyond the result.
fn beyond(found: &[Finding], desired: i32, result: i32) -> Option<Code> {
    let is_cause = |it: &&Finding| match &it.facts {
        Facts::PausedByKeda(pause) => it.explains && pause.is_whole(),
        _ => it.changes_proposal(|proposal| {
            if desired > result {
                proposal <= result
            } else {
                proposal >= result
            }
        }),
    };
    found.iter().find(is_cause).map(Finding::code)
}

/// Whether something else sets the replicas now.
fn is_other_writer(finding: &Finding) -> bool {
    matches!(finding.facts, Facts::OtherWriter(_)) && finding.explains
}

/// Whether a finding casts doubt on what the metrics propose: they, or pods that they count, are not as they should be.
fn is_doubt(finding: &Finding) -> bool {
    let code = finding.code();
    let is_of_pods = matches!(
        code,
        Code::FinishedPods
            | Code::ForeignPods
            | Code::NeverReady
            | Code::ReplicasWithoutPods
            | Code::OldRevisionPods
            | Code::TerminatingPods
            | Code::StartingPods
            | Code::UncountedPods
    );
    finding.severity < Severity::Info && (code.is_of_metrics() || is_of_pods)
}

/// Whether a finding comes before more replicas than `maxReplicas`: pods that would not run, or a target or a request
/// that lets the metric run away.
fn is_prior_to_more(finding: &Finding, metric: Option<usize>) -> bool {
    let is_of = |own: usize| Some(own) == metric;
    if finding.severity == Severity::Info {
        return false;
    }
    match &finding.facts {
        Facts::UnschedulablePods(_) | Facts::ReplicasWithoutPods(_) => true,
        Facts::MemoryBaseline(it) => is_of(it.metric),
        Facts::SuspectUnit(it) => is_of(it.metric) && it.ratio > 1.0,
        Facts::ValueMultiplies(it) => is_of(it.metric),
        Facts::RequestTooSmall(it) => is_of(it.metric),
        Facts::Flapping(it) => it.small.is_some(),
        Facts::StartingPods(it) => is_of(it.metric) && matches!(it.how, pods::Starting::Hot { .. }),
        Facts::ForeignPods(_) => finding.explains,
        Facts::StaleSamples(it) => finding.explains && it.metrics.iter().any(|own| is_of(*own)),
        _ => false,
    }
}

/// Returns the names of pods that belong to others.
fn all_of(facts: &ForeignPods) -> BTreeSet<&str> {
    facts
        .of
        .iter()
        .flat_map(|of| &of.pods)
        .map(|name| &**name)
        .collect()
}

/// Whether all containers without a request are in pods of others.
fn is_foreign(facts: &MissingRequest) -> bool {
    facts
        .containers
        .iter()
        .all(|it| matches!(it.source, Source::Foreign { .. }))
}
