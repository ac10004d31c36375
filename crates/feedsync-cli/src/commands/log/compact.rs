//! `feedsync log compact`

use clap::Args;
use feedsync_client::{compact, read_reader_log};
use serde_json::json;

use super::{access, present, random, shown};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync log compact https://hub.example/logs/reading
";

/// Put a snapshot in place of what a reader's log holds
///
/// The log begins its next generation; the one before can be read for a while. Devices that were away read the
/// snapshot, and append what they have waiting. Entries that are not understood are kept. A log of another
/// kind than a reader's would lose what its lines mean: only who understands them may compact it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compact {
    /// The log
    log: String,
}

impl Compact {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let log = access(context, &self.log).await?;
        let (mut replica, session) = read_reader_log(&*log, &random).await?;
        present(&log.name(), &session)?;
        let before = session.position().offset;
        if let Some(version) = session.position().newer {
            let message = format!("{}: it has records of the later version {version}", log.name());
            return Err(Failure::refused(message).hint("update feedsync"));
        }
        if !compact(&*log, &mut replica, &session, random()).await? {
            let message = "not compacted: somebody appended meanwhile, it cannot be written, or it has lines \
                           that are not a reader's";
            return Err(Failure::refused(format!("{}: {message}", log.name())));
        }
        let after = replica.position().cloned().unwrap_or_default();
        if context.json {
            return output::json(&json!({ "before": before, "log": shown(&after) }));
        }
        output::line(format!("{}: {before} bytes became {}", log.name(), after.offset))
    }
}
