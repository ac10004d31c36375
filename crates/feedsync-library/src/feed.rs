//! Feeds: what they are called, what they say of themselves, and when they are asked again.

use std::time::Duration;

use feedsync_formats::Wishes;
use feedsync_log::Millis;
use feedsync_reader::FeedAddress;

use feedsync_newsreader::FeedNumber;

/// Longest time for which a feed is left alone: a wish of seven days, an eighth more, and the seven days of hours that it
/// skips. A later `due` was written while the clock was ahead.
pub const MAX_PAUSE: Duration = Duration::from_secs(16 * 24 * 3_600);

/// Longest time for which a host is held, and for which a feed is left alone that was never polled.
pub const MAX_HOLD: Duration = Duration::from_secs(24 * 3_600);

/// Longest time for which a feed is claimed.
pub const MAX_CLAIM: Duration = Duration::from_secs(3_600);

/// A feed that somebody reads or has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFeed {
    /// Its number.
    pub number: FeedNumber,
    /// Where it is.
    pub address: FeedAddress,
    /// What is known from asking it.
    pub state: PollState,
    /// What it said of itself last.
    pub head: FeedHead,
    /// How many articles of it are here.
    pub articles: u64,
    /// Where the newest of them stands in time.
    pub newest: Option<Millis>,
}

/// A feed that its taker is to poll and nobody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueFeed {
    /// Its number.
    pub number: FeedNumber,
    /// Where it is.
    pub address: FeedAddress,
    /// What is known from asking it, with the moment at which it was due.
    pub state: PollState,
}

/// What is known of a feed from asking it. The library keeps it; what it means, who polls decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PollState {
    /// When it is to be asked again.
    pub due: Millis,
    /// How long it is left alone at present; kept to the millisecond.
    pub every: Duration,
    /// When it was asked last.
    pub checked: Option<Millis>,
    /// When it last said something new.
    pub changed: Option<Millis>,
    /// The entity tag of its last document.
    pub etag: Option<String>,
    /// When its last document was made, as its server said.
    pub last_modified: Option<String>,
    /// The SHA-256 of its last document.
    pub digest: Option<[u8; 32]>,
    /// How often in a row asking failed.
    pub failures: u32,
    /// Why it failed, for people.
    pub fault: Option<String>,
    /// Its server said that it is gone for good.
    pub gone: bool,
    /// Its server said that it moved there for good.
    pub led_to: Option<FeedAddress>,
    /// How often it wanted to be asked when it last said something; `every` is kept to the second.
    pub wishes: Wishes,
}

impl PollState {
    /// The state without times in the future. Those were written while the clock was ahead.
    #[must_use]
    pub fn not_later_than(self, now: Millis) -> Self {
        let past = |moment: Option<Millis>| moment.map(|moment| moment.min(now));
        Self { checked: past(self.checked), changed: past(self.changed), ..self }
    }
}

/// What a feed says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedHead {
    /// Its name for people.
    pub title: Option<String>,
    /// The address of the site that it is of.
    pub site: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// The address of a small picture.
    pub icon: Option<String>,
    /// The address of a hub that tells of news.
    pub hub: Option<String>,
    /// What it calls itself there.
    pub topic: Option<String>,
}
