//! The finding `missing-request`.

use std::collections::{BTreeMap, HashMap};

use super::{Revisions, has_own_metric, has_request, look_at, milli, requested, rounded_request};
use crate::apimachinery::quantity::Quantity;
use crate::findings::metrics::failed;
use crate::findings::prelude::*;
use crate::findings::targets::{least_room, lowest_limit};
use crate::findings::wording::{APART, few};
use crate::snapshot::by_name::Names;
use crate::snapshot::owners::TopOwner;
use crate::snapshot::pod::Requests;

/// The target of a metric is a percentage of the request, and a container of a pod that the selector matches has no
/// request for the resource. One such container fails the metric for all pods.
///
/// Set the request in the template or with the annotation of the injector, or look at another container with a
/// ContainerResource metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRequest {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The resource.
    pub resource: String,
    /// The containers, by name and source.
    pub containers: Vec<Unrequested>,
    /// A container of the target's pods that has a request, if the others are injected: a ContainerResource metric can
    /// look at it alone.
    pub instead: Option<String>,
}

impl Kind for MissingRequest {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        case.metrics()
            .filter_map(|step| lacks_request(case, step))
            .collect()
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        let are_foreign = self.containers.iter().all(Unrequested::is_foreign);
        let foreign = about.any(Code::ForeignPods).filter(|_| are_foreign);
        foreign
            .or_else(|| about.about_all(Code::FinishedPods))
            .or_else(|| about.endless_rollout())
    }

    fn failed_metrics(&self) -> Vec<usize> {
        vec![self.metric]
    }

    fn summary(&self, about: &About<'_>) -> String {
        let (containers, pods) = (self.names(|_| true), self.pods());
        let these = match &containers[..] {
            [one] => format!("container {one}"),
            several => count(several.len(), "container"),
        };
        let verb = one_or_many(containers.len(), "has", "have");
        format!(
            "the target of {} is a percentage of the request, and {these} in {} {verb} {}, {}",
            about.label(self.metric),
            count(pods.len(), "pod"),
            self.present(about),
            about.effect("the metric")
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        // Each Job with pods of its own is an origin.
        let (shown, others) = few(&self.containers, Unrequested::is_foreign);
        let origins = shown.iter().map(|it| self.origin(about, it));
        let mut evidence: Vec<String> = origins.collect();
        if !others.is_empty() {
            evidence.push(format!(
                "Containers without a request are also in {}.",
                names(&pods_of(others))
            ));
        }
        evidence.extend(match &self.instead {
            Some(container) => {
                about.result(&format!("With a ContainerResource metric for {container}"))
            }
            None => about.result("Without these pods"),
        });
        let named = self.named().filter(|it| {
            use ContainerOrigin::{Injected, Template};
            matches!(it.source, Template | Injected) && self.command(about, it).is_some()
        });
        evidence.extend(named.filter_map(|it| self.share(about, it)));
        if self.annotations(about).is_some() && self.replaces_defaults(about) {
            evidence.push("An annotation of Istio's proxy replaces all its defaults.".to_owned());
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let Some(first) = self.containers.first() else {
            return Advice::default();
        };
        let named = self.named();
        let mut commands: Vec<Command> = named.filter_map(|it| self.command(about, it)).collect();
        if let Some(container) = &self.instead
            && self.annotations(about).is_none()
        {
            commands.extend(about.use_container(self.metric, container));
        }
        commands.dedup();
        if first.is_foreign() {
            commands.extend(about.list_pods("--show-labels"));
        }
        self.remedy(about, first).with_all(commands)
    }

    fn pods(&self) -> Vec<&str> {
        pods_of(&self.containers)
    }
}

/// Returns the finding about a metric that fails because containers lack a request.
fn lacks_request(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
    // The controller's message about one container only shows that there are such containers.
    let error = step.error()?;
    let is_missing = MISSING.iter().any(|words| error.message.contains(words));
    let containers = is_missing
        .then(|| all_unrequested(case, step))
        .filter(|it| !it.is_empty())?;
    let is_injected = |it: &Unrequested| it.source == ContainerOrigin::Injected;
    let instead = match step.container {
        None if containers.iter().all(is_injected) => {
            requested(case, step).filter(|container| !has_own_metric(case, step.index, container))
        }
        _ => None,
    };
    let without = match &instead {
        Some(container) => Some(case.without(|snapshot| look_at(snapshot, step.index, container))),
        None if containers.iter().all(Unrequested::goes) => {
            let going: Names<&str> = pods_of(&containers).into_iter().collect();
            Some(case.without_pods(|pod| going.contains(&pod.name)))
        }
        None => None,
    };
    let facts = MissingRequest {
        metric: step.index,
        resource: step.name.clone(),
        containers,
        instead,
    };
    // Without any pod, there is no answer either.
    Some(failed(case, facts).without(without.filter(|it| it.proposal.is_some())))
}

/// Returns the names of the pods that have some of these containers, each once.
fn pods_of<'u>(containers: impl IntoIterator<Item = &'u Unrequested>) -> Vec<&'u str> {
    let containers = containers.into_iter();
    let mut pods: Vec<&str> = containers.flat_map(|it| names_of(&it.pods)).collect();
    pods.sort_unstable();
    pods.dedup();
    pods
}

/// A container without a request, in one pod or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrequested {
    /// Its name.
    pub container: Box<str>,
    /// The origin of the container.
    pub source: ContainerOrigin,
    /// The pods, by name.
    pub pods: Vec<Box<str>>,
    /// The container's highest usage in one pod, in milli-units, if measured.
    pub usage: Option<i64>,
}

/// The origin of a pod's container.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ContainerOrigin {
    /// The template of the target.
    Template,
    /// Something added the container to a pod of the target.
    Injected,
    /// The pod is of an earlier revision of the target.
    Earlier,
    /// The pod belongs to another object, or to none.
    Foreign {
        /// The object, as `Kind/name`.
        owner: Option<String>,
    },
    /// The template has a request. Nothing shows that the pod was made from an earlier template.
    Lost,
    /// The template or the owner was not read.
    Unknown,
}

/// The controller's messages if a request is missing, and if all requests are 0.
const MISSING: [&str; 3] = [
    "missing request for ",
    "missing pod-level request for ",
    "no metrics returned matched known pods",
];

/// Returns the containers whose missing request makes the pod's request an error.
fn unrequested<'a>(case: &'a Case<'_>, pod: &'a Pod, step: &'a MetricStep) -> Vec<&'a str> {
    let requests = |it: &Requests| it.get(&step.name).is_some_and(|request| !request.is_zero());
    if case.counts_as_whole(pod, step) {
        let mut all = pod.all_containers();
        let any = requests(&pod.requests) || all.any(|it| requests(&it.requests));
        let names = pod.containers.iter().filter(|_| !any).map(|it| &*it.name);
        return names.collect();
    }
    case.counted_containers(pod, step)
        .filter(|it| !requests(&it.requests))
        .map(|it| &*it.name)
        .collect()
}

fn all_unrequested(case: &Case<'_>, step: &MetricStep) -> Vec<Unrequested> {
    let template = case.template();
    let revisions = Revisions::of(case);
    let mut all: Vec<Unrequested> = Vec::new();
    // Their places, by container and origin.
    let mut places: HashMap<(&str, ContainerOrigin), usize> = HashMap::new();
    // Whether all pods that may have the current template have a container, by its name.
    let mut everywhere: BTreeMap<&str, bool> = BTreeMap::new();
    for pod in case.pods() {
        for container in unrequested(case, pod, step) {
            let source = match (case.top_owner(pod), template) {
                (TopOwner::Target, Some(template)) => {
                    let is_current = revisions.is_current(pod);
                    let in_all = || revisions.all_may_have(container);
                    let is_everywhere = *everywhere.entry(container).or_insert_with(in_all);
                    let is_left = revisions.is_left(case, pod, container, is_everywhere);
                    let is_requested = has_request(template, container, &step.name);
                    match (is_current, is_requested, template.has_container(container)) {
                        (Some(true), true, _) => ContainerOrigin::Lost,
                        (_, true, _) => ContainerOrigin::Earlier,
                        (_, false, true) => ContainerOrigin::Template,
                        (_, false, false) if is_left => ContainerOrigin::Earlier,
                        (_, false, false) => ContainerOrigin::Injected,
                    }
                }
                (TopOwner::Other { kind, name }, _) => ContainerOrigin::Foreign {
                    owner: Some(format!("{kind}/{name}")),
                },
                (TopOwner::NoOne, _) => ContainerOrigin::Foreign { owner: None },
                (TopOwner::Target, None) | (TopOwner::Unknown, _) => ContainerOrigin::Unknown,
            };
            let metrics = case.metrics_of(pod);
            let usage = metrics.and_then(|it| it.usage(&step.name, Some(container)));
            let place = places.entry((container, source));
            let place = *place.or_insert_with_key(|(container, source)| {
                all.push(Unrequested::new(container, source));
                all.len() - 1
            });
            let known = &mut all[place];
            known.pods.push(pod.name.clone());
            known.usage = known.usage.max(usage);
        }
    }
    // The requests that have to be changed come first, those of the user's own manifest before others.
    all.sort_by_key(|it| match it.source {
        ContainerOrigin::Template => 0,
        ContainerOrigin::Earlier => 2,
        _ => 1,
    });
    all
}

/// The annotations that set the cpu and memory requests of an injected container.
const INJECTORS: [(&str, &str, &str); 4] = [
    (
        "istio-proxy",
        "sidecar.istio.io/proxyCPU",
        "sidecar.istio.io/proxyMemory",
    ),
    (
        "linkerd-proxy",
        "config.linkerd.io/proxy-cpu-request",
        "config.linkerd.io/proxy-memory-request",
    ),
    (
        "daprd",
        "dapr.io/sidecar-cpu-request",
        "dapr.io/sidecar-memory-request",
    ),
    (
        "vault-agent",
        "vault.hashicorp.com/agent-requests-cpu",
        "vault.hashicorp.com/agent-requests-mem",
    ),
];

/// Returns the annotation that sets the request of an injected container.
fn annotation(container: &str, resource: &str) -> Option<&'static str> {
    let (_, cpu, memory) = INJECTORS
        .into_iter()
        .find(|(name, ..)| *name == container)?;
    match resource {
        "cpu" => Some(cpu),
        "memory" => Some(memory),
        _ => None,
    }
}

impl Unrequested {
    fn new(container: &str, source: &ContainerOrigin) -> Self {
        Self {
            container: container.into(),
            source: source.clone(),
            pods: Vec::new(),
            usage: None,
        }
    }

    /// Whether the container is Istio's proxy.
    fn is_of_istio(&self) -> bool {
        self.source == ContainerOrigin::Injected && &*self.container == "istio-proxy"
    }

    /// Whether the container's pods belong to others.
    fn is_foreign(&self) -> bool {
        matches!(self.source, ContainerOrigin::Foreign { .. })
    }

    /// Whether the container's pods go away by themselves, or should have other labels.
    fn goes(&self) -> bool {
        self.is_foreign() || self.source == ContainerOrigin::Earlier
    }
}

impl MissingRequest {
    /// Returns the containers that the advice is about: those whose origin is to be changed first, and injected ones if
    /// that origin is the template.
    fn named(&self) -> impl Iterator<Item = &Unrequested> {
        let first = self.containers.first().map(|it| &it.source);
        let with_injected = matches!(
            first,
            Some(ContainerOrigin::Template | ContainerOrigin::Unknown)
        );
        self.containers.iter().filter(move |it| {
            Some(&it.source) == first || (with_injected && it.source == ContainerOrigin::Injected)
        })
    }

    /// Returns the names of some of the containers, each once: a container may have several origins.
    fn names(&self, is_meant: impl Fn(&Unrequested) -> bool) -> Vec<&str> {
        let mut names = Vec::new();
        for container in self.containers.iter().filter(|it| is_meant(it)) {
            if !names.contains(&&*container.container) {
                names.push(&*container.container);
            }
        }
        names
    }

    /// Returns the names of the containers of one origin, which are changed in one place.
    fn names_from(&self, source: &ContainerOrigin) -> Vec<&str> {
        self.names(|it| it.source == *source)
    }

    /// Describes what the containers have instead. A request of 0 counts as none.
    fn present(&self, about: &About<'_>) -> &'static str {
        let names = self.names(|_| true);
        let pods: Names<&str> = self.pods().into_iter().collect();
        let all = about.snapshot.pods.iter();
        let are_stated: Vec<bool> = all
            .filter(|pod| pods.contains(&pod.name))
            .flat_map(|pod| pod.all_containers())
            .filter(|it| names.contains(&&*it.name))
            .map(|it| it.requests.get(&self.resource).is_some())
            .collect();
        match (are_stated.contains(&true), are_stated.contains(&false)) {
            (false, _) => "none",
            (true, false) => "a request of 0",
            (true, true) => "none or a request of 0",
        }
    }

    /// Describes the origin of a container.
    fn origin(&self, about: &About<'_>, lacking: &Unrequested) -> String {
        // Assumed pods use what is assumed, in whichever container.
        let is_measured = about.pass.input.surroundings.supposed.is_none();
        let measured = lacking.usage.filter(|it| is_measured && *it > 0);
        let usage = measured.map_or_else(String::new, |usage| {
            format!(", which uses up to {}", milli(usage, &self.resource))
        });
        let target = about.reference();
        let holder = about.template_holder();
        let origin = match &lacking.source {
            ContainerOrigin::Template => format!(": it is in the template of {holder}"),
            ContainerOrigin::Injected => {
                format!(": it is not in the template of {holder}, so it was injected")
            }
            ContainerOrigin::Earlier => {
                format!(": the pod is of an earlier revision of {target}")
            }
            ContainerOrigin::Foreign { owner: Some(owner) } => {
                format!(": the pod belongs to {owner}, not to {target}")
            }
            ContainerOrigin::Foreign { owner: None } => ": no object controls the pod".to_owned(),
            ContainerOrigin::Lost => format!(": in the template of {holder}, it has a request"),
            ContainerOrigin::Unknown => String::new(),
        };
        let (container, pods) = (&lacking.container, names(&lacking.pods));
        format!("Container {container}{usage}, in {pods}{origin}.")
    }

    /// Describes the usage of a container as a share of the request that its advice states.
    fn share(&self, about: &About<'_>, lacking: &Unrequested) -> Option<String> {
        let (request, usage) = (self.request(about, lacking)?, lacking.usage?);
        let share = percent(usage as f64 / request.milli_value() as f64);
        let (container, usage) = (&lacking.container, milli(usage, &self.resource));
        Some(format!(
            "{usage} in {container} is {share} of a request of {request}."
        ))
    }

    /// Returns the advice, by the origin of the container to change first.
    fn remedy(&self, about: &About<'_>, first: &Unrequested) -> Advice {
        match &first.source {
            ContainerOrigin::Injected => self.remedy_of_injected(about),
            ContainerOrigin::Earlier if about.is_paused() => Remedy::Resume.says(format!(
                "Resume {}, so that its pods get the requests of its template.",
                about.reference()
            )),
            ContainerOrigin::Earlier => {
                let containers = self.containers.iter();
                let earlier = containers.filter(|it| it.source == ContainerOrigin::Earlier);
                about.after_rollout(&pods_of(earlier), "", None)
            }
            ContainerOrigin::Lost => {
                let advice = Remedy::FindRequest.says(
                    "Find out why the pods lack the request of the template: they are older, or \
                     something removes it.",
                );
                match about.replaced_by_hand() {
                    Some(why) => advice.and(&format!("Delete older ones: {why}.")),
                    None => advice,
                }
            }
            ContainerOrigin::Foreign { .. } => Remedy::LabelApart.says(APART),
            ContainerOrigin::Template | ContainerOrigin::Unknown => {
                Remedy::SetRequest.says(self.changes(about, &first.source))
            }
        }
    }

    /// Returns the advice on an injected container.
    fn remedy_of_injected(&self, about: &About<'_>) -> Advice {
        let changes = self.changes(about, &ContainerOrigin::Injected);
        match (self.annotations(about), &self.instead) {
            (Some(_), _) => Remedy::Annotate.says(changes),
            (None, Some(container)) => Remedy::UseContainer.says(format!(
                "Use {}.",
                about.container_metric(self.metric, container)
            )),
            (None, None) => Remedy::LetInjector.says(changes),
        }
    }

    /// Returns a sentence with all changes that give containers of an origin, and injected ones, a request.
    fn changes(&self, about: &About<'_>, source: &ContainerOrigin) -> String {
        let resource = &self.resource;
        let mut changes = Vec::new();
        let closed = self.closed(about, &[source, &ContainerOrigin::Injected]);
        if !closed.is_empty() {
            let zero = names(&closed);
            changes.push(format!(
                "raise or remove the zero {resource} limit of {zero}"
            ));
        }
        if *source != ContainerOrigin::Injected {
            let injected = self.names_from(&ContainerOrigin::Injected);
            let mut own = self.names_from(source);
            own.retain(|name| !injected.contains(name));
            let (own, holder) = (names(&own), about.template_holder());
            if !own.is_empty() {
                changes.push(format!("set a {resource} request for {own} in {holder}"));
            }
        }
        match self.annotations(about) {
            Some(known) if known.is_empty() => {}
            Some(known) => {
                let rest = if self.replaces_defaults(about) {
                    ", and with the other requests and limits of istio-proxy"
                } else {
                    ""
                };
                let known = names(&known);
                changes.push(format!("annotate the pod template with {known}{rest}"));
            }
            None => {
                let injected = names(&self.names_from(&ContainerOrigin::Injected));
                changes.push(format!(
                    "let the injector set a {resource} request for {injected}"
                ));
            }
        }
        format!("{}.", sentence(&list(&changes)))
    }

    /// Returns the containers of some origins whose limit of 0 allows no request.
    fn closed(&self, about: &About<'_>, sources: &[&ContainerOrigin]) -> Vec<&str> {
        self.names(|it| sources.contains(&&it.source) && self.limit(about, it) == Some(0))
    }

    /// Returns the annotations that give the injected containers requests; `None` if a container has no annotation, or
    /// if a limit of 0 forbids a request or an annotation would remove other amounts, and another metric makes the
    /// request unnecessary.
    fn annotations(&self, about: &About<'_>) -> Option<Vec<&'static str>> {
        let closed = self.closed(about, &[&ContainerOrigin::Injected]);
        let is_more = !closed.is_empty() || self.replaces_defaults(about);
        if is_more && self.instead.is_some() {
            return None;
        }
        let injected = self.names_from(&ContainerOrigin::Injected).into_iter();
        injected.map(|it| annotation(it, &self.resource)).collect()
    }

    /// Whether the annotations would remove other requests and limits of an injected container: the first annotation of
    /// Istio's proxy replaces all defaults.
    fn replaces_defaults(&self, about: &About<'_>) -> bool {
        let containers = self.containers.iter();
        let mut amounts = containers
            .filter(|it| it.is_of_istio())
            .flat_map(|it| holders(about, it).filter_map(|pod| pod.container(&it.container)))
            .flat_map(|proxy| proxy.requests.0.iter().chain(&proxy.limits.0));
        amounts.any(|(_, amount)| !amount.is_zero())
    }

    /// Returns a request for which the highest current usage equals the target, with a minimum so that one sample of an
    /// idle pod does not make it tiny, or the most that limits and the pod's own request allow if that is less; `None`
    /// if the usage is unknown, or they allow no request.
    fn request(&self, about: &About<'_>, container: &Unrequested) -> Option<Quantity> {
        let target = about
            .target_of(self.metric)
            .average_utilization
            .filter(|it| *it > 0)?;
        let needed = container.usage?.checked_mul(100)? / i64::from(target);
        let least = if self.resource == "cpu" { 100 } else { 0 };
        let request = rounded_request(&self.resource, needed.max(least))?;
        let template = about.workload().and_then(|it| it.template.as_deref());
        let holders = holders(about, container);
        let room = least_room(holders, template, &container.container, &self.resource);
        let bounds = [self.limit(about, container), room];
        let most = bounds.into_iter().flatten().min();
        match most.filter(|most| *most < request.milli_value()) {
            Some(..=0) => None,
            Some(most) => Some(Quantity::from_milli(most, request.format()).canonicalized()),
            None => Some(request),
        }
    }

    /// Returns the lowest limit of a container, in its pods and in the template, in milli-units.
    fn limit(&self, about: &About<'_>, container: &Unrequested) -> Option<i64> {
        let name = Some(&*container.container);
        lowest_limit(holders(about, container), name, &self.resource)
    }

    fn command(&self, about: &About<'_>, lacking: &Unrequested) -> Option<Command> {
        let resource = &self.resource;
        match &lacking.source {
            ContainerOrigin::Template => {
                let request = self.request(about, lacking)?;
                // It only supports these kinds.
                if matches!(about.template_holder().group(), "" | "apps") {
                    let container = shell_word(&lacking.container);
                    let flags = format!("-c {container} --requests={resource}={request}");
                    let command =
                        about.kubectl_quoted("set resources", &about.template_target(), &flags);
                    return Some(command.editing(Edited::Template));
                }
                let patch = add_request(about, &lacking.container, resource, &request)?;
                Some(about.patch_template("json", &patch))
            }
            ContainerOrigin::Injected => {
                self.annotations(about)
                    .filter(|_| !lacking.is_of_istio() || !self.replaces_defaults(about))?;
                let annotation = annotation(&lacking.container, resource)?;
                let request = self.request(about, lacking)?.to_string();
                let patch = json!({"spec": {"template": {"metadata": {
                    "annotations": {annotation: request}}}}});
                Some(about.patch_template("merge", &patch))
            }
            ContainerOrigin::Earlier if about.is_paused() => about.resume(),
            ContainerOrigin::Earlier => about.rollout_status(&names_of(&lacking.pods)),
            ContainerOrigin::Lost => about.rollout_status(&[]),
            ContainerOrigin::Foreign { .. } | ContainerOrigin::Unknown => None,
        }
    }
}

/// Returns a JSON patch that adds a request to a container of the target's template, and fails if the containers have
/// changed since. It can only add to existing objects.
fn add_request(
    about: &About<'_>,
    name: &str,
    resource: &str,
    request: &Quantity,
) -> Option<serde_json::Value> {
    let template = about.workload()?.template.as_deref()?;
    let lists = [
        ("containers", &template.containers),
        ("initContainers", &template.init_containers),
    ];
    let (list, place, container) = lists.into_iter().find_map(|(list, all)| {
        let place = all.iter().position(|it| *it.name == *name)?;
        Some((list, place, &all[place]))
    })?;
    let amount = request.to_string();
    let (rest, value) = match (
        container.requests.0.is_empty(),
        container.limits.0.is_empty(),
    ) {
        (false, _) => (
            format!("/requests/{}", resource.replace('/', "~1")),
            json!(amount),
        ),
        (true, false) => ("/requests".to_owned(), json!({ resource: amount })),
        (true, true) => (String::new(), json!({"requests": { resource: amount }})),
    };
    let path = format!("/spec/template/spec/{list}/{place}");
    Some(json!([
        {"op": "test", "path": format!("{path}/name"), "value": name},
        {"op": "add", "path": format!("{path}/resources{rest}"), "value": value},
    ]))
}

/// Returns the pods that have a container, and their template.
fn holders<'a>(about: &About<'a>, container: &Unrequested) -> impl Iterator<Item = &'a Pod> {
    let pods: Names<&str> = container.pods.iter().map(|pod| &**pod).collect();
    let all = about.snapshot.pods.iter().map(|pod| &**pod);
    let template = about.workload().and_then(|it| it.template.as_deref());
    all.filter(move |pod| pods.contains(&pod.name))
        .chain(template)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::metrics::testing::container;
    use crate::findings::owners::testing as owners;
    use crate::findings::pods::testing::{crashing, of_job};
    use crate::findings::requests::testing::{
        cpu_of, from_ordinal, of_kind, of_set, owned, with_another, with_container,
    };
    use crate::findings::testing::{
        cpu, state, table, with, with_containers, with_hpa, with_pod, with_spec,
    };

    /// Returns a finished pod of a Job.
    fn finished(name: &str, job: &str, containers: &Value) -> Value {
        let owner = build::owned_by("batch/v1", "Job", job);
        let patch = json!({"metadata": {"ownerReferences": owner},
            "spec": {"containers": containers}, "status": {"phase": "Succeeded"}});
        build::with(build::pod(name), &patch)
    }

    /// Each Job is a separate origin, and a report shows only a few of them.
    #[test]
    fn requests_that_many_jobs_lack() {
        let two = state(&[cpu_of(50)], &["50m", "50m"]);
        let items = owned(&two, &json!([build::requesting("app", "100m")]));
        let along_with = |items: &[Value], number: usize, containers: &Value| {
            let names = (0..number).map(|it| format!("seed-{it}"));
            let jobs = names.map(|it| finished(&it, &it, containers));
            [Vec::from_iter(jobs), items.to_vec()].concat()
        };
        let (seed, app) = (json!([{"name": "seed"}]), json!([{"name": "app"}]));
        let jobs = |number: usize| along_with(&items, number, &seed);
        let of_template = with_containers(&two, &app);
        let states = [
            ("five", jobs(5)),
            ("nine", jobs(9)),
            (
                "five, with two containers each",
                along_with(&items, 5, &json!([{"name": "seed"}, {"name": "log"}])),
            ),
            (
                "seven, next to the template",
                along_with(&owned(&of_template, &app), 7, &seed),
            ),
        ];
        insta::assert_snapshot!(table(Code::MissingRequest, states), @r"
        five: error, explains, follows foreign-pods, without it 2 -> 2
            the target of cpu is a percentage of the request, and container seed in 5 pods has none, so nothing is scaled
            - Container seed, in seed-0: the pod belongs to Job/seed-0, not to Deployment/web.
            - Container seed, in seed-1: the pod belongs to Job/seed-1, not to Deployment/web.
            - Container seed, in seed-2: the pod belongs to Job/seed-2, not to Deployment/web.
            - Container seed, in seed-3: the pod belongs to Job/seed-3, not to Deployment/web.
            - Container seed, in seed-4: the pod belongs to Job/seed-4, not to Deployment/web.
            - Without these pods: 2 replicas.
            > Follow the advice of foreign-pods.
            @ pod/seed-0 pod/seed-1 pod/seed-2 pod/seed-3 pod/seed-4
        nine: error, explains, follows foreign-pods, without it 2 -> 2
            the target of cpu is a percentage of the request, and container seed in 9 pods has none, so nothing is scaled
            - Container seed, in seed-0: the pod belongs to Job/seed-0, not to Deployment/web.
            - Container seed, in seed-1: the pod belongs to Job/seed-1, not to Deployment/web.
            - Container seed, in seed-2: the pod belongs to Job/seed-2, not to Deployment/web.
            - Container seed, in seed-3: the pod belongs to Job/seed-3, not to Deployment/web.
            - Container seed, in seed-4: the pod belongs to Job/seed-4, not to Deployment/web.
            - Containers without a request are also in seed-5, seed-6, seed-7 and 1 more.
            - Without these pods: 2 replicas.
            > Follow the advice of foreign-pods.
            @ pod/seed-0 pod/seed-1 pod/seed-2 pod/seed-3 pod/seed-4 pod/seed-5 pod/seed-6 pod/seed-7 pod/seed-8
        five, with two containers each: error, explains, follows foreign-pods, without it 2 -> 2
            the target of cpu is a percentage of the request, and 2 containers in 5 pods have none, so nothing is scaled
            - Container seed, in seed-0: the pod belongs to Job/seed-0, not to Deployment/web.
            - Container log, in seed-0: the pod belongs to Job/seed-0, not to Deployment/web.
            - Container seed, in seed-1: the pod belongs to Job/seed-1, not to Deployment/web.
            - Container log, in seed-1: the pod belongs to Job/seed-1, not to Deployment/web.
            - Container seed, in seed-2: the pod belongs to Job/seed-2, not to Deployment/web.
            - Containers without a request are also in seed-2, seed-3 and seed-4.
            - Without these pods: 2 replicas.
            > Follow the advice of foreign-pods.
            @ pod/seed-0 pod/seed-1 pod/seed-2 pod/seed-3 pod/seed-4
        seven, next to the template: error, explains
            the target of cpu is a percentage of the request, and 2 containers in 9 pods have none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - Container seed, in seed-0: the pod belongs to Job/seed-0, not to Deployment/web.
            - Container seed, in seed-1: the pod belongs to Job/seed-1, not to Deployment/web.
            - Container seed, in seed-2: the pod belongs to Job/seed-2, not to Deployment/web.
            - Container seed, in seed-3: the pod belongs to Job/seed-3, not to Deployment/web.
            - Container seed, in seed-4: the pod belongs to Job/seed-4, not to Deployment/web.
            - Containers without a request are also in seed-5 and seed-6.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in Deployment/web.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/seed-0 pod/seed-1 pod/seed-2 pod/seed-3 pod/seed-4 pod/seed-5 pod/seed-6 pod/web-0 pod/web-1
        ");
    }

    #[test]
    fn requests_that_are_missing() {
        let two = state(&[cpu_of(50)], &["50m", "50m"]);
        let bare = json!({"name": "proxy"});
        let sidecar = with_container(&two, &bare, "50m", "9m");
        let app = json!([build::requesting("app", "100m")]);
        let both = json!([build::requesting("app", "100m"), bare]);
        let unset = json!([{"name": "app"}]);
        let seed = finished("seed-x", "seed", &json!([{"name": "seed"}]));
        let job = [owned(&two, &app), vec![seed]].concat();
        let lost = with_containers(&two, &unset);
        let no_owner = json!({"metadata": {"ownerReferences": null}});
        let bare_pod = with_pod(&owned(&sidecar, &app), "web-1", &no_owner);
        // A rollout has replaced the first pod, and the second has the earlier template.
        let revised = |template: &Value, containers: &Value| {
            let pod = json!({"spec": {"containers": containers}});
            let pod = build::with(owners::of_set("web", "6e"), &pod);
            with_pod(&owned(&two, template), "web-1", &pod)
        };
        let rollout = |template: &Value, containers: &Value, newest: &str| {
            let sets = ["5d", "6e"].map(|hash| {
                let revision = if hash == newest { "2" } else { "1" };
                let revision = json!({"deployment.kubernetes.io/revision": revision});
                owners::replica_set(hash, &json!({"metadata": {"annotations": revision}}))
            });
            [revised(template, containers), sets.to_vec()].concat()
        };
        let updated = |items: &[Value], replicas: i32| {
            let status = json!({"status": {"replicas": 2, "updatedReplicas": replicas}});
            with(items, "Deployment", &status)
        };
        // In the middle of a rollout, one of two pods has the new template, with the request that it had lost.
        let updating = updated(&revised(&unset, &unset), 1);
        // The status counts no pod that has failed or is being deleted.
        let along_with = |patch: Value| with_another(&updating, &patch);
        // All pods are of an earlier revision, of which the template may have been read.
        let earlier = |items: &[Value]| updated(items, 0);
        let made_of = |items: &[Value], containers: &Value| {
            let template = json!({"spec": {"template": {"spec": {"containers": containers}}}});
            [items, &[owners::replica_set("5d", &template)]].concat()
        };
        let paused =
            |items: &[Value]| with(items, "Deployment", &json!({"spec": {"paused": true}}));
        let injected_before = earlier(&owned(&sidecar, &app));
        let both_unset = with_containers(&sidecar, &json!([{"name": "app"}, bare]));
        let both_unset = owned(&both_unset, &unset);
        let limited = json!([{"name": "app", "resources": {"limits": {"cpu": "100m"}}}]);
        let of_limit = |limit: &str| {
            let zero = json!([{"name": "app", "resources": {"requests": {"cpu": "0"}, "limits": {"cpu": limit}}}]);
            owned(&with_containers(&two, &zero), &zero)
        };
        let closed = |name: &str| {
            let container = json!({"name": name, "resources": {"limits": {"cpu": "0"}}});
            owned(&with_container(&two, &container, "50m", "9m"), &app)
        };
        let annotated = |limits: Value| {
            let proxy = json!({"name": "istio-proxy", "resources": {"limits": limits}});
            let measured = with_container(&two, &json!({"name": "istio-proxy"}), "50m", "9m");
            let items = with_containers(&measured, &json!([proxy, {"name": "app"}]));
            owned(&items, &unset)
        };
        let memory = json!({"requests": {"memory": "128Mi"}, "limits": {"memory": "1Gi"}});
        let of_istio = json!({"name": "istio-proxy", "resources": memory});
        let kept = annotated(json!({}));
        let kept = with_containers(&kept, &json!([of_istio, {"name": "app"}]));
        // A ReplicaSet does not replace pods whose template has changed.
        let kind_of = |kind: &str, template: &Value| of_kind(owned(&lost, template), kind);
        let two_injected = |name: &str, limit: &str| {
            let three = json!([build::requesting("app", "100m"), {"name": "istio-proxy"},
                {"name": name, "resources": {"limits": {"cpu": limit}}}]);
            with_containers(&closed(name), &three)
        };
        let unknown = json!({"metadata": {"ownerReferences": build::owned_by("apps/v1", "ReplicaSet", "unknown")}});
        let of_unknown_owner = with_pod(&closed("proxy"), "web-0", &unknown);
        let failed = |items: &[Value]| {
            let patch = json!({"spec": {"containers": unset}, "status": {"phase": "Failed"}});
            with_pod(&owned(items, &app), "web-1", &patch)
        };
        let of_container = json!({"metrics": [container("proxy")]});
        let of_amount = json!({"metrics": [build::resource("cpu", &build::average("50m"))]});
        let states = [
            ("of no container", owned(&two, &app)),
            ("of an injected container", owned(&sidecar, &app)),
            ("of a container of the template", owned(&sidecar, &both)),
            (
                "of a container of the template, next to an injected one",
                both_unset,
            ),
            (
                "of a container of the template, next to one that an annotation sets",
                annotated(json!({})),
            ),
            (
                "of a container of the template, next to one of Istio with other resources",
                kept.clone(),
            ),
            ("of one of Istio with other resources alone", {
                let template = json!({"spec": {"template": {"spec": {"containers": app}}}});
                let items = with(&kept, "Deployment", &template);
                with_containers(&items, &json!([of_istio, app[0]]))
            }),
            (
                "of a container of a ReplicaSet",
                kind_of("ReplicaSet", &unset),
            ),
            ("of older pods of a ReplicaSet", kind_of("ReplicaSet", &app)),
            (
                "of a container of a StatefulSet with a partition",
                of_set(&lost, &unset, &json!({"rollingUpdate": {"partition": 1}})),
            ),
            (
                "of a container of a paused target",
                paused(&owned(&lost, &unset)),
            ),
            (
                "of a container of the template, next to an injected one with a limit of 0",
                annotated(json!({"cpu": "0"})),
            ),
            ("of pods that state no owner", sidecar.clone()),
            (
                "of a container that has one in the template",
                owned(&lost, &app),
            ),
            ("of a pod without an owner", bare_pod),
            ("of a pod of another owner", job),
            (
                "of a container that the template no longer has",
                rollout(&app, &both, "5d"),
            ),
            (
                "of a container for which the template now has one",
                rollout(&app, &unset, "5d"),
            ),
            (
                "of a container that is injected into new pods",
                rollout(&app, &both, "6e"),
            ),
            (
                "of a container whose request the template has lost",
                rollout(&unset, &unset, "6e"),
            ),
            ("of a container of a new template", updating.clone()),
            (
                "of a container of a new template, next to a failed pod",
                along_with(json!({"status": {"phase": "Failed"}})),
            ),
            (
                "of a container of a new template, next to a deleted pod",
                along_with(json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}})),
            ),
            (
                "of a container of the template, in pods of an earlier revision",
                earlier(&owned(&lost, &unset)),
            ),
            (
                "of a container of the template, in earlier pods of a paused target",
                paused(&earlier(&owned(&lost, &unset))),
            ),
            (
                "of a container that is injected into pods of an earlier revision",
                made_of(&injected_before, &app),
            ),
            (
                "of a container of an earlier template",
                made_of(&injected_before, &both),
            ),
            (
                "of a container that is not in the template, in pods of an earlier revision",
                injected_before,
            ),
            ("of a failed pod", failed(&two)),
            ("of a failed pod and another", failed(&lost)),
            (
                "of a container that has a limit in the template",
                owned(&lost, &limited),
            ),
            ("of a container that has a lower limit", of_limit("60m")),
            ("of a container that has a limit of 0", of_limit("0")),
            (
                "of an injected container that has a limit of 0",
                closed("istio-proxy"),
            ),
            (
                "of an injected container, next to one that has a limit of 0",
                two_injected("foo", "0"),
            ),
            (
                "of two injected containers that annotations set",
                two_injected("vault-agent", "1"),
            ),
            (
                "of two injected containers, one with a limit of 0",
                two_injected("vault-agent", "0"),
            ),
            (
                "of an injected container that has a limit of 0, and is meant",
                with_spec(&closed("proxy"), &of_container),
            ),
            (
                "of a container that has a limit of 0, once in a pod of an unknown owner",
                of_unknown_owner,
            ),
            (
                "where the target is an amount",
                with_spec(&sidecar, &of_amount),
            ),
        ];
        insta::assert_snapshot!(table(Code::MissingRequest, states), @r#"
        of no container: none
        of an injected container: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and container proxy in 2 pods has none, so nothing is scaled
            - Container proxy, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - With a ContainerResource metric for app: 2 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":50,"type":"Utilization"}},"type":"ContainerResource"}}]'
            @ pod/web-0 pod/web-1
        of a container of the template: error, explains
            the target of cpu is a percentage of the request, and container proxy in 2 pods has none, so nothing is scaled
            - Container proxy, which uses up to 9m, in web-0 and web-1: it is in the template of Deployment/web.
            - 9m in proxy is 9% of a request of 100m.
            > Set a cpu request for proxy in Deployment/web.
            $ kubectl set resources deployment/web -n default -c proxy --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of a container of the template, next to an injected one: error, explains
            the target of cpu is a percentage of the request, and 2 containers in 2 pods have none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - Container proxy, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in Deployment/web and let the injector set a cpu request for proxy.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of a container of the template, next to one that an annotation sets: error, explains
            the target of cpu is a percentage of the request, and 2 containers in 2 pods have none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - Container istio-proxy, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - 50m in app is 50% of a request of 100m.
            - 9m in istio-proxy is 9% of a request of 100m.
            > Set a cpu request for app in Deployment/web and annotate the pod template with sidecar.istio.io/proxyCPU.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            $ kubectl patch deployment/web -n default --type=merge -p '{"spec":{"template":{"metadata":{"annotations":{"sidecar.istio.io/proxyCPU":"100m"}}}}}'
            @ pod/web-0 pod/web-1
        of a container of the template, next to one of Istio with other resources: error, explains
            the target of cpu is a percentage of the request, and 2 containers in 2 pods have none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - Container istio-proxy, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - 50m in app is 50% of a request of 100m.
            - An annotation of Istio's proxy replaces all its defaults.
            > Set a cpu request for app in Deployment/web and annotate the pod template with sidecar.istio.io/proxyCPU, and with the other requests and limits of istio-proxy.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of one of Istio with other resources alone: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and container istio-proxy in 2 pods has none, so nothing is scaled
            - Container istio-proxy, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - With a ContainerResource metric for app: 2 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":50,"type":"Utilization"}},"type":"ContainerResource"}}]'
            @ pod/web-0 pod/web-1
        of a container of a ReplicaSet: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of ReplicaSet/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in ReplicaSet/web. Then delete the pods one by one: the target does not replace them.
            $ kubectl set resources replicaset/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of older pods of a ReplicaSet: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: in the template of ReplicaSet/web, it has a request.
            > Find out why the pods lack the request of the template: they are older, or something removes it. Delete older ones: the target does not replace them.
            @ pod/web-0 pod/web-1
        of a container of a StatefulSet with a partition: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of StatefulSet/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in StatefulSet/web. Then lower partition (1) to 0 in the update strategy.
            $ kubectl set resources statefulset/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of a container of a paused target: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in Deployment/web. Then resume Deployment/web: it is paused.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of a container of the template, next to an injected one with a limit of 0: error, explains
            the target of cpu is a percentage of the request, and 2 containers in 2 pods have none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - Container istio-proxy, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - 50m in app is 50% of a request of 100m.
            > Raise or remove the zero cpu limit of istio-proxy, set a cpu request for app in Deployment/web and annotate the pod template with sidecar.istio.io/proxyCPU.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of pods that state no owner: error, explains
            the target of cpu is a percentage of the request, and container proxy in 2 pods has none, so nothing is scaled
            - Container proxy, which uses up to 9m, in web-0 and web-1.
            > Set a cpu request for proxy in Deployment/web.
            @ pod/web-0 pod/web-1
        of a container that has one in the template: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: in the template of Deployment/web, it has a request.
            > Find out why the pods lack the request of the template: they are older, or something removes it.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ pod/web-0 pod/web-1
        of a pod without an owner: error, explains
            the target of cpu is a percentage of the request, and container proxy in 2 pods has none, so nothing is scaled
            - Container proxy, which uses up to 9m, in web-0: it is not in the template of Deployment/web, so it was injected.
            - Container proxy, which uses up to 9m, in web-1: no object controls the pod.
            > Let the injector set a cpu request for proxy.
            @ pod/web-0 pod/web-1
        of a pod of another owner: error, explains, follows foreign-pods, without it 2 -> 2
            the target of cpu is a percentage of the request, and container seed in 1 pod has none, so nothing is scaled
            - Container seed, in seed-x: the pod belongs to Job/seed, not to Deployment/web.
            - Without these pods: 2 replicas.
            > Follow the advice of foreign-pods.
            @ pod/seed-x
        of a container that the template no longer has: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and container proxy in 1 pod has none, so nothing is scaled
            - Container proxy, in web-1: the pod is of an earlier revision of Deployment/web.
            - Without these pods: 2 replicas.
            > Wait for the rollout to end.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ pod/web-1
        of a container for which the template now has one: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and container app in 1 pod has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-1: the pod is of an earlier revision of Deployment/web.
            - Without these pods: 2 replicas.
            > Wait for the rollout to end.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ pod/web-1
        of a container that is injected into new pods: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and container proxy in 1 pod has none, so nothing is scaled
            - Container proxy, in web-1: it is not in the template of Deployment/web, so it was injected.
            - With a ContainerResource metric for app: 2 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":50,"type":"Utilization"}},"type":"ContainerResource"}}]'
            @ pod/web-1
        of a container whose request the template has lost: error, explains
            the target of cpu is a percentage of the request, and container app in 1 pod has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-1: it is in the template of Deployment/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in Deployment/web.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/web-1
        of a container of a new template: as of a container whose request the template has lost
        of a container of a new template, next to a failed pod: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-1 and web-2: it is in the template of Deployment/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in Deployment/web.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/web-1 pod/web-2
        of a container of a new template, next to a deleted pod: as of a container of a new template, next to a failed pod
        of a container of the template, in pods of an earlier revision: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in Deployment/web.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        of a container of the template, in earlier pods of a paused target: as of a container of a paused target
        of a container that is injected into pods of an earlier revision: as of an injected container
        of a container of an earlier template: error, explains
            the target of cpu is a percentage of the request, and container proxy in 2 pods has none, so nothing is scaled
            - Container proxy, which uses up to 9m, in web-0 and web-1: the pod is of an earlier revision of Deployment/web.
            > Wait for the rollout to end.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ pod/web-0 pod/web-1
        of a container that is not in the template, in pods of an earlier revision: as of a container of an earlier template
        of a failed pod: error, explains, follows finished-pods
            the target of cpu is a percentage of the request, and container app in 1 pod has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-1: in the template of Deployment/web, it has a request.
            > Follow the advice of finished-pods.
            @ pod/web-1
        of a failed pod and another: as of a container that has one in the template
        of a container that has a limit in the template: as of a container that has one in the template
        of a container that has a lower limit: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has a request of 0, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            - 50m in app is 83.3% of a request of 60m.
            > Set a cpu request for app in Deployment/web.
            $ kubectl set resources deployment/web -n default -c app --requests=cpu=60m
            @ pod/web-0 pod/web-1
        of a container that has a limit of 0: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has a request of 0, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of Deployment/web.
            > Raise or remove the zero cpu limit of app and set a cpu request for app in Deployment/web.
            @ pod/web-0 pod/web-1
        of an injected container that has a limit of 0: as of one of Istio with other resources alone
        of an injected container, next to one that has a limit of 0: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and 2 containers in 2 pods have none, so nothing is scaled
            - Container istio-proxy, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - Container foo, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - With a ContainerResource metric for app: 2 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":50,"type":"Utilization"}},"type":"ContainerResource"}}]'
            @ pod/web-0 pod/web-1
        of two injected containers that annotations set: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and 2 containers in 2 pods have none, so nothing is scaled
            - Container istio-proxy, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - Container vault-agent, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - With a ContainerResource metric for app: 2 replicas.
            - 9m in vault-agent is 9% of a request of 100m.
            > Annotate the pod template with sidecar.istio.io/proxyCPU and vault.hashicorp.com/agent-requests-cpu.
            $ kubectl patch deployment/web -n default --type=merge -p '{"spec":{"template":{"metadata":{"annotations":{"vault.hashicorp.com/agent-requests-cpu":"100m"}}}}}'
            @ pod/web-0 pod/web-1
        of two injected containers, one with a limit of 0: error, explains, without it 2 -> 2
            the target of cpu is a percentage of the request, and 2 containers in 2 pods have none, so nothing is scaled
            - Container istio-proxy, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - Container vault-agent, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            - With a ContainerResource metric for app: 2 replicas.
            > Use a ContainerResource metric for app.
            $ kubectl patch hpa web -n default --type=json -p '[{"op":"test","path":"/spec/metrics/0/resource/name","value":"cpu"},{"op":"replace","path":"/spec/metrics/0","value":{"containerResource":{"container":"app","name":"cpu","target":{"averageUtilization":50,"type":"Utilization"}},"type":"ContainerResource"}}]'
            @ pod/web-0 pod/web-1
        of an injected container that has a limit of 0, and is meant: error, explains
            the target of cpu in proxy is a percentage of the request, and container proxy in 2 pods has none, so nothing is scaled
            - Container proxy, which uses up to 9m, in web-0 and web-1: it is not in the template of Deployment/web, so it was injected.
            > Raise or remove the zero cpu limit of proxy and let the injector set a cpu request for proxy.
            @ pod/web-0 pod/web-1
        of a container that has a limit of 0, once in a pod of an unknown owner: error, explains
            the target of cpu is a percentage of the request, and container proxy in 2 pods has none, so nothing is scaled
            - Container proxy, which uses up to 9m, in web-0.
            - Container proxy, which uses up to 9m, in web-1: it is not in the template of Deployment/web, so it was injected.
            > Raise or remove the zero cpu limit of proxy and let the injector set a cpu request for proxy.
            @ pod/web-0 pod/web-1
        where the target is an amount: none
        "#);
    }

    #[test]
    fn a_request_for_a_kind_that_kubectl_does_not_know() {
        let target =
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"});
        let bare = json!([{"name": "app", "resources": {"requests": {"memory": "1Gi"}}}]);
        let owner = build::owned_by("argoproj.io/v1alpha1", "Rollout", "web");
        let items = state(&[cpu()], &["50m"]);
        let patch = json!({"metadata": {"ownerReferences": owner}, "spec": {"containers": bare}});
        let items = with(&items, "Pod", &patch);
        let hpa = json!({"spec": {"scaleTargetRef": target}});
        let mut items = with_hpa(&items, &hpa);
        items.push(json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": bare}}},
            "status": {"replicas": 1, "selector": "app=web"},
        }));
        insta::assert_snapshot!(table(Code::MissingRequest, [("a Rollout", items)]), @r#"
        a Rollout: error, explains
            the target of cpu is a percentage of the request, and container app in 1 pod has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0: it is in the template of Rollout/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in Rollout/web.
            $ kubectl patch rollout.argoproj.io/web -n default --type=json -p '[{"op":"test","path":"/spec/template/spec/containers/0/name","value":"app"},{"op":"add","path":"/spec/template/spec/containers/0/resources/requests/cpu","value":"100m"}]'
            @ pod/web-0
        "#);
    }

    /// The containers of a pod may not request more than the pod.
    #[test]
    fn a_request_within_that_of_the_pod() {
        let command = |whole: &str, other: Option<&str>| {
            let items = state(&[container("app")], &["200m", "200m"]);
            let other = other.map_or(json!({"name": "log"}), |cpu| build::requesting("log", cpu));
            let containers = json!([{"name": "app"}, other]);
            let spec = json!({"spec": {
                "containers": containers, "resources": {"requests": {"cpu": whole}}}});
            let states = [("", owned(&with(&items, "Pod", &spec), &containers))];
            let told = table(Code::MissingRequest, states);
            let request = told.split_once("--requests=").map(|(_, after)| after);
            request.and_then(|it| it.lines().next()).map(str::to_owned)
        };
        for (whole, other, want) in [
            ("1", None, Some("cpu=400m")),
            ("300m", None, Some("cpu=150m")),
            ("300m", Some("100m"), Some("cpu=200m")),
            ("300m", Some("300m"), None),
        ] {
            assert_eq!(command(whole, other).as_deref(), want, "{whole} {other:?}");
        }
    }

    /// Pods of an earlier revision without a request. No rollout replaces pods with `OnDelete`.
    #[test]
    fn pods_that_no_rollout_replaces() {
        let kind = "StatefulSet";
        let state_of = |strategy: Value, others: usize, from: usize| {
            let pods = vec!["50m"; 2 + others];
            let items = state(&[cpu()], &pods);
            let owner = build::owned_by("apps/v1", kind, "web");
            let labels = json!({"app": "web", "controller-revision-hash": "web-1"});
            let patch = json!({"metadata": {"labels": labels, "ownerReferences": owner},
                "spec": {"containers": [{"name": "app"}]}});
            let items = with(&items, "Pod", &patch);
            let mut items = with_spec(&items, &json!({"scaleTargetRef": {"kind": kind}}));
            let ready = json!({"metadata": {"labels": {"controller-revision-hash": "web-2"}},
                "spec": {"containers": [build::requesting("app", "100m")]}});
            let all = items
                .iter_mut()
                .filter(|it| it["kind"] == "Pod")
                .enumerate();
            let new = all.filter(|(at, _)| !(from..from + 2).contains(at));
            new.for_each(|(_, pod)| *pod = build::with(pod.clone(), &ready));
            items.push(json!({
                "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": "default"},
                "spec": {"replicas": pods.len(), "selector": {"matchLabels": {"app": "web"}},
                    "updateStrategy": strategy,
                    "template": {"spec": {"containers": [build::requesting("app", "100m")]}}},
                "status": {"replicas": pods.len(), "updatedReplicas": others, "updateRevision": "web-2"},
            }));
            items
        };
        let replaced = |strategy| state_of(strategy, 1, 0);
        let unset = json!({"spec": {"template": {"spec": {"containers": [{"name": "app"}]}}}});
        let lacking = |strategy| with(&replaced(strategy), kind, &unset);
        let owner = build::owned_by("example.com/v1", "Db", "web");
        let owner = json!({"metadata": {"ownerReferences": owner}});
        let of_owner = |items: &[Value]| with(items, kind, &owner);
        let of_rollout = |items: &[Value]| -> Vec<Value> {
            let mut text = Value::from(items).to_string();
            for (from, to) in [
                (kind, "Rollout"),
                ("apps/v1", "argoproj.io/v1alpha1"),
                ("controller-revision-hash", "rollouts-pod-template-hash"),
                ("updateStrategy", "strategy"),
                ("updateRevision", "currentPodHash"),
            ] {
                text = text.replace(from, to);
            }
            serde_json::from_str(&text).unwrap()
        };
        let crashed = crashing();
        let rolling = |partition: i32| json!({"rollingUpdate": {"partition": partition}});
        // The pods 1 and 2 of a set, without its first one, and a Job's pod with a lower ordinal.
        let beside_job = {
            let set = with(&state_of(rolling(2), 0, 0), kind, &unset);
            let mut items = from_ordinal(set, 1);
            let bare = json!({"spec": {"containers": [{"name": "app"}]}});
            items.push(build::with(build::pod("seed-0"), &bare));
            let ordinals = json!({"spec": {"ordinals": null}});
            with(&of_job(&items, "seed-0"), kind, &ordinals)
        };
        let on_delete = || json!({"type": "OnDelete"});
        let canary = json!({"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}});
        let states = [
            ("RollingUpdate", replaced(json!({}))),
            (
                "RollingUpdate, and the new pod crashes",
                with_pod(&replaced(json!({})), "web-2", &crashed),
            ),
            (
                "RollingUpdate, and an earlier pod crashes",
                with_pod(&replaced(json!({})), "web-1", &crashed),
            ),
            (
                "OnDelete, and the new pod crashes",
                with_pod(&replaced(on_delete()), "web-2", &crashed),
            ),
            ("a partition of 0", replaced(rolling(0))),
            ("OnDelete", replaced(on_delete())),
            ("a partition of 1, pods 0 and 1", replaced(rolling(1))),
            ("a partition of 1, pods 1 and 2", state_of(rolling(1), 1, 1)),
            (
                "a partition of 1 and ordinals from 5, pods 0 and 1",
                from_ordinal(replaced(rolling(1)), 5),
            ),
            (
                "a partition of 1 and ordinals from 5, pods 1 and 2",
                from_ordinal(state_of(rolling(1), 1, 1), 5),
            ),
            ("OnDelete, owned", of_owner(&replaced(on_delete()))),
            ("OnDelete, and the template lacks it", lacking(on_delete())),
            (
                "OnDelete, owned, and the template lacks it",
                of_owner(&lacking(on_delete())),
            ),
            (
                "a partition, and the template lacks it",
                lacking(rolling(1)),
            ),
            (
                "a partition, owned, and the template lacks it",
                of_owner(&lacking(rolling(1))),
            ),
            (
                "a partition of 2, pods 1 and 2, next to a Job's pod 0, and the template lacks it",
                beside_job,
            ),
            ("all pods", state_of(json!({}), 0, 0)),
            ("a canary that pauses", of_rollout(&replaced(canary))),
        ];
        insta::assert_snapshot!(table(Code::MissingRequest, states), @r#"
        RollingUpdate: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of StatefulSet/web.
            - Without these pods: 3 replicas.
            > Wait for the rollout to end.
            $ kubectl rollout status statefulset/web -n default --watch=false
            @ pod/web-0 pod/web-1
        RollingUpdate, and the new pod crashes: error, explains, follows never-ready
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of StatefulSet/web.
            > Follow the advice of never-ready.
            @ pod/web-0 pod/web-1
        RollingUpdate, and an earlier pod crashes: as RollingUpdate
        OnDelete, and the new pod crashes: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of StatefulSet/web.
            > Delete the pods of the earlier revision: the update strategy is OnDelete.
            $ kubectl get pods -n default -l app=web -L controller-revision-hash
            @ pod/web-0 pod/web-1
        a partition of 0: as RollingUpdate
        OnDelete: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of StatefulSet/web.
            - Without these pods: 3 replicas.
            > Delete the pods of the earlier revision: the update strategy is OnDelete.
            $ kubectl get pods -n default -l app=web -L controller-revision-hash
            @ pod/web-0 pod/web-1
        a partition of 1, pods 0 and 1: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of StatefulSet/web.
            - Without these pods: 3 replicas.
            > Lower partition (1) to 0 in the update strategy.
            $ kubectl patch statefulset/web -n default --type=merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
            @ pod/web-0 pod/web-1
        a partition of 1, pods 1 and 2: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-1 and web-2: the pod is of an earlier revision of StatefulSet/web.
            - Without these pods: 3 replicas.
            > Wait for the rollout to end.
            $ kubectl rollout status statefulset/web -n default --watch=false
            @ pod/web-1 pod/web-2
        a partition of 1 and ordinals from 5, pods 0 and 1: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-5 and web-6: the pod is of an earlier revision of StatefulSet/web.
            - Without these pods: 3 replicas.
            > Lower partition (1) to 0 in the update strategy.
            $ kubectl patch statefulset/web -n default --type=merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
            @ pod/web-5 pod/web-6
        a partition of 1 and ordinals from 5, pods 1 and 2: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-6 and web-7: the pod is of an earlier revision of StatefulSet/web.
            - Without these pods: 3 replicas.
            > Wait for the rollout to end.
            $ kubectl rollout status statefulset/web -n default --watch=false
            @ pod/web-6 pod/web-7
        OnDelete, owned: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of StatefulSet/web.
            - Without these pods: 3 replicas.
            > Wait for the rollout to end.
            $ kubectl get pods -n default -l app=web -L controller-revision-hash
            @ pod/web-0 pod/web-1
        OnDelete, and the template lacks it: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of StatefulSet/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in StatefulSet/web. Then delete the pods one by one: the update strategy is OnDelete.
            $ kubectl set resources statefulset/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        OnDelete, owned, and the template lacks it: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of StatefulSet/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in StatefulSet/web. Db/web owns StatefulSet/web: change it there.
            @ pod/web-0 pod/web-1
        a partition, and the template lacks it: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of StatefulSet/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in StatefulSet/web. Then lower partition (1) to 0 in the update strategy.
            $ kubectl set resources statefulset/web -n default -c app --requests=cpu=100m
            @ pod/web-0 pod/web-1
        a partition, owned, and the template lacks it: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: it is in the template of StatefulSet/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in StatefulSet/web. Then lower partition (1) to 0 in the update strategy. Db/web owns StatefulSet/web: change it there.
            @ pod/web-0 pod/web-1
        a partition of 2, pods 1 and 2, next to a Job's pod 0, and the template lacks it: error, explains
            the target of cpu is a percentage of the request, and container app in 3 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-1 and web-2: it is in the template of StatefulSet/web.
            - Container app, in seed-0: the pod belongs to Job/seed, not to StatefulSet/web.
            - 50m in app is 50% of a request of 100m.
            > Set a cpu request for app in StatefulSet/web. Then lower partition (2) to 1 in the update strategy.
            $ kubectl set resources statefulset/web -n default -c app --requests=cpu=100m
            @ pod/seed-0 pod/web-1 pod/web-2
        all pods: error, explains
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of StatefulSet/web.
            > Wait for the rollout to end.
            $ kubectl rollout status statefulset/web -n default --watch=false
            @ pod/web-0 pod/web-1
        a canary that pauses: error, explains, without it 3 -> 3
            the target of cpu is a percentage of the request, and container app in 2 pods has none, so nothing is scaled
            - Container app, which uses up to 50m, in web-0 and web-1: the pod is of an earlier revision of Rollout/web.
            - Without these pods: 3 replicas.
            > If the rollout pauses, promote it once its new pods are ready. It pauses until it is promoted, first at step 2 of spec.strategy.canary, with old and new pods side by side.
            @ pod/web-0 pod/web-1
        "#);
    }
}
