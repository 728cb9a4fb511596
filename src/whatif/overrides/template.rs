//! The pods as another template of their workload makes them: with its requests, its containers and sidecars, and its
//! labels. Only differences from the running template apply: other parts of a pod may come from admission, such as an
//! injected sidecar, a LimitRange or a VerticalPodAutoscaler.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::containers::{ContainerChange, changes, containers, find, new_requests};
use super::pods::known_selector;
use super::requests::{NewRequest, replace_first, set_requests};
use super::{Override, distinct};
use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField};
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::selector::{Labels, Selector};
use crate::apimachinery::tool::Tool;
use crate::error::{Error, listed};
use crate::saved::manifest::WorkloadManifest;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::pod::{Container, Pod, REVISION_LABELS, ResourceName, by_revision};
use crate::snapshot::requests::as_pod;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ManifestReplicas, SupposedTemplate, Workload};

/// The item of an override by a template.
pub const TEMPLATE: &str = "template";

/// Replaces the pods with those of their workload's manifest.
///
/// # Errors
///
/// The API server would reject the manifest, or the target's pods are not known.
pub(super) fn apply(
    input: &mut Input,
    manifest: &WorkloadManifest,
    overrides: &mut Vec<Override>,
) -> Result<(), Error> {
    note_manifest(input, manifest)?;
    let WorkloadManifest {
        object,
        origin,
        bare_cores,
        ..
    } = manifest;
    let reference = object.reference();
    let target = input.snapshot.hpa.spec.scale_target_ref.clone();
    let Ok(selector) = known_selector(&input.snapshot) else {
        return Ok(());
    };
    check_selector(input, object, origin, &selector)?;
    let mut notes = Vec::new();
    if object.replicas.is_none()
        && let Some(running) = input.surroundings.workload(&target)
        && let Some(reset) = resets_replicas(&running.metadata)
    {
        notes.push(Note::new(format!(
            "{reference} states no replicas here, {reset} once, and the HPA scales up from there"
        )));
    }
    let Some(template) = object.template.as_deref().map(as_pod) else {
        input.notes.extend(Note::of_manifest(origin, notes));
        return Ok(());
    };
    let running = input
        .surroundings
        .workload(&target)
        .and_then(|it| it.template.as_deref())
        .map(as_pod);
    let keeps_pods = selector.matches(&template.labels);
    let before = overrides.len();
    overrides.push(Override::event(
        TEMPLATE,
        format!("of {reference} from {origin}"),
    ));
    let was = input.snapshot.pods.clone();
    let pods: Vec<&Pod> = was
        .iter()
        .map(|pod| &**pod)
        .filter(|pod| selector.matches(&pod.labels) && !pod.is_foreign && !pod.has_ended())
        .collect();
    let mut made: Vec<RevisionPods<'_>> = by_template(input, running, &pods)
        .into_iter()
        .map(|(before, pods)| RevisionPods::new(before, &pods, &template, keeps_pods))
        .collect();
    for request in made.iter_mut().flat_map(|own| &mut own.requests) {
        request.lacks_unit = &*request.resource == "cpu" && bare_cores.contains(&request.container);
    }
    notes.extend(kept_beside(
        &made,
        &template,
        &input.snapshot.hpa.spec.metrics,
    ));
    notes.extend(change(input, &made, &was, overrides)?);
    let mut changes = false;
    for own in &made {
        changes |= own.make(&mut input.snapshot);
    }
    if changes {
        replace_first(reference, &mut input.notes);
    }
    if !changes
        && overrides.len() == before + 1
        && let Some(own) = overrides.last_mut()
    {
        own.assumed += ", which changes nothing";
    }
    if let Some(workload) = input.surroundings.workload_mut(&target) {
        workload.take_template(object);
    }
    input.notes.extend(Note::of_manifest(origin, notes));
    Ok(())
}

/// Checks that the manifest of a running workload keeps its selector, which workloads in `apps` cannot change.
fn check_selector(
    input: &Input,
    manifest: &Workload,
    origin: &str,
    selector: &Selector,
) -> Result<(), Error> {
    let Hpa {
        namespace, spec, ..
    } = &input.snapshot.hpa;
    let own = manifest.metadata.namespace.as_ref();
    let supposed = input.surroundings.supposed.as_ref();
    let runs = supposed.is_none_or(|own| own.template == SupposedTemplate::OfTarget);
    if own.is_some_and(|own| own != namespace) || !runs || manifest.group != "apps" {
        return Ok(());
    }
    let running = input.surroundings.workload(&spec.scale_target_ref);
    let stated = running.and_then(Workload::pod_selector);
    let before = stated.as_ref().unwrap_or(selector);
    let differs = |own: &Selector| own.normalized() != before.normalized();
    let Some(after) = manifest.pod_selector().filter(differs) else {
        return Ok(());
    };
    let reference = manifest.reference();
    let message = format!(
        "{origin}: {reference}: spec.selector: {after} instead of {before}: field is immutable"
    );
    Err(Error::usage(message).hint(
        "the API server would reject this manifest: render it with the values of what runs, such as the name of the \
         release",
    ))
}

/// Adds the notes on a manifest that apply in any case, and the replicas that it states.
fn note_manifest(input: &mut Input, manifest: &WorkloadManifest) -> Result<(), Error> {
    let mut notes = manifest.notes.clone()?;
    let WorkloadManifest { object, origin, .. } = manifest;
    let reference = object.reference();
    let namespace = &input.snapshot.hpa.namespace;
    if let Some(own) = object
        .metadata
        .namespace
        .as_ref()
        .filter(|own| *own != namespace)
    {
        notes.push(Note::new(format!(
            "the manifest of {reference} in {own} is used for the one in {namespace}"
        )));
    }
    if let Some(of) = object
        .template_of
        .as_ref()
        .filter(|_| object.template.is_none())
    {
        notes.push(Note::new(format!(
            "{reference} has the template of {of} (spec.workloadRef), which is not among the manifests: its \
             pods stay as they are"
        )));
    }
    input.notes.extend(Note::of_manifest(origin, notes));
    input.surroundings.manifest_replicas = object.replicas.map(|replicas| ManifestReplicas {
        origin: origin.clone(),
        replicas,
    });
    Ok(())
}

/// Changes the requests, and returns the containers that change, with notes.
fn change(
    input: &mut Input,
    made: &[RevisionPods<'_>],
    was: &[Shared<Pod>],
    overrides: &mut Vec<Override>,
) -> Result<Vec<Note>, Error> {
    let elsewhere: BTreeSet<_> = made.iter().flat_map(RevisionPods::set_elsewhere).collect();
    let mut notes: Vec<Note> = elsewhere
        .into_iter()
        .map(|(container, resource)| {
            Note::new(format!(
                "the {resource} request of {} stays as it is where it differs from the running template: what set it, \
                 such as a VerticalPodAutoscaler, would set it again",
                container.as_deref().unwrap_or("the pods")
            ))
        })
        .collect();
    let requests = distinct(made.iter().flat_map(RevisionPods::requests).cloned());
    let makes = |new: &NewRequest, pod: &Pod| made.iter().any(|own| own.makes(new, pod));
    set_requests(input, was, &requests, &makes, overrides)?;
    let changes = distinct(made.iter().flat_map(|own| &own.changes));
    let unmeasured = changes.iter().filter_map(|change| change.begins());
    let containers: Vec<String> = unmeasured.map(|own| own.name.to_string()).collect();
    if !containers.is_empty() {
        let text = usage_unknown(&containers, &input.snapshot.hpa.spec.metrics);
        notes.push(Note::about(Subject::UsageUnknown { containers }, text));
    }
    overrides.extend(changes.into_iter().map(ContainerChange::own));
    Ok(notes)
}

/// Whether the usage of a container matters to metrics; `is_stated` says, by place, whether a metric's values come from
/// elsewhere.
pub(crate) fn matters(
    metrics: &[MetricSpec],
    container: &str,
    is_stated: impl Fn(usize) -> bool,
) -> bool {
    let mut of_resources = metrics
        .iter()
        .enumerate()
        .filter(|(_, own)| own.is_resource());
    of_resources
        .any(|(place, own)| own.container().is_none_or(|own| own == container) && !is_stated(place))
}

/// Returns the text that says that containers have no usage yet, and which flags state it.
fn usage_unknown(containers: &[String], metrics: &[MetricSpec]) -> String {
    let first = containers.first().map_or("", |first| first);
    let flags: Vec<String> = ["cpu", "memory"]
        .into_iter()
        .filter(|resource| {
            metrics
                .iter()
                .any(|spec| spec.is_resource() && spec.name() == *resource)
        })
        .map(|resource| format!("--{resource} {first}=VALUE"))
        .collect();
    let states = match &flags[..] {
        [] => String::new(),
        [one] => format!("; {one} states it"),
        both => format!("; {} state it", both.join(" and ")),
    };
    format!(
        "no pod runs {} yet: the usage is unknown and left out, so that only the requests count, if \
         any{states}",
        listed(containers)
    )
}

/// Drops containers from the notes about missing usage if their usage is stated, including by the columns of a trace,
/// or does not matter.
pub(crate) fn drop_known(
    snapshot: &Snapshot,
    is_stated: impl Fn(&str) -> bool,
    notes: &mut Vec<Note>,
) {
    notes.retain_mut(|note| {
        let Subject::UsageUnknown { containers } = &mut note.subject else {
            return true;
        };
        containers.retain(|container| {
            let mut measured = snapshot
                .pod_metrics
                .iter()
                .flat_map(|item| &item.containers);
            !measured.any(|own| *own.name == **container) && !is_stated(container)
        });
        note.text = usage_unknown(containers, &snapshot.hpa.spec.metrics);
        !containers.is_empty()
    });
}

/// The pods that were made from one template, and the changes that another template makes to them.
struct RevisionPods<'p> {
    /// The template that the pods were made from; `None` if unknown.
    before: Option<Pod>,
    /// The pods by name, as they were observed.
    pods: BTreeMap<&'p str, &'p Pod>,
    requests: Vec<NewRequest>,
    changes: Vec<ContainerChange>,
    /// The other template.
    template: &'p Pod,
}

impl<'p> RevisionPods<'p> {
    fn new(before: Option<Pod>, pods: &[&'p Pod], template: &'p Pod, keeps_pods: bool) -> Self {
        let mut requests = match &before {
            Some(before) => new_requests(before, template, true),
            None => Vec::new(),
        };
        for pod in pods {
            let mut new = new_requests(pod, template, false);
            // The template now states the requests of a container that was previously injected.
            new.retain(|own| {
                before.as_ref().is_none_or(|before| {
                    let name = own.container.as_deref();
                    name.is_some_and(|name| !before.has_container(name))
                }) && !requests.contains(own)
            });
            requests.extend(new);
        }
        let model = before.as_ref().or(pods.first().copied());
        let mut changes = model
            .map(|model| changes(model, template, before.is_some(), keeps_pods))
            .unwrap_or_default();
        let has_all = |container: &Container| {
            !pods.is_empty() && pods.iter().all(|pod| pod.has_container(&container.name))
        };
        changes
            .retain(|own| !matches!(own, ContainerChange::Add(_, container) if has_all(container)));
        Self {
            before,
            pods: pods.iter().map(|pod| (&*pod.name, *pod)).collect(),
            requests,
            changes,
            template,
        }
    }

    /// Whether a pod's request differs from the template that it was made from: whatever set it, such as a
    /// VerticalPodAutoscaler, will set it again.
    fn is_set_elsewhere(&self, new: &NewRequest, pod: &Pod) -> bool {
        let Some(stated) = self.before.as_ref().and_then(|before| new.request(before)) else {
            return false;
        };
        new.request(pod)
            .is_some_and(|own| own.milli_value() != stated.milli_value())
    }

    /// Whether a pod gets a request.
    fn makes(&self, new: &NewRequest, pod: &Pod) -> bool {
        let observed = self.pods.get(&*pod.name);
        observed.is_some_and(|pod| !self.is_set_elsewhere(new, pod)) && self.requests.contains(new)
    }

    /// Returns the requests that any of the pods gets, or all if there are no pods.
    fn requests(&self) -> impl Iterator<Item = &NewRequest> {
        self.requests.iter().filter(|new| {
            let mut pods = self.pods.values();
            self.pods.is_empty() || pods.any(|pod| !self.is_set_elsewhere(new, pod))
        })
    }

    /// Returns the containers (`None` for the pod as a whole) and resources whose requests are set by something
    /// else.
    fn set_elsewhere(&self) -> impl Iterator<Item = (Option<Box<str>>, ResourceName)> {
        let set = self.requests.iter().filter(|new| {
            let mut pods = self.pods.values();
            pods.any(|pod| self.is_set_elsewhere(new, pod))
        });
        set.map(|new| (new.container.clone(), new.resource.clone()))
    }

    /// Makes the other changes to the pods, and removes the usage of containers that go away. Returns whether
    /// there is anything to change.
    fn make(&self, snapshot: &mut Snapshot) -> bool {
        let mut changed = !self.changes.is_empty() && !self.pods.is_empty();
        for pod in snapshot
            .pods
            .iter_mut()
            .filter(|pod| self.pods.contains_key(&*pod.name))
        {
            self.changes.iter().for_each(|change| change.make(pod));
            changed |= self.set_limits(pod);
        }
        let gone = self.changes.iter().filter_map(ContainerChange::ends);
        let gone: Vec<&Box<str>> = gone.map(|own| &own.name).collect();
        let items = snapshot.pod_metrics.iter_mut();
        for item in items.filter(|item| self.pods.contains_key(&*item.name)) {
            if item.containers.iter().any(|own| gone.contains(&&own.name)) {
                item.containers.retain(|own| !gone.contains(&&own.name));
            }
        }
        changed
    }

    /// Gives a pod the other template's limits where it has the limits of its own template. Returns whether that
    /// changes the pod.
    fn set_limits(&self, pod: &mut Shared<Pod>) -> bool {
        let Some(before) = &self.before else {
            return false;
        };
        let is_alike = |own: &Container| {
            let new = self.template.container(&own.name);
            new.is_none_or(|new| new.limits == own.limits)
        };
        // Pods are not copied for nothing.
        if before.limits == self.template.limits && before.all_containers().all(is_alike) {
            return false;
        }
        let was = pod.clone();
        for own in pod.containers_mut() {
            let new = self.template.container(&own.name);
            if let Some((stated, new)) = before.container(&own.name).zip(new)
                && stated.limits == own.limits
            {
                own.limits.clone_from(&new.limits);
            }
        }
        if before.limits == pod.limits {
            pod.limits.clone_from(&self.template.limits);
        }
        *pod != was
    }
}

/// Returns the pods of the target by the template that they were made from: the target's, an earlier revision's if its
/// ReplicaSet is known, or an unknown one.
fn by_template<'p>(
    input: &Input,
    running: Option<Pod>,
    pods: &[&'p Pod],
) -> Vec<(Option<Pod>, Vec<&'p Pod>)> {
    let (snapshot, surroundings) = (&input.snapshot, &input.surroundings);
    let target = &snapshot.hpa.spec.scale_target_ref;
    let current = surroundings
        .current_revision(target, pods.iter().copied())
        .or_else(|| alike(running.as_ref()?, pods));
    let is_current = |revision: &str| current.is_none_or(|own| revision == own);
    let mut made = vec![(running, Vec::new())];
    let mut places: HashMap<&str, usize> = HashMap::new();
    for &pod in pods {
        let place = match pod.revision().filter(|own| !is_current(own)) {
            None => 0,
            Some(revision) => *places.entry(revision).or_insert_with(|| {
                // The target's own template belongs to the current revision.
                let owner = pod
                    .owner
                    .as_deref()
                    .and_then(|owner| surroundings.owner(owner))
                    .filter(|it| !it.is_kind_of(target));
                let template = owner.and_then(|it| it.template.as_deref()).map(as_pod);
                made.push((template.map(without_revision), Vec::new()));
                made.len() - 1
            }),
        };
        made[place].1.push(pod);
    }
    made
}

/// Returns the only revision whose pods all have the requests of the template, if there is one.
fn alike<'p>(running: &Pod, pods: &[&'p Pod]) -> Option<&'p str> {
    let is_alike = |pod: &&Pod| new_requests(pod, running, false).is_empty();
    let revisions = by_revision(pods.iter().copied()).into_iter();
    let mut alike = revisions.filter(|(_, own)| own.iter().all(is_alike));
    let (revision, _) = alike.next()?;
    alike.next().is_none().then_some(revision)
}

/// Removes the label that a ReplicaSet adds to its template.
fn without_revision(mut pod: Pod) -> Pod {
    let labels = pod
        .labels
        .iter()
        .filter(|(key, _)| !REVISION_LABELS.contains(key));
    pod.labels = labels.collect::<Labels>().into();
    pod
}

/// Returns a note on what pods with an unknown template keep in addition to what is in another template.
fn kept_beside(made: &[RevisionPods<'_>], template: &Pod, metrics: &[MetricSpec]) -> Option<Note> {
    let unknown = made.iter().filter(|own| own.before.is_none());
    let pods: Vec<&&Pod> = unknown.flat_map(|own| own.pods.values()).collect();
    let of_pods = pods.iter().flat_map(|pod| containers(pod));
    let in_addition = of_pods
        .filter(|(_, own)| !template.has_container(&own.name))
        .map(|(list, own)| list.item(own));
    let requests = pods
        .iter()
        .flat_map(|pod| kept_requests(pod, template, metrics));
    let kept = distinct(in_addition.chain(requests));
    let text = format!(
        "the running template is unknown, so what the pods have in addition is kept as if \
         it were injected: {}",
        listed(&kept)
    );
    (!kept.is_empty()).then(|| Note::new(text))
}

/// Returns who has stated the replicas of a workload in a manifest, so that they are reset to 1 once the
/// manifest no longer states them. The API server keeps an applied value if someone else owns it as well.
fn resets_replicas(running: &Metadata) -> Option<String> {
    let owners: Vec<&ManagedFieldsEntry> = running
        .managed_fields
        .iter()
        .filter(|it| it.owns(SpecField::Replicas))
        .collect();
    let resetting = owners.iter().find(|it| {
        let is_of_manifest =
            it.manager == "kubectl-client-side-apply" || Tool::of_manager(&it.manager).is_some();
        !it.is_of_scale()
            && if it.is_applied() {
                owners.len() == 1
            } else {
                is_of_manifest
            }
    });
    let manager = resetting.map(|it| {
        let manager = &it.manager;
        format!("and {manager} has stated them so far: applied, they are reset to 1")
    });
    // A scaler takes over the field from its owner, but it stays in the last applied manifest.
    let is_applied = running.annotations.last_applied_states_replicas();
    let applied = "but the manifest that `kubectl apply` has applied last does: `kubectl apply` resets them to 1";
    manager.or(is_applied.then(|| applied.to_owned()))
}

/// Describes the requests, for the metrics' resources, that a pod has and the same container of a template lacks.
fn kept_requests(pod: &Pod, template: &Pod, metrics: &[MetricSpec]) -> Vec<String> {
    let resources: BTreeSet<&str> = metrics
        .iter()
        .filter(|spec| spec.is_resource())
        .map(MetricSpec::name)
        .collect();
    let all = pod.all_containers();
    let both = all.filter_map(|own| Some((own, find(template, &own.name)?.1)));
    let kept = both.flat_map(|(own, new)| {
        let is_kept = |resource: &&&str| {
            own.requests.get(resource).is_some() && new.requests.get(resource).is_none()
        };
        resources
            .iter()
            .filter(is_kept)
            .map(|resource| format!("the {resource} request of {}", own.name))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::resets_replicas;
    use crate::apimachinery::metadata::Metadata;

    #[test]
    fn replicas_that_a_manifest_no_longer_states_are_reset_by_who_stated_them() {
        let entry = |manager: &str, operation: &str, subresource: &str| {
            json!({
                "manager": manager, "operation": operation, "subresource": subresource,
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            })
        };
        let controller = entry("kube-controller-manager", "Update", "scale");
        let by_apply = entry("kubectl-client-side-apply", "Update", "");
        let server_side = entry("kubectl", "Apply", "");
        for (entries, resets) in [
            (vec![by_apply.clone()], Some("kubectl-client-side-apply")),
            (
                vec![controller.clone(), by_apply],
                Some("kubectl-client-side-apply"),
            ),
            (vec![entry("helm", "Update", "")], Some("helm")),
            (vec![server_side.clone()], Some("kubectl")),
            // The value of another owner stays.
            (vec![server_side, controller.clone()], None),
            (vec![controller, entry("kubectl-edit", "Update", "")], None),
            (vec![], None),
        ] {
            let resets = resets.map(|manager| {
                format!("and {manager} has stated them so far: applied, they are reset to 1")
            });
            let metadata = json!({"name": "web", "managedFields": entries});
            let metadata: Metadata = serde_json::from_value(metadata).unwrap();
            assert_eq!(resets_replicas(&metadata), resets, "{entries:?}");
        }
        // The controller has taken the field from who applies it.
        let applied = |manifest: &str| {
            let annotation = "kubectl.kubernetes.io/last-applied-configuration";
            let scaled = entry("kube-controller-manager", "Update", "scale");
            let metadata = json!({
                "name": "web", "managedFields": [scaled], "annotations": {annotation: manifest},
            });
            resets_replicas(&serde_json::from_value(metadata).unwrap())
        };
        let stated = r#"{"kind":"Deployment","spec":{"replicas":3,"template":{}}}"#;
        let resets = "but the manifest that `kubectl apply` has applied last does: `kubectl apply` resets them to 1";
        assert_eq!(applied(stated).as_deref(), Some(resets));
        assert_eq!(
            applied(r#"{"kind":"Deployment","spec":{"template":{}}}"#),
            None
        );
        assert_eq!(applied("no manifest"), None);
    }
}
