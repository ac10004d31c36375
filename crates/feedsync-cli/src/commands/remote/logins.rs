//! `feedsync remote logins`

use clap::Args;
use feedsync_client::LoginFile;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync remote logins
";

/// List the hubs with a stored login
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Logins {}

impl Logins {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let logins = LoginFile::within(&context.data).read()?;
        if context.json {
            let each = logins
                .iter()
                .map(|(origin, login)| json!({ "origin": origin.as_str(), "user": login.user() }));
            return output::json(&each.collect());
        }
        let rows: Vec<_> = logins
            .iter()
            .map(|(origin, login)| {
                let with = login.user().map_or("a token".to_owned(), |user| {
                    format!("the password of {}", text::line(user))
                });
                [origin.to_string(), with]
            })
            .collect();
        if rows.is_empty() {
            return output::line(format!(
                "no logins; log in: {}",
                context.command("remote login URL")
            ));
        }
        output::print(&table::table(["HUB", "WITH"], &rows))
    }
}
