//! The fields of each version of a HorizontalPodAutoscaler and of the workloads that it scales, used to
//! report unknown ones, as the API server does with `fieldValidation: Strict`. Reading itself is lax.
//! Follows upstream's `staging/src/k8s.io/api/autoscaling/{v1,v2beta1,v2beta2,v2}/types.go` and
//! `metav1.ObjectMeta`: the names are those of the types that are read, or of k8s-openapi.

use std::fmt;

use k8s_openapi::api::apps::v1::{
    DeploymentSpec, DeploymentStrategy, ReplicaSetSpec, RollingUpdateDeployment,
    RollingUpdateStatefulSetStrategy, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::{
    Container, PodSpec, PodTemplateSpec, ReplicationControllerSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    ManagedFieldsEntry, ObjectMeta, OwnerReference,
};
use serde::de::value::Error as NoValue;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value;

use super::{HpaVersion, V1Spec, V2beta1Spec, legacy};
use crate::apimachinery::json::shortened_to;
use crate::apimachinery::selector::{LabelSelector, LabelSelectorRequirement};
use crate::apimachinery::similar::nearest;
use crate::snapshot::hpa::{
    Behavior, ContainerResourceMetricSource, CrossVersionObjectReference, ExternalMetricSource,
    HpaSpec, MetricIdentifier, MetricSpec, MetricTarget, ObjectMetricSource, PodsMetricSource,
    ResourceMetricSource, ScalingPolicy, ScalingRules,
};

/// A field that the version of its object does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// The path, such as `spec.metrics[0].resource.nam`.
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

/// The unknown fields of an object. There may be millions of them, so only the first few are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownFields {
    /// The first unknown fields, at most [`UnknownFields::MOST`].
    pub first: Vec<UnknownField>,
    /// The number of further unknown fields.
    pub more: usize,
}

impl UnknownFields {
    /// The maximum number of fields that are shown.
    pub const MOST: usize = 20;

    /// Whether there are no unknown fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Returns a message for each field, and one with the number of further fields.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("{} more unknown fields", self.more));
        self.first
            .iter()
            .map(ToString::to_string)
            .chain(more)
            .collect()
    }

    /// Counts a field at a path, whose name may have any length.
    fn add(&mut self, path: &str, meant: impl FnOnce() -> Option<String>) {
        if self.first.len() == Self::MOST {
            self.more += 1;
            return;
        }
        let path = shortened_to(path, 200, (120, 60)).into_owned();
        self.first.push(UnknownField {
            path,
            meant: meant(),
        });
    }
}

/// The fields that an object may have, or each object of a list.
#[derive(Clone, Copy)]
pub(crate) struct ObjectShape {
    /// Returns the names of all fields.
    names: fn() -> &'static [&'static str],
    /// The fields whose values are checked further. The others have any value, such as a map with user-defined keys.
    nested: &'static [(&'static str, ObjectShape)],
}

impl ObjectShape {
    /// Returns the shape with the fields of a type.
    pub(crate) const fn of<T: for<'de> Deserialize<'de>>(
        nested: &'static [(&'static str, Self)],
    ) -> Self {
        Self {
            names: names::<T>,
            nested,
        }
    }

    /// Returns the names of all fields at any depth.
    pub(super) fn all_names(&self) -> Vec<&'static str> {
        let nested = self.nested.iter().flat_map(|(_, own)| own.all_names());
        (self.names)().iter().copied().chain(nested).collect()
    }
}

const METADATA: ObjectShape = ObjectShape::of::<ObjectMeta>(&[
    ("ownerReferences", ObjectShape::of::<OwnerReference>(&[])),
    ("managedFields", ObjectShape::of::<ManagedFieldsEntry>(&[])),
]);

const REFERENCE: ObjectShape = ObjectShape::of::<CrossVersionObjectReference>(&[]);
const SELECTOR: ObjectShape = ObjectShape::of::<LabelSelector>(&[(
    "matchExpressions",
    ObjectShape::of::<LabelSelectorRequirement>(&[]),
)]);

const IDENTIFIER: (&str, ObjectShape) = (
    "metric",
    ObjectShape::of::<MetricIdentifier>(&[("selector", SELECTOR)]),
);
const TARGET: (&str, ObjectShape) = ("target", ObjectShape::of::<MetricTarget>(&[]));
const METRICS: ObjectShape = ObjectShape::of::<MetricSpec>(&[
    (
        "object",
        ObjectShape::of::<ObjectMetricSource>(&[
            ("describedObject", REFERENCE),
            TARGET,
            IDENTIFIER,
        ]),
    ),
    (
        "pods",
        ObjectShape::of::<PodsMetricSource>(&[IDENTIFIER, TARGET]),
    ),
    (
        "resource",
        ObjectShape::of::<ResourceMetricSource>(&[TARGET]),
    ),
    (
        "containerResource",
        ObjectShape::of::<ContainerResourceMetricSource>(&[TARGET]),
    ),
    (
        "external",
        ObjectShape::of::<ExternalMetricSource>(&[IDENTIFIER, TARGET]),
    ),
]);

const POLICIES: (&str, ObjectShape) = ("policies", ObjectShape::of::<ScalingPolicy>(&[]));
const RULES: ObjectShape = ObjectShape::of::<ScalingRules>(&[POLICIES]);
/// `HorizontalPodAutoscalerBehavior`.
pub(crate) const BEHAVIOR: ObjectShape =
    ObjectShape::of::<Behavior>(&[("scaleUp", RULES), ("scaleDown", RULES)]);
/// The rules before there was a tolerance.
const RULES_OF_BETA: ObjectShape = ObjectShape {
    names: || &["stabilizationWindowSeconds", "selectPolicy", "policies"],
    nested: &[POLICIES],
};

pub(super) const FLAT_METRICS: ObjectShape = ObjectShape::of::<legacy::spec::Metric>(&[
    (
        "object",
        ObjectShape::of::<legacy::spec::Object>(&[("target", REFERENCE), ("selector", SELECTOR)]),
    ),
    (
        "pods",
        ObjectShape::of::<legacy::spec::Pods>(&[("selector", SELECTOR)]),
    ),
    ("resource", ObjectShape::of::<legacy::spec::Resource>(&[])),
    (
        "containerResource",
        ObjectShape::of::<legacy::spec::ContainerResource>(&[]),
    ),
    (
        "external",
        ObjectShape::of::<legacy::spec::External>(&[("metricSelector", SELECTOR)]),
    ),
]);

const SCALED: (&str, ObjectShape) = ("scaleTargetRef", REFERENCE);
const V1: ObjectShape = ObjectShape::of::<V1Spec>(&[SCALED]);
const V2BETA1: ObjectShape = ObjectShape::of::<V2beta1Spec>(&[SCALED, ("metrics", FLAT_METRICS)]);
const V2BETA2: ObjectShape = ObjectShape::of::<HpaSpec>(&[
    SCALED,
    ("metrics", METRICS),
    (
        "behavior",
        ObjectShape::of::<Behavior>(&[("scaleUp", RULES_OF_BETA), ("scaleDown", RULES_OF_BETA)]),
    ),
]);
const V2: ObjectShape =
    ObjectShape::of::<HpaSpec>(&[SCALED, ("metrics", METRICS), ("behavior", BEHAVIOR)]);

const RESOURCES: ObjectShape = ObjectShape::of::<ResourceRequirements>(&[]);
const CONTAINERS: ObjectShape = ObjectShape::of::<Container>(&[("resources", RESOURCES)]);
const TEMPLATE: (&str, ObjectShape) = (
    "template",
    ObjectShape::of::<PodTemplateSpec>(&[
        ("metadata", METADATA),
        (
            "spec",
            ObjectShape::of::<PodSpec>(&[
                ("containers", CONTAINERS),
                ("initContainers", CONTAINERS),
                ("resources", RESOURCES),
            ]),
        ),
    ]),
);
const SELECTED: (&str, ObjectShape) = ("selector", SELECTOR);

const DEPLOYMENT: ObjectShape = ObjectShape::of::<DeploymentSpec>(&[
    SELECTED,
    TEMPLATE,
    (
        "strategy",
        ObjectShape::of::<DeploymentStrategy>(&[(
            "rollingUpdate",
            ObjectShape::of::<RollingUpdateDeployment>(&[]),
        )]),
    ),
]);
const STATEFUL_SET: ObjectShape = ObjectShape::of::<StatefulSetSpec>(&[
    SELECTED,
    TEMPLATE,
    (
        "updateStrategy",
        ObjectShape::of::<StatefulSetUpdateStrategy>(&[(
            "rollingUpdate",
            ObjectShape::of::<RollingUpdateStatefulSetStrategy>(&[]),
        )]),
    ),
]);

/// A Rollout of Argo Rollouts 1.9 (`RolloutSpec` in `pkg/apis/rollouts/v1alpha1/types.go`). How it replaces
/// its pods differs from version to version, and is not checked.
const ROLLOUT: ObjectShape = ObjectShape {
    names: || {
        &[
            "replicas",
            "selector",
            "template",
            "workloadRef",
            "minReadySeconds",
            "rollbackWindow",
            "strategy",
            "revisionHistoryLimit",
            "paused",
            "progressDeadlineSeconds",
            "progressDeadlineAbort",
            "restartAt",
            "analysis",
        ]
    },
    nested: &[
        SELECTED,
        TEMPLATE,
        (
            "workloadRef",
            ObjectShape {
                names: || &["apiVersion", "kind", "name", "scaleDown"],
                nested: &[],
            },
        ),
    ],
};

/// Returns the unknown fields of a workload: those of its spec, its template, and the containers and
/// resources in it. A Job cannot be the target of an HPA.
pub(crate) fn unknown_in_workload(object: &Value, group: &str, kind: &str) -> UnknownFields {
    let spec = match (group, kind) {
        ("apps", "Deployment") => Some(DEPLOYMENT),
        ("apps", "StatefulSet") => Some(STATEFUL_SET),
        ("apps", "ReplicaSet") => Some(ObjectShape::of::<ReplicaSetSpec>(&[SELECTED, TEMPLATE])),
        ("argoproj.io", "Rollout") => Some(ROLLOUT),
        ("", "ReplicationController") => {
            Some(ObjectShape::of::<ReplicationControllerSpec>(&[TEMPLATE]))
        }
        _ => None,
    };
    unknown_of(object, spec)
}

/// Returns the names of a type's fields, which its deserializer passes to the reader.
fn names<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    struct Listener<'n>(&'n mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Listener<'_> {
        type Error = NoValue;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
            Err(NoValue::custom(""))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, NoValue> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
            ignored_any
        }
    }

    let mut names: &[&str] = &[];
    drop(T::deserialize(Listener(&mut names)));
    names
}

/// Returns the unknown fields of an object of a version, except in its status, which a pass over a manifest
/// does not use.
pub(crate) fn unknown_fields(object: &Value, version: HpaVersion) -> UnknownFields {
    let spec = match version {
        HpaVersion::V1 => V1,
        HpaVersion::V2beta1 => V2BETA1,
        HpaVersion::V2beta2 => V2BETA2,
        HpaVersion::V2 => V2,
    };
    unknown_of(object, Some(spec))
}

/// Returns the unknown fields of an object with metadata, a spec of this shape, or any spec, and any status.
pub(crate) fn unknown_of(object: &Value, spec: Option<ObjectShape>) -> UnknownFields {
    const TOP: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
    let mut unknown = UnknownFields::default();
    let mut nested = vec![("metadata", METADATA)];
    nested.extend(spec.map(|spec| ("spec", spec)));
    of_object("", object, &TOP, &nested, &mut unknown);
    unknown
}

/// Returns the known field that was probably meant: one with a similar name, or the only one that begins
/// with the name.
fn meant<'k>(name: &str, known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    const LEAST: usize = 4;
    let mut longer = known
        .clone()
        .filter(|own| name.len() >= LEAST && own.starts_with(name));
    let only = longer.next().filter(|_| longer.next().is_none());
    nearest(name, known).or(only)
}

/// Checks an object that has fields of these names, and the values of some of them.
fn of_object(
    path: &str,
    value: &Value,
    names: &[&str],
    nested: &[(&str, ObjectShape)],
    unknown: &mut UnknownFields,
) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let field = field_path(path, name);
        if !names.contains(&&**name) {
            unknown.add(&field, || {
                meant(name, names.iter().copied()).map(|meant| field_path(path, meant))
            });
            continue;
        }
        let Some((_, shape)) = nested.iter().find(|(known, _)| known == name) else {
            continue;
        };
        let names = (shape.names)();
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let path = format!("{field}[{index}]");
                    of_object(&path, item, names, shape.nested, unknown);
                }
            }
            value => of_object(&field, value, names, shape.nested, unknown),
        }
    }
}

/// Returns the path of a field of the object at a path.
fn field_path(object: &str, name: &str) -> String {
    match object {
        "" => name.to_owned(),
        object => format!("{object}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::meant;
    use super::{HpaVersion, ObjectShape, V2, unknown_fields, unknown_in_workload};

    /// Adds the fields that objects of a shape may have, but that their part of the schema lacks.
    fn add_missing(shape: ObjectShape, part: &Value, schema: &Value, missing: &mut Vec<String>) {
        let item = part.get("items").unwrap_or(part);
        let place = item["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
        let object = place.map_or(item, |it| schema.pointer(it).expect("a definition"));
        for name in (shape.names)() {
            let nested = shape.nested.iter().find(|(own, _)| own == name);
            match (&object["properties"][name], nested) {
                (Value::Null, _) => missing.push(format!("{name} of {}", object["description"])),
                (own, Some((_, shape))) => add_missing(*shape, own, schema, missing),
                _ => {}
            }
        }
    }

    #[test]
    fn the_schema_describes_every_field_of_a_spec() {
        let schema = include_str!("../../../schema/explanation.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        let mut missing = Vec::new();
        add_missing(V2, &schema["$defs"]["spec"], &schema, &mut missing);
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn every_level_of_every_version_knows_its_fields() {
        let found = |version, object| {
            let unknown = unknown_fields(&object, version);
            unknown.messages().join("; ")
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
            (
                HpaVersion::V2,
                json!({"spce": {}}),
                r#"unknown field "spce", did you mean "spec"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"metadata": {"nam": "a", "labels": {"any": "b"}}}),
                r#"unknown field "metadata.nam", did you mean "metadata.name"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"metadata": {"anotations": {}}}),
                r#"unknown field "metadata.anotations", did you mean "metadata.annotations"?"#,
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
                r#"unknown field "spec.behavior.scaleDown.policies[0].period", did you mean "spec.behavior.scaleDown.policies[0].periodSeconds"?"#,
            ),
            (
                HpaVersion::V2,
                json!({"spec": {"behavior": {"scaleDown": {"stabilisationWindowSeconds": 1}}}}),
                r#"unknown field "spec.behavior.scaleDown.stabilisationWindowSeconds", did you mean "spec.behavior.scaleDown.stabilizationWindowSeconds"?"#,
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
            (
                HpaVersion::V1,
                json!({"spec": {"targetCPUUtilizationPercentage": 1}}),
                "",
            ),
            (
                HpaVersion::V1,
                json!({"spec": {"targetCPUUtilisationPercentage": 1}}),
                r#"unknown field "spec.targetCPUUtilisationPercentage", did you mean "spec.targetCPUUtilizationPercentage"?"#,
            ),
            (
                HpaVersion::V1,
                json!({"spec": {"metrics": []}}),
                r#"unknown field "spec.metrics""#,
            ),
        ] {
            assert_eq!(found(version, object.clone()), want, "{version:?} {object}");
        }
    }

    #[test]
    fn only_what_is_much_alike_or_begins_alike_is_meant() {
        for (name, want) in [
            ("minreplicas", Some("minReplicas")),
            ("target", None),
            ("behaviour", Some("behavior")),
            ("", None),
            ("ü", None),
            ("stabilizationWindow", Some("stabilizationWindowSeconds")),
            ("b", None),
        ] {
            let known = ["minReplicas", "behavior", "stabilizationWindowSeconds"].into_iter();
            assert_eq!(meant(name, known), want, "{name}");
        }
    }

    #[test]
    fn workloads_have_the_fields_of_their_kind() {
        let template = |spec| json!({"spec": {"template": {"spec": spec}}});
        let container = |own| template(json!({"containers": [own]}));
        for (group, kind, object, want) in [
            (
                "apps",
                "Deployment",
                json!({"spec": {"replica": 7}}),
                "spec.replica, spec.replicas",
            ),
            (
                "apps",
                "Deployment",
                json!({"spec": {"strategy": {"rollingUpdate": {"maxSurg": 1}}}}),
                "spec.strategy.rollingUpdate.maxSurg, spec.strategy.rollingUpdate.maxSurge",
            ),
            (
                "apps",
                "Deployment",
                json!({"spec": {"strategy": {"rolling": {}}}}),
                "spec.strategy.rolling, spec.strategy.rollingUpdate",
            ),
            (
                "apps",
                "Deployment",
                json!({"spec": {"updateStrategy": {}}}),
                "spec.updateStrategy, ",
            ),
            (
                "apps",
                "StatefulSet",
                json!({"spec": {"serviceName": "web", "updateStrategy": {"type": "OnDelete", "typ": 1},
                    "volumeClaimTemplates": [{"any": 1}]}}),
                "spec.updateStrategy.typ, spec.updateStrategy.type",
            ),
            (
                "apps",
                "ReplicaSet",
                json!({"spec": {"strategy": {}}}),
                "spec.strategy, ",
            ),
            (
                "",
                "ReplicationController",
                json!({"spec": {"selector": {"app": "web"}}}),
                "",
            ),
            (
                "argoproj.io",
                "Rollout",
                json!({"spec": {"workloadRef": {}}}),
                "",
            ),
            ("batch", "Job", json!({"spec": {"any": 1}}), ""),
            (
                "argoproj.io",
                "Rollout",
                json!({"spec": {"replica": 7, "strategy": {"canary": {"any": 1}}, "paused": true}}),
                "spec.replica, spec.replicas",
            ),
            (
                "argoproj.io",
                "Rollout",
                container(json!({"resources": {"request": {"cpu": "200m"}}})),
                "spec.template.spec.containers[0].resources.request, \
                 spec.template.spec.containers[0].resources.requests",
            ),
            (
                "apps",
                "Deployment",
                json!({"spec": {"template": {"metadata": {"label": {"app": "web"}}}}}),
                "spec.template.metadata.label, spec.template.metadata.labels",
            ),
            (
                "apps",
                "Deployment",
                template(json!({"container": []})),
                "spec.template.spec.container, spec.template.spec.containers",
            ),
            (
                "apps",
                "Deployment",
                container(json!({"resources": {"request": {"cpu": "200m"}}})),
                "spec.template.spec.containers[0].resources.request, \
                 spec.template.spec.containers[0].resources.requests",
            ),
            (
                "apps",
                "Deployment",
                template(json!({"initContainers": [{}, {"restartpolicy": "Always"}]})),
                "spec.template.spec.initContainers[1].restartpolicy, \
                 spec.template.spec.initContainers[1].restartPolicy",
            ),
            (
                "apps",
                "Deployment",
                container(
                    json!({"image": "web", "env": [{"any": 1}], "livenessProbe": {"any": 1}}),
                ),
                "",
            ),
        ] {
            let found = unknown_in_workload(&object, group, kind);
            let found = found.first.iter();
            let found: Vec<String> = found
                .map(|it| format!("{}, {}", it.path, it.meant.as_deref().unwrap_or_default()))
                .collect();
            assert_eq!(found.join("; "), want);
        }
    }
}
