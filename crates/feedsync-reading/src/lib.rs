//! What people read at a hub.
//!
//! [`FeedSchedule`] asks the feeds that anybody subscribes to, and keeps their articles in a
//! [`Library`](feedsync_library::Library). [`Readers`] knows each person's reading: the subscriptions and marks of a log,
//! which the person's other devices share, over the articles that are here. Whatever interface somebody uses, what they
//! do is a record of that log, and what they see is a [`Shelf`].

mod marks;
mod person;
mod poll;
mod readers;
mod select;
mod shelf;
mod upkeep;

pub use marks::FeedMarks;
pub use person::{Acted, MAX_FINDS, Person, ReadingError};
pub use poll::{
    FeedFinder, FeedKind, FeedSchedule, FindError, FoundFeed, LONGEST, MAX_FIND_TIME, NamedFeed,
    SHORTEST, WebFinder,
};
pub use readers::Readers;
pub use select::{Selected, select, total};
pub use shelf::{Shelf, ShelvedFeed};
pub use upkeep::Swept;

/// What a hub has of newsreading: everybody's reading, and the feeds that it asks.
#[derive(Clone)]
pub struct Newsreading {
    /// Everybody's reading.
    pub readers: std::sync::Arc<Readers>,
    /// The feeds.
    pub schedule: FeedSchedule,
    /// The feeds of addresses that people want to subscribe to.
    pub finder: std::sync::Arc<dyn FeedFinder>,
}
