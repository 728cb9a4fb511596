//! From the metrics' proposal to the allowed replicas: stabilization over past recommendations, rate limits,
//! bounds. Follows `normalizeDesiredReplicas` without `behavior`, and `normalizeDesiredReplicasWithBehaviors`
//! with it; the two differ in more than their parameters.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};

use super::arith::{cutoff, to_i32};
use super::decision::{Direction, LimitStep, PolicyLimit, RateLimit, StabilizeStep};
use crate::memory::Memory;
use crate::rules::Rules;
use crate::snapshot::hpa::{Behavior, ScalingPolicy, ScalingRules};
use crate::snapshot::memory::{Recommendation, ScaleEvent};

/// The input of both algorithms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BehaviorInput {
    pub(crate) current: i32,
    pub(crate) desired: i32,
    pub(crate) min: i32,
    pub(crate) max: i32,
    pub(crate) now: Timestamp,
    pub(crate) downscale_stabilization: SignedDuration,
}

/// The two steps from the metrics' proposal to the allowed replicas.
pub(crate) struct Normalized {
    pub(crate) stabilized: StabilizeStep,
    pub(crate) limit: LimitStep,
}

/// Normalizes a proposal: stabilization, then limits.
pub(crate) fn normalize(
    wanted: BehaviorInput,
    behavior: Option<&Behavior>,
    rules: &Rules,
    memory: &mut Memory,
) -> Normalized {
    match behavior {
        None => without_behavior(wanted, memory),
        Some(behavior) => with_behavior(wanted, behavior, rules, memory),
    }
}

/// Normalizes without `behavior`.
fn without_behavior(wanted: BehaviorInput, memory: &mut Memory) -> Normalized {
    let BehaviorInput {
        current,
        desired,
        min,
        max,
        now,
        downscale_stabilization,
    } = wanted;
    let list = &mut memory.recommendations;
    let oldest = cutoff(now, downscale_stabilization);
    let mut stabilized = desired;
    let mut held_by = None;
    let mut stale = None;
    for (place, past) in list.iter().enumerate() {
        if past.time < oldest {
            stale = Some(place);
        } else if past.replicas > stabilized {
            stabilized = past.replicas;
            held_by = Some(*past);
        }
    }
    remember(list, stale, desired, now);
    let able_reason = if stabilized == desired {
        "ReadyForNewScale"
    } else {
        "ScaleDownStabilized"
    };

    let rate = to_i32((2.0 * f64::from(current)).max(4.0));
    let (cap, cap_reason) = if max > rate {
        (rate, "ScaleUpLimit")
    } else {
        (max, "TooManyReplicas")
    };
    let (replicas, limited_reason) = if stabilized < min {
        (min, "TooFewReplicas")
    } else if stabilized > cap {
        (cap, cap_reason)
    } else {
        (stabilized, "DesiredWithinRange")
    };
    Normalized {
        stabilized: StabilizeStep {
            desired,
            result: stabilized,
            up_window: None,
            down_window: downscale_stabilization,
            held_by,
            reason: able_reason,
        },
        limit: LimitStep {
            desired: stabilized,
            result: replicas,
            rate: Some(RateLimit {
                direction: Direction::Up,
                replicas: rate,
                select_policy: None,
                policies: Vec::new(),
            }),
            min,
            max,
            reason: limited_reason,
        },
    }
}

/// Normalizes with `behavior`.
fn with_behavior(
    wanted: BehaviorInput,
    behavior: &Behavior,
    rules: &Rules,
    memory: &mut Memory,
) -> Normalized {
    let no_rules = ScalingRules::default();
    let up_rules = behavior.scale_up.as_ref().unwrap_or(&no_rules);
    let down_rules = behavior.scale_down.as_ref().unwrap_or(&no_rules);
    let window = |rules: &ScalingRules| rules.stabilization_window_seconds;
    let up_window = SignedDuration::from_secs(window(up_rules).unwrap_or(0).into());
    let down_window = window(down_rules).map_or_else(
        || SignedDuration::from_secs(wanted.downscale_stabilization.as_secs()),
        |seconds| SignedDuration::from_secs(seconds.into()),
    );
    let stabilized = stabilize(wanted, up_window, down_window, &mut memory.recommendations);
    let events = Events {
        up: Changes::of(&memory.scale_up_events),
        down: Changes::of(&memory.scale_down_events),
        rules,
        now: wanted.now,
    };
    let BehaviorInput {
        current, min, max, ..
    } = wanted;
    let desired = stabilized.result;
    let (replicas, limited_reason, rate) = if desired > current {
        let mut rate = events.limit(current, up_rules, Direction::Up);
        rate.replicas = rate.replicas.max(current);
        let (cap, reason) = if max > rate.replicas {
            (rate.replicas, "ScaleUpLimit")
        } else {
            (max, "TooManyReplicas")
        };
        let limited = (desired > cap).then_some((cap, reason));
        let (replicas, reason) = limited.unwrap_or((desired, "DesiredWithinRange"));
        (replicas, reason, Some(rate))
    } else if desired < current {
        let mut rate = events.limit(current, down_rules, Direction::Down);
        rate.replicas = rate.replicas.min(current);
        let (floor, reason) = if min < rate.replicas {
            (rate.replicas, "ScaleDownLimit")
        } else {
            (min, "TooFewReplicas")
        };
        let limited = (desired < floor).then_some((floor, reason));
        let (replicas, reason) = limited.unwrap_or((desired, "DesiredWithinRange"));
        (replicas, reason, Some(rate))
    } else {
        (desired, "DesiredWithinRange", None)
    };
    let limit = LimitStep {
        desired,
        result: replicas,
        rate,
        min,
        max,
        reason: limited_reason,
    };
    Normalized { stabilized, limit }
}

/// Holds a proposal within the recommendations of the two windows
/// (`stabilizeRecommendationWithBehaviors`).
fn stabilize(
    wanted: BehaviorInput,
    up_window: SignedDuration,
    down_window: SignedDuration,
    list: &mut Vec<Recommendation>,
) -> StabilizeStep {
    let BehaviorInput {
        current,
        desired,
        now,
        ..
    } = wanted;
    let (up_oldest, down_oldest) = (cutoff(now, up_window), cutoff(now, down_window));
    let (mut lowest, mut highest) = (desired, desired);
    let (mut lowest_by, mut highest_by) = (None, None);
    let mut stale = None;
    for (place, past) in list.iter().enumerate() {
        if past.time > up_oldest && past.replicas < lowest {
            lowest = past.replicas;
            lowest_by = Some(*past);
        }
        if past.time > down_oldest && past.replicas > highest {
            highest = past.replicas;
            highest_by = Some(*past);
        }
        if past.time < up_oldest && past.time < down_oldest {
            stale = Some(place);
        }
    }
    // Never past the current count in the wrong direction: first raised to the lowest, then lowered to
    // the highest.
    let mut stabilized = current;
    let mut held_by = None;
    if stabilized < lowest {
        stabilized = lowest;
        held_by = lowest_by;
    }
    if stabilized > highest {
        stabilized = highest;
        held_by = highest_by;
    }
    if stabilized == desired {
        held_by = None;
    } else if stabilized == current {
        held_by = if desired > current {
            lowest_by
        } else {
            highest_by
        };
    }
    remember(list, stale, desired, now);
    let able_reason = if stabilized == desired {
        "ReadyForNewScale"
    } else if desired >= current {
        "ScaleUpStabilized"
    } else {
        "ScaleDownStabilized"
    };

    StabilizeStep {
        desired,
        result: stabilized,
        up_window: Some(up_window),
        down_window,
        held_by,
        reason: able_reason,
    }
}

/// Overwrites the last stale entry, or appends: one entry is recycled per pass, and the list is
/// not sorted.
fn remember(list: &mut Vec<Recommendation>, stale: Option<usize>, replicas: i32, time: Timestamp) {
    let entry = Recommendation { replicas, time };
    match stale {
        Some(place) => list[place] = entry,
        None => list.push(entry),
    }
}

/// The remembered scale changes, at one instant.
struct Events<'m> {
    up: Changes,
    down: Changes,
    rules: &'m Rules,
    now: Timestamp,
}

impl Events<'_> {
    /// Returns how far the policies of a direction allow scaling (`calculateScaleUpLimitWithScalingRules` and its
    /// counterpart). The events give the replicas at the start of a period.
    fn limit(&self, current: i32, rules: &ScalingRules, direction: Direction) -> RateLimit {
        let select_policy = rules
            .select_policy
            .clone()
            .unwrap_or_else(|| "Max".to_owned());
        if select_policy == "Disabled" {
            let select_policy = Some(select_policy);
            return RateLimit {
                direction,
                replicas: current,
                select_policy,
                policies: Vec::new(),
            };
        }
        // Min is the smallest change, so the lowest count going up and the highest going down.
        let lowest = (select_policy == "Min") == (direction == Direction::Up);
        let mut limit = if lowest { i32::MAX } else { i32::MIN };
        let mut allowed = 0;
        let mut policies = Vec::new();
        for policy in rules.policies.iter().flatten() {
            let since = cutoff(
                self.now,
                SignedDuration::from_secs(policy.period_seconds.into()),
            );
            let mut start = current;
            if self.rules.both_directions || direction == Direction::Up {
                start = start.wrapping_sub(self.up.since(since));
            }
            if self.rules.both_directions || direction == Direction::Down {
                start = start.wrapping_add(self.down.since(since));
            }
            // A policy of an unknown type repeats the one before it.
            allowed = allowed_by(policy, start, direction, self.rules).unwrap_or(allowed);
            limit = if lowest {
                limit.min(allowed)
            } else {
                limit.max(allowed)
            };
            policies.push(PolicyLimit {
                policy: policy.clone(),
                period_start: start,
                replicas: allowed,
            });
        }
        RateLimit {
            direction,
            replicas: limit,
            select_policy: Some(select_policy),
            policies,
        }
    }
}

/// Returns the replicas that a policy allows, from the count at the start of its period.
pub(crate) fn allowed_by(
    policy: &ScalingPolicy,
    start: i32,
    direction: Direction,
    rules: &Rules,
) -> Option<i32> {
    let share = f64::from(policy.value) / 100.0;
    match (policy.type_.as_str(), direction) {
        ("Pods", Direction::Up) => Some(start.wrapping_add(policy.value)),
        ("Pods", Direction::Down) => Some(start.wrapping_sub(policy.value)),
        ("Percent", Direction::Up) => {
            Some(rules.replicas((f64::from(start) * (1.0 + share)).ceil()))
        }
        ("Percent", Direction::Down) => Some(to_i32(f64::from(start) * (1.0 - share))),
        _ => None,
    }
}

/// Returns the start with the highest limit: beyond it, the limit overflows.
pub(crate) fn highest_start(policy: &ScalingPolicy, direction: Direction) -> i32 {
    let most = f64::from(i32::MAX);
    let share = f64::from(policy.value) / 100.0;
    // Saturation is intended here.
    match (policy.type_.as_str(), direction) {
        ("Pods", Direction::Up) => i32::MAX.saturating_sub(policy.value),
        ("Percent", Direction::Up) => (most / (1.0 + share)).floor() as i32,
        // Removing more than everything gives a negative count, which turns into a high limit.
        ("Percent", Direction::Down) => (most / (1.0 - share)).ceil() as i32,
        _ => i32::MAX,
    }
}

/// The changes in one direction, the newest first, each with the sum of all down to it: a policy looks its sum
/// up (`getReplicasChangePerPeriod`), as there may be many policies and many changes.
struct Changes(Vec<(Timestamp, i32)>);

impl Changes {
    fn of(events: &[ScaleEvent]) -> Self {
        let mut list: Vec<(Timestamp, i32)> = events
            .iter()
            .map(|event| (event.time, event.replicas))
            .collect();
        list.sort_unstable_by_key(|(time, _)| Reverse(*time));
        let mut sum = 0i32;
        for (_, replicas) in &mut list {
            sum = sum.wrapping_add(*replicas);
            *replicas = sum;
        }
        Self(list)
    }

    /// Returns the replicas that all changes after a time add up to.
    fn since(&self, since: Timestamp) -> i32 {
        let newer = self.0.partition_point(|(time, _)| *time > since);
        self.0[..newer].last().map_or(0, |(_, sum)| *sum)
    }
}

/// Remembers a successful rescale (`storeScaleEvent`); only with `behavior`.
pub(crate) fn store_scale_event(
    behavior: &Behavior,
    memory: &mut Memory,
    from: i32,
    to: i32,
    now: Timestamp,
) {
    let (list, rules, change) = if to > from {
        (
            &mut memory.scale_up_events,
            &behavior.scale_up,
            to.wrapping_sub(from),
        )
    } else {
        (
            &mut memory.scale_down_events,
            &behavior.scale_down,
            from.wrapping_sub(to),
        )
    };
    let policies = rules
        .iter()
        .flat_map(|rules| rules.policies.iter().flatten());
    let longest = policies
        .map(|policy| policy.period_seconds)
        .max()
        .unwrap_or(0)
        .max(0);
    let oldest = cutoff(now, SignedDuration::from_secs(longest.into()));
    let mut stale = None;
    for (place, event) in list.iter_mut().enumerate() {
        if event.time < oldest {
            event.outdated = true;
        }
        // Once outdated, an event stays outdated, even if the periods have become longer since.
        if event.outdated {
            stale = Some(place);
        }
    }
    let event = ScaleEvent {
        replicas: change,
        time: now,
        outdated: false,
    };
    match stale {
        Some(place) => list[place] = event,
        None => list.push(event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::controller::Controller;

    fn now() -> Timestamp {
        "2026-11-21T06:00:00Z".parse().unwrap()
    }

    fn rules() -> Rules {
        Rules::of(&Controller::new("v1.36".parse().unwrap()))
    }

    /// With bounds that change nothing.
    fn wanted(current: i32, desired: i32, seconds: i64) -> BehaviorInput {
        BehaviorInput {
            current,
            desired,
            min: 1,
            max: 10,
            now: now(),
            downscale_stabilization: SignedDuration::from_secs(seconds),
        }
    }

    fn event(replicas: i32, time: Timestamp, outdated: bool) -> ScaleEvent {
        ScaleEvent {
            replicas,
            time,
            outdated,
        }
    }

    #[test]
    fn an_event_once_outdated_is_overwritten_though_periods_are_longer_now() {
        let now = now();
        let ago = |seconds| now - SignedDuration::from_secs(seconds);
        let policy = ScalingPolicy {
            type_: "Pods".to_owned(),
            value: 10,
            period_seconds: 60,
        };
        let behavior = Behavior {
            scale_up: Some(ScalingRules {
                policies: Some(vec![policy]),
                ..ScalingRules::default()
            }),
            scale_down: None,
        };
        for (before, after) in [
            (vec![event(1, ago(10), true)], vec![event(4, now, false)]),
            (
                vec![event(1, ago(10), false)],
                vec![event(1, ago(10), false), event(4, now, false)],
            ),
            // Exactly as old as the period is not older.
            (
                vec![event(1, cutoff(now, SignedDuration::from_secs(60)), false)],
                vec![
                    event(1, cutoff(now, SignedDuration::from_secs(60)), false),
                    event(4, now, false),
                ],
            ),
            (
                vec![event(1, ago(90), false), event(2, ago(61), false)],
                vec![event(1, ago(90), true), event(4, now, false)],
            ),
        ] {
            let mut memory = Memory {
                scale_up_events: before,
                ..Memory::default()
            };
            store_scale_event(&behavior, &mut memory, 3, 7, now);
            assert_eq!(memory.scale_up_events, after);
        }
    }

    /// Returns the result of stabilization, whether it is attributed to a past recommendation, and how many
    /// are remembered.
    fn stabilized(normalized: &Normalized, memory: &Memory) -> (i32, bool, usize) {
        let step = normalized.stabilized;
        let remembered = memory.recommendations.len();
        (step.result, step.held_by.is_some(), remembered)
    }

    #[test]
    fn a_recommendation_at_the_cutoff_counts_only_without_behavior() {
        let now = now();
        let window = SignedDuration::from_secs(60);
        let rules = rules();
        let windows = ScalingRules {
            stabilization_window_seconds: Some(60),
            ..ScalingRules::default()
        };
        let behavior = Behavior {
            scale_up: Some(windows.clone()),
            scale_down: Some(windows),
        };
        for (nanoseconds, without, down, up) in [
            (-1, (3, false, 1), (3, false, 1), (6, false, 1)),
            (0, (4, true, 2), (3, false, 2), (6, false, 2)),
            (1, (4, true, 2), (4, true, 2), (4, true, 2)),
        ] {
            let time = cutoff(now, window) + SignedDuration::from_nanos(nanoseconds);
            let memory = Memory {
                recommendations: vec![Recommendation { replicas: 4, time }],
                ..Memory::default()
            };
            let mut after = memory.clone();
            let normalized = without_behavior(wanted(5, 3, 60), &mut after);
            assert_eq!(
                stabilized(&normalized, &after),
                without,
                "without, {nanoseconds}"
            );
            for (current, desired, expected) in [(5, 3, down), (3, 6, up)] {
                let mut after = memory.clone();
                let wanted = wanted(current, desired, 60);
                let normalized = with_behavior(wanted, &behavior, &rules, &mut after);
                assert_eq!(
                    stabilized(&normalized, &after),
                    expected,
                    "to {desired}, {nanoseconds}"
                );
            }
        }
    }

    /// Its slot in the list is reused only once both windows are past it (`Before` upstream).
    #[test]
    fn a_recommendation_at_the_cutoff_of_the_longer_window_stays() {
        let now = now();
        let rules = rules();
        let window = |seconds| {
            Some(ScalingRules {
                stabilization_window_seconds: Some(seconds),
                ..ScalingRules::default()
            })
        };
        let wanted = wanted(5, 5, 300);
        for (up, down) in [(30, 60), (60, 30)] {
            let behavior = Behavior {
                scale_up: window(up),
                scale_down: window(down),
            };
            for (nanoseconds, kept) in [(-1, 1), (0, 2), (1, 2)] {
                let longer = cutoff(now, SignedDuration::from_secs(60));
                let time = longer + SignedDuration::from_nanos(nanoseconds);
                let recommendations = vec![Recommendation { replicas: 4, time }];
                let mut memory = Memory {
                    recommendations,
                    ..Memory::default()
                };
                with_behavior(wanted, &behavior, &rules, &mut memory);
                assert_eq!(
                    memory.recommendations.len(),
                    kept,
                    "{up} {down} {nanoseconds}"
                );
            }
        }
    }

    #[test]
    fn what_recommends_the_same_holds_nothing() {
        let now = now();
        let recommendations = vec![Recommendation {
            replicas: 3,
            time: now,
        }];
        let mut memory = Memory {
            recommendations,
            ..Memory::default()
        };
        let normalized = without_behavior(wanted(5, 3, 60), &mut memory);
        assert_eq!(stabilized(&normalized, &memory), (3, false, 2));
    }

    /// In any order, and with a sum that wraps. A change at the start of a period no longer counts.
    #[test]
    fn the_changes_after_a_time_add_up() {
        let start = now();
        let at = |second| start + SignedDuration::from_secs(second);
        let events = [(3, 20), (5, 10), (i32::MAX, 30), (7, 20)]
            .map(|(replicas, second)| event(replicas, at(second), false));
        let changes = Changes::of(&events);
        for (since, sum) in [
            (30, 0),
            (29, i32::MAX),
            (20, i32::MAX),
            (19, i32::MAX.wrapping_add(10)),
            (0, i32::MAX.wrapping_add(15)),
        ] {
            assert_eq!(changes.since(at(since)), sum, "{since}");
        }
    }

    /// The trace of a pass with `behavior` over 5 replicas, between 3 and 10: the result of stabilization, the
    /// age of the recommendation that held it, the replicas, the reason, the rate limit.
    #[test]
    fn the_trace_names_what_holds_and_what_limits() {
        let now = now();
        let ago = |seconds: i64| now - SignedDuration::from_secs(seconds);
        let rules = rules();
        let policy = ScalingPolicy {
            type_: "Pods".to_owned(),
            value: 2,
            period_seconds: 60,
        };
        let own = ScalingRules {
            stabilization_window_seconds: Some(60),
            policies: Some(vec![policy]),
            ..ScalingRules::default()
        };
        let behavior = Behavior {
            scale_up: Some(own.clone()),
            scale_down: Some(own),
        };
        let change = |replicas| event(replicas, ago(10), false);
        for (desired, remembered, added, removed, expected) in [
            (5, vec![], 0, 0, (5, None, 5, "DesiredWithinRange", None)),
            (6, vec![], 0, 0, (6, None, 6, "DesiredWithinRange", Some(7))),
            // Of equal recommendations the first one holds.
            (
                8,
                vec![(6, 30), (6, 20)],
                0,
                0,
                (6, Some(30), 6, "DesiredWithinRange", Some(7)),
            ),
            (
                3,
                vec![(4, 30), (4, 20)],
                0,
                0,
                (4, Some(30), 4, "DesiredWithinRange", Some(3)),
            ),
            // One that is beyond the current count holds that count.
            (
                8,
                vec![(4, 30)],
                0,
                0,
                (5, Some(30), 5, "DesiredWithinRange", None),
            ),
            (
                3,
                vec![(6, 30)],
                0,
                0,
                (5, Some(30), 5, "DesiredWithinRange", None),
            ),
            (8, vec![], 0, 0, (8, None, 7, "ScaleUpLimit", Some(7))),
            // The limit is the minimum.
            (2, vec![], 0, 0, (2, None, 3, "TooFewReplicas", Some(3))),
            // Changes already made in the period do not turn the direction around.
            (9, vec![], 5, 0, (9, None, 5, "ScaleUpLimit", Some(5))),
            (1, vec![], 0, 5, (1, None, 5, "ScaleDownLimit", Some(5))),
        ] {
            let recommendations = remembered
                .iter()
                .map(|&(replicas, age)| Recommendation {
                    replicas,
                    time: ago(age),
                })
                .collect();
            let mut memory = Memory {
                recommendations,
                scale_up_events: vec![change(added)],
                scale_down_events: vec![change(removed)],
                ..Memory::default()
            };
            let wanted = BehaviorInput {
                min: 3,
                ..wanted(5, desired, 0)
            };
            let normalized = with_behavior(wanted, &behavior, &rules, &mut memory);
            let Normalized { stabilized, limit } = normalized;
            let held_by = stabilized.held_by;
            let told = (
                stabilized.result,
                held_by.map(|held| now.duration_since(held.time).as_secs()),
                limit.result,
                limit.reason,
                limit.rate.map(|rate| rate.replicas),
            );
            assert_eq!(told, expected, "{desired} {remembered:?} {added} {removed}");
        }
    }

    /// From a count above it, the policy's limit overflows or stays the same.
    #[test]
    fn the_start_with_the_highest_limit() {
        for (type_, value, direction, expected) in [
            ("Pods", 5, Direction::Up, i32::MAX - 5),
            ("Pods", 5, Direction::Down, i32::MAX),
            // 2,147,483,647 / 2, / 0.5 and / -2.
            ("Percent", 100, Direction::Up, 1_073_741_823),
            ("Percent", 50, Direction::Down, i32::MAX),
            ("Percent", 300, Direction::Down, -1_073_741_823),
            ("Unknown", 5, Direction::Up, i32::MAX),
        ] {
            let policy = ScalingPolicy {
                type_: type_.to_owned(),
                value,
                period_seconds: 60,
            };
            assert_eq!(
                highest_start(&policy, direction),
                expected,
                "{policy:?} {direction:?}"
            );
        }
    }
}
