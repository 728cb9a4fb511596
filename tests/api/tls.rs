//! Certificates created when a server starts, and the TLS configuration with them. Nothing is read
//! from disk, and no key outlives its test.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};

/// How the server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Transport {
    /// TLS with a proper certificate.
    #[default]
    Tls,
    /// TLS with a certificate of an authority that is not in the kubeconfig.
    UnknownAuthority,
    /// TLS with a certificate that has expired.
    Expired,
    /// TLS with a certificate for `api.example.test` only.
    WrongName,
    /// Connections are accepted, but nothing is ever sent.
    Silent,
    /// HTTP in the clear.
    Plain,
}

/// A certificate with its key, both as PEM.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// The certificate.
    pub(crate) certificate: String,
    /// The private key.
    pub(crate) key: String,
    /// The certificate again, by which the server identifies its bearer.
    pub(crate) der: Vec<u8>,
}

/// The certificates of one server.
pub(crate) struct Certificates {
    /// The authority that clients should trust, as PEM.
    pub(crate) authority: String,
    issuer: Issuer<'static, KeyPair>,
    config: Arc<ServerConfig>,
}

impl Certificates {
    /// Creates an authority and a server certificate, with the fault that `transport` specifies.
    pub(crate) fn new(transport: Transport) -> Self {
        let (trusted, authority) = new_authority("kubernetes");
        let (unknown, _) = new_authority("somebody-else");
        let mut params = named("kube-apiserver", &["localhost", "127.0.0.1"]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let issuer = match transport {
            Transport::UnknownAuthority => &unknown,
            _ => &trusted,
        };
        match transport {
            Transport::Expired => {
                params.not_before = date_time_ymd(2019, 1, 1);
                params.not_after = date_time_ymd(2020, 1, 1);
            }
            Transport::WrongName => {
                params.subject_alt_names = named("", &["api.example.test"]).subject_alt_names;
            }
            _ => {}
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = provider();
        let verifier = Arc::new(AnyBearer(provider.signature_verification_algorithms));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions")
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("the key fits the certificate");
        Self {
            authority,
            issuer: trusted,
            config: Arc::new(config),
        }
    }

    /// Returns the server's configuration.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// A client certificate for `user`, who is its common name.
    pub(crate) fn client(&self, user: &str) -> Identity {
        let mut params = named(user, &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().to_vec(),
        }
    }
}

/// Returns the provider that clients in tests also use.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn named(common_name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("host names and addresses");
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params
}

fn new_authority(name: &str) -> (Issuer<'static, KeyPair>, String) {
    let mut params = named(name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    (Issuer::new(params, key), certificate.pem())
}

/// Accepts any client certificate whose bearer has its key: as with the real server, an unknown one
/// does not fail the handshake but gets a 401.
#[derive(Debug)]
struct AnyBearer(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for AnyBearer {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
