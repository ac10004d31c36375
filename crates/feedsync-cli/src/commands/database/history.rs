//! `feedsync database history`

use clap::Args;
use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_store::{EndedPosition, EndedRevision, History as Kept, WriteOrigin};
use serde_json::{Value, json};

use super::at::unknown;
use super::find::find;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync database history notes
  feedsync database history notes --document groceries.md
  feedsync database history notes --limit 1000 --json
";

/// List what changed in a database, newest first: each revision that an edit or a deletion ended
///
/// The database must keep a history (`database set --history`).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct History {
    /// Name of the database
    name: DatabaseName,
    /// List this document only
    #[arg(long, value_name = "ID")]
    document: Option<DocumentId>,
    /// Maximum number of lines
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl History {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let database = find(&home, &self.name).await?;
        if database.history == Kept::Off {
            return Err(unknown(context, &self.name, None));
        }
        let databases = home.endpoint.databases();
        let limit = self.limit as usize;
        let mut all: Vec<EndedRevision> = Vec::new();
        while all.len() < limit {
            let before = all.last().map(|ended| EndedPosition {
                ended: ended.ended.moment,
                body: ended.content.body.number,
            });
            let most = (limit - all.len()).min(200);
            let page =
                databases.ended_revisions(&self.name, self.document.as_ref(), before, most).await?;
            let count = page.len();
            all.extend(page);
            if count < most {
                break;
            }
        }
        if context.json {
            return output::json(&all.iter().map(value).collect());
        }
        if all.is_empty() {
            return output::line("nothing has changed while a history was kept");
        }
        let row = |ended: &EndedRevision| {
            let by = |origin: &WriteOrigin| origin.author.as_deref().unwrap_or_default().to_owned();
            let written = ended.written.as_ref().map(|origin| view::shown(origin.moment));
            [
                view::shown(ended.ended.moment),
                text::short(ended.id.as_str(), 60),
                text::short(&ended.revision.to_string(), 14),
                written.unwrap_or_default(),
                text::line(&by(&ended.ended)),
            ]
        };
        let rows: Vec<_> = all.iter().map(row).collect();
        output::print(&table::table(["ENDED", "DOCUMENT", "REVISION", "WRITTEN", "BY"], &rows))
    }
}

fn value(ended: &EndedRevision) -> Value {
    let origin = |origin: &WriteOrigin| json!({ "time": view::shown(origin.moment), "by": origin.author.as_deref() });
    json!({
        "id": ended.id.as_str(),
        "rev": ended.revision.to_string(),
        "deleted": ended.content.is_deleted,
        "written": ended.written.as_ref().map(origin),
        "ended": origin(&ended.ended),
    })
}
