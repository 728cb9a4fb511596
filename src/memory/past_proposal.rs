//! The replicas that the metrics of a pass proposed, according to the values in its
//! `status.currentMetrics`. An average over the target's `status.replicas` yields the total, and so the
//! proposal. An average over pods does not, because some of the pods may have lacked metrics; but it shows
//! whether there was a reason to scale, and how far the proposal can have been from the replicas.

use std::ops::RangeInclusive;

use crate::apimachinery::quantity::Quantity;
use crate::rules::Rules;
use crate::snapshot::controller::{Controller, Tolerances};
use crate::snapshot::evidence::Counted;
use crate::snapshot::hpa::{Hpa, MetricSource, MetricSpec, MetricTarget, MetricValueStatus};

/// The proposal of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastProposal {
    /// The values that each metric may have proposed.
    metrics: Vec<Values>,
    /// The most likely value of the highest proposal.
    pub(super) likely: Option<i32>,
}

/// Values that a metric may have proposed, in any order.
type Values = Vec<RangeInclusive<i32>>;

/// Any number of replicas.
const UNKNOWN: RangeInclusive<i32> = 0..=i32::MAX;

/// Totals up to this are exact as floats, and so are their quotients.
const EXACT: i128 = 1 << 52;

impl PastProposal {
    /// Returns the lowest and the highest possible proposal within a range; `None` if no proposal is possible
    /// there.
    pub(super) fn within(&self, range: &RangeInclusive<i32>) -> Option<(i32, i32)> {
        // The highest proposal counts: one is as high, and none is higher.
        let metrics = || self.metrics.iter();
        let lowest = highest(metrics().map(|it| least(it, 0)))?.max(*range.start());
        let low = metrics().filter_map(|it| least(it, lowest)).min()?;
        let high = highest(metrics().map(|it| most(it, *range.end())))?;
        (low <= high).then_some((low, high))
    }
}

/// Returns the highest of some numbers of replicas; `None` if one is not known.
fn highest(mut all: impl Iterator<Item = Option<i32>>) -> Option<i32> {
    all.try_fold(0, |highest, one| Some(highest.max(one?)))
}

/// Returns the lowest of the values that are at least `low`.
fn least(values: &Values, low: i32) -> Option<i32> {
    let these = values.iter().filter(|it| *it.end() >= low);
    these.map(|it| low.max(*it.start())).min()
}

/// Returns the highest of the values that are at most `high`.
fn most(values: &Values, high: i32) -> Option<i32> {
    let these = values.iter().filter(|it| *it.start() <= high);
    these.map(|it| high.min(*it.end())).max()
}

/// The pods of the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pods {
    /// Its `status.replicas`.
    pub(super) replicas: i32,
    /// Those that are not pending.
    pub(super) begun: PodCount,
    /// Those that are ready.
    pub(super) ready: PodCount,
}

/// A number of pods.
#[derive(Debug, Clone, Copy)]
pub(super) struct PodCount {
    /// All of them.
    pub(super) all: i32,
    /// How many of them the resource metrics API has samples of.
    pub(super) measured: i32,
}

impl PodCount {
    /// Returns a number of pods that all have samples.
    fn measured(all: i32) -> Self {
        Self { all, measured: all }
    }
}

/// Reads a status that belongs to the given spec. `counted` is the target's `status.replicas` at that time,
/// if known; `there` is the current pods, if they may also have been the pods then.
pub(super) fn read(
    hpa: &Hpa,
    controller: &Controller,
    counted: Option<&Counted>,
    there: Option<Pods>,
) -> PastProposal {
    let requested = hpa.status.current_replicas;
    let tolerances = controller.tolerances(&hpa.spec);
    let reported = hpa.status.current_metrics.as_deref().unwrap_or_default();
    // A pass that could not compute a metric leaves a gap; older controllers leave none.
    if reported.is_empty() || reported.len() != hpa.spec.metrics.len() {
        return PastProposal {
            metrics: vec![vec![UNKNOWN]],
            likely: None,
        };
    }
    let terms = ProposalTerms {
        rules: Rules::of(controller),
        tolerances,
        requested,
        counted,
        there,
    };
    let (mut metrics, mut likely) = (Vec::new(), None);
    for (spec, status) in hpa.spec.metrics.iter().zip(reported) {
        let Some(current) = status.current().filter(|_| status.type_ == spec.type_) else {
            metrics.push(vec![UNKNOWN]);
            continue;
        };
        let total = terms.of_total(spec, current);
        likely = likely.max(match &total {
            Some(total) => Some(total.likely),
            None => terms.of_pods(spec, current),
        });
        metrics.push(match total {
            Some(total) => vec![total.proposals],
            None => terms.values(spec, current).unwrap_or_else(|| vec![UNKNOWN]),
        });
    }
    PastProposal { metrics, likely }
}

/// The terms that determine the proposal for a value of pods.
struct ProposalTerms<'t> {
    rules: Rules,
    tolerances: Tolerances,
    /// The replicas that the pass found requested.
    requested: i32,
    counted: Option<&'t Counted>,
    there: Option<Pods>,
}

impl ProposalTerms<'_> {
    /// Returns the possible proposals of a metric with this value; `None` if any proposal is possible.
    fn values(&self, spec: &MetricSpec, reported: &MetricValueStatus) -> Option<Values> {
        if is_average_over_target(spec) {
            return None;
        }
        let wanted = spec.target()?;
        let ratio = ratio(wanted, reported)?;
        let utilization = wanted.average_utilization.zip(reported.average_utilization);
        let is_of_pods = utilization.is_some()
            || wanted.average_value.is_some() && reported.average_value.is_some();
        // Before 1.26, a pod without metrics was assumed to use what it requests, even if the target is higher.
        let fills =
            self.rules.missing_at_target || wanted.average_utilization.is_none_or(|it| it <= 100);
        // Pods that lack metrics bring a ratio nearer to 1, or to its other side; both change nothing.
        let stays = ratio > 1.0
            || ratio < 1.0 && fills
            || ratio == 1.0 && (utilization.is_some() || !self.rules.balanced_fills_zero);
        if self.is_within(ratio) {
            return (stays || !is_of_pods).then(|| vec![self.requested..=self.requested]);
        }
        let counted = self.counted.filter(|_| is_of_pods)?;
        if (0.0..1.0).contains(&ratio) {
            let most = (ratio * f64::from(counted.replicas)).ceil() as i32;
            return Some(vec![0..=most.max(self.requested)]);
        }
        let (wanted, percent) = utilization.filter(|_| counted.alike && ratio > 1.0)?;
        let least = self.least(wanted, percent, counted.replicas)?;
        Some(vec![self.requested..=self.requested, least..=i32::MAX])
    }

    /// Returns the proposal if the pods counted that do now: for cpu and a total, those that are ready, and for another
    /// value of each pod all that are not pending. A pod without a sample counts as 0, or going down as its request or at
    /// the target, and turns nothing around.
    fn of_pods(&self, spec: &MetricSpec, reported: &MetricValueStatus) -> Option<i32> {
        let ratio = ratio(spec.target()?, reported)?;
        if self.is_within(ratio) {
            return Some(self.requested);
        }
        let there = match self.there {
            Some(there) if is_average_over_target(spec) => PodCount::measured(there.replicas),
            Some(there) if counts_unready(spec) => there.begun,
            Some(there) => there.ready,
            None => PodCount::measured(self.requested),
        };
        let all = there.all.min(self.requested);
        // At least one had a sample then.
        let measured = match there.measured {
            measured if spec.is_resource() && measured > 0 => measured.min(all),
            _ => all,
        };
        let missing = all - measured;
        let assumed = if ratio > 1.0 { 0.0 } else { self.filled(spec)? };
        let total = ratio * f64::from(measured) + assumed * f64::from(missing);
        if missing > 0 && self.is_within(total / f64::from(all)) {
            return Some(self.requested);
        }
        let requested = f64::from(self.requested);
        let multiplied = match missing {
            0 => total.ceil(),
            _ if ratio > 1.0 => total.ceil().max(requested),
            _ => total.ceil().min(requested),
        };
        (0.0..=f64::from(i32::MAX))
            .contains(&multiplied)
            .then_some(multiplied as i32)
    }

    /// Returns the proposals that follow from a mean over the counted replicas. The mean was rounded up.
    fn of_total(&self, spec: &MetricSpec, current: &MetricValueStatus) -> Option<OfTotal> {
        let tolerances = &self.tolerances;
        let counted = self.counted?.replicas;
        let target = wanted_average(spec)?;
        let mean = i128::from(current.average_value.as_ref()?.milli_value());
        let most = mean * i128::from(counted);
        let least = (mean - 1) * i128::from(counted) + 1;
        if target <= 0 || mean < 0 || counted <= 0 || most > EXACT {
            return None;
        }
        let (target, counted) = (target as f64, f64::from(counted));
        // At the edge of the tolerance, versions differ.
        let edge = 1e-9;
        // Most totals are whole numbers, such as the lengths of queues.
        let whole = most / 1000 * 1000;
        let usual = if whole >= least { whole } else { most };
        let [(low, _, _), (_, likely, _), (_, _, high)] = [least, usual, most].map(|total| {
            let ratio = total as f64 / (target * counted);
            let multiplied = (total as f64 / target).ceil().max(0.0);
            let within = |edge: f64| {
                (1.0 - tolerances.down - edge..=1.0 + tolerances.up + edge).contains(&ratio)
            };
            let likely = if self.is_within(ratio) {
                counted
            } else {
                multiplied
            };
            match (within(-edge), within(edge)) {
                (true, _) => (counted, likely, counted),
                (false, true) => (counted.min(multiplied), likely, counted.max(multiplied)),
                (false, false) => (multiplied, likely, multiplied),
            }
        });
        let found = OfTotal {
            proposals: low as i32..=high as i32,
            likely: likely as i32,
        };
        (high <= f64::from(i32::MAX)).then_some(found)
    }

    /// Returns the share of its target as which a pod without a sample counts going down: what it requests, or the
    /// target if that is more.
    fn filled(&self, spec: &MetricSpec) -> Option<f64> {
        let Some(wanted) = spec.target()?.average_utilization else {
            return Some(1.0);
        };
        let assumed = if self.rules.missing_at_target {
            wanted.max(100)
        } else {
            100
        };
        Some(f64::from(assumed) / f64::from(wanted))
    }

    fn is_within(&self, ratio: f64) -> bool {
        self.rules.is_within(&self.tolerances, ratio)
    }

    /// Returns the fewest replicas that a utilization above the target can have proposed, for pods with the
    /// same requests. At least one of them had metrics; the others counted as zero.
    fn least(&self, wanted: i32, percent: i32, pods: i32) -> Option<i32> {
        let (percent, all) = (i64::from(percent), i64::from(pods));
        // A percentage is truncated, so the usage of the pods with metrics may have been anything below the next
        // one.
        let share = (1..=all).find_map(|measured| {
            let least = percent * measured / all;
            let most = ((percent + 1) * measured - 1) / all;
            (least..=most).find(|percent| {
                let ratio = *percent as f64 / f64::from(wanted);
                ratio > 1.0 && !self.is_within(ratio)
            })
        })?;
        let replicas = (share as f64 / f64::from(wanted) * f64::from(pods)).ceil();
        (replicas <= f64::from(i32::MAX)).then_some(replicas as i32)
    }
}

/// Returns the ratio of a reported value to its target.
fn ratio(wanted: &MetricTarget, reported: &MetricValueStatus) -> Option<f64> {
    if let Some((wanted, percent)) = wanted.average_utilization.zip(reported.average_utilization) {
        return Some(f64::from(percent) / f64::from(wanted));
    }
    let averages = wanted
        .average_value
        .as_ref()
        .zip(reported.average_value.as_ref());
    let values = wanted.value.as_ref().zip(reported.value.as_ref());
    let (wanted, value) = averages.or(values)?;
    Some(value.milli_value() as f64 / wanted.milli_value() as f64)
}

/// Whether a metric is a total that is compared as an average over the target's `status.replicas`.
pub(super) fn is_average_over_target(spec: &MetricSpec) -> bool {
    wanted_average(spec).is_some()
}

/// Whether pods that are not ready count with their values: only for cpu, the controller asks whether they are.
fn counts_unready(spec: &MetricSpec) -> bool {
    match spec.source() {
        MetricSource::Pods(_) => true,
        _ => spec.is_resource() && spec.name() != "cpu",
    }
}

/// Returns the target average of such a metric, in milli-units.
fn wanted_average(spec: &MetricSpec) -> Option<i64> {
    let target = match spec.source() {
        MetricSource::External(source) => &source.target,
        MetricSource::Object(source) if source.target.type_ == "AverageValue" => &source.target,
        _ => return None,
    };
    target.average_value.as_ref().map(Quantity::milli_value)
}

/// The proposals that follow from a mean over replicas.
struct OfTotal {
    proposals: RangeInclusive<i32>,
    /// The proposal of the likeliest total.
    likely: i32,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use jiff::Timestamp;

    use super::{PodCount, Pods, read};
    use crate::build;
    use crate::snapshot::controller::Controller;
    use crate::snapshot::evidence::Counted;
    use crate::snapshot::hpa::Hpa;

    const ANY: i32 = i32::MAX;

    fn of(replicas: i32) -> Counted {
        let (since, until, alike) = (Timestamp::MIN, Timestamp::MAX, false);
        Counted {
            replicas,
            since,
            until,
            alike,
        }
    }

    fn pods(replicas: i32, begun: PodCount, ready: PodCount) -> Option<Pods> {
        Some(Pods {
            replicas,
            begun,
            ready,
        })
    }

    fn external(wanted: &str, average: &str) -> [Value; 2] {
        let status = json!({"type": "External", "external": {
            "metric": {"name": "queue"},
            "current": {"averageValue": average},
        }});
        [build::external("queue", &build::average(wanted)), status]
    }

    fn object(kind: &str, wanted: &str, found: &str) -> [Value; 2] {
        let (target, current) = match kind {
            "Value" => (build::value(wanted), json!({"value": found})),
            _ => (build::average(wanted), json!({"averageValue": found})),
        };
        let spec = json!({"type": "Object", "object": {"target": target}});
        [
            spec,
            json!({"type": "Object", "object": {"current": current}}),
        ]
    }

    fn cpu(wanted: i32, share: i32) -> [Value; 2] {
        let current = json!({"averageUtilization": share, "averageValue": "1"});
        let status = json!({"type": "Resource", "resource": {"name": "cpu", "current": current}});
        [build::resource("cpu", &build::utilization(wanted)), status]
    }

    /// An HPA whose last pass was over 10 replicas.
    fn hpa(metrics: &[[Value; 2]]) -> Hpa {
        let of = |place: usize| {
            metrics
                .iter()
                .map(|it| it[place].clone())
                .collect::<Vec<_>>()
        };
        let spec = json!({"maxReplicas": 20, "metrics": of(0)});
        let status = json!({"currentReplicas": 10, "currentMetrics": of(1)});
        Hpa::of(&spec, status)
    }

    #[test]
    fn averages_over_the_target_lead_back_to_the_proposal() {
        for (metrics, counted, range, likely) in [
            // 9,991 to 10,000 thousandths in total.
            (vec![external("10", "1")], Some(10), 1..=1, Some(1)),
            // Within the tolerance the replicas stay.
            (vec![external("10", "9500m")], Some(10), 10..=10, Some(10)),
            (vec![external("10", "10500m")], Some(3), 3..=3, Some(3)),
            // On its edge versions differ: 109.991 to 110 in total.
            (vec![external("10", "11")], Some(10), 10..=11, Some(10)),
            // 40 to 40.002 in total: most likely 40, as of a queue.
            (vec![external("10", "13334m")], Some(3), 4..=5, Some(4)),
            // 1.999 to 2.004 in total.
            (vec![external("1", "334m")], Some(6), 2..=3, Some(2)),
            (vec![external("10", "0")], Some(10), 0..=0, Some(0)),
            (
                vec![object("AverageValue", "10", "2")],
                Some(10),
                2..=2,
                Some(2),
            ),
            // The highest counts.
            (
                vec![external("10", "1"), external("1", "400m")],
                Some(10),
                4..=4,
                Some(4),
            ),
            // Pods without metrics lead to no more than the replicas.
            (
                vec![external("10", "3"), cpu(50, 20)],
                Some(10),
                3..=10,
                Some(4),
            ),
            (
                vec![external("10", "3"), cpu(50, 48)],
                Some(10),
                10..=10,
                Some(10),
            ),
            (vec![object("Value", "10", "2")], Some(10), 0..=ANY, Some(2)),
            // Without a count, or with totals that floats cannot represent, nothing follows.
            (vec![external("10", "1")], None, 0..=ANY, Some(1)),
            (vec![external("10", "1")], Some(0), 0..=ANY, Some(1)),
            (vec![external("10", "-1")], Some(10), 0..=ANY, None),
            (vec![external("0", "1")], Some(10), 0..=ANY, None),
            (vec![external("1", "9e15")], Some(10), 0..=ANY, None),
            (vec![external("1m", "3e9")], Some(10), 0..=ANY, None),
            // 40.001 to 40.01 in total: no mean of 40 was rounded up.
            (vec![external("10", "4001m")], Some(10), 5..=5, Some(5)),
            // On the lower edge of the tolerance versions differ as well.
            (vec![external("1e10", "9e9")], Some(10), 9..=10, Some(10)),
            // 2^52 thousandths in total, and more.
            (
                vec![external("1e10", "4503599627370496m")],
                Some(1),
                451..=451,
                Some(451),
            ),
            (vec![external("1e10", "5e11")], Some(10), 0..=ANY, Some(500)),
        ] {
            let (hpa, counted) = (hpa(&metrics), counted.map(of));
            let asked = read(&hpa, &Controller::default(), counted.as_ref(), None);
            let found = asked.within(&(0..=ANY));
            assert_eq!(
                (found, asked.likely),
                (Some(range.into_inner()), likely),
                "{metrics:?}"
            );
        }
    }

    /// One of ten pods is pending. A mean of cpu is over ready pods, a mean of other values over pods that are not
    /// pending, and a mean over the target over all pods.
    #[test]
    fn pods_that_are_not_ready_bring_a_mean_over_pods_nearer_to_its_target() {
        let average = json!({"averageValue": "20"});
        let of_memory = [
            build::resource("memory", &build::average("10")),
            json!({"type": "Resource", "resource": {"name": "memory", "current": average}}),
        ];
        let of_pods = |key: &str, value: &Value| json!({"type": "Pods", "pods": {"metric": {"name": "rps"}, key: value}});
        let rps = [
            of_pods("target", &build::average("10")),
            of_pods("current", &average),
        ];
        for (metric, ready, likely) in [
            (cpu(70, 190), 9, 25),
            (cpu(70, 190), 6, 17),
            (cpu(70, 35), 6, 3),
            (of_memory, 6, 18),
            (rps, 6, 18),
            (object("Value", "10", "20"), 6, 12),
            (object("AverageValue", "10", "20"), 6, 20),
            (external("10", "20"), 6, 20),
        ] {
            let pods = pods(10, PodCount::measured(9), PodCount::measured(ready));
            let hpa = hpa(std::slice::from_ref(&metric));
            let asked = read(&hpa, &Controller::default(), None, pods);
            assert_eq!(asked.likely, Some(likely), "{metric:?} {ready}");
        }
    }

    /// Of ten pods, some have no samples yet: as 0 they bring a high mean nearer to the target, and as at the target a
    /// low one (or as their requests, if these are more), but past it neither.
    #[test]
    fn pods_without_samples_bring_a_mean_over_pods_nearer_to_its_target() {
        let memory = |found: &str| {
            let average = json!({"averageValue": found});
            [
                build::resource("memory", &build::average("50")),
                json!({"type": "Resource", "resource": {"name": "memory", "current": average}}),
            ]
        };
        let rps = [
            json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "target": build::average("50")}}),
            json!({"type": "Pods", "pods": {"current": {"averageValue": "150"}}}),
        ];
        for (metric, measured, likely) in [
            (memory("150"), 10, 30),
            (memory("150"), 5, 15),
            // 150 over ten pods is 30 % of the target, and 540 within the tolerance.
            (memory("150"), 1, 10),
            (memory("180"), 3, 10),
            (memory("25"), 10, 5),
            (memory("25"), 4, 8),
            (memory("25"), 1, 10),
            // It was measured then.
            (memory("150"), 0, 30),
            (cpu(50, 150), 5, 15),
            // The others count as 100 % of what they request: 8 * 35 % and 2 * 100 %, and 5 * 25 % and 5 * 100 %.
            (cpu(70, 35), 8, 7),
            (cpu(50, 25), 5, 10),
            (cpu(200, 100), 5, 8),
            // Of these, the samples of the resource metrics API say nothing.
            (rps, 5, 30),
            (external("50", "150"), 5, 30),
            (object("Value", "50", "150"), 5, 30),
        ] {
            let count = PodCount { all: 10, measured };
            let hpa = hpa(std::slice::from_ref(&metric));
            let asked = read(&hpa, &Controller::default(), None, pods(10, count, count));
            assert_eq!(asked.likely, Some(likely), "{metric:?} {measured}");
        }
    }

    /// As a distance from 1, a ratio of 1.1 is more than 0.1 in floats.
    #[test]
    fn a_mean_at_the_edge_of_the_tolerance_follows_the_version() {
        for (version, likely) in [("v1.33", 10), ("v1.32", 11)] {
            let controller = Controller::new(version.parse().unwrap());
            let hpa = hpa(&[external("10", "11")]);
            let asked = read(&hpa, &controller, Some(&of(10)), None);
            assert_eq!(asked.likely, Some(likely), "{version}");
        }
    }

    #[test]
    fn a_status_of_other_metrics_tells_nothing() {
        let mut hpa = hpa(&[external("10", "1"), external("10", "2")]);
        let metrics = hpa.status.current_metrics.as_mut().unwrap();
        metrics.pop();
        let asked = read(&hpa, &Controller::default(), Some(&of(10)), None);
        assert_eq!(
            (asked.within(&(0..=ANY)), asked.likely),
            (Some((0, ANY)), None)
        );
    }

    /// With 4 of 10 pods, a mean within the tolerance keeps the 10, and any other counts 4.
    #[test]
    fn a_mean_over_pods_within_the_tolerance_keeps_the_replicas() {
        for (version, share, likely) in [
            ("v1.33", 44, 4),
            ("v1.33", 45, 10),
            ("v1.33", 48, 10),
            ("v1.33", 52, 10),
            ("v1.33", 55, 10),
            ("v1.33", 56, 5),
            // As a distance from 1, a ratio of 1.1 is more than 0.1 in floats.
            ("v1.32", 55, 5),
            ("v1.32", 54, 10),
        ] {
            let controller = Controller::new(version.parse().unwrap());
            let four = PodCount::measured(4);
            let hpa = hpa(&[cpu(50, share)]);
            let asked = read(&hpa, &controller, None, pods(4, four, four));
            let range = if likely == 10 { (10, 10) } else { (0, ANY) };
            assert_eq!(
                (asked.within(&(0..=ANY)), asked.likely),
                (Some(range), Some(likely))
            );
        }
    }

    /// Half of 10 pods lack usage. Before 1.26, they counted as what they request, even below the target.
    #[test]
    fn pods_without_usage_count_as_the_version_fills_them() {
        for (version, likely) in [("v1.26", 8), ("v1.25", 5)] {
            let controller = Controller::new(version.parse().unwrap());
            let half = PodCount {
                all: 10,
                measured: 5,
            };
            let hpa = hpa(&[cpu(200, 100)]);
            let asked = read(&hpa, &controller, None, pods(10, half, half));
            assert_eq!(asked.likely, Some(likely), "{version}");
        }
    }

    /// Of 10 pods with the same requests, one with metrics at 600 % of a target of 60 % is 60 % over all: no reason
    /// to scale. Two are 120 %, which asks for 20.
    #[test]
    fn a_mean_above_the_target_leads_to_no_fewer_than_if_few_pods_had_metrics() {
        for (metrics, alike, within, range) in [
            (vec![cpu(60, 600)], true, 0..=ANY, Some((10, ANY))),
            (vec![cpu(60, 600)], true, 11..=ANY, Some((20, ANY))),
            (vec![cpu(60, 600)], true, 11..=19, None),
            (vec![cpu(60, 600)], true, 0..=19, Some((10, 10))),
            (vec![cpu(60, 600)], false, 11..=ANY, Some((11, ANY))),
            // With fewer than all of them, it is 55 % at most.
            (vec![cpu(50, 61)], true, 11..=ANY, Some((13, ANY))),
            (
                vec![cpu(60, 600), external("10", "15")],
                true,
                11..=ANY,
                Some((15, ANY)),
            ),
            // Below the target nothing asks for more replicas.
            (vec![cpu(50, 44)], false, 0..=ANY, Some((0, 10))),
            (vec![cpu(50, 44)], false, 11..=ANY, None),
            (
                vec![cpu(50, 44), external("10", "4")],
                false,
                0..=ANY,
                Some((4, 10)),
            ),
            (
                vec![cpu(50, 44), external("10", "4")],
                false,
                11..=ANY,
                None,
            ),
        ] {
            let counted = Counted { alike, ..of(10) };
            let asked = read(&hpa(&metrics), &Controller::default(), Some(&counted), None);
            assert_eq!(asked.within(&within), range, "{metrics:?} {within:?}");
        }
    }

    /// All ways in which up to 10 pods that request 100m each have metrics or lack them.
    #[test]
    fn no_pods_alike_lead_to_a_proposal_that_is_not_among_these() {
        let (wanted, request) = (50, 100);
        let is_within = |percent: i64| (45..=55).contains(&percent);
        let percent = |usage: i64, pods: i64| 100 * usage / (request * pods);
        let times = |percent: i64, pods: i64| (percent * pods + wanted - 1) / wanted;
        let (mut closest, mut cases) = (f64::INFINITY, 0);
        for pods in 1..=10 {
            for measured in 1..=pods {
                for usage in (51 * measured..=700 * measured).step_by(7) {
                    let share = percent(usage, measured);
                    let of_all = percent(usage, pods);
                    let proposal = if share <= 55 || is_within(of_all) || of_all <= 50 {
                        pods
                    } else {
                        times(of_all, pods)
                    };
                    let reported = cpu(50, i32::try_from(share).unwrap());
                    let mut hpa = hpa(&[reported]);
                    hpa.status.current_replicas = i32::try_from(pods).unwrap();
                    let counted = Counted {
                        alike: true,
                        ..of(i32::try_from(pods).unwrap())
                    };
                    let asked = read(&hpa, &Controller::default(), Some(&counted), None);
                    let one = i32::try_from(proposal).unwrap();
                    assert_eq!(
                        asked.within(&(one..=one)),
                        Some((one, one)),
                        "{measured} of {pods}: {usage}m"
                    );
                    if proposal > pods {
                        let above = i32::try_from(pods).unwrap() + 1..=ANY;
                        let (least, _) = asked.within(&above).unwrap();
                        closest = closest.min(f64::from(one - least));
                    }
                    cases += 1;
                }
            }
        }
        assert_eq!(
            (closest, cases > 10_000),
            (0.0, true),
            "the bound is not wider than it must be"
        );
    }

    /// The average was assumed for pods without metrics before 1.28, and what they request before 1.26.
    #[test]
    fn versions_differ_in_what_they_assume_of_pods_without_metrics() {
        let average = |found: &str| {
            let target = build::average("10");
            let spec = json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "target": target}});
            let current = json!({"averageValue": found});
            [
                spec,
                json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "current": current}}),
            ]
        };
        for (version, metric, is_known) in [
            ("v1.28", average("10"), true),
            ("v1.27", average("10"), false),
            ("v1.27", average("9500m"), true),
            ("v1.26", cpu(150, 145), true),
            ("v1.25", cpu(150, 145), false),
            ("v1.25", cpu(150, 155), true),
            ("v1.25", cpu(100, 95), true),
        ] {
            let controller = Controller::new(version.parse().unwrap());
            let asked = read(&hpa(&[metric]), &controller, None, None);
            let range = if is_known { (10, 10) } else { (0, ANY) };
            assert_eq!(asked.within(&(0..=ANY)), Some(range), "{version}");
        }
    }
}
