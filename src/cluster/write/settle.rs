//! What became of a write. A write names the state that it replaces, so it meets no other; where its
//! answer is lost, looking again tells. It must not decide what is written.

use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::pin;
use tokio::time::timeout;

use crate::cluster::{ApiStatus, Failure, FailureKind, Waiting};

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
    /// Where they do not, someone else may have written the same.
    Reading(String, bool),
}

/// Something to be written once.
pub(crate) trait Write {
    /// What there is afterwards.
    type State;
    /// Sends it. Sent twice, it must not be done twice.
    async fn send(&self) -> Result<Self::State, Failure>;
    /// Looks whether it has arrived.
    async fn look(&self) -> Result<ReadBack<Self::State>, Failure>;
    /// Waits a moment for what may be under way.
    async fn pause(&self, time: Duration);
    /// What there is as long as it has not arrived.
    fn open(&self) -> String;
}

/// What a look shows of a write.
pub(crate) enum ReadBack<T> {
    /// It has not arrived, and still may.
    Still,
    /// It has, and whether `managedFields` show that it was this one.
    Written(T, bool),
    /// It has not and no longer can, or was overwritten; in words.
    Replaced(String),
}

/// The times between two looks. A store that changes its leader takes a second or two.
pub(crate) const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];
/// The longest that is looked, however long a look takes: a server that does not answer must not hold up
/// whoever wants to know.
const LOOKING: Duration = Duration::from_secs(15);
/// The most requests that finding out takes, the write and its repetition included.
pub(crate) const REQUESTS: u32 = PAUSES.len() as u32 + 4;

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
pub(crate) async fn settled<W: Write>(write: &W, cut: impl Future<Output = ()>) -> Fate<W::State> {
    pin!(cut);
    // A write that is cut ends here, with all that it holds, or a look could wait for it for ever.
    let sent = {
        let sent = write.send();
        pin!(sent);
        match select(sent, cut.as_mut()).await {
            Either::Left((sent, _)) => Some(sent),
            Either::Right(_) => None,
        }
    };
    let (lost, again) = match sent {
        Some(Ok(state)) => return Fate::Written { state, told: Told::Answer },
        Some(Err(failure)) => match after(&failure) {
            After::Refused => return Fate::Refused(failure),
            After::Overtaken => return Fate::Overtaken(failure.to_string()),
            After::UnderWay => (failure.to_string(), true),
        },
        None => ("interrupted while waiting for the answer".to_owned(), false),
    };
    match timeout(LOOKING, looked_for(write, cut, &lost, again)).await {
        Ok(fate) => fate,
        Err(_) => Fate::Unknown(lost, format!("not observed within {LOOKING:?}")),
    }
}

/// Looks for a write whose answer was lost, and sends it once more if `again`.
async fn looked_for<W: Write>(
    write: &W,
    mut cut: Pin<&mut impl Future<Output = ()>>,
    lost: &str,
    mut again: bool,
) -> Fate<W::State> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let why = match write.look().await {
            Ok(ReadBack::Written(state, ours)) => {
                return Fate::Written { state, told: Told::Reading(lost.to_owned(), ours) };
            }
            Ok(ReadBack::Replaced(what)) => return Fate::Superseded(format!("{lost}; {what}")),
            Err(e) if e.is_not_found() => return Fate::Superseded(format!("{lost}; now {e}")),
            Ok(ReadBack::Still) if again => {
                again = false;
                if let Some(Ok(state)) = unless(cut.as_mut(), write.send()).await {
                    return Fate::Written { state, told: Told::Again(lost.to_owned()) };
                }
                continue;
            }
            Ok(ReadBack::Still) => write.open(),
            Err(e) => format!("reading also failed: {e}"),
        };
        match pauses.next() {
            Some(time) => write.pause(time).await,
            None => return Fate::Unknown(lost.to_owned(), why),
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

#[cfg(test)]
mod tests {
    use tokio::sync::Mutex;
    use tokio::time::Instant;

    use super::*;

    /// A write that is never answered, holds something while it is under way, and whose looks need
    /// that, and take as long as is said.
    struct Stuck {
        held: Mutex<()>,
        look: Duration,
    }

    impl Write for Stuck {
        type State = ();

        async fn send(&self) -> Result<(), Failure> {
            let _held = self.held.lock().await;
            std::future::pending().await
        }

        async fn look(&self) -> Result<ReadBack<()>, Failure> {
            let _held = self.held.lock().await;
            tokio::time::sleep(self.look).await;
            Ok(ReadBack::Still)
        }

        async fn pause(&self, time: Duration) {
            tokio::time::sleep(time).await;
        }

        fn open(&self) -> String {
            "not there".to_owned()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_is_cut_is_settled_in_time() {
        for (look, seconds, why) in [
            (Duration::ZERO, 3, "not there"),
            (Duration::from_secs(60), 15, "not observed within 15s"),
        ] {
            let begun = Instant::now();
            let write = Stuck { held: Mutex::default(), look };
            let fate = settled(&write, tokio::time::sleep(Duration::from_secs(1))).await;
            let Fate::Unknown(_, said) = fate else { panic!("{fate:?}") };
            assert_eq!((begun.elapsed().as_secs(), &*said), (1 + seconds, why));
        }
    }

    #[test]
    fn an_answer_in_the_500s_is_final_only_if_it_is_that_of_admission() {
        let denied = "admission webhook \"freeze\" denied the request: not now";
        let deaf = "Internal error occurred: failed calling webhook \"freeze\": EOF";
        for (code, message, from_server, left) in [
            (400, "not so", true, After::Refused),
            (403, "not you", true, After::Refused),
            (404, "gone", true, After::Overtaken),
            (409, "changed", true, After::Overtaken),
            (408, "too slow", true, After::UnderWay),
            (500, "etcdserver: request timed out", true, After::UnderWay),
            (504, "etcdserver: request timed out", true, After::UnderWay),
            (500, denied, true, After::Refused),
            (500, deaf, true, After::Refused),
            (500, "admission webhook \"freeze\" timed out", true, After::UnderWay),
            (500, "the store denied the request", true, After::UnderWay),
            // Whoever is in between may say anything.
            (502, denied, false, After::UnderWay),
            (502, deaf, false, After::UnderWay),
        ] {
            let message = message.to_owned();
            let status = ApiStatus { code, message, from_server, ..ApiStatus::default() };
            let kind = FailureKind::Api(Box::new(status));
            let failure = Failure { kind, ..Failure::unreadable("host", "/scale", "") };
            assert_eq!(after(&failure), left, "{failure}");
        }
    }
}
