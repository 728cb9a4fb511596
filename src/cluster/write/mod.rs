//! Writes of a scale, and of the HPA's status and event that follow. Each write names the state that it
//! replaces. The contents are decided elsewhere.

pub mod hpa;
pub mod scale;
pub mod settle;
pub mod wait;

use crate::apimachinery::names;
use crate::snapshot::written::FIELD_MANAGER;

/// Returns the query of a write.
fn query(dry_run: bool) -> String {
    let tried = if dry_run { "All" } else { "" };
    names::query(&[("dryRun", tried), ("fieldManager", FIELD_MANAGER)])
}
