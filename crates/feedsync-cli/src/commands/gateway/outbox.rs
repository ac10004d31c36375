//! `feedsync gateway outbox` and `feedsync gateway cancel`

use clap::Args;
use feedsync_bitsy::time::Time;
use http::Method;
use serde_json::{Value, json};

use super::control::Which;
use super::status::shown;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync gateway outbox
  feedsync gateway outbox --json
";

/// Show the edits that are queued for their servers, and why each of them waits
///
/// Changes that newsreaders made, such as articles marked as read, are counted by server.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Outbox {
    #[command(flatten)]
    which: Which,
}

const CANCEL_EXAMPLES: &str = "\
Examples:
  feedsync gateway cancel 3              # its number, as `gateway outbox` shows it
";

/// Cancel a queued edit, and the edits that are based on it
#[derive(Debug, Args)]
#[command(after_help = CANCEL_EXAMPLES)]
pub(crate) struct Cancel {
    /// Number of the edit in `gateway outbox`
    edit: u64,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    which: Which,
}

impl Outbox {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        let edits = gateway.get("/outbox").await?;
        let changes = gateway.get("/newsreaders").await?;
        if context.json {
            return output::json(&json!({ "edits": edits, "newsreaders": changes }));
        }
        let row = |edit: &Value| {
            [
                shown(&edit["id"]),
                shown(&edit["method"]),
                shown(&edit["progress"]),
                edit["tries"].to_string(),
                shown(&edit["location"]),
                why(edit),
            ]
        };
        let rows: Vec<_> = edits.as_array().into_iter().flatten().map(row).collect();
        let changes: Vec<_> =
            changes.as_array().into_iter().flatten().map(of_newsreaders).collect();
        if rows.is_empty() && changes.is_empty() {
            return output::line("no edit is queued");
        }
        if !rows.is_empty() {
            let headings = ["NUMBER", "METHOD", "PROGRESS", "TRIES", "ADDRESS", "WHY"];
            output::print(&table::table(headings, &rows))?;
        }
        changes.into_iter().try_for_each(output::line)
    }
}

/// Describes the changes of newsreaders that are queued for one server.
fn of_newsreaders(waiting: &Value) -> String {
    let count = waiting["changes"].as_u64().unwrap_or_default();
    let changes = text::count(count, "change");
    let (location, newsreader) = (shown(&waiting["location"]), shown(&waiting["newsreader"]));
    format!("{changes} of newsreaders ({newsreader}) for {location} {}", why(waiting))
}

/// Describes why an edit is queued, since when, and until when.
fn why(edit: &Value) -> String {
    let mut out = shown(&edit["why"]);
    for (word, key) in [("since", "since"), ("until", "until")] {
        let time = edit[key].as_u64().map(|millis| Time::from_millis(millis).date_time());
        out.extend(time.map(|time| format!(", {word} {time}")));
    }
    let error = edit["error"].as_str().map(|error| format!(" (error {})", text::line(error)));
    out.extend(error);
    out
}

impl Cancel {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        let edits = gateway.get("/outbox").await?;
        let is_it = |edit: &&Value| shown(&edit["id"]) == self.edit.to_string();
        if let Some(edit) = edits.as_array().into_iter().flatten().find(is_it) {
            let (method, location) = (shown(&edit["method"]), shown(&edit["location"]));
            let loss = format!(
                "the edit and the edits that are based on it will be lost: {method} {location}"
            );
            confirm(&loss, self.yes)?;
        }
        gateway.ask(Method::DELETE, &format!("/outbox/{}", self.edit), None).await?;
        gateway
            .done(&json!({ "cancelled": self.edit }), &format!("edit {} is cancelled", self.edit))
    }
}
