//! The finding `scale-not-read`.

use super::grant_scale;
use crate::findings::metrics::end;
use crate::findings::metrics::miss::RefusedRight;
use crate::findings::prelude::*;
use crate::snapshot::ScaleError;

/// The API server does not return the scale of the target, although nothing says that the target is missing.
///
/// Grant the controller the right to read it, or look at what serves the kind of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleNotRead {
    /// The API server's message.
    pub error: String,
}

impl Kind for ScaleNotRead {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let (Err(ScaleError::Mapping(error) | ScaleError::Get(error)), false) = (
            &case.snapshot().scale,
            case.found().any(|it| it.code() == Code::TargetNotFound),
        ) else {
            return None;
        };
        let facts = ScaleNotRead {
            error: error.clone(),
        };
        Some(Finding::explaining(Severity::Error, facts))
    }

    fn summary(&self, about: &About<'_>) -> String {
        format!(
            "the scale of {} cannot be read, so nothing can be computed: {}",
            about.reference(),
            end(&self.error)
        )
    }

    fn evidence(&self, _: &About<'_>) -> Vec<String> {
        vec![format!("The API server says: {}.", self.error)]
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(right) = RefusedRight::read(&self.error) {
            return grant_scale(about, &right);
        }
        let scale = about.kubectl_quoted("get", &about.target(), "--subresource=scale");
        Remedy::LookAtScale
            .says("Find out why the API server does not return the scale.")
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
    use crate::findings::testing::table;

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
        insta::assert_snapshot!(table(Code::ScaleNotRead, states), @r#"
        a right: error, explains
            the scale of Deployment/web cannot be read, so nothing can be computed: … "deployments/scale" in API group "apps" in the namespace "default"
            - The API server says: deployments.apps "web" is forbidden: User "hpa" cannot get resource "deployments/scale" in API group "apps" in the namespace "default".
            > Grant the controller the right with a role and a binding.
            $ kubectl auth can-i get deployment/web -n default --subresource=scale --as=hpa
            @ hpa/web deployment/web
        a failure: error, explains
            the scale of Deployment/web cannot be read, so nothing can be computed: etcdserver: request timed out
            - The API server says: etcdserver: request timed out.
            > Find out why the API server does not return the scale.
            $ kubectl get deployment/web -n default --subresource=scale
            @ hpa/web deployment/web
        a missing target: none
        "#);
    }
}
