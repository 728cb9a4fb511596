//! Queries Prometheus, or a server with the same API: through the API server's service proxy, with the
//! credentials of the session, or directly at the server's own address, by the same rules. Only `query` and
//! `query_range` are used. The answers are interpreted elsewhere.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::HeaderName;
use jiff::Timestamp;

use super::connect::environment::Environment;
use super::connect::kubeconfig::words;
use super::connect::prepare_elsewhere;
use super::http::Session;
use super::http::failure::{Failure, FailureKind, ProxyFault};
use super::http::retry::Patience;
use super::http::status::{ApiStatus, ResourcePath};
use super::http::tls::TlsRemedy;
use super::progress::Progress;
use crate::apimachinery::names::{segment, shell_word};
use crate::args::{ConnectionFlags, PrometheusServer};
use crate::error::Error;
use crate::prometheus::answer::{self, AnswerMemory, QueryAnswer, QueryFault};
use crate::prometheus::grid::Grid;
use crate::prometheus::load::Answered;
use crate::prometheus::queries::{Question, SLOW};
use crate::saved::file;
use crate::secret::Secret;
use crate::snapshot::load::LoadQuery;

/// The number of requests that are sent concurrently.
const AT_ONCE: usize = 4;

/// The number of characters of an error page that are shown.
const SHOWN: usize = 200;

/// The advice on a certificate of an unknown authority, of the server or of a proxy.
const AUTHORITY: &str = "--prometheus-ca names the certificate authority to trust";

/// Words in errors that call for a smaller query: too many samples, too long a query, or too long a time.
const TOO_MUCH: [&str; 6] = [
    "too many samples",
    "limit",
    "maxSamples",
    "maximum number",
    "mustn't exceed",
    "timed out",
];

/// A connection to a Prometheus.
#[derive(Debug)]
pub struct Prometheus {
    /// Its session, for messages about it.
    pub(crate) session: Session,
    /// The start of its paths; empty if it is reached without the API server.
    base: String,
    /// The server's name in messages, without credentials.
    pub(crate) name: String,
    /// The headers that are sent with each request.
    headers: Vec<HeaderName>,
    /// The flags to type for a smaller query.
    less: &'static str,
    /// The remaining memory for its answers.
    room: Arc<AnswerMemory>,
}

impl Prometheus {
    fn is_direct(&self) -> bool {
        self.base.is_empty()
    }

    /// Returns the result of a query at a time.
    ///
    /// # Errors
    ///
    /// The query has no answer.
    pub async fn at_once(&self, asked: &LoadQuery, time: Timestamp) -> Result<QueryAnswer, Error> {
        self.note(asked);
        let LoadQuery { of, query } = asked;
        let path = format!("query?query={}&time={}", segment(query), time.as_second());
        self.ask(of, &path).await
    }

    /// Returns the results of queries at a time, a few at once.
    ///
    /// # Errors
    ///
    /// One of the queries has no answer.
    pub async fn all_at_once(
        &self,
        queries: &[LoadQuery],
        time: Timestamp,
        progress: &Progress,
    ) -> Result<Vec<QueryAnswer>, Error> {
        progress.expect(queries.len());
        let asked = queries.iter().map(|query| async move {
            let answer = self.at_once(query, time).await?;
            progress.step();
            Ok::<_, Error>(answer)
        });
        stream::iter(asked).buffered(AT_ONCE).try_collect().await
    }

    /// Answers queries over time, a few at once.
    ///
    /// # Errors
    ///
    /// One of the queries has no answer.
    pub async fn answers(
        &self,
        questions: Vec<Question>,
        grid: Grid,
        progress: &Progress,
    ) -> Result<Vec<Answered>, Error> {
        let mut answered = Vec::with_capacity(questions.len());
        for question in questions {
            self.note(&question.asked);
            let grid = if question.is_slow() {
                grid.every(SLOW)
            } else {
                grid
            };
            answered.push(Answered {
                question,
                grid,
                answer: QueryAnswer::default(),
                failure: None,
            });
        }
        let mut requests = Vec::new();
        for (place, Answered { question, grid, .. }) in answered.iter().enumerate() {
            requests.extend(grid.requests().map(|piece| (place, question, piece)));
        }
        progress.expect(requests.len());
        let asked = requests.into_iter().map(async |(place, question, piece)| {
            let LoadQuery { of, query } = &question.asked;
            let Grid { start, step, .. } = piece;
            let query = segment(query);
            let path = format!(
                "query_range?query={query}&start={start}&end={}&step={step}",
                piece.end()
            );
            let answer = match self.ask(of, &path).await {
                Err(e) if question.is_optional() => Err(e.message),
                asked => Ok(asked?),
            };
            progress.step();
            Ok::<_, Error>((place, answer))
        });
        let asked = stream::iter(asked).buffered(AT_ONCE);
        let answers: Vec<_> = asked.try_collect().await?;
        let mut pieces: Vec<Vec<QueryAnswer>> = answered.iter().map(|_| Vec::new()).collect();
        for (place, answer) in answers {
            match answer {
                Ok(answer) => pieces[place].push(answer),
                Err(failure) => answered[place].failure = Some(failure),
            }
        }
        let joined = self
            .aside(|| Vec::from_iter(pieces.into_iter().map(QueryAnswer::joined)))
            .await?;
        for (own, answer) in answered.iter_mut().zip(joined) {
            own.answer = answer;
        }
        Ok(answered)
    }

    /// Runs work on the answers on another thread, within the time limit for all requests.
    ///
    /// # Errors
    ///
    /// The time was over before.
    pub async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.session.aside(work).await.map_err(|_| {
            let message = format!("the answers of {} took too long to read", self.name);
            Error::failed(message).hint(self.less)
        })
    }

    /// Logs a query.
    fn note(&self, LoadQuery { of, query }: &LoadQuery) {
        self.session.note(format!("PromQL for {of}: {query}"));
    }

    async fn ask(&self, of: &str, path: &str) -> Result<QueryAnswer, Error> {
        let path = format!("{}/api/v1/{path}", self.base);
        // Prometheus itself answers 503 to a query that took too long, and would do so again.
        let response = self
            .session
            .get_with(&path, Patience::Unless(|status| said(status).is_some()))
            .await
            .map_err(|failure| self.failed(of, &failure))?;
        let (room, session) = (Arc::clone(&self.room), self.session.clone());
        // The reader copies a text with escapes, and a body may consist of one.
        let held = response
            .body
            .hold_again()
            .map_err(|e| self.error(of, e).hint(self.less))?;
        let read = self.session.read(&response.body, move |body| {
            let _held = held;
            let mut answer = answer::read(body, &room)
                .map_err(|fault| (fault, body.trim_ascii_start().starts_with(b"<")))?;
            for warning in &mut answer.warnings {
                *warning = session.struck(std::mem::take(warning));
            }
            Ok(answer)
        });
        let answer = read.await.map_err(|e| self.error(of, e).hint(self.less))?;
        answer.map_err(|(fault, page)| match fault {
            QueryFault::Said { .. } => self.error(of, &fault),
            QueryFault::TooMuch => self.error(of, &fault).hint(self.less),
            QueryFault::Odd(cause) if page => self.page(of, &cause),
            QueryFault::Odd(cause) => self.odd(of, &cause),
        })
    }

    /// Returns the error for an answer of something else.
    fn odd(&self, of: &str, cause: &str) -> Error {
        self.error(of, format!("the answer is not one of Prometheus: {cause}"))
    }

    /// Returns the error for a web page.
    fn page(&self, of: &str, cause: &str) -> Error {
        self.odd(of, cause).hint(if self.is_direct() {
            "a page came instead: check the address, and whether one has to sign in"
        } else {
            "a page came instead: check the service, its port and its path"
        })
    }

    fn error(&self, of: &str, cause: impl std::fmt::Display) -> Error {
        let cause = self.session.struck(cause.to_string());
        Error::failed(format!("failed to query {} for {of}: {cause}", self.name))
    }

    /// Describes a failure in one line.
    fn failed(&self, of: &str, failure: &Failure) -> Error {
        match &failure.kind {
            FailureKind::Api(status) => self.refused(of, failure, status),
            FailureKind::Page => self.page(of, &failure.cause()),
            // In kubectl's words, as for every request to the API server.
            _ if !self.is_direct() => failure.clone().into(),
            FailureKind::Tls {
                remedy: Some(remedy),
                ..
            } => {
                let hint = match remedy {
                    TlsRemedy::PlainHttp => "the server does not speak TLS: use an http:// address",
                    TlsRemedy::ServerName => "use the host of the certificate in the address",
                    TlsRemedy::Authority => AUTHORITY,
                    remedy => remedy.as_str(),
                };
                self.error(of, failure.cause()).hint(hint)
            }
            FailureKind::Proxy {
                cause:
                    ProxyFault::Tls {
                        remedy: Some(TlsRemedy::Authority),
                        ..
                    },
                ..
            } => self.error(of, failure.cause()).hint(AUTHORITY),
            _ => {
                let e = self.error(of, failure.cause());
                match (failure.hint(), &failure.kind) {
                    (Some(hint), _) => e.hint(hint),
                    (None, FailureKind::Refused) => e.hint(
                        "nothing listens at the address: check the port; a service of the cluster is \
                         --prometheus NAMESPACE/SERVICE:PORT, or needs a kubectl port-forward",
                    ),
                    (None, _) => e,
                }
            }
        }
    }

    /// Describes an answer without success.
    fn refused(&self, of: &str, failure: &Failure, status: &ApiStatus) -> Error {
        if let Some(fault) = said(status) {
            let e = self.error(of, &fault);
            let says = |part: &&str| matches!(&fault, QueryFault::Said { text, .. } if text.contains(part));
            return if TOO_MUCH.iter().any(says) {
                e.hint(self.less)
            } else {
                e
            };
        }
        // At the server's own address, no API server answers.
        if status.from_server && !self.is_direct() {
            let e = Error::from(failure.clone());
            let lacks = status.code == 503 && status.message.contains("endpoints available");
            return match without_endpoints(failure) {
                Some(hint) if lacks && e.hint.is_none() => e.hint(hint),
                _ => e,
            };
        }
        let page = if status.from_server {
            &status.message
        } else {
            &status.body
        };
        let words: Vec<&str> = page.split_whitespace().collect();
        let shown: String = words.join(" ").chars().take(SHOWN).collect();
        let page_is_for_tls = shown.contains("HTTP request to an HTTPS server");
        let colon = if shown.is_empty() { "" } else { ": " };
        let code = status.code;
        let said = match code {
            300..=399 => ": it redirects, which is not followed".to_owned(),
            _ => format!("{colon}{shown}{}", failure.patience()),
        };
        let e = self.error(of, format!("HTTP {code}{said}"));
        let hint = match code {
            300..=399 if self.is_direct() => {
                "use the address that it leads to; one that leads to a page to sign in needs a token"
            }
            300..=399 | 404 if !self.is_direct() => {
                "a path can be given: --prometheus NAMESPACE/SERVICE:PORT/PATH"
            }
            401 | 403 if !self.is_direct() => {
                "only an address gets headers: --prometheus URL --prometheus-header NAME=@FILE"
            }
            401 | 403 if !self.headers.is_empty() => {
                let sent: Vec<&str> = self.headers.iter().map(HeaderName::as_str).collect();
                return e.hint(format!(
                    "check the file of --prometheus-header {} (a token, or Basic and the base64 of \
                     USER:PASSWORD); a tenant is another header, such as X-Scope-OrgID=@tenant",
                    sent.join(" and ")
                ));
            }
            401 | 403 => {
                "--prometheus-header NAME=@FILE sends the content of a file, such as \
                 Authorization=@token or X-Scope-OrgID=@tenant"
            }
            // The query is part of the URL.
            414 | 431 => self.less,
            404 => "the API is expected at /api/v1/query_range below the address",
            400 if !self.is_direct() && page_is_for_tls => {
                "a service that speaks TLS is NAMESPACE/https:SERVICE:PORT"
            }
            _ => return e,
        };
        e.hint(hint)
    }
}

/// Returns the remedy if the API server has no endpoint for a request to the proxy of a service.
fn without_endpoints(failure: &Failure) -> Option<String> {
    let ResourcePath {
        namespace, rest, ..
    } = ResourcePath::of(&failure.path)?;
    let parts: Vec<&str> = rest.get(1)?.split(':').collect();
    // [SCHEME:]NAME[:PORT]
    let (name, port) = match parts[..] {
        [name, port] | [_, name, port] => (name, port),
        _ => ("", ""),
    };
    if port.is_empty() {
        return Some(
            "name the port of the service: --prometheus NAMESPACE/SERVICE:PORT".to_owned(),
        );
    }
    let label = shell_word(&format!("kubernetes.io/service-name={name}"));
    let command = failure.command_flags.add_to(&format!(
        "kubectl get endpointslices -n {} -l {label}",
        shell_word(namespace?)
    ));
    Some(format!("no ready pod serves this port: see `{command}`"))
}

/// Returns Prometheus's own error message.
fn said(status: &ApiStatus) -> Option<QueryFault> {
    let fault = answer::read(status.body.as_bytes(), &AnswerMemory::default()).err()?;
    matches!(fault, QueryFault::Said { .. }).then_some(fault)
}

/// A server, and the flags that say how to reach it.
pub struct PrometheusAccess {
    /// The server.
    pub server: PrometheusServer,
    /// The headers that are sent with each request to an address.
    pub headers: Vec<(HeaderName, Secret)>,
    /// The file with the certificate authorities to trust at an address.
    pub authority: Option<String>,
    /// The flags for all connections.
    pub flags: ConnectionFlags,
}

impl PrometheusAccess {
    /// Returns the connection to the server: at its own address, or to a service of the cluster through the API
    /// server. `session` belongs to the cluster, if there is one; `less` names the flags for a smaller query, if the
    /// server finds one too large.
    ///
    /// # Errors
    ///
    /// The server cannot be reached this way, or the address, a header or the authorities are unusable.
    pub fn connect(
        &self,
        session: Option<&Session>,
        env: &Environment,
        less: &'static str,
    ) -> Result<Prometheus, Error> {
        let (session, base, name) = match &self.server {
            PrometheusServer::Url(url) => {
                let name = format!("Prometheus at {}", url.trim_end_matches('/'));
                (self.session_at(url, env)?, String::new(), name)
            }
            PrometheusServer::Service {
                namespace,
                service,
                path,
            } => {
                let place = format!("{namespace}/{service}");
                let Some(session) = session else {
                    return Err(Error::usage(format!(
                        "--prometheus {place}: with -f there is no cluster to reach a service of"
                    ))
                    .hint("give its address: --prometheus URL"));
                };
                let base = format!(
                    "/api/v1/namespaces/{}/services/{}/proxy{path}",
                    segment(namespace),
                    // In a path, a colon separates nothing.
                    segment(service).replace("%3A", ":")
                );
                let name = format!("Prometheus at the service {place}{path}");
                (session.clone(), base, name)
            }
        };
        // There may be hundreds of requests: none may take long, but all of them together may.
        session.read_many();
        session.allow(1);
        Ok(Prometheus {
            session,
            base,
            name,
            headers: self.headers.iter().map(|(name, _)| name.clone()).collect(),
            less,
            room: Arc::default(),
        })
    }

    /// Returns a session with a server at its own address.
    fn session_at(&self, url: &str, env: &Environment) -> Result<Session, Error> {
        let authority = self.authority.as_deref();
        if let Some(path) = authority {
            file::read_of_connection(path).map_err(|e| {
                let why = words(&e);
                Error::usage(format!("--prometheus-ca: failed to read {path}: {why}"))
            })?;
        }
        prepare_elsewhere(url, self.headers.clone(), authority, &self.flags, env)
            .map(Session::new)
            .map_err(|e| e.within("--prometheus"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, FailureKind, without_endpoints};

    #[test]
    fn a_service_without_endpoints_has_a_remedy() {
        let unnamed = "name the port of the service: --prometheus NAMESPACE/SERVICE:PORT";
        let unready = "no ready pod serves this port: see `kubectl get endpointslices -n shop -l \
                       kubernetes.io/service-name=prom`";
        for (service, want) in [
            ("prom", unnamed),
            ("https:prom:", unnamed),
            ("prom:9090", unready),
            ("https:prom:web", unready),
        ] {
            let path =
                format!("/api/v1/namespaces/shop/services/{service}/proxy/api/v1/query?query=a");
            let failure = Failure::of(FailureKind::Page, &path);
            assert_eq!(without_endpoints(&failure).as_deref(), Some(want));
        }
    }
}
