//! When holds and rate limits end, and what happens then, if the metrics keep asking for the same.

use super::{PathLine, Words};
use crate::engine::decision::Upcoming;
use crate::report::words::{future, time};

/// So many lines are read at a glance.
const SHOWN: usize = 8;

impl Words<'_> {
    /// A line for each count that follows.
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

    /// When a count follows.
    pub(super) fn when(&self, step: &Upcoming) -> String {
        let now = self.now();
        // The next pass may come at once, or a sync period from now.
        let soon = step.earliest <= now;
        match step.latest {
            Some(latest) if soon => format!("by {}", future(now, latest)),
            None if soon => "at the next pass, later, or not at all".to_owned(),
            Some(latest) if latest == step.earliest => format!("at {}", future(now, latest)),
            Some(latest) => {
                format!("between {} and {}", time(now, step.earliest), future(now, latest))
            }
            None => format!("at {} at the earliest, or not at all", future(now, step.earliest)),
        }
    }
}
