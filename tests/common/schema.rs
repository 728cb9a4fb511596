//! The published schema of lists, which refers to that of their items.

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

pub(crate) fn list_validator() -> Validator {
    let registry = Registry::new().add("kubectl-hpa/v1alpha1/explanation", explanation());
    let registry = registry.and_then(RegistryBuilder::prepare).expect("the schema is one");
    let options = jsonschema::options().with_registry(&registry);
    options.build(&explanation_list()).expect("the schema is one")
}
