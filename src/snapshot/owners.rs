//! The owners of pods, which the selector of the target does not show. The controller counts all pods that the selector
//! matches, but only the target's own are created and deleted as it scales.

use std::cell::{Cell, OnceCell};

use super::Snapshot;
use super::hpa::CrossVersionObjectReference;
use super::pod::Pod;
use super::surroundings::Surroundings;
use crate::apimachinery::metadata::OwnerReference;

/// The topmost owner of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopOwner<'p> {
    /// The target of the HPA.
    Target,
    /// Another object.
    Other { kind: &'p str, name: &'p str },
    /// No object, while other pods state that they belong to the target.
    NoOne,
    /// Unknown, because an owner was not read or not stated.
    Unknown,
}

impl TopOwner<'_> {
    /// Whether the pod does not belong to the target, as far as its owners show.
    pub(crate) fn is_foreign(self) -> bool {
        matches!(self, Self::Other { .. } | Self::NoOne)
    }
}

/// The owners of the pods that the selector of the target matches.
pub(crate) struct PodOwners<'p> {
    surroundings: &'p Surroundings,
    target: &'p CrossVersionObjectReference,
    pods: Vec<&'p Pod>,
    /// The kind that owns the pods of the target, if no other kind does.
    direct_owner: Option<&'static str>,
    /// Whether some pods belong to the target, judging by the names of their ReplicaSets.
    has_own_by_name: OnceCell<bool>,
    /// Whether some pods belong to the target, judging by their owners.
    has_own: OnceCell<bool>,
    /// The pod whose owners were last followed, and its topmost owner: pods of one ReplicaSet come one after the other.
    last_top: Cell<Option<(&'p Pod, TopOwner<'p>)>>,
}

/// Returns the kind that owns the pods of a target of this kind, if no other kind does.
fn direct_owner(target: &str) -> Option<&'static str> {
    let is = |kind: &&str| target.eq_ignore_ascii_case(kind);
    if ["Deployment", "Rollout"].iter().any(is) {
        return Some("ReplicaSet");
    }
    ["ReplicaSet", "StatefulSet", "ReplicationController"]
        .into_iter()
        .find(is)
}

impl<'p> PodOwners<'p> {
    pub(crate) fn of(snapshot: &'p Snapshot, surroundings: &'p Surroundings) -> Self {
        // A missing selector would match all pods, and the pass ends there.
        let selector = snapshot
            .scale
            .as_ref()
            .ok()
            .map(|scale| &scale.selector)
            .filter(|selector| !selector.as_str().is_empty());
        let is_matched = |pod: &&Pod| selector.is_some_and(|it| it.matches(&pod.labels));
        let target = &snapshot.hpa.spec.scale_target_ref;
        Self {
            surroundings,
            target,
            pods: snapshot
                .pods
                .iter()
                .map(|pod| &**pod)
                .filter(is_matched)
                .collect(),
            direct_owner: direct_owner(&target.kind),
            has_own_by_name: OnceCell::new(),
            has_own: OnceCell::new(),
            last_top: Cell::new(None),
        }
    }

    /// Returns the pods that the selector matches.
    pub(crate) fn pods(&self) -> impl ExactSizeIterator<Item = &'p Pod> {
        self.pods.iter().copied()
    }

    /// Returns the pods that certainly do not belong to the target: none if it is of a kind whose controller is not
    /// known, and may own pods in any way.
    pub(super) fn foreign(&self) -> impl Iterator<Item = &'p Pod> {
        let is_known = self.direct_owner.is_some();
        let pods = self.pods().filter(move |_| is_known);
        pods.filter(|pod| self.top(pod).is_foreign())
    }

    /// Returns the topmost owner of a pod.
    pub(crate) fn top(&self, pod: &'p Pod) -> TopOwner<'p> {
        let Some(owner) = &pod.owner else {
            // An input may state no owners at all.
            let is_stated = |pod| matches!(self.top(pod), TopOwner::Target);
            let mut owned = self.pods().filter(|pod| pod.owner.is_some());
            let has_own = *self.has_own.get_or_init(|| owned.any(is_stated));
            return if has_own {
                TopOwner::NoOne
            } else {
                TopOwner::Unknown
            };
        };
        // A ReplicaSet that was not read is judged by the labels as well.
        let is_same = |last: &Pod| {
            last.labels.is(&pod.labels) && last.owner.as_ref().is_some_and(|it| it.is(owner))
        };
        if let Some((_, top)) = self.last_top.get().filter(|(last, _)| is_same(last)) {
            return top;
        }
        let top = self.follow(owner, pod);
        self.last_top.set(Some((pod, top)));
        top
    }

    /// Follows the owners of a pod from its first one.
    fn follow(&self, first: &'p OwnerReference, pod: &'p Pod) -> TopOwner<'p> {
        let mut owner = first;
        // Owners that own each other would be followed forever.
        for _ in 0..8 {
            if self.target.is_kind(&owner.kind) && owner.name == self.target.name {
                return TopOwner::Target;
            }
            let Some(workload) = self.surroundings.owner(owner) else {
                return self.unread_owner(owner, pod);
            };
            match workload.metadata.controller() {
                Some(next) => owner = next,
                // A manifest does not show what will own the object.
                None if workload.status.is_none() && self.direct_owner.is_none() => {
                    return TopOwner::Unknown;
                }
                None => {
                    return TopOwner::Other {
                        kind: &owner.kind,
                        name: &owner.name,
                    };
                }
            }
        }
        TopOwner::Unknown
    }

    /// Returns what the name of an unread owner reveals. A ReplicaSet is named after its Deployment or Rollout and the
    /// hash of the template.
    fn unread_owner(&self, owner: &'p OwnerReference, pod: &'p Pod) -> TopOwner<'p> {
        let other = TopOwner::Other {
            kind: &owner.kind,
            name: &owner.name,
        };
        match self.direct_owner {
            Some(kind) if owner.kind != kind || self.target.is_kind(kind) => return other,
            _ if owner.kind != "ReplicaSet" => return TopOwner::Unknown,
            _ => {}
        }
        let Some(maker) = pod.maker(owner) else {
            return TopOwner::Unknown;
        };
        const MAKERS: [&str; 2] = ["Deployment", "Rollout"];
        let may_make = MAKERS.iter().any(|kind| self.target.is_kind(kind));
        if may_make && maker == self.target.name {
            return TopOwner::Target;
        }
        let mut workloads = self.surroundings.workloads.named(maker);
        if let Some(known) = workloads.find(|it| MAKERS.contains(&&*it.kind)) {
            return TopOwner::Other {
                kind: &known.kind,
                name: &known.metadata.name,
            };
        }
        // A target that has adopted another's pods has none of its own among them.
        let has_own = || {
            let mut owned = self
                .pods()
                .filter_map(|pod| pod.maker(pod.owner.as_deref()?));
            may_make && owned.any(|maker| maker == self.target.name)
        };
        if *self.has_own_by_name.get_or_init(has_own) {
            other
        } else {
            TopOwner::Unknown
        }
    }
}
