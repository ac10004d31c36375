//! Lists of articles as pages: their order, paging, search, and marks for a part of a list.

use std::collections::BTreeSet;

use feedsync_reader_api::ArticleNumber;
use http::StatusCode;

use crate::newsroom::{ARRIVAL_TIME, Newsroom, article};
use crate::pages_reading::{FEED, HOME, LIST, done, reading, seen};
use crate::visitor::{Visitor, hidden};

/// Numbers of the articles of a page, in order.
fn numbers(page: &str) -> Vec<u64> {
    let rows = page.split("data-article").skip(1);
    let links = rows.map(|row| row.split("/pages/reading/articles/").nth(1).unwrap());
    let number = |text: &str| text.split(['"', '?']).next().unwrap().parse().unwrap();
    links.map(number).collect()
}

/// Address of the next page.
fn next(page: &str) -> Option<String> {
    let (_, link) = page.split_once("<a rel=\"next\" href=\"")?;
    Some(link.split('"').next()?.replace("&#38;", "&"))
}

async fn walked(visitor: &Visitor, list: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut page = Some(list.to_owned());
    while let Some(address) = page {
        let shown = seen(visitor, &address).await;
        found.extend(numbers(&shown));
        page = next(&shown);
    }
    found
}

#[tokio::test]
async fn a_list_is_walked_by_place_in_either_order() {
    let (room, anna) = reading(120).await;
    let newest: Vec<u64> = (1..=120).rev().collect();
    assert_eq!(walked(&anna, LIST).await, newest);
    let oldest: Vec<u64> = (1..=120).collect();
    assert_eq!(walked(&anna, &format!("{LIST}?order=oldest&show=all&feed=1")).await, oldest);

    // Articles that are read or arrive meanwhile move no page.
    let first = seen(&anna, LIST).await;
    done(&anna, LIST, &[("read", "120")]).await;
    let late = article("late", "Late", "", 500);
    room.publish(FEED, vec![late], ARRIVAL_TIME).await;
    assert_eq!(numbers(&seen(&anna, &next(&first).unwrap()).await), newest[50..100]);
    assert_eq!(numbers(&seen(&anna, LIST).await)[..2], [121, 119]);
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?show=all")).await)[..2], [121, 120]);

    // A user who marks something on a later page returns to that page.
    let part = next(&first).unwrap();
    let back = done(&anna, &part, &[("star", "70")]).await;
    assert_eq!(back, format!("{part}&said=starred"));
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?starred=1")).await), [70]);
    for wrong in ["from=1", "from=x", "feed=1&tag=x", "folder=x"] {
        assert_eq!(anna.get(&format!("{LIST}?{wrong}")).await.status(), StatusCode::BAD_REQUEST);
    }
    for (name, value) in [("read", "x"), ("above", "1"), ("star", ""), ("all", "1")] {
        let answer = anna.post(LIST, &[(name, value)]).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{name}");
    }
}

#[tokio::test]
async fn lists_are_of_feeds_folders_and_tags_and_words_are_found_in_them() {
    let (room, anna) = reading(2).await;
    let other = "https://other.example/feed";
    let filed = [("action", "subscribe"), ("address", other), ("folder", "Kitchen")];
    done(&anna, HOME, &filed).await;
    let articles = vec![
        article("b", "Oat milk", "<p>Soak the oats</p>", 1_000),
        article("a", "Bread", "<p>With <b>milk</b> and flour</p>", 900),
    ];
    room.publish(other, articles, ARRIVAL_TIME).await;
    let bread = room.library.search("flour", all(2)).await.unwrap()[0].number.get() as u64;
    let oats = 7 - bread;
    let home = seen(&anna, HOME).await;
    let folder = home.split("?folder=").nth(2).unwrap().split('"').next().unwrap();
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?folder={folder}")).await), [oats, bread]);
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?folder=0")).await), [2, 1]);
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?q=MILK")).await), [oats, bread]);
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?q=milk+oats&feed=2")).await), [oats]);
    let nothing = seen(&anna, &format!("{LIST}?q=milk&feed=1")).await;
    assert!(nothing.contains("No article has"), "{nothing}");
    assert!(nothing.contains("Searched the titles and texts of <bdi>"), "{nothing}");
    assert!(nothing.contains(&format!("<a href=\"{LIST}?q=milk\">Search all")), "{nothing}");
    let everywhere = seen(&anna, &format!("{LIST}?q=milk&show=unread")).await;
    assert!(everywhere.contains("texts of unread articles in <bdi>All articles"), "{everywhere}");
    assert!(!everywhere.contains(">Search all articles</a>"), "{everywhere}");
    // Searches find read articles too, unless they are limited to unread ones.
    done(&anna, LIST, &[("read", &bread.to_string())]).await;
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?q=milk")).await), [oats, bread]);
    assert_eq!(numbers(&seen(&anna, &format!("{LIST}?q=milk&show=unread")).await), [oats]);
    let long = "x".repeat(1_024);
    assert!(seen(&anna, &format!("{LIST}?q={long}")).await.contains("No article has"));
    assert_eq!(anna.get(&format!("{LIST}?q={long}x")).await.status(), StatusCode::BAD_REQUEST);
    // All found articles are marked, and no others.
    let page = format!("{LIST}?q=milk");
    let last = hidden(&seen(&anna, &page).await, "last").unwrap();
    done(&anna, &page, &[("all", "1"), ("last", &last)]).await;
    assert_eq!(room.unread("anna").await, ["Title 1.", "Title 2."]);
}

fn all(feeds: i64) -> feedsync_aggregator::Selection {
    let feeds = (1..=feeds).map(feedsync_reader_api::FeedNumber::new).collect();
    feedsync_aggregator::Selection { feeds, most: 1_000, ..Default::default() }
}

/// Articles that arrived after the page was shown stay unread, even with an older date; a feed takes one
/// record.
#[tokio::test]
async fn all_of_a_list_is_what_was_shown() {
    for (since, records) in [(5_000, 1), (1, 60)] {
        let (room, anna) = reading(60).await;
        let last = hidden(&seen(&anna, LIST).await, "last").unwrap();
        room.publish(FEED, vec![article("since", "Since", "", since)], ARRIVAL_TIME + 1).await;
        let before = room.log("anna").await.lines().count();
        done(&anna, LIST, &[("all", "1"), ("last", &last)]).await;
        assert_eq!(room.unread("anna").await, ["Since"]);
        assert_eq!(room.log("anna").await.lines().count() - before, records);
    }
    let (room, anna) = reading(3).await;
    done(&anna, &format!("{LIST}/1"), &[("action", "star")]).await;
    let starred = format!("{LIST}?starred=1");
    let last = hidden(&seen(&anna, &starred).await, "last").unwrap();
    done(&anna, &starred, &[("all", "1"), ("last", &last)]).await;
    assert_eq!(room.unread("anna").await, ["Title 2.", "Title 3."]);
}

/// A linear congruential generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The unread articles of all feeds, by number.
async fn unread(visitor: &Visitor) -> BTreeSet<u64> {
    walked(visitor, LIST).await.into_iter().collect()
}

/// For any list and any dates: marking a part of it changes no other article.
#[tokio::test]
async fn a_part_of_a_list_is_marked_and_nothing_else() {
    let room = Newsroom::of(&["anna"]).await;
    let anna = Visitor::signed_in(&room.router, "anna", crate::newsroom::PASSWORD).await;
    let feeds = ["https://one.example/", "https://two.example/"];
    for feed in feeds {
        done(&anna, HOME, &[("action", "subscribe"), ("address", feed)]).await;
    }
    let mut chance = Chance(7);
    let mut came = 0;
    for round in 0..40_u64 {
        // Few dates, so that many articles share one.
        let mut publish = async |count: u64, chance: &mut Chance| {
            for _ in 0..count {
                came += 1;
                let feed = feeds[chance.below(2) as usize];
                let at = round * 3 + chance.below(6);
                let one = article(&format!("n{came}"), &format!("Title {came}"), "", at);
                room.publish(feed, vec![one], ARRIVAL_TIME).await;
            }
        };
        publish(1 + chance.below(6), &mut chance).await;
        let (order, show) = (["newest", "oldest"], ["unread", "all"]);
        let part_of = ["", "&feed=1", "&feed=2", "&q=title"][chance.below(4) as usize];
        let list = format!(
            "{LIST}?order={}&show={}{part_of}",
            order[chance.below(2) as usize],
            show[chance.below(2) as usize],
        );
        let (before, page) = (unread(&anna).await, seen(&anna, &list).await);
        let shown = walked(&anna, &list).await;
        publish(chance.below(3), &mut chance).await;
        let since: BTreeSet<u64> = unread(&anna).await.difference(&before).copied().collect();
        if shown.is_empty() {
            continue;
        }
        let (place, last) =
            (chance.below(shown.len() as u64) as usize, hidden(&page, "last").unwrap());
        let at = ArticleNumber::new(shown[place] as i64);
        let at = room.library.named(&[at]).await.unwrap()[0].listed;
        let at = format!("{}.{}", at.sort_date, at.number);
        let (name, marked) = match chance.below(3) {
            0 => ("all", &shown[..]),
            1 => ("above", &shown[..=place]),
            _ => ("below", &shown[place..]),
        };
        let marked: BTreeSet<u64> = marked.iter().copied().collect();
        done(&anna, &list, &[(name, &at), ("last", &last)]).await;
        let expected: BTreeSet<u64> = &(&before - &marked) | &since;
        assert_eq!(unread(&anna).await, expected, "round {round}: {name} at {at} of {list}");
    }
}
