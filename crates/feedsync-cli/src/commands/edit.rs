//! `feedsync edit`

use std::io::{Read as _, Write as _};
use std::process::Command;

use clap::Args;
use feedsync_core::{Base, Edit as Change, Item, Payload};
use feedsync_formats::entry;
use feedsync_store::CollectionName;

use crate::commands::content::{Content, with_text};
use crate::commands::destination::Destination;
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output;
use crate::output::text;
use crate::source::NetworkAccess;
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync edit notes 4f2a --content 'three litres'
  feedsync edit notes 4f2a --title 'Oat milk'
  feedsync edit notes 4f2a            # opens the content in $VISUAL or $EDITOR
  feedsync edit feeds 4f2a --under 77b0
  feedsync edit feeds 4f2a --top
";

/// Change an item
///
/// Only the title, the content or the position of an outline changes; everything else in the item stays. The edit is
/// based on the version that is the winner when the command starts. If somebody else changes the item while your
/// editor is open, both edits are kept as a conflict.
///
/// An outline (format opml) is moved with `--under` or `--top`, together with the outlines inside it. The position is
/// part of the item, so a move is an edit like any other.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Edit {
    /// Name of the collection
    collection: CollectionName,
    /// Id of the item, or the beginning of it
    item: String,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    destination: Destination,
    /// Refuses a command line without a new position: `move`, the old name, does nothing else
    #[arg(long = "only-move", hide = true, requires = "Destination")]
    _only_move: bool,
}

impl Edit {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let seen = home.item(&self.collection, &self.item).await?.item;
        if self.destination.is_given() {
            let under = match &self.destination.under {
                Some(parent) => Some(home.item(&self.collection, parent).await?.item.id),
                None => None,
            };
            let edited =
                home.endpoint.move_outline(&self.collection, &seen, under.as_ref()).await?;
            return report(context, &self.collection, &edited.item);
        }
        let payload = edited(self.content, &context.way(), &seen.winner.payload).await?;
        let base = Some(Base::from(&seen.winner));
        let change = Change::from(payload);
        let edited = home.endpoint.edit(&self.collection, &seen.id, base, change).await?;
        report(context, &self.collection, &edited.item)?;
        let undelete = format!("undelete {} {}", self.collection, seen.id);
        warn_if_deleted(&edited.item, &context.command(&undelete));
        Ok(())
    }
}

/// Returns the payload of an item after an edit, by options or in the editor of the user. A payload without a
/// change is refused.
pub(crate) async fn edited(
    content: Content,
    way: &NetworkAccess,
    old: &Payload,
) -> Result<Payload, Failure> {
    let payload = match content.is_empty() {
        true => with_text(old, typed(old)?)?,
        false => content.revise(way, old).await?,
    };
    match payload == *old {
        true => Err(Failure::refused("nothing changed")),
        false => Ok(payload),
    }
}

/// Warns that an edit of a deleted item stays invisible. `undelete` is the command that restores the item.
pub(crate) fn warn_if_deleted(item: &Item<Payload>, undelete: &str) {
    if item.winner.deleted {
        warn(&format!("the item is deleted; bring it back: {undelete}"));
    }
}

/// Reports the state of an item after an edit.
pub(crate) fn report(
    context: &Context,
    collection: &CollectionName,
    item: &Item<Payload>,
) -> Result<(), Failure> {
    let conflicts = context.command(&format!("conflicts {collection}"));
    report_item(context.json, &conflicts, item)
}

/// Reports the state of an item after an edit. `conflicts` is the command that shows conflicts.
pub(crate) fn report_item(
    json: bool,
    conflicts: &str,
    item: &Item<Payload>,
) -> Result<(), Failure> {
    if json {
        return output::json(&view::conflict(item));
    }
    let count = item.conflicts.len() as u64;
    output::line(format!("{}  update {}", item.id, item.winner.updates.get()))?;
    if count > 0 {
        warn(&format!("the item has {}; see {conflicts}", text::count(count, "conflict")));
    }
    Ok(())
}

/// Opens the content in the editor of the user and returns the edited text.
fn typed(payload: &Payload) -> Result<String, Failure> {
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).ok_or_else(|| {
        Failure::usage(
            "nothing to change: give --title, --content, --file, --under or --top, or set EDITOR",
        )
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
        return Err(Failure::refused(format!("the editor failed ({status}); nothing changed")));
    }
    // Editors may replace the file, so it is opened again by its name.
    let mut text = String::new();
    std::fs::File::open(file.path())
        .and_then(|mut file| file.read_to_string(&mut text))
        .map_err(failed)?;
    if !content.ends_with('\n') && text.ends_with('\n') {
        text.pop(); // editors end the last line
    }
    Ok(text)
}
