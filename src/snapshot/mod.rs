//! Everything that one pass of the controller needs, parsed and validated at the edge.

pub mod admit;
pub mod convert;
pub mod default;
pub mod hpa;
pub mod metadata;
pub mod validate;
