//! `feedsync log append`

use clap::Args;
use feedsync_client::{PendingLines, synchronise};
use serde_json::json;

use super::access::{access, random};
use super::response::shown;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};
use crate::source::Source;

const EXAMPLES: &str = "\
Examples:
  feedsync log append https://hub.example/logs/notes events.jsonl
  echo '{\"v\":1}' | feedsync log append notes
";

/// Append lines to a log
///
/// The lines may have any meaning. If other devices append at the same time, the command tries again. At a hub, lines
/// are never appended twice, even if the response to the first request was lost.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Append {
    /// Log: an address, a collection of this endpoint, or a file
    log: String,
    /// File with the lines, or '-' for standard input
    #[arg(default_value = "-")]
    file: String,
}

impl Append {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let source = Source::load(&self.file, &context.way()).await?;
        let lines = String::from_utf8(source.bytes)
            .map_err(|error| Failure::refused(format!("{}: {error}", source.name)))?;
        let mut lines = PendingLines::new(&lines, random()).map_err(|(line, fault)| {
            Failure::refused(format!("{}:{line}: {fault}; nothing was appended", source.name))
        })?;
        let count = lines.len();
        let log = access(context, &self.log).await?;
        let mut session = PendingLines::session();
        synchronise(&*log, &mut session, &mut lines, &random).await?;
        if context.json {
            let log = shown(session.position());
            return output::json(&json!({ "appended": count, "log": log }));
        }
        output::line(format!("{}: appended {}", log.name(), text::count(count as u64, "line")))
    }
}
