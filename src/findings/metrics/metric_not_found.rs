//! The finding `metric-not-found`.

use std::collections::BTreeSet;

use super::miss::Miss;
use super::{answered, api, failed, point_at_keda, points_at, short};
use crate::apimachinery::names::plural;
use crate::apimachinery::similar::same_metric;
use crate::findings::prelude::*;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::surroundings::{served_elsewhere, served_for};

/// The custom or external metrics API does not know a metric by its name, or serves it only for other kinds of objects.
/// It is asked about the namespace of the HPA.
///
/// Correct the name or the object, or add a rule for it to the adapter. The controller ignores the name of a Namespace,
/// and asks about the HPA's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricNotFound {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// The API's message.
    pub message: String,
    /// A similar name that the same API serves for the same kind of object.
    pub near: Option<String>,
    /// The other kinds of objects for which the same API serves the name, as resources.
    pub elsewhere: Vec<String>,
}

impl Kind for MetricNotFound {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        case.metrics()
            .filter_map(|step| match Miss::of(case, step)? {
                Miss::Unknown(text) => Some(failed(case, Self::of(case, step, text))),
                _ => None,
            })
            .collect()
    }

    fn failed_metrics(&self) -> Vec<usize> {
        vec![self.metric]
    }

    fn summary(&self, about: &About<'_>) -> String {
        let spec = about.spec(self.metric);
        let (api, effect) = (api(spec.api_group()), about.effect("it"));
        match &self.elsewhere[..] {
            [] => format!("{api} does not know {}, {effect}", about.label(self.metric)),
            elsewhere => format!(
                "{api} serves {} for {}, not for {}, {effect}",
                spec.name(),
                names(elsewhere),
                self.kind(about)
            ),
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = vec![format!("The API says: {}.", short(&self.message))];
        let is_elsewhere = !self.elsewhere.is_empty();
        if let Some(near) = &self.near {
            evidence.push(if is_elsewhere {
                format!("It serves {near} for {}.", self.kind(about))
            } else {
                format!("It serves {near}.")
            });
        }
        evidence.extend(about.looked_up(self.metric).filter(|_| !is_elsewhere));
        let group = about.spec(self.metric).api_group();
        evidence.extend(about.not_of_keda(group).as_ref().map(points_at));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let group = about.spec(self.metric).api_group();
        // KEDA names the metrics that it serves itself.
        let advice = if let Some(served_by) = about.not_of_keda(group) {
            point_at_keda(&served_by)
        } else if let Some(owner) = about.owner() {
            let advice = Remedy::LookAtScaledObject
                .says(format!("Find out why KEDA does not serve it for {owner}."));
            advice.with(about.describe_scaled_object(owner))
        } else if let Some(near) = &self.near {
            let path = about.path_of_name(self.metric);
            let described = self.described();
            let other = described.as_deref().unwrap_or("add a rule to the adapter");
            Remedy::UseName
                .says(format!("Use the name {near} if that is meant, or {other}."))
                .with_all(about.replace(&path, &**near))
        } else if self.elsewhere.is_empty()
            && about.hpa.describes_other_namespace(about.spec(self.metric))
        {
            Remedy::UseOtherType.says(
                "Correct the name, use a metric of type External, or add a rule for the HPA's own namespace to the adapter.",
            )
        } else {
            Remedy::CorrectName.says(match self.described() {
                Some(described) => format!(
                    "{}, or add a rule for {} to the adapter.",
                    sentence(&described),
                    self.kind(about)
                ),
                None => "Correct the name, or add a rule for it to the adapter.".to_owned(),
            })
        };
        let path = about.path_of(group);
        advice.with(format!("kubectl get --raw {path}"))
    }
}

impl MetricNotFound {
    /// Returns the kind of object that the metric describes, in the plural.
    fn kind(&self, about: &About<'_>) -> String {
        plural(about.spec(self.metric).described().unwrap_or_default())
    }

    /// Describes how to reference the metric for the kinds that it is served for.
    fn described(&self) -> Option<String> {
        match &self.elsewhere[..] {
            [] => None,
            kinds if kinds.iter().any(|it| it == "pods") => {
                Some("use a metric of type Pods".to_owned())
            }
            kinds => Some(format!(
                "describe one of the {} with a metric of type Object",
                names(kinds)
            )),
        }
    }

    fn of(case: &Case<'_>, step: &MetricStep, text: &str) -> Self {
        let spec = case.spec(step);
        let group = spec.api_group();
        let of_group = case.surroundings.served_metrics.get(group);
        let listed = of_group.into_iter().flatten();
        let served = listed.clone().filter_map(|name| served_for(spec, name));
        let alike = answered(case, group).filter(|it| it.described() == spec.described());
        let known = alike.map(MetricSpec::name).chain(served);
        let near = same_metric(spec.name(), known).map(str::to_owned);
        let others = listed.filter_map(|name| served_elsewhere(spec, name));
        let elsewhere: BTreeSet<String> = others.map(str::to_owned).collect();
        Self {
            metric: step.index,
            message: text.to_owned(),
            near,
            elsewhere: elsewhere.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::build;
    use crate::findings::Code;
    use crate::findings::metrics::testing::{failing, listing, pointing};
    use crate::findings::testing::{of_keda, owned_by_keda, queue, state, table};
    /// The metric exists only for other objects, or another server has it.
    #[test]
    fn a_metric_that_is_served_otherwise() {
        let unknown = "the server could not find the metric queue for x";
        let per_pod = build::per_pod("queue", "10");
        let listed = |names: &[&str]| {
            let state = state(std::slice::from_ref(&per_pod), &["50m"]);
            let list = listing("custom.metrics.k8s.io", names);
            [failing(&state, "custom", unknown), vec![list]].concat()
        };
        let served_by = |namespace: &str, name: &str| {
            let queue = queue(&build::average("10"));
            let service = pointing("external.metrics.k8s.io", namespace, name, "True");
            let state = failing(&state(&[queue], &["50m"]), "external", unknown);
            [state, vec![service]].concat()
        };
        let by_keda = served_by("scaling", "keda-operator-metrics-apiserver");
        let states = [
            ("for jobs", listed(&["jobs.batch/queue"])),
            (
                "for jobs, and by a near name",
                listed(&["jobs.batch/queue", "pods/queue_count"]),
            ),
            ("by no near name", listed(&["jobs.batch/latency"])),
            ("by Datadog", served_by("datadog", "agent")),
            (
                "by Datadog, not by KEDA",
                of_keda(&served_by("datadog", "agent"), &json!({})),
            ),
            ("by KEDA", of_keda(&by_keda, &json!({}))),
            ("by KEDA, without the ScaledObject", owned_by_keda(&by_keda)),
        ];
        insta::assert_snapshot!(table(Code::MetricNotFound, states), @r#"
        for jobs: error, explains
            the custom metrics API serves queue for jobs.batch, not for pods, so nothing is scaled
            - The API says: the server could not find the metric queue for x.
            > Describe one of the jobs.batch with a metric of type Object, or add a rule for pods to the adapter.
            $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
        for jobs, and by a near name: error, explains
            the custom metrics API serves queue for jobs.batch, not for pods, so nothing is scaled
            - The API says: the server could not find the metric queue for x.
            - It serves queue_count for pods.
            > Use the name queue_count if that is meant, or describe one of the jobs.batch with a metric of type Object.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/pods/metric/name","value":"queue"},{"op":"replace","path":"/spec/metrics/0/pods/metric/name","value":"queue_count"}]'
            $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
        by no near name: error, explains
            the custom metrics API does not know queue, so nothing is scaled
            - The API says: the server could not find the metric queue for x.
            > Correct the name, or add a rule for it to the adapter.
            $ kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
        by Datadog: error, explains
            the external metrics API does not know queue, so nothing is scaled
            - The API says: the server could not find the metric queue for x.
            - It is looked up in the HPA's namespace, default. prometheus-adapter looks at series of others only under a rule with namespaced: false.
            > Correct the name, or add a rule for it to the adapter.
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
        by Datadog, not by KEDA: error, explains
            the external metrics API does not know queue, so nothing is scaled
            - The API says: the server could not find the metric queue for x.
            - The APIService v1beta1.external.metrics.k8s.io points at the Service datadog/agent; only one server can serve an API.
            > Point v1beta1.external.metrics.k8s.io at KEDA's metrics server, which ends the metrics of datadog/agent for other HPAs; or read its metrics in an HPA of their own.
            $ kubectl get apiservice v1beta1.external.metrics.k8s.io -o yaml
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
        by KEDA: error, explains
            the external metrics API does not know queue, so nothing is scaled
            - The API says: the server could not find the metric queue for x.
            > Find out why KEDA does not serve it for ScaledObject/web.
            $ kubectl describe scaledobject web -n default
            $ kubectl get --raw /apis/external.metrics.k8s.io/v1beta1
        by KEDA, without the ScaledObject: as by KEDA
        "#);
    }
}
