//! What the namespaces of a list share: how it was requested, and the answers that concern all of them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::super::Failure;
use super::control_plane::ControllerAnswers;
use super::discovery::{Discovery, UNDISCOVERED};
use super::optional::ServerVersion;
use super::surroundings::SurroundingAnswers;
use super::{Awaited, More, ReadingTime, needs_discovery};
use crate::cluster::observed::Observed;
use crate::cluster::progress::Progress;
use crate::snapshot::Listed;
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::surroundings::VerticalPodAutoscaler;

/// Receives the answers as they arrive, each with its place in the list.
pub type Answers<'s> = dyn Fn(usize, Listed<Observed>) + 's;
pub(super) type ByNamespace<T> = HashMap<String, Vec<T>>;

/// The optional answers that concern all HPAs.
#[derive(Default)]
pub(super) struct AboutAll {
    pub(super) version: Awaited<ServerVersion>,
    pub(super) events: Awaited<ByNamespace<Event>>,
    pub(super) controller: ControllerAnswers,
    /// Which answers about the VerticalPodAutoscalers are missing.
    pub(super) surroundings: SurroundingAnswers,
    pub(super) vpas: RefCell<ByNamespace<VerticalPodAutoscaler>>,
    /// Whether the VerticalPodAutoscalers of all namespaces are refused.
    pub(super) refuses_vpas: Cell<bool>,
    /// Whether the wait for them has already happened; it is not repeated.
    pub(super) waited: Cell<bool>,
}

impl AboutAll {
    /// Returns the events of a namespace that have arrived with those of all namespaces.
    pub(super) fn events(&self, namespace: &str) -> Option<Result<Vec<Event>, Failure>> {
        Some(match self.events.get()? {
            Ok(all) => Ok(all.get(namespace).cloned().unwrap_or_default()),
            Err(failure) => Err(failure.clone()),
        })
    }

    /// Returns the VerticalPodAutoscalers of an HPA's target.
    pub(super) fn vpas(&self, hpa: &Hpa) -> Vec<VerticalPodAutoscaler> {
        let target = &hpa.spec.scale_target_ref;
        let vpas = self.vpas.borrow();
        let here = vpas.get(&hpa.namespace).into_iter().flatten();
        let own = here.filter(|vpa| {
            let reference = &vpa.spec.target_ref;
            target.is_kind(&reference.kind) && reference.name == target.name
        });
        own.cloned().collect()
    }

    /// Waits for one of them, unless an earlier wait was in vain.
    pub(super) async fn wait(&self, for_one: &More<'_>) {
        if !self.waited.get() {
            for_one.clone().await;
        }
    }
}

/// Groups objects by their namespaces.
pub(super) fn by_namespace<T>(
    all: Vec<T>,
    namespace: impl Fn(&T) -> Option<&str>,
) -> ByNamespace<T> {
    let mut grouped: ByNamespace<T> = HashMap::new();
    for object in all {
        let key = namespace(&object).unwrap_or_default().to_owned();
        grouped.entry(key).or_default().push(object);
    }
    grouped
}

/// A list as it was requested.
pub(super) struct Whole<'s> {
    /// The namespace; `None` for all namespaces.
    pub(super) namespace: Option<&'s str>,
    pub(super) about: &'s AboutAll,
    /// The fetch of all optional answers.
    pub(super) more: More<'s>,
    /// The fetch of the VerticalPodAutoscalers among them.
    pub(super) vpas: More<'s>,
    /// The fetch of the events among them.
    pub(super) events: More<'s>,
    pub(super) progress: &'s Progress,
    pub(super) answers: &'s Answers<'s>,
}

impl Whole<'_> {
    /// Whether the events of all namespaces are refused.
    pub(super) fn refuses_events(&self) -> bool {
        let answer = self.about.events.get();
        self.namespace.is_none()
            && answer.is_some_and(|events| events.as_ref().is_err_and(Failure::is_forbidden))
    }
}

/// The state that all passes share.
pub(super) struct Common {
    pub(super) read: ReadingTime,
    pub(super) discovery: Result<Discovery, Failure>,
}

impl Common {
    /// Returns the discovery that an HPA would have had alone.
    pub(super) fn discovery(&self, hpa: &Hpa) -> &Result<Discovery, Failure> {
        if needs_discovery(hpa) {
            &self.discovery
        } else {
            &UNDISCOVERED
        }
    }
}
