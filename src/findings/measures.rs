//! The nature of what a metric measures, judging by its name, its query and its values: a counter, a time, a share, an
//! average.

use jiff::Timestamp;

use super::{About, Advice, Case, Remedy};
use crate::engine::decision::MetricStep;
use crate::keda;

/// Whether the query of KEDA's trigger shows that a metric does not grow with the pods.
pub(super) fn says_per_pod(case: &Case<'_>, step: &MetricStep) -> bool {
    let spec = &case.snapshot().hpa.spec.metrics[step.index];
    let query = case
        .scaled_object()
        .and_then(|object| keda::prometheus_query(object, spec));
    query.is_some_and(keda::is_per_pod)
}

/// Whether a metric is an average or a quantile, judging by a word of its name.
pub(super) fn is_average(name: &str) -> bool {
    const WORDS: [&str; 8] = [
        "avg", "average", "mean", "p50", "p90", "p95", "p99", "latency",
    ];
    has_word(&name.to_lowercase(), &WORDS)
}

/// Whether a name contains one of some words, apart from other letters and digits.
pub(super) fn has_word(name: &str, words: &[&str]) -> bool {
    name.split(|letter: char| !letter.is_alphanumeric())
        .any(|word| words.contains(&word))
}

/// Whether a name contains one of some parts, in any case.
pub(super) fn has_part(name: &str, parts: &[&str]) -> bool {
    let lowercase = name.to_lowercase();
    parts.iter().any(|part| lowercase.contains(part))
}

/// Whether a metric measures time, judging by its name.
pub(super) fn is_duration(name: &str) -> bool {
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

/// Why a metric seems to be a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counter {
    /// Its name ends as those of Prometheus's counters do.
    Name,
    /// The older a pod is, the higher is its value.
    Ages,
}

impl Counter {
    /// Returns why a metric above its target seems to be a counter, if it does. The suffix `_count` is as common for
    /// gauges, and times, shares and bytes may rise with age.
    pub(super) fn of(case: &Case<'_>, step: &MetricStep) -> Option<Self> {
        let name = step.name.to_lowercase();
        let is_above = step.proposal().is_some_and(|it| it.ratio > 1.0);
        let is_gauge = is_duration(&name) || is_share(&step.name) || has_part(&name, &["bytes"]);
        if !is_above || step.is_resource() {
            None
        } else if name.ends_with("_total") {
            Some(Self::Name)
        } else {
            (!is_gauge && rises_with_age(case, step)).then_some(Self::Ages)
        }
    }

    /// Returns the advice on a metric: any target is too low for a counter in the end.
    pub(super) fn advice(self, about: &About<'_>, metric: usize) -> Advice {
        let label = about.label(metric);
        let text = match self {
            Self::Name => {
                format!("Use a rate of {label}, if it is the counter that its name says.")
            }
            Self::Ages => {
                format!("Use a rate of {label}: like a counter, it rises with the age of a pod.")
            }
        };
        Remedy::UseRate.says(text).with(about.ask(metric))
    }
}

/// Whether the values of a metric are ordered by the ages of its pods, and far apart, like those of a counter
/// that starts at 0 with each pod.
fn rises_with_age(case: &Case<'_>, step: &MetricStep) -> bool {
    let mut values: Vec<(Timestamp, i64)> = step
        .pods
        .iter()
        .filter_map(|row| Some((case.pod_of(row).created?, row.value?)))
        .collect();
    values.sort_by_key(|(created, _)| *created);
    let falls = |pair: &[(Timestamp, i64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
    values.len() >= 3
        && values.windows(2).all(falls)
        && values[0].1 / 2 >= values[values.len() - 1].1
}

/// Whether a metric is a share, judging by a word of its name: `operations` and `utility` are others.
pub(super) fn is_share(name: &str) -> bool {
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
