//! The controller's settings: flags, feature gates and version. They are inputs like any other;
//! each value knows where it came from, because most cannot be read and are assumed.

use jiff::SignedDuration;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::hpa::{HpaSpec, ScalingRules};
use super::metric::GoDuration;
use crate::version::{Stage, Version};

/// Settings of the kube-controller-manager that a pass depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Controller {
    /// The version whose rules apply.
    pub version: Version,
    /// `--horizontal-pod-autoscaler-tolerance`.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    pub downscale_stabilization: SignedDuration,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    pub cpu_initialization_period: SignedDuration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    pub initial_readiness_delay: SignedDuration,
    /// `--horizontal-pod-autoscaler-sync-period`.
    pub sync_period: SignedDuration,
    /// The feature gates.
    pub gates: Gates,
}

/// Controller flags that are known; the others have their defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Flags {
    /// `--horizontal-pod-autoscaler-tolerance`.
    #[serde(deserialize_with = "share")]
    pub tolerance: Option<f64>,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    #[serde(deserialize_with = "span")]
    pub downscale_stabilization: Option<SignedDuration>,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    #[serde(deserialize_with = "span")]
    pub cpu_initialization_period: Option<SignedDuration>,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    #[serde(deserialize_with = "span")]
    pub initial_readiness_delay: Option<SignedDuration>,
    /// `--horizontal-pod-autoscaler-sync-period`.
    #[serde(deserialize_with = "span")]
    pub sync_period: Option<SignedDuration>,
}

/// The controller takes no negative duration for a flag.
fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SignedDuration>, D::Error> {
    match Option::<GoDuration>::deserialize(deserializer)? {
        Some(GoDuration(span)) if span.is_negative() => {
            Err(D::Error::custom("a duration must not be negative"))
        }
        span => Ok(span.map(|GoDuration(span)| span)),
    }
}

/// Nor a negative tolerance.
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(share) if share < 0.0 => Err(D::Error::custom("a tolerance must not be negative")),
        share => Ok(share),
    }
}

/// Whether what a feature gate switches is on, be it by the gate or because the version has it
/// always or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    /// `HPAScaleToZero`.
    pub scale_to_zero: bool,
    /// `HPAContainerMetrics`.
    pub container_metrics: bool,
    /// `HPAConfigurableTolerance`.
    pub configurable_tolerance: bool,
    /// `PodLevelResources`.
    pub pod_level_resources: bool,
    /// `HPAGeneration`.
    pub generation: bool,
    /// `HPAOptimizedSelectorStore`.
    pub optimized_selector_store: bool,
    /// `StaleControllerConsistencyHPA`.
    pub stale_controller_consistency: bool,
}

impl Gates {
    /// The gates of a version, with those that are set. A gate that the version does not have, or
    /// has locked, stays as the version has it.
    pub fn new(version: &Version, set: impl Fn(&str) -> Option<bool>) -> Self {
        let on = |gate| {
            let stage = Stage::of(gate, version);
            set(gate).filter(|_| stage.is_settable()).unwrap_or(stage.is_on())
        };
        Self {
            scale_to_zero: on("HPAScaleToZero"),
            container_metrics: on("HPAContainerMetrics"),
            configurable_tolerance: on("HPAConfigurableTolerance"),
            pod_level_resources: on("PodLevelResources"),
            generation: on("HPAGeneration"),
            optimized_selector_store: on("HPAOptimizedSelectorStore"),
            stale_controller_consistency: on("StaleControllerConsistencyHPA"),
        }
    }

    /// Those of them that can be set in this version, by name.
    pub fn settable(self, version: &Version) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("HPAScaleToZero", self.scale_to_zero),
            ("HPAContainerMetrics", self.container_metrics),
            ("HPAConfigurableTolerance", self.configurable_tolerance),
            ("PodLevelResources", self.pod_level_resources),
            ("HPAGeneration", self.generation),
            ("HPAOptimizedSelectorStore", self.optimized_selector_store),
            ("StaleControllerConsistencyHPA", self.stale_controller_consistency),
        ]
        .into_iter()
        .filter(|(gate, _)| Stage::of(gate, version).is_settable())
    }
}

impl Controller {
    /// The gates as they would be in another version: those that are set stay as far as it lets
    /// them.
    pub fn gates_in(&self, version: &Version) -> Gates {
        let set: Vec<(&str, bool)> = self.gates.settable(&self.version).collect();
        Gates::new(version, |gate| {
            let (_, on) = set.iter().find(|(name, _)| *name == gate)?;
            (*on != Stage::of(gate, &self.version).is_on()).then_some(*on)
        })
    }

    /// The controller of a version with its default flags and gates.
    pub fn new(version: Version) -> Self {
        Self {
            gates: Gates::new(&version, |_| None),
            version,
            tolerance: 0.1,
            downscale_stabilization: SignedDuration::from_mins(5),
            cpu_initialization_period: SignedDuration::from_mins(5),
            initial_readiness_delay: SignedDuration::from_secs(30),
            sync_period: SignedDuration::from_secs(15),
        }
    }
}

/// The tolerance in each direction, as a share of the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tolerances {
    /// Below the target.
    pub down: f64,
    /// Above the target.
    pub up: f64,
}

impl Controller {
    /// The tolerances over an HPA: its own, or the controller's.
    pub fn tolerances(&self, spec: &HpaSpec) -> Tolerances {
        let behavior = spec.behavior.as_ref().filter(|_| self.gates.configurable_tolerance);
        // The API server re-emits quantities in canonical form; the float is taken from that.
        let own = |rules: &Option<ScalingRules>| {
            let tolerance = rules.as_ref()?.tolerance.as_ref()?;
            Some(tolerance.canonicalized().approximate_f64())
        };
        let down = behavior.and_then(|behavior| own(&behavior.scale_down));
        let up = behavior.and_then(|behavior| own(&behavior.scale_up));
        Tolerances { down: down.unwrap_or(self.tolerance), up: up.unwrap_or(self.tolerance) }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self::new(Version::newest())
    }
}
