//! Presents a decision to programs and to people. [`Explanation`] is the published JSON
//! (`schema/explanation.json`); [`page::Page`] words the same values. Nothing here decides or prints
//! anything.

pub(crate) mod apply;
pub mod backtest;
pub(crate) mod chart;
mod clock;
pub(crate) mod comparison;
pub mod expected;
pub mod list;
pub mod page;
pub mod prediction;
mod search;
pub mod section;
pub mod timeline;
mod totals;

use jiff::Timestamp;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use comparison::Comparison;

use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::{Clause, Group, MetricStep, Outcome, Step};
use crate::findings::watched::Watched;
use crate::findings::{Code, FindingView, find_except, views};
use crate::memory::{Knowledge, Memory, Possible};
use crate::outlook::{Outlook, Range, Upcoming};
use crate::pass::Pass;
use crate::saved::state::OWN_API_VERSION;
use crate::snapshot::basis::BasisView;
use crate::snapshot::clock::ClockDoubt;
use crate::snapshot::hpa::HpaSpec;
use crate::snapshot::input::Input;
use crate::snapshot::past::{Past, RecordedReplicas};
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;
use crate::words::metric_format;

/// A pass, explained. Serializes as the published object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation<'a> {
    api_version: &'static str,
    kind: &'static str,
    /// The version whose rules were applied.
    rules: String,
    hpa: HpaView<'a>,
    outcome: &'a Outcome,
    /// The highest proposal before stabilization and limits.
    pub proposal: Option<i32>,
    certainty: Certainty,
    /// The replicas after the pass, over all unknowns.
    pub range: Option<Range>,
    /// The record after a past pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordView>,
    /// The counts that follow, if the metrics' proposals stay the same.
    upcoming: &'a [Upcoming],
    /// The reason why the samples may belong to another time than the pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_doubt: Option<ClockDoubt>,
    /// The differences from the status that the controller last wrote; `None` for a manifest.
    comparison: Option<Comparison<'a>>,
    /// The problems, and other facts worth knowing, the most important first.
    pub findings: Vec<FindingView>,
    trace: TraceView<'a>,
    memory: MemoryView<'a>,
    basis: Vec<BasisView>,
    notes: Vec<String>,
    /// The pass that is explained.
    #[serde(skip)]
    pub(crate) pass: &'a Pass,
}

/// The replicas that were recorded after a past pass.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordView {
    replicas: i32,
    time: Timestamp,
    /// Whether the pass may have left as many; `None` if it has no range.
    in_range: Option<bool>,
    /// Whether it decides which answer is the most likely one.
    decides: bool,
}

impl RecordView {
    /// Returns the record after a past pass with this range, if there is one.
    fn of(past: &Past, outlook: &Outlook, range: Option<Range>) -> Option<Self> {
        let RecordedReplicas { replicas, time } = past.recorded?;
        let is_possible = |range: Range| outlook.refuted.is_none() && range.contains(replicas);
        Some(Self {
            replicas,
            time,
            in_range: range.map(is_possible),
            decides: past.decided,
        })
    }
}

/// Whether unknowns could change the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Certainty {
    /// Unknowns could not change it.
    Certain,
    /// Unknowns could change it, within the range.
    Bounded,
}

impl Certainty {
    /// Returns the certainty of the replicas of a pass.
    fn of(range: Option<Range>) -> Self {
        match range {
            Some(range) if range.min != range.max => Self::Bounded,
            _ => Self::Certain,
        }
    }
}

#[derive(Debug, Serialize)]
struct HpaView<'a> {
    name: &'a str,
    namespace: &'a str,
    spec: &'a HpaSpec,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MemoryView<'a> {
    knowledge: &'static str,
    possible: Option<&'a Possible>,
    before: &'a Memory,
    after: &'a Memory,
}

impl<'a> Explanation<'a> {
    /// The codes of the findings that match.
    pub fn of(&self, watched: Watched) -> Vec<Code> {
        let found = self
            .findings
            .iter()
            .filter(|it| watched.is(it.code, it.severity));
        found.map(|finding| finding.code).collect()
    }

    /// Explains a pass.
    pub fn new(pass: &'a Pass) -> Self {
        Self::ignoring(pass, &[])
    }

    /// Explains a pass without the findings of some codes.
    pub fn ignoring(pass: &'a Pass, codes: &[Code]) -> Self {
        let Pass {
            input,
            remembered,
            decision,
            outlook,
            ..
        } = pass;
        let Input {
            snapshot, basis, ..
        } = input;
        let past = &input.evidence.past;
        let range = outlook.range(decision);
        let certainty = Certainty::of(range);
        let hpa = &snapshot.hpa;
        Self {
            api_version: OWN_API_VERSION,
            kind: "Explanation",
            rules: snapshot.controller.version.to_string(),
            hpa: HpaView {
                name: &hpa.name,
                namespace: &hpa.namespace,
                spec: &hpa.spec,
            },
            outcome: &decision.outcome,
            proposal: decision.proposal,
            certainty,
            range,
            record: past
                .as_ref()
                .and_then(|past| RecordView::of(past, outlook, range)),
            upcoming: &outlook.upcoming,
            clock_doubt: input.clock_doubt,
            comparison: Comparison::new(pass),
            findings: views(pass, &find_except(pass, codes)),
            trace: TraceView {
                steps: &decision.trace,
                pods: &snapshot.pods,
            },
            memory: MemoryView {
                knowledge: match remembered.knowledge {
                    Knowledge::Stated => "stated",
                    Knowledge::JustStarted => "justStarted",
                    Knowledge::Inferred => "inferred",
                    Knowledge::Unknown => "unknown",
                },
                possible: remembered.possible.as_ref(),
                before: &remembered.likely,
                after: &decision.memory,
            },
            basis: {
                let grounds = remembered.grounds.iter().cloned();
                let of_past = past.iter().flat_map(Past::basis);
                basis
                    .iter()
                    .map(BasisView::from)
                    .chain(of_past)
                    .chain(grounds)
                    .collect()
            },
            notes: {
                let of_past = past.iter().flat_map(|past| past.notes(&hpa.spec));
                of_past
                    .chain(pass.notes().map(ToString::to_string))
                    .collect()
            },
            pass,
        }
    }
}

/// The steps, with the pods of each metric by name.
#[derive(Debug)]
struct TraceView<'a> {
    steps: &'a [Step],
    pods: &'a [Shared<Pod>],
}

impl Serialize for TraceView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.steps.len()))?;
        for step in self.steps {
            match step {
                Step::ComputeMetric(metric) => {
                    list.serialize_element(&MetricView::new(metric, self.pods))?;
                }
                step => list.serialize_element(step)?,
            }
        }
        list.end()
    }
}

#[derive(Serialize)]
struct MetricView<'a> {
    rule: &'static str,
    #[serde(flatten)]
    metric: &'a MetricStep,
    pods: Vec<PodView<'a>>,
}

impl<'a> MetricView<'a> {
    fn new(metric: &'a MetricStep, pods: &'a [Shared<Pod>]) -> Self {
        let format = metric_format(metric);
        let quantity = |milli| Quantity::from_milli(milli, format);
        let rows = metric.pods.iter().map(|row| PodView {
            name: &pods[row.pod as usize].name,
            group: row.group,
            clause: row.clause,
            value: row.value.map(quantity),
            request: row.request.map(quantity),
            counted: row.counted.map(quantity),
            until: row.until.map(|until| SecondsTime(until).to_string()),
        });
        Self {
            rule: "computeMetric",
            metric,
            pods: rows.collect(),
        }
    }
}

#[derive(Serialize)]
struct PodView<'a> {
    name: &'a str,
    group: Group,
    clause: Clause,
    value: Option<Quantity>,
    request: Option<Quantity>,
    counted: Option<Quantity>,
    until: Option<String>,
}
