//! Requests everything that a pass needs from an API server, in as few rounds as the answers allow: the
//! HPA; then its target's scale and everything independent of it; then pods and metrics, which need the
//! target's selector. Whatever the controller treats as an outcome is an outcome here, too; only what
//! leaves the question unanswered is an error. Optional evidence is not waited for.

pub mod common;
pub mod complete;
pub mod control_plane;
pub(crate) mod discovery;
mod items;
pub mod list;
mod lists;
mod metrics;
mod namespace;
pub mod old_versions;
mod optional;
mod pages;
pub(super) mod read;
pub(super) mod right;
mod scale;
mod served_scale;
mod surroundings;
pub mod watch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{Either, FutureExt, LocalBoxFuture, Shared, select};
use futures_util::stream;
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;
use tokio::{join, pin};

use self::discovery::{Discovery, UNDISCOVERED, built_in, collection};
use self::lists::Lists;
use self::metrics::{NoAnswer, custom_version, lost};
use self::optional::OptionalAnswers;
use self::read::{Together, read, read_within};
use self::scale::FetchedScale;
use self::surroundings::{SurroundingAnswers, Wish, Wishes};
use super::{Failure, Method, Session};
use crate::apimachinery::names::segment;
use crate::apimachinery::{json, names};
use crate::apiserver::admit::{self, AdmissionError};
use crate::apiserver::convert::HpaObject;
use crate::apiserver::default::AdmissionRules;
use crate::apiserver::metadata::ObjectMeta;
use crate::cluster::observed::{Now, Observed};
use crate::error::Error;
use crate::numbers::duration;
use crate::saved::objects::Objects;
use crate::snapshot::control_plane::ControlPlane;
use crate::snapshot::evidence::Evidence;
use crate::snapshot::hpa::{CUSTOM, Hpa, MetricSpec};
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::right::{UnknownFact, UnknownFactCause};
use crate::snapshot::surroundings::Surroundings;
use crate::snapshot::{MetricAnswer, Scale, UnreadCause};
use crate::version::Version;

/// The number of namespaces of a list that are processed concurrently, and of HPAs in each.
const AT_ONCE: usize = 4;

/// The time to wait for optional answers.
const GRACE: Duration = Duration::from_secs(1);

/// The time to wait for the other HPAs, which decide whether anything is scaled: none of those that select the same
/// pods is.
const GRACE_OF_OTHERS: Duration = Duration::from_secs(5);

/// The duration of reads beyond which their answers may not fit together.
const LONG: Duration = Duration::from_secs(5);

/// The clock difference from which there is a note.
const SKEW: SignedDuration = SignedDuration::from_secs(5);

/// Fetches one HPA and everything that its pass needs. The answers to further metrics follow those for its
/// own.
///
/// # Errors
///
/// The HPA, or something whose absence is not an outcome for the controller, cannot be read.
pub async fn fetch(
    session: &Session,
    namespace: &str,
    name: &str,
    also: &[MetricSpec],
) -> Result<Observed, Error> {
    let asked = Fetch::new(session, namespace);
    let discovery = Awaited::default();
    let optional = OptionalAnswers::default();
    let answers = SurroundingAnswers::default();
    let (wishes, mut received) = unbounded_channel();
    let wished = stream::poll_fn(move |context| received.poll_recv(context));
    let more = async {
        let optional = asked.optional(name, &optional);
        join!(optional, asked.surround(wished, &answers));
    }
    .boxed_local()
    .shared();
    let others = asked
        .other_hpas(name, &discovery, &optional)
        .boxed_local()
        .shared();
    // Each future around it would hold it twice.
    let asking = asked.needed(name, also, &discovery, wishes).boxed_local();
    let pass = graceful(asking, &others, |answer| grace(answer, GRACE_OF_OTHERS));
    let answered = graceful(pass, &more, |answer| grace(answer, GRACE)).await;
    let (mut observed, wishes) = answered.map_err(|FetchError { failure, no_hpa }| {
        if no_hpa {
            let Objects { scaled_objects, .. } = answers.take(&Wish::scaled_objects(namespace));
            let flags = session.command_flags();
            optional.about_absence([namespace, name], failure, &scaled_objects, flags)
        } else {
            failure.into()
        }
    })?;
    let Observed {
        hpa, scale, notes, ..
    } = &mut observed;
    let (version, others, events) = optional.take(hpa, scale, notes);
    answers.surround(&mut observed, &wishes);
    let (lease, control_plane) = optional.controller.come(session);
    let evidence = Evidence {
        events,
        lease,
        ..Evidence::default()
    };
    Ok(Observed {
        version,
        others,
        evidence,
        control_plane,
        ..observed
    })
}

/// Waits for the needed answers, and then as long for optional answers as they are worth it. The optional
/// future stores its own results as they arrive.
async fn graceful<T>(
    needed: impl Future<Output = T>,
    more: &More<'_>,
    grace: impl FnOnce(&T) -> Option<Duration>,
) -> T {
    let answer = beside(needed, more).await;
    if let Some(grace) = grace(&answer) {
        let _ = timeout(grace, more.clone()).await;
    }
    answer
}

/// Returns the time to wait for optional answers about an HPA. If no HPA has that name, they show the HPAs that exist.
fn grace<T>(answer: &Result<T, FetchError>, of_hpa: Duration) -> Option<Duration> {
    match answer {
        Ok(_) => Some(of_hpa),
        Err(absent) => absent.no_hpa.then_some(GRACE),
    }
}

/// The optional answers, or some of them.
type More<'s> = Shared<LocalBoxFuture<'s, ()>>;

/// Waits for the needed answers, while optional answers arrive.
async fn beside<T>(needed: impl Future<Output = T>, more: &More<'_>) -> T {
    pin!(needed);
    match select(needed, more.clone()).await {
        Either::Left((needed, _)) => needed,
        Either::Right(((), needed)) => needed.await,
    }
}

/// An answer that may not have arrived yet.
type Awaited<T> = OnceCell<Result<T, Failure>>;

/// The reason why there is no answer.
struct FetchError {
    failure: Failure,
    /// Whether the HPA itself does not exist, as far as a 404 shows.
    no_hpa: bool,
}

impl From<Failure> for FetchError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            no_hpa: false,
        }
    }
}

/// Whether a pass needs the server's resources: for the version of the custom metrics API, or for the resource
/// of the target's kind.
fn needs_discovery(hpa: &Hpa) -> bool {
    let target = &hpa.spec.scale_target_ref;
    let is_unknown = !target.is_namespace() && built_in(target.group(), &target.kind).is_none();
    uses(hpa, CUSTOM) || (is_unknown && is_well_formed(&target.api_version))
}

/// Whether an HPA has metrics of a metrics API.
fn uses(hpa: &Hpa, group: &str) -> bool {
    hpa.spec.metrics.iter().any(|it| it.api_group() == group)
}

pub(super) struct Fetch<'s> {
    pub(super) session: &'s Session,
    pub(super) namespace: &'s str,
    /// The objects that were listed for several HPAs of the namespace.
    lists: Option<&'s Lists>,
}

impl<'s> Fetch<'s> {
    pub(super) fn new(session: &'s Session, namespace: &'s str) -> Self {
        Self {
            session,
            namespace,
            lists: None,
        }
    }
}

impl Fetch<'_> {
    /// Fetches everything that an answer needs. Sends requests for explanatory objects that follow from it
    /// to `wishes`, which may have no receiver, and returns all of them.
    async fn needed(
        &self,
        name: &str,
        also: &[MetricSpec],
        discovered: &Awaited<Discovery>,
        wishes: Wishes,
    ) -> Result<(Observed, Vec<Wish>), FetchError> {
        let wish = |wish: Wish| drop(wishes.send(wish));
        let found = self.hpa(name).await.map_err(|failure| {
            let no_hpa = failure.is_404();
            if no_hpa {
                wish(Wish::scaled_objects(self.namespace));
            }
            FetchError { failure, no_hpa }
        });
        let (mut hpa, read, notes) = found?;
        Wish::of(&hpa).for_each(wish);
        let own_metrics = hpa.spec.metrics.len();
        hpa.spec.metrics.extend_from_slice(also);
        let discovery = async || {
            if needs_discovery(&hpa) {
                self.discovery(discovered).await
            } else {
                &UNDISCOVERED
            }
        };
        let (discovery, fetched) = join!(discovery(), self.target_scale(&hpa, discovery()));
        let fetched = fetched?;
        let scale = fetched.scale.as_ref().ok();
        Wish::behind(&hpa, scale, discovery).for_each(wish);
        let all = Wish::all(&hpa, scale, discovery);
        let mut needed = self.observed(hpa, fetched, &read, notes, discovery).await?;
        needed.hpa.spec.metrics.truncate(own_metrics);
        Ok((needed, all))
    }

    /// Requests the server's resources, unless that has been done.
    async fn discovery<'d>(
        &self,
        discovered: &'d Awaited<Discovery>,
    ) -> &'d Result<Discovery, Failure> {
        discovered
            .get_or_init(|| Discovery::ask(self.session))
            .await
    }

    /// Fetches everything that depends on the scale of an HPA's target. `read` is the time at which the HPA was
    /// read.
    async fn observed(
        &self,
        hpa: Hpa,
        found: FetchedScale,
        read: &ReadingTime,
        mut notes: Vec<Note>,
        discovery: &Result<Discovery, Failure>,
    ) -> Result<Observed, Failure> {
        notes.extend(read.note.clone());
        let target = &hpa.spec.scale_target_ref;
        let version = custom_version(discovery)
            .ok()
            .filter(|_| uses(&hpa, CUSTOM));
        let discovered = discovery.as_ref().ok();
        let group = target.group();
        let stale = discovered.and_then(|it| it.stale(group));
        let surroundings = Surroundings {
            custom_version: version.map(str::to_owned),
            serves_scale: discovered.and_then(|it| it.serves_scale(group, &target.kind)),
            stale_target: stale.map(|version| format!("{version}.{group}")),
            ..Surroundings::default()
        };
        let mut observed = Observed {
            now: read.now,
            version: None,
            scale: found.scale,
            pods: Vec::new(),
            pods_unread: None,
            pod_metrics: Vec::new(),
            metrics: vec![MetricAnswer::PodMetrics; hpa.spec.metrics.len()],
            hpa,
            others: Vec::new(),
            evidence: Evidence::default(),
            surroundings,
            control_plane: ControlPlane::default(),
            basis: Vec::from_iter(found.basis),
            notes,
            scale_at: found.at,
        };
        if let Ok(Scale { selector, .. }) = &observed.scale
            && selector.parsed().is_ok()
            && !selector.as_str().is_empty()
        {
            let selector = selector.as_str().to_owned();
            self.add_pods(&selector, discovery, &mut observed).await?;
        }
        let took = read.at.elapsed();
        if took > LONG {
            let took = SignedDuration::from_secs(took.as_secs().cast_signed());
            observed.notes.push(Note::new(format!(
                "its metrics came {} after the HPA, and the controller may have acted in between",
                duration(took)
            )));
        }
        // Several metrics of one API share one cause.
        keep_each_once(&mut observed.notes);
        Ok(observed)
    }

    /// Adds the pods that a selector matches, and the values of the metrics.
    async fn add_pods(
        &self,
        selector: &str,
        discovery: &Result<Discovery, Failure>,
        observed: &mut Observed,
    ) -> Result<(), Failure> {
        let hpa = &observed.hpa;
        let resource = async {
            if !hpa.spec.metrics.iter().any(MetricSpec::is_resource) {
                return Ok(Vec::new());
            }
            self.pod_metrics(selector).await
        };
        let values = self.values(hpa, selector, discovery);
        let (pods, resource, values) = join!(self.pods(selector), resource, values);
        for (answer, value) in observed.metrics.iter_mut().zip(values) {
            *answer = value.unwrap_or_else(|NoAnswer { answer, advice }| {
                observed.notes.extend(advice.map(|note| *note));
                answer
            });
        }
        if let Ok(discovery) = discovery {
            let served = |group| {
                let is_served = discovery.versions(group)?.next().is_some();
                is_served.then(|| discovery.metrics(group))
            };
            let metrics = &observed.hpa.spec.metrics;
            observed
                .surroundings
                .keep_served(metrics, &observed.metrics, served);
        }
        match resource {
            Ok(usage) => observed.pod_metrics = usage,
            Err(e) => fail(observed, &e, MetricSpec::is_resource),
        }
        match pods {
            Ok(pods) => observed.pods = pods,
            Err(e) if e.is_forbidden() => {
                let message = lost(&e);
                observed.pods_unread = Some(UnreadCause::PodsRefused { message });
                observed.notes.extend(right::advice(&e));
                let why = UnknownFactCause::NoPods;
                let note = Note::not_known(UnknownFact::SharedPods, &why);
                observed.notes.push(note);
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Requests an object of a kind; an empty kind accepts any object.
    pub(super) async fn json<T: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
        kind: &str,
    ) -> Result<T, Failure> {
        let response = self.session.get(path).await?;
        let kind = kind.to_owned();
        let reader = move |body: &[u8]| read(&kind, body);
        self.session.object(&response, reader).await
    }

    /// Requests one of several answers as the controller does; the outcome is the controller's.
    async fn metrics_json<T: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
        kind: &'static str,
        together: &Arc<Together>,
    ) -> Result<T, Failure> {
        let response = self.metrics_answer(path).await?;
        let together = Arc::clone(together);
        let read =
            move |body: &[u8]| together.read(body, |elements| read_within(kind, body, elements));
        self.session.object(&response, read).await
    }

    pub(super) fn unreadable(&self, path: &str, cause: impl Into<String>) -> Failure {
        self.session.unreadable(Method::Get, path, cause)
    }

    /// Returns the HPA, the time at which it was read, and notes about it.
    async fn hpa(&self, name: &str) -> Result<(Hpa, ReadingTime, Vec<Note>), Failure> {
        let path = hpa_path(self.namespace, name);
        let response = self.session.get(&path).await?;
        let asked = [self.namespace, name].map(str::to_owned);
        let admit = move |body: &[u8]| admitted(body, &asked);
        let mut object = self.session.object(&response, admit).await?;
        let notes = std::mem::take(&mut object.notes);
        Ok((object.into_hpa(), ReadingTime::now(response.date), notes))
    }
}

/// Returns the path of an HPA.
pub(super) fn hpa_path(namespace: &str, name: &str) -> String {
    format!("{}/{}", hpas_path(Some(namespace)), segment(name))
}

/// Returns the path of all HPAs of one namespace, or of all.
fn hpas_path(namespace: Option<&str>) -> String {
    collection(
        "/apis/autoscaling/v2",
        namespace,
        "horizontalpodautoscalers",
    )
}

/// Reads the HPA of a namespace and name in the answer of a server.
pub(in super::super) fn admitted(body: &[u8], asked: &[String; 2]) -> Result<HpaObject, String> {
    let [namespace, name] = asked;
    let object = accepted(admit::admit(&json::text(body)?, namespace, rules()))?;
    let ObjectMeta {
        namespace: stated,
        name: found,
        ..
    } = &object.metadata;
    check_requested([stated, found], [namespace, name])?;
    Ok(object)
}

/// Checks that an object has the namespace and name that were requested: a cache may mix up its entries.
fn check_requested(found: [&str; 2], requested: [&str; 2]) -> Result<(), String> {
    if found == requested {
        return Ok(());
    }
    let [other, wanted] = [found, requested].map(|of| of.join("/"));
    Err(format!("the object is {other:?}, not {wanted:?}"))
}

/// Returns the rules for an object that a server has accepted: it is not validated again under any rules.
fn rules() -> AdmissionRules {
    AdmissionRules::of(&Version::released())
}

/// Removes what is unknown about shared pods from the notes about the only HPA of a namespace: whichever its pods are, it
/// shares none.
fn share_with_none(notes: &mut Vec<Note>) {
    notes.retain(|note| note.subject != Subject::SharedPods);
}

fn keep_each_once(notes: &mut Vec<Note>) {
    for note in std::mem::take(notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// Returns an HPA that a server has accepted.
fn accepted(object: Result<HpaObject, AdmissionError>) -> Result<HpaObject, String> {
    let object = object.map_err(|e| e.to_string())?;
    if object.is_admitted() {
        Ok(object)
    } else {
        Err("the object has no uid".to_owned())
    }
}

/// Fails the metrics that match a condition for one cause, unless they already have another.
fn fail(observed: &mut Observed, cause: &Failure, picks: fn(&MetricSpec) -> bool) {
    let miss = NoAnswer::from(cause);
    let metrics = observed.hpa.spec.metrics.iter();
    for (spec, answer) in metrics.zip(&mut observed.metrics) {
        if picks(spec) && !matches!(answer, MetricAnswer::Failed(_) | MetricAnswer::Unread(_)) {
            *answer = miss.answer.clone();
        }
    }
    observed.notes.extend(miss.advice.map(|note| *note));
}

/// The time at which an HPA was read, or several of them.
struct ReadingTime {
    at: Instant,
    now: Now,
    /// The note about clocks that differ.
    note: Option<Note>,
}

impl ReadingTime {
    /// Returns the present time, by the server's clock if its time is given.
    fn now(server: Option<Timestamp>) -> Self {
        let local = Timestamp::now();
        let now = Now {
            time: server.unwrap_or(local),
            by_server: server.is_some(),
        };
        Self {
            at: Instant::now(),
            now,
            note: skew(now.time, local),
        }
    }
}

/// Returns a note if the clocks of server and client are far apart.
fn skew(server: Timestamp, own: Timestamp) -> Option<Note> {
    // `Date` has whole seconds.
    let ahead = SignedDuration::from_secs(server.duration_since(own).as_secs());
    let side = if ahead.is_negative() {
        "behind"
    } else {
        "ahead of"
    };
    let text = format!(
        "the server's clock is {} {side} the local one; ages use the server's clock",
        duration(ahead.abs())
    );
    (ahead.abs() > SKEW).then(|| Note::new(text))
}

fn is_well_formed(api_version: &str) -> bool {
    names::group_version(api_version).is_ok()
}
