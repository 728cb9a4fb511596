//! Several HPAs at once. First, the HPAs are listed. Then the objects that the passes of a namespace need
//! are fetched for a few namespaces at a time, and listed for all namespaces where that takes fewer
//! requests. If something cannot be read for one HPA, the others still get their answers. Earlier states of
//! the HPAs are not requested.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::sync::OnceCell;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio::{join, pin};

use super::super::{Failure, Session};
use super::control_plane::{ControllerAnswers, come};
use super::items::{HPAS, HpaItem, unreadable};
use super::lists::Lists;
use super::metrics::{NoAnswer, custom_version};
use super::optional::{ServerVersion, other, unserved, version_of};
use super::right::denied;
use super::scale::FetchedScale;
use super::surroundings::{OF_REPLICA_SETS, SurroundingAnswers, Wish, failing_apis, keep_names};
use super::{Fetch, GRACE, LONG, More, Needs, beside, clock, graceful, without_pods};
use crate::apimachinery::names::segment;
use crate::apimachinery::selector::Selectors;
use crate::args::Named;
use crate::cluster::fetch::discovery::Discovery;
use crate::cluster::observed::{Now, Observed};
use crate::error::Error;
use crate::snapshot::evidence::{Event, Evidence};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::neighbour::{OtherHpa, UnknownSelector};
use crate::snapshot::note::Note;
use crate::snapshot::right::UnknownFact;
use crate::snapshot::right::{MissingRight, UnknownFactCause};
use crate::snapshot::selection::Selection;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::Surroundings;
use crate::snapshot::{Listed, Scale};

/// The number of namespaces that are processed concurrently, and of HPAs in each.
const AT_ONCE: usize = 4;

/// The progress of a list.
#[derive(Debug, Default)]
pub struct Progress {
    hpas: Cell<usize>,
    done: Cell<usize>,
}

impl Progress {
    /// Returns the number of HPAs that have their answers, and the total; `None` until their list arrives.
    pub fn hpas(&self) -> Option<(usize, usize)> {
        Some((self.done.get(), self.hpas.get())).filter(|(_, hpas)| *hpas > 0)
    }

    fn step(&self) {
        self.done.set(self.done.get() + 1);
    }
}

/// Receives the answers as they arrive, each with its place in the list.
pub type Answers<'s> = dyn Fn(usize, Listed<Observed>) + 's;

/// Fetches the selected HPAs of one or all namespaces, and everything that their passes need. Their places
/// are ordered by namespace and name, followed by an error for each name that matches none of them. Returns
/// the rights that lists lacked, so that more was requested HPA by HPA.
///
/// # Errors
///
/// The list itself cannot be read.
pub async fn fetch_all(
    session: &Session,
    namespace: Option<&str>,
    selection: &Selection,
    progress: &Progress,
    answers: &Answers<'_>,
) -> Result<Vec<MissingRight>, Error> {
    let (asked, about) = (
        &Fetch::new(session, session.namespace()),
        &AboutAll::default(),
    );
    // Each namespace repeats a request once it is refused for all namespaces.
    let vpas = async {
        let wish = Wish::vertical_pod_autoscalers(namespace);
        let read = asked.surrounding(wish, &about.surroundings).await;
        about.refuses_vpas.set(!read && namespace.is_none());
    }
    .boxed_local()
    .shared();
    let events = async {
        let answer = asked.events(namespace, None).await;
        let refuses = namespace.is_none() && answer.as_ref().is_err_and(Failure::is_forbidden);
        about.refuses_events.set(refuses);
        *about.events.borrow_mut() = Some(answer.map(by_namespace));
    }
    .boxed_local()
    .shared();
    let others = [vpas.clone(), events.clone()];
    let more = async {
        let version = async {
            let answer = asked.version().await;
            *about.version.borrow_mut() = Some(answer);
        };
        join!(
            version,
            asked.controller(&about.controller),
            join_all(others)
        );
    }
    .boxed_local()
    .shared();
    let all = [more.clone(), vpas, events];
    let whole = Whole {
        namespace,
        about,
        all,
        progress,
        answers,
    };
    let needed = asked.list(selection, &whole);
    // An API server of another version may not serve the list.
    let worth = |needed: &Result<_, Failure>| needed.as_ref().is_err_and(Failure::is_not_found);
    let refused = graceful(needed, more, worth).await.map_err(|e| {
        if e.is_not_found() {
            unserved(about.version.take().and_then(Result::ok))
        } else {
            denied(&e)
        }
    })?;
    for right in &refused {
        session.note(format!("requested HPA by HPA: {}", right.advice()));
    }
    Ok(refused)
}

type EventsByNamespace = HashMap<String, Vec<Event>>;

/// The optional answers that concern all HPAs.
#[derive(Default)]
struct AboutAll {
    version: RefCell<Option<Result<ServerVersion, Failure>>>,
    events: RefCell<Option<Result<EventsByNamespace, Failure>>>,
    controller: ControllerAnswers,
    surroundings: SurroundingAnswers,
    /// Whether the VerticalPodAutoscalers of all namespaces are refused.
    refuses_vpas: Cell<bool>,
    refuses_events: Cell<bool>,
    /// Whether the wait for them has already happened; it is not repeated.
    waited: Cell<bool>,
}

impl AboutAll {
    /// Returns the events of a namespace that have arrived with those of all namespaces.
    fn events(&self, namespace: &str) -> Option<Result<Vec<Event>, Failure>> {
        let answer = self.events.borrow();
        Some(match answer.as_ref()? {
            Ok(all) => Ok(all.get(namespace).cloned().unwrap_or_default()),
            Err(failure) => Err(failure.clone()),
        })
    }

    /// Returns notes about what has not arrived for an HPA with these wishes; `answers` are its namespace's own.
    fn unlearnt(&self, hpa: &Hpa, wishes: &[Wish], answers: &SurroundingAnswers) -> Vec<Note> {
        let vpas = Wish::vertical_pod_autoscalers(Some(&hpa.namespace));
        let is_resized = wishes.contains(&vpas);
        let mut notes = Vec::new();
        if is_resized {
            notes = self.surroundings.unlearnt();
        }
        notes.extend(answers.unlearnt_of(wishes));
        if is_resized && self.refuses_vpas.get() && !answers.has_asked(&vpas) {
            // Their refusal for all namespaces came too late.
            notes.push(Note::not_known(
                UnknownFact::VerticalPodAutoscalers,
                &UnknownFactCause::Late,
            ));
        }
        notes
    }

    /// Waits for one of them, unless an earlier wait was in vain.
    async fn wait(&self, for_one: &More<'_>) {
        if !self.waited.get() {
            for_one.clone().await;
        }
    }
}

fn by_namespace(all: Vec<Event>) -> HashMap<String, Vec<Event>> {
    let mut events: HashMap<String, Vec<Event>> = HashMap::new();
    for event in all {
        events
            .entry(event.namespace.clone())
            .or_default()
            .push(event);
    }
    events
}

/// A list as it was requested.
struct Whole<'s> {
    /// The namespace; `None` for all namespaces.
    namespace: Option<&'s str>,
    about: &'s AboutAll,
    /// The fetches of all optional answers, of the VerticalPodAutoscalers, and of the events.
    all: [More<'s>; 3],
    progress: &'s Progress,
    answers: &'s Answers<'s>,
}

/// Returns the error about an HPA that is not in the list, in the server's words.
fn no_hpa(name: &str) -> Error {
    let reason = "NotFound".to_owned();
    let message = format!(
        "Error from server ({reason}): horizontalpodautoscalers.autoscaling \"{name}\" not found"
    );
    Error {
        reason: Some(reason),
        ..Error::bare(message)
    }
}

/// The time at which HPAs were listed.
struct ListingTime {
    at: Instant,
    now: Now,
    note: Option<Note>,
}

impl ListingTime {
    /// By the server's clock.
    fn now(date: Option<Timestamp>) -> Self {
        let (now, note) = clock(date);
        Self {
            at: Instant::now(),
            now,
            note,
        }
    }
}

/// The state that all passes share.
struct Common {
    read: ListingTime,
    discovery: Result<Discovery, Failure>,
    /// The discovery for HPAs that do not need it.
    none: Result<Discovery, Failure>,
    custom: Result<String, NoAnswer>,
}

impl Common {
    /// Returns the discovery that an HPA would have had alone.
    fn discovery(&self, hpa: &Hpa) -> &Result<Discovery, Failure> {
        if Needs::of(hpa).discovery {
            &self.discovery
        } else {
            &self.none
        }
    }
}

/// The HPAs of a namespace with the scales of their targets.
type Scaled<'s> = [(&'s HpaItem, Result<FetchedScale, Failure>)];

/// Returns the requested HPAs whose targets have a scale.
fn scaled<'s>(scaled: &'s Scaled<'_>) -> impl Iterator<Item = (&'s Hpa, &'s Scale)> + Clone {
    let wanted = scaled.iter().filter(|(item, _)| item.wanted);
    wanted.filter_map(|(item, found)| {
        Some((
            item.hpa.as_ref().ok()?,
            found.as_ref().ok()?.scale.as_ref().ok()?,
        ))
    })
}

impl Fetch<'_> {
    async fn list(
        &self,
        selection: &Selection,
        whole: &Whole<'_>,
    ) -> Result<Vec<MissingRight>, Failure> {
        let (mut items, date) = self.items(whole.namespace, selection).await?;
        let read = ListingTime::now(date);
        let wanted = items.iter().filter(|item| item.wanted);
        whole.progress.hpas.set(wanted.clone().count());
        let namespaces: HashSet<String> = wanted.map(|item| item.namespace.clone()).collect();
        let missing: Vec<&Named> = selection
            .missing(|named| items.iter().any(|item| item.is(named)))
            .collect();
        let unreadable = unreadable(items.iter().filter_map(HpaItem::failure));
        items.retain(|item| namespaces.contains(&item.namespace));
        self.session.read_many();

        let mut needs = items
            .iter()
            .filter_map(|item| item.hpa.as_ref().ok().map(Needs::of));
        let discovery = if needs.any(|needs| needs.discovery) {
            Discovery::ask(self.session).await
        } else {
            Ok(Discovery::default())
        };
        let custom = custom_version(&discovery);
        let common = &Common {
            read,
            discovery,
            none: Ok(Discovery::default()),
            custom,
        };
        let mut place = 0;
        let answers: Vec<_> = items
            .chunk_by(|one, other| one.namespace == other.namespace)
            .map(|items| {
                let first = place;
                place += items.iter().filter(|item| item.wanted).count();
                async move { (first, self.namespace(items, first, common, whole).await) }
            })
            .collect();
        let mut refused: Vec<(usize, Vec<MissingRight>)> = stream::iter(answers)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        refused.sort_by_key(|(first, _)| *first);
        for (place, named) in (place..).zip(missing) {
            let why = match named {
                Named::Hpa(name) => no_hpa(name),
                Named::Target(_) => Error {
                    hint: unreadable.clone(),
                    ..Error::failed("no HorizontalPodAutoscaler has this target")
                },
            };
            let namespace = whole.namespace.unwrap_or_default().to_owned();
            (whole.answers)(place, Listed::missing(namespace, named, why));
        }
        Ok(refused
            .into_iter()
            .flat_map(|(_, refused)| refused)
            .collect())
    }

    /// Lists all HPAs. The requested ones are selected here, because the others may select the same pods.
    pub(super) async fn items(
        &self,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> Result<(Vec<HpaItem>, Option<Timestamp>), Failure> {
        let path = match namespace {
            Some(name) => format!("/namespaces/{}", segment(name)),
            None => String::new(),
        };
        let path = format!("/apis/autoscaling/v2{path}/horizontalpodautoscalers");
        let (list, date): (Vec<Box<RawValue>>, _) = self.pages(&path, HPAS).await?;
        let mut items = self.read_items(&path, list).await?;
        items.iter_mut().for_each(|item| item.select(selection));
        items.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok((items, date))
    }

    /// Answers for the requested HPAs of a namespace, whose places begin at `first`; returns the rights that
    /// lists lacked.
    async fn namespace(
        &self,
        items: &[HpaItem],
        first: usize,
        common: &Common,
        whole: &Whole<'_>,
    ) -> Vec<MissingRight> {
        let namespace = items.first().map_or("", |item| &item.namespace);
        let newer = self.newer(namespace, items, common, whole).await;
        let (items, read) = newer
            .as_ref()
            .map_or((items, &common.read), |(items, read)| (&items[..], read));
        let lists = Lists::default();
        let fetch = Fetch {
            lists: Some(&lists),
            ..Fetch::new(self.session, namespace)
        };
        let hpas = items.iter().filter_map(|item| item.hpa.as_ref().ok());
        fetch.list_targets(hpas, &lists).await;
        let scales = items.iter().map(async |item| {
            let scale = fetch.item_scale(item, &common.discovery).await;
            (item, scale)
        });
        let scales: Vec<_> = stream::iter(scales).buffered(AT_ONCE).collect().await;

        let answers = SurroundingAnswers::default();
        let events = OnceCell::new();
        let about = whole.about;
        let more = async {
            let surroundings = fetch.own_surroundings(&scales, common, &lists, &answers);
            let replica_sets = async {
                let list = fetch.list_replica_sets(scaled(&scales), &lists);
                if answers.awaiting(OF_REPLICA_SETS, list).await {
                    let wishes = scaled(&scales).filter_map(|(hpa, scale)| {
                        Wish::replica_sets(hpa, scale.selector.as_str())
                    });
                    fetch.surround(wishes, &answers).await;
                }
            };
            let refused = fetch.refused_everywhere(whole, &answers, &events);
            join!(
                surroundings,
                replica_sets,
                refused,
                about.wait(&whole.all[0])
            );
        }
        .boxed_local()
        .shared();
        beside(fetch.list_pods(scaled(&scales), &lists), &more).await;
        let neighbours = Neighbours::of(&scales);
        let wanted = scales.iter().filter(|(item, _)| item.wanted);
        let observed = (first..).zip(wanted).map(async |(place, (item, scale))| {
            let needed = fetch.observed(item, scale, common, read).await;
            let observed = needed.map(|mut needed| {
                neighbours.beside(item, &mut needed);
                needed
            });
            (place, item, observed)
        });
        let observed = stream::iter(observed.collect::<Vec<_>>()).buffered(AT_ONCE);
        pin!(observed);
        let mut known = None;
        while let Some((place, item, observed)) = beside(observed.next(), &more).await {
            // The first pass waits for the optional answers, which are shared by all: longer while a list still grows.
            if known.is_none() {
                let mut pages = lists.pages();
                while timeout(GRACE, more.clone()).await.is_err() && lists.pages() > pages {
                    pages = lists.pages();
                }
                about.waited.set(true);
                // Requests that have only now been refused for all namespaces are repeated for this one.
                let refused = fetch.refused_everywhere(whole, &answers, &events);
                let _ = timeout(GRACE, refused).await;
            }
            let (version, evidence, control_plane, notes) = known.get_or_insert_with(|| {
                let mut notes = Vec::new();
                let version = version_of(about.version.borrow().clone(), &mut notes);
                let events = if about.refuses_events.get() {
                    events.get().cloned()
                } else {
                    about.events(namespace)
                };
                let events = come(events, UnknownFact::HpaEvents, &mut notes).unwrap_or_default();
                let (lease, control_plane) = about.controller.come(self.session);
                let evidence = Evidence {
                    events,
                    lease,
                    ..Evidence::default()
                };
                (version, evidence, control_plane, notes)
            });
            let result = observed.map(|observed| {
                let (hpa, scale) = (&observed.hpa, observed.scale.as_ref().ok());
                let discovery = common.discovery(hpa);
                let apis = failing_apis(hpa, discovery, &common.custom);
                let objects = (answers.objects(), about.surroundings.objects());
                let mut surroundings = Surroundings {
                    served_metrics: observed.surroundings.served_metrics.clone(),
                    custom_version: observed.surroundings.custom_version.clone(),
                    serves_scale: observed.surroundings.serves_scale,
                    ..lists.around(hpa, scale, [&objects.0, &objects.1], apis)
                };
                keep_names(&mut surroundings, hpa, &observed.metrics, &objects.0);
                let behind = Wish::behind(hpa, scale, discovery, &common.custom);
                let listed = Wish::listed_with(hpa, scale);
                let wishes: Vec<Wish> = Wish::of(hpa).chain(behind).chain(listed).collect();
                let unlearnt = about.unlearnt(hpa, &wishes, &answers);
                let mut all = observed.notes;
                all.extend(notes.iter().cloned());
                all.extend(unlearnt);
                Observed {
                    version: version.clone(),
                    evidence: evidence.of(&observed.hpa),
                    surroundings,
                    control_plane: control_plane.clone(),
                    notes: all,
                    ..observed
                }
            });
            whole.progress.step();
            let listed = Listed {
                namespace: item.namespace.clone(),
                name: item.name.clone(),
                reference: item
                    .hpa
                    .as_ref()
                    .map_or_else(|_| String::new(), Hpa::reference),
                result,
            };
            (whole.answers)(place, listed);
            // This lets other namespaces receive their answers, however many HPAs this one has.
            yield_now().await;
        }
        lists.refused()
    }

    /// Lists the HPAs of a namespace again if its turn has come late: their status and the clock should be of
    /// the same time as the rest. HPAs that have appeared since are not explained.
    async fn newer(
        &self,
        namespace: &str,
        items: &[HpaItem],
        common: &Common,
        whole: &Whole<'_>,
    ) -> Option<(Vec<HpaItem>, ListingTime)> {
        if whole.namespace.is_some() || common.read.at.elapsed() < LONG {
            return None;
        }
        let (mut newer, date) = self
            .items(Some(namespace), &Selection::default())
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
        Some((newer, ListingTime::now(date)))
    }

    /// Fetches those objects around the passes that were not listed for all of them.
    async fn own_surroundings(
        &self,
        scales: &Scaled<'_>,
        common: &Common,
        lists: &Lists,
        answers: &SurroundingAnswers,
    ) {
        let hpas = || scales.iter().filter(|(item, _)| item.wanted);
        let hpas = || hpas().filter_map(|(item, found)| Some((item.hpa.as_ref().ok()?, found)));
        let targets = hpas()
            .filter(|(hpa, _)| !lists.has_targets(hpa))
            .flat_map(|(hpa, found)| {
                let exists = found.as_ref().is_ok_and(|found| found.scale.is_ok());
                let other = Wish::in_place_of_target(hpa).filter(|_| !exists);
                Wish::target(hpa).into_iter().chain(other)
            });
        let apis = scaled(scales)
            .flat_map(|(hpa, _)| Wish::failing_apis(hpa, common.discovery(hpa), &common.custom));
        let scaled_objects = async {
            let owned = || hpas().filter_map(|(hpa, _)| Wish::scaled_object(hpa));
            let all = Wish::scaled_objects(self.namespace);
            if owned().nth(1).is_none() || !self.surrounding(all, answers).await {
                self.surround(owned(), answers).await;
            }
        };
        join!(self.surround(targets.chain(apis), answers), scaled_objects);
    }

    /// Fetches for this namespace the objects that are refused for all namespaces.
    async fn refused_everywhere(
        &self,
        whole: &Whole<'_>,
        answers: &SurroundingAnswers,
        events: &OnceCell<Result<Vec<Event>, Failure>>,
    ) {
        let about = whole.about;
        let [_, all_vpas, all_events] = &whole.all;
        let vpas = async {
            about.wait(all_vpas).await;
            if about.refuses_vpas.get() {
                let wish = Wish::vertical_pod_autoscalers(Some(self.namespace));
                self.surrounding(wish, answers).await;
            }
        };
        let own_events = async {
            about.wait(all_events).await;
            if about.refuses_events.get() {
                events
                    .get_or_init(|| self.events(Some(self.namespace), None))
                    .await;
            }
        };
        join!(vpas, own_events);
    }

    async fn item_scale(
        &self,
        item: &HpaItem,
        discovery: &Result<Discovery, Failure>,
    ) -> Result<FetchedScale, Failure> {
        let hpa = item.hpa.as_ref().map_err(Clone::clone)?;
        match self.built_in_scale(hpa).await {
            Some(scale) => scale,
            None => self.custom_scale(hpa, discovery).await,
        }
    }

    async fn observed(
        &self,
        item: &HpaItem,
        scale: &Result<FetchedScale, Failure>,
        common: &Common,
        read: &ListingTime,
    ) -> Result<Observed, Error> {
        let hpa = item.hpa.as_ref().map_err(Clone::clone)?;
        let notes = item.notes.iter().chain(&read.note).cloned().collect();
        let scale = scale.as_ref().map_err(denied)?;
        let needed = without_pods(hpa.clone(), read.now, scale.clone(), notes);
        self.with_pods(needed, common.discovery(hpa), &common.custom, read.at)
            .await
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
                Ok(Some(neighbor)) => {
                    if let Ok(selector) = neighbor.scale.selector.parsed() {
                        selectors.push(selector.clone());
                        known.push((*item, neighbor));
                    }
                }
                Err(it) if it.may_be_stored() => unknown.push((*item, it)),
                Ok(None) | Err(_) => {}
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
        let known = sharing
            .into_iter()
            .map(|place| &self.known[place])
            .filter(|(other, _)| is_other(other));
        others.extend(known.map(|(_, known)| known.clone()));
        let unknown = self.unknown.iter().filter(|(other, _)| is_other(other));
        UnknownSelector::note_all(unknown.map(|(_, unknown)| unknown), hpa, notes);
    }
}
