//! Feeds: their identity, their metadata, and the state of polling.

use std::time::Duration;

use feedsync_formats::PollingHints;
use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;

use feedsync_reader_api::FeedNumber;

/// Maximum pause of a feed: a requested interval of seven days, an eighth more, and the seven days of hours that
/// it skips. A later `due` was written while the clock was ahead.
pub const MAX_PAUSE: Duration = Duration::from_secs(16 * 24 * 3_600);

/// Maximum duration of a hold on a host, and maximum pause of a feed that was never polled.
pub const MAX_HOLD: Duration = Duration::from_secs(24 * 3_600);

/// Maximum duration of a claim.
pub const MAX_CLAIM: Duration = Duration::from_secs(3_600);

/// A feed that has or had readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFeed {
    /// Number of the feed.
    pub number: FeedNumber,
    /// Address of the feed.
    pub address: FeedAddress,
    /// State of polling.
    pub state: PollState,
    /// Current metadata.
    pub head: FeedHead,
    /// Number of stored articles.
    pub articles: u64,
    /// Sort date of the newest article.
    pub newest: Option<Millis>,
}

/// Properties of a feed that change with its stored articles.
pub(crate) type FeedFingerprint = (u64, Option<Millis>, Option<Millis>);

impl StoredFeed {
    pub(crate) fn fingerprint(&self) -> FeedFingerprint {
        (self.articles, self.newest, self.state.changed)
    }
}

/// A feed that is claimed for polling by one caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueFeed {
    /// Number of the feed.
    pub number: FeedNumber,
    /// Address of the feed.
    pub address: FeedAddress,
    /// State of polling, with the time at which the feed was due.
    pub state: PollState,
}

/// State of polling a feed. The library only stores it; the poller interprets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PollState {
    /// Time of the next poll.
    pub due: Millis,
    /// Current polling interval, stored in milliseconds.
    pub every: Duration,
    /// Time of the last poll.
    pub checked: Option<Millis>,
    /// Time of the last new content.
    pub changed: Option<Millis>,
    /// Entity tag of the last document.
    pub etag: Option<String>,
    /// `Last-Modified` of the last document.
    pub last_modified: Option<String>,
    /// SHA-256 digest of the last document.
    pub digest: Option<[u8; 32]>,
    /// Number of consecutive failures.
    pub failures: u32,
    /// Reason of the last failure, for people.
    pub fault: Option<String>,
    /// Whether the server responded that the feed is permanently gone.
    pub gone: bool,
    /// Target of a permanent redirect.
    pub redirect_target: Option<FeedAddress>,
    /// Intervals that the last document requested. Their `every` is stored with a precision of one second.
    pub polling_hints: PollingHints,
}

impl PollState {
    /// Clamps times in the future to `now`. Those were written while the clock was ahead.
    #[must_use]
    pub fn not_later_than(self, now: Millis) -> Self {
        let past = |moment: Option<Millis>| moment.map(|moment| moment.min(now));
        Self { checked: past(self.checked), changed: past(self.changed), ..self }
    }
}

/// Metadata of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedHead {
    /// Title of the feed.
    pub title: Option<String>,
    /// Address of the web page of the feed.
    pub site: Option<String>,
    /// Description of the feed.
    pub description: Option<String>,
    /// Address of the icon.
    pub icon: Option<String>,
    /// Address of a hub that sends notifications.
    pub hub: Option<String>,
    /// Topic of the feed at the hub.
    pub topic: Option<String>,
}
