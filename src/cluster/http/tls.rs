//! Explains the fault in a server's certificate in the words of Go's libraries, with the remedy. Skipping
//! verification is never the first advice. Follows the errors of `crypto/x509` and `crypto/tls`.

use rustls::pki_types::ServerName;
use rustls::{CertificateError, Error};

/// The remedy for a fault in a server's TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsRemedy {
    /// Trust the server's certificate authority.
    Authority,
    /// Verify another name.
    ServerName,
    /// Renew the certificate.
    Renew,
    /// Sign a certificate for the server with the authority's certificate.
    Sign,
    /// Send another certificate of the client.
    Client,
    /// Use plain HTTP.
    PlainHttp,
}

impl TlsRemedy {
    /// Returns the advice if the server is an API server.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authority => "use --certificate-authority with the cluster's CA file",
            Self::ServerName => "use --tls-server-name with the host of the certificate",
            Self::Renew => "compare the clocks, or renew the certificate",
            Self::Sign => "sign one for the server with it",
            Self::Client => "the server did not accept the client's certificate, or needs one",
            Self::PlainHttp => "the server may use plain HTTP: check its address",
        }
    }
}

/// Returns the cause of a TLS error, and the remedy.
pub(super) fn explain(e: &Error, host: &str) -> (String, Option<TlsRemedy>) {
    match e {
        Error::InvalidCertificate(e) => {
            let (cause, hint) = certificate(e, host);
            (format!("failed to verify certificate: x509: {cause}"), hint)
        }
        Error::AlertReceived(alert) => {
            let alert = format!("{alert:?}");
            let client = alert.contains("Certificate") || alert.contains("AccessDenied");
            let hint = client.then_some(TlsRemedy::Client);
            (format!("remote error: {alert}"), hint)
        }
        Error::InvalidMessage(_) => (
            "first record does not look like a TLS handshake".to_owned(),
            Some(TlsRemedy::PlainHttp),
        ),
        e => (e.to_string(), None),
    }
}

fn certificate(e: &CertificateError, host: &str) -> (String, Option<TlsRemedy>) {
    match e {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => (
            "certificate signed by unknown authority".to_owned(),
            Some(TlsRemedy::Authority),
        ),
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => (
            "certificate has expired or is not yet valid".to_owned(),
            Some(TlsRemedy::Renew),
        ),
        CertificateError::NotValidForName => (
            format!("certificate is not valid for {host}"),
            Some(TlsRemedy::ServerName),
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let wanted = expected.to_str();
            let is_ip = matches!(expected, ServerName::IpAddress(_));
            let kind = if is_ip { "IpAddress(" } else { "DnsName(" };
            let of_kind = presented.iter().filter(|name| name.starts_with(kind));
            let names: Vec<String> = of_kind.map(|name| named(name)).collect();
            let cause = match names.as_slice() {
                [] if is_ip => format!(
                    "cannot validate certificate for {wanted} because it doesn't contain any IP SANs"
                ),
                [] => {
                    format!("certificate is not valid for any names, but wanted to match {wanted}")
                }
                names => format!(
                    "certificate is valid for {}, not {wanted}",
                    names.join(", ")
                ),
            };
            (cause, Some(TlsRemedy::ServerName))
        }
        CertificateError::Other(e) if e.to_string().contains("CaUsedAsEndEntity") => {
            (OF_AUTHORITY.to_owned(), Some(TlsRemedy::Sign))
        }
        e => (in_words(&e.to_string()), None),
    }
}

/// rustls shows `Other(OtherError(NameConstraintViolation))` and `UnsupportedSignatureAlgorithmContext { .. }`, and some
/// faults in words.
fn in_words(shown: &str) -> String {
    let bare = shown.trim_start_matches("Other(OtherError(");
    let name = bare.split([')', '{']).next().unwrap_or_default().trim_end();
    if name.contains(' ') {
        return shown.to_owned();
    }
    let mut words = String::new();
    for letter in name.trim_end_matches("Context").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// The message for a certificate that Go accepts if it is trusted itself, and rustls does not.
const OF_AUTHORITY: &str =
    "the certificate is a certificate authority's own, which is not accepted for a server";

/// rustls shows `DnsName("a")` and `IpAddress(1.2.3.4)`.
fn named(presented: &str) -> String {
    let inner = presented
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn faults_are_in_words() {
        for (shown, want) in [
            (
                "Other(OtherError(NameConstraintViolation))",
                "name constraint violation",
            ),
            (
                "UnsupportedSignatureAlgorithmContext { signature_algorithm_id: [6, 9] }",
                "unsupported signature algorithm",
            ),
            ("Revoked", "revoked"),
            (
                "certificate does not allow client authentication (1)",
                "certificate does not allow client authentication (1)",
            ),
        ] {
            assert_eq!(in_words(shown), want);
        }
    }
}
