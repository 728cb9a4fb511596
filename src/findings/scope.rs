//! Where a kind of finding stands among the others.

/// The place of a finding in the order of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Something does not work.
    Broken,
    /// Something works as it was configured, and that is probably not what was meant.
    Misconfigured,
    /// An ordinary rule of the controller holds, or something passes by itself.
    Rule,
}

/// An aspect of a kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// It is about a metric, or about pods as metrics are read of them, and not about what a pass makes of the value.
    OfMetrics,
    /// It holds throughout a run, whatever the load does.
    Lasts,
    /// It is about pods, and can be the reason why no metric has a value.
    NoValues,
    /// Pods that count are not as they should be, which casts doubt on what the metrics propose.
    Miscounts,
    /// It passes by itself, and changes the proposal even if it is only information.
    Passes,
    /// Where it follows from another one, it says the same once more.
    Repeats,
}
