//! `feedsync status`

use clap::Args;
use feedsync_fetch::shown_text;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, BOLD, CONFLICT, text};
use crate::view;

const EXAMPLES: &str = "\
Examples:
  feedsync status
  feedsync status --json
";

/// Show this endpoint, its collections, and the state of each remote
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {}

impl Status {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let identity = home.endpoint.identity().await?;
        let collections = home.store.collections().await?;
        let remotes = home.store.remotes(None).await?;
        let of = |name| collections.iter().find(|collection| collection.name == name);
        if context.json {
            let remote = |remote| view::remote(remote, of(remote.collection.clone()));
            return output::json(&json!({
                "data": home.place,
                "name": identity.name.as_str(),
                "by": identity.by.as_str(),
                "collections": collections.iter().map(view::collection).collect::<Value>(),
                "remotes": remotes.iter().map(remote).collect::<Value>(),
            }));
        }
        let mut out = format!("{BOLD}{}{BOLD:#}  {}\n", identity.name, home.place);
        for collection in &collections {
            let items = text::count(collection.live, "item");
            out.push_str(&format!("\n{BOLD}{}{BOLD:#}  {items}", collection.name));
            if collection.conflicted > 0 {
                let items = text::count(collection.conflicted, "item");
                out.push_str(&format!("  {CONFLICT}{items} in conflict{CONFLICT:#}"));
            }
            out.push('\n');
            for remote in remotes.iter().filter(|remote| remote.collection == collection.name) {
                let state = &remote.state;
                let when = state.succeeded.and_then(|moment| moment.timestamp());
                let when = when.map_or("never".to_owned(), |when| when.to_string());
                out.push_str(&format!(
                    "  {}  synchronised {when}",
                    text::line(&shown_text(&remote.url))
                ));
                match remote.state.pending(collection.last) {
                    0 => {}
                    count => {
                        out.push_str(&format!("  {} to send", text::count(count, "change")));
                    }
                }
                out.push('\n');
                if let Some(failure) = &state.failure {
                    let times = text::count(u64::from(state.failures), "failure");
                    out.push_str(&format!("    {times}: {}\n", text::line(failure)));
                }
            }
        }
        output::print(&out)
    }
}
