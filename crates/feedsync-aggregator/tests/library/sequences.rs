//! Property tests: after arbitrary operations, a library gives the same results as the model.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use feedsync_aggregator::{
    ArticleFilter, ArticleText, Enclosure, FeedHead, Library, LibraryError, ListEntry,
    ListPosition, NewArticle, Poll, PollState, PolledDocument, PostgresLibrary, Retention,
    Selection,
};
use feedsync_formats::{ContentType, PollingHints};
use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::ArticleId;
use proptest::prelude::*;

use crate::model::Model;
use crate::samples::{Place, address, addresses, at, identification_state, reader};
use crate::wait;

const FEEDS: u8 = 4;
const READERS: u8 = 2;
const NAMES: u8 = 6;
const MOMENTS: u64 = 30;

#[derive(Debug, Clone)]
enum Operation {
    Subscribe(u8, Vec<u8>),
    Claim { until: u64, most: usize },
    Hasten(Vec<FeedNumber>),
    Settle(FeedNumber, Box<Poll>),
    List(Selection),
    Search(String, Selection),
    Count(Vec<FeedNumber>, Option<i64>),
    Show(Vec<ArticleNumber>),
    Numbers(FeedNumber, Vec<ArticleId>),
    Sweep(FeedNumber, Retention),
    Forget(u64),
    Clock(u64),
    Reopen,
}

fn feed() -> impl Strategy<Value = FeedNumber> + Clone {
    // Includes a number without a feed.
    (1..=i64::from(FEEDS) + 1).prop_map(FeedNumber::new)
}

fn number() -> impl Strategy<Value = ArticleNumber> {
    prop_oneof![9 => 1..30_i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN)]
        .prop_map(ArticleNumber::new)
}

fn moment() -> impl Strategy<Value = Millis> {
    prop_oneof![9 => (0..MOMENTS).prop_map(at), 1 => Just(Millis::MAX)]
}

fn text() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop_oneof![Just(String::new()), Just("one\0two".to_owned()), ".{0,3}"])
}

fn state() -> impl Strategy<Value = PollState> {
    let moments = (moment(), prop::option::of(moment()), prop::option::of(moment()));
    let said = (text(), text(), prop::option::of(any::<[u8; 32]>()), text());
    let rest = (any::<bool>(), prop::option::of(0..FEEDS), 0..3u32, any::<u32>());
    (moments, said, rest).prop_map(|(moments, said, (gone, redirect_target, failures, every))| {
        PollState {
            due: moments.0,
            every: Duration::from_millis(every.into()),
            checked: moments.1,
            changed: moments.2,
            etag: said.0,
            last_modified: said.1,
            digest: said.2,
            failures,
            fault: said.3,
            gone,
            redirect_target: redirect_target.map(address),
            polling_hints: PollingHints {
                every: (every % 3 > 0).then(|| Duration::from_secs(every.into())),
                idle_hours: every,
                idle_days: u8::try_from(every % 256).unwrap(),
            },
        }
    })
}

/// A text with words.
fn said() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[abAB'\0 ]{0,5}", 1 => Just("Near a, not b and title".to_owned())]
}

fn article() -> impl Strategy<Value = NewArticle> {
    let kinds = vec!["text", "html", "xhtml", "image/png", "", "text/plain"];
    let kind = prop::sample::select(kinds).prop_map(|name| match name {
        "text" | "html" | "xhtml" => ContentType::named(name),
        other => ContentType::Other(other.to_owned()),
    });
    let numbers = (prop::option::of(any::<u64>()), prop::option::of(any::<u32>()));
    let enclosure =
        (text(), text(), numbers).prop_map(|(address, media_type, (length, duration))| Enclosure {
            address: address.unwrap_or_default(),
            media_type,
            length,
            duration,
        });
    let lists = (prop::collection::vec(enclosure, 0..2), prop::collection::vec("[a\"\0]?", 0..2));
    // Usually equal, so that most articles are repeated unchanged.
    let long = (text(), text(), text(), text(), kind, lists).prop_map(
        |(link, author, base, content, content_type, (enclosures, categories))| ArticleText {
            link,
            author,
            base,
            content,
            content_type,
            enclosures,
            categories,
            ..ArticleText::default()
        },
    );
    let long = prop_oneof![8 => Just(ArticleText::default()), 1 => long];
    let dates = (prop::option::of(moment()), prop::option::of(moment()));
    let said = (prop::option::weighted(0.3, said()), prop::option::weighted(0.3, said()));
    (name(), dates, said, long).prop_map(|(name, (published, updated), (title, plain), long)| {
        NewArticle {
            name,
            published,
            plain: plain.unwrap_or_default(),
            text: ArticleText { updated, title, ..long },
        }
    })
}

fn document() -> impl Strategy<Value = PolledDocument> {
    let head = (text(), text(), text()).prop_map(|(title, site, hub)| FeedHead {
        description: title.clone(),
        icon: site.clone(),
        topic: hub.clone(),
        title,
        site,
        hub,
    });
    let known =
        prop::collection::vec(0..NAMES, 0..4).prop_map(|names| identification_state(&names));
    (head, prop::collection::vec(article(), 0..6), known).prop_map(
        |(head, articles, identification_state)| PolledDocument {
            head,
            articles,
            identification_state,
        },
    )
}

/// Filter that accepts one of `each` articles.
fn one_of(each: i64) -> ArticleFilter {
    Arc::new(move |row| (row.number.get() + row.feed.get()) % each == 0)
}

fn selection() -> impl Strategy<Value = Selection> {
    let from =
        (moment(), number()).prop_map(|(sort_date, number)| ListPosition { sort_date, number });
    let bounds = (
        prop::option::weighted(0.3, from),
        prop::option::weighted(0.2, moment()),
        prop::option::weighted(0.2, moment()),
    );
    let numbers = (prop::option::weighted(0.2, number()), prop::option::weighted(0.2, number()));
    let most = prop_oneof![0..4_usize, Just(usize::MAX)];
    let feeds = prop::collection::vec(feed(), 0..6);
    let each = prop::option::weighted(0.3, 2..4_i64);
    (feeds, any::<[bool; 2]>(), bounds, numbers, most, each).prop_map(
        |(feeds, [by_number, oldest_first], bounds, (above, below), most, each)| {
            let (from, newer_than, older_than) = bounds;
            let keep = each.map(one_of);
            let bounds =
                Selection { from, newer_than, older_than, above, below, ..Selection::default() };
            Selection { feeds, by_number, oldest_first, most, keep, ..bounds }
        },
    )
}

fn name() -> impl Strategy<Value = ArticleId> {
    (0..NAMES).prop_map(|name| format!("article {name}").parse().unwrap())
}

/// Search queries: words, and text with the syntax of the index.
fn words() -> impl Strategy<Value = String> {
    let marks = "[abAB'\"\0 *:^+(){}-]{0,6}";
    let syntax = ["a AND b", "a NOT b", "NEAR(a b)", "title:a", "{title}:a", "\"a b\"", "a*", "^a"];
    let syntax = syntax.map(str::to_owned).to_vec();
    prop_oneof![3 => marks, 1 => prop::sample::select(syntax)]
}

fn retention() -> impl Strategy<Value = Retention> {
    (moment(), 0..4_usize, prop::collection::btree_set(name(), 0..3))
        .prop_map(|(received_since, newest, names)| Retention { received_since, newest, names })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0..READERS, prop::collection::vec(0..FEEDS, 0..4))
            .prop_map(|(reader, feeds)| Operation::Subscribe(reader, feeds)),
        2 => (0..MOMENTS, 0..4_usize).prop_map(|(until, most)| Operation::Claim { until, most }),
        1 => prop::collection::vec(feed(), 0..3).prop_map(Operation::Hasten),
        6 => (feed(), state(), prop::option::weighted(0.8, document()))
            .prop_map(|(feed, state, document)| Operation::Settle(feed, Box::new(Poll { state, document }))),
        4 => selection().prop_map(Operation::List),
        2 => (words(), selection()).prop_map(|(words, from)| Operation::Search(words, from)),
        1 => (prop::collection::vec(feed(), 0..6), prop::option::of(1..4_i64))
            .prop_map(|(feeds, each)| Operation::Count(feeds, each)),
        1 => prop::collection::vec(number(), 0..6).prop_map(Operation::Show),
        1 => (feed(), prop::collection::vec(name(), 0..4))
            .prop_map(|(feed, names)| Operation::Numbers(feed, names)),
        2 => (feed(), retention()).prop_map(|(feed, keep)| Operation::Sweep(feed, keep)),
        1 => (0..MOMENTS).prop_map(Operation::Forget),
        2 => (0..5_u64).prop_map(Operation::Clock),
        1 => Just(Operation::Reopen),
    ]
}

/// A library and its model, with a clock.
struct Pair {
    place: Place,
    library: Option<Arc<dyn Library>>,
    model: Model,
    now: Millis,
}

impl Pair {
    fn new(place: Place) -> Self {
        let library = place.open();
        Self { place, library: Some(library), model: Model::default(), now: at(0) }
    }

    fn library(&self) -> &dyn Library {
        &**self.library.as_ref().unwrap()
    }

    fn carry_out(&mut self, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Subscribe(name, feeds) => {
                let (name, feeds) = (reader(name), addresses(feeds));
                wait(self.library().set_subscriptions(&name, &feeds, now)).unwrap();
                self.model.set_subscriptions(&name, &feeds, now);
            }
            Operation::Claim { until, most } => {
                let until = now.after(until);
                let claimed = wait(self.library().claim(now, until, most)).unwrap();
                assert_eq!(claimed, self.model.claim(now, until, most));
            }
            Operation::Hasten(feeds) => {
                wait(self.library().make_due(&feeds, now)).unwrap();
                self.model.make_due(&feeds, now);
            }
            Operation::Settle(feed, poll) => {
                match wait(self.library().settle(feed, (*poll).clone(), now)) {
                    Err(LibraryError::NoFeed(none)) => {
                        assert_eq!((none, self.model.settle(feed, &poll, now)), (feed, None));
                    }
                    settled => {
                        assert_eq!(Some(settled.unwrap()), self.model.settle(feed, &poll, now));
                    }
                }
            }
            Operation::List(selection) => {
                let expected = self.model.list(&selection);
                let list = wait(self.library().list(selection)).unwrap();
                assert_eq!(list, expected);
            }
            Operation::Show(numbers) => {
                let articles = wait(self.library().articles(&numbers)).unwrap();
                assert_eq!(articles, self.model.articles(&numbers));
                let named = wait(self.library().named(&numbers)).unwrap();
                assert_eq!(named, self.model.named(&numbers));
            }
            Operation::Search(words, selection) => {
                let expected = self.model.search(&words, &selection);
                let found = wait(self.library().search(&words, selection)).unwrap();
                assert_eq!(found, expected, "{words:?}");
            }
            Operation::Count(feeds, each) => {
                let keep = each.map(one_of);
                let expected = self.model.count(&feeds, keep.as_ref());
                assert_eq!(wait(self.library().count(&feeds, keep)).unwrap(), expected);
            }
            Operation::Numbers(feed, names) => {
                let numbered = wait(self.library().numbered(feed, &names)).unwrap();
                assert_eq!(numbered, self.model.numbered(feed, &names));
            }
            Operation::Sweep(feed, keep) => {
                let expected = self.model.sweep(feed, &keep);
                assert_eq!(wait(self.library().sweep(feed, keep)).unwrap(), expected);
            }
            Operation::Forget(before) => {
                let expected = self.model.delete_abandoned_feeds(at(before));
                assert_eq!(
                    wait(self.library().delete_abandoned_feeds(at(before), &BTreeSet::new()))
                        .unwrap(),
                    expected
                );
            }
            Operation::Clock(millis) => self.now = now.after(millis),
            Operation::Reopen => {
                self.library = None;
                self.library = Some(self.place.open());
            }
        }
    }

    /// Compares everything that can be read.
    fn compare(&self) {
        let (library, model) = (self.library(), &self.model);
        assert_eq!(wait(library.readers()).unwrap(), model.readers());
        assert_eq!(wait(library.next_due()).unwrap(), model.next_due());
        for name in (0..READERS).map(reader) {
            assert_eq!(wait(library.subscriptions(&name)).unwrap(), model.subscriptions(&name));
        }
        for address in (0..FEEDS).map(address) {
            assert_eq!(wait(library.feed_at(&address)).unwrap(), model.feed_at(&address));
        }
        // Deleted feeds get new numbers when they return.
        let feeds: Vec<FeedNumber> = (1..=40).map(FeedNumber::new).collect();
        for feed in &feeds {
            assert_eq!(wait(library.feed(*feed)).unwrap(), model.feed(*feed));
            assert_eq!(
                wait(library.identification_state(*feed)).unwrap(),
                model.identification_state(*feed)
            );
        }
        let everything = Selection { feeds, most: usize::MAX, ..Selection::default() };
        let list = wait(library.list(everything.clone())).unwrap();
        assert_eq!(list, model.list(&everything));
        let numbers: Vec<ArticleNumber> = list.iter().map(|row| row.number).collect();
        assert_eq!(wait(library.articles(&numbers)).unwrap(), model.articles(&numbers));
        for row in &list {
            let behind = wait(library.count_after(row.feed, Some(row.sort_date))).unwrap();
            let is_behind =
                |other: &&ListEntry| other.feed == row.feed && other.sort_date > row.sort_date;
            assert_eq!(behind, list.iter().filter(is_behind).count() as u64);
            let all = list.iter().filter(|other| other.feed == row.feed).count() as u64;
            assert_eq!(wait(library.count_after(row.feed, None)).unwrap(), all);
        }
        for article in model.articles(&numbers) {
            let before = wait(library.before(article.received)).unwrap();
            assert_eq!(before, model.before(article.received));
        }
    }
}

pub(crate) fn library_equals_the_model(place: &Place) {
    place.for_any(prop::collection::vec(operation(), 0..40), |operations| {
        let mut pair = Pair::new(place.another());
        for operation in operations {
            pair.carry_out(operation);
        }
        pair.compare();
        pair.carry_out(Operation::Reopen);
        pair.compare();
        Ok(())
    });
}

/// A library that was imported equals the model of the original one, and goes on with its numbers.
#[test]
fn imported_library_equals_the_model() {
    let operations = || prop::collection::vec(operation(), 0..40);
    Place::postgres().for_any((operations(), operations()), |(before, after)| {
        let mut pair = Pair::new(Place::sqlite());
        before.into_iter().for_each(|operation| pair.carry_out(operation));
        pair.library = None;
        let Place::Directory(directory) = &pair.place else { unreachable!("it is in a directory") };
        let place = Place::postgres();
        let Place::Database(url) = &place else { unreachable!("it is in a database") };
        let imported = wait(PostgresLibrary::open(url)).unwrap();
        let copied = wait(imported.import(directory.path())).unwrap();
        let is_empty = wait(imported.readers()).unwrap().is_empty();
        // A library without feeds may be copied again.
        prop_assert!(is_empty || wait(imported.import(directory.path())).unwrap().is_none());
        prop_assert!(copied.is_some());
        pair.library = Some(Arc::new(imported));
        pair.place = place;
        pair.compare();
        let writes = |operation: &Operation| {
            matches!(operation, Operation::Settle(..) | Operation::Sweep(..) | Operation::List(_))
        };
        after.into_iter().filter(writes).for_each(|operation| pair.carry_out(operation));
        pair.compare();
        Ok(())
    });
}
