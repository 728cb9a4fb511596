//! The load that the pods share: their total usage, resource by resource and metric by metric. As pods join,
//! each has less of it. Nothing upstream corresponds to it.

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
}

/// A total over all pods, in milli-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Total {
    /// Only pods are measured that keep their usage.
    Unknown,
    /// The sum of the values that the API reports for the pods, which are already rounded up.
    Observed(i128),
    /// An amount from a trace; each pod's share of it is rounded up as `MilliValue` rounds it.
    Stated(i128),
}

impl Total {
    /// The amount in milli-units; 0 if it is unknown.
    pub(super) fn milli(self) -> i128 {
        match self {
            Self::Unknown => 0,
            Self::Observed(milli) | Self::Stated(milli) => milli,
        }
    }

    /// Returns another amount of the same kind.
    pub(super) fn with(self, milli: i128) -> Self {
        match self {
            Self::Unknown | Self::Observed(_) => Self::Observed(milli),
            Self::Stated(_) => Self::Stated(milli),
        }
    }
}

/// The measurements of something in the pods.
struct Measured {
    /// The sum over those pods that keep their usage.
    own: i128,
    /// The sum over those that share the load, and their number.
    shared: i128,
    pods: i128,
    /// Whether a pod that is there has it.
    is_there: bool,
}

impl Measured {
    fn of<'v>(values: impl Iterator<Item = (&'v str, i64)>, workload: &TargetPods) -> Self {
        let mut measured = Self {
            own: 0,
            shared: 0,
            pods: 0,
            is_there: false,
        };
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

    /// Returns the total over all pods: those that share the load and are not measured get the average of the
    /// measured ones.
    fn total(&self, workload: &TargetPods) -> Option<Total> {
        if self.pods == 0 {
            return self.is_there.then_some(Total::Unknown);
        }
        let all = self.shared * workload.sharing() as i128;
        Some(Total::Observed(self.own - (-all).div_euclid(self.pods)))
    }
}

/// The pods that have a container, of those that are measured.
struct Having {
    /// The sum over the pods that keep their usage.
    own: i128,
    /// The number of pods that share the load and have it, and of all that share the load.
    pods: i128,
    of: i128,
}

impl Having {
    /// Returns what the pods use of a total that all of them would use if they had the container.
    fn used(&self, total: Total) -> i128 {
        if self.pods == 0 {
            return total.milli();
        }
        let rest = total.milli() - self.own;
        self.own + rest * self.pods / self.of
    }

    /// Returns the reverse.
    fn total(&self, used: i128) -> i128 {
        let rest = used - self.own;
        if self.pods == 0 || self.pods == self.of || rest < 0 {
            return used;
        }
        self.own - (-rest * self.of).div_euclid(self.pods)
    }
}

impl TotalUsage {
    /// The load there is.
    pub(super) fn of(snapshot: &Snapshot, workload: &TargetPods) -> Self {
        let wanted: BTreeSet<&str> = snapshot
            .hpa
            .spec
            .metrics
            .iter()
            .filter(|spec| spec.is_resource())
            .map(MetricSpec::name)
            .collect();
        let mut load = Self::default();
        for item in &snapshot.pod_metrics {
            for container in &item.containers {
                for (resource, _) in &container.usage {
                    if wanted.contains(&**resource) {
                        load.add(&container.name, resource, Some(Total::Unknown));
                    }
                }
            }
        }
        load.usage.retain_mut(|(container, resource, total)| {
            let known = Measured::of(used(snapshot, container, resource), workload).total(workload);
            *total = known.unwrap_or(Total::Unknown);
            known.is_some()
        });
        let values = snapshot.metrics.iter().map(|answer| match answer {
            MetricAnswer::Pods(values) => {
                let values = values.iter().map(|value| (&*value.pod, value.value));
                Measured::of(values, workload).total(workload)
            }
            _ => None,
        });
        load.values = values.collect();
        load
    }

    /// Adds what has not been measured so far.
    pub(super) fn begin(&mut self, measured: Self) {
        for (container, resource, total) in measured.usage {
            self.add(&container, &resource, Some(total));
        }
        for (own, measured) in self.values.iter_mut().zip(measured.values) {
            *own = own.or(measured);
        }
    }

    /// Returns the total usage of a resource in all pods, or in one container of all pods.
    pub(super) fn usage(
        &self,
        name: &str,
        container: Option<&str>,
        snapshot: &Snapshot,
        workload: &TargetPods,
    ) -> Option<Total> {
        let mut sum: Option<Total> = None;
        for (own, resource, total) in &self.usage {
            if resource != name || container.is_some_and(|only| only != &**own) {
                continue;
            }
            let used = having(snapshot, own, resource, workload).used(*total);
            sum = match (sum, total) {
                (_, Total::Unknown) => return None,
                (None, total) => Some(total.with(used)),
                (Some(Total::Observed(sum)), total) => Some(total.with(sum + used)),
                (Some(sum), _) => Some(sum.with(sum.milli() + used)),
            };
        }
        sum
    }

    /// Returns the total of a metric over all pods.
    pub(super) fn value(&self, place: usize) -> Option<Total> {
        self.values[place].filter(|total| *total != Total::Unknown)
    }

    /// Sets the total usage of a resource in all pods, or in one container of all pods; the containers keep their
    /// proportions. Returns false if it is not measured.
    pub(super) fn set_usage(
        &mut self,
        name: &str,
        container: Option<&str>,
        total: Total,
        snapshot: &Snapshot,
        workload: &TargetPods,
    ) -> bool {
        let mut own: Vec<(&mut Total, Having)> = self
            .usage
            .iter_mut()
            .filter(|(c, r, _)| r == name && container.is_none_or(|only| only == &**c))
            .map(|(c, r, total)| (total, having(snapshot, c, r, workload)))
            .collect();
        let before: i128 = own.iter().map(|(part, having)| having.used(**part)).sum();
        let (mut sum, mut given) = (0, 0);
        for (part, having) in &mut own {
            sum += having.used(**part);
            // If nothing is used, the first container represents all.
            let until = if before > 0 {
                part_of(total.milli(), sum, before)
            } else {
                total.milli()
            };
            **part = total.with(having.total(until - given));
            given = until;
        }
        !own.is_empty()
    }

    /// Adds the total usage of a container that is not known yet.
    pub(super) fn add(&mut self, container: &str, resource: &ResourceName, total: Option<Total>) {
        let known = self
            .usage
            .iter()
            .any(|(name, own, _)| **name == *container && own == resource);
        if let Some(total) = total.filter(|_| !known) {
            self.usage.push((container.into(), resource.clone(), total));
        }
    }

    /// Sets the total of a metric over all pods; returns false if the metric is not known to be per pod.
    pub(super) fn set_values(&mut self, place: usize, total: Total) -> bool {
        let value = self.values.get_mut(place).filter(|value| value.is_some());
        value.map(|value| *value = Some(total)).is_some()
    }

    /// Gives each pod its share.
    pub(super) fn share_out(&self, snapshot: &mut Snapshot, workload: &TargetPods) {
        for (container, resource, total) in &self.usage {
            let mut places = Vec::with_capacity(snapshot.pod_metrics.len());
            for (item, role) in snapshot
                .pod_metrics
                .iter_mut()
                .zip(workload.measured_roles())
            {
                let own = item
                    .containers
                    .iter_mut()
                    .find(|own| own.name == *container)
                    .and_then(|own| own.usage.iter_mut().find(|(r, _)| r == resource));
                places.extend(own.map(|(_, milli)| (*role, milli)));
            }
            spread(*total, &mut places, workload.sharing());
        }
        for (answer, total) in snapshot.metrics.iter_mut().zip(&self.values) {
            if let (MetricAnswer::Pods(values), Some(total)) = (answer, total) {
                let mut places: Vec<_> = values
                    .iter_mut()
                    .map(|value| (workload.role(&value.pod), &mut value.value))
                    .collect();
                spread(*total, &mut places, workload.sharing());
            }
        }
    }
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
    Measured::of(values, workload)
        .total(workload)
        .filter(|total| *total != Total::Unknown)
}

/// Returns the pods that report the usage of a resource in a container, with it.
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

fn having(
    snapshot: &Snapshot,
    container: &str,
    resource: &ResourceName,
    workload: &TargetPods,
) -> Having {
    let Measured { own, pods, .. } = Measured::of(used(snapshot, container, resource), workload);
    let measured = snapshot.pod_metrics.iter();
    let of = measured
        .filter(|item| matches!(workload.role(&item.name), Role::Shares(_)))
        .count() as i128;
    Having { own, pods, of }
}

/// Spreads a total evenly over the pods that share it; those with their own usage keep it. Only shares of an
/// observed total, whose values are whole already, add up to it.
fn spread(total: Total, values: &mut [(Role, &mut i64)], sharing: usize) {
    if total == Total::Unknown {
        return;
    }
    let own: i128 = values
        .iter()
        .filter(|(role, _)| *role == Role::Own)
        .map(|(_, value)| i128::from(**value))
        .sum();
    let (rest, count) = ((total.milli() - own).max(0), sharing.max(1) as i128);
    for (role, value) in values {
        if let Role::Shares(place) = role {
            let until = |place: usize| rest * place as i128 / count;
            let share = match total {
                Total::Unknown | Total::Observed(_) => until(*place + 1) - until(*place),
                Total::Stated(_) => -(-rest).div_euclid(count),
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
