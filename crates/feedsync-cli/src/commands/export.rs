//! `feedsync export`

use std::path::PathBuf;

use clap::Args;
use feedsync::{Format, Sharing};
use feedsync_formats::{FeedHead, FeedWriter, sse};
use feedsync_store::PageLimit;

use crate::arguments;
use crate::commands::import::only_collection;
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::output::progress::Progress;
use crate::source::Target;

const EXAMPLES: &str = "\
Examples:
  feedsync export notes --to json
  feedsync export notes --to rss --output notes.rss     # a feed for any web server
  feedsync export feeds --to opml --sse
";

/// Write a collection as one complete feed
///
/// The feed holds everything: tombstones, conflicts, histories. Anybody can merge it, or put it on a web
/// server for others to synchronise with.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// The collection [default: the only one there is]
    collection: Option<feedsync_store::CollectionName>,
    /// The format [default: the collection's]
    #[arg(long, value_name = "FORMAT", value_parser = arguments::format())]
    to: Option<Format>,
    /// Write SSE 0.91 instead of FeedSync, as rss or opml, and say what does not fit
    #[arg(long)]
    sse: bool,
    /// Write to FILE [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let name = match self.collection {
            Some(name) => name,
            None => only_collection(&home).await?,
        };
        let endpoint = &home.endpoint;
        let publication = endpoint.publish(&name, None).await?;
        let collection = &publication.collection;
        let author = endpoint.identity().await?.name.to_string();
        let sharing = Sharing { window: Some(publication.window.clone()), ..Sharing::default() };
        let head = FeedHead {
            id: &collection.feed_id,
            title: &collection.title,
            updated: collection.edited.timestamp().ok_or_else(|| Failure::store("a wrong date"))?,
            author: &author,
            self_link: None,
            next: None,
            links: &[],
            complete: false,
            sharing: Some(&sharing),
        };
        let format = self.to.unwrap_or(collection.format);
        if self.sse && !matches!(format, Format::Rss | Format::Opml) {
            return Err(Failure::usage(format!("SSE has no {format}"))
                .hint("write it as --to rss or --to opml"));
        }
        let progress = Progress::bar("exporting", collection.live + collection.deleted);
        let mut target = Target::open(self.output.as_deref())?;
        let mut writer = FeedWriter::new(format);
        let mut held = Vec::new();
        let mut out = String::new();
        if !self.sse {
            writer.begin(&mut out, &head);
        }
        let mut after = publication.after;
        loop {
            let page = endpoint.page(&publication, after, PageLimit::items(500)).await?;
            progress.advance(page.items.len() as u64);
            for stored in page.items {
                if self.sse {
                    held.push(stored.item);
                } else {
                    writer.item(&mut out, &stored.item);
                }
            }
            target.write(out.as_bytes())?;
            out.clear();
            after = page.through;
            if !page.more {
                break;
            }
        }
        if self.sse {
            let exported = sse::export(format, &head, &held);
            for (id, losses) in &exported.losses {
                for loss in losses {
                    warn(&format!("{id}: lost: {loss}"));
                }
            }
            out = exported.text;
        } else {
            writer.end(&mut out);
        }
        drop(progress);
        target.write(out.as_bytes())?;
        target.finish()?;
        Ok(endpoint.mark_sent(&name, publication.up_to).await?)
    }
}
