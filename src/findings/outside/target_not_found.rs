//! The finding `target-not-found`.

use crate::apimachinery::similar::nearest_object;
use crate::findings::command::typed;
use crate::findings::prelude::*;
use crate::saved::assemble::{has_own_scale, is_built_in, resource_of};
use crate::snapshot::ScaleError;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::surroundings::{TargetElsewhere, Workload};

/// The target of the HPA, its kind or its scale does not exist.
///
/// Correct `scaleTargetRef`, or create the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetNotFound {
    /// The missing part.
    pub missing: Missing,
    /// The API server's message, or the one that it would send.
    pub error: String,
    /// Whether only the input lacks it, and the API server has not been asked.
    pub is_assumed: bool,
    /// The object that was probably meant.
    pub meant: Option<CrossVersionObjectReference>,
    /// The object of the same name in another namespace.
    pub elsewhere: Option<TargetElsewhere>,
}

impl Kind for TargetNotFound {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let target = case.target();
        // The controller has reported it itself, or the input has other objects of the kind.
        let status = &case.snapshot.hpa.status.conditions;
        let mut told = status.iter().filter(|it| it.reason == "FailedGetScale");
        let workloads = &case.surroundings.workloads;
        let is_assumed = case.surroundings.lacks_scale
            && !told.any(|it| it.message.contains("not found"))
            && !workloads.iter().any(|it| it.is_kind_of(target));
        let (missing, error) = match &case.snapshot.scale {
            Err(ScaleError::Mapping(error)) if error.starts_with("no matches for kind") => {
                let stale = case.surroundings.stale_target.clone();
                (stale.map_or(Missing::Kind, Missing::Stale), error)
            }
            Err(ScaleError::Get(error)) if error.ends_with("not found") => (not_found(case), error),
            Err(ScaleError::Get(error))
                if error.contains("could not find the requested resource") =>
            {
                (Missing::Scale, error)
            }
            _ => return None,
        };
        let known = || workloads.iter().filter(|it| it.is_scalable());
        let is_own = |it: &Workload| target.is_kind(&it.kind) && it.group == target.group();
        let same_name = known().find(|it| {
            it.metadata.name == target.name && !is_own(it) && it.metadata.controller().is_none()
        });
        let of_kind = || known().filter(|it| it.is_kind_of(target));
        let names: Vec<&str> = of_kind().map(|it| &*it.metadata.name).collect();
        let near = nearest_object(&target.name, names.iter().copied());
        let near = of_kind().find(|it| Some(&*it.metadata.name) == near);
        let meant = match missing {
            Missing::Object | Missing::ObjectOrScale => same_name.or(near),
            Missing::Kind | Missing::Scale => same_name,
            Missing::Stale(_) => None,
        };
        let elsewhere = case.surroundings.target_elsewhere.clone();
        let facts = TargetNotFound {
            missing,
            error: error.clone(),
            is_assumed,
            meant: meant.map(Workload::to_reference),
            elsewhere,
        };
        Some(Finding::explaining(Severity::Error, facts))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let target = &about.hpa.spec.scale_target_ref;
        match &self.missing {
            Missing::Stale(_) => format!(
                "the API of the group {:?} does not answer, so the kind {} is unknown, and nothing can be computed",
                target.group(),
                target.kind
            ),
            Missing::Kind => {
                let group = match target.group() {
                    "" => "the core group (apiVersion v1, or none)".to_owned(),
                    group => format!("the group {group:?}"),
                };
                format!(
                    "the API server has no kind {} in {group}, so nothing can be computed",
                    target.kind
                )
            }
            Missing::Object | Missing::ObjectOrScale if self.is_assumed => {
                format!("the target {target} is not in the input, so nothing can be computed")
            }
            Missing::Object => {
                format!("the target {target} does not exist, so nothing can be computed")
            }
            Missing::ObjectOrScale => format!(
                "the target {target} does not exist, or its kind has no scale, so nothing can be computed"
            ),
            Missing::Scale => format!(
                "the kind {} has no scale, so no HPA can scale {target}",
                target.kind
            ),
        }
    }

    fn evidence(&self, _: &About<'_>) -> Vec<String> {
        let says = match self.missing {
            Missing::Kind | Missing::Stale(_) => "The controller's client says",
            _ if self.is_assumed => "The API server is assumed to say",
            _ => "The API server says",
        };
        let mut evidence = vec![format!("{says}: {}.", self.error)];
        match (&self.elsewhere, &self.meant) {
            (Some(elsewhere), _) => evidence.push(format!("{elsewhere}.")),
            (None, Some(meant)) => {
                evidence.push(format!("There is {meant} ({}).", meant.api_version));
            }
            (None, None) => {}
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let target = &about.hpa.spec.scale_target_ref;
        let advice = match (&self.elsewhere, &self.meant) {
            (Some(elsewhere), _) => create_there(elsewhere),
            (None, Some(meant)) => point_at(about, meant),
            (None, None) => self.correct(about),
        };
        advice.with(match &self.missing {
            Missing::Stale(service) => {
                format!("kubectl get apiservice {}", shell_word(service)).into()
            }
            Missing::Kind | Missing::Scale => "kubectl api-resources --namespaced".into(),
            Missing::Object | Missing::ObjectOrScale => {
                let resource = shell_word(&resource_of(target.group(), &target.kind));
                about.kubectl_quoted("get", &resource, "")
            }
        })
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        let mut objects = about.own();
        let meant = self.meant.as_ref().filter(|_| self.elsewhere.is_none());
        objects.extend(meant.map(typed));
        objects
    }
}

impl TargetNotFound {
    /// Returns the advice to correct the reference, or to create the object that it names.
    fn correct(&self, about: &About<'_>) -> Advice {
        let reference = about.field("scaleTargetRef");
        let correct = |text: String| Remedy::CorrectReference.says(text);
        match &self.missing {
            Missing::Stale(service) => {
                Remedy::LookAtApi.says(format!("Look at the APIService {service} and its server."))
            }
            Missing::Scale => correct(format!(
                "Point {reference} at an object that has a scale, such as a Deployment."
            )),
            Missing::Kind if is_of_apps(&about.hpa.spec.scale_target_ref) => {
                correct(format!("Set apiVersion: apps/v1 in {reference}."))
            }
            Missing::Kind => correct(format!(
                "Correct {reference}, or install what provides the kind."
            )),
            Missing::Object | Missing::ObjectOrScale if self.is_assumed => correct(format!(
                "Add the target to the input, or correct {reference}."
            )),
            Missing::ObjectOrScale => correct(format!(
                "Correct {reference}, create the target, or add the subresource scale to its kind."
            )),
            Missing::Object => correct(format!("Correct {reference}, or create the target.")),
        }
    }
}

/// Whether a reference without a group means a built-in kind of the group `apps`: the core group has only built-in kinds.
fn is_of_apps(target: &CrossVersionObjectReference) -> bool {
    target.group().is_empty() && is_built_in("apps", &target.kind)
}

/// Returns the advice to create the HPA in the namespace of its target.
fn create_there(elsewhere: &TargetElsewhere) -> Advice {
    let TargetElsewhere {
        object,
        object_namespace,
        hpa_namespace,
        default_namespace,
        ..
    } = elsewhere;
    Remedy::CreateThere.says(match (hpa_namespace, object_namespace) {
        (Some(own), None) => format!(
            "State the namespace {own} in {object} too: an HPA scales only in its own namespace."
        ),
        (_, namespace) => format!(
            "Create the HPA in the namespace {}, where {object} is: it scales only in its own.",
            namespace.as_ref().unwrap_or(default_namespace)
        ),
    })
}

/// Returns the advice to scale the object that was probably meant.
fn point_at(about: &About<'_>, meant: &CrossVersionObjectReference) -> Advice {
    let stated = &about.hpa.spec.scale_target_ref.api_version;
    let version = if meant.api_version == *stated {
        String::new()
    } else {
        format!(" ({})", meant.api_version)
    };
    about.point_at(
        Remedy::PointAt,
        meant,
        &format!("{version}, if that is meant."),
    )
}

/// The part of a target that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The kinds of the group are unknown, because this APIService does not answer.
    Stale(String),
    /// No kind of that name is served in that group.
    Kind,
    /// No such object exists.
    Object,
    /// No such object exists, or its kind has no scale: the API server gives the same answer for both.
    ObjectOrScale,
    /// The kind has no scale.
    Scale,
}

/// Returns what is missing if the API server does not find the scale of the target. Its answer for a custom
/// resource without a scale is the same as for one that does not exist (`crdHandler.ServeHTTP` of
/// apiextensions-apiserver).
fn not_found(case: &Case<'_>) -> Missing {
    let target = case.target();
    match case.surroundings.serves_scale {
        Some(false) => Missing::Scale,
        Some(true) => Missing::Object,
        None if has_own_scale(target.group(), &target.kind) => Missing::Object,
        None => Missing::ObjectOrScale,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;

    use crate::findings::Code;
    use crate::findings::outside::testing::{deployment, unknown_memory};
    use crate::findings::testing::{cpu, only, only_of, said, state, table, with, with_hpa};

    #[test]
    fn a_target_that_is_not_there() {
        let deployment = |name: &str| {
            let named = json!({"metadata": {"name": name}});
            build::with(deployment(3, &json!([])), &named)
        };
        let stateful_set = build::with(deployment("web"), &json!({"kind": "StatefulSet"}));
        let argo = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"});
        let rollout = build::with(deployment("web"), &argo);
        let old = json!({"apiVersion": "extensions/v1beta1"});
        let service = json!({"apiVersion": "v1", "kind": "Service"});
        let none = || json!({});
        use Missing::{Kind, Object, Scale};
        for (target, objects, want) in [
            (
                none(),
                vec![deployment("weg")],
                Some((Object, Some("Deployment/weg"))),
            ),
            (
                none(),
                vec![deployment("other-thing")],
                Some((Object, None)),
            ),
            (
                none(),
                vec![stateful_set],
                Some((Object, Some("StatefulSet/web"))),
            ),
            (
                old,
                vec![deployment("web")],
                Some((Kind, Some("Deployment/web"))),
            ),
            (json!({"kind": "DaemonSet"}), vec![], Some((Scale, None))),
            (service, vec![], Some((Scale, None))),
            (none(), vec![deployment("web")], None),
            (argo, vec![rollout, deployment("web")], None),
        ] {
            let hpa = build::hpa(&json!({ "scaleTargetRef": target }));
            let items = [vec![unknown_memory(), hpa.clone()], objects].concat();
            let got = only_of::<TargetNotFound>(&items).map(|(facts, it)| {
                assert_eq!((it.severity, it.explains), (Severity::Error, true));
                // An input with other objects of the kind is complete.
                let target = &hpa["spec"]["scaleTargetRef"]["kind"];
                let is_listed =
                    items.iter().any(|it| it["kind"] == *target) && facts.missing == Object;
                assert_eq!(facts.is_assumed, !is_listed, "{facts:?}");
                (facts.missing, facts.meant.map(|it| it.to_string()))
            });
            let want = want.map(|(missing, meant)| (missing, meant.map(str::to_owned)));
            assert_eq!(got, want, "{hpa}");
        }
        // The API server's message.
        let message = "deployments.apps \"web\" not found";
        let state_of =
            |message| build::state(&json!({"errors": [{"api": "scale", "message": message}]}));
        let of = |hpa: Value| {
            let found = only_of::<TargetNotFound>(&[state_of(message), hpa]);
            let (facts, _) = found.expect("a missing target");
            (facts.missing, facts.is_assumed, facts.error)
        };
        let plain = build::hpa(&none());
        assert_eq!(of(plain), (Object, false, message.to_owned()));
        // It says the same of a custom resource without a scale.
        let pool = json!({"apiVersion": "example.com/v1", "kind": "Pool"});
        let custom = build::hpa(&json!({ "scaleTargetRef": pool }));
        assert_eq!(of(custom).0, Missing::ObjectOrScale);
        // An input that lacks the target says nothing about the cluster.
        assert_eq!(only(Code::TargetNotFound, &[build::hpa(&json!({}))]), None);
    }

    #[test]
    fn an_object_of_another_kind_that_is_meant() {
        let rollout = build::with(
            deployment(3, &json!([])),
            &json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}),
        );
        let items = vec![unknown_memory(), build::hpa(&json!({})), rollout];
        insta::assert_snapshot!(table(Code::TargetNotFound, [("a Rollout", items)]), @r#"
        a Rollout: error, explains
            the target Deployment/web is not in the input, so nothing can be computed
            - The API server is assumed to say: deployments.apps "web" not found.
            - There is Rollout/web (argoproj.io/v1alpha1).
            > Point scaleTargetRef at Rollout/web (argoproj.io/v1alpha1), if that is meant.
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"scaleTargetRef":{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","name":"web"}}}'
            $ kubectl get deployments.apps -n default
            @ hpa/web rollout.argoproj.io/web
        "#);
    }

    /// A kind is looked for in the group of the stated version, which is the core group if none is stated.
    #[test]
    fn a_kind_that_the_group_does_not_have() {
        let of = |reference: Value| {
            let hpa = build::hpa(&json!({ "scaleTargetRef": reference }));
            vec![unknown_memory(), hpa]
        };
        let states = [
            ("a Deployment", of(json!({"apiVersion": "v1"}))),
            (
                "a controller",
                of(json!({"apiVersion": "apps/v1", "kind": "ReplicationController"})),
            ),
            (
                "a plural",
                of(json!({"apiVersion": "apps/v1", "kind": "Deployments"})),
            ),
            ("a DaemonSet", of(json!({"kind": "DaemonSet"}))),
        ];
        insta::assert_snapshot!(table(Code::TargetNotFound, states), @r#"
        a Deployment: error, explains
            the API server has no kind Deployment in the core group (apiVersion v1, or none), so nothing can be computed
            - The controller's client says: no matches for kind "Deployment" in group "".
            > Set apiVersion: apps/v1 in scaleTargetRef.
            $ kubectl api-resources --namespaced
        a controller: error, explains
            the API server has no kind ReplicationController in the group "apps", so nothing can be computed
            - The controller's client says: no matches for kind "ReplicationController" in group "apps".
            > Correct scaleTargetRef, or install what provides the kind.
            $ kubectl api-resources --namespaced
        a plural: error, explains
            the API server has no kind Deployments in the group "apps", so nothing can be computed
            - The controller's client says: no matches for kind "Deployments" in group "apps".
            > Correct scaleTargetRef, or install what provides the kind.
            $ kubectl api-resources --namespaced
        a DaemonSet: error, explains
            the kind DaemonSet has no scale, so no HPA can scale DaemonSet/web
            - The API server is assumed to say: the server could not find the requested resource.
            > Point scaleTargetRef at an object that has a scale, such as a Deployment.
            $ kubectl api-resources --namespaced
        "#);
    }

    /// The target is elsewhere, is kept at 0 by a Rollout, or creates another workload.
    #[test]
    fn the_object_that_is_meant() {
        let target = |kind: &str, api_version: &str| json!({"spec": {"scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": "web"}}});
        let deployment = |name: &str, namespace: &str, more: &Value| {
            let named = json!({"metadata": {"name": name, "namespace": namespace, "uid": name}});
            build::with(build::with(build::deployment(3), &named), more)
        };
        let mut busy = state(&[cpu()], &["90m"; 3]);
        let zero = json!({"spec": {"replicas": 0}, "status": {"replicas": 0}});
        let off = with(&busy, "Scale", &zero);
        let five = json!({"spec": {"replicas": 5}, "status": {"replicas": 3}});
        let five = with(&busy, "Scale", &five);
        busy.retain(|it| it["kind"] != "Scale");
        let elsewhere = [&busy[..], &[deployment("web", "shop", &json!({}))]].concat();
        let unstated = {
            let items = with_hpa(&busy, &json!({"metadata": {"namespace": "shop"}}));
            let no_namespace = json!({"metadata": {"namespace": ""}});
            [items, vec![deployment("web", "", &no_namespace)]].concat()
        };
        let rollout = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        });
        let kept = [off, vec![deployment("web", "default", &zero), rollout]].concat();
        let owner = json!({"metadata": {"ownerReferences": build::owned_by("example.com/v1", "Stack", "web")}});
        let custom = with_hpa(
            &with_hpa(&five, &target("Stack", "example.com/v1")),
            &json!({"status": {"lastScaleTime": "2026-11-21T05:00:00Z", "currentReplicas": 5}}),
        );
        let owned = [custom, vec![deployment("web-a", "default", &owner)]].concat();
        for (code, items, want) in [
            (
                Code::TargetNotFound,
                elsewhere,
                "Create the HPA in the namespace shop, where Deployment/web is: it scales only in its own.",
            ),
            (
                Code::TargetNotFound,
                unstated,
                "State the namespace shop in Deployment/web too: an HPA scales only in its own namespace.",
            ),
            (
                Code::SwitchedOff,
                kept,
                "Point scaleTargetRef at Rollout/web (argoproj.io/v1alpha1): it runs the pods of this template \
                 (spec.workloadRef).",
            ),
            (
                Code::ReplicasWithoutPods,
                owned,
                "Find out why Stack/web sets Deployment/web-a to 3 replicas: its operator does not pass on \
                 spec.replicas.",
            ),
        ] {
            assert_eq!(said(code, &items).advice.text(), want);
        }
    }
}
