//! Options that decide about the conflicts of an item.

use clap::Args;
use feedsync_core::{Item, Keep, Payload, Resolution, Resolved};

use crate::commands::content::Content;
use crate::failure::Failure;
use crate::source::NetworkAccess;

/// A decision about conflicts.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// Keep the winner
    #[arg(long, conflicts_with_all = ["take", "title", "content", "file"])]
    keep_winner: bool,
    /// Take conflict N, by its number in `conflicts`
    #[arg(long, value_name = "N", conflicts_with_all = ["title", "content", "file"],
        value_parser = clap::value_parser!(u16).range(1..))]
    take: Option<u16>,
    /// Resolve only these conflicts, by their numbers in `conflicts`; the others stay open
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..))]
    only: Vec<u16>,
    #[command(flatten)]
    content: Content,
}

impl Choice {
    /// Returns the resolution for the conflicts of `seen`.
    pub(crate) async fn resolution(
        self,
        way: &NetworkAccess,
        seen: &Item<Payload>,
    ) -> Result<Resolution<Payload>, Failure> {
        if seen.conflicts.is_empty() {
            return Err(Failure::refused(format!("{} has no conflicts", seen.id)));
        }
        let resolved = match self.only.is_empty() {
            true => Resolved::All,
            false => {
                let places = self.only.iter().map(|number| place(seen, *number));
                Resolved::Some(places.collect::<Result<_, _>>()?)
            }
        };
        let keep = match self.take {
            Some(number) => Keep::Conflict(place(seen, number)?),
            None if self.keep_winner => Keep::Winner,
            None => {
                let payload = self.content.revise(way, &seen.winner.payload).await?;
                Keep::Content { payload, deleted: None }
            }
        };
        Ok(Resolution { resolved, keep })
    }
}

/// Index in the item of the conflict with this number.
fn place(item: &Item<Payload>, number: u16) -> Result<usize, Failure> {
    let ranked = item.ranked_conflicts();
    let found = ranked.get(usize::from(number) - 1).map(|(place, _)| *place);
    found.ok_or_else(|| {
        let last = ranked.len();
        Failure::not_found(format!("{} has no conflict {number}, the last is {last}", item.id))
    })
}
