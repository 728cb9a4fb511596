//! How often Prometheus scrapes, and how old samples may be for that reason.

use jiff::SignedDuration;

use crate::numbers::duration;

/// The seconds between two scrapes, if they could not be measured.
const SCRAPE: i64 = 30;

/// The maximum seconds between two measurements of a kubelet: cAdvisor measures a container every 10 s and
/// up to 10 s later, and a scrape gets the last measurement with its own time.
const HOUSEKEEPING: i64 = 20;

/// The seconds between two scrapes, where they could be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scraped {
    /// The interval of the containers' usage.
    pub usage: Option<i64>,
    /// The interval of kube-state-metrics.
    pub state: Option<i64>,
}

impl Scraped {
    /// Returns the maximum age of the two samples of a rate, and of the sample of a gauge: three scrapes in a
    /// row may be lost.
    pub fn reach(self) -> i64 {
        5 * self.usage.unwrap_or(SCRAPE) + 2 * HOUSEKEEPING
    }

    /// Returns the time before which a counter that was reset between its last two samples certainly had
    /// earlier samples, including one lost scrape.
    pub(super) fn before_reset(self) -> i64 {
        3 * self.usage.unwrap_or(SCRAPE) + HOUSEKEEPING
    }

    /// Says how a load with this many seconds between two samples was sampled. Only CPU usage is a rate.
    pub fn sampling(self, step: i64, has_rates: bool) -> String {
        let every = format!("the load is sampled every {}", seconds(step));
        if !has_rates {
            return every;
        }
        let scrape = self.usage;
        let apart = scrape.map_or_else(String::new, |it| format!(", about {} apart", seconds(it)));
        let sees = if scrape.is_some_and(|scrape| step > scrape) {
            ", and sees only that part of each step"
        } else {
            ""
        };
        format!("{every}; CPU usage is the rate between the last two scrapes{apart}{sees}")
    }

    /// Returns the maximum age of a state.
    pub fn state_window(self) -> i64 {
        2 * self.state.or(self.usage).unwrap_or(SCRAPE)
    }
}

fn seconds(seconds: i64) -> String {
    duration(SignedDuration::from_secs(seconds))
}

/// Returns the seconds between two scrapes, from the number of scrapes in ten minutes: the roundest number
/// that fits. `None` if there are too few scrapes.
pub fn interval(scrapes: f64) -> Option<i64> {
    const SPAN: f64 = 600.0;
    if !(2.0..=SPAN + 1.0).contains(&scrapes) {
        return None;
    }
    let (least, most) = (SPAN / (scrapes + 1.0), SPAN / (scrapes - 1.0));
    [60, 30, 15, 10, 5, 1]
        .into_iter()
        .map(|unit| (least / unit as f64).floor() as i64 * unit + unit)
        .find(|round| (*round as f64) <= most)
        .or(Some((SPAN / scrapes).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::{Scraped, interval};

    #[test]
    fn the_time_between_scrapes_is_the_roundest_that_fits() {
        for (scrapes, want) in [
            (21.0, Some(30)),
            (20.0, Some(30)),
            (41.0, Some(15)),
            (40.0, Some(15)),
            (11.0, Some(60)),
            (10.0, Some(60)),
            (5.0, Some(120)),
            (61.0, Some(10)),
            (120.0, Some(5)),
            (600.0, Some(1)),
            (1.0, None),
            (f64::NAN, None),
        ] {
            assert_eq!(interval(scrapes), want, "{scrapes}");
        }
    }

    #[test]
    fn a_load_says_how_it_was_sampled() {
        for (usage, has_rates, rest) in [
            (Some(30), false, ""),
            (
                None,
                true,
                "; CPU usage is the rate between the last two scrapes",
            ),
            (
                Some(60),
                true,
                "; CPU usage is the rate between the last two scrapes, about 1m apart",
            ),
            (
                Some(30),
                true,
                "; CPU usage is the rate between the last two scrapes, about 30s apart, and sees only that part of \
                 each step",
            ),
        ] {
            let scraped = Scraped { usage, state: None };
            let want = format!("the load is sampled every 1m{rest}");
            assert_eq!(scraped.sampling(60, has_rates), want);
        }
    }
}
