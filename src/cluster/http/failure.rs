//! The failures of requests: typed for callers, worded as kubectl words them for people and as client-go
//! words them for the controller's conditions. A failure must not carry headers or the user part of an
//! address. Follows `StandardErrorMessage` of kubectl's `cmd/util`.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::retry::{self, Unwaited};
use super::status::ApiStatus;
use super::tls::{TlsRemedy, explain};
use crate::apimachinery::go;
use crate::cluster::connect::exec::PluginFault;
use crate::cluster::connect::kubeconfig::words;
use crate::snapshot::command_flags::CommandFlags;

/// The time within which a resolver has to show that it answers.
const MOMENT: Duration = Duration::from_millis(200);

/// A failed request.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// `https` or `http`.
    pub scheme: Box<str>,
    /// The host and port of the request.
    pub host: String,
    /// The method of the request.
    pub method: Method,
    /// The path and query.
    pub path: String,
    /// The number of tries.
    pub tries: u32,
    /// The time that all tries took.
    pub took: Duration,
    /// The flags with which kubectl reaches the same server as the same user.
    pub command_flags: Arc<CommandFlags>,
    /// The reason why it was not sent again although the server asked for that.
    pub unwaited: Option<Unwaited>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Replaces an object.
    Put,
    /// Creates an object.
    Post,
}

impl Method {
    /// Returns the method's name in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kind of failure.
#[derive(Debug, Clone, PartialEq)]
pub enum FailureKind {
    /// The server answered, without success.
    Api(Box<ApiStatus>),
    /// Nothing listens there.
    Refused,
    /// The host name does not resolve; in the resolver's words.
    Dns(String),
    /// The server's certificate or its TLS is not acceptable; in the words of Go's library.
    Tls {
        /// The fault.
        cause: String,
        /// The remedy.
        remedy: Option<TlsRemedy>,
    },
    /// The proxy gives no access. It is named without its user.
    Proxy {
        /// The proxy and where it was configured.
        proxy: String,
        /// The fault.
        cause: ProxyFault,
    },
    /// There was no answer in time.
    Timeout {
        /// The time limit, or the elapsed time if the limit for all requests of the session was reached.
        after: Duration,
        /// Whether it was the limit for all requests.
        in_all: bool,
        /// The step for which the request was waiting.
        waiting: WaitingFor,
    },
    /// The connection broke.
    Lost(String),
    /// There are no credentials.
    Credentials(PluginFault),
    /// The answer cannot be parsed.
    Body(String),
    /// The answer is a page, such as one to sign in.
    Page,
    /// The request was not sent, because the user interrupted.
    Interrupted,
}

impl From<ApiStatus> for FailureKind {
    fn from(status: ApiStatus) -> Self {
        Self::Api(Box::new(status))
    }
}

const PAGE: &str = "it is a page in HTML, not an object";

/// The reason why a proxy gives no access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyFault {
    /// The HTTP proxy requires a user (407).
    Unauthorized,
    /// The SOCKS proxy requires a user, or does not accept the one in its address.
    NotLoggedIn,
    /// The certificate or the TLS of an `https://` proxy is not acceptable; in the words of Go's library.
    Tls {
        /// The fault.
        cause: String,
        /// The remedy if it were the server's.
        remedy: Option<TlsRemedy>,
    },
    /// The proxy cannot connect to the server.
    NoConnection,
    /// The proxy does not answer in time.
    Late,
    /// Another error, in the words of the library.
    Other(String),
}

impl ProxyFault {
    /// Reads the innermost error of a connection through a proxy.
    fn of(text: String, timed_out: bool) -> Self {
        match &*text {
            "tunnel error: proxy authorization required" => Self::Unauthorized,
            "tunnel error: unsuccessful" => Self::NoConnection,
            "SOCKS error: server does not support user/pass authentication"
            | "SOCKS error: server implements authentication incorrectly"
            | "SOCKS error: credentials not accepted" => Self::NotLoggedIn,
            _ if timed_out => Self::Late,
            _ => Self::Other(text),
        }
    }
}

/// The step for which a request was waiting when its time was up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingFor {
    /// The name server, to resolve the host.
    Name,
    /// A connection to the server.
    Connection,
    /// The server's answer.
    Answer,
    /// None: the request was not sent, because earlier requests under this path had no answer.
    Unanswered(String),
}

impl Failure {
    /// Returns the HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        self.api().map(|status| status.code)
    }

    /// Returns the answer, if there was one.
    pub fn api(&self) -> Option<&ApiStatus> {
        match &self.kind {
            FailureKind::Api(status) => Some(status),
            _ => None,
        }
    }

    /// Whether the API server says that the object does not exist: a 404 with a Status. A text may also mean that the
    /// server does not serve the path at the moment.
    pub fn is_gone(&self) -> bool {
        self.api()
            .is_some_and(|status| status.code == 404 && status.from_server)
    }

    /// Whether the API server does not find the object, or does not serve the path (404); a proxy may not know the path.
    pub fn is_not_found(&self) -> bool {
        self.api()
            .is_some_and(|status| status.code == 404 && !status.may_be_of_another())
    }

    /// Whether the answer is a 404, whoever gave it.
    pub(crate) fn is_404(&self) -> bool {
        self.status() == Some(404)
    }

    /// Whether access is forbidden (403).
    pub fn is_forbidden(&self) -> bool {
        self.status() == Some(403)
    }

    /// Whether an API server says that the user lacks the right for the request. The 403 of a gateway does not, nor does a
    /// refusal to impersonate the user, nor one of a request without credentials.
    pub fn lacks_right(&self) -> bool {
        self.api().is_some_and(|it| {
            let is_other = it.is_anonymous() || it.message.contains(" cannot impersonate");
            it.code == 403 && it.from_server && !is_other
        })
    }

    /// Whether the failure may concern only this program, its user or its connection, so that another client's request
    /// succeeds: unless the API itself has answered with an error for a reason other than turning the user away.
    pub fn is_own(&self) -> bool {
        self.api()
            .is_none_or(|it| it.may_be_of_another() || matches!(it.code, 401 | 403 | 408 | 429))
    }

    /// Whether a continue token is too old (410).
    pub fn is_expired(&self) -> bool {
        self.status() == Some(410)
    }

    /// Returns a failure for tests.
    #[cfg(test)]
    pub(crate) fn of(kind: impl Into<FailureKind>, path: &str) -> Self {
        Self {
            kind: kind.into(),
            scheme: Box::default(),
            host: "host".to_owned(),
            method: Method::Get,
            path: path.to_owned(),
            tries: 1,
            took: Duration::ZERO,
            command_flags: Arc::default(),
            unwaited: None,
        }
    }

    /// Returns the same failure for another path, as if it were that path's answer.
    pub(crate) fn of_path(self, path: String) -> Self {
        Self { path, ..self }
    }

    /// Returns ` (retried 3 times in 2s)` if the request was retried, and says whether the server throttles,
    /// and why it was not retried.
    pub(crate) fn patience(&self) -> String {
        let unwaited = match self.unwaited {
            None => String::new(),
            Some(Unwaited::Long(asked)) => {
                let asked = length(Duration::from_secs(asked.into()));
                format!(": the server asks to wait {asked}, which is too long")
            }
            Some(Unwaited::InAll) => {
                let waited = length(retry::IN_ALL);
                format!(": not retried, because this run would wait longer than {waited} in all")
            }
        };
        let Some(again @ 1..) = self.tries.checked_sub(1) else {
            return unwaited;
        };
        let took = Duration::from_secs_f64((self.took.as_secs_f64() * 10.0).round() / 10.0);
        let took = length(took);
        let throttles = if self.status() == Some(429) && unwaited.is_empty() {
            ": the server is throttling"
        } else {
            ""
        };
        let times = if again == 1 { "time" } else { "times" };
        format!("{unwaited}{throttles} (retried {again} {times} in {took})")
    }

    /// Returns the text of the error in client-go, which the controller puts into conditions.
    pub fn client_go(&self) -> String {
        match &self.kind {
            FailureKind::Api(_) | FailureKind::Body(_) | FailureKind::Page => self.cause(),
            _ => {
                let Self {
                    scheme, host, path, ..
                } = self;
                format!("Get \"{scheme}://{host}{path}\": {}", self.cause())
            }
        }
    }

    /// Returns the cause in a few words.
    pub(crate) fn cause(&self) -> String {
        match &self.kind {
            FailureKind::Api(status) => status.message.clone(),
            FailureKind::Refused => format!("dial tcp {}: connect: connection refused", self.host),
            FailureKind::Dns(cause) => {
                format!("cannot resolve host {}: {cause}", bare_host(&self.host))
            }
            FailureKind::Tls { cause, .. } => format!("tls: {cause}"),
            FailureKind::Proxy { proxy, cause } => {
                let cause = match cause {
                    ProxyFault::Unauthorized => "407 Proxy Authentication Required",
                    ProxyFault::NotLoggedIn => "authentication failed",
                    ProxyFault::NoConnection => {
                        return format!("proxy {proxy}: it refused a connection to {}", self.host);
                    }
                    ProxyFault::Late => "no answer in time",
                    ProxyFault::Tls { cause, .. } => {
                        return format!("proxy {proxy}: tls: {cause}");
                    }
                    ProxyFault::Other(cause) => cause,
                };
                format!("proxy {proxy}: {cause}")
            }
            FailureKind::Timeout {
                after,
                in_all,
                waiting,
            } => {
                let after = length(*after);
                let in_all = if *in_all { " in all" } else { "" };
                let host = &self.host;
                match waiting {
                    WaitingFor::Name => {
                        let name = bare_host(host);
                        format!("timed out after {after}{in_all} looking up {name} in DNS")
                    }
                    WaitingFor::Connection => {
                        format!("timed out after {after}{in_all} connecting to {host}")
                    }
                    WaitingFor::Answer => {
                        format!("timed out after {after}{in_all} waiting for {host} to answer")
                    }
                    WaitingFor::Unanswered(api) => format!(
                        "not requested: the last requests to {host}{api} timed out after {after}"
                    ),
                }
            }
            FailureKind::Lost(cause) | FailureKind::Body(cause) => cause.clone(),
            FailureKind::Page => PAGE.to_owned(),
            FailureKind::Credentials(fault) => format!("getting credentials: {}", fault.cause),
            FailureKind::Interrupted => "interrupted before it was sent".to_owned(),
        }
    }

    /// Returns an answer that another host may have given, with the start of its body, if it has text.
    pub(crate) fn of_another(&self, status: &ApiStatus) -> String {
        let line = status.line();
        let text = if line.is_empty() { "no text" } else { &line };
        format!("HTTP {} from {}: {text}", status.code, self.host)
    }

    /// Returns the remedy, if there is one.
    pub fn hint(&self) -> Option<String> {
        match &self.kind {
            FailureKind::Tls { remedy, .. } => remedy.map(|remedy| remedy.as_str().to_owned()),
            FailureKind::Credentials(fault) => fault.hint.clone(),
            FailureKind::Proxy { cause: ProxyFault::Unauthorized, .. } => Some(
                "its address can include credentials: http://USER:PASSWORD@HOST:PORT".to_owned(),
            ),
            FailureKind::Proxy { cause: ProxyFault::NotLoggedIn, .. } => Some(
                "check the credentials in its address, socks5://USER:PASSWORD@HOST:PORT; without them, it must not ask \
                 for any"
                    .to_owned(),
            ),
            FailureKind::Proxy { cause: ProxyFault::Tls { remedy: Some(remedy), .. }, .. } => {
                let hint = match remedy {
                    TlsRemedy::Authority => {
                        "as in kubectl, the cluster's certificate authority must have signed the proxy's certificate"
                    }
                    TlsRemedy::PlainHttp => "the proxy may use plain HTTP: use an http:// address",
                    TlsRemedy::Client => "the proxy did not accept the client's certificate, or needs one",
                    TlsRemedy::Renew => remedy.as_str(),
                    // The API server's certificate is verified by the same name.
                    TlsRemedy::ServerName | TlsRemedy::Sign => return None,
                };
                Some(hint.to_owned())
            }
            FailureKind::Timeout { in_all: true, .. } => Some(
                "the limit for all requests is the larger of 30s and --request-timeout".to_owned(),
            ),
            FailureKind::Page => Some(
                "check that the server's address is an API server's, and whether a proxy in front of it asks to \
                 sign in"
                    .to_owned(),
            ),
            FailureKind::Timeout { .. } => Some("increase --request-timeout".to_owned()),
            FailureKind::Api(status) if status.may_be_of_another() => {
                let sign = if status.has_no_sign() { " (no Audit-Id header)" } else { "" };
                Some(format!(
                    "a proxy or another host may have answered{sign}: check the server's address, proxy-url and \
                     HTTPS_PROXY"
                ))
            }
            FailureKind::Api(status) if status.reason == "Unauthorized" => {
                Some("check the credentials that are sent, or log in again".to_owned())
            }
            FailureKind::Api(status) if status.is_anonymous() => Some(
                "system:anonymous means that no credentials arrived, unless you impersonate it: check the user of the \
                 kubeconfig's context, and whether a proxy on the way ends TLS"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FailureKind::Api(status) if status.may_be_of_another() => {
                write!(f, "{}{}", self.of_another(status), self.patience())
            }
            FailureKind::Api(status) if status.reason == "Unauthorized" => {
                let message = &status.message;
                write!(f, "You must be logged in to the server ({message})")
            }
            FailureKind::Api(status) if status.reason.is_empty() => {
                write!(
                    f,
                    "Error from server: {}{}",
                    status.message,
                    self.patience()
                )
            }
            FailureKind::Api(status) => {
                let ApiStatus {
                    reason, message, ..
                } = status.as_ref();
                let patience = self.patience();
                write!(f, "Error from server ({reason}): {message}{patience}")
            }
            FailureKind::Refused => write!(
                f,
                "The connection to the server {} was refused - did you specify the right host or \
                 port?",
                self.host
            ),
            FailureKind::Interrupted => f.write_str(&self.cause()),
            FailureKind::Body(_) | FailureKind::Page => {
                let Self { method, path, .. } = self;
                write!(f, "invalid response for {method} {path}: {}", self.cause())
            }
            _ => {
                let (cause, patience) = (self.cause(), self.patience());
                write!(f, "Unable to connect to the server: {cause}{patience}")
            }
        }
    }
}

impl StdError for Failure {}

/// Returns a duration as Go prints it.
fn length(time: Duration) -> String {
    go::duration(time.try_into().unwrap_or_default())
}

/// Returns a host without its port.
fn bare_host(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether the resolver answers at all for a host name. If it is still silent after a connection timed out,
/// the connection was waiting for it.
pub(crate) async fn resolves(host: &str) -> bool {
    let name = bare_host(host).to_owned();
    if name.starts_with('[') || name.parse::<IpAddr>().is_ok() {
        return true;
    }
    let lookup = spawn_blocking(move || (name, 0).to_socket_addrs().map(drop));
    timeout(MOMENT, lookup).await.is_ok()
}

/// Finds the reason in an error of the client and the errors that it wraps. `proxy` is the proxy in use,
/// safe to print.
pub(crate) fn classify(
    e: &(dyn StdError + 'static),
    host: &str,
    proxy: Option<&str>,
) -> FailureKind {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(e);
    let mut io_kind = None;
    while let Some(e) = next {
        let mut inner = None;
        if let Some(e) = e.downcast_ref::<io::Error>() {
            io_kind = Some(e.kind());
            // An I/O error that wraps another returns its cause's cause as its source.
            inner = e.get_ref().map(|e| e as &(dyn StdError + 'static));
            if inner.is_none() {
                texts.push(words(e));
            }
        } else if let Some(e) = e.downcast_ref::<rustls::Error>() {
            let (cause, remedy) = explain(e, host);
            // A tunnel fails with an error of TLS only before it reaches the server.
            let is_of_tunnel = texts.iter().any(|text| text.starts_with("tunnel error: "));
            return match proxy.filter(|_| is_of_tunnel) {
                Some(proxy) => FailureKind::Proxy {
                    proxy: proxy.to_owned(),
                    cause: ProxyFault::Tls { cause, remedy },
                },
                None => FailureKind::Tls { cause, remedy },
            };
        } else {
            texts.push(e.to_string());
        }
        next = inner.or_else(|| e.source());
    }
    let last = texts.last().cloned().unwrap_or_default();
    let says = |part: &str| texts.iter().any(|text| text.contains(part));
    let timed_out = io_kind == Some(io::ErrorKind::TimedOut);
    // The connection was still being made.
    if io_kind == Some(io::ErrorKind::Interrupted) {
        return FailureKind::Interrupted;
    }
    if let Some(proxy) = proxy
        && says("(Connect)")
    {
        return FailureKind::Proxy {
            proxy: proxy.to_owned(),
            cause: ProxyFault::of(last, timed_out),
        };
    }
    if timed_out {
        // The caller knows how long it took.
        let waiting = if says("Connect") {
            WaitingFor::Connection
        } else {
            WaitingFor::Answer
        };
        return FailureKind::Timeout {
            after: Duration::ZERO,
            in_all: false,
            waiting,
        };
    }
    match io_kind {
        _ if says("dns error") => FailureKind::Dns(last),
        Some(io::ErrorKind::ConnectionRefused) => FailureKind::Refused,
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            FailureKind::Lost("connection reset by peer".to_owned())
        }
        Some(io::ErrorKind::UnexpectedEof) => FailureKind::Lost("EOF".to_owned()),
        _ if says("connection closed before message completed") => {
            FailureKind::Lost("EOF".to_owned())
        }
        _ => FailureKind::Lost(last),
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, FailureKind, ProxyFault, TlsRemedy};

    #[test]
    fn a_proxys_tls_has_remedies_of_its_own() {
        let hint = |remedy| {
            let kind = FailureKind::Proxy {
                proxy: "https://p:1".to_owned(),
                cause: ProxyFault::Tls {
                    cause: String::new(),
                    remedy,
                },
            };
            Failure::of(kind, "/").hint().unwrap_or_default()
        };
        for (remedy, part) in [
            (TlsRemedy::Authority, "the proxy's certificate"),
            (TlsRemedy::PlainHttp, "use an http:// address"),
            (TlsRemedy::Client, "the proxy did not accept"),
            (TlsRemedy::Renew, "renew the certificate"),
        ] {
            assert!(hint(Some(remedy)).contains(part), "{remedy:?}");
        }
        for remedy in [None, Some(TlsRemedy::ServerName), Some(TlsRemedy::Sign)] {
            assert_eq!(hint(remedy), "");
        }
    }
}
