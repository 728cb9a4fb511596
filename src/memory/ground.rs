//! What the bounds of a memory rest on. `report` puts it into words.

use jiff::{SignedDuration, Timestamp};

use super::sighting::Sighting;
use crate::snapshot::memory::ScaleEvent;

/// One thing that the bounds rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// No pass has been made over the HPA.
    NeverReconciled,
    /// The status says nothing of the recommendations.
    StatusSilent(StatusSilent),
    /// The last status.
    LastStatus {
        /// What it says of its pass.
        sighting: Sighting,
        /// How old it is.
        age: Option<SignedDuration>,
    },
    /// Statuses that have been overwritten since.
    EarlierStatuses {
        /// How many recommendations they tell of.
        count: usize,
        /// The time of the first.
        first: Timestamp,
        /// That of the last.
        last: Timestamp,
    },
    /// A rescale that followed a recommendation.
    Rescale {
        /// Its least replicas.
        at_least: i32,
        /// Its time.
        time: Timestamp,
    },
    /// What the rate limits of `behavior` count.
    RateLimits(Counted),
    /// Since when the controller has been remembering.
    Controller(Running),
}

/// Why a status says nothing of the recommendations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusSilent {
    /// A later one could not be written.
    LaterLost,
    /// It was written by us.
    WrittenByUs,
    /// It is of an HPA that was replaced since.
    Replaced,
    /// The spec was changed after it.
    SpecChanged,
}

/// What the rate limits count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// Nothing, as nothing is remembered without `behavior`.
    NoBehavior,
    /// Nothing, as there was no rescale.
    NoRescale,
    /// Nothing, as the last rescale is this old.
    Expired(SignedDuration),
    /// These changes, by states of the HPA that were seen.
    Seen(Vec<ScaleEvent>),
    /// These changes, by the HPA's events.
    ByEvents(Vec<ScaleEvent>),
    /// Anything.
    Any(Uncounted),
}

/// Why the rescales are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncounted {
    /// A status could not be written.
    StatusLost,
    /// There was an earlier HPA of the name.
    EarlierHpa,
    /// The events do not tell of all.
    EventsIncomplete,
    /// An event of the target tells of a change that is not the controller's.
    OtherChange {
        /// Its message.
        message: String,
    },
}

/// Since when the controller has been remembering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// It has led since then, by its lease.
    Leads(Timestamp),
    /// It has not restarted since then, by its statuses.
    Since(Timestamp),
    /// It may have restarted at any time.
    Unknown,
}
