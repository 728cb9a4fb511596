//! The processing of a HorizontalPodAutoscaler in the API server, up to what the controller would see:
//! decode, default, drop, validate, and default again when it is read. The steps are in [`super::convert`],
//! [`super::default`] and [`super::validate`]; this file only has their order. Follows the generic
//! registry's create.

use jiff::Timestamp;

use super::convert::{self, HpaObject, HpaVersion};
use super::default::{self, AdmissionRules, DroppedField};
use super::metadata::ObjectMeta;
use super::validate::{self, Invalid};
use crate::apimachinery::json::DecodeError;
use crate::apimachinery::names;
use crate::snapshot::hpa::{Hpa, HpaSpec, HpaStatus};
use crate::snapshot::note::{Note, Subject};

/// The reason why the API server would reject an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// The object cannot be decoded (status 400).
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The object can be decoded but is invalid (status 422).
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Reads a HorizontalPodAutoscaler of any version and takes it through the API server.
///
/// A missing namespace is filled in from `namespace`. An object with a `uid` has been accepted before:
/// it is defaulted and checked for the fields that no server omits, but neither stripped nor validated.
///
/// # Errors
/// The API server's: the object cannot be decoded or is invalid.
pub fn admit(
    json: &str,
    namespace: &str,
    rules: AdmissionRules,
) -> Result<HpaObject, AdmissionError> {
    admit_object(convert::hpa_from_json(json)?, namespace, rules)
}

/// Takes an item of a list in `autoscaling/v2` through the API server.
///
/// # Errors
/// The same as for [`admit`].
pub(crate) fn admit_item(
    json: &str,
    namespace: &str,
    rules: AdmissionRules,
) -> Result<HpaObject, AdmissionError> {
    admit_object(
        convert::item_from_json(json, HpaVersion::V2)?,
        namespace,
        rules,
    )
}

/// Takes an update of an HPA's spec through the API server: fields that the HPA already uses stay allowed,
/// and the spec counts as written at `now`.
///
/// # Errors
/// The same as for [`admit`].
pub fn update(
    hpa: &Hpa,
    spec: HpaSpec,
    version: HpaVersion,
    rules: AdmissionRules,
    now: Timestamp,
) -> Result<Hpa, AdmissionError> {
    let metadata = ObjectMeta {
        name: hpa.name.clone(),
        namespace: hpa.namespace.clone(),
        ..ObjectMeta::default()
    };
    let (status, notes) = (HpaStatus::default(), Vec::new());
    let object = HpaObject {
        version,
        metadata,
        spec,
        status,
        notes,
    };
    let spec = admit_object(object, &hpa.namespace, rules.in_update_of(&hpa.spec))?.spec;
    let mut updated = hpa.clone();
    if updated.spec != spec {
        updated.spec = spec;
        updated.written.spec = Some(now);
        updated.generation = updated
            .generation
            .map(|generation| generation.saturating_add(1));
    }
    Ok(updated)
}

fn admit_object(
    mut object: HpaObject,
    namespace: &str,
    rules: AdmissionRules,
) -> Result<HpaObject, AdmissionError> {
    if object.metadata.namespace.is_empty() {
        namespace.clone_into(&mut object.metadata.namespace);
    }
    if object.version == HpaVersion::V1 && (object.is_admitted() || rules.zero_value_dropped) {
        default::drop_zero_values(&mut object.spec);
    }
    default::set_on_decode(&mut object.spec, object.version);
    if object.is_admitted() {
        check_stated(&object.spec)?;
    } else {
        if object.status != HpaStatus::default() {
            object.notes.push(Note::new(
                "the HPA has no uid, so it is treated as a new manifest and its status is \
                 dropped, as by the API server",
            ));
            object.status = HpaStatus::default();
        }
        for field in default::drop_disabled(&mut object.spec, rules.gates) {
            let DroppedField { path, gate, value } = field;
            let text =
                format!("{path} is dropped, as by the API server without the feature gate {gate}");
            let subject = Subject::FieldDropped { path, gate, value };
            object.notes.push(Note::about(subject, text));
        }
        let causes = validate::validate(&object.metadata, &object.spec, rules);
        if !causes.is_empty() {
            return Err(Invalid {
                name: object.metadata.name,
                causes,
            }
            .into());
        }
        if object.metadata.name.is_empty() {
            let name = names::generated(&object.metadata.generate_name);
            object.notes.push(Note::new(format!(
                "metadata.generateName: {name} stands in for the name that the API server generates, with x for each \
                 random character"
            )));
            object.metadata.name = name;
        }
    }
    default::set_on_read(&mut object.spec);
    Ok(object)
}

/// Checks that a spec from a server has the fields that none of them omits: a tool may have stripped it.
fn check_stated(spec: &HpaSpec) -> Result<(), DecodeError> {
    let target = &spec.scale_target_ref;
    let lacks = [
        ("spec.maxReplicas", spec.max_replicas == 0),
        ("spec.scaleTargetRef.kind", target.kind.is_empty()),
        ("spec.scaleTargetRef.name", target.name.is_empty()),
    ];
    let first = lacks.into_iter().find(|(_, is_lacking)| *is_lacking);
    first.map_or(Ok(()), |(path, _)| {
        let why = "missing, empty or 0, which it never is in an object from a server";
        Err(DecodeError::new(path, why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;

    fn rules() -> AdmissionRules {
        AdmissionRules::of(&Version::released())
    }

    fn causes(json: &str) -> Vec<String> {
        match admit(json, "default", rules()) {
            Err(AdmissionError::Invalid(invalid)) => {
                invalid.causes.iter().map(ToString::to_string).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    const TARGET: &str = r#""maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}"#;

    #[test]
    fn an_admitted_object_is_defaulted_but_not_judged() {
        let admitted = |spec: &str| {
            let json = format!(
                r#"{{"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
                "metadata": {{"name": "A", "uid": "u"}}, "spec": {{"minReplicas": 0, {spec}}}}}"#
            );
            admit(&json, "default", rules())
        };
        for (spec, path) in [
            (r#""scaleTargetRef": {"name": "web"}"#, "spec.maxReplicas"),
            (r#""maxReplicas": 3"#, "spec.scaleTargetRef.kind"),
            (
                r#""maxReplicas": 3, "scaleTargetRef": {"kind": "A"}"#,
                "spec.scaleTargetRef.name",
            ),
        ] {
            let error = admitted(spec).unwrap_err().to_string();
            let want = format!(
                "{path}: missing, empty or 0, which it never is in an object from a server"
            );
            assert_eq!(error, want);
        }
        let object = admitted(TARGET).unwrap();
        assert_eq!(object.metadata.namespace, "default");
        assert_eq!(object.spec.min_replicas, Some(0));
        assert_eq!(object.spec.metrics.len(), 1);
    }

    #[test]
    fn an_item_is_of_the_version_of_its_list_whatever_it_says() {
        let own = |head: &str| {
            format!(r#"{{{head}"metadata": {{"name": "a", "uid": "u"}}, "spec": {{{TARGET}}}}}"#)
        };
        let read = |head: &str| admit_item(&own(head), "default", rules()).unwrap();
        let bare = read("");
        assert_eq!(bare.version, HpaVersion::V2);
        for head in [
            r#""kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2","#,
            r#""kind": "HorizontalPodAutoscaler","#,
            r#""apiVersion": "autoscaling/v1", "kind": "Pod","#,
            r#""apiVersion": null,"#,
        ] {
            assert_eq!(read(head), bare, "{head}");
        }
        assert!(!admit_item("{}", "default", rules()).is_ok_and(|item| item.is_admitted()));
    }

    #[test]
    fn a_name_is_generated() {
        let long = "a".repeat(60);
        for (metadata, name, notes) in [
            (r#""generateName": "web-""#, "web-xxxxx", 1),
            (
                &format!(r#""generateName": "{long}""#),
                &format!("{}xxxxx", &long[..58]),
                1,
            ),
            (r#""generateName": "web-", "name": "web""#, "web", 0),
        ] {
            let json = format!(
                r#"{{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                "metadata": {{{metadata}}}, "spec": {{{TARGET}}}}}"#
            );
            let object = admit(&json, "default", rules()).unwrap();
            let found = (&*object.metadata.name, object.notes.len());
            assert_eq!(found, (name, notes), "{metadata}");
        }
    }

    #[test]
    fn metadata_is_judged_first() {
        let json = r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}"#;
        assert_eq!(
            causes(json),
            [
                "metadata.name: Required value: name or generateName is required",
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Required value",
                "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group",
            ]
        );
    }

    #[test]
    fn a_behavior_in_an_annotation_is_judged_before_it_is_filled() {
        let object = |behavior: &str| {
            format!(
                r#"{{"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
                "metadata": {{"name": "a", "annotations":
                {{"autoscaling.alpha.kubernetes.io/behavior": {behavior:?}}}}}, "spec": {{{TARGET}}}}}"#
            )
        };
        assert_eq!(
            causes(&object(r#"{"ScaleUp": {"SelectPolicy": "Min"}}"#)),
            ["spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"]
        );
        let policies =
            r#"{"ScaleUp": {"Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 1}]}}"#;
        let read = admit(&object(policies), "default", rules()).unwrap();
        let behavior = read.spec.behavior.unwrap();
        assert_eq!(
            behavior.scale_up.unwrap().select_policy.as_deref(),
            Some("Max")
        );
        assert_eq!(behavior.scale_down.unwrap().policies.unwrap().len(), 1);
    }

    #[test]
    fn the_message_lists_each_cause_once() {
        let json = format!(
            r#"{{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {{"name": "a"}}, "spec": {{{TARGET}, "metrics": [{{"type": "x"}}]}}}}"#
        );
        let error = admit(&json, "default", rules()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "HorizontalPodAutoscaler.autoscaling \"a\" is invalid: spec.metrics[0].type: \
             Unsupported value: \"x\": supported values: \"ContainerResource\", \"External\", \
             \"Object\", \"Pods\", \"Resource\""
        );
    }
}
