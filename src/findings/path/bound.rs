//! A bound that decides, and the evidence against the metric that asks for more or less.

use super::{limit, winner};
use crate::apimachinery::quantity::Format;
use crate::engine::decision::LimitStep;
use crate::findings::measures::Counter;
use crate::findings::prelude::*;
use crate::keda;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::{MetricAnswer, Snapshot};

/// A bound, or a direction that is disabled, that decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The bound.
    pub bound: i32,
    /// The count proposed without it.
    pub asked: i32,
    /// The time since which the status has reported the same bound.
    pub since: Option<Timestamp>,
    /// Whether scaling in that direction is disabled as well.
    pub is_disabled: bool,
    /// The metric with the highest proposal, by index in the spec.
    pub metric: Option<usize>,
    /// Current over target of that metric.
    pub ratio: Option<f64>,
    /// The evidence against that metric, if it is not a resource.
    pub suspicion: Option<Suspicion>,
}

/// A reason to distrust a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Suspicion {
    /// It seems to be a counter.
    Counter(Counter),
    /// The pods use this share of the cpu that they request: hardly any if the metric asks for more replicas, or
    /// more than that if it asks for fewer.
    Cpu(f64),
    /// The API reports this value below 0, in milli-units, and the controller takes the sum as the largest number.
    Negative(i64),
}

/// Returns the bound of a side, if it decides.
pub(crate) fn bound(case: &Case<'_>, side: Direction) -> Option<Bound> {
    let reason = side.words().reason;
    let limited = limit(case).filter(|it| it.reason == reason)?;
    Some(Bound::of(case, &limited))
}

impl Bound {
    /// Returns the bound of a limit that decides.
    pub(super) fn of(case: &Case<'_>, limited: &LimitStep) -> Self {
        let status = &case.snapshot.hpa.status;
        let since = status
            .condition("ScalingLimited")
            .filter(|it| it.reason == limited.reason);
        let winner = winner(case);
        Self {
            bound: limited.result,
            asked: limited.desired,
            is_disabled: limited.is_only_disabled(case),
            since: since.and_then(|condition| condition.last_transition_time),
            metric: winner.map(|(metric, _)| metric.index),
            ratio: winner.map(|(_, proposal)| proposal.ratio),
            suspicion: winner
                .and_then(|(metric, proposal)| suspicion(case, metric, proposal.ratio)),
        }
    }

    /// Returns the metric with the highest proposal, if it asks for more although it is not above its target.
    pub(super) fn below(&self) -> Option<usize> {
        let is_below = self.ratio.is_some_and(|ratio| ratio <= 1.0);
        self.metric.filter(|_| is_below && self.asked > self.bound)
    }

    /// Returns advice to let the pass follow its metrics, or the advice on the metric with the highest proposal if
    /// there is evidence against it.
    pub(super) fn unless_doubtful(
        &self,
        about: &About<'_>,
        follow: impl FnOnce() -> Advice,
    ) -> Advice {
        match (self.below(), self.metric, self.suspicion) {
            (Some(metric), ..) => Remedy::LookAtCounted
                .says(format!(
                    "Look at the counted pods first: {} is not above its target.",
                    about.label(metric)
                ))
                .with_all(about.list_pods("")),
            (None, Some(metric), Some(Suspicion::Counter(counter))) if counter != Counter::Ages => {
                follow().and(&format!(
                    "If {} is a counter{}, use a rate of it instead.",
                    about.label(metric),
                    counter.why()
                ))
            }
            (None, Some(metric), Some(suspicion)) => suspected(about, metric, suspicion),
            _ => follow(),
        }
    }
}

/// Whether advice may name another bound: a maximum is rarely raised by more than this factor at once, and none is
/// named that the metrics exceed as well.
pub(super) fn is_near(bound: i32, other: i32) -> bool {
    other <= bound.saturating_mul(4)
}

/// Returns the evidence against a metric that is neither a resource nor the replicas that a schedule asks for.
pub(super) fn suspicion(case: &Case<'_>, step: &MetricStep, ratio: f64) -> Option<Suspicion> {
    if step.is_resource() || keda::is_cron(case.spec(step)) {
        return None;
    }
    if let Some(value) = taken_as_largest(case, step) {
        return Some(Suspicion::Negative(value));
    }
    let counter = Counter::of(case, step);
    if counter == Some(Counter::Ages) {
        return counter.map(Suspicion::Counter);
    }
    // Less is known by a name.
    by_cpu(case, ratio).or(counter.map(Suspicion::Counter))
}

/// Returns the use of cpu, if it contradicts a metric of this ratio.
fn by_cpu(case: &Case<'_>, ratio: f64) -> Option<Suspicion> {
    /// The shares of the requests below which pods count as idle, and above which they count as busy.
    const IDLE: f64 = 0.1;
    const BUSY: f64 = 1.0;
    let share = case.cpu_share()?;
    let speaks = if ratio > 1.0 {
        share <= IDLE
    } else {
        share >= BUSY
    };
    speaks.then_some(Suspicion::Cpu(share))
}

/// Returns a negative value of a metric whose sum the controller therefore takes as the largest number.
fn taken_as_largest(case: &Case<'_>, step: &MetricStep) -> Option<i64> {
    let total = step.proposal()?.total.as_ref()?.milli_value();
    let MetricAnswer::External(values) = case.snapshot.metrics.get(step.index)? else {
        return None;
    };
    let mut below = values.iter().map(|it| it.value).filter(|value| *value < 0);
    below.next().filter(|_| total == i64::MAX)
}

/// Returns the lowest number that `minReplicas` may have.
pub(crate) fn least(case: &Case<'_>) -> i32 {
    let Snapshot {
        hpa, controller, ..
    } = case.snapshot;
    let may_be_zero = controller.gates[FeatureGate::HPAScaleToZero]
        && hpa.scaled_object().is_none()
        && hpa.spec.metrics.iter().any(MetricSpec::is_total);
    i32::from(!may_be_zero)
}

/// Describes a bound that decides.
pub(crate) fn bounded(about: &About<'_>, bound: &Bound, side: Direction) -> Vec<String> {
    let mut evidence = Vec::new();
    if let (Some(metric), Some(ratio)) = (bound.metric, bound.ratio) {
        evidence.push(format!(
            "{} is at {} of its target.",
            about.label(metric),
            percent(ratio)
        ));
    }
    if let Some(since) = bound.since {
        evidence.push(format!(
            "The status has said so since {}.",
            time(about.now(), since)
        ));
    }
    evidence.extend(bound.metric.and_then(|metric| about.of_requests(metric)));
    evidence.extend(about.running(side));
    let owner = about.owner().filter(|_| side == Direction::Down);
    evidence.extend(owner.and_then(|owner| about.activity(owner)));
    evidence.extend(about.result(&format!("Without {}", side.words().bound)));
    evidence
}

/// Returns the advice on a bound that decides while another bound would change nothing.
pub(crate) fn leave(side: Direction) -> Advice {
    Remedy::Nothing.says(format!(
        "Leave it: with scaling disabled in this direction, another {} changes nothing.",
        side.words().bound
    ))
}

/// Returns the advice on a metric that there is evidence against.
pub(super) fn suspected(about: &About<'_>, metric: usize, suspicion: Suspicion) -> Advice {
    let label = about.label(metric);
    let why = match suspicion {
        Suspicion::Counter(counter) => return counter.advice(about, metric),
        Suspicion::Cpu(share) => format!(
            "the pods use {} of the cpu that they request.",
            percent(share)
        ),
        Suspicion::Negative(value) => format!(
            "the API reports {}, and the controller takes a sum below 0 as the largest number.",
            amount(value, Format::DecimalSI)
        ),
    };
    let advice = Remedy::LookAtMetric.says(format!("Look at {label} first: {why}"));
    advice.with(about.ask(metric))
}

impl About<'_> {
    /// Returns a sentence about the bound of the running HPA, if another one is assumed.
    pub(super) fn running(&self, side: Direction) -> Option<String> {
        let field = side.words().bound;
        let bound = self.pass.input.as_observed().hpa.spec.bound(side);
        self.assumes(field)
            .then(|| format!("The HPA itself has {field} {bound}."))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::build;
    use crate::findings::testing::{
        assuming, by_age, cpu, of_pods, queue, said, state, valued, view, with_containers,
        with_spec,
    };
    use crate::findings::{Code, FindingView, find};
    use crate::snapshot::hpa::HpaSpec;

    /// Returns the finding of a code in a state, if another spec than the running one is assumed.
    fn said_assuming(
        code: Code,
        items: &[serde_json::Value],
        assume: impl Fn(&mut HpaSpec),
    ) -> FindingView {
        let pass = assuming(items, |input| assume(&mut input.snapshot.hpa.spec));
        view(code, &pass, &find(&pass))
    }

    /// No command changes a bound that the running HPA does not have.
    #[test]
    fn a_bound_that_is_assumed() {
        let busy = state(&[cpu()], &["90m"; 4]);
        let disabled = json!({"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
        let disabled = with_spec(&busy, &disabled);
        let quick = json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}});
        let idle = with_spec(&state(&[cpu()], &["10m"; 4]), &quick);
        let text = said_assuming(Code::AtMax, &busy, |spec| spec.max_replicas = 4);
        assert_eq!(
            text.advice.text(),
            "Assume a higher maxReplicas if nodes can carry it (predict --max 8), or the cpu request of app to 240m if a pod can \
             carry more (predict --request)."
        );
        assert!(
            text.evidence
                .contains(&"The HPA itself has maxReplicas 20.".to_owned())
        );
        let of = |flags: &str| format!("kubectl hpa predict web -n default {flags}");
        assert_eq!(text.commands, [of("--max 8"), of("--request app=cpu=240m")]);
        let text = said_assuming(Code::AtMin, &idle, |spec| spec.min_replicas = Some(4));
        assert_eq!(text.advice.text(), "Nothing to do.");
        assert!(
            text.evidence
                .contains(&"The HPA itself has minReplicas 1.".to_owned())
        );
        assert_eq!(text.commands, Vec::<String>::new());
        let text = said_assuming(Code::DirectionDisabled, &disabled, |spec| {
            spec.max_replicas = 4;
        });
        assert_eq!(
            text.advice.text(),
            "If that is not meant, remove behavior.scaleUp.selectPolicy and assume a higher maxReplicas."
        );
        assert_eq!(text.commands.len(), 1, "{:?}", text.commands);
        // Only the other bound is assumed.
        let at_most = with_spec(&busy, &json!({"maxReplicas": 4}));
        let text = said_assuming(Code::AtMax, &at_most, |spec| spec.min_replicas = Some(2));
        assert_eq!(text.commands.len(), 3, "{:?}", text.commands);
        assert!(
            text.advice.text().starts_with("Raise maxReplicas if"),
            "{text:?}"
        );
    }

    /// If there is evidence against the metric, the bound is not what to change.
    #[test]
    fn what_speaks_against_the_metric_of_a_bound() {
        let of_queue = |value: &str, usage: &str| {
            let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
            let spec = json!({"minReplicas": 2, "maxReplicas": 5, "behavior": behavior});
            let items = state(&[queue(&build::average("1"))], &[usage; 4]);
            [with_spec(&items, &spec), vec![valued("queue", value)]].concat()
        };
        let named = |name: &str, values: [&str; 3]| {
            let items = by_age(&of_pods(name, "10", &values));
            with_spec(&items, &json!({"maxReplicas": 5}))
        };
        let served = |values: [&str; 3]| named("served", values);
        let request = |items: &[_], request: &str| {
            with_containers(items, &json!([build::requesting("app", request)]))
        };
        let raise = "Raise maxReplicas as far as nodes can carry it, or the target to 18 if a pod can carry more";
        let counter = "Use a rate of served if it is a counter: it rises with the age of a pod.";
        let (falls, alike) = (["90", "60", "10"], ["90"; 3]);
        for (code, items, want) in [
            (Code::AtMax, of_queue("90", "50m"), raise),
            (
                Code::AtMax,
                of_queue("90", "5m"),
                "Look at queue first: the pods use 5% of the cpu that they request.",
            ),
            (Code::AtMin, of_queue("1", "50m"), "Nothing to do."),
            (
                Code::AtMin,
                of_queue("1", "190m"),
                "Look at queue first: the pods use 190% of the cpu that they request.",
            ),
            (
                Code::AtMax,
                of_queue("-50", "50m"),
                "Look at queue first: the API reports -50, and the controller takes a sum below 0 as the largest number.",
            ),
            (
                Code::AtMin,
                request(&of_queue("1", "190m"), "0"),
                "Nothing to do.",
            ),
            (Code::AtMax, served(falls), counter),
            (Code::AtMax, named("served_bytes", falls), "Raise "),
            (Code::AtMax, named("websocket_connections", falls), "Raise "),
            (
                Code::AtMax,
                named("served_total", falls),
                "Use a rate of served_total if it is a counter: it rises with the age of a pod.",
            ),
            (
                Code::AtMax,
                request(&named("served_total", alike), "10"),
                "Look at served_total first: the pods use ",
            ),
            (
                Code::AtMax,
                named("served_total", alike),
                "Raise maxReplicas as far as nodes can carry it, or the target to 68 if a pod can carry more \
                 (predict --target). If served_total is a counter, as its name says, use a rate of it instead.",
            ),
            // Not in the order of their ages, or not far apart.
            (Code::AtMax, served(["60", "90", "10"]), "Raise "),
            (Code::AtMax, served(["90", "80", "70"]), "Raise "),
        ] {
            let advice = said(code, &items).advice.text();
            assert!(advice.starts_with(want), "{advice}");
        }
    }
}
