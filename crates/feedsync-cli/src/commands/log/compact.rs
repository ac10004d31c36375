//! `feedsync log compact`

use clap::Args;
use feedsync_client::{compact, read_reader_log};
use serde_json::json;

use super::access::{access, random};
use super::response::{present, shown};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync log compact https://hub.example/logs/reading
";

/// Replace the content of a reader's log with a snapshot
///
/// The log starts a new generation; the previous one stays readable for a time. Devices that were offline read the
/// snapshot, and append their queued records. Records of unknown kinds are kept. Logs of applications other than
/// newsreaders are refused, because only they can summarise their records.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compact {
    /// Log: an address, a collection of this endpoint, or a file
    log: String,
}

impl Compact {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let log = access(context, &self.log).await?;
        let (mut replica, session) = read_reader_log(&*log, &random).await?;
        present(&log.name(), &session)?;
        let before = session.position().offset;
        if let Some(version) = session.position().newer {
            let message = format!(
                "{}: the log has records of version {version}, which this program does not know",
                log.name()
            );
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
