//! From a report to text. Everything here returns a string; only the program writes it.

pub mod page;
pub mod structured;
pub mod style;
