//! The totals of the passes of a run, in a sentence and as data.

use serde::Serialize;

use crate::whatif::timeline::{Extremum, Stretch, Totals};
use crate::words::{count, long};

/// Totals as the published object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TotalsView {
    #[serde(flatten)]
    replicas: ReplicasView,
    above_max: f64,
    short: f64,
    shortfall: f64,
    longest_short: Option<Stretch>,
    unanswered: f64,
    off: f64,
    last: i32,
    settled: bool,
}

/// The totals of the replicas alone.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplicasView {
    passes: usize,
    duration: f64,
    replica_hours: f64,
    mean: f64,
    lowest: i32,
    highest: Extremum,
    at_max: f64,
    rescales: usize,
    reversals: usize,
}

impl From<&Totals> for TotalsView {
    fn from(totals: &Totals) -> Self {
        Self {
            replicas: totals.into(),
            above_max: totals.above_max().as_secs_f64(),
            short: totals.short().as_secs_f64(),
            shortfall: totals.shortfall(),
            longest_short: totals.longest_short(),
            unanswered: totals.unanswered().as_secs_f64(),
            off: totals.off().as_secs_f64(),
            last: totals.last,
            settled: totals.is_settled,
        }
    }
}

impl From<&Totals> for ReplicasView {
    fn from(totals: &Totals) -> Self {
        Self {
            passes: totals.passes,
            duration: totals.span().as_secs_f64(),
            replica_hours: totals.replica_hours(),
            mean: totals.mean(),
            lowest: totals.lowest.replicas,
            highest: totals.highest,
            at_max: totals.at_max().as_secs_f64(),
            rescales: totals.rescales.count,
            reversals: totals.reversals.count,
        }
    }
}

/// Returns replica-hours, rounded so that they can be compared at a glance.
pub(super) fn hours(hours: f64) -> String {
    // A value that rounds up to 10.00 is 10.0.
    match hours {
        ..9.995 => format!("{hours:.2}"),
        ..99.95 => format!("{hours:.1}"),
        _ => format!("{hours:.0}"),
    }
}

/// Returns the rescales, with the reversals among them.
pub(super) fn rescales(totals: &Totals) -> String {
    format!("{} ({})", totals.rescales.count, totals.reversals.count)
}

/// Describes the totals of a run, in a sentence.
pub(super) fn sentence(totals: &Totals) -> String {
    let (lowest, highest) = (totals.lowest.replicas, totals.highest.replicas);
    let mut parts = vec![format!(
        "{} replica-hours in {}: {:.1} replicas on average, from {lowest} to {highest}",
        hours(totals.replica_hours()),
        long(totals.span()),
        totals.mean()
    )];
    for (what, length) in [
        ("at max", totals.at_max()),
        ("wanting more than max", totals.above_max()),
        ("short of the proposal", totals.short()),
        ("without an answer", totals.unanswered()),
        ("switched off at 0", totals.off()),
    ] {
        if !length.is_zero() {
            parts.push(format!("{what} for {}", long(length)));
        }
    }
    let reversals = match totals.reversals.count {
        0 => String::new(),
        n => format!(" ({})", count(n, "reversal")),
    };
    parts.push(format!(
        "{}{reversals}",
        count(totals.rescales.count, "rescale")
    ));
    format!("{}.", parts.join("; "))
}
