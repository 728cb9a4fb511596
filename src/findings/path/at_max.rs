//! The finding `at-max`.

use super::bound::{Bound, Suspicion, bound, bounded, is_near, leave};
use super::{is_limited, proposed, target, tried};
use crate::apimachinery::quantity::Quantity;
use crate::findings::advice::IF_TEMPLATE;
use crate::findings::measures::Counter;
use crate::findings::prelude::*;
use crate::findings::requests::request_too_small::changes_containers;
use crate::findings::requests::{mean, total};
use crate::findings::targets::{Adjusted, Adjustment, adjustments, requester};
use crate::findings::wording::exact;
use crate::numbers::format_of;
use crate::snapshot::evidence::EVENTS_KEPT;
use crate::words::{amount_of, one_or_many};

/// The metrics propose more than `maxReplicas`.
///
/// Raise `maxReplicas` if nodes can carry it, or what the metrics are compared with, a request or a target, if a pod
/// can carry more. If the metric is a counter, use a rate of it.
#[derive(Debug, Clone, PartialEq)]
pub struct AtMax {
    /// The bound.
    pub bound: Bound,
    /// The amounts of the metrics that propose more, the highest proposal first.
    pub counted: Vec<CountedMetric>,
    /// The highest proposal of another metric, with its index in the spec, if `maxReplicas` allows it.
    pub beside: Option<(usize, i32)>,
    /// The changes, if found, with which those metrics propose fewer than `maxReplicas`, or else at most that many.
    pub adjusted: Option<Adjusted>,
    /// The last time that most replicas were removed at once, if the load has since returned.
    pub dropped: Option<Dropped>,
}

impl Kind for AtMax {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let bound = bound(case, Direction::Up)?;
        let without = case.without(|snapshot| snapshot.hpa.spec.max_replicas = i32::MAX);
        let severity = if bound.is_disabled {
            Severity::Info
        } else {
            Severity::Warning
        };
        let (mut beyond, others): (Vec<_>, Vec<_>) = case
            .metrics()
            .filter_map(|step| Some((step, step.proposal()?.replicas)))
            .partition(|(_, proposal)| *proposal > bound.bound);
        beyond.sort_by_key(|(_, proposal)| std::cmp::Reverse(*proposal));
        let above: Vec<&MetricStep> = beyond.into_iter().map(|(step, _)| step).collect();
        let is_fixed = case.snapshot.hpa.spec.min() >= bound.bound;
        // What a metric that was not read proposes is unknown with any target.
        let combination = case.decision.combination();
        let is_open = combination.is_some_and(|it| it.unread > 0);
        // A pod without a value is counted as if it used its request, whatever that is.
        let lacks_values = above.iter().any(|step| {
            let counted = step.proposal().and_then(|it| it.counted);
            counted.is_some_and(|it| it.missing + it.unready > 0)
        });
        // Below the maximum there is room for a load that rises.
        let below = Some(bound.bound.saturating_sub(1)).filter(|_| !lacks_values);
        let adjusted = below
            .into_iter()
            .chain([bound.bound])
            .filter(|_| !is_fixed && !is_open)
            .find_map(|most| adjustments(case, &above, most))
            .filter(|it| {
                !it.needs_template || !above.iter().any(|step| changes_containers(case, step))
            });
        let facts = AtMax {
            bound,
            counted: above
                .iter()
                .filter_map(|step| counted_by(case, step))
                .collect(),
            beside: others
                .into_iter()
                .map(|(step, it)| (step.index, it))
                .max_by_key(|it| it.1),
            adjusted,
            dropped: dropped(case),
        };
        Some(Finding::explaining(severity, facts).without(without))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        if self.bound.is_disabled {
            return about.any(Code::DirectionDisabled);
        }
        let metric = self.bound.metric;
        // No pod keeps the template's requests.
        let is_set = |it: &Facts| {
            matches!(it, Facts::RequestsDifferFromTemplate(it)
            if it.is_from_vpa() && metric == Some(it.metric))
        };
        about
            .prior(self.bound.asked, self.bound.bound, metric)
            .or_else(|| about.any(Code::AboveMax))
            .or_else(|| about.first(|it| is_set(&it.facts)))
    }

    fn is_in_verdict(&self, decision: &Decision) -> bool {
        is_limited(decision, LimitStep::is_bound)
    }

    fn summary(&self, about: &About<'_>) -> String {
        let Bound { asked, bound, .. } = self.bound;
        // A doubtful number is not explained.
        let is_told = self.bound.below().is_none() && about.finding.follows.is_none();
        let first = self.counted.first().filter(|_| is_told);
        let counted = first.map_or_else(String::new, |it| {
            let [total, per_pod] = it.amounts(about);
            format!(" ({total} at {per_pod} per pod)")
        });
        format!(
            "{}{counted}, and maxReplicas is {bound}",
            proposed(about, asked)
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence: Vec<String> = self.counted.iter().map(|it| it.sentence(about)).collect();
        if let Some((metric, proposal)) = self.beside {
            evidence.push(format!(
                "{} alone proposes {proposal}.",
                about.label(metric)
            ));
        }
        evidence.extend(bounded(about, &self.bound, Direction::Up));
        // The remedy, with its numbers, may be another finding's.
        if self.is_sound() && about.finding.follows.is_none() {
            evidence.extend(self.lever(about).map(|lever| lever.effect));
            if self.dropped.is_some() && about.hpa.spec.behavior.is_none() {
                let why = "Without behavior, nothing limits how many replicas go at once.";
                evidence.push(why.to_owned());
            }
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if self.bound.is_disabled {
            return leave(Direction::Up);
        }
        self.bound.unless_doubtful(about, || self.raise(about))
    }
}

/// The amounts that a metric counts, in absolute terms and in milli-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedMetric {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The total.
    pub total: i64,
    /// The target for a pod; the mean if requests differ.
    pub per_pod: i64,
    /// The number of pods that use the total; `None` if the metric is not about pods.
    pub pods: Option<usize>,
    /// The mean of the requests that the target is a percentage of, and whether they are all equal.
    pub request: Option<(i64, bool)>,
}

/// Replicas that were removed in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The replicas before.
    pub from: i32,
    /// The replicas after.
    pub to: i32,
    /// The time when it happened.
    pub at: Timestamp,
}

/// Returns the amounts of a metric, if they are known and can be divided by its target.
fn counted_by(case: &Case<'_>, step: &MetricStep) -> Option<CountedMetric> {
    let target = &step.target;
    let average = target.average_value.as_ref().map(Quantity::milli_value);
    if let (Some(total), Some(per_pod)) = (&step.proposal()?.total, average) {
        return Some(CountedMetric {
            metric: step.index,
            total: total.milli_value(),
            per_pod,
            pods: None,
            request: None,
        });
    }
    let pods = step.ready_rows().count();
    if pods == 0 {
        return None;
    }
    let (per_pod, request) = match average {
        Some(average) => (average, None),
        None if case.surroundings.invents_request(&step.name) => return None,
        None => {
            let request = mean(step.ready_rows().map(|row| row.request))?;
            let percent = target.average_utilization?;
            let per_pod = request.0.checked_mul(percent.into())? / 100;
            (per_pod, Some(request))
        }
    };
    Some(CountedMetric {
        metric: step.index,
        total: total(step.ready_rows().map(|row| row.value))?,
        per_pod,
        pods: Some(pods),
        request,
    })
}

/// Returns the last time that the controller removed most replicas at once and added some later, if events show it.
fn dropped(case: &Case<'_>) -> Option<Dropped> {
    /// Smaller drops are not worth mentioning.
    const SEVERAL: i32 = 4;
    let (rescales, _) = case.pass.input.rescales();
    let last = rescales
        .windows(2)
        .filter(|pair| pair[1].is_up == Some(false))
        .map(|pair| Dropped {
            from: pair[0].size,
            to: pair[1].size,
            at: pair[1].time,
        })
        .rfind(|it| it.to <= it.from / 2 && it.from.saturating_sub(it.to) >= SEVERAL)?;
    let has_returned = rescales.last()?.time > last.at;
    (has_returned && case.since(last.at)? <= EVENTS_KEPT).then_some(last)
}

impl CountedMetric {
    /// Returns the total, and the target for a pod.
    fn amounts(&self, about: &About<'_>) -> [String; 2] {
        let spec = about.spec(self.metric);
        let format = match &about.target_of(self.metric).average_value {
            Some(average) => average.format(),
            None => format_of(spec.name()),
        };
        let of = |milli: i64| amount_of(Some(spec), &Quantity::from_milli(milli, format));
        [self.total, self.per_pod].map(of)
    }

    /// Describes the two amounts, with their sources.
    fn sentence(&self, about: &About<'_>) -> String {
        let spec = about.spec(self.metric);
        let [total, per_pod] = self.amounts(about);
        let Some(pods) = self.pods else {
            return format!(
                "{} is {total} in all, at {per_pod} per pod.",
                about.label(self.metric)
            );
        };
        let uses = one_or_many(pods, "uses", "use");
        let pods = count(pods, "pod");
        let resource = if spec.is_resource() {
            format!(" of {}", spec.name())
        } else {
            String::new()
        };
        let per_pod = match self.request {
            Some((request, is_same)) => {
                let request = amount(request, format_of(spec.name()));
                let mean = if is_same { "" } else { " on average" };
                let share = target(about.target_of(self.metric));
                format!("{share} of a request of {request} is {per_pod} per pod{mean}")
            }
            None => format!("The target is {per_pod} per pod"),
        };
        format!("{per_pod}, and {pods} {uses} {total}{resource}.")
    }
}

/// A change, other than a higher maximum, with which the metrics propose fewer.
struct Lever {
    /// The value to raise, worded to follow an alternative.
    act: String,
    /// The effect of raising it.
    effect: String,
    /// The first words on what has to follow if the template changes.
    then: Option<&'static str>,
    command: Option<Command>,
}

impl AtMax {
    /// Whether there is no evidence against the metrics.
    fn is_sound(&self) -> bool {
        let Bound {
            is_disabled,
            suspicion,
            ..
        } = self.bound;
        let is_trusted = matches!(
            suspicion,
            None | Some(Suspicion::Counter(Counter::Name | Counter::Query))
        );
        !is_disabled && self.bound.below().is_none() && is_trusted
    }

    /// Whether the requests of the target's template solve the problem once all pods have them.
    fn template_is_enough(&self) -> bool {
        let adjusted = self.adjusted.as_ref();
        adjusted.is_some_and(|it| it.changes.is_empty())
    }

    fn lever(&self, about: &About<'_>) -> Option<Lever> {
        let Adjusted {
            changes,
            proposal,
            needs_template,
        } = self.adjusted.as_ref()?;
        let (mut what, mut values) = (Vec::new(), Vec::new());
        let mut then = self.template_is_enough().then_some("Or");
        for (metric, adjustment) in changes {
            match adjustment {
                Adjustment::Request { container, request } => {
                    let (resource, of) =
                        (about.spec(*metric).name(), requester(container.as_deref()));
                    what.push(format!("the {resource} request of {of} to {request}"));
                    values.push(adjustment.name(resource));
                    then = Some(IF_TEMPLATE);
                }
                Adjustment::Target(target) => {
                    let amount = target.amount();
                    let of_trigger = amount.and_then(|it| about.trigger_number(*metric, it));
                    let to = of_trigger.unwrap_or_else(|| exact(target));
                    what.push(format!("the target to {to}"));
                    values.push(format!("a target of {to} for {}", about.label(*metric)));
                }
            }
        }
        if *needs_template {
            let others = if changes.is_empty() { "" } else { "other " };
            values.push(format!("the {others}requests of the template"));
        }
        let flags = changes.iter().map(|(metric, it)| it.flags(about, *metric));
        let flags: Option<Vec<String>> = flags.collect();
        // The pods still lack the requests of the template.
        let flags = flags.filter(|_| !needs_template).map(|it| it.join(" "));
        // The value is stated, and the name of the metric is in the command.
        let flag = flags.as_deref().and_then(|it| it.split(' ').next());
        let hint = flag.map(|flag| about.try_it(flag));
        Some(Lever {
            act: format!(
                "{} if a pod can carry more{}",
                list(&what),
                hint.unwrap_or_default()
            ),
            effect: format!("With {}, the metrics propose {proposal}.", list(&values)),
            then,
            command: flags.map(|flags| about.predict(&flags)),
        })
    }

    /// Returns the advice if there is no evidence against the metrics: to raise the maximum, or the request or target
    /// that they are compared with.
    fn raise(&self, about: &About<'_>) -> Advice {
        let Bound { asked, bound, .. } = self.bound;
        let raise = if about.assumes("maxReplicas") {
            "assume a higher maxReplicas".to_owned()
        } else {
            format!("raise {}", about.field("maxReplicas"))
        };
        let flags = format!("--max {asked}");
        // No maximum is named that the metrics exceed as well.
        let (mut text, mut commands) = if is_near(bound, asked) {
            (
                format!("{raise} if nodes can carry it{}", about.try_it(&flags)),
                tried(about, &flags, &json!({ "maxReplicas": asked })),
            )
        } else {
            (format!("{raise} as far as nodes can carry it"), Vec::new())
        };
        let lever = self.lever(about);
        let then = lever.as_ref().and_then(|it| it.then);
        let is_enough = self.template_is_enough();
        if let Some(Lever { act, command, .. }) = lever.filter(|_| !is_enough) {
            text += &format!(", or {act}");
            commands.extend(command);
        }
        if is_enough && about.after_template("Or").is_none() {
            text += ", or let all pods take the requests of the template";
        }
        let mut advice = Remedy::RaiseMax.says(sentence(&text) + ".");
        if let Some(Dropped { from, to, at }) = self.dropped {
            advice = advice.and(&format!(
                "It went from {from} to {to} in one step {} ago: set scaleDown policies or a longer window ({}).",
                distance(at, about.now()),
                about.field_name("behavior")
            ));
        }
        advice.then = then;
        advice.with_all(commands)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::find_except;
    use crate::findings::metrics::testing::container;
    use crate::findings::path::testing::{memory, pods, queue_of};
    use crate::findings::pods::testing::{ready, unmeasured, unready_since, with_pods};
    use crate::findings::requests::testing::{limited, of_set};
    use crate::findings::testing::{
        cpu, external, found, of_keda, only_of, owned_by_keda, pass, queue, said, state, table,
        told, valued, view, with, with_containers, with_pod, with_spec, with_state,
    };

    fn most(items: &[Value], max: i32) -> Vec<Value> {
        with_spec(items, &json!({ "maxReplicas": max }))
    }

    /// If the bound decides only because of a problem that another finding reports, the bound is not the value to
    /// change.
    #[test]
    fn a_bound_decides_only_because_of_something_else() {
        let annotations = json!({"autoscaling.keda.sh/paused": "true"});
        let paused = json!({"metadata": { "annotations": annotations }});
        let busy = most(&pods("90m"), 7);
        let both = state(&[cpu(), queue(&build::average("75"))], &["50m"; 4]);
        let both = [both, vec![valued("queue", "900")]].concat();
        let denied =
            json!({"errors": [{"api": "resource", "denied": true, "message": "forbidden"}]});
        let unread = with_state(&both, &denied);
        let states = [
            ("of busy pods", busy.clone()),
            ("of KEDA", of_keda(&busy, &json!({}))),
            ("of KEDA that is paused", of_keda(&busy, &paused)),
            // 225 of 75 in all are three times as many pods, and 3 pods at 75 each.
            (
                "of a value that multiplies",
                most(&queue_of(&build::value("75"), "225", 4), 7),
            ),
            // A time falls with the replicas, so more of them may be what is needed.
            (
                "of a time",
                most(&external("latency", &build::value("75m"), "100m", 4), 5),
            ),
            // As an average, 900 needs 12 pods in any case.
            (
                "of an average",
                most(&queue_of(&build::average("75"), "900", 4), 7),
            ),
            ("next to one that you may not read", most(&unread, 5)),
            (
                "of the minimum",
                with_spec(&busy, &json!({"minReplicas": 4, "maxReplicas": 4})),
            ),
            (
                "of KEDA and the minimum",
                owned_by_keda(&with_spec(
                    &busy,
                    &json!({"minReplicas": 4, "maxReplicas": 4}),
                )),
            ),
            (
                "of another unit",
                most(&queue_of(&build::average("10m"), "40", 4), 5),
            ),
        ];
        for (about, items) in &states {
            let all = found(items);
            let bound = all.iter().find(|it| it.code() == Code::AtMax).unwrap();
            let first = bound.follows.unwrap_or(Code::AtMax);
            assert_eq!(all[0].code(), first, "{about}");
        }
        insta::assert_snapshot!(table(Code::AtMax, states), @r#"
        of busy pods: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 7
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 120m for app, the metrics propose 6.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 120m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
            $ kubectl hpa predict web -n default --request app=cpu=120m
        of KEDA: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 7
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 120m for app, the metrics propose 6.
            > Raise maxReplicaCount of ScaledObject/web if nodes can carry it (predict --max 8), or the cpu request of app to 120m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch scaledobject web -n default --type=merge -p '{"spec":{"maxReplicaCount":8}}'
            $ kubectl hpa predict web -n default --request app=cpu=120m
        of KEDA that is paused: info, explains, follows paused-by-keda, without it 8 -> 8
            the metrics propose 8, and maxReplicas is 7
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            > Follow the advice of paused-by-keda.
        of a value that multiplies: info, explains, follows value-multiplies, without it 12 -> 8
            the metrics propose 12, and maxReplicas is 7
            - queue is at 300% of its target.
            - Without maxReplicas: a proposal of 12, and 8 replicas after stabilization and limits.
            > Follow the advice of value-multiplies.
        of a time: warning, explains, without it 6 -> 6
            the metrics propose 6, and maxReplicas is 5
            - latency is at 133.3% of its target.
            - Without maxReplicas: 6 replicas.
            - With a target of 91m for latency, the metrics propose 4.
            > Raise maxReplicas if nodes can carry it (predict --max 6), or the target to 91m if a pod can carry more (predict --target).
            $ kubectl hpa predict web -n default --max 6
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":6}}'
            $ kubectl hpa predict web -n default --target latency=91m
        of an average: warning, explains, without it 12 -> 8
            the metrics propose 12 (900 at 75 per pod), and maxReplicas is 7
            - queue is 900 in all, at 75 per pod.
            - queue is at 300% of its target.
            - Without maxReplicas: a proposal of 12, and 8 replicas after stabilization and limits.
            - With a target of 150 for queue, the metrics propose 6.
            > Raise maxReplicas if nodes can carry it (predict --max 12), or the target to 150 if a pod can carry more (predict --target).
            $ kubectl hpa predict web -n default --max 12
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":12}}'
            $ kubectl hpa predict web -n default --target queue=150
        next to one that you may not read: warning, explains, without it 12 -> 8
            the metrics propose 12 (900 at 75 per pod), and maxReplicas is 5
            - queue is 900 in all, at 75 per pod.
            - queue is at 300% of its target.
            - Without maxReplicas: a proposal of 12, and 8 replicas after stabilization and limits.
            > Raise maxReplicas if nodes can carry it (predict --max 12).
            $ kubectl hpa predict web -n default --max 12
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":12}}'
        of the minimum: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            > Raise maxReplicas if nodes can carry it (predict --max 8).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
        of KEDA and the minimum: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            > Raise maxReplicaCount of ScaledObject/web if nodes can carry it (predict --max 8).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch scaledobject web -n default --type=merge -p '{"spec":{"maxReplicaCount":8}}'
        of another unit: info, explains, follows suspect-unit, without it 4000 -> 8
            the metrics propose 4000, and maxReplicas is 5
            - queue is 40 in all, at 0.01 per pod.
            - queue is at 100000% of its target.
            - Without maxReplicas: a proposal of 4000, and 8 replicas after stabilization and limits.
            > Follow the advice of suspect-unit.
        "#);
    }

    /// Pods that have only just started use most of what exceeds the maximum: their start is the thing to look at.
    #[test]
    fn a_maximum_beside_hot_pods_that_start_follows_them() {
        let pods = |young: &str| {
            let items = state(&[cpu()], &["90m", "90m", "300m", "300m"]);
            let started = build::with(unready_since(young), &ready("True", young));
            most(&with_pods(&items, &["web-2", "web-3"], &started), 4)
        };
        // Without them, two pods at 180% need 8 replicas of 4, which is still more than the maximum.
        assert_eq!(
            told(&pods("2026-11-21T05:58:45Z")),
            [
                (Code::StartingPods, Severity::Warning, None),
                (Code::AtMax, Severity::Info, Some(Code::StartingPods))
            ]
        );
        assert_eq!(told(&pods("2026-11-21T05:00:00Z"))[0].0, Code::AtMax);
    }

    /// The metrics' amounts are stated in absolute terms, and another change that is enough is found by playing it.
    #[test]
    fn a_maximum_is_not_the_only_lever() {
        let metrics = [
            build::resource("cpu", &build::utilization(50)),
            build::resource("memory", &build::utilization(80)),
        ];
        let two = |usage: &str| most(&memory(&metrics, "90m", [usage; 4], &json!({})), 6);
        let queued = state(&[queue(&build::average("10")), cpu()], &["50m"; 4]);
        // A percentage above 100 is of the request, and not of a limit that is higher, or that there is not.
        let of_limit = |limit: Value| {
            let busy = state(&[cpu()], &["150m"; 4]);
            most(&with_containers(&busy, &json!([limited(limit)])), 4)
        };
        let partly = {
            let both = json!([limited("1"), build::requesting("proxy", "50m")]);
            let usage = |name: &str| json!({"name": name, "usage": {"cpu": "100m"}});
            let used = json!({"containers": [usage("app"), usage("proxy")]});
            let items = with_containers(&state(&[cpu()], &["150m"; 4]), &both);
            most(&with(&items, "PodMetrics", &used), 4)
        };
        let more = json!({"spec": {"containers": [build::requesting("app", "140m")]}});
        let busy = most(&pods("90m"), 4);
        let to_delete = {
            let containers = json!([build::requesting("app", "100m")]);
            of_set(&busy, &containers, &json!({"type": "OnDelete"}))
        };
        let of_template = |items: &[Value], requests: Value, strategy: Value| {
            let containers = json!([{"name": "app", "resources": { "requests": requests }}]);
            let outdated = json!({"status": {"replicas": 4, "updatedReplicas": 0}});
            with(
                &of_set(items, &containers, &strategy),
                "StatefulSet",
                &outdated,
            )
        };
        let within = {
            let whole = json!({"spec": {"resources": {"requests": {"cpu": "200m"}}}});
            let items = state(&[container("app")], &["90m"; 4]);
            with(&most(&items, 4), "Pod", &whole)
        };
        let (more_cpu, more_memory) = (
            json!({"cpu": "400m"}),
            json!({"cpu": "100m", "memory": "400Mi"}),
        );
        let partition = json!({"rollingUpdate": {"partition": 2}});
        let states = [
            // 50% of 100m is 50m, of which 360m need 8; 360m of 240m is 75% for 2 pods, and within 10% of it for 3.
            ("of a utilization", busy.clone()),
            // 900 at 75 per pod are 12; at 180, they are 5 of at most 6.
            (
                "of an amount",
                most(&queue_of(&build::average("75"), "900", 4), 6),
            ),
            ("of one of two metrics", two("60Mi")),
            ("of two metrics", two("160Mi")),
            // No maximum is named that is more than four times the current one.
            (
                "of far more",
                most(&[queued, vec![build::queue(&["400"])]].concat(), 6),
            ),
            ("above the request", of_limit(json!("1"))),
            ("above the request, without a limit", of_limit(Value::Null)),
            ("above the request, at the limit", of_limit(json!("100m"))),
            ("above the request, with one of two limits", partly),
            (
                "above requests that differ",
                with_pod(&of_limit(Value::Null), "web-0", &more),
            ),
            ("of pods that have to be deleted", to_delete),
            (
                "of pods that a rollout gives enough",
                of_template(&busy, more_cpu.clone(), json!({})),
            ),
            (
                "of pods below a partition",
                of_template(&busy, json!({"cpu": "100m"}), partition.clone()),
            ),
            (
                "of pods below a partition, with a template that requests enough",
                of_template(&busy, more_cpu, partition),
            ),
            (
                "of two metrics, one of which a rollout ends",
                of_template(&two("160Mi"), more_memory, json!({})),
            ),
            ("within the request of the pod", within),
        ];
        insta::assert_snapshot!(table(Code::AtMax, states), @r#"
        of a utilization: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 240m for app, the metrics propose 3.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 240m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
            $ kubectl hpa predict web -n default --request app=cpu=240m
        of an amount: warning, explains, without it 12 -> 8
            the metrics propose 12 (900 at 75 per pod), and maxReplicas is 6
            - queue is 900 in all, at 75 per pod.
            - queue is at 300% of its target.
            - Without maxReplicas: a proposal of 12, and 8 replicas after stabilization and limits.
            - With a target of 180 for queue, the metrics propose 5.
            > Raise maxReplicas if nodes can carry it (predict --max 12), or the target to 180 if a pod can carry more (predict --target).
            $ kubectl hpa predict web -n default --max 12
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":12}}'
            $ kubectl hpa predict web -n default --target queue=180
        of one of two metrics: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 6
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - memory alone proposes 3.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 150m for app, the metrics propose 5.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 150m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
            $ kubectl hpa predict web -n default --request app=cpu=150m
        of two metrics: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 6
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - 80% of a request of 100Mi is 80Mi per pod, and 4 pods use 640Mi of memory.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 150m for app and a memory request of 160Mi for app, the metrics propose 5.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 150m and the memory request of app to 160Mi if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
            $ kubectl hpa predict web -n default --request app=cpu=150m --request app=memory=160Mi
        of far more: warning, explains, without it 40 -> 8
            the metrics propose 40 (400 at 10 per pod), and maxReplicas is 6
            - queue is 400 in all, at 10 per pod.
            - cpu alone proposes 4.
            - queue is at 1000% of its target.
            - Without maxReplicas: a proposal of 40, and 8 replicas after stabilization and limits.
            - With a target of 80 for queue, the metrics propose 5.
            > Raise maxReplicas as far as nodes can carry it, or the target to 80 if a pod can carry more (predict --target).
            $ kubectl hpa predict web -n default --target queue=80
        above the request: warning, explains, without it 12 -> 8
            the metrics propose 12 (600m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 600m of cpu.
            - cpu is at 300% of its target.
            - 150% is a share of the request, 100m per pod, not of the limit, 1.
            - Without maxReplicas: a proposal of 12, and 8 replicas after stabilization and limits.
            - With a cpu request of 400m for app, the metrics propose 3.
            > Raise maxReplicas if nodes can carry it (predict --max 12), or the cpu request of app to 400m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 12
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":12}}'
            $ kubectl hpa predict web -n default --request app=cpu=400m
        above the request, without a limit: warning, explains, without it 12 -> 8
            the metrics propose 12 (600m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 600m of cpu.
            - cpu is at 300% of its target.
            - 150% is a share of the request, 100m per pod; no limit is set.
            - Without maxReplicas: a proposal of 12, and 8 replicas after stabilization and limits.
            - With a cpu request of 400m for app, the metrics propose 3.
            > Raise maxReplicas if nodes can carry it (predict --max 12), or the cpu request of app to 400m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 12
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":12}}'
            $ kubectl hpa predict web -n default --request app=cpu=400m
        above the request, at the limit: warning, explains, without it 12 -> 8
            the metrics propose 12 (600m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 600m of cpu.
            - cpu is at 300% of its target.
            - Without maxReplicas: a proposal of 12, and 8 replicas after stabilization and limits.
            > Raise maxReplicas if nodes can carry it (predict --max 12).
            $ kubectl hpa predict web -n default --max 12
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":12}}'
        above the request, with one of two limits: warning, explains, without it 11 -> 8
            the metrics propose 11 (800m at 75m per pod), and maxReplicas is 4
            - 50% of a request of 150m is 75m per pod, and 4 pods use 800m of cpu.
            - cpu is at 266% of its target.
            - 133% is a share of the request, 150m per pod; not every container has a limit.
            - Without maxReplicas: a proposal of 11, and 8 replicas after stabilization and limits.
            - With a cpu request of 430m for proxy, the metrics propose 3.
            > Raise maxReplicas if nodes can carry it (predict --max 11), or the cpu request of proxy to 430m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 11
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":11}}'
            $ kubectl hpa predict web -n default --request proxy=cpu=430m
        above requests that differ: warning, explains, without it 11 -> 8
            the metrics propose 11 (600m at 55m per pod), and maxReplicas is 4
            - 50% of a request of 110m is 55m per pod on average, and 4 pods use 600m of cpu.
            - cpu is at 272% of its target.
            - 136% is a share of the request, 110m per pod on average; no limit is set.
            - Without maxReplicas: a proposal of 11, and 8 replicas after stabilization and limits.
            - With a cpu request of 400m for app, the metrics propose 3.
            > Raise maxReplicas if nodes can carry it (predict --max 11), or the cpu request of app to 400m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 11
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":11}}'
            $ kubectl hpa predict web -n default --request app=cpu=400m
        of pods that have to be deleted: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 240m for app, the metrics propose 3.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 240m if a pod can carry more (predict --request). If the template changes, delete the pods one by one: the update strategy is OnDelete.
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
            $ kubectl hpa predict web -n default --request app=cpu=240m
        of pods that a rollout gives enough: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With the requests of the template, the metrics propose 2.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or let all pods take the requests of the template.
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
        of pods below a partition: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 240m for app, the metrics propose 3.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 240m if a pod can carry more. If the template changes, lower partition (2) to 0 in the update strategy.
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
        of pods below a partition, with a template that requests enough: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With the requests of the template, the metrics propose 2.
            > Raise maxReplicas if nodes can carry it (predict --max 8). Or lower partition (2) to 0 in the update strategy.
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
        of two metrics, one of which a rollout ends: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 6
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - 80% of a request of 100Mi is 80Mi per pod, and 4 pods use 640Mi of memory.
            - cpu is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 150m for app and the other requests of the template, the metrics propose 5.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 150m if a pod can carry more.
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
        within the request of the pod: warning, explains, without it 8 -> 8
            the metrics propose 8 (360m at 50m per pod), and maxReplicas is 4
            - 50% of a request of 100m is 50m per pod, and 4 pods use 360m of cpu.
            - cpu in app is at 180% of its target.
            - Without maxReplicas: 8 replicas.
            - With a cpu request of 170m for app, the metrics propose 4.
            > Raise maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 170m if a pod can carry more (predict --request).
            $ kubectl hpa predict web -n default --max 8
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"maxReplicas":8}}'
            $ kubectl hpa predict web -n default --request app=cpu=170m
        "#);
    }

    /// A missing pod counts as one that uses its request, whatever that is, so only a huge request leaves room.
    #[test]
    fn a_request_leaves_no_room_where_pods_lack_values() {
        let items = most(&pods("90m"), 4);
        let lacking = unmeasured(items.clone(), "web-0");
        for (items, request) in [(items, "240m"), (lacking, "130m")] {
            let text = said(Code::AtMax, &items).advice.text();
            let raised = format!("the cpu request of app to {request} if");
            assert!(text.contains(&raised), "{text}");
        }
    }

    /// If the load returns after most replicas were removed at once, keeping some would have been better.
    #[test]
    fn a_drop_in_one_step_is_named_while_the_load_is_back() {
        let busy = most(&pods("90m"), 4);
        let (up, down) = ((4, "above", "05:50:00"), (1, "below", "05:40:00"));
        let early = (20, "above", "05:10:00");
        let long_ago = [(20, "above", "03:10:00"), (1, "below", "04:40:00"), up];
        for (about, sizes, want) in [
            ("it is back", &[early, down, up][..], Some((20, 1))),
            ("nothing was added since", &[early, down], None),
            ("3 are few", &[(4, "above", "05:10:00"), down, up], None),
            ("long ago", &long_ago, None),
            ("8 of 20", &[early, (12, "below", "05:40:00"), up], None),
        ] {
            let events = sizes.iter().map(|(size, side, time)| {
                let reason = format!("cpu resource utilization {side} target");
                build::rescale(*size, &reason, &format!("2026-11-21T{time}Z"))
            });
            let items: Vec<Value> = busy.iter().cloned().chain(events).collect();
            let (facts, _) = only_of::<AtMax>(&items).unwrap();
            assert_eq!(facts.dropped.map(|it| (it.from, it.to)), want, "{about}");
        }
    }

    /// A finding that is not shown is no reason to report a bound with a lower severity.
    #[test]
    fn a_bound_beside_a_finding_that_is_ignored() {
        let items = most(&queue_of(&build::value("75"), "225", 4), 7);
        let told = |ignored: &[Code]| {
            let pass = pass(&items);
            let bound = view(Code::AtMax, &pass, &find_except(&pass, ignored));
            (bound.severity, bound.advice.text())
        };
        let raise = "Raise maxReplicas if nodes can carry it (predict --max 12), or the target to 150 if a pod can carry \
                     more (predict --target)."
            .to_owned();
        let follow = "Follow the advice of value-multiplies.".to_owned();
        assert_eq!(told(&[]), (Severity::Info, follow.clone()));
        assert_eq!(told(&[Code::WithinTolerance]), (Severity::Info, follow));
        assert_eq!(told(&[Code::ValueMultiplies]), (Severity::Warning, raise));
    }
}
