//! Watches an HPA for a while: each pass of its controller overwrites the status of the previous one.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::Session;
use super::Fetch;
use crate::error::Error;
use crate::snapshot::hpa::Hpa;

/// Returns the states of an HPA during a time, each once. Polls every few seconds, more often than
/// the controller syncs.
///
/// # Errors
///
/// The HPA cannot be read.
pub async fn observe(
    session: &Session,
    namespace: &str,
    name: &str,
    time: Duration,
    every: Duration,
) -> Result<Vec<Hpa>, Error> {
    session.wait(time);
    let asked = Fetch::new(session, namespace);
    let end = Instant::now() + time;
    let mut states: Vec<Hpa> = Vec::new();
    loop {
        let (hpa, ..) = asked.hpa(name).await?;
        if states.last() != Some(&hpa) {
            states.push(hpa);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(states);
        }
        sleep(left.min(every)).await;
    }
}
