//! Waits until a target has the replicas that were written, all of them ready, or someone else
//! changes the count.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::scale::read_again;
use super::settle::is_gone;
use crate::cluster::observed::ScaleAt;
use crate::cluster::target::target;
use crate::cluster::{Failure, FailureKind, Method, Session, WaitingFor};

/// The first pause between two looks; each is twice as long as the previous one, up to the last.
const FIRST: Duration = Duration::from_millis(250);
const LAST: Duration = Duration::from_secs(2);
/// The minimum time for a look, even the last one.
const LOOK: Duration = Duration::from_millis(500);

/// The outcome of a wait.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// All replicas are ready.
    Ready,
    /// The count was changed to this one; with the writer, if known.
    Changed(i32, Option<String>),
    /// The target is gone, or another has its name.
    Gone,
    /// The time was up; this many replicas were ready.
    TimedOut(i32),
    /// The time was up, and in the end the target could not be read.
    Unread(Failure),
}

/// Waits until this many replicas of a target are ready; reports the number to `ready`. Transient
/// failures, such as a server error, do not end the wait, and no request continues after its end.
///
/// # Errors
///
/// The target may not be read.
pub async fn wait(
    session: &Session,
    at: &ScaleAt,
    replicas: i32,
    time: Duration,
    ready: &Cell<i32>,
) -> Result<End, Failure> {
    session.wait(time);
    let end = Instant::now() + time;
    let mut pause = FIRST;
    loop {
        let begun = Instant::now();
        let limit = end.max(begun + LOOK);
        let failure = match timeout_at(limit, look(session, at, replicas, ready)).await {
            Ok(Ok(Some(end))) => return Ok(end),
            Ok(Ok(None)) => None,
            Ok(Err(e)) if matches!(e.status(), Some(401 | 403)) => return Err(e),
            Ok(Err(e)) => Some(e),
            Err(_) => {
                let kind = FailureKind::Timeout {
                    after: limit - begun,
                    in_all: false,
                    waiting: WaitingFor::Answer,
                };
                Some(session.failure(kind, Method::Get, &at.path))
            }
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(failure.map_or(End::TimedOut(ready.get()), End::Unread));
        }
        sleep(left.min(pause)).await;
        pause = (pause * 2).min(LAST);
    }
}

/// Looks once whether the wait is over.
async fn look(
    session: &Session,
    at: &ScaleAt,
    replicas: i32,
    ready: &Cell<i32>,
) -> Result<Option<End>, Failure> {
    let target = match target(session, at).await {
        Ok(target) if target.metadata.uid == at.state.uid => target,
        Ok(_) => return Ok(Some(End::Gone)),
        Err(e) if is_gone(&e) => return Ok(Some(End::Gone)),
        Err(e) => return Err(e),
    };
    ready.set(target.status.ready_replicas);
    let asked_for = match target.spec.replicas {
        Some(asked_for) => asked_for,
        None => read_again(session, at).await?.replicas,
    };
    if asked_for != replicas {
        return Ok(Some(End::Changed(
            asked_for,
            target.owner().map(str::to_owned),
        )));
    }
    Ok(target.has(replicas).then_some(End::Ready))
}
