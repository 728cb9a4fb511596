//! The evidence of a past pass and the passes before it in a history of samples. The time between two
//! samples is unknown, so most of this is bounds. Nothing here evaluates them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::load::LoadQuery;
use crate::apimachinery::json::{is_zero, time};

/// The past of a pass, according to a history of samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Past {
    /// The place where the history was read, without credentials.
    pub source: String,
    /// The queries sent there.
    pub queries: Vec<LoadQuery>,
    /// The server's warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
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
    /// The metrics whose targets come from the HPA as it was read, although the history has targets of other metrics.
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
    /// Whether the record, rather than the likeliest samples, determined the likeliest pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decided: bool,
    /// The replicas that the metrics proposed, if they proposed any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Bounds>,
    /// The earlier passes that may matter, the oldest first.
    pub passes: Vec<PastPass>,
    /// The earlier rescales that may matter, the oldest first.
    pub rescales: Vec<PastRescale>,
    /// The replicas that were recorded next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedReplicas>,
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

impl Default for Bounds {
    fn default() -> Self {
        Self::UNKNOWN
    }
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

    /// Returns bounds that contain both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        self.with(other.at_least).with(other.at_most)
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
    /// The most likely recommendation; `None` if the pass may have made none.
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

/// A field of the HPA that had a different value.
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
    /// Which init containers keep running.
    Sidecars,
    /// The CPU usage of the containers.
    Cpu,
    /// The memory usage of the containers.
    Memory,
}
