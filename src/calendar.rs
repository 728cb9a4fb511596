//! Sums of times and durations that saturate at the ends of the calendar, where jiff's operators panic: a
//! time that someone wrote by hand may be anywhere. `tests/program/architecture.rs` checks that no operators
//! are used.

use jiff::{SignedDuration, Timestamp};

/// A time or a duration.
pub(crate) trait Calendar: Sized {
    /// Returns it plus a duration: Go's `t.Add(d)`.
    fn plus(self, duration: SignedDuration) -> Self;

    /// Returns it minus a duration. Not `plus(-duration)`: the smallest duration has no negation.
    fn minus(self, duration: SignedDuration) -> Self;
}

/// Only a sum with a span of days or longer units is an error.
impl Calendar for Timestamp {
    fn plus(self, duration: SignedDuration) -> Self {
        self.saturating_add(duration).unwrap_or(self)
    }

    fn minus(self, duration: SignedDuration) -> Self {
        self.saturating_sub(duration).unwrap_or(self)
    }
}

impl Calendar for SignedDuration {
    fn plus(self, duration: SignedDuration) -> Self {
        self.saturating_add(duration)
    }

    fn minus(self, duration: SignedDuration) -> Self {
        self.saturating_sub(duration)
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::Calendar;

    #[test]
    fn sums_stay_in_the_calendar() {
        let (first, last) = (Timestamp::MIN, Timestamp::MAX);
        let second = SignedDuration::from_secs(1);
        let (least, most) = (SignedDuration::MIN, SignedDuration::MAX);
        assert_eq!(
            [last.plus(second), last.minus(-second), first.plus(most)],
            [last; 3]
        );
        assert_eq!(
            [first.minus(second), first.plus(-second), last.plus(least)],
            [first; 3]
        );
        assert_eq!([first.minus(least), last.minus(most)], [last, first]);
        assert_eq!([most.plus(second), least.minus(second)], [most, least]);
        assert_eq!(first.plus(second).minus(second), first);
    }
}
