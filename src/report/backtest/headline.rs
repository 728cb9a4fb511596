//! The result of a comparison in a few words: of one candidate against the replay, or the range of several.

use jiff::SignedDuration;

use super::{Compared, ComparedRun, heading};
use crate::report::section::Tone;
use crate::report::totals::hours;
use crate::whatif::timeline::Totals;
use crate::words::{long, part, percent};

/// The share of the time without an answer from which a comparison mentions it.
const CONSIDERABLE: f64 = 0.1;

impl<'a> Compared<'a> {
    /// The result of the comparison, in a few words.
    pub(in crate::report) fn headline(&self) -> (Tone, String) {
        if let Some(search) = self.search() {
            return search.headline();
        }
        let is_off = |own: &Totals| own.highest.replicas == 0;
        if is_off(self.totals()) && self.runs().all(is_off) {
            let text = "THE HPA IS SWITCHED OFF: ITS TARGET HAS 0 REPLICAS THROUGHOUT";
            return (Tone::Stay, text.to_owned());
        }
        if self.totals().is_unanswered() && self.runs().all(Totals::is_unanswered) {
            let text = "NO PASS HAS AN ANSWER: METRICS ARE MISSING THROUGHOUT";
            return (Tone::Stay, text.to_owned());
        }
        match &self.candidates[..] {
            [] => {
                let replay = self.totals();
                let hours = hours(replay.replica_hours());
                let short = long(replay.short());
                let mut parts = vec![
                    format!("{hours} REPLICA-HOURS"),
                    format!("SHORT FOR {short}"),
                ];
                parts.extend(self.open(replay));
                (Tone::Stay, format!("REPLAY: {}", parts.join(", ")))
            }
            [candidate] => self.headline_of_one(candidate),
            several => (
                Tone::Stay,
                format!("{} CANDIDATES: {}", several.len(), self.range().join(", ")),
            ),
        }
    }

    fn headline_of_one(&self, it: &ComparedRun<'_>) -> (Tone, String) {
        let (name, candidate) = (heading(&it.name), it.candidate);
        let (totals, replay) = (it.totals(), self.totals());
        if candidate.stretches.all.is_empty() {
            let mut parts = vec![match self.ends(candidate) {
                None => "THE SAME REPLICAS AS THE REPLAY THROUGHOUT".to_owned(),
                Some((own, before)) => format!(
                    "THE SAME REPLICAS AS THE REPLAY WHILE THE LOAD LASTS, BUT IT ENDS AT {}, \
                     THE REPLAY AT {}",
                    own.to_uppercase(),
                    before.to_uppercase()
                ),
            }];
            parts.extend(self.open(totals));
            return (Tone::Stay, format!("{name}: {}", parts.join("; ")));
        }
        let (hours, before) = (totals.replica_hours(), replay.replica_hours());
        let tone = if hours < before {
            Tone::Down
        } else if hours > before {
            Tone::Up
        } else {
            Tone::Stay
        };
        let mut parts = vec![difference(hours, before)];
        let short = long(totals.short());
        parts.push(match (long(replay.short()), replay.short().is_zero()) {
            (before, true) if before == short => "NEVER SHORT".to_owned(),
            (before, _) if before == short => format!("SHORT FOR {short} IN BOTH"),
            (before, _) => format!("SHORT FOR {short} INSTEAD OF {before}"),
        });
        parts.extend(self.open(totals));
        (tone, format!("{name}: {}", parts.join(", ")))
    }

    /// Returns the totals of several candidates, from the lowest to the highest.
    fn range(&self) -> Vec<String> {
        let (each, own, before) =
            self.extent(Totals::replica_hours, |it| hours(it.replica_hours()));
        let mut parts = vec![
            format!("{each}{own} REPLICA-HOURS (REPLAY: {before})"),
            self.lengths_extent("SHORT", Totals::short),
        ];
        if is_considerable(self.totals()) || self.runs().any(is_considerable) {
            parts.push(self.lengths_extent("WITHOUT AN ANSWER", Totals::unanswered));
        }
        parts
    }

    /// Describes how long the candidates were in a state, from the shortest to the longest, and the replay.
    fn lengths_extent(&self, what: &str, of: impl Fn(&Totals) -> SignedDuration) -> String {
        let (each, own, before) = self.extent(|it| of(it).as_secs_f64(), |it| long(of(it)));
        format!("{each}{what} FOR {own} (REPLAY: {before})")
    }

    /// Describes the lowest and the highest total of the candidates, whether all are equal, and the replay's
    /// total.
    fn extent(
        &self,
        of: impl Fn(&Totals) -> f64,
        text: impl Fn(&Totals) -> String,
    ) -> (&'static str, String, String) {
        let mut runs: Vec<&Totals> = self.runs().collect();
        runs.sort_by(|one, other| of(one).total_cmp(&of(other)));
        let [least, most, before] = [runs[0], runs[runs.len() - 1], self.totals()].map(text);
        if least == most {
            ("EACH ", least, before)
        } else {
            ("", format!("{least} TO {most}"), before)
        }
    }

    /// The time in which the run may have been short of pods.
    fn open(&self, own: &Totals) -> impl Iterator<Item = String> {
        let off = (!own.off().is_zero()).then(|| long(own.off()));
        let off = off.map(|length| format!("SWITCHED OFF AT 0 FOR {length}"));
        self.without_answer(own).into_iter().chain(off)
    }

    /// The time without an answer, if it differs from the replay's or is considerable.
    fn without_answer(&self, own: &Totals) -> Option<String> {
        let replay = self.totals();
        let length = long(own.unanswered());
        if own.unanswered() != replay.unanswered() {
            let before = long(replay.unanswered());
            return Some(format!("NO ANSWER FOR {length} INSTEAD OF {before}"));
        }
        let in_both = if self.candidates.is_empty() {
            ""
        } else {
            " IN BOTH"
        };
        let span = long(own.span());
        is_considerable(own).then(|| format!("NO ANSWER FOR {length} OF {span}{in_both}"))
    }
}

/// Whether the time without an answer is long enough to be mentioned.
fn is_considerable(totals: &Totals) -> bool {
    totals.unanswered().as_secs_f64() >= CONSIDERABLE * totals.span().as_secs_f64()
        && !totals.unanswered().is_zero()
}

/// Returns the change of the replica-hours as a title.
fn difference(own: f64, before: f64) -> String {
    if before <= 0.0 {
        return format!("{} REPLICA-HOURS INSTEAD OF {}", hours(own), hours(before));
    }
    let share = own / before - 1.0;
    let is_about_same = percent(share.abs()) == "0%";
    match part(share.abs()).to_uppercase() {
        _ if own == before => "THE SAME REPLICA-HOURS".to_owned(),
        _ if is_about_same => "ABOUT THE SAME REPLICA-HOURS".to_owned(),
        rounded if share < 0.0 => format!("{rounded} FEWER REPLICA-HOURS"),
        rounded => format!("{rounded} MORE REPLICA-HOURS"),
    }
}
