//! `feedsync serve --vault`

use std::io::{self, IsTerminal as _};
use std::net::{IpAddr, SocketAddr};

use feedsync_gateway::tls_interception::{CertificateAuthority, PermittedHost};
use feedsync_server::{Config, ServedCertificate, Serving};
use serde_json::Value;
use tokio::time::sleep;

use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::output::BOLD;
use crate::vault::certificate::{HubCertificate, RENEWAL, reachable};
use crate::vault::{DeviceLink, Made, NotesPassphrase, Vault, below};

/// A vault that a hub has from its start on.
#[derive(Debug)]
pub(super) struct ServedVault {
    vault: Vault,
    /// Set if this start created it.
    made: Option<Made>,
    certificate: Option<HubCertificate>,
}

/// Output about a vault when its hub starts.
#[derive(Debug)]
pub(super) struct Announcement {
    /// For programs: the settings of the first device, or null.
    pub(super) json: Value,
    /// For people.
    pub(super) text: String,
}

impl ServedVault {
    /// Creates a vault unless it exists. A hub on the network that has no certificate and no public address gets one of an
    /// authority of its own, which the configuration then names.
    pub(super) async fn open(
        context: &Context,
        home: &OpenEndpoint,
        name: &str,
        config: &mut Config,
    ) -> Result<Self, Failure> {
        let vault = Vault::new(name, None)?;
        let certificate = match needs_certificate(config) {
            true => Some(certificate(context, config)?),
            false => None,
        };
        let made = match vault.exists(home).await? {
            true => None,
            false => Some(vault.create(home).await?),
        };
        Ok(Self { vault, made, certificate })
    }

    /// Output for the person who starts the hub. If this start created the vault, that includes a Setup URI, but not in
    /// the log of a service.
    pub(super) async fn announcement(
        &self,
        (context, home): (&Context, &OpenEndpoint),
        serving: &Serving,
        public_base: Option<&str>,
    ) -> Result<Announcement, Failure> {
        let url = below(&public_base.map_or_else(|| address(serving), str::to_owned));
        let is_shown = self.made.is_some() && (context.json || io::stdout().is_terminal());
        let link = match is_shown {
            true => Some(self.vault.link(home, &url, NotesPassphrase::New).await?),
            false => None,
        };
        let json = link.as_ref().map_or(Value::Null, DeviceLink::json);
        Ok(Announcement { json, text: self.text(context, link.as_ref(), &url) })
    }

    fn text(&self, context: &Context, shown: Option<&DeviceLink>, url: &str) -> String {
        let name = &self.vault.database;
        let trust = self.certificate.as_ref().map_or(String::new(), |certificate| {
            let help = context.command("vault trust-help");
            let fingerprint = certificate.authority().fingerprint();
            format!(
                "Devices must trust the certificate of this hub: {BOLD}{help}{BOLD:#}\n  {fingerprint}\n\n"
            )
        });
        let link = |made: &str| context.command(&format!("vault link {name} --url {url}{made}"));
        let vault = match (shown, self.made) {
            (Some(link), _) => link.text(),
            (None, Some(_)) => {
                format!(
                    "The vault {name} is created. Its first device: {}\n",
                    link(" --new-passphrase")
                )
            }
            (None, None) => format!("The vault {name} is there. Another device: {}\n", link("")),
        };
        let made = self.made.map_or(String::new(), |made| made.text(context));
        format!("\n{made}{trust}{vault}")
    }

    /// Makes the certificate anew every 30 days, as long as the hub runs.
    pub(super) async fn renew(certificate: Option<HubCertificate>, served: ServedCertificate) {
        let Some(certificate) = certificate else { return };
        loop {
            sleep(RENEWAL).await;
            match certificate.renew() {
                Err(failure) => tracing::warn!(%failure, "the certificate is not renewed"),
                Ok(_) => {
                    if let Err(error) = served.reload() {
                        tracing::warn!(%error, "the certificate is not renewed");
                    }
                }
            }
        }
    }

    /// The certificate that has to be renewed.
    pub(super) fn into_certificate(self) -> Option<HubCertificate> {
        self.certificate
    }
}

/// Address of a hub, as other devices reach it.
fn address(serving: &Serving) -> String {
    let bound = serving.address();
    let scheme = if serving.is_encrypted() { "https" } else { "http" };
    let ip = reachable(bound).unwrap_or(bound.ip());
    format!("{scheme}://{}", SocketAddr::new(ip, bound.port()))
}

fn needs_certificate(config: &Config) -> bool {
    let is_wide = listening(config).any(|address| !address.ip().is_loopback());
    let is_named = config.public_base.is_some() || !config.tls.acme_names.is_empty();
    is_wide && config.tls.certificate.is_none() && !is_named
}

/// All addresses that a hub will listen on.
fn listening(config: &Config) -> impl Iterator<Item = &SocketAddr> {
    config.listen.iter().chain(&config.couch_listen)
}

/// Opens the authority, and has the configuration name the certificate and the addresses that it is for.
fn certificate(context: &Context, config: &mut Config) -> Result<HubCertificate, Failure> {
    let mut hosts = Vec::new();
    for listen in listening(config) {
        let ip = reachable(*listen).ok_or_else(|| {
            Failure::usage("this machine has no address in a network")
                .hint("name the address that devices use: --listen ADDRESS:PORT")
        })?;
        hosts.push(match ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        });
    }
    // Requests for the addresses of the hub are accepted, too.
    for host in hosts {
        if !config.hosts.contains(&host) {
            config.hosts.push(host);
        }
    }
    let without_port = config.hosts.iter().map(|host| match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name.to_owned(),
        _ => host.clone(),
    });
    let local = ["localhost", "127.0.0.1"].map(str::to_owned);
    let hosts: Result<Vec<PermittedHost>, _> =
        without_port.chain(local).map(|host| host.parse()).collect();
    let certificate = HubCertificate::open(&context.data, hosts.map_err(Failure::usage)?)?;
    let files = certificate.renew()?;
    config.tls.certificate = Some(files.certificate);
    config.tls.authority = Some(CertificateAuthority::certificate_path(&context.data));
    config.tls.key = Some(files.key);
    Ok(certificate)
}
