//! A session with an API server: the state that its requests share, its log, and the remaining time to read
//! answers. It must not print.

pub(crate) mod body;
pub(crate) mod failure;
mod request;
pub(super) mod retry;
pub(crate) mod status;
pub(super) mod tls;
mod warning;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use http::{HeaderMap, header};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout_at};

use super::connect::{ClientConfig, Clients, Prepared};
use super::http::body::{Body, Packed};
use super::http::failure::{Failure, FailureKind, Method};
use super::http::retry::TotalWait;
use crate::secret::Secrets;
use crate::snapshot::command_flags::CommandFlags;

/// The maximum memory of one body that is kept for the next.
const REUSED: usize = 8 << 20;

/// The number of a server's warnings that are kept.
const WARNINGS: usize = 100;

/// The verbosity from which retries are shown.
const RETRIES: i32 = 1;
/// The verbosity from which each request is shown.
const REQUESTS: i32 = 6;

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Response<B = Body> {
    /// The method of the request.
    pub method: Method,
    /// The path and query of the request.
    pub path: String,
    /// The body, decompressed unless the caller does that.
    pub body: B,
    /// The server's clock.
    pub date: Option<Timestamp>,
}

/// A connection to an API server; its clones share everything.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
    retries: bool,
}

struct Inner {
    plan: ClientConfig,
    host: String,
    clients: RwLock<Clients>,
    renewal: tokio::sync::Mutex<()>,
    begun: Instant,
    deadline: Mutex<Option<Instant>>,
    /// Whether many objects are read; see [`Session::read_many`].
    reads_many: AtomicBool,
    /// The number of consecutive requests that an API has not answered, by the start of its paths.
    unanswered: Mutex<BTreeMap<String, u32>>,
    sent: AtomicUsize,
    /// The time that requests have waited to be sent again.
    waited: Mutex<TotalWait>,
    /// The size of all bodies that are held.
    held: Arc<AtomicUsize>,
    /// Memory of bodies that are no longer needed.
    memory: Mutex<Vec<Vec<u8>>>,
    notices: Vec<String>,
    notes: Mutex<Vec<(i32, String)>>,
    /// The notes that are not repeated.
    noted_once: Mutex<HashSet<String>>,
    warnings: Mutex<Vec<String>>,
    /// Whether writing has been stopped.
    stopped: watch::Sender<bool>,
}

impl Inner {
    fn scheme(&self) -> &str {
        self.plan.server.scheme_str().unwrap_or("https")
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("server", &self.server())
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(planned: Prepared) -> Self {
        let Prepared {
            plan,
            clients,
            notices,
            notes,
        } = planned;
        let host = plan.server.authority().map(ToString::to_string);
        let deadline = plan.limits.overall().map(|time| Instant::now() + time);
        Self {
            inner: Arc::new(Inner {
                plan,
                host: host.unwrap_or_default(),
                clients: RwLock::new(clients),
                renewal: tokio::sync::Mutex::new(()),
                begun: Instant::now(),
                deadline: Mutex::new(deadline),
                reads_many: AtomicBool::new(false),
                unanswered: Mutex::default(),
                sent: AtomicUsize::new(0),
                waited: Mutex::default(),
                held: Arc::default(),
                memory: Mutex::default(),
                notices,
                notes: Mutex::new(notes.into_iter().map(|note| (RETRIES, note)).collect()),
                noted_once: Mutex::default(),
                warnings: Mutex::default(),
                stopped: watch::Sender::new(false),
            }),
            retries: true,
        }
    }

    /// Returns the same session for a caller that asks again by itself: a failed request is not sent again.
    pub(super) fn without_retries(&self) -> Self {
        Self {
            retries: false,
            ..self.clone()
        }
    }

    /// Returns the namespace to use if none is named.
    pub fn namespace(&self) -> &str {
        &self.inner.plan.target.namespace
    }

    /// Returns the flags with which kubectl reaches the same server as the same user.
    pub(crate) fn command_flags(&self) -> &CommandFlags {
        &self.inner.plan.command_flags
    }

    /// Returns the server's address, such as `https://10.0.0.1:6443`.
    pub fn server(&self) -> String {
        self.inner.plan.server.to_string()
    }

    /// Returns the number of requests sent so far, including repeated ones.
    pub fn requests(&self) -> usize {
        self.inner.sent.load(Ordering::Relaxed)
    }

    /// Returns what the user should know about the connection, such as credentials that are not sent.
    pub fn notices(&self) -> &[String] {
        &self.inner.notices
    }

    /// Returns the server's warnings, each once, in kubectl's form without `Warning: `.
    pub fn warnings(&self) -> Vec<String> {
        lock(&self.inner.warnings).clone()
    }

    /// Returns the log for a verbosity: from 1 on retries, from 6 on every request, as in kubectl.
    pub fn notes(&self, verbosity: i32) -> Vec<String> {
        let notes = lock(&self.inner.notes);
        let asked = notes.iter().filter(|(level, _)| *level <= verbosity);
        asked.map(|(_, note)| note.clone()).collect()
    }

    /// Extends the time limit for all requests by the time that this many consecutive requests may take.
    pub fn allow(&self, requests: u32) {
        if let Some(request) = self.inner.plan.limits.request {
            self.wait(request * requests);
        }
    }

    /// Prepares for reading many objects: the time limit for all requests restarts with each answer, and an API
    /// that does not answer is given up.
    pub(crate) fn read_many(&self) {
        self.inner.reads_many.store(true, Ordering::Relaxed);
    }

    /// Extends the time limit for all requests by a period in which nothing is requested.
    pub fn wait(&self, time: Duration) {
        if let Some(end) = lock(&self.inner.deadline).as_mut() {
            *end += time;
        }
    }

    /// Stops writing: nothing more is written, and a write that waits for a retry gives up.
    pub fn stop(&self) {
        self.inner.stopped.send_replace(true);
    }

    /// Takes back the memory of a body for the next one.
    pub(crate) fn reuse(&self, body: Packed) {
        if body.bytes.capacity() <= REUSED {
            lock(&self.inner.memory).push(body.bytes);
        }
    }

    /// Waits for another thread, within the time limit for all requests.
    pub(crate) async fn finished<T>(&self, task: JoinHandle<io::Result<T>>) -> io::Result<T> {
        let done = match self.deadline() {
            Some(end) => timeout_at(end, task).await.map_err(|_| {
                let cause = "the time for all requests was over before it was read";
                io::Error::new(io::ErrorKind::TimedOut, cause)
            })?,
            None => task.await,
        };
        done.unwrap_or_else(|e| Err(e.into()))
    }

    /// Returns a reader's result for an answer, within the time limit for all requests. Unless the answer is
    /// short, it is read on another thread, so that it delays no deadline or signal.
    ///
    /// # Errors
    ///
    /// The time limit was reached first.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        body: &Body,
        reader: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> io::Result<T> {
        if body.is_short() {
            return Ok(body.read(reader));
        }
        let body = body.clone();
        self.aside(move || body.read(reader)).await
    }

    /// Runs work on another thread, within the time limit for all requests. Late work is not waited for.
    ///
    /// # Errors
    ///
    /// The time limit was reached first.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.finished(spawn_blocking(move || Ok(work()))).await
    }

    /// Returns the object in an answer.
    ///
    /// # Errors
    ///
    /// The object cannot be read, or not in time.
    pub(crate) async fn object<T: Send + 'static>(
        &self,
        Response {
            method, path, body, ..
        }: &Response,
        reader: impl FnOnce(&[u8]) -> Result<T, String> + Send + 'static,
    ) -> Result<T, Failure> {
        let read = self.read(body, reader).await;
        read.unwrap_or_else(|e| Err(e.to_string()))
            .map_err(|cause| self.unreadable(*method, path, cause))
    }

    /// Returns a server's text without the secrets that were sent to it.
    pub(crate) fn struck(&self, text: String) -> String {
        self.clients().sent.struck_from(text)
    }

    /// Returns a path whose query, which may repeat a server's text, has no secrets.
    fn struck_path(&self, path: &str) -> String {
        let (own, query) = path.split_at(path.find('?').unwrap_or(path.len()));
        format!("{own}{}", self.struck(query.to_owned()))
    }

    /// Returns the failure for an answer that the caller could not read; `cause` may be the caller's text.
    pub(crate) fn unreadable(
        &self,
        method: Method,
        path: &str,
        cause: impl Into<String>,
    ) -> Failure {
        let cause = self.struck(cause.into());
        self.failure(FailureKind::Body(cause), method, path)
    }

    /// Returns the failure of one try of a request.
    pub(super) fn failure(&self, kind: FailureKind, method: Method, path: &str) -> Failure {
        let inner = &self.inner;
        Failure {
            kind,
            scheme: inner.scheme().into(),
            host: inner.host.clone(),
            method,
            path: self.struck_path(path),
            tries: 1,
            took: Duration::ZERO,
            command_flags: inner.plan.command_flags.clone(),
            unwaited: None,
        }
    }

    fn clients(&self) -> Clients {
        self.inner
            .clients
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn deadline(&self) -> Option<Instant> {
        *lock(&self.inner.deadline)
    }

    /// Adds to the log.
    pub(crate) fn note(&self, note: String) {
        lock(&self.inner.notes).push((RETRIES, note));
    }

    /// Adds a message to the log once, even if it has several causes.
    pub(crate) fn note_once(&self, note: String) {
        if lock(&self.inner.noted_once).insert(note.clone()) {
            self.note(note);
        }
    }

    fn keep_warnings(&self, headers: &HeaderMap, credential: &Secrets) {
        let mut kept = lock(&self.inner.warnings);
        for value in headers.get_all(header::WARNING) {
            if kept.len() >= WARNINGS {
                return;
            }
            let value = String::from_utf8_lossy(value.as_bytes());
            let value = credential.struck_from(value.into_owned());
            for text in warning::texts(&value) {
                if !kept.contains(&text) && kept.len() < WARNINGS {
                    kept.push(text);
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
