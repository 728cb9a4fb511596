//! The effect of unknown inputs on a pass: memories and proposals that bound the outcomes of all others. The
//! replicas after a pass are monotone in the proposal, in the highest and lowest remembered recommendation,
//! and in each policy's limit; those limits overflow as the controller's do, so the extreme ones are searched
//! for rather than computed. Nothing upstream corresponds to it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::calendar::Calendar;
use crate::engine::behavior::{allowed_by, highest_start};
use crate::engine::decision::{Decision, Direction, MetricResult};
use crate::memory::{Extreme, Memory, Possible};
use crate::rules::Rules;
use crate::snapshot::hpa::{Behavior, HpaSpec, ScalingPolicy, ScalingRules};
use crate::snapshot::memory::{Recommendation, ScaleEvent};

/// Returns the least and the most that the metrics may ask for overall, if some are unread; `None` if
/// none are, or the pass does not use them.
pub(crate) fn proposals(decision: &Decision, current: i32) -> Option<Vec<i32>> {
    let (mut least, mut invalid, mut unread) = (0, false, false);
    for metric in decision.metrics() {
        match &metric.result {
            MetricResult::Proposal(proposal) => least = least.max(proposal.replicas),
            MetricResult::Error(_) => invalid = true,
            MetricResult::Unread(_) => unread = true,
        }
    }
    // If a metric also fails for the controller, nothing shrinks: that is the decision's own
    // outcome.
    let least = (!invalid || least >= current).then_some(least);
    unread.then(|| least.into_iter().chain([i32::MAX]).collect())
}

/// Returns the memories at the bounds, for a pass over `current` replicas that wants `desired`.
pub(crate) fn memories(
    spec: &HpaSpec,
    current: i32,
    desired: i32,
    now: Timestamp,
    possible: &Possible,
    version: &Rules,
) -> Vec<Memory> {
    // Without `behavior`, only higher recommendations count. With it, the lowest counts for scaling up and the
    // highest for scaling down; nothing holds back a count already reached.
    let ends = match (&spec.behavior, desired.cmp(&current)) {
        (Some(_), Ordering::Greater) => {
            let Extreme { at_least, at_most } = possible.lowest;
            [Some(at_least.unwrap_or(0)), at_most]
        }
        (Some(_), Ordering::Equal) => [None, None],
        _ => {
            let Extreme { at_least, at_most } = possible.highest;
            [at_least, Some(at_most.unwrap_or(i32::MAX))]
        }
    }
    .map(|end| {
        let time = now;
        end.map(|replicas| Recommendation { replicas, time })
    });
    changes(spec, current, now, possible, version)
        .iter()
        .flat_map(|memory| {
            ends.map(|end| Memory {
                recommendations: Vec::from_iter(end),
                ..memory.clone().without_recommendations()
            })
        })
        .collect()
}

/// Returns memories of the changes that rate limits may count, for passes over `current` replicas.
pub(super) fn changes(
    spec: &HpaSpec,
    current: i32,
    now: Timestamp,
    possible: &Possible,
    version: &Rules,
) -> Vec<Memory> {
    match (&spec.behavior, &possible.changes) {
        (None, _) => vec![Memory::default()],
        (Some(_), Some(lists)) => lists
            .iter()
            .map(|list| Memory::new(Vec::new(), list))
            .collect(),
        (Some(behavior), None) => any_changes(spec, behavior, current, now, version),
    }
}

/// Returns memories of changes that lead to the extreme limits of each direction.
fn any_changes(
    spec: &HpaSpec,
    behavior: &Behavior,
    current: i32,
    now: Timestamp,
    version: &Rules,
) -> Vec<Memory> {
    let mut changes = Vec::new();
    for (rules, direction) in [
        (&behavior.scale_up, Direction::Up),
        (&behavior.scale_down, Direction::Down),
    ] {
        let no_rules = ScalingRules::default();
        let limits = Limits {
            rules: rules.as_ref().unwrap_or(&no_rules),
            direction,
            version,
            current,
            min: spec.min(),
            max: spec.max_replicas,
        };
        for wish in [i64::from, |limit: i32| -i64::from(limit)] {
            let mut events = limits.events(wish, now);
            // If removed replicas count against added ones, one list covers both.
            changes.push(if version.both_directions || direction == Direction::Down {
                Memory {
                    scale_down_events: events,
                    ..Memory::default()
                }
            } else {
                for event in &mut events {
                    event.replicas = event.replicas.wrapping_neg();
                }
                Memory {
                    scale_up_events: events,
                    ..Memory::default()
                }
            });
        }
    }
    changes
}

/// The limits of one direction, over every count that a period may have started from. The count may be
/// below zero: if others scale the target, more may have been added than now exists.
struct Limits<'r> {
    rules: &'r ScalingRules,
    direction: Direction,
    version: &'r Rules,
    current: i32,
    min: i32,
    max: i32,
}

impl Limits<'_> {
    /// Returns events that bring the limit as close to the wish (the higher, the better) as possible. Each period
    /// has its own start: it includes what happened before the shorter ones.
    fn events(&self, wish: fn(i32) -> i64, now: Timestamp) -> Vec<ScaleEvent> {
        let mut by_period: BTreeMap<i32, Vec<&ScalingPolicy>> = BTreeMap::new();
        for policy in self.rules.policies.iter().flatten() {
            let period = by_period.entry(policy.period_seconds).or_default();
            period.push(policy);
        }
        let (mut start, mut time) = (self.current, now);
        let mut events = Vec::with_capacity(by_period.len());
        for (period, policies) in by_period {
            let best = self
                .starts(&policies, start)
                .max_by_key(|start| wish(self.limit(&policies, *start)))
                .unwrap_or(self.current);
            events.push(ScaleEvent {
                replicas: best.wrapping_sub(start),
                time,
                outdated: false,
            });
            start = best;
            time = now.minus(SignedDuration::from_secs(period.into()));
        }
        events
    }

    /// Returns starts that include those with the highest and the lowest limit. If only changes in one
    /// direction count, a longer period starts no nearer than the shorter one, because they are assumed to fit
    /// into 32 bits together with the replicas: otherwise they could lead to any start.
    fn starts(&self, policies: &[&ScalingPolicy], shorter: i32) -> impl Iterator<Item = i32> {
        let highest = policies
            .iter()
            .map(|policy| highest_start(policy, self.direction));
        [i32::MIN, 0, shorter, i32::MAX]
            .into_iter()
            .chain(highest)
            .filter(move |start| {
                self.version.both_directions
                    || match self.direction {
                        Direction::Up => *start <= shorter,
                        Direction::Down => *start >= shorter,
                    }
            })
    }

    /// Returns the limit that the policies of one period select, clamped to the range in which it matters.
    fn limit(&self, policies: &[&ScalingPolicy], start: i32) -> i32 {
        let smallest_change = self.rules.select_policy.as_deref() == Some("Min");
        let allowed =
            |policy: &&ScalingPolicy| allowed_by(policy, start, self.direction, self.version);
        let limits = policies.iter().filter_map(allowed);
        let selected = if smallest_change == (self.direction == Direction::Up) {
            limits.min()
        } else {
            limits.max()
        };
        let limit = selected.unwrap_or(self.current);
        match self.direction {
            Direction::Up => limit.max(self.current).min(self.max),
            Direction::Down => limit.min(self.current).max(self.min),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::behavior::{BehaviorInput, normalize};
    use crate::engine::decision::{MetricError, MetricStep, Step};
    use crate::snapshot::controller::Controller;
    use crate::snapshot::{Documents, UnreadCause};

    fn policies(select: &str, list: &[(&str, i32, i32)]) -> Option<ScalingRules> {
        let policy = |&(type_, value, period_seconds): &(&str, i32, i32)| ScalingPolicy {
            type_: type_.to_owned(),
            value,
            period_seconds,
        };
        Some(ScalingRules {
            stabilization_window_seconds: Some(0),
            select_policy: Some(select.to_owned()),
            policies: Some(list.iter().map(policy).collect()),
            tolerance: None,
        })
    }

    fn version(text: &str) -> Rules {
        Rules::of(&Controller::new(text.parse().unwrap()))
    }

    fn wanted() -> BehaviorInput {
        BehaviorInput {
            current: 40,
            desired: 40,
            min: 1,
            max: 50,
            now: Timestamp::UNIX_EPOCH,
            downscale_stabilization: SignedDuration::ZERO,
        }
    }

    /// Returns the fewest and the most replicas after a pass from 40 to `desired`, between 1 and 50.
    fn range(rules: Option<ScalingRules>, desired: i32, version: &Rules) -> (i32, i32) {
        let behavior = Behavior {
            scale_up: rules.clone(),
            scale_down: rules,
        };
        let spec = HpaSpec {
            min_replicas: Some(1),
            max_replicas: 50,
            behavior: Some(behavior.clone()),
            ..HpaSpec::default()
        };
        let wanted = BehaviorInput {
            desired,
            ..wanted()
        };
        let replicas: Vec<_> = memories(
            &spec,
            40,
            desired,
            wanted.now,
            &Possible::default(),
            version,
        )
        .into_iter()
        .map(|mut memory| {
            normalize(wanted, Some(&behavior), version, &mut memory)
                .limit
                .result
        })
        .collect();
        (
            *replicas.iter().min().unwrap(),
            *replicas.iter().max().unwrap(),
        )
    }

    #[test]
    fn every_limit_that_a_past_can_set_is_inside() {
        for (rules, desired, expected) in [
            // After a correction from 200, 100 removed in the period still leave 100.
            (policies("Max", &[("Pods", 100, 60)]), 5, (5, 40)),
            (policies("Max", &[("Percent", 90, 60)]), 5, (5, 40)),
            // Added replicas count even if others have removed them again.
            (policies("Max", &[("Pods", 60, 60)]), 45, (40, 45)),
            (policies("Max", &[("Percent", 200, 60)]), 5, (5, 40)),
            // The product must not overflow on the way to the highest limit.
            (policies("Max", &[("Percent", i32::MAX, 60)]), 45, (40, 45)),
            // Each period has its own events.
            (
                policies("Min", &[("Pods", 1, 15), ("Percent", 900, 60)]),
                90,
                (40, 50),
            ),
            (
                policies("Max", &[("Pods", 1, 15), ("Percent", 200, 60)]),
                5,
                (5, 40),
            ),
            // Policies of one period have one past: that with the highest limit of the second overflows the first.
            (
                policies("Min", &[("Percent", 900, 60), ("Pods", 1, 60)]),
                90,
                (40, 50),
            ),
            // Everything may go at any time, and nothing if that is disabled.
            (policies("Max", &[("Percent", 100, 15)]), 5, (5, 5)),
            (policies("Disabled", &[("Pods", 1, 15)]), 5, (40, 40)),
        ] {
            let range = range(rules.clone(), desired, &version("v1.36"));
            assert_eq!(range, expected, "{rules:?} to {desired}");
        }
    }

    #[test]
    fn where_one_direction_counts_nothing_starts_on_the_other_side() {
        for (rules, desired, expected) in [
            // At most 5 more than the current 40, and none if 5 were added before.
            (policies("Max", &[("Pods", 5, 60)]), 90, (40, 45)),
            (policies("Max", &[("Pods", 5, 60)]), 5, (35, 40)),
            (policies("Max", &[("Percent", 100, 60)]), 90, (40, 50)),
            // A period of 60 s starts no higher than one of 15 s.
            (
                policies("Min", &[("Pods", 1, 15), ("Percent", 900, 60)]),
                90,
                (40, 41),
            ),
        ] {
            let range = range(rules.clone(), desired, &version("v1.24"));
            assert_eq!(range, expected, "{rules:?} to {desired}");
        }
    }

    /// The range of the row above from 35 to 40 includes the most that an int32 can count as removed. One that
    /// overflows allows anything.
    #[test]
    fn where_one_direction_counts_its_changes_fit_into_32_bits() {
        let rules = policies("Max", &[("Pods", 5, 60)]);
        let behavior = Behavior {
            scale_up: None,
            scale_down: rules,
        };
        for (replicas, expected) in [(0, 35), (i32::MAX - 40, 40), (i32::MAX, 5)] {
            let removed = ScaleEvent {
                replicas,
                time: Timestamp::UNIX_EPOCH,
                outdated: false,
            };
            let mut memory = Memory {
                scale_down_events: vec![removed],
                ..Memory::default()
            };
            let wanted = BehaviorInput {
                desired: 5,
                ..wanted()
            };
            let normalized = normalize(wanted, Some(&behavior), &version("v1.24"), &mut memory);
            assert_eq!(normalized.limit.result, expected, "{replicas} removed");
        }
    }

    /// A metric that also fails for the controller prevents scaling down.
    #[test]
    fn metrics_that_are_unread_may_ask_for_anything_above_the_others() {
        let snapshot = crate::outlook::ahead::tests::snapshot(10, 5, &serde_json::json!({}));
        let whole = crate::engine::reconcile(&snapshot, &Memory::default());
        let read = whole.metrics().next().unwrap().clone();
        let asked = |others: &[MetricResult], current| {
            let step = |result: &MetricResult| {
                let step = MetricStep {
                    result: result.clone(),
                    ..read.clone()
                };
                Step::ComputeMetric(step.into())
            };
            let trace = [&read.result].into_iter().chain(others).map(step).collect();
            proposals(
                &Decision {
                    trace,
                    ..whole.clone()
                },
                current,
            )
        };
        let unread = MetricResult::Unread(UnreadCause::Missing {
            documents: Documents::ExternalMetricValueList,
        });
        let (message, error) = (String::new(), String::new());
        let failed = MetricResult::Error(MetricError {
            reason: "",
            message,
            error,
        });
        assert_eq!(asked(&[], 10), None);
        assert_eq!(asked(std::slice::from_ref(&failed), 10), None);
        assert_eq!(
            asked(std::slice::from_ref(&unread), 10),
            Some(vec![5, i32::MAX])
        );
        let both = [unread, failed];
        assert_eq!(asked(&both, 6), Some(vec![i32::MAX]));
        assert_eq!(asked(&both, 5), Some(vec![5, i32::MAX]));
        assert_eq!(asked(&both, 4), Some(vec![5, i32::MAX]));
    }

    #[test]
    fn without_behavior_the_highest_recommendation_has_two_bounds() {
        let highest = Extreme {
            at_least: Some(3),
            at_most: Some(7),
        };
        let lists = |highest| {
            let possible = Possible {
                highest,
                ..Possible::default()
            };
            let spec = HpaSpec::default();
            let now = Timestamp::UNIX_EPOCH;
            let all = memories(&spec, 5, 4, now, &possible, &version("v1.36"));
            let ends = all.iter().map(|it| &it.recommendations[..]);
            ends.map(|it| it.first().map(|one| one.replicas))
                .collect::<Vec<_>>()
        };
        assert_eq!(lists(highest), [Some(3), Some(7)]);
        assert_eq!(lists(Extreme::default()), [None, Some(i32::MAX)]);
    }
}
