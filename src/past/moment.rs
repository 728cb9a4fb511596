//! The state at a time, from the samples around it. A view selects one side of each uncertainty.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};

use super::course::{RecordedChange, RecordedCourse};
use super::lacks::usage_of;
use super::{SECOND, asked_by, no_selector, stated_milli};
use crate::apimachinery::quantity::{Amount, Quantity};
use crate::apimachinery::selector::{Labels, Selector};
use crate::error::Error;
pub(super) use crate::prometheus::history::Samples;
use crate::prometheus::history::{self, ContainerHistory, History, PodHistory};
use crate::prometheus::load::milli;
use crate::snapshot::hpa::{MetricSource, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::metric::{ContainerUsage, PodMetrics, Usage};
use crate::snapshot::past::{Bounds, PastPart};
use crate::snapshot::pod::{
    ConditionStatus, Container, Phase, Pod, ReadyCondition, Requests, ResourceName, ZERO_TIME,
    resource_name,
};
use crate::snapshot::shared::Shared;
use crate::snapshot::{
    Documents, ExternalValue, MetricAnswer, ObjectValue, PodValue, Scale, Snapshot, UnreadCause,
};

/// A metrics API's newest sample is at most this old: kubelets measure every 10 to 15 s, and metrics-server
/// asks them every 15 s.
const AGE: i64 = 30 * SECOND;
/// The window over which it is measured.
const WINDOW: i64 = 15 * SECOND;
/// A gap between scrapes that is longer leaves the history open.
pub(super) const GAP: i64 = 60 * SECOND;

/// One side of an uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundSide {
    /// The least, or the earliest.
    Low,
    /// The most likely.
    Likely,
    /// The most, or the latest.
    High,
}

/// The steps from the least usage to the most.
const HEIGHTS: u32 = 16;
/// The steps to a peak of a few seconds, which shows only in part in the mean between two scrapes.
const PEAK: u32 = 6 * HEIGHTS;

/// The sides of the uncertainties to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    /// The time of the pass.
    time: BoundSide,
    /// The state as of the scrape after the time, rather than the one before.
    is_later: bool,
    /// How many of [`HEIGHTS`] the usage is above the least that may have been read; `None` for the most likely one.
    usage: Option<u32>,
    /// How early it was measured.
    measured: BoundSide,
}

impl View {
    /// The most likely state.
    pub(super) const LIKELY: Self = Self {
        time: BoundSide::Likely,
        is_later: false,
        usage: None,
        measured: BoundSide::Likely,
    };

    /// Every side.
    fn all() -> impl Iterator<Item = Self> {
        let sides = [BoundSide::Low, BoundSide::High];
        let usages = [Some(0), Some(HEIGHTS)]
            .into_iter()
            .flat_map(move |usage| sides.map(|measured| (usage, measured)));
        usages.flat_map(|(usage, measured)| {
            [(BoundSide::Low, false), (BoundSide::High, true)].map(|(time, is_later)| Self {
                time,
                is_later,
                usage,
                measured,
            })
        })
    }

    /// Returns the possible states, apart from the usage; the most likely first.
    pub(super) fn states() -> impl Iterator<Item = Self> {
        let states = [
            (BoundSide::Likely, false),
            (BoundSide::Likely, true),
            (BoundSide::Low, false),
            (BoundSide::High, true),
        ];
        states.into_iter().flat_map(|(time, is_later)| {
            [BoundSide::Likely, BoundSide::High, BoundSide::Low].map(|measured| Self {
                time,
                is_later,
                measured,
                ..Self::LIKELY
            })
        })
    }

    /// The shares of the usage that may have been read.
    pub(super) const WITHIN: RangeInclusive<u32> = 0..=HEIGHTS;
    /// The shares of a usage that peaked between two scrapes.
    pub(super) const PEAKS: RangeInclusive<u32> = HEIGHTS + 1..=PEAK;

    /// Returns the same view with another usage.
    pub(super) fn with_share(self, share: u32) -> Self {
        Self {
            usage: Some(share),
            ..self
        }
    }
}

/// The states that a history leads to.
pub(super) struct Moments<'h> {
    pub(super) history: &'h History,
    /// The replicas that the target was asked for; the pods at each scrape if these were not recorded.
    counts: Cow<'h, Samples>,
    /// The times of the passes, and which of them changed the replicas.
    course: RecordedCourse,
    /// Labels that its selector matches.
    labels: Shared<Labels>,
    /// A current pod, for what the history lacks.
    model: Option<Pod>,
    pub(super) lacks: &'h [PastPart],
}

impl<'h> Moments<'h> {
    /// Takes from later states what the history lacks.
    pub(super) fn new(
        input: &Input,
        history: &'h History,
        lacks: &'h [PastPart],
        course: impl FnOnce(Bounds, &[RecordedChange]) -> RecordedCourse,
    ) -> Result<Self, Error> {
        let (labels, model) = selected(input)?;
        let recorded = [&history.replicas, &history.desired]
            .into_iter()
            .find(|samples| !samples.is_empty());
        let counts = recorded.map_or_else(|| Cow::Owned(active(history)), Cow::Borrowed);
        let first = counts
            .all()
            .first()
            .map(|(_, count)| Bounds::exactly(*count as i32));
        let course = course(first.unwrap_or(Bounds::UNKNOWN), &changes(history, &counts));
        Ok(Self {
            history,
            counts,
            course,
            labels,
            model,
            lacks,
        })
    }

    fn lacks(&self, part: PastPart) -> bool {
        self.lacks.contains(&part)
    }

    /// Whether the usage of a resource was recorded.
    fn has_usage(&self, resource: &str) -> bool {
        usage_of(resource).is_some_and(|part| !self.lacks(part))
    }

    /// The times of the passes, and which of them changed the replicas.
    pub(super) fn course(&self) -> &RecordedCourse {
        &self.course
    }

    /// Whether the record continues until the pass after the explained one.
    pub(super) fn is_recorded_after(&self, time: Timestamp) -> bool {
        let (_, latest) = self.course.around_pass(time);
        let is_counted = !self.lacks(PastPart::Replicas);
        is_counted && self.counts.last(latest).is_some() && self.counts.next(latest).is_some()
    }

    /// Whether something was scraped around a time.
    pub(super) fn is_covered(&self, time: Timestamp) -> bool {
        let millis = time.as_millisecond();
        let scrapes = &self.history.scrapes;
        let before = scrapes
            .last(millis)
            .is_some_and(|(scrape, _)| millis - scrape <= GAP);
        let after = scrapes
            .next(millis)
            .is_some_and(|(scrape, _)| scrape - millis <= GAP);
        before || (after && self.history.scrapes.last(millis).is_none())
    }

    /// Returns the bounds of the replicas that the pass at a time found.
    pub(super) fn replicas(&self, time: Timestamp) -> Bounds {
        self.course.replicas(time)
    }

    /// Returns the bounds of the proposal of the pass at a time, and the most likely proposal; `None` if it
    /// proposed nothing.
    pub(super) fn played(&self, base: &Snapshot, time: Timestamp) -> Option<(Bounds, Option<i32>)> {
        let asked: Vec<_> = std::iter::once(View::LIKELY)
            .chain(View::all())
            .map(|view| asked_by(&self.at(base, time, view)?))
            .collect();
        let known = asked.iter().flatten().map(|(bounds, _)| *bounds);
        let all = known.reduce(|all, own| all.with(own.at_least).with(own.at_most))?;
        let likely = asked[0].and_then(|(_, likely)| likely);
        if asked.iter().all(Option::is_some) {
            Some((all, likely))
        } else {
            // It may have recommended nothing.
            Some((Bounds::UNKNOWN, likely))
        }
    }

    /// Returns the state at a time; `None` if nothing was scraped around it.
    pub(super) fn at(&self, base: &Snapshot, time: Timestamp, view: View) -> Option<Snapshot> {
        if !self.is_covered(time) {
            return None;
        }
        let (earliest, latest) = self.course.around_pass(time);
        let millis = match view.time {
            BoundSide::Low => earliest,
            BoundSide::Likely => time.as_millisecond(),
            BoundSide::High => latest,
        };
        let counts = self.replicas(time);
        let spec_replicas = if view.is_later == (self.is_growing(millis)) {
            counts.at_most
        } else {
            counts.at_least
        };
        let status = &self.history.status_replicas;
        let status_replicas = beside(status, millis, view.is_later)
            .map(|(_, value)| value)
            .or_else(|| status.near(millis))
            .map_or(spec_replicas, |value| value as i32);
        let mut snapshot = base.clone();
        snapshot.now = Timestamp::from_millisecond(millis).unwrap_or(time);
        if let Ok(selector) = base.selector() {
            snapshot.scale = Ok(Scale {
                spec_replicas,
                status_replicas,
                selector: selector.clone(),
            });
        }
        let mut wanted: Vec<&str> = base
            .hpa
            .spec
            .metrics
            .iter()
            .filter(|spec| spec.is_resource())
            .map(MetricSpec::name)
            .filter(|name| self.has_usage(name))
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        snapshot.pods.clear();
        snapshot.pod_metrics.clear();
        for recorded in &self.history.pods {
            if !exists(self.history, recorded, millis, view.is_later) {
                continue;
            }
            let pod = self.pod(recorded, base, millis, view.is_later);
            let usage = usage(recorded, &pod, &wanted, millis, view);
            snapshot.pods.push(Shared::from(pod));
            snapshot.pod_metrics.extend(usage.map(Shared::from));
        }
        snapshot.metrics = base
            .hpa
            .spec
            .metrics
            .iter()
            .enumerate()
            .map(|(place, spec)| self.answer(place, spec, &snapshot.pods, millis, view))
            .collect();
        Some(snapshot)
    }

    /// Whether the replicas go up between the samples around a time.
    fn is_growing(&self, millis: i64) -> bool {
        let count = |sample: Option<(i64, f64)>| sample.map(|(_, value)| value);
        count(self.counts.next(millis)) >= count(self.counts.last(millis))
    }

    fn pod(&self, own: &PodHistory, base: &Snapshot, millis: i64, is_later: bool) -> Pod {
        let created = own.created.and_then(second);
        let started = match own.started {
            Some(started) => (started * SECOND <= millis)
                .then(|| second(started))
                .flatten(),
            None if self.lacks(PastPart::StartTimes) => created,
            None => None,
        };
        let is_deleted = match (own.deleted.last(millis), own.deleted.next(millis)) {
            (Some(_), _) => true,
            (None, Some((first, _))) => {
                is_later && own.seen.next(millis).is_none_or(|(next, _)| next >= first)
            }
            (None, None) => false,
        };
        let mut pod = Pod {
            name: own.name.clone(),
            namespace: Some(base.hpa.namespace.as_str().into()),
            labels: self.labels.clone(),
            deletion_timestamp: is_deleted.then_some(base.now),
            phase: phase(own, millis, is_later),
            start_time: started,
            created,
            ..Pod::default()
        };
        pod.ready = ready(own, &pod, millis, is_later);
        let of_spec = own
            .containers
            .iter()
            .filter(|(_, it)| !own.is_ephemeral(it));
        for (name, it) in of_spec {
            let container = Container {
                name: name.clone(),
                requests: self.requests(name, it, millis),
                limits: Requests::default(),
                restart_always: it.init == Some(true),
            };
            let list = match it.init {
                None => &mut pod.containers,
                Some(_) => &mut pod.init_containers,
            };
            list.push(container);
        }
        if let Some(model) = &self.model {
            if own.containers.is_empty() {
                pod.containers = model.containers.clone();
                pod.init_containers = model.init_containers.clone();
            }
            pod.requests = model.requests.clone();
        }
        pod
    }

    fn requests(&self, name: &str, own: &ContainerHistory, millis: i64) -> Requests {
        if self.lacks(PastPart::Requests) {
            let mut containers = self.model.iter().flat_map(|pod| pod.running(true));
            return containers
                .find(|it| &*it.name == name)
                .map(|it| it.requests.clone())
                .unwrap_or_default();
        }
        let request = |(resource, samples): &(ResourceName, Samples)| {
            let amount = amount(resource, samples.near(millis)?)?;
            Some((resource.clone(), amount))
        };
        Requests(own.requests.iter().filter_map(request).collect())
    }

    /// Returns the answer of a metrics API for a metric.
    fn answer(
        &self,
        place: usize,
        spec: &MetricSpec,
        pods: &[Shared<Pod>],
        millis: i64,
        view: View,
    ) -> MetricAnswer {
        // The controller may have read values that the history lacks.
        let missing = MetricAnswer::Unread(UnreadCause::Missing {
            documents: Documents::Samples,
        });
        if spec.is_resource() {
            return if self.has_usage(spec.name()) {
                MetricAnswer::PodMetrics
            } else {
                missing
            };
        }
        let Some(series) = self.history.metrics.get(&place) else {
            return missing;
        };
        let values: Vec<(&Option<Box<str>>, i64)> = series
            .iter()
            .filter_map(|own| {
                let shown = gauge(&own.samples, millis, view)?;
                Some((&own.pod, stated_milli(shown.value).ok()?))
            })
            .collect();
        if values.is_empty() {
            return missing;
        }
        match spec.source() {
            MetricSource::External(_) => {
                let external = values.into_iter().map(|(_, value)| ExternalValue {
                    value,
                    ..ExternalValue::default()
                });
                MetricAnswer::External(external.collect())
            }
            MetricSource::Object(_) => {
                let of_object = values.into_iter().map(|(_, value)| ObjectValue {
                    value,
                    timestamp: None,
                });
                MetricAnswer::Object(of_object.collect())
            }
            _ => {
                let timestamp = Timestamp::from_millisecond(millis).unwrap_or(ZERO_TIME);
                let window = SignedDuration::from_mins(1);
                let known: HashSet<&str> = pods.iter().map(|pod| &*pod.name).collect();
                let of_pods = values.into_iter().filter_map(|(name, value)| {
                    Some(PodValue {
                        pod: name
                            .as_ref()
                            .filter(|name| known.contains(&***name))?
                            .clone(),
                        value,
                        timestamp,
                        window,
                    })
                });
                MetricAnswer::Pods(of_pods.collect())
            }
        }
    }
}

/// Returns the changes of the replicas.
fn changes(history: &History, counts: &Samples) -> Vec<RecordedChange> {
    let mut changes = Vec::new();
    // The number of pods says nothing about who asked for them.
    let is_recorded = !history.replicas.is_empty() || !history.desired.is_empty();
    for pair in counts.all().windows(2) {
        let (before, (until, after)) = (pair[0], pair[1]);
        if before.1 == after {
            continue;
        }
        let is_other = |desired: Option<f64>| desired.is_some_and(|desired| desired != after);
        let later = history.desired.next(until).map(|(_, later)| later);
        let by_pass =
            is_recorded && (!is_other(history.desired.near(until)) || later == Some(after));
        let between = steps(history, before, (until, after)).into_iter();
        changes.extend(between.map(|change| RecordedChange { by_pass, ..change }));
    }
    changes
}

/// Returns the changes of the replicas between two samples. The creation of pods shows when they were asked
/// for.
fn steps(
    history: &History,
    (from, before): (i64, f64),
    (until, after): (i64, f64),
) -> Vec<RecordedChange> {
    let change = (after - before) as i32;
    // A pod that was seen at the first sample was not added by the change.
    let later = history
        .pods
        .iter()
        .filter(|pod| pod.seen.last(from).is_none());
    let within = |second: &i64| (from - SECOND < second * SECOND) && second * SECOND <= until;
    let mut created: Vec<i64> = later.filter_map(|pod| pod.created).filter(within).collect();
    created.sort_unstable();
    if change <= 0 || created.len() as i64 != i64::from(change) {
        // A value that a pass writes may be scraped at once, or a moment later.
        return vec![RecordedChange {
            replicas: change,
            from: from - SECOND,
            until,
            by_pass: true,
        }];
    }
    let mut steps: Vec<RecordedChange> = Vec::new();
    for second in created {
        // A creation has a whole second, and comes within another one of the write.
        let (earliest, latest) = ((second - 1) * SECOND, (second + 1) * SECOND);
        match steps
            .last_mut()
            .filter(|own| earliest - own.from <= 3 * SECOND)
        {
            Some(own) => own.replicas += 1,
            None => steps.push(RecordedChange {
                replicas: 1,
                from: earliest.max(from - SECOND),
                until: latest.min(until),
                by_pass: true,
            }),
        }
    }
    steps
}

/// Returns the pod template of the target and its current pods.
pub(super) fn current(input: &Input) -> impl Iterator<Item = &Pod> {
    let Input {
        snapshot,
        surroundings,
        ..
    } = input;
    let workload = surroundings.workload(&snapshot.hpa.spec.scale_target_ref);
    let template = workload.and_then(|own| own.template.as_deref());
    let pods = snapshot.pods.iter().map(|pod| &**pod);
    let selector = snapshot.selector();
    let is_own = move |pod: &&Pod| selector.is_ok_and(|selector| selector.matches(&pod.labels));
    template.into_iter().chain(pods).filter(is_own)
}

/// Returns labels that the selector of the target matches, and one of its current pods.
pub(super) fn selected(input: &Input) -> Result<(Shared<Labels>, Option<Pod>), Error> {
    let snapshot = &input.snapshot;
    let hpa = &snapshot.hpa;
    let selector = snapshot.selector().map_err(|e| no_selector(hpa, e))?;
    let model = current(input).next().cloned();
    let example = selector.parsed().map(Selector::example);
    let labels = model
        .as_ref()
        .map(|pod| pod.labels.clone())
        .or(example.ok().map(Shared::from))
        .filter(|labels| selector.matches(labels))
        .ok_or_else(|| {
            let target = hpa.reference();
            Error::failed(format!(
                "--at: no pod of {target} is known, and no labels that its selector matches"
            ))
        })?;
    Ok((labels, model))
}

/// Whether a pod was there.
fn exists(history: &History, pod: &PodHistory, millis: i64, is_later: bool) -> bool {
    let since = |second: Option<i64>| second.is_some_and(|second| second * SECOND <= millis);
    if (pod.created.is_some() && !since(pod.created)) || since(pod.replaced) {
        return false;
    }
    match (pod.seen.last(millis), pod.seen.next(millis)) {
        (_, Some(_)) => pod.created.is_some() || is_later || pod.seen.last(millis).is_some(),
        // The next scrape did not see it any more.
        (Some((last, _)), None) => match history.scrapes.next(last) {
            Some((next, _)) if next <= millis => false,
            Some(_) => !is_later,
            None => true,
        },
        (None, None) => false,
    }
}

/// Returns the number of pods at each scrape that a workload counts as its replicas.
fn active(history: &History) -> Samples {
    let mut points = Vec::new();
    for (time, _) in history.scrapes.all() {
        let active = history.pods.iter().filter(|pod| {
            exists(history, pod, *time, false)
                && pod.deleted.last(*time).is_none()
                && phase(pod, *time, false) != Phase::Failed
        });
        points.push((*time, active.count() as f64));
    }
    let mut samples = Samples::default();
    samples.add(&points);
    samples
}

fn second(second: i64) -> Option<Timestamp> {
    Timestamp::from_second(second).ok()
}

/// Returns a recorded request, in the unit that people write it in.
fn amount(resource: &str, value: f64) -> Option<Amount> {
    const MI: i64 = 1024 * 1024;
    let milli = (value * 1e3).round();
    let text = match (resource, milli as i64) {
        _ if !(0.0..9e18).contains(&milli) => return None,
        ("memory", milli) if milli % (1000 * MI) == 0 => format!("{}Mi", milli / 1000 / MI),
        (_, milli) if milli % 1000 == 0 => (milli / 1000).to_string(),
        (_, milli) => format!("{milli}m"),
    };
    Some(Quantity::parse(&text).ok()?.amount().clone())
}

fn phase(own: &PodHistory, millis: i64, is_later: bool) -> Phase {
    if own.phases.is_empty() {
        return Phase::Running;
    }
    let phases = || own.phases.iter();
    let shows_next = is_later && phases().any(|(_, samples)| samples.next(millis).is_some());
    if !shows_next && phases().all(|(_, samples)| samples.last(millis).is_none()) {
        // Created since the last scrape.
        return Phase::Pending;
    }
    let is_shown = |(_, samples): &&(Phase, Samples)| {
        beside(samples, millis, shows_next).is_some_and(|(_, value)| value == 1.0)
    };
    phases()
        .find(is_shown)
        .map(|(phase, _)| *phase)
        .unwrap_or_default()
}

/// Returns the last sample up to a time, or the first one after it.
fn beside(samples: &Samples, millis: i64, is_later: bool) -> Option<(i64, f64)> {
    if is_later {
        samples.next(millis)
    } else {
        samples.last(millis)
    }
}

/// Returns the Ready condition. When it last changed is recorded for ready pods, and by some versions for all.
fn ready(own: &PodHistory, pod: &Pod, millis: i64, is_later: bool) -> Option<ReadyCondition> {
    let start = pod.start_time?;
    let (is_ready, since) = readiness(own, millis, is_later);
    Some(ReadyCondition {
        status: if is_ready {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        },
        last_transition_time: since
            .and_then(|millis| Timestamp::from_millisecond(millis).ok())
            .unwrap_or(start),
    })
}

/// Whether a pod was ready, and since when, if that is recorded.
fn readiness(own: &PodHistory, millis: i64, is_later: bool) -> (bool, Option<i64>) {
    let is_ready = |(_, value): (i64, f64)| value == 1.0;
    let (before, after) = if own.ready.is_empty() {
        // A time alone is recorded for pods that are ready.
        let as_ready = |sample: Option<(i64, f64)>| sample.map(|(time, _)| (time, 1.0));
        (
            as_ready(own.ready_time.last(millis)),
            as_ready(own.ready_time.next(millis)),
        )
    } else {
        (own.ready.last(millis), own.ready.next(millis))
    };
    if before.is_none() && after.is_none() {
        // Nothing is recorded of its readiness.
        return (own.ready.is_empty() && own.ready_time.is_empty(), None);
    }
    if let Some(after) = after
        && let Some(since) = ready_since(own, after.0)
        && is_ready(after)
    {
        if since <= millis {
            return (true, Some(since));
        }
        // It was not ready until then, unless it lost that in between.
        let was = before.filter(|before| is_ready(*before));
        return (
            was.is_some(),
            was.and_then(|before| ready_since(own, before.0)),
        );
    }
    let seen = if is_later { after.or(before) } else { before };
    match seen {
        None => (false, None),
        Some(sample) if is_ready(sample) => (true, ready_since(own, sample.0)),
        Some((last, _)) => {
            let mut earlier = own.ready.all().iter();
            let lost = earlier
                .rfind(|(time, value)| *time < last && *value == 1.0)
                .and_then(|(time, _)| own.ready.next(*time));
            // From some time after it was last seen ready.
            (false, lost.map(|(time, _)| time.min(millis)))
        }
    }
}

fn ready_since(own: &PodHistory, millis: i64) -> Option<i64> {
    let (_, value) = own.ready_time.last(millis)?;
    Some(history::second(value)? * SECOND)
}

/// A value that was measured over a window.
struct WindowValue {
    value: f64,
    end: i64,
    window: i64,
}

/// Picks a value from those that a metrics API may have had at a time, which are in order. `may_lack` is
/// whether it may have had none yet.
fn pick(
    candidates: &[WindowValue],
    millis: i64,
    may_lack: bool,
    view: View,
) -> Option<WindowValue> {
    let until = |own: &WindowValue| own.end.min(millis);
    let newest = candidates
        .iter()
        .rev()
        .find(|own| own.end <= millis || own.end - own.window <= millis - AGE / 2);
    let shown = match view.measured {
        BoundSide::Low if may_lack => return None,
        BoundSide::Low => candidates.first(),
        BoundSide::Likely => newest,
        BoundSide::High => candidates.last(),
    }?;
    let (end, window) = (until(shown), shown.window);
    let values = candidates.iter().map(|own| own.value);
    let value = match view.usage {
        None => shown.value,
        Some(share) => {
            let least = values.clone().reduce(f64::min)?;
            least + (values.reduce(f64::max)? - least) * f64::from(share) / f64::from(HEIGHTS)
        }
    };
    Some(WindowValue { value, end, window })
}

/// Returns the rate of a counter, as between two samples of it.
fn rate(samples: &Samples, millis: i64, view: View) -> Option<WindowValue> {
    let pairs = samples.all().windows(2);
    let rates = pairs.filter(|pair| pair[1].1 >= pair[0].1).map(|pair| {
        let ((start, before), (end, after)) = (pair[0], pair[1]);
        let value = (after - before) / ((end - start) as f64 / SECOND as f64);
        WindowValue {
            value,
            end,
            window: end - start,
        }
    });
    let mut is_old = false;
    let mut candidates = Vec::new();
    for rate in rates {
        is_old |= rate.end <= millis - AGE;
        if rate.end > millis - AGE - WINDOW && rate.end - rate.window < millis {
            candidates.push(rate);
        }
    }
    pick(&candidates, millis, !is_old, view)
}

/// Returns the value of a gauge.
fn gauge(samples: &Samples, millis: i64, view: View) -> Option<WindowValue> {
    let next = samples.next(millis);
    let older = samples.last(millis - AGE);
    // One that holds until a later sample was there in between.
    let held = older.filter(|_| samples.last(millis) == older && next.is_some());
    let recent = samples.all().iter().copied().filter(|(end, _)| {
        (millis - AGE < *end && *end <= millis)
            || next.is_some_and(|next| next.0 == *end && *end - millis <= GAP)
    });
    let candidates: Vec<WindowValue> = held
        .into_iter()
        .chain(recent)
        .map(|(end, value)| WindowValue {
            value,
            end,
            window: WINDOW,
        })
        .collect();
    pick(&candidates, millis, older.is_none(), view)
}

/// Returns the answer of the resource metrics API for a pod; `None` unless all containers of its spec were
/// measured. The usage of others counts, too.
fn usage(
    own: &PodHistory,
    pod: &Pod,
    wanted: &[&str],
    millis: i64,
    view: View,
) -> Option<PodMetrics> {
    let mut used = Vec::new();
    for Container { name, .. } in pod.running(false) {
        let history = own.containers.get(name)?;
        used.push(container_usage(name, history, wanted, millis, view)?);
    }
    let others = own.containers.iter().filter(|(_, it)| own.is_ephemeral(it));
    used.extend(others.filter_map(|(name, it)| container_usage(name, it, wanted, millis, view)));
    let times = used.iter().map(|(_, time)| *time);
    let (end, window) = times.min_by_key(|(end, _)| *end)?;
    Some(PodMetrics {
        name: own.name.clone(),
        namespace: pod.namespace.clone(),
        labels: pod.labels.clone(),
        timestamp: Timestamp::from_millisecond(end).ok()?,
        window: SignedDuration::from_millis(window),
        containers: used.into_iter().map(|(usage, _)| usage).collect(),
    })
}

/// Returns the usage of a container, with the end and the length of its earliest window; `None` unless it was measured.
fn container_usage(
    name: &str,
    own: &ContainerHistory,
    wanted: &[&str],
    millis: i64,
    view: View,
) -> Option<(ContainerUsage, (i64, i64))> {
    let mut usage = Usage::new();
    let mut measured: Option<(i64, i64)> = None;
    for resource in wanted {
        let found = match *resource {
            "cpu" => rate(&own.cpu, millis, view),
            "memory" => gauge(&own.memory, millis, view),
            _ => None,
        }?;
        if measured.is_none_or(|(end, _)| found.end < end) {
            measured = Some((found.end, found.window));
        }
        usage.push((resource_name(resource), milli(found.value).ok()?));
    }
    let container = ContainerUsage {
        name: name.into(),
        usage,
    };
    Some((container, measured?))
}
