//! The finding `above-max`.

use super::corrected::Correction;

/// There are more replicas than `maxReplicas`, or there were until the newest rescale, less than an hour ago, corrected
/// that. The controller does so without considering metrics, stabilization or rate limits. It is a warning if the
/// metrics propose more, and the HPA may have been changed.
///
/// Find out what scaled the target, or raise `maxReplicas`. If the bound has just been lowered on purpose, there is
/// nothing to do.
pub type AboveMax = Correction<true>;
