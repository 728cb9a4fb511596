//! Differences between versions of the controller, as one value that the engine and the bounds of its history
//! read. Each field answers one question about the controller, with the version in which it changed and the
//! source: `1.23.0`, `1.25.9` and so on are the patch levels of `pkg/controller/podautoscaler`, numbers are pull
//! requests of kubernetes/kubernetes.
//!
//! 1.24 was not read. Where 1.23.0 and 1.25.9 differ, it is assumed to follow 1.23.0. The rules of 1.23, 1.25 and
//! 1.30 are those of the source. Those of the others agree with recorded answers of their controllers, except fields
//! of 1.38 that say that they follow the text of a pull request.

use crate::snapshot::controller::{Controller, Gates, Tolerances};
use crate::version::{FeatureGate, Version};

/// The rules of one version with its feature gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The start of a policy's period is calculated from changes in both directions, not only from
    /// those in the policy's own direction (1.25; #109058, opened shortly before 1.24's freeze).
    pub(crate) both_directions: bool,
    /// Errors of Resource, ContainerResource and External metrics name the metric that failed
    /// (1.25: 1.23.0 has them bare, 1.25.9 wrapped).
    pub(crate) errors_name_metric: bool,
    /// Two HPAs that select the same pods are an error (1.26; #112011).
    pub(crate) rejects_shared_pods: bool,
    /// A missing pod counts as using the target value if that is more than its request (1.26).
    pub(crate) missing_at_target: bool,
    /// Requests are only checked if some metric is left (1.26).
    pub(crate) requests_last: bool,
    /// Raw values are called usage, and a missing request names its container (1.26). The text
    /// about a target without values is 1.23.0's until then: 1.24 and 1.25 are not confirmed.
    pub(crate) usage_words: bool,
    /// Failed metrics make the pass's error even if it scales (1.27).
    pub(crate) partial_error: bool,
    /// Texts distinguish unready pods from containers (1.27).
    pub(crate) container_words: bool,
    /// The controller itself checks `HPAContainerMetrics` (1.27 to 1.29), and it is off.
    pub(crate) rejects_container_metrics: bool,
    /// At a ratio of exactly 1, averages count missing pods as zero usage (before 1.28).
    pub(crate) balanced_fills_zero: bool,
    /// Requests include sidecars (1.29).
    pub(crate) sidecars: bool,
    /// Whether the status reports the metrics that were read even if the pass fails (1.29).
    pub(crate) reports_failed_metrics: bool,
    /// A condition's message is used as a format without arguments, which garbles `%`
    /// (before 1.29).
    pub(crate) messages_are_formats: bool,
    /// Tolerance is an interval around 1, not a distance from it; on the edge, floats differ
    /// (1.33).
    pub(crate) tolerance_interval: bool,
    /// If a pod's metrics lack a container, the pod is left out instead of failing the metric
    /// (1.33; #127193).
    pub(crate) container_may_be_missing: bool,
    /// The average of an Object metric is reported with its object (1.33).
    pub(crate) reports_described_object: bool,
    /// Memory is reported in powers of 1024 (1.34).
    pub(crate) binary_memory: bool,
    /// The sum and the average of an External metric saturate at the largest integers (1.34).
    pub(crate) average_saturates: bool,
    /// Replicas from one value for all saturate at the largest integer, and so does the sum of an
    /// External metric (1.35).
    pub(crate) value_saturates: bool,
    /// A pod without the container of the metric is an error, instead of a pod without requests (1.35).
    pub(crate) container_must_exist: bool,
    /// At zero replicas the condition ScaledToZero decides, not `minReplicas` (1.36; #135118).
    pub(crate) zero_by_condition: bool,
    /// The words of an unreadable Object metric are in the intended order (1.37; #139029). Its release was
    /// inferred from the date, May 2026.
    pub(crate) object_words: bool,
    /// `status.observedGeneration` follows the HPA's generation, and is 0 if that is absent
    /// (1.37; #138228, gate `HPAGeneration`). Without the gate a pass drops the field.
    pub(crate) observes_generation: bool,
    /// A condition may have an `observedGeneration` (1.37; #138653). The controller never sets it, but
    /// keeps an existing one. Before, the API does not know the field.
    pub(crate) condition_generations: bool,
    /// If two HPAs select the same pods, some are named as examples: at most two, or three without
    /// the gate `HPAOptimizedSelectorStore` (1.37; #139142). `None` before, when all are named.
    pub(crate) shared_pods_examples: Option<usize>,
    /// Pods that have succeeded are left out (1.38; #141302).
    pub(crate) ignores_succeeded: bool,
    /// A request of the whole pod includes its overhead (up to and including 1.37; #142154).
    pub(crate) overhead: bool,
    /// The average over no replicas is 0, and the average of an Object metric saturates at the largest
    /// integer, as for an External metric (1.38; #140958). Before, a division by zero is reported.
    pub(crate) averages_are_bounded: bool,
    /// Sums of usage and of requests are exact, and a percentage saturates at the ends of an int32 (1.38;
    /// #142192, according to its text).
    pub(crate) usage_is_exact: bool,
    /// Rounding a float up to replicas saturates at the largest int32, also in a Percent policy for scaling up
    /// (1.38; #141397, according to its text). Other conversions still overflow.
    pub(crate) replicas_saturate: bool,
    /// `HPAScaleToZero` is on.
    pub(crate) scale_to_zero: bool,
    /// Requests of the whole pod count: `PodLevelResources` is on (1.34; #132430).
    pub(crate) pod_level_requests: bool,
}

impl Rules {
    /// Returns the rules of a controller.
    pub(crate) fn of(controller: &Controller) -> Self {
        Self::of_version(&controller.version, controller.gates)
    }

    /// Returns the rules of a version with these gates.
    pub(crate) fn of_version(version: &Version, gates: Gates) -> Self {
        let minor = version.minor();
        Self {
            both_directions: minor >= 25,
            errors_name_metric: minor >= 25,
            rejects_shared_pods: minor >= 26,
            missing_at_target: minor >= 26,
            requests_last: minor >= 26,
            usage_words: minor >= 26,
            partial_error: minor >= 27,
            container_words: minor >= 27,
            rejects_container_metrics: minor >= 27 && !gates[FeatureGate::HPAContainerMetrics],
            balanced_fills_zero: minor < 28,
            sidecars: minor >= 29,
            reports_failed_metrics: minor >= 29,
            messages_are_formats: minor < 29,
            tolerance_interval: minor >= 33,
            container_may_be_missing: minor >= 33,
            reports_described_object: minor >= 33,
            binary_memory: minor >= 34,
            average_saturates: minor >= 34,
            value_saturates: minor >= 35,
            container_must_exist: minor >= 35,
            zero_by_condition: minor >= 36,
            object_words: minor >= 37,
            observes_generation: gates[FeatureGate::HPAGeneration],
            condition_generations: minor >= 37,
            shared_pods_examples: match minor {
                ..37 => None,
                _ if gates[FeatureGate::HPAOptimizedSelectorStore] => Some(2),
                _ => Some(3),
            },
            ignores_succeeded: minor >= 38,
            overhead: minor < 38,
            averages_are_bounded: minor >= 38,
            usage_is_exact: minor >= 38,
            replicas_saturate: minor >= 38,
            scale_to_zero: gates[FeatureGate::HPAScaleToZero],
            pod_level_requests: gates[FeatureGate::PodLevelResources],
        }
    }

    /// Whether a ratio is close enough to 1 to change nothing. Both ends count; NaN is outside.
    pub(crate) fn is_within(&self, tolerances: &Tolerances, ratio: f64) -> bool {
        tolerances.contain(ratio, self.tolerance_interval)
    }
}
