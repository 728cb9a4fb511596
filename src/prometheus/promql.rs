//! Parts of queries in PromQL: series with conditions, quoted texts, and what several queries make of series.

use std::fmt;

use super::scraped::Scraped;

/// Series by name and labels: `name{label="value"}`.
pub(super) struct SeriesSelector {
    /// The name of the metric.
    pub(super) name: String,
    /// Conditions on labels, such as `pod="web-1"`; several may be joined by commas.
    pub(super) matchers: Vec<String>,
}

impl SeriesSelector {
    /// Returns the same series with one more condition.
    pub(super) fn and(mut self, matcher: String) -> Self {
        self.matchers.push(matcher);
        self
    }

    /// Returns the same series, limited to those with a label that matches a regular expression.
    pub(super) fn like(self, label: &str, pattern: &str) -> Self {
        self.and(format!("{label}=~{}", quote(pattern)))
    }
}

impl fmt::Display for SeriesSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{{{}}}", self.name, self.matchers.join(","))
    }
}

/// Returns the query for the rate of a counter between its last two samples, at the samples' times: the
/// interval depends neither on the start of a window nor on lost scrapes. If the counter was reset between
/// them, the previous rate applies, because the usage until the reset is unknown.
pub(super) fn rate(counter: &SeriesSelector, scraped: Scraped) -> String {
    let (reach, before) = (scraped.reach(), scraped.before_reset());
    let range = format!("{counter}[{reach}s]");
    format!(
        "(irate({range}) and idelta({range}) >= 0 or irate({range} offset {before}s) and \
         idelta({range}) < 0)"
    )
}

/// Returns the sum over the containers of these pods.
pub(super) fn sum(each: &str, pods: &str) -> String {
    format!("sum(max by (namespace, pod, container) ({each}) and on (namespace, pod) {pods})")
}

/// Returns the values that are no older than the window: Prometheus would repeat a value for five minutes.
pub(super) fn fresh(series: &SeriesSelector, window: i64) -> String {
    format!("({series} and present_over_time({series}[{window}s]))")
}

/// Returns a text as a PromQL string, which has Go's escapes.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a regular expression that matches only this text.
pub(super) fn literal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
