//! A kind of finding: its documentation, its search, its texts, and the finding that it follows from.

use super::about::{About, Advice};
use super::causes::Others;
use super::scope::{Aspect, Rank};
use super::{Case, Code, Finding};
use crate::engine::decision::{Block, Decision};

/// A kind of finding. The type that implements it has the facts.
pub(crate) trait Kind {
    /// An `Option` if a pass has at most one of them.
    type Hits: IntoIterator<Item = Finding>;

    /// The code, which is stable.
    const CODE: &'static str;
    /// When it appears, as `docs/findings.md` states it.
    const WHEN: &'static str;
    /// The remedy in general.
    const REMEDY: &'static str;
    /// Its rank if someone should act on it.
    const RANK: Rank;
    /// Its aspects that matter to other findings and to reports.
    const IS: &'static [Aspect] = &[];
    /// The block of a pass that it is the reason for.
    const ENDS: Option<Block> = None;

    /// Looks for it.
    fn find(case: &Case<'_>) -> Self::Hits;

    /// Returns the finding that it follows from, if there is one.
    fn cause(&self, _: &Others<'_>) -> Option<Code> {
        None
    }

    /// Returns the metrics whose failure it explains, by index in the spec.
    fn failed_metrics(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Returns the metrics whose failure or samples it explains.
    fn concerns(&self) -> Vec<usize> {
        self.failed_metrics()
    }

    /// Whether the verdict on a decision names its rule.
    fn is_in_verdict(&self, _: &Decision) -> bool {
        false
    }

    /// Returns one sentence with the problem and its effect on the answer.
    fn summary(&self, about: &About<'_>) -> String;

    /// Returns the evidence: sentences with numbers, names and times of this HPA.
    fn evidence(&self, about: &About<'_>) -> Vec<String>;

    /// Returns the advice, with the commands to paste.
    fn advice(&self, about: &About<'_>) -> Advice;

    /// Returns the objects concerned, as `kind/name`.
    fn objects(&self, about: &About<'_>) -> Vec<String> {
        about.own()
    }
}
