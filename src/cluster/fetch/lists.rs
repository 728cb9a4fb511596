//! The objects that the HPAs of one namespace need, listed for all of them at once: their targets, and the
//! pods, the usage and the ReplicaSets behind their selectors. What a list says of an HPA is the answer to
//! its own wish. A list is not read if it would have more pages than it answers questions, or if it is
//! refused and its questions need another right: these are asked one by one. So are the questions of a list
//! that fails, because the controller never requests it: only a failure that does not depend on the request
//! applies to all. Any other question of two HPAs is asked once.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream;

use super::super::Failure;
use super::discovery::Resource;
use super::pages::{PageReader, selected_pods};
use super::right::{cause, missing};
use super::surroundings::{SurroundingAnswers, Wish, replica_sets_path, resource};
use super::{Awaited, Fetch};
use crate::apimachinery::selector::{Labels, Selectors};
use crate::cluster::http::Response;
use crate::cluster::http::retry::Patience;
use crate::saved::file;
use crate::saved::objects::Objects;
use crate::snapshot::Scale;
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::pod::Pod;
use crate::snapshot::right::{MissingRight, UnknownFact, UnknownFactCause};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::Workload;

/// Objects by the selectors that match them.
type BySelector<T> = HashMap<String, Vec<T>>;

/// The objects that were listed for the HPAs of a namespace. Others are requested HPA by HPA.
#[derive(Default)]
pub(super) struct Lists {
    /// The targets, by resource and name.
    targets: OnceCell<HashMap<String, BTreeMap<String, Workload>>>,
    pods: OnceCell<Result<BySelector<Shared<Pod>>, Failure>>,
    pod_metrics: OnceCell<Result<BySelector<Shared<PodMetrics>>, Failure>>,
    /// The number of pages of targets and ReplicaSets that were read.
    pages: Arc<AtomicUsize>,
    /// The answers of the metrics APIs, by path.
    answers: RefCell<HashMap<String, Rc<Awaited<Response>>>>,
    /// The rights that lists of targets lacked.
    refused: RefCell<Vec<MissingRight>>,
}

impl Lists {
    /// Returns the objects of the kind of an HPA's target by name, if they were listed.
    pub(super) fn targets(&self, hpa: &Hpa) -> Option<&BTreeMap<String, Workload>> {
        let resource = resource(&hpa.spec.scale_target_ref)?;
        self.targets.get()?.get(&resource.group_resource())
    }

    /// Returns the pods that a selector matches, if they were listed.
    pub(super) fn pods(&self, selector: &str) -> Option<Result<Vec<Shared<Pod>>, Failure>> {
        found(&self.pods, selector)
    }

    /// Returns the usage of these pods, if it was listed.
    pub(super) fn pod_metrics(
        &self,
        selector: &str,
    ) -> Option<Result<Vec<Shared<PodMetrics>>, Failure>> {
        found(&self.pod_metrics, selector)
    }

    /// Returns the number of pages of targets and ReplicaSets that were read so far.
    pub(super) fn pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    /// Returns the answer to a request that others may make, too.
    pub(super) fn answer(&self, path: &str) -> Rc<Awaited<Response>> {
        Rc::clone(
            self.answers
                .borrow_mut()
                .entry(path.to_owned())
                .or_default(),
        )
    }

    /// Takes the rights that lists lacked, so that more requests were made than necessary.
    pub(super) fn take_refused(&self) -> Vec<MissingRight> {
        self.refused.take()
    }
}

fn found<T: Clone>(
    listed: &OnceCell<Result<BySelector<T>, Failure>>,
    selector: &str,
) -> Option<Result<Vec<T>, Failure>> {
    match listed.get()? {
        Ok(listed) => listed.get(selector).cloned().map(Ok),
        Err(failure) => Some(Err(failure.clone())),
    }
}

/// The selectors of several HPAs, each once.
struct AskedSelectors {
    texts: Vec<String>,
    selectors: Selectors,
}

impl AskedSelectors {
    /// Collects the selectors of those scales that have one; `None` if there are fewer than two such scales.
    fn of<'s>(scales: impl Iterator<Item = &'s Scale>) -> Option<Arc<Self>> {
        let mut asked = BTreeMap::new();
        let mut several = false;
        for Scale { selector, .. } in scales {
            if let (false, Ok(parsed)) = (selector.as_str().is_empty(), selector.parsed()) {
                several = !asked.is_empty();
                asked.insert(selector.as_str(), parsed);
            }
        }
        if !several {
            return None;
        }
        let texts = asked.keys().map(|text| (*text).to_owned()).collect();
        let selectors = Selectors::new(asked.into_values().cloned());
        Some(Arc::new(Self { texts, selectors }))
    }

    /// Returns the selector of a list that has the objects of all of them: the only one, or the empty one.
    fn common(&self) -> &str {
        match &self.texts[..] {
            [one] => one,
            _ => "",
        }
    }

    /// Returns the number of pages that may be read: at most one for each question, but any number for a single
    /// question, which has to be asked.
    fn most(&self) -> usize {
        if self.texts.len() == 1 {
            usize::MAX
        } else {
            self.texts.len()
        }
    }

    /// Sorts objects by the selectors that match them.
    fn sort<T: Clone>(
        &self,
        objects: Vec<T>,
        labels: impl for<'o> Fn(&'o T) -> &'o Labels,
    ) -> BySelector<T> {
        let mut sorted: Vec<Vec<T>> = self.texts.iter().map(|_| Vec::new()).collect();
        for object in objects {
            let mut places: BTreeSet<usize> = self.selectors.matching(labels(&object)).collect();
            let last = places.pop_last();
            for place in places {
                sorted[place].push(object.clone());
            }
            if let Some(last) = last {
                sorted[last].push(object);
            }
        }
        self.texts.iter().cloned().zip(sorted).collect()
    }
}

impl Fetch<'_> {
    /// Lists the targets of HPAs, kind by kind.
    pub(super) async fn list_targets(&self, hpas: impl Iterator<Item = &Hpa>, lists: &Lists) {
        let mut names: BTreeMap<String, (Resource, BTreeSet<String>)> = BTreeMap::new();
        for hpa in hpas {
            let target = &hpa.spec.scale_target_ref;
            if let Some(resource) = resource(target) {
                let key = resource.group_resource();
                let (_, names) = names.entry(key).or_insert((resource, BTreeSet::new()));
                names.insert(target.name.clone());
            }
        }
        let mut targets = HashMap::new();
        for (key, (resource, names)) in names {
            let most = names.len();
            if most < 2 {
                continue;
            }
            let path = resource.collection(self.namespace);
            let listed = self.workloads(&path, list_kind(&resource), most, move |workload| {
                // For other workloads, only the names may matter.
                if !names.contains(&workload.metadata.name) {
                    workload.template = None;
                }
                true
            });
            match listed.await {
                Ok(Some(listed)) => {
                    let named = |it: Workload| (it.metadata.name.clone(), it);
                    targets.insert(key, listed.into_iter().map(named).collect());
                }
                Ok(None) => {}
                Err(failure) => lists.refused.borrow_mut().extend(missing(&failure)),
            }
        }
        let _ = lists.targets.set(targets);
    }

    /// Fetches the ReplicaSets behind the pods of HPAs, together if possible.
    pub(super) async fn replica_sets<'a>(
        &self,
        scaled: impl Iterator<Item = (&'a Hpa, &'a Scale)>,
        answers: &SurroundingAnswers,
    ) {
        let wished: Vec<(Wish, &Scale)> = scaled
            .filter_map(|(hpa, scale)| {
                Some((Wish::replica_sets(hpa, scale.selector.as_str())?, scale))
            })
            .collect();
        let list = self.list_replica_sets(wished.iter().map(|(_, scale)| *scale));
        let listed = answers.awaiting(wished.iter().map(|(wish, _)| wish), list);
        let Some(mut listed) = listed.await else {
            let wishes = wished.into_iter().map(|(wish, _)| wish);
            return self.surround(stream::iter(wishes), answers).await;
        };
        for (wish, scale) in wished {
            match &mut listed {
                Ok(listed) => {
                    if let Some(sets) = listed.remove(scale.selector.as_str()) {
                        answers.answer(&wish, sets);
                    }
                }
                Err(why) => answers.leave_out(&wish, why.clone()),
            }
        }
    }

    /// Lists the ReplicaSets behind scales, or returns the right that is missing for it; `None` if they have to be
    /// requested one by one.
    async fn list_replica_sets(
        &self,
        scales: impl Iterator<Item = &Scale>,
    ) -> Option<Result<BySelector<Workload>, UnknownFactCause>> {
        let asked = AskedSelectors::of(scales)?;
        let path = replica_sets_path(self.namespace, asked.common());
        let selects = {
            let asked = Arc::clone(&asked);
            move |it: &mut Workload| asked.selectors.any_matches(&it.metadata.labels)
        };
        match self
            .workloads(&path, "ReplicaSetList", asked.most(), selects)
            .await
        {
            Ok(listed) => Some(Ok(asked.sort(listed?, |it| &it.metadata.labels))),
            Err(failure) if self.leave_out(UnknownFact::OF_REPLICA_SETS, &failure) => {
                Some(Err(cause(&failure)))
            }
            Err(_) => None,
        }
    }

    /// Lists the objects at a path that `keeps` keeps, for `most` requests; `None` if these have to be made one
    /// by one.
    async fn workloads(
        &self,
        path: &str,
        kind: &str,
        most: usize,
        keeps: impl Fn(&mut Workload) -> bool + Send + Sync + 'static,
    ) -> Result<Option<Vec<Workload>>, Failure> {
        let pages = self
            .lists
            .map(|lists| Arc::clone(&lists.pages))
            .unwrap_or_default();
        let reader = PageReader::new(move |page, elements| {
            pages.fetch_add(1, Ordering::Relaxed);
            let text = std::str::from_utf8(page).map_err(|e| e.to_string())?;
            let mut objects = Objects::default();
            file::read_page(text, "the list", elements, &mut objects).map_err(|e| e.message)?;
            objects.workloads.retain_mut(&keeps);
            Ok(objects.workloads)
        });
        let listed = self.pages_of(path, kind, most, reader).await?;
        Ok(listed.map(|(listed, _)| listed))
    }

    /// Lists the pods of HPAs with their usage.
    pub(super) async fn list_pods<'a>(
        &self,
        scaled: impl Iterator<Item = (&'a Hpa, &'a Scale)> + Clone,
        lists: &Lists,
    ) {
        let asked = AskedSelectors::of(scaled.clone().map(|(_, scale)| scale));
        let uses = |(hpa, _): &(&Hpa, _)| hpa.spec.metrics.iter().any(MetricSpec::is_resource);
        let measured = AskedSelectors::of(scaled.filter(uses).map(|(_, scale)| scale));
        let Some(asked) = asked else { return };
        let reader = {
            let asked = Arc::clone(&asked);
            selected_pods(move |pod| asked.selectors.any_matches(&pod.labels))
        };
        let path = self.pods_path(asked.common());
        let pods = match self.pages_of(&path, "PodList", asked.most(), reader).await {
            Ok(Some((pods, _))) => Ok(pods),
            Err(failure) if fails_for_all(&failure) => Err(failure),
            // Their usage would be as long, or may fail for the same reason.
            Ok(None) | Err(_) => return,
        };
        if let Some(measured) = measured
            && let Some(usage) = labelled(self.usage_of(measured.common()).await, &pods)
        {
            let _ = lists
                .pod_metrics
                .set(usage.map(|usage| measured.sort(usage, |item| &item.labels)));
        }
        let _ = lists
            .pods
            .set(pods.map(|pods| asked.sort(pods, |pod| &pod.labels)));
    }

    /// Requests a metrics API as the controller does, once for all HPAs of a namespace.
    pub(super) async fn metrics_answer(&self, path: &str) -> Result<Response, Failure> {
        let answer = self.session.get_with(path, Patience::Controllers);
        self.once(path, answer).await
    }

    /// Requests an object once for all HPAs of a namespace.
    pub(super) async fn answer(&self, path: &str) -> Result<Response, Failure> {
        self.once(path, self.session.get(path)).await
    }

    async fn once(
        &self,
        path: &str,
        answer: impl Future<Output = Result<Response, Failure>>,
    ) -> Result<Response, Failure> {
        match self.lists.map(|lists| lists.answer(path)) {
            Some(known) => known.get_or_init(|| answer).await.clone(),
            None => answer.await,
        }
    }
}

/// Whether a request would have failed in the same way for any object of the API: it is refused, or there
/// is no such API now.
fn fails_for_all(failure: &Failure) -> bool {
    matches!(failure.status(), Some(403 | 404 | 503))
}

/// Returns the kind of a list of targets.
fn list_kind(resource: &Resource) -> &'static str {
    match &*resource.name {
        "deployments" => "DeploymentList",
        "replicasets" => "ReplicaSetList",
        "statefulsets" => "StatefulSetList",
        "replicationcontrollers" => "ReplicationControllerList",
        _ => "RolloutList",
    }
}

/// Returns the usage with the labels of its pods, if it has no labels itself; `None` if the selectors have
/// to be requested one by one.
fn labelled(
    usage: Result<Vec<Shared<PodMetrics>>, Failure>,
    pods: &Result<Vec<Shared<Pod>>, Failure>,
) -> Option<Result<Vec<Shared<PodMetrics>>, Failure>> {
    let mut usage = match usage {
        Ok(usage) => usage,
        Err(failure) => return fails_for_all(&failure).then_some(Err(failure)),
    };
    if usage.iter().any(|item| item.labels.is_empty()) {
        let Ok(pods) = pods else { return None };
        let labels: HashMap<&str, &Shared<Labels>> =
            pods.iter().map(|pod| (&*pod.name, &pod.labels)).collect();
        for item in usage.iter_mut().filter(|item| item.labels.is_empty()) {
            if let Some(labels) = labels.get(&*item.name) {
                item.labels = (*labels).clone();
            }
        }
    }
    Some(Ok(usage))
}
