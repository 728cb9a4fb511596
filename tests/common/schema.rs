//! The published schemas: those of lists, predictions and applications refer to that of
//! explanations.

use jsonschema::{Registry, RegistryBuilder, Validator};
use serde_json::Value;

pub(crate) fn explanation() -> Value {
    let text = include_str!("../../schema/explanation.json");
    serde_json::from_str(text).expect("the schema is JSON")
}

pub(crate) fn explanation_list() -> Value {
    let text = include_str!("../../schema/explanation-list.json");
    serde_json::from_str(text).expect("the schema is JSON")
}

#[allow(dead_code, reason = "not every test binary that includes the module applies")]
pub(crate) fn apply_result() -> Value {
    let text = include_str!("../../schema/apply-result.json");
    serde_json::from_str(text).expect("the schema is JSON")
}

pub(crate) fn list_validator() -> Validator {
    beside_explanation(&explanation_list())
}

/// A schema that refers to that of explanations.
pub(crate) fn beside_explanation(schema: &Value) -> Validator {
    let registry = Registry::new().add("kubectl-hpa/v1alpha1/explanation", explanation());
    let registry = registry.and_then(RegistryBuilder::prepare).expect("the schema is one");
    let options = jsonschema::options().with_registry(&registry);
    options.build(schema).expect("the schema is one")
}
