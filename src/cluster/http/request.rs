//! The requests of a session, and the tries of each: which ones are repeated, after which pause, and the content
//! of a failure. A write must not be repeated unless the server says that it did not act on it. Follows
//! `rest.Request` of client-go.

use std::borrow::Cow;
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::response::Parts;
use http::{HeaderMap, Request, header};
use http_body_util::BodyExt;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

use super::body::{self, HeldMemory, Packed};
use super::failure::{Failure, FailureKind, Method, WaitingFor, classify, resolves};
use super::retry::{self, Ending, Patience, Unwaited};
use super::status::ApiStatus;
use super::{REQUESTS, Response, Session, lock};
use crate::apimachinery::json;
use crate::cluster::connect::Clients;
use crate::cluster::connect::exec::PluginFault;
use crate::secret::Secrets;

/// The number of consecutive requests without an answer after which an API is given up, if many objects are
/// read.
const UNANSWERED: u32 = 4;

const JSON: &str = "application/json";

/// One request.
struct HttpRequest<'a> {
    method: Method,
    path: &'a str,
    accept: &'a str,
    body: &'a [u8],
    patience: Patience,
}

impl<'a> HttpRequest<'a> {
    /// A request for plain JSON, with this program's patience.
    fn get(path: &'a str) -> Self {
        Self {
            method: Method::Get,
            path,
            accept: JSON,
            body: &[],
            patience: Patience::Own,
        }
    }

    /// Returns the wait before it is sent again, according to its failure, the wait that the server `asked` for and
    /// the tries so far; `None` if it is not sent again.
    fn wait(&self, failure: &Failure, asked: Option<Duration>, tries: u32) -> Option<Duration> {
        let ending = match (&failure.kind, self.patience) {
            (FailureKind::Api(status), Patience::Unless(is_answer)) if is_answer(status) => {
                return None;
            }
            (FailureKind::Api(status), _) => Ending::Answered(status.code, asked),
            (FailureKind::Lost(_), _) => Ending::Lost,
            _ => return None,
        };
        retry::wait(ending, tries, self.patience)
    }
}

impl Session {
    /// Requests a path with its query, with this program's patience.
    ///
    /// # Errors
    ///
    /// Anything except a 2xx answer with its whole body.
    pub async fn get(&self, path: &str) -> Result<Response, Failure> {
        self.answer(&HttpRequest::get(path)).await
    }

    /// Requests a path with its query in another form than plain JSON, which `accept` names.
    ///
    /// # Errors
    ///
    /// Anything except a 2xx answer with its whole body.
    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Result<Response, Failure> {
        let ask = HttpRequest {
            accept,
            ..HttpRequest::get(path)
        };
        self.answer(&ask).await
    }

    /// Requests a body that another thread inflates, with this program's patience.
    pub(crate) async fn get_packed(&self, path: &str) -> Result<Response<Packed>, Failure> {
        self.send(&HttpRequest::get(path)).await
    }

    /// Requests a path with another patience than this program's.
    ///
    /// # Errors
    ///
    /// Anything except a 2xx answer with its whole body.
    pub(crate) async fn get_with(
        &self,
        path: &str,
        patience: Patience,
    ) -> Result<Response, Failure> {
        let ask = HttpRequest {
            patience,
            ..HttpRequest::get(path)
        };
        self.answer(&ask).await
    }

    /// Sends a write once. It is sent again only if the server has said that it did not act on it: because it
    /// rejected the credentials and there are fresh ones, or asked to retry later.
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
            body,
            patience: Patience::OfWrite,
            ..HttpRequest::get(path)
        };
        self.answer(&ask).await
    }

    /// Sends a request, and inflates the body of its answer.
    async fn answer(&self, ask: &HttpRequest<'_>) -> Result<Response, Failure> {
        let Response {
            method,
            path,
            body,
            date,
        } = self.send(ask).await?;
        let inflated = if body.gzip {
            self.finished(spawn_blocking(|| body.unpack())).await
        } else {
            body.unpack()
        };
        let body = inflated.map_err(|e| {
            let cause = format!("failed to decompress the response: {e}");
            self.unreadable(method, &path, cause)
        })?;
        Ok(Response {
            method,
            path,
            body,
            date,
        })
    }

    /// Sends a request, and again as long as its patience lasts, and once more with fresh credentials.
    async fn send(&self, ask: &HttpRequest<'_>) -> Result<Response<Packed>, Failure> {
        let HttpRequest { method, path, .. } = *ask;
        let mut tries = 0;
        let begun = Instant::now();
        loop {
            tries += 1;
            let clients = self.clients();
            let client = match method {
                Method::Get => clients.reads.clone(),
                // The server may be closing a kept connection at this moment, and then
                // it could not be determined whether the write arrived.
                _ => clients.source.client(Some(self.inner.stopped.subscribe())),
            };
            let sent = Instant::now();
            let tried = Try::new(self, ask, &clients.sent).run(&client).await;
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
            let end = self.deadline();
            let in_time = |wait: &Duration| end.is_none_or(|end| Instant::now() + *wait < end);
            let wait = ask.wait(&failure, retry_after, tries).filter(in_time);
            let Some(wait) = wait.filter(|_| self.retries) else {
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

    /// Waits; for a write, only until writing is stopped.
    async fn pause(&self, method: Method, time: Duration) {
        let mut stopping = self.inner.stopped.subscribe();
        let stopped = stopping.wait_for(|stopped| *stopped && method != Method::Get);
        // In either case, the next try reveals the state.
        let _ = timeout(time, stopped).await;
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
                if let (Some(end), Some(time)) = (&mut *deadline, self.inner.plan.limits.overall())
                {
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

    /// Runs the plugin again, once per session, or reads the token file again. `age` is the age of the client whose
    /// credentials were rejected. Returns whether there is a newer one.
    async fn renew(&self, age: u32) -> Result<bool, Failure> {
        let inner = &self.inner;
        let has_plugin = inner.plan.has_plugin();
        if !has_plugin && inner.plan.target.user.token_file.is_empty() {
            return Ok(false);
        }
        let _one_at_a_time = inner.renewal.lock().await;
        let Clients {
            age: now,
            authorization,
            sent,
            ..
        } = self.clients();
        if now > age {
            return Ok(true);
        }
        if now > 0 && has_plugin {
            return Ok(false);
        }
        let begun = Instant::now();
        let fail = |fault| Failure {
            took: begun.elapsed(),
            ..self.failure(FailureKind::Credentials(fault), Method::Get, "")
        };
        let credentials = inner.plan.credentials().await.map_err(fail)?;
        let mut clients = match inner.plan.clients(credentials) {
            Ok(clients) => clients,
            // Without a file to read again, the refusal stands.
            Err(_) if !has_plugin => return Ok(false),
            Err(e) => {
                return Err(fail(PluginFault {
                    cause: e.message,
                    hint: e.hint,
                }));
            }
        };
        // The file has not changed.
        if !has_plugin && clients.authorization == authorization {
            return Ok(false);
        }
        clients.sent.extend(&sent);
        *inner
            .clients
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Clients {
            age: now + 1,
            ..clients
        };
        // The user may have had to type something.
        self.wait(begun.elapsed());
        let again = if has_plugin {
            "the plugin was run"
        } else {
            "the token file was read"
        };
        self.note(format!("credentials were refused; {again} again"));
        Ok(true)
    }

    /// Logs a request and its result, without headers or credentials in the server's address.
    fn note_request(&self, ask: &HttpRequest<'_>, ending: &str, took: Duration) {
        let host = self.inner.host.rsplit('@').next().unwrap_or_default();
        let base = self.inner.plan.server.path().trim_end_matches('/');
        let (method, scheme) = (ask.method.as_str(), self.inner.scheme());
        let path = self.struck_path(ask.path);
        let note = format!(
            "{method} {scheme}://{host}{base}{path} {ending} in {} ms",
            took.as_millis()
        );
        lock(&self.inner.notes).push((REQUESTS, note));
    }
}

/// A failed try, with the wait before the next one that the server asks for.
type FailedTry = (Failure, Option<Duration>);

/// One try of a request.
struct Try<'t> {
    session: &'t Session,
    ask: &'t HttpRequest<'t>,
    /// The secrets that are sent, and are removed from the server's texts.
    credential: &'t Secrets,
    begun: Instant,
    /// The end of the time limit for all requests.
    overall: Option<Instant>,
    /// The end of the time limit for this try, which is no later than `overall`.
    end: Option<Instant>,
}

impl<'t> Try<'t> {
    fn new(session: &'t Session, ask: &'t HttpRequest<'t>, credential: &'t Secrets) -> Self {
        let begun = Instant::now();
        let limit = session.inner.plan.limits.request;
        let overall = session.deadline();
        Self {
            session,
            ask,
            credential,
            begun,
            overall,
            end: limit
                .map(|limit| begun + limit)
                .into_iter()
                .chain(overall)
                .min(),
        }
    }

    /// Sends the request, and reads the answer.
    async fn run(&self, client: &kube::Client) -> Result<Response<Packed>, FailedTry> {
        let inner = &self.session.inner;
        let HttpRequest { method, path, .. } = *self.ask;
        if method != Method::Get && *inner.stopped.borrow() {
            return Err(self.fail(FailureKind::Interrupted));
        }
        let request = self
            .request()
            .ok_or_else(|| self.fail(FailureKind::Body("not a path to ask for".to_owned())))?;
        let unanswered = lock(&inner.unanswered)
            .get(api(path))
            .copied()
            .unwrap_or_default();
        if unanswered >= UNANSWERED {
            return Err(self.timed_out(WaitingFor::Unanswered(api(path).to_owned())));
        }
        inner.sent.fetch_add(1, Ordering::Relaxed);
        let exchange = self.exchange(client, request);
        let answered = match self.end {
            Some(end) => timeout_at(end, exchange)
                .await
                .map_err(|_| self.timed_out(WaitingFor::Answer))?,
            None => exchange.await,
        };
        let (parts, body) = match answered {
            Ok(answer) => answer,
            Err(FailureKind::Timeout {
                waiting: WaitingFor::Connection,
                ..
            }) if !resolves(&inner.host).await => {
                return Err(self.timed_out(WaitingFor::Name));
            }
            Err(FailureKind::Timeout { waiting, .. }) => return Err(self.timed_out(waiting)),
            Err(kind) => return Err(self.fail(kind)),
        };
        let ending = format!("{} ({} bytes)", parts.status, body.len());
        self.session
            .note_request(self.ask, &ending, self.begun.elapsed());
        if !(200..=206).contains(&parts.status.as_u16()) {
            return Err(self.unsuccessful(&parts, body));
        }
        if media_type(&parts.headers).eq_ignore_ascii_case("text/html") {
            return Err(self.fail(FailureKind::Page));
        }
        body.check()
            .map_err(|e| self.fail(FailureKind::Body(e.to_string())))?;
        let date = header_text(&parts.headers, header::DATE).and_then(|text| {
            jiff::fmt::rfc2822::DateTimeParser::new()
                .parse_timestamp(text)
                .ok()
        });
        Ok(Response {
            method,
            path: path.to_owned(),
            body,
            date,
        })
    }

    /// Returns the request; `None` if its path is not one.
    fn request(&self) -> Option<Request<kube::client::Body>> {
        let HttpRequest {
            method,
            path,
            accept,
            body,
            ..
        } = *self.ask;
        let mut builder = Request::builder()
            .method(method.as_str())
            .uri(path)
            .header(header::ACCEPT, accept);
        if !body.is_empty() {
            builder = builder.header(header::CONTENT_TYPE, JSON);
        }
        // A server would treat these segments as relative paths, and return another object.
        let mut segments = path.split('?').next().unwrap_or_default().split('/');
        let is_relative = segments.any(|segment| matches!(segment, "." | ".."));
        builder
            .body(kube::client::Body::from(body.to_vec()))
            .ok()
            .filter(|_| !is_relative)
    }

    async fn exchange(
        &self,
        client: &kube::Client,
        request: Request<kube::client::Body>,
    ) -> Result<(Parts, Packed), FailureKind> {
        let inner = &self.session.inner;
        let answer = client.send(request).await.map_err(|e| {
            let proxy = inner.plan.proxy.as_ref().map(ToString::to_string);
            classify(&e, &inner.host, proxy.as_deref())
        })?;
        let (parts, mut body) = answer.into_parts();
        self.session.keep_warnings(&parts.headers, self.credential);
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
        let packed = Packed::new(whole, held, &parts.headers, most);
        Ok((parts, packed))
    }

    /// Returns the failure in an answer without success.
    fn unsuccessful(&self, parts: &Parts, body: Packed) -> FailedTry {
        // A body that cannot be inflated, is too long, or is long and not UTF-8, counts as empty.
        let whole = |body: &[u8]| json::text(body).map(Cow::into_owned).unwrap_or_default();
        let text = body
            .unpack()
            .map(|body| body.read(whole))
            .unwrap_or_default();
        let status = ApiStatus {
            has_audit_id: parts.headers.contains_key("audit-id"),
            ..ApiStatus::read(
                parts.status.as_u16(),
                self.ask.method.as_str(),
                self.ask.path,
                media_type(&parts.headers),
                text.as_bytes(),
                self.credential,
            )
        };
        let (failure, _) = self.fail(status.into());
        let seconds =
            header_text(&parts.headers, header::RETRY_AFTER).and_then(|text| text.parse().ok());
        (failure, seconds.map(Duration::from_secs))
    }

    fn timed_out(&self, waiting: WaitingFor) -> FailedTry {
        let inner = &self.session.inner;
        let in_all = self.overall.is_some() && self.end == self.overall;
        let since = if in_all { inner.begun } else { self.begun };
        let passed = Duration::from_secs(since.elapsed().as_secs());
        let limit = inner.plan.limits.request.filter(|_| !in_all);
        self.fail(FailureKind::Timeout {
            after: limit.unwrap_or(passed),
            in_all,
            waiting,
        })
    }

    fn fail(&self, kind: FailureKind) -> FailedTry {
        let HttpRequest { method, path, .. } = *self.ask;
        (self.session.failure(kind, method, path), None)
    }
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

/// Returns the media type of a body, without its parameters; empty if absent.
fn media_type(headers: &HeaderMap) -> &str {
    let whole = header_text(headers, header::CONTENT_TYPE).unwrap_or_default();
    let (media, _) = whole.split_once(';').unwrap_or((whole, ""));
    media.trim()
}
