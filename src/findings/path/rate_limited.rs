//! The finding `rate-limited`.

use super::bound::{Suspicion, suspected, suspicion};
use super::{is_limited, limit, policy, proposed, winner};
use crate::engine::decision::{PolicyLimit, RateLimit};
use crate::findings::prelude::*;
use crate::snapshot::hpa::ScalingPolicy;

/// A scaling policy, or the doubling that is built in without `behavior`, limits what one pass may change.
///
/// Wait for the next passes, or change the policies in the behavior of the HPA. If the metric is a counter, use a rate of
/// it.
#[derive(Debug, Clone, PartialEq)]
pub struct RateLimited {
    /// The replicas after stabilization.
    pub desired: i32,
    /// The replicas that are allowed.
    pub result: i32,
    /// The replicas before the pass.
    pub current: i32,
    /// The limit.
    pub limit: RateLimit,
    /// The metric with the highest proposal, by index in the spec.
    pub metric: Option<usize>,
    /// The evidence against that metric, if it is not a resource.
    pub suspicion: Option<Suspicion>,
}

impl Kind for RateLimited {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let limited = limit(case).filter(|it| it.is_rate() && !it.is_disabled())?;
        let winner = winner(case);
        let facts = RateLimited {
            desired: limited.desired,
            result: limited.result,
            current: case.decision.replicas_before()?,
            limit: limited.rate?,
            metric: winner.map(|(metric, _)| metric.index),
            suspicion: winner
                .and_then(|(metric, proposal)| suspicion(case, metric, proposal.ratio)),
        };
        let severity = match facts.suspicion {
            Some(Suspicion::Negative(_) | Suspicion::Counter(_)) => Severity::Warning,
            Some(Suspicion::Cpu(_)) | None => Severity::Info,
        };
        Some(Finding::explaining(severity, facts))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about
            .prior(self.desired, self.result, self.metric)
            .or_else(|| about.overruling())
    }

    fn is_in_verdict(&self, decision: &Decision) -> bool {
        is_limited(decision, |it| it.is_rate() && !it.is_disabled())
    }

    fn summary(&self, about: &About<'_>) -> String {
        let Self {
            desired,
            result,
            current,
            limit,
            ..
        } = self;
        let proposed = proposed(about, *desired);
        let Some(select) = limit.select_policy.as_deref() else {
            return format!(
                "{proposed}, but without behavior, one pass goes from {current} to at most {result}"
            );
        };
        // Changes within the period may exceed what the policies allow.
        let is_used_up = limit.policies.iter().all(|it| it.replicas != *result);
        if is_used_up && result == current {
            return format!("{proposed}, but the policies allow no change from {current} now");
        }
        let which = match (limit.policies.len(), select) {
            (1, _) => "the policy allows",
            (_, "Min") => "the smallest change of the policies allows",
            _ => "the largest change of the policies allows",
        };
        let bound = limit.direction.words().farthest;
        format!("{proposed}, but {which} {bound} {result} now")
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let limit = &self.limit;
        let mut evidence: Vec<String> = limit.policies.iter().map(allows).collect();
        if limit.select_policy.is_none() {
            evidence.push(format!(
                "The built-in limit of a pass is the larger of 4 and twice the {}.",
                count(self.current, "replica")
            ));
        }
        let sync = about.pass.input.snapshot.controller.sync_period;
        let is_short = |own: &ScalingPolicy| i64::from(own.period_seconds) < sync.as_secs();
        if limit.policies.iter().any(|it| is_short(&it.policy)) {
            evidence.push(format!(
                "A period below the {} between passes limits each pass, and nothing beyond it.",
                duration(sync)
            ));
        }
        evidence.extend(self.metric.and_then(|metric| about.of_requests(metric)));
        evidence.extend(about.next_in_words());
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let (Some(metric), Some(suspicion)) = (self.metric, self.suspicion) {
            return suspected(about, metric, suspicion);
        }
        let limit = &self.limit;
        let rules = limit.direction.words().rules;
        let field = about.field(&format!("behavior.{rules}.policies"));
        let set = match limit.select_policy {
            None => "set",
            Some(_) => "change",
        };
        let mut policies = limit.policies.iter();
        // The other choice allows more only if a policy does.
        let is_smallest = limit.select_policy.as_deref() == Some("Min");
        let allows_more = is_smallest && policies.any(|it| it.replicas != limit.replicas);
        let max = format!("--set behavior.{rules}.selectPolicy=Max");
        Remedy::ChangePolicies
            .waits("for the next passes")
            .or(format!("{set} {field}"))
            .with_all(about.predict_for(&duration(shown(about)), ""))
            .with_all(allows_more.then(|| about.predict(&max)))
    }
}

/// Returns the time in which a prediction shows that the limit lets replicas change again: twice as long as until the
/// next change, in whole minutes, but not less than the passes of some minutes.
fn shown(about: &About<'_>) -> SignedDuration {
    let next = about.next().and_then(|it| it.likely);
    let wait = next.map_or(0, |it| it.time.duration_since(about.now()).as_secs());
    SignedDuration::from_mins(((wait + 29) / 30).max(5))
}

/// Describes what a policy allows.
fn allows(limit: &PolicyLimit) -> String {
    sentence(&format!(
        "{}, counted from {} at the start of the period, allows {}.",
        policy(&limit.policy),
        limit.period_start,
        limit.replicas
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::path::testing::queue_of;
    use crate::findings::pods::testing::{ready, with_pods};
    use crate::findings::testing::{cpu, external, said, state, with_spec, with_state};

    /// Returns the state with a policy that allows this many pods in some seconds.
    fn by_policy(items: &[Value], pods: i32, seconds: i32) -> Vec<Value> {
        let policies = json!([{"type": "Pods", "value": pods, "periodSeconds": seconds}]);
        with_spec(
            items,
            &json!({"behavior": {"scaleUp": {"policies": policies}}}),
        )
    }

    /// Passes are 15 seconds apart, which a shorter period or window does not change.
    #[test]
    fn what_is_shorter_than_the_time_between_passes() {
        let says = |seconds: i32| {
            let items = by_policy(&state(&[cpu()], &["90m"; 4]), 1, seconds);
            let mut evidence = said(Code::RateLimited, &items).evidence.into_iter();
            evidence.any(|it| it.starts_with("A period below the 15s"))
        };
        assert_eq!([says(10), says(15)], [true, false]);
        let window = |seconds: i32| {
            let young = "2026-11-21T05:58:45Z";
            let items = state(&[cpu()], &["50m", "50m", "300m", "300m"]);
            let started = build::with(
                json!({"status": {"startTime": young}}),
                &ready("True", young),
            );
            let items = with_pods(&items, &["web-2", "web-3"], &started);
            let rules = json!({"stabilizationWindowSeconds": seconds});
            let items = with_spec(&items, &json!({"behavior": {"scaleUp": rules}}));
            let mut evidence = said(Code::StartingPods, &items).evidence.into_iter();
            evidence.find(|it| it.contains("has no effect"))
        };
        let none = "behavior.scaleUp.stabilizationWindowSeconds (10s) has no effect: passes are 15s apart.";
        assert_eq!(
            [window(10).as_deref(), window(0).as_deref()],
            [Some(none), None]
        );
    }

    #[test]
    fn the_limit_of_one_replica() {
        let evidence = said(Code::RateLimited, &state(&[cpu()], &["500m"])).evidence;
        let limit = "The built-in limit of a pass is the larger of 4 and twice the 1 replica.";
        assert_eq!(evidence[0], limit);
    }

    /// The sum of a value below 0 is the largest number, which the next passes approach.
    #[test]
    fn a_value_below_0() {
        let items = queue_of(&build::average("30"), "-50", 4);
        let items = with_spec(&items, &json!({"maxReplicas": 100}));
        let text = said(Code::RateLimited, &items);
        assert_eq!(text.severity, Severity::Warning);
        let look = "Look at queue first: the API reports -50, ";
        assert!(text.advice.text().starts_with(look), "{text:?}");
    }

    /// A policy slows down what a counter asks for, and a faster one would do harm.
    #[test]
    fn a_counter() {
        let of =
            |name: &str| by_policy(&external(name, &build::average("100"), "163500", 4), 1, 600);
        for (name, severity, advice) in [
            (
                "http_requests_total",
                Severity::Warning,
                "Use a rate of http_requests_total if it is a counter, as its name says.",
            ),
            (
                "requests",
                Severity::Info,
                "Wait for the next passes, or change behavior.scaleUp.policies.",
            ),
        ] {
            let text = said(Code::RateLimited, &of(name));
            assert_eq!((text.severity, &*text.advice.text()), (severity, advice));
            // The policy of ten minutes shows what it allows only after them.
            let is_played = text.commands.iter().any(|it| it.ends_with(" --for 20m"));
            assert_eq!(is_played, severity == Severity::Info, "{text:?}");
        }
    }

    /// A prediction shows the next change, which the fastest of the policies allows, or the slowest.
    #[test]
    fn a_prediction_shows_the_next_change() {
        let of = |select: &str, policies: &[(i32, i32)]| {
            let policies: Vec<Value> = policies
                .iter()
                .map(|(value, seconds)| json!({"type": "Pods", "value": value, "periodSeconds": seconds}))
                .collect();
            let rules = json!({"selectPolicy": select, "policies": policies});
            let spec = json!({"behavior": {"scaleUp": rules}});
            let text = said(
                Code::RateLimited,
                &with_spec(&state(&[cpu()], &["300m"]), &spec),
            );
            text.commands.join("\n")
        };
        let policies = [(1, 900), (2, 60)];
        for (select, policies, want) in [
            ("Max", &policies[..], "5m"),
            ("Min", &policies, "30m"),
            ("Max", &[(2, 60), (2, 600)], "5m"),
            ("Min", &[(2, 600), (2, 60)], "20m"),
        ] {
            let commands = of(select, policies);
            assert!(
                commands.contains(&format!("--for {want}")),
                "{want}: {commands}"
            );
        }
    }

    /// Three pods and four more in the last minute: the policy is used up, so the limit is the current number.
    #[test]
    fn a_policy_that_is_used_up() {
        let items = by_policy(&state(&[cpu()], &["90m"; 7]), 2, 60);
        let events = json!([{"replicas": 4, "time": "2026-11-21T05:59:30Z"}]);
        let items = with_state(&items, &json!({"scaleUpEvents": events}));
        let text = said(Code::RateLimited, &items);
        assert_eq!(
            text.summary,
            "the metrics propose 13, but the policies allow no change from 7 now"
        );
        let allows = "2 pods per 60s, counted from 3 at the start of the period, allows 5.";
        assert_eq!(text.evidence[0], allows);
    }
}
