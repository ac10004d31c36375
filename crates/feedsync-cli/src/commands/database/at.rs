//! `feedsync database at`

use clap::Args;
use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_store::{Moment, PastDocument, PastPage, PastRange};
use serde_json::{Value, json};

use super::find::find_at;
use super::past_time::PastTime;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, JsonArray, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync database at notes --time 2h
  feedsync database at notes --time '2026-11-20 12:00' --document groceries.md
  feedsync database at notes --time 2026-11-20 --json > notes-2026-11-20.json
";

/// Number of documents that are read at once.
const PAGE: usize = 200;

/// Size at which a page ends, in bytes.
const PAGE_BYTES: u64 = 8 << 20;

/// Show a database as it was at a time
///
/// The database must keep a history (`database set --history`). Without --document, documents that existed then are listed
/// with their revisions. With --json, their bodies and conflicts are printed, too.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct At {
    /// Name of the database
    name: DatabaseName,
    /// The time: a period before now (2h, 3d), a date, or a time, both in UTC
    #[arg(long, value_name = "TIME")]
    time: PastTime,
    /// Show the body of this document (can be repeated)
    #[arg(long, value_name = "ID")]
    document: Vec<DocumentId>,
}

impl At {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let moment = self.time.moment(home.endpoint.environment().now());
        let source = find_at(&home, &self.name, moment).await?;
        let mut array = JsonArray::default();
        let mut shown = 0;
        let mut range = match self.document.is_empty() {
            true => PastRange::After { after: None, most: PAGE },
            false => PastRange::Ids(self.document.clone()),
        };
        loop {
            let page =
                home.endpoint.documents_at(&source.name, moment, range.clone(), PAGE_BYTES).await?;
            let (documents, last) = match page {
                PastPage::Known { documents, last, .. } => (documents, last),
                PastPage::Unknown { since } => return Err(unknown(context, &self.name, since)),
            };
            for document in documents.iter().filter(|document| self.is_shown(document)) {
                shown += 1;
                match context.json {
                    true => array.push(&value(document))?,
                    false => self.print(document)?,
                }
            }
            let Some(last) = last else { break };
            range = range.rest(last);
        }
        if shown == 0 && !self.document.is_empty() {
            let time = view::shown(moment);
            return Err(Failure::not_found(format!(
                "{} had no such document at {time}",
                self.name
            )));
        }
        match (context.json, shown) {
            (true, _) => array.end(),
            (false, 0) => output::line(format!("no documents at {}", view::shown(moment))),
            (false, _) => Ok(()),
        }
    }

    /// Deleted documents are shown if they are asked for.
    fn is_shown(&self, document: &PastDocument) -> bool {
        document
            .leaves
            .first()
            .is_some_and(|winner| !winner.is_deleted || !self.document.is_empty())
    }

    fn print(&self, document: &PastDocument) -> Result<(), Failure> {
        let Some((winner, others)) = document.leaves.split_first() else { return Ok(()) };
        let id = text::line(document.document.id.as_str());
        let deleted = if winner.is_deleted { " deleted" } else { "" };
        let conflicts = match others.iter().filter(|leaf| !leaf.is_deleted).count() {
            0 => String::new(),
            count => format!(", {}", text::count(count as u64, "conflict")),
        };
        output::line(format!("{id} {}{deleted}{conflicts}", winner.revision))?;
        if self.document.is_empty() {
            return Ok(());
        }
        output::print(&text::indented(&winner.body.text, "  "))
    }
}

/// Failure for a moment whose state is not known. `since` is the oldest known one.
pub(super) fn unknown(context: &Context, name: &DatabaseName, since: Option<Moment>) -> Failure {
    match since {
        Some(since) => {
            let message = format!("the history of {name} begins at {}", view::shown(since));
            Failure::not_found(message).hint("name a later time")
        }
        None => {
            let set = context.command(&format!("database set {name} --history 30d"));
            Failure::not_found(format!("{name} keeps no history"))
                .hint(format!("to keep it from now on: {set}"))
        }
    }
}

fn value(document: &PastDocument) -> Value {
    let leaf = |leaf: &feedsync_store::PastRevision| {
        json!({
            "rev": leaf.revision.to_string(),
            "deleted": leaf.is_deleted,
            "written": leaf.written.as_ref().map(|origin| view::shown(origin.moment)),
            "by": leaf.written.as_ref().and_then(|origin| origin.author.as_deref()),
            "body": serde_json::from_str::<Value>(&leaf.body.text).unwrap_or_default(),
            "attachments": leaf.body.attachments.iter().map(|attachment| &attachment.name).collect::<Vec<_>>(),
        })
    };
    let mut leaves = document.leaves.iter().map(leaf);
    let winner = leaves.next();
    let conflicts: Vec<_> = leaves.collect();
    json!({ "id": document.document.id.as_str(), "winner": winner, "conflicts": conflicts })
}
