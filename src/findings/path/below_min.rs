//! The finding `below-min`.

use super::corrected::{Correction, corrected};
use crate::findings::prelude::*;

/// There are fewer replicas than `minReplicas`, or there were, and the newest rescale, less than an hour ago, has
/// corrected that. The controller does so without considering metrics, stabilization or rate limits.
///
/// Find out what scaled the target, or lower `minReplicas`. If the bound has just been raised on purpose, there is
/// nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BelowMin(pub Correction);

impl Kind for BelowMin {
    fn find(case: &Case<'_>) -> Option<Finding> {
        corrected(case, Direction::Down, |it| Self(it).into())
    }

    fn cause(&self, others: &Others<'_>) -> Option<Code> {
        self.0.cause(others)
    }

    fn summary(&self, about: &About<'_>) -> String {
        self.0.summary(about)
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        self.0.evidence(about)
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        self.0.advice(about)
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        about.own_and_target()
    }
}
