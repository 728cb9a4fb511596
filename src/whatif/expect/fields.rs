//! The fields that an expectation may name, with their units and meanings: of a pass, of its metrics and of a run.

use std::fmt;

use super::units::Unit;
use crate::snapshot::hpa::HpaSpec;

/// A fact about a pass, or about the run that begins with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// Of the pass as a whole.
    Pass(PassField),
    /// Of a metric, by its name or display name.
    Metric(String, MetricField),
    /// Of a run.
    Run(RunOf, RunField),
}

/// Declares fields: the typed name, the unit (none for a boolean), and the meaning.
macro_rules! fields {
    ($(#[$meta:meta])* $kind:ident { $($field:ident = $name:literal, $unit:expr, $meaning:literal;)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {
            $(
                #[doc = $meaning]
                $field,
            )*
        }

        impl $kind {
            pub(super) const ALL: &[Self] = &[$(Self::$field,)*];

            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }

            fn unit(self) -> Option<Unit> {
                match self {
                    $(Self::$field => $unit,)*
                }
            }

            pub(super) fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|field| field.name() == name)
            }
        }
    };
}

const FLAG: Option<Unit> = None;
const NUMBER: Option<Unit> = Some(Unit::Number);
const PERCENT: Option<Unit> = Some(Unit::Percent);
pub(super) const DURATION: Option<Unit> = Some(Unit::Duration);

fields! {
    /// The fields of a pass as a whole.
    PassField {
        Desired = "desired", NUMBER, "The replicas after the pass; unknown where they stay because metrics fail.";
        Current = "current", NUMBER, "The replicas before.";
        Delta = "delta", NUMBER, "The replicas after the pass minus those before.";
        Min = "min", NUMBER, "`minReplicas`.";
        Max = "max", NUMBER, "`maxReplicas`.";
        Recommended = "recommended", NUMBER, "The highest proposal, before stabilization and limits.";
        Failed = "failed", NUMBER, "The number of metrics that could not be evaluated.";
        Missing = "missing", NUMBER, "The number of pods that count as missing, because some metric has no value for them.";
        Warnings = "warnings", NUMBER, "The number of warning events that the controller would send.";
        Limited = "limited", FLAG, "Whether rate limits or bounds changed the outcome.";
        Stabilized = "stabilized", FLAG, "Whether past recommendations changed the outcome.";
        Blocked = "blocked", FLAG, "Whether the controller cannot decide or scale, as at 0 replicas.";
        Stale = "stale", FLAG, "Whether a sample is older than both a minute and twice its window.";
    }
}

fields! {
    /// The fields of a metric.
    MetricField {
        Desired = "desired", NUMBER, "The replicas that it proposes.";
        Utilization = "utilization", PERCENT, "The share of the requests.";
        AverageValue = "averageValue", NUMBER, "The value per pod.";
        Value = "value", NUMBER, "The total value.";
    }
}

/// One of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOf {
    /// The run of the spec that is judged.
    Judged,
    /// The run of the HPA without changes.
    Replay,
}

pub(super) const RUNS: [(&str, RunOf); 2] = [("run", RunOf::Judged), ("replay", RunOf::Replay)];

fields! {
    /// The fields of a run.
    RunField {
        ReplicaHours = "replicaHours", NUMBER, "Replicas times hours.";
        Mean = "mean", NUMBER, "The mean number of replicas over time.";
        Lowest = "lowest", NUMBER, "The fewest replicas.";
        Highest = "highest", NUMBER, "The most replicas.";
        AtMax = "atMax", DURATION, "How long there were `maxReplicas` or more.";
        Short = "short", DURATION, "How long more were proposed than there were ready pods.";
        LongestShort = "longestShort", DURATION, "The longest stretch of `short`.";
        Rescales = "rescales", NUMBER, "How often the replicas changed.";
        Reversals = "reversals", NUMBER, "How often they changed against the change before, within ten minutes.";
        Unanswered = "unanswered", DURATION, "How long passes had no answer by all metrics.";
        Last = "last", NUMBER, "The replicas at the end.";
        Settled = "settled", FLAG, "Whether nothing is left that could change them.";
    }
}

/// The fields of the pass that an expression may name.
pub fn pass_fields() -> impl Iterator<Item = Field> {
    PassField::ALL.iter().map(|field| Field::Pass(*field))
}

/// The fields of a metric that an expression may name.
pub fn metric_fields(metric: &str) -> impl Iterator<Item = Field> {
    MetricField::ALL
        .iter()
        .map(|field| Field::Metric(metric.to_owned(), *field))
}

/// The fields of the runs that an expression may name.
pub fn run_fields() -> impl Iterator<Item = Field> {
    RUNS.into_iter().flat_map(|(_, of)| fields_of_run(of))
}

pub(super) fn fields_of_run(of: RunOf) -> impl Iterator<Item = Field> {
    RunField::ALL
        .iter()
        .map(move |field| Field::Run(of, *field))
}

impl Field {
    /// Returns the unit of the field; `None` if it is a boolean.
    pub(super) fn unit(&self) -> Option<Unit> {
        match self {
            Self::Pass(field) => field.unit(),
            Self::Metric(_, field) => field.unit(),
            Self::Run(_, field) => field.unit(),
        }
    }

    /// Whether the field is a number, and not a boolean.
    pub(crate) fn is_number(&self) -> bool {
        self.unit().is_some()
    }

    /// Whether the field belongs to a run, and not to the first pass.
    pub fn is_of_run(&self) -> bool {
        matches!(self, Self::Run(..))
    }
}

/// Returns the place of a metric in the spec, by its display name or its bare name. The error is the message, and the
/// field for the metrics that exist.
pub(super) fn find_metric(
    spec: &HpaSpec,
    name: &str,
    field: MetricField,
) -> Result<usize, (String, String)> {
    let metrics = &spec.metrics;
    let labels = Vec::from_iter(metrics.iter().map(|own| own.label(metrics)));
    let all = Vec::from_iter(0..labels.len());
    let places = all.iter().copied();
    let by_label = places.clone().filter(|place| labels[*place] == name);
    let mut found = Vec::from_iter(by_label);
    if found.is_empty() {
        found.extend(places.filter(|place| metrics[*place].name() == name));
    }
    let written = |place: &usize| Field::Metric(labels[*place].clone(), field);
    let fields = |places: &[usize]| listed(places.iter().map(written));
    match &found[..] {
        [place] => Ok(*place),
        [] => {
            let there = match &all[..] {
                [] => "no metrics".to_owned(),
                _ => fields(&all),
            };
            let message = format!("the HPA has no metric {name:?}");
            Err((message, format!("it has {there}")))
        }
        several => {
            let times = |label: &String| labels.iter().filter(|own| *own == label).count();
            let mut known = several.to_vec();
            known.retain(|place| times(&labels[*place]) == 1);
            let hint = match &known[..] {
                [] => "they differ only in their targets, so no name means one of them".to_owned(),
                known => format!("name one: {}", fields(known)),
            };
            let message = format!("the HPA has {} metrics {name:?}", several.len());
            Err((message, hint))
        }
    }
}

pub(super) fn listed(fields: impl Iterator<Item = Field>) -> String {
    Vec::from_iter(fields.map(|field| field.to_string())).join(", ")
}

/// Whether a character may be part of a metric's name. Names need no quotes as long as they cannot be read as a
/// comparison.
pub(super) fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./:".contains(letter)
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(of, field) => {
                let run = RUNS
                    .iter()
                    .find(|(_, one)| one == of)
                    .map_or("", |(name, _)| name);
                write!(f, "{run}.{}", field.name())
            }
            Self::Pass(field) => f.write_str(field.name()),
            Self::Metric(metric, field) => {
                let name = field.name();
                if !metric.is_empty() && metric.chars().all(is_of_word) {
                    return write!(f, "metric.{metric}.{name}");
                }
                let escaped = metric.replace('\\', "\\\\").replace('"', "\\\"");
                write!(f, "metric.\"{escaped}\".{name}")
            }
        }
    }
}
