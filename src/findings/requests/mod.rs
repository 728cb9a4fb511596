//! Findings about the requests of pods, on which utilization is based, and about targets that the
//! usage of a pod cannot reach or cannot leave.

pub mod diluted_by_container;
pub mod memory_baseline;
pub mod missing_request;
pub mod request_too_small;
pub mod requests_differ_from_template;
pub mod resize_in_progress;
#[cfg(test)]
pub(crate) mod testing;
pub mod unreachable_target;

use crate::apimachinery::managed_fields::{SpecField, last_writer};
use crate::apimachinery::quantity::{Amount, Quantity};
use crate::apimachinery::tool::Tool;
use crate::findings::Alternative;
use crate::findings::prelude::*;
use crate::numbers::{format_of, resource_amount};
use crate::snapshot::Snapshot;
use crate::snapshot::owners::TopOwner;
use crate::snapshot::pod::Requests;
use crate::snapshot::surroundings::{Replacement, Workload};

/// Whether a pod has a request for a resource in a container.
fn has_request(pod: &Pod, container: &str, resource: &str) -> bool {
    let own = pod.container(container);
    own.and_then(|it| it.requests.get(resource))
        .is_some_and(|request| !request.is_zero())
}

/// Returns the only container with a request for the resource in the target's pods, if ContainerResource
/// metrics are supported.
pub(crate) fn requested(case: &Case<'_>, step: &MetricStep) -> Option<String> {
    if !case.snapshot.controller.gates[Gate::HPAContainerMetrics] {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for container in case.pods().flat_map(|pod| &pod.containers) {
        let has_request = container.requests.get(&step.name).is_some();
        if has_request && !names.contains(&&*container.name) {
            names.push(&container.name);
        }
    }
    match names[..] {
        [only] => Some(only.to_owned()),
        _ => None,
    }
}

/// Whether a container of a Resource metric also has a ContainerResource metric that the controller reads.
fn has_own_metric(case: &Case<'_>, metric: usize, container: &str) -> bool {
    let metrics = &case.snapshot.hpa.spec.metrics;
    let own = metrics[metric].of_container(container).id();
    !case.rules.rejects_container_metrics && metrics.iter().any(|it| it.id() == own)
}

/// Turns a Resource metric into a ContainerResource metric.
fn look_at(snapshot: &mut Snapshot, metric: usize, container: &str) {
    let spec = &mut snapshot.hpa.spec.metrics[metric];
    *spec = spec.of_container(container);
}

/// Returns the metrics with a utilization target, by resource.
fn utilizations<'p>(case: &Case<'p>) -> impl Iterator<Item = (&'p MetricStep, i32)> {
    case.metrics()
        .filter(|step| step.is_resource())
        .filter_map(|step| Some((step, step.target.utilization()?)))
}

/// Returns the requests of a pod that count in a metric, in milli-units and by container, or the request of the pod as
/// a whole if this pod or the other, with which it is compared, states one.
fn counted_requests<'a>(
    case: &'a Case<'_>,
    pod: &'a Pod,
    other: &Pod,
    step: &'a MetricStep,
) -> Vec<(Option<&'a str>, Option<i64>)> {
    let of = |requests: &Requests| requests.get(&step.name).map(Amount::milli_value);
    let whole = |pod: &Pod| of(&pod.requests).filter(|_| case.counts_as_whole(pod, step));
    let containers = case.counted_containers(pod, step);
    let each = containers.map(|it| (Some(&*it.name), of(&it.requests)));
    match (whole(pod), whole(other)) {
        (None, None) => each.collect(),
        (own, _) => vec![(None, own.or_else(|| total(each.map(|it| it.1))))],
    }
}

/// Returns the request of a pod that counts in a metric, in milli-units, if each counted container has one.
fn request_of(case: &Case<'_>, pod: &Pod, step: &MetricStep) -> Option<i64> {
    let requests = counted_requests(case, pod, pod, step).into_iter();
    total(requests.map(|it| it.1))
}

/// Whether usages are similar: the lowest is at least a fixed share of the highest.
fn are_alike(least: i64, most: i64) -> bool {
    const ALIKE: f64 = 0.8;
    least as f64 >= most as f64 * ALIKE
}

/// Whether at least two pods count in a metric of a resource with their observed usage, and all of these use about the
/// same.
pub(crate) fn is_alike(case: &Case<'_>, step: &MetricStep) -> bool {
    let usages: Vec<i64> = case
        .counted(step)
        .filter(|(row, _)| case.observed_pod_of(step, row).is_some())
        .filter_map(|(row, _)| row.value)
        .collect();
    let ends = usages.iter().min().zip(usages.iter().max());
    step.is_resource()
        && usages.len() > 1
        && ends.is_some_and(|(least, most)| are_alike(*least, *most))
}

/// Returns a finding that explains the pass if the result differs without the problem.
fn compared(
    case: &Case<'_>,
    facts: impl Into<Facts>,
    otherwise: Severity,
    without: Alternative,
) -> Finding {
    let finding = if without == case.answer() {
        Finding::aside(otherwise, facts)
    } else {
        Finding::explaining(Severity::Warning, facts)
    };
    finding.without(without)
}

/// The pods of the target, with the known facts about their revisions.
pub(crate) struct Revisions<'p> {
    /// The pods that are neither finished nor terminating; the target's status counts no others.
    own: Vec<&'p Pod>,
    /// The revision of the target's template.
    pub(crate) current: Option<&'p str>,
    /// Whether there is only one revision, including the other pods.
    is_one: bool,
    /// The number of replicas with that template, according to the target.
    updated: Option<usize>,
}

impl<'p> Revisions<'p> {
    pub(crate) fn of(case: &Case<'p>) -> Self {
        let mut own: Vec<&Pod> = case
            .pods()
            .filter(|pod| case.top_owner(pod) == TopOwner::Target)
            .collect();
        let mut hashes = own.iter().filter_map(|pod| pod.revision());
        let first = hashes.next();
        let is_one = hashes.all(|hash| Some(hash) == first);
        own.retain(|pod| pod.is_active());
        let status = case
            .workload()
            .and_then(|workload| workload.status.as_ref());
        let updated = status.and_then(|it| usize::try_from(it.updated_replicas?).ok());
        let pods = own.iter().copied();
        Self {
            current: case.surroundings.current_revision(case.target(), pods),
            own,
            is_one,
            updated,
        }
    }

    /// Returns what keeps some of the pods at an earlier template.
    fn held(&self, case: &Case<'_>) -> Option<Held> {
        let names: Vec<&str> = self.own.iter().map(|pod| &*pod.name).collect();
        let is_outdated = self.updated.is_none_or(|updated| updated < names.len());
        let held = Held::of(case.snapshot, case.workload(), &names);
        held.filter(|_| is_outdated)
    }

    /// Whether a pod has the target's template; `None` if unknown.
    fn is_current(&self, pod: &Pod) -> Option<bool> {
        match self.current {
            _ if self.updated == Some(0) => Some(false),
            Some(current) => pod.revision().map(|own| own == current),
            None if self.updated.is_some_and(|updated| updated < self.own.len()) => None,
            None => self.is_one.then_some(true),
        }
    }

    /// Whether some pods may have the target's template, and all of these have a container.
    pub(crate) fn all_may_have(&self, container: &str) -> bool {
        let may_be_current = |pod: &&&Pod| self.is_current(pod) != Some(false);
        let mut rest = self.own.iter().filter(may_be_current).peekable();
        rest.peek().is_some() && rest.all(|pod| pod.has_container(container))
    }

    /// Whether a pod has a container, which the target's template lacks, from an earlier template and not from an
    /// injector: the earlier template has it or, if that was not read, some pod that may have the target's template
    /// lacks the container (not `is_everywhere`).
    pub(crate) fn is_left(
        &self,
        case: &Case<'_>,
        pod: &Pod,
        container: &str,
        is_everywhere: bool,
    ) -> bool {
        let had = case.template_of(pod).map(|it| it.has_container(container));
        had.unwrap_or(!is_everywhere && self.is_current(pod) != Some(true))
    }

    /// Returns the pods of the target, except those that certainly or possibly belong to an earlier template. If neither
    /// the revision nor the number of replicas with the template is known, no pod is taken for an earlier one.
    fn pods_of_template(&self) -> Vec<&'p Pod> {
        let is_all = |updated: usize| updated >= self.own.len();
        let are_all = self.updated.map_or(self.current.is_none(), is_all);
        let own = self.own.iter().copied();
        own.filter(|pod| are_all || self.is_current(pod) == Some(true))
            .collect()
    }
}

/// What keeps pods of a target at an earlier template until someone acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The target replaces pods only once they are deleted, for this reason.
    ByHand(&'static str),
    /// The target is paused.
    Paused,
    /// A partition is above some of them.
    Partition {
        /// The partition.
        stated: i32,
        /// The highest one that is above none of them.
        enough: i32,
    },
}

impl Held {
    /// Returns what keeps some of these pods of a target. Only a partition depends on their names.
    fn of(snapshot: &Snapshot, target: Option<&Workload>, pods: &[&str]) -> Option<Self> {
        // What owns a target replaces that with its pods.
        let owner = target.and_then(|it| it.metadata.controller());
        match Replacement::of(&snapshot.hpa.spec.scale_target_ref, target.into_iter()) {
            Replacement::OnDelete | Replacement::ByKind if owner.is_some() => None,
            Replacement::OnDelete => Some(Self::ByHand("the update strategy is OnDelete")),
            Replacement::ByKind => Some(Self::ByHand("the target does not replace them")),
            Replacement::Paused => Some(Self::Paused),
            Replacement::AllBut {
                partition: stated,
                ordinals,
            } => {
                let set = &snapshot.hpa.spec.scale_target_ref.name;
                let places = pods.iter().filter_map(|pod| ordinals.place(set, pod));
                let enough = i32::try_from(places.min()?).ok()?;
                (enough < stated).then_some(Self::Partition { stated, enough })
            }
            _ => None,
        }
    }
}

/// Returns a request of at least an amount, rounded up as people state requests.
pub(crate) fn rounded_request(resource: &str, needed: i64) -> Option<Quantity> {
    let step = match resource {
        "cpu" => 10,
        "memory" => 1024 * 1024 * 1000,
        _ => 1000,
    };
    let steps = needed / step + i64::from(needed % step > 0 || needed == 0);
    let rounded = steps.checked_mul(step)?;
    Some(resource_amount(resource, rounded).canonicalized())
}

/// Returns the sum of amounts, if all are known.
pub(crate) fn total(amounts: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    let mut amounts = amounts;
    amounts.try_fold(0i64, |sum, amount| Some(sum.saturating_add(amount?)))
}

/// Returns the mean of amounts, and whether they are all equal, if all are known.
pub(crate) fn mean(amounts: impl Iterator<Item = Option<i64>> + Clone) -> Option<(i64, bool)> {
    let number = i64::try_from(amounts.clone().count()).ok()?;
    let mean = total(amounts.clone())?.checked_div(number)?;
    Some((mean, { amounts }.all(|it| it == Some(mean))))
}

/// Returns an amount of a resource metric as text.
fn milli(value: i64, resource: &str) -> String {
    amount(value, format_of(resource))
}

impl<'a> About<'a> {
    /// Returns a command that makes a Resource metric one of a container.
    fn use_container(&self, metric: usize, container: &str) -> Option<Command> {
        self.patch_metric(metric, &self.spec(metric).of_container(container))
    }

    /// Whether the target is paused, so that a rollout waits for someone to resume it.
    pub(crate) fn is_paused(&self) -> bool {
        self.workload().is_some_and(|it| it.paused == Some(true))
    }

    /// Returns a command that resumes a paused target, if kubectl can.
    pub(crate) fn resume(&self) -> Option<Command> {
        let target = &self.hpa.spec.scale_target_ref;
        let known = self.workload().filter(|_| target.is_kind("Deployment"))?;
        let command = self.kubectl_quoted("rollout resume", &self.target(), "");
        let writer = last_writer(&known.metadata.managed_fields, SpecField::Paused);
        let is_of_tool = writer.is_some_and(|it| Tool::of_manager(&it.manager).is_some());
        Some(if is_of_tool || known.metadata.controller().is_some() {
            command.editing(Edited::Template)
        } else {
            command
        })
    }

    /// Returns how the target replaces pods of an earlier revision.
    fn replacement(&self) -> Replacement {
        let target = &self.hpa.spec.scale_target_ref;
        Replacement::of(target, self.workload().into_iter())
    }

    /// Returns what keeps some of these pods at an earlier template.
    fn held(&self, pods: &[&str]) -> Option<Held> {
        Held::of(self.snapshot, self.workload(), pods)
    }

    /// Returns why the target does not replace its pods when their template changes, if they have to be deleted.
    pub(crate) fn replaced_by_hand(&self) -> Option<&'static str> {
        match self.held(&[])? {
            Held::ByHand(why) => Some(why),
            Held::Paused | Held::Partition { .. } => None,
        }
    }

    /// Returns a sentence on what has to follow a change of the template until all pods have it, if no rollout does
    /// that; `first` begins the sentence.
    pub(crate) fn after_template(&self, first: &str) -> Option<String> {
        let mut pods = Vec::from_iter(self.finding.pods());
        if pods.is_empty() {
            pods = self.target_pods();
        }
        Some(match self.held(&pods)? {
            Held::ByHand(why) => format!("{first} delete the pods one by one: {why}."),
            Held::Paused => format!("{first} resume {}: it is paused.", self.reference()),
            Held::Partition { stated, enough } => {
                format!("{first} lower partition ({stated}) to {enough} in the update strategy.")
            }
        })
    }

    /// Whether a partition keeps some pods of the target as they are when its template changes.
    pub(crate) fn leaves_pods(&self) -> bool {
        matches!(self.held(&self.target_pods()), Some(Held::Partition { .. }))
    }

    /// Returns the names of the target's pods.
    fn target_pods(&self) -> Vec<&str> {
        let pods = self.snapshot.target_pods();
        pods.map(|pod| &*pod.name).collect()
    }

    /// Returns the advice to wait until these pods' rollout ends, with the reason, or to do something else. If the
    /// rollout leaves some of them alone, someone has to replace them.
    pub(crate) fn after_rollout(&self, pods: &[&str], because: &str, or: Option<&str>) -> Advice {
        match (self.held(pods), self.replacement().promotion()) {
            (Some(Held::ByHand(why)), _) => Remedy::DeleteEarlier
                .says(format!("Delete the pods of the earlier revision: {why}.")),
            (Some(Held::Paused), _) => {
                Remedy::Resume.says(format!("Resume {}{because}.", self.reference()))
            }
            (Some(Held::Partition { stated, enough }), _) => Remedy::LowerPartition.says(format!(
                "Lower partition ({stated}) to {enough} in the update strategy{because}."
            )),
            (None, Some(pauses)) => Remedy::Promote.says(format!(
                "If the rollout pauses, promote it once its new pods are ready{because}{}. {}.",
                or.map_or_else(String::new, |or| format!(", or {or}")),
                sentence(&pauses)
            )),
            (None, None) => Remedy::WaitForRollout
                .waits(format!("for the rollout to end{because}"))
                .or(or.unwrap_or_default()),
        }
    }

    /// Returns a command that shows the progress of these pods' rollout, if kubectl knows rollouts of the kind,
    /// or which pods are left if they are replaced by hand, or one that includes them in the rollout.
    pub(crate) fn rollout_status(&self, pods: &[&str]) -> Option<Command> {
        let target = &self.hpa.spec.scale_target_ref;
        let is_known = target.is_kind("Deployment") || target.is_kind("StatefulSet");
        match self.held(pods) {
            // A target with a partition has its own template, so that this patches its update strategy.
            Some(Held::Partition { enough, .. }) => {
                let patch =
                    json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": enough}}}});
                Some(self.patch_template("merge", &patch))
            }
            _ if !is_known => None,
            _ if self.replacement() == Replacement::OnDelete => {
                self.list_pods("-L controller-revision-hash")
            }
            _ => Some(self.kubectl_quoted("rollout status", &self.target(), "--watch=false")),
        }
    }

    /// Returns a sentence about the pods' limits, or their absence, if the metric is above all that they request.
    pub(crate) fn of_requests(&self, metric: usize) -> Option<String> {
        let step = self.step(metric)?;
        let share = step
            .proposal()?
            .current
            .average_utilization
            .filter(|share| *share > 100)?;
        let pods = || {
            let rows = step.ready_rows();
            rows.map(|row| &*self.snapshot.pods[row.pod as usize])
        };
        let limit = |limits: &Requests| limits.get(&step.name).map(Amount::milli_value);
        let containers = |pod: &'a Pod| pod.running(false).filter(|it| step.includes(&it.name));
        let limit_of = |pod| containers(pod).map(|it| limit(&it.limits)).sum();
        let words = |(amount, is_same): (i64, bool)| {
            let mean = if is_same { "" } else { " on average" };
            (milli(amount, &step.name), mean)
        };
        let (request, by) = words(mean(step.ready_rows().map(|row| row.request))?);
        let of = format!("{share}% is a share of the request, {request} per pod{by}");
        match mean(pods().map(limit_of)).map(words) {
            Some((limit, by)) => {
                (limit != request).then(|| format!("{of}, not of the limit, {limit}{by}."))
            }
            None if pods().any(|pod| limit(&pod.limits).is_some()) => Some(format!("{of}.")),
            None if pods().any(|pod| containers(pod).any(|it| limit(&it.limits).is_some())) => {
                Some(format!("{of}; not every container has a limit."))
            }
            None => Some(format!("{of}; no limit is set.")),
        }
    }
}
