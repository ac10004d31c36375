//! Newsreading at a hub.
//!
//! [`FeedSchedule`] polls the feeds that users subscribe to, and stores their articles in a [`Library`].
//! [`Readers`] gives access to the reading of each user: the subscriptions and marks of a log, applied to the
//! stored articles. The user's other devices share the log. Every interface records changes in that log, and
//! shows a [`SubscriptionView`].

mod full_text;
pub mod html;
mod library;
mod polling;
mod reading;
mod rules;

pub use full_text::{ExtractError, MAX_PAGE_BYTES, extract};
pub use library::*;
pub use polling::{
    FeedFinder, FeedKind, FeedSchedule, FindError, FoundFeed, FullText, FullTextError, FullTexts,
    MAX_FIND_TIME, MAX_PICTURE_BYTES, MAX_POLL_INTERVAL, MIN_POLL_INTERVAL, NamedFeed, Picture,
    PictureError, Pictures, WebFinder, raster_type,
};
pub use reading::*;
pub use rules::{
    MAX_EXPRESSION_BYTES, MAX_RULE_WORD_BYTES, MAX_RULE_WORDS, MAX_RULES, Rule, RuleActions,
    RuleError, RulePart, RulePattern,
};

/// Newsreading of a hub: the reading of all users, and the schedule of their feeds.
#[derive(Clone)]
pub struct Newsreading {
    /// Reading of all users.
    pub readers: std::sync::Arc<Readers>,
    /// Schedule of the feeds.
    pub schedule: FeedSchedule,
    /// Finds the feeds at addresses that users want to subscribe to.
    pub finder: std::sync::Arc<dyn FeedFinder>,
    /// Pictures of articles.
    pub pictures: Pictures,
    /// Full texts of articles.
    pub full_texts: FullTexts,
}
