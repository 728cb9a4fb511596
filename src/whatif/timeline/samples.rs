//! Samples over time: how far apart they usually are, and where one is missing. A sample that is missing
//! is not known: its value is neither 0 nor the one before.

use jiff::SignedDuration;

/// A value from a time on; none where it is not known from then on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<T> {
    pub(super) time: SignedDuration,
    /// The line of the table.
    pub(super) line: u64,
    pub(super) value: Option<T>,
}

impl<T> Sample<T> {
    pub(super) fn known(time: SignedDuration, line: u64, value: T) -> Self {
        Self { time, line, value: Some(value) }
    }
}

/// The times without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// How many there are, over all metrics.
    pub count: usize,
    /// How long they are together.
    pub total: SignedDuration,
}

impl Gaps {
    /// The gaps of several metrics until a time; `is_missing` says which values state one.
    pub(super) fn of<'s, T: 's>(
        columns: impl Iterator<Item = &'s [Sample<T>]>,
        is_missing: impl Fn(&T) -> bool,
        end: SignedDuration,
    ) -> Self {
        let mut gaps = Self::default();
        for samples in columns {
            let mut since: Option<SignedDuration> = None;
            for Sample { time, value, .. } in samples {
                let is_gap = value.as_ref().is_none_or(&is_missing);
                match since {
                    None if is_gap => since = Some(*time),
                    Some(from) if !is_gap => {
                        gaps.add(time.saturating_sub(from));
                        since = None;
                    }
                    _ => {}
                }
            }
            if let Some(from) = since.filter(|from| *from < end) {
                gaps.add(end.saturating_sub(from));
            }
        }
        gaps
    }

    fn add(&mut self, length: SignedDuration) {
        self.count += 1;
        self.total = self.total.saturating_add(length);
    }
}

/// So many samples are needed to tell that they are regular.
const ENOUGH: usize = 10;

/// The usual distance of samples, if they are regular: three quarters of the distances are within half
/// of the median. Then a value holds for as long, and where the next sample is late, nothing is known
/// from there until it comes. Others, such as those that someone typed, hold until the next one.
pub(super) fn regular<T>(samples: &mut Vec<Sample<T>>) -> Option<SignedDuration> {
    if samples.len() < ENOUGH {
        return None;
    }
    let apart = |pair: &[Sample<T>]| pair[1].time.saturating_sub(pair[0].time);
    let mut distances: Vec<SignedDuration> = samples.windows(2).map(apart).collect();
    distances.sort_unstable();
    let step = distances[distances.len() / 2];
    let late = step.saturating_add(step / 2);
    let usual = distances.iter().filter(|own| **own >= step / 2 && **own <= late).count();
    if usual * 4 < distances.len() * 3 {
        return None;
    }
    if distances.last().is_some_and(|longest| *longest > late) {
        let mut with_gaps = Vec::with_capacity(samples.len());
        let mut rest = std::mem::take(samples).into_iter().peekable();
        while let Some(sample) = rest.next() {
            let (time, line) = (sample.time.saturating_add(step), sample.line);
            let is_late =
                rest.peek().is_some_and(|next| next.time.saturating_sub(sample.time) > late);
            with_gaps.push(sample);
            if is_late {
                with_gaps.push(Sample { time, line, value: None });
            }
        }
        *samples = with_gaps;
    }
    Some(step)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::{Gaps, Sample, regular};

    fn samples(seconds: &[i64]) -> Vec<Sample<i64>> {
        let sample = |at: &i64| Sample::known(SignedDuration::from_secs(*at), 0, *at);
        seconds.iter().map(sample).collect()
    }

    fn gaps(samples: &[Sample<i64>]) -> Vec<i64> {
        let gaps = samples.iter().filter(|sample| sample.value.is_none());
        gaps.map(|sample| sample.time.as_secs()).collect()
    }

    #[test]
    fn a_late_sample_leaves_a_gap() {
        let mut seconds: Vec<i64> = (0..12).map(|n| n * 30).collect();
        // A little late, and as late as one that was left out.
        seconds[5] += 14;
        seconds.remove(8);
        let mut all = samples(&seconds);
        assert_eq!(regular(&mut all), Some(SignedDuration::from_secs(30)));
        assert_eq!(gaps(&all), [240]);
        let end = all[all.len() - 1].time;
        let found = Gaps::of([&*all].into_iter(), |_| false, end);
        assert_eq!(found, Gaps { count: 1, total: SignedDuration::from_secs(30) });
    }

    #[test]
    fn typed_rows_hold_until_the_next_one() {
        for seconds in [&[0, 600, 610][..], &[0, 1, 2, 100, 200, 300, 1000, 5000, 9000, 9001, 9002]]
        {
            let mut all = samples(seconds);
            assert_eq!(regular(&mut all), None, "{seconds:?}");
            assert_eq!(gaps(&all), [0; 0], "{seconds:?}");
        }
    }

    #[test]
    fn a_gap_at_the_end_lasts_to_the_end() {
        let mut all = samples(&[0, 10]);
        all.push(Sample { time: SignedDuration::from_secs(20), line: 0, value: None });
        let gaps = |end| Gaps::of([&*all].into_iter(), |_| false, SignedDuration::from_secs(end));
        assert_eq!(gaps(50), Gaps { count: 1, total: SignedDuration::from_secs(30) });
        assert_eq!(gaps(20), Gaps::default());
        let stated =
            Gaps::of([&*all].into_iter(), |value| *value == 10, SignedDuration::from_secs(20));
        assert_eq!(stated, Gaps { count: 1, total: SignedDuration::from_secs(10) });
    }
}
