//! Words findings about requests.

use serde_json::json;

use super::command::{Command, Edited};
use super::remedy::Remedy;
use super::{APART, About, Advice, Text, Words, exact, first_of, names, told};
use crate::apimachinery::names::shell_word;
use crate::apimachinery::quantity::{Amount, Format, Quantity};
use crate::findings::requests::{
    AtLimits, Differing, DilutedByContainer, MemoryBaseline, MissingRequest, RequestTooSmall,
    RequestsDifferFromTemplate, ResizeInProgress, Source, UnreachableTarget, Unrequested,
    rounded_request,
};
use crate::findings::targets::{OtherRequest, Room};
use crate::numbers::format_of;
use crate::report::words::{amount, count, distance, percent, quantity, sentence, time, value};
use crate::snapshot::hpa::MetricTarget;
use crate::snapshot::pod::Container;
use crate::snapshot::surroundings::Replacement;

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

impl MissingRequest {
    /// Returns a request of which the highest current usage is the target, and which one sample of an idle pod does not
    /// make tiny; `None` if the usage is unknown.
    fn request(&self, about: &About<'_>, container: &Unrequested) -> Option<Quantity> {
        let target = about
            .spec(self.metric)
            .target()?
            .average_utilization
            .filter(|it| *it > 0)?;
        let needed = container.usage?.checked_mul(100)? / i64::from(target);
        let least = if self.resource == "cpu" { 100 } else { 0 };
        rounded_request(&self.resource, needed.max(least))
    }

    fn command(&self, about: &About<'_>, lacking: &Unrequested) -> Option<Command> {
        let namespace = about.namespace();
        let container = shell_word(&lacking.container);
        let (target, resource) = (about.template_target(), &self.resource);
        match &lacking.source {
            Source::Template => {
                let request = self.request(about, lacking)?;
                // It only supports these kinds.
                if matches!(about.template_holder().group(), "" | "apps") {
                    let line = format!(
                        "kubectl set resources {target} {namespace} -c {container} \
                         --requests={resource}={request}"
                    );
                    return Some(Command::from(line).editing(Edited::Template));
                }
                let patch = add_request(about, &lacking.container, resource, &request)?;
                let patch = shell_word(&patch.to_string());
                let line = format!("kubectl patch {target} {namespace} --type=json -p {patch}");
                Some(Command::from(line).editing(Edited::Template))
            }
            Source::Injected => {
                let annotation = annotation(&lacking.container, resource)?;
                let request = self.request(about, lacking)?.to_string();
                let patch = json!({"spec": {"template": {"metadata": {
                    "annotations": {annotation: request}}}}});
                let patch = shell_word(&patch.to_string());
                let line = format!("kubectl patch {target} {namespace} --type=merge -p {patch}");
                Some(Command::from(line).editing(Edited::Template))
            }
            Source::Earlier if about.is_paused() => about.resume(),
            Source::Earlier => about.rollout_status(&names_of(&lacking.pods)),
            Source::Lost => about.rollout_status(&[]),
            Source::Foreign { .. } | Source::Unknown => None,
        }
    }
}

pub(super) fn names_of(pods: &[Box<str>]) -> Vec<&str> {
    pods.iter().map(|pod| &**pod).collect()
}

/// Returns a JSON patch that adds a request to a container of the target's template. It can only add to
/// what exists.
fn add_request(
    about: &About<'_>,
    name: &str,
    resource: &str,
    request: &Quantity,
) -> Option<serde_json::Value> {
    let target = &about.hpa().spec.scale_target_ref;
    let template = about
        .pass
        .input
        .surroundings
        .workload(target)?
        .template
        .as_deref()?;
    let lists = [
        ("containers", &template.containers),
        ("initContainers", &template.init_containers),
    ];
    let (list, place, container) = lists.into_iter().find_map(|(list, all)| {
        let place = all.iter().position(|it| *it.name == *name)?;
        Some((list, place, &all[place]))
    })?;
    let request = request.to_string();
    let (rest, value) = match (
        container.requests.0.is_empty(),
        container.limits.0.is_empty(),
    ) {
        (false, _) => (
            format!("/requests/{}", resource.replace('/', "~1")),
            json!(request),
        ),
        (true, false) => ("/requests".to_owned(), json!({ resource: request })),
        (true, true) => (String::new(), json!({"requests": { resource: request }})),
    };
    let path = format!("/spec/template/spec/{list}/{place}/resources{rest}");
    Some(json!([{"op": "add", "path": path, "value": value}]))
}

impl Words for MissingRequest {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            resource,
            containers,
            instead,
        } = self;
        let label = about.label(*metric);
        let whose = |it: &Unrequested| {
            let (container, pods) = (&it.container, names(&it.pods));
            let usage = it.usage.map_or_else(String::new, |usage| {
                format!(", which uses up to {}", amount(usage, format_of(resource)))
            });
            let target = about.hpa().reference();
            let holder = about.template_reference();
            match &it.source {
                Source::Template => {
                    format!(
                        "Container {container}{usage}, in {pods}: it is in the template of {holder}."
                    )
                }
                Source::Injected => format!(
                    "Container {container}{usage}, in {pods}: it is not in the template of {holder}, so it was \
                     injected."
                ),
                Source::Earlier => format!(
                    "Container {container}{usage}, in {pods}: the pod is of an earlier revision of {target}."
                ),
                Source::Foreign { owner: Some(owner) } => format!(
                    "Container {container}{usage}, in {pods}: the pod belongs to {owner}, not to {target}."
                ),
                Source::Foreign { owner: None } => {
                    format!("Container {container}{usage}, in {pods}: no object controls the pod.")
                }
                Source::Lost => format!(
                    "Container {container}{usage}, in {pods}: in the template of {holder}, it has a request."
                ),
                Source::Unknown => format!("Container {container}{usage}, in {pods}."),
            }
        };
        let mut evidence: Vec<String> = containers.iter().map(whose).collect();
        if let (Some(container), Some(without)) = (instead, about.without()) {
            evidence.push(format!(
                "With a ContainerResource metric for {container}: {without}."
            ));
        } else if let Some(without) = about.without() {
            evidence.push(format!("Without these pods: {without}."));
        }
        let is_own = |it: &&Unrequested| matches!(it.source, Source::Template | Source::Injected);
        evidence.extend(containers.iter().filter(is_own).filter_map(|it| {
            let (request, usage) = (self.request(about, it)?, it.usage?);
            let share = percent(usage as f64 / request.milli_value() as f64);
            let (container, usage) = (&it.container, milli(usage, resource));
            Some(format!(
                "{usage} in {container} is {share} of a request of {request}."
            ))
        }));
        let first = containers.first();
        let named: Vec<&str> = containers.iter().map(|it| &*it.container).collect();
        let annotated = |it: &Unrequested| annotation(&it.container, resource);
        let advice = match first.map(|it| (&it.source, annotated(it), instead)) {
            Some((Source::Injected, Some(annotation), _)) => {
                Remedy::Annotate.says(format!("Annotate the pod template with {annotation}."))
            }
            Some((Source::Injected, None, Some(container))) => Remedy::UseContainer.says(format!(
                "Use {}.",
                about.container_metric(self.metric, container)
            )),
            Some((Source::Injected, None, None)) => Remedy::LetInjector.says(format!(
                "Let the injector set a {resource} request for {}.",
                names(&named)
            )),
            Some((Source::Earlier, ..)) if about.is_paused() => {
                let target = about.hpa().reference();
                Remedy::Resume.says(format!(
                    "Resume {target}, so that its pods get the requests of its template."
                ))
            }
            Some((Source::Earlier, ..)) => {
                let earlier = containers.iter().filter(|it| it.source == Source::Earlier);
                let pods: Vec<&str> = earlier.flat_map(|it| names_of(&it.pods)).collect();
                about.after_rollout(&pods, "", "delete the pods of the earlier revision")
            }
            Some((Source::Lost, ..)) => Remedy::FindRequest.says(
                "Find out why the pods lack the request of the template: they are older, or \
                     something removes it.",
            ),
            Some((Source::Foreign { .. }, ..)) => Remedy::LabelApart.says(APART),
            _ => {
                let holder = about.template_reference();
                Remedy::SetRequest.says(format!(
                    "Set a {resource} request for {} in {holder}.",
                    names(&named)
                ))
            }
        };
        let mut commands: Vec<Command> = containers
            .iter()
            .filter_map(|it| self.command(about, it))
            .collect();
        if let Some(container) = instead.as_ref().filter(|_| commands.is_empty()) {
            commands.extend(about.use_container(*metric, container));
        }
        commands.dedup();
        if first.is_some_and(|it| matches!(it.source, Source::Foreign { .. })) {
            commands.extend(about.list_pods("--show-labels"));
        }
        let mut pods: Vec<&str> = containers
            .iter()
            .flat_map(|it| names_of(&it.pods))
            .collect();
        pods.sort_unstable();
        pods.dedup();
        let effect = about.effect("the metric");
        // A request of 0 counts as none.
        let own = about
            .pass
            .input
            .snapshot
            .pods
            .iter()
            .filter(|pod| pods.contains(&&*pod.name));
        let own = own.flat_map(|pod| pod.containers.iter().chain(&pod.init_containers));
        let own = own.filter(|it| named.contains(&&*it.name));
        let (zero, none): (Vec<&Container>, Vec<&Container>) =
            own.partition(|it| it.requests.get(resource).is_some());
        let what = match (zero.is_empty(), none.is_empty()) {
            (true, _) => "none",
            (false, true) => "a request of 0",
            (false, false) => "none or a request of 0",
        };
        let these = match &named[..] {
            [one] => format!("container {one}"),
            several => count(several.len(), "container"),
        };
        let verb = if named.len() == 1 { "has" } else { "have" };
        Text {
            summary: format!(
                "the {label} target is a percentage of the request, and {these} in {} {verb} {what}, {effect}",
                count(pods.len(), "pod")
            ),
            evidence,
            advice,
            commands,
            objects: pods.iter().map(|name| format!("pod/{name}")).collect(),
        }
    }
}

impl About<'_> {
    /// Returns a command that makes a Resource metric one of a container.
    fn use_container(&self, metric: usize, container: &str) -> Option<Command> {
        let mut metrics = self.hpa().spec.metrics.clone();
        metrics[metric] = metrics[metric].of_container(container);
        self.patch_spec(&json!({ "metrics": metrics }))
    }

    /// Whether the target is paused, so that a rollout waits for someone to resume it.
    pub(super) fn is_paused(&self) -> bool {
        let target = &self.hpa().spec.scale_target_ref;
        self.pass
            .input
            .surroundings
            .workload(target)
            .is_some_and(|it| it.paused == Some(true))
    }

    /// Returns a command that resumes a paused target, if kubectl can.
    pub(super) fn resume(&self) -> Option<Command> {
        let is_known = self.hpa().spec.scale_target_ref.kind == "Deployment";
        let (target, namespace) = (self.target(), self.namespace());
        is_known.then(|| format!("kubectl rollout resume {target} {namespace}").into())
    }

    /// Returns how the target replaces pods of an earlier revision.
    fn replacement(&self) -> Replacement {
        let target = &self.hpa().spec.scale_target_ref;
        let known = self.pass.input.surroundings.workload(target);
        Replacement::of(target, known.into_iter())
    }

    /// Returns the partition of a rollout that leaves some of these pods alone, and their lowest ordinal.
    fn partition_above(&self, pods: &[&str]) -> Option<(i32, i32)> {
        let Replacement::AllBut(first) = self.replacement() else {
            return None;
        };
        let ordinals = pods
            .iter()
            .filter_map(|pod| pod.rsplit_once('-')?.1.parse().ok());
        Some((first, ordinals.min().filter(|lowest| *lowest < first)?))
    }

    /// Returns the advice to wait for the end of the rollout of these pods, with its reason, or to do something
    /// else. If the rollout leaves some of them alone, someone has to replace them.
    pub(super) fn after_rollout(&self, pods: &[&str], because: &str, or: &str) -> Advice {
        let wait = || Remedy::WaitForRollout.waits(format!("for the rollout to end{because}"));
        let delete = |why: &str| {
            Remedy::DeleteEarlier.says(format!("Delete the pods of the earlier revision: {why}."))
        };
        match self.replacement() {
            Replacement::OnDelete => delete("the update strategy is OnDelete"),
            Replacement::ByKind => delete("the target does not replace them"),
            _ => match self.partition_above(pods) {
                Some((first, _)) => Remedy::LowerPartition.says(format!(
                    "Lower partition ({first}) in the update strategy{because}."
                )),
                None => wait().or(or),
            },
        }
    }

    /// Returns a command that shows how far the rollout of these pods is, if kubectl knows rollouts of the kind,
    /// which pods are left if they are replaced by hand, or one that has the rollout include them.
    pub(super) fn rollout_status(&self, pods: &[&str]) -> Option<Command> {
        let target = &self.hpa().spec.scale_target_ref;
        if self.replacement() == Replacement::OnDelete {
            return self.list_pods("-L controller-revision-hash");
        }
        let is_known = matches!(&*target.kind, "Deployment" | "StatefulSet");
        let (target, namespace) = (self.target(), self.namespace());
        if let Some((_, lowest)) = self.partition_above(pods) {
            let patch =
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": lowest}}}});
            let patch = shell_word(&patch.to_string());
            let line = format!("kubectl patch {target} {namespace} --type=merge -p {patch}");
            return Some(Command::from(line).editing(Edited::Template));
        }
        is_known
            .then(|| format!("kubectl rollout status {target} {namespace} --watch=false").into())
    }
}

/// Returns an amount of a resource metric as text.
fn milli(value: i64, resource: &str) -> String {
    amount(value, format_of(resource))
}

impl Words for DilutedByContainer {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            shares,
            pods,
            proposal,
            alone,
            with_sidecars,
        } = self;
        let label = about.label(*metric);
        let resource = about.spec(*metric).name();
        let pods = count(*pods, "pod");
        let mut evidence: Vec<String> = shares
            .iter()
            .map(|share| {
                let not = if share.is_counted {
                    ""
                } else {
                    ", a request that does not count"
                };
                format!(
                    "{} uses {} of {}, {}, in {pods}{not}.",
                    share.container,
                    milli(share.usage, resource),
                    milli(share.request, resource),
                    percent(share.of_request())
                )
            })
            .collect();
        let Some(busiest) = shares.first() else {
            return Text::default();
        };
        let container = &busiest.container;
        evidence.push(format!(
            "{label} proposes {proposal}; {container} alone proposes {alone} with the same target."
        ));
        if with_sidecars.is_some() {
            evidence.push("The requests of sidecars count as of Kubernetes 1.29.".to_owned());
        }
        let has_container_metrics = about.pass.input.snapshot.controller.gates.container_metrics;
        if has_container_metrics {
            evidence.extend(
                about
                    .without()
                    .map(|without| format!("With ContainerResource: {without}.")),
            );
        }
        let whole = about
            .step(*metric)
            .and_then(|step| step.proposal()?.current.average_utilization)
            .map_or_else(String::new, |percent| format!(" at {percent}%"));
        Text {
            summary: match with_sidecars {
                Some(asked) => format!(
                    "{label} counts the usage of sidecars and not their requests: it proposes \
                     {proposal}; {asked} if the requests counted"
                ),
                None => format!(
                    "{label} is{whole} over all containers, while {container} uses {} of its request",
                    percent(busiest.of_request())
                ),
            },
            evidence,
            advice: {
                let used = about.container_metric(*metric, container);
                if has_container_metrics {
                    Remedy::UseContainer.says(format!("Use {used}."))
                } else {
                    Remedy::Upgrade.says(format!("Upgrade to Kubernetes 1.30, and use {used}."))
                }
            },
            commands: if has_container_metrics {
                Vec::from_iter(about.use_container(*metric, container))
            } else {
                Vec::new()
            },
            objects: about.own(),
        }
    }
}

impl Words for ResizeInProgress {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            resource,
            containers,
            condition,
        } = self;
        let label = about.label(*metric);
        let mut evidence: Vec<String> = containers
            .iter()
            .take(3)
            .map(|it| {
                let (spec, in_effect) = (milli(it.spec, resource), milli(it.in_effect, resource));
                let (container, pod) = (&it.container, &it.pod);
                format!("{container} of {pod} requests {spec}; {in_effect} is in effect.")
            })
            .collect();
        evidence.extend(condition.as_ref().map(|condition| {
            let since = condition
                .last_transition_time
                .map_or_else(String::new, |since| {
                    format!(" since {}", time(about.now(), since))
                });
            let said = told([&condition.reason, &condition.message]);
            format!("{}{since}{said}.", condition.type_)
        }));
        evidence.extend(
            about
                .without()
                .map(|without| format!("With the requests in effect: {without}.")),
        );
        let mut pods: Vec<&str> = containers.iter().map(|it| &*it.pod).collect();
        pods.dedup();
        let is_infeasible = condition
            .as_ref()
            .is_some_and(|it| it.reason == "Infeasible");
        let (not, advice) = if is_infeasible {
            (
                "cannot come into effect",
                Remedy::RequestLess.says(format!(
                    "Request less {resource}: the node cannot hold the pod with this request."
                )),
            )
        } else {
            (
                "are not yet in effect",
                Remedy::WaitForResize
                    .waits("until the resize is done")
                    .or("use an AverageValue target"),
            )
        };
        Text {
            summary: format!(
                "{label} is a share of requests that {not} in {}",
                count(pods.len(), "pod")
            ),
            evidence,
            advice,
            commands: pods
                .first()
                .map(|pod| about.describe(pod))
                .into_iter()
                .collect(),
            objects: pods.iter().map(|name| format!("pod/{name}")).collect(),
        }
    }
}

impl Words for RequestsDifferFromTemplate {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            resource,
            containers,
            pods,
            vpa,
            updated,
            is_paused,
            is_seen,
            average,
        } = self;
        let label = about.label(*metric);
        let request = |it: &Differing| {
            if it.least == it.most {
                milli(it.least, resource)
            } else {
                format!(
                    "{} to {}",
                    milli(it.least, resource),
                    milli(it.most, resource)
                )
            }
        };
        let wanted = |it: &Differing| match it.template {
            Some(template) => milli(template, resource),
            None => "nothing".to_owned(),
        };
        let mut evidence: Vec<String> = containers
            .iter()
            .map(|it| {
                format!(
                    "{} requests {} in {} of {pods} pods, and {} in the template.",
                    it.container,
                    request(it),
                    it.pods,
                    wanted(it)
                )
            })
            .collect();
        evidence.extend(vpa.as_ref().map(|vpa| {
            format!(
                "The VerticalPodAutoscaler {vpa} sets requests of {}.",
                about.hpa().reference()
            )
        }));
        if *updated > 0 {
            evidence.push(format!(
                "{} {} changed by a VerticalPodAutoscaler, says the annotation vpaUpdates.",
                count(*updated, "pod"),
                if *updated == 1 { "was" } else { "were" }
            ));
        }
        evidence.extend(
            about
                .without()
                .map(|without| format!("With the template's requests: {without}.")),
        );
        let Some(first) = containers.first() else {
            return Text::default();
        };
        if *is_paused {
            let target = about.hpa().reference();
            let (keep, so) = if *is_seen {
                ("keep", "so that its pods get the requests of its template")
            } else {
                (
                    "may keep",
                    "which may give its pods the template's requests",
                )
            };
            return Text {
                summary: format!(
                    "{target} is paused, so its pods {keep} earlier requests, of which {label} is a share: \
                     {} instead of {} in {}",
                    request(first),
                    wanted(first),
                    first.container
                ),
                evidence,
                advice: Remedy::Resume.says(format!("Resume {target}, {so}.")),
                commands: about.resume().into_iter().collect(),
                objects: vec![about.target()],
            };
        }
        let average = average.and_then(|average| rounded_request(resource, average));
        let is_from_vpa = vpa.is_some() || *updated > 0;
        let other = if is_from_vpa {
            format!(", or let the VerticalPodAutoscaler leave {resource} alone")
        } else {
            String::new()
        };
        let command = average.as_ref().and_then(|average| {
            let mut metrics = about.hpa().spec.metrics.clone();
            if let Some(target) = metrics[*metric].target_mut() {
                *target = MetricTarget {
                    type_: "AverageValue".to_owned(),
                    average_value: Some(average.clone()),
                    ..MetricTarget::default()
                };
            }
            about.patch_spec(&json!({ "metrics": metrics }))
        });
        let mut objects = vec![about.hpa().reference().to_lowercase()];
        objects.extend(
            vpa.as_ref()
                .map(|vpa| format!("verticalpodautoscaler/{vpa}")),
        );
        let who = if is_from_vpa {
            "a VerticalPodAutoscaler"
        } else {
            "something else"
        };
        Text {
            summary: format!(
                "{label} is a share of requests that {who} sets: {} instead of {} in {}",
                request(first),
                wanted(first),
                first.container
            ),
            evidence,
            advice: Remedy::UseAverageValue.says(match average {
                Some(average) => {
                    format!(
                        "Use {}{other}.",
                        about.average_value(*metric, &average.to_string())
                    )
                }
                None => format!("Use an AverageValue target{other}."),
            }),
            commands: command.into_iter().collect(),
            objects,
        }
    }
}

impl Words for MemoryBaseline {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            least,
            most,
            target,
            pods,
            oldest,
            newest,
            percent,
            room,
        } = self;
        let now = about.now();
        let of = |milli: i64| amount(milli, Format::BinarySI);
        let (lowest, highest) = (of(*least), of(*most));
        let usage = if lowest == highest {
            lowest
        } else {
            format!("{lowest} to {highest}")
        };
        let ages = if oldest == newest {
            format!("They were started {} ago.", distance(*oldest, now))
        } else {
            format!(
                "The oldest was started {} ago, the newest {} ago.",
                distance(*oldest, now),
                distance(*newest, now)
            )
        };
        let is_later = now.duration_since(*oldest) >= now.duration_since(*newest) * 2;
        let so = if is_later {
            ": later pods have not relieved the earlier ones"
        } else {
            ""
        };
        let More {
            act,
            name,
            commands,
        } = room.more(about, *metric);
        let mut evidence = vec![format!("{ages} All use about the same{so}.")];
        evidence.extend(about.of_requests(*metric));
        let instead = match about.hpa().spec.metrics.len() {
            1 => "scale on load",
            _ => "drop the memory metric",
        };
        let raised = name.zip(about.without());
        evidence.extend(raised.map(|(name, without)| format!("With {name}: {without}.")));
        Text {
            summary: {
                let (pods, target) = (count(*pods, "pod"), of(*target));
                match percent {
                    Some(it) => {
                        format!("pods use {usage} each; {it}% of the request is {target}")
                    }
                    None => format!("{pods} use {usage} of memory each, target {target}"),
                }
            },
            evidence,
            advice: Remedy::LeaveRoom.says(format!(
                "{}, {act}, or {instead}.",
                sentence(&about.for_fewer(room))
            )),
            commands,
            objects: about.own(),
        }
    }
}

/// How to let pods use more before a metric asks for as many of them.
pub(super) struct More {
    /// What to do, as an imperative.
    pub(super) act: String,
    /// The new request or target, with an article, if one was found.
    name: Option<String>,
    pub(super) commands: Vec<Command>,
}

impl Room {
    /// Words it. Requests come first: a higher target only hides that they are too small.
    pub(super) fn more(&self, about: &About<'_>, metric: usize) -> More {
        let resource = about.spec(metric).name();
        let holder = match about.template_holder().group() {
            "" | "apps" => String::new(),
            _ => format!(" in {}", about.template_reference()),
        };
        if let Some(OtherRequest {
            container, request, ..
        }) = &self.request
        {
            let flags = format!(
                "--request {}",
                shell_word(&format!("{container}={resource}={request}"))
            );
            // The name of the container is in the command.
            let hint = about.try_it("--request");
            return More {
                act: if self.is_tight {
                    format!("raise {resource} request and limit{holder}{hint}")
                } else {
                    format!("raise the {resource} request{holder} to {request}{hint}")
                },
                name: Some(format!("a request of {request}")),
                commands: vec![about.predict(&flags)],
            };
        }
        if let Some(other) = &self.target {
            let to = exact(&other.target);
            let flags = about.target_flags(metric, &to);
            let hint = flags
                .as_deref()
                .map(|flags| about.try_it(flags))
                .unwrap_or_default();
            return More {
                act: format!("raise the target{hint}"),
                name: Some(format!("a target of {to}")),
                commands: flags.iter().map(|flags| about.predict(flags)).collect(),
            };
        }
        let act = match (about.target_of(metric).average_utilization, self.is_tight) {
            (Some(_), true) => format!("raise {resource} request and limit{holder}"),
            (Some(_), false) => format!("raise the {resource} request{holder}"),
            (None, true) => format!("raise the {resource} limit and the target"),
            (None, false) => "raise the target".to_owned(),
        };
        More {
            act,
            name: None,
            commands: Vec::new(),
        }
    }
}

impl About<'_> {
    /// Returns a sentence about the pods' limits, or that they have none, if the metric is above all that they request.
    pub(super) fn of_requests(&self, metric: usize) -> Option<String> {
        let step = self.step(metric)?;
        let share = step
            .proposal()?
            .current
            .average_utilization
            .filter(|share| *share > 100)?;
        let row = step.pods.iter().find(|row| row.counted.is_some())?;
        let request = milli(row.request?, &step.name);
        let pod = &self.pass.input.snapshot.pods[row.pod as usize];
        let counts = |it: &&Container| step.container.as_deref().is_none_or(|own| *own == *it.name);
        let limits = pod
            .running(false)
            .filter(counts)
            .map(|it| it.limits.get(&step.name));
        let limit = limits
            .map(|it| it.map(Amount::milli_value))
            .sum::<Option<i64>>();
        let of = format!("{share}% is a share of the request, {request} per pod");
        match limit.map(|limit| milli(limit, &step.name)) {
            Some(limit) => (limit != request).then(|| format!("{of}, not of the limit, {limit}.")),
            None => Some(format!("{of}; no limit is set.")),
        }
    }
}

impl Words for RequestTooSmall {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            resource,
            container,
            request,
            usage,
            share,
            then,
            since,
            enough,
        } = self;
        let label = about.label(*metric);
        let flags = format!(
            "--request {}",
            shell_word(&format!("{container}={resource}={enough}"))
        );
        let mut evidence = vec![
            format!(
                "{container} requests {} and uses {} in each pod.",
                milli(*request, resource),
                milli(*usage, resource)
            ),
            format!(
                "The last rescale was {} ago.",
                distance(*since, about.now())
            ),
        ];
        evidence.extend(
            about
                .without()
                .map(|without| format!("With a request of {enough}: {without}.")),
        );
        Text {
            summary: if share == then {
                    format!("{label} is at {} of the requests, as in the last status", percent(*share))
                } else { format!(
                    "{label} is at {} of the requests, after {} in the last status",
                    percent(*share),
                    percent(*then)
                ) },
            evidence,
            advice: Remedy::RaiseRequest.says(format!(
                "Raise the {resource} request of {container} from {} to about {enough}{}, unless more pods \
                 lower its usage.",
                milli(*request, resource),
                about.try_it(&flags)
            )),
            commands: vec![about.predict(&flags)],
            objects: vec![about.template_target()],
        }
    }
}

impl Words for UnreachableTarget {
    fn text(&self, about: &About<'_>) -> Text {
        match &self.by {
            AtLimits::All {
                full,
                tolerance,
                border,
                reachable,
                is_full,
            } => {
                let summary = value(Some(about.spec(self.metric)), full);
                out_of_reach(
                    about,
                    self.metric,
                    &summary,
                    *tolerance,
                    *border,
                    *reachable,
                    *is_full,
                )
            }
            AtLimits::Few {
                busy,
                container,
                usage,
                limit,
                others,
                mean,
            } => {
                let of = |milli: i64| amount(milli, Format::DecimalSI);
                let is = if busy.len() == 1 {
                    "is at its"
                } else {
                    "are at their"
                };
                let others = match others {
                    1 => "the other pod".to_owned(),
                    others => format!("the other {others} pods"),
                };
                let top = about.selector().map(|selector| {
                    format!(
                        "kubectl top pods {} -l {selector} --containers",
                        about.namespace()
                    )
                });
                Text {
                    summary: format!(
                        "{} {is} cpu limit of {}, but with {others} at {}, {} is not above its target",
                        first_of(busy),
                        of(*limit),
                        of(*mean),
                        about.label(self.metric)
                    ),
                    evidence: vec![
                        format!(
                            "In {}, {container} uses {} of its limit.",
                            busy.first().map_or("", |it| it),
                            of(*usage)
                        ),
                        "The controller looks at the average only, so it adds no replicas.".to_owned(),
                    ],
                    advice: Remedy::SpreadLoad.says(
                        "Spread the work: look for sticky sessions, long connections, one consumer.",
                    ),
                    commands: top.map(Command::from).into_iter().collect(),
                    objects: busy.iter().map(|pod| format!("pod/{pod}")).collect(),
                }
            }
        }
    }
}

/// Words a target that no load takes the metric above.
fn out_of_reach(
    about: &About<'_>,
    metric: usize,
    full: &str,
    tolerance: f64,
    border: i64,
    reachable: Option<i32>,
    is_full: bool,
) -> Text {
    let label = about.label(metric);
    let resource = about.spec(metric).name();
    let target = about.target_of(metric);
    let (wanted, border) = match (&target.average_value, target.average_utilization) {
        (None, Some(percent)) => (format!("{percent}%"), format!("{border}%")),
        (Some(average), _) => (quantity(average), milli(border, resource)),
        (None, None) => return Text::default(),
    };
    let mut evidence = vec![format!(
        "The tolerance above the target of {wanted} is {}.",
        percent(tolerance)
    )];
    if let (Some(reachable), Some(without)) = (reachable, about.without()) {
        evidence.push(format!("With a target of {reachable}%: {without}."));
    }
    // Below the limits, the usage of now says nothing about another target.
    let flags = reachable
        .filter(|_| is_full)
        .and_then(|percent| about.target_flags(metric, &format!("{percent}%")));
    let hint = flags
        .as_ref()
        .map(|_| about.try_it("--target"))
        .unwrap_or_default();
    Text {
        summary: format!(
            "the limits let {label} reach {full}, but replicas are added only above {border}"
        ),
        evidence,
        advice: Remedy::LowerTarget.says(match reachable {
            Some(reachable) => {
                format!("Lower the target to {reachable}% or less{hint}, or raise the limits.")
            }
            None => "Lower the target, or raise the limits.".to_owned(),
        }),
        commands: flags.iter().map(|flags| about.predict(flags)).collect(),
        objects: about.own(),
    }
}
