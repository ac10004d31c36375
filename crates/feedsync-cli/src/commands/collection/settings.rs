//! `feedsync collection settings`

use clap::Args;
use feedsync_endpoint::{HeadText, Markup, Settings as Meaning};
use feedsync_store::CollectionName;
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, table, text};

const EXAMPLES: &str = "\
Examples:
  feedsync collection settings notes
  feedsync collection settings notes --json
";

/// Show the settings of a collection
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Settings {
    /// Name of the collection
    collection: CollectionName,
}

impl Settings {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let stored = context.open().await?.endpoint.collection(&self.collection).await?.settings;
        print(context, &Meaning::read(&stored)?)
    }
}

/// Prints settings as JSON, or those that can be set one by one as text.
pub(crate) fn print(context: &Context, settings: &Meaning) -> Result<(), Failure> {
    if context.json {
        return output::json(&Value::Object(settings.members()));
    }
    let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let categories = settings.categories.as_ref().map(|categories| {
        let terms: Vec<_> = categories.list.iter().map(|each| text::line(&each.term)).collect();
        let others = if categories.fixed { "only" } else { "and others" };
        format!("{} ({others})", terms.join(", "))
    });
    let accept: Vec<_> = settings.accept.iter().map(ToString::to_string).collect();
    let accept = if accept.is_empty() { "none".to_owned() } else { accept.join(",") };
    let (keep, partial) = (settings.keep, settings.partial);
    let line = |head: &Option<HeadText>| or(head.as_ref().map(|head| text::line(head.as_str())));
    let markup = settings.markup.as_ref().map(|Markup(markup)| {
        let pieces = text::count(markup.pieces().len() as u64, "piece");
        format!("{pieces} of {}", markup.format())
    });
    let rows = [
        ("accept", accept),
        ("categories", or(categories)),
        ("drafts", settings.drafts.to_string()),
        ("preconditions", settings.preconditions.to_string()),
        ("keep_stale_edits", settings.keep_stale_edits.to_string()),
        ("conflicts", settings.conflicts.name().to_owned()),
        ("keep.age", or(keep.age.map(|period| period.to_string()))),
        ("keep.count", or(keep.count.map(|count| count.to_string()))),
        ("keep.tombstones", or(keep.tombstones.map(|period| period.to_string()))),
        ("partial.age", or(partial.age.map(|period| period.to_string()))),
        ("partial.count", or(partial.count.map(|count| count.to_string()))),
        ("expires", or(settings.expires.map(|period| period.to_string()))),
        ("public", settings.public.to_string()),
        ("documents", settings.documents.to_string()),
        ("subtitle", line(&settings.subtitle)),
        ("rights", line(&settings.rights)),
        ("author", line(&settings.author)),
        ("markup", or(markup)),
    ];
    let rows = rows.map(|(name, value)| [name.to_owned(), value]);
    output::print(&table::table(["SETTING", "VALUE"], &rows))
}
