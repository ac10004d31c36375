//! `feedsync collection create`

use std::collections::BTreeMap;

use clap::Args;
use feedsync_core::Format;
use feedsync_endpoint::{MediaRange, Settings};
use feedsync_store::{CollectionName, NewCollection};

use crate::commands::collection::set;
use crate::context::Context;
use crate::failure::Failure;
use crate::values;
use crate::{output, view};

const EXAMPLES: &str = "\
Examples:
  feedsync collection create notes
  feedsync collection create feeds --title 'What I read' --format opml
  feedsync collection create photos --accept 'image/*' --accept video/mp4 --categories topics.xml
  feedsync collection create news --set public=true --set keep.age=365d
";

/// Create a collection
///
/// `collection set` changes the settings later; its help explains them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Create {
    /// Name: a lower-case letter, then lower-case letters, digits, '_' or '-'
    collection: CollectionName,
    /// Title that people see [default: the name]
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Format of new items; items that are received keep their own
    #[arg(long, value_name = "F", default_value = "atom", value_parser = values::format())]
    format: Format,
    /// Type of media that AtomPub clients may create, such as 'image/*' (can be repeated)
    #[arg(long, value_name = "TYPE")]
    accept: Vec<MediaRange>,
    /// File with the only categories that entries may have: JSON or XML (app:categories)
    #[arg(long, value_name = "FILE")]
    categories: Option<String>,
    /// Setting, as in `collection set` (can be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl Create {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let Self { collection: name, title, format, accept, categories, set } = self;
        let title = title.unwrap_or_else(|| name.to_string());
        let mut wanted = Settings::default();
        let way = context.way();
        for setting in &set {
            set::assign_pair(&mut wanted, setting, &way).await?;
        }
        if !accept.is_empty() {
            wanted.accept = accept;
        }
        if let Some(file) = &categories {
            set::assign(&mut wanted, "categories", file, &way).await?;
        }
        let mut settings = BTreeMap::new();
        wanted.write(&mut settings);
        let new = NewCollection { name, title, format, settings };
        let collection = home.endpoint.create_collection(new).await?;
        if context.json {
            return output::json(&view::collection(&collection));
        }
        output::line(format!("created {}", collection.name))
    }
}
