//! The finding `at-min`.

use super::bound::{Bound, bound, bounded, least, leave, suspected};
use super::{NOTHING_TO_DO, is_limited, proposed};
use crate::findings::prelude::*;
use crate::snapshot::surroundings::ScaledObjectSpec;

/// The metrics propose fewer than `minReplicas`.
///
/// Nothing to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtMin {
    /// The bound.
    pub bound: Bound,
    /// The lowest number that `minReplicas` may have.
    pub least: i32,
}

impl Kind for AtMin {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let bound = bound(case, Direction::Down)?;
        let least = least(case);
        let without = case.without(|snapshot| snapshot.hpa.spec.min_replicas = Some(least));
        Some(Finding::explaining(Severity::Info, AtMin { bound, least }).without(without))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        if self.bound.is_disabled {
            return about.any(Code::DirectionDisabled);
        }
        // Fewer replicas are an offer only if the proposal is sound.
        about
            .beyond(self.bound.asked, self.bound.bound)
            .or_else(|| about.doubt())
            .or_else(|| about.any(Code::BelowMin))
    }

    fn is_in_verdict(&self, decision: &Decision) -> bool {
        is_limited(decision, LimitStep::is_bound)
    }

    fn summary(&self, about: &About<'_>) -> String {
        let Bound { asked, bound, .. } = self.bound;
        format!("{}, and minReplicas is {bound}", proposed(about, asked))
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        bounded(about, &self.bound, Direction::Down)
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let Self { bound, least } = self;
        let Bound {
            asked, bound: min, ..
        } = *bound;
        if let (Some(metric), Some(suspicion), false) =
            (bound.metric, bound.suspicion, bound.is_disabled)
        {
            return suspected(about, metric, suspicion);
        }
        match about.owner() {
            _ if bound.is_disabled => leave(Direction::Down),
            _ if about.hpa.spec.max_replicas == min => Remedy::Nothing.says(format!(
                "Nothing to do if it is pinned on purpose: {} and {} are both {min}.",
                about.field_name("minReplicas"),
                about.field("maxReplicas")
            )),
            _ if asked.max(*least) < min => Remedy::Nothing.says(NOTHING_TO_DO),
            Some(owner) => leave_to_keda(about, owner),
            None => Remedy::Nothing.says(
                "Nothing to do: fewer than 1 needs the feature gate HPAScaleToZero, and a metric of \
                 type Object or External.",
            ),
        }
    }
}

/// Returns the advice to leave scaling to 0 to KEDA.
fn leave_to_keda(about: &About<'_>, owner: OwnScaledObject<'_>) -> Advice {
    let advice = match owner.object.map(|it| &it.spec) {
        Some(ScaledObjectSpec {
            min_replica_count: Some(0),
            cooldown_period,
            ..
        }) => Remedy::LeaveToKeda.says(format!(
            "Nothing to do: KEDA itself scales to 0 when no trigger has been active for {}s.",
            cooldown_period.unwrap_or(COOLDOWN)
        )),
        _ => Remedy::LeaveToKeda.says(
            "Nothing to do: KEDA itself scales to 0 while no trigger is active, if minReplicaCount is 0.",
        ),
    };
    advice.with(about.scaled_object(owner))
}

/// The number of seconds after a trigger was last active at which KEDA scales to 0, by default
/// (`defaultCooldownPeriod`).
const COOLDOWN: i32 = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::Facts;
    use crate::findings::owners::testing::owned;
    use crate::findings::path::testing::{at_once, pods, queue_of};
    use crate::findings::testing::{
        cpu, found, in_version, of_keda, only, said, state, with_pod, with_spec, with_state,
    };

    #[test]
    fn a_minimum_that_cannot_be_lower() {
        let own = queue_of(&build::average("10"), "0", 1);
        let of_keda = of_keda(&own, &json!({}));
        for (items, gate, least) in [
            (&own, false, 1),
            (&own, true, 0),
            (&of_keda, false, 1),
            (&of_keda, true, 1),
        ] {
            let gates = json!({"featureGates": {"HPAScaleToZero": gate}});
            let all = found(&with_state(items, &gates));
            let [Facts::AtMin(facts)] = all.iter().map(|it| &it.facts).collect::<Vec<_>>()[..]
            else {
                panic!("{all:?}")
            };
            assert_eq!(
                (facts.least, facts.bound.bound, facts.bound.asked),
                (least, 1, 0)
            );
        }
    }

    /// Fewer replicas are offered only if nothing is wrong with the counted pods and metrics.
    #[test]
    fn a_minimum_beside_a_finding_about_what_is_counted_follows_it() {
        let spec = with_spec(&pods("10m"), &at_once(&json!({})));
        let least = with_spec(&spec, &json!({"minReplicas": 3}));
        let follows = |items: &[_]| only(Code::AtMin, items).unwrap().follows;
        assert_eq!(follows(&least), None);
        // One of the pods is of something else.
        let foreign = (0..4).fold(least, |items, number| {
            let kind = if number == 0 {
                "StatefulSet"
            } else {
                "ReplicaSet"
            };
            let owner = owned(kind, "web-5d", &json!({"pod-template-hash": "5d"}));
            with_pod(&items, &format!("web-{number}"), &owner)
        });
        assert_eq!(follows(&foreign), Some(Code::ForeignPods));
    }

    /// A setting that keeps the replicas on purpose needs no action, and if the tolerance cannot be set, a target is
    /// named instead.
    #[test]
    fn what_may_be_on_purpose() {
        let pinned = json!({"minReplicas": 4, "maxReplicas": 4});
        let text = said(Code::AtMin, &with_spec(&pods("10m"), &pinned));
        assert_eq!(
            text.advice.text(),
            "Nothing to do if it is pinned on purpose: minReplicas and maxReplicas are both 4."
        );
        assert!(text.commands.is_empty(), "{text:?}");
        let old = |usage: &str| {
            let items = in_version(&state(&[cpu()], &[usage]), "v1.30.0");
            said(Code::WithinTolerance, &items)
        };
        let text = old("52m");
        // 52 is more than 1.1 times 47, and not of 48.
        assert_eq!(
            text.advice.text(),
            "Nothing to do; with a target of 47%, it proposes 2 at this load."
        );
        assert_eq!(
            text.commands,
            ["kubectl hpa predict web -n default --target cpu=47%"]
        );
        assert!(
            text.evidence.iter().all(|it| !it.contains("fewer")),
            "{text:?}"
        );
        // One replica cannot become fewer.
        assert_eq!(old("48m").advice.text(), "Nothing to do.");
    }
}
