//! Interception of https: the gateway ends the TLS of an application with a certificate of its own authority, and
//! answers the requests inside like those for `http` (decision 61).
//!
//! [`CertificateAuthority`] is the authority of one user. Certificates of hosts are made on the fly, live for a day
//! and exist in memory only. Connections that must stay untouched are exempt for a while ([`Exemption`]).

mod authority;
mod authority_files;
mod client_hello;
mod exemptions;
mod hosts;
mod leaves;
mod signing;

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::ServerConfig;

use crate::target::Authority;

pub use authority::{AUTHORITY_LIFE, AuthorityCertificate, AuthorityPurpose};
pub use authority_files::{CertificateAuthority, CertificateAuthorityError};
pub use exemptions::{Exemption, ExemptionReason};
pub use hosts::{PermittedHost, PermittedHostError};
pub use signing::CertificateFiles;

pub(crate) use client_hello::{Opening, Replayed};
pub(crate) use exemptions::{Application, EXEMPTION};

use exemptions::Exemptions;
use leaves::Leaves;

/// State of the interception that the proxy and the control port share. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct TlsInterception(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    authority: CertificateAuthority,
    leaves: Leaves,
    exemptions: Exemptions,
}

impl TlsInterception {
    /// Opens the authority in the data directory of a gateway. Makes one if there is none, or if it has expired.
    pub fn open(data: &Path) -> Result<Self, CertificateAuthorityError> {
        let authority = CertificateAuthority::open_or_create(
            data,
            (AuthorityPurpose::Gateway, &[]),
            SystemTime::now(),
        )?;
        let (leaves, exemptions) = (Leaves::default(), Exemptions::default());
        Ok(Self(Arc::new(Inner { authority, leaves, exemptions })))
    }

    /// Certificate of the authority.
    pub fn certificate(&self) -> &AuthorityCertificate {
        self.0.authority.certificate()
    }

    /// Connections that are tunnelled untouched at the moment, oldest first.
    pub fn exemptions(&self) -> Vec<Exemption> {
        self.0.exemptions.all(SystemTime::now())
    }

    /// Returns the TLS configuration with a certificate for a host, if the authority may sign one.
    pub(crate) fn config(&self, authority: &Authority) -> Option<Arc<ServerConfig>> {
        self.0.leaves.config(&self.0.authority, authority.host(), SystemTime::now())
    }

    /// Whether connections of an application to an authority are exempt.
    pub(crate) fn is_exempt(&self, authority: &Authority, application: &Application) -> bool {
        self.0.exemptions.has(authority, application, SystemTime::now())
    }

    /// Exempts connections to an authority for a while.
    pub(crate) fn exempt(
        &self,
        authority: &Authority,
        application: Application,
        reason: ExemptionReason,
    ) {
        let until = SystemTime::now() + EXEMPTION;
        self.0.exemptions.add(Exemption {
            authority: authority.clone(),
            application,
            reason,
            until,
        });
    }
}
