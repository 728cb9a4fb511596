//! The finding `shared-pods`.

use crate::engine::decision::{Block, Path};
use crate::findings::prelude::*;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::shared::Shared;

/// The selectors of the targets of two HPAs match the same pods. Since Kubernetes 1.26, neither of them is scaled. While
/// a target that two HPAs share is outside the bounds of one, the two set its replicas in turn.
///
/// Use one HPA with both metrics, or give the pods of each target labels of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedPods {
    /// The other HPAs.
    pub others: Vec<Shared<OtherHpa>>,
    /// The pods that one of them matches as well, by name; none if all of their selectors are unknown.
    pub pods: Vec<Box<str>>,
    /// Whether the version refuses to scale because of that.
    pub is_refused: bool,
    /// The ScaledObject that creates one of the HPAs, with that HPA.
    pub of_keda: Option<(String, String)>,
}

impl Kind for SharedPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let is_refused = case.decision.block() == Some(Block::SharedPods);
        if !is_refused && case.decision.path() != Some(Path::Metrics) {
            return None;
        }
        // Two HPAs of one target set its replicas in turn, also if one corrects them and compares no selectors.
        let target = case.target();
        let of_target = |it: &&Shared<OtherHpa>| it.hpa.spec.scale_target_ref.is_same(target);
        let of_one = case.snapshot.other_hpas.iter().filter(of_target);
        let of_others = case.stored_hpas().filter(|it| !of_target(it));
        let mut others = Vec::from_iter(of_one.chain(of_others));
        others.retain(|other| case.pods().any(|pod| other.selects(pod)));
        let known = others.iter().filter(|other| other.scale.is_some());
        let is_shared = |pod: &&Pod| known.clone().any(|other| other.selects(pod));
        let shared: Vec<&Pod> = case.pods().filter(is_shared).collect();
        if others.is_empty() {
            return None;
        }
        let of_one = others.iter().filter(|it| of_target(it)).map(|it| &it.hpa);
        let decides = of_one.clone().next().is_some();
        let of_keda = std::iter::once(&case.snapshot.hpa)
            .chain(of_one)
            .find_map(|hpa| Some((hpa.scaled_object()?.name.clone(), hpa.name.clone())));
        let facts = SharedPods {
            others: others.into_iter().cloned().collect(),
            pods: pod_names(shared),
            is_refused,
            of_keda,
        };
        Some(if is_refused {
            Finding::explaining(Severity::Error, facts)
        } else {
            Finding::new(Severity::Warning, decides, facts)
        })
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        // The pods of an owner and of what it owns have no labels of their own.
        let is_of = |owner: &CrossVersionObjectReference| {
            let mut targets = self.others.iter().map(|it| &it.hpa.spec.scale_target_ref);
            targets.all(|it| it.is_same(owner))
        };
        about.first(|it| match &it.facts {
            Facts::OtherWriter(it) => it.owner.as_ref().is_some_and(is_of),
            _ => false,
        })
    }

    fn summary(&self, about: &About<'_>) -> String {
        let is_corrected = about.pass.decision.corrects().is_some();
        let effect = if self.is_refused && is_corrected {
            ", so it cannot scale after this pass"
        } else if self.is_refused {
            ", so it cannot scale"
        } else if self.is_one_target(about) {
            ", which scales the same target"
        } else {
            ""
        };
        let pods = match self.pods.len() {
            0 => "some pods".to_owned(),
            number => count(number, "pod"),
        };
        format!(
            "{pods} {} to this HPA and to {} {}{effect}",
            one_or_many(self.pods.len(), "belongs", "belong"),
            one_or_many(self.others.len(), "HPA", "HPAs"),
            names(&self.names_of_others())
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        if let Ok(scale) = &about.snapshot.scale {
            let selector = scale.selector.as_str();
            evidence.push(format!("{}: {selector}.", about.reference()));
        }
        evidence.extend(self.others.iter().map(|other| selection(other)));
        let all = one_or_many(self.others.len(), "Both", "All of them");
        if !self.pods.is_empty() {
            evidence.push(format!("{all} match {}.", names(&self.pods)));
        }
        if self.is_refused {
            evidence.push(
                "The controller scales none of the HPAs whose selectors match the same pods."
                    .to_owned(),
            );
        }
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let advice = match &self.of_keda {
            _ if !self.is_one_target(about) => Remedy::LabelApart
                .says("Recreate a target whose selector matches the other's pods, with another one."),
            Some((object, hpa)) => Remedy::KeepOneHpa.says(format!(
                "Keep {hpa}, which KEDA creates, and move the metrics of the others to ScaledObject/{object}."
            )),
            None => Remedy::KeepOneHpa
                .says("Keep one HPA for the target, and give it the metrics of the others."),
        };
        advice.with_all(about.list_pods("--show-labels"))
    }

    fn objects(&self, _: &About<'_>) -> Vec<String> {
        let others = self.names_of_others();
        others.iter().map(|name| format!("hpa/{name}")).collect()
    }
}

/// Describes the selection of another HPA.
fn selection(other: &OtherHpa) -> String {
    let (target, name) = (&other.hpa.spec.scale_target_ref, &other.hpa.name);
    match &other.scale {
        Some(scale) => format!("{target} of HPA {name}: {}.", scale.selector.as_str()),
        None => format!("{target} of HPA {name}: unknown, but the last status names it."),
    }
}

impl SharedPods {
    /// Returns the names of the other HPAs.
    fn names_of_others(&self) -> Vec<&str> {
        self.others.iter().map(|other| &*other.hpa.name).collect()
    }

    /// Whether another HPA scales the same target.
    fn is_one_target(&self, about: &About<'_>) -> bool {
        let target = &about.hpa.spec.scale_target_ref;
        let mut targets = self
            .others
            .iter()
            .map(|other| &other.hpa.spec.scale_target_ref);
        targets.any(|other| other.is_same(target))
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::build;
    use crate::findings::testing::{cpu, in_version, state, table, with_hpa};

    #[test]
    fn two_hpas_share_pods() {
        let other = |selector: &str| {
            let name = json!({"metadata": {"name": "api", "uid": "v"},
                "spec": {"scaleTargetRef": {"name": "api"}}});
            let scale = json!({"metadata": {"name": "api"}, "status": {"selector": selector}});
            let hpa = build::with(build::hpa(&json!({})), &name);
            [
                state(&[cpu()], &["90m"]),
                vec![hpa, build::with(build::scale(1), &scale)],
            ]
            .concat()
        };
        // Both scale one target.
        let twin = {
            let name = json!({"metadata": {"name": "api", "uid": "v"}});
            let hpa = build::with(build::hpa(&json!({})), &name);
            [state(&[cpu()], &["52m"]), vec![hpa]].concat()
        };
        let in_lower_case = {
            let mut items = twin.clone();
            items.last_mut().unwrap()["spec"]["scaleTargetRef"]["kind"] = json!("deployment");
            items
        };
        let apart = {
            let mut items = twin.clone();
            items.last_mut().unwrap()["spec"]["minReplicas"] = json!(5);
            items
        };
        // The same pods in three HPAs.
        let all = |names: &[&str]| {
            let mut items = state(&[cpu()], &["50m"]);
            let others = names
                .iter()
                .map(|name| build::with(items[0].clone(), &json!({"metadata": {"name": name}})));
            items.extend(others.collect::<Vec<_>>());
            items
        };
        let corrected = {
            let mut items = all(&["other"]);
            items[0]["spec"]["minReplicas"] = json!(2);
            items
        };
        // The target of the other HPA is not in the input.
        let stated = {
            let written = json!({"metadata": {"creationTimestamp": "2026-11-21T05:00:00Z", "managedFields": [
                {"manager": "kubectl", "operation": "Update", "time": "2026-11-21T05:00:00Z",
                    "fieldsV1": {"f:spec": {}}},
                {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status",
                    "time": "2026-11-21T05:59:50Z", "fieldsV1": {"f:status": {}}}]},
                "status": {"conditions": [{"type": "ScalingActive", "status": "False",
                    "lastTransitionTime": "2026-11-21T05:10:00Z", "reason": "AmbiguousSelector",
                    "message": "pods by selector app=web are controlled by multiple HPAs: \
                        [default/api default/web]"}]}});
            let apart = json!({"metadata": {"name": "api", "uid": "v"}, "spec": {"minReplicas": 0,
                "scaleTargetRef": {"name": "api"}}});
            let other = build::with(build::hpa(&json!({})), &apart);
            let items = [state(&[cpu()], &["90m"]), vec![other]].concat();
            with_hpa(&items, &written)
        };
        let states = [
            ("are apart", other("app=api")),
            (
                "are those of an unknown selector, by the last status",
                stated,
            ),
            ("overlap", other("app")),
            (
                "overlap, in a version that scales both",
                in_version(&other("app"), "v1.25.0"),
            ),
            (
                "are of one target, in a version that scales it by both",
                in_version(&twin, "v1.25.0"),
            ),
            ("are of one target in either case", in_lower_case),
            ("are of one target", all(&["other"])),
            ("are of one target, of three", all(&["other", "third"])),
            ("are of one target, which the other one corrects", apart),
            (
                "are of one target, which this one corrects first",
                corrected,
            ),
        ];
        insta::assert_snapshot!(table(Code::SharedPods, states), @r"
        are apart: none
        are those of an unknown selector, by the last status: error, explains
            some pods belong to this HPA and to HPA api, so it cannot scale
            - Deployment/web: app=web.
            - Deployment/api of HPA api: unknown, but the last status names it.
            - The controller scales none of the HPAs whose selectors match the same pods.
            > Recreate a target whose selector matches the other's pods, with another one.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/api
        overlap: error, explains
            1 pod belongs to this HPA and to HPA api, so it cannot scale
            - Deployment/web: app=web.
            - Deployment/api of HPA api: app.
            - Both match web-0.
            - The controller scales none of the HPAs whose selectors match the same pods.
            > Recreate a target whose selector matches the other's pods, with another one.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/api
        overlap, in a version that scales both: warning, aside
            1 pod belongs to this HPA and to HPA api
            - Deployment/web: app=web.
            - Deployment/api of HPA api: app.
            - Both match web-0.
            > Recreate a target whose selector matches the other's pods, with another one.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/api
        are of one target, in a version that scales it by both: warning, explains
            1 pod belongs to this HPA and to HPA api, which scales the same target
            - Deployment/web: app=web.
            - Deployment/web of HPA api: app=web.
            - Both match web-0.
            > Keep one HPA for the target, and give it the metrics of the others.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/api
        are of one target in either case: error, explains
            1 pod belongs to this HPA and to HPA api, so it cannot scale
            - Deployment/web: app=web.
            - deployment/web of HPA api: app=web.
            - Both match web-0.
            - The controller scales none of the HPAs whose selectors match the same pods.
            > Keep one HPA for the target, and give it the metrics of the others.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/api
        are of one target: error, explains
            1 pod belongs to this HPA and to HPA other, so it cannot scale
            - Deployment/web: app=web.
            - Deployment/web of HPA other: app=web.
            - Both match web-0.
            - The controller scales none of the HPAs whose selectors match the same pods.
            > Keep one HPA for the target, and give it the metrics of the others.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/other
        are of one target, of three: error, explains
            1 pod belongs to this HPA and to HPAs other and third, so it cannot scale
            - Deployment/web: app=web.
            - Deployment/web of HPA other: app=web.
            - Deployment/web of HPA third: app=web.
            - All of them match web-0.
            - The controller scales none of the HPAs whose selectors match the same pods.
            > Keep one HPA for the target, and give it the metrics of the others.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/other hpa/third
        are of one target, which the other one corrects: as are of one target, in a version that scales it by both
        are of one target, which this one corrects first: error, aside
            1 pod belongs to this HPA and to HPA other, so it cannot scale after this pass
            - Deployment/web: app=web.
            - Deployment/web of HPA other: app=web.
            - Both match web-0.
            - The controller scales none of the HPAs whose selectors match the same pods.
            > Keep one HPA for the target, and give it the metrics of the others.
            $ kubectl get pods -n default -l app=web --show-labels
            @ hpa/other
        ");
    }
}
