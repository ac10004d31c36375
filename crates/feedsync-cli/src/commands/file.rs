//! `feedsync file`

mod add;
mod conflicts;
mod edit;
mod history;
mod ls;
mod r#move;
mod resolve;
mod rm;
mod show;
mod undelete;

use clap::{Args, Subcommand};
use feedsync_core::{Item, Payload};
use feedsync_endpoint::{FeedDocument, FileAuthor};
use feedsync_store::{EndpointName, Environment as _, SystemEnvironment};

use crate::commands::edit::report_item;
use crate::context::default_name;
use crate::edited_file::{self, file_command};
use crate::failure::Failure;
use crate::source::NetworkAccess;

/// Edit the FeedSync feed in a file in place, without any endpoint
///
/// People who have nothing but files take part so: each edits a copy, and `merge` brings copies together. Every edit
/// is kept, also if copies are edited under one name. The file keeps its format and whatever an edit does not change.
/// It is replaced whole or not at all, and not if another program has written to it meanwhile.
#[derive(Debug, Subcommand)]
pub(crate) enum FileCommand {
    Add(add::Add),
    Edit(edit::Edit),
    Rm(rm::Rm),
    Undelete(undelete::Undelete),
    Move(r#move::Move),
    Resolve(resolve::Resolve),
    Ls(ls::Ls),
    Show(show::Show),
    Conflicts(conflicts::Conflicts),
    History(history::History),
}

impl FileCommand {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        match self {
            Self::Add(command) => command.run(json, way).await,
            Self::Edit(command) => command.run(json, way).await,
            Self::Rm(command) => command.run(json),
            Self::Undelete(command) => command.run(json, way).await,
            Self::Move(command) => command.run(json),
            Self::Resolve(command) => command.run(json, way).await,
            Self::Ls(command) => command.run(json, way).await,
            Self::Show(command) => command.run(json, way).await,
            Self::Conflicts(command) => command.run(json, way).await,
            Self::History(command) => command.run(json, way).await,
        }
    }
}

/// The file that a command edits, and who edits it.
#[derive(Debug, Args)]
struct Edited {
    /// The file
    #[arg(value_name = "FILE")]
    path: String,
    /// Sign the edit with NAME, which everybody who reads the feed sees [default: FEEDSYNC_BY, or the first label of
    /// the host's name]
    #[arg(long, value_name = "NAME", env = "FEEDSYNC_BY", hide_env = true)]
    by: Option<EndpointName>,
}

impl Edited {
    /// Author of an edit that is made now.
    fn author(&self) -> Result<FileAuthor, Failure> {
        let now = SystemEnvironment.now().timestamp().ok_or_else(|| {
            Failure::refused("the clock shows a time that cannot be written")
                .hint("check the date of this machine")
        })?;
        Ok(FileAuthor { name: self.by.clone().unwrap_or_else(default_name), now })
    }
}

/// The item that a command edits in a file.
#[derive(Debug, Args)]
struct EditedItem {
    #[command(flatten)]
    edited: Edited,
    /// The item's id, or what it begins with
    item: String,
}

impl EditedItem {
    /// Reads the current item from the file.
    fn seen(&self) -> Result<Item<Payload>, Failure> {
        let feed = edited_file::read_file(&self.edited.path)?;
        self.find(&feed, &self.item).cloned()
    }

    /// Finds an item of the feed by its id, or by a prefix of its id.
    fn find<'f>(&self, feed: &'f FeedDocument, named: &str) -> Result<&'f Item<Payload>, Failure> {
        edited_file::find(feed, &self.edited.path, named)
    }

    /// Runs an edit, which returns the changed item, and reports that item.
    fn change(
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
struct ShownItem {
    /// The feed: a file, '-' for standard input, or an address
    #[arg(value_name = "FILE|URL")]
    file: String,
    /// The item's id, or what it begins with
    item: String,
}

impl ShownItem {
    /// Reads the feed; returns its name and the item.
    async fn read(&self, way: &NetworkAccess) -> Result<(String, Item<Payload>), Failure> {
        let (name, feed) = edited_file::read(&self.file, way).await?;
        let item = edited_file::find(&feed, &name, &self.item)?.clone();
        Ok((name, item))
    }
}
