//! The finding `switched-off`.

use super::{primary, rollout, scales_down};
use crate::apimachinery::annotations::KEDA_PAUSED_SCALE_OUT;
use crate::apimachinery::managed_fields::ManagedFieldsEntry;
use crate::engine::decision::Path;
use crate::findings::prelude::*;
use crate::findings::writer::by;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::surroundings::{ScaleDown, ScaledObject};

/// The target has 0 replicas, and the HPA stays off until something else sets 1 or more.
///
/// Leave it if Flagger or KEDA keeps it there; otherwise, scale the target to 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedOff {
    /// The last writer of the target's replicas, and the time.
    pub writer: Option<(String, Timestamp)>,
    /// The reason why the target stays at 0, if known.
    pub keeper: Option<Keeper>,
}

impl Kind for SwitchedOff {
    fn find(case: &Case<'_>) -> Option<Finding> {
        if case.decision.path() != Some(Path::Disabled) {
            return None;
        }
        let observed = case.pass.input.observed_replicas();
        let writer = case
            .last_replicas_write()
            .filter(|it| observed.is_none() && it.time.is_some());
        let hpa = &case.snapshot.hpa;
        let keeper = match observed {
            Some(_) => None,
            None => keeper(case, writer),
        };
        let is_unready = case.scaled_object().is_some_and(ScaledObject::is_unready);
        // KEDA scales from zero if it can, and the pause has its own finding.
        let severity = match (hpa.scaled_object(), &keeper) {
            _ if observed.is_some() => Severity::Info,
            (Some(_), None | Some(Keeper::Keda)) if is_unready => Severity::Warning,
            (_, Some(Keeper::Rollout { hpa: None, .. } | Keeper::Rollouts))
            | (None, None | Some(Keeper::Manifest | Keeper::Other | Keeper::Owner(_))) => {
                Severity::Warning
            }
            _ => Severity::Info,
        };
        let facts = SwitchedOff {
            writer: writer.and_then(|it| Some((it.manager.clone(), it.time?))),
            keeper,
        };
        Some(Finding::explaining(severity, facts))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about.whole_pause()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let off = match &self.writer {
            Some((manager, _)) => {
                format!("{manager} set the target to 0 replicas, so the HPA is off")
            }
            None => {
                "the target has 0 replicas, so the HPA is off, whatever the metrics say".to_owned()
            }
        };
        match self.scaled_object(about) {
            Some(owner) if owner.object.is_some_and(ScaledObject::is_unready) => {
                format!("{off}, and {owner} is not ready")
            }
            _ => off,
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let target = about.reference();
        let mut evidence = vec![match about.pass.input.observed_replicas() {
            Some(observed) => format!(
                "{target} has {}; with 0, the controller does nothing (ScalingDisabled).",
                count(observed, "replica")
            ),
            None => format!(
                "spec.replicas of {target} is 0, for which the controller does nothing \
                 (ScalingDisabled)."
            ),
        }];
        if let Some((manager, at)) = &self.writer {
            let ago = distance(*at, about.now());
            evidence.push(format!("{manager} set the replicas last, {ago} ago."));
        }
        if about.hpa.spec.min_replicas == Some(0) {
            evidence.push(
                "minReplicas is 0, but the controller wakes the target only if it has scaled it to \
                 zero itself."
                    .to_owned(),
            );
        }
        if let Some(Keeper::Rollout {
            rollout,
            scale_down,
            hpa: None,
        }) = &self.keeper
        {
            evidence.push(scales_down(rollout, *scale_down));
        }
        let owner = self.scaled_object(about);
        evidence.extend(owner.and_then(|owner| about.activity(owner)));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if about.pass.input.observed_replicas().is_some() {
            return Advice::default();
        }
        match self.scaled_object(about) {
            Some(owner) => leave_to_keda(about, owner),
            None => self.keeper.as_ref().unwrap_or(&Keeper::Other).advice(about),
        }
    }
}

impl SwitchedOff {
    /// Returns the ScaledObject that should scale the target up, unless something else keeps the target at 0.
    fn scaled_object<'a>(&self, about: &About<'a>) -> Option<OwnScaledObject<'a>> {
        let owner = about.owner()?;
        match self.keeper {
            Some(Keeper::Rollout { .. } | Keeper::Rollouts | Keeper::Flagger) => None,
            _ => Some(owner).filter(|_| about.pass.input.observed_replicas().is_none()),
        }
    }
}

/// Returns the advice to leave scaling from 0 to KEDA, if KEDA can do it.
fn leave_to_keda(about: &About<'_>, owner: OwnScaledObject<'_>) -> Advice {
    let look = |act: String| {
        Remedy::LookAtScaledObject
            .says(act)
            .with(about.scaled_object(owner))
    };
    let Some(object) = owner.object else {
        return look(format!(
            "Find out whether {owner} is paused, or no trigger of it is active."
        ));
    };
    let spec = &object.spec;
    // KEDA keeps these without any trigger.
    let least = spec
        .min_replica_count
        .filter(|least| *least > 0 && spec.idle_replica_count.is_none());
    if object.is_unready() {
        Remedy::LookAtScaledObject
            .says(format!("Find out why {owner} is not ready."))
            .with(about.describe_scaled_object(owner))
    } else if object.is_set(KEDA_PAUSED_SCALE_OUT) {
        look(format!(
            "If it is meant to run, remove the annotation {KEDA_PAUSED_SCALE_OUT} from {owner}."
        ))
    } else if object.condition("Active") == Some(true) {
        look(format!(
            "Find out why KEDA leaves it at 0: a trigger of {owner} is active."
        ))
    } else if let Some(least) = least {
        look(format!(
            "Find out why KEDA leaves it at 0: minReplicaCount of {owner} is {least}."
        ))
    } else {
        Remedy::LeaveToKeda
            .waits("for a trigger to become active; KEDA then scales the target up")
            .with(about.scaled_object(owner))
    }
}

impl Keeper {
    /// Returns the advice if the target is meant to run.
    fn advice(&self, about: &About<'_>) -> Advice {
        match self {
            Self::Rollout {
                rollout,
                hpa: Some(hpa),
                ..
            } => Remedy::Nothing.says(format!(
                "Nothing to do: the HPA {hpa} scales {rollout}, which runs the pods of this template."
            )),
            Self::Rollout { rollout, .. } => point_at(about, rollout),
            Self::Rollouts => Remedy::PointAtRollout
                .says(format!(
                    "Leave it at 0: a Rollout runs its pods. Point {} at that Rollout.",
                    about.field("scaleTargetRef")
                ))
                .with(about.kubectl_quoted("get", "rollouts.argoproj.io", "")),
            Self::Keda => Remedy::LeaveToKeda
                .says("Leave it: KEDA keeps it at 0 while no trigger is active.")
                .with(about.kubectl_quoted("get", "scaledobjects", "")),
            Self::Owner(owner) => Remedy::LookAtOwner
                .says(format!(
                    "If it is meant to run, change {owner}: it owns {} and may set its replicas.",
                    about.reference()
                ))
                .with(about.kubectl_quoted("get", &about.target(), "-o yaml")),
            Self::Flagger => Remedy::LeaveToFlagger
                .says(format!(
                    "Leave it: between releases, Flagger keeps it at 0 and runs {}-primary.",
                    about.reference()
                ))
                .with(about.kubectl_quoted("get", "canaries.flagger.app", "")),
            Self::Manifest | Self::Other => {
                let act = if *self == Self::Manifest {
                    "take replicas out of its manifest, and scale it to 1."
                } else {
                    "scale the target to 1; the HPA takes over from there."
                };
                Remedy::ScaleToOne
                    .says(format!("If it is meant to run, {act}"))
                    .with(about.kubectl_quoted("scale", &about.target(), "--replicas=1"))
            }
        }
    }
}

/// Returns the advice to scale the Rollout instead, which runs the pods of the target's template.
fn point_at(about: &About<'_>, rollout: &CrossVersionObjectReference) -> Advice {
    let why = format!(
        " ({}): it runs the pods of this template (spec.workloadRef).",
        rollout.api_version
    );
    about.point_at(Remedy::PointAtRollout, rollout, &why)
}

/// Something that keeps a target at 0 on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keeper {
    /// Flagger runs another workload instead of the target, named after it.
    Flagger,
    /// This Rollout runs the pods of the target, whose template it refers to.
    Rollout {
        /// The Rollout.
        rollout: CrossVersionObjectReference,
        /// When the Rollout scales down the target, if it is stated.
        scale_down: Option<ScaleDown>,
        /// An HPA that scales the Rollout already.
        hpa: Option<String>,
    },
    /// KEDA has no active trigger.
    Keda,
    /// Argo Rollouts: a Rollout that was not read runs pods of this template.
    Rollouts,
    /// The object that owns the target may set its replicas.
    Owner(String),
    /// A manifest states 0 replicas.
    Manifest,
    /// A person or a program.
    Other,
}

/// Returns what keeps the target at 0, given the last writer of its replicas, if it is known.
fn keeper(case: &Case<'_>, writer: Option<&ManagedFieldsEntry>) -> Option<Keeper> {
    if let Some(own) = rollout(case) {
        let rollout = own.to_reference();
        return Some(Keeper::Rollout {
            hpa: case.hpa_of(&rollout),
            rollout,
            scale_down: own.scale_down,
        });
    }
    // A ScaledObject may scale the target in addition to the HPA, such as one that takes it over once it has an HPA.
    let mut objects = case.surroundings.scaled_objects.iter();
    if case.snapshot.hpa.scaled_object().is_none() && objects.any(|it| it.is_of(case.target())) {
        return Some(Keeper::Keda);
    }
    match writer {
        Some(writer) => Some(kept_by(case, writer)),
        // The workload's name as Flagger builds it is enough.
        None if primary(case).is_some() => Some(Keeper::Flagger),
        None => owner(case),
    }
}

/// Returns the owner of the target, if any.
fn owner(case: &Case<'_>) -> Option<Keeper> {
    let owner = case.workload()?.metadata.controller()?;
    Some(Keeper::Owner(format!("{}/{}", owner.kind, owner.name)))
}

/// Returns the purpose for which the last writer set the replicas to 0.
fn kept_by(case: &Case<'_>, writer: &ManagedFieldsEntry) -> Keeper {
    let manager = writer.manager.to_lowercase();
    if manager.contains("flagger") {
        return Keeper::Flagger;
    }
    match owner(case) {
        _ if manager.contains("keda") => Keeper::Keda,
        _ if manager.contains("rollouts") => Keeper::Rollouts,
        Some(owner) => owner,
        None if by(writer).is_of_manifest() => Keeper::Manifest,
        None => Keeper::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::testing::{conditions, cpu, of_keda, owned_by_keda, said, state, told};

    #[test]
    fn a_target_that_keda_scales_from_zero_is_in_order() {
        let none = state(&[cpu()], &[]);
        let paused = |key: &str, value: &str| {
            of_keda(&none, &json!({"metadata": {"annotations": {key: value}}}))
        };
        let off = |severity, follows| (Code::SwitchedOff, severity, follows);
        assert_eq!(told(&none), [off(Severity::Warning, None)]);
        assert_eq!(
            told(&of_keda(&none, &json!({}))),
            [off(Severity::Info, None)]
        );
        for pause in [
            paused("autoscaling.keda.sh/paused", "true"),
            paused("autoscaling.keda.sh/paused-replicas", "0"),
        ] {
            let cause = Code::PausedByKeda;
            let want = [
                (cause, Severity::Warning, None),
                off(Severity::Info, Some(cause)),
            ];
            assert_eq!(told(&pause), want);
        }
    }

    /// The advice is only to wait where KEDA is known to scale the target up once a trigger is active.
    #[test]
    fn keda_is_only_waited_for_where_it_acts() {
        let none = state(&[cpu()], &[]);
        let of = |least: i32, idle: Option<i32>| json!({"spec": {"minReplicaCount": least, "idleReplicaCount": idle}});
        let out =
            json!({"metadata": {"annotations": {"autoscaling.keda.sh/paused-scale-out": "true"}}});
        let wait = "Wait for a trigger to become active; KEDA then scales the target up.";
        for (items, want) in [
            (
                owned_by_keda(&none),
                "Find out whether ScaledObject/web is paused, or no trigger of it is active.",
            ),
            (of_keda(&none, &json!({})), wait),
            (of_keda(&none, &of(2, Some(0))), wait),
            (
                of_keda(&none, &of(2, None)),
                "Find out why KEDA leaves it at 0: minReplicaCount of ScaledObject/web is 2.",
            ),
            (
                of_keda(&none, &build::with(out, &conditions(&[("Active", "True")]))),
                "If it is meant to run, remove the annotation autoscaling.keda.sh/paused-scale-out from ScaledObject/web.",
            ),
            (
                of_keda(&none, &conditions(&[("Active", "True")])),
                "Find out why KEDA leaves it at 0: a trigger of ScaledObject/web is active.",
            ),
        ] {
            assert_eq!(said(Code::SwitchedOff, &items).advice.text(), want);
        }
    }

    /// The advice is never to start a target that something else keeps at 0.
    #[test]
    fn a_target_that_is_kept_at_zero() {
        let none = state(&[cpu()], &[]);
        let deployment = |name: &str, more: &Value| {
            let named = json!({"metadata": {"name": name, "uid": name}});
            build::with(build::with(build::deployment(0), &named), more)
        };
        let set_by = |manager: &str| {
            json!({"metadata": {"managedFields": [{"manager": manager, "operation": "Update",
                "time": "2026-11-21T05:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}})
        };
        let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"workloadRef": {
                "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "progressively"}}});
        let along_with = |more: Vec<Value>| [none.clone(), more].concat();
        let owner = json!({"metadata": {"ownerReferences": build::owned_by("example.com/v1", "App", "web")}});
        let owned = build::with(deployment("web", &set_by("app-operator")), &owner);
        let scaled = build::scaled_object("other", &json!({}));
        // Their scales are their own.
        let of_objects: Vec<Value> = none
            .iter()
            .filter(|it| it["kind"] != "Scale")
            .cloned()
            .collect();
        let other_hpa = {
            let reference =
                json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "rollout", "name": "web"});
            let hpa = build::hpa(&json!({"scaleTargetRef": reference}));
            build::with(
                hpa,
                &json!({"metadata": {"name": "of-rollout", "uid": "v"}}),
            )
        };
        let own_scale = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
            "status": {"replicas": 2, "HPAReplicas": 2, "selector": "app=web"}});
        let progressively = along_with(vec![deployment("web", &json!({})), rollout]);
        let annotations = json!({"autoscaling.keda.sh/paused-replicas": "0"});
        let paused = of_keda(
            &along_with(vec![deployment("web-primary", &json!({}))]),
            &json!({"metadata": {"annotations": annotations}}),
        );
        let point = "Point scaleTargetRef at Rollout/web (argoproj.io/v1alpha1): it runs the pods of this template \
                     (spec.workloadRef).";
        for (items, want) in [
            (progressively.clone(), point),
            (
                [
                    of_objects,
                    vec![deployment("web", &json!({})), own_scale, other_hpa],
                ]
                .concat(),
                "Nothing to do: the HPA of-rollout scales Rollout/web, which runs the pods of this template.",
            ),
            (
                along_with(vec![deployment("web", &set_by("rollouts-controller"))]),
                "Leave it at 0: a Rollout runs its pods. Point scaleTargetRef at that Rollout.",
            ),
            (
                along_with(vec![owned]),
                "If it is meant to run, change App/web: it owns Deployment/web and may set its replicas.",
            ),
            // kubectl shows no writer by default.
            (
                along_with(vec![deployment("web", &owner)]),
                "If it is meant to run, change App/web: it owns Deployment/web and may set its replicas.",
            ),
            (
                along_with(vec![deployment("web", &set_by("kubectl")), scaled]),
                "Leave it: KEDA keeps it at 0 while no trigger is active.",
            ),
            (paused.clone(), "Follow the advice of paused-by-keda."),
        ] {
            let text = said(Code::SwitchedOff, &items);
            assert_eq!(text.advice.text(), want);
            assert!(
                !text.commands.iter().any(|it| it.contains("kubectl scale")),
                "{text:?}"
            );
        }
        let stated = said(Code::SwitchedOff, &progressively);
        let want = "spec.workloadRef.scaleDown of Rollout/web is progressively: Argo Rollouts scales that down as the \
                    Rollout scales up.";
        assert!(stated.evidence.iter().any(|it| it == want), "{stated:?}");
        // Flagger's pause is left alone.
        let text = said(Code::PausedByKeda, &paused);
        assert!(
            text.advice.text().starts_with("Leave it: Flagger"),
            "{text:?}"
        );
        assert!(
            !text.commands.iter().any(|it| it.contains("annotate")),
            "{text:?}"
        );
    }
}
