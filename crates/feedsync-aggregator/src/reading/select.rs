//! Lists the articles that a newsreader requests.
//!
//! Lists are ordered by sort date: the earlier of publication and arrival. [`Order::Received`] and
//! [`Order::Published`] are both this order. In this order and by number, only the requested page is read. For
//! other orders, the whole selection is listed and then sorted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::library::{
    Library, LibraryError, ListEntry, ListPosition, MAX_LISTED, MAX_LOADED, Selection as Listing,
};
use feedsync_log::Millis;
use feedsync_reader_api::{
    ArticleNumber, Continuation, FeedName, FeedNumber, FolderNumber, Folders, Order, Selection,
    Span, Stream, TagNumber, Tags,
};
use feedsync_reading_state::Tag;

use crate::reading::subscription_view::{FeedView, SubscriptionView};

/// Age up to which an article counts as fresh, in milliseconds.
const FRESH: u64 = 24 * 3_600 * 1_000;

/// Maximum number of articles that are sorted by other properties; of more, the first in the regular order are
/// used.
const MAX_SORTED: usize = 10_000;

/// Maximum number of search results.
const MAX_SEARCH_RESULTS: usize = 10_000;

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selected {
    /// Articles in order.
    pub listed: Vec<ListEntry>,
    /// Cursor of the next page, if there is one.
    pub next: Option<Continuation>,
}

/// Lists the requested articles of a subscription view.
pub async fn select(
    library: &dyn Library,
    subscription_view: &Arc<SubscriptionView>,
    folders: &Folders,
    asked: &Selection,
    now: Millis,
) -> Result<Selected, LibraryError> {
    let Some(wanted) =
        ResolvedSelection::of(library, subscription_view, folders, asked, now).await?
    else {
        return Ok(Selected::default());
    };
    let is_by_place = matches!(asked.order, Order::Received | Order::Published);
    let is_listed_so = is_by_place || asked.order == Order::Number;
    let most = match is_listed_so {
        true => asked.skip.saturating_add(asked.count).saturating_add(1).min(MAX_LISTED),
        false => MAX_LISTED,
    };
    let mut listed = wanted.list(library, asked, most).await?;
    if !is_listed_so {
        order(library, subscription_view, &mut listed, asked).await?;
    }
    listed.drain(..asked.skip.min(listed.len()));
    let has_more = listed.len() > asked.count;
    listed.truncate(asked.count);
    let last = listed.last().filter(|_| has_more && is_by_place);
    let next = last.map(|last| Continuation { at: last.sort_date, article: last.number });
    Ok(Selected { listed, next })
}

/// Number of articles in the selection, including those before the requested page.
pub async fn total(
    library: &dyn Library,
    subscription_view: &Arc<SubscriptionView>,
    folders: &Folders,
    asked: &Selection,
    now: Millis,
) -> Result<u64, LibraryError> {
    let asked = Selection { from: None, order: Order::default(), ..asked.clone() };
    let Some(wanted) =
        ResolvedSelection::of(library, subscription_view, folders, &asked, now).await?
    else {
        return Ok(0);
    };
    match wanted.known_total(subscription_view, &asked) {
        Some(total) => Ok(total),
        None => Ok(wanted.list(library, &asked, MAX_LISTED).await?.len() as u64),
    }
}

/// Selection in terms of the library.
struct ResolvedSelection {
    feeds: Vec<FeedNumber>,
    above: Option<ArticleNumber>,
    below: Option<ArticleNumber>,
    /// Required read states, if the selection has no other conditions on marks.
    read: Option<Vec<bool>>,
    /// Lower bound of the sort date.
    since: Option<Millis>,
    /// If present, only these articles are candidates.
    only: Option<BTreeSet<ArticleNumber>>,
    keep: Arc<dyn Fn(&ListEntry) -> bool + Send + Sync>,
}

/// A condition on an article.
enum Condition {
    Read(bool),
    Starred,
    Tagged(Option<Tag>),
    Since(Millis),
}

impl Condition {
    fn holds(&self, feed: &FeedView, listed: &ListEntry) -> bool {
        let number = listed.number;
        match self {
            Self::Read(is_read) => feed.marks.is_read(listed) == *is_read,
            Self::Starred => feed.marks.is_starred(number),
            Self::Tagged(Some(tag)) => feed.marks.tags(number).any(|known| known == tag),
            Self::Tagged(None) => feed.marks.tags(number).next().is_some(),
            Self::Since(since) => listed.sort_date >= *since,
        }
    }

    /// Returns the articles of a feed that satisfy the condition, if it can enumerate them.
    fn numbers(&self, feed: &FeedView) -> Option<BTreeSet<ArticleNumber>> {
        Some(match self {
            Self::Starred => feed.marks.starred().collect(),
            Self::Tagged(Some(tag)) => feed.marks.tagged(tag).collect(),
            Self::Tagged(None) => feed.marks.all_tagged().collect(),
            Self::Read(_) | Self::Since(_) => return None,
        })
    }
}

/// Streams as feeds and conditions.
struct Streams<'a> {
    subscription_view: &'a SubscriptionView,
    folders: &'a Folders,
    feeds: BTreeSet<FeedNumber>,
    so: Vec<Condition>,
    not: Vec<Condition>,
    fresh_since: Millis,
}

impl Streams<'_> {
    /// Restricts the selection to a stream; returns `false` if nothing remains.
    fn within(&mut self, stream: &Stream) -> bool {
        match stream {
            Stream::All => true,
            Stream::Nothing => false,
            Stream::Feed(_) | Stream::Folder(_) => {
                let inside = self.inside(stream);
                self.feeds.retain(|feed| inside.contains(feed));
                !self.feeds.is_empty()
            }
            Stream::Label(label) => match (self.folders.find_by_name(label), label.tag()) {
                (Some(_), _) => {
                    let inside = self.inside(stream);
                    self.feeds.retain(|feed| inside.contains(feed));
                    true
                }
                (None, Ok(tag)) => self.condition(Condition::Tagged(Some(tag))),
                (None, Err(_)) => false,
            },
            Stream::Tag(tag) => self.condition(Condition::Tagged(Some(tag.clone()))),
            Stream::NumberedTag(number) => match self.tag(*number) {
                Some(tag) => self.condition(Condition::Tagged(Some(tag))),
                None => false,
            },
            Stream::Read => self.condition(Condition::Read(true)),
            Stream::Unread => self.condition(Condition::Read(false)),
            Stream::Starred => self.condition(Condition::Starred),
            Stream::Tagged => self.condition(Condition::Tagged(None)),
            Stream::Fresh => {
                let since = Condition::Since(self.fresh_since);
                self.condition(Condition::Read(false)) && self.condition(since)
            }
        }
    }

    fn condition(&mut self, condition: Condition) -> bool {
        self.so.push(condition);
        true
    }

    /// Excludes a stream; returns `false` if nothing remains.
    fn without(&mut self, stream: &Stream) -> bool {
        let not = match stream {
            Stream::All => return false,
            Stream::Nothing => return true,
            Stream::Read => Condition::Read(true),
            Stream::Unread => Condition::Read(false),
            Stream::Starred => Condition::Starred,
            Stream::Tag(tag) => Condition::Tagged(Some(tag.clone())),
            Stream::NumberedTag(number) => match self.tag(*number) {
                Some(tag) => Condition::Tagged(Some(tag)),
                None => return true,
            },
            Stream::Tagged => Condition::Tagged(None),
            Stream::Fresh => Condition::Since(self.fresh_since),
            Stream::Label(label) if self.folders.find_by_name(label).is_none() => match label.tag()
            {
                Ok(tag) => Condition::Tagged(Some(tag)),
                Err(_) => return true,
            },
            Stream::Feed(_) | Stream::Folder(_) | Stream::Label(_) => {
                let inside = self.inside(stream);
                self.feeds.retain(|feed| !inside.contains(feed));
                return !self.feeds.is_empty();
            }
        };
        self.not.push(not);
        true
    }

    fn tag(&self, number: TagNumber) -> Option<Tag> {
        Tags::new(self.subscription_view.tags()).find_by_number(number).cloned()
    }

    /// Feeds of a stream that consists of feeds.
    fn inside(&self, stream: &Stream) -> BTreeSet<FeedNumber> {
        let is_in = |feed: &&FeedView| match stream {
            Stream::Feed(FeedName::Number(number)) => feed.number() == *number,
            Stream::Feed(FeedName::Address(address)) => feed.subscription.address == *address,
            Stream::Folder(FolderNumber::TOP) => feed.subscription.folder.names().is_empty(),
            Stream::Folder(number) => {
                self.folders.find_by_number(*number) == Some(&feed.subscription.folder)
            }
            Stream::Label(label) => {
                self.folders.find_by_name(label) == Some(&feed.subscription.folder)
            }
            _ => false,
        };
        self.subscription_view.feeds().iter().filter(is_in).map(FeedView::number).collect()
    }
}

impl ResolvedSelection {
    /// Returns `None` if the selection is empty.
    async fn of(
        library: &dyn Library,
        subscription_view: &Arc<SubscriptionView>,
        folders: &Folders,
        asked: &Selection,
        now: Millis,
    ) -> Result<Option<Self>, LibraryError> {
        // Starred and tagged articles of former subscriptions can be selected, too.
        let mut asked_for = std::iter::once(&asked.stream).chain(&asked.include);
        let has_former = asked_for.any(|stream| holds_starred_or_tagged_alone(stream, folders));
        let former = subscription_view.former().filter(|_| has_former);
        let mut streams = Streams {
            subscription_view,
            folders,
            feeds: subscription_view.feeds().iter().chain(former).map(FeedView::number).collect(),
            so: Vec::new(),
            not: Vec::new(),
            fresh_since: now.before(FRESH),
        };
        let mut streams_within = std::iter::once(&asked.stream).chain(&asked.include);
        let is_possible = streams_within.all(|stream| streams.within(stream))
            && asked.exclude.iter().all(|stream| streams.without(stream));
        if !is_possible {
            return Ok(None);
        }
        let Streams { feeds, so, not, .. } = streams;
        let mut only: Option<BTreeSet<ArticleNumber>> = None;
        let shelved = || feeds.iter().filter_map(|feed| subscription_view.any(*feed));
        for condition in &so {
            let numbers: Option<Vec<_>> = shelved().map(|feed| condition.numbers(feed)).collect();
            if let Some(numbers) = numbers {
                let numbers = numbers.into_iter().flatten().collect();
                only = Some(both(only, numbers));
            }
        }
        if let Some(words) = &asked.search {
            let feeds = feeds.iter().copied().collect();
            let listing = Listing { feeds, most: MAX_SEARCH_RESULTS, ..Listing::default() };
            let found = library.search(words, listing).await?;
            let found = found.iter().map(|listed| listed.number).collect();
            only = Some(both(only, found));
        }
        // Article numbers ascend in the order of arrival.
        let above = match asked.received.from {
            Some(from) => library.before(from).await?.max(asked.above),
            None => asked.above,
        };
        let below = match asked.received.to {
            Some(to) => {
                let last = library.before(to.after(1)).await?;
                let first = ArticleNumber::new(last.map_or(1, |last| last.get() + 1));
                Some(asked.below.map_or(first, |below| below.min(first)))
            }
            None => asked.below,
        };
        // Articles that arrived since then count as changed, independent of their sort date.
        let arrived = match asked.changed.from {
            Some(from) => library.before(from).await?,
            None => None,
        };
        let is_open = asked.changed.to.is_none();
        let has_arrived = move |listed: &ListEntry| {
            is_open && arrived.is_none_or(|arrived| listed.number > arrived)
        };
        let since = so.iter().filter_map(|condition| match condition {
            Condition::Since(since) => Some(*since),
            _ => None,
        });
        let since = since.max();
        let needs_unread = so.iter().any(|condition| matches!(condition, Condition::Read(false)));
        let has_any = |feed: &FeedNumber| {
            !needs_unread || subscription_view.any(*feed).is_some_and(|feed| feed.unread > 0)
        };
        let feeds = feeds.into_iter().filter(has_any).collect();
        let (held, changed) = (Arc::clone(subscription_view), asked.changed);
        let read = so.iter().map(|condition| match condition {
            Condition::Read(is_read) => Some(*is_read),
            _ => None,
        });
        let hides = subscription_view.hidden().next().is_some();
        let has_more = hides || !not.is_empty() || changed != Span::default();
        let read = read.collect::<Option<Vec<_>>>().filter(|_| !has_more);
        let keep = Arc::new(move |listed: &ListEntry| {
            let Some(feed) = held.feed_of(listed.feed, listed.number) else { return false };
            !feed.marks.is_left_out(listed.number)
                && so.iter().all(|condition| condition.holds(feed, listed))
                && !not.iter().any(|condition| condition.holds(feed, listed))
                && (changed == Span::default()
                    || has_arrived(listed)
                    || within(changed, feed.marks.changed(listed)))
        });
        Ok(Some(Self { feeds, above, below, read, since, only, keep }))
    }

    /// Number of articles, if the view has it.
    fn known_total(&self, subscription_view: &SubscriptionView, asked: &Selection) -> Option<u64> {
        let is_bounded = self.above.is_some() || self.below.is_some() || self.only.is_some();
        let read = self.read.as_ref()?;
        if is_bounded || asked.published != Span::default() {
            return None;
        }
        let shelved = self.feeds.iter().filter_map(|feed| subscription_view.feed(*feed));
        let all: u64 = shelved.clone().map(|feed| feed.kept.articles).sum();
        let unread: u64 = shelved.map(|feed| feed.unread).sum();
        Some(match (read.contains(&true), read.contains(&false)) {
            (false, false) => all,
            (false, true) => unread,
            (true, false) => all.saturating_sub(unread),
            (true, true) => 0,
        })
    }

    /// Lists the first articles, up to `most`.
    async fn list(
        &self,
        library: &dyn Library,
        asked: &Selection,
        most: usize,
    ) -> Result<Vec<ListEntry>, LibraryError> {
        let from = asked.from.map(|from| ListPosition { sort_date: from.at, number: from.article });
        let Span { from: oldest, to: newest } = asked.published;
        let by_number = asked.order == Order::Number;
        let Some(only) = &self.only else {
            let listing = Listing {
                feeds: self.feeds.clone(),
                by_number,
                oldest_first: !asked.descending,
                from,
                above: self.above,
                below: self.below,
                newer_than: oldest
                    .max(self.since)
                    .filter(|oldest| oldest.get() > 0)
                    .map(|oldest| oldest.before(1)),
                older_than: newest.map(|newest| newest.after(1)),
                most,
                keep: Some(Arc::clone(&self.keep)),
            };
            return library.list(listing).await;
        };
        let mut found = Vec::new();
        let numbers: Vec<_> = only.iter().copied().collect();
        for numbers in numbers.chunks(MAX_LOADED) {
            found.extend(library.named(numbers).await?.into_iter().map(|named| named.listed));
        }
        let feeds: BTreeSet<_> = self.feeds.iter().collect();
        found.retain(|listed| {
            let is_behind = from.is_none_or(|from| match asked.descending {
                true => listed.place() < from,
                false => listed.place() > from,
            });
            let is_within = within(asked.published, listed.sort_date)
                && self.above.is_none_or(|above| listed.number > above)
                && self.below.is_none_or(|below| listed.number < below);
            is_behind && is_within && feeds.contains(&listed.feed) && (self.keep)(listed)
        });
        let sort_date =
            |listed: &ListEntry| if by_number { Millis::default() } else { listed.sort_date };
        found.sort_unstable_by_key(|listed| (sort_date(listed), listed.number));
        if asked.descending {
            found.reverse();
        }
        found.truncate(most);
        Ok(found)
    }
}

/// Whether all articles of a stream are starred or tagged.
fn holds_starred_or_tagged_alone(stream: &Stream, folders: &Folders) -> bool {
    match stream {
        Stream::Starred | Stream::Tag(_) | Stream::NumberedTag(_) | Stream::Tagged => true,
        Stream::Label(label) => folders.find_by_name(label).is_none(),
        _ => false,
    }
}

/// Intersects two sets; a missing one does not restrict.
fn both(
    known: Option<BTreeSet<ArticleNumber>>,
    more: BTreeSet<ArticleNumber>,
) -> BTreeSet<ArticleNumber> {
    match known {
        Some(known) => &known & &more,
        None => more,
    }
}

fn within(span: Span, at: Millis) -> bool {
    span.from.is_none_or(|from| at >= from) && span.to.is_none_or(|to| at <= to)
}

/// Sorts articles by another property; equal ones keep their order.
async fn order(
    library: &dyn Library,
    subscription_view: &SubscriptionView,
    listed: &mut Vec<ListEntry>,
    asked: &Selection,
) -> Result<(), LibraryError> {
    let feed = |listed: &ListEntry| subscription_view.any(listed.feed);
    let changed = |listed: &ListEntry| {
        feed(listed).map_or(listed.sort_date, |feed| feed.marks.changed(listed))
    };
    match asked.order {
        Order::Received | Order::Published | Order::Number => {}
        Order::Changed => listed.sort_by_key(|listed| (changed(listed), listed.number)),
        Order::Status => listed.sort_by_key(|listed| subscription_view.is_read(listed)),
        Order::FeedTitle => {
            listed.sort_by_cached_key(|listed| feed(listed).map(|f| f.title().to_lowercase()))
        }
        Order::Folder | Order::FolderName => {
            listed.sort_by_cached_key(|listed| feed(listed).and_then(FeedView::folder));
        }
        Order::Title | Order::Author => {
            listed.truncate(MAX_SORTED);
            let mut said = BTreeMap::new();
            let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
            for numbers in numbers.chunks(MAX_LOADED) {
                for article in library.articles(numbers).await? {
                    let text = match asked.order {
                        Order::Title => article.text.title,
                        _ => article.text.author,
                    };
                    said.insert(article.number, text.unwrap_or_default().to_lowercase());
                }
            }
            listed.sort_by(|one, other| said.get(&one.number).cmp(&said.get(&other.number)));
        }
    }
    if asked.descending {
        listed.reverse();
    }
    Ok(())
}
