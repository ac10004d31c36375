//! Newsreading at a hub.
//!
//! [`FeedSchedule`] polls the feeds that users subscribe to, and stores their articles in a
//! [`Library`](feedsync_library::Library). [`Readers`] gives access to the reading of each user: the
//! subscriptions and marks of a log, applied to the stored articles. The user's other devices share the log.
//! Every interface records changes in that log, and shows a [`Shelf`].

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

/// Newsreading of a hub: the reading of all users, and the schedule of their feeds.
#[derive(Clone)]
pub struct Newsreading {
    /// Reading of all users.
    pub readers: std::sync::Arc<Readers>,
    /// Schedule of the feeds.
    pub schedule: FeedSchedule,
    /// Finds the feeds at addresses that users want to subscribe to.
    pub finder: std::sync::Arc<dyn FeedFinder>,
}
