//! Findings about metrics that fail: a metrics API that does not answer, does not know a metric or has no
//! value for it, and containers without metrics.

pub mod blocked_by_failed_metric;
pub mod container_metrics_missing;
pub mod metric_empty;
pub mod metric_failing;
pub mod metric_not_found;
pub mod metrics_api_unavailable;
pub mod miss;
#[cfg(test)]
pub(crate) mod testing;
pub mod unknown_container;

use crate::apimachinery::metadata::Condition;
use crate::engine::decision::{Block, MetricResult};
use crate::findings::prelude::*;
use crate::snapshot::MetricAnswer;
use crate::snapshot::hpa::{EXTERNAL, MetricSource, MetricSpec};
use crate::snapshot::surroundings::{ApiService, ServiceReference, Surroundings};

/// The server of an API.
struct ServedBy<'a> {
    /// The name of the APIService.
    api: &'a str,
    /// The Service, with its namespace.
    service: String,
}

impl Surroundings {
    /// Returns the APIService of a group, if it was read.
    fn api_service(&self, group: &str) -> Option<&ApiService> {
        self.api_services.iter().find(|it| {
            let name = it.metadata.name.split_once('.');
            name.is_some_and(|(_, of)| of == group)
        })
    }
}

/// Returns the condition `Available` of an APIService, if stated.
fn available(service: &ApiService) -> Option<&Condition> {
    let mut conditions = service.status.conditions.iter();
    conditions.find(|it| it.type_ == "Available")
}

/// Returns the condition `Available` of an APIService, unless it is true.
fn unavailable(service: &ApiService) -> Option<&Condition> {
    available(service).filter(|it| it.status != "True")
}

/// Whether the APIService of a group was read and is not available.
fn is_unavailable(case: &Case<'_>, group: &str) -> bool {
    let service = case.surroundings.api_service(group);
    service.and_then(unavailable).is_some()
}

/// Whether there is evidence that the API of a group answers: its APIService, its list, or another metric.
fn is_served<'p>(case: &Case<'p>, group: &'p str) -> bool {
    let service = case.surroundings.api_service(group);
    let available = service.and_then(available);
    available.is_some_and(|it| it.status == "True")
        || case.surroundings.serves(group)
        || answered(case, group).next().is_some()
}

/// Returns the metrics of the spec for which the API of a group has values.
fn answered<'p>(case: &Case<'p>, group: &'p str) -> impl Iterator<Item = &'p MetricSpec> {
    let snapshot = case.snapshot;
    let has_values = |answer: &MetricAnswer| match answer {
        MetricAnswer::Pods(values) => !values.is_empty(),
        MetricAnswer::Object(values) => !values.is_empty(),
        MetricAnswer::External(values) => !values.is_empty(),
        _ => false,
    };
    let specs = snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics);
    specs
        .filter(move |(spec, answer)| spec.api_group() == group && has_values(answer))
        .map(|(spec, _)| spec)
}

impl<'a> ServedBy<'a> {
    /// Reads an APIService; `None` if it points to no Service.
    fn of(api: &'a ApiService) -> Option<Self> {
        let ServiceReference { namespace, name } = api.spec.service.as_ref()?;
        Some(Self {
            api: &api.metadata.name,
            service: format!("{namespace}/{name}"),
        })
    }

    /// Whether the server is KEDA's, which has this name wherever it is installed.
    fn is_keda(&self) -> bool {
        self.service.contains("keda")
    }
}

/// Returns a finding about a failing metric: it explains the pass if the pass ends for lack of metrics.
pub(crate) fn failed(case: &Case<'_>, facts: impl Into<Facts>) -> Finding {
    match case.decision.block() {
        Some(Block::Metrics) => Finding::explaining(Severity::Error, facts),
        _ => Finding::aside(Severity::Warning, facts),
    }
}

/// Returns the containers of a pod that can have metrics: those that keep running.
fn running_containers(pod: &Pod) -> impl Iterator<Item = &str> {
    pod.running(false).map(|it| &*it.name)
}

/// Whether a pod, or the template of future pods, has this container and it can have metrics.
fn has_container(case: &Case<'_>, name: &str) -> bool {
    let runs = |pod: &Pod| running_containers(pod).any(|own| own == name);
    case.pods().any(runs) || case.template().is_some_and(runs)
}

/// `the external metrics API`
pub(crate) fn api(group: &str) -> String {
    let which = match group.split_once('.') {
        Some((which @ ("custom" | "external"), _)) => which,
        _ => "resource",
    };
    format!("the {which} metrics API")
}

/// Returns the first line of a text from a backend, with the middle cut out if it is long: errors start with the
/// request and end with the cause.
fn short(text: &str) -> String {
    const START: usize = 60;
    const END: usize = 120;
    /// A shorter middle is not worth a cut.
    const MIDDLE: usize = 20;
    let line = text.lines().next().unwrap_or_default();
    let letters: Vec<char> = line.chars().collect();
    if letters.len() < START + MIDDLE + END {
        return line.to_owned();
    }
    let cause = without_query(line);
    if cause != line {
        return format!("{}, query: …", short(cause));
    }
    let start: String = letters[..START].iter().collect();
    let end: String = letters[letters.len() - END..].iter().collect();
    format!("{start} … {end}")
}

/// Returns an error without the query that Datadog quotes after it.
fn without_query(line: &str) -> &str {
    line.split_once(", query: ")
        .map_or(line, |(cause, _)| cause)
}

/// The prefix of the API server's errors about a backend.
const INTERNAL: &str = "Internal error occurred: ";

/// The text that Datadog adds to the error about a metric that it does not have.
const ID: &str = ", datadogmetricid: ";

/// Returns the cause of a backend's error, which is at its end, shortened to fit into a summary.
pub(crate) fn end(text: &str) -> String {
    const END: usize = 70;
    let line = without_query(text.lines().next().unwrap_or_default());
    let named = line.split_once(ID).map_or(line, |(cause, _)| cause);
    let cause = named.strip_prefix(INTERNAL).unwrap_or(named);
    let mut ends = cause.match_indices(' ').map(|(at, _)| &cause[at + 1..]);
    match ends.find(|end| end.chars().count() <= END) {
        Some(end) if cause.chars().count() > END => format!("… {end}"),
        _ => cause.to_owned(),
    }
}

/// Describes the server of an API.
fn points_at(ServedBy { api, service }: &ServedBy<'_>) -> String {
    format!(
        "The APIService {api} points at the Service {service}; only one server can serve an API."
    )
}

/// Returns the advice to let KEDA serve the external metrics, with a command that shows the current server.
fn point_at_keda(ServedBy { api, service }: &ServedBy<'_>) -> Advice {
    let advice = Remedy::PointApiService.says(format!(
        "Point {api} at KEDA's metrics server, which ends the metrics of {service} for other HPAs; or read its \
         metrics in an HPA of their own."
    ));
    advice.with(format!(
        "kubectl get apiservice {} -o yaml",
        shell_word(api)
    ))
}

impl<'a> About<'a> {
    /// Returns the server of the external metrics, if the HPA is KEDA's but the server is not.
    fn not_of_keda(&self, group: &str) -> Option<ServedBy<'a>> {
        self.hpa.scaled_object().filter(|_| group == EXTERNAL)?;
        let api = self.pass.input.surroundings.api_service(group)?;
        ServedBy::of(api).filter(|it| !it.is_keda())
    }

    /// Describes the effect of a failing metric on the pass.
    pub(crate) fn effect(&self, it: &str) -> String {
        let (decision, spec) = (&self.pass.decision, &self.hpa.spec);
        let failed = self.finding.facts.kind().failed_metrics();
        let is_unread = |step: &MetricStep| matches!(step.result, MetricResult::Unread(_));
        let mut own = decision
            .metrics()
            .filter(|step| failed.contains(&step.index));
        if own.any(is_unread) {
            return "so nothing was scaled in the last pass".to_owned();
        }
        let goes = |left: i32| spec.may_scale(Direction::Down, left);
        let may_go = decision.replicas_after().is_some_and(goes);
        if decision.corrects().is_some() {
            return if failed.len() == spec.metrics.len() {
                "so nothing is scaled after this pass".to_owned()
            } else if may_go {
                format!("so {it} blocks scaling down after this pass")
            } else {
                format!("so {it} cannot add replicas after this pass")
            };
        }
        let has_others = decision.metrics().any(|step| step.proposal().is_some());
        if has_others && !self.finding.explains {
            format!("so {it} is left out of the decision")
        } else if has_others && may_go {
            format!("so {it} blocks scaling down")
        } else {
            "so nothing is scaled".to_owned()
        }
    }

    /// Describes where a metric is looked up, if its series may be in another namespace: neither pods nor the
    /// metrics that KEDA serves itself are.
    fn looked_up(&self, metric: usize) -> Option<String> {
        let namespace = &self.hpa.namespace;
        match self.spec(metric).source() {
            MetricSource::External(_) if self.owner().is_none() => Some(format!(
                "It is looked up in the HPA's namespace, {namespace}. prometheus-adapter looks at \
                 series of others only under a rule with namespaced: false."
            )),
            _ if self.hpa.describes_other_namespace(self.spec(metric)) => Some(format!(
                "The name of a Namespace is ignored: it is looked up for the HPA's own, {namespace}."
            )),
            MetricSource::Object(source) if !source.described_object.is_namespace() => {
                let object = &source.described_object;
                Some(format!(
                    "It is looked up for {object} in the HPA's namespace, {namespace}: an object \
                     of another one cannot be described."
                ))
            }
            _ => None,
        }
    }

    /// Returns the additional advice on a failing trigger if KEDA could replace its value: `, or set its
    /// spec.fallback`. It does so for targets of type AverageValue (`CheckFallbackValid`).
    fn or_fallback(&self, owner: OwnScaledObject<'_>, metrics: &[usize], fallback: &str) -> String {
        let has_average = |metric: &usize| {
            !self.spec(*metric).is_resource() && self.target_of(*metric).average_value.is_some()
        };
        let object = owner.object;
        let has_none = object.is_none_or(|it| it.spec.fallback.is_none());
        if has_none && metrics.iter().all(has_average) {
            format!(", or set {fallback}")
        } else {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests;
