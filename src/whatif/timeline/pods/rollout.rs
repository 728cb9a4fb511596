//! A rollout: pods are replaced by pods of another template, as a Deployment's controller does it (`rolloutRolling`,
//! `rolloutRecreate`) or a StatefulSet's. A deleted pod is gone at once, and a ready one is available at once: there is
//! no grace period and no `minReadySeconds`.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::super::Rolled;
use super::{TargetPods, active};
use crate::calendar::Calendar;
use crate::numbers;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::metric::{ContainerUsage, Usage};
use crate::snapshot::pod::{Pod, ResourceName};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{IntOrString, Ordinals, Replacement, UpdateStrategy};
use crate::whatif::overrides::{Override, Reported, is_ready, newest};

/// The item of an override by a rollout.
const ROLLOUT: &str = "rollout";

/// A rollout that begins some time after the first pass.
#[derive(Debug, Clone)]
pub struct Rollout {
    /// The time of its start after the first pass.
    pub after: SignedDuration,
    strategy: Strategy,
    /// The model of new pods.
    model: Shared<Pod>,
    /// The pods that are already like the new ones.
    same: HashSet<Box<str>>,
    /// The containers that the new pods do not have, but whose usage is measured in others.
    gone: Vec<Box<str>>,
    /// The assumed usage of containers that only the new pods have: the pod that gets one, the container, the
    /// resource, and the usage.
    pub(in super::super) added: Vec<(Box<str>, Box<str>, ResourceName, i64)>,
}

/// The way in which pods are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Within limits: `RollingUpdate` of a Deployment.
    RollingUpdate {
        /// The number of pods that may exist above the replicas.
        max_surge: Limit,
        /// The number of replicas that may be unready.
        max_unavailable: Limit,
    },
    /// All at once: `Recreate` of a Deployment.
    Recreate,
    /// One after the other from the highest ordinal, each ready before the next: `RollingUpdate` of a
    /// StatefulSet.
    Ordinals {
        /// The number of first pods that keep the old template.
        partition: u32,
        /// The ordinals of the pods.
        ordinals: Ordinals,
    },
    /// Not at all: only pods that are created later have the new template. `OnDelete` of a StatefulSet, or a
    /// ReplicaSet.
    Created,
}

/// A number of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The number itself.
    Pods(u32),
    /// A percentage of the replicas.
    Percent(u32),
}

/// A rollout that is planned, under way or done.
#[derive(Debug, Clone)]
pub(super) struct Rolling {
    rollout: Rollout,
    /// The time of the first pass.
    start: Timestamp,
    /// The pods to replace, once the rollout has begun.
    pods: Option<usize>,
    /// The model of pods with the old template.
    old: Option<Shared<Pod>>,
    /// The time since which all pods are new and ready.
    done: Option<Timestamp>,
}

impl Limit {
    /// The default of both limits (`SetDefaults_Deployment`).
    const DEFAULT: Self = Self::Percent(25);

    fn read(stated: &IntOrString) -> Option<Self> {
        match stated {
            IntOrString::Int(pods) => (*pods).try_into().ok().map(Self::Pods),
            IntOrString::String(text) => text.strip_suffix('%')?.parse().ok().map(Self::Percent),
        }
    }

    /// Returns the number of pods (`GetScaledValueFromIntOrPercent`).
    fn of(self, replicas: usize, rounds_up: bool) -> usize {
        match self {
            Self::Pods(pods) => pods as usize,
            Self::Percent(percent) => {
                let hundredth = replicas.saturating_mul(percent as usize);
                if rounds_up {
                    hundredth.div_ceil(100)
                } else {
                    hundredth / 100
                }
            }
        }
    }

    fn words(self) -> String {
        match self {
            Self::Pods(pods) => pods.to_string(),
            Self::Percent(percent) => format!("{percent}%"),
        }
    }
}

impl Strategy {
    /// Returns how a target's pods are replaced if it states nothing, or nothing is known about it.
    pub fn default_of(target: &CrossVersionObjectReference) -> Self {
        if Self::is_stateful(target) {
            Self::Ordinals {
                partition: 0,
                ordinals: Ordinals::default(),
            }
        } else {
            Self::RollingUpdate {
                max_surge: Limit::DEFAULT,
                max_unavailable: Limit::DEFAULT,
            }
        }
    }

    /// Whether a target is a StatefulSet, or Kruise's StatefulSet, which names and deletes its pods in the same way.
    pub fn is_stateful(target: &CrossVersionObjectReference) -> bool {
        ["apps", "apps.kruise.io"].contains(&target.group())
            && target.kind.eq_ignore_ascii_case("statefulset")
    }

    /// Returns how the target's pods are replaced; `None` if unknown. `stated` is the strategy in the target's spec,
    /// `None` if the input does not have it, and `how` was read from it.
    pub fn of(
        target: &CrossVersionObjectReference,
        stated: Option<&UpdateStrategy>,
        how: Replacement,
    ) -> Option<Self> {
        if how == Replacement::ByKind {
            return Some(Self::Created);
        }
        let is_stateful = Self::is_stateful(target);
        let is_known = is_stateful || target.kind.eq_ignore_ascii_case("deployment");
        let own = stated.filter(|_| is_known && target.group() == "apps")?;
        match how {
            Replacement::Recreate if !is_stateful => Some(Self::Recreate),
            Replacement::OnDelete if is_stateful => Some(Self::Created),
            _ if !["", "RollingUpdate"].contains(&&*own.type_) => None,
            Replacement::AllBut {
                partition,
                ordinals,
            } if is_stateful => Some(Self::Ordinals {
                partition: partition.unsigned_abs(),
                ordinals,
            }),
            _ if is_stateful => Some(Self::default_of(target)),
            _ => {
                let limits = own.rolling_update.clone().unwrap_or_default();
                let limit = |it: Option<IntOrString>| {
                    it.map_or(Some(Limit::DEFAULT), |stated| Limit::read(&stated))
                };
                Some(Self::RollingUpdate {
                    max_surge: limit(limits.max_surge)?,
                    max_unavailable: limit(limits.max_unavailable)?,
                })
            }
        }
    }

    /// Returns the number of pods that a StatefulSet with up to this many replicas may replace at once, as written, if
    /// that is more than one (`getStatefulSetMaxUnavailable`). This is not played, and only some versions' controllers
    /// do it.
    pub fn at_once(self, stated: Option<&UpdateStrategy>, replicas: i32) -> Option<String> {
        let limit = stated?.rolling_update.as_ref()?.max_unavailable.as_ref()?;
        let limit = Limit::read(limit).filter(|_| matches!(self, Self::Ordinals { .. }))?;
        (limit.of(usize::try_from(replicas).ok()?, false) > 1).then(|| limit.words())
    }

    fn words(self) -> String {
        match self {
            Self::RollingUpdate {
                max_surge,
                max_unavailable,
            } => format!(
                "with up to {} more and {} fewer pods",
                max_surge.words(),
                max_unavailable.words()
            ),
            Self::Recreate => "all pods at once (Recreate)".to_owned(),
            Self::Ordinals { partition: 0, .. } => "pod by pod from the highest ordinal".to_owned(),
            Self::Ordinals { partition, .. } => {
                format!("pod by pod from the highest ordinal down to partition {partition}")
            }
            Self::Created => "only for pods that are created from then on".to_owned(),
        }
    }
}

/// The limits of a rolling update of this many replicas (`MaxSurge`, `MaxUnavailable`, `ResolveFenceposts`).
fn limits(max_surge: Limit, max_unavailable: Limit, replicas: usize) -> (usize, usize) {
    let surge = max_surge.of(replicas, true);
    // With neither, nothing could go on.
    let least = usize::from(surge == 0);
    let unavailable = max_unavailable.of(replicas, false).max(least);
    (surge, unavailable.min(replicas))
}

impl Rollout {
    /// Returns the rollout that turns the pods of one snapshot into those of another, which has the same pods in their
    /// new form. `None` if nothing differs, or if the target has no pods.
    pub fn between(
        running: &Snapshot,
        changed: &Snapshot,
        after: SignedDuration,
        strategy: Strategy,
    ) -> Option<Self> {
        let selector = changed.scale.as_ref().ok()?.selector.parsed().ok()?;
        let is_matched = |pod: &&Shared<Pod>| selector.matches(&pod.labels);
        let same: HashSet<Box<str>> = running
            .pods
            .iter()
            .zip(&changed.pods)
            .filter(|(old, new)| old == new)
            .map(|(old, _)| old.name.clone())
            .collect();
        let is_same = same.len() == running.pods.len();
        let pods = changed.pods.iter().filter(is_matched);
        let target = &changed.hpa.spec.scale_target_ref;
        let model = newest(pods, target).filter(|_| !is_same)?.clone();
        let items = || running.pod_metrics.iter().zip(&changed.pod_metrics);
        let mut added = Vec::new();
        for (old, new) in items() {
            let is_new =
                |own: &&ContainerUsage| old.containers.iter().all(|it| it.name != own.name);
            for ContainerUsage { name, usage } in new.containers.iter().filter(is_new) {
                for (resource, used) in usage.iter().cloned() {
                    added.push((old.name.clone(), name.clone(), resource, used));
                }
            }
        }
        let gone: HashSet<Box<str>> = items()
            .flat_map(|(old, new)| {
                let stays = |name: &str| new.containers.iter().any(|own| *own.name == *name);
                let names = old.containers.iter().map(|own| &own.name);
                names.filter(move |name| !stays(name))
            })
            .cloned()
            .collect();
        Some(Self {
            after,
            strategy,
            model,
            same,
            gone: gone.into_iter().collect(),
            added,
        })
    }

    /// Whether a pod is already like the new ones.
    fn makes(&self, pod: &Pod) -> bool {
        self.same.contains(&pod.name)
            || self.model.requests_like(pod) && self.model.labels == pod.labels
    }

    /// Returns the override for the rollout.
    pub fn own(&self) -> Override {
        let (at, how) = (numbers::duration(self.after), self.strategy.words());
        Override::event(ROLLOUT, format!("from {at} on, {how}"))
    }
}

/// Returns a time in whole seconds, rounded up.
fn whole_seconds(time: SignedDuration) -> SignedDuration {
    let rest = i64::from(time.subsec_nanos() > 0);
    SignedDuration::from_secs(time.as_secs() + rest)
}

impl Rolled {
    /// Adds the result of the rollout to the overrides.
    pub fn came_to(self, overrides: &mut [Override]) {
        let Self { pods, done } = self;
        let counted = numbers::count(pods, "pod");
        let result = match done {
            _ if pods == 0 => "no pod is replaced".to_owned(),
            Some(done) => format!("{counted}, done after {}", numbers::duration(done)),
            None => format!("{counted}, not done at the end"),
        };
        for own in overrides.iter_mut().filter(|own| own.item == ROLLOUT) {
            own.result = Some(Reported::Text(result.clone()));
        }
    }
}

impl TargetPods {
    /// Schedules a rollout some time after now.
    pub(in super::super) fn expect(&mut self, rollout: &Rollout, snapshot: &Snapshot) {
        self.rolling = Some(Rolling {
            rollout: rollout.clone(),
            start: snapshot.now,
            pods: None,
            old: None,
            done: None,
        });
        self.begin(snapshot);
    }

    /// Whether a rollout is pending or under way.
    pub(in super::super) fn is_rolling(&self) -> bool {
        self.rolling.as_ref().is_some_and(|own| own.done.is_none())
    }

    /// The result of a rollout, if one has begun.
    pub(in super::super) fn rolled(&self) -> Option<Rolled> {
        let Rolling {
            start, pods, done, ..
        } = self.rolling.as_ref()?;
        Some(Rolled {
            pods: (*pods)?,
            // Pods begin at whole seconds, and the run may not.
            done: done.map(|done| whole_seconds(done.duration_since(*start))),
        })
    }

    /// Returns the time of a rollout's next step, if it is no later than `until`.
    pub(in super::super) fn next_step(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<Timestamp> {
        let rolling = self.rolling.as_ref().filter(|own| own.done.is_none())?;
        let step = match rolling.pods {
            None => Some(rolling.start.plus(rolling.rollout.after)),
            Some(_) => self
                .lives
                .iter()
                .filter_map(|life| life.joining?.ready)
                .min(),
        };
        step.map(|step| step.max(now)).filter(|step| *step <= until)
    }

    /// Whether a rolling update is under way that has pods to replace: it then also handles scaling.
    pub(super) fn is_updating(&self, snapshot: &Snapshot) -> bool {
        let strategy = self.begun().map(|rollout| rollout.strategy);
        matches!(strategy, Some(Strategy::RollingUpdate { .. }))
            && !self.outdated(snapshot, true).is_empty()
    }

    /// Returns the rollout, if it has begun.
    fn begun(&self) -> Option<&Rollout> {
        let rolling = self.rolling.as_ref().filter(|own| own.pods.is_some())?;
        Some(&rolling.rollout)
    }

    /// Returns the places of the pods that count as replicas and are outdated, or are up to date.
    fn outdated(&self, snapshot: &Snapshot, is_outdated: bool) -> Vec<usize> {
        let mut places = active(snapshot);
        places.retain(|&place| self.lives[place].is_outdated == is_outdated);
        places
    }

    /// The places of the pods that are yet to be replaced: a StatefulSet does not replace all outdated pods.
    fn to_replace(&self, snapshot: &Snapshot) -> Vec<usize> {
        let Some(Rolling { rollout, .. }) = &self.rolling else {
            return Vec::new();
        };
        let mut places = self.outdated(snapshot, true);
        match rollout.strategy {
            Strategy::Created => places.clear(),
            Strategy::Ordinals { .. } => {
                places.retain(|&place| {
                    self.old_model(snapshot, &snapshot.pods[place].name)
                        .is_none()
                });
            }
            _ => {}
        }
        places
    }

    /// Returns the model for a pod of this name, if a rollout leaves it at the old template.
    pub(super) fn old_model(&self, snapshot: &Snapshot, name: &str) -> Option<&Shared<Pod>> {
        let Rolling { rollout, old, .. } = self.rolling.as_ref()?;
        let Strategy::Ordinals {
            partition,
            ordinals,
        } = rollout.strategy
        else {
            return None;
        };
        let place = ordinals.place(&snapshot.hpa.spec.scale_target_ref.name, name)?;
        old.as_ref().filter(|_| place < partition.into())
    }

    /// Begins a rollout whose time has come.
    fn begin(&mut self, snapshot: &Snapshot) {
        let is_due = |own: &&mut Rolling| {
            own.pods.is_none() && own.start.plus(own.rollout.after) <= snapshot.now
        };
        let Some(rolling) = self.rolling.as_mut().filter(is_due) else {
            return;
        };
        rolling.old = self.model.replace(rolling.rollout.model.clone());
        self.surplus = 0;
        for (life, pod) in self.lives.iter_mut().zip(&snapshot.pods) {
            life.is_outdated = pod.is_foreign || !rolling.rollout.makes(pod);
        }
        let count = self.to_replace(snapshot).len();
        if let Some(rolling) = &mut self.rolling {
            rolling.pods = Some(count);
        }
    }

    /// Continues a rollout until it must wait; returns whether that changed any pods.
    pub(in super::super) fn roll(&mut self, snapshot: &mut Snapshot) -> bool {
        if !self.is_rolling() {
            return false;
        }
        self.begin(snapshot);
        let Some(rollout) = self.begun() else {
            return false;
        };
        let (strategy, model) = (rollout.strategy, rollout.model.clone());
        let scale = snapshot.scale.as_ref();
        let count = scale.map_or(0, |scale| scale.spec_replicas);
        let replicas = usize::try_from(count).unwrap_or(0);
        let changed = match strategy {
            Strategy::RollingUpdate {
                max_surge,
                max_unavailable,
            } => {
                let (surge, unavailable) = limits(max_surge, max_unavailable, replicas);
                self.update(snapshot, &model, replicas, surge, unavailable)
            }
            Strategy::Recreate => self.recreate(snapshot, &model, replicas),
            Strategy::Ordinals { .. } => self.replace_highest(snapshot, &model),
            Strategy::Created => false,
        };
        let is_done = self.to_replace(snapshot).is_empty() && self.starting() == 0;
        if let Some(rolling) = self.rolling.as_mut().filter(|_| is_done) {
            rolling.done = Some(snapshot.now);
        }
        changed
    }

    /// A rolling update of a Deployment: new pods are created while there is room above the replicas, then old
    /// ones are deleted while enough are ready, unready ones first (`NewRSNewReplicas`,
    /// `cleanupUnhealthyReplicas`, `scaleDownOldReplicaSetsForRollingUpdate`). If the HPA scales meanwhile, the
    /// controller keeps the proportions of the ReplicaSets (`scale`); here, added pods are new, and of surplus pods the
    /// unready ones are deleted first, then the old ones.
    fn update(
        &mut self,
        snapshot: &mut Snapshot,
        model: &Pod,
        replicas: usize,
        surge: usize,
        unavailable: usize,
    ) -> bool {
        let (most, least) = (replicas.saturating_add(surge), replicas - unavailable);
        let mut changed = false;
        loop {
            let old = self.outdated(snapshot, true);
            let new = self.outdated(snapshot, false);
            let total = old.len() + new.len();
            let ready = |place: &usize| is_ready(&snapshot.pods[*place]);
            let lacking = replicas.saturating_sub(new.len());
            let add = most.saturating_sub(total).min(lacking);
            if add > 0 {
                self.add(snapshot, model, add);
                self.index(snapshot);
                changed = true;
                continue;
            }
            let unready_new = new.iter().filter(|place| !ready(place)).count();
            let unready_old: Vec<usize> =
                old.iter().copied().filter(|place| !ready(place)).collect();
            let available = total - unready_new - unready_old.len();
            let room = total.saturating_sub(least + unready_new);
            let (from, count) = if new.len() > replicas {
                let count = new.len() - replicas;
                (new, count)
            } else if total > most {
                (active(snapshot), total - most)
            } else if !unready_old.is_empty() && room > 0 {
                (unready_old, room)
            } else {
                (old, available.saturating_sub(least))
            };
            let gone = self.first_of(snapshot, from, count);
            if gone.is_empty() {
                break;
            }
            self.remove(snapshot, &gone);
            self.index(snapshot);
            changed = true;
        }
        let there = active(snapshot).len();
        if let Ok(scale) = &mut snapshot.scale {
            scale.status_replicas = there.try_into().unwrap_or(i32::MAX);
        }
        changed
    }

    /// Returns which of some pods is deleted first.
    fn first_of(&self, snapshot: &Snapshot, mut of: Vec<usize>, count: usize) -> HashSet<usize> {
        let key = |&place: &usize| {
            let (life, pod) = (&self.lives[place], &snapshot.pods[place]);
            (is_ready(pod), !life.is_outdated, self.first_to_go(pod))
        };
        of.sort_by_key(key);
        of.truncate(count);
        of.into_iter().collect()
    }

    /// Deletes all old pods, then creates the new ones.
    fn recreate(&mut self, snapshot: &mut Snapshot, model: &Pod, replicas: usize) -> bool {
        let old: HashSet<usize> = self.outdated(snapshot, true).into_iter().collect();
        if old.is_empty() {
            return false;
        }
        self.remove(snapshot, &old);
        self.index(snapshot);
        let missing = replicas.saturating_sub(active(snapshot).len());
        self.add(snapshot, model, missing);
        self.index(snapshot);
        true
    }

    /// Replaces the old pod with the highest ordinal, unless a new one is not yet ready
    /// (`updateStatefulSet`).
    fn replace_highest(&mut self, snapshot: &mut Snapshot, model: &Pod) -> bool {
        let new = self.outdated(snapshot, false);
        let old = self.to_replace(snapshot);
        let highest = old
            .into_iter()
            .max_by_key(|place| Pod::ordinal(&snapshot.pods[*place].name));
        let Some(place) = highest.filter(|_| new.iter().all(|it| is_ready(&snapshot.pods[*it])))
        else {
            return false;
        };
        let name = snapshot.pods[place].name.clone();
        self.remove(snapshot, &HashSet::from([place]));
        // The measurements of the old pod go with it.
        self.index(snapshot);
        self.create(snapshot, model, name);
        self.index(snapshot);
        true
    }

    /// Measures, in new pods, a container that the old pods lack.
    pub(in super::super) fn expect_usage(&mut self, container: &str, resource: &ResourceName) {
        let Some(Rolling { rollout, .. }) = &mut self.rolling else {
            return;
        };
        let added = &mut rollout.added;
        let mut known = added.iter();
        if !known.any(|(_, own, name, _)| **own == *container && name == resource) {
            added.push(("".into(), container.into(), resource.clone(), 0));
        }
    }

    /// Removes the usage of containers that new pods do not have, and adds the usage of containers that only they have.
    pub(super) fn measure_new(&self, snapshot: &mut Snapshot) {
        let Some(rollout) = self.begun() else {
            return;
        };
        let is_gone = |name: &str| rollout.gone.iter().any(|gone| **gone == *name);
        for item in &mut snapshot.pod_metrics {
            let place = self.by_name.get(&item.name);
            let is_new = place.is_some_and(|place| !self.lives[*place].is_outdated);
            if is_new && item.containers.iter().any(|own| is_gone(&own.name)) {
                item.containers.retain(|own| !is_gone(&own.name));
            }
            for (_, name, resource, _) in rollout.added.iter().filter(|_| is_new) {
                let mut containers = item.containers.iter_mut();
                match containers.find(|own| own.name == *name) {
                    Some(own) if own.get(resource).is_some() => {}
                    Some(own) => own.usage.push((resource.clone(), 0)),
                    None => item.containers.push(ContainerUsage {
                        name: name.clone(),
                        usage: Usage::from_iter([(resource.clone(), 0)]),
                    }),
                }
            }
        }
    }
}
