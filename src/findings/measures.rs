//! What a metric measures, judging by its name, its query and its values: a counter, a time, a share, an average.

use jiff::Timestamp;

use super::{About, Advice, Case, Remedy};
use crate::engine::decision::MetricStep;
use crate::keda;

/// Returns the query of KEDA's trigger for a metric, if the input has it.
fn query<'t>(case: &Case<'t>, step: &MetricStep) -> Option<&'t str> {
    let object = case.scaled_object()?;
    keda::prometheus_query(object, case.spec(step))
}

/// Whether the query of KEDA's trigger shows that a metric does not grow with the pods.
pub(super) fn says_per_pod(case: &Case<'_>, step: &MetricStep) -> bool {
    query(case, step).is_some_and(keda::is_per_pod)
}

/// The words for an average or a quantile.
const MEANS: [&str; 7] = ["avg", "average", "mean", "p50", "p90", "p95", "p99"];

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

/// Whether a metric measures time, judging by its name. A span over which something else is counted does not make it a
/// time, as in `requests_last_60_seconds`.
pub(super) fn is_duration(name: &str) -> bool {
    const PARTS: [&str; 4] = ["latenc", "duration", "response_time", "responsetime"];
    let words = words_of(name);
    let is_unit = |word: &str| ["seconds", "millis"].iter().any(|unit| word.contains(unit));
    let mut places = 0..words.len();
    has_part(name, &PARTS)
        || places.any(|place| is_unit(&words[place]) && !ends_before_span(&words[..place]))
}

/// Whether the words before a unit of time make it a span: `per`, or a number as in `last_60`. The number of a quantile
/// does not.
fn ends_before_span(words: &[String]) -> bool {
    const SPANS: [&str; 8] = [
        "every", "in", "last", "over", "past", "per", "than", "within",
    ];
    match words {
        [.., last] if last == "per" => true,
        [.., first, number] => is_number(number) && SPANS.contains(&&**first),
        _ => false,
    }
}

/// Why a metric may be a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counter {
    /// The metric's name ends as the names of Prometheus's counters do.
    Name,
    /// The metric's query has such a name.
    Query,
    /// The older a pod is, the higher its value is.
    Ages,
}

impl Counter {
    /// Returns why a metric above its target may be a counter, unless its query or its name says what else it is. The
    /// suffix `_count` is as common for gauges, and old pods have more connections and bytes than new ones.
    pub(super) fn of(case: &Case<'_>, step: &MetricStep) -> Option<Self> {
        let is_above = step.proposal().is_some_and(|it| it.ratio > 1.0);
        let query = query(case, step);
        if !is_above || step.is_resource() || query.is_some_and(keda::is_rate) {
            return None;
        }
        let named = if step.name.to_lowercase().ends_with("_total") {
            Some(Self::Name)
        } else {
            query.is_some_and(keda::is_counter).then_some(Self::Query)
        };
        if rises_with_age(case, step) && (named.is_some() || !is_gauge(&step.name)) {
            Some(Self::Ages)
        } else {
            named
        }
    }

    /// Returns the words for the reason, after `a counter`.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Name => ", as its name says",
            Self::Query => ", as its query says",
            Self::Ages => ": it rises with the age of a pod",
        }
    }

    /// Returns the advice on a metric: any target is too low for a counter in the end.
    pub(super) fn advice(self, about: &About<'_>, metric: usize) -> Advice {
        let text = format!(
            "Use a rate of {} if it is a counter{}.",
            about.label(metric),
            self.why()
        );
        Remedy::UseRate.says(text).with(about.ask(metric))
    }
}

/// Whether a metric can fall, judging by its name. Hits of a cache, used tokens and processed items only rise.
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
    /// Stores, and things whose current number is counted.
    const STORES: [&str; 10] = [
        "cache",
        "disk",
        "goroutines",
        "heap",
        "mem",
        "memory",
        "pool",
        "slots",
        "threads",
        "workers",
    ];
    let words = words_of(name);
    let is_amount = match &*without_statistics(&words) {
        [.., store, "entries" | "items" | "usage" | "used"] => STORES.contains(store),
        [.., "delay" | "wait", "time"] | [.., "delay" | "size" | "wait"] => true,
        [.., noun] if STORES.contains(noun) => true,
        _ => is_duration(name) && !is_sum(&words) && !is_of_clock(&words),
    };
    is_amount || has_word(name, &WORDS) || has_part(name, &["bytes"]) || is_share(name)
}

/// Whether a metric falls as replicas are added, judging by its name: a time, a share, or an average, but not a total
/// or the length of a queue.
pub(super) fn falls_with_replicas(name: &str) -> bool {
    const QUEUES: [&str; 7] = [
        "queue", "length", "depth", "size", "backlog", "messages", "lag",
    ];
    /// Words after `per` for things that grow in number with the pods.
    const EACH: [&str; 13] = [
        "backend",
        "consumer",
        "container",
        "host",
        "instance",
        "machine",
        "node",
        "pod",
        "process",
        "replica",
        "server",
        "target",
        "worker",
    ];
    let words = words_of(name);
    let is_each = |word: &str| {
        EACH.contains(&word) || word.strip_suffix('s').is_some_and(|it| EACH.contains(&it))
    };
    let is_of_each = words
        .windows(2)
        .any(|pair| pair[0] == "per" && is_each(&pair[1]));
    let is_mean = has_word(name, &MEANS) && !has_word(name, &QUEUES);
    let is_wait = has_word(name, &["wait", "delay"]) && !ends_in(&words, &QUEUES);
    let is_time = (is_duration(name) || is_time(&words)) && !is_of_clock(&words);
    !is_sum(&words) && (is_of_each || is_mean || is_wait || is_time || is_share(name))
}

/// Whether the last word of a name is one of some words.
fn ends_in(words: &[String], ends: &[&str]) -> bool {
    words.last().is_some_and(|last| ends.contains(&&**last))
}

/// Whether the words of a name describe a sum over all time, such as `processing_seconds_total`.
fn is_sum(words: &[String]) -> bool {
    ends_in(words, &["count", "sum", "total"])
}

/// Whether the words of a name describe a time: `time_in_queue` and `processing_time_p95`, but not `real_time_users`.
fn is_time(words: &[String]) -> bool {
    const AFTER: [&str; 5] = ["in", "per", "spent", "taken", "to"];
    let is_spent = |pair: &[String]| pair[0] == "time" && AFTER.contains(&&*pair[1]);
    let noun = without_statistics(words);
    matches!(*noun, [.., "time" | "times"]) || words.windows(2).any(is_spent)
}

/// Whether the words of a name describe a moment, or the time since one, which no replica shortens: `start_time`,
/// `last_sync_time` and `uptime_seconds`, but not `last_job_processing_time`.
fn is_of_clock(words: &[String]) -> bool {
    matches!(
        *without_statistics(words),
        [.., "boot" | "start", "time"] | [.., "last", _, "time"] | [.., "timestamp" | "uptime"]
    )
}

/// Whether a word is a number with a unit or a quantile, such as `5m` and `p95`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('p').unwrap_or(word);
    digits.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Whether a word is a unit of time, such as `s` and `milliseconds`.
fn is_unit_of_time(word: &str) -> bool {
    const UNITS: [&str; 16] = [
        "ns", "us", "ms", "millis", "s", "sec", "secs", "second", "m", "min", "minute", "h",
        "hour", "day", "week", "month",
    ];
    let one = word.strip_suffix('s').unwrap_or(word);
    UNITS.contains(&word) || UNITS.contains(&one) || one.ends_with("second")
}

/// Returns the words of a name without the statistics and units that end it, such as `p95`, `max_5m` and `mb`.
fn without_statistics(words: &[String]) -> Vec<&str> {
    const WORDS: [&str; 13] = [
        "gb",
        "gib",
        "kb",
        "kib",
        "last",
        "max",
        "mb",
        "median",
        "mib",
        "percentile",
        "quantile",
        "stddev",
        "tb",
    ];
    let is_listed = |word: &str| WORDS.contains(&word) || MEANS.contains(&word);
    let ends = |word: &String| is_number(word) || is_unit_of_time(word) || is_listed(word);
    let noun = words.iter().rposition(|word| !ends(word));
    let kept = &words[..noun.map_or(0, |noun| noun + 1)];
    kept.iter().map(String::as_str).collect()
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

/// Whether a metric is a share, judging by a word of its name; `operations` and `utility` are not such words.
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
            ("requests_per_service", false, true),
            ("requests_last_60_seconds", false, false),
            ("http_requests_per_seconds", false, true),
            ("http_request_p999_seconds", true, true),
            ("rpc_quantile_95_seconds", true, true),
            ("jobs_per_worker", true, true),
            ("jobs_per_process", true, true),
            ("rps_per_pods", true, true),
            ("wait_queue", false, true),
            ("delay_queue_length", false, true),
            ("time_in_progress", true, false),
            ("queue_wait_seconds", true, true),
            ("processing_seconds_total", false, false),
            ("avg_requests", true, false),
            ("checkout_p95", true, false),
            ("queue_length_p95", false, true),
            ("alb_request_count_per_target", true, true),
            ("kafka_lag_avg", false, true),
            ("lag_per_partition", false, true),
            ("requests_per_5m", false, true),
            ("real_time_messages", false, false),
            ("response_time", true, true),
            ("processing_time_p95", true, false),
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
            ("lead_time_hours", true, false),
            ("last_sync_time", false, false),
            ("cache_hits", false, false),
            ("tokens_used", false, false),
            ("heap_allocations", false, false),
            ("processing_time_sec", true, false),
            ("processing_time_p999", true, false),
            ("processing_time_max_5m", true, false),
            ("time_per_request", true, true),
            ("time_spent_waiting", true, false),
            ("interactive_requests", false, false),
            ("requests_queued", false, false),
            ("activeConnections", false, true),
            ("jobs", false, false),
            ("processing_time_last_5m", true, false),
            ("last_job_processing_time", true, false),
            ("start_up_time", true, false),
            ("next_token_time", true, false),
            ("next_run_time", true, false),
            ("start_time", false, false),
            ("process_start_time_seconds", false, false),
            ("process_uptime_seconds", false, false),
            ("last_success_timestamp_seconds", false, false),
            ("oldest_message_age_seconds", true, true),
            ("processing_time_percentile_95", true, false),
            ("processing_time_stddev", true, false),
            ("processing_time_days", true, false),
            ("lead_time_days", true, false),
            ("request_duration_milliseconds", true, true),
            ("request_duration_seconds_sum", false, false),
            ("requests_per_week", false, true),
            ("wait_time", true, true),
            ("wait_time_ms_total", false, false),
            ("requests_used", false, false),
            ("hits_usage", false, false),
            ("tokens_usage", false, false),
            ("energy_usage", false, false),
            ("seconds_used", true, false),
            ("minutes_used", false, false),
            ("cpu_time_used_s", false, false),
            ("time_used", false, false),
            ("disk_used_percent", true, true),
            ("thread_pool_usage", false, true),
            ("processed_items", false, false),
            ("requests_served_items", false, false),
            ("cache_items", false, true),
            ("size_limit_exceeded", false, false),
            ("goroutines", false, true),
            ("busy_workers", false, true),
            ("threads", false, true),
        ] {
            let found = (falls_with_replicas(name), is_gauge(name));
            assert_eq!(found, (falls, gauge), "{name}");
        }
    }
}
