//! Words findings about the selector of the target, and whose pods it matches.

use super::command::Command;
use super::path::scales_down;
use super::remedy::Remedy;
use super::requests::names_of;
use super::{APART, About, Advice, Text, Words, names, them};
use crate::findings::owners::{
    ForeignPods, OldRevisionPods, OwnedPods, Owner, Referred, SelectorMatchesNothing,
    SelectorMissing, SharedPods,
};
use crate::report::format_of;
use crate::report::words::{amount, count, list, percent, sentence};
use crate::snapshot::surroundings::ScaleDown;

/// Returns what to do about a selector that does not select the pods of the target.
fn selector_advice(about: &About<'_>) -> Advice {
    match about.hpa().spec.scale_target_ref.group() {
        "" | "apps" => {
            Remedy::SelectOwn.says(format!("Have {} select its pods.", about.hpa().reference()))
        }
        _ => Remedy::SelectOwn
            .says("Report it to the authors of its operator, or scale another object."),
    }
}

impl About<'_> {
    /// Shows the selector of the scale.
    fn show_selector(&self) -> Command {
        let (target, namespace) = (self.target(), self.namespace());
        format!(
            "kubectl get {target} {namespace} --subresource=scale \
             -o jsonpath='{{.status.selector}}'"
        )
        .into()
    }
}

impl Words for SelectorMissing {
    fn text(&self, about: &About<'_>) -> Text {
        let target = about.hpa().reference();
        let summary = match &*self.selector {
            "" => format!("the scale of {target} has no selector, so the HPA cannot find its pods"),
            selector => format!("the selector of {target} cannot be read: {selector}"),
        };
        Text {
            summary,
            evidence: vec![
                "The controller takes the selector from status.selector of the scale, and looks \
                 at no metric without it."
                    .to_owned(),
            ],
            advice: selector_advice(about),
            commands: vec![about.show_selector()],
            objects: vec![about.target()],
        }
    }
}

impl Words for SelectorMatchesNothing {
    fn text(&self, about: &About<'_>) -> Text {
        let target = about.hpa().reference();
        let replicas = count(self.replicas, "replica");
        let mut evidence = vec![format!("Selector: {}.", self.selector)];
        if !self.own.is_empty() {
            evidence.push(format!("Pods of {target}: {}.", names(&self.own)));
        }
        for lacking in &self.lacking {
            let (key, wanted) = (&lacking.key, &lacking.wanted);
            evidence.push(match &lacking.found {
                Some(found) => format!("They have {key}={found} instead of {key}={wanted}."),
                None => format!("They have no label {key}, which must be {wanted}."),
            });
        }
        let summary = match &*self.others {
            [] => format!(
                "the selector of {target} matches no pod, although it says it has {replicas}"
            ),
            others => {
                evidence.push(format!("It matches pods of others: {}.", names(others)));
                format!("the selector of {target} matches none of its pods, but those of others")
            }
        };
        Text {
            summary,
            evidence,
            advice: selector_advice(about),
            commands: vec![
                about.show_selector(),
                format!("kubectl get pods {} --show-labels", about.namespace()).into(),
            ],
            objects: vec![about.target()],
        }
    }
}

impl Words for SharedPods {
    fn text(&self, about: &About<'_>) -> Text {
        let others: Vec<&str> = self.others.iter().map(|other| &*other.name).collect();
        let hpas = if others.len() == 1 { "HPA" } else { "HPAs" };
        let pods = count(self.pods.len(), "pod");
        let own = about.hpa().reference();
        let mut evidence = Vec::new();
        let selector = about.pass.input.snapshot.scale.as_ref().ok();
        evidence.extend(selector.map(|it| format!("{own}: {}.", it.selector.as_str())));
        evidence.extend(self.others.iter().map(|other| {
            format!(
                "{} of HPA {}: {}.",
                other.target, other.name, other.selector
            )
        }));
        let all = if others.len() == 1 {
            "Both"
        } else {
            "All of them"
        };
        evidence.push(format!("{all} match {}.", names(&self.pods)));
        if self.is_refused {
            evidence.push(
                "The controller scales none of the HPAs whose selectors match the same pods."
                    .to_owned(),
            );
        }
        let is_one_target = self.others.iter().any(|other| other.target == own);
        let advice = if is_one_target && let Some((object, hpa)) = &self.of_keda {
            Remedy::KeepOneHpa.says(format!(
                "Keep {hpa}, which KEDA creates, and move the metrics of the others to ScaledObject/{object}."
            ))
        } else if is_one_target {
            Remedy::KeepOneHpa
                .says("Keep one HPA for the target, and give it the metrics of the others.")
        } else {
            Remedy::LabelApart
                .says("Give the pods of each target their own labels, and select by those.")
        };
        let effect = if self.is_refused {
            ", so it cannot scale"
        } else if self.others.iter().any(|other| other.target == own) {
            ", which scales the same target"
        } else {
            ""
        };
        let belong = if self.pods.len() == 1 {
            "belongs"
        } else {
            "belong"
        };
        Text {
            summary: format!(
                "{pods} {belong} to this HPA and to {hpas} {}{effect}",
                names(&others)
            ),
            evidence,
            advice,
            commands: about.list_pods("--show-labels").into_iter().collect(),
            objects: others.iter().map(|name| format!("hpa/{name}")).collect(),
        }
    }
}

impl Words for ForeignPods {
    fn text(&self, about: &About<'_>) -> Text {
        let all: Vec<&str> = self
            .of
            .iter()
            .flat_map(|of| &of.pods)
            .map(|name| &**name)
            .collect();
        let pods = count(all.len(), "pod");
        let target = about.hpa().reference();
        let owners: Vec<String> = self.of.iter().map(|of| of.owner.whose()).collect();
        let mut evidence: Vec<String> = self
            .of
            .iter()
            .map(|OwnedPods { owner, pods }| {
                format!("{}: {}.", sentence(&owner.whose()), names(pods))
            })
            .collect();
        let counted = self
            .of
            .iter()
            .any(|of| matches!(of.owner, Owner::NotCounted(_)));
        if counted && let Ok(scale) = &about.pass.input.snapshot.scale {
            evidence.push(format!(
                "{target} does not count {}: its status.replicas is {}.",
                them(all.len()),
                scale.status_replicas
            ));
        }
        if let Some(share) = self.share
            && let Some(step) = about.step(share.metric)
        {
            let format = format_of(step);
            let use_ = if all.len() == 1 {
                "It uses"
            } else {
                "They use"
            };
            evidence.push(format!(
                "{use_} {} of the {} that {} counts ({}).",
                amount(share.theirs, format),
                amount(share.all, format),
                about.label(share.metric),
                percent(share.theirs as f64 / share.all as f64)
            ));
        }
        evidence.extend(about.otherwise(&format!("Without {}", them(all.len()))));
        let advice = match &self.referred {
            None => Remedy::LabelApart.says(APART),
            Some(referred) => {
                evidence.push(format!(
                    "Both have one template: {} refers to {} (spec.workloadRef).",
                    referred.rollout, referred.workload
                ));
                evidence.push(scales_down(&referred.rollout, referred.scale_down));
                referred.advice(about)
            }
        };
        let counted = if all.len() == 1 {
            "is counted"
        } else {
            "are counted"
        };
        let (owners, effect) = (list(&owners), about.cost());
        Text {
            summary: format!("{pods} {owners} {counted} for {target}{effect}"),
            evidence,
            advice,
            commands: about.list_pods("--show-labels").into_iter().collect(),
            objects: all.iter().map(|name| format!("pod/{name}")).collect(),
        }
    }
}

impl Referred {
    /// Returns what to do about a workload and a Rollout that both run its template.
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
                "Set spec.workloadRef.scaleDown of {rollout} to progressively, or scale {workload} to 0."
            )),
            (false, _, Some(hpa)) => Remedy::EndReferred.says(format!(
                "Let {rollout} take over, which the HPA {hpa} scales: {workload} runs the same pods beside it."
            )),
            (false, _, None) => Remedy::PointAtRollout.says(format!(
                "Point {} at {rollout}, which takes over these pods.",
                about.field("scaleTargetRef")
            )),
        }
    }
}

impl Owner {
    /// Words whose a pod is, to follow its name.
    fn whose(&self) -> String {
        match self {
            Self::Object(object) | Self::NotCounted(object) => format!("of {object}"),
            Self::NoOne => "without an owner".to_owned(),
        }
    }
}

impl Words for OldRevisionPods {
    fn text(&self, about: &About<'_>) -> Text {
        let all: usize = self.revisions.iter().map(|it| it.pods).sum();
        let each: Vec<String> = self
            .revisions
            .iter()
            .map(|it| {
                let current = if it.is_current { " (current)" } else { "" };
                format!("{} of {}{current}", it.pods, it.hash)
            })
            .collect();
        let beyond = count(self.beyond.len(), "pod");
        let mut evidence = vec![format!("Pods by revision: {}.", list(&each))];
        if self.keeps_stable {
            evidence.push(
                "While something else shifts the traffic to a canary, Argo Rollouts keeps all stable pods."
                    .to_owned(),
            );
        }
        evidence.extend(about.otherwise(&format!("Without the {beyond} beyond spec.replicas")));
        let target = about.target();
        let is_deployment = target.starts_with("deployment/");
        let command = if about.is_paused() {
            about.resume()
        } else if is_deployment {
            about.rollout_status(&[])
        } else {
            about.list_pods("--show-labels")
        };
        let advice = if about.is_paused() {
            Remedy::Resume.says("Resume the rollout, which is paused.")
        } else if is_deployment {
            about.after_rollout(&[], "", "set a smaller maxSurge")
        } else {
            let smaller = if self.keeps_stable {
                "set dynamicStableScale of the canary"
            } else {
                "keep fewer pods of other revisions"
            };
            about.after_rollout(&names_of(&self.beyond), "", smaller)
        };
        Text {
            summary: format!(
                "{all} pods of {} revisions are counted for {}{}",
                self.revisions.len(),
                count(self.replicas, "replica"),
                about.cost()
            ),
            evidence,
            advice,
            commands: command.into_iter().collect(),
            objects: vec![target],
        }
    }
}
