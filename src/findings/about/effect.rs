//! How a problem affects the answer.

use jiff::Timestamp;

use super::About;
use crate::findings::{Alternative, Finding};
use crate::outlook::{Range, Upcoming};
use crate::snapshot::Snapshot;
use crate::snapshot::by_name::Names;
use crate::words::{count, future};

/// The change after a pass.
pub(crate) struct NextChange {
    /// The time of the first pass that may change something, unless this pass may.
    earliest: Option<Timestamp>,
    /// The first change of the most likely course.
    pub(crate) likely: Option<Upcoming>,
    /// The time of the first pass before which something has certainly changed.
    pub(crate) latest: Option<Timestamp>,
}

impl About<'_> {
    /// Describes how the problem affects the answer, to follow a sentence: `: 4 replicas instead of 1`; empty if
    /// it does not.
    pub(crate) fn cost(&self) -> String {
        self.cost_if("")
    }

    /// Describes the effect if the result assumes that some pods are as busy as the others: `~4`. Nothing should be
    /// assumed about pods that have just started.
    pub(crate) fn cost_of<N: AsRef<str>>(&self, pods: &[N]) -> String {
        if !self.assumes_usage(pods) {
            self.cost_if("")
        } else if !self.have_just_started(pods) {
            self.cost_if("~")
        } else if self.pass.decision.proposal.is_none() {
            ": no decision".to_owned()
        } else {
            String::new()
        }
    }

    /// Describes the effect, with a mark before the replicas if they are uncertain.
    fn cost_if(&self, near: &str) -> String {
        let Some(without) = self.finding.without.filter(|_| self.finding.explains) else {
            return String::new();
        };
        let decision = &self.pass.decision;
        let replicas = (decision.replicas_after(), without.replicas);
        match (decision.proposal, without.proposal, replicas) {
            (None, Some(proposal), _) => {
                format!(": no decision instead of a proposal of {near}{proposal}")
            }
            (_, _, (Some(with), Some(to))) if with != to => {
                format!(": {} instead of {near}{to}", count(with, "replica"))
            }
            // The answer is the same.
            (_, _, (Some(_), Some(_))) => String::new(),
            (Some(with), Some(without), _) => {
                format!(": a proposal of {with} instead of {near}{without}")
            }
            _ => String::new(),
        }
    }

    /// Whether all of these pods are so young that their cpu does not count while they are not ready.
    fn have_just_started<N: AsRef<str>>(&self, pods: &[N]) -> bool {
        let Snapshot {
            pods: all,
            controller,
            ..
        } = self.snapshot;
        let names: Names<&str> = pods.iter().map(AsRef::as_ref).collect();
        let mut own = all.iter().filter(|it| names.contains(&it.name));
        own.all(|pod| {
            let since = pod.start_time.or(pod.created);
            since.is_some_and(|it| {
                self.now().duration_since(it) < controller.cpu_initialization_period
            })
        })
    }

    /// Whether some of these pods lack a value that matters, so that one would be assumed if they counted. The ratio of
    /// a total does not depend on pods' values.
    pub(crate) fn assumes_usage<N: AsRef<str>>(&self, pods: &[N]) -> bool {
        let all = &self.snapshot.pods;
        let names: Names<&str> = pods.iter().map(AsRef::as_ref).collect();
        let mut rows = self
            .pass
            .decision
            .metrics()
            .filter(|step| !step.is_total())
            .flat_map(|step| &step.pods);
        rows.any(|row| row.value.is_none() && names.contains(&all[row.pod as usize].name))
    }

    /// Returns the result of the pass without the problem as text: `6 replicas`, or the proposal and the replicas that
    /// remain after limits.
    pub(crate) fn without(&self) -> Option<String> {
        let Alternative {
            proposal,
            replicas,
            possible,
        } = self.finding.without?;
        let open = possible.map_or_else(String::new, |Range { min, max }| {
            format!(" ({min} to {max} are possible)")
        });
        Some(match (proposal, replicas) {
            (Some(proposal), Some(replicas)) if proposal != replicas => format!(
                "a proposal of {proposal}, and {} after stabilization and limits{open}",
                count(replicas, "replica")
            ),
            (_, Some(replicas)) => format!("{}{open}", count(replicas, "replica")),
            (Some(proposal), None) => format!("a proposal of {proposal}"),
            (None, None) => return None,
        })
    }

    /// Returns a sentence about the result of the pass with a change that ends the problem.
    pub(crate) fn result(&self, change: &str) -> Option<String> {
        Some(format!("{change}: {}.", self.without()?))
    }

    /// Returns a sentence about the result of the pass without the problem.
    pub(crate) fn otherwise(&self, without_it: &str) -> Option<String> {
        let without = self.without()?;
        if self.finding.explains {
            return Some(format!("{without_it}: {without}."));
        }
        // Without a decision, there is no answer.
        let is_decided = self.pass.decision.block().is_none();
        is_decided.then(|| format!("{without_it}, the answer is the same: {without}."))
    }

    /// Returns the change after the pass, if the metrics' proposals stay the same.
    pub(crate) fn next(&self) -> Option<NextChange> {
        let decision = &self.pass.decision;
        let after = decision.replicas_after()?;
        let outlook = &self.pass.outlook;
        let upcoming = &outlook.upcoming;
        upcoming.iter().find(|it| !it.range.is_only(after))?;
        let is_left = |it: &&Upcoming| !it.range.contains(after);
        Some(NextChange {
            earliest: outlook.earliest_change(decision),
            likely: upcoming.iter().find(|it| it.replicas != after).copied(),
            latest: upcoming.iter().find(is_left).map(|it| it.time),
        })
    }

    /// Describes the change after the pass, if the replicas follow from the passes: `It goes to 6 replicas at 12:05:00Z
    /// (in 5m) if the metrics keep proposing the same.`
    pub(crate) fn next_in_words(&self) -> Option<String> {
        if self.found.iter().any(Finding::overrules) {
            return None;
        }
        let NextChange {
            earliest, likely, ..
        } = self.next()?;
        let at = |time| future(self.now(), time);
        let Some(likely) = likely else {
            return Some(format!(
                "The earliest possible change is at {}.",
                at(earliest?)
            ));
        };
        let goes = format!("to {} at", count(likely.replicas, "replica"));
        let if_same = "if the metrics keep proposing the same";
        let (replicas, time) = (likely.replicas, at(likely.time));
        Some(match earliest {
            Some(earliest) if earliest < likely.time => format!(
                "It most likely goes {goes} {time} {if_same}; nothing changes before {}.",
                at(earliest)
            ),
            Some(_) if likely.range.min == replicas && likely.range.max == replicas => {
                format!("It goes {goes} {time} {if_same}.")
            }
            _ => format!("It most likely goes {goes} {time} {if_same}."),
        })
    }
}
