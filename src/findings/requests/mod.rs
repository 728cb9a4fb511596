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

use crate::apimachinery::quantity::{Amount, Quantity};
use crate::findings::Alternative;
use crate::findings::about::rollout::Held;
use crate::findings::prelude::*;
use crate::numbers::{format_of, resource_amount};
use crate::snapshot::Snapshot;
use crate::snapshot::owners::TopOwner;
use crate::snapshot::pod::Requests;

/// Whether a pod has a request for a resource in a container.
fn has_request(pod: &Pod, container: &str, resource: &str) -> bool {
    let own = pod.container(container);
    own.and_then(|it| it.requests.get(resource))
        .is_some_and(|request| !request.is_zero())
}

/// Returns the only container with a request for the resource in the target's pods, if ContainerResource
/// metrics are supported.
pub(crate) fn requested(case: &Case<'_>, step: &MetricStep) -> Option<String> {
    if !case.snapshot.controller.gates[FeatureGate::HPAContainerMetrics] {
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
