//! Certificates of hosts, which live for a day and exist in memory only.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quick_cache::sync::Cache;
use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use url::Host;

use super::authority_files::CertificateAuthority;

/// Life of a certificate.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Age at which a certificate is made anew.
const RENEWAL: Duration = Duration::from_secs(12 * 60 * 60);

/// Maximum number of certificates in memory.
const MAX_LEAVES: usize = 256;

/// TLS configurations by host.
#[derive(Debug)]
pub(super) struct Leaves(Cache<Host, (SystemTime, Arc<ServerConfig>)>);

/// Reason why a certificate cannot be made.
#[derive(Debug, thiserror::Error)]
enum LeafError {
    #[error(transparent)]
    Sign(#[from] rcgen::Error),
    #[error(transparent)]
    Use(#[from] rustls::Error),
}

impl Default for Leaves {
    fn default() -> Self {
        Self(Cache::new(MAX_LEAVES))
    }
}

impl Leaves {
    /// Returns the TLS configuration for a host, for `http/1.1` only; `None` if applications would not accept a
    /// certificate of the authority for this host.
    pub(super) fn config(
        &self,
        authority: &CertificateAuthority,
        host: &Host,
        now: SystemTime,
    ) -> Option<Arc<ServerConfig>> {
        if !authority.certificate().covers(host, now) {
            return None;
        }
        let is_recent = |made: SystemTime| now.duration_since(made).is_ok_and(|age| age < RENEWAL);
        if let Some((made, config)) = self.0.get(host)
            && is_recent(made)
        {
            return Some(config);
        }
        match leaf(authority, host, now) {
            Ok(config) => {
                let config = Arc::new(config);
                self.0.insert(host.clone(), (now, Arc::clone(&config)));
                Some(config)
            }
            Err(error) => {
                tracing::warn!(%error, %host, "cannot make a certificate: https is tunnelled");
                None
            }
        }
    }
}

fn leaf(
    authority: &CertificateAuthority,
    host: &Host,
    now: SystemTime,
) -> Result<ServerConfig, LeafError> {
    let key = KeyPair::generate()?;
    let signed = authority.sign_hosts(std::slice::from_ref(host), &key, (now, LIFE))?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![signed], key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{CertificateError, Error, RootCertStore};

    use super::*;
    use crate::tls_interception::{AUTHORITY_LIFE, PermittedHost};

    fn authority(only: &[&str], now: SystemTime) -> CertificateAuthority {
        let data = tempfile::tempdir().unwrap();
        let only: Vec<PermittedHost> = only.iter().map(|host| host.parse().unwrap()).collect();
        CertificateAuthority::create(data.path(), &only, now).unwrap()
    }

    /// Verifies the certificate of one host as an application that wants another.
    fn verified(
        authority: &CertificateAuthority,
        host: &str,
        wanted: &str,
        now: SystemTime,
    ) -> Result<(), Error> {
        let key = KeyPair::generate().unwrap();
        let leaf = authority.sign_hosts(&[Host::parse(host).unwrap()], &key, (now, LIFE));
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.certificate().der().to_vec())).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().unwrap();
        let at = UnixTime::since_unix_epoch(now.duration_since(SystemTime::UNIX_EPOCH).unwrap());
        let wanted = ServerName::try_from(wanted.to_owned()).unwrap();
        verifier.verify_server_cert(&leaf.unwrap(), &[], &wanted, &[], at).map(|_| ())
    }

    #[test]
    fn a_certificate_is_valid_for_its_host_only() {
        let now = SystemTime::now();
        let authority = authority(&[], now);
        for (host, wanted) in
            [("example.org", "example.org"), ("10.0.0.1", "10.0.0.1"), ("[::1]", "::1")]
        {
            assert_eq!(verified(&authority, host, wanted, now), Ok(()), "{host}");
        }
        for (host, wanted) in [
            ("example.org", "www.example.org"),
            ("www.example.org", "example.org"),
            ("10.0.0.1", "10.0.0.2"),
        ] {
            let error = verified(&authority, host, wanted, now).unwrap_err();
            let is_name = matches!(
                error,
                Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. })
            );
            assert!(is_name, "{error:?}");
        }
    }

    #[test]
    fn two_authorities_differ_in_name_and_fingerprint() {
        let now = SystemTime::now();
        let (one, other) = (authority(&[], now), authority(&[], now));
        assert_ne!(one.certificate().name(), other.certificate().name());
        assert_ne!(one.certificate().fingerprint(), other.certificate().fingerprint());
    }

    #[test]
    fn a_limited_authority_signs_for_its_hosts_and_is_refused_for_others() {
        let now = SystemTime::now();
        for (only, good, bad) in [
            (
                &["example.org"][..],
                &["example.org", "a.example.org"][..],
                &["example.net", "10.0.0.1"][..],
            ),
            (&["10.0.0.1"], &["10.0.0.1"], &["10.0.0.2", "example.org", "[::1]"]),
            (&["example.org", "[::1]"], &["example.org", "[::1]"], &["10.0.0.1", "[::2]"]),
        ] {
            let authority = authority(only, now);
            assert_eq!(authority.certificate().only().len(), only.len());
            let leaves = Leaves::default();
            let config = |host: &str| leaves.config(&authority, &Host::parse(host).unwrap(), now);
            for host in good {
                let name = host.trim_matches(['[', ']']);
                assert_eq!(verified(&authority, host, name, now), Ok(()), "{only:?} {host}");
                assert!(config(host).is_some(), "{only:?} {host}");
            }
            for host in bad {
                let name = host.trim_matches(['[', ']']);
                // Even with the key, nobody can use the authority for another host.
                assert!(verified(&authority, host, name, now).is_err(), "{only:?} {host}");
                assert!(config(host).is_none(), "{only:?} {host}");
            }
        }
    }

    #[test]
    fn certificates_are_cached_and_renewed_within_their_life() {
        let now = SystemTime::now();
        let authority = authority(&[], now);
        let leaves = Leaves::default();
        let host = Host::parse("example.org").unwrap();
        let config = |now| leaves.config(&authority, &host, now);
        let first = config(now).unwrap();
        assert!(Arc::ptr_eq(&first, &config(now + RENEWAL / 2).unwrap()));
        assert!(!Arc::ptr_eq(&first, &config(now + RENEWAL).unwrap()));
        // The life of a certificate ends with that of the authority.
        let late = now + AUTHORITY_LIFE - Duration::from_secs(60);
        assert_eq!(verified(&authority, "example.org", "example.org", late), Ok(()));
        assert!(config(late + Duration::from_secs(60)).is_none());
    }

    #[test]
    fn the_number_of_certificates_in_memory_is_bounded() {
        let now = SystemTime::now();
        let authority = authority(&[], now);
        let leaves = Leaves::default();
        for number in 0..MAX_LEAVES + 50 {
            let host = Host::Domain(format!("h{number}.example"));
            assert!(leaves.config(&authority, &host, now).is_some());
        }
        assert!(leaves.0.len() <= MAX_LEAVES);
    }
}
