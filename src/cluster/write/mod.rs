//! Writes of a scale, and of the HPA's status and event that follow. Each write names the state that it
//! replaces. The contents are decided elsewhere.

pub mod hpa;
pub mod scale;
pub mod settle;
pub mod wait;
