//! Paging through a list returns each article once, even if articles arrive meanwhile.

use std::collections::BTreeSet;

use feedsync_aggregator::Selection;
use feedsync_reader_api::ArticleNumber;
use proptest::prelude::*;

use crate::samples::{Place, article, at, feeds, told};
use crate::wait;

pub(crate) fn paging_returns_each_article_once(place: &Place) {
    let articles = |most| prop::collection::vec((0..3_usize, 0..20_u64), 0..most);
    let values = (articles(60), articles(20), 1..9_usize, any::<[bool; 2]>());
    place.for_any(values, |(before, meanwhile, step, [by_number, oldest_first])| {
        let place = place.another();
        let library = place.open();
        let feeds = feeds(&library, 3);
        let mut names = 0..;
        let mut add = |(feed, published): (usize, u64)| {
            let name = format!("{}", names.next().unwrap());
            let poll = told([article(&name, Some(published), "")]);
            wait(library.settle(feeds[feed], poll, at(15))).unwrap().added[0]
        };
        let before: BTreeSet<ArticleNumber> = before.into_iter().map(&mut add).collect();
        let mut meanwhile = meanwhile.into_iter();
        let mut met: Vec<ArticleNumber> = Vec::new();
        let feeds = feeds.clone();
        let mut selection =
            Selection { feeds, by_number, oldest_first, most: step, ..Selection::default() };
        loop {
            let page = wait(library.list(selection.clone())).unwrap();
            let Some(last) = page.last() else { break };
            selection.from = Some(last.place());
            met.extend(page.iter().map(|row| row.number));
            meanwhile.next().map(&mut add);
        }
        let once: BTreeSet<ArticleNumber> = met.iter().copied().collect();
        prop_assert_eq!(once.len(), met.len());
        prop_assert!(once.is_superset(&before));
        Ok(())
    });
}

/// A feed without dates: the articles of one document have the same time and are read in several batches.
pub(crate) fn articles_of_one_time_are_listed_by_number(place: &Place) {
    let library = place.open();
    let feeds = feeds(&library, 2);
    for feed in &feeds {
        let articles = (0..3_000).map(|number| article(&format!("{number}"), None, ""));
        wait(library.settle(*feed, told(articles), at(15))).unwrap();
    }
    let mut expected: Vec<i64> = (1..=6_000).collect();
    for oldest_first in [true, false] {
        let selection =
            Selection { feeds: feeds.clone(), oldest_first, most: 9_000, ..Selection::default() };
        let list = wait(library.list(selection)).unwrap();
        let numbers: Vec<i64> = list.iter().map(|row| row.number.get()).collect();
        assert!(numbers == expected, "oldest first: {oldest_first}");
        expected.reverse();
    }
}
