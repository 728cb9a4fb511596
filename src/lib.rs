//! The HorizontalPodAutoscaler controller's decision, computed outside the controller.
#![allow(missing_docs)]
pub mod quantity;
pub mod selector;
pub mod snapshot;
