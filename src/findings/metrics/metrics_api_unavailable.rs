//! The finding `metrics-api-unavailable`.

use super::miss::Miss;
use super::{
    EXTERNAL, ServedBy, api, failed, not_of_keda, point_at_keda, points_at, service, short,
    unavailable,
};
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::names::shell_word;
use crate::engine::decision::MetricStep;
use crate::findings::about::told;
use crate::findings::pods::{failing, is_alive};
use crate::findings::{
    About, Advice, Aspect, Before, Case, Command, Finding, Kind, Rank, Remedy, Text,
};
use crate::snapshot::pod::{ConditionStatus, Pod};
use crate::snapshot::surroundings::ServiceReference;
use crate::words::time;

/// A metrics API does not answer.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsApiUnavailable {
    /// Its group.
    pub group: &'static str,
    /// The failing metrics that it should serve, by index in the spec.
    pub metrics: Vec<usize>,
    /// How it fails.
    pub why: Unavailable,
    /// Its message about the first of the metrics; empty if the input has no answer.
    pub message: String,
    /// Its APIService, if that is known to be unavailable.
    pub service: Option<UnavailableService>,
    /// What serves the API, if KEDA should and something else does.
    pub served_by: Option<ServedBy>,
    /// An adapter that serves another metrics API, if nothing serves this one.
    pub adapter: Option<ServedBy>,
    /// A pod that should serve it and does not run.
    pub server: Option<Server>,
}

impl Kind for MetricsApiUnavailable {
    type Hits = Vec<Finding>;

    const CODE: &'static str = "metrics-api-unavailable";
    const WHEN: &'static str = "The API server does not serve the metrics API that a metric is asked of, its APIService is \
             not available, or requests fail with a server error.";
    const REMEDY: &'static str =
        "Install what serves the API, or look at its APIService and at the pods behind it.";
    const RANK: Rank = Rank::Broken;
    const IS: &'static [Aspect] = &[Aspect::OfMetrics];

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let mut apis: Vec<Self> = Vec::new();
        for step in case.metrics() {
            let Some(Miss::Unavailable(why, text)) = Miss::of(case, step) else {
                continue;
            };
            let group = case.spec(step).api_group();
            match apis.iter_mut().find(|api| api.group == group) {
                Some(api) => api.metrics.push(step.index),
                None => apis.push(Self::of(case, step, why, text)),
            }
        }
        apis.into_iter().map(|facts| failed(case, facts)).collect()
    }

    fn failed_metrics(&self) -> Vec<usize> {
        self.metrics.clone()
    }

    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            group,
            metrics,
            why,
            message,
            service,
            served_by,
            adapter,
            server,
        } = self;
        let (api, labels) = (api(group), about.labels(metrics));
        let what = match why {
            Unavailable::Unserved => "is not served",
            Unavailable::NotFound => "is not served, or does not know",
            Unavailable::Stale => "has only stale versions",
            Unavailable::Failing => "does not answer",
        };
        let serves = match *group {
            "metrics.k8s.io" => "metrics-server",
            "external.metrics.k8s.io" if about.hpa().scaled_object().is_some() => {
                "KEDA's metrics server"
            }
            "external.metrics.k8s.io" => "an adapter such as KEDA",
            _ => "an adapter such as prometheus-adapter",
        };
        let said = Some(message).filter(|message| !message.is_empty());
        let mut evidence = vec![format!("The group of the API is {group}.")];
        evidence.extend(said.map(|message| format!("The controller gets: {}.", short(message))));
        evidence.extend(service.as_ref().map(
            |UnavailableService {
                 name, available, ..
             }| {
                let since = available
                    .last_transition_time
                    .map_or_else(String::new, |since| {
                        format!(" since {}", time(about.now(), since))
                    });
                let said = told([&available.reason, &short(&available.message)]);
                format!("The APIService {name} is not available{since}{said}.")
            },
        ));
        let reasons = service.as_ref().map(|it| &it.available.reason);
        let reason = reasons.filter(|reason| !reason.is_empty());
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        let known = service.as_ref().map(|service| service.name.clone());
        let name = known
            .or_else(|| (*group != "custom.metrics.k8s.io").then(|| format!("v1beta1.{group}")));
        let of_keda = about
            .hpa()
            .scaled_object()
            .filter(|_| *group != "metrics.k8s.io");
        evidence.extend(served_by.iter().chain(adapter).map(points_at));
        evidence.extend(server.as_ref().map(Server::state));
        let (advice, command) = match (why, served_by) {
            (_, Some(served_by)) => point_at_keda(served_by),
            (Unavailable::Stale | Unavailable::Failing, None) if let Some(server) = server => {
                server.advice()
            }
            (Unavailable::NotFound, None) if of_keda.is_none() => (
                Remedy::InstallApi.says(match adapter {
                    Some(ServedBy { service, .. }) => {
                        format!("Register it for {service} with a rule, or use type Pods.")
                    }
                    None => format!("Correct the name, or install {serves}."),
                }),
                format!("kubectl get --raw {}", about.path_of(group)).into(),
            ),
            (Unavailable::Unserved, None) if of_keda.is_none() => (
                Remedy::InstallApi.says(match adapter {
                    Some(ServedBy { service, .. }) => format!(
                        "Give the installed adapter, {service}, an APIService of this group and a \
                         rule for {labels}."
                    ),
                    None if *group == "metrics.k8s.io" => {
                        format!("Install {serves}, or register its APIService.")
                    }
                    None => format!("Install {serves}."),
                }),
                "kubectl get apiservices".into(),
            ),
            _ => (
                Remedy::LookAtApi.says(format!("Look at {serves} and its APIService.")),
                match &name {
                    Some(name) => {
                        format!("kubectl describe apiservice {}", shell_word(name)).into()
                    }
                    None => "kubectl get apiservices".into(),
                },
            ),
        };
        let behind = service.as_ref().and_then(|it| it.behind.as_ref());
        evidence.extend(behind.map(|ServiceReference { namespace, name }| {
            format!("It points at the Service {namespace}/{name}, whose pods log why.")
        }));
        let objects = name.filter(|_| *why != Unavailable::Unserved);
        Text {
            summary: match why {
                Unavailable::NotFound => {
                    format!("{api} {what} {labels}, {}", about.effect("it"))
                }
                _ => {
                    format!(
                        "{api} {what}{reason}: {labels} cannot be read, {}",
                        about.effect("it")
                    )
                }
            },
            evidence,
            advice,
            commands: vec![command],
            objects: objects
                .map(|name| format!("apiservice/{name}"))
                .into_iter()
                .collect(),
        }
    }
}

/// A pod that should serve a metrics API and does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Why, if it says so: a container, and what that waits for.
    pub why: Option<(Box<str>, Box<str>)>,
    /// Whether the scheduler has found no node for it.
    pub has_no_node: bool,
}

/// How a metrics API fails to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The API server does not serve its group.
    Unserved,
    /// The API server finds nothing at the path of a metric: it does not serve the group, or what serves the
    /// group does not know the metric.
    NotFound,
    /// The API server knows the group, but its discovery of the versions is stale.
    Stale,
    /// It is served, but requests fail.
    Failing,
}

/// An unavailable APIService.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableService {
    /// Its name.
    pub name: String,
    /// Its condition `Available`.
    pub available: Condition,
    /// The Service that it points at.
    pub behind: Option<ServiceReference>,
}

/// Returns an adapter that serves another metrics API than that of a group of custom or external metrics, as neither
/// metrics-server nor KEDA could serve this one.
pub(crate) fn adapter(case: &Case<'_>, group: &str) -> Option<ServedBy> {
    const ALL: [&str; 3] = ["metrics.k8s.io", "custom.metrics.k8s.io", EXTERNAL];
    let others = ALL
        .into_iter()
        .filter(|other| *other != group && group != ALL[0]);
    let mut serving = others.filter_map(|other| ServedBy::of(service(case, other)?));
    serving.find(|it| !it.is_keda() && !it.service.ends_with("metrics-server"))
}

/// Returns a pod that should serve a metrics API and does not run, if the input has it.
pub(crate) fn server(case: &Case<'_>, group: &str) -> Option<Server> {
    let behind = service(case, group).and_then(|it| it.spec.service.as_ref());
    let behind = behind.map(|it| (&*it.namespace, &*it.name));
    let usual = ("kube-system", "metrics-server");
    let (namespace, name) = behind.or((group == "metrics.k8s.io").then_some(usual))?;
    let own = case.surroundings().servers.iter().filter(|pod| {
        let rest = pod.name.strip_prefix(name);
        pod.namespace.as_deref() == Some(namespace)
            && rest.is_some_and(|rest| rest.starts_with('-'))
            && is_alive(pod)
    });
    let is_ready = |pod: &Pod| {
        pod.ready
            .is_some_and(|it| it.status == ConditionStatus::True)
    };
    // One that runs is enough.
    let mut down = own.clone().filter(|pod| !is_ready(pod));
    let pod = down
        .next()
        .filter(|_| !own.clone().any(|pod| is_ready(pod)))?;
    let why = failing(pod).map(|(container, reason)| (container.into(), reason.into()));
    Some(Server {
        namespace: namespace.into(),
        name: pod.name.clone(),
        why,
        has_no_node: pod.unschedulable.is_some(),
    })
}

impl Server {
    /// Words that it does not run.
    fn state(&self) -> String {
        let Self {
            namespace,
            name,
            why,
            has_no_node,
        } = self;
        match why {
            Some((container, reason)) => {
                format!("{container} of pod {namespace}/{name} waits: {reason}.")
            }
            None if *has_no_node => {
                format!("The scheduler finds no node for pod {namespace}/{name}.")
            }
            None => format!("Pod {namespace}/{name} is not ready."),
        }
    }

    /// Returns what to do about it.
    fn advice(&self) -> (Advice, Command) {
        let Self {
            namespace,
            name,
            why,
            ..
        } = self;
        let reason = why
            .as_ref()
            .map_or_else(String::new, |(_, reason)| format!(": {reason}"));
        let advice = Remedy::LookAtApi.says(format!("Find out why {name} does not run{reason}."));
        let (name, namespace) = (shell_word(name), shell_word(namespace));
        (
            advice,
            format!("kubectl describe pod {name} -n {namespace}").into(),
        )
    }
}

impl MetricsApiUnavailable {
    fn of(case: &Case<'_>, step: &MetricStep, why: Unavailable, text: &str) -> Self {
        let group = case.spec(step).api_group();
        let service = service(case, group).and_then(|service| {
            Some(UnavailableService {
                name: service.metadata.name.clone(),
                available: unavailable(service)?.clone(),
                behind: service.spec.service.clone(),
            })
        });
        // What has an APIService of its own may only lack the name.
        let is_absent = match why {
            Unavailable::Unserved => true,
            Unavailable::NotFound => service.is_none(),
            Unavailable::Stale | Unavailable::Failing => false,
        };
        let adapter = is_absent.then(|| adapter(case, group));
        Self {
            group,
            metrics: vec![step.index],
            why,
            message: text.to_owned(),
            service,
            served_by: not_of_keda(case, group),
            adapter: adapter.flatten(),
            server: server(case, group),
        }
    }
}
