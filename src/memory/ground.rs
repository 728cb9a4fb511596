//! The grounds for the bounds of a memory. `report` puts them into words.

use jiff::{SignedDuration, Timestamp};

use super::sighting::Sighting;
use crate::snapshot::memory::ScaleEvent;

/// One ground for the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// No pass has run on the HPA.
    NeverReconciled,
    /// The leader has lost its lease, and its memory with it.
    LeaderLost {
        /// When it last renewed the lease.
        renewed: Timestamp,
    },
    /// The status says nothing about the recommendations.
    StatusSilent(StatusSilent),
    /// The last status.
    LastStatus {
        /// What it says about its pass.
        sighting: Sighting,
        /// How old it is.
        age: Option<SignedDuration>,
    },
    /// Statuses that have been overwritten since.
    EarlierStatuses {
        /// The number of recommendations known from them.
        count: usize,
        /// The time of the first.
        first: Timestamp,
        /// The time of the last.
        last: Timestamp,
    },
    /// A rescale that followed a recommendation.
    Rescale {
        /// Its minimum replicas.
        at_least: i32,
        /// Its time.
        time: Timestamp,
    },
    /// Passes that were run again over a history of samples.
    Played {
        /// How many.
        count: usize,
        /// The time of the first.
        first: Timestamp,
        /// The time of the last.
        last: Timestamp,
    },
    /// Passes before now that were run again over a history of samples, which makes the bounds narrower.
    Recorded {
        /// The time of the first.
        first: Timestamp,
        /// The time of the last.
        last: Timestamp,
        /// Where the history is from.
        source: String,
    },
    /// A history of samples is not used, because it does not agree with the API.
    Contradicted(Contradiction),
    /// What the rate limits of `behavior` count.
    RateLimits(CountedRescales),
    /// Since when the controller has had its history.
    Controller(Running),
}

/// Why a status says nothing about the recommendations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusSilent {
    /// A later one could not be written.
    LaterLost,
    /// It was written by us.
    WrittenByUs,
    /// It belongs to an HPA that has since been replaced.
    Replaced,
    /// The spec was changed after it.
    SpecChanged,
}

/// Where a history of samples does not agree with the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// The replicas of the target.
    Replicas,
    /// What a pass recommended.
    Recommendations,
}

/// What the rate limits count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountedRescales {
    /// Nothing, because without `behavior` no scale changes are remembered.
    NoBehavior,
    /// Nothing, because there was no rescale.
    NoRescale,
    /// Nothing, because the last rescale is this old.
    Expired(SignedDuration),
    /// These changes, according to observed states of the HPA.
    Seen(Vec<ScaleEvent>),
    /// These changes, according to the HPA's events.
    ByEvents(Vec<ScaleEvent>),
    /// These changes, according to the replicas in a history of samples.
    Recorded(Vec<ScaleEvent>),
    /// Possibly anything.
    Any(UnknownRescales),
}

/// Why the rescales are unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownRescales {
    /// A status could not be written.
    StatusLost,
    /// There was an earlier HPA of the same name.
    EarlierHpa,
    /// The events are incomplete.
    EventsIncomplete,
    /// A history of samples has no replicas.
    ReplicasNotRecorded,
    /// An event of the target reports a change that is not the controller's.
    OtherChange {
        /// Its message.
        message: String,
    },
}

/// Since when the controller has had its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// It has led since then, according to its lease.
    Leads(Timestamp),
    /// It has not restarted since then, according to its statuses.
    Since(Timestamp),
    /// It may have restarted at any time.
    Unknown,
}
