//! `feedsync gateway ca`

use std::time::SystemTime;

use clap::{Args, Subcommand};
use feedsync_bitsy::time::Time;
use feedsync_gateway::tls_interception::{
    AuthorityCertificate, CertificateAuthority, CertificateAuthorityError, PermittedHost,
};
use serde_json::{Value, json};

use super::control::directory;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::quoted;
use crate::output;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync gateway ca create --only example.org
  feedsync gateway ca show
  feedsync gateway ca trust-help
  feedsync gateway ca remove
";

/// Show, create and remove the certificate authority of `feedsync gateway --intercept`
///
/// `feedsync gateway --intercept` makes an authority when it starts without one. Its key stays in the data directory of
/// the gateway, and only you can read it. With the key, anybody can read https of every application that trusts
/// the authority.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Ca {
    Show(Show),
    Create(Create),
    TrustHelp(TrustHelp),
    Remove(Remove),
}

const SHOW_EXAMPLES: &str = "\
Examples:
  feedsync gateway ca show
  feedsync gateway ca show --json
";

/// Show the certificate: its name, fingerprint and life, and the certificate itself in PEM
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct Show;

const CREATE_EXAMPLES: &str = "\
Examples:
  feedsync gateway ca create
  feedsync gateway ca create --only example.org --only box.lan
";

/// Create the authority before the gateway does, to limit it to certain hosts
#[derive(Debug, Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub(crate) struct Create {
    /// Host that the authority is good for, with all names below it; applications refuse it for others, even if its key
    /// is stolen (can be repeated)
    #[arg(long, value_name = "HOST")]
    only: Vec<PermittedHost>,
}

const TRUST_HELP_EXAMPLES: &str = "\
Examples:
  feedsync gateway ca trust-help
";

/// Explain how systems and applications are told to trust the authority, and no longer to trust it
#[derive(Debug, Args)]
#[command(after_help = TRUST_HELP_EXAMPLES)]
pub(crate) struct TrustHelp;

const REMOVE_EXAMPLES: &str = "\
Examples:
  feedsync gateway ca remove
  feedsync gateway ca remove --yes
";

/// Remove the key and the certificate; a gateway that runs keeps using them until it stops
#[derive(Debug, Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct Remove {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Ca {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Show(_) => {
                let certificate = existing(context)?;
                output::result(context.json, &view(&certificate), facts(&certificate))
            }
            Self::Create(Create { only }) => {
                let data = directory(&context.data);
                let made = CertificateAuthority::create(&data, &only, SystemTime::now());
                let made = made.map_err(|error| failed(error, context))?;
                let text = format!(
                    "{}\nApplications must trust it: {}",
                    facts(made.certificate()),
                    context.command("gateway ca trust-help")
                );
                output::result(context.json, &view(made.certificate()), text)
            }
            Self::TrustHelp(_) => {
                let certificate = existing(context)?;
                let path = CertificateAuthority::certificate_path(&directory(&context.data));
                // Applications start in other directories.
                let path = std::path::absolute(&path).unwrap_or(path).display().to_string();
                let text = TRUST.replace("{path}", &quoted(&path));
                let text = text.replace("{name}", certificate.name());
                let value = json!({ "path": path, "name": certificate.name(), "help": text });
                output::result(context.json, &value, text.trim_end())
            }
            Self::Remove(Remove { yes }) => remove(context, yes),
        }
    }
}

fn remove(context: &Context, yes: bool) -> Result<(), Failure> {
    let data = directory(&context.data);
    // A damaged certificate can be removed, too.
    let found = CertificateAuthority::certificate_in(&data);
    let name = found.ok().flatten().map_or("feedsync gateway until …".to_owned(), |certificate| {
        certificate.name().to_owned()
    });
    let loss = "the authority is gone then, and applications must trust a new one";
    confirm(loss, yes)?;
    let removed = CertificateAuthority::remove(&data).map_err(|error| failed(error, context))?;
    if !removed {
        return Err(missing(context));
    }
    let text = format!(
        "removed the certificate authority. Remove \"{name}\" from every system and application that \
         trusts it, and stop a gateway that runs with --intercept"
    );
    output::result(context.json, &json!({ "removed": name }), text)
}

fn existing(context: &Context) -> Result<AuthorityCertificate, Failure> {
    let found = CertificateAuthority::certificate_in(&directory(&context.data));
    found.map_err(|error| failed(error, context))?.ok_or_else(|| missing(context))
}

fn missing(context: &Context) -> Failure {
    let hint = format!("create it: {}", context.command("gateway ca create"));
    Failure::not_found("this gateway has no certificate authority").hint(hint)
}

fn failed(error: CertificateAuthorityError, context: &Context) -> Failure {
    match error {
        CertificateAuthorityError::Exists(_) => {
            let remove = context.command("gateway ca remove");
            Failure::refused(error).hint(format!("remove it first: {remove}"))
        }
        error => Failure::store(error),
    }
}

fn view(certificate: &AuthorityCertificate) -> Value {
    let only: Vec<String> = certificate.only().iter().map(ToString::to_string).collect();
    json!({
        "name": certificate.name(),
        "fingerprint": certificate.fingerprint(),
        "not_before": date(certificate.not_before()),
        "not_after": date(certificate.not_after()),
        "only": only,
        "certificate": certificate.pem(),
    })
}

fn facts(certificate: &AuthorityCertificate) -> String {
    let only: Vec<String> = certificate.only().iter().map(ToString::to_string).collect();
    let only = if only.is_empty() { "all".to_owned() } else { only.join(", ") };
    format!(
        "name         {}\nfingerprint  {}\nvalid from   {}\nvalid until  {}\nhosts        {only}\n\n{}",
        certificate.name(),
        certificate.fingerprint(),
        date(certificate.not_before()),
        date(certificate.not_after()),
        certificate.pem(),
    )
}

fn date(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)).date_time()
}

/// Each line of an instruction is a command or a variable, as a shell reads it.
const TRUST: &str = "\
The certificate is {path}
Its name is \"{name}\". The fewer applications trust it, the less a stolen key can do: prefer
one application to the whole system. `feedsync gateway ca remove` removes the key; then undo what you did here.

One application
  curl             curl --cacert {path}
  Python requests  REQUESTS_CA_BUNDLE={path}
  Other Python     SSL_CERT_FILE={path}
  Perl             PERL_LWP_SSL_CA_FILE={path}
  newsboat         CURL_CA_BUNDLE={path}
  Node.js          NODE_EXTRA_CA_CERTS={path}
  Java             keytool -importcert -noprompt -alias feedsync -file {path} -keystore feedsync.p12 -storepass feedsync
                   java -Djavax.net.ssl.trustStore=feedsync.p12 -Djavax.net.ssl.trustStorePassword=feedsync
                   To undo it: rm feedsync.p12
  Firefox          Settings > Privacy & Security > View Certificates > Authorities > Import, and select
                   \"Trust this CA to identify websites\"
                   To undo it: the same list > Delete or Distrust
  Chromium         mkdir -p $HOME/.pki/nssdb
                   certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n \"{name}\" -i {path}
                   To undo it: certutil -d sql:$HOME/.pki/nssdb -D -n \"{name}\"

The command certutil is in the package libnss3-tools of Debian; on Windows it is another program. Except in Node.js, Firefox
and Chromium, the certificate replaces all other authorities: use these lines only for an application whose https goes
through the gateway, or append the certificate to a copy of the file of the system.

All applications
  Debian, Ubuntu   sudo cp {path} /usr/local/share/ca-certificates/feedsync-gateway.crt
                   sudo update-ca-certificates
                   To undo it: sudo rm /usr/local/share/ca-certificates/feedsync-gateway.crt
                   sudo update-ca-certificates --fresh
  macOS            security add-trusted-cert -r trustRoot -k ~/Library/Keychains/login.keychain-db {path}
                   To undo it: security remove-trusted-cert {path}
  Windows          certutil -user -addstore Root {path}
                   To undo it: certutil -user -delstore Root \"{name}\"
";
