//! Stores the outcome of a poll as far as it differs.

use std::collections::{BTreeMap, HashMap};

use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_store::postgres_support::Transaction;

use super::columns::Columns;
use super::{articles, feeds, polling};
use crate::library::error::LibraryError;
use crate::library::poll::{Poll, PollChanges, PolledDocument, placed};

pub(super) async fn settle(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    poll: &Poll,
    now: Millis,
) -> Result<PollChanges, LibraryError> {
    let Some(newest) = feeds::write_state(transaction, feed, &poll.state).await? else {
        return Err(LibraryError::NoFeed(feed));
    };
    let Some(document) = &poll.document else { return Ok(PollChanges::default()) };
    feeds::write_head(transaction, feed, &document.head).await?;
    polling::store_identification_state(transaction, feed, &document.identification_state).await?;
    store_articles(transaction, (feed, newest), document, now).await
}

/// Properties of a stored article that settling needs.
struct Known {
    number: i64,
    digest: Vec<u8>,
    is_present: bool,
}

async fn store_articles(
    transaction: &Transaction<'_>,
    (feed, newest): (FeedNumber, Option<Millis>),
    document: &PolledDocument,
    now: Millis,
) -> Result<PollChanges, LibraryError> {
    let articles = document.deduplicated();
    let names: Vec<&[u8]> =
        articles.iter().map(|article| article.name.as_str().as_bytes()).collect();
    let known = known(transaction, feed, &names).await?;
    let mut absent: BTreeMap<&[u8], i64> = known
        .iter()
        .filter(|(_, known)| known.is_present)
        .map(|(name, known)| (&**name, known.number))
        .collect();
    let (mut new, mut changed, mut present) = (Vec::new(), Vec::new(), Vec::new());
    for (article, name) in articles.into_iter().zip(names) {
        let Some(known) = known.get(name) else {
            new.push(article);
            continue;
        };
        absent.remove(name);
        if known.digest != article.digest() {
            changed.push((known.number, article));
        }
        if !known.is_present {
            present.push(known.number);
        }
    }
    set_present(transaction, &present, true).await?;
    set_present(transaction, &absent.into_values().collect::<Vec<_>>(), false).await?;
    if !changed.is_empty() {
        articles::replace(transaction, &changed, now).await?;
    }
    let changed = changed.into_iter().map(|(number, _)| ArticleNumber::new(number)).collect();
    let new: Vec<_> = placed(new, newest, now).collect();
    let Some(newest) = new.iter().map(|(sort_date, _)| *sort_date).max() else {
        return Ok(PollChanges { added: Vec::new(), changed });
    };
    feeds::add_articles(transaction, feed, new.len(), newest).await?;
    // Last, since other nodes wait for the numbers.
    let added = articles::add(transaction, feed, &new, now).await?;
    Ok(PollChanges { added, changed })
}

/// The stored articles with these names, and those that the last document contained.
async fn known(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    names: &[&[u8]],
) -> Result<HashMap<Vec<u8>, Known>, LibraryError> {
    let sql =
        "SELECT name, number, digest, present FROM articles WHERE feed = $1 AND name = ANY($2)
               UNION
               SELECT name, number, digest, present FROM articles WHERE feed = $1 AND present";
    let statement = transaction.prepare_cached(sql).await?;
    let mut all = HashMap::new();
    for row in transaction.query(&statement, &[&feed.get(), &names]).await? {
        let mut columns = Columns::of(&row);
        let name = columns.get()?;
        let known =
            Known { number: columns.get()?, digest: columns.get()?, is_present: columns.get()? };
        all.insert(name, known);
    }
    Ok(all)
}

async fn set_present(
    transaction: &Transaction<'_>,
    numbers: &[i64],
    is_present: bool,
) -> Result<(), LibraryError> {
    if numbers.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE articles SET present = $2 WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&numbers, &is_present]).await?;
    Ok(())
}
