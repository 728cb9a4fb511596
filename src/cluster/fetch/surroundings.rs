//! Objects around a pass that explain its answer: the target itself, the ReplicaSets of its pods, other
//! objects that scale or resize it, and the APIServices of metrics APIs that fail. Each is requested as
//! soon as the objects that it depends on are known, in parallel with that round's requests, and the wait
//! for it is no longer than for any other optional answer. Whatever does not arrive is left out, and a note
//! says so; a missing right is shown only with `-v`.
//!
//! A pass makes at most three such requests at a time, and no separate round of them: whether a metrics API
//! fails is determined from its discovery and from the last status, not from its answer. The same holds for
//! the request about an external metrics API: its list if it may not know a metric, which also shows that
//! the API is served, and otherwise its APIService.

use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::discovery::{Discovery, Resource, built_in, collection};
use super::metrics::{EXTERNAL_METRICS, custom_version};
use super::right::{cause, missing};
use super::{Fetch, uses};
use crate::apimachinery::json;
use crate::apimachinery::names::{query, segment};
use crate::cluster::Failure;
use crate::cluster::http::body::Body;
use crate::saved::assemble::{is_built_in, surroundings};
use crate::saved::file;
use crate::saved::objects::Objects;
use crate::snapshot::hpa::{CUSTOM, CrossVersionObjectReference, EXTERNAL, Hpa, RESOURCE};
use crate::snapshot::note::Note;
use crate::snapshot::right::{UnknownFact, UnknownFactCause};
use crate::snapshot::surroundings::{Surroundings, VerticalPodAutoscaler};
use crate::snapshot::{MetricAnswer, Scale};

/// The number of these objects that are requested concurrently.
const AT_ONCE: usize = 3;

/// The maximum number of objects read from a whole namespace.
pub(super) const MANY: usize = 500;

/// The sender of wishes.
pub(super) type Wishes = UnboundedSender<Wish>;

/// An object or list to fetch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    path: String,
    /// The fact that is unknown without it.
    adds: UnknownFact,
}

impl Wish {
    /// The target of an HPA, if its kind is supported.
    pub(super) fn target(hpa: &Hpa) -> Option<Self> {
        let target = &hpa.spec.scale_target_ref;
        let path = resource(target)?.path(&hpa.namespace, &target.name);
        Some(Self {
            path,
            adds: OF_TARGET,
        })
    }

    /// The other objects of the kind of a target that does not exist.
    pub(super) fn in_place_of_target(hpa: &Hpa) -> Option<Self> {
        let all = resource(&hpa.spec.scale_target_ref)?.collection(&hpa.namespace);
        Some(Self {
            path: format!("{all}?limit={MANY}"),
            adds: UnknownFact::Findings("target-not-found"),
        })
    }

    /// The ReplicaSets behind the pods of a selector.
    pub(super) fn replica_sets(hpa: &Hpa, selector: &str) -> Option<Self> {
        let path = replica_sets_path(&hpa.namespace, selector);
        has_replica_sets(&hpa.spec.scale_target_ref).then_some(Self { path, ..OF_PODS })
    }

    /// Returns the requests that follow from the HPA alone: for its target, and for other objects that scale
    /// the target.
    pub(super) fn of(hpa: &Hpa) -> impl Iterator<Item = Self> {
        Self::target(hpa)
            .into_iter()
            .chain(Self::scaled_object(hpa))
    }

    /// Returns the requests that follow from the scale: for the reason why a metrics API fails, the owners of
    /// the pods, and the objects that resize them.
    pub(super) fn behind(
        hpa: &Hpa,
        scale: Option<&Scale>,
        discovery: &Result<Discovery, Failure>,
    ) -> impl Iterator<Item = Self> {
        let other_targets = Self::in_place_of_target(hpa).filter(|_| scale.is_none());
        let of_pods = scale.into_iter().flat_map(move |scale| {
            let replica_sets = Self::replica_sets(hpa, scale.selector.as_str());
            let is_free = hpa.scaled_object().is_none();
            let vpas = is_free.then(|| Self::vertical_pod_autoscalers(Some(&hpa.namespace)));
            Self::failing_apis(hpa, discovery)
                .chain(replica_sets)
                .chain(vpas)
        });
        other_targets.into_iter().chain(of_pods)
    }

    /// Returns the lists that are requested for a whole namespace in place of wishes of an HPA.
    pub(super) fn listed_with(hpa: &Hpa, scale: Option<&Scale>) -> impl Iterator<Item = Self> {
        let has_sets = scale.is_some() && has_replica_sets(&hpa.spec.scale_target_ref);
        let owned = hpa.scaled_object();
        let scaled_objects = owned.map(|_| Self::scaled_objects(&hpa.namespace));
        has_sets
            .then_some(OF_PODS)
            .into_iter()
            .chain(scaled_objects)
    }

    /// Returns the requests for the APIServices of the metrics APIs that fail, and for the list of the external
    /// one.
    pub(super) fn failing_apis(
        hpa: &Hpa,
        discovery: &Result<Discovery, Failure>,
    ) -> impl Iterator<Item = Self> {
        let services = failing_apis(hpa, discovery).map(|name| {
            let path = format!(
                "/apis/apiregistration.k8s.io/v1/apiservices/{}",
                segment(&name)
            );
            Self {
                path,
                adds: UnknownFact::Findings("metrics-api-unavailable"),
            }
        });
        services.chain(asks_for_names(hpa).then(|| Self {
            path: EXTERNAL_METRICS.to_owned(),
            adds: UnknownFact::Findings("metric-not-found"),
        }))
    }

    /// The ScaledObject that owns an HPA, if one does.
    pub(super) fn scaled_object(hpa: &Hpa) -> Option<Self> {
        let owner = hpa.scaled_object()?;
        let path = format!(
            "{}/{}",
            scaled_objects(&hpa.namespace),
            segment(&owner.name)
        );
        Some(Self { path, ..OF_KEDA })
    }

    /// The VerticalPodAutoscalers of one or all namespaces.
    pub(super) fn vertical_pod_autoscalers(namespace: Option<&str>) -> Self {
        let api = "/apis/autoscaling.k8s.io/v1";
        Self {
            path: collection(api, namespace, "verticalpodautoscalers"),
            adds: UnknownFact::VerticalPodAutoscalers,
        }
    }

    /// Returns the request for the ScaledObjects of a namespace, one of which may have removed its HPA.
    pub(super) fn scaled_objects(namespace: &str) -> Self {
        Self {
            path: scaled_objects(namespace),
            ..OF_KEDA
        }
    }
}

/// Returns the names of the APIServices of those metrics APIs that fail according to discovery or the last
/// status.
pub(super) fn failing_apis(
    hpa: &Hpa,
    discovery: &Result<Discovery, Failure>,
) -> impl Iterator<Item = String> {
    let is_listed = move |group| group == EXTERNAL && asks_for_names(hpa);
    let groups = [RESOURCE, CUSTOM, EXTERNAL].into_iter();
    groups
        .filter(move |group| uses(hpa, group) && !is_listed(*group))
        .filter_map(move |group| {
            let stale = discovery.as_ref().ok().and_then(|it| it.stale(group));
            let used = match group {
                CUSTOM => custom_version(discovery).unwrap_or("v1beta1"),
                _ => "v1beta1",
            };
            let version = stale.or_else(|| hpa.lacked_values_of(group).then_some(used))?;
            Some(format!("{version}.{group}"))
        })
}

/// Whether the external metrics API may not know a metric, according to the last status or because there is
/// none. KEDA's API lists no names, so HPAs of KEDA do not ask.
fn asks_for_names(hpa: &Hpa) -> bool {
    let is_open = match hpa.status.condition("ScalingActive") {
        // No pass has evaluated the metrics.
        None => true,
        // A metric has no value, and the message is about no metric or about the first that fails.
        Some(active) => {
            let says = |words: &str| active.status != "False" || active.message.contains(words);
            hpa.lacked_values_of(EXTERNAL) && (says("could not find") || says("not found"))
        }
    };
    is_open && uses(hpa, EXTERNAL) && hpa.scaled_object().is_none()
}

/// Keeps the entries in the list of the external metrics API that concern failed metrics, for an HPA that
/// requests the list.
pub(super) fn keep_names(
    surroundings: &mut Surroundings,
    hpa: &Hpa,
    answers: &[MetricAnswer],
    objects: &Objects,
) {
    if asks_for_names(hpa) {
        let served = |group| objects.served_metrics(group, &hpa.namespace);
        surroundings.keep_served(&hpa.spec.metrics, answers, served);
    }
}

/// The findings that need the target.
const OF_TARGET: UnknownFact = UnknownFact::Findings("other-writer, old-revision-pods and others");
/// The findings that need the ReplicaSets of pods.
pub(super) const OF_REPLICA_SETS: UnknownFact =
    UnknownFact::Findings("foreign-pods and old-revision-pods");
const OF_PODS: Wish = Wish {
    path: String::new(),
    adds: OF_REPLICA_SETS,
};
const OF_KEDA: Wish = Wish {
    path: String::new(),
    adds: UnknownFact::Findings("paused-by-keda"),
};

/// Returns the resource of a target, if its kind is supported.
pub(super) fn resource(target: &CrossVersionObjectReference) -> Option<Resource> {
    match (target.group(), &*target.kind) {
        ("argoproj.io", _) if target.is_kind("Rollout") => {
            Some(Resource::new("argoproj.io", "v1alpha1", "rollouts"))
        }
        (group, kind) if is_built_in(group, kind) => built_in(group, kind),
        _ => None,
    }
}

/// Whether the pods of a target belong to its ReplicaSets.
pub(super) fn has_replica_sets(target: &CrossVersionObjectReference) -> bool {
    match target.group() {
        "apps" => target.is_kind("Deployment"),
        group => group == "argoproj.io" && target.is_kind("Rollout"),
    }
}

/// Whether what adds a fact exists.
fn exists(adds: UnknownFact) -> bool {
    [OF_TARGET, OF_REPLICA_SETS].contains(&adds)
}

/// Returns the path of the ReplicaSets that a selector matches, or of all of them if it is empty.
pub(super) fn replica_sets_path(namespace: &str, selector: &str) -> String {
    collection("/apis/apps/v1", Some(namespace), "replicasets")
        + &query(&[("labelSelector", selector)])
}

fn scaled_objects(namespace: &str) -> String {
    collection("/apis/keda.sh/v1alpha1", Some(namespace), "scaledobjects")
}

/// The answers that have arrived so far.
#[derive(Default)]
pub(super) struct SurroundingAnswers {
    /// The paths, or lists of several, each with the findings that are left out and the reason, if they are.
    asked: RefCell<BTreeMap<String, Option<(UnknownFact, UnknownFactCause)>>>,
    objects: RefCell<Objects>,
}

impl SurroundingAnswers {
    /// Returns the objects of a namespace.
    pub(super) fn of(&self, namespace: &str) -> Surroundings {
        surroundings(&self.objects.borrow(), namespace, namespace)
    }

    /// Waits for a list that findings need; they are left out until it arrives.
    pub(super) async fn awaiting<T>(&self, adds: UnknownFact, list: impl Future<Output = T>) -> T {
        let left_out = |why| _ = self.asked.borrow_mut().insert(String::new(), why);
        left_out(Some((adds, UnknownFactCause::Late)));
        let listed = list.await;
        left_out(None);
        listed
    }

    /// Returns notes about answers that have not arrived, except for missing rights.
    pub(super) fn unlearnt(&self) -> Vec<Note> {
        notes(self.asked.borrow().values().flatten())
    }

    /// Returns those notes that are about some wishes.
    pub(super) fn unlearnt_of(&self, wishes: &[Wish]) -> Vec<Note> {
        let paths: BTreeSet<&str> = wishes.iter().map(|wish| &*wish.path).collect();
        let asked = self.asked.borrow();
        notes(paths.iter().filter_map(|path| asked.get(*path)?.as_ref()))
    }

    /// Forgets why nothing came for a wish, if that explains nothing.
    pub(super) fn forget(&self, wish: &Wish) {
        self.asked.borrow_mut().remove(&wish.path);
    }

    /// Whether a wish was sent.
    pub(super) fn has_asked(&self, wish: &Wish) -> bool {
        self.asked.borrow().contains_key(&wish.path)
    }

    /// Removes and returns the VerticalPodAutoscalers.
    pub(super) fn take_vpas(&self) -> Vec<VerticalPodAutoscaler> {
        std::mem::take(&mut self.objects.borrow_mut().vertical_pod_autoscalers)
    }

    /// Returns the objects.
    pub(super) fn objects(&self) -> Ref<'_, Objects> {
        self.objects.borrow()
    }
}

/// Returns a note about each of some unknown facts.
fn notes<'a>(unknown: impl Iterator<Item = &'a (UnknownFact, UnknownFactCause)>) -> Vec<Note> {
    let mut notes = Vec::new();
    for (adds, why) in unknown {
        let note = Note::not_known(*adds, why);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

impl Fetch<'_> {
    /// Fetches the wishes into `answers`, until no more can be sent.
    pub(super) async fn surroundings(
        &self,
        mut wishes: UnboundedReceiver<Wish>,
        answers: &SurroundingAnswers,
    ) {
        let wishes = stream::poll_fn(move |context| wishes.poll_recv(context));
        let fetch = async |wish| _ = self.surrounding(wish, answers).await;
        wishes.for_each_concurrent(AT_ONCE, fetch).await;
    }

    /// Fetches one wish. Returns false if it is refused.
    pub(super) async fn surrounding(
        &self,
        Wish { path, adds }: Wish,
        answers: &SurroundingAnswers,
    ) -> bool {
        // Several metrics of one API share one cause.
        if answers.asked.borrow().contains_key(&path) {
            return true;
        }
        let left_out = |why| _ = answers.asked.borrow_mut().insert(path.clone(), why);
        left_out(Some((adds, UnknownFactCause::Late)));
        let why = match self.session.get(&path).await {
            Ok(response) => {
                let read = self.read_objects(&path, &response.body, answers).await;
                let failed = |cause| UnknownFactCause::Failed(self.session.struck(cause));
                read.err().map(failed)
            }
            Err(failure) if self.leave_out(adds, &failure) => {
                left_out(None);
                return false;
            }
            // There is nothing of that kind or name. Where it matters, targets exist, and so do lists of ReplicaSets.
            Err(failure) if failure.is_not_found() && !exists(adds) => None,
            // The metrics themselves are answered likewise.
            Err(_) if path == EXTERNAL_METRICS => None,
            Err(failure) => Some(cause(&failure)),
        };
        left_out(why.map(|why| (adds, why)));
        true
    }

    /// Reads the objects of an answer into `answers`, as far as they can be read.
    async fn read_objects(
        &self,
        path: &str,
        body: &Body,
        answers: &SurroundingAnswers,
    ) -> Result<(), String> {
        let origin = path.to_owned();
        let read = self.session.read(body, move |body| {
            let mut objects = Objects::default();
            let read = json::text(body).and_then(|text| {
                file::read_answer(&text, &origin, &mut objects).map_err(|e| e.message)?;
                // Nothing else was requested.
                let other = objects.skipped.keys().next();
                other.map_or(Ok(()), |(kind, _)| {
                    Err(format!("failed to read {origin}: its kind is {kind:?}"))
                })
            });
            (objects, read)
        });
        let (objects, read) = read.await.map_err(|e| e.to_string())?;
        answers.objects.borrow_mut().append(objects);
        read
    }

    /// Records the findings that are left out, if a right is missing. Returns whether it is.
    pub(super) fn leave_out(&self, adds: UnknownFact, failure: &Failure) -> bool {
        let right = missing(failure);
        if let Some(right) = &right {
            let advice = right.advice();
            self.session.note_once(match adds {
                UnknownFact::Findings(codes) => {
                    format!("left out findings such as {codes}: {advice}")
                }
                adds => format!("{adds}: {advice}"),
            });
        }
        right.is_some()
    }

    /// Fetches some wishes.
    pub(super) async fn surround(
        &self,
        wishes: impl Iterator<Item = Wish>,
        answers: &SurroundingAnswers,
    ) {
        let fetch = async |wish| _ = self.surrounding(wish, answers).await;
        stream::iter(wishes)
            .for_each_concurrent(AT_ONCE, fetch)
            .await;
    }
}
