//! Signals around a write: before it they end the program, during it they only end the wait, so that the
//! outcome of the write is still reported. Elsewhere they end a long list or search, with what it has so
//! far. Afterwards they end the program, even if no one reads its output.

use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{Either, select};
use tokio::pin;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use crate::cluster::{Failure, FailureKind, Session, denied};
use crate::error::{Error, ErrorKind};

/// The exit codes of a shell for programs that these signals ended.
const INTERRUPTED: u8 = 130;
#[cfg(unix)]
const TERMINATED: u8 = 143;
#[cfg(unix)]
const HUNG_UP: u8 = 129;

/// The number of signals so far, and the exit code for the last.
#[derive(Debug, Clone, Copy, Default)]
struct Come {
    times: u32,
    code: u8,
}

/// The signals from now on.
#[derive(Debug, Clone)]
pub(super) struct Interrupts(watch::Receiver<Come>);

impl Interrupts {
    /// Listens. Until [`on_signal`] no signal ends the program by itself, and after the first one a session writes
    /// nothing more. It needs a runtime.
    pub(super) fn listen(session: &Session) -> Result<Self, Error> {
        let fail = |e: std::io::Error| Error::failed(format!("failed to listen for signals: {e}"));
        let (sender, receiver) = watch::channel(Come::default());
        // Kept until the program says what was written, or a signal could end it before.
        let mut signals = ManuallyDrop::new(Signals::new().map_err(fail)?);
        let session = session.clone();
        tokio::spawn(async move {
            while let Some(code) = signals.next().await {
                session.stop();
                sender.send_modify(|come| *come = Come { times: come.times + 1, code });
            }
        });
        Ok(Self(receiver))
    }

    /// Waits for this many signals; returns the exit code for the last.
    pub(super) async fn come(&self, times: u32) -> u8 {
        let mut receiver = self.0.clone();
        let come = receiver.wait_for(|come| come.times >= times).await.map(|come| come.code);
        match come {
            Ok(code) => code,
            // No one listens any more, so none will come.
            Err(_) => std::future::pending().await,
        }
    }

    /// Does something that writes nothing; a signal ends it.
    pub(super) async fn before<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let come = self.come(1);
        pin!(work, come);
        match select(work, come).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((code, _)) => {
                let message = "interrupted, nothing written";
                Err(Error { kind: ErrorKind::Signal(code), ..Error::failed(message) })
            }
        }
    }

    /// Why nothing was written: the signal, if it prevented the request.
    pub(super) fn refused(&self, failure: &Failure) -> Error {
        let code = self.0.borrow().code;
        match failure.kind {
            FailureKind::Interrupted => {
                Error { kind: ErrorKind::Signal(code), ..Error::failed("interrupted") }
            }
            _ => denied(failure),
        }
    }
}

/// What a signal does once signals are listened to: a runtime that has listened once keeps them from ending
/// the program.
static ACTION: Mutex<Option<Action>> = Mutex::new(None);

type Action = Box<dyn FnMut(u8) + Send>;

/// Does this with the exit code for each signal from now on, if signals were listened to; otherwise a signal
/// ends the program by itself.
pub fn on_signal(action: impl FnMut(u8) + Send + 'static) {
    let mut current = action_lock();
    if current.is_some() {
        *current = Some(Box::new(action));
    }
}

fn action_lock() -> MutexGuard<'static, Option<Action>> {
    ACTION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signals that come to the program. When it is dropped, they end the program again.
pub(super) struct Signals(UnboundedReceiver<u8>);

impl Signals {
    /// Listens; meanwhile no signal ends the program by itself.
    pub(super) fn new() -> std::io::Result<Self> {
        let (sender, receiver) = unbounded_channel();
        let told = move |code: u8| {
            if sender.send(code).is_err() {
                std::process::exit(code.into());
            }
        };
        let mut action = action_lock();
        if action.is_none() {
            // On a thread of its own, which nothing that blocks the others holds up, such as a full pipe.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
            let mut raised = {
                let _inside = runtime.enter();
                Raised::new()?
            };
            std::thread::spawn(move || {
                runtime.block_on(async {
                    while let Some(code) = raised.next().await {
                        if let Some(act) = &mut *action_lock() {
                            act(code);
                        }
                    }
                });
            });
        }
        *action = Some(Box::new(told));
        Ok(Self(receiver))
    }

    /// Waits for the next one; with the exit code for it.
    pub(super) async fn next(&mut self) -> Option<u8> {
        self.0.recv().await
    }
}

/// The signals as the system raises them.
#[cfg(unix)]
struct Raised {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// None where whoever started the program has it ignored, as `nohup` does.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Raised {
    /// Listens. It needs a runtime.
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: match ignores_hangup() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
        })
    }

    /// Waits for the next one; with the exit code for it.
    async fn next(&mut self) -> Option<u8> {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            come = hangup => come.map(|()| HUNG_UP),
            come = self.interrupt.recv() => come.map(|()| INTERRUPTED),
            come = self.terminate.recv() => come.map(|()| TERMINATED),
        }
    }
}

/// Whether SIGHUP, the first of the signals, is ignored. Only Linux tells without a system call that
/// Rust calls unsafe.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

/// The signals as the system raises them.
#[cfg(not(unix))]
struct Raised;

#[cfg(not(unix))]
impl Raised {
    /// Listens. It needs a runtime.
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next one; with the exit code for it.
    async fn next(&mut self) -> Option<u8> {
        tokio::signal::ctrl_c().await.ok().map(|()| INTERRUPTED)
    }
}
