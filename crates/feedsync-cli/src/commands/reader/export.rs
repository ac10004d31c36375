//! `feedsync reader export`

use std::path::PathBuf;

use clap::Args;
use feedsync_client::{FileReaders, replace_file};
use feedsync_reading_state::Snapshot;

use super::read;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync reader export subscriptions.opml
  feedsync reader export --all everything.jsonl
";

/// Write the subscriptions as OPML, or everything there is
///
/// With --all every subscription, mark, star and tag goes with it, in a form that `import` takes in and that
/// docs/reader-schema.md describes. The file is replaced as a whole, and nobody but you can read it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// Write to FILE [default: standard output]
    file: Option<PathBuf>,
    /// Write everything
    #[arg(long)]
    all: bool,
    /// The title of the list
    #[arg(long, value_name = "T", default_value = "Subscriptions")]
    title: String,
}

impl Export {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
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
