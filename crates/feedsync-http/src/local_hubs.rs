//! Registry of the hubs of one user on this machine. A gateway of the same user may forward requests of local
//! programs to them.
//!
//! A hub without users admits any client on its machine, but none behind a proxy. A gateway is a proxy. It
//! may forward requests of programs of its own machine if it shows a [`LocalProof`]. A hub creates a new
//! proof on each start, and writes it into a file of [`LocalHubs`] that only its user can read. While the hub
//! runs it holds a lock next to that file. So a proof is never sent to another program that listens at the
//! address of a stopped hub.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use feedsync_store::{Digest, Environment as _, SystemEnvironment, owned};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Header field that carries a proof to a hub.
pub const LOCAL_PROOF: HeaderName = HeaderName::from_static("feedsync-local-proof");

/// Maximum number of attempts of a hub to take its lock, which a gateway may hold briefly during its check.
const MAX_LOCK_ATTEMPTS: u32 = 50;

const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Secret that only programs of the hub's user can know: 256 random bits, in hexadecimal digits.
#[derive(Clone)]
pub struct LocalProof(String);

impl LocalProof {
    /// Creates a random proof.
    pub fn random() -> Self {
        let environment = SystemEnvironment;
        Self((0..4).map(|_| format!("{:016x}", environment.random())).collect())
    }

    /// Value of the [`LOCAL_PROOF`] header.
    pub fn value(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&self.0).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Whether a request shows it exactly once. Digests are compared, so that the time of the comparison
    /// reveals nothing about the proof.
    pub fn is_shown(&self, headers: &HeaderMap) -> bool {
        let mut shown = headers.get_all(LOCAL_PROOF).iter();
        let (Some(value), None) = (shown.next(), shown.next()) else { return false };
        Digest::of(value.as_bytes()) == Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for LocalProof {
    /// Hides the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalProof")
    }
}

/// Directory in which the hubs of a user register.
#[derive(Debug, Clone)]
pub struct LocalHubs(PathBuf);

/// Registration of a running hub, until it is dropped.
#[derive(Debug)]
pub struct HubRegistration {
    _locks: Vec<File>,
}

impl LocalHubs {
    /// Registry in a directory, which the first registration creates.
    pub fn within(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Registers a hub at these addresses, with the proof that it accepts there. Addresses that other
    /// machines can reach are left out.
    pub fn announce(
        &self,
        addresses: &[SocketAddr],
        proof: &LocalProof,
    ) -> io::Result<HubRegistration> {
        owned::make_directory(&self.0)?;
        let here = addresses.iter().filter(|address| address.ip().is_loopback());
        let locks = here.map(|address| {
            let lock = owned::make_file(&self.file(*address, "lock"))?;
            locked(&lock)?;
            let file = self.file(*address, "proof");
            // The proof of an earlier hub is no longer valid, and its file may have been readable for others.
            remove(&file)?;
            owned::make_file(&file)?.write_all(proof.0.as_bytes())?;
            Ok(lock)
        });
        Ok(HubRegistration { _locks: locks.collect::<io::Result<_>>()? })
    }

    /// Proof that a hub accepts at an address while it runs there.
    pub fn proof(&self, address: SocketAddr) -> Option<LocalProof> {
        let address = canonical(address);
        let lock = File::open(self.file(address, "lock")).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {}
            // No hub runs there, or the lock cannot be checked.
            Ok(()) | Err(TryLockError::Error(_)) => return None,
        }
        fs::read_to_string(self.file(address, "proof")).ok().map(LocalProof)
    }

    /// Whether a hub runs or ran at an address.
    pub fn knows(&self, address: SocketAddr) -> bool {
        self.file(canonical(address), "proof").exists()
    }

    fn file(&self, address: SocketAddr, kind: &str) -> PathBuf {
        let host = address.ip().to_string().replace(':', "-");
        self.0.join(format!("{host}_{}.{kind}", address.port()))
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn locked(file: &File) -> io::Result<()> {
    for _ in 1..MAX_LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => sleep(LOCK_RETRY_DELAY),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    file.try_lock().map_err(io::Error::from)
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_proof_is_found_while_its_hub_runs_and_only_at_its_addresses() {
        let directory = tempfile::tempdir().unwrap();
        let hubs = LocalHubs::within(directory.path().join("hubs"));
        let proof = LocalProof::random();
        let addresses = ["127.0.0.1:4287", "[::1]:4288", "192.0.2.1:4287"].map(at);
        assert!(!hubs.knows(addresses[0]));
        let announced = hubs.announce(&addresses, &proof).unwrap();
        for address in ["127.0.0.1:4287", "[::1]:4288", "[::ffff:127.0.0.1]:4287"] {
            assert_eq!(hubs.proof(at(address)).unwrap().0, proof.0, "{address}");
        }
        for address in ["127.0.0.1:4288", "[::1]:4287", "127.0.0.2:4287", "192.0.2.1:4287"] {
            assert!(hubs.proof(at(address)).is_none() && !hubs.knows(at(address)), "{address}");
        }
        drop(announced);
        assert!(hubs.proof(addresses[0]).is_none(), "whoever listens there now is not the hub");
        assert!(hubs.knows(addresses[0]));
        let later = LocalProof::random();
        let _announced = hubs.announce(&addresses, &later).unwrap();
        assert_eq!(hubs.proof(addresses[0]).unwrap().0, later.0);
        assert_ne!(later.0, proof.0);
    }

    #[test]
    #[cfg(unix)]
    fn a_proof_is_readable_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let hubs = LocalHubs::within(directory.path().join("hubs"));
        let address = at("127.0.0.1:4287");
        fs::create_dir(&hubs.0).unwrap();
        // A file with wrong permissions.
        let file = hubs.file(address, "proof");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let _announced = hubs.announce(&[address], &LocalProof::random()).unwrap();
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_request_shows_a_proof_once_and_whole() {
        let proof = LocalProof::random();
        let shows = |values: &[&str]| {
            let values = values.iter().map(|value| (LOCAL_PROOF, value.parse().unwrap()));
            proof.is_shown(&values.collect::<HeaderMap>())
        };
        assert!(proof.is_shown(&HeaderMap::from_iter([(LOCAL_PROOF, proof.value().unwrap())])));
        assert!(!shows(&[]));
        assert!(!shows(&[""]));
        assert!(!shows(&[&proof.0[1..]]));
        assert!(!shows(&[&LocalProof::random().0]));
        let mut twice = HeaderMap::new();
        twice.append(LOCAL_PROOF, proof.value().unwrap());
        twice.append(LOCAL_PROOF, proof.value().unwrap());
        assert!(!proof.is_shown(&twice));
        assert_eq!(format!("{proof:?} {:?}", proof.value()), "LocalProof Some(Sensitive)");
    }
}
