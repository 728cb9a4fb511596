//! The subset of HTTP/1.1 that an API server needs: requests with a head and a body with at most a
//! `Content-Length`, answers with a length or in chunks, keep-alive, gzip. It knows nothing about Kubernetes.

use std::io::{self, Read, Write};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use percent_encoding::percent_decode_str;

/// The largest head and the largest body that are read.
const LIMIT: usize = 1 << 20;

/// Bodies of at most this size are sent with their length, larger ones in chunks: the buffer size of
/// Go's server.
const UNCHUNKED: usize = 2048;

/// The API server compresses from this size on (`defaultGzipThresholdBytes`).
const GZIP_FROM: usize = 128 * 1024;

/// A request as read from a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    /// The method.
    pub(crate) method: String,
    /// The path, percent-decoded, without the query.
    pub(crate) path: String,
    /// The parameters of the query, decoded, in their order.
    pub(crate) query: Vec<(String, String)>,
    /// The headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The first header called `name`, which is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The first parameter of the query called `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.query, name)
    }
}

/// Returns the value of the first `name`.
pub(crate) fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str())
}

/// An answer to send.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// Headers, except the ones about length and connection.
    pub(crate) headers: Vec<(String, String)>,
    /// The body before compression.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// An answer with a body of that type.
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".into(), content_type.into())],
            body: body.into(),
        }
    }

    /// JSON; the real server ends it with a newline.
    pub(crate) fn json(status: u16, mut body: String) -> Self {
        body.push('\n');
        Self::new(status, "application/json", body)
    }

    /// Plain text, as Go's `http.Error` writes it except for the newline.
    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", body)
    }

    /// Adds one header.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// How much of an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// Nothing at all.
    Nothing,
    /// The head.
    Head,
    /// The head and half of the body.
    HalfTheBody,
}

/// Reads the next request. `None` means that the connection has ended or should end: the peer closed
/// it between requests, or `stop` became true.
///
/// # Errors
///
/// The connection's, and `InvalidData` if it is not a request.
pub(crate) fn read_request(
    stream: &mut dyn Read,
    buffer: &mut Vec<u8>,
    stop: &dyn Fn() -> bool,
) -> io::Result<Option<Request>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
        if !fill(stream, buffer, stop)? {
            return Ok(None);
        }
    };
    let head: Vec<u8> = buffer.drain(..end).collect();
    let mut request = parse_head(&head).ok_or(io::ErrorKind::InvalidData)?;
    let length = request.header("content-length").unwrap_or("0");
    let length: usize = length.parse().map_err(|_| io::ErrorKind::InvalidData)?;
    if length > LIMIT || request.header("transfer-encoding").is_some() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    while buffer.len() < length {
        if !fill(stream, buffer, stop)? {
            return Ok(None);
        }
    }
    request.body = buffer.drain(..length).collect();
    Ok(Some(request))
}

/// Reads once more, however long that takes. Returns false at the end.
fn fill(stream: &mut dyn Read, buffer: &mut Vec<u8>, stop: &dyn Fn() -> bool) -> io::Result<bool> {
    let mut bytes = [0; 8192];
    loop {
        if stop() || buffer.len() > LIMIT {
            return Ok(false);
        }
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(false),
            Ok(read) => {
                buffer.extend_from_slice(&bytes[..read]);
                return Ok(true);
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Whether a read has merely found nothing yet.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn parse_head(head: &[u8]) -> Option<Request> {
    let mut lines = std::str::from_utf8(head).ok()?.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    if version != "HTTP/1.1" {
        return None;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect::<Option<_>>()?;
    let query = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text: &str| percent_decoded(&text.replace('+', " "));
            (decode(name), decode(value))
        });
    Some(Request {
        method: method.to_owned(),
        path: percent_decoded(path),
        query: query.collect(),
        headers,
        body: Vec::new(),
    })
}

/// Decodes `%XX`; invalid escapes stay as they are.
fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Sends an answer, or the part that `extent` allows, and waits for `pause` between head and body.
///
/// # Errors
///
/// The connection's.
pub(crate) fn write_answer(
    stream: &mut dyn Write,
    request: &Request,
    answer: &Answer,
    extent: Extent,
    pause: &dyn Fn(),
) -> io::Result<()> {
    if extent == Extent::Nothing {
        return Ok(());
    }
    let accepts = request.header("accept-encoding").unwrap_or_default();
    let gzip = answer.body.len() >= GZIP_FROM && accepts.contains("gzip");
    let body = if gzip {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(1));
        encoder.write_all(&answer.body)?;
        &encoder.finish()?
    } else {
        &answer.body
    };
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if gzip {
        head.push_str("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
    }
    let chunked = body.len() > UNCHUNKED;
    if chunked {
        head.push_str("Transfer-Encoding: chunked\r\n\r\n");
    } else {
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    }
    stream.write_all(head.as_bytes())?;
    pause();
    let sent = match extent {
        Extent::Head | Extent::Nothing => 0,
        Extent::HalfTheBody => body.len() / 2,
        Extent::Whole => body.len(),
    };
    if chunked {
        for chunk in body[..sent].chunks(64 * 1024) {
            stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
            stream.write_all(chunk)?;
            stream.write_all(b"\r\n")?;
        }
        if extent == Extent::Whole {
            stream.write_all(b"0\r\n\r\n")?;
        }
    } else {
        stream.write_all(&body[..sent])?;
    }
    stream.flush()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        410 => "Gone",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

/// How long a read waits before it checks whether the server should stop.
pub(crate) const POLL: Duration = Duration::from_millis(50);
