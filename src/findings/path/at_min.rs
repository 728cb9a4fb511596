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
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::Facts;
    use crate::findings::path::testing::{at_once, pods, queue_of};
    use crate::findings::testing::{cpu, found, of_keda, said, state, with, with_hpa, with_spec};

    #[test]
    fn a_minimum_that_cannot_be_lower() {
        let idle = |keda: bool, gate: bool| {
            let items = queue_of(&build::average("10"), "0", 1);
            let items = if keda {
                of_keda(&items, &json!({}))
            } else {
                items
            };
            let gates = json!({"featureGates": {"HPAScaleToZero": gate}});
            with(&items, "ControllerState", &gates)
        };
        for (items, least) in [
            (idle(false, false), 1),
            (idle(false, true), 0),
            (idle(true, false), 1),
            (idle(true, true), 1),
        ] {
            let all = found(&items);
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
        let follows = |items: &[Value]| {
            let all = found(items);
            let own = all.iter().find(|it| it.code() == Code::AtMin);
            own.unwrap_or_else(|| panic!("{all:?}")).follows
        };
        assert_eq!(follows(&least), None);
        // One of the pods is of something else.
        let mut foreign = least;
        for (number, kind) in [
            (0, "StatefulSet"),
            (1, "ReplicaSet"),
            (2, "ReplicaSet"),
            (3, "ReplicaSet"),
        ] {
            let name = format!("web-{number}");
            let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == name;
            let pod = foreign.iter_mut().find(is_it).unwrap();
            pod["metadata"]["labels"]["pod-template-hash"] = json!("5d");
            pod["metadata"]["ownerReferences"] = build::owned_by("apps/v1", kind, "web-5d");
        }
        assert_eq!(follows(&foreign), Some(Code::ForeignPods));
    }

    /// A setting that keeps the replicas on purpose needs no action, and if the tolerance cannot be set, a target is
    /// named instead.
    #[test]
    fn what_may_be_on_purpose() {
        let pinned = |items: &[Value]| {
            let spec = json!({"spec": {"minReplicas": 4, "maxReplicas": 4}});
            said(Code::AtMin, &with_hpa(items, &spec))
        };
        let text = pinned(&state(&[cpu()], &["10m"; 4]));
        assert_eq!(
            text.advice.text(),
            "Nothing to do if it is pinned on purpose: minReplicas and maxReplicas are both 4."
        );
        assert!(text.commands.is_empty(), "{text:?}");
        let old = |cpu: &str| {
            let items = state(&[self::cpu()], &[cpu]);
            let version = json!({"kubernetesVersion": "v1.30.0"});
            said(
                Code::WithinTolerance,
                &with(&items, "ControllerState", &version),
            )
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
