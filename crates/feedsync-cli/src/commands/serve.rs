//! `feedsync serve`

use std::net::SocketAddr;

use clap::Args;
use feedsync_client::{Schedule, Session};
use feedsync_server::{Config, ServeError, serve};
use feedsync_store::SqliteStore;
use serde_json::json;
use tracing_subscriber::EnvFilter;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, BOLD};
use crate::source::fetcher;

const EXAMPLES: &str = "\
Examples:
  feedsync serve
  feedsync --data ~/hub serve --listen 127.0.0.1:8080
  FEEDSYNC_LOG=debug feedsync serve
";

/// Run the hub: publish collections, take edits and merge what others send
///
/// A fresh data directory is initialised. Other commands can use the same directory at the same time.
/// The hub has no users yet, so it listens on loopback addresses only.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// Listen on this loopback address; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4287")]
    listen: SocketAddr,
}

impl Serve {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if !self.listen.ip().is_loopback() {
            return Err(Failure::refused(ServeError::NotLoopback(self.listen)));
        }
        let filter = EnvFilter::try_from_env("FEEDSYNC_LOG");
        let filter = filter.unwrap_or_else(|_| EnvFilter::new("warn"));
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
        let fresh = !SqliteStore::exists(&context.data);
        let home = if fresh { context.init()? } else { context.open()? };
        let name = home.endpoint.identity().await?.name;
        let config = Config { listen: self.listen, ..Config::default() };
        let serving =
            serve(home.endpoint.clone(), config, asked_to_stop()).await.map_err(Failure::store)?;
        let address = format!("http://{}", serving.address());
        if context.json {
            let data = context.data.display().to_string();
            output::json(&json!({ "url": address, "name": name.as_str(), "data": data }))?;
        } else {
            let data = context.data.display();
            output::print(&format!(
                "{BOLD}feedsync{BOLD:#} serves the endpoint {name} of {data}\n\
                 {BOLD}listening on {address}/{BOLD:#}\n\n{}",
                next_steps(context, &address)
            ))?;
        }
        let subscriptions = Schedule::new(Session::new(home.endpoint.clone(), fetcher()?));
        let reading = tokio::spawn(subscriptions.run());
        let finished = serving.finished().await;
        // What was stored of a feed that is being read stays; the rest is read another time.
        reading.abort();
        finished.map_err(Failure::store)
    }
}

fn next_steps(context: &Context, address: &str) -> String {
    let here = |arguments: &str| context.command(arguments);
    let there = |arguments: &str| context.command_at("other", arguments);
    let url = format!("{address}/collections/notes");
    format!(
        "Try next, in another terminal:\n  {}\n  {}\n  curl {url}\n\n\
         A second endpoint, in step with this one:\n  {}\n  {}\n\n\
         Stop with Ctrl-C.\n",
        here("create notes"),
        here("add notes --title Milk --content 'two litres'"),
        there("init --endpoint other"),
        there(&format!("sync notes {url}")),
    )
}

/// Ready when the person or the system wants the hub to end.
async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Without signals, the hub ends when it is killed: nothing acknowledged is lost by that.
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    #[cfg(not(unix))]
    {
        let _ = tokio::signal::ctrl_c().await;
    }
}
