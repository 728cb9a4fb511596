//! The finding `held-by-window`.

use super::{DOWN_WINDOW, held, policy, proposed, set, winner};
use crate::calendar::Calendar;
use crate::engine::decision::StabilizeStep;
use crate::findings::prelude::*;
use crate::keda;
use crate::memory::Knowledge;
use crate::pass::RecommendationOrigin;
use crate::snapshot::hpa::ScalingPolicy;
use crate::snapshot::memory::Recommendation;

/// A recommendation within the stabilization window decides. The controller uses the highest (scaling down) or lowest
/// (scaling up) recommendation of the window; it does not pause after scaling.
///
/// Wait until the recommendation leaves the window. A window that is longer than by default can be shortened to scale
/// down sooner.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldByWindow {
    /// The direction that the recommendation holds back.
    pub against: Direction,
    /// The replicas that the metrics propose.
    pub desired: i32,
    /// The result.
    pub result: i32,
    /// The recommendation that decides; of equal ones, the latest.
    pub held_by: Recommendation,
    /// The origin of the recommendation.
    pub origin: RecommendationOrigin,
    /// The time for which a recommendation counts.
    pub window: SignedDuration,
    /// The controller's default, in seconds, if the window is longer: users may want to scale sooner.
    pub shorter: Option<i64>,
    /// Whether each pod may have work of its own, which the controller does not know about.
    pub busy: bool,
    /// The time at which the controller became the leader, if it is within the window: its history is no older.
    pub leads_since: Option<Timestamp>,
    /// Whether the earlier recommendation adds replicas that the metrics do not propose, instead of only keeping them.
    pub adds: bool,
    /// The limits of the passes after the window, if it takes several to reach the metrics' proposal.
    pub then: Option<Then>,
}

impl Kind for HeldByWindow {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let step = held(case)?;
        let held_by = latest(case, step.held_by?);
        let (against, window) = if held_by.replicas > step.desired {
            (Direction::Down, step.down_window)
        } else {
            (Direction::Up, step.up_window.unwrap_or_default())
        };
        let without = case.without_history();
        // If something else would hold them as well, the end of the window changes nothing.
        if without.replicas == case.answer().replicas {
            return None;
        }
        let before = case.decision.replicas_before();
        let facts = HeldByWindow {
            against,
            desired: step.desired,
            result: step.result,
            held_by,
            origin: case.pass.origin(&held_by),
            window,
            shorter: shorter(case, against, window),
            busy: against == Direction::Down && has_own_work(case),
            leads_since: leads_since(case, window),
            adds: against == Direction::Down
                && before.is_some_and(|before| step.desired <= before)
                && case.decision.replicas_after() > before,
            then: then(case, step.desired, against, window),
        };
        Some(Finding::explaining(Severity::Info, facts).without(without))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        // If the replicas do not follow from the passes, neither a window nor a policy decides about them.
        about
            .beyond(self.desired, self.result)
            .or_else(|| {
                about
                    .any(Code::Flapping)
                    .filter(|_| self.desired < self.result)
            })
            .or_else(|| about.overruling())
    }

    fn is_in_verdict(&self, decision: &Decision) -> bool {
        decision.stabilization().is_some_and(StabilizeStep::holds)
    }

    fn summary(&self, about: &About<'_>) -> String {
        let proposed = proposed(about, self.desired);
        let replicas = self.held_by.replicas;
        let window = duration(self.window);
        if self.adds {
            return format!(
                "{proposed}, but the controller goes back towards {replicas}, which was recommended in the \
                 last {window}"
            );
        }
        let holds = match self.origin {
            RecommendationOrigin::Start | RecommendationOrigin::NoneStated => {
                format!("the current {replicas} count for {window}")
            }
            RecommendationOrigin::Assumed => format!(
                "the current {replicas} are assumed to have been recommended in the last {window}"
            ),
            RecommendationOrigin::Inferred => {
                format!("{replicas} was recommended in the last {window}")
            }
            RecommendationOrigin::Known => format!(
                "{replicas} was recommended {} ago and holds for {window}",
                distance(self.held_by.time, about.now())
            ),
        };
        let then = self.then.as_ref().map_or_else(String::new, |then| {
            let policies: Vec<String> = then.policies.iter().map(policy).collect();
            format!("; after that, at most {}", policies.join(" or "))
        });
        format!("{proposed}, but {holds}{then}")
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let now = about.now();
        let mut evidence = self.about_origin(now);
        evidence.extend(about.next_in_words());
        evidence.push(format!(
            "The controller uses the {} recommendation of the window; this is not a pause after \
             scaling.",
            match self.against {
                Direction::Down => "highest",
                Direction::Up => "lowest",
            }
        ));
        evidence.extend(about.result("Without it"));
        if self.adds {
            evidence.push(
                "Without behavior, an earlier recommendation adds replicas; with it, it only keeps them."
                    .to_owned(),
            );
        } else if let Some(then) = &self.then {
            let fields = about.field(&format!("behavior.{}", self.against.words().rules));
            evidence.push(format!(
                "After the window, the policies decide: {} at {}.",
                count(self.desired, "replica"),
                future(now, then.reached)
            ));
            evidence.push(format!("Both are in {fields}."));
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if self.adds {
            return self.add_behavior(about);
        }
        let end = about
            .next()
            .and_then(|it| it.likely.map(|it| it.time).or(it.latest));
        let until = match end {
            Some(end) => format!("until {}", time(about.now(), end)),
            None => "until the recommendation leaves the window".to_owned(),
        };
        if self.busy {
            return keep_busy(about, until);
        }
        let Some(shorter) = self.shorter else {
            return Remedy::WaitForWindow.waits(until);
        };
        let path = format!(
            "behavior.{}.stabilizationWindowSeconds",
            self.against.words().rules
        );
        let field = about.field(&path);
        let sooner = match self.then {
            Some(_) => "change the window and the policies".to_owned(),
            None => format!(
                "shorten {field} ({}s) to scale {} sooner",
                self.window.as_secs(),
                self.against
            ),
        };
        let flags = format!("--set {path}={shorter}");
        Remedy::ShortenWindow
            .waits(until)
            .or(sooner)
            .with_all(about.predict_for("10m", &flags))
    }
}

/// The way to the metrics' proposal once a window has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Then {
    /// The policies.
    pub policies: Vec<ScalingPolicy>,
    /// The time of the pass that reaches it.
    pub reached: Timestamp,
}

/// Returns the latest recommendation that is equal to this one, because it holds longest.
fn latest(case: &Case<'_>, one: Recommendation) -> Recommendation {
    let remembered = &case.pass.remembered.likely.recommendations;
    let equal = remembered.iter().filter(|it| it.replicas == one.replicas);
    equal.copied().max_by_key(|it| it.time).unwrap_or(one)
}

/// Returns the time at which the controller became the leader, if it is within a window.
fn leads_since(case: &Case<'_>, window: SignedDuration) -> Option<Timestamp> {
    let now = case.snapshot.now;
    let lease = case.pass.input.evidence.lease?;
    let is_inferred = case.pass.remembered.knowledge == Knowledge::Inferred;
    let is_within = now.duration_since(lease.acquired) < window;
    (is_inferred && lease.is_held(now) && is_within).then_some(lease.acquired)
}

/// Returns the controller's default in seconds, if a window is longer.
fn shorter(case: &Case<'_>, against: Direction, window: SignedDuration) -> Option<i64> {
    let default = match against {
        Direction::Up => SignedDuration::ZERO,
        Direction::Down => case.snapshot.controller.downscale_stabilization,
    };
    (default < window).then_some(default.as_secs())
}

/// Whether the metric that decides is a total with a target of at most one per pod, such as jobs in a queue, and not
/// the number of replicas itself.
fn has_own_work(case: &Case<'_>) -> bool {
    let is_work = |step: &MetricStep| step.is_total() && !keda::is_cron(case.spec(step));
    let Some((step, _)) = winner(case).filter(|(step, _)| is_work(step)) else {
        return false;
    };
    step.target
        .average_value
        .as_ref()
        .is_some_and(|it| it.milli_value() <= 1000)
}

/// Returns how the replicas reach the metrics' proposal after the window, if policies make that take longer
/// than the window.
fn then(case: &Case<'_>, desired: i32, against: Direction, window: SignedDuration) -> Option<Then> {
    let upcoming = &case.pass.outlook.upcoming;
    let mut changes = upcoming
        .windows(2)
        .filter(|pair| pair[0].replicas != pair[1].replicas);
    let takes_several = changes.nth(1).is_some();
    // While they stay there, an unread metric may keep proposing more.
    let there = upcoming
        .iter()
        .rev()
        .take_while(|it| it.replicas == desired);
    let reached = there.last().filter(|_| takes_several)?;
    // Policies that take no longer than the window are not worth mentioning.
    let ends = upcoming
        .iter()
        .find(|it| Some(it.replicas) != case.decision.replicas_after())?;
    if reached.time.duration_since(ends.time) <= window {
        return None;
    }
    let rules = case.snapshot.hpa.spec.rules(against)?;
    let policies = rules.policies.clone()?;
    Some(Then {
        policies,
        reached: reached.time,
    })
}

impl HeldByWindow {
    /// Describes the origin of the recommendation, and until when it holds.
    fn about_origin(&self, now: Timestamp) -> Vec<String> {
        let mut evidence = Vec::new();
        if matches!(
            self.origin,
            RecommendationOrigin::Start | RecommendationOrigin::NoneStated
        ) {
            evidence.push(
                "At its first pass, the controller takes the current replicas as a recommendation."
                    .to_owned(),
            );
        }
        if let Some(since) = self.leads_since {
            evidence.push(format!(
                "The controller manager has led since {}, less than {} ago: it started with \
                 the replicas of that time as its only recommendation.",
                time(now, since),
                duration(self.window)
            ));
        }
        if self.origin == RecommendationOrigin::Known {
            let until = self.held_by.time.plus(self.window);
            evidence.push(format!("It holds until {}.", future(now, until)));
        }
        evidence
    }

    /// Returns the advice that keeps an earlier recommendation from adding replicas, which happens only without
    /// `behavior` (`stabilizeRecommendation`).
    fn add_behavior(&self, about: &About<'_>) -> Advice {
        let seconds = self.window.as_secs();
        Remedy::AddBehavior
            .says(format!(
                "To keep it from adding replicas, set any {}, such as a scaleDown window of {seconds}s.",
                about.field("behavior")
            ))
            .with_all(set(about, DOWN_WINDOW, seconds))
    }
}

/// Returns the advice on how pods with their own work can finish it.
fn keep_busy(about: &About<'_>, until: String) -> Advice {
    let jobs = match about.owner() {
        Some(_) => "a ScaledJob",
        None => "Jobs",
    };
    let wait = match about.pass.input.evidence.past {
        Some(_) => String::new(),
        None => format!("{} ", Remedy::WaitForWindow.waits(until).text()),
    };
    Remedy::KeepBusy.says(format!(
        "{wait}The controller does not know which pods are busy: for long jobs, use {jobs}, or let them end \
         within terminationGracePeriodSeconds."
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::Facts;
    use crate::findings::path::at_max::AtMax;
    use crate::findings::path::direction_disabled::DirectionDisabled;
    use crate::findings::path::testing::{at_once, pods, queue_of, recommended};
    use crate::findings::testing::{
        codes, cpu, external, found, of_keda, only_of, said, state, valued, with, with_spec,
    };

    /// Four pods that need one replica, of which six were recommended before. Only what is proposed now is limited.
    #[test]
    fn a_recommendation_from_before_reaches_no_limit() {
        let at = "2026-11-21T05:58:00Z";
        let remembers = |usage: &str, spec: Value, replicas: i32| {
            recommended(&with_spec(&pods(usage), &spec), replicas, at)
        };
        let before = |spec: Value, replicas: i32| remembers("10m", spec, replicas);
        let slowly = json!({"behavior": {"scaleUp": {"policies": [
            {"type": "Pods", "value": 1, "periodSeconds": 60}]}}});
        let told = |items: &[Value]| {
            let told = found(items).into_iter().map(|it| match it.facts {
                Facts::HeldByWindow(facts) => (it.severity, facts.adds),
                other => panic!("{other:?}"),
            });
            Vec::from_iter(told)
        };
        let held = |adds: bool| vec![(Severity::Info, adds)];
        for (items, want) in [
            // Its end changes nothing.
            (
                remembers("50m", json!({"minReplicas": 4, "maxReplicas": 4}), 6),
                vec![],
            ),
            // At the maximum, and above it after the maximum was lowered.
            (before(json!({"maxReplicas": 4}), 6), held(false)),
            (before(json!({"maxReplicas": 4}), 4), held(false)),
            // Without behavior, the recommendation adds replicas: two, four as the doubling allows, and up to the maximum.
            (before(json!({}), 6), held(true)),
            (before(json!({}), 20), held(true)),
            (before(json!({"maxReplicas": 5}), 6), held(true)),
            // The metrics add some themselves.
            (remembers("70m", json!({}), 8), held(false)),
            // With any behavior, it adds none.
            (before(slowly, 6), held(false)),
        ] {
            assert_eq!(told(&items), want, "{}", items[0]["spec"]);
        }
        // What is proposed now is limited as before.
        let busy = with_spec(&pods("90m"), &json!({"maxReplicas": 6}));
        let busy = recommended(&busy, 12, at);
        assert_eq!(codes(&busy)[0], Code::AtMax);
        let (facts, it) = only_of::<AtMax>(&busy).unwrap();
        assert_eq!((facts.bound.asked, it.severity), (8, Severity::Warning));
    }

    /// Each limit follows from the unit, also where two metrics have a wrong one, unless a low value may be an idle
    /// one, or a metric is only divided by the replicas and proposes less than another. The proposal overflows, and
    /// stabilization takes it as 0.
    #[test]
    fn a_proposal_that_a_wrong_unit_makes() {
        let memory = build::resource("memory", &build::average("500m"));
        let usage = json!({"containers": [{"name": "app", "usage": {"memory": "300Mi"}}]});
        let items = with(&state(&[memory], &["50m"; 10]), "PodMetrics", &usage);
        let slowly =
            json!({"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}});
        let idle = external("rps", &build::average("200k"), "1200", 6);
        let bytes = build::average("500");
        let of_app = build::resource_of("memory", "app", &bytes);
        let both = state(&[build::resource("memory", &bytes), of_app], &["50m"; 2]);
        let both = with(&both, "PodMetrics", &usage);
        let latency = build::external("latency_p99", &build::average("500m"));
        let divided = state(&[cpu(), latency], &["70m"; 2]);
        let divided = [divided, vec![valued("latency_p99", "980m")]].concat();
        let never = json!({"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
        let [held, idle] = [&items, &idle].map(|it| recommended(it, 6, "2026-11-21T05:56:00Z"));
        let slow = with_spec(&items, &at_once(&slowly));
        let quick = with_spec(&items, &at_once(&json!({})));
        let follow = "Follow the advice of suspect-unit.";
        let enable = "If that is not meant, remove behavior.scaleUp.selectPolicy.";
        for (code, items, proposal, advice) in [
            (Code::HeldByWindow, held, "-2147483648", follow),
            (Code::RateLimited, slow, "-2147483648", follow),
            (Code::AtMin, quick, "-2147483648", follow),
            (Code::HeldByWindow, idle, "1", "Wait until 06:01:00Z."),
            (Code::RateLimited, both, "1258292", follow),
            (
                Code::DirectionDisabled,
                with_spec(&divided, &never),
                "3",
                enable,
            ),
        ] {
            let text = said(code, &items);
            let proposed = format!("the metrics propose {proposal},");
            assert!(text.summary.starts_with(&proposed), "{text:?}");
            assert_eq!(text.advice.text(), advice);
        }
    }

    #[test]
    fn where_a_limit_holds_as_well_the_window_explains_nothing() {
        let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
        let at = "2026-11-21T05:56:00Z";
        let items = with_spec(&recommended(&pods("10m"), 6, at), &disabled);
        let all = codes(&items);
        assert_eq!(all[0], Code::DirectionDisabled);
        assert!(!all.contains(&Code::HeldByWindow), "{all:?}");
        let (facts, it) = only_of::<DirectionDisabled>(&items).unwrap();
        let got = (facts.direction, facts.limit.asked, it.explains);
        assert_eq!(got, (Direction::Down, 1, true));
        // Where a bound decides, it says nothing.
        let least = with_spec(&pods("10m"), &json!({"minReplicas": 4}));
        let codes = |replicas: i32| codes(&recommended(&least, replicas, at));
        assert_eq!(codes(2), [Code::AtMin]);
        assert_eq!(codes(5), [Code::HeldByWindow]);
    }

    /// Only a window that is longer than the default delays more than usual.
    #[test]
    fn a_shorter_window_is_the_default() {
        let shorter = |rules: &Value, usage: &str| {
            let items = with_spec(&pods(usage), &json!({ "behavior": rules }));
            let items = recommended(&items, 6, "2026-11-21T05:59:30Z");
            let (facts, _) = only_of::<HeldByWindow>(&items).unwrap();
            facts.shorter
        };
        let window = |direction: &str, seconds: i32| json!({ direction: {"stabilizationWindowSeconds": seconds} });
        for (rules, usage, want) in [
            (window("scaleDown", 3600), "10m", Some(300)),
            (window("scaleDown", 301), "10m", Some(300)),
            (window("scaleDown", 300), "10m", None),
            (json!({}), "10m", None),
            // Scaling up has none by default.
            (window("scaleUp", 60), "200m", Some(0)),
        ] {
            assert_eq!(shorter(&rules, usage), want, "{rules}");
        }
    }

    /// A total of which each pod is to have one is work of its own. The controller does not know which pods are busy: a
    /// window only delays their end.
    #[test]
    fn a_hold_of_pods_with_work_of_their_own() {
        let held = |per_pod: &str, owner: bool| {
            let items = queue_of(&build::average(per_pod), "2", 6);
            let items = recommended(&items, 6, "2026-11-21T05:59:30Z");
            let items = if owner {
                of_keda(&items, &json!({}))
            } else {
                items
            };
            let text = said(Code::HeldByWindow, &items);
            (text.advice.text(), text.commands.len())
        };
        let jobs = |own: &str| {
            format!(
                "Wait until 06:04:30Z. The controller does not know which pods are busy: for long jobs, use {own}, or let \
                 them end within terminationGracePeriodSeconds."
            )
        };
        assert_eq!(held("1", true), (jobs("a ScaledJob"), 0));
        assert_eq!(held("1", false), (jobs("Jobs"), 0));
        assert_eq!(held("2", true), ("Wait until 06:04:30Z.".to_owned(), 0));
    }
}
