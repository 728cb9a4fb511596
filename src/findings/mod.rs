//! The problems of an HPA, and the ordinary rules that users ask about. Each kind of finding is one file,
//! with its documentation, its facts, its search and its texts, and one line in the table here. The answer
//! without the problem is computed by the engine on a changed snapshot. A finding never changes a decision.
//!
//! A finding needs evidence: missing data leads to no finding, and the absence of a finding proves nothing.

#![allow(
    refining_impl_trait_internal,
    reason = "a kind says in the type of its search whether a pass has at most one of its findings"
)]

pub(crate) mod about;
pub(crate) mod advice;
mod case;
mod causes;
pub(crate) mod command;
mod kind;
pub(crate) mod last_pass;
pub mod measures;
pub mod metrics;
pub mod outside;
pub mod owners;
pub mod path;
pub mod pods;
mod prelude;
pub mod remedy;
pub mod requests;
pub(crate) mod scaled_object;
mod scope;
mod setter;
pub mod targets;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod values;
mod view;
pub mod watched;
mod wording;
pub mod writer;

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

pub(crate) use about::About;
pub(crate) use advice::Advice;
pub(crate) use case::Case;
pub(crate) use command::{Command, Edited};
pub(crate) use kind::Kind;
pub(crate) use remedy::Remedy;
pub(crate) use scope::Aspect;
pub use scope::Rank;
pub use view::FindingView;
pub(crate) use view::views;

use crate::engine::decision::Block;
use crate::outlook::Range;
use crate::pass::Pass;

/// Something that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The facts of this finding, with its evidence.
    pub facts: Facts,
    /// Its severity.
    pub severity: Severity,
    /// Whether the finding explains the result of the pass.
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
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// The highest proposal; `None` if the pass computes none.
    pub proposal: Option<i32>,
    /// The most likely replicas after the pass; `None` if its scale cannot be read.
    pub replicas: Option<i32>,
    /// The possible replicas, if others are possible.
    pub possible: Option<Range>,
}

/// By the most likely result. Another range of possible results does not make it another answer.
impl PartialEq for Alternative {
    fn eq(&self, other: &Self) -> bool {
        (self.proposal, self.replicas) == (other.proposal, other.replicas)
    }
}

impl Finding {
    /// Returns a finding; `explains` is whether it explains the current decision.
    fn new(severity: Severity, explains: bool, facts: impl Into<Facts>) -> Self {
        Self {
            facts: facts.into(),
            severity,
            explains,
            without: None,
            follows: None,
        }
    }

    /// Returns a finding that explains the current decision.
    fn explaining(severity: Severity, facts: impl Into<Facts>) -> Self {
        Self::new(severity, true, facts)
    }

    /// Returns a finding that does not explain the current decision.
    fn aside(severity: Severity, facts: impl Into<Facts>) -> Self {
        Self::new(severity, false, facts)
    }

    /// Adds the result of the pass without the problem.
    fn without(self, alternative: impl Into<Option<Alternative>>) -> Self {
        Self {
            without: alternative.into(),
            ..self
        }
    }

    /// Returns the code of the finding.
    pub fn code(&self) -> Code {
        self.facts.code()
    }

    /// Returns the names of the pods concerned.
    pub(crate) fn pods(&self) -> BTreeSet<&str> {
        self.facts.kind().pods().into_iter().collect()
    }

    /// Whether pods are the reason why no metric has a value.
    pub(crate) fn leaves_no_values(&self) -> bool {
        self.code().is(Aspect::NoValues) && self.explains && self.severity == Severity::Error
    }
}

/// Declares the kinds of findings, in the order in which they are searched for and documented: each with its code, its
/// rank if someone should act on it, and its aspects.
macro_rules! catalogue {
    ($($room:ident::$file:ident::$name:ident => $code:literal, $rank:ident, [$($aspect:expr),*];)*) => {
        /// The code of a finding. Codes are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(
                #[doc = concat!("Of `", stringify!($name), "`.")]
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

            /// Returns the rank of the finding if someone should act on it.
            fn rank(self) -> Rank {
                match self {
                    $(Self::$name => Rank::$rank,)*
                }
            }

            /// Returns the aspects of the finding that matter to other findings and to reports.
            fn aspects(self) -> &'static [Aspect] {
                use Aspect::{Ends, Lasts, Miscounts, NoValues, OfMetrics, OfTarget, Passes, Repeats};
                match self {
                    $(Self::$name => &[$($aspect),*],)*
                }
            }

            /// Whether the finding has an aspect.
            pub(crate) fn is(self, aspect: Aspect) -> bool {
                self.aspects().contains(&aspect)
            }
        }

        /// The facts of a finding, with its evidence.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Facts {
            $(
                #[doc = concat!("Those of [`", stringify!($name), "`](Code::", stringify!($name), ").")]
                $name($room::$file::$name),
            )*
        }

        impl Facts {
            /// Returns the code.
            pub fn code(&self) -> Code {
                match self {
                    $(Self::$name(_) => Code::$name,)*
                }
            }

            /// Returns the facts as a kind of finding.
            pub(crate) fn kind(&self) -> &dyn Kind {
                match self {
                    $(Self::$name(facts) => facts,)*
                }
            }
        }

        $(
            impl From<$room::$file::$name> for Facts {
                fn from(facts: $room::$file::$name) -> Self {
                    Self::$name(facts)
                }
            }
        )*

        /// Searches for everything that is not ignored.
        fn search(case: &mut Case<'_>) -> Vec<Finding> {
            $(
                let hits = $room::$file::$name::find(case);
                case.found.extend(hits);
            )*
            case.shown().cloned().collect()
        }
    };
}

catalogue! {
    outside::target_not_found::TargetNotFound => "target-not-found", Broken, [Ends(Block::NoScale)];
    outside::scale_not_read::ScaleNotRead => "scale-not-read", Broken, [Ends(Block::NoScale)];
    outside::scale_not_written::ScaleNotWritten => "scale-not-written", Broken, [];
    outside::controller_silent::ControllerSilent => "controller-silent", Broken, [];
    outside::other_writer::OtherWriter => "other-writer", Broken, [Lasts, OfTarget];
    outside::paused_by_keda::PausedByKeda => "paused-by-keda", Misconfigured, [];
    outside::field_ignored::FieldIgnored => "field-ignored", Misconfigured, [];
    outside::differs_from_status::DiffersFromStatus => "differs-from-status", Misconfigured, [];
    outside::flapping::Flapping => "flapping", Misconfigured, [];
    requests::missing_request::MissingRequest => "missing-request", Broken, [OfMetrics, Lasts];
    metrics::metric_not_found::MetricNotFound => "metric-not-found", Broken, [OfMetrics];
    metrics::metric_failing::MetricFailing => "metric-failing", Broken, [OfMetrics];
    metrics::metric_empty::MetricEmpty => "metric-empty", Broken, [OfMetrics, Lasts];
    metrics::metrics_api_unavailable::MetricsApiUnavailable => "metrics-api-unavailable", Broken, [OfMetrics];
    metrics::blocked_by_failed_metric::BlockedByFailedMetric =>
        "blocked-by-failed-metric", Rule, [Repeats, Ends(Block::Metrics)];
    metrics::unknown_container::UnknownContainer => "unknown-container", Broken, [OfMetrics, Lasts];
    metrics::container_metrics_missing::ContainerMetricsMissing =>
        "container-metrics-missing", Broken, [OfMetrics, Lasts, Repeats];
    requests::diluted_by_container::DilutedByContainer => "diluted-by-container", Misconfigured, [OfMetrics];
    requests::resize_in_progress::ResizeInProgress => "resize-in-progress", Misconfigured, [OfMetrics];
    requests::requests_differ_from_template::RequestsDifferFromTemplate =>
        "requests-differ-from-template", Misconfigured, [OfMetrics];
    values::suspect_unit::SuspectUnit => "suspect-unit", Misconfigured, [OfMetrics];
    values::value_multiplies::ValueMultiplies => "value-multiplies", Misconfigured, [];
    requests::memory_baseline::MemoryBaseline => "memory-baseline", Misconfigured, [OfMetrics];
    requests::request_too_small::RequestTooSmall => "request-too-small", Misconfigured, [OfMetrics];
    values::stale_samples::StaleSamples => "stale-samples", Broken, [OfMetrics];
    owners::selector_missing::SelectorMissing => "selector-missing", Broken, [OfMetrics, Ends(Block::Selector), OfTarget];
    owners::selector_matches_nothing::SelectorMatchesNothing =>
        "selector-matches-nothing", Broken, [OfMetrics, NoValues, OfTarget];
    owners::shared_pods::SharedPods => "shared-pods", Broken, [OfMetrics, Lasts, Ends(Block::SharedPods)];
    pods::finished_pods::FinishedPods => "finished-pods", Misconfigured, [NoValues, Miscounts];
    owners::foreign_pods::ForeignPods => "foreign-pods", Misconfigured, [NoValues, Miscounts];
    pods::never_ready::NeverReady => "never-ready", Broken, [NoValues, Miscounts];
    pods::unschedulable_pods::UnschedulablePods => "unschedulable-pods", Broken, [NoValues, Passes];
    pods::replicas_without_pods::ReplicasWithoutPods => "replicas-without-pods", Broken, [NoValues, Miscounts, OfTarget];
    owners::old_revision_pods::OldRevisionPods => "old-revision-pods", Misconfigured, [Miscounts, Passes, OfTarget];
    pods::terminating_pods::TerminatingPods => "terminating-pods", Misconfigured, [Miscounts, Passes];
    pods::starting_pods::StartingPods => "starting-pods", Misconfigured, [Miscounts, Passes];
    requests::unreachable_target::UnreachableTarget => "unreachable-target", Misconfigured, [OfMetrics];
    pods::uncounted_pods::UncountedPods => "uncounted-pods", Broken, [NoValues, Miscounts, Passes, Repeats];
    path::switched_off::SwitchedOff => "switched-off", Rule, [OfTarget];
    path::above_max::AboveMax => "above-max", Rule, [Repeats];
    path::below_min::BelowMin => "below-min", Rule, [Repeats];
    path::direction_disabled::DirectionDisabled => "direction-disabled", Rule, [];
    path::at_max::AtMax => "at-max", Rule, [Repeats];
    path::at_min::AtMin => "at-min", Rule, [];
    path::rate_limited::RateLimited => "rate-limited", Rule, [];
    path::held_by_window::HeldByWindow => "held-by-window", Rule, [];
    path::rounding::Rounding => "rounding", Rule, [Repeats];
    path::within_tolerance::WithinTolerance => "within-tolerance", Rule, [Repeats];
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
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

/// Examines a pass. Findings that explain the decision come first, then by rank, by severity, and by how many
/// replicas they cost. A finding that follows from another comes after it.
pub fn find(pass: &Pass) -> Vec<Finding> {
    find_except(pass, &[])
}

/// Examines a pass, but leaves out the findings with some codes; no other finding refers to them either.
pub(crate) fn find_except(pass: &Pass, ignored: &[Code]) -> Vec<Finding> {
    let mut case = Case::new(pass, ignored);
    let mut found = search(&mut case);
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
    causes::link(pass, &mut found);
    // Pods of an earlier revision that change no answer are not worth a word of their own.
    let is_idle = |it: &Finding| it.follows.is_none() && it.without == Some(answer);
    found.retain(|it| it.code() != Code::OldRevisionPods || !is_idle(it));
    found
}

/// Returns the findings about metrics that a pass does not read because the replicas are beyond a bound. The next pass
/// reads them, and what is wrong with them is wrong either way.
fn ignored_metrics(pass: &Pass, ignored: &[Code]) -> Vec<Finding> {
    let Some(beyond) = pass.decision.corrects() else {
        return Vec::new();
    };
    let mut input = pass.input.clone();
    path::corrected::widen(&mut input.snapshot.hpa.spec, beyond);
    let reading = Pass::with(input, pass.remembered.clone());
    let mut found = search(&mut Case::new(&reading, ignored));
    found.retain(|it| it.code().is(Aspect::OfMetrics));
    // The result of that pass is not the result of this one.
    found
        .into_iter()
        .map(|it| Finding {
            explains: false,
            without: None,
            ..it
        })
        .collect()
}
