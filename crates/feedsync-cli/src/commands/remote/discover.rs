//! `feedsync remote discover`

use std::io::{IsTerminal as _, Write as _};

use clap::Args;
use feedsync_client::{Session, SyncError};
use feedsync_fetch::{shown_text, without_credentials};
use feedsync_store::CollectionName;
use serde_json::json;

use crate::commands::remote::subscribe::How;
use crate::commands::sync::failure;
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output::progress::Progress;
use crate::output::{self, text};

const EXAMPLES: &str = "\
Examples:
  feedsync remote discover news                 # shows them, then asks
  feedsync remote discover news --yes
";

/// Find the feeds that the remotes of a collection subscribe to, and subscribe to them
///
/// A feed names the feeds that its publisher subscribes to. The command lists them, and asks before it subscribes to
/// any. An address in your own network is never read because a publisher on the internet names it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Discover {
    /// Collection whose remotes are read
    collection: CollectionName,
    #[command(flatten)]
    how: How,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl Discover {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        home.endpoint.collection(&self.collection).await?;
        let session = Session::new(home.endpoint.clone(), context.way().fetcher()?);
        let remotes = home.store.remotes(Some(&self.collection)).await?;
        if remotes.is_empty() {
            let add = context.command(&format!("remote subscribe {} URL", self.collection));
            return Err(Failure::not_found(format!("{} has no remote yet", self.collection))
                .hint(format!("name one: {add}")));
        }
        let (mut found, mut refused, mut unread) = (Vec::new(), 0, None);
        for remote in &remotes {
            let _progress = Progress::spinner(&format!("reading {}", shown_text(&remote.url)));
            let named = match session.aggregated_by(remote).await {
                Ok(named) => named,
                Err(error @ SyncError::Endpoint(_)) => return Err(failure(remote, error)),
                // A publisher that does not respond does not prevent reading the others.
                Err(error) => {
                    warn(&format!("{}: {error}", shown_text(&remote.url)));
                    refused += 1;
                    unread = unread.or(Some(failure(remote, error)));
                    continue;
                }
            };
            for related in named {
                let is_known = remotes.iter().any(|known| known.url == related.link)
                    || found
                        .iter()
                        .any(|(_, known): &(_, feedsync_core::Related)| known.link == related.link);
                if !is_known {
                    found.push((remote, related));
                }
            }
        }
        if let Some(failure) = unread.filter(|_| refused == remotes.len()) {
            return Err(failure);
        }
        if found.is_empty() && refused == 0 && !context.json {
            return output::line("no remote names a feed that is not known here yet");
        }
        if !context.json {
            for (remote, related) in &found {
                let title =
                    related.title.as_deref().map(|title| format!("  {}", text::line(title)));
                output::line(format!(
                    "{}{}  named by {}",
                    text::line(&without_credentials(&related.link)),
                    title.unwrap_or_default(),
                    text::line(&shown_text(&remote.url))
                ))?;
            }
        }
        let agreed = self.yes || (!context.json && !found.is_empty() && agreed()?);
        let mut subscribed = Vec::new();
        for (remote, related) in found.iter().filter(|_| agreed) {
            let terms = self.how.terms(false, related.title.clone());
            let link = &related.link;
            match session.subscribe(&self.collection, link, terms, Some(remote)).await {
                Ok(remote) => subscribed.push(remote),
                Err(error @ SyncError::Endpoint(_)) => return Err(failure(remote, error)),
                Err(error) => {
                    warn(&format!("not subscribed to {}: {error}", shown_text(link)));
                    refused += 1;
                }
            }
        }
        if context.json {
            let named: Vec<_> = found
                .iter()
                .map(|(remote, related)| {
                    json!({
                        "url": without_credentials(&related.link),
                        "title": related.title,
                        "named_by": shown_text(&remote.url),
                        "subscribed": subscribed.iter().any(|remote| remote.url == related.link),
                    })
                })
                .collect();
            output::json(&named.into())?;
        } else {
            let feeds = text::count(subscribed.len() as u64, "feed");
            output::line(format!("subscribed to {feeds}"))?;
        }
        if refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

/// Asks the user at the terminal. Without a terminal the command fails.
fn agreed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::usage("there is no terminal to ask for confirmation").hint("agree with --yes")
        );
    }
    let failed = |error| Failure::store(format!("the terminal: {error}"));
    eprint!("Subscribe to them? [y/N] ");
    std::io::stderr().flush().map_err(failed)?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
