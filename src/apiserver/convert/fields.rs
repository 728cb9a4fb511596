//! The fields of each version of a HorizontalPodAutoscaler, used to report unknown ones,
//! as the API server does with `fieldValidation: Strict`. Reading itself is lax. Follows upstream's
//! `staging/src/k8s.io/api/autoscaling/{v1,v2beta1,v2beta2,v2}/types.go` and `metav1.ObjectMeta`.

use std::fmt;

use serde_json::Value;

use super::HpaVersion;
use crate::apimachinery::names::nearest;

/// A field that the version of its object does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// Its path, such as `spec.metrics[0].resource.nam`.
    pub path: String,
    /// The field that was probably meant.
    pub meant: Option<String>,
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown field {:?}", self.path)?;
        match &self.meant {
            Some(meant) => write!(f, ", did you mean {meant:?}?"),
            None => Ok(()),
        }
    }
}

/// What a value may be.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A value, or a map with user-defined keys.
    Any,
    /// An object with these fields.
    Fields(&'static [(&'static str, Shape)]),
    /// A list of such objects.
    List(&'static [(&'static str, Shape)]),
}

use Shape::{Any, Fields, List};

const METADATA: &[(&str, Shape)] = &[
    ("name", Any),
    ("generateName", Any),
    ("namespace", Any),
    ("selfLink", Any),
    ("uid", Any),
    ("resourceVersion", Any),
    ("generation", Any),
    ("creationTimestamp", Any),
    ("deletionTimestamp", Any),
    ("deletionGracePeriodSeconds", Any),
    ("labels", Any),
    ("annotations", Any),
    (
        "ownerReferences",
        List(&[
            ("apiVersion", Any),
            ("kind", Any),
            ("name", Any),
            ("uid", Any),
            ("controller", Any),
            ("blockOwnerDeletion", Any),
        ]),
    ),
    ("finalizers", Any),
    (
        "managedFields",
        List(&[
            ("manager", Any),
            ("operation", Any),
            ("apiVersion", Any),
            ("time", Any),
            ("fieldsType", Any),
            ("fieldsV1", Any),
            ("subresource", Any),
        ]),
    ),
];

const REFERENCE: Shape = Fields(&[("apiVersion", Any), ("kind", Any), ("name", Any)]);
const SELECTOR: Shape = Fields(&[
    ("matchLabels", Any),
    ("matchExpressions", List(&[("key", Any), ("operator", Any), ("values", Any)])),
]);

const METRIC: Shape = Fields(&[("name", Any), ("selector", SELECTOR)]);
const TARGET: Shape =
    Fields(&[("type", Any), ("value", Any), ("averageValue", Any), ("averageUtilization", Any)]);
const METRICS: Shape = List(&[
    ("type", Any),
    ("object", Fields(&[("describedObject", REFERENCE), ("target", TARGET), ("metric", METRIC)])),
    ("pods", Fields(&[("metric", METRIC), ("target", TARGET)])),
    ("resource", Fields(&[("name", Any), ("target", TARGET)])),
    ("containerResource", Fields(&[("name", Any), ("container", Any), ("target", TARGET)])),
    ("external", Fields(&[("metric", METRIC), ("target", TARGET)])),
]);

const POLICIES: Shape = List(&[("type", Any), ("value", Any), ("periodSeconds", Any)]);
const RULES: Shape = Fields(&[
    ("stabilizationWindowSeconds", Any),
    ("selectPolicy", Any),
    ("policies", POLICIES),
    ("tolerance", Any),
]);
/// `HorizontalPodAutoscalerBehavior`.
pub(crate) const BEHAVIOR: Shape = Fields(&[("scaleUp", RULES), ("scaleDown", RULES)]);
const RULES_OF_BETA: Shape =
    Fields(&[("stabilizationWindowSeconds", Any), ("selectPolicy", Any), ("policies", POLICIES)]);

const FLAT_METRICS: Shape = List(&[
    ("type", Any),
    (
        "object",
        Fields(&[
            ("target", REFERENCE),
            ("metricName", Any),
            ("targetValue", Any),
            ("selector", SELECTOR),
            ("averageValue", Any),
        ]),
    ),
    ("pods", Fields(&[("metricName", Any), ("targetAverageValue", Any), ("selector", SELECTOR)])),
    (
        "resource",
        Fields(&[("name", Any), ("targetAverageUtilization", Any), ("targetAverageValue", Any)]),
    ),
    (
        "containerResource",
        Fields(&[
            ("name", Any),
            ("targetAverageUtilization", Any),
            ("targetAverageValue", Any),
            ("container", Any),
        ]),
    ),
    (
        "external",
        Fields(&[
            ("metricName", Any),
            ("metricSelector", SELECTOR),
            ("targetValue", Any),
            ("targetAverageValue", Any),
        ]),
    ),
]);

const V1: &[(&str, Shape)] = &[
    ("scaleTargetRef", REFERENCE),
    ("minReplicas", Any),
    ("maxReplicas", Any),
    ("targetCPUUtilizationPercentage", Any),
];
const V2BETA1: &[(&str, Shape)] = &[
    ("scaleTargetRef", REFERENCE),
    ("minReplicas", Any),
    ("maxReplicas", Any),
    ("metrics", FLAT_METRICS),
];
const V2BETA2: &[(&str, Shape)] = &[
    ("scaleTargetRef", REFERENCE),
    ("minReplicas", Any),
    ("maxReplicas", Any),
    ("metrics", METRICS),
    ("behavior", Fields(&[("scaleUp", RULES_OF_BETA), ("scaleDown", RULES_OF_BETA)])),
];
const V2: &[(&str, Shape)] = &[
    ("scaleTargetRef", REFERENCE),
    ("minReplicas", Any),
    ("maxReplicas", Any),
    ("metrics", METRICS),
    ("behavior", BEHAVIOR),
];

/// Returns the fields that an object of a version should not have, except in its status, which a pass
/// over a manifest does not use.
pub(crate) fn unknown_fields(object: &Value, version: HpaVersion) -> Vec<UnknownField> {
    let spec = match version {
        HpaVersion::V1 => V1,
        HpaVersion::V2beta1 => V2BETA1,
        HpaVersion::V2beta2 => V2BETA2,
        HpaVersion::V2 => V2,
    };
    unknown_of(object, spec)
}

/// Returns the fields that an object with metadata, a spec with these fields and any status should not have.
pub(crate) fn unknown_of(
    object: &Value,
    spec: &'static [(&'static str, Shape)],
) -> Vec<UnknownField> {
    let mut unknown = Vec::new();
    let top = [
        ("apiVersion", Any),
        ("kind", Any),
        ("metadata", Fields(METADATA)),
        ("spec", Fields(spec)),
        ("status", Any),
    ];
    of_object("", object, &top, &mut unknown);
    unknown
}

fn of_object(path: &str, value: &Value, fields: &[(&str, Shape)], unknown: &mut Vec<UnknownField>) {
    let at = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    for (name, value) in value.as_object().into_iter().flatten() {
        let path = at(name);
        match fields.iter().find(|(known, _)| known == name).map(|(_, shape)| *shape) {
            Some(Any) => {}
            Some(Fields(fields)) => of_object(&path, value, fields, unknown),
            Some(List(fields)) => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    of_object(&format!("{path}[{index}]"), item, fields, unknown);
                }
            }
            None => {
                let meant = nearest(name, fields.iter().map(|(known, _)| *known)).map(at);
                unknown.push(UnknownField { path, meant });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HpaVersion, unknown_fields};
    use crate::apimachinery::names::nearest;

    #[test]
    fn every_level_of_every_version_knows_its_fields() {
        let found = |version, object| {
            let unknown = unknown_fields(&object, version);
            unknown.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        for (version, object, want) in [
            (
                HpaVersion::V2,
                json!({"spec": {"minReplica": 3}}),
                r#"unknown field "spec.minReplica", did you mean "spec.minReplicas"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"spec": {"maxReplcas": 3}}),
                r#"unknown field "spec.maxReplcas", did you mean "spec.maxReplicas"?"#,
            ),
            (HpaVersion::V2, json!({"spce": {}}), r#"unknown field "spce", did you mean "spec"?"#),
            (
                HpaVersion::V2,
                json!({"metadata": {"nam": "a", "labels": {"any": "b"}}}),
                r#"unknown field "metadata.nam", did you mean "metadata.name"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"metadata": {"ownerReferences": [{"controler": true}]}}),
                r#"unknown field "metadata.ownerReferences[0].controler", did you mean "metadata.ownerReferences[0].controller"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"spec": {"metrics": [{}, {"resource": {"target": {"averageUtilisation": 1}}}]}}),
                r#"unknown field "spec.metrics[1].resource.target.averageUtilisation", did you mean "spec.metrics[1].resource.target.averageUtilization"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"spec": {"metrics": [{"external": {"metric": {"selector": {"matchlabels": {"a.b/c": "d"}}}}}]}}),
                r#"unknown field "spec.metrics[0].external.metric.selector.matchlabels", did you mean "spec.metrics[0].external.metric.selector.matchLabels"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"spec": {"behavior": {"scaleDown": {"policies": [{"period": 1}]}}}}),
                r#"unknown field "spec.behavior.scaleDown.policies[0].period""#,
            ),
            (
                HpaVersion::V2,
                json!({"spec": {"behavior": {"scaleUp": {"tolerance": 1}}}, "status": {"any": 1}}),
                "",
            ),
            (
                HpaVersion::V2beta2,
                json!({"spec": {"behavior": {"scaleUp": {"tolerance": 1}}}}),
                r#"unknown field "spec.behavior.scaleUp.tolerance""#,
            ),
            (
                HpaVersion::V2beta1,
                json!({"spec": {"metrics": [{"resource": {"targetAverageUtilization": 1}}]}}),
                "",
            ),
            (
                HpaVersion::V2beta1,
                json!({"spec": {"metrics": [{"resource": {"target": {}}}]}}),
                r#"unknown field "spec.metrics[0].resource.target""#,
            ),
            (HpaVersion::V1, json!({"spec": {"targetCPUUtilizationPercentage": 1}}), ""),
            (HpaVersion::V1, json!({"spec": {"metrics": []}}), r#"unknown field "spec.metrics""#),
        ] {
            assert_eq!(found(version, object.clone()), want, "{version:?} {object}");
        }
    }

    #[test]
    fn only_what_is_much_alike_is_meant() {
        for (name, want) in [
            ("minreplicas", Some("minReplicas")),
            ("target", None),
            ("behaviour", Some("behavior")),
            ("", None),
            ("ü", None),
        ] {
            assert_eq!(nearest(name, ["minReplicas", "behavior"].into_iter()), want, "{name}");
        }
    }
}
