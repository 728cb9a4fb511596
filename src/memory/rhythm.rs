//! When one pass of the controller follows another. Passes over an HPA are a sync period apart. Since
//! v1.37 a new HPA and one whose spec was changed have an extra pass at once, which does not shift
//! the others, and a pass may be skipped while the controller has not seen its own last write.

use jiff::{SignedDuration, Timestamp};

use super::spans::{SECOND, SLACK};
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::Hpa;

/// When passes are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rhythm {
    /// The sync period. Passes are no closer together, unless one of them is extra.
    pub(super) period: SignedDuration,
    /// The longest time between two passes.
    pub(super) longest: SignedDuration,
    /// A changed spec has an extra pass (1.37; kubernetes#138294 with the gate `HPAGeneration`).
    pub(super) extra_on_change: bool,
    /// A controller that starts makes a pass over every HPA at once, not a sync period later, and a new HPA
    /// has a pass at once (1.37; kubernetes#138294).
    pub(super) at_once_on_start: bool,
}

impl Rhythm {
    pub(super) fn of(controller: &Controller) -> Self {
        let period = controller.sync_period;
        // A skipped pass is made up for a period later (1.37; kubernetes#139025).
        let skipped = match controller.gates.stale_controller_consistency {
            true => period,
            false => SignedDuration::ZERO,
        };
        Self {
            period,
            longest: period + skipped + SLACK,
            extra_on_change: controller.gates.generation,
            at_once_on_start: controller.version.minor() >= 37,
        }
    }

    /// Whether no pass over an HPA at a time or later was extra, judging by when its spec was last changed.
    /// An extra pass that is skipped is made up for by a regular one.
    pub(super) fn is_regular_since(&self, time: Timestamp, hpa: &Hpa) -> bool {
        // The first generation belongs to the creation.
        let created = hpa.written.created.filter(|_| hpa.generation == Some(1));
        let changed = hpa.written.spec.or(created);
        let extra = self.extra_on_change || self.at_once_on_start;
        !extra || changed.is_some_and(|changed| changed + SECOND + SLACK < time)
    }

    /// Whether the status says which spec its pass found, and that differs from the current one: no
    /// pass over the current one has written it yet.
    pub(super) fn is_pending(&self, hpa: &Hpa) -> bool {
        let observed = hpa.status.observed_generation;
        self.extra_on_change
            && !hpa.written.by_us
            && hpa.generation.is_some()
            && observed.is_some_and(|observed| Some(observed) != hpa.generation)
    }
}
