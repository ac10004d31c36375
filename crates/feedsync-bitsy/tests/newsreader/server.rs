//! A small server for one user, with articles in two feeds. The first feed is in a folder.

use std::collections::BTreeMap;

use feedsync_bitsy::newsreader::Interface;
use feedsync_log::Millis;
use feedsync_reader_api::{
    Article, ArticleNumber, FeedName, FeedNumber, Folders, RawRequest, RawResponse, Selection,
    Stream, Subscription, Tags, google, miniflux, nextcloud, ttrss,
};
use feedsync_reading_state::Folder;

/// State of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) articles: BTreeMap<i64, Article>,
    pub(crate) name: String,
    pub(crate) password: String,
    /// The only valid session.
    pub(crate) session: String,
    /// Number of changes.
    pub(crate) writes: usize,
}

pub(crate) fn article(number: i64, feed: i64) -> Article {
    Article {
        number: ArticleNumber::new(number),
        feed: FeedNumber::new(feed),
        name: format!("urn:x:{number}").parse().unwrap(),
        title: format!("Article {number}"),
        address: Some(format!("https://a.example/{number}")),
        author: None,
        published: Millis::new(1_795_330_000_000 + number.cast_unsigned() * 1_000),
        received: Millis::new(1_795_330_000_000 + number.cast_unsigned() * 1_000),
        changed: None,
        content: "<p>What it says</p>".to_owned(),
        enclosures: Vec::new(),
        is_read: false,
        is_starred: false,
        tags: Vec::new(),
    }
}

impl Server {
    pub(crate) fn new(states: &[(bool, bool)]) -> Self {
        let articles = states.iter().enumerate().map(|(place, (is_read, is_starred))| {
            let number = place as i64 + 1;
            let feed = if number % 3 == 0 { 2 } else { 1 };
            let (is_read, is_starred) = (*is_read, *is_starred);
            (number, Article { is_read, is_starred, ..article(number, feed) })
        });
        let articles = articles.collect();
        Self {
            articles,
            name: "anna".to_owned(),
            password: "secret".to_owned(),
            session: "s1".to_owned(),
            writes: 0,
        }
    }

    fn folders() -> Folders {
        Folders::new([&folder()])
    }

    fn feeds(&self) -> Vec<Subscription> {
        let feed = |number: i64| Subscription {
            number: FeedNumber::new(number),
            address: format!("https://a.example/feed/{number}").parse().unwrap(),
            title: format!("Feed {number}"),
            site: None,
            folder: (number == 1).then(|| Self::folders().iter().next().unwrap().clone()),
            icon: None,
            newest: None,
            unread: self.unread(|article| article.feed.get() == number),
            checked: None,
            fault: None,
            fault_count: 0,
        };
        vec![feed(1), feed(2)]
    }

    fn unread(&self, which: impl Fn(&Article) -> bool) -> u64 {
        self.articles.values().filter(|one| !one.is_read && which(one)).count() as u64
    }

    fn is_in(&self, article: &Article, stream: &Stream) -> bool {
        match stream {
            Stream::All => true,
            Stream::Feed(FeedName::Number(feed)) => article.feed == *feed,
            Stream::Folder(folder) => {
                let is_filed = article.feed.get() == 1;
                let number = Self::folders().iter().next().unwrap().number;
                if *folder == number { is_filed } else { !is_filed && folder.get() == 0 }
            }
            Stream::Label(label) => article.feed.get() == 1 && label.as_str() == "News",
            Stream::Read => article.is_read,
            Stream::Unread => !article.is_read,
            Stream::Starred => article.is_starred,
            _ => false,
        }
    }

    fn select(&self, selection: &Selection) -> Vec<Article> {
        let is_in = |article: &&Article| {
            self.is_in(article, &selection.stream)
                && selection.include.iter().all(|stream| self.is_in(article, stream))
                && !selection.exclude.iter().any(|stream| self.is_in(article, stream))
                && selection.above.is_none_or(|above| article.number > above)
        };
        let mut found: Vec<Article> = self.articles.values().filter(is_in).cloned().collect();
        if selection.descending {
            found.reverse();
        }
        found.truncate(selection.count);
        found
    }

    fn mark(&mut self, marking: &feedsync_reader_api::Marking) {
        self.writes += 1;
        for number in &marking.articles {
            let Some(article) = self.articles.get_mut(&number.get()) else { continue };
            article.is_read = marking.read.unwrap_or(article.is_read);
            article.is_starred = marking.starred.unwrap_or(article.is_starred);
            article.tags.retain(|tag| !marking.untag.contains(tag) && !marking.tag.contains(tag));
            article.tags.extend(marking.tag.iter().cloned());
        }
    }

    fn read_all(&mut self, stream: &Stream) {
        self.writes += 1;
        let meant: Vec<i64> = self
            .articles
            .values()
            .filter(|one| self.is_in(one, stream))
            .map(|one| one.number.get())
            .collect();
        meant.iter().for_each(|number| self.articles.get_mut(number).unwrap().is_read = true);
    }

    fn toggle_star(&mut self, number: ArticleNumber) {
        self.writes += 1;
        if let Some(article) = self.articles.get_mut(&number.get()) {
            article.is_starred = !article.is_starred;
        }
    }

    /// Responds to a request. `shown` is the value of the credentials header.
    pub(crate) fn answer(
        &mut self,
        interface: Interface,
        requested: &RawRequest<'_>,
        shown: &str,
    ) -> RawResponse {
        match interface {
            Interface::Google => self.google(requested, shown),
            Interface::Miniflux => match shown == self.basic() {
                true => self.miniflux(requested),
                false => miniflux::refuse(401, "who are you?"),
            },
            Interface::Nextcloud => match shown == self.basic() {
                true => self.nextcloud(requested),
                false => nextcloud::refuse(401, "who are you?"),
            },
            // Another server is in front of this one.
            Interface::TinyTinyRss => match shown == self.basic() {
                true => self.ttrss(requested),
                false => RawResponse { status: 401, ..ttrss::done(0) },
            },
        }
    }

    /// Credentials of the user that the server knows.
    pub(crate) fn basic(&self) -> String {
        use base64::Engine as _;
        let pair = format!("{}:{}", self.name, self.password);
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
    }

    fn google(&mut self, requested: &RawRequest<'_>, shown: &str) -> RawResponse {
        use google::Request as Asks;
        let Ok(google::Call { request, token }) = google::read(requested) else {
            return google::refuse(400, "what?");
        };
        if let Asks::SignIn(given) = &request {
            return match given.name == self.name && given.password.as_str() == self.password {
                true => google::signed_in(&self.session, given.is_json),
                false => google::wrong_password(),
            };
        }
        if google::authorization(shown) != Some(&self.session) {
            return google::refuse(401, "who are you?");
        }
        let token = token.as_ref().map(feedsync_reader_api::Secret::as_str);
        match request {
            Asks::Token => google::token("t"),
            Asks::Mark(_) | Asks::MarkAllRead { .. } if token != Some("t") => {
                google::refuse(401, "no token")
            }
            Asks::Mark(marking) => {
                self.mark(&marking);
                google::done()
            }
            Asks::MarkAllRead { stream, .. } => {
                self.read_all(&stream);
                google::done()
            }
            Asks::Subscriptions => google::subscriptions(&self.feeds()),
            Asks::UnreadCounts => google::unread_counts(&self.feeds()),
            Asks::Contents(list) => {
                let found = self.select(&list.selection);
                google::contents(&list.stream, "", &found, &self.feeds(), None)
            }
            Asks::Atom(list) => {
                google::atom(&list.stream, "", &self.select(&list.selection), &self.feeds(), None)
            }
            Asks::Items { articles, by_liferea } => {
                let found = articles.iter().filter_map(|it| self.articles.get(&it.get()).cloned());
                google::items(&found.collect::<Vec<_>>(), &self.feeds(), by_liferea)
            }
            Asks::Ids(selection) => {
                let found = self.select(&selection);
                google::ids(found.iter().map(|one| (one.number, one.received)), None)
            }
            _ => google::refuse(404, "no"),
        }
    }

    fn miniflux(&mut self, requested: &RawRequest<'_>) -> RawResponse {
        use miniflux::Request as Asks;
        match miniflux::read(requested) {
            Ok(Asks::Mark(marking)) => self.mark(&marking),
            Ok(Asks::ToggleStar(article)) => self.toggle_star(article),
            Ok(Asks::MarkAllRead { .. }) => self.read_all(&Stream::All),
            Ok(Asks::MarkFeedRead(feed)) => self.read_all(&Stream::Feed(FeedName::Number(feed))),
            Ok(Asks::MarkCategoryRead(folder)) => self.read_all(&Stream::Folder(folder)),
            Ok(Asks::Feeds) => return miniflux::feeds(1, &self.feeds()),
            Ok(Asks::Categories { .. }) => {
                return miniflux::categories(1, &Self::folders(), Some(&self.feeds()));
            }
            Ok(Asks::Counters) => {
                let read = |feed: &Subscription| {
                    self.articles
                        .values()
                        .filter(|one| one.is_read && one.feed == feed.number)
                        .count() as u64
                };
                let feeds = self.feeds();
                return miniflux::counters(
                    feeds.iter().map(|feed| (feed.number, read(feed), feed.unread)),
                );
            }
            Ok(Asks::Entries(selection)) => {
                let found = self.select(&selection);
                return miniflux::entries(1, found.len() as u64, &found, &self.feeds());
            }
            Ok(Asks::Entry(number)) => {
                return match self.articles.get(&number.get()) {
                    Some(article) => miniflux::entry(1, article, &self.feeds()),
                    None => miniflux::unknown(),
                };
            }
            _ => return miniflux::refuse(400, "what?"),
        }
        miniflux::done()
    }

    fn nextcloud(&mut self, requested: &RawRequest<'_>) -> RawResponse {
        use nextcloud::Request as Asks;
        match nextcloud::read(requested) {
            Ok(Asks::Mark(marking)) => self.mark(&marking),
            Ok(Asks::Star { items, is_starred }) => {
                self.writes += 1;
                for item in items {
                    let is_it = |one: &&mut Article| {
                        let names = [one.name.as_str().to_owned(), nextcloud::guid_hash(&one.name)];
                        one.feed == item.feed && item.names.iter().any(|name| names.contains(name))
                    };
                    let found = self.articles.values_mut().find(is_it);
                    found.into_iter().for_each(|one| one.is_starred = is_starred);
                }
            }
            Ok(Asks::MarkRead { stream, .. }) => self.read_all(&stream),
            Ok(Asks::Feeds) => {
                let starred = self.articles.values().filter(|one| one.is_starred).count() as u64;
                return nextcloud::feeds(&self.feeds(), starred, None);
            }
            Ok(Asks::Items(selection)) => return nextcloud::items(&self.select(&selection)),
            _ => return nextcloud::refuse(400, "what?"),
        }
        nextcloud::done()
    }

    fn ttrss(&mut self, requested: &RawRequest<'_>) -> RawResponse {
        use ttrss::{Refusal, Request as Asks};
        let Ok(ttrss::Call { seq, session, request: Ok(request) }) = ttrss::read(requested) else {
            return ttrss::refuse(0, Refusal::IncorrectUsage, None);
        };
        if let Asks::Login { user, password } = &request {
            return match *user == self.name && password.as_str() == self.password {
                true => ttrss::logged_in(seq, &self.session, "", 2),
                false => ttrss::refuse(seq, Refusal::LoginError, None),
            };
        }
        if session.as_ref().map(feedsync_reader_api::Secret::as_str) != Some(&self.session) {
            return ttrss::refuse(seq, Refusal::NotLoggedIn, None);
        }
        let (feeds, tags) = (self.feeds(), Tags::new([]));
        match request {
            Asks::Mark(marking) => {
                self.mark(&marking);
                ttrss::updated(seq, marking.articles.len())
            }
            Asks::Catchup { stream, .. } => {
                self.read_all(&stream);
                ttrss::done(seq)
            }
            Asks::Feeds(requested) => {
                ttrss::feeds(seq, &requested, &feeds, &ttrss::Unread::default())
            }
            Asks::Counters => {
                ttrss::counters(seq, &feeds, &Self::folders(), &ttrss::Unread::default())
            }
            Asks::Unread(stream) => ttrss::unread(seq, self.unread(|one| self.is_in(one, &stream))),
            Asks::Headlines(requested) => {
                ttrss::headlines(seq, &requested, &self.select(&requested.selection), &feeds, &tags)
            }
            Asks::CompactHeadlines(selection) => {
                let found = self.select(&selection);
                ttrss::compact_headlines(seq, found.iter().map(|one| one.number))
            }
            _ => ttrss::refuse(seq, Refusal::UnknownMethod, None),
        }
    }
}

fn folder() -> Folder {
    Folder::new(vec!["News".parse().unwrap()]).unwrap()
}
