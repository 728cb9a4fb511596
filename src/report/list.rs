//! Several passes: the published list of explanations, and a line for each with what happens, what
//! decided, what limits it and the worst that was found. The words are the controller's own reasons,
//! so that they lead from here to a pass's conditions and events.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::page::Words;
use super::section::Table;
use super::words::count;
use super::{Certainty, Explanation};
use crate::engine::decision::{Because, Block, MetricResult, Path, Step};
use crate::memory::Knowledge;
use crate::outlook::Range;
use crate::saved::objects::OWN_API_VERSION;
use crate::snapshot::{Listed, ScaleError};

/// The passes of several HPAs, by namespace and name. Serializes as the contract's object.
#[derive(Debug)]
pub struct ExplanationList<'a>(pub Vec<Listed<Explanation<'a>>>);

/// An HPA that could not be explained.
#[derive(Serialize)]
struct NotExplained<'a> {
    namespace: &'a str,
    name: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
}

impl Serialize for ExplanationList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let items: Vec<_> = self.0.iter().filter_map(|it| it.result.as_ref().ok()).collect();
        let errors = self.0.iter().filter_map(|listed| {
            let e = listed.result.as_ref().err()?;
            Some(NotExplained {
                namespace: &listed.namespace,
                name: &listed.name,
                message: &e.message,
                hint: e.hint.as_deref(),
            })
        });
        let errors: Vec<_> = errors.collect();
        let mut list = serializer.serialize_struct("ExplanationList", 4)?;
        list.serialize_field("apiVersion", OWN_API_VERSION)?;
        list.serialize_field("kind", "ExplanationList")?;
        list.serialize_field("items", &items)?;
        list.serialize_field("errors", &errors)?;
        list.end()
    }
}

/// What stands where there is nothing to say.
const NOTHING: &str = "-";

/// A line for each HPA; with its namespace where they may differ, and its limits if `wide`.
pub fn table(list: &ExplanationList<'_>, all_namespaces: bool, wide: bool) -> Table {
    let several = list.0.windows(2).any(|pair| pair[0].namespace != pair[1].namespace);
    let named = all_namespaces || several;
    let own = [
        ("NAME", false),
        ("REFERENCE", false),
        ("CURRENT", true),
        ("WANTED", true),
        ("WINNER", false),
        ("LIMIT", false),
    ];
    let more = [("MIN", true), ("MAX", true), ("PROPOSAL", true)];
    let columns = named.then_some(("NAMESPACE", false)).into_iter().chain(own);
    let columns = columns.chain(more.into_iter().filter(|_| wide)).chain([("FINDING", false)]);
    let rows = list.0.iter().map(|listed| {
        let mut row = Vec::new();
        row.extend(named.then(|| listed.namespace.clone()));
        row.push(listed.name.clone());
        row.push(listed.reference.clone());
        match &listed.result {
            Ok(explanation) => {
                row.extend([
                    explanation
                        .pass
                        .decision
                        .replicas_before()
                        .map(|replicas| replicas.to_string())
                        .unwrap_or_default(),
                    explanation.wanted().unwrap_or_default(),
                    explanation.winner().unwrap_or_default(),
                    explanation.limit().unwrap_or_default().to_owned(),
                ]);
                if wide {
                    let spec = explanation.hpa.spec;
                    let proposal = explanation.proposal.map(|replicas| replicas.to_string());
                    row.extend([
                        spec.min_replicas.unwrap_or(1).to_string(),
                        spec.max_replicas.to_string(),
                        proposal.unwrap_or_default(),
                    ]);
                }
                row.push(explanation.worst().unwrap_or_default());
            }
            Err(e) => {
                let unknown = if wide { 7 } else { 4 };
                row.extend(std::iter::repeat_n(String::new(), unknown));
                // The whole sentence is on standard error.
                row.push(match &e.reason {
                    Some(reason) => format!("Error from server ({reason})"),
                    None => e.message.clone(),
                });
            }
        }
        for cell in row.iter_mut().filter(|cell| cell.is_empty()) {
            NOTHING.clone_into(cell);
        }
        row
    });
    Table { columns: columns.collect(), rows: rows.collect() }
}

impl Explanation<'_> {
    /// The replicas after the pass, with their range where it is not certain; none where the
    /// controller cannot decide.
    fn wanted(&self) -> Option<String> {
        if self.pass.is_unanswered() {
            return self.range.map(|Range { min, max }| format!("{min}-{max}"));
        }
        let undecided =
            matches!(self.pass.decision.block(), Some(Block::Selector | Block::Metrics));
        if undecided || self.pass.decision.is_unread() {
            return None;
        }
        if let Some((refused, _)) = self.pass.decision.unwritten() {
            return Some(refused.to_string());
        }
        let likely = self.pass.decision.replicas_after()?;
        Some(match (self.certainty, self.range) {
            (Certainty::Bounded, Some(range)) => format!("{likely} ({}-{})", range.min, range.max),
            _ => likely.to_string(),
        })
    }

    /// The metric with the highest proposal.
    fn winner(&self) -> Option<String> {
        self.pass.decision.winner().map(Words::short_label)
    }

    /// The last rule that changed the number, as the controller's reason or the field of the spec;
    /// `tolerance` where it is what keeps the replicas.
    fn limit(&self) -> Option<&'static str> {
        let mut changed = self.pass.decision.trace.iter().filter_map(|step| match step {
            Step::ChoosePath { path: Path::AboveMax, .. } => Some("maxReplicas"),
            Step::ChoosePath { path: Path::BelowMin, .. } | Step::RaiseToMin { .. } => {
                Some("minReplicas")
            }
            Step::Stabilize { desired, result, reason, .. }
            | Step::Limit { desired, result, reason, .. }
                if desired != result =>
            {
                Some(*reason)
            }
            _ => None,
        });
        changed.next_back().or_else(|| self.is_tolerated().then_some("tolerance"))
    }

    fn is_tolerated(&self) -> bool {
        let kept = self.pass.decision.proposal == self.pass.decision.replicas_before();
        self.pass.decision.winner().filter(|_| kept).is_some_and(|metric| {
            matches!(&metric.result, MetricResult::Proposal(proposal)
                if proposal.because == Because::WithinTolerance && proposal.ratio != 1.0)
        })
    }

    /// The worst that was found, in this order: the scale cannot be read or written; the
    /// controller decides nothing, for the reason of ScalingActive; metrics are unread here; some
    /// metrics fail; the maximum is reached; pods are without usable metrics; what the controller
    /// remembers is not known, or not for sure, and matters; there are notes.
    fn worst(&self) -> Option<String> {
        let trace = &self.pass.decision.trace;
        let find = |pick: fn(&Step) -> Option<&'static str>| trace.iter().find_map(pick);
        if let Err(ScaleError::Missing(_)) = self.pass.input.snapshot.scale {
            return Some("the input has no target".to_owned());
        }
        let blocked = find(|step| match step {
            Step::ReadScale { error: Some(_), .. } => Some("FailedGetScale"),
            Step::Rescale { error: Some(_), .. } => Some("FailedUpdateScale"),
            Step::RejectSelector { reason, .. } => Some(reason),
            Step::ChoosePath { path: Path::Disabled, .. } => Some("ScalingDisabled"),
            _ => None,
        });
        if let Some(reason) = blocked {
            return Some(reason.to_owned());
        }
        if let Some(lacking) = self.pass.decision.outcome.lacking(self.hpa.spec) {
            return Some(lacking);
        }
        let failed: Vec<&str> = self
            .pass
            .decision
            .metrics()
            .filter_map(|metric| match &metric.result {
                MetricResult::Error(e) => Some(e.reason),
                MetricResult::Proposal(_) | MetricResult::Unread(_) => None,
            })
            .collect();
        let total = self.pass.decision.metrics().count();
        match failed[..] {
            [] => {}
            [first, ..] if failed.len() == total => return Some(first.to_owned()),
            [first, ..] => {
                return Some(format!("{first} ({} of {total} metrics)", failed.len()));
            }
        }
        let max = self.hpa.spec.max_replicas;
        let reached = |replicas: i32| replicas >= max;
        if self.pass.decision.replicas_before().is_some_and(reached)
            && self.pass.decision.replicas_after().is_some_and(reached)
        {
            return Some("at maxReplicas".to_owned());
        }
        let counted = self.pass.decision.metrics().filter_map(|metric| match &metric.result {
            MetricResult::Proposal(proposal) => proposal.counted,
            MetricResult::Error(_) | MetricResult::Unread(_) => None,
        });
        if let Some(most) = counted.max_by_key(|counted| (counted.missing, counted.unready)) {
            match (most.missing, most.unready) {
                (0, 0) => {}
                (0, unready) => return Some(count(unready, "unready pod")),
                (missing, 0) => return Some(count(missing, "missing pod")),
                (missing, unready) => {
                    let unready = count(unready, "unready pod");
                    return Some(format!("{missing} missing, {unready}"));
                }
            }
        }
        if self.certainty == Certainty::Bounded {
            let memory = match self.pass.remembered.knowledge {
                Knowledge::Inferred => "history uncertain",
                _ => "history unknown",
            };
            return Some(memory.to_owned());
        }
        (!self.notes.is_empty()).then(|| count(self.notes.len(), "note"))
    }
}
