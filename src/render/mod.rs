//! From a report to text. Everything here returns a string; only the program writes it.

pub(crate) mod chart;
pub mod github;
pub mod junit;
pub mod layout;
pub mod markdown;
pub mod page;
pub mod runner;
pub mod structured;
pub mod style;
pub mod svg;
mod xml;
