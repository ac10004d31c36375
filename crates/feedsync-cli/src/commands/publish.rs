//! `feedsync publish`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use feedsync::Format;
use feedsync_client::fetch::Url;
use feedsync_endpoint::{Publication, Settings};
use feedsync_formats::suffix;
use feedsync_store::{CollectionName, Digest};
use serde_json::{Value, json};

use crate::arguments;
use crate::commands::import::only_collection;
use crate::context::{Context, Home};
use crate::failure::{Failure, warn};
use crate::feed_file::{Extent, FeedFile, Written};
use crate::output::progress::Progress;
use crate::output::{self, text};
use crate::source::Target;

/// Interval at which files are written without a change: `expires` and the bounds of the partial feed depend on the
/// clock.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);

/// Directory of the files of media.
const MEDIA: &str = "media";

/// Minimum interval between two writes of the files.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  feedsync publish notes --directory www --url https://example.org/feeds/
  feedsync publish notes --directory www --url https://example.org/feeds/ --to atom,json --watch
  feedsync set notes partial.age=30d expires=1h      # what the feeds say and hold
";

/// Keep feeds of a collection on a web server up to date
///
/// Writes two files for each format: NAME.FORMAT with the latest changes, bounded by the settings partial.age
/// and partial.count, and NAME.complete.FORMAT with all items. Any web server can serve them. Subscribers need
/// only the address of the first, which names the second. Files that would not change are left alone. Pictures and other
/// media of items are written into media/, and their items link to them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Publish {
    /// The collection [default: the only one there is]
    collection: Option<CollectionName>,
    /// Directory for the files
    #[arg(long, short, value_name = "DIR")]
    directory: PathBuf,
    /// Address at which the web server has that directory
    #[arg(long, value_parser = arguments::public_url)]
    url: Url,
    /// The formats, with commas between [default: the collection's]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = arguments::format())]
    to: Vec<Format>,
    /// Go on until Ctrl-C, and write again after each change
    #[arg(long)]
    watch: bool,
}

impl Publish {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let name = match &self.collection {
            Some(name) => name.clone(),
            None => only_collection(&home).await?,
        };
        if self.url.query().is_some() {
            let url = &self.url;
            return Err(Failure::usage(format!("{url} is the address of no directory"))
                .hint("give it without what follows the question mark"));
        }
        let settings = Settings::read(&home.endpoint.collection(&name).await?.settings)?;
        if settings.drafts {
            warn(&format!("drafts of {name} are published, too"));
        }
        std::fs::create_dir_all(&self.directory)
            .map_err(|error| Failure::file(&self.directory.display().to_string(), &error))?;
        // Subscribed before the first read, so that no change is missed.
        let mut notices = home.store.subscribe(&name);
        let mut published = None;
        loop {
            let feeds = Feeds::of(&home, &name).await?;
            if published.as_ref() != Some(&feeds) {
                let files = self.publish(&home, &name, &feeds).await?;
                self.report(context, &files, published.is_some())?;
                published = Some(feeds);
            }
            if !self.watch {
                return Ok(());
            }
            let next = async {
                tokio::time::sleep(MIN_INTERVAL).await;
                let _ = tokio::time::timeout(REFRESH_INTERVAL, notices.next()).await;
            };
            tokio::select! {
                () = next => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
        }
    }

    /// Writes all files: complete feeds first, since a subscriber that falls behind goes from the partial feed to
    /// the complete one.
    async fn publish(
        &self,
        home: &Home,
        name: &CollectionName,
        feeds: &Feeds,
    ) -> Result<Vec<Value>, Failure> {
        let formats = match &*self.to {
            [] => &[feeds.complete.collection.format],
            formats => formats,
        };
        let progress = Progress::spinner("publishing");
        let mut files = Vec::new();
        for extent in [Extent::Complete, Extent::Partial] {
            for format in formats {
                files.push(self.write(home, feeds, extent, *format).await?);
            }
        }
        drop(progress);
        home.endpoint.mark_sent(name, feeds.complete.up_to).await?;
        Ok(files)
    }

    async fn write(
        &self,
        home: &Home,
        feeds: &Feeds,
        extent: Extent,
        format: Format,
    ) -> Result<Value, Failure> {
        let publication = match extent {
            Extent::Partial => &feeds.partial,
            Extent::Complete => &feeds.complete,
        };
        let name = &publication.collection.name;
        let complete = format!("{name}.complete{}", suffix(format));
        let file = match extent {
            Extent::Partial => format!("{name}{}", suffix(format)),
            Extent::Complete => complete.clone(),
        };
        let (url, complete) = (self.address(&file), self.address(&complete));
        let path = self.directory.join(&file);
        let mut target = Target::open(Some(&path))?;
        let media = self.address(MEDIA);
        let feed = FeedFile {
            publication,
            extent,
            format,
            url: Some(&url),
            complete: Some(&complete),
            media: Some(&media),
        };
        let Written { items, media } = feed.write(&home.endpoint, &mut target, |_| {}).await?;
        // Before any feed leads to them.
        self.write_media(home, media).await?;
        let changed = target.finish_if_changed()?;
        Ok(json!({
            "file": path.display().to_string(),
            "url": url,
            "format": format.name(),
            "items": items,
            "changed": changed,
        }))
    }

    /// Writes the files of media that are not there yet. They are named by what is in them, so that they never change.
    async fn write_media(
        &self,
        home: &Home,
        media: BTreeMap<String, Digest>,
    ) -> Result<(), Failure> {
        let directory = self.directory.join(MEDIA);
        if !media.is_empty() {
            std::fs::create_dir_all(&directory)
                .map_err(|error| Failure::file(&directory.display().to_string(), &error))?;
        }
        for (name, digest) in media {
            let path = directory.join(&name);
            if path.exists() {
                continue;
            }
            match home.store.blob(digest).await? {
                Some(bytes) => {
                    let mut target = Target::open(Some(&path))?;
                    target.write(&bytes)?;
                    target.finish_if_changed()?;
                }
                None => warn(&format!("{digest}: the media are not here")),
            }
        }
        Ok(())
    }

    fn address(&self, file: &str) -> String {
        format!("{}/{file}", self.url.as_str().trim_end_matches('/'))
    }

    /// Prints the files that were written. Text and later rounds of `--watch` leave out files that did not change.
    fn report(&self, context: &Context, files: &[Value], is_again: bool) -> Result<(), Failure> {
        if context.json && !self.watch {
            return output::json(&files.iter().cloned().collect());
        }
        for file in files {
            let is_changed = file["changed"] == true;
            if context.json && (is_changed || !is_again) {
                output::line(file.to_string())?;
            } else if !context.json && is_changed {
                let items = text::count(file["items"].as_u64().unwrap_or_default(), "item");
                let path = file["file"].as_str().unwrap_or_default();
                output::line(format!("{}: {items}", text::line(path)))?;
            }
        }
        let is_changed = files.iter().any(|file| file["changed"] == true);
        if !context.json && !is_changed && !is_again {
            output::line("nothing new")?;
        }
        Ok(())
    }
}

/// The two feeds of a collection at one moment.
#[derive(PartialEq)]
struct Feeds {
    partial: Publication,
    complete: Publication,
}

impl Feeds {
    /// The complete feed is read last, so that its window ends no earlier than that of the partial feed.
    async fn of(home: &Home, name: &CollectionName) -> Result<Self, Failure> {
        let partial = home.endpoint.publish(name, None).await?;
        let complete = home.endpoint.publish_complete(name).await?;
        Ok(Self { partial, complete })
    }
}
