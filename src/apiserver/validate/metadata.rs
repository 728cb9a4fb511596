//! The checks on an object's metadata, and nothing else of the object. Follows
//! `ValidateObjectMeta` of core and apimachinery at 1.36; `managedFields` are omitted, because the
//! API server writes them itself.

use std::cell::LazyCell;

use super::NOT_NEGATIVE;
use super::cause::{FaultPath, Shown};
use crate::apimachinery::metadata::OwnerReference;
use crate::apimachinery::names;
use crate::apiserver::metadata::ObjectMeta;

const ANNOTATIONS_MAX: usize = 256 * 1024;
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

pub(crate) fn validate(metadata: &ObjectMeta, path: &FaultPath<'_>) {
    validate_name(metadata, path);

    let namespace = path.child("namespace");
    if metadata.namespace.is_empty() {
        namespace.required("");
    } else {
        namespace.faults(&metadata.namespace, &names::dns_label(&metadata.namespace));
    }

    if metadata.generation < 0 {
        let shown = Shown::Number(metadata.generation);
        path.child("generation").invalid(shown, NOT_NEGATIVE);
    }

    validate_maps(metadata, path);

    let owners = path.child("ownerReferences");
    validate_owner_references(&metadata.owner_references, &owners);
    validate_finalizers(&metadata.finalizers, &path.child("finalizers"));
}

/// Labels and annotations (`ValidateLabels`, `ValidateAnnotations`).
pub(super) fn validate_maps(metadata: &ObjectMeta, path: &FaultPath<'_>) {
    let labels = path.child("labels");
    for (key, value) in &metadata.labels {
        labels.faults(key, &names::label_key(key));
        labels.faults(value, &names::label_value(value));
    }

    let annotations = path.child("annotations");
    for key in metadata.annotations.keys() {
        annotations.faults(key, &names::label_key(&key.to_lowercase()));
    }
    let size: usize = metadata
        .annotations
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if size > ANNOTATIONS_MAX {
        annotations.too_long(ANNOTATIONS_MAX);
    }
}

fn validate_name(metadata: &ObjectMeta, path: &FaultPath<'_>) {
    if !metadata.generate_name.is_empty() {
        let wrong = names::dns_subdomain(&mask_trailing_dash(&metadata.generate_name));
        let prefix = path.child("generateName");
        prefix.faults(&metadata.generate_name, &wrong);
    }
    let name = path.child("name");
    if !metadata.name.is_empty() {
        name.faults(&metadata.name, &names::dns_subdomain(&metadata.name));
    } else if metadata.generate_name.is_empty() {
        name.required("name or generateName is required");
    }
}

/// A prefix may end in a dash. Upstream drops the character before it as well.
fn mask_trailing_dash(prefix: &str) -> String {
    let masked = prefix.strip_suffix('-').filter(|rest| !rest.is_empty());
    masked.map_or_else(
        || prefix.to_owned(),
        |rest| {
            let mut chars = rest.chars();
            chars.next_back();
            format!("{}a", chars.as_str())
        },
    )
}

fn validate_owner_references(references: &[OwnerReference], path: &FaultPath<'_>) {
    let mut controller: Option<String> = None;
    let whole = LazyCell::new(|| json(references));
    for reference in references {
        // Upstream names the list here, not the element.
        let (group, version) = names::group_version(&reference.api_version).unwrap_or_default();
        if version.is_empty() {
            let shown = Shown::Text(&reference.api_version);
            path.child("apiVersion")
                .invalid(shown, "version must not be empty");
        }
        let fields = [
            ("kind", &reference.kind),
            ("name", &reference.name),
            ("uid", &reference.uid),
        ];
        for (field, value) in fields {
            if value.is_empty() {
                path.child(field)
                    .invalid(Shown::Text(""), "must not be empty");
            }
        }
        if (group, version, reference.kind.as_str()) == ("", "v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            path.invalid(Shown::Raw(&json(reference)), detail);
        }
        if reference.controller == Some(true) {
            let this = format!("{}/{}", reference.kind, reference.name);
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in \
                         references for {first} and {this}"
                    );
                    path.invalid(Shown::Raw(&whole), &detail);
                }
            }
        }
    }
}

fn validate_finalizers(finalizers: &[String], path: &FaultPath<'_>) {
    for finalizer in finalizers {
        path.faults(finalizer, &names::label_key(finalizer));
    }
    let has = |name| finalizers.iter().any(|finalizer| finalizer == name);
    if has(ORPHAN) && has(FOREGROUND) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        path.invalid(Shown::Raw(&json(finalizers)), &detail);
    }
    for (i, finalizer) in finalizers.iter().enumerate() {
        let standard = [ORPHAN, FOREGROUND, "kubernetes"].contains(&finalizer.as_str());
        if !finalizer.contains('/') && !standard {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            path.index(i).invalid(Shown::Text(finalizer), detail);
        }
    }
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::cause::Causes;
    use super::*;

    fn causes(metadata: &str) -> Vec<String> {
        let metadata: ObjectMeta = crate::apimachinery::json::decode(metadata).unwrap();
        let causes = Causes::default();
        validate(&metadata, &FaultPath::new("metadata", &causes));
        causes.borrow().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_and_namespaces() {
        assert_eq!(causes(r#"{"name": "a.b", "namespace": "n"}"#), [""; 0]);
        assert_eq!(
            causes(r#"{"generateName": "a-", "namespace": "n"}"#),
            [""; 0]
        );
        assert_eq!(
            causes("{}"),
            [
                "metadata.name: Required value: name or generateName is required",
                "metadata.namespace: Required value",
            ]
        );
        assert_eq!(
            causes(r#"{"name": "A", "namespace": "a.b"}"#),
            [
                "metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist \
                 of lower case alphanumeric characters, '-' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'example.com', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                "metadata.namespace: Invalid value: \"a.b\": must not contain dots",
            ]
        );
        assert_eq!(
            causes(r#"{"generateName": "_a-", "namespace": "n"}"#).len(),
            1
        );
    }

    #[test]
    fn labels_annotations_and_the_rest() {
        let meta = |rest: &str| causes(&format!(r#"{{"name": "a", "namespace": "n", {rest}}}"#));
        assert_eq!(
            meta(r#""labels": {"a": null, "b/c": "D"}, "annotations": {"A.b/C": "x y"}"#),
            [""; 0]
        );
        assert_eq!(meta(r#""labels": {"a": "x y"}"#).len(), 1);
        assert_eq!(
            meta(r#""labels": {"/a": "b"}"#),
            [r#"metadata.labels: Invalid value: "/a": prefix part must be non-empty"#]
        );
        assert_eq!(
            meta(r#""annotations": {"/A": "b"}"#),
            [r#"metadata.annotations: Invalid value: "/A": prefix part must be non-empty"#]
        );
        let long = format!(
            r#""annotations": {{"a": "{}"}}"#,
            "x".repeat(ANNOTATIONS_MAX)
        );
        assert_eq!(
            meta(&long),
            ["metadata.annotations: Too long: may not be more than 262144 bytes"]
        );
        assert_eq!(
            meta(r#""generation": -1"#),
            ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]
        );
        assert_eq!(
            meta(r#""ownerReferences": [{"kind": "A", "name": "b", "uid": "c"}]"#),
            [
                r#"metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty"#
            ]
        );
        assert_eq!(
            meta(
                r#""ownerReferences": [
                {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": true},
                {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "v", "controller": true}]"#
            ),
            [concat!(
                r#"metadata.ownerReferences: Invalid value: "#,
                r#"[{"apiVersion":"v1","kind":"A","name":"a","uid":"u","controller":true},"#,
                r#"{"apiVersion":"v1","kind":"B","name":"b","uid":"v","controller":true}]: "#,
                "Only one reference can have Controller set to true. ",
                r#"Found "true" in references for A/a and B/b"#
            )]
        );
        assert_eq!(
            meta(r#""finalizers": ["a", "b/c", "kubernetes"]"#),
            [
                "metadata.finalizers[0]: Invalid value: \"a\": name is neither a standard finalizer \
              name nor is it fully qualified"
            ]
        );
        assert_eq!(
            meta(r#""finalizers": ["orphan", "foregroundDeletion"]"#),
            [
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer \
              orphan and foregroundDeletion cannot be both set"
            ]
        );
    }
}
