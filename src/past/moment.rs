//! The state at a time, from the samples around it. A view selects one side of each uncertainty.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use super::course::{RecordedChange, RecordedCourse, ReplicaRecord};
use super::lacks::{is_next_sample, usage_of};
use super::pods::{end, exists, is_active, phase, ready, shown};
use super::usage::{ALWAYS, Points, covers, gauge, is_sampled, span_of, usage, used};
use super::view::{BoundSide, View};
use super::{SECOND, asked_by, no_selector, read};
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::apimachinery::selector::{Labels, Selector};
use crate::error::Error;
use crate::prometheus::history::{
    ContainerHistory, History, PodHistory, STATE_GAP, Samples, VALUE_GAP,
};
use crate::prometheus::load::stated_milli;
use crate::snapshot::hpa::{HpaSpec, MetricSource, MetricSpec, MetricTarget};
use crate::snapshot::input::Input;
use crate::snapshot::past::{Bounds, PastField, PastPart, RecordedReplicas};
use crate::snapshot::pod::{Container, Pod, Requests, ResourceName, ZERO_TIME};
use crate::snapshot::shared::Shared;
use crate::snapshot::{
    Documents, ExternalValue, MetricAnswer, ObjectValue, PodValue, Scale, Snapshot, UnreadCause,
};

/// The states that a history leads to.
pub(super) struct Moments<'h> {
    pub(super) history: &'h History,
    /// The replicas that the target was asked for; the pods at each scrape if these were not recorded.
    counts: Cow<'h, Samples>,
    /// The times of the passes, and which of them changed the replicas.
    pub(super) course: RecordedCourse,
    /// Labels that its selector matches.
    labels: Shared<Labels>,
    /// A current pod, for what the history lacks.
    model: Option<Pod>,
    pub(super) lacks: &'h [PastPart],
    /// The spec that was read later.
    read: HpaSpec,
    /// Whether that is the next sample of a field that has none.
    is_next: bool,
    /// The resources whose usage matters, of those that were recorded.
    wanted: Vec<&'static str>,
    /// The samples of each value of a metric that is not a resource: by pod for the type Pods.
    values: HashMap<Option<&'h str>, Vec<Points<'h>>>,
}

/// The spec that an HPA had.
pub(super) struct RestoredSpec {
    pub(super) spec: HpaSpec,
    /// The fields that differed.
    pub(super) changed: Vec<PastField>,
    /// The metrics whose targets the history lacks, although it has targets.
    pub(super) kept: Vec<String>,
}

impl<'h> Moments<'h> {
    /// Takes from later states what the history lacks.
    pub(super) fn new(
        input: &Input,
        history: &'h History,
        lacks: &'h [PastPart],
        course: impl FnOnce(ReplicaRecord) -> RecordedCourse,
    ) -> Result<Self, Error> {
        let (labels, model) = selected(input)?;
        let recorded = [&history.replicas, &history.desired]
            .into_iter()
            .find(|samples| !samples.is_empty());
        let counts = recorded.map_or_else(|| Cow::Owned(active(history)), Cow::Borrowed);
        let spec = &input.snapshot.hpa.spec;
        let course = course(record(history, &counts, spec, read(input).as_millisecond()));
        let mut wanted = vec!["cpu", "memory"];
        wanted.retain(|name| {
            let is_own = |metric: &MetricSpec| metric.is_resource() && metric.name() == *name;
            spec.metrics.iter().any(is_own)
                && usage_of(name).is_some_and(|part| !lacks.contains(&part))
        });
        let mut values: HashMap<_, Vec<_>> = HashMap::new();
        for (place, series) in &history.metrics {
            let is_of_pods = matches!(spec.metrics[*place].source(), MetricSource::Pods(_));
            for own in series {
                let pod = own.pod.as_deref().filter(|_| is_of_pods);
                values.entry(pod).or_default().push(own.samples.all());
            }
        }
        Ok(Self {
            history,
            counts,
            course,
            labels,
            model,
            lacks,
            read: spec.clone(),
            is_next: is_next_sample(history, input),
            wanted,
            values,
        })
    }

    fn lacks(&self, part: PastPart) -> bool {
        self.lacks.contains(&part)
    }

    /// Whether the record continues until the pass after the explained one.
    pub(super) fn is_recorded_after(&self, time: Timestamp) -> bool {
        let (_, latest) = self.course.around_pass(time);
        let is_counted = !self.lacks(PastPart::Replicas);
        is_counted && self.counts.last(latest).is_some() && self.counts.next(latest).is_some()
    }

    /// Returns the replicas that were recorded first after a pass.
    pub(super) fn recorded_after(&self, time: Timestamp) -> Option<RecordedReplicas> {
        let next = self.counts.next(time.as_millisecond() + SECOND);
        let (millis, value) = next.filter(|_| !self.lacks(PastPart::Replicas))?;
        Some(RecordedReplicas {
            replicas: value as i32,
            time: Timestamp::from_millisecond(millis).ok()?,
        })
    }

    /// Whether something was scraped around a time.
    fn is_covered(&self, time: Timestamp) -> bool {
        let millis = time.as_millisecond();
        let scrapes = &self.history.scrapes;
        let nearest = scrapes.last(millis).or_else(|| scrapes.next(millis));
        let age = self.history.state_age();
        nearest.is_some_and(|(scrape, _)| millis.abs_diff(scrape) <= age as u64)
    }

    /// Whether everything that the pass at a time depends on was sampled around it.
    fn is_known(&self, base: &Snapshot, time: Timestamp) -> bool {
        let (earliest, latest) = self.course.around_pass(time);
        let span = span_of(earliest, latest);
        let usage_gap = self.history.usage_gap();
        let is_scraped = |own: &Samples| covers(own.all(), ALWAYS, (earliest, latest), STATE_GAP);
        let needs_pods = self.read.metrics.iter().any(MetricSpec::needs_pods);
        if !is_scraped(&self.counts) || (needs_pods && !is_scraped(&self.history.scrapes)) {
            return false;
        }
        let mut totals = self.values_of(None).iter();
        let sides = [(earliest, false), (latest, true)].into_iter();
        let mut pods = sides.flat_map(|side| self.pods(base, time, side));
        let is_known = |(own, pod): (&PodHistory, Pod)| {
            let end = end(self.history, own).unwrap_or(i64::MAX);
            let usage = used(own, &pod, &self.wanted);
            let values = self.values_of(Some(&own.name));
            is_sampled(&pod, end, &usage, span, usage_gap)
                && is_sampled(&pod, end, values, span, VALUE_GAP)
        };
        totals.all(|own| covers(own, ALWAYS, span, VALUE_GAP)) && pods.all(is_known)
    }

    fn values_of<'s>(&'s self, pod: Option<&'s str>) -> &'s [Points<'s>] {
        self.values.get(&pod).map_or(&[], Vec::as_slice)
    }

    /// Returns the bounds of the proposal of the pass at a time, and the most likely proposal; `None` if it
    /// proposed nothing.
    pub(super) fn played(&self, base: &Snapshot, time: Timestamp) -> Option<(Bounds, Option<i32>)> {
        let of = |view| asked_by(&self.at(base, time, view)?);
        let first = of(View::LIKELY);
        let likely = first.and_then(|(_, likely)| likely);
        if !self.is_known(base, time) {
            return Some((Bounds::UNKNOWN, likely));
        }
        let asked: Vec<_> = std::iter::once(first).chain(View::all().map(of)).collect();
        let known = asked.iter().flatten().map(|(bounds, _)| *bounds);
        let all = known.reduce(Bounds::hull)?;
        // Otherwise it may have recommended nothing, or anything.
        let is_bounded = asked.iter().all(Option::is_some);
        let bounds = Some(all).filter(|_| is_bounded);
        Some((bounds.unwrap_or(Bounds::UNKNOWN), likely))
    }

    /// Returns the replicas that were recorded last at a time.
    pub(super) fn recorded_at(&self, time: Timestamp) -> Bounds {
        let recorded = self.counts.near(time.as_millisecond());
        recorded.map_or(Bounds::UNKNOWN, |count| Bounds::exactly(count as i32))
    }

    fn millis(&self, time: Timestamp, view: View) -> i64 {
        let (earliest, latest) = self.course.around_pass(time);
        match view.time {
            BoundSide::Low => earliest,
            BoundSide::Likely => time.as_millisecond(),
            BoundSide::High => latest,
        }
    }

    /// Returns the spec with the limits and targets that it had.
    pub(super) fn restored(&self, time: Timestamp, view: View) -> RestoredSpec {
        let (history, millis, is_later) = (self.history, self.millis(time, view), view.is_later);
        let (mut changed, mut kept) = (Vec::new(), Vec::new());
        let mut spec = self.read.clone();
        let then = |samples: &Samples| {
            let is_read = is_later && self.is_next && samples.next(millis).is_none();
            shown(samples, millis, is_later).filter(|_| !is_read)
        };
        // What no API server stores was not recorded of this spec.
        let of = |samples: &Samples, least: i32| {
            let value = then(samples).map(|value| value as i32);
            value.filter(|value| *value >= least)
        };
        if let Some(min) = of(&history.min, 0) {
            changed.extend(difference("minReplicas", &min, &spec.min()));
            if Some(min) != spec.min_replicas.or(Some(1)) {
                spec.min_replicas = Some(min);
            }
        }
        if let Some(max) = of(&history.max, 1) {
            changed.extend(difference("maxReplicas", &max, &spec.max_replicas));
            spec.max_replicas = max;
        }
        let read = &self.read.metrics;
        let metrics = spec.metrics.iter_mut().zip(read);
        for (metric, own) in metrics.filter(|_| !history.targets.is_empty()) {
            let (name, label) = (own.name(), own.label(read));
            // Targets are recorded by this name alone.
            let is_alone = own.container().is_none()
                && read.iter().filter(|other| other.name() == name).count() == 1;
            let Some(target) = metric.target_mut() else {
                continue;
            };
            let MetricTarget {
                average_utilization,
                average_value,
                value,
                ..
            } = target;
            let field = format!("target of {label}");
            let recorded = |kind: &str| {
                let samples = history.targets.get(&(name.to_owned(), kind.to_owned()))?;
                then(samples).filter(|_| is_alone)
            };
            let mut is_told = false;
            let percent = recorded("utilization").filter(|then| *then >= 1.0);
            if let (Some(now), Some(then)) = (average_utilization, percent) {
                let (percent_then, percent_now) = (format!("{then}%"), format!("{now}%"));
                changed.extend(difference(&field, &percent_then, &percent_now));
                *now = then as i32;
                is_told = true;
            }
            for (own, kind) in [(average_value, "average"), (value, "value")] {
                let milli_or_more = recorded(kind).filter(|then| *then >= 1e-3);
                let (Some(now), Some(then)) = (own, milli_or_more) else {
                    continue;
                };
                is_told = true;
                // A float has lost the digits beyond its precision.
                let milli = (then * 1e3).round();
                if (now.approximate_f64() - then).abs() > 1e-9 * then.abs() && milli.abs() < 9e15 {
                    let then = Quantity::from_milli(milli as i64, Format::DecimalSI);
                    changed.extend(difference(&field, &then, now));
                    *now = then;
                }
            }
            kept.extend((!is_told).then_some(label));
        }
        RestoredSpec {
            spec,
            changed,
            kept,
        }
    }

    /// Returns the state at a time; `None` if nothing was scraped around it.
    pub(super) fn at(&self, base: &Snapshot, time: Timestamp, view: View) -> Option<Snapshot> {
        if !self.is_covered(time) {
            return None;
        }
        let millis = self.millis(time, view);
        let Bounds { at_least, at_most } = self.course.replicas(time);
        let spec_replicas = shown(&self.counts, millis, view.is_later)
            .map_or(at_least, |count| (count as i32).clamp(at_least, at_most));
        let status = &self.history.status_replicas;
        let status_replicas =
            shown(status, millis, view.is_later).map_or(spec_replicas, |value| value as i32);
        let mut snapshot = base.clone();
        snapshot.hpa.spec = self.restored(time, view).spec;
        snapshot.now = Timestamp::from_millisecond(millis).unwrap_or(time);
        if let Ok(selector) = base.selector() {
            snapshot.scale = Ok(Scale {
                spec_replicas,
                status_replicas,
                selector: selector.clone(),
            });
        }
        snapshot.pods.clear();
        snapshot.pod_metrics.clear();
        let gap = self.history.usage_gap();
        for (own, pod) in self.pods(base, time, (millis, view.is_later)) {
            let usage = usage(own, &pod, &self.wanted, gap, millis, view);
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

    /// Returns the pods that there were, each with its history.
    fn pods(
        &self,
        base: &Snapshot,
        time: Timestamp,
        (millis, is_later): (i64, bool),
    ) -> impl Iterator<Item = (&'h PodHistory, Pod)> {
        let is_created = move |second| !self.course.is_created_later(time, second);
        let is_there = move |own: &&PodHistory| {
            own.created.is_none_or(is_created) && exists(self.history, own, millis, is_later)
        };
        let there = self.history.pods.iter().filter(is_there);
        there.map(move |own| (own, self.pod(own, base, millis, is_later)))
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
            return if self.wanted.contains(&spec.name()) {
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
                // The query is evaluated more often, so that it had no value in a gap that is longer, as before a pod
                // was created again.
                let shown = gauge(&own.samples, i64::MIN, VALUE_GAP, millis, view)?;
                Some((&own.pod, stated_milli(spec, shown.value).ok()?))
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

/// Returns a field whose value differed from the current one.
fn difference(field: &str, then: &impl ToString, now: &impl ToString) -> Option<PastField> {
    let (then, now) = (then.to_string(), now.to_string());
    (then != now).then(|| PastField {
        field: field.to_owned(),
        then,
        now,
    })
}

/// Returns the recorded replicas of a target. Outside the record, the bounds of the HPA hold for them.
fn record(history: &History, counts: &Samples, spec: &HpaSpec, read: i64) -> ReplicaRecord {
    let all = counts.all();
    let limits = Bounds::exactly(spec.min()).with(spec.max_replicas);
    let recorded = all.iter().map(|(_, count)| *count as i32);
    ReplicaRecord {
        samples: all.to_vec(),
        read,
        first: recorded.clone().next().unwrap_or(0),
        beyond: recorded.fold(limits, Bounds::with),
        changes: changes(history, counts),
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
        let is_desired = !is_other(history.desired.near(until));
        let later = history.desired.next(until).map(|(_, later)| later);
        let between = steps(history, before, (until, after)).into_iter();
        changes.extend(between.map(|change| {
            // A pass writes the status right after the scale, so few scrapes are in between.
            let is_adopted = later == Some(after) && until - change.until <= SECOND;
            let by_pass = is_recorded && (is_desired || is_adopted);
            RecordedChange { by_pass, ..change }
        }));
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

/// Returns the number of pods at each scrape that a workload counts as its replicas.
fn active(history: &History) -> Samples {
    let mut points = Vec::new();
    for (time, _) in history.scrapes.all() {
        let active = history
            .pods
            .iter()
            .filter(|pod| is_active(history, pod, *time));
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
