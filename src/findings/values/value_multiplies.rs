//! The finding `value-multiplies`.

use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::Because;
use crate::findings::measures::{Counter, falls_with_replicas, says_per_pod};
use crate::findings::metrics::metric_failing::fallen_back;
use crate::findings::prelude::*;
use crate::findings::targets::retarget;
use crate::keda;
use crate::snapshot::hpa::MetricTarget;

/// An Object or External metric has a target of type Value, which multiplies the ready pods by value over target in
/// each pass. A value that does not fall as replicas are added, such as the length of a queue, multiplies them without
/// end.
///
/// Use a target of type AverageValue, which divides the value by the target. If the metric is a counter, use a rate of
/// it.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueMultiplies {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The value.
    pub current: Quantity,
    /// The target.
    pub target: Quantity,
    /// The current proposal, then one for each later pass, with a ready pod for each replica that the previous one
    /// proposed.
    pub proposals: Vec<i32>,
    /// The proposal with the same number as a target per replica.
    pub average: i32,
    /// Whether the metric is a time, a share or an average, judging by its name or query: more replicas should lower
    /// it.
    pub is_average: bool,
    /// Why the metric seems to be a counter, if it does.
    pub counter: Option<Counter>,
}

impl Kind for ValueMultiplies {
    fn find(case: &Case<'_>) -> Option<Finding> {
        /// The number of passes to look ahead.
        const AHEAD: usize = 3;
        /// The number of replicas at which the search ends.
        const MOST: i32 = 1000;
        /// A metric that falls as replicas are added is rarely this far above its target.
        const FAR: f64 = 2.0;
        let step = case.decision.winner().filter(|step| step.is_total())?;
        let target = step
            .target
            .value
            .clone()
            .filter(|_| step.target.average_value.is_none())?;
        let proposal = step.proposal()?;
        let grows = proposal.replicas > case.decision.replicas_before()?;
        if proposal.because != Because::RatioTimesReady || proposal.ratio <= 1.0 || !grows {
            return None;
        }
        let current = proposal.current.value.clone()?;
        let metric = step.index;
        // A target in another unit says nothing about each replica, and KEDA's fallback falls with the pods.
        if case.is_suspect(metric) || fallen_back(case, step).is_some() {
            return None;
        }
        let max = case.snapshot.hpa.spec.max_replicas.min(MOST);
        let mut proposals = vec![proposal.replicas];
        while let Some(&last) = proposals.last()
            && proposals.len() <= AHEAD
            && last < max
        {
            // By then, each replica has a ready pod, and only those.
            let multiplied = (proposal.ratio * f64::from(last)).ceil();
            proposals.push(case.rules.replicas(multiplied));
        }
        let divided = case.decide(retarget(metric, MetricTarget::per_replica(target.clone())));
        let average = divided.metric(metric)?.proposal()?.replicas;
        // At the maximum, the growth has reached the point where only the bound ends it.
        let is_far =
            proposal.ratio >= FAR || proposal.replicas > case.snapshot.hpa.spec.max_replicas;
        let is_average = falls_with_replicas(&step.name) || says_per_pod(case, step);
        let facts = ValueMultiplies {
            metric,
            current,
            target,
            proposals,
            average,
            is_average,
            counter: Counter::of(case, step),
        };
        let severity = if is_far && !is_average {
            Severity::Warning
        } else {
            Severity::Info
        };
        Some(Finding::explaining(severity, facts).without(case.result(case.snapshot, &divided)))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let first = self.proposals.first().copied().unwrap_or_default();
        format!(
            "{} proposes {} now, and more in each pass while it stays at {}",
            about.label(self.metric),
            count(first, "replica"),
            about.amount(self.metric, &self.current)
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let [current, target] =
            [&self.current, &self.target].map(|it| about.amount(self.metric, it));
        let mut evidence = vec![format!(
            "The target {target} is for the value in all, so each pass multiplies the ready pods by {current} / {target}."
        )];
        let pairs = self.proposals.windows(2);
        let further: Vec<String> = pairs
            .map(|pair| format!("at {} it proposes {}", count(pair[0], "replica"), pair[1]))
            .collect();
        if !further.is_empty() {
            let further = list(&further);
            evidence.push(format!("If the value stays at {current}, {further}."));
        }
        if !self.is_average {
            evidence.push(format!(
                "As a target per replica (AverageValue), {target} proposes {}.",
                count(self.average, "replica")
            ));
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(counter) = self.counter {
            return counter.advice(about, self.metric);
        }
        if self.is_average {
            return Remedy::Nothing
                .says("Nothing to do if it falls as replicas are added, as a time or an average should.")
                .with(about.ask(self.metric));
        }
        let used = about.average_value(self.metric, &self.target);
        let text = if keda::is_cron(about.spec(self.metric)) {
            format!("Use {used}.")
        } else {
            format!("If it is a total, such as a queue length, use {used}.")
        };
        Remedy::UseAverageValue.says(text).with_all(
            about.patch_target(self.metric, MetricTarget::per_replica(self.target.clone())),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::testing::{external, of_keda, said, state, table, with_spec};

    /// KEDA parses the threshold of a trigger as a number, not as a quantity.
    #[test]
    fn a_threshold_is_a_number() {
        for (target, value, number) in [
            ("5k", "9k", "5000"),
            ("500m", "900m", "0.5"),
            ("75", "225", "75"),
        ] {
            let items = external("queue", &build::value(target), value, 3);
            let told = |items: &[Value]| said(Code::ValueMultiplies, items).advice.text();
            let own = format!("averageValue: {target}.");
            assert!(told(&items).contains(&own), "{}", told(&items));
            let of_trigger = told(&of_keda(&items, &json!({})));
            let want = format!("a threshold of {number} for queue ");
            assert!(of_trigger.contains(&want), "{of_trigger}");
        }
    }

    /// The value of a `cron` trigger is a number of replicas, and it has no threshold.
    #[test]
    fn a_cron_trigger_has_no_threshold() {
        let name = "s0-cron-UTC-08xx1-5-018xx1-5";
        let labels = json!({"scaledobject.keda.sh/name": "web"});
        let selector = json!({"external": {"metric": {"selector": {"matchLabels": labels}}}});
        let metric = build::with(build::external(name, &build::value("1")), &selector);
        let value = json!({"metricName": name, "metricLabels": labels, "value": "5"});
        let values = vec![build::external_values([value])];
        let items = of_keda(
            &[state(&[metric], &["50m"; 3]), values].concat(),
            &json!({}),
        );
        let text = said(Code::ValueMultiplies, &items).advice.text();
        let want = format!(
            "Use metricType: AverageValue for {name} in spec.triggers of ScaledObject/web."
        );
        assert_eq!(text, want);
    }

    #[test]
    fn a_value_that_multiplies() {
        let total = |value: &str| external("queue", &build::value("75"), value, 3);
        let named = |name: &str| external(name, &build::value("75"), "225", 3);
        let most = json!({"maxReplicas": 3});
        let states = [
            ("three times the target", total("225")),
            ("a little more than the target", total("90")),
            (
                "as a time, which falls with the replicas",
                named("request_duration_p95"),
            ),
            (
                "as an average of each pod, which falls with the replicas",
                named("avg_requests_per_pod"),
            ),
            (
                "as operations, which need not fall with the replicas",
                named("pending_operations"),
            ),
            (
                "as a share, which falls with the replicas",
                named("gpu_util"),
            ),
            (
                "as a share after an acronym, which falls with the replicas",
                named("CPUUtilization"),
            ),
            ("as a counter", named("http_requests_total")),
            (
                "as a rate, which does not fall with the replicas",
                named("requests-per-second"),
            ),
            (
                "as a queue, which does not fall with the replicas",
                named("wait_queue"),
            ),
            (
                "a little more than the target, where only the maximum ends it",
                with_spec(&total("90"), &most),
            ),
            (
                "in another unit",
                external("queue", &build::value("200m"), "200", 1),
            ),
            ("less than the target", total("25")),
            (
                "an average",
                external("queue", &build::average("75"), "225", 3),
            ),
        ];
        insta::assert_snapshot!(table(Code::ValueMultiplies, states), @r#"
        three times the target: warning, explains, without it 3 -> 3
            queue proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            - As a target per replica (AverageValue), 75 proposes 3 replicas.
            > If it is a total, such as a queue length, use averageValue: 75.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0","value":{"external":{"metric":{"name":"queue"},"target":{"averageValue":"75","type":"AverageValue"}},"type":"External"}}]'
        a little more than the target: info, explains, without it 2 -> 3
            queue proposes 4 replicas now, and more in each pass while it stays at 90
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 90 / 75.
            - If the value stays at 90, at 4 replicas it proposes 5, at 5 replicas it proposes 6 and at 6 replicas it proposes 8.
            - As a target per replica (AverageValue), 75 proposes 2 replicas.
            > If it is a total, such as a queue length, use averageValue: 75.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0","value":{"external":{"metric":{"name":"queue"},"target":{"averageValue":"75","type":"AverageValue"}},"type":"External"}}]'
        as a time, which falls with the replicas: info, explains, without it 3 -> 3
            request_duration_p95 proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            > Nothing to do if it falls as replicas are added, as a time or an average should.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/request_duration_p95
        as an average of each pod, which falls with the replicas: info, explains, without it 3 -> 3
            avg_requests_per_pod proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            > Nothing to do if it falls as replicas are added, as a time or an average should.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/avg_requests_per_pod
        as operations, which need not fall with the replicas: warning, explains, without it 3 -> 3
            pending_operations proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            - As a target per replica (AverageValue), 75 proposes 3 replicas.
            > If it is a total, such as a queue length, use averageValue: 75.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"pending_operations"},{"op":"replace","path":"/spec/metrics/0","value":{"external":{"metric":{"name":"pending_operations"},"target":{"averageValue":"75","type":"AverageValue"}},"type":"External"}}]'
        as a share, which falls with the replicas: info, explains, without it 3 -> 3
            gpu_util proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            > Nothing to do if it falls as replicas are added, as a time or an average should.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/gpu_util
        as a share after an acronym, which falls with the replicas: info, explains, without it 3 -> 3
            CPUUtilization proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            > Nothing to do if it falls as replicas are added, as a time or an average should.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/CPUUtilization
        as a counter: warning, explains, without it 3 -> 3
            http_requests_total proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            - As a target per replica (AverageValue), 75 proposes 3 replicas.
            > Use a rate of http_requests_total if it is a counter, as its name says.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/http_requests_total
        as a rate, which does not fall with the replicas: warning, explains, without it 3 -> 3
            requests-per-second proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            - As a target per replica (AverageValue), 75 proposes 3 replicas.
            > If it is a total, such as a queue length, use averageValue: 75.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"requests-per-second"},{"op":"replace","path":"/spec/metrics/0","value":{"external":{"metric":{"name":"requests-per-second"},"target":{"averageValue":"75","type":"AverageValue"}},"type":"External"}}]'
        as a queue, which does not fall with the replicas: warning, explains, without it 3 -> 3
            wait_queue proposes 9 replicas now, and more in each pass while it stays at 225
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 225 / 75.
            - If the value stays at 225, at 9 replicas it proposes 27.
            - As a target per replica (AverageValue), 75 proposes 3 replicas.
            > If it is a total, such as a queue length, use averageValue: 75.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"wait_queue"},{"op":"replace","path":"/spec/metrics/0","value":{"external":{"metric":{"name":"wait_queue"},"target":{"averageValue":"75","type":"AverageValue"}},"type":"External"}}]'
        a little more than the target, where only the maximum ends it: warning, explains, without it 2 -> 3
            queue proposes 4 replicas now, and more in each pass while it stays at 90
            - The target 75 is for the value in all, so each pass multiplies the ready pods by 90 / 75.
            - As a target per replica (AverageValue), 75 proposes 2 replicas.
            > If it is a total, such as a queue length, use averageValue: 75.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/external/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0","value":{"external":{"metric":{"name":"queue"},"target":{"averageValue":"75","type":"AverageValue"}},"type":"External"}}]'
        in another unit: none
        less than the target: none
        an average: none
        "#);
    }
}
