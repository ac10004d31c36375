//! `feedsync reader export`

use std::path::PathBuf;

use clap::Args;
use feedsync_client::{FileReaders, replace_file};
use feedsync_reading_state::Snapshot;

use super::state::read;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync reader export subscriptions.opml
  feedsync reader export --all everything.jsonl
";

/// Export the subscriptions as OPML, or the whole reading state
///
/// With `--all` the file has every subscription, mark, star and tag, in the format of docs/reader-schema.md, which
/// `reader import` reads. The file is replaced as a whole, and only you can read it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// Output file [default: standard output]
    file: Option<PathBuf>,
    /// Export the whole reading state
    #[arg(long)]
    all: bool,
    /// Title of the list
    #[arg(long, value_name = "T", default_value = "Subscriptions")]
    title: String,
}

impl Export {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        if !self.all {
            output::refuse_json(context.json, "an OPML list; `--all` writes JSON")?;
        }
        let replica = read(context)?;
        let state = replica.state();
        let text = match self.all {
            true => Snapshot { covers: None, state: state.clone() }.write(),
            false => state.view().opml(&self.title),
        };
        match &self.file {
            Some(file) => replace_file(file, text.as_bytes(), FileReaders::Owner)
                .map_err(|error| Failure::file(&file.display().to_string(), &error)),
            None => output::print_bytes(text.as_bytes()),
        }
    }
}
