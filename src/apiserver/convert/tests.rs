//! Tables of objects in each version and the `autoscaling/v2` shape that they convert to.

use serde_json::{Value, json};

use super::*;

fn object(version: &str, rest: &Value) -> String {
    let mut object = json!({"apiVersion": version, "kind": "HorizontalPodAutoscaler"});
    object
        .as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    object.to_string()
}

#[track_caller]
fn read(version: &str, rest: &Value) -> HpaObject {
    hpa_from_json(&object(version, rest)).unwrap()
}

fn unknown(path: &str) -> Note {
    let text = format!("unknown and ignored, so the answer may be incomplete: {path}");
    Note::about(Subject::UnknownFields, text)
}

fn spec(hpa: &HpaObject) -> Value {
    serde_json::to_value(&hpa.spec).unwrap()
}

fn status(hpa: &HpaObject) -> Value {
    serde_json::to_value(&hpa.status).unwrap()
}

/// A v1 object with these annotations, whose values are JSON or text.
#[track_caller]
fn read_v1(annotations: &[(&str, Value)], spec: &Value) -> HpaObject {
    let annotations: serde_json::Map<_, _> = annotations
        .iter()
        .map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (annotations::key(name), Value::String(text))
        })
        .collect();
    read(
        "autoscaling/v1",
        &json!({"metadata": {"annotations": annotations}, "spec": spec}),
    )
}

fn cpu(percentage: i32) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percentage});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

#[test]
fn v2_is_taken_as_it_is() {
    let target = json!({"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"});
    let want = json!({
        "scaleTargetRef": target,
        "minReplicas": 2,
        "maxReplicas": 3,
        "metrics": [cpu(50)],
        "behavior": {"scaleDown": {"tolerance": "50m"}},
    });
    let mut given = want.clone();
    given["behavior"]["scaleDown"]["tolerance"] = json!("0.05");
    given["metrics"][0]["unknown"] = json!(1);
    let hpa = read(
        "autoscaling/v2",
        &json!({
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "managedFields": [{}]},
            "spec": given,
            "status": {
                "observedGeneration": 1,
                "lastScaleTime": "2026-01-02T03:04:05Z",
                "currentReplicas": 2,
                "desiredReplicas": 3,
                "currentMetrics": [{"type": ""}],
                "conditions": [{"type": "AbleToScale", "status": "True",
                    "lastTransitionTime": "2026-01-02T03:04:05Z"}],
            },
        }),
    );
    assert_eq!(hpa.version, HpaVersion::V2);
    assert!(hpa.is_admitted());
    assert_eq!(spec(&hpa), want);
    assert_eq!(
        status(&hpa),
        json!({
            "observedGeneration": 1,
            "lastScaleTime": "2026-01-02T03:04:05Z",
            "currentReplicas": 2,
            "desiredReplicas": 3,
            "currentMetrics": [{"type": ""}],
            "conditions": [{"type": "AbleToScale", "status": "True",
                "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        })
    );
    assert_eq!(hpa.notes, [unknown("spec.metrics[0].unknown")]);
    let hpa = hpa.into_hpa();
    assert_eq!(
        (
            hpa.name.as_str(),
            hpa.namespace.as_str(),
            hpa.uid.as_deref()
        ),
        ("a", "n", Some("u"))
    );
}

#[test]
fn null_is_the_zero_value() {
    let nothing = read("autoscaling/v2", &json!({}));
    assert_eq!(
        (nothing.is_admitted(), nothing.clone().into_hpa().uid),
        (false, None)
    );
    for rest in [
        json!({"metadata": null, "spec": null, "status": null}),
        json!({
            "metadata": {"name": null, "uid": null, "creationTimestamp": null, "labels": null,
                "annotations": null, "ownerReferences": null, "finalizers": null},
            "spec": {"scaleTargetRef": null, "minReplicas": null, "maxReplicas": null,
                "metrics": null, "behavior": null},
            "status": {"lastScaleTime": null, "currentReplicas": null, "desiredReplicas": null,
                "currentMetrics": null, "conditions": null},
        }),
    ] {
        assert_eq!(read("autoscaling/v2", &rest), nothing);
    }
    for version in HpaVersion::ALL {
        let rest = json!({
            "metadata": {"labels": {"a": null}, "ownerReferences": [null]},
            "spec": {"scaleTargetRef": {"kind": null}, "targetCPUUtilizationPercentage": null},
            "status": {"currentMetrics": null, "currentCPUUtilizationPercentage": null},
        });
        let hpa = read(version.as_str(), &rest);
        assert_eq!(hpa.metadata.labels["a"], "");
        assert_eq!(
            (hpa.spec, hpa.status),
            (HpaSpec::default(), HpaStatus::default())
        );
    }
    let hpa = read(
        "autoscaling/v2",
        &json!({
            "spec": {
                "metrics": [null, {"type": null, "pods": {"metric": null, "target": null},
                    "resource": {"target": {"value": null, "averageUtilization": null}}}],
                "behavior": {"scaleUp": null, "scaleDown": {"policies": [null], "tolerance": null}},
            },
            "status": {"currentMetrics": [null, {"resource": {"name": null, "current": null}}],
                "conditions": [null, {"lastTransitionTime": null}]},
        }),
    );
    assert_eq!(hpa.spec.metrics[0], MetricSpec::default());
    assert_eq!(hpa.spec.metrics[1].pods, Some(Default::default()));
    assert_eq!(
        hpa.status.conditions,
        [Condition::default(), Condition::default()]
    );
    assert_eq!(
        hpa.status.current_metrics.unwrap()[0],
        MetricStatus::default()
    );
}

#[test]
fn what_cannot_be_read_names_the_field() {
    for (json, want) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("[]", "a list, expected an object"),
        ("{}x", "trailing characters at line 1 column 3"),
        (
            r#"{"kind": "Pod"}"#,
            r#"kind: "Pod" is not "HorizontalPodAutoscaler""#,
        ),
        (
            r#"{"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v3"}"#,
            "apiVersion: unsupported version \"autoscaling/v3\" (supported: autoscaling/v1, \
             autoscaling/v2beta1, autoscaling/v2beta2, autoscaling/v2)",
        ),
        (
            r#"{"kind": "HorizontalPodAutoscaler"}"#,
            "apiVersion: unsupported version \"\" (supported: autoscaling/v1, \
             autoscaling/v2beta1, autoscaling/v2beta2, autoscaling/v2)",
        ),
    ] {
        assert_eq!(hpa_from_json(json).unwrap_err().to_string(), want, "{json}");
    }
    let target = |value: Value| json!({"metrics": [{"type": "Pods", "pods": {"target": {"averageValue": value}}}]});
    for (version, spec, want) in [
        (
            "autoscaling/v2",
            target(json!("1e")),
            "spec.metrics[0].pods.target.averageValue: unable to parse quantity's suffix",
        ),
        (
            "autoscaling/v2",
            target(json!("")),
            "spec.metrics[0].pods.target.averageValue: quantities must match the regular \
             expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "autoscaling/v2",
            json!({"behavior": []}),
            "spec.behavior: a list, expected an object",
        ),
        (
            "autoscaling/v2",
            json!({"maxReplicas": "3"}),
            "spec.maxReplicas: a string, expected a 32-bit integer",
        ),
        (
            "autoscaling/v2",
            json!({"minReplicas": 2_147_483_648_i64}),
            "spec.minReplicas: an integer out of range, expected a 32-bit integer",
        ),
        (
            "autoscaling/v1",
            json!({"targetCPUUtilizationPercentage": 1.5}),
            "spec.targetCPUUtilizationPercentage: a floating point number, expected a 32-bit integer",
        ),
        (
            "autoscaling/v2beta1",
            json!({"metrics": [{"pods": {"targetAverageValue": "1.5.5"}}]}),
            "spec.metrics[0].pods.targetAverageValue: quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ] {
        let error = hpa_from_json(&object(version, &json!({"spec": spec}))).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
}

#[test]
fn the_digits_of_a_number_are_kept() {
    let json = r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec":
        {"metrics": [{"pods": {"target": {"averageValue": 100000000000000000000.5}}}]}}"#;
    let hpa = hpa_from_json(json).unwrap();
    let want = Quantity::parse("100000000000000000000.5").unwrap();
    assert_eq!(
        hpa.spec.metrics[0]
            .pods
            .as_ref()
            .unwrap()
            .target
            .average_value,
        Some(want)
    );
}

#[test]
fn v1_without_annotations() {
    let target = json!({"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"});
    let hpa = read(
        "autoscaling/v1",
        &json!({
            "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 50},
            "status": {"currentReplicas": 2, "desiredReplicas": 3,
                "lastScaleTime": "2026-01-02T03:04:05Z", "currentCPUUtilizationPercentage": 7},
        }),
    );
    assert_eq!(
        spec(&hpa),
        json!({"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 3, "metrics": [cpu(50)]})
    );
    assert_eq!(
        status(&hpa),
        json!({
            "lastScaleTime": "2026-01-02T03:04:05Z",
            "currentReplicas": 2,
            "desiredReplicas": 3,
            "currentMetrics": [{"type": "Resource", "resource":
                {"name": "cpu", "current": {"averageUtilization": 7}}}],
        })
    );
    // Missing fields are left to the defaults.
    assert_eq!(
        read("autoscaling/v1", &json!({"spec": {}})).spec,
        HpaSpec::default()
    );
}

/// Each flat metric, and the metric that it converts to.
fn flat_metrics() -> Vec<(Value, Value)> {
    let service = json!({"kind": "Service", "name": "s"});
    let object = |target: Value| {
        json!({"type": "Object", "object":
            {"describedObject": service, "metric": {"name": "m"}, "target": target}})
    };
    vec![
        (
            json!({"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 5}}),
            cpu(5),
        ),
        (
            json!({"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Mi"}}),
            json!({"type": "Resource", "resource": {"name": "memory", "target":
                {"type": "AverageValue", "averageValue": "1Mi"}}}),
        ),
        (
            json!({"type": "Resource", "resource":
                {"name": "cpu", "targetAverageUtilization": 5, "targetAverageValue": 2}}),
            json!({"type": "Resource", "resource": {"name": "cpu", "target":
                {"type": "Utilization", "averageUtilization": 5, "averageValue": "2"}}}),
        ),
        (
            json!({"type": "ContainerResource", "containerResource":
                {"name": "cpu", "container": "app"}}),
            json!({"type": "ContainerResource", "containerResource":
                {"name": "cpu", "container": "app", "target": {"type": "AverageValue"}}}),
        ),
        (
            json!({"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "1500m",
                "selector": {"matchLabels": {"a": "b"}}}}),
            json!({"type": "Pods", "pods": {"metric": {"name": "m", "selector":
                {"matchLabels": {"a": "b"}}}, "target":
                {"type": "AverageValue", "averageValue": "1500m"}}}),
        ),
        // A missing value is zero, because the field cannot be absent.
        (
            json!({"type": "Pods", "pods": {"metricName": "m"}}),
            json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "target":
                {"type": "AverageValue", "averageValue": "0"}}}),
        ),
        (
            json!({"type": "Object", "object":
                {"target": service, "metricName": "m", "targetValue": "3"}}),
            object(json!({"type": "Value", "value": "3"})),
        ),
        (
            json!({"type": "Object", "object": {"target": service, "metricName": "m"}}),
            object(json!({"type": "Value", "value": "0"})),
        ),
        (
            json!({"type": "Object", "object": {"target": service, "metricName": "m",
                "targetValue": "0", "averageValue": "3"}}),
            object(json!({"type": "AverageValue", "value": "0", "averageValue": "3"})),
        ),
        (
            json!({"type": "Object", "object": {"target": service, "metricName": "m",
                "targetValue": "2", "averageValue": "3"}}),
            object(json!({"type": "AverageValue", "value": "2", "averageValue": "3"})),
        ),
        (
            json!({"type": "External", "external": {"metricName": "m", "metricSelector": {},
                "targetValue": "3"}}),
            json!({"type": "External", "external": {"metric": {"name": "m", "selector": {}},
                "target": {"type": "Value", "value": "3"}}}),
        ),
        (
            json!({"type": "External", "external": {"metricName": "m", "targetAverageValue": "3"}}),
            json!({"type": "External", "external": {"metric": {"name": "m"},
                "target": {"type": "AverageValue", "averageValue": "3"}}}),
        ),
        (
            json!({"type": "External", "external": {"metricName": "m"}}),
            json!({"type": "External", "external": {"metric": {"name": "m"},
                "target": {"type": "AverageValue"}}}),
        ),
    ]
}

#[test]
fn flat_metrics_of_v2beta1() {
    for (flat, want) in flat_metrics() {
        let hpa = read("autoscaling/v2beta1", &json!({"spec": {"metrics": [flat]}}));
        assert_eq!(spec(&hpa)["metrics"], json!([want]), "{flat}");
    }
}

#[test]
fn flat_metrics_in_a_v1_annotation_come_before_the_percentage() {
    for (flat, want) in flat_metrics() {
        let spec_v1 = json!({"targetCPUUtilizationPercentage": 50});
        let hpa = read_v1(&[("metrics", json!([flat]))], &spec_v1);
        assert_eq!(spec(&hpa)["metrics"], json!([want, cpu(50)]), "{flat}");
        assert_eq!(hpa.notes, []);
    }
    // Keys are case-insensitive, and a number keeps its digits.
    let text = r#"[{"TYPE": "Pods", "Pods": {"metricname": "m", "TargetAverageValue": 0.1250}}]"#;
    let hpa = read_v1(&[("metrics", json!(text))], &json!({}));
    assert_eq!(
        spec(&hpa)["metrics"],
        json!([{"type": "Pods", "pods": {"metric": {"name": "m"}, "target":
            {"type": "AverageValue", "averageValue": "125m"}}}])
    );
}

#[test]
fn unreadable_annotations_are_ignored_with_a_note() {
    for (name, text, want) in [
        (
            "metrics",
            "",
            "EOF while parsing a value at line 1 column 0",
        ),
        (
            "metrics",
            r#"[{"pods": {"targetAverageValue": "x"}}]"#,
            "[0].pods.targetAverageValue: quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "behavior",
            r#"{"ScaleUp": 1}"#,
            "scaleUp: an integer, expected an object",
        ),
    ] {
        let hpa = read_v1(
            &[(name, json!(text))],
            &json!({"targetCPUUtilizationPercentage": 50}),
        );
        let key = annotations::key(name);
        let text = format!("annotation {key} is ignored, as by the API server: {want}");
        assert_eq!(hpa.notes, [Note::about(Subject::AnnotationIgnored, text)]);
        assert_eq!(spec(&hpa)["metrics"], json!([cpu(50)]));
        assert_eq!(hpa.spec.behavior, None);
    }
    for name in ["current-metrics", "conditions"] {
        let hpa = read_v1(&[(name, json!("{}"))], &json!({}));
        assert_eq!(hpa.notes.len(), 1);
    }
    // Null is accepted.
    let null =
        ["metrics", "behavior", "current-metrics", "conditions"].map(|name| (name, Value::Null));
    let hpa = read_v1(&null, &json!({}));
    assert_eq!((hpa.spec, hpa.notes), (HpaSpec::default(), Vec::new()));
}

#[test]
fn behavior_annotations_hold_the_internal_type() {
    let internal = json!({
        "ScaleUp": {"StabilizationWindowSeconds": 5, "SelectPolicy": "Min",
            "Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 2}], "Tolerance": "100m"},
        "ScaleDown": {"StabilizationWindowSeconds": null, "SelectPolicy": null, "Policies": null},
    });
    let want = json!({
        "scaleUp": {"stabilizationWindowSeconds": 5, "selectPolicy": "Min",
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 2}], "tolerance": "100m"},
        "scaleDown": {},
    });
    assert_eq!(
        spec(&read_v1(&[("behavior", internal.clone())], &json!({})))["behavior"],
        want
    );
    assert_eq!(
        spec(&read_v1(&[("behavior", want.clone())], &json!({})))["behavior"],
        want
    );
    let annotations = json!({annotations::key("behavior"): internal.to_string()});
    let hpa = read(
        "autoscaling/v2beta1",
        &json!({"metadata": {"annotations": annotations}}),
    );
    assert_eq!(spec(&hpa)["behavior"], want);
    // The other versions strip the annotation.
    for version in ["autoscaling/v2beta2", "autoscaling/v2"] {
        let hpa = read(version, &json!({"metadata": {"annotations": annotations}}));
        assert_eq!(hpa.spec.behavior, None);
    }
    for empty in [json!({}), json!({"ScaleUp": null, "ScaleDown": null})] {
        assert_eq!(
            read_v1(&[("behavior", empty)], &json!({})).spec.behavior,
            None
        );
    }
}

#[test]
fn statuses_of_older_versions() {
    let service = json!({"kind": "Service", "name": "s"});
    let flat = json!([
        {"type": "Object", "object": {"target": service, "metricName": "m", "currentValue": "1",
            "averageValue": "2"}},
        {"type": "Pods", "pods": {"metricName": "m", "currentAverageValue": "1"}},
        {"type": "Resource", "resource":
            {"name": "cpu", "currentAverageUtilization": 5, "currentAverageValue": "1"}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app"}},
        {"type": "External", "external": {"metricName": "m", "currentAverageValue": "2"}},
        {"type": ""},
    ]);
    let want = json!([
        {"type": "Object", "object": {"describedObject": service, "metric": {"name": "m"},
            "current": {"value": "1", "averageValue": "2"}}},
        {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "1"}}},
        {"type": "Resource", "resource":
            {"name": "cpu", "current": {"averageUtilization": 5, "averageValue": "1"}}},
        {"type": "ContainerResource", "containerResource":
            {"name": "cpu", "container": "app", "current": {"averageValue": "0"}}},
        {"type": "External", "external":
            {"metric": {"name": "m"}, "current": {"value": "0", "averageValue": "2"}}},
        {"type": ""},
    ]);
    let conditions = json!([{"type": "AbleToScale", "status": "True",
        "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "R", "message": "m"}]);

    let beta = json!({"status": {"currentMetrics": flat, "conditions": conditions}});
    let beta = read("autoscaling/v2beta1", &beta);
    let annotations = json!({
        annotations::key("current-metrics"): flat.to_string(),
        annotations::key("conditions"): conditions.to_string(),
    });
    let v1 = read(
        "autoscaling/v1",
        &json!({"metadata": {"annotations": annotations},
            "status": {"currentCPUUtilizationPercentage": 7}}),
    );
    for hpa in [beta, v1] {
        assert_eq!(status(&hpa)["currentMetrics"], want);
        assert_eq!(status(&hpa)["conditions"], conditions);
        assert_eq!(hpa.notes, []);
    }
}

#[test]
fn v2beta2_keeps_tolerances_in_annotations() {
    let up = annotations::key("scale-up-tolerance");
    let hpa = read(
        "autoscaling/v2beta2",
        &json!({
            "metadata": {"annotations": {up.as_str(): "0.05"}},
            "spec": {"metrics": [cpu(5)], "behavior": {"scaleDown": {"tolerance": "1"}}},
        }),
    );
    assert_eq!(spec(&hpa)["metrics"], json!([cpu(5)]));
    assert_eq!(
        spec(&hpa)["behavior"],
        json!({"scaleUp": {"tolerance": "50m"}, "scaleDown": {}})
    );
    assert_eq!(hpa.notes, [unknown("spec.behavior.scaleDown.tolerance")]);
    let bad = json!({"metadata": {"annotations": {up.as_str(): "1e"}}});
    assert_eq!(
        hpa_from_json(&object("autoscaling/v2beta2", &bad))
            .unwrap_err()
            .to_string(),
        "metadata.annotations[autoscaling.alpha.kubernetes.io/scale-up-tolerance]: unable to parse \
         quantity's suffix"
    );
}

#[test]
fn more_metrics_than_are_evaluated_are_refused() {
    let metric = r#"{"type": "Resource", "resource": {"name": "cpu"}}"#;
    let of = |metrics: usize| {
        let metrics = vec![metric; metrics].join(",");
        hpa_from_json(&format!(
            r#"{{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {{"metrics": [{metrics}]}}}}"#
        ))
    };
    assert_eq!(of(MAX_METRICS).unwrap().spec.metrics.len(), MAX_METRICS);
    let error = of(MAX_METRICS + 1).unwrap_err();
    assert_eq!(error.path, "spec.metrics");
    assert!(
        error
            .message
            .starts_with("1001 metrics; at most 1000 are evaluated here"),
        "{error}"
    );
}

/// The fields of a struct that are skipped cost nothing; those that are listed do.
#[test]
fn unknown_fields_have_a_limit() {
    let hpa = |count: usize| {
        let fields: String = (0..count).map(|at| format!(r#""f{at}":0,"#)).collect();
        format!(
            r#"{{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{{{fields}"maxReplicas":1}}}}"#
        )
    };
    let object = hpa_from_json(&hpa(100_000)).unwrap();
    let named = |object: &HpaObject| object.notes[0].text.replace(&unknown("").text, "");
    let paths = named(&object);
    let first: Vec<&str> = paths.split(", ").collect();
    assert_eq!((first.len(), first[20]), (21, "and 99980 more"), "{paths}");
    let listed = hpa(1).replace(":0,", &format!(":[0{}],", ",0".repeat(500_000)));
    let error = hpa_from_json(&listed).unwrap_err().to_string();
    assert!(
        error.ends_with("its lists have more than 500000 elements"),
        "{error}"
    );
    let long = hpa(1).replace("f0", &"x".repeat(1 << 20));
    assert!(named(&hpa_from_json(&long).unwrap()).len() < 300);
}
