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
    use crate::findings::testing::{found, said, state, with, with_spec};
    use crate::findings::{Code, Facts};

    /// A target of 80%: fewer pods cannot share memory that each of them needs.
    #[test]
    fn memory_that_each_pod_needs_keeps_the_replicas() {
        let state = |metrics: &[Value], cpu: &str, usages: [&str; 4]| {
            memory(metrics, cpu, usages, &json!({}))
        };
        let memory = || build::resource("memory", &build::utilization(80));
        let cpu = || build::resource("cpu", &build::utilization(50));
        let kept = |items: &[Value]| {
            found(items).into_iter().find_map(|it| match it.facts {
                Facts::Rounding(it) => Some((Code::Rounding, it.memory)),
                Facts::WithinTolerance(it) => Some((Code::WithinTolerance, it.memory)),
                _ => None,
            })
        };
        for (about, items, code, want) in [
            // At 60%, 3 pods are enough, and 78 is 60% of 130.
            (
                "within",
                state(&[memory()], "10m", ["78Mi"; 4]),
                Code::WithinTolerance,
                Some((60, false, "130Mi")),
            ),
            // A little above the target it is no different.
            (
                "above",
                state(&[memory()], "10m", ["82Mi"; 4]),
                Code::WithinTolerance,
                Some((60, false, "140Mi")),
            ),
            // 70 of 120 is 58%, which is 0.725 of 80%: 2.9 of 4 pods.
            (
                "rounded",
                state(&[memory()], "10m", ["70Mi"; 4]),
                Code::Rounding,
                Some((60, false, "120Mi")),
            ),
            (
                "along with cpu",
                state(&[memory(), cpu()], "10m", ["70Mi"; 4]),
                Code::Rounding,
                Some((60, true, "120Mi")),
            ),
            (
                "shared",
                state(&[memory()], "10m", ["78Mi", "78Mi", "96Mi", "60Mi"]),
                Code::WithinTolerance,
                None,
            ),
            (
                "with cpu",
                state(&[memory(), cpu()], "40m", ["70Mi"; 4]),
                Code::Rounding,
                None,
            ),
            // Cpu needs 3 of the 4.
            (
                "next to busy pods",
                state(&[memory(), cpu()], "30m", ["70Mi"; 4]),
                Code::Rounding,
                None,
            ),
            (
                "at the minimum",
                with_spec(
                    &state(&[memory()], "10m", ["78Mi"; 4]),
                    &json!({"minReplicas": 4}),
                ),
                Code::WithinTolerance,
                None,
            ),
        ] {
            let (told, memory) = kept(&items).unwrap();
            let memory = memory.map(|it| {
                let request = it.room.found.map(|it| it.adjustment.name("memory"));
                let advice = said(told, &items).advice.text();
                (it.at, advice.contains("drop the metric"), request)
            });
            let want = want.map(|(one, others, request)| {
                (
                    one,
                    others,
                    Some(format!("a memory request of {request} for app")),
                )
            });
            assert_eq!((told, memory), (code, want), "{about}");
        }
    }

    /// The request or target that leaves memory room is found by playing it, and never exceeds the limits.
    #[test]
    fn room_for_memory_is_what_the_pods_may_have() {
        let share = || build::resource("memory", &build::utilization(80));
        let amount = || build::resource("memory", &build::average("80Mi"));
        let limit = |limit: &str| json!({"limits": {"memory": limit}});
        let restarted = |items: &[Value]| {
            let statuses = json!([{"name": "app", "restartCount": 3}]);
            with(
                items,
                "Pod",
                &json!({"status": {"containerStatuses": statuses}}),
            )
        };
        let of =
            |metric: Value, resources: &Value| memory(&[metric], "10m", ["78Mi"; 4], resources);
        let none = json!({});
        for (about, items, change, is_tight) in [
            (
                "a share",
                of(share(), &none),
                Some("a memory request of 130Mi for app"),
                false,
            ),
            // A container cannot request more than its limit.
            ("below a limit", of(share(), &limit("128Mi")), None, false),
            ("at a limit", of(share(), &limit("86Mi")), None, true),
            (
                "restarted",
                restarted(&of(share(), &none)),
                Some("a memory request of 130Mi for app"),
                true,
            ),
            // 78 × 4 of 104 are 3.
            (
                "an amount",
                of(amount(), &none),
                Some("a target of 110Mi"),
                false,
            ),
            (
                "an amount above the limit",
                of(amount(), &limit("104Mi")),
                None,
                false,
            ),
            (
                "an amount at the limit",
                of(amount(), &limit("86Mi")),
                None,
                true,
            ),
            (
                "an amount, restarted",
                restarted(&of(amount(), &none)),
                None,
                true,
            ),
        ] {
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
        let told = |metric: Value, restarts: i32| {
            let container = build::with(
                build::requesting("app", "100m"),
                &json!({"resources": {"requests": {"memory": "100Mi"}}}),
            );
            let statuses = json!([{"name": "app", "restartCount": restarts}]);
            let pod = json!({"spec": {"containers": [container]}, "status": {"containerStatuses": statuses}});
            let items = with(&state(&[metric], &["10m"; 4]), "Pod", &pod);
            let containers = json!([{"name": "app", "usage": {"memory": "78Mi"}}]);
            let items = with(&items, "PodMetrics", &json!({ "containers": containers }));
            let advice = said(Code::WithinTolerance, &items).advice.text();
            advice.split_once("free memory: ").unwrap().1.to_owned()
        };
        let share = || build::resource("memory", &build::utilization(80));
        let amount = || build::resource("memory", &build::average("80Mi"));
        for (metric, restarts, want) in [
            (
                share(),
                0,
                "for 3 instead of 4, raise the memory request of app to 130Mi (predict --request), or scale on load.",
            ),
            (
                share(),
                1,
                "for 3 instead of 4, raise memory request and limit of app (predict --request), or scale on load.",
            ),
            (
                amount(),
                0,
                "for 3 instead of 4, raise the target (predict --target memory=110Mi), or scale on load.",
            ),
            (
                amount(),
                1,
                "for fewer, raise the memory limit and the target, or scale on load.",
            ),
        ] {
            assert_eq!(told(metric, restarts), want);
        }
    }
}
