//! The finding `request-too-small`.

use std::collections::{BTreeMap, BTreeSet};

use super::{counted_requests, milli, rounded_request, utilizations};
use crate::apimachinery::quantity::Quantity;
use crate::findings::prelude::*;
use crate::findings::setter::Setter;
use crate::findings::targets::{Adjustment, least_room, lowest_limit, requester};
use crate::snapshot::hpa::Hpa;

/// The pods of a metric with a utilization target use at least twice what they request, as they did in the last status,
/// and the HPA has not rescaled for at least 30 minutes. A maximum or more nodes would only hide that.
///
/// Raise the request of the container, or of the pod as a whole, to about what it uses at the target; `predict
/// --request` shows the answer with it. Raise a target below 30% as well: for that, the pods would have to request
/// several times what they use. If a VerticalPodAutoscaler sets the request, use a target of type AverageValue, or let it
/// control another resource.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTooSmall {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The container whose request is furthest below its usage; `None` if pods request as a whole.
    pub container: Option<Box<str>>,
    /// What sets the request.
    pub setter: Setter,
    /// The container's highest request in a pod, in milli-units, once all pods are made from the target's template.
    pub request: i64,
    /// Whether the existing pods have other requests.
    pub is_new: bool,
    /// The container's mean usage in a pod, in milli-units.
    pub usage: i64,
    /// The usage of the counted pods as a share of their requests.
    pub share: f64,
    /// That share in the last status.
    pub then: f64,
    /// The time since which the replicas have been the same.
    pub since: Timestamp,
    /// A request with which the pods use about the target.
    pub enough: Quantity,
    /// Whether that request is above a limit.
    pub is_above_limit: bool,
    /// Whether that request is more than the request or limit of the pod as a whole leaves.
    pub is_above_room: bool,
}

impl Kind for RequestTooSmall {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        let metrics = utilizations(case);
        metrics
            .filter_map(|(step, percent)| {
                if case.found().any(|it| explains_share(&it.facts, step)) {
                    return None;
                }
                let facts = small_request(case, step, percent)?;
                let enough = facts.enough();
                let without = case.without(|snapshot| enough.apply(snapshot, step.index));
                let explains = case.decides(step) && without != case.answer();
                Some(Finding::new(Severity::Warning, explains, facts).without(without))
            })
            .collect()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let Self { share, then, .. } = *self;
        let label = about.label(self.metric);
        let before = if share == then {
            "as in the last status".to_owned()
        } else {
            format!("after {} in the last status", percent(then))
        };
        format!("{label} is at {} of the requests, {before}", percent(share))
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let resource = about.spec(self.metric).name();
        let request = milli(self.request, resource);
        let usage = milli(self.usage, resource);
        let is_stated = self.is_new && self.setter != Setter::Injector;
        let place = if is_stated { " in the template" } else { "" };
        let mut evidence = vec![
            match &self.container {
                Some(name) => {
                    format!("{name} requests {request}{place} and uses {usage} in each pod.")
                }
                None => format!("Each pod requests {request} as a whole{place} and uses {usage}."),
            },
            format!(
                "The HPA has not rescaled for {}.",
                distance(self.since, about.now())
            ),
        ];
        if self.low_target(about).is_none() {
            let request = self.enough().name(resource);
            evidence.extend(about.result(&format!("With {request}")));
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let resource = about.spec(self.metric).name();
        let Self {
            container, enough, ..
        } = self;
        let request = milli(self.request, resource);
        let of = requester(container.as_deref());
        let (remedy, raise) = match self.setter {
            Setter::Template => (Remedy::RaiseRequest, "Raise"),
            Setter::Injector => (Remedy::LetInjector, "Let the injector raise"),
            Setter::Autoscaler => {
                return Remedy::UseAverageValue.says(format!(
                    "Use an AverageValue target, or let the VerticalPodAutoscaler leave {resource} alone."
                ));
            }
        };
        let whole = "the requests and limits of the pod as a whole to match";
        let parts = [
            self.is_above_limit.then_some("its limit at least as far"),
            self.is_above_room.then_some(whole),
        ];
        let words: Vec<&str> = parts.into_iter().flatten().collect();
        let low = self.low_target(about);
        let flags = self
            .enough()
            .flags(about, self.metric)
            .filter(|_| low.is_none() && words.is_empty());
        let hint = flags.as_deref().map(|flags| about.try_it(flags));
        let much = match low {
            Some(target) => format!("what it uses, and the target of {target}% with it"),
            None if words.is_empty() => format!("{enough}{}", hint.unwrap_or_default()),
            None => format!("{enough}, and {}", list(&words)),
        };
        remedy
            .says(format!(
                "{raise} the {resource} request of {of} from {request} to about {much}, unless more pods lower its usage."
            ))
            .with_all(flags.map(|flags| about.predict(&flags)))
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        vec![about.template_target()]
    }
}

impl RequestTooSmall {
    /// Returns the change of the request.
    fn enough(&self) -> Adjustment {
        Adjustment::Request {
            container: self.container.clone(),
            request: self.enough.clone(),
        }
    }

    /// Returns a target for which pods would have to request several times what they use.
    fn low_target(&self, about: &About<'_>) -> Option<i32> {
        const LOW: i32 = 30;
        let target = about.target_of(self.metric).average_utilization;
        target.filter(|target| *target < LOW)
    }
}

/// Whether another finding's facts explain the usage of a metric, or the share that it is of the requests.
fn explains_share(facts: &Facts, step: &MetricStep) -> bool {
    match facts {
        Facts::MemoryBaseline(it) => it.metric == step.index,
        Facts::DilutedByContainer(it) => it.metric == step.index && it.with_sidecars.is_some(),
        Facts::ResizeInProgress(it) => it.metric == step.index,
        _ => false,
    }
}

/// Returns the time since which the replicas have had to be enough: the time of the last rescale or, if later, the time
/// at which a limit was reached, because a load that came a minute ago may be a burst.
fn steady_since(hpa: &Hpa) -> Option<Timestamp> {
    let limited = hpa.status.condition("ScalingLimited");
    let reached = limited
        .filter(|it| it.status == "True")
        .and_then(|it| it.last_transition_time);
    let rescaled = hpa.status.last_scale_time.or(hpa.written.created)?;
    Some(rescaled.max(reached.unwrap_or(Timestamp::UNIX_EPOCH)))
}

/// Whether the target's template and the current pods differ in the containers that count in a metric, apart from
/// injected ones, so that the usage of new pods is unknown.
pub(crate) fn changes_containers(case: &Case<'_>, step: &MetricStep) -> bool {
    let Some(template) = case.template() else {
        return false;
    };
    let pods = || case.counted(step).map(|(_, pod)| pod);
    let names = |pod| case.counted_containers(pod, step).map(|it| &*it.name);
    let made: BTreeSet<&str> = names(template).collect();
    let had: BTreeSet<&str> = pods().flat_map(names).collect();
    let is_injected = |name: &str| case.setter(Some(name), &step.name) == Setter::Injector;
    pods().any(|pod| made.iter().any(|name| !pod.has_container(name)))
        || had.difference(&made).any(|name| !is_injected(name))
}

fn small_request(case: &Case<'_>, step: &MetricStep, percent: i32) -> Option<RequestTooSmall> {
    /// Usage that is this many times the request is several times the request.
    const SEVERAL: f64 = 2.0;
    /// A burst does not last this long.
    const LASTING: SignedDuration = SignedDuration::from_mins(30);
    /// Pods this old have warmed up.
    const WARM: SignedDuration = SignedDuration::from_mins(10);
    let hpa = &case.snapshot.hpa;
    let proposal = step
        .proposal()
        .filter(|it| it.ratio > 1.0 + step.tolerance.up)?;
    let share = f64::from(proposal.current.average_utilization?) / 100.0;
    let written = hpa.status.current_metrics.as_ref()?.get(step.index)?;
    let then = f64::from(written.labelled()?.1.average_utilization?) / 100.0;
    let since = steady_since(hpa)?;
    if share < SEVERAL || then < SEVERAL || percent <= 0 || case.since(since)? < LASTING {
        return None;
    }
    let renewed = case.renewed();
    let new = &Case::new(&renewed, &[]);
    // The usage and request of each container or of whole pods, in all pods, and the highest request in one.
    let mut sums: BTreeMap<Option<&str>, (i64, i64, i64)> = BTreeMap::new();
    let (mut pods, mut all_used, mut all_requested) = (0, 0i64, 0i64);
    for (_, pod) in new.counted(step) {
        if case.age(pod)? < WARM {
            return None;
        }
        let metrics = case.metrics_of(pod)?;
        pods += 1;
        for (container, request) in counted_requests(case, pod, pod, step) {
            let usage = metrics.usage(&step.name, container)?;
            let request = request?;
            all_used = all_used.checked_add(usage)?;
            all_requested = all_requested.checked_add(request)?;
            let (used, requested, most) = sums.entry(container).or_default();
            *used = used.checked_add(usage)?;
            *requested = requested.checked_add(request)?;
            *most = (*most).max(request);
        }
    }
    // Pods of which only some request as a whole are of different templates.
    let are_mixed = sums.len() > 1 && sums.contains_key(&None);
    if are_mixed || changes_containers(case, step) {
        return None;
    }
    let of_new = renewed.decision.metric(step.index)?.proposal();
    let in_template = of_new.and_then(|it| it.current.average_utilization);
    if in_template.is_some_and(|percent| f64::from(percent) / 100.0 < SEVERAL) {
        return None;
    }
    let (container, (used, requested, request)) = sums
        .into_iter()
        .max_by_key(|(_, (used, requested, _))| used.saturating_sub(*requested))?;
    let others = all_requested.checked_sub(requested)?;
    let wanted = (all_used.checked_mul(100)? / i64::from(percent)).checked_sub(others)?;
    let enough = rounded_request(&step.name, wanted / pods)?;
    let made = || new.counted(step).map(|(_, pod)| pod);
    let template = case.workload().and_then(|it| it.template.as_deref());
    let limit = lowest_limit(made(), container, &step.name);
    let room = container.and_then(|name| least_room(made(), template, name, &step.name));
    let is_above = |most: Option<i64>| most.is_some_and(|most| most < enough.milli_value());
    Some(RequestTooSmall {
        metric: step.index,
        container: container.map(Into::into),
        setter: case.setter(container, &step.name),
        request,
        usage: used / pods,
        share,
        then,
        since,
        is_new: in_template != proposal.current.average_utilization,
        is_above_limit: is_above(limit),
        is_above_room: is_above(room),
        enough,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::metrics::testing::container;
    use crate::findings::owners::testing::replica_set;
    use crate::findings::requests::testing::{cpu_of, limited, of_set, owned, vpa, with_container};
    use crate::findings::testing::{
        cpu, only, state, table, with, with_containers, with_hpa, with_pod, with_spec,
    };

    #[test]
    fn requests_that_pods_exceed() {
        let busy = |percent: i32, usage: &str| {
            let current = json!({"averageUtilization": percent, "averageValue": usage});
            let status = json!({"currentReplicas": 2, "desiredReplicas": 2,
                "lastScaleTime": "2026-11-21T05:00:00Z",
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]});
            let items = state(&[cpu()], &[usage, usage]);
            let old = json!({"metadata": {"creationTimestamp": "2026-11-21T04:00:00Z"}});
            with_hpa(&items, &build::with(json!({ "status": status }), &old))
        };
        let hot = busy(200, "200m");
        let whole = json!({"spec": {"resources": {"requests": {"cpu": "100m"}}}});
        let of_whole = with(&hot, "Pod", &whole);
        let replacing = |request: &str, strategy: &Value| {
            of_set(&hot, &json!([build::requesting("app", request)]), strategy)
        };
        let on_delete = |request: &str| replacing(request, &json!({"type": "OnDelete"}));
        let patched = |request: &str, spec: Value| {
            let template = json!({"spec": {"template": {"spec": spec}}});
            with(&on_delete(request), "StatefulSet", &template)
        };
        let more = patched("100m", json!({"resources": {"requests": {"cpu": "400m"}}}));
        let of_new_template = with(&more, "Pod", &whole);
        let too_small_as_well = on_delete("90m");
        let differing = only(Code::RequestsDifferFromTemplate, &too_small_as_well);
        let follows = differing.and_then(|it| it.follows);
        assert_eq!(follows, Some(Code::RequestTooSmall));
        let dropped = {
            let side = json!([
                build::requesting("app", "100m"),
                build::requesting("side", "100m")
            ]);
            let used = json!({"containers": [{"name": "app", "usage": {"cpu": "200m"}},
                {"name": "side", "usage": {"cpu": "300m"}}]});
            let outdated = json!({"status": {"replicas": 2, "updatedReplicas": 0}});
            let set = with(&on_delete("100m"), "StatefulSet", &outdated);
            with(&with_containers(&set, &side), "PodMetrics", &used)
        };
        let limits = |cpu: &str| {
            let limits = json!({"name": "app", "resources": {"limits": {"cpu": cpu}}});
            json!({"containers": [limits]})
        };
        let mut small = json!({"containers": [build::requesting("app", "90m")]});
        small["containers"][0]["resources"]["limits"] = json!({"cpu": "300m"});
        let of_container = {
            let current = json!({"averageUtilization": 200, "averageValue": "200m"});
            let own = json!({"name": "cpu", "container": "app", "current": current});
            let metrics = json!([{"type": "ContainerResource", "containerResource": own}]);
            let hpa = json!({"spec": {"metrics": [container("app")]}, "status": {"currentMetrics": metrics}});
            with_hpa(&hot, &hpa)
        };
        let limited = json!([limited("200m")]);
        let of_limit = with_containers(&hot, &limited);
        let template = json!({"spec": {"template": {"spec": {"containers": limited}}}});
        let owned_pods = owned(&of_limit, &json!([build::requesting("app", "100m")]));
        let unlimited = [owned_pods, vec![replica_set("5d", &template)]].concat();
        let set = json!({"spec": {"targetRef": {"kind": "StatefulSet"}}});
        let proxy = build::requesting("proxy", "100m");
        let beside = with_container(&hot, &proxy, "20m", "400m");
        let set_vpa = build::with(vpa("Auto"), &set);
        let policies = json!([{"containerName": "app", "mode": "Off"}]);
        let policy = json!({"spec": {"resourcePolicy": {"containerPolicies": policies}}});
        let left_alone = [hot.clone(), vec![build::with(vpa("Auto"), &policy)]].concat();
        let update = json!({"metadata": {"annotations": {"vpaUpdates": "Pod resources updated by web: container 1: cpu request"}}});
        let in_all = |kind: &str, cpu: &str| json!({"spec": {"resources": {kind: {"cpu": cpu}}}});
        let bare = json!({"spec": {"containers": [build::requesting("app", "100m"), {"name": "a"}, {"name": "b"}]}});
        let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
        let small_proxy = build::requesting("proxy", "10m");
        let main = json!({"containers": [build::requesting("main", "600m")]});
        let injected = owned(&beside, &json!([build::requesting("app", "100m")]));
        let diluted = only(Code::DilutedByContainer, &injected).and_then(|it| it.follows);
        assert_eq!(diluted, Some(Code::RequestTooSmall));
        let states = [
            ("by far", hot.clone()),
            (
                "that something else sets, with a template that is too small as well",
                owned(&hot, &json!([build::requesting("app", "90m")])),
            ),
            (
                "of pods that have to be deleted, with a new template with a limit alone",
                patched("400m", limits("400m")),
            ),
            (
                "of pods that have to be deleted, with a new template of pods as a whole",
                patched("100m", json!({"resources": {"requests": {"cpu": "600m"}}})),
            ),
            (
                "of pods that have to be deleted, up to a limit of the template",
                patched("90m", small),
            ),
            (
                "that a VerticalPodAutoscaler sets",
                [on_delete("100m"), vec![set_vpa]].concat(),
            ),
            (
                "that a VerticalPodAutoscaler leaves alone",
                with(&left_alone, "Pod", &update),
            ),
            ("of an injected container", injected),
            ("of pods as a whole", of_whole.clone()),
            (
                "of pods as a whole, up to a limit",
                with(&of_whole, "Pod", &in_all("limits", "200m")),
            ),
            (
                "of pods of which one has requests as a whole",
                with_pod(&hot, "web-0", &whole),
            ),
            ("of pods as a whole, with a new template", of_new_template),
            ("of pods that have to be deleted", on_delete("100m")),
            (
                "of pods that have to be deleted, with a new template of another container",
                patched("100m", main),
            ),
            (
                "of pods that have to be deleted, with a new template without their busiest container",
                dropped,
            ),
            (
                "of pods that have to be deleted, with a new template without requests",
                patched("100m", json!({"containers": [{"name": "app"}]})),
            ),
            (
                "of pods that have to be deleted, with a new template",
                on_delete("400m"),
            ),
            (
                "of pods that have to be deleted, with a template that is too small as well",
                too_small_as_well,
            ),
            (
                "below a partition, with a new template",
                replacing("400m", &partition),
            ),
            ("up to a limit", of_limit),
            (
                "within the request of the pod",
                with(&of_container, "Pod", &in_all("requests", "300m")),
            ),
            (
                "next to two without requests, within the request of the pod",
                with(
                    &of_container,
                    "Pod",
                    &build::with(bare, &in_all("requests", "700m")),
                ),
            ),
            ("up to a limit that a new template lacks", unlimited),
            (
                "with a target that is low",
                with_spec(&hot, &json!({"metrics": [cpu_of(20)]})),
            ),
            (
                "of an HPA that has never rescaled",
                with_hpa(&hot, &json!({"status": {"lastScaleTime": null}})),
            ),
            (
                "next to a container that hides little",
                with_container(&busy(272, "300m"), &small_proxy, "290m", "10m"),
            ),
        ];
        insta::assert_snapshot!(table(Code::RequestTooSmall, states), @"
        by far: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 100m to about 400m (predict --request app=cpu=400m), unless more pods lower its usage.
            $ kubectl hpa predict web -n default --request app=cpu=400m
            @ deployment/web
        that something else sets, with a template that is too small as well: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 90m in the template and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 90m to about 400m (predict --request app=cpu=400m), unless more pods lower its usage.
            $ kubectl hpa predict web -n default --request app=cpu=400m
            @ deployment/web
        of pods that have to be deleted, with a new template with a limit alone: none
        of pods that have to be deleted, with a new template of pods as a whole: none
        of pods that have to be deleted, up to a limit of the template: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 90m in the template and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 90m to about 400m, and its limit at least as far, unless more pods lower its usage. Then delete the pods one by one: the update strategy is OnDelete.
            @ statefulset/web
        that a VerticalPodAutoscaler sets: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Use an AverageValue target, or let the VerticalPodAutoscaler leave cpu alone.
            @ statefulset/web
        that a VerticalPodAutoscaler leaves alone: as by far
        of an injected container: warning, explains, without it 2 -> 2
            cpu is at 210% of the requests, after 200% in the last status
            - proxy requests 100m and uses 400m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 740m for proxy: 2 replicas.
            > Let the injector raise the cpu request of proxy from 100m to about 740m (predict --request proxy=cpu=740m), unless more pods lower its usage.
            $ kubectl hpa predict web -n default --request proxy=cpu=740m
            @ deployment/web
        of pods as a whole: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - Each pod requests 100m as a whole and uses 200m.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for each pod: 2 replicas.
            > Raise the cpu request of each pod from 100m to about 400m (predict --request cpu=400m), unless more pods lower its usage.
            $ kubectl hpa predict web -n default --request cpu=400m
            @ deployment/web
        of pods as a whole, up to a limit: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - Each pod requests 100m as a whole and uses 200m.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for each pod: 2 replicas.
            > Raise the cpu request of each pod from 100m to about 400m, and its limit at least as far, unless more pods lower its usage.
            @ deployment/web
        of pods of which one has requests as a whole: none
        of pods as a whole, with a new template: none
        of pods that have to be deleted: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 100m to about 400m (predict --request app=cpu=400m), unless more pods lower its usage. Then delete the pods one by one: the update strategy is OnDelete.
            $ kubectl hpa predict web -n default --request app=cpu=400m
            @ statefulset/web
        of pods that have to be deleted, with a new template of another container: none
        of pods that have to be deleted, with a new template without their busiest container: none
        of pods that have to be deleted, with a new template without requests: as of pods that have to be deleted
        of pods that have to be deleted, with a new template: none
        of pods that have to be deleted, with a template that is too small as well: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 90m in the template and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 90m to about 400m (predict --request app=cpu=400m), unless more pods lower its usage. Then delete the pods one by one: the update strategy is OnDelete.
            $ kubectl hpa predict web -n default --request app=cpu=400m
            @ statefulset/web
        below a partition, with a new template: none
        up to a limit: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 100m to about 400m, and its limit at least as far, unless more pods lower its usage.
            @ deployment/web
        within the request of the pod: warning, explains, without it 2 -> 2
            cpu in app is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 100m to about 400m, and the requests and limits of the pod as a whole to match, unless more pods lower its usage.
            @ deployment/web
        next to two without requests, within the request of the pod: warning, explains, without it 2 -> 2
            cpu in app is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 100m to about 400m (predict --request app=cpu=400m), unless more pods lower its usage.
            $ kubectl hpa predict web -n default --request app=cpu=400m
            @ deployment/web
        up to a limit that a new template lacks: as by far
        with a target that is low: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 60m.
            > Raise the cpu request of app from 100m to about what it uses, and the target of 20% with it, unless more pods lower its usage.
            @ deployment/web
        of an HPA that has never rescaled: warning, explains, without it 2 -> 2
            cpu is at 200% of the requests, as in the last status
            - app requests 100m and uses 200m in each pod.
            - The HPA has not rescaled for 120m.
            - With a cpu request of 400m for app: 2 replicas.
            > Raise the cpu request of app from 100m to about 400m (predict --request app=cpu=400m), unless more pods lower its usage.
            $ kubectl hpa predict web -n default --request app=cpu=400m
            @ deployment/web
        next to a container that hides little: warning, explains, without it 2 -> 2
            cpu is at 272% of the requests, as in the last status
            - app requests 100m and uses 290m in each pod.
            - The HPA has not rescaled for 60m.
            - With a cpu request of 590m for app: 2 replicas.
            > Raise the cpu request of app from 100m to about 590m (predict --request app=cpu=590m), unless more pods lower its usage.
            $ kubectl hpa predict web -n default --request app=cpu=590m
            @ deployment/web
        ");
    }
}
