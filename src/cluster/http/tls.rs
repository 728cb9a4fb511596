//! What is wrong with a server's certificate, in the words of Go's libraries, and what to do about
//! it. Skipping verification is never the first advice. Follows the errors of `crypto/x509` and `crypto/tls`.

use rustls::{CertificateError, Error};

const AUTHORITY: &str = "use --certificate-authority with the cluster's CA file";

/// Returns the cause of a TLS error, and what to do about it.
pub(super) fn explain(e: &Error, host: &str) -> (String, Option<&'static str>) {
    match e {
        Error::InvalidCertificate(e) => {
            let (cause, hint) = certificate(e, host);
            (format!("failed to verify certificate: x509: {cause}"), hint)
        }
        Error::AlertReceived(alert) => {
            let alert = format!("{alert:?}");
            let client = alert.contains("Certificate") || alert.contains("AccessDenied");
            let hint = client.then_some("the server did not accept the client's certificate");
            (format!("remote error: {alert}"), hint)
        }
        Error::InvalidMessage(_) => (
            "first record does not look like a TLS handshake".to_owned(),
            Some("the server may use plain HTTP: check its address"),
        ),
        e => (e.to_string(), None),
    }
}

fn certificate(e: &CertificateError, host: &str) -> (String, Option<&'static str>) {
    const EXPIRED: &str = "certificate has expired or is not yet valid";
    const NAME: &str = "use --tls-server-name with the host of the certificate";
    match e {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => (
            "certificate signed by unknown authority".to_owned(),
            Some(AUTHORITY),
        ),
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => (
            EXPIRED.to_owned(),
            Some("compare the clocks, or renew the certificate"),
        ),
        CertificateError::NotValidForName => {
            (format!("certificate is not valid for {host}"), Some(NAME))
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let expected = expected.to_str();
            let cause = if presented.is_empty() {
                format!("certificate is not valid for any names, but wanted to match {expected}")
            } else {
                let names: Vec<String> = presented.iter().map(|name| named(name)).collect();
                format!(
                    "certificate is valid for {}, not {expected}",
                    names.join(", ")
                )
            };
            (cause, Some(NAME))
        }
        CertificateError::Other(e) if e.to_string().contains("CaUsedAsEndEntity") => (
            OF_AUTHORITY.to_owned(),
            Some("sign one for the server with it"),
        ),
        e => (e.to_string(), Some(AUTHORITY)),
    }
}

/// What Go accepts if the same certificate is trusted, and rustls does not.
const OF_AUTHORITY: &str =
    "the certificate is a certificate authority's own, which is not accepted for a server";

/// rustls shows `DnsName("a")` and `IpAddress(1.2.3.4)`.
fn named(presented: &str) -> String {
    let inner = presented
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"').to_owned()
}
