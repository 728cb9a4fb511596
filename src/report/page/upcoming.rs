//! The ends of holds and rate limits, and the changes that follow if the metrics' proposals stay the same.

use jiff::Timestamp;

use super::Words;
use crate::findings::Code;
use crate::outlook::{Range, Upcoming};
use crate::report::section::{Detail, Part, Section, StepLine};
use crate::words::{future, time};

/// The number of lines that can be read at a glance, and the number in a wide report.
const SHOWN: usize = 4;
const SHOWN_WIDE: usize = 8;

/// A change of the most likely course, or the end of the known part of it.
struct UpcomingRow {
    /// The most likely count from then on.
    replicas: i32,
    /// The most likely time of the change; `None` if the count is the same as before.
    at: Option<Timestamp>,
    /// The possible counts, since when, and those at first.
    possible: Range,
    since: Timestamp,
    first: Range,
    /// The time from which the count is certain, if it is not at once.
    surely: Option<Timestamp>,
}

impl UpcomingRow {
    fn is_certain(&self) -> bool {
        self.possible.min == self.possible.max
    }

    /// Returns the row with the possible counts of an earlier one.
    fn after(self, before: Option<Self>) -> Self {
        match before {
            Some(before) if !before.is_certain() => Self {
                possible: before.possible.hull(self.possible),
                since: before.since,
                first: before.first,
                ..self
            },
            _ => self,
        }
    }
}

impl Words<'_> {
    /// Returns a line for each change of the most likely course; `None` if the replicas do not follow from the passes.
    pub(in crate::report) fn upcoming(&self) -> Option<Section> {
        let asked = self.explanation.proposal?;
        if self.overruling().next().is_some() {
            return None;
        }
        let rows = self.rows();
        let shown = if self.wide { SHOWN_WIDE } else { SHOWN };
        let between = rows.len().saturating_sub(shown);
        let mut lines: Vec<StepLine> = rows
            .iter()
            .map(|row| StepLine {
                replicas: row.replicas,
                text: self.when(row),
                reason: None,
            })
            .collect();
        if between > 0 {
            lines.drain(shown - 1..rows.len() - 1);
            let left = &rows[shown - 2..];
            let changes = left
                .windows(2)
                .filter(|pair| pair[0].replicas != pair[1].replicas)
                .count();
            if let Some(last) = lines.last_mut().filter(|_| changes > 1) {
                last.text.push_str(&format!(", in {changes} steps"));
            }
        }
        let known = self.lacking().map_or("", |_| "KNOWN ");
        let title = format!("NEXT PASSES, IF THE {known}METRICS KEEP PROPOSING {asked}");
        Section::new(title, Detail::Folded, [Part::Steps(lines)])
    }

    /// Returns the codes of the findings that say that the replicas do not follow from the passes.
    pub(in crate::report) fn overruling(&self) -> impl Iterator<Item = Code> {
        let findings = self.explanation.findings.iter();
        findings.filter(|it| it.overrules).map(|it| it.code)
    }

    /// Returns the changes of the most likely course, each with the possible counts before the next.
    fn rows(&self) -> Vec<UpcomingRow> {
        let decision = &self.explanation.pass.decision;
        let mut replicas = decision.replicas_after();
        let mut rows: Vec<UpcomingRow> = Vec::new();
        // The possible counts before the most likely change.
        let mut open: Option<UpcomingRow> = None;
        for &Upcoming {
            time,
            replicas: next,
            range,
        } in self.explanation.upcoming
        {
            let row = UpcomingRow {
                replicas: next,
                at: None,
                possible: range,
                since: time,
                first: range,
                surely: None,
            };
            let is_certain = row.is_certain();
            let last = rows
                .last_mut()
                .filter(|last| !last.is_certain() && last.surely.is_none());
            if Some(next) != replicas {
                // If it may have come before, it is certain only from then on.
                let may_be = |it: &UpcomingRow| !is_certain || it.possible.contains(next);
                let before = open.take().filter(may_be);
                rows.push(UpcomingRow {
                    at: Some(time),
                    surely: (is_certain && before.is_some()).then_some(time),
                    ..row.after(before)
                });
                replicas = Some(next);
            } else if let (true, Some(last)) = (is_certain, last) {
                last.surely = Some(time);
                open = None;
            } else {
                open = Some(row.after(open));
            }
        }
        rows.extend(open);
        rows
    }

    /// Describes when a count follows, and how certain that is.
    fn when(&self, row: &UpcomingRow) -> String {
        let now = self.now();
        let UpcomingRow {
            at,
            possible,
            since,
            first,
            surely,
            ..
        } = *row;
        let of = |Range { min, max }| format!("{min} to {max}");
        let later = if first == possible {
            String::new()
        } else {
            format!(", later {}", of(possible))
        };
        let Some(at) = at.filter(|_| !row.is_certain()) else {
            let since = future(now, since);
            return match at {
                Some(_) => format!("at {since}"),
                // Others may follow from the pass itself.
                None if row.is_certain() => {
                    format!("most likely from this pass on; by {since} at the latest")
                }
                None => format!("from {since}: {} possible{later}", of(first)),
            };
        };
        let likely = format!("most likely at {}", future(now, at));
        let from = if since < at {
            format!(" from {}", time(now, since))
        } else {
            String::new()
        };
        match surely {
            Some(surely) => {
                // Before it, other counts may have been possible.
                let reaches = |it: &&Upcoming| since <= it.time && it.range.contains(row.replicas);
                let mut reached = self.explanation.upcoming.iter().filter(reaches);
                let earliest = match reached.next().filter(|it| it.time < at) {
                    Some(it) => format!("from {} at the earliest, ", time(now, it.time)),
                    None => String::new(),
                };
                format!("{likely}; {earliest}by {} at the latest", time(now, surely))
            }
            None => format!("{likely}; {} possible{from}{later}", of(first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::{Value, json};

    use super::*;
    use crate::build;
    use crate::findings::testing::{pass, state, with_hpa};
    use crate::report::Explanation;

    /// Four pods that need 8 replicas.
    fn busy() -> Vec<Value> {
        state(
            &[build::resource("cpu", &build::utilization(50))],
            &["90m"; 4],
        )
    }

    /// Returns the lines for these courses, each after some seconds, with the likeliest count and its bounds.
    fn lines(items: &[Value], upcoming: &[(i64, i32, i32, i32)]) -> Vec<String> {
        let mut pass = pass(items);
        let now: Timestamp = build::NOW.parse().unwrap();
        let of = |&(seconds, replicas, min, max): &(i64, i32, i32, i32)| Upcoming {
            time: now + SignedDuration::from_secs(seconds),
            replicas,
            range: Range { min, max },
        };
        pass.outlook.upcoming = upcoming.iter().map(of).collect();
        let explanation = Explanation::new(&pass);
        let words = Words {
            explanation: &explanation,
            wide: false,
        };
        let body = words
            .upcoming()
            .map(|section| section.body)
            .unwrap_or_default();
        let steps = body.into_iter().flat_map(|part| match part {
            Part::Steps(steps) => steps,
            other => panic!("{other:?}"),
        });
        steps
            .map(|step| format!("{} {}", step.replicas, step.text))
            .collect()
    }

    /// The pass leaves 8 replicas.
    #[test]
    fn each_change_of_the_likeliest_course_has_a_line() {
        let told = |upcoming: &[(i64, i32, i32, i32)]| lines(&busy(), upcoming);
        assert_eq!(told(&[(60, 4, 4, 4)]), ["4 at 06:01:00Z (in 60s)"]);
        assert_eq!(
            told(&[(60, 8, 4, 8), (120, 5, 4, 8), (135, 4, 4, 4)]),
            [
                "5 most likely at 06:02:00Z (in 2m); 4 to 8 possible from 06:01:00Z",
                "4 at 06:02:15Z (in 2m15s)"
            ]
        );
        // Its time alone is open.
        assert_eq!(
            told(&[(60, 8, 4, 8), (120, 4, 4, 8), (135, 4, 4, 4)]),
            [
                "4 most likely at 06:02:00Z (in 2m); from 06:01:00Z at the earliest, by 06:02:15Z at the latest"
            ]
        );
        assert_eq!(
            told(&[
                (15, 8, 8, 8),
                (30, 8, 6, 8),
                (45, 8, 4, 8),
                (60, 4, 4, 8),
                (75, 4, 4, 4)
            ]),
            [
                "4 most likely at 06:01:00Z (in 60s); from 06:00:45Z at the earliest, by 06:01:15Z at the latest"
            ]
        );
        assert_eq!(
            told(&[(60, 8, 4, 8), (75, 4, 4, 4)]),
            [
                "4 most likely at 06:01:15Z (in 75s); from 06:01:00Z at the earliest, by 06:01:15Z at the latest"
            ]
        );
        assert_eq!(
            told(&[(60, 8, 6, 8), (75, 4, 4, 4)]),
            ["4 at 06:01:15Z (in 75s)"]
        );
        assert_eq!(
            told(&[(60, 4, 4, 8), (75, 4, 4, 4)]),
            ["4 most likely at 06:01:00Z (in 60s); by 06:01:15Z at the latest"]
        );
        // What is possible before the next change belongs to that.
        assert_eq!(
            told(&[(30, 6, 6, 8), (45, 6, 4, 6), (60, 4, 4, 6)]),
            [
                "6 most likely at 06:00:30Z (in 30s); 6 to 8 possible",
                "4 most likely at 06:01:00Z (in 60s); 4 to 6 possible from 06:00:45Z"
            ]
        );
        assert_eq!(
            told(&[(60, 8, 4, 8)]),
            ["8 from 06:01:00Z (in 60s): 4 to 8 possible"]
        );
        // Later, more is possible.
        assert_eq!(
            told(&[(60, 8, 4, 8), (75, 8, 2, 12)]),
            ["8 from 06:01:00Z (in 60s): 4 to 8 possible, later 2 to 12"]
        );
        assert_eq!(
            told(&[(60, 8, 6, 8), (75, 8, 5, 8), (90, 4, 4, 8)]),
            ["4 most likely at 06:01:30Z (in 90s); 6 to 8 possible from 06:01:00Z, later 4 to 8"]
        );
        assert_eq!(
            told(&[(15, 8, 8, 8), (60, 8, 6, 8), (75, 8, 5, 8), (90, 4, 4, 8)]),
            ["4 most likely at 06:01:30Z (in 90s); 6 to 8 possible from 06:01:00Z, later 4 to 8"]
        );
        // The pass itself may leave another number.
        assert_eq!(
            told(&[(60, 8, 8, 8)]),
            ["8 most likely from this pass on; by 06:01:00Z (in 60s) at the latest"]
        );
        let steps: Vec<_> = (1..=7)
            .map(|step| (step * 60, 8 - step as i32, 8 - step as i32, 8 - step as i32))
            .collect();
        assert_eq!(told(&steps)[3], "1 at 06:07:00Z (in 7m), in 4 steps");
    }

    /// It is unknown what another writer will set, and when passes will be made again.
    #[test]
    fn what_follows_is_not_told_if_it_does_not_follow_from_the_passes() {
        let status = json!({"currentReplicas": 6, "desiredReplicas": 6, "conditions": [
            {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}]});
        let set_by_helm = json!({"metadata": {"managedFields": [{"manager": "helm",
            "operation": "Update", "time": "2026-11-21T05:59:55Z",
            "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
        let mut items = busy();
        items[0]["status"] = status;
        assert_eq!(lines(&items, &[(60, 4, 4, 4)]).len(), 1);
        let created =
            json!({"metadata": {"uid": "1", "creationTimestamp": "2026-11-21T05:00:00Z"}});
        let silent = with_hpa(&busy(), &created);
        assert_eq!(lines(&silent, &[(60, 4, 4, 4)]), Vec::<String>::new());
        items.push(build::with(build::deployment(4), &set_by_helm));
        assert_eq!(lines(&items, &[(60, 4, 4, 4)]), Vec::<String>::new());
    }
}
