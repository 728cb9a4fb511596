//! What the controller remembers between passes: recommendations and scale events. It can be
//! stated, or be that of a controller that has just started; where neither is known, the answer
//! is bounded over everything that could be remembered. Nothing is guessed silently.

use serde::Serialize;

use crate::snapshot::stated::{Recommendation, ScaleEvent, StatedMemory};

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
}

/// How well the memory is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// It is stated, list by list.
    Stated,
    /// The controller is stated to have just started.
    JustStarted,
    /// Nothing is known; the memory used is that of a controller that has just started.
    Unknown,
}

/// The memory that a pass uses, and how well it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The likeliest memory.
    pub likely: Memory,
    /// How well it is known.
    pub knowledge: Knowledge,
}

impl Remembered {
    /// The memory that the input states; without any, that of a controller that has just started.
    pub fn from_stated(stated: Option<&StatedMemory>) -> Self {
        let Some(stated) = stated else {
            return Self { likely: Memory::default(), knowledge: Knowledge::Unknown };
        };
        let knowledge = if *stated == StatedMemory::default() {
            Knowledge::JustStarted
        } else {
            Knowledge::Stated
        };
        let likely = Memory {
            recommendations: stated.recommendations.clone(),
            scale_up_events: stated.scale_up_events.clone(),
            scale_down_events: stated.scale_down_events.clone(),
        };
        Self { likely, knowledge }
    }
}
