//! Words findings about pods.

use super::command::Command;
use super::remedy::Remedy;
use super::{About, Text, Words, first_of, names, them};
use crate::apimachinery::names::shell_word;
use crate::engine::decision::{Clause, Fill, MetricResult, Proposal};
use crate::findings::Severity;
use crate::findings::pods::{
    FinishedPods, NeverReady, ReplicasWithoutPods, Starting, StartingPods, StuckPod,
    TerminatingPods, Uncounted, UncountedPods, UnschedulablePods, failing,
};
use crate::report::format_of;
use crate::report::words::{
    amount, count, distance, duration, future, list, number, sentence, time,
};
use crate::saved::assemble::resource_of;
use crate::snapshot::pod::{Pod, ZERO_TIME};

/// What to do about pods without a node.
const ADD_NODES: &str = "Add nodes, or lower maxReplicas.";

/// The maximum number of pods named in a command; more are selected.
const NAMED: usize = 5;

impl Words for FinishedPods {
    fn text(&self, about: &About<'_>) -> Text {
        let all: Vec<&str> = self
            .succeeded
            .iter()
            .chain(&self.failed)
            .map(|name| &**name)
            .collect();
        let pods = count(all.len(), "finished pod");
        let verb = if all.len() == 1 { "matches" } else { "match" };
        let effect = match (self.fails, &*self.missing_in) {
            (Some(metric), _) => {
                format!(
                    ", and {} fails because of {}",
                    about.label(metric),
                    them(all.len())
                )
            }
            (None, []) => String::new(),
            (None, metrics) => {
                let labels: Vec<String> = metrics.iter().map(|it| about.label(*it)).collect();
                let counts = if self.succeeded.len() == 1 {
                    "counts"
                } else {
                    "count"
                };
                format!(", and {counts} as missing for {}", list(&labels))
            }
        };
        let of = |names: &[Box<str>], what: &str| {
            (!names.is_empty()).then(|| format!("{what}: {}.", self::names(names)))
        };
        let mut evidence: Vec<String> = Vec::new();
        evidence.extend(of(&self.succeeded, "Succeeded"));
        evidence.extend(of(&self.failed, "Failed"));
        evidence.extend(self.fails.and_then(|metric| failure(about, metric)));
        evidence.extend(
            self.missing_in
                .iter()
                .filter_map(|metric| filled(about, *metric)),
        );
        if !self.missing_in.is_empty() {
            evidence.push("Kubernetes 1.38 leaves out succeeded pods.".to_owned());
        }
        evidence.extend(about.otherwise(&format!("Without {}", them(all.len()))));
        let (advice, commands) = match &self.owner {
            Some(owner) => (
                Remedy::DeleteByOwner.says(format!(
                    "Give the pods of {owner} labels that the selector does not match."
                )),
                about.list_pods("--show-labels").into_iter().collect(),
            ),
            None => (
                Remedy::DeleteFinished.says(format!(
                    "Delete {}, or relabel {} so that {} not match.",
                    first_of(&all),
                    them(all.len()),
                    if all.len() == 1 { "it does" } else { "they do" }
                )),
                vec![format!("kubectl delete pod {}", about.pods(&all)).into()],
            ),
        };
        Text {
            summary: format!(
                "{pods} {verb} the target's selector{effect}{}",
                about.cost()
            ),
            evidence,
            advice,
            commands,
            objects: objects(&all),
        }
    }
}

impl Words for UncountedPods {
    fn text(&self, about: &About<'_>) -> Text {
        let mut causes: Vec<(String, Vec<&str>)> = Vec::new();
        for uncounted in &self.pods {
            let name = &*about.pod(uncounted).name;
            let cause = sentence(&because(about, uncounted));
            match causes.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, names)) => names.push(name),
                None => causes.push((cause, vec![name])),
            }
        }
        let mut metrics: Vec<usize> = self.pods.iter().map(|it| it.metric).collect();
        metrics.dedup();
        let filled = metrics.iter().filter_map(|metric| filled(about, *metric));
        let mut evidence: Vec<String> = Vec::new();
        evidence.extend(
            causes
                .iter()
                .map(|(cause, pods)| format!("{cause}: {}.", names(pods))),
        );
        evidence.extend(filled.clone());
        if self.count {
            let period = duration(
                about
                    .pass
                    .input
                    .snapshot
                    .controller
                    .cpu_initialization_period,
            );
            evidence.push(format!(
                "Pods that were ready once count for CPU, ready or not, when they are older than \
                 {period}."
            ));
        }
        let all: Vec<&str> = self.pods.iter().map(|it| &*about.pod(it).name).collect();
        let is_assumed = about.assumes_usage(&all);
        let other = match (self.count, self.idle) {
            (true, _) => "If they did not count".to_owned(),
            (false, true) => format!("Without {}", them(self.pods.len())),
            (false, false) if is_assumed => ASSUMED.to_owned(),
            (false, false) => "If they counted".to_owned(),
        };
        evidence.extend(about.otherwise(&other));
        let (n, of) = (self.pods.len(), count(self.of, "pod"));
        let verb = if n == 1 { "does" } else { "do" };
        let is_ordinary = about.finding.severity == Severity::Info;
        // An error comes before what time brings.
        let fails = |it: &&Uncounted| failing(about.pod(it)).is_some();
        let first = self.pods.iter().find(fails).or(self.pods.first());
        let failed = first.and_then(|it| {
            let pod = about.pod(it);
            let (container, reason) = failing(pod)?;
            Some(Remedy::FindUnready.says(format!(
                "Find out why {container} does not run in {}: {reason}.",
                pod.name
            )))
        });
        let by_clause = || match first.map(|it| (it.row.clause, about.pod(it))) {
            Some((Clause::InitializingNotReady | Clause::InitializingOldSample, _)) => {
                Remedy::WaitForPods.waits("until the pods are ready and measured")
            }
            Some((Clause::Pending, pod)) if pod.unschedulable.is_some() => {
                Remedy::AddNodes.says(ADD_NODES)
            }
            Some((Clause::Pending, _)) if is_ordinary => {
                Remedy::WaitForPods.waits("until the pods run")
            }
            Some((Clause::Pending, _)) => {
                Remedy::FindUnready.says("Find out what keeps the pods from running.")
            }
            Some((Clause::NoMetric, _)) if is_ordinary => {
                Remedy::WaitForPods.waits("until the pods have metrics")
            }
            Some((Clause::NoMetric, pod)) if waiting(pod).is_some() => {
                Remedy::FindUnready.says("Find out why the container does not run.")
            }
            Some((Clause::NoMetric, _)) if self.unscraped => {
                Remedy::FindSamples.says(format!("Look at {}.", kubelets(&self.nodes)))
            }
            Some((Clause::NoMetric, _)) => Remedy::FindSamples
                .says("Find out why the metrics API has no values for some pods."),
            Some((Clause::NeverReady, _)) => {
                Remedy::FindUnready.says("Find out why the pods do not become ready.")
            }
            Some((Clause::Deleted | Clause::Failed | Clause::Succeeded, _)) => {
                Remedy::FindUnready.says("Find out why the target has no other pods.")
            }
            _ => Remedy::FindUnready.says(
                "Find out why the pods are not ready; a readiness probe may fail under load.",
            ),
        };
        // The advice names the pod that fails.
        let named = match &failed {
            Some(_) => String::new(),
            None => format!(" ({})", first_of(&all)),
        };
        let advice = failed.unwrap_or_else(by_clause);
        if let Some(code) = about.finding.follows {
            let them = if n == 1 { "the one" } else { "those" };
            return Text {
                summary: format!(
                    "{n} of {of} {verb} not count: {them} that {} is about",
                    code.as_str()
                ),
                evidence: [format!("Not counted: {}.", names(&all))]
                    .into_iter()
                    .chain(filled)
                    .collect(),
                advice,
                commands: Vec::new(),
                objects: objects(&all),
            };
        }
        let cost = if self.count || self.idle {
            about.cost()
        } else {
            about.cost_of(&all)
        };
        let on_node = match &self.nodes[..] {
            [] => String::new(),
            [node] if n == 1 => format!(" on the node {node}"),
            [node] => format!(", all on the node {node}"),
            all => format!(", all on the nodes {}", names(all)),
        };
        if self.unscraped {
            evidence.push(
                "The pods that have metrics are on other nodes: metrics-server has nothing of these."
                    .to_owned(),
            );
        }
        let summary = match (self.count, n) {
            (false, 1) if self.of == 1 => {
                format!("the only pod does not count{named}{on_node}{cost}")
            }
            (false, n) if n == self.of => {
                format!("none of the {of} counts{named}{on_node}{cost}")
            }
            (false, _) => format!("{n} of {of} {verb} not count{named}{on_node}{cost}"),
            (true, 1) => format!("1 of {of} counts although it is not ready{cost}"),
            (true, _) => {
                format!("{n} of {of} count although they are not ready{on_node}{cost}")
            }
        };
        Text {
            summary,
            evidence,
            advice,
            commands: if self.unscraped {
                about.list_pods("-o wide")
            } else {
                first.map(|it| about.describe(&about.pod(it).name))
            }
            .into_iter()
            .collect(),
            objects: objects(&all),
        }
    }
}

/// Begins a sentence about pods without a value, of which the usage is assumed.
const ASSUMED: &str = "If they counted, and used as much as the others on average";

/// Names the kubelets of nodes.
fn kubelets(nodes: &[Box<str>]) -> String {
    let (kubelet, node) = if nodes.len() == 1 {
        ("kubelet", "node")
    } else {
        ("kubelets", "nodes")
    };
    format!(
        "the {kubelet} of the {node} {}: metrics-server has nothing from there",
        names(nodes)
    )
}

/// Words what a container waits for, and how often it has restarted.
fn waiting(pod: &Pod) -> Option<String> {
    pod.statuses.iter().find_map(|status| {
        let reason = &status.waiting.as_ref()?.reason;
        let restarts = count(status.restart_count, "restart");
        Some(format!("{} waits: {reason}, {restarts}", status.name))
    })
}

/// Words why a pod does not count, as a clause without a subject.
fn because(about: &About<'_>, uncounted: &Uncounted) -> String {
    let pod = about.pod(uncounted);
    let row = &uncounted.row;
    let until = row.until.map_or_else(String::new, |at| {
        format!("; until ready, {} at the latest", future(about.now(), at))
    });
    let waits = waiting(pod).map_or_else(String::new, |waits| format!(" ({waits})"));
    let period = duration(
        about
            .pass
            .input
            .snapshot
            .controller
            .cpu_initialization_period,
    );
    match row.clause {
        Clause::Pending if pod.unschedulable.is_some() => "pending, without a node".to_owned(),
        Clause::Pending => format!("pending{waits}"),
        Clause::NoMetric => format!("without metrics{waits}"),
        Clause::NoReadiness => "without a Ready condition or start time".to_owned(),
        Clause::InitializingNotReady => {
            format!("not ready, and started less than {period} ago{until}")
        }
        Clause::InitializingOldSample => match row.sample_from {
            Some(from) => format!(
                "ready, and without a sample of {} yet",
                time(about.now(), from)
            ),
            None => "ready, and without a sample since then".to_owned(),
        },
        Clause::NeverReady => format!("not ready since the start{waits}"),
        Clause::Deleted => "terminating".to_owned(),
        Clause::Failed => "failed".to_owned(),
        Clause::Succeeded => "succeeded".to_owned(),
        _ => match pod.ready {
            Some(ready) if ready.last_transition_time > ZERO_TIME => {
                let since = future(about.now(), ready.last_transition_time);
                format!("not ready since {since}{waits}")
            }
            _ => format!("not ready{waits}"),
        },
    }
}

/// Words how the assumed values of a metric's pods affect its ratio.
fn filled(about: &About<'_>, metric: usize) -> Option<String> {
    let label = about.label(metric);
    let Proposal {
        ratio,
        filled,
        counted,
        ..
    } = about.proposal(metric)?;
    let counted = counted.as_ref()?;
    let Some(filled) = filled else {
        return about.step(metric)?.is_total().then(|| {
            format!(
                "{label} multiplies its ratio of {} by {}.",
                number(*ratio),
                count(counted.ready, "ready pod")
            )
        });
    };
    let mut assumed = Vec::new();
    let missing = count(counted.missing, "pod");
    match (filled.missing, filled.missing_percent) {
        (Fill::Zero, _) => assumed.push(format!("{missing} without metrics at 0")),
        (Fill::Target, Some(percent)) => {
            assumed.push(format!(
                "{missing} without metrics at {percent}% of the request"
            ));
        }
        (Fill::Target, None) => assumed.push(format!("{missing} without metrics at the target")),
        (Fill::None, _) => {}
    }
    if filled.unready_as_zero {
        assumed.push(format!("{} at 0", count(counted.unready, "unready pod")));
    }
    let with = list(&assumed);
    let (before, after) = (number(*ratio), number(filled.ratio));
    (!assumed.is_empty())
        .then(|| format!("{label} assumes {with}, which takes its ratio from {before} to {after}."))
}

/// Returns the error of a metric.
fn failure(about: &About<'_>, metric: usize) -> Option<String> {
    match &about.step(metric)?.result {
        MetricResult::Error(error) => Some(format!("{}: {}.", about.label(metric), error.message)),
        MetricResult::Proposal(_) | MetricResult::Unread(_) => None,
    }
}

impl Words for NeverReady {
    fn text(&self, about: &About<'_>) -> Text {
        let all: Vec<&str> = self.pods.iter().map(|pod| &*pod.name).collect();
        let pods = first_of(&all);
        let verb = if all.len() == 1 { "has" } else { "have" };
        let oldest = self.pods.iter().filter_map(|pod| pod.since).min();
        let since = oldest.map_or_else(String::new, |since| {
            format!(" in {}", distance(since, about.now()))
        });
        let state = |pod: &StuckPod| {
            let container = pod.container.as_deref()?;
            let restarts = count(pod.restarts, "restart");
            Some(match &pod.waiting {
                Some(reason) => format!("container {container} waits: {reason}, {restarts}"),
                None => format!("container {container} runs after {restarts}"),
            })
        };
        let state = |pod: &StuckPod| state(pod).unwrap_or_else(|| "never ready".to_owned());
        let mut evidence: Vec<String> = Vec::new();
        let shown = self.pods.iter().take(3);
        evidence.extend(shown.map(|pod| {
            let since = pod.since.map_or_else(String::new, |since| {
                format!(", since {}", future(about.now(), since))
            });
            format!("{}: {}{since}.", pod.name, state(pod))
        }));
        evidence.extend(self.revision.as_ref().map(|revision| {
            format!("All of them are of revision {revision}; the target has pods of others.")
        }));
        evidence.extend(about.otherwise(&about.with(&all, "ready")));
        let waiting = self.pods.iter().find_map(|pod| pod.waiting.as_deref());
        let reason = waiting.map_or_else(String::new, |reason| format!(" ({reason})"));
        let first = self
            .pods
            .iter()
            .find(|pod| pod.restarts > 0)
            .or(self.pods.first());
        let mut commands = Vec::new();
        if let Some(pod) = first {
            commands.push(about.describe(&pod.name));
            if let Some(container) = pod.container.as_deref().filter(|_| pod.restarts > 0) {
                let (pod, container) = (shell_word(&pod.name), shell_word(container));
                let namespace = about.namespace();
                commands.push(
                    format!("kubectl logs {pod} {namespace} -c {container} --previous").into(),
                );
            }
        }
        let advice = match self.revision {
            Some(_) => Remedy::RollBack
                .says("Fix the revision that does not become ready, or roll it back."),
            None => Remedy::FindUnready.says(match all.len() {
                1 => "Find out why it does not become ready.",
                _ => "Find out why they do not become ready.",
            }),
        };
        Text {
            summary: format!(
                "{pods} {verb} not become ready{since}{reason}{}",
                about.cost_of(&all)
            ),
            evidence,
            advice,
            commands,
            objects: objects(&all),
        }
    }
}

impl Words for TerminatingPods {
    fn text(&self, about: &About<'_>) -> Text {
        let pods = count(self.pods.len(), "terminating pod");
        let (verb, counts) = match self.pods.len() {
            1 => ("is", "counts"),
            _ => ("are", "count"),
        };
        let label = about.label(self.metric);
        let mut evidence = Vec::new();
        evidence.extend(filled(about, self.metric));
        evidence.push(format!(
            "{pods} {verb} among them, due to be gone by {}: {}.",
            future(about.now(), self.last),
            names(&self.pods)
        ));
        evidence.extend(about.otherwise(&format!("Without {}", them(self.pods.len()))));
        Text {
            summary: format!("{pods} still {counts} as ready for {label}{}", about.cost()),
            evidence,
            advice: Remedy::EndSooner
                .says("Use an AverageValue target, which does not depend on pods."),
            commands: about.list_pods("").into_iter().collect(),
            objects: objects(&self.pods),
        }
    }
}

impl Words for StartingPods {
    fn text(&self, about: &About<'_>) -> Text {
        let n = self.pods.len();
        let (label, pods, effect) = (
            about.label(self.metric),
            count(n, "starting pod"),
            about.cost(),
        );
        let since = future(about.now(), self.since);
        let mut evidence = vec![match n {
            1 => format!("Started {since}: {}.", names(&self.pods)),
            _ => format!("The first started {since}: {}.", names(&self.pods)),
        }];
        let rules = about
            .hpa()
            .spec
            .behavior
            .as_ref()
            .and_then(|it| it.scale_up.as_ref());
        let present = rules
            .and_then(|it| it.stabilization_window_seconds)
            .unwrap_or(0);
        evidence.extend(about.short_window());
        // At the maximum, nothing is left to hold back.
        let may_grow = about.pass.decision.replicas_before() < Some(about.hpa().spec.max_replicas);
        let longer_window = self
            .longer_window(present, about.now())
            .filter(|_| may_grow);
        let longer_window = longer_window.and_then(|seconds| {
            about.patch_spec(&serde_json::json!({
                "behavior": {"scaleUp": {"stabilizationWindowSeconds": seconds}}
            }))
        });
        let (summary, advice, commands) = match self.how {
            Starting::NotReady { assumed } => {
                let counts = if n == 1 { "counts" } else { "count" };
                let first = first_of(&self.pods);
                let summary = format!("{pods} ({first}) {counts} for {label} although never ready");
                match (assumed, longer_window) {
                    (0, Some(longer_window)) => (
                        summary,
                        Remedy::LengthenUpWindow
                            .says("Lengthen the scale-up window to cover the start of the pods."),
                        vec![longer_window],
                    ),
                    (0, None) => (
                        summary,
                        Remedy::FindUnready
                            .says("Find out why the pods take so long to become ready."),
                        self.pods
                            .first()
                            .map(|name| about.describe(name))
                            .into_iter()
                            .collect(),
                    ),
                    _ => {
                        evidence.extend(filled(about, self.metric));
                        (
                            summary,
                            Remedy::WaitForPods
                                .waits("until the pods are ready")
                                .or("have them start faster"),
                            about.list_pods("").into_iter().collect(),
                        )
                    }
                }
            }
            Starting::Hot { usage, others } => {
                let format = about.step(self.metric).map(format_of).unwrap_or_default();
                let (usage, others) = (amount(usage, format), amount(others, format));
                let uses = if n == 1 { "uses" } else { "use" };
                (
                    format!("{pods} {uses} {usage} of {label} on average, and the others {others}"),
                    match longer_window {
                        Some(_) => Remedy::LengthenUpWindow.says(
                            "Add a startup probe for the warm-up, or lengthen the scale-up window.",
                        ),
                        None => {
                            Remedy::AddStartupProbe.says("Add a startup probe for the warm-up.")
                        }
                    },
                    longer_window.into_iter().collect(),
                )
            }
        };
        evidence.extend(about.otherwise(&format!("Without {}", them(n))));
        Text {
            summary: format!("{summary}{effect}"),
            evidence,
            advice,
            commands,
            objects: objects(&self.pods),
        }
    }
}

impl Words for ReplicasWithoutPods {
    fn text(&self, about: &About<'_>) -> Text {
        let Self { replicas, pods, .. } = self;
        let target = about.hpa().reference();
        let mut evidence = Vec::new();
        if let Some(failure) = &self.failure {
            evidence.push(format!(
                "{target}: {}: {}.",
                failure.reason, failure.message
            ));
        }
        evidence.extend(self.since.map(|since| {
            format!(
                "No pod has been created since {}.",
                future(about.now(), since)
            )
        }));
        if let Some(metric) = self.metric
            && let Some(counted) = about.proposal(metric).and_then(|it| it.counted)
        {
            evidence.push(format!(
                "{} counts the {}, not {replicas} replicas.",
                about.label(metric),
                count(
                    counted.ready + counted.unready + counted.missing,
                    "existing pod"
                )
            ));
        }
        let all = count(*replicas, "pod");
        evidence.extend(about.otherwise(&format!("With {all} of the same usage")));
        if let Some(pod) = &self.waits_for {
            evidence.push(format!(
                "A StatefulSet creates its pods one after another, unless podManagementPolicy is \
                 Parallel, and {pod} is not ready."
            ));
        }
        let (advice, commands) = match (&self.owned, &self.waits_for) {
            (Some((owned, set)), _) => (
                Remedy::LookAtOwner.says(format!(
                    "Find out why {target} sets {owned} to {}: its operator does not pass on spec.replicas.",
                    count(*set, "replica")
                )),
                vec![about.kubectl_for(
                    &owned.name,
                    &format!("get {}", shell_word(&resource_of(owned.group(), &owned.kind))),
                    "",
                )],
            ),
            (None, Some(pod)) if self.failure.is_none() => (
                Remedy::FindUnready.says(format!("Find out why {pod} is not ready.")),
                vec![about.describe(pod)],
            ),
            _ => (
                if self.is_held_up { Remedy::FindQuota.says(
                        "Find out what keeps the pods from being created: a quota, or admission.",
                    ) } else { Remedy::WaitForPods.waits("until the pods are created") },
                vec![
                    format!("kubectl describe resourcequota {}", about.namespace()).into(),
                    format!(
                        "kubectl get events {} --field-selector=reason=FailedCreate",
                        about.namespace()
                    )
                    .into(),
                ],
            ),
        };
        Text {
            summary: format!(
                "{target} has {} for {}{}{}",
                count(*pods, "pod"),
                count(*replicas, "replica"),
                match (self.is_held_up, &self.failure) {
                    (true, Some(failure)) => format!(", and creates no more ({})", failure.reason),
                    (true, None) => ", and creates no more".to_owned(),
                    (false, _) => String::new(),
                },
                about.cost()
            ),
            evidence,
            advice,
            commands,
            objects: vec![about.target()],
        }
    }
}

impl Words for UnschedulablePods {
    fn text(&self, about: &About<'_>) -> Text {
        let n = self.pods.len();
        let pods = first_of(&self.pods);
        let verb = if n == 1 { "has found" } else { "have found" };
        let since = self.since.map_or_else(String::new, |since| {
            format!(" for {}", distance(since, about.now()))
        });
        let mut evidence = vec![format!("Pending{since}: {}.", names(&self.pods))];
        let message = self.message.trim_end_matches('.');
        if !message.is_empty() {
            evidence.push(format!("The scheduler says: {message}."));
        }
        evidence.extend(self.autoscaler.as_ref().map(|it| {
            let at = it
                .at
                .map_or_else(String::new, |at| format!(" at {}", time(about.now(), at)));
            let message = it.message.trim_end_matches('.');
            format!("The cluster autoscaler says{at}: {message}.")
        }));
        evidence.extend(about.otherwise(&about.with(&self.pods, "running")));
        let refuses = self.autoscaler.as_ref().filter(|it| !it.adds);
        let is_full = refuses.is_some_and(|it| it.message.contains("max node group size reached"));
        Text {
            summary: format!("{pods} {verb} no node{since}{}", about.cost_of(&self.pods)),
            evidence,
            advice: if self.are_needed && is_full {
                Remedy::AddNodes.says("Raise the maximum of the node group, or lower maxReplicas.")
            } else if self.are_needed && refuses.is_some() {
                Remedy::AddNodes.says(
                    "Add a node group that fits, or lower the requests, which raises their utilization: the cluster autoscaler adds no node.",
                )
            } else if self.are_needed && about.finding.severity == Severity::Info {
                Remedy::WaitForPods
                    .waits("for a node; if none comes, add nodes or lower maxReplicas")
            } else if self.are_needed {
                Remedy::AddNodes.says(ADD_NODES)
            } else {
                Remedy::Nothing
                    .says("Nothing to do: the metrics propose no more pods than those with a node.")
            },
            commands: self
                .pods
                .first()
                .map(|name| about.describe(name))
                .into_iter()
                .collect(),
            objects: objects(&self.pods),
        }
    }
}

fn objects<N: AsRef<str>>(pods: &[N]) -> Vec<String> {
    pods.iter()
        .map(|name| format!("pod/{}", name.as_ref()))
        .collect()
}

impl<'a> About<'a> {
    /// Begins a sentence about some pods in another state: `With them ready`.
    fn with<N: AsRef<str>>(&self, pods: &[N], state: &str) -> String {
        let busy = if self.assumes_usage(pods) {
            ", and as busy as the others on average"
        } else {
            ""
        };
        format!("With {} {state}{busy}", them(pods.len()))
    }

    fn pod(&self, uncounted: &Uncounted) -> &'a Pod {
        &self.pass.input.snapshot.pods[uncounted.row.pod as usize]
    }

    fn proposal(&self, metric: usize) -> Option<&'a Proposal> {
        match &self.step(metric)?.result {
            MetricResult::Proposal(proposal) => Some(proposal),
            MetricResult::Error(_) | MetricResult::Unread(_) => None,
        }
    }

    /// `kubectl describe pod NAME -n NAMESPACE`
    pub(super) fn describe(&self, pod: &str) -> Command {
        format!(
            "kubectl describe pod {} {}",
            shell_word(pod),
            self.namespace()
        )
        .into()
    }

    /// Returns these pods as kubectl accepts them, with their namespace: by name or, for many finished
    /// ones, by the selector of the target and their phase.
    fn pods(&self, names: &[&str]) -> String {
        let selector = self.selector().filter(|_| names.len() > NAMED);
        let names = names
            .iter()
            .map(|name| shell_word(name))
            .collect::<Vec<_>>()
            .join(" ");
        match selector {
            Some(selector) => format!(
                "{} -l {selector} --field-selector=status.phase!=Pending,status.phase!=Running,\
                 status.phase!=Unknown",
                self.namespace()
            ),
            None => format!("{names} {}", self.namespace()),
        }
    }

    /// Returns the selector of the target, quoted for a shell.
    pub(super) fn selector(&self) -> Option<String> {
        let scale = self.pass.input.snapshot.scale.as_ref().ok()?;
        Some(shell_word(scale.selector.as_str()))
    }

    /// Returns `kubectl get pods -n NAMESPACE -l SELECTOR`, with what follows.
    pub(super) fn list_pods(&self, rest: &str) -> Option<Command> {
        let selector = self.selector()?;
        Some(
            format!("kubectl get pods {} -l {selector} {rest}", self.namespace())
                .trim_end()
                .into(),
        )
    }
}
