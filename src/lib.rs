//! The HorizontalPodAutoscaler controller's decision, computed outside the controller.
#![allow(missing_docs)]
mod go;
pub mod json;
mod names;
pub mod quantity;
pub mod selector;
pub mod snapshot;
