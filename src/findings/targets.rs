//! Other targets and requests of a metric. Each is found by playing it: the engine runs the pass with it, so
//! that the reported effect is the controller's.

use std::collections::{BTreeMap, HashMap};

use super::Case;
use super::about::About;
use super::advice::{Advice, IF_TEMPLATE};
use super::remedy::Remedy;
use super::wording::exact;
use crate::apimachinery::names::shell_word;
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::engine::decision::{Decision, Direction, MetricStep};
use crate::keda;
use crate::numbers::{format_of, resource_amount};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricTarget;
use crate::snapshot::metric::ContainerUsage;
use crate::snapshot::pod::{Container, Pod, Requests, change_containers};
use crate::words::sentence;

impl MetricTarget {
    /// Returns an amount for each replica as a target.
    pub(super) fn per_replica(amount: Quantity) -> Self {
        Self {
            type_: "AverageValue".to_owned(),
            average_value: Some(amount),
            ..Self::default()
        }
    }

    /// Returns an amount for all replicas together as a target.
    pub(super) fn in_all(amount: Quantity) -> Self {
        Self {
            type_: "Value".to_owned(),
            value: Some(amount),
            ..Self::default()
        }
    }

    /// Returns the target with another amount.
    pub(super) fn with_amount(&self, amount: &Quantity) -> Self {
        Self {
            type_: self.type_.clone(),
            value: self.value.as_ref().map(|_| amount.clone()),
            average_value: self.average_value.as_ref().map(|_| amount.clone()),
            average_utilization: self.average_utilization,
        }
    }
}

/// Returns the change of a snapshot that gives a metric another target.
pub(super) fn retarget(metric: usize, target: MetricTarget) -> impl FnOnce(&mut Snapshot) {
    move |snapshot| {
        if let Some(own) = snapshot.hpa.spec.metrics[metric].target_mut() {
            *own = target;
        }
    }
}

impl MetricStep {
    /// Whether the metric counts the usage of a container.
    pub(super) fn includes(&self, container: &str) -> bool {
        self.container.as_deref().is_none_or(|own| own == container)
    }
}

/// A change with which a metric proposes another number of replicas at the same usage.
#[derive(Debug, Clone, PartialEq)]
pub enum Adjustment {
    /// Another request of a container, or of the pod as a whole, in all pods.
    Request {
        /// The container; `None` for the pod as a whole.
        container: Option<Box<str>>,
        /// The request.
        request: Quantity,
    },
    /// Another target of the metric.
    Target(MetricTarget),
}

impl Adjustment {
    /// Makes the change for a metric of the spec.
    pub(super) fn apply(&self, snapshot: &mut Snapshot, metric: usize) {
        match self {
            Self::Request { container, request } => {
                let resource = snapshot.hpa.spec.metrics[metric].name().to_owned();
                let Some(container) = container else {
                    for pod in &mut snapshot.pods {
                        set_request(&mut pod.requests, &resource, request.amount());
                    }
                    return;
                };
                change_containers(&mut snapshot.pods, |own| {
                    if own.name == *container {
                        set_request(&mut own.requests, &resource, request.amount());
                    }
                });
            }
            Self::Target(target) => retarget(metric, target.clone())(snapshot),
        }
    }

    /// Plays the change for a metric of the spec, and returns it with the resulting proposal.
    fn played(self, case: &Case<'_>, metric: usize, whose: ProposalOf) -> Option<PlayedAdjustment> {
        let decision = case.decide(|snapshot| self.apply(snapshot, metric));
        let proposal = whose.of(&decision, metric)?;
        Some(PlayedAdjustment {
            adjustment: self,
            proposal,
        })
    }

    /// Returns the new request or target, of a metric of a resource, as a noun with its article.
    pub(super) fn name(&self, resource: &str) -> String {
        match self {
            Self::Request { container, request } => {
                let of = requester(container.as_deref());
                format!("a {resource} request of {request} for {of}")
            }
            Self::Target(target) => format!("a target of {}", exact(target)),
        }
    }

    /// Returns the flags that predict the change for a metric; `None` if flags cannot distinguish the metric from
    /// others of its name, or if a partition leaves pods without the new request.
    pub(super) fn flags(&self, about: &About<'_>, metric: usize) -> Option<String> {
        match self {
            Self::Request { .. } if about.leaves_pods() => None,
            Self::Request { container, request } => {
                let resource = about.spec(metric).name();
                let of = container
                    .as_ref()
                    .map_or_else(String::new, |name| format!("{name}="));
                let request = shell_word(&format!("{of}{resource}={request}"));
                Some(format!("--request {request}"))
            }
            Self::Target(target) => about.target_flags(metric, &exact(target)),
        }
    }
}

/// Returns the container with a request, or what has it if pods request as a whole.
pub(super) fn requester(container: Option<&str>) -> &str {
    container.unwrap_or("each pod")
}

/// The proposal that an adjustment of a metric has to change.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProposalOf {
    /// The proposal of the pass, from all its metrics.
    Pass,
    /// The proposal of the metric alone.
    Metric,
}

impl ProposalOf {
    /// Returns the proposal in a decision.
    fn of(self, decision: &Decision, metric: usize) -> Option<i32> {
        match self {
            Self::Pass => decision.proposal,
            Self::Metric => Some(decision.metric(metric)?.proposal()?.replicas),
        }
    }
}

/// A change that was found by playing it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedAdjustment {
    /// The change.
    pub adjustment: Adjustment,
    /// The replicas that are proposed with it.
    pub proposal: i32,
}

/// The change that leaves pods more room before a metric proposes that many of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Headroom {
    /// The change with which few enough replicas are proposed: the lowest request if the target is a utilization and
    /// the limits allow that request, or the lowest target if it is an amount and the pods are not tight. For a
    /// utilization, a higher target would only hide that requests are too small.
    pub found: Option<PlayedAdjustment>,
    /// Whether pods are near their limits or have restarted, so that they need more than a higher target.
    pub is_tight: bool,
    /// What sets the request instead of the template, as a clause.
    pub set_elsewhere: Option<String>,
}

/// Targets and requests are changed by at most about this factor.
const FARTHEST: i64 = 20;

/// Returns the distance between the round amounts of this size that people state, with this many digits; bytes are
/// counted in `Mi` or `Ki`.
fn step_at(value: i64, format: Format, digits: u32) -> Option<i64> {
    const UNITS: [i64; 2] = [1024 * 1024 * 1000, 1024 * 1000];
    let unit = match format {
        Format::BinarySI => UNITS
            .into_iter()
            .find(|unit| value >= *unit)
            .unwrap_or(1000),
        _ => 1,
    };
    let length = (value / unit).max(1).checked_ilog10()? + 1;
    10_i64.pow(length.saturating_sub(digits)).checked_mul(unit)
}

/// Returns the round amounts above a value that people state, up to the farthest.
fn higher(value: i64, format: Format, digits: u32) -> Vec<i64> {
    let most = value.saturating_mul(FARTHEST);
    std::iter::successors(Some(value), |value| {
        let step = step_at(*value, format, digits)?;
        (*value / step + 1).checked_mul(step)
    })
    .skip(1)
    .take_while(|it| *it <= most)
    .collect()
}

/// Returns the round amounts below a value that people state, down to the farthest.
fn lower(value: i64, format: Format, digits: u32) -> Vec<i64> {
    let least = (value / FARTHEST).max(1);
    std::iter::successors(Some(value), |value| {
        let step = step_at(*value - 1, format, digits)?;
        Some((*value - 1) / step * step)
    })
    .skip(1)
    .take_while(|it| *it >= least)
    .collect()
}

/// Returns the result for the first value that has one; all later values have one, too.
fn first<T>(values: &[i64], played: impl Fn(i64) -> Option<T>) -> Option<T> {
    let first = values.partition_point(|value| played(*value).is_none());
    played(*values.get(first)?)
}

/// Returns the nearest target of a metric with which the pass, or one metric of it, proposes more or fewer than the
/// current replicas: an amount with two digits, or a whole percentage, with three digits if it is larger. A higher
/// target leads to fewer replicas, a lower one to more.
pub(super) fn other_target(
    case: &Case<'_>,
    metric: &MetricStep,
    current: i32,
    side: Direction,
    whose: ProposalOf,
) -> Option<PlayedAdjustment> {
    let target = &metric.target;
    let amount = target.amount();
    let value = amount
        .map(Quantity::milli_value)
        .or(target.average_utilization.map(i64::from))?;
    let (format, digits) = amount.map_or((Format::DecimalSI, 3), |amount| (amount.format(), 2));
    let mut targets = match side {
        Direction::Down => higher(value, format, digits),
        Direction::Up => lower(value, format, digits),
    };
    let spec = case.spec(metric);
    targets.retain(|value| keda::may_have(spec, &Quantity::from_milli(*value, format)));
    let nearest = first(&targets, |value| {
        let other = match amount {
            Some(_) => target.with_amount(&Quantity::from_milli(value, format)),
            None => MetricTarget {
                average_utilization: Some(i32::try_from(value).ok()?),
                ..target.clone()
            },
        };
        let played = Adjustment::Target(other).played(case, metric.index, whose)?;
        let is_beyond = match side {
            Direction::Up => played.proposal > current,
            Direction::Down => played.proposal < current,
        };
        is_beyond.then_some(played)
    });
    // A target that the limits of the pods keep out of reach would end scaling up.
    nearest.filter(|other| limits_keep_below(case, metric, &other.adjustment) != Some(true))
}

/// Returns the change with which a pass, or one metric of it, proposes at most this many replicas at the current
/// usage of the pods; `None` if the metric does so once all pods are made from the target's template.
pub(super) fn room(
    case: &Case<'_>,
    metric: &MetricStep,
    most: i32,
    whose: ProposalOf,
) -> Option<Headroom> {
    let renewed = case.renewed();
    let new = &Case::new(&renewed, &[]);
    let is_tight = is_tight(new, metric);
    let is_share = metric.target.average_utilization.is_some();
    let container = largest(case, new, metric).filter(|_| is_share);
    let setter = case.setter(container, &metric.name);
    let set_elsewhere = container.and_then(|name| setter.clause(name, &metric.name));
    let found = if is_share {
        let proposal = ProposalOf::Metric.of(&renewed.decision, metric.index);
        if proposal.is_some_and(|it| it <= most) {
            return None;
        }
        let own = container.filter(|_| set_elsewhere.is_none());
        own.and_then(|name| request(case, new, metric, name, most, whose))
    } else if is_tight {
        None
    } else {
        let more = most.saturating_add(1);
        other_target(case, metric, more, Direction::Down, whose)
    };
    Some(Headroom {
        found,
        is_tight,
        set_elsewhere,
    })
}

/// The changes that make each metric propose few enough replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjusted {
    /// The changes, by index of the metric in the spec.
    pub changes: Vec<(usize, Adjustment)>,
    /// The proposal of the pass with all of them.
    pub proposal: i32,
    /// Whether some metrics need no change because of the requests in the target's template, which not all pods have
    /// yet.
    pub needs_template: bool,
}

/// Returns the changes that make each metric propose at most this many replicas; `None` if a metric has no such change.
pub(super) fn adjustments(case: &Case<'_>, metrics: &[&MetricStep], most: i32) -> Option<Adjusted> {
    if most < 1 {
        return None;
    }
    let mut changes = Vec::with_capacity(metrics.len());
    for metric in metrics {
        if let Some(room) = room(case, metric, most, ProposalOf::Metric) {
            changes.push((metric.index, room.found?.adjustment));
        }
    }
    let needs_template = changes.len() < metrics.len();
    let renewed = needs_template.then(|| case.renewed());
    let pass = renewed.as_ref().unwrap_or(case.pass);
    let decision = Case::new(pass, &[]).decide(|snapshot| {
        for (metric, adjustment) in &changes {
            adjustment.apply(snapshot, *metric);
        }
    });
    let proposal = decision.proposal.filter(|proposal| *proposal <= most)?;
    Some(Adjusted {
        changes,
        proposal,
        needs_template,
    })
}

/// Returns the container with the highest usage; `None` if unknown, or if requests are those of pods as a whole.
pub(super) fn largest<'a>(
    case: &'a Case<'_>,
    renewed: &Case<'_>,
    metric: &'a MetricStep,
) -> Option<&'a str> {
    let resource = &*metric.name;
    let is_whole = |case: &Case<'_>| case.pods().any(|pod| case.counts_as_whole(pod, metric));
    if case.surroundings.invents_request(resource) || is_whole(case) || is_whole(renewed) {
        return None;
    }
    let mut used: BTreeMap<&str, i64> = BTreeMap::new();
    for (_, pod) in case
        .counted(metric)
        .filter(|(_, pod)| !case.is_foreign(pod))
    {
        let metrics = case.metrics_of(pod)?;
        for container in case.counted_containers(pod, metric) {
            let usage = metrics.usage(resource, Some(&container.name))?;
            let sum = used.entry(&container.name).or_default();
            *sum = sum.saturating_add(usage);
        }
    }
    let (name, _) = used.into_iter().max_by_key(|(_, usage)| *usage)?;
    Some(name)
}

/// Returns the lowest request of a container, above those of the pods and of the target's template, with which a pass,
/// or one metric of it, proposes at most this many replicas.
fn request(
    case: &Case<'_>,
    renewed: &Case<'_>,
    metric: &MetricStep,
    name: &str,
    most: i32,
    whose: ProposalOf,
) -> Option<PlayedAdjustment> {
    let resource = &*metric.name;
    let old = case
        .counted(metric)
        .filter_map(|(_, pod)| pod.container(name));
    let made = || renewed.counted(metric).map(|(_, pod)| pod);
    let new = made().filter_map(|pod| pod.container(name));
    let requests = old.chain(new).filter_map(|it| it.requests.get(resource));
    let highest = requests.map(Amount::milli_value).max()?;
    let template = case.workload().and_then(|it| it.template.as_deref());
    let bounds = [
        lowest_limit(made(), Some(name), resource),
        least_room(made(), template, name, resource),
    ];
    let most_allowed = bounds.into_iter().flatten().min();
    let mut allowed = higher(highest, format_of(resource), 2);
    allowed.retain(|value| most_allowed.is_none_or(|most| *value <= most));
    first(&allowed, |value| {
        let other = Adjustment::Request {
            container: Some(name.into()),
            request: resource_amount(resource, value).canonicalized(),
        };
        let played = other.played(case, metric.index, whose)?;
        (played.proposal <= most).then_some(played)
    })
}

/// Returns the lowest limit of a container in some pods, or of these pods as a whole, in milli-units; the API server
/// rejects a request above its limit.
pub(super) fn lowest_limit<'p>(
    pods: impl Iterator<Item = &'p Pod>,
    container: Option<&str>,
    resource: &str,
) -> Option<i64> {
    let limits = pods.filter_map(|pod| match container {
        Some(name) => Some(&pod.container(name)?.limits),
        None => Some(&pod.limits),
    });
    let amounts = limits.filter_map(|it| it.get(resource));
    amounts.map(Amount::milli_value).min()
}

/// Returns the most that a container may request beside the others in some pods, in milli-units, if they request or are
/// limited as a whole, as their template states it if that was read; containers without a request get equal parts. The
/// API server rejects pods whose containers request more than the pod. Pods without the container do not count.
pub(super) fn least_room<'p>(
    pods: impl Iterator<Item = &'p Pod>,
    template: Option<&Pod>,
    container: &str,
    resource: &str,
) -> Option<i64> {
    let of = |amounts: &Requests| amounts.get(resource).map(Amount::milli_value);
    let rooms = pods.filter_map(|pod| {
        let mut wholes = [template, Some(pod)].into_iter().flatten();
        let most = wholes.find_map(|it| of(&it.requests).or_else(|| of(&it.limits)))?;
        let requests = |it: &Container| of(&it.requests);
        let parts = match requests(pod.container(container)?) {
            Some(_) => 1,
            None => pod
                .running(false)
                .filter(|it| requests(it).is_none())
                .count(),
        };
        let others = pod.running(false).filter(|it| *it.name != *container);
        let taken = others.filter_map(requests).fold(0, i64::saturating_add);
        Some(most.saturating_sub(taken) / i64::try_from(parts.max(1)).ok()?)
    });
    rooms.min()
}

/// Whether a container uses nearly all of a resource that its limit allows: the limit holds it back.
pub(super) fn is_held_back(container: &Container, resource: &str, usage: i64) -> bool {
    /// Measured usage stays a little below a limit.
    const NEAR: f64 = 0.9;
    let limit = container.limits.get(resource).map(Amount::milli_value);
    limit.is_some_and(|limit| limit > 0 && usage as f64 >= limit as f64 * NEAR)
}

/// Whether some counted pod has restarted, or uses nearly all of a resource that its limits allow.
fn is_tight(case: &Case<'_>, metric: &MetricStep) -> bool {
    case.counted(metric).any(|(_, pod)| {
        let usage = case.metrics_of(pod);
        pod.statuses.iter().any(|status| status.restart_count > 0)
            || pod.all_containers().any(|container| {
                let used = usage.and_then(|it| it.usage(&metric.name, Some(&container.name)));
                used.is_some_and(|used| is_held_back(container, &metric.name, used))
            })
    })
}

/// Changes an existing request of a container.
pub(super) fn set_request(requests: &mut Requests, resource: &str, request: &Amount) {
    let mut requests = requests.0.iter_mut();
    if let Some((_, amount)) = requests.find(|(name, _)| name == resource) {
        amount.clone_from(request);
    }
}

/// Returns the pass on a changed snapshot in which the containers of the counted pods use this share of their
/// limits; `None` if one has no limit.
pub(super) fn at_limits(
    case: &Case<'_>,
    step: &MetricStep,
    share: f64,
    change: impl FnOnce(&mut Snapshot),
) -> Option<Decision> {
    let full = full_usage(case, step, share)?;
    Some(case.decide(|snapshot| {
        for metrics in &mut snapshot.pod_metrics {
            if let Some(full) = full.get(&*metrics.name) {
                metrics.containers.clone_from(full);
            }
        }
        change(snapshot);
    }))
}

/// Whether the limits of the counted pods keep a metric from exceeding its target after a change; `None` if unknown.
fn limits_keep_below(case: &Case<'_>, step: &MetricStep, adjustment: &Adjustment) -> Option<bool> {
    let decision = at_limits(case, step, 1.0, |snapshot| {
        adjustment.apply(snapshot, step.index);
    })?;
    let ratio = decision.metric(step.index)?.proposal()?.ratio;
    Some(ratio <= 1.0 || case.rules.is_within(&step.tolerance, ratio))
}

/// Returns the usage of the counted pods if each uses this share of its limits, by pod. If its limit holds back one
/// container, the others keep their usage: they would have more to do only if that container could do more. `None` if
/// neither a container whose usage counts nor its pod has a limit.
pub(super) fn full_usage<'p>(
    case: &Case<'p>,
    step: &MetricStep,
    share: f64,
) -> Option<HashMap<&'p str, Vec<ContainerUsage>>> {
    let mut full = HashMap::new();
    for (_, pod) in case.counted(step) {
        let mut containers = case.metrics_of(pod)?.containers.clone();
        let of_pod = pod.limits.get(&step.name).map(Amount::milli_value);
        let is_full = |used: &ContainerUsage| {
            let own = pod.container(&used.name).zip(used.get(&step.name));
            own.is_some_and(|(container, usage)| is_held_back(container, &step.name, usage))
        };
        let counted = || containers.iter().filter(|it| step.includes(&it.name));
        let one_is_full = counted().any(is_full);
        let allowed = counted().map(|used| {
            let container = pod.container(&used.name)?;
            let limit = container.limits.get(&step.name).map(Amount::milli_value);
            if one_is_full && !is_full(used) {
                used.get(&step.name)
            } else {
                Some((limit.or(of_pod)? as f64 * share) as i64)
            }
        });
        let allowed: Vec<i64> = allowed.collect::<Option<_>>()?;
        // Together they use no more than the pod may.
        let sum = allowed.iter().sum::<i64>() as f64;
        let part = of_pod.map_or(1.0, |limit| (limit as f64 * share / sum).min(1.0));
        let included = containers.iter_mut().filter(|it| step.includes(&it.name));
        for (used, allowed) in included.zip(allowed) {
            let mut usages = used.usage.iter_mut();
            let (_, usage) = usages.find(|(resource, _)| *resource == step.name)?;
            *usage = (allowed as f64 * part) as i64;
        }
        full.insert(&*pod.name, containers);
    }
    (!full.is_empty()).then_some(full)
}

impl Headroom {
    /// Returns the advice to let pods use more before a metric proposes that many of them, or to do something
    /// `instead`; the sentence `before` comes first.
    pub(super) fn advice(
        &self,
        about: &About<'_>,
        metric: usize,
        before: &str,
        instead: &str,
    ) -> Advice {
        if let Some(why) = &self.set_elsewhere {
            let text = format!("{before}for fewer, {instead}: {why}.");
            return Remedy::DropMetric.says(sentence(&text));
        }
        let resource = about.spec(metric).name();
        let holder = match about.template_holder().group() {
            "" | "apps" => String::new(),
            _ => format!(" in {}", about.template_holder()),
        };
        let found = self.found.as_ref().map(|it| &it.adjustment);
        let flags = found.and_then(|it| it.flags(about, metric));
        let (of, to, hint) = match found {
            // The amount is stated before the hint.
            Some(Adjustment::Request { container, request }) => {
                let hint = flags.as_ref().map(|_| about.try_it("--request"));
                let of = format!(" of {}", requester(container.as_deref()));
                (of, format!(" to {request}"), hint.unwrap_or_default())
            }
            _ => {
                let hint = flags.as_deref().map(|flags| about.try_it(flags));
                (String::new(), String::new(), hint.unwrap_or_default())
            }
        };
        let act = match (about.target_of(metric).average_utilization, self.is_tight) {
            (Some(_), true) => format!("raise {resource} request and limit{of}{holder}{hint}"),
            (Some(_), false) => format!("raise the {resource} request{of}{holder}{to}{hint}"),
            (None, true) => format!("raise the {resource} limit and the target"),
            (None, false) => format!("raise the target{hint}"),
        };
        let now = about.pass.decision.replicas_after();
        let other = self.found.as_ref().map(|it| it.proposal);
        let both = other.zip(now).filter(|(other, now)| other < now);
        let fewer = both.map_or("for fewer".to_owned(), |(other, now)| {
            format!("for {other} instead of {now}")
        });
        let text = sentence(&format!("{before}{fewer}, {act}, or {instead}."));
        let is_target = about.target_of(metric).average_utilization.is_none() && !self.is_tight;
        let mut advice = Remedy::LeaveRoom.says(text);
        advice.then = (!is_target).then_some(IF_TEMPLATE);
        advice.with_all(flags.map(|flags| about.predict(&flags)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::build;
    use crate::findings::testing::{cpu, input, state, with_pod};

    /// Pods of another revision may lack a container: they leave it no room, however little that is.
    #[test]
    fn a_container_has_room_only_in_pods_that_have_it() {
        let pod = |container: &str, request: &str, limit: Value| {
            let containers = [build::requesting(container, request)];
            json!({"spec": {"containers": containers, "resources": {"limits": {"cpu": limit}}}})
        };
        let none = Value::Null;
        for (one, other, room) in [
            (none.clone(), none.clone(), None),
            (none.clone(), json!("500m"), None),
            (json!("900m"), none, Some(900)),
            (json!("900m"), json!("500m"), Some(900)),
        ] {
            let own = pod("app", "100m", one);
            let items = with_pod(&state(&[cpu()], &["90m", "90m"]), "web-0", &own);
            let both = with_pod(&items, "web-1", &pod("helper", "400m", other));
            let snapshot = input(&both).unwrap().snapshot;
            let pods = || snapshot.pods.iter().map(|pod| &**pod);
            assert_eq!(least_room(pods(), None, "app", "cpu"), room);
            assert_eq!(least_room(pods(), None, "gone", "cpu"), None);
        }
    }
}
