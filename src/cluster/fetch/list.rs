//! Several HPAs at once: one list of them, the scales of their targets, and then what each pass
//! needs, a few HPAs at a time. What all of them need is requested once. If something cannot be read for
//! one HPA, the others still get their answers.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::join;
use tokio::sync::mpsc::unbounded_channel;

use super::super::{Failure, Session};
use super::control_plane::ControllerAnswers;
use super::metrics::{Miss, custom_version};
use super::optional::{ServerVersion, other, unserved, version_of};
use super::right::denied;
use super::scale::Found;
use super::surroundings::{SurroundingAnswers, Wish, Wishes, has_replica_sets};
use super::{Fetch, Needs, clock, graceful, without_pods};
use crate::apiserver::convert::HpaObject;
use crate::args::Named;
use crate::cluster::fetch::discovery::{Discovery, segment};
use crate::cluster::observed::{Now, Observed};
use crate::error::Error;
use crate::snapshot::Listed;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::note::{Note, OtherHpaIgnored};
use crate::snapshot::pod::Meta;
use crate::snapshot::selection::Selection;

/// How many HPAs are processed concurrently.
const AT_ONCE: usize = 4;

/// The progress of a list.
#[derive(Debug, Default)]
pub struct Progress {
    hpas: Cell<usize>,
    done: Cell<usize>,
    steps: Cell<usize>,
}

impl Progress {
    /// Returns the number of HPAs to fetch; `None` until their list arrives.
    pub fn hpas(&self) -> Option<usize> {
        Some(self.hpas.get()).filter(|hpas| *hpas > 0)
    }

    /// Returns the progress in percent.
    pub fn percent(&self) -> usize {
        100 * self.done.get() / self.steps.get().max(1)
    }

    fn begin(&self, hpas: usize, steps: usize) {
        self.hpas.set(hpas);
        self.steps.set(steps);
    }

    fn step(&self) {
        self.done.set(self.done.get() + 1);
    }
}

/// Fetches the selected HPAs of one or all namespaces, and everything that their passes need, ordered
/// by namespace and name, followed by an error for each name that matches none of them.
///
/// # Errors
///
/// The list itself cannot be read.
pub async fn fetch_all(
    session: &Session,
    namespace: Option<&str>,
    selection: &Selection,
    progress: &Progress,
) -> Result<Vec<Listed<Observed>>, Error> {
    let asked = Fetch { session, namespace: session.namespace() };
    let version: RefCell<Option<Result<ServerVersion, Failure>>> = RefCell::default();
    let ask_version = async {
        let answer = asked.version().await;
        *version.borrow_mut() = Some(answer);
    };
    let controller = ControllerAnswers::default();
    let surroundings = SurroundingAnswers::default();
    let (wishes, wished) = unbounded_channel();
    let more = async {
        let controller = asked.controller(namespace, None, &controller);
        join!(ask_version, controller, asked.surroundings(wished, &surroundings));
    };
    let needed = asked.list(namespace, selection, progress, wishes);
    let worth = |needed: &Result<_, Failure>| {
        needed.as_ref().map_or_else(Failure::is_not_found, |list: &Vec<_>| !list.is_empty())
    };
    let listed = graceful(needed, more, worth).await;
    let version = version.take();
    let mut listed = listed.map_err(|e| match e.is_not_found() {
        true => unserved(version.clone().and_then(Result::ok)),
        false => denied(&e),
    })?;
    let mut notes = Vec::new();
    let version = version_of(version, &mut notes);
    let (evidence, control_plane) = controller.take(session, &mut notes);
    for observed in listed.iter_mut().filter_map(|listed| listed.result.as_mut().ok()) {
        observed.version.clone_from(&version);
        observed.evidence = evidence.of(&observed.hpa);
        observed.surroundings = surroundings.of(&observed.hpa.namespace);
        if let Ok(scale) = &observed.scale {
            // Workloads of other pods are irrelevant, and there may be many.
            observed
                .surroundings
                .workloads
                .retain(|it| scale.selector.matches(&it.metadata.labels));
        }
        observed.control_plane.clone_from(&control_plane);
        observed.notes.extend(notes.iter().cloned());
    }
    Ok(listed)
}

/// An HPA of the list.
pub(super) struct Item {
    namespace: String,
    name: String,
    /// Whether its explanation was requested; the others matter only for shared pods.
    wanted: bool,
    pub(super) hpa: Result<Hpa, Error>,
    /// What was ignored while reading it.
    notes: Vec<Note>,
}

impl Item {
    /// Whether a name selects it; an HPA that cannot be read matches only its own name.
    fn is(&self, named: &Named) -> bool {
        match (&self.hpa, named) {
            (Ok(hpa), named) => hpa.is(named),
            (Err(_), Named::Hpa(name)) => self.name == *name,
            (Err(_), Named::Target(_)) => false,
        }
    }
}

/// Returns the error about an HPA that is not in the list, in the server's words.
fn no_hpa(name: &str) -> Error {
    let reason = "NotFound".to_owned();
    let message = format!(
        "Error from server ({reason}): horizontalpodautoscalers.autoscaling \"{name}\" not found"
    );
    Error { reason: Some(reason), ..Error::bare(message) }
}

/// What all passes have in common.
struct Shared<'s> {
    items: &'s [Item],
    /// The scales of their targets, in the same order.
    scales: Vec<Result<Found, Error>>,
    now: Now,
    note: Option<Note>,
    discovery: Result<Discovery, Failure>,
    custom: Result<String, Miss>,
    wishes: Wishes,
}

impl Fetch<'_> {
    async fn list(
        &self,
        namespace: Option<&str>,
        selection: &Selection,
        progress: &Progress,
        wishes: Wishes,
    ) -> Result<Vec<Listed<Observed>>, Failure> {
        let (items, date) = self.items(namespace, selection).await?;
        let mut wished = vec![Wish::vertical_pod_autoscalers(namespace)];
        for item in &items {
            let hpa = item.hpa.as_ref().ok().filter(|_| item.wanted);
            if hpa.is_some_and(|hpa| has_replica_sets(&hpa.spec.scale_target_ref)) {
                wished.push(Wish::all_replica_sets(&item.namespace));
            }
        }
        for wish in wished {
            drop(wishes.send(wish));
        }
        let (now, note) = clock(date);
        let wanted: Vec<usize> = (0..items.len()).filter(|place| items[*place].wanted).collect();
        progress.begin(wanted.len(), items.len() + wanted.len());
        self.session.read_many();

        let needs = items.iter().filter_map(|item| item.hpa.as_ref().ok().map(Needs::of));
        let needs: Vec<Needs> = needs.collect();
        let discovery = async {
            match needs.iter().any(|needs| needs.discovery) {
                true => Discovery::ask(self.session).await,
                false => Ok(Discovery::default()),
            }
        };
        let discovery = discovery.await;
        let custom = custom_version(&discovery);
        let scales = items.iter().map(|item| self.item_scale(item, &discovery, progress));
        let scales = stream::iter(scales).buffered(AT_ONCE).collect().await;

        let shared = Shared { items: &items, scales, now, note, discovery, custom, wishes };
        let observed = wanted.iter().map(|place| self.observe(*place, &shared, progress));
        let mut listed: Vec<_> = stream::iter(observed).buffered(AT_ONCE).collect().await;
        let missing = selection.missing(|named| items.iter().any(|item| item.is(named)));
        listed.extend(missing.map(|named| {
            let why = match named {
                Named::Hpa(name) => no_hpa(name),
                Named::Target(_) => Error::failed("no HorizontalPodAutoscaler has this target"),
            };
            Listed::missing(namespace.unwrap_or_default().to_owned(), named, why)
        }));
        Ok(listed)
    }

    /// Lists the HPAs of each namespace that has a requested one. Which ones are requested is decided here,
    /// because the others may select the same pods.
    pub(super) async fn items(
        &self,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> Result<(Vec<Item>, Option<Timestamp>), Failure> {
        #[derive(Deserialize)]
        struct Object {
            metadata: Meta<'static>,
        }
        let path = match namespace {
            Some(name) => format!("/namespaces/{}", segment(name)),
            None => String::new(),
        };
        let path = format!("/apis/autoscaling/v2{path}/horizontalpodautoscalers");
        let kind = "HorizontalPodAutoscalerList";
        let (list, date): (Vec<Box<RawValue>>, _) = self.pages(&path, "", kind).await?;
        let mut items = Vec::with_capacity(list.len());
        for object in &list {
            let Object { metadata } = serde_json::from_str(object.get())
                .map_err(|e| self.unreadable(&path, e.to_string()))?;
            let hpa = self.admit_item(object.get());
            let notes = hpa.as_ref().map_or_else(|_| Vec::new(), |hpa| hpa.notes.clone());
            let mut item = Item {
                namespace: metadata.namespace.unwrap_or_default().into(),
                name: metadata.name.into(),
                wanted: false,
                hpa: hpa
                    .map(HpaObject::into_hpa)
                    .map_err(|cause| self.unreadable(&path, cause).into()),
                notes,
            };
            item.wanted = selection.wants(Some(&metadata.labels), |named| item.is(named));
            items.push(item);
        }
        let wanted = items.iter().filter(|item| item.wanted);
        let namespaces: HashSet<String> = wanted.map(|item| item.namespace.clone()).collect();
        items.retain(|item| namespaces.contains(&item.namespace));
        items.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok((items, date))
    }

    async fn item_scale(
        &self,
        item: &Item,
        discovery: &Result<Discovery, Failure>,
        progress: &Progress,
    ) -> Result<Found, Error> {
        let fetch = Fetch { session: self.session, namespace: &item.namespace };
        let scale = match &item.hpa {
            Err(e) => Err(e.clone()),
            Ok(hpa) => match fetch.built_in_scale(hpa).await {
                Some(scale) => scale,
                None => fetch.custom_scale(hpa, discovery).await,
            },
        };
        progress.step();
        scale
    }

    async fn observe(
        &self,
        place: usize,
        shared: &Shared<'_>,
        progress: &Progress,
    ) -> Listed<Observed> {
        let item = &shared.items[place];
        let fetch = Fetch { session: self.session, namespace: &item.namespace };
        let result = fetch.observed(place, shared).await;
        progress.step();
        Listed {
            namespace: item.namespace.clone(),
            name: item.name.clone(),
            reference: item.hpa.as_ref().map_or_else(|_| String::new(), Hpa::reference),
            result,
        }
    }

    async fn observed(&self, place: usize, shared: &Shared<'_>) -> Result<Observed, Error> {
        let item = &shared.items[place];
        let hpa = item.hpa.as_ref().map_err(Clone::clone)?;
        let found = shared.scales[place].clone()?;
        let notes = item.notes.iter().chain(&shared.note).cloned().collect();
        let needed = without_pods(hpa.clone(), shared.now, found, notes);
        let Shared { discovery, custom, wishes, .. } = shared;
        let mut needed = self.with_pods(needed, discovery, custom, wishes).await?;
        let Observed { pods, others, notes, .. } = &mut needed;
        for (neighbour, scale) in shared.items.iter().zip(&shared.scales) {
            if neighbour.namespace != item.namespace || neighbour.name == item.name {
                continue;
            }
            let Ok(neighbour) = &neighbour.hpa else {
                let hpa = format!("{}/{}", neighbour.namespace, neighbour.name);
                notes.push(Note::OtherHpaIgnored { hpa, why: OtherHpaIgnored::Unreadable });
                continue;
            };
            match other(neighbour, Some(scale)) {
                // HPAs of other pods are irrelevant, and there may be many.
                Ok(Some(known))
                    if pods.iter().any(|pod| known.scale.selector.matches(&pod.labels)) =>
                {
                    others.push(known);
                }
                Ok(_) => {}
                Err(note) => notes.push(note),
            }
        }
        Ok(needed)
    }
}
