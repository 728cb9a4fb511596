//! The load that the pods share: their total usage, resource by resource and metric by metric. As pods join, each gets
//! a smaller share. Nothing upstream corresponds to it.

use std::collections::BTreeSet;

use num_bigint::BigInt;

use super::pods::{Role, TargetPods};
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::pod::ResourceName;
use crate::snapshot::{MetricAnswer, Snapshot};

/// The total usage of all pods.
#[derive(Debug, Clone, Default)]
pub(super) struct TotalUsage {
    /// By container and resource: the total if all pods that share the load had the container.
    usage: Vec<(Box<str>, ResourceName, Total)>,
    /// By place of the metric in the spec; `None` if it is not per pod, or not measured.
    values: Vec<Option<Total>>,
    /// What a trace states about all pods or about one container, whichever pods have the containers later.
    stated: Vec<StatedUsage>,
}

/// The total usage of a resource.
#[derive(Debug, Clone)]
struct StatedUsage {
    name: Box<str>,
    container: Option<Box<str>>,
    total: Total,
}

impl StatedUsage {
    fn is_of(&self, container: &str, resource: &str) -> bool {
        *self.name == *resource && self.container.as_deref().is_none_or(|own| own == container)
    }
}

/// A total over all pods, in milli-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Total {
    /// Unknown: the only measured pods are those that keep their usage.
    Unknown,
    /// The sum of the values that the API reports for the pods, which are already rounded up.
    Observed(i128),
    /// An amount from a trace; each pod's share of it is rounded up as `MilliValue` rounds it.
    Stated(i128),
    /// A percentage from a trace: the usage of the pods that share the load, whatever the others use; rounded up.
    Percentage(i128),
    /// A change in a trace: as for a percentage, but of the observed values, which are already rounded up.
    Changed(i128),
}

impl Total {
    fn is_known(self) -> bool {
        self != Self::Unknown
    }

    /// Whether the total excludes the pods that keep their usage.
    fn is_apart(self) -> bool {
        matches!(self, Self::Percentage(_) | Self::Changed(_))
    }

    /// The amount in milli-units; 0 if unknown.
    pub(super) fn milli(self) -> i128 {
        match self {
            Self::Unknown => 0,
            Self::Observed(milli)
            | Self::Stated(milli)
            | Self::Percentage(milli)
            | Self::Changed(milli) => milli,
        }
    }

    /// Returns what the pods that share the load use, if the others use this much.
    fn shared(self, own: i128) -> i128 {
        if self.is_apart() {
            self.milli()
        } else {
            (self.milli() - own).max(0)
        }
    }
}

/// The measurements of something in the pods.
#[derive(Default)]
struct Measurements {
    /// The sum over the pods that keep their usage.
    own: i128,
    /// The sum over the pods that share the load, and their number.
    shared: i128,
    pods: i128,
    /// Whether an existing pod has a measurement.
    is_there: bool,
}

impl Measurements {
    fn of<'v>(values: impl Iterator<Item = (&'v str, i64)>, workload: &TargetPods) -> Self {
        let mut measured = Self::default();
        for (pod, value) in values {
            let role = workload.role(pod);
            measured.is_there |= role != Role::None;
            match role {
                Role::Shares(_) => {
                    measured.shared += i128::from(value);
                    measured.pods += 1;
                }
                Role::Own => measured.own += i128::from(value),
                Role::None => {}
            }
        }
        measured
    }

    /// Returns the total over all pods: unmeasured pods that share the load get the average of the measured ones.
    fn total(&self, workload: &TargetPods) -> Option<Total> {
        if self.pods == 0 {
            return self.is_there.then_some(Total::Unknown);
        }
        let all = self.shared * workload.sharing as i128;
        Some(Total::Observed(self.own - (-all).div_euclid(self.pods)))
    }
}

/// The measured pods that have a container.
struct Having {
    /// The sum over the pods that keep their usage.
    own: i128,
    /// The number of pods that share the load and have the container, at least one, and the number of all that share
    /// the load.
    pods: i128,
    of: i128,
}

impl Having {
    /// Returns the usage of the pods that share the load and have the container, given the total if all of them had it.
    fn shared(&self, total: Total) -> i128 {
        total.shared(self.own) * self.pods / self.of
    }

    /// Returns the total if all pods that share the load had the container, given the usage of those that have it.
    fn total(&self, is_apart: bool, shared: i128) -> Total {
        let all = -(-shared * self.of).div_euclid(self.pods);
        if is_apart {
            Total::Percentage(all)
        } else {
            Total::Stated(self.own + all)
        }
    }
}

impl TotalUsage {
    /// Returns the load in a snapshot.
    pub(super) fn of(snapshot: &Snapshot, workload: &TargetPods) -> Self {
        let metrics = snapshot.hpa.spec.metrics.iter();
        let resources = metrics.filter(|spec| spec.is_resource());
        let wanted: BTreeSet<&str> = resources.map(MetricSpec::name).collect();
        let mut load = Self::default();
        for item in &snapshot.pod_metrics {
            for container in &item.containers {
                for (resource, _) in &container.usage {
                    if wanted.contains(&**resource) {
                        load.add(&container.name, resource, Total::Unknown);
                    }
                }
            }
        }
        load.usage.retain_mut(|(container, resource, total)| {
            let known =
                Measurements::of(used(snapshot, container, resource), workload).total(workload);
            *total = known.unwrap_or(Total::Unknown);
            known.is_some()
        });
        let values = snapshot.metrics.iter().map(|answer| match answer {
            MetricAnswer::Pods(values) => {
                let values = values.iter().map(|value| (&*value.pod, value.value));
                Measurements::of(values, workload).total(workload)
            }
            _ => None,
        });
        load.values = values.collect();
        load
    }

    /// Adds what has not been measured so far.
    pub(super) fn begin(&mut self, measured: Self) {
        for (container, resource, total) in measured.usage {
            self.add(&container, &resource, total);
        }
        for (own, measured) in self.values.iter_mut().zip(measured.values) {
            *own = own.or(measured);
        }
    }

    /// Returns the usage of a resource, in all containers or in one, by the pods that share the load: as stated, or as
    /// if all of them had the containers.
    pub(super) fn shared_usage(
        &self,
        spec: &MetricSpec,
        snapshot: &Snapshot,
        workload: &TargetPods,
    ) -> Option<i128> {
        let (name, container) = (spec.name(), spec.container());
        let parts = self.usage.iter().filter(|(own, resource, total)| {
            resource == name && container.is_none_or(|only| only == &**own) && total.is_known()
        });
        let owns = parts.map(|(own, resource, total)| {
            let having = having(snapshot, own, resource, workload);
            (having.map_or(0, |having| having.own), *total)
        });
        let owns: Vec<(i128, Total)> = owns.collect();
        let mut stated = self.stated.iter();
        let same = stated.find(|own| *own.name == *name && own.container.as_deref() == container);
        if let Some(stated) = same {
            return Some(stated.total.shared(owns.iter().map(|(own, _)| own).sum()));
        }
        let shared = owns.iter().map(|(own, total)| total.shared(*own));
        shared.reduce(|sum, part| sum + part)
    }

    /// Returns the part of a metric that belongs to the pods that share the load.
    pub(super) fn shared_value(
        &self,
        place: usize,
        snapshot: &Snapshot,
        workload: &TargetPods,
    ) -> Option<i128> {
        let total = self.values[place].filter(|total| total.is_known())?;
        let MetricAnswer::Pods(values) = &snapshot.metrics[place] else {
            return Some(total.milli());
        };
        let values = values.iter().map(|value| (&*value.pod, value.value));
        Some(total.shared(Measurements::of(values, workload).own))
    }

    /// Sets the total usage of a resource in all pods, or in one container of all pods; the containers keep their
    /// proportions. Returns false if the usage is not measured.
    pub(super) fn set_usage(
        &mut self,
        spec: &MetricSpec,
        total: Total,
        snapshot: &Snapshot,
        workload: &TargetPods,
    ) -> bool {
        let new = StatedUsage {
            name: spec.name().into(),
            container: spec.container().map(Into::into),
            total,
        };
        let all = self.usage.iter_mut();
        let parts: Vec<_> = all
            .filter(|(container, resource, _)| new.is_of(container, resource))
            .collect();
        if parts.is_empty() {
            return false;
        }
        // A total of whole pods replaces those of their containers.
        let is_replaced = |earlier: &StatedUsage| {
            earlier.name == new.name
                && (new.container.is_none() || earlier.container == new.container)
        };
        self.stated.retain(|earlier| !is_replaced(earlier));
        match total {
            Total::Stated(_) | Total::Percentage(_) => self.stated.push(new),
            Total::Unknown | Total::Observed(_) | Total::Changed(_) => {
                let before = parts.iter().map(|(container, resource, part)| {
                    let having = having(snapshot, container, resource, workload);
                    part.shared(having.map_or(0, |having| having.own))
                });
                let before: Vec<i128> = before.collect();
                let shares = parts_of(total.milli(), &before);
                for ((.., part), share) in parts.into_iter().zip(shares) {
                    *part = Total::Changed(share);
                }
            }
        }
        true
    }

    /// Divides the stated totals among the containers that pods have now.
    fn divide(&mut self, snapshot: &Snapshot, workload: &TargetPods) {
        for stated in &self.stated {
            let of_it = |(container, resource, _): &&mut (Box<str>, ResourceName, Total)| {
                stated.is_of(container, resource)
            };
            let own: Vec<(&mut Total, Having)> = self
                .usage
                .iter_mut()
                .filter(of_it)
                .filter_map(|(container, resource, total)| {
                    Some((total, having(snapshot, container, resource, workload)?))
                })
                .collect();
            let shared = stated
                .total
                .shared(own.iter().map(|(_, having)| having.own).sum());
            let before: Vec<i128> = own
                .iter()
                .map(|(total, having)| having.shared(**total))
                .collect();
            let shares = parts_of(shared, &before);
            for ((total, having), share) in own.into_iter().zip(shares) {
                *total = having.total(stated.total.is_apart(), share);
            }
        }
    }

    /// Adds the total usage of a container, if it is not known yet.
    pub(super) fn add(&mut self, container: &str, resource: &ResourceName, total: Total) {
        let mut known = self.usage.iter();
        if !known.any(|(name, own, _)| **name == *container && own == resource) {
            self.usage.push((container.into(), resource.clone(), total));
        }
    }

    /// Sets the total of a metric over all pods; returns false if the metric is not known to be per pod.
    pub(super) fn set_values(&mut self, place: usize, total: Total) -> bool {
        let value = self.values.get_mut(place).filter(|value| value.is_some());
        value.map(|value| *value = Some(total)).is_some()
    }

    /// Gives each pod its share.
    pub(super) fn share_out(&mut self, snapshot: &mut Snapshot, workload: &TargetPods) {
        self.divide(snapshot, workload);
        for (container, resource, total) in &self.usage {
            let mut places = Vec::with_capacity(snapshot.pod_metrics.len());
            for (item, role) in snapshot
                .pod_metrics
                .iter_mut()
                .zip(&workload.measured_roles)
            {
                let own = item
                    .containers
                    .iter_mut()
                    .find(|own| own.name == *container)
                    .and_then(|own| own.usage.iter_mut().find(|(r, _)| r == resource));
                places.extend(own.map(|(_, milli)| (*role, milli)));
            }
            spread(*total, &mut places, workload.sharing);
        }
        for (answer, total) in snapshot.metrics.iter_mut().zip(&self.values) {
            if let (MetricAnswer::Pods(values), Some(total)) = (answer, total) {
                let mut places: Vec<_> = values
                    .iter_mut()
                    .map(|value| (workload.role(&value.pod), &mut value.value))
                    .collect();
                spread(*total, &mut places, workload.sharing);
            }
        }
    }
}

/// Divides a total in the proportions of these parts. If they are all 0, the first part gets the total.
fn parts_of(total: i128, parts: &[i128]) -> impl Iterator<Item = i128> {
    let whole: i128 = parts.iter().sum();
    let mut sum = 0;
    let mut given = 0;
    parts.iter().map(move |part| {
        sum += part;
        let until = if whole > 0 {
            part_of(total, sum, whole)
        } else {
            total
        };
        let share = until - given;
        given = until;
        share
    })
}

/// Returns `total * part / whole` without an overflow, for a part that is at most the whole.
fn part_of(total: i128, part: i128, whole: i128) -> i128 {
    let exact = || i128::try_from(BigInt::from(total) * part / whole).unwrap_or(total);
    total
        .checked_mul(part)
        .map_or_else(exact, |product| product / whole)
}

/// Returns the total over all pods; `None` if no pod that shares the load is measured.
pub(super) fn together<'v>(
    values: impl Iterator<Item = (&'v str, i64)>,
    workload: &TargetPods,
) -> Option<Total> {
    let total = Measurements::of(values, workload).total(workload);
    total.filter(|total| total.is_known())
}

/// Returns the pods that report the usage of a resource in a container, with the usage.
fn used<'s>(
    snapshot: &'s Snapshot,
    container: &'s str,
    resource: &'s ResourceName,
) -> impl Iterator<Item = (&'s str, i64)> {
    snapshot.pod_metrics.iter().filter_map(|item| {
        let own = item.containers.iter().find(|own| *own.name == *container)?;
        Some((&*item.name, own.get(resource)?))
    })
}

/// Returns the pods that have a container; `None` if no pod that shares the load has it.
fn having(
    snapshot: &Snapshot,
    container: &str,
    resource: &ResourceName,
    workload: &TargetPods,
) -> Option<Having> {
    let Measurements { own, pods, .. } =
        Measurements::of(used(snapshot, container, resource), workload);
    let sharing = |role: &&Role| matches!(role, Role::Shares(_));
    let of = workload.measured_roles.iter().filter(sharing).count() as i128;
    (pods > 0).then_some(Having { own, pods, of })
}

/// Spreads a total evenly over the pods that share it; pods with their own usage keep it. Only the shares of an
/// observed total, whose values are already whole, add up to the total.
fn spread(total: Total, values: &mut [(Role, &mut i64)], sharing: usize) {
    if !total.is_known() {
        return;
    }
    let own: i128 = values
        .iter()
        .filter(|(role, _)| *role == Role::Own)
        .map(|(_, value)| i128::from(**value))
        .sum();
    let (rest, count) = (total.shared(own), sharing.max(1) as i128);
    for (role, value) in values {
        if let Role::Shares(place) = role {
            let until = |place: usize| rest * place as i128 / count;
            let share = match total {
                Total::Unknown | Total::Observed(_) | Total::Changed(_) => {
                    until(*place + 1) - until(*place)
                }
                Total::Stated(_) | Total::Percentage(_) => -(-rest).div_euclid(count),
            };
            **value = share.try_into().unwrap_or(i64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, Total, part_of, spread};

    #[test]
    fn a_part_is_exact_whatever_the_product() {
        let max = i128::MAX;
        for (total, part, whole, want) in [
            (10, 2, 3, 6),
            (max, max - 1, max, max - 1),
            (max, max, max, max),
            (max, 1, 2, max / 2),
        ] {
            assert_eq!(part_of(total, part, whole), want, "{total} {part} {whole}");
        }
    }

    #[test]
    fn the_share_of_an_amount_is_rounded_up_and_that_of_rounded_values_is_not() {
        for (total, want) in [
            (Total::Stated(21), [6, 6, 6, 6]),
            (Total::Stated(20), [5, 5, 5, 5]),
            (Total::Observed(21), [5, 5, 5, 6]),
        ] {
            let mut values = [0; 4];
            let mut places: Vec<_> = values
                .iter_mut()
                .enumerate()
                .map(|(at, own)| (Role::Shares(at), own))
                .collect();
            spread(total, &mut places, 4);
            assert_eq!(values, want, "{total:?}");
        }
    }
}
