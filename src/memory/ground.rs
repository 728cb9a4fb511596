//! The grounds for the bounds of a memory, with the words for them.

use jiff::{SignedDuration, Timestamp};

use super::sighting::Sighting;
use crate::apimachinery::json::SecondsTime;
use crate::numbers::{self, age};
use crate::snapshot::basis::BasisView;
use crate::snapshot::evidence::SCALED;
use crate::snapshot::memory::ScaleEvent;

/// One ground for the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// No pass has run on the HPA.
    NeverReconciled,
    /// The leader has lost its lease and, with it, its memory.
    LeaderLost {
        /// The time of its last renewal.
        renewed: Timestamp,
    },
    /// The status says nothing about the recommendations.
    StatusSilent(StatusSilent),
    /// The last status.
    LastStatus {
        /// The conclusions about its pass.
        sighting: Sighting,
        /// The age of the status.
        age: Option<SignedDuration>,
    },
    /// Statuses that have been overwritten since.
    EarlierStatuses {
        /// The number of recommendations known from these statuses.
        count: usize,
        /// The time of the first.
        first: Timestamp,
        /// The time of the last.
        last: Timestamp,
    },
    /// A rescale that followed a recommendation.
    Rescale {
        /// The minimum of the recommendation.
        at_least: i32,
        /// The time of the rescale.
        time: Timestamp,
    },
    /// Passes that were run again over a history of samples.
    Played {
        /// The number of passes.
        count: usize,
        /// The time of the first.
        first: Timestamp,
        /// The time of the last.
        last: Timestamp,
    },
    /// The passes of a history may be over another spec: the HPA does not state when its spec was written.
    SpecUndated,
    /// Passes before now that were run again over a history of samples, which narrows the bounds.
    Recorded {
        /// The time of the first.
        first: Timestamp,
        /// The time of the last.
        last: Timestamp,
        /// The source of the history.
        source: String,
    },
    /// A history of samples is not used, because it contradicts the API.
    Contradicted(Contradiction),
    /// The rescales that the rate limits of `behavior` count.
    RateLimits(CountedRescales),
    /// The time since which the controller has had its history.
    Controller(Running),
}

/// The reason why a status says nothing about the recommendations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StatusSilent {
    /// A later status could not be written.
    #[error("event FailedUpdateStatus: a later one could not be written")]
    LaterLost,
    /// This program wrote the status.
    #[error("kubectl-hpa wrote it, possibly without a pass since")]
    WrittenByUs,
    /// The status belongs to an HPA that has since been replaced.
    #[error("no pass since the HPA was replaced")]
    Replaced,
    /// The spec was changed after it.
    #[error("the spec was changed after it was written")]
    SpecChanged,
}

/// The point on which a history of samples contradicts the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// The replicas of the target.
    #[error("the recorded replicas are not those of the target")]
    Replicas,
    /// The recommendation of a pass.
    #[error("the recorded metrics lead to other recommendations than the status shows")]
    Recommendations,
}

/// The rescales that the rate limits count.
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
    /// Possibly any rescales.
    Any(UnknownRescales),
}

/// The reason why the rescales are unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownRescales {
    /// A status could not be written.
    #[error("a status that could not be written")]
    StatusLost,
    /// There was an earlier HPA of the same name.
    #[error("events about an earlier HPA of the name")]
    EarlierHpa,
    /// The events are incomplete.
    #[error("the events are incomplete")]
    EventsIncomplete,
    /// More rescales were observed than are considered.
    #[error("more rescales were observed than are considered")]
    TooMany,
    /// A history of samples has no replicas.
    #[error("the replicas were not recorded")]
    ReplicasNotRecorded,
    /// An event of the target reports a change that is not the controller's.
    #[error("a {SCALED} event of the target shows another change: {message}")]
    OtherChange {
        /// The event's message.
        message: String,
    },
}

/// The time since which the controller has had its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// The controller has led since then, according to its lease.
    Leads(Timestamp),
    /// The controller has not restarted since then, according to its pod's statuses.
    Since(Timestamp),
    /// The controller may have restarted at any time.
    Unknown,
}

const BY_EVENTS: &str = "SuccessfulRescale events, assuming nothing else scaled";

impl From<&Ground> for BasisView {
    fn from(ground: &Ground) -> Self {
        match ground {
            Ground::NeverReconciled => {
                Self::new("history", "empty: no pass over this HPA yet", "its status")
            }
            Ground::LeaderLost { renewed } => Self::new(
                "history",
                format!(
                    "empty: the leader last renewed its lease at {}",
                    SecondsTime(*renewed)
                ),
                "the controller manager's lease, and no status or event since",
            ),
            Ground::StatusSilent(why) => Self::new(
                "recommendations",
                "the status says nothing about them",
                why.to_string(),
            ),
            Ground::LastStatus {
                sighting,
                age: written,
            } => {
                let source = status_source(sighting, *written);
                Self::new("recommendations", sighting.to_string(), source)
            }
            Ground::EarlierStatuses { count, first, last } => {
                let (from, to) = (SecondsTime(*first), SecondsTime(*last));
                let when = if first == last {
                    format!("at {from}")
                } else {
                    format!("between {from} and {to}")
                };
                let value = format!("{count} more, {when}");
                Self::new("recommendations", value, "earlier states of the HPA")
            }
            Ground::Rescale { at_least, time } => Self::new(
                "recommendations",
                format!("at least {at_least} at {}", SecondsTime(*time)),
                BY_EVENTS,
            ),
            Ground::Played { count, first, last } => {
                let count = numbers::count(*count, "recommendation");
                let value = format!("{count} {}", by_passes(*first, *last));
                Self::new("recommendations", value, "the samples around each")
            }
            Ground::Recorded {
                first,
                last,
                source,
            } => {
                let value = format!("narrower bounds, {}", by_passes(*first, *last));
                Self::new("recommendations", value, source)
            }
            Ground::SpecUndated => Self::new(
                "recommendations",
                "none by recorded passes, which may be over another spec",
                "no time of the spec in managedFields, which kubectl get --show-managed-fields prints",
            ),
            Ground::Contradicted(contradiction) => Self::new(
                "history",
                "not taken from Prometheus",
                contradiction.to_string(),
            ),
            Ground::RateLimits(counted) => {
                let (value, source) = counted.words();
                Self::new("scale events", value, source)
            }
            Ground::Controller(running) => {
                let (value, source) = running.words();
                Self::new("controller", value, source)
            }
        }
    }
}

fn by_passes(first: Timestamp, last: Timestamp) -> String {
    let (from, to) = (SecondsTime(first), SecondsTime(last));
    format!("by passes from {from} to {to}")
}

/// Describes the parts of a status of this age that show what a sighting says.
fn status_source(sighting: &Sighting, written: Option<SignedDuration>) -> String {
    let mut source = format!("condition {}, ", sighting.reason);
    source += &match written {
        Some(written) => format!("status written {} ago", age(written)),
        None => "time unknown".to_owned(),
    };
    if let Some(counted) = sighting.counted {
        source += &format!("; status.currentMetrics, averages over {counted} replicas");
    }
    source
}

impl CountedRescales {
    /// Describes the changes that rate limits count, and how they are known.
    fn words(&self) -> (String, String) {
        match self {
            Self::NoBehavior => (
                "rate limits count no rescale: without behavior, none is remembered".to_owned(),
                "the observed spec".to_owned(),
            ),
            Self::NoRescale => (
                "no rescale to count".to_owned(),
                "status.lastScaleTime is not set".to_owned(),
            ),
            Self::Expired(ago) => (
                "no rescale within the periods of the policies".to_owned(),
                format!("status.lastScaleTime, {} ago", age(*ago)),
            ),
            Self::Seen(changes) => (counted(changes), "earlier states of the HPA".to_owned()),
            Self::ByEvents(changes) => (counted(changes), BY_EVENTS.to_owned()),
            Self::Recorded(changes) => (counted(changes), "the recorded replicas".to_owned()),
            Self::Any(why) => (
                "rate limits may count any rescale".to_owned(),
                why.to_string(),
            ),
        }
    }
}

fn counted(changes: &[ScaleEvent]) -> String {
    if changes.is_empty() {
        return "no rescale to count".to_owned();
    }
    let changes = changes
        .iter()
        .map(|change| format!("{:+} at {}", change.replicas, SecondsTime(change.time)));
    format!("rate limits count {}", Vec::from_iter(changes).join(", "))
}

impl Running {
    /// Returns the words for the time since which the controller has had its history, and for the evidence.
    fn words(self) -> (String, &'static str) {
        match self {
            Self::Leads(since) => (
                format!("leader since {}, with no older history", SecondsTime(since)),
                "the controller manager's lease",
            ),
            Self::Since(since) => (
                format!("has not restarted since {}", SecondsTime(since)),
                "consecutive statuses; no current controller manager lease",
            ),
            Self::Unknown => (
                "may have restarted at any time".to_owned(),
                "no current controller manager lease",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CountedRescales;

    #[test]
    fn no_rescale_is_none_to_count_whatever_shows_it() {
        let by: [fn(_) -> _; 3] = [
            CountedRescales::Seen,
            CountedRescales::ByEvents,
            CountedRescales::Recorded,
        ];
        for counted in by {
            let (value, _) = counted(Vec::new()).words();
            assert_eq!(value, "no rescale to count");
        }
    }
}
