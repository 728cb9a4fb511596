//! Tables of specs and the causes that the API server would list, one table per rule.

use super::*;
use crate::apiserver::convert::HpaVersion;
use crate::apiserver::default;

/// The rules of v1.36.
fn create() -> AdmissionRules {
    AdmissionRules::of(&"v1.36.2".parse().unwrap())
}

fn causes(spec: &str, rules: AdmissionRules) -> Vec<String> {
    let mut spec: HpaSpec = crate::apimachinery::json::decode(spec).unwrap();
    default::set_on_decode(&mut spec, HpaVersion::V2);
    default::drop_disabled(&mut spec, rules.gates);
    let causes = Causes::default();
    validate_spec(&spec, rules, &FaultPath::new("spec", &causes));
    causes.borrow().iter().map(ToString::to_string).collect()
}

const TARGET: &str =
    r#""scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}"#;

/// Checks specs that differ from a valid one in these fields.
#[track_caller]
fn check_spec(rules: AdmissionRules, fields: &str, want: &[&str]) {
    assert_eq!(
        causes(&format!("{{{TARGET}, {fields}}}"), rules),
        want,
        "{fields}"
    );
}

/// Checks one metric; the expected causes are relative to it.
#[track_caller]
fn check_metric(metric: &str, want: &[&str]) {
    let want: Vec<_> = want
        .iter()
        .map(|cause| format!("spec.metrics[0].{cause}"))
        .collect();
    let want: Vec<_> = want.iter().map(String::as_str).collect();
    check_spec(
        create(),
        &format!(r#""maxReplicas": 1, "metrics": [{metric}]"#),
        &want,
    );
}

const WAKES: &str = "spec.metrics: Forbidden: must specify at least one Object or External metric \
                     to support scaling to zero replicas";

#[test]
fn replicas() {
    for (fields, want) in [
        (r#""maxReplicas": 1"#, vec![]),
        (
            r#""maxReplicas": 2147483647, "minReplicas": 2147483647"#,
            vec![],
        ),
        (
            r#""maxReplicas": 1, "minReplicas": -1"#,
            vec!["spec.minReplicas: Invalid value: -1: must be greater than or equal to 1"],
        ),
        (
            r#""maxReplicas": 1, "minReplicas": 0"#,
            vec![
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                WAKES,
            ],
        ),
        (
            r#""minReplicas": null"#,
            vec![
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            r#""maxReplicas": -2, "minReplicas": -2"#,
            vec![
                "spec.minReplicas: Invalid value: -2: must be greater than or equal to 1",
                "spec.maxReplicas: Invalid value: -2: must be greater than or equal to 1",
            ],
        ),
        (
            r#""maxReplicas": 1, "minReplicas": 2"#,
            vec![
                "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`",
            ],
        ),
    ] {
        check_spec(create(), fields, &want);
    }
}

#[test]
fn scale_to_zero_needs_its_gate_and_a_metric_that_wakes() {
    let mut gate = create();
    gate.gates[FeatureGate::HPAScaleToZero] = true;
    let external = r#"{"type": "External", "external": {"metric": {"name": "q"},
        "target": {"type": "Value", "value": 1}}}"#;
    check_spec(gate, r#""maxReplicas": 1, "minReplicas": 0"#, &[WAKES]);
    check_spec(
        gate,
        r#""maxReplicas": 1, "minReplicas": -1"#,
        &["spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"],
    );
    check_spec(
        gate,
        &format!(r#""maxReplicas": 1, "minReplicas": 0, "metrics": [{external}]"#),
        &[],
    );
    // Only the type counts.
    let object = "spec.metrics[0].object: Required value: must populate information for the given \
                  metric source";
    let metrics = r#""maxReplicas": 1, "minReplicas": 0, "metrics": [{"type": "Object"}]"#;
    check_spec(gate, metrics, &[object]);
}

#[test]
fn scale_target_references() {
    let group = "apiVersion must specify API group";
    for (reference, want) in [
        (r#""kind": "ReplicationController", "name": "a""#, vec![]),
        (
            r#""kind": "ReplicationController", "name": "a", "apiVersion": "v1""#,
            vec![],
        ),
        (r#""kind": "K", "name": "a b", "apiVersion": "g/""#, vec![]),
        (
            r#""kind": "K", "name": "a""#,
            vec![format!(r#"apiVersion: Invalid value: "": {group}"#)],
        ),
        (
            r#""kind": "K", "name": "a", "apiVersion": "/""#,
            vec![format!(r#"apiVersion: Invalid value: "/": {group}"#)],
        ),
        (
            r#""kind": "replicationcontroller", "name": "a", "apiVersion": "v1""#,
            vec![format!(r#"apiVersion: Invalid value: "v1": {group}"#)],
        ),
        (
            r#""kind": "ReplicationController", "name": "a", "apiVersion": "a/b/c""#,
            vec![
                r#"apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#
                    .to_owned(),
            ],
        ),
        (
            r#""apiVersion": "g/v1""#,
            vec![
                "kind: Required value".to_owned(),
                "name: Required value".to_owned(),
            ],
        ),
        (
            r#""kind": ".", "name": "a%/", "apiVersion": "g/v1""#,
            vec![
                r#"kind: Invalid value: ".": may not be '.'"#.to_owned(),
                r#"name: Invalid value: "a%/": may not contain '/'"#.to_owned(),
                r#"name: Invalid value: "a%/": may not contain '%'"#.to_owned(),
            ],
        ),
    ] {
        let spec = format!(r#"{{"scaleTargetRef": {{{reference}}}, "maxReplicas": 1}}"#);
        let want: Vec<_> = want
            .iter()
            .map(|cause| format!("spec.scaleTargetRef.{cause}"))
            .collect();
        assert_eq!(causes(&spec, create()), want, "{reference}");
    }
}

const UNSUPPORTED: &str =
    r#"supported values: "ContainerResource", "External", "Object", "Pods", "Resource""#;

#[test]
fn metric_types_and_sources() {
    let cpu = r#""resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}"#;
    let pods = r#""pods": {}"#;
    let populate = "Required value: must populate information for the given metric source";
    let only = "Forbidden: must populate the given metric source only";
    for (metric, want) in [
        (format!(r#"{{"type": "Resource", {cpu}}}"#), vec![]),
        (
            "{}".to_owned(),
            vec![
                "type: Required value: must specify a metric source type".to_owned(),
                format!(r#"type: Unsupported value: "": {UNSUPPORTED}"#),
                format!(r#"type: Unsupported value: "": {UNSUPPORTED}"#),
            ],
        ),
        // A null metric is an empty one.
        (
            "null".to_owned(),
            vec![
                "type: Required value: must specify a metric source type".to_owned(),
                format!(r#"type: Unsupported value: "": {UNSUPPORTED}"#),
                format!(r#"type: Unsupported value: "": {UNSUPPORTED}"#),
            ],
        ),
        (
            r#"{"type": "resource<"}"#.to_owned(),
            vec![
                format!(r#"type: Unsupported value: "resource\u003c": {UNSUPPORTED}"#),
                format!(r#"type: Unsupported value: "resource\u003c": {UNSUPPORTED}"#),
            ],
        ),
        (r#"{"type": "Object"}"#.to_owned(), vec![format!("object: {populate}")]),
        (r#"{"type": "External"}"#.to_owned(), vec![format!("external: {populate}")]),
        (r#"{"type": "Pods", "pods": null}"#.to_owned(), vec![format!("pods: {populate}")]),
        (r#"{"type": "Resource"}"#.to_owned(), vec![format!("resource: {populate}")]),
        (
            r#"{"type": "ContainerResource"}"#.to_owned(),
            vec![format!("containerResource: {populate}")],
        ),
        // The one wrong source is checked, and the right one is only reported as missing.
        (format!(r#"{{"type": "Object", {cpu}}}"#), vec![format!("object: {populate}")]),
        // The first source is checked, even if it is the wrong one.
        (
            format!(r#"{{"type": "Resource", {pods}, {cpu}}}"#),
            vec![
                "pods.metric.name: Required value: must specify a metric name".to_owned(),
                "pods.target.type: Required value: must specify a metric target type".to_owned(),
                r#"pods.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue"#
                    .to_owned(),
                "pods.target.averageValue: Required value: must specify a positive target averageValue"
                    .to_owned(),
                format!("pods: {only}"),
            ],
        ),
        (
            format!(r#"{{"type": "Resource", {cpu}, "containerResource": {{}}}}"#),
            vec![format!("containerResource: {only}")],
        ),
        (
            format!(r#"{{"type": "External", {cpu}, "containerResource": {{}}}}"#),
            vec![
                format!("external: {populate}"),
                format!("resource: {only}"),
                format!("containerResource: {only}"),
            ],
        ),
    ] {
        let want: Vec<_> = want.iter().map(String::as_str).collect();
        check_metric(&metric, &want);
    }
}

#[test]
fn targets() {
    let either = "must be either Utilization, Value, or AverageValue";
    for (target, want) in [
        // No check that the type agrees with the fields.
        (r#""type": "Value", "averageUtilization": 1"#, vec![]),
        (
            r#""averageUtilization": 1"#,
            vec![
                "type: Required value: must specify a metric target type".to_owned(),
                format!(r#"type: Invalid value: "": {either}"#),
            ],
        ),
        (
            r#""type": "value", "averageUtilization": 1"#,
            vec![format!(r#"type: Invalid value: "value": {either}"#)],
        ),
        (
            r#""type": "Value", "value": "-1m", "averageValue": 0, "averageUtilization": -3"#,
            vec![
                r#"value: Invalid value: "-1m": must be positive"#.to_owned(),
                r#"averageValue: Invalid value: "0": must be positive"#.to_owned(),
                "averageUtilization: Invalid value: -3: must be greater than 0".to_owned(),
                "averageValue: Forbidden: may not set both a target raw value and a target utilization"
                    .to_owned(),
            ],
        ),
        (
            r#""type": "Value", "value": 1"#,
            vec![
                "averageUtilization: Required value: must set either a target raw value or a \
                 target utilization"
                    .to_owned(),
            ],
        ),
    ] {
        let metric = format!(r#"{{"type": "Resource", "resource": {{"name": "any thing", "target": {{{target}}}}}}}"#);
        let want: Vec<_> = want.iter().map(|cause| format!("resource.target.{cause}")).collect();
        check_metric(&metric, &want.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn sources() {
    for (metric, want) in [
        (
            r#"{"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "a"},
                "metric": {"name": "m", "selector": {"matchLabels": {"-bad-": "-"}}},
                "target": {"type": "Value", "value": 1, "averageValue": 1}}}"#,
            vec![],
        ),
        (
            r#"{"type": "Object", "object": {"describedObject": {"apiVersion": "a/b/c"},
                "metric": {"name": ".."}, "target": {"type": "Value"}}}"#,
            vec![
                "object.describedObject.kind: Required value",
                "object.describedObject.name: Required value",
                r#"object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
                r#"object.metric.name: Invalid value: "..": may not be '..'"#,
                "object.target.averageValue: Required value: must set either a target value or averageValue",
            ],
        ),
        (
            r#"{"type": "External", "external": {"metric": {"name": "a%"}, "target": {"type": "Value"}}}"#,
            vec![
                r#"external.metric.name: Invalid value: "a%": may not contain '%'"#,
                "external.target.averageValue: Required value: must set either a target value for metric or a per-pod target",
            ],
        ),
        (
            r#"{"type": "External", "external": {"metric": {"name": "a"},
                "target": {"type": "Value", "value": 1, "averageValue": 1}}}"#,
            vec![
                "external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
            ],
        ),
        (
            r#"{"type": "Resource", "resource": {"target": {"type": "Utilization", "averageUtilization": 1}}}"#,
            vec!["resource.name: Required value: must specify a resource name"],
        ),
        (
            r#"{"type": "ContainerResource", "containerResource":
                {"target": {"type": "Utilization", "averageUtilization": 1}}}"#,
            vec![
                "containerResource.name: Required value: must specify a resource name",
                "containerResource.container: Required value: must specify a container",
            ],
        ),
        (
            r#"{"type": "ContainerResource", "containerResource": {"name": "foo", "container": "a.b",
                "target": {"type": "Utilization", "averageUtilization": 1}}}"#,
            vec![
                r#"containerResource.name: Invalid value: "foo": must be a standard resource type or fully qualified"#,
                r#"containerResource.name: Invalid value: "foo": must be a standard resource for containers"#,
                r#"containerResource.container: Invalid value: "a.b": must not contain dots"#,
            ],
        ),
    ] {
        check_metric(metric, &want);
    }
}

#[test]
fn behavior() {
    for (rules, want) in [
        (r#""policies": null"#, vec![]),
        (
            r#""policies": [], "selectPolicy": "Disabled""#,
            vec!["policies: Required value: must specify at least one Policy"],
        ),
        (
            r#""stabilizationWindowSeconds": 3600, "tolerance": "1000""#,
            vec![],
        ),
        (
            r#""stabilizationWindowSeconds": -1, "selectPolicy": "max", "policies": [], "tolerance": "-1""#,
            vec![
                "stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
                r#"selectPolicy: Unsupported value: "max": supported values: "Disabled", "Max", "Min""#,
                "policies: Required value: must specify at least one Policy",
                r#"tolerance: Invalid value: "-1": must be greater than or equal to 0"#,
            ],
        ),
        (
            r#""stabilizationWindowSeconds": 3601"#,
            vec![
                "stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
            ],
        ),
        (
            r#""policies": [{"type": "Percent", "value": 1000, "periodSeconds": 1800}, null,
                {"type": "Pods", "value": 1, "periodSeconds": 1801}]"#,
            vec![
                r#"policies[1].type: Unsupported value: "": supported values: "Percent", "Pods""#,
                "policies[1].value: Invalid value: 0: must be greater than zero",
                "policies[1].periodSeconds: Invalid value: 0: must be greater than zero",
                "policies[2].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
            ],
        ),
    ] {
        let both = format!(
            r#""maxReplicas": 1, "behavior": {{"scaleUp": {{{rules}}}, "scaleDown": {{{rules}}}}}"#
        );
        let up = want
            .iter()
            .map(|cause| format!("spec.behavior.scaleUp.{cause}"));
        let down = want
            .iter()
            .map(|cause| format!("spec.behavior.scaleDown.{cause}"));
        let want: Vec<_> = up.chain(down).collect();
        check_spec(
            create(),
            &both,
            &want.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
    let mut off = create();
    off.gates[FeatureGate::HPAConfigurableTolerance] = false;
    check_spec(
        off,
        r#""maxReplicas": 1, "behavior": {"scaleUp": {"tolerance": "-1"}}"#,
        &[],
    );
}
