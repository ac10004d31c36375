//! `feedsync log snapshot`

use std::path::PathBuf;

use clap::Args;
use feedsync_client::{FileReaders, read_reader_log, replace_file};
use serde_json::json;

use super::access::{access, random};
use super::response::{present, stored};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync log snapshot https://hub.example/logs/reading
  feedsync log snapshot ./public/reading.jsonl --output ./public/reading.jsonl.snapshot
";

/// Store a snapshot of a reader's log beside it, from which new devices start
///
/// With `--output` the snapshot is written into a file, such as for a web server that serves the log as a file. The
/// file is replaced as a whole.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Snapshot {
    /// Log: an address, a collection of this endpoint, or a file
    log: String,
    /// Output file, in place of the server of the log
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
                    let message = "there is already a snapshot that is as new";
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
