//! Reading of each user: subscriptions and marks, applied to the stored articles.

mod marks;
mod person;
mod readers;
mod select;
mod shelf;
mod upkeep;

pub use marks::FeedMarks;
pub use person::{Acted, MAX_FINDS, Person, ReadingError};
pub use readers::Readers;
pub use select::{Selected, select, total};
pub use shelf::{Shelf, ShelvedFeed};
pub use upkeep::Swept;
