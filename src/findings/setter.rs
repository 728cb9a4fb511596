//! Who sets the requests of the target's pods: the template, or something that changes pods made from it.

use super::case::Case;
use super::requests::Revisions;
use crate::apimachinery::annotations::VPA_UPDATES;
use crate::engine;
use crate::pass::Pass;
use crate::snapshot::Snapshot;
use crate::snapshot::by_name::Names;
use crate::snapshot::pod::{Pod, Requests};
use crate::snapshot::requests::as_pod;
use crate::snapshot::surroundings::VerticalPodAutoscaler;

/// What sets the request of a container, which is the only place where it can be changed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setter {
    /// The template, or nothing that is known.
    Template,
    /// An injector, which has added the container.
    Injector,
    /// A VerticalPodAutoscaler.
    Autoscaler,
}

impl Setter {
    /// Returns a clause on what sets the request of a container, if the template does not.
    pub(crate) fn clause(self, container: &str, resource: &str) -> Option<String> {
        match self {
            Self::Template => None,
            Self::Injector => Some(format!("{container} is injected")),
            Self::Autoscaler => Some(format!(
                "a VerticalPodAutoscaler sets the {resource} request of {container}"
            )),
        }
    }
}

impl<'p> Case<'p> {
    /// Returns what sets the request of a container of the target's pods, or of the pods as a whole.
    pub(crate) fn setter(&self, container: Option<&str>, resource: &str) -> Setter {
        let Some(container) = container else {
            return Setter::Template;
        };
        let pods = || self.own_pods().filter(|pod| pod.has_container(container));
        let is_made = self.template().is_none_or(|it| it.has_container(container));
        let revisions = Revisions::of(self);
        let is_everywhere = revisions.all_may_have(container);
        let is_left = |pod: &Pod| revisions.is_left(self, pod, container, is_everywhere);
        if !is_made && !pods().all(is_left) {
            return Setter::Injector;
        }
        // Annotations do not name containers as policies do.
        let is_controlled = match self.vpas().next() {
            Some(_) => self.vpas().any(|vpa| vpa.controls(container, resource)),
            None => pods().any(|pod| is_updated(pod, resource)),
        };
        if is_controlled {
            Setter::Autoscaler
        } else {
            Setter::Template
        }
    }

    /// Returns the VerticalPodAutoscalers of the target.
    pub(crate) fn vpas(&self) -> impl Iterator<Item = &'p VerticalPodAutoscaler> {
        let target = self.target();
        let all = self.surroundings.vertical_pod_autoscalers.iter();
        all.filter(|vpa| {
            let reference = &vpa.spec.target_ref;
            target.is_kind(&reference.kind) && reference.name == target.name
        })
    }

    /// Gives pods the requests and limits of the target's template for some resources. Amounts that it does not state
    /// are kept, unless the template that the pod was made from states them: an injector or the defaults of the
    /// namespace have set them.
    pub(crate) fn renew(
        &self,
        snapshot: &mut Snapshot,
        is_meant: impl Fn(&Pod) -> bool,
        is_renewed: impl Fn(&str) -> bool,
    ) {
        let Some(template) = self.template() else {
            return;
        };
        for pod in snapshot.pods.iter_mut().filter(|pod| is_meant(pod)) {
            replace(&mut pod.requests, &template.requests, &is_renewed);
            replace(&mut pod.limits, &template.limits, &is_renewed);
            let made = self.template_of(pod).map(as_pod);
            for own in pod.containers_mut() {
                let Some(new) = template.container(&own.name) else {
                    continue;
                };
                let old = made.as_ref().and_then(|it| it.container(&own.name));
                let (requests, limits) = (old.map(|it| &it.requests), old.map(|it| &it.limits));
                overlay(&mut own.requests, &new.requests, requests, &is_renewed);
                overlay(&mut own.limits, &new.limits, limits, &is_renewed);
            }
        }
    }

    /// Returns the pass once all of the target's pods are made from its template.
    pub(crate) fn renewed(&self) -> Pass {
        let mut pass = self.pass.clone();
        let own: Names<&str> = self.own_pods().map(|pod| &*pod.name).collect();
        let is_own = |pod: &Pod| own.contains(&pod.name);
        self.renew(&mut pass.input.snapshot, is_own, |_| true);
        pass.decision = engine::reconcile(&pass.input.snapshot, &pass.remembered.likely);
        pass
    }
}

/// Whether a pod says that a VerticalPodAutoscaler has changed its requests for a resource.
pub(crate) fn is_updated(pod: &Pod, resource: &str) -> bool {
    let updates = pod.annotations.get(VPA_UPDATES);
    updates.is_some_and(|it| it.contains(&format!("{resource} request")))
}

/// Replaces the amounts of an old template with those of a new one, and keeps amounts that neither states.
fn overlay(
    amounts: &mut Requests,
    new: &Requests,
    old: Option<&Requests>,
    is_meant: impl Fn(&str) -> bool,
) {
    let has = |own: Option<&Requests>, name: &str| own.is_some_and(|it| it.get(name).is_some());
    let is_stated = |name: &str| has(Some(new), name) || has(old, name);
    replace(amounts, new, |name| is_meant(name) && is_stated(name));
}

/// Replaces amounts with those of a template for some resources.
fn replace(amounts: &mut Requests, new: &Requests, is_meant: impl Fn(&str) -> bool) {
    amounts.0.retain(|(name, _)| !is_meant(name));
    let stated = new.0.iter().filter(|(name, _)| is_meant(name));
    amounts.0.extend(stated.cloned());
}
