//! The finding `old-revision-pods`.

use std::collections::BTreeMap;

use crate::engine::decision::Group;
use crate::findings::pods::among;
use crate::findings::prelude::*;
use crate::snapshot::pod::by_revision;
use crate::snapshot::surroundings::Canary;

/// Pods of several revisions are counted, as in a rollout or with a canary, and together they are more than
/// `spec.replicas`.
///
/// Wait for the rollout to end, or use a smaller surge. If these pods change no answer, they are not reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldRevisionPods {
    /// The revisions, the current one first, if it is known.
    pub revisions: Vec<Revision>,
    /// `spec.replicas` of the scale.
    pub replicas: i32,
    /// As many pods of other revisions as there are pods beyond the replicas, by name.
    pub beyond: Vec<Box<str>>,
}

impl Kind for OldRevisionPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        /// A rollout that takes longer than this is stuck or paused, or it is a canary.
        const LONG: SignedDuration = SignedDuration::from_mins(10);
        let scale = case.scale()?;
        let replicas = usize::try_from(scale.spec_replicas).ok()?;
        // The average of a total is over the replicas in the target's status, which include those of a surge.
        let is_average =
            |step: &&MetricStep| step.is_total() && step.target.average_value.is_some();
        let winner = case.decision.winner().filter(is_average);
        let averaged = winner.filter(|_| scale.status_replicas > scale.spec_replicas);
        let counted: Vec<&Pod> = match averaged {
            Some(_) => case.pods().collect(),
            None => case.pods_in(|group| group == Group::Ready).collect(),
        };
        let own = counted
            .into_iter()
            .filter(|pod| !case.is_foreign(pod) && pod.is_active());
        let by_revision = by_revision(own);
        let all: usize = by_revision.values().map(Vec::len).sum();
        let excess = all
            .checked_sub(replicas)
            .filter(|excess| *excess > 0 && by_revision.len() > 1)?;
        let current = case
            .surroundings
            .current_revision(case.target(), by_revision.values().flatten().copied());
        let main = current.or_else(|| main_revision(&by_revision, replicas))?;
        let mut others: Vec<&Pod> = by_revision
            .iter()
            .filter(|(hash, _)| **hash != main)
            .flat_map(|(_, pods)| pods.clone())
            .collect();
        others.sort_by_key(|pod| (pod.created, &pod.name));
        others.truncate(excess);
        let without = match averaged {
            Some(_) => case.without(|snapshot| {
                if let Ok(scale) = &mut snapshot.scale {
                    scale.status_replicas = scale.spec_replicas;
                }
            }),
            None => case.without_pods(among(&others)),
        };
        // The rollout began with the first pod of the second revision.
        let firsts = by_revision
            .values()
            .filter_map(|pods| pods.iter().filter_map(|pod| pod.created).min());
        let began = firsts.max();
        let is_long = began
            .and_then(|began| case.since(began))
            .is_none_or(|age| age >= LONG);
        let mut revisions: Vec<Revision> = by_revision
            .iter()
            .map(|(hash, pods)| Revision {
                hash: (*hash).into(),
                pods: pods.len(),
                is_current: current == Some(hash),
            })
            .collect();
        revisions.sort_by_key(|it| (!it.is_current, std::cmp::Reverse(it.pods)));
        let facts = OldRevisionPods {
            revisions,
            replicas: scale.spec_replicas,
            beyond: pod_names(others),
        };
        let mut finding = case.weigh(facts, without, Severity::Info);
        if !is_long {
            finding.severity = Severity::Info;
        }
        Some(finding)
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        // Where these change no answer, nothing is said.
        about.endless_rollout().filter(|_| about.finding.explains)
    }

    fn summary(&self, about: &About<'_>) -> String {
        let all: usize = self.revisions.iter().map(|it| it.pods).sum();
        format!(
            "{all} pods of {} revisions are counted for {}{}",
            self.revisions.len(),
            count(self.replicas, "replica"),
            about.cost()
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let each: Vec<String> = self.revisions.iter().map(Revision::share).collect();
        let mut evidence = vec![format!("Pods by revision: {}.", list(&each))];
        if keeps_stable_pods(about) {
            evidence.push(
                "While something else shifts the traffic to a canary, Argo Rollouts keeps all stable pods."
                    .to_owned(),
            );
        }
        let beyond = count(self.beyond.len(), "pod");
        evidence.extend(about.otherwise(&format!("Without the {beyond} beyond spec.replicas")));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if about.is_paused() {
            return Remedy::Resume
                .says("Resume the rollout, which is paused.")
                .with_all(about.resume());
        }
        if about.target().starts_with("deployment/") {
            return about
                .after_rollout(&[], "", Some("set a smaller maxSurge"))
                .with_all(about.rollout_status(&[]));
        }
        let smaller = if keeps_stable_pods(about) {
            "set dynamicStableScale of the canary"
        } else {
            "keep fewer pods of other revisions"
        };
        about
            .after_rollout(&self.pods(), "", Some(smaller))
            .with_all(about.list_pods("--show-labels"))
    }

    fn pods(&self) -> Vec<&str> {
        names_of(&self.beyond)
    }
}

/// The pods of a revision that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The hash of the template.
    pub hash: Box<str>,
    /// The number of pods.
    pub pods: usize,
    /// Whether the revision is known to be the current one.
    pub is_current: bool,
}

impl Revision {
    /// Describes how many pods the revision has.
    fn share(&self) -> String {
        let current = if self.is_current { " (current)" } else { "" };
        format!("{} of {}{current}", self.pods, self.hash)
    }
}

/// Whether a canary keeps all stable pods, because something else shifts the traffic.
fn keeps_stable_pods(about: &About<'_>) -> bool {
    let strategy = about.workload().and_then(|it| it.strategy.as_ref());
    let canary = strategy.and_then(|it| it.canary.as_ref());
    canary.is_some_and(Canary::keeps_stable_pods)
}

/// Returns the most likely revision of the replicas: the one with as many pods, or the newest, or the one with the most
/// pods.
fn main_revision<'p>(of: &BTreeMap<&'p str, Vec<&'p Pod>>, replicas: usize) -> Option<&'p str> {
    let newest = |pods: &[&Pod]| pods.iter().map(|pod| pod.created).max();
    let main = of
        .iter()
        .max_by_key(|(_, pods)| (pods.len() == replicas, newest(pods), pods.len()));
    main.map(|(hash, _)| *hash)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::owners::testing::{of_set, replica_set};
    use crate::findings::pods::testing::{crashing, ready, with_pods};
    use crate::findings::testing::{cpu, external, only_of, state, table, with, with_pod};

    /// Gives the first three of four pods an old revision, and the last one a new one.
    fn revised(items: &[Value]) -> Vec<Value> {
        let old = with_pods(items, &["web-0", "web-1", "web-2"], &of_set("web", "old"));
        with_pod(&old, "web-3", &of_set("web", "new"))
    }

    #[test]
    fn pods_of_several_revisions() {
        let items = revised(&state(&[cpu()], &["80m"; 4]));
        let replicas = |items: &[Value], replicas| {
            with(items, "Scale", &json!({"spec": {"replicas": replicas}}))
        };
        let set = |hash: &str, revision: &str| {
            let annotations = json!({"deployment.kubernetes.io/revision": revision});
            let one = json!({"replicas": 1});
            replica_set(
                hash,
                &json!({"metadata": {"annotations": annotations}, "spec": one, "status": one}),
            )
        };
        let surge = json!({"status": {"replicas": 4}});
        let deployment = build::with(build::deployment(3), &surge);
        let rollout = |old, new| {
            [
                &replicas(&items, 3)[..],
                &[deployment.clone(), set("old", old), set("new", new)],
            ]
            .concat()
        };
        let unready = ready("False", "2026-11-21T05:00:10Z");
        let same = with_pod(&items, "web-3", &of_set("web", "old"));
        // A rollout that began a minute ago ends by itself.
        let began = json!({"metadata": {"creationTimestamp": "2026-11-21T05:59:00Z"}});
        let states = [
            ("are the replicas", items.clone()),
            // 1.6 over 4 pods is 7; over 3 it is 5.
            ("are more", replicas(&items, 3)),
            (
                "have just become more",
                with_pod(&replicas(&items, 3), "web-3", &began),
            ),
            ("are replaced", rollout("1", "2")),
            ("are rolled back", rollout("3", "2")),
            ("are of one revision", replicas(&same, 3)),
            (
                "do not count",
                with_pod(&replicas(&items, 3), "web-3", &unready),
            ),
        ];
        // The words only count the pods beyond the replicas.
        for (place, beyond) in [(1, "web-3"), (3, "web-0"), (4, "web-3")] {
            let (about, items) = &states[place];
            let (facts, _) = only_of::<OldRevisionPods>(items).unwrap();
            assert_eq!(facts.beyond, [beyond.into()], "{about}");
        }
        insta::assert_snapshot!(table(Code::OldRevisionPods, states), @r"
        are the replicas: none
        are more: warning, explains, without it 5 -> 5
            4 pods of 2 revisions are counted for 3 replicas: 6 replicas instead of 5
            - Pods by revision: 3 of old and 1 of new.
            - Without the 1 pod beyond spec.replicas: 5 replicas.
            > Wait for the rollout to end, or set a smaller maxSurge.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ deployment/web
        have just become more: info, explains, without it 5 -> 5
            4 pods of 2 revisions are counted for 3 replicas: 6 replicas instead of 5
            - Pods by revision: 3 of old and 1 of new.
            - Without the 1 pod beyond spec.replicas: 5 replicas.
            > Wait for the rollout to end, or set a smaller maxSurge.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ deployment/web
        are replaced: warning, explains, without it 5 -> 5
            4 pods of 2 revisions are counted for 3 replicas: 6 replicas instead of 5
            - Pods by revision: 1 of new (current) and 3 of old.
            - Without the 1 pod beyond spec.replicas: 5 replicas.
            > Wait for the rollout to end, or set a smaller maxSurge.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ deployment/web
        are rolled back: warning, explains, without it 5 -> 5
            4 pods of 2 revisions are counted for 3 replicas: 6 replicas instead of 5
            - Pods by revision: 3 of old (current) and 1 of new.
            - Without the 1 pod beyond spec.replicas: 5 replicas.
            > Wait for the rollout to end, or set a smaller maxSurge.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ deployment/web
        are of one revision: none
        do not count: none
        ");
    }

    /// The controller divides a queue by the 4 replicas in the target's status, while its spec has 3.
    #[test]
    fn a_surge_under_an_average() {
        let surge = |target: &Value, length: &str| {
            let items = revised(&external("queue", target, length, 4));
            let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 4}});
            with(&items, "Scale", &scale)
        };
        let updated = json!({"status": {"replicas": 4, "updatedReplicas": 1}});
        let deployment = build::with(build::deployment(3), &updated);
        let crashed = crashing();
        let crashes = |length: &str| {
            let mut items = surge(&build::average("40"), length);
            items.push(deployment.clone());
            with_pod(&items, "web-3", &crashed)
        };
        let states = [
            // 125 need 4 of 31.25 each, and 41.7 are within the tolerance of 3.
            ("125 of 40", surge(&build::average("40"), "125")),
            // 160 need 4 of 40 each, in a surge or not.
            ("160 of 40", surge(&build::average("40"), "160")),
            ("125 of 40, and the new pod crashes", crashes("125")),
            ("160 of 40, and the new pod crashes", crashes("160")),
        ];
        insta::assert_snapshot!(table(Code::OldRevisionPods, states), @r"
        125 of 40: warning, explains, without it 3 -> 3
            4 pods of 2 revisions are counted for 3 replicas: 4 replicas instead of 3
            - Pods by revision: 3 of old and 1 of new.
            - Without the 1 pod beyond spec.replicas: 3 replicas.
            > Wait for the rollout to end, or set a smaller maxSurge.
            $ kubectl rollout status deployment/web -n default --watch=false
            @ deployment/web
        160 of 40: none
        125 of 40, and the new pod crashes: warning, explains, follows never-ready, without it 3 -> 3
            4 pods of 2 revisions are counted for 3 replicas: 4 replicas instead of 3
            - Pods by revision: 1 of new (current) and 3 of old.
            - Without the 1 pod beyond spec.replicas: 3 replicas.
            > Follow the advice of never-ready.
            @ deployment/web
        160 of 40, and the new pod crashes: none
        ");
    }
}
