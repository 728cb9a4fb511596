//! The outcome of a write. A write names the state that it replaces, so it replaces no other; if its answer
//! is lost, reading again shows the outcome. The content is decided elsewhere.

use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::pin;
use tokio::time::{sleep, timeout};

use crate::cluster::{ApiStatus, Failure, FailureKind, WaitingFor};

/// The outcome of a write, with the server's state afterwards.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate<T> {
    /// The write was executed: the state afterwards, and the evidence that it was.
    Written(T, Told),
    /// The server says that someone else was first: the write was not executed.
    Overtaken {
        /// The server's answer.
        what: String,
        /// Whether the object is gone.
        is_gone: bool,
    },
    /// The answer was lost, and the current state is someone else's: the write was not executed and no longer
    /// can be, or was overwritten.
    Superseded(String),
    /// The server refused the write, or it was not sent: it was not executed.
    Refused(Failure),
    /// The write may have been executed, or still may be: the reason why there is no answer, and the reason why reading
    /// did not show it.
    Unknown(String, String),
}

/// The evidence that a write was executed.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// The answer to the write.
    Answer,
    /// The answer to the same write sent again, because the first answer was lost.
    Again(String),
    /// Reading, because the write was in conflict with another one that wrote the same under the same name.
    /// The other write is this write itself, if something between here and the server sent it twice, or else another
    /// run of this program: nothing that a server stores shows which.
    Conflict(String),
    /// Reading, because the answer was lost; the bool says whether `managedFields` show that it was this write.
    /// If they do not, someone else may have written the same.
    Reading(String, bool),
}

/// Something to be written once.
pub(crate) trait Write {
    /// The state afterwards.
    type State;
    /// Sends the write. Sent twice, it must not be executed twice.
    async fn send(&self) -> Result<Self::State, Failure>;
    /// Checks whether the write has arrived.
    async fn look(&self) -> Result<ReadBack<Self::State>, Failure>;
    /// Returns the state before the write arrives.
    fn open(&self) -> String;
}

/// The evidence of a write when its object is read.
pub(crate) enum ReadBack<T> {
    /// The write has not arrived, and still may.
    Still,
    /// Whether the write has arrived may not be read.
    Hidden,
    /// The written content is there; the bool says whether `managedFields` show that it is from this program.
    Written(T, bool),
    /// Other content from this program is there, such as a webhook's change of it; in words.
    Changed(T, String),
    /// The write has not arrived and no longer can, or was overwritten; in words. The bool says whether that
    /// was someone else.
    Replaced(String, bool),
}

/// The pauses between looks. A store that changes its leader takes a second or two.
pub(crate) const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];
/// The maximum time for looking, however long a look takes: a server that does not answer must not block
/// the caller.
const LOOKING: Duration = Duration::from_secs(15);
/// The maximum number of requests to determine the outcome, including the write and its repetition.
pub(crate) const REQUESTS: u32 = PAUSES.len() as u32 + 4;

/// The evidence of a failed write about its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The write was not sent.
    Unsent,
    /// A request was refused, and no other request for the same write is known.
    Refused,
    /// The object is gone.
    Gone,
    /// The object had changed, perhaps by this write: a proxy or a retry may have sent it before.
    Conflict,
    /// The write may have been executed, or may still be in flight.
    UnderWay,
}

/// Returns what a failure of a write says about its outcome.
pub(crate) fn after(failure: &Failure) -> After {
    match &failure.kind {
        FailureKind::Api(status) => match status.code {
            // A webhook may choose any code.
            _ if is_denial(status) => After::Refused,
            404 if status.from_server => After::Gone,
            409 if status.from_server => After::Conflict,
            _ if is_refusal(status) => After::Refused,
            // Any other component between here and the store may give this answer after the store has acted.
            _ => After::UnderWay,
        },
        // Nothing was sent: there was no connection, or the write was stopped.
        FailureKind::Refused
        | FailureKind::Dns(_)
        | FailureKind::Proxy { .. }
        | FailureKind::Credentials(_)
        | FailureKind::Interrupted
        | FailureKind::Timeout {
            waiting: WaitingFor::Name | WaitingFor::Connection | WaitingFor::Unanswered(_),
            ..
        } => After::Unsent,
        FailureKind::Tls { .. }
        | FailureKind::Timeout {
            waiting: WaitingFor::Answer,
            ..
        }
        | FailureKind::Lost(_)
        | FailureKind::Body(_)
        | FailureKind::Page => After::UnderWay,
    }
}

/// The codes of a Status with which the API server rejects a request before it reaches the store:
/// authentication, authorization, decoding, validation and throttling.
const REFUSALS: [u16; 9] = [400, 401, 403, 405, 406, 413, 415, 422, 429];

/// The API server's answer to too many requests, with 429 and not as a Status. The words are those of
/// `tooManyRequests` in apiserver.
const THROTTLED: &str = "Too many requests, please try again later.";

/// Whether an answer shows that its request did not reach the store, because the API server refused it. Every other
/// answer, and any that is not the API server's own, may concern a request that was executed, or still will be.
fn is_refusal(status: &ApiStatus) -> bool {
    if status.from_server {
        REFUSALS.contains(&status.code)
    } else {
        status.code == 429 && status.body == THROTTLED
    }
}

/// Whether an admission webhook denied the request, or could not be called. The words are those of
/// `ToStatusErr` and `ErrCallingWebhook` in apiserver.
pub(crate) fn is_denial(status: &ApiStatus) -> bool {
    let message = &status.message;
    let denied =
        message.starts_with("admission webhook ") && message.contains(" denied the request");
    let failed = message.starts_with("Internal error occurred: failed calling webhook ");
    status.from_server && (denied || failed)
}

/// Looks once for a write whose request was refused: something on the way may have sent it twice, and the
/// first request may have been executed. The refusal stands unless the look shows the write, or a change
/// that may be the write.
async fn despite<W: Write>(write: &W, refused: String, stands: Fate<W::State>) -> Fate<W::State> {
    match timeout(LOOKING, write.look()).await {
        Ok(Ok(ReadBack::Written(state, true))) => {
            Fate::Written(state, Told::Reading(refused, true))
        }
        Ok(Ok(ReadBack::Written(_, false))) => Fate::Unknown(refused, NO_WRITER.to_owned()),
        Ok(Ok(ReadBack::Changed(_, what))) => Fate::Unknown(refused, what),
        Ok(Ok(ReadBack::Replaced(what, false))) => {
            Fate::Unknown(refused, format!("{what}; {NO_WRITER}"))
        }
        _ => stands,
    }
}

/// Sends a write once whose result is not stored, so it cannot be looked up.
pub(crate) async fn once<W: Write>(write: &W) -> Fate<W::State> {
    match write.send().await {
        Ok(state) => Fate::Written(state, Told::Answer),
        Err(e) => Fate::Refused(e),
    }
}

/// Writes, and determines the outcome. A write is sent at most twice: whichever request arrives first
/// excludes the other. Once `cut` completes, the answer is no longer awaited and nothing is sent again.
pub(crate) async fn settled<W: Write>(write: &W, cut: impl Future<Output = ()>) -> Fate<W::State> {
    pin!(cut);
    // A cut write is dropped here with all that it holds; otherwise, a look could wait for it forever.
    let sent = {
        let sent = write.send();
        pin!(sent);
        match select(sent, cut.as_mut()).await {
            Either::Left((sent, _)) => Some(sent),
            Either::Right(_) => None,
        }
    };
    let (lost, doubt) = match sent {
        Some(Ok(state)) => return Fate::Written(state, Told::Answer),
        Some(Err(failure)) => {
            let text = failure.to_string();
            match after(&failure) {
                After::Unsent => return Fate::Refused(failure),
                After::Refused => return despite(write, text, Fate::Refused(failure)).await,
                After::Gone => {
                    let stands = Fate::Overtaken {
                        what: text.clone(),
                        is_gone: true,
                    };
                    return despite(write, text, stands).await;
                }
                After::Conflict => (text, Doubt::Conflict),
                After::UnderWay => (text, Doubt::Lost { again: true }),
            }
        }
        None => {
            let lost = "interrupted while waiting for the answer".to_owned();
            (lost, Doubt::Lost { again: false })
        }
    };
    match timeout(LOOKING, looked_for(write, cut, &lost, doubt)).await {
        Ok(fate) => fate,
        Err(_) => Fate::Unknown(lost, format!("not observed within {LOOKING:?}")),
    }
}

/// The reason why a write is looked for.
enum Doubt {
    /// The answer was lost; `again` says whether to send the write once more.
    Lost { again: bool },
    /// The write was in conflict with another write, or with itself.
    Conflict,
}

/// The reason why it is unknown whether a conflict was with another write.
const NO_WRITER: &str = "who wrote it cannot be read";

/// Looks for a write whose outcome is in doubt.
async fn looked_for<W: Write>(
    write: &W,
    mut cut: Pin<&mut impl Future<Output = ()>>,
    lost: &str,
    mut doubt: Doubt,
) -> Fate<W::State> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let is_conflict = matches!(doubt, Doubt::Conflict);
        let why = match write.look().await {
            Ok(ReadBack::Written(state, true) | ReadBack::Changed(state, _)) if is_conflict => {
                return Fate::Written(state, Told::Conflict(lost.to_owned()));
            }
            Ok(ReadBack::Written(_, false)) if is_conflict => NO_WRITER.to_owned(),
            Ok(ReadBack::Replaced(what, false)) if is_conflict => format!("{what}; {NO_WRITER}"),
            Ok(ReadBack::Hidden) if is_conflict => write.open(),
            look if is_conflict && look.as_ref().err().is_none_or(Failure::is_gone) => {
                return Fate::Overtaken {
                    what: lost.to_owned(),
                    is_gone: look.is_err(),
                };
            }
            Ok(ReadBack::Written(state, ours)) => {
                return Fate::Written(state, Told::Reading(lost.to_owned(), ours));
            }
            Ok(ReadBack::Changed(_, what) | ReadBack::Replaced(what, _)) => {
                return Fate::Superseded(format!("{lost}; {what}"));
            }
            Err(e) if e.is_gone() => return Fate::Superseded(format!("{lost}; now {e}")),
            Ok(ReadBack::Still | ReadBack::Hidden)
                if matches!(doubt, Doubt::Lost { again: true }) =>
            {
                doubt = Doubt::Lost { again: false };
                if let Some(Ok(state)) = unless(cut.as_mut(), write.send()).await {
                    return Fate::Written(state, Told::Again(lost.to_owned()));
                }
                continue;
            }
            Ok(ReadBack::Still | ReadBack::Hidden) => write.open(),
            Err(e) => format!("reading also failed: {e}"),
        };
        match pauses.next() {
            Some(time) => sleep(time).await,
            None => return Fate::Unknown(lost.to_owned(), why),
        }
    }
}

/// Returns the result of some work, unless it is cut; if already cut, the work does not start.
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
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;

    use tokio::sync::Mutex;
    use tokio::time::Instant;

    use super::*;
    use crate::cluster::tests::wait_for_nothing;

    /// A write that is never answered and holds a lock while in flight, and whose looks need that lock and
    /// take the given time.
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
            sleep(self.look).await;
            Ok(ReadBack::Still)
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
            let write = Stuck {
                held: Mutex::default(),
                look,
            };
            let fate = settled(&write, sleep(Duration::from_secs(1))).await;
            let Fate::Unknown(_, said) = fate else {
                panic!("{fate:?}")
            };
            assert_eq!((begun.elapsed().as_secs(), &*said), (1 + seconds, why));
        }
    }

    /// A write whose requests have scripted answers, and which notes what it does. Where the script ends, it
    /// stays the same: nothing is answered, and nothing has arrived.
    struct Scripted {
        last: Cell<Instant>,
        sends: RefCell<VecDeque<Result<(), Failure>>>,
        looks: RefCell<VecDeque<Result<ReadBack<()>, Failure>>>,
        /// `s`end, `l`ook, and pauses in milliseconds.
        done: RefCell<Vec<String>>,
    }

    impl Scripted {
        fn note(&self, request: &str) {
            let paused = self.last.replace(Instant::now()).elapsed().as_millis();
            let pause = (paused > 0).then(|| paused.to_string());
            let done = pause.into_iter().chain([request.to_owned()]);
            self.done.borrow_mut().extend(done);
        }
    }

    impl Write for Scripted {
        type State = ();

        async fn send(&self) -> Result<(), Failure> {
            self.note("s");
            self.sends
                .borrow_mut()
                .pop_front()
                .unwrap_or_else(|| Err(lost()))
        }

        async fn look(&self) -> Result<ReadBack<()>, Failure> {
            self.note("l");
            self.looks
                .borrow_mut()
                .pop_front()
                .unwrap_or(Ok(ReadBack::Still))
        }

        fn open(&self) -> String {
            "not there".to_owned()
        }
    }

    fn lost() -> Failure {
        Failure::of(FailureKind::Lost("EOF".to_owned()), "/scale")
    }

    fn answer(code: u16) -> Failure {
        of_code(code, true, false)
    }

    fn by_proxy(code: u16) -> Failure {
        of_code(code, false, false)
    }

    /// A text of the API server, which does not serve the path.
    fn unserved() -> Failure {
        of_code(404, false, true)
    }

    fn of_code(code: u16, from_server: bool, has_audit_id: bool) -> Failure {
        let status = ApiStatus {
            code,
            from_server,
            has_audit_id,
            ..ApiStatus::default()
        };
        Failure::of(status, "/scale")
    }

    fn unsent() -> Failure {
        Failure::of(FailureKind::Refused, "/scale")
    }

    fn overtaken(code: u16, is_gone: bool) -> Fate<()> {
        Fate::Overtaken {
            what: answer(code).to_string(),
            is_gone,
        }
    }

    /// Returns the outcome of a script, and what was done for it.
    fn settle(
        sends: Vec<Result<(), Failure>>,
        looks: Vec<Result<ReadBack<()>, Failure>>,
        cut: impl Future<Output = ()>,
    ) -> (Fate<()>, String) {
        wait_for_nothing(async {
            let write = Scripted {
                last: Cell::new(Instant::now()),
                sends: RefCell::new(sends.into()),
                looks: RefCell::new(looks.into()),
                done: RefCell::default(),
            };
            let fate = settled(&write, cut).await;
            (fate, write.done.into_inner().join(" "))
        })
    }

    #[test]
    fn a_lost_answer_is_looked_for_and_the_write_sent_once_more() {
        let cause = lost().to_string();
        let told = |told| Fate::Written((), told);
        let reading = |ours| told(Told::Reading(cause.clone(), ours));
        let superseded = |what: &str| Fate::Superseded(format!("{cause}; {what}"));
        let unknown = |why: &str| Fate::Unknown(cause.clone(), why.to_owned());
        let theirs = || Ok(ReadBack::Replaced("theirs".to_owned(), true));
        let ours = || Ok(ReadBack::Written((), true));
        let unsigned = || Ok(ReadBack::Written((), false));
        let changed = || Ok(ReadBack::Changed((), "less".to_owned()));
        let conflict = || vec![Err(answer(409))];
        let by_conflict = || told(Told::Conflict(answer(409).to_string()));
        let failed = answer(500);
        let failing = || Vec::from([0; 6].map(|_| Err(failed.clone())));
        for (sends, looks, want, done) in [
            (vec![Ok(())], vec![], told(Told::Answer), "s"),
            (
                vec![Err(answer(403))],
                vec![],
                Fate::Refused(answer(403)),
                "s l",
            ),
            (vec![Err(answer(404))], vec![], overtaken(404, true), "s l"),
            (vec![Err(unsent())], vec![], Fate::Refused(unsent()), "s"),
            // Something on the way may have sent it before.
            (
                vec![Err(answer(429))],
                vec![ours()],
                told(Told::Reading(answer(429).to_string(), true)),
                "s l",
            ),
            (
                vec![Err(answer(404))],
                vec![ours()],
                told(Told::Reading(answer(404).to_string(), true)),
                "s l",
            ),
            (
                vec![Err(answer(422))],
                vec![theirs()],
                Fate::Refused(answer(422)),
                "s l",
            ),
            // A proxy that does not know the path says nothing about the object.
            (
                conflict(),
                vec![Err(by_proxy(404)), ours()],
                by_conflict(),
                "s l 200 l",
            ),
            (
                vec![],
                vec![Err(by_proxy(404)), ours()],
                reading(true),
                "s l 200 l",
            ),
            // A conflict may be with the write itself.
            (conflict(), vec![], overtaken(409, false), "s l"),
            (conflict(), vec![theirs()], overtaken(409, false), "s l"),
            (
                conflict(),
                vec![Err(answer(404))],
                overtaken(409, true),
                "s l",
            ),
            // A webhook may have changed it.
            (conflict(), vec![changed()], by_conflict(), "s l"),
            (
                vec![Err(failed.clone())],
                vec![changed()],
                Fate::Superseded(format!("{failed}; less")),
                "s l",
            ),
            // Who wrote it may be readable the next time.
            (
                conflict(),
                vec![unsigned(), ours()],
                by_conflict(),
                "s l 200 l",
            ),
            (
                conflict(),
                (0..5).map(|_| unsigned()).collect(),
                Fate::Unknown(answer(409).to_string(), NO_WRITER.to_owned()),
                "s l 200 l 400 l 800 l 1600 l",
            ),
            (
                conflict(),
                (0..5)
                    .map(|_| Ok(ReadBack::Replaced("more".to_owned(), false)))
                    .collect(),
                Fate::Unknown(answer(409).to_string(), format!("more; {NO_WRITER}")),
                "s l 200 l 400 l 800 l 1600 l",
            ),
            (conflict(), vec![ours()], by_conflict(), "s l"),
            (
                vec![Err(failed.clone())],
                vec![theirs()],
                Fate::Superseded(format!("{failed}; theirs")),
                "s l",
            ),
            (vec![], vec![ours()], reading(true), "s l"),
            (vec![], vec![unsigned()], reading(false), "s l"),
            (vec![], vec![theirs()], superseded("theirs"), "s l"),
            (
                vec![],
                vec![Err(answer(404))],
                superseded(&format!("now {}", answer(404))),
                "s l",
            ),
            (
                vec![],
                (0..5).map(|_| Err(unserved())).collect(),
                unknown(&format!("reading also failed: {}", unserved())),
                "s l 200 l 400 l 800 l 1600 l",
            ),
            (
                conflict(),
                vec![Err(unserved()), ours()],
                by_conflict(),
                "s l 200 l",
            ),
            (
                vec![Err(lost()), Ok(())],
                vec![],
                told(Told::Again(cause.clone())),
                "s l s",
            ),
            // Whatever the second answer is, reading decides.
            (
                vec![Err(lost()), Err(answer(409))],
                vec![Ok(ReadBack::Still), theirs()],
                superseded("theirs"),
                "s l s l",
            ),
            (
                vec![],
                vec![],
                unknown("not there"),
                "s l s l 200 l 400 l 800 l 1600 l",
            ),
            // It is sent again only over the state that it replaces.
            (
                vec![],
                failing(),
                unknown(&format!("reading also failed: {failed}")),
                "s l 200 l 400 l 800 l 1600 l",
            ),
            (
                vec![Err(lost()), Ok(())],
                vec![Err(failed.clone())],
                told(Told::Again(cause.clone())),
                "s l 200 l s",
            ),
        ] {
            let (fate, did) = settle(sends, looks, std::future::pending());
            assert_eq!((fate, &*did), (want, done));
        }
    }

    /// What was interrupted is not sent again.
    #[test]
    fn a_write_that_is_cut_is_only_looked_for() {
        let looks = vec![Ok(ReadBack::Still), Ok(ReadBack::Written((), true))];
        let (fate, did) = settle(vec![], looks, ready(()));
        let told = Told::Reading(lost().to_string(), true);
        assert_eq!((fate, &*did), (Fate::Written((), told), "s l l"));
    }

    /// The time for all of them is allowed before the first.
    #[test]
    fn the_most_requests_are_those_of_a_write_that_never_shows() {
        let (_, did) = settle(vec![], vec![], std::future::pending());
        let count = did.split(' ').filter(|it| matches!(*it, "s" | "l")).count();
        assert_eq!(count, REQUESTS as usize);
    }

    /// A write that is refused, and what a look shows then.
    struct Denied(RefCell<Option<Result<ReadBack<u8>, Failure>>>);

    impl Write for Denied {
        type State = u8;

        async fn send(&self) -> Result<u8, Failure> {
            Err(answer(403))
        }

        async fn look(&self) -> Result<ReadBack<u8>, Failure> {
            self.0.borrow_mut().take().expect("it looks once")
        }

        fn open(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn a_refusal_stands_unless_a_change_may_be_the_write() {
        let what = || "3 replicas".to_owned();
        for (shown, ends) in [
            (Ok(ReadBack::Written(1, true)), "written"),
            (
                Ok(ReadBack::Written(1, false)),
                "unknown: who wrote it cannot be read",
            ),
            (Ok(ReadBack::Changed(3, what())), "unknown: 3 replicas"),
            (
                Ok(ReadBack::Replaced(what(), false)),
                "unknown: 3 replicas; who wrote it cannot be read",
            ),
            (Ok(ReadBack::Replaced(what(), true)), "refused"),
            (Ok(ReadBack::Still), "refused"),
            (Ok(ReadBack::Hidden), "refused"),
            (Err(lost()), "refused"),
        ] {
            let denied = Denied(RefCell::new(Some(shown)));
            let fate = wait_for_nothing(settled(&denied, std::future::pending()));
            let found = match fate {
                Fate::Written(..) => "written".to_owned(),
                Fate::Refused(_) => "refused".to_owned(),
                Fate::Unknown(_, why) => format!("unknown: {why}"),
                other => panic!("{other:?}"),
            };
            assert_eq!(found, ends);
        }
    }

    #[test]
    fn only_a_refusal_of_the_api_server_is_final() {
        let denied = "admission webhook \"freeze\" denied the request: not now";
        let deaf = "Internal error occurred: failed calling webhook \"freeze\": EOF";
        for (code, message, from_server, left) in [
            (400, "not so", true, After::Refused),
            (401, "who", true, After::Refused),
            (403, "not you", true, After::Refused),
            (405, "not this way", true, After::Refused),
            (406, "not in this form", true, After::Refused),
            (413, "too large", true, After::Refused),
            (415, "in another form", true, After::Refused),
            (422, "invalid", true, After::Refused),
            (429, "later", true, After::Refused),
            (429, THROTTLED, false, After::Refused),
            (404, denied, true, After::Refused),
            (409, denied, true, After::Refused),
            (418, denied, true, After::Refused),
            (404, "gone", true, After::Gone),
            (409, "changed", true, After::Conflict),
            (101, "another protocol", false, After::UnderWay),
            (226, "unknown", false, After::UnderWay),
            (299, "unknown", true, After::UnderWay),
            (300, "choose", false, After::UnderWay),
            (302, "elsewhere", true, After::UnderWay),
            (304, "the same", false, After::UnderWay),
            (307, "elsewhere", false, After::UnderWay),
            (402, "pay", true, After::UnderWay),
            (408, "too slow", true, After::UnderWay),
            (410, "expired", true, After::UnderWay),
            (418, "a teapot", true, After::UnderWay),
            (425, "too early", false, After::UnderWay),
            (499, "the client left", false, After::UnderWay),
            (600, "no such code", false, After::UnderWay),
            // What a proxy says is not what the API server says.
            (400, "not so", false, After::UnderWay),
            (401, "who", false, After::UnderWay),
            (403, "not you", false, After::UnderWay),
            (404, "404 page not found", false, After::UnderWay),
            (409, "changed", false, After::UnderWay),
            (413, "too large", false, After::UnderWay),
            (418, denied, false, After::UnderWay),
            (422, "invalid", false, After::UnderWay),
            (429, "slow down", false, After::UnderWay),
            (500, "etcdserver: request timed out", true, After::UnderWay),
            (504, "etcdserver: request timed out", true, After::UnderWay),
            (500, denied, true, After::Refused),
            (500, deaf, true, After::Refused),
            (
                500,
                "admission webhook \"freeze\" timed out",
                true,
                After::UnderWay,
            ),
            (500, "the store denied the request", true, After::UnderWay),
            // Any intermediary may say anything.
            (502, denied, false, After::UnderWay),
            (502, deaf, false, After::UnderWay),
        ] {
            let message = message.to_owned();
            let body = if from_server {
                String::new()
            } else {
                message.clone()
            };
            let status = ApiStatus {
                code,
                message,
                from_server,
                body,
                ..ApiStatus::default()
            };
            let failure = Failure::of(status, "/scale");
            assert_eq!(after(&failure), left, "{failure}");
        }
    }
}
