//! The finding `memory-baseline`.

use super::are_alike;
use crate::apimachinery::quantity::Format;
use crate::findings::prelude::*;
use crate::findings::targets::{Headroom, ProposalOf, room};

/// Each pod uses more memory than the target and about as much as the others, although pods were added or the replicas
/// have been at `maxReplicas` for a long time.
///
/// Raise the memory request, or a target that is an amount, or drop the metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryBaseline {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The lowest usage of a pod, in milli-units.
    pub least: i64,
    /// The highest.
    pub most: i64,
    /// The target for a pod; the highest if requests differ.
    pub target: i64,
    /// The number of pods.
    pub pods: usize,
    /// The start of the oldest pod.
    pub oldest: Timestamp,
    /// The start of the newest pod.
    pub newest: Timestamp,
    /// The change with which the metric would propose no more than the current replicas or, at the maximum, fewer.
    pub room: Headroom,
}

impl Kind for MemoryBaseline {
    fn find(case: &Case<'_>) -> Option<Finding> {
        /// A pod that has been running for this long has reached the memory that it needs.
        const SETTLED: SignedDuration = SignedDuration::from_mins(10);
        let memory = |step: &&MetricStep| step.name == "memory" && step.is_resource();
        let step = case.metrics().find(memory)?;
        // A target in another unit is above or below the usage of all pods.
        if case.is_suspect(step.index) {
            return None;
        }
        let proposal = step
            .proposal()
            .filter(|it| it.ratio > 1.0 + step.tolerance.up)?;
        let counts = proposal.counted?;
        if counts.ready < 2 || counts.unready + counts.missing + counts.strangers > 0 {
            return None;
        }
        let target = &step.target;
        let (mut usages, mut targets, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        let now = case.snapshot.now;
        for (row, _) in case.counted(step) {
            // Assumed usage, which is alike, shows nothing.
            let observed = case.observed_pod_of(step, row);
            let Some(start) = observed.and_then(Pod::known_start) else {
                continue;
            };
            if now.duration_since(start) < SETTLED {
                continue;
            }
            let usage = row.value?;
            let wanted = match (
                &target.average_value,
                target.average_utilization,
                row.request,
            ) {
                (Some(average), ..) => average.milli_value(),
                (None, Some(share), Some(request)) if request > 0 => {
                    (request as f64 * f64::from(share) / 100.0) as i64
                }
                _ => return None,
            };
            if usage as f64 <= wanted as f64 * (1.0 + step.tolerance.up) {
                return None;
            }
            usages.push(usage);
            targets.push(wanted);
            starts.push(start);
        }
        let (least, most) = (*usages.iter().min()?, *usages.iter().max()?);
        let (oldest, newest) = (*starts.iter().min()?, *starts.iter().max()?);
        // Later pods have not relieved the earlier ones, or no more pods have been allowed for long.
        let have_not_helped = now.duration_since(oldest) >= now.duration_since(newest) * 2;
        let current = case.decision.replicas_before()?;
        let is_at_max = current >= case.snapshot.hpa.spec.max_replicas;
        if usages.len() < 2 || !are_alike(least, most) || !(have_not_helped || is_at_max) {
            return None;
        }
        // At the maximum, one replica fewer is needed: otherwise the replicas would stay at the maximum.
        let wanted = if is_at_max { current - 1 } else { current };
        let room = room(case, step, wanted, ProposalOf::Pass)?;
        let without = room
            .found
            .as_ref()
            .map(|it| case.without(|snapshot| it.adjustment.apply(snapshot, step.index)));
        let facts = MemoryBaseline {
            metric: step.index,
            least,
            most,
            target: *targets.iter().max()?,
            pods: usages.len(),
            oldest,
            newest,
            room,
        };
        let decides = case.decides(step);
        Some(Finding::new(Severity::Warning, decides, facts).without(without))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let of = |milli: i64| amount(milli, Format::BinarySI);
        let (least, most, target) = (of(self.least), of(self.most), of(self.target));
        let usage = if least == most {
            least
        } else {
            format!("{least} to {most}")
        };
        match about.target_of(self.metric).utilization() {
            Some(percent) => {
                format!("pods use {usage} each; {percent}% of the request is {target}")
            }
            None => {
                let pods = count(self.pods, "pod");
                format!("{pods} use {usage} of memory each, target {target}")
            }
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let Self { oldest, newest, .. } = *self;
        let now = about.now();
        let ages = if oldest == newest {
            format!("They were started {} ago.", distance(oldest, now))
        } else {
            format!(
                "The oldest was started {} ago, the newest {} ago.",
                distance(oldest, now),
                distance(newest, now)
            )
        };
        let is_later = now.duration_since(oldest) >= now.duration_since(newest) * 2;
        let so = if is_later {
            ": later pods have not relieved the earlier ones"
        } else {
            ""
        };
        let mut evidence = vec![format!("{ages} All use about the same{so}.")];
        evidence.extend(about.of_requests(self.metric));
        let found = self.room.found.as_ref();
        let raised = found.map(|it| format!("With {}", it.adjustment.name("memory")));
        evidence.extend(raised.and_then(|raised| about.result(&raised)));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let instead = match about.hpa.spec.metrics.len() {
            1 => "scale on load",
            _ => "drop the memory metric",
        };
        self.room.advice(about, self.metric, "", instead)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::find;
    use crate::findings::requests::testing::{of_set, owned, vpa, with_another};
    use crate::findings::testing::{
        only_of, pass, queue, state, table, with, with_containers, with_one, with_pod, with_spec,
    };
    use crate::pass::Pass;

    #[test]
    fn memory_that_more_pods_do_not_lower() {
        let used =
            |usage: &str| json!({"containers": [{"name": "app", "usage": {"memory": usage}}]});
        let requesting = |request: &str| json!([{"name": "app", "resources": {"requests": {"memory": request}}}]);
        let pods = |usages: [&str; 2], newest: &str, replicas_most: i32| {
            let metric = build::resource("memory", &build::utilization(80));
            let items = with_containers(&state(&[metric], &["1m", "1m"]), &requesting("100Mi"));
            let items = with_one(&items, "PodMetrics", "web-0", &used(usages[0]));
            let items = with_one(&items, "PodMetrics", "web-1", &used(usages[1]));
            let items = with_pod(&items, "web-1", &json!({"status": {"startTime": newest}}));
            with_spec(&items, &json!({"maxReplicas": replicas_most}))
        };
        let (early, late, just) = (
            "2026-11-21T05:00:00Z",
            "2026-11-21T05:40:00Z",
            "2026-11-21T05:55:00Z",
        );
        let same = ["95Mi", "96Mi"];
        let third = {
            let started = json!({"status": {"startTime": just}});
            let items = with_another(&pods(same, late, 20), &started);
            let usage = build::with(build::pod_metrics("web-2", "1m"), &used("88Mi"));
            [items, vec![usage]].concat()
        };
        let on_delete = json!({"type": "OnDelete"});
        let partition = json!({"rollingUpdate": {"partition": 2}});
        let most = pods(same, early, 2);
        let set = |request: &str, strategy: &Value| of_set(&most, &requesting(request), strategy);
        let by_hand =
            |request: &str| of_set(&pods(same, late, 20), &requesting(request), &on_delete);
        let metrics = [
            build::resource("memory", &build::utilization(80)),
            queue(&build::average("10")),
        ];
        let both = with_spec(&by_hand("120Mi"), &json!({ "metrics": metrics }));
        let with_queue = [both, vec![build::queue(&["40"])]].concat();
        let injected = owned(&most, &json!([{"name": "web"}]));
        let outdated = json!({"status": {"replicas": 2, "updatedReplicas": 0}});
        // 86% of 110Mi is within 10% of 80%, 39% of 240Mi is enough for 1 pod, and three pods at 51% of 180Mi for 2.
        let states = [
            ("where a later pod uses as much", pods(same, late, 20)),
            ("at the most replicas", most.clone()),
            ("of pods that have to be deleted", set("100Mi", &on_delete)),
            (
                "of pods that have to be deleted, with a template that requests more",
                set("150Mi", &on_delete),
            ),
            (
                "of pods that have to be deleted, with a template that requests enough",
                set("300Mi", &on_delete),
            ),
            ("below a partition", set("100Mi", &partition)),
            (
                "whose request a VerticalPodAutoscaler sets",
                [most.clone(), vec![vpa("Auto")]].concat(),
            ),
            ("of an injected container", injected.clone()),
            (
                "of a container of an earlier template",
                with(&injected, "Deployment", &outdated),
            ),
            ("where all pods are as old", pods(same, early, 20)),
            ("where a pod of three is new", third),
            ("where a pod is new", pods(same, just, 20)),
            (
                "where a later pod uses less",
                pods(["120Mi", "60Mi"], late, 20),
            ),
            ("within the tolerance", pods(["85Mi", "86Mi"], late, 20)),
            ("where the template requests enough", by_hand("120Mi")),
            (
                "where it does, with a metric that proposes more",
                with_queue,
            ),
            ("where the template requests too little", by_hand("90Mi")),
        ];
        // A share of the request is stated without the number of pods.
        for (about, items) in [&states[0], &states[1], &states[7]] {
            let (facts, _) = only_of::<MemoryBaseline>(items).expect(about);
            assert_eq!(facts.pods, 2, "{about}");
        }
        // What is assumed shows nothing, unless it is what was observed.
        for (factor, is_found) in [(1, true), (2, false)] {
            let mut input = pass(&states[0].1).input;
            let mut observed = input.snapshot.clone();
            for item in &mut observed.pod_metrics {
                item.containers[0].usage[0].1 *= factor;
            }
            input.observed = Some(observed.into());
            let found = find(&Pass::run(input));
            let is_there = found.iter().any(|it| it.code() == Code::MemoryBaseline);
            assert_eq!(is_there, is_found, "{factor} times as much was observed");
        }
        insta::assert_snapshot!(table(Code::MemoryBaseline, states), @r"
        where a later pod uses as much: warning, explains, without it 2 -> 2
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - The oldest was started 60m ago, the newest 20m ago. All use about the same: later pods have not relieved the earlier ones.
            - With a memory request of 110Mi for app: 2 replicas.
            > For 2 instead of 3, raise the memory request of app to 110Mi (predict --request), or scale on load.
            $ kubectl hpa predict web -n default --request app=memory=110Mi
        at the most replicas: warning, explains, without it 1 -> 2
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - They were started 60m ago. All use about the same.
            - With a memory request of 240Mi for app: a proposal of 1, and 2 replicas after stabilization and limits.
            > For 1 instead of 2, raise the memory request of app to 240Mi (predict --request), or scale on load.
            $ kubectl hpa predict web -n default --request app=memory=240Mi
        of pods that have to be deleted: warning, explains, without it 1 -> 2
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - They were started 60m ago. All use about the same.
            - With a memory request of 240Mi for app: a proposal of 1, and 2 replicas after stabilization and limits.
            > For 1 instead of 2, raise the memory request of app to 240Mi (predict --request), or scale on load. If the template changes, delete the pods one by one: the update strategy is OnDelete.
            $ kubectl hpa predict web -n default --request app=memory=240Mi
        of pods that have to be deleted, with a template that requests more: as of pods that have to be deleted
        of pods that have to be deleted, with a template that requests enough: none
        below a partition: warning, explains, without it 1 -> 2
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - They were started 60m ago. All use about the same.
            - With a memory request of 240Mi for app: a proposal of 1, and 2 replicas after stabilization and limits.
            > For 1 instead of 2, raise the memory request of app to 240Mi, or scale on load. If the template changes, lower partition (2) to 0 in the update strategy.
        whose request a VerticalPodAutoscaler sets: warning, explains
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - They were started 60m ago. All use about the same.
            > For fewer, scale on load: a VerticalPodAutoscaler sets the memory request of app.
        of an injected container: warning, explains
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - They were started 60m ago. All use about the same.
            > For fewer, scale on load: app is injected.
        of a container of an earlier template: as at the most replicas
        where all pods are as old: none
        where a pod of three is new: warning, explains, without it 2 -> 2
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - The oldest was started 60m ago, the newest 20m ago. All use about the same: later pods have not relieved the earlier ones.
            - With a memory request of 180Mi for app: 2 replicas.
            > For 2 instead of 4, raise the memory request of app to 180Mi (predict --request), or scale on load.
            $ kubectl hpa predict web -n default --request app=memory=180Mi
        where a pod is new: none
        where a later pod uses less: none
        within the tolerance: none
        where the template requests enough: none
        where it does, with a metric that proposes more: none
        where the template requests too little: warning, explains, without it 2 -> 2
            pods use 95Mi to 96Mi each; 80% of the request is 80Mi
            - The oldest was started 60m ago, the newest 20m ago. All use about the same: later pods have not relieved the earlier ones.
            - With a memory request of 110Mi for app: 2 replicas.
            > For 2 instead of 3, raise the memory request of app to 110Mi (predict --request), or scale on load. If the template changes, delete the pods one by one: the update strategy is OnDelete.
            $ kubectl hpa predict web -n default --request app=memory=110Mi
        ");
    }
}
