//! The finding `flapping`.

use crate::apimachinery::quantity::Quantity;
use crate::calendar::Calendar;
use crate::findings::last_pass::ReportedRescale;
use crate::findings::path::{DOWN_WINDOW, WINDOWS, by_policies, set};
use crate::findings::prelude::*;
use crate::findings::setter::Setter;
use crate::findings::targets::largest;
use crate::memory::spans::windows;
use crate::numbers::resource_amount;
use crate::snapshot::evidence::Event;

/// The events of the HPA show it scaling up and down at least five times, the last one less than an hour ago, and the
/// scale-down stabilization window is shorter than the average time from one scale-up to the next.
///
/// Lengthen the window, so that it lasts from one peak to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flapping {
    /// The number of times that the HPA has scaled up.
    pub ups: i32,
    /// The number of times that the HPA has scaled down.
    pub downs: i32,
    /// The lowest size that the HPA has scaled to.
    pub low: i32,
    /// The highest size.
    pub high: i32,
    /// The first time.
    pub first: Timestamp,
    /// The last time.
    pub last: Timestamp,
    /// The time for which a higher recommendation holds back scaling down.
    pub window: SignedDuration,
    /// A window in seconds that lasts from one scale-up to the next.
    pub longer: i32,
    /// The target as a percentage, and the request of a pod, if little work is enough to exceed that share of it.
    pub small: Option<(i32, Quantity)>,
}

impl Kind for Flapping {
    fn find(case: &Case<'_>) -> Option<Finding> {
        /// The number of turns if it scales up and down five times, which is not a coincidence.
        const SEVERAL: i32 = 9;
        /// A load that rises and falls more slowly than this does not need a window.
        const SLOW: SignedDuration = SignedDuration::from_hours(1);
        let hpa = &case.snapshot.hpa;
        let [min, max] = [Direction::Down, Direction::Up].map(|side| hpa.spec.bound(side));
        if !hpa.spec.may_scale(Direction::Up, min) || !hpa.spec.may_scale(Direction::Down, max) {
            return None;
        }
        let events = Vec::from_iter(case.pass.input.rescale_events());
        let times = |is_up| counts(&events, is_up).fold(0, i32::saturating_add);
        let (ups, downs) = (times(true), times(false));
        let (rescales, is_complete) = case.pass.input.rescales();
        let (first, last) = (rescales.first()?.time, rescales.last()?.time);
        let sizes = || rescales.iter().map(|it| it.size);
        let (low, high) = (sizes().min()?, sizes().max()?);
        let turns = turns(&events, &rescales);
        if turns < SEVERAL || case.since(last)? > SLOW {
            return None;
        }
        let interval = last.duration_since(first) / turns * 2;
        let (_, window) = windows(&hpa.spec, &case.snapshot.controller);
        // A recommendation must last from the passes before scaling down to the next rise. Occurrences that repeated
        // events hide are assumed to be as far apart as the others are on average.
        let needed = if is_complete {
            longest_gap(&rescales).plus(window)
        } else {
            interval
        };
        let covers = |seconds: &i32| SignedDuration::from_secs((*seconds).into()) >= needed;
        let longer = WINDOWS
            .into_iter()
            .find(covers)
            .filter(|_| window < interval)?;
        let small = small_target(case);
        let facts = Flapping {
            ups,
            downs,
            low,
            high,
            first,
            last,
            window,
            longer,
            small,
        };
        let without = case.other_answer(|snapshot| {
            let rules = snapshot.hpa.spec.rules_mut(Direction::Down);
            rules.stabilization_window_seconds = Some(longer);
        });
        Some(Finding::new(Severity::Warning, without.is_some(), facts).without(without))
    }

    fn summary(&self, _: &About<'_>) -> String {
        format!(
            "the controller has scaled up {} and down {} times in {}, and the window of \
             scaling down is {}",
            count(self.ups, "time"),
            self.downs,
            distance(self.first, self.last),
            duration(self.window)
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let now = about.now();
        let rules = about.hpa.spec.rules(Direction::Down);
        let by = rules.map_or_else(String::new, by_policies);
        let mut evidence = vec![
            format!(
                "The events of the HPA show it between {} and {}, from {} to {}.",
                self.low,
                count(self.high, "replica"),
                time(now, self.first),
                time(now, self.last)
            ),
            format!(
                "It scales down{by} once no higher recommendation is younger than {}.",
                duration(self.window)
            ),
        ];
        evidence.extend(about.scales_up());
        evidence.extend(about.short_window());
        evidence.extend(about.result(&format!("With a window of {}s", self.longer)));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some((percent, request)) = &self.small {
            return Remedy::RaiseSmallRequest.says(format!(
                "Raise the cpu request first: the target, {percent}% of {request}, is so little that any work exceeds it."
            ));
        }
        let longer = self.longer;
        Remedy::LengthenDownWindow
            .says(format!("Set {} to {longer}.", about.field(DOWN_WINDOW)))
            .with_all(set(about, DOWN_WINDOW, longer.into()))
    }
}

/// Returns the target of the deciding metric, as a percentage, and the cpu that a pod requests, if that share of it is
/// little.
fn small_target(case: &Case<'_>) -> Option<(i32, Quantity)> {
    /// A small target, in milli-units.
    const LITTLE: i64 = 50;
    let step = case
        .decision
        .winner()
        .filter(|step| step.is_resource() && step.name == "cpu")?;
    let percent = step.target.average_utilization?;
    let renewed = case.renewed();
    let container = largest(case, &Case::new(&renewed, &[]), step);
    if case.setter(container, "cpu") == Setter::Autoscaler {
        return None;
    }
    let pods = &renewed.decision.metric(step.index)?.pods;
    let request = pods.iter().filter_map(|row| row.request).max()?;
    (request.saturating_mul(percent.into()) / 100 <= LITTLE)
        .then(|| (percent, resource_amount("cpu", request)))
}

/// Returns the longest time from a scale-down to the next scale-up.
fn longest_gap(rescales: &[ReportedRescale]) -> SignedDuration {
    let gaps = rescales
        .windows(2)
        .filter(|pair| (pair[0].is_up, pair[1].is_up) == (Some(false), Some(true)));
    gaps.map(|pair| pair[1].time.duration_since(pair[0].time))
        .max()
        .unwrap_or_default()
}

/// Returns how many rescales in one direction each event reports.
fn counts(events: &[&Event], is_up: bool) -> impl Iterator<Item = i32> {
    let own = events
        .iter()
        .filter(move |event| event.is_up() == Some(is_up));
    own.map(|event| event.count)
}

/// Returns the minimum number of times that the HPA turned from scaling up to scaling down, or back. The API server
/// counts equal events, and an event can recur only after a change in the other direction; for other events, the times
/// show it.
fn turns(events: &[&Event], rescales: &[ReportedRescale]) -> i32 {
    let sides: Vec<bool> = rescales.iter().filter_map(|it| it.is_up).collect();
    let shown = sides.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let most = |is_up| counts(events, is_up).max().unwrap_or_default();
    let counted = most(true).min(most(false)).saturating_mul(2) - 1;
    counted.max(i32::try_from(shown).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::requests::testing::{owned, vpa, with_container};
    use crate::findings::testing::{cpu, only_of, state, with_spec};

    /// A window lasts from the passes before a scale-down to the next scale-up, if events report all of them.
    #[test]
    fn a_window_bridges_the_longest_gap() {
        let cycles = |cycles: i32, count: i32, items: Vec<serde_json::Value>| {
            // Up at each quarter of an hour, and down 7 minutes before the next rise.
            let events = (6 - cycles..6).flat_map(|cycle| {
                let minute = cycle * 15;
                [(8, "above", minute), (4, "below", minute + 8)].map(|(size, side, minute)| {
                    let time = format!("2026-11-21T{:02}:{:02}:00Z", 4 + minute / 60, minute % 60);
                    let reason = match side {
                        "above" => "cpu resource utilization above target",
                        _ => "All metrics below target",
                    };
                    let event = build::rescale(size, reason, &time);
                    build::with(event, &json!({"count": count}))
                })
            });
            let all: Vec<_> = items.into_iter().chain(events).collect();
            only_of::<Flapping>(&all).map(|(facts, _)| facts)
        };
        let flapping = |count: i32, items: Vec<serde_json::Value>| cycles(6, count, items);
        let items = state(&[cpu()], &["50m"; 4]);
        // Five times up and down are enough.
        assert!(cycles(5, 1, items.clone()).is_some());
        assert_eq!(cycles(4, 1, items.clone()), None);
        let longer = |count: i32| flapping(count, items.clone()).map(|it| it.longer);
        // 7 minutes, and 5 until a recommendation that holds the replicas is gone.
        assert_eq!(longer(1), Some(900));
        // A rise and a fall each 15 minutes, of which some may be hidden.
        assert_eq!(longer(3), Some(1800));
        // That many changes are closer together than any window.
        assert_eq!(longer(i32::MAX), None);
        // What can no longer go up and down has no need of a window.
        for spec in [
            json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}}),
            json!({"minReplicas": 4, "maxReplicas": 4}),
        ] {
            assert_eq!(flapping(1, with_spec(&items, &spec)), None);
        }
        // The request to raise is the template's, of the container that uses most.
        let proxy = build::requesting("proxy", "10m");
        let both = with_container(&items, &proxy, "45m", "5m");
        for (template, off, want) in [
            ("90m", "*", Some("100m")),
            ("70m", "*", Some("80m")),
            ("70m", "app", Some("80m")),
            ("70m", "proxy", None),
            ("1", "*", None),
        ] {
            let policies = json!([{"containerName": off, "mode": "Off"}]);
            let policy = json!({"spec": {"resourcePolicy": {"containerPolicies": policies}}});
            let made = owned(&both, &json!([build::requesting("app", template), proxy]));
            let vpa = build::with(vpa("Auto"), &policy);
            let small = flapping(1, [made, vec![vpa]].concat()).and_then(|it| it.small);
            let request = small.map(|(_, request)| request.to_string());
            assert_eq!(request.as_deref(), want, "{template}, {off}");
        }
    }
}
