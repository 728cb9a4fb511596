//! The finding `below-min`.

use super::corrected::Correction;

/// There are fewer replicas than `minReplicas`, or there were until the newest rescale, less than an hour ago,
/// corrected that. The controller does so without considering metrics, stabilization or rate limits.
///
/// Find out what scaled the target, or lower `minReplicas`. If the bound has just been raised on purpose, there is
/// nothing to do.
pub type BelowMin = Correction<false>;
