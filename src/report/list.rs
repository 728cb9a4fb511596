//! Several passes: the published list of explanations, and a line for each with what happens and the code of
//! the worst finding. The wide list adds what decided and what limits it, in the controller's own reasons,
//! which can be looked up in a pass's conditions and events.

use std::borrow::Cow;

use serde::Serialize;

use super::page::{Words, metrics};
use super::{Certainty, Explanation};
use crate::engine::decision::{Because, Block, MetricStep};
use crate::engine::hold::Hold;
use crate::findings::Severity;
use crate::memory::Knowledge;
use crate::outlook::Range;
use crate::saved::state::OWN_API_VERSION;
use crate::snapshot::right::MissingRight;
use crate::snapshot::{Listed, ScaleError};
use crate::words::{count, lacking};

/// The published list of several HPAs' explanations, still without these, each of which is written by itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplanationList<'a> {
    api_version: &'static str,
    kind: &'static str,
    items: [(); 0],
    errors: Vec<NotExplained<'a>>,
}

/// An HPA that could not be explained.
#[derive(Serialize)]
struct NotExplained<'a> {
    namespace: &'a str,
    name: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
}

impl<'a> ExplanationList<'a> {
    /// Returns the list of these HPAs, with the errors of those that could not be explained.
    pub fn new<T: 'a>(hpas: impl Iterator<Item = &'a Listed<T>>) -> Self {
        let failed = hpas.filter_map(|hpa| Some((hpa, hpa.result.as_ref().err()?)));
        let errors = failed.map(|(hpa, e)| NotExplained {
            namespace: &hpa.namespace,
            name: &hpa.name,
            message: &e.message,
            hint: e.hint.as_deref(),
        });
        Self {
            api_version: OWN_API_VERSION,
            kind: "ExplanationList",
            items: [],
            errors: errors.collect(),
        }
    }
}

/// States that each HPA took more requests than with the rights to list.
pub fn one_by_one(refused: &[MissingRight]) -> Option<String> {
    let first = refused.first()?;
    let more = match refused.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "Warning: targets were requested one by one, which takes longer: {first}{more} (see -v 1)"
    ))
}

/// The text of an empty cell.
const NOTHING: &str = "-";

/// A line for each HPA, with its severity.
pub type Row = (Option<Severity>, Vec<String>);

/// The lines of a list, the worst first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The columns, each with whether it holds numbers; the last has the finding.
    pub columns: Vec<(Cow<'static, str>, bool)>,
    /// The lines.
    pub rows: Vec<Row>,
}

/// The columns that are dropped or cut if a list is too wide, each with the width that it keeps; the first is
/// left out. Targets mostly have the names of their HPAs, and standard error has the full text of an error.
pub const SPARE: [(&str, Option<usize>); 3] = [
    ("REFERENCE", None),
    ("FINDING", Some(26)),
    ("TARGETS", Some(15)),
];

/// Returns the lines of HPAs, the worst first; with their namespaces if they may differ.
pub fn overview(mut rows: Vec<Row>, all_namespaces: bool, wide: bool) -> Overview {
    let several = rows
        .windows(2)
        .any(|pair| pair[0].1.first() != pair[1].1.first());
    let named = all_namespaces || several;
    let always = [
        ("NAMESPACE", false),
        ("NAME", false),
        ("REFERENCE", false),
        ("TARGETS", false),
        ("CURRENT", true),
        ("WANTED", true),
    ];
    let more = [
        ("MIN", true),
        ("MAX", true),
        ("PROPOSAL", true),
        ("WINNER", false),
        ("LIMIT", false),
    ];
    let columns: Vec<(Cow<'static, str>, bool)> = always
        .into_iter()
        .chain(more.into_iter().filter(|_| wide))
        .chain([("FINDING", false)])
        .skip(usize::from(!named))
        .map(|(title, numbers)| (title.into(), numbers))
        .collect();
    for (_, row) in &mut rows {
        if !named {
            row.remove(0);
        }
        // An HPA without an answer has nothing between its name and the error.
        while row.len() < columns.len() {
            row.insert(row.len() - 1, String::new());
        }
        for cell in row.iter_mut().filter(|cell| cell.is_empty()) {
            NOTHING.clone_into(cell);
        }
    }
    // Those without a finding come last; others stay sorted by namespace and name.
    rows.sort_by_key(|(severity, _)| (severity.is_none(), *severity));
    Overview { columns, rows }
}

/// Returns the line of an HPA, which begins with its namespace; with the rule that limits it if `wide`.
pub fn row(listed: &Listed<Explanation<'_>>, wide: bool) -> Row {
    let mut row = vec![
        listed.namespace.clone(),
        listed.name.clone(),
        listed.reference.clone(),
    ];
    let severity = match &listed.result {
        Ok(explanation) => {
            let current = explanation.pass.decision.replicas_before();
            row.extend([
                explanation.targets(),
                current
                    .map(|replicas| replicas.to_string())
                    .unwrap_or_default(),
                explanation.wanted().unwrap_or_default(),
            ]);
            if wide {
                let spec = explanation.hpa.spec;
                let proposal = explanation.proposal.map(|replicas| replicas.to_string());
                row.extend([
                    spec.min().to_string(),
                    spec.max_replicas.to_string(),
                    proposal.unwrap_or_default(),
                    explanation.winner().unwrap_or_default(),
                    explanation.limit().unwrap_or_default().to_owned(),
                ]);
            }
            let (severity, finding) = explanation.worst();
            row.push(finding);
            severity
        }
        Err(e) => {
            // The whole sentence is on standard error.
            row.push(match &e.reason {
                Some(reason) => format!("Error from server ({reason})"),
                None => e.message.clone(),
            });
            Some(Severity::Error)
        }
    };
    (severity, row)
}

impl Explanation<'_> {
    /// Returns the replicas after the pass, with their range if it is uncertain; `None` if the
    /// controller cannot decide.
    fn wanted(&self) -> Option<String> {
        if self.pass.is_unanswered() {
            return self.range.map(|Range { min, max }| format!("{min}-{max}"));
        }
        let undecided = self.pass.decision.block().is_some_and(Block::is_undecided);
        if undecided {
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

    /// Returns the metric with the highest proposal.
    fn winner(&self) -> Option<String> {
        self.pass
            .decision
            .winner()
            .map(|own| Words::label_in(self.hpa.spec, own))
    }

    /// Returns the last rule that changed the number, as the controller's reason or the field of the spec;
    /// `tolerance` if the tolerance keeps the replicas.
    fn limit(&self) -> Option<&'static str> {
        let changed = self.pass.decision.holds().filter_map(|hold| match hold {
            Hold::Corrected(beyond, _) => Some(beyond.words().bound),
            Hold::Woken(_) => Some("minReplicas"),
            Hold::Window(stabilized) => Some(stabilized.reason),
            Hold::Limit(limit) => Some(limit.reason),
            _ => None,
        });
        changed
            .last()
            .or_else(|| self.is_tolerated().then_some("tolerance"))
    }

    fn is_tolerated(&self) -> bool {
        const TOLERATED: [Because; 2] = [Because::WithinTolerance, Because::FilledWithinTolerance];
        let kept = self.pass.decision.proposal == self.pass.decision.replicas_before();
        self.pass
            .decision
            .winner()
            .filter(|_| kept)
            .and_then(MetricStep::proposal)
            .is_some_and(|it| it.ratio != 1.0 && TOLERATED.contains(&it.because))
    }

    /// Returns the metrics as `kubectl get hpa` shows them, evaluated or not: `cpu: 63%/80%`.
    fn targets(&self) -> String {
        const SHOWN: usize = 2;
        let scale = self.pass.input.snapshot.scale.as_ref().ok();
        let shown = |place: usize| {
            let step = self.pass.decision.metric(place);
            metrics::current_and_target(self.hpa.spec, place, step, scale)
        };
        let places = 0..self.hpa.spec.metrics.len();
        let all: Vec<String> = places.map(shown).collect();
        let mut text = all[..all.len().min(SHOWN)].join(", ");
        if all.len() > SHOWN {
            text += &format!(" + {} more...", all.len() - SHOWN);
        }
        text
    }

    /// Returns the highest severity, and the first finding that has it; without findings, that the controller
    /// cannot decide or scale, or why the answer is uncertain.
    fn worst(&self) -> (Option<Severity>, String) {
        if let Some(worst) = self.findings.iter().min_by_key(|it| it.severity) {
            let more = match self.findings.len() {
                1 => String::new(),
                all => format!(" (+{})", all - 1),
            };
            return (
                Some(worst.severity),
                format!("{}{more}", worst.code.as_str()),
            );
        }
        let absent = match &self.pass.input.snapshot.scale {
            Err(ScaleError::Missing(target)) => {
                Some(match &self.pass.input.surroundings.target_elsewhere {
                    Some(own) => format!("the target is in another namespace: {}", own.remedy()),
                    None if target.lacks_scale => "the input has no scale".to_owned(),
                    None => "the input has no target".to_owned(),
                })
            }
            Err(ScaleError::NoReplicas { .. }) => Some("the input has no replicas".to_owned()),
            _ => None,
        };
        if let Some(absent) = absent {
            // One of them already states that.
            let more = match self.notes.len() {
                0 | 1 => String::new(),
                all => format!(" (+{})", count(all - 1, "note")),
            };
            return (Some(Severity::Error), absent + &more);
        }
        if let Some(lacking) = lacking(&self.pass.decision.outcome.lacking(self.hpa.spec)) {
            // The answer may not depend on it.
            return (
                self.pass.is_unanswered().then_some(Severity::Error),
                lacking,
            );
        }
        match self.pass.decision.block() {
            None | Some(Block::AtZero) => {}
            Some(block) => {
                let cannot = if block.is_undecided() {
                    "cannot decide"
                } else {
                    "cannot scale"
                };
                return (Some(Severity::Error), cannot.to_owned());
            }
        }
        if self.certainty == Certainty::Bounded {
            let memory = match self.pass.remembered.knowledge {
                Knowledge::Inferred => "history uncertain",
                _ => "history unknown",
            };
            return (None, memory.to_owned());
        }
        let notes = (!self.notes.is_empty()).then(|| count(self.notes.len(), "note"));
        (None, notes.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::build;
    use crate::findings::testing::{pass, state};
    use crate::findings::{Code, FindingView};

    /// The order is the report's, where a rule that decides comes before a warning that changes nothing.
    #[test]
    fn the_most_severe_finding_is_named() {
        let cpu = build::resource("cpu", &build::utilization(50));
        let pass = pass(&state(&[cpu], &["500m"; 4]));
        let mut explanation = Explanation::new(&pass);
        let Some(first) = explanation.findings.first().cloned() else {
            panic!("no finding")
        };
        let of = |code, severity| FindingView {
            code,
            severity,
            ..first.clone()
        };
        explanation.findings = vec![
            of(Code::Rounding, Severity::Info),
            of(Code::Flapping, Severity::Warning),
            of(Code::MetricNotFound, Severity::Warning),
        ];
        let worst = explanation.worst();
        assert_eq!(worst, (Some(Severity::Warning), "flapping (+2)".to_owned()));
    }

    /// The values that are assumed for a pod without metrics may also lead to a ratio within the tolerance.
    #[test]
    fn a_ratio_within_the_tolerance_limits() {
        let cpu = build::resource("cpu", &build::utilization(50));
        for (used, without_metrics, limit) in [
            ("50m", 0, None),
            ("53m", 0, Some("tolerance")),
            ("80m", 1, Some("tolerance")),
            ("80m", 0, None),
        ] {
            let mut items = state(std::slice::from_ref(&cpu), &[used; 3]);
            items.truncate(items.len() - without_metrics);
            let pass = pass(&items);
            let limit_shown = Explanation::new(&pass).limit();
            assert_eq!(limit_shown, limit, "{used}, {without_metrics} without");
        }
    }

    /// A failure that no finding explains is not below HPAs that work.
    #[test]
    fn no_decision_is_the_worst_without_a_finding() {
        let selector = json!({"matchLabels": {"queue": "it's"}});
        let external = json!({
            "metric": {"name": "depth", "selector": selector},
            "target": build::average("10"),
        });
        let depth = json!({"type": "External", "external": external});
        let pass = pass(&state(&[depth], &["500m"; 4]));
        let mut explanation = Explanation::new(&pass);
        explanation.findings.clear();
        let worst = explanation.worst();
        assert_eq!(worst, (Some(Severity::Error), "cannot decide".to_owned()));
    }

    /// The controller divides by the replicas, and writes the result into the status.
    #[test]
    fn an_average_over_no_replicas_is_no_value() {
        let queue = build::external("queue", &build::average("10"));
        for (running, shown) in [(2, "queue: 20/10 (avg)"), (0, "queue: <unknown>/10 (avg)")] {
            let scale = build::with(build::scale(2), &json!({"status": {"replicas": running}}));
            let items = [
                build::hpa(&json!({"maxReplicas": 20, "metrics": [queue]})),
                scale,
                build::state(&json!({})),
                build::queue(&["40"]),
            ];
            let pass = pass(&items);
            assert_eq!(Explanation::new(&pass).targets(), shown);
        }
    }
}
