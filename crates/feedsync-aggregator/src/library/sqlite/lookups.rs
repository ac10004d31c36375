//! Queries about single articles and counts.

use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use rusqlite::{Connection, OptionalExtension as _};

use super::columns::moment;
use crate::library::error::LibraryError;

pub(super) fn before(
    connection: &Connection,
    received: Millis,
) -> Result<Option<ArticleNumber>, LibraryError> {
    let mut statement = connection.prepare_cached(
        "SELECT number FROM articles WHERE received < ?1
          ORDER BY received DESC, number DESC LIMIT 1",
    )?;
    let number: Option<i64> =
        statement.query_row([moment(received)], |row| row.get(0)).optional()?;
    Ok(number.map(ArticleNumber::new))
}

pub(super) fn count_after(
    connection: &Connection,
    feed: FeedNumber,
    sort_date: Option<Millis>,
) -> Result<u64, LibraryError> {
    // The total is stored with the feed.
    let (sql, sort_date) = match sort_date {
        None => ("SELECT articles FROM feeds WHERE number = ?1 AND ?2 = 0", 0),
        Some(sort_date) => {
            ("SELECT count(*) FROM listed WHERE feed = ?1 AND shown > ?2", moment(sort_date))
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let count: Option<i64> =
        statement.query_row((feed.get(), sort_date), |row| row.get(0)).optional()?;
    Ok(count.unwrap_or_default().cast_unsigned())
}
