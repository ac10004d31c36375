//! TLS verification of origins, with the root certificates of the system and additional ones, but not with those of
//! gateways. The system may trust the authority of a gateway, for applications. Whoever has its key could pretend to be any
//! origin otherwise.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use super::client_certificates::NoCertificate;
use crate::tls_interception::AuthorityCertificate;

/// Error of a root certificate.
#[derive(Debug, thiserror::Error)]
#[error("cannot use a root certificate of the system: {0}")]
pub struct RootsError(#[from] rustls::Error);

/// Creates a TLS connector for HTTP/1.1.
pub(crate) fn connector(given: Vec<CertificateDer<'static>>) -> Result<TlsConnector, RootsError> {
    let native = rustls_native_certs::load_native_certs();
    for error in &native.errors {
        tracing::warn!(%error, "ignoring an invalid root certificate of the system");
    }
    connector_trusting(native.certs, given)
}

/// Creates a connector that trusts the certificates of the system that can be used, and all of those that are given.
fn connector_trusting(
    system: Vec<CertificateDer<'static>>,
    given: Vec<CertificateDer<'static>>,
) -> Result<TlsConnector, RootsError> {
    let is_trusted = |root: &CertificateDer<'_>| !AuthorityCertificate::is_of_gateway(root);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(system.into_iter().filter(is_trusted));
    for root in given.into_iter().filter(is_trusted) {
        roots.add(root)?;
    }
    if roots.is_empty() {
        tracing::warn!("the system has no root certificates: https origins cannot be reached");
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_cert_resolver(Arc::new(NoCertificate));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::SystemTime;

    use rcgen::{CertificateParams, KeyPair};
    use rustls::ServerConfig;
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::target::Authority;
    use crate::tls_interception::{CertificateAuthority, TlsInterception};

    const HOST: &str = "site.example";

    /// The certificate of an authority that signs itself, and an origin that uses it.
    fn origin() -> (CertificateDer<'static>, Arc<ServerConfig>) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
        let certificate = certificate.self_signed(&key).unwrap().der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        (certificate, Arc::new(config))
    }

    /// The result of connecting to an origin.
    async fn connected(connector: &TlsConnector, origin: Arc<ServerConfig>) -> io::Result<()> {
        let (here, there) = tokio::io::duplex(64 << 10);
        let accepted = TlsAcceptor::from(origin).accept(there);
        let connected = connector.connect(ServerName::try_from(HOST).unwrap(), here);
        tokio::join!(connected, accepted).0.map(drop)
    }

    #[tokio::test]
    async fn authorities_of_gateways_are_not_trusted_for_origins() {
        let (root, origin) = origin();
        for only in [&[][..], &[HOST.parse().unwrap()]] {
            let data = tempfile::tempdir().unwrap();
            CertificateAuthority::create(data.path(), only, SystemTime::now()).unwrap();
            let interception = TlsInterception::open(data.path()).unwrap();
            let own = CertificateDer::from(interception.certificate().der().to_vec());
            let authority = Authority::parse(HOST, 443).unwrap();
            let impostor = interception.config(&authority).unwrap();

            let all = vec![root.clone(), own];
            for (system, given) in [(all.clone(), Vec::new()), (Vec::new(), all)] {
                let connector = connector_trusting(system, given).unwrap();
                connected(&connector, Arc::clone(&origin)).await.unwrap();
                let error = connected(&connector, Arc::clone(&impostor)).await.unwrap_err();
                assert!(error.to_string().contains("UnknownIssuer"), "{error}");
            }
        }
    }
}
