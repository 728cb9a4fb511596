//! The intervals between passes of the controller. Passes over an HPA are a sync period apart. Since v1.37,
//! a new HPA and one whose spec was changed have an extra pass at once, which does not shift the others,
//! and a pass may be skipped while the controller has not seen its own last write.

use jiff::{SignedDuration, Timestamp};

use super::spans::{SECOND, SLACK};
use crate::calendar::Calendar;
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::Hpa;
use crate::version::FeatureGate;

/// The schedule of passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rhythm {
    /// The sync period. Passes are no closer together, unless one of them is extra.
    pub(super) period: SignedDuration,
    /// The longest time between two passes.
    pub(super) longest: SignedDuration,
    /// Whether a changed spec has an extra pass (1.37; kubernetes#138294 with the gate `HPAGeneration`).
    pub(super) extra_on_change: bool,
    /// Whether a controller that starts runs a pass over every HPA at once, not a sync period later, and a new
    /// HPA has a pass at once (1.37; kubernetes#138294).
    pub(super) at_once_on_start: bool,
}

impl Rhythm {
    pub(super) fn of(controller: &Controller) -> Self {
        let period = controller.sync_period;
        // A skipped pass is made up for a period later (1.37; kubernetes#139025).
        let skipped = if controller.gates[FeatureGate::StaleControllerConsistencyHPA] {
            period
        } else {
            SignedDuration::ZERO
        };
        Self {
            period,
            longest: period.plus(skipped).plus(SLACK),
            extra_on_change: controller.gates[FeatureGate::HPAGeneration],
            at_once_on_start: controller.version.minor() >= 37,
        }
    }

    /// Returns the time from the start of a controller to its first pass over an HPA that exists.
    pub(super) fn first_delay(&self) -> SignedDuration {
        if self.at_once_on_start {
            SignedDuration::ZERO
        } else {
            self.period
        }
    }

    /// Whether no pass over an HPA at or after a time was an extra one, judging by the last change of its spec.
    /// A regular pass makes up for a skipped extra one.
    pub(super) fn is_regular_since(&self, time: Timestamp, hpa: &Hpa) -> bool {
        // The first generation belongs to the creation.
        let created = hpa.written.created.filter(|_| hpa.generation == Some(1));
        let changed = hpa.written.spec.or(created);
        let extra = self.extra_on_change || self.at_once_on_start;
        !extra || changed.is_some_and(|changed| changed.plus(SECOND).plus(SLACK) < time)
    }

    /// Whether the status names the spec that its pass found, and that spec differs from the current one: no
    /// pass over the current spec has written the status yet.
    pub(super) fn is_pending(&self, hpa: &Hpa) -> bool {
        self.extra_on_change && hpa.is_status_of_other_spec()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::Rhythm;
    use crate::memory::states::tests::{of, second};
    use crate::snapshot::hpa::Hpa;
    use crate::snapshot::written::Written;
    use crate::version::FeatureGate;

    #[test]
    fn a_skipped_pass_doubles_the_time_between_two() {
        for (version, stale, longest, at_once) in [
            ("v1.36", false, 15 + 5, false),
            ("v1.37", false, 15 + 5, true),
            ("v1.37", true, 2 * 15 + 5, true),
        ] {
            let mut controller = of(version);
            controller.gates[FeatureGate::StaleControllerConsistencyHPA] = stale;
            let rhythm = Rhythm::of(&controller);
            assert_eq!(rhythm.period, SignedDuration::from_secs(15));
            assert_eq!(
                rhythm.longest,
                SignedDuration::from_secs(longest),
                "{version} {stale}"
            );
            assert_eq!(rhythm.at_once_on_start, at_once, "{version}");
        }
    }

    fn rhythm(extra_on_change: bool, at_once_on_start: bool) -> Rhythm {
        Rhythm {
            extra_on_change,
            at_once_on_start,
            ..Rhythm::of(&of("v1.36"))
        }
    }

    /// An extra pass comes within a second, as the API counts, and the delay of a pass.
    #[test]
    fn passes_are_regular_once_the_extra_one_is_over() {
        let spec = Some(second(100));
        for (flags, spec, generation, time, regular) in [
            ((true, false), spec, 2, 106, false),
            ((true, false), spec, 2, 107, true),
            ((false, true), spec, 2, 106, false),
            ((false, true), spec, 2, 107, true),
            ((false, false), spec, 2, 0, true),
            // The first generation is as old as the HPA; of another one nothing is known.
            ((true, false), None, 1, 56, false),
            ((true, false), None, 1, 57, true),
            ((true, false), None, 2, 107, false),
        ] {
            let written = Written {
                created: Some(second(50)),
                spec,
                ..Written::default()
            };
            let generation = Some(generation);
            let hpa = Hpa {
                written,
                generation,
                ..Hpa::of(&json!({"maxReplicas": 2}), json!({}))
            };
            let found = rhythm(flags.0, flags.1).is_regular_since(second(time), &hpa);
            assert_eq!(found, regular, "{flags:?} {spec:?} {generation:?} {time}");
        }
    }

    #[test]
    fn a_pass_is_pending_while_the_status_names_another_spec() {
        for (extra, by_us, generation, observed, pending) in [
            (true, false, Some(2), Some(1), true),
            (true, false, Some(2), Some(2), false),
            (true, false, Some(2), None, false),
            (true, false, None, Some(1), false),
            (true, true, Some(2), Some(1), false),
            (false, false, Some(2), Some(1), false),
        ] {
            let mut hpa = Hpa::of(&json!({"maxReplicas": 2}), json!({}));
            hpa.written.by_us = by_us;
            hpa.generation = generation;
            hpa.status.observed_generation = observed;
            let found = rhythm(extra, false).is_pending(&hpa);
            assert_eq!(
                found, pending,
                "{extra} {by_us} {generation:?} {observed:?}"
            );
        }
    }
}
