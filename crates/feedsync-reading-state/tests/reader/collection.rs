//! Items of a collection hold the same state as a log, and conflicts are resolved automatically (LR5, LR15).

use crate::support::*;
use feedsync_core::{By, Edit, Item, ItemId, Outcome, Payload, Stamp, Timestamp, Version, merge};
use feedsync_core::{Format, History, Sequence, Update, Updates};
use feedsync_formats::attribute;
use feedsync_reading_state::collection::{edit, item_id, new_item, read_item, resolution};
use feedsync_reading_state::{Action, DocumentError, FeedState};
use proptest::prelude::*;

fn when(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(seconds).unwrap()
}

fn by(name: &str) -> By {
    By::new(name).unwrap()
}

fn signed(name: &str, seconds: i64) -> Stamp {
    Stamp::new(when(seconds), by(name))
}

/// The item of feed `a` with that state, created in that authoring line.
fn created(state: &FeedState, name: &str, seconds: i64) -> Item<Payload> {
    let (id, creation, payload) = new_item(&feed("a"), state);
    Item::create(id, creation, &signed(name, seconds), payload).unwrap()
}

fn told(item: &Item<Payload>) -> FeedState {
    let (address, state) = read_item(item, None).unwrap().unwrap();
    assert_eq!(address, feed("a"));
    state
}

/// Adds a state to an item, as a replica does.
fn say(item: &mut Item<Payload>, state: &FeedState, name: &str, seconds: i64) {
    if let Some(edit) = edit(item, &feed("a"), state).unwrap() {
        item.update(&signed(name, seconds), edit).unwrap();
    }
}

/// An edit of the outline by another program.
fn edited(item: &Item<Payload>, from: &str, to: &str, seconds: i64) -> Item<Payload> {
    let mut item = item.clone();
    let text = item.winner.payload.text().replace(from, to);
    assert_ne!(*item.winner.payload.text(), *text);
    let payload = Payload::from_parsed(Format::Opml, text);
    item.update(&signed("editor", seconds), payload.into()).unwrap();
    item
}

fn both(one: &Item<Payload>, other: &Item<Payload>) -> Item<Payload> {
    merge(Some(one.clone()), other.clone()).unwrap().0
}

fn settle(item: &Item<Payload>) -> Item<Payload> {
    match resolution(item).unwrap() {
        Some(winner) => both(item, &Item { id: item.id.clone(), winner, conflicts: Vec::new() }),
        None => item.clone(),
    }
}

fn subscribed() -> FeedState {
    feed_state(&[(
        Action::Subscribe {
            title: "A & B".parse().ok(),
            folder: Some(folder(&["News", "a/b"])),
            position: "V".parse().ok(),
        },
        "5000.0@a",
    )])
}

#[test]
fn an_item_is_an_outline_that_others_read_with_the_document_in_it() {
    let state = subscribed();
    let item = created(&state, "a.1", 5);
    assert_eq!(item.id, item_id(&feed("a")));
    assert!(item.id.as_str().starts_with("feed:") && item.id.as_str().len() == 69);
    let payload = &item.winner.payload;
    assert_eq!(attribute(payload, "text").as_deref(), Some("A & B"));
    assert_eq!(attribute(payload, "xmlUrl").as_deref(), Some("https://a.example/feed"));
    assert_eq!(attribute(payload, "type").as_deref(), Some("rss"));
    assert_eq!(attribute(payload, "category").as_deref(), Some("/News/a-b"));
    assert!(!item.winner.deleted);
    assert_eq!(told(&item), state);
    assert_eq!(edit(&item, &feed("a"), &state), Ok(None));
}

#[test]
fn unsubscribing_deletes_the_item_and_keeps_its_marks() {
    let mut item = created(&subscribed(), "a.1", 5);
    let done =
        [(Action::Star { article: article("x") }, "6000.0@a"), (Action::Unsubscribe, "7000.0@a")];
    say(&mut item, &feed_state(&done), "a.1", 7);
    assert!(item.winner.deleted);
    let state = told(&item);
    assert!(state.is_starred(&article("x")) && !state.is_subscribed());
}

#[test]
fn changes_of_other_programs_get_the_time_of_the_version() {
    let item = created(&subscribed(), "a.1", 5);
    let renamed = told(&edited(&item, "A &amp; B", "Other", 8));
    assert_eq!(renamed.title().unwrap().as_str(), "Other");
    let moved = told(&edited(&item, "/News/a-b", "/Later", 8));
    assert_eq!(moved.folder(), &folder(&["Later"]));
    let elsewhere = told(&edited(&item, "xmlUrl=\"https://a.", "xmlUrl=\"https://b.", 8));
    assert_eq!(elsewhere.moved_to(), Some(&feed("b")));
    let mut deleted = item.clone();
    deleted.update(&signed("editor", 8), Edit::delete()).unwrap();
    assert!(!told(&deleted).is_subscribed());
    assert_eq!(told(&deleted).title().unwrap().as_str(), "A & B");
    // A change with a later stamp wins against it.
    let again = feed_state(&[(Action::Rename { title: "Third".parse().ok() }, "9000.0@b")]);
    let mut other = edited(&item, "A &amp; B", "Other", 8);
    say(&mut other, &again, "b.1", 9);
    assert_eq!(told(&other).title().unwrap().as_str(), "Third");
}

/// A program that changed an outline had its document, so its change is later, whatever its clock says.
#[test]
fn changes_of_other_programs_are_later_than_the_document_they_had() {
    let mut item = created(&subscribed(), "a.1", 5);
    let named = feed_state(&[(Action::Rename { title: "Second".parse().ok() }, "9000.0@b")]);
    say(&mut item, &named, "b.1", 9);
    let renamed = edited(&item, "Second", "Other", 2);
    assert_eq!(told(&renamed).title().unwrap().as_str(), "Other");
    let mut deleted = item.clone();
    deleted.update(&signed("editor", 2), Edit::delete()).unwrap();
    assert!(!told(&deleted).is_subscribed());
}

/// An outline with another address and without its document still belongs to the feed that its item is named
/// after.
#[test]
fn an_item_stays_about_the_feed_that_it_is_named_for() {
    let item = created(&subscribed(), "a.1", 5);
    let text = item.winner.payload.text().replace("https://a.", "https://b.");
    let begin = text.find("<state").unwrap();
    let end = text.find("</state>").unwrap() + "</state>".len();
    let bare = format!("{}{}", &text[..begin], &text[end..]);
    let mut elsewhere = item.clone();
    let payload = Payload::from_parsed(Format::Opml, bare);
    elsewhere.update(&signed("editor", 8), payload.into()).unwrap();
    let (address, state) = read_item(&elsewhere, Some(&feed("a"))).unwrap().unwrap();
    assert_eq!((address, state.moved_to()), (feed("a"), Some(&feed("b"))));
    // The same applies if it conflicts with our version.
    let mut ours = item.clone();
    let named = feed_state(&[(Action::Rename { title: "Second".parse().ok() }, "9000.0@b")]);
    say(&mut ours, &named, "b.1", 9);
    let both = both(&ours, &elsewhere);
    assert_eq!(both.conflicts.len(), 1);
    assert_eq!(read_item(&both, None).unwrap().unwrap().0, feed("a"));
}

#[test]
fn an_outline_of_another_program_is_a_subscription() {
    let item = |text: &str, deleted: bool| {
        let creation = feedsync_core::Creation { noconflicts: None, deleted };
        let payload = Payload::from_parsed(Format::Opml, text);
        Item::create(ItemId::new("any").unwrap(), creation, &signed("editor", 8), payload).unwrap()
    };
    let text =
        "<outline text='Mine' xmlURL='' xmlUrl='https://A.example:443/feed' category='x,/N/M,/O'/>";
    let state = told(&item(text, false));
    assert!(state.is_subscribed());
    assert_eq!(state.title().unwrap().as_str(), "Mine");
    assert_eq!(state.folder(), &folder(&["N", "M"]));
    assert!(!told(&item(text, true)).is_subscribed());
    // A damaged document is ignored; the other values are used.
    let spoilt = "<outline text='Mine' xmlUrl='https://a.example/feed'><state xmlns='urn:feedsync:reader:1'>{</state></outline>";
    assert_eq!(told(&item(spoilt, false)).title().unwrap().as_str(), "Mine");
    for nothing in ["<outline text='a note'/>", "<outline text='a' xmlUrl='nowhere'/>", "<outline"]
    {
        assert_eq!(read_item(&item(nothing, false), None), Ok(None), "{nothing}");
    }
    // A deletion that dropped all contents, of a feed that the caller knows.
    let known = read_item(&item("<outline text=''/>", true), Some(&feed("a"))).unwrap().unwrap();
    let mut state = subscribed();
    state.join(known.1);
    assert!(!state.is_subscribed() && state.title().is_some());
}

#[test]
fn foreign_contents_of_an_outline_survive_our_edits() {
    let item = created(&subscribed(), "a.1", 5);
    let other =
        edited(&item, " type=\"rss\"", " type='atom' x='1' htmlUrl='https://a.example/'", 8);
    let mut other = edited(&other, "</outline>", "<n xmlns='urn:n'>b</n>\n</outline>", 9);
    say(
        &mut other,
        &feed_state(&[(Action::Star { article: article("x") }, "9000.0@b")]),
        "b.1",
        10,
    );
    let text = other.winner.payload.text();
    assert!(text.contains(" type='atom' x='1' htmlUrl='https://a.example/'"), "{text}");
    assert!(text.contains("<n xmlns='urn:n'>b</n>"), "{text}");
    assert!(told(&other).is_starred(&article("x")));
}

#[test]
fn an_item_with_a_document_of_a_later_version_is_left_alone() {
    let mut item = created(&subscribed(), "a.1", 5);
    item = edited(&item, "\"v\":1", "\"v\":2", 8);
    let newer = DocumentError::Newer { version: 2 };
    assert_eq!(read_item(&item, None), Err(newer.clone()));
    assert_eq!(edit(&item, &feed("a"), &FeedState::default()), Err(newer.clone()));
    let mut other = created(&subscribed(), "b.1", 5);
    say(&mut other, &feed_state(&[(Action::Unsubscribe, "9000.0@b")]), "b.1", 6);
    let conflicting = both(&item, &other);
    assert!(!conflicting.conflicts.is_empty());
    assert_eq!(resolution(&conflicting), Err(newer));
}

#[test]
fn versions_about_several_feeds_are_left_to_people() {
    let outline = |name: &str| {
        Payload::from_parsed(
            Format::Opml,
            format!("<outline text='a' xmlUrl='https://{name}.example/'/>"),
        )
    };
    let id = || ItemId::new("any").unwrap();
    let item = |name: &str| {
        Item::create(id(), Default::default(), &signed(name, 1), outline(name)).unwrap()
    };
    let conflicting = both(&item("a"), &item("b"));
    assert_eq!(conflicting.conflicts.len(), 1);
    assert_eq!(read_item(&conflicting, None), Ok(None));
    assert_eq!(resolution(&conflicting), Ok(None));
}

#[test]
fn resolution_covers_every_update_and_exhausted_item_is_unchanged() {
    let mut one = created(&subscribed(), "a.1", 5);
    let mut other = one.clone();
    say(&mut one, &feed_state(&[(Action::Star { article: article("x") }, "6.0@a")]), "a.1", 6);
    say(&mut other, &feed_state(&[(Action::Star { article: article("y") }, "6.0@b")]), "b.1", 7);
    let conflicting = both(&one, &other);
    let version = resolution(&conflicting).unwrap().unwrap();
    assert!(conflicting.versions().all(|known| version.history.covers_all(&known.history)));
    assert_eq!(version.updates.get(), 3);
    assert_eq!(version.dot().sequence().get(), 3);
    assert_eq!(version.dot().when(), Some(when(7)));
    let mut spent = conflicting;
    spent.winner.updates = Updates::new(feedsync_core::MAX_COUNTER).unwrap();
    assert_eq!(resolution(&spent), Ok(None));
}

#[test]
fn a_long_history_is_shortened_and_covers_no_less() {
    let update = |sequence: u32, name: &str| {
        Update::signed(Sequence::new(sequence).unwrap(), when(1), by(name))
    };
    let version = |name: &str, star: &str| Version {
        updates: Updates::new(3_000).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(
            (1..=3_000).rev().map(|sequence| update(sequence, name)).collect(),
        )
        .unwrap(),
        payload: new_item(
            &feed("a"),
            &feed_state(&[(Action::Star { article: article(star) }, "6.0@a")]),
        )
        .2,
    };
    let (winner, conflict) = (version("b", "x"), version("a", "y"));
    let item = Item { id: item_id(&feed("a")), winner, conflicts: vec![conflict] };
    let history = resolution(&item).unwrap().unwrap().history;
    assert_eq!(history.updates().len(), 3);
    assert!(item.versions().all(|version| history.covers_all(&version.history)));
}

/// Steps of replicas of one item: edit, exchange, resolve.
#[derive(Debug, Clone)]
enum Step {
    Say(usize, Action, feedsync_log::Stamp),
    Exchange(usize, usize),
    Resolve(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_usize, any_action(), any_stamp()).prop_map(|(who, action, stamp)| Step::Say(who, action, stamp)),
        2 => (0..3_usize, 0..3_usize).prop_map(|(from, to)| Step::Exchange(from, to)),
        1 => (0..3_usize).prop_map(Step::Resolve),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn state_round_trips_through_an_item(state in any_feed_state(), seconds in 0..9_i64) {
        let item = created(&state, "a.1", seconds);
        prop_assert_eq!(told(&item), state);
    }

    /// Replicas that resolve the same conflicts concurrently make one version, and merging leaves no
    /// conflict.
    #[test]
    fn concurrent_resolutions_make_the_same_version(states in prop::collection::vec(any_feed_state(), 2..5)) {
        let base = created(&FeedState::default(), "a.0", 1);
        let edits: Vec<_> = states.iter().enumerate().map(|(number, state)| {
            let mut item = base.clone();
            say(&mut item, state, &format!("b.{number}"), 2);
            item
        }).collect();
        let forth = edits.iter().fold(base.clone(), |item, other| both(&item, other));
        let back = edits.iter().rev().fold(base, |item, other| both(other, &item));
        let (one, other) = (resolution(&forth).unwrap(), resolution(&back).unwrap());
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.is_none(), forth.conflicts.is_empty());
        let (one, other) = (settle(&forth), settle(&back));
        prop_assert!(one.conflicts.is_empty());
        let (merged, outcome) = merge(Some(one.clone()), other).unwrap();
        prop_assert_eq!(outcome, Outcome::Unchanged);
        let mut all = FeedState::default();
        for state in states {
            all.join(state);
        }
        prop_assert_eq!(told(&merged), all);
    }

    /// Replicas converge to one item without conflicts that includes all changes, whatever they do and in
    /// whatever order they exchange it (LT1).
    #[test]
    fn replicas_of_an_item_converge(steps in prop::collection::vec(any_step(), 0..24)) {
        let base = created(&FeedState::default(), "a.0", 1);
        let mut replicas = vec![base; 3];
        let mut all = FeedState::default();
        for (second, step) in (2..).zip(steps) {
            match step {
                Step::Say(who, action, stamp) => {
                    let state = action.state(stamp);
                    all.join(state.clone());
                    // A stale editor uses a new authoring line for each edit.
                    let line = format!("{who}.{second}");
                    say(&mut replicas[who], &state, &line, second % 5);
                }
                Step::Exchange(from, to) => replicas[to] = both(&replicas[to], &replicas[from]),
                Step::Resolve(who) => replicas[who] = settle(&replicas[who]),
            }
        }
        for _ in 0..4 {
            for (from, to) in [(0, 1), (1, 2), (2, 0), (2, 1)] {
                replicas[to] = both(&replicas[to], &replicas[from]);
            }
            replicas.iter_mut().for_each(|item| *item = settle(item));
        }
        for item in &replicas {
            prop_assert!(item.conflicts.is_empty(), "{:?}", item);
            prop_assert_eq!(told(item), all.clone());
            prop_assert_eq!(&item.winner.payload, &replicas[0].winner.payload);
            prop_assert_eq!(item.winner.dot(), replicas[0].winner.dot());
        }
    }
}
