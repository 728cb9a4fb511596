//! Looks back at the states of an HPA that its API server still has: a list can be asked for as it was
//! at an earlier resource version, until that is compacted away, which takes five minutes or more.
//! Each status that the controller has overwritten tells of one of its passes.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::super::Session;
use super::super::discovery::segment;
use super::Fetch;
use super::read::List;
use crate::snapshot::convert::HpaObject;
use crate::snapshot::hpa::Hpa;

/// One request for each state, one after the other, is not to take longer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Nor are there to be more.
const STATES: usize = 100;

/// The states of an HPA from some time on, the oldest first and the given one last. Where the server
/// has no more of them, or does not give them, there are fewer.
pub async fn look_back(session: &Session, hpa: &Hpa, since: Timestamp) -> Vec<Hpa> {
    let asked = Fetch { session, namespace: &hpa.namespace };
    let end = Instant::now() + PATIENCE;
    let mut states = vec![hpa.clone()];
    while let Some(oldest) = states.last()
        && states.len() < STATES
        && oldest.written.status.is_some_and(|status| status >= since)
    {
        let Ok(Some(earlier)) = timeout_at(end, asked.before(oldest)).await else {
            break;
        };
        states.push(earlier);
    }
    states.reverse();
    states
}

impl Fetch<'_> {
    /// The state before one; none where there is none to be had.
    async fn before(&self, hpa: &Hpa) -> Option<Hpa> {
        // Revisions are counted by the storage behind, across all objects.
        let version: u64 = hpa.resource_version.parse().ok()?;
        let path = format!(
            "{}?fieldSelector={}&resourceVersion={}&resourceVersionMatch=Exact",
            self.hpas_path(),
            segment(&format!("metadata.name={}", hpa.name)),
            version.checked_sub(1)?
        );
        let kind = "HorizontalPodAutoscalerList";
        let list: List<Box<RawValue>> = self.json(&path, kind).await.ok()?;
        let items = list.items?;
        let earlier = self.admit_item(items.first()?.get()).ok().map(HpaObject::into_hpa)?;
        // A server that does not know of exact versions gives the present state.
        let before = earlier.resource_version.parse::<u64>().is_ok_and(|its| its < version);
        (before && earlier.uid == hpa.uid).then_some(earlier)
    }
}
