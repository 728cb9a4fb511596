//! The report for people: one sentence with what happens and why, the metrics, the way from the
//! highest proposal to the replicas, the pods, what the controller would say, and what was assumed.
//! Everything is text here; layout and colour come later.

pub(in crate::report) mod changes;
mod comparison;
mod metrics;
mod path;
mod pods;
mod upcoming;
mod verdict;

use jiff::Timestamp;

use super::Explanation;
use super::chart::Chart;
use super::timeline::TimelinePart;
use super::words::count;
use crate::apimachinery::json::SecondsTime;
use crate::engine::decision::{MetricStep, Step};
use crate::memory::Knowledge;
use crate::snapshot::Scale;

/// A report, section by section.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What is taken for otherwise than it was observed.
    pub assuming: Vec<String>,
    /// The HPA and its target.
    pub title: String,
    /// Whose rules and which instant.
    pub subtitle: String,
    /// How the verdict is to be taken.
    pub tone: Tone,
    /// What happens, in a few words.
    pub verdict: String,
    /// Why, in a sentence or two.
    pub why: Vec<String>,
    /// The verdict on what was observed, where something is assumed.
    pub observed: Option<String>,
    /// What was expected: how it stands, and what that rests on.
    pub expected: Vec<(String, String)>,
    /// A row for each metric.
    pub metrics: Table,
    /// How each metric came to its proposal.
    pub metric_details: Vec<(String, String)>,
    /// From the highest proposal to the replicas.
    pub path: Vec<PathLine>,
    /// What the metrics ask for, where other counts follow on it.
    pub asked: Option<i32>,
    /// The counts that follow.
    pub upcoming: Vec<PathLine>,
    /// For each metric, at which values the answer changes.
    pub changes: Vec<(String, String)>,
    /// Replicas over the values of a metric, where they were asked for.
    pub curve: Option<Chart>,
    /// What follows as time goes on, where that was asked for.
    pub timeline: Option<TimelinePart>,
    /// For each metric, its pods.
    pub pods: Vec<PodTable>,
    /// Conditions as the controller would write them.
    pub conditions: Table,
    /// Events as the controller would send them.
    pub events: Table,
    /// The status that the controller last wrote, beside that.
    pub comparison: Option<Compared>,
    /// What the answer rests on.
    pub assumed: Vec<(String, String)>,
    /// What was read but not used, and what looks wrong.
    pub notes: Vec<String>,
}

/// The symbols of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbols {
    /// From here to there.
    pub arrow: &'static str,
    /// Multiplied by.
    pub times: &'static str,
    /// At most.
    pub at_most: &'static str,
}

impl Symbols {
    /// For terminals that show ASCII only.
    pub const ASCII: Self = Self { arrow: "->", times: "x", at_most: "<=" };
    /// For terminals that show Unicode.
    pub const UNICODE: Self = Self { arrow: "→", times: "×", at_most: "≤" };
}

/// How a verdict is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// More replicas.
    Up,
    /// Fewer replicas.
    Down,
    /// No change.
    Stay,
    /// The controller cannot decide or scale.
    Blocked,
}

/// A table of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns, each with whether it holds numbers.
    pub columns: Vec<(&'static str, bool)>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

/// One line of the way to the replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLine {
    /// The replicas after this rule.
    pub replicas: i32,
    /// The rule.
    pub rule: String,
    /// The controller's reason, where this rule made a difference.
    pub reason: Option<&'static str>,
}

/// The pods of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodTable {
    /// The metric.
    pub metric: String,
    /// The pods.
    pub table: Table,
    /// What is left out.
    pub left_out: Option<String>,
}

/// What the controller last wrote, beside what it would write now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// How old it is.
    pub title: String,
    /// The items that differ; with `wide`, all.
    pub table: Table,
    /// Why, by the name of the reason.
    pub because: Vec<(String, String)>,
}

impl Page {
    /// Words an explanation. `wide` adds what is usually not needed: every pod, and
    /// the tolerance of each metric.
    pub fn new(explanation: &Explanation<'_>, wide: bool, symbols: Symbols) -> Self {
        let words = Words { explanation, wide, symbols };
        let (tone, verdict, why) = words.verdict();
        Self {
            assuming: Vec::new(),
            title: words.title(),
            subtitle: words.subtitle(),
            tone,
            verdict,
            why,
            observed: None,
            expected: Vec::new(),
            metrics: words.metrics(),
            metric_details: words.metric_details(),
            path: words.path(),
            asked: explanation.proposal,
            upcoming: words.upcoming(),
            changes: Vec::new(),
            curve: None,
            timeline: None,
            pods: words.pods(),
            conditions: words.conditions(),
            events: words.events(),
            comparison: words.comparison(),
            assumed: words.assumed(),
            notes: explanation.notes.to_vec(),
        }
    }
}

pub(super) struct Words<'a> {
    explanation: &'a Explanation<'a>,
    wide: bool,
    symbols: Symbols,
}

impl Words<'_> {
    fn steps(&self) -> &[Step] {
        &self.explanation.decision.trace
    }

    fn metric_steps(&self) -> impl Iterator<Item = &MetricStep> {
        self.explanation.metric_steps()
    }

    fn now(&self) -> Timestamp {
        self.explanation.snapshot.now
    }

    fn scale(&self) -> Option<&Scale> {
        self.explanation.snapshot.scale.as_ref().ok()
    }

    fn title(&self) -> String {
        let hpa = &self.explanation.snapshot.hpa;
        let target = &hpa.spec.scale_target_ref;
        let arrow = self.symbols.arrow;
        let deleted = if hpa.deletion_timestamp.is_some() { ", BEING DELETED" } else { "" };
        format!("{}/{} {arrow} {}/{}{deleted}", hpa.namespace, hpa.name, target.kind, target.name)
    }

    fn subtitle(&self) -> String {
        let rules = &self.explanation.rules;
        format!("rules of {rules}, at {}", SecondsTime(self.now()))
    }

    /// What a metric is called in the report, without its selector.
    pub(in crate::report) fn short_label(metric: &MetricStep) -> String {
        let mut label = metric.name.clone();
        if let Some(container) = &metric.container {
            label = format!("{label} in {container}");
        }
        if let Some(object) = &metric.described_object {
            label = format!("{label} on {object}");
        }
        if label.is_empty() { format!("metric {}", metric.index + 1) } else { label }
    }

    /// What a metric is called in the report.
    fn label(&self, metric: &MetricStep) -> String {
        let label = self.explanation.snapshot.hpa.spec.metrics[metric.index].label();
        if label.is_empty() { Self::short_label(metric) } else { label }
    }

    fn conditions(&self) -> Table {
        let status = self.explanation.outcome.status.as_ref();
        Table {
            columns: vec![
                ("CONDITION", false),
                ("STATUS", false),
                ("REASON", false),
                ("MESSAGE", false),
            ],
            rows: status
                .into_iter()
                .flat_map(|status| &status.conditions)
                .map(|c| {
                    vec![c.type_.clone(), c.status.clone(), c.reason.clone(), c.message.clone()]
                })
                .collect(),
        }
    }

    fn events(&self) -> Table {
        let list = &self.explanation.outcome.events;
        Table {
            columns: vec![("EVENT", false), ("REASON", false), ("MESSAGE", false)],
            rows: list
                .iter()
                .flatten()
                .map(|e| vec![format!("{} event", e.type_), e.reason.to_owned(), e.message.clone()])
                .collect(),
        }
    }

    fn assumed(&self) -> Vec<(String, String)> {
        let mut lines: Vec<(String, String)> = self
            .explanation
            .basis
            .iter()
            .map(|basis| (basis.item.clone(), format!("{} ({})", basis.value, basis.source)))
            .collect();
        let memory = match self.explanation.remembered.knowledge {
            Knowledge::Stated => {
                let memory = &self.explanation.remembered.likely;
                let recommendations = memory.recommendations.len();
                let events = memory.scale_up_events.len() + memory.scale_down_events.len();
                let seeded = match recommendations {
                    0 => ", so that the current replicas count as one,",
                    _ => "",
                };
                format!(
                    "{}{seeded} and {} (stated in the input)",
                    count(recommendations as i64, "recommendation"),
                    count(events as i64, "scale event")
                )
            }
            // What it rests on says so already.
            Knowledge::JustStarted if lines.iter().any(|(item, _)| item == "memory") => {
                return lines;
            }
            Knowledge::JustStarted => {
                "just started: the current replicas count as its only recommendation (none is \
                 stated)"
                    .to_owned()
            }
            Knowledge::Inferred => return lines,
            Knowledge::Unknown => {
                "unknown: the current replicas are assumed to be its only recommendation (nothing \
                 that was read tells of others)"
                    .to_owned()
            }
        };
        lines.push(("memory".to_owned(), memory));
        lines
    }
}
