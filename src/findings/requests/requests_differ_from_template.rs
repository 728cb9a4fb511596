//! The finding `requests-differ-from-template`.

use super::{Revisions, compared, counted_requests, mean, milli, request_of, utilizations};
use crate::apimachinery::quantity::Amount;
use crate::findings::about::rollout::Held;
use crate::findings::pods::among;
use crate::findings::prelude::*;
use crate::findings::setter::{Setter, is_updated};
use crate::numbers::resource_amount;
use crate::snapshot::hpa::MetricTarget;
use crate::snapshot::requests::as_pod;

/// The requests of the pods differ from the target's template: a VerticalPodAutoscaler or something else sets them, or
/// the template was changed, and the target is paused or replaces pods only once they are deleted. The utilization
/// changes with the requests.
///
/// Use a target of type AverageValue, let the VerticalPodAutoscaler control another resource, resume the target, or
/// delete the pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestsDifferFromTemplate {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The containers.
    pub containers: Vec<Differing>,
    /// The number of the target's pods.
    pub pods: usize,
    /// The VerticalPodAutoscaler of the target, if there is one that changes pods.
    pub vpa: Option<String>,
    /// The number of pods whose annotations state that a VerticalPodAutoscaler has changed them.
    pub updated: usize,
    /// The reason why pods keep the requests of an earlier template.
    pub held: Option<Held>,
    /// Whether the templates that the pods were made from were read; otherwise, something else may have set
    /// the requests.
    pub is_seen: bool,
    /// The target as a share of what pods with the template's requests request, per pod and in milli-units.
    pub average: Option<i64>,
}

impl Kind for RequestsDifferFromTemplate {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        let revisions = Revisions::of(case);
        // A partition is a canary, which keeps some pods at an earlier template on purpose.
        let is_canary = |held: &Held| matches!(held, Held::Partition { .. });
        let held = revisions.held(case).filter(|held| !is_canary(held));
        let is_held = |it: &Finding| matches!(&it.facts, Facts::RequestsDifferFromTemplate(it) if it.held.is_some());
        let mut of_held =
            held.map_or_else(Vec::new, |_| differing_metrics(case, &revisions.own, held));
        if of_held.is_empty() {
            return differing_metrics(case, &revisions.pods_of_template(), None);
        }
        // One action gives held pods all requests of the template.
        of_held.sort_by_key(|it| !is_held(it));
        of_held.dedup_by(|later, first| is_held(later) && is_held(first));
        of_held
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about.first(|it| self.follows(&it.facts, about))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let (label, resource) = (about.label(self.metric), about.spec(self.metric).name());
        let Some(first) = self.containers.first() else {
            return String::new();
        };
        let instead = format!(
            "{} instead of {} in {}",
            first.request(resource),
            first.wanted(resource),
            first.container.as_deref().unwrap_or("each pod")
        );
        if let Some(held) = self.held {
            let why = match held {
                Held::Paused => "is paused",
                _ => "only replaces pods that are deleted",
            };
            let keep = if self.is_seen { "keep" } else { "may keep" };
            return format!(
                "{} {why}, so its pods {keep} earlier requests, of which {label} is a share: {instead}",
                about.reference()
            );
        }
        let who = if self.is_from_vpa() {
            "a VerticalPodAutoscaler"
        } else {
            "something else"
        };
        format!("{label} is a share of requests that {who} sets: {instead}")
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        let resource = about.spec(self.metric).name();
        for differing in &self.containers {
            evidence.push(format!(
                "{} requests {} in {} of {} pods, and {} in the template.",
                differing
                    .container
                    .as_deref()
                    .unwrap_or("The pod as a whole"),
                differing.request(resource),
                differing.pods,
                self.pods,
                differing.wanted(resource)
            ));
        }
        if let Some(vpa) = &self.vpa {
            evidence.push(format!(
                "The VerticalPodAutoscaler {vpa} sets requests of {}.",
                about.reference()
            ));
        }
        if self.updated > 0 {
            evidence.push(format!(
                "{} {} changed by a VerticalPodAutoscaler, says the annotation vpaUpdates.",
                count(self.updated, "pod"),
                one_or_many(self.updated, "was", "were")
            ));
        }
        let requests = match self.held {
            Some(_) => "requests".to_owned(),
            None => format!("{resource} requests"),
        };
        evidence.extend(about.result(&format!("With the template's {requests}")));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let resource = about.spec(self.metric).name();
        if let Some(held) = self.held {
            let so = if self.is_seen {
                ", so that its pods get the requests of its template"
            } else {
                ", which may give its pods the template's requests"
            };
            let pods = about.target_pods();
            let command = match held {
                Held::Paused => about.resume(),
                _ => about.rollout_status(&pods),
            };
            return about.after_rollout(&pods, so, None).with_all(command);
        }
        // Without it, pods have only what the template requests.
        let is_stated = self.containers.iter().all(|it| it.template.is_some());
        let other = if self.is_from_vpa() && is_stated {
            format!(", or let the VerticalPodAutoscaler leave {resource} alone")
        } else {
            String::new()
        };
        let Some(average) = self.average else {
            return Remedy::UseAverageValue.says(format!("Use an AverageValue target{other}."));
        };
        let amount = resource_amount(resource, average).canonicalized();
        let used = about.average_value(self.metric, &amount);
        Remedy::UseAverageValue
            .says(format!("Use {used}{other}."))
            .with_all(about.patch_target(self.metric, MetricTarget::per_replica(amount)))
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        if self.held.is_some() {
            return vec![about.target()];
        }
        let vpa = self.vpa.iter();
        std::iter::once(about.target())
            .chain(vpa.map(|vpa| format!("verticalpodautoscaler/{vpa}")))
            .collect()
    }
}

/// Returns the findings about the metrics whose pods have other requests than the target's template.
fn differing_metrics<'p>(case: &Case<'p>, own: &[&'p Pod], held: Option<Held>) -> Vec<Finding> {
    let metrics = utilizations(case);
    let found = metrics.map(|metric| differing_metric(case, metric, own, held));
    found.flatten().collect()
}

/// Returns the finding about a metric, with its target, if pods have other requests than the target's template.
fn differing_metric<'p>(
    case: &Case<'p>,
    (step, percent): (&'p MetricStep, i32),
    own: &[&'p Pod],
    held: Option<Held>,
) -> Option<Finding> {
    let containers = differing(case, step, own, held.is_some())?;
    // It never sets the request of a pod as a whole.
    let names = || containers.iter().filter_map(|it| it.container.as_deref());
    let vpa = case
        .vpas()
        .find(|vpa| names().any(|name| vpa.controls(name, &step.name)));
    let updated = own.iter().filter(|pod| is_updated(pod, &step.name)).count();
    let is_from_vpa = vpa.is_some() || updated > 0;
    // If revisions are unknown, some of the pods may belong to an earlier template.
    let is_everywhere = containers.iter().any(|it| it.pods == own.len());
    if !(is_from_vpa || is_everywhere || held.is_some()) {
        return None;
    }
    let held = held.filter(|_| !is_from_vpa);
    // What the template does not request is not known to have a request without the VerticalPodAutoscaler.
    let is_stated = containers.iter().all(|it| it.template.is_some());
    let is_meant = |resource: &str| held.is_some() || resource == step.name;
    let is_own = among(own);
    let mut new = case.snapshot.clone();
    case.renew(&mut new, &is_own, is_meant);
    let made = new.pods.iter().filter(|pod| is_own(pod));
    let request = mean(made.map(|pod| enough(case, pod, step))).filter(|_| is_stated);
    let renewed = is_stated.then(|| case.without(|snapshot| snapshot.pods = new.pods));
    // No one states a fraction of a byte.
    let unit = if step.name == "cpu" { 1 } else { 1000 };
    let average = request
        .and_then(|(it, _)| Some(it.checked_mul(percent.into())? / 100 / unit * unit))
        .filter(|it| *it > 0);
    let facts = RequestsDifferFromTemplate {
        metric: step.index,
        containers,
        pods: own.len(),
        vpa: vpa.map(|it| it.metadata.name.clone()),
        updated,
        held,
        is_seen: own.iter().all(|pod| case.template_of(pod).is_some()),
        average,
    };
    let otherwise = if is_from_vpa {
        Severity::Warning
    } else {
        Severity::Info
    };
    Some(match renewed {
        Some(renewed) => compared(case, facts, otherwise, renewed),
        None => Finding::aside(otherwise, facts),
    })
}

/// Returns the request of a pod that counts in a metric; `None` if unknown, or if the pod uses more than that.
fn enough(case: &Case<'_>, pod: &Pod, step: &MetricStep) -> Option<i64> {
    let metrics = case.metrics_of(pod);
    let used = metrics.and_then(|it| it.usage(&step.name, step.container.as_deref()));
    request_of(case, pod, step).filter(|request| used.is_none_or(|it| it <= *request))
}

/// Returns the containers whose requests differ from the target's template, because pods are held at an earlier
/// template or for another reason; `None` if no container differs.
fn differing<'p>(
    case: &Case<'p>,
    step: &MetricStep,
    pods: &[&'p Pod],
    is_held: bool,
) -> Option<Vec<Differing>> {
    let resource = &*step.name;
    let template = case.template()?;
    let mut all: Vec<Differing> = Vec::new();
    for pod in pods {
        for (container, request) in counted_requests(case, pod, template, step) {
            let Some(request) = request else {
                continue;
            };
            // An injected container has its request from the injector.
            let Some(wanted) = request_in(case, template, container, step) else {
                continue;
            };
            // The template of the pod itself may be an earlier one.
            let made = case
                .template_of(pod)
                .map(as_pod)
                .and_then(|template| request_in(case, &template, container, step));
            let is_other = made.is_some_and(|made| (made == wanted) == is_held);
            if wanted == Some(request) || is_other {
                continue;
            }
            match all
                .iter_mut()
                .find(|it| it.container.as_deref() == container)
            {
                Some(known) => {
                    known.least = known.least.min(request);
                    known.most = known.most.max(request);
                    known.pods += 1;
                }
                None => all.push(Differing {
                    container: container.map(Into::into),
                    template: wanted,
                    least: request,
                    most: request,
                    pods: 1,
                }),
            }
        }
    }
    // Defaults of the namespace fill in requests that the template omits.
    let was_set = pods.iter().any(|pod| is_updated(pod, resource));
    let setter = |it: &Differing| case.setter(it.container.as_deref(), resource);
    all.retain(|it| it.template.is_some() || was_set || setter(it) == Setter::Autoscaler);
    (!all.is_empty()).then_some(all)
}

/// Returns the request of a container of a template, or of the pod as a whole, in milli-units; `None` if the template has
/// no such container, or no request as a whole.
fn request_in(
    case: &Case<'_>,
    template: &Pod,
    container: Option<&str>,
    step: &MetricStep,
) -> Option<Option<i64>> {
    let Some(name) = container else {
        return request_of(case, template, step).map(Some);
    };
    let request = template.container(name)?.requests.get(&step.name);
    Some(request.map(Amount::milli_value))
}

/// A container, or the pod as a whole, whose request differs from the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// Its name; `None` for the pod as a whole.
    pub container: Option<Box<str>>,
    /// The request in the template, in milli-units, if it states one.
    pub template: Option<i64>,
    /// The lowest request in a pod.
    pub least: i64,
    /// The highest.
    pub most: i64,
    /// The number of pods in which it differs.
    pub pods: usize,
}

impl RequestsDifferFromTemplate {
    /// Whether the advice of another finding comes first.
    fn follows(&self, facts: &Facts, about: &About<'_>) -> bool {
        match facts {
            // Where the template requests too little as well, pods that get its requests help no more.
            Facts::RequestTooSmall(it) => it.metric == self.metric,
            // A metric of one container has another target.
            Facts::DilutedByContainer(it) => {
                self.held.is_none() && it.metric == self.metric && it.is_left(about)
            }
            _ => false,
        }
    }

    /// Whether a VerticalPodAutoscaler sets the requests.
    pub(in crate::findings) fn is_from_vpa(&self) -> bool {
        self.vpa.is_some() || self.updated > 0
    }
}

impl Differing {
    /// Describes the request in the pods.
    fn request(&self, resource: &str) -> String {
        let least = milli(self.least, resource);
        if self.least == self.most {
            least
        } else {
            format!("{least} to {}", milli(self.most, resource))
        }
    }

    /// Describes the request in the template.
    fn wanted(&self, resource: &str) -> String {
        let template = self.template.map(|template| milli(template, resource));
        template.unwrap_or_else(|| "nothing".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::owners::testing as owners;
    use crate::findings::requests::testing::{
        cpu_of, of_kind, owned, vpa, with_another, with_container,
    };
    use crate::findings::testing::{
        found, only, only_of, said, state, table, with, with_hpa, with_pod, with_spec,
    };

    #[test]
    fn requests_that_are_not_the_templates() {
        let two = state(&[cpu_of(70)], &["90m", "90m"]);
        let template = json!([build::requesting("app", "500m")]);
        let differing = owned(&two, &template);
        let new = json!({"spec": {"containers": template}});
        let rollout = with_pod(&differing, "web-1", &new);
        let with_vpa = |mode| [differing.clone(), vec![vpa(mode)]].concat();
        let of_memory = {
            let policy = json!([{"containerName": "*", "controlledResources": ["memory"]}]);
            let patch = json!({"spec": {"resourcePolicy": {"containerPolicies": policy}}});
            with(&with_vpa("Auto"), "VerticalPodAutoscaler", &patch)
        };
        let of_app = {
            let policies = json!([{"containerName": "*", "mode": "Off"}, {"containerName": "app"}]);
            let patch = json!({"spec": {"resourcePolicy": {"containerPolicies": policies}}});
            with(&with_vpa("Auto"), "VerticalPodAutoscaler", &patch)
        };
        let counted = |items: &[Value], replicas: i32| {
            let status = json!({"status": {"replicas": 2, "updatedReplicas": replicas}});
            with(items, "Deployment", &status)
        };
        let updated = |replicas: i32| counted(&differing, replicas);
        // The ReplicaSet of the pods, with a request in its template.
        let made_of = |items: &[Value], request: &str| {
            let spec = json!({"containers": [build::requesting("app", request)]});
            let template = json!({"spec": {"template": {"spec": spec}}});
            [items, &[owners::replica_set("5d", &template)]].concat()
        };
        let paused =
            |items: &[Value]| with(items, "Deployment", &json!({"spec": {"paused": true}}));
        // The API omits a count of 0.
        let seen = |items: &[Value]| {
            let status = json!({"status": {"replicas": 2, "observedGeneration": 2}});
            with(items, "Deployment", &status)
        };
        // A pod that its ReplicaSet has replaced, which no status counts.
        let failed = json!({"status": {"phase": "Failed"}});
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
        // A rollout has replaced the second pod, and so the revisions cannot be told by the numbers of their pods.
        let other = owners::of_set("web", "6e");
        let updating = with_pod(&counted(&rollout, 1), "web-1", &other);
        // The API server takes a limit for the request that is not stated.
        let limited = |limit: &str| {
            let containers = json!([{"name": "app", "resources": {"limits": {"cpu": limit}}}]);
            [owned(&two, &containers), vec![vpa("Auto")]].concat()
        };
        let same = json!([build::requesting("app", "100m")]);
        let by_tool = json!({"metadata": {"managedFields": [
            {"manager": "argocd-controller", "fieldsV1": {"f:spec": {"f:paused": {}}}}]}});
        let by_owner = json!({"metadata": {"ownerReferences": build::owned_by("example.com/v1", "Shop", "web")}});
        let little = owned(&two, &json!([build::requesting("app", "25m")]));
        let argo = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"});
        let to_rollout = json!({"spec": {"scaleTargetRef": argo}});
        let of_rollout = with_hpa(&with(&differing, "Deployment", &argo), &to_rollout);
        let resumed = with_another(&paused(&made_of(&updated(2), "500m")), &deleted);
        // The pods are of revision 5d.
        let of_set = |strategy: Value, revision: &str| {
            let status = json!({"replicas": 2, "updateRevision": revision});
            let patch = json!({"spec": {"updateStrategy": strategy}, "status": status});
            let set = of_kind(differing.clone(), "StatefulSet");
            with(&set, "StatefulSet", &patch)
        };
        let of_whole = |request: &str| {
            let whole = |cpu: &str| json!({"spec": {"resources": {"requests": {"cpu": cpu}}}});
            let template = json!({"spec": {"template": whole(request)}});
            let items = with(&differing, "Pod", &whole("100m"));
            with(&items, "Deployment", &template)
        };
        let on_delete = json!({"type": "OnDelete"});
        let deleting = of_set(on_delete.clone(), "6e");
        let template = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
        let limit = json!({"name": "app", "resources": {"limits": {"cpu": "400m"}}});
        let limit = template(json!({"containers": [limit]}));
        let whole = json!({"resources": {"requests": {"cpu": "600m"}}});
        let partition = |first: i32| json!({"rollingUpdate": {"partition": first}});
        let of_replica_set = of_kind(differing.clone(), "ReplicaSet");
        let owner = build::owned_by("apps/v1", "Deployment", "web");
        let owner = json!({"metadata": {"ownerReferences": owner}});
        let of_owned = with(&of_replica_set, "ReplicaSet", &owner);
        let proxy = build::requesting("proxy", "200m");
        let beside = with_container(&with_vpa("Auto"), &proxy, "80m", "20m");
        let job = build::owned_by("batch/v1", "Job", "other");
        let other = json!({"metadata": {"ownerReferences": job},
            "spec": {"containers": [build::requesting("app", "2")]}});
        let foreign = with_pod(&with_vpa("Auto"), "web-1", &other);
        // 70% of 500m and 200m, and of 500m alone.
        for (items, want) in [(&beside, "490m"), (&foreign, "350m")] {
            let advice = said(Code::RequestsDifferFromTemplate, items).advice.text();
            let start = format!("Use averageValue: {want},");
            assert!(advice.starts_with(&start), "{advice}");
        }
        // The template's requests hide no container that is at 16%, but one at 90%.
        let large = build::requesting("proxy", "4");
        let hidden = with_container(&with_vpa("Auto"), &large, "450m", "20m");
        let diluted = [&beside, &hidden].map(|it| only(Code::DilutedByContainer, it));
        let follow = diluted.map(|it| it.unwrap().follows);
        assert_eq!(follow, [Some(Code::RequestsDifferFromTemplate), None]);
        let states = [
            ("but a VerticalPodAutoscaler's", with_vpa("Auto")),
            (
                "but a VerticalPodAutoscaler's, while the template has none",
                [owned(&two, &json!([{"name": "app"}])), vec![vpa("Auto")]].concat(),
            ),
            ("which are little", little),
            ("but not a VerticalPodAutoscaler's", with_vpa("Off")),
            ("but those of a VerticalPodAutoscaler of memory", of_memory),
            (
                "but those of a VerticalPodAutoscaler of the container",
                of_app,
            ),
            ("in some pods of a rollout", rollout),
            ("in a pod of two in a rollout", updating.clone()),
            (
                "in a pod of two in a rollout, next to a deleted one",
                with_another(&updating, &deleted),
            ),
            (
                "in a pod of two in a rollout, next to a failed one",
                with_another(&updating, &failed),
            ),
            ("but its limits", limited("100m")),
            (
                "but a VerticalPodAutoscaler's, with limits",
                limited("500m"),
            ),
            ("in pods of the revision", updated(2)),
            ("in pods of an earlier revision", updated(0)),
            (
                "in pods of which some are of an earlier revision",
                updated(1),
            ),
            ("in pods of which the API counts none", seen(&differing)),
            ("in pods of another ReplicaSet", made_of(&differing, "100m")),
            ("in pods of the ReplicaSet", made_of(&differing, "500m")),
            ("while the target is paused", paused(&differing)),
            (
                "while the target is paused by a tool",
                with(&paused(&differing), "Deployment", &by_tool),
            ),
            (
                "while the target is paused by its owner",
                with(&paused(&differing), "Deployment", &by_owner),
            ),
            (
                "while the target is paused, says the API",
                paused(&seen(&differing)),
            ),
            (
                "while the target is paused, says the ReplicaSet",
                paused(&made_of(&differing, "100m")),
            ),
            (
                "and the target is paused with the template",
                paused(&updated(2)),
            ),
            (
                "and the target is paused with the template and a failed pod",
                with_another(&paused(&updated(2)), &failed),
            ),
            (
                "and the target is paused with the template, its ReplicaSet and a deleted pod",
                resumed.clone(),
            ),
            (
                "and the target is paused with the ReplicaSet",
                paused(&made_of(&differing, "500m")),
            ),
            (
                "but a VerticalPodAutoscaler's, in a paused target",
                paused(&with_vpa("Auto")),
            ),
            ("but defaults", owned(&two, &json!([{"name": "app"}]))),
            ("which they are", owned(&two, &same)),
            ("of a Rollout", of_rollout),
            (
                "while pods have to be deleted",
                of_set(on_delete.clone(), "6e"),
            ),
            (
                "while pods have to be deleted, in those of the revision",
                of_set(on_delete, "5d"),
            ),
            (
                "while pods have to be deleted, but its limits",
                with(&deleting, "StatefulSet", &limit),
            ),
            (
                "while pods have to be deleted, but those of pods as a whole",
                with(&deleting, "StatefulSet", &template(whole)),
            ),
            ("below a partition", of_set(partition(2), "6e")),
            (
                "below a partition, in those of the revision",
                of_set(partition(2), "5d"),
            ),
            ("of pods as a whole", of_whole("500m")),
            ("of pods as a whole, which they are", of_whole("100m")),
            ("of a ReplicaSet", of_replica_set),
            ("of a ReplicaSet of a Deployment", of_owned),
        ];
        // Of 70%, 150% need 5 pods, and 75% or 90% need 3.
        let app = |cpu: &str, memory: &str| {
            let requests = json!({"requests": {"cpu": cpu, "memory": memory}});
            json!({"containers": [{"name": "app", "resources": requests}]})
        };
        let usage = json!([{"name": "app", "usage": {"cpu": "90m", "memory": "150Mi"}}]);
        let metrics = [
            cpu_of(70),
            build::resource("memory", &build::utilization(70)),
        ];
        let items = with_spec(&with_vpa("Auto"), &json!({ "metrics": metrics }));
        let items = with(&items, "Pod", &json!({"spec": app("100m", "100Mi")}));
        let items = with(&items, "Deployment", &template(app("500m", "200Mi")));
        let items = with(&items, "PodMetrics", &json!({ "containers": usage }));
        for items in [paused(&items), items] {
            let all = found(&items).into_iter();
            let own = all.filter(|it| it.code() == Code::RequestsDifferFromTemplate);
            let without = own.map(|it| it.without.and_then(|it| it.proposal));
            assert_eq!(Vec::from_iter(without), [Some(3), Some(5)]);
        }
        // While the target is not paused, the words do not tell whether its ReplicaSet was read.
        for (items, is_seen) in [
            (with_vpa("Off"), false),
            (updated(2), false),
            (made_of(&differing, "500m"), true),
            (resumed, true),
        ] {
            let (facts, _) = only_of::<RequestsDifferFromTemplate>(&items).unwrap();
            assert_eq!(facts.is_seen, is_seen);
        }
        insta::assert_snapshot!(table(Code::RequestsDifferFromTemplate, states), @r#"
        but a VerticalPodAutoscaler's: warning, explains, without it 1 -> 2
            cpu is a share of requests that a VerticalPodAutoscaler sets: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - The VerticalPodAutoscaler web sets requests of Deployment/web.
            - With the template's cpu requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Use averageValue: 350m, or let the VerticalPodAutoscaler leave cpu alone.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"resource":{"name":"cpu","target":{"averageValue":"350m","type":"AverageValue"}},"type":"Resource"}}]'
            @ deployment/web verticalpodautoscaler/web
        but a VerticalPodAutoscaler's, while the template has none: warning, aside
            cpu is a share of requests that a VerticalPodAutoscaler sets: 100m instead of nothing in app
            - app requests 100m in 2 of 2 pods, and nothing in the template.
            - The VerticalPodAutoscaler web sets requests of Deployment/web.
            > Use an AverageValue target.
            @ deployment/web verticalpodautoscaler/web
        which are little: warning, explains, without it 11 -> 4
            cpu is a share of requests that something else sets: 100m instead of 25m in app
            - app requests 100m in 2 of 2 pods, and 25m in the template.
            - With the template's cpu requests: a proposal of 11, and 4 replicas after stabilization and limits.
            > Use an AverageValue target.
            @ deployment/web
        but not a VerticalPodAutoscaler's: warning, explains, without it 1 -> 2
            cpu is a share of requests that something else sets: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's cpu requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Use averageValue: 350m.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"resource":{"name":"cpu","target":{"averageValue":"350m","type":"AverageValue"}},"type":"Resource"}}]'
            @ deployment/web
        but those of a VerticalPodAutoscaler of memory: as but not a VerticalPodAutoscaler's
        but those of a VerticalPodAutoscaler of the container: as but a VerticalPodAutoscaler's
        in some pods of a rollout: none
        in a pod of two in a rollout: none
        in a pod of two in a rollout, next to a deleted one: none
        in a pod of two in a rollout, next to a failed one: none
        but its limits: none
        but a VerticalPodAutoscaler's, with limits: as but a VerticalPodAutoscaler's
        in pods of the revision: as but not a VerticalPodAutoscaler's
        in pods of an earlier revision: none
        in pods of which some are of an earlier revision: none
        in pods of which the API counts none: none
        in pods of another ReplicaSet: none
        in pods of the ReplicaSet: as but not a VerticalPodAutoscaler's
        while the target is paused: warning, explains, without it 1 -> 2
            Deployment/web is paused, so its pods may keep earlier requests, of which cpu is a share: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Resume Deployment/web, which may give its pods the template's requests.
            $ kubectl rollout resume deployment/web -n default
            @ deployment/web
        while the target is paused by a tool: warning, explains, without it 1 -> 2
            Deployment/web is paused, so its pods may keep earlier requests, of which cpu is a share: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Resume Deployment/web, which may give its pods the template's requests. Argo CD writes Deployment/web: change it in Git.
            @ deployment/web
        while the target is paused by its owner: warning, explains, without it 1 -> 2
            Deployment/web is paused, so its pods may keep earlier requests, of which cpu is a share: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Resume Deployment/web, which may give its pods the template's requests. Shop/web owns Deployment/web: change it there.
            @ deployment/web
        while the target is paused, says the API: as while the target is paused
        while the target is paused, says the ReplicaSet: warning, explains, without it 1 -> 2
            Deployment/web is paused, so its pods keep earlier requests, of which cpu is a share: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Resume Deployment/web, so that its pods get the requests of its template.
            $ kubectl rollout resume deployment/web -n default
            @ deployment/web
        and the target is paused with the template: as but not a VerticalPodAutoscaler's
        and the target is paused with the template and a failed pod: as but not a VerticalPodAutoscaler's
        and the target is paused with the template, its ReplicaSet and a deleted pod: as but not a VerticalPodAutoscaler's
        and the target is paused with the ReplicaSet: as but not a VerticalPodAutoscaler's
        but a VerticalPodAutoscaler's, in a paused target: as but a VerticalPodAutoscaler's
        but defaults: none
        which they are: none
        of a Rollout: warning, explains, without it 1 -> 2
            cpu is a share of requests that something else sets: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's cpu requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Use averageValue: 350m.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"resource":{"name":"cpu","target":{"averageValue":"350m","type":"AverageValue"}},"type":"Resource"}}]'
            @ rollout.argoproj.io/web
        while pods have to be deleted: warning, explains, without it 1 -> 2
            StatefulSet/web only replaces pods that are deleted, so its pods may keep earlier requests, of which cpu is a share: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete the pods of the earlier revision: the update strategy is OnDelete.
            $ kubectl get pods -n default -l app=web -L controller-revision-hash
            @ statefulset/web
        while pods have to be deleted, in those of the revision: warning, explains, without it 1 -> 2
            cpu is a share of requests that something else sets: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's cpu requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Use averageValue: 350m.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"resource":{"name":"cpu","target":{"averageValue":"350m","type":"AverageValue"}},"type":"Resource"}}]'
            @ statefulset/web
        while pods have to be deleted, but its limits: warning, explains, without it 1 -> 2
            StatefulSet/web only replaces pods that are deleted, so its pods may keep earlier requests, of which cpu is a share: 100m instead of 400m in app
            - app requests 100m in 2 of 2 pods, and 400m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete the pods of the earlier revision: the update strategy is OnDelete.
            $ kubectl get pods -n default -l app=web -L controller-revision-hash
            @ statefulset/web
        while pods have to be deleted, but those of pods as a whole: warning, explains, without it 1 -> 2
            StatefulSet/web only replaces pods that are deleted, so its pods may keep earlier requests, of which cpu is a share: 100m instead of 600m in each pod
            - The pod as a whole requests 100m in 2 of 2 pods, and 600m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete the pods of the earlier revision: the update strategy is OnDelete.
            $ kubectl get pods -n default -l app=web -L controller-revision-hash
            @ statefulset/web
        below a partition: none
        below a partition, in those of the revision: as while pods have to be deleted, in those of the revision
        of pods as a whole: warning, explains, without it 1 -> 2
            cpu is a share of requests that something else sets: 100m instead of 500m in each pod
            - The pod as a whole requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's cpu requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Use averageValue: 350m.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"resource":{"name":"cpu","target":{"averageValue":"350m","type":"AverageValue"}},"type":"Resource"}}]'
            @ deployment/web
        of pods as a whole, which they are: none
        of a ReplicaSet: warning, explains, without it 1 -> 2
            ReplicaSet/web only replaces pods that are deleted, so its pods may keep earlier requests, of which cpu is a share: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Delete the pods of the earlier revision: the target does not replace them.
            @ replicaset/web
        of a ReplicaSet of a Deployment: warning, explains, without it 1 -> 2
            cpu is a share of requests that something else sets: 100m instead of 500m in app
            - app requests 100m in 2 of 2 pods, and 500m in the template.
            - With the template's cpu requests: a proposal of 1, and 2 replicas after stabilization and limits.
            > Use averageValue: 350m.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"resource":{"name":"cpu","target":{"averageValue":"350m","type":"AverageValue"}},"type":"Resource"}}]'
            @ replicaset/web
        "#);
    }
}
