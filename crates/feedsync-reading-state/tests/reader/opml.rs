//! Import of other newsreaders' lists, and export.

use std::collections::BTreeMap;

use crate::support::*;
use feedsync_formats::ReadError;
use feedsync_reading_state::{
    Action, AddressError, Branch, FeedAddress, Folder, ImportPolicy, MAX_FOLDER_DEPTH, ReaderState,
    SubscriptionList, Title,
};
use proptest::prelude::*;

fn list(inside: &str) -> SubscriptionList {
    let text = format!("<?xml version='1.0'?><opml version='1.1'><body>{inside}</body></opml>");
    SubscriptionList::read(text.as_bytes()).unwrap()
}

/// The state after a list was imported, at that time.
fn taken_in(list: &SubscriptionList, state: ReaderState, when: &str) -> ReaderState {
    let actions = list.actions(&state.view(), ImportPolicy::KeepExisting);
    after(state, actions, when)
}

/// The state after these actions, at that time.
fn after(mut state: ReaderState, actions: Vec<(FeedAddress, Action)>, when: &str) -> ReaderState {
    for (feed, action) in actions {
        state.join_feed(feed, action.state(stamp(when)));
    }
    state
}

/// A subscription without further values.
fn bare() -> Action {
    Action::Subscribe { title: None, folder: None, position: None }
}

/// The visible parts of subscriptions: everything except the digits of positions.
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
    let depth = MAX_FOLDER_DEPTH + 4;
    let open: String = (0..depth).map(|number| format!("<outline text='f{number}'>")).collect();
    let list = list(&format!(
        "{open}<outline text='A' xmlUrl='http://a/'/>{}",
        "</outline>".repeat(depth)
    ));
    let names = list.feeds[0].folder.names();
    assert_eq!(names.len(), MAX_FOLDER_DEPTH);
    assert_eq!(names[MAX_FOLDER_DEPTH - 1].as_str(), "f15/f16/f17/f18/f19");
}

#[test]
fn repeated_feed_is_imported_once_and_invalid_feed_is_reported() {
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
fn import_keeps_existing_subscriptions_and_adds_new_ones_after_them() {
    let first =
        list("<outline text='A' xmlUrl='http://a/'/><outline text='B' xmlUrl='http://b/'/>");
    let state = taken_in(&first, ReaderState::default(), "1.0@a");
    let second = list(
        "<outline text='C' xmlUrl='http://c/'/><outline text='F'><outline text='B2' xmlUrl='http://b/'/></outline>",
    );
    let kept = taken_in(&second, state.clone(), "2.0@a");
    assert_eq!(
        seen(&kept.view().tree()),
        "http://a/ Some(\"A\") Folder([]); http://b/ Some(\"B\") Folder([]); http://c/ Some(\"C\") Folder([])"
    );
    let refiled = second.actions(&state.view(), ImportPolicy::ReplaceExisting);
    assert_eq!(
        seen(&after(state, refiled, "2.0@a").view().tree()),
        "http://a/ Some(\"A\") Folder([]); \"F\"(http://b/ Some(\"B2\") Folder([\"F\"])); http://c/ Some(\"C\") Folder([])"
    );
}

/// If a feed was filed on another device meanwhile, an import here does not override it, so that the later
/// filing counts.
#[test]
fn import_does_not_override_later_filing() {
    let there = list("<outline text='F'><outline text='A' xmlUrl='http://a/'/></outline>");
    let state = taken_in(&there, ReaderState::default(), "1.0@a");
    let moved = Action::Move { folder: folder(&["Elsewhere"]) };
    let named = Action::Rename { title: None };
    let address: FeedAddress = "http://a/".parse().unwrap();
    let filed = after(state, vec![(address.clone(), moved), (address.clone(), named)], "2.0@a");
    assert_eq!(there.actions(&filed.view(), ImportPolicy::KeepExisting), []);
    // Values that were never set are imported.
    let unsaid = after(ReaderState::default(), vec![(address.clone(), bare())], "1.0@a");
    let done = taken_in(&there, unsaid.clone(), "2.0@a");
    let known = done.feed("http://a/").unwrap();
    assert_eq!((known.folder(), known.title().unwrap().as_str()), (&folder(&["F"]), "A"));
    assert_eq!(known.position(), None);
    // Importing a list subscribes to all its feeds, even those that were unsubscribed.
    let gone = after(filed, vec![(address, Action::Unsubscribe)], "3.0@a");
    let again = taken_in(&there, gone, "4.0@a");
    assert_eq!(again.view().subscriptions()[0].folder, folder(&["F"]));
}

#[test]
fn new_subscriptions_come_after_those_without_a_position() {
    let b: FeedAddress = "http://b/".parse().unwrap();
    let state = after(ReaderState::default(), vec![(b, bare())], "1.0@a");
    let list = list("<outline text='Z' xmlUrl='http://z/'/><outline text='A' xmlUrl='http://a/'/>");
    let done = taken_in(&list, state, "2.0@a");
    let order: Vec<_> =
        done.view().subscriptions().iter().map(|known| known.address.to_string()).collect();
    assert_eq!(order, ["http://b/", "http://z/", "http://a/"]);
}

#[test]
fn moved_feed_is_imported_once() {
    let (old, new) = ("http://old/", "http://new/");
    let moved = Action::FeedMoved { to: new.parse().unwrap() };
    let state = after(ReaderState::default(), vec![(old.parse().unwrap(), moved)], "1.0@a");
    let list =
        list("<outline text='A' xmlUrl='http://old/'/><outline text='B' xmlUrl='http://new/'/>");
    let actions = list.actions(&state.view(), ImportPolicy::KeepExisting);
    let [(feed, Action::Subscribe { title, .. })] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!((feed.as_str(), title.as_ref().unwrap().as_str()), (new, "A"));
}

#[test]
fn malformed_list_is_rejected_with_the_position_of_the_fault() {
    assert!(matches!(SubscriptionList::read(b"<rss/>"), Err(ReadError::UnknownFormat { .. })));
    assert!(matches!(SubscriptionList::read(b"<opml><body>"), Err(ReadError::Document { .. })));
}

/// Files of the corpora that are not OPML although they mention it: a feed, and bytes that do not have their
/// stated encoding.
const NO_LISTS: &[&str] = &["opml/rss/twittergram.xml", "opml/errors/invalidCharacters.opml"];

/// Every list of the corpora is imported, and exported with the same folders and titles.
#[test]
fn real_lists_are_imported() {
    type Filed = BTreeMap<FeedAddress, (Option<Title>, Folder)>;
    let filed = |list: &SubscriptionList| -> Filed {
        let feeds = list.feeds.iter();
        feeds
            .map(|feed| (feed.address.clone(), (feed.title.clone(), feed.folder.clone())))
            .collect()
    };
    let mut counts = [0; 4];
    let holds = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    let mut documents = feedsync_test::corpora::fixtures();
    documents.extend(feedsync_test::corpora::corpora());
    documents.retain(|document| holds(&document.bytes, b"<opml"));
    assert!(!documents.is_empty());
    for document in documents {
        let name = document.path.display().to_string();
        let is_list = !NO_LISTS.iter().any(|known| name.ends_with(known));
        let list = SubscriptionList::read(&document.bytes);
        assert_eq!(list.is_ok(), is_list, "{name}: {list:?}");
        let Ok(list) = list else {
            counts[3] += 1;
            continue;
        };
        counts[0] += 1;
        counts[1] += list.feeds.len();
        counts[2] += list.refused.len();
        list.refused.iter().for_each(|refused| eprintln!("{name}: {refused}"));
        let state = taken_in(&list, ReaderState::default(), "1.0@a");
        let written = state.view().opml("Subscriptions");
        let again = SubscriptionList::read(written.as_bytes()).unwrap();
        assert_eq!(filed(&again), filed(&list), "{name}");
        let order = |state: &ReaderState| seen(&state.view().tree());
        assert_eq!(
            order(&taken_in(&again, ReaderState::default(), "1.0@a")),
            order(&state),
            "{name}"
        );
    }
    let [lists, feeds, refused, ill] = counts;
    eprintln!(
        "{lists} lists of {feeds} feeds, {refused} addresses refused; {ill} documents are no lists"
    );
}

proptest! {
    /// An exported list that is imported elsewhere looks the same to a person.
    #[test]
    fn subscriptions_round_trip_through_opml(
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
        for filing in [ImportPolicy::KeepExisting, ImportPolicy::ReplaceExisting] {
            let unchanged = list.actions(&state.view(), filing);
            prop_assert_eq!(unchanged, Vec::<(FeedAddress, Action)>::new());
        }
    }
}
