//! `feedsync collection publish`

mod site;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use feedsync_core::Format;
use feedsync_endpoint::Settings;
use feedsync_fetch::Url;
use feedsync_store::CollectionName;
use futures_util::future::select_all;
use serde_json::Value;

use crate::commands::import::only_collection;
use crate::context::{Context, OpenEndpoint};
use crate::failure::{Failure, warn};
use crate::output::progress::Progress;
use crate::output::{self, text};
use crate::values;

use self::site::{Feeds, Site};

/// Interval at which files are written without a change: `expires` and the bounds of the partial feed depend on the
/// clock.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);

/// Minimum interval between two writes of the files.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  feedsync collection publish notes --directory www --url https://example.org/feeds/
  feedsync collection publish notes links --directory www --url https://example.org/feeds/ --to atom,json --watch
  feedsync collection publish notes --directory www --url https://example.org/feeds/ --to rss --sse
  feedsync collection set notes partial.age=30d expires=1h      # what the feeds say and hold
";

/// Keep feeds of collections on a web server up to date
///
/// Writes two files for each collection and format: NAME.FORMAT with the latest changes, limited by the settings
/// partial.age and partial.count, and NAME.complete.FORMAT with all items. Any web server can serve them. Subscribers
/// need only the address of the first file, which names the second one. Files without changes are not written again.
/// Pictures and other media of items are written into media/, and the items link to them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Publish {
    /// Names of the collections [default: the only one]
    #[arg(value_name = "COLLECTION")]
    collections: Vec<CollectionName>,
    /// Output directory
    #[arg(long, short, value_name = "DIR")]
    directory: PathBuf,
    /// Address at which the web server publishes the directory
    #[arg(long, value_parser = values::public_url)]
    url: Url,
    /// Formats, separated by commas [default: that of the collection]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = values::format())]
    to: Vec<Format>,
    /// Also write feeds in rss and opml for programs that support only SSE 0.91: NAME.sse.FORMAT and
    /// NAME.sse.complete.FORMAT
    #[arg(long)]
    sse: bool,
    /// Continue until Ctrl-C, and write again after each change
    #[arg(long)]
    watch: bool,
}

impl Publish {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let names = self.names(&home).await?;
        if self.url.query().is_some() {
            let url = &self.url;
            return Err(Failure::usage(format!("{url} is the address of no directory"))
                .hint("give it without what follows the question mark"));
        }
        for name in &names {
            let collection = home.endpoint.collection(name).await?;
            if Settings::read(&collection.settings)?.drafts {
                warn(&format!("drafts of {name} are published, too"));
            }
            if self.sse && !self.formats(collection.format).iter().any(|it| site::is_sse(*it)) {
                return Err(Failure::usage(format!("no feed of {name} is in a format of SSE"))
                    .hint("write it in one: --to rss or --to opml"));
            }
        }
        std::fs::create_dir_all(&self.directory)
            .map_err(|error| Failure::file(&self.directory.display().to_string(), &error))?;
        let site = Site::new(&home, &self.directory, self.url.as_str());
        // The command subscribes before the first read, so that it misses no change.
        let mut notices: Vec<_> = names.iter().map(|name| home.store.subscribe(name)).collect();
        let mut published: Vec<Option<Feeds>> = names.iter().map(|_| None).collect();
        let mut is_again = false;
        loop {
            let mut files = Vec::new();
            for (name, published) in names.iter().zip(&mut published) {
                let feeds = Feeds::of(&home, name, self.sse).await?;
                if published.as_ref() == Some(&feeds) {
                    continue;
                }
                let progress = Progress::spinner(&format!("publishing {name}"));
                let written = site.write(&feeds, &self.formats(feeds.format())).await;
                drop(progress);
                match written {
                    Ok(written) => {
                        files.extend(written);
                        *published = Some(feeds);
                    }
                    // This happens if a collection is purged meanwhile. The next round reads the collection
                    // again.
                    Err(Failure::Message { code: 1, message, .. }) if self.watch => warn(&message),
                    Err(failure) => return Err(failure),
                }
            }
            self.report(context, &files, is_again)?;
            is_again = true;
            if !self.watch {
                return Ok(());
            }
            let next = async {
                tokio::time::sleep(MIN_INTERVAL).await;
                let changes = select_all(notices.iter_mut().map(|it| Box::pin(it.next())));
                let _ = tokio::time::timeout(REFRESH_INTERVAL, changes).await;
            };
            tokio::select! {
                () = next => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
        }
    }

    /// Names of the collections without duplicates.
    async fn names(&self, home: &OpenEndpoint) -> Result<Vec<CollectionName>, Failure> {
        if self.collections.is_empty() {
            return Ok(vec![only_collection(home).await?]);
        }
        let mut names = Vec::new();
        for name in &self.collections {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// Formats in which a collection of the format `own` is published.
    fn formats(&self, own: Format) -> Vec<Format> {
        if self.to.is_empty() { vec![own] } else { self.to.clone() }
    }

    /// Prints the files that were written. Files without changes are omitted in text output and in later
    /// rounds of `--watch`.
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
