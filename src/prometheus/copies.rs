//! Series that differ in a label: several servers that scrape the same, or several clusters in one store.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::answer::Series;
use crate::apimachinery::go::quote;
use crate::apimachinery::names::shell_word;
use crate::error::{Error, listed};

/// Returns the note about an HPA that exists more than once, as in a store for several clusters. Labels
/// that distinguish two servers with the same targets do not count.
pub fn several<'a>(copies: impl Iterator<Item = &'a Series>) -> Option<String> {
    const OF_SCRAPES: [&str; 13] = [
        "__name__",
        "container",
        "endpoint",
        "horizontalpodautoscaler",
        "instance",
        "job",
        "namespace",
        "node",
        "pod",
        "prometheus",
        "receive",
        "service",
        "uid",
    ];
    let (label, values) = differing(copies)
        .into_iter()
        .find(|(label, _)| !OF_SCRAPES.contains(label) && !OF_REPLICAS.contains(label))?;
    let first = values.first().copied().unwrap_or_default();
    let matcher = shell_word(&format!("{label}={}", quote(first)));
    Some(format!(
        "Prometheus has this HPA with several values of {label} ({}): their series are mixed; --prometheus-match \
         {matcher} selects one",
        listed(&values)
    ))
}

/// Returns the note about usage that several servers recorded, as series of one container at the same time: one
/// server is followed.
pub fn followed<'a>(usage: impl Iterator<Item = &'a Series>) -> Option<String> {
    // When a container replaces another, both may be present for a moment.
    const OF_RUNS: [&str; 3] = ["id", "image", "name"];
    let mut containers: BTreeMap<[Option<&str>; 3], Vec<&Series>> = BTreeMap::new();
    for series in usage.filter(|series| !series.points.is_empty()) {
        let key = ["__name__", "pod", "container"].map(|label| series.labels.get(label));
        containers.entry(key).or_default().push(series);
    }
    containers
        .values()
        .flat_map(|all| all.windows(2))
        .find_map(|pair| {
            let labels = differing(pair.iter().copied().filter(|_| meet(pair[0], pair[1])));
            let label = labels.into_keys().find(|label| !OF_RUNS.contains(label))?;
            let of = containers
                .values()
                .flatten()
                .filter_map(|own| own.labels.get(label));
            let values: BTreeSet<&str> = of.collect();
            Some(format!(
                "Prometheus has the usage with several values of {label} ({}), as from servers that scrape the same: of \
                 each container, the one with more samples counts, and another where it has none",
                listed(&Vec::from_iter(values))
            ))
        })
}

/// Whether there were samples of both series at the same time.
fn meet(one: &Series, other: &Series) -> bool {
    let (Some((start, end)), Some((other_start, other_end))) = (one.span(), other.span()) else {
        return false;
    };
    start < other_end && other_start < end
}

/// The labels with which servers that scrape the same targets commonly distinguish their series.
const OF_REPLICAS: [&str; 5] = [
    "__replica__",
    "prometheus_replica",
    "receive_replica",
    "replica",
    "rule_replica",
];

/// Returns the label in which series differ, if some of them are copies by several servers.
pub fn copies(series: &[Series]) -> Option<&str> {
    let mut found: BTreeMap<Vec<(&str, &str)>, &Series> = BTreeMap::new();
    series.iter().find_map(|own| {
        let labels = own
            .labels
            .iter()
            .filter(|(label, _)| !OF_REPLICAS.contains(label));
        let other = found.insert(labels.collect(), own)?;
        differing([own, other].into_iter()).into_keys().next()
    })
}

/// Returns the error if a query returns several series where only one is expected.
pub fn not_one(of: &str, series: &[Series]) -> Error {
    let count = series.len();
    match copies(series) {
        Some(label) => Error::failed(format!(
            "the query for {of} gives copies of a series, which differ in {label}"
        ))
        .hint(format!(
            "count each once, as with sum(max without ({label}) (...))"
        )),
        None => Error::failed(format!("the query for {of} gives {count} series, not one"))
            .hint("aggregate them, as with sum(...)"),
    }
}

/// Returns the labels in which series differ, each with its values.
fn differing<'a>(all: impl Iterator<Item = &'a Series>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut labels: BTreeMap<&str, (Vec<&str>, HashSet<&str>)> = BTreeMap::new();
    for series in all {
        for (label, value) in series.labels.iter() {
            let (values, known) = labels.entry(label).or_default();
            if known.insert(value) {
                values.push(value);
            }
        }
    }
    labels
        .into_iter()
        .map(|(label, (values, _))| (label, values))
        .filter(|(_, values)| values.len() > 1)
        .collect()
}
