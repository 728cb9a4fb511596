//! A session with an API server: GETs with limits, retries and one renewal of credentials, and
//! writes. It must not print, and must not repeat a write unless the server says that it did not act
//! on it. Follows `rest.Request` of client-go.

pub(crate) mod body;
pub(crate) mod failure;
mod retry;
pub(crate) mod status;
pub(super) mod tls;
mod warning;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use http::{HeaderMap, Request, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout, timeout_at};

use super::connect::exec::PluginFault;
use super::connect::{ClientConfig, Clients, Prepared};
use super::http::body::{Body, HeldMemory, Packed};
use super::http::failure::{Failure, FailureKind, Method, WaitingFor, classify, resolves};
use super::http::retry::{Ending, Patience, TotalWait, Unwaited};
use super::http::status::ApiStatus;
use crate::apimachinery::json;
use crate::error::Error;
use crate::secret::Secrets;
use crate::snapshot::command_flags::CommandFlags;

/// An API is given up after this many consecutive requests without an answer, if many objects are read.
const UNANSWERED: u32 = 4;

const JSON: &str = "application/json";

/// The most memory of one body that is kept for the next.
const REUSED: usize = 8 << 20;

/// How many warnings of a server are kept.
const WARNINGS: usize = 100;

/// The verbosity from which retries are shown.
const RETRIES: i32 = 1;
/// The verbosity from which each request is shown.
const REQUESTS: i32 = 6;

/// One request.
struct HttpRequest<'a> {
    method: Method,
    path: &'a str,
    accept: &'a str,
    body: &'a [u8],
}

/// How long to wait before a request is sent again, by its failure, the server's `Retry-After` and the tries so
/// far; `None` if it is not.
type Wait<'w> = dyn Fn(&Failure, Option<Duration>, u32) -> Option<Duration> + 'w;

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Response<B = Body> {
    /// The HTTP status, 2xx.
    pub status: u16,
    /// The body, decompressed unless the caller does that.
    pub body: B,
    /// The server's clock.
    pub date: Option<Timestamp>,
    /// The media type of the body.
    pub content_type: String,
}

/// A connection to an API server; its clones share everything.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
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
    /// How many consecutive requests an API has not answered, by the start of its paths.
    unanswered: Mutex<BTreeMap<String, u32>>,
    sent: AtomicUsize,
    /// How long requests have waited to be sent again.
    waited: Mutex<TotalWait>,
    /// The size of all bodies that are held.
    held: Arc<AtomicUsize>,
    /// Memory of bodies that are no longer needed.
    memory: Mutex<Vec<Vec<u8>>>,
    notices: Vec<String>,
    notes: Mutex<Vec<(i32, String)>>,
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
        let deadline = plan.limits.overall.map(|time| Instant::now() + time);
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
                warnings: Mutex::default(),
                stopped: watch::Sender::new(false),
            }),
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

    /// Returns the server's host and port, for messages.
    pub fn host(&self) -> &str {
        &self.inner.host
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

    /// Extends the time for all requests by the time that this many consecutive requests may take.
    pub fn allow(&self, requests: u32) {
        let Some(request) = self.inner.plan.limits.request else {
            return;
        };
        if let Some(end) = lock(&self.inner.deadline).as_mut() {
            *end += request * requests;
        }
    }

    /// Prepares for reading many objects: the time for all requests restarts with each answer, and an API
    /// that does not answer is given up.
    pub(crate) fn read_many(&self) {
        self.inner.reads_many.store(true, Ordering::Relaxed);
    }

    /// Extends the time for all requests by a time in which nothing is requested.
    pub fn wait(&self, time: Duration) {
        if let Some(end) = lock(&self.inner.deadline).as_mut() {
            *end += time;
        }
    }

    /// Stops writing: nothing more is written, and whatever waits for a retry gives up.
    pub fn stop(&self) {
        self.inner.stopped.send_replace(true);
    }

    /// Waits; with a write, only until writing is stopped.
    async fn pause(&self, method: Method, time: Duration) {
        let mut stopped = self.inner.stopped.subscribe();
        let stopped = stopped.wait_for(|stopped| *stopped && method != Method::Get);
        // Either way the next try finds out.
        let _ = timeout(time, stopped).await;
    }

    /// Requests a path with its query, with our own patience.
    ///
    /// # Errors
    ///
    /// Anything except a 2xx answer with its whole body.
    pub async fn get(&self, path: &str, accept: &str) -> Result<Response, Failure> {
        let answer = self.get_with(path, accept, Patience::Own).await?;
        self.unpacked(Method::Get, path, answer).await
    }

    /// Requests, with our own patience, a body that another thread inflates.
    pub(crate) async fn get_packed(
        &self,
        path: &str,
        accept: &str,
    ) -> Result<Response<Packed>, Failure> {
        self.get_with(path, accept, Patience::Own).await
    }

    /// Takes back the memory of a body for the next one.
    pub(crate) fn reuse(&self, body: Packed) {
        let memory = body.into_memory();
        if memory.capacity() <= REUSED {
            lock(&self.inner.memory).push(memory);
        }
    }

    /// Asks as the controller does, for answers that go into its conditions: what it treats as a failure is
    /// not retried.
    ///
    /// # Errors
    ///
    /// Anything except a 2xx answer with its whole body.
    pub async fn get_as_controller(&self, path: &str, accept: &str) -> Result<Response, Failure> {
        let answer = self.get_with(path, accept, Patience::Controllers).await?;
        self.unpacked(Method::Get, path, answer).await
    }

    /// Waits for another thread, within the time for all requests.
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

    /// Returns what a reader makes of an answer, within the time for all requests. Another thread reads
    /// unless it is short, so that no answer holds up a deadline or a signal.
    ///
    /// # Errors
    ///
    /// The time was over before.
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

    /// Works on another thread, within the time for all requests. Nothing waits for work that is late.
    ///
    /// # Errors
    ///
    /// The time was over before.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.finished(spawn_blocking(move || Ok(work()))).await
    }

    /// Returns the object in an answer to a request for `path`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or not in time.
    pub(crate) async fn object<T: Send + 'static>(
        &self,
        path: &str,
        body: &Body,
        reader: impl FnOnce(&[u8]) -> Result<T, String> + Send + 'static,
    ) -> Result<T, Failure> {
        let read = self.read(body, reader).await;
        read.unwrap_or_else(|e| Err(e.to_string()))
            .map_err(|cause| self.unreadable(path, cause))
    }

    /// Returns a text of the server without what was sent to it.
    pub(crate) fn struck(&self, text: String) -> String {
        self.clients().sent.struck_from(text)
    }

    /// Makes sure that an answer is no page.
    pub(crate) fn no_page(&self, path: &str, content_type: &str) -> Result<(), Failure> {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        if media.eq_ignore_ascii_case("text/html") {
            Err(Failure {
                kind: FailureKind::Page,
                ..self.unreadable(path, String::new())
            })
        } else {
            Ok(())
        }
    }

    /// Returns the failure for an answer that the caller could not read; `cause` may be the caller's text.
    pub(crate) fn unreadable(&self, path: &str, cause: String) -> Failure {
        let path = self.struck(path.to_owned());
        let failure = Failure::unreadable(self.host(), &path, self.struck(cause));
        Failure {
            command_flags: self.inner.plan.command_flags.clone(),
            ..failure
        }
    }

    async fn unpacked(
        &self,
        method: Method,
        path: &str,
        answer: Response<Packed>,
    ) -> Result<Response, Failure> {
        let Response {
            status,
            body,
            date,
            content_type,
        } = answer;
        let body = if body.is_packed() {
            self.finished(spawn_blocking(|| body.unpack())).await
        } else {
            body.unpack()
        };
        let body = body.map_err(|e| {
            let cause = format!("failed to decompress the response: {e}");
            Failure {
                method,
                ..self.unreadable(path, cause)
            }
        })?;
        Ok(Response {
            status,
            body,
            date,
            content_type,
        })
    }

    /// Sends a write once. It is sent again only if the server has said that it did not act on it: the
    /// server rejected the credentials and there are fresh ones, or asked to retry later.
    ///
    /// # Errors
    ///
    /// Anything except a 2xx answer with its whole body. Whether the server acted may then be unknown: see
    /// the failure.
    pub async fn write(
        &self,
        method: Method,
        path: &str,
        body: &[u8],
    ) -> Result<Response, Failure> {
        let ask = HttpRequest {
            method,
            path,
            accept: JSON,
            body,
        };
        let wait = |failure: &Failure, retry_after, tries| match (failure.status(), retry_after) {
            (Some(429), Some(_)) => retry::wait(
                Ending::Answered(429, retry_after),
                tries,
                Patience::Controllers,
            ),
            _ => None,
        };
        let answer = self.send(&ask, &wait).await?;
        self.unpacked(method, path, answer).await
    }

    /// Requests with our own patience, except that failures with an answer are not retried.
    ///
    /// # Errors
    ///
    /// Anything except a 2xx answer with its whole body.
    pub(crate) async fn get_unless(
        &self,
        path: &str,
        accept: &str,
        is_answer: &dyn Fn(&ApiStatus) -> bool,
    ) -> Result<Response, Failure> {
        let answer = self
            .get_while(path, accept, Patience::Own, &|status| !is_answer(status))
            .await?;
        self.unpacked(Method::Get, path, answer).await
    }

    async fn get_with(
        &self,
        path: &str,
        accept: &str,
        patience: Patience,
    ) -> Result<Response<Packed>, Failure> {
        self.get_while(path, accept, patience, &|_| true).await
    }

    async fn get_while(
        &self,
        path: &str,
        accept: &str,
        patience: Patience,
        may_pass: &dyn Fn(&ApiStatus) -> bool,
    ) -> Result<Response<Packed>, Failure> {
        let ask = HttpRequest {
            method: Method::Get,
            path,
            accept,
            body: &[],
        };
        let wait = |failure: &Failure, retry_after, tries| {
            let ending = match &failure.kind {
                FailureKind::Api(status) if !may_pass(status) => return None,
                FailureKind::Api(status) => Ending::Answered(status.code, retry_after),
                FailureKind::Lost(_) => Ending::Lost,
                _ => return None,
            };
            retry::wait(ending, tries, patience)
        };
        self.send(&ask, &wait).await
    }

    /// Sends a request, and again after each pause that `wait` returns, and once more with fresh
    /// credentials.
    async fn send(
        &self,
        ask: &HttpRequest<'_>,
        wait: &Wait<'_>,
    ) -> Result<Response<Packed>, Failure> {
        let HttpRequest { method, path, .. } = *ask;
        let mut tries = 0;
        let begun = Instant::now();
        loop {
            tries += 1;
            let clients = self.clients();
            let client = match method {
                Method::Get => clients.reads.clone(),
                // The server may be closing a kept connection at this moment, and then no one could
                // tell whether the write arrived.
                _ => clients.source.client_until(self.inner.stopped.subscribe()),
            };
            let sent = Instant::now();
            let tried = self.try_once(&client, &clients.sent, ask).await;
            self.keep_pace(path, tried.as_ref().map_or_else(|(e, _)| Some(e), |_| None));
            let (mut failure, retry_after) = match tried {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            if failure.status().is_none() {
                self.note_request(ask, &format!("failed: {failure}"), sent.elapsed());
            }
            if failure.status() == Some(401) && self.renew(clients.age).await? {
                continue;
            }
            let in_time = |wait: &Duration| {
                self.deadline()
                    .is_none_or(|end| Instant::now() + *wait < end)
            };
            let Some(wait) = wait(&failure, retry_after, tries).filter(in_time) else {
                let may_pass = matches!(failure.status(), Some(429 | 500..));
                let long = retry_after.filter(|asked| may_pass && *asked > retry::LONGEST);
                let seconds = |long: Duration| u32::try_from(long.as_secs()).unwrap_or(u32::MAX);
                failure.unwaited = long.map(|long| Unwaited::Long(seconds(long)));
                return Err(self.after_tries(failure, tries, begun));
            };
            if !lock(&self.inner.waited).take(Instant::now(), wait) {
                failure.unwaited = Some(Unwaited::InAll);
                return Err(self.after_tries(failure, tries, begun));
            }
            self.note(format!(
                "{method} {path}: {failure}; trying again in {wait:.1?}"
            ));
            self.pause(method, wait).await;
        }
    }

    /// If many objects are read: continues while there are answers, and counts failures.
    fn keep_pace(&self, path: &str, failure: Option<&Failure>) {
        if !self.inner.reads_many.load(Ordering::Relaxed) {
            return;
        }
        let mut unanswered = lock(&self.inner.unanswered);
        match failure.map(|failure| &failure.kind) {
            Some(FailureKind::Timeout {
                waiting: WaitingFor::Unanswered(_),
                ..
            }) => {}
            Some(FailureKind::Timeout { .. }) => {
                *unanswered.entry(api(path).to_owned()).or_default() += 1;
            }
            _ => {
                unanswered.remove(api(path));
                let mut deadline = lock(&self.inner.deadline);
                if let (Some(end), Some(time)) = (&mut *deadline, self.inner.plan.limits.overall) {
                    *end = (*end).max(Instant::now() + time);
                }
            }
        }
    }

    /// Records how many times it was tried.
    fn after_tries(&self, mut failure: Failure, tries: u32, begun: Instant) -> Failure {
        failure.tries = tries;
        failure.took = begun.elapsed();
        if tries > 1 {
            let Failure { method, path, .. } = &failure;
            self.note(format!("{method} {path}: given up after {tries} tries"));
        }
        failure
    }

    async fn try_once(
        &self,
        client: &kube::Client,
        credential: &Secrets,
        ask: &HttpRequest<'_>,
    ) -> Result<Response<Packed>, (Failure, Option<Duration>)> {
        let inner = &self.inner;
        let HttpRequest {
            method,
            path,
            accept,
            body,
        } = *ask;
        let fail = |kind| {
            let failure = Failure {
                kind,
                scheme: inner.scheme().into(),
                host: inner.host.clone(),
                method,
                path: credential.struck_from(path.to_owned()),
                tries: 1,
                took: Duration::ZERO,
                command_flags: inner.plan.command_flags.clone(),
                unwaited: None,
            };
            (failure, None)
        };
        if method != Method::Get && *inner.stopped.borrow() {
            return Err(fail(FailureKind::Interrupted));
        }
        let mut request = Request::builder()
            .method(method.as_str())
            .uri(path)
            .header(header::ACCEPT, accept);
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, JSON);
        }
        let no_path = || fail(FailureKind::Body("not a path to ask for".to_owned()));
        // A server would treat these segments as relative paths, and return another object.
        let mut segments = path.split('?').next().unwrap_or_default().split('/');
        if segments.any(|segment| matches!(segment, "." | "..")) {
            return Err(no_path());
        }
        let request = request
            .body(kube::client::Body::from(body.to_vec()))
            .map_err(|_| no_path())?;
        let begun = Instant::now();
        let limit = inner.plan.limits.request;
        let own = limit.map(|limit| begun + limit);
        let overall = self.deadline();
        let end = own.into_iter().chain(overall).min();
        let timed_out = |waiting| {
            let in_all = overall.is_some() && end == overall;
            let since = if in_all { inner.begun } else { begun };
            let after = Duration::from_secs(since.elapsed().as_secs());
            let after = limit.filter(|_| !in_all).unwrap_or(after);
            fail(FailureKind::Timeout {
                after,
                in_all,
                waiting,
            })
        };
        let unanswered = lock(&inner.unanswered)
            .get(api(path))
            .copied()
            .unwrap_or_default();
        if unanswered >= UNANSWERED {
            return Err(timed_out(WaitingFor::Unanswered(api(path).to_owned())));
        }
        inner.sent.fetch_add(1, Ordering::Relaxed);
        let exchange = async {
            let answer = client.send(request).await.map_err(|e| {
                let proxy = inner.plan.proxy.as_ref().map(ToString::to_string);
                classify(&e, &inner.host, proxy.as_deref())
            })?;
            let (parts, mut body) = answer.into_parts();
            self.keep_warnings(&parts.headers, credential);
            let most = if parts.status.is_success() {
                body::MOST
            } else {
                body::MOST_OF_ERROR
            };
            // Collecting frames would hold it twice.
            let mut whole = lock(&inner.memory).pop().unwrap_or_default();
            whole.clear();
            let mut held = HeldMemory::of(&inner.held);
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|_| {
                    let cause = "the connection was lost during the response";
                    FailureKind::Body(cause.to_owned())
                })?;
                if let Some(data) = frame.data_ref() {
                    let larger = |e: io::Error| FailureKind::Body(e.to_string());
                    held.resize(whole.len() + data.len()).map_err(larger)?;
                    whole.extend_from_slice(data);
                }
                if whole.len() > most {
                    break;
                }
            }
            let whole = Packed::new(whole, held, &parts.headers, most);
            Ok((parts, whole))
        };
        let answered = match end {
            Some(end) => timeout_at(end, exchange)
                .await
                .map_err(|_| timed_out(WaitingFor::Answer))?,
            None => exchange.await,
        };
        let (parts, body) = match answered {
            Ok(answer) => answer,
            Err(FailureKind::Timeout {
                waiting: WaitingFor::Connection,
                ..
            }) if !resolves(&inner.host).await => {
                return Err(timed_out(WaitingFor::Name));
            }
            Err(FailureKind::Timeout { waiting, .. }) => return Err(timed_out(waiting)),
            Err(kind) => return Err(fail(kind)),
        };
        let text = |name| header_text(&parts.headers, name);
        let content_type = text(header::CONTENT_TYPE).unwrap_or_default().to_owned();
        let size = body.len();
        self.note_request(
            ask,
            &format!("{} ({size} bytes)", parts.status),
            begun.elapsed(),
        );
        let code = parts.status.as_u16();
        if !(200..=206).contains(&code) {
            // A body that cannot be inflated, is too long, or is long and not UTF-8, counts as empty.
            let whole = |body: &[u8]| {
                json::text(body).map_or_else(|_| String::new(), std::borrow::Cow::into_owned)
            };
            let body = body
                .unpack()
                .map_or_else(|_| String::new(), |body| body.read(whole));
            let mut status =
                ApiStatus::read(code, method.as_str(), path, &content_type, body.as_bytes());
            status.each_text(&|text| *text = status::kept(std::mem::take(text), credential));
            let (failure, _) = fail(FailureKind::Api(Box::new(status)));
            let seconds = text(header::RETRY_AFTER).and_then(|text| text.parse().ok());
            return Err((failure, seconds.map(Duration::from_secs)));
        }
        body.check()
            .map_err(|e| fail(FailureKind::Body(e.to_string())))?;
        let date = text(header::DATE).and_then(|text| {
            jiff::fmt::rfc2822::DateTimeParser::new()
                .parse_timestamp(text)
                .ok()
        });
        Ok(Response {
            status: code,
            body,
            date,
            content_type,
        })
    }

    /// Runs the plugin again, once per session. `age` is the age of the client whose credentials were
    /// rejected; returns whether there is a newer one.
    async fn renew(&self, age: u32) -> Result<bool, Failure> {
        let inner = &self.inner;
        if !inner.plan.has_plugin() {
            return Ok(false);
        }
        let _one_at_a_time = inner.renewal.lock().await;
        let now = self.clients().age;
        if now > age {
            return Ok(true);
        }
        if now > 0 {
            return Ok(false);
        }
        let begun = Instant::now();
        let fail = |fault| self.without_credentials(fault, begun);
        let credentials = inner.plan.credentials().await.map_err(fail)?;
        let unusable = |e: Error| {
            fail(PluginFault {
                cause: e.message,
                hint: e.hint,
            })
        };
        let mut clients = inner.plan.clients(credentials).map_err(unusable)?;
        clients.sent.extend(&self.clients().sent);
        *inner
            .clients
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Clients {
            age: now + 1,
            ..clients
        };
        // Someone may have had to type something.
        if let Some(end) = lock(&inner.deadline).as_mut() {
            *end += begun.elapsed();
        }
        self.note("credentials were refused; the plugin was run again".to_owned());
        Ok(true)
    }

    /// Returns the failure for a request that has no credentials.
    fn without_credentials(
        &self,
        PluginFault { cause, hint }: PluginFault,
        begun: Instant,
    ) -> Failure {
        Failure {
            kind: FailureKind::Credentials { cause, hint },
            scheme: self.inner.scheme().into(),
            host: self.inner.host.clone(),
            method: Method::Get,
            path: String::new(),
            tries: 1,
            took: begun.elapsed(),
            command_flags: self.inner.plan.command_flags.clone(),
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

    /// Adds to the log what several may have to say.
    pub(crate) fn note_once(&self, note: String) {
        let said = self.notes(RETRIES).contains(&note);
        if !said {
            self.note(note);
        }
    }

    /// Logs a request and its result, without headers or credentials in the server's address.
    fn note_request(&self, ask: &HttpRequest<'_>, ending: &str, took: Duration) {
        let Inner { plan, host, .. } = &*self.inner;
        let host = host.rsplit('@').next().unwrap_or_default();
        let base = plan.server.path().trim_end_matches('/');
        let (method, scheme) = (ask.method.as_str(), self.inner.scheme());
        let path = self.struck(ask.path.to_owned());
        let note = format!(
            "{method} {scheme}://{host}{base}{path} {ending} in {} ms",
            took.as_millis()
        );
        lock(&self.inner.notes).push((REQUESTS, note));
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

/// Returns the start of the paths of an API: `/api`, or `/apis/` and its group.
fn api(path: &str) -> &str {
    let length = match path.strip_prefix("/apis/") {
        Some(rest) => "/apis/".len() + rest.find(['/', '?']).unwrap_or(rest.len()),
        None => path
            .get(1..)
            .and_then(|rest| rest.find(['/', '?']))
            .map_or(path.len(), |at| at + 1),
    };
    &path[..length]
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
