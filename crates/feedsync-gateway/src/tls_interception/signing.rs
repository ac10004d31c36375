//! Certificates that an authority signs.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::string::Ia5String;
use rcgen::{
    CertificateParams, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    SanType,
};
use rustls::pki_types::CertificateDer;
use url::Host;

use super::authority::{self, BACKDATED, set_life};
use super::authority_files::{CertificateAuthority, CertificateAuthorityError};
use super::hosts::PermittedHost;
use crate::private_file;

/// Names of the files of a certificate and of its key.
const FILES: [&str; 2] = ["hub.pem", "hub.key"];

/// Files of a certificate, in PEM. Only their owner can read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl CertificateAuthority {
    /// Writes a new certificate with its key, for exactly these hosts, from now on for a time, and not longer than the
    /// authority lives. The files are in the directory of the authority. Fails if applications that trust the authority
    /// would refuse the certificate for one of the hosts.
    pub fn write_certificate(
        &self,
        data: &Path,
        hosts: &[PermittedHost],
        (now, life): (SystemTime, Duration),
    ) -> Result<CertificateFiles, CertificateAuthorityError> {
        let hosts: Vec<_> = hosts.iter().map(|host| host.host().clone()).collect();
        if let Some(host) = hosts.iter().find(|host| !self.certificate().covers(host, now)) {
            return Err(CertificateAuthorityError::NotPermitted(host.to_string()));
        }
        let key = KeyPair::generate()?;
        let signed = self.sign_hosts(&hosts, &key, (now, life))?;
        let [certificate_file, key_file] = FILES.map(|name| Self::directory(data).join(name));
        let texts =
            [(&key_file, key.serialize_pem()), (&certificate_file, authority::pem(&signed))];
        for (path, text) in texts {
            private_file::replace(path, text.as_bytes())
                .map_err(|source| CertificateAuthorityError::File { path: path.clone(), source })?;
        }
        Ok(CertificateFiles { certificate: certificate_file, key: key_file })
    }

    /// Signs a certificate for exactly these hosts, from now on for a time, and not longer than the authority lives.
    pub(super) fn sign_hosts(
        &self,
        hosts: &[Host],
        key: &KeyPair,
        (now, life): (SystemTime, Duration),
    ) -> Result<CertificateDer<'static>, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let names = hosts.iter().map(|host| {
            Ok(match host {
                Host::Domain(name) => SanType::DnsName(Ia5String::try_from(name.as_str())?),
                Host::Ipv4(ip) => SanType::IpAddress(IpAddr::V4(*ip)),
                Host::Ipv6(ip) => SanType::IpAddress(IpAddr::V6(*ip)),
            })
        });
        params.subject_alt_names = names.collect::<Result<_, rcgen::Error>>()?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let (start, end) = (now - BACKDATED, now + life);
        let certificate = self.certificate();
        set_life(
            &mut params,
            start.max(certificate.not_before()),
            end.min(certificate.not_after()),
        );
        params.signed_by(key, &self.issuer).map(Into::into)
    }
}
