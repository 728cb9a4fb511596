//! The report for people: one sentence with what happens and why, the metrics, the way from the
//! highest proposal to the replicas, the pods, what the controller would say, and what was assumed.
//! Everything is text here; layout and colour come later.

use jiff::Timestamp;

use super::words::{count, distance, duration, future, list, number, percent, quantity, sentence};
use super::{Certainty, Explanation, format_of};
use crate::engine::decision::{
    Because, Clause, Direction, Fill, Filled, Group, MetricResult, MetricStep, Path, PodCounts,
    PodRow, Proposal, RateLimit, Step,
};
use crate::json::SecondsTime;
use crate::memory::Knowledge;
use crate::quantity::Quantity;
use crate::snapshot::Scale;
use crate::snapshot::controller::RULES_VERSION;
use crate::snapshot::hpa::MetricTarget;
use crate::snapshot::stated::Recommendation;

/// A report, section by section.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
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
    /// A row for each metric.
    pub metrics: Table,
    /// How each metric came to its proposal.
    pub metric_details: Vec<(String, String)>,
    /// From the highest proposal to the replicas.
    pub path: Vec<PathLine>,
    /// For each metric, its pods.
    pub pods: Vec<PodTable>,
    /// Conditions as the controller would write them.
    pub conditions: Table,
    /// Events as the controller would send them.
    pub events: Table,
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
    pub const ASCII: Self = Self {
        arrow: "->",
        times: "x",
        at_most: "<=",
    };
    /// For terminals that show Unicode.
    pub const UNICODE: Self = Self {
        arrow: "→",
        times: "×",
        at_most: "≤",
    };
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

/// How many unusual pods the default report shows of each metric.
const UNUSUAL_PODS: usize = 10;

impl Page {
    /// Words an explanation. `wide` adds what is usually not needed: every pod, and
    /// the tolerance of each metric.
    pub fn new(explanation: &Explanation<'_>, wide: bool, symbols: Symbols) -> Self {
        let words = Words {
            explanation,
            wide,
            symbols,
        };
        let (tone, verdict, why) = words.verdict();
        Self {
            title: words.title(),
            subtitle: words.subtitle(),
            tone,
            verdict,
            why,
            metrics: words.metrics(),
            metric_details: words.metric_details(),
            path: words.path(),
            pods: words.pods(),
            conditions: words.conditions(),
            events: words.events(),
            assumed: words.assumed(),
            notes: explanation.notes.to_vec(),
        }
    }
}

struct Words<'a> {
    explanation: &'a Explanation<'a>,
    wide: bool,
    symbols: Symbols,
}

impl Words<'_> {
    fn steps(&self) -> &[Step] {
        &self.explanation.decision.trace
    }

    fn metric_steps(&self) -> impl Iterator<Item = &MetricStep> {
        self.steps().iter().filter_map(|step| match step {
            Step::ComputeMetric(metric) => Some(&**metric),
            _ => None,
        })
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
        format!(
            "{}/{} {arrow} {}/{}",
            hpa.namespace, hpa.name, target.kind, target.name
        )
    }

    fn subtitle(&self) -> String {
        format!("rules of {RULES_VERSION}, at {}", SecondsTime(self.now()))
    }

    /// What a metric is called in the report, without its selector.
    fn short_label(metric: &MetricStep) -> String {
        let mut label = metric.name.clone();
        if let Some(container) = &metric.container {
            label = format!("{label} in {container}");
        }
        if let Some(object) = &metric.described_object {
            label = format!("{label} on {object}");
        }
        if label.is_empty() {
            format!("metric {}", metric.index + 1)
        } else {
            label
        }
    }

    /// What a metric is called in the report.
    fn label(&self, metric: &MetricStep) -> String {
        let label = Self::short_label(metric);
        let spec = &self.explanation.snapshot.hpa.spec.metrics[metric.index];
        let selector = [
            spec.pods.as_ref().map(|source| &source.metric),
            spec.object.as_ref().map(|source| &source.metric),
            spec.external.as_ref().map(|source| &source.metric),
        ]
        .into_iter()
        .flatten()
        .find_map(|metric| metric.selector.as_ref()?.to_selector().ok());
        match selector.map(|selector| selector.to_string()) {
            Some(selector) if !selector.is_empty() => format!("{label}{{{selector}}}"),
            _ => label,
        }
    }

    fn verdict(&self) -> (Tone, String, Vec<String>) {
        let outcome = self.explanation.outcome;
        let arrow = self.symbols.arrow;
        let mut why = Vec::new();
        let Some(scale) = self.scale() else {
            why.push(sentence(&format!("{}.", self.no_scale())));
            return (Tone::Blocked, "CANNOT SCALE".to_owned(), why);
        };
        let current = scale.spec_replicas;
        let failed_write = self.steps().iter().find_map(|step| match step {
            Step::Rescale {
                to,
                error: Some(error),
                ..
            } => Some((*to, error)),
            _ => None,
        });
        why.push(self.because(current));
        if let Certainty::Bounded = self.explanation.certainty
            && let Some(range) = self.explanation.range
        {
            why.push(format!(
                "Not certain: what the controller remembers is unknown, and it may end anywhere \
                 from {} to {}.",
                range.min, range.max
            ));
        }
        if let Some((to, error)) = failed_write {
            why.push(format!("Writing the scale fails: {error}."));
            return (
                Tone::Blocked,
                format!("CANNOT SCALE {current} {arrow} {to}"),
                why,
            );
        }
        let decided = self.steps().iter().any(|step| {
            matches!(
                step,
                Step::ChoosePath {
                    path: Path::Disabled,
                    ..
                } | Step::RejectSelector { .. }
                    | Step::CombineMetrics {
                        accepted: false,
                        ..
                    }
            )
        });
        let (tone, verdict) = match outcome.scale_to {
            Some(to) if to > current => (Tone::Up, format!("SCALE UP {current} {arrow} {to}")),
            Some(to) => (Tone::Down, format!("SCALE DOWN {current} {arrow} {to}")),
            None if decided && current == 0 => (Tone::Blocked, "DISABLED AT 0".to_owned()),
            None if decided => (Tone::Blocked, format!("CANNOT DECIDE, STAYS AT {current}")),
            None => (Tone::Stay, format!("STAYS AT {current}")),
        };
        (tone, verdict, why)
    }

    fn no_scale(&self) -> String {
        let error = self.steps().iter().find_map(|step| match step {
            Step::ReadScale { error, .. } => error.as_deref(),
            _ => None,
        });
        format!(
            "the scale of the target cannot be read: {}",
            error.unwrap_or("unknown")
        )
    }

    /// Why it comes out as it does, in one sentence.
    fn because(&self, current: i32) -> String {
        let mut text = String::new();
        for step in self.steps() {
            match step {
                Step::ChoosePath {
                    path,
                    current,
                    min,
                    max,
                } => match path {
                    Path::Disabled => {
                        return "The target has 0 replicas: the controller leaves it alone until \
                                something else scales it up."
                            .to_owned();
                    }
                    Path::AboveMax => {
                        return format!(
                            "{current} is above the maximum of {max}, which is corrected without \
                             a look at metrics, stabilization or rate limits."
                        );
                    }
                    Path::BelowMin => {
                        return format!(
                            "{current} is below the minimum of {min}, which is corrected without \
                             a look at metrics, stabilization or rate limits."
                        );
                    }
                    Path::Metrics => {}
                },
                Step::RejectSelector {
                    reason,
                    message,
                    hpas,
                } => {
                    return match *reason {
                        "AmbiguousSelector" => format!(
                            "The pods of this target are also those of {}: the controller \
                             refuses to scale any of them.",
                            list(&hpas[1..])
                        ),
                        _ => format!("The pods of the target cannot be selected: {message}."),
                    };
                }
                Step::CombineMetrics {
                    highest,
                    by,
                    invalid,
                    total,
                    accepted,
                } => {
                    if !accepted {
                        return self.undecided(*highest, *invalid, *total, current);
                    }
                    text = self.asks(*by, *highest, *invalid, current);
                }
                Step::Stabilize {
                    desired,
                    result,
                    held_by,
                    ..
                } if desired != result => {
                    text += &self.held(*held_by, *desired, *result, current);
                }
                Step::Limit {
                    desired,
                    result,
                    rate,
                    min,
                    max,
                    reason,
                } if desired != result => {
                    text += "; ";
                    text += &self.limited(reason, rate.as_ref(), *min, *max, current);
                }
                Step::RaiseToMin { result } => {
                    text += &format!("; it wakes with the minimum of {result}");
                }
                _ => {}
            }
        }
        // It begins with the metric's name, which is spelt as it is.
        format!("{text}.")
    }

    fn undecided(&self, highest: i32, invalid: usize, total: usize, current: i32) -> String {
        if invalid == total {
            let which = match total {
                1 => "The only metric".to_owned(),
                _ => format!("None of the {total} metrics"),
            };
            let verb = if total == 1 { "cannot" } else { "can" };
            return format!("{which} {verb} be evaluated, so nothing is decided.");
        }
        format!(
            "{} of {} failed, and the rest ask for {highest}: with a metric missing the \
             controller does not go below the {current} there are.",
            invalid,
            count(total as i64, "metric")
        )
    }

    /// What the winning metric asks for.
    fn asks(&self, by: Option<usize>, highest: i32, invalid: usize, current: i32) -> String {
        let winner = self.metric_steps().find(|metric| Some(metric.index) == by);
        let Some((winner, proposal)) = winner.and_then(|metric| match &metric.result {
            MetricResult::Proposal(proposal) => Some((metric, proposal)),
            MetricResult::Error(_) => None,
        }) else {
            return "No metric asks for anything".to_owned();
        };
        let label = self.label(winner);
        let mut text = match proposal.because {
            Because::WithinTolerance if highest == current => format!(
                "{label} is {} of its target, within the tolerance ({} to {}), and keeps the \
                 replicas",
                percent(proposal.ratio),
                percent(1.0 - winner.tolerance.down),
                percent(1.0 + winner.tolerance.up),
            ),
            Because::FilledWithinTolerance | Because::DirectionFlips | Because::CountFlips => {
                format!("{label} keeps the replicas, as pods without usable metrics leave it open")
            }
            _ if highest == current => format!("{label} asks for {highest}, as there are"),
            _ => format!("{label} asks for {}", count(highest, "replica")),
        };
        if invalid > 0 {
            text += &format!(" ({} failed)", count(invalid as i64, "other metric"));
        }
        text
    }

    fn held(
        &self,
        held_by: Option<Recommendation>,
        desired: i32,
        result: i32,
        current: i32,
    ) -> String {
        let Some(past) = held_by else {
            return format!("; stabilization makes that {result}");
        };
        if self.is_seed(&past) {
            return format!(
                "; a controller that has just started takes the {} there are for its last \
                 recommendation",
                past.replicas
            );
        }
        let ago = distance(past.time, self.now());
        let compared = if past.replicas > desired {
            "higher"
        } else {
            "lower"
        };
        let effect = if result == current {
            String::new()
        } else {
            format!(", which makes it {result}")
        };
        format!(
            "; the {compared} recommendation of {} from {ago} ago still counts{effect}",
            past.replicas
        )
    }

    /// Whether a recommendation is the one that a controller without memory begins with.
    fn is_seed(&self, past: &Recommendation) -> bool {
        past.time == self.now()
            && self
                .steps()
                .iter()
                .any(|step| matches!(step, Step::SeedRecommendations { .. }))
    }

    fn limited(
        &self,
        reason: &str,
        rate: Option<&RateLimit>,
        min: i32,
        max: i32,
        current: i32,
    ) -> String {
        let disabled = rate.is_some_and(|rate| rate.select_policy.as_deref() == Some("Disabled"));
        let replicas = rate.map_or(current, |rate| rate.replicas);
        match reason {
            "TooFewReplicas" => format!("the minimum is {min}"),
            "TooManyReplicas" => format!("the maximum is {max}"),
            "ScaleUpLimit" if disabled => "behavior disables scaling up".to_owned(),
            "ScaleDownLimit" if disabled => "behavior disables scaling down".to_owned(),
            "ScaleUpLimit" if rate.is_some_and(|rate| rate.select_policy.is_none()) => {
                if f64::from(replicas) == 2.0 * f64::from(current) {
                    format!("one pass may at most double the {current} there are")
                } else {
                    format!("one pass may at most go to {replicas}")
                }
            }
            "ScaleUpLimit" => format!("the policies allow {replicas} at most for now"),
            "ScaleDownLimit" => format!("the policies allow {replicas} at least for now"),
            other => other.to_owned(),
        }
    }

    fn metrics(&self) -> Table {
        let highest = self.steps().iter().find_map(|step| match step {
            Step::CombineMetrics { by, .. } => *by,
            _ => None,
        });
        let mut table = Table {
            columns: vec![
                ("METRIC", false),
                ("CURRENT", true),
                ("TARGET", true),
                ("RATIO", true),
                ("COUNTED", false),
                ("PROPOSES", true),
                ("", false),
            ],
            rows: Vec::new(),
        };
        for metric in self.metric_steps() {
            let short = Self::short_label(metric);
            let alike = self
                .metric_steps()
                .filter(|other| Self::short_label(other) == short);
            let mut row = vec![if alike.count() > 1 {
                self.label(metric)
            } else {
                short
            }];
            match &metric.result {
                MetricResult::Proposal(proposal) => {
                    row.extend([
                        current(&proposal.current),
                        target(&metric.target, &metric.type_),
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
                MetricResult::Error(_) => {
                    row.extend([
                        "-".to_owned(),
                        target(&metric.target, &metric.type_),
                        "-".to_owned(),
                        counts_of(metric).map_or_else(|| "-".to_owned(), counts),
                        "-".to_owned(),
                        "failed".to_owned(),
                    ]);
                }
            }
            table.rows.push(row);
        }
        table
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

    /// How each metric came to its number, or why it came to none.
    fn metric_details(&self) -> Vec<(String, String)> {
        self.metric_steps()
            .map(|metric| {
                let detail = match &metric.result {
                    MetricResult::Proposal(proposal) => {
                        let formula = self.formula(metric, proposal);
                        if self.wide && !formula.contains("within") {
                            format!("{formula} (tolerance {})", tolerance_of(metric))
                        } else {
                            formula
                        }
                    }
                    MetricResult::Error(error) => format!("{}: {}", error.reason, error.message),
                };
                (self.label(metric), detail)
            })
            .collect()
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
        let times = self.symbols.times;
        let tolerance = format!("within {}", tolerance_of(metric));
        let filled_text = filled.map(|filled| self.filled(&filled, counted.as_ref()));
        let filled_text = filled_text.unwrap_or_default();
        let new_ratio = filled.map_or(*ratio, |filled| filled.ratio);
        let size = filled.map_or(0, |filled| filled.size);
        match because {
            Because::WithinTolerance => {
                format!("ratio {} is {tolerance}: keeps {replicas}", number(*ratio))
            }
            Because::RatioTimesReady => {
                let ready = counted.map_or(0, |counted| counted.ready);
                format!(
                    "{} {times} {}, rounded up: {replicas}",
                    number(*ratio),
                    count(ready as i64, "ready pod")
                )
            }
            Because::FilledWithinTolerance => format!(
                "{filled_text} the ratio is {}, {tolerance}: keeps {replicas}",
                number(new_ratio)
            ),
            Because::DirectionFlips => format!(
                "{filled_text} the ratio turns from {} to {}: keeps {replicas}",
                number(*ratio),
                number(new_ratio)
            ),
            Because::CountFlips => format!(
                "{filled_text} {} {times} {} goes the other way: keeps {replicas}",
                number(new_ratio),
                count(size as i64, "pod")
            ),
            Because::RatioTimesFilled => format!(
                "{filled_text} {} {times} {}, rounded up: {replicas}",
                number(new_ratio),
                count(size as i64, "pod")
            ),
            Because::UsageOverTarget => {
                format!("the total over the target per pod, rounded up: {replicas}")
            }
            Because::FromZero => format!("from zero {}, rounded up: {replicas}", number(*ratio)),
        }
    }

    fn filled(&self, filled: &Filled, counted: Option<&PodCounts>) -> String {
        let counted = counted.copied().unwrap_or_default();
        let mut parts = Vec::new();
        let missing = count(counted.missing as i64, "missing pod");
        match (filled.missing, filled.missing_percent) {
            (Fill::None, _) => {}
            (Fill::Zero, _) => parts.push(format!("{missing} at 0")),
            (Fill::Target, Some(percent)) => {
                parts.push(format!("{missing} at {percent}% of the request"));
            }
            (Fill::Target, None) => parts.push(format!("{missing} at the target")),
        }
        if filled.unready_as_zero {
            parts.push(format!(
                "{} at 0",
                count(counted.unready as i64, "unready pod")
            ));
        }
        if parts.is_empty() {
            return "as it is,".to_owned();
        }
        format!("with {},", list(&parts))
    }

    fn path(&self) -> Vec<PathLine> {
        let mut lines = Vec::new();
        for step in self.steps() {
            match step {
                Step::CombineMetrics {
                    highest,
                    by,
                    accepted: true,
                    ..
                } => {
                    let name = self
                        .metric_steps()
                        .find(|metric| Some(metric.index) == *by)
                        .map_or_else(|| "none".to_owned(), |metric| self.label(metric));
                    lines.push(PathLine {
                        replicas: *highest,
                        rule: format!("highest proposal: {name}"),
                        reason: None,
                    });
                }
                Step::Stabilize {
                    desired,
                    result,
                    up_window,
                    down_window,
                    held_by,
                    reason,
                } => {
                    let rule = match held_by {
                        Some(past) if self.is_seed(past) => format!(
                            "stabilization: just started, so the {} there are count",
                            past.replicas
                        ),
                        Some(past) => format!(
                            "stabilization: {} was recommended {} ago",
                            past.replicas,
                            distance(past.time, self.now())
                        ),
                        None => match up_window {
                            Some(up_window) => format!(
                                "stabilization: nothing remembered holds it (up {}, down {})",
                                duration(*up_window),
                                duration(*down_window)
                            ),
                            None => format!(
                                "stabilization: nothing higher remembered in the last {}",
                                duration(*down_window)
                            ),
                        },
                    };
                    let reason = (desired != result).then_some(*reason);
                    lines.push(PathLine {
                        replicas: *result,
                        rule,
                        reason,
                    });
                }
                Step::Limit {
                    desired,
                    result,
                    rate,
                    min,
                    max,
                    reason,
                } => {
                    let by_rate = matches!(*reason, "ScaleUpLimit" | "ScaleDownLimit");
                    if let Some(rate) = rate {
                        let after = match rate.direction {
                            Direction::Up => (*desired).min(rate.replicas),
                            Direction::Down => (*desired).max(rate.replicas),
                        };
                        lines.push(PathLine {
                            replicas: after,
                            rule: format!("rate: {}", self.rate(rate)),
                            reason: by_rate.then_some(*reason),
                        });
                    }
                    lines.push(PathLine {
                        replicas: *result,
                        rule: format!("bounds: {min} to {max}"),
                        reason: (desired != result && !by_rate).then_some(*reason),
                    });
                }
                Step::RaiseToMin { result } => lines.push(PathLine {
                    replicas: *result,
                    rule: "woken from zero: at least the minimum".to_owned(),
                    reason: None,
                }),
                _ => {}
            }
        }
        lines
    }

    fn rate(&self, rate: &RateLimit) -> String {
        let up = rate.direction == Direction::Up;
        let word = if up { "up to" } else { "down to" };
        let Some(select_policy) = &rate.select_policy else {
            let current = self.scale().map_or(0, |scale| scale.spec_replicas);
            let times = self.symbols.times;
            return format!(
                "{word} max(2 {times} {current}, 4) = {} in one pass",
                rate.replicas
            );
        };
        if select_policy == "Disabled" {
            return format!("scaling {} is disabled", if up { "up" } else { "down" });
        }
        let policies: Vec<String> = rate
            .policies
            .iter()
            .map(|limit| {
                let policy = &limit.policy;
                let value = match policy.type_.as_str() {
                    "Percent" => format!("{}%", policy.value),
                    _ => count(policy.value, "pod"),
                };
                format!(
                    "{value} in {}s from {} gives {}",
                    policy.period_seconds, limit.period_start, limit.replicas
                )
            })
            .collect();
        let select = if policies.len() > 1 {
            format!(
                ", {} change",
                if select_policy == "Min" {
                    "smallest"
                } else {
                    "largest"
                }
            )
        } else {
            String::new()
        };
        format!("{word} {} ({}{select})", rate.replicas, policies.join("; "))
    }

    fn pods(&self) -> Vec<PodTable> {
        let mut tables = Vec::new();
        for metric in self.metric_steps() {
            let unusual = |row: &&PodRow| row.group != Group::Ready;
            let rows: Vec<&PodRow> = if self.wide {
                metric.pods.iter().collect()
            } else {
                metric
                    .pods
                    .iter()
                    .filter(unusual)
                    .take(UNUSUAL_PODS)
                    .collect()
            };
            if rows.is_empty() {
                continue;
            }
            let hidden = metric
                .pods
                .iter()
                .filter(unusual)
                .count()
                .saturating_sub(rows.len());
            let utilization = metric.pods.iter().any(|row| row.request.is_some());
            let mut columns = vec![("POD", false), ("USAGE", true)];
            if utilization {
                columns.push(("REQUEST", true));
            }
            columns.extend([("GROUP", false), ("COUNTED", true), ("BECAUSE", false)]);
            let mut table = Table {
                columns,
                rows: Vec::new(),
            };
            for row in rows {
                table.rows.push(self.pod(metric, row, utilization));
            }
            let left_out = (!self.wide && hidden > 0)
                .then(|| format!("and {hidden} more; -o wide shows all pods"));
            tables.push(PodTable {
                metric: self.label(metric),
                table,
                left_out,
            });
        }
        tables
    }

    fn pod(&self, metric: &MetricStep, row: &PodRow, utilization: bool) -> Vec<String> {
        let pod = &self.explanation.snapshot.pods[row.pod as usize];
        let format = format_of(metric);
        let shown = |milli: Option<i64>| {
            milli.map_or_else(
                || "-".to_owned(),
                |milli| quantity(&Quantity::from_milli(milli, format)),
            )
        };
        let group = match row.group {
            Group::Ready => "ready",
            Group::Unready => "unready",
            Group::Missing => "missing",
            Group::Ignored => "ignored",
        };
        let mut cells = vec![pod.name.to_string(), shown(row.value)];
        if utilization {
            cells.push(shown(row.request));
        }
        cells.extend([group.to_owned(), shown(row.counted), self.clause(row)]);
        cells
    }

    /// Why a pod is in its group, and when it leaves it.
    fn clause(&self, row: &PodRow) -> String {
        let controller = &self.explanation.snapshot.controller;
        let initialization = duration(controller.cpu_initialization_period);
        let (because, until) = match row.clause {
            Clause::Deleted => ("is being deleted".to_owned(), "until it is gone"),
            Clause::Failed => ("has failed".to_owned(), "until it is gone"),
            Clause::Pending => ("is pending".to_owned(), "until it runs"),
            Clause::NoMetric => ("has no metric".to_owned(), "until one arrives"),
            Clause::NoReadiness => (
                "has no Ready condition or start time".to_owned(),
                "until its node reports them",
            ),
            Clause::InitializingNotReady => (
                format!("is not ready, and started less than {initialization} ago"),
                "until ready",
            ),
            Clause::InitializingOldSample => (
                format!(
                    "started less than {initialization} ago, and its sample began before it \
                     turned ready"
                ),
                "until the next sample",
            ),
            Clause::NeverReady => ("is not ready, and never was".to_owned(), "until ready"),
            Clause::Counted => return String::new(),
        };
        match row.until {
            Some(at) if row.clause == Clause::Deleted => {
                format!("{because}, due {}", future(self.now(), at))
            }
            Some(at) => format!("{because}; {until} or {}", future(self.now(), at)),
            None => format!("{because}; {until}"),
        }
    }

    fn conditions(&self) -> Table {
        let list = &self.explanation.outcome.status.conditions;
        Table {
            columns: vec![
                ("CONDITION", false),
                ("STATUS", false),
                ("REASON", false),
                ("MESSAGE", false),
            ],
            rows: list
                .iter()
                .map(|c| {
                    vec![
                        c.type_.clone(),
                        c.status.clone(),
                        c.reason.clone(),
                        c.message.clone(),
                    ]
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
                .map(|e| {
                    vec![
                        format!("{} event", e.type_),
                        e.reason.to_owned(),
                        e.message.clone(),
                    ]
                })
                .collect(),
        }
    }

    fn assumed(&self) -> Vec<(String, String)> {
        let mut lines: Vec<(String, String)> = self
            .explanation
            .basis
            .iter()
            .map(|basis| {
                (
                    basis.item.clone(),
                    format!("{} ({})", basis.value, basis.source),
                )
            })
            .collect();
        let memory = match self.explanation.remembered.knowledge {
            Knowledge::Stated => {
                let memory = &self.explanation.remembered.likely;
                let recommendations = memory.recommendations.len();
                let events = memory.scale_up_events.len() + memory.scale_down_events.len();
                format!(
                    "{} and {} (stated in the input)",
                    count(recommendations as i64, "recommendation"),
                    count(events as i64, "scale event")
                )
            }
            Knowledge::JustStarted => {
                "just started: the replicas there are count as its only recommendation (the \
                 input states none)"
                    .to_owned()
            }
            Knowledge::Unknown => {
                "unknown, taken as just started: the replicas there are count as its only \
                 recommendation (no ControllerState in the input)"
                    .to_owned()
            }
        };
        lines.push(("memory".to_owned(), memory));
        lines
    }
}

fn current(value: &crate::snapshot::hpa::MetricValueStatus) -> String {
    let average = value.average_value.as_ref().map(quantity);
    match (value.average_utilization, average, &value.value) {
        (Some(percent), Some(average), _) => format!("{percent}% ({average})"),
        (Some(percent), None, _) => format!("{percent}%"),
        (None, Some(average), _) => average,
        (None, None, Some(value)) => quantity(value),
        (None, None, None) => "-".to_owned(),
    }
}

fn target(target: &MetricTarget, type_: &str) -> String {
    let per_pod = if matches!(type_, "Object" | "External") {
        " per pod"
    } else {
        ""
    };
    match (
        &target.average_value,
        target.average_utilization,
        &target.value,
    ) {
        (Some(average), ..) => format!("{average}{per_pod}"),
        (None, Some(percent), _) => format!("{percent}%"),
        (None, None, Some(value)) => value.to_string(),
        (None, None, None) => "-".to_owned(),
    }
}

/// The ratios that change nothing.
fn tolerance_of(metric: &MetricStep) -> String {
    let tolerance = metric.tolerance;
    format!(
        "{} to {}",
        number(1.0 - tolerance.down),
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

/// The groups of the pods of a metric that failed, where it got that far.
fn counts_of(metric: &MetricStep) -> Option<PodCounts> {
    if metric.pods.is_empty() {
        return None;
    }
    let of = |group| metric.pods.iter().filter(|row| row.group == group).count();
    Some(PodCounts {
        ready: of(Group::Ready),
        unready: of(Group::Unready),
        missing: of(Group::Missing),
        ignored: of(Group::Ignored),
        strangers: 0,
    })
}
