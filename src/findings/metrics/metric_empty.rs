//! The finding `metric-empty`.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::miss::Miss;
use super::{api, failed, short};
use crate::findings::Aspect;
use crate::findings::pods::{failing, may_have_value};
use crate::findings::prelude::*;
use crate::keda;
use crate::pass::Pass;
use crate::snapshot::MetricAnswer;
use crate::snapshot::hpa::MetricSpec;

/// A metrics API answers without a value for the selector of a metric in the namespace of the HPA, or for any of the
/// pods, or an adapter says that its query has no result. A resource metric has no value until about a minute after the
/// first pod starts. A pod has none if one of its containers has none.
///
/// Correct the selector, or let the source report 0 instead of nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricEmpty {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// The message that the API returns instead of an empty list, as adapters do whose query for the metric has
    /// no result.
    pub message: Option<String>,
    /// The first pod, if each lacks the usage of the same container.
    pub partly: Option<PartlyMeasured>,
    /// The nodes of the pods, if it is a resource metric.
    pub nodes: Vec<Box<str>>,
    /// Pods that have values but do not belong to the target.
    pub others: Vec<Box<str>>,
    /// The reason why the pods have no value, if each of them should have one.
    pub pods_lack: Option<PodsLack>,
}

/// A pod without a value, because one of its containers has no usage although others have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartlyMeasured {
    /// The pod.
    pub pod: Box<str>,
    /// The container without usage.
    pub container: Box<str>,
}

/// The reason why no pod has a value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodsLack {
    /// An assumption removes their values.
    Assumed,
    /// No pod can have a value yet.
    NoneRuns,
    /// No pod can be expected to have been measured yet: the oldest that could have a value has this age.
    Young(SignedDuration),
}

impl Kind for MetricEmpty {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        case.metrics()
            .filter_map(|step| match Miss::of(case, step)? {
                Miss::Empty(text) => Some(Self::of(case, step, text).weighed(case)),
                _ => None,
            })
            .collect()
    }

    fn failed_metrics(&self) -> Vec<usize> {
        vec![self.metric]
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        if !self.is_because_of_pods() {
            return None;
        }
        let of_pods = about
            .found
            .iter()
            .filter(|it| it.code().is(Aspect::NoValues));
        let of_living = of_pods.map(|it| (it.code(), living(about.pass, it)));
        // The first of those about most of the pods.
        let most = of_living
            .filter(|(_, pods)| *pods > 0)
            .min_by_key(|(_, pods)| Reverse(*pods));
        most.map(|(code, _)| code)
            .or_else(|| about.any(Code::ReplicasWithoutPods))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let api = api(about.spec(self.metric).api_group());
        let label = about.label(self.metric);
        if let Some(PartlyMeasured { container, .. }) = &self.partly {
            let effect = about.effect("the metric");
            format!("{api} has no {label} of the container {container}, {effect}")
        } else if self.others.is_empty() {
            let effect = about.effect("it");
            format!("there is no value for {label} from {api}, {effect}")
        } else {
            let effect = about.effect("the metric");
            let others = first_of(&self.others);
            format!("{api} has values for {label} only of other pods ({others}), {effect}")
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        if let Some(message) = &self.message {
            evidence.push(format!("The API says: {}.", short(message)));
        }
        let spec = about.spec(self.metric);
        let selector = spec.selector();
        if !selector.is_empty() {
            evidence.push(format!(
                "The selector that is sent for the metric: {selector}."
            ));
        }
        if let Ok(scale) = &about.snapshot.scale
            && !spec.is_total()
        {
            let pods = scale.selector.as_str();
            evidence.push(format!("The selector that is sent for the pods: {pods}."));
        }
        let is_of_candidate = about.of_candidate(self.metric).is_some();
        evidence.extend(about.looked_up(self.metric).filter(|_| !is_of_candidate));
        let active = about.hpa.status.condition("ScalingActive");
        let was_active = active.is_some_and(|it| it.status == "True");
        let is_read = self.pods_lack != Some(PodsLack::Assumed) && !is_of_candidate;
        if about.finding.explains && was_active && is_read {
            evidence.push(
                "The last status had valid metrics, so the value is gone since then, or the input lacks it."
                    .to_owned(),
            );
        }
        if let Some(PartlyMeasured { pod, container }) = &self.partly {
            evidence.push(format!(
                "The metrics of {pod} have no {} for {container}, so the pod has no value.",
                spec.name()
            ));
        }
        if !self.nodes.is_empty() {
            let on = one_or_many(self.nodes.len(), "node", "nodes");
            evidence.push(format!("The pods are on the {on} {}.", names(&self.nodes)));
        }
        if let Some(PodsLack::Young(age)) = self.pods_lack
            && !is_of_candidate
        {
            let age = duration(age);
            evidence.push(format!(
                "The oldest pod that could have a value started {age} ago."
            ));
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let spec = about.spec(self.metric);
        let ask = about.ask(self.metric);
        if let Some(state) = about.of_candidate(self.metric) {
            // KEDA does not yet serve the metrics of a ScaledObject that is still a manifest, and no API knows a new
            // container.
            let is_served = !spec.selector().contains(keda::OWNER) && !spec.is_resource();
            return Remedy::StateInput
                .says(format!("{}.", sentence(&state)))
                .with_all(is_served.then_some(ask));
        }
        let advice = match about.owner() {
            _ if self.pods_lack == Some(PodsLack::Assumed) => return Advice::default(),
            _ if spec.is_resource() && !SERVED.contains(&spec.name()) => {
                use_served(about, self.metric)
            }
            _ if self.pods_lack == Some(PodsLack::NoneRuns) => {
                Remedy::WaitForPods.waits("until the target has pods that run")
            }
            _ if self.pods_lack.is_some() => Remedy::WaitForPods
                .waits("for the first sample of a pod, which takes up to a minute"),
            _ if spec.is_resource() => self.find_samples(spec.name()),
            Some(owner) => return self.look_at_trigger(about, owner),
            None if !spec.is_total() => Remedy::FindSeries.says(
                "Compare the labels namespace and pod of its series with the pods of the target.",
            ),
            None => Remedy::FindSeries.says(format!(
                "Try the adapter's query in the namespace {}, or let it return 0 if empty.",
                about.hpa.namespace
            )),
        };
        advice.with(ask)
    }
}

/// The resources that metrics-server serves.
const SERVED: [&str; 2] = ["cpu", "memory"];

/// Returns the advice on a resource that metrics-server does not serve, at least not by this name.
fn use_served(about: &About<'_>, metric: usize) -> Advice {
    let lower = about.spec(metric).name().to_lowercase();
    if !SERVED.contains(&&*lower) {
        return Remedy::UseOtherType.says(
            "Use a metric of type Pods or External: metrics-server serves only cpu and memory.",
        );
    }
    Remedy::UseName
        .says(format!("Use the name {lower}, which is in lower case."))
        .with_all(about.replace(&about.path_of_name(metric), &*lower))
}

/// Returns the advice on a container without usage in the metrics of its pod.
pub(crate) fn find_usage(resource: &str, container: &str) -> Advice {
    Remedy::FindSamples.says(format!(
        "Find out why the metrics API has no {resource} of the container {container}."
    ))
}

/// Returns the number of pods that a finding is about, except pods that need no value.
fn living(pass: &Pass, finding: &Finding) -> usize {
    let names = finding.pods();
    let pods = pass.input.snapshot.pods.iter();
    pods.filter(|pod| pod.is_active() && names.contains(&*pod.name))
        .count()
}

/// Until this age, metrics-server may not have two samples of a pod.
const MEASURED: SignedDuration = SignedDuration::from_mins(1);

/// Returns the age of the oldest running pod or, if none runs, of the oldest active pod, if even that pod may not have
/// been measured. If none runs and one fails, youth is not the reason.
fn unmeasured_age(case: &Case<'_>) -> Option<SignedDuration> {
    let mut living: Vec<&Pod> = case.pods().filter(|pod| pod.is_active()).collect();
    if living.iter().any(|pod| may_have_value(pod)) {
        living.retain(|pod| may_have_value(pod));
    } else if living.iter().any(|pod| failing(pod).is_some()) {
        return None;
    }
    let ages: Option<Vec<SignedDuration>> = living.iter().map(|pod| case.age(pod)).collect();
    ages?.into_iter().max().filter(|age| *age < MEASURED)
}

/// Returns the pods that the API has values of although they do not belong to the target.
fn others(case: &Case<'_>, step: &MetricStep) -> Vec<Box<str>> {
    let spec = case.spec(step);
    let snapshot = case.snapshot;
    let measured: Vec<&str> = match &snapshot.metrics[step.index] {
        MetricAnswer::PodMetrics => snapshot
            .pod_metrics
            .iter()
            .filter(|it| it.usage(spec.name(), spec.container()).is_some())
            .map(|it| &*it.name)
            .collect(),
        MetricAnswer::Pods(values) => values.iter().map(|it| &*it.pod).collect(),
        _ => Vec::new(),
    };
    let own: BTreeSet<&str> = case.pods().map(|pod| &*pod.name).collect();
    // The pods of an assumption have other names than those that were measured.
    let is_observed = case.pods().all(|pod| case.observed_pod(pod).is_some());
    measured
        .into_iter()
        .filter(|name| is_observed && !own.contains(name))
        .map(Into::into)
        .collect()
}

impl PartlyMeasured {
    fn of(case: &Case<'_>, spec: &MetricSpec, pod: &Pod) -> Option<Self> {
        let container = case.unmeasured(spec, pod)?.into();
        Some(Self {
            pod: pod.name.clone(),
            container,
        })
    }
}

impl PodsLack {
    fn of(case: &Case<'_>, step: &MetricStep) -> Option<Self> {
        let spec = case.spec(step);
        let mut missing = case.pods().flat_map(|pod| &pod.assumed_missing);
        if missing.any(|metric| *metric == step.index) {
            return Some(Self::Assumed);
        }
        let age = spec.is_resource().then(|| unmeasured_age(case)).flatten();
        let is_young = |pod: &Pod| case.age(pod).is_some_and(|age| age < MEASURED);
        let counts = |pod: &Pod| may_have_value(pod) && !(spec.is_resource() && is_young(pod));
        let none_runs = case.pods().len() > 0 && !case.pods().any(counts);
        age.map(Self::Young)
            .or_else(|| (!spec.is_total() && none_runs).then_some(Self::NoneRuns))
    }
}

impl MetricEmpty {
    /// Whether the reason lies in the pods, and another finding reports it. No other finding reports that they are
    /// young.
    pub(crate) fn is_because_of_pods(&self) -> bool {
        matches!(self.pods_lack, Some(PodsLack::Assumed | PodsLack::NoneRuns))
    }

    fn of(case: &Case<'_>, step: &MetricStep, text: Option<&str>) -> Self {
        let spec = case.spec(step);
        let pods = case.pods().filter(|_| spec.is_resource());
        let living = case.pods().filter(|pod| may_have_value(pod));
        let each: Option<Vec<_>> = living
            .map(|pod| PartlyMeasured::of(case, spec, pod))
            .collect();
        let pods_lack = PodsLack::of(case, step);
        let alike = each.filter(|all| all.iter().all(|it| it.container == all[0].container));
        let partly = alike
            .and_then(|all| all.into_iter().next())
            .filter(|_| pods_lack.is_none());
        let on = pods.filter_map(|pod| pod.node.clone());
        let nodes: BTreeSet<_> = on.filter(|_| partly.is_none()).collect();
        Self {
            metric: step.index,
            message: text.map(str::to_owned),
            partly,
            nodes: nodes.into_iter().collect(),
            others: others(case, step),
            pods_lack,
        }
    }

    /// Returns the advice on a resource without a value.
    fn find_samples(&self, resource: &str) -> Advice {
        match &self.partly {
            Some(PartlyMeasured { container, .. }) => find_usage(resource, container),
            None if self.others.is_empty() => Remedy::FindSamples
                .says("Make sure that metrics-server scrapes the nodes of these pods."),
            None => Remedy::FindSamples.says(
                "Read the pods and the values at the same time, or make sure that metrics-server scrapes the nodes \
                 of the target's pods.",
            ),
        }
    }

    /// Returns the advice to look at the trigger of a ScaledObject.
    fn look_at_trigger(&self, about: &About<'_>, owner: OwnScaledObject<'_>) -> Advice {
        let advice = Remedy::LookAtScaledObject.says(match self.message {
            Some(_) => format!(
                "Look at its trigger in the ScaledObject{}.",
                about.or_fallback(owner, &[self.metric], "spec.fallback there")
            ),
            None => format!(
                "Look at its trigger in {owner}: its query has no result. If that means 0, let it return 0."
            ),
        });
        advice.with(about.describe_scaled_object(owner))
    }

    /// Returns a finding about a metric without a value. While no pod can have been measured, nothing is wrong.
    fn weighed(self, case: &Case<'_>) -> Finding {
        let is_young = matches!(self.pods_lack, Some(PodsLack::Young(_)));
        let mut finding = failed(case, self);
        if is_young {
            finding.severity = Severity::Info;
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::metrics::testing::failing;
    use crate::findings::pods::testing::{
        rps, unmeasured, unscheduled, waiting, with_pods, without_values,
    };
    use crate::findings::testing::{cpu, of_keda, queue, said, state, table, with, with_spec};

    #[test]
    fn a_question_for_a_metric_of_each_pod() {
        let metric = json!({"type": "Pods", "pods": {"target": build::average("10"),
            "metric": {"name": "rps", "selector": {"matchLabels": {"verb": "GET"}}}}});
        assert_eq!(
            said(Code::MetricEmpty, &state(&[metric], &["50m"])).commands,
            [
                "kubectl get --raw '/apis/custom.metrics.k8s.io/v1beta1/namespaces/default/pods/*/rps\
              ?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET'"
            ]
        );
    }

    /// Where no pod runs, the pods are the cause.
    #[test]
    fn a_metric_of_pods_that_do_not_run() {
        let all = without_values(&cpu());
        let [
            _,
            _,
            (_, creating),
            _,
            (_, never),
            (_, once),
            (_, homeless),
            _,
        ] = &all;
        let finished = json!({"status": {"phase": "Failed"}});
        let since =
            |at: &str| json!({"metadata": {"creationTimestamp": at}, "status": {"startTime": at}});
        let young = since("2026-11-21T05:59:50Z");
        let runs = json!({"status": {"containerStatuses": []}});
        let pending = json!({"status": {"phase": "Pending"}});
        let but_one = |items: &[Value], changes: &[&Value]| {
            let first = ["web-0"];
            let changes = changes.iter();
            changes.fold(items.to_vec(), |items, it| with_pods(&items, &first, it))
        };
        let created = |at: &str| json!({"metadata": {"creationTimestamp": at}});
        let of_unknown_age =
            json!({"metadata": {"creationTimestamp": null}, "status": {"startTime": null}});
        let homeless_since = |at: &str| unscheduled(at, "0/3 nodes are available");
        let lately = with(creating, "Pod", &young);
        let rest = ["web-1", "web-2"];
        let mixed = [
            (
                "were never ready, next to finished ones",
                with_pods(never, &rest, &finished),
            ),
            ("are all finished", with(never, "Pod", &finished)),
            (
                "were never ready, next to a young one that runs",
                but_one(never, &[&young, &runs]),
            ),
            (
                "were never ready, next to one that is being created",
                but_one(never, &[&young, &pending, &waiting("ContainerCreating", 0)]),
            ),
            (
                "have no node yet",
                with(homeless, "Pod", &created("2026-11-21T05:59:50Z")),
            ),
            (
                "have no image yet",
                with(&lately, "Pod", &waiting("ImagePullBackOff", 0)),
            ),
            (
                "are young, but one of unknown age",
                but_one(&lately, &[&of_unknown_age]),
            ),
            (
                "are young, but an old one without a node",
                but_one(&lately, &[&homeless_since("2026-11-21T05:00:00Z")]),
            ),
            (
                "are young, and one has no node yet",
                but_one(&lately, &[&homeless_since("2026-11-21T05:59:50Z")]),
            ),
            (
                "were ready once, next to a young one that runs",
                but_one(once, &[&young, &runs]),
            ),
            ("are young", lately),
        ];
        let states = all.iter().cloned().chain(mixed);
        insta::assert_snapshot!(table(Code::MetricEmpty, states), @r"
        run: error, explains
            there is no value for cpu from the resource metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Make sure that metrics-server scrapes the nodes of these pods.
            $ kubectl top pods -n default -l app=web
        run again: as run
        are being created: error, explains, follows uncounted-pods
            there is no value for cpu from the resource metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Follow the advice of uncounted-pods.
        run in part: as run
        were never ready: error, explains, follows never-ready
            there is no value for cpu from the resource metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Follow the advice of never-ready.
        were ready once: as are being created
        have no node: error, explains, follows unschedulable-pods
            there is no value for cpu from the resource metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Follow the advice of unschedulable-pods.
        are of both kinds: as are being created
        were never ready, next to finished ones: as were never ready
        are all finished: error, explains
            there is no value for cpu from the resource metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Wait until the target has pods that run.
            $ kubectl top pods -n default -l app=web
        were never ready, next to a young one that runs: info, explains
            there is no value for cpu from the resource metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            - The oldest pod that could have a value started 10s ago.
            > Wait for the first sample of a pod, which takes up to a minute.
            $ kubectl top pods -n default -l app=web
        were never ready, next to one that is being created: as are being created
        have no node yet: as were never ready, next to a young one that runs
        have no image yet: as are being created
        are young, but one of unknown age: as are being created
        are young, but an old one without a node: as are being created
        are young, and one has no node yet: as were never ready, next to a young one that runs
        were ready once, next to a young one that runs: as were never ready, next to a young one that runs
        are young: as were never ready, next to a young one that runs
        ");
        insta::assert_snapshot!(table(Code::MetricEmpty, without_values(&rps())), @r"
        run: error, explains
            there is no value for rps from the custom metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Compare the labels namespace and pod of its series with the pods of the target.
            $ kubectl get --raw '/apis/custom.metrics.k8s.io/v1beta1/namespaces/default/pods/*/rps?labelSelector=app%3Dweb'
        run again: as run
        are being created: error, explains, follows uncounted-pods
            there is no value for rps from the custom metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Follow the advice of uncounted-pods.
        run in part: as run
        were never ready: error, explains, follows never-ready
            there is no value for rps from the custom metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Follow the advice of never-ready.
        were ready once: as are being created
        have no node: error, explains, follows unschedulable-pods
            there is no value for rps from the custom metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Follow the advice of unschedulable-pods.
        are of both kinds: as are being created
        ");
        let queue = queue(&build::average("10"));
        insta::assert_snapshot!(table(Code::MetricEmpty, without_values(&queue)), @r"
        run: error, explains
            there is no value for queue from the external metrics API, so nothing is scaled
            - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
            > Try the adapter's query in the namespace default, or let it return 0 if empty.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue
        run again: as run
        are being created: as run
        run in part: as run
        were never ready: as run
        were ready once: as run
        have no node: as run
        are of both kinds: as run
        ");
    }

    #[test]
    fn values_of_other_pods() {
        let other = json!({"metadata": {"name": "web-9"}});
        let items = with(&state(&[cpu()], &["50m"]), "PodMetrics", &other);
        let text = said(Code::MetricEmpty, &items);
        assert_eq!(
            text.summary,
            "the resource metrics API has values for cpu only of other pods (web-9), so nothing is scaled"
        );
        assert_eq!(
            text.advice.text(),
            "Read the pods and the values at the same time, or make sure that metrics-server scrapes the nodes of \
             the target's pods."
        );
        // Values of another resource do not count.
        let usage = json!({"containers": [{"name": "app", "usage": {"memory": "1Mi"}}]});
        let summary = said(Code::MetricEmpty, &with(&items, "PodMetrics", &usage)).summary;
        assert!(
            summary.starts_with("there is no value for cpu"),
            "{summary}"
        );
    }

    #[test]
    fn a_container_without_usage_leaves_its_pod_without_a_value() {
        let lacking = json!([{"name": "app", "usage": {"cpu": "50m"}}, {"name": "side", "usage": {"memory": "1Mi"}}]);
        let of_app = build::resource_of("cpu", "app", &build::utilization(50));
        let with_usage = |metric: &Value, containers: &Value| {
            let items = state(std::slice::from_ref(metric), &["50m"]);
            with(&items, "PodMetrics", &json!({ "containers": containers }))
        };
        let without = json!([{"name": "app", "usage": {"memory": "1Mi"}}]);
        let two = unmeasured(state(&[cpu()], &["50m"; 2]), "web-1");
        let other = with(&two, "PodMetrics", &json!({ "containers": lacking }));
        let states = [
            ("has none", with_usage(&cpu(), &lacking)),
            (
                "has none, and no other has any",
                with_usage(&cpu(), &without),
            ),
            ("is another one", with_usage(&of_app, &lacking)),
            ("lacks one, and another pod has no metrics", other),
        ];
        insta::assert_snapshot!(table(Code::MetricEmpty, states), @r"
        has none: error, explains
            the resource metrics API has no cpu of the container side, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            - The metrics of web-0 have no cpu for side, so the pod has no value.
            > Find out why the metrics API has no cpu of the container side.
            $ kubectl top pods -n default -l app=web
        has none, and no other has any: error, explains
            there is no value for cpu from the resource metrics API, so nothing is scaled
            - The selector that is sent for the pods: app=web.
            > Make sure that metrics-server scrapes the nodes of these pods.
            $ kubectl top pods -n default -l app=web
        is another one: none
        lacks one, and another pod has no metrics: as has none, and no other has any
        ");
    }

    #[test]
    fn a_failed_metric_at_the_minimum() {
        let metrics = [cpu(), queue(&build::average("10"))];
        let at_least = with_spec(&state(&metrics, &["10m"; 3]), &json!({"minReplicas": 3}));
        let summary = said(Code::MetricEmpty, &at_least).summary;
        assert!(summary.ends_with("so nothing is scaled"), "{summary}");
    }

    /// The remedy for a resource metric without a value depends on the resource, and on the age of the pods.
    #[test]
    fn a_resource_without_a_value() {
        let advice = |resource: &str, start: &str| {
            let items = state(&[build::resource(resource, &build::average("1"))], &["50m"]);
            let items = with(&items, "Pod", &json!({"status": {"startTime": start}}));
            let text = said(Code::MetricEmpty, &unmeasured(items, "web-0"));
            (text.advice.text(), text.evidence.len())
        };
        let (young, old) = ("2026-11-21T05:59:40Z", "2026-11-21T05:00:00Z");
        let scrape = "Make sure that metrics-server scrapes the nodes of these pods.".to_owned();
        let wait = "Wait for the first sample of a pod, which takes up to a minute.".to_owned();
        let other =
            "Use a metric of type Pods or External: metrics-server serves only cpu and memory."
                .to_owned();
        assert_eq!(advice("cpu", old), (scrape.clone(), 1));
        assert_eq!(advice("memory", old), (scrape, 1));
        assert_eq!(advice("cpu", young), (wait, 2));
        assert_eq!(advice("nvidia.com/gpu", old).0, other);
        assert_eq!(advice("nvidia.com/gpu", young).0, other);
        let lower = "Use the name cpu, which is in lower case.";
        assert_eq!(advice("CPU", old).0, lower);
    }

    /// No advice suggests a fallback that exists already, or that KEDA does not use.
    #[test]
    fn a_fallback_that_would_help() {
        let empty = |target: &Value, object: &Value| {
            let items = state(&[build::external("s0-kafka", target)], &["50m"; 4]);
            let items = failing(&items, "external", "no matching metrics found for s0-kafka");
            let text = said(Code::MetricEmpty, &of_keda(&items, object));
            text.advice.text()
        };
        let with_it = "Look at its trigger in the ScaledObject, or set spec.fallback there.";
        let without = "Look at its trigger in the ScaledObject.";
        let own = json!({"spec": {"fallback": {"failureThreshold": 3, "replicas": 6}}});
        assert_eq!(empty(&build::average("10"), &json!({})), with_it);
        assert_eq!(empty(&build::average("10"), &own), without);
        assert_eq!(empty(&build::value("10"), &json!({})), without);
    }
}
