//! TLS verification of origins, with the root certificates of the system and additional ones.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use super::client_certificates::NoCertificate;

/// Error of a root certificate.
#[derive(Debug, thiserror::Error)]
#[error("cannot use a root certificate of the system: {0}")]
pub struct RootsError(#[from] rustls::Error);

/// Creates a TLS connector for HTTP/1.1.
pub(crate) fn connector(given: Vec<CertificateDer<'static>>) -> Result<TlsConnector, RootsError> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    for error in &native.errors {
        tracing::warn!(%error, "ignoring an invalid root certificate of the system");
    }
    roots.add_parsable_certificates(native.certs);
    for root in given {
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
