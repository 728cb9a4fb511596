//! The group of each pod of a metric, with the reason, and until when.

use super::Words;
use crate::apimachinery::go;
use crate::engine::decision::{Clause, Group, MetricStep, PodRow};
use crate::report::section::{Detail, Part, Section, Table};
use crate::snapshot::metric::{Measured, PodMetrics};
use crate::snapshot::pod::{Phase, Pod};
use crate::words::{amount, duration, future, metric_format, time};

/// The columns for each pod, each with whether it holds numbers.
const COLUMNS: [(&str, bool); 6] = [
    ("POD", false),
    ("USAGE", true),
    ("REQUEST", true),
    ("GROUP", false),
    ("COUNTED", true),
    ("BECAUSE", false),
];

/// Returns what belongs to the columns that are shown.
fn shown<T>(all: [T; 6], is_shown: [bool; 6]) -> Vec<T> {
    let pairs = all.into_iter().zip(is_shown);
    pairs
        .filter(|(_, shown)| *shown)
        .map(|(it, _)| it)
        .collect()
}

/// Whether a pod is known not to have a container.
fn lacks(pod: &Pod, container: Option<&str>) -> bool {
    container.is_some_and(|name| !pod.containers.is_empty() && !pod.has_container(name))
}

/// The number of unusual pods that the default report shows for each metric.
const UNUSUAL_PODS: usize = 10;

impl Words<'_> {
    /// Returns a section for each metric that uses pods.
    pub(super) fn pods(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        let measured = Measured::of(&self.explanation.pass.input.snapshot.pod_metrics);
        for metric in self.metric_steps() {
            let is_listed = |row: &&PodRow| self.wide || row.group != Group::Ready;
            let listed: Vec<&PodRow> = metric.pods.iter().filter(is_listed).collect();
            if listed.is_empty() {
                continue;
            }
            let most = if self.wide {
                listed.len()
            } else {
                UNUSUAL_PODS
            };
            let hidden = listed.len().saturating_sub(most);
            // A pod is measured, and counts with a value, unless the metric is a total.
            let usage = !metric.is_total();
            let request = metric.pods.iter().any(|row| row.request.is_some());
            let is_shown = [true, usage, request, true, usage, true];
            let rows = listed.iter().take(most);
            let cells = rows.map(|row| shown(self.pod(metric, row, &measured), is_shown));
            let table = Table::new(shown(COLUMNS, is_shown), cells.collect());
            let left_out =
                (hidden > 0).then(|| format!("and {hidden} more (-o wide shows all pods)"));
            let body = [Part::Records(table), Part::Text(Vec::from_iter(left_out))];
            let title = format!("PODS FOR {}", self.label(metric));
            sections.extend(Section::new(title, Detail::Wide, body));
        }
        sections
    }

    fn pod(&self, metric: &MetricStep, row: &PodRow, measured: &Measured<'_>) -> [String; 6] {
        let pod = &self.explanation.pass.input.snapshot.pods[row.pod as usize];
        let format = metric_format(metric);
        let value =
            |milli: Option<i64>| milli.map_or("-".to_owned(), |milli| amount(milli, format));
        let group = match row.group {
            Group::Ready => "ready",
            Group::Unready => "unready",
            Group::Missing => "missing",
            Group::Ignored => "ignored",
        };
        [
            pod.name.to_string(),
            value(row.value),
            value(row.request),
            group.to_owned(),
            value(row.counted),
            self.clause(metric, row, pod, measured.of_pod(&pod.name)),
        ]
    }

    /// Describes why a pod is in its group, and when it leaves it.
    fn clause(
        &self,
        metric: &MetricStep,
        row: &PodRow,
        pod: &Pod,
        usage: Option<&PodMetrics>,
    ) -> String {
        let controller = &self.explanation.pass.input.snapshot.controller;
        let initialization = duration(controller.cpu_initialization_period);
        let later_sample = row.sample_from.map_or_else(String::new, |from| {
            format!("until a sample of {} or later", time(self.now(), from))
        });
        let container = metric.container.as_deref();
        let (because, until) = match row.clause {
            Clause::Deleted => ("is terminating".to_owned(), "until it is removed"),
            Clause::Failed => ("has failed".to_owned(), "until it is removed"),
            Clause::Succeeded => ("has succeeded".to_owned(), "until it is removed"),
            Clause::Pending => ("is pending".to_owned(), "until it runs"),
            // These two wait for a metric that will not come.
            Clause::NoMetric if pod.phase == Phase::Succeeded => (
                "has succeeded and therefore has no metric".to_owned(),
                "until it is removed",
            ),
            Clause::NoMetric if lacks(pod, container) => {
                let container = container.unwrap_or_default();
                return format!("has no container {}", go::quote(container));
            }
            Clause::NoMetric => {
                let of_resource = usage.filter(|_| metric.is_resource());
                match of_resource.and_then(|it| it.unmeasured(&metric.name, container)) {
                    Some(container) => (
                        format!("has no {} of the container {container}", metric.name),
                        "until it arrives",
                    ),
                    None => ("has no metrics".to_owned(), "until they arrive"),
                }
            }
            Clause::NoReadiness => (
                "has no Ready condition or start time".to_owned(),
                "until its node reports them",
            ),
            Clause::InitializingNotReady => (
                format!("is not ready, and started less than {initialization} ago"),
                "until ready",
            ),
            Clause::InitializingOldSample => (
                format!(
                    "started less than {initialization} ago, and its sample window began before \
                     its last readiness change"
                ),
                &*later_sample,
            ),
            Clause::NeverReady => (
                format!(
                    "is not ready, and has not been since its first {}",
                    duration(controller.initial_readiness_delay)
                ),
                "until ready",
            ),
            Clause::NotReady => ("is not ready".to_owned(), "until ready"),
            Clause::NotRunning => ("is in an unknown phase".to_owned(), "until it runs"),
            Clause::Counted => return String::new(),
        };
        match row.until {
            Some(at) if row.clause == Clause::Deleted => {
                format!("{because}, due {}", future(self.now(), at))
            }
            Some(at) => format!(
                "{because}; {until}, {} at the latest",
                future(self.now(), at)
            ),
            None => format!("{because}; {until}"),
        }
    }
}
