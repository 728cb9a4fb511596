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
    has_word(name, &WORDS)
}

/// Whether a name contains one of some words, in any case.
fn has_word(name: &str, words: &[&str]) -> bool {
    words_of(name).iter().any(|word| words.contains(&&**word))
}

/// Returns the words of a name in lower case, such as those of `hit_ratio`, `hitRatio` and `CPUUtilization`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_upper = false;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let ends_acronym = letters.peek().is_some_and(|next| next.is_lowercase());
        let begins = letter.is_uppercase() && (!was_upper || ends_acronym);
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        was_upper = letter.is_uppercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
    has_part(name, &PARTS) && !is_clock(&words_of(name))
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
            return None;
        }
        let is_named = step.name.to_lowercase().ends_with("_total");
        if rises_with_age(case, step) && (is_named || !is_gauge(&step.name)) {
            Some(Self::Ages)
        } else {
            is_named.then_some(Self::Name)
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

/// Whether a metric is none that only rises, judging by its name.
fn is_gauge(name: &str) -> bool {
    const WORDS: [&str; 18] = [
        "active",
        "backlog",
        "concurrency",
        "concurrent",
        "connection",
        "connections",
        "current",
        "depth",
        "flight",
        "inflight",
        "lag",
        "pending",
        "per",
        "qps",
        "queue",
        "rate",
        "rps",
        "sessions",
    ];
    /// What a name ends with that states how much there is. Hits of a cache and used tokens only rise.
    const AMOUNTS: [&str; 13] = [
        "busy",
        "cache",
        "disk",
        "entries",
        "goroutines",
        "heap",
        "items",
        "mem",
        "memory",
        "pool",
        "threads",
        "usage",
        "workers",
    ];
    const SPENT: [&str; 3] = ["credits", "quota", "tokens"];
    let words = words_of(name);
    let is_amount = match without_statistics(&words) {
        [.., what, last] if last == "used" => !SPENT.contains(&&**what),
        [.., last] => AMOUNTS.contains(&&**last),
        [] => false,
    };
    is_amount
        || has_word(name, &["size"])
        || has_word(name, &WORDS)
        || has_part(name, &["bytes"])
        || is_duration(name)
        || ends_in_time(&words)
        || is_share(name)
}

/// Whether a metric falls with the replicas, judging by its name: a time, a share, or an average, but no total, and not
/// the length of a queue.
pub(super) fn falls_with_replicas(name: &str) -> bool {
    const QUEUES: [&str; 7] = [
        "queue", "length", "depth", "size", "backlog", "messages", "lag",
    ];
    /// Words after `per` that name no pods: times, and what does not grow with them.
    const FIXED: [&str; 20] = [
        "s",
        "ms",
        "m",
        "h",
        "sec",
        "second",
        "seconds",
        "min",
        "minute",
        "minutes",
        "hour",
        "hours",
        "day",
        "days",
        "queue",
        "topic",
        "partition",
        "user",
        "tenant",
        "request",
    ];
    let words = words_of(name);
    let noun = without_statistics(&words).last();
    let ends_in = |ends: &[&str]| noun.is_some_and(|last| ends.contains(&&**last));
    let is_of_each = words
        .windows(2)
        .any(|pair| pair[0] == "per" && !is_number(&pair[1]) && !FIXED.contains(&&*pair[1]));
    let is_mean = has_word(name, &["avg", "average", "mean"]) && !has_word(name, &QUEUES);
    let is_wait = has_word(name, &["wait", "delay"]) && !ends_in(&QUEUES);
    let is_time = is_time(&words);
    let falls = is_duration(name) || is_share(name) || is_time;
    !ends_in(&["count", "total"]) && (is_of_each || is_mean || is_wait || falls)
}

/// Whether the words of a name are those of a time: `time_in_queue` and `processing_time_p95`, but not
/// `real_time_users`.
fn is_time(words: &[String]) -> bool {
    const AFTER: [&str; 5] = ["in", "per", "spent", "taken", "to"];
    let is_spent = |pair: &[String]| pair[0] == "time" && AFTER.contains(&&*pair[1]);
    (ends_in_time(words) && !is_clock(words)) || words.windows(2).any(is_spent)
}

fn ends_in_time(words: &[String]) -> bool {
    let noun = without_statistics(words).last();
    noun.is_some_and(|word| ["time", "times"].contains(&&**word))
}

/// Whether the words of a name are those of the time of an event or the time since a start, which load does not
/// change: `process_start_time_seconds` and `uptime`.
fn is_clock(words: &[String]) -> bool {
    /// Before the time of an event.
    const EVENTS: [&str; 4] = ["boot", "last", "next", "start"];
    let noun = without_statistics(words).last();
    let is_of_event = words.iter().any(|word| EVENTS.contains(&&**word));
    let is_named = noun.is_some_and(|word| ["timestamp", "uptime"].contains(&&**word));
    is_named || (is_of_event && ends_in_time(words))
}

/// Whether a word is a number with a unit or a quantile, such as `5m` and `p95`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('p').unwrap_or(word);
    digits.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Returns the words of a name without the statistics and units that end it, such as `p95`, `max_5m` and `mb`.
fn without_statistics(words: &[String]) -> &[String] {
    const WORDS: [&str; 25] = [
        "average", "avg", "gb", "gib", "h", "hours", "kb", "kib", "m", "max", "mb", "mean",
        "median", "mib", "min", "minutes", "ms", "ns", "quantile", "s", "sec", "seconds", "secs",
        "tb", "us",
    ];
    let noun = words
        .iter()
        .rposition(|word| !is_number(word) && !WORDS.contains(&&**word));
    &words[..noun.map_or(0, |noun| noun + 1)]
}

/// Whether the values of a metric are ordered by the ages of its pods, and far apart, like those of a counter
/// that starts at 0 with each pod.
fn rises_with_age(case: &Case<'_>, step: &MetricStep) -> bool {
    let mut values: Vec<(Timestamp, i64)> = step
        .pods
        .iter()
        .filter_map(|row| Some((case.observed_pod_of(step, row)?.created?, row.value?)))
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
    has_word(name, &SHARES)
}

#[cfg(test)]
mod tests {
    use super::{falls_with_replicas, is_gauge, is_share, words_of};

    #[test]
    fn the_words_of_a_name() {
        for (name, want) in [
            ("hit_ratio", &["hit", "ratio"][..]),
            ("hitRatio", &["hit", "ratio"]),
            ("CPUUtilization", &["cpu", "utilization"]),
            ("requests-per-second", &["requests", "per", "second"]),
        ] {
            assert_eq!(words_of(name), want, "{name}");
        }
        assert!(is_share("CPUUtilization") && !is_share("pending_operations"));
    }

    #[test]
    fn the_nature_of_a_metric_by_its_name() {
        for (name, falls, gauge) in [
            ("requests-per-second", false, true),
            ("requests_per_minute", false, true),
            ("requests_per_server", true, true),
            ("rps_per_pods", true, true),
            ("wait_queue", false, true),
            ("delay_queue_length", false, true),
            ("time_in_progress", true, false),
            ("queue_wait_seconds", true, true),
            ("processing_seconds_total", false, true),
            ("avg_requests", true, false),
            ("kafka_lag_avg", false, true),
            ("lag_per_partition", false, true),
            ("requests_per_5m", false, true),
            ("real_time_messages", false, false),
            ("response_time", true, true),
            ("processing_time_p95", true, true),
            ("queue_time_avg", true, true),
            ("time_to_first_token_p95", true, false),
            ("real_time_users", false, false),
            ("time_series_stored", false, false),
            ("heap_used", false, true),
            ("cacheSize", false, true),
            ("heapUsedMB", false, true),
            ("memory_usage_max", false, true),
            ("pool_size_max", false, true),
            ("cache_entries", false, true),
            ("threads_used", false, true),
            ("lead_time_hours", true, true),
            ("last_sync_time", false, true),
            ("process_uptime_seconds", false, false),
            ("process_start_time_seconds", false, true),
            ("container_start_time_seconds", false, true),
            ("last_success_timestamp_seconds", false, false),
            ("oldest_message_age_seconds", true, true),
            ("last_request_duration_seconds", true, true),
            ("wait_time_ms", true, true),
            ("wait_time_total_ms", false, false),
            ("wait_time_ms_total", false, false),
            ("goroutines", false, true),
            ("go_goroutines", false, true),
            ("busy_workers", false, true),
            ("workers_busy", false, true),
            ("jvm_threads", false, true),
            ("threads_started", false, false),
            ("cache_hits", false, false),
            ("tokens_used", false, false),
            ("heap_allocations", false, false),
            ("processing_time_sec", true, true),
            ("processing_time_p999", true, true),
            ("processing_time_max_5m", true, true),
            ("time_per_request", true, true),
            ("time_spent_waiting", true, false),
            ("interactive_requests", false, false),
            ("requests_queued", false, false),
            ("activeConnections", false, true),
            ("jobs", false, false),
        ] {
            let found = (falls_with_replicas(name), is_gauge(name));
            assert_eq!(found, (falls, gauge), "{name}");
        }
    }
}
