//! Signals around a write: before it, they end the program; during it, they only end the wait, so that the
//! outcome of the write is still reported. Elsewhere, they end a long list or search, with its results so
//! far. Afterwards, they end the program, even if no one reads its output.

use std::mem::ManuallyDrop;

use futures_util::future::{Either, select};
use tokio::pin;
use tokio::sync::watch;

use crate::cluster::signals::Signals;
pub use crate::cluster::signals::on_signal;
use crate::cluster::{Failure, FailureKind, Session};
use crate::error::{Error, ErrorKind};

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
    /// Starts listening. Until [`on_signal`], no signal ends the program directly, and after the first one a
    /// session writes nothing more. It needs a runtime.
    pub(super) fn listen(session: &Session) -> Result<Self, Error> {
        let (sender, receiver) = watch::channel(Come::default());
        // Kept until the program says what was written, or a signal could end it before.
        let mut signals = ManuallyDrop::new(Signals::new(None)?);
        let session = session.clone();
        tokio::spawn(async move {
            while let Some(code) = signals.next().await {
                session.stop();
                sender.send_modify(|come| {
                    *come = Come {
                        times: come.times + 1,
                        code,
                    }
                });
            }
        });
        Ok(Self(receiver))
    }

    /// Waits for this many signals; returns the exit code for the last.
    pub(super) async fn come(&self, times: u32) -> u8 {
        let mut receiver = self.0.clone();
        let come = receiver
            .wait_for(|come| come.times >= times)
            .await
            .map(|come| come.code);
        match come {
            Ok(code) => code,
            // No one listens any more, so none will come.
            Err(_) => std::future::pending().await,
        }
    }

    /// Runs work that writes nothing; a signal ends it.
    pub(super) async fn before<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let come = self.come(1);
        pin!(work, come);
        match select(work, come).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((code, _)) => {
                let message = "interrupted, nothing written";
                Err(Error {
                    kind: ErrorKind::Signal(code),
                    ..Error::failed(message)
                })
            }
        }
    }

    /// Returns the reason why nothing was written: the signal, if it prevented the request.
    pub(super) fn refused(&self, failure: Failure) -> Error {
        let code = self.0.borrow().code;
        match failure.kind {
            FailureKind::Interrupted => Error {
                kind: ErrorKind::Signal(code),
                ..Error::failed("interrupted")
            },
            _ => failure.into(),
        }
    }
}
