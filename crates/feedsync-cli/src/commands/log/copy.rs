//! `feedsync log sync`

use std::path::PathBuf;

use clap::Args;
use feedsync_client::{LogCopy, synchronise};
use serde_json::json;

use super::{access, present, random, shown};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, text};

const EXAMPLES: &str = "\
Examples:
  feedsync log sync https://hub.example/logs/reading reading.jsonl
";

/// Keep a copy of a log in a file, by what is new in it
///
/// How far the copy goes stands beside it, in FILE.position. A log that was compacted or replaced is copied anew.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Copy {
    /// The log
    log: String,
    /// The copy
    file: PathBuf,
}

impl Copy {
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
