//! The order of causes: first faults, then wrong configuration, then the ordinary rule of the controller that
//! applies. A finding that follows from another one leaves the remedy to it.

use std::collections::BTreeSet;
use std::iter::successors;

use super::scope::{Aspect, Rank};
use super::{About, Code, Facts, Finding, Remedy, Severity};
use crate::engine::decision::Block;
use crate::pass::Pass;

impl Finding {
    /// Returns the finding's place in the order of causes.
    pub fn rank(&self) -> Rank {
        match self.severity {
            Severity::Info => Rank::Rule,
            Severity::Error | Severity::Warning => self.code().rank(),
        }
    }

    /// Whether the finding is the reason why a pass ends without a decision.
    pub(crate) fn ends(&self, block: Option<Block>) -> bool {
        let lacks_values =
            || self.leaves_no_values() || !self.facts.kind().failed_metrics().is_empty();
        let is_reason = block.is_some_and(|block| {
            self.code().is(Aspect::Ends(block)) || block == Block::Metrics && lacks_values()
        });
        is_reason && self.explains
    }

    /// Whether the pass would make such a proposal without the problem. Rules that apply between the proposal and the
    /// replicas do not count, because they leave the proposal as it is. A finding of severity info counts if the
    /// problem passes by itself, such as pods that start or are replaced.
    fn changes_proposal(&self, is: impl Fn(i32) -> bool) -> bool {
        let without = self
            .without
            .filter(|_| self.explains)
            .and_then(|it| it.proposal);
        let counts = self.severity < Severity::Info || self.code().is(Aspect::Passes);
        without.is_some_and(is) && counts && self.code().rank() < Rank::Rule
    }

    /// Whether the finding casts doubt on the metrics' proposals: the metrics, or pods that they count, are not as they
    /// should be.
    fn is_doubt(&self) -> bool {
        let code = self.code();
        self.severity < Severity::Info && (code.is(Aspect::OfMetrics) || code.is(Aspect::Miscounts))
    }

    /// Whether the finding takes precedence over raising `maxReplicas`: pods would not run, or a target or a request
    /// lets the metric run away.
    fn is_prior_to_more(&self, metric: Option<usize>) -> bool {
        let is_of = |own: usize| Some(own) == metric;
        if self.severity == Severity::Info {
            return false;
        }
        match &self.facts {
            Facts::UnschedulablePods(_) | Facts::ReplicasWithoutPods(_) => true,
            Facts::MemoryBaseline(it) => is_of(it.metric),
            // Of two metrics in a wrong unit, neither alone explains the proposal.
            Facts::SuspectUnit(it) => is_of(it.metric) && it.ratio > 1.0,
            Facts::ValueMultiplies(it) => is_of(it.metric),
            Facts::RequestTooSmall(it) => is_of(it.metric),
            Facts::Flapping(it) => it.small.is_some(),
            Facts::StartingPods(it) => is_of(it.metric) && it.is_hot(),
            Facts::ForeignPods(_) => self.explains,
            Facts::OtherWriter(it) => it.owner.is_some(),
            Facts::StaleSamples(it) => self.explains && it.metrics.iter().any(|own| is_of(*own)),
            _ => false,
        }
    }

    /// Whether the replicas do not follow from the passes: something else sets them, or no passes are made.
    pub(crate) fn overrules(&self) -> bool {
        match &self.facts {
            Facts::OtherWriter(_) => true,
            Facts::ControllerSilent(_) => self.severity == Severity::Error,
            _ => false,
        }
    }

    /// Whether the finding says that a number was not measured.
    fn is_unmeasured(&self) -> bool {
        matches!(&self.facts, Facts::MetricFailing(it) if it.is_fallback())
    }
}

impl About<'_> {
    /// Returns the code of the first finding that meets a condition.
    pub(crate) fn first(&self, is_cause: impl Fn(&Finding) -> bool) -> Option<Code> {
        let first = self.found.iter().find(|it| is_cause(it));
        first.map(Finding::code)
    }

    /// Returns the code if there is a finding with it.
    pub(crate) fn any(&self, code: Code) -> Option<Code> {
        self.first(|it| it.code() == code)
    }

    /// Returns a pause of KEDA in both directions.
    pub(crate) fn whole_pause(&self) -> Option<Code> {
        self.first(|it| matches!(&it.facts, Facts::PausedByKeda(pause) if pause.is_whole()))
    }

    /// Returns the finding that says that the replicas do not follow from the passes.
    pub(crate) fn overruling(&self) -> Option<Code> {
        self.first(|it| it.overrules() && it.explains)
    }

    /// Returns the finding that says that all pods of this one belong to other objects, where their problems have to be
    /// fixed.
    fn foreign(&self) -> Option<Code> {
        let finding = self.finding;
        let is_of_pods = !finding.pods().is_empty() && finding.code() != Code::ForeignPods;
        self.about_all(Code::ForeignPods).filter(|_| is_of_pods)
    }

    /// Returns the pods of this finding that do not belong to others.
    pub(crate) fn own_pods(&self) -> BTreeSet<&str> {
        let mut own = self.finding.pods();
        let foreign = self
            .found
            .iter()
            .filter(|it| it.code() == Code::ForeignPods);
        for pod in foreign.flat_map(Finding::pods) {
            own.remove(pod);
        }
        own
    }

    /// Returns the code if one finding with it covers all pods of this one.
    pub(crate) fn about_all(&self, code: Code) -> Option<Code> {
        let own = self.finding.pods();
        self.first(|it| it.code() == code && own.is_subset(&it.pods()))
    }

    /// Returns the finding that keeps a rollout from finishing, if the advice is to wait for the end: the new pods are
    /// never ready.
    pub(crate) fn endless_rollout(&self) -> Option<Code> {
        let never = |it: &Finding| matches!(&it.facts, Facts::NeverReady(it) if it.is_current);
        let cause = self.first(never)?;
        let advice = self.finding.facts.kind().advice(self);
        (advice.remedy == Remedy::WaitForRollout).then_some(cause)
    }

    /// Returns the finding that casts doubt on the metrics' proposals.
    pub(crate) fn doubt(&self) -> Option<Code> {
        self.first(Finding::is_doubt)
    }

    /// Returns the finding that takes precedence over the limit that keeps a pass from the replicas that a metric
    /// desires.
    pub(crate) fn prior(&self, desired: i32, result: i32, metric: Option<usize>) -> Option<Code> {
        let is_prior = |it: &Finding| desired > result && it.is_prior_to_more(metric);
        self.beyond(desired, result)
            .or_else(|| self.first(is_prior))
    }

    /// Returns the reason why a pass does not reach the replicas that it desires: a pause, or a problem without which
    /// it would not desire more than the result allows; or a wrong unit, whose proposals have no reason to be reached.
    pub(crate) fn beyond(&self, desired: i32, result: i32) -> Option<Code> {
        self.first(|it| match &it.facts {
            Facts::PausedByKeda(pause) => it.explains && pause.is_whole(),
            Facts::SuspectUnit(unit) if !unit.is_divided() => {
                it.explains && it.severity < Severity::Info
            }
            _ if desired > result => it.changes_proposal(|proposal| proposal <= result),
            _ => it.changes_proposal(|proposal| proposal >= result),
        })
    }

    /// Returns the problem without which the pass would propose something else, or which makes its proposal
    /// unknown.
    pub(crate) fn other_proposal(&self) -> Option<Code> {
        let answer = self.pass.decision.proposal;
        self.first(|it| match &it.facts {
            Facts::StaleSamples(_) | Facts::UnreachableTarget(_) => it.explains,
            _ => it.changes_proposal(|proposal| Some(proposal) != answer),
        })
    }

    /// Returns the finding that this one follows from.
    fn cause(&self) -> Option<Code> {
        let facts = &self.finding.facts;
        let is_told_apart = matches!(
            facts,
            Facts::SwitchedOff(_) | Facts::BlockedByFailedMetric(_)
        );
        let own = self.foreign().or_else(|| facts.kind().cause(self));
        own.or_else(|| {
            // There is no advice on a number that was not measured.
            let other = self.first(|it| it.is_unmeasured() && it.explains)?;
            let is_rule = facts.code().rank() == Rank::Rule && !is_told_apart;
            is_rule.then_some(other)
        })
    }
}

/// Links each finding that follows from another to that one, and moves it behind that one. In a chain of findings, each
/// is linked to the one that has the remedy. The findings are in the order of causes.
pub(super) fn link(pass: &Pass, found: &mut [Finding]) {
    let findings = found.iter();
    let causes: Vec<Option<Code>> = findings
        .map(|it| About::new(pass, it, found).cause())
        .collect();
    let codes: Vec<Code> = found.iter().map(Finding::code).collect();
    let cause_of = |code: &Code| causes[codes.iter().position(|it| it == code)?];
    for (finding, cause) in found.iter_mut().zip(&causes) {
        finding.follows = successors(*cause, cause_of).take(codes.len()).last();
        // The remedy is the other finding's, so this one needs no action.
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
