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

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use futures_util::{Stream, StreamExt};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

use super::discovery::{Discovery, Resource, built_in, collection};
use super::metrics::{EXTERNAL_METRICS, custom_version};
use super::right::{cause, missing};
use super::{Fetch, uses};
use crate::apimachinery::json;
use crate::apimachinery::names::{query, segment};
use crate::cluster::Failure;
use crate::cluster::http::body::Body;
use crate::cluster::observed::Observed;
use crate::saved::assemble::is_built_in;
use crate::saved::file;
use crate::saved::objects::Objects;
use crate::snapshot::Scale;
use crate::snapshot::hpa::{CUSTOM, CrossVersionObjectReference, EXTERNAL, Hpa, RESOURCE};
use crate::snapshot::note::Note;
use crate::snapshot::right::{UnknownFact, UnknownFactCause, such};
use crate::snapshot::surroundings::Workload;

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
            adds: UnknownFact::OF_TARGET,
        })
    }

    /// The other objects of the kind of a target that does not exist.
    pub(super) fn in_place_of_target(hpa: &Hpa) -> Option<Self> {
        let all = resource(&hpa.spec.scale_target_ref)?.collection(&hpa.namespace);
        Some(Self {
            path: format!("{all}?limit={MANY}"),
            adds: UnknownFact::OF_OTHER_TARGETS,
        })
    }

    /// The ReplicaSets behind the pods of a selector.
    pub(super) fn replica_sets(hpa: &Hpa, selector: &str) -> Option<Self> {
        let path = replica_sets_path(&hpa.namespace, selector);
        has_replica_sets(&hpa.spec.scale_target_ref).then_some(Self {
            path,
            adds: UnknownFact::OF_REPLICA_SETS,
        })
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

    /// Returns all of these requests, with the list that may have been requested in place of one of them.
    pub(super) fn all(
        hpa: &Hpa,
        scale: Option<&Scale>,
        discovery: &Result<Discovery, Failure>,
    ) -> Vec<Self> {
        let owned = hpa.scaled_object();
        let scaled_objects = owned.map(|_| Self::scaled_objects(&hpa.namespace));
        Self::of(hpa)
            .chain(Self::behind(hpa, scale, discovery))
            .chain(scaled_objects)
            .collect()
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
                adds: UnknownFact::OF_API_SERVICE,
            }
        });
        services.chain(asks_for_names(hpa).then(|| Self {
            path: EXTERNAL_METRICS.to_owned(),
            adds: UnknownFact::OF_METRIC_NAMES,
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
        let adds = UnknownFact::OF_SCALED_OBJECT;
        Some(Self { path, adds })
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
            adds: UnknownFact::OF_SCALED_OBJECT,
        }
    }
}

/// Returns the names of the APIServices of those metrics APIs that fail according to discovery or the last
/// status.
fn failing_apis(hpa: &Hpa, discovery: &Result<Discovery, Failure>) -> impl Iterator<Item = String> {
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
    [UnknownFact::OF_TARGET, UnknownFact::OF_REPLICA_SETS].contains(&adds)
}

/// Returns the path of the ReplicaSets that a selector matches, or of all of them if it is empty.
pub(super) fn replica_sets_path(namespace: &str, selector: &str) -> String {
    collection("/apis/apps/v1", Some(namespace), "replicasets")
        + &query(&[("labelSelector", selector)])
}

fn scaled_objects(namespace: &str) -> String {
    collection("/apis/keda.sh/v1alpha1", Some(namespace), "scaledobjects")
}

/// The answers to wishes that have arrived so far, by path.
#[derive(Default)]
pub(super) struct SurroundingAnswers(RefCell<HashMap<String, WishAnswer>>);

/// What has come for a wish.
#[derive(Default)]
struct WishAnswer {
    objects: Objects,
    /// The findings that are left out and the reason, if they are.
    left_out: Option<(UnknownFact, UnknownFactCause)>,
}

impl SurroundingAnswers {
    /// Adds to a pass what came for its wishes: the objects, in the order of the wishes, and notes about what has
    /// not arrived.
    pub(super) fn surround(&self, observed: &mut Observed, wishes: &[Wish]) {
        let Observed { hpa, scale, .. } = observed;
        let answers = self.0.borrow();
        let came = || {
            let answers = wishes.iter().filter_map(|wish| answers.get(&wish.path));
            answers.map(|answer| &answer.objects)
        };
        let mut workloads: Vec<Workload> = came().flat_map(|it| &it.workloads).cloned().collect();
        if scale.is_err() {
            // Only names are needed to suggest another target.
            workloads.iter_mut().for_each(|it| it.template = None);
        }
        let owner = hpa.scaled_object();
        let scaled_objects = came().flat_map(|it| &it.scaled_objects);
        let owners = scaled_objects
            .filter(|it| owner.is_some_and(|owner| owner.name == it.metadata.name))
            .cloned();
        let vpas = came().flat_map(|it| &it.vertical_pod_autoscalers).cloned();
        let api_services = came().flat_map(|it| &it.api_services).cloned();
        let around = &mut observed.surroundings;
        around.workloads = workloads.into();
        around.scaled_objects = owners.collect::<Vec<_>>().into();
        around.vertical_pod_autoscalers = vpas.collect::<Vec<_>>().into();
        around.api_services = api_services.collect::<Vec<_>>().into();
        if let Some(names) = answers.get(EXTERNAL_METRICS)
            && asks_for_names(hpa)
        {
            let served = |group| names.objects.served_metrics(group, &hpa.namespace);
            around.keep_served(&hpa.spec.metrics, &observed.metrics, served);
        }
        // A target without a scale would explain nothing.
        let explains = |wish: &&Wish| scale.is_ok() || wish.adds != UnknownFact::OF_TARGET;
        around.unread = self.unread(wishes.iter().filter(explains));
        observed.notes.extend(unlearnt(&around.unread));
    }

    /// Returns each fact that is unknown because wishes have no answer, with the reason.
    pub(super) fn unread<'w>(
        &self,
        wishes: impl Iterator<Item = &'w Wish>,
    ) -> Vec<(UnknownFact, UnknownFactCause)> {
        let paths: BTreeSet<&str> = wishes.map(|wish| &*wish.path).collect();
        let answers = self.0.borrow();
        let mut unread = Vec::new();
        for left_out in paths
            .iter()
            .filter_map(|path| answers.get(*path)?.left_out.as_ref())
        {
            if !unread.contains(left_out) {
                unread.push(left_out.clone());
            }
        }
        unread
    }

    /// Waits for a list that answers wishes; what they add is left out until it arrives.
    pub(super) async fn awaiting<'w, T>(
        &self,
        wishes: impl Iterator<Item = &'w Wish> + Clone,
        list: impl Future<Output = T>,
    ) -> T {
        for wish in wishes.clone() {
            self.leave_out(wish, UnknownFactCause::Late);
        }
        let listed = list.await;
        wishes.for_each(|wish| self.forget(wish));
        listed
    }

    /// Answers a wish with objects that were listed.
    pub(super) fn answer(&self, wish: &Wish, workloads: Vec<Workload>) {
        let objects = Objects {
            workloads,
            ..Objects::default()
        };
        self.put(&wish.path, objects, None);
    }

    fn put(&self, path: &str, objects: Objects, left_out: Option<(UnknownFact, UnknownFactCause)>) {
        let answer = WishAnswer { objects, left_out };
        self.0.borrow_mut().insert(path.to_owned(), answer);
    }

    /// Leaves out what a wish adds.
    pub(super) fn leave_out(&self, wish: &Wish, why: UnknownFactCause) {
        self.put(&wish.path, Objects::default(), Some((wish.adds, why)));
    }

    /// Removes what came for a wish that others replace.
    pub(super) fn forget(&self, wish: &Wish) {
        self.0.borrow_mut().remove(&wish.path);
    }

    /// Whether a wish was made.
    pub(super) fn has_asked(&self, wish: &Wish) -> bool {
        self.0.borrow().contains_key(&wish.path)
    }

    /// Leaves out what a wish adds until it is answered; returns false if it was made before.
    fn begin(&self, wish: &Wish) -> bool {
        let is_new = !self.has_asked(wish);
        if is_new {
            self.leave_out(wish, UnknownFactCause::Late);
        }
        is_new
    }

    /// Removes and returns the objects that came for a wish.
    pub(super) fn take(&self, wish: &Wish) -> Objects {
        let mut answers = self.0.borrow_mut();
        let answer = answers.get_mut(&wish.path);
        answer
            .map(|it| std::mem::take(&mut it.objects))
            .unwrap_or_default()
    }
}

/// Returns a note about each fact that is unknown, except for missing rights.
pub(super) fn unlearnt(unread: &[(UnknownFact, UnknownFactCause)]) -> impl Iterator<Item = Note> {
    let failed = unread
        .iter()
        .filter(|(_, why)| !matches!(why, UnknownFactCause::MissingRight(_)));
    failed.map(|(fact, why)| Note::not_known(*fact, why))
}

impl Fetch<'_> {
    /// Fetches one wish. Returns false if it is refused.
    pub(super) async fn surrounding(&self, wish: Wish, answers: &SurroundingAnswers) -> bool {
        !answers.begin(&wish) || self.begun(wish, answers).await
    }

    async fn begun(&self, wish: Wish, answers: &SurroundingAnswers) -> bool {
        let Wish { path, adds } = wish;
        let mut objects = Objects::default();
        let mut is_refused = false;
        let why = match self.session.get(&path).await {
            Ok(response) => {
                let read = self.read_objects(&path, &response.body).await;
                let (read, fault) = read.unwrap_or_else(|e| (Objects::default(), Some(e)));
                objects = read;
                fault.map(|cause| UnknownFactCause::Failed(self.session.struck(cause)))
            }
            Err(failure) if self.leave_out(adds, &failure) => {
                is_refused = true;
                Some(cause(&failure))
            }
            // There is nothing of that kind or name. Where it matters, targets exist, and so do lists of ReplicaSets.
            Err(failure) if failure.is_not_found() && !exists(adds) => None,
            // The metrics themselves are answered likewise.
            Err(_) if path == EXTERNAL_METRICS => None,
            Err(failure) => Some(cause(&failure)),
        };
        answers.put(&path, objects, why.map(|why| (adds, why)));
        !is_refused
    }

    /// Returns the objects of an answer that can be read, and the reason why the rest cannot.
    async fn read_objects(
        &self,
        path: &str,
        body: &Body,
    ) -> Result<(Objects, Option<String>), String> {
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
            (objects, read.err())
        });
        read.await.map_err(|e| e.to_string())
    }

    /// Records the findings that are left out, if a right is missing. Returns whether it is.
    pub(super) fn leave_out(&self, adds: UnknownFact, failure: &Failure) -> bool {
        let right = missing(failure);
        if let Some(right) = &right {
            let advice = right.advice();
            self.session.note_once(match adds {
                UnknownFact::Findings(codes) => {
                    format!("left out {}: {advice}", such(codes))
                }
                adds => format!("{adds}: {advice}"),
            });
        }
        right.is_some()
    }

    /// Fetches some wishes. Those that wait for their turn are late, too.
    pub(super) async fn surround(
        &self,
        wishes: impl Stream<Item = Wish>,
        answers: &SurroundingAnswers,
    ) {
        let turns = &Semaphore::new(AT_ONCE);
        wishes
            .for_each_concurrent(None, async |wish| {
                // Several metrics of one API share one cause.
                if answers.begin(&wish) {
                    let _turn = turns.acquire().await;
                    self.begun(wish, answers).await;
                }
            })
            .await;
    }
}
