//! Changes of the pods: more, fewer, or the same ones in another state.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;

use super::samples::is_running;
use super::{Override, Reported, look};
use crate::apimachinery::selector::Selector;
use crate::engine::decision::{Decision, Group, MetricStep};
use crate::error::Error;
use crate::numbers;
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::input::Input;
use crate::snapshot::metric::{Measured, PodMetrics};
use crate::snapshot::note::Note;
use crate::snapshot::pod::{ConditionStatus, Phase, Pod, ReadyCondition};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::Ordinals;
use crate::snapshot::{MetricAnswer, PodValue, ScaleError, Snapshot};
use crate::whatif::MAX_PODS;

/// The changes that are assumed for the pods.
#[derive(Debug, Clone, Default)]
pub(super) struct PodChanges {
    pub(super) replicas: Option<ReplicasChange>,
    /// The assumed states of pods, state by state.
    pub(super) states: Vec<(State, Which)>,
}

/// The hint for an input whose pods are not known to be the target's, or that states that there are no pods.
pub(super) const WITHOUT_PODS: &str = "leave the pods out of the input: those of the target are then assumed, as many as --replicas or \
     the manifest of the target states";

/// A change of the number of replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplicasChange {
    /// This many.
    To(i32),
    /// This many more, or fewer if negative.
    By(i32),
}

impl ReplicasChange {
    /// Scales the target.
    fn set(self, input: &mut Input, decision: &Decision) -> Result<Override, Error> {
        let Input {
            snapshot,
            surroundings,
            notes,
            ..
        } = input;
        known_selector(snapshot)?;
        // Unknown replicas are only replaced, not changed.
        let scale = snapshot.scale.as_ref().ok();
        let before = scale.map(|scale| scale.spec_replicas);
        let count = self.after(before.unwrap_or_default())?;
        let workload = surroundings.workload(&snapshot.hpa.spec.scale_target_ref);
        let ordinals = workload.map(|it| it.ordinals.unwrap_or_default());
        scale_to(snapshot, count, ordinals, decision, notes)?;
        let (assumed, result) = match self {
            Self::To(_) => (count.to_string(), None),
            Self::By(change) => (
                format!("{change:+}"),
                Some(Reported::Text(count.to_string())),
            ),
        };
        let supposed = surroundings.supposed.as_ref();
        let stated = supposed.map_or(before, |pods| pods.stated);
        let observed = stated.map(|count| Reported::Text(count.to_string()));
        let is_observable = observed.is_some();
        Ok(Override {
            result,
            is_observable,
            ..Override::new("replicas", assumed, observed)
        })
    }

    pub(super) fn read(text: &str) -> Result<Self, Error> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
        let number: Option<i32> = text.parse().ok().filter(|_| is_number);
        match number {
            Some(number) if digits.len() == text.len() => Ok(Self::To(number)),
            Some(number) => Ok(Self::By(number)),
            None if is_number && text.starts_with('-') => Err(Error::usage(format!(
                "--replicas {text}: no target has that many replicas"
            ))),
            None if is_number => Err(too_many(text)),
            None => Err(Error::usage(format!(
                "--replicas {text}: not a number such as 6 or a change such as +2 or -2"
            ))),
        }
    }

    /// Returns the new count.
    pub(super) fn after(self, before: i32) -> Result<i32, Error> {
        let (count, typed) = match self {
            Self::To(count) => (Some(count), count.to_string()),
            Self::By(change) => (before.checked_add(change), format!("{change:+}")),
        };
        match count {
            Some(count) if count < 0 => Err(Error::usage(format!(
                "--replicas {typed}: the target has {before} replicas; the result cannot be \
                 negative"
            ))),
            Some(count) if (count as usize) <= MAX_PODS => Ok(count),
            _ => Err(too_many(&typed)),
        }
    }
}

fn too_many(typed: &str) -> Error {
    Error::usage(format!(
        "--replicas {typed}: at most {MAX_PODS} pods can be assumed"
    ))
}

/// A selection of pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    /// This many.
    Count(usize),
    /// The pod of this name.
    Named(String),
}

/// A state that is assumed for a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unready,
    Missing,
    Pending,
}

impl State {
    const ALL: [Self; 3] = [Self::Unready, Self::Missing, Self::Pending];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Unready => "unready",
            Self::Missing => "without metrics",
            Self::Pending => "pending",
        }
    }

    /// Returns the state that a flag puts pods in, with these pods; `None` if it puts none in any.
    pub(super) fn of_flag(flag: &str, text: &str) -> Result<Option<(Self, Which)>, Error> {
        let state = Self::ALL.into_iter().find(|it| it.flag() == flag);
        state
            .map(|it| Ok((it, Which::read(flag, text)?)))
            .transpose()
    }

    fn flag(self) -> &'static str {
        match self {
            Self::Unready => "--unready",
            Self::Missing => "--missing",
            Self::Pending => "--pending",
        }
    }
}

impl Which {
    fn read(flag: &str, text: &str) -> Result<Self, Error> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        if text.strip_prefix('-').is_some_and(is_number) {
            return Err(Error::usage(format!("{flag} {text}: must not be negative")));
        }
        if is_number(text) {
            let too_large = |_| Error::usage(format!("{flag} {text}: too large"));
            return text.parse().map(Self::Count).map_err(too_large);
        }
        let of_a_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        if text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(of_a_name) {
            return Ok(Self::Named(text.to_owned()));
        }
        Err(Error::usage(format!(
            "{flag} {text}: not a number or the name of a pod"
        )))
    }
}

impl PodChanges {
    /// Returns the number of replicas, if it was typed rather than a change.
    pub(super) fn typed_count(&self) -> Result<Option<i32>, Error> {
        let typed = self.replicas;
        let count = typed.filter(|typed| matches!(typed, ReplicasChange::To(_)));
        count.map(|typed| typed.after(0)).transpose()
    }

    pub(super) fn is_none(&self) -> bool {
        self.replicas.is_none() && self.states.is_empty()
    }

    /// Scales the target.
    pub(super) fn scale(
        &self,
        input: &mut Input,
        decision: &Decision,
    ) -> Result<Option<Override>, Error> {
        let replicas = self.replicas.map(|replicas| replicas.set(input, decision));
        replicas.transpose()
    }

    /// Changes the states of pods, and returns them by pod. The target has been scaled.
    pub(super) fn apply(
        &self,
        snapshot: &mut Snapshot,
        decision: &Decision,
        overrides: &mut Vec<Override>,
    ) -> Result<Vec<(Box<str>, State)>, Error> {
        let mut chosen: Vec<(Box<str>, State)> = Vec::new();
        for (state, which) in &self.states {
            let Which::Named(name) = which else { continue };
            named(snapshot, name)?;
            if let Some((_, other)) = chosen.iter().find(|(pod, _)| **pod == **name) {
                let (state, other) = (state.word(), other.word());
                return Err(Error::usage(if state == other {
                    format!("{name} is named twice")
                } else {
                    format!("{name} cannot be both {other} and {state}")
                }));
            }
            chosen.push((name.as_str().into(), *state));
        }
        let anew = self.replicas.map(|_| look(snapshot));
        let uncounted = uncounted(snapshot, anew.as_ref().unwrap_or(decision));
        for (state, which) in &self.states {
            if let Which::Count(count) = *which {
                choose(count, *state, snapshot, &uncounted, &mut chosen)?;
            }
        }
        put(snapshot, &chosen);
        for state in State::ALL {
            let word = state.flag().trim_start_matches('-');
            let names: Vec<Box<str>> = chosen
                .iter()
                .filter(|(_, own)| *own == state)
                .map(|(name, _)| name.clone())
                .collect();
            if !names.is_empty() {
                let item = Override::event(format!("{word} pods"), names.join(", "));
                overrides.push(item.of_pods(names));
            }
        }
        Ok(chosen)
    }
}

/// Chooses pods for a state: first the pods for which the state makes a difference, and of these the last by name.
fn choose(
    count: usize,
    state: State,
    snapshot: &Snapshot,
    uncounted: &Names<Box<str>>,
    chosen: &mut Vec<(Box<str>, State)>,
) -> Result<(), Error> {
    let taken: Names<&str> = chosen.iter().map(|(name, _)| &**name).collect();
    let mut free = of_target(snapshot)?;
    free.retain(|pod| {
        let stays = match state {
            State::Unready => is_ready(pod),
            State::Missing | State::Pending => is_running(pod),
        };
        stays && !taken.contains(&pod.name)
    });
    if free.len() < count {
        let (flag, left) = (state.flag(), free.len());
        let do_so = match (state, left) {
            (State::Unready, 1) => "pod of the target meets the condition Ready",
            (State::Unready, _) => "pods of the target meet the condition Ready",
            (State::Missing | State::Pending, 1) => "pod of the target is in the phase Running",
            (State::Missing | State::Pending, _) => "pods of the target are in the phase Running",
        };
        let besides = match chosen.len() {
            0 => String::new(),
            taken => format!(", besides {taken} that other flags take"),
        };
        return Err(Error::usage(format!(
            "{flag} {count}: only {left} {do_so}{besides}"
        )));
    }
    free.sort_by_key(|pod| !uncounted.contains(&pod.name));
    let last = free[free.len() - count..].iter();
    chosen.extend(last.map(|pod| (pod.name.clone(), state)));
    Ok(())
}

/// Checks that the selector of the target matches a pod of this name.
pub(super) fn named(snapshot: &Snapshot, name: &str) -> Result<(), Error> {
    let pods = matched(snapshot)?;
    if pods.iter().any(|pod| *pod.name == *name) {
        return Ok(());
    }
    let names: Vec<&str> = pods.iter().map(|pod| &*pod.name).take(10).collect();
    let error = Error::usage(format!("the target has no pod {name}"));
    Err(match names.len() {
        0 => error.hint("it has no pods"),
        _ => error.hint(format!("it has {}", names.join(", "))),
    })
}

/// The pods of the target, by name.
pub(super) fn of_target(snapshot: &Snapshot) -> Result<Vec<&Shared<Pod>>, Error> {
    let mut pods = matched(snapshot)?;
    pods.retain(|pod| !pod.is_foreign);
    Ok(pods)
}

/// The pods that the selector of the target matches, by name: the controller counts them all.
pub(super) fn matched(snapshot: &Snapshot) -> Result<Vec<&Shared<Pod>>, Error> {
    check_read(snapshot)?;
    let selector = known_selector(snapshot)?;
    let mut pods: Vec<&Shared<Pod>> = snapshot
        .pods
        .iter()
        .filter(|pod| selector.matches(&pod.labels))
        .collect();
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(pods)
}

/// Returns the selector of the target's pods.
pub(super) fn known_selector(snapshot: &Snapshot) -> Result<Selector, Error> {
    match snapshot.selector() {
        Ok(selector) if selector.as_str().is_empty() => {
            Err(unknown_pods("the target's scale is missing a selector"))
        }
        Ok(selector) => {
            let parsed = selector.parsed().cloned();
            parsed.map_err(|e| unknown_pods(&e.to_string()))
        }
        Err(ScaleError::Mapping(e) | ScaleError::Get(e)) => Err(unknown_pods(e)),
        Err(e) => Err(unknown_pods(&e.lacking().unwrap_or_default()).hint(WITHOUT_PODS)),
    }
}

/// Checks that the pods were read.
pub(super) fn check_read(snapshot: &Snapshot) -> Result<(), Error> {
    if snapshot.pods_unread.is_none() {
        return Ok(());
    }
    let message = "the pods of the target are unknown: you are not allowed to read them";
    Err(Error::failed(message))
}

/// Returns the error for a target whose selector is unknown.
pub(super) fn unknown_pods(why: &str) -> Error {
    Error::usage(format!("the pods of the target are unknown: {why}"))
}

/// Whether a pod is up and ready.
pub(in crate::whatif) fn is_ready(pod: &Pod) -> bool {
    is_running(pod) && pod.is_ready()
}

/// Puts pods in their states, as they would be with every metric.
fn put(snapshot: &mut Snapshot, chosen: &[(Box<str>, State)]) {
    let states: HashMap<&str, State> = chosen.iter().map(|(name, own)| (&**name, *own)).collect();
    let metrics = 0..snapshot.metrics.len();
    for pod in &mut snapshot.pods {
        match states.get(&*pod.name) {
            Some(State::Unready) => be_unready(pod, snapshot.now),
            Some(State::Pending) => {
                let started = pod.known_start();
                be_unready(pod, snapshot.now);
                pod.start_time = started;
                pod.phase = Phase::Pending;
            }
            Some(State::Missing) => pod.assumed_missing = metrics.clone().collect(),
            None => {}
        }
    }
    snapshot.retain_values(|pod| {
        let state = states.get(pod);
        state.is_none_or(|state| *state == State::Unready)
    });
}

/// Removes some pods, along with their values.
pub(crate) fn remove_pods(snapshot: &mut Snapshot, goes: impl Fn(&Pod) -> bool) {
    let mut names: Vec<Box<str>> = Vec::new();
    snapshot.pods.retain(|pod| {
        let goes = goes(pod);
        names.extend(goes.then(|| pod.name.clone()));
        !goes
    });
    let gone: Names<Box<str>> = names.into_iter().collect();
    snapshot.retain_values(|pod| !gone.contains(pod));
}

/// Makes some pods ready, since long ago. A pod without a value of some metric is replaced by one of the same name with
/// the average usage of the pods that count, if there are any.
pub(crate) fn make_ready(
    snapshot: &mut Snapshot,
    decision: &Decision,
    wanted: impl Fn(&Pod) -> bool,
) {
    let without_value = decision
        .metrics()
        .filter(|step| !step.is_total())
        .flat_map(|step| &step.pods)
        .filter(|row| row.value.is_none())
        .filter_map(|row| snapshot.pods.get(row.pod as usize));
    // A resource metric that fails because a pod has no value has no rows.
    let failed: Vec<&MetricStep> = decision
        .metrics()
        .filter(|step| step.is_resource() && step.pods.is_empty())
        .collect();
    let measured = Measured::of(&snapshot.pod_metrics);
    let unmeasured = snapshot.pods.iter().filter(|pod| {
        failed.iter().any(|step| {
            let own = measured.of_pod(&pod.name);
            own.is_none_or(|it| it.usage(&step.name, step.container.as_deref()).is_none())
        })
    });
    let lacks: BTreeSet<_> = without_value
        .chain(unmeasured)
        .filter(|pod| wanted(pod))
        .map(|pod| pod.name.clone())
        .collect();
    let counted = if lacks.is_empty() {
        Vec::new()
    } else {
        counted(snapshot, decision)
    };
    for pod in snapshot.pods.iter_mut().filter(|pod| wanted(pod)) {
        be_ready(pod);
    }
    if let Some(model) = counted.first() {
        remove_pods(snapshot, |pod| lacks.contains(&pod.name));
        add(snapshot, model, &counted, lacks);
    }
}

/// Makes some pods unready, since their start.
pub(crate) fn make_unready(snapshot: &mut Snapshot, wanted: impl Fn(&Pod) -> bool) {
    for pod in snapshot.pods.iter_mut().filter(|pod| wanted(pod)) {
        be_unready(pod, snapshot.now);
    }
}

/// Gives the target as many pods as it has replicas, unless they exceed the limit, or there is no pod to use
/// as a model.
pub(crate) fn complete(snapshot: &mut Snapshot, decision: &Decision, replicas: i32) {
    if usize::try_from(replicas).is_ok_and(|count| count <= MAX_PODS) {
        let _ = scale_to(snapshot, replicas, None, decision, &mut Vec::new());
    }
}

/// Returns the pods of the target that count in each metric with a value.
fn counted(snapshot: &Snapshot, decision: &Decision) -> Vec<Shared<Pod>> {
    let uncounted = uncounted(snapshot, decision);
    let pods = of_target(snapshot).unwrap_or_default().into_iter();
    pods.filter(|pod| !uncounted.contains(&pod.name))
        .cloned()
        .collect()
}

/// Makes a pod unready since its start or, if it has not started, since now.
fn be_unready(pod: &mut Pod, now: Timestamp) {
    let since = pod.known_start().unwrap_or(now);
    pod.start_time = Some(since);
    pod.ready = Some(ReadyCondition {
        status: ConditionStatus::False,
        last_transition_time: since,
    });
}

/// Makes a pod ready, since long ago.
pub(super) fn be_ready(pod: &mut Pod) {
    pod.phase = Phase::Running;
    pod.start_time = Some(Timestamp::UNIX_EPOCH);
    pod.ready = Some(ReadyCondition {
        status: ConditionStatus::True,
        last_transition_time: Timestamp::UNIX_EPOCH,
    });
}

/// Scales the target to this many replicas, with its pods if they are known. The ordinals are those of a known workload.
fn scale_to(
    snapshot: &mut Snapshot,
    count: i32,
    ordinals: Option<Ordinals>,
    decision: &Decision,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    if snapshot.pods_unread.is_none() {
        scale_pods(snapshot, count, ordinals, decision, notes)?;
    }
    snapshot.set_replicas(count);
    if let Ok(scale) = &mut snapshot.scale {
        scale.status_replicas = count;
    }
    Ok(())
}

/// Gives the target this many pods.
fn scale_pods(
    snapshot: &mut Snapshot,
    count: i32,
    ordinals: Option<Ordinals>,
    decision: &Decision,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let uncounted = uncounted(snapshot, decision);
    let mut pods: Vec<Shared<Pod>> = of_target(snapshot)?
        .into_iter()
        .filter(|pod| pod.is_active())
        .cloned()
        .collect();
    let wanted = usize::try_from(count).unwrap_or(0);
    if pods.len() > wanted {
        // The last of the list go: by name, but pods that do not count come after all that do. A StatefulSet removes
        // the highest ordinals, whatever their state.
        let has_ordinals = snapshot.hpa.spec.scale_target_ref.is_kind("StatefulSet");
        pods.sort_by_key(|pod| {
            let ordinal = Pod::ordinal(&pod.name).filter(|_| has_ordinals);
            (ordinal, !has_ordinals && uncounted.contains(&pod.name))
        });
        let gone: Names<Box<str>> = pods.drain(wanted..).map(|pod| pod.name.clone()).collect();
        remove_pods(snapshot, |pod| gone.contains(&pod.name));
    } else if pods.len() < wanted {
        let counted: Vec<Shared<Pod>> = pods
            .iter()
            .filter(|pod| !uncounted.contains(&pod.name))
            .cloned()
            .collect();
        let target = &snapshot.hpa.spec.scale_target_ref;
        match newest(counted.iter(), target).or_else(|| newest(pods.iter(), target)) {
            Some(model) => {
                let names = new_names(snapshot, ordinals, &pods[0], wanted - pods.len());
                add(snapshot, model, &counted, names);
            }
            None => notes.push(Note::new(format!(
                "no pod can serve as a model, so no pods are assumed for {}",
                numbers::count(count, "replica")
            ))),
        }
    }
    Ok(())
}

/// Returns the model for new pods of a target, which is not terminating: a ready pod if there is one, and among these
/// the newest, which in a StatefulSet has the highest ordinal; of several, the last by name.
pub(in crate::whatif) fn newest<'p>(
    pods: impl Iterator<Item = &'p Shared<Pod>>,
    target: &CrossVersionObjectReference,
) -> Option<&'p Shared<Pod>> {
    let has_ordinals = target.is_kind("StatefulSet");
    let own = pods.filter(|pod| pod.is_active() && !pod.is_foreign);
    own.max_by_key(|pod| {
        let ordinal = Pod::ordinal(&pod.name).filter(|_| has_ordinals);
        (is_ready(pod), ordinal, pod.start_time, &pod.name)
    })
}

/// The pods that are not ready, or do not count with a value for some metric.
fn uncounted(snapshot: &Snapshot, decision: &Decision) -> Names<Box<str>> {
    let has_metrics = decision.metrics().next().is_some();
    let anew = (!has_metrics).then(|| look(snapshot));
    let rows = anew
        .as_ref()
        .unwrap_or(decision)
        .metrics()
        .flat_map(|step| &step.pods)
        .filter(|row| row.group != Group::Ready)
        .filter_map(|row| snapshot.pods.get(row.pod as usize));
    let unready = snapshot.pods.iter().filter(|pod| !is_ready(pod));
    rows.chain(unready).map(|pod| pod.name.clone()).collect()
}

/// Adds ready pods with these names that are like the model, and use the average of the pods that count.
fn add(
    snapshot: &mut Snapshot,
    model: &Pod,
    counted: &[Shared<Pod>],
    names: impl IntoIterator<Item = Box<str>>,
) {
    let counted_names: Names<&str> = counted.iter().map(|pod| &*pod.name).collect();
    let measured: Vec<&PodMetrics> = snapshot
        .pod_metrics
        .iter()
        .filter(|item| counted_names.contains(&item.name))
        .map(|item| &**item)
        .collect();
    let of_model = measured.iter().find(|item| item.name == model.name);
    let usage = of_model.map(|like| {
        let averages = like.containers.iter().map(|container| {
            let same = measured.iter().filter_map(|item| {
                item.containers
                    .iter()
                    .find(|own| own.name == container.name)
            });
            let resources = container.usage.iter().map(|(resource, _)| resource);
            resources
                .map(|resource| Average::of(same.clone().filter_map(|own| own.get(resource))))
                .collect()
        });
        (
            PodMetrics::clone(like),
            Vec::<Vec<Average>>::from_iter(averages),
        )
    });
    let values: Vec<Option<(PodValue, Average)>> = snapshot
        .metrics
        .iter()
        .map(|answer| match answer {
            MetricAnswer::Pods(values) => {
                let of_counted = values
                    .iter()
                    .filter(|value| counted_names.contains(&value.pod));
                let first = of_counted.clone().next()?.clone();
                Some((first, Average::of(of_counted.map(|value| value.value))))
            }
            _ => None,
        })
        .collect();
    for (place, name) in names.into_iter().enumerate() {
        let mut pod = Pod {
            name: name.clone(),
            node: None,
            ..model.clone()
        };
        be_ready(&mut pod);
        snapshot.pods.push(pod.into());
        if let Some((like, averages)) = &usage {
            let mut item = PodMetrics {
                name: name.clone(),
                ..like.clone()
            };
            for (container, averages) in item.containers.iter_mut().zip(averages) {
                for ((_, milli), average) in container.usage.iter_mut().zip(averages) {
                    *milli = average.at(place);
                }
            }
            snapshot.pod_metrics.push(item.into());
        }
        for (answer, own) in snapshot.metrics.iter_mut().zip(&values) {
            if let (MetricAnswer::Pods(values), Some((first, average))) = (answer, own) {
                let value = average.at(place);
                values.push(PodValue {
                    pod: name.clone(),
                    value,
                    ..first.clone()
                });
            }
        }
    }
}

/// Names for new pods that no pod has. A StatefulSet first fills the gaps in its ordinals.
fn new_names(
    snapshot: &Snapshot,
    ordinals: Option<Ordinals>,
    model: &Pod,
    count: usize,
) -> Vec<Box<str>> {
    let target = &snapshot.hpa.spec.scale_target_ref;
    let (prefix, first) = if target.is_kind("StatefulSet") {
        let ordinal = |pod: &Shared<Pod>| Ordinals::default().place(&target.name, &pod.name);
        let lowest = || snapshot.pods.iter().filter_map(ordinal).min();
        let stated = ordinals.map(|it| it.start.unsigned_abs().into());
        (
            format!("{}-", target.name),
            stated.or_else(lowest).unwrap_or(0),
        )
    } else {
        (format!("{}-assumed-", model.name), 1)
    };
    let taken: HashSet<&str> = snapshot
        .pods
        .iter()
        .map(|pod| &*pod.name)
        .filter(|name| name.starts_with(&prefix))
        .collect();
    (first..)
        .map(|n| format!("{prefix}{n}").into_boxed_str())
        .filter(|name| !taken.contains(&**name))
        .take(count)
        .collect()
}

/// The average of some values.
struct Average {
    sum: i128,
    count: i128,
}

impl Average {
    fn of(values: impl Iterator<Item = i64>) -> Self {
        let empty = Self { sum: 0, count: 0 };
        values.fold(empty, |Self { sum, count }, value| Self {
            sum: sum + i128::from(value),
            count: count + 1,
        })
    }

    /// Returns the value at a place, rounded so that the values up to any place add up to their rounded sum.
    fn at(&self, place: usize) -> i64 {
        let before = place as i128;
        (self.of_first(before + 1) - self.of_first(before))
            .try_into()
            .unwrap_or(i64::MAX)
    }

    /// The sum of the values at the first places.
    fn of_first(&self, places: i128) -> i128 {
        match self.count {
            0 => 0,
            count => -(-(self.sum * places)).div_euclid(count),
        }
    }
}
