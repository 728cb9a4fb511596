//! The finding `direction-disabled`.

use super::bound::{Bound, is_near};
use super::side::SideWords;
use super::{is_limited, limit, proposed, tried};
use crate::findings::prelude::*;

/// The metrics propose to scale in a direction whose `selectPolicy` is `Disabled`.
///
/// Remove `selectPolicy` if the HPA is meant to scale in this direction; at a bound, change the bound as well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirectionDisabled {
    /// The direction.
    pub direction: Direction,
    /// The replicas that are allowed and asked for, with the evidence against the metric that asks for them.
    pub limit: Bound,
    /// A wider bound that is needed as well, because the replicas are at the bound; `None` if they are not.
    pub wider: Option<i32>,
}

impl Kind for DirectionDisabled {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let limited = limit(case).filter(|it| it.is_only_disabled(case))?;
        let wider = limited.is_bound().then(|| limited.wider(case));
        let direction = limited.rate.as_ref()?.direction;
        let facts = DirectionDisabled {
            direction,
            limit: Bound::of(case, &limited),
            wider,
        };
        let without = case.without(|snapshot| {
            let spec = &mut snapshot.hpa.spec;
            spec.rules_mut(direction).select_policy = Some("Max".to_owned());
            if let Some(bound) = wider {
                spec.set_bound(direction, bound);
            }
        });
        Some(Finding::explaining(Severity::Info, facts).without(without))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        let Bound {
            asked,
            bound,
            metric,
            ..
        } = self.limit;
        let pause = about.first(|it| match &it.facts {
            Facts::PausedByKeda(pause) => pause.may_disable(self.direction),
            _ => false,
        });
        pause.or_else(|| about.prior(asked, bound, metric))
    }

    fn is_in_verdict(&self, decision: &Decision) -> bool {
        is_limited(decision, LimitStep::is_disabled)
    }

    fn summary(&self, about: &About<'_>) -> String {
        format!(
            "{}, but {} is Disabled, so the HPA never scales {} because of metrics",
            proposed(about, self.limit.asked),
            self.field(),
            self.direction
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let bound = self.wider.map_or_else(String::new, |bound| {
            format!(", and {} {bound}", self.direction.words().bound)
        });
        let default = format!("With the default, Max{bound}");
        let mut evidence = Vec::from_iter(about.result(&default));
        if self.direction == Direction::Down {
            // No longer window is valid.
            let window = "A stabilizationWindowSeconds of up to 3600 also keeps replicas, for that time only.";
            evidence.push(window.to_owned());
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        self.limit.unless_doubtful(about, || self.enable(about))
    }
}

impl DirectionDisabled {
    /// Returns the field that disables the direction.
    fn field(&self) -> String {
        format!("behavior.{}.selectPolicy", self.direction.words().rules)
    }

    /// Returns the advice to enable the direction.
    fn enable(&self, about: &About<'_>) -> Advice {
        let field = self.field();
        let SideWords {
            bound,
            flag,
            rules,
            change,
            further,
            ..
        } = self.direction.words();
        let mut patch = json!({ "behavior": { *rules: { "selectPolicy": null } } });
        let mut flags = format!("--set {field}=null");
        let mut removed = about.field(&field);
        if let Some(to) = self.wider {
            patch[*bound] = to.into();
            flags += &format!(" {flag} {to}");
            let also = if about.assumes(bound) {
                format!("assume a {further} {bound}")
            } else {
                format!("{change} {}", about.field(bound))
            };
            removed = format!("{} and {also}", about.field_name(&field));
        }
        let is_near = self.wider.is_none_or(|to| is_near(self.limit.bound, to));
        if !is_near {
            removed += " as far as nodes can carry it";
        }
        let commands = is_near.then(|| tried(about, &flags, &patch));
        Remedy::EnableDirection
            .says(format!("If that is not meant, remove {removed}."))
            .with_all(commands.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::find_except;
    use crate::findings::path::testing::{at_once, pods, queue_of};
    use crate::findings::testing::{pass, said, told, view, with_spec};

    /// If scaling in a direction is disabled, another bound would change nothing. It is still a bound that
    /// decides.
    #[test]
    fn at_a_bound_a_disabled_direction_comes_first() {
        let disabled = |items: &[Value], way: &str, bounds: &Value| {
            let rules = at_once(&json!({way: {"selectPolicy": "Disabled"}}));
            with_spec(items, &build::with(rules, bounds))
        };
        let most = |way: &str, max: i32| disabled(&pods("90m"), way, &json!({"maxReplicas": max}));
        let least = |way: &str| disabled(&pods("10m"), way, &json!({"minReplicas": 4}));
        let empty = queue_of(&build::average("10"), "0", 1);
        let (info, warning) = (Severity::Info, Severity::Warning);
        let (at_max, at_min, first) = (Code::AtMax, Code::AtMin, Code::DirectionDisabled);
        let is_first = |bound: Code| vec![(first, info, None), (bound, info, Some(first))];
        for (items, want) in [
            (most("scaleUp", 4), is_first(at_max)),
            (most("scaleDown", 4), vec![(at_max, warning, None)]),
            (most("scaleUp", 5), vec![(first, info, None)]),
            (least("scaleDown"), is_first(at_min)),
            (least("scaleUp"), vec![(at_min, info, None)]),
            // No lower bound is allowed.
            (
                disabled(&empty, "scaleDown", &json!({})),
                vec![(at_min, info, None)],
            ),
        ] {
            assert_eq!(told(&items), want);
        }
    }

    /// With scaling disabled, another bound is no remedy, whether or not a finding says so.
    #[test]
    fn a_bound_in_a_disabled_direction() {
        let spec = json!({"maxReplicas": 4, "behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
        let pass = pass(&with_spec(&pods("90m"), &spec));
        let told = |ignored: &[Code]| {
            let bound = view(Code::AtMax, &pass, &find_except(&pass, ignored));
            (bound.severity, bound.advice.text(), bound.commands.len())
        };
        let leave = "Leave it: with scaling disabled in this direction, another maxReplicas changes nothing.";
        let follow = "Follow the advice of direction-disabled.";
        assert_eq!(told(&[]), (Severity::Info, follow.to_owned(), 0));
        assert_eq!(
            told(&[Code::DirectionDisabled]),
            (Severity::Info, leave.to_owned(), 0)
        );
    }

    /// What is not advised at a maximum is not advised if the direction is disabled as well.
    #[test]
    fn a_disabled_direction_and_a_metric_that_is_in_doubt() {
        let both =
            "If that is not meant, remove behavior.scaleUp.selectPolicy and raise maxReplicas";
        let average = build::average("10");
        for (target, length, follows, commands, want) in [
            (&average, "60", None, 2, format!("{both}.")),
            (&average, "900", None, 0, format!("{both} as far as nodes can carry it.")),
            (
                &average,
                "-5",
                None,
                1,
                "Look at queue first: the API reports -5, and the controller takes a sum below 0 as the largest number."
                    .to_owned(),
            ),
            (
                &json!({"type": "Value", "value": "10"}),
                "60",
                Some(Code::ValueMultiplies),
                0,
                "Follow the advice of value-multiplies.".to_owned(),
            ),
        ] {
            let rules = at_once(&json!({"scaleUp": {"selectPolicy": "Disabled"}}));
            let items = with_spec(&queue_of(target, length, 4), &rules);
            let text = said(
                Code::DirectionDisabled,
                &with_spec(&items, &json!({"maxReplicas": 4})),
            );
            assert_eq!(text.advice.text(), want);
            assert_eq!((text.follows, text.commands.len()), (follows, commands), "{length}");
        }
    }

    /// At a bound, both have to change.
    #[test]
    fn a_disabled_direction_at_a_bound() {
        let at = |usage: &str, way: &str, spec: Value| {
            let rules = at_once(&json!({way: {"selectPolicy": "Disabled"}}));
            with_spec(&pods(usage), &build::with(rules, &spec))
        };
        for (items, advice, flags, patch, without) in [
            (
                at("90m", "scaleUp", json!({"maxReplicas": 4})),
                "If that is not meant, remove behavior.scaleUp.selectPolicy and raise maxReplicas.",
                "--set behavior.scaleUp.selectPolicy=null --max 8",
                json!({"behavior": {"scaleUp": {"selectPolicy": null}}, "maxReplicas": 8}),
                "With the default, Max, and maxReplicas 8: 8 replicas.",
            ),
            (
                at("10m", "scaleDown", json!({"minReplicas": 4})),
                "If that is not meant, remove behavior.scaleDown.selectPolicy and lower minReplicas.",
                "--set behavior.scaleDown.selectPolicy=null --min 1",
                json!({"behavior": {"scaleDown": {"selectPolicy": null}}, "minReplicas": 1}),
                "With the default, Max, and minReplicas 1: 1 replica.",
            ),
            (
                at("90m", "scaleUp", json!({"maxReplicas": 5})),
                "If that is not meant, remove behavior.scaleUp.selectPolicy.",
                "--set behavior.scaleUp.selectPolicy=null",
                json!({"behavior": {"scaleUp": {"selectPolicy": null}}}),
                "With the default, Max: a proposal of 8, and 5 replicas after stabilization and limits.",
            ),
        ] {
            let text = said(Code::DirectionDisabled, &items);
            assert_eq!(text.advice.text(), advice);
            assert_eq!(text.evidence[0], without);
            let has_window = text.evidence[1..]
                .iter()
                .any(|it| it.contains("up to 3600"));
            assert_eq!(has_window, flags.contains("scaleDown"));
            assert_eq!(
                text.commands,
                [
                    format!("kubectl hpa predict web -n default {flags}"),
                    format!(
                        "kubectl patch hpa web -n default --type=merge -p '{}'",
                        json!({"spec": patch})
                    ),
                ]
            );
        }
    }
}
