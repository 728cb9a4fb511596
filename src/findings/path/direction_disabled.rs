//! The finding `direction-disabled`.

use serde_json::{Map, json};

use super::{Limited, limit, proposed, rules, tried, verb};
use crate::engine::decision::Direction;
use crate::findings::{
    About, Before, Case, Code, Facts, Finding, Kind, Others, Rank, Remedy, Severity, Text,
};

/// The direction in which the metrics propose to scale is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectionDisabled {
    /// The direction.
    pub direction: Direction,
    /// The replicas after stabilization.
    pub desired: i32,
    /// What is allowed.
    pub result: i32,
    /// Another value of the bound, if the replicas are at it, which would keep them there as well.
    pub bound: Option<i32>,
}

impl Kind for DirectionDisabled {
    type Hits = Option<Finding>;

    const CODE: &'static str = "direction-disabled";
    const WHEN: &'static str =
        "The metrics propose to scale in a direction whose `selectPolicy` is `Disabled`.";
    const REMEDY: &'static str = "Remove `selectPolicy` if the HPA is meant to scale in this direction; at a bound, change that as \
             well.";
    const RANK: Rank = Rank::Rule;

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let limited = limit(case).filter(|it| it.is_only_disabled(case))?;
        let bound = limited.is_bound().then(|| limited.wider(case));
        let Limited {
            desired,
            result,
            rate,
            ..
        } = limited;
        let direction = rate?.direction;
        let facts = DirectionDisabled {
            direction,
            desired,
            result,
            bound,
        };
        let without = case.without(|snapshot| {
            let spec = &mut snapshot.hpa.spec;
            let rules = spec.behavior.as_mut().and_then(|rules| match direction {
                Direction::Up => rules.scale_up.as_mut(),
                Direction::Down => rules.scale_down.as_mut(),
            });
            if let Some(rules) = rules {
                rules.select_policy = Some("Max".to_owned());
            }
            match (bound, direction) {
                (Some(bound), Direction::Up) => spec.max_replicas = bound,
                (Some(bound), Direction::Down) => spec.min_replicas = Some(bound),
                (None, _) => {}
            }
        });
        Some(Finding::explaining(Severity::Info, facts).without(without))
    }

    fn cause(&self, others: &Others<'_>) -> Option<Code> {
        others.first(|it| match &it.facts {
            Facts::PausedByKeda(pause) => pause.may_disable(self.direction),
            _ => false,
        })
    }

    fn text(&self, about: &About<'_>) -> Text {
        let direction = self.direction;
        let field = format!("behavior.{}.selectPolicy", rules(direction));
        let (bound, flag, change, further) = match direction {
            Direction::Up => ("maxReplicas", "--max", "raise", "higher"),
            Direction::Down => ("minReplicas", "--min", "lower", "lower"),
        };
        let behavior = json!({ rules(direction): { "selectPolicy": null } });
        let mut patch = Map::from_iter([("behavior".to_owned(), behavior)]);
        let mut flags = format!("--set {field}=null");
        let (mut policy, mut all) = ("the default, Max".to_owned(), about.field(&field));
        if let Some(to) = self.bound {
            patch.insert(bound.to_owned(), to.into());
            flags += &format!(" {flag} {to}");
            policy += &format!(", and {bound} {to}");
            let change = if about.assumes(bound) {
                format!("assume a {further} {bound}")
            } else {
                format!("{change} {}", about.field(bound))
            };
            all = format!("{} and {change}", about.field_name(&field));
        }
        let without = about
            .without()
            .map(|without| format!("With {policy}: {without}."));
        let mut evidence = Vec::from_iter(without);
        if direction == Direction::Down {
            // No longer window is valid.
            let window = "A stabilizationWindowSeconds of up to 3600 also keeps replicas, for that time only.";
            evidence.push(window.to_owned());
        }
        Text {
            summary: format!(
                "{}, but {field} is Disabled, so the HPA never scales {}",
                proposed(about, self.desired),
                verb(direction)
            ),
            evidence,
            advice: Remedy::EnableDirection.says(format!("If that is not meant, remove {all}.")),
            commands: tried(about, &flags, &patch.into()),
            objects: about.own(),
        }
    }
}
