//! The finding `selector-missing`.

use super::selector_advice;
use crate::engine::decision::Block;
use crate::findings::prelude::*;

/// The scale of the target has no selector in its status, or a malformed one, so the controller cannot find the pods.
///
/// Make the operator of the kind write a selector to the path that `labelSelectorPath` of its CRD names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorMissing {
    /// The malformed selector; empty if it is missing.
    pub selector: String,
}

impl Kind for SelectorMissing {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let selector = &case.scale()?.selector;
        let is_usable = !selector.as_str().is_empty() && selector.parsed().is_ok();
        if is_usable || case.decision.block() != Some(Block::Selector) {
            return None;
        }
        let facts = SelectorMissing {
            selector: selector.as_str().to_owned(),
        };
        Some(Finding::explaining(Severity::Error, facts))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let target = about.reference();
        match &*self.selector {
            "" => format!("the scale of {target} has no selector, so the HPA cannot find its pods"),
            selector => format!("the selector of {target} cannot be read: {selector}"),
        }
    }

    fn evidence(&self, _: &About<'_>) -> Vec<String> {
        vec![
            "The controller takes the selector from status.selector of the scale, and looks \
             at no metric without it."
                .to_owned(),
        ]
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        selector_advice(about).with(about.show_selector())
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::findings::testing::{cpu, state, table, with};

    #[test]
    fn the_scale_has_no_selector() {
        let plain = state(&[cpu()], &["50m"]);
        let selects = |text: &str| with(&plain, "Scale", &json!({"status": {"selector": text}}));
        let states = [
            ("has one", plain.clone()),
            ("has none", selects("")),
            ("is unreadable", selects("a in")),
        ];
        insta::assert_snapshot!(table(Code::SelectorMissing, states), @r"
        has one: none
        has none: error, explains
            the scale of Deployment/web has no selector, so the HPA cannot find its pods
            - The controller takes the selector from status.selector of the scale, and looks at no metric without it.
            > Have Deployment/web select its pods.
            $ kubectl get deployment/web -n default --subresource=scale -o jsonpath='{.status.selector}'
            @ deployment/web
        is unreadable: error, explains
            the selector of Deployment/web cannot be read: a in
            - The controller takes the selector from status.selector of the scale, and looks at no metric without it.
            > Have Deployment/web select its pods.
            $ kubectl get deployment/web -n default --subresource=scale -o jsonpath='{.status.selector}'
            @ deployment/web
        ");
    }
}
