//! When holds and rate limits end, and what happens then, if the metrics keep asking for the same.

use super::{PathLine, Words};
use crate::outlook::{Range, Upcoming};
use crate::report::words::future;

/// So many lines are read at a glance.
const SHOWN: usize = 8;

impl Words<'_> {
    /// A line for each change of the likeliest course, or of what else is possible.
    pub(super) fn upcoming(&self) -> Vec<PathLine> {
        let steps = self.explanation.upcoming;
        let line = |step: &Upcoming| PathLine {
            replicas: step.replicas,
            rule: self.when(step),
            reason: None,
        };
        let between = steps.len().saturating_sub(SHOWN);
        let mut lines: Vec<PathLine> = steps.iter().map(line).collect();
        if between > 0 {
            lines.drain(SHOWN - 1..steps.len() - 1);
            if let Some(last) = lines.last_mut() {
                last.rule.push_str(&format!(", with {between} more steps before it"));
            }
        }
        lines
    }

    /// When a count follows, and how sure that is.
    pub(super) fn when(&self, step: &Upcoming) -> String {
        let at = format!("at {}", future(self.now(), step.time));
        let Range { min, max } = step.range;
        if min == max { at } else { format!("{at}; {min} to {max} possible") }
    }
}
