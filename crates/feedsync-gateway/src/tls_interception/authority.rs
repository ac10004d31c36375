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

/// Life of an authority of a gateway.
pub const AUTHORITY_LIFE: Duration = Duration::from_secs(365 * DAY);

const DAY: u64 = 24 * 60 * 60;

/// Time before its creation from which a certificate is valid, for clocks that are late.
pub(super) const BACKDATED: Duration = Duration::from_secs(60 * 60);

/// Purpose of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorityPurpose {
    /// Interception of the https of applications by a gateway.
    Gateway,
    /// Certificates of a hub, which devices of several people trust. It should be limited to the names of the hub.
    Hub,
}

impl AuthorityPurpose {
    const ALL: [Self; 2] = [Self::Gateway, Self::Hub];

    /// Life of an authority.
    fn life(self) -> Duration {
        match self {
            Self::Gateway => AUTHORITY_LIFE,
            // Trusting it anew is work on every device.
            Self::Hub => Duration::from_secs(10 * 365 * DAY),
        }
    }

    /// Part of the name that tells a person what the authority is.
    fn organization(self) -> &'static str {
        match self {
            Self::Gateway => "feedsync, for one user on this machine",
            Self::Hub => "feedsync, for the devices of a hub",
        }
    }

    /// Beginning of the common name.
    fn program(self) -> &'static str {
        match self {
            Self::Gateway => "feedsync gateway",
            Self::Hub => "feedsync hub",
        }
    }
}

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");

/// Certificate of an authority: what an application must trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityCertificate {
    purpose: AuthorityPurpose,
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
        purpose: AuthorityPurpose,
        only: &[PermittedHost],
        now: SystemTime,
    ) -> Result<(Self, KeyPair), rcgen::Error> {
        let key = KeyPair::generate()?;
        let unique = hex(&Sha256::digest(key.der_bytes())[..4]);
        let mut params = CertificateParams::default();
        set_life(&mut params, now - BACKDATED, now + purpose.life());
        let end = params.not_after.date();
        let common = format!("{} until {end} {unique}", purpose.program());
        params.distinguished_name = name(purpose, &common);
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
        let (purpose, name) = named(&parts.subject).ok_or("its name is not one of feedsync")?;
        Ok(Self {
            purpose,
            der: der.to_owned(),
            public_key: key.to_der().map_err(|_| "its key is invalid")?,
            name,
            not_before: parts.validity.not_before.to_system_time(),
            not_after: parts.validity.not_after.to_system_time(),
            only: only.ok_or("its name constraints are not those of feedsync")?,
        })
    }

    /// Whether a certificate is that of an authority of a gateway: this one, an earlier one, or one of another data
    /// directory.
    pub(crate) fn is_of_gateway(der: &[u8]) -> bool {
        let read = Certificate::from_der(der).ok();
        let purpose = read.and_then(|it| named(&it.tbs_certificate.subject)).map(|(it, _)| it);
        purpose == Some(AuthorityPurpose::Gateway)
    }

    /// Purpose of the authority.
    pub fn purpose(&self) -> AuthorityPurpose {
        self.purpose
    }

    /// The certificate in DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The certificate in PEM.
    pub fn pem(&self) -> String {
        pem(&self.der)
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
        params.distinguished_name = name(self.purpose, &self.name);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
    }
}

fn name(purpose: AuthorityPurpose, common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, purpose.organization());
    name.push(DnType::CommonName, common);
    name
}

/// Purpose and common name of a subject that [`name`] made.
fn named(subject: &x509_cert::name::Name) -> Option<(AuthorityPurpose, String)> {
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
    let purpose = AuthorityPurpose::ALL
        .into_iter()
        .find(|purpose| found.1.as_deref() == Some(purpose.organization()))?;
    Some((purpose, found.0?))
}

/// Sets the life of a certificate, in whole seconds.
pub(super) fn set_life(params: &mut CertificateParams, start: SystemTime, end: SystemTime) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    params.not_before = epoch + Duration::from_secs(seconds(start));
    params.not_after = epoch + Duration::from_secs(seconds(end));
}

/// A certificate in PEM.
pub(super) fn pem(der: &[u8]) -> String {
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, der);
    for line in encoded.as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
