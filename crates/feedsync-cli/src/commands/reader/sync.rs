//! `feedsync reader sync`

use clap::Args;
use serde_json::json;

use super::open;
use crate::commands::log::access;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, progress::Progress, text};

const EXAMPLES: &str = "\
Examples:
  feedsync reader sync https://hub.example/logs/reading
  feedsync reader sync                          # with the same log again
";

/// Bring subscriptions and marks in step with a log
///
/// The log begins with the first device that uses it. A device that is up to date costs one small request.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sync {
    /// The log: an address, or a collection of this endpoint [default: the one of the last time]
    log: Option<String>,
    /// Go over to this log, or begin again with one that was removed: all that is known here goes into it
    #[arg(long)]
    begin_again: bool,
}

impl Sync {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let mut reader = open(context)?;
        let known = reader.replica.log().map(str::to_owned);
        let Some(named) = self.log.or(known) else {
            return Err(Failure::usage("name the log: feedsync reader sync LOG"));
        };
        let log = access(context, &named).await?;
        if self.begin_again {
            reader.replica.begin_again();
            reader.replica.keep_by(log.name());
        }
        let progress = Progress::spinner(&format!("synchronising with {}", log.name()));
        let done = reader.synchronise(&*log, self.begin_again).await?;
        drop(progress);
        if context.json {
            return output::json(&json!({
                "log": log.name(),
                "appended": done.appended,
                "news": done.has_read,
                "compacted": done.was_compacted,
            }));
        }
        let appended = text::count(done.appended as u64, "record");
        let news = if done.has_read { "there was news" } else { "no news" };
        let compacted = if done.was_compacted { ", compacted" } else { "" };
        output::line(format!("{}: {news}, appended {appended}{compacted}", log.name()))
    }
}
