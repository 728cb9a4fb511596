//! The finding `unreachable-target`.

use super::{Revisions, milli, total};
use crate::findings::advice::IF_TEMPLATE;
use crate::findings::path;
use crate::findings::prelude::*;
use crate::findings::targets::{at_limits, full_usage, is_held_back, retarget};
use crate::snapshot::hpa::{MetricTarget, MetricValueStatus};
use crate::snapshot::pod::Container;
use crate::words::value;

/// Pods at their limits do not take a metric above its target. If no pod can, the metric never proposes more replicas.
/// If one container of a pod is at its limit, the other containers count with their current usage. Or at most half of
/// the counted pods are at 90% or more of a cpu limit, and the others use no more than half of the target: the
/// controller looks only at the average.
///
/// Lower the target, or raise the limits. If only a few pods are busy, find out why the work goes to them: sticky
/// sessions, connections that stay open, or one consumer or leader. More replicas help only if it spreads.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreachableTarget {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The pods at their limits: all or a few.
    pub by: AtLimits,
}

impl Kind for UnreachableTarget {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        // Pods that are starting are busy for another reason.
        let may_be_few = !case
            .found()
            .any(|it| matches!(it.facts, Facts::StartingPods(_)));
        // Where nothing can be added, such pods matter only if replicas go and can come back.
        let goes = case.forgotten().replicas_after() < case.decision.replicas_before();
        let never_adds = case.snapshot.hpa.spec.is_disabled(Direction::Up);
        let matters = !never_adds && (goes || case.may_scale(Direction::Up));
        case.metrics()
            .filter(|step| step.is_resource() && matters)
            .filter_map(|step| {
                let few = || uneven(case, step).filter(|_| may_be_few);
                unreachable_metric(case, step).or_else(few)
            })
            .collect()
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        // A target in another unit is out of reach for that reason, and its remedy comes first.
        let is_suspect =
            |it: &Finding| matches!(&it.facts, Facts::SuspectUnit(it) if it.metric == self.metric);
        about.first(is_suspect)
    }

    fn summary(&self, about: &About<'_>) -> String {
        let label = about.label(self.metric);
        match &self.by {
            AtLimits::All { full, border, .. } => {
                let spec = about.spec(self.metric);
                let border = match about.target_of(self.metric).average_value {
                    Some(_) => milli(*border, spec.name()),
                    None => format!("{border}%"),
                };
                let full = value(Some(spec), full);
                format!(
                    "the limits let {label} reach {full}, but replicas are added only above {border}"
                )
            }
            AtLimits::Few {
                busy,
                limit,
                others,
                mean,
                ..
            } => {
                let is = one_or_many(busy.len(), "is at its", "are at their");
                let others = match others {
                    1 => "the other pod".to_owned(),
                    others => format!("the other {others} pods"),
                };
                format!(
                    "{} {is} cpu limit of {}, but with {others} at {}, {label} is not above its target",
                    first_of(busy),
                    milli(*limit, "cpu"),
                    milli(*mean, "cpu")
                )
            }
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        match &self.by {
            AtLimits::All {
                tolerance,
                reachable,
                ..
            } => {
                let target = about.target_of(self.metric);
                let mut evidence = vec![format!(
                    "The tolerance above the target of {} is {}.",
                    path::target(target),
                    percent(*tolerance)
                )];
                let lower = reachable.map(|lower| format!("With a target of {lower}%"));
                evidence.extend(lower.and_then(|lower| about.result(&lower)));
                evidence
            }
            AtLimits::Few {
                busy,
                container,
                usage,
                ..
            } => vec![
                format!(
                    "In {}, {container} uses {} of its limit.",
                    busy.first().map_or("", |name| name),
                    milli(*usage, "cpu")
                ),
                "The controller looks at the average only, so it adds no replicas.".to_owned(),
            ],
        }
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let mut advice = match self.by {
            AtLimits::All { .. } if self.is_raised(about) => {
                let pods = about.target_pods();
                let so = ", so that its pods get the limits of its template";
                let command = about.rollout_status(&pods);
                return about.after_rollout(&pods, so, None).with_all(command);
            }
            AtLimits::All {
                reachable: Some(lower),
                is_full,
                ..
            } => {
                let target = format!("{lower}%");
                // Below the limits, the current usage says nothing about another target.
                let (hint, command) = if is_full {
                    about.try_target(self.metric, &target)
                } else {
                    Default::default()
                };
                Remedy::LowerTarget
                    .says(format!(
                        "Lower the target to {target} or less{hint}, or raise the limits."
                    ))
                    .with_all(command)
            }
            AtLimits::All { .. } => {
                Remedy::LowerTarget.says("Lower the target, or raise the limits.")
            }
            AtLimits::Few { .. } => {
                let top = about.selector().map(|selector| {
                    about.kubectl_quoted("top", "pods", &format!("-l {selector} --containers"))
                });
                Remedy::SpreadLoad
                    .says(
                        "Spread the work: look for sticky sessions, long connections, one consumer.",
                    )
                    .with_all(top)
            }
        };
        advice.then = matches!(self.by, AtLimits::All { .. }).then_some(IF_TEMPLATE);
        advice
    }

    fn pods(&self) -> Vec<&str> {
        match &self.by {
            AtLimits::All { .. } => Vec::new(),
            AtLimits::Few { busy, .. } => names_of(busy),
        }
    }
}

impl UnreachableTarget {
    /// Whether the limits of the template are enough, but something keeps the pods from getting them.
    fn is_raised(&self, about: &About<'_>) -> bool {
        let case = Case::new(about.pass, &[]);
        let renewed = case.renewed();
        let new = renewed.decision.metric(self.metric);
        Revisions::of(&case).held(&case).is_some()
            && new
                .filter(|it| it.proposal().is_some())
                .is_some_and(|it| unreachable_metric(&Case::new(&renewed, &[]), it).is_none())
    }
}

/// The pods whose limits keep a metric from its target.
#[derive(Debug, Clone, PartialEq)]
pub enum AtLimits {
    /// All of them: no load takes the metric above its target.
    All {
        /// The value that the status would report if each pod used everything that its limits allow.
        full: MetricValueStatus,
        /// The tolerance above the target.
        tolerance: f64,
        /// The highest value that the tolerance allows, in percent or in milli-units like the target.
        border: i64,
        /// The highest target in percent that is exceeded if `is_full`, or would be otherwise, if the target is a
        /// utilization.
        reachable: Option<i32>,
        /// Whether the limits hold the pods back now.
        is_full: bool,
    },
    /// A few: the others use so little that the average is not above the target.
    Few {
        /// The pods at their limits.
        busy: Vec<Box<str>>,
        /// The container that is at its limit in the first of them.
        container: Box<str>,
        /// Its usage, in milli-units.
        usage: i64,
        /// Its limit, in milli-units.
        limit: i64,
        /// The number of the other pods that count.
        others: usize,
        /// Their mean usage, in milli-units.
        mean: i64,
    },
}

fn unreachable_metric(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
    /// Pods that use this share of their limits are held back by them.
    const NEAR: f64 = 0.9;
    /// Measured usage stays a little below a limit.
    const MEASURED: f64 = 0.95;
    let proposal = step.proposal()?;
    let (rules, tolerance) = (case.rules, &step.tolerance);
    let exceeds = |ratio: f64| ratio > 1.0 && !rules.is_within(tolerance, ratio);
    if exceeds(proposal.ratio) || each_can_exceed(case, step)? {
        return None;
    }
    let decision = at_limits(case, step, 1.0, |_| {})?;
    let full = decision.metric(step.index)?.proposal()?;
    if exceeds(full.ratio) {
        return None;
    }
    let replicas = case.decision.replicas_before()?;
    let is_full = proposal.replicas <= replicas && proposal.ratio >= full.ratio * NEAR;
    let percent = step.target.utilization();
    let utilization = |percent: i32| MetricTarget {
        average_utilization: Some(percent),
        ..step.target.clone()
    };
    let reachable = percent.and_then(|percent| {
        highest_below(percent, |lower| {
            let change = retarget(step.index, utilization(lower));
            if is_full {
                case.proposal_of(step.index, change) > Some(replicas)
            } else {
                at_limits(case, step, MEASURED, change)
                    .and_then(|it| Some(exceeds(it.metric(step.index)?.proposal()?.ratio)))
                    .unwrap_or_default()
            }
        })
    });
    let target = match &step.target.average_value {
        Some(average) => average.milli_value(),
        None => percent?.into(),
    };
    // A target or tolerance that is far too high has no border that a value can reach.
    let start = (target as f64 * (1.0 + tolerance.up)) as i64 - 1;
    let border = (start..i64::MAX).find(|value| exceeds((value + 1) as f64 / target as f64))?;
    let by = AtLimits::All {
        full: full.current.clone(),
        tolerance: tolerance.up,
        border,
        reachable,
        is_full,
    };
    let facts = UnreachableTarget {
        metric: step.index,
        by,
    };
    let without = reachable
        .filter(|_| is_full)
        .map(|lower| case.without(retarget(step.index, utilization(lower))));
    Some(Finding::new(Severity::Warning, is_full, facts).without(without))
}

/// Returns a container that its limit holds back, with its usage and its limit.
fn full_container<'a>(
    case: &'a Case<'_>,
    step: &'a MetricStep,
    pod: &'a Pod,
) -> Option<(&'a Container, i64, i64)> {
    let metrics = case.metrics_of(pod)?;
    let mut all = case.counted_containers(pod, step);
    all.find_map(|container| {
        let usage = metrics.usage("cpu", Some(&container.name))?;
        let limit = container.limits.get("cpu")?.milli_value();
        is_held_back(container, "cpu", usage).then_some((container, usage, limit))
    })
}

/// Looks for pods at their limits that the others keep from taking cpu above its target.
fn uneven(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
    /// The other pods use at most this share of the target.
    const IDLE: f64 = 0.5;
    let current = case.decision.replicas_before()?;
    let proposal = step.proposal().filter(|it| it.replicas <= current)?;
    if step.name != "cpu" || proposal.ratio > 1.0 + step.tolerance.up {
        return None;
    }
    let (busy, others): (Vec<_>, Vec<_>) = case
        .counted(step)
        .partition(|(_, pod)| full_container(case, step, pod).is_some());
    let (container, usage, limit) = full_container(case, step, busy.first()?.1)?;
    let used = total(others.iter().map(|(row, _)| row.value))?;
    let wanted = match &step.target.average_value {
        Some(average) => average
            .milli_value()
            .checked_mul(i64::try_from(others.len()).ok()?)?,
        None => {
            let requested = total(others.iter().map(|(row, _)| row.request))?;
            requested.checked_mul(step.target.average_utilization?.into())? / 100
        }
    };
    let is_idle = used as f64 <= wanted as f64 * IDLE;
    if busy.len() > others.len() || !is_idle {
        return None;
    }
    // A canary that is busier than the rest does not show how work is spread.
    let mut revisions = others.iter().map(|(_, pod)| pod.revision());
    let are_alike = revisions.any(|other| busy.iter().any(|(_, pod)| pod.revision() == other));
    if !are_alike {
        return None;
    }
    let by = AtLimits::Few {
        busy: pod_names(busy.iter().map(|(_, pod)| *pod)),
        container: container.name.clone(),
        usage,
        limit,
        others: others.len(),
        mean: used / i64::try_from(others.len()).ok()?,
    };
    let facts = UnreachableTarget {
        metric: step.index,
        by,
    };
    Some(Finding::explaining(Severity::Warning, facts))
}

/// Returns the highest number, from 1 to below another, with a property that all lower numbers have as well.
fn highest_below(end: i32, has: impl Fn(i32) -> bool) -> Option<i32> {
    let (mut with, mut without) = (0, end);
    while without - with > 1 {
        let middle = with + (without - with) / 2;
        if has(middle) {
            with = middle;
        } else {
            without = middle;
        }
    }
    (with > 0).then_some(with)
}

/// Whether the limits of each counted pod allow more than its share of the target, and therefore more for
/// all pods together; `None` if a container whose usage counts has no limit.
fn each_can_exceed(case: &Case<'_>, step: &MetricStep) -> Option<bool> {
    let full = full_usage(case, step, 1.0)?;
    for (row, pod) in case.counted(step) {
        let containers = full.get(&*pod.name)?.iter();
        let counted = containers.filter(|it| step.includes(&it.name));
        let limit = total(counted.map(|it| it.get(&step.name)))?;
        let (value, target) = match (&step.target.average_value, row.request) {
            (Some(average), _) => (limit as f64, average.milli_value() as f64),
            (None, Some(request)) => {
                let share = limit as f64 / request as f64 * 100.0;
                (share, step.target.average_utilization?.into())
            }
            (None, None) => return Some(false),
        };
        // The controller drops fractions.
        if value - 1.0 <= target * (1.0 + step.tolerance.up) {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::requests::testing::{self, cpu_of, of_set};
    use crate::findings::testing::{
        state, table, with, with_containers, with_hpa, with_pod, with_spec,
    };

    #[test]
    fn a_target_that_limits_keep_out_of_reach() {
        let limited = |percent: i32, limit: Option<&str>, usage: &str| {
            let items = state(&[cpu_of(percent)], &[usage, usage]);
            with_containers(&items, &json!([testing::limited(limit)]))
        };
        // At its limit, the container uses 100m, and the proxy 5m of the 120m that both request.
        let proxied = |usage: &str| {
            let limit = json!({"resources": {"limits": {"cpu": "2"}}});
            let proxy = build::with(build::requesting("proxy", "20m"), &limit);
            let usages = json!([{"name": "app", "usage": {"cpu": usage}},
                {"name": "proxy", "usage": {"cpu": "5m"}}]);
            let items = state(&[cpu_of(95)], &[usage, usage]);
            let items = with(&items, "PodMetrics", &json!({ "containers": usages }));
            with_containers(&items, &json!([testing::limited("100m"), proxy]))
        };
        let high = limited(120, Some("100m"), "99m");
        let higher = limited(200, Some("100m"), "99m");
        let set = |limit: &str| {
            let template = json!([testing::limited(limit)]);
            of_set(&high, &template, &json!({"type": "OnDelete"}))
        };
        let most = json!({"maxReplicas": 2});
        let disabled = json!({"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
        let tolerance = json!({"behavior": {"scaleUp": {"tolerance": "1E"}}});
        let average = json!({"spec": {"metrics": [build::resource("cpu", &build::average("70"))]}});
        let in_cores = with_hpa(&limited(70, Some("100m"), "99m"), &average);
        let of_pods = json!({"spec": {"resources": {"limits": {"cpu": "100m"}}}});
        let states = [
            // 99% is 11% above 89%, and 10% above 90%.
            ("above the limits", high.clone()),
            // 95% of what the limits allow is 10.5% above 86%.
            ("within the tolerance", limited(95, Some("100m"), "30m")),
            ("of pods that have to be deleted", set("100m")),
            (
                "of pods that have to be deleted, with a template with higher ones",
                set("400m"),
            ),
            ("below the limits", limited(90, Some("100m"), "99m")),
            ("at the maximum", with_spec(&high, &most)),
            (
                "at the maximum, below which it goes",
                with_spec(&higher, &most),
            ),
            ("with scaling up disabled", with_spec(&higher, &disabled)),
            ("with a percentage as a number of cores", in_cores),
            ("with higher limits", limited(120, Some("200m"), "99m")),
            ("without limits", limited(120, None, "99m")),
            (
                "with a tolerance that no value exceeds",
                with_spec(&high, &tolerance),
            ),
            ("next to a proxy that may use more", proxied("99m")),
            ("next to a proxy, below the limit", proxied("50m")),
            (
                "with a limit of the pod",
                with(&limited(95, None, "99m"), "Pod", &of_pods),
            ),
        ];
        insta::assert_snapshot!(table(Code::UnreachableTarget, states), @r"
        above the limits: warning, explains, without it 3 -> 3
            the limits let cpu reach 100% (100m), but replicas are added only above 132%
            - The tolerance above the target of 120% is 10%.
            - With a target of 89%: 3 replicas.
            > Lower the target to 89% or less (predict --target), or raise the limits.
            $ kubectl hpa predict web -n default --target cpu=89%
        within the tolerance: warning, aside
            the limits let cpu reach 100% (100m), but replicas are added only above 104%
            - The tolerance above the target of 95% is 10%.
            > Lower the target to 86% or less, or raise the limits.
        of pods that have to be deleted: warning, explains, without it 3 -> 3
            the limits let cpu reach 100% (100m), but replicas are added only above 132%
            - The tolerance above the target of 120% is 10%.
            - With a target of 89%: 3 replicas.
            > Lower the target to 89% or less (predict --target), or raise the limits. If the template changes, delete the pods one by one: the update strategy is OnDelete.
            $ kubectl hpa predict web -n default --target cpu=89%
        of pods that have to be deleted, with a template with higher ones: warning, explains, without it 3 -> 3
            the limits let cpu reach 100% (100m), but replicas are added only above 132%
            - The tolerance above the target of 120% is 10%.
            - With a target of 89%: 3 replicas.
            > Delete the pods of the earlier revision: the update strategy is OnDelete.
            $ kubectl get pods -n default -l app=web -L controller-revision-hash
        below the limits: none
        at the maximum: none
        at the maximum, below which it goes: warning, explains, without it 3 -> 2
            the limits let cpu reach 100% (100m), but replicas are added only above 220%
            - The tolerance above the target of 200% is 10%.
            - With a target of 89%: a proposal of 3, and 2 replicas after stabilization and limits.
            > Lower the target to 89% or less (predict --target), or raise the limits.
            $ kubectl hpa predict web -n default --target cpu=89%
        with scaling up disabled: none
        with a percentage as a number of cores: warning, explains, follows suspect-unit
            the limits let cpu reach 100m, but replicas are added only above 77
            - The tolerance above the target of 70 is 10%.
            > Follow the advice of suspect-unit.
        with higher limits: none
        without limits: none
        with a tolerance that no value exceeds: none
        next to a proxy that may use more: warning, explains, without it 3 -> 3
            the limits let cpu reach 87% (105m), but replicas are added only above 104%
            - The tolerance above the target of 95% is 10%.
            - With a target of 78%: 3 replicas.
            > Lower the target to 78% or less (predict --target), or raise the limits.
            $ kubectl hpa predict web -n default --target cpu=78%
        next to a proxy, below the limit: none
        with a limit of the pod: warning, explains, without it 3 -> 3
            the limits let cpu reach 100% (100m), but replicas are added only above 104%
            - The tolerance above the target of 95% is 10%.
            - With a target of 89%: 3 replicas.
            > Lower the target to 89% or less (predict --target), or raise the limits.
            $ kubectl hpa predict web -n default --target cpu=89%
        ");
    }

    /// Pods with a request of 100m, a limit of 150m and a target of 60%: one at its limit and two idle ones average 53%.
    #[test]
    fn a_pod_at_its_limit_among_idle_ones() {
        let of = |usages: &[&str], limit: Option<&str>| {
            let containers = json!([testing::limited(limit)]);
            with_containers(&state(&[cpu_of(60)], usages), &containers)
        };
        // A canary that is busier is no matter of how work is spread.
        let canary = |usages: &[&str]| {
            let revisions = [("web-0", "new"), ("web-1", "old"), ("web-2", "old")];
            let revisions = revisions.into_iter();
            revisions.fold(of(usages, Some("150m")), |items, (name, hash)| {
                let labels = json!({"metadata": {"labels": {"pod-template-hash": hash}}});
                with_pod(&items, name, &labels)
            })
        };
        let states = [
            ("of a canary", canary(&["140m", "10m", "10m"])),
            ("at the limit", of(&["140m", "10m", "10m"], Some("150m"))),
            ("below the limit", of(&["130m", "10m", "10m"], Some("150m"))),
            ("without a limit", of(&["140m", "10m", "10m"], None)),
            (
                "where the others work",
                of(&["140m", "50m", "40m", "10m"], Some("150m")),
            ),
            ("above the target", of(&["150m", "30m"], Some("150m"))),
            ("where most are", of(&["85m", "85m", "5m"], Some("90m"))),
        ];
        insta::assert_snapshot!(table(Code::UnreachableTarget, states), @r"
        of a canary: none
        at the limit: warning, explains
            web-0 is at its cpu limit of 150m, but with the other 2 pods at 10m, cpu is not above its target
            - In web-0, app uses 140m of its limit.
            - The controller looks at the average only, so it adds no replicas.
            > Spread the work: look for sticky sessions, long connections, one consumer.
            $ kubectl top pods -n default -l app=web --containers
            @ pod/web-0
        below the limit: none
        without a limit: none
        where the others work: none
        above the target: none
        where most are: none
        ");
    }
}
