//! Findings about the selector of the target, and whose pods it matches.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::case::Top;
use super::path;
use super::pods::is_alive;
use super::{Case, Finding, Severity};
use crate::apimachinery::selector::Selector;
use crate::engine::decision::{Block, Group, MetricResult, MetricStep, Path};
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::{Canary, ScaleDown, Workload};

/// The scale of the target has no selector, or a malformed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorMissing {
    /// The malformed selector; empty if it is missing.
    pub selector: String,
}

/// The selector matches none of the target's pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorMatchesNothing {
    /// The selector.
    pub selector: String,
    /// `status.replicas` of the scale: the number of pods according to the target.
    pub replicas: i32,
    /// Known pods that the target owns, by name.
    pub own: Vec<Box<str>>,
    /// The labels that the selector requires and the first of these pods lacks.
    pub lacking: Vec<Lacking>,
    /// The pods of other owners that it matches, by name.
    pub others: Vec<Box<str>>,
}

/// A label that a pod lacks or that has another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The key.
    pub key: Box<str>,
    /// The required value.
    pub wanted: Box<str>,
    /// The actual value.
    pub found: Option<Box<str>>,
}

/// The selectors of several HPAs match the same pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedPods {
    /// The other HPAs.
    pub others: Vec<Sharing>,
    /// The pods that one of them matches as well, by name.
    pub pods: Vec<Box<str>>,
    /// Whether the version refuses to scale because of that.
    pub is_refused: bool,
    /// The ScaledObject that creates one of the HPAs, with that HPA.
    pub of_keda: Option<(String, String)>,
}

/// Another HPA that matches the same pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// Its name.
    pub name: String,
    /// Its target, as `Kind/name`.
    pub target: String,
    /// The selector of its target.
    pub selector: String,
}

/// Pods count that do not belong to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPods {
    /// These pods, by owner.
    pub of: Vec<OwnedPods>,
    /// Their part of what a metric measures.
    pub share: Option<Share>,
    /// Why pods of one template are those of two objects, if that is so.
    pub referred: Option<Referred>,
}

/// A Rollout whose template is that of a workload (`spec.workloadRef`), both of which have pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referred {
    /// The Rollout.
    pub rollout: CrossVersionObjectReference,
    /// The workload.
    pub workload: CrossVersionObjectReference,
    /// Whether the Rollout is the target.
    pub is_target: bool,
    /// What it does with the replicas of the workload, if that is stated.
    pub scale_down: Option<ScaleDown>,
    /// Another HPA, which scales the Rollout.
    pub hpa: Option<String>,
}

impl Referred {
    fn of(case: &Case<'_>) -> Option<Self> {
        let target = case.workload()?;
        let of = |rollout: &Workload, is_target: bool| {
            let mut others = case.snapshot().stored_hpas();
            let other = others.find(|it| it.hpa.reference() == rollout.reference());
            Some(Self {
                rollout: rollout.to_reference(),
                workload: (**rollout.template_of.as_ref()?).clone(),
                is_target,
                scale_down: rollout.scale_down,
                hpa: other.map(|it| it.hpa.name.clone()).filter(|_| !is_target),
            })
        };
        of(target, true).or_else(|| of(path::rollout(case)?, false))
    }

    /// Whether it is the owner of some pods.
    fn owns(&self, owner: &Owner) -> bool {
        let CrossVersionObjectReference { kind, name, .. } = if self.is_target {
            &self.workload
        } else {
            &self.rollout
        };
        match owner {
            Owner::Object(own) | Owner::NotCounted(own) => *own == format!("{kind}/{name}"),
            Owner::NoOne => false,
        }
    }
}

/// The pods of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedPods {
    /// The owner.
    pub owner: Owner,
    /// Its pods, by name.
    pub pods: Vec<Box<str>>,
}

/// The owner of some pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// This object, `Kind/name`, at the top of the owners.
    Object(String),
    /// This object, which may have owners of its own; the target does not count the pods in
    /// `status.replicas`.
    NotCounted(String),
    /// No one.
    NoOne,
}

/// A part of what a metric measures, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The metric, by index in the spec.
    pub metric: usize,
    /// What these pods use.
    pub theirs: i64,
    /// What all counted pods use.
    pub all: i64,
}

/// Pods of several revisions count, and together they are more than the replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldRevisionPods {
    /// The revisions, the current one first, if it is known.
    pub revisions: Vec<Revision>,
    /// `spec.replicas` of the scale.
    pub replicas: i32,
    /// As many pods of other revisions as there are pods beyond the replicas, by name.
    pub beyond: Vec<Box<str>>,
    /// Whether a canary keeps all stable pods, as something else shifts the traffic.
    pub keeps_stable: bool,
}

/// The pods of a revision that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The hash of the template.
    pub hash: Box<str>,
    /// How many pods.
    pub pods: usize,
    /// Whether it is known to be the current one.
    pub is_current: bool,
}

/// `selector-missing`
pub(super) fn selector_missing(case: &Case<'_>) -> Option<Finding> {
    let selector = &case.scale()?.selector;
    let is_usable = !selector.as_str().is_empty() && selector.parsed().is_ok();
    if is_usable || case.decision().block() != Some(Block::Selector) {
        return None;
    }
    let facts = SelectorMissing {
        selector: selector.as_str().to_owned(),
    };
    Some(Finding::explaining(Severity::Error, facts))
}

/// `selector-matches-nothing`
pub(super) fn selector_matches_nothing(case: &Case<'_>) -> Option<Finding> {
    let scale = case.scale()?;
    let spec = &case.snapshot().hpa.spec;
    let looks = |index: usize| spec.metrics[index].needs_pods();
    let mut looked = case.metrics().filter(|step| looks(step.index));
    let is_known = looked.any(|step| !matches!(step.result, MetricResult::Unread(_)));
    if !is_known || scale.status_replicas <= 0 {
        return None;
    }
    if case.pods().any(|pod| !case.is_foreign(pod)) {
        return None;
    }
    let mut own: Vec<&Pod> = case.snapshot().pods.iter().map(|pod| &**pod).collect();
    own.retain(|pod| case.top_owner(pod) == Top::Target && is_alive(pod));
    let others: Vec<_> = case.pods().map(|pod| pod.name.clone()).collect();
    if !others.is_empty() && own.is_empty() {
        return None;
    }
    let wanted = scale
        .selector
        .parsed()
        .map(Selector::example)
        .unwrap_or_default();
    let lacking = own.first().map_or_else(Vec::new, |pod| {
        let lacks = |(key, wanted): (&str, &str)| {
            let found = pod.labels.get(key);
            let lacking = Lacking {
                key: key.into(),
                wanted: wanted.into(),
                found: found.map(Into::into),
            };
            (found != Some(wanted)).then_some(lacking)
        };
        wanted.iter().filter_map(lacks).collect()
    });
    let facts = SelectorMatchesNothing {
        selector: scale.selector.as_str().to_owned(),
        replicas: scale.status_replicas,
        own: own.iter().map(|pod| pod.name.clone()).collect(),
        lacking,
        others,
    };
    let severity = match case.decision().block() {
        Some(_) => Severity::Error,
        None => Severity::Warning,
    };
    Some(Finding::explaining(severity, facts))
}

/// `shared-pods`
pub(super) fn shared(case: &Case<'_>) -> Option<Finding> {
    let is_refused = case.decision().block() == Some(Block::SharedPods);
    if !is_refused && case.decision().path() != Some(Path::Metrics) {
        return None;
    }
    let matches = |pod: &Pod| {
        let mut others = case.snapshot().stored_hpas();
        others.any(|other| other.scale.selector.matches(&pod.labels))
    };
    let pods: Vec<&Pod> = case.pods().filter(|pod| matches(pod)).collect();
    let mut others = Vec::new();
    for other in case.snapshot().stored_hpas() {
        if pods
            .iter()
            .any(|pod| other.scale.selector.matches(&pod.labels))
        {
            others.push(Sharing {
                name: other.hpa.name.clone(),
                target: other.hpa.reference(),
                selector: other.scale.selector.as_str().to_owned(),
            });
        }
    }
    if others.is_empty() {
        return None;
    }
    let pods = pods.into_iter().map(|pod| pod.name.clone()).collect();
    // Two HPAs of one target set its replicas in turn.
    let own = case.snapshot().hpa.reference();
    let decides = others.iter().any(|other| other.target == own);
    let all = || {
        let others = case.snapshot().stored_hpas().map(|other| &other.hpa);
        std::iter::once(&case.snapshot().hpa).chain(others.filter(|it| it.reference() == own))
    };
    let of_keda = all().find_map(|it| Some((it.scaled_object()?.name.clone(), it.name.clone())));
    let facts = SharedPods {
        others,
        pods,
        is_refused,
        of_keda,
    };
    Some(if is_refused {
        Finding::explaining(Severity::Error, facts)
    } else if decides {
        Finding::explaining(Severity::Warning, facts)
    } else {
        Finding::aside(Severity::Warning, facts)
    })
}

/// `foreign-pods`
pub(super) fn foreign(case: &Case<'_>) -> Option<Finding> {
    let counted = case.pods_in(|group| group != Group::Ignored);
    let pods: Vec<(&Pod, Top<'_>)> = counted.map(|pod| (pod, case.top_owner(pod))).collect();
    let mut of: BTreeMap<Owner, Vec<Box<str>>> = BTreeMap::new();
    for (pod, top) in &pods {
        let owner = match top {
            Top::Other { kind, name } => Owner::Object(format!("{kind}/{name}")),
            Top::NoOne => Owner::NoOne,
            Top::Target | Top::Unknown => continue,
        };
        of.entry(owner).or_default().push(pod.name.clone());
    }
    if pods.iter().all(|(_, top)| *top == Top::Unknown) {
        of = not_counted_by_target(case, &pods);
    }
    if of.is_empty() {
        return None;
    }
    let names: Names<&str> = of.values().flatten().map(|name| &**name).collect();
    let (share, without) = (
        share(case, &names),
        case.without_pods(|pod| names.contains(&pod.name)),
    );
    let is_referred = |it: &Referred| of.keys().all(|owner| it.owns(owner));
    let referred = Referred::of(case).filter(is_referred);
    let of = of
        .into_iter()
        .map(|(owner, pods)| OwnedPods { owner, pods })
        .collect();
    let facts = ForeignPods {
        of,
        share,
        referred,
    };
    Some(case.weigh(facts, without, Severity::Warning))
}

/// Returns the pods that the target itself does not count in `status.replicas`, if the pods of exactly one
/// owner make up that number, and nothing has changed recently.
fn not_counted_by_target(
    case: &Case<'_>,
    pods: &[(&Pod, Top<'_>)],
) -> BTreeMap<Owner, Vec<Box<str>>> {
    let mut of: BTreeMap<Owner, Vec<Box<str>>> = BTreeMap::new();
    let period = case.snapshot().controller.cpu_initialization_period;
    for (pod, _) in pods {
        let is_settled = is_alive(pod) && case.age(pod).is_some_and(|age| age > period);
        let Some(owner) = pod.owner.as_deref().filter(|_| is_settled) else {
            return BTreeMap::new();
        };
        let owner = Owner::NotCounted(format!("{}/{}", owner.kind, owner.name));
        of.entry(owner).or_default().push(pod.name.clone());
    }
    let scale = case
        .scale()
        .filter(|scale| scale.spec_replicas == scale.status_replicas);
    let replicas = scale.and_then(|scale| usize::try_from(scale.status_replicas).ok());
    let before = of.len();
    of.retain(|_, pods| Some(pods.len()) != replicas);
    if of.len() + 1 == before {
        of
    } else {
        BTreeMap::new()
    }
}

/// Returns the share of some pods in the first metric that has values of pods.
fn share(case: &Case<'_>, names: &Names<&str>) -> Option<Share> {
    case.metrics().find_map(|step| {
        let counted = step.pods.iter().filter(|row| row.group == Group::Ready);
        let (mut theirs, mut all) = (0i64, 0i64);
        for row in counted {
            let value = row.value?;
            all = all.checked_add(value)?;
            if names.contains(&case.pod_of(row).name) {
                theirs = theirs.checked_add(value)?;
            }
        }
        (theirs > 0).then_some(Share {
            metric: step.index,
            theirs,
            all,
        })
    })
}

/// `old-revision-pods`
pub(super) fn old_revision(case: &Case<'_>) -> Option<Finding> {
    /// A rollout that takes longer than this is stuck or paused, or it is a canary.
    const LONG: SignedDuration = SignedDuration::from_mins(10);
    let scale = case.scale()?;
    let replicas = usize::try_from(scale.spec_replicas).ok()?;
    // An average of a total is over the replicas in the target's status, which include those of a surge.
    let is_average = |step: &&MetricStep| step.is_total() && step.target.average_value.is_some();
    let averaged = case.decision().winner().filter(is_average);
    let averaged = averaged.filter(|_| scale.status_replicas > scale.spec_replicas);
    let counted: Vec<&Pod> = match averaged {
        Some(_) => case.pods().collect(),
        None => case.pods_in(|group| group == Group::Ready).collect(),
    };
    let mut of: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in counted {
        if let Some(hash) = pod
            .revision()
            .filter(|_| !case.is_foreign(pod) && is_alive(pod))
        {
            of.entry(hash).or_default().push(pod);
        }
    }
    let all: usize = of.values().map(Vec::len).sum();
    let excess = all
        .checked_sub(replicas)
        .filter(|excess| *excess > 0 && of.len() > 1)?;
    let current = case.surroundings().current_revision(case.target(), &of);
    let main = current.or_else(|| main_revision(&of, replicas))?;
    let mut others: Vec<&Pod> = of
        .iter()
        .filter(|(hash, _)| **hash != main)
        .flat_map(|(_, pods)| pods.clone())
        .collect();
    others.sort_by_key(|pod| (pod.created, &pod.name));
    others.truncate(excess);
    let names: Names<&str> = others.iter().map(|pod| &*pod.name).collect();
    let without = match averaged {
        Some(_) => case.without(|snapshot| {
            if let Ok(scale) = &mut snapshot.scale {
                scale.status_replicas = scale.spec_replicas;
            }
        }),
        None => case.without_pods(|pod| names.contains(&pod.name)),
    };
    // The rollout began with the first pod of the second revision.
    let firsts = of
        .values()
        .filter_map(|pods| pods.iter().filter_map(|pod| pod.created).min());
    let began = firsts.max();
    let is_long = began
        .and_then(|began| case.since(began))
        .is_none_or(|age| age >= LONG);
    let beyond = others.into_iter().map(|pod| pod.name.clone()).collect();
    let mut revisions: Vec<Revision> = of
        .iter()
        .map(|(hash, pods)| Revision {
            hash: (*hash).into(),
            pods: pods.len(),
            is_current: current == Some(hash),
        })
        .collect();
    revisions.sort_by_key(|it| (!it.is_current, std::cmp::Reverse(it.pods)));
    let strategy = case.workload().and_then(|target| target.strategy.as_ref());
    let canary = strategy.and_then(|strategy| strategy.canary.as_ref());
    let keeps_stable = canary.is_some_and(Canary::keeps_stable_pods);
    let facts = OldRevisionPods {
        revisions,
        replicas: scale.spec_replicas,
        beyond,
        keeps_stable,
    };
    let mut finding = case.weigh(facts, without, Severity::Info);
    if !is_long {
        finding.severity = Severity::Info;
    }
    Some(finding)
}

/// Returns the most likely revision of the replicas: it has as many pods, or the newest, or the
/// most.
fn main_revision<'p>(of: &BTreeMap<&'p str, Vec<&'p Pod>>, replicas: usize) -> Option<&'p str> {
    let newest = |pods: &[&Pod]| pods.iter().map(|pod| pod.created).max();
    let main = of
        .iter()
        .max_by_key(|(_, pods)| (pods.len() == replicas, newest(pods), pods.len()));
    main.map(|(hash, _)| *hash)
}

#[cfg(test)]
mod tests;
