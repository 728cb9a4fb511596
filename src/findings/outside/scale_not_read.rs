//! The finding `scale-not-read`.

use super::grant_scale;
use crate::findings::last_pass::READ_SINCE;
use crate::findings::metrics::end;
use crate::findings::metrics::miss::RefusedRight;
use crate::findings::prelude::*;
use crate::snapshot::ScaleError;

/// The API server does not return the scale of the target, although nothing says that the target is missing: either the
/// input says so, or the last status says that the controller lacks the right.
///
/// Grant the controller the right to read the scale, or look at the component that serves the target's kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleNotRead {
    /// The message of the API server, or of the controller's client.
    pub error: String,
    /// Whether only the last pass says so, and the scale was read with other rights.
    pub is_last: bool,
}

/// The condition that says whether the scale could be read.
const ABLE: &str = "AbleToScale";

impl Kind for ScaleNotRead {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let is_missing = || case.found().any(|it| it.code() == Code::TargetNotFound);
        let (severity, error) = match &case.snapshot.scale {
            Err(ScaleError::Mapping(error) | ScaleError::Get(error)) if !is_missing() => {
                (Severity::Error, error)
            }
            Err(_) => return None,
            Ok(_) => {
                let condition = case.refused_in_last_pass(ABLE)?;
                (Severity::Warning, &condition.message)
            }
        };
        let facts = ScaleNotRead {
            error: error.clone(),
            is_last: severity == Severity::Warning,
        };
        Some(Finding::explaining(severity, facts))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let Some(right) = RefusedRight::read(&self.error) else {
            return format!(
                "the scale of {} cannot be read, so nothing can be computed: {}",
                about.reference(),
                end(&self.error)
            );
        };
        let RefusedRight {
            user,
            verb,
            resource,
        } = right;
        if self.is_last {
            format!("{user} could not {verb} {resource} in the last pass, so nothing was scaled")
        } else {
            format!("{user} cannot {verb} {resource}, so nothing can be computed")
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        if self.is_last {
            let says = about.last_says(ABLE).into_iter();
            return says.chain([READ_SINCE.to_owned()]).collect();
        }
        vec![format!("The error is: {}.", self.error)]
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(right) = RefusedRight::read(&self.error) {
            return grant_scale(about, &right);
        }
        let scale = about.kubectl_quoted("get", &about.target(), "--subresource=scale");
        Remedy::LookAtScale
            .says("Find out why the scale cannot be read.")
            .with(scale)
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        about.own_and_target()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::testing::{cpu, state, table, with_hpa};

    #[test]
    fn a_scale_that_the_api_server_does_not_return() {
        let refused = "deployments.apps \"web\" is forbidden: User \"hpa\" cannot get resource \
                       \"deployments/scale\" in API group \"apps\" in the namespace \"default\"";
        let states = [
            ("a right", refused),
            ("a failure", "etcdserver: request timed out"),
            ("a missing target", "deployments.apps \"web\" not found"),
        ];
        let states = states.map(|(name, message)| {
            let errors = json!({"errors": [{"api": "scale", "message": message}]});
            (name, vec![build::state(&errors), build::hpa(&json!({}))])
        });
        // The scale was read, but not by the controller.
        let read = |able: &str, reason: &str, message: &str| {
            let able = json!([{"type": "AbleToScale", "status": able, "reason": reason, "message": message,
                "lastTransitionTime": "2026-11-20T00:00:00Z"}]);
            let status = json!({"status": {"conditions": able}});
            with_hpa(&state(&[cpu()], &["90m"]), &status)
        };
        let last = [
            (
                "a right in the last pass",
                read("False", "FailedGetScale", refused),
            ),
            (
                "a failure in the last pass",
                read("False", "FailedGetScale", "timeout"),
            ),
            ("a right before", read("True", "SucceededGetScale", refused)),
        ];
        let states = states.into_iter().chain(last);
        insta::assert_snapshot!(table(Code::ScaleNotRead, states), @r#"
        a right: error, explains
            hpa cannot get deployments/scale, so nothing can be computed
            - The error is: deployments.apps "web" is forbidden: User "hpa" cannot get resource "deployments/scale" in API group "apps" in the namespace "default".
            > Grant the controller the right with a role and a binding.
            $ kubectl auth can-i get deployment/web -n default --subresource=scale --as=hpa
            @ hpa/web deployment/web
        a failure: error, explains
            the scale of Deployment/web cannot be read, so nothing can be computed: etcdserver: request timed out
            - The error is: etcdserver: request timed out.
            > Find out why the scale cannot be read.
            $ kubectl get deployment/web -n default --subresource=scale
            @ hpa/web deployment/web
        a missing target: none
        a right in the last pass: warning, explains
            hpa could not get deployments/scale in the last pass, so nothing was scaled
            - AbleToScale is False since 2026-11-20T00:00:00Z: deployments.apps "web" is forbidden: User "hpa" cannot get resource "deployments/scale" in API group "apps" in the namespace "default".
            - What this answer is made from may have been read with other rights, or the right was granted since.
            > Grant the controller the right with a role and a binding.
            $ kubectl auth can-i get deployment/web -n default --subresource=scale --as=hpa
            @ hpa/web deployment/web
        a failure in the last pass: none
        a right before: none
        "#);
    }
}
