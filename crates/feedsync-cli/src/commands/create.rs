//! `feedsync create`

use std::collections::BTreeMap;

use clap::Args;
use feedsync::Format;
use feedsync_store::{CollectionName, NewCollection, Store as _};

use crate::arguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::{output, view};

const EXAMPLES: &str = "\
Examples:
  feedsync create notes
  feedsync create feeds --title 'What I read' --format opml
";

/// Create a collection
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Create {
    /// Its name: a lower-case letter, then lower-case letters, digits, '_' or '-'
    collection: CollectionName,
    /// Title it T for people [default: its name]
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Write new items in this format; items of others keep theirs
    #[arg(long, value_name = "F", default_value = "atom", value_parser = arguments::format())]
    format: Format,
}

impl Create {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open()?;
        let Self { collection: name, title, format } = self;
        let title = title.unwrap_or_else(|| name.to_string());
        let new = NewCollection { name, title, format, settings: BTreeMap::new() };
        let collection = home.store.create_collection(new).await?;
        if context.json {
            return output::json(&view::collection(&collection));
        }
        output::line(format!("created {}", collection.name))
    }
}
