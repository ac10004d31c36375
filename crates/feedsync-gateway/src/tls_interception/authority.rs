//! The certificate of an authority, and how it is made.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PublicKeyData as _,
};
use sha2::{Digest as _, Sha256};
use url::Host;
use x509_cert::Certificate;
use x509_cert::der::asn1::{PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::ext::pkix;

use super::hosts::{self, PermittedHost};

/// Life of an authority.
pub const AUTHORITY_LIFE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Time before its creation from which a certificate is valid, for clocks that are late.
pub(super) const BACKDATED: Duration = Duration::from_secs(60 * 60);

/// Part of the name that tells a person what the authority is.
const ORGANIZATION: &str = "feedsync, for one user on this machine";

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");

/// Certificate of an authority: what an application must trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityCertificate {
    der: Vec<u8>,
    public_key: Vec<u8>,
    name: String,
    not_before: SystemTime,
    not_after: SystemTime,
    only: Vec<PermittedHost>,
}

impl AuthorityCertificate {
    /// Makes a key and a certificate that is signed with it.
    pub(super) fn create(
        only: &[PermittedHost],
        now: SystemTime,
    ) -> Result<(Self, KeyPair), rcgen::Error> {
        let key = KeyPair::generate()?;
        let unique = hex(&Sha256::digest(key.der_bytes())[..4]);
        let mut params = CertificateParams::default();
        set_life(&mut params, now - BACKDATED, now + AUTHORITY_LIFE);
        let end = params.not_after.date();
        params.distinguished_name = name(&format!("feedsync gateway until {end} {unique}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.name_constraints = hosts::constraints(only);
        let certificate = params.self_signed(&key)?;
        let read = Self::read(certificate.der());
        // A certificate that was just made has the form that is read.
        Ok((read.map_err(|_| rcgen::Error::CouldNotParseCertificate)?, key))
    }

    /// Reads a certificate that [`AuthorityCertificate::create`] made; the error names what is wrong.
    pub(super) fn read(der: &[u8]) -> Result<Self, &'static str> {
        let certificate = Certificate::from_der(der).map_err(|_| "it is no certificate")?;
        let parts = &certificate.tbs_certificate;
        let constraints = parts.get::<pkix::NameConstraints>();
        let constraints = constraints.map_err(|_| "its name constraints are invalid")?;
        let only = hosts::permitted(constraints.map(|(_, it)| it));
        let key = &parts.subject_public_key_info;
        Ok(Self {
            der: der.to_owned(),
            public_key: key.to_der().map_err(|_| "its key is invalid")?,
            name: common_name(&parts.subject).ok_or("its name is not one of feedsync")?,
            not_before: parts.validity.not_before.to_system_time(),
            not_after: parts.validity.not_after.to_system_time(),
            only: only.ok_or("its name constraints are not those of feedsync")?,
        })
    }

    /// Whether a certificate is that of an authority of a gateway: this one, an earlier one, or one of another data
    /// directory.
    pub(crate) fn is_of_gateway(der: &[u8]) -> bool {
        Certificate::from_der(der)
            .is_ok_and(|certificate| common_name(&certificate.tbs_certificate.subject).is_some())
    }

    /// The certificate in DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The certificate in PEM.
    pub fn pem(&self) -> String {
        let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &self.der);
        for line in encoded.as_bytes().chunks(64) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
        text
    }

    /// SHA-256 of the certificate, as pairs of hexadecimal digits with colons between them.
    pub fn fingerprint(&self) -> String {
        let digits = hex(&Sha256::digest(&self.der)).to_ascii_uppercase();
        let pairs: Vec<_> = digits.as_bytes().chunks(2).map(String::from_utf8_lossy).collect();
        pairs.join(":")
    }

    /// Common name, which systems and applications show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Start of its life.
    pub fn not_before(&self) -> SystemTime {
        self.not_before
    }

    /// End of its life.
    pub fn not_after(&self) -> SystemTime {
        self.not_after
    }

    /// Hosts that it is limited to; empty if it is not limited.
    pub fn only(&self) -> &[PermittedHost] {
        &self.only
    }

    /// Whether applications that trust it accept a certificate of it for a host now.
    pub(super) fn covers(&self, host: &Host, now: SystemTime) -> bool {
        let is_permitted = self.only.is_empty() || self.only.iter().any(|it| it.includes(host));
        is_permitted && now >= self.not_before && now < self.not_after
    }

    /// Whether a key is that of the certificate.
    pub(super) fn is_of(&self, key: &KeyPair) -> bool {
        key.subject_public_key_info() == self.public_key
    }

    /// Parameters of the certificate that issuing needs: its name, exactly as in the certificate.
    pub(super) fn issuing(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(&self.name);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
    }
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, ORGANIZATION);
    name.push(DnType::CommonName, common);
    name
}

/// Common name of a subject that [`name`] made.
fn common_name(subject: &x509_cert::name::Name) -> Option<String> {
    let mut found = (None, None);
    for attribute in subject.0.iter().flat_map(|set| set.0.iter()) {
        let value = &attribute.value;
        let text = match value.decode_as::<Utf8StringRef<'_>>() {
            Ok(text) => text.as_str().to_owned(),
            Err(_) => value.decode_as::<PrintableStringRef<'_>>().ok()?.as_str().to_owned(),
        };
        match attribute.oid {
            COMMON_NAME => found.0 = Some(text),
            ORGANIZATION_NAME => found.1 = Some(text),
            _ => return None,
        }
    }
    found.0.filter(|_| found.1.as_deref() == Some(ORGANIZATION))
}

/// Sets the life of a certificate, in whole seconds.
pub(super) fn set_life(params: &mut CertificateParams, start: SystemTime, end: SystemTime) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    params.not_before = epoch + Duration::from_secs(seconds(start));
    params.not_after = epoch + Duration::from_secs(seconds(end));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
