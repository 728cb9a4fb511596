//! The finding `blocked-by-failed-metric`.

use crate::findings::prelude::*;
use crate::rules::Rules;

/// A metric fails, and the others propose fewer replicas than there are now. The controller removes no replicas while a
/// metric fails, because that metric might propose more.
///
/// Fix the metric, or remove it from the HPA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedByFailedMetric {
    /// The metrics that fail, by index in the spec.
    pub failed: Vec<usize>,
    /// The other metric with the highest proposal.
    pub highest: usize,
    /// Its proposal.
    pub proposal: i32,
    /// The current replicas.
    pub replicas: i32,
}

impl Kind for BlockedByFailedMetric {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let decision = case.decision;
        let combined = decision
            .combination()
            .filter(|it| !it.accepted && it.unread == 0 && case.may_scale(Direction::Down))?;
        let highest = combined.by?;
        let is_failed = |step: &&MetricStep| step.is_failed();
        let failed: Vec<usize> = case
            .metrics()
            .filter(is_failed)
            .map(|step| step.index)
            .collect();
        let replicas = decision.replicas_before()?;
        let without = case.without(|snapshot| {
            for metric in failed.iter().rev() {
                snapshot.hpa.spec.metrics.remove(*metric);
                snapshot.metrics.remove(*metric);
            }
        });
        let facts = BlockedByFailedMetric {
            failed,
            highest,
            proposal: combined.highest,
            replicas,
        };
        Some(Finding::explaining(Severity::Error, facts).without(without))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        let is_failed = |metric: &usize| self.failed.contains(metric);
        about.first(|it| it.facts.kind().failed_metrics().iter().any(is_failed))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let fails = one_or_many(self.failed.len(), "fails", "fail");
        format!(
            "{} {fails}, so the {} stay, although {} proposes {}",
            about.labels(&self.failed),
            count(self.replicas, "replica"),
            about.label(self.highest),
            self.proposal
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let it = them(self.failed.len());
        let mut evidence = vec![format!(
            "{} proposes {}, the highest of the metrics that can be read. The controller removes no \
             replicas while a metric fails.",
            about.label(self.highest),
            count(self.proposal, "replica")
        )];
        evidence.extend(about.result(&format!("Without {it}")));
        evidence.push(if Rules::of(&about.pass.input.snapshot.controller).reports_failed_metrics {
            format!("The status that this pass writes has no value for {it}; the others are current.")
        } else {
            let fails = one_or_many(self.failed.len(), "fails", "fail");
            format!(
                "While {it} {fails}, the controller writes no values into the status, and kubectl shows old ones."
            )
        });
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let failed = self.failed.iter();
        let assumed: Option<Vec<String>> =
            failed.map(|metric| about.of_candidate(*metric)).collect();
        let advice = match assumed {
            Some(values) => Remedy::StateInput.says(format!(
                "{}, or leave {} out of the candidate.",
                sentence(&list(&values)),
                them(self.failed.len())
            )),
            None => Remedy::RepairMetric.says(format!(
                "Repair {}, or {}.",
                about.labels(&self.failed),
                self.way_around(about)
            )),
        };
        let last_first = self.failed.iter().rev();
        let patch = last_first.flat_map(|metric| removal(about, *metric));
        advice.with_all(about.patch_metrics(&patch.collect()))
    }
}

/// Returns the operations of a JSON patch that removes a metric, and fails if the metrics have changed since.
fn removal(about: &About<'_>, metric: usize) -> [serde_json::Value; 2] {
    [
        about.test_name(metric),
        json!({"op": "remove", "path": format!("/spec/metrics/{metric}")}),
    ]
}

impl BlockedByFailedMetric {
    /// Describes the alternative if the metrics stay as they are. KEDA's fallback is for targets of type
    /// AverageValue (`CheckFallbackValid`).
    fn way_around(&self, about: &About<'_>) -> String {
        let Some(owner) = about.owner() else {
            return format!("remove {} from the HPA", them(self.failed.len()));
        };
        let is_formula = self.failed.iter().any(|metric| about.is_formula(*metric));
        let removal = if is_formula {
            format!("change spec.advanced.scalingModifiers.formula of {owner}")
        } else {
            let triggers = one_or_many(self.failed.len(), "its trigger", "their triggers");
            format!("remove {triggers} from {owner}")
        };
        removal + &about.or_fallback(owner, &self.failed, "its spec.fallback")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::testing::{cpu, queue, state, table, with_spec};

    #[test]
    fn a_failed_metric_that_keeps_replicas() {
        let metrics = [cpu(), queue(&build::average("10"))];
        let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
        let fewer = state(&metrics, &["10m"; 3]);
        let least = with_spec(&fewer, &json!({"minReplicas": 3}));
        let states = [
            ("asks for fewer", fewer.clone()),
            ("at the minimum", least),
            ("with scaling down disabled", with_spec(&fewer, &disabled)),
            ("asks for more", state(&metrics, &["90m"; 3])),
            ("asks for nothing", state(&metrics[1..], &["10m"; 3])),
            ("is not there", state(&metrics[..1], &["10m"; 3])),
        ];
        insta::assert_snapshot!(table(Code::BlockedByFailedMetric, states), @r"
        asks for fewer: error, explains, follows metric-empty, without it 1 -> 3
            queue fails, so the 3 replicas stay, although cpu proposes 1
            - cpu proposes 1 replica, the highest of the metrics that can be read. The controller removes no replicas while a metric fails.
            - Without it: a proposal of 1, and 3 replicas after stabilization and limits.
            - The status that this pass writes has no value for it; the others are current.
            > Follow the advice of metric-empty.
        at the minimum: none
        with scaling down disabled: none
        asks for more: none
        asks for nothing: none
        is not there: none
        ");
    }
}
