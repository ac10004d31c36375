//! Model of the interface: plain code over plain values.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use feedsync_aggregator::{
    ArticleFilter, DueFeed, FeedHead, ListEntry, ListPosition, MAX_CLAIM, MAX_HOLD, MAX_LATENESS,
    MAX_PAUSE, NamedArticle, NewArticle, Poll, PollChanges, PollState, ReaderName, Retention,
    Selection, StoredArticle, StoredFeed,
};
use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::{ArticleId, FeedAddress, IdentificationState};

#[derive(Debug, Default)]
pub(crate) struct Model {
    subscriptions: BTreeMap<ReaderName, BTreeSet<FeedAddress>>,
    feeds: BTreeMap<FeedNumber, Feed>,
    last_feed: i64,
    last_article: i64,
}

#[derive(Debug)]
struct Feed {
    address: FeedAddress,
    state: PollState,
    claimed: Option<Millis>,
    /// Time at which the last reader left.
    abandoned: Option<Millis>,
    head: FeedHead,
    identification_state: IdentificationState,
    articles: BTreeMap<ArticleId, Article>,
}

#[derive(Debug)]
struct Article {
    kept: StoredArticle,
    plain: String,
    is_present: bool,
}

impl Feed {
    fn is_polled(&self, now: Millis) -> bool {
        self.claimed.is_some_and(|until| until > now && until <= after(now, MAX_CLAIM))
    }

    /// Makes the feed due if its times were written while the clock was ahead.
    fn make_due_if_future(&mut self, now: Millis) {
        let PollState { due, checked, gone, .. } = self.state;
        let is_wrong = checked.is_some_and(|checked| checked > now)
            || (checked.is_none() && due > after(now, MAX_HOLD))
            || self.claimed.is_some_and(|until| until > after(now, MAX_CLAIM))
            || (due > after(now, MAX_PAUSE) && due < Millis::MAX);
        if is_wrong && !gone && due > now && !self.is_polled(now) {
            self.state.due = now;
            self.claimed = None;
        }
    }
}

fn after(now: Millis, pause: Duration) -> Millis {
    now.after(pause.as_millis() as u64)
}

fn listed(article: &StoredArticle) -> ListEntry {
    let StoredArticle { number, feed, published, sort_date, .. } = *article;
    ListEntry { number, feed, published, sort_date }
}

fn named(article: &StoredArticle) -> NamedArticle {
    NamedArticle { name: article.name.clone(), listed: listed(article) }
}

/// Words of an ASCII text.
fn tokens(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

impl Model {
    fn is_read(&self, feed: &Feed) -> bool {
        self.subscriptions.values().any(|feeds| feeds.contains(&feed.address))
    }

    pub(crate) fn set_subscriptions(
        &mut self,
        reader: &ReaderName,
        addresses: &BTreeSet<FeedAddress>,
        now: Millis,
    ) {
        for address in addresses {
            if !self.feeds.values().any(|feed| feed.address == *address) {
                self.last_feed += 1;
                let feed = Feed {
                    address: address.clone(),
                    state: PollState { due: now, ..PollState::default() },
                    claimed: None,
                    abandoned: Some(now),
                    head: FeedHead::default(),
                    identification_state: IdentificationState::default(),
                    articles: BTreeMap::new(),
                };
                self.feeds.insert(FeedNumber::new(self.last_feed), feed);
            }
        }
        let unread: Vec<FeedNumber> = self
            .feeds
            .iter()
            .filter(|(_, feed)| addresses.contains(&feed.address) && !self.is_read(feed))
            .map(|(number, _)| *number)
            .collect();
        for number in unread {
            let feed = self.feeds.get_mut(&number).unwrap();
            if !feed.is_polled(now) {
                feed.state.due = feed.state.due.min(now);
            }
        }
        self.subscriptions.insert(reader.clone(), addresses.clone());
        self.subscriptions.retain(|_, addresses| !addresses.is_empty());
        let read: BTreeSet<_> = self.subscriptions.values().flatten().cloned().collect();
        for feed in self.feeds.values_mut() {
            feed.abandoned = match feed.abandoned {
                _ if read.contains(&feed.address) => None,
                since => since.or(Some(now)),
            };
        }
    }

    pub(crate) fn readers(&self) -> Vec<ReaderName> {
        self.subscriptions.keys().cloned().collect()
    }

    pub(crate) fn subscriptions(&self, reader: &ReaderName) -> Vec<StoredFeed> {
        let addresses = self.subscriptions.get(reader).into_iter().flatten();
        addresses.map(|address| self.feed_at(address).unwrap()).collect()
    }

    pub(crate) fn feed(&self, number: FeedNumber) -> Option<StoredFeed> {
        let feed = self.feeds.get(&number)?;
        Some(StoredFeed {
            number,
            address: feed.address.clone(),
            state: feed.state.clone(),
            head: feed.head.clone(),
            articles: feed.articles.len() as u64,
            newest: feed.articles.values().map(|article| article.kept.sort_date).max(),
        })
    }

    pub(crate) fn feed_at(&self, address: &FeedAddress) -> Option<StoredFeed> {
        self.feeds.keys().filter_map(|number| self.feed(*number)).find(|it| it.address == *address)
    }

    pub(crate) fn claim(&mut self, now: Millis, until: Millis, most: usize) -> Vec<DueFeed> {
        let due = |(number, feed): (&FeedNumber, &Feed)| DueFeed {
            number: *number,
            address: feed.address.clone(),
            state: feed.state.clone(),
        };
        let read = self.feeds.iter().filter(|(_, feed)| self.is_read(feed));
        let read: Vec<FeedNumber> = read.map(|(number, _)| *number).collect();
        for number in read {
            self.feeds.get_mut(&number).unwrap().make_due_if_future(now);
        }
        let mut claimed: Vec<DueFeed> = self
            .feeds
            .iter()
            .filter(|(_, feed)| feed.state.due <= now && self.is_read(feed))
            .map(due)
            .collect();
        claimed.sort_by_key(|feed| (feed.state.due, feed.number));
        claimed.truncate(most);
        for DueFeed { number, .. } in &claimed {
            let feed = self.feeds.get_mut(number).unwrap();
            feed.state.due = until;
            feed.claimed = Some(until);
        }
        claimed
    }

    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.feeds.values().filter(|feed| self.is_read(feed)).map(|feed| feed.state.due).min()
    }

    pub(crate) fn make_due(&mut self, feeds: &[FeedNumber], now: Millis) {
        for (_, feed) in self.feeds.iter_mut().filter(|(number, _)| feeds.contains(number)) {
            if !feed.is_polled(now) {
                feed.state.due = feed.state.due.min(now);
            }
        }
    }

    pub(crate) fn identification_state(&self, feed: FeedNumber) -> IdentificationState {
        self.feeds
            .get(&feed)
            .map_or_else(IdentificationState::default, |feed| feed.identification_state.clone())
    }

    /// Returns `None` if there is no such feed.
    pub(crate) fn settle(
        &mut self,
        number: FeedNumber,
        poll: &Poll,
        now: Millis,
    ) -> Option<PollChanges> {
        let feed = self.feeds.get_mut(&number)?;
        feed.state = poll.state.clone();
        feed.claimed = None;
        let mut settled = PollChanges::default();
        let Some(document) = &poll.document else { return Some(settled) };
        let told = |name: &ArticleId| document.articles.iter().any(|article| article.name == *name);
        feed.articles.iter_mut().for_each(|(name, article)| article.is_present = told(name));
        feed.head = document.head.clone();
        feed.identification_state = document.identification_state.clone();
        let newest = feed.articles.values().map(|article| article.kept.sort_date).max();
        let late_at_most = MAX_LATENESS.as_millis() as u64;
        let mut new: Vec<(Millis, Reverse<usize>, &NewArticle)> = Vec::new();
        let mut met = BTreeSet::new();
        for (place, first) in document.articles.iter().enumerate() {
            if !met.insert(&first.name) {
                continue;
            }
            let same = document.articles.iter().filter(|other| other.name == first.name);
            let dates = |article: &NewArticle| (article.published, article.text.updated);
            // `max_by_key` returns the last of several maxima, so the order is reversed.
            let told = same.rev().max_by_key(|article| dates(article)).unwrap();
            match feed.articles.get_mut(&told.name) {
                None => {
                    let dated = told.published.unwrap_or(now).min(now);
                    new.push((dated, Reverse(place), told));
                }
                Some(known) if known.kept.text != told.text || known.plain != told.plain => {
                    known.kept.text = told.text.clone();
                    known.kept.changed = Some(now);
                    known.plain = told.plain.clone();
                    settled.changed.push(known.kept.number);
                }
                Some(_) => {}
            }
        }
        new.sort_by_key(|(dated, place, _)| (*dated, *place));
        for (dated, _, told) in new {
            let sort_date = match newest {
                Some(newest) if dated <= newest && now.get() <= dated.get() + late_at_most => {
                    Millis::new(newest.get() + 1).min(now)
                }
                _ => dated,
            };
            self.last_article += 1;
            let kept = StoredArticle {
                number: ArticleNumber::new(self.last_article),
                feed: number,
                name: told.name.clone(),
                published: told.published.unwrap_or(now),
                received: now,
                sort_date,
                changed: None,
                text: told.text.clone(),
            };
            settled.added.push(kept.number);
            feed.articles.insert(
                told.name.clone(),
                Article { kept, plain: told.plain.clone(), is_present: true },
            );
        }
        Some(settled)
    }

    fn all(&self) -> impl Iterator<Item = &StoredArticle> {
        self.feeds.values().flat_map(|feed| feed.articles.values()).map(|article| &article.kept)
    }

    pub(crate) fn before(&self, received: Millis) -> Option<ArticleNumber> {
        let before = self.all().filter(|article| article.received < received);
        let last = before.max_by_key(|article| (article.received, article.number));
        last.map(|article| article.number)
    }

    pub(crate) fn list(&self, selection: &Selection) -> Vec<ListEntry> {
        let mut list: Vec<ListEntry> = self
            .all()
            .map(listed)
            .filter(|row| selection.feeds.contains(&row.feed))
            .filter(|row| selection.newer_than.is_none_or(|than| row.sort_date > than))
            .filter(|row| selection.older_than.is_none_or(|than| row.sort_date < than))
            .filter(|row| selection.keep.as_ref().is_none_or(|keep| keep(row)))
            .collect();
        let key = |place: ListPosition| {
            let sort_date = if selection.by_number { Millis::default() } else { place.sort_date };
            (sort_date, place.number)
        };
        list.sort_by_key(|row| key(row.place()));
        if !selection.oldest_first {
            list.reverse();
        }
        list.retain(|row| {
            let is_behind = |from| match selection.oldest_first {
                true => key(row.place()) > key(from),
                false => key(row.place()) < key(from),
            };
            selection.from.is_none_or(is_behind)
                && selection.above.is_none_or(|above| row.number > above)
                && selection.below.is_none_or(|below| row.number < below)
        });
        list.truncate(selection.most);
        list
    }

    pub(crate) fn count(
        &self,
        feeds: &[FeedNumber],
        keep: Option<&ArticleFilter>,
    ) -> BTreeMap<FeedNumber, u64> {
        let kept = |feed: &Feed| {
            let rows = feed.articles.values().map(|article| listed(&article.kept));
            rows.filter(|row| keep.is_none_or(|keep| keep(row))).count() as u64
        };
        let counted = self.feeds.iter().filter(|(number, _)| feeds.contains(number));
        counted.map(|(number, feed)| (*number, kept(feed))).collect()
    }

    pub(crate) fn named(&self, numbers: &[ArticleNumber]) -> Vec<NamedArticle> {
        self.articles(numbers).iter().map(named).collect()
    }

    pub(crate) fn numbered(&self, feed: FeedNumber, names: &[ArticleId]) -> Vec<NamedArticle> {
        let articles = self.feeds.get(&feed).map(|feed| &feed.articles);
        let find = |name| Some(named(&articles?.get(name)?.kept));
        names.iter().filter_map(find).collect()
    }

    pub(crate) fn search(&self, words: &str, selection: &Selection) -> Vec<ListEntry> {
        let phrases: Vec<Vec<String>> = words
            .split(|gap: char| gap.is_whitespace() || gap.is_control())
            .map(tokens)
            .filter(|phrase| !phrase.is_empty())
            .collect();
        let says = |article: &Article, phrase: &Vec<String>| {
            let title = tokens(article.kept.text.title.as_deref().unwrap_or_default());
            [title, tokens(&article.plain)]
                .iter()
                .any(|text| text.windows(phrase.len()).any(|window| window == phrase))
        };
        let articles = self.feeds.values().flat_map(|feed| feed.articles.values());
        let found: BTreeSet<ArticleNumber> = articles
            .filter(|article| phrases.iter().all(|phrase| says(article, phrase)))
            .map(|article| article.kept.number)
            .collect();
        let everything = Selection { most: usize::MAX, ..selection.clone() };
        let mut list = self.list(&everything);
        list.retain(|row| !phrases.is_empty() && found.contains(&row.number));
        list.truncate(selection.most);
        list
    }

    pub(crate) fn sweep(&mut self, feed: FeedNumber, keep: &Retention) -> u64 {
        let Some(feed) = self.feeds.get_mut(&feed) else { return 0 };
        let mut places: Vec<ListPosition> =
            feed.articles.values().map(|article| article.kept.place()).collect();
        places.sort();
        let newest: BTreeSet<ListPosition> = places.into_iter().rev().take(keep.newest).collect();
        let before = feed.articles.len();
        feed.articles.retain(|name, article| {
            article.is_present
                || article.kept.received >= keep.received_since
                || newest.contains(&article.kept.place())
                || keep.names.contains(name)
        });
        (before - feed.articles.len()) as u64
    }

    pub(crate) fn delete_abandoned_feeds(&mut self, abandoned_before: Millis) -> u64 {
        let before = self.feeds.len();
        self.feeds.retain(|_, feed| feed.abandoned.is_none_or(|since| since >= abandoned_before));
        (before - self.feeds.len()) as u64
    }

    pub(crate) fn articles(&self, numbers: &[ArticleNumber]) -> Vec<StoredArticle> {
        let find = |number| self.all().find(|article| article.number == number).cloned();
        numbers.iter().filter_map(|number| find(*number)).collect()
    }
}
