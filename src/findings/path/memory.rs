//! Memory that keeps the replicas at any load.

use super::value;
use crate::findings::prelude::*;
use crate::findings::requests::is_alike;
use crate::findings::targets::{Headroom, ProposalOf, room};
use crate::whatif::thresholds::{Borders, UnitScale};

/// Memory of which all pods use about the same amount, so it probably does not come from the load that they share. It
/// keeps replicas while the other metrics, if any, need at most half of them.
#[derive(Debug, Clone, PartialEq)]
pub struct AlikeMemory {
    /// The place of the metric in the spec, from 0.
    pub metric: usize,
    /// How its values are counted.
    pub scale: UnitScale,
    /// The metric, in the unit of its target.
    pub now: i64,
    /// The highest value at which the metric proposes fewer replicas.
    pub at: i64,
    /// One pod fewer.
    pub fewer: i32,
    /// The change that would make fewer pods enough.
    pub room: Headroom,
}

/// Returns the facts about memory that does not fall with the load, for one replica fewer, if it alone keeps
/// the replicas.
pub(crate) fn alike_memory<'p>(
    case: &Case<'p>,
    metric: &'p MetricStep,
    borders: Borders,
    current: i32,
) -> Option<AlikeMemory> {
    let proposal = metric.proposal().filter(|it| it.filled.is_none())?;
    let is_counted = proposal
        .counted
        .is_some_and(|it| usize::try_from(current) == Ok(it.ready));
    let mut others = case.metrics().filter(|it| it.index != metric.index);
    let needs = |it: &MetricStep| it.proposal().is_none_or(|it| it.replicas > current / 2);
    let fewer = current - 1;
    let fits = proposal.ratio * f64::from(current) <= f64::from(fewer);
    if !is_counted || fits || !is_baseline(case, metric) || others.any(needs) {
        return None;
    }
    let Borders {
        scale,
        now,
        fewer: at,
        ..
    } = borders;
    Some(AlikeMemory {
        metric: metric.index,
        scale,
        now: now?,
        at: at?,
        fewer,
        room: room(case, metric, fewer, ProposalOf::Pass)?,
    })
}

/// Whether a metric is memory and all pods use about the same amount.
pub(crate) fn is_baseline<'p>(case: &Case<'p>, metric: &'p MetricStep) -> bool {
    metric.name == "memory" && is_alike(case, metric)
}

impl AlikeMemory {
    /// Returns a sentence that says that memory, which pods do not share, keeps the replicas.
    pub(super) fn summary(&self, about: &About<'_>) -> String {
        format!(
            "for {}, {} must be {} or less; it is {}",
            count(self.fewer, "replica"),
            about.label(self.metric),
            value(&self.scale, self.at),
            value(&self.scale, self.now)
        )
    }

    /// Returns the advice on memory that keeps the replicas.
    pub(super) fn advice(&self, about: &About<'_>) -> Advice {
        let instead = match about.hpa.spec.metrics.len() {
            1 => "scale on load",
            _ => "drop the metric",
        };
        let why = "Pods seldom free memory: ";
        self.room.advice(about, self.metric, why, instead)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::build;
    use crate::findings::path::testing::memory;
    use crate::findings::testing::{cpu, found, said, with, with_spec};
    use crate::findings::{Code, Facts};

    /// Returns pods that use 78Mi each, of which the container has restarted this many times.
    fn restarted(metric: &Value, resources: &Value, restarts: i32) -> Vec<Value> {
        let items = memory(std::slice::from_ref(metric), "10m", ["78Mi"; 4], resources);
        let statuses = json!([{"name": "app", "restartCount": restarts}]);
        with(
            &items,
            "Pod",
            &json!({"status": {"containerStatuses": statuses}}),
        )
    }

    /// A target of 80%: fewer pods cannot share memory that each of them needs.
    #[test]
    fn memory_that_each_pod_needs_keeps_the_replicas() {
        let share = build::resource("memory", &build::utilization(80));
        let none = json!({});
        let alone = |usages: [&str; 4]| memory(std::slice::from_ref(&share), "10m", usages, &none);
        let with_cpu = |usage: &str| memory(&[share.clone(), cpu()], usage, ["70Mi"; 4], &none);
        let kept = |items: &[Value]| {
            found(items).into_iter().find_map(|it| match it.facts {
                Facts::Rounding(it) => Some((Code::Rounding, it.memory)),
                Facts::WithinTolerance(it) => Some((Code::WithinTolerance, it.memory)),
                _ => None,
            })
        };
        let (rounds, tolerates) = (Code::Rounding, Code::WithinTolerance);
        let uneven = ["78Mi", "78Mi", "96Mi", "60Mi"];
        let least = with_spec(&alone(["78Mi"; 4]), &json!({"minReplicas": 4}));
        for (items, code, want) in [
            // At 60%, 3 pods are enough, and 78 is 60% of 130.
            (alone(["78Mi"; 4]), tolerates, Some((false, "130Mi"))),
            // A little above the target it is no different.
            (alone(["82Mi"; 4]), tolerates, Some((false, "140Mi"))),
            // 70 of 120 is 58%, which is 0.725 of 80%: 2.9 of 4 pods.
            (alone(["70Mi"; 4]), rounds, Some((false, "120Mi"))),
            (with_cpu("10m"), rounds, Some((true, "120Mi"))),
            // Pods that share it.
            (alone(uneven), tolerates, None),
            // Cpu needs all of the 4, or 3 of them.
            (with_cpu("40m"), rounds, None),
            (with_cpu("30m"), rounds, None),
            (least, tolerates, None),
        ] {
            let (told, memory) = kept(&items).unwrap();
            let memory = memory.map(|it| {
                let request = it.room.found.map(|it| it.adjustment.name("memory"));
                let advice = said(told, &items).advice.text();
                (it.at, advice.contains("drop the metric"), request)
            });
            let want = want.map(|(others, request)| {
                let named = format!("a memory request of {request} for app");
                (60, others, Some(named))
            });
            assert_eq!((told, memory), (code, want), "{}", items[0]["spec"]);
        }
    }

    /// The request or target that leaves memory room is found by playing it, and never exceeds the limits.
    #[test]
    fn room_for_memory_is_what_the_pods_may_have() {
        let share = build::resource("memory", &build::utilization(80));
        let amount = build::resource("memory", &build::average("80Mi"));
        let limit = |limit: &str| json!({"limits": {"memory": limit}});
        let none = json!({});
        let request = Some("a memory request of 130Mi for app");
        let target = Some("a target of 110Mi");
        for (about, metric, resources, restarts, change, is_tight) in [
            ("a share", &share, none.clone(), 0, request, false),
            // A container cannot request more than its limit.
            ("below a limit", &share, limit("128Mi"), 0, None, false),
            ("at a limit", &share, limit("86Mi"), 0, None, true),
            ("restarted", &share, none.clone(), 3, request, true),
            // 78 × 4 of 104 are 3.
            ("an amount", &amount, none.clone(), 0, target, false),
            ("above the limit", &amount, limit("104Mi"), 0, None, false),
            ("at the limit", &amount, limit("86Mi"), 0, None, true),
            ("restarted at an amount", &amount, none, 3, None, true),
        ] {
            let items = restarted(metric, &resources, restarts);
            let all = found(&items);
            let room = all.iter().find_map(|it| match &it.facts {
                Facts::WithinTolerance(it) => it.memory.as_ref().map(|it| it.room.clone()),
                _ => None,
            });
            let room = room.unwrap_or_else(|| panic!("{about}: {all:?}"));
            let found = room.found.map(|it| it.adjustment.name("memory"));
            assert_eq!(
                (found.as_deref(), room.is_tight),
                (change, is_tight),
                "{about}"
            );
        }
    }

    /// Pods that have restarted may have lacked memory: a request alone would not give them more.
    #[test]
    fn memory_of_pods_that_have_restarted() {
        let share = build::resource("memory", &build::utilization(80));
        let amount = build::resource("memory", &build::average("80Mi"));
        for (metric, restarts, want) in [
            (
                &share,
                0,
                "for 3 instead of 4, raise the memory request of app to 130Mi (predict --request), or scale on load.",
            ),
            (
                &share,
                1,
                "for 3 instead of 4, raise memory request and limit of app (predict --request), or scale on load.",
            ),
            (
                &amount,
                0,
                "for 3 instead of 4, raise the target (predict --target memory=110Mi), or scale on load.",
            ),
            (
                &amount,
                1,
                "for fewer, raise the memory limit and the target, or scale on load.",
            ),
        ] {
            let items = restarted(metric, &json!({}), restarts);
            let advice = said(Code::WithinTolerance, &items).advice.text();
            assert_eq!(advice, format!("Pods seldom free memory: {want}"));
        }
    }
}
