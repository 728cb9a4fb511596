//! The grounds for the bounds of a memory that several rules share, in words.

use jiff::Timestamp;

use crate::apimachinery::json::SecondsTime;
use crate::numbers::age;
use crate::snapshot::basis::BasisView;
use crate::snapshot::memory::ScaleEvent;

/// The source of what follows from the events about rescales.
pub(super) const BY_EVENTS: &str = "SuccessfulRescale events, assuming nothing else scaled";

/// The item of the grounds about the changes that rate limits count.
pub(super) const SCALE_EVENTS: &str = "scale events";

/// Returns a ground for the recommendations.
pub(super) fn recommendations(value: impl Into<String>, source: impl Into<String>) -> BasisView {
    BasisView::new("recommendations", value, source)
}

/// Returns the ground for the changes that the rate limits of `behavior` count: these, according to a source.
pub(super) fn counted(changes: &[ScaleEvent], source: &str) -> BasisView {
    let texts = changes
        .iter()
        .map(|change| format!("{:+} at {}", change.replicas, SecondsTime(change.time)));
    let value = if changes.is_empty() {
        "no rescale to count".to_owned()
    } else {
        format!("rate limits count {}", Vec::from_iter(texts).join(", "))
    };
    BasisView::new(SCALE_EVENTS, value, source)
}

/// Returns the same for the changes that a history of samples shows.
pub(super) fn recorded(changes: &[ScaleEvent]) -> BasisView {
    counted(changes, "the recorded replicas")
}

/// Returns the ground if the rate limits may count any rescale.
pub(super) fn any_rescale(why: impl Into<String>) -> BasisView {
    BasisView::new(SCALE_EVENTS, "rate limits may count any rescale", why)
}

/// Describes passes by the times of the first and the last.
pub(super) fn by_passes(first: Timestamp, last: Timestamp) -> String {
    let (from, to) = (SecondsTime(first), SecondsTime(last));
    format!("by passes from {from} to {to}")
}

/// Describes how long ago something was written.
pub(super) fn ago(written: Timestamp, now: Timestamp) -> String {
    format!("{} ago", age(now.duration_since(written)))
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn no_rescale_is_none_to_count() {
        assert_eq!(counted(&[], "a source").value, "no rescale to count");
    }
}
