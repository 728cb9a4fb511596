//! Objects as they are saved: an HPA of any version, and everything that `-f` accepts.

use kubectl_hpa::apiserver::admit::admit;
use kubectl_hpa::apiserver::convert::hpa_from_json;
use kubectl_hpa::apiserver::default::AdmissionRules;
use kubectl_hpa::error::ErrorKind;
use kubectl_hpa::keda::{KedaHpa, identity};
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::snapshot::hpa::HpaSpec;
use serde_json::json;

use super::{as_text, assert_told};

/// An HPA in JSON: its spec is the same when it is written as `autoscaling/v2` and read again, and so
/// is what an API server makes of it.
pub fn hpa(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let object = match hpa_from_json(text) {
        Ok(object) => object,
        Err(e) => {
            assert!(!e.to_string().is_empty(), "an error without words");
            return;
        }
    };
    let written = |spec| {
        let metadata = json!({"name": "web", "namespace": "default"});
        let (api, kind) = ("autoscaling/v2", "HorizontalPodAutoscaler");
        json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}).to_string()
    };
    let copy = written(serde_json::to_value(&object.spec).expect("a spec is JSON"));
    let back = hpa_from_json(&copy).unwrap_or_else(|e| panic!("{e}: {copy}"));
    // As text, because upstream prints amounts beyond the suffix E without a suffix.
    assert_eq!(
        written(serde_json::to_value(&back.spec).expect("a spec is JSON")),
        copy
    );
    assert!(back.notes.is_empty(), "{:?}: {copy}", back.notes);
    for version in ["v1.23.0", "v1.37.0"] {
        let rules = AdmissionRules::of(&version.parse().expect("a version"));
        match admit(text, "default", rules) {
            Ok(admitted) => {
                assert_eq!(admitted.version, object.version);
                let copy = written(serde_json::to_value(&admitted.spec).expect("a spec is JSON"));
                // An object with a uid is accepted as it is, right or wrong.
                let again = admit(&copy, "default", rules);
                if let Some(again) = again.ok().filter(|_| !object.is_admitted()) {
                    let again = serde_json::to_value(&again.spec).expect("a spec is JSON");
                    assert_eq!(written(again), copy, "admitted again");
                }
            }
            Err(e) => assert!(!e.to_string().is_empty(), "an error without words"),
        }
    }
}

/// A ScaledObject in JSON: its HPA has the name and target that can also be read on their own, a known or
/// open metric, and a spec that stays the same when it is read again; or it is rejected with a message.
pub fn scaled_object(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    match KedaHpa::of(text, Some("default")) {
        Ok(made) => {
            let target = Some(made.spec.scale_target_ref.clone());
            assert_eq!((made.name, target), identity(text));
            assert!(
                made.spec.metrics.len() + made.open.len() > 0,
                "no metric: {text}"
            );
            let written = serde_json::to_string(&made.spec).expect("a spec is JSON");
            let back: HpaSpec = serde_json::from_str(&written).expect("it can be read");
            assert_eq!(
                serde_json::to_string(&back).expect("a spec is JSON"),
                written
            );
        }
        Err(refused) => assert!(
            !refused.to_string().trim().is_empty(),
            "an error without words"
        ),
    }
}

/// A file for `-f`: it is read, or rejected as a usage error.
pub fn document(data: &[u8]) {
    let Some(text) = as_text(data) else { return };
    let mut objects = Objects::default();
    if let Err(e) = read_text(text, "state.yaml", &mut objects) {
        assert_told(&e);
        assert_eq!(e.kind, ErrorKind::Usage, "{e}");
        assert!(e.message.contains("state.yaml"), "{e}");
    }
}
