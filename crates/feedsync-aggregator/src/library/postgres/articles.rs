//! Rows of articles and of their contents.

use std::collections::HashMap;

use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::ArticleId;
use feedsync_store::postgres_support::{Row, Transaction};

use super::columns::{Columns, bytes};
use super::words::Words;
use crate::library::article::{ArticleText, NewArticle, StoredArticle};
use crate::library::error::LibraryError;
use crate::library::listing::NamedArticle;
use crate::library::stored::{content_type, decode_list, encode_list, moment};

/// Inserts articles with the next numbers; returns the numbers. Other transactions that insert articles wait until this
/// one ends.
pub(super) async fn add(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    articles: &[(Millis, &NewArticle)],
    now: Millis,
) -> Result<Vec<ArticleNumber>, LibraryError> {
    let sql = "UPDATE counters SET last = last + $1 WHERE kind = 'articles' RETURNING last";
    let statement = transaction.prepare_cached(sql).await?;
    let count = articles.len() as i64;
    let last: i64 = transaction.query_one(&statement, &[&count]).await?.try_get(0)?;
    let numbers: Vec<i64> = (last - count + 1..=last).collect();
    let (mut shown, mut published, mut digests, mut names) = (vec![], vec![], vec![], vec![]);
    for (sort_date, article) in articles {
        shown.push(moment(*sort_date));
        published.push(moment(article.published.unwrap_or(now)));
        digests.push(article.digest().to_vec());
        names.push(article.name.as_str().as_bytes());
    }
    let sql = "INSERT INTO articles (number, shown, published, digest, name, feed, received, present)
               SELECT new.*, $6, $7, true
                 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[]) AS new";
    let statement = transaction.prepare_cached(sql).await?;
    transaction
        .execute(
            &statement,
            &[&numbers, &shown, &published, &digests, &names, &feed.get(), &moment(now)],
        )
        .await?;
    write_texts(transaction, numbers.iter().copied().zip(articles.iter().map(|(_, new)| *new)))
        .await?;
    Ok(numbers.into_iter().map(ArticleNumber::new).collect())
}

/// Replaces the contents of articles.
pub(super) async fn replace(
    transaction: &Transaction<'_>,
    articles: &[(i64, &NewArticle)],
    now: Millis,
) -> Result<(), LibraryError> {
    let numbers: Vec<i64> = articles.iter().map(|(number, _)| *number).collect();
    let digests: Vec<_> = articles.iter().map(|(_, article)| article.digest().to_vec()).collect();
    let sql = "UPDATE articles SET changed = $3, digest = new.digest
                 FROM unnest($1::bigint[], $2::bytea[]) AS new (number, digest)
                WHERE articles.number = new.number";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&numbers, &digests, &moment(now)]).await?;
    write_texts(transaction, articles.iter().copied()).await
}

/// One array for each column of contents.
#[derive(Default)]
struct Texts<'a> {
    numbers: Vec<i64>,
    updated: Vec<Option<i64>>,
    titles: Vec<Option<&'a [u8]>>,
    links: Vec<Option<&'a [u8]>>,
    authors: Vec<Option<&'a [u8]>>,
    bases: Vec<Option<&'a [u8]>>,
    enclosures: Vec<Option<String>>,
    categories: Vec<Option<String>>,
    summaries: Vec<Option<&'a [u8]>>,
    content_types: Vec<&'a [u8]>,
    contents: Vec<Option<&'a [u8]>>,
    words: Vec<String>,
    are_long: Vec<bool>,
}

/// Writes the contents of articles.
pub(super) async fn write_texts<'a>(
    transaction: &Transaction<'_>,
    articles: impl Iterator<Item = (i64, &'a NewArticle)>,
) -> Result<(), LibraryError> {
    let mut all = Texts::default();
    for (number, article) in articles {
        let text = &article.text;
        let words = Words::of(text.title.as_deref().unwrap_or_default(), &article.plain);
        all.numbers.push(number);
        all.updated.push(text.updated.map(moment));
        all.titles.push(bytes(&text.title));
        all.links.push(bytes(&text.link));
        all.authors.push(bytes(&text.author));
        all.bases.push(bytes(&text.base));
        all.enclosures.push(encode_list(&text.enclosures)?);
        all.categories.push(encode_list(&text.categories)?);
        all.summaries.push(bytes(&text.summary));
        all.content_types.push(text.content_type.name().as_bytes());
        all.contents.push(bytes(&text.content));
        all.words.push(words.vector);
        all.are_long.push(words.is_long);
    }
    let sql = "INSERT INTO texts (number, updated, title, link, author, base, enclosures, categories, summary,
                                  content_type, content, words, is_long)
               SELECT number, updated, title, link, author, base, enclosures, categories, summary,
                      content_type, content, words::tsvector, is_long
                 FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[],
                             $7::text[], $8::text[], $9::bytea[], $10::bytea[], $11::bytea[], $12::text[],
                             $13::boolean[])
                   AS new (number, updated, title, link, author, base, enclosures, categories, summary,
                           content_type, content, words, is_long)
               ON CONFLICT (number) DO UPDATE SET updated = excluded.updated, title = excluded.title,
                 link = excluded.link, author = excluded.author, base = excluded.base,
                 enclosures = excluded.enclosures, categories = excluded.categories,
                 summary = excluded.summary, content_type = excluded.content_type,
                 content = excluded.content, words = excluded.words, is_long = excluded.is_long";
    let statement = transaction.prepare_cached(sql).await?;
    transaction
        .execute(
            &statement,
            &[
                &all.numbers,
                &all.updated,
                &all.titles,
                &all.links,
                &all.authors,
                &all.bases,
                &all.enclosures,
                &all.categories,
                &all.summaries,
                &all.content_types,
                &all.contents,
                &all.words,
                &all.are_long,
            ],
        )
        .await?;
    Ok(())
}

pub(super) async fn all(
    transaction: &Transaction<'_>,
    numbers: &[ArticleNumber],
) -> Result<Vec<StoredArticle>, LibraryError> {
    let sql = "SELECT number, feed, name, published, received, shown, changed, updated, title, link, author,
                      base, content, content_type, summary, enclosures, categories
                 FROM articles JOIN texts USING (number) WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    let asked: Vec<i64> = numbers.iter().map(|number| number.get()).collect();
    let mut found = HashMap::new();
    for row in transaction.query(&statement, &[&asked]).await? {
        let article = article(&mut Columns::of(&row))?;
        found.insert(article.number, article);
    }
    Ok(numbers.iter().filter_map(|number| found.get(number).cloned()).collect())
}

fn article(columns: &mut Columns<'_>) -> Result<StoredArticle, LibraryError> {
    Ok(StoredArticle {
        number: columns.article()?,
        feed: columns.feed()?,
        name: columns.parsed()?,
        published: columns.moment()?,
        received: columns.moment()?,
        sort_date: columns.moment()?,
        changed: columns.optional_moment()?,
        text: ArticleText {
            updated: columns.optional_moment()?,
            title: columns.optional_text()?,
            link: columns.optional_text()?,
            author: columns.optional_text()?,
            base: columns.optional_text()?,
            content: columns.optional_text()?,
            content_type: content_type(columns.text()?),
            summary: columns.optional_text()?,
            enclosures: decode_list(columns.get()?)?,
            categories: decode_list(columns.get()?)?,
        },
    })
}

fn named(row: &Row) -> Result<NamedArticle, LibraryError> {
    let mut columns = Columns::of(row);
    Ok(NamedArticle { listed: columns.listed()?, name: columns.parsed()? })
}

/// The articles with these numbers, in the order of the request.
pub(super) async fn by_number(
    transaction: &Transaction<'_>,
    numbers: &[i64],
) -> Result<Vec<NamedArticle>, LibraryError> {
    let sql = "SELECT number, feed, published, shown, name FROM articles WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    let mut found = HashMap::new();
    for row in transaction.query(&statement, &[&numbers]).await? {
        let article = named(&row)?;
        found.insert(article.listed.number.get(), article);
    }
    Ok(numbers.iter().filter_map(|number| found.get(number).cloned()).collect())
}

/// The articles of a feed with these identifiers, in the order of the request.
pub(super) async fn by_name(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    names: &[ArticleId],
) -> Result<Vec<NamedArticle>, LibraryError> {
    let sql = "SELECT number, feed, published, shown, name FROM articles
                WHERE feed = $1 AND name = ANY($2)";
    let statement = transaction.prepare_cached(sql).await?;
    let asked: Vec<&[u8]> = names.iter().map(|name| name.as_str().as_bytes()).collect();
    let mut found = HashMap::new();
    for row in transaction.query(&statement, &[&feed.get(), &asked]).await? {
        let article = named(&row)?;
        found.insert(article.name.clone(), article);
    }
    Ok(names.iter().filter_map(|name| found.get(name).cloned()).collect())
}

/// Deletes articles with their contents; the row of their feed is not updated.
pub(super) async fn remove(
    transaction: &Transaction<'_>,
    numbers: &[i64],
) -> Result<(), LibraryError> {
    let sql = "DELETE FROM articles WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&numbers]).await?;
    Ok(())
}
