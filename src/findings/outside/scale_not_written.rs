//! The finding `scale-not-written`.

use super::{grant_scale, show_fields};
use crate::apimachinery::names;
use crate::findings::metrics::end;
use crate::findings::metrics::miss::RefusedRight;
use crate::findings::prelude::*;
use crate::saved::assemble::is_built_in;
use crate::snapshot::Snapshot;
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::CrossVersionObjectReference;

/// The API server refuses to change the scale of the target: either the input says so, or the last status does and this
/// pass would also change the replicas.
///
/// Change what refuses it: an admission webhook, a quota, or a right that the controller lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleNotWritten {
    /// The API server's message.
    pub error: String,
    /// The replicas that the pass would write.
    pub to: i32,
    /// The time when the last pass failed to write it; `None` if this pass is known to fail.
    pub failed: Option<Timestamp>,
    /// The failures so far, according to events.
    pub failures: Option<Failures>,
}

/// The API server's words about a write of an object that has changed since it was read.
const CONFLICT: &str = "Operation cannot be fulfilled";

/// The number of times that counts as often.
const OFTEN: i32 = 3;

/// Failures that are further apart are not continuous. Because of the HPA's other events, fewer than one in five
/// minutes may be reported.
const APART: SignedDuration = SignedDuration::from_mins(20);

/// Failures that began longer ago are not recent.
const RECENT: SignedDuration = SignedDuration::from_mins(5);

impl Kind for ScaleNotWritten {
    fn find(case: &Case<'_>) -> Option<Finding> {
        /// The controller's words before the API server's, in the condition (`reconcileAutoscaler`).
        const UNABLE: &str = "the HPA controller was unable to update the target scale: ";
        /// Refusals. Anything else, such as a conflict or a failure to answer, needs no fix if it happens once.
        const REFUSED: [&str; 3] = ["denied", "forbidden", "is invalid"];
        /// Errors that usually pass by themselves.
        const PASSING: [&str; 11] = [
            CONFLICT,
            "timed out",
            // Not `?timeout=10s`, which is in the address of any webhook.
            " timeout",
            "deadline exceeded",
            "connection refused",
            "connection reset",
            "EOF",
            "leader changed",
            "unavailable",
            "unable to handle the request",
            "too many requests",
        ];
        let pass = case.pass;
        let hpa = &pass.input.as_observed().hpa;
        if let Some((to, error)) = case.decision.unwritten() {
            let facts = ScaleNotWritten {
                error: error.to_owned(),
                to,
                failed: None,
                failures: Failures::so_far(case, error),
            };
            let without = case.without(|snapshot| snapshot.scale_update_error = None);
            return Some(Finding::explaining(Severity::Error, facts).without(without));
        }
        // Whether this one can be written is not known, only that the last one could not.
        let to = case.decision.outcome.scale_to?;
        let now = case.scale()?.spec_replicas;
        let able = hpa.status.condition("AbleToScale")?;
        if able.status != "False" {
            return None;
        }
        let error = able.message.strip_prefix(UNABLE).unwrap_or(&able.message);
        let failures = Failures::so_far(case, error);
        let says = |words: &[&str]| words.iter().any(|words| error.contains(words));
        let are_often = failures.is_some_and(|it| it.are_often);
        // What is not known to pass is rare only if events show that.
        let are_few = failures.is_some_and(|it| (1..OFTEN).contains(&it.same));
        let is_passing = !says(&REFUSED) && !are_often && (says(&PASSING) || are_few);
        let is_last = able.reason == "FailedUpdateScale"
            && hpa.status.current_replicas == now
            && pass.input.observed_replicas().is_none()
            && case.has_last_status()
            && !is_passing;
        if !is_last {
            return None;
        }
        // Every pass first reports that the scale was read, so the condition changes each time.
        let failed = able.last_transition_time.or(hpa.written.status)?;
        let facts = ScaleNotWritten {
            error: error.to_owned(),
            to,
            failed: Some(failed),
            failures,
        };
        Some(Finding::explaining(Severity::Warning, facts))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let now = about.now();
        let target = about.reference();
        let error = end(&self.error);
        let lasting = self.failures.filter(|it| it.are_often);
        match (self.failed, lasting.and_then(Failures::since)) {
            (None, _) => {
                let replicas = about.pass.decision.replicas_before().unwrap_or_default();
                format!("{target} cannot be scaled and stays at {replicas}: {error}")
            }
            (Some(_), Some(since)) => format!(
                "{target} could not be scaled for {}: {error}",
                distance(since, now)
            ),
            (Some(failed), None) => format!(
                "{target} could not be scaled {} ago: {error}",
                distance(failed, now)
            ),
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let now = about.now();
        let mut evidence = vec![format!("The error is: {}.", self.error)];
        if let Some(failed) = self.failed {
            evidence.push(format!(
                "The last pass failed with it at {} (FailedUpdateScale).",
                time(now, failed)
            ));
        }
        if let Some(Failures {
            events,
            times,
            first,
            worked,
            ..
        }) = self.failures
        {
            let failures = count(times, "failure");
            let since = first.map_or_else(String::new, |it| format!(" since {}", time(now, it)));
            let they = match events {
                1 => "An event FailedRescale counts",
                _ => "Events FailedRescale count",
            };
            let success = worked.map_or_else(String::new, |it| {
                format!("; a rescale last succeeded at {}", time(now, it))
            });
            evidence.push(format!("{they} {failures}{since}{success}."));
        }
        evidence.extend(about.result("Once it can be written"));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let flags = format!("--replicas={} --dry-run=server", self.to);
        let is_conflict = is_conflict_about(&about.hpa.spec.scale_target_ref, &self.error);
        if let Some(right) = RefusedRight::read(&self.error) {
            return grant_scale(about, &right);
        }
        if is_conflict && !self.failures.is_some_and(|it| it.are_often) {
            return Remedy::Nothing
                .says("Nothing to do: something else changed it meanwhile, and the next pass tries again.");
        }
        if is_conflict {
            return Remedy::PermitWrite
                .says(format!(
                    "Find out what else changes {} all the time.",
                    about.reference()
                ))
                .with(show_fields(about));
        }
        Remedy::PermitWrite
            .says("Change what refuses it: a webhook, a quota, or a missing right.")
            .with_all([
                about.kubectl_quoted("scale", &about.target(), &flags),
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations".into(),
            ])
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        [vec![about.target()], about.own()].concat()
    }
}

/// Whether an error is a conflict about this object. The API server names the resource, with its group; the
/// kind reveals it only if it is built in.
fn is_conflict_about(target: &CrossVersionObjectReference, error: &str) -> bool {
    let about = error.split_once(&format!("{CONFLICT} on "));
    let Some((resource, rest)) = about.and_then(|(_, about)| about.split_once(' ')) else {
        return false;
    };
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    let is_its_kind = !is_built_in(group, &target.kind)
        || plural.split('/').next() == Some(&*names::plural(&target.kind));
    group == target.group() && is_its_kind && rest.starts_with(&format!("\"{}\"", target.name))
}

/// Returns when the failures of an event began. The server combines events of many texts into one.
fn began(event: &Event) -> Option<Timestamp> {
    let is_of_many = event.message.starts_with("(combined from similar events)");
    event.first.filter(|_| !is_of_many).or(event.last)
}

/// Writes that failed, according to events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// The number of events.
    pub events: usize,
    /// The number of failures.
    pub times: i32,
    /// The number of failures with this error, which `times` need not include.
    pub same: i32,
    /// The time of the first failure.
    pub first: Option<Timestamp>,
    /// The last success, if it came after the first failure: the uninterrupted failures began after it.
    pub worked: Option<Timestamp>,
    /// Whether there are many uninterrupted failures, at short intervals.
    pub are_often: bool,
}

impl Failures {
    /// Returns the failures so far of the HPA that was read; a new HPA has none. They have this error, or any error if
    /// they are recent, because the text may name another address each time. A conflict always has the same text, so it
    /// counts only if it is recent.
    fn so_far(case: &Case<'_>, error: &str) -> Option<Self> {
        let input = &case.pass.input;
        let observed = input.as_observed();
        let Snapshot { hpa, now, .. } = observed;
        let is_recent =
            |at: Option<Timestamp>| at.is_some_and(|at| now.duration_since(at) < RECENT);
        let events = input.evidence.events.iter().filter(|_| !input.is_new_hpa);
        let worked = hpa.status.last_scale_time;
        let is_over = |it: &Event| it.last.is_some_and(|at| Some(at) < worked);
        let failed =
            events.filter(|it| it.is_about(hpa) && it.reason == "FailedRescale" && !is_over(it));
        let is_conflict = error.contains(CONFLICT);
        let is_same =
            |it: &&Event| it.message.contains(error) && (!is_conflict || is_recent(it.last));
        let is_any = |it: &&Event| !is_conflict && is_recent(began(it));
        let same = Self::of(failed.clone().filter(is_same), observed);
        let any = Self::of(failed.filter(is_any), observed).into_iter();
        let of_same = same.map_or(0, |it| it.times);
        let failures = any.chain(same).max_by_key(|it| (it.are_often, it.times))?;
        Some(Self {
            same: of_same,
            ..failures
        })
    }

    /// Adds up events, if there are any.
    fn of<'e>(events: impl Iterator<Item = &'e Event>, observed: &Snapshot) -> Option<Self> {
        let now = observed.now;
        let worked = observed.hpa.status.last_scale_time;
        let until = |it: &Event| it.last.unwrap_or(now);
        let mut in_order = Vec::from_iter(events);
        in_order.sort_by_key(|it| until(it));
        let counts = in_order.iter().map(|it| it.count);
        let times = counts.reduce(i32::saturating_add)?;
        let first = in_order.iter().filter_map(|it| it.first).min();
        // In each pass there is at most one, of whichever event.
        let in_a_row = in_order.iter().fold(0, |before: i32, it| {
            let all = before.saturating_add(since_success(it, worked));
            all.min(passes(observed, worked, until(it)))
        });
        let is_dense = first.is_none_or(|first| now.duration_since(first) < APART * times);
        Some(Self {
            events: in_order.len(),
            times,
            same: times,
            first,
            worked: worked.filter(|it| first.is_some_and(|first| first < *it)),
            are_often: in_a_row >= OFTEN && is_dense,
        })
    }

    /// Returns the earliest time at which the uninterrupted failures may have begun.
    fn since(self) -> Option<Timestamp> {
        self.worked.or(self.first)
    }
}

/// Returns how many failures of an event came after the last success, at most: the first one is excluded if it came
/// before.
fn since_success(event: &Event, worked: Option<Timestamp>) -> i32 {
    let began_before = event.first.is_some_and(|first| Some(first) < worked);
    event.count - i32::from(began_before)
}

/// Returns how many passes have followed the last success until a time; without a limit if none is known.
fn passes(observed: &Snapshot, worked: Option<Timestamp>, until: Timestamp) -> i32 {
    /// The time of a success is when its write ended, which may take seconds.
    const LATE: SignedDuration = SignedDuration::from_secs(5);
    let period = observed.controller.sync_period.as_nanos().max(1);
    let passes = worked.map(|it| {
        let span = until.duration_since(it).saturating_add(LATE);
        span.as_nanos().max(0) / period
    });
    passes.map_or(i32::MAX, |it| i32::try_from(it).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {

    use serde_json::Value;

    use super::*;
    use crate::build;

    use crate::findings::Code;
    use crate::findings::outside::testing::{rescale, settled, unknown_memory, with_pods};
    use crate::findings::testing::{assuming, only_of, table, with_hpa, with_spec};
    use crate::findings::{Facts, find};
    use crate::snapshot::input::Input;

    /// Returns the number of failures in each finding about these objects, with an assumption.
    fn failures_assuming(items: &[Value], assume: fn(&mut Input)) -> Vec<Option<i32>> {
        let findings = find(&assuming(items, assume)).into_iter();
        let own = findings.filter_map(|it| match it.facts {
            Facts::ScaleNotWritten(facts) => Some(facts.failures.map(|it| it.times)),
            _ => None,
        });
        own.collect()
    }

    /// Returns the severity, the time of the last failure and the number of failures in the finding about these objects,
    /// whose error is one of some.
    fn failed_writes(
        items: &[Value],
        errors: &[&str],
    ) -> Option<(Severity, Option<Timestamp>, Option<i32>)> {
        let (facts, finding) = only_of::<ScaleNotWritten>(items)?;
        assert!(errors.contains(&&*facts.error), "{facts:?}");
        assert_eq!((facts.to, finding.explains), (8, true));
        let times = facts.failures.map(|it| it.times);
        Some((finding.severity, facts.failed, times))
    }

    /// The error names what refuses the change.
    #[test]
    fn who_can_let_the_scale_be_written() {
        let since = |error: &str, count: i32, first: &str| {
            let state =
                build::state(&json!({"errors": [{"api": "scaleUpdate", "message": error}]}));
            let failing = json!({"reason": "FailedRescale", "firstTimestamp": first, "count": count,
                "lastTimestamp": "2026-11-21T05:59:50Z",
                "message": format!("New size: 8; reason: x; error: {error}")});
            let event = build::with(rescale(8, 80), &failing);
            with_pods([state, settled(4), build::scale(4), event], 4, "90m")
        };
        let stated = |error: &str, count: i32| since(error, count, "2026-11-21T05:45:00Z");
        let right = "deployments.apps \"web\" is forbidden: User \"hpa\" cannot update resource \"deployments/scale\" in API \
                     group \"apps\" in the namespace \"default\"";
        let conflict = "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified";
        let quota =
            "Operation cannot be fulfilled on resourcequotas \"web\": the object has been modified";
        // The text is another one each time.
        let of_late = json!({"reason": "FailedRescale", "firstTimestamp": "2026-11-21T05:58:00Z",
            "lastTimestamp": "2026-11-21T05:59:40Z", "count": 3, "message": "New size: 8; error: EOF"});
        let of_late = [
            stated(conflict, 1),
            vec![build::with(rescale(8, 80), &of_late)],
        ];
        let of_late = of_late.concat();
        let again = |first: &str, last: &str| {
            let event = json!({"reason": "FailedRescale", "firstTimestamp": first, "lastTimestamp": last,
                "count": 3, "message": format!("New size: 9; error: {conflict}")});
            let event = build::with(rescale(9, 80), &event);
            [stated(conflict, 1), vec![event]].concat()
        };
        let scaled = |items: &[_], time: &str| {
            let status = json!({"status": {"lastScaleTime": format!("2026-11-21T{time}Z")}});
            with_hpa(items, &status)
        };
        let of_custom_kind = with_spec(
            &stated(
                &conflict.replace("deployments.apps", "kafkakeys.acme.io"),
                1,
            ),
            &json!({"scaleTargetRef": {"kind": "KafkaKey", "apiVersion": "acme.io/v1"}}),
        );
        let states = [
            (
                "a webhook",
                stated("admission webhook \"limits\" denied the request", 1),
            ),
            ("a missing right", stated(right, 80)),
            ("another writer, once", stated(conflict, 1)),
            ("another writer, often", stated(conflict, 80)),
            ("another writer, next to another error", of_late),
            (
                "another writer, in several events",
                again("2026-11-21T05:50:00Z", "2026-11-21T05:59:00Z"),
            ),
            (
                "another writer, also long ago",
                again("2026-11-21T05:02:00Z", "2026-11-21T05:10:00Z"),
            ),
            (
                "another writer, slowly",
                since(conflict, 3, "2026-11-21T01:00:00Z"),
            ),
            (
                "another writer, seldom before a success",
                scaled(&since(conflict, 3, "2026-11-21T05:10:00Z"), "05:45:00"),
            ),
            (
                "another writer, slowly before a success and after it",
                scaled(&since(conflict, 11, "2026-11-21T01:00:00Z"), "05:30:00"),
            ),
            (
                "another writer, often before a success",
                scaled(&stated(conflict, 80), "05:59:55"),
            ),
            (
                "another writer, often before a success and once after it",
                scaled(&stated(conflict, 80), "05:59:30"),
            ),
            ("another writer of a custom kind", of_custom_kind),
            (
                "another writer of another kind",
                stated(&conflict.replace("deployments", "replicasets"), 1),
            ),
            ("another writer of another object", stated(quota, 1)),
        ];
        insta::assert_snapshot!(table(Code::ScaleNotWritten, states), @r#"
        a webhook: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: admission webhook "limits" denied the request
            - The error is: admission webhook "limits" denied the request.
            - An event FailedRescale counts 1 failure since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Change what refuses it: a webhook, a quota, or a missing right.
            $ kubectl scale deployment/web -n default --replicas=8 --dry-run=server
            $ kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations
            @ deployment/web hpa/web
        a missing right: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … "deployments/scale" in API group "apps" in the namespace "default"
            - The error is: deployments.apps "web" is forbidden: User "hpa" cannot update resource "deployments/scale" in API group "apps" in the namespace "default".
            - An event FailedRescale counts 80 failures since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Grant the controller the right with a role and a binding.
            $ kubectl auth can-i update deployment/web -n default --subresource=scale --as=hpa
            @ deployment/web hpa/web
        another writer, once: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - An event FailedRescale counts 1 failure since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Nothing to do: something else changed it meanwhile, and the next pass tries again.
            @ deployment/web hpa/web
        another writer, often: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - An event FailedRescale counts 80 failures since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Find out what else changes Deployment/web all the time.
            $ kubectl get deployment/web -n default -o yaml --show-managed-fields
            @ deployment/web hpa/web
        another writer, next to another error: as another writer, once
        another writer, in several events: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - Events FailedRescale count 4 failures since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Find out what else changes Deployment/web all the time.
            $ kubectl get deployment/web -n default -o yaml --show-managed-fields
            @ deployment/web hpa/web
        another writer, also long ago: as another writer, once
        another writer, slowly: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - An event FailedRescale counts 3 failures since 01:00:00Z.
            - Once it can be written: 8 replicas.
            > Nothing to do: something else changed it meanwhile, and the next pass tries again.
            @ deployment/web hpa/web
        another writer, seldom before a success: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - An event FailedRescale counts 3 failures since 05:10:00Z; a rescale last succeeded at 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Nothing to do: something else changed it meanwhile, and the next pass tries again.
            @ deployment/web hpa/web
        another writer, slowly before a success and after it: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - An event FailedRescale counts 11 failures since 01:00:00Z; a rescale last succeeded at 05:30:00Z.
            - Once it can be written: 8 replicas.
            > Nothing to do: something else changed it meanwhile, and the next pass tries again.
            @ deployment/web hpa/web
        another writer, often before a success: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - Once it can be written: 8 replicas.
            > Nothing to do: something else changed it meanwhile, and the next pass tries again.
            @ deployment/web hpa/web
        another writer, often before a success and once after it: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on deployments.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on deployments.apps "web": the object has been modified.
            - An event FailedRescale counts 80 failures since 05:45:00Z; a rescale last succeeded at 05:59:30Z.
            - Once it can be written: 8 replicas.
            > Nothing to do: something else changed it meanwhile, and the next pass tries again.
            @ deployment/web hpa/web
        another writer of a custom kind: error, explains, without it 8 -> 8
            KafkaKey/web cannot be scaled and stays at 4: … be fulfilled on kafkakeys.acme.io "web": the object has been modified
            - The error is: Operation cannot be fulfilled on kafkakeys.acme.io "web": the object has been modified.
            - An event FailedRescale counts 1 failure since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Nothing to do: something else changed it meanwhile, and the next pass tries again.
            @ kafkakey.acme.io/web hpa/web
        another writer of another kind: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on replicasets.apps "web": the object has been modified
            - The error is: Operation cannot be fulfilled on replicasets.apps "web": the object has been modified.
            - An event FailedRescale counts 1 failure since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Change what refuses it: a webhook, a quota, or a missing right.
            $ kubectl scale deployment/web -n default --replicas=8 --dry-run=server
            $ kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations
            @ deployment/web hpa/web
        another writer of another object: error, explains, without it 8 -> 8
            Deployment/web cannot be scaled and stays at 4: … be fulfilled on resourcequotas "web": the object has been modified
            - The error is: Operation cannot be fulfilled on resourcequotas "web": the object has been modified.
            - An event FailedRescale counts 1 failure since 05:45:00Z.
            - Once it can be written: 8 replicas.
            > Change what refuses it: a webhook, a quota, or a missing right.
            $ kubectl scale deployment/web -n default --replicas=8 --dry-run=server
            $ kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations
            @ deployment/web hpa/web
        "#);
    }

    /// At 90 % with a target of 50 %, four pods become eight, if the scale can be written.
    #[test]
    fn a_scale_that_cannot_be_written() {
        let denied = "admission webhook \"limits\" denied the request";
        let failed = |reason: &str, message: &str| {
            let message =
                format!("the HPA controller was unable to update the target scale: {message}");
            let able = json!({"type": "AbleToScale", "status": "False", "reason": reason,
                "message": message, "lastTransitionTime": "2026-11-21T05:40:00Z"});
            build::with(settled(4), &json!({"status": {"conditions": [able]}}))
        };
        let last = failed("FailedUpdateScale", denied);
        let stated = build::state(&json!({"errors": [{"api": "scaleUpdate", "message": denied}]}));
        let since: Option<Timestamp> = Some("2026-11-21T05:40:00Z".parse().unwrap());
        let event = |reason: &str, size: i32, time: &str| {
            build::with(
                rescale(size, 80),
                &json!({"reason": reason, "lastTimestamp": time}),
            )
        };
        let failing = |error: &str| {
            let message = format!("New size: 8; reason: All metrics below target; error: {error}");
            let event = event("FailedRescale", 8, "2026-11-21T05:59:50Z");
            build::with(event, &json!({ "message": message }))
        };
        let once = json!({"firstTimestamp": "2026-11-21T05:58:00Z", "count": 1});
        let unrouted = |times: i32| -> Vec<_> {
            let error = |host| format!("dial tcp 10.0.0.{host}:443: no route to host");
            let event = |host| build::with(failing(&error(host)), &once);
            (0..times).map(event).collect()
        };
        let combined = "(combined from similar events): New size: 8; error: no route to host";
        let long_ago = json!({"firstTimestamp": "2026-11-21T05:05:00Z", "count": 1,
            "lastTimestamp": "2026-11-21T05:05:00Z"});
        let slow = "etcdserver: request timed out";
        let unserved = "failed calling webhook \"x\": failed to call webhook: Post \"https://x.y.svc:443/z?timeout=10s\": no \
                        endpoints available for service \"x\"";
        let conflict = "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified";
        let scaled = |error: &str, time: &str| {
            let status = json!({"status": {"lastScaleTime": format!("2026-11-21T{time}Z")}});
            build::with(failed("FailedUpdateScale", error), &status)
        };
        let two = json!({"firstTimestamp": "2026-11-21T05:50:00Z", "count": 2});
        let without_first = json!({ "firstTimestamp": null });
        let until_0530 = json!({"lastTimestamp": "2026-11-21T05:30:05Z"});
        let five_hours = |error: &str, count: i32| {
            let began = json!({"firstTimestamp": "2026-11-21T01:00:00Z", "count": count});
            build::with(failing(error), &began)
        };
        let (is_slow, is_unserved, conflicts) = (
            failed("FailedUpdateScale", slow),
            failed("FailedUpdateScale", unserved),
            failed("FailedUpdateScale", conflict),
        );
        let changed = |event: Value, patch: &Value| build::with(event, patch);
        let twice = changed(failing(slow), &two);
        let few = |host_errors: i32, more: Vec<Value>| [unrouted(host_errors), more].concat();
        let warned = |times: i32| Some((Severity::Warning, since, Some(times)));
        let alone = Some((Severity::Warning, since, None));
        let is_leaderless = failed("FailedUpdateScale", "etcdserver: leader changed");
        let none_works = changed(failing(conflict), &json!({ "message": combined }));
        let at_0530 = changed(failing(slow), &until_0530);
        let unstated = changed(failing(slow), &without_first);
        let written = event("SuccessfulRescale", 4, "2026-11-21T05:59:58Z");
        let fewer = build::with(last.clone(), &json!({"status": {"currentReplicas": 3}}));
        for (hpa, events, want) in [
            (&last, vec![], alone),
            (&last, vec![failing(denied)], warned(80)),
            (&last, vec![failing(conflict)], alone),
            // What passes by itself is no trouble before it happens often.
            (&is_slow, vec![], None),
            (&is_leaderless, vec![], None),
            (&is_slow, vec![failing(slow)], warned(80)),
            // Three times in five hours is not often.
            (&is_slow, vec![five_hours(slow, 3)], None),
            // But the last one is not known to pass.
            (&is_unserved, vec![five_hours(unserved, 3)], warned(3)),
            // The address in the text is another one each time.
            (&is_slow, unrouted(3), warned(3)),
            (&is_slow, unrouted(2), None),
            // Few have the last address, whether or not such an error is known to pass.
            (
                &is_unserved,
                few(3, vec![changed(failing(unserved), &once)]),
                warned(4),
            ),
            (
                &is_slow,
                few(3, vec![changed(failing(slow), &once)]),
                warned(4),
            ),
            // The same error, seldom and for long, does not hide that others go on.
            (&is_slow, few(3, vec![five_hours(slow, 4)]), warned(3)),
            (&is_slow, vec![none_works], warned(80)),
            // Not known to pass, whatever failed long ago.
            (
                &is_unserved,
                vec![changed(failing(conflict), &long_ago)],
                alone,
            ),
            (&is_unserved, vec![], alone),
            // Nor if it has often failed, with a success in between.
            (
                &scaled(unserved, "05:59:20"),
                vec![failing(unserved)],
                warned(80),
            ),
            // There are no more failures in a row than passes since the success until the last failure, and of each event
            // that began before the success, one less.
            (&scaled(slow, "05:59:20"), vec![failing(slow)], None),
            (&scaled(slow, "05:59:20"), vec![unstated], None),
            (&scaled(slow, "05:30:00"), vec![at_0530], None),
            (&scaled(slow, "05:55:00"), vec![twice.clone(); 2], None),
            (&scaled(slow, "05:55:00"), vec![twice; 3], warned(6)),
            // Three passes fit between a success and the last failure, or only two.
            (&scaled(slow, "05:59:06"), vec![failing(slow)], warned(80)),
            (&scaled(slow, "05:59:12"), vec![failing(slow)], None),
            // It was written in the meantime, or failed once because of another writer.
            (&last, vec![written], None),
            (&fewer, vec![], None),
            (&conflicts, vec![], None),
            (&failed("FailedGetScale", denied), vec![], None),
            (&settled(4), vec![failing(denied)], None),
        ] {
            let items = [unknown_memory(), hpa.clone(), build::scale(4)];
            let items = with_pods(items.into_iter().chain(events), 4, "90m");
            let got = failed_writes(&items, &[denied, slow, unserved]);
            assert_eq!(got, want, "{items:?}");
        }
        let items = with_pods([stated, settled(4), build::scale(4)], 4, "90m");
        let got = failed_writes(&items, &[denied]);
        assert_eq!(got, Some((Severity::Error, None, None)));
        // It is not to be written.
        let items = with_pods([unknown_memory(), last, build::scale(4)], 4, "50m");
        assert_eq!(failed_writes(&items, &[]), None);
        // It fails only since it was last scaled, and only failures that go on have a beginning.
        let said = |scaled: &str, error: &str, first: &str| {
            let status = json!({"status": {"lastScaleTime": scaled}});
            let began = json!({"firstTimestamp": first, "count": 4});
            let items = [
                unknown_memory(),
                build::with(failed("FailedUpdateScale", error), &status),
                build::with(failing(error), &began),
                build::scale(4),
            ];
            table(Code::ScaleNotWritten, [("", with_pods(items, 4, "90m"))])
        };
        let times = [
            "2026-11-21T05:30:00Z",
            "2026-11-21T05:10:00Z",
            "2026-11-21T01:00:00Z",
        ];
        for (scaled, error, first, wanted) in [
            (times[0], slow, times[1], "for 30m: "),
            (times[2], slow, times[1], "for 50m: "),
            (times[0], unserved, times[2], "20m ago: "),
        ] {
            let wanted = format!("could not be scaled {wanted}");
            let said = said(scaled, error, first);
            assert!(said.contains(&wanted), "{said}");
        }
        // What is assumed has not happened, and what happened was not to a new HPA.
        let of = |error: &str| {
            let last = failed("FailedUpdateScale", error);
            let items = [unknown_memory(), last, build::scale(4), failing(error)];
            with_pods(items, 4, "90m")
        };
        let just_scaled: fn(&mut Input) = |input| {
            input.snapshot.hpa.status.last_scale_time = Some(input.snapshot.now);
        };
        let is_new: fn(&mut Input) = |input| input.is_new_hpa = true;
        for (error, assume, wanted) in [
            (slow, just_scaled, vec![Some(80)]),
            (slow, is_new, vec![]),
            (unserved, is_new, vec![None]),
        ] {
            assert_eq!(failures_assuming(&of(error), assume), wanted, "{error}");
        }
    }
}
