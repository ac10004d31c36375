//! Files and items that commands edit or show.

use clap::Args;
use feedsync_core::{Item, Payload};
use feedsync_endpoint::{FeedDocument, FileAuthor};
use feedsync_store::{EndpointName, Environment as _, SystemEnvironment};

use crate::commands::edit::report_item;
use crate::context::default_name;
use crate::edited_file::{self, file_command};
use crate::failure::Failure;
use crate::source::NetworkAccess;

/// The file that a command edits, and who edits it.
#[derive(Debug, Args)]
pub(super) struct Edited {
    /// Path of the file
    #[arg(value_name = "FILE")]
    pub(super) path: String,
    /// Name that signs the edit, which everybody who reads the feed can see [default: FEEDSYNC_BY, or the first label
    /// of the host's name]
    #[arg(long, value_name = "NAME", env = "FEEDSYNC_BY", hide_env = true)]
    pub(super) by: Option<EndpointName>,
}

impl Edited {
    /// Author of an edit that is made now.
    pub(super) fn author(&self) -> Result<FileAuthor, Failure> {
        let now = SystemEnvironment.now().timestamp().ok_or_else(|| {
            Failure::refused("the clock shows a time that cannot be written")
                .hint("check the date of this machine")
        })?;
        Ok(FileAuthor { name: self.by.clone().unwrap_or_else(default_name), now })
    }
}

/// The item that a command edits in a file.
#[derive(Debug, Args)]
pub(super) struct EditedItem {
    #[command(flatten)]
    pub(super) edited: Edited,
    /// Id of the item, or the beginning of it
    pub(super) item: String,
}

impl EditedItem {
    /// Reads the current item from the file.
    pub(super) fn seen(&self) -> Result<Item<Payload>, Failure> {
        let feed = edited_file::read_file(&self.edited.path)?;
        self.find(&feed, &self.item).cloned()
    }

    /// Finds an item of the feed by its id, or by a prefix of its id.
    pub(super) fn find<'f>(
        &self,
        feed: &'f FeedDocument,
        named: &str,
    ) -> Result<&'f Item<Payload>, Failure> {
        edited_file::find(feed, &self.edited.path, named)
    }

    /// Runs an edit, which returns the changed item, and reports that item.
    pub(super) fn change(
        &self,
        json: bool,
        edit: impl FnOnce(&mut FeedDocument, &FileAuthor) -> Result<Item<Payload>, Failure>,
    ) -> Result<Item<Payload>, Failure> {
        let author = self.edited.author()?;
        let item = edited_file::edit(&self.edited.path, None, |feed| edit(feed, &author))?;
        report_item(json, &file_command("conflicts", &self.edited.path, ""), &item)?;
        Ok(item)
    }
}

/// The item that a command shows from a feed.
#[derive(Debug, Args)]
pub(super) struct ShownItem {
    /// Feed: a file, '-' for standard input, or an address
    #[arg(value_name = "FILE|URL")]
    pub(super) file: String,
    /// Id of the item, or the beginning of it
    pub(super) item: String,
}

impl ShownItem {
    /// Reads the feed; returns its name and the item.
    pub(super) async fn read(
        &self,
        way: &NetworkAccess,
    ) -> Result<(String, Item<Payload>), Failure> {
        let (name, feed) = edited_file::read(&self.file, way).await?;
        let item = edited_file::find(&feed, &name, &self.item)?.clone();
        Ok((name, item))
    }
}
