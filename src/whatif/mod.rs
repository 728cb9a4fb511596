//! What if: the same engine on a changed snapshot. [`overrides`] changes it, [`expect`] compares the answer
//! with what was expected, [`thresholds`] finds where it changes, [`kept`] the targets that keep it under
//! other requests, and [`timeline`] runs it repeatedly; nothing here decides about replicas.

pub mod expect;
pub mod kept;
pub mod overrides;
pub(crate) mod queried;
pub mod thresholds;
pub mod timeline;
mod unit;
pub mod value;

/// The maximum number of pods that are assumed or played.
pub const MAX_PODS: usize = 100_000;
