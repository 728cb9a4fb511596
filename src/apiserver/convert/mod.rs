//! Converts a HorizontalPodAutoscaler of any version from JSON to the shape of `autoscaling/v2`. It sets no
//! defaults and checks only types. Reading is as lax as Go's decoder (unknown fields are skipped, null is
//! the zero value); losses in the conversion are noted. Follows the conversions in upstream's
//! `pkg/apis/autoscaling/{v1,v2beta1,v2beta2,v2}`, the betas as of 1.35.

mod annotations;
mod fields;
mod legacy;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::metadata::ObjectMeta;
use crate::apimachinery::annotations::KEDA_OWNERSHIP;
use crate::apimachinery::json::{DecodeError, decode, optional_time};
use crate::apimachinery::metadata::Condition;
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::tool::Tool;
use crate::snapshot::hpa::{
    Behavior, CrossVersionObjectReference, Hpa, HpaSpec, HpaStatus, MAX_METRICS, MetricSpec,
    MetricStatus, MetricValueStatus, ResourceMetricStatus, ScalingRules,
};
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::written::Written;
use annotations::read_annotation;
pub(crate) use fields::{BEHAVIOR, ObjectShape, unknown_fields, unknown_in_workload, unknown_of};
pub use fields::{UnknownField, UnknownFields};

/// The supported versions of a HorizontalPodAutoscaler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HpaVersion {
    /// `autoscaling/v1`: a CPU percentage, and the rest in annotations.
    V1,
    /// `autoscaling/v2beta1`: flat metrics; served through 1.24.
    V2beta1,
    /// `autoscaling/v2beta2`: as v2, without tolerances; served through 1.25.
    V2beta2,
    /// `autoscaling/v2`.
    V2,
}

impl HpaVersion {
    /// All versions, the oldest first.
    pub const ALL: [Self; 4] = [Self::V1, Self::V2beta1, Self::V2beta2, Self::V2];

    /// The version as in `apiVersion`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "autoscaling/v1",
            Self::V2beta1 => "autoscaling/v2beta1",
            Self::V2beta2 => "autoscaling/v2beta2",
            Self::V2 => "autoscaling/v2",
        }
    }
}

/// A HorizontalPodAutoscaler as it was read, neither defaulted nor validated.
#[derive(Debug, Clone, PartialEq)]
pub struct HpaObject {
    /// The version in which it was written.
    pub version: HpaVersion,
    /// Identity, labels, annotations. A name and namespace may be missing.
    pub metadata: ObjectMeta,
    /// The spec in the shape of `autoscaling/v2`.
    pub spec: HpaSpec,
    /// The status in the shape of `autoscaling/v2`.
    pub status: HpaStatus,
    /// Notes about what was ignored while reading.
    pub notes: Vec<Note>,
}

impl HpaObject {
    /// Whether an API server has accepted the object, that is, it has a `uid`.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        !self.metadata.uid.is_empty()
    }

    /// Returns the part that the controller sees. [`to_json`] is the inverse.
    #[must_use]
    pub fn into_hpa(self) -> Hpa {
        let ownership = self.metadata.annotations.get(KEDA_OWNERSHIP);
        let accepts_scaled_objects = ownership.is_some_and(|text| text == "false");
        let mut owners = self.metadata.owner_references.into_iter();
        let mut written = Written::new(
            self.metadata.creation_timestamp,
            &self.metadata.managed_fields,
        );
        let marked = Tool::of_marks(|key| self.metadata.annotations.contains_key(key));
        written.tool = written.tool.or(marked);
        Hpa {
            owner: owners.find(|owner| owner.controller == Some(true)),
            name: self.metadata.name,
            namespace: self.metadata.namespace,
            uid: Some(self.metadata.uid).filter(|uid| !uid.is_empty()),
            resource_version: self.metadata.resource_version,
            written,
            deletion_timestamp: self.metadata.deletion_timestamp,
            accepts_scaled_objects,
            generation: Some(self.metadata.generation).filter(|generation| *generation != 0),
            labels: self.metadata.labels.into_iter().collect(),
            spec: self.spec,
            status: self.status,
        }
    }
}

/// Reads a HorizontalPodAutoscaler of any version from JSON, and notes unknown fields,
/// such as those of a newer API.
///
/// # Errors
/// The text is not JSON, its version is not supported, a field has a value of the wrong type, or there are more than
/// [`MAX_METRICS`], which is a limit of this program.
pub fn hpa_from_json(json: &str) -> Result<HpaObject, DecodeError> {
    hpa_with_unknown_fields(json).map(noted)
}

/// Reads an item of a list in the same way, in the version of the list. As in client-go, the item's own `apiVersion`
/// and `kind` are ignored.
///
/// # Errors
/// The same as for [`hpa_from_json`].
pub(crate) fn item_from_json(json: &str, version: HpaVersion) -> Result<HpaObject, DecodeError> {
    of_version(json, version).map(noted)
}

/// Adds notes about the unknown fields of an object.
fn noted((mut object, unknown): (HpaObject, UnknownFields)) -> HpaObject {
    if !unknown.is_empty() {
        let UnknownFields { first, more } = unknown;
        let paths: Vec<String> = first.into_iter().map(|field| field.path).collect();
        let more = if more > 0 {
            format!(", and {more} more")
        } else {
            String::new()
        };
        let text = format!(
            "unknown and ignored, so the answer may be incomplete: {}{more}",
            paths.join(", ")
        );
        object.notes.push(Note::about(Subject::UnknownFields, text));
    }
    object
}

/// Reads a HorizontalPodAutoscaler in the same way, and returns the unknown fields separately.
///
/// # Errors
/// The same as for [`hpa_from_json`].
pub fn hpa_with_unknown_fields(json: &str) -> Result<(HpaObject, UnknownFields), DecodeError> {
    let TypeMeta { api_version, kind } = decode(json)?;
    if kind != "HorizontalPodAutoscaler" {
        let message = format!("{kind:?} is not \"HorizontalPodAutoscaler\"");
        return Err(DecodeError::new("kind", message));
    }
    let Some(version) = HpaVersion::ALL
        .into_iter()
        .find(|v| v.as_str() == api_version)
    else {
        let known = HpaVersion::ALL.map(HpaVersion::as_str).join(", ");
        let message = format!("unsupported version {api_version:?} (supported: {known})");
        return Err(DecodeError::new("apiVersion", message));
    };
    of_version(json, version)
}

fn of_version(json: &str, version: HpaVersion) -> Result<(HpaObject, UnknownFields), DecodeError> {
    let object = match version {
        HpaVersion::V1 => decode(json).map(from_v1),
        HpaVersion::V2beta1 => decode(json).map(from_v2beta1),
        HpaVersion::V2beta2 => decode(json).and_then(from_v2beta2),
        HpaVersion::V2 => {
            decode::<VersionedHpa<HpaSpec, HpaStatus>>(json).map(|object| object.convert(version))
        }
    }?;
    let metrics = object.spec.metrics.len();
    if metrics > MAX_METRICS {
        return Err(DecodeError::new(
            "spec.metrics",
            too_many("metrics", metrics),
        ));
    }
    let unknown = unknown_fields(&decode(json)?, version);
    Ok((object, unknown))
}

/// Returns the error for more metrics than are evaluated, with the remedy.
pub(crate) fn too_many(what: &str, count: usize) -> String {
    format!(
        "{count} {what}; at most {MAX_METRICS} are evaluated here, because the controller requests each of them in \
         each pass: combine them into one metric, such as a sum or a maximum"
    )
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TypeMeta {
    api_version: String,
    kind: String,
}

/// The JSON of an HPA in `autoscaling/v2`, limited to what a pass uses.
pub(crate) fn to_json(hpa: &Hpa) -> impl Serialize + PartialEq {
    let metadata = ObjectMeta {
        name: hpa.name.clone(),
        namespace: hpa.namespace.clone(),
        uid: hpa.uid.clone().unwrap_or_default(),
        resource_version: hpa.resource_version.clone(),
        generation: hpa.generation.unwrap_or_default(),
        creation_timestamp: hpa.written.created,
        deletion_timestamp: hpa.deletion_timestamp,
        labels: hpa
            .labels
            .iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        managed_fields: hpa.written.managed_fields(),
        annotations: hpa
            .accepts_scaled_objects
            .then(|| (KEDA_OWNERSHIP.to_owned(), "false".to_owned()))
            .into_iter()
            .collect(),
        owner_references: hpa.owner.iter().cloned().collect(),
        ..ObjectMeta::default()
    };
    VersionedHpa {
        metadata,
        spec: &hpa.spec,
        status: &hpa.status,
    }
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    bound(deserialize = "Spec: Default + Deserialize<'de>, Status: Default + Deserialize<'de>")
)]
struct VersionedHpa<Spec, Status> {
    metadata: ObjectMeta,
    spec: Spec,
    status: Status,
}

impl<Spec: Into<HpaSpec>, Status: Into<HpaStatus>> VersionedHpa<Spec, Status> {
    /// Converts the parts that each version has.
    fn convert(self, version: HpaVersion) -> HpaObject {
        HpaObject {
            version,
            metadata: self.metadata,
            spec: self.spec.into(),
            status: self.status.into(),
            notes: Vec::new(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct V1Spec {
    scale_target_ref: CrossVersionObjectReference,
    min_replicas: Option<i32>,
    max_replicas: i32,
    #[serde(rename = "targetCPUUtilizationPercentage")]
    target_cpu_utilization_percentage: Option<i32>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct V1Status {
    observed_generation: Option<i64>,
    #[serde(with = "optional_time")]
    last_scale_time: Option<Timestamp>,
    current_replicas: i32,
    desired_replicas: i32,
    #[serde(rename = "currentCPUUtilizationPercentage")]
    current_cpu_utilization_percentage: Option<i32>,
}

/// `Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler`.
fn from_v1(object: VersionedHpa<V1Spec, V1Status>) -> HpaObject {
    let mut hpa = object.convert(HpaVersion::V1);
    let (annotations, notes) = (&hpa.metadata.annotations, &mut hpa.notes);
    if let Some(metrics) =
        read_annotation::<Vec<legacy::spec::Metric>>(annotations, "metrics", notes)
    {
        // The percentage of the spec, if there is one, comes last.
        let converted = metrics.into_iter().map(MetricSpec::from);
        hpa.spec.metrics.splice(..0, converted);
    }
    hpa.spec.behavior = read_annotation(annotations, "behavior", notes)
        .filter(|behavior| *behavior != Behavior::default());
    if let Some(statuses) = read_annotation(annotations, "current-metrics", notes) {
        hpa.status.current_metrics = Some(converted(statuses));
    }
    if let Some(conditions) = read_annotation(annotations, "conditions", notes) {
        hpa.status.conditions = conditions;
    }
    hpa
}

/// Converts the statuses of flat metrics.
fn converted(statuses: Vec<legacy::status::Metric>) -> Vec<MetricStatus> {
    statuses.into_iter().map(MetricStatus::from).collect()
}

impl From<V1Spec> for HpaSpec {
    fn from(spec: V1Spec) -> Self {
        let percentage = spec.target_cpu_utilization_percentage;
        Self {
            scale_target_ref: spec.scale_target_ref,
            min_replicas: spec.min_replicas,
            max_replicas: spec.max_replicas,
            metrics: Vec::from_iter(percentage.map(MetricSpec::cpu_utilization)),
            behavior: None,
        }
    }
}

impl From<V1Status> for HpaStatus {
    fn from(status: V1Status) -> Self {
        let cpu = |percentage| MetricStatus {
            type_: "Resource".to_owned(),
            resource: Some(ResourceMetricStatus {
                name: "cpu".to_owned(),
                current: MetricValueStatus {
                    average_utilization: Some(percentage),
                    ..MetricValueStatus::default()
                },
            }),
            ..MetricStatus::default()
        };
        let percentage = status.current_cpu_utilization_percentage;
        Self {
            observed_generation: status.observed_generation,
            last_scale_time: status.last_scale_time,
            current_replicas: status.current_replicas,
            desired_replicas: status.desired_replicas,
            current_metrics: percentage.map(|percentage| vec![cpu(percentage)]),
            conditions: Vec::new(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct V2beta1Spec {
    scale_target_ref: CrossVersionObjectReference,
    min_replicas: Option<i32>,
    max_replicas: i32,
    metrics: Vec<legacy::spec::Metric>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct V2beta1Status {
    observed_generation: Option<i64>,
    #[serde(with = "optional_time")]
    last_scale_time: Option<Timestamp>,
    current_replicas: i32,
    desired_replicas: i32,
    current_metrics: Option<Vec<legacy::status::Metric>>,
    conditions: Vec<Condition>,
}

/// `Convert_v2beta1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler`.
fn from_v2beta1(object: VersionedHpa<V2beta1Spec, V2beta1Status>) -> HpaObject {
    let mut hpa = object.convert(HpaVersion::V2beta1);
    hpa.spec.behavior = read_annotation(&hpa.metadata.annotations, "behavior", &mut hpa.notes)
        .filter(|behavior| *behavior != Behavior::default());
    hpa
}

impl From<V2beta1Spec> for HpaSpec {
    fn from(spec: V2beta1Spec) -> Self {
        Self {
            scale_target_ref: spec.scale_target_ref,
            min_replicas: spec.min_replicas,
            max_replicas: spec.max_replicas,
            metrics: spec.metrics.into_iter().map(MetricSpec::from).collect(),
            behavior: None,
        }
    }
}

impl From<V2beta1Status> for HpaStatus {
    fn from(status: V2beta1Status) -> Self {
        Self {
            observed_generation: status.observed_generation,
            last_scale_time: status.last_scale_time,
            current_replicas: status.current_replicas,
            desired_replicas: status.desired_replicas,
            current_metrics: status.current_metrics.map(converted),
            conditions: status.conditions,
        }
    }
}

/// `Convert_v2beta2_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler`.
fn from_v2beta2(object: VersionedHpa<HpaSpec, HpaStatus>) -> Result<HpaObject, DecodeError> {
    let mut hpa = object.convert(HpaVersion::V2beta2);
    let directions: [(&str, RulesOf); 2] = [
        ("scale-up-tolerance", |behavior| &mut behavior.scale_up),
        ("scale-down-tolerance", |behavior| &mut behavior.scale_down),
    ];
    for (annotation, rules_of) in directions {
        let key = annotations::key(annotation);
        let text = hpa.metadata.annotations.get(&key);
        let tolerance = text
            .map(|text| Quantity::parse(text))
            .transpose()
            .map_err(|error| {
                DecodeError::new(&format!("metadata.annotations[{key}]"), error.to_string())
            })?;
        let behavior = &mut hpa.spec.behavior;
        if tolerance.is_some() {
            rules_of(behavior.get_or_insert_default()).get_or_insert_default();
        }
        if let Some(rules) = behavior.as_mut().and_then(|it| rules_of(it).as_mut()) {
            // The field itself is unknown to this version.
            rules.tolerance = tolerance;
        }
    }
    Ok(hpa)
}

/// The rules of one direction.
type RulesOf = fn(&mut Behavior) -> &mut Option<ScalingRules>;

#[cfg(test)]
mod tests;
