//! Reading of each user: subscriptions and marks, applied to the stored articles.

mod duplicates;
mod marks;
mod person;
mod readers;
mod rules;
mod select;
mod subscription_view;
mod undo;
mod undoing;
mod upkeep;

pub use marks::FeedMarks;
pub use person::{MAX_FINDS, MAX_PICTURES, MarkResult, Person, ReadingError};
pub use readers::Readers;
pub use rules::{MAX_TRIED, StoredRule, TriedRule};
pub use select::{Selected, select, total};
pub use subscription_view::{FeedView, SubscriptionView};
pub use undo::{UndoResult, UndoState};
pub use upkeep::SweepResult;
