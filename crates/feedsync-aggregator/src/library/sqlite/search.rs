//! Full-text search.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::Connection;

use super::articles;
use super::list;
use crate::library::error::LibraryError;
use crate::library::listing::{ListEntry, MAX_LISTED, Selection};
use crate::library::range::Range;

/// Maximum number of matches that are looked up individually. With more matches, scanning the list finds enough
/// of them soon.
const MAX_LOOKUPS: usize = 5_000;

/// Builds an index query for all of these words. Each word is quoted, so that only quotes need escaping. Returns
/// `None` if there are no words.
pub(super) fn query(words: &str) -> Option<String> {
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let words = words.split(is_gap).filter(|word| word.contains(char::is_alphanumeric));
    let quoted: BTreeSet<String> =
        words.map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    (!quoted.is_empty()).then(|| quoted.into_iter().collect::<Vec<_>>().join(" "))
}

pub(super) fn search(
    connection: &Connection,
    query: &str,
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    let numbers = matches(connection, query)?;
    if numbers.len() <= MAX_LOOKUPS {
        fetch_matches(connection, numbers, selection)
    } else {
        walk(connection, numbers, selection)
    }
}

/// Returns the numbers of all matching articles in ascending order.
pub(super) fn matches(connection: &Connection, query: &str) -> Result<Vec<i64>, LibraryError> {
    let sql = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_map([query], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn fetch_matches(
    connection: &Connection,
    numbers: Vec<i64>,
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    let feeds: BTreeSet<_> = selection.feeds.iter().collect();
    let range = Range::of(selection);
    let mut found = Vec::new();
    articles::by_number(connection, numbers, |article| {
        let row = article.listed;
        if feeds.contains(&row.feed) && selection.holds(&row) {
            found.push(row);
        }
    })?;
    found.sort_by_key(|row| std::cmp::Reverse(range.rank_of(row.place())));
    let kept = found.into_iter().filter(|row| selection.keeps(row));
    Ok(kept.take(selection.most.min(MAX_LISTED)).collect())
}

/// Scans the list; `numbers` must be in ascending order.
fn walk(
    connection: &Connection,
    numbers: Vec<i64>,
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    let keep = selection.keep.clone();
    let mut selection = selection.clone();
    selection.keep = Some(Arc::new(move |row| {
        numbers.binary_search(&row.number.get()).is_ok()
            && keep.as_ref().is_none_or(|keep| keep(row))
    }));
    list::list(connection, &selection)
}

#[cfg(test)]
mod tests {
    use feedsync_log::Millis;
    use feedsync_reader_api::FeedNumber;
    use proptest::prelude::*;

    use super::super::{schema, settle};
    use super::*;
    use crate::library::article::{ArticleText, NewArticle};
    use crate::library::poll::{Poll, PolledDocument};

    fn told(feed: i64, articles: &[(u64, &str)]) -> Poll {
        let article = |(place, (published, said)): (usize, &(u64, &str))| NewArticle {
            name: format!("{feed}/{place}").parse().unwrap(),
            published: Some(Millis::new(*published)),
            text: ArticleText::default(),
            plain: (*said).to_owned(),
        };
        let articles = articles.iter().enumerate().map(article).collect();
        let document = PolledDocument { articles, ..PolledDocument::default() };
        Poll { document: Some(document), ..Poll::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        /// Both strategies give the same result.
        #[test]
        fn lookups_and_scans_give_equal_results(
            told_by in prop::collection::vec(
                prop::collection::vec((0..9_u64, prop::sample::select(vec!["a", "b", "a b"])), 0..9),
                3,
            ),
            feeds in prop::collection::vec(1..5_i64, 0..4),
            [by_number, oldest_first] in any::<[bool; 2]>(),
            from in prop::option::of(any::<prop::sample::Index>()),
            newer_than in prop::option::of((0..9_u64).prop_map(Millis::new)),
            most in 0..9_usize,
            each in prop::option::of(1..3_i64),
        ) {
            let (_directory, connection) = schema::empty();
            connection.execute_batch("BEGIN").unwrap();
            for (feed, articles) in (1..).zip(&told_by) {
                let sql = "INSERT INTO feeds (number, address, due) VALUES (?1, ?1, 0)";
                connection.execute(sql, [feed]).unwrap();
                let (feed, poll) = (FeedNumber::new(feed), told(feed, articles));
                settle::settle(&connection, feed, &poll, Millis::new(9)).unwrap();
            }
            let everything = Selection {
                feeds: (1..=3).map(FeedNumber::new).collect(),
                most: usize::MAX,
                ..Selection::default()
            };
            let all = list::list(&connection, &everything).unwrap();
            let selection = Selection {
                feeds: feeds.into_iter().map(FeedNumber::new).collect(),
                by_number,
                oldest_first,
                from: from.filter(|_| !all.is_empty()).map(|from| from.get(&all).place()),
                newer_than,
                most,
                ..Selection::default()
            };
            let selection = Selection {
                keep: each.map(|each| -> crate::library::listing::ArticleFilter {
                    Arc::new(move |row| row.number.get() % each == 0)
                }),
                ..selection
            };
            let numbers = matches(&connection, &query("a").unwrap()).unwrap();
            let looked_up = fetch_matches(&connection, numbers.clone(), &selection).unwrap();
            prop_assert_eq!(looked_up, walk(&connection, numbers, &selection).unwrap());
        }

        /// No query causes an error, and a query with the exact text finds it.
        #[test]
        fn exact_text_finds_its_article(said in "(\\PC|[ \"'*:^(){}+\0-]|\\PC[a-z]){0,30}") {
            let (_directory, connection) = schema::empty();
            let sql = "INSERT INTO feeds (number, address, due) VALUES (1, 'https://example.org/', 0)";
            connection.execute_batch(&format!("BEGIN; {sql}")).unwrap();
            let (feed, poll) = (FeedNumber::new(1), told(1, &[(1, &said)]));
            settle::settle(&connection, feed, &poll, Millis::new(9)).unwrap();
            let selection = Selection { feeds: vec![feed], most: 9, ..Selection::default() };
            let query = query(&said);
            let found = query.map_or(0, |query| search(&connection, &query, &selection).unwrap().len());
            if said.contains(|character: char| character.is_ascii_alphanumeric()) {
                prop_assert_eq!(found, 1);
            }
        }
    }
}
