//! `feedsync file add`

use std::ffi::OsStr;
use std::path::Path;

use clap::Args;
use feedsync_core::Format;
use feedsync_endpoint::{FeedDocument, FileAuthor};
use feedsync_formats::suffix;
use feedsync_store::{Environment as _, SystemEnvironment};

use super::edited::Edited;
use crate::commands::add::{NewItem, report_id};
use crate::edited_file;
use crate::failure::Failure;
use crate::source::NetworkAccess;
use crate::values;

const EXAMPLES: &str = "\
Examples:
  feedsync file add notes.atom --title Milk --content 'two litres'
  feedsync file add notes.atom --file entry.xml --by ann
  feedsync file add contacts --format json --title Anna
";

/// Add an item to the feed in a file, and print its id
///
/// If the file does not exist, the command creates it. The suffix names the format of a new feed: .atom, .rss, .opml,
/// .json, or .xml for other XML (pox).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Add {
    #[command(flatten)]
    edited: Edited,
    /// Format of a new feed [default: that of the suffix]
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    format: Option<Format>,
    #[command(flatten)]
    new: NewItem,
}

impl Add {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        self.new.check()?;
        let Self { edited, format, new } = self;
        let author = edited.author()?;
        let (id, creation) = (new.id(), new.creation());
        let entry = new.content.entry(way).await?;
        let begin = || begun(&edited.path, format, &author);
        edited_file::edit(&edited.path, Some(&begin), |feed| {
            if let Some(wanted) = format.filter(|wanted| *wanted != feed.format()) {
                let message = format!("{} is in {}, not in {wanted}", edited.path, feed.format());
                return Err(Failure::usage(message).hint("leave out --format"));
            }
            let payload = entry.unwrap_or_else(|| new.content.compose(&id, feed.format()));
            feed.add(&author, id.clone(), creation, payload)?;
            Ok(())
        })?;
        report_id(json, &id)
    }
}

/// Creates a feed without items, whose title is the name of the file.
fn begun(file: &str, format: Option<Format>, author: &FileAuthor) -> Result<FeedDocument, Failure> {
    let path = Path::new(file);
    let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    let named = |format: &Format| Some(&suffix(*format)[1..]) == extension.as_deref();
    let format = format.or_else(|| Format::ALL.into_iter().find(named)).ok_or_else(|| {
        Failure::usage(format!("{file} does not exist, and its name tells no format"))
            .hint("say it: --format FORMAT")
    })?;
    let title = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let id = format!("urn:uuid:{}", SystemEnvironment.uuid());
    FeedDocument::empty(format, &id, &title, author)
        .map_err(|error| Failure::document(file, &error))
}
