//! What a cluster did while a load was recorded: the replicas, the counted pods, and the changes other than the load.
//! Runs are checked against the record; it decides nothing.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::samples::Sample;
use crate::apimachinery::json;

/// The record of a cluster, by time; the times are relative to the first pass once that is known.
#[derive(Debug, Clone, Default)]
pub struct Record {
    pub(super) replicas: Vec<Sample<i32>>,
    pub(super) ready: Vec<Sample<i32>>,
    pub(super) marks: Vec<(SignedDuration, String)>,
    /// The end of the record.
    pub(super) end: SignedDuration,
    /// The time that a new pod took to become ready, if measured pod by pod.
    pub(super) measured: Option<SignedDuration>,
    /// The usual interval between two samples of the replicas, if they are regular.
    pub(super) step: Option<SignedDuration>,
}

/// A change of something other than the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// The time.
    #[serde(serialize_with = "json::time::serialize")]
    pub time: Timestamp,
    /// The change, in the words of the trace.
    pub text: String,
}

impl Record {
    /// Returns the record with converted times.
    pub(super) fn after(mut self, of: impl Fn(SignedDuration) -> SignedDuration) -> Self {
        for sample in self.replicas.iter_mut().chain(&mut self.ready) {
            sample.time = of(sample.time);
        }
        for (time, _) in &mut self.marks {
            *time = of(*time);
        }
        self.end = of(self.end);
        self
    }

    /// Whether the replicas were recorded.
    pub fn has_replicas(&self) -> bool {
        !self.replicas.is_empty()
    }

    /// The replicas at a time after the first pass, if they are known.
    pub fn replicas_at(&self, after: SignedDuration) -> Option<i32> {
        let until = self.replicas.partition_point(|sample| sample.time <= after);
        let last = self.replicas[..until].last()?;
        last.value.filter(|_| after <= self.end)
    }

    /// Returns the replicas before and after a possible change at a time after the first pass, if known: the values of
    /// the previous sample and, if samples are regular, of the next one, because the replicas may have changed at any
    /// time between the two.
    pub fn replicas_around(&self, after: SignedDuration) -> Option<[i32; 2]> {
        let before = self.replicas_at(after)?;
        let next = self.replicas.partition_point(|sample| sample.time <= after);
        let next = self.replicas.get(next).filter(|_| self.step.is_some());
        Some([
            before,
            next.and_then(|sample| sample.value).unwrap_or(before),
        ])
    }

    /// Returns how many pods were not ready for most of the time; 0 if not recorded.
    pub(super) fn unready(&self) -> usize {
        let steps = self
            .ready
            .windows(2)
            .map(|pair| pair[1].time - pair[0].time);
        // The last one is taken to hold as long as the one before.
        let last = steps
            .clone()
            .next_back()
            .unwrap_or(SignedDuration::from_secs(1));
        let known = self.ready.iter().zip(steps.chain([last]));
        let known = known.filter_map(|(own, time)| {
            let unready = self.replicas_at(own.time)?.saturating_sub(own.value?);
            Some((unready, time.as_nanos()))
        });
        let mut known: Vec<(i32, i128)> = known.collect();
        known.sort_unstable();
        let mut rest: i128 = known.iter().map(|(_, nanos)| nanos).sum::<i128>() / 2;
        let median = known.iter().find(|(_, nanos)| {
            rest -= nanos;
            rest <= 0
        });
        median.map_or(0, |(count, _)| usize::try_from(*count).unwrap_or(0))
    }

    /// Returns the times at which the target goes to 0 replicas and leaves 0, each with the replicas from then on.
    pub(super) fn sleeps(&self) -> Vec<(SignedDuration, i32)> {
        let mut asleep = false;
        let known = self
            .replicas
            .iter()
            .filter_map(|own| Some((own.time, own.value?)));
        let changes =
            known.filter(|(_, count)| std::mem::replace(&mut asleep, *count == 0) != (*count == 0));
        changes.collect()
    }

    /// Returns the last time up to one, both after the first pass, at which something other than the load changed.
    pub fn last_mark(&self, after: SignedDuration) -> Option<SignedDuration> {
        let earlier = self.marks.partition_point(|(time, _)| *time <= after);
        self.marks[..earlier].last().map(|(time, _)| *time)
    }

    /// Returns how long a new pod took to become ready: as measured, or else the median over the times at which the
    /// replicas rose and then stayed until that many were ready. `None` if this never happened, or if samples are too
    /// far apart to show it.
    pub fn ready_after(&self) -> Option<SignedDuration> {
        if self.measured.is_some() {
            return self.measured;
        }
        let rises = self
            .replicas
            .windows(2)
            .enumerate()
            .filter_map(|(place, pair)| {
                let (before, after) = (pair[0].value?, pair[1].value?);
                (after > before).then_some((place + 1, after))
            });
        let mut times: Vec<SignedDuration> = rises
            .filter_map(|(place, count)| {
                let since = self.replicas[place].time;
                let mut later = self.replicas[place..].iter();
                let changes = later.find(|sample| sample.value != Some(count));
                let until = changes.map_or(SignedDuration::MAX, |sample| sample.time);
                let from = self.ready.partition_point(|sample| sample.time < since);
                // If as many were ready already, nothing became ready.
                let was = from
                    .checked_sub(1)
                    .and_then(|before| self.ready[before].value)?;
                let mut ready = self.ready[from..].iter().take_while(|own| own.time < until);
                let at = ready.position(|sample| sample.value.is_some_and(|own| own >= count))?;
                let (before, all) = (
                    &self.ready[(from + at).checked_sub(1)?],
                    &self.ready[from + at],
                );
                let took = all.time.saturating_sub(since);
                // Both happened between two samples; if these are far apart, it may have been at once.
                let is_shown = took >= all.time.saturating_sub(before.time).saturating_mul(2);
                (was < count && is_shown).then_some(took)
            })
            .collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::{Record, Sample};

    fn samples(values: &[(i64, i32)]) -> Vec<Sample<i32>> {
        let time = SignedDuration::from_secs;
        let sample = |(at, n): &(i64, i32)| Sample::new(time(*at), 0, Some(*n));
        values.iter().map(sample).collect()
    }

    #[test]
    fn the_start_of_pods_is_measured() {
        let ready_after = |replicas: &[(i64, i32)], ready: &[(i64, i32)]| {
            let (replicas, ready) = (samples(replicas), samples(ready));
            let record = Record {
                replicas,
                ready,
                ..Record::default()
            };
            record.ready_after().map(|own| own.as_secs())
        };
        let replicas = [(0, 2), (30, 4), (120, 3), (180, 5), (300, 6)];
        let ready = [
            (0, 2),
            (15, 2),
            (45, 2),
            (60, 4),
            (120, 3),
            (165, 3),
            (210, 3),
            (240, 5),
            (350, 5),
            (400, 6),
        ];
        // 30, 60 and 100 seconds.
        assert_eq!(ready_after(&replicas, &ready), Some(60));
        // Between samples a minute apart it may have been at once.
        assert_eq!(
            ready_after(&[(0, 2), (60, 4)], &[(0, 2), (60, 2), (120, 4)]),
            None
        );
        assert_eq!(
            ready_after(&[(0, 2), (60, 4)], &[(0, 2), (120, 2), (180, 4)]),
            Some(120)
        );
        // They had gone again before they were ready.
        assert_eq!(
            ready_after(&[(0, 2), (30, 4), (60, 2)], &[(0, 2), (90, 4)]),
            None
        );
        assert_eq!(ready_after(&[(0, 2), (30, 4)], &[]), None);
    }

    #[test]
    fn pods_that_were_not_ready_are_counted_for_most_of_the_time() {
        let replicas = samples(&[(0, 4), (60, 6)]);
        for (ready, unready) in [
            (&[][..], 0),
            (&[(0, 4), (60, 4), (90, 6)], 0),
            (&[(0, 3), (30, 3), (60, 3), (90, 5)], 1),
            // Pods that go are still there.
            (&[(0, 6), (30, 2), (60, 4)], 2),
        ] {
            let record = Record {
                replicas: replicas.clone(),
                ready: samples(ready),
                end: SignedDuration::from_secs(120),
                ..Record::default()
            };
            assert_eq!(record.unready(), unready, "{ready:?}");
        }
    }

    #[test]
    fn a_value_holds_until_the_next_one() {
        let end = SignedDuration::from_secs(99);
        let record = Record {
            replicas: samples(&[(10, 2), (20, 4)]),
            end,
            ..Record::default()
        };
        let at = |after| record.replicas_at(SignedDuration::from_secs(after));
        assert_eq!(at(100), None, "nothing was recorded any more");
        assert_eq!(
            [at(9), at(10), at(19), at(20), at(99)],
            [None, Some(2), Some(2), Some(4), Some(4)]
        );
        let around = |own: &Record, after| {
            own.replicas_around(SignedDuration::from_secs(after))
                .unwrap()
        };
        assert_eq!(around(&record, 19), [2, 2], "rows that were typed hold");
        let sampled = Record {
            step: Some(SignedDuration::from_secs(10)),
            ..record
        };
        assert_eq!(
            [10, 19, 20].map(|at| around(&sampled, at)),
            [[2, 4], [2, 4], [4, 4]]
        );
    }
}
