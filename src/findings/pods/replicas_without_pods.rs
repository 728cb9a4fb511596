//! The finding `replicas-without-pods`.

use std::borrow::Cow;

use crate::apimachinery::annotations::REVISION;
use crate::apimachinery::json::shortened_to;
use crate::apimachinery::managed_fields::{SpecField, last_writer};
use crate::apimachinery::metadata::Condition;
use crate::calendar::Calendar;
use crate::findings::last_pass::LastPass;
use crate::findings::outside::controller_silent::ControllerSilent;
use crate::findings::prelude::*;
use crate::pass::Pass;
use crate::saved::assemble::{is_built_in, resource_of};
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::pod::Phase;
use crate::whatif::overrides::complete;

/// The target has fewer pods than replicas, and nothing has changed for minutes, or it reports that it cannot create
/// them. The controller multiplies by pods, not by replicas.
///
/// Find out what keeps the pods from being created: a quota, admission, or a pod that should be gone. Resume a Deployment
/// that was paused before it created a ReplicaSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicasWithoutPods {
    /// `spec.replicas` of the target's scale.
    pub replicas: i32,
    /// The number of the target's pods, except pods that are being deleted.
    pub pods: i32,
    /// Whether this has lasted for minutes, or the workload reports that it fails to create pods.
    pub is_held_up: bool,
    /// The workload's message about it.
    pub failure: Option<Condition>,
    /// The last event after which the pods should have existed; `None` also if the last pass found the target in
    /// another state.
    pub since: Option<Timestamp>,
    /// The metric that counts the pods and not the replicas, by index in the spec.
    pub metric: Option<usize>,
    /// The pod that a StatefulSet waits for before it creates the next one, or a pod that should long be gone, with the
    /// time by which it should have been.
    pub waits_for: Option<(Box<str>, Option<Timestamp>)>,
    /// The workload with which the target creates the pods, and the replicas in its spec, if they are fewer.
    pub owned: Option<(CrossVersionObjectReference, i32)>,
}

impl Kind for ReplicasWithoutPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let scale = case.scale()?;
        let (replicas, pods) = (scale.spec_replicas, present(case, scale.status_replicas));
        if pods >= replicas {
            return None;
        }
        let failure = case
            .workload()
            .and_then(|it| it.condition("ReplicaFailure"))
            .filter(|condition| condition.status == "True")
            .cloned();
        let target = case.target();
        let workloads = &case.surroundings.workloads;
        let mut made = Vec::from_iter(workloads.controlled_by(&target.name));
        made.retain(|it| {
            let owner = it.metadata.controller();
            owner.is_some_and(|it| target.is_kind(&it.kind))
        });
        // Without any pod, nothing can be computed, even if only for a moment, or only from pods of others.
        let needs_pods = |step: &MetricStep| case.spec(step).needs_pods();
        let lacks_all =
            pods <= 0 && case.own_pods().next().is_none() && case.metrics().any(needs_pods);
        let ends = lacks_all && case.answer().proposal.is_none();
        let revised = made.iter().map(|it| it.metadata.creation_timestamp);
        let changed = revised.chain(changes(case, ends)).max().flatten();
        let since = changed.filter(|_| !was_otherwise(case, replicas, ends));
        let age = since.and_then(|it| case.since(it));
        let is_late = age.is_some_and(|age| age >= CREATION);
        // A workload that replaces all of its pods at once waits until the old ones are gone.
        let mut dues = case.own_pods().filter_map(|pod| pod.deletion_timestamp);
        let is_replacing = dues.any(|due| !is_overdue(case, due));
        let is_held_up = failure.is_some() || (is_late && !is_replacing);
        if !is_held_up && !lacks_all {
            return None;
        }
        let counts = |step: &&MetricStep| step.proposal().is_some_and(|it| it.counted.is_some());
        // Pods of others count as well, so that more of its own have no simple effect.
        let are_own = case.pods().all(|pod| !case.is_foreign(pod));
        let winner = case.decision.winner().filter(|_| are_own);
        let metric = winner.filter(counts);
        let owned = made
            .iter()
            .find(|it| it.is_scalable() && it.wanted() < replicas)
            .filter(|it| it.kind != "ReplicaSet")
            .map(|it| (it.to_reference(), it.wanted()));
        let facts = ReplicasWithoutPods {
            replicas,
            pods,
            is_held_up,
            failure,
            since,
            metric: metric.map(|step| step.index),
            waits_for: waits_for(case),
            owned,
        };
        Some(if ends {
            Finding::explaining(Severity::Error, facts)
        } else if !are_own {
            Finding::aside(Severity::Warning, facts)
        } else {
            let without = case.without(|it| complete(it, case.decision, replicas));
            case.weigh(facts, without, Severity::Warning)
        })
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about.first(|it| match &it.facts {
            Facts::ControllerSilent(ControllerSilent::Lapsed { .. }) => {
                self.is_of_lost_manager(about.pass)
            }
            Facts::NeverReady(_) | Facts::UnschedulablePods(_) => {
                let waits_for = self.waits_for.as_ref();
                waits_for.is_some_and(|(pod, _)| it.pods().contains(&**pod))
            }
            _ => false,
        })
    }

    fn summary(&self, about: &About<'_>) -> String {
        let effect = match &self.failure {
            _ if !self.is_held_up => String::new(),
            Some(failure) => format!(", and creates no more ({})", failure.reason),
            None => ", and creates no more".to_owned(),
        };
        format!(
            "{} has {} for {}{effect}{}",
            about.reference(),
            count(self.pods, "pod"),
            count(self.replicas, "replica"),
            about.cost()
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        if let Some(Condition {
            reason, message, ..
        }) = &self.failure
        {
            evidence.push(format!("{}: {reason}: {message}.", about.reference()));
        }
        if let Some(since) = self.since.filter(|_| self.is_held_up) {
            let since = future(about.now(), since);
            evidence.push(format!("No pod has been created since {since}."));
        }
        if let Some(metric) = self.metric
            && let Some(counted) = about.proposal(metric).and_then(|it| it.counted)
        {
            evidence.push(format!(
                "{} counts the {}, not {} replicas.",
                about.label(metric),
                count(
                    counted.ready + counted.unready + counted.missing,
                    "existing pod"
                ),
                self.replicas
            ));
        }
        let all = count(self.replicas, "pod");
        evidence.extend(about.otherwise(&format!("With {all} of the same usage")));
        evidence.extend(self.waits_for.as_ref().map(|(pod, due)| match due {
            Some(due) => format!("{pod} was due to be gone by {}.", future(about.now(), *due)),
            None => format!(
                "A StatefulSet creates its pods one after another, unless podManagementPolicy is \
                 Parallel, and {pod} is not ready."
            ),
        }));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        // A Deployment has a revision as soon as it has a ReplicaSet.
        let revision = about
            .workload()
            .and_then(|it| it.metadata.annotations.get(REVISION));
        let has_begun = self.pods > 0 || revision.is_some() || self.failure.is_some();
        if about.is_paused()
            && !has_begun
            && let Some(resume) = about.resume()
        {
            return Remedy::Resume
                .says(format!(
                    "Resume {}: it creates no ReplicaSet while it is paused.",
                    about.reference()
                ))
                .with(resume);
        }
        if let Some((owned, replicas)) = &self.owned {
            let resource = shell_word(&resource_of(owned.group(), &owned.kind));
            let advice = Remedy::LookAtOwner.says(format!(
                "Find out why {} sets {owned} to {}: its operator does not pass on spec.replicas.",
                about.reference(),
                count(*replicas, "replica")
            ));
            return advice.with(about.kubectl_for(&format!("get {resource}"), &owned.name, ""));
        }
        if let (Some((pod, due)), None) = (&self.waits_for, &self.failure) {
            let state = due.map_or("not ready", |_| "still there");
            return Remedy::FindUnready
                .says(format!("Find out why {pod} is {state}."))
                .with(about.describe(pod));
        }
        let why = self.failure.as_ref().and_then(|it| refusal(&it.message));
        let may_be_quota = why.as_ref().is_none_or(|why| why.contains("quota"));
        let advice = match why {
            Some(why) => Remedy::FindQuota.says(format!("Creating them fails: {why}.")),
            None if self.is_held_up => Remedy::FindQuota
                .says("Find out what keeps the pods from being created: a quota, or admission."),
            None => Remedy::WaitForPods.waits("until the pods are created"),
        };
        let quota = may_be_quota.then(|| about.kubectl_quoted("describe", "resourcequota", ""));
        advice.with_all(quota).with(about.kubectl_quoted(
            "get",
            "events",
            "--field-selector=reason=FailedCreate",
        ))
    }
}

impl ReplicasWithoutPods {
    /// Whether the controller manager, which also creates the pods of built-in kinds, lost its lease before it could
    /// create these.
    fn is_of_lost_manager(&self, pass: &Pass) -> bool {
        let hpa = &pass.input.snapshot.hpa;
        let target = &hpa.spec.scale_target_ref;
        // A write of the scale is recorded without its time, but any pass after it would have written the status.
        let workload = pass.input.surroundings.workload(target);
        let fields = workload.map(|it| &*it.metadata.managed_fields);
        let writer = last_writer(fields.unwrap_or_default(), SpecField::Replicas);
        let last = LastPass::of(&hpa.status, self.replicas)
            .filter(|_| writer.is_some_and(|it| it.time.is_none()));
        let are_newer = last.is_some_and(|last| last.left() != self.replicas);
        pass.input.lapsed_lease().is_some_and(|lease| {
            let lacked_before = |since: Timestamp| since.plus(CREATION) <= lease.renewed;
            self.failure.is_none()
                && is_built_in(target.group(), &target.kind)
                && (are_newer || !self.since.is_some_and(lacked_before))
        })
    }
}

/// Returns the reason why no pod is created, without the amounts of a quota, shortened to its two ends.
fn refusal(message: &str) -> Option<Cow<'_, str>> {
    let forbidden = message.split_once(" is forbidden: ");
    let why = forbidden.map_or(message, |(_, why)| why);
    let cause = why.trim_start_matches("Internal error occurred: ");
    let named = cause.split(", requested: ").next()?;
    let whole = named.trim_end_matches(['.', ' ', '\n']);
    (!whole.is_empty()).then(|| shortened_to(whole, 80, (50, 25)))
}

/// Returns the number of pods that the target has, given its reported number. An input may lack pods; some kinds report
/// only ready pods, and a StatefulSet includes pods that are being deleted.
fn present(case: &Case<'_>, reported: i32) -> i32 {
    let own: Vec<&Pod> = case.own_pods().filter(|pod| !pod.has_ended()).collect();
    let active = own.iter().filter(|pod| pod.is_active());
    let [all, active] =
        [own.len(), active.count()].map(|pods| i32::try_from(pods).unwrap_or(i32::MAX));
    if all < reported { reported } else { active }
}

/// Whether a pod that is being deleted should long be gone: its node may be lost, or a finalizer keeps it.
fn is_overdue(case: &Case<'_>, due: Timestamp) -> bool {
    case.since(due).is_some_and(|late| late >= CREATION)
}

/// Returns a pod that should long be gone, or the one that a StatefulSet waits for before it creates the next one.
fn waits_for(case: &Case<'_>) -> Option<(Box<str>, Option<Timestamp>)> {
    let overdue = |pod: &Pod| pod.deletion_timestamp.filter(|due| is_overdue(case, *due));
    if let Some((pod, due)) = case.own_pods().find_map(|pod| Some((pod, overdue(pod)?))) {
        return Some((pod.name.clone(), Some(due)));
    }
    case.own_pods()
        .filter(|_| case.is_kind("StatefulSet"))
        .filter(|pod| pod.is_active() && !case.observed_pod(pod).is_some_and(Pod::is_ready))
        // A pod without a node has no condition Ready.
        .find(|pod| pod.ready.is_some() && !pod.is_ready() || pod.phase == Phase::Pending)
        .map(|pod| (pod.name.clone(), None))
}

/// Returns when the target, its replicas or its pods are known to have last changed in a way that lets the target
/// create pods; `ends` is whether it has no pods, so that the metrics have no value.
fn changes(case: &Case<'_>, ends: bool) -> [Option<Timestamp>; 5] {
    let status = &case.snapshot.hpa.status;
    let active = status.condition("ScalingActive");
    // Until then, there were values of pods.
    let lost = active.filter(|it| ends && it.status == "False");
    let followed = case.pass.input.evidence.scaled.iter();
    [
        case.last_replicas_write().and_then(|it| it.time),
        case.own_pods().filter_map(|pod| pod.created).max(),
        status.last_scale_time,
        lost.and_then(|it| it.last_transition_time),
        followed.filter_map(|event| event.last).max(),
    ]
}

/// Whether the last pass, which was seconds ago unless the controller is known to be silent, found the target in
/// another state: with other replicas, unless it is known when they were set, or with a value that this pass lacks.
fn was_otherwise(case: &Case<'_>, replicas: i32, ends: bool) -> bool {
    let input = &case.pass.input;
    let is_silent = input.lapsed_lease().is_some() || input.replicas_unseen_since().is_some();
    let status = &case.snapshot.hpa.status;
    let Some(last) = LastPass::of(status, replicas).filter(|_| !is_silent) else {
        return false;
    };
    let written = case.last_replicas_write().and_then(|it| it.time);
    let active = status.condition("ScalingActive");
    written.is_none() && last.left() != replicas
        || ends && active.is_some_and(|it| it.status == "True")
}

/// The time that a workload may take to create its pods, if nothing prevents it.
const CREATION: SignedDuration = SignedDuration::from_mins(2);

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::owners::testing::replica_set;
    use crate::findings::pods::testing::{of_job, ready, unmeasured, unscheduled};
    use crate::findings::testing::{cpu, event, said, state, table, with, with_hpa, with_pod};

    /// Returns the Deployment of six replicas, with its condition `ReplicaFailure`.
    fn failing(status: &str, message: &str) -> Value {
        let failure = json!({"type": "ReplicaFailure", "status": status, "reason": "FailedCreate",
            "message": message});
        let status = json!({"status": {"replicas": 3, "conditions": [failure]}});
        build::with(build::deployment(6), &status)
    }

    #[test]
    fn replicas_without_pods() {
        let three = state(&[cpu()], &["80m", "80m", "80m"]);
        let lacks = with(&three, "Scale", &json!({"spec": {"replicas": 6}}));
        let left = |items: &[Value], replicas: i32, at: &str| {
            let status = json!({"status": {"lastScaleTime": at, "currentReplicas": replicas,
                "desiredReplicas": replicas}});
            with_hpa(items, &status)
        };
        let scaled = |at: &str| left(&lacks, 6, at);
        let long_ago = "2026-11-21T05:50:00Z";
        let quota = "pods \"web-1\" is forbidden: exceeded quota: compute, requested: cpu=1, used: cpu=2, limited: cpu=2";
        let fails = |status| [&lacks[..], &[failing(status, quota)]].concat();
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
        let mut none = with(&lacks, "Scale", &json!({"status": {"replicas": 0}}));
        none.retain(|item| item["kind"] != "Pod" && item["kind"] != "PodMetrics");
        let gone = left(&none, 6, long_ago);
        let inactive = json!({"status": {"conditions": [{"type": "ScalingActive", "status": "False",
            "lastTransitionTime": "2026-11-21T05:59:50Z"}]}});
        let lost = with_hpa(&gone, &inactive);
        let active =
            json!({"status": {"conditions": [{"type": "ScalingActive", "status": "True"}]}});
        let had = with_hpa(&gone, &active);
        let off = left(&none, 0, long_ago);
        let write = json!({"metadata": {"managedFields": [{"manager": "kubectl", "operation": "Update",
            "time": long_ago, "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
        let target = build::with(failing("False", quota), &write);
        let set_long_ago = [off.clone(), vec![target]].concat();
        let message = "Scaled up replica set web-1 from 0 to 6";
        let at = "2026-11-21T05:59:58Z";
        let scaled_up = event("Deployment", "web", "ScalingReplicaSet", message, at);
        let woken = [gone.clone(), vec![scaled_up]].concat();
        let created = json!({"metadata": {"creationTimestamp": "2026-11-21T05:59:55Z"},
            "spec": {"replicas": 6, "selector": {"matchLabels": {"app": "web"}}}});
        let revision = replica_set("2", &created);
        let owner = json!({"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "2", "controller": true});
        let of_other = build::with(
            revision.clone(),
            &json!({"metadata": {"ownerReferences": [owner]}}),
        );
        let of_other = [scaled(long_ago), vec![of_other]].concat();
        let revised = [scaled(long_ago), vec![revision]].concat();
        let paused = build::with(failing("False", quota), &json!({"spec": {"paused": true}}));
        let numbered =
            json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "1"}}});
        let numbered = [gone.clone(), vec![build::with(paused.clone(), &numbered)]].concat();
        let paused = [gone.clone(), vec![paused]].concat();
        let unreported = json!({"spec": {"replicas": 3}, "status": {"replicas": 1}});
        let unreported = with(&scaled(long_ago), "Scale", &unreported);
        let kind = json!({"spec": {"scaleTargetRef": {"kind": "StatefulSet"}}});
        let set = with_hpa(&scaled(long_ago), &kind);
        // A pod without a node has no condition Ready.
        let homeless = unscheduled("2026-11-21T05:00:00Z", "no node");
        let homeless = unmeasured(with_pod(&set, "web-2", &homeless), "web-2");
        let due = |at: &str| {
            let deleted = json!({"metadata": {"deletionTimestamp": at}});
            let three = with(&set, "Scale", &json!({"spec": {"replicas": 3}}));
            with_pod(&left(&three, 3, long_ago), "web-2", &deleted)
        };
        let (stuck, ending) = (due("2026-11-21T05:55:00Z"), due("2026-11-21T05:59:00Z"));
        let others = ["seed-0", "seed-1", "seed-2"];
        let of_others = [fails("True"), others.map(build::pod).to_vec()].concat();
        let of_others = others
            .iter()
            .fold(of_others, |all, name| of_job(&all, name));
        let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 0}});
        let one = with(&state(&[cpu()], &["80m"]), "Scale", &scale);
        let alone = of_job(&with_hpa(&one, &kind), "web-0");
        let set = with_pod(&set, "web-2", &ready("False", "2026-11-21T05:49:00Z"));
        let lapsed = build::lease("2026-11-21T05:51:00.000000Z");
        let seen = json!({"metadata": {"managedFields": [{"manager": "kube-controller-manager",
            "subresource": "status", "time": "2026-11-21T05:59:51Z"}]}});
        let seen = with_hpa(&off, &seen);
        let of_another = [seen, vec![lapsed.clone()]].concat();
        let late = build::lease("2026-11-21T05:58:00.000000Z");
        let silent_of_late = [off.clone(), vec![late]].concat();
        let silent = [off.clone(), vec![lapsed.clone()]].concat();
        let by_hand = {
            let early = "2026-11-21T05:40:00Z";
            let created = json!({"metadata": {"creationTimestamp": early}});
            let pods = with(&left(&lacks, 3, early), "Pod", &created);
            let write = json!({"metadata": {"managedFields": [{"manager": "kubectl-hpa", "operation": "Update",
                "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]},
                "status": {"replicas": 3}});
            let workload = build::with(build::deployment(6), &write);
            let early = json!({"spec": {"renewTime": "2026-11-21T05:46:00.000000Z"}});
            [pods, vec![workload, build::with(lapsed, &early)]].concat()
        };
        let states = [
            ("are all there", three.clone()),
            ("since an unknown time", lacks.clone()),
            ("were scaled just now", scaled("2026-11-21T05:59:00Z")),
            ("for minutes", scaled(long_ago)),
            (
                "are being replaced",
                with_pod(&scaled(long_ago), "web-2", &deleted),
            ),
            ("fail", fails("True")),
            ("fail, next to pods of a Job", of_others),
            ("are all missing, next to a pod of a Job", alone),
            ("are there, and not reported", unreported),
            ("are all missing, long after the last rescale", gone),
            ("are all missing", none),
            ("are all missing, and were there a moment ago", lost),
            ("are all missing, and were there in the last pass", had),
            ("are all missing, of a target that was off", off),
            ("are all missing, and no controller runs", silent),
            (
                "are all missing, since long before no controller runs",
                silent_of_late,
            ),
            ("were set by hand, and no controller runs", by_hand),
            (
                "are all missing, and a controller has another lease",
                of_another,
            ),
            (
                "are all missing, long after the replicas were set",
                set_long_ago,
            ),
            ("are all missing, and are being added", woken),
            (
                "are all missing, of a target that was always paused",
                paused,
            ),
            (
                "are all missing, of a target that is paused and has a ReplicaSet",
                numbered,
            ),
            ("are those of a new revision", revised),
            ("are those of an owner of another kind", of_other),
            ("no longer fail", fails("False")),
            ("wait for another one", set),
            ("wait for one without a node", homeless),
            ("wait for one that is being deleted", ending),
            ("wait for one that should be gone", stuck),
        ];
        insta::assert_snapshot!(table(Code::ReplicasWithoutPods, states), @r#"
        are all there: none
        since an unknown time: none
        were scaled just now: none
        for minutes: warning, explains, without it 10 -> 10
            Deployment/web has 3 pods for 6 replicas, and creates no more: 6 replicas instead of 10
            - No pod has been created since 05:50:00Z (10m ago).
            - cpu counts the 3 existing pods, not 6 replicas.
            - With 6 pods of the same usage: 10 replicas.
            > Find out what keeps the pods from being created: a quota, or admission.
            $ kubectl describe resourcequota -n default
            $ kubectl get events -n default --field-selector=reason=FailedCreate
            @ deployment/web
        are being replaced: none
        fail: warning, explains, without it 10 -> 10
            Deployment/web has 3 pods for 6 replicas, and creates no more (FailedCreate): 6 replicas instead of 10
            - Deployment/web: FailedCreate: pods "web-1" is forbidden: exceeded quota: compute, requested: cpu=1, used: cpu=2, limited: cpu=2.
            - cpu counts the 3 existing pods, not 6 replicas.
            - With 6 pods of the same usage: 10 replicas.
            > Creating them fails: exceeded quota: compute.
            $ kubectl describe resourcequota -n default
            $ kubectl get events -n default --field-selector=reason=FailedCreate
            @ deployment/web
        fail, next to pods of a Job: warning, aside
            Deployment/web has 3 pods for 6 replicas, and creates no more (FailedCreate)
            - Deployment/web: FailedCreate: pods "web-1" is forbidden: exceeded quota: compute, requested: cpu=1, used: cpu=2, limited: cpu=2.
            > Creating them fails: exceeded quota: compute.
            $ kubectl describe resourcequota -n default
            $ kubectl get events -n default --field-selector=reason=FailedCreate
            @ deployment/web
        are all missing, next to a pod of a Job: warning, aside
            StatefulSet/web has 0 pods for 3 replicas
            > Wait until the pods are created.
            $ kubectl describe resourcequota -n default
            $ kubectl get events -n default --field-selector=reason=FailedCreate
            @ statefulset/web
        are there, and not reported: none
        are all missing, long after the last rescale: error, explains
            Deployment/web has 0 pods for 6 replicas, and creates no more
            - No pod has been created since 05:50:00Z (10m ago).
            > Find out what keeps the pods from being created: a quota, or admission.
            $ kubectl describe resourcequota -n default
            $ kubectl get events -n default --field-selector=reason=FailedCreate
            @ deployment/web
        are all missing: error, explains
            Deployment/web has 0 pods for 6 replicas
            > Wait until the pods are created.
            $ kubectl describe resourcequota -n default
            $ kubectl get events -n default --field-selector=reason=FailedCreate
            @ deployment/web
        are all missing, and were there a moment ago: as are all missing
        are all missing, and were there in the last pass: as are all missing
        are all missing, of a target that was off: as are all missing
        are all missing, and no controller runs: error, explains, follows controller-silent
            Deployment/web has 0 pods for 6 replicas, and creates no more
            - No pod has been created since 05:50:00Z (10m ago).
            > Follow the advice of controller-silent.
            @ deployment/web
        are all missing, since long before no controller runs: as are all missing, long after the last rescale
        were set by hand, and no controller runs: warning, explains, follows controller-silent, without it 10 -> 10
            Deployment/web has 3 pods for 6 replicas, and creates no more: 6 replicas instead of 10
            - No pod has been created since 05:40:00Z (20m ago).
            - cpu counts the 3 existing pods, not 6 replicas.
            - With 6 pods of the same usage: 10 replicas.
            > Follow the advice of controller-silent.
            @ deployment/web
        are all missing, and a controller has another lease: as are all missing
        are all missing, long after the replicas were set: as are all missing, long after the last rescale
        are all missing, and are being added: as are all missing
        are all missing, of a target that was always paused: error, explains
            Deployment/web has 0 pods for 6 replicas, and creates no more
            - No pod has been created since 05:50:00Z (10m ago).
            > Resume Deployment/web: it creates no ReplicaSet while it is paused.
            $ kubectl rollout resume deployment/web -n default
            @ deployment/web
        are all missing, of a target that is paused and has a ReplicaSet: as are all missing, long after the last rescale
        are those of a new revision: none
        are those of an owner of another kind: as for minutes
        no longer fail: none
        wait for another one: warning, explains, without it 10 -> 10
            StatefulSet/web has 3 pods for 6 replicas, and creates no more: 6 replicas instead of 10
            - No pod has been created since 05:50:00Z (10m ago).
            - cpu counts the 3 existing pods, not 6 replicas.
            - With 6 pods of the same usage: 10 replicas.
            - A StatefulSet creates its pods one after another, unless podManagementPolicy is Parallel, and web-2 is not ready.
            > Find out why web-2 is not ready.
            $ kubectl describe pod web-2 -n default
            @ statefulset/web
        wait for one without a node: warning, explains, follows unschedulable-pods, without it 8 -> 8
            StatefulSet/web has 3 pods for 6 replicas, and creates no more: 6 replicas instead of 8
            - No pod has been created since 05:50:00Z (10m ago).
            - cpu counts the 3 existing pods, not 6 replicas.
            - With 6 pods of the same usage: 8 replicas.
            - A StatefulSet creates its pods one after another, unless podManagementPolicy is Parallel, and web-2 is not ready.
            > Follow the advice of unschedulable-pods.
            @ statefulset/web
        wait for one that is being deleted: none
        wait for one that should be gone: warning, explains, without it 5 -> 5
            StatefulSet/web has 2 pods for 3 replicas, and creates no more: 4 replicas instead of 5
            - No pod has been created since 05:50:00Z (10m ago).
            - cpu counts the 2 existing pods, not 3 replicas.
            - With 3 pods of the same usage: 5 replicas.
            - web-2 was due to be gone by 05:55:00Z (5m ago).
            > Find out why web-2 is still there.
            $ kubectl describe pod web-2 -n default
            @ statefulset/web
        "#);
    }

    /// The reason is repeated, and only a quota, or an unknown reason, is a reason to look at the quotas.
    #[test]
    fn why_no_pods_are_created() {
        let three = state(&[cpu()], &["80m"; 3]);
        let replicas = json!({"spec": {"replicas": 6}, "status": {"replicas": 3}});
        let lacks = with(&three, "Scale", &replicas);
        let webhook = r#"failed calling webhook "sidecar-injector.istio.io""#;
        let timeout = format!(
            "Internal error occurred: {webhook}: Post \"https://istiod.istio-system.svc:443/inject\": context deadline exceeded"
        );
        let timed_out = format!("{webhook} ... context deadline exceeded");
        let denied =
            r#"violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false"#;
        let limits = "failed quota: compute: must specify limits.cpu";
        let forbidden = |why: &str| format!("pods \"web-1\" is forbidden: {why}");
        for (message, why, may_be_quota) in [
            (timeout, &*timed_out, false),
            (forbidden(denied), denied, false),
            (forbidden(limits), limits, true),
            (String::new(), "", true),
            (".".to_owned(), "", true),
        ] {
            let items = [lacks.clone(), vec![failing("True", &message)]].concat();
            let text = said(Code::ReplicasWithoutPods, &items);
            let want = match why {
                "" => "Find out what keeps the pods from being created: a quota, or admission."
                    .to_owned(),
                why => format!("Creating them fails: {why}."),
            };
            assert_eq!(text.advice.text(), want);
            let mut commands = text.commands.iter();
            let names_quota = commands.any(|it| it.contains("resourcequota"));
            assert_eq!(names_quota, may_be_quota, "{message}");
        }
    }
}
