//! The authority in the data directory of a gateway: a certificate, and a key that its owner alone can read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use feedsync_store::owned;
use rcgen::{Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::authority::{AuthorityCertificate, AuthorityPurpose};
use super::hosts::PermittedHost;
use crate::private_file;

/// Directory of the authority within the data directory.
const DIRECTORY: &str = "authority";

const CERTIFICATE: &str = "certificate.pem";

const KEY: &str = "key.pem";

/// Maximum size of a file of an authority, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// An authority with its key. The key is never shown in debug output.
pub struct CertificateAuthority {
    certificate: AuthorityCertificate,
    pub(super) issuer: Issuer<'static, KeyPair>,
}

/// Reason why there is no usable authority.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateAuthorityError {
    /// A file cannot be read, written or removed.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file has other contents than the gateway wrote.
    #[error(
        "cannot use the certificate authority in {path}: {fault}. Remove it with `feedsync gateway ca remove`; \
         that of a hub, by removing the directory of this file",
        path = path.display()
    )]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Description of the fault.
        fault: &'static str,
    },
    /// Other users of the machine may have read the key.
    #[error(
        "other users of this machine can read {path}, the key of the certificate authority. Remove the \
         authority with `feedsync gateway ca remove` (that of a hub, by removing the directory of this file), and \
         trust the new one",
        path = path.display()
    )]
    Exposed {
        /// Path of the key.
        path: PathBuf,
    },
    /// There is an authority already.
    #[error("there is a certificate authority already: {0}")]
    Exists(String),
    /// The authority is limited to other hosts.
    #[error("the certificate authority is not good for {0}")]
    NotPermitted(String),
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

impl CertificateAuthority {
    /// Opens the authority in a data directory. Makes one if there is none, or if it has expired: for a purpose, and
    /// limited to these hosts.
    pub fn open_or_create(
        data: &Path,
        (purpose, only): (AuthorityPurpose, &[PermittedHost]),
        now: SystemTime,
    ) -> Result<Self, CertificateAuthorityError> {
        match Self::certificate_in(data)? {
            None => Self::make(data, (purpose, only), now),
            // Nothing accepts it any more, so that nobody loses a trusted authority.
            Some(certificate) if certificate.not_after() <= now => {
                tracing::warn!(name = certificate.name(), "the certificate authority has expired");
                Self::make(data, (certificate.purpose(), certificate.only()), now)
            }
            Some(certificate) => Self::open(data, certificate),
        }
    }

    /// Makes an authority of a gateway that is limited to these hosts, or to none without hosts. Fails if there is one that has
    /// not expired.
    pub fn create(
        data: &Path,
        only: &[PermittedHost],
        now: SystemTime,
    ) -> Result<Self, CertificateAuthorityError> {
        match Self::certificate_in(data)? {
            Some(certificate) if certificate.not_after() > now => {
                Err(CertificateAuthorityError::Exists(certificate.name().to_owned()))
            }
            _ => Self::make(data, (AuthorityPurpose::Gateway, only), now),
        }
    }

    /// Certificate of the authority in a data directory. The key is not read.
    pub fn certificate_in(
        data: &Path,
    ) -> Result<Option<AuthorityCertificate>, CertificateAuthorityError> {
        let path = data.join(DIRECTORY).join(CERTIFICATE);
        let Some(bytes) = read(&path)? else { return Ok(None) };
        let invalid = |fault| CertificateAuthorityError::Invalid { path: path.clone(), fault };
        let der = CertificateDer::from_pem_slice(&bytes);
        let der = der.map_err(|_| invalid("it is not in PEM format"))?;
        AuthorityCertificate::read(&der).map(Some).map_err(invalid)
    }

    /// Path of the certificate in a data directory.
    pub fn certificate_path(data: &Path) -> PathBuf {
        Self::directory(data).join(CERTIFICATE)
    }

    /// Directory of the authority within a data directory.
    pub fn directory(data: &Path) -> PathBuf {
        data.join(DIRECTORY)
    }

    /// Removes the key and the certificate from a data directory; returns whether there was one of them.
    pub fn remove(data: &Path) -> Result<bool, CertificateAuthorityError> {
        let directory = data.join(DIRECTORY);
        let mut was_there = false;
        for name in [KEY, CERTIFICATE] {
            let path = directory.join(name);
            match fs::remove_file(&path) {
                Ok(()) => was_there = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(CertificateAuthorityError::File { path, source }),
            }
        }
        if was_there {
            owned::sync_directory(&directory).map_err(failed(&directory))?;
        }
        Ok(was_there)
    }

    /// Its certificate.
    pub fn certificate(&self) -> &AuthorityCertificate {
        &self.certificate
    }

    fn make(
        data: &Path,
        (purpose, only): (AuthorityPurpose, &[PermittedHost]),
        now: SystemTime,
    ) -> Result<Self, CertificateAuthorityError> {
        let (certificate, key) = AuthorityCertificate::create(purpose, only, now)?;
        let directory = data.join(DIRECTORY);
        owned::make_directory(&directory).map_err(failed(&directory))?;
        restrict(&directory).map_err(failed(&directory))?;
        // A key without a certificate is replaced at the next start.
        Self::remove(data)?;
        for (name, text) in [(KEY, key.serialize_pem()), (CERTIFICATE, certificate.pem())] {
            let path = directory.join(name);
            private_file::replace(&path, text.as_bytes()).map_err(failed(&path))?;
        }
        owned::sync_directory(&directory).map_err(failed(&directory))?;
        tracing::info!(
            name = certificate.name(),
            "made a certificate authority, which applications must trust; see `feedsync gateway ca trust-help`, or \
             `feedsync vault trust-help` for a hub"
        );
        let issuer = Issuer::new(certificate.issuing(), key);
        Ok(Self { certificate, issuer })
    }

    fn open(
        data: &Path,
        certificate: AuthorityCertificate,
    ) -> Result<Self, CertificateAuthorityError> {
        let path = data.join(DIRECTORY).join(KEY);
        let invalid = |fault| CertificateAuthorityError::Invalid { path: path.clone(), fault };
        if is_exposed(&path).map_err(failed(&path))? {
            return Err(CertificateAuthorityError::Exposed { path });
        }
        let bytes = read(&path)?.ok_or_else(|| invalid("the key is missing"))?;
        let key = PrivateKeyDer::from_pem_slice(&bytes).ok();
        let key = key.and_then(|key| KeyPair::try_from(&key).ok());
        let key = key.ok_or_else(|| invalid("it is no private key in PEM format"))?;
        if !certificate.is_of(&key) {
            return Err(invalid("the key is not that of the certificate"));
        }
        let issuer = Issuer::new(certificate.issuing(), key);
        Ok(Self { certificate, issuer })
    }
}

impl std::fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificateAuthority").field("certificate", &self.certificate).finish()
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CertificateAuthorityError {
    let path = path.to_owned();
    move |source| CertificateAuthorityError::File { path, source }
}

/// Reads a small file, if it exists.
fn read(path: &Path) -> Result<Option<Vec<u8>>, CertificateAuthorityError> {
    let length = match fs::metadata(path) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(path)(source)),
    };
    if length > MAX_FILE_BYTES {
        let fault = "the file is too large";
        return Err(CertificateAuthorityError::Invalid { path: path.to_owned(), fault });
    }
    fs::read(path).map(Some).map_err(failed(path))
}

/// Makes a directory that existed accessible to its owner only.
fn restrict(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}

/// Whether a file has rights for others than its owner. A missing file has none.
fn is_exposed(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        #[cfg(unix)]
        Ok(file) => Ok(std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o077 != 0),
        #[cfg(not(unix))]
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tls_interception::AUTHORITY_LIFE;

    const GATEWAY: (AuthorityPurpose, &[PermittedHost]) = (AuthorityPurpose::Gateway, &[]);

    fn name(authority: &CertificateAuthority) -> &str {
        authority.certificate().name()
    }

    #[test]
    fn the_authority_stays_the_same_until_it_expires() {
        let data = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let first = CertificateAuthority::open_or_create(data.path(), GATEWAY, now).unwrap();
        let again = CertificateAuthority::open_or_create(data.path(), GATEWAY, now).unwrap();
        assert_eq!(first.certificate(), again.certificate());
        let made = CertificateAuthority::create(data.path(), &[], now);
        assert!(matches!(made, Err(CertificateAuthorityError::Exists(_))));
        let later = now + AUTHORITY_LIFE + Duration::from_secs(1);
        let renewed = CertificateAuthority::open_or_create(data.path(), GATEWAY, later).unwrap();
        assert_ne!(name(&first), name(&renewed));
        assert!(CertificateAuthority::remove(data.path()).unwrap());
        assert!(!CertificateAuthority::remove(data.path()).unwrap());
        assert_eq!(CertificateAuthority::certificate_in(data.path()).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_key() {
        use std::os::unix::fs::PermissionsExt as _;
        let data = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        // A directory that others could read becomes restricted.
        let directory = data.path().join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        CertificateAuthority::open_or_create(data.path(), GATEWAY, now).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let key = directory.join(KEY);
        assert_eq!((mode(&directory), mode(&key)), (0o700, 0o600));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        let opened = CertificateAuthority::open_or_create(data.path(), GATEWAY, now);
        assert!(matches!(opened, Err(CertificateAuthorityError::Exposed { .. })), "{opened:?}");
    }

    #[test]
    fn debug_output_does_not_have_the_key() {
        let data = tempfile::tempdir().unwrap();
        let authority =
            CertificateAuthority::open_or_create(data.path(), GATEWAY, SystemTime::now()).unwrap();
        let key = fs::read_to_string(data.path().join(DIRECTORY).join(KEY)).unwrap();
        let secret = key.lines().nth(1).unwrap();
        assert!(!format!("{authority:?}").contains(secret));
        assert!(!authority.certificate().pem().contains(secret));
    }

    #[test]
    fn damaged_files_are_named_and_stay() {
        let data = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let other = tempfile::tempdir().unwrap();
        CertificateAuthority::open_or_create(other.path(), GATEWAY, now).unwrap();
        let file = |data: &Path, name: &str| data.join(DIRECTORY).join(name);
        let foreign_key = fs::read(file(other.path(), KEY)).unwrap();
        let foreign = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        let foreign = foreign.cert.pem().into_bytes();
        for (name, bytes, fault) in [
            (CERTIFICATE, b"nothing".to_vec(), "not in PEM"),
            (CERTIFICATE, foreign, "name is not one of feedsync"),
            (CERTIFICATE, vec![b'a'; 1 << 20], "too large"),
            (KEY, b"nothing".to_vec(), "no private key"),
            (KEY, foreign_key, "not that of the certificate"),
        ] {
            CertificateAuthority::remove(data.path()).unwrap();
            CertificateAuthority::open_or_create(data.path(), GATEWAY, now).unwrap();
            fs::write(file(data.path(), name), &bytes).unwrap();
            let opened = CertificateAuthority::open_or_create(data.path(), GATEWAY, now);
            let error = opened.unwrap_err().to_string();
            assert!(error.contains(fault) && error.contains(name), "{fault}: {error}");
            assert_eq!(fs::read(file(data.path(), name)).unwrap(), bytes);
        }
    }
}
