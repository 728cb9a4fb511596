//! The place of a kind of finding among the others.

use crate::engine::decision::Block;

/// The place of a finding in the order of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Something does not work.
    Broken,
    /// Something works as it was configured, but probably not as intended.
    Misconfigured,
    /// An ordinary rule of the controller applies, or something passes by itself.
    Rule,
}

/// An aspect of a kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// It concerns a metric, or pods as the source of metrics, and not what a pass makes of the value.
    OfMetrics,
    /// Its object is the target of the HPA.
    OfTarget,
    /// It holds throughout a run, whatever the load does.
    Lasts,
    /// It concerns pods, and can be the reason why no metric has a value.
    NoValues,
    /// Pods that count are not as they should be, which casts doubt on the metrics' proposals.
    Miscounts,
    /// It passes by itself, and changes the proposal even if it is only information.
    Passes,
    /// If it follows from another finding, it only repeats that one.
    Repeats,
    /// It is the reason why a pass ends without a decision in this way.
    Ends(Block),
}
