//! The times for which values are requested: a step apart, on multiples of the step as servers that cache
//! answers require, and divided into requests that a server accepts.

use jiff::{SignedDuration, Timestamp};

use crate::error::Error;

/// The points of one request: fewer than the 11,000 that Prometheus returns.
const POINTS: i64 = 10_000;
const DAY: i64 = 86_400;

/// The maximum number of points of a load: four weeks every 5 s.
const MOST: i64 = 500_000;

/// Times a step apart, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// The first time.
    pub start: i64,
    /// The time between two points.
    pub step: i64,
    /// The number of points.
    pub count: i64,
}

impl Grid {
    /// Returns the times in a span.
    ///
    /// # Errors
    ///
    /// There are fewer than two times, or too many.
    pub fn new(since: Timestamp, until: Timestamp, step: SignedDuration) -> Result<Self, Error> {
        let seconds = step.as_secs().max(1);
        let start = -(-since.as_second()).div_euclid(seconds) * seconds;
        let end = until.as_second().div_euclid(seconds) * seconds;
        let count = (end - start) / seconds + 1;
        if end <= start {
            return Err(Error::usage(format!(
                "there is no time between {since} and {until} for samples every {seconds}s"
            ))
            .hint("--since must be before --until, by more than one --step"));
        }
        if count > MOST {
            return Err(Error::usage(format!(
                "{count} samples a series are too many; the limit is {MOST}"
            ))
            .hint("use a longer --step, or a later --since"));
        }
        Ok(Self {
            start,
            step: seconds,
            count,
        })
    }

    /// Returns the number of times.
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or_default()
    }

    /// Returns every Nth of the times, counted from the last.
    #[must_use]
    pub fn every(self, times: i64) -> Self {
        let step = self.step * times;
        let before = (self.count - 1) / times;
        Self {
            start: self.end() - before * step,
            step,
            count: before + 1,
        }
    }

    /// Returns the last time.
    pub fn last(self) -> Timestamp {
        self.time(self.len() - 1)
    }

    /// Returns the last time in seconds since 1970.
    pub fn end(self) -> i64 {
        self.start + (self.count - 1) * self.step
    }

    /// Returns a time by its place.
    pub fn time(self, place: usize) -> Timestamp {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let second = self.start.saturating_add(place.saturating_mul(self.step));
        Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
    }

    /// Returns the place of a time in milliseconds; `None` if it is not one of these times.
    pub fn place(self, millis: i64) -> Option<usize> {
        let since = millis.checked_sub(self.start.checked_mul(1000)?)?;
        let step = self.step.checked_mul(1000)?;
        let place = since
            .checked_div(step)
            .filter(|place| since % step == 0 && *place < self.count)?;
        usize::try_from(place).ok()
    }

    /// Returns the same grid in pieces of at most a day, one for each request.
    pub fn requests(self) -> impl Iterator<Item = Self> {
        let most = (DAY / self.step).clamp(1, POINTS);
        let pieces = (self.count + most - 1) / most;
        (0..pieces).map(move |piece| Self {
            start: self.start + piece * most * self.step,
            count: most.min(self.count - piece * most),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::Grid;

    fn grid(since: &str, until: &str, step: i64) -> Result<Grid, String> {
        let time = |text: &str| -> Timestamp { text.parse().unwrap() };
        let step = SignedDuration::from_secs(step);
        Grid::new(time(since), time(until), step).map_err(|e| e.message)
    }

    #[test]
    fn a_week_is_asked_for_day_by_day() {
        let week = grid("2026-11-16T00:00:07Z", "2026-11-23T00:00:07Z", 30).unwrap();
        assert_eq!(week.time(0).to_string(), "2026-11-16T00:00:30Z");
        assert_eq!(
            week.time(week.count as usize - 1).to_string(),
            "2026-11-23T00:00:00Z"
        );
        let requests: Vec<Grid> = week.requests().collect();
        assert_eq!(requests.len(), 7);
        assert!(
            requests
                .iter()
                .all(|own| own.count <= 2880 && own.step == 30)
        );
        assert_eq!(
            requests.iter().map(|own| own.count).sum::<i64>(),
            week.count
        );
        assert!(
            requests
                .windows(2)
                .all(|pair| pair[0].end() + 30 == pair[1].start)
        );
        // Every 5 s a day has more points than a server gives at once.
        let day = grid("2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z", 5).unwrap();
        assert_eq!(
            day.requests().map(|own| own.count).collect::<Vec<_>>(),
            [10_000, 7_281]
        );
        // A step of more than a day.
        let long = grid("2026-11-01T00:00:00Z", "2026-11-23T00:00:00Z", 200_000).unwrap();
        assert!(long.requests().all(|own| own.count == 1));
    }

    #[test]
    fn places_are_found_by_time_and_every_so_many_ends_with_the_last() {
        let all = grid("2026-11-16T00:00:00Z", "2026-11-16T00:10:00Z", 30).unwrap();
        assert_eq!(all.place(all.start * 1000), Some(0));
        assert_eq!(all.place(all.end() * 1000), Some(20));
        for millis in [
            all.start * 1000 + 1,
            all.end() * 1000 + 30_000,
            -1,
            i64::MIN,
            i64::MAX,
        ] {
            assert_eq!(all.place(millis), None, "{millis}");
        }
        let some = all.every(6);
        assert_eq!((some.count, some.step, some.end()), (4, 180, all.end()));
        assert!(some.start >= all.start);
    }

    #[test]
    fn spans_without_samples_or_with_too_many_are_refused() {
        assert!(grid("2026-11-16T00:00:00Z", "2026-11-16T00:00:20Z", 30).is_err());
        assert!(grid("2026-11-17T00:00:00Z", "2026-11-16T00:00:00Z", 30).is_err());
        let many = grid("2026-01-01T00:00:00Z", "2026-11-16T00:00:00Z", 1).unwrap_err();
        assert!(many.ends_with("the limit is 500000"), "{many}");
    }
}
