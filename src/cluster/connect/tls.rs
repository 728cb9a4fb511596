//! TLS with the server, and with a proxy that uses it: the trusted certificates, the expected name, and the
//! client certificate to present. No part of a key reaches an error. kube's `rustls_https_connector` is not
//! used, because it asks credential plugins for a certificate and therefore links everything they need.
//! Follows `transport.TLSConfigFor` of client-go.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::BuilderVerifierExt;

use super::config_file::{Cluster, User};
use super::kubeconfig::words;
use crate::error::Error;
use crate::saved::file;
use crate::secret::Secret;

/// The origin of unusable credentials, as a hint.
pub(super) const USER: &str = "see the flags, or the user of the context in the kubeconfig";

/// The TLS configuration of connections.
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    name: Arc<dyn ResolveServerName + Send + Sync>,
}

impl Tls {
    /// Returns TLS with a cluster, for a user who may have a certificate.
    pub(super) fn new(cluster: &Cluster, identity: Option<&Identity>) -> Result<Self, Error> {
        // Fails only if another part of the program has already chosen a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = ClientConfig::builder();
        let verifying = match authority(cluster)? {
            _ if cluster.insecure_skip_tls_verify => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified)),
            Some(roots) => builder.with_root_certificates(roots),
            None => builder
                .with_platform_verifier()
                .map_err(|e| unusable(format!("failed to add a root certificate: {e}")))?,
        };
        let config = match identity {
            None => verifying.with_no_client_auth(),
            Some(identity) => {
                let (certificates, key) = identity.parse()?;
                verifying
                    .with_client_auth_cert(certificates, key)
                    .map_err(unusable_identity)?
            }
        };
        let name: Arc<dyn ResolveServerName + Send + Sync> = match &*cluster.tls_server_name {
            "" => Arc::new(DefaultServerNameResolver::default()),
            name => {
                let fixed = ServerName::try_from(name.to_owned())
                    .map_err(|e| unusable(format!("invalid server name: {e}")))?;
                Arc::new(FixedServerNameResolver::new(fixed))
            }
        };
        Ok(Self {
            config: Arc::new(config),
            name,
        })
    }

    /// Wraps another connector's connections in TLS.
    pub(super) fn over<C>(&self, connector: C) -> HttpsConnector<C> {
        HttpsConnector::new(connector, self.config.clone(), false, self.name.clone())
    }
}

fn unusable(cause: impl std::fmt::Display) -> Error {
    Error::failed(format!("unable to set up TLS: {cause}"))
}

fn unusable_key(cause: impl std::fmt::Display) -> Error {
    unusable(format!("invalid private key: {cause}")).hint(USER)
}

/// Blames the certificate or the key, whichever is at fault.
fn unusable_identity(e: rustls::Error) -> Error {
    let cause = match e {
        rustls::Error::InvalidCertificate(cause) => cause,
        // The key is broken, or not one that ring supports.
        rustls::Error::General(cause) => {
            return unusable_key(cause).hint(format!(
                "RSA keys need 2048 to 4096 bits, and keys of P-521 are not supported: {USER}"
            ));
        }
        e => return unusable_key(e),
    };
    let cause = match cause {
        CertificateError::Other(cause) => cause.to_string(),
        cause => cause.to_string(),
    };
    let hint = match &*cause {
        "UnsupportedCertVersion" => format!("it must be of X.509 version 3: {USER}"),
        _ => USER.to_owned(),
    };
    unusable(format!("invalid client certificate: {cause}")).hint(hint)
}

/// A user's certificates and private key, in PEM.
#[derive(Debug, PartialEq)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: Secret,
}

impl Identity {
    /// Reads the kubeconfig's certificate and key; inline data takes precedence over a file.
    pub(super) fn of(user: &User) -> Result<Option<Self>, Error> {
        let certificate = read_part(&user.client_certificate_data, &user.client_certificate)?;
        let key = read_part(user.client_key_data.expose(), &user.client_key)?;
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(Self {
                certificate,
                key: Secret::new(key),
            })),
            (None, None) => Ok(None),
            _ => Err(unreadable_identity()),
        }
    }

    /// Follows `tls.X509KeyPair`, which accepts any key format under any key label.
    fn parse(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Error> {
        let certificates: Vec<_> = blocks(&self.certificate)
            .filter(|block| block.kind == "CERTIFICATE")
            .map(|block| block.der.into())
            .collect();
        if certificates.is_empty() {
            let cause = "failed to find \"CERTIFICATE\" PEM block in certificate input";
            return Err(unusable(cause).hint(USER));
        }
        let key = blocks(self.key.expose()).find(|block| block.kind.ends_with("PRIVATE KEY"));
        let Some(key) = key else {
            let cause = "failed to find PEM block with type ending in \"PRIVATE KEY\" in key input";
            return Err(unusable(cause).hint(USER));
        };
        Ok((
            certificates,
            PrivateKeyDer::try_from(key.der).map_err(unusable_key)?,
        ))
    }
}

/// Reads a certificate or a key, if there is one.
fn read_part(data: &str, path: &str) -> Result<Option<String>, Error> {
    let encoded = compact(data);
    let read = match (encoded.is_empty(), path.is_empty()) {
        (false, _) => STANDARD.decode(encoded).ok(),
        (true, false) => file::read_of_connection(path).ok(),
        (true, true) => return Ok(None),
    };
    let bytes = read.ok_or_else(unreadable_identity)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn unreadable_identity() -> Error {
    Error::failed("unable to load the client certificate or key").hint(USER)
}

/// Returns the certificate authorities to trust. Inline data takes precedence over a file; the default is
/// the system's authorities. Blocks other than certificates are skipped, as by `x509.AppendCertsFromPEM`.
fn authority(cluster: &Cluster) -> Result<Option<RootCertStore>, Error> {
    let bytes = if !cluster.certificate_authority_data.is_empty() {
        STANDARD
            .decode(compact(&cluster.certificate_authority_data))
            .map_err(|_| no_authorities("illegal base64 data"))?
    } else if !cluster.certificate_authority.is_empty() {
        file::read_of_connection(&cluster.certificate_authority)
            .map_err(|e| no_authorities(&words(&e)))?
    } else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let certificates = blocks(&text).filter(|block| block.kind == "CERTIFICATE" && !block.headers);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.map(|block| block.der.into()));
    if roots.is_empty() {
        return Err(no_authorities("unable to parse bytes as PEM block"));
    }
    Ok(Some(roots))
}

fn no_authorities(cause: &str) -> Error {
    Error::failed(format!("unable to load root certificates: {cause}"))
        .hint("see certificate-authority in the kubeconfig, or --certificate-authority")
}

/// A block of a PEM text.
struct PemBlock<'a> {
    kind: &'a str,
    headers: bool,
    der: Vec<u8>,
}

/// Returns the blocks of a PEM text, each from the last `BEGIN` before an `END` of the same type. Other
/// text is skipped, as by Go's `pem.Decode`. Unlike in Go, markers need not start a line: if two files were
/// joined without a newline between them, neither may be lost. The reader of rustls stops at the first
/// fault.
fn blocks(text: &str) -> impl Iterator<Item = PemBlock<'_>> {
    let parts = text.split("-----END ");
    parts
        .clone()
        .zip(parts.skip(1))
        .filter_map(|(before, after)| {
            let (_, block) = before.rsplit_once("-----BEGIN ")?;
            let (kind, body) = block.split_once("-----")?;
            after.strip_prefix(kind)?.strip_prefix("-----")?;
            let mut lines = body.trim_start().lines().peekable();
            let headers = lines.peek().is_some_and(|line| line.contains(':'));
            let data: String = lines.skip_while(|line| line.contains(':')).collect();
            Some(PemBlock {
                kind,
                headers,
                der: STANDARD.decode(compact(&data)).ok()?,
            })
        })
}

/// Removes whitespace: base64 may be wrapped.
fn compact(data: &str) -> String {
    data.split_ascii_whitespace().collect()
}

/// Accepts any server certificate.
#[derive(Debug)]
struct Unverified;

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![
            SignatureScheme::RSA_PKCS1_SHA1,
            SignatureScheme::ECDSA_SHA1_Legacy,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::RSA_PSS_SHA384,
            SignatureScheme::RSA_PSS_SHA512,
            SignatureScheme::ED25519,
            SignatureScheme::ED448,
        ]
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{CertificateParams, KeyPair};

    use super::{Identity, Tls, authority};
    use crate::cluster::connect::config_file::{Cluster, User};
    use crate::secret::Secret;

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
    /// In PKCS #8, of an unknown algorithm.
    const UNSUPPORTED_KEY: &str =
        "-----BEGIN PRIVATE KEY-----\nMAgCAQAwAwYBAA==\n-----END PRIVATE KEY-----\n";

    /// Returns a self-signed certificate and its key.
    fn certified() -> (String, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["ca".to_owned()]).unwrap();
        (
            params
                .self_signed(&key)
                .unwrap()
                .pem()
                .replace("\r\n", "\n"),
            key,
        )
    }

    #[test]
    fn a_bundle_gives_every_certificate_it_has() {
        let (ca, other) = (certified().0, certified().0);
        let (head, tail) = ca.split_once('\n').unwrap();
        let (unended, _) = ca.split_at(200);
        for (what, bundle, expected) in [
            ("one", ca.clone(), 1),
            ("two", format!("{ca}{other}"), 2),
            ("one, and one without its end", format!("{ca}{unended}"), 1),
            (
                "one without its end, and one",
                format!("{unended}\n{ca}"),
                1,
            ),
            ("one, and a stray line", format!("{ca}{head}\n"), 1),
            ("a stray line, and one", format!("{head}\n{ca}"), 1),
            (
                "one with headers",
                format!("{head}\nProc-Type: 4\nA: b\n\n{tail}"),
                0,
            ),
            (
                "one with headers, and one",
                format!("{head}\nA: b\n\n{tail}{other}"),
                1,
            ),
            ("one with an empty line", format!("{head}\n\n{tail}"), 1),
            (
                "a space and a tab after the dashes",
                ca.replace("-----\n", "----- \t\n"),
                1,
            ),
            ("two in one line", format!("{}{other}", ca.trim_end()), 2),
            ("one that is no DER", CERTIFICATE.to_owned(), 0),
            (
                "one that is no DER, and one",
                format!("{CERTIFICATE}{ca}"),
                1,
            ),
            (
                "one that is no base64, and one",
                format!("{}{ca}", CERTIFICATE.replace('=', "!")),
                1,
            ),
            ("a key, and one", format!("{KEY}{ca}"), 1),
            (
                "another type at its end",
                ca.replace("END CERTIFICATE", "END X509 CRL"),
                0,
            ),
            ("lines of Windows", ca.replace('\n', "\r\n"), 1),
            (
                "a comment with dashes, and one",
                format!("# -----BEGIN of mine\n{ca}"),
                1,
            ),
            ("nothing", "\n".to_owned(), 0),
        ] {
            let data = STANDARD.encode(bundle);
            let cluster = Cluster {
                certificate_authority_data: data,
                ..Cluster::default()
            };
            match authority(&cluster) {
                Ok(roots) => assert_eq!(roots.unwrap().len(), expected, "{what}"),
                Err(e) => {
                    let cause =
                        "unable to load root certificates: unable to parse bytes as PEM block";
                    assert_eq!((e.message.as_str(), expected), (cause, 0), "{what}");
                }
            }
        }
        let data = STANDARD.encode([b"caf\xe9\n", ca.as_bytes()].concat());
        let cluster = Cluster {
            certificate_authority_data: data,
            ..Cluster::default()
        };
        assert_eq!(
            authority(&cluster).unwrap().unwrap().len(),
            1,
            "a comment in Latin 1, and one"
        );
    }

    #[test]
    fn faults_around_certificate_and_key_are_skipped() {
        let cluster = Cluster {
            insecure_skip_tls_verify: true,
            ..Cluster::default()
        };
        let (certificate, key) = certified();
        let other = certified().0;
        let key = key.serialize_pem();
        for (certificates, key, count) in [
            (certificate.clone(), key.clone(), 1),
            (format!("{certificate}{other}"), key.clone(), 2),
            (
                format!("{certificate}{}", other.split_at(200).0),
                key.clone(),
                1,
            ),
            (
                format!("{key}{certificate}"),
                format!("{certificate}{key}"),
                1,
            ),
            (
                certificate.clone(),
                format!("-----BEGIN EC PARAMETERS-----\n{key}"),
                1,
            ),
            (certificate, key.replace("PRIVATE KEY", "EC PRIVATE KEY"), 1),
        ] {
            let identity = Identity {
                certificate: certificates,
                key: Secret::new(key),
            };
            assert_eq!(identity.parse().unwrap().0.len(), count);
            assert!(Tls::new(&cluster, Some(&identity)).is_ok());
        }
    }

    #[test]
    fn what_cannot_be_used_is_not_shown() {
        let cluster = Cluster {
            insecure_skip_tls_verify: true,
            ..Cluster::default()
        };
        let no_key = "unable to set up TLS: failed to find PEM block with type ending in \
                      \"PRIVATE KEY\" in key input";
        for (certificate, key, error) in [
            (
                CERTIFICATE,
                "",
                "unable to load the client certificate or key",
            ),
            ("", KEY, "unable to load the client certificate or key"),
            (CERTIFICATE, "none", no_key),
            (CERTIFICATE, CERTIFICATE, no_key),
            (
                KEY,
                KEY,
                "unable to set up TLS: failed to find \"CERTIFICATE\" PEM block in certificate input",
            ),
            (
                CERTIFICATE,
                "-----BEGIN PRIVATE KEY-----\ns3cr3t!\n-----END PRIVATE KEY-----\n",
                no_key,
            ),
            (CERTIFICATE, "-----BEGIN PRIVATE KEY-----\ns3cr3t\n", no_key),
            (
                CERTIFICATE,
                KEY,
                "unable to set up TLS: invalid private key: unknown",
            ),
            (
                CERTIFICATE,
                UNSUPPORTED_KEY,
                "unable to set up TLS: invalid private key: failed to parse private key",
            ),
        ] {
            let user = User {
                client_certificate_data: STANDARD.encode(certificate),
                client_key_data: Secret::new(STANDARD.encode(key)),
                ..User::default()
            };
            let tls = Identity::of(&user).and_then(|it| Tls::new(&cluster, it.as_ref()));
            let e = tls.err().unwrap();
            assert!(e.message.starts_with(error), "{}", e.message);
            let hint = e.hint.as_deref().unwrap_or_default();
            let is_of_key = error.contains("failed to parse private key");
            assert_eq!(hint.contains("P-521"), is_of_key, "{hint}");
            assert!(!format!("{e:?}").contains("s3cr3t"), "{e:?}");
        }
        // Version 1, in the field that says 3.
        let (certificate, key) = certified();
        let mut der = super::blocks(&certificate).next().unwrap().der;
        let version = der.windows(5).position(|it| it == [0xa0, 3, 2, 1, 2]);
        der[version.unwrap() + 4] = 0;
        let certificate = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            STANDARD.encode(der)
        );
        let version = "it must be of X.509 version 3: ";
        let user = "see the flags, or the user of the context in the kubeconfig";
        for (certificate, cause, hint) in [
            (&*certificate, "UnsupportedCertVersion", version),
            (CERTIFICATE, "BadEncoding", ""),
        ] {
            let identity = Identity {
                certificate: certificate.to_owned(),
                key: Secret::new(key.serialize_pem()),
            };
            let e = Tls::new(&cluster, Some(&identity)).err().unwrap();
            let message = format!("unable to set up TLS: invalid client certificate: {cause}");
            assert_eq!(e.message, message);
            assert_eq!(e.hint.unwrap(), format!("{hint}{user}"), "{cause}");
        }
        let user = User {
            client_key_data: Secret::new("?"),
            ..User::default()
        };
        assert!(Identity::of(&user).is_err());
        assert!(Identity::of(&User::default()).unwrap().is_none());
    }
}
