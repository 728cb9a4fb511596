//! What the Kubernetes HorizontalPodAutoscaler controller decides, computed outside of it.
//!
//! One plain value stands between neighbours, and no module imports from its right-hand one:
//!
//! ```text
//! args -> cluster -> snapshot -> memory -> engine -> report -> render -> stdout
//!                       ^                    |
//!                     files               whatif, apply
//! ```
//!
//! [`engine::reconcile`] is the controller's pass as a pure function of a [`snapshot::Snapshot`] and
//! a [`memory::Memory`]. Everything before it reads and checks, everything after it words;
//! [`whatif`] runs it on a changed snapshot, and [`apply`] says whether its result may be written.

pub mod apply;
pub mod args;
pub mod cluster;
pub mod command;
pub mod engine;
pub mod error;
mod go;
pub mod json;
pub mod memory;
mod names;
pub mod quantity;
pub mod render;
pub mod report;
pub mod secret;
pub mod selector;
pub mod snapshot;
pub mod version;
pub mod whatif;
mod yaml;
