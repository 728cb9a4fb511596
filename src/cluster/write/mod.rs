//! Writes of a scale, and of the HPA's status and event that go with one; each names the state that it
//! replaces. What is written is decided elsewhere.

pub mod hpa;
pub mod scale;
pub mod settle;
pub mod wait;
