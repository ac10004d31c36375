//! `feedsync database restore`

use clap::Args;
use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_endpoint::documents::history::{RestoreError, RestoreRequest, RestoreSummary};
use feedsync_endpoint::documents::validation::Author;
use feedsync_store::{Database, Moment};
use serde_json::json;

use super::at::unknown;
use super::find::{find, find_at, last_dropped};
use super::past_time::PastTime;
use crate::confirm::confirm;
use crate::context::{Context, OpenEndpoint};
use crate::failure::{Failure, warn};
use crate::output::{self, progress::Progress, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync database restore notes --at 2h --dry-run
  feedsync database restore notes --at '2026-11-20 12:00'
  feedsync database restore notes --at 1d --document groceries.md
  feedsync database restore notes --dropped        # from the former database of that name
";

/// Bring documents back to their state at a time
///
/// The former content is written as new edits, which arrive at all devices like others. The present content becomes part of
/// the history, so that a restore can be undone by another one. Documents that did not exist at the time stay,
/// unless --delete-newer deletes them. Conflicts stay as they are. If another database had the name at that time, and kept a
/// history, its documents are written into the present one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// Name of the database
    name: DatabaseName,
    /// The time: a period before now (2h, 3d), a date, or a time, both in UTC
    #[arg(long, value_name = "TIME", required_unless_present = "dropped")]
    at: Option<PastTime>,
    /// The state of the last database of that name when it was dropped
    #[arg(long, conflicts_with = "at")]
    dropped: bool,
    /// Restore this document only (can be repeated)
    #[arg(long, value_name = "ID")]
    document: Vec<DocumentId>,
    /// Also delete documents that did not exist at the time
    #[arg(long)]
    delete_newer: bool,
    /// Write nothing, and print what would be restored
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Restore {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let database = find(&home, &self.name).await?;
        let (source, moment) = self.source(context, &home).await?;
        let request = |is_trial| RestoreRequest {
            moment,
            documents: Some(self.document.clone()).filter(|ids| !ids.is_empty()),
            deletes_newer: self.delete_newer,
            is_trial,
        };
        let writer = home.endpoint.documents_writer(Author::SERVER);
        let restore = async |is_trial| {
            let progress = Progress::spinner(if is_trial { "comparing" } else { "restoring" });
            let restored = writer.restore(&database, &source, &request(is_trial)).await;
            drop(progress);
            match restored {
                Ok(summary) => Ok(summary),
                Err(RestoreError::Unknown { since }) => Err(unknown(context, &self.name, since)),
                Err(RestoreError::Store(error)) => Err(error.into()),
            }
        };
        if self.dry_run {
            return print(context, &restore(true).await?, "would be ");
        }
        if !self.yes {
            ask(&restore(true).await?, &self.name, moment)?;
        }
        let done = restore(false).await?;
        for (id, refusal) in &done.refusals {
            warn(&text::line(&format!("{id}: not restored: {refusal}")));
        }
        print(context, &done, "")?;
        if done.refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }

    /// The database that had the name then, and the moment.
    async fn source(
        &self,
        context: &Context,
        home: &OpenEndpoint,
    ) -> Result<(Database, Moment), Failure> {
        let Some(at) = &self.at else {
            let (kept, dropped) = last_dropped(context, home, &self.name).await?;
            return Ok((kept, dropped.moment));
        };
        let moment = at.moment(home.endpoint.environment().now());
        Ok((find_at(home, &self.name, moment).await?, moment))
    }
}

/// Asks whether to go on with a restore, unless it changes nothing.
fn ask(planned: &RestoreSummary, name: &DatabaseName, moment: Moment) -> Result<(), Failure> {
    if planned.restored + planned.deleted == 0 {
        return Ok(());
    }
    let restored = text::count(planned.restored, "document");
    let time = view::shown(moment);
    let mut loss = format!("{restored} of {name} will be as at {time}");
    if planned.deleted > 0 {
        let deleted = text::count(planned.deleted, "newer document");
        loss.push_str(&format!(", and {deleted} will be deleted"));
    }
    confirm(&loss, false)
}

fn print(context: &Context, summary: &RestoreSummary, would: &str) -> Result<(), Failure> {
    let RestoreSummary { restored, unchanged, deleted, newer, refused, .. } = summary;
    let value = json!({
        "restored": restored,
        "unchanged": unchanged,
        "deleted": deleted,
        "newer": newer,
        "refused": refused,
        "refusals": summary.refusals.iter().map(|(id, refusal)| {
            json!({ "id": id.as_str(), "reason": refusal.to_string() })
        }).collect::<Vec<_>>(),
    });
    let mut said =
        format!("{} {would}restored, {unchanged} unchanged", text::count(*restored, "document"));
    for (number, what) in
        [(deleted, "deleted"), (newer, "newer and left as they are"), (refused, "refused")]
    {
        if *number > 0 {
            said.push_str(&format!(", {number} {what}"));
        }
    }
    output::result(context.json, &value, said)
}
