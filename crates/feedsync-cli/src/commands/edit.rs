//! `feedsync edit`

use std::io::{Read as _, Write as _};
use std::process::Command;

use clap::Args;
use feedsync::{Base, Edit as Change, Item, Payload};
use feedsync_formats::entry;
use feedsync_store::CollectionName;

use crate::commands::content::{Content, with_text};
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output;
use crate::output::text;
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync edit notes 4f2a --content 'three litres'
  feedsync edit notes 4f2a --title 'Oat milk'
  feedsync edit notes 4f2a            # opens the content in $VISUAL or $EDITOR
";

/// Change an item
///
/// Title and content change in their places, everything else the item holds stays. An edit starts from
/// the version that was the winner when the command began: if somebody else changes the item while your
/// editor is open, both edits are kept, as a conflict.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Edit {
    /// The collection
    collection: CollectionName,
    /// The item's id, or what it begins with
    item: String,
    #[command(flatten)]
    content: Content,
}

impl Edit {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        let old = &seen.winner.payload;
        let payload = if self.content.is_empty() {
            with_text(&home.endpoint, old, edited(old)?)?
        } else {
            self.content.revise(&context.way(), &home.endpoint, old).await?
        };
        if payload == *old {
            return Err(Failure::refused("nothing changed"));
        }
        let base = Some(Base::from(&seen.winner));
        let change = Change::from(payload);
        let edited = home.endpoint.edit(&self.collection, &seen.id, base, change).await?;
        report(context, &self.collection, &edited.item)?;
        if edited.item.winner.deleted {
            let undelete = context.command(&format!("undelete {} {}", self.collection, seen.id));
            warn(&format!("the item is deleted; bring it back: {undelete}"));
        }
        Ok(())
    }
}

/// Says what an edit left behind.
pub(crate) fn report(
    context: &Context,
    collection: &CollectionName,
    item: &Item<Payload>,
) -> Result<(), Failure> {
    if context.json {
        return output::json(&view::conflict(item));
    }
    let count = item.conflicts.len() as u64;
    output::line(format!("{}  update {}", item.id, item.winner.updates.get()))?;
    if count > 0 {
        let see = context.command(&format!("conflicts {collection}"));
        warn(&format!("the item has {}; see {see}", text::count(count, "conflict")));
    }
    Ok(())
}

/// The content after the person's editor has had it.
fn edited(payload: &Payload) -> Result<String, Failure> {
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).ok_or_else(|| {
        Failure::usage("nothing to change: give --title, --content or --file, or set EDITOR")
    })?;
    let failed = |error: std::io::Error| Failure::store(format!("a file for the editor: {error}"));
    let mut file =
        tempfile::Builder::new().prefix("feedsync-").suffix(".txt").tempfile().map_err(failed)?;
    let content = entry(payload).content.unwrap_or_default();
    file.write_all(content.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program)
        .args(words)
        .arg(file.path())
        .status()
        .map_err(|error| Failure::usage(format!("the editor {editor:?}: {error}")))?;
    if !status.success() {
        return Err(Failure::refused(format!("the editor gave up ({status}); nothing changed")));
    }
    // Editors replace the file, so it is opened anew by its name.
    let mut text = String::new();
    std::fs::File::open(file.path())
        .and_then(|mut file| file.read_to_string(&mut text))
        .map_err(failed)?;
    if !content.ends_with('\n') && text.ends_with('\n') {
        text.pop(); // editors end the last line
    }
    Ok(text)
}
