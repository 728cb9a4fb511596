//! Samples over time: their usual interval, and the gaps. The value at a missing sample is not known: it is
//! neither 0 nor the previous one.

use jiff::SignedDuration;
use serde::Serialize;

use crate::apimachinery::json;

/// A value from a time on; `None` if it is not known from then on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<T> {
    pub(super) time: SignedDuration,
    /// The line of the table.
    pub(super) line: u64,
    pub(super) value: Option<T>,
}

impl<T> Sample<T> {
    pub(super) fn new(time: SignedDuration, line: u64, value: Option<T>) -> Self {
        Self { time, line, value }
    }
}

/// The times without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// The number of gaps.
    pub count: usize,
    /// The total length of the gaps.
    #[serde(serialize_with = "json::seconds")]
    pub total: SignedDuration,
}

impl Gaps {
    /// Returns the periods in which some of several metrics have no value.
    pub(super) fn of<'s, T: 's>(
        columns: impl Iterator<Item = &'s [Sample<T>]>,
        (start, end): (SignedDuration, SignedDuration),
    ) -> Self {
        let mut all: Vec<(SignedDuration, SignedDuration)> = Vec::new();
        for samples in columns {
            for (place, Sample { time, value, .. }) in samples.iter().enumerate() {
                let until = samples.get(place + 1).map_or(end, |next| next.time);
                let (from, until) = ((*time).max(start), until.min(end));
                if value.is_none() && from < until {
                    all.push((from, until));
                }
            }
        }
        all.sort_unstable();
        let mut gaps = Self::default();
        let mut last = SignedDuration::MIN;
        for (from, until) in all {
            gaps.count += usize::from(from > last);
            gaps.total = gaps
                .total
                .saturating_add(until.saturating_sub(from.max(last).min(until)));
            last = last.max(until);
        }
        gaps
    }
}

/// The number of samples that are needed to recognize regular ones.
const ENOUGH: usize = 10;

/// Returns the usual interval of samples, if they are regular: three quarters of the intervals are within
/// half of the median. Then a value holds for one interval, and if the next sample is late, nothing is known until it
/// comes; the same applies to the `start` and the `end` of the table. Irregular samples, such as typed ones, hold until
/// the next one.
pub(super) fn regular<T>(
    samples: &mut Vec<Sample<T>>,
    start: SignedDuration,
    end: SignedDuration,
) -> Option<SignedDuration> {
    if samples.len() < ENOUGH {
        return None;
    }
    let apart = |pair: &[Sample<T>]| pair[1].time.saturating_sub(pair[0].time);
    let mut distances: Vec<SignedDuration> = samples.windows(2).map(apart).collect();
    distances.sort_unstable();
    let step = distances[distances.len() / 2];
    let late = step.saturating_add(step / 2);
    let usual = distances
        .iter()
        .filter(|own| **own >= step / 2 && **own <= late)
        .count();
    if usual * 4 < distances.len() * 3 {
        return None;
    }
    let mut with_gaps = Vec::with_capacity(samples.len());
    let mut rest = std::mem::take(samples).into_iter().peekable();
    if let Some(first) = rest
        .peek()
        .filter(|first| first.time.saturating_sub(start) > late)
    {
        with_gaps.push(Sample::new(start, first.line, None));
    }
    while let Some(sample) = rest.next() {
        let (time, line) = (sample.time.saturating_add(step), sample.line);
        let next = rest.peek().map_or(end, |next| next.time);
        let is_late = next.saturating_sub(sample.time) > late;
        with_gaps.push(sample);
        if is_late {
            with_gaps.push(Sample::new(time, line, None));
        }
    }
    *samples = with_gaps;
    Some(step)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::{Gaps, Sample, regular};

    const ZERO: SignedDuration = SignedDuration::ZERO;

    fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    fn samples(times: &[i64]) -> Vec<Sample<i64>> {
        times
            .iter()
            .map(|at| Sample::new(seconds(*at), 0, Some(*at)))
            .collect()
    }

    fn gaps(samples: &[Sample<i64>]) -> Vec<i64> {
        let gaps = samples.iter().filter(|sample| sample.value.is_none());
        gaps.map(|sample| sample.time.as_secs()).collect()
    }

    /// Returns the number of gaps until some time, and their length in seconds.
    fn total(columns: &[&[Sample<i64>]], end: i64) -> (usize, i64) {
        let found = Gaps::of(columns.iter().copied(), (ZERO, seconds(end)));
        (found.count, found.total.as_secs())
    }

    #[test]
    fn a_late_sample_leaves_a_gap() {
        let mut times: Vec<i64> = (0..12).map(|n| n * 30).collect();
        // A little late, and as late as one that was left out.
        times[5] += 14;
        times.remove(8);
        let mut all = samples(&times);
        let end = all[all.len() - 1].time;
        assert_eq!(regular(&mut all, ZERO, end), Some(seconds(30)));
        assert_eq!(gaps(&all), [240]);
        assert_eq!(total(&[&*all], end.as_secs()), (1, 30));
    }

    #[test]
    fn samples_that_begin_late_or_end_early_leave_gaps() {
        let times: Vec<i64> = (10..25).map(|n| n * 30).collect();
        let mut all = samples(&times);
        assert_eq!(regular(&mut all, ZERO, seconds(900)), Some(seconds(30)));
        assert_eq!(gaps(&all), [0, 750]);
        assert_eq!(total(&[&*all], 900), (2, 450));
    }

    #[test]
    fn typed_rows_hold_until_the_next_one() {
        for times in [
            &[0, 600, 610][..],
            &[0, 1, 2, 100, 200, 300, 1000, 5000, 9000, 9001, 9002],
        ] {
            let mut all = samples(times);
            assert_eq!(regular(&mut all, ZERO, seconds(20_000)), None, "{times:?}");
            assert_eq!(gaps(&all), [0; 0], "{times:?}");
        }
    }

    #[test]
    fn gaps_of_several_metrics_count_once_and_as_far_as_is_played() {
        let mut one = samples(&[0, 10]);
        one.push(Sample::new(seconds(20), 0, None));
        assert_eq!(total(&[&*one], 50), (1, 30));
        assert_eq!(total(&[&*one], 20), (0, 0));
        let mut other = samples(&[0, 15, 40]);
        other[1].value = None;
        // From 15 to 40 in the other, and from 20 on in the first.
        assert_eq!(total(&[&*one, &*other], 50), (1, 35));
    }
}
