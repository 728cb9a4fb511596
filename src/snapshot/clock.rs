//! The clock of saved objects, and doubts about it. A pass compares times to see whether a pod is still starting, and
//! which recommendations still count. Objects that state no time are evaluated with the system clock, and a stated time
//! may belong to other samples.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::apimachinery::json;

use super::evidence::Evidence;
use super::hpa::Hpa;
use super::{Measurement, MetricAnswer, Snapshot};

/// The system clock fits samples that are no older than this, or than twice their window: those of metrics-server are 15
/// to 75 s old.
const CLOSE: SignedDuration = SignedDuration::from_secs(90);
/// The same for values of cloud providers, which state no windows.
const CLOSE_IN_CLOUDS: SignedDuration = SignedDuration::from_mins(5);
/// The expected difference between the clocks of two machines.
const SKEW: SignedDuration = SignedDuration::from_mins(1);
/// How slow the clock of this machine may be, since no dump comes from the future.
const SYSTEM_SKEW: SignedDuration = SignedDuration::from_mins(5);
/// A pipeline that has been broken for longer than this is less likely than a wrong time.
const OLD: SignedDuration = SignedDuration::from_hours(1);

/// The reason why saved objects may belong to a different time from the clock of their snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockDoubt {
    /// The reason for the doubt.
    pub why: Why,
    /// The newest time in the input: the objects are no older.
    #[serde(rename = "newestTime", serialize_with = "json::time::serialize")]
    pub newest: Timestamp,
}

/// The reason to doubt a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// The input states no time, and the system clock is far from the samples.
    Unstated,
    /// The input has later times than the stated one.
    Ahead,
    /// The samples are old at the stated time: metrics have not arrived, or the time is wrong.
    Old,
}

/// Returns the newest sample that states its time.
pub(crate) fn newest_sample(snapshot: &Snapshot) -> Option<Measurement<'_>> {
    let answers = snapshot.metrics.iter().chain([&MetricAnswer::PodMetrics]);
    let samples = answers.flat_map(|answer| snapshot.measurements(answer));
    let stated = samples.filter(|sample| sample.time.is_some());
    stated.max_by_key(|sample| sample.time)
}

/// Returns the newest time in an input about an HPA: of its newest sample, its status, its last scaling, its events and
/// its target's, or the lease.
fn newest_time(
    hpa: &Hpa,
    evidence: &Evidence,
    sample: Option<Measurement<'_>>,
) -> Option<Timestamp> {
    let events = evidence.events.iter().chain(&evidence.scaled);
    let others = [
        sample.and_then(|it| it.time),
        hpa.written.status,
        hpa.status.last_scale_time,
        evidence.lease.map(|lease| lease.renewed),
    ];
    others
        .into_iter()
        .chain(events.map(|event| event.last))
        .flatten()
        .max()
}

/// Returns the greatest age of a sample that the system clock fits.
fn close_to(sample: Measurement<'_>) -> SignedDuration {
    let of_window = |window: SignedDuration| window.saturating_mul(2).max(CLOSE);
    sample.window.map_or(CLOSE_IN_CLOUDS, of_window)
}

impl ClockDoubt {
    /// Returns the doubt about the clock of saved objects, which is the system's if their time is not known. No time in
    /// them can be later. Only samples are new whenever objects are read: without any, all times may be long ago.
    /// `evidence` is `None` if the objects state when they were read themselves: other times in them are of other clocks.
    pub(super) fn of(
        snapshot: &Snapshot,
        evidence: Option<&Evidence>,
        is_known: bool,
    ) -> Option<Self> {
        let sample = newest_sample(snapshot);
        let newest = match evidence {
            Some(evidence) => newest_time(&snapshot.hpa, evidence, sample),
            None => sample?.time,
        }?;
        let age = snapshot.now.duration_since(newest);
        let limit = |sample| if is_known { OLD } else { close_to(sample) };
        let (ahead, old, skew) = if is_known {
            (Why::Ahead, Why::Old, SKEW)
        } else {
            (Why::Unstated, Why::Unstated, SYSTEM_SKEW)
        };
        let is_old = sample.is_some_and(|it| age > limit(it));
        let why = if age < -skew {
            Some(ahead)
        } else {
            is_old.then_some(old)
        }?;
        Some(Self { why, newest })
    }

    /// Returns the alternative time of the pass, if it is at least as likely as the clock. A stated
    /// time is kept if the samples may be old.
    pub fn alternative(&self) -> Option<Timestamp> {
        (self.why != Why::Old).then_some(self.newest)
    }
}
