//! Stores the outcome of a poll as far as it differs.

use std::collections::HashSet;

use feedsync_log::Millis;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{articles, feeds, polling};
use crate::library::article::NewArticle;
use crate::library::error::LibraryError;
use crate::library::poll::{Poll, PollChanges, PolledDocument, placed};
use feedsync_reader_api::{ArticleNumber, FeedNumber};

pub(super) fn settle(
    connection: &Connection,
    feed: FeedNumber,
    poll: &Poll,
    now: Millis,
) -> Result<PollChanges, LibraryError> {
    if !feeds::write_state(connection, feed, &poll.state)? {
        return Err(LibraryError::NoFeed(feed));
    }
    let Some(document) = &poll.document else { return Ok(PollChanges::default()) };
    feeds::write_head(connection, feed, &document.head)?;
    polling::store_identification_state(connection, feed, &document.identification_state)?;
    store_articles(connection, feed, document, now)
}

/// Properties of a stored article that settling needs.
struct Known {
    number: i64,
    digest: [u8; 16],
    is_present: bool,
}

fn store_articles(
    connection: &Connection,
    feed: FeedNumber,
    document: &PolledDocument,
    now: Millis,
) -> Result<PollChanges, LibraryError> {
    let mut settled = PollChanges::default();
    let mut absent = present(connection, feed)?;
    let mut new = Vec::new();
    for article in document.deduplicated() {
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
    let newest = feeds::newest(connection, feed)?;
    let mut reached = None;
    for (sort_date, article) in placed(new, newest, now) {
        reached = reached.max(Some(sort_date));
        settled.added.push(articles::add(connection, feed, article, sort_date, now)?);
    }
    if let Some(reached) = reached {
        feeds::add_articles(connection, feed, settled.added.len(), reached)?;
    }
    Ok(settled)
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

/// Articles that the last document contained.
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

#[cfg(test)]
mod tests {
    use feedsync_formats::Entry;
    use feedsync_reading_state::{IdentificationState, identify};
    use proptest::prelude::*;

    use super::super::schema;
    use super::*;
    use crate::library::article::ArticleText;
    use crate::library::feed::FeedHead;

    fn document(articles: &[(u8, Option<u64>, String)]) -> PolledDocument {
        let article = |(name, published, said): &(u8, Option<u64>, String)| NewArticle {
            name: name.to_string().parse().unwrap(),
            published: published.map(Millis::new),
            text: ArticleText { content: Some(said.clone()), ..ArticleText::default() },
            plain: said.clone(),
        };
        let entry =
            |(name, _, _): &(u8, _, _)| Entry { id: Some(name.to_string()), ..Entry::default() };
        let entries: Vec<_> = articles.iter().map(entry).collect();
        PolledDocument {
            head: FeedHead { title: Some("a title".to_owned()), ..FeedHead::default() },
            articles: articles.iter().map(article).collect(),
            identification_state: identify(&entries, IdentificationState::default()).1,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        /// A repeated document writes nothing except the row of the feed.
        #[test]
        fn unchanged_articles_are_not_written(
            articles in prop::collection::vec((0..9_u8, prop::option::of(0..99_u64), ".{0,5}"), 0..9),
        ) {
            let (_directory, connection) = schema::empty();
            let sql = "INSERT INTO feeds (number, address, due) VALUES (1, 'https://example.org/', 0)";
            connection.execute_batch(&format!("BEGIN; {sql}")).unwrap();
            let poll = Poll { document: Some(document(&articles)), ..Poll::default() };
            let settle = |now| settle(&connection, FeedNumber::new(1), &poll, Millis::new(now)).unwrap();
            settle(50);
            let before = connection.total_changes();
            prop_assert_eq!(settle(60), PollChanges::default());
            prop_assert_eq!(connection.total_changes() - before, 1);
        }
    }
}
