//! The answers for the HPAs of one namespace. What their passes have in common is fetched once.

use std::collections::{BTreeSet, HashSet};
use std::future::ready;

use futures_util::{FutureExt, StreamExt, stream};
use tokio::sync::OnceCell;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio::{join, pin};

use super::super::{Failure, Session};
use super::common::{Common, Whole};
use super::control_plane::come;
use super::items::HpaItem;
use super::lists::Lists;
use super::optional::{other, version_of};
use super::scale::FetchedScale;
use super::surroundings::{MANY, SurroundingAnswers, Wish, unlearnt};
use super::{AT_ONCE, Awaited, Fetch, GRACE, LONG, More, ReadingTime, beside, share_with_none};
use crate::apimachinery::selector::Selectors;
use crate::cluster::observed::Observed;
use crate::error::Error;
use crate::snapshot::control_plane::ControlPlane;
use crate::snapshot::evidence::{Event, Evidence};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::neighbour::{OtherHpa, UnknownSelector};
use crate::snapshot::note::Note;
use crate::snapshot::right::{MissingRight, UnknownFact, UnknownFactCause};
use crate::snapshot::selection::Selection;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::Workload;
use crate::snapshot::{Listed, Scale};

/// A namespace of a list, with what is fetched once for all of its HPAs.
struct ListedNamespace<'s, 'w> {
    fetch: Fetch<'s>,
    common: &'s Common,
    whole: &'s Whole<'w>,
    lists: &'s Lists,
    answers: SurroundingAnswers,
    /// The events, if those of all namespaces are refused.
    events: Awaited<Vec<Event>>,
}

/// The optional answers that the HPAs of a namespace share.
struct Optional {
    version: Option<String>,
    evidence: Evidence,
    control_plane: ControlPlane,
    /// What has not arrived.
    notes: Vec<Note>,
}

/// The HPAs of a namespace with the scales of their targets.
type Scaled<'s> = [(&'s HpaItem, Result<FetchedScale, Failure>)];

/// Returns the requested HPAs that can be read.
fn wanted<'s>(
    scales: &'s Scaled<'_>,
) -> impl Iterator<Item = (&'s Hpa, &'s Result<FetchedScale, Failure>)> + Clone {
    let wanted = scales.iter().filter(|(item, _)| item.wanted);
    wanted.filter_map(|(item, found)| Some((item.hpa.as_ref().ok()?, found)))
}

/// Returns those whose targets have a scale.
fn scaled<'s>(scales: &'s Scaled<'_>) -> impl Iterator<Item = (&'s Hpa, &'s Scale)> + Clone {
    wanted(scales).filter_map(|(hpa, found)| Some((hpa, found.as_ref().ok()?.scale.as_ref().ok()?)))
}

/// Answers for the requested HPAs of a namespace, whose places begin at `first`; returns the rights that
/// lists lacked.
pub(super) async fn answer(
    session: &Session,
    items: &[HpaItem],
    first: usize,
    common: &Common,
    whole: &Whole<'_>,
) -> Vec<MissingRight> {
    let name = items.first().map_or("", |item| &item.namespace);
    let lists = Lists::default();
    let namespace = ListedNamespace {
        fetch: Fetch {
            lists: Some(&lists),
            ..Fetch::new(session, name)
        },
        common,
        whole,
        lists: &lists,
        answers: SurroundingAnswers::default(),
        events: OnceCell::new(),
    };
    let newer = namespace.newer(items).await;
    let (items, read) = newer
        .as_ref()
        .map_or((items, &common.read), |(items, read)| (&items[..], read));
    let scales = namespace.scales(items).await;
    let more = namespace.more(&scales).boxed_local().shared();
    let pods = namespace.fetch.list_pods(scaled(&scales), &lists);
    beside(pods, &more).await;

    let neighbours = Neighbours::of(&scales);
    let requested = scales.iter().filter(|(item, _)| item.wanted);
    let asked = (first..)
        .zip(requested)
        .map(async |(place, (item, scale))| {
            let mut observed = namespace.observed(item, scale, read).await;
            if let Ok(observed) = &mut observed {
                neighbours.beside(item, observed);
            }
            (place, item, observed)
        });
    let answers = stream::iter(asked.collect::<Vec<_>>()).buffered(AT_ONCE);
    pin!(answers);
    let arrived = OnceCell::new();
    while let Some((place, item, observed)) = beside(answers.next(), &more).await {
        let optional = arrived
            .get_or_init(|| namespace.wait_for_optional(&more))
            .await;
        let listed = Listed {
            namespace: item.namespace.clone(),
            name: item.name.clone(),
            reference: item.hpa.as_ref().map(Hpa::reference).unwrap_or_default(),
            result: observed
                .map(|observed| namespace.complete(observed, optional))
                .map_err(Error::from),
        };
        whole.progress.step();
        (whole.answers)(place, listed);
        // This lets other namespaces receive their answers, however many HPAs this one has.
        yield_now().await;
    }
    lists.take_refused()
}

impl ListedNamespace<'_, '_> {
    /// Lists the HPAs of a namespace again if its turn has come late: their status and the clock should be of
    /// the same time as the rest. HPAs that have appeared since are not explained.
    async fn newer(&self, items: &[HpaItem]) -> Option<(Vec<HpaItem>, ReadingTime)> {
        let whole = self.whole;
        if whole.namespace.is_some() || self.common.read.at.elapsed() < LONG {
            return None;
        }
        let (mut newer, date) = self
            .fetch
            .items(Some(self.fetch.namespace), &Selection::default())
            .await
            .ok()?;
        let wanted: HashSet<&str> = items
            .iter()
            .filter(|item| item.wanted)
            .map(|item| &*item.name)
            .collect();
        newer
            .iter_mut()
            .for_each(|item| item.wanted = wanted.contains(&*item.name));
        // HPAs that are gone have no answer.
        let left = newer.iter().filter(|item| item.wanted).count();
        (left..wanted.len()).for_each(|_| whole.progress.step());
        Some((newer, ReadingTime::now(date)))
    }

    /// Fetches the scales of the HPAs' targets.
    async fn scales<'i>(
        &self,
        items: &'i [HpaItem],
    ) -> Vec<(&'i HpaItem, Result<FetchedScale, Failure>)> {
        let hpas = items.iter().filter_map(|item| item.hpa.as_ref().ok());
        self.fetch.list_targets(hpas, self.lists).await;
        let scales = items.iter().map(async |item| {
            let discovery = ready(&self.common.discovery);
            let scale = match &item.hpa {
                Ok(hpa) => self.fetch.target_scale(hpa, discovery).await,
                Err(failure) => Err(failure.clone()),
            };
            (item, scale)
        });
        stream::iter(scales).buffered(AT_ONCE).collect().await
    }

    /// Fetches what only explains the passes.
    async fn more(&self, scales: &Scaled<'_>) {
        join!(
            self.own_surroundings(scales),
            self.fetch.replica_sets(scaled(scales), &self.answers),
            self.refused_everywhere(),
            self.whole.about.wait(&self.whole.more)
        );
    }

    /// Fetches those objects around the passes that were not listed for all of them.
    async fn own_surroundings(&self, scales: &Scaled<'_>) {
        let targets: Vec<Wish> = wanted(scales)
            .filter_map(|(hpa, found)| self.target(hpa, found))
            .collect();
        let apis =
            scaled(scales).flat_map(|(hpa, _)| Wish::failing_apis(hpa, self.common.discovery(hpa)));
        let scaled_objects = async {
            let owned = || wanted(scales).filter_map(|(hpa, _)| Wish::scaled_object(hpa));
            let all = Wish::scaled_objects(self.fetch.namespace);
            let is_listed = owned().nth(1).is_some()
                && self.fetch.surrounding(all.clone(), &self.answers).await;
            if !is_listed {
                self.answers.forget(&all);
                let owned = stream::iter(owned());
                self.fetch.surround(owned, &self.answers).await;
            }
        };
        join!(
            self.fetch
                .surround(stream::iter(targets.into_iter().chain(apis)), &self.answers),
            scaled_objects
        );
    }

    /// Returns the wish for an HPA's target, or for the objects in its place, unless they were listed: then it is
    /// answered.
    fn target(&self, hpa: &Hpa, found: &Result<FetchedScale, Failure>) -> Option<Wish> {
        let exists = found.as_ref().is_ok_and(|found| found.scale.is_ok());
        let wish = if exists {
            Wish::target(hpa)
        } else {
            Wish::in_place_of_target(hpa)
        }?;
        let Some(listed) = self.lists.targets(hpa) else {
            return Some(wish);
        };
        if !self.answers.has_asked(&wish) {
            let target = &hpa.spec.scale_target_ref.name;
            let workloads: Vec<Workload> = if exists {
                listed.get(target).cloned().into_iter().collect()
            } else {
                listed.values().take(MANY).cloned().collect()
            };
            self.answers.answer(&wish, workloads);
        }
        None
    }

    /// Fetches for this namespace the objects that are refused for all namespaces.
    async fn refused_everywhere(&self) {
        let about = self.whole.about;
        let vpas = async {
            about.wait(&self.whole.vpas).await;
            if about.refuses_vpas.get() {
                let namespace = self.fetch.namespace;
                let wish = Wish::vertical_pod_autoscalers(Some(namespace));
                self.fetch.surrounding(wish.clone(), &self.answers).await;
                let mut own = self.answers.take(&wish).vertical_pod_autoscalers;
                let mut all = about.vpas.borrow_mut();
                all.entry(namespace.to_owned())
                    .or_default()
                    .append(&mut own);
            }
        };
        let own_events = async {
            about.wait(&self.whole.events).await;
            if self.whole.refuses_events() {
                self.events
                    .get_or_init(|| self.fetch.events(Some(self.fetch.namespace), None))
                    .await;
            }
        };
        join!(vpas, own_events);
    }

    async fn observed(
        &self,
        item: &HpaItem,
        scale: &Result<FetchedScale, Failure>,
        read: &ReadingTime,
    ) -> Result<Observed, Failure> {
        let hpa = item.hpa.as_ref().map_err(Clone::clone)?;
        let scale = scale.as_ref().map_err(Clone::clone)?;
        let (notes, discovery) = (item.notes.clone(), self.common.discovery(hpa));
        self.fetch
            .observed(hpa.clone(), scale.clone(), read, notes, discovery)
            .await
    }

    /// Waits for the optional answers, longer while a list still grows, and returns those that have arrived.
    async fn wait_for_optional(&self, more: &More<'_>) -> Optional {
        let about = self.whole.about;
        let mut pages = self.lists.pages();
        while timeout(GRACE, more.clone()).await.is_err() && self.lists.pages() > pages {
            pages = self.lists.pages();
        }
        about.waited.set(true);
        // Requests that have only now been refused for all namespaces are repeated for this one.
        let _ = timeout(GRACE, self.refused_everywhere()).await;

        let mut notes = Vec::new();
        let version = version_of(&about.version, &mut notes);
        let answer = if self.whole.refuses_events() {
            self.events.get().cloned()
        } else {
            about.events(self.fetch.namespace)
        };
        let events = come(answer.as_ref(), UnknownFact::HpaEvents, &mut notes).unwrap_or_default();
        let (lease, control_plane) = about.controller.come(self.fetch.session);
        Optional {
            version,
            evidence: Evidence {
                events,
                lease,
                ..Evidence::default()
            },
            control_plane,
            notes,
        }
    }

    /// Adds to the observations of an HPA what has arrived for all HPAs.
    fn complete(&self, mut observed: Observed, optional: &Optional) -> Observed {
        let about = self.whole.about;
        let hpa = observed.hpa.clone();
        let scale = observed.scale.as_ref().ok();
        let wishes = Wish::all(&hpa, scale, self.common.discovery(&hpa));
        let vpas = [None, Some(&*hpa.namespace)].map(Wish::vertical_pod_autoscalers);
        let is_resized = wishes.contains(&vpas[1]);
        observed.notes.extend(optional.notes.iter().cloned());
        if is_resized {
            let unread = about.surroundings.unread(vpas.iter());
            observed.notes.extend(unlearnt(&unread));
        }
        self.answers.surround(&mut observed, &wishes);
        if is_resized {
            observed.surroundings.vertical_pod_autoscalers = about.vpas(&hpa).into();
            if about.refuses_vpas.get() && !self.answers.has_asked(&vpas[1]) {
                // Their refusal for all namespaces came too late.
                observed.notes.push(Note::not_known(
                    UnknownFact::VerticalPodAutoscalers,
                    &UnknownFactCause::Late,
                ));
            }
        }
        Observed {
            version: optional.version.clone(),
            evidence: optional.evidence.of(&hpa),
            control_plane: optional.control_plane.clone(),
            ..observed
        }
    }
}

/// The HPAs of a namespace, any of which may select the pods of another.
struct Neighbours<'s> {
    /// The HPAs whose selectors the controller knows, in the order of their names.
    known: Vec<(&'s HpaItem, Shared<OtherHpa>)>,
    /// The selectors of those.
    selectors: Selectors,
    /// The HPAs for which the controller may have stored a selector that is not known.
    unknown: Vec<(&'s HpaItem, UnknownSelector)>,
}

impl<'s> Neighbours<'s> {
    fn of(scales: &'s Scaled<'_>) -> Self {
        let (mut known, mut selectors, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for (item, scale) in scales {
            let neighbor = match &item.hpa {
                Ok(hpa) => other(hpa, scale),
                Err(failure) => Err(item.unreadable(failure)),
            };
            match neighbor {
                Ok(neighbor) => {
                    let scale = neighbor.scale.as_ref();
                    let selector = scale.and_then(|scale| scale.selector.parsed().ok());
                    if let Some(selector) = selector {
                        selectors.push(selector.clone());
                        known.push((*item, neighbor));
                    }
                }
                Err(it) if it.may_be_stored() => unknown.push((*item, it)),
                Err(_) => {}
            }
        }
        Self {
            known,
            selectors: Selectors::new(selectors),
            unknown,
        }
    }

    /// Adds the other HPAs to the observations of an HPA. HPAs with other pods are irrelevant and may be
    /// numerous, so they are left out.
    fn beside(&self, item: &HpaItem, needed: &mut Observed) {
        let Observed {
            hpa,
            scale,
            pods,
            others,
            notes,
            ..
        } = needed;
        let sharing: BTreeSet<usize> = pods
            .iter()
            .flat_map(|pod| self.selectors.matching(&pod.labels))
            .collect();
        let is_other = |other: &HpaItem| other.name != item.name;
        let stored = self.known.iter().map(|(other, _)| *other);
        let mut all = stored.chain(self.unknown.iter().map(|(other, _)| *other));
        if !all.any(is_other) {
            share_with_none(notes);
        }
        let known = sharing
            .into_iter()
            .map(|place| &self.known[place])
            .filter(|(other, _)| is_other(other));
        others.extend(known.map(|(_, known)| known.clone()));
        let unknown = self.unknown.iter().filter(|(other, _)| is_other(other));
        let unknown = unknown.map(|(_, unknown)| unknown);
        others.extend(unknown.clone().filter_map(|it| it.as_stated(hpa, scale)));
        UnknownSelector::note_all(unknown, hpa, scale, notes);
    }
}
