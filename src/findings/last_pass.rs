//! The last pass, according to its status and events.

use jiff::Timestamp;

use super::metrics::miss::RefusedRight;
use super::{About, Case};
use crate::apimachinery::metadata::Condition;
use crate::engine::decision::{Direction, MetricStep};
use crate::engine::metrics::unable_to_get;
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::{Hpa, HpaStatus};
use crate::snapshot::input::Input;

/// The condition that says whether the metrics could be read.
pub(crate) const ACTIVE: &str = "ScalingActive";

/// Why something was read that the last pass could not read.
pub(crate) const READ_SINCE: &str = "What this answer is made from may have been read with other rights, or the right was granted since.";

/// The replicas that a pass found and left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastPass {
    /// The replicas that it found.
    pub(crate) from: i32,
    /// The replicas that it decided on.
    pub(crate) to: i32,
    /// Whether it scaled.
    pub(crate) scaled: bool,
}

impl LastPass {
    /// Reads the replicas from a status, given the current count; `None` if there was no pass, or if the pass could not
    /// read the scale, which leaves the count unchanged.
    pub(crate) fn of(status: &HpaStatus, now: i32) -> Option<Self> {
        let (from, to) = (status.current_replicas, status.desired_replicas);
        let able = status.condition("AbleToScale").map_or("", |it| &*it.reason);
        // Statuses of autoscaling/v1 may lack the condition.
        let scaled = from != to && (able == "SucceededRescale" || able.is_empty() && now == to);
        let any = !status.is_empty() && able != "FailedGetScale";
        any.then_some(Self { from, to, scaled })
    }

    /// Returns the replicas that it left.
    pub(crate) fn left(self) -> i32 {
        if self.scaled { self.to } else { self.from }
    }
}

/// A rescale that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReportedRescale {
    /// The time of the rescale, up to a second later.
    pub(crate) time: Timestamp,
    /// The replicas since then.
    pub(crate) size: i32,
    /// The direction in which it scaled, if the reason states it.
    pub(crate) is_up: Option<bool>,
}

impl Event {
    /// Whether the event reports that the controller has scaled the target of an HPA.
    pub(crate) fn is_rescale_of(&self, hpa: &Hpa) -> bool {
        self.is_about(hpa) && self.reason == "SuccessfulRescale"
    }

    /// Returns the direction in which the controller has scaled, according to the event's reason; `None` for other
    /// reasons.
    pub(crate) fn is_up(&self) -> Option<bool> {
        let (_, reason) = self.message.split_once("; reason: ")?;
        let is_below = || reason.ends_with(" below target").then_some(false);
        reason
            .ends_with(" above target")
            .then_some(true)
            .or_else(is_below)
    }

    /// Returns the bound beyond which the controller found the replicas, if it has corrected them to that bound.
    pub(crate) fn corrects(&self) -> Option<Direction> {
        let (_, reason) = self.message.split_once("; reason: ")?;
        match reason {
            "Current number of replicas above Spec.MaxReplicas" => Some(Direction::Up),
            "Current number of replicas below Spec.MinReplicas" => Some(Direction::Down),
            _ => None,
        }
    }

    /// Returns the replicas to which the controller has scaled.
    pub(crate) fn new_size(&self) -> Option<i32> {
        self.message
            .strip_prefix("New size: ")?
            .split(';')
            .next()?
            .parse()
            .ok()
    }
}

impl<'p> Case<'p> {
    /// Whether the status that was read is the last pass's, judging by the input: the controller wrote it, and has not
    /// scaled since.
    pub(crate) fn has_last_status(&self) -> bool {
        let input = &self.pass.input;
        let hpa = &input.as_observed().hpa;
        let scaled = |it: &Event| it.is_rescale_of(hpa) && it.last > hpa.written.status;
        !hpa.written.by_us && !input.evidence.events.iter().any(scaled)
    }

    /// Returns a condition in which the last pass says that the controller could not read something.
    fn failed_in_last_pass(&self, type_: &str) -> Option<&'p Condition> {
        let status = &self.pass.input.as_observed().hpa.status;
        let condition = status.condition(type_)?;
        let is_failed = condition.status == "False" && condition.reason.starts_with("FailedGet");
        (is_failed && self.has_last_status()).then_some(condition)
    }

    /// Returns a condition in which the last pass says that the controller lacks a right to read something. The rights
    /// of other readers prove nothing about the controller's.
    pub(crate) fn refused_in_last_pass(&self, type_: &str) -> Option<&'p Condition> {
        let condition = self.failed_in_last_pass(type_)?;
        RefusedRight::read(&condition.message).map(|_| condition)
    }

    /// Returns what an API told the last pass about a metric that the pass could not read, by its condition.
    pub(crate) fn failed_metric_in_last_pass(&self, step: &MetricStep) -> Option<&'p str> {
        // A pass that does not come to the metrics leaves the condition as it was.
        let hpa = &self.pass.input.as_observed().hpa;
        if hpa.status.condition("AbleToScale")?.reason != "SucceededGetScale" {
            return None;
        }
        let condition = self.failed_in_last_pass(ACTIVE)?;
        let is_its = |own: &&MetricStep| {
            // The controller that wrote it may be of another version than the assumed one.
            let source = self.spec(own).source();
            let asked = [true, false].map(|words| unable_to_get(source, &hpa.namespace, words));
            condition.reason == format!("FailedGet{}Metric", own.type_)
                && asked.iter().any(|own| condition.message.contains(own))
        };
        // Two metrics may only differ in what the error lacks. The usage of all containers is one answer.
        let mut named = self.metrics().filter(is_its);
        let first = named.next()?;
        if named.next().is_some() && !step.is_resource() {
            return None;
        }
        let (_, said) = condition.message.split_once(" metrics API: ")?;
        (first.index == step.index).then_some(said)
    }
}

impl About<'_> {
    /// Describes what a condition of the last status says.
    pub(crate) fn last_says(&self, condition: &str) -> Option<String> {
        let status = &self.pass.input.as_observed().hpa.status;
        let it = status.condition(condition)?;
        let since = self.since(it);
        Some(format!(
            "{} is {}{since}: {}.",
            it.type_, it.status, it.message
        ))
    }
}

impl Input {
    /// Returns the rescales that the controller's events report, the oldest first, and whether the list is complete: a
    /// repeated event only has the times of its first and last occurrence.
    pub(crate) fn rescales(&self) -> (Vec<ReportedRescale>, bool) {
        let mut rescales: Vec<ReportedRescale> = Vec::new();
        for event in self.rescale_events() {
            let Some(size) = event.new_size() else {
                continue;
            };
            let is_up = event.is_up();
            let first = event.first.filter(|_| event.count > 1);
            let times = [first, event.last].into_iter().flatten();
            rescales.extend(times.map(|time| ReportedRescale { time, size, is_up }));
        }
        // Within a second, the controller only scales further in the same direction.
        rescales.sort_by_key(|rescale| {
            let further = match rescale.is_up {
                Some(false) => -i64::from(rescale.size),
                _ => rescale.size.into(),
            };
            (rescale.time, further)
        });
        let is_complete = self.rescale_events().all(|event| event.count <= 2);
        (rescales, is_complete)
    }

    /// Returns the events about rescales of the HPA.
    pub(crate) fn rescale_events(&self) -> impl Iterator<Item = &Event> {
        let hpa = &self.snapshot.hpa;
        let events = self.evidence.events.iter();
        events.filter(move |event| event.is_rescale_of(hpa))
    }

    /// Returns when the controller has scaled to this many replicas, according to its events.
    pub(crate) fn scaled_to(&self, replicas: i32) -> impl Iterator<Item = Timestamp> {
        let own = self.rescale_events();
        own.filter(move |event| event.new_size() == Some(replicas))
            .filter_map(|event| event.last)
    }
}
