//! A blocking HTTP client that trusts nothing: it shows what the test server really sends. It is
//! not a model of a good client; it reads only what its requests need and gives up after a while.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use flate2::read::GzDecoder;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use super::authorize::token;
use super::kubeconfig::Auth;
use super::server::Server;
use super::tls::provider;

/// How long a read may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a server, kept for as many requests as the server allows.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    headers: Vec<(String, String)>,
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// An answer as received.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    /// The status code.
    pub(crate) status: u16,
    /// The headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body, without chunks and compression.
    pub(crate) body: Vec<u8>,
    /// The size of the body as sent.
    pub(crate) sent: usize,
}

impl Response {
    /// The header called `name`, which is in lower case; "" if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        super::http::find(&self.headers, name).unwrap_or_default()
    }

    /// Returns the body's JSON, or its text as a string if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| Value::from(self.text()))
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    /// Connects. An exec plugin is not run.
    ///
    /// # Errors
    ///
    /// The connection's; with TLS, those of its handshake come with the first request.
    pub(crate) fn connect(server: &Server, auth: &Auth<'_>) -> io::Result<Self> {
        let tcp = TcpStream::connect(server.address())?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        tcp.set_write_timeout(Some(PATIENCE))?;
        let token = match auth {
            Auth::Token(user) => Some(token(user)),
            Auth::BadToken => Some("unknown".to_owned()),
            _ => None,
        };
        let authorization = token.map(|it| ("Authorization".to_owned(), format!("Bearer {it}")));
        let headers = Vec::from_iter(authorization);
        if server.url().starts_with("http:") {
            let stream = Box::new(tcp);
            return Ok(Self { stream, headers });
        }
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(server.authority().as_bytes());
        roots
            .add(authority.map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots);
        let config = match server.identity(auth) {
            Some(identity) => {
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
                let chain = vec![CertificateDer::from(identity.der)];
                config
                    .with_client_auth_cert(chain, key.map_err(io::Error::other)?)
                    .map_err(io::Error::other)?
            }
            None => config.with_no_client_auth(),
        };
        let name = "127.0.0.1".try_into().map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let stream = Box::new(StreamOwned::new(connection, tcp));
        Ok(Self { stream, headers })
    }

    /// Sends a header with all further requests.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Requests a path, given with its query in encoded form.
    ///
    /// # Errors
    ///
    /// The connection's, `TimedOut` or `WouldBlock` after a while, and `UnexpectedEof` for an incomplete
    /// answer.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Response> {
        self.send("GET", path, None)
    }

    /// Sends any request, with a body of JSON if there is one.
    ///
    /// # Errors
    ///
    /// The same as for [`get`](Self::get).
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> io::Result<Response> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        if !body.is_empty() {
            head.push_str("Content-Type: application/json\r\n");
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.stream.write_all((head + &body).as_bytes())?;
        self.stream.flush()?;
        self.read()
    }

    fn read(&mut self) -> io::Result<Response> {
        let mut line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let mut headers = Vec::new();
        loop {
            line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let header = |name: &str| super::http::find(&headers, name);
        let mut body = Vec::new();
        if let Some(length) = header("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            body = self.bytes(length)?;
        } else {
            loop {
                let length = usize::from_str_radix(&self.line()?, 16).map_err(io::Error::other)?;
                body.extend(self.bytes(length)?);
                self.line()?;
                if length == 0 {
                    break;
                }
            }
        }
        let sent = body.len();
        if header("content-encoding") == Some("gzip") {
            let mut decoded = Vec::new();
            GzDecoder::new(body.as_slice()).read_to_end(&mut decoded)?;
            body = decoded;
        }
        Ok(Response {
            status,
            headers,
            body,
            sent,
        })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.extend(self.bytes(1)?);
        }
        line.truncate(line.len() - 2);
        String::from_utf8(line).map_err(io::Error::other)
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
