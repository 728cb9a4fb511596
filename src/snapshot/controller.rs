//! The controller's settings: flags, feature gates and version. They are inputs like any other;
//! each value knows where it came from, because most cannot be read and are assumed.

use jiff::SignedDuration;

/// The version whose rules the engine follows.
pub const RULES_VERSION: &str = "v1.36.2";

/// Settings of the kube-controller-manager that a pass depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Controller {
    /// The version that the state states, such as `v1.36.2`.
    pub version: Option<String>,
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

/// The feature gates that a pass consults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    /// `HPAScaleToZero`: alpha, off by default.
    pub scale_to_zero: bool,
    /// `HPAConfigurableTolerance`: beta, on by default.
    pub configurable_tolerance: bool,
    /// `PodLevelResources`: beta, on by default.
    pub pod_level_resources: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self { scale_to_zero: false, configurable_tolerance: true, pod_level_resources: true }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            version: None,
            tolerance: 0.1,
            downscale_stabilization: SignedDuration::from_mins(5),
            cpu_initialization_period: SignedDuration::from_mins(5),
            initial_readiness_delay: SignedDuration::from_secs(30),
            sync_period: SignedDuration::from_secs(15),
            gates: Gates::default(),
        }
    }
}
