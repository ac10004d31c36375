//! `feedsync conflicts`

use clap::Args;
use feedsync_core::{Item, Payload};
use feedsync_store::{CollectionName, PageLimit, Selection};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, BOLD, CONFLICT, DIM, JsonArray, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync conflicts notes
  feedsync resolve notes 4f2a --take 1
";

/// Show the conflicts of a collection
///
/// Two concurrent edits of an item are both kept. All endpoints show the same one, the winner. The others are
/// numbered from 1, for `resolve --take`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Conflicts {
    /// Name of the collection
    collection: CollectionName,
}

impl Conflicts {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let mut selection = Selection { deleted: true, conflicted: true, ..Selection::default() };
        let mut array = JsonArray::default();
        let mut any = false;
        loop {
            let page =
                home.store.listing(&self.collection, &selection, PageLimit::items(500)).await?;
            for stored in &page.items {
                if context.json {
                    array.push(&view::conflict(&stored.item))?;
                } else {
                    output::print(&shown(&stored.item))?;
                }
                any = true;
            }
            selection.before = page.items.last().map(|stored| stored.number);
            if !page.more {
                break;
            }
        }
        if context.json {
            return array.end();
        }
        end(any, &context.command(&format!("resolve {} ITEM", self.collection)))
    }
}

/// Prints the line after the list of conflicts. `resolve` is the command that resolves a conflict.
pub(crate) fn end(any: bool, resolve: &str) -> Result<(), Failure> {
    match any {
        true => {
            output::line(format!("{DIM}{resolve} --keep-winner | --take N | --content C{DIM:#}"))
        }
        false => output::line("no conflicts"),
    }
}

/// Formats an item and its conflicts for people.
pub(crate) fn shown(item: &Item<Payload>) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", item.id);
    let winner = ("winner".to_owned(), &item.winner);
    let numbered = item.ranked_conflicts().into_iter().enumerate();
    let conflicts = numbered.map(|(index, (_, version))| (format!("{:>6}", index + 1), version));
    for (name, version) in std::iter::once(winner).chain(conflicts) {
        let title = text::short(&view::title(&version.payload), 60);
        let deleted = if version.deleted { "  deleted" } else { "" };
        let signed = view::signed(version.dot());
        out.push_str(&format!("{CONFLICT}{name}{CONFLICT:#}  {title}{deleted}\n"));
        let readable = view::readable(&version.payload);
        let content = readable.split_once("\n\n").map_or("", |(_, content)| content.trim_end());
        out.push_str(&text::indented(content, "        "));
        out.push_str(&format!("        {DIM}{signed}{DIM:#}\n"));
    }
    out.push('\n');
    out
}
