//! Findings about misleading values: old samples, a value in a different unit from its target, and
//! a target that lets a value multiply the replicas.

pub mod stale_samples;
pub mod suspect_unit;
pub mod value_multiplies;

use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::MetricStep;
use crate::findings::About;
use crate::words::amount_of;

impl About<'_> {
    /// Describes an amount of a metric.
    fn amount(&self, metric: usize, amount: &Quantity) -> String {
        amount_of(Some(self.spec(metric)), amount)
    }
}

/// Returns the total of a metric, or its value for each pod, in thousandths.
pub(crate) fn values(step: &MetricStep) -> Vec<i64> {
    let proposal = step.proposal();
    let total = proposal.and_then(|it| it.total.as_ref().or(it.current.value.as_ref()));
    match total {
        Some(total) => vec![total.milli_value()],
        None => step.pods.iter().filter_map(|row| row.value).collect(),
    }
}
