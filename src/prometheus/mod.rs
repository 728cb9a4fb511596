//! A load from Prometheus: the queries ([`queries`]), the answers ([`answer`]), and the table that is built from them
//! ([`load`]), the same as from a CSV file. For a past pass, the samples themselves ([`history`]); either may have
//! [`copies`]. Nothing here sends anything; [`crate::cluster`] does.

pub mod answer;
pub mod copies;
pub mod grid;
pub mod history;
mod kinds;
pub mod load;
mod promql;
pub mod queries;
pub mod scraped;
