//! Puts what is assumed in the place of what was observed. A snapshot goes in, that of a cluster
//! which is otherwise comes out; what follows from it is the engine's business.

mod metric;
mod samples;

pub use metric::{set_metric, set_pod};
