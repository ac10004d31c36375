//! `feedsync log create`

use clap::Args;
use feedsync_log::{Append, Condition, Device, Header, LogRequest};
use serde_json::json;

use super::access::{access, random};
use super::response::stored;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync log create https://hub.example/logs/reading
  feedsync log create reading           # of a collection of this endpoint
";

/// Create a log with its first line, which describes the log
///
/// At a hub this also creates the collection of that name if it does not exist.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Create {
    /// Log: an address, a collection of this endpoint, or a file
    log: String,
}

impl Create {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let log = access(context, &self.log).await?;
        let generation = Device::minted(random()).to_string();
        let header = Header { generation: generation.clone(), number: 1, snapshot: None };
        let append = Append {
            condition: Condition::Absent,
            body: header.line().into_bytes(),
            key: generation,
            records: 1,
        };
        let answer = log.ask(&LogRequest::Append(append)).await?;
        match answer.status {
            412 if answer.refused(false).is_ok() => {
                return Err(Failure::refused(format!("{}: there is one already", log.name())));
            }
            _ => stored(&log.name(), &answer)?,
        }
        if context.json {
            return output::json(&json!({ "etag": answer.etag }));
        }
        output::line(format!("{}: begun", log.name()))
    }
}
