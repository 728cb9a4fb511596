//! The controller's history of an HPA between two passes, list by list. [`crate::memory`] determines how
//! well it is known.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::apimachinery::json::time;

/// The controller's three lists for one HPA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Past proposals before stabilization; without any, the controller seeds the list with the
    /// current replicas.
    pub recommendations: Vec<Recommendation>,
    /// Replicas added by past rescales.
    pub scale_up_events: Vec<ScaleEvent>,
    /// Replicas removed by past rescales.
    pub scale_down_events: Vec<ScaleEvent>,
    /// Whether the list of recommendations is empty because past ones do not count, so that it is not seeded.
    #[serde(skip)]
    pub is_without_past: bool,
}

impl Memory {
    /// Returns a memory of these recommendations and changes of scale; added replicas are positive. The controller
    /// remembers the changes of each direction separately.
    pub(crate) fn new(recommendations: Vec<Recommendation>, changes: &[ScaleEvent]) -> Self {
        let (mut up, mut down): (Vec<ScaleEvent>, Vec<ScaleEvent>) =
            changes.iter().partition(|event| event.replicas > 0);
        for event in up.iter_mut().chain(&mut down) {
            event.replicas = event.replicas.wrapping_abs();
        }
        Self {
            recommendations,
            scale_up_events: up,
            scale_down_events: down,
            is_without_past: false,
        }
    }

    /// Returns the same without any recommendation that counts.
    pub(crate) fn without_recommendations(self) -> Self {
        Self {
            recommendations: Vec::new(),
            is_without_past: true,
            ..self
        }
    }

    /// Whether a pass seeds the list of recommendations with the current replicas.
    pub(crate) fn needs_seed(&self) -> bool {
        self.recommendations.is_empty() && !self.is_without_past
    }
}

/// A proposal that the controller remembers (`timestampedRecommendation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recommendation {
    /// The proposal.
    pub replicas: i32,
    /// The time of the recommendation.
    #[serde(with = "time")]
    pub time: Timestamp,
}

/// A change of scale that the controller remembers (`timestampedScaleEvent`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleEvent {
    /// The change in replicas.
    pub replicas: i32,
    /// The time of the change.
    #[serde(with = "time")]
    pub time: Timestamp,
    /// Whether, at an earlier pass, the event was older than every policy's period; if so, its slot may be
    /// reused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
}
