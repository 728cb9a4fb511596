//! Watches an HPA for a while: each pass of its controller overwrites the status of the previous one.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::{Failure, FailureKind, Session};
use super::Fetch;
use super::right::cause;
use crate::error::Error;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::note::Note;
use crate::snapshot::right::UnknownFact;

/// Returns the states of an HPA during a time, each once, and a note if it could not be read at all times. Polls
/// every few seconds, more often than the controller syncs.
///
/// # Errors
///
/// The HPA cannot be read at first, or no longer.
pub async fn observe(
    session: &Session,
    namespace: &str,
    name: &str,
    time: Duration,
    every: Duration,
) -> Result<(Vec<Hpa>, Option<Note>), Error> {
    session.wait(time);
    let asked = Fetch::new(session, namespace);
    let end = Instant::now() + time;
    let mut states: Vec<Hpa> = Vec::new();
    let mut missed = None;
    loop {
        match asked.hpa(name).await {
            Ok((hpa, ..)) if states.last() != Some(&hpa) => states.push(hpa),
            Ok(_) => {}
            Err(e) if states.is_empty() || is_final(&e) => return Err(e.into()),
            Err(e) => missed = Some(Note::not_known(UnknownFact::States, &cause(&e))),
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok((states, missed));
        }
        sleep(left.min(every)).await;
    }
}

/// Whether the next poll will fail, too: the user has interrupted or is turned away, or the HPA is gone.
fn is_final(failure: &Failure) -> bool {
    failure.kind == FailureKind::Interrupted
        || failure.is_gone()
        || matches!(failure.status(), Some(401 | 403))
}
