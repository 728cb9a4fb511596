//! The controller's settings: flags, feature gates and version. They are inputs like any other, and the
//! origin of each value is kept, because most cannot be read and are assumed.

use std::ops::{Index, IndexMut};

use jiff::SignedDuration;
use serde::Serialize;

use super::hpa::{HpaSpec, ScalingRules};
use crate::flags::{self, Flags};
use crate::version::{FeatureGate, Version};

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

/// Whether each gated feature is on, either by its gate or because the version has locked it on or
/// off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates([bool; FeatureGate::ALL.len()]);

impl Gates {
    /// Returns the gates of a version, with the given settings. A gate that the version does not have, or
    /// has locked, keeps the version's value.
    pub fn new(version: &Version, set: impl Fn(FeatureGate) -> Option<bool>) -> Self {
        Self(FeatureGate::ALL.map(|gate| {
            let stage = gate.stage(version);
            let own = set(gate).filter(|_| stage.is_settable());
            own.unwrap_or(stage.is_on())
        }))
    }
}

impl Index<FeatureGate> for Gates {
    type Output = bool;

    fn index(&self, gate: FeatureGate) -> &bool {
        &self.0[gate as usize]
    }
}

impl IndexMut<FeatureGate> for Gates {
    fn index_mut(&mut self, gate: FeatureGate) -> &mut bool {
        &mut self.0[gate as usize]
    }
}

impl Controller {
    /// Returns the gates as they would be in another version: gates that are set keep their values if that version
    /// allows it.
    pub fn gates_in(&self, version: &Version) -> Gates {
        Gates::new(version, |gate| {
            let (stage, on) = (gate.stage(&self.version), self.gates[gate]);
            (stage.is_settable() && on != stage.is_on()).then_some(on)
        })
    }

    /// Returns the controller of a version with its default flags and gates.
    pub fn new(version: Version) -> Self {
        Self::with_flags(version, Flags::default())
    }

    /// Returns the controller of a version with these flags and its default gates.
    pub(crate) fn with_flags(version: Version, flags: Flags) -> Self {
        Self {
            gates: Gates::new(&version, |_| None),
            version,
            tolerance: flags::TOLERANCE.or_default(flags),
            downscale_stabilization: flags::DOWNSCALE_STABILIZATION.or_default(flags),
            cpu_initialization_period: flags::CPU_INITIALIZATION_PERIOD.or_default(flags),
            initial_readiness_delay: flags::INITIAL_READINESS_DELAY.or_default(flags),
            sync_period: flags::SYNC_PERIOD.or_default(flags),
        }
    }
}

/// Flags and feature gates that are known rather than assumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownSettings {
    /// The flags.
    pub flags: Flags,
    /// The gates that can be set.
    pub gates: Vec<(FeatureGate, bool)>,
}

/// The tolerance in each direction, as a share of the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tolerances {
    /// Below the target.
    pub down: f64,
    /// Above the target.
    pub up: f64,
}

impl Tolerances {
    /// Returns the lowest ratio that changes nothing; none is below 0.
    pub(crate) fn lowest(self) -> f64 {
        (1.0 - self.down).max(0.0)
    }

    /// Whether a ratio is close enough to 1 to change nothing, with the tolerance as an interval around 1 or as a
    /// distance from it. Both ends are inside; NaN is outside.
    pub(crate) fn contain(self, ratio: f64, is_interval: bool) -> bool {
        let Self { down, up } = self;
        if is_interval {
            (1.0 - down) <= ratio && ratio <= (1.0 + up)
        } else {
            // Such versions have one tolerance for both directions.
            (1.0 - ratio).abs() <= up
        }
    }
}

impl Controller {
    /// Returns the tolerances for an HPA: its own or, if not stated, the controller's.
    pub fn tolerances(&self, spec: &HpaSpec) -> Tolerances {
        let behavior = spec
            .behavior
            .as_ref()
            .filter(|_| self.gates[FeatureGate::HPAConfigurableTolerance]);
        let down = behavior.and_then(|behavior| tolerance(behavior.scale_down.as_ref()));
        let up = behavior.and_then(|behavior| tolerance(behavior.scale_up.as_ref()));
        Tolerances {
            down: down.unwrap_or(self.tolerance),
            up: up.unwrap_or(self.tolerance),
        }
    }
}

/// Returns the tolerance that rules state. The API server writes quantities in canonical form, from which the
/// float is parsed.
fn tolerance(rules: Option<&ScalingRules>) -> Option<f64> {
    let stated = rules?.tolerance.as_ref()?;
    Some(stated.canonicalized().approximate_f64())
}

impl Default for Controller {
    fn default() -> Self {
        Self::new(Version::released())
    }
}
