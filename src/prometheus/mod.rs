//! A load out of Prometheus: what is asked ([`queries`]), what comes back ([`answer`]), and what becomes of it
//! ([`load`]): the very table that a CSV is. For a past pass, the samples themselves ([`history`]). Nothing here sends anything; [`crate::cluster`] does.

pub mod answer;
pub mod grid;
pub mod history;
pub mod load;
pub mod queries;
