//! Findings about misleading values: old samples, a value in a different unit from its target, and
//! a target that lets a value multiply the replicas.

pub mod stale_samples;
pub mod suspect_unit;
pub mod value_multiplies;

use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::MetricStep;
use crate::findings::path::bound::rises_with_age;
use crate::findings::{About, Case};
use crate::keda;
use crate::words::amount_of;

impl About<'_> {
    /// Describes an amount of a metric.
    fn amount(&self, metric: usize, amount: &Quantity) -> String {
        amount_of(Some(self.spec(metric)), amount)
    }
}

/// Whether the query of KEDA's trigger shows that a metric does not grow with the pods.
fn says_per_pod(case: &Case<'_>, step: &MetricStep) -> bool {
    let spec = &case.snapshot().hpa.spec.metrics[step.index];
    let query = case
        .scaled_object()
        .and_then(|object| keda::prometheus_query(object, spec));
    query.is_some_and(keda::is_per_pod)
}

/// Whether a metric is an average or a quantile, judging by a word of its name.
fn is_average(name: &str) -> bool {
    const WORDS: [&str; 8] = [
        "avg", "average", "mean", "p50", "p90", "p95", "p99", "latency",
    ];
    has_word(&name.to_lowercase(), &WORDS)
}

/// Whether a name contains one of some words, apart from other letters and digits.
fn has_word(name: &str, words: &[&str]) -> bool {
    name.split(|letter: char| !letter.is_alphanumeric())
        .any(|word| words.contains(&word))
}

/// Whether a name contains one of some parts, in any case.
fn has_part(name: &str, parts: &[&str]) -> bool {
    let lowercase = name.to_lowercase();
    parts.iter().any(|part| lowercase.contains(part))
}

/// Whether a metric measures time, judging by its name.
fn is_duration(name: &str) -> bool {
    const PARTS: [&str; 6] = [
        "latenc",
        "duration",
        "seconds",
        "millis",
        "response_time",
        "responsetime",
    ];
    has_part(name, &PARTS)
}

/// Whether a metric above its target is a counter, judging by Prometheus's suffix for counters or by the ages of its
/// pods. The suffix `_count` is as common for gauges, and times, shares and bytes may rise with age.
fn is_counter(case: &Case<'_>, step: &MetricStep) -> bool {
    let name = step.name.to_lowercase();
    let is_above = step.proposal().is_some_and(|it| it.ratio > 1.0);
    let is_gauge = is_duration(&name) || is_share(&step.name) || has_part(&name, &["bytes"]);
    let rises = || !is_gauge && rises_with_age(case, step);
    is_above && !step.is_resource() && (name.ends_with("_total") || rises())
}

/// Whether a metric is a share, judging by a word of its name: `operations` and `utility` are others.
fn is_share(name: &str) -> bool {
    const SHARES: [&str; 8] = [
        "util",
        "utilization",
        "utilisation",
        "percent",
        "percentage",
        "pct",
        "fraction",
        "ratio",
    ];
    let mut words = String::new();
    let mut was_upper = false;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        // As in `hitRatio` and in `CPUUtilization`.
        let begins = !was_upper || letters.peek().is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && begins {
            words.push('_');
        }
        was_upper = letter.is_uppercase();
        words.extend(letter.to_lowercase());
    }
    has_word(&words, &SHARES)
}

/// Returns the total of a metric, or its value of each pod, in thousandths.
pub(crate) fn values(step: &MetricStep) -> Vec<i64> {
    let proposal = step.proposal();
    let total = proposal.and_then(|it| it.total.as_ref().or(it.current.value.as_ref()));
    match total {
        Some(total) => vec![total.milli_value()],
        None => step.pods.iter().filter_map(|row| row.value).collect(),
    }
}
