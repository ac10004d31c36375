//! Answers to an authority that checks whether the hub has a name (RFC 8737).

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ClientHello;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

/// Protocol of the check.
const PROTOCOL: &[u8] = b"acme-tls/1";

/// Length of the digest of a key authorization (SHA-256).
const DIGEST_BYTES: usize = 32;

/// TLS configurations for the names that are being checked.
#[derive(Debug, Default)]
pub(super) struct Challenges(RwLock<HashMap<String, Arc<ServerConfig>>>);

/// Reason why a check cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChallengeError {
    /// The digest has another length than SHA-256 has.
    #[error("the digest has {0} bytes and not 32")]
    Digest(usize),
    /// The certificate of the answer cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The certificate of the answer cannot be used.
    #[error(transparent)]
    Use(#[from] rustls::Error),
}

impl Challenges {
    /// Answers checks of a name from now on with a certificate that contains the digest of the key authorization.
    pub(super) fn answer(&self, name: &str, digest: &[u8]) -> Result<(), ChallengeError> {
        if digest.len() != DIGEST_BYTES {
            return Err(ChallengeError::Digest(digest.len()));
        }
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
        let certificate = params.self_signed(&key)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = ring::sign::any_supported_type(&key)?;
        // The usual check of a certificate refuses the critical extension that has the digest.
        let certified = CertifiedKey::new(vec![certificate.der().clone()], key);
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        names.insert(name.to_owned(), Arc::new(config));
        Ok(())
    }

    /// Ends all answers.
    pub(super) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The configuration for a connection that checks a name; `None` for an ordinary connection. Fails for a name that is not
    /// being checked.
    pub(super) fn config(&self, hello: &ClientHello<'_>) -> io::Result<Option<Arc<ServerConfig>>> {
        let is_check = hello.alpn().is_some_and(|mut it| it.any(|protocol| protocol == PROTOCOL));
        if !is_check {
            return Ok(None);
        }
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = hello.server_name().and_then(|name| names.get(name));
        let unknown =
            || io::Error::other("an authority checks a name that this hub does not ask for");
        found.cloned().map(Some).ok_or_else(unknown)
    }
}
