//! The nature of what a metric measures, judging by its name, its query and its values: a counter, a time, a share, an
//! average.

use jiff::Timestamp;

use super::{About, Advice, Case, Remedy};
use crate::engine::decision::MetricStep;
use crate::keda;

/// Returns the query of KEDA's trigger for a metric, if the input has it.
fn query<'t>(case: &Case<'t>, step: &MetricStep) -> Option<&'t str> {
    let spec = &case.snapshot().hpa.spec.metrics[step.index];
    case.scaled_object()
        .and_then(|object| keda::prometheus_query(object, spec))
}

/// Whether the query of KEDA's trigger shows that a metric does not grow with the pods.
pub(super) fn says_per_pod(case: &Case<'_>, step: &MetricStep) -> bool {
    query(case, step).is_some_and(keda::is_per_pod)
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
    words_of(name).any(|word| words.contains(&word))
}

/// Returns the words of a name, which other letters and digits do not separate.
fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric())
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

/// Why a metric may be a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counter {
    /// Its name ends as those of Prometheus's counters do.
    Name,
    /// The older a pod is, the higher is its value.
    Ages,
}

impl Counter {
    /// Returns why a metric above its target may be a counter, unless its query or its name says what else it is. The
    /// suffix `_count` is as common for gauges, and old pods have more connections and bytes than new ones.
    pub(super) fn of(case: &Case<'_>, step: &MetricStep) -> Option<Self> {
        let is_above = step.proposal().is_some_and(|it| it.ratio > 1.0);
        if !is_above || step.is_resource() || query(case, step).is_some_and(keda::is_rate) {
            None
        } else if is_counter(&step.name) {
            Some(Self::Name)
        } else {
            (!is_gauge(&step.name) && rises_with_age(case, step)).then_some(Self::Ages)
        }
    }

    /// Returns the advice on a metric: any target is too low for a counter in the end.
    pub(super) fn advice(self, about: &About<'_>, metric: usize) -> Advice {
        let why = match self {
            Self::Name => ", as its name says",
            Self::Ages => ": it rises with the age of a pod",
        };
        let text = format!(
            "Use a rate of {} if it is a counter{why}.",
            about.label(metric)
        );
        Remedy::UseRate.says(text).with(about.ask(metric))
    }
}

/// Whether a name ends as those of Prometheus's counters do.
fn is_counter(name: &str) -> bool {
    name.to_lowercase().ends_with("_total")
}

/// Whether a metric is none that only rises, judging by its name.
fn is_gauge(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "bytes",
        "connection",
        "session",
        "queue",
        "depth",
        "active",
        "flight",
        "concurren",
        "pending",
        "backlog",
    ];
    const WORDS: [&str; 6] = ["per", "rate", "rps", "qps", "lag", "current"];
    let is_other = has_part(name, &PARTS) || has_word(&name.to_lowercase(), &WORDS);
    is_other || is_duration(name) || is_share(name)
}

/// Whether a metric falls with the replicas, judging by its name: a time, a share, or an average, but not the length of
/// a queue or a counter of one.
pub(super) fn falls_with_replicas(name: &str) -> bool {
    const WORDS: [&str; 6] = ["time", "wait", "delay", "avg", "average", "mean"];
    const PER_POD: [&str; 4] = ["pod", "replica", "instance", "container"];
    const NUMBERS: [&str; 8] = [
        "queue", "length", "depth", "size", "count", "total", "backlog", "messages",
    ];
    let lowercase = name.to_lowercase();
    let words: Vec<&str> = words_of(&lowercase).collect();
    let is_per_pod = words
        .windows(2)
        .any(|pair| pair[0] == "per" && PER_POD.contains(&pair[1]));
    let is_number = words.last().is_some_and(|last| NUMBERS.contains(last));
    let falls = is_duration(name) || is_share(name) || has_word(&lowercase, &WORDS);
    is_per_pod || falls && !is_number
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
