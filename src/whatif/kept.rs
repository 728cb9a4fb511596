//! The target at which an HPA would scale where it does now, although its pods request something else:
//! 70% of 500m is 140% of 250m. What the pods request is what the engine finds.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::overrides::{probe, source_of};
use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::{Group, MetricStep};
use crate::numbers::format_of;
use crate::snapshot::Snapshot;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;

/// A target that keeps the scale point of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptTarget {
    /// What the metric is called to people.
    pub metric: String,
    /// Its place in the spec, counted from 0.
    pub index: usize,
    /// How many pods count.
    pub pods: usize,
    /// What they request together as observed.
    pub observed_requests: Quantity,
    /// What they request together as assumed.
    pub requests: Quantity,
    /// The target now, in percent of the requests.
    pub observed_target: i32,
    /// The highest target that scales at the same usage or less.
    pub target: i32,
    /// Whether it scales at the very same usage.
    pub exact: bool,
    /// Whether each pod requests what the others do, as observed and as assumed.
    #[serde(skip)]
    pub alike: bool,
}

/// The targets that keep the scale points of an HPA, for each utilization of which the requests differ.
pub fn kept_targets(observed: &Snapshot, assumed: &Snapshot) -> Vec<KeptTarget> {
    let places = 0..assumed.hpa.spec.metrics.len();
    places.filter_map(|place| KeptTarget::of(observed, assumed, place)).collect()
}

impl KeptTarget {
    fn of(observed: &Snapshot, assumed: &Snapshot, index: usize) -> Option<Self> {
        let spec = &assumed.hpa.spec.metrics[index];
        let source = source_of(spec);
        let mut running = observed.hpa.spec.metrics.iter();
        let before = running.position(|metric| source_of(metric) == source)?;
        let target = observed.hpa.spec.metrics[before].target().filter(|_| spec.is_resource())?;
        let percent = target.average_utilization.filter(|_| target.average_value.is_none())?;
        let (observed_pods, assumed_pods) = (&observed.pods, &assumed.pods);
        let (then, now) = (probe(assumed, index), probe(observed, before));
        let assumed = requests(then.metric(0)?, assumed, |_| true)?;
        // Pods that are assumed to be added or gone have no request to compare.
        let observed = requests(now.metric(0)?, observed, |group| group == Group::Ready)?;
        // With other containers the usage is another one, too.
        let same = |pod: &&str| names(observed_pods, pod) == names(assumed_pods, pod);
        if !observed.keys().all(|pod| !assumed.contains_key(pod) || same(pod)) {
            return None;
        }
        let both = observed.iter().filter_map(|(pod, own)| Some((*own, *assumed.get(pod)?)));
        let both: Vec<(i64, i64)> = both.collect();
        let before: i128 = both.iter().map(|(before, _)| i128::from(*before)).sum();
        let after: i128 = both.iter().map(|(_, after)| i128::from(*after)).sum();
        if before == after || before <= 0 || after <= 0 {
            return None;
        }
        let wanted = i128::from(percent) * before;
        // An API server accepts no target below 1.
        let target = i32::try_from(wanted / after).ok().filter(|target| *target > 0)?;
        let quantity = |milli: i128| {
            let milli = i64::try_from(milli).ok()?;
            Some(Quantity::from_milli(milli, format_of(spec.name())))
        };
        Some(Self {
            metric: spec.label(),
            index,
            pods: both.len(),
            observed_requests: quantity(before)?,
            requests: quantity(after)?,
            observed_target: percent,
            target,
            exact: wanted % after == 0,
            alike: both.windows(2).all(|pair| pair[0] == pair[1]),
        })
    }
}

/// The containers of a pod that run with it.
fn names<'s>(pods: &'s [Shared<Pod>], name: &str) -> Option<BTreeSet<&'s str>> {
    let pod = pods.iter().find(|pod| *pod.name == *name)?;
    Some(pod.running(false).map(|container| &*container.name).collect())
}

/// What each pod requests that is in some group; none where one of them lacks a request.
fn requests<'s>(
    step: &MetricStep,
    snapshot: &'s Snapshot,
    counts: impl Fn(Group) -> bool,
) -> Option<HashMap<&'s str, i64>> {
    let rows = step.pods.iter().filter(|row| counts(row.group));
    rows.map(|row| Some((&*snapshot.pods[row.pod as usize].name, row.request?))).collect()
}
