//! The finding `field-ignored`.

use crate::apimachinery::quantity::{Format, Quantity};
use crate::findings::path::{is_filled, set_tolerance, side, tolerated};
use crate::findings::prelude::*;
use crate::snapshot::Snapshot;
use crate::snapshot::note::Subject;
use crate::version::Stage;

/// The API server drops a field of the spec, or the controller ignores it, because the version does not have the field
/// or its feature gate is off.
///
/// Use a version that has the field, switch on its feature gate, or remove the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldIgnored {
    /// The paths of the fields.
    pub paths: Vec<String>,
    /// Whether the spec has the fields; if not, they would change the answer if they worked.
    pub stated: bool,
    /// Whether the API server drops the fields; if not, it has stored them, and the controller ignores them.
    pub dropped: bool,
    /// The feature gate that the fields require.
    pub gate: FeatureGate,
    /// The gate's stage in this version.
    pub stage: Stage,
    /// The first later version in which the gate is on by default, if it is off in this one and a later one is known.
    pub on_in: Option<u32>,
    /// Whether the control plane is known to be managed, so that users cannot set a gate.
    pub is_managed: bool,
}

impl Kind for FieldIgnored {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        let mut found: Vec<FieldIgnored> = Vec::new();
        let mut tolerances: Vec<(Direction, Quantity)> = Vec::new();
        for note in &case.pass.input.notes {
            let (path, gate, dropped) = match &note.subject {
                Subject::FieldDropped { path, gate, value } => {
                    let mut sides = Direction::BOTH.into_iter();
                    let side = sides.find(|side| *path == tolerance_of(*side));
                    let quantity = || Quantity::parse(value).ok();
                    tolerances.extend(side.and_then(|side| Some((side, quantity()?))));
                    (path, *gate, true)
                }
                Subject::FieldUnused { path, gate } => (path, *gate, false),
                _ => continue,
            };
            match found
                .iter_mut()
                .find(|it| it.gate == gate && it.dropped == dropped)
            {
                Some(facts) => facts.paths.push(path.clone()),
                None => found.push(FieldIgnored::of(path.clone(), gate, dropped, case)),
            }
        }
        if found.is_empty() {
            return Vec::from_iter(unused_tolerance(case));
        }
        let spec = &case.snapshot.hpa.spec;
        let kept = |side| Some((side, spec.rules(side)?.tolerance.clone()?));
        tolerances.extend(Direction::BOTH.into_iter().filter_map(kept));
        found
            .into_iter()
            .map(|facts| facts.weighed(case, &tolerances))
            .collect()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let version = about.snapshot.controller.version.named();
        let paths = list(&self.paths);
        let who = if self.dropped {
            "the API server"
        } else {
            "the controller"
        };
        let does = match (self.stated, self.dropped) {
            (true, true) => format!("drops {paths}"),
            (true, false) => format!("ignores {paths}"),
            (false, true) => format!("drops {paths}, if the manifest of the HPA has it"),
            (false, false) => format!("would ignore {paths}"),
        };
        if self.stage.is_settable() {
            format!("without {}, {who} ({version}) {does}", self.gate)
        } else {
            format!("{who} ({version}) {does}: {version} does not have it")
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = Vec::new();
        if self.may_set() {
            let offer = if self.stage.is_on() {
                ""
            } else {
                ", which managed control planes do not offer"
            };
            evidence.push(format!(
                "The API server and the controller manager take the flag \
                 --feature-gates={}=true{offer}.",
                self.gate
            ));
        }
        if self.stage.is_on() {
            let version = about.snapshot.controller.version.named();
            let whose = if self.dropped {
                "the API server"
            } else {
                "the controller manager"
            };
            evidence.push(format!(
                "It is on by default in {version}: a flag of {whose} switches it off."
            ));
        }
        let works = |minor| format!("It works by default in Kubernetes 1.{minor} and newer.");
        evidence.extend(self.on_in.map(works));
        evidence.extend(about.result("With it"));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let (fields, them) = match self.paths.len() {
            1 => ("the field", "it"),
            _ => ("the fields", "them"),
        };
        let fields = match about.owner() {
            Some(owner) => format!("{fields} from {owner}"),
            None => fields.to_owned(),
        };
        let upgrade = self
            .on_in
            .map(|minor| format!("upgrade to Kubernetes 1.{minor}"));
        let enable = self
            .may_set()
            .then(|| "enable the gate if you can".to_owned());
        let remove = self.stated.then(|| format!("remove {fields}"));
        let ways: Vec<String> = [upgrade, enable, remove].into_iter().flatten().collect();
        let any = match &ways[..] {
            [others @ .., last] if !others.is_empty() => {
                format!("{}, or {last}", others.join(", "))
            }
            only => only.concat(),
        };
        let advice = Remedy::Upgrade.says(if self.stated {
            format!("{}.", sentence(&any))
        } else {
            format!("To use {them}, {any}.")
        });
        let flags = format!("--feature-gates {}=true", self.gate);
        if !self.stage.is_settable() {
            return advice;
        }
        let own = self.paths.iter().filter(|_| !self.stated);
        let set: Vec<&str> = own.filter_map(|it| it.strip_prefix("spec.")).collect();
        advice.with(match set[..] {
            [] => about.kubectl("hpa explain", &flags),
            // The gate alone changes nothing.
            [field, ..] => about.predict(&format!("{flags} --set {field}=0")),
        })
    }
}

/// Returns the path of the field `tolerance` of a direction.
fn tolerance_of(side: Direction) -> String {
    format!("spec.behavior.{}.tolerance", side.words().rules)
}

impl FieldIgnored {
    /// Whether users may be able to set the gate. Someone has switched off one that is on by default.
    fn may_set(&self) -> bool {
        self.stage.is_settable() && (self.stage.is_on() || !self.is_managed)
    }

    /// Returns the finding, with the result of a pass that applies the tolerances.
    fn weighed(self, case: &Case<'_>, tolerances: &[(Direction, Quantity)]) -> Finding {
        if self.gate != FeatureGate::HPAConfigurableTolerance {
            return Finding::aside(Severity::Warning, self);
        }
        let without = case.other_answer(|snapshot| {
            if self.stage.is_settable() {
                snapshot.controller.gates[FeatureGate::HPAConfigurableTolerance] = true;
                for (side, tolerance) in tolerances {
                    set_tolerance(snapshot, *side, tolerance.clone());
                }
            } else if let Some(side) = side(case)
                && let Some((_, tolerance)) = tolerances.iter().find(|(of, _)| *of == side)
            {
                snapshot.controller.tolerance = tolerance.milli_value() as f64 / 1000.0;
            }
        });
        Finding::new(Severity::Warning, without.is_some(), self).without(without)
    }

    /// Returns the first field of a gate.
    fn of(path: String, gate: FeatureGate, dropped: bool, case: &Case<'_>) -> Self {
        let version = &case.snapshot.controller.version;
        Self {
            paths: vec![path],
            stated: true,
            dropped,
            gate,
            stage: gate.stage(version),
            on_in: gate.on_after(version),
            is_managed: is_managed(case.snapshot),
        }
    }
}

/// Returns the finding that a tolerance of 0 would add replicas, but the field needs a gate. Users who read about the
/// field may have set it, with no effect.
fn unused_tolerance(case: &Case<'_>) -> Option<Finding> {
    let side = tolerated(case).filter(|side| *side == Direction::Up)?;
    // If only a flag of the controller manager is known to switch the gate off, the API server has it on.
    let controller = &case.snapshot.controller;
    let gate = FeatureGate::HPAConfigurableTolerance;
    let is_dropped = !gate.stage(&controller.version).is_on();
    let facts = FieldIgnored {
        stated: false,
        ..FieldIgnored::of(tolerance_of(side), gate, is_dropped, case)
    };
    // With values assumed for pods, these are the place to look.
    if !facts.stage.is_settable() || controller.gates[gate] || is_filled(case.decision.winner()?) {
        return None;
    }
    case.other_answer(|snapshot| {
        snapshot.controller.gates[gate] = true;
        set_tolerance(snapshot, side, Quantity::from_milli(0, Format::DecimalSI));
    })?;
    Some(Finding::explaining(Severity::Info, facts))
}

/// Whether the control plane is known to be managed: EKS and GKE are recognized by the suffix of the version, AKS,
/// which has no suffix, by the names of its nodes (`aks-POOL-NUMBER-vmss000000`). Others are not recognized.
fn is_managed(snapshot: &Snapshot) -> bool {
    let has_suffix = |version: &str| ["-eks-", "-gke."].iter().any(|it| version.contains(it));
    let is_of_aks = |node: &str| node.starts_with("aks-") && node.contains("-vmss");
    snapshot.controller.version.stated().is_some_and(has_suffix)
        || snapshot
            .pods
            .iter()
            .any(|pod| pod.node.as_deref().is_some_and(is_of_aks))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::Code;
    use crate::findings::outside::testing::{settled, with_pods};
    use crate::findings::testing::{only, only_of, with};

    #[test]
    fn a_managed_control_plane() {
        let (azure, amazon) = (
            "aks-nodepool1-12345678-vmss000000",
            "ip-10-0-1-2.ec2.internal",
        );
        let google = "gke-prod-default-pool-1a2b3c4d-x7kq";
        for (version, node, want) in [
            ("v1.34.2", azure, true),
            ("v1.34.2-eks-0a1b2c3", amazon, true),
            ("v1.34.2-gke.1043", google, true),
            // A node of one's own in Azure, a name that only begins alike, and a pod without a node.
            ("v1.34.2", "k8s-agentpool1-12345678-vmss000000", false),
            ("v1.34.2", "aks-lab-1", false),
            ("v1.34.2", "", false),
        ] {
            let state = build::state(&json!({"memory": "unknown", "kubernetesVersion": version}));
            let mut items = with_pods([state, settled(4), build::scale(4)], 4, "54m");
            if !node.is_empty() {
                items = with(&items, "Pod", &json!({"spec": {"nodeName": node}}));
            }
            let (facts, _) = only_of::<FieldIgnored>(&items).expect("the tolerance");
            assert_eq!(facts.is_managed, want, "{version} {node}");
        }
    }

    #[test]
    fn a_field_that_the_version_does_not_have() {
        let tolerant = |uid: Option<&str>| {
            let metric = build::resource("cpu", &build::utilization(50));
            let behavior = json!({"scaleUp": {"tolerance": "0.01"}});
            let hpa = build::hpa(&json!({"metrics": [metric], "behavior": behavior}));
            build::with(hpa, &json!({"metadata": {"uid": uid}}))
        };
        // 54 % is within the tolerance of 10 %, but not within 1 %.
        let wide = json!({"spec": {"behavior": {"scaleUp": {"tolerance": "0.09"}}}});
        let (new, stored) = (tolerant(None), tolerant(Some("u")));
        let wide = build::with(new.clone(), &wide);
        for (version, gate, hpa, want) in [
            ("v1.34.2", None, &stored, Some((false, true, true))),
            ("v1.34.2", None, &new, Some((true, true, true))),
            ("v1.32.1", None, &new, Some((true, false, true))),
            ("v1.32.1", None, &stored, Some((false, false, true))),
            // It is within the tolerance of the field, too.
            ("v1.34.2", None, &wide, Some((true, true, false))),
            ("v1.32.1", None, &wide, Some((true, false, false))),
            ("v1.34.2", Some(true), &stored, None),
            ("v1.36.2", None, &stored, None),
            ("v1.36.2", Some(false), &stored, Some((false, true, true))),
            // The API server keeps it.
            (
                "v1.36.2",
                Some(false),
                &settled(4),
                Some((false, true, true)),
            ),
            // Without the field, it is what would change the answer.
            ("v1.34.2", None, &settled(4), Some((true, true, true))),
            ("v1.36.2", None, &settled(4), None),
        ] {
            let gates = gate.map_or(
                json!({}),
                |on: bool| json!({"HPAConfigurableTolerance": on}),
            );
            let state = build::state(&json!({
                "memory": "unknown", "kubernetesVersion": version, "featureGates": gates,
            }));
            let items = with_pods([state, hpa.clone(), build::scale(4)], 4, "54m");
            let got = only_of::<FieldIgnored>(&items).map(|(facts, it)| {
                let severity = if facts.stated {
                    Severity::Warning
                } else {
                    Severity::Info
                };
                assert_eq!(it.severity, severity);
                assert_eq!(facts.paths, ["spec.behavior.scaleUp.tolerance"]);
                assert_eq!(facts.on_in, (version != "v1.36.2").then_some(35));
                let more = it.without.and_then(|it| it.replicas) == Some(5);
                assert_eq!(more, it.explains && facts.stated);
                (facts.dropped, facts.stage.is_settable(), it.explains)
            });
            assert_eq!(got, want, "{version} {gate:?}");
        }
        // Below its target, no replica is missing: 4 × 0.96 rounds up to 4, whatever the tolerance is; 4 × 0.92 as
        // well, and 20 × 0.92 to 19. 20 × 1.08 is 21.6.
        for (count, replicas, cpu, want) in [
            (4, 4, "48m", false),
            (4, 4, "46m", false),
            (20, 20, "46m", false),
            (20, 20, "54m", true),
        ] {
            let state = build::state(&json!({"memory": "unknown", "kubernetesVersion": "v1.34.2"}));
            let hpa = build::with(settled(replicas), &json!({"spec": {"maxReplicas": 30}}));
            let items = with_pods([state, hpa, build::scale(replicas)], count, cpu);
            let found = only(Code::FieldIgnored, &items);
            assert_eq!(found.is_some(), want, "{count} {cpu}");
        }
        // With a pod without metrics at 0, 116 % of the target are 105 %.
        let state = build::state(&json!({"memory": "unknown", "kubernetesVersion": "v1.34.2"}));
        let hpa = build::with(settled(11), &json!({"spec": {"maxReplicas": 30}}));
        let mut items = with_pods([state, hpa, build::scale(11)], 11, "58m");
        let measured = |it: &Value| it["kind"] == "PodMetrics";
        let last = items.iter().rposition(measured).expect("metrics");
        items.remove(last);
        assert_eq!(only(Code::FieldIgnored, &items), None);
    }
}
