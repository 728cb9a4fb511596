//! KEDA's part of an HPA: the HorizontalPodAutoscaler that its operator creates from a ScaledObject
//! (`keda.sh/v1alpha1`). This code is pure: it queries no scaler, evaluates no formula and uses no clock.
//! Follows KEDA 2.20.2: `controllers/keda/hpa.go`, the schema and webhook in `apis/keda/v1alpha1`, and the
//! `GetMetricSpecForScaling` of each scaler in `pkg/scalers`.
//!
//! The metadata of triggers can contain passwords, so it stays in this module: of its values, only metric
//! names and targets leave, and a rejected value is shown only where it should have been a number.

mod check;
mod cron;
mod external;
mod fields;
mod glob;
mod keys;
mod manifest;
mod metadata;
mod outside;
mod query;
mod scalers;
#[cfg(test)]
mod tests;
mod trigger;
mod url;

use std::collections::HashSet;
use std::fmt;

use crate::apimachinery::annotations::{
    KEDA_PAUSED_SCALE_IN, KEDA_PAUSED_SCALE_OUT, KEDA_TRANSFER,
};
use crate::apimachinery::json::{DecodeError, decode};
use crate::apimachinery::metadata::{Metadata, OwnerReference};
use crate::apimachinery::quantity::{Format, Quantity};
use crate::apiserver::convert::{UnknownFields, too_many};
use crate::numbers::count;
use crate::snapshot::hpa::{
    Behavior, CrossVersionObjectReference, HpaSpec, MAX_METRICS, MetricSpec,
};
use crate::snapshot::note::Note;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::ScaledObject;
use external::{external, target};
use manifest::{ManifestSpec, ScaledObjectManifest, ScalingModifiers};
use trigger::{Made, TriggerOwner};

pub(crate) use external::{OWNER, moved};
pub use external::{OpenMetric, is_of_trigger};
pub use query::prometheus_query;
pub(crate) use query::{is_counter, is_per_pod, is_rate};
pub(crate) use scalers::{is_cron, may_have, stated};

/// The HPA of a ScaledObject.
#[derive(Debug, Clone, PartialEq)]
pub struct KedaHpa {
    /// The HPA's name.
    pub name: String,
    /// The HPA's namespace; `None` if the manifest states none.
    pub namespace: Option<String>,
    /// The HPA's spec, as KEDA sends it to the API server, without the metrics in `open`.
    pub spec: HpaSpec,
    /// The metrics that cannot be known from the manifest alone.
    pub open: Vec<OpenMetric>,
    /// Whether KEDA takes over an HPA of this name that it did not create.
    pub takes_over: bool,
    /// The container of the target to whose environment triggers refer, if it is specified
    /// (`envSourceContainerName`).
    pub env_container: Option<String>,
    /// The notes about settings of the HPA that come from annotations, and about KEDA's actions in addition to
    /// the HPA.
    pub notes: Vec<Note>,
}

/// The reason why KEDA, or the API server before it, rejects a ScaledObject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The field, such as `spec.triggers[0].metadata.threshold`; empty for the whole object.
    path: String,
    message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Refused {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
            hint: None,
        }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::new(error.path, error.message)
    }
}

/// The only version of a ScaledObject.
const API_VERSION: &str = "keda.sh/v1alpha1";

/// The metric that replaces all external ones under `scalingModifiers` (`CompositeMetricName`,
/// `scaledobject_types.go`). It has no index.
const COMPOSITE: &str = "composite-metric";

/// Returns the name of the HPA of a ScaledObject and the target that it scales, if they can be read.
pub fn identity(json: &str) -> (String, Option<CrossVersionObjectReference>) {
    let name = decode(json).map_or_else(|_| String::new(), |it: ScaledObject| it.metadata.name);
    let spec = decode(json)
        .ok()
        .and_then(|it: ScaledObjectManifest| it.spec)
        .unwrap_or_default();
    (spec.hpa_name(&name), spec.target())
}

/// Returns the reference to the ScaledObject that KEDA gives the HPA, whose changes it reverts. An API server requires
/// a uid, which a manifest does not have yet: all zeros stand in for it.
pub fn owner_reference(object: &Metadata) -> OwnerReference {
    let uid = if object.uid.is_empty() {
        "00000000-0000-0000-0000-000000000000"
    } else {
        &object.uid
    };
    OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: "ScaledObject".to_owned(),
        name: object.name.clone(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Returns the unknown fields of a ScaledObject, which kubectl reports before the API server checks the
/// others.
///
/// # Errors
///
/// The text is not JSON.
pub fn unknown_fields(json: &str) -> Result<UnknownFields, Refused> {
    Ok(manifest::unknown_fields(json)?)
}

/// Returns the field of a ScaledObject's spec that sets a field of the HPA's spec (`ScaledObjectSpec`).
pub(crate) fn field_of(field: &str) -> &str {
    match field {
        "minReplicas" => "minReplicaCount",
        "maxReplicas" => "maxReplicaCount",
        "behavior" => "advanced.horizontalPodAutoscalerConfig.behavior",
        same => same,
    }
}

/// Returns the path in a ScaledObject that corresponds to a path in the HPA that KEDA creates from it.
pub fn path_of(path: &str) -> String {
    let Some(own) = path.strip_prefix("spec.") else {
        return path.to_owned();
    };
    let (field, rest) = own.split_at(own.find(['.', '[']).unwrap_or(own.len()));
    format!("spec.{}{rest}", field_of(field))
}

impl KedaHpa {
    /// Returns the HPA that KEDA creates from a ScaledObject, like `newHPAForScaledObject` in `hpa.go`.
    /// `namespace` applies if the manifest states none.
    ///
    /// # Errors
    ///
    /// The API server or KEDA rejects the ScaledObject, or KEDA creates no HPA for it because it is paused.
    pub fn of(json: &str, namespace: Option<&str>) -> Result<Self, Refused> {
        let ScaledObjectManifest { api_version, spec } = decode(json)?;
        if api_version != API_VERSION {
            let message = format!("unsupported version {api_version:?} (supported: {API_VERSION})");
            return Err(Refused::new("apiVersion", message));
        }
        let object: ScaledObject = decode(json)?;
        let name = &object.metadata.name;
        if name.is_empty() {
            return Err(Refused::new("metadata.name", "required"));
        }
        let spec = spec.ok_or_else(|| Refused::new("spec", "required"))?;
        let triggers = spec.triggers.len();
        if triggers > MAX_METRICS {
            return Err(Refused::new(
                "spec.triggers",
                too_many("triggers", triggers),
            ));
        }
        check::schema(&spec)?;
        check::webhook(name, &spec)?;
        let pauses = object.pauses();
        if let Some(first) = pauses.first() {
            let path = format!("metadata.annotations[{first}]");
            let hint = format!(
                "remove {} from the file to see what its HPA would decide",
                pauses.join(" and ")
            );
            return Err(
                Refused::new(path, "KEDA deletes the HPA of a paused ScaledObject").hint(hint),
            );
        }
        let stated = object.metadata.namespace.as_deref();
        let owner = TriggerOwner {
            name,
            namespace: stated.or(namespace),
            uses_modifiers: spec.modifiers().is_some(),
        };
        let mut notes = Vec::new();
        let (metrics, open) = metrics(&spec, &owner, &mut notes)?;
        let behavior = behavior(&object, &spec, &mut notes);
        notes.extend(outside::notes(&object, &spec));
        let hpa = HpaSpec {
            scale_target_ref: spec.target().unwrap_or_default(),
            min_replicas: Some(spec.hpa_min()),
            max_replicas: spec.hpa_max(),
            metrics,
            behavior,
        };
        Ok(Self {
            name: spec.hpa_name(name),
            namespace: stated.map(str::to_owned),
            spec: hpa,
            open,
            takes_over: object.metadata.annotations.get(KEDA_TRANSFER) == Some("true")
                && spec.stated_hpa_name().is_some(),
            env_container: spec
                .scale_target_ref
                .map(|own| own.env_source_container_name)
                .filter(|container| !container.is_empty()),
            notes,
        })
    }
}

/// Checks that a target has the container to whose environment triggers refer (`ResolveContainerEnv` in
/// `scale_resolvers.go`).
///
/// # Errors
///
/// The target's template has no such container.
pub fn check_env_container(container: Option<&str>, template: Option<&Pod>) -> Result<(), Refused> {
    let (Some(name), Some(template)) = (container, template) else {
        return Ok(());
    };
    if template.containers.iter().any(|own| *own.name == *name) {
        return Ok(());
    }
    let names: Vec<&str> = template.containers.iter().map(|own| &*own.name).collect();
    let path = "spec.scaleTargetRef.envSourceContainerName";
    Err(
        Refused::new(path, format!("the target has no container {name:?}"))
            .hint(format!("it has {}", names.join(", "))),
    )
}

/// Returns the metrics in KEDA's order, like `getScaledObjectMetricSpecs` in `hpa.go`. It sorts by type; up
/// to 12 metrics, Go's sort keeps the order within a type. Beyond that, KEDA's order is different, and not
/// followed.
fn metrics(
    spec: &ManifestSpec,
    owner: &TriggerOwner<'_>,
    notes: &mut Vec<Note>,
) -> Result<(Vec<MetricSpec>, Vec<OpenMetric>), Refused> {
    let mut all = Vec::new();
    let mut names = HashSet::new();
    for (index, trigger) in spec.triggers.iter().enumerate() {
        let made = trigger::metrics(trigger, index, owner, notes)?;
        let path = format!("spec.triggers[{index}]");
        if made.is_empty() {
            return Err(Refused::new(format!("{path}.metadata"), "no target value"));
        }
        for name in made.iter().filter_map(Made::external) {
            if !names.insert(name.to_owned()) {
                let message = format!("another trigger has the metric {name:?} already");
                return Err(Refused::new(path, message));
            }
        }
        all.extend(made);
    }
    // A target that is not a number results in no composite metric.
    let modifiers = spec
        .modifiers()
        .filter(|own| own.target_number().is_some_and(|it| it > 0.0));
    if let Some(modifiers) = modifiers {
        notes.extend(replaced(&all, spec).map(Note::new));
        let mut kept: Vec<MetricSpec> = all.into_iter().filter_map(Made::resource).collect();
        kept.push(composite(modifiers, owner)?);
        return Ok((kept, Vec::new()));
    }
    all.sort_by(|one, other| one.type_().cmp(other.type_()));
    let (mut known, mut open) = (Vec::new(), Vec::new());
    for made in all {
        match made {
            Made::Known(metric) => known.push(*metric),
            Made::Open(metric) => {
                let at = known.len();
                open.push(OpenMetric { at, ..*metric });
            }
        }
    }
    Ok((known, open))
}

/// Describes the metrics that the composite one replaces.
fn replaced(all: &[Made], spec: &ManifestSpec) -> impl Iterator<Item = String> {
    // Only Resource metrics are kept, so ContainerResource metrics are lost along with the external ones.
    let of_containers = all.iter().filter(|it| it.type_() == "ContainerResource");
    let lost = of_containers.count();
    let left_out = (lost > 0).then(|| {
        format!(
            "scalingModifiers: KEDA leaves out {} with containerName",
            count(lost, "trigger")
        )
    });
    let names: Vec<&str> = spec
        .triggers
        .iter()
        .filter(|it| !it.is_resource() && !it.name.is_empty())
        .map(|it| &*it.name)
        .collect();
    let from = if names.is_empty() {
        String::new()
    } else {
        format!(" from {}", names.join(", "))
    };
    let external = format!(
        "scalingModifiers: {COMPOSITE} replaces the external metrics; KEDA computes it{from}, and \
         the formula is not evaluated here: --metric {COMPOSITE}=VALUE assumes its value"
    );
    left_out.into_iter().chain([external])
}

/// Returns the composite metric, from the same function. Its target is truncated to thousandths.
fn composite(
    modifiers: &ScalingModifiers,
    owner: &TriggerOwner<'_>,
) -> Result<MetricSpec, Refused> {
    let path = "spec.advanced.scalingModifiers.target";
    let number = modifiers.target_number().unwrap_or_default();
    // An empty formula or target, and a target that is not positive, is rejected where the formula is compiled
    // (`ValidateAndCompileScalingModifiers`, `scaledobject_webhook.go`). In Go on amd64, int64() of a number
    // that does not fit is the least number, which the API server rejects.
    if number * 1000.0 >= i64::MAX as f64 {
        return Err(Refused::new(path, "larger than any target of a metric"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "as Go's int64() cuts it")]
    let milli = (number * 1000.0) as i64;
    if milli <= 0 {
        return Err(Refused::new(path, "must be at least 0.001"));
    }
    let type_ = modifiers.metric_type.as_deref().unwrap_or("AverageValue");
    let target = target(type_, Quantity::from_milli(milli, Format::DecimalSI));
    Ok(external(COMPOSITE.to_owned(), owner.selector(), target))
}

/// Returns the behavior, in which an annotation can disable a direction, as in `newHPAForScaledObject`.
fn behavior(object: &ScaledObject, spec: &ManifestSpec, notes: &mut Vec<Note>) -> Option<Behavior> {
    let stated = spec.hpa_config().and_then(|config| config.behavior.clone());
    let is_stated = stated.is_some();
    let mut behavior = stated.unwrap_or_default();
    for (rules, direction, annotation) in [
        (&mut behavior.scale_down, "scaleDown", KEDA_PAUSED_SCALE_IN),
        (&mut behavior.scale_up, "scaleUp", KEDA_PAUSED_SCALE_OUT),
    ] {
        if let Some(stated) = rules {
            // KEDA sends no empty list, so that the API server sets its defaults.
            stated.policies.take_if(|policies| policies.is_empty());
        }
        if object.is_set(annotation) {
            rules.get_or_insert_default().select_policy = Some("Disabled".to_owned());
            notes.push(Note::new(format!(
                "{annotation}: KEDA sets behavior.{direction}.selectPolicy to Disabled"
            )));
        }
    }
    Some(behavior).filter(|own| is_stated || *own != Behavior::default())
}
