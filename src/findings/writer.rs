//! The writer of a target's replicas, judging by its field managers.

use crate::apimachinery::managed_fields::ManagedFieldsEntry;
use crate::apimachinery::tool::Tool;

/// The ways in which replicas are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The scale subresource, by a person, as with `kubectl scale`.
    Scale,
    /// The scale subresource, by another autoscaler.
    Autoscaler,
    /// The object itself, by a person, as with `kubectl edit` or `kubectl create`.
    Hand,
    /// A manifest applied by Argo CD.
    ArgoCd,
    /// A manifest of a Helm release.
    Helm,
    /// A manifest applied by Flux.
    Flux,
    /// A manifest applied by `kubectl apply`.
    Apply,
    /// A manifest given to `kubectl replace`.
    Replace,
    /// A manifest that the API server applies, as for `kubectl apply --server-side`.
    ServerSide,
    /// Any other program.
    Program,
}

impl By {
    /// Whether the writer is likely to set the replicas again, unlike a person.
    pub(crate) fn repeats(self) -> bool {
        !matches!(self, Self::Scale | Self::Hand)
    }

    /// Whether the writer applies a manifest.
    pub(super) fn is_of_manifest(self) -> bool {
        matches!(
            self,
            Self::ArgoCd | Self::Helm | Self::Flux | Self::Apply | Self::Replace | Self::ServerSide
        )
    }
}

/// Managers of the scale subresource, other than kubectl, that a person uses.
const BY_HAND: [&str; 6] = [
    "oc",
    "k9s",
    "node-fetch",
    "dashboard",
    "Mozilla",
    "headlamp",
];

fn is_kubectl(manager: &str) -> bool {
    manager == "kubectl" || manager.starts_with("kubectl-")
}

/// Returns how the replicas were set.
pub(super) fn by(entry: &ManagedFieldsEntry) -> By {
    match &*entry.manager {
        name if entry.is_of_scale() => {
            if BY_HAND.contains(&name) || is_kubectl(name) {
                By::Scale
            } else {
                By::Autoscaler
            }
        }
        name => match Tool::of_manager(name) {
            Some(Tool::ArgoCd) => By::ArgoCd,
            Some(Tool::Helm | Tool::FluxHelm) => By::Helm,
            Some(Tool::Flux) => By::Flux,
            _ if entry.is_applied() => By::ServerSide,
            Some(Tool::Terraform | Tool::Pulumi) => By::Program,
            None if name == "kubectl-client-side-apply" => By::Apply,
            None if name == "kubectl-replace" => By::Replace,
            None if is_kubectl(name) => By::Hand,
            None => By::Program,
        },
    }
}
