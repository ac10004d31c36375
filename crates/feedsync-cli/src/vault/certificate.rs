//! Certificate of a hub from an authority of its own, for vaults in a local network.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use feedsync_gateway::tls_interception::{
    AuthorityCertificate, AuthorityPurpose, CertificateAuthority, CertificateAuthorityError,
    CertificateFiles, PermittedHost,
};

use crate::failure::Failure;

/// Life of a certificate: telephones refuse longer ones.
const LIFE: Duration = Duration::from_secs(397 * 24 * 60 * 60);

/// Time after which a hub that runs makes its certificate anew.
pub(crate) const RENEWAL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An authority in the data directory of a hub, and the hosts that the hub has certificates for.
#[derive(Debug)]
pub(crate) struct HubCertificate {
    authority: CertificateAuthority,
    data: PathBuf,
    hosts: Vec<PermittedHost>,
}

impl HubCertificate {
    /// Opens the authority in the data directory of a hub, or makes one that is limited to these hosts.
    pub(crate) fn open(data: &Path, hosts: Vec<PermittedHost>) -> Result<Self, Failure> {
        let limits = (AuthorityPurpose::Hub, hosts.as_slice());
        let authority = CertificateAuthority::open_or_create(data, limits, SystemTime::now());
        Ok(Self { authority: authority.map_err(Failure::store)?, data: data.to_owned(), hosts })
    }

    /// The certificate of the authority, which devices must trust.
    pub(crate) fn authority(&self) -> &AuthorityCertificate {
        self.authority.certificate()
    }

    /// Makes the certificate of the hub anew. A hub that runs must read the files again.
    pub(crate) fn renew(&self) -> Result<CertificateFiles, Failure> {
        let life = (SystemTime::now(), LIFE);
        let written = self.authority.write_certificate(&self.data, &self.hosts, life);
        written.map_err(|error| self.failure(error))
    }

    fn failure(&self, error: CertificateAuthorityError) -> Failure {
        match error {
            CertificateAuthorityError::NotPermitted(_) => Failure::refused(error).hint(format!(
                "remove {} for a new authority, which all devices have to trust, or use the hub under one of its \
                 old addresses",
                CertificateAuthority::directory(&self.data).display()
            )),
            error => Failure::store(error),
        }
    }
}

/// Address of this machine that others in its network reach, for a hub that listens on all addresses. Nothing is sent.
pub(crate) fn reachable(listen: SocketAddr) -> Option<IpAddr> {
    if !listen.ip().is_unspecified() {
        return Some(listen.ip());
    }
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address for documentation (RFC 5737): the system only looks up which of its own addresses it would send from.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
}
