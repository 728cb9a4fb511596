//! Whether the result of a pass may be written. Each concern has its reason and, if it can be overridden,
//! the flag that does so.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::Change;
use crate::args::How;
use crate::engine::decision::{MetricResult, Path, Step, UnreadMetrics};
use crate::engine::hold::Hold;
use crate::memory::Knowledge;
use crate::memory::infer::window;
use crate::outlook::{Outlook, Range};
use crate::pass::Pass;
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;
use crate::snapshot::written::Written;
use crate::snapshot::{MetricAnswer, UnreadCause};

/// A concern about writing.
#[derive(Debug, Clone, PartialEq)]
pub struct Concern {
    /// The concern.
    pub reason: Reason,
    /// The flag that overrides it; `None` if nothing does.
    pub flag: Option<&'static str>,
    /// Whether it is overridden.
    pub forced: bool,
}

/// Why a result should not be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The HPA has been marked for deletion, at this time.
    HpaDeleted(Timestamp),
    /// So has the target.
    TargetDeleted(Timestamp),
    /// The scale cannot be read, or its new value would be refused.
    CannotScale {
        /// Why.
        error: String,
    },
    /// The target has no replicas.
    ScalingDisabled,
    /// The controller refuses the target's selector.
    NoSelector {
        /// The reason of the condition.
        reason: &'static str,
        /// Its message.
        message: String,
    },
    /// Too many metrics failed.
    NoMetric {
        /// The metrics.
        failed: Vec<String>,
        /// Why the first one failed.
        cause: String,
    },
    /// Metrics decide that only the controller may have read.
    Undecided {
        /// Which metrics, and why.
        lacking: Vec<UnreadMetrics>,
    },
    /// The status or event to be written depends on such metrics.
    UnknownWords {
        /// Which metrics, and why.
        lacking: Vec<UnreadMetrics>,
        /// The flag that asks for it.
        flag: &'static str,
    },
    /// Such metrics may change the replicas.
    Rights {
        /// Which metrics, and why.
        lacking: Vec<UnreadMetrics>,
        /// The possible replicas.
        range: Range,
    },
    /// What the controller remembers may change the replicas.
    Memory {
        /// How well that is known.
        knowledge: Knowledge,
        /// How far back it matters.
        window: SignedDuration,
        /// The possible replicas.
        range: Range,
    },
    /// Metrics that failed may change the replicas.
    Metrics {
        /// Which metrics.
        failed: Vec<String>,
        /// The possible replicas.
        range: Range,
    },
    /// It is unknown whether the target is being deleted.
    Target {
        /// Why.
        cause: String,
    },
    /// Something that may change the outcome could not be read.
    Unread(Note),
    /// Writing the status is up to a controller manager, as far as is known.
    StatusHeld(Leader),
}

/// The name of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "they are those of the reasons")]
pub enum GateCode {
    HpaDeleted,
    TargetDeleted,
    CannotScale,
    ScalingDisabled,
    NoSelector,
    NoMetric,
    Rights,
    Memory,
    Metrics,
    Target,
    Unread,
    StatusHeld,
}

impl Concern {
    /// Returns its name.
    pub fn code(&self) -> GateCode {
        match self.reason {
            Reason::HpaDeleted(_) => GateCode::HpaDeleted,
            Reason::TargetDeleted(_) => GateCode::TargetDeleted,
            Reason::CannotScale { .. } => GateCode::CannotScale,
            Reason::ScalingDisabled => GateCode::ScalingDisabled,
            Reason::NoSelector { .. } => GateCode::NoSelector,
            Reason::NoMetric { .. } => GateCode::NoMetric,
            Reason::Undecided { .. } | Reason::UnknownWords { .. } | Reason::Rights { .. } => {
                GateCode::Rights
            }
            Reason::Memory { .. } => GateCode::Memory,
            Reason::Metrics { .. } => GateCode::Metrics,
            Reason::Target { .. } => GateCode::Target,
            Reason::Unread(_) => GateCode::Unread,
            Reason::StatusHeld(_) => GateCode::StatusHeld,
        }
    }
}

/// Whether the target is being deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Going {
    /// It is not.
    No,
    /// It has been marked for deletion at this time.
    Since(Timestamp),
    /// That is unknown, for this reason.
    Unknown(String),
}

/// Whether a controller manager holds its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    /// One does; it renewed the lease at this time.
    Holds(Timestamp),
    /// None does; the last holder renewed it at this time.
    Lapsed(Timestamp),
    /// There is no current lease of the usual name, or it cannot be read, but the status of the HPA was written
    /// within the last few passes, at this time.
    Seen(Timestamp),
    /// There is no lease of the usual name, or it cannot be read.
    Unknown,
}

impl Leader {
    /// Returns what is known of the controller manager.
    pub fn of(input: &Input) -> Self {
        let Written { status, by_us, .. } = input.snapshot.hpa.written;
        let lapsed = input
            .evidence
            .lease
            .filter(|lease| lease.has_lapsed(input.snapshot.now));
        let is_recent = |written: &Timestamp| {
            // Another controller manager may have another lease.
            let is_later = lapsed.is_none_or(|lease| *written > lease.renewed);
            !by_us && is_later && !input.is_several_passes_ago(*written)
        };
        match (input.evidence.lease, status.filter(is_recent)) {
            (Some(lease), _) if lapsed.is_none() => Self::Holds(lease.renewed),
            (_, Some(written)) => Self::Seen(written),
            (Some(lease), None) => Self::Lapsed(lease.renewed),
            (None, None) => Self::Unknown,
        }
    }
}

/// The result of a pass, and what else is known.
#[derive(Debug, Clone, Copy)]
pub struct GateInput<'a> {
    /// The pass.
    pub pass: &'a Pass,
    /// Whether the target is being deleted.
    pub going: &'a Going,
    /// Who leads.
    pub leader: Leader,
}

const FORCE_UNCERTAIN: &str = "--force-uncertain";
const FORCE_STATUS: &str = "--force-write-status";

impl GateInput<'_> {
    /// Returns the due change; `None` if the pass leaves the scale alone.
    pub fn change(&self) -> Option<Change> {
        let from = self.pass.input.snapshot.scale.as_ref().ok()?.spec_replicas;
        self.pass
            .decision
            .outcome
            .scale_to
            .map(|to| Change { from, to })
    }

    /// Returns all concerns about writing it, the worst first.
    pub fn concerns(&self, how: &How) -> Vec<Concern> {
        let mut reasons = self.never();
        let mut forcible = Vec::new();
        if self.change().is_some() {
            reasons.extend(self.unknown_words(how));
            forcible.extend(self.uncertain().into_iter().map(|reason| Concern {
                reason,
                flag: Some(FORCE_UNCERTAIN),
                forced: how.force_uncertain,
            }));
            forcible.extend(self.status(how).map(|reason| Concern {
                reason,
                flag: Some(FORCE_STATUS),
                forced: how.force_write_status,
            }));
        }
        let never = |reason| Concern {
            reason,
            flag: None,
            forced: false,
        };
        reasons.into_iter().map(never).chain(forcible).collect()
    }

    /// Returns concerns that nothing overrides.
    fn never(&self) -> Vec<Reason> {
        let hpa = self
            .pass
            .input
            .snapshot
            .hpa
            .deletion_timestamp
            .map(Reason::HpaDeleted);
        let target = match self.going {
            Going::Since(since) => Some(Reason::TargetDeleted(*since)),
            _ => None,
        };
        let holds = self.pass.decision.holds().filter_map(|hold| match hold {
            Hold::Unreadable(error) | Hold::Unwritten { error, .. } => Some(Reason::CannotScale {
                error: error.to_owned(),
            }),
            Hold::AtZero => Some(Reason::ScalingDisabled),
            Hold::Selector {
                reason, message, ..
            } => Some(Reason::NoSelector {
                reason,
                message: message.to_owned(),
            }),
            Hold::Failed(_) => Some(match self.lacking() {
                lacking if !lacking.is_empty() => Reason::Undecided { lacking },
                _ => Reason::NoMetric {
                    failed: self.failed(),
                    cause: self.first_failure(),
                },
            }),
            _ => None,
        });
        hpa.into_iter().chain(target).chain(holds).collect()
    }

    /// What the controller would write and say is unknown if it may have read more.
    fn unknown_words(&self, how: &How) -> Option<Reason> {
        let flag = match (how.write_status, how.event) {
            (true, _) => "--write-status",
            (false, true) => "--event",
            (false, false) => return None,
        };
        let lacking = self.lacking();
        (!lacking.is_empty()).then_some(Reason::UnknownWords { lacking, flag })
    }

    /// Returns what could lead to a different answer.
    fn uncertain(&self) -> Vec<Reason> {
        let mut uncertain = Vec::new();
        if let Some(range) = open(self.pass.outlook.range(&self.pass.decision)) {
            if self.pass.remembered.is_open() {
                let knowledge = self.pass.remembered.knowledge;
                let snapshot = &self.pass.input.snapshot;
                let window = window(&snapshot.hpa, &snapshot.controller);
                uncertain.push(Reason::Memory {
                    knowledge,
                    window,
                    range,
                });
            }
            let lacking = self.lacking();
            uncertain.extend((!lacking.is_empty()).then_some(Reason::Rights { lacking, range }));
        }
        let failed = self.failed();
        if !failed.is_empty()
            && let Some(range) = open(self.with_failed_metrics())
        {
            uncertain.push(Reason::Metrics { failed, range });
        }
        if let Going::Unknown(cause) = self.going {
            uncertain.push(Reason::Target {
                cause: cause.clone(),
            });
        }
        // Out of bounds, it is corrected without looking at pods and metrics.
        if self.pass.decision.path() == Some(Path::Metrics) {
            let open = self
                .pass
                .input
                .notes
                .iter()
                .filter(|note| note.leaves_outcome_open());
            uncertain.extend(open.cloned().map(Reason::Unread));
        }
        uncertain
    }

    /// Returns the metrics that the controller may have read but that are unread here.
    fn lacking(&self) -> Vec<UnreadMetrics> {
        self.pass
            .decision
            .outcome
            .lacking(&self.pass.input.snapshot.hpa.spec)
    }

    /// Returns the labels of the metrics that fail.
    fn failed(&self) -> Vec<String> {
        let metrics = self.pass.decision.metrics();
        let failed = metrics.filter(|metric| metric.is_failed());
        let specs = &self.pass.input.snapshot.hpa.spec.metrics;
        failed
            .map(|metric| specs[metric.index].label(specs))
            .collect()
    }

    /// Returns why the first of them fails: what the API says, or else the controller.
    fn first_failure(&self) -> String {
        let mut metrics = self.pass.decision.metrics();
        let failure = metrics.find_map(|metric| Some((metric.index, metric.error()?)));
        failure.map_or_else(String::new, |(index, error)| {
            match &self.pass.input.snapshot.metrics[index] {
                MetricAnswer::Failed(text) => text.clone(),
                _ => error.message.clone(),
            }
        })
    }

    /// Returns the possible replicas if metrics that failed may have any value.
    fn with_failed_metrics(&self) -> Option<Range> {
        let mut decision = self.pass.decision.clone();
        for step in &mut decision.trace {
            if let Step::ComputeMetric(metric) = step
                && let Some(error) = metric.error()
            {
                let message = error.message.clone();
                metric.result = MetricResult::Unread(UnreadCause::Refused { message });
            }
        }
        let outlook = Outlook::new(&self.pass.input.snapshot, &self.pass.remembered, &decision);
        outlook.range(&decision)
    }

    /// Whether writing the status is up to someone else.
    fn status(&self, how: &How) -> Option<Reason> {
        match self.leader {
            _ if !how.write_status => None,
            Leader::Lapsed(_) => None,
            leader => Some(Reason::StatusHeld(leader)),
        }
    }
}

/// Returns a range with more than one count.
fn open(range: Option<Range>) -> Option<Range> {
    range.filter(|range| range.min != range.max)
}
