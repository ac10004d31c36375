//! `feedsync export`

use std::path::{Component, Path, PathBuf};

use clap::Args;
use feedsync_core::Format;
use feedsync_fetch::Url;
use feedsync_formats::sse::Dates;

use crate::commands::import::only_collection;
use crate::context::Context;
use crate::failure::{Failure, warn};
use crate::feed_file::{Extent, FeedFile};
use crate::media_files::write_media;
use crate::output;
use crate::output::progress::Progress;
use crate::output::text;
use crate::source::Target;
use crate::values;

const EXAMPLES: &str = "\
Examples:
  feedsync export notes --to json
  feedsync export notes --to rss --output notes.rss --url https://example.org/notes.rss
  feedsync export pictures --output www/pictures.atom --media media
  feedsync export feeds --to opml --sse
";

/// Write a collection as one complete feed
///
/// The feed contains all items with their histories and conflicts, and the tombstones. Others can merge it, or
/// synchronise with it on a web server. In that case give `--url`: it tells subscribers that are out of sync that the
/// feed is complete. `collection publish` keeps feeds on a web server up to date.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// Name of the collection [default: the only one]
    collection: Option<feedsync_store::CollectionName>,
    /// Format of the feed [default: that of the collection]
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    to: Option<Format>,
    /// Write SSE 0.91 instead of FeedSync, as rss or opml, and report what SSE cannot express
    #[arg(long)]
    sse: bool,
    /// Address at which the feed will be published
    #[arg(long, value_parser = values::public_url)]
    url: Option<Url>,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Directory for pictures and other media of items, beside FILE; the items link to them
    #[arg(long, value_name = "DIR", requires = "output", value_parser = beside)]
    media: Option<PathBuf>,
}

/// Parses a directory below the directory of the feed.
fn beside(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.components().all(|part| matches!(part, Component::Normal(_))) && !text.is_empty() {
        true => Ok(path),
        false => Err("it is a directory beside the feed, such as media".to_owned()),
    }
}

/// Address of the media directory: absolute if the address of the feed is known, otherwise relative to the
/// feed.
fn media_address(directory: &Path, feed: Option<&Url>) -> String {
    let nowhere = Url::parse("file:///").ok();
    let Some(base) = feed.or(nowhere.as_ref()) else { return String::new() };
    let parts: Vec<_> = directory.iter().map(|part| part.to_string_lossy()).collect();
    let mut address = base.clone();
    if let Ok(mut path) = address.path_segments_mut() {
        path.pop().extend(parts);
    }
    let address = address.to_string();
    match feed {
        Some(_) => address,
        None => address.trim_start_matches("file:///").to_owned(),
    }
}

impl Export {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        output::refuse_json(context.json, "a feed; `--to json` writes it in JSON")?;
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
        let media = self.media.as_ref().map(|media| media_address(media, self.url.as_ref()));
        let file = FeedFile {
            publication: &publication,
            extent: Extent::Complete,
            format,
            url,
            complete: url,
            media: media.as_deref(),
        };
        let progress = Progress::bar("exporting", collection.live + collection.deleted);
        let mut target = Target::open(self.output.as_deref())?;
        let written = match self.sse {
            true => file.write_sse(endpoint, &mut target, &Dates::default()).await?,
            false => file.write(endpoint, &mut target, |count| progress.advance(count)).await?,
        };
        for (id, losses) in &written.losses {
            for loss in losses {
                warn(&format!("{id}: lost: {loss}"));
            }
        }
        if let (Some(media), Some(output)) = (&self.media, &self.output) {
            write_media(&home, &output.with_file_name(media), &written.media).await?;
        } else if !written.media.is_empty() {
            let count = text::count(written.media.len() as u64, "file");
            warn(&format!("{count} of media left out; --output FILE --media DIR writes them"));
        }
        drop(progress);
        target.finish()?;
        Ok(endpoint.mark_sent(&name, publication.up_to).await?)
    }
}
