//! The defaults, rewrites and drops of the API server: defaults on decoding a request and on reading from
//! storage, quantities in their canonical form, and fields whose feature gate is off. Nothing is validated
//! here. Follows upstream's `SetDefaults_HorizontalPodAutoscaler` of each version and the strategy's
//! `dropDisabledFields`.

use super::convert::HpaVersion;
use crate::apimachinery::quantity::Quantity;
use crate::snapshot::controller::Gates;
use crate::snapshot::hpa::{Behavior, HpaSpec, MetricSpec, ScalingPolicy, ScalingRules};
use crate::version::{FeatureGate, Version};

/// The rules by which an API server processes an object: those of its version, and its feature gates, which
/// are assumed to be the controller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionRules {
    /// The gates: whether `minReplicas: 0` is allowed, and which fields are kept ([`drop_disabled`]).
    pub gates: Gates,
    /// Whether the `apiVersion` of references is validated (1.34: `ValidateAPIVersion` in upstream's
    /// `pkg/apis/autoscaling/validation`).
    pub api_version: bool,
    /// Whether a missing `maxReplicas` is distinguished from a negative one (1.36).
    pub max_replicas_required: bool,
    /// Whether the zero value that `autoscaling/v1` writes next to the average of an Object metric is dropped
    /// (1.36); before, it fails validation.
    pub zero_value_dropped: bool,
}

impl AdmissionRules {
    /// Returns the rules of a version with these gates.
    pub fn new(version: &Version, gates: Gates) -> Self {
        let minor = version.minor();
        Self {
            gates,
            api_version: minor >= 34,
            max_replicas_required: minor >= 36,
            zero_value_dropped: minor >= 36,
        }
    }

    /// Returns the rules of a version with its default gates.
    pub fn of(version: &Version) -> Self {
        Self::new(version, Gates::new(version, |_| None))
    }

    /// Returns the rules for an update of a spec: what it already uses stays allowed, as in upstream's
    /// `toleranceInUse`.
    pub(super) fn in_update_of(mut self, spec: &HpaSpec) -> Self {
        for field in drop_disabled(&mut spec.clone(), self.gates) {
            self.gates[field.gate] = true;
        }
        self.gates[FeatureGate::HPAScaleToZero] |= spec.min_replicas == Some(0);
        self
    }
}

/// Sets the defaults that a request of this version gets, before it is validated.
pub fn set_on_decode(spec: &mut HpaSpec, version: HpaVersion) {
    spec.min_replicas.get_or_insert(1);
    if spec.metrics.is_empty() {
        spec.metrics.push(MetricSpec::cpu_utilization(80));
    }
    // The two older versions have a behavior only in an annotation, which is not defaulted: a
    // half-filled one fails validation there.
    if matches!(version, HpaVersion::V2beta2 | HpaVersion::V2) {
        set_behavior(spec);
    }
}

/// Sets the defaults that every object gets when it is read, whichever version wrote it: storage
/// uses `autoscaling/v2`. Quantities are then parsed from their canonical texts, which may change the
/// controller's floats.
pub fn set_on_read(spec: &mut HpaSpec) {
    set_on_decode(spec, HpaVersion::V2);
    for quantity in quantities(spec) {
        *quantity = quantity.canonicalized();
    }
}

fn quantities(spec: &mut HpaSpec) -> impl Iterator<Item = &mut Quantity> {
    let targets = spec.metrics.iter_mut().flat_map(MetricSpec::targets_mut);
    let values = targets.flat_map(|(_, target)| [&mut target.value, &mut target.average_value]);
    let behavior = spec.behavior.iter_mut();
    let rules = behavior
        .flat_map(|behavior| [&mut behavior.scale_up, &mut behavior.scale_down])
        .flatten();
    values
        .chain(rules.map(|rules| &mut rules.tolerance))
        .flatten()
}

/// Drops the zero value next to the average of an Object metric: a field that `autoscaling/v1` could
/// not omit.
pub fn drop_zero_values(spec: &mut HpaSpec) {
    for object in spec
        .metrics
        .iter_mut()
        .filter_map(|metric| metric.object.as_mut())
    {
        let target = &mut object.target;
        if target.average_value.is_some() {
            target.value = target.value.take().filter(|value| value.signum() != 0);
        }
    }
}

/// A field that is dropped because its feature gate is off, or because the version does not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedField {
    /// The field's path.
    pub path: String,
    /// The gate.
    pub gate: FeatureGate,
    /// The value, as JSON.
    pub value: String,
}

/// Drops the fields that a disabled feature gate does not allow, before validation. This is the only list of the fields
/// that have a gate.
pub fn drop_disabled(spec: &mut HpaSpec, gates: Gates) -> Vec<DroppedField> {
    let mut dropped = Vec::new();
    for (index, metric) in spec.metrics.iter_mut().enumerate() {
        let gate = FeatureGate::HPAContainerMetrics;
        let source = metric.container_resource.take_if(|_| !gates[gate]);
        dropped.extend(source.map(|source| DroppedField {
            path: format!("spec.metrics[{index}].containerResource"),
            gate,
            value: serde_json::to_string(&source).unwrap_or_default(),
        }));
    }
    let directions = spec.behavior.iter_mut().flat_map(|behavior| {
        let (up, down) = (&mut behavior.scale_up, &mut behavior.scale_down);
        [("scaleUp", up), ("scaleDown", down)]
    });
    for (direction, rules) in directions {
        let Some(rules) = rules else { continue };
        let gate = FeatureGate::HPAConfigurableTolerance;
        let tolerance = rules.tolerance.take_if(|_| !gates[gate]);
        dropped.extend(tolerance.map(|tolerance| DroppedField {
            path: format!("spec.behavior.{direction}.tolerance"),
            gate,
            value: tolerance.canonicalized().to_string(),
        }));
    }
    dropped
}

fn set_behavior(spec: &mut HpaSpec) {
    let Some(Behavior {
        scale_up,
        scale_down,
    }) = &mut spec.behavior
    else {
        return;
    };
    fill(
        scale_up,
        Some(0),
        &[policy("Pods", 4), policy("Percent", 100)],
    );
    // The stabilization window for scaling down is left to the controller, whose flag sets it.
    fill(scale_down, None, &[policy("Percent", 100)]);
}

fn fill(stated: &mut Option<ScalingRules>, window: Option<i32>, policies: &[ScalingPolicy]) {
    let rules = stated.get_or_insert_default();
    rules.stabilization_window_seconds = rules.stabilization_window_seconds.or(window);
    rules.select_policy.get_or_insert_with(|| "Max".to_owned());
    rules.policies.get_or_insert_with(|| policies.to_vec());
}

fn policy(type_: &str, value: i32) -> ScalingPolicy {
    ScalingPolicy {
        type_: type_.to_owned(),
        value,
        period_seconds: 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaulted(spec: &str) -> serde_json::Value {
        let mut spec: HpaSpec = serde_json::from_str(spec).unwrap();
        set_on_read(&mut spec);
        serde_json::to_value(&spec).unwrap()
    }

    #[test]
    fn an_empty_spec_gets_one_replica_and_a_cpu_metric() {
        assert_eq!(
            defaulted("{}"),
            serde_json::json!({
                "scaleTargetRef": {"kind": "", "name": ""},
                "minReplicas": 1,
                "maxReplicas": 0,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target":
                    {"type": "Utilization", "averageUtilization": 80}}}],
            })
        );
    }

    #[test]
    fn behavior_is_filled_field_by_field() {
        let up = serde_json::json!({
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        });
        let down = serde_json::json!({
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        });
        assert_eq!(
            defaulted(r#"{"behavior": {}}"#)["behavior"],
            serde_json::json!({"scaleUp": up, "scaleDown": down})
        );

        let set = defaulted(
            r#"{"behavior": {"scaleUp": {"selectPolicy": "", "policies": null},
                "scaleDown": {"stabilizationWindowSeconds": 7, "tolerance": "0.05"}}}"#,
        );
        assert_eq!(set["behavior"]["scaleUp"]["selectPolicy"], "");
        assert_eq!(set["behavior"]["scaleUp"]["policies"], up["policies"]);
        assert_eq!(
            set["behavior"]["scaleDown"]["stabilizationWindowSeconds"],
            7
        );
        assert_eq!(set["behavior"]["scaleDown"]["tolerance"], "50m");
    }

    #[test]
    fn empty_policies_count_as_set() {
        let mut spec: HpaSpec =
            serde_json::from_str(r#"{"behavior": {"scaleUp": {"policies": []}}}"#).unwrap();
        set_on_read(&mut spec);
        assert_eq!(
            spec.behavior.unwrap().scale_up.unwrap().policies,
            Some(Vec::new())
        );
    }

    #[test]
    fn quantities_are_those_of_their_canonical_texts() {
        let mut spec: HpaSpec = serde_json::from_str(
            r#"{"metrics": [{"pods": {"target": {"averageValue": "0.3"}},
                "external": {"target": {"value": "1000E"}}}],
                "behavior": {"scaleDown": {"tolerance": 0.3}}}"#,
        )
        .unwrap();
        set_on_read(&mut spec);
        let tolerance = spec
            .behavior
            .unwrap()
            .scale_down
            .unwrap()
            .tolerance
            .unwrap();
        assert_eq!(tolerance.approximate_f64(), 0.3);
        let metric = &spec.metrics[0];
        let average = metric
            .pods
            .as_ref()
            .unwrap()
            .target
            .average_value
            .as_ref()
            .unwrap();
        assert_eq!(average.approximate_f64(), 0.3);
        // Decimal suffixes end at E, and larger numbers are written without a suffix.
        let value = metric
            .external
            .as_ref()
            .unwrap()
            .target
            .value
            .as_ref()
            .unwrap();
        assert_eq!(value, &Quantity::parse("1").unwrap());
    }

    #[test]
    fn behavior_from_an_annotation_waits_for_the_read() {
        for (version, filled) in [
            (HpaVersion::V1, false),
            (HpaVersion::V2beta1, false),
            (HpaVersion::V2beta2, true),
        ] {
            let mut spec = HpaSpec {
                behavior: Some(Behavior::default()),
                ..HpaSpec::default()
            };
            set_on_decode(&mut spec, version);
            assert_eq!(
                spec.behavior.unwrap().scale_up.is_some(),
                filled,
                "{version:?}"
            );
        }
    }

    #[test]
    fn a_disabled_gate_drops_tolerances() {
        let mut spec: HpaSpec = serde_json::from_str(
            r#"{"behavior": {"scaleUp": {"tolerance": "-1"}, "scaleDown": {"tolerance": 1}}}"#,
        )
        .unwrap();
        let kept = spec.clone();
        let mut gates = AdmissionRules::of(&Version::released()).gates;
        drop_disabled(&mut spec, gates);
        assert_eq!(spec, kept);
        gates[FeatureGate::HPAConfigurableTolerance] = false;
        drop_disabled(&mut spec, gates);
        let behavior = spec.behavior.unwrap();
        assert_eq!(behavior.scale_up.unwrap().tolerance, None);
        assert_eq!(behavior.scale_down.unwrap().tolerance, None);
    }
}
