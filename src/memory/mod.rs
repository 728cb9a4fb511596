//! What the controller remembers between passes: recommendations and scale events. It can be
//! stated, or be that of a controller that has just started; where neither is known, the answer
//! is bounded over everything that could be remembered. Nothing is guessed silently.

use jiff::Timestamp;
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
            return Self {
                likely: Memory::default(),
                knowledge: Knowledge::Unknown,
            };
        };
        let knowledge = if stated.recommendations.is_empty() {
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

    /// Memories between which every possible one lies, as far as replicas are concerned: the
    /// outcome is monotone in the highest and lowest remembered recommendation and in the sums of
    /// the scale events. Empty where the memory is known.
    ///
    /// `current` is the target's replica count, `max` the HPA's upper limit.
    pub fn extremes(&self, now: Timestamp, current: i32, max: i32) -> Vec<Memory> {
        if self.knowledge != Knowledge::Unknown {
            return Vec::new();
        }
        // An entry older than every window plays no part, but keeps the list from being seeded.
        let forgotten = Recommendation {
            replicas: 0,
            time: Timestamp::MIN,
        };
        let recommended = |replicas| Recommendation {
            replicas,
            time: now,
        };
        let recommendations = [
            vec![forgotten],
            vec![recommended(i32::MAX)],
            vec![recommended(0)],
            vec![recommended(0), recommended(i32::MAX)],
        ];
        // As many replicas added as there are lets a percentage remove all of them; as many
        // removed as the limit allows lets any policy add up to the limit.
        let added = current.max(1);
        let removed = max.max(1).min(i32::MAX - current.max(0));
        let events = [(None, None), (Some(added), None), (None, Some(removed))];
        let list = |replicas: Option<i32>| {
            let event = |replicas| ScaleEvent {
                replicas,
                time: now,
                outdated: false,
            };
            replicas.map(event).into_iter().collect::<Vec<_>>()
        };
        let mut memories = Vec::with_capacity(recommendations.len() * events.len());
        for values in &recommendations {
            for (up, down) in events {
                memories.push(Memory {
                    recommendations: values.clone(),
                    scale_up_events: list(up),
                    scale_down_events: list(down),
                });
            }
        }
        memories
    }
}
