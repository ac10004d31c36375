//! `feedsync log pull`

use std::path::PathBuf;

use clap::Args;
use feedsync_client::{LogCopy, synchronise};
use serde_json::json;

use super::access::{access, random};
use super::response::{present, shown};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};

const EXAMPLES: &str = "\
Examples:
  feedsync log pull https://hub.example/logs/reading reading.jsonl
";

/// Copy a log into a file, or update the copy with what is new
///
/// The file FILE.position stores the position of the copy in the log. A log that was compacted or replaced is copied
/// again as a whole.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Pull {
    /// Log: an address, a collection of this endpoint, or a file
    log: String,
    /// Path of the copy
    file: PathBuf,
}

impl Pull {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let log = access(context, &self.log).await?;
        let mut copy = LogCopy::open(&self.file)?;
        let mut session = copy.session();
        synchronise(&*log, &mut session, &mut copy, &random).await?;
        present(&log.name(), &session)?;
        if context.json {
            let log = shown(session.position());
            let (added, length) = (copy.added(), copy.length());
            return output::json(&json!({ "added": added, "length": length, "log": log }));
        }
        let added = text::count(copy.added(), "byte");
        output::line(format!("{}: {added} more", self.file.display()))
    }
}
