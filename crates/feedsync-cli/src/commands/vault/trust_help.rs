//! `feedsync vault trust-help`

use clap::Args;
use feedsync_gateway::tls_interception::CertificateAuthority;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::quoted;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync vault trust-help
";

/// Explain how to make computers and telephones trust the certificate of this hub
///
/// `feedsync serve --vault` makes a certificate authority in the data directory if the hub listens on the network and has
/// no certificate. The authority is good for the addresses of the hub only.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrustHelp;

impl TrustHelp {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let found = CertificateAuthority::certificate_in(&context.data).map_err(Failure::store)?;
        let Some(certificate) = found else {
            let serve = context.command("serve --vault NAME --listen ADDRESS:4287");
            return Err(Failure::not_found("this hub has no certificate authority")
                .hint(format!("it makes one when it starts: {serve}")));
        };
        let path = CertificateAuthority::certificate_path(&context.data);
        let path = std::path::absolute(&path).unwrap_or(path).display().to_string();
        let hosts: Vec<_> = certificate.only().iter().map(ToString::to_string).collect();
        let text = TRUST.replace("{path}", &quoted(&path));
        let text = text.replace("{name}", certificate.name());
        let text = text.replace("{fingerprint}", &certificate.fingerprint());
        let text = text.replace("{hosts}", &hosts.join(", "));
        let value = json!({
            "path": path,
            "name": certificate.name(),
            "fingerprint": certificate.fingerprint(),
            "hosts": hosts,
            "help": text,
        });
        output::result(context.json, &value, text.trim_end())
    }
}

const TRUST: &str = "\
The certificate is {path}
Its name is \"{name}\". It is good for {hosts} only.
Its fingerprint (SHA-256) is
  {fingerprint}

A device gets it at https://ADDRESS:PORT/authority.crt of the hub, or as a copy of the file. The browser warns there, because it
does not trust the hub yet. Compare the fingerprint that the device shows.

  iPhone, iPad     open the address in Safari, then Settings > General > VPN & Device Management > install;
                   then Settings > General > About > Certificate Trust Settings > switch it on
  Android          Obsidian does not trust certificates that a user installs: use a certificate of a public authority,
                   with --tls-certificate and --tls-key or a reverse proxy
  macOS            security add-trusted-cert -r trustRoot -k ~/Library/Keychains/login.keychain-db {path}
  Windows          certutil -user -addstore Root {path}
  Debian, Ubuntu   sudo cp {path} /usr/local/share/ca-certificates/feedsync-hub.crt && sudo update-ca-certificates
                   Obsidian reads the list of Chromium:
                   certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n \"{name}\" -i {path}
";
