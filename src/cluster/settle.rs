//! What became of a write. A write names the state that it replaces, so it meets no other; where its
//! answer is lost, looking again tells. It must not decide what is written.

use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::pin;

use super::{ApiStatus, Failure, FailureKind, Waiting};

/// What became of a write, with what the server has afterwards.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate<T> {
    /// It is written.
    Written {
        /// What there is afterwards.
        state: T,
        /// What told so.
        told: Told,
    },
    /// Somebody else was first, says the server: it is not written.
    Overtaken(String),
    /// The answer was lost, and what is there now is another's: it is not written and no longer can
    /// be, or was overwritten.
    Superseded(String),
    /// The server refused it, or it was not sent: it is not written.
    Refused(Failure),
    /// It may be written, or may still be: why there is no answer, and why looking did not tell.
    Unknown(String, String),
}

/// What told that a write was done.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// Its answer.
    Answer,
    /// The answer to the same write sent again, as that to the first was lost.
    Again(String),
    /// Reading, as the answer was lost; and whether `managedFields` show that it was this write.
    /// Where they do not, somebody else may have written the same.
    Reading(String, bool),
}

/// Something to be written once.
pub(super) trait Write {
    /// What there is afterwards.
    type State;
    /// Sends it. Sent twice, it must not be done twice.
    async fn send(&self) -> Result<Self::State, Failure>;
    /// Looks whether it has arrived.
    async fn look(&self) -> Result<Seen<Self::State>, Failure>;
    /// Waits a moment for what may be under way.
    async fn pause(&self, time: Duration);
    /// What there is as long as it has not arrived.
    fn open(&self) -> String;
}

/// What a look shows of a write.
pub(super) enum Seen<T> {
    /// It has not arrived, and still may.
    Still,
    /// It has, and whether `managedFields` show that it was this one.
    Written(T, bool),
    /// It has not and no longer can, or was overwritten; in words.
    Replaced(String),
}

/// The times between two looks. A store that changes its leader takes a second or two.
pub(super) const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];
/// The most requests that finding out takes, the write and its repetition included.
pub(super) const REQUESTS: u32 = PAUSES.len() as u32 + 4;

/// What a failed write leaves to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// It is not written and will not be.
    Refused,
    /// Somebody else was first.
    Overtaken,
    /// It may be written, or may still be under way.
    UnderWay,
}

fn after(failure: &Failure) -> After {
    match &failure.kind {
        FailureKind::Api(status) => match status.code {
            404 | 409 => After::Overtaken,
            408 | 500.. if !is_refusal(status) => After::UnderWay,
            _ => After::Refused,
        },
        // Nothing was sent: the connection did not come about, or it was not to be.
        FailureKind::Refused
        | FailureKind::Dns(_)
        | FailureKind::Proxy { .. }
        | FailureKind::Credentials { .. }
        | FailureKind::Interrupted
        | FailureKind::Timeout {
            waiting: Waiting::Name | Waiting::Connection | Waiting::Unanswered(_),
            ..
        } => After::Refused,
        FailureKind::Tls { .. }
        | FailureKind::Timeout { waiting: Waiting::Answer, .. }
        | FailureKind::Lost(_)
        | FailureKind::Body(_) => After::UnderWay,
    }
}

/// Whether an answer in the 500s is a refusal of admission, which comes before the store. All others
/// may be about a store that does what it was asked to after all. The words are those of
/// `ToStatusErr` and `ErrCallingWebhook` of apiserver.
fn is_refusal(status: &ApiStatus) -> bool {
    let message = &status.message;
    let denied =
        message.starts_with("admission webhook ") && message.contains(" denied the request");
    status.from_server
        && (denied || message.starts_with("Internal error occurred: failed calling webhook "))
}

/// Writes, and finds out what became of it. A write is sent a second time at most: whichever of the
/// two arrives first keeps the other out. Once `cut` is over, the answer is no longer waited for and
/// nothing is sent again.
pub(super) async fn settled<W: Write>(write: &W, cut: impl Future<Output = ()>) -> Fate<W::State> {
    pin!(cut);
    let sent = write.send();
    pin!(sent);
    let (lost, mut again) = match select(sent, cut.as_mut()).await {
        Either::Left((Ok(state), _)) => return Fate::Written { state, told: Told::Answer },
        Either::Left((Err(failure), _)) => match after(&failure) {
            After::Refused => return Fate::Refused(failure),
            After::Overtaken => return Fate::Overtaken(failure.to_string()),
            After::UnderWay => (failure.to_string(), true),
        },
        Either::Right(_) => ("interrupted while waiting for the answer".to_owned(), false),
    };
    let mut pauses = PAUSES.into_iter();
    loop {
        let why = match write.look().await {
            Ok(Seen::Written(state, ours)) => {
                return Fate::Written { state, told: Told::Reading(lost, ours) };
            }
            Ok(Seen::Replaced(what)) => return Fate::Superseded(format!("{lost}; {what}")),
            Err(e) if e.is_not_found() => return Fate::Superseded(format!("{lost}; by now {e}")),
            Ok(Seen::Still) if again => {
                again = false;
                if let Some(Ok(state)) = unless(cut.as_mut(), write.send()).await {
                    return Fate::Written { state, told: Told::Again(lost) };
                }
                continue;
            }
            Ok(Seen::Still) => write.open(),
            Err(e) => format!("it cannot be read either: {e}"),
        };
        match pauses.next() {
            Some(time) => write.pause(time).await,
            None => return Fate::Unknown(lost, why),
        }
    }
}

/// What comes of some work, unless it is cut; what is cut already does not begin.
async fn unless<T>(
    mut cut: Pin<&mut impl Future<Output = ()>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    if let Either::Left(_) = select(cut.as_mut(), ready(())).await {
        return None;
    }
    pin!(work);
    match select(work, cut).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(((), _)) => None,
    }
}
