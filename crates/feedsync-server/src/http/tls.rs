//! TLS with a configured certificate (TLS 1.2 and 1.3, HTTP/1.1).
//!
//! An authority can check the names of the hub on the same connections, by the protocol `acme-tls/1` (RFC 8737).

mod challenge;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;
use std::{fmt, io};

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::Certificate as Certificate509;
use x509_cert::der::Decode as _;

use crate::config::Tls;
use challenge::Challenges;

pub use challenge::ChallengeError;

/// A certificate with its key, which can be replaced while the hub runs.
pub(crate) struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    /// `None` until an authority has issued the first certificate.
    current: RwLock<Option<Arc<ServerConfig>>>,
    challenges: Challenges,
}

/// Reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Only one of the two files is configured.
    #[error("tls.certificate and tls.key must both be set, but only one of them is")]
    Incomplete,
    /// A file that cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file that is not PEM, or does not contain the expected object.
    #[error("{path}: the file contains no {what} in PEM format", path = path.display())]
    Nothing {
        /// Path of the file.
        path: PathBuf,
        /// The missing object.
        what: &'static str,
    },
    /// A certificate and a key that cannot be used together.
    #[error("{certificate} with {key}: {reason}", certificate = certificate.display(), key = key.display())]
    Unusable {
        /// Path of the certificate file.
        certificate: PathBuf,
        /// Path of the key file.
        key: PathBuf,
        /// Error of the TLS library.
        reason: rustls::Error,
    },
}

impl Certificate {
    /// The certificate of a configuration, if there is one.
    pub(crate) fn configured(tls: &Tls) -> Result<Option<Self>, CertificateError> {
        let (certificate, key) = match (&tls.certificate, &tls.key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => (certificate.clone(), key.clone()),
            _ => return Err(CertificateError::Incomplete),
        };
        // The first certificate of an authority comes after the hub has shown that it has the name.
        let is_awaited = !tls.acme_names.is_empty() && !certificate.exists();
        let current = match is_awaited {
            true => None,
            false => Some(Arc::new(read(&certificate, &key)?)),
        };
        let (current, challenges) = (RwLock::new(current), Challenges::default());
        Ok(Some(Self { certificate, key, current, challenges }))
    }

    /// Reads both files again, for connections made from now on. On an error nothing changes.
    pub(crate) fn reload(&self) -> Result<(), CertificateError> {
        let config = Arc::new(read(&self.certificate, &self.key)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(config);
        Ok(())
    }

    /// Has the hub answer an authority that checks a name. `digest` is that of the key authorization.
    pub(crate) fn answer_challenge(&self, name: &str, digest: &[u8]) -> Result<(), ChallengeError> {
        self.challenges.answer(name, digest)
    }

    /// When the certificate should be renewed: after two thirds of its life. `None` without a certificate.
    pub(crate) fn renewal(&self) -> Option<SystemTime> {
        let bytes = std::fs::read(&self.certificate).ok()?;
        let certificate = CertificateDer::from_pem_slice(&bytes).ok()?;
        let life = Certificate509::from_der(&certificate).ok()?.tbs_certificate.validity;
        let (start, end) = (life.not_before.to_system_time(), life.not_after.to_system_time());
        Some(start + end.duration_since(start).ok()? / 3 * 2)
    }

    /// Ends the answers to an authority.
    pub(crate) fn end_challenges(&self) {
        self.challenges.clear();
    }

    /// Performs the TLS handshake on a connection. `None` if an authority has checked a name: that connection is over.
    pub(crate) async fn encrypt<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<Option<TlsStream<S>>> {
        let begun = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        if let Some(config) = self.challenges.config(&begun.client_hello())? {
            begun.into_stream(config).await?;
            return Ok(None);
        }
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        let missing = || io::Error::other("there is no certificate yet");
        begun.into_stream(current.ok_or_else(missing)?).await.map(Some)
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

fn read(certificate: &Path, key: &Path) -> Result<ServerConfig, CertificateError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes(certificate)?).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| {
        CertificateError::Nothing { path: certificate.to_owned(), what: "certificate" }
    })?;
    if let Some(mode) = open_to_others(key) {
        tracing::warn!(
            file = %key.display(),
            mode = %format_args!("{mode:03o}"),
            "other users of this machine can read the TLS key: chmod 600 it"
        );
    }
    let secret = PrivateKeyDer::from_pem_slice(&bytes(key)?).map_err(|_: pem::Error| {
        CertificateError::Nothing { path: key.to_owned(), what: "private key" }
    })?;
    let unusable = |reason| CertificateError::Unusable {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        reason,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Permissions of a file if its group or everyone may read it.
fn open_to_others(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
        (mode & 0o044 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(path).map_err(|source| CertificateError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_key_that_group_or_others_can_read_is_noticed() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, noticed) in [
            (0o600, None),
            (0o400, None),
            (0o640, Some(0o640)),
            (0o644, Some(0o644)),
            (0o604, Some(0o604)),
        ] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(file.path(), permissions).unwrap();
            assert_eq!(open_to_others(file.path()), noticed, "{mode:o}");
        }
    }

    #[test]
    fn files_that_hold_no_certificate_are_named_with_what_is_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let signed = |name: &str| {
            let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
            std::fs::write(path(&format!("{name}.pem")), made.cert.pem()).unwrap();
            std::fs::write(path(&format!("{name}.key")), made.signing_key.serialize_pem()).unwrap();
        };
        signed("one");
        signed("two");
        std::fs::write(path("none"), "nothing").unwrap();
        let of = |certificate: &str, key: &str| {
            let (certificate, key) = (Some(path(certificate)), Some(path(key)));
            let tls = Tls { certificate, key, ..Tls::default() };
            Certificate::configured(&tls)
        };
        assert!(of("one.pem", "one.key").unwrap().is_some());
        let said = |certificate: &str, key: &str| of(certificate, key).unwrap_err().to_string();
        assert!(said("absent", "one.key").contains("absent: No such file"));
        assert!(
            said("none", "one.key")
                .ends_with("none: the file contains no certificate in PEM format")
        );
        assert!(
            said("one.pem", "none")
                .ends_with("none: the file contains no private key in PEM format")
        );
        assert!(said("one.key", "one.key").contains("contains no certificate"));
        assert!(said("one.pem", "two.key").contains("two.key: "), "a key of another certificate");
        let half = Tls { certificate: Some(path("one.pem")), ..Tls::default() };
        assert!(matches!(Certificate::configured(&half), Err(CertificateError::Incomplete)));
    }
}
