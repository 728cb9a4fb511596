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
    /// By container and resource.
    usage: Vec<(Box<str>, ResourceName, Total)>,
    /// By place of the metric in the spec; `None` if it is not per pod, or not known.
    values: Vec<Option<Total>>,
}

/// A total over all pods, in milli-units.
#[derive(Debug, Clone, Copy)]
enum Total {
    /// The sum of the values that the API reports for the pods, which are already rounded up.
    Observed(i128),
    /// An amount from a trace; each pod's share of it is rounded up as `MilliValue` rounds it.
    Stated(i128),
}

impl Total {
    fn milli(self) -> i128 {
        let (Self::Observed(milli) | Self::Stated(milli)) = self;
        milli
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
        let mut usage: Vec<(Box<str>, ResourceName, Total)> = Vec::new();
        for item in &snapshot.pod_metrics {
            for container in &item.containers {
                for (resource, _) in &container.usage {
                    let known = usage
                        .iter()
                        .any(|(c, r, _)| *c == container.name && r == resource);
                    if !known && wanted.contains(&**resource) {
                        let none = Total::Observed(0);
                        usage.push((container.name.clone(), resource.clone(), none));
                    }
                }
            }
        }
        usage.retain_mut(|(container, resource, total)| {
            let used = snapshot.pod_metrics.iter().filter_map(|item| {
                let own = item.containers.iter().find(|own| own.name == *container)?;
                Some((&*item.name, own.get(resource)?))
            });
            let known = together(used, workload);
            *total = Total::Observed(known.unwrap_or_default());
            known.is_some()
        });
        let values = snapshot.metrics.iter().map(|answer| match answer {
            MetricAnswer::Pods(values) => together(
                values.iter().map(|value| (&*value.pod, value.value)),
                workload,
            )
            .map(Total::Observed),
            _ => None,
        });
        Self {
            values: values.collect(),
            usage,
        }
    }

    /// Sets the total usage of a resource in all pods, or in one container of all pods; the containers keep their
    /// proportions. Returns false if nothing is known of it.
    pub(super) fn set_usage(&mut self, name: &str, container: Option<&str>, total: i128) -> bool {
        let mut own: Vec<&mut Total> = self
            .usage
            .iter_mut()
            .filter(|(c, r, _)| r == name && container.is_none_or(|only| only == &**c))
            .map(|(.., total)| total)
            .collect();
        let before: i128 = own.iter().map(|part| part.milli()).sum();
        let (mut sum, mut given) = (0, 0);
        for part in &mut own {
            sum += part.milli();
            // If nothing is used, the first container represents all.
            let until = if before > 0 {
                part_of(total, sum, before)
            } else {
                total
            };
            **part = Total::Stated(until - given);
            given = until;
        }
        !own.is_empty()
    }

    /// Adds the future total usage of a container that no pod has yet.
    pub(super) fn add(&mut self, container: &str, resource: &ResourceName, total: Option<i128>) {
        let known = self
            .usage
            .iter()
            .any(|(name, own, _)| **name == *container && own == resource);
        if let Some(total) = total.filter(|_| !known) {
            self.usage
                .push((container.into(), resource.clone(), Total::Stated(total)));
        }
    }

    /// Sets the total of a metric over all pods; returns false if the metric is not known to be per pod.
    pub(super) fn set_values(&mut self, place: usize, total: i128) -> bool {
        let value = self.values.get_mut(place).filter(|value| value.is_some());
        value
            .map(|value| *value = Some(Total::Stated(total)))
            .is_some()
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

/// Returns the total over all pods: those that share the load and are not measured get the average of the
/// measured ones. `None` if no pod that shares the load is measured.
pub(super) fn together<'v>(
    values: impl Iterator<Item = (&'v str, i64)>,
    workload: &TargetPods,
) -> Option<i128> {
    let (mut shared, mut measured, mut own) = (0i128, 0i128, 0i128);
    for (pod, value) in values {
        match workload.role(pod) {
            Role::Shares(_) => {
                shared += i128::from(value);
                measured += 1;
            }
            Role::Own => own += i128::from(value),
            Role::None => {}
        }
    }
    let all = shared * workload.sharing() as i128;
    (measured > 0).then(|| own - (-all).div_euclid(measured))
}

/// Spreads a total evenly over the pods that share it; those with their own usage keep it. Only shares of an
/// observed total, whose values are whole already, add up to it.
fn spread(total: Total, values: &mut [(Role, &mut i64)], sharing: usize) {
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
                Total::Observed(_) => until(*place + 1) - until(*place),
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
