//! Reads objects that create pods.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Error, IgnoredAny};
use serde_json::value::RawValue;

use super::source::{SourceText, part, read_raw};
use crate::apimachinery::json::unique_map;
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::selector::LabelSelector;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::{
    Ordinals, ScaleDown, UpdateStrategy, Workload, WorkloadStatus,
};

/// What the status of a workload states. A count of zero is omitted, but then the controller has stated the generation
/// that it observed, or an API server has written an empty status.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StatedStatus {
    replicas: Option<i32>,
    observed_generation: Option<IgnoredAny>,
}

/// The spec of a workload.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WorkloadSpecFields<'r> {
    replicas: Option<i32>,
    #[serde(borrow)]
    selector: Option<&'r RawValue>,
    strategy: Option<UpdateStrategy>,
    update_strategy: Option<UpdateStrategy>,
    ordinals: Option<Ordinals>,
    paused: Option<bool>,
    template: Option<Pod>,
    workload_ref: Option<WorkloadRef>,
}

/// `workloadRef` of a Rollout.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WorkloadRef {
    api_version: String,
    kind: String,
    name: String,
    scale_down: String,
}

impl WorkloadRef {
    /// Returns the object that has the template.
    fn object(self) -> CrossVersionObjectReference {
        CrossVersionObjectReference {
            kind: self.kind,
            name: self.name,
            api_version: self.api_version,
        }
    }
}

/// Reads the fields of an object that creates pods.
pub(super) fn workload<E: Error>(
    fields: &BTreeMap<String, &RawValue>,
    source: SourceText<'_>,
    api_version: &str,
    kind: &str,
) -> Result<Workload, E> {
    let spec: WorkloadSpecFields<'_> = part(fields, "spec", source)?;
    let WorkloadSpecFields {
        replicas,
        ordinals,
        paused,
        template,
        ..
    } = spec;
    let workload_ref = spec
        .workload_ref
        .filter(|_| kind == "Rollout" && template.is_none());
    let scale_down = workload_ref
        .as_ref()
        .and_then(|it| ScaleDown::read(&it.scale_down));
    let template_of = workload_ref.map(|it| Box::new(it.object()));
    let strategy = match kind {
        "Deployment" => spec.strategy.map(UpdateStrategy::without_rollout),
        "StatefulSet" => spec.update_strategy.map(UpdateStrategy::without_rollout),
        "Rollout" => spec.strategy,
        _ => None,
    };
    let selector = match spec.selector {
        None => None,
        Some(raw) if kind == "ReplicationController" => selector_of_controller(raw, source)?,
        Some(raw) => Some(read_raw(raw, source)?),
    };
    let default = default_selector(api_version, kind, template.as_ref());
    // Up to 1.15, both groups served the same objects.
    let group = match api_version.split_once('/') {
        Some(("extensions", _)) => "apps",
        Some((group, _)) => group,
        None => "",
    };
    let status: WorkloadStatus = part(fields, "status", source)?;
    let stated: StatedStatus = part(fields, "status", source)?;
    let metadata: Metadata = part(fields, "metadata", source)?;
    let is_written = !metadata.uid.is_empty() && fields.contains_key("status");
    let omitted = stated.observed_generation.map(|_| 0);
    let stated_or_omitted = stated.replicas.or(omitted).or(status.hpa_replicas);
    let counted = stated_or_omitted.or(is_written.then_some(0));
    let has_updated = matches!(kind, "Deployment" | "StatefulSet" | "Rollout");
    let updated_replicas = status.updated_replicas.or(omitted.filter(|_| has_updated));
    Ok(Workload {
        group: group.to_owned(),
        kind: kind.to_owned(),
        metadata,
        replicas,
        selector: selector.or(default),
        strategy,
        ordinals,
        paused,
        template_of,
        scale_down,
        template: template.map(Box::new),
        status: counted.map(|replicas| WorkloadStatus {
            replicas,
            ready_replicas: status.ready_replicas.or(omitted),
            updated_replicas,
            hpa_replicas: status.hpa_replicas.filter(|_| kind == "Rollout"),
            selector: status.selector.filter(|_| kind == "Rollout"),
            ..status
        }),
    })
}

/// Reads the selector of a ReplicationController; an empty one counts as absent.
fn selector_of_controller<E: Error>(
    raw: &RawValue,
    source: SourceText<'_>,
) -> Result<Option<LabelSelector>, E> {
    #[derive(Default, Deserialize)]
    #[serde(transparent)]
    struct StringMap(#[serde(deserialize_with = "unique_map")] BTreeMap<String, String>);
    let StringMap(match_labels) = read_raw(raw, source)?;
    Ok(selector_of(match_labels))
}

/// Returns the selector that the API server makes of the labels of the template if an object of this version states none
/// (`SetDefaults_ReplicationController`, `SetDefaults_Deployment` and others up to 1.15).
fn default_selector(
    api_version: &str,
    kind: &str,
    template: Option<&Pod>,
) -> Option<LabelSelector> {
    let has_default = kind == "ReplicationController"
        || matches!(api_version, "apps/v1beta1" | "extensions/v1beta1");
    let labels = template.filter(|_| has_default)?.labels.iter();
    let owned = labels.map(|(key, value)| (key.into(), value.into()));
    selector_of(owned.collect())
}

fn selector_of(match_labels: BTreeMap<String, String>) -> Option<LabelSelector> {
    (!match_labels.is_empty()).then(|| LabelSelector {
        match_labels,
        ..LabelSelector::default()
    })
}
