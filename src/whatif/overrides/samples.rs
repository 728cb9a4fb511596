//! The values of a metric, pod by pod, wherever a snapshot holds them: in the answer of the resource metrics
//! API, which all resources share, or in the answer to that metric alone.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::saved::assemble::{described_name, resource_of};
use crate::snapshot::hpa::{Hpa, MetricSource, MetricSpec, ObjectMetricSource};
use crate::snapshot::metric::{ContainerUsage, PodMetrics, Usage};
use crate::snapshot::pod::{Phase, Pod, resource_name};
use crate::snapshot::shared::Shared;
use crate::snapshot::{MetricAnswer, PodValue, Snapshot};

/// Returns the message of a server that cannot answer for a metric.
pub(in crate::whatif) fn failure(hpa: &Hpa, spec: &MetricSpec) -> String {
    let asked = match spec.source() {
        MetricSource::Resource(_) | MetricSource::ContainerResource(_) => {
            "pods.metrics.k8s.io".to_owned()
        }
        MetricSource::Pods(_) => "pods.custom.metrics.k8s.io *".to_owned(),
        MetricSource::Object(ObjectMetricSource {
            described_object: object,
            ..
        }) => format!(
            "{}.custom.metrics.k8s.io {}",
            resource_of(object.group(), &object.kind),
            described_name(object, hpa)
        ),
        MetricSource::External(source) => format!("{}.external.metrics.k8s.io", source.metric.name),
        MetricSource::Unknown => String::new(),
    };
    format!("the server is currently unable to handle the request (get {asked})")
}

/// Returns the pods that have a value of a metric, with the value.
pub(super) fn samples(
    snapshot: &Snapshot,
    index: usize,
    spec: &MetricSpec,
) -> Vec<(Box<str>, i64)> {
    match &snapshot.metrics[index] {
        MetricAnswer::Failed(_) | MetricAnswer::Unread(_) => Vec::new(),
        _ if spec.is_resource() => {
            let (name, container) = (spec.name(), spec.container());
            let used =
                |pod: &Shared<PodMetrics>| Some((pod.name.clone(), pod.usage(name, container)?));
            snapshot.pod_metrics.iter().filter_map(used).collect()
        }
        MetricAnswer::Pods(values) => values
            .iter()
            .map(|value| (value.pod.clone(), value.value))
            .collect(),
        _ => Vec::new(),
    }
}

/// Changes the value of each pod that has one; `None` removes it.
pub(super) fn change(
    snapshot: &mut Snapshot,
    index: usize,
    spec: &MetricSpec,
    mut to: impl FnMut(&str, i64) -> Option<i64>,
) {
    if spec.is_resource() {
        let (name, container) = (spec.name(), spec.container());
        for pod in &mut snapshot.pod_metrics {
            if let Some(observed) = pod.usage(name, container) {
                let changed = to(&pod.name, observed);
                set_usage(pod, name, container, observed, changed);
            }
        }
    } else if let MetricAnswer::Pods(values) = &mut snapshot.metrics[index] {
        values.retain_mut(|value| {
            let changed = to(&value.pod, value.value);
            value.value = changed.unwrap_or_default();
            changed.is_some()
        });
    }
}

/// Gives pods without a value one that was measured now; the caller sets it afterwards.
pub(super) fn fill(
    snapshot: &mut Snapshot,
    index: usize,
    spec: &MetricSpec,
    wanted: impl Fn(&Pod) -> bool,
) {
    let Snapshot {
        now,
        hpa,
        pods,
        pod_metrics,
        metrics,
        ..
    } = snapshot;
    let wanted = pods.iter().filter(|pod| wanted(pod));
    match spec.source() {
        MetricSource::Resource(_) | MetricSource::ContainerResource(_) => {
            let (name, container) = (spec.name(), spec.container());
            metrics[index] = MetricAnswer::PodMetrics;
            let mut places: HashMap<Box<str>, usize> = HashMap::new();
            for (place, item) in pod_metrics.iter().enumerate() {
                places.entry(item.name.clone()).or_insert(place);
            }
            for pod in wanted {
                let place = *places.entry(pod.name.clone()).or_insert_with(|| {
                    pod_metrics.push(unmeasured(pod, &hpa.namespace, *now).into());
                    pod_metrics.len() - 1
                });
                let item = &mut pod_metrics[place];
                for own in pod.running(false) {
                    if !item.containers.iter().any(|usage| usage.name == own.name) {
                        let usage = ContainerUsage {
                            name: own.name.clone(),
                            usage: Usage::new(),
                        };
                        item.containers.push(usage);
                    }
                }
                // A value for the whole pod is split in this proportion: by requests, as nothing was measured.
                for usage in &mut item.containers {
                    if usage.get(name).is_none()
                        && container.is_none_or(|only| *only == *usage.name)
                    {
                        let own = pod.running(false).find(|own| own.name == usage.name);
                        let request = own
                            .and_then(|own| own.requests.get(name))
                            .map_or(0, |amount| amount.milli_value().max(0));
                        usage.usage.push((resource_name(name), request));
                    }
                }
            }
        }
        MetricSource::Pods(_) => {
            if let MetricAnswer::Failed(_) | MetricAnswer::Unread(_) = metrics[index] {
                metrics[index] = MetricAnswer::Pods(Vec::new());
            }
            let MetricAnswer::Pods(values) = &mut metrics[index] else {
                return;
            };
            let there: HashSet<Box<str>> = values.iter().map(|value| value.pod.clone()).collect();
            values.extend(
                wanted
                    .filter(|pod| !there.contains(&pod.name))
                    .map(|pod| PodValue {
                        pod: pod.name.clone(),
                        value: 0,
                        timestamp: *now,
                        window: SignedDuration::ZERO,
                    }),
            );
        }
        MetricSource::Object(_) | MetricSource::External(_) | MetricSource::Unknown => {}
    }
}

/// The item of a pod without any usage.
pub(super) fn unmeasured(pod: &Pod, namespace: &str, now: Timestamp) -> PodMetrics {
    PodMetrics {
        name: pod.name.clone(),
        namespace: Some(namespace.into()),
        labels: pod.labels.clone(),
        timestamp: now,
        window: SignedDuration::ZERO,
        containers: Vec::new(),
    }
}

/// Whether a pod is up, so that something can be measured.
pub(super) fn is_running(pod: &Pod) -> bool {
    pod.phase == Phase::Running && pod.deletion_timestamp.is_none()
}

/// Changes the usage of a pod or of one container. If it is the pod's, each container keeps its share.
fn set_usage(
    pod: &mut PodMetrics,
    resource: &str,
    container: Option<&str>,
    observed: i64,
    changed: Option<i64>,
) {
    let own = pod
        .containers
        .iter_mut()
        .filter(|c| container.is_none_or(|n| n == &*c.name));
    let Some(changed) = changed else {
        for usage in own {
            usage.usage.retain(|(name, _)| name != resource);
        }
        return;
    };
    let (mut before, mut given) = (0i128, 0i64);
    for usage in own {
        let Some((_, milli)) = usage.usage.iter_mut().find(|(name, _)| name == resource) else {
            continue;
        };
        before += i128::from(*milli);
        // If nothing is used, the first container represents all.
        let part = match observed {
            ..=0 => changed,
            _ => (i128::from(changed) * before / i128::from(observed))
                .try_into()
                .unwrap_or(changed),
        };
        *milli = part - given;
        given = part;
    }
}
