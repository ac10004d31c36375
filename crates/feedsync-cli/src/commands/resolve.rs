//! `feedsync resolve`

use clap::{ArgGroup, Args};
use feedsync_endpoint::ConflictPolicy;
use feedsync_store::CollectionName;
use serde_json::json;

use crate::commands::choice::Choice;
use crate::commands::edit::report;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output::{self, text};

const EXAMPLES: &str = "\
Examples:
  feedsync conflicts notes
  feedsync resolve notes 4f2a --keep-winner
  feedsync resolve notes 4f2a --take 1
  feedsync resolve notes 4f2a --content 'three litres, oat'
  feedsync resolve notes 4f2a --only 1,3 --keep-winner
  feedsync resolve notes --all latest
";

/// Resolve all conflicts of an item, or some of them
///
/// The resolution is an edit, which other endpoints receive. So nobody has to resolve these conflicts again.
/// Concurrent edits that arrive later are new conflicts.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("keep")
    .args(["all", "keep_winner", "take", "title", "content", "file"]).required(true).multiple(true))]
pub(crate) struct Resolve {
    /// Name of the collection
    collection: CollectionName,
    /// Id of the item, or the beginning of it
    #[arg(required_unless_present = "all")]
    item: Option<String>,
    /// Resolve the conflicts of all items by a rule: latest takes the version that was edited last, undeleted prefers
    /// content to a deletion and leaves other conflicts open
    #[arg(long, value_name = "POLICY", value_parser = policy,
        conflicts_with_all = ["item", "only", "keep_winner", "take", "title", "content", "file"])]
    all: Option<ConflictPolicy>,
    /// Do not ask before versions that the rule does not take are given up
    #[arg(long, requires = "all", conflicts_with = "item")]
    yes: bool,
    #[command(flatten)]
    choice: Choice,
}

impl Resolve {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if let Some(policy) = self.all {
            return all(context, &self.collection, policy, self.yes).await;
        }
        let home = context.open().await?;
        let item = self.item.as_deref().unwrap_or_default();
        let seen = home.item(&self.collection, item).await?.item;
        let resolution = self.choice.resolution(&context.way(), &seen).await?;
        let edited = home.endpoint.resolve(&self.collection, &seen, resolution).await?;
        report(context, &self.collection, &edited.item)
    }
}

/// Parses the name of a policy that resolves conflicts.
fn policy(text: &str) -> Result<ConflictPolicy, String> {
    let offered = [ConflictPolicy::Latest, ConflictPolicy::Undeleted];
    let found = offered.into_iter().find(|policy| policy.name() == text);
    found.ok_or_else(|| format!("it is one of {}", offered.map(ConflictPolicy::name).join(", ")))
}

/// Resolves the conflicts of all items by a policy.
async fn all(
    context: &Context,
    collection: &CollectionName,
    policy: ConflictPolicy,
    yes: bool,
) -> Result<(), Failure> {
    let home = context.open().await?;
    let conflicted = home.endpoint.collection(collection).await?.conflicted;
    if conflicted > 0 {
        let items = text::count(conflicted, "item");
        let loss = format!(
            "{items} of {collection} {} conflicts; versions that \"{}\" does not take are given up",
            if conflicted == 1 { "has" } else { "have" },
            policy.name(),
        );
        confirm(&loss, yes)?;
    }
    let (changed, open) = home.endpoint.resolve_all(collection, policy).await?;
    if context.json {
        return output::json(&json!({ "resolved": changed, "open": open }));
    }
    output::line(format!("{} changed", text::count(changed, "item")))?;
    if open > 0 {
        let see = context.command(&format!("conflicts {collection}"));
        let items = text::count(open, "item");
        let have = if open == 1 { "has" } else { "have" };
        warn(&format!("{items} still {have} conflicts; see {see}"));
    }
    Ok(())
}
