//! The place of a kind of finding among the others.

use crate::engine::decision::Block;

/// The place of a finding in the order of causes. Findings are sorted by whether they explain the pass, then by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Something does not work.
    Broken,
    /// Something works as it was configured, but probably not as intended.
    Misconfigured,
    /// An ordinary rule of the controller applies, or something passes by itself. No rule follows from its
    /// effect on the proposal.
    Rule,
}

/// An aspect of a kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// The finding concerns a metric, or pods as the source of metrics, and not what a pass makes of the value. It is
    /// searched for even if a pass ignores the metrics, and casts doubt on their proposals.
    OfMetrics,
    /// The object of the finding is the target of the HPA, not its pods.
    OfTarget,
    /// The finding holds throughout a run, whatever the load does. `--fail-on` does not ask for the later passes then.
    Lasts,
    /// The finding concerns pods, and can be the reason why no metric has a value: `metric-empty` may follow from it.
    NoValues,
    /// Pods that count are not as they should be, which casts doubt on the metrics' proposals.
    Miscounts,
    /// The problem passes by itself, and counts as changing the proposal even at severity info.
    Passes,
    /// The finding only repeats another one if it follows from that one: reports for people may omit it then.
    Repeats,
    /// The finding is the reason why a pass ends without a decision in this way.
    Ends(Block),
}
