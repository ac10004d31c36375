//! What came of asking a feed is written down, as far as it differs.

use std::collections::HashSet;

use feedsync_log::Millis;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{articles, feeds, polling};
use crate::article::NewArticle;
use crate::error::LibraryError;
use crate::poll::{Poll, PolledDocument, Settled};
use feedsync_newsreader::{ArticleNumber, FeedNumber};

pub(super) fn settle(
    connection: &Connection,
    feed: FeedNumber,
    poll: &Poll,
    now: Millis,
) -> Result<Settled, LibraryError> {
    if !feeds::write_state(connection, feed, &poll.state)? {
        return Err(LibraryError::NoFeed(feed));
    }
    let Some(document) = &poll.document else { return Ok(Settled::default()) };
    feeds::write_head(connection, feed, &document.head)?;
    polling::remember(connection, feed, &document.remembered)?;
    tell(connection, feed, document, now)
}

/// An article that is here, as far as settling looks at it.
struct Known {
    number: i64,
    digest: [u8; 16],
    is_present: bool,
}

fn tell(
    connection: &Connection,
    feed: FeedNumber,
    document: &PolledDocument,
    now: Millis,
) -> Result<Settled, LibraryError> {
    let mut settled = Settled::default();
    let mut absent = present(connection, feed)?;
    let mut new = Vec::new();
    for article in document.told() {
        let Some(known) = known(connection, feed, article)? else {
            new.push(article);
            continue;
        };
        absent.remove(&known.number);
        if known.digest != article.digest() {
            let number = ArticleNumber::new(known.number);
            articles::replace(connection, number, article, now)?;
            settled.changed.push(number);
        }
        if !known.is_present {
            set_present(connection, known.number, true)?;
        }
    }
    for number in absent {
        set_present(connection, number, false)?;
    }
    // Feeds tell what is new first, so that what they tell last gets the lowest number.
    new.reverse();
    new.sort_by_key(|article| shown(article, now));
    let newest = new.last().map(|article| shown(article, now));
    for article in new {
        settled.added.push(articles::add(connection, feed, article, now)?);
    }
    if let Some(newest) = newest {
        feeds::add_articles(connection, feed, settled.added.len(), newest)?;
    }
    Ok(settled)
}

/// Where a new article stands in time.
pub(super) fn shown(article: &NewArticle, now: Millis) -> Millis {
    article.published.map_or(now, |published| published.min(now))
}

fn known(
    connection: &Connection,
    feed: FeedNumber,
    article: &NewArticle,
) -> Result<Option<Known>, LibraryError> {
    let sql = "SELECT number, digest, present FROM articles WHERE feed = ?1 AND name = ?2";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Known { number: row.get(0)?, digest: row.get(1)?, is_present: row.get(2)? })
    };
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![feed.get(), article.name.as_str()], read).optional()?)
}

/// The articles that the last document told.
fn present(connection: &Connection, feed: FeedNumber) -> Result<HashSet<i64>, LibraryError> {
    let sql = "SELECT number FROM articles WHERE feed = ?1 AND present = 1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_map([feed.get()], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn set_present(connection: &Connection, number: i64, is_present: bool) -> Result<(), LibraryError> {
    let sql = "UPDATE articles SET present = ?2 WHERE number = ?1";
    connection.prepare_cached(sql)?.execute(params![number, is_present])?;
    Ok(())
}
