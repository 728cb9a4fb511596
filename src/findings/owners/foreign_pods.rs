//! The finding `foreign-pods`.

use std::collections::BTreeMap;

use crate::engine::decision::Group;
use crate::findings::path::{rollout, scales_down};
use crate::findings::pods::{delete_finished, owner_of_finished};
use crate::findings::prelude::*;
use crate::findings::wording::{APART, few};
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::owners::TopOwner;
use crate::snapshot::surroundings::{ScaleDown, Workload};
use crate::words::metric_format;

/// The controller counts pods that the target does not own, judging by their owners, or does not include in its
/// `status.replicas`.
///
/// Change the labels of the other pods where they are defined, or recreate the target with a distinct selector:
/// selectors are immutable. Delete finished pods that no object owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPods {
    /// The foreign pods, by owner.
    pub of: Vec<PodsOf>,
    /// Their share of a metric.
    pub share: Option<MetricShare>,
    /// The reason why pods of one template belong to two objects, if that is so.
    pub referred: Option<Referred>,
    /// Whether all of them have finished, and nothing needs a finished pod.
    pub are_finished: bool,
}

impl Kind for ForeignPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let counted = case.pods_in(|group| group != Group::Ignored);
        let pods: Vec<(&Pod, TopOwner<'_>)> =
            counted.map(|pod| (pod, case.top_owner(pod))).collect();
        let mut owned = ByOwner::new();
        for (pod, top) in &pods {
            let owner = match top {
                TopOwner::Other { kind, name } => Owner::Object(format!("{kind}/{name}")),
                TopOwner::NoOne => Owner::NoOne,
                TopOwner::Target | TopOwner::Unknown => continue,
            };
            owned.entry(owner).or_default().push(pod.name.clone());
        }
        if pods.iter().all(|(_, top)| *top == TopOwner::Unknown) {
            owned = not_counted_by_target(case, &pods)?;
        }
        if owned.is_empty() {
            return None;
        }
        let names: Names<&str> = owned.values().flatten().map(|name| &**name).collect();
        let share = share(case, &names);
        let without = case.without_pods(|pod| names.contains(&pod.name));
        let is_referred = |it: &Referred| owned.keys().all(|owner| it.owns(owner));
        let referred = Referred::of(case).filter(is_referred);
        let is_over = |owner: &Owner| *owner == Owner::NoOne && owner_of_finished(case).is_none();
        let mut theirs = pods.iter().filter(|(pod, _)| names.contains(&pod.name));
        let are_finished = owned.keys().all(is_over) && theirs.all(|(pod, _)| pod.has_ended());
        let facts = ForeignPods {
            are_finished,
            of: owned.into_iter().collect(),
            share,
            referred,
        };
        Some(case.weigh(facts, without, Severity::Warning))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        about.endless_rollout()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let pods = self.pods().len();
        let (shown, others) = self.shown();
        let mut owners: Vec<String> = shown.iter().map(|(owner, _)| owner.whose()).collect();
        if !others.is_empty() {
            owners.push(format!("of {}", count(others.len(), "more owner")));
        }
        format!(
            "{} {} {} counted for {}{}",
            count(pods, "pod"),
            list(&owners),
            one_or_many(pods, "is", "are"),
            about.reference(),
            about.cost()
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let pods = self.pods().len();
        let (shown, others) = self.shown();
        let mut evidence: Vec<String> = shown
            .iter()
            .map(|(owner, pods)| format!("{}: {}.", sentence(&owner.whose()), names(pods)))
            .collect();
        if !others.is_empty() {
            let theirs: Vec<&Box<str>> = others.iter().flat_map(|(_, pods)| pods).collect();
            let owners = count(others.len(), "more owner");
            evidence.push(format!("Of {owners}: {}.", names(&theirs)));
        }
        let mut owners = self.of.iter().map(|(owner, _)| owner);
        if owners.any(|owner| matches!(owner, Owner::NotCounted(_)))
            && let Ok(scale) = &about.snapshot.scale
        {
            evidence.push(format!(
                "{} does not count {}: its status.replicas is {}.",
                about.reference(),
                them(pods),
                scale.status_replicas
            ));
        }
        evidence.extend(self.share.and_then(|share| share.sentence(about, pods)));
        evidence.extend(about.otherwise(&format!("Without {}", them(pods))));
        if let Some(referred) = &self.referred {
            evidence.push(format!(
                "Both have one template: {} refers to {} (spec.workloadRef).",
                referred.rollout, referred.workload
            ));
            evidence.push(scales_down(&referred.rollout, referred.scale_down));
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let advice = match &self.referred {
            None if self.are_finished => return delete_finished(about, &self.pods()),
            None => Remedy::LabelApart.says(APART),
            Some(referred) => referred.advice(about),
        };
        advice.with_all(about.list_pods("--show-labels"))
    }

    fn pods(&self) -> Vec<&str> {
        let pods = self.of.iter().flat_map(|(_, pods)| pods);
        pods.map(|name| &**name).collect()
    }
}

/// A Rollout that uses the template of a workload (`spec.workloadRef`); both have pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referred {
    /// The Rollout.
    pub rollout: CrossVersionObjectReference,
    /// The workload.
    pub workload: CrossVersionObjectReference,
    /// Whether the Rollout is the target.
    pub is_target: bool,
    /// What the Rollout does with the replicas of the workload, if that is stated.
    pub scale_down: Option<ScaleDown>,
    /// Another HPA, which scales the Rollout.
    pub hpa: Option<String>,
}

impl Referred {
    fn of(case: &Case<'_>) -> Option<Self> {
        let target = case.workload()?;
        Self::with_rollout(case, target, true)
            .or_else(|| Self::with_rollout(case, rollout(case)?, false))
    }

    /// Returns a Rollout, which may be the target, with its workload; `None` if the Rollout has its own template.
    fn with_rollout(case: &Case<'_>, rollout: &Workload, is_target: bool) -> Option<Self> {
        let reference = rollout.to_reference();
        Some(Self {
            hpa: case.hpa_of(&reference).filter(|_| !is_target),
            rollout: reference,
            workload: (**rollout.template_of.as_ref()?).clone(),
            is_target,
            scale_down: rollout.scale_down,
        })
    }

    /// Whether the other object of the two owns the pods.
    fn owns(&self, owner: &Owner) -> bool {
        let CrossVersionObjectReference { kind, name, .. } = if self.is_target {
            &self.workload
        } else {
            &self.rollout
        };
        match owner {
            Owner::Object(own) | Owner::NotCounted(own) => *own == format!("{kind}/{name}"),
            Owner::NoOne => false,
        }
    }
}

/// An owner, and the names of its pods.
pub type PodsOf = (Owner, Vec<Box<str>>);

/// The owner of some pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// This object, `Kind/name`, at the top of the owners.
    Object(String),
    /// This object, which may have owners itself; the target does not count the pods in `status.replicas`.
    NotCounted(String),
    /// No one.
    NoOne,
}

/// The names of pods, by owner.
type ByOwner = BTreeMap<Owner, Vec<Box<str>>>;

/// A share of a metric, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricShare {
    /// The metric, by index in the spec.
    pub metric: usize,
    /// The total usage of these pods.
    pub theirs: i64,
    /// The total usage of all counted pods.
    pub all: i64,
}

impl MetricShare {
    /// Describes the share of this number of pods.
    fn sentence(self, about: &About<'_>, pods: usize) -> Option<String> {
        let format = metric_format(about.step(self.metric)?);
        Some(format!(
            "{} {} of the {} that {} counts ({}).",
            one_or_many(pods, "It uses", "They use"),
            amount(self.theirs, format),
            amount(self.all, format),
            about.label(self.metric),
            percent(self.theirs as f64 / self.all as f64)
        ))
    }
}

/// Returns the pods that the target itself does not count in `status.replicas`, by owner; `None` unless exactly one
/// owner has that number of pods, and nothing has changed recently.
fn not_counted_by_target(case: &Case<'_>, pods: &[(&Pod, TopOwner<'_>)]) -> Option<ByOwner> {
    let scale = case.scale()?;
    let mut uncounted = ByOwner::new();
    let period = case.snapshot.controller.cpu_initialization_period;
    for (pod, _) in pods {
        let is_settled = pod.is_active() && case.age(pod)? > period;
        let owner = pod.owner.as_deref().filter(|_| is_settled)?;
        let owner = Owner::NotCounted(format!("{}/{}", owner.kind, owner.name));
        uncounted.entry(owner).or_default().push(pod.name.clone());
    }
    let all = uncounted.len();
    let replicas = usize::try_from(scale.status_replicas).ok();
    uncounted.retain(|_, pods| Some(pods.len()) != replicas);
    let is_clear = scale.spec_replicas == scale.status_replicas && uncounted.len() + 1 == all;
    is_clear.then_some(uncounted)
}

/// Returns the share of some pods in the first metric that has values of pods.
pub(crate) fn share(case: &Case<'_>, names: &Names<&str>) -> Option<MetricShare> {
    case.metrics().find_map(|step| {
        let (mut theirs, mut all) = (0i64, 0i64);
        for row in step.ready_rows() {
            let value = row.value?;
            all = all.checked_add(value)?;
            if names.contains(&case.pod_of(row).name) {
                theirs = theirs.checked_add(value)?;
            }
        }
        (theirs > 0).then_some(MetricShare {
            metric: step.index,
            theirs,
            all,
        })
    })
}

impl Referred {
    /// Returns the advice on a workload and a Rollout that both run its template.
    fn advice(&self, about: &About<'_>) -> Advice {
        let Self {
            rollout,
            workload,
            is_target,
            scale_down,
            hpa,
        } = self;
        match (is_target, scale_down, hpa) {
            (true, Some(ScaleDown::OnSuccess | ScaleDown::Progressively), _) => {
                Remedy::WaitForRollout.waits(format!("for {rollout} to scale down {workload}"))
            }
            (true, ..) => Remedy::EndReferred.says(format!(
                "Set spec.workloadRef.scaleDown of {rollout} to progressively, or scale {workload} to 0 once the pods of \
                 {rollout} are ready."
            )),
            (false, _, Some(hpa)) => Remedy::EndReferred.says(format!(
                "Let {rollout} take over, which the HPA {hpa} scales: {workload} runs the same pods alongside it."
            )),
            (false, _, None) => Remedy::PointAtRollout.says(format!(
                "Point {} at {rollout}, which takes over these pods.",
                about.field("scaleTargetRef")
            )),
        }
    }
}

impl Owner {
    /// Describes the owner of a pod, as text to follow the pod's name.
    fn whose(&self) -> String {
        match self {
            Self::Object(object) | Self::NotCounted(object) => format!("of {object}"),
            Self::NoOne => "without an owner".to_owned(),
        }
    }
}

impl ForeignPods {
    /// Returns the owners to name with their pods, and the others: each Job is a separate owner.
    fn shown(&self) -> (Vec<&PodsOf>, Vec<&PodsOf>) {
        few(&self.of, |(owner, _)| matches!(owner, Owner::Object(_)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::owners::testing::{of_set, owned};
    use crate::findings::testing::{cpu, in_version, state, table, with, with_hpa, with_pod};

    /// Returns the state with a target of another kind.
    fn of_kind(items: &[Value], api_version: &str, kind: &str) -> Vec<Value> {
        let target = json!({"spec": {"scaleTargetRef": {"apiVersion": api_version, "kind": kind}}});
        with_hpa(items, &target)
    }

    #[test]
    fn pods_of_others() {
        let items = state(&[cpu()], &["50m", "50m", "150m"]);
        let items = with_pod(&items, "web-0", &of_set("web", "1a2b"));
        let items = with_pod(&items, "web-1", &of_set("web", "1a2b"));
        let is_of = |patch: &Value| with_pod(&items, "web-2", patch);
        let job = owned("Job", "migrate-1", &json!({}));
        let set = |owner: &str| {
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "metadata": {"name": "odd", "namespace": "default",
                    "ownerReferences": build::owned_by("apps/v1", "Deployment", owner)},
                "spec": {"replicas": 1}, "status": {"replicas": 1}})
        };
        let odd = is_of(&owned("ReplicaSet", "odd", &json!({})));
        let followed = |owner| [&odd[..], &[set(owner)]].concat();
        let cron = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "migrate-1", "namespace": "default",
                    "ownerReferences": build::owned_by("batch/v1", "CronJob", "migrate")},
            "status": {}});
        let no_owners = state(&[cpu()], &["50m", "50m", "150m"]);
        let custom = |items: &[Value]| of_kind(items, "example.com/v1", "App");
        let failed = json!({"status": {"phase": "Failed"}});
        let states = [
            ("are its own", is_of(&of_set("web", "3c4d"))),
            ("are of a Job", is_of(&job)),
            ("are of a CronJob", [&is_of(&job)[..], &[cron]].concat()),
            (
                "are of a StatefulSet",
                is_of(&owned("StatefulSet", "db", &json!({}))),
            ),
            ("are of an unknown ReplicaSet", odd.clone()),
            ("are of its ReplicaSet with another name", followed("web")),
            ("are of another Deployment", followed("api")),
            ("are of another by name", is_of(&of_set("api", "3c4d"))),
            ("belong to no one", items.clone()),
            ("state no owners", no_owners.clone()),
            (
                "belong to no one, and have succeeded",
                with_pod(&items, "web-2", &json!({"status": {"phase": "Succeeded"}})),
            ),
            ("do not count", with_pod(&is_of(&job), "web-2", &failed)),
            ("may be of a custom target", custom(&is_of(&job))),
            (
                "were given to it together",
                with_pod(&no_owners, "web-2", &of_set("api", "3c4d")),
            ),
        ];
        insta::assert_snapshot!(table(Code::ForeignPods, states), @r"
        are its own: none
        are of a Job: warning, explains, without it 3 -> 3
            1 pod of Job/migrate-1 is counted for Deployment/web: 5 replicas instead of 3
            - Of Job/migrate-1: web-2.
            - It uses 150m of the 250m that cpu counts (60%).
            - Without it: 3 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2
        are of a CronJob: warning, explains, without it 3 -> 3
            1 pod of CronJob/migrate is counted for Deployment/web: 5 replicas instead of 3
            - Of CronJob/migrate: web-2.
            - It uses 150m of the 250m that cpu counts (60%).
            - Without it: 3 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2
        are of a StatefulSet: warning, explains, without it 3 -> 3
            1 pod of StatefulSet/db is counted for Deployment/web: 5 replicas instead of 3
            - Of StatefulSet/db: web-2.
            - It uses 150m of the 250m that cpu counts (60%).
            - Without it: 3 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2
        are of an unknown ReplicaSet: none
        are of its ReplicaSet with another name: none
        are of another Deployment: warning, explains, without it 3 -> 3
            1 pod of Deployment/api is counted for Deployment/web: 5 replicas instead of 3
            - Of Deployment/api: web-2.
            - It uses 150m of the 250m that cpu counts (60%).
            - Without it: 3 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2
        are of another by name: warning, explains, without it 3 -> 3
            1 pod of ReplicaSet/api-3c4d is counted for Deployment/web: 5 replicas instead of 3
            - Of ReplicaSet/api-3c4d: web-2.
            - It uses 150m of the 250m that cpu counts (60%).
            - Without it: 3 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2
        belong to no one: warning, explains, without it 3 -> 3
            1 pod without an owner is counted for Deployment/web: 5 replicas instead of 3
            - Without an owner: web-2.
            - It uses 150m of the 250m that cpu counts (60%).
            - Without it: 3 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2
        state no owners: none
        belong to no one, and have succeeded: warning, explains, without it 3 -> 3
            1 pod without an owner is counted for Deployment/web: 5 replicas instead of 3
            - Without an owner: web-2.
            - It uses 150m of the 250m that cpu counts (60%).
            - Without it: 3 replicas.
            > Delete web-2, or relabel it so that it does not match.
            $ kubectl delete pod web-2 -n default
            @ pod/web-2
        do not count: none
        may be of a custom target: none
        were given to it together: none
        ");
    }

    /// Each Job is a separate owner, and a report shows only a few of them.
    #[test]
    fn pods_of_many_owners() {
        let jobs = |number: usize| {
            let items = state(&[cpu()], &["50m"; 9]);
            let job = |items: Vec<Value>, place: usize| {
                let owner = owned("Job", &format!("migrate-{place}"), &json!({}));
                with_pod(&items, &format!("web-{place}"), &owner)
            };
            (0..number).fold(items, job)
        };
        let own = |items: &[Value], name: &str| with_pod(items, name, &of_set("web", "1a2b"));
        let is = |phase: &str| json!({"status": {"phase": phase}});
        let finished = (1..8).fold(own(&jobs(0), "web-0"), |items, place| {
            with_pod(&items, &format!("web-{place}"), &is("Succeeded"))
        });
        let ninth = |phase: &str| with_pod(&own(&finished, "web-8"), "web-8", &is(phase));
        let states = [
            ("have five", jobs(5)),
            ("have six", jobs(6)),
            ("have eight", jobs(8)),
            (
                "have seven, next to one without an owner",
                own(&jobs(7), "web-7"),
            ),
            ("have none, and have finished", ninth("Running")),
            (
                "have none, and have finished next to one of its own",
                ninth("Failed"),
            ),
        ];
        insta::assert_snapshot!(table(Code::ForeignPods, states), @r"
        have five: warning, aside, without it 9 -> 9
            5 pods of Job/migrate-0, of Job/migrate-1, of Job/migrate-2, of Job/migrate-3 and of Job/migrate-4 are counted for Deployment/web
            - Of Job/migrate-0: web-0.
            - Of Job/migrate-1: web-1.
            - Of Job/migrate-2: web-2.
            - Of Job/migrate-3: web-3.
            - Of Job/migrate-4: web-4.
            - They use 250m of the 450m that cpu counts (55.6%).
            - Without them, the answer is the same: 9 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-0 pod/web-1 pod/web-2 pod/web-3 pod/web-4
        have six: warning, aside, without it 9 -> 9
            6 pods of Job/migrate-0, of Job/migrate-1, of Job/migrate-2, of Job/migrate-3, of Job/migrate-4 and of Job/migrate-5 are counted for Deployment/web
            - Of Job/migrate-0: web-0.
            - Of Job/migrate-1: web-1.
            - Of Job/migrate-2: web-2.
            - Of Job/migrate-3: web-3.
            - Of Job/migrate-4: web-4.
            - Of Job/migrate-5: web-5.
            - They use 300m of the 450m that cpu counts (66.7%).
            - Without them, the answer is the same: 9 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-0 pod/web-1 pod/web-2 pod/web-3 pod/web-4 pod/web-5
        have eight: warning, aside, without it 9 -> 9
            8 pods of Job/migrate-0, of Job/migrate-1, of Job/migrate-2, of Job/migrate-3, of Job/migrate-4 and of 3 more owners are counted for Deployment/web
            - Of Job/migrate-0: web-0.
            - Of Job/migrate-1: web-1.
            - Of Job/migrate-2: web-2.
            - Of Job/migrate-3: web-3.
            - Of Job/migrate-4: web-4.
            - Of 3 more owners: web-5, web-6 and web-7.
            - They use 400m of the 450m that cpu counts (88.9%).
            - Without them, the answer is the same: 9 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-0 pod/web-1 pod/web-2 pod/web-3 pod/web-4 pod/web-5 pod/web-6 pod/web-7
        have seven, next to one without an owner: warning, aside, without it 9 -> 9
            8 pods of Job/migrate-0, of Job/migrate-1, of Job/migrate-2, of Job/migrate-3, of Job/migrate-4, without an owner and of 2 more owners are counted for Deployment/web
            - Of Job/migrate-0: web-0.
            - Of Job/migrate-1: web-1.
            - Of Job/migrate-2: web-2.
            - Of Job/migrate-3: web-3.
            - Of Job/migrate-4: web-4.
            - Without an owner: web-8.
            - Of 2 more owners: web-5 and web-6.
            - They use 400m of the 450m that cpu counts (88.9%).
            - Without them, the answer is the same: 9 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-0 pod/web-1 pod/web-2 pod/web-3 pod/web-4 pod/web-5 pod/web-6 pod/web-8
        have none, and have finished: warning, aside, without it 9 -> 9
            7 pods without an owner are counted for Deployment/web
            - Without an owner: web-1, web-2, web-3 and 4 more.
            - They use 350m of the 450m that cpu counts (77.8%).
            - Without them, the answer is the same: 9 replicas.
            > Delete web-1 and 6 more, or relabel them so that they do not match.
            $ kubectl delete pod -n default -l app=web --field-selector=status.phase!=Pending,status.phase!=Running,status.phase!=Unknown
            @ pod/web-1 pod/web-2 pod/web-3 pod/web-4 pod/web-5 pod/web-6 pod/web-7
        have none, and have finished next to one of its own: warning, aside, without it 9 -> 9
            7 pods without an owner are counted for Deployment/web
            - Without an owner: web-1, web-2, web-3 and 4 more.
            - They use 350m of the 400m that cpu counts (87.5%).
            - Without them, the answer is the same: 9 replicas.
            > Delete web-1 and 6 more, or relabel them so that they do not match.
            $ kubectl delete pod web-1 web-2 web-3 web-4 web-5 web-6 web-7 -n default
            @ pod/web-1 pod/web-2 pod/web-3 pod/web-4 pod/web-5 pod/web-6 pod/web-7
        ");
    }

    #[test]
    fn pods_that_a_custom_target_does_not_count() {
        let mut items = of_kind(
            &state(&[cpu()], &["50m", "50m", "5m"]),
            "example.com/v1",
            "App",
        );
        for (name, hash) in [("web-0", "new"), ("web-1", "new"), ("web-2", "old")] {
            items = with_pod(&items, name, &of_set("web", hash));
        }
        let counts = |items: &[Value], replicas| {
            let scale = json!({"spec": {"replicas": replicas}, "status": {"replicas": replicas}});
            with(items, "Scale", &scale)
        };
        // 35 % of 3 pods ask for 3, and 50 % of 2 pods keep 2.
        let young = json!({"status": {"startTime": "2026-11-21T05:59:00Z"}});
        let states = [
            ("does, all of them", counts(&items, 3)),
            ("does not", counts(&items, 2)),
            (
                "may not have counted yet",
                with_pod(&counts(&items, 2), "web-2", &young),
            ),
        ];
        insta::assert_snapshot!(table(Code::ForeignPods, states), @r"
        does, all of them: none
        does not: warning, explains, without it 2 -> 2
            1 pod of ReplicaSet/web-old is counted for App/web: 3 replicas instead of 2
            - Of ReplicaSet/web-old: web-2.
            - App/web does not count it: its status.replicas is 2.
            - It uses 5m of the 105m that cpu counts (4.8%).
            - Without it: 2 replicas.
            > Relabel the other pods, or recreate the target with another selector.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2
        may not have counted yet: none
        ");
    }

    /// A workload and the Rollout that has its template both have pods.
    #[test]
    fn pods_of_a_rollout_and_of_what_it_refers_to() {
        let owner = |kind: &str, version: &str| {
            json!({"metadata": {"ownerReferences": [{"apiVersion": version, "kind": kind,
                "name": "web", "uid": kind, "controller": true}]}})
        };
        let set = |hash: &str, kind: &str, version: &str| {
            let own = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "metadata": {"name": format!("web-{hash}"), "namespace": "default", "uid": hash},
                "spec": {"replicas": 1}, "status": {"replicas": 1}});
            build::with(own, &owner(kind, version))
        };
        let of = |name: &str, hash: &str| {
            let pod = build::pod(name);
            let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": format!("web-{hash}"), "uid": hash, "controller": true}]);
            build::with(pod, &json!({"metadata": {"ownerReferences": owner}}))
        };
        let state = |target: (&str, &str), scale_down: Value| {
            let (kind, version) = target;
            let own = json!({"metadata": {"uid": "d"}, "spec": {"template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}}});
            let deployment = build::with(build::deployment(2), &own);
            let mut rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
                "metadata": {"name": "web", "namespace": "default", "uid": "r"},
                "spec": {"replicas": 2, "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
                "status": {"replicas": 2, "HPAReplicas": 2, "selector": "app=web"}});
            rollout["spec"]["workloadRef"]["scaleDown"] = scale_down;
            let spec = json!({"maxReplicas": 20, "metrics": [cpu()],
                "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": "web"}});
            let mut items = vec![
                build::hpa(&spec),
                build::state(&json!({})),
                deployment,
                rollout,
                set("a", "Deployment", "apps/v1"),
                set("b", "Rollout", "argoproj.io/v1alpha1"),
            ];
            for (name, hash) in [
                ("web-0", "a"),
                ("web-1", "a"),
                ("web-2", "b"),
                ("web-3", "b"),
            ] {
                items.extend([of(name, hash), build::pod_metrics(name, "90m")]);
            }
            items
        };
        let rollout = ("Rollout", "argoproj.io/v1alpha1");
        let of_deployment = state(("Deployment", "apps/v1"), json!(null));
        let early = "2026-11-21T05:00:00Z";
        let never = json!({"metadata": {"labels": {"rollouts-pod-template-hash": "b"}}, "status": {"startTime": early,
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": early}]}});
        let stuck = state(rollout, json!("onsuccess"));
        let stuck = with_pod(&with_pod(&stuck, "web-2", &never), "web-3", &never);
        let stuck = with(
            &stuck,
            "Rollout",
            &json!({"status": {"currentPodHash": "b"}}),
        );
        let in_lower_case =
            json!({"kind": "rollout", "apiVersion": "argoproj.io/v1alpha1", "name": "web"});
        let other = build::with(
            build::hpa(
                &json!({"maxReplicas": 20, "metrics": [cpu()], "scaleTargetRef": in_lower_case}),
            ),
            &json!({"metadata": {"name": "of-rollout", "uid": "v"}}),
        );
        let states = [
            ("of the Rollout", state(rollout, json!(null))),
            (
                "of the Rollout, for now",
                state(rollout, json!("onsuccess")),
            ),
            (
                "of the Rollout, for now, whose new pods are never ready",
                stuck,
            ),
            ("of the Deployment", of_deployment.clone()),
            (
                "of the Deployment, with an HPA of the Rollout, in a version that scales both",
                in_version(&[of_deployment, vec![other]].concat(), "v1.25.0"),
            ),
        ];
        insta::assert_snapshot!(table(Code::ForeignPods, states), @r"
        of the Rollout: warning, explains, without it 4 -> 4
            2 pods of Deployment/web are counted for Rollout/web
            - Of Deployment/web: web-0 and web-1.
            - They use 180m of the 360m that cpu counts (50%).
            - Without them: 4 replicas.
            - Both have one template: Rollout/web refers to Deployment/web (spec.workloadRef).
            - spec.workloadRef.scaleDown of Rollout/web is not stated: Argo Rollouts never scales that down itself.
            > Set spec.workloadRef.scaleDown of Rollout/web to progressively, or scale Deployment/web to 0 once the pods of Rollout/web are ready.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-0 pod/web-1
        of the Rollout, for now: warning, explains, without it 4 -> 4
            2 pods of Deployment/web are counted for Rollout/web
            - Of Deployment/web: web-0 and web-1.
            - They use 180m of the 360m that cpu counts (50%).
            - Without them: 4 replicas.
            - Both have one template: Rollout/web refers to Deployment/web (spec.workloadRef).
            - spec.workloadRef.scaleDown of Rollout/web is onsuccess: Argo Rollouts scales that to 0 once the Rollout is healthy.
            > Wait for Rollout/web to scale down Deployment/web.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-0 pod/web-1
        of the Rollout, for now, whose new pods are never ready: warning, aside, follows never-ready
            2 pods of Deployment/web are counted for Rollout/web
            - Of Deployment/web: web-0 and web-1.
            - They use 180m of the 180m that cpu counts (100%).
            - Both have one template: Rollout/web refers to Deployment/web (spec.workloadRef).
            - spec.workloadRef.scaleDown of Rollout/web is onsuccess: Argo Rollouts scales that to 0 once the Rollout is healthy.
            > Follow the advice of never-ready.
            @ pod/web-0 pod/web-1
        of the Deployment: warning, explains, without it 4 -> 4
            2 pods of Rollout/web are counted for Deployment/web
            - Of Rollout/web: web-2 and web-3.
            - They use 180m of the 360m that cpu counts (50%).
            - Without them: 4 replicas.
            - Both have one template: Rollout/web refers to Deployment/web (spec.workloadRef).
            - spec.workloadRef.scaleDown of Rollout/web is not stated: Argo Rollouts never scales that down itself.
            > Point scaleTargetRef at Rollout/web, which takes over these pods.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2 pod/web-3
        of the Deployment, with an HPA of the Rollout, in a version that scales both: warning, explains, without it 4 -> 4
            2 pods of Rollout/web are counted for Deployment/web
            - Of Rollout/web: web-2 and web-3.
            - They use 180m of the 360m that cpu counts (50%).
            - Without them: 4 replicas.
            - Both have one template: Rollout/web refers to Deployment/web (spec.workloadRef).
            - spec.workloadRef.scaleDown of Rollout/web is not stated: Argo Rollouts never scales that down itself.
            > Let Rollout/web take over, which the HPA of-rollout scales: Deployment/web runs the same pods alongside it.
            $ kubectl get pods -n default -l app=web --show-labels
            @ pod/web-2 pod/web-3
        ");
    }
}
