//! The finding `above-max`.

use super::corrected::{Correction, corrected};
use crate::findings::prelude::*;

/// There are more replicas than `maxReplicas`, or there were, and the newest rescale, less than an hour ago, has
/// corrected that. The controller does so without considering metrics, stabilization or rate limits. It is a warning if
/// the metrics propose more, and the HPA may have been changed.
///
/// Find out what scaled the target, or raise `maxReplicas`. If the bound has just been lowered on purpose, there is
/// nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboveMax(pub Correction);

impl Kind for AboveMax {
    fn find(case: &Case<'_>) -> Option<Finding> {
        corrected(case, Direction::Up, |it| Self(it).into())
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
