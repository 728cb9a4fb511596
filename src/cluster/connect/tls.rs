//! TLS with the server, and with a proxy that speaks it: whose certificates to trust, by which name,
//! and with which certificate to say who the user is. Nothing of a key reaches an error. It is not
//! kube's `rustls_https_connector`, which asks credential plugins for a certificate, and so links
//! all that they need. Follows `transport.TLSConfigFor` of client-go.

use std::fs;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;

use super::config_file::{Cluster, User};
use super::kubeconfig::words;
use crate::error::Error;

/// Where credentials that cannot be used come from.
pub(super) const USER: &str = "see the user of the context in the kubeconfig";

/// How TLS connections are made.
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    name: Arc<dyn ResolveServerName + Send + Sync>,
}

impl Tls {
    /// TLS with a cluster, for a user who may have a certificate.
    pub(super) fn new(cluster: &Cluster, identity: Option<&Identity>) -> Result<Self, Error> {
        // Fails only if some other part of the program was first, which then has chosen.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = ClientConfig::builder();
        let config = match authority(cluster)? {
            _ if cluster.insecure_skip_tls_verify => {
                config.dangerous().with_custom_certificate_verifier(Arc::new(Unverified))
            }
            Some(roots) => config.with_root_certificates(roots),
            None => config.with_platform_verifier().map_err(no_root)?,
        };
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let (certificates, key) = identity.parse()?;
                let config = config.with_client_auth_cert(certificates, key);
                config.map_err(|e| unusable(format!("invalid private key: {e}")))?
            }
        };
        let name: Arc<dyn ResolveServerName + Send + Sync> = match &*cluster.tls_server_name {
            "" => Arc::new(DefaultServerNameResolver::default()),
            name => {
                let name = ServerName::try_from(name.to_owned());
                let name = name.map_err(|e| unusable(format!("invalid server name: {e}")))?;
                Arc::new(FixedServerNameResolver::new(name))
            }
        };
        Ok(Self { config: Arc::new(config), name })
    }

    /// TLS over the connections that another connector makes.
    pub(super) fn over<C>(&self, connector: C) -> HttpsConnector<C> {
        HttpsConnector::new(connector, self.config.clone(), false, self.name.clone())
    }
}

fn unusable(cause: impl std::fmt::Display) -> Error {
    Error::failed(format!("unable to set up TLS: {cause}"))
}

fn no_root(e: rustls::Error) -> Error {
    unusable(format!("failed to add a root certificate: {e}"))
}

/// A user's certificates and private key, in PEM.
pub(super) struct Identity {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Identity {
    /// What a plugin gave.
    pub(super) fn new(certificate: &str, key: &str) -> Self {
        Self { certificate: certificate.into(), key: key.into() }
    }

    /// The one of the kubeconfig; data goes before a file.
    pub(super) fn of(user: &User) -> Result<Option<Self>, Error> {
        let unreadable =
            || Error::failed("unable to load the client certificate or key").hint(USER);
        let part = |data: &str, path: &str| {
            let data = compact(data);
            match (data.is_empty(), path.is_empty()) {
                (false, _) => STANDARD.decode(data).map(Some).map_err(|_| unreadable()),
                (true, false) => fs::read(path).map(Some).map_err(|_| unreadable()),
                (true, true) => Ok(None),
            }
        };
        let certificate = part(&user.client_certificate_data, &user.client_certificate)?;
        let key = part(user.client_key_data.expose(), &user.client_key)?;
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key })),
            _ => Err(unreadable()),
        }
    }

    fn parse(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Error> {
        // The cause has the line with the fault, which may be the key.
        let not_pem =
            |_: pem::Error| unusable("the client certificate or key is not PEM").hint(USER);
        let key = match PrivateKeyDer::from_pem_slice(&self.key) {
            Err(pem::Error::NoItemsFound) => {
                let cause = "identity PEM is missing a private key: the key must be PKCS8 or \
                             RSA/PKCS1";
                return Err(unusable(cause));
            }
            key => key.map_err(not_pem)?,
        };
        let certificates = CertificateDer::pem_slice_iter(&self.certificate);
        let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(not_pem)?;
        if certificates.is_empty() {
            return Err(unusable("identity PEM is missing certificate"));
        }
        Ok((certificates, key))
    }
}

/// The certificates that the server's must descend from; the data goes before the file. Without any,
/// those are the system's.
fn authority(cluster: &Cluster) -> Result<Option<RootCertStore>, Error> {
    let unreadable = |cause: &str| {
        Error::failed(format!("unable to load root certificates: {cause}"))
            .hint("see certificate-authority in the kubeconfig, or --certificate-authority")
    };
    let text = if !cluster.certificate_authority_data.is_empty() {
        let data = compact(&cluster.certificate_authority_data);
        let bytes = STANDARD.decode(data);
        bytes.map_err(|_| unreadable("illegal base64 data"))?
    } else if !cluster.certificate_authority.is_empty() {
        let bytes = fs::read(&cluster.certificate_authority);
        bytes.map_err(|e| unreadable(&words(&e)))?
    } else {
        return Ok(None);
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate =
            certificate.map_err(|_| unreadable("unable to parse bytes as PEM block"))?;
        roots.add(certificate).map_err(no_root)?;
    }
    if roots.is_empty() {
        return Err(unreadable("unable to parse bytes as PEM block"));
    }
    Ok(Some(roots))
}

/// Base64 may be broken over lines.
fn compact(data: &str) -> String {
    data.split_ascii_whitespace().collect()
}

/// Takes any server for the right one.
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

    use super::{Identity, Tls};
    use crate::cluster::connect::config_file::{Cluster, User};
    use crate::secret::Secret;

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";

    #[test]
    fn what_cannot_be_used_is_not_shown() {
        let cluster = Cluster { insecure_skip_tls_verify: true, ..Cluster::default() };
        for (certificate, key, error) in [
            (CERTIFICATE, "", "unable to load the client certificate or key"),
            ("", KEY, "unable to load the client certificate or key"),
            (CERTIFICATE, "none", "unable to set up TLS: identity PEM is missing a private key: "),
            (CERTIFICATE, CERTIFICATE, "unable to set up TLS: identity PEM is missing a private "),
            (KEY, KEY, "unable to set up TLS: identity PEM is missing certificate"),
            (
                CERTIFICATE,
                "-----BEGIN PRIVATE KEY-----\ns3cr3t!\n-----END PRIVATE KEY-----\n",
                "unable to set up TLS: the client certificate or key is not PEM",
            ),
            (
                CERTIFICATE,
                "-----BEGIN PRIVATE KEY-----\ns3cr3t\n",
                "unable to set up TLS: the client certificate or key is not PEM",
            ),
            (CERTIFICATE, KEY, "unable to set up TLS: invalid private key: "),
        ] {
            let user = User {
                client_certificate_data: STANDARD.encode(certificate),
                client_key_data: Secret::new(STANDARD.encode(key)),
                ..User::default()
            };
            let tls = Identity::of(&user).and_then(|it| Tls::new(&cluster, it.as_ref()));
            let e = tls.err().unwrap();
            assert!(e.message.starts_with(error), "{}", e.message);
            assert!(!format!("{e:?}").contains("s3cr3t"), "{e:?}");
        }
        let user = User { client_key_data: Secret::new("?"), ..User::default() };
        assert!(Identity::of(&user).is_err());
        assert!(Identity::of(&User::default()).unwrap().is_none());
    }
}
