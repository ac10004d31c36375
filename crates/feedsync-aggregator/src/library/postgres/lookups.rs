//! Queries about single articles and counts.

use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_store::postgres_support::Transaction;

use crate::library::error::LibraryError;
use crate::library::stored::moment;

pub(super) async fn before(
    transaction: &Transaction<'_>,
    received: Millis,
) -> Result<Option<ArticleNumber>, LibraryError> {
    let sql = "SELECT number FROM articles WHERE received < $1
                ORDER BY received DESC, number DESC LIMIT 1";
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&moment(received)]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.map(ArticleNumber::new))
}

pub(super) async fn count_after(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    sort_date: Option<Millis>,
) -> Result<u64, LibraryError> {
    // The total is stored with the feed.
    let (sql, sort_date) = match sort_date {
        None => ("SELECT articles FROM feeds WHERE number = $1 AND $2 = 0::bigint", 0),
        Some(sort_date) => {
            ("SELECT count(*) FROM articles WHERE feed = $1 AND shown > $2", moment(sort_date))
        }
    };
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&feed.get(), &sort_date]).await?;
    let count: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    Ok(count.unwrap_or_default().cast_unsigned())
}
