//! Words findings about metrics that fail.

use super::command::Command;
use super::remedy::Remedy;
use super::{APART, About, Advice, Text, Words, names, told};
use crate::apimachinery::metadata::OwnerReference;
use crate::apimachinery::names::{plural, shell_word};
use crate::cluster::fetch::discovery::segment;
use crate::engine::rules::Rules;
use crate::findings::metrics::{
    BlockedByFailedMetric, ContainerMetricsMissing, MetricEmpty, MetricFailing, MetricNotFound,
    MetricsApiUnavailable, Refused, ServedBy, Server, Unavailable, UnavailableService,
    UnknownContainer, Unmapped, Unmeasured,
};
use crate::keda;
use crate::report::words::{count, duration, list, sentence, time};
use crate::saved::assemble::resource_of;
use crate::snapshot::hpa::{CrossVersionObjectReference, MetricSource};
use crate::snapshot::surroundings::ServiceReference;

/// `the external metrics API`
fn api(group: &str) -> String {
    let which = match group.split_once('.') {
        Some((which @ ("custom" | "external"), _)) => which,
        _ => "resource",
    };
    format!("the {which} metrics API")
}

/// Returns the first line of a text from a backend, without its middle if it is long: errors start with the
/// request and end with the cause.
fn short(text: &str) -> String {
    const START: usize = 60;
    const END: usize = 120;
    let line = text.lines().next().unwrap_or_default();
    let letters: Vec<char> = line.chars().collect();
    if letters.len() <= START + END {
        return line.to_owned();
    }
    if let (cause, Some(_)) = cause(line) {
        return format!("{}, query: …", short(cause));
    }
    let start: String = letters[..START].iter().collect();
    let end: String = letters[letters.len() - END..].iter().collect();
    format!("{start} … {end}")
}

/// Returns an error without the query that Datadog quotes after it, and that query.
fn cause(line: &str) -> (&str, Option<&str>) {
    line.split_once(", query: ")
        .map_or((line, None), |(cause, query)| (cause, Some(query)))
}

/// What Datadog adds to the error about a metric that it does not have.
const ID: &str = ", datadogmetricid: ";
/// Returns the namespace and the name of the DatadogMetric that a metric names (`datadogmetric@NAMESPACE:NAME`).
fn datadog_metric(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("datadogmetric@")?.split_once(':')
}

/// How the API server begins an error of a backend.
const INTERNAL: &str = "Internal error occurred: ";

/// Returns the cause of a backend's error, which is its end, as far as a summary has room for it.
pub(super) fn end(text: &str) -> String {
    const END: usize = 70;
    let (line, _) = cause(text.lines().next().unwrap_or_default());
    let line = line.split_once(ID).map_or(line, |(cause, _)| cause);
    let line = line.strip_prefix(INTERNAL).unwrap_or(line);
    let words = line.match_indices(' ').map(|(at, _)| &line[at + 1..]);
    match words.into_iter().find(|rest| rest.chars().count() <= END) {
        Some(rest) if line.chars().count() > END => format!("… {rest}"),
        _ => line.to_owned(),
    }
}

/// Words what serves an API.
fn points_at(ServedBy { api, service }: &ServedBy) -> String {
    format!(
        "The APIService {api} points at the Service {service}; only one server can serve an API."
    )
}

/// Returns the advice to let KEDA serve the external metrics, with a command that shows what does.
fn point_at_keda(ServedBy { api, service }: &ServedBy) -> (Advice, Command) {
    let advice = Remedy::PointApiService.says(format!(
        "Point {api} at KEDA's metrics server, which ends the metrics of {service} for other HPAs; or read its \
         metrics in an HPA of their own."
    ));
    (
        advice,
        format!("kubectl get apiservice {} -o yaml", shell_word(api)).into(),
    )
}

/// `has`, `have`
fn have(count: usize) -> &'static str {
    if count == 1 { "has" } else { "have" }
}

impl About<'_> {
    pub(super) fn labels(&self, metrics: &[usize]) -> String {
        names(
            &metrics
                .iter()
                .map(|metric| self.label(*metric))
                .collect::<Vec<_>>(),
        )
    }

    /// Words the effect of a failing metric on the pass.
    pub(super) fn effect(&self, it: &str) -> String {
        let mut metrics = self.pass.decision.metrics();
        if self.ignores_metrics() {
            if self.finding.facts.failed_metrics().len() == self.hpa().spec.metrics.len() {
                "so nothing is scaled after this pass".to_owned()
            } else {
                format!("so {it} blocks scaling down after this pass")
            }
        } else if !self.finding.explains {
            format!("so {it} has no say")
        } else if metrics.any(|step| step.proposal().is_some()) {
            format!("so {it} blocks scaling down")
        } else {
            "so nothing is scaled".to_owned()
        }
    }

    /// Returns a command that replaces a part of a metric.
    fn replace(&self, path: &str, value: impl Into<serde_json::Value>) -> Option<Command> {
        let value: serde_json::Value = value.into();
        self.patch_metrics(&serde_json::json!([{"op": "replace", "path": path, "value": value}]))
    }

    /// Returns a command that asks a metrics API for what the controller asks it.
    pub(super) fn ask(&self, metric: usize) -> Command {
        let spec = self.spec(metric);
        let namespace = &self.hpa().namespace;
        let scale = self.pass.input.snapshot.scale.as_ref().ok();
        let pods = scale.map_or("", |scale| scale.selector.as_str());
        let (name, selector) = (segment(spec.name()), spec.selector());
        let raw = |rest: &str, selectors: &[(&str, &str)]| {
            let given = selectors
                .iter()
                .filter(|(_, selector)| !selector.is_empty());
            let given: Vec<String> = given
                .map(|(key, selector)| format!("{key}={}", segment(selector)))
                .collect();
            let query = if given.is_empty() { "" } else { "?" };
            let api = self.path_of(spec.api_group());
            let path = format!(
                "{api}/namespaces/{namespace}/{rest}{query}{}",
                given.join("&")
            );
            format!("kubectl get --raw {}", shell_word(&path)).into()
        };
        match spec.source() {
            MetricSource::External(_) => raw(&name, &[("labelSelector", &selector)]),
            MetricSource::Pods(_) => raw(
                &format!("pods/*/{name}"),
                &[("labelSelector", pods), ("metricLabelSelector", &selector)],
            ),
            MetricSource::Object(source) => {
                let object = &source.described_object;
                let of = if object.is_namespace() {
                    "metrics".to_owned()
                } else {
                    let resource = resource_of(object.group(), &object.kind);
                    format!("{resource}/{}", segment(&object.name))
                };
                raw(
                    &format!("{of}/{name}"),
                    &[("metricLabelSelector", &selector)],
                )
            }
            _ => {
                let (namespace, selector) = (shell_word(namespace), shell_word(pods));
                format!("kubectl top pods -n {namespace} -l {selector}").into()
            }
        }
    }

    /// Words where a metric is looked up, if its series may be in another namespace: neither pods nor what KEDA serves
    /// itself are.
    fn looked_up(&self, metric: usize) -> Option<String> {
        let namespace = &self.hpa().namespace;
        match self.spec(metric).source() {
            MetricSource::External(_) if self.hpa().scaled_object().is_none() => Some(format!(
                "It is looked up in the HPA's namespace, {namespace}. prometheus-adapter looks at \
                 series of others only under a rule with namespaced: false."
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

    /// Returns the path of a metrics API in the version that the controller asks.
    fn path_of(&self, group: &str) -> String {
        format!(
            "/apis/{group}/{}",
            self.pass.input.surroundings.version_of(group)
        )
    }
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

impl About<'_> {
    /// Returns what else to do about a trigger that fails, if KEDA could replace its value: `, or set its
    /// spec.fallback`. It does so for targets of type AverageValue (`CheckFallbackValid`).
    fn or_fallback(&self, owner: &OwnerReference, metrics: &[usize], fallback: &str) -> String {
        let has_average = |metric: &usize| {
            !self.spec(*metric).is_resource() && self.target_of(*metric).average_value.is_some()
        };
        let object = self.object_of(owner);
        let has_none = object.is_none_or(|it| it.spec.fallback.is_none());
        if has_none && metrics.iter().all(has_average) {
            format!(", or set {fallback}")
        } else {
            String::new()
        }
    }
}

impl Words for MetricsApiUnavailable {
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

impl Words for MetricNotFound {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            message,
            near,
            elsewhere,
            served_by,
        } = self;
        let spec = about.spec(*metric);
        let (label, group) = (about.label(*metric), spec.api_group());
        let list = format!("kubectl get --raw {}", about.path_of(group));
        let path = format!(
            "/spec/metrics/{metric}/{}/metric/name",
            spec.type_.to_lowercase()
        );
        let mut evidence = vec![format!("The API says: {}.", short(message))];
        let kind = plural(spec.described().unwrap_or_default());
        evidence.extend(near.as_ref().map(|near| {
            if elsewhere.is_empty() {
                format!("It serves {near}.")
            } else {
                format!("It serves {near} for {kind}.")
            }
        }));
        evidence.extend(about.looked_up(*metric).filter(|_| elsewhere.is_empty()));
        evidence.extend(served_by.as_ref().map(points_at));
        let described = match &elsewhere[..] {
            [] => None,
            all if all.iter().any(|it| it == "pods") => {
                Some("use a metric of type Pods".to_owned())
            }
            all => Some(format!(
                "describe one of the {} with a metric of type Object",
                names(all)
            )),
        };
        // KEDA names the metrics that it serves itself.
        let (advice, command) = match (served_by, about.hpa().scaled_object(), near) {
            (Some(served_by), ..) => {
                let (advice, command) = point_at_keda(served_by);
                (advice, Some(command))
            }
            (None, Some(owner), _) => (
                Remedy::LookAtScaledObject.says(format!(
                    "Find out why KEDA does not serve it for ScaledObject/{}.",
                    owner.name
                )),
                Some(about.kubectl_for(&owner.name, "describe scaledobject", "")),
            ),
            (None, None, Some(near)) => (
                Remedy::UseName.says(format!(
                    "Use the name {near} if that is meant, or {}.",
                    described.as_deref().unwrap_or("add a rule to the adapter")
                )),
                about.replace(&path, &**near),
            ),
            (None, None, None) => (
                Remedy::CorrectName.says(match described {
                    Some(described) => {
                        let described = sentence(&described);
                        format!("{described}, or add a rule for {kind} to the adapter.")
                    }
                    None => "Correct the name, or add a rule for it to the adapter.".to_owned(),
                }),
                None,
            ),
        };
        Text {
            summary: match &elsewhere[..] {
                [] => format!(
                    "{} does not know {label}, {}",
                    api(group),
                    about.effect("it")
                ),
                _ => format!(
                    "{} serves {} for {}, not for {kind}, {}",
                    api(group),
                    spec.name(),
                    names(elsewhere),
                    about.effect("it")
                ),
            },
            evidence,
            advice,
            commands: command.into_iter().chain([list.into()]).collect(),
            objects: about.own(),
        }
    }
}

impl Words for MetricFailing {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            message,
            refused,
            unmapped,
            fallback,
            served_by,
        } = self;
        if let (Some(replicas), Some(owner)) = (fallback, about.hpa().scaled_object()) {
            return fallen_back(about, *metric, *replicas, owner);
        }
        let group = about.spec(*metric).api_group();
        let (label, api) = (about.label(*metric), api(group));
        let of_keda = about
            .hpa()
            .scaled_object()
            .filter(|_| group == "external.metrics.k8s.io");
        let (summary, advice, command) = match (refused, unmapped) {
            (None, Some(Unmapped { object, meant })) => (
                format!(
                    "the API server has no kind {} in the group {:?}, {}",
                    object.kind,
                    object.group(),
                    about.effect(&label)
                ),
                Remedy::DescribeObject.says(match meant {
                    Some(CrossVersionObjectReference {
                        api_version, kind, ..
                    }) => {
                        format!(
                            "State apiVersion: {api_version} and kind: {kind} in describedObject."
                        )
                    }
                    None => "Correct describedObject of the metric.".to_owned(),
                }),
                meant
                    .as_ref()
                    .and_then(|meant| {
                        let path = format!("/spec/metrics/{metric}/object/describedObject");
                        let value = serde_json::json!({
                            "apiVersion": meant.api_version, "kind": meant.kind, "name": meant.name,
                        });
                        about.replace(&path, value)
                    })
                    .unwrap_or_else(|| "kubectl api-resources".into()),
            ),
            (
                Some(Refused {
                    user,
                    verb,
                    resource,
                }),
                _,
            ) => (
                format!(
                    "{user} may not {verb} {resource}.{group}, {}",
                    about.effect(&label)
                ),
                Remedy::Grant.says("Grant it the right with a role and a binding."),
                // kubectl auth can-i knows only what discovery lists, and adapters need not list their metrics.
                format!("{} --as={}", about.ask(*metric).line, shell_word(user)).into(),
            ),
            (None, None) => {
                let summary = format!("{label} fails, {}: {}", about.effect("it"), end(message));
                match served_by {
                    Some(served_by) => {
                        let (advice, command) = point_at_keda(served_by);
                        let summary = format!(
                            "{label} fails, {}: {} serves {api}, not KEDA",
                            about.effect("it"),
                            served_by.service
                        );
                        (summary, advice, command)
                    }
                    None if let Some(owner) = of_keda => (
                        summary,
                        Remedy::LookAtScaledObject.says(format!(
                            "Look at its trigger in ScaledObject/{}{}.",
                            owner.name,
                            about.or_fallback(owner, &[*metric], "spec.fallback there")
                        )),
                        about.kubectl_for(&owner.name, "describe scaledobject", ""),
                    ),
                    None if let Some((namespace, name)) =
                        datadog_metric(about.spec(*metric).name()) =>
                    {
                        (
                            summary,
                            Remedy::LookAtBackend
                                .says(format!("Look at DatadogMetric {namespace}/{name}.")),
                            format!(
                                "kubectl describe datadogmetric {} -n {}",
                                shell_word(name),
                                shell_word(namespace)
                            )
                            .into(),
                        )
                    }
                    None => (
                        summary,
                        Remedy::LookAtBackend.says(format!("Look at the backend of {api}.")),
                        about.ask(*metric),
                    ),
                }
            }
        };
        let mut evidence = vec![format!("The API says: {}.", short(message))];
        evidence.extend(served_by.as_ref().map(points_at));
        Text {
            summary,
            evidence,
            advice,
            commands: vec![command],
            objects: about.own(),
        }
    }
}

/// Words a value that KEDA puts in the place of one that it cannot read.
fn fallen_back(about: &About<'_>, metric: usize, replicas: i32, owner: &OwnerReference) -> Text {
    let OwnerReference { name, .. } = owner;
    let label = about.label(metric);
    Text {
        summary: format!(
            "{label} is not measured: its trigger fails, and KEDA asks for the {} of spec.fallback",
            count(replicas, "replica")
        ),
        evidence: vec![format!(
            "The condition Fallback of ScaledObject/{name} is True, and the value is {replicas} times the target."
        )],
        advice: Remedy::LookAtScaledObject.says(format!(
            "Find out why its trigger in ScaledObject/{name} fails."
        )),
        commands: vec![about.kubectl_for(name, "describe scaledobject", "")],
        objects: vec![format!("scaledobject/{name}")],
    }
}

impl Words for MetricEmpty {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            selector,
            pods,
            age,
            message,
            nodes,
        } = self;
        let spec = about.spec(*metric);
        let (label, api) = (about.label(*metric), api(spec.api_group()));
        let mut evidence = Vec::new();
        evidence.extend(
            message
                .as_ref()
                .map(|text| format!("The API says: {}.", short(text))),
        );
        if !selector.is_empty() {
            evidence.push(format!(
                "The selector that is sent for the metric: {selector}."
            ));
        }
        evidence.extend(
            pods.as_ref()
                .map(|pods| format!("The selector that is sent for the pods: {pods}.")),
        );
        let assumed = about.of_candidate(*metric);
        evidence.extend(about.looked_up(*metric).filter(|_| assumed.is_none()));
        let mut conditions = about.hpa().status.conditions.iter();
        let was_active = conditions.any(|it| it.type_ == "ScalingActive" && it.status == "True");
        if about.finding.explains && was_active {
            evidence.push(
                "The last status had valid metrics, so the value is gone since then, or the input lacks it."
                    .to_owned(),
            );
        }
        if !nodes.is_empty() {
            let on = if nodes.len() == 1 { "node" } else { "nodes" };
            evidence.push(format!("The pods are on the {on} {}.", names(nodes)));
        }
        evidence.extend(
            age.filter(|_| assumed.is_none())
                .map(|age| format!("The oldest of the pods started {} ago.", duration(age))),
        );
        let advice: Advice = match assumed {
            Some(state) => Remedy::StateInput.says(format!("{}.", sentence(&state))),
            None if spec.is_resource() && !["cpu", "memory"].contains(&spec.name()) => {
                Remedy::UseOtherType.says(
                    "Use a metric of type Pods or External: metrics-server serves only cpu and memory.",
                )
            }
            None if age.is_some() => Remedy::WaitForPods
                .waits("for the first sample of a pod, which takes up to a minute"),
            None if spec.is_resource() => Remedy::FindSamples
                .says("Make sure that metrics-server scrapes the nodes of these pods."),
            None => match about.hpa().scaled_object() {
                Some(owner) if message.is_some() => Remedy::LookAtScaledObject.says(format!(
                    "Look at its trigger in the ScaledObject{}.",
                    about.or_fallback(owner, &[*metric], "spec.fallback there")
                )),
                Some(owner) => Remedy::LookAtScaledObject.says(format!(
                    "Look at its trigger in ScaledObject/{}: its query has no result. If that means 0, let it \
                     return 0.",
                    owner.name
                )),
                None if !spec.is_total() => Remedy::FindSeries.says(
                    "Compare the labels namespace and pod of its series with the pods of the target.",
                ),
                None => {
                    let namespace = &about.hpa().namespace;
                    Remedy::FindSeries.says(format!(
                        "Try the adapter's query in the namespace {namespace}, or let it return 0 if empty."
                    ))
                }
            },
        };
        // KEDA has yet to serve what its ScaledObject is to ask for, and no API knows a new container.
        let is_served = !selector.contains(keda::OWNER) && !spec.is_resource();
        let commands = match about.of_candidate(*metric) {
            Some(_) if !is_served => Vec::new(),
            _ => match about.hpa().scaled_object() {
                Some(owner) if advice.remedy == Remedy::LookAtScaledObject => {
                    vec![about.kubectl_for(&owner.name, "describe scaledobject", "")]
                }
                _ => vec![about.ask(*metric)],
            },
        };
        Text {
            summary: format!(
                "there is no value for {label} from {api}, {}",
                about.effect("it")
            ),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

impl Words for BlockedByFailedMetric {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            failed,
            highest,
            proposal,
            replicas,
        } = self;
        let (labels, by) = (about.labels(failed), about.label(*highest));
        let fails = if failed.len() == 1 { "fails" } else { "fail" };
        let it = if failed.len() == 1 { "it" } else { "them" };
        let mut evidence = vec![format!(
            "{by} proposes {}, the highest of the metrics that can be read. The controller removes no \
             replicas while a metric fails.",
            count(*proposal, "replica")
        )];
        evidence.extend(
            about
                .without()
                .map(|without| format!("Without {it}: {without}.")),
        );
        let controller = &about.pass.input.snapshot.controller;
        let rules = Rules::of(&controller.version, controller.gates);
        evidence.push(if rules.reports_failed_metrics {
            format!("The status has no value for {it}; the others are current.")
        } else {
            format!(
                "While {it} {fails}, the controller writes no values into the status, and kubectl shows old ones."
            )
        });
        let assumed: Option<Vec<String>> = failed
            .iter()
            .map(|metric| about.of_candidate(*metric))
            .collect();
        let advice = match assumed {
            Some(values) => Remedy::StateInput.says(format!(
                "{}, or leave {it} out of the candidate.",
                sentence(&list(&values))
            )),
            None => Remedy::RepairMetric
                .says(format!("Repair {labels}, or {}.", self.way_around(about))),
        };
        let removal = |metric: &usize| serde_json::json!({"op": "remove", "path": format!("/spec/metrics/{metric}")});
        let patch: serde_json::Value = failed.iter().rev().map(removal).collect();
        Text {
            summary: format!(
                "{labels} {fails}, so the {} stay, although {by} proposes {proposal}",
                count(*replicas, "replica")
            ),
            evidence,
            advice,
            commands: about.patch_metrics(&patch).into_iter().collect(),
            objects: about.own(),
        }
    }
}

impl BlockedByFailedMetric {
    /// Words what to do if the metrics stay as they are. KEDA's fallback is for targets of type
    /// AverageValue (`CheckFallbackValid`).
    fn way_around(&self, about: &About<'_>) -> String {
        let one = self.failed.len() == 1;
        let Some(owner) = about.hpa().scaled_object() else {
            return format!("remove {} from the HPA", if one { "it" } else { "them" });
        };
        let object = format!("ScaledObject/{}", owner.name);
        let is_formula = self.failed.iter().any(|metric| about.is_formula(*metric));
        let removal = match (is_formula, one) {
            (true, _) => format!("change spec.advanced.scalingModifiers.formula of {object}"),
            (false, true) => format!("remove its trigger from {object}"),
            (false, false) => format!("remove their triggers from {object}"),
        };
        removal + &about.or_fallback(owner, &self.failed, "its spec.fallback")
    }
}

impl Words for UnknownContainer {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            container,
            known,
            near,
        } = self;
        let path = format!("/spec/metrics/{metric}/containerResource/container");
        let command = match near {
            Some(near) => about.replace(&path, &**near),
            None => about.list_pods("-o jsonpath='{.items[*].spec.containers[*].name}'"),
        };
        Text {
            summary: format!("no pod has a container {container}, {}", about.effect("it")),
            evidence: vec![format!("The containers of the pods: {}.", list(known))],
            advice: match near {
                Some(near) if about.hpa().scaled_object().is_some() => Remedy::UseContainer
                    .says(format!("Use {}.", about.container_metric(*metric, near))),
                Some(near) => Remedy::UseContainer.says(format!("Use the container {near}.")),
                None => Remedy::NameContainer.says("Use the name of one of the containers."),
            },
            commands: command.into_iter().collect(),
            objects: about.own(),
        }
    }
}

impl Words for ContainerMetricsMissing {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            container,
            pods,
            all,
            fails,
            template,
        } = self;
        let label = about.label(*metric);
        if let Some(state) = about
            .of_candidate(*metric)
            .filter(|_| about.is_new(container))
        {
            let effect = about.effect(&label);
            return Text {
                summary: format!("no pod has run {container} yet, {effect}"),
                advice: Remedy::StateInput.says(format!("{}.", sentence(&state))),
                objects: about.own(),
                ..Text::default()
            };
        }
        let effect = if *fails {
            "which fails the metric for all pods"
        } else if pods.len() == 1 {
            "so it counts as missing"
        } else {
            "so they count as missing"
        };
        let why = |it: &Unmeasured| {
            let name = &it.pod;
            let restarts = count(it.restarts, "restart");
            match &it.waiting {
                _ if !it.has_container && it.is_foreign => format!(
                    "{name}, which is not of {}, has no container {container}.",
                    about.hpa().reference()
                ),
                _ if !it.has_container => format!("{name} has no container {container}."),
                Some(reason) => format!("{container} of {name} waits: {reason}, {restarts}."),
                None if it.restarts > 0 => format!("{container} of {name} has had {restarts}."),
                None => format!("{container} of {name} has not been measured."),
            }
        };
        let mut evidence: Vec<String> = pods.iter().take(3).map(why).collect();
        if *fails && pods.iter().all(|it| it.has_container) {
            evidence.push("Since Kubernetes 1.33, such a pod does not fail the metric.".to_owned());
        }
        let namespace = about.namespace();
        let names_of: Vec<&str> = pods.iter().map(|it| &*it.pod).collect();
        let logs = |it: &Unmeasured| {
            let (pod, container) = (shell_word(&it.pod), shell_word(container));
            let previous = if it.restarts > 0 { " --previous" } else { "" };
            format!("kubectl logs {pod} -c {container} {namespace}{previous}").into()
        };
        let mut lacking = pods.iter().filter(|it| !it.has_container).peekable();
        let without: Vec<&str> = lacking.clone().map(|it| &*it.pod).collect();
        let (advice, command) = match template.as_deref() {
            _ if lacking.peek().is_none() => (
                Remedy::FindUnready.says(format!(
                    "Find out why {container} does not run in {}.",
                    names(&names_of)
                )),
                pods.first().map(logs),
            ),
            // No rollout of the target changes them.
            _ if lacking.all(|it| it.is_foreign) => (
                Remedy::LabelApart.says(APART),
                about.list_pods("--show-labels"),
            ),
            Some(own) if own.iter().any(|it| **it == *container) && about.is_paused() => (
                Remedy::Resume.says(format!(
                    "Resume the rollout: the template has the container {container}."
                )),
                about.resume(),
            ),
            Some(own) if own.iter().any(|it| **it == *container) => (
                about.after_rollout(
                    &without,
                    &format!(": the template has the container {container}"),
                    "",
                ),
                about.rollout_status(&without),
            ),
            Some(own) => {
                let path = format!("/spec/metrics/{metric}/containerResource/container");
                let own: Vec<&str> = own.iter().map(|it| &**it).collect();
                let used = match own[..] {
                    [only] => format!("Use {}.", about.container_metric(*metric, only)),
                    _ => format!("Use a container of the template: {}.", names(&own)),
                };
                let replace = |only: &&str| about.replace(&path, *only);
                let is_one = own.len() == 1;
                let remedy = if is_one {
                    Remedy::UseContainer
                } else {
                    Remedy::NameContainer
                };
                (
                    remedy.says(used),
                    own.first().filter(|_| own.len() == 1).and_then(replace),
                )
            }
            None => (
                Remedy::NameContainer.says("Use a container that all pods have."),
                about.list_pods(""),
            ),
        };
        Text {
            summary: format!(
                "{} of {} {} no metrics for {label}, {effect}",
                pods.len(),
                count(*all, "pod"),
                have(pods.len())
            ),
            evidence,
            advice,
            commands: command.into_iter().collect(),
            objects: names_of.iter().map(|name| format!("pod/{name}")).collect(),
        }
    }
}
