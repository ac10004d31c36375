//! Rows of articles and of their contents.

use feedsync_log::Millis;
use rusqlite::{Connection, Row, params};

use super::columns::{Columns, moment};
use super::list::listed;
use crate::library::article::{ArticleText, NewArticle, StoredArticle};
use crate::library::error::LibraryError;
use crate::library::listing::{ListEntry, NamedArticle};
use crate::library::stored::{content_type, decode_list, encode_list};
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::ArticleId;

/// Inserts an article with the next number.
pub(super) fn add(
    connection: &Connection,
    feed: FeedNumber,
    article: &NewArticle,
    sort_date: Millis,
    now: Millis,
) -> Result<ArticleNumber, LibraryError> {
    let sort_date = moment(sort_date);
    let number = connection
        .prepare_cached(
            "INSERT INTO articles (feed, shown, received, present, digest, name)
             VALUES (?1, ?2, ?3, 1, ?4, ?5)",
        )?
        .insert(params![
            feed.get(),
            sort_date,
            moment(now),
            article.digest(),
            article.name.as_str()
        ])?;
    let published = moment(article.published.unwrap_or(now));
    connection
        .prepare_cached(
            "INSERT INTO listed (feed, shown, number, published) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![feed.get(), sort_date, number, published])?;
    let number = ArticleNumber::new(number);
    write_text(connection, number, article)?;
    Ok(number)
}

/// Replaces the contents of an article.
pub(super) fn replace(
    connection: &Connection,
    number: ArticleNumber,
    article: &NewArticle,
    now: Millis,
) -> Result<(), LibraryError> {
    connection
        .prepare_cached("UPDATE articles SET changed = ?2, digest = ?3 WHERE number = ?1")?
        .execute(params![number.get(), moment(now), article.digest()])?;
    write_text(connection, number, article)
}

fn write_text(
    connection: &Connection,
    number: ArticleNumber,
    article: &NewArticle,
) -> Result<(), LibraryError> {
    let text = &article.text;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO texts (number, updated, title, link, author, base, enclosures,
                                           categories, summary, content_type, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            number.get(),
            text.updated.map(moment),
            text.title,
            text.link,
            text.author,
            text.base,
            encode_list(&text.enclosures)?,
            encode_list(&text.categories)?,
            text.summary,
            text.content_type.name(),
            text.content,
        ])?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO words (rowid, title, plain) VALUES (?1, ?2, ?3)")?
        .execute(params![number.get(), text.title, article.plain])?;
    Ok(())
}

pub(super) fn all(
    connection: &Connection,
    numbers: &[ArticleNumber],
) -> Result<Vec<StoredArticle>, LibraryError> {
    let mut statement = connection.prepare_cached(
        "SELECT number, feed, name, published, received, shown, changed, updated, title, link, author,
                base, content, content_type, summary, enclosures, categories
           FROM articles JOIN listed USING (feed, shown, number) JOIN texts USING (number)
          WHERE number = ?1",
    )?;
    let mut all = Vec::with_capacity(numbers.len());
    for number in numbers {
        let mut rows = statement.query([number.get()])?;
        if let Some(row) = rows.next()? {
            all.push(article(&mut Columns::of(row))?);
        }
    }
    Ok(all)
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
            title: columns.get()?,
            link: columns.get()?,
            author: columns.get()?,
            base: columns.get()?,
            content: columns.get()?,
            content_type: content_type(columns.get()?),
            summary: columns.get()?,
            enclosures: decode_list(columns.get()?)?,
            categories: decode_list(columns.get()?)?,
        },
    })
}

/// Columns that [`named`] reads, in its order.
macro_rules! named_columns {
    () => {
        "SELECT articles.number, articles.feed, listed.published, articles.shown, articles.name
           FROM articles JOIN listed USING (feed, shown, number)"
    };
}

fn named(row: &Row<'_>) -> Result<NamedArticle, LibraryError> {
    let mut columns = Columns::of(row);
    Ok(NamedArticle { listed: listed(&mut columns)?, name: columns.parsed()? })
}

/// Passes the articles with these numbers to `found`.
pub(super) fn by_number(
    connection: &Connection,
    numbers: impl IntoIterator<Item = i64>,
    mut found: impl FnMut(NamedArticle),
) -> Result<(), LibraryError> {
    let sql = concat!(named_columns!(), " WHERE articles.number = ?1");
    let mut statement = connection.prepare_cached(sql)?;
    for number in numbers {
        let mut rows = statement.query([number])?;
        if let Some(row) = rows.next()? {
            found(named(row)?);
        }
    }
    Ok(())
}

pub(super) fn by_name(
    connection: &Connection,
    feed: FeedNumber,
    names: &[ArticleId],
) -> Result<Vec<NamedArticle>, LibraryError> {
    let sql = concat!(named_columns!(), " WHERE articles.feed = ?1 AND articles.name = ?2");
    let mut statement = connection.prepare_cached(sql)?;
    let mut all = Vec::new();
    for name in names {
        let mut rows = statement.query(params![feed.get(), name.as_str()])?;
        all.extend(rows.next()?.map(named).transpose()?);
    }
    Ok(all)
}

/// Deletes an article with all rows that belong to it; the row of its feed is not updated.
pub(super) fn remove(connection: &Connection, article: &ListEntry) -> Result<(), LibraryError> {
    let number = article.number.get();
    connection
        .prepare_cached("DELETE FROM listed WHERE feed = ?1 AND shown = ?2 AND number = ?3")?
        .execute(params![article.feed.get(), moment(article.sort_date), number])?;
    connection.prepare_cached("DELETE FROM articles WHERE number = ?1")?.execute([number])?;
    connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([number])?;
    Ok(())
}
