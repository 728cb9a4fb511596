//! The finding `rounding`.

use super::memory::{AlikeMemory, alike_memory, is_baseline};
use super::{NOTHING_TO_DO, target, threshold, value, winner};
use crate::engine::decision::Because;
use crate::findings::prelude::*;
use crate::whatif::thresholds::Borders;

/// A metric is below the tolerance, but its proposal is rounded up to the current replicas.
///
/// Nothing to do. If the metric is memory, all pods use about the same amount, and the other metrics need at most half
/// of the replicas, then the HPA may never scale down: raise the request, or scale on another metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounding {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The replicas.
    pub replicas: i32,
    /// The value that was rounded up.
    pub exact: f64,
    /// The metric's value with one replica fewer, in the unit of the borders.
    pub one_fewer: Option<i64>,
    /// The values at which the metric would propose other replicas, if known.
    pub borders: Option<Borders>,
    /// The other metrics that propose the same number, by index in the spec.
    pub beside: Vec<usize>,
    /// The time for which a higher recommendation holds back scaling down.
    pub window: Option<SignedDuration>,
    /// The memory metric that keeps the replicas at any load, if there is one.
    pub memory: Option<AlikeMemory>,
}

impl Kind for Rounding {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let (winner, proposal) = winner(case)?;
        let current = case.decision.replicas_before()?;
        let ratio = proposal
            .filled
            .map_or(proposal.ratio, |filled| filled.ratio);
        let is_rounded = matches!(
            proposal.because,
            Because::RatioTimesReady | Because::RatioTimesFilled | Because::UsageOverTarget
        );
        let may_go = case.may_scale(Direction::Down);
        if !is_rounded || ratio >= 1.0 || proposal.replicas != current || !may_go {
            return None;
        }
        let pods = match (proposal.filled, proposal.counted) {
            (Some(filled), _) => filled.size as f64,
            (None, Some(counted)) => counted.ready as f64,
            (None, None) => f64::from(case.scale()?.status_replicas),
        };
        // More pods count than there are replicas, and just as many are needed.
        let exact = ratio * pods;
        if (exact - f64::from(current)).abs() < SHOWN {
            return None;
        }
        let borders = Borders::find(case.pass, winner.index);
        let window = case.decision.stabilization().map(|it| it.down_window);
        let also = |it: &&MetricStep| {
            it.index != winner.index && it.proposal().is_some_and(|it| it.replicas >= current)
        };
        let facts = Rounding {
            metric: winner.index,
            replicas: current,
            exact,
            one_fewer: one_fewer(case, winner, borders, current - 1),
            borders,
            beside: case.metrics().filter(also).map(|it| it.index).collect(),
            window,
            memory: borders.and_then(|borders| alike_memory(case, winner, borders, current)),
        };
        Some(Finding::explaining(Severity::Info, facts))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about.other_proposal()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let memory = self.memory.as_ref().map(|memory| memory.summary(about));
        memory.unwrap_or_else(|| self.rule(about))
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let rule = || sentence(&format!("{}.", self.rule(about)));
        let mut evidence = Vec::from_iter(self.memory.is_some().then(rule));
        if let Some(borders) = &self.borders {
            evidence.extend(self.about_one_fewer(about, borders));
            evidence.extend(self.about_fewer(about, borders));
        }
        evidence.extend(about.of_requests(self.metric));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(memory) = &self.memory {
            return memory.advice(about);
        }
        let beside = self.beside.iter().map(|metric| about.label(*metric));
        let labels: Vec<String> = beside.collect();
        if labels.is_empty() {
            return Remedy::Nothing.says(NOTHING_TO_DO);
        }
        Remedy::Nothing.says(format!(
            "Nothing to do: {} {} {} as well.",
            list(&labels),
            one_or_many(labels.len(), "proposes", "propose"),
            self.replicas
        ))
    }
}

impl Rounding {
    /// Describes the rule that keeps the replicas.
    fn rule(&self, about: &About<'_>) -> String {
        format!(
            "{} needs {} replicas for its target, which is rounded up to the current {}",
            about.label(self.metric),
            number((self.exact * 100.0).round() / 100.0),
            self.replicas
        )
    }

    /// Describes the metric's value with one replica fewer.
    fn about_one_fewer(&self, about: &About<'_>, borders: &Borders) -> Option<String> {
        let with = self.one_fewer.filter(|_| self.memory.is_none())?;
        Some(format!(
            "The same load on {} would be {}, target {}.",
            count(self.replicas - 1, "replica"),
            value(&borders.scale, with),
            target(about.target_of(self.metric))
        ))
    }

    /// Describes the highest value at which the metric proposes fewer replicas.
    fn about_fewer(&self, about: &About<'_>, borders: &Borders) -> Option<String> {
        let at = threshold(&borders.scale, borders.fewer?, Direction::Down);
        let label = about.label(self.metric);
        let window = self
            .window
            .filter(|it| !it.is_zero() && self.beside.is_empty());
        let later = window.map_or_else(String::new, |window| {
            format!(", which takes effect {} later", duration(window))
        });
        Some(format!(
            "At {at} or less, {label} proposes fewer replicas{later}."
        ))
    }
}

/// Returns the value of a metric if this many replicas share the load. Pods share their usage, but not the value of
/// another object, nor memory that each of them needs. The usage of pods that do not count is unknown.
fn one_fewer<'p>(
    case: &Case<'p>,
    step: &'p MetricStep,
    borders: Option<Borders>,
    replicas: i32,
) -> Option<i64> {
    let proposal = step.proposal()?;
    if proposal.filled.is_some() || step.is_total() || is_baseline(case, step) {
        return None;
    }
    let pods = i128::try_from(proposal.counted?.ready).ok()?;
    let total = i128::from(borders?.now?) * pods;
    i64::try_from(total.checked_div(replicas.into())?).ok()
}

/// Half of the last digit of a number of replicas that is shown.
const SHOWN: f64 = 0.005;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::testing::{
        codes, cpu, only_of, queue, said, state, valued, with, with_spec,
    };

    /// 0.8 × 4 is 3.2, rounded up to 4; so is 0.8 of another target. No metric has asked for fewer.
    #[test]
    fn what_is_rounded_up_asks_for_nothing() {
        let others = |value: &str| {
            let items = state(&[cpu(), queue(&build::average("10"))], &["40m"; 4]);
            let items = [items, vec![valued("queue", value)]].concat();
            only_of::<Rounding>(&items).unwrap().0.beside
        };
        assert_eq!(others("32"), vec![1]);
        assert_eq!(others("20"), Vec::<usize>::new());
    }

    /// 0.5 × 6 is 3, and 0.48 × 6 is 2.88.
    #[test]
    fn what_comes_to_a_whole_number_is_not_rounded() {
        let surge = |cpu: &str, spec: Value| {
            let items = state(&[self::cpu()], &[cpu; 6]);
            let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 6}});
            let surging = with_spec(&with(&items, "Scale", &scale), &spec);
            codes(&surging).contains(&Code::Rounding)
        };
        let none = || json!({});
        assert_eq!([surge("25m", none()), surge("24m", none())], [false, true]);
        // Without rounding, there would be no fewer.
        let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
        assert!(!surge("24m", disabled));
    }

    /// Bytes are shown with one decimal: a rounded threshold must stay on its side.
    #[test]
    fn thresholds_in_bytes_hold_as_they_are_shown() {
        let metric = build::resource("memory", &build::average("77Mi"));
        let items = state(&[metric], &["10m"; 4]);
        let containers = json!([{"name": "app", "usage": {"memory": "60Mi"}}]);
        let items = with(&items, "PodMetrics", &json!({ "containers": containers }));
        let evidence = said(Code::Rounding, &items).evidence;
        let told = evidence.iter().find(|it| it.contains("or less")).unwrap();
        // Three of four times 77Mi are 57.75Mi.
        assert!(told.starts_with("At 57.7Mi or less"), "{told}");
    }
}
