//! The finding `at-min`.

use super::bound::{Bound, bound, bounded, least, leave, suspected};
use super::{NOTHING_TO_DO, proposed};
use crate::findings::{
    About, Before, Case, Code, Finding, Kind, Others, Rank, Remedy, Severity, Text,
};
use crate::snapshot::surroundings::ScaledObjectSpec;

/// `minReplicas` decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtMin {
    /// The bound.
    pub bound: Bound,
    /// The lowest number that `minReplicas` may have.
    pub least: i32,
}

impl Kind for AtMin {
    type Hits = Option<Finding>;

    const CODE: &'static str = "at-min";
    const WHEN: &'static str = "The metrics propose fewer than `minReplicas`.";
    const REMEDY: &'static str = "Nothing to do.";
    const RANK: Rank = Rank::Rule;

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let bound = bound(case, "TooFewReplicas")?;
        let least = least(case);
        let without = case.without(|snapshot| snapshot.hpa.spec.min_replicas = Some(least));
        Some(Finding::explaining(Severity::Info, AtMin { bound, least }).without(without))
    }

    fn cause(&self, others: &Others<'_>) -> Option<Code> {
        if self.bound.is_disabled {
            return others.any(Code::DirectionDisabled);
        }
        // Fewer replicas are an offer only if nothing is wrong with what is proposed.
        others
            .beyond(self.bound.asked, self.bound.bound)
            .or_else(|| others.doubt())
            .or_else(|| others.any(Code::BelowMin))
    }

    fn text(&self, about: &About<'_>) -> Text {
        let Self { bound, least } = self;
        let Bound {
            asked, bound: min, ..
        } = *bound;
        let (advice, commands) = match about.hpa().scaled_object() {
            _ if bound.is_disabled => (leave("minReplicas"), Vec::new()),
            _ if bound.suspicion.is_some() => suspected(about, bound),
            _ if about.hpa().spec.max_replicas == min => (
                Remedy::Nothing.says(format!(
                    "Nothing to do if it is pinned on purpose: {} and {} are both {min}.",
                    about.field_name("minReplicas"),
                    about.field("maxReplicas")
                )),
                Vec::new(),
            ),
            _ if asked.max(*least) < min => (Remedy::Nothing.says(NOTHING_TO_DO), Vec::new()),
            Some(owner) => (
                Remedy::LeaveToKeda.says(match about.object_of(owner).map(|it| &it.spec) {
                    Some(ScaledObjectSpec { min_replica_count: Some(0), cooldown_period, .. }) => {
                        format!(
                            "Nothing to do: KEDA itself scales to 0 when no trigger has been active for \
                             {}s.",
                            cooldown_period.unwrap_or(COOLDOWN)
                        )
                    }
                    _ => "Nothing to do: KEDA itself scales to 0 while no trigger is active, if \
                          minReplicaCount is 0."
                        .to_owned(),
                }),
                vec![about.scaled_object(owner)],
            ),
            None => (
                Remedy::Nothing.says(
                    "Nothing to do: fewer than 1 needs the feature gate HPAScaleToZero, and a metric of \
                     type Object or External.",
                ),
                Vec::new(),
            ),
        };
        let mut evidence = bounded(about, bound, "minReplicas");
        let idle = bound
            .metric
            .filter(|metric| about.spec(*metric).is_resource());
        evidence.extend(idle.map(|metric| {
            format!(
                "If the service is slow, {} is not what limits it.",
                about.label(metric)
            )
        }));
        Text {
            summary: format!("{}, and minReplicas is {min}", proposed(about, asked)),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

/// How many seconds after a trigger was active KEDA scales to 0, by default (`defaultCooldownPeriod`).
const COOLDOWN: i32 = 300;
