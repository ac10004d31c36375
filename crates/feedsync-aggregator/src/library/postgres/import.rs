//! Copies a library of SQLite into an empty one, with all numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_formats::Entry;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_store::postgres_support::Transaction;

use super::feeds;
use super::{articles, subscriptions};
use crate::library::article::{ArticleText, NewArticle, StoredArticle};
use crate::library::error::LibraryError;
use crate::library::feed::StoredFeed;
use crate::library::sqlite::{ExportedArticle, ExportedFeed, SqliteLibrary};
use crate::library::stored::moment;

/// Number of articles that are copied at once.
const BATCH: usize = 500;

/// Copies the library, unless this one has or had feeds. Returns the number of articles, or `None` if nothing was copied.
pub(super) async fn import(
    transaction: &Transaction<'_>,
    source: Arc<SqliteLibrary>,
) -> Result<Option<u64>, LibraryError> {
    if subscriptions::lock_feed_counter(transaction).await? > 0 {
        return Ok(None);
    }
    let (last_feed, last_article) = source.last_numbers().await?;
    let statement =
        transaction.prepare_cached("UPDATE counters SET last = $2 WHERE kind = $1").await?;
    for (kind, last) in [("feeds", last_feed), ("articles", last_article)] {
        transaction.execute(&statement, &[&kind, &last]).await?;
    }
    for exported in source.export_feeds().await? {
        add_feed(transaction, &exported).await?;
    }
    add_subscriptions(transaction, source.export_subscriptions().await?).await?;
    let (mut copied, mut after) = (0, ArticleNumber::new(i64::MIN));
    loop {
        let batch = source.export_articles(after, BATCH).await?;
        let Some(last) = batch.last() else { return Ok(Some(copied)) };
        after = last.article.number;
        copied += batch.len() as u64;
        add_articles(transaction, batch).await?;
    }
}

async fn add_feed(
    transaction: &Transaction<'_>,
    exported: &ExportedFeed,
) -> Result<(), LibraryError> {
    let StoredFeed { number, address, state, head, articles, newest } = &exported.feed;
    let sql = "INSERT INTO feeds (number, key, address, due, articles, newest, abandoned)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction
        .execute(
            &statement,
            &[
                &number.get(),
                &feeds::key(address),
                &address.as_str(),
                &moment(state.due),
                &articles.cast_signed(),
                &newest.map(moment),
                &exported.abandoned.map(moment),
            ],
        )
        .await?;
    feeds::write_state(transaction, *number, state).await?;
    feeds::write_head(transaction, *number, head).await?;
    if let Some(state) = &exported.identification_state {
        let sql = "INSERT INTO identification_states (feed, state) VALUES ($1, $2)";
        let statement = transaction.prepare_cached(sql).await?;
        transaction.execute(&statement, &[&number.get(), &state]).await?;
    }
    Ok(())
}

async fn add_subscriptions(
    transaction: &Transaction<'_>,
    all: Vec<(String, FeedNumber)>,
) -> Result<(), LibraryError> {
    let mut readers: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (reader, feed) in all {
        readers.entry(reader).or_default().push(feed.get());
    }
    let sql = "WITH new AS (INSERT INTO readers (name) VALUES ($1) RETURNING id)
               INSERT INTO subscriptions (reader, feed) SELECT id, unnest($2::bigint[]) FROM new";
    let statement = transaction.prepare_cached(sql).await?;
    for (reader, feeds) in &readers {
        transaction.execute(&statement, &[&reader.as_bytes(), feeds]).await?;
    }
    let sql = "UPDATE feeds SET readers = counted.readers
                 FROM (SELECT feed, count(*) AS readers FROM subscriptions GROUP BY feed) AS counted
                WHERE number = counted.feed";
    transaction.batch_execute(sql).await?;
    Ok(())
}

async fn add_articles(
    transaction: &Transaction<'_>,
    batch: Vec<ExportedArticle>,
) -> Result<(), LibraryError> {
    let sql = "INSERT INTO articles (number, feed, shown, published, received, changed, present, digest, name)
               SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
                                    $6::bigint[], $7::boolean[], $8::bytea[], $9::bytea[])";
    let statement = transaction.prepare_cached(sql).await?;
    let of = |number: fn(&StoredArticle) -> i64| -> Vec<i64> {
        batch.iter().map(|exported| number(&exported.article)).collect()
    };
    let changed: Vec<Option<i64>> =
        batch.iter().map(|exported| exported.article.changed.map(moment)).collect();
    let present: Vec<bool> = batch.iter().map(|exported| exported.is_present).collect();
    let digests: Vec<&[u8]> = batch.iter().map(|exported| &*exported.digest).collect();
    let names: Vec<&[u8]> =
        batch.iter().map(|exported| exported.article.name.as_str().as_bytes()).collect();
    transaction
        .execute(
            &statement,
            &[
                &of(|article| article.number.get()),
                &of(|article| article.feed.get()),
                &of(|article| moment(article.sort_date)),
                &of(|article| moment(article.published)),
                &of(|article| moment(article.received)),
                &changed,
                &present,
                &digests,
                &names,
            ],
        )
        .await?;
    let new: Vec<(i64, NewArticle)> = batch
        .into_iter()
        .map(|ExportedArticle { article, .. }| {
            let (number, plain) = (article.number.get(), plain(&article.text));
            (number, NewArticle { name: article.name, published: None, text: article.text, plain })
        })
        .collect();
    articles::write_texts(transaction, new.iter().map(|(number, article)| (*number, article))).await
}

/// The plain text of an article, which the index of words is made of.
fn plain(text: &ArticleText) -> String {
    let entry = Entry {
        content: text.content.clone(),
        content_type: text.content_type.clone(),
        ..Entry::default()
    };
    entry.plain_content().or_else(|| text.summary.clone()).unwrap_or_default()
}
