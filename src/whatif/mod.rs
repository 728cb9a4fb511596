//! What if: the same engine over a changed snapshot. [`overrides`] changes it, [`expect`] compares the
//! answer with what was expected, [`thresholds`] finds where it changes, [`kept`] what keeps it under other requests, and [`timeline`]
//! runs it again and again; nothing here decides anything of its own.

pub mod expect;
pub mod kept;
pub mod overrides;
pub mod thresholds;
pub mod timeline;
mod unit;
pub mod value;

/// As many pods as are assumed or played.
pub const MAX_PODS: usize = 100_000;
