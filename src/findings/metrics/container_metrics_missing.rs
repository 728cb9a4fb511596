//! The finding `container-metrics-missing`.

use super::{failed, has_container, running_containers};
use crate::findings::prelude::*;
use crate::findings::wording::{APART, pod_objects};
use crate::snapshot::MetricAnswer;

/// Pods, or the template of the target, have the container of a ContainerResource metric, but the metrics of some pods
/// lack it. Before Kubernetes 1.33, one such pod fails the metric for all pods.
///
/// Find out why the container does not run, or let the rollout that adds it finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerMetricsMissing {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The container.
    pub container: String,
    /// The pods.
    pub pods: Vec<Unmeasured>,
    /// The total number of pods.
    pub all: usize,
    /// Whether one such pod fails the metric, by the rules of the version.
    pub fails: bool,
    /// The containers of the target's template, if a pod that may belong to the target lacks the container and the
    /// template was read.
    pub template: Option<Vec<Box<str>>>,
    /// The active pods of the target that lack the template's only container.
    pub earlier: Vec<Box<str>>,
}

impl Kind for ContainerMetricsMissing {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        case.metrics()
            .filter_map(|step| Self::of(case, step))
            .collect()
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        let finding = about.finding;
        let uncounted = about.first(|it| match &it.facts {
            Facts::UncountedPods(facts) => !facts.count && it.pods() == finding.pods(),
            _ => false,
        });
        let is_info = finding.severity == Severity::Info;
        uncounted
            .filter(|_| is_info)
            .or_else(|| about.endless_rollout())
    }

    fn failed_metrics(&self) -> Vec<usize> {
        vec![self.metric]
    }

    fn summary(&self, about: &About<'_>) -> String {
        let (label, pods) = (about.label(self.metric), self.pods.len());
        if self.of_candidate(about).is_some() {
            let (container, effect) = (&self.container, about.effect(&label));
            return format!("no pod runs {container} yet, {effect}");
        }
        let effect = if self.fails {
            "which fails the metric for all pods"
        } else {
            one_or_many(pods, "so it counts as missing", "so they count as missing")
        };
        let have = one_or_many(pods, "has", "have");
        let all = count(self.all, "pod");
        format!("{pods} of {all} {have} no metrics for {label}, {effect}")
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        if self.of_candidate(about).is_some() {
            return Vec::new();
        }
        let shown = self.pods.iter().take(3);
        let mut evidence: Vec<String> = shown
            .map(|pod| pod.sentence(about, &self.container))
            .collect();
        if self.fails && self.pods.iter().all(|it| it.has_container) {
            evidence.push("Since Kubernetes 1.33, such a pod does not fail the metric.".to_owned());
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let container = &self.container;
        if let Some(state) = self.of_candidate(about) {
            return Remedy::StateInput.says(format!("{}.", sentence(&state)));
        }
        let lacking: Vec<&Unmeasured> = self.pods.iter().filter(|it| !it.has_container).collect();
        if lacking.is_empty() {
            let first = self.pods.first();
            return Remedy::FindUnready
                .says(format!(
                    "Find out why {container} does not run in {}.",
                    names(&self.pods())
                ))
                .with_all(first.map(|pod| pod.logs(about, container)));
        }
        // No rollout of the target changes them.
        if lacking.iter().all(|it| it.is_foreign) {
            return Remedy::LabelApart
                .says(APART)
                .with_all(about.list_pods("--show-labels"));
        }
        match &self.template {
            None => Remedy::NameContainer
                .says("Use a container that all pods have.")
                .with_all(about.list_pods("")),
            Some(template) if !template.iter().any(|it| **it == **container) => {
                self.use_another(about, template)
            }
            Some(_) if about.is_paused() => Remedy::Resume
                .says(format!(
                    "Resume the rollout: the template has the container {container}."
                ))
                .with_all(about.resume()),
            Some(_) => {
                let pods: Vec<&str> = lacking.iter().map(|it| &*it.pod).collect();
                let because = format!(": the template has the container {container}");
                about
                    .after_rollout(&pods, &because, None)
                    .with_all(about.rollout_status(&pods))
            }
        }
    }

    fn pods(&self) -> Vec<&str> {
        self.pods.iter().map(|it| &*it.pod).collect()
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        match self.of_candidate(about) {
            Some(_) => about.own(),
            None => pod_objects(&self.pods()),
        }
    }
}

impl ContainerMetricsMissing {
    /// Returns the finding about a metric.
    fn of(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
        let container = step.container.clone()?;
        let answer = case.snapshot.metrics.get(step.index);
        if !has_container(case, &container) || !matches!(answer, Some(MetricAnswer::PodMetrics)) {
            return None;
        }
        let pods: Vec<Unmeasured> = case
            .pods()
            .filter_map(|pod| Unmeasured::of(case, step, pod, &container))
            .collect();
        if pods.is_empty() {
            return None;
        }
        let fails = if pods.iter().all(|it| it.has_container) {
            !case.rules.container_may_be_missing
        } else {
            step.proposal().is_none()
        };
        let template = case
            .template()
            .filter(|_| pods.iter().any(|it| !it.has_container && !it.is_foreign))
            .map(|template| Vec::from_iter(running_containers(template).map(Box::<str>::from)));
        let earlier = match template.as_deref() {
            Some([only]) => names_without(case, only),
            _ => Vec::new(),
        };
        let facts = Self {
            metric: step.index,
            container,
            pods,
            all: case.pods().count(),
            fails,
            template,
            earlier,
        };
        Some(if step.is_failed() {
            failed(case, facts)
        } else {
            Finding::aside(Severity::Info, facts)
        })
    }

    /// Returns the advice to state the usage of the container, if no pod has run it yet.
    fn of_candidate(&self, about: &About<'_>) -> Option<String> {
        let state = about.of_candidate(self.metric)?;
        about.is_new(&self.container).then_some(state)
    }

    /// Returns the advice to use a container that the template has, once all pods have it.
    fn use_another(&self, about: &About<'_>, template: &[Box<str>]) -> Advice {
        match template {
            [only] => {
                let metric = about.container_metric(self.metric, only);
                let earlier: Vec<&str> = self.earlier.iter().map(|pod| &**pod).collect();
                if earlier.is_empty() {
                    let advice = Remedy::UseContainer.says(format!("Use {metric}."));
                    return advice.with_all(about.replace_container(self.metric, only));
                }
                let command = if about.is_paused() {
                    about.resume()
                } else {
                    about.rollout_status(&earlier)
                };
                about
                    .after_rollout(&earlier, &format!(", then use {metric}"), None)
                    .with_all(command)
            }
            several => Remedy::NameContainer.says(format!(
                "Use a container of the template: {}.",
                names(several)
            )),
        }
    }
}

/// Returns the active pods of the target that lack a container.
fn names_without(case: &Case<'_>, container: &str) -> Vec<Box<str>> {
    let pods = case.own_pods().filter(|pod| pod.is_active());
    let lacking = pods.filter(|pod| running_containers(pod).all(|it| it != container));
    lacking.map(|pod| pod.name.clone()).collect()
}

/// A pod that lacks a container, or whose metrics lack it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    /// Its name.
    pub pod: Box<str>,
    /// Whether the pod has the container.
    pub has_container: bool,
    /// Whether the pod certainly does not belong to the target.
    pub is_foreign: bool,
    /// The reason why the container is waiting, if it waits.
    pub waiting: Option<Box<str>>,
    /// The number of restarts of the container.
    pub restarts: i32,
}

impl Unmeasured {
    /// Returns the facts about a pod that lacks the container, or whose metrics do.
    fn of<'p>(case: &Case<'p>, step: &MetricStep, pod: &'p Pod, container: &str) -> Option<Self> {
        let has_container = running_containers(pod).any(|it| it == container);
        let is_lacking = case
            .metrics_of(pod)
            .is_some_and(|own| own.containers.iter().all(|it| *it.name != *container));
        if !is_lacking && (has_container || step.proposal().is_some()) {
            return None;
        }
        let status = pod.status_of(container);
        let waiting = status.and_then(|status| status.waiting.as_ref());
        Some(Self {
            pod: pod.name.clone(),
            has_container,
            is_foreign: case.is_foreign(pod),
            waiting: waiting.map(|waiting| waiting.reason.clone()),
            restarts: status.map_or(0, |status| status.restart_count),
        })
    }

    /// Describes why the container has no metrics.
    fn sentence(&self, about: &About<'_>, container: &str) -> String {
        let name = &self.pod;
        let restarts = count(self.restarts, "restart");
        match &self.waiting {
            _ if !self.has_container && self.is_foreign => format!(
                "{name}, which does not belong to {}, has no container {container}.",
                about.reference()
            ),
            _ if !self.has_container => format!("{name} has no container {container}."),
            Some(reason) => format!("{container} of {name} waits: {reason}, {restarts}."),
            None if self.restarts > 0 => format!("{container} of {name} has had {restarts}."),
            None => format!("{container} of {name} has not been measured."),
        }
    }

    /// Returns a command that shows the container's logs, or its logs from before the restart.
    fn logs(&self, about: &About<'_>, container: &str) -> Command {
        let container = format!("{} -c {}", shell_word(&self.pod), shell_word(container));
        let previous = if self.restarts > 0 { "--previous" } else { "" };
        about.kubectl_quoted("logs", &container, previous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::metrics::testing::container;
    use crate::findings::pods::testing::crashing;
    use crate::findings::testing::{only, said, state as stated, with_one, with_pod, with_spec};

    /// A container that only the template has. A partition leaves the pods below it as they are.
    #[test]
    fn a_container_that_a_partition_keeps_from_pods() {
        let state = |partition: i32| {
            let target = json!({"scaleTargetRef": {"kind": "StatefulSet"}});
            let items = with_spec(&stated(&[container("app")], &["50m", "50m"]), &target);
            let old = json!({"spec": {"containers": [build::requesting("old", "100m")]}});
            let usage = json!({"containers": [{"name": "old", "usage": {"cpu": "50m"}}]});
            let items = with_pod(&items, "web-1", &old);
            let mut items = with_one(&items, "PodMetrics", "web-1", &usage);
            items.push(json!({
                "apiVersion": "apps/v1", "kind": "StatefulSet",
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                    "updateStrategy": {"rollingUpdate": {"partition": partition}},
                    "template": {"spec": {"containers": [build::requesting("app", "100m")]}}},
                "status": {"replicas": 2, "updateRevision": "new"},
            }));
            items
        };
        let text = |partition: i32| {
            let text = said(Code::ContainerMetricsMissing, &state(partition));
            (text.advice.text(), text.commands)
        };
        let patch = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}});
        let lower = format!("kubectl patch statefulset/web -n default --type=merge -p '{patch}'");
        let lowered =
            "Lower partition (2) to 1 in the update strategy: the template has the container app.";
        assert_eq!(text(2), (lowered.to_owned(), vec![lower]));
        let status = "kubectl rollout status statefulset/web -n default --watch=false";
        let wait = "Wait for the rollout to end: the template has the container app.";
        assert_eq!(text(1), (wait.to_owned(), vec![status.to_owned()]));
        // Its rollout does not end before its new pod is ready.
        let of = |revision: &str| json!({"metadata": {"labels": {"controller-revision-hash": revision}}});
        let crashed = crashing();
        let follows = |partition: i32, crashes: &str| {
            let items = with_pod(&state(partition), "web-0", &of("new"));
            let items = with_pod(&with_pod(&items, "web-1", &of("old")), crashes, &crashed);
            only(Code::ContainerMetricsMissing, &items).and_then(|it| it.follows)
        };
        assert_eq!(follows(1, "web-0"), Some(Code::NeverReady));
        assert_eq!(follows(1, "web-1"), None);
        assert_eq!(follows(2, "web-0"), None);
    }
}
