//! Reasons why the last status differs from the one that this pass would write. A reason is only given with
//! evidence; a difference without a reason is reported as such. Times of the API are whole seconds.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    ComparisonRow, DifferenceCode, DifferenceReason, Moment, SampleTimes, StatusItem, list_of,
};

use crate::apimachinery::metadata::Condition;
use crate::calendar::Calendar;
use crate::engine::decision::{MetricStep, StabilizeStep, Step};
use crate::findings::last_pass::LastPass;
use crate::outlook::{AtBound, Range};
use crate::pass::Pass;
use crate::snapshot::MetricAnswer;
use crate::snapshot::hpa::HpaStatus;
use crate::snapshot::input::Input;
use crate::snapshot::metric::PUBLISHED_WITHIN;
use crate::snapshot::pod::Pod;
use crate::version::FeatureGate;
use crate::words::{count, distance, list};

/// The items that a reason may change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BearsOn {
    All,
    /// These metrics, and everything that follows from them.
    Metrics(Vec<usize>),
    /// The effects of stabilization and rate limits.
    Limits,
    /// The reasons of these conditions.
    Conditions(Vec<&'static str>),
}

impl BearsOn {
    pub(super) fn includes(&self, row: &ComparisonRow<'_>) -> bool {
        match (self, row.item, row.index) {
            (Self::All, ..) => true,
            (_, StatusItem::CurrentReplicas, _) => false,
            (Self::Metrics(those), _, Some(index)) => those.contains(&index),
            (Self::Limits, StatusItem::DesiredReplicas, _) => true,
            (Self::Limits, StatusItem::Conditions, _) => LIMITS.contains(&&*row.name),
            (Self::Conditions(those), StatusItem::Conditions, _) => those.contains(&&*row.name),
            (Self::Limits | Self::Conditions(_), ..) => false,
            (Self::Metrics(_), ..) => true,
        }
    }
}

/// The conditions of stabilization and rate limits.
const LIMITS: [&str; 2] = ["AbleToScale", "ScalingLimited"];

/// The facts about two statuses that differ.
pub(super) struct ReasonFinder<'a> {
    pass: &'a Pass,
    input: &'a Input,
    then: &'a HpaStatus,
    now: &'a HpaStatus,
    rows: &'a [ComparisonRow<'a>],
    reasons: Vec<DifferenceReason>,
    /// Changes after the status that are so old that a running controller has seen them.
    old: Vec<(String, Timestamp)>,
}

/// The relation of a change to the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// It preceded the status, or may have.
    Before,
    /// It followed, and the controller may not have seen it.
    Recent,
    /// It followed, several passes ago.
    Old,
}

impl<'a> ReasonFinder<'a> {
    pub(super) fn new(pass: &'a Pass, now: &'a HpaStatus, rows: &'a [ComparisonRow<'a>]) -> Self {
        let input = &pass.input;
        Self {
            pass,
            input,
            then: &input.snapshot.hpa.status,
            now,
            rows,
            reasons: Vec::new(),
            old: Vec::new(),
        }
    }

    /// Returns all reasons. `never`: the controller has not written anything.
    pub(super) fn explained(mut self, never: bool) -> Vec<DifferenceReason> {
        self.lease();
        if never {
            self.no_status_yet();
        } else if !self.rows.iter().any(|row| row.differs) {
            // The same status again does not mean that nothing changed in between.
            self.replicas();
        } else if self.is_from_later() {
            self.failures();
            self.unexplained();
        } else {
            self.spec();
            self.replicas();
            self.failures();
            self.metrics();
            self.pods();
            self.memory();
            self.same_average();
            self.other_memory();
            self.stale();
            self.unexplained();
        }
        self.reasons.sort_by_key(|reason| reason.code);
        self.reasons
    }

    /// Returns how long a time is before the pass, as text.
    fn ago(&self, time: Timestamp) -> String {
        distance(time, self.input.snapshot.now)
    }

    fn push(&mut self, code: DifferenceCode, bears_on: BearsOn, message: impl Into<String>) {
        self.reasons.push(DifferenceReason {
            code,
            message: message.into(),
            bears_on,
        });
    }

    fn has(&self, code: DifferenceCode) -> bool {
        self.reasons.iter().any(|reason| reason.code == code)
    }

    fn since(&self, time: Timestamp) -> Since {
        match self.input.snapshot.hpa.written.status {
            Some(written) if time.as_second() > written.as_second() => {
                let unseen = self.has(DifferenceCode::ControllerNotRunning);
                if !unseen && self.input.is_several_passes_ago(time) {
                    Since::Old
                } else {
                    Since::Recent
                }
            }
            _ => Since::Before,
        }
    }

    /// Whether the status was written after this pass, such as with an earlier `--now`; then nothing that has happened
    /// until the pass explains it.
    fn is_from_later(&self) -> bool {
        let written = self.input.snapshot.hpa.written.status;
        self.input.knows_time() && written.is_some_and(|written| written > self.input.snapshot.now)
    }

    fn lease(&mut self) {
        if let Some(lease) = self.input.lapsed_lease() {
            let ago = self.ago(lease.renewed);
            let message = format!("the controller manager's lease was last renewed {ago} ago");
            self.push(DifferenceCode::ControllerNotRunning, BearsOn::All, message);
        }
    }

    fn no_status_yet(&mut self) {
        let mut message = "the controller has written no status yet".to_owned();
        if let Some(created) = self.input.snapshot.hpa.written.created {
            let age = self.ago(created);
            message += &format!(", and the HPA was created {age} ago");
            if self.input.is_several_passes_ago(created) {
                message += ": the controller is slow, blocked or down";
            }
        }
        self.push(DifferenceCode::NoStatusYet, BearsOn::All, message);
    }

    fn spec(&mut self) {
        if let Some(message) = self.contradicts_spec() {
            return self.push(DifferenceCode::SpecChanged, BearsOn::All, message);
        }
        let Some(time) = self.input.snapshot.hpa.written.spec else {
            return;
        };
        match self.since(time) {
            Since::Before => {}
            Since::Recent => {
                let ago = self.ago(time);
                let message = format!(
                    "the HPA (spec or metadata) was changed {ago} ago, after its status was written"
                );
                self.push(DifferenceCode::SpecChanged, BearsOn::All, message);
            }
            Since::Old => self.old.push(("the HPA was changed".to_owned(), time)),
        }
    }

    /// Returns how the status shows that it was written for another spec.
    fn contradicts_spec(&self) -> Option<String> {
        let snapshot = &self.input.snapshot;
        let spec = &snapshot.hpa.spec;
        let before = list_of(self.then);
        let same = before.iter().zip(&spec.metrics).all(|(status, spec)| {
            let named = status
                .labelled()
                .is_none_or(|(name, _)| name == spec.short_label());
            (status.type_.is_empty() || status.type_ == spec.type_) && named
        });
        if !same || (!before.is_empty() && before.len() != spec.metrics.len()) {
            let message = "the status has different metrics than the spec, which has changed since";
            return Some(message.to_owned());
        }
        if snapshot.controller.gates[FeatureGate::HPAGeneration]
            && snapshot.hpa.is_status_of_other_spec()
        {
            let message = "the observedGeneration of the status is not the generation of the HPA: the spec has changed \
                           since";
            return Some(message.to_owned());
        }
        // A pass corrects replicas beyond a bound, if it can.
        let now = snapshot.scale.as_ref().ok()?.spec_replicas;
        let able = self.then.condition("AbleToScale");
        let left = LastPass::of(self.then, now)?;
        let is_left = left.from == now && left.to == now && now > 0;
        let field = if now > spec.max_replicas {
            "maxReplicas"
        } else if now < spec.min() {
            "minReplicas"
        } else {
            return None;
        };
        (is_left && able.is_none_or(|it| it.status != "False")).then(|| {
            let left = count(now, "replica");
            format!("the last pass left {left}, so {field} was changed after it")
        })
    }

    fn replicas(&mut self) {
        let Ok(scale) = &self.input.snapshot.scale else {
            return;
        };
        let now = scale.spec_replicas;
        let Some(last @ LastPass { from, to, scaled }) = LastPass::of(self.then, now) else {
            return;
        };
        let left_at = last.left();
        if now != left_at {
            let mut events = self.input.scaled_to(now);
            let event = events.find(|time| self.since(*time) != Since::Before);
            let who = match event {
                Some(last) => format!(
                    "the controller scaled it, according to its event {} ago",
                    self.ago(last)
                ),
                None => {
                    "something else scaled it, or the controller scaled it and could not write \
                         its status"
                        .to_owned()
                }
            };
            let left = count(left_at, "replica");
            let message = format!("the last pass set {left}, and now there are {now}: {who}");
            self.push(DifferenceCode::RescaledSince, BearsOn::All, message);
        } else if scaled {
            let message = format!(
                "the last pass scaled from {from} to {to}; its status shows the values from before"
            );
            self.push(DifferenceCode::JustScaled, BearsOn::All, message);
        }
    }

    fn failures(&mut self) {
        for (code, status, verdict) in [
            (DifferenceCode::FailsNow, self.now, "cannot be computed now"),
            (
                DifferenceCode::FailedThen,
                self.then,
                "could not be computed then",
            ),
        ] {
            let (indexes, names) = self.failing(status);
            if !indexes.is_empty() {
                let message = format!("{} {verdict}", list(&names));
                self.push(code, BearsOn::Metrics(indexes), message);
            }
        }
        for type_ in ["AbleToScale", "ScalingActive"] {
            match (failed(self.then, type_), failed(self.now, type_)) {
                (None, Some(now)) => {
                    let message = format!("{type_} is False now: {}", now.reason);
                    self.push(DifferenceCode::FailsNow, BearsOn::All, message);
                }
                (Some(then), None) => {
                    let message = format!("{type_} was False then: {}", then.reason);
                    self.push(DifferenceCode::FailedThen, BearsOn::All, message);
                }
                _ => {}
            }
        }
    }

    /// Checks for samples that the last pass did not have. Those of the resource metrics API appear some time
    /// after they were taken, so a sample from just before the status may be new to the controller.
    fn metrics(&mut self) {
        let (mut moved, mut indexes) = (Vec::new(), Vec::new());
        let written = self.input.snapshot.hpa.written.status;
        for row in self.rows.iter().filter(|row| row.differs) {
            let (Some(index), Some(_), Some(_), Some(written)) =
                (row.index, &row.last, &row.now, written)
            else {
                continue;
            };
            let name = &row.name;
            let Some(SampleTimes {
                to: Moment { time, .. },
                ..
            }) = row.measured
            else {
                moved.push(format!("{name} was read after the status was written"));
                indexes.push(index);
                continue;
            };
            // Adapters may show their samples minutes later.
            let metrics = &self.input.snapshot.metrics;
            let prompt = matches!(metrics.get(index), Some(MetricAnswer::PodMetrics));
            match self.since(time) {
                Since::Old
                    if prompt
                        && self
                            .input
                            .is_several_passes_ago(time.plus(PUBLISHED_WITHIN)) =>
                {
                    self.old.push((format!("{name} was measured"), time));
                    continue;
                }
                Since::Before if written.duration_since(time) < PUBLISHED_WITHIN => {
                    let when = match written.duration_since(time).as_secs() {
                        0 => "when".to_owned(),
                        _ => format!("{} before", distance(time, written)),
                    };
                    moved.push(format!(
                        "{name} was measured {when} the status was written, but may have been published after it"
                    ));
                }
                Since::Before => continue,
                _ => moved.push(format!("{name} was measured after the status was written")),
            }
            indexes.push(index);
        }
        if !indexes.is_empty() {
            self.push(
                DifferenceCode::MetricsMoved,
                BearsOn::Metrics(indexes),
                moved.join("; "),
            );
        }
    }

    /// Checks for newer samples with the same average: different pods may count.
    fn same_average(&mut self) {
        let newer = self.rows.iter().filter(|row| {
            let newest = row.measured.map(|measured| self.since(measured.to.time));
            !row.differs && newest == Some(Since::Recent)
        });
        let (indexes, names): (Vec<usize>, Vec<String>) = newer
            .filter_map(|row| Some((row.index?, row.name.clone())))
            .unzip();
        if self.is_open() && !indexes.is_empty() {
            let message = format!(
                "the samples of {} are newer than the status: the average is the same, but the \
                 values of the pods may differ",
                list(&names)
            );
            self.push(
                DifferenceCode::MetricsMoved,
                BearsOn::Metrics(indexes),
                message,
            );
        }
    }

    /// Checks for pods that have started or changed their readiness, and pods that a CPU metric counts
    /// differently because their initialization period has passed.
    fn pods(&mut self) {
        let (mut indexes, mut most, mut latest) = (Vec::new(), 0, None);
        for metric in self.pass.decision.metrics() {
            let pods = metric
                .pods
                .iter()
                .map(|row| &self.input.snapshot.pods[row.pod as usize]);
            let times: Vec<Timestamp> = pods.filter_map(|pod| self.changed(metric, pod)).collect();
            let recent = times
                .iter()
                .filter(|time| self.since(**time) == Since::Recent)
                .count();
            if recent > 0 {
                indexes.push(metric.index);
                most = most.max(recent);
            }
            latest = latest.max(times.into_iter().max());
        }
        if most > 0 {
            let message = format!(
                "{} started, changed readiness or left the initialization period since the status \
                 was written",
                count(most, "pod")
            );
            self.push(
                DifferenceCode::PodsChanged,
                BearsOn::Metrics(indexes),
                message,
            );
        } else if let Some(latest) = latest.filter(|latest| self.since(*latest) == Since::Old) {
            self.old.push(("the pods changed".to_owned(), latest));
        }
    }

    /// Checks whether the controller's history counts now but did not then, or the other way round.
    fn memory(&mut self) {
        let Pass {
            decision,
            outlook,
            remembered,
            ..
        } = self.pass;
        let range = outlook.range(decision);
        let then = |type_| {
            self.then
                .condition(type_)
                .map_or("", |condition| &*condition.reason)
        };
        let held_then = match then("AbleToScale") {
            reason @ ("ScaleDownStabilized" | "ScaleUpStabilized") => Some(Some(reason)),
            "ReadyForNewScale" => Some(None),
            // A rescale has replaced that reason with its own.
            _ => None,
        };
        let limited = then("ScalingLimited");
        let rate = matches!(limited, "ScaleUpLimit" | "ScaleDownLimit")
            && self.input.snapshot.hpa.spec.behavior.is_some();
        let held_now = decision.stabilization().map(StabilizeStep::holds);
        let mut rows = self.rows.iter().filter(|row| row.differs);
        let other_desired = rows.any(|row| row.item == StatusItem::DesiredReplicas);
        // Of conditions, `other_memory` then says that they may be either.
        let is_open = !other_desired && remembered.is_open() && is_open(&outlook.extremes, able);
        let message = match (held_then, held_now, range) {
            (_, Some(_), Some(Range { min, max })) if remembered.is_open() && min != max => {
                format!(
                    "the controller's history is uncertain; depending on it, the pass ends at \
                     {min} to {max}"
                )
            }
            (Some(Some(reason)), Some(false), _) if !is_open => {
                // No pass has changed the status since, so the hold continued.
                let ended = self
                    .hold_ends(reason)
                    .filter(|ended| self.input.is_several_passes_ago(*ended));
                if let Some(ended) = ended {
                    self.old
                        .push((format!("a hold ({reason}) should have expired"), ended));
                    return;
                }
                format!(
                    "a past recommendation held the replicas then ({reason}), and no longer does"
                )
            }
            (Some(None), Some(true), _) if remembered.is_known_empty() => {
                "the controller has started since, so the current replicas count as recommended"
                    .to_owned()
            }
            // If the pass then saw the same, its history had at least what the history has now.
            (Some(None), Some(true), _) if !is_open && self.has_moved() => {
                "a past recommendation holds the replicas now, and did not then".to_owned()
            }
            _ if rate && other_desired => format!(
                "a rate limit held the replicas then ({limited}); past changes count only for \
                 their period"
            ),
            _ => return,
        };
        self.push(DifferenceCode::Memory, BearsOn::Limits, message);
    }

    /// Whether the pass may propose something other than the last one did.
    fn has_moved(&self) -> bool {
        let moved = DifferenceCode::SpecChanged..=DifferenceCode::PodsChanged;
        let is_newer = |measured: SampleTimes| self.since(measured.to.time) != Since::Before;
        self.reasons
            .iter()
            .any(|reason| moved.contains(&reason.code))
            || self
                .rows
                .iter()
                .filter_map(|row| row.measured)
                .any(is_newer)
    }

    /// Returns when a hold shown in the status ends at the latest, by the assumed window; `None` if that is
    /// unknown.
    fn hold_ends(&self, reason: &str) -> Option<Timestamp> {
        let stabilized = self.pass.decision.stabilization()?;
        let window = if reason == "ScaleUpStabilized" {
            stabilized.up_window?
        } else {
            stabilized.down_window
        };
        self.input
            .snapshot
            .hpa
            .written
            .status?
            .checked_add(window)
            .ok()
    }

    /// Returns when a pod last started, became ready or not, or grew old enough for its cpu to count.
    fn changed(&self, metric: &MetricStep, pod: &Pod) -> Option<Timestamp> {
        let period = self.input.snapshot.controller.cpu_initialization_period;
        let ready = pod.ready.map(|ready| ready.last_transition_time);
        let grown = pod
            .start_time
            .filter(|_| metric.name == "cpu")
            .and_then(|start| start.checked_add(period).ok());
        [pod.start_time, ready, grown]
            .into_iter()
            .flatten()
            .filter(|time| *time <= self.input.snapshot.now)
            .max()
    }

    /// Returns the metrics that differ and fail in a status, by index and name. A pass that does not use metrics leaves
    /// out all of them; that is not a failure.
    fn failing(&self, status: &HpaStatus) -> (Vec<usize>, Vec<String>) {
        let metrics = list_of(status);
        let rows = self.rows.iter().filter(|row| row.differs);
        rows.filter_map(|row| {
            let index = row.index?;
            let fails = metrics.get(index)?.labelled().is_none();
            fails.then(|| (index, row.name.clone()))
        })
        .unzip()
    }

    /// A different history may lead to the same replicas in a different way, which the conditions show.
    fn other_memory(&mut self) {
        let extremes = &self.pass.outlook.extremes;
        let open: Vec<&str> = LIMITS
            .into_iter()
            .zip([able, limited])
            .filter(|(_, reason)| is_open(extremes, *reason))
            .map(|(type_, _)| type_)
            .collect();
        if self.pass.remembered.is_open() && self.open().any(|row| open.contains(&&*row.name)) {
            let message = "the controller's history is uncertain; depending on it, the pass gives \
                           the same answer for another reason";
            self.push(DifferenceCode::Memory, BearsOn::Conditions(open), message);
        }
    }

    /// Returns the rows that differ and have no reason yet.
    fn open(&self) -> impl Iterator<Item = &ComparisonRow<'a>> {
        let rows = self.rows.iter().filter(|row| row.differs);
        rows.filter(|row| !self.reasons.iter().any(|it| it.bears_on.includes(row)))
    }

    fn is_open(&self) -> bool {
        self.open().next().is_some()
    }

    /// Anything that a running controller has seen but not written is due to it or its settings.
    fn stale(&mut self) {
        let latest = self.old.iter().max_by_key(|(_, time)| *time);
        let (Some((what, time)), true) = (latest, self.is_open()) else {
            return;
        };
        let mut message = format!(
            "{what} {} ago, and the status was not written since: the controller is slow, blocked \
             or down, or its settings differ from the assumed ones",
            self.ago(*time)
        );
        if let Some(lease) = self.input.evidence.lease {
            let ago = self.ago(lease.renewed);
            message += &format!("; its lease was renewed {ago} ago");
        }
        self.push(DifferenceCode::StaleStatus, BearsOn::All, message);
    }

    fn unexplained(&mut self) {
        let names: Vec<String> = self.open().map(|row| row.name.clone()).collect();
        if names.is_empty() {
            return;
        }
        let mut causes = Vec::new();
        if self.then.conditions.is_empty() {
            causes.push(
                "the status is incomplete, because it lacks the conditions that every pass writes",
            );
        }
        if self.input.snapshot.hpa.written.status.is_none() {
            causes.push(
                "the time at which the status was written is unknown (kubectl get \
                 --show-managed-fields includes it)",
            );
        }
        if self.is_from_later() {
            causes.push("the status was written after the time of this pass");
        }
        if !self.input.knows_time() {
            causes.push("the input does not state when it was read (use --now)");
        }
        causes.push(
            "the controller's flags, version or feature gates may differ from the assumed ones",
        );
        let several = if causes.len() > 1 {
            "possible causes: "
        } else {
            ""
        };
        let message = format!(
            "nothing that was read explains {}; {several}{}",
            list(&names),
            causes.join("; ")
        );
        self.push(DifferenceCode::Unexplained, BearsOn::All, message);
    }
}

/// Whether a pass gives different reasons at the bounds of the unknowns.
fn is_open(extremes: &[AtBound], reason: fn(&Step) -> Option<&'static str>) -> bool {
    let reasons = extremes
        .iter()
        .map(|extreme| extreme.steps.iter().find_map(reason));
    reasons.collect::<BTreeSet<_>>().len() > 1
}

/// Returns the reason that stabilization gives.
fn able(step: &Step) -> Option<&'static str> {
    step.stabilization().map(|step| step.reason)
}

/// Returns the reason that limits give.
fn limited(step: &Step) -> Option<&'static str> {
    step.limit().map(|step| step.reason)
}

/// Returns a condition that is false because something failed.
fn failed<'a>(status: &'a HpaStatus, type_: &str) -> Option<&'a Condition> {
    let found = status.condition(type_).filter(|it| it.status == "False");
    found.filter(|it| it.reason != "ScalingDisabled")
}
