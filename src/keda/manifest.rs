//! A ScaledObject as written in a manifest, `scaledobject_types.go` and `scaletriggers_types.go`. Reading
//! is lax; `check` validates.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::apimachinery::json::{DecodeError, decode, unique_map};
use crate::apiserver::convert::{BEHAVIOR, ObjectShape, UnknownFields, unknown_of};
use crate::snapshot::hpa::{Behavior, CrossVersionObjectReference};

/// The parts of a ScaledObject that determine its HPA, in addition to its metadata.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ScaledObjectManifest {
    pub(super) api_version: String,
    pub(super) spec: Option<ManifestSpec>,
}

/// `ScaledObjectSpec`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ManifestSpec {
    pub(super) scale_target_ref: Option<ScaleTarget>,
    pub(super) polling_interval: Option<i32>,
    pub(super) initial_cooldown_period: Option<i32>,
    pub(super) cooldown_period: Option<i32>,
    pub(super) idle_replica_count: Option<i32>,
    pub(super) min_replica_count: Option<i32>,
    pub(super) max_replica_count: Option<i32>,
    pub(super) advanced: Advanced,
    pub(super) triggers: Vec<Trigger>,
    pub(super) fallback: Option<Fallback>,
}

/// `ScaleTarget`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ScaleTarget {
    pub(super) name: String,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) env_source_container_name: String,
}

/// `AdvancedConfig`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Advanced {
    horizontal_pod_autoscaler_config: Option<HpaConfig>,
    /// Read only for its type.
    #[serde(rename = "restoreToOriginalReplicaCount")]
    _restores: Option<bool>,
    scaling_modifiers: ScalingModifiers,
}

/// `HorizontalPodAutoscalerConfig`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct HpaConfig {
    pub(super) behavior: Option<Behavior>,
    pub(super) name: String,
}

/// `ScalingModifiers`.
#[derive(Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ScalingModifiers {
    pub(super) formula: String,
    pub(super) target: String,
    pub(super) activation_target: String,
    pub(super) metric_type: Option<String>,
}

/// `Fallback`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Fallback {
    pub(super) failure_threshold: Option<i32>,
    pub(super) replicas: Option<i32>,
    pub(super) behavior: Option<String>,
}

/// `ScaleTriggers`. It cannot be printed: its metadata may hold passwords.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Trigger {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) name: String,
    pub(super) use_cached_metrics: bool,
    /// Of any JSON, so that no failure to read it shows a value.
    #[serde(deserialize_with = "metadata")]
    pub(super) metadata: Option<BTreeMap<String, Json>>,
    pub(super) authentication_ref: Option<AuthenticationRef>,
    pub(super) metric_type: String,
}

/// `AuthenticationRef`. The object to which it refers is not read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AuthenticationRef {
    pub(super) name: String,
    pub(super) kind: Option<String>,
}

/// An absent map differs from an empty one. The API server drops keys without a value
/// (`PruneNonNullableNullsWithoutDefaults`).
fn metadata<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, Json>>, D::Error> {
    let mut stated: BTreeMap<String, Json> = unique_map(deserializer)?;
    stated.retain(|_, value| !value.is_null());
    Ok(Some(stated))
}

impl ManifestSpec {
    pub(super) fn hpa_config(&self) -> Option<&HpaConfig> {
        self.advanced.horizontal_pod_autoscaler_config.as_ref()
    }

    /// Returns the name of the HPA, if it is stated.
    pub(super) fn stated_hpa_name(&self) -> Option<&str> {
        let name = &self.hpa_config()?.name;
        Some(&**name).filter(|name| !name.is_empty())
    }

    /// Returns the name of the HPA of a ScaledObject with a name, like `getHPAName` in `hpa.go`.
    pub(super) fn hpa_name(&self, name: &str) -> String {
        self.stated_hpa_name()
            .map_or_else(|| format!("keda-hpa-{name}"), str::to_owned)
    }

    /// Returns the target with KEDA's defaults, like `ParseGVKR` in `gvkr.go`.
    pub(super) fn target(&self) -> Option<CrossVersionObjectReference> {
        let stated = self.scale_target_ref.as_ref()?;
        let or = |text: &str, default: &str| match text {
            "" => default.to_owned(),
            text => text.to_owned(),
        };
        Some(CrossVersionObjectReference {
            kind: or(&stated.kind, "Deployment"),
            name: stated.name.clone(),
            api_version: or(&stated.api_version, "apps/v1"),
        })
    }

    /// `IsUsingModifiers`.
    pub(super) fn modifiers(&self) -> Option<&ScalingModifiers> {
        Some(&self.advanced.scaling_modifiers).filter(|it| **it != ScalingModifiers::default())
    }

    /// `GetHPAMinReplicas`: an HPA of KEDA never has less than 1.
    pub(super) fn hpa_min(&self) -> i32 {
        self.min_replica_count.filter(|min| *min > 0).unwrap_or(1)
    }

    /// `GetHPAMaxReplicas`.
    pub(super) fn hpa_max(&self) -> i32 {
        self.max_replica_count.unwrap_or(100)
    }
}

impl ScalingModifiers {
    /// Returns the target as a number, like `strconv.ParseFloat`: underscores may separate digits, and the
    /// number may be hexadecimal.
    pub(super) fn target_number(&self) -> Option<f64> {
        let bytes = self.target.as_bytes();
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let mut underscores = self.target.match_indices('_');
        let all_fit =
            underscores.all(|(at, _)| at.checked_sub(1).is_some_and(is_digit) && is_digit(at + 1));
        let text = all_fit.then(|| self.target.replace('_', ""))?;
        text.parse().ok().or_else(|| hexadecimal(&text))
    }
}

/// A hexadecimal number with an exponent of 2, such as `0x1.8p4`.
fn hexadecimal(text: &str) -> Option<f64> {
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => (-1.0, number),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, power) = number
        .strip_prefix("0x")
        .or_else(|| number.strip_prefix("0X"))?
        .split_once(['p', 'P'])?;
    let exponent: i32 = power.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let mut all = whole.chars().chain(fraction.chars());
    let mantissa = all.try_fold(0.0, |sum, c| Some(sum * 16.0 + f64::from(c.to_digit(16)?)));
    let is_none = whole.is_empty() && fraction.is_empty();
    Some(sign * mantissa.filter(|_| !is_none)? * 2f64.powi(exponent.checked_sub(places)?))
}

impl Trigger {
    /// Whether the trigger is for a resource of the pods, rather than an external metric.
    pub(super) fn is_resource(&self) -> bool {
        matches!(&*self.type_, "cpu" | "memory")
    }
}

const SPEC: ObjectShape = ObjectShape::of::<ManifestSpec>(&[
    ("scaleTargetRef", ObjectShape::of::<ScaleTarget>(&[])),
    (
        "advanced",
        ObjectShape::of::<Advanced>(&[
            (
                "horizontalPodAutoscalerConfig",
                ObjectShape::of::<HpaConfig>(&[("behavior", BEHAVIOR)]),
            ),
            ("scalingModifiers", ObjectShape::of::<ScalingModifiers>(&[])),
        ]),
    ),
    (
        "triggers",
        ObjectShape::of::<Trigger>(&[(
            "authenticationRef",
            ObjectShape::of::<AuthenticationRef>(&[]),
        )]),
    ),
    ("fallback", ObjectShape::of::<Fallback>(&[])),
]);

/// Returns the unknown fields of a ScaledObject.
pub(super) fn unknown_fields(json: &str) -> Result<UnknownFields, DecodeError> {
    Ok(unknown_of(&decode(json)?, Some(SPEC)))
}
