//! The finding `never-ready`.

use jiff::Timestamp;

use super::{failure, has_restarted, is_stuck, objects};
use crate::apimachinery::names::shell_word;
use crate::findings::about::first_of;
use crate::findings::{About, Aspect, Before, Case, Finding, Kind, Rank, Remedy, Severity, Text};
use crate::snapshot::by_name::Names;
use crate::snapshot::pod::{ContainerStatus, Pod};
use crate::words::{count, distance, future};

/// Pods have been starting for longer than is usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeverReady {
    /// These pods.
    pub pods: Vec<StuckPod>,
    /// All of them belong to this revision, while the target has pods of others.
    pub revision: Option<Box<str>>,
}

impl Kind for NeverReady {
    type Hits = Option<Finding>;

    const CODE: &'static str = "never-ready";
    const WHEN: &'static str = "Pods have never been ready for longer than is usual: for longer than CPU samples may \
             be skipped if a container waits or restarts, otherwise for more than 30 minutes.";
    const REMEDY: &'static str =
        "Find out why the pods do not become ready, or roll back the revision.";
    const RANK: Rank = Rank::Broken;
    const IS: &'static [Aspect] = &[Aspect::NoValues, Aspect::Miscounts];

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let stuck: Vec<&Pod> = case.pods().filter(|pod| is_stuck(case, pod)).collect();
        let first = stuck.first()?;
        let stuck_revision = first.revision();
        let is_same = |pod: &&Pod| pod.revision() == stuck_revision;
        let is_new = stuck.iter().all(is_same) && !case.pods().all(|pod| is_same(&pod));
        let about = |pod: &&Pod| {
            let worst = |of: &dyn Fn(&ContainerStatus) -> bool| {
                let all = pod.statuses.iter().filter(|status| of(status));
                all.max_by_key(|status| status.restart_count)
            };
            let status =
                worst(&|it| failure(it).is_some()).or_else(|| worst(&|it| has_restarted(pod, it)));
            StuckPod {
                name: pod.name.clone(),
                since: pod.start_time.or(pod.created),
                container: status.map(|it| it.name.clone()),
                waiting: status.and_then(failure).map(Into::into),
                restarts: status.map_or(0, |it| it.restart_count),
            }
        };
        let facts = NeverReady {
            pods: stuck.iter().map(about).collect(),
            revision: stuck_revision.filter(|_| is_new).map(Into::into),
        };
        let names: Names<&str> = stuck.iter().map(|pod| &*pod.name).collect();
        let ready = case.if_ready(|pod| names.contains(&pod.name));
        Some(case.weigh(facts, ready, Severity::Warning))
    }

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

/// A pod that was never ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckPod {
    /// Its name.
    pub name: Box<str>,
    /// When it started or, if it has not, was created.
    pub since: Option<Timestamp>,
    /// The container that is waiting or has restarted most.
    pub container: Option<Box<str>>,
    /// Why it is waiting, such as `CrashLoopBackOff`.
    pub waiting: Option<Box<str>>,
    /// How many times it has restarted.
    pub restarts: i32,
}
