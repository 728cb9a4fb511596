//! The tools that create objects from a separate source, and so undo changes in the cluster. They are
//! recognized by their field managers, labels and annotations.

use super::annotations::ARGO_CD_TRACKING;
use super::managed_fields::ManagedFieldsEntry;
use super::selector::Labels;

/// A tool that writes objects from charts, manifests or programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Argo CD.
    ArgoCd,
    /// Flux, from manifests.
    Flux,
    /// Flux, from a HelmRelease.
    FluxHelm,
    /// Helm.
    Helm,
    /// Terraform or OpenTofu.
    Terraform,
    /// Pulumi.
    Pulumi,
}

/// The prefixes of their field managers' names, in lower case. Tools that let another tool of this list
/// render their manifests come first.
const MANAGERS: [(&str, Tool); 7] = [
    ("argocd", Tool::ArgoCd),
    ("kustomize-controller", Tool::Flux),
    ("flux", Tool::Flux),
    ("terraform", Tool::Terraform),
    ("pulumi", Tool::Pulumi),
    ("helm-controller", Tool::FluxHelm),
    ("helm", Tool::Helm),
];

/// The labels and annotations that the tools set, in the same order.
const MARKS: [(&str, Tool); 5] = [
    (ARGO_CD_TRACKING, Tool::ArgoCd),
    ("argocd.argoproj.io/instance", Tool::ArgoCd),
    ("kustomize.toolkit.fluxcd.io/name", Tool::Flux),
    ("helm.toolkit.fluxcd.io/name", Tool::FluxHelm),
    ("helm.sh/chart", Tool::Helm),
];

/// The label with the name of the tool.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

impl Tool {
    /// Returns the tool with a field manager.
    pub fn of_manager(manager: &str) -> Option<Self> {
        let lowercase = manager.to_lowercase();
        MANAGERS
            .iter()
            .find(|(start, _)| lowercase.starts_with(start))
            .map(|(_, tool)| *tool)
    }

    /// Returns the tool that writes an object other than through a subresource.
    pub fn of_managed(managed: &[ManagedFieldsEntry]) -> Option<Self> {
        let writers: Vec<Self> = managed
            .iter()
            .filter(|entry| !entry.is_of_status() && !entry.is_of_scale())
            .filter_map(|entry| Self::of_manager(&entry.manager))
            .collect();
        MANAGERS
            .iter()
            .map(|(_, tool)| *tool)
            .find(|tool| writers.contains(tool))
    }

    /// Returns the tool that has labelled an object.
    pub fn of_labels(labels: &Labels) -> Option<Self> {
        let named = || Self::of_manager(labels.get(MANAGED_BY)?);
        Self::of_marks(|key| labels.get(key).is_some()).or_else(named)
    }

    /// Returns the tool that has marked an object with one of some keys.
    pub(crate) fn of_marks(has: impl Fn(&str) -> bool) -> Option<Self> {
        let mark = MARKS.iter().find(|(key, _)| has(key));
        mark.map(|(_, tool)| *tool)
    }

    /// Returns the usual name of the tool's field manager.
    pub(crate) fn manager(self) -> &'static str {
        match self {
            Self::ArgoCd => "argocd-controller",
            Self::Flux => "kustomize-controller",
            Self::FluxHelm => "helm-controller",
            Self::Helm => "helm",
            Self::Terraform => "Terraform",
            Self::Pulumi => "pulumi-kubernetes",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::metadata::Metadata;
    use super::Tool::{self, ArgoCd, Flux, FluxHelm, Helm, Pulumi, Terraform};

    /// The first entries are those of real clusters.
    #[test]
    fn tools_are_recognized_by_what_they_write() {
        let table = [
            (&["helm"][..], json!({}), Some(Helm)),
            (&["Helm"], json!({}), Some(Helm)),
            (&["helm-controller"], json!({}), Some(FluxHelm)),
            (&["kustomize-controller"], json!({}), Some(Flux)),
            (&["Terraform"], json!({}), Some(Terraform)),
            (
                &["terraform-provider-helm_v2.9.0_x5"],
                json!({}),
                Some(Terraform),
            ),
            (&["pulumi-kubernetes-1a2b3c4d"], json!({}), Some(Pulumi)),
            // Argo CD renders charts, with the labels of Helm.
            (
                &["argocd-controller"],
                json!({"app.kubernetes.io/managed-by": "Helm"}),
                Some(ArgoCd),
            ),
            (&["kubectl-edit", "helm"], json!({}), Some(Helm)),
            (
                &[],
                json!({"app.kubernetes.io/managed-by": "Helm"}),
                Some(Helm),
            ),
            (
                &[],
                json!({"helm.sh/chart": "web-1", "argocd.argoproj.io/instance": "a"}),
                Some(ArgoCd),
            ),
            (
                &[],
                json!({"kustomize.toolkit.fluxcd.io/name": "apps"}),
                Some(Flux),
            ),
            (
                &[],
                json!({"app.kubernetes.io/managed-by": "keda-operator"}),
                None,
            ),
            (
                &["kubectl-client-side-apply"],
                json!({"app.kubernetes.io/instance": "web"}),
                None,
            ),
        ];
        for (managers, labels, want) in table {
            let about = format!("{managers:?} {labels}");
            let managed: Vec<_> = managers.iter().map(|it| json!({"manager": it})).collect();
            let metadata = json!({"name": "web", "labels": labels, "managedFields": managed});
            let metadata: Metadata = serde_json::from_value(metadata).unwrap();
            assert_eq!(metadata.tool(), want, "{about}");
        }
        let of_status = json!({"managedFields": [{"manager": "helm", "subresource": "status"}]});
        let metadata: Metadata = serde_json::from_value(of_status).unwrap();
        assert_eq!(metadata.tool(), None);
        let tracked = json!({"labels": {"helm.sh/chart": "web-1"},
            "annotations": {"argocd.argoproj.io/tracking-id": "web:apps/Deployment:shop/web"}});
        let metadata: Metadata = serde_json::from_value(tracked).unwrap();
        assert_eq!(metadata.tool(), Some(ArgoCd));
        for tool in [ArgoCd, Flux, FluxHelm, Helm, Terraform, Pulumi] {
            assert_eq!(Tool::of_manager(tool.manager()), Some(tool));
        }
    }
}
