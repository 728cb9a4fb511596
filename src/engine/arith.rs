//! Conversions between floats and integers as the controller's amd64 build makes them. Rust's `as` saturates
//! and turns NaN into 0; the processor gives the smallest integer for any value that does not fit, so `as`
//! must not be used on a float anywhere in the engine, except in `highest_start`, which only needs the nearest
//! integer that fits.

use crate::calendar::Calendar;
use crate::rules::Rules;
use jiff::{SignedDuration, Timestamp};

/// Go's `int32(f)`: truncation toward zero; NaN, infinities and overflow give `i32::MIN`.
pub(crate) fn to_i32(f: f64) -> i32 {
    if f > -2_147_483_649.0 && f < 2_147_483_648.0 {
        f as i32
    } else {
        i32::MIN
    }
}

/// The same conversion, but values that are too large give `i32::MAX`. NaN and values that are too small
/// still give `i32::MIN`.
pub(crate) fn to_i32_capped(f: f64) -> i32 {
    if f > f64::from(i32::MAX) {
        i32::MAX
    } else {
        to_i32(f)
    }
}

impl Rules {
    /// Converts a float to replicas.
    pub(crate) fn replicas(&self, float: f64) -> i32 {
        if self.replicas_saturate {
            to_i32_capped(float)
        } else {
            to_i32(float)
        }
    }
}

/// Go's `int64(f)`: truncation toward zero; NaN, infinities and overflow give `i64::MIN`.
pub(crate) fn to_i64(f: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) {
        f as i64
    } else {
        i64::MIN
    }
}

/// The cutoff `duration` before `now`. The controller reads its clock again for each comparison, so
/// an entry exactly as old as a window counts as older: the clock has moved on by then.
pub(crate) fn cutoff(now: Timestamp, duration: SignedDuration) -> Timestamp {
    now.plus(SignedDuration::from_nanos(1)).minus(duration)
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{cutoff, to_i32, to_i32_capped, to_i64};

    #[test]
    fn a_cutoff_stays_inside_the_representable_times() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(cutoff(now, SignedDuration::MAX), Timestamp::MIN);
        assert_eq!(cutoff(now, SignedDuration::MIN), Timestamp::MAX);
    }

    #[test]
    fn floats_convert_as_on_amd64() {
        for (f, i) in [
            (0.0, 0),
            (-0.9, 0),
            (2_147_483_647.9, i32::MAX),
            (2_147_483_648.0, i32::MIN),
            (-2_147_483_648.9, i32::MIN),
            (f64::NAN, i32::MIN),
            (f64::INFINITY, i32::MIN),
            (f64::NEG_INFINITY, i32::MIN),
        ] {
            assert_eq!(to_i32(f), i, "{f}");
        }
        for (f, i) in [
            (2_147_483_647.0, i32::MAX),
            (2_147_483_647.5, i32::MAX),
            (1e300, i32::MAX),
            (f64::INFINITY, i32::MAX),
            (-2_147_483_649.0, i32::MIN),
            (f64::NEG_INFINITY, i32::MIN),
            (f64::NAN, i32::MIN),
        ] {
            assert_eq!(to_i32_capped(f), i, "{f}");
        }
        for (f, i) in [
            (1e18, 1_000_000_000_000_000_000),
            (9_223_372_036_854_775_808.0, i64::MIN),
            (-9_223_372_036_854_775_808.0, i64::MIN),
            (f64::NAN, i64::MIN),
        ] {
            assert_eq!(to_i64(f), i, "{f}");
        }
    }
}
