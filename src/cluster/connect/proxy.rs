//! The proxy to the API server: kubeconfig's `proxy-url` unchanged, or else the environment's proxy for
//! this address. The user of a proxy must not be shown. Follows `golang.org/x/net/http/httpproxy` and
//! `parseProxyURL` of client-go's `clientcmd`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use http::Uri;

use super::environment::Environment;
use crate::secret::Secret;

/// A proxy and where it was configured.
#[derive(Clone, PartialEq)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    /// `proxy-url` or the variable's name.
    pub(crate) named_by: String,
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (from {})", without_user(&self.uri), self.named_by)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns an address without user and password.
pub(crate) fn without_user(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let host = uri.host().unwrap_or_default();
    match uri.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

/// Returns the proxy for a server. Adds meaningless entries of `NO_PROXY` to `notes`.
pub(crate) fn choose(
    server: &Uri,
    proxy_url: &Secret,
    env: &Environment,
    notes: &mut Vec<String>,
) -> Result<Option<Proxy>, String> {
    if !proxy_url.is_empty() {
        let uri = from_kubeconfig(proxy_url.expose())?;
        return Ok(Some(Proxy {
            uri,
            named_by: "proxy-url".to_owned(),
        }));
    }
    let tls = server.scheme_str() == Some("https");
    let name = if tls { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let Some((name, value)) = either_case(env, name) else {
        return Ok(None);
    };
    let default_port = if tls { 443 } else { 80 };
    let port = server.port_u16().unwrap_or(default_port);
    let host = server.host().unwrap_or_default();
    let excluded = either_case(env, "NO_PROXY").map_or("", |(_, value)| value);
    if !goes_through(host, port, excluded, notes) {
        return Ok(None);
    }
    let uri = from_variable(value).ok_or_else(|| format!("invalid proxy address in {name}"))?;
    if let Some(message) = no_such_port(&uri, &format!("the proxy in {name}")) {
        return Err(message);
    }
    Ok(Some(Proxy {
        uri,
        named_by: name,
    }))
}

/// Returns the variable in upper case, or else in lower case.
fn either_case<'a>(env: &'a Environment, name: &str) -> Option<(String, &'a str)> {
    [name.to_owned(), name.to_lowercase()]
        .into_iter()
        .find_map(|name| env.variable(&name).map(|value| (name.clone(), value)))
}

fn from_kubeconfig(text: &str) -> Result<Uri, String> {
    let uri = parse(text).ok_or("invalid 'proxy-url': could not parse")?;
    if let Some(message) = no_such_port(&uri, "the proxy") {
        return Err(format!("invalid 'proxy-url': {message}"));
    }
    match uri.scheme_str() {
        Some("http" | "https" | "socks5") => Ok(uri),
        _ => Err(
            "invalid 'proxy-url': unsupported scheme, must be http, https, or socks5".to_owned(),
        ),
    }
}

/// Reads an address; its default scheme is http.
fn from_variable(text: &str) -> Option<Uri> {
    let has_scheme = text.contains("://");
    let text = match text.strip_prefix("socks5h://") {
        // The client always lets the proxy resolve names.
        Some(rest) => format!("socks5://{rest}"),
        None if has_scheme => text.to_owned(),
        None => format!("http://{text}"),
    };
    parse(&text).filter(|uri| matches!(uri.scheme_str(), Some("http" | "https" | "socks5")))
}

fn parse(text: &str) -> Option<Uri> {
    let uri: Uri = text.trim_end_matches('/').parse().ok()?;
    let usable = uri.scheme().is_some() && uri.host().is_some_and(|host| !host.is_empty());
    usable.then_some(uri)
}

/// Returns the fault in the port of an address, if any; `Uri` behaves as if there were no port.
pub(crate) fn no_such_port(uri: &Uri, of: &str) -> Option<String> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    // An IPv6 address contains colons.
    let place = authority.rsplit(['@', ']']).next().unwrap_or_default();
    let port = place.split_once(':').map_or("", |(_, port)| port);
    if port.is_empty() || port.parse::<u16>().is_ok() {
        return None;
    }
    // Any other text may be part of credentials.
    let digits = port.strip_prefix('-').unwrap_or(port);
    let is_number = port.len() <= 10 && digits.bytes().all(|c| c.is_ascii_digit());
    let shown = if is_number {
        format!(" {port}")
    } else {
        String::new()
    };
    Some(format!(
        "the port{shown} of {of} is not one from 0 to 65535"
    ))
}

/// Whether a server is on this machine.
pub(crate) fn is_loopback(server: &Uri) -> bool {
    server.host().is_some_and(leads_back)
}

fn leads_back(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']).to_lowercase();
    let address = bare.parse::<IpAddr>();
    bare == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Whether the environment's proxy applies to this host, according to `NO_PROXY`.
fn goes_through(host: &str, port: u16, excluded: &str, notes: &mut Vec<String>) -> bool {
    if leads_back(host) {
        return false;
    }
    let bare = host.trim_matches(['[', ']']).to_lowercase();
    let address: Option<IpAddr> = bare.parse().ok();
    let entries = excluded.split(',').map(|entry| entry.trim().to_lowercase());
    for entry in entries.filter(|entry| !entry.is_empty()) {
        let nameless = entry.starts_with(':') && !entry.starts_with("::");
        if entry.contains(char::is_whitespace) || nameless {
            notes.push(format!("NO_PROXY: the entry {entry:?} is ignored"));
            continue;
        }
        if entry == "*" || excludes(&entry, &bare, address, port) {
            return false;
        }
    }
    true
}

fn excludes(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if let Some((network, bits)) = entry.split_once('/')
        && let (Ok(network), Ok(bits)) = (network.parse(), bits.parse())
    {
        return address.is_some_and(|address| in_network(address, network, bits));
    }
    let (name, entry_port) = split_port(entry);
    let port_fits = entry_port.is_none_or(|wanted| wanted == port.to_string());
    if let Ok(excluded) = name.parse::<IpAddr>() {
        let same = address.is_some_and(|own| own.to_canonical() == excluded.to_canonical());
        return same && port_fits;
    }
    let domain = name
        .strip_prefix('*')
        .filter(|rest| rest.starts_with('.'))
        .unwrap_or(name);
    let fits = match domain.strip_prefix('.') {
        // With a leading dot, only subdomains match.
        Some(_) => host.ends_with(domain),
        None => host == domain || host.ends_with(&format!(".{domain}")),
    };
    !domain.is_empty() && address.is_none() && fits && port_fits
}

/// `host:port`, `[v6]:port`, or neither; a bare IPv6 address has no port.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    let bare = |name: &str| name.parse::<Ipv6Addr>().is_ok();
    match entry.rsplit_once(':') {
        Some((name, port)) if !bare(entry) => (name.trim_matches(['[', ']']), Some(port)),
        _ => (entry.trim_matches(['[', ']']), None),
    }
}

fn in_network(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (own, other, width) = match (address.to_canonical(), network) {
        (IpAddr::V4(own), IpAddr::V4(other)) => (
            u128::from(own.to_bits()),
            u128::from(other.to_bits()),
            u32::BITS,
        ),
        (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), u128::BITS),
        _ => return false,
    };
    // A shift by all bits leaves nothing to compare.
    width
        .checked_sub(bits)
        .is_some_and(|rest| own.checked_shr(rest) == other.checked_shr(rest))
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::{choose, from_variable, goes_through};
    use crate::cluster::connect::environment::Environment;
    use crate::secret::Secret;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment {
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Environment::default()
        }
    }

    /// Cases of Go's httpproxy tests and of kubectl users.
    #[test]
    fn exclusions() {
        for (host, port, excluded, through) in [
            ("localhost", 80, "", false),
            ("127.0.0.1", 6443, "", false),
            ("127.0.0.2", 6443, "", false),
            ("[::1]", 6443, "", false),
            ("10.0.0.1", 6443, "", true),
            ("10.0.0.1", 6443, "10.0.0.1", false),
            ("10.0.0.1", 6443, "10.0.0.1:6443", false),
            ("10.0.0.1", 6443, "10.0.0.1:443", true),
            ("10.0.0.1", 6443, "10.0.0.0/8", false),
            ("11.0.0.1", 6443, "10.0.0.0/8", true),
            ("10.0.0.1", 6443, "0.0.0.0/0", false),
            ("10.0.0.1", 6443, "10.0.0.0/99", true),
            ("[fd00::1]", 6443, "fd00::/8", false),
            ("[fd00::1]", 6443, "::/0", false),
            ("[fd00::1]", 6443, "fd00::1", false),
            ("[fd00::1]", 6443, "[fd00::1]:6443", false),
            ("api.example.com", 443, "example.com", false),
            ("example.com", 443, "example.com", false),
            ("notexample.com", 443, "example.com", true),
            ("example.com", 443, ".example.com", true),
            ("api.example.com", 443, ".example.com", false),
            ("api.example.com", 443, "*.example.com", false),
            ("example.com", 443, "*.example.com", true),
            ("API.Example.com", 443, "api.EXAMPLE.com", false),
            ("api.example.com", 443, "example.com:443", false),
            ("api.example.com", 443, "example.com:80", true),
            ("api.example.com", 443, "*", false),
            ("api.example.com", 443, "a, *", false),
            ("api.example.com", 443, " , example.com ,", false),
        ] {
            let mut notes = Vec::new();
            let got = goes_through(host, port, excluded, &mut notes);
            assert_eq!(got, through, "{host}:{port} NO_PROXY={excluded}");
            assert!(notes.is_empty());
        }
    }

    #[test]
    fn entries_without_meaning_are_told() {
        let mut notes = Vec::new();
        assert!(goes_through("a.b", 1, "c d,:80,", &mut notes));
        assert_eq!(notes.len(), 2);
    }

    #[test]
    fn the_variable_follows_the_address() {
        for (variables, server, want) in [
            (
                vec![("HTTPS_PROXY", "http://p:1")],
                "https://h:6443",
                Some("http://p:1 (from HTTPS_PROXY)"),
            ),
            (vec![("HTTPS_PROXY", "http://p:1")], "http://h", None),
            (vec![("HTTP_PROXY", "http://p:1")], "https://h", None),
            (
                vec![("https_proxy", "u:secret@p:1")],
                "https://h",
                Some("http://p:1 (from https_proxy)"),
            ),
            (
                vec![("HTTPS_PROXY", "socks5h://p:1"), ("https_proxy", "q:2")],
                "https://h",
                Some("socks5://p:1 (from HTTPS_PROXY)"),
            ),
            (
                vec![("HTTPS_PROXY", "p:1"), ("no_proxy", "h")],
                "https://h",
                None,
            ),
            // What matters is the server's name, not the proxy's.
            (
                vec![("HTTPS_PROXY", "p:1"), ("NO_PROXY", "p")],
                "https://h",
                Some("http://p:1 (from HTTPS_PROXY)"),
            ),
        ] {
            let server: Uri = server.parse().unwrap();
            let env = environment(&variables);
            let proxy = choose(&server, &Secret::default(), &env, &mut Vec::new()).unwrap();
            let shown = proxy.map(|proxy| format!("{proxy:?}"));
            assert_eq!(shown.as_deref(), want, "{variables:?}");
        }
    }

    #[test]
    fn the_kubeconfigs_proxy_ignores_exclusions() {
        let env = environment(&[("NO_PROXY", "*"), ("HTTPS_PROXY", "p:1")]);
        let server = Uri::from_static("https://h");
        let proxy = |url: &str| choose(&server, &Secret::new(url), &env, &mut Vec::new());
        let chosen = proxy("http://user:secret@q:3128").unwrap().unwrap();
        assert_eq!(chosen.to_string(), "http://q:3128 (from proxy-url)");
        for url in ["ftp://secret@q", "q:1", "http://", "::"] {
            let e = proxy(url).unwrap_err();
            assert!(
                e.starts_with("invalid 'proxy-url'") && !e.contains("secret"),
                "{e}"
            );
        }
        assert!(from_variable("ftp://q").is_none());
    }

    #[test]
    fn a_port_that_there_is_not_is_named() {
        let server = Uri::from_static("https://h");
        for (port, named) in [("99999", " 99999"), ("secret", ""), ("12345678901", "")] {
            let (url, none) = (format!("http://user:pw@q:{port}"), Secret::default());
            let env = environment(&[("HTTPS_PROXY", &url)]);
            let e = choose(&server, &none, &env, &mut Vec::new()).unwrap_err();
            let want =
                format!("the port{named} of the proxy in HTTPS_PROXY is not one from 0 to 65535");
            assert_eq!(e, want);
            let e = choose(
                &server,
                &Secret::new(&url),
                &environment(&[]),
                &mut Vec::new(),
            );
            let want = format!(
                "invalid 'proxy-url': the port{named} of the proxy is not one from 0 to 65535"
            );
            assert_eq!(e.unwrap_err(), want);
        }
    }
}
