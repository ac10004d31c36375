//! `feedsync export`

use std::path::PathBuf;

use clap::Args;
use feedsync::Format;
use feedsync_client::fetch::Url;

use crate::arguments;
use crate::commands::import::only_collection;
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::feed_file::{Extent, FeedFile};
use crate::output::progress::Progress;
use crate::source::Target;

const EXAMPLES: &str = "\
Examples:
  feedsync export notes --to json
  feedsync export notes --to rss --output notes.rss --url https://example.org/notes.rss
  feedsync export feeds --to opml --sse
";

/// Write a collection as one complete feed
///
/// The feed has everything: tombstones, conflicts, histories. Anybody can merge it, or put it on a web
/// server for others to synchronise with. Give --url then: subscribers that are out of sync learn from it that
/// the feed is complete. `publish` keeps feeds on a web server up to date.
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
    /// Address at which the feed will be
    #[arg(long, value_parser = arguments::public_url)]
    url: Option<Url>,
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
        let publication = endpoint.publish_complete(&name).await?;
        let collection = &publication.collection;
        let format = self.to.unwrap_or(collection.format);
        if self.sse && !matches!(format, Format::Rss | Format::Opml) {
            return Err(Failure::usage(format!("SSE has no {format}"))
                .hint("write it as --to rss or --to opml"));
        }
        let url = self.url.as_ref().map(Url::as_str);
        let file = FeedFile {
            publication: &publication,
            extent: Extent::Complete,
            format,
            url,
            complete: url,
            media: None,
        };
        let progress = Progress::bar("exporting", collection.live + collection.deleted);
        let mut target = Target::open(self.output.as_deref())?;
        if self.sse {
            let exported = file.sse(endpoint).await?;
            for (id, losses) in &exported.losses {
                for loss in losses {
                    warn(&format!("{id}: lost: {loss}"));
                }
            }
            target.write(exported.text.as_bytes())?;
        } else {
            file.write(endpoint, &mut target, |count| progress.advance(count)).await?;
        }
        drop(progress);
        target.finish()?;
        Ok(endpoint.mark_sent(&name, publication.up_to).await?)
    }
}
