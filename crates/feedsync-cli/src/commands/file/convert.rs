//! `feedsync file convert`

use std::path::PathBuf;

use clap::Args;
use feedsync_core::sse as sse_rules;
use feedsync_core::{Format, Item, Payload, Related, Sharing, Timestamp};
use feedsync_formats::{
    FeedDetails, FeedHead, FeedWriter, ReadOptions, entry, read, read_plain, sse,
};
use feedsync_store::Digest;

use crate::commands::import::{Upgraded, upgraded, warn_of_details};
use crate::failure::{Failure, warn};
use crate::output::{self, text};
use crate::source::{self, NetworkAccess, Source};
use crate::values;

const EXAMPLES: &str = "\
Examples:
  feedsync file convert notes.atom --to json
  feedsync file convert list.opml --to atom -o list.atom      # SSE becomes FeedSync
";

/// Convert a feed to another format, without an endpoint
///
/// Histories and conflicts do not change. Data that the other format cannot express is kept in an extension, so that
/// converting back gives the same items. An SSE document becomes a FeedSync feed. Items without sync information
/// follow the others, and keep only what the other format can express.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    /// Feed: a file, '-' for standard input, or an address
    file: String,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    to: Format,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Convert {
    pub(crate) async fn run(self, json: bool, way: &NetworkAccess) -> Result<(), Failure> {
        output::refuse_json(json, "a feed; `--to json` writes it in JSON")?;
        let source = Source::load(&self.file, way).await?;
        let options = ReadOptions::tolerant();
        let Feed { title, details, items, sharing, refused } =
            if sse::uses_sse(&source.bytes, &options) {
                let document = sse::Document::read(&source.bytes, &options)
                    .map_err(|error| Failure::document(&source.name, &error))?;
                let Upgraded { items, refused, .. } = upgraded(&source)?;
                let sharing =
                    document.sharing().filter(|it| it.since.is_some() || it.until.is_some());
                if sharing.is_some() {
                    warn("since and until are left out: SSE has dates where FeedSync has numbers");
                }
                let related = document.sharing().map(related);
                Feed {
                    title: document.title().map(str::to_owned),
                    details: document.details().clone(),
                    items,
                    sharing: related,
                    refused,
                }
            } else {
                let reading = read(&source.bytes, None, &options)
                    .map_err(|error| Failure::document(&source.name, &error))?;
                if reading.format == self.to {
                    return source::write(self.output.as_deref(), &source.bytes);
                }
                for refused in &reading.refused {
                    warn(&format!("{}:{}", source.name, refused.reason));
                }
                let refused = reading.refused.len() as u64;
                let feedsync_core::Feed { items, sharing, .. } = reading.feed;
                Feed { title: reading.title, details: reading.details, items, sharing, refused }
            };
        let plain = read_plain(&source.bytes, &source.plain())
            .map_err(|error| Failure::document(&source.name, &error))?
            .payloads;
        if !plain.is_empty() {
            let items = text::count(plain.len() as u64, "item");
            warn(&format!("{items} without sync information: kept, and not shared"));
        }
        let said =
            DocumentHead { title: title.as_deref(), details: &details, sharing: sharing.as_ref() };
        warn_of_details(&details);
        let document = written(&source, &said, &items, &plain, self.to)?;
        source::write(self.output.as_deref(), document.as_bytes())?;
        if refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

/// Feed to be converted.
struct Feed {
    title: Option<String>,
    details: FeedDetails,
    items: Vec<Item<Payload>>,
    /// Window and related feeds, which the converted feed repeats.
    sharing: Option<Sharing>,
    /// Number of items that could not be converted; a warning was printed for each.
    refused: u64,
}

/// Title, details and sharing information of a document.
struct DocumentHead<'a> {
    title: Option<&'a str>,
    details: &'a FeedDetails,
    sharing: Option<&'a Sharing>,
}

/// Converts the related feeds of SSE into those of FeedSync (U9).
fn related(sharing: &sse_rules::Sharing) -> Sharing {
    let related = sharing.related.iter().map(|related| Related {
        link: related.link.clone(),
        title: related.title.clone(),
        kind: related.kind,
    });
    Sharing { related: related.collect(), ..Sharing::default() }
}

/// Writes the feed in the other format. The feed id is derived from the source bytes, so that two conversions
/// give the same document.
fn written(
    source: &Source,
    said: &DocumentHead<'_>,
    items: &[Item<Payload>],
    plain: &[Payload],
    format: Format,
) -> Result<String, Failure> {
    let digest = Digest::of(&source.bytes).to_string();
    // UUID version 8 (RFC 9562) leaves these bits to the implementation.
    let id = format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        &digest[..8],
        &digest[8..12],
        &digest[13..16],
        &digest[17..20],
        &digest[20..32]
    );
    let signed = items.iter().map(|item| item.winner.dot().when());
    let payloads = items.iter().map(|item| &item.winner.payload).chain(plain);
    let told = payloads.map(entry).flat_map(|entry| [entry.updated, entry.published]);
    let dates = signed.chain(told);
    let updated = match dates.flatten().max().or_else(|| Timestamp::from_unix_seconds(0)) {
        Some(updated) => updated,
        None => return Err(Failure::refused("the feed has no valid date")),
    };
    let title = said.title.unwrap_or(&source.name);
    let head = FeedHead {
        id: &id,
        title,
        updated,
        author: title,
        details: Some(said.details),
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: said.sharing,
    };
    let mut writer = FeedWriter::new(format);
    let mut out = String::new();
    writer.begin(&mut out, &head);
    items.iter().for_each(|item| writer.item(&mut out, item));
    plain.iter().for_each(|item| writer.plain(&mut out, item));
    writer.end(&mut out);
    Ok(out)
}
