//! `feedsync gateway`

mod ca;
mod control;
mod errors;
mod network;
mod outbox;
mod serving;
mod status;
mod subscriptions;

use std::net::SocketAddr;

use clap::{Args, Subcommand};
use feedsync_bitsy::interceptor::Settings;
use feedsync_bitsy::profile::Profile;
use feedsync_gateway::proxy::PageOrigin;
use feedsync_gateway::store::Quota;
use feedsync_gateway::target::{Allowed, Mount, Newsreader};
use feedsync_gateway::{Config, Running, StoreConfig, start};
use feedsync_server::configuration::LogFormat;
use serde_json::json;

pub(crate) use control::directory;

use crate::context::{Context, local_hubs};
use crate::failure::{self, Failure};
use crate::logging;
use crate::output::{self, BOLD};
use crate::signals::stop_requested;
use crate::values::{size, socket};

const EXAMPLES: &str = "\
Examples:
  feedsync gateway --mount notes=https://example.org/notes/
  feedsync gateway --allow example.org --allow '*.example.net' --allow box.lan:8080
  feedsync gateway --newsreader google=https://hub.example.org/reader/google
  feedsync gateway --allow '*' --allow-origin https://app.example.org
  feedsync gateway --allow example.org --intercept

  curl http://127.0.0.1:5023/notes/
  curl http://127.0.0.1:5023/https/example.org/notes/
  curl --proxy http://127.0.0.1:5023 http://example.org/notes/
";

const USAGE: &str = "feedsync gateway [OPTIONS]\n       feedsync gateway [OPTIONS] <COMMAND>";

/// Run the gateway, a proxy that keeps applications on this machine working offline
///
/// Applications reach a server through the gateway in one of two ways. As a reverse proxy the gateway serves
/// https://HOST/PATH at http://127.0.0.1:5023/https/HOST/PATH, or below a mounted name. As a forward proxy
/// (http_proxy, https_proxy) it forwards http, and tunnels https without reading it, or reads it with --intercept.
///
/// The gateway stores feeds that are subscribed to, and the resources behind links that it follows. It serves them
/// online and offline. It accepts edits of their entries without a network, and sends each edit once, in order, when
/// the network is back. An edit that a server refuses is kept as an error until somebody clears it.
///
/// The gateway connects only to servers that are mounted, allowed or subscribed to. It connects to private addresses,
/// such as those of the local network, only if that host is mounted or allowed by name.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
#[command(subcommand_help_heading = "Commands for a gateway that runs")]
pub(crate) struct Gateway {
    #[command(flatten)]
    _alone: serving::Alone,
    #[command(subcommand)]
    command: Option<Command>,
    /// Address for applications; port 0 takes a free one. Everybody who can reach it may use the gateway
    #[arg(long, value_name = "ADDRESS", default_value_t = Config::default().listen)]
    #[arg(value_parser = socket)]
    listen: SocketAddr,
    /// Control address, on this machine; port 0 takes a free one [default: 127.0.0.1:5024]
    #[arg(long, value_name = "ADDRESS", value_parser = socket, global = true)]
    control: Option<SocketAddr>,
    /// Maximum size of what is stored of feeds and of what they link to, such as 512 MiB. Edits and errors are not
    /// counted
    #[arg(long, value_name = "SIZE", default_value = "2 GiB", value_parser = size)]
    quota: u64,
    /// Follow BITSY literally, even where that loses edits: every error of a server ends an edit. Addresses in
    /// documents stay as the server wrote them
    #[arg(long)]
    strict: bool,
    /// Server to connect to: HOST on its default ports, HOST:PORT, *.example.org for all hosts below a name, or * for
    /// all public hosts (can be repeated)
    #[arg(long, value_name = "HOST[:PORT]")]
    allow: Vec<Allowed>,
    /// Serve URL as /NAME/ (can be repeated)
    #[arg(long, value_name = "NAME=URL")]
    mount: Vec<Mount>,
    /// Keep newsreaders working offline: they use /INTERFACE/ at the gateway as the address of their server, which is
    /// at URL. INTERFACE is google, miniflux, nextcloud or ttrss; NAME:INTERFACE=URL is served as /NAME/ (can be
    /// repeated)
    #[arg(long, value_name = "INTERFACE=URL")]
    newsreader: Vec<Newsreader>,
    /// Web pages of ORIGIN, such as https://HOST, may use the gateway (can be repeated)
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<PageOrigin>,
    /// Read https that applications send through the proxy, so that it works offline as http does. Applies to servers
    /// that are mounted, subscribed to or allowed by name. Applications must trust a certificate authority that is made
    /// for this gateway: see `feedsync gateway ca trust-help`
    #[arg(long)]
    intercept: bool,
}

/// Commands for a running gateway.
#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Status),
    Open(status::Open),
    Subscribe(subscriptions::Subscribe),
    Unsubscribe(subscriptions::Unsubscribe),
    Pause(subscriptions::Pause),
    Resume(subscriptions::Resume),
    Follow(subscriptions::Follow),
    Outbox(outbox::Outbox),
    Cancel(outbox::Cancel),
    Errors(errors::Errors),
    Retry(errors::Retry),
    Clear(errors::Clear),
    Refresh(network::Refresh),
    Offline(network::Offline),
    Online(network::Online),
    Auto(network::Auto),
    #[command(subcommand)]
    Ca(ca::Ca),
}

impl Command {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Status(command) => command.run(context).await,
            Self::Open(command) => command.run(context).await,
            Self::Subscribe(command) => command.run(context).await,
            Self::Unsubscribe(command) => command.run(context).await,
            Self::Pause(command) => command.run(context).await,
            Self::Resume(command) => command.run(context).await,
            Self::Follow(command) => command.run(context).await,
            Self::Outbox(command) => command.run(context).await,
            Self::Cancel(command) => command.run(context).await,
            Self::Errors(command) => command.run(context).await,
            Self::Retry(command) => command.run(context).await,
            Self::Clear(command) => command.run(context).await,
            Self::Refresh(command) => command.run(context).await,
            Self::Offline(command) => command.run(context).await,
            Self::Online(command) => command.run(context).await,
            Self::Auto(command) => command.run(context).await,
            Self::Ca(command) => command.run(context),
        }
    }
}

impl Gateway {
    /// Whether it runs the gateway, and does not control one that runs.
    pub(crate) fn is_server(&self) -> bool {
        self.command.is_none()
    }

    pub(crate) async fn run(mut self, context: &Context) -> Result<(), Failure> {
        match self.command.take() {
            Some(command) => command.run(context).await,
            None => self.serve(context).await,
        }
    }

    async fn serve(self, context: &Context) -> Result<(), Failure> {
        let level = std::env::var("FEEDSYNC_LOG_LEVEL").unwrap_or_else(|_| "info".to_owned());
        logging::begin(&level, "FEEDSYNC_LOG_LEVEL", LogFormat::Text)?;
        let newsreaders = self.newsreader.iter().map(|newsreader| &newsreader.mount);
        let mounts: Vec<&Mount> = self.mount.iter().chain(newsreaders).collect();
        for (at, mount) in mounts.iter().enumerate() {
            if mounts[..at].iter().any(|other| other.name() == mount.name()) {
                return Err(Failure::usage(format!("{} is mounted twice", mount.name())));
            }
        }
        let config = Config {
            listen: self.listen,
            mounts: self.mount,
            newsreaders: self.newsreader,
            allow: self.allow,
            allow_origins: self.allow_origin,
            rewrites_links: !self.strict,
            local_hubs: local_hubs(),
            intercept: self.intercept.then(|| directory(&context.data)),
            ..Config::default()
        };
        let profile = if self.strict { Profile::Strict } else { Profile::Resilient };
        let keep = StoreConfig::new(directory(&context.data));
        let settings = Settings { profile, ..keep.settings };
        let control = self.control.unwrap_or(keep.control);
        let keep = StoreConfig { control, quota: Quota(self.quota), settings, ..keep };
        let running = start(&config, &keep, stop_requested()).await.map_err(Failure::store)?;
        if !running.address().ip().is_loopback() {
            let address = running.address();
            failure::warn(&format!("everybody who can reach {address} may use the gateway"));
        }
        print_addresses(context.json, &config, &running)?;
        running.finished().await.map_err(Failure::store)
    }
}

/// Prints the addresses of the gateway, and how to use it.
fn print_addresses(as_json: bool, config: &Config, running: &Running) -> Result<(), Failure> {
    let url = format!("http://{}", running.address());
    let control = format!("http://{}", running.control());
    if as_json {
        return output::json(&json!({ "url": url, "control": control }));
    }
    let newsreaders = config.newsreaders.iter().map(|newsreader| &newsreader.mount);
    let mut ways: String = config
        .mounts
        .iter()
        .chain(newsreaders)
        .map(|mount| format!("  {url}/{}/ is {}\n", mount.name(), mount.base()))
        .collect();
    if ways.is_empty() && config.allow.is_empty() {
        ways = "  nothing is reached yet: see --mount and --allow in feedsync gateway --help\n"
            .to_owned();
    } else if !config.allow.is_empty() {
        let allowed: Vec<_> = config.allow.iter().map(ToString::to_string).collect();
        ways.push_str(&format!(
            "  {url}/https/HOST/PATH and --proxy {url}: {}\n",
            allowed.join(", ")
        ));
    }
    output::print(&format!(
        "{BOLD}feedsync{BOLD:#} passes on what applications ask, and keeps what is subscribed to\n\
         {BOLD}listening on {url}/{BOLD:#}\ncontrolled on {control}/\n\n{ways}\nStop with Ctrl-C.\n"
    ))
}
