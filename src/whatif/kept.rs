//! The target with which an HPA scales up at the same usage as now, although its pods have other requests. The
//! controller compares whole percents with a tolerance, so the engine is run to find where each target scales up.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::overrides::{look, probe, same_metric, set_metric};
use super::thresholds::Borders;
use super::value::{AssumedValue, Ratio};
use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::{Group, MetricStep};
use crate::numbers::format_of;
use crate::pass::Pass;
use crate::snapshot::Snapshot;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;

/// A target that keeps the usage at which a metric scales up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptTarget {
    /// The metric's display name.
    pub metric: String,
    /// The metric's place in the spec, counted from 0.
    pub index: usize,
    /// The number of pods that count.
    pub pods: usize,
    /// The observed sum of the requests of these pods.
    pub observed_requests: Quantity,
    /// The assumed sum of the requests of these pods.
    pub requests: Quantity,
    /// The current target, in percent of the requests.
    pub observed_target: i32,
    /// The lowest total usage at which the metric scales up now.
    pub observed_scale_up: Quantity,
    /// The highest target that scales up at that usage or less; `None` if 1% scales up later.
    pub target: Option<i32>,
    /// The lowest usage at which that target scales up; the one for 1% if `target` is `None`.
    pub scale_up: Quantity,
    /// Whether that is exactly the same usage.
    pub exact: bool,
    /// Whether all pods have the same request, both as observed and as assumed.
    #[serde(skip)]
    pub alike: bool,
    /// Whether the HPA allows no more replicas, so that a proposal adds none.
    #[serde(skip)]
    pub at_max: bool,
}

/// Returns, for each utilization metric whose requests differ, the target that keeps the usage at which the
/// HPA scales up.
pub fn kept_targets(observed: &Pass, assumed: &Pass) -> Vec<KeptTarget> {
    let places = 0..assumed.input.snapshot.hpa.spec.metrics.len();
    places
        .filter_map(|place| KeptTarget::of(observed, assumed, place))
        .collect()
}

impl KeptTarget {
    fn of(observed: &Pass, assumed: &Pass, index: usize) -> Option<Self> {
        let (was, is) = (&observed.input.snapshot, &assumed.input.snapshot);
        let spec = &is.hpa.spec.metrics[index];
        let place = same_metric(&is.hpa.spec.metrics, index, &was.hpa.spec.metrics)?;
        let target = was.hpa.spec.metrics[place]
            .target()
            .filter(|_| spec.is_resource())?;
        let percent = target
            .average_utilization
            .filter(|_| target.average_value.is_none())?;
        let then = probe(is, index, spec);
        let now = probe(was, place, &was.hpa.spec.metrics[place]);
        let requested = requests(then.metric(0)?, is, |_| true)?;
        // Pods that are assumed to be added or gone have no request to compare.
        let running = requests(now.metric(0)?, was, |group| group == Group::Ready)?;
        // With other containers, the usage differs as well.
        let (were, are) = (by_name(&was.pods), by_name(&is.pods));
        let same = |pod: &&str| {
            were.get(*pod).map(|pod| names(pod)) == are.get(*pod).map(|pod| names(pod))
        };
        if !running
            .keys()
            .all(|pod| !requested.contains_key(pod) || same(pod))
        {
            return None;
        }
        let both: Vec<(i64, i64)> = running
            .iter()
            .filter_map(|(pod, before)| Some((*before, *requested.get(pod)?)))
            .collect();
        let before: i128 = both.iter().map(|(before, _)| i128::from(*before)).sum();
        let after: i128 = both.iter().map(|(_, after)| i128::from(*after)).sum();
        if before == after || before <= 0 || after <= 0 {
            return None;
        }
        let wanted = scales_up_from(&alone(observed, place), percent, before)?;
        let assumed = alone(assumed, index);
        let at = |target: i32| scales_up_from(&assumed, target, after);
        // A target scales up only above itself, so the search ends at this usage.
        let (mut kept, mut high) = (0, i32::try_from(wanted * 100 / after).unwrap_or(i32::MAX));
        while kept < high {
            let middle = high - (high - kept) / 2;
            if at(middle).is_some_and(|usage| usage <= wanted) {
                kept = middle;
            } else {
                high = middle - 1;
            }
        }
        // An API server accepts no target below 1.
        let scale_up = at(kept.max(1))?;
        let format = format_of(spec.name());
        let quantity = |milli: i128| Some(Quantity::from_milli(i64::try_from(milli).ok()?, format));
        Some(Self {
            metric: spec.label(&is.hpa.spec.metrics),
            index,
            pods: both.len(),
            observed_requests: quantity(before)?,
            requests: quantity(after)?,
            observed_target: percent,
            observed_scale_up: quantity(wanted)?,
            target: (kept > 0).then_some(kept),
            scale_up: quantity(scale_up)?,
            exact: scale_up == wanted,
            alike: both.windows(2).all(|pair| pair[0] == pair[1]),
            at_max: is
                .scale
                .as_ref()
                .is_ok_and(|own| own.spec_replicas >= is.hpa.spec.max_replicas),
        })
    }
}

/// Returns the pass with only the metric at a place; its proposal does not depend on others.
fn alone(pass: &Pass, index: usize) -> Pass {
    let mut pass = pass.clone();
    let snapshot = &mut pass.input.snapshot;
    snapshot.hpa.spec.metrics = vec![snapshot.hpa.spec.metrics.swap_remove(index)];
    snapshot.metrics = vec![snapshot.metrics.swap_remove(index)];
    pass.decision = look(snapshot);
    pass
}

/// Returns the lowest usage of pods with these requests at which the only metric proposes more replicas with
/// this target.
fn scales_up_from(alone: &Pass, target: i32, requests: i128) -> Option<i128> {
    let mut pass = alone.clone();
    let own = pass.input.snapshot.hpa.spec.metrics[0].target_mut()?;
    own.type_ = "Utilization".to_owned();
    (own.average_utilization, own.average_value) = (Some(target), None);
    let percent = i128::from(Borders::of_alike(&pass, 0)?.more?);
    // Pods that do not count request something, too: the border may be between two percents of those that do.
    let [mut low, mut high] = [percent - 1, percent].map(|it| (it * requests + 99) / 100);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if scales_up(&pass, middle, requests)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Whether the only metric proposes more replicas if the pods that count use this much of these requests.
fn scales_up(alone: &Pass, usage: i128, requests: i128) -> Option<bool> {
    let mut snapshot = alone.input.snapshot.clone();
    let share = AssumedValue::Share(Ratio::part(usage, requests)?);
    let metric = snapshot.hpa.spec.metrics[0].clone();
    set_metric(&mut snapshot, 0, &metric, &share).ok()?;
    let decision = look(&snapshot);
    let proposal = decision.metric(0)?.proposal()?;
    Some(Some(proposal.replicas) > decision.replicas_before())
}

fn by_name(pods: &[Shared<Pod>]) -> HashMap<&str, &Shared<Pod>> {
    pods.iter().map(|pod| (&*pod.name, pod)).collect()
}

/// The containers that run as long as the pod does.
fn names(pod: &Pod) -> BTreeSet<&str> {
    pod.running(false)
        .map(|container| &*container.name)
        .collect()
}

/// Returns the request of each pod in the groups that count; `None` if one of them lacks a request.
fn requests<'s>(
    step: &MetricStep,
    snapshot: &'s Snapshot,
    counts: impl Fn(Group) -> bool,
) -> Option<HashMap<&'s str, i64>> {
    let rows = step.pods.iter().filter(|row| counts(row.group));
    rows.map(|row| Some((&*snapshot.pods[row.pod as usize].name, row.request?)))
        .collect()
}
