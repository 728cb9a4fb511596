//! Waits until a target has the replicas that were written, all of them ready, or someone else
//! changes the count.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::cluster::fetch::Fetch;
use crate::cluster::observed::ScaleAt;
use crate::cluster::target::target;
use crate::cluster::{Failure, Session};

/// The first pause between two looks; each is twice as long as the previous one, up to the last.
const FIRST: Duration = Duration::from_millis(250);
const LAST: Duration = Duration::from_secs(2);
/// The minimum time for a look, even the last one.
const LOOK: Duration = Duration::from_millis(500);

/// The end of a wait, and the replicas at the last look, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// The kind of end.
    pub end: WaitEnd,
    /// The replicas.
    pub counts: Option<ReadyCounts>,
}

/// The kinds of ends of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitEnd {
    /// All of this many replicas are ready.
    Ready(i32),
    /// The count was changed to this one; with the writer, if known.
    Changed(i32, Option<String>),
    /// The target is gone, or another has its name.
    Gone,
    /// They were not ready in time; with the failure of the last look, if it failed.
    TimedOut(Option<String>),
    /// A signal with this exit code ended it.
    Interrupted(u8),
}

/// The replicas of a target while they become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyCounts {
    /// How many were written.
    wanted: i32,
    /// How many exist.
    there: i32,
    /// How many of them are ready; `None` if the target does not say.
    pub ready: Option<i32>,
    /// Whether the controller of the target has seen the write.
    is_observed: bool,
}

impl ReadyCounts {
    /// Whether all replicas that were written are ready, and there are no others.
    fn are_complete(&self) -> bool {
        self.is_observed && self.there == self.wanted && self.ready == Some(self.wanted)
    }
}

impl fmt::Display for ReadyCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, there, .. } = self;
        match self.ready {
            Some(ready) => write!(f, "{ready} of {there} ready")?,
            None => write!(f, "{there} exist, no readyReplicas in the status")?,
        }
        if there != wanted {
            write!(f, ", {wanted} wanted")?;
        }
        if !self.is_observed {
            f.write_str(", the change not yet seen by its controller")?;
        }
        Ok(())
    }
}

/// Waits until this many replicas of a target are ready; reports the state of the last look to `counts`. Transient
/// failures, such as a server error, do not end the wait, and no request continues after its end.
///
/// # Errors
///
/// The target may not be read.
pub async fn wait(
    session: &Session,
    at: &ScaleAt,
    wanted: i32,
    time: Duration,
    counts: &Cell<Option<ReadyCounts>>,
) -> Result<WaitEnd, Failure> {
    session.wait(time);
    // The next look is the retry.
    let session = session.without_retries();
    let end = Instant::now() + time;
    let mut pause = FIRST;
    let mut failure = None;
    loop {
        let limit = end.max(Instant::now() + LOOK);
        failure = match timeout_at(limit, look(&session, at, wanted, counts)).await {
            Ok(Ok(Some(end))) => return Ok(end),
            Ok(Ok(None)) => None,
            Ok(Err(e)) if matches!(e.status(), Some(401 | 403)) => return Err(e),
            Ok(Err(e)) => Some(e.to_string()),
            Err(_) => failure.or_else(|| Some("no answer before the end".to_owned())),
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(WaitEnd::TimedOut(failure));
        }
        sleep(left.min(pause)).await;
        pause = (pause * 2).min(LAST);
    }
}

/// Looks once whether the wait is over.
async fn look(
    session: &Session,
    at: &ScaleAt,
    wanted: i32,
    last: &Cell<Option<ReadyCounts>>,
) -> Result<Option<WaitEnd>, Failure> {
    let target = match target(session, at).await {
        Ok(target) if target.metadata.uid == at.state.uid => target,
        Ok(_) => return Ok(Some(WaitEnd::Gone)),
        Err(e) if e.is_gone() => return Ok(Some(WaitEnd::Gone)),
        Err(e) => return Err(e),
    };
    let [there, ready] = target.counts();
    let (asked_for, there) = match (target.spec.replicas, there) {
        (Some(asked_for), Some(there)) => (asked_for, there),
        // The kind keeps them elsewhere, where its scale reads them.
        (asked_for, there) => {
            let path = format!("{}/scale", at.path);
            let fetch = Fetch::new(session, &at.namespace);
            let response = session.get(&path).await?;
            let scale = fetch.served_scale(&response, &at.name).await?.object;
            (
                asked_for.unwrap_or(scale.spec.replicas),
                there.unwrap_or(scale.status.replicas),
            )
        }
    };
    let counts = ReadyCounts {
        wanted,
        there,
        // Of none, none is ready.
        ready: ready.or((there == 0).then_some(0)),
        is_observed: target.is_observed(),
    };
    last.set(Some(counts));
    if asked_for != wanted {
        let by = target.owner().map(str::to_owned);
        return Ok(Some(WaitEnd::Changed(asked_for, by)));
    }
    Ok(counts.are_complete().then_some(WaitEnd::Ready(wanted)))
}

#[cfg(test)]
mod tests {
    use super::ReadyCounts;

    #[test]
    fn a_wait_is_over_when_all_replicas_are_known_to_be_ready() {
        let unseen = ", the change not yet seen by its controller";
        for (there, ready, is_observed, are_complete, words) in [
            (4, Some(4), true, true, "4 of 4 ready"),
            (4, Some(2), true, false, "2 of 4 ready"),
            (2, Some(2), true, false, "2 of 2 ready, 4 wanted"),
            // A pod that is going still counts.
            (5, Some(4), true, false, "4 of 5 ready, 4 wanted"),
            (4, Some(4), false, false, &format!("4 of 4 ready{unseen}")),
            // A kind may state a count of zero as none.
            (
                4,
                None,
                true,
                false,
                "4 exist, no readyReplicas in the status",
            ),
        ] {
            let counts = ReadyCounts {
                wanted: 4,
                there,
                ready,
                is_observed,
            };
            let got = (counts.are_complete(), &*counts.to_string());
            assert_eq!(got, (are_complete, words));
        }
    }
}
