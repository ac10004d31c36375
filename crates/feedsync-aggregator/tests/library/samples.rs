//! Sample data for the tests.

use std::collections::BTreeSet;
use std::sync::Arc;

use feedsync_aggregator::{
    ArticleText, Library, NewArticle, Poll, PollState, PolledDocument, PostgresLibrary, ReaderName,
    SqliteLibrary,
};
use feedsync_formats::Entry;
use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::{FeedAddress, IdentificationState, identify};
use feedsync_test::postgres::Cluster;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tempfile::TempDir;

use crate::wait;

/// The location of a library in a test.
pub(crate) enum Place {
    Directory(TempDir),
    Database(String),
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        Self::Directory(tempfile::tempdir().unwrap())
    }

    pub(crate) fn postgres() -> Self {
        Self::Database(Cluster::shared().database())
    }

    /// An empty place of the same kind.
    pub(crate) fn another(&self) -> Self {
        match self {
            Self::Directory(_) => Self::sqlite(),
            Self::Database(_) => Self::postgres(),
        }
    }

    pub(crate) fn open(&self) -> Arc<dyn Library> {
        match self {
            Self::Directory(directory) => Arc::new(SqliteLibrary::open(directory.path()).unwrap()),
            Self::Database(url) => Arc::new(wait(PostgresLibrary::open(url)).unwrap()),
        }
    }

    /// Checks a property for some values; long test runs set a greater number of them in `FEEDSYNC_RUNS`.
    pub(crate) fn for_any<S: Strategy>(
        &self,
        values: S,
        check: impl Fn(S::Value) -> Result<(), TestCaseError>,
    ) {
        let cases = std::env::var("FEEDSYNC_RUNS").ok().and_then(|cases| cases.parse().ok());
        let cases = cases.unwrap_or(match self {
            Self::Directory(_) => 64,
            Self::Database(_) => 24,
        });
        let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
        let run = TestRunner::new(config).run(&values, check);
        run.unwrap_or_else(|error| panic!("{error}"));
    }
}

pub(crate) fn at(millis: u64) -> Millis {
    Millis::new(millis)
}

pub(crate) fn reader(number: u8) -> ReaderName {
    format!("reader {number}\0").parse().unwrap()
}

pub(crate) fn address(number: u8) -> FeedAddress {
    format!("https://example.org/{number}?\u{e4}'\"").parse().unwrap()
}

pub(crate) fn addresses(numbers: impl IntoIterator<Item = u8>) -> BTreeSet<FeedAddress> {
    numbers.into_iter().map(address).collect()
}

/// Stores sample feeds, which the first reader reads and which are due at the start.
pub(crate) fn feeds(library: &Arc<dyn Library>, count: u8) -> Vec<FeedNumber> {
    wait(library.set_subscriptions(&reader(0), &addresses(0..count), at(0))).unwrap();
    let feed = |number| wait(library.feed_at(&address(number))).unwrap().unwrap().number;
    (0..count).map(feed).collect()
}

/// An article with an identifier, a date and a text.
pub(crate) fn article(name: &str, published: Option<u64>, said: &str) -> NewArticle {
    NewArticle {
        name: name.parse().unwrap(),
        published: published.map(at),
        text: ArticleText { title: Some(said.to_owned()), ..ArticleText::default() },
        plain: said.to_owned(),
    }
}

/// A poll that found these articles, with the next one far in the future.
pub(crate) fn told(articles: impl IntoIterator<Item = NewArticle>) -> Poll {
    let document =
        PolledDocument { articles: articles.into_iter().collect(), ..PolledDocument::default() };
    Poll {
        document: Some(document),
        state: PollState { due: at(1_000_000), ..PollState::default() },
    }
}

/// Identification state of entries with these identifiers.
pub(crate) fn identification_state(names: &[u8]) -> IdentificationState {
    let entry = |name: &u8| Entry { id: Some(format!("{name}")), ..Entry::default() };
    let entries: Vec<_> = names.iter().map(entry).collect();
    identify(&entries, IdentificationState::default()).1
}
