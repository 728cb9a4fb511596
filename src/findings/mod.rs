//! What is wrong with an HPA, and which ordinary rules at work users ask about, with the facts of this HPA.
//! A finding is a fact and never a sentence; `report::findings` words it. What the answer would be without
//! the problem is computed by the engine on a changed snapshot. A finding never changes a decision.
//!
//! A finding needs evidence: what could not be read leads to no finding, and its absence says nothing.

mod case;
pub mod causes;
pub(crate) mod last_pass;
pub mod metrics;
pub mod outside;
pub mod owners;
pub mod path;
pub mod pods;
pub mod requests;
pub mod targets;
#[cfg(test)]
pub(crate) mod testing;
pub mod values;
pub mod writer;

use serde::{Serialize, Serializer};

pub(crate) use case::Case;
pub use case::Next;

use crate::apimachinery::names::nearest;
use crate::engine::decision::{Direction, Path};
use crate::error::{Error, docs};
use crate::pass::Pass;

/// Something that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is about, with its evidence.
    pub facts: Facts,
    /// Its severity.
    pub severity: Severity,
    /// Whether it explains the result of the pass.
    pub explains: bool,
    /// The result of the pass without the problem, if that can be computed.
    pub without: Option<Alternative>,
    /// The finding that this one follows from, which has the remedy for both.
    pub follows: Option<Code>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Nothing can be computed or written.
    Error,
    /// Someone should act on it.
    Warning,
    /// An ordinary rule at work that users ask about.
    Info,
}

/// The result of a pass on a changed snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alternative {
    /// The highest proposal; `None` if the pass computes none.
    pub proposal: Option<i32>,
    /// The replicas after the pass; `None` if its scale cannot be read.
    pub replicas: Option<i32>,
}

impl Finding {
    /// Returns a finding that explains the current decision.
    fn explaining(severity: Severity, facts: impl Into<Facts>) -> Self {
        Self {
            facts: facts.into(),
            severity,
            explains: true,
            without: None,
            follows: None,
        }
    }

    /// Returns a finding that does not.
    fn aside(severity: Severity, facts: impl Into<Facts>) -> Self {
        Self {
            explains: false,
            ..Self::explaining(severity, facts)
        }
    }

    /// Adds the result of the pass without the problem.
    fn without(self, alternative: Alternative) -> Self {
        Self {
            without: Some(alternative),
            ..self
        }
    }

    /// Returns its code.
    pub fn code(&self) -> Code {
        self.facts.code()
    }

    /// Whether pods are the reason why no metric has a value.
    pub(crate) fn is_about_pods(&self) -> bool {
        let is_about_pods = matches!(
            self.facts,
            Facts::SelectorMatchesNothing(_)
                | Facts::FinishedPods(_)
                | Facts::ForeignPods(_)
                | Facts::NeverReady(_)
                | Facts::UnschedulablePods(_)
                | Facts::ReplicasWithoutPods(_)
                | Facts::UncountedPods(_)
        );
        is_about_pods && self.explains && self.severity == Severity::Error
    }
}

/// Declares the codes, and the facts that each carries.
macro_rules! catalogue {
    ($($name:ident($module:ident) = $code:literal,)*) => {
        /// The code of a finding. Codes are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(
                #[doc = concat!("`", $code, "`")]
                $name,
            )*
        }

        impl Code {
            /// All codes, as the documentation lists them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the code as it is typed and printed.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }
        }

        /// What a finding is about, with its evidence.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Facts {
            $(
                #[doc = concat!("`", $code, "`")]
                $name($module::$name),
            )*
        }

        impl Facts {
            /// Returns the code.
            pub fn code(&self) -> Code {
                match self {
                    $(Self::$name(_) => Code::$name,)*
                }
            }
        }

        $(
            impl From<$module::$name> for Facts {
                fn from(facts: $module::$name) -> Self {
                    Self::$name(facts)
                }
            }
        )*
    };
}

catalogue! {
    TargetNotFound(outside) = "target-not-found",
    ScaleNotWritten(outside) = "scale-not-written",
    ControllerSilent(outside) = "controller-silent",
    OtherWriter(outside) = "other-writer",
    PausedByKeda(outside) = "paused-by-keda",
    FieldIgnored(outside) = "field-ignored",
    DiffersFromStatus(outside) = "differs-from-status",
    MissingRequest(requests) = "missing-request",
    MetricsApiUnavailable(metrics) = "metrics-api-unavailable",
    MetricNotFound(metrics) = "metric-not-found",
    MetricFailing(metrics) = "metric-failing",
    MetricEmpty(metrics) = "metric-empty",
    BlockedByFailedMetric(metrics) = "blocked-by-failed-metric",
    UnknownContainer(metrics) = "unknown-container",
    ContainerMetricsMissing(metrics) = "container-metrics-missing",
    DilutedByContainer(requests) = "diluted-by-container",
    ResizeInProgress(requests) = "resize-in-progress",
    RequestsDifferFromTemplate(requests) = "requests-differ-from-template",
    ValueMultiplies(values) = "value-multiplies",
    SuspectUnit(values) = "suspect-unit",
    MemoryBaseline(requests) = "memory-baseline",
    UnreachableTarget(requests) = "unreachable-target",
    RequestTooSmall(requests) = "request-too-small",
    StaleSamples(values) = "stale-samples",
    SelectorMissing(owners) = "selector-missing",
    SelectorMatchesNothing(owners) = "selector-matches-nothing",
    SharedPods(owners) = "shared-pods",
    FinishedPods(pods) = "finished-pods",
    ForeignPods(owners) = "foreign-pods",
    NeverReady(pods) = "never-ready",
    UnschedulablePods(pods) = "unschedulable-pods",
    ReplicasWithoutPods(pods) = "replicas-without-pods",
    OldRevisionPods(owners) = "old-revision-pods",
    TerminatingPods(pods) = "terminating-pods",
    StartingPods(pods) = "starting-pods",
    UncountedPods(pods) = "uncounted-pods",
    WithinTolerance(path) = "within-tolerance",
    Rounding(path) = "rounding",
    HeldByWindow(path) = "held-by-window",
    RateLimited(path) = "rate-limited",
    AtMax(path) = "at-max",
    AtMin(path) = "at-min",
    AboveMax(path) = "above-max",
    BelowMin(path) = "below-min",
    DirectionDisabled(path) = "direction-disabled",
    SwitchedOff(path) = "switched-off",
    Flapping(outside) = "flapping",
}

impl Facts {
    /// Returns the metrics whose failure they explain, by index in the spec.
    pub(crate) fn failed_metrics(&self) -> Vec<usize> {
        match self {
            Self::MetricsApiUnavailable(facts) => facts.metrics.clone(),
            Self::MissingRequest(facts) => vec![facts.metric],
            Self::MetricNotFound(facts) => vec![facts.metric],
            Self::MetricFailing(facts) => vec![facts.metric],
            Self::MetricEmpty(facts) => vec![facts.metric],
            Self::UnknownContainer(facts) => vec![facts.metric],
            Self::ContainerMetricsMissing(facts) => vec![facts.metric],
            _ => Vec::new(),
        }
    }
}

/// What `--fail-on` watches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// A code.
    Code(Code),
    /// Everything of at least this severity.
    Severity(Severity),
}

impl Watched {
    /// The severities, then the codes.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let severities = [Severity::Error, Severity::Warning, Severity::Info].map(Self::Severity);
        severities
            .into_iter()
            .chain(Code::ALL.iter().copied().map(Self::Code))
    }

    /// Parses what was typed where these conditions could have been typed as well.
    ///
    /// # Errors
    ///
    /// It is neither a code nor a severity.
    pub fn read(text: &str, conditions: &[&str]) -> Result<Self, Error> {
        Self::all().find(|own| own.as_str() == text).ok_or_else(|| {
            let mut known = conditions.to_vec();
            known.extend(Self::all().map(|it| it.as_str() as &str));
            let what = if conditions.is_empty() {
                "finding"
            } else {
                "condition or finding"
            };
            unknown(what, text, &known)
        })
    }

    /// Returns what was typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code(code) => code.as_str(),
            Self::Severity(severity) => severity.as_str(),
        }
    }

    /// Whether it includes findings about metrics.
    pub(crate) fn is_of_metrics(self) -> bool {
        match self {
            Self::Code(code) => code.is_of_metrics(),
            Self::Severity(_) => true,
        }
    }

    /// Whether it includes a finding.
    pub fn is(self, code: Code, severity: Severity) -> bool {
        match self {
            Self::Code(own) => own == code,
            Self::Severity(least) => severity <= least,
        }
    }
}

impl Severity {
    /// Returns the severity as it is typed and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl Code {
    /// Whether it is about a metric, or about pods as metrics are read of them, and not about what a pass makes
    /// of its value.
    fn is_of_metrics(self) -> bool {
        let all = [
            Self::MissingRequest,
            Self::MetricsApiUnavailable,
            Self::MetricNotFound,
            Self::MetricFailing,
            Self::MetricEmpty,
            Self::UnknownContainer,
            Self::ContainerMetricsMissing,
            Self::DilutedByContainer,
            Self::ResizeInProgress,
            Self::RequestsDifferFromTemplate,
            Self::SuspectUnit,
            Self::MemoryBaseline,
            Self::UnreachableTarget,
            Self::RequestTooSmall,
            Self::StaleSamples,
            Self::SelectorMissing,
            Self::SelectorMatchesNothing,
            Self::SharedPods,
        ];
        all.contains(&self)
    }

    /// Whether it holds throughout a run, whatever the load does.
    pub(crate) fn lasts(self) -> bool {
        let all = [
            Self::OtherWriter,
            Self::SharedPods,
            Self::MissingRequest,
            Self::MetricEmpty,
            Self::UnknownContainer,
            Self::ContainerMetricsMissing,
        ];
        all.contains(&self)
    }

    /// Parses a code that was typed.
    ///
    /// # Errors
    ///
    /// There is no such code.
    pub fn read(text: &str) -> Result<Self, Error> {
        let known = Self::ALL.iter().copied();
        known
            .clone()
            .find(|code| code.as_str() == text)
            .ok_or_else(|| {
                unknown(
                    "finding",
                    text,
                    &known.map(Self::as_str).collect::<Vec<_>>(),
                )
            })
    }
}

fn unknown(what: &str, text: &str, known: &[&str]) -> Error {
    let error = Error::usage(format!("unknown {what} {text:?}"));
    let begins = |code: &&str| !text.is_empty() && code.split('-').any(|it| it.starts_with(text));
    let meant: Vec<&str> = match nearest(text, known.iter().copied()) {
        Some(meant) => vec![meant],
        None => known.iter().copied().filter(begins).collect(),
    };
    let listed = format!("{} lists them", docs("findings.md"));
    match &meant[..] {
        [] if ["error", "warning", "info"].contains(&text) => {
            error.hint(format!("findings are named by their codes here, not by severity: {listed}"))
        }
        [] if known.contains(&"error") => error.hint(format!(
            "a finding is named by its code or by its severity, which is error, warning or info: {listed}"
        )),
        [] => error.hint(format!("findings are named by their codes: {listed}")),
        meant => error.hint(format!("did you mean {}?", meant.join(" or "))),
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Examines a pass. Findings that explain the decision come first, then by severity, then by how many
/// replicas they cost.
pub fn find(pass: &Pass) -> Vec<Finding> {
    find_except(pass, &[])
}

/// Returns the same without the findings of some codes, to which no other one refers either.
pub(crate) fn find_except(pass: &Pass, ignored: &[Code]) -> Vec<Finding> {
    let case = Case::new(pass);
    let mut found = find_in(&case, ignored);
    found.extend(ignored_metrics(pass, ignored));
    let answer = case.answer();
    let cost = |finding: &Finding| {
        let proposals = finding
            .without
            .and_then(|it| Some((it.proposal?, answer.proposal?)));
        proposals.map_or(0, |(without, with)| without.abs_diff(with))
    };
    found.sort_by_key(|it| {
        (
            !it.explains,
            it.rank(),
            it.severity,
            std::cmp::Reverse(cost(it)),
        )
    });
    causes::link(&case, &mut found);
    // Pods of an earlier revision that change no answer are not worth a word of their own.
    let is_idle = |it: &Finding| it.follows.is_none() && it.without == Some(answer);
    found.retain(|it| it.code() != Code::OldRevisionPods || !is_idle(it));
    found
}

/// Returns the findings about metrics that a pass does not read because the replicas are beyond a bound. The
/// pass after it reads them, and they are as they are either way.
fn ignored_metrics(pass: &Pass, ignored: &[Code]) -> Vec<Finding> {
    let beyond = match pass.decision.path() {
        Some(Path::AboveMax) => Direction::Up,
        Some(Path::BelowMin) => Direction::Down,
        Some(Path::Metrics | Path::Disabled) | None => return Vec::new(),
    };
    let mut input = pass.input.clone();
    path::widen(&mut input.snapshot.hpa.spec, beyond);
    let reading = Pass::with(input, pass.remembered.clone());
    let mut found = find_in(&Case::new(&reading), ignored);
    found.retain(|it| it.code().is_of_metrics());
    // What that pass comes to is not what this one does.
    found
        .into_iter()
        .map(|it| Finding {
            explains: false,
            without: None,
            ..it
        })
        .collect()
}

fn find_in(case: &Case<'_>, ignored: &[Code]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    found.extend(outside::target_not_found(case));
    found.extend(outside::scale_not_written(case));
    found.extend(outside::controller_silent(case));
    found.extend(outside::other_writer(case));
    found.extend(outside::paused_by_keda(case));
    found.extend(outside::field_ignored(case));
    found.extend(outside::differs_from_status(case));
    found.extend(outside::flapping(case));
    found.extend(requests::missing(case));
    found.extend(metrics::without_value(case));
    found.extend(metrics::blocked_by_failed(case));
    found.extend(metrics::unknown_container(case));
    found.extend(metrics::container_metrics_missing(case));
    found.extend(requests::diluted(case));
    found.extend(requests::resize(case));
    found.extend(requests::differ_from_template(case));
    found.extend(values::suspect_unit(case));
    let multiplies = values::value_multiplies(case, &found);
    found.extend(multiplies);
    let baseline = requests::memory_baseline(case, &found);
    found.extend(baseline);
    let too_small = requests::request_too_small(case, &found);
    found.extend(too_small);
    found.extend(values::stale_samples(case));
    found.extend(owners::selector_missing(case));
    found.extend(owners::selector_matches_nothing(case));
    found.extend(owners::shared(case));
    found.extend(pods::finished(case));
    found.extend(owners::foreign(case));
    found.extend(pods::never_ready(case));
    found.extend(pods::unschedulable(case));
    found.extend(pods::replicas_without_pods(case));
    found.extend(owners::old_revision(case));
    found.extend(pods::terminating(case));
    found.extend(pods::starting(case));
    let unreachable = requests::unreachable_target(case, &found);
    found.extend(unreachable);
    // What explains the failure of a metric explains it whether or not it is shown.
    let uncounted = pods::uncounted(case, &found);
    found.extend(uncounted);
    let is_shown = |it: &Finding| !ignored.contains(&it.code());
    found.retain(is_shown);
    found.extend(path::switched_off(case));
    let corrected = path::corrected(case, &found);
    found.extend(corrected);
    found.extend(path::direction_disabled(case));
    found.extend(path::at_max(case));
    found.extend(path::at_min(case));
    found.extend(path::rate_limited(case));
    found.extend(path::held_by_window(case));
    found.extend(path::rounding(case));
    let within = path::within_tolerance(case, &found);
    found.extend(within);
    found.retain(is_shown);
    found
}
