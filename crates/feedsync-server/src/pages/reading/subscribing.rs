//! The form for a new subscription: a look at the address, and what the person is told about it.

use feedsync_aggregator::{FeedKind, FindError, FoundFeed, NamedFeed};
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::FeedAddress;

use super::{home, typed_folder, with};
use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::pages::answer::sentence;
use crate::pages::form::Form;
use crate::reading::Reading;
use crate::reading::discovery::Discovery;

/// Maximum number of characters of a title in a message.
const MAX_TITLE: usize = 120;

/// Input for a new subscription.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) address: String,
    pub(super) folder: String,
    pub(super) address_error: String,
    pub(super) folder_error: String,
    pub(super) error: String,
    /// Whether the person may subscribe to the address although it could not be read.
    pub(super) may_be_unchecked: bool,
    /// Feeds of a web page, of which the person chooses one.
    pub(super) choices: Vec<Choice>,
}

impl Draft {
    pub(super) fn of(form: &Form) -> Self {
        Self {
            address: form.text("address").trim().to_owned(),
            folder: form.text("folder").to_owned(),
            ..Self::default()
        }
    }

    /// Whether the form is shown again with something to do.
    pub(super) fn is_open(&self) -> bool {
        let errors = [&self.address_error, &self.folder_error, &self.error];
        !self.choices.is_empty() || errors.iter().any(|text| !text.is_empty())
    }

    fn with_address_error(self, error: impl std::fmt::Display) -> Self {
        Self { address_error: sentence(error), ..self }
    }
}

/// A feed that a web page names.
pub(super) struct Choice {
    pub(super) address: String,
    pub(super) title: String,
    pub(super) format: &'static str,
    pub(super) is_subscribed: bool,
    /// Whether it is the first one to which the person has not subscribed.
    pub(super) is_proposed: bool,
}

/// A subscription that was made.
pub(super) struct Subscribed {
    feed: Option<FeedNumber>,
    article_count: Option<usize>,
}

impl Subscribed {
    /// Address of the page that tells of it.
    pub(super) fn address(&self, call: &Call) -> String {
        let mut address = with(&home(call.base.path()), "said", "subscribed");
        if let Some(feed) = self.feed {
            address = with(&address, "feed", &feed.to_string());
        }
        if let Some(count) = self.article_count {
            address = with(&address, "articles", &count.to_string());
        }
        address
    }

    /// Message for the page at this address. A link can change the number alone: the title is the one of a
    /// subscription.
    pub(super) fn message(call: &Call, reading: &Reading) -> String {
        let feed = call.query.text("feed").and_then(|text| text.parse::<FeedNumber>().ok());
        let feed = feed.and_then(|feed| reading.subscription_view.feed(feed));
        let to = feed.map(|feed| format!(" to {}", short(feed.title(), MAX_TITLE)));
        let to = to.unwrap_or_default();
        match call.query.text("articles").and_then(|text| text.parse::<usize>().ok()) {
            Some(1) => format!("Subscribed{to}, which has 1 article. It appears in a moment."),
            Some(0) => format!("Subscribed{to}, which has no articles yet."),
            Some(count) => {
                format!("Subscribed{to}, which has {count} articles. They appear in a moment.")
            }
            None => {
                format!("Subscribed{to}. The articles appear as soon as the feed has been fetched.")
            }
        }
    }
}

/// Subscribes as a form says, or returns the form with what the person has to correct or choose. If the address
/// is not to be checked, nothing is fetched.
pub(super) async fn subscribe(
    reading: &mut Reading,
    draft: Draft,
    is_checked: bool,
) -> Result<Result<Subscribed, Draft>, Problem> {
    let address: FeedAddress = match draft.address.parse() {
        Ok(address) => address,
        Err(error) => return Ok(Err(draft.with_address_error(error))),
    };
    let folder = match typed_folder(reading, &draft.folder) {
        Ok(folder) => Some(folder).filter(|folder| !folder.names().is_empty()),
        Err(folder_error) => return Ok(Err(Draft { folder_error, ..draft })),
    };
    if let Some(known) = reading.subscribed_at(&address) {
        return Ok(Err(draft.with_address_error(known_feed(reading, &known))));
    }
    let (address, article_count) = match is_checked {
        false => (address, None),
        true => match look(reading, address, draft).await? {
            Ok(found) => found,
            Err(draft) => return Ok(Err(draft)),
        },
    };
    reading.subscribe(address.clone(), None, folder).await?;
    let feed = reading.subscription_view.feed_at(&address).map(|feed| feed.number());
    Ok(Ok(Subscribed { feed, article_count }))
}

/// The one feed at an address and the number of its articles, or the form with the reason why there is none, or
/// several to choose from.
async fn look(
    reading: &Reading,
    address: FeedAddress,
    draft: Draft,
) -> Result<Result<(FeedAddress, Option<usize>), Draft>, Problem> {
    let not_found = |draft: Draft, error: FindError| {
        use FindError::{Fetch, Held, Timeout};
        let may_be_unchecked = matches!(error, Fetch(_) | Held(_) | Timeout);
        let draft = draft.with_address_error(format!("no feed found: {error}"));
        Draft { may_be_unchecked, ..draft }
    };
    let named = match reading.discover(&address).await? {
        Ok(named) => named,
        Err(error) => return Ok(Err(not_found(draft, error))),
    };
    match &*named {
        [] => Ok(Err(not_found(draft, FindError::NoFeed))),
        [feed] if feed.address == address => Ok(Ok((address, feed.article_count))),
        [_] => Ok(match reading.find(&address).await? {
            Discovery::New(FoundFeed { address, .. }) => Ok((address, None)),
            Discovery::Known(known) => Err(draft.with_address_error(known_feed(reading, &known))),
            Discovery::NotFound(error) => Err(not_found(draft, error)),
        }),
        several => Ok(Err(Draft { choices: choices(reading, several), ..draft })),
    }
}

fn known_feed(reading: &Reading, address: &FeedAddress) -> String {
    let feed = reading.subscription_view.feed_at(address);
    let title = feed.map(|feed| short(feed.title(), MAX_TITLE)).unwrap_or_default();
    format!("you are already subscribed to this feed: {title}")
}

fn choices(reading: &Reading, feeds: &[NamedFeed]) -> Vec<Choice> {
    let choice = |feed: &NamedFeed| Choice {
        address: feed.address.to_string(),
        title: short(feed.title.as_deref().unwrap_or("Without a title"), MAX_TITLE),
        format: match feed.kind {
            FeedKind::Rss => "RSS",
            FeedKind::Atom => "Atom",
            FeedKind::Json => "JSON Feed",
        },
        is_subscribed: reading.subscribed_at(&feed.address).is_some(),
        is_proposed: false,
    };
    let mut choices: Vec<_> = feeds.iter().map(choice).collect();
    if let Some(first) = choices.iter_mut().find(|choice| !choice.is_subscribed) {
        first.is_proposed = true;
    }
    choices
}
