//! The finding `within-tolerance`.

use super::memory::{AlikeMemory, alike_memory, is_baseline};
use super::{NOTHING_TO_DO, is_filled, set_tolerance, side_of, target, threshold, value, within};
use crate::apimachinery::quantity::{Format, Quantity};
use crate::findings::prelude::*;
use crate::findings::targets::{PlayedAdjustment, ProposalOf, other_target};
use crate::snapshot::Snapshot;
use crate::whatif::thresholds::Borders;

/// A metric is off its target, but within the tolerance, so the replicas stay.
///
/// Nothing to do. To have the HPA react, set the tolerance in its behavior (Kubernetes 1.35 or newer); it is a share, such as
/// 0.1. Memory that keeps the replicas at any load is described at `rounding`.
#[derive(Debug, Clone, PartialEq)]
pub struct WithinTolerance {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// Current over target.
    pub ratio: f64,
    /// The tolerance on the side on which the metric is off.
    pub tolerance: f64,
    /// The values at which the metric would propose other replicas, if known.
    pub borders: Option<Borders>,
    /// A tolerance, in hundredths, with which the metric proposes more, or also fewer if the present one is no share, if
    /// nothing is wrong.
    pub narrower: Option<u8>,
    /// The nearest target with which the pass proposes more now, if the version has no field for the tolerance and
    /// nothing is wrong; never a target for fewer replicas.
    pub target: Option<PlayedAdjustment>,
    /// The memory metric that keeps the replicas at any load, if there is one.
    pub memory: Option<AlikeMemory>,
}

impl Kind for WithinTolerance {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let (winner, ratio) = within(case)?;
        let has_field = has_field(case.snapshot);
        let side = side_of(ratio);
        let current = case.decision.replicas_before();
        let borders = Borders::find(case.pass, winner.index);
        let fewer = current.filter(|_| case.may_scale(Direction::Down));
        let memory = fewer.and_then(|current| alike_memory(case, winner, borders?, current));
        // If something is wrong, a small change of a target is not the place to look.
        let is_sound = case.shown().all(|it| it.severity == Severity::Info);
        // What each pod needs is not for more of them.
        let may_react = case.may_scale(side) && is_sound && !is_baseline(case, winner);
        let is_up = side == Direction::Up;
        let tolerance = match side {
            Direction::Up => winner.tolerance.up,
            Direction::Down => winner.tolerance.down,
        };
        let narrows = has_field && may_react && (is_up || is_no_share(tolerance));
        let facts = WithinTolerance {
            metric: winner.index,
            ratio,
            tolerance,
            borders,
            narrower: narrows
                .then(|| narrower(case, winner.index, ratio, tolerance))
                .flatten(),
            target: current
                .filter(|_| !has_field && may_react && is_up)
                .and_then(|current| other_target(case, winner, current, side, ProposalOf::Pass)),
            memory,
        };
        Some(Finding::explaining(Severity::Info, facts))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about.other_proposal()
    }

    fn is_in_verdict(&self, _: &Decision) -> bool {
        self.memory.is_none()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let memory = self.memory.as_ref().map(|memory| memory.summary(about));
        memory.unwrap_or_else(|| self.rule(about))
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let rule = || sentence(&format!("{}.", self.rule(about)));
        let mut evidence = Vec::from_iter(self.memory.is_some().then(rule));
        if !has_field(about.snapshot) {
            evidence.push("The HPA has a field tolerance as of Kubernetes 1.35.".to_owned());
        }
        let borders = self.borders.as_ref();
        evidence.extend(borders.and_then(|borders| self.about_borders(about, borders)));
        evidence.extend(about.of_requests(self.metric));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(memory) = &self.memory {
            return memory.advice(about);
        }
        match (self.narrower, &self.target) {
            (Some(hundredths), _) => {
                let narrower = f64::from(hundredths) / 100.0;
                let path = format!("behavior.{}.tolerance", side_of(self.ratio).words().rules);
                let field = about.field(&path);
                let advice = Remedy::SetTolerance.says(if is_no_share(self.tolerance) {
                    format!("To have it react, set {field} to a smaller share, such as {narrower}.")
                } else {
                    format!("Nothing to do; to have it react, set {field} to {narrower}.")
                });
                advice.with(about.predict(&format!("--set {path}={narrower}")))
            }
            (
                None,
                Some(PlayedAdjustment {
                    adjustment,
                    proposal,
                }),
            ) => {
                let flags = adjustment.flags(about, self.metric);
                Remedy::ChangeTarget
                    .says(format!(
                        "Nothing to do; with {}, it proposes {proposal} at this load.",
                        adjustment.name(about.spec(self.metric).name())
                    ))
                    .with_all(flags.map(|flags| about.predict(&flags)))
            }
            (None, None) => Remedy::Nothing.says(NOTHING_TO_DO),
        }
    }
}

impl WithinTolerance {
    /// Describes the rule that keeps the replicas.
    fn rule(&self, about: &About<'_>) -> String {
        let assumed = if about.step(self.metric).is_some_and(is_filled) {
            ", with values assumed for pods that do not count,"
        } else {
            ""
        };
        let side = side_of(self.ratio).words().beyond;
        format!(
            "{}{assumed} is {} {side} its target of {}, within the tolerance of {}",
            about.label(self.metric),
            percent((self.ratio - 1.0).abs()),
            target(about.target_of(self.metric)),
            percent(self.tolerance)
        )
    }

    /// Describes the values at which the metric proposes other replicas.
    fn about_borders(&self, about: &About<'_>, borders: &Borders) -> Option<String> {
        let Borders {
            scale,
            now,
            fewer,
            more,
            ..
        } = borders;
        // There is nothing below the last replica.
        let is_last = about.pass.decision.replicas_before() == Some(1);
        let mut parts = Vec::new();
        if let Some(at) = fewer.filter(|_| !is_last) {
            let at = threshold(scale, at, Direction::Down);
            parts.push(format!("fewer replicas up to {at}"));
        }
        if let Some(at) = *more {
            let noun = if parts.is_empty() { " replicas" } else { "" };
            let at = threshold(scale, at, Direction::Up);
            parts.push(format!("more{noun} from {at}"));
        }
        let current = now.map_or_else(String::new, |now| format!(" (now {})", value(scale, now)));
        let label = about.label(self.metric);
        (!parts.is_empty()).then(|| format!("{label} proposes {}{current}.", list(&parts)))
    }
}

/// Whether the version and its gates have the field `tolerance`.
fn has_field(snapshot: &Snapshot) -> bool {
    snapshot.controller.gates[FeatureGate::HPAConfigurableTolerance]
}

/// Whether a tolerance is hardly meant as a share: with 1 or more, the HPA never scales down, or up only above twice the
/// target.
fn is_no_share(tolerance: f64) -> bool {
    tolerance >= 1.0
}

/// Returns the widest tolerance in whole hundredths that does not include the ratio, or the default in place of one
/// that is no share, if the metric then proposes something else.
fn narrower(case: &Case<'_>, metric: usize, ratio: f64, tolerance: f64) -> Option<u8> {
    const DEFAULT: f64 = 10.0;
    // A ratio on the border is within the tolerance, however its difference from 1 is rounded.
    let widest = ((ratio - 1.0).abs() * 100.0 - 1e-9).ceil() - 1.0;
    let hundredths = if is_no_share(tolerance) {
        DEFAULT
    } else {
        widest
    };
    if !(1.0..100.0).contains(&hundredths) {
        return None;
    }
    let tolerance = Quantity::from_milli(hundredths as i64 * 10, Format::DecimalSI);
    let current = case.decision.replicas_before()?;
    let side = side_of(ratio);
    let decision = case.decide(|snapshot| set_tolerance(snapshot, side, tolerance));
    let proposal = decision.metric(metric)?.proposal()?.replicas;
    // While another metric fails, fewer replicas would be no decision.
    (proposal != current && decision.proposal.is_some()).then_some(hundredths as u8)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::WithinTolerance;
    use crate::findings::pods::testing::crashing;
    use crate::findings::testing::{cpu, in_version, only_of, state, with_pod, with_spec};

    /// A tolerance is suggested only to add replicas or if it is no share, and not while something is wrong.
    #[test]
    fn a_change_of_the_tolerance_is_offered_for_more_replicas_or_if_it_is_no_share() {
        let offered = |items: &[Value]| {
            let (facts, _) = only_of::<WithinTolerance>(items)?;
            Some((facts.narrower, facts.target.map(|it| it.proposal)))
        };
        let earlier = |items: &[Value]| in_version(items, "v1.30.0");
        // Eight pods that use 46m are 8% below the target; 54m are 8% above it.
        let pods = |cpu: &str| state(&[self::cpu()], &[cpu; 8]);
        assert_eq!(offered(&pods("54m")), Some((Some(7), None)));
        assert_eq!(offered(&earlier(&pods("54m"))), Some((None, Some(9))));
        let rules = json!({"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
        let disabled = with_spec(&pods("54m"), &rules);
        assert_eq!(offered(&disabled), Some((None, None)));
        assert_eq!(offered(&pods("46m")), Some((None, None)));
        assert_eq!(offered(&earlier(&pods("46m"))), Some((None, None)));
        // A tolerance that is no share keeps the replicas at any load.
        let percent =
            |side: &str, tolerance: &str| json!({"behavior": {side: {"tolerance": tolerance}}});
        for (used, rules, want) in [
            ("90m", percent("scaleUp", "10"), Some(10)),
            ("90m", percent("scaleUp", "0.9"), Some(79)),
            ("1m", percent("scaleDown", "1"), Some(10)),
            ("10m", percent("scaleDown", "0.9"), None),
        ] {
            let items = with_spec(&pods(used), &rules);
            assert_eq!(offered(&items), Some((want, None)), "{used} {rules}");
        }
        // A pod that waits in an error is what to look at.
        let stuck = with_pod(&pods("54m"), "web-7", &crashing());
        assert!(
            offered(&stuck).is_none_or(|it| it == (None, None)),
            "{:?}",
            offered(&stuck)
        );
    }
}
