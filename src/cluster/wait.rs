//! Waits until a target has the replicas that were written, all of them ready, or somebody else
//! changes the count.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::managed::target;
use super::scale::read_again;
use super::{Failure, Session};
use crate::snapshot::live::ScaleAt;

/// The first wait between two looks; each is twice as long as the one before, up to the last.
const FIRST: Duration = Duration::from_millis(250);
const LAST: Duration = Duration::from_secs(2);

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All replicas are ready.
    Ready,
    /// Somebody has changed the count to this one; and who, as far as it shows.
    Changed(i32, Option<String>),
    /// The target is gone, or another one has its name.
    Gone,
    /// Not in time: so many were ready.
    TimedOut(i32),
}

/// Waits until a target has so many replicas ready; `ready` says how many are.
///
/// # Errors
///
/// The target cannot be read.
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
        let target = match target(session, at).await {
            Ok(target) if target.uid() == at.state.uid => target,
            Ok(_) => return Ok(End::Gone),
            Err(e) if e.is_not_found() => return Ok(End::Gone),
            Err(e) => return Err(e),
        };
        ready.set(target.ready());
        let asked_for = match target.replicas() {
            Some(asked_for) => asked_for,
            None => read_again(session, at).await?.replicas,
        };
        if asked_for != replicas {
            return Ok(End::Changed(asked_for, target.owner().map(str::to_owned)));
        }
        if target.has(replicas) {
            return Ok(End::Ready);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(End::TimedOut(target.ready()));
        }
        sleep(left.min(pause)).await;
        pause = (pause * 2).min(LAST);
    }
}
