//! A list of feeds that several people share, as OPML, which feed readers import:
//!
//! ```text
//! subscriptions add https://example.org/feed "A title"
//! subscriptions list
//! subscriptions rm https://example.org/feed
//! subscriptions sync https://hub.example/collections/feeds
//! subscriptions opml > feeds.opml
//! ```
//!
//! The list is in the directory SUBSCRIPTIONS_DATA (default `subscriptions-data`).

use feedsync::{Collection, Entry, Format, Item, Link, Replica};

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let data = std::env::var("SUBSCRIPTIONS_DATA").unwrap_or("subscriptions-data".to_owned());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    print!("{}", run(&data, &arguments).await?);
    Ok(())
}

/// Carries out a command on the list in a directory, and returns what it prints.
pub(crate) async fn run(data: &str, arguments: &[&str]) -> Result<String, Failure> {
    let replica = Replica::open(data).await?;
    let feeds = replica.collection_in::<Entry>("feeds", Format::Opml).await?;
    let mut output = String::new();
    match arguments {
        ["add", url] => add(&feeds, url, url).await?,
        ["add", url, title] => add(&feeds, url, title).await?,
        ["list"] => {
            for item in feeds.items().await? {
                let title = item.title.as_deref().unwrap_or_default();
                output += &format!("{}  {title}\n", address(&item).unwrap_or_default());
            }
        }
        ["rm", url] => match subscription(&feeds, url).await? {
            Some(item) => drop(feeds.delete(&item).await?),
            None => return Err(format!("{url} is not in the list").into()),
        },
        ["sync", url] => match feeds.sync(url).await {
            Ok(report) => output = format!("{} received, {} sent\n", report.received, report.sent),
            Err(error) if error.is_offline() => output = format!("{error}\n"),
            Err(error) => return Err(error.into()),
        },
        ["opml"] => output = String::from_utf8(feeds.to_feed(Format::Opml).await?)?,
        _ => return Err("subscriptions add URL [TITLE] | list | rm URL | sync HUB | opml".into()),
    }
    Ok(output)
}

async fn add(feeds: &Collection<Entry>, url: &str, title: &str) -> Result<(), Failure> {
    if subscription(feeds, url).await?.is_some() {
        return Err(format!("{url} is in the list already").into());
    }
    let links = vec![Link::new("feed", url)];
    feeds.add(Entry { title: Some(title.to_owned()), links, ..Entry::default() }).await?;
    Ok(())
}

async fn subscription(
    feeds: &Collection<Entry>,
    url: &str,
) -> Result<Option<Item<Entry>>, feedsync::Error> {
    Ok(feeds.items().await?.into_iter().find(|item| address(item) == Some(url)))
}

/// Address of the feed of a subscription (`xmlUrl` of an outline).
fn address(entry: &Entry) -> Option<&str> {
    let link = entry.links.iter().find(|link| link.rel == "feed");
    link.map(|link| link.href.as_str())
}
