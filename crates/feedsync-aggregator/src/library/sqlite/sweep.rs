//! Deletes articles and feeds in batches.

use std::collections::BTreeSet;

use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::ArticleId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::columns::{Columns, moment};
use super::list::listed;
use super::{articles, feeds};
use crate::library::error::LibraryError;
use crate::library::listing::ListEntry;
use crate::library::retention::{FeedDeletion, Retention, SWEEP_BATCH};

/// Deletes a batch of articles that are not retained; returns their number. If that is less than a full batch,
/// nothing remains to be deleted.
pub(super) fn delete_batch(
    connection: &Connection,
    feed: FeedNumber,
    keep: &Retention,
) -> Result<usize, LibraryError> {
    let Some((sort_date, number)) = oldest_of_the_newest(connection, feed, keep)? else {
        return Ok(0);
    };
    let mut statement = connection.prepare_cached(
        "SELECT number, feed, published, shown, name FROM listed CROSS JOIN articles USING (feed, shown, number)
          WHERE feed = ?1 AND (shown, number) < (?2, ?3) AND received < ?4 AND present = 0
          ORDER BY shown, number",
    )?;
    let since = moment(keep.received_since);
    let mut rows = statement.query(params![feed.get(), sort_date, number, since])?;
    let mut swept = Vec::new();
    while swept.len() < SWEEP_BATCH
        && let Some(row) = rows.next()?
    {
        let mut columns = Columns::of(row);
        let article = listed(&mut columns)?;
        let name: ArticleId = columns.parsed()?;
        if !keep.names.contains(&name) {
            swept.push(article);
        }
    }
    drop(rows);
    remove(connection, feed, &swept)
}

/// Position of the last of the newest articles; `None` if there are not more articles than that.
fn oldest_of_the_newest(
    connection: &Connection,
    feed: FeedNumber,
    keep: &Retention,
) -> Result<Option<(i64, i64)>, LibraryError> {
    let Some(others) = keep.newest_before_last() else {
        return Ok(Some((i64::MAX, i64::MAX)));
    };
    let mut statement = connection.prepare_cached(
        "SELECT shown, number FROM listed WHERE feed = ?1
          ORDER BY shown DESC, number DESC LIMIT 1 OFFSET ?2",
    )?;
    let place = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    Ok(statement.query_row([feed.get(), others], place).optional()?)
}

fn remove(
    connection: &Connection,
    feed: FeedNumber,
    all: &[ListEntry],
) -> Result<usize, LibraryError> {
    for article in all {
        articles::remove(connection, article)?;
    }
    if !all.is_empty() {
        feeds::remove_articles(connection, feed, all.len())?;
    }
    Ok(all.len())
}

/// Returns a feed without readers since before the given time that is not spared.
fn abandoned(
    connection: &Connection,
    before: Millis,
    spared: &BTreeSet<FeedNumber>,
) -> Result<Option<FeedNumber>, LibraryError> {
    let mut statement = connection
        .prepare_cached("SELECT number FROM feeds WHERE readers = 0 AND abandoned < ?1")?;
    let mut rows = statement.query([moment(before)])?;
    while let Some(row) = rows.next()? {
        let feed = FeedNumber::new(row.get(0)?);
        if !spared.contains(&feed) {
            return Ok(Some(feed));
        }
    }
    Ok(None)
}

pub(super) fn delete_abandoned_feeds(
    connection: &Connection,
    abandoned_before: Millis,
    spared: &BTreeSet<FeedNumber>,
) -> Result<FeedDeletion, LibraryError> {
    let Some(feed) = abandoned(connection, abandoned_before, spared)? else {
        return Ok(FeedDeletion::Nothing);
    };
    let mut some = Vec::new();
    {
        let mut statement = connection.prepare_cached(
            "SELECT number, feed, published, shown FROM listed WHERE feed = ?1 LIMIT ?2",
        )?;
        let mut rows = statement.query([feed.get(), SWEEP_BATCH as i64])?;
        while let Some(row) = rows.next()? {
            some.push(listed(&mut Columns::of(row))?);
        }
    }
    if remove(connection, feed, &some)? == 0 {
        let sql = "DELETE FROM feeds WHERE number = ?1";
        connection.prepare_cached(sql)?.execute([feed.get()])?;
        return Ok(FeedDeletion::Feed);
    }
    // If a reader subscribes now, the document must be fetched again, since some of its articles are deleted.
    connection
        .prepare_cached(
            "UPDATE feeds SET etag = NULL, last_modified = NULL, digest = NULL WHERE number = ?1",
        )?
        .execute([feed.get()])?;
    Ok(FeedDeletion::Articles)
}

#[cfg(test)]
mod tests {
    use feedsync_reading_state::FeedAddress;

    use super::super::{schema, search, settle, subscriptions};
    use super::*;
    use crate::library::article::{ArticleText, NewArticle};
    use crate::library::feed::PollState;
    use crate::library::poll::{Poll, PolledDocument};

    /// A reader that subscribes to a feed during its deletion gets its document again.
    #[test]
    fn partly_deleted_feed_is_fetched_again() {
        let (_directory, connection) = schema::empty();
        let reader = "somebody".parse().unwrap();
        let address: FeedAddress = "https://example.org/feed".parse().unwrap();
        let read = |addresses: &[FeedAddress], now| {
            let addresses = addresses.iter().cloned().collect();
            subscriptions::set(&connection, &reader, &addresses, Millis::new(now)).unwrap();
        };
        let one = std::slice::from_ref(&address);
        read(one, 1);
        let feed = feeds::by_address(&connection, &address).unwrap().unwrap().number;
        let article = |number: usize| NewArticle {
            name: number.to_string().parse().unwrap(),
            published: None,
            text: ArticleText::default(),
            plain: "word".to_owned(),
        };
        let articles = (0..SWEEP_BATCH + 1).map(article).collect();
        let document = PolledDocument { articles, ..PolledDocument::default() };
        let state = PollState {
            etag: Some("\"one\"".to_owned()),
            last_modified: Some("yesterday".to_owned()),
            digest: Some([1; 32]),
            ..PollState::default()
        };
        let poll = Poll { state, document: Some(document) };
        settle::settle(&connection, feed, &poll, Millis::new(2)).unwrap();
        read(&[], 3);
        let delete_abandoned_feeds =
            |before| delete_abandoned_feeds(&connection, Millis::new(before), &BTreeSet::new());
        assert!(matches!(delete_abandoned_feeds(4), Ok(FeedDeletion::Articles)));
        assert_eq!(search::matches(&connection, "word").unwrap().len(), 1);
        read(one, 5);
        assert!(matches!(delete_abandoned_feeds(6), Ok(FeedDeletion::Nothing)));
        let kept = feeds::by_number(&connection, feed).unwrap().unwrap();
        assert_eq!((kept.articles, kept.state), (1, PollState::default()));
        let again = settle::settle(&connection, feed, &poll, Millis::new(7)).unwrap();
        assert_eq!(again.added.len(), SWEEP_BATCH);
    }
}
