//! The content of a failed request, as the controller reads it: the Status object of the body, else
//! client-go's own message for the code. Nothing here sends or prints. Follows
//! `NewGenericServerResponse` of apimachinery and `newUnstructuredResponseError` of client-go.

use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::apimachinery::{go, json};
use crate::secret::Secrets;

/// An API server's answer without success.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ApiStatus {
    /// The HTTP status.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; empty if absent.
    pub reason: String,
    /// client-go's `Error()`, which the controller writes.
    pub message: String,
    /// Whether the body was a Status object. If not, the message is client-go's own.
    pub from_server: bool,
    /// The start of a body that is not a Status object.
    pub body: String,
    /// Whether that body is a web page, such as a load balancer's.
    pub html: bool,
    /// Whether the answer has the header `Audit-Id`, which an API server adds to each of its own.
    pub has_audit_id: bool,
}

/// The maximum length of a body that client-go quotes, its `maxUnstructuredResponseTextBytes`.
const LONGEST_QUOTED: usize = 2 << 10;

/// The number of characters of a body that are shown in a line.
const LONGEST_LINE: usize = 200;

/// The maximum length of a Status text that is kept: more than any condition of an object shows.
const LONGEST_TEXT: usize = 8 << 10;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: String,
    status: String,
    message: String,
    reason: String,
}

impl ApiStatus {
    /// Whether a proxy before the API server, or another host, may have answered in its place. An API server answers with
    /// a Status, or with text and its header, also if it passes on the text of a metrics API or cannot reach one.
    pub(crate) fn may_be_of_another(&self) -> bool {
        self.html || self.has_no_sign() || matches!(self.code, 300..=399 | 407)
    }

    /// Whether nothing in the answer is an API server's: neither a Status nor the header `Audit-Id`.
    pub(crate) fn has_no_sign(&self) -> bool {
        !self.from_server && !self.has_audit_id
    }

    /// Whether an API server refuses a request because it came without credentials.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.code == 403 && self.message.contains("User \"system:anonymous\" cannot ")
    }

    /// Returns the start of the body in one line.
    pub(crate) fn line(&self) -> String {
        one_line(&self.body).chars().take(LONGEST_LINE).collect()
    }

    /// Reads an answer of this media type to a request for `path`. The secrets that were `sent` are removed from a text
    /// before it is cut, because a cut could leave a part of a secret.
    pub(crate) fn read(
        code: u16,
        method: &str,
        path: &str,
        media: &str,
        body: &[u8],
        sent: &Secrets,
    ) -> Self {
        let status: Status = json::read(body).unwrap_or_default();
        if status.kind == "Status" && status.status == "Failure" {
            return Self {
                code,
                reason: kept(status.reason, sent),
                message: kept(status.message, sent),
                from_server: true,
                ..Self::default()
            };
        }
        let whole = sent.struck_from(String::from_utf8_lossy(body).into_owned());
        let text = whole.trim();
        let is_text = media.is_empty() || media.starts_with("text/");
        let server_message = if is_text {
            quotable(&whole)
        } else {
            b"unknown".into()
        };
        let (reason, message) = words(code, &server_message);
        Self {
            code,
            reason: reason.to_owned(),
            message: sent.struck_from(format!("{message}{}", asked(method, path))),
            body: cut(text.to_owned()),
            html: media == "text/html" || text.starts_with('<'),
            ..Self::default()
        }
    }
}

/// Returns a text from outside in one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.chars().filter(|letter| !letter.is_control()).collect()
}

/// Returns the part of a server's text that is kept: first the secrets that were sent are removed, and then
/// it is cut to a limit, because a cut could leave a part of a secret.
fn kept(text: String, sent: &Secrets) -> String {
    cut(sent.struck_from(text))
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(json::boundary(&text, LONGEST_TEXT));
        text.push_str(" ...");
    }
    text
}

/// Returns the part of a text that client-go quotes. The end of its last character may be missing.
fn quotable(text: &str) -> Vec<u8> {
    let end = json::boundary(text, LONGEST_QUOTED);
    let (start, character) = (
        &text[..end],
        &text.as_bytes()[end..LONGEST_QUOTED.min(text.len())],
    );
    if character.is_empty() {
        return start.trim().into();
    }
    [start.trim_start().as_bytes(), character].concat()
}

/// Returns client-go's reason and message for a code.
fn words(code: u16, server_message: &[u8]) -> (&'static str, String) {
    let text = String::from_utf8_lossy(server_message);
    let (reason, message) = match code {
        409 => ("Conflict", "the server reported a conflict"),
        404 => (
            "NotFound",
            "the server could not find the requested resource",
        ),
        400 => (
            "BadRequest",
            "the server rejected our request for an unknown reason",
        ),
        401 => (
            "Unauthorized",
            "the server has asked for the client to provide credentials",
        ),
        403 => ("Forbidden", &*text),
        406 if matches!(&*text, "" | "unknown") => (
            "NotAcceptable",
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => ("NotAcceptable", &*text),
        413 => ("RequestEntityTooLarge", &*text),
        415 => ("UnsupportedMediaType", &*text),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        422 => (
            "Invalid",
            "the server rejected our request due to an error in our request",
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be \
             processing the request",
        ),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        500.. => {
            let quoted = go::quote_bytes(server_message);
            let message = format!(
                "an error on the server ({quoted}) has prevented the request from succeeding"
            );
            return ("InternalError", message);
        }
        _ => {
            let message = format!(
                "the server responded with the status code {code} but did not return more \
                 information"
            );
            return ("", message);
        }
    };
    (reason, message.to_owned())
}

/// The path of a resource, as `RequestInfoFactory` of apiserver takes it apart.
pub(in crate::cluster) struct ResourcePath<'p> {
    /// The API group; empty for the core group.
    pub(in crate::cluster) group: &'p str,
    pub(in crate::cluster) version: &'p str,
    pub(in crate::cluster) namespace: Option<&'p str>,
    /// The resource, and its name and subresource, if there are any.
    pub(in crate::cluster) rest: Vec<&'p str>,
}

impl<'p> ResourcePath<'p> {
    /// Takes a path with its query apart; `None` if it is not below `/api/VERSION` or `/apis/GROUP/VERSION`.
    pub(in crate::cluster) fn of(path: &'p str) -> Option<Self> {
        let bare = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = bare.split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        Some(Self {
            group,
            version,
            namespace,
            rest: rest.to_vec(),
        })
    }
}

/// Returns ` (get pods.metrics.k8s.io)`, ` (get services.custom.metrics.k8s.io web)`; nothing for paths
/// without a resource, which client-go requests as they are.
fn asked(method: &str, path: &str) -> String {
    let Some(ResourcePath { group, rest, .. }) = ResourcePath::of(path) else {
        return String::new();
    };
    let mut parts = rest
        .iter()
        .map(|part| percent_decode_str(part).decode_utf8_lossy());
    let Some(resource) = parts.next() else {
        return String::new();
    };
    let name = parts.next().map(|name| format!(" {name}"));
    let dot = if group.is_empty() { "" } else { "." };
    let verb = method.to_lowercase();
    format!(
        " ({verb} {resource}{dot}{group}{})",
        name.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::{ApiStatus, LONGEST_TEXT, kept};
    use crate::secret::{Secret, Secrets};

    #[test]
    fn a_cut_leaves_no_part_of_a_secret() {
        let mut sent = Secrets::default();
        sent.push(Secret::new("hunter2hunter2!"));
        for length in 0..20 {
            let text = format!("{}{}", "x".repeat(length), "hunter2hunter2! ".repeat(3_000));
            assert!(!kept(text, &sent).contains("hun"), "{length}");
            let text = format!("{}hunter2hunter2!", "x".repeat(LONGEST_TEXT - length));
            assert!(!kept(text, &sent).contains("hun"), "{length}");
        }
    }

    #[test]
    fn a_long_body_is_cut_as_by_client_go() {
        let mut sent = Secrets::default();
        sent.push(Secret::new("hunter2"));
        let path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";
        let end = ") has prevented the request from succeeding (get pods.metrics.k8s.io)";
        for (length, after, want) in [
            (2040, "12345678, and more", "12345678\""),
            (2040, "1234567 , and more", "1234567\""),
            // The first byte of two.
            (2047, "é, and more", "x\\xc3\""),
            // What is struck is not cut.
            (2043, "hunter2, and more", "x***,\""),
            (2043, "hunter2hunter2", "x***\""),
        ] {
            let body = format!("{}{after}", "x".repeat(length));
            let status = ApiStatus::read(502, "GET", path, "text/plain", body.as_bytes(), &sent);
            let message = status.message;
            assert!(message.ends_with(&format!("{want}{end}")), "{message}");
            assert!(!status.body.contains("hun"));
        }
    }

    /// Escaped, they are four times as long.
    #[test]
    fn a_body_of_control_characters_ends_as_by_client_go() {
        let body = [1; 3_000];
        let status = ApiStatus::read(502, "GET", "/x", "text/plain", &body, &Secrets::default());
        let end = "\\x01\") has prevented the request from succeeding";
        assert!(status.message.ends_with(end), "{}", status.message);
    }

    #[test]
    fn the_words_are_client_gos() {
        for (code, path, kind, body, want) in [
            (
                404,
                "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dnginx",
                "text/plain; charset=utf-8",
                "404 page not found\n",
                "NotFound: the server could not find the requested resource (get \
                 pods.metrics.k8s.io)",
            ),
            (
                503,
                "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/%2A/http_requests",
                "text/plain",
                "error trying to reach service",
                "ServiceUnavailable: the server is currently unable to handle the request (get \
                 pods.custom.metrics.k8s.io *)",
            ),
            (
                500,
                "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_depth",
                "text/plain",
                "a \"b\"",
                "InternalError: an error on the server (\"a \\\"b\\\"\") has prevented the request \
                 from succeeding (get queue_depth.external.metrics.k8s.io)",
            ),
            (
                502,
                "/api/v1/namespaces/default/pods",
                "application/json",
                "{}",
                "InternalError: an error on the server (\"unknown\") has prevented the request from \
                 succeeding (get pods)",
            ),
            (
                404,
                "/apis/argoproj.io/v1alpha1",
                "text/plain",
                "404 page not found",
                "NotFound: the server could not find the requested resource",
            ),
            (
                418,
                "/api/v1/nodes/n1",
                "text/plain",
                "",
                ": the server responded with the status code 418 but did not return more \
                 information (get nodes n1)",
            ),
            (
                503,
                "/apis/metrics.k8s.io/v1beta1/pods",
                "application/json",
                r#"{"kind":"Status","status":"Failure","message":"m","reason":"R","code":503}"#,
                "R: m",
            ),
            (
                500,
                "/x",
                "application/json",
                r#"{"kind":"Status","status":"Success","message":"m"}"#,
                "InternalError: an error on the server (\"unknown\") has prevented the request from \
                 succeeding",
            ),
        ] {
            let sent = Secrets::default();
            let status = ApiStatus::read(code, "GET", path, kind, body.as_bytes(), &sent);
            assert_eq!(format!("{}: {}", status.reason, status.message), want);
        }
    }

    #[test]
    fn pages_for_people_are_told_apart() {
        let read = |kind: &str, body: &[u8]| {
            ApiStatus::read(502, "GET", "/api", kind, body, &Secrets::default())
        };
        let page = read("text/html", b"<html>Bad gateway</html>");
        assert!(page.html && !page.from_server);
        assert!(!read("text/plain", b"Bad gateway").html);
    }
}
