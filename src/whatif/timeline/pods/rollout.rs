//! A rollout: pods make way for those of another template, as a Deployment's controller has it
//! (`rolloutRolling`, `rolloutRecreate`) or a StatefulSet's. A pod that goes is gone at once, and one that
//! is ready is available at once: there is no grace period and no `minReadySeconds`.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::super::Rolled;
use super::{TargetPods, active, is_active, newest};
use crate::calendar::Calendar;
use crate::error::Error;
use crate::numbers;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::metric::{ContainerUsage, Usage};
use crate::snapshot::pod::{Pod, ResourceName};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{IntOrString, Replacement, UpdateStrategy};
use crate::whatif::overrides::{Override, Reported, is_ready};

/// The item of what is assumed of a rollout.
const ROLLOUT: &str = "rollout";

/// A rollout that begins some time after the first pass.
#[derive(Debug, Clone)]
pub struct Rollout {
    /// How long after.
    pub after: SignedDuration,
    strategy: Strategy,
    /// What new pods are like.
    model: Shared<Pod>,
    /// The pods that are as the new ones already.
    same: HashSet<Box<str>>,
    /// The containers that they do not have, but whose usage is measured in others.
    gone: Vec<Box<str>>,
    /// What is assumed of containers that only they have: the pod that is to have one, the container, the
    /// resource, and its usage.
    pub(in super::super) added: Vec<(Box<str>, Box<str>, ResourceName, i64)>,
}

/// How pods are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Within limits: `RollingUpdate` of a Deployment.
    RollingUpdate {
        /// How many pods there may be above the replicas.
        max_surge: Limit,
        /// How many of the replicas may not be ready.
        max_unavailable: Limit,
    },
    /// All at once: `Recreate` of a Deployment.
    Recreate,
    /// One after the other from the highest ordinal, each ready before the next: `RollingUpdate` of a
    /// StatefulSet.
    Ordinals {
        /// How many of the first ones keep the old template.
        partition: u32,
    },
    /// None: only pods that are created later have the new template. `OnDelete` of a StatefulSet, or a
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

/// A rollout that is to come, under way or done.
#[derive(Debug, Clone)]
pub(super) struct Rolling {
    rollout: Rollout,
    /// The time of the first pass.
    start: Timestamp,
    /// The pods to replace, once it has begun.
    pods: Option<usize>,
    /// What pods of the old template are like, and the first ordinal that has the new one.
    old: (Option<Shared<Pod>>, u64),
    /// Since when all pods are new and ready.
    done: Option<Timestamp>,
}

const LIMIT_FORM: &str = "use a number such as 1 or a percentage such as 25%";

impl Limit {
    /// The default of both limits (`SetDefaults_Deployment`).
    const DEFAULT: Self = Self::Percent(25);

    fn read(stated: &IntOrString) -> Option<Self> {
        match stated {
            IntOrString::Int(pods) => (*pods).try_into().ok().map(Self::Pods),
            IntOrString::String(text) => text.strip_suffix('%')?.parse().ok().map(Self::Percent),
        }
    }

    /// What is stated, or the default; or why it is no limit.
    fn stated(stated: Option<IntOrString>) -> Result<Self, String> {
        let Some(stated) = stated else {
            return Ok(Self::DEFAULT);
        };
        Self::read(&stated).ok_or_else(|| {
            let text = match stated {
                IntOrString::Int(pods) => pods.to_string(),
                IntOrString::String(text) => format!("{text:?}"),
            };
            format!("{text} is neither a number of pods nor a percentage")
        })
    }

    /// How many that is (`GetScaledValueFromIntOrPercent`).
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
    /// How a target's pods are replaced if it states nothing, or nothing is known of it.
    pub fn default_of(target: &CrossVersionObjectReference) -> Self {
        if Self::is_stateful(target) {
            Self::Ordinals { partition: 0 }
        } else {
            Self::RollingUpdate {
                max_surge: Limit::DEFAULT,
                max_unavailable: Limit::DEFAULT,
            }
        }
    }

    /// Whether a target is a StatefulSet.
    pub fn is_stateful(target: &CrossVersionObjectReference) -> bool {
        target.group() == "apps" && target.kind.eq_ignore_ascii_case("statefulset")
    }

    /// How the target's pods are replaced; `None` if that is not known. `stated` is the strategy that the target
    /// states, and `how` what else is known of it; `None` if the target is not known.
    ///
    /// # Errors
    ///
    /// The API server would not take the strategy.
    pub fn of(
        target: &CrossVersionObjectReference,
        stated: Option<&UpdateStrategy>,
        how: Replacement,
    ) -> Result<Option<Self>, Error> {
        let is_stateful = Self::is_stateful(target);
        let is_known =
            is_stateful || (target.group(), &*target.kind.to_lowercase()) == ("apps", "deployment");
        let stated = match (how, stated) {
            (Replacement::ByKind, _) => return Ok(Some(Self::Created)),
            (_, Some(stated)) if is_known => stated,
            _ => return Ok(None),
        };
        let field = if is_stateful {
            "updateStrategy"
        } else {
            "strategy"
        };
        let refused =
            |path: &str, why: String| Error::usage(format!("{target}: spec.{field}.{path}: {why}"));
        match (&*stated.type_, is_stateful) {
            ("" | "RollingUpdate", _) => {}
            ("Recreate", false) => return Ok(Some(Self::Recreate)),
            ("OnDelete", true) => return Ok(Some(Self::Created)),
            (other, _) => {
                let known = if is_stateful { "OnDelete" } else { "Recreate" };
                let error = refused("type", format!("{other:?} is not a strategy"));
                return Err(error.hint(format!("use RollingUpdate or {known}")));
            }
        }
        let limits = stated.rolling_update.clone().unwrap_or_default();
        if is_stateful {
            let partition = limits.partition.unwrap_or(0);
            return match u32::try_from(partition) {
                Ok(partition) => Ok(Some(Self::Ordinals { partition })),
                Err(_) => Err(refused(
                    "rollingUpdate.partition",
                    format!("{partition} is negative"),
                )),
            };
        }
        let limit = |field: &str, stated| {
            Limit::stated(stated).map_err(|why| refused(field, why).hint(LIMIT_FORM))
        };
        Ok(Some(Self::RollingUpdate {
            max_surge: limit("rollingUpdate.maxSurge", limits.max_surge)?,
            max_unavailable: limit("rollingUpdate.maxUnavailable", limits.max_unavailable)?,
        }))
    }

    /// Returns how many pods a StatefulSet with up to this many may replace at once, as it is written, if that is
    /// more than one (`getStatefulSetMaxUnavailable`). It is not played, and only some versions' controllers do it.
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
            Self::Ordinals { partition: 0 } => "pod by pod from the highest ordinal".to_owned(),
            Self::Ordinals { partition } => {
                format!("pod by pod from the highest ordinal to {partition} (partition)")
            }
            Self::Created => "only for pods that are created from then on".to_owned(),
        }
    }
}

/// The limits of a rolling update of this many replicas (`MaxSurge`, `MaxUnavailable`, `ResolveFenceposts`).
fn limits(max_surge: Limit, max_unavailable: Limit, replicas: usize) -> (usize, usize) {
    let (surge, unavailable) = (
        max_surge.of(replicas, true),
        max_unavailable.of(replicas, false),
    );
    // Otherwise nothing could go on.
    let unavailable = if (surge, unavailable) == (0, 0) {
        1
    } else {
        unavailable
    };
    (surge, unavailable.min(replicas))
}

impl Rollout {
    /// The rollout that turns the pods of one snapshot into those of another, in which the same pods are as
    /// they will be. `None` if they are the same, or the target has no pods.
    pub fn between(
        running: &Snapshot,
        changed: &Snapshot,
        after: SignedDuration,
        strategy: Strategy,
    ) -> Option<Self> {
        let selector = changed.scale.as_ref().ok()?.selector.parsed().ok()?;
        let of_target = |pod: &&Shared<Pod>| selector.matches(&pod.labels);
        let same: HashSet<Box<str>> = running
            .pods
            .iter()
            .zip(&changed.pods)
            .filter(|(old, new)| old == new)
            .map(|(old, _)| old.name.clone())
            .collect();
        let is_same = same.len() == running.pods.len();
        let model = newest(changed.pods.iter().filter(of_target)).filter(|_| !is_same)?;
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
                old.containers
                    .iter()
                    .map(|own| &own.name)
                    .filter(move |name| !stays(name))
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

    /// Whether a pod is as the new ones are.
    fn makes(&self, pod: &Pod) -> bool {
        self.same.contains(&pod.name)
            || self.model.requests_like(pod) && self.model.labels == pod.labels
    }

    /// What is assumed with it.
    pub fn own(&self) -> Override {
        let (at, how) = (numbers::duration(self.after), self.strategy.words());
        Override::event(ROLLOUT, format!("from {at} on, {how}"))
    }
}

impl Rolled {
    /// Adds what came of it to what is assumed.
    pub fn came_to(self, overrides: &mut [Override]) {
        let Self { pods, done } = self;
        let counted = if pods == 1 {
            "1 pod".to_owned()
        } else {
            format!("{pods} pods")
        };
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
    /// Has a rollout begin some time after now.
    pub(in super::super) fn expect(&mut self, rollout: &Rollout, snapshot: &Snapshot) {
        let (rollout, start) = (rollout.clone(), snapshot.now);
        self.rolling = Some(Rolling {
            rollout,
            start,
            pods: None,
            old: (None, 0),
            done: None,
        });
        self.begin(snapshot);
    }

    /// Whether a rollout is to come, or not yet done.
    pub(in super::super) fn is_rolling(&self) -> bool {
        self.rolling.as_ref().is_some_and(|own| own.done.is_none())
    }

    /// What came of a rollout, if one has begun.
    pub(in super::super) fn rolled(&self) -> Option<Rolled> {
        let Rolling {
            start, pods, done, ..
        } = self.rolling.as_ref()?;
        Some(Rolled {
            pods: (*pods)?,
            done: done.map(|done| done.duration_since(*start)),
        })
    }

    /// When a rollout next gets further, if that is no later than a time.
    pub(in super::super) fn next_step(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<Timestamp> {
        let Rolling {
            rollout,
            start,
            pods,
            ..
        } = self.rolling.as_ref().filter(|own| own.done.is_none())?;
        let step = match pods {
            None => Some(start.plus(rollout.after)),
            Some(_) => self
                .lives
                .iter()
                .filter_map(|life| life.joining?.ready)
                .min(),
        };
        step.map(|step| step.max(now)).filter(|step| *step <= until)
    }

    /// Whether a rolling update is under way that has pods to replace: what is scaled then is its matter.
    pub(super) fn is_updating(&self, snapshot: &Snapshot) -> bool {
        let Some(Rolling {
            rollout,
            pods: Some(_),
            ..
        }) = &self.rolling
        else {
            return false;
        };
        matches!(rollout.strategy, Strategy::RollingUpdate { .. })
            && !self.outdated(snapshot, true).is_empty()
    }

    /// The places of the pods that count as replicas and are to be replaced, or are not.
    fn outdated(&self, snapshot: &Snapshot, is_outdated: bool) -> Vec<usize> {
        let mut places = active(snapshot);
        places.retain(|&place| self.lives[place].is_outdated == is_outdated);
        places
    }

    /// The places of the pods that are yet to be replaced: not all outdated ones of a StatefulSet are.
    fn to_replace(&self, snapshot: &Snapshot) -> Vec<usize> {
        let Some(Rolling { rollout, .. }) = &self.rolling else {
            return Vec::new();
        };
        let mut places = self.outdated(snapshot, true);
        match rollout.strategy {
            Strategy::Created => places.clear(),
            Strategy::Ordinals { .. } => {
                places.retain(|&place| self.old_model(&snapshot.pods[place].name).is_none());
            }
            _ => {}
        }
        places
    }

    /// What a pod of a name is like, if a rollout leaves it at the old template.
    pub(super) fn old_model(&self, name: &str) -> Option<&Shared<Pod>> {
        let (old, first) = &self.rolling.as_ref()?.old;
        old.as_ref()
            .filter(|_| Pod::ordinal(name).is_some_and(|own| own < *first))
    }

    /// Begins a rollout whose time has come.
    fn begin(&mut self, snapshot: &Snapshot) {
        let Some(rolling) = &mut self.rolling else {
            return;
        };
        let Rolling {
            rollout,
            start,
            pods,
            old,
            ..
        } = rolling;
        if pods.is_some() || start.plus(rollout.after) > snapshot.now {
            return;
        }
        let running = self.model.replace(rollout.model.clone());
        if let Strategy::Ordinals { partition } = rollout.strategy {
            let ordinals = snapshot
                .pods
                .iter()
                .filter_map(|pod| Pod::ordinal(&pod.name));
            *old = (
                running,
                ordinals.min().unwrap_or(0).saturating_add(partition.into()),
            );
        }
        *pods = Some(0);
        self.surplus = 0;
        for (life, pod) in self.lives.iter_mut().zip(&snapshot.pods) {
            life.is_outdated = !rollout.makes(pod);
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
        let Some(Rolling {
            rollout,
            pods: Some(_),
            ..
        }) = &self.rolling
        else {
            return false;
        };
        let (strategy, model) = (rollout.strategy, rollout.model.clone());
        let replicas = snapshot
            .scale
            .as_ref()
            .map_or(0, |scale| scale.spec_replicas);
        let replicas = usize::try_from(replicas).unwrap_or(0);
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

    /// A rolling update of a Deployment: new pods as long as there is room above the replicas, then old ones
    /// go as long as enough are ready, the unready first (`NewRSNewReplicas`, `cleanupUnhealthyReplicas`,
    /// `scaleDownOldReplicaSetsForRollingUpdate`). Where the HPA scales meanwhile, the controller keeps the
    /// proportions of the ReplicaSets (`scale`); here what is added is new, and of what is too much the
    /// unready go first, then the old.
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
            let (old, new) = (
                self.outdated(snapshot, true),
                self.outdated(snapshot, false),
            );
            let (total, ready) = (old.len() + new.len(), |place: &usize| {
                is_ready(&snapshot.pods[*place])
            });
            let add = most
                .saturating_sub(total)
                .min(replicas.saturating_sub(new.len()));
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
        if let Ok(scale) = &mut snapshot.scale {
            let there = snapshot.pods.iter().filter(|pod| is_active(pod)).count();
            scale.status_replicas = there.try_into().unwrap_or(i32::MAX);
        }
        changed
    }

    /// Of some pods, those that go first.
    fn first_of(&self, snapshot: &Snapshot, mut of: Vec<usize>, count: usize) -> HashSet<usize> {
        let key = |&place: &usize| {
            let (life, pod) = (&self.lives[place], &snapshot.pods[place]);
            (is_ready(pod), !life.is_outdated, self.first_to_go(pod))
        };
        of.sort_by(|a, b| key(a).cmp(&key(b)));
        of.truncate(count);
        of.into_iter().collect()
    }

    /// All old pods go, then the new ones come.
    fn recreate(&mut self, snapshot: &mut Snapshot, model: &Pod, replicas: usize) -> bool {
        let old: HashSet<usize> = self.outdated(snapshot, true).into_iter().collect();
        if old.is_empty() {
            return false;
        }
        self.remove(snapshot, &old);
        self.index(snapshot);
        self.add(
            snapshot,
            model,
            replicas.saturating_sub(active(snapshot).len()),
        );
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
        // What was measured of the old pod goes with it.
        self.index(snapshot);
        self.create(snapshot, model, name);
        self.index(snapshot);
        true
    }

    /// Has a container of new pods measured that the old ones lack.
    pub(in super::super) fn expect_usage(&mut self, container: &str, resource: &ResourceName) {
        let Some(Rolling { rollout, .. }) = &mut self.rolling else {
            return;
        };
        if !rollout
            .added
            .iter()
            .any(|(_, own, name, _)| **own == *container && name == resource)
        {
            rollout
                .added
                .push(("".into(), container.into(), resource.clone(), 0));
        }
    }

    /// Has new pods use nothing in containers that they do not have, and measures those that only they have.
    pub(super) fn measure_new(&self, snapshot: &mut Snapshot) {
        let Some(Rolling {
            rollout,
            pods: Some(_),
            ..
        }) = &self.rolling
        else {
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
                let container = match item.containers.iter().position(|own| own.name == *name) {
                    Some(place) => &mut item.containers[place],
                    None => {
                        let usage = ContainerUsage {
                            name: name.clone(),
                            usage: Usage::new(),
                        };
                        item.containers.push(usage);
                        let last = item.containers.len() - 1;
                        &mut item.containers[last]
                    }
                };
                if container.get(resource).is_none() {
                    container.usage.push((resource.clone(), 0));
                }
            }
        }
    }
}
