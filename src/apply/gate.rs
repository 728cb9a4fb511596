//! Whether the result of a pass may be written. What stands against it is said with its reason and,
//! where something can force it, the flag that does.

use jiff::Timestamp;
use serde::Serialize;

use super::Change;
use crate::args::How;
use crate::engine::decision::{MetricResult, Path, Step};
use crate::memory::Knowledge;
use crate::outlook::{Outlook, Range};
use crate::pass::Pass;
use crate::snapshot::Unread;

/// What stands against writing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Concern {
    /// Its name.
    pub code: &'static str,
    /// What it is.
    pub message: String,
    /// The flag that forces it; none where nothing does.
    pub flag: Option<&'static str>,
    /// Whether it is forced.
    pub forced: bool,
}

/// Whether the target is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Going {
    /// It stays.
    No,
    /// It is being deleted since this time.
    Since(Timestamp),
    /// That is not known, for this reason.
    Unknown(String),
}

/// Whether a controller manager holds its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    /// One does; it renewed it then.
    Holds(Timestamp),
    /// None does; the last one renewed it then.
    Lapsed(Timestamp),
    /// There is no lease of the usual name, or it cannot be read.
    Unknown,
}

/// What a pass came to, and what is known beside it.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The pass.
    pub pass: &'a Pass,
    /// What could not be read and leaves the outcome open.
    pub doubts: &'a [String],
    /// Whether the target is to go.
    pub going: &'a Going,
    /// Who leads.
    pub leader: Leader,
}

const FORCE_UNCERTAIN: &str = "--force-uncertain";
const FORCE_STATUS: &str = "--force-write-status";

impl Facts<'_> {
    /// The change that is due; none where the pass leaves the scale alone.
    pub fn change(&self) -> Option<Change> {
        let from = self.pass.input.snapshot.scale.as_ref().ok()?.spec_replicas;
        self.pass.decision.outcome.scale_to.map(|to| Change { from, to })
    }

    /// Everything that stands against writing it, the worst first.
    pub fn concerns(&self, how: &How) -> Vec<Concern> {
        let mut concerns = self.never();
        if self.change().is_some() {
            concerns.extend(self.unknown_words(how));
            let uncertain = self.uncertain().into_iter().map(|(code, message)| Concern {
                code,
                message,
                flag: Some(FORCE_UNCERTAIN),
                forced: how.force_uncertain,
            });
            concerns.extend(uncertain);
            concerns.extend(self.status(how));
        }
        concerns
    }

    /// What nothing forces.
    fn never(&self) -> Vec<Concern> {
        let mut concerns = Vec::new();
        let mut never = |code, message| {
            concerns.push(Concern { code, message, flag: None, forced: false });
        };
        if let Some(since) = self.pass.input.snapshot.hpa.deletion_timestamp {
            never("hpaDeleted", format!("the HPA is being deleted since {since}"));
        }
        if let Going::Since(since) = self.going {
            never("targetDeleted", format!("the target is being deleted since {since}"));
        }
        for step in &self.pass.decision.trace {
            match step {
                Step::ReadScale { error: Some(error), .. } => {
                    never("cannotScale", format!("the target cannot be scaled: {error}"));
                }
                Step::ChoosePath { path: Path::Disabled, .. } => never(
                    "scalingDisabled",
                    "scaling is disabled since the replica count of the target is zero".to_owned(),
                ),
                Step::RejectSelector { reason, message, .. } => {
                    never(
                        "noSelector",
                        format!("the controller does not scale it, {reason}: {message}"),
                    );
                }
                Step::CombineMetrics { accepted: false, invalid, total, .. } => {
                    let lacking = self.lacking();
                    if lacking.is_none() {
                        let error = self.pass.decision.outcome.error.as_deref().unwrap_or_default();
                        never("noMetric", format!("{invalid} of {total} metrics failed: {error}"));
                    }
                    if let Some(lacking) = lacking {
                        never(
                            "rights",
                            format!("{lacking}, so what the controller would write is not known"),
                        );
                    }
                }
                _ => {}
            }
        }
        concerns
    }

    /// What the controller would write and say is not known where it may have read more.
    fn unknown_words(&self, how: &How) -> Option<Concern> {
        let asked = match (how.write_status, how.event) {
            (true, _) => "--write-status",
            (false, true) => "--event",
            (false, false) => return None,
        };
        let message = format!("{}, so what {asked} would write is not known", self.lacking()?);
        Some(Concern { code: "rights", message, flag: None, forced: false })
    }

    /// What could make it another answer.
    fn uncertain(&self) -> Vec<(&'static str, String)> {
        let mut uncertain = Vec::new();
        if let Some(Range { min, max }) = open(self.pass.outlook.range(&self.pass.decision)) {
            let anywhere = format!("it may end anywhere from {min} to {max}");
            if self.pass.remembered.is_open() {
                let known = match self.pass.remembered.knowledge {
                    Knowledge::Inferred => "known within bounds only",
                    _ => "not known",
                };
                let message = format!("what the controller remembers is {known}: {anywhere}");
                uncertain.push(("memory", message));
            }
            if let Some(lacking) = self.lacking() {
                uncertain.push(("rights", format!("{lacking}: {anywhere}")));
            }
        }
        let failed = self.failed();
        if !failed.is_empty()
            && let Some(Range { min, max }) = open(self.with_failed_metrics())
        {
            let with = if failed.len() == 1 { "it" } else { "them" };
            let failed = failed.join(", ");
            uncertain.push((
                "metrics",
                format!("{failed} failed: with {with}, it may end anywhere from {min} to {max}"),
            ));
        }
        if let Going::Unknown(cause) = self.going {
            uncertain.push((
                "target",
                format!("whether the target is being deleted is not known: {cause}"),
            ));
        }
        // Out of bounds it is corrected without a look at pods and metrics.
        let looks = |step: &Step| matches!(step, Step::ChoosePath { path: Path::Metrics, .. });
        if self.pass.decision.trace.iter().any(looks) {
            uncertain.extend(self.doubts.iter().map(|doubt| ("unread", doubt.clone())));
        }
        uncertain
    }

    /// The metrics that the controller may have read and we have not.
    fn lacking(&self) -> Option<String> {
        self.pass.decision.outcome.lacking(&self.pass.input.snapshot.hpa.spec)
    }

    /// The labels of the metrics that fail.
    fn failed(&self) -> Vec<String> {
        let failed = self.pass.decision.trace.iter().filter_map(|step| match step {
            Step::ComputeMetric(metric) if matches!(metric.result, MetricResult::Error(_)) => {
                Some(self.pass.input.snapshot.hpa.spec.metrics[metric.index].label())
            }
            _ => None,
        });
        failed.collect()
    }

    /// The replicas that it may end at if metrics that failed may say anything.
    fn with_failed_metrics(&self) -> Option<Range> {
        let mut decision = self.pass.decision.clone();
        for step in &mut decision.trace {
            if let Step::ComputeMetric(metric) = step
                && let MetricResult::Error(error) = &metric.result
            {
                let message = error.message.clone();
                metric.result = MetricResult::Unread(Unread::Refused { message });
            }
        }
        let outlook = Outlook::new(&self.pass.input.snapshot, &self.pass.remembered, &decision);
        outlook.range(&decision)
    }

    /// Whether the status is somebody else's to write.
    fn status(&self, how: &How) -> Option<Concern> {
        let message = match self.leader {
            _ if !how.write_status => return None,
            Leader::Lapsed(_) => return None,
            Leader::Holds(renewed) => format!(
                "a controller manager holds its lease, renewed at {renewed}: the status is its to \
                 write"
            ),
            Leader::Unknown => {
                "whether a controller manager holds its lease is not known: the status may be its \
                 to write"
                    .to_owned()
            }
        };
        let (flag, forced) = (Some(FORCE_STATUS), how.force_write_status);
        Some(Concern { code: "statusHeld", message, flag, forced })
    }
}

/// A range that leaves something open.
fn open(range: Option<Range>) -> Option<Range> {
    range.filter(|range| range.min != range.max)
}
