//! A load out of Prometheus: what is asked ([`queries`]), what comes back ([`answer`]), and what becomes of it
//! ([`load`]): the very table that a CSV is. Nothing here sends anything; [`crate::cluster`] does.

pub mod answer;
pub mod grid;
pub mod load;
pub mod queries;
