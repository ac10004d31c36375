//! `feedsync gateway status` and `feedsync gateway open`

use clap::Args;
use serde_json::{Value, json};

use super::control::Which;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, BOLD, CONFLICT, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync gateway status
  feedsync gateway status --json
";

/// Show the subscriptions of the running gateway, and whether it uses the network
///
/// The last line is a link to the pages of the gateway, which signs one browser in, once.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {
    #[command(flatten)]
    which: Which,
}

const OPEN_EXAMPLES: &str = "\
Examples:
  feedsync gateway open
  xdg-open \"$(feedsync gateway open)\"
";

/// Print a link to the pages of the gateway, which signs one browser in, once
#[derive(Debug, Args)]
#[command(after_help = OPEN_EXAMPLES)]
pub(crate) struct Open {
    #[command(flatten)]
    which: Which,
}

impl Status {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        let network = gateway.get("/network").await?;
        let subscriptions = gateway.get("/subscriptions").await?;
        let edits = gateway.get("/outbox").await?;
        let errors = gateway.get("/errors").await?;
        let count = |list: &Value| list.as_array().map_or(0, Vec::len) as u64;
        let stands = |word: &str| {
            let edits = edits.as_array().into_iter().flatten();
            edits.filter(|edit| edit["progress"] == word).count() as u64
        };
        let (held, waiting) = (stands("held"), stands("waiting"));
        if context.json {
            return output::json(&json!({
                "network": network,
                "subscriptions": subscriptions,
                "edits": count(&edits),
                "held": held,
                "waiting": waiting,
                "errors": count(&errors),
            }));
        }
        let link = gateway.post("/links").await?;
        let mut out = match network["policy"].as_str() {
            Some("offline") => format!("{CONFLICT}the network is not used{CONFLICT:#}\n"),
            _ => "the network is used when there is one\n".to_owned(),
        };
        for origin in network["origins"].as_array().into_iter().flatten() {
            if origin["reached"] == false {
                out.push_str(&format!("  not reached: {}\n", shown(&origin["origin"])));
            }
        }
        let rows: Vec<_> = subscriptions.as_array().into_iter().flatten().map(row).collect();
        match rows.is_empty() {
            true => {
                let subscribe = context.command("gateway subscribe URL");
                out.push_str(&format!("no subscriptions yet; add one: {subscribe}\n"));
            }
            false => {
                let headings = ["NUMBER", "STATE", "EVERY", "EDITS", "ERRORS", "FEED"];
                out.push_str(&table::table(headings, &rows));
                out.push_str(&paused(&subscriptions, context));
            }
        }
        out.push_str(&text::count(count(&edits), "edit"));
        out.push_str(" pending, ");
        if held + waiting > 0 {
            let outbox = context.command("gateway outbox");
            out.push_str(&format!("{held} held and {waiting} waiting (see {outbox}), "));
        }
        out.push_str(&text::count(count(&errors), "error"));
        out.push_str(&format!("\n{BOLD}pages{BOLD:#} {}\n", shown(&link["url"])));
        output::print(&out)
    }
}

/// Lists why subscriptions are paused, and the command that resumes each.
fn paused(subscriptions: &Value, context: &Context) -> String {
    let all = subscriptions.as_array().into_iter().flatten();
    let stopped = all.filter(|one| one["state"] == "PAUSED");
    let line = |one: &Value| {
        let resume = context.command(&format!("gateway resume {}", shown(&one["id"])));
        format!("  {} {} (to resume it: {resume})\n", shown(&one["id"]), shown(&one["why"]))
    };
    stopped.map(line).collect()
}

fn row(one: &Value) -> [String; 6] {
    [
        shown(&one["id"]),
        shown(&one["state"]),
        format!("{} min", one["interval"]),
        one["edits"].to_string(),
        one["errors"].to_string(),
        shown(&one["feed"]),
    ]
}

impl Open {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        let link = gateway.post("/links").await?;
        gateway.done(&link, link["url"].as_str().unwrap_or_default())
    }
}

/// Formats a text from other sources on one line.
pub(super) fn shown(value: &Value) -> String {
    text::line(value.as_str().unwrap_or_default())
}
