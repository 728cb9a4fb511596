//! The queries of `prometheus` triggers: which metric has one, and what it measures.

use super::external::indexed;
use crate::snapshot::hpa::{MetricSource, MetricSpec};
use crate::snapshot::surroundings::ScaledObject;

/// Returns the query of a ScaledObject's `prometheus` trigger for a metric of its HPA, which is named after the
/// trigger's place: `s0-prometheus`.
pub fn prometheus_query<'o>(object: &'o ScaledObject, spec: &MetricSpec) -> Option<&'o str> {
    let MetricSource::External(source) = spec.source() else {
        return None;
    };
    let (place, type_) = indexed(&source.metric.name)?;
    let is_its = type_ == "prometheus" || type_.starts_with("prometheus-");
    let query = object.spec.queries.get(&place).filter(|_| is_its)?;
    Some(query)
}

/// Whether such a query has an average, a quantile or a value per pod, which does not grow with the number
/// of pods. No other conclusion is drawn from it.
pub(crate) fn is_per_pod(query: &str) -> bool {
    // Keywords are in any case.
    let plain = without_matchers(query).to_ascii_lowercase();
    is_average(&plain) || plain.split('/').skip(1).any(is_count)
}

/// Whether a query begins with an average. An average over queues is not an average over pods.
fn is_average(query: &str) -> bool {
    const AVERAGES: [&str; 3] = ["avg", "quantile", "histogram_quantile"];
    const QUEUES: [&str; 5] = ["queue", "messages", "backlog", "pending", "lag"];
    let first = words_of(query.trim_start_matches(is_open)).next();
    let parts: Vec<&str> = words_of(query).flat_map(|word| word.split('_')).collect();
    let is_of_queues = first == Some("avg")
        && !is_rate(query)
        && !parts.contains(&"seconds")
        && parts.iter().any(|part| QUEUES.contains(part));
    first.is_some_and(|name| AVERAGES.contains(&name)) && !is_of_queues
}

/// Whether a divisor is a number of replicas or of other series.
fn is_count(divisor: &str) -> bool {
    const COUNTS: [&str; 5] = [
        "kube_deployment_",
        "kube_statefulset_",
        "kube_replicaset_",
        "kube_pod_",
        "kube_horizontalpodautoscaler_",
    ];
    let mut words = words_of(without_join(divisor).trim_start_matches(is_open));
    let inner = words.find(|word| !["", "scalar", "sum", "max"].contains(word));
    inner.is_some_and(|it| it == "count" || COUNTS.iter().any(|start| it.starts_with(start)))
}

fn is_open(letter: char) -> bool {
    letter.is_whitespace() || letter == '('
}

/// Whether such a query has a rate of something, or the result of a recording rule that has one: the name of a rule ends
/// with its operations, as in `job:http_requests_total:rate5m`.
pub(crate) fn is_rate(query: &str) -> bool {
    const RATES: [&str; 7] = [
        "rate", "irate", "increase", "delta", "idelta", "deriv", "changes",
    ];
    let plain = without_matchers(query);
    let is_part = |part: &str| {
        let rest = RATES.iter().find_map(|rate| part.strip_prefix(rate));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let names = plain.split(|c: char| !c.is_ascii_alphanumeric() && !['_', ':'].contains(&c));
    let mut operations = names
        .filter_map(|name| name.rsplit_once(':'))
        .map(|(_, operations)| operations)
        .filter(|operations| !operations.ends_with("_total"));
    operations.any(|it| it.split('_').any(is_part))
        || words_of(&plain).any(|word| RATES.contains(&word))
}

/// Whether such a query names a counter without taking its rate. A difference or a quotient of counters is something
/// else, such as a backlog, and so is a number of series.
pub(crate) fn is_counter(query: &str) -> bool {
    const OTHER: [&str; 3] = ["offset", "count", "count_over_time"];
    let plain = without_matchers(query);
    // Keywords are in any case.
    let makes_other = |word: &str| OTHER.iter().any(|it| word.eq_ignore_ascii_case(it));
    let is_other = plain.contains(['-', '/']) || words_of(&plain).any(makes_other);
    !is_other && !is_rate(query) && words_of(&plain).any(|word| word.ends_with("_total"))
}

/// Returns the names and keywords of a query.
fn words_of(query: &str) -> impl Iterator<Item = &str> {
    query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}

/// Returns an operand without the clauses that say how it is joined, such as `on (pod) group_left`.
fn without_join(operand: &str) -> &str {
    const CLAUSES: [&str; 4] = ["on", "ignoring", "group_left", "group_right"];
    let mut rest = operand.trim_start();
    while let Some(clause) = words_of(rest).next().filter(|word| CLAUSES.contains(word)) {
        let after = rest[clause.len()..].trim_start();
        let labels = after.strip_prefix('(').and_then(|it| it.split_once(')'));
        rest = labels.map_or(after, |(_, after)| after.trim_start());
    }
    rest
}

/// Returns a query without its comments and matchers, which may contain anything.
fn without_matchers(query: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut is_matcher = false;
    let mut letters = query.chars();
    while let Some(letter) = letters.next() {
        match quote {
            // A backslash escapes the next letter, but not in a raw string.
            Some('"' | '\'') if letter == '\\' => drop(letters.next()),
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter == '#' => {
                letters.find(|letter| *letter == '\n');
                plain.push('\n');
            }
            None if ['"', '\'', '`'].contains(&letter) => quote = Some(letter),
            None if ['{', '}'].contains(&letter) => is_matcher = letter == '{',
            None if is_matcher => {}
            None => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::is_counter;

    #[test]
    fn a_counter_is_named_without_a_rate() {
        for (query, want) in [
            ("sum(http_requests_total)", true),
            (r#"sum(http_requests_total{path="/a-b"}) * 2"#, true),
            ("sum(rate(http_requests_total[2m]))", false),
            (
                "sum(http_requests_total) - sum(http_requests_total offset 5m)",
                false,
            ),
            (
                "sum(jobs_enqueued_total) - sum(jobs_completed_total)",
                false,
            ),
            ("sum(errors_total) / sum(requests_total)", false),
            ("count(http_requests_total)", false),
            ("COUNT(http_requests_total)", false),
            ("sum(queue_length)", false),
            ("sum(idelta(http_requests_total[2m]))", false),
            ("sum(changes(http_requests_total[2m]))", false),
            ("sum(job:http_requests_total:rate5m)", false),
            (
                "sum(node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate)",
                false,
            ),
            ("sum(job:http_requests_total:sum)", true),
            ("sum(job:rate_limited_total:sum)", true),
            ("sum(ns:changes_total)", true),
            ("sum(rate_limited_total)", true),
        ] {
            assert_eq!(is_counter(query), want, "{query}");
        }
    }
}
