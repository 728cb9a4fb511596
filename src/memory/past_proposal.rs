//! What the metrics of a pass asked for, according to the values in its `status.currentMetrics`. An
//! average over the target's `status.replicas` leads back to the total and so to the proposal. The
//! other values are averages over pods that are no longer known, some of which may have lacked
//! metrics: they show what was likely, and bound nothing.

use std::ops::RangeInclusive;

use crate::apimachinery::quantity::Quantity;
use crate::snapshot::controller::{Controller, Tolerances};
use crate::snapshot::hpa::{Hpa, MetricSource, MetricSpec, MetricValueStatus};

/// The proposal of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastProposal {
    /// The possible values.
    pub(super) range: RangeInclusive<i32>,
    /// The most likely value.
    pub(super) likely: Option<i32>,
}

/// Totals up to this are exact as floats, and so are their quotients.
const EXACT: i128 = 1 << 52;

/// Reads a status that belongs to the given spec; `counted` is the target's `status.replicas` at that
/// time, if known, and `there` its possible values.
pub(super) fn read(
    hpa: &Hpa,
    controller: &Controller,
    counted: Option<i32>,
    there: Option<i32>,
) -> PastProposal {
    let pods = there.map_or(hpa.status.current_replicas, |n| n.min(hpa.status.current_replicas));
    let tolerances = controller.tolerances(&hpa.spec);
    let reported = hpa.status.current_metrics.as_deref().unwrap_or_default();
    let (mut low, mut high, mut likely) = (0, Some(0), None);
    // A pass that could not compute a metric leaves a gap; older controllers leave none.
    let aligned = reported.len() == hpa.spec.metrics.len();
    for (spec, status) in hpa.spec.metrics.iter().zip(reported).filter(|_| aligned) {
        let current = status.current().filter(|_| status.type_ == spec.type_);
        let range = current
            .zip(counted)
            .and_then(|(current, counted)| of_total(spec, current, counted, tolerances));
        high = high.zip(range.as_ref()).map(|(high, range)| high.max(*range.end()));
        low = range.as_ref().map_or(low, |range| low.max(*range.start()));
        likely = likely.max(match range {
            Some(range) => Some(*range.end()),
            None => current.and_then(|current| {
                of_pods(spec, current, (hpa.status.current_replicas, pods), tolerances)
            }),
        });
    }
    let high = high.filter(|_| aligned && !reported.is_empty());
    PastProposal { range: low..=high.unwrap_or(i32::MAX), likely }
}

/// Whether a metric is a total that is compared as an average over the target's `status.replicas`.
pub(super) fn is_average_over_target(spec: &MetricSpec) -> bool {
    wanted_average(spec).is_some()
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

/// Returns the proposals that a mean over this many replicas leads to. It was rounded up.
fn of_total(
    spec: &MetricSpec,
    current: &MetricValueStatus,
    counted: i32,
    tolerances: Tolerances,
) -> Option<RangeInclusive<i32>> {
    let target = wanted_average(spec)?;
    let mean = i128::from(current.average_value.as_ref()?.milli_value());
    let most = mean * i128::from(counted);
    let least = (mean - 1) * i128::from(counted) + 1;
    if target <= 0 || mean < 0 || counted <= 0 || most > EXACT {
        return None;
    }
    let (target, counted) = (target as f64, f64::from(counted));
    // On the edge of the tolerance versions differ.
    let edge = 1e-9;
    let proposals = |total: i128| {
        let ratio = total as f64 / (target * counted);
        let multiplied = (total as f64 / target).ceil().max(0.0);
        let within = |edge: f64| {
            (1.0 - tolerances.down - edge..=1.0 + tolerances.up + edge).contains(&ratio)
        };
        match (within(-edge), within(edge)) {
            (true, _) => [counted; 2],
            (false, true) => [counted.min(multiplied), counted.max(multiplied)],
            (false, false) => [multiplied; 2],
        }
    };
    let ([low, _], [_, high]) = (proposals(least), proposals(most));
    (high <= f64::from(i32::MAX)).then_some(low as i32..=high as i32)
}

/// Returns the proposal if all of this many pods counted, when `current` replicas were requested.
fn of_pods(
    spec: &MetricSpec,
    reported: &MetricValueStatus,
    (current, pods): (i32, i32),
    tolerances: Tolerances,
) -> Option<i32> {
    let wanted = spec.target()?;
    let ratio = match (wanted.average_utilization, reported.average_utilization) {
        (Some(wanted), Some(share)) => f64::from(share) / f64::from(wanted),
        _ => {
            let averages = wanted.average_value.as_ref().zip(reported.average_value.as_ref());
            let values = wanted.value.as_ref().zip(reported.value.as_ref());
            let (wanted, value) = averages.or(values)?;
            value.milli_value() as f64 / wanted.milli_value() as f64
        }
    };
    if (1.0 - tolerances.down..=1.0 + tolerances.up).contains(&ratio) {
        return Some(current);
    }
    let multiplied = (ratio * f64::from(pods)).ceil();
    (0.0..=f64::from(i32::MAX)).contains(&multiplied).then_some(multiplied as i32)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;
    use crate::build;
    use crate::snapshot::controller::Controller;
    use crate::snapshot::hpa::Hpa;

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
        [spec, json!({"type": "Object", "object": {"current": current}})]
    }

    fn cpu(wanted: i32, share: i32) -> [Value; 2] {
        let current = json!({"averageUtilization": share, "averageValue": "1"});
        let status = json!({"type": "Resource", "resource": {"name": "cpu", "current": current}});
        [build::resource("cpu", &build::utilization(wanted)), status]
    }

    /// An HPA whose last pass was over 10 replicas.
    fn hpa(metrics: &[[Value; 2]]) -> Hpa {
        let of = |place: usize| metrics.iter().map(|it| it[place].clone()).collect::<Vec<_>>();
        let spec = json!({"maxReplicas": 20, "metrics": of(0)});
        let status = json!({"currentReplicas": 10, "currentMetrics": of(1)});
        Hpa::of(&spec, status)
    }

    #[test]
    fn averages_over_the_target_lead_back_to_the_proposal() {
        const ANY: i32 = i32::MAX;
        for (metrics, counted, range, likely) in [
            // 9,991 to 10,000 thousandths in total.
            (vec![external("10", "1")], Some(10), 1..=1, Some(1)),
            // Within the tolerance the replicas stay.
            (vec![external("10", "9500m")], Some(10), 10..=10, Some(10)),
            (vec![external("10", "10500m")], Some(3), 3..=3, Some(3)),
            // On its edge versions differ: 109.991 to 110 in total.
            (vec![external("10", "11")], Some(10), 10..=11, Some(11)),
            // 40 to 40.002 in total.
            (vec![external("10", "13334m")], Some(3), 4..=5, Some(5)),
            (vec![external("10", "0")], Some(10), 0..=0, Some(0)),
            (vec![object("AverageValue", "10", "2")], Some(10), 2..=2, Some(2)),
            // The highest counts.
            (vec![external("10", "1"), external("1", "400m")], Some(10), 4..=4, Some(4)),
            // Values of pods bound nothing.
            (vec![external("10", "3"), cpu(50, 20)], Some(10), 3..=ANY, Some(4)),
            (vec![external("10", "3"), cpu(50, 48)], Some(10), 3..=ANY, Some(10)),
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
            (vec![external("1e10", "4503599627370496m")], Some(1), 451..=451, Some(451)),
            (vec![external("1e10", "5e11")], Some(10), 0..=ANY, Some(500)),
        ] {
            let asked = read(&hpa(&metrics), &Controller::default(), counted, None);
            assert_eq!((asked.range, asked.likely), (range, likely), "{metrics:?} {counted:?}");
        }
    }

    #[test]
    fn a_status_of_other_metrics_tells_nothing() {
        let mut hpa = hpa(&[external("10", "1"), external("10", "2")]);
        let metrics = hpa.status.current_metrics.as_mut().unwrap();
        metrics.pop();
        let asked = read(&hpa, &Controller::default(), Some(10), None);
        assert_eq!((asked.range, asked.likely), (0..=i32::MAX, None));
    }

    /// With 4 of 10 pods, a mean within the tolerance keeps the 10, and any other counts 4.
    #[test]
    fn a_mean_over_pods_within_the_tolerance_keeps_the_replicas() {
        for (share, likely) in [(44, 4), (45, 10), (48, 10), (52, 10), (55, 10), (56, 5)] {
            let asked = read(&hpa(&[cpu(50, share)]), &Controller::default(), None, Some(4));
            assert_eq!((asked.range, asked.likely), (0..=i32::MAX, Some(likely)), "{share}");
        }
    }
}
