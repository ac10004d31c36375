//! `feedsync convert`

use std::path::PathBuf;

use clap::Args;
use feedsync::{Format, Item, Payload, Timestamp};
use feedsync_formats::{FeedHead, FeedWriter, ReadOptions, entry, read, sse};
use feedsync_store::Digest;

use crate::arguments;
use crate::commands::import::upgraded;
use crate::failure::{Failure, warn};
use crate::output::text;
use crate::source::{self, Source};

const EXAMPLES: &str = "\
Examples:
  feedsync convert notes.atom --to json
  feedsync convert list.opml --to atom -o list.atom      # SSE becomes FeedSync
";

/// Write a feed in another format, without any endpoint
///
/// Histories and conflicts stay what they are. What the other format has no place for travels in an
/// extension, so that converting back gives the same items. An SSE document becomes a FeedSync feed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    /// A file, '-' for standard input, or an address
    file: String,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = arguments::format())]
    to: Format,
    /// Write to OUT [default: standard output]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Convert {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let source = Source::load(&self.file).await?;
        let options = ReadOptions::tolerant();
        let (title, items, refused) = if sse::uses_sse(&source.bytes, &options) {
            let document = sse::Document::read(&source.bytes, &options)
                .map_err(|error| Failure::document(&source.name, &error))?;
            (document.title().map(str::to_owned), upgraded(&source)?, document.refused().len())
        } else {
            let reading = read(&source.bytes, None, &options)
                .map_err(|error| Failure::document(&source.name, &error))?;
            if reading.format == self.to {
                return source::write(self.output.as_deref(), &source.bytes);
            }
            for refused in &reading.refused {
                warn(&format!("{}:{}", source.name, refused.reason));
            }
            if reading.feed.plain_items > 0 {
                let items = text::count(reading.feed.plain_items as u64, "item");
                warn(&format!("{items} without sync information left out"));
            }
            (reading.title, reading.feed.items, reading.refused.len())
        };
        let document = written(&source, title.as_deref(), &items, self.to)?;
        source::write(self.output.as_deref(), document.as_bytes())?;
        if refused > 0 { Err(Failure::Faults) } else { Ok(()) }
    }
}

/// The feed in the other format. Its id is made of the source, so that converting twice gives the same.
fn written(
    source: &Source,
    title: Option<&str>,
    items: &[Item<Payload>],
    format: Format,
) -> Result<String, Failure> {
    let digest = Digest::of(&source.bytes).to_string();
    // RFC 9562, version 8: the bits are ours to choose.
    let id = format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        &digest[..8],
        &digest[8..12],
        &digest[13..16],
        &digest[17..20],
        &digest[20..32]
    );
    let dates = items.iter().flat_map(|item| {
        let entry = entry(&item.winner.payload);
        [item.winner.dot().when(), entry.updated, entry.published]
    });
    let updated = match dates.flatten().max().or_else(|| Timestamp::from_unix_seconds(0)) {
        Some(updated) => updated,
        None => return Err(Failure::refused("the feed has no date that can be written")),
    };
    let title = title.unwrap_or(&source.name);
    let head = FeedHead {
        id: &id,
        title,
        updated,
        author: title,
        self_link: None,
        next: None,
        links: &[],
        sharing: None,
    };
    let mut writer = FeedWriter::new(format);
    let mut out = String::new();
    writer.begin(&mut out, &head);
    items.iter().for_each(|item| writer.item(&mut out, item));
    writer.end(&mut out);
    Ok(out)
}
