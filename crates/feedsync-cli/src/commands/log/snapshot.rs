//! `feedsync log snapshot`

use std::path::PathBuf;

use clap::Args;
use feedsync_client::{FileReaders, read_reader_log, replace_file};
use serde_json::json;

use super::{access, present, random, stored};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync log snapshot https://hub.example/logs/reading
  feedsync log snapshot ./public/reading.jsonl --output ./public/reading.jsonl.snapshot
";

/// Put a snapshot of a reader's log beside it, for new devices to begin with
///
/// With --output it becomes a file, such as for a web server that serves the log as a file, too. The file is
/// replaced as a whole.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Snapshot {
    /// The log
    log: String,
    /// Write it to FILE instead
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Snapshot {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let log = access(context, &self.log).await?;
        let (replica, session) = read_reader_log(&*log, &random).await?;
        present(&log.name(), &session)?;
        let Some(snapshot) = replica.snapshot(&session) else {
            return Err(Failure::refused(format!("{}: not all of it is known", log.name())));
        };
        let covers = snapshot.covers.as_ref().map(|covered| covered.covers.clone());
        let text = snapshot.write();
        let bytes = text.len();
        match &self.output {
            Some(file) => replace_file(file, text.as_bytes(), FileReaders::ProcessDefault)
                .map_err(|error| Failure::file(&file.display().to_string(), &error))?,
            None => {
                let covers = covers.as_deref().unwrap_or_default();
                let answer = log.put_snapshot(covers, text.into_bytes()).await?;
                if answer.status == 409 && answer.refused(true).is_ok() {
                    let message = "there is one already that is as new";
                    return Err(Failure::refused(format!("{}: {message}", log.name())));
                }
                stored(&log.name(), &answer)?;
            }
        }
        if context.json {
            return output::json(&json!({ "covers": covers, "bytes": bytes }));
        }
        output::line(format!("{}: a snapshot of {bytes} bytes", log.name()))
    }
}
