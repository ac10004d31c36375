//! Lists of other newsreaders come in, and ours go out and come back.

mod support;

use feedsync::Format;
use feedsync_formats::ReadError;
use feedsync_reader::{
    Action, AddressError, Branch, FeedAddress, MOST_FOLDERS, ReaderState, SubscriptionList,
};
use proptest::prelude::*;
use support::*;

fn list(inside: &str) -> SubscriptionList {
    let text = format!("<?xml version='1.0'?><opml version='1.1'><body>{inside}</body></opml>");
    SubscriptionList::read(text.as_bytes()).unwrap()
}

/// The state after a list was taken in, at that time.
fn taken_in(list: &SubscriptionList, mut state: ReaderState, when: &str) -> ReaderState {
    let actions = list.actions(&state.view());
    for (feed, action) in actions {
        state.join_feed(feed, action.state(stamp(when)));
    }
    state
}

/// What people see of subscriptions: all but the digits of their positions.
fn seen(branches: &[Branch]) -> String {
    let draw = |branch: &Branch| match branch {
        Branch::Feed(subscription) => {
            format!("{} {:?} {:?}", subscription.address, subscription.title, subscription.folder)
        }
        Branch::Folder(name, inside) => format!("{name:?}({})", seen(inside)),
    };
    branches.iter().map(draw).collect::<Vec<_>>().join("; ")
}

#[test]
fn folders_are_outlines_around_feeds() {
    let list = list(
        "<outline text='News'><outline title='A' xmlUrl='HTTP://A.example:80/feed'/>\
         <outline text='Local'><outline text='B' xmlUrl='feed://b.example/feed'/></outline></outline>\
         <outline><outline text='http://c.example/feed' xmlUrl='http://c.example/feed'/></outline>\
         <outline text='empty'/><outline text='D' xmlUrl='http://d.example/'>\
         <outline text='E' xmlUrl='http://e.example/'/></outline>",
    );
    let told: Vec<_> = list
        .feeds
        .iter()
        .map(|feed| {
            (feed.address.as_str(), feed.title.as_ref().map(|title| title.as_str()), &feed.folder)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("http://a.example/feed", Some("A"), &folder(&["News"])),
            ("http://b.example/feed", Some("B"), &folder(&["News", "Local"])),
            ("http://c.example/feed", None, &folder(&[])),
            ("http://d.example/", Some("D"), &folder(&[])),
            ("http://e.example/", Some("E"), &folder(&[])),
        ]
    );
    let state = taken_in(&list, ReaderState::default(), "1.0@a");
    assert_eq!(state.view().subscriptions().len(), 5);
    assert_eq!(taken_in(&list, state.clone(), "2.0@a"), state, "taken in again it changes nothing");
}

#[test]
fn deep_folders_become_paths() {
    let depth = MOST_FOLDERS + 4;
    let open: String = (0..depth).map(|number| format!("<outline text='f{number}'>")).collect();
    let list = list(&format!(
        "{open}<outline text='A' xmlUrl='http://a/'/>{}",
        "</outline>".repeat(depth)
    ));
    let names = list.feeds[0].folder.names();
    assert_eq!(names.len(), MOST_FOLDERS);
    assert_eq!(names[MOST_FOLDERS - 1].as_str(), "f15/f16/f17/f18/f19");
}

#[test]
fn a_feed_that_is_listed_twice_is_taken_once_and_what_is_none_is_refused_by_name() {
    let list = list(
        "<outline text='N'><outline text='A' xmlUrl='http://a/f'/></outline>\
         <outline text='B' xmlUrl='http://A/f'/><outline text='C' xmlUrl='rss.xml'/>",
    );
    assert_eq!(list.feeds.len(), 1);
    assert_eq!(list.feeds[0].folder, folder(&["N"]));
    let [refused] = &list.refused[..] else { panic!("{:?}", list.refused) };
    assert_eq!((&*refused.title, &*refused.address), ("C", "rss.xml"));
    assert_eq!(refused.reason, AddressError::Scheme);
}

#[test]
fn what_is_there_keeps_its_place_and_what_is_new_comes_after_it() {
    let first =
        list("<outline text='A' xmlUrl='http://a/'/><outline text='B' xmlUrl='http://b/'/>");
    let state = taken_in(&first, ReaderState::default(), "1.0@a");
    let second = list(
        "<outline text='C' xmlUrl='http://c/'/><outline text='F'><outline text='B2' xmlUrl='http://b/'/></outline>",
    );
    let state = taken_in(&second, state, "2.0@a");
    assert_eq!(
        seen(&state.view().tree()),
        "http://a/ Some(\"A\") Folder([]); \"F\"(http://b/ Some(\"B2\") Folder([\"F\"])); http://c/ Some(\"C\") Folder([])"
    );
}

#[test]
fn what_is_no_list_is_refused_with_its_place() {
    assert!(matches!(SubscriptionList::read(b"<rss/>"), Err(ReadError::UnknownFormat { .. })));
    assert!(matches!(SubscriptionList::read(b"<opml><body>"), Err(ReadError::Document { .. })));
}

/// Every list of the corpora that is XML is taken in; what of it names no feed is counted.
#[test]
fn lists_of_the_web_are_taken_in() {
    let mut counts = [0; 4];
    let holds = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    let mut documents = feedsync_test::corpora::fixtures();
    documents.extend(feedsync_test::corpora::corpora());
    documents.retain(|document| holds(&document.bytes, b"<opml"));
    assert!(!documents.is_empty());
    for document in documents {
        let name = document.path.display();
        match SubscriptionList::read(&document.bytes) {
            Ok(list) => {
                counts[0] += 1;
                counts[1] += list.feeds.len();
                counts[2] += list.refused.len();
                list.refused.iter().for_each(|refused| eprintln!("{name}: {refused}"));
                let state = taken_in(&list, ReaderState::default(), "1.0@a");
                assert_eq!(state.view().subscriptions().len(), list.feeds.len(), "{name}");
            }
            Err(error) => {
                counts[3] += 1;
                eprintln!("{name}: {error}");
                let tolerant = feedsync_formats::ReadOptions::tolerant();
                let read = feedsync_formats::read(&document.bytes, None, &tolerant);
                let is_opml = read.is_ok_and(|reading| reading.format == Format::Opml);
                assert!(!is_opml, "{name} is read elsewhere");
            }
        }
    }
    let [lists, feeds, refused, ill] = counts;
    eprintln!(
        "{lists} lists of {feeds} feeds, {refused} addresses refused; {ill} documents are no lists"
    );
    assert!(lists > ill);
}

proptest! {
    /// What is taken out as OPML and taken in elsewhere is the same to people.
    #[test]
    fn subscriptions_come_back(
        done in prop::collection::vec(
            ("[a-f]", "[ST<&\"' \u{e4}]{0,3}", prop::collection::vec("[FG</&]{1,2}", 0..3), "[1-3]?"), 0..8,
        ),
    ) {
        let mut state = ReaderState::default();
        for (name, title, names, position) in done {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let subscribe = Action::Subscribe {
                title: title.trim().parse().ok(),
                folder: Some(folder(&names)),
                position: position.parse().ok(),
            };
            state.join_feed(feed(&name), subscribe.state(stamp("1.0@a")));
        }
        let opml = state.view().opml("Subscriptions");
        let list = SubscriptionList::read(opml.as_bytes()).unwrap();
        prop_assert!(list.refused.is_empty());
        let again = taken_in(&list, ReaderState::default(), "2.0@b");
        prop_assert_eq!(seen(&again.view().tree()), seen(&state.view().tree()));
        prop_assert_eq!(again.view().opml("Subscriptions"), opml);
        let unchanged = list.actions(&state.view());
        prop_assert_eq!(unchanged, Vec::<(FeedAddress, Action)>::new());
    }
}
