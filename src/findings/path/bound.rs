//! A bound that decides, and what speaks against the metric that asks for more or less.

use jiff::Timestamp;

use super::{Limited, limit, winner};
use crate::engine::decision::MetricStep;
use crate::findings::{About, Advice, Case, Command, Remedy};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricSpec;
use crate::words::{percent, time};

/// A bound that decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The bound.
    pub bound: i32,
    /// The count proposed without it.
    pub asked: i32,
    /// Since when the status has said the same.
    pub since: Option<Timestamp>,
    /// Whether scaling in that direction is disabled as well.
    pub is_disabled: bool,
    /// The metric with the highest proposal, by index in the spec.
    pub metric: Option<usize>,
    /// Current over target of that metric.
    pub ratio: Option<f64>,
    /// What speaks against that metric, if it is no resource.
    pub suspicion: Option<Suspicion>,
}

/// What speaks against a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Suspicion {
    /// It is the higher the older a pod is.
    Counter,
    /// The pods use this part of the cpu that they request: hardly any where it asks for more replicas, or more than
    /// that where it asks for fewer.
    Cpu(f64),
}

/// Returns a bound that decides, for the controller's reason.
pub(crate) fn bound(case: &Case<'_>, is: &str) -> Option<Bound> {
    let limited = limit(case).filter(|it| it.reason == is)?;
    let is_disabled = limited.is_only_disabled(case);
    let Limited {
        desired: asked,
        result,
        ..
    } = limited;
    let status = &case.snapshot().hpa.status.conditions;
    let since = status
        .iter()
        .find(|it| it.type_ == "ScalingLimited" && it.reason == is);
    let winner = winner(case);
    Some(Bound {
        bound: result,
        asked,
        is_disabled,
        since: since.and_then(|condition| condition.last_transition_time),
        metric: winner.map(|(metric, _)| metric.index),
        ratio: winner.map(|(_, proposal)| proposal.ratio),
        suspicion: winner.and_then(|(metric, proposal)| suspicion(case, metric, proposal.ratio)),
    })
}

/// Returns what speaks against a metric that is no resource.
fn suspicion(case: &Case<'_>, step: &MetricStep, ratio: f64) -> Option<Suspicion> {
    /// Shares of the requests that say that pods are idle, or busy.
    const IDLE: f64 = 0.1;
    const BUSY: f64 = 1.0;
    if step.is_resource() {
        return None;
    }
    if ratio > 1.0 && rises_with_age(case, step) {
        return Some(Suspicion::Counter);
    }
    let share = case.cpu_share()?;
    let speaks = if ratio > 1.0 {
        share <= IDLE
    } else {
        share >= BUSY
    };
    speaks.then_some(Suspicion::Cpu(share))
}

/// Whether the values of a metric are in the order of the ages of its pods, and far apart, as those of a counter are
/// that begins at 0 with each pod.
fn rises_with_age(case: &Case<'_>, step: &MetricStep) -> bool {
    let values = step
        .pods
        .iter()
        .filter_map(|row| Some((case.pod_of(row).created?, row.value?)));
    let mut values: Vec<(Timestamp, i64)> = values.collect();
    values.sort_by_key(|(created, _)| *created);
    let falls = |pair: &[(Timestamp, i64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
    values.len() >= 3
        && values.windows(2).all(falls)
        && values[0].1 / 2 >= values[values.len() - 1].1
}

/// Returns the lowest number that `minReplicas` may have.
pub(crate) fn least(case: &Case<'_>) -> i32 {
    let Snapshot {
        hpa, controller, ..
    } = case.snapshot();
    let may_be_zero = controller.gates.scale_to_zero
        && hpa.scaled_object().is_none()
        && hpa.spec.metrics.iter().any(MetricSpec::is_total);
    i32::from(!may_be_zero)
}

/// Words a bound that decides.
pub(crate) fn bounded(about: &About<'_>, bound: &Bound, field: &str) -> Vec<String> {
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
    evidence.extend(about.running(field));
    let owner = about
        .hpa()
        .scaled_object()
        .filter(|_| field == "minReplicas");
    evidence.extend(owner.and_then(|owner| about.activity(about.object_of(owner)?)));
    evidence.extend(
        about
            .without()
            .map(|without| format!("Without {field}: {without}.")),
    );
    evidence
}

/// Returns what to do about a bound that decides while another bound would change nothing.
pub(crate) fn leave(field: &str) -> Advice {
    Remedy::Nothing.says(format!(
        "Leave it: with scaling disabled in this direction, another {field} changes nothing."
    ))
}

/// Returns what to do about a bound if something speaks against the metric.
pub(crate) fn suspected(about: &About<'_>, bound: &Bound) -> (Advice, Vec<Command>) {
    let Some(metric) = bound.metric else {
        return (Advice::default(), Vec::new());
    };
    let label = about.label(metric);
    let advice = match bound.suspicion {
        Some(Suspicion::Counter) => Remedy::UseRate.says(format!(
            "Use a rate of {label}: like a counter, it rises with the age of a pod."
        )),
        Some(Suspicion::Cpu(share)) => Remedy::LookAtMetric.says(format!(
            "Look at {label} first: the pods use {} of the cpu that they request.",
            percent(share)
        )),
        None => Advice::default(),
    };
    (advice, vec![about.ask(metric)])
}

impl About<'_> {
    /// Returns a sentence about the bound of the running HPA, if another one is assumed.
    pub(crate) fn running(&self, field: &str) -> Option<String> {
        let running = &self
            .pass
            .input
            .observed
            .as_ref()
            .filter(|_| self.assumes(field))?
            .spec;
        let own = match field {
            "maxReplicas" => running.max_replicas,
            _ => running.min_replicas.unwrap_or(1),
        };
        Some(format!("The HPA itself has {field} {own}."))
    }
}
