//! The clock of saved objects, and doubts about it. A pass compares times to see whether a pod is still starting, and
//! which recommendations still count. Objects that state no time are evaluated with the system clock, and a stated time
//! may belong to other samples.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::apimachinery::json;

use super::{MetricAnswer, Snapshot};

/// The system clock fits the samples if they are no older than this: metrics pipelines take
/// minutes at most.
const CLOSE: SignedDuration = SignedDuration::from_mins(5);
/// The expected difference between the clocks of two machines.
const SKEW: SignedDuration = SignedDuration::from_mins(1);
/// A pipeline that has been broken for longer than this is less likely than a wrong time.
const OLD: SignedDuration = SignedDuration::from_hours(1);

/// The reason why the samples of a snapshot may belong to a different time from its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockDoubt {
    /// The reason for the doubt.
    pub why: Why,
    /// The end of the newest sample.
    #[serde(rename = "newestSample", serialize_with = "json::time::serialize")]
    pub newest: Timestamp,
}

/// The reason to doubt a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// The input states no time, and the system clock is far from the samples.
    Unstated,
    /// The samples were taken after the stated time.
    Ahead,
    /// The samples are old at the stated time: metrics have not arrived, or the time is wrong.
    Old,
}

/// Returns the end of the newest sample that states its time.
pub fn newest_sample(snapshot: &Snapshot) -> Option<Timestamp> {
    let answers = snapshot.metrics.iter().chain([&MetricAnswer::PodMetrics]);
    let samples = answers.flat_map(|answer| snapshot.measurements(answer));
    samples.filter_map(|sample| sample.time).max()
}

impl ClockDoubt {
    /// Returns the doubt about the clock of saved objects, judging by samples that state their time. If the time of
    /// the objects is not known, the clock is the system's.
    pub(super) fn of(snapshot: &Snapshot, is_known: bool) -> Option<Self> {
        let newest = newest_sample(snapshot)?;
        let age = snapshot.now.duration_since(newest);
        let why = if !is_known {
            (age.abs() > CLOSE).then_some(Why::Unstated)
        } else if age < -SKEW {
            Some(Why::Ahead)
        } else {
            (age > OLD).then_some(Why::Old)
        }?;
        Some(Self { why, newest })
    }

    /// Returns the alternative time of the pass, if it is at least as likely as the clock. A stated
    /// time is kept if the samples may be old.
    pub fn alternative(&self) -> Option<Timestamp> {
        (self.why != Why::Old).then_some(self.newest)
    }
}
