//! `feedsync file merge`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use feedsync_core::{Item, Outcome, Payload};
use feedsync_endpoint::{Counts, FeedDocument, ItemOutcome, ItemReport};
use feedsync_formats::{Document, ReadOptions, Refused, sse};
use serde_json::json;

use crate::commands::import::{
    Upgraded, counts_value, item_values, refusal, summary, upgraded, warn_of_plain,
};
use crate::failure::{Failure, warn};
use crate::invocation::command;
use crate::output;
use crate::source::{self, NetworkAccess, Source};

const EXAMPLES: &str = "\
Examples:
  feedsync file merge mine.atom theirs.atom -o mine.atom
  feedsync file merge mine.opml https://example.org/theirs.opml -o both.opml --report json
";

/// Merge a feed into another one, without an endpoint
///
/// LOCAL keeps its format, and every byte that the merge does not change. Two SSE documents are merged by the rules
/// of SSE, all others by those of FeedSync. Counters and histories may have any size.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// Feed to merge into: a file, '-' for standard input, or an address
    local: String,
    /// Feed to merge: a file, '-' for standard input, or an address
    incoming: String,
    /// Output file, which may be LOCAL
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Print the outcome of each incoming item
    #[arg(long, value_name = "FORMAT")]
    report: Option<ReportFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// {"counts","items":[{"id","outcome","reason"}]}
    Json,
}

impl Merge {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        let local = Source::load(&self.local, way).await?;
        let incoming = Source::load(&self.incoming, way).await?;
        let options = ReadOptions::tolerant();
        let is_sse = |source: &Source| sse::uses_sse(&source.bytes, &options);
        // Items of INCOMING that cannot be read count as refused, and have no report.
        let ((bytes, items), unread) = match (is_sse(&local), is_sse(&incoming)) {
            (true, true) => merge_sse(&local, &incoming)?,
            (true, false) => {
                return Err(Failure::refused(format!(
                    "{} is SSE, {} is not",
                    local.name, incoming.name
                ))
                .hint(format!(
                    "convert it to FeedSync first: {}",
                    command("file convert FILE --to FORMAT")
                )));
            }
            (false, true) => {
                let Upgraded { items, refused, plain_items, .. } = upgraded(&incoming)?;
                let left_out = warn_of_plain(plain_items);
                let refused = refused + left_out;
                (merge(&local, items)?, refused)
            }
            (false, false) => {
                let document = read(&incoming)?;
                warn_of(&incoming, document.refused(), document.feed().plain_items);
                let refused = document.refused().len() as u64;
                (merge(&local, document.feed().items.clone())?, refused)
            }
        };
        source::write(Some(&self.output), &bytes)?;
        let mut counts = Counts { refused: unread, ..Counts::default() };
        items.iter().for_each(|item| counts.count(item.outcome));
        if json || self.report == Some(ReportFormat::Json) {
            let counts = counts_value(counts);
            output::json(&json!({ "counts": counts, "items": item_values(&items) }))?;
        } else {
            output::line(summary(counts))?;
            for (id, reason) in items.iter().filter_map(refusal) {
                warn(&format!("{id}: {reason}"));
            }
        }
        if counts.refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

type Merged = (Vec<u8>, Vec<ItemReport>);

fn read(source: &Source) -> Result<Document, Failure> {
    Document::read(&source.bytes, &ReadOptions::tolerant())
        .map_err(|error| Failure::document(&source.name, &error))
}

fn warn_of(source: &Source, refused: &[Refused], plain: usize) {
    for refused in refused {
        warn(&format!("{}:{}", source.name, refused.reason));
    }
    if plain > 0 {
        warn(&format!("{}: {plain} without sync information left out", source.name));
    }
}

fn merge(local: &Source, incoming: Vec<Item<Payload>>) -> Result<Merged, Failure> {
    let mut feed =
        FeedDocument::read(&local.bytes).map_err(|error| Failure::document(&local.name, &error))?;
    let reports = feed.merge(incoming);
    Ok((feed.to_bytes(), reports))
}

fn merge_sse(local: &Source, incoming: &Source) -> Result<(Merged, u64), Failure> {
    let read = |source: &Source| {
        sse::Document::read(&source.bytes, &ReadOptions::tolerant())
            .map_err(|error| Failure::document(&source.name, &error))
    };
    let (document, other) = (read(local)?, read(incoming)?);
    warn_of(incoming, other.refused(), other.plain_items());
    let merged = document.merge(&other).map_err(Failure::refused)?;
    for id in &merged.moved {
        warn(&format!("{id}: it was inside itself, and is at the top level now"));
    }
    let outcome = |outcome: Outcome| match outcome {
        Outcome::Added => ItemOutcome::Added,
        Outcome::Unchanged => ItemOutcome::Unchanged,
        Outcome::Updated => ItemOutcome::Updated,
        Outcome::Conflict => ItemOutcome::Conflict,
    };
    let reports = merged.outcomes.into_iter();
    let reports = reports.map(|(id, what)| ItemReport { id, outcome: outcome(what) }).collect();
    Ok(((merged.bytes, reports), other.refused().len() as u64))
}
