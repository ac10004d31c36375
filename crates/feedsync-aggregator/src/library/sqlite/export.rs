//! Reads the rows of a library as they are, for another kind of library.

use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use rusqlite::Connection;

use super::articles;
use super::columns::Columns;
use super::feeds::{feed_columns, stored_feed};
use crate::library::article::StoredArticle;
use crate::library::error::LibraryError;
use crate::library::feed::StoredFeed;

/// A feed with everything that belongs to it but its articles.
pub(crate) struct ExportedFeed {
    pub(crate) feed: StoredFeed,
    /// When a reader left it last.
    pub(crate) abandoned: Option<Millis>,
    /// Identification state of its articles, as JSON.
    pub(crate) identification_state: Option<String>,
}

/// An article with what lists do not show.
pub(crate) struct ExportedArticle {
    pub(crate) article: StoredArticle,
    /// Whether the last document of its feed contains it.
    pub(crate) is_present: bool,
    /// Digest of its contents.
    pub(crate) digest: Vec<u8>,
}

/// The last numbers that were assigned to feeds and to articles.
pub(super) fn last_numbers(connection: &Connection) -> Result<(i64, i64), LibraryError> {
    let sql = "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut last = |table| statement.query_row([table], |row| row.get(0));
    Ok((last("feeds")?, last("articles")?))
}

pub(super) fn feeds(connection: &Connection) -> Result<Vec<ExportedFeed>, LibraryError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        feed_columns!(),
        ", feeds.abandoned, remembered.articles
           FROM feeds LEFT JOIN remembered ON feed = feeds.number ORDER BY feeds.number"
    ))?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let abandoned: Option<i64> = row.get(columns - 2)?;
        all.push(ExportedFeed {
            feed: stored_feed(row)?,
            abandoned: abandoned.map(|moment| Millis::new(moment.cast_unsigned())),
            identification_state: row.get(columns - 1)?,
        });
    }
    Ok(all)
}

/// The readers of all feeds, as pairs of their name and the number of a feed, ordered by name.
pub(super) fn subscriptions(
    connection: &Connection,
) -> Result<Vec<(String, FeedNumber)>, LibraryError> {
    let sql =
        "SELECT name, feed FROM readers JOIN subscriptions ON reader = id ORDER BY name, feed";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        all.push((columns.get()?, columns.feed()?));
    }
    Ok(all)
}

/// The articles after a number, in the order of their numbers.
pub(super) fn articles_after(
    connection: &Connection,
    after: ArticleNumber,
    most: usize,
) -> Result<Vec<ExportedArticle>, LibraryError> {
    let sql =
        "SELECT number, present, digest FROM articles WHERE number > ?1 ORDER BY number LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((after.get(), i64::try_from(most).unwrap_or(i64::MAX)))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (number, is_present, digest) = (columns.article()?, columns.get()?, columns.get()?);
        let article = articles::all(connection, &[number])?.into_iter().next();
        all.extend(article.map(|article| ExportedArticle { article, is_present, digest }));
    }
    Ok(all)
}
