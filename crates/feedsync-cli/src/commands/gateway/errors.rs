//! `feedsync gateway errors`, `retry` and `clear`

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::control::Which;
use super::status::shown;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table};

const EXAMPLES: &str = "\
Examples:
  feedsync gateway errors
  feedsync gateway errors 4            # one of them, with what was sent and what was answered
  feedsync gateway errors --json
";

/// Show the errors that nobody has cleared
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Errors {
    /// Number of an error to show with all details
    error: Option<u64>,
    #[command(flatten)]
    which: Which,
}

const RETRY_EXAMPLES: &str = "\
Examples:
  feedsync gateway retry 4             # its number, as `gateway errors` shows it
  feedsync gateway retry --waiting 3   # an edit that waits, as `gateway outbox` shows it
  feedsync gateway retry --all         # every edit that waits or is held
";

/// Send an edit again that a server refused, or one that waits
#[derive(Debug, Args)]
#[command(after_help = RETRY_EXAMPLES)]
pub(crate) struct Retry {
    /// Number of the error in `gateway errors`
    #[arg(required_unless_present_any = ["waiting", "all"])]
    error: Option<u64>,
    /// Send this edit of the outbox now
    #[arg(long, value_name = "EDIT", conflicts_with = "error")]
    waiting: Option<u64>,
    /// Send all edits of the outbox now
    #[arg(long, conflicts_with_all = ["error", "waiting"])]
    all: bool,
    #[command(flatten)]
    which: Which,
}

const CLEAR_EXAMPLES: &str = "\
Examples:
  feedsync gateway clear 4             # its number, as `gateway errors` shows it
  feedsync gateway resume https://example.org/feed.atom
";

/// Clear an error, and with it the edit that was refused; a failed subscription can be resumed then
#[derive(Debug, Args)]
#[command(after_help = CLEAR_EXAMPLES)]
pub(crate) struct Clear {
    /// Number of the error in `gateway errors`
    error: u64,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    which: Which,
}

impl Errors {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        if let Some(error) = self.error {
            let error = gateway.get(&format!("/errors/{error}")).await?;
            return if context.json { output::json(&error) } else { output::print(&whole(&error)) };
        }
        let errors = gateway.get("/errors").await?;
        if context.json {
            return output::json(&errors);
        }
        let row = |error: &Value| {
            [
                shown(&error["id"]),
                error["status"].to_string(),
                shown(&error["method"]),
                shown(&error["location"]),
            ]
        };
        let rows: Vec<_> = errors.as_array().into_iter().flatten().map(row).collect();
        if rows.is_empty() {
            return output::line("there are no errors");
        }
        output::print(&table::table(["NUMBER", "STATUS", "METHOD", "ADDRESS"], &rows))
    }
}

/// Formats an error as its request and response, followed by the server's current version if an edit was
/// refused.
fn whole(error: &Value) -> String {
    let part = |headers: &str, body: &str| {
        let lines = |value: &Value| output::text::lines(value.as_str().unwrap_or_default());
        let length = error[body]["length"].as_u64();
        let bytes = match (error[body]["text"].is_string(), length) {
            (true, _) => lines(&error[body]["text"]),
            (false, Some(length)) => format!("({length} bytes)"),
            (false, None) => String::new(),
        };
        format!("{}\n\n{bytes}\n", lines(&error[headers]))
    };
    let theirs = &error["theirs"];
    let theirs = match (theirs["text"].as_str(), theirs["length"].as_u64()) {
        (Some(text), _) => format!("\nThe server has now:\n\n{}\n", output::text::lines(text)),
        (None, Some(length)) => format!("\nThe server has now: ({length} bytes)\n"),
        (None, None) => String::new(),
    };
    format!(
        "{} {}\n{}\n{}\n{}{theirs}",
        shown(&error["method"]),
        shown(&error["location"]),
        part("requestHeaders", "request"),
        error["status"],
        part("responseHeaders", "response"),
    )
}

impl Retry {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        if self.all {
            let told = gateway.post("/outbox/retry").await?;
            let count = told["tried"].as_u64().unwrap_or_default();
            let verb = if count == 1 { "is" } else { "are" };
            let text = format!("{} {verb} tried now", output::text::count(count, "edit"));
            return gateway.done(&told, &text);
        }
        if let Some(edit) = self.waiting {
            gateway.post(&format!("/outbox/{edit}/retry")).await?;
            return gateway.done(&json!({ "tried": edit }), &format!("edit {edit} is tried now"));
        }
        let error = self.error.unwrap_or_default();
        gateway.post(&format!("/errors/{error}/retry")).await?;
        let text = format!("the edit of error {error} is sent again");
        gateway.done(&json!({ "retried": error }), &text)
    }
}

impl Clear {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        let path = format!("/errors/{}", self.error);
        let error = gateway.get(&path).await?;
        let (method, location) = (shown(&error["method"]), shown(&error["location"]));
        if method != "GET" {
            confirm(&format!("the edit that failed is gone then: {method} {location}"), self.yes)?;
        }
        gateway.ask(Method::DELETE, &path, None).await?;
        gateway.done(&json!({ "cleared": self.error }), &format!("error {} is cleared", self.error))
    }
}
