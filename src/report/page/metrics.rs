//! The metrics: the value of each, its proposal, and the formula between the two.

use super::Words;
use super::findings::shown;
use crate::engine::decision::{
    Because, Filled, Group, MetricResult, MetricStep, PodCounts, Proposal,
};
use crate::findings::Severity;
use crate::numbers::plain_quantity;
use crate::report::section::{Detail, Part, Section, Table};
use crate::snapshot::hpa::{HpaSpec, MetricValueStatus};
use crate::snapshot::{Scale, UnreadCause};
use crate::words::{amount_of, count, fills, list, number, quantity, value};

impl Words<'_> {
    /// Returns the metrics, with the result of each.
    pub(super) fn metrics(&self) -> Option<Section> {
        let body = [
            Part::Table(self.metric_table()),
            Part::Pairs(self.metric_details()),
        ];
        Section::new("", Detail::Always, body)
    }

    pub(in crate::report) fn metric_table(&self) -> Table {
        let combined = self.explanation.pass.decision.combination();
        let highest = combined.and_then(|combined| combined.by);
        let columns = [
            ("METRIC", false),
            ("CURRENT", true),
            ("TARGET", true),
            ("RATIO", true),
            ("COUNTED", false),
            ("PROPOSES", true),
            ("", false),
        ];
        let mut table = Table::new(columns, Vec::new());
        for metric in self.metric_steps() {
            let mut row = vec![self.label(metric)];
            match &metric.result {
                MetricResult::Proposal(proposal) => {
                    row.extend([
                        self.current(metric, proposal),
                        target(metric),
                        number(proposal.ratio),
                        self.counted(metric, proposal),
                        proposal.replicas.to_string(),
                        if highest == Some(metric.index) {
                            "highest"
                        } else {
                            ""
                        }
                        .to_owned(),
                    ]);
                }
                MetricResult::Error(_) | MetricResult::Unread(_) => {
                    let outcome = match &metric.result {
                        MetricResult::Unread(
                            UnreadCause::Refused { .. } | UnreadCause::PodsRefused { .. },
                        ) => "access denied",
                        MetricResult::Unread(UnreadCause::Unanswered { .. }) => "not read",
                        MetricResult::Unread(UnreadCause::Missing { documents }) => {
                            &format!("not in the {}", documents.container())
                        }
                        _ => "failed",
                    };
                    row.extend([
                        "-".to_owned(),
                        target(metric),
                        "-".to_owned(),
                        counts_of(metric).map_or_else(|| "-".to_owned(), counts),
                        "-".to_owned(),
                        outcome.to_owned(),
                    ]);
                }
            }
            table.rows.push(row);
        }
        table
    }

    /// Returns the value of the metric.
    fn current(&self, metric: &MetricStep, proposal: &Proposal) -> String {
        let spec = self.explanation.hpa.spec.metrics.get(metric.index);
        if is_over_none(metric, proposal, self.scale()) {
            "-".to_owned()
        } else {
            value(spec, &proposal.current)
        }
    }

    fn counted(&self, metric: &MetricStep, proposal: &Proposal) -> String {
        match proposal.counted {
            Some(pods) => counts(pods),
            None if metric.target.average_value.is_some() => {
                let replicas = self.scale().map_or(0, |scale| scale.status_replicas);
                count(replicas, "replica")
            }
            None => "-".to_owned(),
        }
    }

    /// Describes how each metric reached its result, or why it has none.
    fn metric_details(&self) -> Vec<(String, String)> {
        self.metric_steps()
            .filter(|metric| self.wide || self.needs_words(metric))
            .map(|metric| {
                let detail = match &metric.result {
                    MetricResult::Proposal(proposal) => {
                        let mut formula = self.formula(metric, proposal);
                        if proposal.replicas == i32::MIN {
                            formula += if proposal.ratio.is_nan() {
                                ", because 0 divided by 0 is no number"
                            } else {
                                ", because the value overflows 32 bits"
                            };
                        }
                        let is_told = matches!(
                            proposal.because,
                            Because::WithinTolerance | Because::FilledWithinTolerance
                        );
                        if self.wide && !is_told {
                            format!("{formula} (tolerance {})", tolerance_of(metric))
                        } else {
                            formula
                        }
                    }
                    MetricResult::Error(error) if error.is_silent() => error.error.clone(),
                    MetricResult::Error(error) => format!("{}: {}", error.reason, error.message),
                    MetricResult::Unread(
                        UnreadCause::Refused { message } | UnreadCause::PodsRefused { message },
                    ) => {
                        format!("access denied: {message}")
                    }
                    MetricResult::Unread(UnreadCause::Unanswered { message }) => {
                        format!("not read: {message}")
                    }
                    MetricResult::Unread(UnreadCause::Missing { documents }) => {
                        format!(
                            "the {} has no {} for it",
                            documents.container(),
                            documents.kind()
                        )
                    }
                };
                let label = if self.wide {
                    let metrics = &self.explanation.hpa.spec.metrics;
                    metrics[metric.index].label(metrics)
                } else {
                    self.label(metric)
                };
                (label, detail)
            })
            .collect()
    }

    /// Whether ratio, pods and proposal do not explain one another, and no finding explains a failure.
    fn needs_words(&self, metric: &MetricStep) -> bool {
        let shown = || shown(&self.explanation.findings, Severity::Info);
        match &metric.result {
            MetricResult::Proposal(proposal) => {
                proposal.filled.is_some()
                    || proposal.replicas == i32::MIN
                    || matches!(proposal.because, Because::FromZero)
            }
            MetricResult::Error(_) => !shown()
                .iter()
                .any(|finding| finding.metrics.contains(&metric.index)),
            MetricResult::Unread(_) => true,
        }
    }

    fn formula(&self, metric: &MetricStep, proposal: &Proposal) -> String {
        let Proposal {
            replicas,
            ratio,
            because,
            filled,
            counted,
            ..
        } = proposal;
        let tolerance = format!("within {}", tolerance_of(metric));
        let filled_text = filled
            .map(|filled| self.filled(&filled, counted.as_ref()))
            .unwrap_or_default();
        let new_ratio = filled.map_or(*ratio, |filled| filled.ratio);
        let size = filled.map_or(0, |filled| filled.size);
        match because {
            Because::WithinTolerance => {
                let keeps = self.keeps(proposal);
                format!("ratio {} is {tolerance}: keeps {keeps}", number(*ratio))
            }
            Because::RatioTimesReady => {
                let ready = counted.map_or(0, |counted| counted.ready);
                format!(
                    "{} × {}, rounded up: {replicas}",
                    number(*ratio),
                    count(ready, "ready pod")
                )
            }
            Because::FilledWithinTolerance if new_ratio == *ratio => {
                format!("ratio {} is {tolerance}: keeps {replicas}", number(*ratio))
            }
            Because::FilledWithinTolerance => format!(
                "{filled_text} the ratio is {}, {tolerance}: keeps {replicas}",
                number(new_ratio)
            ),
            Because::DirectionFlips => format!(
                "{filled_text} the ratio reverses from {} to {}: keeps {replicas}",
                number(*ratio),
                number(new_ratio)
            ),
            Because::CountFlips => format!(
                "{filled_text} {} × {} reverses the direction: keeps {replicas}",
                number(new_ratio),
                count(size, "pod")
            ),
            Because::RatioTimesFilled => format!(
                "{filled_text} {} × {}, rounded up: {replicas}",
                number(new_ratio),
                count(size, "pod")
            ),
            Because::UsageOverTarget => {
                let total = proposal.total.as_ref().map(quantity).unwrap_or_default();
                let target = target(metric);
                format!("{total} in total / {target}, rounded up: {replicas}")
            }
            Because::FromZero => format!("{} from zero, rounded up: {replicas}", number(*ratio)),
        }
    }

    /// Describes the count that a metric on its target keeps: for an average over the replicas, that is the count
    /// in the target's status, which may differ from its spec.
    fn keeps(&self, proposal: &Proposal) -> String {
        let replicas = proposal.replicas;
        match self.scale().filter(|scale| scale.spec_replicas != replicas) {
            Some(scale) => format!(
                "{replicas}, the target's status.replicas (spec.replicas is {})",
                scale.spec_replicas
            ),
            None => replicas.to_string(),
        }
    }

    fn filled(&self, filled: &Filled, counts: Option<&PodCounts>) -> String {
        let counted = counts.copied().unwrap_or_default();
        let missing = count(counted.missing, "missing pod");
        let parts = fills(filled, &missing, counted.unready);
        if parts.is_empty() {
            return "as it is,".to_owned();
        }
        format!("with {},", list(&parts))
    }
}

/// Whether the value of a metric is an average over no replicas, which is no value.
fn is_over_none(metric: &MetricStep, proposal: &Proposal, scale: Option<&Scale>) -> bool {
    let is_average = proposal.total.is_some() && metric.target.average_value.is_some();
    is_average && scale.is_some_and(|scale| scale.status_replicas == 0)
}

/// Returns a metric as `kubectl get hpa` shows it: `cpu: 63%/80%`; without a value if it has none or was not
/// evaluated.
pub(in crate::report) fn current_and_target(
    spec: &HpaSpec,
    place: usize,
    step: Option<&MetricStep>,
    scale: Option<&Scale>,
) -> String {
    let (spec, label) = (&spec.metrics[place], spec.label(place));
    let current = step
        .and_then(|step| {
            let proposal = step.proposal()?;
            if is_over_none(step, proposal, scale) {
                return None;
            }
            let MetricValueStatus {
                average_utilization,
                average_value,
                value,
            } = &proposal.current;
            let amount = average_value.as_ref().or(value.as_ref());
            average_utilization
                .map(|percent| format!("{percent}%"))
                .or_else(|| Some(amount_of(Some(spec), amount?)))
        })
        .unwrap_or_else(|| "<unknown>".to_owned());
    let target = spec.target();
    let is_average = spec.is_total() && target.is_some_and(|it| it.average_value.is_some());
    let wanted = target.and_then(|it| it.worded(quantity));
    let average = if is_average { " (avg)" } else { "" };
    format!(
        "{label}: {current}/{}{average}",
        wanted.as_deref().unwrap_or("-")
    )
}

fn target(metric: &MetricStep) -> String {
    let target = &metric.target;
    let amount = if metric.is_resource() {
        quantity
    } else {
        plain_quantity
    };
    let is_average = metric.is_total() && target.average_value.is_some();
    let per_pod = if is_average { " per pod" } else { "" };
    let text = target.worded(|it| format!("{}{per_pod}", amount(it)));
    text.unwrap_or_else(|| "-".to_owned())
}

/// Describes the ratios that change nothing.
fn tolerance_of(metric: &MetricStep) -> String {
    let tolerance = metric.tolerance;
    format!(
        "{} to {}",
        number(tolerance.lowest()),
        number(1.0 + tolerance.up)
    )
}

fn counts(pods: PodCounts) -> String {
    let parts: Vec<String> = [
        (pods.ready, "ready"),
        (pods.unready, "unready"),
        (pods.missing, "missing"),
        (pods.ignored, "ignored"),
        (pods.strangers, "unknown"),
    ]
    .into_iter()
    .filter(|(n, group)| *n > 0 || *group == "ready")
    .map(|(n, group)| format!("{n} {group}"))
    .collect();
    parts.join(", ")
}

/// Returns the groups of the pods of a metric that failed, if it got that far.
fn counts_of(metric: &MetricStep) -> Option<PodCounts> {
    if metric.pods.is_empty() && metric.strangers == 0 {
        return None;
    }
    let of = |group| metric.pods.iter().filter(|row| row.group == group).count();
    Some(PodCounts {
        ready: of(Group::Ready),
        unready: of(Group::Unready),
        missing: of(Group::Missing),
        ignored: of(Group::Ignored),
        strangers: metric.strangers,
    })
}
