//! The display of the times of a run: for a load that was recorded with dates, in UTC as everywhere, and
//! otherwise as the time since the first pass.

use jiff::{SignedDuration, Timestamp};

use crate::apimachinery::json::SecondsTime;
use crate::words::duration;

/// The display of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeDisplay {
    /// As the time since this one.
    Since(Timestamp),
    /// As time of day, between two times.
    Utc {
        /// The first.
        from: Timestamp,
        /// The last.
        to: Timestamp,
    },
}

const DAY: i64 = 86_400;
const SIX_DAYS: SignedDuration = SignedDuration::from_hours(6 * 24);

impl TimeDisplay {
    /// Returns a time, with the day if there are several.
    pub(super) fn at(self, time: Timestamp) -> String {
        let format = match self {
            Self::Since(start) if time == start => return "at the start".to_owned(),
            Self::Since(start) => return format!("after {}", duration(time.duration_since(start))),
            Self::Utc { from, to } if day(from) == day(to) => "%H:%M:%SZ",
            // Within six days, no weekday appears twice.
            Self::Utc { from, to } if to.duration_since(from) <= SIX_DAYS => "%a %H:%M:%S",
            Self::Utc { from, to } if within_a_week(from, to) => "%a %d %H:%M:%S",
            Self::Utc { .. } => "%d %b %H:%M:%S",
        };
        time.strftime(format).to_string()
    }

    /// Returns the label of an axis with such times.
    pub(super) fn across(self) -> String {
        match self {
            Self::Since(start) => format!("time since {}", SecondsTime(start)),
            Self::Utc { .. } => "time (UTC)".to_owned(),
        }
    }

    /// Returns at most eight round times in a span, each in milliseconds after its start.
    pub(super) fn ticks(self, span: SignedDuration) -> Vec<(i64, String)> {
        const APART: [i64; 17] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, DAY,
        ];
        let most = span.as_secs() / 7;
        // A week that is not one to the second has each of its days.
        let has_each_day = span.as_secs() <= 9 * DAY;
        let mut aparts = APART.into_iter();
        let apart = aparts
            .find(|apart| *apart >= most || (*apart == DAY && has_each_day))
            .unwrap_or_else(|| (most / DAY + 1) * DAY);
        let (first, last) = match self {
            Self::Since(_) => (0, span.as_secs()),
            Self::Utc { from, .. } => (from.as_second(), from.as_second() + span.as_secs()),
        };
        (0..)
            .map(|n| first + (-first).rem_euclid(apart) + n * apart)
            .take_while(|place| *place <= last)
            .map(|place| {
                (
                    (place - first).saturating_mul(1000),
                    self.label(place, apart),
                )
            })
            .collect()
    }

    /// Describes a place, in seconds, among others at this distance.
    fn label(self, place: i64, apart: i64) -> String {
        match self {
            Self::Since(_) => duration(SignedDuration::from_secs(place)),
            Self::Utc { from, to } => {
                let is_midnight = place % DAY == 0 && day(from) != day(to);
                let format = match (is_midnight, within_a_week(from, to)) {
                    (true, true) => "%a %d",
                    (true, false) => "%d %b",
                    (false, _) if apart < 60 => "%H:%M:%S",
                    (false, _) => "%H:%M",
                };
                let time = Timestamp::from_second(place);
                time.map_or_else(|_| String::new(), |time| time.strftime(format).to_string())
            }
        }
    }
}

/// Returns a time in milliseconds, as charts count it.
pub(super) fn millis(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn day(time: Timestamp) -> i64 {
    time.as_second().div_euclid(DAY)
}

/// Whether weekdays distinguish the times.
fn within_a_week(from: Timestamp, to: Timestamp) -> bool {
    to.duration_since(from) <= SignedDuration::from_hours(7 * 24)
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::TimeDisplay;

    fn utc(from: &str, to: &str) -> TimeDisplay {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        TimeDisplay::Utc {
            from: time(from),
            to: time(to),
        }
    }

    #[test]
    fn times_have_the_day_where_it_matters() {
        let at: Timestamp = "2026-11-17T12:03:15Z".parse().unwrap();
        for (to, text) in [
            ("2026-11-17T20:00:00Z", "12:03:15Z"),
            ("2026-11-23T06:00:00Z", "Tue 12:03:15"),
            ("2026-11-24T06:00:00Z", "Tue 17 12:03:15"),
            ("2026-11-24T06:00:15Z", "17 Nov 12:03:15"),
        ] {
            assert_eq!(utc("2026-11-17T06:00:00Z", to).at(at), text);
        }
        assert_eq!(
            TimeDisplay::Since(at - SignedDuration::from_mins(90)).at(at),
            "after 1h30m"
        );
        assert_eq!(TimeDisplay::Since(at).at(at), "at the start");
    }

    #[test]
    fn ticks_are_round_times() {
        let labels = |clock: TimeDisplay, hours| {
            let ticks = clock.ticks(SignedDuration::from_hours(hours));
            ticks
                .iter()
                .map(|(at, label)| format!("{} {label}", at / 60_000))
                .collect::<Vec<_>>()
        };
        let week = utc("2026-11-14T06:00:00Z", "2026-11-21T06:00:00Z");
        assert_eq!(labels(week, 168)[..2], ["1080 Sun 15", "2520 Mon 16"]);
        assert_eq!(labels(week, 168).len(), 7);
        let more = utc("2026-11-14T06:00:00Z", "2026-11-21T07:00:00Z");
        assert_eq!(labels(more, 169).len(), 7);
        let day = utc("2026-11-14T06:30:00Z", "2026-11-15T06:30:00Z");
        assert_eq!(
            labels(day, 24),
            ["330 12:00", "690 18:00", "1050 Sun 15", "1410 06:00"]
        );
        let month = utc("2026-11-01T00:00:00Z", "2026-11-29T00:00:00Z");
        assert_eq!(labels(month, 28 * 24)[..1], ["2880 03 Nov"]);
        assert_eq!(
            labels(TimeDisplay::Since(Timestamp::UNIX_EPOCH), 2)[..2],
            ["0 0s", "30 30m"]
        );
    }
}
