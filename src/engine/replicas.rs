//! From a metric's values to replicas (`ReplicaCalculator` and `metrics/utilization.go` upstream):
//! the ratio of usage to target, and the number of pods that would bring it to 1. Floats are
//! evaluated in the controller's order, integers wrap and truncate as they do there.

use super::arith::{to_i32_capped, to_i64};
use super::decision::{Because, Fill, Filled, Group, PodCounts, PodRow, Proposal};
use super::pods::{Grouped, Selected};
use crate::apimachinery::quantity::{Format, Quantity};
use crate::rules::Rules;
use crate::snapshot::controller::Tolerances;
use crate::snapshot::hpa::MetricValueStatus;

/// The rules by which a ratio becomes replicas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'r> {
    pub(super) rules: &'r Rules,
    pub(super) tolerances: &'r Tolerances,
}

impl Terms<'_> {
    fn is_within(self, ratio: f64) -> bool {
        self.rules.is_within(self.tolerances, ratio)
    }

    /// The same for a target per pod that uses `status.replicas`. Before the tolerance was an
    /// interval, only a ratio outside it changed the count there, and NaN is not outside.
    fn is_within_total(self, ratio: f64) -> bool {
        self.is_within(ratio) || (!self.rules.tolerance_interval && ratio.is_nan())
    }

    /// Whether missing pods count as zero usage for a ratio that asks for no change. NaN is not below
    /// 1 either.
    fn fills_zero(self, target: PerPodTarget, ratio: f64) -> bool {
        let plain = matches!(target, PerPodTarget::Average(_));
        plain && self.rules.balanced_fills_zero && (ratio == 1.0 || ratio.is_nan())
    }
}

/// The result of a calculator.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calculated {
    pub(super) replicas: i32,
    pub(super) ratio: f64,
    pub(super) because: Because,
    pub(super) filled: Option<Filled>,
    pub(super) counted: Option<PodCounts>,
    /// The total value, in milli-units, if only its average is reported.
    pub(super) total: Option<i64>,
}

impl Calculated {
    /// Returns the proposal under the controller's name of the metric, with the value in its status.
    pub(super) fn named(self, metric_name: String, current: MetricValueStatus) -> Proposal {
        let Self {
            replicas,
            ratio,
            because,
            filled,
            counted,
            total,
        } = self;
        Proposal {
            replicas,
            metric_name,
            current,
            total: total.map(|milli| Quantity::from_milli(milli, Format::DecimalSI)),
            ratio,
            counted,
            filled,
            because,
        }
    }
}

/// The mean usage as reported, before anything is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Share of the requests in percent, for utilization.
    pub(super) percent: Option<i32>,
    /// In milli-units.
    pub(super) value: i64,
}

/// The target for the values of the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PerPodTarget {
    /// A share of the requests, in percent.
    Utilization(i32),
    /// An average, in milli-units.
    Average(i64),
}

/// Computes replicas from per-pod values (`GetResourceReplicas` and `calcPlainMetricReplicas`). `current`
/// is the scale's `spec.replicas`. Requests must have been filled in for a utilization.
pub(super) fn from_pods(
    grouped: &mut Grouped<'_>,
    target: PerPodTarget,
    terms: Terms<'_>,
    current: i32,
) -> Result<(Calculated, Usage), String> {
    for row in &mut grouped.rows {
        row.counted = row.value.filter(|_| row.group == Group::Ready);
    }
    let counts = grouped.counts;
    let (ratio, usage) = usage_ratio(grouped, target, terms.rules)?;
    let unready_as_zero = counts.unready > 0 && ratio > 1.0;
    let (replicas, because, filled) = if unready_as_zero || counts.missing > 0 {
        let filled = fill(grouped, target, terms, ratio, unready_as_zero)?;
        let (replicas, because) = from_filled(&filled, ratio, terms, current);
        (replicas, because, Some(filled))
    } else if terms.is_within(ratio) {
        (current, Because::WithinTolerance, None)
    } else {
        // Only ready pods are multiplied: the answer may go against the direction of the ratio.
        let multiplied = terms.rules.replicas((ratio * counts.ready as f64).ceil());
        (multiplied, Because::RatioTimesReady, None)
    };
    let calculated = Calculated {
        replicas,
        ratio,
        because,
        filled,
        counted: Some(counts),
        total: None,
    };
    Ok((calculated, usage))
}

/// Assumes values for missing and unready pods, against the direction of the ratio, and computes it again.
fn fill(
    grouped: &mut Grouped<'_>,
    target: PerPodTarget,
    terms: Terms<'_>,
    ratio: f64,
    unready_as_zero: bool,
) -> Result<Filled, String> {
    let (missing, missing_percent) = match target {
        _ if grouped.counts.missing == 0 => (Fill::None, None),
        PerPodTarget::Utilization(percent) if ratio < 1.0 => {
            let least = if terms.rules.missing_at_target {
                percent
            } else {
                100
            };
            (Fill::Target, Some(i64::from(least.max(100))))
        }
        PerPodTarget::Average(_) if ratio < 1.0 => (Fill::Target, None),
        _ if ratio > 1.0 || terms.fills_zero(target, ratio) => (Fill::Zero, None),
        _ => (Fill::None, None),
    };
    for row in &mut grouped.rows {
        row.counted = match (row.group, missing, target, missing_percent) {
            (Group::Unready, ..) if unready_as_zero => Some(0),
            (Group::Missing, Fill::Zero, ..) => Some(0),
            (Group::Missing, Fill::Target, PerPodTarget::Average(average), _) => Some(average),
            (Group::Missing, Fill::Target, _, Some(percent)) => {
                Some(row.request.unwrap_or_default().wrapping_mul(percent) / 100)
            }
            _ => row.counted,
        };
    }
    let (ratio, _) = usage_ratio(grouped, target, terms.rules)?;
    let known = grouped.rows.iter().filter(|row| row.counted.is_some());
    Ok(Filled {
        ratio,
        size: grouped.strangers.len() + known.count(),
        missing_percent,
        missing,
        unready_as_zero,
    })
}

/// Computes replicas from the second ratio, unless it reverses the first ratio or the direction of the count.
fn from_filled(filled: &Filled, first: f64, terms: Terms<'_>, current: i32) -> (i32, Because) {
    let ratio = filled.ratio;
    let multiplied = terms.rules.replicas((ratio * filled.size as f64).ceil());
    if terms.is_within(ratio) {
        (current, Because::FilledWithinTolerance)
    } else if (first < 1.0 && ratio > 1.0) || (first > 1.0 && ratio < 1.0) {
        (current, Because::DirectionFlips)
    } else if (ratio < 1.0 && multiplied > current) || (ratio > 1.0 && multiplied < current) {
        (current, Because::CountFlips)
    } else {
        (multiplied, Because::RatioTimesFilled)
    }
}

fn usage_ratio(
    grouped: &Grouped<'_>,
    target: PerPodTarget,
    rules: &Rules,
) -> Result<(f64, Usage), String> {
    match target {
        PerPodTarget::Utilization(target) => utilization_ratio(grouped, target, rules),
        PerPodTarget::Average(target) => Ok(average_ratio(grouped, target, rules)),
    }
}

/// A sum of 64-bit values with their number. 128 bits hold it exactly for more values than a list
/// can have.
#[derive(Default)]
struct Sum {
    exact: i128,
    count: i128,
}

impl Sum {
    fn add(&mut self, value: i64) {
        self.exact += i128::from(value);
        self.count += 1;
    }

    /// Returns the sum as the controller holds it: its low 64 bits, unless the rules make it exact.
    fn held(&self, rules: &Rules) -> i128 {
        if rules.usage_is_exact {
            self.exact
        } else {
            i128::from(self.exact as i64)
        }
    }

    /// Returns the truncated mean, which is between the smallest and the largest value and so fits.
    fn mean(&self, rules: &Rules) -> i64 {
        (self.held(rules) / self.count) as i64
    }
}

/// `GetResourceUtilizationRatio`: from the truncated percentage, not from the exact share. Metrics
/// of pods outside the list have no request and do not count.
fn utilization_ratio(
    grouped: &Grouped<'_>,
    target: i32,
    rules: &Rules,
) -> Result<(f64, Usage), String> {
    let (mut used, mut requested) = (Sum::default(), Sum::default());
    for row in &grouped.rows {
        if let (Some(value), Some(request)) = (row.counted, row.request) {
            used.add(value);
            requested.add(request);
        }
    }
    let share = match requested.held(rules) {
        0 => return Err("no metrics returned matched known pods".to_owned()),
        requested => (used.held(rules), requested),
    };
    let percent = match (rules.usage_is_exact, share) {
        (true, (used, requested)) => {
            (used * 100 / requested).clamp(i32::MIN.into(), i32::MAX.into()) as i32
        }
        // Each operand fits 64 bits here, and the product wraps there.
        (false, (used, requested)) => (used as i64)
            .wrapping_mul(100)
            .wrapping_div(requested as i64) as i32,
    };
    let usage = Usage {
        percent: Some(percent),
        value: used.mean(rules),
    };
    Ok((f64::from(percent) / f64::from(target), usage))
}

/// `GetMetricUsageRatio`: from the truncated mean over every value, of known pods or not.
fn average_ratio(grouped: &Grouped<'_>, target: i64, rules: &Rules) -> (f64, Usage) {
    let mut sum = Sum::default();
    let known = grouped.rows.iter().filter_map(|row| row.counted);
    known
        .chain(grouped.strangers.values().copied())
        .for_each(|value| sum.add(value));
    let mean = sum.mean(rules);
    (
        mean as f64 / target as f64,
        Usage {
            percent: None,
            value: mean,
        },
    )
}

/// Computes replicas from one value for the whole workload (`getUsageRatioReplicaCount`), for `Value`
/// targets of Object and External metrics. The pods are kept for the trace if they decide.
pub(super) fn from_value(
    usage: i64,
    target: i64,
    terms: Terms<'_>,
    current: i32,
    pods: &Selected<'_>,
    seen: &mut Vec<PodRow>,
) -> Result<Calculated, String> {
    let ratio = usage as f64 / target as f64;
    let (replicas, because, counted) = if current == 0 {
        (terms.rules.replicas(ratio.ceil()), Because::FromZero, None)
    } else if terms.is_within(ratio) {
        (current, Because::WithinTolerance, None)
    } else if pods.is_empty() {
        return Err(format!("unable to calculate ready pods: {NO_PODS}"));
    } else {
        let (rows, counts) = pods.by_readiness();
        *seen = rows;
        let wanted = (ratio * counts.ready as f64).ceil();
        let replicas = if terms.rules.value_saturates {
            to_i32_capped(wanted)
        } else {
            terms.rules.replicas(wanted)
        };
        (replicas, Because::RatioTimesReady, Some(counts))
    };
    Ok(Calculated {
        replicas,
        ratio,
        because,
        filled: None,
        counted,
        total: None,
    })
}

/// The error of a calculation that needs pods and has none.
pub(super) const NO_PODS: &str = "no pods returned by selector while calculating replica count";

/// Computes replicas from a target per pod (`AverageValue` of Object and External metrics). Uses
/// `status.replicas`, not pods. `saturate` caps the replicas at the largest count, which the
/// controller does for External metrics only.
pub(super) fn from_total(
    usage: i64,
    target: i64,
    terms: Terms<'_>,
    status_replicas: i32,
    saturate: bool,
) -> Calculated {
    let ratio = usage as f64 / (target as f64 * f64::from(status_replicas));
    let (replicas, because) = if terms.is_within_total(ratio) {
        (status_replicas, Because::WithinTolerance)
    } else {
        let wanted = (usage as f64 / target as f64).ceil();
        let replicas = if saturate {
            to_i32_capped(wanted)
        } else {
            terms.rules.replicas(wanted)
        };
        (replicas, Because::UsageOverTarget)
    };
    Calculated {
        replicas,
        ratio,
        because,
        filled: None,
        counted: None,
        total: Some(usage),
    }
}

/// Returns the reported average of a value for the whole workload, in milli-units. `saturate` is as for
/// [`from_total`].
pub(super) fn average_over(usage: i64, status_replicas: i32, rules: &Rules, saturate: bool) -> i64 {
    if (saturate || rules.averages_are_bounded) && usage as f64 >= i64::MAX as f64 {
        return i64::MAX;
    }
    if rules.averages_are_bounded && status_replicas == 0 {
        return 0;
    }
    to_i64((usage as f64 / f64::from(status_replicas)).ceil())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::engine::decision::Clause;
    use crate::snapshot::controller::Controller;

    /// The pods of a metric: the values of ready ones, and how many others there are.
    fn grouped(ready: &[i64], unready: usize, missing: usize) -> Grouped<'static> {
        let row = |group, value| PodRow {
            value,
            ..PodRow::new(0, group, Clause::Counted)
        };
        let mut rows: Vec<_> = ready
            .iter()
            .map(|&value| row(Group::Ready, Some(value)))
            .collect();
        rows.extend((0..unready).map(|_| row(Group::Unready, Some(1_000))));
        rows.extend((0..missing).map(|_| row(Group::Missing, None)));
        let counts = PodCounts {
            ready: ready.len(),
            unready,
            missing,
            ..PodCounts::default()
        };
        Grouped {
            rows,
            strangers: HashMap::new(),
            counts,
        }
    }

    /// Before 1.28, averages treated a ratio of exactly 1 as one above it.
    #[test]
    fn at_the_target_missing_pods_once_counted_as_idle() {
        let tolerances = Tolerances { down: 0.1, up: 0.1 };
        for (version, target, expected) in [
            (
                "v1.27",
                PerPodTarget::Average(100),
                (1, Because::RatioTimesFilled, Fill::Zero),
            ),
            (
                "v1.28",
                PerPodTarget::Average(100),
                (2, Because::FilledWithinTolerance, Fill::None),
            ),
            (
                "v1.27",
                PerPodTarget::Utilization(50),
                (2, Because::FilledWithinTolerance, Fill::None),
            ),
        ] {
            let rules = Rules::of(&Controller::new(version.parse().unwrap()));
            let terms = Terms {
                rules: &rules,
                tolerances: &tolerances,
            };
            let mut grouped = grouped(&[100], 0, 1);
            for row in &mut grouped.rows {
                row.request = Some(200);
            }
            let (found, _) = from_pods(&mut grouped, target, terms, 2).unwrap();
            let missing_as = found.filled.map(|filled| filled.missing).unwrap();
            assert_eq!(
                (found.replicas, found.because, missing_as),
                expected,
                "{version:?}"
            );
        }
    }

    /// If a limit and the count are equal, the replicas are the same for two reasons; the trace has one.
    #[test]
    fn the_trace_says_what_was_assumed_and_why_the_replicas_follow() {
        use Because::{CountFlips, DirectionFlips, FilledWithinTolerance, RatioTimesFilled};
        let rules = Rules::of(&Controller::new("v1.36".parse().unwrap()));
        let tolerances = Tolerances { down: 0.1, up: 0.1 };
        let terms = Terms {
            rules: &rules,
            tolerances: &tolerances,
        };
        for (ready, unready, missing, current, expected) in [
            // A target of 100: (200 + 0) / 2, and no pod is missing.
            (&[200][..], 1, 0, 5, (5, FilledWithinTolerance, Fill::None)),
            (&[400], 1, 0, 3, (4, RatioTimesFilled, Fill::None)),
            (&[400], 1, 0, 4, (4, RatioTimesFilled, Fill::None)),
            (&[400], 1, 0, 5, (5, CountFlips, Fill::None)),
            (&[400], 0, 1, 4, (4, RatioTimesFilled, Fill::Zero)),
            (&[150], 1, 0, 5, (5, DirectionFlips, Fill::None)),
            // (50 + 100) / 2.
            (&[50], 0, 1, 3, (2, RatioTimesFilled, Fill::Target)),
            (&[50], 0, 1, 2, (2, RatioTimesFilled, Fill::Target)),
            (&[50], 0, 1, 1, (1, CountFlips, Fill::Target)),
        ] {
            let mut grouped = grouped(ready, unready, missing);
            let target = PerPodTarget::Average(100);
            let (found, _) = from_pods(&mut grouped, target, terms, current).unwrap();
            let missing_as = found.filled.map(|filled| filled.missing).unwrap();
            let told = (found.replicas, found.because, missing_as);
            assert_eq!(
                told, expected,
                "{ready:?} {unready} {missing} from {current}"
            );
        }
    }
}
