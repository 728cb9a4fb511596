//! The load of the runs, and how far its replay agrees with the record and can be trusted.

use jiff::SignedDuration;

use super::{Compared, at_a_glance, signed};
use crate::apimachinery::json::SecondsTime;
use crate::backtest::Check;
use crate::whatif::timeline::{LoadFacts, Mark};
use crate::words::{count, duration, first_few, list, long, part};

/// A replay is warned about if it is within one of the recorded replicas for less than this share of the
/// time: if it is off by two or more for longer, it misses more than the peaks between two samples.
const TRUSTED: f64 = 0.9;

/// A replay is also warned about if it has exactly the recorded replicas for less than this share of the
/// time: with few replicas, one is much.
const TRUSTED_EQUAL: f64 = 0.5;

/// A replay is also warned about if its replica-hours, which people compare, are off by more than this share.
const TRUSTED_HOURS: f64 = 0.1;

/// A replay is also warned about if less than this part of the recorded time with replicas was compared.
const TRUSTED_PART: f64 = 0.5;

/// The number of marks that are named.
const NAMED: usize = 3;

impl<'a> Compared<'a> {
    /// Returns the warning that the replay cannot be trusted.
    pub(in crate::report) fn warning(&self) -> Option<String> {
        let check = self.backtest.check.as_ref()?;
        let why = self
            .disagrees(check)
            .or_else(|| self.is_little_compared(check))?;
        let is_compared = !self.candidates.is_empty() || self.backtest.search.is_some();
        let comparison = if is_compared {
            ", and neither does the comparison"
        } else {
            ""
        };
        Some(format!(
            "Warning: the replay {why}, so it says little about this cluster{comparison}"
        ))
    }

    /// Returns how the replay and the record differ if that is too much.
    fn disagrees(&self, check: &Check) -> Option<String> {
        let equal = share(check.equal, check.compared)?;
        let within_one = share(check.within_one, check.compared)?;
        let off = check.replica_hours.map_or(0.0, |ratio| (ratio - 1.0).abs());
        if within_one >= TRUSTED && equal >= TRUSTED_EQUAL && off <= TRUSTED_HOURS {
            return None;
        }
        let hours = check
            .replica_hours
            .filter(|_| off > TRUSTED_HOURS)
            .map(|ratio| format!(", replica-hours {}", signed(ratio - 1.0)));
        let (equal, within_one, hours) = (part(equal), part(within_one), hours.unwrap_or_default());
        let compared = self.compared(check);
        Some(format!(
            "has the recorded replicas for {equal} of the {compared} (within one for {within_one}{hours})"
        ))
    }

    /// Returns how little of the time with replicas was compared, if too little was. Replicas of 0 show little of the
    /// metrics.
    fn is_little_compared(&self, check: &Check) -> Option<String> {
        let recorded = check.recorded.replicas.iter().flatten();
        let known = recorded.filter(|replicas| **replicas > 0).count();
        let is_little = (check.awake as f64) < TRUSTED_PART * known as f64;
        let (compared, known) = (self.time(check.awake), self.time(known));
        is_little.then(|| {
            format!(
                "can be compared with the record for only {compared} of the {known} with replicas"
            )
        })
    }

    /// Returns the time that the shares are of.
    fn compared(&self, check: &Check) -> String {
        match check.left_out {
            0 => "time".to_owned(),
            _ => format!("{} compared", self.time(check.compared)),
        }
    }

    /// Returns the time that passes take.
    fn time(&self, passes: usize) -> String {
        long(self.backtest.replay.timeline.totals.length(passes))
    }

    /// The load, how the replay agrees with the record, and how pods start.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let played = self.totals().span();
        let load = match &self.backtest.load {
            Some(load) => self.load(load, played),
            None => format!("as it is in the first pass, for {}", long(played)),
        };
        let mut facts = vec![("LOAD".to_owned(), load)];
        let lacking = &self.backtest.lacking;
        facts.extend((!lacking.is_empty()).then(|| {
            let text = format!(
                "{}: not in the load, and failing when the replay starts",
                list(lacking)
            );
            ("NO VALUE".to_owned(), text)
        }));
        facts.extend(
            self.backtest
                .check
                .as_ref()
                .map(|it| ("CHECK".to_owned(), self.check(it))),
        );
        facts.extend(self.backtest.ready_after.map(|ready| {
            let used = self.backtest.replay.timeline.times.ready;
            let instead = if used == ready {
                String::new()
            } else {
                format!("; {} assumed (--ready-after)", duration(used))
            };
            (
                "PODS".to_owned(),
                format!("ready after {}, as recorded{instead}", duration(ready)),
            )
        }));
        facts
    }

    fn load(&self, load: &LoadFacts, played: SignedDuration) -> String {
        let LoadFacts {
            metrics,
            step,
            is_absolute,
            start: begun,
            end,
            gaps,
            marks: _,
        } = load;
        let mut text = list(metrics);
        if let Some(step) = step {
            text += &format!(", every {}", long(*step));
        }
        let length = end.duration_since(*begun);
        if !length.is_zero() {
            text += &format!(", {}", long(length));
        }
        if *is_absolute {
            text += &format!(" to {} {}", end.strftime("%a"), SecondsTime(*end));
        }
        if gaps.count > 0 {
            text += &format!("; {} ({})", count(gaps.count, "gap"), long(gaps.total));
        }
        let start = self.backtest.replay.timeline.start;
        let shown = Vec::from_iter(self.marks());
        if !shown.is_empty() {
            let clock = self.clock();
            let named: Vec<String> = shown
                .iter()
                .map(|Mark { time, text }| format!("{} {}", at_a_glance(text), clock.at(*time)))
                .collect();
            let marks = count(shown.len(), "mark");
            text += &format!("; {marks}: {}", first_few(&named, NAMED));
        }
        let skipped = start.duration_since(*begun);
        if skipped.is_positive() && skipped < length {
            text += &format!(
                "; its first {}, before the first pass, are left out",
                long(skipped)
            );
        }
        if played != length {
            text += &format!("; played for {}", long(played));
        }
        text
    }

    fn check(&self, check: &Check) -> String {
        let Check {
            compared,
            awake: _,
            equal,
            within_one,
            left_out,
            forced,
            replica_hours,
            recorded,
        } = check;
        let mut parts = Vec::new();
        match (share(*equal, *compared), share(*within_one, *compared)) {
            (Some(equal), Some(within_one)) => parts.push(format!(
                "the replay has the recorded replicas for {} of the {}, within one for {}",
                part(equal),
                self.compared(check),
                part(within_one)
            )),
            _ => parts.push("nothing to compare the replay with".to_owned()),
        }
        parts.extend(replica_hours.map(|ratio| format!("replica-hours {}", signed(ratio - 1.0))));
        let unknown = recorded
            .replicas
            .iter()
            .filter(|replicas| replicas.is_none())
            .count();
        for (passes, before, after) in [
            (left_out - unknown - forced, "left out ", " after marks"),
            (*forced, "left out ", " at 0 replicas and after"),
            (unknown, "not recorded for ", ""),
        ] {
            parts.extend((passes > 0).then(|| format!("{before}{}{after}", self.time(passes))));
        }
        parts.join("; ")
    }
}

/// A part of a whole; `None` if the whole is 0.
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
