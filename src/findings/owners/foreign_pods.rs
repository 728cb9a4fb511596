//! The finding `foreign-pods`.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::decision::Group;
use crate::findings::about::{APART, names, them};
use crate::findings::case::Top;
use crate::findings::path::{rollout, scales_down};
use crate::findings::pods::is_alive;
use crate::findings::{
    About, Advice, Aspect, Before, Case, Finding, Kind, Rank, Remedy, Severity, Text,
};
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::{ScaleDown, Workload};
use crate::words::{amount, count, list, metric_format, percent, sentence};

/// Pods count that do not belong to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPods {
    /// These pods, by owner.
    pub of: Vec<OwnedPods>,
    /// Their part of what a metric measures.
    pub share: Option<Share>,
    /// Why pods of one template are those of two objects, if that is so.
    pub referred: Option<Referred>,
}

impl Kind for ForeignPods {
    type Hits = Option<Finding>;

    const CODE: &'static str = "foreign-pods";
    const WHEN: &'static str = "Pods are counted that the target does not own, as their owners show, or that it does \
             not count in its `status.replicas`.";
    const REMEDY: &'static str = "Give the other pods other labels where they are defined, or create the target anew with a selector of its own: selectors are immutable.";
    const RANK: Rank = Rank::Misconfigured;
    const IS: &'static [Aspect] = &[Aspect::NoValues, Aspect::Miscounts];

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let counted = case.pods_in(|group| group != Group::Ignored);
        let pods: Vec<(&Pod, Top<'_>)> = counted.map(|pod| (pod, case.top_owner(pod))).collect();
        let mut of: BTreeMap<Owner, Vec<Box<str>>> = BTreeMap::new();
        for (pod, top) in &pods {
            let owner = match top {
                Top::Other { kind, name } => Owner::Object(format!("{kind}/{name}")),
                Top::NoOne => Owner::NoOne,
                Top::Target | Top::Unknown => continue,
            };
            of.entry(owner).or_default().push(pod.name.clone());
        }
        if pods.iter().all(|(_, top)| *top == Top::Unknown) {
            of = not_counted_by_target(case, &pods);
        }
        if of.is_empty() {
            return None;
        }
        let names: Names<&str> = of.values().flatten().map(|name| &**name).collect();
        let (share, without) = (
            share(case, &names),
            case.without_pods(|pod| names.contains(&pod.name)),
        );
        let is_referred = |it: &Referred| of.keys().all(|owner| it.owns(owner));
        let referred = Referred::of(case).filter(is_referred);
        let of = of
            .into_iter()
            .map(|(owner, pods)| OwnedPods { owner, pods })
            .collect();
        let facts = ForeignPods {
            of,
            share,
            referred,
        };
        Some(case.weigh(facts, without, Severity::Warning))
    }

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
            let format = metric_format(step);
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

/// A Rollout whose template is that of a workload (`spec.workloadRef`), both of which have pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referred {
    /// The Rollout.
    pub rollout: CrossVersionObjectReference,
    /// The workload.
    pub workload: CrossVersionObjectReference,
    /// Whether the Rollout is the target.
    pub is_target: bool,
    /// What it does with the replicas of the workload, if that is stated.
    pub scale_down: Option<ScaleDown>,
    /// Another HPA, which scales the Rollout.
    pub hpa: Option<String>,
}

impl Referred {
    fn of(case: &Case<'_>) -> Option<Self> {
        let target = case.workload()?;
        let of = |rollout: &Workload, is_target: bool| {
            let mut others = case.snapshot().stored_hpas();
            let other = others.find(|it| it.hpa.reference() == rollout.reference());
            Some(Self {
                rollout: rollout.to_reference(),
                workload: (**rollout.template_of.as_ref()?).clone(),
                is_target,
                scale_down: rollout.scale_down,
                hpa: other.map(|it| it.hpa.name.clone()).filter(|_| !is_target),
            })
        };
        of(target, true).or_else(|| of(rollout(case)?, false))
    }

    /// Whether it is the owner of some pods.
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

/// The pods of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedPods {
    /// The owner.
    pub owner: Owner,
    /// Its pods, by name.
    pub pods: Vec<Box<str>>,
}

/// The owner of some pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// This object, `Kind/name`, at the top of the owners.
    Object(String),
    /// This object, which may have owners of its own; the target does not count the pods in
    /// `status.replicas`.
    NotCounted(String),
    /// No one.
    NoOne,
}

/// A part of what a metric measures, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The metric, by index in the spec.
    pub metric: usize,
    /// What these pods use.
    pub theirs: i64,
    /// What all counted pods use.
    pub all: i64,
}

/// Returns the pods that the target itself does not count in `status.replicas`, if the pods of exactly one
/// owner make up that number, and nothing has changed recently.
fn not_counted_by_target(
    case: &Case<'_>,
    pods: &[(&Pod, Top<'_>)],
) -> BTreeMap<Owner, Vec<Box<str>>> {
    let mut of: BTreeMap<Owner, Vec<Box<str>>> = BTreeMap::new();
    let period = case.snapshot().controller.cpu_initialization_period;
    for (pod, _) in pods {
        let is_settled = is_alive(pod) && case.age(pod).is_some_and(|age| age > period);
        let Some(owner) = pod.owner.as_deref().filter(|_| is_settled) else {
            return BTreeMap::new();
        };
        let owner = Owner::NotCounted(format!("{}/{}", owner.kind, owner.name));
        of.entry(owner).or_default().push(pod.name.clone());
    }
    let scale = case
        .scale()
        .filter(|scale| scale.spec_replicas == scale.status_replicas);
    let replicas = scale.and_then(|scale| usize::try_from(scale.status_replicas).ok());
    let before = of.len();
    of.retain(|_, pods| Some(pods.len()) != replicas);
    if of.len() + 1 == before {
        of
    } else {
        BTreeMap::new()
    }
}

/// Returns the share of some pods in the first metric that has values of pods.
pub(crate) fn share(case: &Case<'_>, names: &Names<&str>) -> Option<Share> {
    case.metrics().find_map(|step| {
        let counted = step.pods.iter().filter(|row| row.group == Group::Ready);
        let (mut theirs, mut all) = (0i64, 0i64);
        for row in counted {
            let value = row.value?;
            all = all.checked_add(value)?;
            if names.contains(&case.pod_of(row).name) {
                theirs = theirs.checked_add(value)?;
            }
        }
        (theirs > 0).then_some(Share {
            metric: step.index,
            theirs,
            all,
        })
    })
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

impl ForeignPods {
    /// Returns the names of the pods.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let pods = self.of.iter().flat_map(|of| &of.pods);
        pods.map(|name| &**name).collect()
    }
}
