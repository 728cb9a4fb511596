//! The finding `diluted-by-container`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{are_alike, compared, has_own_metric, look_at, milli, total, utilizations};
use crate::apimachinery::quantity::Amount;
use crate::engine::decision::Decision;

use crate::findings::prelude::*;
use crate::snapshot::Snapshot;

/// The containers of the pods use very different shares of their requests, so the share of the pod as a whole hides how
/// busy one of them is. Of the containers without a ContainerResource metric, that is the one whose usage is furthest
/// above the pod's share of its request. A container that uses less than half as much as another, or less than another
/// and clearly more than it requests, may be busy, but it is not what the pods are for. Before Kubernetes 1.29 the
/// usage of native sidecars counts and their requests do not.
///
/// Use a ContainerResource metric for the container that does the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DilutedByContainer {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The containers. If the pod hides how busy one is, that one is first. The others are sorted by usage, the highest
    /// first; containers with a ContainerResource metric come after others, and containers whose requests do not count
    /// come last.
    pub shares: Vec<ContainerShare>,
    /// The number of pods in the sums.
    pub pods: usize,
    /// The metric's proposal.
    pub proposal: i32,
    /// The proposal from the first container alone, with the same target, if the pod hides how busy it is.
    pub alone: Option<i32>,
    /// The metric's proposal if the requests of sidecars counted; `None` if they do count, or if that makes no
    /// difference.
    pub with_sidecars: Option<i32>,
}

impl Kind for DilutedByContainer {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        let metrics = utilizations(case).filter(|(step, _)| step.container.is_none());
        metrics
            .filter_map(|(step, _)| diluted_metric(case, step))
            .collect()
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about.first(|it| self.follows(&it.facts, about))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let label = about.label(self.metric);
        if let Some(asked) = self.with_sidecars {
            return format!(
                "{label} counts the usage of sidecars and not their requests: it proposes \
                 {}; {asked} if the requests counted",
                self.proposal
            );
        }
        let proposal = about.proposal(self.metric);
        let whole = proposal.and_then(|it| it.current.average_utilization);
        let at = whole.map_or_else(String::new, |percent| format!(" at {percent}%"));
        let share = self.shares.first().map(ContainerShare::of_request);
        format!(
            "{label} is{at} over all containers, while {} uses {} of its request",
            self.busiest(),
            percent(share.unwrap_or_default())
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        let resource = about.spec(self.metric).name();
        let pods = count(self.pods, "pod");
        for share in &self.shares {
            let not = if share.is_counted {
                ""
            } else {
                ", a request that does not count"
            };
            evidence.push(format!(
                "{} uses {} of {}, {}, in {pods}{not}.",
                share.container,
                milli(share.usage, resource),
                milli(share.request, resource),
                percent(share.of_request())
            ));
        }
        if let Some(alone) = self.alone {
            evidence.push(format!(
                "{} proposes {}; {} alone proposes {alone} with the same target.",
                about.label(self.metric),
                self.proposal,
                self.busiest()
            ));
        }
        if self.with_sidecars.is_some() {
            evidence.push("The requests of sidecars count as of Kubernetes 1.29.".to_owned());
        }
        if self.alone.is_none() {
            evidence.extend(about.otherwise("With these requests"));
        } else if has_container_metrics(about) {
            evidence.extend(about.result("With ContainerResource"));
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let used = about.container_metric(self.metric, self.busiest());
        if self.alone.is_none() {
            Remedy::Upgrade.says("Upgrade to Kubernetes 1.29.")
        } else if has_container_metrics(about) {
            Remedy::UseContainer
                .says(format!("Use {used}."))
                .with_all(about.use_container(self.metric, self.busiest()))
        } else {
            Remedy::Upgrade.says(format!("Upgrade to Kubernetes 1.30, and use {used}."))
        }
    }
}

impl DilutedByContainer {
    /// Whether the remedy of another finding comes first: it raises a request, or takes requests that hide no container.
    fn follows(&self, other: &Facts, about: &About<'_>) -> bool {
        match other {
            Facts::RequestsDifferFromTemplate(it) => {
                it.metric == self.metric && !self.is_left(about)
            }
            Facts::MemoryBaseline(it) => it.metric == self.metric,
            Facts::RequestTooSmall(it) => it.metric == self.metric,
            _ => false,
        }
    }

    /// Whether the container is hidden, and alone proposes to scale in the same direction, with the template's requests
    /// as well.
    pub(super) fn is_left(&self, about: &About<'_>) -> bool {
        let current = about.pass.decision.replicas_before();
        let asked = |it: &Self| (it.metric, it.busiest().to_owned(), it.alone.cmp(&current));
        let is_same =
            |it: &Facts| matches!(it, Facts::DilutedByContainer(it) if asked(it) == asked(self));
        let renewed = Case::new(about.pass, &[]).renewed();
        let found = Self::find(&Case::new(&renewed, &[]));
        found.iter().any(|it| is_same(&it.facts))
    }

    /// Returns the name of the first container.
    fn busiest(&self) -> &str {
        self.shares.first().map_or("", |share| &share.container)
    }
}

/// Whether the version has ContainerResource metrics.
fn has_container_metrics(about: &About<'_>) -> bool {
    about.snapshot.controller.gates[FeatureGate::HPAContainerMetrics]
}

/// The usage of a container next to its request, both summed over the counted pods in milli-units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerShare {
    /// The container.
    pub container: Box<str>,
    /// The usage.
    pub usage: i64,
    /// The requests.
    pub request: i64,
    /// Whether the container's requests count; requests of sidecars count since 1.29.
    pub is_counted: bool,
}

impl ContainerShare {
    /// Returns the usage divided by the request.
    pub fn of_request(&self) -> f64 {
        self.usage as f64 / self.request as f64
    }

    /// Returns the usage beyond a percentage of the request, times 100.
    fn above(&self, percent: i32) -> i128 {
        i128::from(self.usage) * 100 - i128::from(self.request) * i128::from(percent)
    }
}

fn diluted_metric(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
    /// Shares that are no further apart count as equal.
    const SPREAD: f64 = 2.0;
    /// The busiest container is this much busier than the pod.
    const FAR: f64 = 1.5;
    let (metric, own) = (step.index, step.proposal()?);
    let proposal = own.replicas;
    let mut shares = shares(case, step)?;
    let any_uncounted = shares.iter().any(|it| !it.is_counted);
    let decided_with_sidecars = any_uncounted.then(|| case.decide(count_sidecars));
    let counting_sidecars = decided_with_sidecars
        .as_ref()
        .and_then(|it| it.metric(metric)?.proposal())
        .filter(|it| it.replicas != proposal);
    let miscounts = counting_sidecars.is_some();
    let all = shares.iter().map(ContainerShare::of_request);
    let (least, most) = all.fold((f64::MAX, 0.0_f64), |(a, b), it| (a.min(it), b.max(it)));
    if shares.len() < 2 || !(miscounts || most >= least * SPREAD) {
        return None;
    }
    let percent = counting_sidecars
        .unwrap_or(own)
        .current
        .average_utilization?;
    let hides_first = bring_to_front(case, step, &mut shares, percent);
    let first = shares.first().filter(|_| hides_first);
    let decided_alone = first.map(|it| decide_alone(case, metric, &it.container));
    let alone = decided_alone
        .as_ref()
        .and_then(|it| it.metric(metric)?.proposal())
        .map(|it| it.replicas);
    if !miscounts && alone.is_none_or(|it| it == proposal) {
        return None;
    }
    let with_sidecars = counting_sidecars.map(|it| it.replicas);
    let has_type = case.snapshot.controller.gates[FeatureGate::HPAContainerMetrics];
    let remedy = decided_with_sidecars
        .filter(|_| miscounts && !(alone.is_some() && has_type))
        .or(decided_alone)?;
    let without = case.result(case.snapshot, &remedy);
    let whole = f64::from(percent) / 100.0;
    let is_far = first.is_some_and(|it| it.of_request() >= whole * FAR);
    let current = case.decision.replicas_before()?;
    let turns = is_far && alone.is_some_and(|it| it.cmp(&current) != proposal.cmp(&current));
    let pods = case
        .counted(step)
        .filter(|(_, pod)| !case.is_foreign(pod))
        .count();
    let facts = DilutedByContainer {
        metric,
        shares,
        pods,
        proposal,
        alone,
        with_sidecars,
    };
    let otherwise = if alone.is_some() {
        Severity::Warning
    } else {
        Severity::Info
    };
    Some(if turns || miscounts {
        compared(case, facts, otherwise, without)
    } else {
        Finding::aside(Severity::Info, facts).without(without)
    })
}

/// Sorts containers as [`DilutedByContainer::shares`] says, and returns whether the pod, which uses this percentage of
/// its request as a whole, hides how busy the first container is.
fn bring_to_front(
    case: &Case<'_>,
    step: &MetricStep,
    shares: &mut [ContainerShare],
    percent: i32,
) -> bool {
    // A metric of its own shows how busy a container is.
    let has_own = |share: &ContainerShare| has_own_metric(case, step.index, &share.container);
    shares.sort_by_key(|share| (!share.is_counted, has_own(share)));
    let highest = highest_usage(case, step).unwrap_or(i64::MAX);
    let is_large = |share: &ContainerShare| share.usage.saturating_mul(2) >= highest;
    // A smaller container is not what the pods are for, and it may be busy only because its request is too small.
    let carries_load = |share: &ContainerShare| {
        share.usage >= highest || (is_large(share) && are_alike(share.request, share.usage))
    };
    // The pod does not hide a container that is less busy than the pod itself.
    let is_hidden = |share: &ContainerShare| {
        share.is_counted && share.above(percent) >= 0 && !has_own(share) && carries_load(share)
    };
    let hidden = (0..shares.len()).filter(|place| is_hidden(&shares[*place]));
    let most = hidden.max_by_key(|place| (shares[*place].above(percent), Reverse(*place)));
    if let Some(place) = most {
        shares[..=place].rotate_right(1);
    }
    most.is_some()
}

/// Returns the usage of the container that uses most in each of the target's counted pods, summed over the pods. The
/// container may have another name in some of them, or no request.
fn highest_usage(case: &Case<'_>, step: &MetricStep) -> Option<i64> {
    let own = case.counted(step).filter(|(_, pod)| !case.is_foreign(pod));
    total(own.map(|(_, pod)| {
        let containers = &case.metrics_of(pod)?.containers;
        containers.iter().filter_map(|it| it.get(&step.name)).max()
    }))
}

/// Decides with a metric that looks only at a container. In versions without such metrics, it removes the other
/// containers instead.
fn decide_alone(case: &Case<'_>, metric: usize, container: &str) -> Decision {
    let has_type = case.snapshot.controller.gates[FeatureGate::HPAContainerMetrics];
    case.decide(|it| {
        if has_type {
            look_at(it, metric, container);
        } else {
            keep_only(it, container);
        }
    })
}

/// Keeps only one container in the pods and their metrics.
fn keep_only(snapshot: &mut Snapshot, container: &str) {
    for pod in &mut snapshot.pods {
        pod.containers.retain(|it| *it.name == *container);
        pod.init_containers.retain(|it| *it.name == *container);
    }
    for metrics in &mut snapshot.pod_metrics {
        metrics.containers.retain(|it| *it.name == *container);
    }
}

/// Makes the requests of sidecars count like those of other containers.
fn count_sidecars(snapshot: &mut Snapshot) {
    for pod in snapshot
        .pods
        .iter_mut()
        .filter(|pod| !pod.init_containers.is_empty())
    {
        let init_containers = std::mem::take(&mut pod.init_containers);
        pod.containers.extend(
            init_containers
                .iter()
                .filter(|it| it.restart_always)
                .cloned(),
        );
    }
}

/// Returns the shares by container, the highest usage first, of containers that all counted pods have; `None`
/// if not all of them are known.
fn shares(case: &Case<'_>, step: &MetricStep) -> Option<Vec<ContainerShare>> {
    let mut pods = 0;
    // With the number of pods that have the container.
    let mut shares: Vec<(ContainerShare, usize)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, pod) in case.counted(step) {
        pods += 1;
        let is_own = !case.is_foreign(pod);
        if is_own && case.counts_as_whole(pod, step) {
            return None;
        }
        let used = case.metrics_of(pod)?.containers.iter().rev();
        let used: BTreeMap<&str, _> = used.map(|it| (&*it.name, it)).collect();
        let containers = pod.containers.iter().map(|it| (it, true));
        let restarted = pod.init_containers.iter().filter(|it| it.restart_always);
        let sidecars = restarted.map(|it| (it, case.rules.sidecars));
        for (container, is_counted) in containers.chain(sidecars) {
            let usage = used.get(&*container.name).and_then(|it| it.get(&step.name));
            let request = container.requests.get(&step.name).map(Amount::milli_value);
            let (Some(usage), Some(request)) = (usage, request) else {
                continue;
            };
            let (usage, request) = if is_own { (usage, request) } else { (0, 0) };
            match places.get(&*container.name) {
                Some(place) => {
                    let (share, pods) = &mut shares[*place];
                    share.usage = share.usage.saturating_add(usage);
                    share.request = share.request.saturating_add(request);
                    *pods += 1;
                }
                None => {
                    places.insert(&container.name, shares.len());
                    shares.push((
                        ContainerShare {
                            container: container.name.clone(),
                            usage,
                            request,
                            is_counted,
                        },
                        1,
                    ));
                }
            }
        }
    }
    // A container that only some of the pods have is not comparable, and ContainerResource would fail for it.
    let everywhere = shares
        .into_iter()
        .filter(|(_, with)| *with == pods)
        .map(|(share, _)| share);
    let mut shares: Vec<ContainerShare> = everywhere.filter(|share| share.request > 0).collect();
    shares.sort_by_key(|share| Reverse(share.usage));
    Some(shares)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::metrics::testing::container;
    use crate::findings::requests::testing::{cpu_of, with_container};
    use crate::findings::testing::{
        in_version, state, table, with, with_containers, with_spec, with_state,
    };

    /// Returns pods with other containers, each stated as `NAME USAGE/REQUEST`.
    fn running(items: &[Value], containers: &str) -> Vec<Value> {
        let (mut requests, mut usages) = (Vec::new(), Vec::new());
        for container in containers.split(", ") {
            let (name, amounts) = container.split_once(' ').unwrap();
            let (usage, request) = amounts.split_once('/').unwrap();
            requests.push(build::requesting(name, request));
            usages.push(json!({"name": name, "usage": {"cpu": usage}}));
        }
        let items = with_containers(items, &json!(requests));
        with(&items, "PodMetrics", &json!({ "containers": usages }))
    }

    /// Renames the first container of half of the pods, as in the middle of a rollout.
    fn renamed(items: &[Value]) -> Vec<Value> {
        let mut items = items.to_vec();
        for item in &mut items {
            if matches!(item["metadata"]["name"].as_str(), Some("web-2" | "web-3")) {
                let spec = if item["kind"] == "Pod" {
                    &mut item["spec"]
                } else {
                    item
                };
                spec["containers"][0]["name"] = json!("server");
            }
        }
        items
    }

    #[test]
    fn shares_that_differ_by_container() {
        let two = state(&[cpu_of(70)], &["50m", "50m"]);
        let idle = with_container(&two, &build::requesting("proxy", "1"), "98m", "20m");
        let metrics = json!({"metrics": [cpu_of(70), container("app")]});
        let own = with_spec(&idle, &metrics);
        let of_other = with_container(&two, &build::requesting("proxy", "45m"), "60m", "55m");
        let of_other = with_spec(&of_other, &metrics);
        let busy = with_container(&two, &build::requesting("proxy", "100m"), "65m", "65m");
        let small = with_container(&two, &build::requesting("proxy", "10m"), "98m", "20m");
        let native = |version: &str| {
            let always = json!({"restartPolicy": "Always"});
            let sidecar = build::with(build::requesting("proxy", "100m"), &always);
            let usages = json!([{"name": "app", "usage": {"cpu": "80m"}}, {"name": "proxy", "usage": {"cpu": "2m"}}]);
            let items = with(&two, "Pod", &json!({"spec": {"initContainers": [sidecar]}}));
            let items = with(&items, "PodMetrics", &json!({ "containers": usages }));
            in_version(&items, version)
        };
        let shown = with_spec(&native("v1.28.15"), &metrics);
        let mostly = json!({ "containers": [{"name": "app", "usage": {"cpu": "30m"}},
            {"name": "proxy", "usage": {"cpu": "60m"}}] });
        let gate = json!({"featureGates": {"HPAContainerMetrics": true}});
        let states = [
            ("by an idle container", idle),
            ("by one with a metric of its own", own),
            ("next to one with its own metric", of_other),
            ("not at all", busy),
            // The other one is busier: 98% and 200%, of 107% in the pods.
            ("by a small busy container", small),
            ("with one container", two.clone()),
            (
                "by a container of another pod",
                renamed(&state(&[cpu_of(60)], &["95m", "95m", "10m", "10m"])),
            ),
            // 82% of 70% for two pods, and 41% with the requests of the sidecars.
            ("by sidecars that do not count", native("v1.28.15")),
            (
                "by sidecars that do not count, with a container that has its own metric",
                with_state(&shown, &gate),
            ),
            (
                "by sidecars that do not count, with a container whose metric is ignored",
                shown.clone(),
            ),
            (
                "by sidecars that do not count and use most, with a container that has its own metric",
                with_state(&with(&shown, "PodMetrics", &mostly), &gate),
            ),
            (
                "by sidecars that do not count and use most",
                with_state(&with(&native("v1.28.15"), "PodMetrics", &mostly), &gate),
            ),
            ("by sidecars that count", native("v1.36.2")),
        ];
        insta::assert_snapshot!(table(Code::DilutedByContainer, states), @r#"
        by an idle container: warning, explains, without it 3 -> 3
            cpu is at 10% over all containers, while app uses 98% of its request
            - app uses 196m of 200m, 98%, in 2 pods.
            - proxy uses 40m of 2, 2%, in 2 pods.
            - cpu proposes 1; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        by one with a metric of its own: none
        next to one with its own metric: info, aside, without it 4 -> 4
            cpu is at 79% over all containers, while proxy uses 122.2% of its request
            - proxy uses 110m of 90m, 122.2%, in 2 pods.
            - app uses 120m of 200m, 60%, in 2 pods.
            - cpu proposes 3; proxy alone proposes 4 with the same target.
            - With ContainerResource: 4 replicas.
            > Use a ContainerResource metric for proxy.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"proxy","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        not at all: none
        by a small busy container: none
        with one container: none
        by a container of another pod: none
        by sidecars that do not count: warning, explains, without it 2 -> 2
            cpu counts the usage of sidecars and not their requests: it proposes 3; 2 if the requests counted
            - app uses 160m of 200m, 80%, in 2 pods.
            - proxy uses 4m of 200m, 2%, in 2 pods, a request that does not count.
            - cpu proposes 3; app alone proposes 3 with the same target.
            - The requests of sidecars count as of Kubernetes 1.29.
            > Upgrade to Kubernetes 1.30, and use a ContainerResource metric for app.
        by sidecars that do not count, with a container that has its own metric: info, aside, without it 4 -> 4
            cpu counts the usage of sidecars and not their requests: it proposes 3; 2 if the requests counted
            - app uses 160m of 200m, 80%, in 2 pods.
            - proxy uses 4m of 200m, 2%, in 2 pods, a request that does not count.
            - The requests of sidecars count as of Kubernetes 1.29.
            - With these requests, the answer is the same: 4 replicas.
            > Upgrade to Kubernetes 1.29.
        by sidecars that do not count, with a container whose metric is ignored: as by sidecars that do not count
        by sidecars that do not count and use most, with a container that has its own metric: warning, explains, without it 2 -> 2
            cpu counts the usage of sidecars and not their requests: it proposes 3; 2 if the requests counted
            - app uses 60m of 200m, 30%, in 2 pods.
            - proxy uses 120m of 200m, 60%, in 2 pods, a request that does not count.
            - The requests of sidecars count as of Kubernetes 1.29.
            - With these requests: 2 replicas.
            > Upgrade to Kubernetes 1.29.
        by sidecars that do not count and use most: as by sidecars that do not count and use most, with a container that has its own metric
        by sidecars that count: warning, explains, without it 3 -> 3
            cpu is at 41% over all containers, while app uses 80% of its request
            - app uses 160m of 200m, 80%, in 2 pods.
            - proxy uses 4m of 200m, 2%, in 2 pods.
            - cpu proposes 2; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        "#);
    }

    #[test]
    fn the_container_that_is_singled_out_carries_the_load() {
        let two = state(&[cpu_of(70)], &["50m", "50m"]);
        let four = state(&[cpu_of(70)], &["50m"; 4]);
        let shown = with_spec(&two, &json!({"metrics": [cpu_of(70), container("app")]}));
        let states = [
            (
                "a busy one, next to an idle one that uses a little more",
                running(&two, "app 97m/100m, proxy 100m/1"),
            ),
            (
                "the busiest of two with about the same usage",
                running(&two, "app 97m/100m, proxy 100m/200m, log 1m/200m"),
            ),
            (
                "a large one, next to a small one that is busier",
                running(&two, "app 90m/100m, proxy 50m/30m, log 1m/400m"),
            ),
            (
                "a large one that is very busy, next to an idle one that uses more",
                running(&two, "app 230m/240m, proxy 300m/2"),
            ),
            (
                "one above its request, next to an idle one that uses more",
                running(&two, "app 105m/100m, proxy 110m/1"),
            ),
            (
                "one with about as much usage, but a request that is too small",
                running(&two, "app 100m/400m, proxy 80m/10m"),
            ),
            (
                "one with half of the usage, and a request that is too small",
                running(&two, "app 110m/400m, proxy 60m/40m"),
            ),
            (
                "a large one, next to one with half of its usage",
                running(&two, "app 240m/300m, proxy 120m/20m, idle 1m/500m"),
            ),
            (
                "one with half of the usage of one with a metric of its own",
                running(&shown, "app 70m/100m, proxy 35m/10m"),
            ),
            (
                "a small busy one, next to a large one that only some pods have",
                renamed(&running(&four, "app 70m/100m, proxy 30m/10m, log 1m/50m")),
            ),
        ];
        insta::assert_snapshot!(table(Code::DilutedByContainer, states), @r#"
        a busy one, next to an idle one that uses a little more: warning, explains, without it 3 -> 3
            cpu is at 17% over all containers, while app uses 97% of its request
            - app uses 194m of 200m, 97%, in 2 pods.
            - proxy uses 200m of 2, 10%, in 2 pods.
            - cpu proposes 1; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        the busiest of two with about the same usage: warning, explains, without it 3 -> 3
            cpu is at 39% over all containers, while app uses 97% of its request
            - app uses 194m of 200m, 97%, in 2 pods.
            - proxy uses 200m of 400m, 50%, in 2 pods.
            - log uses 2m of 400m, 0.5%, in 2 pods.
            - cpu proposes 2; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        a large one, next to a small one that is busier: warning, explains, without it 3 -> 3
            cpu is at 26% over all containers, while app uses 90% of its request
            - app uses 180m of 200m, 90%, in 2 pods.
            - proxy uses 100m of 60m, 166.7%, in 2 pods.
            - log uses 2m of 800m, 0.2%, in 2 pods.
            - cpu proposes 1; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        a large one that is very busy, next to an idle one that uses more: warning, explains, without it 3 -> 3
            cpu is at 23% over all containers, while app uses 95.8% of its request
            - app uses 460m of 480m, 95.8%, in 2 pods.
            - proxy uses 600m of 4, 15%, in 2 pods.
            - cpu proposes 1; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        one above its request, next to an idle one that uses more: warning, explains, without it 3 -> 3
            cpu is at 19% over all containers, while app uses 105% of its request
            - app uses 210m of 200m, 105%, in 2 pods.
            - proxy uses 220m of 2, 11%, in 2 pods.
            - cpu proposes 1; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        one with about as much usage, but a request that is too small: none
        one with half of the usage, and a request that is too small: none
        a large one, next to one with half of its usage: warning, explains, without it 3 -> 3
            cpu is at 44% over all containers, while app uses 80% of its request
            - app uses 480m of 600m, 80%, in 2 pods.
            - proxy uses 240m of 40m, 600%, in 2 pods.
            - idle uses 2m of 1, 0.2%, in 2 pods.
            - cpu proposes 2; app alone proposes 3 with the same target.
            - With ContainerResource: 3 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}},"type":"ContainerResource"}}]'
        one with half of the usage of one with a metric of its own: none
        a small busy one, next to a large one that only some pods have: none
        "#);
    }

    #[test]
    fn sidecars_that_do_not_count_need_no_other_container_in_all_pods() {
        let sidecar = |name: &str, cpu: &str| {
            let always = json!({"restartPolicy": "Always"});
            build::with(build::requesting(name, cpu), &always)
        };
        let four = state(&[cpu_of(70)], &["50m"; 4]);
        let measured = running(&four, "app 20m/100m, proxy 58m/50m, log 2m/100m");
        let spec = json!({"containers": [build::requesting("app", "100m")],
            "initContainers": [sidecar("proxy", "50m"), sidecar("log", "100m")]});
        let native = with(&measured, "Pod", &json!({ "spec": spec }));
        let native = in_version(&native, "v1.28.15");
        let states = [
            ("sidecars that do not count", native.clone()),
            (
                "sidecars that do not count, and no other container that all pods have",
                renamed(&native),
            ),
        ];
        insta::assert_snapshot!(table(Code::DilutedByContainer, states), @"
        sidecars that do not count: warning, explains, without it 2 -> 4
            cpu counts the usage of sidecars and not their requests: it proposes 5; 2 if the requests counted
            - app uses 80m of 400m, 20%, in 4 pods.
            - proxy uses 232m of 200m, 116%, in 4 pods, a request that does not count.
            - log uses 8m of 400m, 2%, in 4 pods, a request that does not count.
            - The requests of sidecars count as of Kubernetes 1.29.
            - With these requests: a proposal of 2, and 4 replicas after stabilization and limits.
            > Upgrade to Kubernetes 1.29.
        sidecars that do not count, and no other container that all pods have: warning, explains, without it 2 -> 4
            cpu counts the usage of sidecars and not their requests: it proposes 5; 2 if the requests counted
            - proxy uses 232m of 200m, 116%, in 4 pods, a request that does not count.
            - log uses 8m of 400m, 2%, in 4 pods, a request that does not count.
            - The requests of sidecars count as of Kubernetes 1.29.
            - With these requests: a proposal of 2, and 4 replicas after stabilization and limits.
            > Upgrade to Kubernetes 1.29.
        ");
    }
}
