//! When holds and rate limits end, and what happens then, if the metrics keep asking for the same.

use super::Words;
use crate::outlook::{Range, Upcoming};
use crate::report::section::{Detail, Part, Section, StepLine};
use crate::report::words::future;

/// The number of lines that can be read at a glance, and the number in a wide report.
const SHOWN: usize = 4;
const SHOWN_WIDE: usize = 8;

impl Words<'_> {
    /// Returns a line for each change of the most likely course, or of the other possible ones.
    pub(in crate::report) fn upcoming(&self) -> Option<Section> {
        let asked = self.explanation.proposal?;
        let steps = self.explanation.upcoming;
        let line = |step: &Upcoming| StepLine {
            replicas: step.replicas,
            text: self.when(step),
            reason: None,
        };
        let shown = if self.wide { SHOWN_WIDE } else { SHOWN };
        let between = steps.len().saturating_sub(shown);
        let mut lines: Vec<StepLine> = steps.iter().map(line).collect();
        if between > 0 {
            lines.drain(shown - 1..steps.len() - 1);
            let left = &steps[shown - 2..];
            let changes =
                left.windows(2).filter(|pair| pair[0].replicas != pair[1].replicas).count();
            if let Some(last) = lines.last_mut().filter(|_| changes > 1) {
                last.text.push_str(&format!(", in {changes} steps"));
            }
        }
        let title = format!("NEXT PASSES, IF THE METRICS KEEP PROPOSING {asked}");
        Section::new(title, Detail::Folded, [Part::Steps(lines)]).unless_empty()
    }

    /// Words when a count follows, and how certain that is.
    fn when(&self, step: &Upcoming) -> String {
        let at = format!("at {}", future(self.now(), step.time));
        let Range { min, max } = step.range;
        if min == max { at } else { format!("{at}; {min} to {max} possible") }
    }
}
