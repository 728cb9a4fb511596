//! The finding `selector-matches-nothing`.

use super::selector_advice;
use crate::apimachinery::selector::Selector;
use crate::findings::prelude::*;
use crate::snapshot::owners::TopOwner;

/// The target has replicas, but its selector matches no pod, or no pod that the target owns.
///
/// Make the operator of the kind write a selector that its pods match to the path that `labelSelectorPath` of its CRD
/// names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorMatchesNothing {
    /// The selector.
    pub selector: String,
    /// `status.replicas` of the scale: the number of pods according to the target.
    pub replicas: i32,
    /// Known pods that the target owns, by name.
    pub own: Vec<Box<str>>,
    /// The labels that the selector requires and the first of these pods lacks.
    pub lacking: Vec<UnmatchedLabel>,
    /// The pods of other owners that the selector matches, by name.
    pub others: Vec<Box<str>>,
}

impl Kind for SelectorMatchesNothing {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let scale = case.scale()?;
        if case.snapshot.pods_unread.is_some() {
            return None;
        }
        let is_answered = |index: usize| !case.snapshot.metrics[index].is_unread();
        let mut looked = case.metrics().filter(|step| case.spec(step).needs_pods());
        let is_known = looked.any(|step| is_answered(step.index));
        // Pods that are only assumed may lack a model.
        let observed = case.pass.input.as_observed().scale.as_ref().ok()?;
        let replicas = observed.status_replicas;
        if !is_known || scale.status_replicas <= 0 || replicas <= 0 {
            return None;
        }
        if case.pods().any(|pod| !case.is_foreign(pod)) {
            return None;
        }
        let mut own: Vec<&Pod> = case.snapshot.pods.iter().map(|pod| &**pod).collect();
        own.retain(|pod| case.top_owner(pod) == TopOwner::Target && pod.is_active());
        let others = pod_names(case.pods());
        if !others.is_empty() && own.is_empty() {
            return None;
        }
        let wanted = scale
            .selector
            .parsed()
            .map(Selector::example)
            .unwrap_or_default();
        let lacking = own.first().map_or_else(Vec::new, |pod| {
            let unmatched = wanted.iter().filter_map(|(key, wanted)| {
                let found = pod.labels.get(key);
                let lacking = UnmatchedLabel {
                    key: key.into(),
                    wanted: wanted.into(),
                    found: found.map(Into::into),
                };
                (found != Some(wanted)).then_some(lacking)
            });
            unmatched.collect()
        });
        let facts = SelectorMatchesNothing {
            selector: scale.selector.as_str().to_owned(),
            replicas,
            own: pod_names(own),
            lacking,
            others,
        };
        let severity = match case.decision.block() {
            Some(_) => Severity::Error,
            None => Severity::Warning,
        };
        Some(Finding::explaining(severity, facts))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let target = about.reference();
        if self.others.is_empty() {
            let replicas = count(self.replicas, "replica");
            format!("the selector of {target} matches no pod, although it says it has {replicas}")
        } else {
            format!("the selector of {target} matches none of its pods, but those of others")
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = vec![format!("Selector: {}.", self.selector)];
        if !self.own.is_empty() {
            let target = about.reference();
            evidence.push(format!("Pods of {target}: {}.", names(&self.own)));
        }
        for UnmatchedLabel { key, wanted, found } in &self.lacking {
            evidence.push(match found {
                Some(found) => format!("They have {key}={found} instead of {key}={wanted}."),
                None => format!("They have no label {key}, which must be {wanted}."),
            });
        }
        if !self.others.is_empty() {
            evidence.push(format!(
                "It matches pods of others: {}.",
                names(&self.others)
            ));
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        selector_advice(about).with_all([
            about.show_selector(),
            about.kubectl_quoted("get", "pods", "--show-labels"),
        ])
    }
}

/// A label that a pod lacks or has with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedLabel {
    /// The key.
    pub key: Box<str>,
    /// The required value.
    pub wanted: Box<str>,
    /// The actual value.
    pub found: Option<Box<str>>,
}

#[cfg(test)]
mod tests {

    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::owners::testing::of_set;
    use crate::findings::testing::{cpu, state, table, with, with_pod, with_spec};

    #[test]
    fn the_selector_matches_nothing() {
        let plain = with_pod(&state(&[cpu()], &["50m"]), "web-0", &of_set("web", "1a2b"));
        let selects = |text: &str| with(&plain, "Scale", &json!({"status": {"selector": text}}));
        let strange = selects("app=web,tier=front");
        let none = with(&strange, "Scale", &json!({"status": {"replicas": 0}}));
        // Objects without a ControllerState may be incomplete.
        let mut unread = strange.clone();
        unread.retain(|item| item["kind"] != "Pod" && item["kind"] != "ControllerState");
        // These metrics fail before any pod is read.
        let unreadable = json!({"type": "Pods", "pods": {"target": build::average("5"), "metric": {"name": "rps",
            "selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}}});
        let failing = |metric: &Value| with_spec(&unread, &json!({ "metrics": [metric] }));
        let states = [
            ("matches", plain.clone()),
            ("does not", strange),
            ("has nothing to match", none),
            (
                "has pods that were not read, and a metric whose selector is invalid",
                failing(&unreadable),
            ),
            (
                "has pods that were not read, and a metric of an unknown type",
                failing(&json!({"type": "Near"})),
            ),
            ("has pods that were not read", unread.clone()),
        ];
        insta::assert_snapshot!(table(Code::SelectorMatchesNothing, states), @r"
        matches: none
        does not: error, explains
            the selector of Deployment/web matches no pod, although it says it has 1 replica
            - Selector: app=web,tier=front.
            - Pods of Deployment/web: web-0.
            - They have no label tier, which must be front.
            > Have Deployment/web select its pods.
            $ kubectl get deployment/web -n default --subresource=scale -o jsonpath='{.status.selector}'
            $ kubectl get pods -n default --show-labels
            @ deployment/web
        has nothing to match: none
        has pods that were not read, and a metric whose selector is invalid: none
        has pods that were not read, and a metric of an unknown type: none
        has pods that were not read: none
        ");
    }
}
