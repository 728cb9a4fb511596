//! The pods of a workload over time. New pods are pending, run, become ready and are measured. Scaling down deletes the
//! pods that a ReplicaSet's controller would delete (`ActivePodsWithRanks`), or for a StatefulSet the pods with the
//! highest ordinals.

mod rollout;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use super::{JoinTimes, PodLack, Stays};
use crate::apimachinery::selector::Selector;
use crate::calendar::Calendar;
use crate::error::Error;
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::pod::{ConditionStatus, Phase, Pod, ReadyCondition};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::Ordinals;
use crate::snapshot::{MetricAnswer, PodValue, Snapshot};
use crate::whatif::MAX_PODS;
use crate::whatif::overrides::{is_ready, newest};
use rollout::Rolling;
pub use rollout::{Limit, Rollout, Strategy};

/// The time that a new pod is pending before its containers start.
pub const PENDING: SignedDuration = SignedDuration::from_secs(3);

/// The pods of the target.
#[derive(Debug, Clone)]
pub(super) struct TargetPods {
    times: JoinTimes,
    /// Parallel to the snapshot's pods.
    lives: Vec<Life>,
    by_name: HashMap<Box<str>, usize>,
    /// The pods' parts of the load, in the order of the answer of the resource metrics API.
    pub(super) measured_roles: Vec<Role>,
    /// The number of pods that share the load.
    pub(super) sharing: usize,
    /// The number of pods above the wanted replicas.
    surplus: usize,
    is_stateful: bool,
    /// The model for new pods, which cannot be created if no pod is known.
    pub(super) model: Option<Shared<Pod>>,
    /// The measurements of the model.
    measured: MeasuredPod,
    made: u64,
    rolling: Option<Rolling>,
}

/// The measurements of a pod, with their age.
#[derive(Debug, Clone, Default)]
struct MeasuredPod {
    usage: Option<Shared<PodMetrics>>,
    /// By place of the metric in the spec.
    values: Vec<Option<PodValue>>,
    at: Timestamp,
}

#[derive(Debug, Clone, Copy)]
struct Life {
    /// Whether the pod's usage was stated, and stays.
    keeps_usage: bool,
    joining: Option<Joining>,
    /// Something that the pod lacks and is assumed never to get.
    lacks: Option<PodLack>,
    role: Role,
    /// Whether it is not one of the new pods of a rollout, which replaces those of the target.
    is_outdated: bool,
}

/// The times at which a pod joins.
#[derive(Debug, Clone, Copy)]
struct Joining {
    runs: Timestamp,
    /// The time when the pod becomes ready; `None` if it is ready, or never will be.
    ready: Option<Timestamp>,
    /// The time when the pod is first measured; `None` if it already has been.
    measured: Option<Timestamp>,
}

/// A pod's part of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A share: the pod is ready. The number is its place among the pods that share.
    Shares(usize),
    /// Its own usage, which stays.
    Own,
    /// None: the pod is terminating, or does not exist.
    None,
}

impl TargetPods {
    /// Takes the pods of a snapshot, and removes those that the selector does not match from it.
    pub(super) fn of(snapshot: &mut Snapshot, held: &HashSet<Box<str>>, times: JoinTimes) -> Self {
        let scale = snapshot.scale.as_ref().ok();
        let selector = scale.and_then(|scale| scale.selector.parsed().ok());
        match selector.filter(|selector| !selector.is_empty()) {
            Some(selector) => snapshot.pods.retain(|pod| selector.matches(&pod.labels)),
            None => snapshot.pods.clear(),
        }
        let replicas = scale.map_or(0, |scale| scale.spec_replicas);
        let active = active(snapshot).len();
        let target = &snapshot.hpa.spec.scale_target_ref;
        let model = newest(snapshot.pods.iter(), target).cloned();
        let measured = measured(snapshot);
        let lives = snapshot.pods.iter().map(|pod| {
            let is_held = held.contains(&pod.name);
            let is_measured = measured.contains(&*pod.name);
            // If nothing is measured at all, the metric itself reports that.
            let is_seen = is_measured || measured.is_empty();
            let (joining, lacks) = if is_held {
                (None, None)
            } else {
                Joining::of(pod, is_seen, snapshot, times)
            };
            // A pod without metrics has its part of the load, but none of it is visible.
            let keeps_usage = is_held && is_measured;
            Life {
                keeps_usage,
                joining,
                lacks,
                role: Role::None,
                is_outdated: false,
            }
        });
        let mut workload = Self {
            times,
            lives: lives.collect(),
            by_name: HashMap::new(),
            measured_roles: Vec::new(),
            sharing: 0,
            surplus: active.saturating_sub(usize::try_from(replicas).unwrap_or(0)),
            is_stateful: Strategy::is_stateful(&snapshot.hpa.spec.scale_target_ref),
            // Without a pod, those of a workload at zero are still to come.
            model: match replicas {
                0 => model.or_else(|| selector.and_then(bare_pod).map(Shared::from)),
                _ => model,
            },
            measured: MeasuredPod::default(),
            made: 0,
            rolling: None,
        };
        workload.index(snapshot);
        workload.learn(snapshot);
        workload
    }

    /// Takes the measurements of new pods from the current ones, those of the model if it shares the load.
    pub(super) fn learn(&mut self, snapshot: &Snapshot) {
        let rank = |pod: &str| self.rank(snapshot, pod);
        let is_own = |pod: &str| rank(pod).is_some();
        let usage = snapshot.pod_metrics.iter();
        let values = snapshot.metrics.iter().map(|answer| match answer {
            MetricAnswer::Pods(values) => values
                .iter()
                .filter(|value| is_own(&value.pod))
                .max_by_key(|value| rank(&value.pod))
                .cloned(),
            _ => None,
        });
        self.measured = MeasuredPod {
            values: values.collect(),
            usage: usage
                .filter(|item| is_own(&item.name))
                .max_by_key(|item| rank(&item.name))
                .cloned(),
            at: snapshot.now,
        };
    }

    /// Returns how well a pod shows what new pods use; `None` if it is not the target's.
    fn rank(&self, snapshot: &Snapshot, pod: &str) -> Option<(bool, bool)> {
        let place = *self.by_name.get(pod)?;
        let shares = matches!(self.lives[place].role, Role::Shares(_));
        let is_model = self.model.as_ref().is_some_and(|it| *it.name == *pod);
        (!snapshot.pods[place].is_foreign).then_some((shares, is_model))
    }

    /// A pod's part of the load.
    pub(super) fn role(&self, pod: &str) -> Role {
        self.by_name
            .get(pod)
            .map_or(Role::None, |&place| self.lives[place].role)
    }

    /// Returns how many pods, running or about to run, become ready later.
    pub(super) fn starting(&self) -> usize {
        let joining = self.lives.iter().filter_map(|life| life.joining);
        joining.filter(|joining| joining.ready.is_some()).count()
    }

    /// Returns the pods that stay as they are, because nothing indicates that they get what they lack.
    pub(super) fn stays(&self, snapshot: &Snapshot) -> Vec<Stays> {
        let pods = snapshot.pods.iter().zip(&self.lives);
        pods.filter_map(|(pod, life)| {
            Some(Stays {
                pod: pod.name.clone(),
                lacks: life.lacks?,
            })
        })
        .collect()
    }

    /// Whether some pod has not yet completed its start.
    pub(super) fn is_joining(&self) -> bool {
        self.lives.iter().any(|life| life.joining.is_some())
    }

    /// Whether pods are missing that the target's controller creates for this many replicas.
    pub(super) fn is_short(&self, snapshot: &Snapshot, count: i32) -> bool {
        let wanted = usize::try_from(count).unwrap_or(0) + self.surplus;
        self.model.is_some() && active(snapshot).len() < wanted
    }

    /// Moves the pods to the snapshot's time; returns whether that changed any.
    pub(super) fn advance(&mut self, snapshot: &mut Snapshot) -> bool {
        let now = snapshot.now;
        let is_gone = |pod: &Pod| pod.deletion_timestamp.is_some_and(|at| at <= now);
        let gone: HashSet<usize> = (0..snapshot.pods.len())
            .filter(|&place| is_gone(&snapshot.pods[place]))
            .collect();
        let mut changed = !gone.is_empty();
        if changed {
            self.remove(snapshot, &gone);
        }
        let mut measured = Vec::new();
        for (life, pod) in self.lives.iter_mut().zip(&mut snapshot.pods) {
            let Some(joining) = &mut life.joining else {
                continue;
            };
            if pod.phase == Phase::Pending && joining.runs <= now {
                changed = true;
                pod.phase = Phase::Running;
                pod.ready = Some(ReadyCondition {
                    status: ConditionStatus::False,
                    last_transition_time: *pod.start_time.get_or_insert(joining.runs),
                });
            }
            if let Some(at) = joining.ready.take_if(|at| *at <= now) {
                changed = true;
                pod.ready = Some(ReadyCondition {
                    status: ConditionStatus::True,
                    last_transition_time: at,
                });
            }
            if pod.phase != Phase::Pending && joining.measured.take_if(|at| *at <= now).is_some() {
                measured.push(pod.name.clone());
            }
            if joining.ready.is_none() && joining.measured.is_none() {
                life.joining = None;
            }
        }
        if !measured.is_empty() {
            changed = true;
            self.measured.add_all(&measured, snapshot);
        }
        if changed {
            self.index(snapshot);
            self.measure_new(snapshot);
        }
        changed
    }

    /// Scales the target to this many replicas, with the effects of its own controller at once.
    ///
    /// # Errors
    ///
    /// There are more pods than can be played.
    pub(super) fn scale_to(&mut self, snapshot: &mut Snapshot, count: i32) -> Result<bool, Error> {
        if let Ok(scale) = &mut snapshot.scale {
            (scale.spec_replicas, scale.status_replicas) = (count, count);
        }
        let wanted = usize::try_from(count).unwrap_or(0) + self.surplus;
        if self.is_updating(snapshot) {
            check_count(wanted, count)?;
            return Ok(self.roll(snapshot));
        }
        let mut active = active(snapshot);
        if active.len() > wanted {
            let pods = &snapshot.pods;
            active.sort_by_key(|place| self.first_to_go(&pods[*place]));
            active.truncate(active.len() - wanted);
            self.remove(snapshot, &active.into_iter().collect());
        } else if let (Some(model), true) = (&self.model, active.len() < wanted) {
            check_count(wanted, count)?;
            let (model, missing) = (model.clone(), wanted - active.len());
            self.add(snapshot, &model, missing);
        } else {
            return Ok(false);
        }
        self.index(snapshot);
        Ok(true)
    }

    /// Returns a key that sorts pods in the order in which they are deleted.
    fn first_to_go<'p>(&self, pod: &'p Pod) -> impl Ord + use<'p> {
        let ordinal = if self.is_stateful {
            Pod::ordinal(&pod.name)
        } else {
            None
        };
        let phase = match pod.phase {
            Phase::Pending => 0,
            Phase::Running => 2,
            _ => 1,
        };
        let ready = pod.ready.filter(|_| is_ready(pod));
        let ready_since = ready.map(|it| it.last_transition_time);
        // No start is a later one than any.
        let started = (pod.start_time.is_some(), Reverse(pod.start_time));
        (
            Reverse(ordinal),
            phase,
            (is_ready(pod), Reverse(ready_since)),
            started,
            Reverse(pod.name.as_ref()),
        )
    }

    /// Creates pods. A StatefulSet first fills the gaps in its ordinals.
    fn add(&mut self, snapshot: &mut Snapshot, model: &Pod, count: usize) {
        let target = &snapshot.hpa.spec.scale_target_ref.name;
        let (infix, first) = if self.is_stateful {
            let ordinal = |pod: &Shared<Pod>| Ordinals::default().place(target, &pod.name);
            let lowest = snapshot.pods.iter().filter_map(ordinal).min();
            ("", lowest.unwrap_or(0))
        } else {
            ("later-", self.made)
        };
        let names: Vec<Box<str>> = (first..)
            .map(|number| format!("{target}-{infix}{number}").into_boxed_str())
            .filter(|name| !self.by_name.contains_key(name))
            .take(count)
            .collect();
        for name in names {
            self.create(snapshot, model, name);
        }
        self.made += count as u64;
    }

    /// Creates a pod.
    fn create(&mut self, snapshot: &mut Snapshot, model: &Pod, name: Box<str>) {
        // Times of objects are in whole seconds.
        let created = Timestamp::from_second(snapshot.now.as_second()).unwrap_or(snapshot.now);
        let joining = Some(Joining::created(created, self.times));
        let old = self.old_model(snapshot, &name).cloned();
        let model = old.as_deref().unwrap_or(model);
        let pod = Pod {
            name,
            phase: Phase::Pending,
            start_time: None,
            ready: None,
            unschedulable: None,
            ..model.clone()
        };
        snapshot.pods.push(pod.into());
        self.lives.push(Life {
            keeps_usage: false,
            joining,
            lacks: None,
            role: Role::Own,
            is_outdated: old.is_some(),
        });
    }

    fn remove(&mut self, snapshot: &mut Snapshot, gone: &HashSet<usize>) {
        retain_others(&mut self.lives, gone);
        retain_others(&mut snapshot.pods, gone);
    }

    /// Updates the state and the role of each pod.
    pub(super) fn index(&mut self, snapshot: &mut Snapshot) {
        self.by_name.clear();
        self.sharing = 0;
        for (place, (life, pod)) in self.lives.iter_mut().zip(&snapshot.pods).enumerate() {
            self.by_name.insert(pod.name.clone(), place);
            life.role = if !pod.is_active() {
                Role::None
            } else if is_ready(pod) && !life.keeps_usage {
                self.sharing += 1;
                Role::Shares(self.sharing - 1)
            } else {
                Role::Own
            };
        }
        snapshot.retain_values(|pod| self.by_name.contains_key(pod));
        let measured = snapshot.pod_metrics.iter();
        self.measured_roles = measured.map(|it| self.role(&it.name)).collect();
    }
}

impl Joining {
    /// Returns when a pod that is created at a given time joins.
    fn created(at: Timestamp, times: JoinTimes) -> Self {
        let ready = at.plus(times.ready);
        Self {
            runs: at.plus(PENDING).min(ready),
            ready: Some(ready),
            measured: Some(at.plus(times.measured)),
        }
    }

    /// Returns when an existing pod joins, and what it lacks for good. A step that is overdue takes as long again while
    /// the pod is starting, that is, for as long as the controller allows for its initialization; later, it is assumed
    /// never to happen.
    fn of(
        pod: &Pod,
        is_seen: bool,
        snapshot: &Snapshot,
        times: JoinTimes,
    ) -> (Option<Self>, Option<PodLack>) {
        let now = snapshot.now;
        if pod.deletion_timestamp.is_some() || pod.phase == Phase::Succeeded {
            return (None, None);
        }
        let period = snapshot.controller.cpu_initialization_period;
        let is_starting = pod.start_time.is_some_and(|start| start.plus(period) > now);
        match pod.phase {
            Phase::Failed => return (None, Some(PodLack::Failed)),
            Phase::Pending if pod.unschedulable.is_some() => {
                return (None, Some(PodLack::Unschedulable));
            }
            // Without a start it has just been created, or waits for a node.
            Phase::Pending if pod.start_time.is_none() || is_starting => {
                return (Some(Self::created(now, times)), None);
            }
            _ => {}
        }
        let Some(start) = pod.start_time.filter(|_| pod.phase == Phase::Running) else {
            return (None, Some(PodLack::Readiness));
        };
        let own = Self::created(start.minus(PENDING), times);
        let due = |at: Option<Timestamp>| at.filter(|at| *at > now);
        let again = |wait| is_starting.then(|| now.plus(wait));
        let lacks_ready = !is_ready(pod);
        let ready = due(own.ready)
            .or(again(times.ready))
            .filter(|_| lacks_ready);
        let measured = due(own.measured).or(again(times.measured).filter(|_| !is_seen));
        let lacks = if lacks_ready && ready.is_none() {
            Some(PodLack::Readiness)
        } else if !is_seen && measured.is_none() {
            Some(PodLack::Metrics)
        } else {
            None
        };
        let joining = Self {
            ready,
            measured,
            ..own
        };
        let is_joining = ready.is_some() || measured.is_some();
        (is_joining.then_some(joining), lacks)
    }
}

impl MeasuredPod {
    /// Adds measurements of pods that have none yet.
    fn add_all(&self, pods: &[Box<str>], snapshot: &mut Snapshot) {
        let Snapshot {
            now,
            pod_metrics,
            metrics,
            ..
        } = snapshot;
        let aged = |timestamp| now.minus(self.at.duration_since(timestamp));
        if let Some(model) = &self.usage {
            let there: HashSet<Box<str>> = pod_metrics.iter().map(|own| own.name.clone()).collect();
            for pod in pods.iter().filter(|pod| !there.contains(*pod)) {
                let timestamp = aged(model.timestamp);
                let mut item = PodMetrics {
                    name: pod.clone(),
                    timestamp,
                    ..PodMetrics::clone(model)
                };
                let usage = item
                    .containers
                    .iter_mut()
                    .flat_map(|container| &mut container.usage);
                usage.for_each(|(_, used)| *used = 0);
                pod_metrics.push(item.into());
            }
        }
        for (answer, model) in metrics.iter_mut().zip(&self.values) {
            if let (MetricAnswer::Pods(values), Some(model)) = (answer, model) {
                let there: HashSet<Box<str>> = values.iter().map(|own| own.pod.clone()).collect();
                let missing = pods.iter().filter(|pod| !there.contains(*pod));
                values.extend(missing.map(|pod| PodValue {
                    pod: pod.clone(),
                    value: 0,
                    timestamp: aged(model.timestamp),
                    window: model.window,
                }));
            }
        }
    }
}

/// Removes the items at some places.
fn retain_others<T>(items: &mut Vec<T>, gone: &HashSet<usize>) {
    let mut places = 0..;
    items.retain(|_| places.next().is_some_and(|place| !gone.contains(&place)));
}

/// Checks that this many pods of this many replicas can be played.
fn check_count(pods: usize, replicas: i32) -> Result<(), Error> {
    if pods <= MAX_PODS {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the timeline reaches {replicas} replicas; the limit is {MAX_PODS}"
    ))
    .hint("lower --max, or shorten --for"))
}

/// The places of the pods that count as replicas of the target.
fn active(snapshot: &Snapshot) -> Vec<usize> {
    let counts = |pod: &Pod| pod.is_active() && !pod.is_foreign;
    (0..snapshot.pods.len())
        .filter(|&place| counts(&snapshot.pods[place]))
        .collect()
}

/// Returns the pods that have any measurement.
fn measured(snapshot: &Snapshot) -> HashSet<Box<str>> {
    let values = snapshot.metrics.iter().flat_map(|answer| match answer {
        MetricAnswer::Pods(values) => values.as_slice(),
        _ => &[],
    });
    snapshot
        .pod_metrics
        .iter()
        .map(|item| item.name.clone())
        .chain(values.map(|value| value.pod.clone()))
        .collect()
}

/// Returns the foreign pods that are ready and measured: what they use does not depend on the target's replicas.
pub(super) fn steady_foreign(snapshot: &Snapshot) -> Vec<Box<str>> {
    let measured = measured(snapshot);
    let is_steady =
        |pod: &&Shared<Pod>| pod.is_foreign && is_ready(pod) && measured.contains(&pod.name);
    let steady = snapshot.pods.iter().filter(is_steady);
    steady.map(|pod| pod.name.clone()).collect()
}

/// Returns a pod that a selector selects, with nothing else known.
fn bare_pod(selector: &Selector) -> Option<Pod> {
    let labels = selector.example();
    selector.matches(&labels).then(|| Pod {
        labels: labels.into(),
        phase: Phase::Pending,
        ..Pod::default()
    })
}
