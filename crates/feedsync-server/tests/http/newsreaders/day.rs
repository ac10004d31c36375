//! A simulated day of two users with three devices each: two newsreaders that use any dialect, and a device
//! that synchronizes with the log now and then. Whatever they do in any order, all dialects show the state of
//! the model, and in the end so does every device.

use std::collections::BTreeSet;

use feedsync_client::{StoredLog, synchronise_reader};
use feedsync_endpoint::reading_collection;
use feedsync_log::{Device, Millis};
use feedsync_reading_state::{Action, ArticleId, FeedAddress, Replica};
use http::Method;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::truth::{Article, KnownActions, Truth, UserAction};
use super::{Hub, user};
use crate::access::world::basic;

const PEOPLE: [&str; 2] = ["anna", "bob"];
const FEEDS: usize = 3;
const STEPS: usize = 120;
/// Time of the first articles, in milliseconds.
const BEGIN: u64 = 1_763_000_000_000;
const ITEM: &str = "tag:google.com,2005:reader/item/";

fn address(feed: usize) -> FeedAddress {
    format!("https://news{feed}.example/feed").parse().unwrap()
}

/// Runs 8 seeds; one in 1,250 of `FEEDSYNC_SCHEDULES`, or the one in `FEEDSYNC_SEED`.
#[tokio::test]
async fn all_dialects_and_devices_show_what_the_model_says() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match (number("FEEDSYNC_SEED"), number("FEEDSYNC_SCHEDULES")) {
        (Some(seed), _) => seed..seed + 1,
        (None, schedules) => 0..schedules.unwrap_or(10_000) / 1_250,
    };
    for seed in seeds {
        eprintln!("FEEDSYNC_SEED={seed}");
        let mut world = World::new(seed).await;
        for _ in 0..STEPS {
            world.step().await;
        }
        world.settle().await;
    }
}

struct World {
    hub: Hub,
    random: SmallRng,
    people: Vec<Somebody>,
    /// All articles of all feeds, by number minus one.
    articles: Vec<Article>,
}

struct Somebody {
    name: &'static str,
    google: String,
    basic: String,
    token: String,
    truth: Truth,
    /// Actions that the hub knows.
    hub: KnownActions,
    device: Replica,
    device_knows: KnownActions,
}

impl World {
    async fn new(seed: u64) -> Self {
        let hub = Hub::of(&PEOPLE).await;
        let mut people = Vec::new();
        for (place, name) in PEOPLE.into_iter().enumerate() {
            let google = hub.google(name).await;
            let token = google.rsplit_once('=').unwrap().1.to_owned();
            let basic = basic(name, &token);
            let device = Replica::new(Device::minted(seed * 8 + place as u64));
            let (truth, hub, device_knows) = Default::default();
            people.push(Somebody { name, google, basic, token, truth, hub, device, device_knows });
        }
        let random = SmallRng::seed_from_u64(seed);
        let mut world = Self { hub, random, people, articles: Vec::new() };
        for feed in 0..FEEDS {
            for who in 0..PEOPLE.len() {
                world.subscribe(who, feed, true).await;
            }
            world.publish(feed).await;
        }
        world
    }

    async fn step(&mut self) {
        let who = self.random.random_range(0..self.people.len());
        match self.random.random_range(0..20) {
            0 => {
                let feed = self.random.random_range(0..FEEDS);
                self.publish(feed).await;
            }
            1 => {
                let feed = self.random.random_range(0..FEEDS);
                let somebody = &self.people[who];
                let is_in = somebody.truth.is_subscribed(&somebody.hub, feed);
                self.subscribe(who, feed, !is_in).await;
            }
            2 => self.mark_all(who).await,
            3..=8 => self.act_on_device(who),
            9 | 10 => self.synchronise(who).await,
            _ => self.act_in_newsreader(who).await,
        }
        self.check(who).await;
    }

    /// Synchronizes everything, so that all replicas have the same state.
    async fn settle(&mut self) {
        for who in 0..self.people.len() {
            self.synchronise(who).await;
            self.check(who).await;
            let somebody = &self.people[who];
            assert_eq!(somebody.hub, somebody.device_knows, "whoever synchronised knows all");
            for (place, article) in self.articles.iter().enumerate() {
                let (is_read, is_starred) = on_device(&somebody.device, place, *article);
                let known = &somebody.hub;
                assert_eq!(is_read, somebody.truth.is_read(known, place, *article), "{place}");
                assert_eq!(is_starred, somebody.truth.is_starred(known, place), "{place}");
            }
        }
    }

    /// Publishes more articles in a feed, some of them older than its existing ones.
    async fn publish(&mut self, feed: usize) {
        for _ in 0..self.random.random_range(1..4) {
            let shown = BEGIN + self.random.random_range(0..1_000) * 60_000;
            let name = self.articles.len();
            self.articles.push(Article { feed, shown });
            self.hub.publish_one(&address(feed), &format!("n{name}"), shown).await;
        }
    }

    async fn subscribe(&mut self, who: usize, feed: usize, is_in: bool) {
        let somebody = &mut self.people[who];
        let deed = if is_in { "subscribe" } else { "unsubscribe" };
        let body = format!("ac={deed}&s=feed/{}", address(feed).as_str());
        let path = "google/reader/api/0/subscription/edit";
        let (_, answer) = self.hub.ask(Method::POST, path, &somebody.google, body).await;
        assert_eq!(answer, "OK");
        // Fetched articles become known at the next request.
        self.hub.get("miniflux/v1/feeds", &somebody.basic).await;
        somebody.truth.add(&mut somebody.hub, UserAction::Subscribe { feed, is_in });
    }

    /// One article of a feed that is subscribed to, according to the known actions.
    fn pick(&mut self, who: usize, on_device: bool) -> Option<usize> {
        let somebody = &self.people[who];
        let known = if on_device { &somebody.device_knows } else { &somebody.hub };
        let shown = |feed: usize| somebody.truth.is_subscribed(known, feed);
        let places: Vec<_> =
            (0..self.articles.len()).filter(|place| shown(self.articles[*place].feed)).collect();
        if places.is_empty() {
            return None;
        }
        Some(places[self.random.random_range(0..places.len())])
    }

    /// A newsreader changes marks of an article, in one of the dialects.
    async fn act_in_newsreader(&mut self, who: usize) {
        let Some(place) = self.pick(who, false) else { return };
        let (dialect, is_star) = (self.random.random_range(0..4), self.random.random_ratio(1, 3));
        let (article, number) = (self.articles[place], place + 1);
        let somebody = &mut self.people[who];
        let deed = match is_star {
            true => {
                let is_starred = !somebody.truth.is_starred(&somebody.hub, place);
                UserAction::Star { article: place, is_starred }
            }
            false => {
                let is_read = !somebody.truth.is_read(&somebody.hub, place, article);
                UserAction::Mark { article: place, is_read }
            }
        };
        let (word, is) = match deed {
            UserAction::Star { is_starred, .. } => ("starred", is_starred),
            UserAction::Mark { is_read, .. } => ("read", is_read),
            _ => unreachable!("one of two"),
        };
        let hub = &self.hub;
        match dialect {
            0 => {
                let sign = if is { "a" } else { "r" };
                let state = format!("{sign}=user/-/state/com.google/{word}");
                let body = format!("i={ITEM}{number:016x}&{state}&ac=edit&T=x");
                let path = "google/reader/api/0/edit-tag";
                let answer = hub.ask(Method::POST, path, &somebody.google, body).await;
                assert_eq!(answer, (200, "OK".to_owned()));
            }
            1 if is_star => {
                let path = format!("miniflux/v1/entries/{number}/bookmark");
                assert_eq!(hub.ask(Method::PUT, &path, &somebody.basic, "").await.0, 204);
            }
            1 => {
                let status = if is { "read" } else { "unread" };
                let body = json!({"entry_ids": [number], "status": status}).to_string();
                let path = "miniflux/v1/entries";
                assert_eq!(hub.ask(Method::PUT, path, &somebody.basic, body).await.0, 204);
            }
            2 => {
                let items = "nextcloud/index.php/apps/news/api/v1-2/items";
                let feed = hub.number_of(&address(article.feed)).await;
                let path = match (is_star, is) {
                    (true, true) => format!("{items}/{feed}/n{place}/star"),
                    (true, false) => format!("{items}/{feed}/n{place}/unstar"),
                    (false, true) => format!("{items}/{number}/read"),
                    (false, false) => format!("{items}/{number}/unread"),
                };
                assert_eq!(hub.ask(Method::PUT, &path, &somebody.basic, "{}").await.0, 200);
            }
            _ => {
                // This field sets the unread mark.
                let (field, mode) = if is_star { (0, is) } else { (2, !is) };
                let members = json!({"article_ids": number.to_string(), "field": field,
                    "mode": i64::from(mode)});
                somebody.ttrss(hub, "updateArticle", members).await;
            }
        }
        somebody.truth.add(&mut somebody.hub, deed);
    }

    /// A feed, or all feeds, are marked as read in one of the dialects; in one of them up to a moment.
    async fn mark_all(&mut self, who: usize) {
        let dialect = self.random.random_range(0..4);
        let one = self.random.random_bool(0.5).then(|| self.random.random_range(0..FEEDS));
        let until = self.random.random_bool(0.5).then(|| {
            let among = self.random.random_range(0..self.articles.len());
            self.articles[among].shown
        });
        let until = until.filter(|_| dialect == 0);
        let (hub, somebody) = (&self.hub, &mut self.people[who]);
        let feed = match one {
            Some(feed) => Some(hub.number_of(&address(feed)).await),
            None => None,
        };
        match dialect {
            0 => {
                let stream = match one {
                    Some(feed) => format!("feed/{}", address(feed).as_str()),
                    None => "user/-/state/com.google/reading-list".to_owned(),
                };
                let until = until.map(|until| format!("&ts={}", until * 1_000));
                let body = format!("s={stream}{}&T=x", until.unwrap_or_default());
                let path = "google/reader/api/0/mark-all-as-read";
                let answer = hub.ask(Method::POST, path, &somebody.google, body).await;
                assert_eq!(answer, (200, "OK".to_owned()));
            }
            1 => {
                let path = match feed {
                    Some(feed) => format!("miniflux/v1/feeds/{feed}/mark-all-as-read"),
                    None => "miniflux/v1/users/1/mark-all-as-read".to_owned(),
                };
                let status = hub.ask(Method::PUT, &path, &somebody.basic, "").await.0;
                // Feeds without a subscription do not exist for the user.
                assert!(status == 204 || status == 404, "{status}");
            }
            2 => {
                let path = match feed {
                    Some(feed) => format!("feeds/{feed}/read"),
                    None => "items/read".to_owned(),
                };
                let path = format!("nextcloud/index.php/apps/news/api/v1-2/{path}");
                let body = json!({"newestItemId": i64::MAX}).to_string();
                let status = hub.ask(Method::PUT, &path, &somebody.basic, body).await.0;
                assert!(status == 200 || status == 404, "{status}");
            }
            _ => {
                let feed = feed.unwrap_or(-4);
                somebody.ttrss(hub, "catchupFeed", json!({"feed_id": feed})).await;
            }
        }
        for feed in 0..FEEDS {
            let is_meant = one.is_none_or(|one| one == feed);
            let of_feed = self.articles.iter().filter(|article| article.feed == feed);
            let newest = of_feed.map(|article| article.shown).max();
            if let Some(newest) = newest
                && is_meant
                && somebody.truth.is_subscribed(&somebody.hub, feed)
            {
                let shown = until.unwrap_or(newest).min(newest);
                somebody.truth.add(&mut somebody.hub, UserAction::UpTo { feed, shown });
            }
        }
    }

    /// The device that synchronizes now and then changes marks of an article that it knows.
    fn act_on_device(&mut self, who: usize) {
        let Some(place) = self.pick(who, true) else { return };
        let (is_star, is_all) = (self.random.random_ratio(1, 3), self.random.random_ratio(1, 12));
        let (article, somebody) = (self.articles[place], &mut self.people[who]);
        let known = &somebody.device_knows;
        let at = Millis::new(article.shown);
        let (deed, action) = if is_all {
            let deed = UserAction::UpTo { feed: article.feed, shown: article.shown };
            (deed, Action::ReadUpTo { at })
        } else if is_star {
            let is_starred = !somebody.truth.is_starred(known, place);
            let article = named(place);
            let action = match is_starred {
                true => Action::Star { article },
                false => Action::Unstar { article },
            };
            (UserAction::Star { article: place, is_starred }, action)
        } else {
            let is_read = !somebody.truth.is_read(known, place, article);
            let (article, at) = (named(place), Some(at));
            let action = match is_read {
                true => Action::Read { article, at },
                false => Action::Unread { article, at },
            };
            (UserAction::Mark { article: place, is_read }, action)
        };
        let now = self.hub.now();
        assert!(somebody.device.act(&address(article.feed), &action, now), "{deed:?} is news");
        somebody.truth.add(&mut somebody.device_knows, deed);
    }

    async fn synchronise(&mut self, who: usize) {
        let somebody = &mut self.people[who];
        let collection = reading_collection(Some(&user(somebody.name)));
        let log = StoredLog::new(self.hub.endpoint.clone(), collection, 1 << 30);
        let chance = self.random.random();
        synchronise_reader(&mut somebody.device, &log, &move || chance).await.unwrap();
        somebody.hub.extend(&somebody.device_knows);
        somebody.device_knows.extend(&somebody.hub);
    }

    /// All dialects show a user the state of the model.
    async fn check(&self, who: usize) {
        let (somebody, hub) = (&self.people[who], &self.hub);
        let (mut unread, mut starred) = (BTreeSet::new(), BTreeSet::new());
        for (place, article) in self.articles.iter().enumerate() {
            let is_subscribed = somebody.truth.is_subscribed(&somebody.hub, article.feed);
            if is_subscribed && !somebody.truth.is_read(&somebody.hub, place, *article) {
                unread.insert(place as u64 + 1);
            }
            // A star keeps an article accessible after the subscription has ended.
            if somebody.truth.is_starred(&somebody.hub, place) {
                starred.insert(place as u64 + 1);
            }
        }
        for is_star in [false, true] {
            let expected = if is_star { &starred } else { &unread };
            for (dialect, shown) in somebody.shown(hub, is_star).await {
                assert_eq!(&shown, expected, "{dialect} for {}", somebody.name);
            }
        }
        let count = unread.len() as u64;
        assert_eq!(hub.unread(somebody.name, &somebody.google).await, [count; 4]);
    }
}

impl Somebody {
    /// Response of Tiny Tiny RSS.
    async fn ttrss(&self, hub: &Hub, operation: &str, mut members: Value) -> Value {
        members["op"] = operation.into();
        members["sid"] = self.token.clone().into();
        let (_, text) = hub.ask(Method::POST, "ttrss/api/", "", members.to_string()).await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["status"], 0, "{text}");
        answer["content"].clone()
    }

    /// Numbers of all unread or starred articles, in each dialect.
    async fn shown(&self, hub: &Hub, is_star: bool) -> [(&'static str, BTreeSet<u64>); 4] {
        let google = match is_star {
            true => "s=user/-/state/com.google/starred",
            false => "s=user/-/state/com.google/reading-list&xt=user/-/state/com.google/read",
        };
        let path = format!("google/reader/api/0/stream/items/ids?n=1000&{google}");
        let google = hub.get(&path, &self.google).await;
        let asked = if is_star { "starred=1" } else { "status=unread" };
        let path = format!("miniflux/v1/entries?limit=1000&{asked}");
        let miniflux = hub.get(&path, &self.basic).await;
        let asked = if is_star { "type=2&getRead=true" } else { "type=3&getRead=false" };
        let items = "nextcloud/index.php/apps/news/api/v1-2/items?batchSize=-1";
        let nextcloud = hub.get(&format!("{items}&{asked}"), &self.basic).await;
        let asked = match is_star {
            true => json!({"feed_id": -1, "limit": 200}),
            false => json!({"feed_id": -4, "view_mode": "unread", "limit": 200}),
        };
        let ttrss = self.ttrss(hub, "getHeadlines", asked).await;
        [
            ("Google Reader", numbers(&google["itemRefs"])),
            ("Miniflux", numbers(&miniflux["entries"])),
            ("Nextcloud", numbers(&nextcloud["items"])),
            ("Tiny Tiny RSS", numbers(&ttrss)),
        ]
    }
}

/// Numbers of a list of articles, which some dialects write as text.
fn numbers(list: &Value) -> BTreeSet<u64> {
    let number = |item: &Value| match &item["id"] {
        Value::String(text) => text.parse().unwrap(),
        number => number.as_u64().unwrap(),
    };
    let numbers: Vec<_> = list.as_array().unwrap().iter().map(number).collect();
    let all: BTreeSet<_> = numbers.iter().copied().collect();
    assert_eq!(numbers.len(), all.len(), "each comes once");
    all
}

fn named(place: usize) -> ArticleId {
    format!("n{place}").parse().unwrap()
}

/// Whether an article is read and starred on a device.
fn on_device(device: &Replica, place: usize, article: Article) -> (bool, bool) {
    match device.state().feed(address(article.feed).as_str()) {
        Some(feed) => {
            let shown = Some(Millis::new(article.shown));
            (feed.is_read(&named(place), shown), feed.is_starred(&named(place)))
        }
        None => (false, false),
    }
}
