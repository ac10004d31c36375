//! `feedsync vault`

mod create;
mod link;
mod mirror;
mod trust_help;

use clap::{Args, Subcommand};
use feedsync_server::configuration::{self, Sources};
use feedsync_store::UserName;
use http::Uri;

use crate::commands::serve::public_base;
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::vault;

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync serve --vault notes
  feedsync vault create notes --url https://hub.example.org/couch
  feedsync vault link notes --url https://hub.example.org/couch
  feedsync vault mirror notes ~/notes --watch
";

/// Create vaults of notes for the Obsidian plugin Self-hosted LiveSync, and connect devices to them
///
/// A vault is a database, and a user who may use databases only. `feedsync serve --vault` creates one when a hub starts.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Vault {
    Create(create::Create),
    Link(link::Link),
    Mirror(mirror::MirrorVault),
    TrustHelp(trust_help::TrustHelp),
}

/// The vault that a command is about, and where devices reach it.
#[derive(Debug, Args)]
pub(crate) struct VaultArguments {
    /// Name of the vault: lower-case letters, digits and _$()+-
    name: String,
    /// User whose devices use the vault [default: the name of the vault]
    #[arg(long, value_name = "U")]
    user: Option<UserName>,
    /// Address of the databases, as devices reach it [default: the setting public_base, with /couch]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

impl Vault {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::Link(command) => command.run(context).await,
            Self::Mirror(command) => command.run(context).await,
            Self::TrustHelp(command) => command.run(context),
        }
    }
}

impl VaultArguments {
    fn vault(&self) -> Result<vault::Vault, Failure> {
        vault::Vault::new(&self.name, self.user.clone())
    }

    /// The address that devices get. The plugin refuses capital letters and spaces in it, and telephones refuse `http`.
    fn url(&self, context: &Context) -> Result<String, Failure> {
        let url = match &self.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => public_address(context)?.ok_or_else(|| {
                Failure::usage(
                    "the hub has no public_base, so the address of the databases is not known",
                )
                .hint("name it: --url https://hub.example.org/couch")
            })?,
        };
        let parsed = url.parse::<Uri>().ok();
        let host = parsed.as_ref().and_then(Uri::authority);
        let is_http = parsed.as_ref().and_then(Uri::scheme_str) == Some("http");
        let is_plain = !url.chars().any(|letter| letter.is_ascii_uppercase());
        let is_web = is_http || parsed.as_ref().and_then(Uri::scheme_str) == Some("https");
        let (Some(host), true, true) = (host, is_plain, is_web) else {
            let hint = "an address is https://HOST/couch, without capital letters";
            return Err(Failure::usage(format!("{url:?} is no address of databases")).hint(hint));
        };
        if is_http && !feedsync_http::is_loopback(host) {
            warn(&format!(
                "{url} is not encrypted: telephones refuse it, and others can read the token"
            ));
        }
        Ok(url)
    }
}

/// Address of the databases below the public address of the hub, if it is configured.
fn public_address(context: &Context) -> Result<Option<String>, Failure> {
    let path = std::env::var_os("FEEDSYNC_CONFIG").map(std::path::PathBuf::from);
    let file = context.configuration(path.as_deref())?;
    let named = ["public_base", "tls.acme_names"].map(configuration::variable);
    let environment =
        named.into_iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    let sources = Sources { file, environment: environment.collect(), flags: Vec::new() };
    let config = configuration::configure(&sources).map_err(Failure::usage)?;
    Ok(public_base(&config).map(|base| vault::below(&base)))
}
