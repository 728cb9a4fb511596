//! Findings about the selector of the target, and the owners of the pods that it matches.

pub mod foreign_pods;
pub mod old_revision_pods;
pub mod selector_matches_nothing;
pub mod selector_missing;
pub mod shared_pods;
#[cfg(test)]
pub(crate) mod testing;

use crate::findings::prelude::*;

/// Returns the advice on a selector that does not select the pods of the target.
fn selector_advice(about: &About<'_>) -> Advice {
    match about.hpa.spec.scale_target_ref.group() {
        "" | "apps" => {
            Remedy::SelectOwn.says(format!("Have {} select its pods.", about.reference()))
        }
        _ => Remedy::SelectOwn
            .says("Report it to the authors of its operator, or scale another object."),
    }
}

impl About<'_> {
    /// Returns a command that shows the selector of the scale.
    fn show_selector(&self) -> Command {
        let selector = "--subresource=scale -o jsonpath='{.status.selector}'";
        self.kubectl_quoted("get", &self.target(), selector)
    }
}
