//! Findings about the requests of pods, which a utilization is a share of, and about targets that the
//! usage of a pod cannot reach or cannot leave.

use super::case::Top;
use super::{Case, Finding, Severity};
use crate::engine::decision::{Block, MetricResult, MetricStep};
use crate::engine::pods::{counted_containers, counts_as_whole};
use crate::engine::rules::Rules;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{ContainerResourceMetricSource, MetricSource, MetricSpec};
use crate::snapshot::pod::Pod;

/// Containers of counted pods have no request for the resource of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRequest {
    /// The place of the metric in the spec, counted from 0.
    pub metric: usize,
    /// The resource.
    pub resource: String,
    /// The containers, by name and by whose they are.
    pub containers: Vec<Unrequested>,
    /// A container of the target's pods that has a request, where the others are injected ones: a
    /// ContainerResource metric can look at it alone.
    pub instead: Option<String>,
}

/// A container without a request, in one pod or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrequested {
    /// Its name.
    pub container: Box<str>,
    /// Where it comes from.
    pub source: Source,
    /// The pods, by name.
    pub pods: Vec<Box<str>>,
    /// The highest usage of it in one pod, in milli-units, where it was measured.
    pub usage: Option<i64>,
}

/// Where a container of a pod comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The template of the target.
    Template,
    /// Something added it to a pod of the target.
    Injected,
    /// The pod belongs to another object, or to none.
    Foreign {
        /// The object, as `Kind/name`.
        owner: Option<String>,
    },
    /// The template or the owner was not read.
    Unknown,
}

/// The containers that make a pod's request an error for lack of one.
fn unrequested<'p>(
    pod: &'p Pod,
    resource: &str,
    only: Option<&'p str>,
    rules: &Rules,
) -> Vec<&'p str> {
    let has_request = |requests: &crate::snapshot::pod::Requests| requests.get(resource).is_some();
    let containers = || pod.containers.iter().chain(&pod.init_containers);
    if counts_as_whole(pod, only, rules) {
        let any = has_request(&pod.requests) || containers().any(|it| has_request(&it.requests));
        let names = pod.containers.iter().filter(|_| !any).map(|it| &*it.name);
        return names.collect();
    }
    let counted = counted_containers(pod, only, rules);
    counted.filter(|it| !has_request(&it.requests)).map(|it| &*it.name).collect()
}

/// `missing-request`
pub(super) fn missing(case: &Case<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for step in case.metrics() {
        // What the controller says of one container only tells that there are such.
        let MetricResult::Error(error) = &step.result else { continue };
        let is_missing = ["missing request for ", "missing pod-level request for "]
            .iter()
            .any(|words| error.message.contains(words));
        if !is_missing {
            continue;
        }
        let containers = all_unrequested(case, step);
        let is_injected = |it: &Unrequested| it.source == Source::Injected;
        let instead = match step.container {
            None if containers.iter().all(is_injected) => requested(case, step),
            _ => None,
        };
        let foreign: Vec<&str> = containers
            .iter()
            .filter(|it| matches!(it.source, Source::Foreign { .. }))
            .flat_map(|it| it.pods.iter().map(|pod| &**pod))
            .collect();
        let without = match &instead {
            Some(container) => {
                Some(case.without(|snapshot| look_at(snapshot, step.index, container)))
            }
            None if containers.iter().all(|it| matches!(it.source, Source::Foreign { .. })) => {
                Some(case.without_pods(|pod| foreign.contains(&&*pod.name)))
            }
            None => None,
        };
        let (metric, resource) = (step.index, step.name.clone());
        let facts = MissingRequest { metric, resource, containers, instead };
        let finding = match case.decision().block() {
            Some(Block::Metrics) => Finding::explaining(Severity::Error, facts),
            _ => Finding::aside(Severity::Warning, facts),
        };
        found.push(Finding { without, ..finding });
    }
    found
}

fn all_unrequested(case: &Case<'_>, step: &MetricStep) -> Vec<Unrequested> {
    let rules = case.rules();
    let template = case.workload().and_then(|workload| workload.template.as_deref());
    let mut all: Vec<Unrequested> = Vec::new();
    for pod in case.pods() {
        for container in unrequested(pod, &step.name, step.container.as_deref(), &rules) {
            let source = match (case.top_owner(pod), template) {
                (Top::Target, Some(template)) if template.has_container(container) => {
                    Source::Template
                }
                (Top::Target, Some(_)) => Source::Injected,
                (Top::Other { kind, name }, _) => {
                    Source::Foreign { owner: Some(format!("{kind}/{name}")) }
                }
                (Top::NoOne, _) => Source::Foreign { owner: None },
                (Top::Target, None) | (Top::Unknown, _) => Source::Unknown,
            };
            let metrics = case.snapshot().pod_metrics.iter().find(|it| it.name == pod.name);
            let usage = metrics.and_then(|it| it.usage(&step.name, Some(container)));
            let is_same =
                |it: &&mut Unrequested| *it.container == *container && it.source == source;
            match all.iter_mut().find(is_same) {
                Some(known) => {
                    known.pods.push(pod.name.clone());
                    known.usage = known.usage.max(usage);
                }
                None => all.push(Unrequested {
                    container: container.into(),
                    source,
                    pods: vec![pod.name.clone()],
                    usage,
                }),
            }
        }
    }
    all
}

/// The only container with a request for the resource in the target's pods, where ContainerResource
/// metrics count.
fn requested(case: &Case<'_>, step: &MetricStep) -> Option<String> {
    if !case.snapshot().controller.gates.container_metrics {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for container in case.pods().flat_map(|pod| &pod.containers) {
        let has_request = container.requests.get(&step.name).is_some();
        if has_request && !names.contains(&&*container.name) {
            names.push(&container.name);
        }
    }
    match names[..] {
        [only] => Some(only.to_owned()),
        _ => None,
    }
}

/// Makes a Resource metric one of a single container.
fn look_at(snapshot: &mut Snapshot, metric: usize, container: &str) {
    let spec = &mut snapshot.hpa.spec.metrics[metric];
    let MetricSource::Resource(source) = spec.source() else { return };
    *spec = MetricSpec {
        type_: "ContainerResource".to_owned(),
        container_resource: Some(ContainerResourceMetricSource {
            name: source.name.clone(),
            target: source.target.clone(),
            container: container.to_owned(),
        }),
        ..MetricSpec::default()
    };
}
