//! URLs as Go's `net/url` reads them, for the scalers that take a name from one.

use core::net::Ipv6Addr;

use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};

use crate::apimachinery::names::UNRESERVED;

/// The characters that Go does not escape in a path.
const PATH: AsciiSet = UNRESERVED
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// The path of a URL, `url.ParseRequestURI`.
pub(super) struct UrlPath<'u> {
    /// `Path`: without escapes.
    pub(super) decoded: String,
    /// `RawPath`: as written; `None` if Go would escape `decoded` to the same text.
    pub(super) raw: Option<&'u str>,
}

impl<'u> UrlPath<'u> {
    /// Returns the path of a URL with a scheme, or of a path alone; `None` for a text that is not a URL.
    pub(super) fn of(text: &'u str) -> Option<Self> {
        if text.is_empty() || text.contains(|c: char| c.is_ascii_control()) {
            return None;
        }
        if text == "*" {
            return Some(Self {
                decoded: text.to_owned(),
                raw: None,
            });
        }
        let (scheme, with_query) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            _ => ("", text),
        };
        let rest = with_query.split('?').next().unwrap_or_default();
        let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                if !is_authority(scheme, authority) {
                    return None;
                }
                path
            }
            None if rest.starts_with('/') => rest,
            // The part after a scheme without a slash is opaque.
            None if !scheme.is_empty() => "",
            None => return None,
        };
        let decoded = decoded(path)?;
        let is_default = utf8_percent_encode(&decoded, &PATH).to_string() == path;
        Some(Self {
            decoded,
            raw: (!is_default).then_some(path),
        })
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Whether `parseAuthority` accepts the part before the path.
fn is_authority(scheme: &str, text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let is_of_user = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    let is_of_host = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"".contains(c)
    };
    let is_host = match host
        .strip_prefix('[')
        .and_then(|rest| rest.rsplit_once(']'))
    {
        Some((address, port)) => address.parse::<Ipv6Addr>().is_ok() && is_port(port),
        None => {
            let is_web = matches!(scheme, "http" | "https");
            let colon = if is_web {
                host.find(':')
            } else {
                host.rfind(':')
            };
            !host.contains('[') && is_port(&host[colon.unwrap_or(host.len())..])
        }
    };
    is_host
        && host.chars().all(is_of_host)
        && user.chars().all(is_of_user)
        && decoded(user).is_some()
}

/// Whether a text is empty, or a colon with any digits after it.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|c| c.is_ascii_digit()))
}

/// Returns a text without its escapes; `None` if one is not two hexadecimal digits.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    parts.next();
    let is_escape =
        |part: &str| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit);
    parts
        .all(is_escape)
        .then(|| percent_decode_str(text).decode_utf8_lossy().into_owned())
}

/// Returns the value of the first of these parameters, as `url.ParseQuery` reads it; `None` if the query cannot be
/// parsed, or if one of them is absent or empty.
pub(super) fn first_parameter(query: &str, names: &[&str]) -> Option<String> {
    let mut values = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        if pair.contains(';') {
            return None;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        values.push((
            decoded(&name.replace('+', " "))?,
            decoded(&value.replace('+', " "))?,
        ));
    }
    let stated = names.iter().map(|name| {
        let (_, value) = values.iter().find(|(own, _)| own == name)?;
        Some(value.clone()).filter(|value| !value.is_empty())
    });
    stated.collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// `url.QueryEscape`.
pub(super) fn query_escaped(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED)
        .to_string()
        .replace("%20", "+")
}
