//! The formats that all of Kubernetes shares: quantities, label selectors, object names, and JSON and
//! YAML as Go's decoders read them. Nothing here knows what an HPA is.

pub mod annotations;
pub(crate) mod go;
pub mod json;
pub mod managed_fields;
pub mod metadata;
pub(crate) mod names;
pub mod quantity;
pub mod selector;
pub(crate) mod similar;
pub mod tool;
pub(crate) mod yaml;
