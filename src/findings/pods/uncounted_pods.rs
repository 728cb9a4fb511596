//! The finding `uncounted-pods`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    Lack, add_nodes, among, failing, filled, has_restarted, is_starting, is_stuck, is_young,
    leave_no_value, or_lower, shows_no_readiness, waiting, weigh,
};
use crate::engine::decision::{Clause, Group, PodRow};
use crate::findings::metrics::metric_empty::find_usage;
use crate::findings::prelude::*;
use crate::snapshot::pod::{ConditionStatus, ContainerStatus, Phase, ZERO_TIME};
use crate::whatif::overrides::make_unready;

/// The usage of pods that are unready, pending or without metrics does not count, and the answer would be different if
/// it did. Or unready pods count for CPU because they have been ready before, and the answer would be different if they
/// did not.
///
/// Find out why the pods are not ready, or have no metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct UncountedPods {
    /// These pods, each with the first metric that leaves it out. Pods without another finding that are
    /// not just starting come first.
    pub pods: Vec<UncountedPod>,
    /// The number of the target's pods, except finished and terminating ones that have replacements.
    pub of: usize,
    /// Whether the pods count anyway, because they were ready before, and the result would differ if they did not.
    pub count: bool,
    /// Whether the pods use so little that the result would be the same if they counted; without them it would differ.
    pub idle: bool,
    /// The nodes that these pods are on while the other pods of the target are on others: a single node, or all nodes
    /// without metrics.
    pub nodes: Vec<Box<str>>,
    /// Whether all of them run without metrics, and the other pods of the target are on other nodes.
    pub unscraped: bool,
    /// Whether all of them are young, and none waits in an error.
    pub are_young: bool,
}

impl Kind for UncountedPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        left_out(case).or_else(|| counted_unready(case))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        let own = about.own_pods();
        about.first(|it| !self.count && is_of_stuck(it) && it.pods() == own)
    }

    fn summary(&self, about: &About<'_>) -> String {
        let (n, of) = (self.pods.len(), count(self.of, "pod"));
        let which = match n {
            1 if self.of == 1 => "the only pod does not count".to_owned(),
            n if n == self.of => format!("none of the {of} counts"),
            1 => format!("1 of {of} does not count"),
            _ => format!("{n} of {of} do not count"),
        };
        if let Some(code) = about.finding.follows.filter(|_| !self.count) {
            let them = one_or_many(n, "the one", "those");
            return format!("{which}: {them} that {} is about", code.as_str());
        }
        let (named, on_nodes, cost) = (self.named(about), self.on_nodes(), self.cost(about));
        match (self.count, n) {
            (false, _) => format!("{which}{named}{on_nodes}{cost}"),
            (true, 1) => format!("1 of {of} counts although it is not ready{cost}"),
            (true, _) => {
                format!("{n} of {of} count although they are not ready{on_nodes}{cost}")
            }
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let pods = self.pods();
        let mut metrics: Vec<usize> = self.pods.iter().map(|it| it.metric).collect();
        metrics.dedup();
        let filled = metrics.iter().filter_map(|metric| filled(about, *metric));
        if about.finding.follows.is_some() && !self.count {
            let uncounted = format!("Not counted: {}.", names(&pods));
            return std::iter::once(uncounted).chain(filled).collect();
        }
        let they = one_or_many(pods.len(), "it", "they");
        let mut evidence = self.causes(about);
        evidence.extend(filled);
        if self.count {
            evidence.push(format!(
                "Pods that were ready once count for CPU, ready or not, when they are older than {}.",
                about.initialization_period()
            ));
        }
        evidence.extend(about.otherwise(&match (self.count, self.idle) {
            (true, _) => format!("If {they} did not count"),
            (false, true) => format!("Without {}", them(pods.len())),
            (false, false) if about.assumes_usage(&pods) => assumed(they),
            (false, false) => format!("If {they} counted"),
        }));
        if self.unscraped {
            evidence.push(
                "The pods that have metrics are on other nodes: metrics-server has no metrics of these pods."
                    .to_owned(),
            );
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let Some(first) = self.first(about) else {
            return Advice::default();
        };
        if first.is_only_assumed {
            return Advice::default();
        }
        let pod = about.pod(first);
        let advice = match failing(pod) {
            Some((container, reason)) => Remedy::FindUnready.says(format!(
                "Find out why {container} does not run in {}: {reason}.",
                pod.name
            )),
            None => self.by_clause(about, first),
        };
        advice.with_all(if self.unscraped {
            about.list_pods("-o wide")
        } else {
            Some(about.describe(&pod.name))
        })
    }

    fn pods(&self) -> Vec<&str> {
        self.pods.iter().map(|it| &*it.pod).collect()
    }
}

/// A pod that a metric leaves out, or counts although it is not ready.
#[derive(Debug, Clone, PartialEq)]
pub struct UncountedPod {
    /// Its name.
    pub pod: Box<str>,
    /// The metric, by index in the spec.
    pub metric: usize,
    /// The reason, and until when.
    pub row: PodRow,
    /// Whether only an assumption keeps the pod from counting, so the user knows why.
    pub is_only_assumed: bool,
    /// The container without usage that leaves the pod without a value, if others have usage.
    pub unmeasured: Option<Box<str>>,
}

impl UncountedPod {
    fn of(case: &Case<'_>, metric: usize, row: PodRow) -> Self {
        let pod = case.pod_of(&row);
        let is_assumed = match row.clause {
            Clause::NoMetric => {
                pod.assumed_missing.contains(&metric) || case.observed_pod(pod).is_none()
            }
            clause => assumes_unready(case, pod, clause),
        };
        let spec = &case.snapshot.hpa.spec.metrics[metric];
        let unmeasured = case.unmeasured(spec, pod).map(Into::into);
        Self {
            unmeasured: unmeasured.filter(|_| row.clause == Clause::NoMetric),
            pod: pod.name.clone(),
            metric,
            row,
            is_only_assumed: is_assumed && failing(pod).is_none(),
        }
    }
}

impl UncountedPods {
    fn of(case: &Case<'_>, pods: Vec<UncountedPod>) -> Self {
        let alive = case.pods().filter(|pod| pod.is_active()).count();
        let (nodes, unscraped) = nodes_of(case, &pods);
        let mut own = pods.iter().map(|it| case.pod_of(&it.row));
        Self {
            are_young: own.all(|pod| is_young(case, pod) && failing(pod).is_none()),
            of: alive.max(pods.len()),
            pods,
            count: false,
            idle: false,
            nodes,
            unscraped,
        }
    }

    /// Returns the pod to look at first. An error comes before a cause that passes with time.
    fn first(&self, about: &About<'_>) -> Option<&UncountedPod> {
        let mut pods = self.pods.iter();
        let failing = pods.find(|it| failing(about.pod(it)).is_some());
        failing.or(self.pods.first())
    }

    /// Names the first pod, to follow a sentence, unless the advice names it.
    fn named(&self, about: &About<'_>) -> String {
        if self.pods.iter().any(|it| failing(about.pod(it)).is_some()) {
            String::new()
        } else {
            format!(" ({})", first_of(&self.pods()))
        }
    }

    /// Names the nodes, to follow a sentence.
    fn on_nodes(&self) -> String {
        match &self.nodes[..] {
            [] => String::new(),
            [node] if self.pods.len() == 1 => format!(" on the node {node}"),
            [node] => format!(", all on the node {node}"),
            nodes => format!(", all on the nodes {}", names(nodes)),
        }
    }

    /// Describes how the pods affect the answer, to follow a sentence.
    fn cost(&self, about: &About<'_>) -> String {
        if self.count || self.idle {
            about.cost()
        } else {
            about.cost_of(&self.pods())
        }
    }

    /// Describes why the pods do not count, with the pods of each of the first causes: errors, then others.
    fn causes(&self, about: &About<'_>) -> Vec<String> {
        /// Each pod may have a different time.
        const SHOWN: usize = 5;
        let mut of: BTreeMap<String, ((bool, usize), Vec<&str>)> = BTreeMap::new();
        for (place, uncounted) in self.pods.iter().enumerate() {
            let cause = sentence(&because(about, uncounted));
            let pod = about.pod(uncounted);
            let order = (failing(pod).is_none(), place);
            let (first, pods) = of.entry(cause).or_insert((order, Vec::new()));
            *first = order.min(*first);
            pods.push(&pod.name);
        }
        let mut causes = Vec::from_iter(of);
        causes.sort_by_key(|(_, (order, _))| *order);
        let others = causes.split_off(SHOWN.min(causes.len()));
        let mut evidence: Vec<String> = causes
            .iter()
            .map(|(cause, (_, pods))| format!("{cause}: {}.", names(pods)))
            .collect();
        if !others.is_empty() {
            let pods: Vec<&str> = others.into_iter().flat_map(|(_, (_, pods))| pods).collect();
            evidence.push(format!(
                "For other reasons or at other times: {}.",
                names(&pods)
            ));
        }
        evidence
    }

    /// Returns the advice on a pod that no error keeps from counting, by the clause that leaves it out.
    fn by_clause(&self, about: &About<'_>, first: &UncountedPod) -> Advice {
        let is_ordinary = self.are_young || about.finding.severity == Severity::Info;
        let pod = about.pod(first);
        match first.row.clause {
            Clause::InitializingNotReady | Clause::InitializingOldSample => {
                Remedy::WaitForPods.waits("until the pods are ready and measured")
            }
            Clause::Pending if self.are_young => Remedy::WaitForPods.waits("until the pods run"),
            Clause::Pending => match &pod.unschedulable {
                Some(message) => add_nodes(&or_lower(about), Lack::of(message)),
                None if is_ordinary => Remedy::WaitForPods.waits("until the pods run"),
                None => Remedy::FindUnready.says("Find out what keeps the pods from running."),
            },
            Clause::NoMetric if is_ordinary => {
                Remedy::WaitForPods.waits("until the pods have metrics")
            }
            Clause::NoMetric if waiting(pod).is_some() => {
                Remedy::FindUnready.says("Find out why the container does not run.")
            }
            Clause::NoMetric if self.unscraped => Remedy::FindSamples.says(format!(
                "Look at the {} {} if no other pod there has metrics either.",
                one_or_many(
                    self.nodes.len(),
                    "kubelet of the node",
                    "kubelets of the nodes"
                ),
                names(&self.nodes)
            )),
            Clause::NoMetric => match &first.unmeasured {
                Some(container) => find_usage(about.spec(first.metric).name(), container),
                None => Remedy::FindSamples
                    .says("Find out why the metrics API has no values for some pods."),
            },
            Clause::NeverReady => {
                Remedy::FindUnready.says("Find out why the pods do not become ready.")
            }
            Clause::Deleted | Clause::Failed | Clause::Succeeded => {
                Remedy::FindUnready.says("Find out why the target has no other pods.")
            }
            _ => Remedy::FindUnready.says(
                "Find out why the pods are not ready; a readiness probe may fail under load.",
            ),
        }
    }
}

/// Whether a finding reports pods as stuck, or as starting.
fn is_of_stuck(finding: &Finding) -> bool {
    matches!(
        finding.facts,
        Facts::NeverReady(_) | Facts::UnschedulablePods(_) | Facts::StartingPods(_)
    )
}

/// Returns the nodes of some pods, if all other pods of the target are on others, and whether none of the target's pods
/// on those nodes has metrics, although all of them run.
fn nodes_of(case: &Case<'_>, pods: &[UncountedPod]) -> (Vec<Box<str>>, bool) {
    let own: Option<BTreeSet<&str>> = pods
        .iter()
        .map(|it| case.pod_of(&it.row).node.as_deref())
        .collect();
    let Some(own) = own else {
        return (Vec::new(), false);
    };
    let names: BTreeSet<&str> = pods.iter().map(|it| &*it.pod).collect();
    let others: BTreeSet<&str> = case
        .pods()
        .filter(|pod| !names.contains(&*pod.name))
        .filter_map(|pod| pod.node.as_deref())
        .collect();
    let are_apart = !others.is_empty() && own.is_disjoint(&others);
    let unscraped = are_apart && pods.iter().all(|it| is_unscraped(case, it));
    let is_one = pods.len() > 1 && own.len() == 1 && others.iter().any(|it| !own.contains(it));
    let shown = if unscraped || is_one {
        own.into_iter().map(Into::into).collect()
    } else {
        Vec::new()
    };
    (shown, unscraped)
}

/// Whether a pod that should have usage by now has none.
fn is_unscraped(case: &Case<'_>, uncounted: &UncountedPod) -> bool {
    let pod = case.pod_of(&uncounted.row);
    let is_resource = case
        .decision
        .metric(uncounted.metric)
        .is_some_and(MetricStep::is_resource);
    let stops =
        |it: &ContainerStatus| it.waiting.is_some() || it.terminated || has_restarted(pod, it);
    let runs = !is_young(case, pod) && !pod.statuses.iter().any(stops);
    let has_none = uncounted.row.group == Group::Missing && uncounted.unmeasured.is_none();
    has_none && is_resource && runs
}

/// Returns the pods that do not count, except for metrics whose failure already has another explanation.
fn left_out(case: &Case<'_>) -> Option<Finding> {
    let answer = case.answer();
    let lacks_pods = case.found().any(leave_no_value);
    let failed: Vec<usize> = case
        .found()
        .filter(|it| !leave_no_value(it))
        .flat_map(|it| it.facts.kind().failed_metrics())
        .collect();
    let is_open = |step: &&MetricStep| !step.is_failed() || !failed.contains(&step.index);
    let mut seen = HashSet::new();
    let mut pods = Vec::new();
    for step in case.metrics().filter(is_open) {
        for &row in rows(case, step).iter() {
            if leaves_out(case, step, &row) && seen.insert(row.pod) {
                pods.push(UncountedPod::of(case, step.index, row));
            }
        }
    }
    if pods.is_empty() {
        return None;
    }
    let all = pods.iter().map(|it| case.pod_of(&it.row));
    let is_left_out = among(&Vec::from_iter(all.filter(|pod| pod.is_active())));
    let counted = case.if_ready(&is_left_out);
    let mut open = case.metrics().filter(is_open);
    let keeps_from_answer = open.any(|step| keeps_from_answer(case, step));
    let is_measured = |it: &UncountedPod| it.row.group == Group::Unready && it.row.value.is_some();
    let changes_nothing = counted == answer && !keeps_from_answer;
    // Without them, a metric that counts them would differ for another reason.
    let left_out = case.decision.winner().map(|step| {
        let rows = rows(case, step);
        rows.iter().filter(|it| leaves_out(case, step, it)).count()
    });
    let is_of_winner = left_out.is_none_or(|it| it == pods.len());
    let idle = changes_nothing && is_of_winner && pods.iter().all(is_measured);
    let other = if idle {
        case.without_pods(&is_left_out)
    } else {
        counted
    };
    if changes_nothing && other == answer && !lacks_pods {
        return None;
    }
    // Pods without another explanation come first.
    pods.sort_by_key(|it| is_explained(case, it));
    let is_ordinary = pods.first().is_some_and(|it| is_explained(case, it));
    let facts = UncountedPods {
        idle,
        ..UncountedPods::of(case, pods)
    };
    Some(match other.proposal {
        None if keeps_from_answer => Finding::explaining(Severity::Error, facts),
        None => return None,
        // As long as there is an answer, this is just an ordinary rule.
        Some(_) if is_ordinary && answer.proposal.is_some() => {
            Finding::explaining(Severity::Info, facts).without(other)
        }
        Some(_) if lacks_pods => weigh(case, facts, other, Severity::Warning),
        Some(_) => case.weigh(facts, other, Severity::Info),
    })
}

/// Returns the rows of a metric, or rows for pods that do not run if they are the reason why the metric has none.
fn rows<'p>(case: &Case<'_>, step: &'p MetricStep) -> Cow<'p, [PodRow]> {
    let is_its = |it: &Finding| it.facts.kind().failed_metrics() == [step.index];
    if !case.found().any(|it| leave_no_value(it) && is_its(it)) {
        return Cow::Borrowed(&step.pods);
    }
    let pods = (0..).zip(&case.snapshot.pods);
    let alive = case.pods().filter(|pod| pod.is_active());
    let is_own = among(&Vec::from_iter(alive));
    pods.filter(|(_, pod)| is_own(pod))
        .map(|(index, pod)| match pod.phase {
            Phase::Pending => PodRow::new(index, Group::Unready, Clause::Pending),
            _ => PodRow::new(index, Group::Missing, Clause::NoMetric),
        })
        .collect()
}

/// Whether a metric for which no pod counts keeps the pass from an answer.
fn keeps_from_answer(case: &Case<'_>, step: &MetricStep) -> bool {
    case.answer().proposal.is_none() && step.is_failed() && step.ready_rows().next().is_none()
}

/// Whether a metric leaves out a pod that might count.
fn leaves_out(case: &Case<'_>, step: &MetricStep, row: &PodRow) -> bool {
    match row.group {
        Group::Unready | Group::Missing => !case.pod_of(row).has_ended(),
        Group::Ignored => keeps_from_answer(case, step),
        Group::Ready => false,
    }
}

/// Whether it is only assumed that a pod does not run or is not ready, or since when. A pod that has never been ready
/// is actually not ready.
fn assumes_unready<'p>(case: &Case<'p>, pod: &'p Pod, clause: Clause) -> bool {
    let delay = case.snapshot.controller.initial_readiness_delay;
    case.observed_pod(pod).is_none_or(|was| match clause {
        Clause::Pending => was.phase != pod.phase,
        _ => was.ready.is_some() && was.ready != pod.ready && !shows_no_readiness(was, delay),
    })
}

/// Whether a pod has only just started, lacks only what is assumed, or has another finding.
fn is_explained(case: &Case<'_>, uncounted: &UncountedPod) -> bool {
    let pod = case.pod_of(&uncounted.row);
    is_young(case, pod)
        || uncounted.is_only_assumed
        || is_stuck(case, pod)
        || (uncounted.row.group == Group::Missing && is_starting(case, pod))
        || pod.unschedulable.is_some()
        || case.is_foreign(pod)
}

/// Returns the pods that are not ready but count anyway: for CPU, once they have been ready.
fn counted_unready(case: &Case<'_>) -> Option<Finding> {
    let of_cpu = case
        .metrics()
        .filter(|step| step.is_resource() && step.name == "cpu");
    let (metric, rows) = of_cpu
        .map(|step| {
            let unready = step.ready_rows().filter(|row| {
                let ready = case.pod_of(row).ready.map(|ready| ready.status);
                ready == Some(ConditionStatus::False)
            });
            (step.index, Vec::from_iter(unready))
        })
        .find(|(_, rows)| !rows.is_empty())?;
    let is_unready = among(&Vec::from_iter(rows.iter().map(|row| case.pod_of(row))));
    let unready = case.without(|snapshot| make_unready(snapshot, is_unready));
    if unready == case.answer() {
        return None;
    }
    let pods: Vec<UncountedPod> = rows
        .into_iter()
        .map(|&row| UncountedPod::of(case, metric, row))
        .collect();
    let facts = UncountedPods {
        count: true,
        ..UncountedPods::of(case, pods)
    };
    Some(Finding::explaining(Severity::Info, facts).without(unready))
}

/// Returns the beginning of a sentence about pods without a value, whose usage is assumed.
fn assumed(they: &str) -> String {
    format!("If {they} counted, and used as much as the others on average")
}

/// Describes why a pod does not count, as a clause without a subject.
fn because(about: &About<'_>, uncounted: &UncountedPod) -> String {
    let pod = about.pod(uncounted);
    let row = &uncounted.row;
    let until = row.until.map_or_else(String::new, |at| {
        format!("; until ready, {} at the latest", future(about.now(), at))
    });
    let waits = waiting(pod).map_or_else(String::new, |waits| format!(" ({waits})"));
    match row.clause {
        Clause::Pending if pod.unschedulable.is_some() => "pending, without a node".to_owned(),
        Clause::Pending => format!("pending{waits}"),
        Clause::NoMetric => match &uncounted.unmeasured {
            Some(container) => {
                let resource = about.spec(uncounted.metric).name();
                format!("without {resource} of the container {container}{waits}")
            }
            None => format!("without metrics{waits}"),
        },
        Clause::NoReadiness => "without a Ready condition or start time".to_owned(),
        Clause::InitializingNotReady => {
            let period = about.initialization_period();
            format!("not ready, and started less than {period} ago{until}")
        }
        Clause::InitializingOldSample => match row.sample_from {
            Some(from) => format!(
                "ready, but with no sample from {} or later yet",
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

impl<'a> About<'a> {
    pub(crate) fn pod(&self, uncounted: &UncountedPod) -> &'a Pod {
        &self.pass.input.snapshot.pods[uncounted.row.pod as usize]
    }

    /// Describes how long CPU of unready pods is not counted.
    fn initialization_period(&self) -> String {
        let controller = &self.pass.input.snapshot.controller;
        duration(controller.cpu_initialization_period)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;

    use crate::findings::pods::testing::{
        crashing, of_job, ready, rps, uncounted, unmeasured, unready_since, unscheduled, waiting,
        with_pods, without_values,
    };
    use crate::findings::testing::{
        cpu, external, of_pods, only, only_of, pass, said, state, table, values, view, with,
        with_pod, with_spec,
    };
    use crate::findings::{Alternative, find_except};

    /// Pods that do not run leave a metric without a value.
    #[test]
    fn pods_without_any_value() {
        let mut states = Vec::from(without_values(&cpu()));
        let homeless = unscheduled("2026-11-21T05:58:00Z", "");
        let creating = with_pod(&states[2].1, "web-0", &homeless);
        states.push(("are being created, one without a node", creating));
        insta::assert_snapshot!(table(Code::UncountedPods, states), @r"
        run: none
        run again: none
        are being created: error, explains
            none of the 3 pods counts (web-0 and 2 more)
            - Pending (app waits: ContainerCreating, 0 restarts): web-0, web-1 and web-2.
            > Wait until the pods run.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1 pod/web-2
        run in part: none
        were never ready: error, explains, follows never-ready
            none of the 3 pods counts: those that never-ready is about
            - Not counted: web-0, web-1 and web-2.
            > Follow the advice of never-ready.
            @ pod/web-0 pod/web-1 pod/web-2
        were ready once: error, explains
            none of the 3 pods counts
            - Without metrics (app waits: CrashLoopBackOff, 7 restarts): web-0, web-1 and web-2.
            > Find out why app does not run in web-0: CrashLoopBackOff.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1 pod/web-2
        have no node: error, explains, follows unschedulable-pods
            none of the 3 pods counts: those that unschedulable-pods is about
            - Not counted: web-0, web-1 and web-2.
            > Follow the advice of unschedulable-pods.
            @ pod/web-0 pod/web-1 pod/web-2
        are of both kinds: error, explains
            none of the 3 pods counts
            - Pending, without a node: web-0.
            - Without metrics (app waits: CrashLoopBackOff, 7 restarts): web-1 and web-2.
            > Find out why app does not run in web-0: CrashLoopBackOff.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1 pod/web-2
        are being created, one without a node: error, explains
            none of the 3 pods counts (web-0 and 2 more)
            - Pending, without a node: web-0.
            - Pending (app waits: ContainerCreating, 0 restarts): web-1 and web-2.
            > Wait until the pods run.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1 pod/web-2
        ");
        insta::assert_snapshot!(table(Code::NeverReady, without_values(&cpu())), @r"
        run: none
        run again: none
        are being created: none
        run in part: warning, aside, without it none -> 3
            web-1 and 1 more have not become ready in 60m (CrashLoopBackOff)
            - web-1: container app waits: CrashLoopBackOff, 7 restarts, since 05:00:00Z (60m ago).
            - web-2: container app waits: CrashLoopBackOff, 7 restarts, since 05:00:00Z (60m ago).
            > Find out why they do not become ready.
            $ kubectl describe pod web-1 -n default
            $ kubectl logs web-1 -n default -c app --previous
            @ pod/web-1 pod/web-2
        were never ready: error, explains
            web-0 and 2 more have not become ready in 60m (CrashLoopBackOff)
            - web-0: container app waits: CrashLoopBackOff, 7 restarts, since 05:00:00Z (60m ago).
            - web-1: container app waits: CrashLoopBackOff, 7 restarts, since 05:00:00Z (60m ago).
            - web-2: container app waits: CrashLoopBackOff, 7 restarts, since 05:00:00Z (60m ago).
            > Find out why they do not become ready.
            $ kubectl describe pod web-0 -n default
            $ kubectl logs web-0 -n default -c app --previous
            @ pod/web-0 pod/web-1 pod/web-2
        were ready once: none
        have no node: none
        are of both kinds: error, explains
            web-1 and 1 more have not become ready in 60m (CrashLoopBackOff)
            - web-1: container app waits: CrashLoopBackOff, 7 restarts, since 05:00:00Z (60m ago).
            - web-2: container app waits: CrashLoopBackOff, 7 restarts, since 05:00:00Z (60m ago).
            > Find out why they do not become ready.
            $ kubectl describe pod web-1 -n default
            $ kubectl logs web-1 -n default -c app --previous
            @ pod/web-1 pod/web-2
        ");
        insta::assert_snapshot!(table(Code::UnschedulablePods, without_values(&cpu())), @r"
        run: none
        run again: none
        are being created: none
        run in part: none
        were never ready: none
        were ready once: none
        have no node: error, explains
            web-0 and 2 more have found no node for 60m
            - Pending for 60m: web-0, web-1 and web-2.
            - The scheduler says: 0/3 nodes are available.
            > Add nodes, or lower maxReplicas.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0 pod/web-1 pod/web-2
        are of both kinds: error, explains
            web-0 has found no node for 60m
            - Pending for 60m: web-0.
            - The scheduler says: 0/3 nodes are available.
            > Add nodes, or lower maxReplicas.
            $ kubectl describe pod web-0 -n default
            @ pod/web-0
        ");
    }

    #[test]
    fn pods_of_others() {
        let four = state(&[cpu()], &["80m", "80m", "80m", "80m"]);
        let flaps = ready("False", "2026-11-21T05:30:00Z");
        let states = [
            ("are not measured", unmeasured(four.clone(), "web-3")),
            ("are not ready", with_pod(&four, "web-3", &flaps)),
        ];
        let states = states.map(|(about, items)| (about, of_job(&items, "web-3")));
        insta::assert_snapshot!(table(Code::UncountedPods, states), @r"
        are not measured: info, explains, follows foreign-pods, without it 7 -> 7
            1 of 4 pods does not count: the one that foreign-pods is about
            - Not counted: web-3.
            - cpu assumes 1 pod without metrics at 0, which takes its ratio from 1.6 to 1.2.
            > Follow the advice of foreign-pods.
            @ pod/web-3
        are not ready: info, explains, follows foreign-pods, without it 5 -> 5
            1 of 4 pods counts although it is not ready: 7 replicas instead of 5
            - Not ready since 05:30:00Z (30m ago): web-3.
            - Pods that were ready once count for CPU, ready or not, when they are older than 5m.
            - If it did not count: 5 replicas.
            > Follow the advice of foreign-pods.
            @ pod/web-3
        ");
    }

    /// Many pods, each with a different time.
    #[test]
    fn causes_of_many_pods() {
        let mut items = state(&[cpu()], &["80m"; 9]);
        for number in 2..9 {
            let unready = ready("False", &format!("2026-11-21T05:3{number}:00Z"));
            items = with_pod(&items, &format!("web-{number}"), &unready);
        }
        let causes = |items: &[Value]| said(Code::UncountedPods, items).evidence[..6].to_vec();
        let of = |number: usize| {
            let ago = 30 - number;
            format!("Not ready since 05:3{number}:00Z ({ago}m ago): web-{number}.")
        };
        let mut want: Vec<String> = (2..7).map(of).collect();
        want.push("For other reasons or at other times: web-7 and web-8.".to_owned());
        assert_eq!(causes(&items), want);
        // What the advice is about is among them.
        let crashes = with_pod(&items, "web-8", &waiting("CrashLoopBackOff", 7));
        let crash =
            "Not ready since 05:38:00Z (22m ago) (app waits: CrashLoopBackOff, 7 restarts): web-8.";
        want.insert(0, crash.to_owned());
        want.truncate(5);
        want.push("For other reasons or at other times: web-6 and web-7.".to_owned());
        assert_eq!(causes(&crashes), want);
    }

    #[test]
    fn uncounted_pods() {
        let is = |severity, rows: &[(Group, Clause)], replicas| {
            let without = Alternative {
                proposal: Some(replicas),
                replicas: Some(replicas),
                possible: None,
            };
            Some((severity, rows.to_vec(), Some(without)))
        };
        let (info, warning, error) = (Severity::Info, Severity::Warning, Severity::Error);
        let four = state(&[cpu()], &["80m", "80m", "80m", "80m"]);
        assert_eq!(uncounted(&four), None);
        // 1.6 over 4 pods is 7; with one at 0 it is 1.2 over 4, which is 5.
        let one = unmeasured(four.clone(), "web-3");
        let missing = (Group::Missing, Clause::NoMetric);
        assert_eq!(uncounted(&one), is(warning, &[missing], 7));
        let start = unready_since("2026-11-21T05:59:00Z");
        let young = with_pod(&four, "web-3", &start);
        let starts = (Group::Unready, Clause::InitializingNotReady);
        assert_eq!(uncounted(&young), is(info, &[starts], 7));
        // The node is named if it has several of them and other pods run elsewhere.
        let on = |name: &str| json!({"spec": {"nodeName": name}});
        let node = |items: &[Value]| {
            let (facts, _) = only_of::<UncountedPods>(items)?;
            let nodes = facts.nodes.iter().map(ToString::to_string);
            Some((Vec::from_iter(nodes), facts.unscraped))
        };
        let none = Some((Vec::new(), false));
        let unscraped = Some((vec!["a".to_owned()], true));
        let two = unmeasured(one.clone(), "web-2");
        let bad = with_pods(&two, &["web-2", "web-3"], &on("a"));
        assert_eq!(node(&bad), none);
        let apart = with_pod(&bad, "web-0", &on("b"));
        assert_eq!(node(&apart), unscraped);
        assert_eq!(node(&with_pod(&bad, "web-3", &on("b"))), none);
        // Pods on two nodes are without metrics, and those with metrics are on a third.
        let both = Some((vec!["a".to_owned(), "c".to_owned()], true));
        assert_eq!(node(&with_pod(&apart, "web-3", &on("c"))), both);
        // A pod of the same node has metrics, so its kubelet is in order. So may it be if a container does not run, but
        // a pod that is not ready has metrics as well.
        assert!(!node(&with_pod(&apart, "web-1", &on("a"))).unwrap().1);
        let unready = with_pod(&apart, "web-3", &unready_since("2026-11-21T05:50:00Z"));
        assert_eq!(node(&unready), unscraped);
        let running = json!({"running": {}});
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        let ended = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
        for (restarts, state, want) in [
            (0, running.clone(), true),
            (0, creating, false),
            (0, ended, false),
            (38, running, false),
        ] {
            let status = json!([{"name": "app", "restartCount": restarts, "state": state}]);
            let patch = json!({"status": {"containerStatuses": status}});
            let found = node(&with_pod(&apart, "web-3", &patch));
            let expected = Some((vec!["a".to_owned()], want));
            assert_eq!(found, expected, "{restarts} {state}");
        }
        // An init container is done.
        let setup = json!([{"name": "setup", "state": {"terminated": {"exitCode": 0}}}]);
        let done = json!({"spec": {"initContainers": [{"name": "setup"}]},
            "status": {"initContainerStatuses": setup}});
        assert_eq!(node(&with_pod(&apart, "web-3", &done)), unscraped);
        let text = said(Code::UncountedPods, &apart);
        let kubelet = "Look at the kubelet of the node a if no other pod there has metrics either.";
        assert_eq!(text.advice.text(), kubelet);
        let alone = with_pod(&one, "web-3", &on("a"));
        assert_eq!(node(&with_pod(&alone, "web-0", &on("b"))), unscraped);
        // Two that use next to nothing change nothing if they count, but 3.2 over 6 pods is within the tolerance,
        // and over the 4 others it is 7.
        let six = state(&[cpu()], &["80m", "80m", "80m", "80m", "2m", "2m"]);
        let idle = with_pods(&six, &["web-4", "web-5"], &start);
        assert_eq!(uncounted(&idle), is(info, &[starts; 2], 7));
        // Another metric that counts them decides.
        let mut both = with_spec(&idle, &json!({"metrics": [cpu(), rps()]}));
        both.push(values("rps", &["20"; 6]));
        assert_eq!(uncounted(&both), None);
        // Pods that were ready once count for CPU, ready or not. One at 0 would give 5.
        let flaps = ready("False", "2026-11-21T05:59:00Z");
        let counts = (Group::Ready, Clause::Counted);
        let ready_once = with_pod(&four, "web-3", &flaps);
        assert_eq!(uncounted(&ready_once), is(info, &[counts], 5));
        let rates = of_pods("rps", "10", &["30"]);
        assert_eq!(uncounted(&with_pod(&rates, "web-0", &flaps)), None);
        let queue = external("queue", &build::value("10"), "20", 2);
        assert_eq!(uncounted(&queue), None);
        let none_ready = with(&queue, "Pod", &flaps);
        let not_ready = (Group::Unready, Clause::NotReady);
        assert_eq!(uncounted(&none_ready), is(warning, &[not_ready; 2], 4));
        // Nothing can be computed while all pods are starting.
        let all = with(&four, "Pod", &start);
        assert_eq!(uncounted(&all), is(error, &[starts; 4], 7));
        let gone = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
        let terminating = (Group::Ignored, Clause::Deleted);
        let all = with(&four, "Pod", &gone);
        assert_eq!(uncounted(&all), Some((error, vec![terminating; 4], None)));
        // Which other finding is about the same pods.
        let named_by = |items: &[Value]| only(Code::UncountedPods, items).unwrap().follows;
        let stuck = with_pod(&four, "web-3", &unready_since("2026-11-21T05:00:00Z"));
        assert_eq!(named_by(&stuck), Some(Code::NeverReady));
        assert_eq!(named_by(&unmeasured(stuck, "web-2")), None);
        assert_eq!(named_by(&young), None);
        // A container with another name is why no pod has a value.
        let container = build::resource_of("cpu", "ap", &build::utilization(50));
        let unknown = state(&[container], &["80m", "80m"]);
        assert!(only(Code::UnknownContainer, &unknown).is_some());
        assert_eq!(uncounted(&unknown), None);
        // If the answer does not change, there is no finding: 100 % on the way down, as before.
        let low = unmeasured(state(&[cpu()], &["50m", "50m", "50m"]), "web-2");
        assert_eq!(uncounted(&low), None);
    }

    /// A container that waits in an error does not run by itself, however young its pod is.
    #[test]
    fn pods_that_wait_in_an_error() {
        let start = "2026-11-21T05:56:00Z";
        let advice = |phase: &str, reason: &str, measured: bool| {
            let crashed = build::with(unready_since(start), &waiting(reason, 5));
            let pod = build::with(crashed, &json!({"status": {"phase": phase}}));
            let all = with_pod(&state(&[cpu()], &["80m"; 4]), "web-3", &pod);
            let items = if measured {
                all
            } else {
                unmeasured(all, "web-3")
            };
            let text = said(Code::UncountedPods, &items);
            assert_eq!(text.commands, ["kubectl describe pod web-3 -n default"]);
            text.advice.text()
        };
        let run = |reason: &str| format!("Find out why app does not run in web-3: {reason}.");
        for reason in ["ImagePullBackOff", "CreateContainerConfigError"] {
            assert_eq!(advice("Pending", reason, false), run(reason));
        }
        let crashes = "CrashLoopBackOff";
        for measured in [false, true] {
            assert_eq!(advice("Running", crashes, measured), run(crashes));
        }
        let creating = advice("Pending", "ContainerCreating", false);
        assert_eq!(creating, "Wait until the pods run.");
        let prepared = advice("Running", "PodInitializing", false);
        assert_eq!(prepared, "Wait until the pods have metrics.");
    }

    /// If another finding names the problem of the same pods, there is no other advice.
    #[test]
    fn pods_that_another_finding_is_about() {
        let items = with_pod(&state(&[cpu()], &["80m"; 4]), "web-3", &crashing());
        let advice = |ignored: &[Code]| {
            let pass = pass(&items);
            let own = view(Code::UncountedPods, &pass, &find_except(&pass, ignored));
            own.advice.text()
        };
        assert_eq!(advice(&[]), "Follow the advice of never-ready.");
        let own = "Find out why app does not run in web-3: CrashLoopBackOff.";
        assert_eq!(advice(&[Code::NeverReady]), own);
    }

    /// The assumption about pods without a value is stated.
    #[test]
    fn the_usage_of_pods_without_a_value() {
        let items = unmeasured(state(&[cpu()], &["80m"; 4]), "web-3");
        let text = said(Code::UncountedPods, &items);
        assert!(text.summary.contains(" instead of ~"), "{text:?}");
        let says = "If it counted, and used as much as the others on average: ";
        let mut evidence = text.evidence.iter();
        assert!(evidence.any(|it| it.starts_with(says)), "{text:?}");
    }

    /// The node of a pod of which only one container has no usage is scraped.
    #[test]
    fn a_container_without_usage_leaves_its_pod_uncounted() {
        let lacking = json!({"containers": [
            {"name": "app", "usage": {"cpu": "80m"}}, {"name": "side", "usage": {"memory": "1Mi"}}]});
        let mut four = unmeasured(state(&[cpu()], &["80m"; 4]), "web-3");
        four.push(build::with(build::pod_metrics("web-3", "80m"), &lacking));
        let on = |node: &str| json!({"spec": {"nodeName": node}});
        let three = with_pods(&four, &["web-0", "web-1", "web-2"], &on("a"));
        let apart = with_pod(&three, "web-3", &on("b"));
        let says = "1 of 4 pods does not count (web-3): ";
        let cause = "Without cpu of the container side: web-3.";
        let advice = "Find out why the metrics API has no cpu of the container side.";
        for items in [four, apart] {
            let text = said(Code::UncountedPods, &items);
            assert!(text.summary.starts_with(says), "{text:?}");
            assert_eq!(text.evidence[0], cause);
            assert_eq!(text.advice.text(), advice);
        }
    }

    /// Nothing is assumed about pods that have just started, and an answer that stays the same has no other number.
    #[test]
    fn a_cost_is_told_if_it_is_known() {
        let left_out = |started: &str, max: i32| {
            let items = unmeasured(state(&[cpu()], &["90m"; 4]), "web-3");
            let started = json!({"metadata": {"creationTimestamp": started}, "status": {"startTime": started}});
            let items = with_pod(&items, "web-3", &started);
            let items = with_spec(&items, &json!({"maxReplicas": max}));
            let summary = said(Code::UncountedPods, &items).summary;
            let (_, after) = summary.split_once(" instead of ")?;
            Some(after.to_owned())
        };
        assert_eq!(left_out("2026-11-21T05:00:00Z", 20), Some("~8".to_owned()));
        assert_eq!(left_out("2026-11-21T05:58:00Z", 20), None);
        assert_eq!(left_out("2026-11-21T05:00:00Z", 4), None);
    }
}
