//! The finding `never-ready`.

use super::{among, failure, has_restarted, is_stuck, reason, weigh};
use crate::findings::prelude::*;
use crate::findings::requests::Revisions;

/// Pods have never been ready for longer than is usual: for longer than CPU samples may be skipped if a container waits
/// or restarts, otherwise for more than 30 minutes.
///
/// Find out why the pods do not become ready, or roll back the revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeverReady {
    /// These pods.
    pub pods: Vec<StuckPod>,
    /// The revision that all of them belong to, while the target has pods of others.
    pub revision: Option<Box<str>>,
    /// Whether all of them are of the revision of the target's template, so that its rollout does not end.
    pub is_current: bool,
}

impl Kind for NeverReady {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let stuck: Vec<&Pod> = case.own_pods().filter(|pod| is_stuck(case, pod)).collect();
        let first = stuck.first()?;
        let stuck_revision = first.revision();
        let is_same = |pod: &&Pod| pod.revision() == stuck_revision;
        let common = stuck_revision.filter(|_| stuck.iter().all(is_same));
        let revision = common.filter(|_| !case.own_pods().all(|pod| is_same(&pod)));
        let facts = NeverReady {
            pods: stuck.iter().map(|pod| StuckPod::of(pod)).collect(),
            revision: revision.map(Into::into),
            is_current: common.is_some() && common == Revisions::of(case).current,
        };
        let ready = case.if_ready(among(&stuck));
        Some(weigh(case, facts, ready, Severity::Warning))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let pods = self.pods();
        let verb = one_or_many(pods.len(), "has", "have");
        let oldest = self.pods.iter().filter_map(|pod| pod.since).min();
        let since = oldest.map_or_else(String::new, |since| {
            format!(" in {}", distance(since, about.now()))
        });
        let waiting = self.pods.iter().find_map(|pod| pod.waiting.as_deref());
        let reason = waiting.map_or_else(String::new, |reason| format!(" ({reason})"));
        format!(
            "{} {verb} not become ready{since}{reason}{}",
            first_of(&pods),
            about.cost_of(&pods)
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let shown = self.pods.iter().take(3);
        let mut evidence: Vec<String> = shown.map(|pod| pod.sentence(about)).collect();
        if let Some(revision) = &self.revision {
            evidence.push(format!(
                "All of them are of revision {revision}; the target also has pods of other revisions."
            ));
        }
        evidence.extend(about.otherwise(&about.with(&self.pods(), "ready")));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let advice = if self.revision.is_some() {
            Remedy::RollBack.says("Fix the revision that does not become ready, or roll it back.")
        } else {
            let they = one_or_many(self.pods.len(), "it does", "they do");
            let act = if self.pods.iter().all(StuckPod::lacks_image) {
                "Find out why the image cannot be pulled.".to_owned()
            } else {
                format!("Find out why {they} not become ready.")
            };
            Remedy::FindUnready.says(act)
        };
        let mut pods = self.pods.iter();
        let Some(pod) = pods.find(|pod| pod.restarts > 0).or(self.pods.first()) else {
            return advice;
        };
        let restarted = pod.container.as_deref().filter(|_| pod.restarts > 0);
        advice
            .with(about.describe(&pod.name))
            .with_all(restarted.map(|container| {
                let flags = format!("-c {} --previous", shell_word(container));
                about.kubectl_for("logs", &pod.name, &flags)
            }))
    }

    fn pods(&self) -> Vec<&str> {
        self.pods.iter().map(|pod| &*pod.name).collect()
    }
}

/// A pod that was never ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckPod {
    /// Its name.
    pub name: Box<str>,
    /// The time when it started or, if it has not, was created.
    pub since: Option<Timestamp>,
    /// The container that is waiting or has restarted most.
    pub container: Option<Box<str>>,
    /// The reason why it is waiting, such as `CrashLoopBackOff`.
    pub waiting: Option<Box<str>>,
    /// The number of its restarts.
    pub restarts: i32,
}

impl StuckPod {
    fn of(pod: &Pod) -> Self {
        let statuses = pod.statuses.iter();
        // A container that waits in an error matters most, then one that restarts.
        let worst = statuses
            .filter(|status| reason(status).is_some() || has_restarted(pod, status))
            .max_by_key(|status| (failure(status).is_some(), status.restart_count));
        Self {
            name: pod.name.clone(),
            since: pod.start_time.or(pod.created),
            container: worst.map(|status| status.name.clone()),
            waiting: worst.and_then(reason).map(Into::into),
            restarts: worst.map_or(0, |status| status.restart_count),
        }
    }

    /// Whether it waits for an image that cannot be pulled.
    fn lacks_image(&self) -> bool {
        matches!(
            self.waiting.as_deref(),
            Some("ErrImagePull" | "ImagePullBackOff")
        )
    }

    /// Describes what it waits for.
    fn sentence(&self, about: &About<'_>) -> String {
        let restarts = count(self.restarts, "restart");
        let state = match (&self.container, &self.waiting) {
            (None, _) => "never ready".to_owned(),
            (Some(container), Some(reason)) => {
                format!("container {container} waits: {reason}, {restarts}")
            }
            (Some(container), None) => format!("container {container} runs after {restarts}"),
        };
        let since = self.since.map_or_else(String::new, |since| {
            format!(", since {}", future(about.now(), since))
        });
        format!("{}: {state}{since}.", self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::pods::testing::{
        of_job, ready, unmeasured, unready_since, waiting, with_pods,
    };
    use crate::findings::testing::{
        codes, cpu, in_version, said, state, table, with, with_one, with_pod, with_state,
    };

    #[test]
    fn pods_that_were_never_ready() {
        let items = state(&[cpu()], &["80m", "80m", "80m"]);
        let unready = |start| with_pod(&items, "web-2", &unready_since(start));
        let is_also = |start, patch: &Value| with_pod(&unready(start), "web-2", patch);
        let (late, early) = ("2026-11-21T05:50:00Z", "2026-11-21T05:00:00Z");
        let crashes = waiting("CrashLoopBackOff", 7);
        let (pulls, creates) = (
            waiting("ImagePullBackOff", 0),
            waiting("ContainerCreating", 0),
        );
        let prepared = json!({"spec": {"initContainers": [{"name": "setup"}]},
            "status": {"initContainerStatuses": [{"name": "setup", "restartCount": 3}]}});
        let was_ready = build::with(ready("False", "2026-11-21T05:20:00Z"), &crashes);
        let revision = |hash: &str| json!({"metadata": {"labels": {"pod-template-hash": hash}}});
        let rollout = with_pod(&unready(early), "web-0", &revision("old"));
        let rollout = with_pod(&rollout, "web-2", &revision("new"));
        // The third of two replicas takes the place of another, and adds no load.
        let surge = with(&rollout, "Scale", &json!({"spec": {"replicas": 2}}));
        let evidence = said(Code::NeverReady, &surge).evidence;
        let ready = "With it ready, replacing another: 4 replicas.";
        assert_eq!(evidence.last().map(String::as_str), Some(ready));
        let states = [
            ("are ready", items.clone()),
            ("may still become ready", unready(late)),
            ("take too long", unready(early)),
            ("take too long, in one revision", rollout),
            ("crash", is_also(late, &crashes)),
            ("lack an image", is_also(late, &pulls)),
            ("crash, of a Job", of_job(&is_also(late, &crashes), "web-2")),
            (
                "crash, but have only just started",
                is_also("2026-11-21T05:57:00Z", &crashes),
            ),
            (
                "had to repeat what has been done since",
                is_also(late, &prepared),
            ),
            ("are being prepared", is_also(late, &creates)),
            ("are being prepared for too long", is_also(early, &creates)),
            (
                "crash, and were ready once",
                with_pod(&items, "web-2", &was_ready),
            ),
        ];
        insta::assert_snapshot!(table(Code::NeverReady, states), @r"
        are ready: none
        may still become ready: none
        take too long: warning, explains, without it 5 -> 5
            web-2 has not become ready in 60m: 3 replicas instead of 5
            - web-2: never ready, since 05:00:00Z (60m ago).
            - With it ready: 5 replicas.
            > Find out why it does not become ready.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        take too long, in one revision: warning, explains, without it 5 -> 5
            web-2 has not become ready in 60m: 3 replicas instead of 5
            - web-2: never ready, since 05:00:00Z (60m ago).
            - All of them are of revision new; the target also has pods of other revisions.
            - With it ready: 5 replicas.
            > Fix the revision that does not become ready, or roll it back.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        crash: warning, explains, without it 5 -> 5
            web-2 has not become ready in 10m (CrashLoopBackOff): 3 replicas instead of 5
            - web-2: container app waits: CrashLoopBackOff, 7 restarts, since 05:50:00Z (10m ago).
            - With it ready: 5 replicas.
            > Find out why it does not become ready.
            $ kubectl describe pod web-2 -n default
            $ kubectl logs web-2 -n default -c app --previous
            @ pod/web-2
        lack an image: warning, explains, without it 5 -> 5
            web-2 has not become ready in 10m (ImagePullBackOff): 3 replicas instead of 5
            - web-2: container app waits: ImagePullBackOff, 0 restarts, since 05:50:00Z (10m ago).
            - With it ready: 5 replicas.
            > Find out why the image cannot be pulled.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        crash, of a Job: none
        crash, but have only just started: none
        had to repeat what has been done since: none
        are being prepared: none
        are being prepared for too long: warning, explains, without it 5 -> 5
            web-2 has not become ready in 60m (ContainerCreating): 3 replicas instead of 5
            - web-2: container app waits: ContainerCreating, 0 restarts, since 05:00:00Z (60m ago).
            - With it ready: 5 replicas.
            > Find out why it does not become ready.
            $ kubectl describe pod web-2 -n default
            @ pod/web-2
        crash, and were ready once: none
        ");
    }

    /// Before 1.33 a pod without a value fails a ContainerResource metric for all of them.
    #[test]
    fn a_pod_that_is_never_ready_fails_the_metric_of_a_container() {
        let metric = build::resource_of("cpu", "app", &build::utilization(50));
        let start = build::with(
            unready_since("2026-11-21T05:00:00Z"),
            &waiting("CrashLoopBackOff", 9),
        );
        let items = with_pods(&state(&[metric], &["70m"; 4]), &["web-3"], &start);
        let empty = with_one(&items, "PodMetrics", "web-3", &json!({"containers": []}));
        // An API that does not answer has no value of any pod.
        let failing = json!({"errors": [{"api": "resource", "message": "down"}]});
        let without_metrics = unmeasured(items.clone(), "web-3");
        // 1.4 × 4 is 5.6.
        let states = [
            ("has no value", in_version(&empty, "v1.30.5")),
            ("has no metrics", in_version(&without_metrics, "v1.30.5")),
            ("has no value, as of 1.33", in_version(&empty, "v1.36.2")),
            ("has a value", in_version(&items, "v1.30.5")),
            ("has an API that fails", with_state(&items, &failing)),
        ];
        insta::assert_snapshot!(table(Code::NeverReady, states), @r"
        has no value: error, explains, without it 6 -> 6
            web-3 has not become ready in 60m (CrashLoopBackOff): no decision instead of a proposal of 6
            - web-3: container app waits: CrashLoopBackOff, 9 restarts, since 05:00:00Z (60m ago).
            - With it ready: 6 replicas.
            > Find out why it does not become ready.
            $ kubectl describe pod web-3 -n default
            $ kubectl logs web-3 -n default -c app --previous
            @ pod/web-3
        has no metrics: warning, explains, without it 6 -> 6
            web-3 has not become ready in 60m (CrashLoopBackOff): 4 replicas instead of ~6
            - web-3: container app waits: CrashLoopBackOff, 9 restarts, since 05:00:00Z (60m ago).
            - With it ready, and as busy as the others on average: 6 replicas.
            > Find out why it does not become ready.
            $ kubectl describe pod web-3 -n default
            $ kubectl logs web-3 -n default -c app --previous
            @ pod/web-3
        has no value, as of 1.33: as has no metrics
        has a value: warning, explains, without it 6 -> 6
            web-3 has not become ready in 60m (CrashLoopBackOff): 4 replicas instead of 6
            - web-3: container app waits: CrashLoopBackOff, 9 restarts, since 05:00:00Z (60m ago).
            - With it ready: 6 replicas.
            > Find out why it does not become ready.
            $ kubectl describe pod web-3 -n default
            $ kubectl logs web-3 -n default -c app --previous
            @ pod/web-3
        has an API that fails: warning, aside, without it none -> 4
            web-3 has not become ready in 60m (CrashLoopBackOff)
            - web-3: container app waits: CrashLoopBackOff, 9 restarts, since 05:00:00Z (60m ago).
            > Find out why it does not become ready.
            $ kubectl describe pod web-3 -n default
            $ kubectl logs web-3 -n default -c app --previous
            @ pod/web-3
        ");
    }

    /// If pods do not count because they were never ready, that finding is a consequence, even if their being ready
    /// would change nothing.
    #[test]
    fn what_never_was_ready_comes_before_what_follows_from_it() {
        let items = state(&[cpu()], &["55m", "55m", "2m", "2m"]);
        let start = unready_since("2026-11-21T05:00:00Z");
        let codes = codes(&with_pods(&items, &["web-2", "web-3"], &start));
        assert_eq!(codes[0], Code::NeverReady);
        assert!(codes.contains(&Code::UncountedPods), "{codes:?}");
    }
}
