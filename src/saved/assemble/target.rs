//! The target of an HPA among saved objects: the result of the controller's request for its scale, in the API server's
//! words if the target does not exist.

use jiff::Timestamp;

use super::once;
use super::requests::{ApiRequests, Groups, group, grouped};
use crate::apimachinery::go;
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::names;
use crate::error::Error;
use crate::saved::file;
use crate::saved::objects::{ListedKind, Objects};
use crate::saved::state::Api;
use crate::saved::wire::ScaleObject;
use crate::snapshot::basis::Basis;
use crate::snapshot::evidence::Counted;
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa};
use crate::snapshot::surroundings::Workload;
use crate::snapshot::{MissingTarget, Scale, ScaleError};

/// The objects in which the target's scale is looked up.
pub(super) struct ScaleLookup<'o> {
    scales: Groups<'o, &'o ScaleObject>,
    workloads: Groups<'o, &'o Workload>,
    /// The kinds of workloads that the input lists.
    listed: Vec<&'o ListedKind>,
    default_namespace: &'o str,
    /// Whether objects missing in the input did not exist.
    is_complete: bool,
    /// Whether the workloads are those of a cluster.
    is_cluster: bool,
}

impl<'o> ScaleLookup<'o> {
    /// Returns a lookup among all objects.
    pub(super) fn of(objects: &'o Objects, default_namespace: &'o str) -> Self {
        let Objects {
            scales,
            workloads,
            listed_workloads,
            state,
            ..
        } = objects;
        Self {
            listed: listed_workloads.iter().collect(),
            scales: grouped(scales, |it| &it.metadata.name),
            workloads: grouped(workloads, |it| &it.metadata.name),
            default_namespace,
            is_complete: state.is_some(),
            is_cluster: false,
        }
    }

    /// Returns a lookup of an HPA's target among the workloads of a cluster.
    fn among(workloads: &'o [Workload], hpa: &'o Hpa) -> Self {
        Self {
            scales: Groups::new(),
            listed: Vec::new(),
            workloads: grouped(workloads, |it| &it.metadata.name),
            default_namespace: &hpa.namespace,
            is_complete: true,
            is_cluster: true,
        }
    }
}

impl ScaleLookup<'_> {
    /// Returns the result of the controller's request for the target's scale. An outer `Err` means unusable
    /// input.
    pub(super) fn scale(
        &self,
        hpa: &Hpa,
        requests: &ApiRequests<'_>,
    ) -> Result<Result<Scale, ScaleError>, Error> {
        let target = &hpa.spec.scale_target_ref;
        let (api_group, kind) = (target.group(), &*target.kind);
        if let Some(e) = requests.error(hpa, Api::Mapping, None) {
            return Ok(Err(ScaleError::Mapping(e.message.clone())));
        }
        if has_kind(api_group, kind) == Some(false) {
            return Ok(Err(ScaleError::Mapping(names::no_kind(api_group, kind))));
        }
        if let Some(e) = requests.error(hpa, Api::Scale, None) {
            let got = || ScaleError::Get(e.message.clone());
            return Ok(Err(e.missing.map_or_else(got, |_| missing(target))));
        }
        let mut scales = self.scales(hpa);
        if let Some(scale) = scales.next() {
            if scales.next().is_some() {
                return Err(Error::usage(format!(
                    "several Scales named {} in the namespace {}",
                    target.name, hpa.namespace
                ))
                .hint(
                    "keep only the target's, or set \
                       metadata.ownerReferences",
                ));
            }
            return Ok(Ok(scale.scale()));
        }
        let Some(workload) = self.workload(hpa)? else {
            if is_unscalable(api_group, kind) {
                let text = "the server could not find the requested resource";
                return Ok(Err(ScaleError::Get(text.to_owned())));
            }
            if !self.is_complete && (self.elsewhere(hpa).is_some() || !self.lists_kind_for(hpa)) {
                return Ok(Err(missing(target)));
            }
            let resource = resource_of(api_group, kind);
            let text = format!("{resource} {} not found", go::quote(&target.name));
            return Ok(Err(ScaleError::Get(text)));
        };
        if let (true, Some(status)) = (workload.is_rollout(), &workload.status) {
            let selector = status.selector.clone().unwrap_or_default();
            return Ok(Ok(workload.to_scale(selector)));
        }
        let selector = match &workload.selector {
            Some(selector) => selector.to_selector().map_err(|e| {
                let name = &workload.metadata.name;
                Error::usage(format!("{} {name}: spec.selector: {e}", workload.kind))
            })?,
            // The API server stores no such object.
            None if workload.group == "apps" && workload.status.is_none() => {
                let reference = workload.reference();
                let message = format!("{reference}: spec.selector: Required value");
                return Err(Error::usage(message).hint("the API server would reject this manifest"));
            }
            None => return Ok(self.scale_of(workload, String::new())),
        };
        Ok(self.scale_of(workload, selector.to_string()))
    }

    /// Returns the scale of a workload, if its replicas are known. In a cluster, they are.
    fn scale_of(&self, workload: &Workload, selector: String) -> Result<Scale, ScaleError> {
        if self.is_cluster || workload.states_replicas() {
            return Ok(workload.to_scale(selector));
        }
        Err(ScaleError::NoReplicas {
            target: workload.reference(),
            selector: selector.into(),
        })
    }

    /// Returns the assumption about the target's scale if it is derived from an object without a status.
    pub(super) fn assumption(&self, hpa: &Hpa) -> Option<Basis> {
        if self.scales(hpa).next().is_some() {
            return None;
        }
        let workload = self.workload(hpa).ok()??;
        if workload.status.is_some() {
            return None;
        }
        let (kind, replicas) = (workload.kind.clone(), workload.wanted());
        Some(Basis::StatusReplicas { kind, replicas })
    }

    /// Whether the input lists objects of the target's kind in the HPA's namespace. Manifests, and objects that are in
    /// no list, are a selection, and say nothing about what else exists.
    fn lists_kind_for(&self, hpa: &Hpa) -> bool {
        self.listed.iter().any(|(group, kind, namespace)| {
            let namespace = namespace.as_deref().unwrap_or(self.default_namespace);
            is_alike(group, kind, hpa) && namespace == hpa.namespace
        })
    }

    /// Returns the target's replica count until now, if one of its Scales says since when.
    pub(super) fn counted(&self, hpa: &Hpa, scale: &Scale, now: Timestamp) -> Option<Counted> {
        let replicas = scale.status_replicas;
        // If the two differ, one of them was read before a change.
        let mut same = self.scales(hpa).filter(|it| it.status.replicas == replicas);
        same.find_map(|it| Counted::new(replicas, &it.metadata.managed_fields, now))
    }

    fn workload<'t>(&'t self, hpa: &'t Hpa) -> Result<Option<&'t Workload>, Error> {
        let named = self.alike(hpa);
        let mut workloads = named.filter(|workload| self.is_beside(&workload.metadata, hpa));
        let kind = &hpa.spec.scale_target_ref.kind;
        once(
            kind,
            workloads.clone().map(|workload| &*workload.metadata.name),
        )?;
        Ok(workloads.next())
    }

    /// Whether a workload is the target.
    pub(super) fn is_of(&self, workload: &Workload, hpa: &Hpa) -> bool {
        workload.metadata.name == hpa.spec.scale_target_ref.name
            && self.is_beside(&workload.metadata, hpa)
            && is_alike(&workload.group, &workload.kind, hpa)
    }

    /// Returns a workload of the target's kind and name in another namespace.
    pub(super) fn elsewhere<'t>(&'t self, hpa: &'t Hpa) -> Option<&'t Workload> {
        self.alike(hpa)
            .find(|workload| !self.is_beside(&workload.metadata, hpa))
    }

    /// Returns the workloads of the target's kind and name in all namespaces.
    fn alike<'t>(&'t self, hpa: &'t Hpa) -> impl Iterator<Item = &'t Workload> + Clone {
        let named = group(&self.workloads, &hpa.spec.scale_target_ref.name).iter();
        named
            .copied()
            .filter(move |workload| is_alike(&workload.group, &workload.kind, hpa))
    }

    /// Returns the Scales that may belong to the target. `--save` writes one for each form of its kind that an HPA has,
    /// so those of the same form come before others.
    fn scales<'t>(&'t self, hpa: &'t Hpa) -> impl Iterator<Item = &'t ScaleObject> {
        let target = &hpa.spec.scale_target_ref;
        let named = group(&self.scales, &target.name).iter().copied();
        let own = named
            .filter(|scale| self.is_beside(&scale.metadata, hpa) && scale.may_belong_to(target));
        let (same, other): (Vec<_>, Vec<_>) = own.partition(|scale| scale.names(target));
        if same.is_empty() { other } else { same }.into_iter()
    }

    /// Whether an object is in the HPA's namespace.
    fn is_beside(&self, meta: &Metadata, hpa: &Hpa) -> bool {
        meta.namespace.as_deref().unwrap_or(self.default_namespace) == hpa.namespace
    }
}

/// Returns the controller's result for the scale of a built-in target, derived from the target itself.
///
/// # Errors
///
/// The text is not the target.
pub(crate) fn scale_of(hpa: &Hpa, target: &str) -> Result<Result<Scale, ScaleError>, Error> {
    let mut objects = Objects::default();
    file::read_answer(target, "the answer", &mut objects)?;
    let kind = &hpa.spec.scale_target_ref.kind;
    let lookup = ScaleLookup::among(&[], hpa);
    let workload = objects.workloads.first().filter(|it| lookup.is_of(it, hpa));
    let not_it = || Error::failed(format!("the answer is not the {kind}"));
    scale_in(hpa, Some(workload.ok_or_else(not_it)?))
}

/// Returns the same result for a target that was read from a cluster; `None` if the cluster has no such
/// target.
///
/// # Errors
///
/// The target's selector is not valid.
pub(crate) fn scale_in(
    hpa: &Hpa,
    target: Option<&Workload>,
) -> Result<Result<Scale, ScaleError>, Error> {
    let workloads = target.map_or(&[][..], std::slice::from_ref);
    let mut scale = ScaleLookup::among(workloads, hpa).scale(hpa, &ApiRequests::default())?;
    // A server omits the status of a target that its controller has not seen yet.
    if let (Ok(scale), Some(Workload { status: None, .. })) = (&mut scale, target) {
        scale.status_replicas = 0;
    }
    Ok(scale)
}

/// Returns the error for a target that the input lacks.
fn missing(target: &CrossVersionObjectReference) -> ScaleError {
    let CrossVersionObjectReference { kind, name, .. } = target;
    ScaleError::Missing(MissingTarget {
        name: format!("{kind} {name}"),
        lacks_scale: !has_own_scale(target.group(), kind),
    })
}

/// Whether a workload is of the target's kind.
fn is_alike(group: &str, kind: &str, hpa: &Hpa) -> bool {
    let target = &hpa.spec.scale_target_ref;
    has_own_scale(group, kind) && group == target.group() && target.is_kind(kind)
}

/// Whether a scale can be derived from an object of a kind: a built-in one, or a Rollout of Argo Rollouts, whose
/// CustomResourceDefinition names `.spec.replicas`, `.status.HPAReplicas` and `.status.selector`.
pub(crate) fn has_own_scale(group: &str, kind: &str) -> bool {
    is_built_in(group, kind) || (group, &*kind.to_lowercase()) == ("argoproj.io", "rollout")
}

/// Whether a kind is built in and has a scale.
pub(crate) fn is_built_in(group: &str, kind: &str) -> bool {
    match kind.to_lowercase().as_str() {
        "deployment" | "statefulset" | "replicaset" => group == "apps",
        "replicationcontroller" => group.is_empty(),
        _ => false,
    }
}

/// Returns the command that saves everything about an HPA, and about a candidate if its flags are
/// specified.
pub(crate) fn save_command(hpa: &Hpa, candidate: &str) -> String {
    let verb = if candidate.is_empty() {
        "explain"
    } else {
        "predict"
    };
    let [name, namespace] = [&hpa.name, &hpa.namespace].map(|it| names::shell_word(it));
    format!(
        "`kubectl hpa {verb} {name} -n {namespace}{candidate} --save FILE` saves everything that a pass needs"
    )
}

/// Returns the kinds of a built-in group; `None` for others. No CustomResourceDefinition has a group without a dot.
fn built_in_kinds(group: &str) -> Option<&'static [&'static str]> {
    match group {
        "" => Some(&[
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ]),
        "apps" => Some(&[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ]),
        "batch" => Some(&["CronJob", "Job"]),
        "extensions" => Some(&[]),
        _ => None,
    }
}

/// Whether a built-in group has a kind; `None` for other groups. Discovery also knows each kind by its lower-case form,
/// and its list.
fn has_kind(group: &str, kind: &str) -> Option<bool> {
    let item = kind.strip_suffix("List").unwrap_or(kind);
    let is_one = |own: &&str| *own == item || own.to_lowercase() == item;
    Some(built_in_kinds(group)?.iter().any(is_one))
}

/// Whether a built-in kind has no scale: the path does not exist, whatever the name.
pub(crate) fn is_unscalable(group: &str, kind: &str) -> bool {
    has_kind(group, kind) == Some(true) && !is_built_in(group, kind)
}

/// Returns the resource of a kind, with its group, as the API server names it. For kinds that are not built
/// in, the plural is guessed as in Kubernetes.
pub(crate) fn resource_of(group: &str, kind: &str) -> String {
    let plural = names::plural(kind);
    if group.is_empty() {
        plural
    } else {
        format!("{plural}.{group}")
    }
}
