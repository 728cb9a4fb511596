//! The way from the highest proposal to the replicas, rule by rule.

use jiff::SignedDuration;

use super::Words;
use crate::engine::decision::{Direction, RateLimit, StabilizeStep};
use crate::engine::hold::Hold;
use crate::pass::RecommendationOrigin;
use crate::report::section::{Detail, Part, Section, StepLine};
use crate::snapshot::memory::Recommendation;
use crate::words::{count, distance, duration};

fn line(replicas: i32, text: String, reason: Option<&'static str>) -> StepLine {
    StepLine {
        replicas,
        text,
        reason,
    }
}

/// Keeps only the steps that change the number: none if the proposal becomes the result, as the verdict
/// already states. Of two that lead to the same number, the one with the controller's reason stays.
fn briefly(lines: &mut Vec<StepLine>) {
    lines.dedup_by(|next, before| {
        let is_same = next.replicas == before.replicas;
        if is_same && next.reason.is_some() {
            std::mem::swap(next, before);
        }
        is_same
    });
    if lines.len() == 1 {
        lines.clear();
    }
}

impl Words<'_> {
    pub(in crate::report) fn path(&self) -> Option<Section> {
        let decision = &self.explanation.pass.decision;
        let mut lines = Vec::new();
        if let Some(combined) = decision.combination().filter(|it| it.accepted) {
            let winner = decision.winner();
            let name = winner.map_or_else(|| "none".to_owned(), |metric| self.label(metric));
            lines.push(line(
                combined.highest,
                format!("highest proposal: {name}"),
                None,
            ));
            if combined.highest < 0 {
                lines.push(line(0, "a negative proposal counts as 0".to_owned(), None));
            }
        }
        if let Some(step) = decision.stabilization() {
            let text = format!("stabilization: {}", self.stabilization(step));
            lines.push(line(step.result, text, step.holds().then_some(step.reason)));
        }
        if let Some(step) = decision.limit() {
            if let Some(rate) = &step.rate {
                let after = match rate.direction {
                    Direction::Up => step.desired.min(rate.replicas),
                    Direction::Down => step.desired.max(rate.replicas),
                };
                let text = format!("rate limit: {}", self.rate(rate));
                lines.push(line(after, text, step.is_rate().then_some(step.reason)));
            }
            let text = format!("bounds: {} to {}", step.min, step.max);
            lines.push(line(
                step.result,
                text,
                step.is_bound().then_some(step.reason),
            ));
        }
        for hold in decision.holds() {
            if let Hold::Woken(min) = hold {
                let text = "scaled up from zero to at least minReplicas".to_owned();
                lines.push(line(min, text, None));
            }
        }
        if !self.wide {
            briefly(&mut lines);
        }
        let body = [Part::Steps(lines)];
        Section::new("FROM PROPOSAL TO REPLICAS", Detail::Roomy, body)
    }

    /// Describes which recommendation holds the replicas, and for how long.
    fn holds(&self, past: &Recommendation, window: SignedDuration) -> String {
        let (replicas, window) = (past.replicas, duration(window));
        match self.explanation.pass.origin(past) {
            RecommendationOrigin::Start => {
                format!("no recommendation yet; the current {replicas} count for {window}")
            }
            RecommendationOrigin::NoneStated => {
                format!("no history is stated; the current {replicas} count for {window}")
            }
            RecommendationOrigin::Assumed => format!(
                "the history is unknown; the current {replicas} are assumed to have been recommended in \
                 the last {window}"
            ),
            RecommendationOrigin::Inferred => {
                let from = self.inferred_from();
                format!(
                    "{replicas} was recommended in the last {window}, as inferred from the {from}"
                )
            }
            RecommendationOrigin::Known => format!(
                "{replicas} was recommended {} ago and counts for {window}",
                distance(past.time, self.now())
            ),
        }
    }

    /// Describes which recommendation holds the replicas, if one does.
    fn stabilization(&self, step: &StabilizeStep) -> String {
        let StabilizeStep {
            up_window,
            down_window,
            ..
        } = *step;
        if let Some(past) = &step.held_by {
            // A lower one holds back scaling up, a higher one scaling down.
            let up = up_window.filter(|_| past.replicas < step.desired);
            return self.holds(past, up.unwrap_or(down_window));
        }
        let known = if self.explanation.pass.remembered.is_open() {
            "known "
        } else {
            ""
        };
        let down = duration(down_window);
        match up_window {
            Some(up) => {
                format!(
                    "no {known}recommendation holds it (up {}, down {down})",
                    duration(up)
                )
            }
            None => format!("no higher {known}recommendation in the last {down}"),
        }
    }

    fn rate(&self, rate: &RateLimit) -> String {
        let bound = rate.direction.words().farthest;
        let Some(select_policy) = &rate.select_policy else {
            let current = self.scale().map_or(0, |scale| scale.spec_replicas);
            if rate.replicas < 0 {
                let replicas = rate.replicas;
                return format!("2 × {current} overflows 32 bits to {replicas}");
            }
            return format!(
                "{bound} max(2 × {current}, 4) = {} in one pass",
                rate.replicas
            );
        };
        if rate.is_disabled() {
            return format!("scaling {} is disabled", rate.direction);
        }
        let policies: Vec<String> = rate
            .policies
            .iter()
            .map(|limit| {
                let policy = &limit.policy;
                let value = match policy.type_.as_str() {
                    "Percent" => format!("{}%", policy.value),
                    _ => count(policy.value, "pod"),
                };
                format!(
                    "{value} per {}s from {} allows {}",
                    policy.period_seconds, limit.period_start, limit.replicas
                )
            })
            .collect();
        let select = if policies.len() > 1 {
            format!(
                ", {} change",
                if select_policy == "Min" {
                    "smallest"
                } else {
                    "largest"
                }
            )
        } else {
            String::new()
        };
        // The limit is never beyond the current replicas, though the changes within the period may be.
        let is_used_up = rate
            .policies
            .iter()
            .all(|limit| limit.replicas != rate.replicas);
        let used_up = if is_used_up {
            ", the current number"
        } else {
            ""
        };
        let allowed = if policies.is_empty() {
            "no policy".to_owned()
        } else {
            policies.join("; ")
        };
        format!("{bound} {}{used_up} ({allowed}{select})", rate.replicas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a limit and a bound are at the same number, the path shows the one that the controller gives as its reason.
    #[test]
    fn the_step_with_the_reason_stays() {
        let told = |steps: &[(i32, Option<&'static str>)]| {
            let name = |place: usize| place.to_string();
            let all = steps.iter().enumerate();
            let mut lines = Vec::from_iter(all.map(|(at, step)| line(step.0, name(at), step.1)));
            briefly(&mut lines);
            Vec::from_iter(lines.into_iter().map(|it| it.text))
        };
        let (limit, bound) = (Some("ScaleUpLimit"), Some("TooManyReplicas"));
        assert_eq!(
            told(&[(20, None), (20, None), (10, None), (10, bound)]),
            ["0", "3"]
        );
        assert_eq!(
            told(&[(20, None), (20, None), (10, limit), (10, None)]),
            ["0", "2"]
        );
        assert_eq!(
            told(&[(20, None), (20, None), (15, None), (10, bound)]),
            ["0", "2", "3"]
        );
        assert!(told(&[(20, None), (20, None), (20, None)]).is_empty());
    }
}
