//! The evidence of a past pass and the passes before it in a history of samples. The time between two
//! samples is unknown, so most of this is bounds. Nothing here evaluates them.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::basis::BasisView;
use super::hpa::HpaSpec;
use super::load::{LoadNote, LoadQuery};
use crate::apimachinery::json::{SecondsTime, time};
use crate::apimachinery::names::shell_word;
use crate::numbers::duration;

/// The past of a pass, according to a history of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Past {
    /// The place where the history was read, without credentials.
    pub source: String,
    /// The queries sent there.
    pub queries: Vec<LoadQuery>,
    /// The server's warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<LoadNote>,
    /// The time at which the HPA was read; the history lacks most of its spec.
    #[serde(deserialize_with = "time::deserialize")]
    pub read: Timestamp,
    /// The seconds between two scrapes of the usage, if they could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrape: Option<i64>,
    /// The parts that the history lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<PastPart>,
    /// The fields of the HPA that had different values then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<PastField>,
    /// The metrics whose targets are taken from the HPA as it was read, although the history has targets of
    /// other metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// The uncertainty of the pass's time, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub doubt: i64,
    /// The replicas before the pass.
    pub replicas: Bounds,
    /// The replicas that the pass left, according to the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Bounds>,
    /// Whether the record, rather than the likeliest samples, determined what is the likeliest.
    #[serde(default, skip_serializing_if = "is_false")]
    pub decided: bool,
    /// The replicas that the metrics proposed, if they proposed any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Bounds>,
    /// The passes before it that may matter, the oldest first.
    pub passes: Vec<PastPass>,
    /// The rescales before it that may matter, the oldest first.
    pub rescales: Vec<PastRescale>,
    /// The replicas that were recorded next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedReplicas>,
}

impl Past {
    /// Returns what a past pass is based on besides the history.
    pub(crate) fn basis(&self) -> Vec<BasisView> {
        let Past {
            source,
            read,
            scrape,
            lacks,
            kept,
            ..
        } = self;
        let read = format!("as read at {}", SecondsTime(*read));
        let lacks = |part| lacks.contains(&part);
        let mut views = vec![BasisView::new(
            "history",
            "samples of the pods and the HPA",
            source,
        )];
        let mut add =
            |item, value: &str, source: &str| views.push(BasisView::new(item, value, source));
        let fields = [
            (PastPart::Limits, "minReplicas and maxReplicas"),
            (PastPart::Targets, "the targets"),
        ];
        let recorded = fields.iter().filter(|(part, _)| !lacks(*part));
        let recorded: Vec<&str> = recorded.map(|(_, name)| *name).collect();
        let spec = if recorded.is_empty() {
            "all of it".to_owned()
        } else {
            format!("all but {}", recorded.join(", and "))
        };
        add("spec", &spec, &read);
        if !kept.is_empty() {
            add("targets", &format!("of {}", kept.join(", ")), &read);
        }
        add(
            "controller",
            "did not restart in its history",
            "the history does not say",
        );
        add(
            "passes",
            "at this time, and a sync period apart before it",
            "the history does not say when they were",
        );
        let scraped = scrape.map_or_else(
            || "no scrapes".to_owned(),
            |seconds| {
                format!(
                    "scrapes every {}",
                    duration(SignedDuration::from_secs(seconds))
                )
            },
        );
        add(
            "usage",
            "rates between two scrapes, of the last 45s",
            &format!("{scraped}; the metrics API's own samples are not recorded"),
        );
        for (part, item, value, source) in [
            (
                PastPart::Replicas,
                "replicas",
                "the number of active pods",
                "not recorded",
            ),
            (PastPart::Phases, "phases", "Running", "not recorded"),
            (
                PastPart::Readiness,
                "readiness",
                "ready since they were started",
                "not recorded",
            ),
            (
                PastPart::StartTimes,
                "start times",
                "when pods were created",
                "not recorded",
            ),
            (
                PastPart::ReadyTimes,
                "ready since",
                "the start, or the scrape that saw it",
                "not recorded",
            ),
            (
                PastPart::Requests,
                "requests",
                "those of the template",
                &read,
            ),
            (PastPart::Cpu, "usage of cpu", "unknown", "not recorded"),
            (
                PastPart::Memory,
                "usage of memory",
                "unknown",
                "not recorded",
            ),
        ] {
            if lacks(part) {
                add(item, value, source);
            }
        }
        views
    }

    /// Returns the notes on a past pass.
    pub(crate) fn notes(&self, spec: &HpaSpec) -> Vec<String> {
        let Past {
            warnings,
            changed,
            lacks,
            kept,
            queries,
            ..
        } = self;
        let fields = changed.iter().map(|PastField { field, then, now }| {
            format!("{field} of the HPA was {then}, and is {now} since")
        });
        let mut notes: Vec<String> = fields.collect();
        if !lacks.is_empty() || !kept.is_empty() {
            let text = "the history lacks parts of this pass: ASSUMED, with -o wide, has what is used instead";
            notes.push(text.to_owned());
        }
        let metrics = spec.metrics.iter().filter(|metric| !metric.is_resource());
        let names = metrics.map(|metric| metric.flag_name(&spec.metrics));
        notes.extend(
            names
                .filter(|name| queries.iter().all(|query| query.of != *name))
                .map(|name| {
                    let query = shell_word(&format!("{name}=PROMQL"));
                    format!("no query was stated for {name}: --query {query} gives its values")
                }),
        );
        notes.extend(warnings.iter().map(ToString::to_string));
        notes
    }
}

/// A number of replicas between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bounds {
    /// The lower bound.
    pub at_least: i32,
    /// The upper bound; the largest integer if unknown.
    pub at_most: i32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(decided: &bool) -> bool {
    !decided
}

impl Bounds {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        at_least: 0,
        at_most: i32::MAX,
    };

    /// Returns the bounds of one number.
    pub fn exactly(replicas: i32) -> Self {
        Self {
            at_least: replicas,
            at_most: replicas,
        }
    }

    /// Whether a number is within the bounds.
    pub fn contains(self, replicas: i32) -> bool {
        (self.at_least..=self.at_most).contains(&replicas)
    }

    /// Returns bounds that also contain a number.
    #[must_use]
    pub fn with(self, replicas: i32) -> Self {
        Self {
            at_least: self.at_least.min(replicas),
            at_most: self.at_most.max(replicas),
        }
    }
}

/// The recommendation of a pass before the explained one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PastPass {
    /// The time of the pass.
    #[serde(deserialize_with = "time::deserialize")]
    pub time: Timestamp,
    /// The bounds of its recommendation.
    pub recommended: Bounds,
    /// The most likely recommendation; `None` if it may have made none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely: Option<i32>,
    /// The replicas that the pass found; `None` if the passes are the memory of a past pass, for which no
    /// restart is assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Bounds>,
}

/// A rescale between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastRescale {
    /// The change in replicas, positive for an increase.
    pub replicas: i32,
    /// The earliest possible time.
    #[serde(deserialize_with = "time::deserialize")]
    pub from: Timestamp,
    /// The latest possible time.
    #[serde(deserialize_with = "time::deserialize")]
    pub until: Timestamp,
    /// The most likely time, if it is not the middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely: Option<Timestamp>,
}

/// A number of replicas that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedReplicas {
    /// The replicas.
    pub replicas: i32,
    /// The time at which they were first recorded.
    #[serde(deserialize_with = "time::deserialize")]
    pub time: Timestamp,
}

/// A field of the HPA that was different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastField {
    /// The field.
    pub field: String,
    /// The value at the time of the pass.
    pub then: String,
    /// The value when the HPA was read.
    pub now: String,
}

/// A part of a history that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PastPart {
    /// The replicas of the target.
    Replicas,
    /// `minReplicas` and `maxReplicas`.
    Limits,
    /// The targets of the metrics.
    Targets,
    /// The phases of the pods.
    Phases,
    /// The readiness of pods.
    Readiness,
    /// The start times of pods.
    StartTimes,
    /// The times at which pods became ready.
    ReadyTimes,
    /// The requests of the containers.
    Requests,
    /// The CPU usage of the containers.
    Cpu,
    /// The memory usage of the containers.
    Memory,
}
