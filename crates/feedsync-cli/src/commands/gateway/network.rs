//! `feedsync gateway refresh`, `offline`, `online` and `auto`

use clap::Args;
use http::Method;
use serde_json::json;

use super::control::Which;
use crate::context::Context;
use crate::failure::Failure;

const REFRESH_EXAMPLES: &str = "\
Examples:
  feedsync gateway refresh
";

/// Fetch all feeds that are not paused, and send queued edits now
#[derive(Debug, Args)]
#[command(after_help = REFRESH_EXAMPLES)]
pub(crate) struct Refresh {
    #[command(flatten)]
    which: Which,
}

const OFFLINE_EXAMPLES: &str = "\
Examples:
  feedsync gateway offline             # on a train, on a metered connection
";

/// Work offline until `gateway online` or `gateway auto`: serve stored feeds, and queue edits
#[derive(Debug, Args)]
#[command(after_help = OFFLINE_EXAMPLES)]
pub(crate) struct Offline {
    #[command(flatten)]
    which: Which,
}

const ONLINE_EXAMPLES: &str = "\
Examples:
  feedsync gateway online              # the network has come back this moment
";

/// Use the network, and try unreachable servers again now
#[derive(Debug, Args)]
#[command(after_help = ONLINE_EXAMPLES)]
pub(crate) struct Online {
    #[command(flatten)]
    which: Which,
}

const AUTO_EXAMPLES: &str = "\
Examples:
  feedsync gateway auto
";

/// Use the network whenever it is available
#[derive(Debug, Args)]
#[command(after_help = AUTO_EXAMPLES)]
pub(crate) struct Auto {
    #[command(flatten)]
    which: Which,
}

impl Refresh {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        gateway.post("/refresh").await?;
        gateway.done(&json!({ "refreshed": true }), "all feeds that are not paused are fetched now")
    }
}

impl Offline {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        set(&self.which, context, "offline", "the network is not used").await
    }
}

impl Online {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        set(&self.which, context, "online", "the network is used, and servers are tried now").await
    }
}

impl Auto {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        set(&self.which, context, "auto", "the network is used whenever there is one").await
    }
}

async fn set(which: &Which, context: &Context, policy: &str, text: &str) -> Result<(), Failure> {
    let gateway = which.gateway(context)?;
    let wish = json!({ "policy": policy });
    let network = gateway.ask(Method::PUT, "/network", Some(&wish)).await?;
    gateway.done(&network, text)
}
