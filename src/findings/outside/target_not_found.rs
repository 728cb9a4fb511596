//! The finding `target-not-found`.

use serde_json::json;

use crate::apimachinery::names::{nearest_object, shell_word};
use crate::engine::decision::Block;
use crate::findings::{About, Before, Case, Finding, Kind, Rank, Remedy, Severity, Text};
use crate::saved::assemble::{has_own_scale, resource_of};
use crate::snapshot::ScaleError;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::surroundings::{TargetElsewhere, Workload};

/// The target or its scale does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetNotFound {
    /// What is missing.
    pub missing: Missing,
    /// What the API server says, or would say.
    pub error: String,
    /// Whether only the input lacks it, and the API server has said nothing.
    pub is_assumed: bool,
    /// What was probably meant.
    pub meant: Option<CrossVersionObjectReference>,
    /// The same in another namespace.
    pub elsewhere: Option<TargetElsewhere>,
}

impl Kind for TargetNotFound {
    type Hits = Option<Finding>;

    const CODE: &'static str = "target-not-found";
    const WHEN: &'static str = "The target of the HPA, its kind or its scale does not exist.";
    const REMEDY: &'static str = "Correct `scaleTargetRef`, or create the target.";
    const RANK: Rank = Rank::Broken;
    const ENDS: Option<Block> = Some(Block::NoScale);

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let target = case.target();
        // The controller has said so itself, or the input has other objects of the kind.
        let status = &case.snapshot().hpa.status.conditions;
        let mut told = status.iter().filter(|it| it.reason == "FailedGetScale");
        let is_listed = || {
            case.surroundings()
                .workloads
                .iter()
                .any(|it| it.is_kind_of(target))
        };
        let is_assumed = case.surroundings().lacks_scale
            && !told.any(|it| it.message.contains("not found"))
            && !is_listed();
        let (missing, error) = match &case.snapshot().scale {
            Err(ScaleError::Mapping(error)) if error.starts_with("no matches for kind") => {
                (Missing::Kind, error)
            }
            Err(ScaleError::Get(error)) if error.ends_with("not found") => (not_found(case), error),
            Err(ScaleError::Get(error))
                if error.contains("could not find the requested resource") =>
            {
                (Missing::Scale, error)
            }
            _ => return None,
        };
        let known = || {
            case.surroundings()
                .workloads
                .iter()
                .filter(|it| it.is_scalable())
        };
        let is_own = |it: &Workload| it.kind == target.kind && it.group == target.group();
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
        };
        let meant = meant.map(Workload::to_reference);
        let elsewhere = case.surroundings().target_elsewhere.clone();
        let facts = TargetNotFound {
            missing,
            error: error.clone(),
            is_assumed,
            meant,
            elsewhere,
        };
        Some(Finding::explaining(Severity::Error, facts))
    }

    fn text(&self, about: &About<'_>) -> Text {
        let target = &about.hpa().spec.scale_target_ref;
        let summary = match self.missing {
            Missing::Kind => format!(
                "the API server has no kind {} in the group {:?}, so nothing can be computed",
                target.kind,
                target.group()
            ),
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
                "the kind {} has no scale, so the target {target} cannot be scaled",
                target.kind
            ),
        };
        let mut evidence = vec![if self.is_assumed {
            format!("The API server is assumed to say: {}.", self.error)
        } else {
            format!("The API server says: {}.", self.error)
        }];
        let resource = shell_word(&resource_of(target.group(), &target.kind));
        let mut commands = vec![match self.missing {
            Missing::Kind | Missing::Scale => "kubectl api-resources --namespaced".into(),
            Missing::Object | Missing::ObjectOrScale => {
                format!("kubectl get {resource} {}", about.namespace()).into()
            }
        }];
        let mut objects = about.own();
        let reference = about.field("scaleTargetRef");
        let advice = match (&self.meant, &self.elsewhere) {
            (_, Some(elsewhere)) => {
                evidence.push(format!("{elsewhere}."));
                Remedy::CreateThere.says(match (&elsewhere.hpa_namespace, &elsewhere.object_namespace) {
                    (Some(own), None) => format!(
                        "State the namespace {own} in {} too: an HPA scales only in its own namespace.",
                        elsewhere.object
                    ),
                    (_, namespace) => format!(
                        "Create the HPA in the namespace {}, where {} is: it scales only in its own.",
                        namespace.as_ref().unwrap_or(&elsewhere.default_namespace),
                        elsewhere.object
                    ),
                })
            }
            (Some(meant), None) => {
                let version = &meant.api_version;
                evidence.push(format!("There is {meant} ({version})."));
                objects.push(format!("{}/{}", meant.kind.to_lowercase(), meant.name));
                let patch = json!({"scaleTargetRef": {
                    "apiVersion": version, "kind": meant.kind, "name": meant.name,
                }});
                commands.splice(0..0, about.patch_spec(&patch));
                let version = if *version == target.api_version { String::new() } else { format!(" ({version})") };
                Remedy::PointAt
                    .says(format!("Point {reference} at {meant}{version}, if that is meant."))
            }
            (None, None) => Remedy::CorrectReference.says(match self.missing {
                Missing::Scale => {
                    format!("Point {reference} at an object that has the subresource scale.")
                }
                Missing::Kind => format!("Correct {reference}, or install what provides the kind."),
                Missing::Object | Missing::ObjectOrScale if self.is_assumed => {
                    format!("Add the target to the input, or correct {reference}.")
                }
                Missing::ObjectOrScale => format!(
                    "Correct {reference}, create the target, or add the subresource scale to its kind."
                ),
                Missing::Object => format!("Correct {reference}, or create the target."),
            }),
        };
        Text {
            summary,
            evidence,
            advice,
            commands,
            objects,
        }
    }
}

/// What is missing about a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// No kind of that name is served in that group.
    Kind,
    /// No such object exists.
    Object,
    /// No such object exists, or its kind has no scale: the API server answers the same to both.
    ObjectOrScale,
    /// The kind has no scale.
    Scale,
}

/// Returns what is missing if the API server does not find the scale of the target. It says of a custom resource
/// without a scale what it says of one that does not exist (`crdHandler.ServeHTTP` of apiextensions-apiserver).
fn not_found(case: &Case<'_>) -> Missing {
    let target = case.target();
    match case.surroundings().serves_scale {
        Some(false) => Missing::Scale,
        Some(true) => Missing::Object,
        None if has_own_scale(target.group(), &target.kind) => Missing::Object,
        None => Missing::ObjectOrScale,
    }
}
