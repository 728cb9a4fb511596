//! The signals that end the program, and with it the plugins that it runs. A listener receives a signal;
//! without one, the signal ends the program. Each command decides what a signal means to it.

use std::io;
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

#[cfg(unix)]
use rustix::process::Pid;
#[cfg(unix)]
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::error::Error;

/// The exit codes of a shell for programs that these signals ended.
const INTERRUPTED: u8 = 130;
#[cfg(unix)]
const TERMINATED: u8 = 143;
#[cfg(unix)]
const HUNG_UP: u8 = 129;

/// The action on a signal once signals are listened to: a runtime that has listened once keeps them from
/// ending the program.
static ACTION: Mutex<Option<Action>> = Mutex::new(None);

/// The process groups that end with the program.
#[cfg(unix)]
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

type Action = Box<dyn FnMut(u8) + Send>;

/// Runs the action, with the exit code, for each signal from now on. Where signals cannot be listened to, a
/// signal ends the program directly.
pub fn on_signal(action: impl FnMut(u8) + Send + 'static) {
    if let Ok(mut current) = listening() {
        *current = Some(Box::new(action));
    }
}

/// Starts listening to signals; by default, they still end the program. Returns the action on them.
fn listening() -> io::Result<MutexGuard<'static, Option<Action>>> {
    let mut action = lock(&ACTION);
    if action.is_none() {
        // On a separate thread, which is not held up by anything that blocks the others, such as a full pipe.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let mut raised = {
            let _inside = runtime.enter();
            Raised::new()?
        };
        thread::spawn(move || {
            runtime.block_on(async {
                while let Some(code) = raised.next().await {
                    let mut action = lock(&ACTION);
                    #[cfg(unix)]
                    end_groups();
                    if let Some(act) = &mut *action {
                        act(code);
                    }
                }
            });
        });
        *action = Some(Box::new(|code| exit(code.into())));
    }
    Ok(action)
}

/// A process group that ends when this is dropped, or when a signal comes.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct ProcessGroup(Pid);

#[cfg(unix)]
impl ProcessGroup {
    /// Starts a program as the first process of a new group. A signal that comes meanwhile ends it, too.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        // While this is held, a signal waits before it ends the groups and the program.
        let _action = listening()?;
        let child = command.process_group(0).spawn()?;
        let pid = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
            .ok_or(io::ErrorKind::InvalidInput)?;
        lock(&GROUPS).push(pid);
        Ok((child, Self(pid)))
    }

    /// Leaves the processes of the group running. If a signal ended the group, this waits for the signal to end
    /// the program as well, because the group's unfinished work is no failure of its own.
    pub(crate) async fn release(self) {
        if lock(&GROUPS)
            .extract_if(.., |pid| *pid == self.0)
            .next()
            .is_none()
        {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let mut groups = lock(&GROUPS);
        if groups.contains(&self.0) {
            groups.retain(|pid| *pid != self.0);
            end(self.0);
        }
    }
}

#[cfg(unix)]
fn end_groups() {
    lock(&GROUPS).drain(..).for_each(end);
}

/// Ends all processes of a group, if any are left.
#[cfg(unix)]
fn end(group: Pid) {
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signals that the program receives. Once this is dropped, they end the program again.
pub(crate) struct Signals(UnboundedReceiver<u8>);

impl Signals {
    /// Listens for signals; meanwhile, none ends the program directly, unless work may be blocked, such as by a file that
    /// never begins: then a signal does after this time.
    pub(crate) fn new(patience: Option<Duration>) -> Result<Self, Error> {
        let (sender, receiver) = unbounded_channel();
        let unheard = |e| Error::failed(format!("failed to listen for signals: {e}"));
        let mut action = listening().map_err(unheard)?;
        // The action that ends the program if no one receives the signal.
        let before = Arc::new(Mutex::new(action.take()));
        let act = move |code: u8| match &mut *lock(&before) {
            Some(act) => act(code),
            None => exit(code.into()),
        };
        *action = Some(Box::new(move |code: u8| {
            if sender.send(code).is_err() {
                act(code);
            } else if let Some(patience) = patience {
                let act = act.clone();
                thread::spawn(move || {
                    thread::sleep(patience);
                    act(code);
                    exit(code.into());
                });
            }
        }));
        Ok(Self(receiver))
    }

    /// Waits for the next signal; returns its exit code.
    pub(crate) async fn next(&mut self) -> Option<u8> {
        self.0.recv().await
    }
}

/// The signals as the system raises them.
#[cfg(unix)]
struct Raised {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// SIGHUP; `None` if the program was started with it ignored, as by `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Raised {
    /// Starts listening. It needs a runtime.
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if ignores_hangup() {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
        })
    }

    /// Waits for the next signal; returns its exit code.
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

/// Whether SIGHUP, the first of the signals, is ignored. Only Linux reveals that without a system call that
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
    /// Starts listening. It needs a runtime.
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next signal; returns its exit code.
    async fn next(&mut self) -> Option<u8> {
        tokio::signal::ctrl_c().await.ok().map(|()| INTERRUPTED)
    }
}
