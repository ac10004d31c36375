//! The address of a database: connection parameters, and a form without secrets to show to people.
//!
//! TLS is rustls with the ring provider and the system's certificates (`SSL_CERT_FILE` names others). The
//! server's certificate is always verified. `sslmode=require` rejects a server without TLS, and `disable`
//! never requests TLS. Without `sslmode` TLS is requested, except on this machine.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::password;
use crate::error::StoreError;

/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time after which a server that stopped responding is detected.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// A parsed URL. Its texts never contain the password.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    display_url: String,
}

impl Address {
    /// Parses `postgres://user:password@host:port/database` or a libpq connection string. A missing password
    /// is looked up where libpq finds it.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        // The parser's message may contain a part of a password that was not escaped.
        let unreadable = |_| StoreError::Place {
            path: PathBuf::from("postgres:"),
            reason: "not the address of a database: use \
            postgres://user:password@host:port/database, with special characters as %hh; sslmode \
            can be disable, prefer or require",
        };
        let mut config: Config = url.parse().map_err(unreadable)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StoreError::Place {
                path: PathBuf::from("postgres:"),
                reason: "the address of the database has no host",
            });
        }
        password::complete(&mut config)?;
        let says_mode = url.contains("sslmode");
        if !says_mode && is_here(&config) {
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("feedsync");
        }
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.tcp_user_timeout(TCP_USER_TIMEOUT).keepalives_idle(TCP_USER_TIMEOUT);
        let tls = tls(config.get_ssl_mode())?;
        let display_url = display_url(&config);
        Ok(Self { config, tls, display_url })
    }

    /// Address without secrets, for error messages.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(&self.display_url)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display_url)
    }
}

fn tls(mode: SslMode) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    if mode != SslMode::Disable {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Database(Box::new(error)))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Whether all servers are at Unix sockets or on the loopback interface. If there is a numeric address, it is
/// the one that is connected to, whatever the host name is.
fn is_here(config: &Config) -> bool {
    let is_here = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_here)
        && config.get_hostaddrs().iter().all(|address| address.is_loopback())
}

fn display_url(config: &Config) -> String {
    let host = |host: &Host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    };
    let ports = config.get_ports();
    let named = config.get_hosts().iter().enumerate().map(|(place, name)| {
        let port = ports.get(place).or(ports.first()).filter(|port| **port != 5432);
        port.map_or_else(|| host(name), |port| format!("{}:{port}", host(name)))
    });
    let mut hosts: Vec<String> = named.collect();
    if hosts.is_empty() {
        hosts = config.get_hostaddrs().iter().map(ToString::to_string).collect();
    }
    let user = config.get_user().map_or_else(String::new, |user| format!("{user}@"));
    format!("postgres://{user}{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let address = Address::parse("postgres://anna:geheim@db.example:6432/hub").unwrap();
        assert_eq!(address.to_string(), "postgres://anna@db.example:6432/hub");
        let address = Address::parse("host=/run/pg user=anna password=geheim dbname=hub").unwrap();
        assert_eq!(address.to_string(), "postgres://anna@/run/pg/hub");
        for unreadable in [
            "postgres://anna:geheim@db:x/hub",
            "postgres://anna@db/hub?geheim=1",
            "mysql://anna:geheim@db",
            "anna:geheim@db",
            "",
        ] {
            let error = Address::parse(unreadable).err().expect(unreadable);
            assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
        }
    }

    #[test]
    fn tls_is_requested_unless_the_server_is_local() {
        let mode = |url: &str| Address::parse(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://db.example/hub"), SslMode::Prefer);
        assert_eq!(mode("postgres://db.example/hub?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://localhost/hub"), SslMode::Disable);
        assert_eq!(mode("postgres://127.0.0.1/hub?sslmode=require"), SslMode::Require);
        assert_eq!(mode("host=/run/postgresql"), SslMode::Disable);
        assert_eq!(mode("host=localhost hostaddr=127.0.0.1"), SslMode::Disable);
        assert_eq!(mode("host=localhost hostaddr=192.0.2.1"), SslMode::Prefer);
        assert_eq!(mode("hostaddr=192.0.2.1"), SslMode::Prefer);
        assert_eq!(mode("hostaddr=::1"), SslMode::Disable);
        assert_eq!(mode("host=localhost,localhost hostaddr=127.0.0.1,192.0.2.1"), SslMode::Prefer);
    }
}
