//! Writes of a scale, and of the HPA's status and event that follow; each names the state that it
//! replaces. What to write is decided elsewhere.

pub mod hpa;
pub mod scale;
pub mod settle;
pub mod wait;
