//! The finding `paused-by-keda`.

use crate::apimachinery::annotations::{
    KEDA_PAUSED, KEDA_PAUSED_REPLICAS, KEDA_PAUSED_SCALE_IN, KEDA_PAUSED_SCALE_OUT,
};
use crate::findings::path::primary;
use crate::findings::prelude::*;
use crate::snapshot::surroundings::ScaledObject;

/// An annotation of the ScaledObject pauses KEDA, in both directions or in one. KEDA removes the HPA of a ScaledObject
/// that is paused altogether; before 2.20, it keeps the HPA if `paused-replicas` is set, with both bounds at that
/// number.
///
/// Remove the annotation from the ScaledObject, unless it is there on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedByKeda {
    /// The name of the ScaledObject.
    pub object: String,
    /// The annotations that pause KEDA; empty if the ScaledObject was not read.
    pub annotations: Vec<&'static str>,
    /// The directions that are disabled in the HPA.
    pub disabled: Vec<Direction>,
    /// The replicas to which KEDA pauses the target with the bounds of the HPA, as old versions do.
    pub fixed: Option<i32>,
    /// Whether the pause is Flagger's, which runs another workload between releases.
    pub by_flagger: bool,
}

impl Kind for PausedByKeda {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let hpa = &case.snapshot.hpa;
        let owner = hpa.scaled_object()?;
        let object = case.scaled_object();
        let whole = object.map(ScaledObject::pauses).unwrap_or_default();
        let sides = [KEDA_PAUSED_SCALE_IN, KEDA_PAUSED_SCALE_OUT].into_iter();
        let set = sides.filter(|side| object.is_some_and(|it| it.is_set(side)));
        let annotations: Vec<&'static str> = whole.iter().copied().chain(set).collect();
        let mut disabled = Vec::from(Direction::BOTH);
        disabled.retain(|side| hpa.spec.is_disabled(*side));
        // A ScaledObject may state `selectPolicy` itself.
        if annotations.is_empty() && (object.is_some() || disabled.is_empty()) {
            return None;
        }
        let bounds = (hpa.spec.min_replicas, hpa.spec.max_replicas);
        let fixed = object
            .and_then(ScaledObject::paused_replicas)
            // An HPA cannot have 0.
            .map(|replicas| replicas.max(1))
            .filter(|replicas| bounds == (Some(*replicas), *replicas));
        let by_flagger = !whole.is_empty()
            && object.is_some_and(|it| it.is_written_by_flagger() || primary(case).is_some());
        let facts = PausedByKeda {
            object: owner.name.clone(),
            annotations,
            disabled,
            fixed,
            by_flagger,
        };
        let without = case.other_answer(|snapshot| {
            let paused = facts.disabled.iter().filter(|it| facts.may_disable(**it));
            for direction in paused {
                snapshot.hpa.spec.rules_mut(*direction).select_policy = None;
            }
        });
        // One direction is paused on purpose, and the HPA still works in the other.
        let severity = if by_flagger || !facts.is_whole() {
            Severity::Info
        } else {
            Severity::Warning
        };
        // If the pause is whole, the target stays as KEDA left it, until KEDA has removed the HPA.
        let explains = facts.is_whole() || without.is_some();
        Some(Finding::new(severity, explains, facts).without(without))
    }

    fn summary(&self, _: &About<'_>) -> String {
        let object = format!("ScaledObject/{}", self.object);
        let directions = self.directions().join(" and ");
        let annotations = list(&self.annotations);
        match (self.annotations.is_empty(), directions.is_empty()) {
            (true, _) => format!(
                "KEDA owns this HPA and has disabled scaling {directions}, as it does where \
                 {object} is paused"
            ),
            (false, true) => format!("{object} is paused by {annotations}"),
            (false, false) => {
                format!("{object} is paused by {annotations}, so scaling {directions} is disabled")
            }
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        let disabled = self.disabled.iter();
        let fields: Vec<String> = disabled
            .map(|direction| format!("spec.behavior.{}.selectPolicy", direction.words().rules))
            .collect();
        if !fields.is_empty() {
            let verb = one_or_many(fields.len(), "is", "are");
            evidence.push(format!("In the HPA, {} {verb} Disabled.", list(&fields)));
        }
        if self.annotations.is_empty() {
            let same = "A selectPolicy in the ScaledObject has the same effect.";
            evidence.push(same.to_owned());
        }
        match self.fixed {
            Some(replicas) => evidence.push(format!(
                "Before 2.20, KEDA sets minReplicas and maxReplicas of its HPA to {replicas} for this; newer \
                 versions delete the HPA."
            )),
            None if self.is_whole() => evidence.push(
                "KEDA deletes the HPA of a ScaledObject that is paused; this one is still there."
                    .to_owned(),
            ),
            None => {}
        }
        evidence.extend(about.result("Without the pause"));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if self.by_flagger {
            return Remedy::LeaveToFlagger
                .says("Leave it: Flagger pauses it between releases, and runs the primary instead.")
                .with(about.kubectl_quoted("get", "canaries.flagger.app", ""));
        }
        if self.annotations.is_empty() {
            let directions = self.directions().into_iter();
            let keys: Vec<String> = directions.map(|it| format!("paused-scale-{it}")).collect();
            return Remedy::EndPause
                .says(format!(
                    "Remove autoscaling.keda.sh/{}, if set.",
                    keys.join(" and ")
                ))
                .with(about.kubectl_for("get scaledobject", &self.object, "-o yaml"));
        }
        let advice = Remedy::EndPause.says(match self.annotations.len() {
            1 if !self.is_whole() => format!(
                "Nothing to do if that is on purpose; if not, remove the annotation from ScaledObject/{}.",
                self.object
            ),
            1 => format!("Remove the annotation from ScaledObject/{}.", self.object),
            _ => format!("Remove the annotations from ScaledObject/{}.", self.object),
        });
        let annotations = self.annotations.iter();
        advice.with_all(annotations.map(|annotation| {
            let change = format!("{annotation}-");
            let command = about.kubectl_for("annotate scaledobject", &self.object, &change);
            command.editing(Edited::ScaledObject)
        }))
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        let mut objects = vec![format!("scaledobject/{}", self.object)];
        if !self.by_flagger {
            objects.extend(about.own());
        }
        objects
    }
}

impl PausedByKeda {
    /// Returns the directions that the pause disables, in KEDA's words.
    fn directions(&self) -> Vec<&'static str> {
        let disabled = self.disabled.iter();
        disabled
            .filter(|direction| self.may_disable(**direction))
            .map(|direction| match direction {
                Direction::Up => "out",
                Direction::Down => "in",
            })
            .collect()
    }

    /// Whether the annotations pause both directions.
    pub(crate) fn is_whole(&self) -> bool {
        self.annotations
            .iter()
            .any(|it| [KEDA_PAUSED, KEDA_PAUSED_REPLICAS].contains(it))
    }

    /// Whether the pause disables a direction, or may do so if the ScaledObject was not read.
    pub(crate) fn may_disable(&self, direction: Direction) -> bool {
        let annotation = match direction {
            Direction::Up => KEDA_PAUSED_SCALE_OUT,
            Direction::Down => KEDA_PAUSED_SCALE_IN,
        };
        self.annotations.is_empty() || self.annotations.contains(&annotation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::Code;
    use crate::findings::outside::testing::unknown_memory;
    use crate::findings::testing::{
        cpu, input, of_keda, only_of, owned_by_keda, said, state, with_spec,
    };

    const OUT: &str = "autoscaling.keda.sh/paused-scale-out";
    const WHOLE: &str = "autoscaling.keda.sh/paused";
    const REPLICAS: &str = "autoscaling.keda.sh/paused-replicas";

    /// Returns a ScaledObject with these annotations.
    fn annotated(annotations: &Value) -> Value {
        json!({"metadata": {"annotations": annotations}})
    }

    #[test]
    fn a_scaled_object_that_is_paused() {
        let disabled = json!({"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
        let busy = |cpu: &str| state(&[self::cpu()], &[cpu; 4]);
        let of = |cpu: &str, annotations: Value| {
            of_keda(&with_spec(&busy(cpu), &disabled), &annotated(&annotations))
        };
        let own = build::scaled_object("web", &annotated(&json!({OUT: "true"})));
        let plain = [with_spec(&busy("100m"), &disabled), vec![own]].concat();
        let unread = owned_by_keda(&with_spec(&busy("100m"), &disabled));
        let both = json!({WHOLE: "true", REPLICAS: "4"});
        for (items, want) in [
            (of("100m", json!({OUT: "true"})), Some((true, vec![OUT]))),
            // Each of the two that pause it as a whole has to go.
            (of("50m", both), Some((true, vec![REPLICAS, WHOLE]))),
            // It explains nothing if the metrics do not ask for more.
            (of("50m", json!({OUT: "true"})), Some((false, vec![OUT]))),
            (unread, Some((true, vec![]))),
            // As a whole it explains what the target has, whatever the metrics ask for.
            (of("50m", json!({WHOLE: "true"})), Some((true, vec![WHOLE]))),
            (of("50m", json!({WHOLE: "false"})), None),
            // Its own behavior.
            (of("100m", json!({OUT: "false"})), None),
            (owned_by_keda(&busy("100m")), None),
            (plain, None),
        ] {
            let got = only_of::<PausedByKeda>(&items).map(|(facts, it)| {
                let severity = if facts.is_whole() {
                    Severity::Warning
                } else {
                    Severity::Info
                };
                assert_eq!(it.severity, severity);
                assert_eq!(
                    (&*facts.object, &facts.disabled[..]),
                    ("web", &[Direction::Up][..])
                );
                (it.explains, facts.annotations)
            });
            assert_eq!(got, want);
        }
        // A pause of everything disables no direction: that is the ScaledObject's own policy, or another pause.
        let out = "paused and autoscaling.keda.sh/paused-scale-out, so scaling out is disabled";
        for (annotations, want, is_told) in [
            (json!({WHOLE: "true"}), "paused", false),
            (json!({WHOLE: "true", OUT: "true"}), out, true),
        ] {
            let text = said(Code::PausedByKeda, &of("100m", annotations));
            let want = format!("ScaledObject/web is paused by autoscaling.keda.sh/{want}");
            assert_eq!(text.summary, want);
            let result = |it: &String| it.starts_with("Without the pause");
            assert_eq!(text.evidence.iter().any(result), is_told);
        }
    }

    /// With `paused-replicas`, KEDA before 2.20 keeps the HPA, with both bounds at that number, and at least 1.
    #[test]
    fn replicas_that_keda_fixes_with_the_bounds() {
        let fixed = |annotations: Value, least: i32, most: i32| {
            let bounds = json!({"minReplicas": least, "maxReplicas": most});
            let items = with_spec(&state(&[cpu()], &["50m"; 3]), &bounds);
            let items = of_keda(&items, &annotated(&annotations));
            let (facts, _) = only_of::<PausedByKeda>(&items).expect("a pause");
            facts.fixed
        };
        assert_eq!(fixed(json!({REPLICAS: "3"}), 3, 3), Some(3));
        assert_eq!(fixed(json!({REPLICAS: "0"}), 1, 1), Some(1));
        assert_eq!(fixed(json!({REPLICAS: "3"}), 1, 3), None);
        assert_eq!(fixed(json!({REPLICAS: "2"}), 3, 3), None);
        assert_eq!(fixed(json!({WHOLE: "true"}), 3, 3), None);
    }

    #[test]
    fn an_hpa_that_keda_has_taken_away() {
        let object = |name: &str, annotations: Value| {
            let more = json!({"metadata": {"namespace": "shop", "annotations": annotations}});
            build::scaled_object(name, &more)
        };
        let other = build::with(
            object("other", json!({WHOLE: "true"})),
            &json!({"spec": {"scaleTargetRef": {"name": "other"}}}),
        );
        for (object, want) in [
            (
                object("web", json!({WHOLE: "true"})),
                Some("ScaledObject/web has the annotation autoscaling.keda.sh/paused=true,"),
            ),
            (
                object("for-web", json!({REPLICAS: "0"})),
                Some("scaledobject for-web -n shop autoscaling.keda.sh/paused-replicas-`"),
            ),
            (
                object("web", json!({WHOLE: "true", REPLICAS: "0"})),
                Some(
                    "scaledobject web -n shop autoscaling.keda.sh/paused-replicas- autoscaling.keda.sh/paused-`",
                ),
            ),
            (object("web", json!({WHOLE: "false"})), None),
            (object("web", json!({KEDA_PAUSED_SCALE_IN: "true"})), None),
            (other, None),
        ] {
            let hint = input(&[unknown_memory(), object.clone()])
                .expect_err("no HPA")
                .hint
                .unwrap_or_default();
            let told = want
                .is_some_and(|want| hint.starts_with("paused-by-keda: ") && hint.contains(want));
            assert_eq!(told, want.is_some(), "{object}: {hint}");
            assert_eq!(
                hint.contains("paused-by-keda"),
                want.is_some(),
                "{object}: {hint}"
            );
        }
    }
}
