//! A metric that is set to one value after the other, to see what a pass makes of each.

use super::metric::{Metric, PodPart, Spread, failure_of};
use super::pods::check_read;
use super::samples::{change, samples};
use crate::error::Error;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricSpec;
use crate::whatif::value::{AssumedValue, Ratio};

/// A metric that is set repeatedly, in the unit of its target: whole percents of the requests, or else milli-units. The
/// result is the same as with [`super::set_metric`], but the pods are evaluated only once.
pub struct Dial {
    observed: Snapshot,
    metric: Metric,
    /// The values that a percentage is taken of; `None` for amounts.
    parts: Option<Vec<PodPart>>,
    /// Whether no pod had a value.
    filled: bool,
    /// The other places in the spec of the same metric.
    also: Vec<usize>,
    /// The weight of all pods in the metric at its place.
    all: i128,
    /// The weight of the pods whose values count.
    counted: i128,
    changed: Snapshot,
}

impl Dial {
    /// Creates a dial for the metric at a place in the spec, or for a container's part of that metric in all pods.
    ///
    /// # Errors
    ///
    /// The same as for [`super::set_metric`].
    pub fn new(snapshot: &Snapshot, index: usize, container: Option<&str>) -> Result<Self, Error> {
        // Its pods weigh as much as without the containers.
        let whole = container
            .map(|_| Self::new(snapshot, index, None))
            .transpose()?;
        let specs = &snapshot.hpa.spec.metrics;
        let metric = Metric::of(snapshot, index, &specs[index].part(container))?;
        let (own, id) = (&metric.spec, metric.spec.id());
        if own.needs_pods() {
            check_read(snapshot)?;
        }
        let is_same = |other: &MetricSpec| other.name() == own.name() && other.id() == id;
        let also = (0..specs.len())
            .filter(|place| *place != index && is_same(&specs[*place]))
            .collect();
        let filled = samples(snapshot, index, own).is_empty();
        let mut changed = snapshot.clone();
        let percent = own.is_utilization();
        metric.set(&mut changed, &AssumedValue::Amount(0))?;
        let base = if filled { &changed } else { snapshot };
        let step = metric.step(base, percent);
        let weights = step.as_ref().map(|step| metric.weights(base, step));
        let [all, counted] = weights.unwrap_or([1, 1]);
        let parts = percent
            .then(|| metric.parts(base, &step?, true))
            .transpose()
            .map_err(|e| match failure_of(base, index, own) {
                Some(message) => Error { message, ..e },
                None => e,
            })?;
        Ok(Self {
            observed: snapshot.clone(),
            metric,
            parts,
            filled,
            also,
            all: whole.map_or(all, |whole| whole.all),
            counted,
            changed,
        })
    }

    /// The sum of the values that a percentage is taken of.
    fn whole(&self) -> i128 {
        self.parts.iter().flatten().map(PodPart::whole).sum()
    }

    /// The factor by which the dial has to go further than the metric at its place. Pods that do not count are assumed
    /// to use nothing, so pods that count must use a larger share of their requests; and so must a container with a
    /// small request to change the share of its pod.
    pub fn reach(&self) -> i64 {
        let times = (self.all.max(1) - 1) / self.counted.max(1) + 1;
        times.try_into().unwrap_or(i64::MAX)
    }

    /// Returns the places in the spec of all metrics that read the dial's values.
    pub(in crate::whatif) fn places(&self) -> Vec<usize> {
        let Metric { index, spec, .. } = &self.metric;
        let metrics = self.observed.hpa.spec.metrics.iter().enumerate();
        let reading = metrics.filter(|(place, other)| {
            place == index || self.also.contains(place) || other.shares_usage(spec)
        });
        reading.map(|(place, _)| place).collect()
    }

    /// Whether pods were given usage that they did not have, which other metrics may read as well.
    pub(in crate::whatif) fn is_filled(&self) -> bool {
        self.filled && self.metric.spec.is_resource()
    }

    /// Whether the dial's values are percents of the requests.
    pub fn is_percent(&self) -> bool {
        self.parts.is_some()
    }

    /// The highest value at which the controller's sums stay within 64 bits.
    pub fn end(&self) -> i64 {
        let most = match &self.parts {
            // Percents are 32 bits wide.
            Some(_) => (i128::from(i64::MAX) / self.whole().max(1)).min(i32::MAX.into()),
            None if self.metric.spec.is_total() => i128::from(i64::MAX) / 2,
            None => {
                let values = self.changed.pods.len().max(self.changed.pod_metrics.len());
                i128::from(i64::MAX) / (values as i128 + 1)
            }
        };
        most.try_into().unwrap_or(i64::MAX)
    }

    /// The snapshot with the metric at a value.
    ///
    /// # Errors
    ///
    /// The value is larger than any metric can be.
    pub fn set(&mut self, value: i64) -> Result<&Snapshot, Error> {
        let Self {
            observed,
            metric,
            parts,
            filled,
            also,
            changed,
            ..
        } = self;
        if metric.spec.is_resource() && metric.spec.container().is_none() && !*filled {
            // Each container keeps its share of the observed usage.
            for (to, from) in changed.pod_metrics.iter_mut().zip(&observed.pod_metrics) {
                for (to, from) in to.containers.iter_mut().zip(&from.containers) {
                    for ((_, to), (_, from)) in to.usage.iter_mut().zip(&from.usage) {
                        *to = *from;
                    }
                }
            }
        }
        match parts {
            Some(parts) => {
                let ratio = Ratio::percent(value.unsigned_abs());
                metric.spread(changed, Spread::of(ratio, true), parts)?;
            }
            None if metric.spec.is_total() => {
                metric.set_total(changed, &AssumedValue::Amount(value))?;
            }
            None => change(changed, metric.index, &metric.spec, |_, _| Some(value)),
        }
        for place in also {
            let answer = changed.metrics[metric.index].clone();
            changed.metrics[*place] = answer;
        }
        Ok(changed)
    }
}
