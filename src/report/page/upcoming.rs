//! When holds and rate limits end, and what happens then, if the metrics keep asking for the same.

use jiff::Timestamp;

use super::Words;
use crate::findings::{Code, Severity};
use crate::outlook::{Range, Upcoming};
use crate::report::section::{Detail, Part, Section, StepLine};
use crate::report::words::{future, time};

/// The number of lines that can be read at a glance, and the number in a wide report.
const SHOWN: usize = 4;
const SHOWN_WIDE: usize = 8;

/// A change of the most likely course, or the end of what is known of it.
struct Row {
    /// The most likely count from then on.
    replicas: i32,
    /// When that is most likely; `None` if the count is the same as before.
    at: Option<Timestamp>,
    /// The possible counts, and since when.
    possible: Range,
    since: Timestamp,
    /// From when on the count is certain, if it is not at once.
    surely: Option<Timestamp>,
}

impl Row {
    fn is_certain(&self) -> bool {
        self.possible.min == self.possible.max
    }
}

impl Words<'_> {
    /// Returns a line for each change of the most likely course; none while something else sets the replicas.
    pub(in crate::report) fn upcoming(&self) -> Option<Section> {
        let asked = self.explanation.proposal?;
        if self.has_other_writer() {
            return None;
        }
        let rows = self.rows();
        let shown = if self.wide { SHOWN_WIDE } else { SHOWN };
        let between = rows.len().saturating_sub(shown);
        let line =
            |row: &Row| StepLine { replicas: row.replicas, text: self.when(row), reason: None };
        let mut lines: Vec<StepLine> = rows.iter().map(line).collect();
        if between > 0 {
            lines.drain(shown - 1..rows.len() - 1);
            let left = &rows[shown - 2..];
            let changes =
                left.windows(2).filter(|pair| pair[0].replicas != pair[1].replicas).count();
            if let Some(last) = lines.last_mut().filter(|_| changes > 1) {
                last.text.push_str(&format!(", in {changes} steps"));
            }
        }
        let title = format!("NEXT PASSES, IF THE METRICS KEEP PROPOSING {asked}");
        Section::new(title, Detail::Folded, [Part::Steps(lines)]).unless_empty()
    }

    /// Whether something else sets the replicas, so that they do not follow from the passes alone.
    pub(in crate::report) fn has_other_writer(&self) -> bool {
        let is_it = |code, severity| code == Code::OtherWriter && severity < Severity::Info;
        self.explanation.findings.iter().any(|it| is_it(it.code, it.severity))
    }

    /// Returns the changes of the most likely course, each with what is possible before the next.
    fn rows(&self) -> Vec<Row> {
        let decision = &self.explanation.pass.decision;
        let mut replicas = decision.replicas_after();
        let mut rows: Vec<Row> = Vec::new();
        // What is possible before the most likely change.
        let mut open: Option<(Timestamp, Range)> = None;
        for &Upcoming { time, replicas: next, range } in self.explanation.upcoming {
            let is_certain = range.min == range.max;
            let last = rows.last_mut().filter(|last| !last.is_certain() && last.surely.is_none());
            if Some(next) != replicas {
                let (since, possible) = match open.take() {
                    Some((since, before)) if !is_certain => (since, hull(before, range)),
                    _ => (time, range),
                };
                rows.push(Row { replicas: next, at: Some(time), possible, since, surely: None });
                replicas = Some(next);
            } else if let (true, Some(last)) = (is_certain, last) {
                last.surely = Some(time);
                open = None;
            } else {
                let (since, before) = open.unwrap_or((time, range));
                open = Some((since, hull(before, range)));
            }
        }
        if let (Some((since, possible)), Some(replicas)) = (open, replicas) {
            rows.push(Row { replicas, at: None, possible, since, surely: None });
        }
        rows
    }

    /// Words when a count follows, and how certain that is.
    fn when(&self, row: &Row) -> String {
        let now = self.now();
        let Row { at, possible: Range { min, max }, since, surely, .. } = *row;
        let Some(at) = at.filter(|_| !row.is_certain()) else {
            let since = future(now, since);
            return match row.is_certain() {
                true => format!("at {since}"),
                false => format!("from {since}: {min} to {max} possible"),
            };
        };
        let likely = format!("most likely at {}", future(now, at));
        let from = match since < at {
            true => format!(" from {}", time(now, since)),
            false => String::new(),
        };
        match surely {
            Some(surely) => {
                let earliest = match since < at {
                    true => format!("from {} at the earliest, ", time(now, since)),
                    false => String::new(),
                };
                format!("{likely}; {earliest}by {} at the latest", time(now, surely))
            }
            None => format!("{likely}; {min} to {max} possible{from}"),
        }
    }
}

fn hull(one: Range, other: Range) -> Range {
    Range { min: one.min.min(other.min), max: one.max.max(other.max) }
}
